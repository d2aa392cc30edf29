"""benchmarks/instructions.py: what it reads of callgrind's output, and what it says of a path that has moved."""
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# Own cost: 10 + 2 + 3 of the interpreter, 7 + 5 + 1 of an extension; what a call costs inclusively (999, 888) belongs to the callee.
OUTPUT = """\
version: 1
positions: line
events: Ir

ob=(1) /usr/lib/libpython3.so
fl=(1) ceval.c
fn=(1) eval
10 10
+3 2
cob=(2) /somewhere/eager_core/engine.cpython-311.so
cfn=(2) backward
calls=4 0
+1 999
* 3

ob=(2)
fn=(2)
0 7
cob=(1)
cfn=(1)
calls=1 10
0 888
-1 5
fn=(3) helper
20 1
totals: 28
"""


@pytest.fixture
def instructions(monkeypatch):
    if not BENCHMARKS.exists():
        pytest.skip("the benchmarks are not here")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("instructions")


def test_own_cost_by_object(instructions):
    assert instructions.count_of(OUTPUT.splitlines()) == instructions.Count(13, 28)


@pytest.mark.parametrize("now, says", [(100, None), (102.9, None), (97.1, None), (103.1, "add runs more"), (96.9, "add runs fewer")])
def test_three_percent_in_either_direction(instructions, now, says):
    counts = {"getitem": instructions.Count(50, 80), "add": instructions.Count(now, 500)}
    if says is None:
        instructions.judge({"add": 100, "getitem": 50}, counts)
    else:
        with pytest.raises(SystemExit, match=says):
            instructions.judge({"add": 100, "getitem": 50}, counts)


def test_the_hottest_paths_are_stored(instructions):
    stored = instructions.json.loads(instructions.STORED.read_text())
    assert set(stored["instructions"]) == set(instructions.HOTTEST)
    assert set(stored["made by"]) == set(instructions.made_by())

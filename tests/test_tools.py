"""Tools of others see operators by name; what docs/profiling.md shows of examples/conductivity.py."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "examples" / "conductivity.py"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="no examples beside this package")


def run(tmp_path, *command, **environment):
    done = subprocess.run([*command], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120,
                          env={**os.environ, "PYTHONPATH": ":".join(p for p in sys.path if p), **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def test_the_program_finds_the_truth(tmp_path):
    assert run(tmp_path, sys.executable, "-P", str(PROGRAM)).stdout == "conductivity 0.2000, in truth 0.2\n"


def test_profile(tmp_path):
    """Two rounds of 50 steps: two writes through methods in each, one assignment and one more for the start."""
    table = run(tmp_path, sys.executable, "-P", str(PROGRAM), "--profile").stdout
    entries = json.loads((tmp_path / "conductivity.json").read_text("utf-8"))["traceEvents"]
    calls = collections.Counter(entry["name"] for entry in entries if entry.get("cat") != "pass")
    expected = {"add_": 200, "multiply_": 100, "setitem_": 102, "forward": 2, "backward": 2}
    assert {name: calls[name] for name in expected} == expected
    # The table has the twelve that took longest, which are not the same each time.
    rows = [line.split() for line in table.splitlines()[2:-1]]
    assert len(rows) == 12
    for row in rows:
        assert str(expected.get(row[0], calls[row[0]])) in row[1:3]
    assert ElementTree.parse(tmp_path / "conductivity.svg").getroot().tag.endswith("svg")


def test_log(tmp_path):
    log = run(tmp_path, sys.executable, "-P", str(PROGRAM), EAGER_VLOG="3").stderr
    assert log.count("VLOG(3) Running Eager Forward Op: add_\n") == log.count("VLOG(3) add_: Tensor() uses Inplace Strategy.\n") == 31 * 100
    # A round copies 50 rows, the first of which depends on nothing, and adds to 50.
    assert log.count("VLOG(3) Running Eager Backward Node: SetValueGradNode\n") == 30 * (49 + 50)


def test_cprofile(tmp_path):
    table = run(tmp_path, sys.executable, "-P", "-m", "cProfile", str(PROGRAM)).stdout
    for name, times in (("add_", 3100), ("multiply_", 1550), ("backward", 30)):
        assert re.search(rf"^ +{times} .*method '{name}' of 'eager_core.eager_api.Tensor' objects", table, re.MULTILINE)


def test_py_spy(tmp_path):
    spy = Path(sys.executable).with_name("py-spy")
    found = str(spy) if spy.exists() else shutil.which("py-spy")
    if found is None:
        pytest.skip("py-spy is not installed")
    command = [found, "record", "-r", "500", "--format", "raw", "-o", "spy.txt", "--", sys.executable, "-P", str(PROGRAM)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120,
                          env={**os.environ, "PYTHONPATH": ":".join(p for p in sys.path if p)})
    if done.returncode:
        pytest.skip("py-spy may not look at processes here")
    assert "simulate (conductivity.py:" in (tmp_path / "spy.txt").read_text("utf-8")

"""What importing the library costs: modules that few programs need come when they are first asked for."""
import json
import subprocess
import sys

import pytest

import python_api

# Each takes several milliseconds, or brings others that do: pathlib an URL parser, xml an HTTP client.
HEAVY = {"pathlib", "urllib.parse", "urllib.request", "http", "xml", "json", "dataclasses", "ssl", "socket", "email", "asyncio", "decimal",
         "numpy.random", "scipy", "unittest", "subprocess", "tempfile"}
LATE = ("python_api.profiler", "python_api.autograd.graph")


def loaded_by(program):
    program += "\nimport sys, json; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], check=True, text=True, capture_output=True,
                         env={"PYTHONPATH": ":".join(sys.path), "PATH": ""})
    return set(json.loads(ran.stdout))


def test_nothing_heavy_is_imported():
    """Beyond what NumPy, threadpoolctl where it is installed (docs/threads.md) and the start of the interpreter import anyway."""
    others = "import numpy, contextlib\nwith contextlib.suppress(ImportError): import threadpoolctl"
    added = loaded_by("import numpy, python_api") - loaded_by(others)
    assert "python_api.creation" in added
    assert not added & (HEAVY | set(LATE)), added & (HEAVY | set(LATE))


@pytest.mark.parametrize("path", ["profiler.profile", "profiler.inplace_advisor", "autograd.graph.to_dot", "autograd.graph.saved_tensors"])
def test_late_modules_are_there_when_asked_for(path):
    module = path.rsplit(".", 1)[0]
    for program in (f"import python_api as p; p.{path}", f"from python_api.{module} import {path.rsplit('.', 1)[1]}",
                    f"from python_api import *; {path}"):
        assert f"python_api.{module}" in loaded_by(program)


def test_late_modules_are_listed():
    listed = "import python_api as p; assert 'profiler' in dir(p) and 'zeros' in dir(p) and 'graph' in dir(p.autograd)"
    assert "python_api.profiler" not in loaded_by(listed)


@pytest.mark.parametrize("module", [python_api, python_api.autograd], ids=lambda m: m.__name__)
def test_other_names_are_no_attributes(module):
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = module.no_such_name

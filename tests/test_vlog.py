"""The log of the operator flow: its lines, its level, and the environment variables that set it."""
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import python_api as paddle
from python_api import profiler


@pytest.fixture
def level():
    before = profiler.get_vlog_level()
    yield profiler.set_vlog_level
    profiler.set_vlog_level(before)


def leaf(*values, name=""):
    return paddle.Tensor(np.array(values), stop_gradient=False, name=name)


def logged(capsys, program):
    capsys.readouterr()
    program()
    return capsys.readouterr().err.splitlines()


def test_operators_in_place_strategy_and_versions(level, capsys):
    """Functional, in place, the entry points, item assignment; and the nodes of backward."""
    from eager_core import eager_api_exp_
    x = leaf(0.1, 0.2)
    y = x * 1.0
    y.name = "state"
    level(3)
    assert logged(capsys, y.exp) == ["VLOG(3) Running Eager Forward Op: exp"]
    in_place = ["VLOG(3) Running Eager Forward Op: exp_", "VLOG(3) exp_: Tensor(state) uses Inplace Strategy."]
    assert logged(capsys, y.exp_) == [*in_place, "VLOG(3) exp_: Tensor(state) bumped its inplace version from 0 to 1"]
    assert logged(capsys, lambda: eager_api_exp_(y)) == [*in_place, "VLOG(3) exp_: Tensor(state) bumped its inplace version from 1 to 2"]
    assert logged(capsys, lambda: y.__setitem__(0, 1.0)) == [
        "VLOG(3) Running Eager Forward Op: setitem_", "VLOG(3) setitem_: Tensor(state) uses Inplace Strategy.",
        "VLOG(3) setitem_: Tensor(state) bumped its inplace version from 2 to 3"]
    z = x.exp().sum()
    lines = logged(capsys, z.backward)
    assert [line.removeprefix("VLOG(3) Running Eager Backward Node: ") for line in lines if "Backward" in line] == [
        "SumGradNode", "ExpGradNode", "GradNodeAccumulation"]


def test_a_refused_operator_is_announced_and_bumps_nothing(level, capsys):
    x = leaf(0.1, name="weight")
    level(3)

    def program():
        with pytest.raises(ValueError, match="Leaf Var"):
            x.exp_()
    assert logged(capsys, program) == ["VLOG(3) Running Eager Forward Op: exp_", "VLOG(3) exp_: Tensor(weight) uses Inplace Strategy."]


def test_shapes_and_histories_at_level_4(level, capsys):
    x, c = leaf(0.1, 0.2), paddle.to_tensor([1.0, 2.0], dtype="float64")
    level(4)
    assert logged(capsys, lambda: x * c) == [
        "VLOG(3) Running Eager Forward Op: multiply", "VLOG(4) multiply: inputs float64[2], float64[2]",
        "VLOG(4) multiply: result float64[2], history MultiplyGradNode"]
    assert logged(capsys, c.exp)[-1] == "VLOG(4) exp: result float64[2], no history"
    level(3)
    assert not any("VLOG(4)" in line for line in logged(capsys, c.exp))


def test_levels(level, capsys):
    assert level(3) == 0
    assert profiler.get_vlog_level() == 3
    assert level(np.int64(2)) == 3
    assert logged(capsys, leaf(1.0).exp) == []
    assert paddle.set_vlog_level is profiler.set_vlog_level
    assert level(0) == 2
    for wrong in (True, "3", 3.0, None):
        with pytest.raises(TypeError, match=r"set_vlog_level\(\): level must be int, but got"):
            level(wrong)
    with pytest.raises(ValueError, match=r"set_vlog_level\(\): level must not be negative, but is -1"):
        level(-1)
    assert profiler.get_vlog_level() == 0


def test_all_threads(level, capsys):
    level(3)
    thread = threading.Thread(target=leaf(1.0).tanh)
    assert logged(capsys, lambda: (thread.start(), thread.join())) == ["VLOG(3) Running Eager Forward Op: tanh"]


@pytest.mark.parametrize("stream", [None, "closed", "full", "no stream"])
def test_a_stream_that_fails_fails_no_operator(level, monkeypatch, stream):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    bad = {None: None, "closed": io.StringIO(), "full": Full(), "no stream": object()}[stream]
    if stream == "closed":
        bad.close()
    level(3)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", bad)
        y = leaf(0.5) * 1.0
        y.exp_()
    assert y.tolist() == [np.exp(0.5)]
    assert y.inplace_version == 1


@pytest.mark.parametrize(("environment", "says"), [
    ({"EAGER_VLOG": "3"}, True), ({"GLOG_v": "3"}, True), ({"GLOG_v": "4", "EAGER_VLOG": "0"}, False), ({"EAGER_VLOG": "2"}, False),
    ({"GLOG_v": "much"}, False), ({}, False)])
def test_environment(environment, says):
    """Ours goes before the one that other libraries read."""
    done = run("import python_api as paddle; paddle.ones([2]).exp_()", environment)
    assert ("VLOG(3) Running Eager Forward Op: exp_" in done.stderr) is says
    assert bool(done.stderr) is says


def test_environment_that_is_no_level_warns():
    done = run("import eager_core", {"EAGER_VLOG": "loud"})
    assert "EAGER_VLOG is 'loud', which is no level" in done.stderr


def run(program, environment):
    kept = {name: value for name, value in os.environ.items() if name not in ("EAGER_VLOG", "GLOG_v")}
    done = subprocess.run([sys.executable, "-P", "-c", program], check=False, capture_output=True, text=True,
                          env={**kept, "PYTHONPATH": ":".join(p for p in sys.path if p), **environment})
    assert done.returncode == 0, done.stderr
    return done

"""detect_anomaly: errors of backward show the user's own lines, and a gradient that is not finite is one (S1.13, S5.3)."""
import gc
import inspect
import re
import threading
import weakref

import numpy as np
import pytest

import python_api as paddle
from python_api.autograd import (
    PyLayer,
    allow_mutation_on_saved_tensors,
    detect_anomaly,
    is_anomaly_enabled,
    set_detect_anomaly,
)

VERSION = "used in gradient computation has been modified by an inplace operation"


def leaf(values=(0.5, 1.0, 2.0)):
    return paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)


def line_of(function, text):
    """The number of the one line of a function that contains a text."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + k for k, line in enumerate(lines) if text in line]
    return number


def shown(text):
    """The lines that a text names: (title, number, function, source), innermost only."""
    return re.findall(r'^([A-Z][^\n]*):\n  File "[^"]*test_anomaly\.py", line (\d+), in (?:\S*\.)?(\w+)\n    ([^\n]*)', text, re.MULTILINE)


# ---- the version error ------------------------------------------------------------------------------------------------------------------

def simulate(x, steps):
    """Two nested functions and a loop: step 2 overwrites what step 1 has saved."""
    state = x * 1.0
    total = 0.0

    def measure(s):
        return s.sin().sum()

    def advance(s, k):
        if k == 2:
            s.multiply_(paddle.to_tensor(1.5))
        elif k == 4:
            s.zero_()
        return s

    for k in range(steps):
        if k == 1:
            total = total + measure(state)
        advance(state, k)
    return total


def test_both_lines_of_a_program_with_nested_functions_and_a_loop():
    with detect_anomaly(), pytest.raises(RuntimeError, match=VERSION) as caught:
        simulate(leaf(), 6).backward()
    text = str(caught.value)
    assert shown(text) == [
        ("Saved by", str(line_of(simulate, "s.sin()")), "measure", "return s.sin().sum()"),
        ("Overwritten by multiply_", str(line_of(simulate, "s.multiply_")), "advance", "s.multiply_(paddle.to_tensor(1.5))"),
    ]
    saved, overwritten = text.split("Overwritten by")
    assert f'called from File "{__file__}", line {line_of(simulate, "measure(state)")}, in simulate' in saved
    assert f'called from File "{__file__}", line {line_of(simulate, "advance(state, k)")}, in simulate' in overwritten
    assert not getattr(caught.value, "__notes__", ())      # the message has it all


def test_the_write_that_hit_the_saved_elements():
    x = leaf()
    with detect_anomaly():
        y = x * 1.0
        z = y[0:2].sin()
        y[2] = 1.0
        y[1] = 2.0
        y[0] = 3.0
        with pytest.raises(RuntimeError, match=VERSION) as caught:
            z.sum().backward()
    assert shown(str(caught.value))[1][3] == "y[1] = 2.0"


@pytest.mark.parametrize("write", [
    lambda t: t.reshape_([3, 1]), lambda t: t.__setitem__([0], 1.0), lambda t: t.set_value(np.ones(3)), lambda t: t.uniform_(),
    lambda t: t.cumsum_(0), lambda t: t[::2].exp_(),
])
def test_every_kind_of_write_is_noted(write):
    with detect_anomaly():
        y = leaf() * 1.0
        z = y.sin()
        write(y)
        with pytest.raises(RuntimeError, match=VERSION) as caught:
            z.sum().backward()
    overwritten = str(caught.value).split("Overwritten by ")[1].splitlines()
    assert overwritten[1] == f'  File "{__file__}", line {write.__code__.co_firstlineno}, in <lambda>'


def test_without_the_mode_the_error_says_how_to_get_the_lines():
    y = leaf() * 1.0
    z = y.sin()
    y.zero_()
    with pytest.raises(RuntimeError, match=r"Under autograd.detect_anomaly\(\) the error shows the line that saved it"):
        z.sum().backward()
    with detect_anomaly():
        z = y.sin()
    y.zero_()
    with pytest.raises(RuntimeError, match=r"Overwritten where detect_anomaly\(\) was off"):
        z.sum().backward()


# ---- values that are not finite ---------------------------------------------------------------------------------------------------------

def test_nan_and_inf_show_the_line_that_made_the_node():
    def root(x):
        return x.sqrt()

    def power(x):
        return x.log()

    for function, at, kind, node in [(root, (-1.0, 1.0), "nan", "SqrtGradNode"), (power, (0.0, 1.0), "inf", "LogGradNode")]:
        x = leaf(at)
        with detect_anomaly():
            y = function(x * 1.0)
            with pytest.raises(RuntimeError) as caught:
                y.sum().backward()
        text = str(caught.value)
        assert f"the gradient for input 0 that was made by {node} has {kind} values, shape [2]." in text
        (line,) = shown(text.replace("It was made in forward by", "\nIt was made in forward by"))
        assert line[1:3] == (str(function.__code__.co_firstlineno + 1), function.__name__)
        assert x.grad is None                              # S9.22: nothing is written by a pass that fails
        with detect_anomaly(check_nan=False):
            function(x * 1.0).sum().backward()
        assert not np.isfinite(x.grad.numpy()).all()


def test_the_first_node_is_named():
    """0 * inf: the NaN comes up behind the infinity."""
    x = leaf((0.0,))
    with detect_anomaly(), pytest.raises(RuntimeError, match="made by SqrtGradNode has inf values"):
        (x * x).sqrt().sum().backward()


def test_other_sources_of_nan():
    x = leaf()
    with detect_anomaly():
        y = x * 2.0
        with pytest.raises(RuntimeError, match="grad_tensor 0, given for the result of MultiplyGradNode has nan values"):
            y.backward(paddle.to_tensor(np.array([np.nan, 0.0, 1.0])))
        y.register_hook(lambda g: g * np.inf)
        with pytest.raises(RuntimeError, match="what the hooks made of the gradient at"):
            (y * y).sum().backward()
        huge = leaf((1.0,))
        with pytest.raises(RuntimeError, match="the sum of the gradients that arrived at GradNodeAccumulation has inf values"):
            (huge * 1e308 + huge * 1e308).sum().backward()


@pytest.mark.parametrize("accumulated", [False, True])
@pytest.mark.parametrize("second", [1, slice(1, 2)])
def test_regions_whose_sum_is_not_finite(accumulated, second):
    x = leaf()
    if accumulated:
        x.sum().backward()
    with detect_anomaly(), pytest.raises(RuntimeError, match="the sum of the gradients that arrived at GradNodeAccumulation has inf"):
        (x[1] * 1e308 + (x[second] * 1e308).sum()).backward()
    np.testing.assert_array_equal(0.0 if x.grad is None else x.grad.numpy(), 1.0 if accumulated else 0.0)


# ---- other errors -----------------------------------------------------------------------------------------------------------------------

class Failing(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        raise KeyError("mine")


def test_user_exceptions_pass_through_with_a_note():
    raised = KeyError("hook", 7)

    def hook(g):
        raise raised

    x = leaf()
    with detect_anomaly():
        y = x * 3.0
        y.register_hook(hook)
        with pytest.raises(KeyError) as caught:
            y.sum().backward()
    assert caught.value is raised
    assert raised.args == ("hook", 7)
    (note,) = raised.__notes__
    lines = r'made by:\n  File "[^"]*test_anomaly.py", line \d+, in test_user_exceptions_pass_through_with_a_note\n    y = x \* 3.0'
    assert re.search(lines, note)
    with detect_anomaly():
        z = Failing.apply(x)
        with pytest.raises(KeyError, match="mine") as caught:
            z.sum().backward()
    assert "z = Failing.apply(x)" in caught.value.__notes__[0]
    z = Failing.apply(x)
    with pytest.raises(KeyError) as caught:
        z.sum().backward()
    assert not getattr(caught.value, "__notes__", ())


def test_a_node_from_before_the_mode():
    z = Failing.apply(leaf())
    with detect_anomaly(), pytest.raises(KeyError) as caught:
        z.sum().backward()
    assert "was not made under detect_anomaly()" in caught.value.__notes__[0]


def test_second_order_nodes_belong_to_the_forward_line():
    x = leaf((0.0,))
    with detect_anomaly():
        y = x ** 1.5
        (g,) = paddle.grad([y.sum()], [x], create_graph=True)
        with pytest.raises(RuntimeError, match="inf|nan") as caught:
            g.sum().backward()
    assert "y = x ** 1.5" in str(caught.value)


# ---- the mode ---------------------------------------------------------------------------------------------------------------------------

def test_blocks_decorator_switch_and_threads():
    assert not is_anomaly_enabled()
    with detect_anomaly():
        with pytest.raises(KeyError), detect_anomaly(check_nan=False):
            raise KeyError
        assert is_anomaly_enabled()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(is_anomaly_enabled()))
        thread.start()
        thread.join()
        assert answers == [False]
    assert not is_anomaly_enabled()
    assert detect_anomaly()(is_anomaly_enabled)()
    with set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: answers.append(is_anomaly_enabled()))
        thread.start()
        thread.join()
        assert answers == [False, True]
        set_detect_anomaly(False)
        assert not is_anomaly_enabled()
    assert not is_anomaly_enabled()
    for call in (lambda: set_detect_anomaly(1), lambda: detect_anomaly(check_nan=None)):
        with pytest.raises(TypeError, match="must be bool"):
            call()


def test_gradients_are_the_same():
    def gradient():
        x = leaf()
        y = x.exp() * x
        y[0] = y[1] * 2.0
        y.tanh_()
        (y * y).sum().backward()
        return x.grad.numpy()

    plain = gradient()
    with detect_anomaly():
        np.testing.assert_array_equal(gradient(), plain)
        with allow_mutation_on_saved_tensors():
            np.testing.assert_array_equal(gradient(), plain)


def test_nothing_is_kept_alive():
    class Local:
        pass

    def work():
        local = Local()
        y = leaf() * 1.0
        z = y.sin()
        y.add_(1.0)
        return weakref.ref(local), z

    gc.collect()
    with detect_anomaly():
        local, z = work()
    assert local() is None                                 # frames are not kept, only file and line
    del z

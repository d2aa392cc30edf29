"""Grad mode, S10, and the argument checks of ``autograd.backward`` and ``grad``, S9.3 and S9.17."""
import asyncio
import contextlib
import gc
import inspect
import threading
import weakref

import numpy as np
import pytest

import python_api as paddle
from python_api import autograd

on = paddle.is_grad_enabled


@pytest.fixture(autouse=True)
def mode_is_on_around_every_test():
    assert on()
    yield
    assert on()


# ---- context managers ---------------------------------------------------------------------------------------------------

def test_blocks_nest_and_restore():
    """S10.1."""
    with paddle.no_grad():
        assert not on()
        with paddle.enable_grad():
            assert on()
            with paddle.no_grad():
                assert not on()
            assert on()
        assert not on()
    assert on()


def test_an_exception_restores():
    """S10.1."""
    with pytest.raises(KeyError), paddle.no_grad():
        raise KeyError
    assert on()


def test_one_object_entered_again_and_again():
    """S10.1."""
    guard = paddle.no_grad()
    with guard:
        with guard, paddle.enable_grad(), guard:
            assert not on()
        assert not on()
    assert on()
    with guard:
        assert not on()


def test_one_object_in_two_threads():
    """S10.3: each thread gets its own mode back, in whatever order they leave."""
    guard, inside, leave, seen = paddle.no_grad(), threading.Event(), threading.Event(), []

    def other():
        with guard:
            inside.set()
            leave.wait(10)
            seen.append(on())
        seen.append(on())

    thread = threading.Thread(target=other)
    with paddle.no_grad():
        thread.start()
        inside.wait(10)
        with guard:
            leave.set()
            thread.join(10)
        assert not on()
    assert seen == [False, True]


def test_a_new_thread_starts_with_recording_on():
    """S10.3."""
    seen = []
    with paddle.no_grad():
        thread = threading.Thread(target=lambda: seen.append(on()))
        thread.start()
        thread.join()
        assert not on()
    assert seen == [True]


def test_results_follow_the_mode():
    """S10.1, S9.25."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    with paddle.no_grad():
        constant = x * 2.0
        with paddle.enable_grad():
            recorded = x * 2.0
    assert constant.stop_gradient
    assert not recorded.stop_gradient


# ---- set_grad_enabled ---------------------------------------------------------------------------------------------------

def test_set_grad_enabled_acts_at_once():
    """S10.2."""
    paddle.set_grad_enabled(False)
    assert not on()
    paddle.set_grad_enabled(True)
    assert on()


@pytest.mark.parametrize("mode", [True, False])
def test_set_grad_enabled_as_a_block(mode):
    """S10.2."""
    with paddle.no_grad():
        with paddle.set_grad_enabled(mode):
            assert on() is mode
        assert not on()
    assert on()


def test_set_grad_enabled_object_entered_later_and_again():
    """S10.2."""
    guard = paddle.set_grad_enabled(False)
    with guard:
        with guard:
            assert not on()
        assert not on()
    assert on()
    with guard:
        assert not on()
    assert on()


def test_set_grad_enabled_as_a_decorator_leaves_the_module_alone():
    """S10.2."""
    @paddle.set_grad_enabled(False)
    def function():
        return on()

    assert on()
    assert function() is False
    assert on()


@pytest.mark.parametrize("mode", [1, None, "False", on])
def test_set_grad_enabled_takes_a_bool(mode):
    with pytest.raises(TypeError, match="mode must be bool"):
        paddle.set_grad_enabled(mode)


# ---- decorators ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("decorator", [paddle.no_grad, paddle.no_grad()], ids=["bare", "called"])
def test_decorated_function(decorator):
    """S10.1, S10.5."""
    @decorator
    def function(a, *, b=2):
        """Say something."""
        if b is None:
            raise KeyError(a)
        return on(), a, b

    assert function(1, b=3) == (False, 1, 3)
    assert on()
    with pytest.raises(KeyError):
        function(1, b=None)
    assert on()
    assert (function.__name__, function.__doc__) == ("function", "Say something.")
    assert list(inspect.signature(function).parameters) == ["a", "b"]


def test_decorated_recursive_function_and_methods():
    """S10.1."""
    class Thing:
        @paddle.no_grad
        def method(self, depth):
            return on() if depth == 0 else self.method(depth - 1)

        @paddle.no_grad()
        @staticmethod
        def static():
            return on()

        @paddle.no_grad()
        @classmethod
        def of_class(cls):
            return cls, on()

    assert Thing().method(3) is False
    assert Thing.static() is False
    assert Thing.of_class() == (Thing, False)
    assert on()


def test_innermost_decorator_wins():
    """S10.1."""
    assert paddle.no_grad(paddle.enable_grad(on))() is True
    assert paddle.enable_grad(paddle.no_grad(on))() is False


@pytest.mark.parametrize("what", [3, "text", False])
def test_what_cannot_be_decorated(what):
    with pytest.raises(TypeError, match="can decorate a function or a class"):
        paddle.no_grad(what)


def test_decorated_class():
    """S10.5."""
    @paddle.no_grad()
    class Thing:
        def __init__(self, value):
            self.value, self.mode = value, on()

        def method(self):
            return on()

    thing = Thing(3)
    assert isinstance(Thing, type)
    assert (thing.value, thing.mode, thing.method()) == (3, False, True)


def test_decorated_class_without_an_init():
    """S10.5: such a class takes its arguments in ``__new__``, which object's own ``__init__`` must go on to tolerate."""
    @paddle.no_grad
    class Thing:
        def __new__(cls, value):
            self = super().__new__(cls)
            self.value = value
            return self

    assert Thing(3).value == 3


# ---- generators ---------------------------------------------------------------------------------------------------------

def test_generator_steps():
    """S10.4: the mode inside is off at every step, outside untouched between steps."""
    @paddle.no_grad()
    def numbers():
        seen = [on()]
        received = yield 1
        seen.append((received, on()))
        received = yield 2
        seen.append((received, on()))
        return seen

    assert inspect.isgeneratorfunction(numbers)
    steps = numbers()
    assert next(steps) == 1
    assert on()
    with paddle.no_grad():
        assert steps.send("a") == 2
        assert not on()
    assert on()
    with pytest.raises(StopIteration) as stop:
        steps.send("b")
    assert stop.value.value == [False, ("a", False), ("b", False)]
    assert on()


def test_generator_throw():
    """S10.4."""
    @paddle.no_grad
    def catching():
        try:
            yield 1
        except KeyError as error:
            yield (error, on())
        yield 3

    steps, error = catching(), KeyError("x")
    next(steps)
    assert steps.throw(error) == (error, False)
    assert on()
    assert next(steps) == 3
    with pytest.raises(ZeroDivisionError):
        steps.throw(ZeroDivisionError)
    assert on()


@pytest.mark.parametrize("how", ["close", "del"])
def test_generator_close(how):
    """S10.4: ``finally`` runs once, in the mode."""
    seen = []

    @paddle.no_grad()
    def closing():
        try:
            yield 1
        finally:
            seen.append(on())

    steps = closing()
    next(steps)
    if how == "close":
        steps.close()
    else:
        del steps
        gc.collect()
    assert seen == [False]
    assert on()


def test_generator_that_ignores_close():
    """S10.4: the same error as without the decorator."""
    @paddle.no_grad()
    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    steps = stubborn()
    next(steps)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        steps.close()
    assert on()


def test_generator_that_leaves_a_block_open_between_steps():
    """S10.4."""
    @paddle.no_grad()
    def with_a_block():
        with paddle.enable_grad():
            yield on()
            yield on()
        yield on()

    modes = []
    for inside in with_a_block():
        modes.append((inside, on()))
    assert modes == [(True, True), (True, True), (False, True)]
    assert on()


def test_generator_keeps_no_cycle():
    """S10.4: a thrown exception is freed by reference counts."""
    class Error(Exception):
        pass

    @paddle.no_grad()
    def catching():
        while True:
            with contextlib.suppress(Error):
                yield

    steps, error = catching(), Error()
    next(steps)
    gc.collect()
    gc.disable()
    try:
        steps.throw(error)
        ref = weakref.ref(error)
        del error
        assert ref() is None
    finally:
        gc.enable()


# ---- coroutines ---------------------------------------------------------------------------------------------------------

def test_coroutine_keeps_its_mode_to_itself():
    """S10.4 for ``async def``: the event loop and other tasks see their own mode."""
    @paddle.no_grad()
    async def work(value):
        before = on()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return before, on(), value

    async def watch():
        seen = []
        for _ in range(4):
            seen.append(on())
            await asyncio.sleep(0)
        return seen

    async def main():
        return await asyncio.gather(work(1), watch(), work(2))

    assert inspect.iscoroutinefunction(work)
    first, seen, second = asyncio.run(main())
    assert (first, second) == ((False, False, 1), (False, False, 2))
    assert seen == [True] * 4


def test_async_generator_is_refused():
    async def numbers():
        yield 1

    with pytest.raises(TypeError, match="asynchronous generator"):
        paddle.no_grad()(numbers)


# ---- backward and grad --------------------------------------------------------------------------------------------------

def leaf(value=(1.0, 2.0)):
    return paddle.to_tensor(np.array(value), stop_gradient=False)


def test_backward_of_several_roots():
    """S9.3: d(2x + 3x) = 5, with ones for None."""
    x = leaf()
    autograd.backward([x * 2.0, x * 3.0], [None, paddle.to_tensor(np.array([1.0, 10.0]))])
    np.testing.assert_array_equal(x.grad.numpy(), [5.0, 32.0])


def test_backward_of_one_tensor():
    """S9.3."""
    x = leaf()
    autograd.backward(x * 2.0)
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_backward_checks_its_arguments():
    """S9.3."""
    x = leaf()
    y = x * 2.0
    for wrong in (None, 3, "y", [y, 3], [None]):
        with pytest.raises(TypeError, match=r"\(InvalidType\) backward\(\): tensors must be"):
            autograd.backward(wrong)
    for wrong in ([], ()):
        with pytest.raises(ValueError, match="must not be empty"):
            autograd.backward(wrong)
    with pytest.raises(ValueError, match="same tensor twice"):
        autograd.backward([y, y])
    with pytest.raises(ValueError, match="expected 1, but got 2"):
        autograd.backward([y], [None, None])
    with pytest.raises(TypeError, match="grad_tensors"):
        autograd.backward([y], [1.0])
    with pytest.raises(TypeError, match="grad_tensors"):
        autograd.backward([y], np.ones(2))
    with pytest.raises(TypeError, match="retain_graph must be bool"):
        autograd.backward([y], None, 1)
    assert x.grad is None
    autograd.backward([y])  # nothing above has consumed the graph
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_grad_checks_its_arguments():
    """S9.17."""
    x = leaf()
    y = x * 2.0
    for arguments in ((None, x), (y, None), ([y, 1], x), (y, [x, "x"])):
        with pytest.raises(TypeError, match=r"\(InvalidType\) grad\(\): \w+ must be"):
            paddle.grad(*arguments)
    for arguments in (([], x), (y, [])):
        with pytest.raises(ValueError, match="must not be empty"):
            paddle.grad(*arguments)
    with pytest.raises(RuntimeError, match=r"^\(AlreadyExists\) inputs contain duplicate tensor"):
        paddle.grad(y, [x, x])
    with pytest.raises(RuntimeError, match=r"^\(AlreadyExists\) outputs contain duplicate tensor"):
        paddle.grad([y, y], x)
    with pytest.raises(ValueError, match="expected 1, but got 2"):
        paddle.grad(y, x, grad_outputs=[None, None])
    for name in ("retain_graph", "create_graph", "only_inputs", "allow_unused"):
        with pytest.raises(TypeError, match=f"{name} must be bool, but got int"):
            paddle.grad(y, x, **{name: 1})
    with pytest.raises(NotImplementedError, match="only_inputs"):
        paddle.grad(y, x, only_inputs=False)
    for wrong in (3, [3], {3}):
        with pytest.raises(TypeError, match="no_grad_vars"):
            paddle.grad(y, x, no_grad_vars=wrong)
    (result,) = paddle.grad(y, x)
    np.testing.assert_array_equal(result.numpy(), [2.0, 2.0])
    assert x.grad is None


def test_retain_graph_defaults_to_create_graph():
    """S9.17, S5.8."""
    x = leaf()
    y = (x * x).sum()
    paddle.grad(y, x, create_graph=True)
    paddle.grad(y, x)
    with pytest.raises(RuntimeError, match="backward twice"):
        paddle.grad(y, x)


def test_backward_and_grad_inside_no_grad():
    """S10.6: d(x^3) = 3 x^2, and its derivative 6 x."""
    x = leaf()
    y = (x * x * x).sum()
    with paddle.no_grad():
        (first,) = paddle.grad(y, x, create_graph=True)
    assert not first.stop_gradient
    (second,) = paddle.grad(first.sum(), x)
    np.testing.assert_allclose(first.numpy(), [3.0, 12.0])
    np.testing.assert_allclose(second.numpy(), [6.0, 12.0])
    z = (x * x).sum()
    with paddle.no_grad():
        z.backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0])

"""After an exception, wherever it comes from, nothing is left: nodes, objects, bytes of tensors, modes, recordings. Collected are cycles
through hooks, custom functions and their contexts.

`test_lifetime` has the same of plain forward and backward passes.
"""
import contextlib
import gc
import weakref

import numpy as np
import pytest

import python_api as paddle
from eager_core.storage import bytes_in_use
from python_api import autograd, profiler


class Deliberate(Exception):  # noqa: N818
    pass


def fail(*_):
    raise Deliberate


def leaf():
    return paddle.to_tensor(np.linspace(0.5, 1.5, 500), stop_gradient=False)


@contextlib.contextmanager
def hooks(pack, unpack):
    with autograd.saved_tensors_hooks(pack, unpack):
        yield


class FailsForward(autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2.0)
        ctx.kept = x.exp()
        x.square()
        raise Deliberate

    @staticmethod
    def backward(ctx, g):
        return g


class FailsInPlace(FailsForward):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.save_for_backward(x)
        raise Deliberate


class FailsBackward(autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = x.exp()
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        ctx.more = ctx.saved_tensor()
        raise Deliberate


class TwoResults(FailsBackward):
    @staticmethod
    def backward(ctx, g):
        return g, g


def pack_fails(x):
    with hooks(fail, lambda t: t):
        (x * 1.0).exp()


def pack_fails_in_place(x):
    y = x * 1.0
    with hooks(fail, lambda t: t):
        y.exp_()


def pack_fails_late(x):
    """The second value that a node saves; the first has been packed."""
    seen = []

    def pack(t):
        seen.append(t)
        return t if len(seen) < 2 else fail()
    with hooks(pack, lambda t: t):
        (x * 1.0).multiply(x * 2.0)


def unpack_fails(x):
    with hooks(lambda t: t.numpy(), fail):
        y = (x * x).exp().sum()
    y.backward()


def unpack_is_wrong(x):
    with hooks(lambda t: t.numpy(), lambda a: a):
        y = (x * x).exp().sum()
    y.backward()


def hook_fails(x):
    y = (x * x).exp()
    y.register_hook(fail)
    (y[3:] * 2.0).sum().backward()


def leaf_hook_fails(x):
    z = x.detach()
    z.stop_gradient = False
    z.register_hook(fail)
    (z * x).sum().backward()


def hook_fails_with_create_graph(x):
    y = x.exp()
    y.register_hook(fail)
    paddle.grad((y * y).sum(), x, create_graph=True)


def layer(cls):
    def run(x):
        cls.apply(x * 1.0).sum().backward()
    run.__name__ = cls.__name__
    return run


def checkpoint_forward(x):
    autograd.checkpoint(lambda t: fail(t.exp()), x)


def checkpoint_again(x):
    runs = []

    def function(t):
        runs.append(0)
        y = t.exp().sin()
        return y if len(runs) == 1 else fail()
    autograd.checkpoint(function, x * 1.0).sum().backward()


def version(x):
    y = x * 1.0
    z = y.sin().sum()
    y.zero_()
    z.backward()
    raise Deliberate                 # where a mode makes it exact


def version_of_export(x):
    y = x * 1.0
    z = y.sin().sum()
    with y.detach().writable_array() as a:
        a[:] = 0.0
    z.backward()
    raise Deliberate


def fails_while_lent(x):
    with x.detach().writable_array() as a:
        np.multiply(a, 1.0, out=a)
        (x * 2.0).exp()
        raise Deliberate


def leaf_write(x):
    x[:3].exp_()


def broadcast(x):
    (x * 1.0).add_(paddle.ones([3, 500], dtype="float64"))


def fails_after_writes(x):
    y = x * 1.0
    z = y.sin()
    y.exp_()
    y[3:9] = 0.0
    y.multiply_(z)
    raise Deliberate


def not_finite(x):
    ((x - x) * 1.0).sqrt().sum().backward()


def finite_check_or_not(x):
    not_finite(x)
    raise Deliberate                 # where no check is on


PROGRAMS = [pack_fails, pack_fails_in_place, pack_fails_late, unpack_fails, unpack_is_wrong, hook_fails, leaf_hook_fails,
            hook_fails_with_create_graph, *map(layer, (FailsForward, FailsInPlace, FailsBackward, TwoResults)), checkpoint_forward,
            checkpoint_again, version, version_of_export, fails_while_lent, leaf_write, broadcast, fails_after_writes, finite_check_or_not]
MODES = {"plain": contextlib.nullcontext, "anomaly": autograd.detect_anomaly, "mutation": autograd.allow_mutation_on_saved_tensors,
         "profile": lambda: profiler.profile(record_shapes=True), "advisor": profiler.inplace_advisor,
         "packed": lambda: autograd.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)}


def live():
    objects = gc.get_objects()
    return sum(type(o).__name__ in ("GradNode", "AccumulationNode") for o in objects), len(objects), bytes_in_use()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_nothing_is_left_after_an_exception(program, mode):
    """With the collector off: reference counts do it. The graph of the failed pass is gone with its tensors."""
    x = leaf()

    def attempt():
        try:
            with MODES[mode]():
                program(x)
        except (Deliberate, RuntimeError, ValueError, TypeError):
            x.clear_gradient(set_to_zero=False)
            return
        pytest.fail("did not fail")

    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            attempt()
        before = live()
        for _ in range(10):
            attempt()
        after = live()
    finally:
        gc.enable()
    assert after[0] <= before[0]
    assert after[1] <= before[1] + 5
    assert after[2] <= before[2]
    assert paddle.is_grad_enabled()
    assert not autograd.is_anomaly_enabled()
    assert not autograd.is_mutation_on_saved_tensors_allowed()
    y = x * 2.0                                            # and everything works as before
    y.exp_().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * np.exp(2.0 * np.linspace(0.5, 1.5, 500)), rtol=1e-14)
    assert x.inplace_version == (2 * 15 if program is fails_while_lent else 0)


def test_a_profile_of_failures_keeps_nothing_of_them():
    """Events are text and numbers: no tensor and no node stays alive through what was recorded."""
    for watch in (lambda: profiler.profile(record_shapes=True), profiler.inplace_advisor):
        before = live()[0], bytes_in_use()
        with pytest.raises(Deliberate), watch() as watched:  # noqa: PT012
            x = leaf()
            y = (x * x).exp_()
            seen = weakref.ref(y)
            raise Deliberate
        del x, y
        gc.collect()
        assert seen() is None
        assert (live()[0], bytes_in_use()) == before
        del watched


@pytest.mark.parametrize("mode", MODES)
def test_cycles_are_collected(mode):
    """Through a hook, a hook on a view that was written, pack and unpack hooks, a layer's context, and all of them at once."""
    class Layer(autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = x * 2.0
            ctx.own = y
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    def hook(x):
        y = x.exp()
        y.register_hook(lambda g: y * g)
        return y

    def written_view(x):
        y = x * 1.0
        v = y[3:]
        v.register_hook(lambda g: (y, v)[1] * g)
        v.exp_()
        return y

    def packing(x):
        held = []
        with autograd.saved_tensors_hooks(lambda t: (held, t), lambda pair: pair[1]):
            held.append(x.exp())
        return held[0]

    def context(x):
        return Layer.apply(x)

    def everything(x):
        y = packing(written_view(hook(x)))
        z = context(y)
        z.register_hook(lambda g: (x, y, z)[2])
        x.register_hook(lambda g: (x, z)[0])
        return z

    for make in (hook, written_view, packing, context, everything):
        def run(make=make):
            with MODES[mode]():
                x = leaf()
                y = make(x)
                return weakref.ref(x), weakref.ref(y)
        gc.collect()
        run()
        gc.collect()
        before = live()
        seen = run()
        gc.collect()
        assert [one() for one in seen] == [None, None], make.__name__
        after = live()
        assert after[0] <= before[0]
        assert after[2] <= before[2]

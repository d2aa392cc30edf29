"""Graphs of any length run, and are freed, on small stacks; nothing is left behind, and nothing is left over after errors."""
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import psutil
import pytest

import python_api as paddle


def leaf(values):
    return paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def nodes_alive():
    """Nodes that the collector can see."""
    return sum(1 for o in gc.get_objects() if type(o).__name__ in ("GradNode", "AccumulationNode"))


def in_fresh_process(code):
    """A crash of the interpreter must not take the test session with it."""
    head = "import gc, threading\nimport numpy as np\nimport python_api as paddle\n" \
           "leaf = lambda v: paddle.to_tensor(np.array(v, 'float64'), stop_gradient=False)\n"
    done = subprocess.run([sys.executable, "-P", "-c", head + textwrap.dedent(code)], capture_output=True, text=True,
                          env={"PYTHONPATH": ":".join(p for p in sys.path if p)}, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-1] == "end"


# ---- long chains: S9.6 -------------------------------------------------------------------------------------------------------------------

CHAINS = """
    def functional(n):
        y = x = leaf([1.0, 2.0])
        for _ in range(n):
            y = y + 1.0
        return x, y

    def saving(n):
        y = x = leaf([0.5, 0.25])
        for _ in range(n):
            y = y.sin()
        return x, y

    def in_place(n):
        x = leaf([1.0, 2.0])
        y = x.clone()
        for _ in range(n):
            y.scale_(1.0)
        return x, y

    def in_place_saving(n):
        x = leaf([0.5, 0.25])
        y = x.clone()
        for _ in range(n):
            y.sin_()
        return x, y

    def views(n):
        y = x = leaf([1.0, 2.0])
        for k in range(n):
            y = y.unsqueeze(0) if k % 2 == 0 else y.squeeze(0)
        return x, y

    def part_writes(n):
        x = leaf([1.0, 2.0])
        y = x.clone()
        for k in range(n):
            y[k % 2] = y[1 - k % 2] * 1.0
        return x, y

    def writes_through_views(n):
        x = leaf([1.0, 2.0])
        y = x.clone()
        for k in range(n):
            y[k % 2].scale_(1.0)
        return x, y

    def joined(n):
        y = x = leaf([1.0, 2.0])
        for k in range(n):
            y = paddle.concat([y[:1], y[1:], x[:0]])
        return x, y

    def with_hooks(n):
        y = x = leaf([1.0, 2.0])
        for k in range(n):
            y = y + 1.0
            y.register_hook(lambda g: None)
        return x, y

    def check(make, n, backward):
        x, y = make(n)
        if backward:
            y.backward(retain_graph=backward == "retain")
            assert x.grad is not None and np.isfinite(x.grad.numpy()).all()
        del x, y
"""


@pytest.mark.parametrize("backward", [False, True, "retain"])
def test_a_million_operators_on_an_ordinary_stack(backward):
    in_fresh_process(CHAINS + f"""
    gc.disable()
    check(functional, 1_000_000, {backward!r})
    check(in_place, 1_000_000, {backward!r})
    print("end")
    """)


@pytest.mark.parametrize("backward", [False, True, "retain"])
def test_a_hundred_thousand_operators_on_a_small_stack(backward):
    in_fresh_process(CHAINS + f"""
    gc.disable()
    def work():
        for make in (functional, saving, in_place, in_place_saving, views, part_writes, writes_through_views):
            check(make, 100_000, {backward!r})
        for make in (joined, with_hooks):
            check(make, 50_000, {backward!r})
        print("end")
    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """)


def test_a_long_chain_freed_by_the_collector_on_a_small_stack():
    """A hook that refers to the end makes the whole chain one cycle."""
    in_fresh_process("""
    def work():
        gc.disable()
        y = x = leaf([1.0, 2.0])
        for _ in range(100_000):
            y = y + 1.0
        x.register_hook(lambda g, y=y: None)
        del x, y
        gc.enable()
        gc.collect()
        assert not [o for o in gc.get_objects() if type(o).__name__ == "GradNode"]
        print("end")
    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """)


def test_create_graph_on_a_long_chain():
    """The graph of the gradient is as long again."""
    in_fresh_process("""
    gc.disable()
    def work():
        y = x = leaf([0.5])
        for _ in range(20_000):
            y = y.sin()
        g, = paddle.grad([y], [x], create_graph=True)
        h, = paddle.grad([g], [x])
        assert np.isfinite(h.item())
        del x, y, g, h
        print("end")
    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """)


# ---- freed by reference counts -----------------------------------------------------------------------------------------------------------

def build(x):
    """One of everything: views, in-place writes, saved inputs and outputs, several inputs."""
    y = (x * 2.0).exp() * 1.5
    y.sin_()
    y[0] = x[1].sin()
    s = y[1:]
    s.multiply_(x[1:])
    z = paddle.concat([y, s, x.reshape([2, 2]).T.flatten()])
    z.reshape_([-1, 1])
    z.sigmoid_()
    return (z * z).sum() + paddle.matmul(x, x) + x.max() + paddle.stack([x, x]).mean()


@pytest.mark.parametrize("how", ["dropped", "backward", "retain", "grad", "create_graph"])
def test_a_dropped_graph_is_freed_without_the_collector(no_collector, how):
    """S5.6: also when a pass has run over it, kept it, or recorded itself."""
    x = leaf([0.1, 0.2, 0.3, 0.4])
    x.sum().backward()
    x.clear_gradient(set_to_zero=False)
    before = nodes_alive(), len(gc.get_objects())
    for _ in range(3):
        loss = build(x)
        watched = weakref.ref(loss)
        if how in ("backward", "retain"):
            loss.backward(retain_graph=how == "retain")
        elif how in ("grad", "create_graph"):
            g, = paddle.grad([loss], [x], create_graph=how == "create_graph")
            if how == "create_graph":
                paddle.grad([(g * g).sum()], [x])
            del g
        x.clear_gradient(set_to_zero=False)
        del loss
        assert watched() is None
        assert nodes_alive() == before[0]
    assert len(gc.get_objects()) <= before[1] + 3
    assert gc.collect() == 0


def test_intermediates_go_when_nobody_needs_them(no_collector):
    """S5.6: an operator that saved its own result, or one applied in place, keeps no tensor alive."""
    x = leaf([0.1, 0.2])
    y = x * 1.0
    first = weakref.ref(y)
    y.exp_()
    z = y.sqrt()
    second = weakref.ref(z)
    del y, z
    assert first() is None
    assert second() is None


def test_backward_frees_what_it_has_passed(no_collector):
    """S5.7: saved values go during the pass, though the result is still held."""
    big = 1 << 20
    process = psutil.Process()
    x = paddle.to_tensor(np.full(big, 0.5), stop_gradient=False)

    def chain():
        y = x
        for _ in range(30):
            y = y.sin()
        return y.sum()

    first = chain()
    rss = process.memory_info().rss
    first.backward()
    second = chain()                 # fits into what the first has given back
    assert process.memory_info().rss - rss < 10 * 8 * big
    second.backward()


# ---- cycles that users make: S9.26 -------------------------------------------------------------------------------------------------------

def collected(make):
    gc.collect()
    watched = make()
    gc.collect()
    return watched() is None


def test_a_hook_that_knows_its_own_tensor():
    """S9.26: leaf, intermediate, view, and a tensor written in place."""
    def on_leaf():
        x = leaf([1.0])
        x.register_hook(lambda g: x)
        return weakref.ref(x)

    def on_result():
        x = leaf([1.0])
        y = x * 2.0
        y.register_hook(lambda g: y * g)
        return weakref.ref(y)

    def on_view():
        x = leaf([1.0, 2.0])
        y = x * 2.0
        v = y[1:]
        v.register_hook(lambda g: (v, y))
        return weakref.ref(v)

    def on_target():
        x = leaf([1.0, 2.0])
        y = x * 2.0
        y.register_hook(lambda g: y)
        y.exp_()
        y.register_hook(lambda g: y)
        y.sum().backward(retain_graph=True)
        return weakref.ref(y)

    for make in (on_leaf, on_result, on_view, on_target):
        assert collected(make), make.__name__


def test_a_gradient_with_a_graph_stored_on_its_own_leaf():
    """S9.26: x.grad has a history that leads to x's own accumulation node."""
    def cycle():
        x = leaf([1.0, 2.0])
        (x ** 3).sum().backward(create_graph=True)
        assert x.grad.grad_fn is not None
        return weakref.ref(x.grad)

    before = nodes_alive()
    assert collected(cycle)
    assert nodes_alive() <= before


def test_a_handle_keeps_nothing_but_the_hook(no_collector):
    x = leaf([1.0])
    y = x * 2.0
    handle = y.register_hook(lambda g: None)
    watched = weakref.ref(y)
    del y
    assert watched() is None
    assert handle.remove() is True
    assert handle.remove() is False


# ---- no growth ---------------------------------------------------------------------------------------------------------------------------

def test_ten_thousand_training_steps_do_not_grow(no_collector):
    """RSS and object counts, with the collector off: layers, views, in-place writes, hooks, updates, cleared gradients."""
    rng = np.random.default_rng(0)
    data, labels = paddle.to_tensor(rng.normal(size=(8, 4))), paddle.to_tensor(rng.normal(size=(8, 1)))
    weights = [leaf(rng.normal(size=s) * 0.3) for s in ((4, 5), (5,), (5, 1), (1,))]

    def step():
        hidden = paddle.matmul(data, weights[0]) + weights[1]
        hidden.sin_()
        hidden[0] = hidden[1] * 0.5
        hidden[:, 1:3].scale_(0.9)
        error = (paddle.matmul(hidden, weights[2]) + weights[3] - labels).square().mean()
        handle = error.register_hook(lambda g: g * 1.0)
        error.backward()
        handle.remove()
        with paddle.no_grad():
            for w in weights:
                w.subtract_(w.grad * 0.05)
                w.clear_gradient()
        return error.item()

    process = psutil.Process()
    first = step()
    for _ in range(1000):
        step()
    objects, rss = len(gc.get_objects()), process.memory_info().rss
    for _ in range(10_000):
        last = step()
    assert last < first
    assert len(gc.get_objects()) <= objects + 5
    assert process.memory_info().rss - rss < 2 << 20


class Deliberate(Exception):  # noqa: N818
    pass


def _raise(g):
    raise Deliberate


def _failing_hook(x):
    y = (x * x).exp()
    y.register_hook(_raise)
    y[1:].sum().backward()


def _failing_version(x):
    y = x * 1.0
    z = (y * y).sum()
    y.scale_(2.0)
    z.backward()


def _failing_seed(x):
    (x * x).backward(paddle.to_tensor([1.0, 2.0, 3.0]))


def _failing_second(x):
    z = (x.exp() * x).sum()
    z.backward()
    z.backward()


def _failing_leaf(x):
    y = x * 1.0
    y.sum()
    x.exp_()


def _failing_shape(x):
    (x * 1.0).add_(paddle.ones([7, 7], dtype="float64"))


def _failing_index(x):
    y = x * 1.0
    y[paddle.to_tensor([0, 99])] = x[:2]


def _failing_unused(x):
    paddle.grad([(x * 2.0).sum()], [x * 1.0])


def _failing_accumulation(x):
    with paddle.no_grad():
        other = leaf([1.0, 2.0])
        other.sum()
    z = (other * other).sum() + x.sum()
    with paddle.no_grad():
        other.reshape_([2, 1])
    z.backward()


@pytest.mark.parametrize("fail", [_failing_hook, _failing_version, _failing_seed, _failing_second, _failing_leaf, _failing_shape,
                                  _failing_index, _failing_unused, _failing_accumulation], ids=lambda f: f.__name__[1:])
def test_nothing_leaks_after_a_failure(no_collector, fail):
    """Forward, hooks, backward, commits: by object counts, with the collector off."""
    x = leaf([0.1, 0.2, 0.3, 0.4])

    def attempt():
        try:
            fail(x)
        except (Deliberate, RuntimeError, ValueError, IndexError):
            return
        pytest.fail("did not fail")

    for _ in range(20):
        attempt()
    x.clear_gradient(set_to_zero=False)
    objects, nodes = len(gc.get_objects()), nodes_alive()
    for _ in range(200):
        attempt()
    x.clear_gradient(set_to_zero=False)
    assert nodes_alive() <= nodes
    assert len(gc.get_objects()) <= objects + 5
    assert paddle.is_grad_enabled()


def test_storage_is_not_kept_by_failures():
    """RSS, where memory is not made of objects the collector can see."""
    process = psutil.Process()
    x = paddle.to_tensor(np.full(1 << 18, 0.5), stop_gradient=False)

    def attempt():
        y = x.exp()
        y.register_hook(_raise)
        with pytest.raises(Deliberate):
            (y * y).sum().backward()

    for _ in range(5):
        attempt()
    rss = process.memory_info().rss
    for _ in range(50):
        attempt()
    assert process.memory_info().rss - rss < 8 << 20


def test_threads_that_end_leave_nothing():
    x = leaf([0.1, 0.2])

    def work():
        y = (x * x).exp()
        y.sum().backward()
        with paddle.no_grad():
            (x * 2.0).sum()

    def round_of_threads():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    round_of_threads()
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(50):
        round_of_threads()
    gc.collect()
    assert len(gc.get_objects()) <= objects + 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_in_the_middle_of_another_threads_commit_can_run_backward():
    """S9.23: the lock of the commits is held by a thread that does not exist in the child."""
    in_fresh_process("""
        import os, signal
        x, stop = leaf(np.ones(1_000_000)), threading.Event()

        def work():
            y = x * 2.0
            while not stop.is_set():
                y.backward(retain_graph=True)

        thread = threading.Thread(target=work)
        thread.start()
        failed = 0
        for _ in range(40):
            child = os.fork()
            if not child:
                signal.alarm(20)
                z = leaf([1.0])
                (z * 3.0).sum().backward()
                os._exit(z.grad.tolist() != [3.0])
            failed += os.waitpid(child, 0)[1] != 0
            if failed:
                break
        stop.set()
        thread.join()
        assert not failed
        print("end")
    """)

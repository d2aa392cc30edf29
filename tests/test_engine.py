"""The backward engine, S9. Expected numbers come from formulas or from central differences of NumPy code."""
import gc
import threading
import weakref

import numpy as np
import pytest
from differences import slope

import python_api as paddle

MODIFIED = "modified by an inplace operation"
X = [0.5, 0.8, 1.2, 1.5]


def leaf(values=X, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype), stop_gradient=False)


def const(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def close(got, want):
    got = got.numpy() if isinstance(got, paddle.Tensor) else got
    np.testing.assert_allclose(got, np.broadcast_to(np.asarray(want), np.shape(got)), rtol=1e-6, atol=1e-9)


# ---- seeds and roots: S9.1 - S9.5 --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (1, 1)])
def test_any_shape_is_seeded_with_ones(shape):
    """S9.1."""
    x = leaf(np.full(shape, 0.5))
    (x * 3.0).backward()
    assert x.grad.shape == list(shape)
    close(x.grad, np.full(shape, 3.0))


def test_a_seed_is_used_and_left_alone():
    """S9.1, S9.7."""
    x, seed = leaf(), const([1.0, 2.0, 3.0, 4.0])
    (x * x).backward(seed)
    close(x.grad, 2 * np.array(X) * [1, 2, 3, 4])
    x.grad.zero_()
    close(seed, [1, 2, 3, 4])
    assert seed.inplace_version == 0
    y = leaf()
    y.clone().backward(seed)
    y.grad.zero_()
    close(seed, [1, 2, 3, 4])


@pytest.mark.parametrize("n", [5, 64, 100_000])
@pytest.mark.parametrize("distance", [1, 3])
def test_a_seed_that_overlaps_the_gradient_it_is_added_to(n, distance):
    """S7.5, S9.5: .grad may have been given memory that other tensors see; what is added is the seed as it was."""
    values = np.arange(1.0, n + 4.0)
    buffer, x = const(values), paddle.to_tensor(np.zeros(n), stop_gradient=False)
    x.sum().backward()
    x.grad.data = buffer[distance:distance + n]
    x.backward(buffer[:n])
    close(x.grad, values[distance:distance + n] + values[:n])


@pytest.mark.parametrize("seed", [1.0, [1.0], np.ones(4)])
def test_a_seed_that_is_no_tensor(seed):
    """S9.2."""
    x = leaf()
    with pytest.raises(TypeError, match="Tensor"):
        (x * 2.0).backward(seed)
    assert x.grad is None


def test_a_seed_of_another_shape_or_dtype():
    """S9.2, section 14 item 32: also for grad()."""
    x = leaf([1.0, 2.0])
    y = x * 3.0
    text = r"Tensor shape not match, Tensor of grad_tensor \[ .* \] with shape \[1\] mismatch Tensor \[ .* \] with shape \[2\]"
    with pytest.raises(ValueError, match=text):
        y.backward(const([1.0]))
    with pytest.raises(ValueError, match=text):
        paddle.grad([y], [x], grad_outputs=[const([1.0])])
    assert x.grad is None
    y.backward(const([1.0, 2.0], "float32"))             # a refused seed consumes nothing; another dtype is converted
    close(x.grad, [3, 6])
    assert x.grad.dtype == np.float64


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_root_that_is_an_ancestor_of_another(order):
    """S9.3: in either order."""
    x = leaf()
    y = x * 2.0
    roots = [y, y.exp()]
    paddle.autograd.backward([roots[k] for k in order])
    close(x.grad, 2 + 2 * np.exp(2 * np.array(X)))


def test_roots_and_their_seeds():
    """S9.3: None seeds ones; one tensor needs no list; a bad list is refused before anything runs."""
    x = leaf([1.0, 2.0])
    y, z = x * 2.0, x * x
    paddle.autograd.backward([y, z], [None, const([1.0, 10.0])], retain_graph=True)
    close(x.grad, [2 + 2, 2 + 40])
    paddle.autograd.backward(y, retain_graph=True)
    close(x.grad, [6, 44])
    for tensors, seeds in (([], None), ([y, y], None), ([y], [None, None]), ([y, 3.0], None), ([y], [3.0])):
        with pytest.raises((ValueError, TypeError)):
            paddle.autograd.backward(tensors, seeds)
    close(x.grad, [6, 44])
    paddle.autograd.backward([y, z])


def test_a_leaf_as_the_root():
    """S9.5: the seed is accumulated."""
    x = leaf([1.0, 2.0])
    x.backward()
    x.backward(const([1.0, 2.0]))
    close(x.grad, [2, 3])


# ---- order, fan-in: S9.6 -----------------------------------------------------------------------------------------------------------------

def test_every_node_runs_once_after_all_its_consumers():
    """S9.6: the hook of a shared value sees one sum."""
    x = leaf()
    y = x * 2.0
    seen = []
    y.register_hook(lambda g: seen.append(g.numpy()))
    a = y.exp()
    b = (a + y) * y
    (a.sum() + b.sum() + y[1:].sum()).backward()
    v = 2 * np.array(X)
    want = np.exp(v) + (np.exp(v) + 1) * v + np.exp(v) + v + [0, 1, 1, 1]
    assert len(seen) == 1
    close(seen[0], want)
    close(x.grad, 2 * want)


def test_a_ladder_is_no_tree():
    """S9.6: 2^200 paths, 400 nodes."""
    x = leaf([1.0])
    y = x
    for _ in range(200):
        y = y * 0.5 + y * 0.5
    y.backward()
    close(x.grad, [1.0])


def test_wide_fan_in_and_fan_out():
    """S9.6: more inputs and outputs than fit inline."""
    x = leaf([1.0, 2.0])
    parts = [x * float(k) for k in range(40)]
    paddle.stack(parts).sum().backward()
    close(x.grad, [780, 780])
    x.clear_gradient(set_to_zero=False)
    paddle.concat([x] * 12).sum().backward()
    close(x.grad, [12, 12])


# ---- accumulation: S9.7 - S9.10 ----------------------------------------------------------------------------------------------------------

def test_accumulation_is_in_place_on_one_object():
    """S9.7: the same object, with a version bump; with create_graph a new tensor."""
    x = leaf([1.0, 2.0])
    (x * 3.0).sum().backward()
    g = x.grad
    assert x.grad is g
    version = g.inplace_version
    (x * 4.0).sum().backward()
    assert x.grad is g
    assert g.inplace_version == version + 1
    close(g, [7, 7])
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not g
    close(g, [7, 7])
    close(x.grad, [9, 11])


@pytest.mark.parametrize("form", ["sum", "reshape", "slice", "both", "concat", "assign", "transpose", "leaf root"])
def test_gradients_share_memory_with_nothing(form):
    """S9.7, S9.13, S9.19, section 14 items 29 and 45."""
    x, w, seed = leaf(), leaf(), const([1.0, 2.0, 3.0, 4.0])
    kept = []
    if form == "sum":
        (x + w).backward(seed)
    elif form == "reshape":
        (x.reshape([2, 2]) + w.reshape([2, 2])).reshape([4]).backward(seed)
    elif form == "slice":
        paddle.autograd.backward([x[:], w[:]], [seed, seed])
    elif form == "both":
        y = x + w
        y.retain_grads()
        y.register_hook(kept.append)
        x.register_hook(kept.append)
        y.backward(seed)
        kept.append(y.grad)
    elif form == "concat":
        paddle.concat([x[:2], w[2:]]).backward(seed)
        paddle.autograd.backward([x, w], [seed, seed])
    elif form == "assign":
        (x.clone() + w.clone()).backward(seed)
    elif form == "transpose":
        (x.reshape([2, 2]).T + w.reshape([2, 2]).T).backward(seed.reshape([2, 2]))
    else:
        paddle.autograd.backward([x, w], [seed, seed])
    everything = [x.grad, w.grad, seed, *kept]
    before = [t.numpy() for t in everything]
    for k, t in enumerate(everything):
        with paddle.no_grad():
            t.fill_(float(k))
            for j, other in enumerate(everything):
                if j > k:
                    np.testing.assert_array_equal(other.numpy(), before[j])
    results = paddle.grad([x + w], [x, w], grad_outputs=[seed])
    results[0].zero_()
    assert results[1].numpy().any()
    assert seed.numpy().any()


def test_grad_is_a_constant_unless_it_has_a_graph():
    """S9.8."""
    x = leaf([1.0, 2.0])
    (x ** 3).sum().backward()
    assert x.grad.stop_gradient
    x.grad.zero_()
    y = leaf([1.0, 2.0])
    (y ** 3).sum().backward(create_graph=True)
    assert not y.grad.stop_gradient


def test_assigning_grad():
    """S9.9, section 14 item 46: copied; checked."""
    x = leaf([1.0, 2.0])
    given = const([10.0, 20.0])
    x.grad = given
    assert x.grad is not given
    x.sum().backward()
    close(given, [10, 20])
    close(x.grad, [11, 21])
    for bad in (const([1.0]), const([[1.0, 2.0]]), const([1.0, 2.0], "float32")):
        with pytest.raises((ValueError, TypeError)):
            x.grad = bad
    with pytest.raises(TypeError):
        x.grad = 3.0
    with pytest.raises(TypeError):
        x.grad = np.ones(2)
    close(x.grad, [11, 21])
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    close(x.grad, [1, 1])
    x.grad = leaf([3.0, 4.0]) * 2.0                       # without its history
    assert x.grad.is_leaf and x.grad.stop_gradient
    close(x.grad, [6, 8])


def test_a_leaf_that_changed_its_shape():
    """S9.10, section 14 item 33: an error, and no `.grad` changes."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x * w).sum().backward()
    old = (x * x).sum() + w.sum()
    with paddle.no_grad():
        x.reshape_([2, 1])
    with pytest.raises((ValueError, RuntimeError), match="shape|modified"):
        old.backward()
    with pytest.raises(ValueError, match="shape"):
        (x * 2.0).sum().backward()                       # .grad has the old shape
    close(w.grad, [1, 2])
    x.clear_gradient(set_to_zero=False)
    (x * 2.0).sum().backward()
    close(x.grad, [[2], [2]])


@pytest.mark.parametrize("use", [lambda x: x, lambda x: x * 1.0, lambda x: x[0]], ids=["itself", "product", "view"])
def test_a_leaf_that_changed_its_shape_while_it_was_constant(use):
    """S9.10: the accumulator of the old shape is not met again."""
    x = leaf([1.0, 2.0])
    (x * 3.0).sum().backward()
    x.stop_gradient = True
    x.reshape_([1, 2])
    x.stop_gradient = False
    x.clear_gradient(set_to_zero=False)
    use(x).backward()
    close(x.grad, [[1, 1]])
    assert x.grad.shape == [1, 2]


def test_a_retained_cell_of_an_old_shape():
    """S3.7, S9.13: the write cut the history, and the cell of the old value is not the leaf's."""
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.retain_grads()
    y.stop_gradient = True
    y.reshape_([2, 1])
    y.stop_gradient = False
    y.backward()
    close(y.grad, [[1], [1]])
    assert y.grad.shape == [2, 1]
    assert x.grad is None


def test_a_hidden_history_keeps_its_shape_under_no_grad():
    """S3.7, S8.7: it may come back, and knows the old shape only."""
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.stop_gradient = True
    with paddle.no_grad(), pytest.raises(RuntimeError, match="shape of a tensor with history"):
        y.reshape_([2, 1])
    assert y.shape == [2]
    assert y.inplace_version == 0
    y.stop_gradient = False
    y.backward()
    close(x.grad, [3, 3])


def test_a_graph_from_before_a_constant_was_reshaped():
    """S9.10: it accumulates into a leaf that has another shape now."""
    t = leaf([[1.0, 2.0, 3.0]])
    old = (t * 5.0).sum()
    t.stop_gradient = True
    t.reshape_([3])
    with pytest.raises(ValueError, match="changed its shape"):
        old.backward()
    assert t.grad is None


@pytest.mark.parametrize("method", ["transpose_", "t_", "reshape_", "unsqueeze_"])
def test_the_shape_of_a_constant_with_history_cannot_change_under_no_grad(method):
    """S3.7, S8.7: the history may come back, and would take the gradient of a square matrix for that of its transpose."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    y.stop_gradient = True
    arguments = {"transpose_": ([1, 0],), "t_": (), "reshape_": ([4],), "unsqueeze_": (0,)}[method]
    with paddle.no_grad(), pytest.raises(RuntimeError, match="history cannot change under no_grad"):
        getattr(y, method)(*arguments)
    assert y.shape == [2, 2] and y.inplace_version == 0
    y.stop_gradient = False
    (y * const([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    close(x.grad, [[1, 2], [3, 4]])


def test_pieces_and_a_changed_grad():
    """S9.10, S9.22: a sum of slices is accumulated piece by piece; the `.grad` they go into may be gone or another by then."""
    x = leaf()
    x.sum().backward()
    y = x * 1.0
    loss = x[1:].sum() + x[:2].sum() + y.sum()
    # The leaf's own consumers are done before this hook only if the engine takes them first: both orders must work.
    y.register_hook(lambda g: x.clear_gradient(set_to_zero=False))
    loss.backward()
    close(x.grad, [2, 3, 2, 2])
    m = leaf([[1.0, 2.0], [3.0, 4.0]])
    m.sum().backward()
    m.grad.transpose_([1, 0])
    (m[0] * const([10.0, 20.0])).sum().backward()
    close(m.grad, [[11, 21], [1, 1]])
    m.grad = None
    m.sum().backward()
    m.grad.reshape_([4])
    with pytest.raises(ValueError, match="shape"):
        m[0].sum().backward()


# ---- hooks: S9.11, S9.12, S9.14 - S9.16 --------------------------------------------------------------------------------------------------

def test_hooks_run_in_order_and_replace():
    """S9.11."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    seen = []
    y.register_hook(lambda g: seen.append(("first", g.tolist())))
    y.register_hook(lambda g: g * 10.0)
    y.register_hook(lambda g: seen.append(("third", g.tolist())))
    (y * 3.0).sum().backward()
    assert seen == [("first", [3.0, 3.0]), ("third", [30.0, 30.0])]
    close(x.grad, [30, 30])


def test_register_hook_refuses():
    """S9.11."""
    with pytest.raises(RuntimeError, match=r"Cannot register hook on a tensor that stop gradient\."):
        const([1.0]).register_hook(print)
    with pytest.raises(TypeError):
        leaf([1.0]).register_hook(3)


@pytest.mark.parametrize("on_leaf", [True, False])
@pytest.mark.parametrize("answer", [3.0, "x", np.ones(2), const([1.0]), const([[1.0, 2.0]]), const([1.0, 2.0], "float32")],
                         ids=["float", "str", "array", "short", "axes", "dtype"])
def test_a_hook_that_answers_wrongly(answer, on_leaf):
    """S9.11, section 14 item 31: an error, nothing is stored."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    (x if on_leaf else y).register_hook(lambda g: answer)
    with pytest.raises((TypeError, ValueError)):
        y.sum().backward()
    assert x.grad is None


def test_a_hook_that_compares_in_its_own_way():
    """S9.11: hooks are told apart from removed ones by identity; what their ``==`` does is none of the engine's business."""
    class Doubles:
        __hash__ = None

        def __call__(self, g):
            return g * 2.0

        def __eq__(self, other):
            raise ValueError("not to be compared")

    x = leaf([1.0])
    x.register_hook(Doubles())
    (x * 3.0).sum().backward()
    close(x.grad, [6])


@pytest.mark.parametrize("on_leaf", [True, False])
def test_a_hooks_answer_with_a_history_leaves_it_behind(on_leaf):
    """S9.8, S9.15: without create_graph a gradient is a constant, whatever a hook has recorded or asked for."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 1.0

    def recorded(g):
        with paddle.enable_grad():
            return g * w

    def flagged(g):
        g.stop_gradient = False

    for hook, want in ((recorded, [15, 20]), (flagged, [5, 5])):
        handle = (x if on_leaf else y).register_hook(hook)
        (found,) = paddle.grad((y * 5.0).sum(), x, retain_graph=True)
        assert found.stop_gradient and found.is_leaf
        close(found, want)
        (y * 5.0).sum().backward(retain_graph=True)
        assert x.grad.stop_gradient and x.grad.is_leaf
        close(x.grad, want)
        x.grad.zero_()
        x.grad = None
        handle.remove()


def test_removing_hooks():
    """S9.11: True, then False; during a run it takes effect for the next."""
    x = leaf([1.0])
    seen, removed = [], []

    def first(g):
        seen.append("first")
        removed.append(second_handle.remove())

    x.register_hook(first)
    second_handle = x.register_hook(lambda g: seen.append("second"))
    x.sum().backward()
    assert seen == ["first", "second"]
    x.sum().backward()
    assert seen == ["first", "second", "first"]
    assert second_handle.remove() is False
    assert removed == [True, False]


def test_a_hook_fires_once_per_backward():
    """S9.11."""
    x = leaf([1.0, 2.0])
    count = []
    y = x * 2.0
    y.register_hook(count.append)
    z = y.sum()
    z.backward(retain_graph=True)
    z.backward()
    assert len(count) == 2


def test_a_hook_belongs_to_the_value_at_registration():
    """S9.12: before an in-place operation it sees the gradient of the old value, after it that of the new, which fires first."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    seen = []
    y.register_hook(lambda g: seen.append(("old", g.tolist())))
    y.scale_(5.0)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    (y * 7.0).sum().backward()
    assert seen == [("new", [7.0, 7.0]), ("old", [35.0, 35.0])]


def test_a_hook_on_the_old_value_can_replace():
    """S9.12."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.register_hook(lambda g: g * 2.0)
    y[0] = 9.0
    y.register_hook(lambda g: g * 3.0)
    (y * 7.0).sum().backward()
    close(x.grad, [0, 42])


def test_leaf_hooks_run_before_accumulation():
    """S9.12."""
    x = leaf([1.0])
    at_hook = []

    def hook(g):
        at_hook.append(x.grad)
        return g * 2.0

    x.register_hook(hook)
    (x * 3.0).backward()
    assert at_hook == [None]
    close(x.grad, [6])


def test_grad_runs_hooks_on_the_path_and_of_the_leaf():
    """S9.12, section 14 item 34."""
    x, w = leaf([1.0]), leaf([1.0])
    x.register_hook(lambda g: g * 3.0)
    off_path = []
    w.register_hook(off_path.append)
    y = x * 2.0
    y.register_hook(lambda g: g * 5.0)
    g, = paddle.grad([(y * w).sum()], [x])
    close(g, [30])
    assert off_path == []
    assert x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("first", ["x", "w"])
def test_a_kept_hook_argument_written_by_a_later_hook(first, create_graph):
    """S9.7, S9.14: `.grad` is written at the end of the pass, and what flows on is used later; neither is the object that a hook kept."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    kept = []

    def late(g):
        for old in kept:
            with paddle.no_grad():
                old.fill_(100.0)

    y, z = x * 2.0, w * 5.0
    roots = [y.sum(), z.sum()]
    x.register_hook(kept.append)
    y.register_hook(kept.append)
    z.register_hook(late)
    w.register_hook(late)
    sum(roots if first == "x" else roots[::-1]).backward(create_graph=create_graph)
    close(x.grad, [2, 2])
    close(w.grad, [5, 5])


def test_a_hook_that_answers_with_a_recorded_tensor():
    """S9.8: without create_graph a gradient has no history."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def hook(g):
        with paddle.enable_grad():
            return g * w

    x.register_hook(hook)
    (x * 2.0).sum().backward()
    close(x.grad, [6, 8])
    assert x.grad.stop_gradient
    assert x.grad.is_leaf
    result, = paddle.grad((x * 2.0).sum(), x)
    assert result.stop_gradient
    close(result, [6, 8])


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_inside_hooks(create_graph):
    """S9.15."""
    x = leaf([1.0, 2.0])
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append((paddle.is_grad_enabled(), (g * x).stop_gradient)))
    for outside in (True, False):
        with paddle.set_grad_enabled(outside):
            y.backward(retain_graph=True, create_graph=create_graph)
            assert paddle.is_grad_enabled() is outside
    assert seen == [(create_graph, not create_graph)] * 2


def test_backward_inside_a_hook():
    """S9.16: on another graph, and on a leaf of this one."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    y = x * 2.0

    def hook(g):
        with paddle.enable_grad():
            (w * w * g).sum().backward()
            (x * 100.0).sum().backward()

    y.register_hook(hook)
    (y * 3.0).sum().backward()
    close(w.grad, [6, 6])
    close(x.grad, [106, 106])


def test_backward_inside_a_hook_on_the_same_graph():
    """S9.16: nodes that the outer pass has numbered are run by the inner one too."""
    x = leaf([1.0, 2.0])
    y = x * 3.0
    z = y.exp()
    inner = y.sum()

    def hook(g):
        inner.backward(retain_graph=True)

    z.register_hook(hook)
    z.sum().backward()
    close(x.grad, 3 * np.exp(3 * np.array([1.0, 2.0])) + 3)


def test_an_inner_pass_that_frees_what_the_outer_needs():
    """S9.16, S9.22, S5.7: an error, never a part of the gradient."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    shared = x * 3.0
    y = shared * w
    z = w * 2.0
    inner = shared.sum()
    z.register_hook(lambda g: inner.backward())
    loss = (y + z).sum() + z.sum()
    with pytest.raises(RuntimeError, match="backward twice"):
        loss.backward()
    close(x.grad, [3, 3])                                # of the inner pass, which was complete
    assert w.grad is None


def test_deep_re_entrance():
    """S9.16."""
    x = leaf([1.0])

    def run(depth):
        with paddle.enable_grad():
            y = x * 1.0
            if depth:
                y.register_hook(lambda g: run(depth - 1))
            y.sum().backward()

    run(20)
    close(x.grad, [21])


# ---- retain_grads: S9.13 -----------------------------------------------------------------------------------------------------------------

def test_retained_gradients():
    """S9.13: after all hooks, whenever they were registered; accumulated over passes; no-op on leaves and constants."""
    x = leaf([1.0, 2.0])
    y = x * 2.0
    assert (y * 1.0).grad is None
    y.retain_grads()
    y.retain_grads()
    y.register_hook(lambda g: g * 10.0)
    z = (y * y).sum()
    z.backward(retain_graph=True)
    close(y.grad, 10 * 2 * 2 * np.array([1, 2]))
    z.backward()
    close(y.grad, 2 * 10 * 2 * 2 * np.array([1, 2]))
    x.retain_grads()
    const([1.0]).retain_grads()
    assert x.is_leaf
    other = x * 2.0
    other.sum().backward()
    assert other.grad is None


def test_a_retained_gradient_after_the_history_was_cut():
    """S9.13, S3.7, S8.9: what arrives at the old value is no gradient of the new one."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.retain_grads()
    old = (y * 3.0).sum()
    y.detach_()
    y.stop_gradient = False
    old.backward()
    assert y.grad is None
    (y * 5.0).sum().backward()
    close(y.grad, [5, 5])
    y = x * 1.0
    y.retain_grads()
    old = (y * 3.0).sum()
    y.stop_gradient = True
    y.scale_(2.0)
    y.add_(x)
    old.backward()
    assert y.grad is None
    (y * 5.0).sum().backward()
    close(y.grad, [5, 5])


def test_a_view_that_changed_its_shape_keeps_its_history():
    """S2.4, S8.9: though the tensor it was taken from has become a constant since."""
    x = leaf()
    y = x * 2.0
    s = y[:2]
    y.detach_()
    s.unsqueeze_(0)
    (s * const([[3.0, 4.0]])).sum().backward()
    close(x.grad, [6, 8, 0, 0])
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    t = (x * 1.0).T
    t.unsqueeze_(0)
    t.transpose_([2, 1, 0])
    (t * const([[[1.0], [2.0]], [[3.0], [4.0]]])).sum().backward()
    close(x.grad, [[1, 2], [3, 4]])


# ---- grad(): S9.17 - S9.19 ---------------------------------------------------------------------------------------------------------------

def test_grad_touches_no_grad():
    """S9.17."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    y.retain_grads()
    gx, gw = paddle.grad([y], [x, w])
    close(gx, [3, 4])
    close(gw, [1, 2])
    assert x.grad is None
    assert w.grad is None
    assert y.grad is None
    assert gx.stop_gradient


def test_grad_frees_unless_told_otherwise():
    """S5.8, S9.17: retain_graph defaults to create_graph."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    paddle.grad([y], [x], create_graph=True)
    paddle.grad([y], [x], retain_graph=True)
    paddle.grad([y], [x])
    with pytest.raises(RuntimeError, match="backward twice"):
        paddle.grad([y], [x])
    with pytest.raises(SystemError):
        y.backward()
    assert x.grad is None


def test_grad_leaves_what_lies_behind_the_inputs():
    """S5.7, S9.17: only nodes that ran are freed, so the rest of the graph can go on from the gradient."""
    x = leaf([1.0, 2.0])
    h = x.exp()
    g, = paddle.grad([(h * h).sum()], [h])
    h.backward(g)
    close(x.grad, 2 * np.exp(2 * np.array([1.0, 2.0])))


def test_grad_of_what_cannot_be_reached():
    """S9.17."""
    x, w = leaf([1.0]), leaf([1.0])
    y = x * 2.0
    with pytest.raises(ValueError, match=r"The 1-th input does not appear in the backward graph\. Please check the input tensor or set "
                                         r"allow_unused=True to get None result\."):
        paddle.grad([y], [x, w], retain_graph=True)
    gx, gw = paddle.grad([y], [x, w], allow_unused=True)
    close(gx, [2])
    assert gw is None


def test_grad_refuses_duplicates():
    """S9.17."""
    x = leaf([1.0])
    y = x * 2.0
    with pytest.raises(RuntimeError, match="AlreadyExists.*inputs contain duplicate tensor"):
        paddle.grad([y], [x, x])
    with pytest.raises(RuntimeError, match="AlreadyExists.*outputs contain duplicate tensor"):
        paddle.grad([y, y], [x])
    close(paddle.grad([y], [x])[0], [2])


def test_grad_no_grad_vars():
    """S9.17."""
    x = leaf([2.0])
    a, b = x * 3.0, x * 5.0
    g, = paddle.grad([(a * b).sum()], [x], no_grad_vars=[a], retain_graph=True)
    close(g, [2 * 3 * 5])
    with pytest.raises(ValueError, match="0-th input"):
        paddle.grad([(a * 1.0).sum()], [x], no_grad_vars=[a])


def test_grad_of_itself_of_intermediates_and_outputs():
    """S9.17: in one call."""
    x = leaf([1.0, 2.0])
    close(paddle.grad([x], [x])[0], [1, 1])
    y = x * 2.0
    z = y * y
    gx, gy, gz = paddle.grad([z], [x, y, z], retain_graph=True)
    close(gx, 8 * np.array([1, 2]))
    close(gy, 4 * np.array([1, 2]))
    close(gz, [1, 1])
    gy, gx = paddle.grad([y, z], [y, x])                  # y is an output and an input
    close(gy, 1 + 4 * np.array([1, 2]))
    close(gx, 2 + 8 * np.array([1, 2]))


def test_grad_of_an_input_behind_another():
    """S9.17: what has been asked for still passes the gradient on."""
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = y.square()
    got = paddle.grad([z.sum()], [z, y, x])
    close(got[0], [1, 1])
    close(got[1], 2 * np.exp([1.0, 2.0]))
    close(got[2], 2 * np.exp([2.0, 4.0]))


def test_grad_with_respect_to_a_tensor_written_in_place():
    """S9.18: its newest version; a view taken before is unreachable, one taken after is not."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    before = y[:1]
    y.scale_(5.0)
    after = y[1:]
    loss = (y * 7.0).sum() + (after * 2.0).sum()
    gy, gb, ga = paddle.grad([loss], [y, before, after], allow_unused=True)
    close(gy, [7, 9])
    assert gb is None
    close(ga, [2])


def test_grad_sums_several_outputs():
    """S9.17."""
    x = leaf([1.0, 2.0])
    g, = paddle.grad([x * 2.0, x * x], [x], grad_outputs=[const([1.0, 1.0]), None])
    close(g, 2 + 2 * np.array([1, 2]))


# ---- create_graph: S9.20 -----------------------------------------------------------------------------------------------------------------

def in_place(op):
    def run(x, w):
        y = x * 1.0
        getattr(y, op)()
        return y
    return run


def _mul_inplace(x, w):
    y = x * 1.0
    y.multiply_(x * w)
    return y


def _div_inplace(x, w):
    y = x * w
    y.divide_(x + 2.0)
    return y


def _self_mul(x, w):
    y = x * w
    y.multiply_(y)
    return y


def _setitem(x, w):
    y = x * x
    y[1:3] = (x * w)[:2] * y[:1]
    return y


def _setitem_row(x, w):
    u = paddle.zeros([4, 4], dtype="float64")
    u[0] = x
    for k in range(3):
        u[k + 1] = u[k] + (u[k] * w).sin() * 0.3
    return u[3]


def _view_write(x, w):
    y = x * x
    y[1:3].multiply_(w[1:3])
    y[::2].sin_()
    return y


def _base_write(x, w):
    y = x * w
    s = y.reshape([2, 2]).T
    y.multiply_(x)
    return s.flatten() * s.T.flatten()


def _shape_in_place(x, w):
    y = x * w
    y.reshape_([2, 2])
    y.transpose_([1, 0])
    y.sin_()
    return y.flatten() * x


def _picked(x, w):
    y = x * w
    y[paddle.to_tensor([0, 2])] = (x * x)[1:3]
    return y[paddle.to_tensor([0, 0, 1, 2])] * x


def _mixed(x, w):
    return paddle.concat([x.exp() * w, (x / w).tanh()])[1:5].square() + paddle.stack([x, w]).mean(axis=0).sigmoid()


PROGRAMS = [
    (in_place(name), f) for name, f in (
        ("sin_", lambda x, w: np.sin(x)), ("cos_", lambda x, w: np.cos(x)), ("square_", lambda x, w: x * x),
        ("log_", lambda x, w: np.log(x)),
        ("exp_", lambda x, w: np.exp(x)), ("tanh_", lambda x, w: np.tanh(x)), ("sigmoid_", lambda x, w: 1 / (1 + np.exp(-x))),
        ("sqrt_", lambda x, w: np.sqrt(x)), ("rsqrt_", lambda x, w: x ** -0.5), ("reciprocal_", lambda x, w: 1 / x))
] + [
    (_mul_inplace, lambda x, w: x * x * w),
    (_div_inplace, lambda x, w: x * w / (x + 2)),
    (_self_mul, lambda x, w: (x * w) ** 2),
    (_setitem, lambda x, w: np.stack([x[0] ** 2, x[0] * w[0] * x[0] ** 2, x[1] * w[1] * x[0] ** 2, x[3] ** 2])),
    (_setitem_row, lambda x, w: _rows(x, w)),
    (_view_write, lambda x, w: np.stack([np.sin(x[0] ** 2), x[1] ** 2 * w[1], np.sin(x[2] ** 2 * w[2]), x[3] ** 2])),
    (_base_write, lambda x, w: (x * x * w).reshape(2, 2).T.flatten() * (x * x * w)),
    (_shape_in_place, lambda x, w: np.sin(x * w).reshape(2, 2).T.flatten() * x),
    (_picked, lambda x, w: np.stack([x[1] ** 2, x[1] ** 2, x[1] * w[1], x[2] ** 2]) * x),
    (_mixed, lambda x, w: np.concatenate([np.exp(x) * w, np.tanh(x / w)])[1:5] ** 2 + 1 / (1 + np.exp(-(x + w) / 2))),
]


def _rows(x, w):
    for _ in range(3):
        x = x + np.sin(x * w) * 0.3
    return x


@pytest.mark.parametrize("both", [False, True], ids=["one leaf", "two leaves"])
@pytest.mark.parametrize(("program", "formula"), PROGRAMS, ids=[
    "sin_", "cos_", "square_", "log_", "exp_", "tanh_", "sigmoid_", "sqrt_", "rsqrt_", "reciprocal_",
    *(p.__name__ for p, _ in PROGRAMS[10:])])
def test_second_order(program, formula, both):
    """S9.20, section 14 items 21 - 23: through grad() twice, and through backward(create_graph)."""
    x0, w0 = np.array(X), np.array([0.7, 1.3, 0.9, 1.1])
    weight = np.array([1.0, -2.0, 0.5, 3.0])

    def loss(x, w):
        return (formula(x, w) * weight).sum()

    def penalty(x, w):
        total = (slope(lambda v: loss(v, w), x, 1e-5) ** 2).sum()
        return total + ((slope(lambda v: loss(x, v), w, 1e-5) ** 2).sum() if both else 0)

    x, w = leaf(x0), leaf(w0)
    value = (program(x, w) * const(weight)).sum()
    np.testing.assert_allclose(value.item(), loss(x0, w0), rtol=1e-10)
    inputs = [x, w] if both else [x]
    gradients = paddle.grad([value], inputs, create_graph=True, allow_unused=True)
    used = [g for g in gradients if g is not None]
    np.testing.assert_allclose(used[0].numpy(), slope(lambda v: loss(v, w0), x0), rtol=1e-6, atol=1e-8)
    total = sum((g * g).sum() for g in used)
    second, = paddle.grad([total], [x], retain_graph=True)
    want = slope(lambda v: penalty(v, w0), x0, 1e-4)
    np.testing.assert_allclose(second.numpy(), want, rtol=2e-4, atol=1e-4)
    total.backward()
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=2e-4, atol=1e-4)
    y = leaf(x0)
    (program(y, const(w0)) * const(weight)).sum().backward(create_graph=True)
    assert not y.grad.stop_gradient


def test_third_order():
    """S9.20."""
    x = leaf([0.3])
    g = x.sin() * x
    for _ in range(3):
        g, = paddle.grad([g], [x], create_graph=True)
    close(g, -3 * np.sin(0.3) - 0.3 * np.cos(0.3))


def test_create_graph_inside_no_grad():
    """S10.6."""
    x = leaf([0.3])
    y = x.sin()
    with paddle.no_grad():
        g, = paddle.grad([y], [x], create_graph=True)
        assert not g.stop_gradient
    close(paddle.grad([g], [x])[0], -np.sin(0.3))


def test_create_graph_checks_versions():
    """S9.20, S5.3: the graph of the gradient protects what it saved."""
    x = leaf([1.0, 2.0])
    g, = paddle.grad([(x * x * x).sum()], [x], create_graph=True)
    with paddle.no_grad():
        x.scale_(2.0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        (g * g).sum().backward()


# ---- flags, failures, threads, dtypes: S9.21 - S9.27 -------------------------------------------------------------------------------------

def test_flags_changed_after_the_graph_was_built():
    """S9.21."""
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x * c).sum()
    x.stop_gradient = True
    c.stop_gradient = False
    y.backward()
    close(x.grad, [3, 4])
    assert c.grad is None


class DeliberateError(Exception):
    pass


@pytest.mark.parametrize("where", ["hook", "leaf hook", "version", "wrong answer", "keyboard"])
def test_a_failing_pass_writes_nothing(where):
    """S9.22, S1.13: gradients are what they were, versions too; the walked part is consumed; the engine goes on."""
    x, w, v = leaf([1.0, 2.0]), leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x * 2.0 + w * 3.0).sum().backward()
    held, version = x.grad, x.grad.inplace_version
    u = v * 1.0
    a = (u * u).exp()
    b = x * w
    kept = b * 1.0
    kept.retain_grads()
    error = KeyboardInterrupt("stop") if where == "keyboard" else DeliberateError("with", 2, "arguments")

    def fail(g):
        raise error

    if where in ("hook", "keyboard"):
        u.register_hook(fail)
    elif where == "leaf hook":
        v.register_hook(fail)
    elif where == "version":
        u.scale_(2.0)
    else:
        u.register_hook(lambda g: 3)
    loss = (a + kept).sum() + x.sum()
    expected = {"version": RuntimeError, "wrong answer": TypeError, "keyboard": KeyboardInterrupt}.get(where, DeliberateError)
    with pytest.raises(expected) as caught:
        loss.backward()
    if where in ("hook", "leaf hook", "keyboard"):
        assert caught.value is error
    assert x.grad is held
    assert x.grad.inplace_version == version
    close(x.grad, [2, 2])
    close(w.grad, [3, 3])
    assert v.grad is None
    assert kept.grad is None
    assert u.inplace_version == (1 if where == "version" else 0)
    assert paddle.is_grad_enabled()
    with pytest.raises(RuntimeError, match="backward twice"):
        loss.backward()
    (x * w).sum().backward()
    close(x.grad, [3, 4])


def test_a_commit_that_is_refused_writes_nothing():
    """S9.22, S9.10: the check of one leaf fails after all hooks have run."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x + w).sum().backward()
    y = x * 2.0 + w * 3.0
    x.grad.reshape_([2, 1])
    with pytest.raises(ValueError, match="shape"):
        y.sum().backward()
    close(w.grad, [1, 1])
    close(x.grad, [[1], [1]])


def test_freed_graphs():
    """S5.7: any cleared node, also one that saves nothing; shared parts; text and class."""
    x = leaf([1.0, 2.0])
    y = (x + x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"\(Fatal\) The TensorWrappers of .* do not exist\. This may be because:\n"
                                           r"You calculate backward twice for the same subgraph without setting retain_graph=True\. "
                                           r"Please set retain_graph=True in the first backward/grad call\.") as caught:
        y.backward()
    assert isinstance(caught.value, SystemError)
    e = x.exp()
    (e * 2.0).sum().backward()
    with pytest.raises(RuntimeError, match="backward twice"):
        (e * 3.0).sum().backward()
    close(x.grad, 2 + 2 * np.exp([1.0, 2.0]))


def test_retain_graph_and_a_change_in_between():
    """S5.9, S2.7."""
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward(retain_graph=True)
    close(x.grad, 4 * np.array([1, 2]))
    y.scale_(2.0)
    version = y.inplace_version
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.backward()
    assert y.inplace_version == version
    close(x.grad, 4 * np.array([1, 2]))


def in_threads(n, work):
    errors = []

    def run(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    return errors


def test_threads_on_one_leaf():
    """S9.23: exact, dense gradients and pieces alike."""
    x = leaf([0.0, 0.0, 0.0])

    def work(k):
        for _ in range(1000):
            ((x * 1.0).sum() + x[1:].sum()).backward() if k % 2 else x[:2].sum().backward()

    assert not in_threads(4, work)
    close(x.grad, [4000, 6000, 4000 - 2000 + 2000])


def test_a_graph_built_in_one_thread_runs_in_another():
    """S9.23."""
    x = leaf([1.0, 2.0])
    y = x.exp() * 1.0
    y[0] = x[1]
    assert not in_threads(1, lambda k: (y * y).sum().backward())
    close(x.grad, [0, 2 * 2 + 2 * np.exp(4.0)])
    assert y.grad is None


def test_threads_on_shared_graphs_with_retain_graph():
    """S9.23, S10.3: nodes of one graph, numbered by several passes at once."""
    x = leaf([0.5, 0.25])
    y = x
    for _ in range(50):
        y = (y * 1.0).sin()
    want = paddle.grad([y.sum()], [x], retain_graph=True)[0].numpy()
    loss = y.sum()

    def work(k):
        for _ in range(30):
            close(paddle.grad([loss], [x], retain_graph=True)[0], want)

    assert not in_threads(4, work)
    assert not in_threads(4, lambda k: loss.backward(retain_graph=True))
    close(x.grad, 4 * want)


def test_threads_that_free_each_others_graphs():
    """S9.22, S9.23: each gets the whole gradient or an error; never a crash, never a part."""
    for _ in range(15):
        x = paddle.to_tensor(np.full(20_000, 0.5), stop_gradient=False)
        y = x
        for _ in range(15):
            y = (y * 1.0 + y.mean() * 0.0).sin()
        loss = y.sum()
        want = paddle.grad([loss], [x], retain_graph=True)[0].numpy()
        whole = []

        def work(k, loss=loss, x=x, want=want, whole=whole):
            try:
                g, = paddle.grad([loss], [x])
            except RuntimeError:
                return
            np.testing.assert_allclose(g.numpy(), want)
            whole.append(k)

        assert not in_threads(3, work)


def test_results_that_have_no_gradient():
    """S9.24, section 14 item 40."""
    x = leaf([1.5, 2.5])
    assert x.astype("int64").stop_gradient
    assert (x > 1.0).stop_gradient
    assert x.equal(x).stop_gradient
    assert x.astype("bool").is_leaf
    assert not x.astype("float32").stop_gradient
    with pytest.raises(RuntimeError, match="PreconditionNotMet"):
        x.astype("int64").sum().backward()


def test_stop_gradient_of_results():
    """S9.25."""
    x, c = leaf([1.0]), const([2.0])
    assert not (x * c).stop_gradient
    assert not (c * x).stop_gradient
    assert not (x * c).is_leaf
    assert (c * c).stop_gradient
    assert (c * c).is_leaf
    with paddle.no_grad():
        assert (x * c).stop_gradient
        assert (x * c).is_leaf
    assert x.detach().stop_gradient


def test_a_cycle_through_a_hook_is_collected():
    """S9.26 (more in test_lifetime)."""
    def cycle():
        y = leaf([1.0]) * 2.0
        y.register_hook(lambda g: y)
        return weakref.ref(y)

    watched = cycle()
    gc.collect()
    assert watched() is None


def test_complex_gradients():
    """S9.27: grad * conj(derivative); sum |z z| at 1 + 1j has the gradient 2 + 2j."""
    z = leaf([1 + 1j], "complex128")
    square = z * z
    (square * square.conj()).real().sqrt().sum().backward()
    close(z.grad, [2 + 2j])
    z = leaf([1 + 2j], "complex128")
    y = z * (3 - 1j)
    y.backward(const([1 + 0j], "complex128"))
    close(z.grad, [3 + 1j])
    x = leaf([2.0])
    (x * const([1j], "complex128")).backward()
    assert x.grad.dtype == np.float64
    close(x.grad, [0.0])


def test_gradients_of_mixed_dtypes():
    """S7.3: each operand's gradient has its dtype, and its shape."""
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.5, 0.25], "float32")
    (x * w).sum().backward()
    assert w.grad.dtype == np.float32
    close(w.grad, [4, 6])
    assert x.grad.dtype == np.float64
    y = x * 1.0
    y.multiply_(w)
    w.clear_gradient(set_to_zero=False)
    y.sum().backward()
    assert w.grad.dtype == np.float32
    close(w.grad, [4, 6])


@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "log", "sqrt", "square", "reciprocal", "sigmoid", "asin", "neg"])
def test_backward_overwrites_no_gradient_that_somebody_sees(name):
    """S9.7, S9.14: buffers are reused on the way back, but not the seed, nor what a hook, retain_grads() or grad() took."""
    start = np.array([0.2, 0.3, 0.4])
    derivative = {"exp": np.exp, "sin": np.cos, "tanh": lambda x: 1 - np.tanh(x) ** 2, "log": lambda x: 1 / x,
                  "sqrt": lambda x: 0.5 / np.sqrt(x), "square": lambda x: 2 * x, "reciprocal": lambda x: -1 / x**2,
                  "sigmoid": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2, "asin": lambda x: 1 / np.sqrt(1 - x**2),
                  "neg": lambda x: -np.ones(3)}[name](start)
    seed_values = np.array([1.0, -2.0, 0.5])

    def build():
        x = paddle.to_tensor(start, stop_gradient=False)
        middle = x * 1.0
        return x, middle, getattr(middle, name)() * 2.0

    seed = paddle.to_tensor(seed_values)
    x, middle, y = build()
    middle.retain_grads()
    seen = []
    middle.register_hook(seen.append)
    y.backward(seed)
    np.testing.assert_array_equal(seed.numpy(), seed_values)
    for got in (x.grad, middle.grad, seen[0]):
        np.testing.assert_allclose(got.numpy(), 2 * seed_values * derivative, rtol=1e-12)

    x, middle, y = build()
    taken = paddle.grad([y], [y, middle, x], [seed])
    np.testing.assert_array_equal(taken[0].numpy(), seed_values)
    for got in taken[1:]:
        np.testing.assert_allclose(got.numpy(), 2 * seed_values * derivative, rtol=1e-12)
    np.testing.assert_array_equal(seed.numpy(), seed_values)


# ---- hooks that leave something behind ---------------------------------------------------------------------------------------------------

class _LeavesGradOff(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, a):
        return a * 1.0

    @staticmethod
    def backward(ctx, g):
        answer = g * 1.0
        paddle.set_grad_enabled(False)
        return answer


@pytest.mark.parametrize("how", ["hook", "PyLayer"])
def test_user_code_cannot_end_the_recording_of_a_pass(how):
    """S9.15: of x cubed, 3x squared and then 6x, though user code in the middle of the pass turns the grad mode off."""
    x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
    square = x * x
    if how == "PyLayer":
        square = _LeavesGradOff.apply(square)
    cube = square * x
    if how == "hook":
        cube.register_hook(lambda g: paddle.set_grad_enabled(False) and None)
    try:
        first, = paddle.grad([cube.sum()], [x], create_graph=True)
        np.testing.assert_array_equal(first.numpy(), [3.0, 12.0])
        with paddle.enable_grad():
            first.sum().backward()
    finally:
        paddle.set_grad_enabled(True)
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 12.0])


def test_user_code_cannot_begin_the_recording_of_a_pass():
    """S9.8, S9.15."""
    x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
    square = x * x
    square.register_hook(lambda g: paddle.set_grad_enabled(True) and None)
    (square * x).sum().backward()
    assert x.grad.stop_gradient
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 12.0])


def test_weak_reference_to_a_gradient_writes_to_nobody_elses():
    """S9.14: the hook of a sum keeps a weak reference to the gradient that is passed on to both operands."""
    x, y = (paddle.to_tensor(v, dtype="float64", stop_gradient=False) for v in ([1.0, 2.0], [3.0, 4.0]))
    kept = []

    def overwrite(g):
        seen = kept[0]()
        if seen is not None:
            seen.fill_(77.0)

    a, b = x * 1.0, y * 1.0
    both = a + b
    both.register_hook(lambda g: kept.append(weakref.ref(g)))
    a.register_hook(overwrite)
    b.register_hook(overwrite)
    both.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(y.grad.numpy(), [1.0, 1.0])

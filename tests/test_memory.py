"""Memory that others can write (docs/memory.md): who may write to what is handed out or taken in, what is seen, and that backward is exact
or refuses. Values come from NumPy and from formulas.
"""
import ctypes
import gc
import hashlib
import io
import sys
import threading

import numpy as np
import pytest

import python_api as paddle

LEAF = r"Leaf Var \(.*\) that doesn't stop gradient can't use inplace strategy"
MODIFIED = "used in gradient computation has been modified by an inplace operation"
X = np.array([0.5, 0.8, 1.2, 1.5])
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]


def leaf(values=X):
    return paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)


def const(values=X):
    return paddle.to_tensor(np.array(values, dtype="float64"))


def same(got, want):
    np.testing.assert_array_equal(np.asarray(got), want)


def refuses(loss, *leaves):
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward(retain_graph=True)
    assert all(x.grad is None for x in leaves)


class Producer:
    """An object of another library."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.device


# ---- what is handed out without being asked to share ------------------------------------------------------------------------------------

@pytest.mark.parametrize("export", [
    lambda t: t.numpy(), np.array, np.asarray, lambda t: np.asarray(t, dtype="float64"), lambda t: np.array(t, copy=True),
    np.from_dlpack, lambda t: np.from_dlpack(t, copy=True), lambda t: np.from_dlpack(Producer(t)),
    lambda t: np.from_dlpack(paddle.from_dlpack(paddle.to_dlpack(t))),
])
def test_copies(export):
    """S11.3, items 15 and 43: writable, not seen by the tensor, and not changed by it; no version moves."""
    x = leaf()
    z = x * x
    got = export(x)
    assert got.flags.writeable
    same(got, X)
    got[:] = 9.0
    same(x, X)
    assert x.inplace_version == 0
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    c = const()
    got = export(c)
    c.zero_()
    same(got, X)


def test_tolist_is_numbers():
    got = const().tolist()
    got[0] = 9.0
    assert type(got[1]) is float and got[1:] == X[1:].tolist()


def test_copy_false_is_refused_by_asarray():
    with pytest.raises(ValueError, match="gives NumPy a copy only"):
        np.asarray(const(), copy=False)


def test_no_buffer():
    """With one, NumPy would take it in np.asarray() in place of a copy."""
    t = const()
    for take in (memoryview, hashlib.sha256, lambda t: io.BytesIO(X.tobytes()).readinto(t)):
        with pytest.raises(TypeError):
            take(t)
    with pytest.raises(TypeError):
        ctypes.c_char.from_buffer(t)


@pytest.mark.parametrize("make", [
    lambda t: t.readonly_array(), lambda t: t.readonly_array()[1:], lambda t: np.asarray(memoryview(t.readonly_array())),
    lambda t: np.from_dlpack(t.readonly_array()), lambda t: t.readonly_array().view(np.recarray),
    lambda t: np.ma.asarray(t.readonly_array()).data,
])
def test_readonly_array(make):
    """Shares, shows later writes, cannot be written to or made writable, and outlives the tensor."""
    t = leaf()
    a = make(t)
    with pytest.raises(ValueError, match="read-only"):
        a[...] = 9.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        a.flags.writeable = True
    with paddle.no_grad():
        t.fill_(2.0)
    assert (a == 2.0).all()
    assert t.inplace_version == 1
    del t
    gc.collect()
    paddle.zeros([4], dtype="float64")
    assert (a == 2.0).all()
    assert memoryview(a).readonly


# ---- writable_array ----------------------------------------------------------------------------------------------------------------------

def test_writes_are_writes_to_the_tensor():
    t = const(X.reshape(2, 2))
    view = t[1]
    with t.writable_array() as a:
        assert a.shape == (2, 2) and a.dtype == np.float64 and type(a) is np.ndarray
        assert t.inplace_version == 1
        a[1, 0] = 9.0
        same(view, [9.0, 1.5])
        t.add_(const(1.0))
        same(a, [[1.5, 1.8], [10.0, 2.5]])
        np.multiply(a, 2.0, out=a)
    assert t.inplace_version == 3 == view.inplace_version
    same(t, [[3.0, 3.6], [20.0, 5.0]])


def test_what_was_saved_before_is_refused():
    """While the array is out, and after."""
    x = leaf()
    for within in (True, False):
        y = x * 1.0
        z = y * y
        with paddle.no_grad(), y.writable_array() as a:
            a[:] = 9.0
            if within:
                refuses(z, x)
        if not within:
            refuses(z, x)


def test_the_error_says_who_wrote():
    x = leaf()
    y = x * 1.0
    z = y * y
    with y.detach().writable_array():
        pass
    with pytest.raises(RuntimeError, match="code outside of the library"):
        z.sum().backward()
    with paddle.autograd.detect_anomaly():
        y = x * 1.0
        z = y * y
        with y.detach().writable_array():
            pass
        with pytest.raises(RuntimeError, match=r"(?s)Overwritten by code outside of the library.*y\.detach\(\)\.writable_array"):
            z.sum().backward()


def test_other_elements_are_not_refused():
    """S5.13."""
    x = leaf()
    y = x * 1.0
    head, tail = y[0:2].square(), y[2:4].square()
    with paddle.no_grad(), y[2:4].writable_array() as a:
        a[:] = 9.0
    head.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.6, 0.0, 0.0])
    x.clear_gradient(set_to_zero=False)
    refuses(tail, x)


@pytest.mark.parametrize("save", [lambda x, c: x * c, lambda x, c: c * x, lambda x, c: paddle.pow(c, x) * 0 + x * c,
                                  lambda x, c: paddle.where(c > 0, x * c, x), lambda x, c: paddle.matmul(x, c),
                                  lambda x, c: x.clone().multiply_(c), lambda x, c: (x.unsqueeze(0) * c.unsqueeze(0)).sum()])
@pytest.mark.parametrize("when", ["inside", "after, by another array"])
def test_what_is_saved_meanwhile_is_exact(save, when):
    """Item 43: the gradient is that of the values that the operator has seen, whoever writes when."""
    x, c = leaf(), const([2.0, 3.0, 4.0, 5.0])
    with c.writable_array() as a:
        z = save(x, c)
        other = a[:]
        if when == "inside":
            other[:] = 100.0
    if when != "inside":
        other[:] = 7.0
        same(c, 7.0)
        z = save(x, c)
        other[:] = 100.0
    same(c, 100.0)
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 3.0, 4.0, 5.0] if when == "inside" else 7.0)


def test_results_saved_meanwhile_are_exact():
    """An output that lies in lent memory: exp_ saves its own."""
    x = leaf()
    y = x * 1.0
    with paddle.no_grad(), y.writable_array() as a:
        with paddle.enable_grad():
            y.exp_()
        a[:] = 100.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(X))


def test_second_order_meanwhile():
    x, c = leaf(), const([2.0, 3.0, 4.0, 5.0])
    with c.writable_array() as a:
        z = (x * x * c).sum()
        a[:] = 100.0
        g, = paddle.grad(z, [x], create_graph=True)
        a[:] = -100.0
    g.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [4.0, 6.0, 8.0, 10.0])


def test_operators_that_do_not_read_it_go_on():
    """S5.2: add saves no elements."""
    x = leaf()
    y = x * 1.0
    z = (y + y).sum()
    with paddle.no_grad(), y.writable_array() as a:
        a[:] = 9.0
        z.backward()
    same(x.grad, 2.0)


def test_after_the_block_the_array_is_read_only():
    t = const()
    with t.writable_array() as a:
        pass
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 9.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        a.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        a[1:][0] = 9.0
    same(t, X)


@pytest.mark.parametrize("derive", [
    lambda a: a[:], lambda a: a.view(np.recarray), lambda a: np.ma.array(a, copy=False), lambda a: np.frombuffer(memoryview(a).cast("B")),
    lambda a: np.asarray(memoryview(a)), lambda a: np.from_dlpack(a), lambda a: a.reshape(2, 2).T,
])
def test_arrays_that_outlive_the_block(derive):
    """They may write; what operators save meanwhile are copies, and when the last one is gone, references again."""
    x, c = leaf(np.ones(4)), const()
    with c.writable_array() as a:
        other = derive(a)
    del a
    gc.collect()
    z = x * c
    other[...] = 100.0
    same(c, 100.0)
    z.sum().backward()
    same(x.grad, X)
    del other
    gc.collect()
    z = x * c
    c.zero_()
    x.clear_gradient(set_to_zero=False)
    refuses(z, x)


def test_checks_are_those_of_an_in_place_operation():
    """S3: and nothing has happened."""
    x = leaf()
    y = x * 1.0
    for target, error, text in [(x, ValueError, LEAF), (x[1:3], ValueError, LEAF), (y, RuntimeError, "has a history"),
                                (y[1:3], RuntimeError, "has a history")]:
        with pytest.raises(error, match=text), target.writable_array():
            pass
        assert target.inplace_version == 0
    with paddle.no_grad():
        view = y[1:3]
    with pytest.raises(RuntimeError, match=r"was made under no_grad\(\)"), view.writable_array():
        pass
    block = const().writable_array()
    with pytest.raises(RuntimeError, match="not open"):
        block.__exit__(None, None, None)
    with block:
        pass
    with pytest.raises(RuntimeError, match="can be entered once"), block:
        pass
    with pytest.raises(RuntimeError, match="not open"):
        block.__exit__(None, None, None)
    with pytest.raises(TypeError):
        type(block)()


def test_an_update_of_a_leaf():
    """S3.9: legal under no_grad, and a graph that saved the old value says so."""
    w = leaf()
    z = w * w
    with paddle.no_grad(), w.writable_array() as a:
        a[:] -= 0.5
    assert w.is_leaf and not w.stop_gradient
    refuses(z, w)
    (w * w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * (X - 0.5))


def test_a_hidden_history_is_cut():
    """S3.7."""
    x = leaf()
    y = x * 1.0
    y.stop_gradient = True
    with y.writable_array() as a:
        a[:] = 9.0
    y.stop_gradient = False
    assert y.is_leaf
    (y * y).sum().backward()
    same(y.grad, 18.0)
    assert x.grad is None


def test_an_exception_ends_the_block():
    t = const()

    def stop(a):
        a[0] = 9.0
        raise KeyError("x")

    with pytest.raises(KeyError), t.writable_array() as a:
        stop(a)
    assert t.inplace_version == 2 and not a.flags.writeable
    same(t, [9.0, *X[1:]])


@pytest.mark.parametrize("make", [
    lambda: const(3.0), lambda: paddle.zeros([0, 3]), lambda: const(np.arange(24.0).reshape(2, 3, 4)).transpose([2, 0, 1])[::2, ::-1],
    lambda: const()[::-1], lambda: const(np.arange(9.0).reshape(3, 3)).T, lambda: paddle.to_tensor([True, False]),
    lambda: paddle.to_tensor(np.array([1 + 2j, 3.0])),
])
def test_shapes_and_strides(make):
    t = make()
    before = t.numpy()
    with t.writable_array() as a:
        assert a.shape == tuple(t.shape) and a.dtype == t.dtype
        same(a, before)
        a[...] = 1
    same(t, np.ones_like(before))
    assert t.inplace_version == 2
    same(t.readonly_array(), np.ones_like(before))


def test_blocks_nest_and_alternate():
    x, t = leaf(), const()
    with t.writable_array() as a, t.writable_array() as b:
        a[0], b[1] = 7.0, 8.0
    del a
    z = x * t
    del b
    t.zero_()
    z.sum().backward()
    same(x.grad, [7.0, 8.0, 1.2, 1.5])
    assert t.inplace_version == 5


def test_the_memory_outlives_the_tensor():
    t = const(np.arange(1000.0))
    block = t.writable_array()
    a = block.__enter__()
    b = a[10:]
    t.data = const(np.zeros(1000))
    del t
    gc.collect()
    filler = [const(np.full(1000, -1.0)) for _ in range(10)]
    same(a, np.arange(1000.0))
    block.__exit__(None, None, None)
    del a, block
    gc.collect()
    b[:] = 5.0
    assert (b == 5.0).all() and all((f.numpy() == -1.0).all() for f in filler)


def test_under_allow_mutation_on_saved_tensors():
    """A write that the library does not make is refused for what was saved before it, exact for what is saved after it."""
    x = leaf()
    with paddle.autograd.allow_mutation_on_saved_tensors():
        y = x * 1.0
        z = y * y
        with paddle.no_grad(), y.writable_array() as a:
            a[:] = 9.0
            refuses(z, x)
        y = x * 1.0
        with y.detach().writable_array() as a:
            z = y * y
            a[:] = 9.0
            y.multiply_(const(2.0))
        z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_saved_by_hooks_layers_and_checkpoints():
    """Everything that keeps values for backward keeps copies of lent memory."""
    x, c = leaf(), const([2.0, 3.0, 4.0, 5.0])

    class Product(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(x, c)
            return x * c

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensor()[1], None

    def hooked(x, c):
        with paddle.autograd.saved_tensors_hooks(lambda t: t, lambda t: t):
            return x * c

    for save in (Product.apply, hooked, lambda x, c: paddle.autograd.checkpoint(lambda x, c: x * c, x, c)):
        x.clear_gradient(set_to_zero=False)
        c.set_value(np.array([2.0, 3.0, 4.0, 5.0]))
        with c.writable_array() as a:
            z = save(x, c)
            a[:] = 100.0
        z.sum().backward()
        same(x.grad, [2.0, 3.0, 4.0, 5.0])


def test_layers_notice_a_writable_array_of_their_input():
    """S12.7."""
    class Writes(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            with paddle.no_grad(), x.writable_array() as a:
                a[:] *= 3.0
            return x * 1.0

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="PermissionDenied"):
        Writes.apply(leaf() * 1.0)


def test_a_gradient_can_be_lent():
    """A .grad that is being written by an array is added to where it is; results of hooks over lent memory are copied."""
    x = leaf()
    (x * 1.0).sum().backward()
    with x.grad.writable_array() as a:
        a[:] = 10.0
        (x * 1.0).sum().backward()
        same(a, 11.0)
    same(x.grad, 11.0)


def test_index_tensors():
    x, index = leaf(), paddle.to_tensor(np.array([0, 2]))
    with index.writable_array() as a:
        z = x[index]
        picked = paddle.gather(x, index)
        a[:] = 3
        (z + picked).sum().backward()
    same(x.grad, [2.0, 0.0, 2.0, 0.0])


def test_threads():
    """Leases are counted under the GIL."""
    t = const(np.zeros(64))

    def work():
        for _ in range(300):
            with t.writable_array() as a:
                a[:] += 0.0
            (leaf(np.ones(64)) * t).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert t.inplace_version == 4 * 300 * 2


# ---- DLPack, out -------------------------------------------------------------------------------------------------------------------------

def capsule_name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


def flags_of(capsule):
    """Third field of the versioned struct, after two 32-bit numbers and two pointers."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = get(capsule, b"dltensor_versioned")
    return (ctypes.c_uint32 * 2).from_address(at)[:], ctypes.c_uint64.from_address(at + 8 + 2 * ctypes.sizeof(ctypes.c_void_p)).value


def test_capsule_forms():
    t = const()
    assert t.__dlpack_device__() == (1, 0)
    assert capsule_name(t.__dlpack__()) == capsule_name(t.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert capsule_name(paddle.utils.dlpack.to_dlpack(t)) == b"dltensor"
    for newest in ((1, 0), (1, 3), (2, 0)):
        assert capsule_name(t.__dlpack__(max_version=newest)) == b"dltensor_versioned"
    assert flags_of(t.__dlpack__(max_version=(1, 0))) == ([1, 0], 2)                    # copied
    assert flags_of(t.__dlpack__(max_version=(1, 0), copy=False)) == ([1, 0], 0)        # shared, writable
    assert t.inplace_version == 2                                                       # taken, and given back unused


@pytest.mark.parametrize("keywords, error, message", [
    ({"stream": 1}, ValueError, "the CPU has no streams, stream must be None"),
    ({"dl_device": (2, 0)}, BufferError, r"the memory is the CPU's, \(1, 0\); it cannot be given on device \(2, 0\)"),
    ({"dl_device": (1, 1)}, BufferError, r"it cannot be given on device \(1, 1\)"),
    ({"dl_device": 1}, TypeError, "dl_device must be None or a tuple of two ints, but got int"),
    ({"copy": 1}, TypeError, "copy must be bool or None, but got int"),
    ({"max_version": 1}, TypeError, "max_version must be None or a tuple of two ints, but got int"),
    ({"max_version": (1,)}, TypeError, "max_version must be None or a tuple of two ints, but got tuple"),
    ({"max_version": ("1", "0")}, TypeError, "max_version must be None or a tuple of two ints, but got tuple"),
])
def test_capsule_arguments(keywords, error, message):
    with pytest.raises(error, match=rf"^\(Invalid(Type|Argument)\) __dlpack__\(\): .*{message}"):
        const().__dlpack__(**keywords)
    const().__dlpack__(stream=None, dl_device=(1, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_capsule_dtypes(dtype):
    want = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    t = paddle.to_tensor(want)
    for got in (np.from_dlpack(t), np.from_dlpack(t, copy=False), paddle.from_dlpack(t).numpy(),
                paddle.from_dlpack(paddle.to_dlpack(t)).numpy(), paddle.from_dlpack(Producer(want)).numpy()):
        assert got.dtype == want.dtype
        same(got, want)


def test_item_15_shared_by_dlpack():
    """Item 15: only on request; counted when taken and when given back."""
    x = leaf()
    y = x * 1.0
    z = y * y
    d = y.detach()
    b = np.from_dlpack(d, copy=False)
    assert y.inplace_version == 1
    refuses(z, x)
    z = x * d
    b[:] = 100.0
    same(y, 100.0)
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), X)
    part = b[1:]
    del b
    assert y.inplace_version == 1
    del part
    assert y.inplace_version == 2
    x.clear_gradient(set_to_zero=False)
    with pytest.raises(ValueError, match=LEAF):
        x.__dlpack__(copy=False)
    with pytest.raises(RuntimeError, match="has a history"):
        (x * 1.0).__dlpack__(copy=False)
    assert x.inplace_version == 0
    with paddle.no_grad():
        x.__dlpack__(copy=False)
    assert x.inplace_version == 2


@pytest.mark.parametrize("make", [
    lambda: const(3.0), lambda: paddle.zeros([0, 3]), lambda: const(np.arange(24.0).reshape(2, 3, 4)).transpose([2, 0, 1])[::2],
    lambda: const(np.arange(9.0).reshape(3, 3)).T, lambda: const(np.arange(2.0 ** 9).reshape([2] * 9)),
])
def test_capsule_shapes(make):
    t = make()
    want = t.numpy()
    for copy in (None, True, False):
        got = np.from_dlpack(t, copy=copy)
        same(got, want)
        assert got.shape == want.shape
    del t, got
    gc.collect()


def test_reversed_elements_are_copied_or_refused():
    t = const()[::-1]
    same(np.from_dlpack(t), X[::-1])
    with pytest.raises(BufferError, match="reverse order"):
        t.__dlpack__(copy=False)
    assert t.inplace_version == 0


def test_capsules_outlive_tensors_and_are_freed():
    for keywords in ({}, {"copy": False}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": False}):
        t = const(np.arange(100.0))
        capsule = t.__dlpack__(**keywords)
        del t
        gc.collect()
        filler = [const(np.full(100, -1.0)) for _ in range(8)]
        same(paddle.from_dlpack(capsule), np.arange(100.0))
        del capsule, filler
    before = paddle.ones([1 << 20], dtype="float64")
    references = sys.getrefcount(before)
    for keywords in ({}, {"copy": False}, {"max_version": (1, 0), "copy": False}):
        for _ in range(50):
            before.__dlpack__(**keywords)
            np.from_dlpack(before, copy=keywords.get("copy"))
    assert sys.getrefcount(before) == references


def test_a_capsule_freed_in_another_thread():
    t = const()
    held = [np.from_dlpack(t, copy=False)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert t.inplace_version == 2


# ---- in ----------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [
    paddle.to_tensor, paddle.Tensor, paddle.from_numpy, paddle.assign, paddle.from_dlpack, lambda a: paddle.from_dlpack(a, copy=True),
    lambda a: paddle.from_dlpack(Producer(a), device="cpu"), lambda a: paddle.from_dlpack(a.__dlpack__()),
    paddle.utils.dlpack.from_dlpack,
])
def test_taken_in_as_a_copy(make):
    """Item 43: what the owner does afterwards is not seen."""
    a = np.array([2.0, 3.0, 4.0, 5.0])
    x, c = leaf(), make(a)
    z = x * c
    a[:] = 100.0
    same(c, [2.0, 3.0, 4.0, 5.0])
    z.sum().backward()
    same(x.grad, [2.0, 3.0, 4.0, 5.0])
    c.zero_()
    same(a, 100.0)


@pytest.mark.parametrize("make", [lambda a: paddle.from_numpy(a, copy=False), lambda a: paddle.from_dlpack(a, copy=False),
                                  lambda a: paddle.from_dlpack(Producer(a), copy=False)])
def test_taken_in_by_reference(make):
    """Both sides see all writes; gradients are those of the values that operators have seen."""
    a = np.array([2.0, 3.0, 4.0, 5.0])
    x, c = leaf(), make(a)
    assert c.stop_gradient and c.is_leaf and c.inplace_version == 0
    z = x * c
    a[:] = 100.0
    same(c, 100.0)
    assert c.inplace_version == 0
    z.sum().backward()
    same(x.grad, [2.0, 3.0, 4.0, 5.0])
    c[1:3] = 7.0
    same(a, [100.0, 7.0, 7.0, 100.0])
    assert c.inplace_version == 1
    c.stop_gradient = False
    z = c * c
    a[:] = 1.0
    z.sum().backward()
    same(c.grad, [200.0, 14.0, 14.0, 200.0])
    a[:] = 3.0
    del a
    gc.collect()
    same(c.detach(), 3.0)


def test_memory_that_was_shared_marks_nothing_that_comes_after_it():
    """Storages are recycled: a new tensor is nobody else's, is saved by reference, and a write to it is refused by backward."""
    shared = [paddle.from_numpy(np.zeros(3), copy=False) for _ in range(50)]
    del shared
    for _ in range(100):
        y = leaf() * 1.0
        z = y.sin()
        y.zero_()
        refuses(z.sum())


def test_overlap_is_seen_across_tensors_over_one_array():
    """S7.5: two tensors, two storages, one memory."""
    a = np.arange(8.0)
    low, high = paddle.from_numpy(a[:-1], copy=False), paddle.from_numpy(a[1:], copy=False)
    high.add_(low)
    same(a, [0.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0])
    a[:] = np.arange(8.0)
    high[:] = low
    same(a, [0.0, *range(7)])
    t = const(np.arange(8.0))
    with t.writable_array() as a:
        paddle.from_numpy(a[1:], copy=False).add_(t[:-1])
    same(t, [0.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0])


def test_self_multiplication_across_tensors_over_one_array():
    """S6.5."""
    a = np.array([2.0, 3.0])
    x = leaf([1.0, 1.0])
    one, two = paddle.from_numpy(a, copy=False), paddle.from_numpy(a, copy=False)
    one.multiply_(x)
    one.multiply_(two)
    same(a, [4.0, 9.0])
    one.sum().backward()
    same(x.grad, [4.0, 9.0])                     # `two` is a constant: 2 * 2, 3 * 3


def test_results_of_hooks_over_foreign_memory_are_not_written_to():
    """The engine may write over a gradient that nobody else can see; this one somebody can."""
    mine = np.full(4, 2.0)
    x = leaf()
    y = x * 3.0
    y.register_hook(lambda g: paddle.from_numpy(mine, copy=False))
    (y.exp() * 1.0 + y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6.0)
    (x * 1.0).sum().backward()
    same(mine, 2.0)
    z = x * 1.0
    z.backward(paddle.from_numpy(mine, copy=False))
    same(mine, 2.0)
    mine[:] = 50.0
    np.testing.assert_allclose(x.grad.numpy(), 9.0)


@pytest.mark.parametrize("change, reason", [
    (lambda a: a.setflags(write=False), "read-only"), (lambda a: None, None),
])
def test_read_only_arrays_are_not_shared(change, reason):
    a = np.arange(4.0)
    change(a)
    if reason is None:
        paddle.from_numpy(a, copy=False)
        return
    for make in (paddle.from_numpy, paddle.from_dlpack):
        with pytest.raises((ValueError, BufferError)):
            make(a, copy=False)
    same(paddle.from_numpy(a), np.arange(4.0))


@pytest.mark.parametrize("array, error, reason", [
    (np.arange(4.0)[::-1], ValueError, "C order"), (np.arange(4.0)[::2], ValueError, "C order"),
    (np.arange(4.0).reshape(2, 2).T, ValueError, "C order"),
    (np.broadcast_to(np.float64(1.0), (3,)), ValueError, "read-only"),
    (np.frombuffer(bytearray(17), "u1")[1:].view("f8"), ValueError, "not aligned"),
    (np.arange(4, dtype=">f8"), TypeError, "native byte order"), (np.zeros(3, "float16"), TypeError, "not supported"),
    (np.array(["a"]), TypeError, "not supported"), (np.zeros([1] * 10), ValueError, "at most 9 axes"),
])
def test_what_cannot_be_shared(array, error, reason):
    with pytest.raises(error, match=reason):
        paddle.from_numpy(array, copy=False)


@pytest.mark.parametrize("function", [paddle.from_numpy, paddle.from_dlpack])
def test_the_refusal_names_the_function_that_was_called(function):
    with pytest.raises(ValueError, match=rf"^\(InvalidArgument\) {function.__name__}\(copy=False\): .* Use copy=True$"):
        function(np.arange(6.0)[::2], copy=False)


def test_half_of_the_protocol_is_none_of_it():
    class Half:
        def __dlpack__(self):
            raise AssertionError

    with pytest.raises(TypeError, match=r"__dlpack__\(\) and __dlpack_device__\(\), or a capsule, is needed, but got Half"):
        paddle.from_dlpack(Half())


def test_exotic_arrays_are_copied():
    for array in (np.arange(4.0)[::-1], np.broadcast_to(np.float64(1.0), (3,)), np.array(3.0), np.zeros((0, 3)),
                  np.frombuffer(bytearray(17), "u1")[1:].view("f8"), np.arange(4, dtype=">f8"), np.arange(6.0).reshape(2, 3).T[::-1]):
        same(paddle.from_numpy(array), array)
        if array.dtype.isnative:
            same(paddle.from_dlpack(Producer(array.copy())), array)
    for array in (np.array(3.0), np.zeros((0, 3))):
        same(paddle.from_numpy(array, copy=False), array)


@pytest.mark.parametrize("call, error, message", [
    (lambda: paddle.from_numpy([1.0]), TypeError, "(InvalidType) from_numpy(): a numpy.ndarray is needed, but got list"),
    (lambda: paddle.from_numpy(np.zeros(2), copy=None), TypeError, "(InvalidType) from_numpy(): copy must be bool, but got NoneType"),
    (lambda: paddle.from_numpy(np.zeros(2, "float16")), TypeError, "(InvalidType) from_numpy(): dtype float16 is not supported. "
     "Supported: "),
    (lambda: paddle.from_dlpack(3), TypeError, "(InvalidType) from_dlpack(): an object with __dlpack__() and __dlpack_device__(), or a "
     "capsule, is needed, but got int"),
    (lambda: paddle.from_dlpack(None), TypeError, "(InvalidType) from_dlpack(): an object with __dlpack__() and __dlpack_device__(), or a "
     "capsule, is needed, but got NoneType"),
    (lambda: paddle.from_dlpack(np.zeros(2), copy=1), TypeError, "(InvalidType) from_dlpack(): copy must be bool, but got int"),
    (lambda: paddle.from_dlpack(np.zeros(2), device="gpu"), ValueError, "(InvalidArgument) from_dlpack(): there is no place 'gpu': tensors "
     "live on the cpu"),
    (lambda: paddle.from_dlpack(np.zeros(2, "float16")), TypeError, "(InvalidType) from_dlpack(): dtype float16 is not supported. "
     "Supported: "),
    (lambda: paddle.to_dlpack(np.zeros(2)), TypeError, "(InvalidType) to_dlpack(): argument 'x' must be Tensor, but got ndarray"),
    (lambda: paddle.from_dlpack(Producer(np.zeros(2), (2, 0))), BufferError, "(InvalidArgument) from_dlpack(): the memory is on a device "
     "of type 2, not the CPU's. Copy it there first"),
])
def test_arguments(call, error, message):
    with pytest.raises(error) as info:
        call()
    assert str(info.value).startswith(message) if message.endswith(": ") else str(info.value) == message


@pytest.mark.parametrize("offset, kind, value", [
    (8, ctypes.c_int32, 2), (20, ctypes.c_uint8, 4), (21, ctypes.c_uint8, 24), (22, ctypes.c_uint16, 2), (16, ctypes.c_int32, 99),
], ids=["device", "bfloat", "bits", "lanes", "ndim"])
def test_capsules_that_nobody_here_understands(offset, kind, value):
    """A field of the unversioned struct is changed; it is put back for the capsule to be freed."""
    capsule = paddle.to_dlpack(const())
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    field = kind.from_address(get(capsule, b"dltensor") + offset)
    before, field.value = field.value, value
    with pytest.raises((TypeError, BufferError)):
        paddle.from_dlpack(capsule)
    field.value = before


def test_a_capsule_is_taken_once():
    capsule = paddle.to_dlpack(const())
    same(paddle.from_dlpack(capsule), X)
    with pytest.raises(ValueError, match="has been taken already"):
        paddle.from_dlpack(capsule)
    with pytest.raises(ValueError, match="has been taken already"):
        paddle.utils.dlpack.from_dlpack(capsule)

"""S2.6: a refused in-place call leaves target and aliases bit for bit as they were.

Every in-place operator of the table meets every way in which a call of it can fail, on every kind of target; then everything that can be
asked of the target and of its aliases is compared with what it was, and the graph made before still runs and still calls its hooks.
"""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import eager_core
import python_api as paddle
from eager_core.codegen.table import OPS


def const(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def leaf(values):
    return paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)


def state(t):
    return {"data": t.numpy().tobytes(), "shape": t.shape, "strides": t.strides, "dtype": t.dtype, "version": t.inplace_version,
            "stop_gradient": t.stop_gradient, "is_leaf": t.is_leaf, "grad_fn": t.grad_fn, "name": t.name, "grad": t.grad,
            "grad data": None if t.grad is None else t.grad.numpy().tobytes()}


class Watched:
    """A target, its aliases, a graph that has saved it, and hooks; `unchanged` tells whether a refused call left traces."""

    def __init__(self, kind):
        start = np.array([[0.25, 0.5], [0.75, 1.5]])
        self.kind, self.calls, self.source = kind, [], None
        if kind == "constant":
            self.target = base = const(start)
        elif kind == "leaf":
            self.target = base = leaf(start)
        elif kind == "int":
            self.target = base = const(start * 4, "int64")
        elif kind == "view of leaf":
            base = leaf(start)
            self.target = base.T
        else:
            self.source = leaf(start)
            base = self.source * 1.0
            self.target = {"non-leaf": base, "view": base.reshape([2, 2]), "transposed view": base.T, "retained": base}[kind]
        if kind == "retained":
            base.retain_grads()
        base.name, self.base = "base", base
        if self.target is not base:
            self.target.name = "target"
        self.all = [base, self.target, base.detach(), base[0], base.reshape([-1])]
        self.loss = None
        if not base.stop_gradient:
            for t in self.all[:2]:
                t.register_hook(lambda g: self.calls.append(g.shape))
            self.loss = (base.sin() * self.target.exp()).sum() + self.all[3].sum()
        self.before = [state(t) for t in self.all]

    def unchanged(self):
        for t, before in zip(self.all, self.before, strict=True):
            assert state(t) == before
        if self.loss is None:
            return
        self.loss.backward()
        v = np.array([[0.25, 0.5], [0.75, 1.5]])
        if self.target.strides == [1, 2]:
            want = np.cos(v) * np.exp(v.T) + np.sin(v.T) * np.exp(v)
        else:
            want = (np.cos(v) + np.sin(v)) * np.exp(v)
        want[0] += 1.0
        np.testing.assert_allclose((self.base if self.source is None else self.source).grad.numpy(), want)
        hooks_on_one = self.target is self.base
        assert len(self.calls) == 2
        assert (hooks_on_one or self.calls == [[2, 2], [2, 2]])


IN_PLACE = [op for op in OPS if op.inplace and (op.public or op.name in ("setitem", "put"))]
KINDS = ["constant", "leaf", "non-leaf", "view", "transposed view", "view of leaf", "retained", "int"]
TWO = {op.name for op in IN_PLACE if len(op.tensors) > 1}
FLOATING = {op.name for op in IN_PLACE if op.dtypes == "float"} | {"softmax"}
INDEXED = ("setitem", "put")
WHOLE = ("fill", "zero", "copy")


def entry(op):
    return eager_core.ENTRY_POINTS.get("eager_api_" + op.lowlevel + "_")


def method(op):
    return getattr(eager_core.Tensor, op.name + "_", None)


def good_arguments(op, t):
    """Arguments, behind the target, with which the method succeeds on a constant (2, 2) target."""
    like = const(np.ones([2, 2]), "int64" if t.dtype == np.int64 else "float64")
    if op.name in TWO:
        return [const(1.0, "int64") if op.name == "fill" else like]
    return {"cast": ["int64" if t.dtype == np.int64 else "float32"], "reshape": [[4]], "transpose": [[1, 0]],
            "unsqueeze": [0]}.get(op.name, [])


def failures(op, t):
    """(name, call) of every way in which a call of this operator on this target can be refused."""
    call, low = method(op), entry(op)
    good = good_arguments(op, t)
    if call is not None:
        yield "unknown keyword", lambda: call(t, *good, nonsense=1)
        yield "too many arguments", lambda: call(t, *good, *[None] * 9)
        yield "keyword twice", lambda: call(t, *good, **{op.params[0].name: t})
        if good:
            yield "missing argument", lambda: call(t)
        for k, p in enumerate(op.params[1:]):
            if p.kind == "ignored":
                continue
            for bad in (object(), "nonsense", {1}, [object()], [1, "a"], np.array(["a"]), 2 ** 200 if p.kind in ("ints", "axes",
                                                                                                                 "int") else "z"):
                yield f"bad {p.name}: {bad!r}", lambda k=k, bad=bad: call(t, *good[:k], *[None] * max(0, k - len(good)), bad)
        if op.name in TWO:
            for shape in ([3], [2, 3], [3, 2, 2], [1, 2, 2], [0], [2, 2, 1]):
                if op.name in ("fill", "copy") and shape == [1, 2, 2]:
                    continue
                for dtype in ("float64", "int64"):
                    yield f"shape {shape} {dtype}", lambda shape=shape, dtype=dtype: call(t, paddle.ones(shape, dtype=dtype))
            if op.dtypes not in ("bool", "logical"):
                yield "complex operand", lambda: call(t, const(np.ones([2, 2]) * 1j, "complex128"))
                yield "complex number", lambda: call(t, 1j)
                if t.dtype == np.int64:
                    yield "floating operand", lambda: call(t, const(np.ones([2, 2])))
                    yield "floating number", lambda: call(t, 0.5)
                    yield "wide number", lambda: call(t, 2 ** 64)
            if op.name.startswith("bitwise") and t.dtype != np.int64:
                yield "no such operation", lambda: call(t, t)
        if op.name in FLOATING and t.dtype == np.int64:
            yield "floating result", lambda: call(t, *good)
        if op.name == "pow" and t.dtype == np.int64:
            yield "negative power", lambda: call(t, const([[1, 1], [1, -1]], "int64"))
            yield "negative number as power", lambda: call(t, -1)
        if op.name == "bitwise_not" and t.dtype != np.int64:
            yield "no such operation", lambda: call(t)
        if op.name == "scale" and t.dtype == np.int64:
            yield "fraction", lambda: call(t, 0.5)
            yield "infinite", lambda: call(t, float("inf"))
            yield "not a number", lambda: call(t, 1.0, float("nan"))
        if op.name == "clip" and t.dtype == np.int64:
            yield "fraction", lambda: call(t, 0.5)
        if op.name == "cast":
            for bad in ("complex64", "float16", "nonsense", None, object(), *(["float32"] if t.dtype == np.int64 else [])):
                yield f"to {bad}", lambda bad=bad: call(t, bad)
        for bad in {"reshape": ([3], [-1, -1], [-2], [3, -1], [0, 0, 0], [1] * 10), "transpose": ([0], [0, 0], [0, 2], [0, 1, 2], [-3, 0]),
                    "squeeze": (2, -3, [0, 5]), "unsqueeze": (5, -9, [0, 9], [0] * 8), "flatten": (5, -7, 2), "softmax": (2,
                        -3)}.get(op.name, ()):
            yield f"argument {bad}", lambda bad=bad: call(t, bad)
        if op.name == "flatten":
            yield "stop before start", lambda: call(t, 1, 0)
        if op.name == "reshape":
            yield "lengths one by one", lambda: call(t, 3, 5)
            if t.strides == [1, 2]:
                yield "not contiguous", lambda: call(t, [4])
        if op.name == "flatten" and t.strides == [1, 2]:
            yield "not contiguous", lambda: call(t)
    if low is not None:
        n = 1 if op.name in ("clip", "reshape") else len(op.tensors)
        tensors = [t, *[const(np.ones([2, 2]), t.dtype)] * (n - 1)]
        yield "entry: odd count", lambda: low(*tensors, *[None] * (len(op.inputs) - n), "scale")
        yield "entry: unknown attribute", lambda: low(*tensors, *[None] * (len(op.inputs) - n), "nonsense", 1)
        yield "entry: keyword", lambda: low(*tensors, x=1)
        yield "entry: no name", lambda: low(*tensors, *[None] * (len(op.inputs) - n), 1, 1)
        if n > 1:
            yield "entry: missing tensor", lambda: low(t)
            yield "entry: number", lambda: low(t, 1.0)
    if op.name in INDEXED:
        yield "value: shape", lambda: t.__setitem__(0 if op.name == "setitem" else [0], np.ones(3))
        yield "value: too many axes", lambda: t.__setitem__(slice(None) if op.name == "setitem" else [0, 1], np.ones([2, 1, 2]))
        for bad in ("a", None, object(), {1: 2}, [1.0, "b"], [object()]):
            yield f"value: {bad!r}", lambda bad=bad: t.__setitem__(0 if op.name == "setitem" else [0], bad)
        yield "value: complex", lambda: t.__setitem__(0 if op.name == "setitem" else [0], 1j)
        yield "value: complex tensor", lambda: t.__setitem__(slice(0, 1) if op.name == "setitem" else [0], const([1j, 1j], "complex64"))
        if t.dtype == np.int64:
            yield "value: fraction", lambda: t.__setitem__(0 if op.name == "setitem" else [0], 0.5)
        for bad in ((2, -3, (0, 2), (0, 0, 0), (slice(None), 5), (Ellipsis, Ellipsis), (None,) * 9, slice(0, 1, 0), slice("a"), 2 ** 70)
                    if op.name == "setitem" else
                    ([2], [0, 2], [0, -3], np.array([0, 7]), [True, False, True], np.ones([3, 2], bool), [0.5], "a", object(), ([0], [2]),
                     ([0, 1], [0, 1, 0]), ([0], [0], [0]), [[0, 1], [0]], const([5], "int64"), const([0.5]), (slice(None), [0, 2]), {0})):
            yield f"index {bad!r}", lambda bad=bad: t.__setitem__(bad, 1)
            if op.name == "put":
                yield f"empty value at index {bad!r}", lambda bad=bad: t.__setitem__(bad, np.ones([0]))
    if not t.is_leaf and t.dtype == np.float64:
        return
    if t.stop_gradient is False or t.name == "target":
        if call is not None:
            yield "leaf", lambda: call(t, *good)
        if low is not None and op.name not in ("cast", "reshape", "transpose", "unsqueeze", *INDEXED):
            yield "entry: leaf", lambda: low(*([t, *[const(np.ones([2, 2]))] * (len(op.tensors) - 1)]))
        if op.name in INDEXED:
            yield "leaf", lambda: t.__setitem__(0 if op.name == "setitem" else [0], 1.0)


REFUSALS = (ValueError, TypeError, IndexError, RuntimeError, OverflowError, NotImplementedError)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.name + "_")
def test_s2_6_every_refusal_leaves_everything_as_it_was(op, kind):
    watched = Watched(kind)
    accepted, n = [], 0
    for what, call in failures(op, watched.target):
        n += 1
        try:
            call()
        except REFUSALS:
            pass
        else:
            accepted.append(what)
        for t, before in zip(watched.all, watched.before, strict=True):
            assert state(t) == before, what
        if accepted:
            break
    assert not accepted
    assert n
    watched.unchanged()


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("constant", "int")])
def test_s2_6_other_writes(kind):
    """copy_, set_value, .data, augmented assignment, .grad and stop_gradient."""
    watched = Watched(kind)
    t = watched.target
    bad = paddle.ones([3], dtype="float64")
    for call in (lambda: t.set_value(bad), lambda: t.set_value(np.ones([2, 2], "float32")), lambda: t.set_value([1.0]),
                 lambda: t.set_value(3.0),
                 lambda: setattr(t, "data", bad), lambda: setattr(t, "data", 1), lambda: t.__iadd__(bad), lambda: t.__imul__(1j),
                 lambda: setattr(t, "grad", bad), lambda: setattr(t, "grad", 1.0), lambda: setattr(t, "stop_gradient", 1),
                 lambda: setattr(t, "name", 3), lambda: setattr(t, "inplace_version", 3), lambda: setattr(t, "shape", [4]),
                 lambda: t.register_hook(3), lambda: t.backward(bad), lambda: setattr(t, "is_leaf", True), lambda: t.__init__(np.ones(3))):
        with pytest.raises((*REFUSALS, AttributeError)):
            call()
    watched.unchanged()


def test_s2_6_known_breaches_of_the_references():
    """The list of the rule, one by one."""
    x = leaf([[0.5, 0.75]])
    for shape_only in (lambda: x.reshape_([2, 1]), lambda: x.unsqueeze_(0), lambda: x.squeeze_(), lambda: x.flatten_()):
        with pytest.raises(ValueError, match="Leaf Var"):
            shape_only()
        assert x.shape == [1, 2]
        assert x.inplace_version == 0
    for write in (lambda: x.exp_(), lambda: x.add_(x), lambda: x.fill_(1.0), lambda: x.__setitem__(x > 0.6, 1.0)):
        with pytest.raises(ValueError, match="Leaf Var"):
            write()
        np.testing.assert_array_equal(x.numpy(), [[0.5, 0.75]])
    y = const([1.0, 2.0, 3.0])
    for index in ([0, 3], [0, -4]):
        with pytest.raises(IndexError, match="OutOfRange"):
            y[index] = 9.0
    np.testing.assert_array_equal(y.numpy(), [1.0, 2.0, 3.0])
    z = paddle.zeros([0, 3])
    with pytest.raises(IndexError):
        z[:, [5]] = 1.0
    with pytest.raises((IndexError, ValueError)):
        y[[5]] = np.ones([0])
    w = const([1, 2], "int64")
    with pytest.raises(ValueError):
        w.pow_(const([2, -1], "int64"))
    np.testing.assert_array_equal(w.numpy(), [1, 2])
    assert y.inplace_version == z.inplace_version == w.inplace_version == 0


@pytest.mark.parametrize("write", ["y.sin_()", "y.multiply_(y.T)", "y.pow_(2.0)", "y.abs_()", "y[1:] = y[:-1]", "y.add_(f)",
                                   "y[[0, 1]] = 1.0", "y.clip_(0.0, 0.5)", "y.divide_(y)", "y.copy_(y.T)"])
def test_s2_6_no_memory(write):
    """A private copy, a staging buffer or an array kernel finds no memory: MemoryError, and nothing has happened."""
    pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("needs a limit on the address space")
    script = f"""
        import resource
        import numpy as np
        import python_api as paddle
        n = 4096
        x = paddle.ones([n, n], dtype="float64")
        x.stop_gradient = False
        y = x * 0.25
        f = paddle.full([n, n], 2, dtype="int64")
        fn, loss = y.grad_fn, y.mean()
        small = paddle.ones([2]); small.add_(1.0); np.ones(4).sum()
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + n * n * 4, resource.RLIM_INFINITY))
        try:
            {write}
        except MemoryError:
            print("refused")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert y.inplace_version == 0 and y.grad_fn is fn and y.shape == [n, n] and y.dtype == np.float64
        assert not y.stop_gradient and not y.is_leaf
        assert float(y.detach().max()) == float(y.detach().min()) == 0.25
        loss.backward()
        assert abs(float(x.grad[0, 0]) * n * n - 0.25) < 1e-12
        print("unchanged")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True,
                          env={"PYTHONPATH": ":".join(p for p in sys.path if p), "OPENBLAS_NUM_THREADS": "1"})
    assert done.stdout.split() == ["refused", "unchanged"], done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [(1,), ("no",), (False,)], ids=["number", "text", "integers that require grad"])
def test_a_refused_second_start_changes_nothing(arguments):
    """S2.6, S3.8: an empty tensor may be initialised, but not by halves."""
    x = paddle.zeros([2, 0, 3], dtype="complex64")
    view = x[:1]
    with pytest.raises((TypeError, ValueError), match="must be bool|cannot require grad"):
        x.__init__(np.arange(3), *arguments)
    assert x.shape == [2, 0, 3] and x.dtype == np.complex64 and x.stop_gradient
    assert (view * 2.0).shape == [1, 0, 3]

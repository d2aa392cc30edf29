"""Every operator of the table x dtype x layout x form: values against NumPy, gradients of first and higher order against differences.

The references and everything that sets one operator apart from another are in `op_cases`. A row without a case there fails here.
"""

import numpy as np
import pytest
from op_cases import CASES, DTYPES, HIDDEN, LAYOUTS, Call, arrays_of, layouts_of, lies
from op_checks import written_later

import eager_core
import python_api as paddle
from eager_core import kernel_tables
from eager_core.codegen import reference as reference_page
from eager_core.codegen.table import OPS
from eager_core.codegen.table.builders import COMPLEX, FLOAT64, FLOATING, REAL, SUMMED, WITH_PLACES
from eager_core.gradient_helpers import OPS as OPS_INSIDE

ROWS = {op.name: op for op in OPS}
PUBLIC = [name for name in CASES if name in ROWS]
IN_PLACE = [name for name in PUBLIC if ROWS[name].inplace]
FUNCTIONAL = [name for name in PUBLIC if ROWS[name].functional]
DIFFERENTIABLE = [name for name in FUNCTIONAL if ROWS[name].grad is not None]
MIXED = [name for name in PUBLIC if CASES[name].mixed]
NUMBERS = [name for name in PUBLIC if ROWS[name].public and not CASES[name].fixed
           and ROWS[name].params[1:2] and ROWS[name].params[1].kind == "operand"]
KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
STEP = 1e-6

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")


def test_every_row_has_a_reference_and_every_reference_a_row():
    assert {op.name for op in OPS if op.public and (op.functional or op.inplace) and op.family != "node"} - set(HIDDEN) <= set(CASES)
    assert {op.name for op in OPS} == set(CASES) | set(HIDDEN)
    assert {name for name in HIDDEN.values() if name} <= set(CASES)


# ---- calling -----------------------------------------------------------------------------------------------------------------------------

def doors(op, in_place=False):
    """The public ways to call an operator: (name, function of tensors and attributes)."""
    mark, listed = "_" * (in_place and not op.bare), CASES[op.name].listed

    def entry(tensors, attrs):
        flat = []
        for p in op.public_attributes:
            if p.name in attrs:
                flat += [p.lowlevel, attrs[p.name]]
        out = eager_core.ENTRY_POINTS["eager_api_" + op.lowlevel + "_" * in_place](*([list(tensors)] if listed else tensors), *flat)
        return first(out)

    def named(tensors):
        """Those behind the first, by name: attributes may stand between them."""
        return {p.name: t for p, t in zip(op.tensors[1:], tensors[1:], strict=False)} if apart else {}

    if not op.public:
        yield "internal", lambda tensors, attrs: first(OPS_INSIDE[op.name + mark](*tensors, **attrs))
        return
    apart = [p.is_tensor for p in op.params] != sorted((p.is_tensor for p in op.params), reverse=True)
    for other in (op.name, *op.aliases):
        function = eager_core.FUNCTIONS[other + mark]
        yield other, lambda tensors, attrs, function=function: first(function(
            *([list(tensors)] if listed else tensors[:1] if apart else tensors), **named(tensors), **attrs))
    if op.method:
        yield "method", lambda tensors, attrs: first(getattr(tensors[0], op.name + mark)(
            *([] if apart else tensors[1:]), **named(tensors), **attrs))
    yield "entry", entry


def first(found):
    """The first of several results."""
    return found[0] if isinstance(found, tuple) else found


def first_door(op, in_place=False):
    return next(doors(op, in_place))[1]


def laid(array, layout, grad=False):
    """The tensor, and its base if it is a view."""
    base, view = lies(array, layout)
    t = paddle.to_tensor(base)
    t.stop_gradient = not grad
    return (t, t) if view is None else (view(t), t)


def tensors_of(arrays, layouts=None, grad=()):
    return [laid(a, "contiguous" if layouts is None else layouts[i], i in grad)[0] for i, a in enumerate(arrays)]


def reference(case, arrays, attrs):
    want = np.asarray(case.want(*arrays, **attrs))
    return want.astype(np.float32) if want.dtype == np.float16 else want


def differentiable(op, n):
    if isinstance(op.grad, dict):
        return [i for i, p in enumerate(op.tensors[:n]) if p.name in op.grad]
    return list(range(n))


def refuses(errors, why, function, *args):
    try:
        function(*args)
    except errors:
        return
    pytest.fail(f"accepted: {why}")


def agree(got, want, why, rtol=None):
    """Dtype, shape and values."""
    assert isinstance(got, paddle.Tensor), why
    assert got.dtype == want.dtype, (why, got.dtype, want.dtype)
    assert got.shape == list(want.shape), (why, got.shape, want.shape)
    found = got.numpy()
    if want.dtype.kind in "fc":
        rtol = rtol or (2e-6 if want.dtype in (np.float32, np.complex64) else 1e-13)
        fits = np.allclose(found, want, rtol=rtol, atol=rtol, equal_nan=True)
    else:
        fits = np.array_equal(found, want)
    if not fits:
        raise AssertionError(f"{why}\ngot\n{found}\nwanted\n{want}")


def state(*tensors):
    return [(id(t), t.numpy().tobytes(), t.shape, t.strides, t.dtype, t.inplace_version, t.stop_gradient, t.is_leaf, t.grad_fn, t.name)
            for t in tensors]


# ---- values ------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_values(name, dtype):
    op, case = ROWS[name], CASES[name]
    for call in case.calls:
        arrays = arrays_of(case, call, dtype)
        supported = np.dtype(dtype).kind in case.kinds
        want = reference(case, arrays, call.attrs) if supported else None
        for layouts in layouts_of(len(arrays)):
            tensors = tensors_of(arrays, layouts)
            before = state(*tensors)
            for door, run in doors(op):
                why = (name, dtype, door, call, layouts)
                if supported:
                    out = run(tensors, call.attrs)
                    agree(out, want, why)
                    assert out.stop_gradient and out.is_leaf, why
                    assert all(out is not t for t in tensors), why
                else:
                    refuses(TypeError, why, run, tensors, call.attrs)
                assert state(*tensors) == before, why


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name, dtype):
    op, case = ROWS[name], CASES[name]
    for call in case.calls:
        arrays = arrays_of(case, call, dtype)
        want = reference(case, arrays, call.attrs) if np.dtype(dtype).kind in case.kinds else None
        for layouts in layouts_of(len(arrays)):
            for door, run in doors(op, in_place=True):
                why = (name, dtype, door, call, layouts)
                target, base = laid(arrays[0], layouts[0])
                tensors = [target, *tensors_of(arrays[1:], layouts[1:])]
                error = refusal(case, target, arrays[0], want, layouts[0], call)
                before = state(base, *tensors)
                if error is not None:
                    refuses(error, why, run, tensors, call.attrs)
                    assert state(base, *tensors) == before, why
                    continue
                assert run(tensors, call.attrs) is target, why
                assert target.inplace_version == base.inplace_version == 1, why
                assert target.stop_gradient and target.name == before[1][-1], why
                agree(target, want if case.moves_nothing else want.astype(dtype), why)
                assert state(*tensors[1:]) == before[2:], why
                around, view = lies(arrays[0], layouts[0])
                if view is not None:                        # nothing beside the target has changed
                    view(around)[...] = arrays[0] if case.moves_nothing else target.numpy()
                    assert np.array_equal(base.numpy(), around, equal_nan=around.dtype.kind in "fc"), why


def refusal(case, target, array, want, layout, call):
    """The error that an in-place call must give, or None."""
    if want is None:
        return TypeError
    if case.moves_nothing:
        base, view = lies(array, layout)
        seen = base if view is None else view(base)
        return None if want.size == 0 or np.shares_memory(case.want(seen, **call.attrs), base) else ValueError
    if want.shape != array.shape:
        return ValueError
    return TypeError if KIND[want.dtype.kind] > KIND[array.dtype.kind] else None


@pytest.fixture
def without_loops():
    """NumPy without the typed loops that the library reads out of its ufuncs."""
    restore = kernel_tables._test_forget_loops()
    yield
    restore()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
@pytest.mark.parametrize("name", PUBLIC)
def test_without_numpys_typed_loops(name, dtype, without_loops):
    if ROWS[name].functional:
        test_values(name, dtype)
    if ROWS[name].inplace:
        test_in_place(name, dtype)


@pytest.mark.parametrize("name", [name for name in PUBLIC if CASES[name].refused])
def test_refused(name):
    op, case = ROWS[name], CASES[name]
    for call, error in case.refused:
        arrays = arrays_of(case, call, "float64")
        for in_place in [False] * op.functional + [True] * op.inplace:
            for _, run in doors(op, in_place):
                tensors = tensors_of(arrays)
                before = state(*tensors)
                refuses(error, (name, call), run, tensors, call.attrs)
                assert state(*tensors) == before


@pytest.mark.parametrize("name", [name for name in IN_PLACE if "f" in CASES[name].kinds])
def test_in_place_refuses_a_leaf_that_requires_grad(name):
    op, case = ROWS[name], CASES[name]
    for _, run in doors(op, in_place=True):
        tensors = tensors_of(arrays_of(case, case.calls[0], "float64"), grad=[0])
        before = state(*tensors)
        with pytest.raises(ValueError, match="Leaf Var"):
            run(tensors, case.calls[0].attrs)
        assert state(*tensors) == before
        with paddle.no_grad():
            assert run(tensors, case.calls[0].attrs) is tensors[0]
        assert tensors[0].inplace_version == 1 and tensors[0].is_leaf and not tensors[0].stop_gradient


# ---- promotion ---------------------------------------------------------------------------------------------------------------------------

REFUSALS = TypeError, OverflowError, ValueError         # the last for negative powers of integers


def compare(run, want, why):
    """Both succeed and agree, or both refuse."""
    try:
        expected = np.asarray(want())
    except REFUSALS:
        refuses(REFUSALS, why, run)
        return
    agree(run(), expected, why, rtol=1e-5 if expected.dtype.itemsize <= 8 and expected.dtype.kind in "fc" else None)


@pytest.mark.parametrize("name", [name for name in MIXED if ROWS[name].functional])
def test_mixed_dtypes_promote_as_in_numpy(name):
    case, run = CASES[name], first_door(ROWS[name])
    call = next(c for c in case.calls if len(c.shapes) == 2)
    for one in DTYPES:
        for other in DTYPES:
            arrays = [arrays_of(case, call, dtype)[i] for i, dtype in enumerate((one, other))]
            compare(lambda a=arrays: run(tensors_of(a), call.attrs), lambda a=arrays: case.want(*a, **call.attrs), (name, one, other))


@pytest.mark.parametrize("name", [name for name in MIXED if ROWS[name].inplace])
def test_mixed_dtypes_in_place_keep_the_dtype_of_the_target(name):
    case, run = CASES[name], first_door(ROWS[name], in_place=True)
    call = case.calls[0]
    for one in DTYPES:
        for other in DTYPES:
            arrays = [arrays_of(case, call, dtype)[i] for i, dtype in enumerate((one, other))]
            try:
                want = reference(case, arrays, call.attrs)
            except TypeError:
                want = None
            tensors = tensors_of(arrays)
            before = state(*tensors)
            if want is None or KIND[want.dtype.kind] > KIND[np.dtype(one).kind]:
                refuses(TypeError, (name, one, other), run, tensors, call.attrs)
                assert state(*tensors) == before
            else:
                run(tensors, call.attrs)
                agree(tensors[0], want.astype(one), (name, one, other), 1e-5 if "32" in one or "64" in one[5:] else None)


SCALARS = (True, False, 2, 3.0, 2.5, 0.0, 1.5 + 2j, 1j, -1, 200, 70000, -(2**40), 2**63, np.float32(2.5), np.float64(2.5), np.int8(2),
np.int64(3),
           np.bool_(True), np.complex64(1 + 1j), np.uint8(3), np.array(2.5), np.array([2, 3, 1], dtype="int16"),
           np.array([[1.5], [2.5]], dtype="float32"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in NUMBERS if ROWS[name].functional])
def test_numbers_and_arrays_are_operands_as_in_numpy(name, dtype):
    case, function = CASES[name], eager_core.FUNCTIONS[name]
    x = arrays_of(case, Call(((2, 3), (2, 3))), dtype)[0]
    y = arrays_of(case, Call(((2, 3), (2, 3))), dtype)[1]
    for number in SCALARS:
        left, right = paddle.to_tensor(x), paddle.to_tensor(y)
        compare(lambda n=number, t=left: function(t, n), lambda n=number: case.want(x, n), (name, dtype, "right", number))
        compare(lambda n=number, t=right: function(n, t), lambda n=number: case.want(n, y), (name, dtype, "left", number))
        if case.symbol is not None:
            compare(lambda n=number, t=left: case.symbol(t, n), lambda n=number: case.want(x, n), (name, dtype, "symbol, right", number))
            compare(lambda n=number, t=right: case.symbol(n, t), lambda n=number: case.want(n, y), (name, dtype, "symbol, left", number))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in NUMBERS if ROWS[name].inplace])
def test_numbers_and_arrays_in_place(name, dtype):
    case = CASES[name]
    x = arrays_of(case, Call(((2, 3), ())), dtype)[0]
    for number in SCALARS:
        if name == "fill" and np.ndim(number):
            continue
        runs = [lambda t, n=number: getattr(t, name + "_")(n)]
        if case.in_symbol is not None:
            runs.append(lambda t, n=number: case.in_symbol(t, n))
        for run in runs:
            t = paddle.to_tensor(x)
            before = state(t)
            try:
                want = case.want(x, number if ROWS[name].functional else weak(x, number))
            except REFUSALS:
                want = None
            if want is None or want.shape != x.shape or KIND[want.dtype.kind] > KIND[x.dtype.kind]:
                refuses(REFUSALS, (name, dtype, number), run, t)
                assert state(t) == before
            else:
                assert run(t) is t and t.inplace_version == 1
                agree(t, want.astype(dtype), (name, dtype, number), 1e-5 if dtype in ("float32", "complex64") else None)


def weak(x, number):
    """A number with a dtype of its own, or with the one that it takes beside x."""
    return np.asarray(number, dtype=None if isinstance(number, (np.generic, np.ndarray)) else np.result_type(x, number))


@pytest.mark.parametrize("name", [name for name in NUMBERS if ROWS[name].functional])
def test_what_is_no_operand_is_refused(name):
    x = paddle.to_tensor([[1.0, 2.0]])
    for bad in ("a", None, [1.0, 2.0], np.array(["a"]), object()):
        with pytest.raises(TypeError):
            eager_core.FUNCTIONS[name](x, bad)
        with pytest.raises(TypeError):
            eager_core.FUNCTIONS[name](bad, x)
    with pytest.raises(TypeError):
        eager_core.FUNCTIONS[name](1.0, 2.0)


# ---- gradients ---------------------------------------------------------------------------------------------------------------------------

def inner(a, b):
    """Re sum(conj(a) b): the number whose gradient in b is a, in the convention of S9.27."""
    return float(np.sum((np.conj(a) * b).real))


def differences(function, arrays, which):
    """Gradients of a real function of arrays: d/dre + i d/dim, one element at a time."""
    found = []
    for i in which:
        slope = np.zeros_like(arrays[i])
        for at in np.ndindex(slope.shape):
            for unit in (1.0, 1j) if slope.dtype.kind == "c" else (1.0,):
                ends = []
                for sign in (1, -1):
                    moved = list(arrays)
                    moved[i] = arrays[i].copy()
                    moved[i][at] += sign * unit * STEP
                    ends.append(function(moved))
                slope[at] += unit * (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def seeds(arrays, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(0.5, 1.5, a.shape) * (np.exp(1j * rng.uniform(0, 6, a.shape)) if a.dtype.kind == "c" else 1))
            for a in arrays]


class Derivatives:
    """Of S1 = <w, f(x)>, S2 = <v, dS1/dx>, S3 = <u, dS2/d(x, w)>: each is a function of the inputs and the weights before it."""

    def __init__(self, run, attrs, which, layouts=None):
        self.run, self.attrs, self.which, self.layouts = run, attrs, which, layouts

    def gradient(self, order, arrays, weights):
        """dS_order with respect to the inputs `which` and the weights of lower order, as arrays."""
        tensors = tensors_of(arrays, self.layouts, self.which)
        variables = [tensors[i] for i in self.which]
        outputs = [self.run(tensors, self.attrs)]
        for k in range(order):
            given = [paddle.to_tensor(w) for w in weights[k]]
            last = k == order - 1
            for w in given:
                w.stop_gradient = last
            live = [(o, w) for o, w in zip(outputs, given, strict=True) if not o.stop_gradient]
            if not live:
                return [np.zeros(v.shape, v.dtype) for v in variables]
            found = paddle.grad([o for o, _ in live], variables, [w for _, w in live], create_graph=not last, allow_unused=True)
            outputs = [paddle.zeros(v.shape, v.dtype) if g is None else g for v, g in zip(variables, found, strict=True)]
            for v, g in zip(variables, outputs, strict=True):
                assert g.dtype == v.dtype and g.shape == v.shape, (g, v)
            variables = [*variables, *given]
        return [o.numpy() for o in outputs]

    def check(self, case, arrays, highest, why):
        weights = [seeds([reference(case, arrays, self.attrs)], 1)]
        first = self.gradient(1, arrays, weights)
        wanted = differences(lambda a: inner(weights[0][0], case.want(*a, **self.attrs)), arrays, self.which)
        near(first, wanted, (why, "order 1"))
        below = first
        for order in range(2, highest + 1):
            weights.append(seeds(below, order))
            found = self.gradient(order, arrays, weights)
            flat = [w for group in weights[:-1] for w in group]

            def lower(moved, order=order, weights=weights):
                rest, groups = iter(moved[len(arrays):]), []
                for group in weights[:-1]:
                    groups.append([next(rest) for _ in group])
                return sum(inner(w, g) for w, g in zip(weights[-1], self.gradient(order - 1, moved[:len(arrays)], groups), strict=True))
            # Of the weights only those of the order just below are new; all are variables.
            which = [*self.which, *range(len(arrays), len(arrays) + len(flat))]
            near(found, differences(lower, [*arrays, *flat], which), (why, f"order {order}"))
            below = found


def near(found, wanted, why):
    for k, (f, w) in enumerate(zip(found, wanted, strict=True)):
        assert f.shape == w.shape and f.dtype == w.dtype, (why, k, f.dtype, w.dtype)
        if not np.allclose(f, w, rtol=1e-6, atol=2e-8):
            raise AssertionError(f"{why}, variable {k}\ngot\n{f}\nwanted\n{w}")


def precise(case):
    return ["float64"] * ("f" in case.kinds) + ["complex128"] * ("c" in case.kinds)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_differences(name):
    op, case = ROWS[name], CASES[name]
    for dtype in precise(case):
        for call in case.calls:
            if not call.slopes:
                continue
            arrays = arrays_of(case, call, dtype, seed=5)
            if reference(case, arrays, call.attrs).dtype.kind not in "fc":
                continue
            which = [i for i in differentiable(op, len(arrays)) if i not in case.fixed]
            Derivatives(first_door(op), call.attrs, which).check(case, arrays, case.order, (name, dtype, call))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_do_not_depend_on_layout_form_or_the_other_operands(name):
    op, case = ROWS[name], CASES[name]
    for dtype in precise(case):
        for call in case.calls:
            arrays = arrays_of(case, call, dtype, seed=5)
            want = reference(case, arrays, call.attrs)
            if want.dtype.kind not in "fc":
                continue
            weights = [seeds([want], 1)]
            weights = [[w.astype(want.dtype) for w in weights[0]]]
            which = [i for i in differentiable(op, len(arrays)) if i not in case.fixed]
            plain = Derivatives(first_door(op), call.attrs, which).gradient(1, arrays, weights)
            for layouts in layouts_of(len(arrays)):
                near(Derivatives(first_door(op), call.attrs, which, layouts).gradient(1, arrays, weights), plain, (name, call, layouts))
            for door, run in doors(op):
                near(Derivatives(run, call.attrs, which).gradient(1, arrays, weights), plain, (name, call, door))
            for k, i in enumerate(which):
                near(Derivatives(first_door(op), call.attrs, [i]).gradient(1, arrays, weights), plain[k:k + 1], (name, call, i))


def copied(run):
    """An in-place form as a function: of a copy of its first operand."""
    return lambda tensors, attrs: run([tensors[0].clone(), *tensors[1:]], attrs)


@pytest.mark.parametrize("name", [name for name in IN_PLACE if ROWS[name].grad is not None])
def test_gradients_in_place(name):
    op, case = ROWS[name], CASES[name]
    for dtype in precise(case):
        for call in case.calls:
            arrays = arrays_of(case, call, dtype, seed=5)
            want = reference(case, arrays, call.attrs)
            if KIND[want.dtype.kind] > KIND[arrays[0].dtype.kind] or (want.shape != arrays[0].shape and not case.moves_nothing):
                continue
            if want.dtype != arrays[0].dtype:
                continue
            which = [i for i in differentiable(op, len(arrays)) if i not in case.fixed]
            for _, run in doors(op, in_place=True):
                Derivatives(copied(run), call.attrs, which).check(case, arrays, min(case.order, 2), (name, dtype, call))


@pytest.mark.parametrize(("name", "in_place"), [(name, form) for form, names in ((False, FUNCTIONAL), (True, IN_PLACE)) for name in names
                                                if ROWS[name].grad is not None])
def test_a_write_between_forward_and_backward_is_noticed_or_does_no_harm(name, in_place):
    """S5.3 to S5.5: of every operand, index and condition included, and of the result."""
    op, case = ROWS[name], CASES[name]
    for dtype in precise(case):
        for call in case.calls:
            arrays = arrays_of(case, call, dtype, seed=5)
            want = reference(case, arrays, call.attrs)
            if want.dtype.kind not in "fc" or (in_place and ((want.shape != arrays[0].shape and not case.moves_nothing) or
                                                            want.dtype != arrays[0].dtype)):
                continue
            weights = seeds([want], 1)
            which = [i for i in differentiable(op, len(arrays)) if i not in case.fixed]
            run = copied(first_door(op, True)) if in_place else first_door(op)
            first = Derivatives(run, call.attrs, which).gradient(1, arrays, [weights])
            written_later(lambda *tensors, run=run, call=call: run(list(tensors), call.attrs), arrays, which, weights, first)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_have_the_dtype_of_their_operand(name):
    op, case = ROWS[name], CASES[name]
    call = case.calls[0]
    exact = arrays_of(case, call, "float64", seed=5)
    which = [i for i in differentiable(op, len(exact)) if i not in case.fixed]
    kinds = ["float32", "float64"] * ("f" in case.kinds) + ["complex64", "complex128"] * ("c" in case.kinds)
    for one in kinds:
        for other in kinds if case.mixed else [one]:
            arrays = [a if i in case.fixed else a.astype(one if i == 0 else other) for i, a in enumerate(exact)]
            tensors = tensors_of(arrays, None, which)
            out = first_door(op)(tensors, call.attrs)
            if out.dtype.kind not in "fc":
                continue
            found = paddle.grad([out], [tensors[i] for i in which], [paddle.to_tensor(np.ones(out.shape, out.dtype))])
            for i, g in zip(which, found, strict=True):
                assert g.dtype == arrays[i].dtype and g.shape == list(arrays[i].shape)
            wide = tensors_of([a.astype({"f": "float64", "c": "complex128"}.get(a.dtype.kind, a.dtype)) for a in arrays], None, which)
            same = first_door(op)(wide, call.attrs)
            exactly = paddle.grad([same], [wide[i] for i in which], [paddle.to_tensor(np.ones(same.shape, same.dtype))])
            for g, e in zip(found, exactly, strict=True):
                assert np.allclose(g.numpy(), e.numpy(), rtol=1e-4, atol=1e-5), (name, one, other)


# Where differences cannot tell: kinks, ties, poles, zeros. (operator, inputs, attributes, gradient per input)
EDGES = [
    ("abs", [[0.0, -1.0]], {}, [[0.0, -1.0]]),
    ("abs", [[0j, 3 + 4j]], {}, [[0j, 0.6 + 0.8j]]),
    ("sign", [[0j, 0.0]], {}, [[0j, 0j]]),
    ("relu", [[0.0, -0.0, 1.0]], {}, [[0.0, 0.0, 1.0]]),
    ("clip", [[-1.0, 0.0, 1.0, 2.0]], {"min": 0.0, "max": 1.0}, [[0.0, 1.0, 1.0, 0.0]]),
    ("maximum", [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], {}, [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
    ("minimum", [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], {}, [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]),
    ("max", [[2.0, 2.0, 1.0]], {}, [[0.5, 0.5, 0.0]]),
    ("min", [[2.0, 1.0, 1.0]], {}, [[0.0, 0.5, 0.5]]),
    ("prod", [[0.0, 2.0, 3.0]], {}, [[6.0, 0.0, 0.0]]),
    ("prod", [[0.0, 0.0, 3.0]], {}, [[0.0, 0.0, 0.0]]),
    ("prod", [[1e-200, 1e-200, 1e200]], {}, [[1.0, 1.0, 0.0]]),
    ("prod", [[1e200, 1e-200, 1e200]], {}, [[1.0, np.inf, 1.0]]),
    ("prod", [[1e-162, 1e-160, 1e200]], {}, [[1e40, 1e38, 1e-322]]),
    ("prod", [[[2.0, 0.0], [3.0, 4.0]]], {"axis": 1}, [[[0.0, 2.0], [4.0, 3.0]]]),
    ("prod", [[-np.inf, 2.0]], {}, [[2.0, -np.inf]]),
    ("pow", [[0.0, 0.0, 0.0, -2.0], [2.0, 1.0, 0.0, 3.0]], {}, [[0.0, 1.0, 0.0, 12.0], None]),
    ("pow", [[0.0, 2.0], [2.0, 3.0]], {}, [[0.0, 12.0], [0.0, 8 * np.log(2.0)]]),
    ("where", [[True, False], [1.0, np.inf], [np.nan, 2.0]], {}, [None, [1.0, 0.0], [0.0, 1.0]]),
    ("gather", [[[0.0, 1.0], [2.0, 3.0]], [1, 1, -1]], {}, [[[0.0, 0.0], [3.0, 3.0]], None]),
    ("softmax", [[-np.inf, 0.0, 800.0]], {}, [[0.0, 0.0, 0.0]]),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "gradients"), EDGES)
def test_gradients_at_the_edges(name, inputs, attrs, gradients):
    arrays = [np.array(a) for a in inputs]
    leaves = [i for i, g in enumerate(gradients) if g is not None]
    tensors = tensors_of(arrays, None, leaves)
    first_door(ROWS[name])(tensors, attrs).sum().backward()
    for i in leaves:
        agree(tensors[i].grad, np.array(gradients[i]), (name, i))


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_only_floating_results_of_differentiable_operators_require_grad(name, dtype):
    op, case = ROWS[name], CASES[name]
    if np.dtype(dtype).kind not in case.kinds:
        return
    call = case.calls[0]
    arrays = arrays_of(case, call, dtype)
    leaves = [i for i, a in enumerate(arrays) if a.dtype.kind in "fc"]
    out = first_door(op)(tensors_of(arrays, None, leaves), call.attrs)
    constant = op.grad is None or out.dtype.kind not in "fc" or not leaves
    assert out.stop_gradient == constant and out.is_leaf == constant and (out.grad_fn is None) == constant
    with paddle.no_grad():
        out = first_door(op)(tensors_of(arrays, None, leaves), call.attrs)
    assert out.stop_gradient and out.is_leaf


def test_layouts_are_what_they_are_called():
    a = np.arange(6.0).reshape(2, 3)
    strides = {layout: laid(a, layout)[0].strides for layout in LAYOUTS}
    assert strides == {"contiguous": [3, 1], "transposed": [1, 2], "strided": [6, 2], "negative": [-3, -1], "inner": [3, 1]}
    for layout in LAYOUTS:
        assert np.array_equal(laid(a, layout)[0].numpy(), a)


# What the reference page says of a result's dtype: in words -> the dtype for one of the inputs.
WORDS = {
    "that of the input": lambda d: d,
    "bool": lambda d: np.dtype("bool"),
    "int64": lambda d: np.dtype("int64"),
    FLOAT64: lambda d: np.dtype("float64") if d.kind in "biu" else d,
    FLOATING: lambda d: np.dtype("float32" if d.itemsize <= 2 else "float64") if d.kind in "biu" else d,
    "int64, or int32 if asked for": lambda d: np.dtype("int64"),
    "int64; of weights or densities floating point": lambda d: np.dtype("int64"),
    "int64; that of floating point weights": lambda d: np.dtype("int64"),
    "float32": lambda d: np.dtype("float32"),
    "the real one of the input's dtype": lambda d: np.finfo(d).dtype,
    WITH_PLACES: lambda d: d,               # of the first result
    f"{FLOAT64}; real": lambda d: np.finfo(WORDS[FLOAT64](d)).dtype,
    f"{FLOATING}; real": lambda d: np.finfo(WORDS[FLOATING](d)).dtype,
    REAL: lambda d: np.finfo(d).dtype if d.kind == "c" else d,
    COMPLEX: lambda d: np.result_type(np.complex64, np.finfo(WORDS[FLOATING](d)).dtype),
    SUMMED: lambda d: np.dtype("uint64" if d.kind == "u" else "int64") if d.kind in "biu" else d,
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_dtypes_are_those_of_the_reference_page(name):
    op, case = ROWS[name], CASES[name]
    call = case.calls[0]
    text = reference_page.dtype_text(op)
    for words in ("that to which the inputs are promoted", *(f"that of {p.name}" for p in op.tensors)):
        text = text.replace(words, "that of the input") if text.startswith(words) else text
    text, is_int8 = text.removesuffix(reference_page.BOOL_AS_INT8), text.endswith(reference_page.BOOL_AS_INT8)
    if text not in WORDS:
        assert op.name in ("cast", "lerp")      # the one asked for; that of its weight, too
        return
    for dtype in map(np.dtype, DTYPES):
        if dtype.kind in case.kinds:
            out = first_door(op)(tensors_of(arrays_of(case, call, dtype)), call.attrs)
            assert out.dtype == ("int8" if is_int8 and dtype.kind == "b" else WORDS[text](dtype)), (name, dtype, text)

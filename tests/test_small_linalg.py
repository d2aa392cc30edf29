"""Matrices of at most 8 x 8 have kernels of their own. Values against NumPy's LAPACK and exact solutions, on both sides of the border."""
import sys
import threading
import time

import numpy as np
import pytest

import python_api as paddle
from python_api import linalg

SIZES = [1, 2, 3, 4, 5, 7, 8, 9]
DTYPES = ["float32", "float64"]


def regular(n, batch=(), dtype="float64", seed=0):
    """Well away from singular, so that rounding is all that may differ; the largest elements of a column are not on the diagonal."""
    rng = np.random.default_rng(seed + n)
    x = rng.uniform(-1, 1, (*batch, n, n)) + 3 * np.eye(n)
    return np.ascontiguousarray(x[..., ::-1, :]).astype(dtype)


def draw(shape, dtype="float64", seed=1):
    return np.random.default_rng(seed + sum(shape)).uniform(-1, 1, shape).astype(dtype)


def close(got, want):
    """Within 100 ulp of the largest element."""
    got = got.numpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=100 * np.finfo(want.dtype).eps * max(1, np.abs(want).max(initial=0)))


LAYOUTS = {
    "C": lambda a: paddle.to_tensor(a),
    "transposed": lambda a: linalg.matrix_transpose(paddle.to_tensor(np.ascontiguousarray(a.swapaxes(-1, -2)))),
    "every second": lambda a: paddle.to_tensor(np.repeat(np.repeat(a, 2, -1), 3, -2))[..., ::3, ::2],
    "backwards": lambda a: paddle.to_tensor(np.ascontiguousarray(a[..., ::-1, ::-1]))[..., ::-1, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_operators_on_one_stack(n, dtype, batch, layout):
    a = regular(n, batch, dtype)
    x = LAYOUTS[layout](a)
    close(linalg.inv(x), np.linalg.inv(a))
    close(linalg.det(x), np.asarray(np.linalg.det(a)))
    sign, logarithm = np.linalg.slogdet(a)
    close(linalg.slogdet(x), np.stack([sign, logarithm]))
    s = a @ a.swapaxes(-1, -2)
    close(linalg.cholesky(LAYOUTS[layout](s)), np.linalg.cholesky(s))
    close(linalg.cholesky(LAYOUTS[layout](s), upper=True), np.linalg.cholesky(s).swapaxes(-1, -2))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [1, 3, 8, 9])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_solve(n, dtype, k, layout):
    a, b = regular(n, (), dtype), draw((n, k), dtype)
    x = LAYOUTS[layout](a)
    close(linalg.solve(x, LAYOUTS[layout](b)), np.linalg.solve(a, b))
    close(linalg.solve(x, paddle.to_tensor(b[:, 0])), np.linalg.solve(a, b[:, 0]))
    close(linalg.solve(x, paddle.to_tensor(np.repeat(b[:, 0], 2))[::-2]), np.linalg.solve(a, b[::-1, 0]))
    c = np.ascontiguousarray(b.T)
    close(linalg.solve(x, LAYOUTS[layout](c), left=False), np.linalg.solve(a.T, c.T).T)


@pytest.mark.parametrize("a, b", [((3,), (3,)), ((), (3,)), ((3,), ()), ((2, 1), (3,)), ((2, 3), (2, 3)), ((1,), (4,)), ((0,), (0,))],
                         ids=str)
def test_solve_broadcasts_stacks(a, b):
    x, y = regular(4, a), draw((*b, 4, 2))
    close(linalg.solve(paddle.to_tensor(x), paddle.to_tensor(y)), np.linalg.solve(x, y))
    z = np.ascontiguousarray(y.swapaxes(-1, -2))
    close(linalg.solve(paddle.to_tensor(x), paddle.to_tensor(z), left=False),
          np.linalg.solve(x.swapaxes(-1, -2), y).swapaxes(-1, -2))


def test_solve_of_stacked_vectors():
    """y with the shape of x without the last axis is a vector for each matrix, also where it could be a matrix."""
    for batch in [(3,), (4,), (4, 4)]:
        x, y = regular(4, batch), draw((*batch, 4))
        close(linalg.solve(paddle.to_tensor(x), paddle.to_tensor(y)), np.linalg.solve(x, y[..., None])[..., 0])
        turned = paddle.to_tensor(np.ascontiguousarray(y.swapaxes(0, -1)))
        turned = turned.transpose([turned.ndim - 1, *range(1, turned.ndim - 1), 0])
        close(linalg.solve(paddle.to_tensor(x), turned), np.linalg.solve(x, y[..., None])[..., 0])
    x, y = regular(4, (3,)), draw((4,))
    close(linalg.solve(paddle.to_tensor(x), paddle.to_tensor(y)), np.linalg.solve(x, y))


@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_triangular_solve_reads_one_triangle(n, upper, transpose, unitriangular):
    a, b = regular(n)[::-1], draw((n, 3))
    t = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        np.fill_diagonal(t, 1)
    poisoned = np.where(np.triu(np.ones((n, n)), 1) if not upper else np.tril(np.ones((n, n)), -1), np.nan, a)
    got = linalg.triangular_solve(paddle.to_tensor(poisoned), paddle.to_tensor(b), upper, transpose, unitriangular)
    close(got, np.linalg.solve(t.T if transpose else t, b))


@pytest.mark.parametrize("n", [3, 8])
def test_cholesky_reads_one_triangle(n):
    s = regular(n) @ regular(n).T
    for upper in (False, True):
        poisoned = np.where(np.tril(np.ones((n, n)), -1) if upper else np.triu(np.ones((n, n)), 1), np.nan, s)
        want = np.linalg.cholesky(s)
        close(linalg.cholesky(paddle.to_tensor(poisoned), upper=upper), want.T if upper else want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n, p", [(m, n, p) for m in (1, 2, 3, 4, 8, 9) for n in (0, 1, 2, 3, 4, 8, 9) for p in (1, 2, 3, 4, 8)])
def test_products(m, n, p, dtype):
    a, b = draw((m, n), dtype), draw((n, p), dtype, 2)
    want = (a.astype(np.longdouble) @ b.astype(np.longdouble)).astype(dtype)
    for layout in LAYOUTS.values():
        close(layout(a) @ layout(b), want)
    close(paddle.matmul(paddle.to_tensor(a.T.copy()), paddle.to_tensor(b.T.copy()), True, True), want)
    close(paddle.to_tensor(a[0]) @ paddle.to_tensor(b), want[0])
    close(paddle.to_tensor(a) @ paddle.to_tensor(b[:, 0].copy()), want[:, 0])
    close(paddle.to_tensor(a[0]) @ paddle.to_tensor(b[:, 0].copy()), np.asarray(want[0, 0]))
    stack = np.stack([a, 2 * a, -a])
    close(paddle.to_tensor(stack) @ paddle.to_tensor(b), np.stack([want, 2 * want, -want]))


def test_a_product_written_over_its_operand():
    """S7.5: the operands count as they were."""
    a, b = regular(4), draw((4, 4))
    out = paddle.to_tensor(a)
    out[:] = out @ paddle.to_tensor(b)
    close(out, a @ b)


# ---- what rounding decides is LAPACK's to decide ---------------------------------------------------------------------------------------

DOUBTFUL = {
    "zero": np.zeros((3, 3)), "rank 1": np.outer([1.0, 2, 3], [4.0, 5, 6]), "1 to 9": np.arange(1.0, 10).reshape(3, 3),
    "tenths": np.arange(1.0, 10).reshape(3, 3) / 10, "tiny pivot": np.array([[1, 1], [1, 1 + 2.0**-52]]), "graded": np.diag([1, 1e-20]),
    "nan": np.array([[1, np.nan], [3, 4]]), "nan above": np.array([[1, 0, np.nan], [0, 1, 0], [0, 0, 1]]),
    "inf": np.array([[np.inf, 1], [1, 1]]), "magic 4": np.array([[16.0, 2, 3, 13], [5, 11, 10, 8], [9, 7, 6, 12], [4, 14, 15, 1]]),
    "huge": np.array([[1e308, 0], [0, 1e308]]), "least": np.array([[5e-324, 0], [0, 5e-324]]),
}


def outcome(function, *arguments):
    """A value, or that there is none."""
    with np.errstate(all="ignore"):
        try:
            result = function(*arguments)
        except (np.linalg.LinAlgError, ValueError):
            return "an error"
    return result.numpy() if isinstance(result, paddle.Tensor) else np.asarray(result)


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_singular_is_decided_as_ever(name):
    a = DOUBTFUL[name]
    b = np.ones((len(a), 2))
    for ours, numpy, arguments in (
        (linalg.inv, np.linalg.inv, (a,)), (linalg.solve, np.linalg.solve, (a, b)), (linalg.det, np.linalg.det, (a,)),
        (linalg.cholesky, np.linalg.cholesky, (a,)), (linalg.slogdet, lambda x: np.stack(np.linalg.slogdet(x)), (a,)),
    ):
        got, want = outcome(ours, *map(paddle.to_tensor, arguments)), outcome(numpy, *arguments)
        if isinstance(want, str):
            assert isinstance(got, str), ours
        else:
            np.testing.assert_array_equal(got, want, err_msg=str(ours))


@pytest.mark.parametrize("operator, message", [
    (lambda x: linalg.inv(x), "inverse(): the matrix is singular and has no inverse"),
    (lambda x: linalg.solve(x, x), "solve(): the matrix is singular and has no inverse"),
    (lambda x: linalg.triangular_solve(x, x), "triangular_solve(): the matrix is singular and has no inverse"),
    (lambda x: linalg.cholesky(x), "cholesky(): the matrix is not positive definite"),
], ids=["inv", "solve", "triangular_solve", "cholesky"])
def test_refusals_change_nothing(operator, message):
    """One singular matrix in a stack refuses the whole stack; value, version and graph stay as they were (S2.6)."""
    a = np.stack([np.eye(3), np.zeros((3, 3))])
    leaf = paddle.to_tensor(a, stop_gradient=False)
    x = leaf * 1.0
    node = x.grad_fn
    with pytest.raises(ValueError) as caught:
        operator(x)
    assert message in str(caught.value)
    assert x.grad_fn is node and x.inplace_version == 0
    np.testing.assert_array_equal(x.numpy(), a)
    x.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), np.ones(a.shape))


def test_pivots_are_those_of_partial_pivoting():
    """Without the exchange of rows, eliminating with 1e-20 would lose the 1 beside it."""
    a = np.array([[1e-20, 1.0], [1.0, 1.0]])
    close(linalg.solve(paddle.to_tensor(a), paddle.to_tensor(np.array([1.0, 2.0]))), np.array([1.0, 1.0]))
    close(linalg.inv(paddle.to_tensor(a)), np.array([[-1.0, 1.0], [1.0, 0.0]]))
    # An odd number of exchanges turns the sign, an even one does not.
    for order in ([1, 0, 2, 3], [1, 2, 0, 3], [3, 2, 1, 0], [1, 2, 3, 0]):
        sign = np.round(np.linalg.det(np.eye(4)[order]))
        assert float(linalg.det(paddle.to_tensor(np.eye(4)[order]))) == sign
        assert linalg.slogdet(paddle.to_tensor(np.eye(4)[order] * 2.0)).numpy().tolist() == [sign, pytest.approx(4 * np.log(2))]


def test_a_determinant_whose_partial_products_leave_the_range():
    for diagonal in ([1e200, 1e200, 1e-200, 1e-200], [1e-200, 1e-200, 1e200, 1e200]):
        assert float(linalg.det(paddle.to_tensor(np.diag(diagonal)))) == pytest.approx(1.0, rel=1e-9)


# ---- gradients -------------------------------------------------------------------------------------------------------------------------

def slopes(function, arrays, weight, step=1e-6):
    found = []
    for k, a in enumerate(arrays):
        g = np.zeros(a.shape)
        for i in np.ndindex(a.shape):
            both = []
            for d in (step, -step):
                moved = [b.copy() for b in arrays]
                moved[k][i] += d
                both.append((function(*moved) * weight).sum())
            g[i] = (both[0] - both[1]) / (2 * step)
        found.append(g)
    return found


def vector_solve(a, b):
    return np.linalg.solve(a, b[..., None])[..., 0]


GRADIENTS = {
    "inv": (linalg.inv, np.linalg.inv, [(4, 4)]),
    "inv of 8": (linalg.inv, np.linalg.inv, [(8, 8)]),
    "inv of 9": (linalg.inv, np.linalg.inv, [(9, 9)]),
    "inv of a stack": (linalg.inv, np.linalg.inv, [(3, 3, 3)]),
    "solve of a vector": (linalg.solve, vector_solve, [(4, 4), (4,)]),
    "solve of a matrix": (linalg.solve, np.linalg.solve, [(4, 4), (4, 3)]),
    "solve from the right": (lambda a, b: linalg.solve(a, b, left=False), lambda a, b: np.linalg.solve(a.T, b.T).T, [(4, 4), (3, 4)]),
    "solve of stacked vectors": (linalg.solve, vector_solve, [(2, 3, 3), (2, 3)]),
    "solve of one vector by a stack": (linalg.solve, np.linalg.solve, [(2, 3, 3), (3,)]),
    "solve of a broadcast stack": (linalg.solve, np.linalg.solve, [(3, 3), (2, 3, 2)]),
    "det": (linalg.det, np.linalg.det, [(4, 4)]),
    "slogdet": (lambda a: linalg.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], [(4, 4)]),
    "product": (paddle.matmul, np.matmul, [(4, 4), (4, 4)]),
    "product of stacks": (paddle.matmul, np.matmul, [(2, 1, 3, 4), (5, 4, 2)]),
    "product of a matrix and a stack": (paddle.matmul, np.matmul, [(3, 4), (5, 4, 2)]),
    "product of a stack and a vector": (paddle.matmul, np.matmul, [(5, 3, 4), (4,)]),
    "product of a vector and a stack": (paddle.matmul, np.matmul, [(4,), (5, 4, 2)]),
    "product of two matrices turned": (lambda a, b: paddle.matmul(a, b, True, True), lambda a, b: np.matmul(a.T, b.T), [(4, 3), (2, 4)]),
    "product of two stacks turned": (lambda a, b: paddle.matmul(a, b, True, True),
                                     lambda a, b: np.matmul(a.swapaxes(-1, -2), b.swapaxes(-1, -2)), [(5, 4, 3), (1, 2, 4)]),
}


@pytest.mark.parametrize("wanted", ["all", "first", "last"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name, wanted):
    ours, numpy, shapes = GRADIENTS[name]
    arrays = [regular(s[-1], s[:-2]) if len(s) >= 2 and s[-1] == s[-2] else draw(s) for s in shapes]
    weight = draw(np.shape(numpy(*arrays)), seed=5)
    which = {"all": range(len(arrays)), "first": [0], "last": [len(arrays) - 1]}[wanted]
    tensors = [paddle.to_tensor(a, stop_gradient=k not in which) for k, a in enumerate(arrays)]
    ours(*tensors).backward(paddle.to_tensor(weight))
    for k, want in enumerate(slopes(numpy, arrays, weight)):
        if k in which:
            np.testing.assert_allclose(tensors[k].grad.numpy(), want, rtol=1e-6, atol=1e-7)
        else:
            assert tensors[k].grad is None
    # Recorded (create_graph), the same gradients come from differentiable operators.
    again = paddle.grad(ours(*tensors), [tensors[k] for k in which], paddle.to_tensor(weight), create_graph=True)
    for k, g in zip(which, again, strict=True):
        np.testing.assert_allclose(g.numpy(), tensors[k].grad.numpy(), rtol=1e-9, atol=1e-12)


def test_a_saved_inverse_that_was_written_refuses():
    x = paddle.to_tensor(regular(4), stop_gradient=False)
    y = linalg.inv(x)
    loss = (y * 1.0).sum()
    y[0] = 0.0
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


# ---- large stacks release the GIL ------------------------------------------------------------------------------------------------------

def test_another_thread_runs_beside_a_large_stack():
    x = paddle.to_tensor(regular(8, (20_000,)))
    began, ended, turns = threading.Event(), threading.Event(), 0

    def work():
        began.set()
        for _ in range(3):
            linalg.inv(x)
        ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)       # only a kernel that lets go of the GIL lets the other thread in
    try:
        thread = threading.Thread(target=work)
        thread.start()
        began.wait()
        while not ended.is_set():
            turns += 1
            time.sleep(0.0001)       # hands the GIL back
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert turns

"""Linear algebra and complex numbers: values against NumPy and SciPy, first and second gradients against central differences."""
import numpy as np
import pytest
import scipy.linalg
from scipy.spatial import distance

import python_api as paddle
from python_api import linalg

REAL, COMPLEX = "float64", "complex128"


def draw(shape, dtype=REAL, seed=0):
    rng = np.random.default_rng(seed + 100 * len(shape) + sum(shape))
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if dtype == COMPLEX else x


def h(a):
    return a.conj().swapaxes(-1, -2)


def hermitian(t):
    return (t + linalg.matrix_transpose(t.conj() if t.dtype.kind == "c" else t)) * 0.5


def positive(t):
    """A Hermitian positive definite matrix made of any."""
    n = t.shape[-1]
    return t.matmul(linalg.matrix_transpose(t.conj() if t.dtype.kind == "c" else t)) + paddle.to_tensor(np.eye(n, dtype=t.dtype))


def positive_np(a):
    return a @ h(a) + np.eye(a.shape[-1])


def real_sum(t, weight):
    """Re sum(conj(weight) t): a real loss that sees every part."""
    product = t * paddle.to_tensor(weight.conj())
    return (paddle.real(product) if product.dtype.kind == "c" else product).sum()


def loss_of(function, tensors, seed=7):
    results = function(*tensors)
    results = results if isinstance(results, (tuple, list)) else (results,)
    total = None
    for k, r in enumerate(results):
        if r.dtype.kind in "fc":
            part = real_sum(r, draw(tuple(r.shape), COMPLEX if r.dtype.kind == "c" else REAL, seed + k))
            total = part if total is None else total + part
    return total


def first(function, arrays):
    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    return [g.numpy() for g in paddle.grad(loss_of(function, tensors), tensors)]


def second_loss(function, tensors):
    gradients = paddle.grad(loss_of(function, tensors), tensors, create_graph=True)
    total = None
    for k, g in enumerate(gradients):
        if not g.stop_gradient:
            part = real_sum(g, draw(tuple(g.shape), COMPLEX if g.dtype.kind == "c" else REAL, 50 + k))
            total = part if total is None else total + part
    return total


def differences(value, arrays, step=1e-5):
    """Central differences of a real function of arrays; complex elements in both directions (S9.27)."""
    found = []
    for k, a in enumerate(arrays):
        g = np.zeros(a.shape, a.dtype)
        for i in np.ndindex(a.shape):
            for d in (1.0, 1j) if a.dtype.kind == "c" else (1.0,):
                moved = [b.copy() for b in arrays]
                moved[k][i] += step * d
                up = value(moved)
                moved[k][i] -= 2 * step * d
                g[i] += d * (up - value(moved)) / (2 * step)
        found.append(g)
    return found


def check_gradients(function, arrays, second=True, rtol=1e-5):
    def value(moved):
        with paddle.no_grad():
            return float(loss_of(function, [paddle.to_tensor(a) for a in moved]))

    for got, want in zip(first(function, arrays), differences(value, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6 * max(1.0, np.abs(want).max(initial=0)))
    if not second:
        return

    def slope(moved):
        total = second_loss(function, [paddle.to_tensor(a, stop_gradient=False) for a in moved])
        return 0.0 if total is None else float(total)

    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    total = second_loss(function, tensors)
    got = [None] * len(tensors) if total is None else paddle.grad(total, tensors, allow_unused=True)
    for g, want in zip(got, differences(slope, arrays), strict=True):
        np.testing.assert_allclose(np.zeros_like(want) if g is None else g.numpy(), want,
                                   rtol=10 * rtol, atol=2e-5 * max(1.0, np.abs(want).max(initial=0)))


def same(results, expected):
    results = results if isinstance(results, (tuple, list)) else (results,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    for got, want in zip(results, expected, strict=True):
        assert tuple(got.shape) == np.shape(want)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-10)


def np_stack(function, *arrays):
    """A SciPy function of matrices over a stack."""
    batch = arrays[0].shape[:-2]
    out = [function(*[a[i] for a in arrays]) for i in np.ndindex(batch)]
    return np.reshape(out, batch + np.shape(out[0])) if batch else out[0]


def getrf(a):
    return scipy.linalg.lapack.get_lapack_funcs("getrf", (a,))(a)[0]


def v1(a, p):
    return np.linalg.norm(a.reshape(-1), p)


# name -> (function of tensors, function of arrays or None, shapes)
CASES = {
    "inv": (linalg.inv, np.linalg.inv, [(3, 3)]),
    "inverse stack": (paddle.inverse, np.linalg.inv, [(2, 3, 3)]),
    "solve": (linalg.solve, np.linalg.solve, [(3, 3), (3, 2)]),
    "solve stack": (linalg.solve, np.linalg.solve, [(2, 3, 3), (2, 3, 2)]),
    "solve broadcast": (linalg.solve, np.linalg.solve, [(2, 1, 3, 3), (4, 3, 2)]),
    "solve vector": (linalg.solve, lambda a, b: np.linalg.solve(a, b), [(3, 3), (3,)]),
    "solve vectors": (linalg.solve, lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], [(2, 3, 3), (2, 3)]),
    "solve right": (lambda a, b: linalg.solve(a, b, left=False), lambda a, b: b @ np.linalg.inv(a), [(3, 3), (2, 3)]),
    "solve right broadcast": (lambda a, b: linalg.solve(a, b, left=False), lambda a, b: b @ np.linalg.inv(a), [(2, 3, 3), (2, 3)]),
    "det": (linalg.det, np.linalg.det, [(3, 3)]),
    "det stack": (linalg.det, np.linalg.det, [(2, 3, 3)]),
    "det 1": (linalg.det, np.linalg.det, [(1, 1)]),
    "slogdet": (linalg.slogdet, lambda a: np.stack([*np.linalg.slogdet(a)]), [(3, 3)]),
    "slogdet stack": (linalg.slogdet, lambda a: np.stack([*np.linalg.slogdet(a)]), [(2, 3, 3)]),
    "cholesky": (lambda a: linalg.cholesky(positive(a)), lambda a: np.linalg.cholesky(positive_np(a)), [(3, 3)]),
    "cholesky upper": (lambda a: linalg.cholesky(positive(a), upper=True), lambda a: h(np.linalg.cholesky(positive_np(a))), [(2, 3, 3)]),
    "cholesky_solve": (lambda b, a: linalg.cholesky_solve(b, linalg.cholesky(positive(a))), lambda b, a: np.linalg.solve(positive_np(a), b),
                       [(3, 2), (3, 3)]),
    "cholesky_solve upper": (lambda b, a: linalg.cholesky_solve(b, linalg.cholesky(positive(a), True), True),
                             lambda b, a: np.linalg.solve(positive_np(a), b), [(2, 3, 2), (2, 3, 3)]),
    "cholesky_inverse": (lambda a: linalg.cholesky_inverse(linalg.cholesky(positive(a))),
                         lambda a: np.linalg.inv(positive_np(a)), [(3, 3)]),
    "qr": (linalg.qr, lambda a: tuple(np.linalg.qr(a)), [(4, 3)]),
    "qr square stack": (linalg.qr, lambda a: tuple(np.linalg.qr(a)), [(2, 3, 3)]),
    "qr wide": (linalg.qr, lambda a: tuple(np.linalg.qr(a)), [(2, 2, 4)]),
    "qr r": (lambda a: linalg.qr(a, "r"), lambda a: np.linalg.qr(a, "r"), [(4, 2)]),
    "qr complete": (lambda a: linalg.qr(a, "complete")[1], lambda a: np.linalg.qr(a, "complete")[1], [(4, 2)]),
    "svdvals": (linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), [(4, 3)]),
    "svdvals stack": (linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), [(2, 2, 3)]),
    "svd full s": (lambda a: linalg.svd(a, full_matrices=True)[1], lambda a: np.linalg.svd(a, compute_uv=False), [(3, 2)]),
    "eigvalsh": (lambda a: linalg.eigvalsh(hermitian(a)), lambda a: np.linalg.eigvalsh((a + h(a)) / 2), [(3, 3)]),
    "eigvalsh upper": (lambda a: paddle.eigvalsh(hermitian(a), "U"), lambda a: np.linalg.eigvalsh((a + h(a)) / 2), [(2, 3, 3)]),
    "eigvals": (linalg.eigvals, np.linalg.eigvals, [(3, 3)]),
    "eigvals stack": (linalg.eigvals, lambda a: np.linalg.eigvals(a).astype(complex), [(2, 3, 3)]),
    "pinv": (linalg.pinv, np.linalg.pinv, [(4, 3)]),
    "pinv wide stack": (linalg.pinv, np.linalg.pinv, [(2, 2, 3)]),
    "pinv hermitian": (lambda a: linalg.pinv(hermitian(a), hermitian=True), lambda a: np.linalg.pinv((a + h(a)) / 2), [(3, 3)]),
    "lstsq": (lambda a, b: linalg.lstsq(a, b, driver="gelsd"),
              lambda a, b: (np.linalg.pinv(a) @ b, (np.abs(b - a @ np.linalg.pinv(a) @ b) ** 2).sum(-2), 2,
                            np.linalg.svd(a, compute_uv=False)),
              [(4, 2), (4, 3)]),
    "lstsq wide stack": (lambda a, b: linalg.lstsq(a, b)[0], lambda a, b: np.linalg.pinv(a) @ b, [(2, 2, 3), (2, 2, 2)]),
    "matrix_power": (lambda a: linalg.matrix_power(a, 5), lambda a: np.linalg.matrix_power(a, 5), [(2, 3, 3)]),
    "matrix_power -2": (lambda a: linalg.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2), [(3, 3)]),
    "matrix_power 0": (lambda a: linalg.matrix_power(a, 0), lambda a: np.linalg.matrix_power(a, 0), [(2, 3, 3)]),
    "matrix_exp": (linalg.matrix_exp, lambda a: np_stack(scipy.linalg.expm, a), [(3, 3)]),
    "matrix_exp stack": (lambda a: linalg.matrix_exp(a * paddle.to_tensor(np.array([0.1, 9.0]).reshape(2, 1, 1))),
                         lambda a: np_stack(scipy.linalg.expm, a * np.array([0.1, 9.0]).reshape(2, 1, 1)), [(2, 2, 2)]),
    "cond": (linalg.cond, np.linalg.cond, [(3, 3)]),
    "cond stack": (lambda a: [linalg.cond(a, p) for p in ("fro", "nuc", 1, -1, np.inf, -np.inf, 2, -2)],
                   lambda a: [np.linalg.cond(a, p) for p in ("fro", "nuc", 1, -1, np.inf, -np.inf, 2, -2)], [(2, 3, 3)]),
    "norm": (paddle.norm, lambda a: v1(a, 2), [(3, 2)]),
    "norm vector": (lambda a: [paddle.norm(a, p) for p in ("fro", 2, 1, np.inf, -np.inf, 3, 2.5, -1, 0.5)],
                    lambda a: [v1(a, p) for p in (2, 2, 1, np.inf, -np.inf, 3, 2.5, -1, 0.5)], [(2, 3, 2)]),
    "norm axis": (lambda a: [paddle.norm(a, p, axis=1, keepdim=True) for p in (2, 1, np.inf, 3)],
                  lambda a: [np.linalg.norm(a, p, 1, True) for p in (2, 1, np.inf, 3)], [(2, 3, 2)]),
    "norm matrix": (lambda a: [paddle.norm(a, p, axis=[0, 2], keepdim=True) for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
                    lambda a: [np.linalg.norm(a, p, (0, 2), True) for p in (2, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)], [(2, 3, 2)]),
    "norm 3 axes": (lambda a: paddle.norm(a, 3, [0, 1, 2]), lambda a: v1(a, 3), [(2, 3, 2)]),
    "vector_norm": (lambda a: linalg.vector_norm(a, 3, axis=[0, 1]), lambda a: (np.abs(a) ** 3).sum((0, 1)) ** (1 / 3), [(2, 3, 2)]),
    "matrix_norm": (linalg.matrix_norm, lambda a: np.linalg.norm(a, axis=(-2, -1)), [(2, 3, 2)]),
    "dist": (lambda a, b: [paddle.dist(a, b, p) for p in (1, 2, 3, np.inf)], lambda a, b: [v1(a - b, p) for p in (1, 2, 3, np.inf)],
             [(2, 3), (3,)]),
    "cross": (paddle.cross, lambda a, b: np.cross(a, b, axis=0), [(3, 3), (3, 3)]),
    "cross axis": (lambda a, b: linalg.cross(a, b, axis=-1), np.cross, [(2, 3), (2, 3)]),
    "dot": (paddle.dot, np.dot, [(3,), (3,)]),
    "dot stack": (paddle.dot, lambda a, b: (a * b).sum(-1), [(2, 3), (2, 3)]),
    "vecdot": (paddle.vecdot, lambda a, b: (a.conj() * b).sum(-1), [(2, 3), (2, 3)]),
    "mm": (paddle.mm, np.matmul, [(2, 3), (3, 2)]),
    "bmm": (paddle.bmm, np.matmul, [(2, 2, 3), (2, 3, 2)]),
    "mv": (paddle.mv, np.matmul, [(2, 3), (3,)]),
    "addmm": (lambda c, a, b: paddle.addmm(c, a, b, 0.5, 2.0), lambda c, a, b: 0.5 * c + 2 * a @ b, [(2, 2), (2, 3), (3, 2)]),
    "addmm broadcast": (lambda c, a, b: paddle.addmm(c, a, b, 0.5, 2.0), lambda c, a, b: 0.5 * c + 2 * a @ b, [(1, 2), (2, 3), (3, 2)]),
    "addmm_": (lambda c, a, b: (c * 1).addmm_(a, b, 0.5, 2.0), lambda c, a, b: 0.5 * c + 2 * a @ b, [(2, 2), (2, 3), (3, 2)]),
    "baddbmm": (lambda c, a, b: paddle.baddbmm(c, a, b, 0.5, 2.0), lambda c, a, b: 0.5 * c + 2 * a @ b, [(2, 1, 2), (2, 2, 3), (2, 3, 2)]),
    "baddbmm_": (lambda c, a, b: (c * 1).baddbmm_(a, b), lambda c, a, b: c + a @ b, [(2, 2, 2), (2, 2, 3), (2, 3, 2)]),
    "inner": (paddle.inner, np.inner, [(2, 3), (4, 3)]),
    "inner vectors": (paddle.inner, np.inner, [(3,), (3,)]),
    "outer": (paddle.outer, np.outer, [(2, 2), (3,)]),
    "kron": (paddle.kron, np.kron, [(2, 3), (3, 2)]),
    "kron ndim": (paddle.kron, np.kron, [(2,), (2, 1, 3)]),
    "trace": (paddle.trace, np.trace, [(3, 3)]),
    "trace stack": (lambda a: paddle.trace(a, 1, 1, 2), lambda a: np.trace(a, 1, 1, 2), [(2, 3, 4)]),
    "trace below": (lambda a: paddle.trace(a, -1, -1, 0), lambda a: np.trace(a, -1, -1, 0), [(4, 2, 3)]),
    "tensordot": (paddle.tensordot, np.tensordot, [(2, 3, 2), (3, 2, 4)]),
    "tensordot lists": (lambda a, b: paddle.tensordot(a, b, [[0, 2], [1]]), lambda a, b: np.tensordot(a, b, [[0, 2], [1, 2]]),
                        [(2, 3, 4), (3, 2, 4)]),
    "tensordot 0": (lambda a, b: paddle.tensordot(a, b, 0), lambda a, b: np.tensordot(a, b, 0), [(2,), (3,)]),
    "multi_dot": (lambda a, b, c: linalg.multi_dot([a, b, c]), lambda a, b, c: a @ b @ c, [(2, 3), (3, 4), (4, 2)]),
    "multi_dot vectors": (lambda a, b, c: linalg.multi_dot([a, b, c]), lambda a, b, c: a @ b @ c, [(3,), (3, 4), (4,)]),
    "lu": (lambda a: linalg.lu(a)[0], lambda a: np_stack(lambda m: scipy.linalg.lu_factor(m)[0], a), [(3, 3)]),
    "lu tall": (lambda a: linalg.lu(a)[0], lambda a: np_stack(getrf, a), [(4, 2)]),
    "lu wide": (lambda a: linalg.lu(a)[0], lambda a: np_stack(getrf, a),
                [(2, 2, 4)]),
    "lu_unpack": (lambda a: linalg.lu_unpack(*linalg.lu(a)), lambda a: scipy.linalg.lu(a), [(4, 3)]),
    "lu_solve": (lambda b, a: linalg.lu_solve(b, *linalg.lu(a)), lambda b, a: np.linalg.solve(a, b), [(2, 3, 2), (2, 3, 3)]),
    "lu_solve T": (lambda b, a: linalg.lu_solve(b, *linalg.lu(a), "T"), lambda b, a: np.linalg.solve(a.T, b), [(2, 3, 2), (3, 3)]),
    "lu_solve C": (lambda b, a: linalg.lu_solve(b, *linalg.lu(a), "C"), lambda b, a: np.linalg.solve(h(a), b), [(3, 2), (2, 3, 3)]),
    "cov": (linalg.cov, np.cov, [(2, 4)]),
    "cov columns": (lambda a: linalg.cov(a, False, False), lambda a: np.cov(a, rowvar=False, ddof=0), [(4, 2)]),
    "cov vector": (linalg.cov, np.cov, [(4,)]),
    "cdist": (paddle.cdist, None, [(2, 3), (4, 3)]),
    "vander": (lambda a: paddle.vander(a, 4), lambda a: np.vander(a, 4), [(3,)]),
    "vander increasing": (lambda a: paddle.vander(a, 3, True), lambda a: np.vander(a, 3, True), [(2,)]),
    "householder_product": (linalg.householder_product, None, [(4, 2), (2,)]),
    "householder stack": (linalg.householder_product, None, [(2, 3, 3), (2, 3)]),
    "ormqr": (linalg.ormqr, None, [(3, 2), (2,), (3, 2)]),
    "ormqr right": (lambda x, t, y: linalg.ormqr(x, t, y, left=False, transpose=True), None, [(3, 2), (2,), (2, 3)]),
    "matrix_transpose": (linalg.matrix_transpose, lambda a: a.swapaxes(-1, -2), [(2, 3, 2)]),
    "real": (paddle.real, np.real, [(2, 3)]),
    "imag": (paddle.imag, np.imag, [(2, 3)]),
    "angle": (paddle.angle, np.angle, [(2, 3)]),
    **{f"triangular_solve {u}{t}{d}": (
        lambda a, b, u=u, t=t, d=d: linalg.triangular_solve(a, b, u, t, d),
        lambda a, b, u=u, t=t, d=d: np_stack(
            lambda m, r: scipy.linalg.solve_triangular(m, r, trans=int(t), lower=not u, unit_diagonal=d), a, b),
        [(2, 3, 3), (2, 3, 2)]) for u in (True, False) for t in (True, False) for d in (True, False)},
    "triangular_solve broadcast": (linalg.triangular_solve, lambda a, b: np.linalg.solve(np.triu(a), b), [(3, 3), (2, 3, 2)]),
    **{f"einsum {e}": (lambda *a, e=e: paddle.einsum(e, *a), lambda *a, e=e: np.einsum(e, *a), s) for e, s in (
        ("ij,jk->ik", [(2, 3), (3, 2)]), ("ij,kj", [(2, 3), (2, 3)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("ij->ji", [(2, 3)]),
        ("ij->j", [(2, 3)]), ("i,j", [(2,), (3,)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]), ("b...,b...->...b", [(2, 3), (2, 3)]),
        ("ij,ij,ij->i", [(2, 3)] * 3), ("bi,bij,bj->b", [(2, 3), (2, 3, 2), (2, 2)]), ("ij,k->", [(2, 2), (3,)]),
        ("iij,jk->ik", [(2, 2, 3), (3, 2)]), (" i j , j -> i ", [(2, 3), (3,)]), ("ij,jk,kl,lm->im", [(2, 3), (3, 2), (2, 3), (3, 2)]),
        ("abc,cd->abd", [(2, 1, 3), (3, 2)]), ("a...,...->a...", [(2, 3), (3,)]))},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [REAL, COMPLEX])
def test_values_and_gradients(name, dtype):
    function, reference, shapes = CASES[name]
    arrays = [draw(s, dtype, 3 * k) for k, s in enumerate(shapes)]
    if reference is not None:
        same(function(*[paddle.to_tensor(a) for a in arrays]), reference(*arrays))
    check_gradients(function, arrays)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (4, 2), (2, 2, 4)])
@pytest.mark.parametrize("dtype", [REAL, COMPLEX])
def test_svd(shape, dtype):
    a = draw(shape, dtype)
    u, s, vh = linalg.svd(paddle.to_tensor(a))
    same(s, np.linalg.svd(a, compute_uv=False))
    np.testing.assert_allclose((u.numpy() * s.numpy()[..., None, :]) @ vh.numpy(), a, atol=1e-12)

    def invariant(x):
        """What does not depend on the phase of the vectors."""
        u, s, vh = linalg.svd(x)
        weight = paddle.to_tensor(np.arange(1.0, s.shape[-1] + 1))
        left = (u * weight).matmul(linalg.matrix_transpose(u.conj()))
        right = linalg.matrix_transpose(vh.conj()).matmul(vh * weight.unsqueeze(-1))
        return s, left, right, (u * (s * s).unsqueeze(-2)).matmul(vh)
    check_gradients(invariant, [a])
    if dtype == REAL:
        check_gradients(linalg.svd, [a])


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("dtype", [REAL, COMPLEX])
def test_eigh_and_eig(shape, dtype):
    a = draw(shape, dtype)
    sym = (a + h(a)) / 2
    w, v = linalg.eigh(paddle.to_tensor(sym))
    same(w, np.linalg.eigvalsh(sym))
    np.testing.assert_allclose((v.numpy() * w.numpy()[..., None, :]) @ h(v.numpy()), sym, atol=1e-12)
    w, v = linalg.eig(paddle.to_tensor(a))
    np.testing.assert_allclose(a @ v.numpy(), v.numpy() * w.numpy()[..., None, :], atol=1e-12)

    def projections(x):
        w, v = linalg.eigh(hermitian(x))
        return w, (v * paddle.to_tensor(np.array([1.0, 2.0, 4.0]))).matmul(linalg.matrix_transpose(v.conj()))

    def squares(x):
        w, v = linalg.eig(x)
        size = paddle.abs(v)
        return w, size * size, (v * paddle.exp(w).unsqueeze(-2)).matmul(linalg.inv(v))
    check_gradients(projections, [a])
    check_gradients(squares, [a], rtol=1e-4)
    if dtype == REAL:
        check_gradients(lambda x: linalg.eigh(hermitian(x), "U"), [a])


def test_gradients_of_hermitian_functions_are_hermitian():
    a = positive_np(draw((3, 3), COMPLEX))
    for function in (linalg.cholesky, linalg.eigvalsh, lambda x: linalg.pinv(x, hermitian=True)):
        g, = first(function, [a])
        np.testing.assert_allclose(g, h(g), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", [REAL, COMPLEX])
def test_det_is_a_polynomial_also_at_singular_matrices(rank, dtype):
    a = draw((4, rank), dtype) @ draw((rank, 4), dtype, 1)
    check_gradients(linalg.det, [a])
    check_gradients(linalg.det, [np.stack([a, draw((4, 4), dtype)])])


def test_det_third_derivative():
    x = paddle.to_tensor(draw((3, 3)), stop_gradient=False)
    g, = paddle.grad(linalg.det(x), [x], create_graph=True)
    g, = paddle.grad((g * g).sum(), [x], create_graph=True)
    assert np.isfinite(paddle.grad(g.sum(), [x])[0].numpy()).all()
    x = paddle.to_tensor(np.ones((3, 3)), stop_gradient=False)
    g, = paddle.grad(linalg.det(x), [x], create_graph=True)
    g, = paddle.grad((g * x).sum(), [x], create_graph=True)
    with pytest.raises(RuntimeError, match=r"\(Unavailable\) the third derivative of det"):
        paddle.grad(g.sum(), [x])


def test_pinv_and_lstsq_of_a_matrix_of_lower_rank():
    """Along matrices of the same rank, and lstsq like pinv times y."""
    def low(a, b):
        return a.matmul(b)
    check_gradients(lambda a, b: linalg.pinv(low(a, b), 1e-10), [draw((4, 2)), draw((2, 3))], rtol=1e-4)
    assert linalg.lstsq(paddle.ones([3, 2]), paddle.ones([3, 1]), driver="gelsd")[1].shape == [0]
    check_gradients(lambda a, b, y: linalg.lstsq(low(a, b), y, 1e-10)[0], [draw((4, 2)), draw((2, 3)), draw((4, 1))], rtol=1e-4)


def test_matrix_rank():
    a = np.diag([3.0, 1.0, 0.01, 0.0])
    t = paddle.to_tensor(np.stack([a, np.eye(4)]))
    assert linalg.matrix_rank(t).tolist() == [3, 4]
    assert linalg.matrix_rank(t).dtype == np.int64
    assert linalg.matrix_rank(t, tol=0.1).tolist() == [2, 4]
    assert linalg.matrix_rank(t, atol=0.1, rtol=0.5).tolist() == [1, 4]
    assert linalg.matrix_rank(t, tol=paddle.to_tensor(np.array([2.0, 2.0]))).tolist() == [1, 0]
    assert linalg.matrix_rank(t, hermitian=True).tolist() == [3, 4]


def test_lu_pivots_and_infos():
    a = draw((2, 4, 4))
    packed, pivots, infos = linalg.lu(paddle.to_tensor(a), get_infos=True)
    for k in range(2):
        want, rows = scipy.linalg.lu_factor(a[k])
        np.testing.assert_allclose(packed.numpy()[k], want, rtol=1e-12)
        assert pivots.numpy()[k].tolist() == (rows + 1).tolist()
        assert pivots.dtype == np.int32
    assert infos.tolist() == [0, 0]
    assert linalg.lu(paddle.zeros([2, 2]), get_infos=True)[2].item() == 1
    p, lower, upper = linalg.lu_unpack(packed, pivots)
    np.testing.assert_allclose((p.matmul(lower).matmul(upper)).numpy(), a, rtol=1e-12)


def test_cov_with_weights_and_corrcoef():
    a = draw((3, 6))
    f, w = np.array([1, 2, 1, 3, 1, 2]), np.abs(draw((6,)))
    t = paddle.to_tensor(a)
    same(linalg.cov(t, fweights=paddle.to_tensor(f)), np.cov(a, fweights=f))
    same(linalg.cov(t, aweights=paddle.to_tensor(w)), np.cov(a, aweights=w))
    same(linalg.cov(t, fweights=paddle.to_tensor(f), aweights=paddle.to_tensor(w), ddof=False), np.cov(a, fweights=f, aweights=w, ddof=0))
    same(linalg.corrcoef(t), np.corrcoef(a))
    check_gradients(lambda x, v: linalg.cov(x, fweights=paddle.to_tensor(f), aweights=paddle.abs(v)), [a, w])

    def below(x):
        c = linalg.corrcoef(x)
        return c[0, 1:], c[1, 2]
    check_gradients(below, [a])


@pytest.mark.parametrize("p", [0, 1, 2, 3, np.inf])
def test_distances(p):
    a, b = draw((3, 2)), draw((4, 2))
    names = {0: "hamming", 1: "cityblock", 2: "euclidean", 3: "minkowski", np.inf: "chebyshev"}
    factor = 2 if p == 0 else 1
    more = {"p": 3} if p == 3 else {}
    same(paddle.cdist(paddle.to_tensor(a), paddle.to_tensor(b), p), distance.cdist(a, b, names[p], **more) * factor)
    same(paddle.pdist(paddle.to_tensor(a), p), distance.pdist(a, names[p], **more) * factor)
    check_gradients(lambda x, y: paddle.cdist(x, y, p), [a, b])
    check_gradients(lambda x: paddle.pdist(x, p), [a])


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, np.inf])
def test_norm_has_gradient_zero_where_it_has_none(p):
    x = paddle.to_tensor(np.zeros(3), stop_gradient=False)
    g, = paddle.grad(paddle.norm(x, p), [x], create_graph=True)
    assert g.tolist() == [0.0, 0.0, 0.0]
    x = paddle.to_tensor(np.array([0.0, 2.0, 0.0]), stop_gradient=False)
    g, = paddle.grad(paddle.norm(x, p), [x], create_graph=True)
    assert g.tolist() == ([0.0, 0.0, 0.0] if p == 0 else [0.0, 1.0, 0.0])
    if not g.stop_gradient:
        again, = paddle.grad((g * g).sum(), [x], allow_unused=True)
        assert again is None or np.isfinite(again.numpy()).all()
    x = paddle.to_tensor(np.array([2.0, -2.0, 1.0]), stop_gradient=False)
    if p == np.inf:
        assert paddle.grad(paddle.norm(x, p), [x])[0].tolist() == [0.5, -0.5, 0.0]


def test_householder_product_is_that_of_lapack():
    a = draw((5, 3))
    (packed, tau), _ = scipy.linalg.qr(a, mode="raw")
    q = np.linalg.qr(a, "complete")[0]
    x, t = paddle.to_tensor(np.ascontiguousarray(packed)), paddle.to_tensor(tau)
    same(linalg.householder_product(x, t), q[:, :3])
    b, c = draw((5, 2)), draw((2, 5))
    same(linalg.ormqr(x, t, paddle.to_tensor(b)), q @ b)
    same(linalg.ormqr(x, t, paddle.to_tensor(b), transpose=True), q.T @ b)
    same(linalg.ormqr(x, t, paddle.to_tensor(c), left=False), c @ q)
    same(linalg.ormqr(x, t, paddle.to_tensor(c), left=False, transpose=True), c @ q.T)


def test_complex_numbers():
    a, b = draw((2, 3)), draw((3,))
    same(paddle.complex(paddle.to_tensor(a), paddle.to_tensor(b)), a + 1j * b)
    check_gradients(paddle.complex, [a, b])
    same(paddle.polar(paddle.to_tensor(a), paddle.to_tensor(b)), a * np.exp(1j * b))
    check_gradients(paddle.polar, [a, b])
    pairs = draw((3, 2))
    same(paddle.as_complex(paddle.to_tensor(pairs)), pairs[:, 0] + 1j * pairs[:, 1])
    check_gradients(paddle.as_complex, [pairs])
    z = draw((3,), COMPLEX)
    same(paddle.as_real(paddle.to_tensor(z)), np.stack([z.real, z.imag], -1))
    check_gradients(lambda x: paddle.as_real(x) * paddle.as_real(x * x), [z])
    same(paddle.angle(paddle.to_tensor(np.array([-1.0, 0.0, 2.0]))), np.array([np.pi, 0, 0]))
    t = paddle.to_tensor(np.zeros(2, complex), stop_gradient=False)
    assert paddle.grad(paddle.angle(t).sum(), [t])[0].tolist() == [0, 0]
    assert paddle.isreal(paddle.to_tensor(np.array([1 + 0j, 1j]))).tolist() == [True, False]
    kinds = {d: (t.is_complex(), t.is_floating_point(), t.is_integer()) for d in ("bool", "int32", "float32", "complex64")
             for t in [paddle.zeros([1], dtype=d)]}
    assert kinds == {"bool": (False, False, False), "int32": (False, False, True), "float32": (False, True, False),
                     "complex64": (True, False, False)}
    with pytest.raises(TypeError, match="is_complex"):
        paddle.is_complex(1)


ERRORS = {
    "inverse": (lambda: linalg.inv(paddle.zeros([2, 2])), ValueError, r"inverse\(\): the matrix is singular"),
    "inverse in a stack": (lambda: linalg.inv(paddle.zeros([2, 2, 2])), ValueError, r"inverse\(\): the matrix is singular"),
    "solve": (lambda: linalg.solve(paddle.zeros([2, 2]), paddle.ones([2, 1])), ValueError, r"solve\(\): the matrix is singular"),
    "triangular_solve": (lambda: linalg.triangular_solve(paddle.zeros([2, 2]), paddle.ones([2, 1])), ValueError,
                         r"triangular_solve\(\): the matrix is singular"),
    "cholesky": (lambda: linalg.cholesky(paddle.zeros([2, 2]) - 1.0), ValueError, r"cholesky\(\): the matrix is not positive definite"),
    "matrix_power": (lambda: linalg.matrix_power(paddle.zeros([2, 2]), -1), ValueError, "the matrix is singular"),
    "not square": (lambda: linalg.inv(paddle.ones([2, 3])), ValueError, r"inverse\(\): the matrices must be square"),
    "det": (lambda: linalg.det(paddle.ones([2, 3])), ValueError, r"det\(\): the matrices must be square"),
    "no matrix": (lambda: linalg.svd(paddle.ones([2])), ValueError, r"svd\(\): a matrix"),
    "integers": (lambda: linalg.det(paddle.ones([2, 2], dtype="int64")), TypeError, r"\(InvalidType\) det\(\)"),
    "nan": (lambda: linalg.svd(paddle.full([2, 2], np.nan)), ValueError, r"svd\(\): the tensor has elements that are infinite"),
    "qr mode": (lambda: linalg.qr(paddle.ones([2, 2]), "x"), ValueError, "unrecognized mode 'x'"),
    "UPLO": (lambda: linalg.eigh(paddle.ones([2, 2]), "X"), ValueError, "UPLO must be L or U"),
    "dot": (lambda: paddle.dot(paddle.ones([2]), paddle.ones([3])), ValueError, r"dot\(\)"),
    "bmm": (lambda: paddle.bmm(paddle.ones([2, 2]), paddle.ones([2, 2])), ValueError, r"bmm\(\)"),
    "cross": (lambda: paddle.cross(paddle.ones([2]), paddle.ones([2])), ValueError, r"cross\(\)"),
    "einsum size": (lambda: paddle.einsum("ij,jk", paddle.ones([2, 3]), paddle.ones([2, 3])), ValueError, r"einsum\(\): label 'j'"),
    "einsum count": (lambda: paddle.einsum("ij,jk", paddle.ones([2, 3])), ValueError, r"einsum\(\)"),
    "einsum result": (lambda: paddle.einsum("ij->k", paddle.ones([2, 3])), ValueError, r"einsum\(\)"),
    "as_complex": (lambda: paddle.as_complex(paddle.ones([3])), ValueError, r"as_complex\(\)"),
    "addmm_ shape": (lambda: paddle.ones([1, 2]).addmm_(paddle.ones([2, 2]), paddle.ones([2, 2])), ValueError, "shape"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


def gradient_error(function, array, text):
    x = paddle.to_tensor(array, stop_gradient=False)
    with pytest.raises(RuntimeError, match=rf"\(PreconditionNotMet\) the gradient of {text}"):
        paddle.grad(loss_of(function, [x]), [x])


def test_gradients_that_do_not_exist_say_so():
    one = np.eye(3)
    gradient_error(linalg.svd, one, r"svd\(\) does not exist: two singular values are equal")
    gradient_error(lambda x: linalg.svd(x, full_matrices=True), draw((4, 2)), r"svd\(\) does not exist: full_matrices")
    gradient_error(linalg.svd, np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), r"svd\(\) does not exist: a singular value is zero")
    gradient_error(linalg.svd, draw((3, 3), COMPLEX), r"svd\(\) does not exist: the result depends on the phase")
    gradient_error(linalg.eigh, one, r"eigh\(\) does not exist: two eigenvalues are equal")
    gradient_error(lambda x: linalg.eigh(hermitian(x)), draw((3, 3), COMPLEX), r"eigh\(\) does not exist: the result depends on the phase")
    gradient_error(linalg.eig, one, r"eig\(\) does not exist: two eigenvalues are equal")
    gradient_error(linalg.eigvals, np.array([[0.0, 1.0], [0.0, 0.0]]), r"eig\(\) does not exist")
    gradient_error(linalg.qr, np.outer([1.0, 2.0, 3.0], [1.0, 0.0]), r"qr\(\) does not exist")
    gradient_error(lambda x: linalg.qr(x, "complete"), draw((4, 2)), r"qr\(\) does not exist: mode 'complete'")
    gradient_error(linalg.slogdet, np.zeros((2, 2)), r"slogdet\(\) does not exist: a matrix is singular")
    gradient_error(lambda x: linalg.lu(x)[0], np.zeros((2, 2)), r"lu\(\) does not exist")


def test_values_alone_differentiate_where_vectors_do_not():
    x = np.eye(3)
    np.testing.assert_allclose(first(lambda t: linalg.svdvals(t).sum(), [x])[0], x * draw((), REAL, 7))
    np.testing.assert_allclose(first(lambda t: linalg.eigvalsh(t).sum(), [x])[0], x * draw((), REAL, 7))


def test_in_place():
    c = paddle.to_tensor(draw((2, 2)))
    same_tensor = c.addmm_(paddle.ones([2, 3], dtype=REAL), paddle.ones([3, 2], dtype=REAL), beta=2.0, alpha=0.5)
    assert same_tensor is c
    assert c.inplace_version == 1
    np.testing.assert_allclose(c.numpy(), 2 * draw((2, 2)) + 1.5)
    kept = c.numpy()
    with pytest.raises(ValueError, match=r"addmm\(\)"):
        c.addmm_(paddle.ones([2, 3], dtype=REAL), paddle.ones([2, 3], dtype=REAL))
    assert c.inplace_version == 1
    assert (c.numpy() == kept).all()
    c.addmm_(c, c)              # every operand is read before the result is written
    np.testing.assert_allclose(c.numpy(), kept + kept @ kept)


def test_methods_are_the_functions():
    """Those that PaddlePaddle's tensors have."""
    names = """bmm cdist cholesky_inverse cholesky_solve cond corrcoef cov cross dist dot eigh eigvals eigvalsh householder_product inner
               is_complex is_floating_point is_integer kron lstsq lu lu_solve lu_unpack matrix_norm matrix_power matrix_rank
               matrix_transpose mm multi_dot mv norm ormqr outer polar qr tensordot trace vecdot vector_norm"""
    for name in names.split():
        function = getattr(linalg, name)
        assert getattr(paddle.Tensor, name) in (function, getattr(function, "__wrapped__", None))      # bare, if it takes one tensor


@pytest.mark.parametrize("name", linalg.__all__)
def test_names(name):
    assert callable(getattr(linalg, name))
    assert getattr(linalg, name).__doc__


def test_empty_and_float32():
    assert linalg.inv(paddle.zeros([0, 3, 3])).shape == [0, 3, 3]
    assert linalg.det(paddle.zeros([0, 0])).item() == 1
    assert linalg.svdvals(paddle.zeros([2, 0])).shape == [0]
    assert linalg.matrix_exp(paddle.zeros([0, 0])).shape == [0, 0]
    x = paddle.to_tensor(draw((3, 3)).astype("float32"), stop_gradient=False)
    for f in (linalg.inv, linalg.det, linalg.slogdet, linalg.svdvals, linalg.matrix_exp, linalg.pinv, paddle.norm, paddle.trace, linalg.qr,
              lambda t: linalg.lu(t)[0], lambda t: linalg.cond(t, 1), lambda t: linalg.eigvalsh(t)):
        results = f(x)
        results = results if isinstance(results, tuple) else (results,)
        assert all(t.dtype == np.float32 for t in results)
        total = sum((t.astype(REAL).sum() for t in results[1:]), results[0].astype(REAL).sum())
        assert paddle.grad(total, [x])[0].dtype == np.float32


def test_what_is_no_tensor_is_refused_by_name():
    x = paddle.ones([2, 2])
    for call in (lambda: paddle.polar(x, paddle.Tensor), lambda: linalg.cond(1.0), lambda: x.dot(None), lambda: linalg.multi_dot([x, 1]),
                 lambda: paddle.einsum("ij->ji", None)):
        with pytest.raises(TypeError, match=r"\(InvalidType\) \w+\(\): argument .* must be Tensor"):
            call()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3)])
def test_lu_of_nothing_has_an_empty_gradient(shape):
    x = paddle.to_tensor(np.zeros(shape), stop_gradient=False)
    g, = paddle.grad(linalg.lu(x)[0], [x])
    assert tuple(g.shape) == shape


@pytest.mark.parametrize(("call", "error"), [
    (lambda: linalg.cond(paddle.zeros([0, 3])), ValueError), (lambda: linalg.cond(paddle.zeros([3])), ValueError),
    (lambda: linalg.cond(paddle.zeros([2, 0, 0]), "fro"), ValueError),
    (lambda: linalg.householder_product(paddle.ones([3, 2], "int64"), paddle.ones([2], "int64")), TypeError),
    (lambda: linalg.householder_product(paddle.ones([3]), paddle.ones([2])), ValueError),
    (lambda: linalg.ormqr(paddle.ones([3, 2], "int64"), paddle.ones([2], "int64"), paddle.ones([3, 2], "int64")), TypeError),
    (lambda: linalg.lu_unpack(paddle.zeros([2, 3]), paddle.to_tensor([1, 5])), ValueError),
    (lambda: linalg.lu_unpack(paddle.zeros([2, 3]), paddle.to_tensor([1, 0])), ValueError),
    (lambda: linalg.lu_unpack(paddle.zeros([3]), paddle.to_tensor([1])), ValueError),
    (lambda: linalg.lu_solve(paddle.zeros([2, 1]), paddle.ones([2, 2]), paddle.to_tensor([1, 7])), ValueError)])
def test_what_is_refused_says_so_in_its_own_words(call, error):
    with pytest.raises(error, match=r"^\(Invalid(Argument|Type)\) (cond|householder_product|ormqr|lu_unpack|lu_solve)\(\)"):
        call()

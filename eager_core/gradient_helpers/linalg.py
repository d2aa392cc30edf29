"""Gradient helpers of linear algebra. ``x^H`` is the conjugate transpose, ``g`` the gradient of the result (convention of S9.27).

References
----------
Giles, M. (2008): An extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation.
Golub, G. & Pereyra, V. (1973): The differentiation of pseudo-inverses and nonlinear least squares problems. SIAM J. Numer. Anal. 10.
Murray, I. (2016): Differentiation of the Cholesky decomposition. arXiv:1602.07527.
Townsend, J. (2016): Differentiating the singular value decomposition. Wan, Z. & Zhang, S. (2019), for the complex one: arXiv:1909.02659.
Walter, S. & Lehmann, L. (2010): Algorithmic differentiation of linear algebra functions with application in optimum experimental design.
Roberts, D. & Roberts, L. (2020): QR and LQ decomposition matrix backpropagation algorithms. arXiv:2009.10071.
Boeddeker, C. et al. (2017): On the computation of complex-valued gradients. arXiv:1701.00392.
Najfeld, I. & Havel, T. (1995): Derivatives of the matrix exponential. Adv. Appl. Math. 16.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_kernels import linalg as kernels
from . import OPS
from .core import Axes, _constant, _kept, to_complex, zeros_like
from .manipulation import sum_to

if TYPE_CHECKING:
    from eager_core import Tensor


# ---- words -----------------------------------------------------------------------------------------------------------------------------

def is_complex(t: Tensor) -> bool:
    return bool(t.dtype.kind == "c")


def transposed(t: Tensor) -> Tensor:
    n = len(t.shape)
    return t.transpose([*range(n - 2), n - 1, n - 2])


def adjoint(t: Tensor) -> Tensor:
    return transposed(_conj(t))


def _conj(t: Tensor) -> Tensor:
    return t.conj() if is_complex(t) else t


def _real(t: Tensor) -> Tensor:
    return OPS["real"](t) if is_complex(t) else t


def triangle(t: Tensor, upper: bool, k: int = 0, diagonal: float = 1.0) -> Tensor:
    """Keep the triangle on and above (below) the k-th diagonal, others zero; ``diagonal`` weighs the main one."""
    mask = np.triu(np.ones(t.shape[-2:]), k) if upper else np.tril(np.ones(t.shape[-2:]), k)
    if diagonal != 1.0:
        np.fill_diagonal(mask, diagonal)
    return t * _constant(mask.astype(np.finfo(t.dtype).dtype))


def diagonal_of(t: Tensor) -> Tensor:
    n = np.arange(min(t.shape[-2:]))
    return t[..., n, n]


def with_diagonal(t: Tensor) -> Tensor:
    """Diagonal matrices of the last axis."""
    return t.unsqueeze(-1) * _constant(np.eye(t.shape[-1], dtype=np.finfo(t.dtype).dtype))


def _needless(g: Tensor) -> bool:
    """Whether a result was not used: its gradient is a constant zero."""
    return bool(g.stop_gradient and not g.numpy().any())


def _fail(name: str, why: str) -> None:
    raise RuntimeError(f"(PreconditionNotMet) the gradient of {name}() does not exist: {why}")


def _tolerance(t: Tensor) -> float:
    return float(np.finfo(t.dtype).eps)


def _distinct(name: str, differences: Tensor, scale: Any, values: str) -> None:
    """Raise if values coincide to rounding; the diagonal of the differences is 1 by construction."""
    if (np.abs(differences.numpy()) <= 10 * _tolerance(differences) * scale).any():
        _fail(name, f"two {values} are equal, so their vectors are not determined")


def _inverse(t: Tensor, name: str) -> Tensor:
    try:
        return OPS["inverse"](t)
    except ValueError:
        _fail(name, "a matrix is singular")
        raise


def _solve_triangular(t: Tensor, b: Tensor, upper: bool, name: str, adjoint_of: bool = False) -> Tensor:
    """t^-1 b, or t^-H b."""
    try:
        return OPS["triangular_solve"](_conj(t) if adjoint_of else t, b, upper, adjoint_of)
    except ValueError:
        _fail(name, "a triangular factor is singular")
        raise


# ---- systems of equations --------------------------------------------------------------------------------------------------------------

def _is_vector(x_shape: list[int], y_shape: tuple[int, ...], left: bool) -> bool:
    return left and (len(y_shape) == 1 or list(y_shape) == x_shape[:-1])


def _solve_adjoint(grad: Tensor, x: Tensor, vector: bool, left: bool) -> Tensor:
    return OPS["solve"](adjoint(x), grad.unsqueeze(-1) if vector else grad, left)


def solve_grad_y(grad: Tensor, x: Tensor, y_shape: tuple[int, ...], left: bool) -> Tensor:
    vector = _is_vector(x.shape, y_shape, left)
    g = _solve_adjoint(grad, x, vector, left)
    return sum_to(g.squeeze(-1) if vector else g, y_shape)


def solve_grad_x(grad: Tensor, x: Tensor, y_shape: tuple[int, ...], out: Tensor, left: bool) -> Tensor:
    vector = _is_vector(x.shape, y_shape, left)
    g = _solve_adjoint(grad, x, vector, left)
    h = adjoint(out.unsqueeze(-1) if vector else out)
    return sum_to(-(g.matmul(h) if left else h.matmul(g)), tuple(x.shape))


def _triangular_adjoint(grad: Tensor, x: Tensor, upper: bool, transpose: bool, unit: bool) -> Tensor:
    return OPS["triangular_solve"](_conj(x), grad, upper, not transpose, unit)


def triangular_grad_y(grad: Tensor, x: Tensor, y_shape: tuple[int, ...], upper: bool, transpose: bool, unit: bool) -> Tensor:
    return sum_to(_triangular_adjoint(grad, x, upper, transpose, unit), y_shape)


def triangular_grad_x(grad: Tensor, x: Tensor, out: Tensor, upper: bool, transpose: bool, unit: bool) -> Tensor:
    g = -_triangular_adjoint(grad, x, upper, transpose, unit).matmul(adjoint(out))
    g = transposed(g) if transpose else g
    return sum_to(triangle(g, upper, int(unit) * (1 if upper else -1)), tuple(x.shape))


def cholesky_grad(grad: Tensor, out: Tensor, upper: bool) -> Tensor:
    factor, g = (adjoint(out), adjoint(grad)) if upper else (out, grad)
    phi = triangle(adjoint(factor).matmul(triangle(g, False)), False, 0, 0.5)
    half = _solve_triangular(factor, phi + adjoint(phi), False, "cholesky", True)
    return adjoint(_solve_triangular(factor, adjoint(half), False, "cholesky", True)) * 0.5


def pinv_grad(grad: Tensor, x: Tensor, p: Tensor, hermitian: bool) -> Tensor:
    h, gh = adjoint(p), adjoint(grad)
    left = gh.matmul(p)
    right = p.matmul(gh)
    g = (left - x.matmul(p.matmul(left))).matmul(h) + h.matmul(right - right.matmul(p).matmul(x)) - h.matmul(grad).matmul(h)
    return (g + adjoint(g)) * 0.5 if hermitian else g


def lstsq_grad_y(grad: Tensor, x: Tensor, y_shape: tuple[int, ...], rcond: float) -> Tensor:
    return adjoint(OPS["pinv"](x, rcond)).matmul(grad)


def lstsq_grad_x(grad: Tensor, x: Tensor, y: Tensor, out: Tensor, rcond: float) -> Tensor:
    """-z out^H + r (p z)^H + (p^H out) ((1 - p x) g)^H with p = pinv(x), z = p^H g, r = y - x out."""
    p = OPS["pinv"](x, rcond)
    h = adjoint(p)
    z = h.matmul(grad)
    return (y - x.matmul(out)).matmul(adjoint(p.matmul(z))) + h.matmul(out).matmul(adjoint(grad - p.matmul(x.matmul(grad)))) \
        - z.matmul(adjoint(out))


# ---- determinants ----------------------------------------------------------------------------------------------------------------------

def _spread(t: Tensor) -> Tensor:
    """One number per matrix, to be multiplied with the matrices."""
    return t.reshape([*t.shape, 1, 1])


def det_grad(grad: Tensor, x: Tensor) -> Tensor:
    return _spread(grad) * _conj(OPS["cofactor"](x))


def cofactor_grad(grad: Tensor, x: Tensor) -> Tensor:
    """With y = x^-H: conj(det) (y sum(g y) - y g^T y). A matrix that is nearly singular takes the kernel, which needs no inverse."""
    if not kernels.is_regular(x.numpy()):
        return OPS["cofactor_slope"](grad, _conj(x))
    y = adjoint(OPS["inverse"](x))
    inner = (grad * y).sum(axis=[-2, -1], keepdim=True)
    return _spread(_conj(OPS["det"](x))) * (y * inner - y.matmul(transposed(grad)).matmul(y))


def cofactor_slope_grad(grad: Tensor, x: Tensor) -> Tensor:
    return OPS["cofactor_slope"](grad, _conj(x))


def third_derivative_of_det(grad: Tensor) -> Tensor:
    raise RuntimeError("(Unavailable) the third derivative of det() is not available at a singular matrix")


def slogdet_grad(grad: Tensor, x: Tensor, out: Tensor) -> Tensor:
    """Use d log|det| = Re tr(x^-1 dx); complex: d sign = i sign Im tr(x^-1 dx)."""
    weight = _real(grad[1])
    if is_complex(x):
        weight = OPS["complex"](weight, OPS["imag"](grad[0] * out[0].conj()))
    return _spread(weight) * adjoint(_inverse(x, "slogdet"))


# ---- decompositions --------------------------------------------------------------------------------------------------------------------

def qr_grad(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    m, k, n = q.shape[-2], q.shape[-1], r.shape[-1]
    if k > n:
        # Complete: the columns of Q behind those of x are not determined, so nothing may depend on them.
        if gq.numpy()[..., n:].any():
            _fail("qr", "mode 'complete' has more columns in Q than the matrix, and the result depends on them")
        gq, q, gr, r = gq[..., :n], q[..., :n], gr[..., :n, :], r[..., :n, :]
    if m >= n:
        return _qr_grad_tall(gq, gr, q, r)
    # Wide: Q and the first columns of R come from the first columns of x; the others of R are Q^H x.
    rest, g_rest = r[..., m:], gr[..., m:]
    first = _qr_grad_tall(gq + q.matmul(rest).matmul(adjoint(g_rest)), gr[..., :m], q, r[..., :m])
    return OPS["concat"]([first, q.matmul(g_rest)], -1)


def _qr_grad_tall(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    m = triangle(triangle(gr, True).matmul(adjoint(r)) - adjoint(q).matmul(gq), True)
    both = triangle(m, True, 1) + adjoint(triangle(m, True, 1)) + with_diagonal(_real(diagonal_of(m)))
    return adjoint(_solve_triangular(r, adjoint(gq + q.matmul(both)), True, "qr"))


def _gauge(name: str, diagonal: np.ndarray[Any, Any], scale: float, eps: float) -> None:
    """Vectors are determined up to a factor of modulus 1; what depends on it has no gradient."""
    if diagonal.size and np.abs(diagonal).max() > eps ** 0.5 * max(scale, 1.0):
        _fail(name, "the result depends on the phase of the vectors, which is not determined")


def svd_grad(gu: Tensor, gs: Tensor, gvh: Tensor, u: Tensor, s: Tensor, vh: Tensor) -> Tensor:
    """U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + gS] V^H + (1 - U U^H) gU S^-1 V^H + U S^-1 gV^H (1 - V V^H), E = s_j^2 - s_i^2."""
    k = s.shape[-1]
    for extra in (gu.numpy()[..., k:], gvh.numpy()[..., k:, :]):
        if extra.any():
            _fail("svd", "full_matrices=True has vectors without a singular value, and the result depends on them")
    gu, u, gvh, vh = gu[..., :k], u[..., :k], gvh[..., :k, :], vh[..., :k, :]
    if _needless(gu) and _needless(gvh):
        return (u * gs.unsqueeze(-2)).matmul(vh)
    uh, v, gv = adjoint(u), adjoint(vh), adjoint(gvh)
    uhgu, vhgv = uh.matmul(gu), vh.matmul(gv)
    a, b = uhgu - adjoint(uhgu), vhgv - adjoint(vhgv)
    largest = s.numpy().max(axis=-1, initial=0.0)[..., None, None]
    s2 = s * s
    e = s2.unsqueeze(-2) - s2.unsqueeze(-1) + _constant(np.eye(k, dtype=s.dtype))
    gaps = s.unsqueeze(-2) - s.unsqueeze(-1) + _constant(np.eye(k, dtype=s.dtype) * 2 * np.maximum(largest, 1))
    _distinct("svd", gaps, largest, "singular values")
    middle = (a / e) * s.unsqueeze(-2) + s.unsqueeze(-1) * (b / e) + with_diagonal(gs)
    m, n = u.shape[-2], vh.shape[-1]
    complex_ = is_complex(u)
    if (m != n or complex_) and (s.numpy() <= 10 * _tolerance(s) * largest[..., 0]).any():
        _fail("svd", "a singular value is zero, so its vectors are not determined")
    if complex_:
        da, db = diagonal_of(a), diagonal_of(b)
        total = da + db
        _gauge("svd", total.numpy(), float(np.abs(uhgu.numpy()).max(initial=0.0)), _tolerance(s))
        off = 1.0 - np.eye(k)
        middle = (a * _constant(off.astype(s.dtype)) / e) * s.unsqueeze(-2) + s.unsqueeze(-1) * (b * _constant(off.astype(s.dtype)) / e) \
            + with_diagonal(to_complex(gs) + da / (s * 2.0))
    g = u.matmul(middle).matmul(vh)
    if m > k:
        scaled = gu / s.unsqueeze(-2)
        g = g + (scaled - u.matmul(uh.matmul(scaled))).matmul(vh)
    if n > k:
        scaled = gvh / s.unsqueeze(-1)
        g = g + u.matmul(scaled - scaled.matmul(v).matmul(vh))
    return g


def eigh_grad(gw: Tensor, gv: Tensor, w: Tensor, v: Tensor) -> Tensor:
    vh = adjoint(v)
    if _needless(gv):
        return (v * gw.unsqueeze(-2)).matmul(vh)
    n = w.shape[-1]
    scale = np.abs(w.numpy()).max(axis=-1, initial=0.0)[..., None, None]
    e = w.unsqueeze(-2) - w.unsqueeze(-1)
    _distinct("eigh", e + _constant(np.eye(n, dtype=w.dtype) * 2 * np.maximum(scale, 1)), scale, "eigenvalues")
    m = vh.matmul(gv)
    if is_complex(v):
        _gauge("eigh", diagonal_of(m).numpy().imag, float(np.abs(m.numpy()).max(initial=0.0)), _tolerance(w))
    off = _constant((1.0 - np.eye(n)).astype(w.dtype))
    middle = m * (off / (e + _constant(np.eye(n, dtype=w.dtype)))) + with_diagonal(gw)
    g = v.matmul(middle).matmul(vh)
    return (g + adjoint(g)) * 0.5


def eig_grad(gw: Tensor, gv: Tensor, w: Tensor, v: Tensor) -> Tensor:
    vh = adjoint(v)
    n = w.shape[-1]
    one = np.eye(n, dtype=np.finfo(w.dtype).dtype)
    middle = with_diagonal(gw)
    if not _needless(gv):
        scale = np.abs(w.numpy()).max(axis=-1, initial=0.0)[..., None, None]
        e = _conj(w.unsqueeze(-2) - w.unsqueeze(-1))
        _distinct("eig", e + _constant(one * 2 * np.maximum(scale, 1)), scale, "eigenvalues")
        m = vh.matmul(gv)
        d = diagonal_of(m)
        _gauge("eig", d.numpy().imag, float(np.abs(m.numpy()).max(initial=0.0)), _tolerance(w))
        middle = middle + (m - vh.matmul(v * _real(d).unsqueeze(-2))) * _constant(1 - one) / (e + _constant(one))
    if v.size and (np.linalg.cond(v.numpy()) > 0.1 / _tolerance(v)).any():
        _fail("eig", "the matrix has not enough eigenvectors")
    return OPS["solve"](vh, middle.matmul(vh))


def rows(t: Tensor, order: np.ndarray[Any, Any]) -> Tensor:
    """Rows of every matrix in another order: one for all, or each matrix its own."""
    if order.ndim == 1:
        return t[..., order, :]
    return t[(*[i[..., None] for i in np.indices(order.shape[:-1])], order)]


def lu_grad(grad: Tensor, out: Tensor, pivots: Tensor) -> Tensor:
    """Square part: L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H, rows back in x's order. Further rows are L2 = x2 U^-1, columns L^-1 x2."""
    if not out.size:
        return grad
    m, n = out.shape[-2:]
    k = min(m, n)
    square = out[..., :k, :k]
    one = _constant(np.eye(k, dtype=np.finfo(out.dtype).dtype))
    lower, upper = triangle(square, False, -1) + one, triangle(square, True)
    g_lower, g_upper = triangle(grad[..., :k, :k], False, -1), triangle(grad[..., :k, :k], True)
    g_rest = None
    if m > k:
        g_rest = adjoint(_solve_triangular(upper, adjoint(grad[..., k:, :]), True, "lu"))
        g_upper = g_upper - triangle(adjoint(out[..., k:, :]).matmul(g_rest), True)
    if n > k:
        g_rest = _solve_triangular(lower, grad[..., k:], False, "lu", True)
        g_lower = g_lower - triangle(g_rest.matmul(adjoint(out[..., k:])), False, -1)
    middle = triangle(adjoint(lower).matmul(g_lower), False, -1) + triangle(g_upper.matmul(adjoint(upper)), True)
    g = _solve_triangular(lower, middle, False, "lu", True)
    g = adjoint(_solve_triangular(upper, adjoint(g), True, "lu"))
    if g_rest is not None:
        g = OPS["concat"]([g, g_rest], -2 if m > k else -1)
    return rows(g, np.argsort(kernels.permutation(pivots.numpy(), m), axis=-1))


def matrix_exp_grad(grad: Tensor, x: Tensor) -> Tensor:
    n = x.shape[-1]
    h = adjoint(x)
    block = OPS["concat"]([OPS["concat"]([h, grad], -1), OPS["concat"]([zeros_like(h), h], -1)], -2)
    return OPS["matrix_exp"](block)[..., :n, n:]


# ---- norms and products ----------------------------------------------------------------------------------------------------------------

def p_norm_grad(grad: Tensor, x: Tensor, out: Tensor, p: float, axis: Axes, keepdim: bool) -> Tensor:
    ndim = len(x.shape)
    g, norm = _kept(grad, ndim, axis, keepdim), _kept(out, ndim, axis, keepdim)
    if p == 0:
        return zeros_like(x)
    if p == 1:
        return g * OPS["sign"](x)
    if math.isinf(p):
        hit = OPS["abs"](x).equal(norm).astype(g.dtype)
        axes = tuple(range(ndim)) if axis is None or axis == () else axis
        return g * hit / hit.sum(axis=axes, keepdim=True) * OPS["sign"](x)
    flat = norm.equal(0.0)
    safe = OPS["where"](flat, 1.0, norm)
    if p == 2:
        return x * OPS["where"](flat, zeros_like(norm), g / safe)
    at_zero = x.equal(0.0)
    size = OPS["where"](at_zero, 1.0, OPS["abs"](OPS["where"](at_zero, 1.0, x)))
    slope = OPS["where"](flat, zeros_like(norm), g) * OPS["pow"](size / safe, p - 1.0) * OPS["sign"](x)
    return OPS["where"](at_zero, zeros_like(slope), slope)


def renorm_grad(grad: Tensor, x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Of x f with f = max_norm / norm where the norm is above, else 1."""
    if not x.size:
        return grad
    shape = x.shape
    if len(shape) == 1:
        grad, x = grad.unsqueeze(1), x.unsqueeze(1)
    others = tuple(a for a in range(len(x.shape)) if a != axis % len(shape))
    norm = OPS["p_norm"](x, p, others, True)
    above = norm.greater_than(max_norm)
    safe = OPS["where"](above, norm, 1.0)
    share = OPS["real"](grad * _conj(x)).sum(axis=others, keepdim=True) * (-max_norm / (safe * safe))
    by_norm = p_norm_grad(OPS["where"](above, share, zeros_like(norm)), x, norm, p, others, True)
    return (grad * OPS["where"](above, max_norm / safe, 1.0) + by_norm).reshape(shape)


def addmm_grad_x(grad: Tensor, y: Tensor, alpha: float) -> Tensor:
    return (grad * alpha).matmul(_conj(y), False, True)


def addmm_grad_y(grad: Tensor, x: Tensor, alpha: float) -> Tensor:
    return _conj(x).matmul(grad * alpha, True, False)


# ---- complex numbers -------------------------------------------------------------------------------------------------------------------

def as_real(grad: Tensor) -> Tensor:
    return OPS["as_real"](grad)


def as_complex(grad: Tensor) -> Tensor:
    return OPS["as_complex"](grad)

"""Linear algebra over the last two axes, and parts of complex numbers. What does not fit raises, naming the operator."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _inexact(name: str, *arrays: Array) -> None:
    for a in arrays:
        if a.dtype.kind not in "fc":
            raise TypeError(f"(InvalidType) {name}(): the tensor must be floating point or complex, but has dtype {a.dtype}")


def _matrix(name: str, *arrays: Array) -> None:
    for a in arrays:
        if a.ndim < 2:
            raise ValueError(f"(InvalidArgument) {name}(): a matrix or a stack of matrices is needed, but the shape is {list(a.shape)}")
    _inexact(name, *arrays)


def _square(name: str, x: Array) -> None:
    _matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"(InvalidArgument) {name}(): the matrices must be square, but the shape is {list(x.shape)}")


def _finite(name: str, x: Array) -> None:
    if not np.isfinite(x).all():
        raise ValueError(f"(InvalidArgument) {name}(): the tensor has elements that are infinite or not a number")


def _h(x: Array) -> Array:
    turned: Array = x.conj().swapaxes(-1, -2)
    return turned


def singular(name: str) -> ValueError:
    return ValueError(f"(InvalidArgument) {name}(): the matrix is singular and has no inverse")


# ---- systems of equations --------------------------------------------------------------------------------------------------------------

def inverse(x: Array) -> Array:
    _square("inverse", x)
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise singular("inverse") from None


def _solve(name: str, x: Array, y: Array) -> Array:
    try:
        solution: Array = np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        raise singular(name) from None
    except ValueError:
        raise ValueError(f"(InvalidArgument) {name}(): shapes {list(x.shape)} and {list(y.shape)} do not fit") from None
    return solution


def solve(x: Array, y: Array, left: bool) -> Array:
    _square("solve", x)
    _inexact("solve", y)
    if left and (y.ndim == 1 or y.shape == x.shape[:-1]):
        return _solve("solve", x, y[..., None])[..., 0]
    _matrix("solve", y)
    if left:
        return _solve("solve", x, y)
    return _solve("solve", x.swapaxes(-1, -2), y.swapaxes(-1, -2)).swapaxes(-1, -2)


def triangular_solve(x: Array, y: Array, upper: bool, transpose: bool, unitriangular: bool) -> Array:
    _square("triangular_solve", x)
    _matrix("triangular_solve", y)
    t = np.triu(x) if upper else np.tril(x)
    diagonal = np.einsum("...ii->...i", t)
    if unitriangular:
        diagonal[...] = 1
    elif not diagonal.all():
        raise singular("triangular_solve")
    # NumPy has no triangular solver. Of an upper triangle the pivots are the diagonal, so LU costs time but no accuracy; a lower one is
    # turned by 180 degrees.
    t = t.swapaxes(-1, -2) if transpose else t
    if upper != transpose:
        return _solve("triangular_solve", t, y)
    return _solve("triangular_solve", t[..., ::-1, ::-1], y[..., ::-1, :])[..., ::-1, :]


def cholesky(x: Array, upper: bool) -> Array:
    _square("cholesky", x)
    try:
        return _h(np.linalg.cholesky(_h(x))) if upper else np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise ValueError("(InvalidArgument) cholesky(): the matrix is not positive definite") from None


def pinv(x: Array, rcond: float, hermitian: bool) -> Array:
    _matrix("pinv", x)
    if hermitian:
        _square("pinv", x)
    _finite("pinv", x)
    return np.linalg.pinv(x, rcond, hermitian=hermitian)


def lstsq_solution(x: Array, y: Array, rcond: float) -> tuple[Array, Array]:
    _matrix("lstsq", x, y)
    _finite("lstsq", x)
    if x.shape[:-1] != y.shape[:-1]:
        raise ValueError(f"(InvalidArgument) lstsq(): shapes {list(x.shape)} and {list(y.shape)} must be equal but for the last axis")
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    kept = s > rcond * s.max(axis=-1, initial=0.0, keepdims=True)
    return _h(vh) @ ((_h(u) @ y) * (kept / np.where(kept, s, 1.0))[..., None]), np.asarray(kept.sum(axis=-1), np.int32)


# ---- determinants ----------------------------------------------------------------------------------------------------------------------

def det(x: Array) -> Array:
    _square("det", x)
    return np.asarray(np.linalg.det(x))


def slogdet(x: Array) -> Array:
    _square("slogdet", x)
    sign, logarithm = np.linalg.slogdet(x)
    return np.stack([sign, logarithm.astype(x.dtype)])


def is_regular(x: Array) -> bool:
    """Whether every matrix can be inverted with half of the digits left."""
    try:
        inverses = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return False
    size = np.abs(x).sum(axis=-1).max(axis=-1, initial=0.0) * np.abs(inverses).sum(axis=-1).max(axis=-1, initial=0.0)
    return bool((size < np.finfo(x.dtype).eps ** -0.5).all())


def cofactor(x: Array) -> Any:
    """conj(U) S' conj(VH) det(U) det(VH): S' has the products of the other singular values."""
    if is_regular(x):
        return np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2)
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.delete(s, i, axis=-1).prod(axis=-1) for i in range(n)], axis=-1)
    return ((np.linalg.det(u) * np.linalg.det(vh))[..., None, None] * u.conj() * others[..., None, :]) @ vh.conj()


def cofactor_slope(v: Array, x: Array) -> Any:
    """Return the change of the cofactors along v. For a diagonal s: sum of P_ij v_jj on the diagonal, -P_ij v_ji elsewhere.

    P_ij is the product of all of s but those at i and j.
    """
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    m = _h(u) @ v @ _h(vh)
    before = np.concatenate([np.ones_like(s[..., :1]), s[..., :-1].cumprod(axis=-1)], axis=-1)
    after = np.concatenate([s[..., :0:-1].cumprod(axis=-1)[..., ::-1], np.ones_like(s[..., :1])], axis=-1)
    p = np.zeros(x.shape, s.dtype)
    for i in range(n):
        between = np.ones_like(s[..., 0])
        for j in range(i + 1, n):
            p[..., i, j] = p[..., j, i] = before[..., i] * between * after[..., j]
            between = between * s[..., j]
    slope = -p * m.swapaxes(-1, -2)
    np.einsum("...ii->...i", slope)[...] = (p @ np.einsum("...ii->...i", m)[..., None])[..., 0]
    return (np.linalg.det(u) * np.linalg.det(vh))[..., None, None] * (u.conj() @ slope @ vh.conj())


# ---- decompositions --------------------------------------------------------------------------------------------------------------------

def qr(x: Array, complete: bool) -> tuple[Array, Array]:
    _matrix("qr", x)
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    return q, r


def svd(x: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    _matrix("svd", x)
    _finite("svd", x)
    try:
        u, s, vh = np.linalg.svd(x, full_matrices)
    except np.linalg.LinAlgError:
        raise ValueError("(InvalidArgument) svd(): the computation did not converge") from None
    return u, s, vh


def eigh(x: Array, upper: bool) -> tuple[Array, Array]:
    _square("eigh", x)
    _finite("eigh", x)
    w, v = np.linalg.eigh(x, "U" if upper else "L")
    return w, v


def eig(x: Array) -> tuple[Array, Array]:
    _square("eig", x)
    _finite("eig", x)
    w, v = np.linalg.eig(x)
    dtype = np.result_type(x.dtype, np.complex64)
    return w.astype(dtype), v.astype(dtype)


def lu(x: Array) -> tuple[Array, Array, Array]:
    """Gaussian elimination with partial pivoting (LAPACK's getrf), all matrices of the stack in step."""
    _matrix("lu", x)
    *batch, m, n = x.shape
    a = x.reshape(math.prod(batch), m, n).copy()
    rows = np.arange(len(a))
    pivots = np.empty((len(a), min(m, n)), np.int32)
    infos = np.zeros(len(a), np.int32)
    for k in range(min(m, n)):
        column = a[:, k:, k]
        size = np.abs(column.real) + np.abs(column.imag) if a.dtype.kind == "c" else np.abs(column)
        chosen = k + size.argmax(axis=-1)
        pivots[:, k] = chosen + 1
        swapped = a[rows, chosen]
        a[rows, chosen] = a[:, k]
        a[:, k] = swapped
        pivot = a[:, k, k]
        zero = pivot == 0
        infos[zero & (infos == 0)] = k + 1
        a[:, k + 1:, k] /= np.where(zero, 1, pivot)[:, None]
        a[:, k + 1:, k + 1:] -= a[:, k + 1:, k, None] * a[:, k, None, k + 1:]
    return a.reshape(x.shape), pivots.reshape(*batch, min(m, n)), infos.reshape(batch)


def permutation(pivots: Array, m: int) -> Array:
    """Row numbers r with (L U)[i] = x[r[i]], of pivots counted from 1."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    order = np.tile(np.arange(m), (len(flat), 1))
    rows = np.arange(len(flat))
    for k in range(flat.shape[1]):
        chosen = flat[:, k] - 1
        swapped = order[rows, chosen]
        order[rows, chosen] = order[:, k]
        order[:, k] = swapped
    return order.reshape(*pivots.shape[:-1], m)


# Numerator of the Pade approximant [13/13] of exp, and the norm up to which it is exact to double precision (Higham 2005).
_PADE_13 = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000., 10559470521600., 670442572800.,
            33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.)
_THETA_13 = 5.371920351148152


def matrix_exp(x: Array) -> Array:
    """Scaling and squaring with the [13/13] Pade approximant (Higham 2005)."""
    _square("matrix_exp", x)
    _finite("matrix_exp", x)
    if not x.size:
        return x.copy()
    dtype = np.result_type(x.dtype, np.float64)
    norm = np.abs(x).sum(axis=-2).max(axis=-1)
    squarings = np.ceil(np.log2(np.maximum(norm / _THETA_13, 1.0))).astype(int)
    a = x.astype(dtype) / 2.0 ** squarings[..., None, None]
    one = np.eye(x.shape[-1], dtype=dtype)
    b = _PADE_13
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    u = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    v = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    e = np.linalg.solve(v - u, v + u)
    for k in range(int(squarings.max())):
        e = np.where((squarings > k)[..., None, None], e @ e, e)
    return e.astype(x.dtype)


# ---- norms and products ----------------------------------------------------------------------------------------------------------------

def p_norm(x: Array, p: float, axis: int | tuple[int, ...] | None, keepdim: bool) -> Array:
    _inexact("norm", x)
    axes: Any = axis if axis is None or isinstance(axis, int) else tuple(axis) or None
    size = np.abs(x)
    try:
        if math.isinf(p):
            return np.asarray(size.max(axis=axes, keepdims=keepdim) if p > 0 else size.min(axis=axes, keepdims=keepdim))
        if p == 0:
            return np.asarray((size != 0).sum(axis=axes, keepdims=keepdim), size.dtype)
        if p == 1:
            return np.asarray(size.sum(axis=axes, keepdims=keepdim))
        if p == 2:
            return np.asarray(np.sqrt((size * size).sum(axis=axes, keepdims=keepdim)))
        with np.errstate(divide="ignore"):
            return np.asarray((size ** p).sum(axis=axes, keepdims=keepdim) ** (1.0 / p))
    except np.exceptions.AxisError as error:
        raise np.exceptions.AxisError(f"(OutOfRange) norm(): {error}") from None
    except ValueError as error:
        raise ValueError(f"(InvalidArgument) norm(): {error}") from None


def slices(x: Array, axis: int) -> tuple[Array, int, tuple[int, ...]]:
    """x with at least 2 axes, the axis counted from the front, and all others."""
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError(f"(OutOfRange) renorm(): axis {axis} is out of range for a tensor of {x.ndim} axes")
    axis %= x.ndim
    rows = x.reshape(-1, 1) if x.ndim == 1 else x
    return rows, axis, tuple(a for a in range(rows.ndim) if a != axis)


def renorm(x: Array, p: float, axis: int, max_norm: float) -> Array:
    _inexact("renorm", x)
    if not p > 0 or not max_norm >= 0:
        raise ValueError(f"(InvalidArgument) renorm(): p must be above 0 and max_norm not below, but got {p} and {max_norm}")
    rows, axis, others = slices(x, axis)
    if not x.size:
        return x.copy()
    norm = p_norm(rows, p, others, True)
    above = norm > max_norm
    factor = np.where(above, norm.dtype.type(max_norm) / np.where(above, norm, 1), 1).astype(norm.dtype)
    return np.asarray(rows * factor).reshape(x.shape)


def _add_product(name: str, ndim: int, input: Array, x: Array, y: Array, beta: float, alpha: float) -> Array:
    _inexact(name, input, x, y)
    if x.ndim != ndim or y.ndim != ndim or x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        raise ValueError(f"(InvalidArgument) {name}(): shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied: {ndim} axes each")
    product = x @ y
    if input.ndim > ndim or any(a not in (1, b) for a, b in zip(input.shape[::-1], product.shape[::-1], strict=False)):
        raise ValueError(f"(InvalidArgument) {name}(): input of shape {list(input.shape)} cannot be broadcast to {list(product.shape)}")
    dtype = np.result_type(input, product)
    return np.asarray(input * dtype.type(beta) + product * dtype.type(alpha), dtype)


def addmm(input: Array, x: Array, y: Array, beta: float, alpha: float) -> Array:
    return _add_product("addmm", 2, input, x, y, beta, alpha)


def baddbmm(input: Array, x: Array, y: Array, beta: float, alpha: float) -> Array:
    return _add_product("baddbmm", 3, input, x, y, beta, alpha)


# ---- complex numbers -------------------------------------------------------------------------------------------------------------------

def as_complex(x: Array) -> Array:
    if x.dtype.kind != "f":
        raise TypeError(f"(InvalidType) as_complex(): the tensor must be floating point, but has dtype {x.dtype}")
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError(f"(InvalidArgument) as_complex(): the last axis must have length 2, but the shape is {list(x.shape)}")
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0].copy()


def as_real(x: Array) -> Array:
    if x.dtype.kind != "c":
        raise TypeError(f"(InvalidType) as_real(): the tensor must be complex, but has dtype {x.dtype}")
    return np.stack([x.real, x.imag], axis=-1)

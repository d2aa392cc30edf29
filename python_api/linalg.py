"""``paddle.linalg``, and products and norms of ``paddle``: composites of differentiable operators, so that they differentiate like these.

What one kernel computes better (decompositions, ``solve``, ``det``, ...) is a row of the operator table and only collected here.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from eager_core import (
    Tensor,
    cholesky,
    complex,
    det,
    diagonal,
    eig,
    inverse,
    matmul,
    matrix_exp,
    pinv,
    real,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from eager_core.array_kernels import linalg as kernels
from eager_core.gradient_helpers import OPS
from eager_core.gradient_helpers.linalg import adjoint, diagonal_of, rows, transposed, triangle
from python_api.composite import array_of, composite, tensor
from python_api.framework import check_constant

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

P = ParamSpec("P")
R = TypeVar("R")
_constant = OPS["constant"]
inv = inverse


def _fail(name: str, message: str) -> ValueError:
    return ValueError(f"(InvalidArgument) {name}(): {message}")


def _store(result: Tensor, out: Tensor | None) -> Tensor:
    """Return the result, or ``out`` after it has been copied there."""
    return result if out is None else out.copy_(result)


def _conj(t: Tensor) -> Tensor:
    return t.conj() if is_complex(t) else t


def _inexact(name: str, *tensors: Tensor) -> None:
    for t in tensors:
        if t.dtype.kind not in "fc":
            raise TypeError(f"(InvalidType) {name}(): the tensor must be floating point or complex, but has dtype {t.dtype}")


def _axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(f"(OutOfRange) {name}(): axis {axis} is out of range for a tensor of {ndim} axes")
    return axis % ndim


# ---- decompositions and what follows from them -----------------------------------------------------------------------------------------

@composite
def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """Return Q and R with x = Q R: 'reduced', 'complete' (Q square), or 'r' (only R)."""
    if mode not in ("reduced", "complete", "r"):
        raise _fail("qr", f"QR received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    q, r = OPS["qr_factor"](x, mode == "complete")
    return r if mode == "r" else (q, r)


@composite
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """Return the singular values in descending order."""
    return svd(x)[1]


def _upper(name: str, UPLO: str) -> bool:
    if UPLO not in ("L", "U"):
        raise _fail(name, f"UPLO must be L or U. But received UPLO is: {UPLO}")
    return UPLO == "U"


@composite
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices of which one triangle is read; the gradient is Hermitian."""
    w, v = OPS["eigh_lower"](x, _upper("eigh", UPLO))
    return w, v


@composite
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """Return the eigenvalues of Hermitian matrices in ascending order."""
    return OPS["eigh_lower"](x, _upper("eigvalsh", UPLO))[0]


@composite
def eigvals(x: Tensor, name: str | None = None) -> Tensor:
    """Return the eigenvalues of square matrices, complex."""
    return eig(x)[0]


@composite
def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> tuple[Tensor, ...]:
    """Return L and U in one matrix, the pivots counted from 1, and with ``get_infos`` where a pivot was 0 (0: nowhere)."""
    if not pivot:
        raise _fail("lu", "pivot=False is not available")
    packed, pivots, infos = OPS["lu_factor"](x)
    return (packed, pivots, infos) if get_infos else (packed, pivots)


@composite
def lu_unpack(x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True,
              name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return P, L and U with P L U = the matrix whose ``lu`` is x and y; what is not asked for is empty."""
    if x.ndim < 2:
        raise _fail("lu_unpack", f"a matrix or a stack of matrices is needed, but the shape is {x.shape}")
    m, n = x.shape[-2:]
    k = min(m, n)
    nothing = _constant(np.empty(0, np.float32))
    p = lower = upper = nothing
    if unpack_pivots:
        order = _order("lu_unpack", y, m)
        p = _constant(np.eye(m, dtype=x.dtype)[order].swapaxes(-1, -2))
    if unpack_ludata:
        lower = triangle(x[..., :k], False, -1) + _constant(np.eye(m, k, dtype=np.finfo(x.dtype).dtype))
        upper = triangle(x[..., :k, :], True)
    return p, lower, upper


def _order(name: str, pivots: Tensor, m: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    values = pivots.numpy()
    if values.dtype.kind not in "iu" or values.ndim == 0 or (values.size and not 1 <= values.min() <= values.max() <= m):
        raise _fail(name, f"the pivots must be integers from 1 to {m}, the number of rows")
    return kernels.permutation(values, m)


@composite
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """Return the solution of x out = b, x^T out = b ('T') or x^H out = b ('C') from the ``lu`` of x."""
    order = _order("lu_solve", pivots, lu.shape[-1])
    if order.ndim > 1:
        batch = np.broadcast_shapes(order.shape[:-1], tuple(b.shape[:-2]))
        order = np.broadcast_to(order, (*batch, order.shape[-1]))
        b = b + _constant(np.zeros((*batch, 1, 1), b.dtype))
    if trans == "N":
        return triangular_solve(lu, triangular_solve(lu, rows(b, order), False, False, True))
    if trans not in ("T", "C"):
        raise _fail("lu_solve", f"trans must be 'N', 'T' or 'C', but is '{trans}'")
    packed = _conj(lu) if trans == "C" else lu
    half = triangular_solve(packed, b, True, True)
    return rows(triangular_solve(packed, half, False, True, True), np.argsort(order, axis=-1))


@composite
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Return the solution of A out = x from the Cholesky factor y of A."""
    if upper:
        return triangular_solve(y, triangular_solve(_conj(y), x, True, True))
    return triangular_solve(_conj(y), triangular_solve(y, x, False), False, True)


@composite
def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Return the inverse of the matrix whose Cholesky factor is x."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise _fail("cholesky_inverse", f"the matrix must be square, but the shape is {x.shape}")
    return cholesky_solve(_constant(np.eye(x.shape[-1], dtype=x.dtype)), x, upper)


@composite
def lstsq(x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None,
          name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the solution of least squares, squared residuals, rank and singular values.

    Residuals are there if there are more rows than columns, the rank is full and ``driver`` is not 'gelsy'; the rank unless it is
    'gels'; the singular values for 'gelsd' and 'gelss'. The solution comes from the singular values whatever the driver. All but the rank
    is differentiable.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise _fail("lstsq", f"Only support valid driver is 'gels', 'gelss', 'gelsd', 'gelsy' for CPU inputs. But got {driver}")
    _inexact("lstsq", x, y)
    if x.ndim < 2 or y.ndim < 2:
        raise _fail("lstsq", f"matrices are needed, but the shapes are {x.shape} and {y.shape}")
    m, n = x.shape[-2:]
    solution, rank = OPS["lstsq_solution"](x, y, float(np.finfo(x.dtype).eps * max(m, n) if rcond is None else rcond))
    nothing = _constant(np.empty(0, x.dtype))
    residuals, values = nothing, nothing
    if m > n and driver != "gelsy" and (rank.numpy() == n).all():
        difference = y - x.matmul(solution)
        squares = real(difference * difference.conj()) if is_complex(difference) else difference * difference
        residuals = squares.sum(axis=-2)
    if driver in ("gelsd", "gelss"):
        values = svdvals(x)
    return solution, residuals, _constant(np.empty(0, np.int64)) if driver == "gels" else rank, values


@composite
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Return the matrices to the power n; a negative one is that of the inverses."""
    _inexact("matrix_power", x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise _fail("matrix_power", f"the matrices must be square, but the shape is {x.shape}")
    if n < 0:
        return matrix_power(inv(x), -n)
    result = None
    while n:
        if n & 1:
            result = x if result is None else result.matmul(x)
        n >>= 1
        if n:
            x = x.matmul(x)
    if result is None:
        return x * 0.0 + _constant(np.eye(x.shape[-1], dtype=np.finfo(x.dtype).dtype))
    return result.clone() if result is x else result


@composite(constant=True)
def matrix_rank(x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: str | None = None) -> Tensor:
    """Return how many singular values (hermitian: absolute eigenvalues) exceed tol, or the larger of atol and rtol times the largest."""
    array = x.numpy()
    kernels._matrix("matrix_rank", array)
    if hermitian:
        kernels._square("matrix_rank", array)
        values = np.abs(np.linalg.eigvalsh(array))
    else:
        values = np.linalg.svd(array, compute_uv=False)

    if tol is not None:
        bound = array_of(tol, "tol", "matrix_rank")
    else:
        default = np.finfo(array.dtype).eps * max(array.shape[-2:]) if rtol is None and atol is None else 0.0
        relative = array_of(default if rtol is None else rtol, "rtol", "matrix_rank") * values.max(axis=-1, initial=0.0)
        bound = np.maximum(array_of(0.0 if atol is None else atol, "atol", "matrix_rank"), relative)
    return _constant(np.asarray((values > bound[..., None]).sum(axis=-1), np.int64))


@composite
def cond(x: Tensor, p: float | str | None = None, name: str | None = None) -> Tensor:
    """Return the condition number, norm(x, p) norm(x^-1, p); for p None, 2 and -2 the quotient of extreme singular values."""
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise _fail("cond", f"matrices with elements are needed, but the shape is {x.shape}")
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return matrix_norm(x, p) * matrix_norm(inv(x), p)


@composite
def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """Return the first columns of (1 - tau_1 v_1 v_1^H) (1 - tau_2 v_2 v_2^H) ...; v_k lies below the diagonal of x, with a 1 on it."""
    _inexact("householder_product", x, tau)
    m, n = x.shape[-2:] if x.ndim > 1 and tau.ndim else (0, 1)
    if m < n or tau.shape[-1] > n:
        raise _fail("householder_product", f"shapes {x.shape} and {tau.shape} do not fit: rows >= columns >= len(tau)")
    return _reflect(x, tau, _constant(np.eye(m, n, dtype=x.dtype)), False)


def _reflect(x: Tensor, tau: Tensor, y: Tensor, transpose: bool) -> Tensor:
    """Q y or Q^H y for the Q of the reflectors."""
    m = x.shape[-2]
    k = tau.shape[-1]
    v = triangle(x[..., :k], False, -1) + _constant(np.eye(m, k, dtype=np.finfo(x.dtype).dtype))
    for i in range(k) if transpose else reversed(range(k)):
        column, weight = v[..., i:i + 1], tau[..., i:i + 1].unsqueeze(-1)
        y = y - (_conj(weight) if transpose else weight) * column.matmul(adjoint(column).matmul(y))
    return y


@composite
def ormqr(x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None) -> Tensor:
    """Return Q y, Q^H y, or with left=False y Q, y Q^H, where Q is the full product of the reflectors of x and tau."""
    _inexact("ormqr", x, tau, y)
    if x.ndim < 2 or y.ndim < 2 or tau.ndim < 1 or x.shape[-2] != y.shape[-2 if left else -1]:
        raise _fail("ormqr", f"shapes {x.shape} and {y.shape} do not fit")
    if left:
        return _reflect(x, tau, y, transpose)
    return adjoint(_reflect(x, tau, adjoint(y), not transpose))


# ---- norms and distances ---------------------------------------------------------------------------------------------------------------

@composite
def vector_norm(x: Tensor, p: float = 2.0, axis: Any = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None,
                out: Tensor | None = None) -> Tensor:
    """Return (sum |x|^p)^(1/p) over axes; infinite p: the extreme |x|, 0: how many elements are not 0."""
    check_constant(p, "p", "vector_norm")
    x = x if dtype is None else x.astype(dtype)
    axis = axis if axis is None or isinstance(axis, int) else list(axis)
    return _store(OPS["p_norm"](x, float(p), axis, keepdim), out)


@composite
def matrix_norm(x: Tensor, p: float | str = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: str | None = None) -> Tensor:
    """Return a norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    'nuc' is the sum of the singular values, 2 the largest; 1 and inf are the largest sum of a column and of a row; negative: the smallest.
    """
    if x.ndim < 2:
        raise _fail("matrix_norm", f"a matrix is needed, but the shape is {x.shape}")
    row, column = (_axis("matrix_norm", a, x.ndim) for a in axis)
    if row == column:
        raise _fail("matrix_norm", f"the axes must differ, but are {list(axis)}")
    if p == "fro":
        return OPS["p_norm"](x, 2.0, [row, column], keepdim)
    if p not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise _fail("matrix_norm", f"just support p value 'fro','nuc',1,-1,inf,-inf,2,-2 if axis is 2D, found {p}")
    rest = [a for a in range(x.ndim) if a not in (row, column)]
    matrices = x if [*rest, row, column] == list(range(x.ndim)) else x.transpose([*rest, row, column])
    if p in ("nuc", 2, -2):
        s = svdvals(matrices)
        result = s.sum(axis=-1) if p == "nuc" else s.max(axis=-1) if p == 2 else s.min(axis=-1)
    else:
        sums = OPS["p_norm"](matrices, 1.0, -2 if abs(p) == 1 else -1)          # type: ignore[arg-type]
        result = sums.max(axis=-1) if p > 0 else sums.min(axis=-1)              # type: ignore[operator]
    return result.reshape([1 if a in (row, column) else n for a, n in enumerate(x.shape)]) if keepdim else result


@composite
def norm(x: Tensor, p: float | str | None = None, axis: Any = None, keepdim: bool = False, out: Tensor | None = None, dtype: Any = None,
         name: str | None = None) -> Tensor:
    """Return the norm of all elements (axis None), of vectors (one axis, or more than two), or of matrices (two axes)."""
    x = x if dtype is None else x.astype(dtype)
    axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if axes is None or len(axes) != 2:
        if p == "nuc":
            if axes is not None or x.ndim != 2:
                raise _fail("norm", "'nuc' needs a matrix: two axes")
            result = matrix_norm(x, "nuc", (0, 1), keepdim)
        elif isinstance(p, str) and p != "fro":
            raise _fail("norm", f"p must be a number, 'fro' or 'nuc', but is '{p}'")
        else:
            result = vector_norm(x, 2.0 if p is None or p == "fro" else p, axes, keepdim)      # type: ignore[arg-type]
    else:
        result = matrix_norm(x, 2 if p is None else p, axes, keepdim)
    return _store(result, out)


@composite
def dist(x: Tensor, y: Tensor, p: float = 2, name: str | None = None) -> Tensor:
    """Return the p-norm of x - y."""
    return vector_norm(x - y, p)


@composite
def cdist(x: Tensor, y: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
          name: str | None = None) -> Tensor:
    """Return the p-norms of the differences of every row of x and every row of y; they are computed as such in every mode."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise _fail("cdist", f"compute_mode must be one of {modes}, but is '{compute_mode}'")
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1] or p < 0:
        raise _fail("cdist", f"shapes {x.shape} and {y.shape} with p = {p} do not fit: rows of one length, p not negative")
    return vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


@composite(method=False)
def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """Return the p-norms of the differences of all pairs of rows."""
    if x.ndim != 2:
        raise _fail("pdist", f"the tensor must have 2 axes, but the shape is {x.shape}")
    i, j = np.triu_indices(x.shape[0], 1)
    return vector_norm(x[i] - x[j], p, -1)


# ---- products --------------------------------------------------------------------------------------------------------------------------

@composite
def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """Return a view with the last two axes swapped."""
    if x.ndim < 2:
        raise _fail("matrix_transpose", f"a matrix is needed, but the shape is {x.shape}")
    return transposed(x)


@composite
def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """Return the cross products along an axis of length 3, by default the first of that length."""
    if x.shape != y.shape:
        raise _fail("cross", f"the shapes {x.shape} and {y.shape} must be equal")
    if axis is None or axis == 9:
        if 3 not in x.shape:
            raise _fail("cross", f"there is no axis of length 3 in the shape {x.shape}")
        axis = x.shape.index(3)
    axis = _axis("cross", axis, x.ndim)
    if x.shape[axis] != 3:
        raise _fail("cross", f"axis {axis} of the shape {x.shape} must have length 3")

    def turned(t: Tensor, order: list[int]) -> Tensor:
        return t[(slice(None),) * axis + (np.array(order),)]

    return turned(x, [1, 2, 0]) * turned(y, [2, 0, 1]) - turned(x, [2, 0, 1]) * turned(y, [1, 2, 0])


@composite
def dot(x: Tensor, y: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the sum of products of two vectors, or of the rows of two matrices; nothing is conjugated."""
    if x.shape != y.shape or x.ndim not in (1, 2):
        raise _fail("dot", f"two vectors, or two matrices, of one shape are needed, but the shapes are {x.shape} and {y.shape}")
    return _store((x * y).sum(axis=-1), out)


@composite
def vecdot(x: Tensor, y: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Return the sum of conj(x) y along an axis."""
    return (_conj(x) * y).sum(axis=axis)


@composite
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """Return the matrix product, by the rules of ``matmul``."""
    return input.matmul(mat2)


@composite
def bmm(x: Tensor, y: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the products of two stacks of matrices, one by one."""
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise _fail("bmm", f"shapes [B, M, K] and [B, K, N] are needed, but are {x.shape} and {y.shape}")
    return _store(x.matmul(y), out)


@composite
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """Return the product of a matrix and a vector."""
    if x.ndim != 2 or vec.ndim != 1 or x.shape[1] != vec.shape[0]:
        raise _fail("mv", f"shapes [M, N] and [N] are needed, but are {x.shape} and {vec.shape}")
    return x.matmul(vec)


@composite
def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Return sums of products along the last axes of x and y; with a 0-d tensor the product."""
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if x.shape[-1] != y.shape[-1]:
        raise _fail("inner", f"the last axes of {x.shape} and {y.shape} must have the same length")
    return tensordot(x, y, [[-1], [-1]])


@composite
def outer(x: Tensor, y: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return all products of an element of x and one of y, both flattened."""
    return _store(x.reshape([-1, 1]) * y.reshape([1, -1]), out)


@composite(method=False)
def ger(x: Tensor, y: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the outer product: the same as outer."""
    return outer(x, y, out=out)


@composite
def kron(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Return the Kronecker product: blocks of y, scaled with the elements of x."""
    ndim = max(x.ndim, y.ndim)
    a, b = [1] * (ndim - x.ndim) + x.shape, [1] * (ndim - y.ndim) + y.shape
    apart = x.reshape([n for k in a for n in (k, 1)]) * y.reshape([n for k in b for n in (1, k)])
    return apart.reshape([m * n for m, n in zip(a, b, strict=True)])


@composite
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Return the sums of a diagonal."""
    if x.ndim < 2:
        raise _fail("trace", f"at least 2 axes are needed, but the shape is {x.shape}")
    a, b = _axis("trace", axis1, x.ndim), _axis("trace", axis2, x.ndim)
    if a == b:
        raise _fail("trace", f"axis1 and axis2 must differ, but are {axis1} and {axis2}")
    rest = [k for k in range(x.ndim) if k not in (a, b)]
    matrices = x.transpose([*rest, a, b])
    i = np.arange(max(0, min(x.shape[a] + min(offset, 0), x.shape[b] - max(offset, 0))))
    return matrices[..., i - min(offset, 0), i + max(offset, 0)].sum(axis=-1)


@composite
def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """Return sums of products over pairs of axes.

    axes: a number (the last of x with the first of y), a list (for both), or two lists, of which a shorter one goes on like the other.
    """
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise _fail("tensordot", f"axes = {axes} does not fit shapes {x.shape} and {y.shape}")
        ax, ay = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        axes = [a.tolist() if isinstance(a, Tensor) else a for a in axes]
        if all(isinstance(a, int) for a in axes):
            ax = ay = list(axes)
        else:
            ax = list(axes[0])
            ay = list(axes[1]) if len(axes) > 1 else list(ax)
        longer = max(ax, ay, key=len)
        ax, ay = [*ax, *longer[len(ax):]], [*ay, *longer[len(ay):]]
        ax = [_axis("tensordot", a, x.ndim) for a in ax]
        ay = [_axis("tensordot", a, y.ndim) for a in ay]
    if len(set(ax)) != len(ax) or len(set(ay)) != len(ay):
        raise _fail("tensordot", "an axis is named twice")
    for i, j in zip(ax, ay, strict=True):
        if x.shape[i] != y.shape[j] and 1 not in (x.shape[i], y.shape[j]):
            raise _fail("tensordot", f"axis {i} of {x.shape} and axis {j} of {y.shape} have different lengths")
        if x.shape[i] != y.shape[j]:            # length 1: broadcast by summing the other side first
            if x.shape[i] == 1:
                y = y.sum(axis=j, keepdim=True)
            else:
                x = x.sum(axis=i, keepdim=True)
    fx = [a for a in range(x.ndim) if a not in ax]
    fy = [a for a in range(y.ndim) if a not in ay]
    inner_size = math.prod(x.shape[a] for a in ax)
    left = x.transpose([*fx, *ax]).reshape([math.prod(x.shape[a] for a in fx), inner_size])
    right = y.transpose([*ay, *fy]).reshape([inner_size, math.prod(y.shape[a] for a in fy)])
    return left.matmul(right).reshape([*[x.shape[a] for a in fx], *[y.shape[a] for a in fy]])


@composite
def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Return the product of matrices in the order of least work; the first and the last may be vectors."""
    if not isinstance(x, list | tuple):
        raise TypeError(f"(InvalidType) multi_dot(): argument 'x' must be list of Tensors, but got {type(x).__name__}")
    tensors = [tensor(t, "x", "multi_dot") for t in x]
    if len(tensors) < 2:
        raise _fail("multi_dot", "at least two tensors are needed")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    for a, b in itertools.pairwise(tensors):
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise _fail("multi_dot", f"shapes {[t.shape for t in x]} do not fit")
    sizes = [tensors[0].shape[0], *[t.shape[1] for t in tensors]]
    n = len(tensors)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(n)}      # part of the chain -> work, where it is cut
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i, j] = min((best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = best[i, j][1]
        return product(i, k).matmul(product(k + 1, j))

    result = product(0, n - 1)
    result = result.squeeze(0) if row else result
    return result.squeeze(-1) if column else result


def _einsum_labels(equation: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """Labels per operand and of the result, with capital letters for the axes under an ellipsis."""
    text = equation.replace(" ", "")
    given, arrow, wanted = text.partition("->")
    parts = given.split(",")
    if len(parts) != len(operands):
        raise _fail("einsum", f"'{equation}' has {len(parts)} operands, but {len(operands)} were given")
    free = [c for c in LETTERS[::-1] if c not in text]
    hidden = [t.ndim - len(p.replace("...", "")) for p, t in zip(parts, operands, strict=True)]
    for part, count in zip(parts, hidden, strict=True):
        if not all(c in LETTERS for c in part.replace("...", "", 1)) or count < 0 or (count > 0 and "..." not in part):
            raise _fail("einsum", f"the labels '{part}' do not fit a tensor of {count + len(part.replace('...', ''))} axes")
    most = max((h for h, p in zip(hidden, parts, strict=True) if "..." in p), default=0)
    dots = "".join(free[:most])
    labels = [p.replace("...", dots[most - h:] if h else "") for p, h in zip(parts, hidden, strict=True)]
    if not arrow:
        visible = "".join(parts).replace(".", "")
        return labels, dots + "".join(sorted(c for c in set(visible) if visible.count(c) == 1))
    result = wanted.replace("...", dots)
    if len(set(result)) != len(result) or not set(result) <= set("".join(labels)):
        raise _fail("einsum", f"the result '{wanted}' has a label twice, or one that no operand has")
    return labels, result


@composite(method=False)
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Return sums of products by Einstein's convention: ``einsum('...ij,...jk->...ik', x, y)``.

    Operands are contracted from left to right.
    """
    tensors = [tensor(t, "operands", "einsum") for t in operands]
    labels, wanted = _einsum_labels(equation, tensors)
    sizes: dict[str, int] = {}
    for names, t in zip(labels, tensors, strict=True):
        for c, n in zip(names, t.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                if 1 not in (sizes[c], n):
                    raise _fail("einsum", f"label '{c}' stands for lengths {sizes[c]} and {n} in '{equation}'")
                sizes[c] = max(sizes[c], n)
    for k, names in enumerate(labels):
        labels[k], tensors[k] = _diagonals(names, tensors[k])
    names, result = labels[0], tensors[0]
    for k in range(1, len(tensors)):
        later = set(wanted).union(*labels[k + 1:])
        names, result = _contract(names, result, labels[k], tensors[k], later, sizes)
    summed = [k for k, c in enumerate(names) if c not in wanted]
    if summed:
        result = result.sum(axis=summed)
        names = "".join(c for c in names if c in wanted)
    return result.transpose([names.index(c) for c in wanted]) if names != wanted else result


def _diagonals(names: str, t: Tensor) -> tuple[str, Tensor]:
    """Take the diagonal where a label stands twice."""
    for c in dict.fromkeys(names):
        while names.count(c) > 1:
            a = names.index(c)
            b = names.index(c, a + 1)
            rest = [k for k in range(t.ndim) if k not in (a, b)]
            if t.shape[a] != t.shape[b]:
                raise _fail("einsum", f"label '{c}' stands for lengths {t.shape[a]} and {t.shape[b]} of one operand")
            t = diagonal_of(t.transpose([*rest, a, b]))
            names = "".join(names[k] for k in rest) + c
    return names, t


def _contract(xs: str, x: Tensor, ys: str, y: Tensor, later: set[str], sizes: dict[str, int]) -> tuple[str, Tensor]:
    """One matrix product: batch labels are in both and needed later, inner ones in both and not, the others are outer."""
    def reduced(names: str, t: Tensor, other: str) -> tuple[str, Tensor]:
        gone = [k for k, c in enumerate(names) if c not in other and c not in later]
        if gone:
            t = t.sum(axis=gone)
        return "".join(c for k, c in enumerate(names) if k not in gone), t

    xs, x = reduced(xs, x, ys)
    ys, y = reduced(ys, y, xs)
    batch = [c for c in xs if c in ys and c in later]
    inner_ = [c for c in xs if c in ys and c not in later]
    for c in inner_:                            # an inner axis of length 1 on one side only
        i, j = xs.index(c), ys.index(c)
        if x.shape[i] != y.shape[j]:
            x = x.sum(axis=i, keepdim=True) if y.shape[j] == 1 else x
            y = y.sum(axis=j, keepdim=True) if x.shape[i] == 1 else y
    left, right = [c for c in xs if c not in ys], [c for c in ys if c not in xs]

    def lengths(names: str, t: Tensor, chosen: list[str]) -> list[int]:
        return [t.shape[names.index(c)] for c in chosen]

    k = math.prod(lengths(xs, x, inner_))
    a = x.transpose([xs.index(c) for c in batch + left + inner_]).reshape([*lengths(xs, x, batch), math.prod(lengths(xs, x, left)), k])
    b = y.transpose([ys.index(c) for c in batch + inner_ + right]).reshape([*lengths(ys, y, batch), k, math.prod(lengths(ys, y, right))])
    shape = [sizes[c] if sizes[c] in (m, n) else max(m, n)
             for c, m, n in zip(batch, lengths(xs, x, batch), lengths(ys, y, batch), strict=True)]
    product = a.matmul(b).reshape([*shape, *lengths(xs, x, left), *lengths(ys, y, right)])
    return "".join(batch + left + right), product


# ---- statistics and patterns -----------------------------------------------------------------------------------------------------------

@composite
def cov(x: Tensor, rowvar: bool = True, ddof: bool = True, fweights: Tensor | None = None, aweights: Tensor | None = None,
        name: str | None = None) -> Tensor:
    """Return covariances of the rows (rowvar=False: columns), with frequency and importance weights."""
    _inexact("cov", x)
    if x.ndim not in (1, 2):
        raise _fail("cov", f"1 or 2 axes are needed, but the shape is {x.shape}")
    rows_ = x.reshape([1, -1]) if x.ndim == 1 else x if rowvar else x.T
    n = rows_.shape[1]
    for what, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.shape != [n]:
            raise _fail("cov", f"{what} must have shape [{n}], but has {w.shape}")
        if (w.numpy() < 0).any():
            raise _fail("cov", f"{what} must not be negative")
    if fweights is not None and fweights.dtype.kind not in "iu" and (fweights.numpy() != np.round(fweights.numpy())).any():
        raise _fail("cov", "fweights must be integers")
    f = None if fweights is None else fweights.astype(x.dtype)
    w = f if aweights is None else aweights.astype(x.dtype) if f is None else f * aweights.astype(x.dtype)
    normal: Any
    if w is None:
        weighted = centred = rows_ - rows_.mean(axis=1, keepdim=True)
        normal = float(n - ddof)
    else:
        total = w.sum()
        centred = rows_ - (rows_ * w).sum(axis=1, keepdim=True) / total
        weighted = centred * w
        normal = total - ((w * aweights.astype(x.dtype)).sum() / total if aweights is not None else 1.0) * float(ddof)
    if float(normal) <= 0:
        raise _fail("cov", "there are not more observations than degrees of freedom")
    result: Tensor = weighted.matmul(adjoint(centred)) / normal
    return result.reshape([]) if rows_.shape[0] == 1 else result


@composite
def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """Return the correlation coefficients of the rows (rowvar=False: columns), between -1 and 1."""
    c = cov(x, rowvar)
    if not c.shape:
        return c / c
    d = diagonal_of(c)
    d = (real(d) if is_complex(d) else d).sqrt()
    c = c / d.unsqueeze(-1) / d.unsqueeze(0)
    return c if is_complex(c) else c.clip(-1.0, 1.0)


# ---- complex numbers -------------------------------------------------------------------------------------------------------------------

@composite
def polar(abs: Tensor, angle: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers of given absolute value and argument."""
    return _store(complex(abs * angle.cos(), abs * angle.sin()), out)


@composite(constant=True)
def is_complex(x: Tensor) -> bool:
    """Return whether the dtype is complex."""
    return bool(x.dtype.kind == "c")


@composite(constant=True)
def is_floating_point(x: Tensor) -> bool:
    """Return whether the dtype is a real floating point one."""
    return bool(x.dtype.kind == "f")


@composite(constant=True)
def is_integer(x: Tensor) -> bool:
    """Return whether the dtype is an integer one; bool is not."""
    return bool(x.dtype.kind in "iu")


__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv", "lstsq", "lu", "lu_solve", "lu_unpack", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "ormqr", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "triangular_solve",
    "vecdot", "vector_norm",
]

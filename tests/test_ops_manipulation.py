"""Splitting, joining, reordering, padding; picking and writing by index."""
import numpy as np
import pytest
from op_checks import check, refused

import eager_core
import python_api as paddle
import python_api.nn.functional as F

RNG = np.random.default_rng(4)


def spread(*shape):
    return RNG.permutation(np.linspace(-2.0, 2.3, int(np.prod(shape)))).reshape(shape)


X = spread(2, 3, 4)
M = spread(3, 4)
SQUARE = spread(4, 4)
V = spread(5)
MASK = M > 0.2
INDEX = np.array([[0, 2, 1, 0], [0, 0, 1, 2]])
ZEROS = np.array([[0.0, 2.0, 0.0, 1.5], [1.0, 0.5, 2.0, 0.0], [3.0, -1.0, 0.0, 2.0]])


def written(x, index, value, how="assign"):
    x = x.copy()
    if how == "assign":
        x[index] = value
    else:
        getattr(np, how).at(x, index, value)
    return x


def diagonal_set(x, value, offset=0):
    x = x.copy()
    rows = np.arange(len(value))
    x[rows + max(-offset, 0), rows + max(offset, 0)] = value
    return x


def along(x, index, values, axis, how, include_self=True):
    grid = list(np.indices(index.shape))
    grid[axis] = index
    grid = tuple(grid)
    x = x.copy()
    values = np.broadcast_to(values, index.shape)
    if how == "assign":
        x[grid] = values
        return x
    if not include_self:
        x[grid] = {"add": 0, "mean": 0, "mul": 1, "amin": np.inf, "amax": -np.inf}[how]
    ufunc = {"add": np.add, "mean": np.add, "mul": np.multiply, "amin": np.minimum, "amax": np.maximum}[how]
    ufunc.at(x, grid, values)
    if how == "mean":
        count = np.full(x.shape, int(include_self))
        np.add.at(count, grid, 1)
        x = x / np.maximum(count, 1)
    return x


def embedded(x, offset, dim1, dim2):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n))
    k = np.arange(x.shape[-1])
    out[..., k + max(-offset, 0), k + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


CASES = {
    "split": (lambda x: paddle.split(x, 2, 2), lambda x: np.split(x, 2, 2), X),
    "split into sections": (lambda x: x.split([1, -1, 2], -1), lambda x: np.split(x, [1, 2], -1), X),
    "chunk": (lambda x: paddle.chunk(x, 2, 1), lambda x: np.split(x, [2], 1), X),
    "tensor_split": (lambda x: paddle.tensor_split(x, 3), lambda x: np.array_split(x, 3), V),
    "tensor_split at places": (lambda x: x.tensor_split([1, 3], 1), lambda x: np.split(x, [1, 3], 1), X),
    "hsplit": (lambda x: x.hsplit(3), lambda x: np.hsplit(x, 3), X),
    "vsplit": (lambda x: x.vsplit(2), lambda x: np.vsplit(x, 2), X),
    "dsplit": (lambda x: x.dsplit([1, 3]), lambda x: np.dsplit(x, [1, 3]), X),
    "unbind": (lambda x: x.unbind(1), lambda x: [x[:, k] for k in range(3)], X),
    "unstack": (lambda x: paddle.unstack(x, -1), lambda x: [x[..., k] for k in range(4)], X),
    **{f"atleast_{n}d of {a.ndim}": (lambda x, n=n: getattr(paddle, f"atleast_{n}d")(x), lambda x, n=n: getattr(np, f"atleast_{n}d")(x), a)
       for n in (1, 2, 3) for a in (np.array(2.0), V, M, X)},
    **{f"{n} of {a.ndim}": (lambda x, y, n=n: getattr(paddle, n)([x, y]), lambda x, y, n=n: getattr(np, n)([x, y]), a, a[::-1] * 2)
       for n in ("hstack", "vstack", "dstack", "column_stack") for a in (V, M)},
    "row_stack": (lambda x, y: paddle.row_stack([x, y]), lambda x, y: np.vstack([x, y]), V, V * 2),
    "concatenate": (lambda x, y: paddle.concatenate([x, y], 1), lambda x, y: np.concatenate([x, y], 1), M, SQUARE[:3]),
    "take_along_dim": (lambda x, k: paddle.take_along_dim(x, k, 0), lambda x, k: np.take_along_axis(x, k, 0), M, INDEX),
    "take_along_dim of all": (lambda x, k: x.take_along_dim(k), lambda x, k: np.take_along_axis(x.ravel(), k.ravel(), 0), M, INDEX),
    "mT": (lambda x: x.mT, lambda x: x.swapaxes(-1, -2), X),
    "block_diag": (lambda x, y: paddle.block_diag([x, y]), lambda x, y: np.block([[x, np.zeros((3, 5))], [np.zeros((1, 4)), y[None]]]), M,
                   V),
    "moveaxis": (lambda x: x.moveaxis([0, 1], [-1, 0]), lambda x: np.moveaxis(x, [0, 1], [-1, 0]), X),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda x: x.swapaxes(0, -1), X),
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), X),
    "view": (lambda x: x.view([4, -1]), lambda x: x.reshape(4, -1), X),
    "view_as": (lambda x, y: x.view_as(y), lambda x, y: x.reshape(2, 6), M, spread(2, 6)),
    "unflatten": (lambda x: x.unflatten(2, [2, -1]), lambda x: x.reshape(2, 3, 2, 2), X),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), lambda x: x.diagonal(1, 1, 2), X),
    "diagonal below": (lambda x: paddle.diagonal(x, -1, 2, 0), lambda x: x.diagonal(-1, 2, 0), X),
    "diagonal outside": (lambda x: x.diagonal(9), lambda x: x.diagonal(9), X),
    "diagonal of a view": (lambda x: x[:, ::-1].diagonal(1), lambda x: x[:, ::-1].diagonal(1), SQUARE),
    "expand": (lambda x: x.expand([2, -1, 4]), lambda x: np.broadcast_to(x, (2, 3, 4)).copy(), spread(3, 1)),
    "broadcast_to": (lambda x: paddle.broadcast_to(x, [2, 5]), lambda x: np.broadcast_to(x, (2, 5)).copy(), V),
    "expand_as": (lambda x, y: x.expand_as(y), lambda x, y: np.broadcast_to(x, (2, 3, 4)) + 0 * y, spread(3, 1), X),
    "broadcast_tensors": (lambda x, y: paddle.broadcast_tensors([x, y]), lambda x, y: [a.copy() for a in np.broadcast_arrays(x, y)],
                          spread(3, 1), X),
    "tile": (lambda x: x.tile([2, 1, 3]), lambda x: np.tile(x, (2, 1, 3)), M),
    "tile fewer axes": (lambda x: paddle.tile(x, [2]), lambda x: np.tile(x, 2), M),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), lambda x: np.repeat(x, 2, 1), X),
    "repeat_interleave, each": (lambda x, n: paddle.repeat_interleave(x, n, 0), lambda x, n: np.repeat(x, n, 0), M, np.array([1, 0, 3])),
    "repeat_interleave of all": (lambda x: x.repeat_interleave(3), lambda x: np.repeat(x, 3), M),
    "meshgrid": (lambda x, y: paddle.meshgrid(x, y), lambda x, y: [a.copy() for a in np.meshgrid(x, y, indexing="ij")], V, spread(3)),
    "cartesian_prod": (lambda x, y: paddle.cartesian_prod([x, y]), lambda x, y: np.array([[a, b] for a in x for b in y]), V, spread(2)),
    "combinations": (lambda x: x.combinations(2), lambda x: np.array([[x[i], x[j]] for i in range(5) for j in range(i + 1, 5)]), V),
    "flip": (lambda x: x.flip([0, 2]), lambda x: np.flip(x, (0, 2)), X),
    "roll": (lambda x: x.roll(5), lambda x: np.roll(x, 5), M),
    "roll axes": (lambda x: paddle.roll(x, [1, -1], [0, 2]), lambda x: np.roll(x, (1, -1), (0, 2)), X),
    **{f"rot90 {k}": (lambda x, k=k: x.rot90(k, [2, 1]), lambda x, k=k: np.rot90(x, k, (2, 1)), X) for k in range(-1, 4)},
    "diag of a vector": (lambda x: paddle.diag(x, -1, 3.0), lambda x: np.diag(x, -1) + 3 * (1 - np.eye(6, k=-1)), V),
    "diag of a matrix": (lambda x: x.diag(1), lambda x: np.diag(x, 1), SQUARE),
    "diagflat": (lambda x: x.diagflat(1), lambda x: np.diagflat(x, 1), M),
    "diag_embed": (lambda x: x.diag_embed(-1, 0, 2), lambda x: embedded(x, -1, 0, 2), M),
    "tril": (lambda x: x.tril(-1), lambda x: np.tril(x, -1), X),
    "triu": (lambda x: paddle.triu(x, 1), lambda x: np.triu(x, 1), X),
    "vander": (lambda x: x.vander(3), lambda x: np.vander(x, 3), V),
    "slice": (lambda x: paddle.slice(x, [0, 2], [1, -3], [2, 100]), lambda x: x[1:2, :, -3:100], X),
    "strided_slice": (lambda x: x.strided_slice([1, 2], [0, 3], [3, 0], [2, -1]), lambda x: x[:, 0:3:2, 3:0:-1], X),
    "narrow": (lambda x: x.narrow(1, 1, 2), lambda x: x[:, 1:3], X),
    "crop": (lambda x: paddle.crop(x, [1, -1, 2], [1, 1, 0]), lambda x: x[1:2, 1:, :2], X),
    "as_strided": (lambda x: x.as_strided([3, 2], [1, 2], 1), lambda x: np.array([[x[1], x[3]], [x[2], x[4]], [x[3], x[5]]]), spread(6)),
    "unfold": (lambda x: x.unfold(2, 2, 1), lambda x: np.stack([x[..., 0:2], x[..., 1:3], x[..., 2:4]], 2), X),
    "select_scatter": (lambda x, v: paddle.select_scatter(x, v, 1, 2), lambda x, v: written(x, (slice(None), 2), v), X, spread(2, 4)),
    "slice_scatter": (lambda x, v: x.slice_scatter(v, [1], [0], [3], [2]), lambda x, v: written(x, (slice(None), slice(0, 3, 2)), v), X,
                      spread(2, 2, 4)),
    "diagonal_scatter": (lambda x, v: x.diagonal_scatter(v, 1), lambda x, v: diagonal_set(x, v, 1), SQUARE, spread(3)),
    "fill_diagonal_tensor": (lambda x, v: x.fill_diagonal_tensor(v, -1), lambda x, v: diagonal_set(x, v, -1), SQUARE, spread(3)),
    **{f"pad, {ours}": (lambda x, ours=ours: F.pad(x, [1, 2, 2, 0], mode=ours, data_format="NCHW"),
                        lambda x, theirs=theirs: np.pad(x, ((0, 0), (0, 0), (2, 0), (1, 2)), theirs), spread(1, 2, 3, 4))
       for ours, theirs in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"))},
    "pad, channels last": (lambda x: F.pad(x, [1, 2], mode="reflect", data_format="NLC"),
                           lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0)), "reflect"), X),
    "pad all axes": (lambda x: F.pad(x, [1, 2, 0, 1], value=2.5), lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=2.5), M),
    "pad, cutting": (lambda x: F.pad(x, [-1, 2, 0, -2]), lambda x: np.pad(x[1:, :-2], ((0, 2), (0, 0))), M),
    "gather_nd": (lambda x, i: x.gather_nd(i), lambda x, i: x[i[..., 0], i[..., 1]], X, np.array([[0, 1], [1, -1], [0, 1]])),
    "scatter": (lambda x, i, u: x.scatter(i, u), written, M, np.array([2, 0]), spread(2, 4)),
    "scatter, twice to one row": (lambda x, i, u: x.scatter(i, u), written, M, np.array([2, 2]), spread(2, 4)),
    "scatter, added": (lambda x, i, u: paddle.scatter(x, i, u, False), lambda x, i, u: written(written(x, i, 0.0), i, u, "add"), M,
                       np.array([2, 0, 2]),
                       spread(3, 4)),
    "scatter_nd": (lambda i, u: paddle.scatter_nd(i, u, [3, 4]), lambda i, u: written(np.zeros((3, 4)), (i[:, 0], i[:, 1]), u, "add"),
                   np.array([[0, 1], [1, 2], [0, 1]]), spread(3)),
    "scatter_nd_add": (lambda x, i, u: x.scatter_nd_add(i, u), lambda x, i, u: written(x, (i[:, 0],), u, "add"), M,
                       np.array([[0], [2], [0]]),
                       spread(3, 4)),
    "index_add": (lambda x, i, u: x.index_add(i, 1, u, 2.5), lambda x, i, u: written(x, (slice(None), i), 2.5 * u, "add"), X,
                  np.array([2, 0, 2]),
                  spread(2, 3, 4)),
    "index_fill": (lambda x, i, v: x.index_fill(i, 1, v), lambda x, i, v: written(x, (slice(None), i), v), X, np.array([2, 0, 2]),
                   np.array(1.5)),
    "index_put": (lambda x, i, j, v: x.index_put((i, j), v), lambda x, i, j, v: written(x, (i, j), v), M, np.array([0, 2, 0]),
                  np.array([1, 3, 1]),
                  spread(3)),
    "index_put, added": (lambda x, i, j, v: x.index_put((i, j), v, True), lambda x, i, j, v: written(x, (i, j), v, "add"), M,
                         np.array([0, 2, 0]),
                         np.array([1, 3, 1]), spread(3)),
    "index_put with a mask": (lambda x, m, v: x.index_put((m,), v), lambda x, m, v: written(x, m, v), M, MASK, np.array(1.5)),
    "index_sample": (lambda x, i: x.index_sample(i), lambda x, i: np.take_along_axis(x, i, 1), M, np.array([[0, 0], [1, 3], [2, 1]])),
    "masked_fill": (lambda x, m, v: x.masked_fill(m, v), lambda x, m, v: np.where(m, v, x), X, MASK, np.array(1.5)),
    "masked_fill with a number": (lambda x, m: paddle.masked_fill(x, m, 3), lambda x, m: np.where(m, 3, x), X, MASK),
    "masked_select": (lambda x, m: x.masked_select(m), lambda x, m: x[np.broadcast_to(m, x.shape)], X, MASK),
    "masked_scatter": (lambda x, m, v: x.masked_scatter(m, v), lambda x, m, v: written(x, m, v.reshape(-1)[:m.sum()]), M, MASK,
                       spread(3, 5)),
    "take": (lambda x, i: x.take(i), lambda x, i: x.reshape(-1)[i], M, np.array([[0, -1], [5, 5]])),
    "take, wrapped": (lambda x, i: paddle.take(x, i, "wrap"), lambda x, i: np.take(x, i, mode="wrap"), M, np.array([13, -14])),
    "multiplex": (lambda x, y, i: paddle.multiplex([x, y], i), lambda x, y, i: np.where(i == 0, x, y), M, M * 2 + 1,
                  np.array([[0], [1], [0]])),
    "shard_index": (lambda i: paddle.shard_index(i, 20, 2, 1), lambda i: np.where(i // 10 == 1, i % 10, -1), np.array([[1], [16]])),
    **{f"put_along_axis, {how}{'' if own else ' without arr'}":
       (lambda x, i, v, how=how, own=own: x.put_along_axis(i, v, 0, how, own), lambda x, i, v, how=how,
        own=own: along(x, i, v, 0, how, own),
        M, INDEX, spread(2, 4) + 0.01)
       for how in ("assign", "add", "mul", "mean", "amin", "amax") for own in (True, False)},
    "put_along_axis of one number": (lambda x, i: x.put_along_axis(i, 5.0, 1), lambda x, i: along(x, i, 5.0, 1, "assign"), M,
                                     np.array([[0], [1], [2]])),
    "put_along_axis, spread": (lambda x, i, v: x.put_along_axis(i, v, 1, "add"), lambda x, i,
                               v: along(x, i.repeat(3, 0), v.repeat(3, 0), 1, "add"),
                               M, np.array([[0, 0, 2]]), spread(1, 3)),
    "scatter_add": (lambda x, i, v: x.scatter_add(0, i, v), lambda x, i, v: along(x, i, v[:2, :4], 0, "add"), M, INDEX, spread(3, 5)),
    "scatter_reduce": (lambda x, i, v: x.scatter_reduce(0, i, v, "prod"), lambda x, i, v: along(x, i, v, 0, "mul"), M, INDEX, spread(2, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy_and_differences(name):
    run, want, *arrays = CASES[name]
    check(run, want, arrays)


def test_products_of_zeros_have_exact_first_gradients():
    def run(x, i, v):
        return x.put_along_axis(i, v, 0, "mul")
    check(run, lambda x, i, v: along(x, i, v, 0, "mul"), [ZEROS, INDEX, np.array([[0.0, 2.0, 0.0, 1.0], [3.0, 0.5, 1.0, 0.0]])], order=1)


# ---- in place --------------------------------------------------------------------------------------------------------------------------

IN_PLACE = {
    "tril": (X, lambda x: (-1,)), "triu": (X, lambda x: (1,)),
    "scatter": (M, lambda x: (np.array([2, 0]), spread(2, 4))),
    "index_add": (M, lambda x: (np.array([2, 0, 2]), 0, spread(3, 4))),
    "index_fill": (M, lambda x: (np.array([2, 0]), 1, 1.5)),
    "index_put": (M, lambda x: ([np.array([2, 0]), np.array([1, 1])], spread(2))),
    "masked_fill": (M, lambda x: (MASK, 1.5)),
    "masked_scatter": (M, lambda x: (MASK, spread(12))),
    "put_along_axis": (M, lambda x: (INDEX, spread(2, 4), 0)),
    "put_along_axis, mul": (M, lambda x: (INDEX, spread(2, 4), 0, "mul")),
    "scatter_add": (M, lambda x: (0, INDEX, spread(2, 4))),
    "fill_diagonal_tensor": (SQUARE, lambda x: (spread(4),)),
}


def wrapped(value, grad):
    if isinstance(value, list):
        return [wrapped(v, grad) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    return paddle.to_tensor(value, stop_gradient=not (grad and value.dtype.kind == "f"))


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_does_what_the_function_does(name):
    array, rest = IN_PLACE[name]
    name, rest = name.split(",")[0], rest(array)
    grads = []
    for form in (name, name + "_"):
        x = paddle.to_tensor(array, stop_gradient=False)
        y = x * x
        arguments = [wrapped(a, True) for a in rest]
        found = getattr(y, form)(*arguments)
        if form.endswith("_"):
            assert found is y
            assert y.inplace_version == 1
        value = found.numpy()
        (found * found * found).sum().backward()
        grads.append([value, x.grad.numpy(), *[a.grad.numpy() for a in arguments if isinstance(a, paddle.Tensor) and a.grad is not None]])
    for one, other in zip(*grads, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    leaf = paddle.to_tensor(array, stop_gradient=False)
    refused(ValueError, lambda: getattr(leaf, name + "_")(*[wrapped(a, False) for a in rest]), leaf)


def test_in_place_twice_and_then_backward():
    x = paddle.to_tensor(M, stop_gradient=False)
    y = x * 1.0
    for k in range(3):
        y.put_along_axis_(paddle.to_tensor(INDEX), float(k), 0)
        y.masked_fill_(paddle.to_tensor(MASK), float(k))
        y.index_fill_(paddle.to_tensor([1]), 1, 2.0)
    y.sum().backward()
    kept = ~MASK
    kept[:, 1] = False
    grid = (INDEX, np.arange(4)[None])
    kept[grid] = False
    np.testing.assert_array_equal(x.grad.numpy(), kept)


def test_where_():
    x = paddle.to_tensor(M, stop_gradient=False)
    y = paddle.to_tensor(M * 2, stop_gradient=False)
    z = x * 1.0
    assert paddle.where_(paddle.to_tensor(MASK), z, y) is z
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), MASK)
    np.testing.assert_array_equal(y.grad.numpy(), ~MASK)
    assert [t.tolist() for t in paddle.where(paddle.to_tensor(MASK))] == [a.tolist() for a in np.nonzero(MASK)]


@pytest.mark.parametrize(("shape", "offset", "wrap"), [((4, 4), 0, False), ((4, 4), 1, False), ((3, 5), -1, False), ((7, 3), 0, True),
                                                       ((7, 3), 0, False)])
def test_fill_diagonal_(shape, offset, wrap):
    array = spread(*shape)
    want = array.copy()
    if offset:
        k = np.arange(len(np.diagonal(array, offset)))
        want[k + max(-offset, 0), k + max(offset, 0)] = 2.5
    else:
        np.fill_diagonal(want, 2.5, wrap)
    x = paddle.to_tensor(array, stop_gradient=False)
    y = x * 1.0
    assert y.fill_diagonal_(2.5, offset, wrap) is y
    np.testing.assert_array_equal(y.numpy(), want)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), want != 2.5)


def test_fill_diagonal_of_three_axes():
    y = paddle.to_tensor(spread(3, 3, 3))
    y.fill_diagonal_(9.0)
    assert [y[k, k, k].item() for k in range(3)] == [9.0] * 3
    assert (y.numpy() == 9.0).sum() == 3


# ---- views -----------------------------------------------------------------------------------------------------------------------------

VIEWS = {
    "diagonal": (lambda x: x.diagonal(1, 1, 2), lambda x: x.diagonal(1, 1, 2)),
    "diagonal of a view": (lambda x: x[:, ::2].diagonal(-1, 2, 1), lambda x: x[:, ::2].diagonal(-1, 2, 1)),
    "swapaxes": (lambda x: x.swapaxes(0, 2), lambda x: x.swapaxes(0, 2)),
    "moveaxis": (lambda x: x.moveaxis(0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "view": (lambda x: x.view([6, 4]), lambda x: x.reshape(6, 4)),
    "slice": (lambda x: paddle.slice(x, [2], [1], [3]), lambda x: x[..., 1:3]),
    "strided_slice": (lambda x: x.strided_slice([2], [3], [0], [-2]), lambda x: x[..., 3:0:-2]),
    "narrow": (lambda x: x.narrow(1, 1, 2), lambda x: x[:, 1:3]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view_is_part_of_its_base(name):
    ours, theirs = VIEWS[name]
    x = paddle.to_tensor(X, stop_gradient=False)
    base = x * 1.0
    view = ours(base)
    assert view.inplace_version == 0
    view.multiply_(view.detach() * 0 + 3.0)
    base.multiply_(paddle.to_tensor(X + 3.0))
    assert view.inplace_version == 2
    (base.sum() + (view * view).sum()).backward()

    def value(a):
        a = a.copy()
        seen = theirs(a)
        seen_region = np.zeros(a.shape, bool)
        positions = theirs(np.arange(a.size).reshape(a.shape))
        seen_region.reshape(-1)[positions.reshape(-1)] = True
        a = np.where(seen_region, a * 3.0, a) * (X + 3.0)
        assert seen.shape == positions.shape
        return a.sum() + (a.reshape(-1)[positions] ** 2).sum()
    slope = np.zeros_like(X)
    for at in np.ndindex(X.shape):
        up, down = X.copy(), X.copy()
        up[at] += 1e-6
        down[at] -= 1e-6
        slope[at] = (value(up) - value(down)) / 2e-6
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-6)


def test_parts_are_copies():
    x = paddle.to_tensor(X)
    for made in (*x.split(2, 2), *x.chunk(2, 1), *x.unbind(0), x.expand([1, 2, 3, 4]), x.flip(0), x.roll(0), x.rot90(0)):
        made.zero_()
    np.testing.assert_array_equal(x.numpy(), X)
    assert x.inplace_version == 0


def test_an_index_changed_after_use():
    x, index = paddle.to_tensor(M, stop_gradient=False), paddle.to_tensor([0, 2])
    y = x.index_fill(index, 1, 0.0)
    index[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    index = paddle.to_tensor([0, 2])
    y = x.index_put((index,), paddle.to_tensor(0.0, dtype="float64"))     # keeps a copy
    index[0] = 1
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0] * 4, [1] * 4, [0] * 4])


# ---- refusals --------------------------------------------------------------------------------------------------------------------------

def bad(*index):
    return paddle.to_tensor(np.array(index))


REFUSED = {
    "scatter_": (IndexError, lambda x: x.scatter_(bad(0, 3), paddle.ones([2, 4], "float64"))),
    "scatter_ shape": (ValueError, lambda x: x.scatter_(bad(0, 1), paddle.ones([3, 4], "float64"))),
    "index_add_": (IndexError, lambda x: x.index_add_(bad(-4), 0, paddle.ones([1, 4], "float64"))),
    "index_fill_": (IndexError, lambda x: x.index_fill_(bad(4), 1, 0.0)),
    "index_put_": (IndexError, lambda x: x.index_put_((bad(0, 5),), paddle.ones([4], "float64"))),
    "index_put_ added": (IndexError, lambda x: x.index_put_((bad(0, 5),), paddle.ones([4], "float64"), True)),
    "put_along_axis_": (IndexError, lambda x: x.put_along_axis_(bad([3, 0, 0, 0]), 1.0, 0)),
    "put_along_axis_ mul": (IndexError, lambda x: x.put_along_axis_(bad([3, 0, 0, 0]), 1.0, 0, "mul")),
    "put_along_axis_ shape": (ValueError, lambda x: x.put_along_axis_(bad([0, 0, 0]), paddle.ones([2, 2], "float64"), 0)),
    "masked_fill_": (TypeError, lambda x: x.masked_fill_(bad([0, 1, 0, 1]), 1.0)),
    "masked_fill_ complex": (TypeError, lambda x: x.masked_fill_(paddle.to_tensor(MASK), 1j)),
    "masked_fill_ shape": (ValueError, lambda x: x.masked_fill_(paddle.to_tensor([True, False]), 1.0)),
    "masked_scatter_": (ValueError, lambda x: x.masked_scatter_(paddle.to_tensor(MASK), paddle.ones([1], "float64"))),
    "gather_nd": (IndexError, lambda x: x.gather_nd(bad([3]))),
    "scatter_nd_add": (IndexError, lambda x: x.scatter_nd_add(bad([3]), paddle.ones([1, 4], "float64"))),
    "take": (IndexError, lambda x: x.take(bad(12))),
    "index_sample": (IndexError, lambda x: x.index_sample(bad([0], [4], [0]))),
    "tril_": (ValueError, lambda x: x[0].tril_()),
    "split": (ValueError, lambda x: x.split(5, 1)),
    "split sections": (ValueError, lambda x: x.split([1, 1], 1)),
    "chunk": (ValueError, lambda x: x.chunk(0)),
    "expand": (ValueError, lambda x: x.expand([2, 4])),
    "flip": (IndexError, lambda x: x.flip(2)),
    "diagonal": (ValueError, lambda x: x.diagonal(0, 1, 1)),
    "diagonal axis": (IndexError, lambda x: x.diagonal(0, 0, 2)),
    "as_strided": (IndexError, lambda x: x.as_strided([4, 4], [4, 1])),
    "pad": (ValueError, lambda x: F.pad(x.reshape([1, 3, 4]), [9, 0], "reflect", data_format="NCL")),
    "pad mode": (ValueError, lambda x: F.pad(x, [1, 1], "mirror")),
    "unfold": (ValueError, lambda x: x.unfold(1, 5, 1)),
    "moveaxis": (ValueError, lambda x: x.moveaxis([0, 1], 0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_nothing_written(name):
    error, call = REFUSED[name]
    x = paddle.to_tensor(M)
    refused(error, lambda: call(x), x)


def test_integers_take_no_fractions():
    x = paddle.arange(12).reshape([3, 4])
    refused(TypeError, lambda: x.masked_fill_(paddle.to_tensor(MASK), 1.5), x)
    refused(TypeError, lambda: x.index_fill_(bad(0), 0, 1.5), x)
    x.masked_fill_(paddle.to_tensor(MASK), 7)
    np.testing.assert_array_equal(x.numpy(), np.where(MASK, 7, np.arange(12).reshape(3, 4)))


@pytest.mark.parametrize("reduce", ["mul", "multiply", "mean", "amin", "amax"])
def test_put_along_axis_of_the_table_refuses_ways_whose_gradient_it_does_not_have(reduce):
    arr, indices, values = paddle.ones([2, 3]), paddle.to_tensor(np.array([[0, 1, 0]])), paddle.ones([1, 3])
    for call in (lambda: eager_core.put_along_axis(arr, indices, values, 0, reduce),
                 lambda: eager_core.eager_api_put_along_axis_(arr, indices, values, "axis", 0, "reduce", reduce)):
        with pytest.raises(ValueError, match="assign or add"):
            call()
    assert arr.inplace_version == 0


@pytest.mark.parametrize("call", [
    lambda x, n: paddle.masked_fill(x, x > 0, n), lambda x, n: x.masked_fill_(x > 0, n),
    lambda x, n: paddle.index_fill(x, paddle.to_tensor([0]), 0, n), lambda x, n: paddle.index_put(x, (paddle.to_tensor([0]),), n),
    lambda x, n: paddle.put_along_axis(x, paddle.to_tensor([0]), n, 0),
])
def test_a_number_that_the_dtype_cannot_hold_is_refused(call):
    x = paddle.to_tensor(np.array([1, 2]))
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        call(x, 2 ** 64)
    assert x.tolist() == [1, 2]
    u = paddle.to_tensor(np.array([1, 2], dtype="uint64"))
    assert call(u, 2 ** 63 + 5).tolist()[0] == 2 ** 63 + 5


def test_an_index_of_index_put_is_of_integers_or_bool():
    x = paddle.to_tensor(SQUARE)
    for index in ((slice(None), paddle.to_tensor([0])), (np.array([0.0]),), (None,)):
        refused(TypeError, lambda index=index: paddle.index_put(x, index, 1.0), x)


def test_broadcast_shapes():
    assert paddle.broadcast_shapes([2, 1], [3], []) == [2, 3]
    assert paddle.broadcast_shapes() == []
    with pytest.raises(ValueError, match="cannot be broadcast"):
        paddle.broadcast_shapes([2], [3])


def test_where_as_a_method_takes_what_the_function_takes():
    t = paddle.to_tensor(MASK)
    np.testing.assert_array_equal(t.where(paddle.to_tensor(M), 0.0).numpy(), np.where(MASK, M, 0.0))
    for found, wanted in zip(t.where(), MASK.nonzero(), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_products_along_an_axis_at_zeros_to_second_order():
    """x0 v0 v1 with x0 = 0: the slopes by v are 0, and their own slopes by x0 are v1 and v0."""
    x, v = (paddle.to_tensor(np.array(a), stop_gradient=False) for a in ([0.0, 3.0], [2.0, 5.0]))
    out = paddle.put_along_axis(x, paddle.to_tensor([0, 0]), v, 0, "mul")
    by_x, by_v = paddle.grad(out.sum(), [x, v], create_graph=True)
    np.testing.assert_array_equal(by_x.numpy(), [10.0, 1.0])
    np.testing.assert_array_equal(by_v.numpy(), [0.0, 0.0])
    again = paddle.grad((by_v * paddle.to_tensor(np.array([1.0, 10.0]))).sum(), [x, v])
    np.testing.assert_array_equal(again[0].numpy(), [5.0 + 10 * 2.0, 0.0])
    np.testing.assert_array_equal(again[1].numpy(), [0.0, 0.0])
    x, v = (paddle.to_tensor(np.array(a), stop_gradient=False) for a in ([4.0], [0.0, 0.0, 7.0]))
    out = paddle.put_along_axis(x, paddle.to_tensor([0, 0, 0]), v, 0, "mul")
    by_v, = paddle.grad(out.sum(), [v], create_graph=True)
    np.testing.assert_array_equal(by_v.numpy(), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(paddle.grad(by_v[0], [v])[0].numpy(), [0.0, 28.0, 0.0])


def test_what_does_not_take_part_has_no_gradient_whatever_it_is():
    x, v = (paddle.to_tensor(np.array(a), stop_gradient=False) for a in ([np.inf, 3.0], [2.0, 0.0]))
    out = paddle.put_along_axis(x, paddle.to_tensor([0, 0]), v, 0, "mul", include_self=False)
    np.testing.assert_array_equal(out.numpy(), [0.0, 3.0])
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 1.0])
    np.testing.assert_array_equal(v.grad.numpy(), [0.0, 2.0])


def test_index_add_with_a_complex_factor():
    """S9.27: the gradient of sum(Re(out)) is the conjugate of what multiplies."""
    x = paddle.to_tensor(np.zeros(3, "complex128"), stop_gradient=False)
    v = paddle.to_tensor(np.array([1 + 1j, 2.0]), stop_gradient=False)
    out = paddle.index_add(x, paddle.to_tensor([0, 2]), 0, v, alpha=2 - 3j)
    np.testing.assert_array_equal(out.numpy(), np.array([1 + 1j, 0, 2]) * (2 - 3j))
    paddle.real(out).sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [2 + 3j, 2 + 3j])
    np.testing.assert_array_equal(x.grad.numpy(), [1, 1, 1])


@pytest.mark.parametrize(("dtype", "padding", "want"), [("int64", 3, 3), ("int64", 3.0, 3), ("float32", 2.5, 2.5), ("bool", True, True)])
def test_diag_keeps_the_dtype(dtype, padding, want):
    x = paddle.to_tensor(np.array([1, 0, 1]), dtype=dtype)
    y = paddle.diag(x, 0, padding)
    assert y.dtype == np.dtype(dtype)
    expected = np.full((3, 3), want, dtype)
    np.fill_diagonal(expected, [1, 0, 1])
    np.testing.assert_array_equal(y.numpy(), expected)


def test_diag_refuses_a_padding_that_its_dtype_cannot_hold():
    x = paddle.to_tensor([1, 2])
    refused(TypeError, lambda: paddle.diag(x, 0, 2.5), x)


@pytest.mark.parametrize(("old", "new", "want"), [
    ([0, 3, 4], [0, -1], [0, 12]), ([0, 3, 4], [-1, 12], [0, 12]), ([2, 0, 4], [2, 0, -1], [2, 0, 4]), ([0], [0, -1], [0, 1])])
def test_reshape_of_nothing_keeps_the_axes_named_0_and_finds_the_rest(old, new, want):
    """The usual ``x.reshape([0, -1])`` of a batch, when the batch is empty."""
    assert paddle.zeros(old).reshape(new).shape == want

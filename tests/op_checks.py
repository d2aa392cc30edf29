"""One operator against its definition in NumPy: values, and gradients of first and second order against differences."""
import numpy as np

import python_api as paddle

STEP = 1e-5


def listed(found):
    return list(found) if isinstance(found, list | tuple) else [found]


def check(run, want, arrays, order=2, rtol=1e-6):
    """``run`` takes tensors, ``want`` arrays; both give one result or a list. Float inputs and results are differentiated."""
    tensors = [paddle.to_tensor(a) for a in arrays]
    before = [t.numpy() for t in tensors]
    found, wanted = listed(run(*tensors)), [np.asarray(w) for w in listed(want(*arrays))]
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert f.shape == list(w.shape)
        assert f.dtype.kind == w.dtype.kind
        assert f.stop_gradient
        np.testing.assert_allclose(f.numpy(), w, rtol=1e-12, atol=1e-14)
    for t, b in zip(tensors, before, strict=True):
        np.testing.assert_array_equal(t.numpy(), b)
    which = [k for k, a in enumerate(arrays) if np.asarray(a).dtype.kind == "f"]
    if not order or not which or not any(w.dtype.kind == "f" for w in wanted):
        return
    rng = np.random.default_rng(7)
    weights = [rng.uniform(0.5, 1.5, w.shape) for w in wanted]
    directions = [rng.uniform(0.5, 1.5, np.shape(arrays[k])) for k in which]

    def value(values):
        results = [np.asarray(w) for w in listed(want(*values))]
        return sum(float((r * w).sum()) for r, w in zip(results, weights, strict=True) if r.dtype.kind == "f")

    first, second = gradients(run, arrays, which, weights, directions, order)
    compare(first, slopes(value, arrays, which), rtol)
    written_later(run, arrays, which, weights, first)
    if order > 1:
        def slope(values):
            return sum(float((d * g).sum()) for d, g in
                       zip(directions, gradients(run, values, which, weights, directions, 1)[0], strict=True))
        compare(second, slopes(slope, arrays, which), rtol)


def gradients(run, arrays, which, weights, directions, order):
    tensors = [paddle.to_tensor(a, stop_gradient=k not in which) for k, a in enumerate(arrays)]
    inputs = [tensors[k] for k in which]
    loss = 0.0
    for r, w in zip(listed(run(*tensors)), weights, strict=True):
        if not r.stop_gradient:
            assert r.dtype.kind == "f"
            loss = loss + (r * paddle.to_tensor(w)).sum()
    first = paddle.grad(loss, inputs, create_graph=order > 1, allow_unused=True)
    values = [np.zeros(t.shape) if g is None else g.numpy() for t, g in zip(inputs, first, strict=True)]
    if order < 2:
        return values, None
    inner = sum((g * paddle.to_tensor(d)).sum() for g, d in zip(first, directions, strict=True) if g is not None and not g.stop_gradient)
    if not isinstance(inner, paddle.Tensor) or inner.stop_gradient:
        return values, [np.zeros(t.shape) for t in inputs]
    second = paddle.grad(inner, inputs, allow_unused=True)
    return values, [np.zeros(t.shape) if g is None else g.numpy() for t, g in zip(inputs, second, strict=True)]


def overwrite(t):
    """Other values in the same memory, behind the back of history and leaf check, but not of the counter. Whole numbers stay indexes."""
    alias = t.detach()
    if alias.dtype.kind == "b":
        alias.logical_not_()
    elif alias.dtype.kind in "iu":
        alias.copy_(alias.equal(paddle.zeros(alias.shape, alias.dtype)).astype(alias.dtype))
    else:
        alias.scale_(-1.5, 0.25)


def written_later(run, arrays, which, weights, first):
    """S5.3, S5.14: an input or a result that is overwritten between forward and backward changes no gradient, or backward refuses."""
    count = len(arrays) + len(weights)
    for k in range(count):
        tensors = [paddle.to_tensor(a, stop_gradient=i not in which) for i, a in enumerate(arrays)]
        inputs = [tensors[i] for i in which]
        results = listed(run(*tensors))
        live = [(r, paddle.to_tensor(w)) for r, w in zip(results, weights, strict=True) if not r.stop_gradient]
        if not live:
            return
        overwrite([*tensors, *results][k])
        try:
            found = paddle.grad([r for r, _ in live], inputs, [w for _, w in live], allow_unused=True)
        except RuntimeError as refusal:
            assert "modified by an inplace operation" in str(refusal)
            continue
        for i, g, f in zip(which, found, first, strict=True):
            got = np.zeros(f.shape) if g is None else g.numpy()
            np.testing.assert_array_equal(got, f, err_msg=f"gradient of input {i} after a write to tensor {k} of inputs and results")


def slopes(function, arrays, which):
    found = []
    for k in which:
        slope = np.zeros(np.shape(arrays[k]))
        for at in np.ndindex(slope.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [np.array(a) for a in arrays]
                moved[k][at] += step
                ends.append(function(moved))
            slope[at] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def compare(found, wanted, rtol):
    for f, w in zip(found, wanted, strict=True):
        assert f.shape == w.shape
        np.testing.assert_allclose(f, w, rtol=rtol, atol=1e-7)


def refused(error, call, *tensors):
    """The call raises, and leaves value, version and history of the tensors alone."""
    before = [(t.numpy().tobytes(), t.inplace_version, t.stop_gradient, t.is_leaf) for t in tensors]
    try:
        call()
    except error:
        pass
    else:
        raise AssertionError(f"not refused with {error}")
    assert before == [(t.numpy().tobytes(), t.inplace_version, t.stop_gradient, t.is_leaf) for t in tensors]

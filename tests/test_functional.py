"""``nn.functional``: values from their definitions in NumPy, gradients from central differences."""
import numpy as np
import pytest
from differences import slope

import python_api as paddle
import python_api.nn.functional as F

LOGITS = np.array([[2.0, 1.0, 0.1], [0.3, -0.2, 1.4], [1.0, 1.0, -3.0], [0.0, 0.5, 0.5]])
LABELS = np.array([0, 2, 1, 1])


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def losses(x, labels, weight=None, smoothing=0.0):
    logp = log_softmax(x)
    n = x.shape[-1]
    target = np.eye(n)[labels] * (1 - smoothing) + smoothing / n
    if weight is not None:
        target = target * weight
    return -(target * logp).sum(axis=-1)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy_of_class_labels(reduction):
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor(LABELS), reduction=reduction)
    reduce = {"none": lambda v: v, "sum": np.sum, "mean": np.mean}[reduction]
    np.testing.assert_allclose(np.ravel(loss.numpy()), np.ravel(reduce(losses(LOGITS, LABELS))), rtol=1e-12)
    loss.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: np.sum(reduce(losses(v, LABELS))), LOGITS), rtol=1e-6, atol=1e-9)


def test_cross_entropy_with_weights_is_a_weighted_mean():
    weight = np.array([1.0, 2.0, 0.5])
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor(LABELS), weight=paddle.to_tensor(weight))

    def plain(v):
        return losses(v, LABELS, weight).sum() / weight[LABELS].sum()
    np.testing.assert_allclose(loss.item(), plain(LOGITS), rtol=1e-12)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(plain, LOGITS), rtol=1e-6, atol=1e-9)


def test_cross_entropy_ignores_what_it_is_told_to():
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    labels = LABELS.copy()
    labels[1] = -100
    F.cross_entropy(x, paddle.to_tensor(labels)).backward()
    rows = [0, 2, 3]
    expected = slope(lambda v: losses(v[rows], LABELS[rows]).mean(), LOGITS)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6, atol=1e-9)
    assert (x.grad.numpy()[1] == 0).all()


def test_cross_entropy_of_soft_labels():
    target = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25]])
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor(target), soft_label=True)

    def plain(v):
        return -(target * log_softmax(v)).sum(axis=-1).mean()
    np.testing.assert_allclose(loss.item(), plain(LOGITS), rtol=1e-12)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(plain, LOGITS), rtol=1e-6, atol=1e-9)


def test_cross_entropy_second_order():
    """Hessian of the mean loss: (diag(p) - p p^T) / N in each row's block."""
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    (first,) = paddle.grad(F.cross_entropy(x, paddle.to_tensor(LABELS)), [x], create_graph=True)
    direction = np.array([[0.3, -1.0, 0.2], [1.0, 0.5, 0.1], [0.0, 2.0, 1.0], [-0.4, 0.2, 0.9]])
    (second,) = paddle.grad((first * paddle.to_tensor(direction)).sum(), [x])
    p = np.exp(log_softmax(LOGITS))
    expected = (p * direction - p * (p * direction).sum(axis=-1, keepdims=True)) / len(LOGITS)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [lambda a: a[:, None], lambda a: a.astype("int32"), lambda a: a[::-1].copy()[::-1]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_of_labels_in_other_forms(form, dtype):
    """With an axis of their own, of another dtype, of a matrix in Fortran order: the values of the plain case."""
    x = paddle.to_tensor(np.asfortranarray(LOGITS).astype(dtype), stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor(form(LABELS)))
    np.testing.assert_allclose(loss.item(), losses(LOGITS, LABELS).mean(), rtol=1e-6)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: losses(v, LABELS).mean(), LOGITS), rtol=1e-5, atol=1e-7)


def test_cross_entropy_keeps_its_labels():
    """S5.1: labels that change before backward would move the gradient to other classes."""
    x = paddle.to_tensor(LOGITS, stop_gradient=False)
    labels = paddle.to_tensor(LABELS)
    loss = F.cross_entropy(x, labels)
    labels.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_cross_entropy_refuses_labels_out_of_range():
    x = paddle.to_tensor(LOGITS)
    for bad in (3, -1):
        labels = LABELS.copy()
        labels[2] = bad
        with pytest.raises(ValueError, match="InvalidArgument"):
            F.cross_entropy(x, paddle.to_tensor(labels))


def test_linear_and_mse_loss():
    rng = np.random.default_rng(0)
    a, w, b = rng.normal(size=(5, 3)), rng.normal(size=(3, 2)), rng.normal(size=2)
    x, weight, bias = (paddle.to_tensor(v, stop_gradient=False) for v in (a, w, b))
    out = F.linear(x, weight, bias)
    np.testing.assert_allclose(out.numpy(), a @ w + b, rtol=1e-12)
    target = rng.normal(size=(5, 2))
    F.mse_loss(out, paddle.to_tensor(target)).backward()
    g = 2 * (a @ w + b - target) / target.size
    np.testing.assert_allclose(weight.grad.numpy(), a.T @ g, rtol=1e-10)
    np.testing.assert_allclose(bias.grad.numpy(), g.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(x.grad.numpy(), g @ w.T, rtol=1e-10)


@pytest.mark.parametrize(("shape", "axis"), [((), 0), ((), -1), ((0, 3), 0), ((2, 0), 1), ((0,), -1)])
@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_of_one_or_of_nothing(shape, axis, hard):
    y = F.gumbel_softmax(paddle.zeros(list(shape)), hard=hard, axis=axis)
    np.testing.assert_array_equal(y.numpy(), np.ones(shape, "float32"), strict=True)

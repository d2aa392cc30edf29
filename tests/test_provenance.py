"""The version error says which operator saved the value, as what, who has overwritten it, and what to do (S0.3, S5.3)."""
import numpy as np
import pytest

import python_api as paddle


def leaf(n=3):
    return paddle.to_tensor(np.linspace(0.5, 1.5, n), stop_gradient=False)


def refusal(loss):
    with pytest.raises(RuntimeError) as caught:
        loss.sum().backward()
    text = str(caught.value)
    assert text.startswith("(PermissionDenied) Tensor '") and "will used in gradient computation. It was saved as " in text
    assert "Clone the tensor before the write" in text and "allow_mutation_on_saved_tensors()" in text
    return text


def writers(text):
    return text[text.index("Since then"):text.index(" Clone the tensor")]


def test_who_saved_the_value_and_as_what():
    z = (leaf() * 2.0).exp()
    w = z * 1.0
    z.add_(1.0)
    assert "It was saved as output of ExpGradNode, shape [3], dtype float64." in refusal(w)
    y = leaf() * 2.0
    w = paddle.maximum(leaf(), y)
    y.zero_()
    assert "It was saved as input 1 of MaximumGradNode" in refusal(w)


@pytest.mark.parametrize(("write", "name"), [
    (lambda t: t.add_(1.0), "add_"), (lambda t: t.__setitem__(0, 1.0), "__setitem__"),
    (lambda t: t.__setitem__([0, 1], 1.0), "__setitem__"),
    (lambda t: t.fill_(1.0), "fill_"), (lambda t: t[:2].multiply_(2.0), "multiply_"), (lambda t: t.copy_(leaf()), "copy_"),
    (lambda t: t.set_value(np.zeros(3)), "copy_"), (lambda t: t.reshape_([3, 1]), "reshape_"), (lambda t: t.cumsum_(0), "cumsum_"),
    (lambda t: t.detach().exp_(), "exp_"), (lambda t: t._bump_inplace_version(), "code outside of the library"),
])
def test_who_has_written(write, name):
    y = leaf() * 2.0
    w = y.sin()
    write(y)
    assert writers(refusal(w)) == f"Since then its memory was written in place by {name}."


def test_several_writers_in_order_and_the_one_that_hit():
    y = leaf(6) * 2.0
    y.square_()                                            # before the save: of no interest
    w = y[0:3].sin()
    y[0].add_(1.0)
    y[3:].exp_()
    y[5] = 0.0
    y[4] = 0.0
    assert writers(refusal(w)) == ("Since then its memory was written in place by add_, exp_, __setitem__ (2 times); add_ was the last to "
                                   "touch these elements.")


def test_of_many_writers_the_last_eight():
    y = leaf(6) * 2.0
    w, part = y.sin(), y[0].sin()
    y[0] = 1.0
    for _ in range(20):
        y[1].add_(1.0)
    y[2:].tanh_()
    known = "Since then its memory was written in place by the last 8 of 22 writes: add_ (7 times), tanh_"
    assert writers(refusal(w)) == known + "; tanh_ was the last to touch these elements."
    assert writers(refusal(part)) == known + ", none of which touched these elements: an earlier one did."


def test_gradient_accumulation_is_a_writer():
    x = leaf()
    (x * x).sum().backward()
    scale = leaf()
    w = x.grad * scale
    (x * x).sum().backward()
    assert "saved as input 0 of MultiplyGradNode" in refusal(w)
    w = x.grad * scale
    (x * x).sum().backward()
    assert writers(refusal(w)) == "Since then its memory was written in place by add_."

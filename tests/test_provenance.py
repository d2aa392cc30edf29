"""The version error says which operator saved the value, as what, who has overwritten it, and what to do (S0.3, S5.3)."""
import re

import numpy as np
import pytest

import python_api as paddle


def leaf(n=3):
    return paddle.to_tensor(np.linspace(0.5, 1.5, n), stop_gradient=False)


OUTSIDE = "code outside of the library"
BUMPED = "_bump_inplace_version()"


def refusal(loss):
    """A way out is offered that leads out: what others write no mode of the library preserves."""
    with pytest.raises(RuntimeError) as caught:
        loss.sum().backward()
    text = str(caught.value)
    assert text.startswith("(PermissionDenied) Tensor '") and "will used in gradient computation. It was saved as " in text
    assert ("allow_mutation_on_saved_tensors()" in text) is (OUTSIDE not in text and BUMPED not in text)
    assert "Clone the tensor before the write" in text or "give the operator a clone() of the tensor" in text
    return text


def writers(text):
    return text[text.index("Since then"):re.search(" (Clone|That is)", text).start()]


def test_who_saved_the_value_and_as_what():
    z = (leaf() * 2.0).exp()
    w = z * 1.0
    z.add_(1.0)
    assert "It was saved as output of ExpGradNode, shape [3], dtype float64." in refusal(w)
    y = leaf() * 2.0
    w = paddle.maximum(leaf(), y)
    y.zero_()
    assert "It was saved as input 1 of MaximumGradNode" in refusal(w)


def lend(t):
    with t.detach().writable_array() as a:
        a[0] = 5.0


@pytest.mark.parametrize(("write", "name"), [
    (lambda t: t.add_(1.0), "add_"), (lambda t: t.__setitem__(0, 1.0), "__setitem__"),
    (lambda t: t.__setitem__([0, 1], 1.0), "__setitem__"),
    (lambda t: t.fill_(1.0), "fill_"), (lambda t: t[:2].multiply_(2.0), "multiply_"), (lambda t: t.copy_(leaf()), "copy_"),
    (lambda t: t.set_value(np.zeros(3)), "copy_"), (lambda t: t.reshape_([3, 1]), "reshape_"), (lambda t: t.cumsum_(0), "cumsum_"),
    (lambda t: t.detach().exp_(), "exp_"), (lambda t: t._bump_inplace_version(), BUMPED),
    (lambda t: t.detach().__dlpack__(copy=False), f"{OUTSIDE} (2 times)"), (lambda t: lend(t), f"{OUTSIDE} (2 times)"),
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


@pytest.mark.parametrize("program", ["before", "after", "elsewhere"])
def test_no_mode_is_recommended_that_would_refuse_too(program):
    """Writers of both kinds, in either order, and an export of other elements: under that mode the same refusal comes."""
    def run():
        y = leaf(6) * 2.0
        w = y.sin()
        if program == "before":
            lend(y)
        y[0:2].add_(1.0)
        if program != "before":
            lend(y if program == "after" else y[3:])
        return w

    assert OUTSIDE in refusal(run())
    with paddle.autograd.allow_mutation_on_saved_tensors():
        w = run()
    assert OUTSIDE in refusal(w)


def test_a_write_that_the_program_counted_itself_is_no_array():
    """Nothing is said of arrays and capsules that nobody has; and no mode preserves what the library did not see coming (S5.3)."""
    def run():
        y = leaf() * 2.0
        w = y.sin()
        y._bump_inplace_version()
        return w

    text = refusal(run())
    assert "That is this program's own call" in text
    assert "capsule" not in text
    assert OUTSIDE not in text
    with paddle.autograd.allow_mutation_on_saved_tensors():
        w = run()
    assert BUMPED in refusal(w)


def test_the_advice_for_exports_leads_out():
    """Each of the three ways: the export before forward, a copy assigned after backward, and a clone for the operator."""
    want = 2 * np.cos(2 * np.linspace(0.5, 1.5, 3))
    for way in ("before", "copy", "clone"):
        x = leaf()
        y = x * 2.0
        if way == "before":
            with y.detach().writable_array() as a:
                np.multiply(a, 1.0, out=a)
            del a
        w = (y.clone() if way == "clone" else y).sin()
        if way == "clone":
            lend(y)
        a = y.numpy()
        a[:] = 0.0
        w.sum().backward()
        y.detach().copy_(paddle.to_tensor(a))
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-14)

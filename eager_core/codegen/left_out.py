"""What the reference offers in place, or as a keyword of in-place operators and their twins, and this library on purpose does not."""
from __future__ import annotations

METHODS = {
    "grad_": "In the reference a property, not an operation: the bare gradient. `x.grad` reads and sets it.",
    "reconstruct_from_":
        "Makes the tensor another one, with that one's memory, shape, dtype and history: views and saved values of the old memory would "
        "lose the tensor they belong to, and in place no dtype changes (S7.2). Say `x = other`, or `x.data = other` where shape and dtype "
        "are the same.",
    "resize_":
        "Changes the number of elements, and with it the memory that views, saved values and a kept gradient share with the tensor; new "
        "elements are undefined. Say `x.reshape_(shape)` where the number stays, else `x = pad(...)` or `x = x.flatten()[:n]`.",
    "set_":
        "Rebinds the tensor to other memory, with a shape and strides of its own choice. Say `x.data = other` where shape and dtype are "
        "the same, else `x = other` or `as_strided`.",
}

KEYWORDS = {
    "out": "of functions of the operator table: a result is a new tensor. Say `target.copy_(f(x))`, or use the in-place form.",
    "alpha": "of `add` and `subtract`, and of their in-place forms. Say `x.add_(y * alpha)`.",
    "rounding_mode": "of `divide` and `div`, and of their in-place forms. Say `floor_divide`, or `trunc_` behind `divide_`.",
}

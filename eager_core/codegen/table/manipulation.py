"""Rows of operators that move elements about."""
from __future__ import annotations

from ..model import Op
from .builders import NAME, view

OPS: tuple[Op, ...] = (
    view("diagonal", "DIAGONAL", "x: tensor, offset: int = 0, axis1: int = 0, axis2: int = 1" + NAME,
         "A diagonal of two axes as the last axis of a view.", "diagonal", inplace=False),
    Op("expand", "array", "x: tensor, shape: ints" + NAME, "Axes of length 1 repeated to a shape (-1: as it is), in new memory.",
       kernel="manipulation.expand", lowlevel="expand_v2", grad={"x": "manipulation.sum_to(grad, x.meta)"}, formula="grad summed"),
    Op("tile", "array", "x: tensor, repeat_times: ints" + NAME, "Repeated along the axes.", kernel="manipulation.tile",
       grad={"x": "manipulation.tile_grad(grad, x.meta)"}, formula="grad summed over the repetitions"),
    *(Op(name, "array", "x: tensor, diagonal: int = 0" + NAME, f"The {word} triangle of matrices, zero elsewhere.",
         kernel=f"manipulation.{name}",
         lowlevel=name, inplace=True, grad={"x": f"{name}(grad, diagonal)"}, formula=f"{name}(grad)")
      for name, word in (("tril", "lower"), ("triu", "upper"))),
    Op("pad_constant", "array", "x: tensor, before: ints, after: ints, value: float = 0.0", "x surrounded by a number.",
       kernel="manipulation.pad_constant", public=False, method=False, grad={"x": "manipulation.pad_grad(grad, x.meta, before)"},
       formula="grad inside"),
)

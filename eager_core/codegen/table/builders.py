"""Short forms for rows of one kind."""
from __future__ import annotations

from ..model import Op

NAME = ", name: ignored = None"
FLOATING = "that of the input; bool and integers of at most 16 bits become float32, longer ones float64"
FLOAT64 = "that of the input; bool and integers become float64"
REAL = "that of the input; the real one of a complex dtype"
COMPLEX = "the complex one of the input's dtype"
PLACES = "int64"
WITH_PLACES = "that of the input; of the places int64"
SUMMED = "that of the input; bool and integers in 64 bits"
UNARY = "x: tensor" + NAME
BINARY = "x: operand, y: operand" + NAME
REDUCE = "x: tensor, axis: axes = None @ dim, keepdim: bool = False @ keep_dim, dtype: dtype = None @ out_dtype" + NAME
REDUCE_PLAIN = "x: tensor, axis: axes = None @ dim, keepdim: bool = False @ keep_dim" + NAME


def unary(name: str, kernel: str, doc: str, formula: str, grad: dict[str, str] | None = None, dtypes: str = "float", **more: object) -> Op:
    return Op(name, "unary", UNARY, doc, kernel=kernel, dtypes=dtypes, inplace=more.pop("inplace", True), grad=grad,  # type: ignore[arg-type]
              formula=formula, **more)  # type: ignore[arg-type]


def binary(name: str, kernel: str, doc: str, formula: str, grad: dict[str, str] | str | None = None, dtypes: str = "same",
           lowlevel: str = "", inplace: bool = True, saves: tuple[str, ...] = (), aliases: tuple[str, ...] = (),
           commutes: str = "never") -> Op:
    return Op(name, "binary", BINARY, doc, kernel=kernel, dtypes=dtypes, inplace=inplace, grad=grad, formula=formula, lowlevel=lowlevel,
              inputs=("X", "Y"), saves=saves, aliases=aliases, commutes=commutes)


def fused(name: str, kernel: str, doc: str, grad: dict[str, str]) -> Op:
    """A gradient kernel: an operator like any other, so that it can be differentiated again."""
    return Op(name, "binary", "saved: tensor, grad: tensor", doc, kernel=kernel, grad=grad, inputs=("X", "DOut"), public=False,
              method=False,
              formula="")


def reduction(name: str, kernel: str, doc: str, formula: str, signature: str, start: int, grad: dict[str, str] | str | None,
              saves: tuple[str, ...] = (), dtypes: str = "same", mean: int = 0, lowlevel: str = "") -> Op:
    fixed = [] if "dtype:" in signature else [("dtype", -1.0)]
    return Op(name, "reduction", signature, doc, kernel=kernel, dtypes=dtypes, grad=grad, saves=saves, formula=formula,
              lowlevel=lowlevel or f"reduce_{name}", attributes=(*fixed, ("start", start), ("mean", mean)))


def view(name: str, variant: str, signature: str, doc: str, lowlevel: str, inputs: tuple[str, ...] = ("X",), inplace: bool = True,
         attributes: tuple[tuple[str, float], ...] = (), public: bool = True) -> Op:
    return Op(name, "view", signature, doc, kernel="view:" + variant, lowlevel=lowlevel, inputs=inputs, results=("Out", "XShape"),
              inplace=inplace, grad="view", attributes=attributes, public=public, functional=public or not inplace,
              formula="the gradient in x's shape; a view, nothing is saved")

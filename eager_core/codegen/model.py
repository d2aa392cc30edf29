"""The typed, frozen form of a row. A bad row fails here, by name, and not in the C compiler."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

# kind of parameter -> C constant
KINDS = {
    "tensor": "PARAM_TENSOR", "operand": "PARAM_OPERAND", "tensors": "PARAM_TENSORS", "optional": "PARAM_OPTIONAL", "float": "PARAM_FLOAT",
    "int": "PARAM_INT", "bool": "PARAM_BOOL", "str": "PARAM_STR", "ints": "PARAM_INTS", "axes": "PARAM_AXES", "dtype": "PARAM_DTYPE",
    "number": "PARAM_NUMBER", "object": "PARAM_OBJECT", "ignored": "PARAM_IGNORED",
}
TENSOR_KINDS = ("tensor", "operand", "tensors", "optional")
FAMILIES = ("unary", "binary", "ternary", "clip", "scale", "gelu", "reduction", "unreduce", "matmul", "rows", "cast", "pick", "put", "view",
            "getitem", "setitem", "array", "broadcast", "linalg", "node")
SPARING = ("unary", "binary", "ternary", "clip", "scale")      # families whose kernel writes into the target; others copy into it
COMMUTES = ("never", "real", "always")
DTYPE_RULES = ("same", "float", "bool", "real", "logical", "whole")


@dataclass(frozen=True)
class Param:
    """One parameter of the public signature, such as ``axis: axes = None``."""

    name: str
    kind: str
    default: str | None         # as written in the signature; None: required
    lowlevel: str | None        # name in the entry point's attribute list

    @property
    def is_tensor(self) -> bool:
        return self.kind in TENSOR_KINDS


@dataclass(frozen=True)
class Op:
    """One operator. The docstring of ``table`` says what the fields mean."""

    name: str
    family: str
    signature: str
    doc: str
    lowlevel: str = ""
    inputs: tuple[str, ...] = ("X",)
    results: tuple[str, ...] = ("Out",)
    kernel: str = ""
    dtypes: str = "same"
    attributes: tuple[tuple[str, float], ...] = ()      # fixed attributes behind the public ones
    inplace: bool = False
    bare: bool = False                                  # the in-place form has no underscore, as the reference's increment
    functional: bool = True
    method: bool = True
    public: bool = True
    grad: dict[str, str] | str | None = None            # formula per input, or the name of a native function
    saves: tuple[str, ...] = ()                         # only with a native gradient: "x", "out", "x.meta", "y for x"
    copies: tuple[str, ...] = ()                        # of what is saved, what is copied, so that it may change before backward
    aliases: tuple[str, ...] = ()                       # further public names, in both forms
    commutes: str = "never"                             # whether op(y, x) is op(x, y), bit by bit: of which operands
    formula: str = ""                                   # mathematics, for the reference page
    result: str = ""                                    # dtype of an array operator's result, in words, if not that of its input
    params: tuple[Param, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", parse_signature(self))
        if not self.lowlevel:
            object.__setattr__(self, "lowlevel", self.name)
        self.check()

    def check(self) -> None:
        def require(condition: bool, message: str) -> None:
            if not condition:
                raise ValueError(f"operator table, row {self.name!r}: {message}")

        require(bool(re.fullmatch(r"[a-z][a-z0-9_]*", self.name)), "the name must be in snake case")
        require(self.family in FAMILIES, f"unknown family {self.family!r}")
        require(self.dtypes in DTYPE_RULES, f"unknown dtype rule {self.dtypes!r}")
        require(self.commutes in COMMUTES, f"commutes must be one of {', '.join(COMMUTES)}, and is {self.commutes!r}")
        require(self.commutes == "never" or (self.family == "binary" and len({p.kind for p in self.tensors}) == 1),
                "only two operands of one kind can change places")
        require(bool(self.doc), "a line of documentation is missing")
        require(len(self.all_attributes) <= 6, "more than 6 attributes")
        require(len(self.tensors) <= 4, "more than 4 tensors")
        require(len(self.params) <= 16, "more than 16 parameters")    # the parser's MAX_PARAMS
        if isinstance(self.grad, dict):
            unknown = set(self.grad) - {p.name for p in self.tensors}
            require(not unknown, f"a gradient is given for {sorted(unknown)}, which are no tensor inputs")
        require(set(self.copies) <= {p.name for p in self.tensors}, "only tensor inputs can be copied")
        require(not self.bare or not self.functional, "two forms of one name")
        if self.inplace:
            require(bool(self.tensors), "an in-place form needs a tensor to write to")

    @property
    def tensors(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if p.is_tensor)

    @property
    def public_attributes(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if not p.is_tensor and p.kind != "ignored")

    @property
    def all_attributes(self) -> tuple[str, ...]:
        """In the order in which the family's rule reads them."""
        names = tuple(p.name for p in self.public_attributes) + tuple(name for name, _ in self.attributes)
        order = ("axis", "keepdim", "dtype", "start", "mean") if self.family == "reduction" else names
        return tuple(sorted(names, key=order.index))

    @property
    def defaults(self) -> tuple[float, ...]:
        """Of all attributes, as numbers; objects have none."""
        values = {p.name: default_number(p) for p in self.public_attributes} | dict(self.attributes)
        return tuple(values[name] for name in self.all_attributes)

    @property
    def spares(self) -> bool:
        """Whether the in-place form takes no memory for a result."""
        return self.inplace and self.family in SPARING

    @property
    def takes_list(self) -> bool:
        return any(p.kind == "tensors" for p in self.params)

    @property
    def constant(self) -> str:
        return "OP_" + self.name.upper()

    @property
    def node_name(self) -> str:
        special = {"reshape": "Reshape2", "transpose": "Transpose2", "region_write": "SetValue", "view": "View", "setitem": "SetValue",
                   "getitem": "Slice"}
        return special.get(self.name, "".join(part.capitalize() for part in self.name.split("_"))) + "GradNode"

    @property
    def public_signature(self) -> str:
        """As Python shows it: ``sum(x, axis=None, keepdim=False, name=None)``."""
        parts = [p.name if p.default is None else f"{p.name}={p.default}" for p in self.params]
        return f"{self.name}({', '.join(parts)})"


def default_number(p: Param) -> float:
    if p.kind == "dtype":
        return -1.0
    if p.default in (None, "None", "False") or p.kind in ("str", "ints", "axes", "object"):
        return 0.0
    return 1.0 if p.default == "True" else float(p.default)


def parse_signature(op: Op) -> tuple[Param, ...]:
    """``x: tensor, axis: axes = None @ dim, name: ignored = None``: name, kind, default, name in the attribute list."""
    params = []
    for part in filter(None, (p.strip() for p in re.split(r",\s*(?=[a-z_0-9]+\s*:)", op.signature))):
        found = re.fullmatch(r"(\w+)\s*:\s*(\w+)\s*(?:=\s*([^@]+?))?\s*(?:@\s*(\w+))?", part)
        if not found or found[2] not in KINDS:
            raise ValueError(f"operator table, row {op.name!r}: cannot read the parameter {part!r}")
        name, kind, default, lowlevel = found.groups()
        if lowlevel is None and kind not in (*TENSOR_KINDS, "ignored"):
            lowlevel = name
        params.append(Param(name, kind, default, lowlevel))
    return tuple(params)

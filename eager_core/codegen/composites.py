"""What python_api puts together from operators of the table, read from its source: nothing need be built or imported to know it."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2] / "python_api"
AS_METHODS = {"clone": "assign", "astype": "cast"}                          # methods of Tensor that call an operator of another name
AS_HELPERS = {"sum_to": "sum"}                                              # helpers of gradients that composites borrow
NO_OPERATORS = ("autograd", "creation", "framework", "sharing", "vlog")     # modules whose functions are none


@dataclass(frozen=True)
class Composite:
    """A Python function that is an operator to users."""

    module: Module
    node: ast.FunctionDef

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def decorator(self) -> str:
        return next((d for d in map(ast.unparse, self.node.decorator_list) if d.split("(")[0] == "composite"), "")

    @property
    def method(self) -> bool:
        return bool(self.decorator) and "method=False" not in self.decorator

    @property
    def constant(self) -> bool:
        """No tensor that it makes has a gradient."""
        return "constant=True" in self.decorator or self.module.name == "sampling"

    @property
    def arguments(self) -> str:
        """As Python shows them, without annotations."""
        plain = ast.parse(ast.unparse(self.node)).body[0]
        assert isinstance(plain, ast.FunctionDef)
        for argument in ast.walk(plain.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return ast.unparse(plain.args)

    @property
    def doc(self) -> str:
        """The first paragraph."""
        return " ".join((ast.get_docstring(self.node) or "").split("\n\n")[0].split())


class Module:
    """One file of python_api."""

    def __init__(self, path: Path) -> None:
        self.name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        self.body = ast.parse(path.read_text(encoding="utf-8")).body
        self.functions = {node.name: node for node in self.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def exported(self) -> set[str]:
        """Names in ``__all__``."""
        for node in self.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" and isinstance(node.value, ast.List):
                return set(ast.literal_eval(node.value))
        return set()

    @cached_property
    def packages(self) -> set[str]:
        """Names of imported modules, whose functions are no operators."""
        plain = {alias.asname or alias.name for node in self.body if isinstance(node, ast.Import) for alias in node.names}
        return plain | {name for name, (home, _) in self.imported.items() if home in ("python_api", "eager_core.array_kernels")}

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Local name -> module and name there."""
        return {alias.asname or alias.name: (node.module or "", alias.name) for node in self.body if isinstance(node, ast.ImportFrom)
                for alias in node.names}

    def composites(self) -> Iterator[Composite]:
        return (one for one in (Composite(self, node) for node in self.functions.values()) if one.decorator)


class Library:
    """All of python_api."""

    def __init__(self) -> None:
        self.modules = {module.name: module for module in map(Module, sorted(SOURCE.rglob("*.py")))}
        top = self.modules["__init__"]
        self.public: dict[str, set[str]] = {"": set(top.exported), "linalg": self.modules["linalg"].exported,
                                            "nn.functional": self.modules["nn.functional"].exported}
        for node in top.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and (node.module or "").startswith("python_api."):
                self.public[""] |= self.modules[(node.module or "").removeprefix("python_api.")].exported

    @cached_property
    def composites(self) -> list[Composite]:
        """The functions under ``@composite``, and the other public ones of modules that have operators."""
        found = {one.node: one for module in self.modules.values() for one in module.composites()}
        for place, names in self.public.items():
            for name in sorted(names):
                module = self.found(place, name)
                if module and module.name.split(".")[0] not in NO_OPERATORS:
                    found.setdefault(module.functions[name], Composite(module, module.functions[name]))
        return list(found.values())

    def creation(self) -> list[Composite]:
        """The functions that make tensors, or capsules of them."""
        modules = [self.modules["creation"], self.modules["sharing"]]
        return [Composite(module, node) for module in modules for node in module.functions.values() if node.name in module.exported]

    def paths(self, one: Composite) -> list[str]:
        """How users write it: ``cross``, ``linalg.cross``."""
        places = [place for place, names in self.public.items() if one.name in names and self.found(place, one.name) is one.module]
        return [f"{place}.{one.name}".removeprefix(".") for place in places]

    def found(self, place: str, name: str) -> Module | None:
        """The module that defines a public name, or None for an operator of the table."""
        module = self.modules[place or "__init__"]
        while name not in module.functions:
            source, other = module.imported.get(name, ("", ""))
            if not source:
                star = [node.module or "" for node in module.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
                homes = [self.modules[s.removeprefix("python_api.")] for s in star if s.startswith("python_api.")]
                return next((home for home in reversed(homes) if name in home.exported), None)
            if not source.startswith("python_api."):
                return None
            module, name = self.modules[source.removeprefix("python_api.")], other
        return module

    def parts(self, one: Composite, operators: set[str]) -> list[str]:
        """Operators and composites that it surely calls, itself or by way of private functions; what may be NumPy's is not among them."""
        found: set[str] = set()
        self._follow(one.module, one.node, operators | {c.name for c in self.composites}, found, set())
        return sorted(name for name in found if name != one.name)

    def _follow(self, module: Module, node: ast.FunctionDef, names: set[str], found: set[str], seen: set[ast.FunctionDef]) -> None:
        if node in seen:
            return
        seen.add(node)
        given = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        tensors = {a.arg for a in given if a.annotation and "Tensor" in ast.unparse(a.annotation)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id not in {a.arg for a in given}:
                self._name(module, inner.id, names, found, seen)
            elif isinstance(inner, ast.Subscript) and ast.unparse(inner.value) == "OPS" and isinstance(inner.slice, ast.Constant):
                found.add(str(inner.slice.value).rstrip("_"))
            elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                method = AS_METHODS.get(inner.func.attr, inner.func.attr)
                of = root(inner.func.value)
                if method in names and (of in tensors or (of and of not in module.packages and not hasattr(np.ndarray, inner.func.attr))):
                    found.add(method.rstrip("_"))

    def _name(self, module: Module, name: str, names: set[str], found: set[str], seen: set[ast.FunctionDef]) -> None:
        source, other = module.imported.get(name, ("", ""))
        home = source.removeprefix("python_api.")
        if source == "eager_core" and other in names:
            found.add(other.rstrip("_"))
        elif source.startswith("eager_core.gradient_helpers.") and other in AS_HELPERS:
            found.add(AS_HELPERS[other])
        elif home != source and home in self.modules and home.split(".")[0] not in NO_OPERATORS:
            self._name(self.modules[home], other, names, found, seen)
        elif name in module.functions and name in names:
            found.add(name)
        elif name in module.functions:
            self._follow(module, module.functions[name], names, found, seen)


def root(node: ast.expr) -> str:
    """The name that a chain of methods and sums begins with, or nothing if it leaves tensors on the way."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return "" if node.attr in ("numpy", "shape", "dtype") else root(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return root(node.func)
    if isinstance(node, ast.BinOp):
        return root(node.left)
    return root(node.value) if isinstance(node, ast.Subscript) else ""

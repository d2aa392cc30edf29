"""Looking at the graph behind a tensor: drawings as text, and what it keeps in memory."""
from __future__ import annotations

from dataclasses import dataclass

from eager_core import Tensor
from eager_core.grad_node import GradNode
from eager_core.graph_view import describe, node_behind, saved_by

__all__ = ["Node", "Saved", "SavedTensors", "nodes", "saved_tensors", "to_dot", "to_mermaid"]


@dataclass(frozen=True, slots=True)
class Saved:
    """A value that a node keeps for backward."""

    node: str
    role: str
    """``input 0``, ``output``, ..."""
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    """Of the value's elements; 0 if only shape and dtype are kept."""
    memory: int
    """A number that saves in the same memory have in common; 0 if none is held."""
    memory_nbytes: int
    """Of all that memory: as a whole it stays while a part of it is saved."""
    version: int
    """Of the memory when the value was saved."""
    version_now: int
    state: str
    """``kept``; ``overwritten``: backward will refuse, unless the old value is preserved; ``packed`` by a hook; ``shape only``."""

    def __str__(self) -> str:
        text = f"{self.role} {self.dtype}{list(self.shape)}"
        if self.state == "shape only":
            return f"{text}, shape only"
        if self.state == "packed":
            return f"{text}, packed by a hook"
        text += f", {self.nbytes} B, version {self.version}"
        return text if self.state == "kept" else f"{text}, OVERWRITTEN (now version {self.version_now})"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph. `edges` are (number of the node behind, slot), None where no gradient is wanted."""

    number: int
    kind: str
    """``operator``, ``view``, ``write`` (a region of a tensor was overwritten, by an item assignment or through a view), ``leaf``."""
    name: str
    inplace: bool
    """The operator wrote its result over its first input."""
    freed: bool
    """By a backward pass without ``retain_graph``."""
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    """Shape and dtype of each."""
    edges: tuple[tuple[int, int] | None, ...]
    region: tuple[tuple[int, ...], int] | None
    """Of a view or a write: shape, and where it begins among the elements of the whole."""
    hooks: int
    saved: tuple[Saved, ...]


class SavedTensors(list[Saved]):
    """All that a graph keeps for backward; printed, a table with the total."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, that which several saves share counted once, and as a whole where a part is saved."""
        return sum({one.memory: one.memory_nbytes for one in self if one.memory}.values())

    def __str__(self) -> str:
        lines = [f"{one.node}: {one}" for one in self]
        return "\n".join([*lines, f"{len(self)} values, {self.nbytes} B of memory"])


def nodes(*tensors: Tensor) -> list[Node]:
    """Return the nodes of the graph behind tensors, numbered in the order in which they are met from there.

    Parameters
    ----------
    *tensors : Tensor
        A constant has no graph.

    Returns
    -------
    list of Node
        Empty if all of them are constants.

    Raises
    ------
    TypeError
        One of them is no Tensor.
    """
    return _walk(tensors)[0]


def saved_tensors(*tensors: Tensor) -> SavedTensors:
    """Return what the graph behind tensors keeps for backward: ``print(saved_tensors(loss))``, ``saved_tensors(loss).nbytes``.

    Parameters and errors are those of `nodes`.

    Returns
    -------
    SavedTensors
        A list of `Saved`, node by node in the order of `nodes`.
    """
    return SavedTensors(one for node in nodes(*tensors) for one in node.saved)


def to_dot(*tensors: Tensor) -> str:
    """Draw the graph behind tensors as text for Graphviz (``dot -Tsvg``).

    Arrows lead the way that gradients go. In-place nodes are orange, views are dashed, region writes are octagons, leaves are blue; saved
    values are listed in their node with version and bytes, and overwritten ones make it red. Parameters and errors are those of `nodes`.
    """
    found, roots = _walk(tensors)
    lines = ["digraph {", '    node [shape=box, fontname="sans-serif", fontsize=10]']
    for k, (tensor, number) in enumerate(zip(tensors, roots, strict=True)):
        lines.append(f'    t{k} [label="{_dot(_tensor_text(tensor))}", shape=ellipse]')
        if number is not None:
            lines.append(f"    t{k} -> n{number}")
    for node in found:
        style = _DOT[node.kind]
        if node.inplace:
            style += ', style=filled, fillcolor="#ffd9a0"'
        if any(one.state == "overwritten" for one in node.saved):
            style += ', color="#c00000", penwidth=2'
        label = "".join(_dot(line) + "\\l" for line in _text(node))
        lines.append(f'    n{node.number} [label="{label}"{style}]')
        lines += [f'    n{node.number} -> n{edge[0]} [label="{_dot(_edge_text(node, i, edge[1]))}"]'
                  for i, edge in enumerate(node.edges) if edge is not None]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(*tensors: Tensor) -> str:
    """Draw the graph behind tensors as Mermaid text, which Markdown pages show as a picture; marked as in `to_dot`.

    Parameters and errors are those of `nodes`.
    """
    found, roots = _walk(tensors)
    lines = ["flowchart TD"]
    for k, (tensor, number) in enumerate(zip(tensors, roots, strict=True)):
        lines.append(f'    t{k}(["{_mermaid(_tensor_text(tensor))}"])')
        if number is not None:
            lines.append(f"    t{k} --> n{number}")
    for node in found:
        left, right = _MERMAID[node.kind]
        lines.append(f'    n{node.number}{left}"{"<br>".join(map(_mermaid, _text(node)))}"{right}')
        lines += [f'    n{node.number} -->|"{_mermaid(_edge_text(node, i, edge[1]))}"| n{edge[0]}'
                  for i, edge in enumerate(node.edges) if edge is not None]
    lines += ["    classDef inplace fill:#ffd9a0", "    classDef leaf fill:#c9dcee", "    classDef view stroke-dasharray:4",
              "    classDef overwritten stroke:#c00000,stroke-width:3px"]
    for name, members in (("inplace", [node for node in found if node.inplace]), ("leaf", [node for node in found if node.kind == "leaf"]),
                          ("view", [node for node in found if node.kind == "view"]),
                          ("overwritten", [node for node in found if any(one.state == "overwritten" for one in node.saved)])):
        if members:
            lines.append(f"    class {','.join(f'n{node.number}' for node in members)} {name}")
    return "\n".join(lines) + "\n"


_DOT = {"operator": "", "view": ", style=dashed", "write": ", shape=octagon", "leaf": ', style=filled, fillcolor="#c9dcee"'}
_MERMAID = {"operator": ("[", "]"), "view": ("[", "]"), "write": ("{{", "}}"), "leaf": ("([", "])")}


def _walk(tensors: tuple[Tensor, ...]) -> tuple[list[Node], list[int | None]]:
    """Breadth first, without recursion: graphs are as long as programs run."""
    numbers: dict[int, int] = {}
    order: list[GradNode] = []

    def number(node: GradNode) -> int:
        if id(node) not in numbers:
            numbers[id(node)] = len(order)
            order.append(node)
        return numbers[id(node)]

    roots = []
    for tensor in tensors:
        node, _ = node_behind(tensor)
        roots.append(None if node is None else number(node))
    found = []
    for k, node in enumerate(order):  # grows as it goes
        kind, name, inplace, freed, outputs, edges, region, hooks = describe(node)
        saved = tuple(Saved(name, *one) for one in saved_by(node))
        behind = tuple(None if edge is None else (number(edge), slot) for edge, slot in edges)
        found.append(Node(k, kind, name, inplace, freed, tuple(outputs), behind, region, hooks, saved))
    return found, roots


def _tensor_text(tensor: Tensor) -> str:
    name = f"{tensor.name} " if tensor.name else ""
    return f"{name}Tensor {list(tensor.shape)}, version {tensor.inplace_version}"


def _text(node: Node) -> list[str]:
    results = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in node.outputs)
    lines = [f"leaf {node.name}".strip() if node.kind == "leaf" else node.name + (", in place" if node.inplace else ""), results]
    if node.region is not None:
        lines.append(f"{'writes' if node.kind == 'write' else 'views'} {list(node.region[0])} from element {node.region[1]}")
    if node.hooks:
        lines.append(f"hooks: {node.hooks}")
    if node.freed:
        lines.append("freed by a backward pass")
    return lines + [f"saved {one}" for one in node.saved]


def _edge_text(node: Node, i: int, slot: int) -> str:
    text = {0: "the rest", 1: "what was written"}[i] if node.kind == "write" else f"input {i}"
    return text + (f" (output {slot})" if slot else "")


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _mermaid(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "#quot;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")

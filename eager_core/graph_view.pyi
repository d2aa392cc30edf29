from eager_core.eager_api import Tensor
from eager_core.grad_node import GradNode

def node_behind(tensor: Tensor) -> tuple[GradNode | None, int]: ...
def describe(
    node: GradNode,
) -> tuple[
    str,
    str,
    bool,
    bool,
    list[tuple[tuple[int, ...], str]],
    list[tuple[GradNode | None, int]],
    tuple[tuple[int, ...], int] | None,
    int,
]: ...
def saved_by(node: GradNode) -> list[tuple[str, tuple[int, ...], str, int, int, int, int, int, str]]: ...

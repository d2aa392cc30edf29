from typing import final

from eager_core.eager_api import Tensor

@final
class Run: ...

def run_backward(
    tensors: list[Tensor],
    grad_tensors: list[Tensor | None] | None,
    retain_graph: bool,
    create_graph: bool = False,
) -> None: ...
def run_grad(
    outputs: list[Tensor],
    inputs: list[Tensor],
    grad_outputs: list[Tensor | None] | None,
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool,
    no_grad_vars: list[Tensor] | None,
) -> list[Tensor | None]: ...

from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from eager_core.eager_api import Tensor

@disjoint_base
class LayerContext:
    materialize_grads: bool
    not_inplace_tensors: tuple[Tensor, ...]
    non_differentiable: tuple[Tensor, ...]
    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    def saved_tensor(self) -> tuple[Any, ...]: ...

def apply_layer(
    name: str,
    ctx: LayerContext,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    once: bool,
    inputs: list[Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any: ...

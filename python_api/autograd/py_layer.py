"""Functions with a backward of their own (S12.4 to S12.8)."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from eager_core import Tensor
from eager_core.custom_node import LayerContext, apply_layer

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]


class PyLayerContext(LayerContext):
    """What `forward` and `backward` of one call of a `PyLayer` tell each other.

    `save_for_backward` keeps tensors under the protection that operators have. Anything else may be hung on the object as an attribute; a
    tensor among it is not protected: written to between forward and backward, it gives backward its new value.
    """

    @property
    def container(self) -> tuple[Tensor | None, ...]:
        """What was given to `save_for_backward`."""
        return self.saved_tensor()

    def mark_not_inplace(self, *args: Tensor) -> None:
        """Say of inputs that `forward` returns that they are not changed in place: the caller gets another tensor over the same memory.

        Neither may be written in place in grad mode then, as the other's history would not know.
        """
        self.not_inplace_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say of results that they are constants. `backward` still takes a gradient for each: zeros, or None."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Say what `backward` gets for a result that nobody used: zeros (the default), or None if `value` is False."""
        self.materialize_grads = value


class PyLayer:
    """Base of custom functions: a subclass has static methods `forward` and `backward`, and is called through `apply`.

    ``forward(ctx, *args, **kwargs)`` runs unrecorded and returns a Tensor, or a tuple or list with at least one. An input that it returns
    itself has been changed in place: it keeps its identity, its version moves, and leaves refuse. An input that it writes to must be
    returned.

    ``backward(ctx, *grads)`` gets one gradient for each Tensor that `forward` returned and returns one, or None, for each Tensor that
    `forward` was given: positional ones first, then those among the keywords, those in lists and tuples in their order. What it does
    with operators is recorded under ``create_graph``, so second derivatives need nothing more.

    Examples
    --------
    >>> class Cube(PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensor()
    ...         return grad * 3 * x * x
    >>> y = Cube.apply(x)
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """Compute the results. To be overridden."""
        raise NotImplementedError("You must implement the forward function for PyLayer.")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        """Compute the gradients of the inputs from those of the results. To be overridden."""
        raise NotImplementedError("You must implement the backward function for PyLayer.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` and record it.

        Raises
        ------
        ValueError
            No Tensor among the results, or a leaf that requires grad is written to or returned in place.
        RuntimeError
            An input was modified and is not returned, or results share memory in a way that would lose a gradient. What `forward` has
            written to its inputs is taken back then, and also when it raises something itself.
        """
        inputs = [t for value in (*args, *kwargs.values()) for t in _tensors(value)]
        once = getattr(cls.backward, "_once", False)
        return apply_layer(cls.__name__, PyLayerContext(), cls.forward, cls.backward, once, inputs, args, kwargs)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [one for one in value if isinstance(one, Tensor)] if isinstance(value, list | tuple) else []


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot be differentiated: it runs unrecorded, and a second derivative through it is an error.

    Parameters
    ----------
    backward : callable
        Of a `PyLayer`; the decorator goes below ``@staticmethod``.

    Returns
    -------
    callable
    """
    @functools.wraps(backward)
    def once(ctx: PyLayerContext, *args: Any) -> Any:
        return backward(ctx, *args)

    once._once = True  # type: ignore[attr-defined]
    return once

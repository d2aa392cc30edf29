"""What becomes of the tensors that operators keep for backward."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eager_core import Tensor
from eager_core.saved_hooks import SavedTensorsHooks

__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks:  # noqa: N801  a context manager, named as the reference names it
    """Keep tensors for backward in a form of one's own: ``with saved_tensors_hooks(pack, unpack):``.

    Inside the block, for every tensor that a recorded operator keeps with its elements, ``pack_hook`` is called once and its result is kept
    instead, and ``unpack_hook`` makes a tensor of that result each time that backward asks for it, in or outside of the block. Values of
    which only shape and dtype are kept are not packed. Blocks nest, and the innermost alone counts; other threads are not affected.

    A hook that copies (`numpy()`, `clone()`, a file) makes later writes to the tensor legal, and gradients stay exact. What it returns as
    it was given stays protected: a write to it makes backward refuse, as it does without hooks.

    Parameters
    ----------
    pack_hook : callable
        Takes a tensor, a constant over the memory that is kept, and may return anything. It must not write to the tensor. What it raises
        ends the operation, which then has not happened; in-place operations keep a copy of what they overwrite to that end.
    unpack_hook : callable
        Takes what `pack_hook` returned, and returns a tensor of the same shape, dtype and elements.

    Raises
    ------
    TypeError
        A hook cannot be called.

    Notes
    -----
    Both run under ``no_grad`` and are not packed themselves. In backward, an unpacked value of another shape is a ValueError, of another
    type or dtype a TypeError.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self._hooks = (pack_hook, unpack_hook)
        self._open: list[SavedTensorsHooks] = []
        SavedTensorsHooks(pack_hook, unpack_hook)  # refuses what cannot be called

    def __enter__(self) -> None:
        block = SavedTensorsHooks(*self._hooks)
        block.enter()
        self._open.append(block)

    def __exit__(self, *exc_info: object) -> None:
        self._open.pop().leave()

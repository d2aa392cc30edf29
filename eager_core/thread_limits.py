"""threadpoolctl, if it is installed, finds our threads among those of other libraries and may limit them.

It looks for shared libraries by the names of their files, whenever a limit is set; so it has to know of ours before the first limit, and
is imported with us.
"""
from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

from eager_core import thread_pool

__all__ = ["register"]


def _get(controller: Any) -> int:
    return thread_pool.get_num_threads()


def _set(controller: Any, num_threads: int) -> None:
    thread_pool.limit_num_threads(num_threads)


def _version(controller: Any) -> None:
    return None


def register() -> None:
    """Make threadpoolctl know of ``thread_pool``, under "openmp": what it calls the threads of loops, as against those of BLAS."""
    with contextlib.suppress(ImportError, AttributeError):          # not installed, or older than 3.2
        threadpoolctl = import_module("threadpoolctl")
        threadpoolctl.register(type("EagerController", (threadpoolctl.LibController,), {
            "user_api": "openmp",
            "internal_api": "eager",
            "filename_prefixes": ("thread_pool.",),
            "check_symbols": ("PyInit_thread_pool",),
            "get_num_threads": _get,
            "set_num_threads": _set,
            "get_version": _version,
        }))

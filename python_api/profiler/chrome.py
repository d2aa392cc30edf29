"""A profile in the JSON format of Chrome's tracing, which Perfetto reads as well."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from python_api.profiler.profile import profile

__all__ = ["write_trace"]


def write_trace(prof: profile, path: str | os.PathLike[str]) -> None:
    """Complete events ("X") per thread, and a counter ("C") of the bytes in use. Times are microseconds."""
    process = os.getpid()
    entries: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "eager"}}]
    threads: dict[int, int] = {}
    for event in prof.events:
        if event.thread not in threads:
            threads[event.thread] = len(threads) + 1
            entries.append({"ph": "M", "name": "thread_name", "pid": process, "tid": threads[event.thread],
                            "args": {"name": f"thread {threads[event.thread]}"}})
        notes: dict[str, Any] = {"inplace": event.inplace, "kernel us": event.kernel / 1e3, "self us": event.self_duration / 1e3,
                                 "allocated bytes": event.allocated, "bytes in use": event.in_use}
        if event.shapes is not None:
            notes["shapes"] = event.shapes
        if event.failed:
            notes["failed"] = True
        entries.append({"ph": "X", "name": event.name, "cat": event.kind, "pid": process, "tid": threads[event.thread],
                        "ts": event.start / 1e3, "dur": event.duration / 1e3, "args": notes})
    entries += [{"ph": "C", "name": "memory", "pid": process, "ts": time / 1e3, "args": {"bytes in use": nbytes}}
                for time, nbytes in prof.levels]
    Path(path).write_text(json.dumps({"traceEvents": entries, "displayTimeUnit": "ns"}) + "\n", "utf-8")

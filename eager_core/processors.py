"""How many cores this process may use."""
from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path

# Elementwise work soon waits for memory, not for cores; whoever knows better calls set_num_threads.
MOST_BY_DEFAULT = 8


def default_count() -> int:
    """Return a thread for each core, within the process's affinity and its control group's quota, and MOST_BY_DEFAULT at most."""
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    return max(1, min(MOST_BY_DEFAULT, cores(processors), quota()))


def cores(processors: Iterable[int], root: Path = Path("/sys/devices/system/cpu")) -> int:
    """Return how many cores the processors are: two that share one gain next to nothing when both wait for memory."""
    return len({_read(root / f"cpu{number}" / "topology" / "thread_siblings_list") or str(number) for number in processors})


def quota(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many processors' time the control group may use (version 2, then 1)."""
    limit = _read(root / "cpu.max").split() or [_read(root / "cpu" / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
    try:
        time, period = (float(number) for number in limit)
    except ValueError:              # "max", or no such file
        return MOST_BY_DEFAULT
    return max(1, math.ceil(time / period)) if time > 0 and period > 0 else MOST_BY_DEFAULT


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""

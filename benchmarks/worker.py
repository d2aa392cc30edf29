"""Times the works of one contender, in a process of its own; `run.py` says when.

    worker.py NAME THREADS      then one JSON request a line on standard input, one JSON answer a line on standard output
"""

from __future__ import annotations

import json
import os
import sys
import timeit
import warnings
from typing import Any

warnings.simplefilter("ignore")

import pyperf  # noqa: E402
from contenders import load  # noqa: E402
from works import WORKS  # noqa: E402

# A line is an answer: what the libraries print goes to standard error.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def main() -> None:
    name, threads = sys.argv[1], int(sys.argv[2])
    try:
        names = load(name, threads)
    except ImportError as error:
        return answer({"absent": str(error)})
    answer({"version": getattr(names["lib"], "__version__", "?")})
    works = {work.key: work for work in WORKS}
    timer: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                code = works[request["prepare"]].of(name)
                timer = None  # the previous work's memory goes first
                timer = timeit.Timer(code.run, code.setup, pyperf.perf_counter, dict(names)) if code else None
                answer({"able": code is not None})
            else:
                answer({"seconds": timer.timeit(request["loops"])})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})
    return None


def answer(what: dict[str, Any]) -> None:
    print(json.dumps(what), file=ANSWERS, flush=True)


main()

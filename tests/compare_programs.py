"""The same random imperative programs on this library and its peers: how often exact, refused, silently wrong.

    python tests/compare_programs.py --count 3000 ours torch paddle mygrad
    python tests/compare_programs.py --show torch 844         the shortest form of what went wrong there

Peers that are not installed are left out. Program number k is the same everywhere and at every time. Each engine runs in a process of its
own, since a program may end it or keep it forever.
"""
from __future__ import annotations

import argparse
import collections
import selectors
import subprocess
import sys
import warnings

from programs import generate
from programs.engines import ENGINES
from programs.judge import CRASH, EXACT, NOT_EXPRESSIBLE, OTHER_ERROR, REFUSED, WRONG_GRADIENT, WRONG_VALUE, judge, shortest

START, PATIENCE = 120, 20        # seconds without a word; an import takes seconds, a program milliseconds
COLUMNS = (EXACT, REFUSED, WRONG_VALUE, WRONG_GRADIENT, OTHER_ERROR, CRASH)


def work(name, first, count):
    """One line per program: number, verdict, detail."""
    warnings.simplefilter("ignore")
    engine = ENGINES[name]()
    for number in range(first, first + count):
        program = generate.make(generate.seeded(number))
        print(number, "begun", flush=True)
        verdict = judge(engine, program) if program else None
        print(number, "trivial" if verdict is None else f"{verdict.kind}\t{' '.join(verdict.detail.split())}", flush=True)


def lines_of(name, first, count):
    """What a worker says; None when it died or fell silent."""
    command = [sys.executable, __file__, "--worker", name, "--first", str(first), "--count", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        rest, patience = b"", START
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(patience):
                read = process.stdout.read(65536)
                if not read:
                    break
                patience = PATIENCE
                *whole, rest = (rest + read).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
        process.kill()
    if process.returncode:
        yield None


def run(name, first, count, details):
    found, end = {}, first + count
    while first < end:
        begun = False
        for line in lines_of(name, first, end - first):
            if line is None:
                if not begun:
                    raise RuntimeError(f"the worker of {name} does not start; see {__file__} --worker {name}")
                found[first] = f"{CRASH}\t"
                continue
            begun = True
            number, _, rest = line.partition(" ")
            if number.isdigit() and rest == "begun":
                first = int(number)
            elif number.isdigit():
                found[first] = rest
        first += 1
    if details:
        with open(details, "a") as file:
            file.writelines(f"{name} {number} {rest}\n" for number, rest in found.items())
    return {number: rest.partition("\t")[0] for number, rest in found.items() if rest != "trivial"}


def table(verdicts):
    yield "| | programs | " + " | ".join(COLUMNS) + " | not expressible |"
    yield "|---|" + "---|" * (len(COLUMNS) + 2)
    for name, kinds in rows(verdicts):
        count = collections.Counter(kinds.values())
        ran = sum(count[c] for c in COLUMNS)
        shares = " | ".join(f"{count[c] / ran:.2%}" if count[c] else "0" for c in COLUMNS)
        yield f"| {name} | {ran} | {shares} | {count[NOT_EXPRESSIBLE]} |"


def rows(verdicts):
    """Each engine, and before one that cannot say everything the first engine on what it can say."""
    first, *_ = verdicts
    for name, kinds in verdicts.items():
        if NOT_EXPRESSIBLE in kinds.values() and name != first:
            yield f"{first}, on those of {name}", {n: verdicts[first][n] for n in kinds if kinds[n] != NOT_EXPRESSIBLE}
        yield name, kinds


def show(name, number):
    warnings.simplefilter("ignore")
    engine, program = ENGINES[name](), generate.make(generate.seeded(number))
    kind = judge(engine, program).kind
    short = shortest(program, lambda p: judge(engine, p).kind == kind)
    print(engine.script(short))
    print("#", *judge(engine, short))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--details", metavar="FILE", help="append each program's verdict")
    parser.add_argument("--show", nargs=2, metavar=("ENGINE", "NUMBER"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show:
        show(options.show[0], int(options.show[1]))
    elif options.worker:
        work(options.worker, options.first, options.count)
    else:
        verdicts = {}
        for name in options.engines or ENGINES:
            if ENGINES[name].installed():
                verdicts[name] = run(name, options.first, options.count, options.details)
            else:
                print(f"{name}: not installed")
        print(*table(verdicts), sep="\n")


if __name__ == "__main__":
    main()

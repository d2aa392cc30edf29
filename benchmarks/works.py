"""What is measured: one row per work, its statements for each contender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LARGE = 1 << 22                  # "4M": arrays for which the C library asks the system for new pages each time, float64 ones at any rate


class Code(NamedTuple):
    setup: str
    run: str


@dataclass(frozen=True)
class Work:
    """Statements are shared by tensor libraries; `own` has what a contender says otherwise, None where it cannot do the work."""

    key: str
    title: str
    code: Code | None
    own: Mapping[str, Code | str | None] = field(default_factory=dict)      # a str: the setup is shared
    group: str = "small"
    readme: str = ""                                                        # title in the README, if it has the row

    def of(self, contender: str) -> Code | None:
        code = self.own.get(contender, None if contender in ("NumPy", "mygrad") else self.code)
        if isinstance(code, str):
            return Code(self.code.setup if self.code else "", code)
        return code


SMALL = "x = tensor(random.random((2, 3), dtype='float32')); y = tensor(np.ones((2, 3), 'float32'))"
RECORDED = "a = tensor(random.random((2, 3), dtype='float32'), True); y = tensor(np.ones((2, 3), 'float32'))"



# A regular 4x4 matrix of doubles, another and a vector; what to give to backward.
MATRICES = ("a = tensor(np.eye(4) * 4 + random.random((4, 4)), True); b = tensor(random.random((4, 4)), True); "
            "v = tensor(random.random(4), True); g = tensor(np.ones((4, 4))); h = tensor(np.ones(4))")


def matrices(key: str, title: str, run: str, numpy: str, gradient: str) -> tuple[Work, Work]:
    """Forward recorded, and forward and backward; NumPy has its own call to say for both."""
    return (Work(key, f"{title}, 4×4 float64, recorded", Code(MATRICES, run), {"NumPy": numpy}, group="matrices"),
            Work(f"{key}_backward", f"{title}, 4×4 float64, forward and backward", Code(MATRICES, f"({run}).backward({gradient})"),
                 {"NumPy": numpy}, group="matrices"))


def march(steps: int, width: int, title: str, group: str, key: str = "") -> Work:
    setup = f"v = tensor(random.random({width}), True)"
    in_place = f"programs.march_in_place(lib, v, {steps}, dtype='float64')"
    by_list = f"programs.march_by_list(lib, v, {steps})"
    return Work(key or f"march_{steps}", title, Code(setup, in_place), group=group, own={
        "torch": by_list, "paddle": by_list, "NumPy": f"programs.march_numpy(v, {steps})",
        # MyGrad's memory grows as steps² times width: 32 GB for the wide one.
        "mygrad": f"programs.march_in_place(lib, v, {steps})" if width == 8 else None})


def large(key: str, title: str, dtype: str, run: str, numpy: str) -> Work:
    setup = f"x = tensor(random.random({LARGE}, dtype='{dtype}')); y = tensor(np.zeros({LARGE}, '{dtype}'))"
    return Work(f"large_{key}_{dtype}", f"{title}, 4M {dtype}", Code(setup, run), own={"NumPy": numpy}, group="large")


WORKS: tuple[Work, ...] = (
    Work("tanh_", "`x.tanh_()`", Code(SMALL, "x.tanh_()"), {"NumPy": "np.tanh(x, out=x)"}, readme="`x.tanh_()`, 2×3 float32"),
    Work("multiply_", "`x.multiply_(y)`", Code(SMALL, "x.multiply_(y)"), {"NumPy": "np.multiply(x, y, out=x)"},
         readme="`x.multiply_(y)`, 2×3 float32"),
    Work("add", "`x + y`, unrecorded", Code(SMALL, "x + y"), {"NumPy": "x + y"}),
    Work("add_recorded", "`a + y`, recorded", Code(RECORDED, "a + y"), readme="recorded `a + y`, 2×3 float32"),
    Work("scale_recorded", "`a * 2.0`, recorded", Code(RECORDED, "a * 2.0")),
    Work("getitem", "`x[1]`", Code(SMALL, "x[1]"), {"NumPy": "x[1]"}),
    Work("getitem_recorded", "`a[1]`, recorded", Code(RECORDED, "a[1]")),
    Work("setitem", "`x[1] = row`", Code(SMALL + "; row = tensor(np.ones(3, 'float32'))", "x[1] = row"), {"NumPy": "x[1] = row"}),
    Work("sum", "`x.sum()`", Code(SMALL, "x.sum()"), {"NumPy": "x.sum()"}),
    Work("matmul_8", "`m @ m`, 8×8 float32", Code("m = tensor(random.random((8, 8), dtype='float32'))", "m @ m"), {"NumPy": "m @ m"}),
    *matrices("matmul_4", "`a @ b`", "a @ b", "a @ b", "g"),
    *matrices("inv_4", "`inv(a)`", "lib.linalg.inv(a)", "np.linalg.inv(a)", "g"),
    *matrices("solve_4", "`solve(a, v)`", "lib.linalg.solve(a, v)", "np.linalg.solve(a, v)", "h"),
    *matrices("det_4", "`det(a)`", "lib.linalg.det(a)", "np.linalg.det(a)", ""),
    Work("program_1", "`b = a*2; c = b**2; d = c.exp_(); d.sum().backward()`",
         Code(RECORDED, "b = a * 2; c = b**2; d = c.exp_(); d.sum().backward(); forget(a)"), readme="first program, forward and backward"),
    Work("chain_400", "chain of 400 recorded operators, backward", Code(RECORDED, "programs.chain(a, 400); forget(a)"), group="program"),
    Work("sgd_step", "64-64-10 network, batch 32, one SGD step",
         Code("state = programs.network(tensor, random, 64)", "programs.sgd_step(programs.names, *state)"), group="program"),
    Work("digits_step", "64-128-10 network, batch 32, one step with momentum",
         Code("state = programs.network(tensor, random, 128); programs.names.momentum = tensor(np.array(0.9, 'float32'))",
              "programs.momentum_step(programs.names, *state)"), group="program",
         readme="training step of `examples/digits.py`"),
    march(200, 8, "`u[t + 1] = f(u[t])`, 200 steps of 8 doubles, backward", "program"),
    march(2000, 8, "`u[t + 1] = f(u[t])`, 2000 steps of 8 doubles, backward", "program"),
    march(400, 256, "the same, 400 steps of 256 doubles", "linear", "march_400"),
    march(4000, 256, "the same, 4000 steps of 256 doubles", "linear", "march_4000"),
    *(large(key, title, dtype, run, numpy) for dtype in ("float32", "float64") for key, title, run, numpy in (
        ("add", "`x + y`", "x + y", "x + y"),
        ("add_", "`x.add_(y)`", "x.add_(y)", "np.add(x, y, out=x)"),
        ("exp", "`x.exp()`", "x.exp()", "np.exp(x)"),
        ("tanh_", "`x.tanh_()`", "x.tanh_()", "np.tanh(x, out=x)"),
        ("sum", "`x.sum()`", "x.sum()", "x.sum()"))),
    *(Work(f"program_1M_{dtype}", f"first program, 1M {dtype}, forward and backward",
           Code(f"a = tensor(random.random(1_000_000, dtype='{dtype}'), True)",
                "b = a * 2; c = b**2; d = c.exp_(); d.sum().backward(); forget(a)"), group="large") for dtype in ("float32", "float64")),
    Work("matmul_512", "`m @ m`, 512×512 float32", Code("m = tensor(random.random((512, 512), dtype='float32'))", "m @ m"),
         {"NumPy": "m @ m"}, group="large"),
    *(Work(f"columns_{dtype}", f"`x.sum(0)`, 100000×10 {dtype}",
           Code(f"x = tensor(random.random((100_000, 10), dtype='{dtype}'))", "x.sum(0)"), {"NumPy": "x.sum(0)"}, group="large")
      for dtype in ("float32", "float64")),
    *(Work(f"rows_{dtype}", f"`x.sum(1)`, 100000×33 {dtype}",
           Code(f"x = tensor(random.random((100_000, 33), dtype='{dtype}'))", "x.sum(1)"), {"NumPy": "x.sum(1)"}, group="large")
      for dtype in ("float32", "float64")),
    *(Work(f"read_next_{dtype}", f"`(x + y).sum()`, 4M {dtype}",
           Code(f"x = tensor(random.random({LARGE}, dtype='{dtype}')); y = tensor(np.zeros({LARGE}, '{dtype}'))", "(x + y).sum()"),
           {"NumPy": "(x + y).sum()"}, group="large") for dtype in ("float32", "float64")),
    Work("bias_1024x256", "`(x + b).sum().backward()`, 1024×256 float32, b of 256",
         Code("x = tensor(random.random((1024, 256), dtype='float32')); b = tensor(np.zeros(256, 'float32'), True)",
              "(x + b).sum().backward(); forget(b)"), group="large"),
    Work("chain_1M", "chain of 1,000,000 recorded operators, backward", Code(RECORDED, "programs.chain(a, 1_000_000); forget(a)"),
         group="long"),
)

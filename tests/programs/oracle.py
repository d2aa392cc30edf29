"""What is right: NumPy arrays share memory exactly as the tensors do, so running a program on them says what its values are.

Its derivative along a direction comes with it: each variable is a pair of arrays, value and tangent, which views look at alike. An operator
makes one complex number of the two, ``value + i STEP tangent``; with a step this small the imaginary part of the result is the derivative
without any rounding of differences. ``detach`` shares the value and starts a tangent of its own; a write under ``no_grad`` changes the
value and leaves the tangent (documented: gradients pass such a write as if it were the identity). Where neither occurs, central
differences of the values must say the same, which guards the oracle itself.
"""
from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from .operators import OPERATORS
from .program import Program, Statement, Var

STEP = 1e-30
LARGEST_VALUE, LARGEST_TANGENT = 20.0, 1e4


class Memory:
    """What views of one tensor have in common."""

    __slots__ = ("leaf", "ordered")

    def __init__(self, leaf=False, ordered=True):
        self.leaf, self.ordered = leaf, ordered  # ordered: every engine lays it out in C order


class Pair:
    """A variable."""

    __slots__ = ("memory", "tangent", "value")

    def __init__(self, value, tangent, memory):
        self.value, self.tangent, self.memory = value, tangent, memory

    @property
    def complex(self):
        return self.value + (1j * STEP) * self.tangent

    @property
    def shape(self):
        return self.value.shape


def _zeros_laid_out_as(view):
    """New memory in which a view lies as in its own: a reshape of both is a view, or a copy, of both."""
    root = view
    while root.base is not None:
        root = root.base
    offset = (view.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // view.itemsize
    return np.lib.stride_tricks.as_strided(np.zeros(root.size)[offset:], view.shape, view.strides)


def execute(env: dict[str, Pair], statement: Statement) -> None:
    operator = OPERATORS[statement.operator]
    args = [env[a] if isinstance(a, Var) else a for a in statement.args]
    if operator.kind in ("view", "rebind"):
        x, *rest = args
        env[statement.out or statement.args[0]] = Pair(operator.numpy(x.value, *rest), operator.numpy(x.tangent, *rest), x.memory)
    elif operator.kind == "alias":
        x = args[0]
        env[statement.out] = Pair(x.value, _zeros_laid_out_as(x.value), Memory(ordered=x.memory.ordered))
    else:
        result = np.asarray(operator.numpy(*(a.complex if isinstance(a, Pair) else a for a in args)))
        if operator.kind == "write":
            args[0].value[...] = result.real
            if not statement.no_grad:
                args[0].tangent[...] = result.imag / STEP
        else:
            ordered = not operator.fusible or all(a.value.flags.c_contiguous and a.memory.ordered for a in args if isinstance(a, Pair))
            env[statement.out] = Pair(np.array(result.real, order="C"), np.array(result.imag / STEP, order="C"), Memory(ordered=ordered))


def is_safe(env, statement):
    """Smooth, and not out of bounds: nothing that rounding could be blamed for."""
    values = [env[a].value if isinstance(a, Var) else a for a in statement.args]
    return OPERATORS[statement.operator].safe(*values)


def is_tame(pair):
    return bool(np.all(np.abs(pair.value) < LARGEST_VALUE) and np.all(np.abs(pair.tangent) < LARGEST_TANGENT))


def direction(program):
    """Where derivatives are taken along; no component is small."""
    rng = random.Random(1)
    return {name: np.array([rng.choice((-1, 1)) * rng.uniform(0.5, 1.5) for _ in range(a.size)]).reshape(a.shape)
            for name, a in program.leaves.items()}


def start(program, along):
    env = {name: Pair(a.copy(), along[name].copy(), Memory(leaf=True)) for name, a in program.leaves.items()}
    return env | {name: Pair(a.copy(), np.zeros(a.shape), Memory()) for name, a in program.constants.items()}


def run(program, along=None, careful=False):
    """The variables at the end; None if ``careful`` and some statement is not safe."""
    env = start(program, along or direction(program))
    for statement in program.statements:
        if careful and not is_safe(env, statement):
            return None
        execute(env, statement)
        if careful and not all(is_tame(p) for p in env.values()):
            return None
    return env


def writes_leaf(program):
    """In grad mode, itself or through a view."""
    env = start(program, direction(program))
    for s in program.statements:
        if OPERATORS[s.operator].kind in ("write", "rebind") and not s.no_grad and env[s.args[0]].memory.leaf:
            return True
        execute(env, s)
    return False


def loss(program, env):
    return sum(float((env[name].value * w).sum()) for name, w in program.weights.items())


def slope(program, env):
    """Derivative of the loss along the direction that ``env`` was run with."""
    return sum(float((env[name].tangent * w).sum()) for name, w in program.weights.items())


def moved(program: Program, along, step) -> Program:
    return replace(program, leaves={name: np.asarray(a + step * along[name]) for name, a in program.leaves.items()})


def differences_agree(program, found):
    """Do central differences of the values confirm the slope?"""
    along = direction(program)
    for step in (1e-6, 1e-5, 1e-4, 1e-7):
        ends = [loss(p, run(p)) for p in (moved(program, along, step), moved(program, along, -step))]
        if abs((ends[0] - ends[1]) / (2 * step) - found) <= 1e-5 * (1 + abs(found)):
            return True
    return False


def curvature(program, step=1e-5):
    """Derivative of the slope along the same direction, by central differences of the exact slope."""
    along = direction(program)
    ends = [slope(p, run(p, along)) for p in (moved(program, along, step), moved(program, along, -step))]
    return (ends[0] - ends[1]) / (2 * step)


def gradient(program):
    """Every component, for a report."""
    found = {}
    zero = {name: np.zeros(a.shape) for name, a in program.leaves.items()}
    for name, a in program.leaves.items():
        found[name] = np.zeros(a.shape)
        for at in np.ndindex(a.shape):
            unit = np.zeros(a.shape)
            unit[at] = 1
            found[name][at] = slope(program, run(program, {**zero, name: unit}))
    return found

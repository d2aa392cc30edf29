"""Runs a program on an engine and says what became of it."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import oracle
from .engines import Engine
from .program import Program

EXACT, REFUSED, NOT_EXPRESSIBLE = "exact", "refused", "not expressible"
WRONG_VALUE, WRONG_GRADIENT, OTHER_ERROR, CRASH = "wrong value", "wrong gradient", "other error", "crash or hang"
TOLERANCE = 1e-8         # of directional derivatives that are exact to about 1e-13; a wrong gradient is off by far more


class Verdict(NamedTuple):
    kind: str
    detail: str = ""

    @property
    def fault(self):
        return self.kind in (WRONG_VALUE, WRONG_GRADIENT, OTHER_ERROR)


def wrong_value(engine: Engine, names, env):
    """The first variable that differs from the arrays, or None."""
    for name, pair in env.items():
        found = engine.value(names[name])
        if tuple(found.shape) != pair.shape or not np.allclose(found, pair.value, rtol=1e-9, atol=1e-11):
            return Verdict(WRONG_VALUE, f"{name} is {np.asarray(found).tolist()}, should be {pair.value.tolist()}")
    return None


def agree(found, truth, size):
    return abs(found - truth) <= TOLERANCE * (1 + size)


def wrong_gradient(program: Program, found, truth):
    """Compared along one direction: a component that is wrong moves the sum."""
    along = oracle.direction(program)
    terms = [g * along[n] for n, g in found.items() if g is not None and g.shape == along[n].shape]
    misshaped = any(g is not None and g.shape != along[n].shape for n, g in found.items())
    total, size = (sum(float(f(t).sum()) for t in terms) for f in (np.asarray, np.abs))
    if agree(total, truth, size) and not misshaped:
        return None
    wanted = oracle.gradient(program)
    wrong = [f"gradient of {n} is {None if g is None else g.tolist()}, should be {wanted[n].tolist()}" for n, g in found.items()
             if g is None or g.shape != wanted[n].shape or not np.allclose(g, wanted[n], rtol=1e-7, atol=1e-9)]
    return Verdict(WRONG_GRADIENT, "; ".join(wrong))


def judge(engine: Engine, program: Program) -> Verdict:
    lines = engine.lines(program)
    if lines is None:
        return Verdict(NOT_EXPRESSIBLE)
    names = engine.namespace()
    truth = oracle.run(program)
    for line in lines:
        if line == lines[-1]:
            wrong = wrong_value(engine, names, truth)
            if wrong:
                return wrong
            if not engine.wants_gradient(names["loss"]):
                break                                                # then its gradients have to be zero
        try:
            engine.execute(line, names)
        except Exception as error:
            return Verdict(REFUSED if engine.is_refusal(error) else OTHER_ERROR, f"{line}: {type(error).__name__}: {error}")
    found = {n: engine.gradient(names[n]) for n in program.leaves}
    return wrong_gradient(program, found, oracle.slope(program, truth)) or Verdict(EXACT)


# ---- the library under a lens ------------------------------------------------------------------------------------------------------------

def _state(t):
    node = None
    try:
        node = t.grad_fn and t.grad_fn.name()
    except RuntimeError as error:                                    # a view that cannot be followed any more
        node = str(error)
    return t.numpy().tobytes(), t.shape, t.inplace_version, t.stop_gradient, t.is_leaf, node


def _states(names, env):
    return {n: _state(names[n]) for n in env}


def judge_closely(engine: Engine, program: Program, order: int = 1) -> Verdict:
    """For the library: after a refused call nothing has changed, and the rest of the program, run on, is exact or refused too.

    ``order`` 2 asks for the derivative of the gradient as well.
    """
    names = engine.namespace()
    for line in engine.beginning(program):
        engine.execute(line, names)
    refused, dropped, defined = "", set(), [*program.leaves, *program.constants]
    for k, statement in enumerate(program.statements):
        if not set(defined).issuperset(statement.reads):
            continue
        before = _states(names, defined)
        try:
            engine.execute(engine.text(statement), names)
        except Exception as error:
            if not engine.is_refusal(error):
                return Verdict(OTHER_ERROR, f"{engine.text(statement)}: {type(error).__name__}: {error}")
            refused = str(error)
            # x[i] += y is a write to a view, then an assignment: two calls.
            if _states(names, defined) != before and statement.operator not in ("put_added", "put_multiplied"):
                return Verdict(OTHER_ERROR, f"a refused call left a trace: {engine.text(statement)}: {error}")
            dropped.add(k)
            if not _possible(program.without(dropped)):
                return Verdict(REFUSED, refused)
        else:
            defined += [statement.out] if statement.out else []
    program = program.without(dropped)
    truth = oracle.run(program)
    wrong = wrong_value(engine, names, truth)
    if wrong:
        return wrong
    return (_derivatives(engine, names, program, oracle.slope(program, truth), order if not program.cuts else 1)
            or Verdict(REFUSED if refused else EXACT, refused))


def _possible(program):
    try:
        env = oracle.run(program, careful=True)
        return bool(program.weights) and env is not None and np.isfinite(oracle.slope(program, env))
    except (ValueError, IndexError):                                 # shapes no longer fit
        return False


def _derivatives(engine, names, program, slope, order):
    paddle = engine.library
    leaves = {n: names[n] for n in program.leaves}
    gradients = None
    try:
        engine.execute(engine.ending(program)[0], names)
        loss = names["loss"]
        if not loss.stop_gradient:
            if order == 1:
                loss.backward()
            elif len(program.statements) % 2:
                loss.backward(create_graph=True)
            else:
                gradients = paddle.grad([loss], [*leaves.values()], create_graph=True, allow_unused=True)
    except RuntimeError as error:
        if not engine.is_refusal(error):
            return Verdict(OTHER_ERROR, f"backward: {type(error).__name__}: {error}")
        if any(leaf.grad is not None for leaf in leaves.values()):
            return Verdict(WRONG_GRADIENT, "S9.22: a failed pass wrote gradients")
        return Verdict(REFUSED, str(error))
    gradients = dict(zip(leaves, gradients or [leaf.grad for leaf in leaves.values()], strict=True))
    return (wrong_gradient(program, {n: None if g is None else g.numpy() for n, g in gradients.items()}, slope)
            or (_second_order(engine, leaves, gradients, program) if order == 2 else None))


def _second_order(engine, leaves, gradients, program):
    paddle, along = engine.library, oracle.direction(program)
    terms = [(g * paddle.to_tensor(along[n])).sum() for n, g in gradients.items() if g is not None]
    total = sum(terms[1:], terms[0]) if terms else None
    found = size = 0.0
    if total is not None and not total.stop_gradient:
        try:
            second = paddle.grad([total], [*leaves.values()], allow_unused=True)
        except RuntimeError as error:
            return Verdict(REFUSED if engine.is_refusal(error) else OTHER_ERROR, f"second order: {error}")
        terms = [(g.numpy() * along[n]) for n, g in zip(leaves, second, strict=True) if g is not None]
        found, size = (sum(float(f(t).sum()) for t in terms) for f in (np.asarray, np.abs))
    truth = oracle.curvature(program)
    if abs(found - truth) <= 1e-4 * (1 + size):
        return None
    return Verdict(WRONG_GRADIENT, f"second derivative along a direction is {found}, should be {truth}")


# ---- short programs ----------------------------------------------------------------------------------------------------------------------

def shortest(program: Program, fails) -> Program:
    """Drops statements, terms of the loss and inputs while it fails."""
    changed = True
    while changed:
        changed = False
        for candidate in _shorter(program):
            try:
                possible = oracle.run(candidate, careful=True) is not None
            except (KeyError, ValueError, IndexError):
                continue
            if possible and fails(candidate):
                program, changed = candidate, True
                break
    return program


def _shorter(program):
    for k in reversed(range(len(program.statements))):
        candidate = program.without({k})
        if candidate.weights:
            yield candidate
    for name in program.weights:
        if len(program.weights) > 1:
            yield Program(program.leaves, program.constants, program.statements, {n: w for n, w in program.weights.items() if n != name})
    used = {a for s in program.statements for a in s.reads} | set(program.weights)
    leaves, constants = ({n: a for n, a in part.items() if n in used} for part in (program.leaves, program.constants))
    if leaves and (len(leaves), len(constants)) != (len(program.leaves), len(program.constants)):
        yield Program(leaves, constants, program.statements, program.weights)

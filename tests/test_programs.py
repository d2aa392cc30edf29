"""Random imperative programs: exact to the last digits, or refused with an error of the contract; refused calls leave no trace.

Hypothesis draws them, so a failing one is shown in its shortest form, as a script. ``tests/compare_programs.py`` runs many more, and on
peers.
"""
from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from programs import oracle
from programs.engines import Ours
from programs.generate import Choices, make, seeded
from programs.judge import EXACT, REFUSED, WRONG_GRADIENT, WRONG_VALUE, judge, judge_closely, shortest
from programs.program import Index, Program, Statement, Var

ENGINE = Ours()
REPEATABLE = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@st.composite
def programs(draw, longest=20):
    program = make(Choices(lambda n: draw(st.integers(0, n - 1))), longest)
    assume(program is not None)
    return program


def hold(program, order):
    verdict = judge_closely(ENGINE, program, order)
    assert not verdict.fault, f"{verdict.kind}: {verdict.detail}\n\n{ENGINE.script(program)}\n"


@settings(REPEATABLE, max_examples=400)
@given(programs())
def test_values_and_gradients(program):
    hold(program, 1)
    if not program.cuts:                        # the oracle has an oracle
        assert oracle.differences_agree(program, oracle.slope(program, oracle.run(program))), ENGINE.script(program)


@settings(REPEATABLE, max_examples=200)
@given(programs(longest=12))
def test_second_derivatives(program):
    hold(program, 2)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_many(first):
    for number in range(first, first + 500):
        program = make(seeded(1_000_000 + number))
        if program is not None:
            hold(program, 1 + number % 2)


# ---- the arrangement itself --------------------------------------------------------------------------------------------------------------

def test_most_programs_are_exact():
    kinds = collections.Counter(judge(ENGINE, make(seeded(number))).kind for number in range(150))
    assert kinds[EXACT] > 100
    assert kinds[REFUSED] > 5


def _program(*statements, weights=(("y", (1.0, 2.0, 3.0)),), **leaves):
    return Program({n: np.array(a) for n, a in leaves.items()}, {}, tuple(statements), {n: np.array(w) for n, w in weights})


def test_the_oracle_knows_the_chain_rule_through_shared_memory():
    """y = sin(x); y[1:] *= y[:-1], by hand."""
    program = _program(Statement("y", "sin", (Var("x"),)), Statement("a", "item", (Var("y"), Index([slice(1, None)]))),
                       Statement("b", "item", (Var("y"), Index([slice(0, 2)]))), Statement(None, "multiply_", (Var("a"), Var("b"))),
                       x=[0.3, 0.5, 0.7])
    s, c = np.sin([0.3, 0.5, 0.7]), np.cos([0.3, 0.5, 0.7])
    np.testing.assert_allclose(oracle.run(program)["y"].value, [s[0], s[1] * s[0], s[2] * s[1]], rtol=1e-14)
    np.testing.assert_allclose(oracle.gradient(program)["x"], [c[0] * (1 + 2 * s[1]), c[1] * (2 * s[0] + 3 * s[2]), 3 * c[2] * s[1]],
                               rtol=1e-13)
    assert judge(ENGINE, program).kind == EXACT


def test_the_oracle_passes_writes_outside_the_history_as_identity():
    """S8.7: y = 1.5 x + 0.5; under no_grad y.square_(); S8.8: what is written through detach() is nobody's gradient."""
    start = Statement("y", "scale", (Var("x"), 1.5))
    silent = _program(start, Statement(None, "square_", (Var("y"),), no_grad=True), x=[0.3, 0.5, 0.7])
    np.testing.assert_allclose(oracle.run(silent)["y"].value, np.square([0.95, 1.25, 1.55]), rtol=1e-14)
    np.testing.assert_allclose(oracle.gradient(silent)["x"], [1.5, 3.0, 4.5], rtol=1e-14)
    aside = _program(start, Statement("d", "detach", (Var("y"),)), Statement(None, "multiply_", (Var("d"), Var("y"))),
                     weights=(("y", (1.0, 2.0, 3.0)), ("d", (1.0, 1.0, 1.0))), x=[0.3, 0.5, 0.7])
    np.testing.assert_allclose(oracle.gradient(aside)["x"], 1.5 * np.array([1.95, 3.25, 4.55]), rtol=1e-14)


class _Forgetful(Ours):
    """Does not record one operator."""

    def text(self, statement):
        return super().text(statement._replace(no_grad=True) if statement.operator == "multiply_" else statement)


class _Sloppy(Ours):
    """Computes one operator with half of its operands overwritten, so to say."""

    def text(self, statement):
        return super().text(statement) + ("; " + statement.args[0] + ".fill_(0.25)" if statement.operator == "square_" else "")


@pytest.mark.parametrize("broken, operator, kind", [(_Forgetful(), "multiply_", WRONG_GRADIENT), (_Sloppy(), "square_", WRONG_VALUE)])
def test_faults_are_found_and_made_short(broken, operator, kind):
    def fails(program):
        return judge(broken, program).kind == kind

    found = next(p for p in map(make, map(seeded, range(500))) if fails(p))
    short = shortest(found, fails)
    assert operator in [s.operator for s in short.statements]
    assert len(short.statements) <= 6
    assert judge(ENGINE, short).kind != kind

"""profiler.inplace_advisor: what it advises is applied, by hand or by rewriting the program's text, and nothing but memory changes."""
import importlib.util
import linecache
import random
import re
from pathlib import Path

import numpy as np
import pytest

import python_api as paddle
from python_api import profiler

ROOT = Path(__file__).parents[1]
N = 100
NBYTES = 8 * N


def leaf(n=N):
    return paddle.to_tensor(np.linspace(0.1, 1.0, n), stop_gradient=False)


def constant(n=N):
    return paddle.to_tensor(np.linspace(0.1, 1.0, n))


def advised(step):
    """(expression, operator, operand) of all advice, after the step and its locals are gone."""
    with profiler.inplace_advisor() as advisor:
        step()
    return sorted((one.source, one.operator, one.operand) for one in advisor.advice if not one.alive)


# ---- three programs --------------------------------------------------------------------------------------------------------------------

spec = importlib.util.spec_from_file_location("advised_programs", ROOT / "examples" / "advised_programs.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)

# What the second form of each program has in place, read off its text, and the bytes of those results, by hand.
BY_HAND = {
    "network": ([("guess - target", "subtract", 0), ("output + b2", "add", 0), ("paddle.tanh(shifted)", "tanh", 0),
                 ("product + b1", "add", 0)], 8 * (2 * 256 * 64 + 2 * 256 * 8), 8 * (2 * 256 * 64 + 2 * 256 * 8)),
    # Four steps of three operators. At the peak only the values of one step are referenced by name, beside what is saved.
    "rod": ([("middle + u[2:]", "add", 0), ("right + u[:-2]", "add", 0), ("u[1:-1] + flow", "add", 1)], 4 * 3 * 8 * 19_998, 3 * 8 * 19_998),
    "attention": ([("paddle.exp(below)", "exp", 0), ("products * 0.125", "multiply", 0),
                   ("scores - scores.detach().max(axis=-1, keepdim=True)", "subtract", 0)], 3 * 8 * 128 * 128, 3 * 8 * 128 * 128),
}


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_advice_on_a_program_is_exact_and_saves_memory(name):
    expected, nbytes, less_at_peak = BY_HAND[name]
    advisor = programs.advise(name)
    assert sorted((one.source, one.operator, one.operand) for one in advisor.advice) == expected
    assert not any(one.alive for one in advisor.advice)
    assert advisor.nbytes == nbytes
    assert advisor.harms == []
    usual, in_place = programs.PROGRAMS[name]
    before, peak_before = programs.measure(usual, name)
    after, peak_after = programs.measure(in_place, name)
    assert len(before) == len(after) > 0
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert peak_before - peak_after == pytest.approx(less_at_peak, abs=64)  # give or take a number
    with profiler.inplace_advisor() as again:
        in_place(*programs.inputs(name))
    assert again.advice == []


# ---- the conditions, one by one --------------------------------------------------------------------------------------------------------

def test_plain_chain():
    x = leaf()

    def step():
        a = x + 1.0
        b = a * 2.0
        c = b.exp()
        c.sum().backward()

    # x is a leaf; 2 * saves nothing, exp its result only.
    assert advised(step) == [("a * 2.0", "multiply", 0), ("b.exp()", "exp", 0)]


def test_saved_by_the_operator_itself():
    x = leaf()

    def step():
        a = x + 1.0
        b = a.sin()     # saves a
        c = b * x       # saves b, for x
        d = c.exp()     # saves d
        d.log().sum().backward()    # saves d

    assert advised(step) == [("c.exp()", "exp", 0)]


def test_saved_by_another_operator():
    x = leaf()

    def step():
        a = x + 1.0
        b = a * a       # saves a
        c = a + 1.0
        (b + c).sum().backward()

    # b + c: neither is saved nor used again.
    assert advised(step) == [("b + c", "add", 0)]


def test_free_again_after_backward():
    x = leaf()

    def step():
        a = x + 1.0
        (a * a).sum().backward()
        with paddle.no_grad():
            return (a.detach() + 1.0).sum().item()

    assert ("a.detach() + 1.0", "add", 0) in advised(step)


@pytest.mark.parametrize("use", [
    lambda a: a.sum(), lambda a: a[1:3], lambda a: a.detach().sum(), lambda a: a.numpy(), lambda a: float(a[0]), lambda a: a.tolist(),
    repr, lambda a: a.zero_(), lambda a: a.reshape([10, 10]).sum(),
], ids=["operator", "view", "alias", "numpy", "element", "tolist", "repr", "write", "reshaped"])
def test_used_afterwards(use):
    x = leaf()

    def step():
        a = x + 1.0
        b = a * 2.0
        use(a)
        b.sum()

    assert advised(step) == []


def test_used_through_a_view_afterwards():
    x = leaf()

    def step():
        a = x + 1.0
        view = a[1:3]
        b = a * 2.0
        (b.sum() + view.sum()).backward()

    assert advised(step) == [("b.sum() + view.sum()", "add", 0)]


def test_view_that_is_not_used_any_more():
    x = leaf()

    def step():
        a = x + 1.0
        view = a[1:3]
        view.sum()
        b = a * 2.0
        b.sum().backward()
        return view  # still alive, but nobody reads it in the block

    with profiler.inplace_advisor() as advisor:
        kept = step()
    assert [(one.source, one.alive) for one in advisor.advice] == [("a * 2.0", True)]  # with reservation: the memory is referenced
    assert advisor.nbytes == 0
    assert "if the old value, which is still referenced, is not used after the block" in str(advisor)
    del kept


def test_views_as_targets():
    x = constant()

    def step():
        a = x[2:5] + 1.0    # x is alive at the end: reservation
        b = (x + 1.0)[2:5]
        (a * 2.0).sum()
        (b * 3.0).sum()

    assert advised(step) == [("a * 2.0", "multiply", 0), ("b * 3.0", "multiply", 0)]


def test_leaves_and_their_views():
    x = leaf()

    def step():
        (x + 1.0).sum()
        (x[1:3] + 1.0).sum()
        y = paddle.to_tensor(np.ones(3), stop_gradient=False)
        (y + 1.0).sum()

    assert advised(step) == []


def test_constant_made_in_the_block():
    def step():
        x = paddle.to_tensor(np.ones(N))
        (x + 1.0).sum()

    assert advised(step) == [("x + 1.0", "add", 0)]


def test_other_shape_or_dtype():
    x = leaf()

    def step():
        a = x + 1.0
        (a + paddle.to_tensor(np.ones((3, 1)))).sum()
        b = x.detach().astype("int64") + 1
        (b / 2).sum()
        (b > 0).sum()

    assert advised(step) == [('x.detach().astype("int64") + 1', "add", 0)]


def test_second_operand_of_what_commutes():
    x = leaf()

    def step():
        (x + x.exp().sum() * paddle.ones([N], "float64")).sum()
        (x - (x + 1.0)).sum()

    # The product's second operand is free, its first is a number of another shape; so is the sum's. A difference cannot change places.
    assert [one[1:] for one in advised(step)] == [("add", 1)]


def test_complex_factors_do_not_change_places():
    """Real factors do. A processor that fuses a product with the sum rounds a * b of complex numbers in another way than b * a."""
    real = leaf()
    number = paddle.to_tensor(np.linspace(0.1, 1.0, N) * (1 + 2j), stop_gradient=False)

    def step(x):
        (x * x.detach().exp()).sum()

    assert [one[1:] for one in advised(lambda: step(real))] == []       # saved for x
    with paddle.no_grad():
        assert [one[1:] for one in advised(lambda: step(real))] == [("multiply", 1)]
        assert [one[1:] for one in advised(lambda: step(number))] == []


def test_under_no_grad_a_history_would_be_bypassed():
    """S8.7: the write would be straight-through."""
    x = leaf()

    def step():
        a = x + 1.0
        with paddle.no_grad():
            b = a * 2.0
        (b * x).sum().backward()

    assert advised(step) == []


def test_hooks_and_retained_gradients():
    x = leaf()

    def hooked():
        a = x + 1.0
        a.register_hook(lambda g: g * 2.0)
        (a * 2.0).sum().backward()

    def hooked_later():
        a = x + 1.0
        b = a * 2.0
        a.register_hook(lambda g: g * 2.0)
        b.sum().backward()

    def retained():
        a = x + 1.0
        a.retain_grads()
        (a * 2.0).sum().backward()

    def asked_for():
        a = x + 1.0
        b = a * 2.0
        paddle.grad(b.sum(), a)

    def root_of_another_pass():
        a = x + 1.0
        b = a * 2.0
        b.sum().backward(retain_graph=True)
        a.backward(paddle.ones([N], "float64"))

    for step in (hooked, hooked_later, retained, asked_for, root_of_another_pass):
        assert advised(step) == [], step.__name__


def test_memory_of_somebody_else():
    array = np.ones(N)

    def step():
        (paddle.to_tensor(array) + 1.0).sum()   # a copy
        sorted_ = paddle.sort(paddle.to_tensor(array))  # NumPy's memory, but nobody else's
        (sorted_ * 2.0).sum()

    assert advised(step) == [("paddle.to_tensor(array) + 1.0", "add", 0), ("sorted_ * 2.0", "multiply", 0)]


def test_all_runs_of_a_line_must_qualify():
    x = leaf()

    def step():
        u = x
        for _ in range(3):
            u = u + 1.0     # the first time, u is a leaf
        for _ in range(3):
            u = u * 2.0
        u.sum().backward()

    with profiler.inplace_advisor() as advisor:
        step()
    assert [(one.source, one.count, one.nbytes) for one in advisor.advice] == [("u * 2.0", 3, 3 * NBYTES)]
    assert (advisor.allocations, advisor.nbytes) == (3, 3 * NBYTES)


def test_two_operators_on_one_line():
    x = leaf()

    def step():
        (x.exp() + 1.0 + 2.0).tanh().sum().backward()

    assert advised(step) == [("(x.exp() + 1.0 + 2.0).tanh()", "tanh", 0), ("x.exp() + 1.0 + 2.0", "add", 0)]


def test_inside_functions_of_the_library_nothing_is_advised():
    x = leaf()

    def step():
        a = x + 1.0
        paddle.nn.functional.layer_norm(a, [N]).sum().backward() if hasattr(paddle.nn.functional, "layer_norm") else a.std().backward()

    assert advised(step) == []


def test_result_kept_beyond_the_block():
    x = leaf()
    with profiler.inplace_advisor() as advisor:
        a = x + 1.0
        b = a * 2.0
    assert [(one.source, one.alive) for one in advisor.advice] == [("a * 2.0", True)]
    assert "Could be in place: 1 operators; 0 allocations, 0 B less" in str(advisor)
    assert b.size == N


def test_the_text_names_line_and_form():
    x = leaf()

    def step():
        a = x + 1.0
        b = a * 2.0
        b.sum().backward()

    with profiler.inplace_advisor() as advisor:
        step()
    line = step.__code__.co_firstlineno + 2
    assert f'File "{__file__}", line {line}, in test_the_text_names_line_and_form.<locals>.step' in str(advisor)
    assert "multiply: use multiply_() on its tensor; saves 1 allocations, 800 B" in str(advisor)


# ---- harm ------------------------------------------------------------------------------------------------------------------------------

def harms(step):
    with profiler.inplace_advisor() as advisor:
        step()
    return advisor.harms


def test_overwritten_input():
    x = leaf()

    def step():
        a = x + 1.0
        b = a * a
        a.add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            b.sum().backward()

    (harm,) = harms(step)
    assert (harm.source, harm.operator, harm.line) == ("a.add_(1.0)", "add_", step.__code__.co_firstlineno + 3)
    line = step.__code__.co_firstlineno + 2
    assert set(harm.saved) == {f'input {k} of MultiplyGradNode, which was saved in File "{__file__}", line {line}: a * a' for k in (0, 1)}


def test_overwritten_output_and_item():
    x = leaf()

    def step():
        a = x.exp()
        a[0] = 1.0
        a[1] = 1.0  # harmed already: nothing new
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            a.sum().backward()

    (harm,) = harms(step)
    assert harm.operator == "setitem_"
    assert harm.line == step.__code__.co_firstlineno + 2
    assert harm.saved[0].startswith("output of ExpGradNode, ")


def test_saved_before_the_block():
    x = leaf()
    a = x.exp()
    with profiler.inplace_advisor() as advisor:
        a.add_(1.0)
    (harm,) = advisor.harms
    assert harm.saved == ("output of ExpGradNode, which was saved before the block",)


def test_weights_updated_before_backward():
    x, w = constant(), leaf()

    def step():
        loss = (w * w * x).sum()
        with paddle.no_grad():
            w.subtract_(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()

    (harm,) = harms(step)
    assert harm.operator == "subtract_"


def test_writes_that_do_no_harm():
    x = leaf()

    def step():
        u = paddle.zeros([4, N], "float64")
        u[0] = x
        for t in range(3):
            u[t + 1] = u[t].tanh()      # S5.13: other rows than those that are saved
        y = x + 1.0
        y.exp_()                        # saves its own result
        z = y * 1.0
        z.sin_()                        # copies what it needs
        (u.sum() + z.sum()).backward()
        x.grad.zero_()

    assert harms(step) == []


def test_writes_that_are_preserved_do_no_harm():
    x = leaf()

    def step():
        with paddle.autograd.allow_mutation_on_saved_tensors():
            a = x + 1.0
            b = a * a
            a.add_(1.0)
            b.sum().backward()

    assert harms(step) == []


# ---- the block -------------------------------------------------------------------------------------------------------------------------

def test_nested_advisors_refuse_and_exceptions_end_them():
    x = leaf()
    outer = profiler.inplace_advisor()
    with pytest.raises(ZeroDivisionError), outer:  # noqa: PT012  the block is what is tested
        with pytest.raises(RuntimeError, match="an in-place advisor is on already"), profiler.inplace_advisor():
            pass
        (x + 1.0).exp().sum()
        1 / 0
    assert [one.source for one in outer.advice] == ["(x + 1.0).exp()"]
    with pytest.raises(RuntimeError, match="is entered once"), outer:
        pass
    with profiler.inplace_advisor() as empty:
        pass
    assert empty.advice == []


def test_together_with_a_profile():
    x = leaf()

    def step():
        (x + 1.0).exp().sum().backward()

    with profiler.profile() as prof, profiler.inplace_advisor() as advisor:
        step()
    assert [event.name for event in prof.events][:3] == ["add", "exp", "sum"]
    assert len(advisor.advice) == 1


# ---- random programs, rewritten as advised ---------------------------------------------------------------------------------------------

class Writer:
    """A random program over vectors: `source` is its text; its variables keep their numbers, so lines can be rewritten."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["x", "y", "c"]
        self.lines = []
        for _ in range(self.random.randint(3, 14)):
            self.statement()
        kept = self.random.sample(self.names, min(2, len(self.names)))
        self.lines.append(f"loss = ({' + '.join(f'{name}.sum()' for name in kept)} + {self.names[-1]}.sum())")

    def fresh(self):
        name = f"v{len(self.lines)}"
        self.names.append(name)
        return name

    def statement(self):
        pick = self.random.choice
        a = pick(self.names[-4:] if self.random.random() < 0.7 else self.names)
        b = pick(self.names)
        kind = self.random.random()
        if kind < 0.3:
            self.lines.append(f"{self.fresh()} = {a}.{pick(['tanh', 'exp', 'sin', 'relu', 'sigmoid', 'abs', 'square'])}()")
        elif kind < 0.5:
            self.lines.append(f"{self.fresh()} = {a}.{pick(['add', 'subtract', 'multiply', 'maximum'])}({b})")
        elif kind < 0.62:
            self.lines.append(f"{self.fresh()} = {a}.{pick(['add', 'multiply'])}({pick(['2.0', '-0.5'])})")
        elif kind < 0.7:
            self.lines.append(f"{self.fresh()} = {a}.scale({pick(['0.5', '-1.5'])})")
        elif kind < 0.78:
            self.lines.append(f"{self.fresh()} = {a}.reshape([6])")                    # a view of all
        elif kind < 0.83:
            self.lines.append(f"{self.fresh()} = {a}.detach()")
        elif kind < 0.88:
            self.lines.append(f"reads.append({a}.numpy())")
        elif kind < 0.92:
            self.lines.append(f"with paddle.no_grad(): {self.fresh()} = {a}.tanh()")
        elif kind < 0.96 and a not in "xyc":
            self.lines.append(f"{a}[{self.random.randint(0, 2)}:{self.random.randint(3, 6)}] = 0.25")
        elif a not in "xyc":
            self.lines.append(f"{a}.{pick(['exp_', 'tanh_'])}()")

    def source(self, rewritten=()):
        """The text; lines by number -> operand that becomes the target."""
        lines = []
        for number, original in enumerate(self.lines):
            line = original
            if number in rewritten:
                match = re.fullmatch(r"(with paddle.no_grad\(\): )?(\w+) = (\w+)\.(\w+)\((.*)\)", line)
                prefix, name, first, operator, rest = match.groups("")
                if rewritten[number] == 1:
                    first, rest = rest, first
                line = f"{prefix}{name} = {first}.{operator}_({rest})"
            lines.append("    " + line)
        return "\n".join(["def program(x, y, c, reads):", *lines, "    loss.backward()", "    return float(loss)"])


def run(text, name):
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"paddle": paddle}
    exec(compile(text, filename, "exec"), namespace)
    values = np.linspace(-1.0, 1.2, 6)
    x, y = paddle.to_tensor(values, stop_gradient=False), paddle.to_tensor(values[::-1].copy(), stop_gradient=False)
    reads = []
    with profiler.inplace_advisor() as advisor:
        try:
            loss = namespace["program"](x, y, paddle.to_tensor(values * 0.3), reads)
        except (RuntimeError, ValueError) as error:
            return advisor, str(error).partition(" (")[0], None
    gradients = [None if one.grad is None else one.grad.numpy() for one in (x, y)]
    return advisor, None, [loss, *gradients, *reads]


def test_random_programs_rewritten_as_advised():
    rewrites = refused = 0
    for seed in range(1500):
        writer = Writer(seed)
        advisor, error, results = run(writer.source(), "program")
        if error is not None:
            refused += 1
            if "modified by an inplace operation" in error:
                assert advisor.harms, writer.source()  # predicted
            continue
        by_line = {one.line - 2: one.operand for one in advisor.advice
                   if not one.alive and re.search(r" = \w+\.\w+\(", writer.lines[one.line - 2])}
        if not by_line:
            continue
        rewrites += len(by_line)
        text = writer.source(by_line)
        _, error, again = run(text, "rewritten")
        assert error is None, f"{writer.source()}\n\n{text}\n{error}"
        for one, other in zip(results, again, strict=True):
            if one is None:
                assert other is None
            elif 1 in by_line.values():  # edges have changed places: gradients of several uses are added in another order
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=f"{writer.source()}\n\n{text}")
            else:
                np.testing.assert_array_equal(one, other, err_msg=f"{writer.source()}\n\n{text}")
    assert rewrites > 1000
    assert 0 < refused < 500

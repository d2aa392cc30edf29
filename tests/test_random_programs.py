"""Random programs of views, in-place writes and operators, run twice: on NumPy arrays, which say what the values and gradients are, and on
tensors. A value or gradient must be right to the last digits, or the program refused; refused calls must leave no trace, so a program goes
on after one. Gradients come from complex steps (derivatives of NumPy code without cancellation), checked against central differences.

``python tests/test_random_programs.py FIRST COUNT`` runs many and prints how often a program was exact, and the shortest form of a failure.
"""
from __future__ import annotations

import collections
import random
import sys

import numpy as np
import pytest

import python_api as paddle

STEP = 1e-30
REFUSALS = ("modified by an inplace operation", "doesn't stop gradient can't use inplace strategy", "View (", "(PermissionDenied)",
            "overlap each other in memory", "The shape of broadcast output", "are not contiguous in memory; use")


# ---- one operator, for complex NumPy arrays and for tensors ------------------------------------------------------------------------------

def _n_write(function):
    def write(target, *operands):
        target[...] = function(np.array(target), *[np.array(o) for o in operands])
    return write


def _n_put(target, index, value):
    target[index] = np.array(value)


def _n_relu(x):
    return np.where(x.real > 0, x, 0)


def _n_abs(x):
    return np.where(x.real > 0, x, -x)


def _n_larger(x, y):
    return np.where(x.real > y.real, x, y)


def _n_softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _t_put(target, index, value):
    target[index] = value


UNARY = {
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "sigmoid": _sigmoid, "square": np.square, "relu": _n_relu, "abs": _n_abs,
    "neg": np.negative,
}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
RATIO = 3.0          # a divisor is RATIO + y * y: away from zero

NUMPY = {
    **UNARY, **BINARY,
    **{name + "_": _n_write(f) for name, f in {**UNARY, **BINARY}.items() if name != "relu"},
    "relu_": _n_write(_n_relu),
    "maximum": _n_larger,
    "divide": lambda x, y: x / (y * y + RATIO),
    "divide_": _n_write(lambda x, y: x / (y * y + RATIO)),
    "scale_": _n_write(lambda x, a: x * a + 0.5),
    "softmax": _n_softmax,
    "softmax_": _n_write(_n_softmax),
    "exp_": _n_write(lambda x: np.exp(x)),
    "exp": np.exp,
    "sum": lambda x, axis: x.sum(axis=axis, keepdims=True),
    "mean": lambda x, axis: x.mean(axis=axis),
    "matmul": np.matmul,
    "clone": np.array,
    "detach": lambda x: x.real.astype(complex),
    "multiply_detached_": _n_write(lambda x, y: x * y.real),
    "where": lambda x, y: np.where(x.real > 0.3, x, y),
    "concat": lambda x, y: np.concatenate([x, y]),
    "stack": lambda x, y: np.stack([x, y], axis=-1),
    # views
    "item": lambda x, index: x[index],
    "T": lambda x: x.T,
    "transpose": np.transpose,
    "reshape": np.reshape,
    "squeeze": lambda x: np.squeeze(x),
    "unsqueeze": np.expand_dims,
    # views that take the place of what they look at
    "transpose_": np.transpose,
    "reshape_": np.reshape,
    "squeeze_": lambda x: np.squeeze(x),
    "unsqueeze_": np.expand_dims,
    # writes
    "put": _n_put,
    "put_number": lambda x, index, a: x.__setitem__(index, a),
    "copy_": lambda x, y: _n_put(x, Ellipsis, y),
    "fill_": lambda x, a: x.fill(a),
    "zero_": lambda x: x.fill(0),
    "iadd_item": lambda x, index, y: _n_put(x, index, x[index] + y),
    "imul_item": lambda x, index, y: _n_put(x, index, x[index] * y),
    "pick": lambda x, index: x[np.array(index)],
    "put_picked": lambda x, index, y: _n_put(x, np.array(index), y),
}


def _iadd_item(x, index, y):
    x[index] += y


def _imul_item(x, index, y):
    x[index] *= y


TENSOR = {
    **{name: (lambda f: lambda *a: getattr(a[0], f)(*a[1:]))(name)  # noqa: PLC3002
       for name in [*UNARY, *BINARY, *(n + "_" for n in [*UNARY, *BINARY]), "softmax", "softmax_", "exp", "exp_", "matmul", "clone",
                    "transpose", "reshape", "squeeze",
                    "transpose_", "reshape_", "squeeze_", "unsqueeze_", "copy_", "fill_", "zero_"]},
    "maximum": paddle.maximum,
    "detach": lambda x: x.detach().clone(),
    "multiply_detached_": lambda x, y: x.multiply_(y.detach()),
    "divide": lambda x, y: x / (y * y + RATIO),
    "divide_": lambda x, y: x.divide_(y * y + RATIO),
    "scale_": lambda x, a: x.scale_(a, 0.5),
    "sum": lambda x, axis: x.sum(axis=axis, keepdim=True),
    "mean": lambda x, axis: x.mean(axis=axis),
    "where": lambda x, y: paddle.where(x > 0.3, x, y),
    "concat": lambda x, y: paddle.concat([x, y]),
    "stack": lambda x, y: paddle.stack([x, y], axis=-1),
    "item": lambda x, index: x[index],
    "T": lambda x: x.T,
    "unsqueeze": lambda x, axis: x.unsqueeze(axis),
    "put": _t_put,
    "put_number": _t_put,
    "iadd_item": _iadd_item,
    "imul_item": _imul_item,
    "pick": lambda x, index: x[paddle.to_tensor(np.array(index))],
    "put_picked": lambda x, index, y: x.__setitem__(list(index), y),
}
VIEWS = ("item", "T", "transpose", "reshape", "squeeze", "unsqueeze")


class Var(str):
    """The name of a variable among the arguments of a statement."""

    __slots__ = ()


class Program:
    """Inputs, statements ``(result or None, operator, arguments)``, and the variables that the loss is made of, with their weights."""

    def __init__(self, inputs, constants, statements, loss):
        self.inputs, self.constants, self.statements, self.loss = inputs, constants, statements, loss

    def __str__(self):
        lines = [f"{name} = leaf({value.tolist()})" for name, value in self.inputs.items()]
        lines += [f"{name} = constant({value.tolist()})" for name, value in self.constants.items()]
        lines += [(f"{out} = " if out else "") + f"{op}({', '.join(a if isinstance(a, Var) else repr(a) for a in args)})"
                  for out, op, args in self.statements]
        return "\n".join([*lines, "loss = " + " + ".join(f"sum({name} * {weight.tolist()})" for name, weight in self.loss.items())])


# ---- making programs ---------------------------------------------------------------------------------------------------------------------

def _index(rng, shape):
    """A basic index that selects at least one element, now and then with steps, None and ellipsis."""
    items = []
    for n in shape[:rng.randint(1, max(len(shape), 1))]:
        kind = rng.random()
        if kind < 0.4:
            items.append(rng.randrange(-n, n))
        elif kind < 0.75:
            start = rng.randrange(n)
            items.append(slice(start, rng.randint(start + 1, n)))
        elif kind < 0.85:
            items.append(slice(None, None, rng.choice([-1, 2, -2])))
        else:
            items.append(slice(None))
    if rng.random() < 0.08:
        items.insert(rng.randint(0, len(items)), None)
    if rng.random() < 0.08:
        items.append(Ellipsis)
    return tuple(items) if len(items) != 1 or rng.random() < 0.3 else items[0]


def _shape_like(rng, numel):
    shapes = {1: [(1,), (1, 1)], 2: [(2,), (1, 2), (2, 1)], 3: [(3,), (3, 1)], 4: [(4,), (2, 2)], 6: [(6,), (2, 3), (3, 2), (1, 6)],
              8: [(8,), (2, 4), (2, 2, 2)], 9: [(9,), (3, 3)], 12: [(12,), (3, 4), (2, 6), (2, 3, 2)]}
    return rng.choice(shapes.get(numel, [(numel,)]))


def _fits(value, target):
    try:
        return np.broadcast_shapes(value.shape, target.shape) == target.shape
    except ValueError:
        return False


def _statement(rng, env, fresh):
    """One statement whose operands exist and fit, or None."""
    names = list(env)
    # Later variables are the interesting ones: views, results.
    x = Var(names[max(rng.randrange(len(names)), rng.randrange(len(names)))])
    value = env[x]
    kind = rng.random()
    if kind < 0.3 and value.ndim < 4:                            # a view
        op = rng.choice(["item"] * 5 + ["T", "transpose", "reshape", "reshape", "squeeze", "unsqueeze"])
        if op == "item":
            return (fresh, op, (x, _index(rng, value.shape))) if value.ndim else None
        if op == "transpose":
            args = (x, tuple(rng.sample(range(value.ndim), value.ndim)))
        elif op == "reshape":
            args = (x, _shape_like(rng, value.size))
        elif op == "unsqueeze":
            args = (x, rng.randint(0, value.ndim))
        else:
            args = (x,)
        return (x, op + "_", args) if op != "T" and rng.random() < 0.15 else (fresh, op, args)
    fitting = [Var(n) for n in names if _fits(env[n], value)]
    y = rng.choice(fitting[-6:] if rng.random() < 0.6 else fitting)
    if kind < 0.55:                                              # an operator in place
        op = rng.choice(["sin_", "tanh_", "sigmoid_", "square_", "abs_", "neg_", "exp_", "relu_", "cos_", "softmax_", "scale_",
                         "add_", "subtract_", "multiply_", "multiply_", "multiply_", "divide_",
                         "multiply_detached_"])
        if op in ("add_", "subtract_", "multiply_", "divide_", "multiply_detached_"):
            return None, op, (x, y)
        if op == "exp_" and np.abs(value.real).max() > 3:
            op = "tanh_"
        if op == "softmax_" and value.ndim == 0:
            return None
        return (None, op, (x, rng.choice([1.5, -0.5]))) if op == "scale_" else (None, op, (x,))
    if kind < 0.78:                                              # a write of elements
        op = rng.choice(["put"] * 6 + ["put_number", "copy_", "fill_", "zero_", "iadd_item", "imul_item", "put_picked"])
        if op in ("fill_", "zero_"):
            return (None, op, (x, 0.25)) if op == "fill_" else (None, op, (x,))
        if op == "copy_":
            return None, op, (x, y)
        if value.ndim == 0:
            return None
        if op == "put_picked":
            rows = tuple(rng.randrange(value.shape[0]) for _ in range(rng.randint(1, 3)))
            fitting = [Var(n) for n in names if _fits(env[n], value[list(rows)])]
            return (None, op, (x, rows, rng.choice(fitting))) if fitting else None
        index = _index(rng, value.shape)
        if op == "put_number":
            return None, op, (x, index, 0.75)
        part = value[index]
        fitting = [Var(n) for n in names if _fits(env[n], part)]
        if op == "put" and rng.random() < 0.2:
            fitting = [Var(n) for n in names if env[n].shape == part.shape] or fitting
        return (None, op, (x, index, rng.choice(fitting[-8:]))) if fitting else None
    op = rng.choice(["sin", "tanh", "square", "relu", "sigmoid", "abs", "exp", "softmax", "cos", "add", "multiply", "multiply", "divide",
                     "subtract", "maximum", "where", "sum", "mean", "matmul", "clone", "detach", "concat", "stack", "pick"])
    if op in ("add", "multiply", "divide", "subtract", "maximum", "where"):
        return fresh, op, (x, y)
    if op in ("sum", "mean", "softmax", "pick") and value.ndim == 0:
        return None
    if op in ("sum", "mean"):
        return fresh, op, (x, rng.randrange(value.ndim))
    if op == "pick":
        return fresh, op, (x, tuple(rng.randrange(value.shape[0]) for _ in range(rng.randint(1, 3))))
    if op == "exp" and np.abs(value.real).max() > 3:
        op = "tanh"
    if op in ("concat", "stack", "matmul"):
        if op == "matmul":
            partners = [Var(n) for n in names if value.ndim == 2 and env[n].ndim in (1, 2) and env[n].shape[0] == value.shape[1]]
        else:
            partners = [Var(n) for n in names if env[n].shape == value.shape and 0 < value.ndim < 3 and value.size < 20]
        return (fresh, op, (x, rng.choice(partners))) if partners else None
    return fresh, op, (x,)


def make_program(seed, length=14):
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    shapes = [(4,), (3,), (2, 3), (3, 2), (2, 2), (2, 3, 2), (1,), (6,), ()]
    env, inputs, constants, statements = {}, {}, {}, []
    for k in range(rng.randint(1, 3)):
        inputs[f"x{k}"] = numbers.uniform(-1.5, 1.5, rng.choice(shapes[:6]) if k == 0 else rng.choice(shapes))
    for k in range(rng.randint(0, 2)):
        constants[f"c{k}"] = np.zeros(rng.choice(shapes)) if rng.random() < 0.5 else numbers.uniform(-1.5, 1.5, rng.choice(shapes))
    for name, value in [*inputs.items(), *constants.items()]:
        env[name] = value.astype(complex)
    # Leaves cannot be written; work begins with copies of them.
    for k, name in enumerate(inputs):
        statements.append((f"y{k}", "multiply", (Var(name), Var(name))) if rng.random() < 0.2 else (f"y{k}", "clone", (Var(name),)))
        _run_one(NUMPY, env, statements[-1])
    if rng.random() < 0.5:
        for name in inputs:
            env.pop(name)
    made, tries = 0, 0
    while made < length and tries < 10 * length:
        tries += 1
        one = _statement(rng, env, f"v{made}")
        if one is None:
            continue
        out, _, args = one
        if (out is None or out == args[0]) and args[0] in inputs and rng.random() < 0.9:
            continue                                             # would be refused: now and then is enough
        _run_one(NUMPY, env, one)
        statements.append(one)
        made += 1
        if any(not np.all(np.abs(v) < 50) for v in env.values()):
            return None                                          # numbers that run away say little
    loss = {name: numbers.uniform(0.5, 1.5, env[name].shape) for name in
            rng.sample(list(env), min(len(env), rng.randint(1, 4)))}
    return Program(inputs, constants, statements, loss)


def _with_ellipsis(index):
    index = index if isinstance(index, tuple) else (index,)
    return index if Ellipsis in index else (*index, Ellipsis)


# ---- running them ------------------------------------------------------------------------------------------------------------------------

def _run_one(table, env, statement):
    out, op, args = statement
    values = [env[a] if isinstance(a, Var) else a for a in args]
    if table is NUMPY and op == "item":
        values[1] = _with_ellipsis(values[1])                    # keeps a single element an array: a view
    result = table[op](*values)
    if out is not None:
        # What is no view lies in C order, as a tensor's does: whether a later reshape can be a view depends on it.
        env[out] = result if table is TENSOR else np.asarray(result) if op.rstrip("_") in VIEWS else np.array(result, order="C")


def numpy_env(program, inputs, skipped=frozenset()):
    env = {name: value.astype(complex) for name, value in [*inputs.items(), *program.constants.items()]}
    for k, statement in enumerate(program.statements):
        if k not in skipped:
            _run_one(NUMPY, env, statement)
    return env


def numpy_loss(program, inputs, skipped):
    env = numpy_env(program, inputs, skipped)
    return sum(np.sum(env[name] * weight) for name, weight in program.loss.items())


def numpy_gradients(program, skipped):
    gradients = {}
    for name, value in program.inputs.items():
        gradients[name] = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            moved = value.astype(complex)
            moved[at] += STEP * 1j
            gradients[name][at] = numpy_loss(program, {**program.inputs, name: moved}, skipped).imag / STEP
    return gradients


def central_differences(function, inputs, step=1e-6):
    gradients = {}
    for name, value in inputs.items():
        gradients[name] = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            up, down = value.copy(), value.copy()
            up[at] += step
            down[at] -= step
            gradients[name][at] = (function({**inputs, name: up}) - function({**inputs, name: down})) / (2 * step)
    return gradients


def is_refusal(error):
    return isinstance(error, (RuntimeError, ValueError)) and any(text in str(error) for text in REFUSALS)


def _history(t):
    try:
        return None if t.grad_fn is None else t.grad_fn.name()
    except RuntimeError as error:                                # a view that has lost its tensor
        assert is_refusal(error)
        return str(error)


def state(tensors):
    return {name: (t.numpy().tobytes(), t.shape, t.inplace_version, t.stop_gradient, t.is_leaf, _history(t)) for name, t in tensors.items()}


def run_tensors(program, careful=True):
    """The variables, the statements that were refused, the loss, and what it is made of."""
    env = {name: paddle.to_tensor(value, stop_gradient=False) for name, value in program.inputs.items()}
    env.update({name: paddle.to_tensor(value) for name, value in program.constants.items()})
    skipped, terms = set(), {}
    for k, statement in enumerate(program.statements):
        if any(isinstance(a, Var) and a not in env for a in statement[2]):
            skipped.add(k)
            continue
        before = state(env) if careful else None
        try:
            _run_one(TENSOR, env, statement)
        except (RuntimeError, ValueError, IndexError) as error:
            # After a refused call a shape may be another than the program was made for.
            if not is_refusal(error) and not (skipped and isinstance(error, (ValueError, IndexError))):
                raise
            assert before is None or state(env) == before or statement[1] in ("iadd_item", "imul_item"), \
                f"a refused call left a trace: {statement}: {error}"
            skipped.add(k)
    loss = None
    for name, weight in program.loss.items():
        if name not in env or tuple(env[name].shape) != weight.shape:
            continue                                             # the statement that made it, or gave it this shape, was refused
        try:
            term = (env[name] * paddle.to_tensor(weight)).sum()
        except RuntimeError as error:
            if not is_refusal(error):
                raise
            continue                                             # a view that has lost its tensor
        loss = term if loss is None else loss + term
        terms[name] = weight
    return env, skipped, loss, terms


def check_program(program, order=1, differences=False):
    """Return "exact", "refused" (a version error in backward) or "constant"; raise AssertionError for anything wrong."""
    if any("detach" in op for _, op, _ in program.statements):
        order = 1                                                # to differences of gradients a detached value is no constant
    env, skipped, loss, terms = run_tensors(program)
    program = Program(program.inputs, program.constants, program.statements, terms)
    expected = numpy_env(program, program.inputs, skipped)
    for name, t in env.items():
        np.testing.assert_allclose(t.numpy(), expected[name].real, rtol=1e-9, atol=1e-11, err_msg=f"value of {name}")
    if loss is None or loss.stop_gradient:
        if loss is not None:
            for name, g in numpy_gradients(program, skipped).items():
                assert not g.any(), f"the loss is constant, but depends on {name}"
        return "constant"
    leaves = {name: env[name] for name in program.inputs}
    truth = numpy_gradients(program, skipped)
    if differences and not any("detach" in op for _, op, _ in program.statements):
        rough = central_differences(lambda inputs: numpy_loss(program, inputs, skipped).real, program.inputs)
        for name, g in truth.items():
            np.testing.assert_allclose(rough[name], g, rtol=1e-4, atol=1e-5)
    outcome = "exact"
    if order == 1:
        try:
            loss.backward()
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            assert all(leaf.grad is None for leaf in leaves.values()), "S9.22: a failed pass wrote gradients"
            return "refused"
        got = {name: None if leaf.grad is None else leaf.grad.numpy() for name, leaf in leaves.items()}
    else:
        try:
            if len(program.statements) % 2:
                loss.backward(create_graph=True)
                gradients = [leaf.grad for leaf in leaves.values()]
            else:
                gradients = paddle.grad([loss], list(leaves.values()), create_graph=True, allow_unused=True)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            return "refused"
        got = {name: None if g is None else g.numpy() for name, g in zip(leaves, gradients, strict=True)}
    for name, g in truth.items():
        np.testing.assert_allclose(np.zeros(g.shape) if got[name] is None else got[name], g, rtol=1e-7, atol=1e-9,
                                   err_msg=f"gradient of {name}")
    if order == 2:
        direction = {name: np.cos(np.arange(value.size) + 1.0).reshape(value.shape) for name, value in program.inputs.items()}
        along = None
        for (name, _), g in zip(leaves.items(), gradients, strict=True):
            if g is not None:
                term = (g * paddle.to_tensor(direction[name])).sum()
                along = term if along is None else along + term
        truth = central_differences(lambda inputs: numpy_loss(
            program, {name: value + STEP * 1j * direction[name] for name, value in inputs.items()}, skipped).imag / STEP, program.inputs,
            1e-5)
        if along is None or along.stop_gradient:
            got = dict.fromkeys(leaves)
        else:
            try:
                got = {name: None if g is None else g.numpy() for name, g in zip(leaves, paddle.grad(
                    [along], list(leaves.values()), allow_unused=True), strict=True)}
            except RuntimeError as error:
                if "modified by an inplace operation" not in str(error):
                    raise
                return "refused"
        for name, g in truth.items():
            scale = max(1.0, np.abs(g).max())
            np.testing.assert_allclose((np.zeros(g.shape) if got[name] is None else got[name]) / scale, g / scale, rtol=1e-5, atol=1e-6,
                                       err_msg=f"second-order gradient of {name}")
    return outcome


def shortest(program, order):
    """Drop statements and loss terms while the failure stays."""
    def fails(candidate):
        try:
            numpy_env(candidate, candidate.inputs)
        except Exception:  # a variable is missing, or a shape does not fit
            return False
        try:
            check_program(candidate, order)
        except Exception:
            return True
        return False

    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(program.statements))):
            candidate = Program(program.inputs, program.constants, program.statements[:k] + program.statements[k + 1:], program.loss)
            known = {s[0] for s in candidate.statements} | set(program.inputs) | set(program.constants)
            if set(candidate.loss) <= known and fails(candidate):
                program, changed = candidate, True
        for name in list(program.loss):
            candidate = Program(program.inputs, program.constants, program.statements, {n: w for n, w in program.loss.items() if n != name})
            if candidate.loss and fails(candidate):
                program, changed = candidate, True
        for kind in ("inputs", "constants"):
            for name in list(getattr(program, kind)):
                rest = {k: {n: v for n, v in getattr(program, k).items() if (k, n) != (kind, name)} for k in ("inputs", "constants")}
                candidate = Program(rest["inputs"], rest["constants"], program.statements, program.loss)
                if fails(candidate):
                    program, changed = candidate, True
    return program


def run_many(first, count, order, length=14, report=None):
    outcomes = collections.Counter()
    for seed in range(first, first + count):
        program = make_program(seed, length)
        if program is None:
            outcomes["not run"] += 1
            continue
        try:
            outcomes[check_program(program, order, differences=seed % 50 == 0)] += 1
        except Exception as error:
            outcomes["FAILED"] += 1
            if report is None:
                raise AssertionError(f"seed {seed}, order {order}:\n{shortest(program, order)}\n\n{error!r}") from error
            report(seed, program, error)
    return outcomes


@pytest.mark.parametrize("block", range(4))
def test_first_order(block):
    outcomes = run_many(1000 * block, 100, 1)
    assert outcomes["exact"] > 40


@pytest.mark.parametrize("block", range(3))
def test_second_order(block):
    outcomes = run_many(100_000 + 1000 * block, 50, 2)
    assert outcomes["exact"] > 15


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    length = int(sys.argv[3]) if len(sys.argv) > 3 else 14
    shown = 0

    def report(seed, program, error):
        nonlocal shown
        shown += 1
        if shown <= 5:
            small = shortest(program, order)
            try:
                check_program(small, order)
            except Exception as again:
                error = again
            print(f"\n==== seed {seed} order {order}: {type(error).__name__} {str(error)[:600]}\n{small}", flush=True)

    for order in (1, 2):
        shown = 0
        outcomes = run_many(first, count if order == 1 else count // 4, order, length, report)
        ran = outcomes["exact"] + outcomes["refused"] + outcomes["FAILED"]
        print(f"order {order}: {dict(outcomes)}; exact {outcomes['exact'] / max(ran, 1):.1%} of {ran} that had a gradient")


if __name__ == "__main__":
    main()

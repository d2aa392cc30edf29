"""Makes programs. Every decision is a small number, asked of ``below``: a random generator's or Hypothesis's, which makes failing programs
shrink, since 0 is always the plainest choice and statements do not depend on how those before them were chosen.
"""
from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import oracle
from .operators import OPERATORS, array_index, view_index
from .program import Index, Program, Statement, Var

SHAPES = ((4,), (2, 3), (3,), (3, 2), (2, 2), (2, 3, 2), (1,), ())
LARGEST_SIZE = 24
RESHAPED = {1: [(1,), (1, 1)], 2: [(2,), (1, 2), (2, 1)], 4: [(4,), (2, 2)], 6: [(6,), (2, 3), (3, 2), (1, 6)],
            8: [(8,), (2, 4), (2, 2, 2)], 9: [(9,), (3, 3)], 12: [(12,), (3, 4), (2, 6), (2, 3, 2)]}
UNARY_WRITES = ("tanh_", "sin_", "square_", "exp_", "sigmoid_", "cos_", "relu_", "abs_", "neg_", "reciprocal_", "sqrt_", "log_", "pow_",
                "softmax_")
BINARY_WRITES = ("multiply_", "add_", "subtract_", "divide_", "multiply_detached_", "copy_")
UNARY_VALUES = ("sin", "tanh", "square", "exp", "sigmoid", "cos", "relu", "abs", "neg", "reciprocal", "sqrt", "log", "softmax", "clone")
BINARY_VALUES = ("multiply", "add", "subtract", "divide", "maximum", "where")


class Choices:
    def __init__(self, below: Callable[[int], int]):
        self.below = below

    def one(self, options):
        return options[self.below(len(options))]

    def seldom(self, percent):
        return self.below(100) >= 100 - percent

    def recent(self, options):
        """Later variables are the interesting ones: views, results."""
        return options[len(options) - 1 - min(self.below(len(options)), self.below(len(options)))]

    def among(self, low, high):
        return low + self.below(high - low + 1)


def seeded(seed):
    rng = random.Random(seed)
    return Choices(rng.randrange)


# ---- parts of statements -----------------------------------------------------------------------------------------------------------------

def _basic_item(choose, n):
    kind = choose.below(8)
    if kind < 3:
        return choose.below(n) - (n if choose.seldom(30) else 0)
    if kind < 6:
        start = choose.below(n)
        return slice(start, choose.among(start + 1, n))
    if kind == 6:
        return slice(None, None, choose.one((2, -1, -2)))
    return slice(None)


def _basic_index(choose, shape):
    """Selects at least one element."""
    items = [_basic_item(choose, n) for n in shape[:choose.among(1, len(shape))]]
    if choose.seldom(8):
        items.insert(choose.below(len(items) + 1), None)
    if choose.seldom(8):
        items.append(Ellipsis)
    return Index(items)


def _array_index(choose, shape):
    """Integer arrays, with repetitions now and then, or a mask."""
    if choose.seldom(30):
        dims = choose.among(1, len(shape))
        flat = [bool(choose.below(2)) for _ in range(int(np.prod(shape[:dims])))]
        flat[choose.below(len(flat))] = True
        return Index([_nested(flat, shape[:dims])])
    axis = choose.below(len(shape)) if choose.seldom(30) else 0
    rows = tuple(choose.below(shape[axis]) for _ in range(choose.among(1, 3)))
    return Index([*[slice(None)] * axis, rows])


def _nested(flat, shape):
    if len(shape) == 1:
        return tuple(flat)
    part = len(flat) // shape[0]
    return tuple(_nested(flat[k:k + part], shape[1:]) for k in range(0, len(flat), part))


def _fits(shape, target):
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _number(choose):
    return choose.one((0.5, 1.5, -0.5, -1.25))


class _Maker:
    def __init__(self, choose, env):
        self.choose, self.env = choose, env

    def named(self, accept=lambda p: True):
        return [Var(n) for n, p in self.env.items() if accept(p)]

    def operand(self, shape):
        """A variable that broadcasts to a shape; half of the time of that very shape."""
        names = self.named(lambda p: _fits(p.shape, shape))
        same = [n for n in names if self.env[n].shape == shape]
        return None if not names else self.choose.recent(same if same and not self.choose.seldom(50) else names)

    def view(self, x):
        choose, pair = self.choose, self.env[x]
        shape = pair.shape
        ordered = pair.memory.ordered            # else engines differ in whether a reshape copies
        options = ["item"] * 5 if shape else []
        options += ["unsqueeze"] if len(shape) < 4 else []
        # Some engines return the operand itself when there is nothing to do, and a copy of a single number: such views are never drawn.
        shapes = [s for s in RESHAPED.get(pair.value.size, [(pair.value.size,)]) if s != shape]
        options += ["reshape", "reshape"] if ordered and shape and shapes else []
        options += ["flatten"] if ordered and len(shape) > 1 else []
        options += ["transpose", "swapaxes"] if len(shape) > 1 else []
        options += ["diagonal"] if len(shape) == 2 else []
        options += ["squeeze"] if 1 in shape else []
        operator = choose.one(options)
        rest = {
            "item": lambda: (_basic_index(choose, shape),),
            "unsqueeze": lambda: (choose.below(len(shape) + 1),),
            "reshape": lambda: (choose.one(shapes),),
            "transpose": lambda: (choose.one([p for p in itertools.permutations(range(len(shape))) if p != (*range(len(shape)),)]),),
            "swapaxes": lambda: (0, choose.among(1, len(shape) - 1)),
            "squeeze": lambda: (choose.one([k for k, n in enumerate(shape) if n == 1]),),
        }.get(operator, tuple)()
        if operator == "item" and not rest[0].backwards and pair.value[view_index(rest[0])].shape == shape:
            return None
        if choose.seldom(10) and operator + "_" in OPERATORS and (operator != "transpose" or len(shape) == 2):
            return operator + "_", (x, *rest), False
        return operator, (x, *rest), True

    def write_all(self, x):
        choose, kind = self.choose, self.choose.below(10)
        if kind < 4:
            return choose.one(UNARY_WRITES), (x,), False
        if kind < 8:
            operator = choose.one(BINARY_WRITES if self.env[x].shape else BINARY_WRITES[:-1])     # a peer cannot copy to 0 dimensions
            return operator, (x, self.operand(self.env[x].shape)), False
        if kind == 8:
            return choose.one(("multiply_number_", "add_number_", "fill_")), (x, _number(choose)), False
        return "zero_", (x,), False

    def write_part(self, x):
        choose, pair = self.choose, self.env[x]
        if not pair.shape:
            return None
        if choose.seldom(10):
            y = choose.recent(self.named(lambda p: p.shape == ()) or [None])
            return "put_where", (x, _number(choose) if y is None or choose.seldom(50) else y), False
        index = _array_index(choose, pair.shape) if choose.seldom(30) else _basic_index(choose, pair.shape)
        part = pair.value[array_index(index)].shape
        operator = choose.one(("put", "put", "put", "put", "put_added", "put_multiplied"))
        y = _number(choose) if choose.seldom(15) else self.operand(part)
        return None if y is None else (operator, (x, index, y), False)

    def value(self, x):
        choose, shape, kind = self.choose, self.env[x].shape, self.choose.below(10)
        if kind < 3:
            return choose.one(UNARY_VALUES), (x,), True
        if kind < 7:
            return choose.one(BINARY_VALUES), (x, self.operand(shape)), True
        operator = choose.one(("scale", "sum", "mean", "cumsum", "pick", "matmul", "concat", "stack", "detach", "detach_clone"))
        if operator == "scale":
            return operator, (x, _number(choose)), True
        if operator.startswith("detach"):
            return operator, (x,), True
        if not shape:
            return None
        if operator == "pick":
            return operator, (x, _array_index(choose, shape)), True
        if operator in ("sum", "mean", "cumsum"):
            return operator, (x, choose.below(len(shape))), True
        if operator == "matmul":
            partners = self.named(lambda p: len(shape) == 2 and len(p.shape) in (1, 2) and p.shape[0] == shape[1])
        else:
            partners = self.named(lambda p: p.shape == shape and p.value.size * 2 <= LARGEST_SIZE and len(shape) < 3)
        return (operator, (x, choose.recent(partners)), True) if partners else None

    def statement(self, fresh):
        choose = self.choose
        x = choose.recent(self.named())
        made = choose.one((*[self.value] * 3, *[self.view] * 3, *[self.write_all] * 3, *[self.write_part] * 2))(x)
        if made is None:
            return None
        operator, args, new = made
        no_grad = OPERATORS[operator].kind == "write" and choose.seldom(4)
        if OPERATORS[operator].kind in ("write", "rebind") and self.env[x].memory.leaf and not no_grad and not choose.seldom(2):
            return None                          # would be refused: seldom is enough
        return Statement(fresh if new else None, operator, args, no_grad)


# ---- programs ----------------------------------------------------------------------------------------------------------------------------

def _array(numbers, shape):
    return np.array([round(numbers.uniform(-1.5, 1.5), 2) for _ in range(int(np.prod(shape)))]).reshape(shape)


def make(choose: Choices, longest: int = 20) -> Program | None:
    """A program whose loss depends on its leaves, or None."""
    numbers = random.Random(choose.below(1000))
    leaves = {f"x{k}": _array(numbers, choose.one(SHAPES)) for k in range(choose.among(1, 3))}
    constants = {f"c{k}": np.array(_array(numbers, choose.one(SHAPES)) * choose.below(2)) for k in range(choose.below(3))}
    program, statements = Program(leaves, constants), []
    env = oracle.start(program, oracle.direction(program))
    # Leaves cannot be written; work begins with what can.
    for k, name in enumerate(leaves):
        statements.append(Statement(f"y{k}", choose.one(("clone", "sin", "scale")), (Var(name),)))
        if statements[-1].operator == "scale":
            statements[-1] = statements[-1]._replace(args=(Var(name), 1.5))
        oracle.execute(env, statements[-1])
    for k in range(choose.among(2, longest)):
        statement = _Maker(choose, env).statement(f"v{k}")
        if statement is None or not oracle.is_safe(env, statement):
            continue
        backup = {n: (p, p.value.copy(), p.tangent.copy()) for n, p in env.items()}
        oracle.execute(env, statement)
        if all(oracle.is_tame(p) and p.value.size <= LARGEST_SIZE for p in env.values()):
            statements.append(statement)
            continue
        for pair, value, tangent in backup.values():                # numbers that run away say little
            pair.value[...], pair.tangent[...] = value, tangent
        env = {n: pair for n, (pair, _, _) in backup.items()}
    weights = {}
    for _ in range(choose.among(1, 3)):
        names = [n for n, p in env.items() if np.any(p.tangent)]
        if names:
            name = choose.recent(names)
            weights[name] = np.asarray(np.round(_array(numbers, env[name].shape) + 2, 2))
    program = replace(program, statements=tuple(statements), weights=weights)
    return program if weights and oracle.slope(program, env) else None

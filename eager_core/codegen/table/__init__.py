"""The operator table: one row per operator, and nothing else that repeats per operator.

name        public name; the in-place form, if there is one, has an underscore behind it
family      which rule lays out the result and chooses the kernel (``rules_*.pyx``)
signature   ``name: kind = default @ name in the entry point's attribute list``; tensors first
lowlevel    name of the python-c entry point and of its inputs and results, as in the reference
kernel      a NumPy ufunc, ``own:`` one of kernels.h, ``view:`` / ``set:`` a variant of the family, or ``module.function`` of
            ``array_kernels``
aliases     further public names of the same operator, in both forms
bare        the in-place form has no underscore
commutes    of which operands the order does not matter, bit by bit: ``never`` (what is not known to), ``real``, ``always``
dtypes      rule for the result's dtype; array operators follow their kernel and say in words what it is (result)
grad        formula per input, in terms of inputs, ``out``, ``grad`` (of the result) and attributes. What backward must save follows from
            the formula. ``out`` and ``grad`` are those of result 0, ``out_1``, ``grad_1`` of result 1. ``module.f(...)`` is a Python
            function of ``gradient_helpers``; a bare name is a function of ``native_gradients.pyx``, with ``saves`` listed.
Gradients of complex operators follow the convention of the references (S9.27): grad * conj(derivative).
"""

from __future__ import annotations

from ..model import Op
from . import activations, core, elementwise, linalg, manipulation, random, scattering, sorting, special, statistics

OPS: tuple[Op, ...] = (
    *core.OPS, *elementwise.OPS, *special.OPS, *activations.OPS, *random.OPS, *statistics.OPS, *sorting.OPS, *manipulation.OPS,
    *scattering.OPS, *linalg.OPS,
)

"""The Tensor class: what a Python program sees of a tensor. Its operators are methods that the table makes (see ``doors``)."""
import numpy as np
from cpython.object cimport PyTypeObject, Py_EQ, Py_GT, Py_LE, Py_LT, Py_NE

from eager_core import printing
from eager_core.place import CPUPlace

from eager_core._generated.op_ids cimport *
from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32, KIND_INT, code_of, numpy_dtype
from eager_core.dlpack cimport make_capsule
from eager_core.doors cimport PyType_Modified, add_methods, binary, matrix_product
from eager_core.dygraph cimport call_1, call_ints
from eager_core.eager_utils cimport gradient_edge, is_leaf, leaf_node, retain_on, drop_capture
from eager_core.engine cimport backward_of
from eager_core.errors cimport invalid_argument, invalid_type, permission_denied
from eager_core.grad_mode cimport grad_enabled, set_grad_enabled
from eager_core.grad_node cimport GradNode, Hook
from eager_core.gradient_flag cimport check_flag, set_requires_grad, set_stop_gradient
from eager_core.item_access cimport get_item, set_item
from eager_core.layout cimport contiguous_layout, same_shape, shape_list, shape_text
from eager_core.lending cimport lent_array
from eager_core.masked import refuse_masked
from eager_core.parser cimport constant_of
from eager_core.storage cimport BUMPED, allocate, bump_all
from eager_core.tensor cimport alias, as_array, is_tensor, register_tensor_type, type_name, wants_grad
from eager_core.tracer cimport contiguous_copy
from eager_core.watched_call cimport note_tensor


cdef object _reader = None


cdef class Tensor(TensorBase):
    """A dense CPU tensor that records the operations made on it.

    Tensors come from ``to_tensor``, ``zeros`` and other creation functions, and from operations. ``Tensor(data)`` copies an array-like or
    another tensor into a new leaf.

    Parameters
    ----------
    data : array_like or Tensor, optional
        Read as ``to_tensor`` does: floats in lists become the default dtype, arrays keep their own. Without it, an empty float32 tensor of
        shape [0].
    stop_gradient : bool
        False: a leaf whose gradient ``backward`` accumulates in ``grad``.
    name : str
        Shown in error messages.
    """

    __array_ufunc__ = None       # ndarray + tensor asks the tensor, not NumPy

    def __cinit__(self, *args, **kwargs):
        cdef Py_ssize_t none = 0
        self.storage = allocate(0, 4)
        self.layout = contiguous_layout(1, &none)
        self.data = self.storage.data
        self.dtype = EAGER_FLOAT32
        self._stop_gradient = True
        self._name = ""

    def __init__(self, data=None, stop_gradient=True, str name=""):
        cdef TensorBase made = None
        if self.layout.numel or self.root is not None or not is_leaf(self) or self.accumulator is not None:
            raise RuntimeError("(PermissionDenied) this tensor is initialised already; use set_value() or copy_() to change its elements")
        if data is not None:
            if is_tensor(data):
                made = contiguous_copy(<TensorBase>data, (<TensorBase>data).dtype)
            elif isinstance(data, (np.ndarray, np.generic)) or _reader is None:
                made = constant_of(data, "Tensor(): argument 'data'")
            else:
                made = constant_of(_reader(data), "")
            if made is None:
                invalid_type(f"Tensor(): cannot make a tensor of {type_name(data)}")
        check_flag(stop_gradient, self.dtype if made is None else made.dtype)
        if made is not None:
            self.storage = made.storage
            self.layout = made.layout
            self.data = made.data
            self.dtype = made.dtype
        self._name = name
        set_stop_gradient(self, stop_gradient)

    # -- what it is --

    @property
    def shape(self):
        """Lengths of the axes, a list of ints."""
        return shape_list(self.layout)

    @property
    def strides(self):
        """Distance between neighbours along each axis, in elements."""
        return [self.layout.strides[i] for i in range(self.layout.ndim)]

    @property
    def dtype(self):
        """The NumPy dtype of the elements."""
        return numpy_dtype(self.dtype)

    @property
    def ndim(self):
        """Number of axes."""
        return self.layout.ndim

    @property
    def size(self):
        """Number of elements."""
        return self.layout.numel

    @property
    def place(self):
        """Where the memory is: always ``Place(cpu)``."""
        return CPUPlace()

    @property
    def name(self):
        """Free text, shown in error messages; operations never change it."""
        return self._name

    @name.setter
    def name(self, str value not None):
        self._name = value

    @property
    def inplace_version(self):
        """How often the memory under this tensor has been written in place (S4)."""
        return self.storage.version.current

    @property
    def T(self):
        """A view with the axes in reverse order."""
        return call_1(OP_REVERSE_AXES, self)

    @property
    def mT(self):
        """A view with the last two axes exchanged."""
        n = self.layout.ndim
        if n < 2:
            invalid_argument(f"mT: a matrix or a stack of matrices is needed, but the shape is {shape_text(self.layout)}")
        return self.transpose([*range(n - 2), n - 1, n - 2])

    def dim(self):
        """Return the number of axes."""
        return self.layout.ndim

    def numel(self):
        """Return the number of elements."""
        return self.layout.numel

    def element_size(self):
        """Return the size of one element in bytes."""
        return DTYPES[self.dtype].itemsize

    def is_contiguous(self):
        """Return whether the elements lie in C order without gaps."""
        return self.layout.contiguous

    # -- autograd state --

    @property
    def stop_gradient(self):
        """True: a constant. False: a leaf that wants a gradient, or the result of operations on one."""
        return not wants_grad(self)

    @stop_gradient.setter
    def stop_gradient(self, value):
        set_stop_gradient(self, value)

    @property
    def requires_grad(self):
        """The opposite of ``stop_gradient``, to read and to set."""
        return wants_grad(self)

    @requires_grad.setter
    def requires_grad(self, value):
        set_requires_grad(self, value)

    def requires_grad_(self, requires_grad=True):
        """Set ``requires_grad`` and return this tensor. No element is written, so the version stays."""
        set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self):
        """Whether no recorded operation made this tensor."""
        return is_leaf(self)

    @property
    def grad_fn(self):
        """The node that made this tensor, with a ``name()``; None for a leaf."""
        return None if is_leaf(self) else gradient_edge(self)

    @property
    def grad(self):
        """The accumulated gradient, a Tensor, or None. Assigning copies the given tensor."""
        return None if self.accumulator is None else self.accumulator.grad

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not is_tensor(value):
                invalid_type(f"grad must be a Tensor or None, but got {type_name(value)}")
            if not same_shape((<TensorBase>value).layout, self.layout) or (<TensorBase>value).dtype != self.dtype:
                invalid_argument(
                    f"a gradient of shape {shape_text((<TensorBase>value).layout)} and dtype "
                    f"{DTYPES[(<TensorBase>value).dtype].name.decode()} was assigned to a tensor of shape {shape_text(self.layout)} and "
                    f"dtype {DTYPES[self.dtype].name.decode()}")
            value = contiguous_copy(<TensorBase>value, self.dtype)
        elif self.accumulator is None:
            return
        leaf_node(self).grad = value

    def backward(self, grad_tensor=None, bint retain_graph=False, *, bint create_graph=False):
        """Accumulate this tensor's gradient into the ``grad`` of the leaves it depends on.

        Parameters
        ----------
        grad_tensor : Tensor, same shape, optional
            Gradient of the final result with respect to this tensor; ones by default, whatever the shape.
        retain_graph : bool
            Keep saved values so that the graph can be run again; without it a second run raises ``GraphFreedError``.
        create_graph : bool
            Record the gradient computation itself, so that gradients can be differentiated.

        Raises
        ------
        RuntimeError
            Nothing requires grad; the graph was freed; a saved tensor was modified in place (the version error).
        ValueError
            ``grad_tensor`` has another shape.
        """
        backward_of(self, grad_tensor, retain_graph or create_graph, create_graph)

    def register_hook(self, hook):
        """Call ``hook(gradient)`` when this tensor's gradient is known; it may return a replacement.

        The hook belongs to the value the tensor has now: an in-place operation afterwards does not move it.

        Returns
        -------
        Hook
            with ``remove()``.
        """
        cdef GradNode node = gradient_edge(self)
        cdef Hook made
        note_tensor(self)
        if node is None:
            raise RuntimeError("Cannot register hook on a tensor that stop gradient.")
        if not callable(hook):
            raise TypeError(f"(InvalidType) a hook must be callable, but got {type_name(hook)}")
        made = Hook.__new__(Hook)
        made.function = hook
        made.slot = self.slot if not is_leaf(self) else 0
        if node.hooks is None:
            node.hooks = []
        node.hooks.append(made)
        return made

    def retain_grads(self):
        """Keep the gradient of this non-leaf in ``grad``, for the newest value it has when backward runs."""
        note_tensor(self)
        retain_on(self)

    def clear_gradient(self, bint set_to_zero=True):
        """Fill ``grad`` with zeros in place, or drop it if ``set_to_zero`` is False."""
        cdef TensorBase g
        if self.accumulator is None or self.accumulator.grad is None:
            return
        if not set_to_zero:
            self.accumulator.grad = None
            return
        g = <TensorBase>self.accumulator.grad
        before = set_grad_enabled(False)
        try:
            g.zero_()
        finally:
            set_grad_enabled(before)

    def clear_grad(self, bint set_to_zero=True):
        """The same as ``clear_gradient``."""
        self.clear_gradient(set_to_zero)

    def gradient(self):
        """Return a NumPy copy of ``grad``, or None."""
        grad = self.grad
        return None if grad is None else grad.numpy()

    def detach(self):
        """Return a constant leaf that shares memory and version counter. A write through it is not part of any history."""
        return alias(self, self.layout, self.data)

    def detach_(self):
        """Turn this tensor into a constant leaf and return it."""
        if self.root is not None:
            permission_denied("a view cannot be detached in place; use detach() instead")
        drop_capture(self)
        self.retains = False
        self.grad_node = None
        self.slot = 0
        self._stop_gradient = True
        return self

    @property
    def data(self):
        """A constant alias, as ``detach()`` gives. Assigning a tensor of the same shape and dtype rebinds this one to its memory."""
        return self.detach()

    @data.setter
    def data(self, other):
        cdef TensorBase source
        if not is_tensor(other):
            invalid_type(f"data must be a Tensor, but got {type_name(other)}")
        source = <TensorBase>other
        if not same_shape(source.layout, self.layout) or source.dtype != self.dtype:
            invalid_argument(f"data of shape {shape_text(source.layout)} and dtype {DTYPES[source.dtype].name.decode()} cannot take the "
                             f"place of shape {shape_text(self.layout)} and dtype {DTYPES[self.dtype].name.decode()}")
        if self.root is not None:
            permission_denied("the memory of a view cannot be rebound; assign to the elements instead: view[...] = other")
        self.storage = source.storage
        self.layout = source.layout
        self.data = source.data

    def _bump_inplace_version(self):
        """Count a write that the library did not see."""
        bump_all(self.storage, BUMPED)

    # -- values --

    def numpy(self):
        """Return a writable NumPy copy."""
        return as_array(self, False).copy()

    def __array__(self, dtype=None, copy=None):
        """Return a writable NumPy copy: what ``numpy.asarray`` and ``numpy.array`` call.

        Parameters
        ----------
        dtype : numpy.dtype, optional
        copy : bool, optional
            Without effect if True: it is a copy anyway.

        Returns
        -------
        numpy.ndarray, shape of the tensor

        Raises
        ------
        ValueError
            ``copy=False``: nobody could count the writes. ``readonly_array()`` and ``writable_array()`` share memory.
        """
        if copy is False:
            raise ValueError("(InvalidArgument) a tensor gives NumPy a copy only: writes to shared memory could not be counted")
        array = as_array(self, False)
        return array.copy() if dtype is None else array.astype(dtype, copy=True)

    def readonly_array(self):
        """Return a NumPy array over this tensor's memory that cannot be written to. It shows later writes to the tensor.

        Returns
        -------
        numpy.ndarray, shape and dtype of the tensor
            Read-only for good. It keeps the memory alive, not the tensor.

        Notes
        -----
        Allowed for every tensor, whatever its history, and never refused: who can only read moves no version, and costs backward no copy.
        """
        return as_array(self, False)

    def writable_array(self):
        """Lend this tensor's memory to a NumPy array: ``with t.writable_array() as a:``.

        Counts as an in-place operation when the block begins, and again when it ends: backward refuses what was saved of these elements
        before. Operators inside the block save copies. After it, ``a`` is read-only; an array made of it in the meantime can go on
        writing, and operators go on saving copies until the last one is gone, ``a`` included.

        Returns
        -------
        WritableArray
            The context manager.

        Raises
        ------
        ValueError
            On entry: a leaf that requires grad, outside of ``no_grad()``, or elements that share memory.
        RuntimeError
            On entry: a tensor with a history, outside of ``no_grad()``: what the array writes has no gradient.
        """
        return lent_array(self)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Return a DLPack capsule with a copy of the elements, for ``from_dlpack`` of another library.

        With ``copy=False`` it is over this tensor's memory, to read and to write: it counts as an in-place operation when it is made, with
        the checks of ``writable_array()``, and again when the consumer has let go of it. Operators save copies meanwhile.

        Parameters
        ----------
        stream : None
            The CPU has no streams.
        max_version : tuple of two ints, optional
            The newest version of the protocol that the consumer knows; without it, or below (1, 0), the capsule is of the unversioned form.
        dl_device : tuple of two ints, optional
            Where the consumer wants it: (1, 0), the CPU.
        copy : bool, optional
            False: over this tensor's memory. True or None: a copy.

        Returns
        -------
        PyCapsule
            Named ``dltensor_versioned``, or ``dltensor``.

        Raises
        ------
        TypeError
            ``max_version``, ``dl_device`` or ``copy`` is of another type.
        ValueError
            A stream is given. With ``copy=False``: a leaf that requires grad, outside of ``no_grad()``, or elements that share memory.
        RuntimeError
            With ``copy=False``: a tensor with a history, outside of ``no_grad()``.
        BufferError
            Another device. With ``copy=False``: elements in reverse order.
        MemoryError
            There is none for the copy.
        """
        return make_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """Return DLPack's (type, number) of the CPU."""
        return 1, 0

    def item(self, *args):
        """Return one element as a Python number: the only one, or that at a flat or a full index."""
        array = as_array(self, False)
        if not args:
            if self.layout.numel != 1:
                invalid_argument("only one element tensors can be converted to Python scalars when no input coordinates "
                                 f"are given, but the shape is {self.shape}. For a truth value use any() or all()")
            return array.item()
        try:
            return array.item(*args)
        except (IndexError, ValueError) as error:
            raise IndexError(f"(OutOfRange) {error}") from None

    def tolist(self):
        """Return the elements as nested lists of Python numbers."""
        return as_array(self, False).tolist()

    def clone(self):
        """Return a copy that is part of the graph."""
        return call_1(OP_ASSIGN, self)

    def astype(self, dtype):
        """Return the elements converted to another dtype, always in new memory."""
        return call_ints(OP_CAST, self, None, code_of(dtype), 0)

    def cpu(self):
        """Return this tensor: its memory is the CPU's."""
        return self

    def contiguous(self):
        """Return this tensor if its elements lie in C order without gaps, else a copy that does."""
        return self if self.layout.contiguous else call_1(OP_ASSIGN, self)

    def set_value(self, value):
        """Overwrite the elements with those of an array or tensor of the same shape and dtype.

        Allowed on leaves in any mode and not recorded there; the version moves, so a graph that saved the old value says so. On a non-leaf
        the overwrite is recorded.
        """
        cdef TensorBase source
        cdef bint before
        if not is_tensor(value) and not isinstance(value, np.ndarray):
            invalid_type(f"set_value() takes a numpy.ndarray or a Tensor, but got {type_name(value)}")
        source = <TensorBase>value if is_tensor(value) else constant_of(value, "set_value(): argument 'value'")
        if source is None or source.dtype != self.dtype:
            invalid_argument(f"set_value(): dtype not match, the tensor has {DTYPES[self.dtype].name.decode()}, the value {value.dtype}")
        if not same_shape(source.layout, self.layout):
            invalid_argument(f"set_value(): Variable Shape not match, the tensor has {shape_text(self.layout)}, the value "
                             f"{shape_text(source.layout)}")
        before = set_grad_enabled(grad_enabled() and not (is_leaf(self) and (self.root is None or not wants_grad(<TensorBase>self.root))))
        try:
            self.copy_(source)
        finally:
            set_grad_enabled(before)

    def __getitem__(self, index):
        return get_item(self, index)

    def __setitem__(self, index, value):
        set_item(self, index, value)

    def __len__(self):
        if self.layout.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.layout.dims[0]

    def __iter__(self):
        if self.layout.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return map(self.__getitem__, range(self.layout.dims[0]))

    def __contains__(self, value):
        if isinstance(value, np.ndarray):
            refuse_masked(value, "the value to look for")
        return bool((as_array(self, False) == (as_array(<TensorBase>value, False) if is_tensor(value) else value)).any())

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        if DTYPES[self.dtype].kind != KIND_INT:
            raise TypeError(f"only integer tensors can be used as an index, but the dtype is {DTYPES[self.dtype].name.decode()}")
        return self.item()

    def __hash__(self):
        return <Py_ssize_t>(<size_t><void *>self >> 4)

    def __repr__(self):
        return printing.tensor_repr(self)

    def __str__(self):
        return printing.tensor_repr(self)

    def __format__(self, spec):
        return printing.format_tensor(self, spec)

    def __copy__(self):
        return call_1(OP_ASSIGN, self)

    def __deepcopy__(self, memo):
        cdef Tensor made
        if not is_leaf(self) and wants_grad(self):
            raise RuntimeError("(PermissionDenied) only leaves can be deep-copied; use clone(), or detach() first")
        made = type(self)(self, not wants_grad(self), self._name)
        if self.accumulator is not None and self.accumulator.grad is not None:
            leaf_node(made).grad = contiguous_copy(<TensorBase>self.accumulator.grad, self.dtype)
        memo[id(self)] = made
        return made

    def __reduce__(self):
        return _rebuild, (type(self), self.numpy(), not wants_grad(self), self._name)

    # -- operators --

    def __add__(self, other):
        return binary(OP_ADD, self, other, False)

    def __radd__(self, other):
        return binary(OP_ADD, other, self, False)

    def __iadd__(self, other):
        return binary(OP_ADD, self, other, True)

    def __sub__(self, other):
        return binary(OP_SUBTRACT, self, other, False)

    def __rsub__(self, other):
        return binary(OP_SUBTRACT, other, self, False)

    def __isub__(self, other):
        return binary(OP_SUBTRACT, self, other, True)

    def __mul__(self, other):
        return binary(OP_MULTIPLY, self, other, False)

    def __rmul__(self, other):
        return binary(OP_MULTIPLY, other, self, False)

    def __imul__(self, other):
        return binary(OP_MULTIPLY, self, other, True)

    def __truediv__(self, other):
        return binary(OP_DIVIDE, self, other, False)

    def __rtruediv__(self, other):
        return binary(OP_DIVIDE, other, self, False)

    def __itruediv__(self, other):
        return binary(OP_DIVIDE, self, other, True)

    def __floordiv__(self, other):
        return binary(OP_FLOOR_DIVIDE, self, other, False)

    def __rfloordiv__(self, other):
        return binary(OP_FLOOR_DIVIDE, other, self, False)

    def __ifloordiv__(self, other):
        return binary(OP_FLOOR_DIVIDE, self, other, True)

    def __mod__(self, other):
        return binary(OP_REMAINDER, self, other, False)

    def __rmod__(self, other):
        return binary(OP_REMAINDER, other, self, False)

    def __imod__(self, other):
        return binary(OP_REMAINDER, self, other, True)

    def __pow__(self, other, modulo):
        return NotImplemented if modulo is not None else binary(OP_POW, self, other, False)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else binary(OP_POW, other, self, False)

    def __ipow__(self, other):
        return binary(OP_POW, self, other, True)

    def __matmul__(self, other):
        return matrix_product(self, other)

    def __rmatmul__(self, other):
        return matrix_product(other, self)

    def __and__(self, other):
        return binary(OP_BITWISE_AND, self, other, False)

    def __rand__(self, other):
        return binary(OP_BITWISE_AND, other, self, False)

    def __iand__(self, other):
        return binary(OP_BITWISE_AND, self, other, True)

    def __or__(self, other):
        return binary(OP_BITWISE_OR, self, other, False)

    def __ror__(self, other):
        return binary(OP_BITWISE_OR, other, self, False)

    def __ior__(self, other):
        return binary(OP_BITWISE_OR, self, other, True)

    def __xor__(self, other):
        return binary(OP_BITWISE_XOR, self, other, False)

    def __rxor__(self, other):
        return binary(OP_BITWISE_XOR, other, self, False)

    def __ixor__(self, other):
        return binary(OP_BITWISE_XOR, self, other, True)

    def __neg__(self):
        return call_1(OP_NEG, self)

    def __pos__(self):
        return call_1(OP_ASSIGN, self)

    def __abs__(self):
        return call_1(OP_ABS, self)

    def __invert__(self):
        return call_1(OP_BITWISE_NOT, self)

    def __richcmp__(self, other, int how):
        cdef int op
        if how == Py_EQ:
            op = OP_EQUAL
        elif how == Py_NE:
            op = OP_NOT_EQUAL
        elif how == Py_LT:
            op = OP_LESS_THAN
        elif how == Py_LE:
            op = OP_LESS_EQUAL
        elif how == Py_GT:
            op = OP_GREATER_THAN
        else:
            op = OP_GREATER_EQUAL
        return binary(op, self, other, False)


def _rebuild(cls, array, stop_gradient, name):
    return cls(array, stop_gradient, name)


register_tensor_type(Tensor)
add_methods(<PyTypeObject *>Tensor)


def register_reader(reader):
    """Let ``Tensor(data)`` read Python numbers and lists with this function, which returns an array: python_api knows the default dtype."""
    global _reader
    _reader = reader


def attach_methods(dict functions):
    """Add Python functions to the Tensor class as methods: operators that are put together from others, their first argument being self."""
    cdef PyTypeObject *cls = <PyTypeObject *>Tensor
    (<dict>cls.tp_dict).update(functions)
    PyType_Modified(cls)

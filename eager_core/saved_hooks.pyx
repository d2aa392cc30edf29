"""Saved tensors that a user's functions pack and unpack.

A block pushes its pair of functions onto a stack of its thread. A recorded call asks once, when all it saves is in its node, whether any
block is open, and if so exchanges each value for what ``pack`` makes of it; the memory itself is let go. ``recover`` calls ``unpack``.
"""
import threading

cimport cython
from cpython.ref cimport Py_CLEAR

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport invalid_argument, invalid_type, permission_denied, version_error
from eager_core.grad_mode cimport set_grad_enabled
from eager_core.grad_node cimport SavedTensor
from eager_core.layout cimport Layout, same_shape, shape_text
from eager_core.storage cimport Storage, serial_of, untouched
from eager_core.tensor cimport is_tensor, new_tensor, type_name
from eager_core.write_log cimport released

hooks_in_use = 0


class _Stack(threading.local):
    """Blocks open in this thread, innermost last. A hook runs with a list of its own."""

    def __init__(self):
        self.pairs = []


cdef object _stack = _Stack()


@cython.final
cdef class SavedTensorsHooks:
    """One open block."""
    cdef object pack, unpack
    cdef list pairs                  # of the thread that entered: the block may be left by another one (a generator)

    def __init__(self, pack, unpack):
        for name, function in (("pack_hook", pack), ("unpack_hook", unpack)):
            if not callable(function):
                invalid_type(f"saved_tensors_hooks(): {name} must be callable, but got {type_name(function)}")
        self.pack = pack
        self.unpack = unpack

    def enter(self):
        """Open the block in this thread."""
        global hooks_in_use
        if self.pairs is not None:
            permission_denied("a block of saved_tensors_hooks() can be entered once; make another one")
        self.pairs = _stack.pairs
        self.pairs.append(self)
        hooks_in_use += 1

    def leave(self):
        """Close it; blocks inside that are still open stay so."""
        global hooks_in_use
        if self.pairs is not None:
            self.pairs.remove(self)
            self.pairs = None
            hooks_in_use -= 1


@cython.final
cdef class Packed:
    def __init__(self):
        raise TypeError("packed values are made by recorded operators only")


cdef bint packs_here() except -1:
    return bool(_stack.pairs)


cdef object _call(object hook, object argument):
    """Hooks record nothing, and what they record all the same is not packed, but by a block that they open themselves (checkpoint). What
    they raise passes through as it is (S1.13)."""
    cdef bint mode = set_grad_enabled(False)
    cdef list outside = _stack.pairs
    _stack.pairs = []
    try:
        return hook(argument)
    finally:
        _stack.pairs = outside
        set_grad_enabled(mode)


cdef int pack_saved(OperatorNode node) except -1:
    cdef SavedTensorsHooks pair = <SavedTensorsHooks>_stack.pairs[len(_stack.pairs) - 1]
    cdef SavedTensor *kept
    cdef TensorBase argument, content
    cdef Storage storage
    cdef Packed made
    cdef uint64_t version
    cdef list packed = [None] * node.n_saved
    cdef int k
    for k in range(node.n_saved):
        kept = &node.saved[k]
        if kept.storage == NULL:
            continue
        storage = <Storage>kept.storage
        version = storage.version.current
        argument = new_tensor(storage, <Layout>kept.layout, kept.data, kept.dtype)
        if kept.name != NULL:
            argument._name = <str>kept.name
        made = Packed.__new__(Packed)
        made.content = _call(pair.pack, argument)
        if storage.version.current != version:
            permission_denied(f"the pack hook has modified its argument in place, a tensor of shape {shape_text(<Layout>kept.layout)} "
                              f"saved by {node.name()}. Change a clone() of it instead")
        made.unpack = pair.unpack
        made.saved_serial = serial_of(storage)
        made.saved_version = kept.version
        if is_tensor(made.content):
            content = <TensorBase>made.content
            content.storage.version.snapshots += 1       # for good: where the content goes is not known
            made.content_serial = serial_of(content.storage)
            made.content_version = content.storage.version.current
        packed[k] = made
    for k in range(node.n_saved):
        # The snapshot stays counted, so that writes to the memory go on being told apart (S5.13), for as long as somebody keeps it. But
        # what a pack hook has seen is its own business: it is not put by for.
        if node.saved[k].storage != NULL and (<Storage>node.saved[k].storage).log is not None:
            released(<Storage>node.saved[k].storage, node.saved[k].version)
        Py_CLEAR(node.saved[k].storage)
    node.packed = packed
    return 0


cdef TensorBase unpacked(OperatorNode node, int k, str role):
    cdef Packed packed = <Packed>node.packed[k]
    cdef SavedTensor *kept = &node.saved[k]
    cdef Layout layout = <Layout>kept.layout
    cdef int dtype = kept.dtype
    cdef str name = "" if kept.name == NULL else <str>kept.name
    cdef TensorBase t
    answer = _call(packed.unpack, packed.content)
    if not is_tensor(answer):
        invalid_type(f"the unpack hook must return a Tensor, but got {type_name(answer)}, for {role}")
    t = <TensorBase>answer
    if not same_shape(t.layout, layout):
        invalid_argument(f"the unpack hook returned a tensor of shape {shape_text(t.layout)} for one of shape {shape_text(layout)}, {role}")
    if t.dtype != dtype:
        invalid_type(f"the unpack hook returned a tensor of dtype {DTYPES[t.dtype].name.decode()} for one of dtype "
                     f"{DTYPES[dtype].name.decode()}, {role}")
    # S12.3: memory that was packed as it stood, by whatever way it comes back, must not have been written to since.
    _check_unwritten(t, packed.saved_serial, packed.saved_version, name, role)
    _check_unwritten(t, packed.content_serial, packed.content_version, name, role)
    return new_tensor(t.storage, t.layout, t.data, t.dtype)


cdef int _check_unwritten(TensorBase t, uint64_t serial, uint64_t version, str name, str role) except -1:
    if serial and t.storage.version.serial == serial \
            and not untouched(t.storage, version, t.data, t.layout, DTYPES[t.dtype].itemsize):
        version_error(name, t.storage.version.current, version,
                      f"It was saved as {role}, and packed without being copied. Let the pack hook copy, or move the write after backward.")
    return 0

"""Nodes of the autograd graph: what an operator leaves behind for backward."""
cimport cython
from cpython.ref cimport Py_XDECREF
from libc.stdlib cimport calloc, free

from eager_core.errors cimport resource_exhausted
from eager_core.storage cimport Storage


# trashcan: releasing a long chain of nodes must not recurse on the C stack (S9.6).
@cython.trashcan(True)
@cython.freelist(1024)
cdef class GradNode:
    """A recorded operator. ``name()`` tells which."""

    def __dealloc__(self):
        self.release_saved()
        if self.saved != NULL and self.saved != self.inline_saved:
            free(self.saved)

    def __init__(self):
        raise TypeError("grad nodes are made by recorded operators only")

    def name(self):
        """Return the node's name, such as ``ExpGradNode``."""
        return self.row.node_name.decode() if self.row != NULL else "GradNodeAccumulation"

    def __repr__(self):
        return f"<{self.name()}>"

    cdef GradNode edge(self, int i):
        if i == 0:
            return self.next_0
        if i == 1:
            return self.next_1
        return None if self.next_rest is None else <GradNode>self.next_rest[i - 2]

    cdef int edge_slot(self, int i) noexcept:
        if i == 0:
            return self.slot_0
        if i == 1:
            return self.slot_1
        return self.slots_rest[i - 2]

    cdef int set_edge(self, int i, GradNode target, int slot) except -1:
        """Edges are set in order, 0 first."""
        self.n_edges = i + 1
        if i == 0:
            self.next_0 = target
            self.slot_0 = slot
        elif i == 1:
            self.next_1 = target
            self.slot_1 = slot
        else:
            if i == 2:
                self.next_rest = []
                self.slots_rest = []
            self.next_rest.append(target)
            self.slots_rest.append(slot)
        return 0

    cdef int reserve_saved(self, int n) except -1:
        if n <= 2:
            self.saved = self.inline_saved
        else:
            self.saved = <SavedTensor *>calloc(n, sizeof(SavedTensor))
            if self.saved == NULL:
                resource_exhausted("cannot allocate the saved tensors of a node")
        self.n_saved = n
        return 0

    cdef void release_saved(self) noexcept:
        cdef int i
        cdef SavedTensor *one
        for i in range(self.n_saved):
            one = &self.saved[i]
            if one.storage != NULL:
                (<Storage>one.storage).version.snapshots -= 1
                Py_XDECREF(one.storage)
            Py_XDECREF(one.layout)
            Py_XDECREF(one.name)
            one.storage = one.layout = one.name = NULL
        self.n_saved = 0

    cdef void clear(self):
        """What a pass without retain_graph leaves: no values, no edges, so that memory goes as the pass goes (S5.7)."""
        self.cleared = True
        if self.running:
            return                   # by another thread; that pass clears it
        self.n_edges = 0
        self.release_saved()
        self.next_0 = None
        self.next_1 = None
        self.next_rest = None
        self.attr_objects = None

    cdef Layout output_layout(self, int slot):
        return self.out_layout if slot == 0 else <Layout>self.more_outputs[slot - 1][0]

    cdef int output_dtype(self, int slot) except -1:
        return self.out_dtype if slot == 0 else self.more_outputs[slot - 1][1]


@cython.final
cdef class AccumulationNode(GradNode):
    pass


cdef AccumulationNode new_accumulation_node(Layout layout, int dtype, str name):
    cdef AccumulationNode made = AccumulationNode.__new__(AccumulationNode)
    made.n_outputs = 1
    made.out_layout = layout
    made.out_dtype = dtype
    made.name = name
    return made


@cython.final
cdef class Hook:
    """Handle of a registered hook."""

    def __init__(self):
        raise TypeError("hooks are made by Tensor.register_hook")

    def remove(self):
        """Take the hook off; True the first time, False afterwards. A running pass finishes with the hooks it began with."""
        if self.function is None:
            return False
        self.function = None
        return True

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int64_t, uint64_t

from eager_core.layout cimport Layout
from eager_core.op cimport OpRow

cdef enum:
    INLINE_SAVED = 2

# A value kept for backward (TensorWrapper): memory by reference, geometry, and the version at which it was kept (S5.1).
# storage and layout are owned references to objects that hold no other Python objects, so the garbage collector need not see them.
cdef struct SavedTensor:
    PyObject *storage        # NULL: nothing kept, or shape and dtype only (S5.2)
    PyObject *layout         # NULL: nothing kept
    PyObject *name           # NULL: no name
    char *data
    uint64_t version
    int8_t dtype
    int8_t source            # input index whose edge is the value's history; 16 + k: output k of this node

cdef struct Number:
    double f
    int64_t i

# Fields in the order of their use: a pass over many nodes is as fast as they come from memory, so that what every node uses lies in the
# first cache lines, and what few nodes have lies apart.
cdef class GradNode:
    """What every node has, and all there is to one whose operator moves no data: a view, or a write to a region."""
    cdef OpRow *row
    # Edges, one per tensor input; None where no gradient is wanted.
    cdef GradNode next_0
    cdef GradNode next_1
    cdef int slot_0
    cdef int slot_1
    cdef int n_edges
    # Outputs: what a gradient delivered here must look like.
    cdef int n_outputs
    cdef int n_saved                 # 0 in all but an OperatorNode
    cdef int running                 # passes that are inside its backward function: what it saved stays until they leave
    cdef int8_t out_dtype
    cdef int8_t inplace              # its output 0 was written over its input 0
    cdef int8_t cleared              # saved values freed by a backward pass
    cdef int8_t real_part            # the result was real, and written into a complex tensor: so is what the formula is given
    cdef void *run                   # the engine's run that numbered this node, or NULL
    cdef Py_ssize_t run_index
    cdef const void *earlier         # where a node lies, or lay, that was made some nodes before this one: a pass will soon be there
    cdef Layout out_layout
    cdef Layout region               # of a view or a region write: where in the root's memory, in elements
    cdef Py_ssize_t region_offset
    # What few nodes have.
    cdef list hooks                  # [Hook]; S9.11
    cdef list captures               # [(slot, AccumulationNode)]: retained gradients, S9.13
    cdef object lines                # None, or where the user's program made this node (detect_anomaly)

    cdef GradNode edge(self, int i)
    cdef int edge_slot(self, int i) noexcept
    cdef int set_edge(self, int i, GradNode target, int slot) except -1
    cdef void clear(self)
    cdef Layout output_layout(self, int slot)
    cdef int output_dtype(self, int slot) except -1

cdef class OperatorNode(GradNode):
    """A node with a formula: what the formula needs, and any number of inputs and outputs."""
    cdef list more_outputs           # [(Layout, dtype)] of outputs 1, 2, ...
    cdef list next_rest              # edges 2, 3, ...
    cdef list slots_rest
    cdef object attr_objects         # None, or a tuple: attributes that are Python objects
    cdef list packed                 # None, or [Packed or None] beside `saved`: values in the form of a pack hook
    cdef SavedTensor *saved          # inline_saved, or memory of its own
    cdef SavedTensor[2] inline_saved
    cdef Number[3] attrs

    cdef int reserve_saved(self, int n) except -1

cdef class AccumulationNode(GradNode):
    """GradNodeAccumulation: where the gradient of a leaf ends; also the cell that keeps a retained gradient."""
    cdef object grad                 # None or Tensor
    cdef object outdated             # None, or the .grad from before the leaf's axes changed places
    cdef bint stale                  # the leaf changed its shape since: a gradient for the old shape has no place to go (S9.10)
    cdef str name                    # of the leaf, for messages

cdef class Hook:
    """One registered hook; ``remove`` takes it off. It does not know where it stands: that would be a cycle."""
    cdef object function             # None once removed
    cdef int slot

cdef GradNode new_node(OpRow *row)                                 # with one output
cdef OperatorNode new_operator_node(OpRow *row)
cdef void release_saved(PyObject *node) noexcept                    # an OperatorNode
cdef AccumulationNode new_accumulation_node(Layout layout, int dtype, str name)

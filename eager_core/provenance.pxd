from eager_core.grad_node cimport GradNode, SavedTensor
from eager_core.tensor cimport TensorBase

cdef str role_of(GradNode node, SavedTensor *kept)                # "input 0 of SinGradNode"
cdef str explanation(GradNode node, SavedTensor *kept)           # what the version error adds to the reference's text
cdef int note_write(TensorBase part, int op) except -1           # detect_anomaly: remember the line that has just written to `part`

from eager_core.grad_node cimport GradNode, SavedTensor

cdef str role_of(GradNode node, SavedTensor *kept)                # "input 0 of SinGradNode"
cdef str explanation(GradNode node, SavedTensor *kept)           # what the version error adds to the reference's text

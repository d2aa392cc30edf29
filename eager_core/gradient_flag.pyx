"""Whether a tensor wants a gradient, as its user says: ``stop_gradient`` and ``requires_grad`` are set here."""
from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32
from eager_core.errors cimport invalid_argument, invalid_type, permission_denied
from eager_core.tensor cimport HAS_LEAF, type_name, wants_grad


cdef int check_flag(object value, int dtype) except -1:
    if type(value) is not bool:
        invalid_type(f"argument (position 1) must be bool, but got {type_name(value)}")
    if value is False and dtype < EAGER_FLOAT32:
        invalid_argument(f"a tensor of dtype {DTYPES[dtype].name.decode()} cannot require grad: only floating point and complex can. "
                         "Give floats, or a dtype")
    return 0


cdef int set_stop_gradient(TensorBase t, object value) except -1:
    """S3.7, S3.8. On a view: True makes it a constant whatever its root is; False on a view of a constant makes it a leaf of its own."""
    cdef TensorBase root
    check_flag(value, t.dtype)
    if t.root is None:
        t._stop_gradient = value
        return 0
    root = <TensorBase>t.root
    if value is True:
        t.pinned = t.pinned or wants_grad(t)         # a constant already: it goes on following its root (S8.4)
        return 0
    if not root._stop_gradient:
        if not t.made_under_no_grad:
            t.pinned = False
            return 0
        permission_denied(f"view ({t._name}) was made under no_grad() from a tensor that requires grad and cannot require grad itself; "
                          "make it in grad mode, or detach() it")
    t.pinned = False
    if wants_grad(t):
        return 0                                     # its own history, from before the root became a constant
    # The memory stays shared, the history does not: a write to the root in grad mode would change this leaf unseen, so it is refused.
    root.has_alias = HAS_LEAF
    t.root = None
    t.made_under_no_grad = False
    t._stop_gradient = False
    t.grad_node = None
    t.slot = 0
    return 0


cdef int set_requires_grad(TensorBase t, object value) except -1:
    if type(value) is not bool:
        invalid_type(f"requires_grad must be bool, but got {type_name(value)}")
    return set_stop_gradient(t, not value)

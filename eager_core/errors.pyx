"""Error categories of the engine and the texts that are part of its contract (S0.2, S0.3)."""


class GraphFreedError(RuntimeError, SystemError):
    """A backward pass met a node whose saved tensors were freed by an earlier pass.

    Derives from both classes that the references raise for it: PaddlePaddle's ``SystemError`` and PyTorch's ``RuntimeError``.
    """


cdef int invalid_argument(str message) except -1:
    raise ValueError("(InvalidArgument) " + message)


cdef int invalid_type(str message) except -1:
    raise TypeError("(InvalidType) " + message)


cdef int out_of_range(str message) except -1:
    raise IndexError("(OutOfRange) " + message)


cdef int permission_denied(str message) except -1:
    raise RuntimeError("(PermissionDenied) " + message)


cdef int precondition_not_met(str message) except -1:
    raise RuntimeError("(PreconditionNotMet) " + message)


cdef int already_exists(str message) except -1:
    raise RuntimeError("(AlreadyExists) " + message)


cdef int unavailable(str message) except -1:
    raise RuntimeError("(Unavailable) " + message)


cdef int resource_exhausted(str message) except -1:
    raise MemoryError("(ResourceExhausted) " + message)


cdef int leaf_error(str name) except -1:
    """CheckInplace's refusal. The text up to the full stop is the reference's."""
    invalid_argument(
        f"Leaf Var ({name}) that doesn't stop gradient can't use inplace strategy. "
        "Write under no_grad(), or make the change on a result of an operation instead of the leaf.")


cdef int version_error(str name, unsigned long long version, unsigned long long expected, str detail) except -1:
    """The reference's text, word for word ("void" included); our own sentence follows it."""
    permission_denied(
        f"Tensor '{name}' used in gradient computation has been modified by an inplace operation. "
        f"Its version is {version} but the expected version is {expected}. "
        "Please fix your code to void calling an inplace operator after using the Tensor which will used in gradient computation. "
        + detail)


cdef int freed_error(str node) except -1:
    raise GraphFreedError(
        f"(Fatal) The TensorWrappers of {node} do not exist. This may be because:\n"
        "You calculate backward twice for the same subgraph without setting retain_graph=True. "
        "Please set retain_graph=True in the first backward/grad call.")

"""Who saved a value, who has overwritten it, and what to do: what the version error says beyond its fixed text."""
import collections

from libc.stdint cimport uint64_t

from eager_core import anomaly

from eager_core._generated.op_ids cimport OP_PY_LAYER
from eager_core.dtypes cimport DTYPES
from eager_core.layout cimport Layout, shape_text
from eager_core.modes cimport watching
from eager_core.op cimport op_row
from eager_core.storage cimport BUMPED, OUTSIDE, WRITERS, Storage, regions_meet, untouched
from eager_core.tensor_wrapper cimport OUTPUT
from eager_core.write_log cimport WriteLog, known_log, log_of

cdef enum:
    MOST_NOTED = 1024                # writes to one memory whose lines detect_anomaly remembers


cdef str role_of(GradNode node, SavedTensor *kept):
    cdef int source = kept.source
    if source < 0:
        return f"a value of {node.name()}"
    if source < OUTPUT:
        return f"input {source} of {node.name()}"
    return f"output of {node.name()}" if source == OUTPUT else f"output {source - OUTPUT} of {node.name()}"


cdef str explanation(GradNode node, SavedTensor *kept):
    return (f"It was saved as {role_of(node, kept)}, shape {shape_text(<Layout>kept.layout)}, dtype "
            f"{DTYPES[kept.dtype].name.decode()}. {_writers(kept)} {_remedy(kept)}" + _lines(node, kept))


cdef str _remedy(SavedTensor *kept):
    """What the library does not write it cannot put by first, so there `allow_mutation_on_saved_tensors` is no way out."""
    cdef Storage s = <Storage>kept.storage
    cdef uint64_t version
    cdef int writer
    for version in range(max(_first_known(s), kept.version + 1), s.version.current + 1):
        writer = _writer_of(s, version)
        if writer == BUMPED:
            return ("That is this program's own call, which says that something has written here unseen. Call it before forward, or "
                    "give the operator a clone() of the tensor.")
        if writer == OUTSIDE:
            return ("That is whoever has, or had, an array or a capsule over this memory (writable_array(), __dlpack__(copy=False)): it is "
                    "taken to write from the moment it is made. Make it and let it go before forward, or work on a copy, numpy(), and "
                    "assign that after backward, or give the operator a clone() of the tensor.")
    return ("Clone the tensor before the write, move the write after backward, or run forward under "
            "autograd.allow_mutation_on_saved_tensors().")


cdef str _lines(GradNode node, SavedTensor *kept):
    """The user's lines, as far as detect_anomaly has noted them."""
    cdef Storage s = <Storage>kept.storage
    cdef WriteLog log = known_log(s)
    if node.lines is None:
        return " Under autograd.detect_anomaly() the error shows the line that saved it and the line that overwrote it."
    text = f"\nSaved by:\n{anomaly.text(node.lines)}"
    writes = () if log is None or log.lines is None else log.lines
    for version, op, lines, offset, layout, itemsize in writes:
        if version > kept.version and regions_meet(s, s.data + <Py_ssize_t>offset, <Layout>layout, itemsize, kept.data,
                                                   <Layout>kept.layout, DTYPES[kept.dtype].itemsize):
            return text + f"\nOverwritten by {_name(op)}:\n{anomaly.text(lines)}"
    return text + "\nOverwritten where detect_anomaly() was off."


cdef int note_write(TensorBase part, int op) except -1:
    cdef Storage s = part.storage
    cdef WriteLog log
    if s.version.snapshots == 0 or not watching():
        return 0
    log = log_of(s)
    if log.lines is None:
        log.lines = collections.deque(maxlen=MOST_NOTED)
    log.lines.append((s.version.current, op, anomaly.here(), part.data - s.data, part.layout, DTYPES[part.dtype].itemsize))
    return 0


cdef str _writers(SavedTensor *kept):
    """The operators that have written to the memory since, oldest first; the ring knows the last few."""
    cdef Storage s = <Storage>kept.storage
    cdef uint64_t known = _first_known(s) - 1, version
    cdef str touching = None
    before, times, names = None, 0, []
    for version in range(max(known, kept.version) + 1, s.version.current + 1):
        name = _name(_writer_of(s, version))
        # Not untouched by what came from here on: the last such version is that of the write that hit the saved elements last.
        if not untouched(s, version - 1, kept.data, <Layout>kept.layout, DTYPES[kept.dtype].itemsize):
            touching = name
        if name == before:
            times += 1
            names.pop()
        else:
            times = 1
        names.append((name, times))
        before = name
    text = ", ".join(name if n == 1 else f"{name} ({n} times)" for name, n in names)
    more = f" the last {WRITERS} of {s.version.current - kept.version} writes:" if known > kept.version else ""
    if touching is None:             # so long ago that the ring has forgotten
        return f"Since then its memory was written in place by{more} {text}, none of which touched these elements: an earlier one did."
    last = f"; {touching} was the last to touch these elements" if len(names) > 1 or more else ""
    return f"Since then its memory was written in place by{more} {text}{last}."


cdef uint64_t _first_known(Storage s) noexcept:
    """The oldest version whose writer the ring still knows."""
    return s.version.current - WRITERS + 1 if s.version.current > WRITERS else 1


cdef int _writer_of(Storage s, uint64_t version) noexcept:
    return s.version.writers[version & (WRITERS - 1)] - 1


cdef str _name(int op):
    if op == OUTSIDE:
        return "code outside of the library"
    if op == BUMPED:
        return "_bump_inplace_version()"
    if op == OP_PY_LAYER:
        return "a custom function"
    name = op_row(op).name.decode()
    return "__setitem__" if name in ("setitem", "put") else name + "_"


def preserved(TensorBase t not None):
    """Return (bytes, regions) that are kept of what writes to a tensor's memory have destroyed."""
    cdef WriteLog log = known_log(t.storage)
    if log is None or not log.preserving:
        return 0, 0
    return log.nbytes, len(log.entries) - log.first

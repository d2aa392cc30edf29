"""The rows of the operator table and the call struct."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t

cdef const eager_op_row *_rows = NULL
cdef rule_fn[64] _rules


cdef int register_rows(const eager_op_row *rows, int n) except -1:
    global _rows
    _rows = rows
    return 0


cdef void register_rule(int family, rule_fn rule) noexcept:
    _rules[family] = rule


cdef OpRow *op_row(int op) noexcept:
    return &_rows[op]


cdef rule_fn rule_of(OpRow *row) noexcept:
    return _rules[row.family]


cdef str op_name(OpCall *c):
    name = (c.row.lowlevel if c.entry else c.row.name).decode()
    return name + "_" if c.inplace else name


cdef void begin_call(OpCall *c, OpRow *row, bint inplace) noexcept:
    cdef int i
    c.row = row
    c.inplace = inplace
    c.entry = False
    c.n = row.n_tensors
    c.x = c.inline_x
    for i in range(4):
        c.inline_x[i] = NULL
    for i in range(row.n_attrs):
        c.attrs[i].f = row.defaults[i]
        c.attrs[i].i = <int64_t>row.defaults[i]
        c.attrs[i].o = NULL
    c.scalar_at = -1
    c.scalar_big = NULL
    c.out = c.stage = c.more_out = c.new_layout = c.region = c.written = c.old_bytes = NULL
    c.is_view = False
    c.nothing = False
    c.job.kind = JOB_NONE
    c.n_kept = 0


cdef PyObject *keep(OpCall *c, object o) except NULL:
    if c.n_kept == MAX_KEPT:
        raise SystemError("(Fatal) an operator kept more temporaries than it has room for")
    Py_INCREF(o)
    c.kept[c.n_kept] = <PyObject *>o
    c.n_kept += 1
    return <PyObject *>o


cdef void release_call(OpCall *c) noexcept:
    cdef int i
    for i in range(c.n_kept):
        Py_XDECREF(c.kept[i])
    Py_XDECREF(c.out)
    Py_XDECREF(c.stage)
    Py_XDECREF(c.more_out)
    Py_XDECREF(c.new_layout)
    Py_XDECREF(c.region)
    Py_XDECREF(c.written)
    Py_XDECREF(c.old_bytes)

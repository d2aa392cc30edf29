# Tensors, storages and nodes are made and freed a million times a second. They keep their memory and come back from a list of their type,
# with the fields that only matter in use reset by whoever makes them: half of the time that the general way takes.
from cpython.object cimport PyObject, PyTypeObject, destructor

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__SANITIZE_ADDRESS__)
    #define EAGER_KEPT 0                     /* what is freed is to be seen as freed */
    #define EAGER_KEPT_NODES 0
    #else
    #define EAGER_KEPT 4096                  /* tensors, and storages: 1.3 MB in all */
    #define EAGER_KEPT_NODES 32768           /* 12 MB: a loop of some thousand steps, time and again, asks the system for nothing */
    #endif

    /* Memory that is about to be used, and was not for long: a node's edges, which discovery reads, or all of it (grad_node.pxd). The
     * address is a number, for there may be no node. */
    static inline void eager_expect_edges(const void *node)
    {
    #if defined(__GNUC__)
        __builtin_prefetch((const void *)((uintptr_t)node), 1);
        __builtin_prefetch((const void *)((uintptr_t)node + 64), 1);
    #else
        (void)node;
    #endif
    }

    static inline void eager_expect_node(const void *node)
    {
    #if defined(__GNUC__)
        const uintptr_t start = (uintptr_t)node - 16;        /* of the collector's header */
        for (int i = 0; i < 6; i++) __builtin_prefetch((const void *)(start + 64 * i), 1);
    #else
        (void)node;
    #endif
    }

    static inline int eager_is_exactly(PyObject *o, PyTypeObject *type) { return Py_TYPE(o) == type; }

    static inline int eager_has_weak_references(PyObject *o)
    {
        return *(PyObject **)((char *)o + Py_TYPE(o)->tp_weaklistoffset) != NULL;
    }

    static inline void eager_clear_weak_references(PyObject *o)
    {
        if (eager_has_weak_references(o)) PyObject_ClearWeakRefs(o);
    }

    /* Put `dealloc` in front of a type's own, which is returned; or do nothing where an object owns its type. */
    static inline destructor eager_intercept_dealloc(PyTypeObject *type, destructor dealloc)
    {
        const destructor own = type->tp_dealloc;
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) type->tp_dealloc = dealloc;
        return own;
    }
    """
    enum:
        EAGER_KEPT, EAGER_KEPT_NODES
    void eager_expect_node(const void *node) noexcept
    void eager_expect_edges(const void *node) noexcept
    bint eager_is_exactly(PyObject *o, PyTypeObject *type) noexcept
    bint eager_has_weak_references(PyObject *o) noexcept
    void eager_clear_weak_references(PyObject *o) noexcept
    destructor eager_intercept_dealloc(PyTypeObject *type, destructor dealloc) noexcept

cdef extern from "Python.h":
    object eager_revive "PyObject_Init" (PyObject *o, PyTypeObject *type)      # a new reference to memory that was kept
    void PyObject_GC_Track(PyObject *o) noexcept
    void PyObject_GC_UnTrack(PyObject *o) noexcept

# Which nodes run, and when: every node once, after all its consumers (S9). Included by engine.pyx.
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_XDECREF

from eager_core.allocator cimport give_block, take_block
from eager_core.errors cimport freed_error
from eager_core.grad_node cimport GradNode
from eager_core.recycling cimport eager_expect_node

cdef enum:
    AHEAD = 12                   # nodes, by which memory is asked for before its turn


cdef int discover(Run run) except -1:
    """From the roots, which have numbers: number every node that can be reached, and count its consumers."""
    cdef Py_ssize_t done = 0, at
    cdef int i
    cdef GradNode node
    cdef PyObject *behind
    while done < run.n_states:
        node = <GradNode>run.states[done].node
        done += 1
        if node.cleared:
            freed_error(node.name())         # grad() too: who knows what lay behind it
        if overwrites_all(node) and node.next_0 is not None and node.next_0.cleared:
            # Nothing is left of the old value, so that its graph is gone does not matter.
            node.next_0 = None
        for i in range(node.n_edges):
            behind = edge_of(node, i)
            if behind == NULL:
                continue
            at = run.find(behind)
            if at < 0:
                at = run.number(behind)
            run.states[at].waiting += 1
    return 0


cdef int mark_needed(Run run) except -1:
    """grad(): only nodes on the way to an input asked for need to run. Walks the graph in order, then back."""
    cdef Py_ssize_t *order = <Py_ssize_t *>PyMem_Malloc((run.n_states + 1) * sizeof(Py_ssize_t))
    cdef Py_ssize_t *left = <Py_ssize_t *>PyMem_Malloc((run.n_states + 1) * sizeof(Py_ssize_t))
    cdef Py_ssize_t n = 0, done = 0, at, k
    cdef int i
    cdef GradNode node
    cdef PyObject *behind
    try:
        if order == NULL or left == NULL:
            raise MemoryError
        for k in range(run.n_states):
            left[k] = run.states[k].waiting
            if left[k] == 0:
                order[n] = k
                n += 1
        while done < n:
            node = <GradNode>run.states[order[done]].node
            done += 1
            for i in range(node.n_edges):
                behind = edge_of(node, i)
                if behind != NULL:
                    at = run.find(behind)
                    left[at] -= 1
                    if left[at] == 0:
                        order[n] = at
                        n += 1
        for done in range(n - 1, -1, -1):
            node = <GradNode>run.states[order[done]].node
            run.states[order[done]].needed = False
            for k in range(node.n_outputs):
                if (<size_t><void *>node, k) in run.wanted:
                    run.states[order[done]].needed = True
            for i in range(node.n_edges):
                behind = edge_of(node, i)
                if behind != NULL and run.states[run.find(behind)].needed:
                    run.states[order[done]].needed = True
    finally:
        PyMem_Free(order)
        PyMem_Free(left)
    return 0


cdef int execute(Run run) except -1:
    """Run the nodes whose consumers have all run; what became ready last goes first."""
    cdef Py_ssize_t[8] few_ready
    cdef Py_ssize_t *ready = few_ready
    cdef Py_ssize_t n = 0, at, behind_at, left = run.n_states
    cdef int i
    cdef bint ran
    cdef GradNode node
    cdef PyObject *behind
    if run.n_states > FEW:
        ready = <Py_ssize_t *>take_block(run.n_states * sizeof(Py_ssize_t))
        if ready == NULL:
            raise MemoryError
    try:
        for at in range(run.n_states):
            if run.states[at].waiting == 0:
                ready[n] = at
                n += 1
        while n:
            n -= 1
            left -= 1
            at = ready[n]
            if at + AHEAD < run.n_states:           # nodes run about in the order in which they were found
                eager_expect_node(run.states[at + AHEAD].node)
            node = <GradNode>run.states[at].node
            ran = run.states[at].needed and (run_node(run, at) if run.watch == 0 else run_node_watched(run, at))
            for i in range(node.n_edges):
                behind = edge_of(node, i)
                if behind == NULL:
                    continue
                behind_at = run.find(behind)
                run.states[behind_at].waiting -= 1
                if run.states[behind_at].waiting == 0:
                    ready[n] = behind_at
                    n += 1
            if ran and not run.retain_graph:
                node.clear()
            # The pass lets go of the node as it passes: memory shrinks while gradients grow.
            for i in range(node.n_outputs):
                Py_CLEAR(run.holders[run.states[at].first_holder + i].dense)
                Py_CLEAR(run.holders[run.states[at].first_holder + i].region)
            if node.run == <void *>run:
                node.run = NULL
                run.states[at].node = NULL
                Py_XDECREF(<PyObject *>node)
    finally:
        if ready != few_ready:
            give_block(<char *>ready, run.n_states * sizeof(Py_ssize_t))
    if left:
        # Another pass, in a hook or in another thread, has freed a part of the graph that this one had not come to yet.
        for at in range(run.n_states):
            if run.states[at].node != NULL and run.states[at].waiting > 0:
                freed_error((<GradNode>run.states[at].node).name())
    return 0

/* The threads that help with large kernels. State of the process: included by thread_pool.pyx alone.
 *
 * A piece of work is a row of numbered parts, taken by whoever comes first from one counter: the caller begins at once, and never waits
 * for a helper that has not begun. A helper that wakes late finds nothing, and sleeps again; nobody spins. */
#ifndef EAGER_POOL_H
#define EAGER_POOL_H
#include <stdint.h>

typedef void (*eager_part)(void *work, intptr_t part);

#if defined(_WIN32) || defined(__EMSCRIPTEN__)
static int eager_pool_started(void) { return 0; }
static int eager_pool_count(void) { return 1; }
static void eager_pool_set_count(int count) { (void)count; }
static int eager_pool_prepare(void (*in_child)(void)) { (void)in_child; return -1; }
static intptr_t eager_pool_woken(void) { return 0; }
static int eager_pool_run(eager_part part, void *work, intptr_t first, intptr_t end, int helpers)
{
    (void)helpers;
    for (; first < end; first++) part(work, first);
    return 0;
}
static int64_t eager_pool_now(void) { return 0; }
#else
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define EAGER_POOL_STACK (1 << 20) /* kernels need little */

static struct {
    pthread_mutex_t lock;          /* guards what follows, never held while a part runs */
    pthread_cond_t work, done;
    int started;                   /* helpers alive */
    int wanted;                    /* how many more may join the present work */
    int active;                    /* how many are in it */
    intptr_t woken;                /* how often a helper has been asked for */
    eager_part part;
    void *of;
    intptr_t end;
    fenv_t arithmetic;             /* rounding, and whether subnormal numbers count: those of the caller */
    atomic_intptr_t next;
    atomic_int busy;               /* one caller at a time; the others work alone */
    atomic_int count;              /* how many threads may work at most; 0: not decided */
    void (*in_child)(void);
} eager_pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static void eager_pool_parts(eager_part part, void *of, intptr_t end)
{
    for (;;) {
        const intptr_t i = atomic_fetch_add_explicit(&eager_pool.next, 1, memory_order_relaxed);
        if (i >= end) return;
        part(of, i);
    }
}

static void *eager_pool_helper(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&eager_pool.lock);
    for (;;) {
        eager_part part;
        void *of;
        intptr_t end;
        fenv_t arithmetic;
        while (!eager_pool.wanted) pthread_cond_wait(&eager_pool.work, &eager_pool.lock);
        eager_pool.wanted--;
        eager_pool.active++;
        part = eager_pool.part;
        of = eager_pool.of;
        end = eager_pool.end;
        arithmetic = eager_pool.arithmetic;
        pthread_mutex_unlock(&eager_pool.lock);
        fesetenv(&arithmetic);
        eager_pool_parts(part, of, end);
        pthread_mutex_lock(&eager_pool.lock);
        if (--eager_pool.active == 0) pthread_cond_signal(&eager_pool.done);
    }
    return NULL;
}

/* Signals are the business of the program's own threads. */
static void eager_pool_start(int helpers)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (eager_pool.started >= helpers || pthread_attr_init(&attributes)) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, EAGER_POOL_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (eager_pool.started < helpers && !pthread_create(&thread, &attributes, eager_pool_helper, NULL)) eager_pool.started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Run parts first .. end - 1 of `work`, with up to `helpers` threads beside this one; how many were asked. */
static int eager_pool_run(eager_part part, void *work, intptr_t first, intptr_t end, int helpers)
{
    if (helpers > end - first - 1) helpers = (int)(end - first - 1);
    if (helpers <= 0 || atomic_exchange_explicit(&eager_pool.busy, 1, memory_order_acquire)) {
        for (; first < end; first++) part(work, first);
        return 0;
    }
    pthread_mutex_lock(&eager_pool.lock);
    eager_pool_start(helpers);
    if (helpers > eager_pool.started) helpers = eager_pool.started; /* the system gave no more */
    eager_pool.part = part;
    eager_pool.of = work;
    eager_pool.end = end;
    fegetenv(&eager_pool.arithmetic);
    atomic_store_explicit(&eager_pool.next, first, memory_order_relaxed);
    eager_pool.wanted = helpers;
    eager_pool.woken += helpers;
    for (int i = 0; i < helpers; i++) pthread_cond_signal(&eager_pool.work);
    pthread_mutex_unlock(&eager_pool.lock);

    eager_pool_parts(part, work, end);

    pthread_mutex_lock(&eager_pool.lock);
    eager_pool.wanted = 0;
    while (eager_pool.active) pthread_cond_wait(&eager_pool.done, &eager_pool.lock);
    pthread_mutex_unlock(&eager_pool.lock);
    atomic_store_explicit(&eager_pool.busy, 0, memory_order_release);
    return helpers;
}

static void eager_pool_before_fork(void) { pthread_mutex_lock(&eager_pool.lock); }
static void eager_pool_in_parent(void) { pthread_mutex_unlock(&eager_pool.lock); }

/* The child has this thread alone: no helper, no other caller. */
static void eager_pool_in_child(void)
{
    pthread_mutex_init(&eager_pool.lock, NULL);
    pthread_cond_init(&eager_pool.work, NULL);
    pthread_cond_init(&eager_pool.done, NULL);
    eager_pool.started = eager_pool.wanted = eager_pool.active = 0;
    eager_pool.woken = 0;
    atomic_store(&eager_pool.busy, 0);
    if (eager_pool.in_child) eager_pool.in_child();
}

static int eager_pool_prepare(void (*in_child)(void))
{
    eager_pool.in_child = in_child;
    return pthread_atfork(eager_pool_before_fork, eager_pool_in_parent, eager_pool_in_child);
}

static int eager_pool_count(void) { return atomic_load_explicit(&eager_pool.count, memory_order_relaxed); }
static void eager_pool_set_count(int count) { atomic_store_explicit(&eager_pool.count, count, memory_order_relaxed); }

static int eager_pool_started(void)
{
    int value;
    pthread_mutex_lock(&eager_pool.lock);
    value = eager_pool.started;
    pthread_mutex_unlock(&eager_pool.lock);
    return value;
}

static intptr_t eager_pool_woken(void)
{
    intptr_t value;
    pthread_mutex_lock(&eager_pool.lock);
    value = eager_pool.woken;
    pthread_mutex_unlock(&eager_pool.lock);
    return value;
}

static int64_t eager_pool_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#endif
#endif

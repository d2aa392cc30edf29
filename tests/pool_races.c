/* Several threads use the pool at once, and fork: under ThreadSanitizer (`make sanitize`) each race is an error. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool.h"

#define CALLERS 3
#define PARTS 40

typedef struct { long sums[PARTS]; long number; } piece_of_work;

static void one_part(void *work, intptr_t i)
{
    piece_of_work *w = work;
    long sum = 0;
    for (long k = 0; k < 2000; k++) sum += k ^ w->number;
    w->sums[i] += sum;
}

static void *caller(void *number)
{
    piece_of_work w = {{0}, (long)(intptr_t)number};
    long expected = 0;
    for (long k = 0; k < 2000; k++) expected += k ^ w.number;
    for (int round = 1; round <= 300; round++) {
        eager_pool_run(one_part, &w, 0, PARTS, 1 + round % 3);
        for (int i = 0; i < PARTS; i++) if (w.sums[i] != round * expected) abort();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[CALLERS];
    pid_t child;
    int status = 0;
    if (eager_pool_prepare(NULL)) return 1;
    for (intptr_t i = 0; i < CALLERS; i++) if (pthread_create(&threads[i], NULL, caller, (void *)i)) return 1;
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    if (!eager_pool_woken() || eager_pool_started() > 3) return 2;
    child = fork();
    if (child == 0) {
        if (eager_pool_started()) _exit(3);
        caller((void *)7);
        _exit(eager_pool_started() > 0 ? 0 : 4);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 5;
    eager_pool_set_count(eager_pool_count() + 1);
    printf("%s\n", eager_pool_now() > 0 ? "no race seen" : "no clock");
    return WEXITSTATUS(status);
}

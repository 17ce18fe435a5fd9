/* Threads that share a list of work. */
#include "crew.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct crew {
    crew_fn *fn;
    void *arg;
    size_t items;
    atomic_size_t next;
    atomic_uint workers;
} crew;

static void *work(void *arg)
{
    crew *c = arg;
    unsigned worker = atomic_fetch_add(&c->workers, 1);
    for (size_t item; (item = atomic_fetch_add(&c->next, 1)) < c->items;)
        c->fn(c->arg, item, worker);
    return NULL;
}

void crew_run(unsigned jobs, size_t items, crew_fn *fn, void *arg)
{
    pthread_t thread[CREW_MAX];
    crew c = {.fn = fn, .arg = arg, .items = items};
    unsigned started = 0;
    if (jobs > CREW_MAX) jobs = CREW_MAX;
    /* With fewer threads than wished for, all work is done all the same. */
    while (started + 1 < jobs && started + 1 < items && pthread_create(&thread[started], NULL, work, &c) == 0)
        started++;
    work(&c);
    while (started > 0)
        pthread_join(thread[--started], NULL);
}

/* Rounds: every contender once a round, each round beginning with another, so that what else runs on the
 * machine, and who ran before, hits all of them alike. */
#include "bench.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double clock_now(measure_of time)
{
    struct timespec t;
    clock_gettime(time == CPU_TIME ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *values, size_t count)
{
    double sorted[MAX_ROUNDS];
    if (count == 0 || count > MAX_ROUNDS) return 0;
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* ---- cores ----------------------------------------------------------------------------------------- */

static cpu_set_t *allowed(void)
{
    static cpu_set_t set;
    static bool known;
    if (!known) sched_getaffinity(0, sizeof set, &set);
    known = true;
    return &set;
}

unsigned usable_cores(void)
{
    return (unsigned)CPU_COUNT(allowed());
}

/* The last one: interrupts and the like gather on the first. */
void pin_to_one_core(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t i = CPU_SETSIZE; i-- > 0;)
        if (CPU_ISSET(i, allowed())) {
            CPU_SET(i, &one);
            break;
        }
    sched_setaffinity(0, sizeof one, &one);
}

void unpin(void)
{
    sched_setaffinity(0, sizeof(cpu_set_t), allowed());
}

/* ---- the rest of the machine ----------------------------------------------------------------------- */

/* Seconds of CPU time that all processes of the machine have used; below 0: not known. */
static double machine_time(void)
{
    double user, nice, system, idle, wait, irq, softirq, steal;
    FILE *f = fopen("/proc/stat", "r");
    if (!f) return -1;
    bool ok = fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait, &irq,
                     &softirq, &steal) == 8;
    fclose(f);
    return ok ? (user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK) : -1;
}

/* The part of it that was ours, and that of the programs that we ran. */
static double own_time(void)
{
    double seconds = 0;
    const int who[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (size_t i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(who[i], &usage);
        seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    }
    return seconds;
}

/* ---- groups ------------------------------------------------------------------------------------------ */

contender *group_add(group *g, const char *name, bool (*run)(void *), void *arg, double amount,
                     const char *what, ...)
{
    va_list list;
    if (g->count == MAX_CONTENDERS) abort();
    contender *c = &g->list[g->count++];
    *c = (contender){.run = run, .arg = arg, .amount = amount, .passes = 1};
    snprintf(c->name, sizeof c->name, "%s", name);
    va_start(list, what);
    vsnprintf(c->what, sizeof c->what, what, list);
    va_end(list);
    return c;
}

contender *group_find(group *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->list[i].name, name) == 0) return &g->list[i];
    return NULL;
}

static bool one_turn(contender *c, measure_of time, double *took)
{
    double start = clock_now(time);
    for (unsigned i = 0; i < c->passes; i++)
        if (!c->run(c->arg)) {
            fprintf(stderr, "bench: %s failed: %s\n", c->name, c->what);
            return false;
        }
    *took = clock_now(time) - start;
    return true;
}

/* Two turns: the first brings pages and branches in, the second says how often a turn must be repeated. */
static bool warm_up(group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        double took;
        if (!one_turn(&g->list[i], g->time, &took)) return false;
        if (g->least <= 0) continue;
        if (!one_turn(&g->list[i], g->time, &took)) return false;
        if (took < g->least) g->list[i].passes = (unsigned)(g->least / (took > 1e-6 ? took : 1e-6)) + 1;
    }
    return true;
}

static bool all_rounds(group *g)
{
    for (unsigned round = 0; round < g->rounds; round++)
        for (size_t i = 0; i < g->count; i++) {
            contender *c = &g->list[(i + round) % g->count];
            double took;
            if (!one_turn(c, g->time, &took)) return false;
            c->seconds[round] = took / c->passes / c->amount;
        }
    return true;
}

bool group_measure(group *g)
{
    if (g->pinned) pin_to_one_core();
    bool ok = warm_up(g);
    double wall = clock_now(WALL_TIME), machine = machine_time(), own = own_time();
    ok = ok && all_rounds(g);
    wall = clock_now(WALL_TIME) - wall;
    double others = (machine_time() - machine - (own_time() - own)) / wall;
    g->others = machine < 0 ? -1 : others > 0 ? others : 0;
    if (g->pinned) unpin();
    return ok;
}

/* Long runs: the clock, and being asked to end. */
#include "ending.h"

#include <time.h>

static volatile sig_atomic_t asked;
static const int endings[ENDINGS] = {SIGINT, SIGTERM, SIGHUP};

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_ending(int number)
{
    (void)number;
    asked = 1;
}

void ending_watch(ending *e)
{
    const struct sigaction action = {.sa_handler = on_ending};
    for (int i = 0; i < ENDINGS; i++)
        sigaction(endings[i], &action, &e->before[i]);
}

void ending_unwatch(const ending *e)
{
    for (int i = 0; i < ENDINGS; i++)
        sigaction(endings[i], &e->before[i], NULL);
}

bool ending_asked(void)
{
    return asked;
}

void ending_ignore(void)
{
    for (int i = 0; i < ENDINGS; i++)
        signal(endings[i], SIG_IGN);
}

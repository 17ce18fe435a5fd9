/* The benchmarks of the simulator and of the lockstep, which print rates of their own. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 64 };

/* Figures by name over the rounds, as lines are read. */
typedef struct figures {
    struct figure {
        char name[64];
        double values[MAX_ROUNDS];
        size_t count;
    } list[MAX_LINES];
    size_t count;
} figures;

static void add(figures *f, const char *name, double value)
{
    size_t i = 0;
    while (i < f->count && strcmp(f->list[i].name, name) != 0)
        i++;
    if (i == MAX_LINES) return;
    if (i == f->count) {
        f->list[f->count++] = (struct figure){.count = 0};
        snprintf(f->list[i].name, sizeof f->list[i].name, "%s", name);
    }
    if (f->list[i].count < MAX_ROUNDS) f->list[i].values[f->list[i].count++] = value;
}

/* "arm64    stp push        123.4 M instructions/s" */
static void simulate_line(const char *line, void *arg)
{
    char arch[16], kind[32] = "", name[64];
    double rate;
    int at = 0;
    if (sscanf(line, "%15s %n", arch, &at) != 1) return;
    if (sscanf(line + at, "%12c %lf M instructions/s", kind, &rate) != 2) return;
    for (size_t end = strlen(kind); end > 0 && kind[end - 1] == ' '; end--)
        kind[end - 1] = 0;
    snprintf(name, sizeof name, "simulate.%s.%s", arch, kind);
    for (char *space = strchr(name, ' '); space; space = strchr(space, ' '))
        *space = '-';
    add(arg, name, rate);
}

/* "arm64: 1037342 checks/s of CPU time, 39104 by the plain pattern: 26.5 times" */
static void lockstep_line(const char *line, void *arg)
{
    char arch[16], name[64];
    double rate, plain, times;
    if (sscanf(line, "%15[^:]: %lf checks/s of CPU time, %lf by the plain pattern: %lf times", arch, &rate,
               &plain, &times) != 4)
        return;
    snprintf(name, sizeof name, "lockstep.%s", arch);
    add(arg, name, rate);
    snprintf(name, sizeof name, "lockstep.%s.plain", arch);
    add(arg, name, plain);
    snprintf(name, sizeof name, "lockstep.%s.times", arch);
    add(arg, name, times);
}

static bool collect(const settings *s, const char *line, void (*fn)(const char *, void *), figures *f)
{
    pin_to_one_core();
    bool ok = true;
    for (unsigned i = 0; ok && i < (s->quick ? 1 : ROUNDS); i++)
        ok = command_lines(line, fn, f);
    unpin();
    if (!ok || f->count == 0) fprintf(stderr, "bench: %s failed\n", line);
    return ok && f->count > 0;
}

static bool simulate(const settings *s)
{
    static figures f;
    char line[2 * TEXT];
    snprintf(line, sizeof line, "%s/bench/simulate %s", s->build, s->quick ? "0.001" : "0.03");
    report_heading("simulator; CPU time, one core; million instructions a second");
    if (!collect(s, line, simulate_line, &f)) return false;
    for (size_t i = 0; i < f.count; i++)
        report_raw(f.list[i].name, "M/s", f.list[i].values, f.list[i].count,
                   "xs_simulate on prepared sites, plain memory");
    return true;
}

static bool is_times(const char *name)
{
    const char *end = strrchr(name, '.');
    return strcmp(end, ".times") == 0;
}

static const char *lockstep_what(const char *name)
{
    if (is_times(name)) return "the one by the other";
    return strstr(name, ".plain")
               ? "the same words and states: write word and registers, run one, read registers"
               : "xolsim lockstep: every word from every state here and in Unicorn, compared";
}

static bool lockstep(const settings *s)
{
    static figures f;
    char line[2 * TEXT];
    snprintf(line, sizeof line, "%s/lockstep %s %d", s->bench, s->xolsim, s->quick ? 1000 : 40000);
    report_heading("lockstep; CPU time; checks a second");
    if (!collect(s, line, lockstep_line, &f)) return false;
    for (size_t i = 0; i < f.count; i++)
        report_raw(f.list[i].name, is_times(f.list[i].name) ? "times" : "1/s", f.list[i].values,
                   f.list[i].count, "%s", lockstep_what(f.list[i].name));
    return true;
}

bool rows_execution(const settings *s)
{
    return simulate(s) && lockstep(s);
}

/* Rows on the terminal, and the same in build/bench.json. What is judged stands in one table here. */
#include "bench.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct bound {
    const char *key, *what;
    double limit;
    bool at_most; /* otherwise at least */
} bound;

static const bound bounds[] = {
    {"arm64.best/memory", "bulk: best path / a vector loop that reads each word and writes a byte for it",
     0.6, false},
    {"arm64.scalar/vixl", "bulk: scalar path / VIXL's decoder with an empty visitor", 70, false},
    {"arm64.best/capstone", "bulk: best path / Capstone, detail off", 1000, false},
    {"riscv64.best/llvm", "bulk: best path / LLVM MC, or Capstone 5 where LLVM is missing", 80, false},
    {"riscv64.scalar/llvm", "bulk: scalar path / the same", 30, false},
    {"decode/vixl", "one at a time: xs_decode with operands / VIXL's decoder with an empty visitor", 6,
     false},
    {"file/objdump", "wall: objdump -d / classify --summary, 100 MB of text", 100, false},
    {"file/readelf", "wall: readelf -sW / classify --summary, the cross libc", 0.5, false},
    {"scale.2", "wall: classify --summary of 8 files, --jobs 1 / --jobs 2", 1.9, false},
    {"diff.space", "wall, one core: table diff over all 2^32 words / reading 16 GiB of memory", 3, true},
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static const char *const raw_only[][2] = {
    {"memory.*", "a vector loop with the same traffic, and a plain read: 8 MiB"},
    {"beyond.*", "the same and each path on a buffer larger than the last-level cache"},
    {"arm64.*", "bulk: each path, xs_decode, VIXL, LLVM MC, Capstone on the same words"},
    {"riscv64.*", "bulk: each path, xs_decode, LLVM MC, Capstone 5 on the same instructions"},
    {"file.*", "wall: classify --summary, objdump -d, llvm-objdump -d on 100 MB; readelf on libc"},
    {"startup.*", "wall: xolsim --version, classify --words"},
    {"space.*", "wall, one core: table diff, table census, reading memory"},
    {"peak.*", "memory of classify --summary on 1 GiB of text"},
    {"simulate.*", "bench/simulate: handlers on prepared sites"},
    {"lockstep.*", "bench/lockstep: checks per second of CPU time"},
};

static struct {
    json_object *root, *machine, *ratios, *raw, *skipped, *missed;
    bool quick;
} report;

const char *ratio_key(size_t i, bool *less_is_better)
{
    if (i >= BOUNDS) return NULL;
    *less_is_better = bounds[i].at_most;
    return bounds[i].key;
}

void report_list(void)
{
    puts("Judged ratios:");
    for (size_t i = 0; i < BOUNDS; i++)
        printf("  %-22s %s (%s %g)\n", bounds[i].key, bounds[i].what,
               bounds[i].at_most ? "at most" : "at least", bounds[i].limit);
    puts("Figures:");
    for (size_t i = 0; i < sizeof raw_only / sizeof *raw_only; i++)
        printf("  %-22s %s\n", raw_only[i][0], raw_only[i][1]);
}

static json_object *section(const char *name, json_object *value)
{
    json_object_object_add(report.root, name, value);
    return value;
}

bool report_open(const settings *s)
{
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    report.root = json_object_new_object();
    report.quick = s->quick;
    if (!report.root) return false;
    json_object_object_add(report.root, "commit", json_object_new_string(s->commit));
    json_object_object_add(report.root, "date", json_object_new_string(date));
    json_object_object_add(report.root, "quick", json_object_new_boolean(s->quick));
    report.machine = section("machine", json_object_new_object());
    report.ratios = section("ratios", json_object_new_object());
    report.missed = section("missed", json_object_new_array());
    report.skipped = section("skipped", json_object_new_object());
    report.raw = section("raw", json_object_new_object());
    return true;
}

void report_heading(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    putchar('\n');
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    fflush(stdout);
}

void report_fact(const char *name, const char *format, ...)
{
    char value[TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    printf("  %-16s %s\n", name, value);
    json_object_object_add(report.machine, name, json_object_new_string(value));
}

void report_count(const char *name, size_t value)
{
    printf("  %-16s %zu\n", name, value);
    json_object_object_add(report.machine, name, json_object_new_int64((int64_t)value));
}

/* Four significant digits; no more were ever measured. */
static const char *number(double value, char text[32])
{
    snprintf(text, 32, value >= 1000 ? "%.0f" : "%.4g", value);
    return text;
}

static json_object *json_number(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return json_object_new_double_s(value, text);
}

static void add_figures(const char *name, const char *unit, const double *values, size_t count,
                        const char *what)
{
    json_object *row = json_object_new_object(), *rounds = json_object_new_array();
    for (size_t i = 0; i < count; i++)
        json_object_array_add(rounds, json_number(values[i]));
    json_object_object_add(row, "unit", json_object_new_string(unit));
    json_object_object_add(row, "median", json_number(median(values, count)));
    json_object_object_add(row, "rounds", rounds);
    json_object_object_add(row, "what", json_object_new_string(what));
    json_object_object_add(report.raw, name, row);
}

void report_raw(const char *name, const char *unit, const double *values, size_t count, const char *what, ...)
{
    char line[2 * TEXT], text[32];
    va_list list;
    va_start(list, what);
    vsnprintf(line, sizeof line, what, list);
    va_end(list);
    add_figures(name, unit, values, count, line);
    printf("  %-30s %9s %-9s %s\n", name, number(median(values, count), text), unit, line);
    fflush(stdout);
}

/* Without it nobody can tell a slow program from a busy machine. */
static void add_others(const char *name, double others)
{
    json_object *row;
    if (others < 0 || !json_object_object_get_ex(report.raw, name, &row)) return;
    json_object_object_add(row, "others_cores", json_number(others));
}

void report_group(const group *g, const char *unit, double scale)
{
    for (size_t i = 0; i < g->count; i++) {
        const contender *c = &g->list[i];
        double values[MAX_ROUNDS];
        for (unsigned r = 0; r < g->rounds; r++)
            values[r] = scale > 0 ? scale / c->seconds[r] : c->seconds[r];
        report_raw(c->name, unit, values, g->rounds, "%s", c->what);
        add_others(c->name, g->others);
    }
    if (g->others >= 0)
        printf("  (meanwhile other processes used %.2f of %u cores)\n", g->others, usable_cores());
}

static void add_missed(const char *name, double value, double limit, bool at_most)
{
    char line[TEXT], text[32];
    snprintf(line, sizeof line, "%s is %s, %s %g is wanted", name, number(value, text),
             at_most ? "at most" : "at least", limit);
    json_object_array_add(report.missed, json_object_new_string(line));
}

static const bound *bound_of(const char *key)
{
    for (size_t i = 0; i < BOUNDS; i++)
        if (strcmp(bounds[i].key, key) == 0) return &bounds[i];
    return NULL;
}

void report_ratio_values(const char *key, const double *values, size_t count, const char *what, ...)
{
    char line[3 * TEXT], text[32], raw[64];
    const bound *b = bound_of(key);
    double ratio = median(values, count);
    bool missed = b->at_most ? ratio > b->limit : ratio < b->limit;
    va_list list;
    va_start(list, what);
    vsnprintf(line, sizeof line, what, list);
    va_end(list);
    printf("  %-30s %9s %-9s (%s %g%s) %s\n", key, number(ratio, text), "times",
           b->at_most ? "at most" : "at least", b->limit, missed ? ": MISSED" : "", line);
    fflush(stdout);
    json_object_object_add(report.ratios, key, json_number(ratio));
    snprintf(raw, sizeof raw, "ratio %s", key);
    add_figures(raw, "times", values, count, line);
    if (missed) add_missed(key, ratio, b->limit, b->at_most);
}

void report_limit(const char *name, double value, double at_most)
{
    if (value > at_most) add_missed(name, value, at_most, true);
}

void report_ratio(const char *key, const contender *a, const contender *b, unsigned rounds)
{
    double values[MAX_ROUNDS];
    for (unsigned r = 0; r < rounds; r++)
        values[r] = b->seconds[r] / a->seconds[r];
    report_ratio_values(key, values, rounds, "%s / %s", a->what, b->what);
}

void report_skip(const char *key, const char *why, ...)
{
    char line[TEXT];
    va_list list;
    va_start(list, why);
    vsnprintf(line, sizeof line, why, list);
    va_end(list);
    printf("  %-30s skipped: %s\n", key, line);
    fflush(stdout);
    json_object_object_add(report.skipped, key, json_object_new_string(line));
}

/* The verdict: what is below its bound, once more, where it is not overlooked. */
static bool verdict(void)
{
    size_t missed = json_object_array_length(report.missed);
    putchar('\n');
    for (size_t i = 0; i < missed; i++)
        printf("missed: %s\n", json_object_get_string(json_object_array_get_idx(report.missed, i)));
    printf("%d of %d ratios measured, %zu bounds missed\n", json_object_object_length(report.ratios),
           (int)BOUNDS, missed);
    if (report.quick)
        puts("(--quick: one round on little data; the figures mean nothing and are not judged)");
    return missed == 0 || report.quick;
}

bool report_close(const char *path)
{
    bool good = verdict();
    if (json_object_to_file_ext(path, report.root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED) != 0) {
        fprintf(stderr, "bench: %s cannot be written\n", path);
        good = false;
    }
    json_object_put(report.root);
    return good;
}

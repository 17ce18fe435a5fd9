/* A buffer that no cache holds: how near to the memory's own speed; and how long all 2^32 words take,
 * against reading as many. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PATHS = 4 };
static const double gib = 1 << 30;

typedef struct beyond {
    corpus c;
    ours o;
    size_t size, words; /* of the buffer; words is a multiple of 64 */
    uint8_t *text, *out;
    group bulk, space;
    struct path {
        struct beyond *b;
        xs_classifier *classifier;
    } path[MAX_PATHS];
    command diff, census;
} beyond;

static bool run_tops(void *arg)
{
    beyond *b = arg;
    memory_copy_tops(b->text, b->words, b->out);
    return true;
}

static bool run_read(void *arg)
{
    beyond *b = arg;
    memory_read(b->text, b->words);
    return true;
}

static bool run_classify(void *arg)
{
    struct path *p = arg;
    size_t left;
    return xs_classify_text(p->classifier, p->b->text, 4 * p->b->words, p->b->out, &left) == p->b->words;
}

static double available_memory(void)
{
    char line[TEXT];
    double kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

/* The size of the buffer; 0: there is not the memory for one that the cache does not hold. */
static size_t buffer_size(const settings *s)
{
    double cache = (double)last_level_cache(), want = 4 * cache > gib ? 4 * cache : gib;
    double most = (available_memory() - gib / 2) / 1.25;
    if (s->quick) return 1 << 24;
    if (want > most) want = most;
    return want > 2 * cache && want > gib / 8 ? (size_t)want : 0;
}

static bool add_paths(beyond *b)
{
    for (size_t i = 0; i < MAX_PATHS && xs_classifier_path_name(i); i++) {
        const char *path = xs_classifier_path_name(i);
        char name[64];
        b->path[i].b = b;
        if (xs_classifier_new(b->o.decoder, path, &b->path[i].classifier) != XS_OK) continue;
        snprintf(name, sizeof name, "beyond.arm64.%s", path);
        group_add(&b->bulk, name, run_classify, &b->path[i], (double)b->words,
                  "xs_classify_text, path %s, %s: reads each word, writes its class byte", path, b->o.target);
    }
    return b->bulk.count > 2;
}

static bool measure_bulk(beyond *b, const settings *s)
{
    report_heading(
        "arm64, beyond the last-level cache of %.0f MiB: the same words, %.0f MiB; CPU time, one core; "
        "million words a second",
        (double)last_level_cache() / (1 << 20), (double)b->size / (1 << 20));
    b->bulk = (group){.rounds = s->quick ? 1 : ROUNDS, .time = CPU_TIME, .pinned = true};
    group_add(&b->bulk, "beyond.memory.loop", run_tops, b, (double)b->words,
              "vector loop (%s): reads each word, writes its top byte", memory_how());
    group_add(&b->bulk, "beyond.memory.read", run_read, b, (double)b->words,
              "plain read: sum, nothing written");
    if (!add_paths(b) || !group_measure(&b->bulk)) return false;
    report_group(&b->bulk, "M/s", 1e-6);
    /* Paths come fastest first. */
    report_ratio("arm64.best/memory", &b->bulk.list[2], &b->bulk.list[0], b->bulk.rounds);
    return true;
}

static void diff_ratio(const group *g)
{
    const contender *diff = &g->list[0], *read = &g->list[2];
    double values[MAX_ROUNDS];
    for (unsigned r = 0; r < g->rounds; r++)
        values[r] = diff->seconds[r] / read->seconds[r];
    report_ratio_values("diff.space", values, g->rounds, "seconds of %s against %s", diff->what, read->what);
}

static bool measure_space(beyond *b, const settings *s)
{
    const char *kernel = b->o.target;
    b->diff = (command){{s->xolsim, "table", "diff", "arm64/6.12/uprobe", kernel}};
    b->census = (command){{s->xolsim, "table", "census", kernel}};
    report_heading("all 2^32 words of arm64; wall time, one core; seconds");
    b->space = (group){.rounds = s->quick ? 1 : ROUNDS, .time = WALL_TIME, .pinned = true};
    group_add(&b->space, "space.diff", command_run, &b->diff, 1,
              "the process xolsim table diff %s %s: an exact answer for all 2^32 words", b->diff.argv[3],
              kernel);
    group_add(&b->space, "space.census", command_run, &b->census, 1, "the process xolsim table census %s",
              kernel);
    group_add(&b->space, "space.read", run_read, b, (double)b->size / (16 * gib),
              "plain read of 16 GiB, scaled from %.0f MiB in the same round", (double)b->size / (1 << 20));
    if (!group_measure(&b->space)) return false;
    report_group(&b->space, "s", 0);
    diff_ratio(&b->space);
    return true;
}

static bool beyond_open(beyond *b)
{
    char why[TEXT];
    if (!corpus_load(&b->c, "arm64", why)) {
        report_skip("arm64.best/memory", "%s", why);
        report_skip("diff.space", "%s", why);
        return false;
    }
    b->words = b->size / 256 * 64;
    b->text = pages(b->size + b->c.size);
    b->out = pages(b->words);
    if (b->text && b->out) {
        corpus_repeat(&b->c, b->text, b->size / b->c.size + 1);
        return true;
    }
    report_skip("arm64.best/memory", "no memory for a buffer larger than the last-level cache");
    report_skip("diff.space", "no memory for a buffer larger than the last-level cache");
    return false;
}

static void beyond_close(beyond *b)
{
    for (size_t i = 0; i < MAX_PATHS; i++)
        xs_classifier_free(b->path[i].classifier);
    pages_free(b->text, b->size + b->c.size);
    pages_free(b->out, b->words);
    corpus_free(&b->c);
}

bool rows_beyond_cache(const settings *s)
{
    static beyond b;
    b = (beyond){.size = buffer_size(s)};
    if (b.size == 0) {
        report_skip("arm64.best/memory", "not enough memory for a buffer larger than the last-level cache");
        report_skip("diff.space", "not enough memory for a buffer larger than the last-level cache");
        return true;
    }
    if (!beyond_open(&b)) return true;
    bool ok = ours_open(&b.o, "arm64") && measure_bulk(&b, s) && measure_space(&b, s);
    ours_close(&b.o);
    beyond_close(&b);
    return ok;
}

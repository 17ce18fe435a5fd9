/* Every path of xs_classifier over all 2^32 words, against the rule index. Needs nothing but libc, so that it
 * runs on any machine, an emulated one too.
 * Usage: paths [--every N] [--jobs N]     N: take one upper halfword in N, not all 65,536 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch.h"
#include "internal.h"

enum { LOW = 65536, FILLED = 3, JOBS_MAX = 256 };

static const char *const targets[] = {
    "arm64/7.3/uprobe", "arm64/6.12/kprobe", "arm64/ideal", "riscv64/7.3", "riscv64/ideal", "riscv32/ideal",
};

typedef struct subject {
    const char *target;
    const xs_decoder *decoder;
    xs_classifier *classifier[8];
    size_t paths;
    unsigned granule, every;
    uint16_t filler; /* parcels: an instruction of 2 bytes */
    atomic_uint next;
    atomic_ulong words, wrong;
} subject;

/* ---- one upper halfword, all lower ones -----------------------------------------------------------------
 */

typedef struct buffers {
    uint8_t text[LOW * 6], expected[LOW * 3], classes[LOW * 3];
} buffers;

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static size_t lay_words(const subject *s, uint32_t high, buffers *b)
{
    for (uint32_t low = 0; low < LOW; low++) {
        put16(b->text + 4 * low, low);
        put16(b->text + 4 * low + 2, high);
        b->expected[low] = s->decoder->classes[xs_index_find(&s->decoder->index, high << 16 | low)];
    }
    return LOW * 4;
}

/* LOW HIGH FILLER: whatever the lengths of the first two, the next group begins an instruction. */
static size_t lay_parcels(const subject *s, uint32_t high, buffers *b)
{
    const xs_decoder *d = s->decoder;
    size_t after = xs_index_find(&d->index, high | (uint32_t)s->filler << 16);
    uint8_t filled = d->classes[xs_index_find(&d->index, s->filler)];
    for (uint32_t low = 0; low < LOW; low++) {
        uint8_t *e = b->expected + 3 * low, *t = b->text + 6 * low;
        size_t i = xs_index_find(&d->index, high << 16 | low);
        put16(t, low);
        put16(t + 2, high);
        put16(t + 4, s->filler);
        e[0] = d->classes[i];
        e[1] = d->sizes[i] == 4 ? XS_TAIL : d->classes[after];
        e[2] = d->sizes[i] == 2 && d->sizes[after] == 4 ? XS_TAIL : filled;
    }
    return LOW * 6;
}

static void compare(subject *s, size_t path, size_t size, uint32_t high, buffers *b)
{
    size_t left, count = size / s->granule;
    memset(b->classes, FILLED + 1, count);
    xs_classify_text(s->classifier[path], b->text, size, b->classes, &left);
    if (left == 0 && memcmp(b->classes, b->expected, count) == 0) return;
    size_t i = 0;
    while (i < count && b->classes[i] == b->expected[i])
        i++;
    if (s->wrong++ == 0)
        printf("%s, %s: upper half 0x%04x, granule %zu: class %d, not %d; %zu bytes left\n", s->target,
               xs_classifier_path(s->classifier[path]), (unsigned)high, i, b->classes[i], b->expected[i],
               left);
}

static void *work(void *arg)
{
    subject *s = arg;
    buffers *b = malloc(sizeof *b);
    for (uint32_t high; b && (high = s->next++) < 65536;) {
        if (high % s->every) continue;
        size_t size = s->granule == 4 ? lay_words(s, high, b) : lay_parcels(s, high, b);
        for (size_t i = 0; i < s->paths; i++)
            compare(s, i, size, high, b);
        s->words += LOW;
    }
    if (!b) s->wrong++;
    free(b);
    return NULL;
}

/* ---- a target -------------------------------------------------------------------------------------------
 */

/* A halfword that is an instruction whatever follows. */
static uint16_t find_filler(const xs_decoder *d)
{
    for (uint32_t low = 0; low < LOW; low++)
        if (d->sizes[xs_index_find(&d->index, low)] == 2) return (uint16_t)low;
    return 0;
}

static bool open_paths(subject *s)
{
    for (size_t i = 0; xs_classifier_path_name(i) && s->paths < 8; i++) {
        xs_status status =
            xs_classifier_new(s->decoder, xs_classifier_path_name(i), &s->classifier[s->paths]);
        if (status == XS_OK) s->paths++;
        if (status != XS_OK && status != XS_E_RANGE) return false;
    }
    return s->paths > 0;
}

static void run_threads(subject *s, unsigned jobs)
{
    pthread_t thread[JOBS_MAX];
    unsigned started = 0;
    while (started + 1 < jobs && pthread_create(&thread[started], NULL, work, s) == 0)
        started++;
    work(s);
    while (started > 0)
        pthread_join(thread[--started], NULL);
}

static bool test_target(const char *name, unsigned every, unsigned jobs)
{
    size_t len, findings;
    xs_target target;
    xs_decoder *d = NULL;
    char arch[16];
    subject s = {.target = name, .every = every};
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(name, "/"), name);
    const char *text = xs_builtin_table(arch, &len);
    xs_table *table = xs_table_parse(text, len, NULL, 0, &findings);
    if (!table || xs_target_parse(table, name, &target, NULL, 0) != XS_OK ||
        xs_decoder_new(table, &target, &d) != XS_OK)
        return false;
    s.decoder = d;
    s.granule = xs_table_granule(table);
    s.filler = find_filler(d);
    bool ok = open_paths(&s);
    if (ok) run_threads(&s, jobs);
    printf("%-20s %lu words:", name, (unsigned long)s.words);
    for (size_t i = 0; i < s.paths; i++) {
        printf(" %s", xs_classifier_path(s.classifier[i]));
        xs_classifier_free(s.classifier[i]);
    }
    printf("; %lu differences\n", (unsigned long)s.wrong);
    fflush(stdout);
    xs_decoder_free(d);
    xs_table_free(table);
    return ok && s.wrong == 0 && s.words == 65536ul / every * LOW;
}

int main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned every = 1, jobs = cores > 0 && cores <= JOBS_MAX ? (unsigned)cores : 1, failed = 0, count = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        unsigned n = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--every") == 0 && n > 0 && 65536 % n == 0) every = n;
        if (strcmp(argv[i], "--jobs") == 0 && n > 0 && n <= JOBS_MAX) jobs = n;
    }
    for (; count < sizeof targets / sizeof *targets; count++)
        failed += !test_target(targets[count], every, jobs);
    printf("paths: %u passed, %u failed\n", count - failed, failed);
    return failed != 0;
}

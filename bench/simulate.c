/* How many instructions a handler carries out in a second, on sites that are ready: one core, each kind of
 * instruction by itself, and a mixture. Usage: bench/simulate [SECONDS-PER-LINE] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch.h"
#include "arm64/cpu.h"
#include "riscv/cpu.h"

enum { SITES_MAX = 16, BATCH = 1 << 16 };

typedef struct line {
    const char *name, *target;
    uint32_t word[SITES_MAX]; /* up to a 0 */
} line;

static const line lines[] = {
    {"nop", "arm64/7.3", {0xd503201f}},
    {"b", "arm64/7.3", {0x14000001}},
    {"bl", "arm64/7.3", {0x94000001}},
    {"b.cond", "arm64/7.3", {0x54000041}},
    {"cbz", "arm64/7.3", {0xb4000045}},
    {"tbz", "arm64/7.3", {0x36000047}},
    {"br", "arm64/7.3", {0xd61f0000}},
    {"adrp", "arm64/7.3", {0x90000002}},
    {"ldr literal", "arm64/7.3/kprobe", {0x58000041}},
    {"stp push", "arm64/stp-2024", {0xa9bf7bfd}},
    {"mixture",
     "arm64/7.3/kprobe",
     {0xd503201f, 0x14000001, 0x94000001, 0x54000041, 0xb4000045, 0x36000047, 0x90000002, 0x10000001}},
    {"jal", "riscv64/7.3", {0x008000ef}},
    {"jalr", "riscv64/7.3", {0x000280e7}},
    {"auipc", "riscv64/7.3", {0x12345297}},
    {"bltu", "riscv64/7.3", {0x0062e863}},
    {"c.beqz", "riscv64/7.3", {0xc011}},
    {"mixture", "riscv64/7.3", {0x008000ef, 0x12345297, 0x0062e863, 0xc011, 0xa011, 0x00629863}},
};

/* Everything a line needs. */
typedef struct set_up {
    xs_table *table;
    xs_decoder *decoder;
    xs_simulator *simulator;
    xs_prepared site[SITES_MAX];
    unsigned count; /* a power of two: the words are repeated */
    bool is_arm;
} set_up;

static bool prepare(const line *l, set_up *s)
{
    char arch[16], why[256];
    size_t len, findings;
    xs_target target;
    *s = (set_up){.is_arm = strncmp(l->target, "arm64", 5) == 0};
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(l->target, "/"), l->target);
    const char *text = xs_builtin_table(arch, &len);
    s->table = xs_table_parse(text, len, NULL, 0, &findings);
    if (!s->table || xs_target_parse(s->table, l->target, &target, why, sizeof why) != XS_OK ||
        xs_decoder_new(s->table, &target, &s->decoder) != XS_OK ||
        xs_simulator_new(s->decoder, s->is_arm ? &xs_arm64_arch : &xs_riscv_arch, &s->simulator, why,
                         sizeof why) != XS_OK)
        return false;
    unsigned words = 0;
    while (words < SITES_MAX && l->word[words])
        words++;
    for (s->count = 0; s->count < SITES_MAX; s->count++) {
        xs_insn insn;
        uint32_t word = l->word[s->count % words];
        const uint8_t bytes[] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                 (uint8_t)(word >> 24)};
        if (xs_decode(s->decoder, bytes, sizeof bytes, &insn) != XS_OK) return false;
        xs_site_prepare(s->simulator, &insn, &s->site[s->count]);
    }
    return true;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One batch: a hit as a probe's handler sees it, whose pc is where the site is. Returns how many failed. */
static unsigned hit(const set_up *s, void *cpu, uint64_t *pc, const xs_bus *bus, uint64_t *sp)
{
    unsigned failed = 0;
    xs_fault fault;
    for (unsigned i = 0; i < BATCH; i++) {
        *pc = 0x1000;
        if (sp) *sp = 0x1100;
        failed += xs_simulate(&s->site[i % SITES_MAX], cpu, bus, 0, &fault) != XS_SIM_OK;
    }
    return failed;
}

static bool measure(const line *l, double seconds)
{
    static uint8_t bytes[0x1000];
    xs_plain_memory memory = {bytes, 0x1000, sizeof bytes, false};
    xs_bus bus = xs_plain_bus(&memory);
    xs_arm64_cpu arm = {.x = {0x1000}};
    xs_riscv_cpu riscv = {.xlen = 64};
    set_up s;
    uint64_t done = 0;
    unsigned failed = 0;
    if (!prepare(l, &s)) return false;
    double start = now(), took;
    do {
        failed += s.is_arm ? hit(&s, &arm, &arm.pc, &bus, &arm.sp) : hit(&s, &riscv, &riscv.pc, &bus, NULL);
        done += BATCH;
        took = now() - start;
    } while (took < seconds);
    printf("%-8.*s %-12s %8.1f M instructions/s\n", (int)strcspn(l->target, "/"), l->target, l->name,
           (double)done / took * 1e-6);
    xs_simulator_free(s.simulator);
    xs_decoder_free(s.decoder);
    xs_table_free(s.table);
    return failed == 0;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    bool ok = true;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ok &= measure(&lines[i], seconds);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

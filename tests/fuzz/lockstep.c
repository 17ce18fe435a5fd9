/* The lockstep driven by a fuzzer: bytes choose a rule, the word's free bits, and the state.
 *
 * libFuzzer and AFL++ call LLVMFuzzerTestOneInput. With -DXOLSIM_FUZZ_MAIN there is a main that runs the
 * files it is given (or standard input), for AFL++ without persistent mode and to look at a finding. A
 * difference is printed and ends the process by abort(). XOLSIM_FUZZ_ARCH=riscv64 or riscv32 chooses another
 * architecture than arm64. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "lockstep.h"

extern const char xs_arm64_divergences[], xs_riscv_divergences[];
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static xs_cases cases;
static xs_divergences divergences;
static xs_lockstep *ls;

static void give_up(const char *why)
{
    fprintf(stderr, "fuzz: %s\n", why);
    exit(4);
}

static void open_once(void)
{
    char why[320];
    size_t len, errors;
    const char *arch = getenv("XOLSIM_FUZZ_ARCH");
    if (ls) return;
    if (!arch || !*arch) arch = "arm64";
    const char *text = xs_builtin_table(arch, &len);
    xs_table *table = text ? xs_table_parse(text, len, NULL, 0, &errors) : NULL;
    const xs_cases_wanted wanted = {.arch = arch, .cls = XS_SIMULATE};
    if (!table) give_up("no such architecture");
    if (!xs_cases_open(table, &wanted, &cases, why, sizeof why)) give_up(why);
    const char *known = strcmp(arch, "arm64") == 0 ? xs_arm64_divergences : xs_riscv_divergences;
    if (!xs_divergences_parse(known, &divergences, why, sizeof why)) give_up(why);
    ls = xs_lockstep_open(&cases, &divergences, NULL, false, why, sizeof why);
    if (!ls) give_up(why);
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && in->left > 0; i++, in->left--)
        value |= (uint64_t)*in->data++ << (8 * i);
    return value;
}

/* A tag and what it needs: a small number, an address in memory, near a word, one bit, anything. */
static uint64_t take_value(input *in)
{
    switch (take(in, 1) & 7) {
    case 0: return 0;
    case 1: return (uint64_t)(int64_t)(int16_t)take(in, 2);
    case 2:
    case 3: return cases.arch->data + take(in, 2) % (XS_DATA + 32) - 16;
    case 4: return cases.arch->code + take(in, 2);
    case 5: return UINT64_C(1) << (take(in, 1) & 63);
    case 6: return ~(UINT64_C(1) << (take(in, 1) & 63));
    default: return take(in, 8);
    }
}

static void take_state(input *in, xs_check *k)
{
    const xs_oracle_arch *a = cases.arch;
    a->reset(&k->start);
    for (unsigned i = 0; i < a->count; i++)
        xs_reg_set(a, &k->start, i, (int)i == a->flags ? take(in, 1) << 28 : take_value(in));
    k->at = a->code + take(in, 2) / 4 * 4;
    k->touched[0] = (xs_touch){.addr = a->data + take(in, 2) % (XS_DATA - 16), .size = 16};
    for (unsigned i = 0; i < 16; i++)
        k->touched[0].before[i] = (uint8_t)take(in, 1);
    k->touch_count = 1;
}

/* ---- a finding --------------------------------------------------------------------------------------- */

static void print(const xs_case *c, const xs_check *k)
{
    fprintf(stderr, "fuzz: %s differs in fields %x, registers %" PRIx64 ": ours %s, theirs %s\n",
            c->e->rule->name, k->differs, k->registers, xs_sim_status_name(k->status), xs_end_name(k->end));
    fprintf(stderr, "xolsim lockstep --target %s --word 0x%08" PRIx32 " --pc 0x%" PRIx64, c->target, k->word,
            k->at);
    for (unsigned i = 0; i < cases.arch->count; i++) {
        const char *name = cases.arch->regs[i].name;
        uint64_t value = xs_reg_get(cases.arch, &k->start, i);
        if (i == cases.arch->pc || !value) continue;
        bool own = strcmp(name, "sp") == 0 || strcmp(name, "nzcv") == 0;
        fprintf(stderr, own ? " --%s 0x%" PRIx64 : " --reg %s=0x%" PRIx64, name,
                xs_address(cases.arch, value));
    }
    for (unsigned i = 0; i < k->touch_count; i++) {
        fprintf(stderr, " --mem 0x%" PRIx64 ":", k->touched[i].addr);
        for (uint32_t b = 0; b < k->touched[i].size && b < 16; b++)
            fprintf(stderr, "%02x", k->touched[i].before[b]);
    }
    fputc('\n', stderr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    xs_check check = {0};
    open_once();
    const xs_case *c = &cases.list[take(&in, 1) % cases.count];
    const xs_rule *rule = c->e->rule;
    uint32_t bits = (uint32_t)take(&in, rule->width / 8);
    check.word = (bits & ~rule->mask) | rule->value;
    if (xs_lookup(c->decoder, check.word) != c->entry) return 0;
    take_state(&in, &check);
    if (!xs_lockstep_one(ls, c, &check)) give_up("the oracle failed");
    if (!check.differs) return 0;
    if (!xs_lockstep_minimise(ls, c, &check)) give_up("the oracle failed");
    print(c, &check);
    abort();
}

#ifdef XOLSIM_FUZZ_MAIN
static void run_file(FILE *f)
{
    static uint8_t data[4096];
    size_t size = fread(data, 1, sizeof data, f);
    LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    if (argc < 2) run_file(stdin);
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) give_up(argv[i]);
        run_file(f);
        fclose(f);
    }
    return 0;
}
#endif

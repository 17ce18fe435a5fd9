/* witness [RANDOM WORDS [TABLE]]: do LLVM's instruction descriptions know a branch, or an operand relative to
 * the pc, that the audit misses? And does the audit call something corrupt that LLVM knows as neither? With a
 * table of AArch64's: that table's newest kernel alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/audit.h"
#include "generate.h"
#include "llvm.h"

enum { PER_RULE = 400, RANDOM = 4000000, DENSE_BITS = 25, KINDS = 4096, EXPLAINED = 32 };

/* ---- what is said already: explained.tsv ------------------------------------------------------------ */

typedef struct explanation {
    char what[16], name[40], rule[40], reason[200];
    unsigned used;
} explanation;
static explanation explained[EXPLAINED];
static unsigned explained_count;

static bool read_explained(const char *path)
{
    char line[400];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && explained_count < EXPLAINED) {
        explanation *e = &explained[explained_count];
        if (*line == '#' || *line == '\n') continue;
        if (sscanf(line, "%15[^\t]\t%39[^\t]\t%39[^\t]\t%199[^\n]", e->what, e->name, e->rule, e->reason) !=
            4)
            break;
        explained_count++;
    }
    bool ok = f && feof(f);
    if (f) fclose(f);
    return ok;
}

static explanation *explain(const char *what, const char *name, const char *rule)
{
    for (unsigned i = 0; i < explained_count; i++) {
        explanation *e = &explained[i];
        if (strcmp(e->what, what) == 0 && strcmp(e->name, name) == 0 && strcmp(e->rule, rule) == 0) return e;
    }
    return NULL;
}

/* ---- what there is to say: one line for each pair of LLVM's name and our rule -------------------------- */

typedef struct kind {
    const char *what, *name, *rule;
    uint32_t example;
    uint64_t words;
} kind;

typedef struct witness {
    options o;
    view v;
    audit a;
    uint64_t words, branches, relative, confirmed;
    kind kinds[KINDS];
    unsigned kind_count;
} witness;

static void note(witness *w, const char *what, const char *name, const char *rule, uint32_t word)
{
    unsigned i = 0;
    while (i < w->kind_count && (w->kinds[i].what != what || strcmp(w->kinds[i].name, name) != 0 ||
                                 strcmp(w->kinds[i].rule, rule) != 0))
        i++;
    if (i == KINDS) return;
    if (i == w->kind_count) w->kinds[w->kind_count++] = (kind){what, name, rule, word, 0};
    w->kinds[i].words++;
}

/* ---- one word ------------------------------------------------------------------------------------------ */

static const char missed[] = "missed", unconfirmed[] = "unconfirmed", unknown[] = "unknown";

static bool is_corrupt(const witness *w, uint32_t word)
{
    size_t found[AUDIT_AT_ONCE], n = audit_of_word(&w->a, word, found);
    for (size_t i = 0; i < n; i++)
        if (1u << w->a.findings[found[i]].hazard == XS_HAZARD_CORRUPTS) return true;
    return false;
}

static void ask(witness *w, uint32_t word)
{
    size_t count;
    const xs_entry *kernel = &xs_decoder_entries(w->v.decoder, &count)[xs_lookup(w->v.decoder, word)],
                   *ideal = &xs_decoder_entries(w->v.ideal, &count)[xs_lookup(w->v.ideal, word)];
    llvm_said said = llvm_say(word, ideal->rule->width / 8);
    bool moves = said.flags & (LLVM_BRANCH | LLVM_PCREL), corrupts = is_corrupt(w, word);
    w->words++;
    w->branches += (said.flags & LLVM_BRANCH) != 0;
    w->relative += (said.flags & LLVM_PCREL) != 0;
    w->confirmed += moves && corrupts;
    if (moves && kernel->decision->cls == XS_SLOT && !corrupts)
        note(w, missed, said.name, ideal->rule->name, word);
    if (corrupts && !moves)
        note(w, said.flags & LLVM_KNOWN ? unconfirmed : unknown, said.name ? said.name : "-",
             ideal->rule->name, word);
}

/* ---- many ------------------------------------------------------------------------------------------------
 */

static void ask_rules(witness *w, const xs_decoder *d)
{
    size_t count;
    const xs_entry *e = xs_decoder_entries(d, &count);
    for (size_t i = 0; i + 1 < count; i++)
        for (uint64_t n = 0; n < PER_RULE; n++) {
            uint32_t word;
            xs_rng r = xs_rng_new(1, e[i].rule->name, n);
            if (xs_generate_word(d, i, &r, &word)) ask(w, word);
        }
}

/* Where ideal says that there is no instruction LLVM may know one: up to so many words, evenly spread. */
static void ask_none(witness *w)
{
    size_t count;
    const xs_entry *e = xs_decoder_entries(w->v.ideal, &count);
    for (size_t i = 0; i + 1 < count; i++) {
        uint32_t free = ~e[i].rule->mask, bits = 0;
        unsigned left = (unsigned)__builtin_popcount(free);
        if (e[i].decision->reason != XS_WHY_UNALLOCATED || e[i].rule->width != 32) continue;
        uint32_t step = left > DENSE_BITS ? (UINT32_C(1) << (left - DENSE_BITS)) - 1 : 1;
        for (uint64_t n = 0; n < UINT64_C(1) << (left < DENSE_BITS ? left : DENSE_BITS); n++) {
            ask(w, e[i].rule->value | bits);
            for (uint32_t k = 0; k < step; k++)
                bits = (bits - free) & free;
        }
    }
}

static void ask_all(witness *w, uint64_t random)
{
    xs_rng r = xs_rng_new(1, "witness", 0);
    ask_rules(w, w->v.ideal);
    ask_rules(w, w->v.decoder);
    for (uint32_t low = 0; w->v.granule == 2 && low <= 0xffff; low++)
        if ((low & 3) != 3) ask(w, low);
    for (uint64_t n = 0; n < random; n++)
        ask(w, (uint32_t)xs_rng_next(&r) | (w->v.granule == 2 ? 3u : 0u));
}

/* Returns how many kinds nothing explains. */
static unsigned print_kinds(const witness *w)
{
    unsigned bad = 0;
    for (unsigned i = 0; i < w->kind_count; i++) {
        const kind *k = &w->kinds[i];
        explanation *e = explain(k->what, k->name, k->rule);
        printf("  %s: %s, %s: %" PRIu64 " words, 0x%08" PRIx32 "%s%s\n", k->what, k->name, k->rule, k->words,
               k->example, e ? ": " : "", e ? e->reason : "");
        if (e) e->used++;
        bad += !e && k->what != unknown;
    }
    return bad;
}

static int witness_target(const char *target, const char *table, bool zc, bool dense, uint64_t random)
{
    static witness w;
    char arch[16];
    w = (witness){.o = {.table_text = true, .cls = -1, .table = table}};
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, "+-/"), target);
    if (!llvm_open(arch, zc)) {
        printf("%s: LLVM %s does not have it\n", target, llvm_version());
        return 0;
    }
    if (view_open_target(&w.v, &w.o, target) != STATUS_OK) return 1;
    if (!audit_find(&w.a, &w.v, audit_side_of(&w.v))) return 1;
    ask_all(&w, random);
    if (dense) ask_none(&w);
    printf("%s: %" PRIu64 " words; LLVM %s: %" PRIu64 " branch, %" PRIu64
           " have an operand relative to the pc; %" PRIu64 " of the audit's corrupt ones confirmed\n",
           target, w.words, llvm_version(), w.branches, w.relative, w.confirmed);
    unsigned bad = print_kinds(&w) + (w.branches == 0);
    audit_close(&w.a);
    view_close(&w.v);
    return (int)bad;
}

static void print_unused(void)
{
    for (unsigned i = 0; i < explained_count; i++)
        if (!explained[i].used)
            printf("explained.tsv: %s, %s was not needed\n", explained[i].name, explained[i].rule);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *target;
        bool zc, dense;
    } targets[] = {{"arm64/7.3/uprobe", false, true},
                   {"arm64/7.3/kprobe", false, false},
                   {"arm64/4.10/uprobe", false, false},
                   {"riscv64/7.3/uprobe", false, false},
                   {"riscv64/7.3/kprobe", false, false},
                   {"riscv32/7.3/uprobe", false, false},
                   {"riscv64+zcmp+zcmt/7.3/uprobe", true, false}};
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : RANDOM;
    size_t count = argc > 2 ? 1 : sizeof targets / sizeof *targets;
    int bad = 0;
    if (!read_explained("tests/witness/explained.tsv")) return 2;
    for (size_t i = 0; i < count; i++)
        bad += witness_target(targets[i].target, argc > 2 ? argv[2] : NULL, targets[i].zc,
                              argc <= 2 && targets[i].dense, random);
    if (argc <= 2) print_unused();
    printf("witness: %zu passed, %d failed\n", count, bad);
    return bad != 0;
}

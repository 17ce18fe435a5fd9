/* audit: findings from the two sides. */
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "generate.h"

const char *audit_account_name(audit_account account)
{
    static const char *const names[] = {"agree", "slot_is_slower", "no_instruction", "refused_for_a_handler",
                                        "handler_not_judged"};
    return (unsigned)account < ACCOUNT_COUNT ? names[account] : "?";
}

static const xs_decision *ideal_decision(const audit *a, size_t entry)
{
    size_t count;
    return xs_decoder_entries(a->view->ideal, &count)[entry].decision;
}

/* ---- what is wrong with a treatment ------------------------------------------------------------ */

/* One thing that is wrong. */
typedef struct fault {
    unsigned hazard;
    int quirk;
    bool handler;
} fault;

static bool is_harmful(const audit *a, const xs_decision *d)
{
    size_t count;
    const xs_quirk *quirks = xs_table_quirks(a->view->table, &count);
    for (int i = 0; i < d->quirk_count; i++)
        if (quirks[d->quirk[i].quirk].hazard) return true;
    return false;
}

/* Is a harmful bug of the handler known, on some word of some kernel? */
static bool has_bugs(const audit *a, const char *handler)
{
    size_t count;
    const xs_table *t = a->view->table;
    const xs_rule *rules = xs_table_rules(t, &count);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < rules[r].decision_count; i++) {
            const xs_decision *d = &xs_table_decisions(t, &rules[r])[i];
            if (strcmp(d->handler, handler) == 0 && is_harmful(a, d)) return true;
        }
    return false;
}

/* The kernel simulates what the architecture does not want simulated, or by something else. Of a handler that
 * the table does not name for the word nothing is known but that ideal has one of that name for it, or not.
 */
static audit_same handler_of(const audit *a, const audit_treatment *k, size_t ideal, cube c)
{
    const xs_decision *right = ideal_decision(a, ideal);
    bool same = strcmp(k->handler, right->handler) == 0;
    if (k->cls != XS_SIMULATE) return HANDLER_SAME;
    if (k->own) return same && !has_bugs(a, k->handler) ? HANDLER_SAME : HANDLER_UNKNOWN;
    if (right->cls == XS_REJECT) return HANDLER_OTHER;
    if (right->cls == XS_SLOT) return HANDLER_UNKNOWN; /* ideal has none to compare with */
    if (same) return HANDLER_SAME;
    return handlers_compare(a->view, k->entry, ideal, c);
}

static size_t faults_of(const audit *a, const audit_treatment *k, size_t ideal, fault list[AUDIT_AT_ONCE])
{
    size_t n = 0, count;
    const xs_quirk *quirks = xs_table_quirks(a->view->table, &count);
    for (uint32_t left = k->quirks; left && n < AUDIT_AT_ONCE; left &= left - 1) {
        int number = __builtin_ctz(left);
        if (quirks[number].hazard)
            list[n++] = (fault){(unsigned)__builtin_ctz(quirks[number].hazard), number, false};
    }
    unsigned hazards = xs_class_hazards(k->cls, ideal_decision(a, ideal));
    for (; hazards && n < AUDIT_AT_ONCE; hazards &= hazards - 1)
        list[n++] = (fault){(unsigned)__builtin_ctz(hazards), -1, false};
    return n;
}

static audit_account account_of(const audit_treatment *k, const xs_decision *right)
{
    bool none = right->reason == XS_WHY_UNALLOCATED || right->reason == XS_WHY_TRAP;
    if (k->cls == right->cls) return ACCOUNT_AGREE;
    if (none) return ACCOUNT_NONE;
    if (k->cls == XS_SLOT) return right->reason == XS_WHY_FASTER ? ACCOUNT_FASTER : ACCOUNT_NONE;
    return ACCOUNT_NOT_KNOWN;
}

/* ---- collecting -------------------------------------------------------------------------------- */

static bool same_treatment(const audit_treatment *a, const audit_treatment *b)
{
    return a->entry == b->entry && a->cls == b->cls && strcmp(a->handler, b->handler) == 0 &&
           strcmp(a->rule, b->rule) == 0;
}

static bool is_same(const finding *f, const audit_treatment *k, size_t ideal, const fault *x)
{
    return f->hazard == x->hazard && f->quirk == x->quirk && f->handler == x->handler && f->ideal == ideal &&
           same_treatment(&f->kernel, k);
}

static finding *find(const audit *a, const audit_treatment *k, size_t ideal, const fault *x)
{
    for (size_t i = 0; i < a->count; i++)
        if (is_same(&a->findings[i], k, ideal, x)) return &a->findings[i];
    return NULL;
}

static const xs_rule *told_by(const audit *a, const audit_treatment *k, size_t ideal)
{
    size_t count;
    const xs_rule *right = xs_decoder_entries(a->view->ideal, &count)[ideal].rule,
                  *own = xs_decoder_entries(a->view->decoder, &count)[k->entry].rule;
    return rule_is_anonymous(right) || right->width != own->width ? own : right;
}

static finding *add(audit *a, const audit_treatment *k, size_t ideal, const fault *x)
{
    if (a->count == a->room) {
        size_t room = a->room ? a->room * 2 : 64;
        finding *larger = reallocarray(a->findings, room, sizeof *larger);
        if (!larger) return NULL;
        a->findings = larger;
        a->room = room;
    }
    finding *f = &a->findings[a->count++];
    *f = (finding){
        .hazard = x->hazard, .quirk = x->quirk, .handler = x->handler, .kernel = *k, .ideal = ideal};
    f->told = told_by(a, k, ideal);
    return f;
}

static int by_hazard(const void *x, const void *y)
{
    return (int)((const fault *)x)->hazard - (int)((const fault *)y)->hazard;
}

/* Words that nothing is known against but, perhaps, their handler. */
static size_t judge_handler(audit *a, const audit_treatment *k, size_t ideal, cube c, fault *out)
{
    audit_same same = handler_of(a, k, ideal, c);
    *out = (fault){HAZARD_WRONG_BIT, -1, true};
    if (same == HANDLER_OTHER) return 1;
    a->account[same == HANDLER_SAME ? account_of(k, ideal_decision(a, ideal)) : ACCOUNT_UNJUDGED] +=
        cube_words(c);
    return 0;
}

/* Words with several faults are in several findings, and counted in the worst. */
static bool take_fault(audit *a, const audit_treatment *k, size_t ideal, const fault *x, cube c, bool again)
{
    finding *f = find(a, k, ideal, x);
    if (!f) f = add(a, k, ideal, x);
    if (!f || !cubes_add(&f->cubes, c)) return false;
    f->words += cube_words(c);
    f->again += again ? cube_words(c) : 0;
    return true;
}

static bool take(void *arg, const audit_treatment *k, size_t ideal, uint32_t mask, uint32_t value)
{
    audit *a = arg;
    fault faults[AUDIT_AT_ONCE];
    const cube c = {mask, value};
    size_t n = faults_of(a, k, ideal, faults);
    if (n == 0) n = judge_handler(a, k, ideal, c, faults);
    qsort(faults, n, sizeof *faults, by_hazard);
    a->words += n ? cube_words(c) : 0;
    for (size_t i = 0; i < n && !a->failed; i++)
        a->failed = !take_fault(a, k, ideal, &faults[i], c, i > 0);
    return !a->failed;
}

/* ---- order ------------------------------------------------------------------------------------- */

static int by_severity(const void *x, const void *y)
{
    const finding *a = x, *b = y;
    if (a->hazard != b->hazard) return a->hazard < b->hazard ? -1 : 1;
    if (a->told->line != b->told->line) return a->told->line < b->told->line ? -1 : 1;
    if (a->kernel.entry != b->kernel.entry) return a->kernel.entry < b->kernel.entry ? -1 : 1;
    return a->quirk - b->quirk;
}

bool audit_find(audit *a, const view *v, audit_side side)
{
    *a = (audit){.view = v, .side = side};
    a->failed = !side.walk(side.self, v->ideal, take, a); /* take goes on while there is memory */
    for (size_t i = 0; i < a->count && !a->failed; i++)
        cubes_join(&a->findings[i].cubes);
    if (a->count) qsort(a->findings, a->count, sizeof *a->findings, by_severity);
    return !a->failed;
}

static void drop_sites(json_object *shown[SITES_SHOWN])
{
    for (size_t k = 0; k < SITES_SHOWN; k++)
        json_object_put(shown[k]);
}

void audit_close(audit *a)
{
    for (size_t i = 0; i < a->count; i++) {
        cubes_close(&a->findings[i].cubes);
        json_object_put(a->findings[i].proof.run);
        drop_sites(a->findings[i].shown);
    }
    for (size_t i = 0; i < XS_HAZARD_COUNT; i++)
        drop_sites(a->places[i].shown);
    free(a->findings);
    *a = (audit){0};
}

/* ---- words ------------------------------------------------------------------------------------- */

bool audit_holds(const finding *f, uint32_t word)
{
    for (size_t i = 0; i < f->cubes.count; i++)
        if (cube_holds(f->cubes.list[i], word)) return true;
    return false;
}

size_t audit_of_word(const audit *a, uint32_t word, size_t found[AUDIT_AT_ONCE])
{
    audit_treatment k;
    size_t n = 0, ideal = xs_lookup(a->view->ideal, word);
    a->side.treat(a->side.self, word, &k);
    for (size_t i = 0; i < a->count && n < AUDIT_AT_ONCE; i++) {
        const finding *f = &a->findings[i];
        if (f->ideal == ideal && same_treatment(&f->kernel, &k) && audit_holds(f, word)) found[n++] = i;
    }
    return n;
}

uint64_t audit_encodings(const finding *f)
{
    return f->words >> (32 - f->told->width);
}

/* Word number n when they are counted through. */
static uint32_t nth_word(const finding *f, uint64_t n)
{
    uint32_t used = UINT32_MAX >> (32 - f->told->width);
    for (size_t i = 0; i < f->cubes.count; i++) {
        uint32_t free = ~f->cubes.list[i].mask & used, bits = 0;
        uint64_t words = UINT64_C(1) << __builtin_popcount(free);
        for (; n > 0 && n < words; n--)
            bits = (bits - free) & free;
        if (n == 0) return f->cubes.list[i].value | bits;
        n -= words;
    }
    return f->cubes.list[0].value;
}

uint32_t audit_word(const audit *a, const finding *f, uint64_t n)
{
    enum { FEW = 64 };
    if (audit_encodings(f) <= FEW) return nth_word(f, n % audit_encodings(f));
    xs_rng r = xs_rng_new(1, f->told->name, n);
    const cube *c = &f->cubes.list[xs_rng_below(&r, (unsigned)f->cubes.count)];
    uint32_t word = xs_generate_from_rule(a->view->table, f->told, &r);
    return (word & ~c->mask) | c->value;
}

uint32_t audit_example(const finding *f)
{
    uint32_t lowest = UINT32_MAX;
    for (size_t i = 0; i < f->cubes.count; i++)
        if (f->cubes.list[i].value < lowest) lowest = f->cubes.list[i].value;
    return lowest;
}

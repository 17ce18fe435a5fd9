/* A table checked as data: what the parser cannot see line by line. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Rules of one target and list, in order. */
typedef struct listing {
    const xs_rule *rule[XS_MAX_RULES];
    const xs_decision *decision[XS_MAX_RULES];
    size_t count;
    uint64_t hash; /* of the decisions: equal targets are looked at once */
} listing;

typedef struct checker {
    const xs_table *table;
    xs_diag *diags;
    size_t max, count;
    bool *taken;      /* decision was chosen in some target */
    bool *reported;   /* rule has a finding of this kind already (shadowed) */
    uint64_t *hashes; /* listings seen */
    size_t hash_count, hash_room;
    unsigned budget; /* steps left */
    bool overlap_used[MAX_OVERLAPS];
    bool no_default_reported, length_reported, too_many_reported, out_of_memory;
} checker;

/* Steps of the whole check, so that no file can make it run for long. The built-in tables need
 * 110,000. */
enum { BUDGET = 4000000 };

#define REPORT(c, line, code, ...)                                                                           \
    xs_report((c)->diags, (c)->max, &(c)->count, (line), 1, (code), __VA_ARGS__)

/* Do the first n rules of l cover every word with (word & mask) == value? Splits on the bits of the
 * rules themselves. budget counts down; at 0 the answer is no. */
static bool covered(const xs_rule *const *rule, size_t n, uint32_t mask, uint32_t value, unsigned *budget)
{
    const xs_rule *first = NULL;
    if (*budget == 0) return false;
    --*budget;
    for (size_t i = 0; i < n; i++) {
        if ((rule[i]->value ^ value) & rule[i]->mask & mask) continue;
        if ((rule[i]->mask & ~mask) == 0) return true;
        if (!first) first = rule[i];
    }
    if (!first) return false;
    uint32_t open = first->mask & ~mask, bit = open & (~open + 1);
    return covered(rule, n, mask | bit, value, budget) && covered(rule, n, mask | bit, value | bit, budget);
}

static void list_target(checker *c, const xs_target *target, bool scan, listing *l)
{
    const xs_table *t = c->table;
    l->count = 0;
    l->hash = scan ? 7 : UINT64_C(14695981039346656037);
    for (size_t i = 0; i < t->rule_count; i++) {
        const xs_decision *d = t->rules[i].scan == scan ? xs_rule_decision(t, &t->rules[i], target) : NULL;
        if (!d) continue;
        if (l->count == XS_MAX_RULES) {
            if (!c->too_many_reported)
                REPORT(c, t->rules[i].line, "too-many", "more than %d rules in one target", XS_MAX_RULES);
            c->too_many_reported = true;
            break;
        }
        size_t index = (size_t)(d - t->decisions);
        c->taken[index] = true;
        l->rule[l->count] = &t->rules[i];
        l->decision[l->count++] = d;
        l->hash = (l->hash ^ (index + 1)) * UINT64_C(1099511628211);
    }
}

static void spend(checker *c, size_t steps)
{
    c->budget -= steps < c->budget ? (unsigned)steps : c->budget;
}

/* False when this listing was seen before. */
static bool remember(checker *c, uint64_t hash)
{
    for (size_t i = 0; i < c->hash_count; i++)
        if (c->hashes[i] == hash) return false;
    if (c->hash_count == c->hash_room) {
        size_t room = c->hash_room ? c->hash_room * 2 : 64;
        uint64_t *larger = realloc(c->hashes, room * sizeof *larger);
        if (!larger) return c->out_of_memory = true;
        c->hashes = larger;
        c->hash_room = room;
    }
    c->hashes[c->hash_count++] = hash;
    return true;
}

static bool declared(checker *c, const xs_rule *a, const xs_rule *b)
{
    for (size_t i = 0; i < c->table->overlap_count; i++) {
        const overlap *o = &c->table->overlaps[i];
        if (strcmp(o->first, a->name) == 0 && strcmp(o->second, b->name) == 0)
            return c->overlap_used[i] = true;
    }
    return false;
}

/* Two rules of one listing, a before b. */
static void check_pair(checker *c, const xs_rule *a, const xs_rule *b)
{
    uint32_t low = a->width != b->width ? 0xffff : UINT32_MAX;
    if ((a->value ^ b->value) & a->mask & b->mask & low) return;
    if (a->width != b->width) {
        if (!c->length_reported)
            REPORT(c, b->line, "ambiguous-length",
                   "'%s' (line %u) and '%s' have different lengths and share halfwords", a->name, a->line,
                   b->name);
        c->length_reported = true;
        return;
    }
    if ((b->mask & ~a->mask) == 0 || (a->mask & ~b->mask) == 0) return; /* one contains the other */
    if (declared(c, a, b) || c->reported[b - c->table->rules]) return;
    c->reported[b - c->table->rules] = true;
    REPORT(c, b->line, "overlap",
           "'%s' (line %u) and '%s' share words and neither contains the other: add %%overlap", a->name,
           a->line, b->name);
}

static void check_reachable(checker *c, const listing *l, size_t i, const char *target)
{
    const xs_rule *rule = l->rule[i];
    if (c->reported[rule - c->table->rules] || !covered(l->rule, i, rule->mask, rule->value, &c->budget))
        return;
    c->reported[rule - c->table->rules] = true;
    REPORT(c, rule->line, "shadowed", "no word reaches '%s' in %s: lines above take them all", rule->name,
           target);
}

static void check_covered(checker *c, const listing *l, const char *target)
{
    if (c->no_default_reported || covered(l->rule, l->count, 0, 0, &c->budget) || !c->budget) return;
    c->no_default_reported = true;
    REPORT(c, 0, "no-default", "some words match no rule in %s: add a default line", target);
}

static void check_listing(checker *c, const xs_target *target, bool scan, listing *l)
{
    char name[80];
    list_target(c, target, scan, l);
    spend(c, (c->table->rule_count + c->hash_count) / 16 + 1);
    if (!remember(c, l->hash)) return;
    spend(c, l->count * l->count / 16);
    xs_target_format(c->table, target, name, sizeof name);
    for (size_t j = 0; j < l->count; j++) {
        for (size_t i = 0; i < j; i++)
            check_pair(c, l->rule[i], l->rule[j]);
        check_reachable(c, l, j, name);
    }
    if (!scan) check_covered(c, l, name);
}

/* The target as it is, with each extension changed, and with all of them. */
static void check_extensions(checker *c, xs_target target, listing *l)
{
    uint32_t base = c->table->arch_ext[target.arch];
    for (size_t i = 0; i <= c->table->exts.count + 1 && c->budget; i++) {
        uint32_t all = (uint32_t)((UINT64_C(1) << c->table->exts.count) - 1);
        target.ext = i == 0 ? base : i > c->table->exts.count ? all : base ^ UINT32_C(1) << (i - 1);
        check_listing(c, &target, false, l);
        check_listing(c, &target, true, l);
    }
}

static void check_targets(checker *c, listing *l)
{
    const xs_table *t = c->table;
    for (size_t arch = 0; arch < t->archs.count; arch++)
        for (size_t k = 0; k < t->kernel_count; k++)
            for (size_t mode = 0; mode < t->modes.count; mode++)
                if (t->kernels[k].mode < 0 || t->kernels[k].mode == (int)mode)
                    check_extensions(c, (xs_target){(uint8_t)arch, (uint8_t)k, (uint8_t)mode, 0}, l);
}

/* A decision copied by `like` stands for its line: it is dead only if no copy is taken. */
static void check_decisions(checker *c)
{
    const xs_table *t = c->table;
    for (size_t i = 0; i < t->decision_count; i++) {
        bool first = true, taken = false;
        for (size_t j = 0; j < t->decision_count; j++) {
            if (t->decisions[j].line != t->decisions[i].line) continue;
            first &= j >= i;
            taken |= c->taken[j];
        }
        if (first && !taken)
            REPORT(c, t->decisions[i].line, "dead-decision",
                   "applies to no target, or others above apply first");
    }
}

static void check_used(checker *c)
{
    const xs_table *t = c->table;
    for (size_t i = 0; i < t->operand_count; i++) {
        bool used = false;
        for (size_t p = 0; p < t->piece_count; p++)
            used |= t->pieces[p].operand == i;
        if (!used) REPORT(c, t->operand_line[i], "unused", "operand '%s' is in no rule", t->operands[i].name);
    }
    for (size_t i = 0; i < t->handler_count; i++) {
        bool used = false;
        for (size_t d = 0; d < t->decision_count; d++)
            used |= t->decisions[d].handler == t->handlers[i];
        if (!used) REPORT(c, t->handler_line[i], "unused", "handler '%s' is in no rule", t->handlers[i]);
    }
    for (size_t i = 0; i < t->quirk_count; i++) {
        bool used = false;
        for (size_t d = 0; d < t->decision_count; d++)
            for (int q = 0; q < t->decisions[d].quirk_count; q++) used |= t->decisions[d].quirk[q].quirk == i;
        if (!used) REPORT(c, t->quirk_line[i], "unused", "quirk '%s' is in no rule", t->quirks[i].name);
    }
    for (size_t i = 0; i < t->overlap_count; i++)
        if (!c->overlap_used[i])
            REPORT(c, t->overlaps[i].line, "stale-overlap",
                   "'%s' and '%s' do not overlap, or not in this order", t->overlaps[i].first,
                   t->overlaps[i].second);
}

size_t xs_table_check(const xs_table *table, xs_diag *diags, size_t max)
{
    checker c = {.table = table, .diags = diags, .max = max, .budget = BUDGET};
    listing *l = malloc(sizeof *l);
    c.taken = calloc(table->decision_count + 1, sizeof *c.taken);
    c.reported = calloc(table->rule_count + 1, sizeof *c.reported);
    if (l && c.taken && c.reported) {
        check_targets(&c, l);
        if (c.budget) { /* else not everything was looked at */
            check_decisions(&c);
            check_used(&c);
        } else {
            REPORT(&c, 0, "too-complex",
                   "not all of it can be checked: too many targets, or too many overlaps");
        }
    }
    if (!l || !c.taken || !c.reported || c.out_of_memory)
        REPORT(&c, 0, "out-of-memory", "the check was not completed");
    free(l);
    free(c.taken);
    free(c.reported);
    free(c.hashes);
    return c.count;
}

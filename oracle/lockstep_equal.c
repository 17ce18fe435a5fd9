/* Instructions that Unicorn does not know and that do what one does that it knows. */
#include <stdio.h>
#include <string.h>

#include "lockstep_internal.h"

/* The bits of an operand that a rule draws. */
static uint64_t drawn(const xs_table *table, const xs_rule *rule, unsigned operand)
{
    const xs_piece *p = xs_table_pieces(table, rule);
    uint64_t bits = 0;
    for (size_t i = 0; i < rule->piece_count; i++)
        if (p[i].operand == operand) bits |= (UINT64_MAX >> (64 - p[i].len)) << p[i].to;
    return bits;
}

static bool same_operands(const xs_table *table, const xs_rule *a, const xs_rule *b)
{
    size_t count;
    bool same = a->width == b->width;
    xs_table_operands(table, &count);
    for (unsigned i = 0; i < count; i++)
        same &= drawn(table, a, i) == drawn(table, b, i);
    return same;
}

static const xs_rule *rule_named(const xs_table *table, const char *name)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(table, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rules[i].name, name) == 0) return &rules[i];
    return NULL;
}

static const xs_equal *equal_of(const xs_lockstep *ls, uint32_t word)
{
    for (unsigned i = 0; i < ls->equal_count; i++)
        if ((word & ls->equal[i].rule->mask) == ls->equal[i].rule->value) return &ls->equal[i];
    return NULL;
}

/* The same operands in the other rule's places. */
static uint32_t translate(const xs_table *table, const xs_equal *e, uint32_t word)
{
    size_t count;
    int64_t op[XS_MAX_OPERANDS];
    const xs_operand *operands = xs_table_operands(table, &count);
    const xs_piece *p = xs_table_pieces(table, e->as);
    uint32_t other = e->as->value;
    xs_rule_operands(table, e->rule, word, op);
    for (size_t i = 0; i < e->as->piece_count; i++)
        other |= xs_generate_with(table, e->as, p[i].operand,
                                  (uint64_t)op[p[i].operand] - operands[p[i].operand].base);
    return other;
}

uint32_t xs_equal_word(const xs_lockstep *ls, uint32_t word)
{
    const xs_equal *e = equal_of(ls, word);
    return e && !e->known ? translate(ls->cases->table, e, word) : word;
}

uint64_t xs_equal_count(const xs_lockstep *ls, uint64_t checks)
{
    const xs_equal *e = equal_of(ls, ls->word);
    if (!e) return 0;
    e->line->tested += checks;
    if (e->known) return 0;
    e->line->used += checks;
    return checks;
}

/* ---- does Unicorn know the rule after all? ----------------------------------------------------- */

static bool note_end(xs_oracle *o, xs_end end, void *context)
{
    (void)o;
    *(xs_end *)context = end;
    return false;
}

static bool probe(xs_lockstep *ls, xs_equal *e)
{
    uint32_t word = e->rule->value;
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    xs_end end = XS_END_UNSUPPORTED;
    ls->arch->reset(&ls->start);
    if (!xs_oracle_code(ls->o, ls->window, bytes, e->rule->width / 8) || !xs_oracle_set(ls->o, &ls->start) ||
        !xs_oracle_run(ls->o, ls->window, note_end, &end))
        return false;
    memset(bytes, 0, sizeof bytes);
    e->known = end != XS_END_UNSUPPORTED;
    return xs_oracle_code(ls->o, ls->window, bytes, e->rule->width / 8);
}

/* Rules of another table than the list was written for may be missing. */
bool xs_equal_open(xs_lockstep *ls, bool plain, char *why, size_t size)
{
    const xs_table *table = ls->cases->table;
    for (unsigned i = 0; ls->divergences && i < ls->divergences->run_as_count; i++) {
        xs_run_as *line = &ls->divergences->run_as[i];
        xs_equal e = {rule_named(table, line->rule), rule_named(table, line->as), line, false};
        if (!e.rule) continue;
        if (!e.as || !same_operands(table, e.rule, e.as)) {
            snprintf(why, size, "divergences line %u: %s does not draw the operands of %s", line->line,
                     line->as, line->rule);
            return false;
        }
        if (!plain && !probe(ls, &e)) return false;
        ls->equal[ls->equal_count++] = e;
    }
    return true;
}

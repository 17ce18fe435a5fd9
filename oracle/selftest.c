/* Can the oracle be believed? It is asked before it is used. */
#include <string.h>

#include "lockstep_internal.h"

enum { WORDS = 1000 };

typedef struct landing {
    xs_end end;
    uint64_t pc;
} landing;

static bool note_landing(xs_oracle *o, xs_end end, void *context)
{
    landing *l = context;
    *l = (landing){end, xs_reg_get(o->arch, &o->cpu, o->arch->pc)};
    return false;
}

/* The operand of a rule that draws an offset and nothing else, or -1. */
static int lone_offset(const xs_table *table, const xs_rule *rule)
{
    size_t count;
    const xs_operand *operands = xs_table_operands(table, &count);
    const xs_piece *pieces = xs_table_pieces(table, rule);
    int operand = -1;
    for (size_t i = 0; i < rule->piece_count; i++) {
        bool is_fixed = (rule->mask >> pieces[i].lsb & 1) != 0;
        if (is_fixed) continue;
        if (operands[pieces[i].operand].kind != XS_OPERAND_OFFSET) return -1;
        operand = pieces[i].operand;
    }
    return operand;
}

/* The same place with a new word each time: Unicorn keeps what it has translated. */
static const char *sees_new_words(xs_lockstep *ls, const xs_rule *rule, unsigned operand)
{
    const xs_table *table = ls->cases->table;
    for (uint64_t i = 1; i <= WORDS; i++) {
        landing l = {XS_END_EXCEPTION, 0};
        uint32_t word = xs_generate_with(table, rule, operand, 4 * i);
        uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                            (uint8_t)(word >> 24)};
        if (!xs_oracle_code(ls->o, ls->window, bytes, rule->width / 8) ||
            !xs_oracle_run(ls->o, ls->window, note_landing, &l))
            return "the engine failed";
        if (l.end != XS_END_LANDED || l.pc != ls->window + 4 * i)
            return "the oracle runs a word that is no longer there";
    }
    return NULL;
}

static const char *sees_undefined(xs_lockstep *ls)
{
    landing l = {XS_END_LANDED, 0};
    const uint8_t nothing[4] = {0};
    if (!xs_oracle_code(ls->o, ls->window, nothing, sizeof nothing) ||
        !xs_oracle_run(ls->o, ls->window, note_landing, &l))
        return "the engine failed";
    return l.end == XS_END_UNSUPPORTED ? NULL : "the oracle executes a word of zeros";
}

const char *xs_lockstep_selftest(xs_lockstep *ls)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(ls->cases->table, &count);
    const char *wrong = sees_undefined(ls);
    unsigned tried = 0;
    for (size_t i = 0; !wrong && i < count; i++) {
        int operand = rules[i].flow == XS_FLOW_JUMP ? lone_offset(ls->cases->table, &rules[i]) : -1;
        if (operand < 0 || rules[i].width == 16) continue;
        wrong = sees_new_words(ls, &rules[i], (unsigned)operand);
        tried++;
    }
    if (!wrong && !tried) wrong = "no rule of the table is a jump with an offset alone";
    return wrong;
}

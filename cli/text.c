/* An instruction as text: Capstone's, or our own from the rule and its operands. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

void operand_text(const xs_operand *o, int64_t value, uint64_t addr, char *buf, size_t size)
{
    uint64_t base = o->kind == XS_OPERAND_PAGE ? addr & ~UINT64_C(4095) : addr;
    switch (o->kind) {
    case XS_OPERAND_REG: snprintf(buf, size, "%s%" PRId64, o->prefix, value); break;
    case XS_OPERAND_OFFSET:
    case XS_OPERAND_PAGE: snprintf(buf, size, "0x%" PRIx64, base + (uint64_t)value); break;
    case XS_OPERAND_SIGNED: snprintf(buf, size, "%" PRId64, value); break;
    case XS_OPERAND_UNSIGNED: snprintf(buf, size, "0x%" PRIx64, (uint64_t)value); break;
    }
}

bool rule_is_anonymous(const xs_rule *rule)
{
    return __builtin_popcount(rule->mask) <= 3;
}

/* The line that tells most about a word: ideal's, which names what kernels lump together; else the
 * target's own. */
const xs_rule *telling_rule(const view *v, const xs_insn *insn)
{
    size_t count;
    const xs_rule *own = insn->entry->rule;
    const xs_rule *ideal =
        v->ideal ? xs_decoder_entries(v->ideal, &count)[xs_lookup(v->ideal, insn->word)].rule : own;
    return rule_is_anonymous(ideal) || ideal->width != own->width ? own : ideal;
}

/* "addi rd=x2, rs1=x2, simm=-16": operands in the order in which the table declares them. */
static void own_text(const view *v, const xs_insn *insn, uint64_t addr, insn_text *out)
{
    const xs_rule *rule = telling_rule(v, insn);
    const xs_piece *pieces = xs_table_pieces(v->table, rule);
    size_t count;
    const xs_operand *operands = xs_table_operands(v->table, &count);
    xs_insn told = {.word = insn->word};
    uint64_t drawn = 0;
    if (rule_is_anonymous(rule)) {
        snprintf(out->mnemonic, sizeof out->mnemonic, ".insn");
        snprintf(out->text, sizeof out->text, ".insn 0x%0*" PRIx32, insn->size * 2, insn->word);
        return;
    }
    xs_rule_operands(v->table, rule, insn->word, told.op);
    for (size_t i = 0; i < rule->piece_count; i++)
        drawn |= UINT64_C(1) << pieces[i].operand;
    snprintf(out->mnemonic, sizeof out->mnemonic, "%s", rule->name);
    int at = snprintf(out->text, sizeof out->text, "%s", rule->name);
    for (unsigned i = 0; i < XS_MAX_OPERANDS && at < (int)sizeof out->text; i++) {
        char operand[64];
        if (!(drawn >> i & 1)) continue;
        operand_text(&operands[i], told.op[i], addr, operand, sizeof operand);
        at += snprintf(out->text + at, sizeof out->text - (size_t)at, "%s%s=%s",
                       strchr(out->text, ' ') ? ", " : " ", operands[i].name, operand);
    }
}

void text_of(const view *v, const xs_insn *insn, uint64_t addr, insn_text *out)
{
    xs_disasm_text t;
    out->ours = !xs_disasm_word(v->disasm, insn->word, insn->size, addr, &t);
    if (out->ours) {
        own_text(v, insn, addr, out);
        return;
    }
    snprintf(out->mnemonic, sizeof out->mnemonic, "%s", t.mnemonic);
    snprintf(out->text, sizeof out->text, "%s%s%s", t.mnemonic, *t.operands ? " " : "", t.operands);
}

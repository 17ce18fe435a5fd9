/* An instruction as text: Capstone's, or our own from the rule and its operands. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

static void put_operand(const view *v, const xs_insn *insn, unsigned i, uint64_t addr, char *buf, size_t size)
{
    size_t count;
    const xs_operand *o = &xs_table_operands(v->table, &count)[i];
    int64_t value = insn->op[i];
    uint64_t base = o->kind == XS_OPERAND_PAGE ? addr & ~UINT64_C(4095) : addr;
    switch (o->kind) {
    case XS_OPERAND_REG: snprintf(buf, size, "%s=%s%" PRId64, o->name, o->prefix, value); break;
    case XS_OPERAND_OFFSET:
    case XS_OPERAND_PAGE: snprintf(buf, size, "%s=0x%" PRIx64, o->name, base + (uint64_t)value); break;
    case XS_OPERAND_SIGNED: snprintf(buf, size, "%s=%" PRId64, o->name, value); break;
    case XS_OPERAND_UNSIGNED: snprintf(buf, size, "%s=0x%" PRIx64, o->name, (uint64_t)value); break;
    }
}

/* A line that names no instruction: it leaves whole bytes of the word open. */
static bool is_anonymous(const xs_rule *rule)
{
    return __builtin_popcount(rule->mask) <= 3;
}

static void own_text(const view *v, const xs_insn *insn, uint64_t addr, insn_text *out)
{
    const xs_rule *rule = insn->entry->rule;
    const xs_piece *pieces = xs_table_pieces(v->table, rule);
    uint64_t shown = 0;
    if (is_anonymous(rule)) {
        snprintf(out->mnemonic, sizeof out->mnemonic, ".insn");
        snprintf(out->text, sizeof out->text, ".insn 0x%0*" PRIx32, insn->size * 2, insn->word);
        return;
    }
    snprintf(out->mnemonic, sizeof out->mnemonic, "%s", rule->name);
    snprintf(out->text, sizeof out->text, "%s", rule->name);
    for (size_t i = 0; i < rule->piece_count; i++) {
        char operand[64];
        if (shown >> pieces[i].operand & 1) continue;
        put_operand(v, insn, pieces[i].operand, addr, operand, sizeof operand);
        size_t at = strlen(out->text);
        snprintf(out->text + at, sizeof out->text - at, "%s%s", shown ? ", " : " ", operand);
        shown |= UINT64_C(1) << pieces[i].operand;
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

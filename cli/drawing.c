/* A rule's bits as the .decode notation draws them. */
#include <string.h>

#include "cli.h"

/* The bits of a piece in brackets: "10:1", "11". */
static int bits_text(const xs_piece *p, char *buf, size_t size)
{
    if (p->len == 1) return snprintf(buf, size, "%u", p->to);
    return snprintf(buf, size, "%u:%u", p->to + p->len - 1u, p->to);
}

/* Is this piece all that the rule draws of its operand? Then one bit needs no brackets. */
static bool stands_alone(const xs_table *t, const xs_rule *rule, const xs_piece *p)
{
    const xs_piece *other = xs_table_pieces(t, rule);
    bool alone = p->len == 1 && p->to == 0;
    for (size_t i = 0; i < rule->piece_count; i++)
        alone &= &other[i] == p || other[i].operand != p->operand;
    return alone;
}

/* "=0101" behind an operand whose bits are fixed. */
static void fixed_text(const xs_rule *rule, const xs_piece *p, char *buf)
{
    uint32_t bits = (uint32_t)((UINT64_C(1) << p->len) - 1);
    *buf = '\0';
    if ((rule->mask >> p->lsb & bits) != bits) return;
    *buf++ = '=';
    for (unsigned b = p->len; b-- > 0;)
        *buf++ = rule->value >> (p->lsb + b) & 1 ? '1' : '0';
    *buf = '\0';
}

/* Pieces of one operand that follow each other are drawn together: imm[20|10:1|11|19:12]. Returns how many.
 */
static size_t draw_operand(const xs_table *t, const xs_rule *rule, const xs_piece *p, const xs_piece *end,
                           char *buf, size_t size)
{
    size_t count, n = 1;
    char fixed[40];
    const char *name = xs_table_operands(t, &count)[p->operand].name;
    fixed_text(rule, p, fixed);
    if (*fixed || stands_alone(t, rule, p)) {
        snprintf(buf, size, "%s%s", name, fixed);
        return 1;
    }
    int at = snprintf(buf, size, "%s[", name);
    at += bits_text(p, buf + at, size - (size_t)at);
    for (; p + n < end && p[n].operand == p->operand && p[n].lsb + p[n].len == p[n - 1].lsb; n++) {
        at += snprintf(buf + at, size - (size_t)at, "|");
        at += bits_text(&p[n], buf + at, size - (size_t)at);
    }
    snprintf(buf + at, size - (size_t)at, "]");
    return n;
}

/* Fixed bits, and those nobody looks at, from top down to low. */
static void draw_bits(const xs_rule *rule, unsigned top, unsigned low, char *buf)
{
    while (top-- > low)
        *buf++ = !(rule->mask >> top & 1) ? '-' : rule->value >> top & 1 ? '1' : '0';
    *buf = '\0';
}

void rule_drawing(const xs_table *t, const xs_rule *rule, char *buf, size_t size)
{
    const xs_piece *p = xs_table_pieces(t, rule), *end = p + rule->piece_count;
    int at = 0;
    buf[0] = '\0';
    for (unsigned top = rule->width; top > 0 && at < (int)size;) {
        char part[160];
        bool operand = p < end && p->lsb + p->len == top;
        unsigned low = p < end ? p->lsb + p->len : 0u;
        if (operand) {
            p += draw_operand(t, rule, p, end, part, sizeof part);
            low = p[-1].lsb;
        } else {
            draw_bits(rule, top, low, part);
        }
        at += snprintf(buf + at, size - (size_t)at, "%s%s", at ? " " : "", part);
        top = low;
    }
}

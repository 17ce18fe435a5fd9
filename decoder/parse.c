/* A .decode file, line by line: encodings and what is done with them. The notation is described at the
 * top of arch/arm64/arm64.decode. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Cut a line (NUL-terminated, writable) into tokens; # begins a remark outside quotes. */
static bool tokenize(parser *p, char *line)
{
    p->token_count = 0;
    for (char *c = line; *c;) {
        if (isspace((unsigned char)*c)) {
            c++;
            continue;
        }
        if (*c == '#') break;
        if (p->token_count == MAX_TOKENS) {
            XS_ERROR(p, (unsigned)(c - line) + 1, "too-many", "more than %d words in a line", MAX_TOKENS);
            return false;
        }
        token *t = &p->tokens[p->token_count++];
        *t = (token){.text = c, .column = (unsigned)(c - line) + 1, .quoted = *c == '"'};
        if (t->quoted) {
            t->text = ++c;
            c = strchr(c, '"');
            if (!c) {
                XS_ERROR(p, t->column, "open-quote", "no closing quote in this line");
                return false;
            }
        } else {
            while (*c && !isspace((unsigned char)*c))
                c++;
        }
        if (*c) *c++ = '\0';
    }
    return true;
}

/* Grow an array by one zeroed element; NULL when there is no memory. */
static void *append(parser *p, void **array, size_t *count, size_t size)
{
    if ((*count & (*count - 1)) == 0) { /* a power of two, or 0: full */
        void *larger = realloc(*array, (*count ? *count * 2 : 1) * size);
        if (!larger) {
            p->no_memory = true;
            return NULL;
        }
        *array = larger;
    }
    char *slot = (char *)*array + size * (*count)++;
    memset(slot, 0, size);
    return slot;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* The bits of an encoding while they are read, from the highest down. */
typedef struct drawing {
    uint64_t mask, value;
    unsigned width;
    xs_flow flow;
    uint64_t seen[XS_MAX_OPERANDS]; /* operand bits drawn so far */
    size_t first_piece;
} drawing;

static bool add_bits(parser *p, const token *t, drawing *d, unsigned len, uint64_t mask, uint64_t value)
{
    if (d->width + len > 32) {
        XS_ERROR(p, t->column, "too-wide", "'%s' goes beyond 32 bits", t->text);
        return false;
    }
    d->mask = d->mask << len | mask;
    d->value = d->value << len | value;
    d->width += len;
    return true;
}

/* Fixed and ignored bits. */
static bool draw_literal(parser *p, const token *t, const char *bits, drawing *d)
{
    uint64_t mask = 0, value = 0;
    unsigned len = 0;
    for (; bits[len] && len <= 32; len++) {
        mask = mask << 1 | (bits[len] != '-');
        value = value << 1 | (bits[len] == '1');
    }
    return add_bits(p, t, d, len, mask, value);
}

/* Operand bits hi..lo at the next place. fixed: the bits themselves are added by the caller. */
static bool draw_piece(parser *p, const token *t, int operand, unsigned hi, unsigned lo, bool fixed,
                       drawing *d)
{
    unsigned len = hi - lo + 1;
    uint64_t bits = ((UINT64_C(1) << len) - 1) << lo;
    if (d->seen[operand] & bits) {
        XS_ERROR(p, t->column, "duplicate-operand-bit", "a bit of '%s' is drawn twice",
                 p->table->operands[operand].name);
        return false;
    }
    d->seen[operand] |= bits;
    xs_piece *piece = append(p, (void **)&p->table->pieces, &p->table->piece_count, sizeof *piece);
    if (!piece) return false;
    *piece = (xs_piece){
        .operand = (uint8_t)operand, .lsb = (uint8_t)d->width, .len = (uint8_t)len, .to = (uint8_t)lo};
    return fixed || add_bits(p, t, d, len, 0, 0);
}

/* "27:2]" or "8|4:3]": operand bits in the order in which they stand in the word. */
static bool draw_ranges(parser *p, const token *t, int operand, char *c, drawing *d)
{
    do {
        char *end;
        unsigned long hi = strtoul(c, &end, 10), lo = hi;
        if (end != c && *end == ':') lo = strtoul(c = end + 1, &end, 10);
        if (end == c || hi > 63 || lo > hi || hi - lo > 31 || (*end != '|' && *end != ']')) break;
        if (!draw_piece(p, t, operand, (unsigned)hi, (unsigned)lo, false, d)) return false;
        if (*end == ']' && end[1] == '\0') return true;
        c = end + 1;
    } while (c[-1] == '|');
    t->text[strlen(t->text)] = '['; /* cut there by the caller */
    XS_ERROR(p, t->column, "bad-bits", "'%s' is not NAME[HI:LO|...]", t->text);
    return false;
}

static bool note_flow(parser *p, const token *t, drawing *d)
{
    d->flow = xs_flow_from(t->text + 1);
    if (d->flow == XS_FLOW_NONE)
        XS_ERROR(p, t->column, "unknown-flow", "'%s' is not @branch, @jump, @call or @return", t->text);
    return d->flow != XS_FLOW_NONE;
}

/* A token of the drawing: 010-, name, name[..], name=01; or @flow. */
static bool draw(parser *p, const token *t, drawing *d)
{
    if (t->quoted) {
        XS_ERROR(p, t->column, "bad-bits", "a remark stands behind the class");
        return false;
    }
    if (*t->text == '@') return note_flow(p, t, d);
    if (strspn(t->text, "01-") == strlen(t->text)) return draw_literal(p, t, t->text, d);
    size_t len = strcspn(t->text, "[=");
    char mark = t->text[len];
    t->text[len] = '\0';
    int operand = xs_operand_find(p->table, t->text);
    if (operand < 0) {
        XS_ERROR(p, t->column, "unknown-operand", "'%s' is not declared by %%operand", t->text);
        return false;
    }
    char *rest = t->text + len + 1;
    if (mark == '\0') return draw_piece(p, t, operand, 0, 0, false, d);
    if (mark == '[') return draw_ranges(p, t, operand, rest, d);
    size_t bits = strlen(rest);
    if (bits == 0 || bits > 32 || strspn(rest, "01") != bits) {
        XS_ERROR(p, t->column, "bad-bits", "'%s=%s' is not NAME=BITS", t->text, rest);
        return false;
    }
    return draw_piece(p, t, operand, (unsigned)bits - 1, 0, true, d) && draw_literal(p, t, rest, d);
}

/* Pieces were noted with their distance from the top, the width being unknown until the end. */
static void place_pieces(parser *p, const drawing *d, xs_rule *rule)
{
    rule->piece_index = (uint32_t)d->first_piece;
    rule->piece_count = (uint16_t)(p->table->piece_count - d->first_piece);
    for (size_t i = d->first_piece; i < p->table->piece_count; i++) {
        xs_piece *piece = &p->table->pieces[i];
        piece->lsb = (uint8_t)(d->width - piece->lsb - piece->len);
    }
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool class_from(const char *word, bool in_scan, xs_class *out)
{
    for (*out = XS_REJECT; *out < XS_TAIL; ++*out)
        if (strcmp(xs_class_name(*out), word) == 0) return !in_scan || *out != XS_SIMULATE;
    return false;
}

static bool starts_decision(const char *word, bool in_scan)
{
    xs_class unused;
    return class_from(word, in_scan, &unused) || strcmp(word, "like") == 0;
}

static const char *handler_named(const xs_table *t, const char *name)
{
    for (size_t i = 0; i < t->handler_count; i++)
        if (strcmp(t->handlers[i], name) == 0) return t->handlers[i];
    return NULL;
}

/* "rd=0" or "rd=rs1"; false when it is neither. */
static bool parse_comparison(parser *p, const token *t, char *text, xs_quirk_use *out)
{
    char *right = strchr(text, '='), *end;
    if (!right) return false;
    *right++ = '\0';
    out->left = (int8_t)xs_operand_find(p->table, text);
    if (isdigit((unsigned char)*right)) {
        unsigned long value = strtoul(right, &end, 10);
        if (*end || value > UINT8_MAX) return false;
        out->value = (uint8_t)value;
    } else {
        out->right = (int8_t)xs_operand_find(p->table, right);
        if (out->right < 0) out->left = -1;
    }
    if (out->left < 0)
        XS_ERROR(p, t->column, "unknown-operand", "quirk compares operands that are not declared");
    return true;
}

/* "link-first(rd=rs1)", "x0-stalls(rd=0)" or "odd-target". */
static bool parse_quirk(parser *p, const token *t, char *text, xs_quirk_use *out)
{
    *out = (xs_quirk_use){.left = -1, .right = -1};
    char *open = strchr(text, '('), *last = text + strlen(text) - 1;
    if (open) {
        if (*last != ')') return false;
        *open = *last = '\0';
        if (!parse_comparison(p, t, open + 1, out)) return false;
    }
    int quirk = xs_quirk_find(p->table, text);
    if (quirk < 0) return false;
    out->quirk = (uint8_t)quirk;
    return true;
}

static bool parse_quirks(parser *p, const token *t, char *list, xs_decision *out)
{
    char *save = NULL;
    if (*list == '\0') XS_ERROR(p, t->column, "bad-quirk", "quirk= names none");
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
        if (out->quirk_count == XS_QUIRK_USES || !parse_quirk(p, t, item, &out->quirk[out->quirk_count++])) {
            XS_ERROR(p, t->column, "bad-quirk", "'%s' is not declared by %%quirk, or there are more than %d", item,
                     XS_QUIRK_USES);
            return true;
        }
    return true;
}

/* reason=, errno=, quirk= and the quoted remark. */
static bool parse_attribute(parser *p, const token *t, xs_decision *d)
{
    if (t->quoted) {
        d->note = t->text;
    } else if (strncmp(t->text, "reason=", 7) == 0) {
        d->reason = xs_reason_from(t->text + 7);
        if (d->reason == XS_WHY_COUNT) {
            XS_ERROR(p, t->column, "unknown-reason", "'%s'", t->text + 7);
            d->reason = XS_WHY_DEFAULT;
        }
    } else if (strncmp(t->text, "errno=", 6) == 0) {
        if (t->text[6] != 'E') XS_ERROR(p, t->column, "bad-errno", "'%s' is no errno name", t->text + 6);
        d->error = t->text + 6;
    } else if (strncmp(t->text, "quirk=", 6) == 0) {
        return parse_quirks(p, t, t->text + 6, d);
    } else {
        return false;
    }
    return true;
}

/* The handler behind the class; a "-" may stand there for none. Returns the next token's index. */
static size_t parse_handler(parser *p, size_t i, xs_decision *d)
{
    const token *t = i < p->token_count ? &p->tokens[i] : NULL;
    d->handler = "-";
    if (d->cls != XS_SIMULATE) return t && strcmp(t->text, "-") == 0 ? i + 1 : i;
    const char *known = t ? handler_named(p->table, t->text) : NULL;
    if (known)
        d->handler = known;
    else
        XS_ERROR(p, t ? t->column : p->tokens[i - 1].column, "unknown-handler",
                 "'%s' is not declared by %%handler", t ? t->text : "");
    return i + 1;
}

/* Is the operand in the current rule? One that is not has no value; -1 stands for none. */
static bool draws(const parser *p, int operand)
{
    const xs_piece *piece = p->table->pieces + p->current->piece_index;
    for (size_t i = 0; i < p->current->piece_count; i++)
        if (piece[i].operand == operand) return true;
    return operand < 0;
}

static bool add_decision(parser *p, const xs_decision *d, const when *w)
{
    xs_table *t = p->table;
    if (t->decision_count == MAX_DECISIONS) {
        XS_ERROR(p, p->tokens[0].column, "too-many", "more than %d decisions", MAX_DECISIONS);
        return false;
    }
    for (int i = 0; i < d->quirk_count; i++)
        if (!draws(p, d->quirk[i].left) || !draws(p, d->quirk[i].right))
            XS_ERROR(p, p->tokens[0].column, "unknown-operand", "'%s' has a quirk on what it does not draw",
                     p->current->name);
    size_t count = t->decision_count;
    xs_decision *slot = append(p, (void **)&t->decisions, &t->decision_count, sizeof *slot);
    when *cond = slot ? append(p, (void **)&t->whens, &count, sizeof *cond) : NULL;
    if (!cond) return false;
    *slot = *d;
    *cond = *w;
    p->current->decision_count++;
    return true;
}

/* like NAME: the decisions of an earlier line. */
static void copy_decisions(parser *p, size_t i)
{
    const token *t = i + 1 < p->token_count ? &p->tokens[i + 1] : &p->tokens[i];
    const xs_table *table = p->table;
    if (i + 2 < p->token_count)
        XS_ERROR(p, p->tokens[i + 2].column, "bad-attribute", "'%s' behind like NAME", p->tokens[i + 2].text);
    for (size_t r = 0; r + 1 < table->rule_count; r++) {
        const xs_rule *from = &table->rules[r];
        if (from->scan != p->in_scan || strcmp(from->name, t->text) != 0) continue;
        for (size_t d = from->decision_index; d < from->decision_index + from->decision_count; d++) {
            xs_decision copy = table->decisions[d];
            when w = table->whens[d];
            if (!add_decision(p, &copy, &w)) return;
        }
        return;
    }
    XS_ERROR(p, t->column, "unknown-rule", "no line '%s' above", t->text);
}

static void parse_decision(parser *p, size_t i)
{
    xs_decision d = {.error = "-", .note = "", .line = p->line};
    when w = xs_when_always();
    if (strcmp(p->tokens[i].text, "like") == 0) {
        copy_decisions(p, i);
        return;
    }
    if (p->tokens[i].quoted || !class_from(p->tokens[i].text, p->in_scan, &d.cls)) {
        XS_ERROR(p, p->tokens[i].column, "bad-class", "'%s' is not %s", p->tokens[i].text,
                 p->in_scan ? "slot, reject or like" : "simulate, slot, reject or like");
        return;
    }
    if (d.cls == XS_REJECT) d.error = "EINVAL";
    for (i = parse_handler(p, i + 1, &d); i < p->token_count; i++) {
        const token *t = &p->tokens[i];
        if (parse_attribute(p, t, &d) || xs_parse_condition(p, t, &w)) continue;
        XS_ERROR(p, t->column, "bad-attribute", "'%s'", t->text);
    }
    if (d.cls != XS_REJECT && strcmp(d.error, "-") != 0)
        XS_ERROR(p, p->tokens[0].column, "bad-errno", "only a refusal has an errno");
    add_decision(p, &d, &w);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool rule_exists(const xs_table *t, const char *name)
{
    for (size_t i = 0; i < t->rule_count; i++)
        if (strcmp(t->rules[i].name, name) == 0) return true;
    return false;
}

/* Where the drawing ends: at the first word that is a class. */
static bool draw_all(parser *p, size_t *next, drawing *d)
{
    for (*next = 1; *next < p->token_count; ++*next) {
        if (!p->tokens[*next].quoted && starts_decision(p->tokens[*next].text, p->in_scan)) break;
        if (!draw(p, &p->tokens[*next], d)) return false;
    }
    if (d->width == 16 || d->width == 32) return true;
    XS_ERROR(p, p->tokens[0].column, "bad-width", "'%s' draws %u bits, not 16 or 32", p->tokens[0].text,
             d->width);
    return false;
}

static void parse_rule(parser *p)
{
    xs_table *t = p->table;
    drawing d = {.first_piece = t->piece_count};
    size_t next;
    p->rules_begun = true;
    p->current = NULL;
    if (t->rule_count == MAX_LINES) {
        XS_ERROR(p, 1, "too-many", "more than %d rules", MAX_LINES);
        return;
    }
    if (rule_exists(t, p->tokens[0].text)) {
        XS_ERROR(p, 1, "duplicate-rule", "'%s' is declared twice", p->tokens[0].text);
        return;
    }
    if (!draw_all(p, &next, &d)) {
        t->piece_count = d.first_piece;
        return;
    }
    xs_rule *rule = append(p, (void **)&t->rules, &t->rule_count, sizeof *rule);
    if (!rule) return;
    *rule = (xs_rule){.name = p->tokens[0].text,
                      .mask = (uint32_t)d.mask,
                      .value = (uint32_t)d.value,
                      .width = (uint8_t)d.width,
                      .scan = p->in_scan,
                      .flow = d.flow,
                      .line = p->line,
                      .decision_index = (uint32_t)t->decision_count};
    place_pieces(p, &d, rule);
    p->current = rule;
    if (next < p->token_count) parse_decision(p, next);
}

static void parse_line(parser *p, char *line)
{
    bool indented = isspace((unsigned char)*line);
    if (!tokenize(p, line) || p->token_count == 0) return;
    if (*p->tokens[0].text == '%')
        xs_parse_directive(p);
    else if (!indented)
        parse_rule(p);
    else if (p->current)
        parse_decision(p, 0);
    else if (!p->rules_begun)
        XS_ERROR(p, p->tokens[0].column, "no-rule-above", "an indented line continues a rule");
}

static void check_complete(parser *p)
{
    const xs_table *t = p->table;
    p->line = 0;
    if (t->archs.count == 0 || t->modes.count == 0 || t->release_count == 0)
        XS_ERROR(p, 0, "missing-directive", "a table needs %%arch, %%modes and %%kernels");
    if (t->rule_count == 0) XS_ERROR(p, 0, "no-rules", "the table has no rules");
    for (size_t i = 0; i < t->rule_count; i++) {
        p->line = t->rules[i].line;
        if (t->rules[i].decision_count == 0)
            XS_ERROR(p, 1, "no-decision", "nothing says what is done with '%s'", t->rules[i].name);
    }
}

static void parse_text(parser *p)
{
    char *line = p->table->text;
    while (line && !p->no_memory) {
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        p->line++;
        parse_line(p, line);
        line = end ? end + 1 : NULL;
    }
    check_complete(p);
}

static unsigned shortest(const xs_table *t)
{
    unsigned bytes = 4;
    for (size_t i = 0; i < t->rule_count; i++)
        if (t->rules[i].width / 8u < bytes) bytes = t->rules[i].width / 8u;
    return bytes;
}

xs_table *xs_table_parse(const char *text, size_t len, xs_diag *diags, size_t max, size_t *count)
{
    parser p = {.diags = diags, .max_diags = max};
    *count = 0;
    p.table = calloc(1, sizeof *p.table);
    if (!p.table || !(p.table->text = malloc(len + 1))) {
        free(p.table);
        return NULL;
    }
    memcpy(p.table->text, text, len);
    p.table->text[len] = '\0';
    if (memchr(text, '\0', len))
        xs_report(diags, max, &p.diag_count, 0, 0, "not-text", "the file has a NUL byte");
    else
        parse_text(&p);
    if (!p.diag_count && !xs_steps_make(p.table)) p.no_memory = true;
    *count = p.no_memory ? 0 : p.diag_count;
    if (p.no_memory || p.diag_count) {
        xs_table_free(p.table);
        return NULL;
    }
    p.table->granule = shortest(p.table);
    return p.table;
}

void xs_table_free(xs_table *table)
{
    if (!table) return;
    free(table->text);
    free(table->rules);
    free(table->pieces);
    free(table->steps);
    free(table->decisions);
    free(table->whens);
    free(table);
}

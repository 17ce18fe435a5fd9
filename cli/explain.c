/* explain: everything about one word or one site. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sites.h"

/* What is explained: bytes at an address, perhaps in a file. */
typedef struct subject {
    program program; /* program.image NULL: words from the command line */
    window window;
    word_list words;
    xs_text text;
    size_t offset;
    site_place place;
} subject;

/* ---- the word, drawn ------------------------------------------------------------------------- */

/* A stretch of bits that belongs together: a piece of an operand, or fixed bits. */
typedef struct stretch {
    unsigned lsb, len;
    char label[32];
} stretch;

static void label_piece(const xs_table *t, const xs_piece *p, char *buf, size_t size)
{
    size_t count;
    const char *name = xs_table_operands(t, &count)[p->operand].name;
    if (p->len == 1 && p->to == 0)
        snprintf(buf, size, "%s", name);
    else if (p->len == 1)
        snprintf(buf, size, "%s[%u]", name, p->to);
    else
        snprintf(buf, size, "%s[%u:%u]", name, p->to + p->len - 1u, p->to);
}

/* Cut a rule's word into stretches, from the highest bit down; returns how many. */
static size_t cut(const xs_table *t, const xs_rule *rule, stretch out[32])
{
    const xs_piece *p = xs_table_pieces(t, rule), *end = p + rule->piece_count;
    size_t n = 0;
    for (unsigned top = rule->width; top > 0; top = out[n++].lsb) {
        bool operand = p < end && p->lsb + p->len == top;
        unsigned low = operand ? p->lsb : p < end ? p->lsb + p->len : 0u;
        out[n] = (stretch){.lsb = low, .len = top - low, .label = ""};
        if (operand) label_piece(t, p++, out[n].label, sizeof out[n].label);
    }
    return n;
}

static unsigned stretch_width(const stretch *s)
{
    unsigned label = (unsigned)strlen(s->label);
    return s->len > label ? s->len : label;
}

static void draw(FILE *f, const xs_table *t, const xs_rule *rule, uint32_t word)
{
    stretch cuts[32];
    size_t n = cut(t, rule, cuts);
    fputs("  bit   ", f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %-*u", (int)stretch_width(&cuts[i]), cuts[i].lsb + cuts[i].len - 1);
    fputs("\n        ", f);
    for (size_t i = 0; i < n; i++) {
        fputc(' ', f);
        for (unsigned b = cuts[i].len; b-- > 0;)
            fputc(word >> (cuts[i].lsb + b) & 1 ? '1' : '0', f);
        fprintf(f, "%*s", (int)(stretch_width(&cuts[i]) - cuts[i].len), "");
    }
    fputs("\n        ", f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %-*s", (int)stretch_width(&cuts[i]), cuts[i].label);
    fputc('\n', f);
}

/* The line whose picture tells most: text's, or if that names no instruction, the most exact one that
 * any kernel or named target has for this word. */
static const xs_rule *pictured_rule(const view *v, const xs_insn *insn)
{
    const xs_rule *best = telling_rule(v, insn);
    for (size_t k = 0; xs_table_kernel(v->table, k); k++) {
        xs_target t = v->target;
        t.kernel = (uint8_t)k;
        const xs_rule *rule = xs_table_find(v->table, &t, insn->word).rule;
        if (rule && __builtin_popcount(rule->mask) > __builtin_popcount(best->mask)) best = rule;
    }
    return best;
}

/* ---- history --------------------------------------------------------------------------------- */

/* Kernels in a row that treat the word the same way. */
typedef struct era {
    size_t first, last; /* kernels */
    xs_entry entry;
} era;

static bool same_treatment(const xs_entry *a, const xs_entry *b)
{
    return a->decision && b->decision && a->decision->cls == b->decision->cls &&
           strcmp(a->decision->handler, b->decision->handler) == 0;
}

static xs_entry treatment(const view *v, size_t kernel, size_t mode, uint32_t word)
{
    xs_target t = v->target;
    t.kernel = (uint8_t)kernel;
    t.mode = (uint8_t)mode;
    return xs_table_find(v->table, &t, word);
}

/* The eras of the releases; series and named targets stand alone. Returns how many. */
static size_t find_eras(const view *v, size_t mode, uint32_t word, era eras[256])
{
    size_t n = 0;
    for (size_t k = 0; xs_table_kernel(v->table, k) && n < 256; k++) {
        xs_entry e = treatment(v, k, mode, word);
        if (!e.rule) continue;
        bool release = xs_table_kernel_kind(v->table, k) == XS_KERNEL_RELEASE;
        if (release && n && same_treatment(&eras[n - 1].entry, &e))
            eras[n - 1].last = k;
        else
            eras[n++] = (era){k, k, e};
    }
    return n;
}

static void era_name(const view *v, const era *e, char *buf, size_t size)
{
    const char *first = xs_table_kernel(v->table, e->first), *last = xs_table_kernel(v->table, e->last);
    if (e->first == e->last)
        snprintf(buf, size, "%s", first);
    else
        snprintf(buf, size, "%s to %s", first, last);
}

/* A series is worth a line when it differs from the release it is based on. */
static bool worth_showing(const view *v, const era *eras, size_t n, const era *e)
{
    if (xs_table_kernel_kind(v->table, e->first) != XS_KERNEL_STABLE) return true;
    char base[16];
    const char *name = xs_table_kernel(v->table, e->first);
    snprintf(base, sizeof base, "%.*s", (int)strlen(name) - 2, name);
    for (size_t i = 0; i < n; i++)
        for (size_t k = eras[i].first; k <= eras[i].last; k++)
            if (strcmp(xs_table_kernel(v->table, k), base) == 0)
                return !same_treatment(&eras[i].entry, &e->entry);
    return true;
}

static json_object *era_json(const view *v, const era *e, const char *mode)
{
    char name[64];
    json_object *row = json_object_new_object();
    era_name(v, e, name, sizeof name);
    json_object_object_add(row, "kernels", json_object_new_string(name));
    json_object_object_add(row, "mode", json_object_new_string(mode));
    json_object_object_add(row, "class", json_object_new_string(xs_class_name(e->entry.decision->cls)));
    json_object_object_add(row, "rule", json_object_new_string(e->entry.rule->name));
    json_object_object_add(row, "handler", json_name(e->entry.decision->handler));
    json_object_object_add(row, "reason", json_object_new_string(xs_reason_name(e->entry.decision->reason)));
    json_object_object_add(row, "errno", json_name(e->entry.decision->error));
    json_object_object_add(row, "note", json_name(e->entry.decision->note));
    return row;
}

static const column history_columns[] = {{"kernels", "  KERNELS", 14}, {"mode", "MODE", 7},
                                         {"class", "CLASS", 8},        {"handler", "HANDLER", 26},
                                         {"rule", "RULE", 12},         {"note", "NOTE", 0}};

static void print_history(const view *v, output *out, uint32_t word)
{
    era eras[256];
    output_list(out, "history", history_columns, sizeof history_columns / sizeof *history_columns);
    for (size_t m = 0; xs_table_mode(v->table, m); m++) {
        size_t n = find_eras(v, m, word, eras);
        for (size_t i = 0; i < n; i++) {
            bool named = xs_table_kernel_kind(v->table, eras[i].first) == XS_KERNEL_NAMED;
            if (!worth_showing(v, eras, n, &eras[i]) || (named && m > 0)) continue;
            output_row(out, "history", era_json(v, &eras[i], named ? "-" : xs_table_mode(v->table, m)));
        }
    }
    output_list_end(out);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *class_sentence(xs_class cls)
{
    switch (cls) {
    case XS_SIMULATE: return "a handler edits the saved registers";
    case XS_SLOT: return "the word is copied and single-stepped out of line";
    default: return "the probe cannot be placed";
    }
}

static void print_operands(FILE *f, const view *v, const xs_rule *rule, uint32_t word, uint64_t addr)
{
    size_t count;
    const xs_operand *operands = xs_table_operands(v->table, &count);
    int64_t op[XS_MAX_OPERANDS];
    uint64_t seen = 0;
    xs_rule_operands(v->table, rule, word, op);
    for (size_t i = 0; i < rule->piece_count; i++) {
        unsigned n = xs_table_pieces(v->table, rule)[i].operand;
        if (seen >> n & 1) continue;
        seen |= UINT64_C(1) << n;
        bool moves = operands[n].kind == XS_OPERAND_OFFSET || operands[n].kind == XS_OPERAND_PAGE;
        char text[64];
        operand_text(&operands[n], op[n], addr, text, sizeof text);
        fprintf(f, "  %-7s ", operands[n].name);
        if (moves) fprintf(f, "%+" PRId64 ", ", op[n]);
        fprintf(f, "%s\n", text);
    }
}

static void print_quirks(FILE *f, const view *v, const xs_insn *insn)
{
    size_t count;
    const xs_quirk *quirks = xs_table_quirks(v->table, &count);
    for (uint32_t bits = xs_quirks(v->decoder, insn); bits; bits &= bits - 1) {
        const xs_quirk *q = &quirks[__builtin_ctz(bits)];
        text_line(f, "quirk", "%s: %s", q->name, q->note);
    }
}

static void print_ideal(FILE *f, const view *v, const xs_site *site)
{
    size_t count;
    if (!v->ideal) return;
    const xs_decision *d =
        xs_decoder_entries(v->ideal, &count)[xs_lookup(v->ideal, site->insn.word)].decision;
    text_line(f, "ideal", "%s, %s%s%s", xs_class_name(d->cls), xs_reason_name(d->reason),
              *d->note ? ": " : "", d->note);
}

static void print_text(output *out, const subject *s, const xs_site *site)
{
    const view *v = &s->program.view;
    const xs_decision *d = site->insn.entry->decision;
    const xs_rule *telling = pictured_rule(v, &site->insn);
    insn_text text;
    char hazards[128];
    text_of(v, &site->insn, s->place.addr, &text);
    hazards_text(site->hazards, hazards, sizeof hazards);
    if (s->place.file)
        text_line(out->f, "site", "%s: %s+0x%" PRIx64 ", %s at 0x%" PRIx64 ", file offset 0x%" PRIx64,
                  s->place.file, s->place.function ? s->place.function : "?", s->place.function_offset,
                  s->place.section, s->place.addr, s->place.file_offset);
    text_line(out->f, "word", "0x%0*" PRIx32 "  %s%s", site->insn.size * 2, site->insn.word, text.text,
              text.ours ? "  (from the table)" : "");
    text_line(out->f, "target", "%s", v->name);
    text_line(out->f, "class", "%s%s%s: %s", output_paint(out, site->cls), xs_class_name(site->cls),
              output_plain(out), class_sentence(site->cls));
    text_line(out->f, "reason", "%s%s%s", xs_reason_name(site->reason),
              *d->note && site->cls == d->cls ? ": " : "", site->cls == d->cls ? d->note : "");
    text_line(out->f, "rule", "%s (line %u)", site->insn.entry->rule->name, d->line);
    text_line(out->f, "handler", "%s", site->cls == XS_SIMULATE ? d->handler : "-");
    text_line(out->f, "errno", "%s", site->error);
    text_line(out->f, "hazards", "%s", hazards);
    print_quirks(out->f, v, &site->insn);
    print_ideal(out->f, v, site);
    if (!xs_site_on_boundary(v->decoder, &s->text, s->offset))
        text_line(out->f, "boundary", "not the start of an instruction");
    if (site->in_exclusive) text_line(out->f, "exclusive", "between a load-exclusive and its store");
    text_line(out->f, "encoding", "%s", telling->name);
    draw(out->f, v->table, telling, site->insn.word);
    print_operands(out->f, v, telling, site->insn.word, s->place.addr);
    text_line(out->f, "history", "%s", "how each kernel treats this word");
}

static int print_site(const options *o, output *out, const subject *s)
{
    xs_site site;
    xs_status status =
        xs_site_decide(s->program.view.decoder, s->program.view.ideal, &s->text, s->offset, &site);
    if (status != XS_OK) return complain(STATUS_INPUT, "%s: %s", o->args[0], xs_status_text(status));
    output_begin(out);
    if (out->format == FORMAT_TEXT)
        print_text(out, s, &site);
    else if (out->format != FORMAT_TSV) {
        output_value(out, "target", NULL, json_object_new_string(s->program.view.name));
        output_value(out, "site", "site", site_json(&s->program.view, &site, &s->place));
    }
    print_history(&s->program.view, out, site.insn.word);
    output_end(out);
    return STATUS_OK;
}

/* ---- finding the subject --------------------------------------------------------------------- */

static int open_words(const options *o, subject *s)
{
    int status = view_open(&s->program.view, o, NULL, NULL, NULL);
    if (status != STATUS_OK) return status;
    status = words_read(o, s->program.view.granule, &s->words);
    xs_insn insn;
    if (status == STATUS_OK &&
        xs_decode(s->program.view.decoder, s->words.bytes, s->words.size, &insn) == XS_OK &&
        insn.size < s->words.size)
        status = complain(STATUS_USAGE, "explain takes one instruction; classify --words takes several");
    s->text = (xs_text){.bytes = s->words.bytes, .size = s->words.size, .addr = o->at};
    s->place.addr = o->at;
    return status;
}

static bool is_named(const xs_function *f, const char *name)
{
    bool found = strcmp(f->name, name) == 0;
    for (unsigned i = 0; i < f->aliases; i++)
        found |= strcmp(f->alias_names[i], name) == 0;
    return found;
}

/* "FUNC", "FUNC+OFF" or "0xADDR" as an address; NULL function: an address. */
static int find_addr(const char *path, const xs_image *image, char *where, uint64_t *addr, size_t *section)
{
    *section = SIZE_MAX;
    if (parse_number(where, addr)) return STATUS_OK;
    char *plus = strrchr(where, '+');
    uint64_t offset = 0;
    if (plus && parse_number(plus + 1, &offset)) *plus = '\0';
    for (size_t i = 0; i < image->function_count; i++) {
        if (!is_named(&image->functions[i], where)) continue;
        if (offset > image->functions[i].size)
            return complain(STATUS_INPUT, "%s: 0x%" PRIx64 " is beyond the end of '%s'", path, offset, where);
        *addr = image->functions[i].addr + offset;
        *section = image->ranges[image->functions[i].range].section_index;
        return STATUS_OK;
    }
    return complain(STATUS_INPUT, "%s: no function '%s'", path, where);
}

static int place_in_image(const char *path, subject *s, uint64_t addr, size_t section)
{
    const xs_range *range = xs_image_range_at(s->program.image, addr, section);
    if (!range) return complain(STATUS_INPUT, "%s: 0x%" PRIx64 " is not in the code of the file", path, addr);
    const xs_function *f = xs_image_function_at(s->program.image, addr, range->section_index);
    size_t r = (size_t)(range - s->program.image->ranges);
    s->offset = (size_t)(addr - range->addr);
    if (!window_open(&s->window, &s->program.code)) return complain(STATUS_INTERNAL, "out of memory");
    s->text = window_text(&s->window, r, s->offset, f);
    s->place = (site_place){
        .file = path, .section = range->section, .addr = addr, .file_offset = range->offset + s->offset};
    if (f) {
        s->place.function = f->name;
        s->place.function_offset = addr - f->addr;
    }
    return STATUS_OK;
}

static int open_site(const options *o, const char *path, char *where, subject *s)
{
    uint64_t addr;
    size_t section;
    int status = program_open(&s->program, o, path);
    if (status == STATUS_OK) status = find_addr(path, s->program.image, where, &addr, &section);
    return status == STATUS_OK ? place_in_image(path, s, addr, section) : status;
}

/* The colon between file and place: function names have colons too, and so may paths. NULL: none. */
static char *split(char *text)
{
    for (char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        *colon = '\0';
        bool file = access(text, F_OK) == 0;
        *colon = ':';
        if (file) return colon;
    }
    return strchr(text, ':');
}

int command_explain(const options *o)
{
    subject s = {0};
    output out;
    if (o->count != 1) return complain(STATUS_USAGE, "explain HEX | FILE:FUNC[+OFF] | FILE:0xADDR");
    char *path = strdup(o->args[0]);
    char *colon = path ? split(path) : NULL;
    if (colon) *colon = '\0';
    int status = colon ? open_site(o, path, colon + 1, &s) : open_words(o, &s);
    if (status == STATUS_OK && !output_open(&out, o))
        status = STATUS_INPUT;
    else if (status == STATUS_OK)
        status = output_close(&out, print_site(o, &out, &s));
    window_close(&s.window);
    program_close(&s.program);
    free(s.words.bytes);
    free(path);
    return status;
}

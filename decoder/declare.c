/* The lines of a .decode file that begin with %: what names there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void add_name(parser *p, names *list, const token *t)
{
    if (xs_names_find(list, t->text) >= 0)
        XS_ERROR(p, t->column, "duplicate-name", "'%s' is declared twice", t->text);
    else if (list->count == MAX_NAMES)
        XS_ERROR(p, t->column, "too-many", "more than %d names", MAX_NAMES);
    else
        list->name[list->count++] = t->text;
}

static void declare_names(parser *p, names *list)
{
    for (size_t i = 1; i < p->token_count; i++)
        add_name(p, list, &p->tokens[i]);
}

static void declare_exts(parser *p)
{
    declare_names(p, &p->table->exts);
}

static void declare_modes(parser *p)
{
    declare_names(p, &p->table->modes);
}

static void declare_arch(parser *p)
{
    xs_table *t = p->table;
    size_t before = t->archs.count;
    if (p->token_count < 2) {
        XS_ERROR(p, 1, "missing-word", "%%arch NAME EXT...");
        return;
    }
    add_name(p, &t->archs, &p->tokens[1]);
    if (t->archs.count == before) return;
    for (size_t i = 2; i < p->token_count; i++) {
        int ext = xs_names_find(&t->exts, p->tokens[i].text);
        if (ext < 0)
            XS_ERROR(p, p->tokens[i].column, "unknown-name", "extension '%s' is not declared by %%ext",
                     p->tokens[i].text);
        else
            t->arch_ext[before] |= UINT32_C(1) << ext;
    }
}

static kernel *add_kernel(parser *p, unsigned column, const char *name, xs_kernel_kind kind)
{
    xs_table *t = p->table;
    if (xs_kernel_find(t, name) >= 0) {
        XS_ERROR(p, column, "duplicate-name", "kernel '%s' is declared twice", name);
    } else if (t->kernel_count == MAX_KERNELS || strlen(name) >= sizeof t->kernels[0].name) {
        XS_ERROR(p, column, "too-many", "more than %d kernels, or a name that is too long", MAX_KERNELS);
    } else {
        kernel *k = &t->kernels[t->kernel_count++];
        *k = (kernel){.kind = kind, .order = (unsigned)t->release_count, .ranged = true, .mode = -1};
        snprintf(k->name, sizeof k->name, "%s", name);
        if (kind == XS_KERNEL_RELEASE) t->release_count++;
        return k;
    }
    return NULL;
}

/* "5.0..5.19" or "5.4". Releases come before series and named targets: their index is their order. */
static void declare_kernels(parser *p)
{
    for (size_t i = 1; i < p->token_count; i++) {
        const token *t = &p->tokens[i];
        unsigned major, first, major2, last;
        int end = 0;
        if (p->table->kernel_count != p->table->release_count)
            XS_ERROR(p, t->column, "misplaced", "%%kernels comes before %%stable and %%target");
        else if (sscanf(t->text, "%3u.%3u%n..%3u.%3u%n", &major, &first, &end, &major2, &last, &end) >= 2) {
            bool range = t->text[end] == '\0' && strstr(t->text, "..");
            if (t->text[end] != '\0' || (range && (major != major2 || last < first))) {
                XS_ERROR(p, t->column, "bad-kernel", "'%s' is not X.Y or X.Y..X.Z", t->text);
                continue;
            }
            for (unsigned minor = first; minor <= (range ? last : first); minor++) {
                char name[16];
                snprintf(name, sizeof name, "%u.%u", major, minor);
                if (!add_kernel(p, t->column, name, XS_KERNEL_RELEASE)) break;
            }
        } else {
            XS_ERROR(p, t->column, "bad-kernel", "'%s' is not X.Y or X.Y..X.Z", t->text);
        }
    }
}

/* "6.12.y": the newest state of a series, 6.12 with fixes. */
static void declare_stable(parser *p)
{
    for (size_t i = 1; i < p->token_count; i++) {
        const token *t = &p->tokens[i];
        size_t len = strlen(t->text);
        char base[16];
        if (len < 3 || len >= sizeof base || strcmp(t->text + len - 2, ".y") != 0) {
            XS_ERROR(p, t->column, "bad-kernel", "'%s' is not X.Y.y", t->text);
            continue;
        }
        snprintf(base, sizeof base, "%.*s", (int)len - 2, t->text);
        int of = xs_kernel_find(p->table, base);
        if (of < 0) {
            XS_ERROR(p, t->column, "unknown-kernel", "release %s is not in %%kernels", base);
            continue;
        }
        kernel *k = add_kernel(p, t->column, t->text, XS_KERNEL_STABLE);
        if (k) k->order = (unsigned)of;
    }
}

static void declare_target(parser *p)
{
    xs_table *t = p->table;
    if (p->token_count != 4) {
        XS_ERROR(p, 1, "missing-word", "%%target NAME BASE MODE, BASE a release or -");
        return;
    }
    bool free_standing = strcmp(p->tokens[2].text, "-") == 0;
    int base = free_standing ? 0 : xs_kernel_find(t, p->tokens[2].text);
    int mode = xs_names_find(&t->modes, p->tokens[3].text);
    if (base < 0)
        XS_ERROR(p, p->tokens[2].column, "unknown-kernel", "release %s is not in %%kernels",
                 p->tokens[2].text);
    if (mode < 0)
        XS_ERROR(p, p->tokens[3].column, "unknown-name", "mode %s is not in %%modes", p->tokens[3].text);
    kernel *k = add_kernel(p, p->tokens[1].column, p->tokens[1].text, XS_KERNEL_NAMED);
    if (!k || base < 0) return;
    k->ranged = !free_standing;
    k->order = t->kernels[base].order;
    k->mode = mode;
}

/* "unsigned", "offset", "reg:x", "reg:x+8". */
static bool parse_kind(parser *p, const token *t, xs_operand *out)
{
    static const char *const kinds[] = {"unsigned", "signed", "offset", "page"};
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(t->text, kinds[i]) != 0) continue;
        out->kind = (xs_operand_kind)i;
        out->prefix = "";
        return true;
    }
    if (strncmp(t->text, "reg:", 4) != 0 || t->text[4] == '\0') {
        XS_ERROR(p, t->column, "bad-kind", "'%s' is not unsigned, signed, offset, page or reg:x", t->text);
        return false;
    }
    char *plus = strchr(t->text + 4, '+');
    out->kind = XS_OPERAND_REG;
    out->prefix = t->text + 4;
    if (plus) {
        char *end;
        *plus++ = '\0';
        unsigned long base = strtoul(plus, &end, 10);
        if (end == plus || *end || base > 31) {
            XS_ERROR(p, t->column, "bad-kind", "'%s' is not the number of a register", plus);
            return false;
        }
        out->base = (unsigned)base;
    }
    return true;
}

static void declare_operands(parser *p)
{
    xs_table *t = p->table;
    xs_operand kind = {0};
    if (p->token_count < 3) {
        XS_ERROR(p, 1, "missing-word", "%%operand NAME... KIND");
        return;
    }
    if (!parse_kind(p, &p->tokens[p->token_count - 1], &kind)) return;
    for (size_t i = 1; i + 1 < p->token_count; i++) {
        const token *name = &p->tokens[i];
        if (xs_operand_find(t, name->text) >= 0) {
            XS_ERROR(p, name->column, "duplicate-name", "operand '%s' is declared twice", name->text);
        } else if (t->operand_count == XS_MAX_OPERANDS) {
            XS_ERROR(p, name->column, "too-many", "more than %d operands", XS_MAX_OPERANDS);
        } else {
            t->operand_line[t->operand_count] = p->line;
            t->operands[t->operand_count] = kind;
            t->operands[t->operand_count++].name = name->text;
        }
    }
}

static void declare_handlers(parser *p)
{
    xs_table *t = p->table;
    for (size_t i = 1; i < p->token_count; i++) {
        if (t->handler_count == MAX_HANDLERS) {
            XS_ERROR(p, p->tokens[i].column, "too-many", "more than %d handlers", MAX_HANDLERS);
            return;
        }
        for (size_t k = 0; k < t->handler_count; k++)
            if (strcmp(t->handlers[k], p->tokens[i].text) == 0)
                XS_ERROR(p, p->tokens[i].column, "duplicate-name", "handler '%s' is declared twice",
                         t->handlers[k]);
        t->handler_line[t->handler_count] = p->line;
        t->handlers[t->handler_count++] = p->tokens[i].text;
    }
}

/* %quirk NAME HAZARD|- conditions "what the kernel does" */
static void declare_quirk(parser *p)
{
    xs_table *t = p->table;
    xs_quirk q = {.note = ""};
    when w = xs_when_always();
    if (p->token_count < 4 || !p->tokens[p->token_count - 1].quoted) {
        XS_ERROR(p, 1, "missing-word", "%%quirk NAME HAZARD|- ... \"what the kernel does\"");
        return;
    }
    q.name = p->tokens[1].text;
    q.hazard = xs_hazard_from(p->tokens[2].text);
    q.note = p->tokens[p->token_count - 1].text;
    if (!q.hazard && strcmp(p->tokens[2].text, "-") != 0)
        XS_ERROR(p, p->tokens[2].column, "bad-hazard", "'%s' is not a hazard", p->tokens[2].text);
    for (size_t i = 3; i + 1 < p->token_count; i++)
        if (!xs_parse_condition(p, &p->tokens[i], &w))
            XS_ERROR(p, p->tokens[i].column, "bad-attribute", "'%s'", p->tokens[i].text);
    if (xs_quirk_find(t, q.name) >= 0) {
        XS_ERROR(p, p->tokens[1].column, "duplicate-name", "quirk '%s' is declared twice", q.name);
    } else if (t->quirk_count == XS_MAX_QUIRKS) {
        XS_ERROR(p, 1, "too-many", "more than %d quirks", XS_MAX_QUIRKS);
    } else {
        t->quirk_whens[t->quirk_count] = w;
        t->quirk_line[t->quirk_count] = p->line;
        t->quirks[t->quirk_count++] = q;
    }
}

/* The words of a %site line that are no condition: align N, boundary, errno=. */
static bool site_word(parser *p, size_t *i, site_rule *s)
{
    const char *text = p->tokens[*i].text;
    if (strcmp(text, "boundary") == 0) {
        s->kind = SITE_BOUNDARY;
    } else if (strcmp(text, "align") == 0 && *i + 1 < p->token_count) {
        s->kind = SITE_ALIGN;
        char *end;
        s->align = (unsigned)strtoul(p->tokens[++*i].text, &end, 10);
        return *end == '\0' && s->align != 0 && (s->align & (s->align - 1)) == 0;
    } else if (strncmp(text, "errno=", 6) == 0) {
        s->error = text + 6;
        return *s->error == 'E';
    } else {
        return false;
    }
    return true;
}

static void declare_site(parser *p)
{
    xs_table *t = p->table;
    site_rule s = {.error = "EINVAL", .when = xs_when_always()};
    for (size_t i = 1; i < p->token_count; i++) {
        if (xs_parse_condition(p, &p->tokens[i], &s.when) || site_word(p, &i, &s)) continue;
        XS_ERROR(p, p->tokens[i].column, "bad-site", "'%s' is not align N, boundary, errno= or a condition",
                 p->tokens[i].text);
        return;
    }
    if (s.kind == SITE_ALIGN && s.align == 0)
        XS_ERROR(p, 1, "bad-site", "%%site needs align N or boundary");
    else if (t->site_count == MAX_SITES)
        XS_ERROR(p, 1, "too-many", "more than %d %%site lines", MAX_SITES);
    else
        t->sites[t->site_count++] = s;
}

static void declare_overlap(parser *p)
{
    xs_table *t = p->table;
    if (p->token_count != 4 || !p->tokens[3].quoted)
        XS_ERROR(p, 1, "missing-word", "%%overlap FIRST SECOND \"why\"");
    else if (t->overlap_count == MAX_OVERLAPS)
        XS_ERROR(p, 1, "too-many", "more than %d %%overlap lines", MAX_OVERLAPS);
    else
        t->overlaps[t->overlap_count++] = (overlap){p->tokens[1].text, p->tokens[2].text, p->line};
}

static void begin_scan(parser *p)
{
    p->in_scan = true;
}

static const struct {
    const char *name;
    void (*parse)(parser *);
    bool anywhere; /* also after the first rule */
} directives[] = {
    {"%ext", declare_exts, false},         {"%modes", declare_modes, false},
    {"%arch", declare_arch, false},        {"%kernels", declare_kernels, false},
    {"%stable", declare_stable, false},    {"%target", declare_target, false},
    {"%operand", declare_operands, false}, {"%handler", declare_handlers, false},
    {"%site", declare_site, false},        {"%quirk", declare_quirk, false},        {"%overlap", declare_overlap, true},
    {"%scan", begin_scan, true},
};

void xs_parse_directive(parser *p)
{
    const char *name = p->tokens[0].text;
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (strcmp(directives[i].name, name) != 0) continue;
        if (p->rules_begun && !directives[i].anywhere)
            XS_ERROR(p, 1, "misplaced", "%s comes before the first rule", name);
        else
            directives[i].parse(p);
        return;
    }
    XS_ERROR(p, 1, "unknown-directive", "'%s'", name);
}

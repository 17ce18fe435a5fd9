/* Conditions: kernel=6.13..,6.12.y mode=uprobe arch=riscv32 ext=!c. They are turned into bit sets when
 * the table is parsed, so that asking costs nothing. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

when xs_when_always(void)
{
    return (when){.kernels = {UINT64_MAX, UINT64_MAX}, .archs = UINT32_MAX, .modes = UINT32_MAX};
}

bool xs_when_matches(const when *w, const xs_target *t)
{
    return (w->kernels[t->kernel / 64] >> (t->kernel % 64) & 1) && (w->archs >> t->arch & 1) &&
           (w->modes >> t->mode & 1) && (w->ext_any == 0 || (w->ext_any & t->ext)) && !(w->ext_none & t->ext);
}

int xs_kernel_find(const xs_table *table, const char *name)
{
    for (size_t i = 0; i < table->kernel_count; i++)
        if (strcmp(table->kernels[i].name, name) == 0) return (int)i;
    return -1;
}

/* Place of a release among the releases; -1 and a finding when there is none of that name. */
static int release_order(parser *p, const token *t, const char *name)
{
    int i = xs_kernel_find(p->table, name);
    if (i >= 0 && p->table->kernels[i].kind == XS_KERNEL_RELEASE) return i;
    XS_ERROR(p, t->column, "unknown-kernel", "'%s' is not a release in %%kernels", name);
    return -1;
}

/* "A..B", "A..", "..B": releases from A on, before B, and the series and targets based on them. */
static void set_range(parser *p, const token *t, char *item, char *dots, uint64_t set[])
{
    *dots = '\0';
    const char *from = item, *to = dots + 2;
    int first = *from ? release_order(p, t, from) : 0;
    int end = *to ? release_order(p, t, to) : (int)p->table->release_count;
    if (first < 0 || end < 0) return;
    if (first >= end)
        XS_ERROR(p, t->column, "empty-range", "no release is from %s on and before %s", from, to);
    for (size_t i = 0; i < p->table->kernel_count; i++) {
        const kernel *k = &p->table->kernels[i];
        if (k->ranged && (int)k->order >= first && (int)k->order < end)
            set[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

static void set_kernel(parser *p, const token *t, char *item, uint64_t set[])
{
    char *dots = strstr(item, "..");
    if (dots) {
        set_range(p, t, item, dots, set);
        return;
    }
    int i = xs_kernel_find(p->table, item);
    if (i < 0)
        XS_ERROR(p, t->column, "unknown-kernel", "'%s' is not in %%kernels, %%stable or %%target", item);
    else
        set[i / 64] |= UINT64_C(1) << (i % 64);
}

static void parse_kernels(parser *p, const token *t, char *list, when *out)
{
    uint64_t yes[2] = {0}, no[2] = {0};
    bool any_yes = false;
    char *save = NULL;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        bool negative = *item == '!';
        any_yes |= !negative;
        set_kernel(p, t, item + negative, negative ? no : yes);
    }
    for (int i = 0; i < 2; i++)
        out->kernels[i] = (any_yes ? yes[i] : UINT64_MAX) & ~no[i];
}

static void parse_set(parser *p, const token *t, char *list, const names *known, uint32_t *yes, uint32_t *no)
{
    char *save = NULL;
    *yes = *no = 0;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        bool negative = *item == '!';
        int i = xs_names_find(known, item + negative);
        if (i < 0)
            XS_ERROR(p, t->column, "unknown-name", "'%s' is not declared", item + negative);
        else
            *(negative ? no : yes) |= UINT32_C(1) << i;
    }
}

static uint32_t allowed(uint32_t yes, uint32_t no)
{
    return (yes ? yes : UINT32_MAX) & ~no;
}

/* The last of two would win, which is never what is meant: a list is one condition. */
static void give(parser *p, const token *t, unsigned which, when *out)
{
    if (out->given >> which & 1)
        XS_ERROR(p, t->column, "repeated-condition", "'%s' is the second of its kind: one list, with commas",
                 t->text);
    out->given |= 1u << which;
}

/* kernel=, mode=, arch=, ext=. False when the token is none of these. */
bool xs_parse_condition(parser *p, const token *t, when *out)
{
    char *value = strchr(t->text, '=');
    if (!value || t->quoted) return false;
    size_t key = (size_t)(value - t->text);
    uint32_t yes, no;
    value++;
    if (value[strspn(value, ",")] == '\0')
        XS_ERROR(p, t->column, "unknown-name", "'%s' has no name behind it", t->text);
    if (key == 6 && strncmp(t->text, "kernel", key) == 0) {
        give(p, t, 0, out);
        parse_kernels(p, t, value, out);
    } else if (key == 4 && strncmp(t->text, "mode", key) == 0) {
        give(p, t, 1, out);
        parse_set(p, t, value, &p->table->modes, &yes, &no);
        out->modes = allowed(yes, no);
    } else if (key == 4 && strncmp(t->text, "arch", key) == 0) {
        give(p, t, 2, out);
        parse_set(p, t, value, &p->table->archs, &yes, &no);
        out->archs = allowed(yes, no);
    } else if (key == 3 && strncmp(t->text, "ext", key) == 0) {
        give(p, t, 3, out);
        parse_set(p, t, value, &p->table->exts, &out->ext_any, &out->ext_none);
    } else {
        return false;
    }
    return true;
}

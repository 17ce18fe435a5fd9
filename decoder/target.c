/* Targets: architecture, kernel and mode by name, and what applies to them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* A bounded string that remembers its full length, as snprintf does. */
typedef struct sink {
    char *buf;
    size_t size, length;
} sink;

static void put(sink *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(sink *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *at = s->length < s->size ? s->buf + s->length : NULL;
    int n = vsnprintf(at, at ? s->size - s->length : 0, format, args);
    va_end(args);
    if (n > 0) s->length += (size_t)n;
}

static void put_names(sink *s, const names *list)
{
    for (size_t i = 0; i < list->count; i++)
        put(s, "%s%s", i ? ", " : "", list->name[i]);
}

static void put_kernels(sink *s, const xs_table *t)
{
    put(s, "%s to %s", t->kernels[0].name, t->kernels[t->release_count - 1].name);
    for (size_t i = t->release_count; i < t->kernel_count; i++)
        put(s, ", %s", t->kernels[i].name);
}

/* The next part of text up to one of the characters in ends, copied to part. */
static const char *next_part(const char *text, const char *ends, char *part, size_t size)
{
    size_t len = strcspn(text, ends);
    snprintf(part, size, "%.*s", (int)(len < size ? len : size), text);
    return text + len;
}

static bool parse_exts(const xs_table *t, const char **text, xs_target *out, sink *why)
{
    char part[32];
    while (**text == '+' || **text == '-') {
        bool add = **text == '+';
        *text = next_part(*text + 1, "+-/", part, sizeof part);
        uint32_t bit = xs_table_ext_bit(t, part);
        if (!bit) {
            put(why, "unknown extension '%s'; known: ", part);
            put_names(why, &t->exts);
            return false;
        }
        out->ext = add ? out->ext | bit : out->ext & ~bit;
    }
    return true;
}

static bool parse_arch(const xs_table *t, const char **text, xs_target *out, sink *why)
{
    char part[32];
    *text = next_part(*text, "+-/", part, sizeof part);
    int arch = xs_names_find(&t->archs, part);
    if (arch < 0) {
        put(why, "unknown architecture '%s'; this table has ", part);
        put_names(why, &t->archs);
        return false;
    }
    out->arch = (uint8_t)arch;
    out->ext = t->arch_ext[arch];
    return parse_exts(t, text, out, why);
}

static bool parse_kernel(const xs_table *t, const char **text, xs_target *out, sink *why)
{
    char part[32];
    out->kernel = (uint8_t)(t->release_count - 1);
    if (**text != '/') return true;
    *text = next_part(*text + 1, "/", part, sizeof part);
    if (!*part) return true;
    int k = xs_kernel_find(t, part);
    if (k < 0) {
        put(why, "unknown kernel '%s'; known: ", part);
        put_kernels(why, t);
        return false;
    }
    out->kernel = (uint8_t)k;
    return true;
}

static bool parse_mode(const xs_table *t, const char **text, xs_target *out, sink *why)
{
    const kernel *k = &t->kernels[out->kernel];
    out->mode = (uint8_t)(k->mode < 0 ? 0 : k->mode);
    if (**text != '/') return true;
    const char *name = *text + 1;
    *text = name + strlen(name);
    int mode = xs_names_find(&t->modes, name);
    if (mode < 0) {
        put(why, "unknown mode '%s'; known: ", name);
        put_names(why, &t->modes);
        return false;
    }
    out->mode = (uint8_t)mode;
    if (k->mode < 0 || k->mode == mode) return true;
    put(why, "%s has mode %s alone", k->name, t->modes.name[k->mode]);
    return false;
}

xs_status xs_target_parse(const xs_table *table, const char *text, xs_target *out, char *why, size_t size)
{
    sink s = {why, size, 0};
    if (size) *why = '\0';
    *out = (xs_target){0};
    if (parse_arch(table, &text, out, &s) && parse_kernel(table, &text, out, &s) &&
        parse_mode(table, &text, out, &s))
        return XS_OK;
    *out = (xs_target){0};
    return XS_E_TARGET;
}

size_t xs_target_format(const xs_table *table, const xs_target *target, char *buf, size_t size)
{
    sink s = {buf, size, 0};
    const kernel *k = &table->kernels[target->kernel];
    uint32_t changed = target->ext ^ table->arch_ext[target->arch];
    if (size) *buf = '\0';
    put(&s, "%s", table->archs.name[target->arch]);
    for (size_t i = 0; i < table->exts.count; i++)
        if (changed >> i & 1) put(&s, "%c%s", target->ext >> i & 1 ? '+' : '-', table->exts.name[i]);
    put(&s, "/%s", k->name);
    if (k->mode < 0) put(&s, "/%s", table->modes.name[target->mode]);
    return s.length;
}

const char *xs_table_arch(const xs_table *table, size_t i)
{
    return i < table->archs.count ? table->archs.name[i] : NULL;
}

const char *xs_table_kernel(const xs_table *table, size_t i)
{
    return i < table->kernel_count ? table->kernels[i].name : NULL;
}

const char *xs_table_mode(const xs_table *table, size_t i)
{
    return i < table->modes.count ? table->modes.name[i] : NULL;
}

const char *xs_table_ext(const xs_table *table, size_t i)
{
    return i < table->exts.count ? table->exts.name[i] : NULL;
}

xs_kernel_kind xs_table_kernel_kind(const xs_table *table, size_t i)
{
    return i < table->kernel_count ? table->kernels[i].kind : XS_KERNEL_RELEASE;
}

uint32_t xs_table_ext_bit(const xs_table *table, const char *name)
{
    int i = xs_names_find(&table->exts, name);
    return i < 0 ? 0 : UINT32_C(1) << i;
}

const xs_decision *xs_rule_decision(const xs_table *table, const xs_rule *rule, const xs_target *target)
{
    for (size_t i = rule->decision_index; i < rule->decision_index + rule->decision_count; i++)
        if (xs_when_matches(&table->whens[i], target)) return &table->decisions[i];
    return NULL;
}

xs_entry xs_table_find(const xs_table *table, const xs_target *target, uint32_t word)
{
    for (size_t i = 0; i < table->rule_count; i++) {
        const xs_rule *rule = &table->rules[i];
        if (rule->scan || !xs_matches(rule, word)) continue;
        const xs_decision *decision = xs_rule_decision(table, rule, target);
        if (decision) return (xs_entry){rule, decision};
    }
    return (xs_entry){NULL, NULL};
}

const xs_rule *xs_table_rules(const xs_table *table, size_t *count)
{
    *count = table->rule_count;
    return table->rules;
}

const xs_piece *xs_table_pieces(const xs_table *table, const xs_rule *rule)
{
    return table->pieces + rule->piece_index;
}

const xs_decision *xs_table_decisions(const xs_table *table, const xs_rule *rule)
{
    return table->decisions + rule->decision_index;
}

const xs_operand *xs_table_operands(const xs_table *table, size_t *count)
{
    *count = table->operand_count;
    return table->operands;
}

const xs_quirk *xs_table_quirks(const xs_table *table, size_t *count)
{
    *count = table->quirk_count;
    return table->quirks;
}

unsigned xs_table_granule(const xs_table *table)
{
    return table->granule;
}

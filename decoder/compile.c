/* From the rules of a target to its index. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Taken when no rule matches: a word nobody has decided on is refused. */
static const xs_rule no_rule = {.name = "no-rule", .width = 32};
static const xs_decision no_decision = {
    .cls = XS_REJECT, .handler = "-", .error = "EINVAL", .note = "the table has no rule for this word"};

static xs_status collect(xs_decoder *d)
{
    const xs_table *t = d->table;
    for (size_t i = 0; i < t->rule_count; i++) {
        const xs_rule *rule = &t->rules[i];
        const xs_decision *decision = xs_rule_decision(t, rule, &d->target);
        if (!decision) continue;
        size_t *count = rule->scan ? &d->scan_count : &d->count;
        if (*count == XS_MAX_RULES) return XS_E_LIMIT;
        (rule->scan ? d->scan : d->entries)[(*count)++] = (xs_entry){rule, decision};
    }
    return XS_OK;
}

/* The length that all rules for this first byte agree on, down to one that matches every such word. */
static uint8_t length_of(const xs_decoder *d, size_t first_byte)
{
    const uint64_t *row = d->index.rows + first_byte * d->index.words;
    uint8_t length = 0;
    for (size_t i = 0; i <= d->count; i++) {
        if (!(row[i / 64] >> (i % 64) & 1)) continue;
        if (length && length != d->sizes[i]) return 0;
        length = d->sizes[i];
        if ((d->entries[i].rule->mask & ~UINT32_C(255)) == 0) break;
    }
    return length;
}

/* The same for all values of the second byte, where it takes several rules to match them all. */
static uint8_t length_by_half(const xs_decoder *d, size_t first_byte)
{
    const xs_halves *h = &d->halves;
    uint8_t length = 0;
    for (size_t second = 0; second < 256; second++) {
        uint16_t i = h->rule[h->kind[0][first_byte] + h->kind[1][second]];
        if (i == XS_OPEN || (length && length != d->sizes[i])) return 0;
        length = d->sizes[i];
    }
    return length;
}

/* Bytes of the same kind, numbered as they come up, have the same length. */
static void find_lengths(xs_decoder *d)
{
    const bool by_half = d->halves.rule && d->halves.shift == 0;
    uint8_t length[256];
    size_t kinds = 0;
    for (size_t byte = 0; byte < 256; byte++) {
        size_t kind = by_half ? d->halves.kind[0][byte] : byte;
        if (kind == kinds) {
            length[kind] = length_of(d, byte);
            if (by_half && !length[kind]) length[kind] = length_by_half(d, byte);
            kinds++;
        }
        d->lengths[byte] = length[kind];
    }
}

/* Of words of two sizes the first half says most, of others the upper one, where opcodes are. */
static bool make_halves(xs_decoder *d)
{
    uint32_t masks[XS_MAX_RULES + 1];
    for (size_t i = 0; i <= d->count; i++)
        masks[i] = d->entries[i].rule->mask;
    return xs_halves_make(&d->halves, &d->index, d->table->granule == 2 ? 0 : 16, masks);
}

xs_status xs_decoder_new(const xs_table *table, const xs_target *target, xs_decoder **out)
{
    *out = NULL;
    xs_decoder *d = calloc(1, sizeof *d);
    if (!d) return XS_E_NOMEM;
    d->table = table;
    d->target = *target;
    xs_status status = collect(d);
    d->entries[d->count] = (xs_entry){&no_rule, &no_decision}; /* matches everything: its mask is 0 */
    if (status == XS_OK && !xs_index_open(&d->index, d->count + 1)) status = XS_E_NOMEM;
    if (status != XS_OK) {
        xs_decoder_free(d);
        return status;
    }
    for (size_t i = 0; i <= d->count; i++) {
        xs_index_add(&d->index, i, d->entries[i].rule->mask, d->entries[i].rule->value);
        d->classes[i] = (uint8_t)d->entries[i].decision->cls;
        d->sizes[i] = d->entries[i].rule->width / 8;
        d->steps[i] = xs_steps_of(table, d->entries[i].rule);
    }
    if (d->index.words > 1 && !make_halves(d)) {
        xs_decoder_free(d);
        return XS_E_NOMEM;
    }
    find_lengths(d);
    *out = d;
    return XS_OK;
}

void xs_decoder_free(xs_decoder *decoder)
{
    if (!decoder) return;
    xs_index_close(&decoder->index);
    free(decoder->halves.rule);
    free(decoder);
}

const xs_entry *xs_decoder_entries(const xs_decoder *decoder, size_t *count)
{
    *count = decoder->count + 1;
    return decoder->entries;
}

const xs_entry *xs_decoder_scan_entries(const xs_decoder *decoder, size_t *count)
{
    *count = decoder->scan_count;
    return decoder->scan;
}

const xs_table *xs_decoder_table(const xs_decoder *decoder)
{
    return decoder->table;
}

const xs_target *xs_decoder_target(const xs_decoder *decoder)
{
    return &decoder->target;
}

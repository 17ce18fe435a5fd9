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

static void set_bit(uint64_t *set, size_t i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Every rule joins the rows of the byte values that its mask and value allow. The byte values are the
 * subsets of the free bits, added to the fixed ones. */
static void index_rule(xs_decoder *d, size_t i)
{
    for (unsigned byte = 0; byte < 4; byte++) {
        unsigned free_bits = ~(d->entries[i].rule->mask >> (8 * byte)) & 255;
        unsigned fixed = d->entries[i].rule->value >> (8 * byte) & 255;
        unsigned subset = 0;
        do {
            set_bit(d->rows + (byte * 256 + (fixed | subset)) * d->set_words, i);
            subset = (subset - free_bits) & free_bits;
        } while (subset);
    }
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
    d->set_words = d->count / 64 + 1;
    d->rows = status == XS_OK ? calloc(1024 * d->set_words, sizeof *d->rows) : NULL;
    if (!d->rows) {
        xs_decoder_free(d);
        return status == XS_OK ? XS_E_NOMEM : status;
    }
    for (size_t i = 0; i <= d->count; i++) {
        index_rule(d, i);
        d->classes[i] = (uint8_t)d->entries[i].decision->cls;
        d->sizes[i] = d->entries[i].rule->width / 8;
    }
    *out = d;
    return XS_OK;
}

void xs_decoder_free(xs_decoder *decoder)
{
    if (!decoder) return;
    free(decoder->rows);
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

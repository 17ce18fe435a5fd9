/* Decisions that need more than the word: where it stands and what stands before it. */
#include <string.h>

#include "internal.h"

/* Instructions looked at before the probe (MAX_ATOMIC_CONTEXT_SIZE in arm64's decode-insn.c: 128 bytes). */
enum { SCAN_WINDOW = 32 };

static uint32_t word_at(const xs_text *text, size_t at)
{
    uint32_t word = 0;
    for (size_t i = 0; i < 4 && at + i < text->size; i++)
        word |= (uint32_t)text->bytes[at + i] << (8 * i);
    return word;
}

static size_t size_at(const xs_decoder *d, const xs_text *text, size_t at)
{
    return d->sizes[xs_lookup(d, word_at(text, at))];
}

static bool starts_here(const xs_text *text, size_t at, size_t granule)
{
    return text->starts[(at - text->starts_at) / granule] != XS_TAIL;
}

/* Whether starts are good for offset. A walk over a whole section, data and all, may be out of step with one
 * from the function's start. */
static bool starts_hold(const xs_text *text, size_t offset, size_t granule)
{
    if (!text->starts || offset < text->starts_at) return false;
    if (text->function == XS_NO_FUNCTION || text->function < text->starts_at) return true;
    return text->function / granule < text->size / granule && starts_here(text, text->function, granule);
}

bool xs_site_on_boundary(const xs_decoder *decoder, const xs_text *text, size_t offset)
{
    size_t granule = decoder->table->granule;
    if (offset >= text->size || text->size - offset < granule || offset % granule) return false;
    if (granule == 4) return true;
    if (starts_hold(text, offset, granule)) return starts_here(text, offset, granule);
    size_t at = text->function == XS_NO_FUNCTION ? 0 : text->function;
    while (at < offset)
        at += size_at(decoder, text, at);
    return at == offset;
}

/* Step backwards, as far as it is known where instructions begin; starts[] is filled from its end. */
static size_t step_back(const xs_text *text, size_t granule, size_t offset, size_t starts[SCAN_WINDOW])
{
    size_t count = 0, from = text->function;
    if (granule != 4 && from < text->starts_at) from = text->starts_at;
    for (size_t at = offset; at >= from + granule && count < SCAN_WINDOW;) {
        at -= granule;
        if (granule == 4 || starts_here(text, at, granule)) starts[SCAN_WINDOW - 1 - count++] = at;
    }
    return count;
}

/* Where the up to SCAN_WINDOW instructions before offset begin, nearest last; returns how many. */
static size_t starts_before(const xs_decoder *d, const xs_text *text, size_t offset,
                            size_t starts[SCAN_WINDOW])
{
    size_t granule = d->table->granule, count = 0;
    if (granule == 4 || starts_hold(text, offset, granule)) {
        count = step_back(text, granule, offset, starts);
        memmove(starts, starts + SCAN_WINDOW - count, count * sizeof *starts);
        if (granule == 4 || count == SCAN_WINDOW || text->function >= text->starts_at) return count;
        count = 0; /* some are before what is known */
    }
    for (size_t at = text->function; at < offset; at += size_at(d, text, at)) {
        if (count == SCAN_WINDOW) memmove(starts, starts + 1, --count * sizeof *starts);
        starts[count++] = at;
    }
    return count;
}

/* What the scan list says of a word; XS_TAIL: nothing, go on. */
static xs_class scan_word(const xs_decoder *d, uint32_t word)
{
    for (size_t i = 0; i < d->scan_count; i++)
        if (xs_matches(d->scan[i].rule, word)) return d->scan[i].decision->cls;
    return XS_TAIL;
}

bool xs_site_in_exclusive(const xs_decoder *decoder, const xs_text *text, size_t offset)
{
    size_t starts[SCAN_WINDOW];
    if (!decoder->scan_count || text->function == XS_NO_FUNCTION || offset >= text->size) return false;
    for (size_t n = starts_before(decoder, text, offset, starts); n-- > 0;) {
        xs_class cls = scan_word(decoder, word_at(text, starts[n]));
        if (cls != XS_TAIL) return cls == XS_REJECT;
    }
    return false;
}

/* ---- hazards --------------------------------------------------------------------------------- */

static bool shows(const xs_quirk_use *q, const int64_t *op)
{
    if (q->left < 0) return true;
    return op[q->left] == (q->right < 0 ? q->value : op[q->right]);
}

uint32_t xs_quirks(const xs_decoder *decoder, const xs_insn *insn)
{
    const xs_decision *d = insn->entry->decision;
    uint32_t found = 0;
    for (int i = 0; i < d->quirk_count; i++)
        if (xs_when_matches(&decoder->table->quirk_whens[d->quirk[i].quirk], &decoder->target) &&
            shows(&d->quirk[i], insn->op))
            found |= UINT32_C(1) << d->quirk[i].quirk;
    return found;
}

/* What running a word in a slot does, given why ideal does not. */
static unsigned slot_hazard(xs_reason why)
{
    switch (why) {
    case XS_WHY_PC_RELATIVE:
    case XS_WHY_BRANCH: return XS_HAZARD_CORRUPTS;
    case XS_WHY_EXCLUSIVE: return XS_HAZARD_LIVELOCK;
    case XS_WHY_SYSTEM_REGISTER: return XS_HAZARD_WRONG;
    case XS_WHY_SEQUENCE:
    case XS_WHY_HINT:
    case XS_WHY_EXCEPTION: return XS_HAZARD_UNSAFE;
    default: return 0; /* faster in a handler but right in the slot, or no instruction at all */
    }
}

unsigned xs_class_hazards(xs_class cls, const xs_decision *right)
{
    if (cls == XS_SLOT && right->cls != XS_SLOT) return slot_hazard(right->reason);
    bool slot_is_right = right->cls == XS_SLOT || right->reason == XS_WHY_FASTER;
    bool real = right->reason != XS_WHY_UNALLOCATED && right->reason != XS_WHY_TRAP;
    return cls == XS_REJECT && slot_is_right && real ? XS_HAZARD_NEEDLESS : 0;
}

unsigned xs_hazards(const xs_decoder *decoder, const xs_insn *insn, const xs_entry *ideal)
{
    uint32_t quirks = xs_quirks(decoder, insn);
    unsigned found = 0;
    for (; quirks; quirks &= quirks - 1)
        found |= decoder->table->quirks[__builtin_ctz(quirks)].hazard;
    if (!ideal || !ideal->rule) return found;
    return found | xs_class_hazards(insn->entry->decision->cls, ideal->decision);
}

/* ---- the decision ---------------------------------------------------------------------------- */

static void refuse(xs_site *site, xs_reason reason, const char *error)
{
    site->cls = XS_REJECT;
    site->reason = reason;
    site->error = error;
}

/* The %site lines of the target; false when one refuses. */
static bool place_allows(const xs_decoder *d, const xs_text *text, size_t offset, xs_site *site)
{
    for (size_t i = 0; i < d->table->site_count; i++) {
        const site_rule *s = &d->table->sites[i];
        if (!xs_when_matches(&s->when, &d->target)) continue;
        bool aligned = s->kind != SITE_ALIGN || (text->addr + offset) % s->align == 0;
        bool starts = s->kind != SITE_BOUNDARY ||
                      (text->function != XS_NO_FUNCTION && xs_site_on_boundary(d, text, offset));
        if (aligned && starts) continue;
        refuse(site, aligned ? XS_WHY_BOUNDARY : XS_WHY_ALIGNMENT, s->error);
        return false;
    }
    return true;
}

/* What only the surroundings can tell, against ideal. */
static unsigned place_hazards(const xs_decoder *d, const xs_text *text, size_t offset, const xs_site *site)
{
    if (site->cls != XS_REJECT)
        return (site->in_exclusive ? XS_HAZARD_LIVELOCK : 0u) |
               (xs_site_on_boundary(d, text, offset) ? 0u : XS_HAZARD_CORRUPTS);
    bool by_scan =
        site->insn.entry && site->insn.entry->decision->cls != XS_REJECT && site->reason == XS_WHY_EXCLUSIVE;
    return by_scan && !site->in_exclusive ? XS_HAZARD_NEEDLESS : 0;
}

xs_status xs_site_decide(const xs_decoder *decoder, const xs_decoder *ideal, const xs_text *text,
                         size_t offset, xs_site *site)
{
    *site = (xs_site){.cls = XS_REJECT, .reason = XS_WHY_BOUNDARY, .error = "EINVAL"};
    if (offset >= text->size) return XS_E_RANGE;
    xs_status status = xs_decode(decoder, text->bytes + offset, text->size - offset, &site->insn);
    if (status != XS_OK) return status;
    if (ideal) site->in_exclusive = xs_site_in_exclusive(ideal, text, offset);
    bool by_word = place_allows(decoder, text, offset, site); /* the word decides, not its place */
    if (by_word) {
        const xs_decision *d = site->insn.entry->decision;
        site->cls = d->cls;
        site->reason = d->reason;
        site->error = d->error;
        if (d->cls != XS_REJECT && xs_site_in_exclusive(decoder, text, offset)) {
            refuse(site, XS_WHY_EXCLUSIVE, "EINVAL");
            by_word = false;
        }
    }
    if (ideal) {
        const xs_entry *right = &ideal->entries[xs_lookup(ideal, site->insn.word)];
        if (by_word) site->hazards = xs_hazards(decoder, &site->insn, right);
        site->hazards |= place_hazards(decoder, text, offset, site);
    }
    return XS_OK;
}

/* One word in many states: ours, theirs, compared each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep_internal.h"

/* ---- our memory ------------------------------------------------------------------------------ */

/* Our bytes of an access, or NULL: a refused one. Words and literals are the same bytes for both sides. */
static uint8_t *our_bytes(xs_lockstep *ls, uint64_t addr, size_t size, bool store)
{
    bool writable;
    uint8_t *bytes = xs_oracle_bytes(ls->o, addr, size, &writable);
    if (!bytes || (store && !writable)) return NULL;
    return writable ? ls->mine + (bytes - ls->o->data) : bytes;
}

/* Note what memory held: a reproducer has to bring it along. */
static void note(xs_lockstep *ls, uint64_t addr, size_t size, bool store)
{
    if (ls->touch_count == XS_TOUCHED) return;
    xs_touch *t = &ls->touched[ls->touch_count++];
    *t = (xs_touch){.addr = addr, .size = (uint32_t)size, .store = store};
    const uint8_t *whole = our_bytes(ls, addr, size, false);
    for (size_t i = 0; i < size && i < sizeof t->before; i++) {
        const uint8_t *at = whole ? whole + i : our_bytes(ls, addr + i, 1, false);
        if (at) t->before[i] = *at;
    }
}

static bool load(void *context, uint64_t addr, void *bytes, size_t size)
{
    xs_lockstep *ls = context;
    const uint8_t *at = our_bytes(ls, addr, size, false);
    note(ls, addr, size, false);
    memset(bytes, 0, size);
    if (at) memcpy(bytes, at, size);
    return at || ls->granting;
}

static bool store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    xs_lockstep *ls = context;
    uint8_t *at = our_bytes(ls, addr, size, true);
    note(ls, addr, size, true);
    ls->store_count++;
    memcpy(ls->wanted, bytes, size <= sizeof ls->wanted ? size : sizeof ls->wanted);
    if (at && !ls->granting) memcpy(at, bytes, size);
    return at || ls->granting;
}

/* ---- one state ------------------------------------------------------------------------------- */

void xs_simulate_ours(xs_lockstep *ls)
{
    ls->touch_count = ls->store_count = 0;
    ls->ours = ls->start;
    ls->status = xs_simulate(&ls->site, &ls->ours, &ls->bus, ls->quirks, &ls->fault);
    ls->arch->settle(&ls->ours);
}

static void count_difference(xs_lockstep *ls, const xs_check *check)
{
    ls->counts->differences++;
    if (ls->first && !ls->first->differs) *ls->first = *check;
}

/* Something is unusual: a store, a fault, a difference. true: both are in the same state. */
static bool look_closer(xs_lockstep *ls, xs_end end)
{
    xs_check check;
    if (end == XS_END_UNSUPPORTED && ls->status != XS_SIM_NO_HANDLER) {
        ls->unsupported = true;
        return true;
    }
    bool same = xs_compare(ls, end, &check);
    bool explained = xs_explained(ls, &check);
    if (same && ls->status != XS_SIM_OK) ls->counts->faults++;
    if (!same && explained) ls->counts->diverged++;
    if (!explained) count_difference(ls, &check);
    return same;
}

static bool ended(xs_oracle *o, xs_end end, void *context)
{
    xs_lockstep *ls = context;
    unsigned regs[XS_LIVE + 2];
    xs_simulate_ours(ls);
    bool usual = end == XS_END_LANDED && ls->status == XS_SIM_OK && !ls->store_count && !o->write_count,
         same = usual && memcmp(&ls->ours, &o->cpu, sizeof ls->ours) == 0;
    if (!same)
        same = look_closer(ls, end);
    else
        ls->quiet++;
    if (ls->unsupported) return false;
    ls->counts->checks++;
    if (!same) memcpy(o->data, ls->mine, XS_DATA); /* both start the next state with ours */
    if (--ls->left == 0) return false;
    ls->start = ls->ours;
    xs_reg_set(ls->arch, &ls->start, ls->arch->pc, ls->at);
    unsigned count = xs_state_next(ls, regs);
    if (same && ls->status == XS_SIM_OK) return xs_oracle_set_some(o, &ls->start, regs, count);
    return xs_oracle_set(o, &ls->start);
}

/* ---- one word -------------------------------------------------------------------------------- */

bool xs_put_word(xs_lockstep *ls, uint64_t at)
{
    uint8_t bytes[4] = {(uint8_t)ls->ran, (uint8_t)(ls->ran >> 8), (uint8_t)(ls->ran >> 16),
                        (uint8_t)(ls->ran >> 24)};
    return xs_oracle_code(ls->o, at, bytes, ls->size);
}

bool xs_place_word(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at)
{
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    xs_insn insn;
    ls->c = c;
    ls->word = word;
    ls->ran = xs_equal_word(ls, word);
    ls->at = at;
    ls->size = c->e->rule->width / 8;
    ls->unsupported = false;
    if (xs_decode(c->decoder, bytes, sizeof bytes, &insn) != XS_OK || insn.entry != c->e) return false;
    if (c->simulator) xs_site_prepare(c->simulator, &insn, &ls->site);
    return xs_put_word(ls, at);
}

/* Unicorn translates what it finds where it lands, and there are words at which it aborts. */
void xs_word_clear(xs_lockstep *ls)
{
    bool writable;
    uint8_t *bytes = xs_oracle_bytes(ls->o, ls->at, ls->size, &writable);
    if (bytes) memset(bytes, 0, ls->size);
    xs_literal_clear(ls);
}

/* After the last state: all of memory, also what nobody admits to have written. */
static void compare_all_memory(xs_lockstep *ls)
{
    xs_check check;
    if (ls->unsupported || memcmp(ls->mine, ls->o->data, XS_DATA) == 0) return;
    ls->o->write_count = 0;
    ls->o->writes_lost = true;
    xs_compare(ls, XS_END_LANDED, &check);
    if (!xs_explained(ls, &check)) count_difference(ls, &check);
}

/* Fresh memory, the same on both sides. */
void xs_fill_memory(xs_lockstep *ls)
{
    for (size_t i = 0; i < XS_DATA; i += 8) {
        uint64_t value = xs_rng_next(ls->rng);
        memcpy(ls->mine + i, &value, sizeof value);
    }
}

bool xs_lockstep_given(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at, xs_rng *r,
                       unsigned states, xs_counts *counts, xs_check *first)
{
    ls->rng = r;
    ls->left = states;
    ls->counts = counts;
    ls->first = first;
    ls->quiet = 0;
    uint64_t before = counts->checks;
    if (first) first->differs = 0;
    if (!xs_place_word(ls, c, word, at)) return false;
    counts->words++;
    xs_shape_find(ls);
    if (ls->shape.base >= 0) xs_fill_memory(ls);
    memcpy(ls->o->data, ls->mine, XS_DATA);
    xs_state_first(ls);
    if (!xs_oracle_set(ls->o, &ls->start) || !xs_oracle_run(ls->o, at, ended, ls)) return false;
    xs_word_clear(ls);
    counts->unsupported += ls->unsupported;
    counts->run_as += xs_equal_count(ls, counts->checks - before);
    xs_count_quiet(ls);
    compare_all_memory(ls);
    return true;
}

/* Mostly in the middle, from where every branch arrives; at a page's end; at the ends of what is mapped. */
uint64_t xs_lockstep_place(xs_lockstep *ls, xs_rng *r, unsigned size)
{
    uint64_t granule = xs_table_granule(ls->cases->table), random = xs_rng_next(r) >> 8,
             end = ls->o->code_at + ls->o->code_size;
    switch (xs_rng_below(r, 32)) {
    case 0: return ls->o->code_at + random % 64 / granule * granule;
    case 1: return end - size - random % 64 / granule * granule;
    case 2:
    case 3: return ls->window + (1 + random % 100) * XS_PAGE - granule * (1 + (random >> 16) % 2);
    default: return ls->window + random % ls->window_size / granule * granule;
    }
}

bool xs_lockstep_word(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number, unsigned states,
                      xs_counts *counts, xs_check *first)
{
    uint32_t word;
    xs_rng r = xs_rng_new(seed, c->e->rule->name, number);
    if (first) first->differs = 0;
    if (!xs_generate_word(c->decoder, c->entry, &r, &word)) {
        counts->ungenerated++;
        return true;
    }
    uint64_t at = xs_lockstep_place(ls, &r, c->e->rule->width / 8);
    return xs_lockstep_given(ls, c, word, at, &r, states, counts, first);
}

/* ---- a single check, as for a replay --------------------------------------------------------------- */

typedef struct one {
    xs_lockstep *ls;
    xs_check *check;
} one;

static bool one_ended(xs_oracle *o, xs_end end, void *context)
{
    one *w = context;
    (void)o;
    xs_simulate_ours(w->ls);
    xs_compare(w->ls, end, w->check);
    return false;
}

static void put_memory(xs_lockstep *ls, const xs_check *check)
{
    memset(ls->mine, 0, XS_DATA);
    for (unsigned i = 0; i < check->touch_count; i++)
        for (uint32_t k = 0; k < check->touched[i].size && k < 16; k++) {
            uint8_t *at = our_bytes(ls, check->touched[i].addr + k, 1, false);
            if (at) *at = check->touched[i].before[k];
        }
    memcpy(ls->o->data, ls->mine, XS_DATA);
}

bool xs_lockstep_one(xs_lockstep *ls, const xs_case *c, xs_check *check)
{
    one w = {ls, check};
    ls->start = check->start;
    xs_reg_set(ls->arch, &ls->start, ls->arch->pc, check->at);
    put_memory(ls, check); /* before the word, which it may overlap */
    if (!xs_place_word(ls, c, check->word, check->at)) return false;
    if (!xs_oracle_set(ls->o, &ls->start) || !xs_oracle_run(ls->o, ls->at, one_ended, &w)) return false;
    if (!(check->differs >> XS_FIELD_MEMORY & 1) && memcmp(ls->mine, ls->o->data, XS_DATA) != 0) {
        ls->o->writes_lost = true;
        xs_compare(ls, check->end, check);
    }
    xs_explained(ls, check);
    if (check->end == XS_END_UNSUPPORTED && check->status != XS_SIM_NO_HANDLER) check->differs = 0;
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* How far the branches (and literal loads) of these rules go. */
static uint64_t reach_of(const xs_cases *cases)
{
    size_t count;
    uint64_t reach = XS_PAGE;
    const xs_operand *operands = xs_table_operands(cases->table, &count);
    for (size_t i = 0; i < cases->count; i++) {
        const xs_rule *rule = cases->list[i].e->rule;
        const xs_piece *pieces = xs_table_pieces(cases->table, rule);
        for (size_t p = 0; p < rule->piece_count; p++) {
            uint64_t top = UINT64_C(1) << (pieces[p].to + pieces[p].len - 1);
            if (operands[pieces[p].operand].kind == XS_OPERAND_OFFSET && top > reach) reach = top;
        }
    }
    return reach;
}

/* The places for words, and code as far as they can branch to both sides. */
static xs_oracle *open_around(xs_lockstep *ls, const xs_place *place, bool plain, char *why, size_t size)
{
    uint64_t margin = (ls->reach + XS_PAGE - 1) / XS_PAGE * XS_PAGE, first = place->at / XS_PAGE * XS_PAGE,
             end = (place->at + place->size + XS_PAGE - 1) / XS_PAGE * XS_PAGE + margin,
             from = first > margin ? first - margin : XS_PAGE;
    ls->window = place->at;
    ls->window_size = place->size;
    if (ls->arch->width == 32 && end > ls->arch->data) end = ls->arch->data - XS_PAGE;
    return xs_oracle_open(ls->arch, from < first ? from : first, end - (from < first ? from : first), plain,
                          why, size);
}

xs_lockstep *xs_lockstep_open(const xs_cases *cases, xs_divergences *divergences, const xs_place *place,
                              bool plain, char *why, size_t size)
{
    const xs_place usual = {cases->arch->code, 1 << 19};
    xs_lockstep *ls = calloc(1, sizeof *ls);
    snprintf(why, size, "out of memory");
    if (!ls) return NULL;
    ls->cases = cases;
    ls->arch = cases->arch;
    ls->divergences = divergences;
    ls->reach = reach_of(cases);
    ls->bus = (xs_bus){.load = load, .store = store, .context = ls};
    ls->mine = calloc(1, XS_DATA);
    if (ls->mine) ls->o = open_around(ls, place ? place : &usual, plain, why, size);
    if (ls->o && xs_equal_open(ls, plain, why, size)) return ls;
    xs_lockstep_close(ls);
    return NULL;
}

void xs_lockstep_close(xs_lockstep *ls)
{
    if (!ls) return;
    if (ls->clean) uc_context_free(ls->clean);
    xs_oracle_close(ls->o);
    free(ls->mine);
    free(ls);
}

xs_oracle *xs_lockstep_oracle(xs_lockstep *ls)
{
    return ls->o;
}

void xs_lockstep_quirks(xs_lockstep *ls, uint32_t quirks)
{
    ls->quirks = quirks;
}

uint64_t xs_lockstep_plain(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number, unsigned states)
{
    uint32_t word;
    unsigned regs[XS_LIVE + 2];
    xs_rng r = xs_rng_new(seed, c->e->rule->name, number);
    if (!xs_generate_word(c->decoder, c->entry, &r, &word)) return 0;
    uint64_t at = xs_lockstep_place(ls, &r, c->e->rule->width / 8);
    ls->rng = &r;
    if (!xs_place_word(ls, c, word, at)) return 0;
    const uint8_t bytes[4] = {(uint8_t)ls->ran, (uint8_t)(ls->ran >> 8), (uint8_t)(ls->ran >> 16),
                              (uint8_t)(ls->ran >> 24)};
    xs_shape_find(ls);
    if (ls->shape.base >= 0) xs_fill_memory(ls);
    memcpy(ls->o->data, ls->mine, XS_DATA);
    xs_state_first(ls);
    for (unsigned i = 0; i < states; i++) {
        xs_oracle_plain(ls->o, at, bytes, ls->size, &ls->start);
        xs_simulate_ours(ls);
        ls->start = ls->ours;
        xs_reg_set(ls->arch, &ls->start, ls->arch->pc, at);
        xs_state_next(ls, regs);
    }
    return states;
}

/* Is a slot word position-independent? It is run at its own address and in a slot far away. */
#include <string.h>

#include "lockstep_internal.h"

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct run {
    xs_lockstep *ls;
    xs_effect *effect;
} run;

static bool run_ended(xs_oracle *o, xs_end end, void *context)
{
    run *r = context;
    r->effect->end = end;
    r->effect->cpu = o->cpu;
    r->effect->fault = end == XS_END_LOAD_FAULT || end == XS_END_STORE_FAULT ? o->fault : 0;
    return false;
}

/* Everything as at the start, system registers and the monitor of exclusive accesses too. */
static bool run_at(xs_lockstep *ls, uint64_t at, xs_effect *effect)
{
    run r = {ls, effect};
    memcpy(ls->o->data, ls->mine, XS_DATA);
    bool ok = uc_context_restore(ls->o->uc, ls->clean) == UC_ERR_OK && xs_oracle_set(ls->o, &ls->start) &&
              xs_oracle_set_more(ls->o, ls->more) && xs_oracle_run(ls->o, at, run_ended, &r);
    xs_oracle_more(ls->o, effect->more);
    memcpy(effect->data, ls->o->data, XS_DATA);
    return ok;
}

static bool same_effect(const xs_lockstep *ls, const xs_effect *a, uint64_t at_a, const xs_effect *b,
                        uint64_t at_b, xs_slot_check *check)
{
    const xs_oracle_arch *arch = ls->arch;
    check->end = a->end != b->end;
    check->fault = a->fault != b->fault;
    check->more = memcmp(a->more, b->more, sizeof a->more) != 0;
    check->memory = memcmp(a->data, b->data, sizeof a->data) != 0;
    check->pc = xs_address(arch, xs_reg_get(arch, &a->cpu, arch->pc) - at_a) !=
                xs_address(arch, xs_reg_get(arch, &b->cpu, arch->pc) - at_b);
    check->registers = 0;
    for (unsigned i = 0; i < arch->count; i++)
        if (i != arch->pc && xs_reg_get(arch, &a->cpu, i) != xs_reg_get(arch, &b->cpu, i))
            check->registers |= UINT64_C(1) << i;
    return !check->end && !check->fault && !check->more && !check->memory && !check->pc && !check->registers;
}

/* ---- one word -------------------------------------------------------------------------------- */

static bool place_both(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at, uint64_t *slot)
{
    *slot = xs_address(ls->arch, at + XS_SLOT_AWAY);
    uint64_t page = *slot / XS_PAGE * XS_PAGE;
    if (ls->o->slot && ls->o->slot_at != page) {
        if (uc_mem_unmap(ls->o->uc, ls->o->slot_at, XS_SLOT_ROOM) != UC_ERR_OK) return false;
        ls->o->slot = NULL;
    }
    if (!ls->o->slot && !xs_oracle_map_slot(ls->o, page)) return false;
    memset(ls->o->slot, 0xff, XS_SLOT_ROOM); /* around the slot are other words than around the instruction */
    if (!ls->clean && (uc_context_alloc(ls->o->uc, &ls->clean) != UC_ERR_OK ||
                       uc_context_save(ls->o->uc, ls->clean) != UC_ERR_OK))
        return false;
    return xs_place_word(ls, c, word, at) && xs_put_word(ls, *slot);
}

/* Which register an access starts from: where it fails when every register is somewhere else. */
static bool find_shape(xs_lockstep *ls)
{
    xs_shape_begin(ls);
    memset(ls->more, 0, sizeof ls->more);
    if (!run_at(ls, ls->at, &ls->slot.home)) return false;
    if (ls->slot.home.fault) xs_shape_access(ls, ls->slot.home.fault);
    return true;
}

/* Any register may matter: there are rules that do not name them. */
static void new_state(xs_lockstep *ls)
{
    for (unsigned i = 0; i < ls->arch->count; i++)
        if (i != ls->arch->pc) xs_reg_set(ls->arch, &ls->start, i, xs_state_value(ls, i));
    for (size_t i = 0; i < 32 * (size_t)ls->arch->more_bytes; i += 8) { /* control registers stay zero */
        uint64_t value = xs_generate_value(ls->rng);
        memcpy(ls->more + i, &value, sizeof value);
    }
    xs_fill_memory(ls);
}

/* Whatever the slot did to the pc, the kernel goes on behind the instruction (arch_uprobe_post_xol,
 * post_kprobe_handler): a jump is lost. */
static bool is_lost_jump(const xs_lockstep *ls, const xs_slot_check *k)
{
    uint64_t pc = xs_reg_get(ls->arch, &k->home.cpu, ls->arch->pc);
    return k->home.end == XS_END_LANDED && pc != xs_address(ls->arch, k->at + ls->size);
}

static bool check_slot(xs_lockstep *ls, xs_slot_check *k)
{
    k->word = ls->word;
    k->ran = ls->ran;
    k->at = ls->at;
    k->start = ls->start;
    if (!run_at(ls, k->at, &k->home) || !run_at(ls, k->slot, &k->away)) return false;
    k->differs = !same_effect(ls, &k->home, k->at, &k->away, k->slot, k);
    k->pc |= is_lost_jump(ls, k);
    k->differs |= k->pc;
    return true;
}

/* A difference proves something only if the instruction does the same twice where it belongs. */
static bool is_stable(xs_lockstep *ls, const xs_slot_check *k, bool *stable)
{
    static xs_effect again;
    xs_slot_check unused;
    if (!run_at(ls, k->at, &again)) return false;
    *stable = same_effect(ls, &k->home, k->at, &again, k->at, &unused);
    return true;
}

bool xs_slot_given(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at, xs_rng *r, unsigned states,
                   xs_slot_counts *counts, xs_slot_check *first)
{
    xs_slot_check *k = &ls->slot;
    uint64_t before = counts->checks;
    bool stable = true, ok = true;
    ls->rng = r;
    if (first) first->differs = false;
    if (!place_both(ls, c, word, at, &k->slot) || !find_shape(ls)) return false;
    counts->words++;
    for (unsigned i = 0; ok && stable && i < states; i++) {
        new_state(ls);
        ok = check_slot(ls, k);
        if (ok && k->home.end == XS_END_UNSUPPORTED && k->away.end == XS_END_UNSUPPORTED) {
            counts->unsupported++;
            break;
        }
        if (ok && k->differs) ok = is_stable(ls, k, &stable);
        counts->checks += stable;
        counts->unstable += !stable;
        counts->faults += stable && !k->differs && k->home.fault;
        counts->differences += stable && k->differs;
        if (first && !first->differs && stable && k->differs) *first = *k;
    }
    counts->run_as += xs_equal_count(ls, counts->checks - before);
    xs_word_clear(ls);
    return ok;
}

bool xs_slot_word(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number, unsigned states,
                  xs_slot_counts *counts, xs_slot_check *first)
{
    uint32_t word;
    xs_rng r = xs_rng_new(seed, c->e->rule->name, number);
    if (first) first->differs = false;
    if (!xs_generate_word(c->decoder, c->entry, &r, &word)) {
        counts->ungenerated++;
        return true;
    }
    uint64_t granule = xs_table_granule(ls->cases->table),
             at = ls->window + xs_rng_below(&r, XS_PAGE - 8) / granule * granule;
    return xs_slot_given(ls, c, word, at, &r, states, counts, first);
}

/* ---- replay, minimise -------------------------------------------------------------------------- */

bool xs_slot_one(xs_lockstep *ls, const xs_case *c, xs_slot_check *check)
{
    memset(ls->more, 0, sizeof ls->more);
    memset(ls->mine, 0, XS_DATA);
    if (!place_both(ls, c, check->word, check->at, &check->slot)) return false;
    ls->start = check->start;
    xs_reg_set(ls->arch, &ls->start, ls->arch->pc, check->at);
    bool ok = check_slot(ls, check), stable = true;
    if (ok && check->differs) ok = is_stable(ls, check, &stable);
    check->differs &= stable;
    xs_word_clear(ls);
    return ok;
}

static bool keep_if_differs(xs_lockstep *ls, const xs_case *c, xs_slot_check *check, uint32_t word,
                            const xs_any_cpu *start, bool *ok)
{
    static xs_slot_check trial;
    if (!*ok) return false;
    trial = *check;
    trial.word = word;
    trial.start = *start;
    *ok = xs_slot_one(ls, c, &trial);
    if (!*ok || !trial.differs) return false;
    *check = trial;
    return true;
}

bool xs_slot_minimise(xs_lockstep *ls, const xs_case *c, const xs_decoder *ideal, xs_slot_check *check)
{
    bool ok = true;
    if (!keep_if_differs(ls, c, check, check->word, &check->start, &ok)) return ok;
    for (unsigned i = 0; i < ls->arch->count; i++) {
        xs_any_cpu start = check->start;
        if (i == ls->arch->pc) continue;
        xs_reg_set(ls->arch, &start, i, 0);
        keep_if_differs(ls, c, check, check->word, &start, &ok);
    }
    for (unsigned bit = 0; bit < c->e->rule->width; bit++) {
        uint32_t word = check->word & ~(UINT32_C(1) << bit);
        if (ideal && xs_lookup(ideal, word) != xs_lookup(ideal, check->word)) continue;
        if (word != check->word && xs_case_has(c, word))
            keep_if_differs(ls, c, check, word, &check->start, &ok);
    }
    return ok;
}

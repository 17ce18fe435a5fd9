/* lockstep: a worker, one process with one engine. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"

static tally *tally_of(part *pt, unsigned number, size_t i)
{
    return &pt->tallies[number * pt->cases.count + i];
}

/* The rule by which ideal tells words of a region apart: "default" holds many instructions. */
static const xs_rule *told(const part *pt, uint32_t word)
{
    size_t count;
    return pt->view.ideal ? xs_decoder_entries(pt->view.ideal, &count)[xs_lookup(pt->view.ideal, word)].rule
                          : NULL;
}

bool tally_prove(const part *pt, tally *t, const xs_slot_check *k)
{
    for (unsigned i = 0; i < t->proof_count; i++)
        if (told(pt, t->proofs[i].word) == told(pt, k->word)) return false;
    if (t->proof_count == PROOFS) return false;
    t->proofs[t->proof_count++] = *k;
    return true;
}

/* The first failure of a rule is made as simple as it gets. */
static bool keep_check(xs_lockstep *ls, const xs_case *c, tally *t, bool ok, const xs_check *first)
{
    if (!ok || !first->differs || t->check.differs) return ok;
    t->check = *first;
    return xs_lockstep_minimise(ls, c, &t->check);
}

static bool keep_proof(part *pt, xs_lockstep *ls, const xs_case *c, tally *t, bool ok,
                       const xs_slot_check *first)
{
    if (!ok || !first->differs || !tally_prove(pt, t, first)) return ok;
    return xs_slot_minimise(ls, c, pt->view.ideal, &t->proofs[t->proof_count - 1]);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Word `number` of a rule. */
static bool check_word(part *pt, xs_lockstep *ls, size_t i, tally *t, uint64_t number)
{
    static xs_slot_check proof; /* too large for a stack */
    xs_check first;
    const plan *p = pt->p;
    const xs_case *c = &pt->cases.list[i];
    if (p->slots)
        return keep_proof(pt, ls, c, t, xs_slot_word(ls, c, p->seed, number, p->states, &t->slot, &proof),
                          &proof);
    return keep_check(ls, c, t, xs_lockstep_word(ls, c, p->seed, number, p->states, &t->counts, &first),
                      &first);
}

/* The same word by both patterns, each in its own engine, one after the other. */
static bool race_word(part *pt, xs_lockstep *ls, xs_lockstep *plain, size_t i, tally *t, uint64_t number)
{
    const plan *p = pt->p;
    uint64_t begun = cpu_ns();
    bool ok = check_word(pt, ls, i, t, number);
    uint64_t between = cpu_ns();
    t->plain_checks += xs_lockstep_plain(plain, &pt->cases.list[i], p->seed, number, p->states);
    t->plain_ns += cpu_ns() - between;
    t->ns += between - begun;
    return ok;
}

static bool run_generated(part *pt, xs_lockstep *ls, xs_lockstep *plain, unsigned number)
{
    const plan *p = pt->p;
    uint64_t words = part_words(pt), stride = (uint64_t)p->shards * pt->jobs;
    for (uint64_t n = p->shard - 1 + (uint64_t)number * p->shards; !words || n < words; n += stride)
        for (size_t i = 0; i < pt->cases.count; i++) {
            if (*pt->stop) return true;
            tally *t = tally_of(pt, number, i);
            if (!(plain ? race_word(pt, ls, plain, i, t, n) : check_word(pt, ls, i, t, n))) return false;
        }
    return true;
}

static size_t case_of(const part *pt, const xs_entry *e)
{
    for (size_t i = 0; i < pt->cases.count; i++)
        if (pt->cases.list[i].e == e) return i;
    return SIZE_MAX;
}

static bool check_site(part *pt, xs_lockstep *ls, size_t i, tally *t, uint32_t word, uint64_t addr)
{
    static xs_slot_check proof;
    xs_check first;
    const plan *p = pt->p;
    const xs_case *c = &pt->cases.list[i];
    xs_rng r = xs_rng_new(p->seed, c->e->rule->name, addr);
    if (p->slots)
        return keep_proof(pt, ls, c, t, xs_slot_given(ls, c, word, addr, &r, p->states, &t->slot, &proof),
                          &proof);
    return keep_check(ls, c, t, xs_lockstep_given(ls, c, word, addr, &r, p->states, &t->counts, &first),
                      &first);
}

static bool run_range(part *pt, xs_lockstep *ls, unsigned number, const xs_range *range, uint64_t addr,
                      uint64_t *site)
{
    const plan *p = pt->p;
    const xs_decoder *d = pt->cases.list[0].decoder;
    xs_insn insn;
    for (size_t at = 0; xs_decode(d, range->bytes + at, (size_t)range->size - at, &insn) == XS_OK;
         at += insn.size) {
        size_t i = case_of(pt, insn.entry);
        if (i == SIZE_MAX) continue;
        uint64_t n = (*site)++;
        if (*pt->stop) return true;
        if (n % p->shards != p->shard - 1 || n / p->shards % pt->jobs != number) continue;
        if (!check_site(pt, ls, i, tally_of(pt, number, i), insn.word, addr + at)) return false;
    }
    return true;
}

static bool run_file(part *pt, xs_lockstep *ls, unsigned number)
{
    uint64_t site = 0, next = pt->place.at;
    for (size_t i = 0; i < pt->image->range_count; i++) {
        const xs_range *r = &pt->image->ranges[i];
        if (!run_range(pt, ls, number, r, pt->image->relocatable ? next : r->addr, &site)) return false;
        next += part_room(r);
    }
    return true;
}

void worker_run(part *pt, unsigned number)
{
    worker *w = &pt->workers[number];
    const xs_place *place = pt->has_place ? &pt->place : NULL;
    xs_lockstep *ls = xs_lockstep_open(&pt->cases, &w->divergences, place, false, w->why, sizeof w->why),
                *plain = pt->p->plain ? xs_lockstep_open(&pt->cases, &w->divergences, place, true, w->why,
                                                         sizeof w->why)
                                      : NULL;
    if (!ls || (pt->p->plain && !plain)) return;
    *w->why = '\0';
    const char *wrong = xs_lockstep_selftest(ls);
    if (!wrong && !(pt->image ? run_file(pt, ls, number) : run_generated(pt, ls, plain, number)))
        wrong = uc_strerror(xs_lockstep_oracle(ls)->error);
    if (wrong) snprintf(w->why, sizeof w->why, "%s", wrong);
    w->done = !wrong;
    xs_lockstep_close(plain);
    xs_lockstep_close(ls);
}

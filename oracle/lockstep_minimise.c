/* From a check that fails to the simplest one that still does. */
#include "lockstep_internal.h"

enum { ROUNDS = 4 };

/* Try a change; keep it when the check still fails. */
static bool keep_if_fails(xs_lockstep *ls, const xs_case *c, xs_check *check, const xs_check *change,
                          bool *ok)
{
    xs_check trial = *change;
    if (!*ok) return false;
    *ok = xs_lockstep_one(ls, c, &trial);
    if (!*ok || !trial.differs) return false;
    *check = trial;
    return true;
}

static bool clear_word(xs_lockstep *ls, const xs_case *c, xs_check *check, bool *ok)
{
    bool progress = false;
    for (unsigned bit = 0; bit < c->e->rule->width; bit++) {
        xs_check change = *check;
        change.word &= ~(UINT32_C(1) << bit);
        if (change.word == check->word || !xs_case_has(c, change.word)) continue;
        progress |= keep_if_fails(ls, c, check, &change, ok);
    }
    return progress;
}

/* All of a register at once, else bit by bit from the top. */
static bool clear_register(xs_lockstep *ls, const xs_case *c, xs_check *check, unsigned reg, bool *ok)
{
    xs_check change = *check;
    uint64_t value = xs_reg_get(ls->arch, &check->start, reg);
    bool progress = false;
    if (value == 0) return false;
    xs_reg_set(ls->arch, &change.start, reg, 0);
    if (keep_if_fails(ls, c, check, &change, ok)) return true;
    for (int bit = 63; bit >= 0; bit--) {
        value = xs_reg_get(ls->arch, &check->start, reg);
        if (!(value >> bit & 1)) continue;
        change = *check;
        xs_reg_set(ls->arch, &change.start, reg, value & ~(UINT64_C(1) << bit));
        if (xs_reg_get(ls->arch, &change.start, reg) != value)
            progress |= keep_if_fails(ls, c, check, &change, ok);
    }
    return progress;
}

static bool clear_registers(xs_lockstep *ls, const xs_case *c, xs_check *check, bool *ok)
{
    bool progress = false;
    for (unsigned i = 0; i < ls->arch->count; i++)
        if (i != ls->arch->pc) progress |= clear_register(ls, c, check, i, ok);
    return progress;
}

static bool clear_memory(xs_lockstep *ls, const xs_case *c, xs_check *check, bool *ok)
{
    bool progress = false;
    for (unsigned i = 0; i < check->touch_count; i++)
        for (unsigned k = 0; i < check->touch_count && k < sizeof check->touched[i].before; k++) {
            xs_check change = *check;
            if (!check->touched[i].before[k]) continue;
            change.touched[i].before[k] = 0;
            progress |= keep_if_fails(ls, c, check, &change, ok);
        }
    return progress;
}

/* To the first of the places for words. */
static bool move_home(xs_lockstep *ls, const xs_case *c, xs_check *check, bool *ok)
{
    xs_check change = *check;
    change.at = ls->window;
    return check->at != change.at && keep_if_fails(ls, c, check, &change, ok);
}

bool xs_lockstep_minimise(xs_lockstep *ls, const xs_case *c, xs_check *check)
{
    bool ok = true, progress = true;
    xs_check again = *check;
    if (!xs_lockstep_one(ls, c, &again)) return false;
    if (!again.differs) return true; /* it takes more than this state: leave it as it was found */
    *check = again;
    for (unsigned i = 0; ok && progress && i < ROUNDS; i++) {
        progress = move_home(ls, c, check, &ok);
        progress |= clear_registers(ls, c, check, &ok);
        progress |= clear_word(ls, c, check, &ok);
        progress |= clear_memory(ls, c, check, &ok);
    }
    return ok;
}

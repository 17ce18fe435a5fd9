/* Do both sides agree, and if not, in what? */
#include <string.h>

#include "lockstep_internal.h"

/* ---- the parts ------------------------------------------------------------------------------- */

static void compare_registers(const xs_lockstep *ls, xs_check *check)
{
    const xs_oracle_arch *a = ls->arch;
    for (unsigned i = 0; i < a->count; i++) {
        if (xs_reg_get(a, &check->ours, i) == xs_reg_get(a, &check->theirs, i)) continue;
        check->registers |= UINT64_C(1) << i;
        check->differs |= i == a->pc ? 1u << XS_FIELD_PC : 1u << XS_FIELD_REGISTER;
    }
}

/* What is left of our state when the registers are taken from theirs is as it was. */
static void compare_rest(const xs_lockstep *ls, xs_check *check)
{
    xs_any_cpu expected = check->start;
    for (unsigned i = 0; i < ls->arch->count; i++)
        xs_reg_set(ls->arch, &expected, i, xs_reg_get(ls->arch, &check->ours, i));
    if (memcmp(&expected, &check->ours, sizeof expected) == 0) return;
    check->registers |= XS_REST;
    check->differs |= 1u << XS_FIELD_REGISTER;
}

/* A handler that fails has changed nothing, in registers or memory. */
static void compare_atomic(const xs_lockstep *ls, xs_check *check)
{
    bool changed = false, writable;
    if (check->status == XS_SIM_OK) return;
    for (unsigned i = 0; i < ls->arch->count; i++)
        changed |= xs_reg_get(ls->arch, &check->ours, i) != xs_reg_get(ls->arch, &check->start, i);
    for (unsigned i = 0; i < ls->touch_count; i++) {
        const xs_touch *t = &ls->touched[i];
        const uint8_t *at = t->store ? xs_oracle_bytes(ls->o, t->addr, t->size, &writable) : NULL;
        if (at && writable && t->size <= sizeof t->before)
            changed |= memcmp(ls->mine + (at - ls->o->data), t->before, t->size) != 0;
    }
    if (changed) check->differs |= 1u << XS_FIELD_ATOMIC;
}

static void compare_bytes(const xs_lockstep *ls, uint64_t addr, uint64_t size, xs_check *check)
{
    for (uint64_t i = 0; i < size; i++) {
        uint64_t at = xs_address(ls->arch, addr + i - ls->arch->data);
        if (at >= XS_DATA || ls->o->data[at] == ls->mine[at]) continue;
        if (!(check->differs >> XS_FIELD_MEMORY & 1)) {
            check->memory_at = ls->arch->data + at;
            check->memory_ours = ls->mine[at];
            check->memory_theirs = ls->o->data[at];
        }
        check->differs |= 1u << XS_FIELD_MEMORY;
    }
}

static void compare_memory(const xs_lockstep *ls, xs_check *check)
{
    for (unsigned i = 0; i < ls->touch_count; i++)
        if (ls->touched[i].store) compare_bytes(ls, ls->touched[i].addr, ls->touched[i].size, check);
    for (unsigned i = 0; i < ls->o->write_count; i++)
        compare_bytes(ls, ls->o->writes[i].addr, ls->o->writes[i].size, check);
    if (ls->o->writes_lost) compare_bytes(ls, ls->arch->data, XS_DATA, check);
}

/* Which of our statuses is which of their ends. */
static bool same_end(xs_sim_status status, xs_end end)
{
    switch (status) {
    case XS_SIM_OK: return end == XS_END_LANDED;
    case XS_SIM_LOAD_FAULT: return end == XS_END_LOAD_FAULT;
    case XS_SIM_STORE_FAULT: return end == XS_END_STORE_FAULT;
    case XS_SIM_NO_HANDLER: return end == XS_END_UNSUPPORTED;
    default: return false;
    }
}

static bool can_be_touched(const xs_lockstep *ls, uint64_t addr, bool store)
{
    bool writable;
    return xs_oracle_bytes(ls->o, addr, 1, &writable) && (writable || !store);
}

/* An access fails where its first byte that is not there is. Unicorn names the access, or, when that
 * crosses into another page, the part of it there: any byte between. */
static bool same_fault(const xs_lockstep *ls, const xs_check *check)
{
    uint64_t size = check->fault.size, first = 0,
             theirs = xs_address(ls->arch, check->their_fault - check->fault.addr);
    bool store = check->status == XS_SIM_STORE_FAULT;
    while (first < size && can_be_touched(ls, check->fault.addr + first, store))
        first++;
    return first < size && theirs <= first;
}

bool xs_compare(xs_lockstep *ls, xs_end end, xs_check *check)
{
    *check = (xs_check){.word = ls->word, .ran = ls->ran, .at = ls->at, .status = ls->status, .end = end};
    check->fault = ls->fault;
    check->start = ls->start;
    check->ours = ls->ours;
    check->theirs = ls->o->cpu;
    check->their_fault = ls->o->fault;
    check->touch_count = ls->touch_count;
    memcpy(check->touched, ls->touched, sizeof check->touched);
    bool faulted = end == XS_END_LOAD_FAULT || end == XS_END_STORE_FAULT;
    if (!same_end(check->status, end))
        check->differs |= 1u << XS_FIELD_END;
    else if (faulted && !same_fault(ls, check))
        check->differs |= 1u << XS_FIELD_FAULT;
    if (end != XS_END_UNSUPPORTED) compare_registers(ls, check); /* RISC-V: the pc is anywhere */
    compare_rest(ls, check);
    compare_atomic(ls, check);
    compare_memory(ls, check);
    return !check->differs;
}

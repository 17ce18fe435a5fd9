/* Any status but OK leaves cpu and memory as they were, to the byte: every line that is simulated, on random
 * states, with a bus that refuses its n-th request. */
#include <string.h>

#include "test_sim.h"

enum { STATES = 60 };

/* All addresses exist; what is read is made up, or the return address that a guarded control stack expects.
 */
typedef struct picky_bus {
    unsigned requests, refuse; /* refuse: the number of the request that is, from 1 on; 0: none */
    unsigned stores;
    uint64_t addr; /* of the last request */
    size_t size;
    uint64_t value;
} picky_bus;

static bool ask(picky_bus *b, uint64_t addr, size_t size)
{
    b->addr = addr;
    b->size = size;
    return ++b->requests != b->refuse;
}

static bool picky_load(void *context, uint64_t addr, void *bytes, size_t size)
{
    picky_bus *b = context;
    const uint64_t made_up[2] = {b->value, ~b->value};
    if (!ask(b, addr, size)) return false;
    memcpy(bytes, made_up, size);
    return true;
}

static bool picky_store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    picky_bus *b = context;
    (void)bytes;
    if (!ask(b, addr, size)) return false;
    b->stores++;
    return true;
}

static void random_arm(xs_arm64_cpu *cpu, rng *r)
{
    for (unsigned i = 0; i < 31; i++)
        cpu->x[i] = rng_value(r);
    cpu->sp = rng_value(r) & ~(rng_next(r) % 2 ? UINT64_C(15) : 0);
    cpu->pc = rng_value(r) & ~UINT64_C(3);
    cpu->gcspr = rng_value(r) & ~UINT64_C(7);
    cpu->nzcv = rng_next(r) & 0xf0000000;
    cpu->btype = rng_next(r) & 3;
    cpu->gcs = rng_next(r) & 1;
    cpu->sp_check = rng_next(r) & 1;
    cpu->guarded = rng_next(r) & 1;
}

static void random_riscv(xs_riscv_cpu *cpu, rng *r)
{
    bool narrow = cpu->xlen == 32;
    for (unsigned i = 1; i < 32; i++)
        cpu->x[i] = narrow ? (uint64_t)(int64_t)(int32_t)rng_value(r) : rng_value(r);
    cpu->pc = (narrow ? (uint32_t)rng_value(r) : rng_value(r)) & ~UINT64_C(1);
}

/* How often each status was seen, by architecture; and handlers of which a request was refused. */
typedef struct seen_statuses {
    rng r;
    unsigned arm[XS_SIM_COUNT], riscv[XS_SIM_COUNT];
} seen_statuses;

static void check_untouched(const sim_case *c, const picky_bus *b, const xs_entry *entry)
{
    if (memcmp(&c->before.cpu, &c->after.cpu, sizeof c->before.cpu) != 0)
        wrong("%s %08x: %s, and the cpu has changed", entry->rule->name, c->insn.word,
              xs_sim_status_name(c->status));
    if (b->stores != 0)
        wrong("%s %08x: %s, and memory has changed", entry->rule->name, c->insn.word,
              xs_sim_status_name(c->status));
    bool bus_fault = c->status == XS_SIM_LOAD_FAULT || c->status == XS_SIM_STORE_FAULT;
    if (bus_fault != (b->refuse && b->requests >= b->refuse) ||
        (bus_fault && (c->fault.addr != b->addr || c->fault.size != b->size)))
        wrong("%s %08x: %s at %llx/%u, but the bus refused %llx/%zu", entry->rule->name, c->insn.word,
              xs_sim_status_name(c->status), (unsigned long long)c->fault.addr, c->fault.size,
              (unsigned long long)b->addr, b->size);
}

static xs_sim_status run_picky(sim_case *c, picky_bus *b, const xs_entry *entry)
{
    xs_prepared site;
    xs_bus bus = {.load = picky_load, .store = picky_store, .context = b};
    xs_site_prepare(c->machine->simulator, &c->insn, &site);
    memcpy(&c->after, &c->before, sizeof c->after);
    memset(&c->fault, 0xff, sizeof c->fault);
    c->status = xs_simulate(&site, &c->after.cpu, &bus, 0, &c->fault);
    if (c->status != XS_SIM_OK)
        check_untouched(c, b, entry);
    else if (c->fault.addr || c->fault.size)
        wrong("%s %08x: ok, but there is a fault", entry->rule->name, c->insn.word);
    if (b->requests > 1) wrong("%s %08x: asks more than once", entry->rule->name, c->insn.word);
    return c->status;
}

static void check_entry(const sim_machine *m, const xs_entry *entry, void *arg)
{
    static sim_case c;
    seen_statuses *seen = arg;
    unsigned *counts = m->is_arm ? seen->arm : seen->riscv;
    for (unsigned i = 0; i < STATES; i++) {
        sim_case_init(&c, m, rng_word(&seen->r, entry->rule));
        if (c.insn.entry != entry) continue;
        if (m->is_arm)
            random_arm(&c.before.cpu.arm64, &seen->r);
        else
            random_riscv(&c.before.cpu.riscv, &seen->r);
        for (unsigned refuse = 0; refuse < 3; refuse++) {
            picky_bus b = {.refuse = refuse, .value = rng_value(&seen->r)};
            if (rng_next(&seen->r) % 2) b.value = c.before.cpu.arm64.x[30]; /* what ret returns to */
            counts[run_picky(&c, &b, entry)]++;
        }
    }
}

START_TEST(trouble_changes_nothing)
{
    static const char *const targets[] = {"arm64/6.12.y/kprobe", "arm64/7.3/kprobe", "arm64/stp-2024",
                                          "arm64/ideal",         "riscv64/7.3",      "riscv32/7.3",
                                          "riscv64-c/7.3",       "riscv64/ideal",    "riscv32/ideal"};
    seen_statuses seen = {.r = rng_new("faults")};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        each_simulated(machine_of(targets[i]), check_entry, &seen);
    all_right();
    for (int i = 0; i < XS_SIM_COUNT; i++) {
        bool arm = i != XS_SIM_PC && i != XS_SIM_STUCK && i != XS_SIM_NO_HANDLER;
        ck_assert_msg(!arm || seen.arm[i] > 0, "arm64: never %s", xs_sim_status_name((xs_sim_status)i));
    }
    ck_assert_uint_gt(seen.riscv[XS_SIM_PC], 0);
    ck_assert_uint_gt(seen.riscv[XS_SIM_NO_HANDLER], 0); /* branches that are none */
}
END_TEST

/* What has no handler changes nothing either. */
START_TEST(no_handler_changes_nothing)
{
    static sim_case c;
    rng r = rng_new("no handler");
    for (unsigned i = 0; i < 2000; i++) {
        const sim_machine *m = machine_of(i % 2 ? "arm64/7.3/uprobe" : "riscv64/7.3");
        sim_case_init(&c, m, rng_next(&r));
        if (c.insn.entry->decision->cls == XS_SIMULATE) continue;
        picky_bus b = {0};
        if (m->is_arm)
            random_arm(&c.before.cpu.arm64, &r);
        else
            random_riscv(&c.before.cpu.riscv, &r);
        ck_assert_int_eq(run_picky(&c, &b, c.insn.entry), XS_SIM_NO_HANDLER);
        ck_assert_uint_eq(b.requests, 0);
    }
    all_right();
}
END_TEST

void add_sim_faults(Suite *s)
{
    TCase *t = tcase_create("faults");
    tcase_add_test(t, trouble_changes_nothing);
    tcase_add_test(t, no_handler_changes_nothing);
    suite_add_tcase(s, t);
}

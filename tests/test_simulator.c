/* simulator/: from names in a table to handlers. The other simulator tests are in test_sim_*.c; the last test
 * here fails when a handler of either architecture was run by none of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "test_sim.h"

/* ---- what the tests share ------------------------------------------------------------------------ */

enum { MACHINES = 64, HANDLERS = 128 };
static struct {
    char target[64];
    sim_machine machine;
} machines[MACHINES];
static size_t machine_count;
static const xs_handler *seen[HANDLERS];
static size_t seen_count;

static void close_machines(void)
{
    while (machine_count > 0)
        sim_machine_close(&machines[--machine_count].machine);
}

const sim_machine *machine_of(const char *target)
{
    sim_why why;
    for (size_t i = 0; i < machine_count; i++)
        if (strcmp(machines[i].target, target) == 0) return &machines[i].machine;
    ck_assert(machine_count < MACHINES);
    if (machine_count == 0) atexit(close_machines);
    sim_machine *m = &machines[machine_count].machine;
    ck_assert_msg(sim_machine_open(m, decoder_of(target), &why), "%s: %s", target, why.text);
    snprintf(machines[machine_count++].target, sizeof machines->target, "%s", target);
    return m;
}

void exercised(const sim_machine *m, const xs_insn *insn)
{
    if (insn->entry->decision->cls != XS_SIMULATE) return;
    for (const xs_handler *h = m->arch->handlers; h->name; h++) {
        if (strcmp(h->name, insn->entry->decision->handler) != 0) continue;
        for (size_t i = 0; i < seen_count; i++)
            if (seen[i] == h) return;
        ck_assert(seen_count < HANDLERS);
        seen[seen_count++] = h;
    }
}

void sim_case_init(sim_case *c, const sim_machine *m, uint32_t word)
{
    memset(c, 0, sizeof *c);
    c->machine = m;
    c->insn = sim_decode(m, word);
    sim_state_init(&c->before, m);
    sim_memory_init(&c->memory, m);
}

void sim_case_set(sim_case *c, const char *name, uint64_t value)
{
    char text[24];
    sim_why why;
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    ck_assert_msg(sim_state_set(&c->before, name, text, &why), "%s", why.text);
}

/* RV32 registers are kept sign-extended, the pc zero-extended: the next comparison relies on it. */
static void check_narrow(const sim_case *c)
{
    const xs_riscv_cpu *cpu = &c->after.cpu.riscv;
    if (c->machine->xlen != 32) return;
    ck_assert_uint_le(cpu->pc, UINT32_MAX);
    for (unsigned i = 0; i < 32; i++)
        ck_assert_uint_eq(cpu->x[i], (uint64_t)(int64_t)(int32_t)cpu->x[i]);
}

void sim_case_run(sim_case *c)
{
    xs_prepared site;
    xs_bus bus = sim_memory_bus(&c->memory);
    xs_site_prepare(c->machine->simulator, &c->insn, &site);
    memcpy(&c->after, &c->before, sizeof c->after);
    c->status = xs_simulate(&site, &c->after.cpu, &bus, c->quirks, &c->fault);
    check_narrow(c);
    exercised(c->machine, &c->insn);
}

static size_t put_status(const sim_case *c, char *text, size_t size)
{
    const char *name = xs_sim_status_name(c->status);
    if (c->status == XS_SIM_OK) return 0;
    if (c->status == XS_SIM_NO_HANDLER)
        return (size_t)snprintf(text, size, " %s:%s", name, xs_class_name(c->insn.entry->decision->cls));
    if (c->fault.size)
        return (size_t)snprintf(text, size, " %s@0x%" PRIx64 "/%" PRIu32, name, c->fault.addr, c->fault.size);
    if (c->status == XS_SIM_STUCK) return (size_t)snprintf(text, size, " %s", name);
    return (size_t)snprintf(text, size, " %s@0x%" PRIx64, name, c->fault.addr);
}

void sim_case_text(const sim_case *c, char text[SIM_TEXT])
{
    size_t at = put_status(c, text, SIM_TEXT);
    at += (size_t)snprintf(text + at, SIM_TEXT - at, " pc=0x%" PRIx64, sim_pc(&c->after));
    for (size_t i = 0; i < sim_register_count(c->machine); i++) {
        char name[8];
        uint64_t value = sim_register(&c->after, i);
        if (value == sim_register(&c->before, i)) continue;
        sim_register_name(c->machine, i, name);
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " %s=0x%" PRIx64, name, value);
    }
    if (sim_btype(&c->after) != sim_btype(&c->before))
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " btype=%u", sim_btype(&c->after));
    if (sim_ss(&c->after) != sim_ss(&c->before))
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " ss=%u", sim_ss(&c->after));
    for (size_t i = 0; i < c->memory.writes; i++) {
        const sim_write *w = &c->memory.write[i];
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " [0x%" PRIx64 "]=", w->addr);
        for (size_t k = 0; k < w->size; k++)
            at += (size_t)snprintf(text + at, SIM_TEXT - at, "%02x", w->after[k]);
    }
}

void each_simulated(const sim_machine *m, entry_fn *fn, void *arg)
{
    size_t count;
    const xs_entry *entries = xs_decoder_entries(m->decoder, &count);
    for (size_t i = 0; i < count; i++)
        if (entries[i].decision->cls == XS_SIMULATE) fn(m, &entries[i], arg);
}

uint64_t rng_value(rng *r)
{
    static const uint64_t interesting[] = {
        0,          1,          2,           UINT64_MAX, UINT64_MAX - 1,   0x7fffffff,
        0x80000000, 0xffffffff, 0x100000000, INT64_MAX,  UINT64_C(1) << 63};
    uint64_t value = (uint64_t)rng_next(r) << 32 | rng_next(r);
    switch (rng_next(r) % 4) {
    case 0: return interesting[value % (sizeof interesting / sizeof *interesting)];
    case 1: return UINT64_C(1) << (value & 63);
    case 2: return value >> (value & 63);
    default: return value;
    }
}

uint32_t rng_word(rng *r, const xs_rule *rule)
{
    uint32_t word = rule->value | (rng_next(r) & ~rule->mask);
    return rule->width == 16 ? word & 0xffff : word;
}

/* ---- binding ------------------------------------------------------------------------------------- */

/* A small table whose only line is `line`, bound to AArch64's handlers. */
static xs_status bind(const char *line, char *why, size_t size)
{
    char text[1024];
    size_t findings;
    xs_diag diag = {0};
    xs_target target;
    xs_decoder *decoder;
    xs_simulator *simulator;
    int len =
        snprintf(text, sizeof text,
                 "%%arch a\n%%modes m\n%%kernels 1.0\n%%operand rd rn rt rt2 reg:x\n%%operand imm offset\n"
                 "%%operand simm signed\n%%operand sf link ret nz bit unsigned\n"
                 "%%handler simulate_b_bl simulate_nothing simulate_cbz_cbnz simulate_stp_push\n%s\n"
                 "rest -------------------------------- reject\n",
                 line);
    xs_table *table = xs_table_parse(text, (size_t)len, &diag, 1, &findings);
    ck_assert_msg(table != NULL, "%u:%u: %s", diag.line, diag.column, diag.message);
    ck_assert_int_eq(xs_target_parse(table, "a/1.0/m", &target, why, size), XS_OK);
    ck_assert_int_eq(xs_decoder_new(table, &target, &decoder), XS_OK);
    xs_status status = xs_simulator_new(decoder, &xs_arm64_arch, &simulator, why, size);
    ck_assert_int_eq(status == XS_OK, simulator != NULL);
    xs_simulator_free(simulator);
    xs_decoder_free(decoder);
    xs_table_free(table);
    return status;
}

static const struct {
    const char *line;
    xs_status status;
    const char *why;
} bindings[] = {
    {"b link=0 00101 imm[27:2] simulate simulate_b_bl", XS_OK, ""},
    {"b link=0 00101 imm[27:2] simulate simulate_nothing", XS_E_SYNTAX,
     "line 9: 'b' has no function 'simulate_nothing'"},
    {"b 000101 imm[27:2] simulate simulate_b_bl", XS_E_SYNTAX,
     "line 9: 'b' does not draw operand 'link', which simulate_b_bl reads"},
    {"b link=0 00101 simm[25:0] simulate simulate_b_bl", XS_E_SYNTAX,
     "line 9: 'b' does not draw operand 'imm', which simulate_b_bl reads"},
    {"z sf 011010 0 imm[20:2] rt[4:0] simulate simulate_cbz_cbnz", XS_E_SYNTAX,
     "line 9: 'z' does not draw operand 'nz', which simulate_cbz_cbnz reads"},
    {"p 10 1010011 0 simm[9:3] rt2[4:0] 11111 11101 simulate simulate_stp_push", XS_E_SYNTAX,
     "line 9: 'p' does not draw operand 'rt', which simulate_stp_push reads"},
    {"b link=0 00101 imm[27:2] slot", XS_OK, ""},
};

START_TEST(binding)
{
    char why[256];
    xs_status status = bind(bindings[_i].line, why, sizeof why);
    ck_assert_int_eq(status, bindings[_i].status);
    ck_assert_str_eq(why, bindings[_i].why);
    ck_assert_int_eq(bind(bindings[_i].line, NULL, 0), bindings[_i].status);
}
END_TEST

/* Every simulated line of every target has its function, and draws what that reads. */
static void bind_target(const xs_decoder *d, void *arg)
{
    sim_machine m;
    sim_why why;
    (void)arg;
    if (sim_machine_open(&m, d, &why))
        sim_machine_close(&m);
    else
        wrong("%s: %s", target_name(d), why.text);
}

START_TEST(all_targets_bind)
{
    each_target("arm64/*,arm64/stp-2024,arm64/ideal,riscv64/*,riscv64/ideal,riscv32/*,riscv32/ideal",
                bind_target, NULL);
    all_right();
}
END_TEST

/* Does the instruction do the same with all operands poisoned that its handler does not declare? */
static bool same_when_poisoned(sim_case *c, uint32_t needs)
{
    xs_prepared clean, poisoned;
    sim_state after;
    xs_fault fault;
    xs_bus bus = sim_memory_bus(&c->memory);
    xs_site_prepare(c->machine->simulator, &c->insn, &clean);
    poisoned = clean;
    for (unsigned k = 0; c->machine->arch->operands[k]; k++)
        if (!(needs >> k & 1)) poisoned.op[k] = clean.op[k] == 21 ? 22 : 21;
    memcpy(&c->after, &c->before, sizeof c->after);
    memcpy(&after, &c->before, sizeof after);
    xs_sim_status a = xs_simulate(&clean, &c->after.cpu, &bus, 0, &fault);
    c->memory.writes = 0;
    xs_sim_status b = xs_simulate(&poisoned, &after.cpu, &bus, 0, &fault);
    return a == b && memcmp(&c->after.cpu, &after.cpu, sizeof after.cpu) == 0;
}

/* adr and adrp share a handler: each of its lines draws one of two operands, and the other one is 0. */
static void check_needs(const sim_machine *m, const xs_entry *entry, void *arg)
{
    static sim_case c;
    static uint8_t stack[4096];
    rng *r = arg;
    const xs_handler *h = m->arch->handlers;
    while (strcmp(h->name, entry->decision->handler) != 0)
        h++;
    for (unsigned i = 0; i < 16 && strcmp(h->name, "simulate_adr_adrp") != 0; i++) {
        sim_case_init(&c, m, rng_word(r, entry->rule));
        if (c.insn.entry != entry) continue;
        sim_case_set(&c, "sp", 0x8000);
        c.memory.piece[c.memory.pieces++] = (sim_piece){0x7800, sizeof stack, stack};
        if (!same_when_poisoned(&c, h->needs))
            wrong("%s reads an operand that it does not declare: %s %08x", h->name, entry->rule->name,
                  c.insn.word);
    }
}

START_TEST(handlers_declare_what_they_read)
{
    static const char *const targets[] = {"arm64/7.3/kprobe", "arm64/stp-2024", "arm64/ideal",  "riscv64/7.3",
                                          "riscv32/7.3",      "riscv64/ideal",  "riscv32/ideal"};
    rng r = rng_new("needs");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        each_simulated(machine_of(targets[i]), check_needs, &r);
    all_right();
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(xs_sim_status_name(XS_SIM_OK), "ok");
    ck_assert_str_eq(xs_sim_status_name(XS_SIM_NO_HANDLER), "no-handler");
    ck_assert_str_eq(xs_sim_status_name(XS_SIM_COUNT), "?");
    ck_assert_str_eq(xs_sim_status_name((xs_sim_status)-1), "?");
    ck_assert_uint_ne(xs_quirk_bit(&xs_arm64_arch, "wide-literal"), 0);
    ck_assert_uint_eq(xs_quirk_bit(&xs_arm64_arch, "x0-stalls"), 0);
    ck_assert_uint_eq(xs_quirk_bit(&xs_riscv_arch, ""), 0);
    for (int i = 0; i < XS_SIM_COUNT; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(xs_sim_status_name((xs_sim_status)i), xs_sim_status_name((xs_sim_status)k));
}
END_TEST

START_TEST(every_handler_was_run)
{
    const xs_sim_arch *const archs[] = {&xs_arm64_arch, &xs_riscv_arch};
    for (size_t a = 0; a < 2; a++)
        for (const xs_handler *h = archs[a]->handlers; h->name; h++) {
            bool found = false;
            for (size_t i = 0; i < seen_count; i++)
                found |= seen[i] == h;
            if (!found) wrong("no case of fixtures/*/simulate.txt runs %s", h->name);
        }
    all_right();
}
END_TEST

Suite *simulator_suite(void)
{
    Suite *s = suite_create("simulator");
    add_sim_cases(s);
    TCase *t = tcase_create("handlers");
    tcase_add_test(t, every_handler_was_run); /* by the cases above: what comes below is random */
    tcase_add_loop_test(t, binding, 0, sizeof bindings / sizeof *bindings);
    tcase_add_test(t, all_targets_bind);
    tcase_add_test(t, handlers_declare_what_they_read);
    tcase_add_test(t, names);
    suite_add_tcase(s, t);
    add_sim_faults(s);
    add_sim_atomic(s);
    add_sim_kernel(s);
    add_sim_batch(s);
    return s;
}

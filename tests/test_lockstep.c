/* The oracle and the lockstep: first whether they would notice, then a seeded part of the real thing. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lockstep.h"
#include "tests.h"

/* ---- one engine at a time ------------------------------------------------------------------------ */

static xs_cases cases;
static xs_divergences divergences;
static xs_lockstep *ls;

static void open_with(const char *arch, const char *target, const char *rule, xs_class cls,
                      const xs_sim_arch *sim)
{
    char why[320], path[64];
    size_t len;
    xs_cases_wanted wanted = {.arch = arch, .target = target, .rule = rule, .cls = cls, .sim = sim};
    ck_assert_msg(xs_cases_open(builtin(arch), &wanted, &cases, why, sizeof why), "%s", why);
    snprintf(path, sizeof path, "fixtures/%s/divergences.txt",
             strcmp(arch, "arm64") == 0 ? "arm64" : "riscv");
    char *text = read_file(path, &len);
    ck_assert_msg(xs_divergences_parse(text, &divergences, why, sizeof why), "%s", why);
    free(text);
    ls = xs_lockstep_open(&cases, &divergences, NULL, false, why, sizeof why);
    ck_assert_msg(ls != NULL, "%s", why);
}

static void close_all(void)
{
    xs_lockstep_close(ls);
    xs_cases_close(&cases);
    ls = NULL;
}

static const char *const archs[] = {"arm64", "riscv64", "riscv32"};

/* ---- the oracle ---------------------------------------------------------------------------------- */

typedef struct seen {
    xs_end end;
    xs_any_cpu cpu;
    uint64_t fault, first_write;
    unsigned writes;
} seen;

static bool see(xs_oracle *o, xs_end end, void *context)
{
    seen *s = context;
    *s = (seen){end, o->cpu, o->fault, o->write_count ? o->writes[0].addr : 0, o->write_count};
    return false;
}

static seen run_word(uint32_t word, unsigned size, const xs_any_cpu *cpu)
{
    xs_oracle *o = xs_lockstep_oracle(ls);
    seen s = {0};
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    ck_assert(xs_oracle_code(o, o->arch->code, bytes, size));
    ck_assert(xs_oracle_set(o, cpu));
    ck_assert(xs_oracle_run(o, o->arch->code, see, &s));
    return s;
}

START_TEST(test_new_words)
{
    open_with(archs[_i], NULL, NULL, XS_SIMULATE, NULL);
    const char *bad = xs_lockstep_selftest(ls);
    ck_assert_msg(bad == NULL, "%s", bad);
    close_all();
}
END_TEST

/* Every register goes in and comes out: a nop changes the pc alone. */
START_TEST(test_registers)
{
    open_with(archs[_i], NULL, NULL, XS_SIMULATE, NULL);
    const xs_oracle_arch *a = cases.arch;
    xs_any_cpu cpu;
    a->reset(&cpu);
    for (unsigned i = 0; i < a->count; i++)
        xs_reg_set(a, &cpu, i, UINT64_C(0xf123456789abcdef) * (i + 1));
    seen s = run_word(_i == 0 ? 0xd503201f : 0x13, 4, &cpu);
    ck_assert_int_eq(s.end, XS_END_LANDED);
    for (unsigned i = 0; i < a->count; i++)
        if (xs_reg_get(a, &s.cpu, i) != (i == a->pc ? a->code + 4 : xs_reg_get(a, &cpu, i)))
            wrong("%s %s", a->name, a->regs[i].name);
    close_all();
    all_right();
}
END_TEST

/* ldr x1, [x2]; str x1, [x2]; ldr x1, [x2] where only code is; br x2; stp with its second half missing. */
START_TEST(test_faults)
{
    xs_any_cpu cpu;
    open_with("arm64", NULL, NULL, XS_SIMULATE, NULL);
    uint64_t nowhere = UINT64_C(0x123456789a8), end = cases.arch->data + XS_DATA;
    cases.arch->reset(&cpu);
    cpu.arm64.x[2] = nowhere;
    seen s = run_word(0xf9400041, 4, &cpu);
    ck_assert(s.end == XS_END_LOAD_FAULT && s.fault == nowhere && s.cpu.arm64.pc == cases.arch->code);
    s = run_word(0xf9000041, 4, &cpu);
    ck_assert(s.end == XS_END_STORE_FAULT && s.fault == nowhere && s.cpu.arm64.pc == cases.arch->code);
    s = run_word(0xd61f0040, 4, &cpu);
    ck_assert(s.end == XS_END_LANDED && s.cpu.arm64.pc == nowhere);
    cpu.arm64.x[2] = cases.arch->code;
    s = run_word(0xf9400041, 4, &cpu);
    ck_assert(s.end == XS_END_LANDED && s.cpu.arm64.x[1] == 0xf9400041);
    s = run_word(0xf9000041, 4, &cpu);
    ck_assert(s.end == XS_END_STORE_FAULT && s.fault == cases.arch->code);
    cpu.arm64.x[2] = end - 8;
    s = run_word(0xa9000440, 4, &cpu); /* stp x0, x1, [x2] */
    ck_assert(s.end == XS_END_STORE_FAULT && s.fault == end && s.writes == 2 && s.first_write == end - 8);
    close_all();
}
END_TEST

/* Unicorn writes about words it gives up on, to both. */
static void quiet(bool on)
{
    static int out, err;
    fflush(NULL);
    if (on) {
        out = dup(STDOUT_FILENO);
        err = dup(STDERR_FILENO);
        ck_assert(freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL);
        return;
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
}

/* A word at which Unicorn 2.0.1 calls abort(), one it cannot execute, a system call; and it goes on. */
START_TEST(test_survives)
{
    xs_any_cpu cpu;
    open_with("arm64", NULL, NULL, XS_SIMULATE, NULL);
    cases.arch->reset(&cpu);
    quiet(true);
    seen s = run_word(0x2ed63f03, 4, &cpu);
    quiet(false);
    ck_assert_int_eq(s.end, XS_END_UNSUPPORTED);
    ck_assert_int_eq(run_word(0xd503201f, 4, &cpu).end, XS_END_LANDED);
    ck_assert_int_eq(run_word(0, 4, &cpu).end, XS_END_UNSUPPORTED);
    ck_assert_int_eq(run_word(0xd4000001, 4, &cpu).end, XS_END_EXCEPTION); /* svc #0 */
    ck_assert_int_eq(run_word(0xd503201f, 4, &cpu).end, XS_END_LANDED);
    close_all();
    open_with("riscv64", NULL, NULL, XS_SIMULATE, NULL);
    cases.arch->reset(&cpu);
    ck_assert_int_eq(run_word(0, 2, &cpu).end, XS_END_UNSUPPORTED);
    ck_assert_int_eq(run_word(0x00100073, 4, &cpu).end, XS_END_EXCEPTION); /* ebreak */
    ck_assert_int_eq(run_word(0x13, 4, &cpu).end, XS_END_LANDED);
    close_all();
}
END_TEST

/* ---- the generator --------------------------------------------------------------------------------- */

START_TEST(test_generator)
{
    open_with(archs[_i], NULL, NULL, XS_SIMULATE, NULL);
    for (size_t i = 0; i < cases.count; i++) {
        const xs_case *c = &cases.list[i];
        uint32_t ones = 0, zeros = 0, word, again;
        for (uint64_t n = 0; n < 200; n++) {
            xs_rng r = xs_rng_new(seed, c->e->rule->name, n), same = r;
            ck_assert(xs_generate_word(c->decoder, c->entry, &r, &word));
            ck_assert(xs_generate_word(c->decoder, c->entry, &same, &again) && word == again);
            ck_assert_uint_eq(xs_lookup(c->decoder, word), c->entry);
            ones |= word;
            zeros |= ~word;
        }
        uint32_t both = ones & zeros & (c->e->rule->width == 16 ? 0xffff : UINT32_MAX);
        if ((both | c->e->rule->mask) != (c->e->rule->width == 16 ? 0xffff : UINT32_MAX))
            wrong("%s %s: bits %08x never change", c->target, c->e->rule->name, ~(both | c->e->rule->mask));
    }
    close_all();
    all_right();
}
END_TEST

/* ---- the simulator against Unicorn ------------------------------------------------------------------ */

static void describe(const xs_case *c, const xs_check *k)
{
    wrong("%s %s: word %08x at 0x%llx: %s, Unicorn %s, fields %x, registers %llx (XOLSIM_SEED=%llu)",
          c->target, c->e->rule->name, k->word, (unsigned long long)k->at, xs_sim_status_name(k->status),
          xs_end_name(k->end), k->differs, (unsigned long long)k->registers, (unsigned long long)seed);
}

/* Every simulate rule of every target. */
START_TEST(test_lockstep)
{
    uint64_t words = _i == 0 ? 60 : 40;
    open_with(archs[_i], NULL, NULL, XS_SIMULATE, NULL);
    for (size_t i = 0; i < cases.count; i++) {
        xs_counts counts = {0};
        xs_check first = {0}, found = {0};
        for (uint64_t n = 0; n < words; n++) {
            ck_assert(xs_lockstep_word(ls, &cases.list[i], seed, n, 64, &counts, &first));
            if (first.differs && !found.differs) found = first;
        }
        if (found.differs) describe(&cases.list[i], &found);
        if (counts.checks != 64 * words || counts.unsupported || counts.ungenerated)
            wrong("%s: %llu checks", cases.list[i].e->rule->name, (unsigned long long)counts.checks);
    }
    for (unsigned i = 0; i < divergences.run_as_count; i++)
        if (divergences.run_as[i].used == 0)
            wrong("%s: line %u was not needed", archs[_i], divergences.run_as[i].line);
    for (unsigned i = 0; i < divergences.count; i++)
        if (divergences.list[i].used == 0)
            wrong("%s: line %u was not needed", archs[_i], divergences.list[i].line);
    close_all();
    all_right();
}
END_TEST

/* ---- would it notice? -------------------------------------------------------------------------------- */

/* Handlers that are wrong in ways in which handlers have been wrong. op is the architecture's list. */
static const xs_sim_arch *right;
static xs_handler_fn *right_handler;

static xs_sim_status never_taken(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_any_cpu *state = cpu;
    uint64_t pc = state->arm64.pc;
    xs_sim_status status = right_handler(op, cpu, env);
    state->arm64.pc = pc + 4;
    return status;
}

static xs_sim_status advances_on_fault(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_arm64_cpu *state = cpu;
    xs_sim_status status = right_handler(op, cpu, env);
    if (status != XS_SIM_OK) state->pc += 4;
    return status;
}

static xs_sim_status eight_bytes(const int64_t *op, void *cpu, const xs_env *env)
{
    uint64_t more;
    xs_sim_status status = right_handler(op, cpu, env);
    (void)xs_env_load(env, ((xs_arm64_cpu *)cpu)->pc, &more, 8);
    ((xs_arm64_cpu *)cpu)->x[0] |= status == XS_SIM_OK ? UINT64_C(1) << 63 : 0;
    return status;
}

static xs_sim_status stores_one_byte_more(const int64_t *op, void *cpu, const xs_env *env)
{
    uint64_t sp = ((xs_arm64_cpu *)cpu)->sp;
    xs_sim_status status = right_handler(op, cpu, env);
    if (status == XS_SIM_OK) (void)xs_env_store(env, sp + 64, 0x55, 1);
    return status;
}

static xs_sim_status forgets_flags(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_arm64_cpu *state = cpu;
    uint32_t nzcv = state->nzcv;
    xs_sim_status status = right_handler(op, cpu, env);
    state->nzcv = nzcv;
    return status;
}

static xs_sim_status zero_extends(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_riscv_cpu *state = cpu;
    xs_sim_status status = right_handler(op, cpu, env);
    for (unsigned i = 1; i < 32; i++)
        if ((state->x[i] >> 31) == 0x1ffffffff) state->x[i] = (uint32_t)state->x[i];
    return status;
}

static xs_sim_status writes_x5(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_riscv_cpu *state = cpu;
    xs_sim_status status = right_handler(op, cpu, env);
    state->x[5] ^= state->pc == 0 ? 0 : 1;
    return status;
}

static xs_sim_status links_first(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_arm64_cpu *state = cpu;
    uint64_t lr = state->x[30];
    state->x[30] = state->pc + 4;
    xs_sim_status status = right_handler(op, cpu, env);
    if (status != XS_SIM_OK) state->x[30] = lr;
    return status;
}

static xs_sim_status writes_x0(const int64_t *op, void *cpu, const xs_env *env)
{
    xs_sim_status status = right_handler(op, cpu, env);
    ((xs_riscv_cpu *)cpu)->x[0] = 5;
    return status;
}

/* A refused pair whose first half has been stored, as Unicorn does it. */
static xs_sim_status stores_half(const int64_t *op, void *cpu, const xs_env *env)
{
    const xs_arm64_cpu before = *(xs_arm64_cpu *)cpu;
    xs_sim_status status = right_handler(op, cpu, env);
    if (status == XS_SIM_STORE_FAULT) {
        xs_fault fault = *env->fault;
        (void)xs_env_store(env, fault.addr, before.x[29], 8);
        *env->fault = fault;
    }
    return status;
}

static const struct {
    const char *arch, *target, *rule, *handler;
    xs_handler_fn *run;
} mutants[] = {
    {"arm64", "arm64/ideal", "cbz", "simulate_cbz_cbnz", never_taken},
    {"arm64", "arm64/ideal", "tbnz", "simulate_tbz_tbnz", never_taken},
    {"arm64", "arm64/ideal", "b.cond", "simulate_b_cond", never_taken},
    {"arm64", "arm64/ideal", "br", "simulate_br_blr", never_taken},
    {"arm64", "arm64/ideal", "ldr.lit", "simulate_ldr_literal", eight_bytes},
    {"arm64", "arm64/stp-2024", "stp.push.fp", "simulate_stp_fp_lr_sp_64b", advances_on_fault},
    {"arm64", "arm64/stp-2024", "stp.push.fp", "simulate_stp_fp_lr_sp_64b", stores_one_byte_more},
    {"arm64", "arm64/stp-2024", "stp.push.fp", "simulate_stp_fp_lr_sp_64b", stores_half},
    {"arm64", "arm64/ideal", "blr", "simulate_br_blr", links_first},
    {"riscv64", "riscv64/ideal", "jal", "simulate_jal", writes_x0},
    {"arm64", "arm64/ideal", "subs.imm", "simulate_subs_imm", forgets_flags},
    {"riscv64", "riscv64/ideal", "lw", "simulate_lw", zero_extends},
    {"riscv64", "riscv64/ideal", "jal", "simulate_jal", writes_x5},
};

/* The architecture with one handler replaced. */
static xs_sim_arch mutant_of(const char *handler, xs_handler_fn *run, xs_handler *room, size_t size)
{
    xs_sim_arch arch = *right;
    size_t i = 0;
    for (; right->handlers[i].name; i++) {
        ck_assert(i + 1 < size);
        room[i] = right->handlers[i];
        if (strcmp(room[i].name, handler) != 0) continue;
        right_handler = room[i].run;
        room[i].run = run;
    }
    room[i] = right->handlers[i];
    arch.handlers = room;
    return arch;
}

static unsigned nonzero(const xs_any_cpu *cpu)
{
    unsigned count = 0;
    for (unsigned i = 0; i < cases.arch->count; i++)
        count += i != cases.arch->pc && xs_reg_get(cases.arch, cpu, i) != 0;
    return count;
}

/* It is noticed; the reproducer is simple; and it fails again. */
START_TEST(test_mutant)
{
    xs_handler room[80];
    xs_counts counts = {0};
    xs_check first = {0};
    right = strcmp(mutants[_i].arch, "arm64") == 0 ? &xs_arm64_arch : &xs_riscv_arch;
    xs_sim_arch arch = mutant_of(mutants[_i].handler, mutants[_i].run, room, sizeof room / sizeof *room);
    open_with(mutants[_i].arch, mutants[_i].target, mutants[_i].rule, XS_SIMULATE, &arch);
    for (uint64_t n = 0; n < 50 && !first.differs; n++)
        ck_assert(xs_lockstep_word(ls, &cases.list[0], seed, n, 64, &counts, &first));
    ck_assert_msg(first.differs != 0, "%s %s is not noticed", mutants[_i].rule, mutants[_i].handler);
    ck_assert(xs_lockstep_minimise(ls, &cases.list[0], &first));
    ck_assert_msg(first.differs != 0 && nonzero(&first.start) <= 2, "%s: %u registers are not zero",
                  mutants[_i].rule, nonzero(&first.start));
    xs_check again = {
        .word = first.word, .at = first.at, .start = first.start, .touch_count = first.touch_count};
    memcpy(again.touched, first.touched, sizeof again.touched);
    ck_assert(xs_lockstep_one(ls, &cases.list[0], &again));
    ck_assert_uint_eq(again.differs, first.differs);
    close_all();
}
END_TEST

/* ---- divergences --------------------------------------------------------------------------------------- */

START_TEST(test_divergences)
{
    char why[160];
    xs_divergences d;
    ck_assert(xs_divergences_parse("# remark\n\nldr memory right other \"why\"\n0x1234 pc right other \"x\"",
                                   &d, why, sizeof why));
    ck_assert(d.count == 2 && strcmp(d.list[0].rule, "ldr") == 0 && d.list[1].word == 0x1234 &&
              d.list[1].line == 4);
    static const char *const bad[] = {"ldr",
                                      "ldr memory a b",
                                      "ldr memory a b \"why",
                                      "ldr colour a b \"why\"",
                                      "ldr pc a b \"why\" more",
                                      "ldr runs-as \"why\"",
                                      "ldr runs-as str \"why\" more",
                                      "ldr not-run \"why\"",
                                      "ldr not-run \"why\" \"sound\" more"};
    ck_assert(xs_divergences_parse("a runs-as b \"x\"\nc not-run \"y\" \"z\"", &d, why, sizeof why));
    ck_assert(d.count == 0 && d.run_as_count == 1 && d.not_run_count == 1 && d.not_run[0].line == 2);
    ck_assert_str_eq(d.run_as[0].as, "b");
    ck_assert_str_eq(d.not_run[0].sound, "z");
    ck_assert(xs_divergences_parse("\na taken-for b \"x y\"", &d, why, sizeof why));
    ck_assert(d.taken_for_count == 1 && d.taken_for[0].line == 2 && d.not_run_count == 0);
    ck_assert_str_eq(d.taken_for[0].reason, "x y");
    ck_assert(!xs_divergences_parse("a taken-for b", &d, why, sizeof why));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (xs_divergences_parse(bad[i], &d, why, sizeof why) || !strstr(why, "line 1"))
            wrong("'%s'", bad[i]);
    ck_assert(!xs_divergence_stale(XS_DIVERGENCE_ENOUGH - 1, 0));
    ck_assert(xs_divergence_stale(XS_DIVERGENCE_ENOUGH, 0));
    ck_assert(!xs_divergence_stale(XS_DIVERGENCE_ENOUGH, 1));
    all_right();
}
END_TEST

/* Without the list, a store across the end of a page is a difference. */
START_TEST(test_divergence_needed)
{
    xs_counts counts = {0};
    open_with("arm64", "arm64/stp-2024", "stp.push.fp", XS_SIMULATE, NULL);
    for (uint64_t n = 0; n < 30; n++)
        ck_assert(xs_lockstep_word(ls, &cases.list[0], seed, n, 64, &counts, NULL));
    ck_assert(counts.diverged > 0 && counts.differences == 0);
    divergences.count = 0;
    for (uint64_t n = 0; n < 30; n++)
        ck_assert(xs_lockstep_word(ls, &cases.list[0], seed, n, 64, &counts, NULL));
    ck_assert(counts.differences > 0);
    close_all();
}
END_TEST

/* ---- what Unicorn does not know ---------------------------------------------------------------------------
 */

/* A list of our own in place of the committed one. */
static bool open_list(const char *list, char *why, size_t size)
{
    const xs_cases_wanted wanted = {.target = "arm64/ideal", .rule = "bc.cond", .cls = XS_SIMULATE};
    ck_assert(xs_cases_open(builtin("arm64"), &wanted, &cases, why, size));
    ck_assert(xs_divergences_parse(list, &divergences, why, size));
    ls = xs_lockstep_open(&cases, &divergences, NULL, false, why, size);
    return ls != NULL;
}

static xs_counts count_bc_cond(const char *list)
{
    char why[320];
    xs_counts counts = {0};
    ck_assert_msg(open_list(list, why, sizeof why), "%s", why);
    for (uint64_t n = 0; n < 20; n++)
        ck_assert(xs_lockstep_word(ls, &cases.list[0], seed, n, 64, &counts, NULL));
    close_all();
    return counts;
}

/* Run as b.cond it is checked; without the line it is not; as another condition's branch it would differ; and
 * what Unicorn knows runs as itself, so that the line is stale. */
START_TEST(test_run_as)
{
    char why[320];
    xs_counts counts = count_bc_cond("bc.cond runs-as b.cond \"x\"");
    ck_assert(counts.checks == 20 * 64 && counts.run_as == counts.checks && counts.differences == 0);
    ck_assert(divergences.run_as[0].used == counts.checks);
    counts = count_bc_cond("");
    ck_assert(counts.checks == 0 && counts.unsupported == 20 && counts.run_as == 0);
    static const char *const senseless[] = {"bc.cond runs-as cbz \"x\"", "bc.cond runs-as nothing \"x\""};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        ck_assert(!open_list(senseless[i], why, sizeof why) && strstr(why, "line 1"));
        close_all();
    }
    open_with("arm64", "arm64/ideal", "b.cond", XS_SIMULATE, NULL);
    xs_lockstep_close(ls);
    ck_assert(xs_divergences_parse("b.cond runs-as bc.cond \"x\"", &divergences, why, sizeof why));
    ls = xs_lockstep_open(&cases, &divergences, NULL, false, why, sizeof why);
    counts = (xs_counts){0};
    ck_assert(ls && xs_lockstep_word(ls, &cases.list[0], seed, 0, 64, &counts, NULL));
    ck_assert(counts.checks == 64 && counts.run_as == 0 && divergences.run_as[0].tested == 64 &&
              divergences.run_as[0].used == 0);
    close_all();
}
END_TEST

/* bc.al 8 for which 6.12 has a slot: the kernel goes on behind it. */
START_TEST(test_run_as_slot)
{
    static xs_slot_check first;
    xs_slot_counts counts = {0};
    xs_rng r = xs_rng_new(seed, "bc", 0);
    open_with("arm64", "arm64/6.12", "br_sys_other", XS_SLOT, NULL);
    ck_assert(xs_slot_given(ls, &cases.list[0], 0x5400005e, cases.arch->code, &r, 4, &counts, &first));
    ck_assert(counts.checks == 4 && counts.run_as == 4 && counts.differences == 4);
    ck_assert(first.differs && first.pc && first.word == 0x5400005e && first.ran == 0x5400004e);
    close_all();
}
END_TEST

/* ---- slots ----------------------------------------------------------------------------------------------
 */

static bool is_not_run(const char *rule)
{
    for (unsigned i = 0; i < divergences.not_run_count; i++)
        if (strcmp(divergences.not_run[i].rule, rule) == 0) return true;
    return false;
}

/* A few words in a few states; more words until one of them runs. */
static void check_slot_rule(const char *target, const xs_case *c)
{
    static xs_slot_check first;
    xs_slot_counts counts = {0};
    const char *rule = c->e->rule->name;
    bool listed = is_not_run(rule);
    uint64_t enough = listed ? 50 : 4 * XS_NOT_RUN_ENOUGH;
    for (uint64_t n = 0; n < 12 || (n < enough && counts.checks == 0); n++) {
        ck_assert(xs_slot_word(ls, c, seed, n, 4, &counts, &first));
        if (first.differs) wrong("%s %s: word %08x", target, rule, first.word);
    }
    if (listed && counts.checks) wrong("%s %s is listed as not-run, and runs", target, rule);
    if (!listed && !counts.checks) wrong("%s %s: no word of it runs, and it is not listed", target, rule);
}

static void check_slots(const char *arch, const char *target)
{
    open_with(arch, target, NULL, XS_SLOT, NULL);
    for (size_t i = 0; i < cases.count; i++)
        check_slot_rule(target, &cases.list[i]);
    close_all();
}

static bool has_case(const char *rule)
{
    for (size_t i = 0; i < cases.count; i++)
        if (strcmp(cases.list[i].e->rule->name, rule) == 0) return true;
    return false;
}

/* What Unicorn does with words of the first rule shows that it takes them for the second: they run, and as
 * that is the same at any address, so are they. */
static void check_taken_for(const xs_taken_for *line)
{
    static xs_slot_check first;
    xs_slot_counts counts = {0};
    size_t count, n = 0;
    const xs_rule *rules = xs_table_rules(cases.table, &count);
    while (n < count && strcmp(rules[n].name, line->rule) != 0)
        n++;
    ck_assert_msg(n < count, "line %u: no rule %s", line->line, line->rule);
    for (uint64_t i = 0; i < 40; i++) {
        xs_rng r = xs_rng_new(seed, line->rule, i);
        uint32_t word = xs_generate_from_rule(cases.table, &rules[n], &r);
        ck_assert(xs_slot_given(ls, &cases.list[0], word, cases.arch->code, &r, 4, &counts, &first));
    }
    if (counts.checks < 100 || counts.differences || counts.unsupported)
        wrong("line %u is not needed: %s runs as what it is, or not at all", line->line, line->rule);
}

START_TEST(test_taken_for_lines)
{
    open_with("riscv64", "riscv64+zcmp+zcmt/7.3", "c.fsdsp", XS_SLOT, NULL);
    ck_assert_uint_gt(divergences.taken_for_count, 0);
    for (unsigned i = 0; i < divergences.taken_for_count; i++) {
        ck_assert_str_eq(divergences.taken_for[i].as, "c.fsdsp");
        check_taken_for(&divergences.taken_for[i]);
    }
    close_all();
    all_right();
}
END_TEST

/* Each line is about a slot rule of ideal: of riscv64, which has all of them. */
START_TEST(test_not_run_lines)
{
    for (size_t a = 0; a < 2; a++) {
        open_with(archs[a], a == 0 ? "arm64/ideal" : "riscv64/ideal", NULL, XS_SLOT, NULL);
        for (unsigned i = 0; i < divergences.not_run_count; i++)
            if (!has_case(divergences.not_run[i].rule))
                wrong("%s line %u: ideal has no slot rule %s", archs[a], divergences.not_run[i].line,
                      divergences.not_run[i].rule);
        close_all();
    }
    all_right();
}
END_TEST

START_TEST(test_slots_ideal)
{
    quiet(true);
    check_slots("arm64", "arm64/ideal");
    check_slots("riscv64", "riscv64/ideal");
    check_slots("riscv32", "riscv32/ideal");
    quiet(false);
    all_right();
}
END_TEST

/* At the end of a page: what comes next is in another one, and a long instruction may lie in both. */
START_TEST(test_slots_page_end)
{
    static const struct {
        const char *arch, *target, *rule;
        uint32_t word;
    } words[] = {{"arm64", "arm64/7.3", "default", 0x8b000000},
                 {"riscv64", "riscv64/7.3", "andi", 0x00007013},
                 {"riscv64", "riscv64/7.3", "c.addiw", 0x2401},
                 {"riscv32", "riscv32/7.3", "andi", 0x00007013}};
    static xs_slot_check first;
    xs_rng r = xs_rng_new(seed, "page end", 0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        open_with(words[i].arch, words[i].target, words[i].rule, XS_SLOT, NULL);
        uint64_t granule = xs_table_granule(cases.table);
        for (uint64_t before = granule; before <= 8; before += granule) {
            xs_slot_counts counts = {0};
            ck_assert(xs_slot_given(ls, &cases.list[0], words[i].word, cases.arch->code + XS_PAGE - before,
                                    &r, 4, &counts, &first));
            if (first.differs || counts.checks != 4)
                wrong("%s: %08x, %d bytes before the page ends", words[i].target, words[i].word, (int)before);
        }
        close_all();
    }
    all_right();
}
END_TEST

/* ldr s0, .+32; ldr q0, .+32: what they read is somewhere else. add x0, x0, x0 is the same everywhere. */
START_TEST(test_slots_kernel)
{
    static xs_slot_check first;
    static const struct {
        uint32_t word;
        bool differs;
    } words[] = {{0x1c000100, true}, {0x9c000100, true}, {0x8b000000, false}, {0xf9400041, false}};
    xs_rng r = xs_rng_new(seed, "slots", 0);
    open_with("arm64", "arm64/7.3", "default", XS_SLOT, NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        xs_slot_counts counts = {0};
        ck_assert(
            xs_slot_given(ls, &cases.list[0], words[i].word, cases.arch->code + 64, &r, 8, &counts, &first));
        ck_assert_int_eq(first.differs, words[i].differs);
        if (first.differs) {
            ck_assert(xs_slot_minimise(ls, &cases.list[0], NULL, &first));
            ck_assert(first.differs && nonzero(&first.start) == 0);
        }
    }
    close_all();
}
END_TEST

/* ---- the program ------------------------------------------------------------------------------------------
 */

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char command[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/xolsim-lockstep-XXXXXX");
    ck_assert(mkdtemp(folder) != NULL);
}

static void drop_folder(void)
{
    ck_assert_int_eq(shell("rm -rf %s", folder), 0);
}

#define RUN XOLSIM_PROGRAM " lockstep "

static char *output_text(const char *name)
{
    char path[128];
    size_t len;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_file(path, &len);
}

static void check_text(const char *name, const char *part)
{
    char *text = output_text(name);
    if (!strstr(text, part)) wrong("%s has no '%s': %.400s", name, part, text);
    free(text);
}

static void shard(const char *options, const char *name)
{
    int status =
        shell(RUN "--arch riscv64 --rule jal --states 16 --jobs 1 --format json %s -o %s/%s 2>%s/err",
              options, folder, name, folder);
    if (status != 0) wrong("lockstep %s: exit %d", options, status);
}

static void refused(const char *reports, const char *why)
{
    int status =
        shell("list=; for r in %s; do list=\"$list %s/$r\"; done; " RUN "merge $list >%s/out 2>%s/err",
              reports, folder, folder, folder);
    if (status != 3) wrong("merge %s: exit %d", reports, status);
    check_text("err", why);
}

START_TEST(test_merge)
{
    make_folder();
    shard("--seed 5 --count 960 --shard 1/3", "1");
    shard("--seed 5 --count 960 --shard 2/3", "2");
    shard("--seed 5 --count 960 --shard 3/3", "3");
    shard("--seed 6 --count 960 --shard 3/3", "seed");
    shard("--seed 5 --count 480 --shard 3/3", "count");
    shard("--seed 5 --count 960 --shard 3/4", "of");
    shard("--seed 5 --count 960", "whole");
    ck_assert_int_eq(shell("sed 's/\"version\": \"[^\"]*/&x/' %s/3 > %s/version", folder, folder), 0);
    ck_assert_int_eq(
        shell("sed 's/\"file_sum\": *null/\"file_sum\": \"0x1\"/' %s/3 > %s/sum", folder, folder), 0);
    ck_assert_int_eq(shell("sed 's/\"checks\": *[0-9]*/\"checks\": -5/' %s/3 > %s/negative", folder, folder),
                     0);
    ck_assert_int_eq(
        shell(RUN "merge %s/3 %s/1 %s/2 --format json -o %s/merged", folder, folder, folder, folder), 0);
    check_text("merged", "\"checks\": 960");
    check_text("whole", "\"checks\": 960");
    refused("1 2", "shard 3/3 is missing");
    refused("1 2 2", "the same shard as");
    refused("1 2 seed", "its seed is different");
    refused("1 2 count", "its count is different");
    refused("1 2 of", "its number of shards is different");
    refused("1 2 version", "its version is different");
    refused("1 2 sum", "its file_sum is different");
    refused("1 2 negative", "not a report");
    refused("merged", "not a report");
    refused("nothing", "nothing: No such file or directory");
    refused("err", "not a report");
    drop_folder();
    all_right();
}
END_TEST

START_TEST(test_usage)
{
    static const char *const bad[] = {"--arch mips",
                                      "--rule nothing",
                                      "--shard 0/3",
                                      "--shard 4/3",
                                      "--shard 3",
                                      "--count 0",
                                      "--time x",
                                      "--class reject",
                                      "--word 0x1",
                                      "--target arm64/ideal --word 0x00000000",
                                      "--plain --slots",
                                      "--slots --class simulate --arch arm64",
                                      "--arch arm64 --rule b --count 1 --sp 16",
                                      "--arch arm64 --rule b --count 1 --reg x0=1",
                                      "--arch arm64 --rule b --count 1 --mem 0:00",
                                      "--arch arm64 --kernel 6.1",
                                      "--target arm64/ideal --word 0x14000000 --reg y=1",
                                      "merge"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = shell(RUN "%s >/dev/null 2>&1", bad[i]);
        if (status != 2) wrong("%s: exit %d", bad[i], status);
    }
    ck_assert_int_eq(shell(RUN "--file fixtures/cli/bad.decode >/dev/null 2>&1"), 3);
    ck_assert_int_eq(shell(RUN "--divergences /nonexistent >/dev/null 2>&1"), 3);
    all_right();
}
END_TEST

/* A failure's command does it again. An empty list of divergences makes one; a line nobody needs fails too.
 */
START_TEST(test_replay)
{
    make_folder();
    ck_assert_int_eq(
        shell(RUN "--target arm64/stp-2024 --rule stp.push.fp --seed 1 --count 20000 --divergences /dev/null"
                  " -o %s/out 2>/dev/null",
              folder),
        1);
    check_text("out", "  differs ");
    ck_assert_int_eq(
        shell("cd %s && sed -n 's/^  again   xolsim \\(.*\\)/\\1/p' out | head -1 > again", folder), 0);
    ck_assert_int_eq(shell("xargs " XOLSIM_PROGRAM " < %s/again > %s/replayed", folder, folder),
                     123); /* xargs: a command has failed */
    ck_assert_int_eq(shell("sed 's|--divergences /dev/null||' %s/again | xargs " XOLSIM_PROGRAM
                           " > %s/explained",
                           folder, folder),
                     0);
    check_text("replayed", "  differs ");
    ck_assert_int_eq(
        shell("printf 'b pc right other \"no\"\\n' > %s/list; " RUN
              "--target arm64/ideal --rule b --count 4000 --divergences %s/list > %s/stale 2>/dev/null",
              folder, folder, folder),
        1);
    check_text("stale", "line 1 is no longer needed");
    drop_folder();
    all_right();
}
END_TEST

/* Rules that have not run need a line, and lines rules that do not run; merged shards too. */
START_TEST(test_not_run)
{
    make_folder();
    ck_assert_int_eq(
        shell(RUN "--slots --arch riscv64 --rule hlv --count 16000 --seed 1 > %s/out 2>/dev/null", folder),
        0);
    check_text("out", "sound by the architecture");
    check_text("out", "0 without a check");
    ck_assert_int_eq(shell(RUN
                           "--slots --arch riscv64 --rule hlv --count 16000 --seed 1 --divergences /dev/null"
                           " > %s/out 2>/dev/null",
                           folder),
                     1);
    check_text("out", "hlv has not run");
    ck_assert_int_eq(
        shell("echo 'andi not-run \"x\" \"y\"' > %s/list; " RUN
              "--slots --arch riscv64 --rule andi --count 160 --divergences %s/list > %s/out 2>/dev/null",
              folder, folder, folder),
        1);
    check_text("out", "andi runs");
    for (int i = 1; i <= 2; i++)
        ck_assert_int_eq(shell(RUN "--slots --arch riscv64 --rule hlv --count 16000 --seed 1 --divergences "
                                   "/dev/null --shard %d/2 --format json -o %s/shard%d 2>/dev/null",
                               i, folder, i),
                         0); /* half of them is not enough to tell */
    ck_assert_int_eq(shell(RUN "merge %s/shard1 %s/shard2 > %s/out", folder, folder, folder), 1);
    check_text("out", "hlv has not run");
    drop_folder();
    all_right();
}
END_TEST

/* The seed once: as the report's first line, or on stderr when the report is somewhere else. */
START_TEST(test_seed)
{
    make_folder();
    ck_assert_int_eq(
        shell("test \"$(" RUN "--arch arm64 --rule b --count 64 --seed 77 2>&1 | grep -c 'seed 0x4d')\" = 1"),
        0);
    ck_assert_int_eq(
        shell(RUN "--arch arm64 --rule b --count 64 --seed 77 -o %s/out 2>%s/err", folder, folder), 0);
    check_text("out", "seed 0x4d\n\nARCH");
    check_text("err", "xolsim: seed 0x4d\n");
    drop_folder();
    all_right();
}
END_TEST

START_TEST(test_file)
{
    make_folder();
    ck_assert_int_eq(shell(RUN "--file fixtures/programs/hello-arm64 --states 8 -o %s/a 2>/dev/null", folder),
                     0);
    ck_assert_int_eq(
        shell(RUN "--file fixtures/programs/hello-riscv64 --states 8 --slots -o %s/b 2>/dev/null", folder),
        0);
    check_text("a", "0 differences");
    check_text("b", "0 differences");
    drop_folder();
    all_right();
}
END_TEST

/* Ctrl-C: the report so far, and it says that it was interrupted. */
START_TEST(test_interrupt)
{
    make_folder();
    char path[128];
    snprintf(path, sizeof path, "%s/report", folder);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        execl(XOLSIM_PROGRAM, "xolsim", "lockstep", "--arch", "riscv64", "--time", "60", "--jobs", "2",
              "--format", "json", "-o", path, (char *)NULL);
        _exit(127);
    }
    nanosleep(&(struct timespec){1, 0}, NULL);
    int status;
    kill(pid, SIGINT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    check_text("report", "\"interrupted\": true");
    check_text("report", "\"shard\"");
    drop_folder();
    all_right();
}
END_TEST

/* A worker that is killed: no report that looks whole. The parent killed: no worker goes on. */
START_TEST(test_killed)
{
    make_folder();
    ck_assert_int_eq(shell(RUN "--arch riscv64 --time 20 --jobs 2 --seed 1 --format json -o %s/report "
                               "2>/dev/null & p=$!; sleep 1; "
                               "read w rest < /proc/$p/task/$p/children; kill -KILL $w; wait $p",
                           folder),
                     4);
    check_text("report", "\"interrupted\": true");
    ck_assert_int_eq(
        shell(RUN
              "--arch riscv64 --time 20 --jobs 1 --seed 4242 >/dev/null 2>&1 & p=$!; sleep 1; "
              "read w rest < /proc/$p/task/$p/children; kill -KILL $p; sleep 1; test -n \"$w\" && ! grep -q "
              "'^State:.[RSD]' /proc/$w/status 2>/dev/null"),
        0);
    drop_folder();
    all_right();
}
END_TEST

/* Three shards over GNU parallel, then merge. */
START_TEST(test_parallel)
{
    if (shell("command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q 'GNU parallel'") !=
        0) {
        printf("test_parallel: GNU parallel is not installed: not run\n");
        return;
    }
    make_folder();
    ck_assert_int_eq(shell("parallel -j2 " RUN
                           "--arch riscv64 --seed 7 --count 20000 --shard {}/3 --jobs 1 --format json"
                           " -o %s/shard{}.json ::: 1 2 3 2>/dev/null",
                           folder),
                     0);
    ck_assert_int_eq(shell(RUN "merge %s/shard*.json > %s/out", folder, folder), 0);
    check_text("out", "0 differences");
    drop_folder();
    all_right();
}
END_TEST

Suite *lockstep_suite(void)
{
    Suite *s = suite_create("lockstep");
    TCase *oracle = tcase_create("oracle"), *generator = tcase_create("generator"),
          *compare = tcase_create("compare"), *notice = tcase_create("notice"),
          *slots = tcase_create("slots"), *program = tcase_create("program");
    TCase *all[] = {oracle, generator, compare, notice, slots, program};
    tcase_add_loop_test(oracle, test_new_words, 0, 3);
    tcase_add_loop_test(oracle, test_registers, 0, 3);
    tcase_add_test(oracle, test_faults);
    tcase_add_test(oracle, test_survives);
    tcase_add_loop_test(generator, test_generator, 0, 3);
    tcase_add_loop_test(compare, test_lockstep, 0, 3);
    tcase_add_loop_test(notice, test_mutant, 0, (int)(sizeof mutants / sizeof *mutants));
    tcase_add_test(notice, test_divergences);
    tcase_add_test(notice, test_divergence_needed);
    tcase_add_test(notice, test_run_as);
    tcase_add_test(slots, test_run_as_slot);
    tcase_add_test(slots, test_not_run_lines);
    tcase_add_test(slots, test_taken_for_lines);
    tcase_add_test(slots, test_slots_ideal);
    tcase_add_test(slots, test_slots_kernel);
    tcase_add_test(slots, test_slots_page_end);
    tcase_add_test(program, test_merge);
    tcase_add_test(program, test_usage);
    tcase_add_test(program, test_replay);
    tcase_add_test(program, test_not_run);
    tcase_add_test(program, test_seed);
    tcase_add_test(program, test_file);
    tcase_add_test(program, test_interrupt);
    tcase_add_test(program, test_killed);
    tcase_add_test(program, test_parallel);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_set_timeout(all[i], 120);
        suite_add_tcase(s, all[i]);
    }
    return s;
}

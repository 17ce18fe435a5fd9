/* The vectors of real kernels' own simulate functions: ours, with the quirks that the table says the kernel
 * has, do the same. The columns are named in the first line of each file. */
#include <stdlib.h>
#include <string.h>

#include "test_sim.h"

/* ---- wide rows -------------------------------------------------------------------------------------- */

enum { COLUMNS = 96 };

typedef struct vectors {
    const char *path;
    FILE *f;
    char *line, *titles;
    size_t room, titles_room, count;
    unsigned number;
    char *title[COLUMNS], *field[COLUMNS];
} vectors;

static size_t cut_tabs(char *line, char *field[COLUMNS])
{
    size_t n = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at; n++) {
        ck_assert(n < COLUMNS);
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
    return n;
}

/* XOLSIM_VECTORS=dir: dir/ISA/NAME instead of fixtures/ISA/NAME, for instance the whole of which ours are a
 * part. */
static void open_vectors(vectors *v, const char *path)
{
    char command[512];
    const char *dir = getenv("XOLSIM_VECTORS");
    *v = (vectors){.path = path};
    snprintf(command, sizeof command, "xz -dc '%s%s'", dir ? dir : "fixtures", path + strlen("fixtures"));
    v->f = popen(command, "r");
    ck_assert_ptr_nonnull(v->f);
    ck_assert_msg(getline(&v->titles, &v->titles_room, v->f) > 0, "%s: empty", path);
    v->count = cut_tabs(v->titles, v->title);
}

static bool next_vector(vectors *v)
{
    if (getline(&v->line, &v->room, v->f) <= 0) return false;
    v->number++;
    ck_assert_msg(cut_tabs(v->line, v->field) == v->count, "%s:%u: not %zu columns", v->path, v->number,
                  v->count);
    return true;
}

static void close_vectors(vectors *v)
{
    ck_assert_msg(pclose(v->f) == 0 && v->number > 100, "%s: %u rows", v->path, v->number);
    free(v->line);
    free(v->titles);
}

static const char *column_of(const vectors *v, const char *title)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->title[i], title) == 0) return v->field[i];
    ck_abort_msg("%s: no column %s", v->path, title);
    return NULL;
}

static uint64_t number_in(const vectors *v, const char *title)
{
    char *end;
    const char *text = column_of(v, title);
    uint64_t n = strtoull(text, &end, 16);
    ck_assert_msg(*text && *end == '\0', "%s:%u: %s is '%s'", v->path, v->number, title, text);
    return n;
}

static bool is_there(const vectors *v, const char *title)
{
    return strcmp(column_of(v, title), "-") != 0;
}

/* ---- AArch64 ------------------------------------------------------------------------------------------ */

/* BTYPE is PSTATE's bits 11 and 10; an AArch32 program, which no probe of ours is in, has other things there.
 */
static unsigned btype_in(const vectors *v, const char *title)
{
    bool aarch32_user = (number_in(v, "b_pstate") & 0x1f) == 0x10;
    return aarch32_user ? 0 : (unsigned)(number_in(v, title) >> 10 & 3);
}

static void set_arm(sim_case *c, const vectors *v)
{
    xs_arm64_cpu *cpu = &c->before.cpu.arm64;
    char title[8];
    for (unsigned i = 0; i < 31; i++) {
        snprintf(title, sizeof title, "b_x%u", i);
        cpu->x[i] = number_in(v, title);
    }
    cpu->sp = number_in(v, "b_sp");
    cpu->pc = number_in(v, "pc");
    cpu->nzcv = (uint32_t)number_in(v, "b_pstate") & 0xf0000000;
    cpu->btype = (uint8_t)btype_in(v, "b_pstate");
}

static void add_memory(sim_case *c, bool exists, uint64_t addr, uint64_t value, uint8_t bytes[8])
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    if (exists) c->memory.piece[c->memory.pieces++] = (sim_piece){addr, 8, bytes};
}

static void differs(const sim_case *c, const vectors *v, const char *what)
{
    wrong("%s:%u: %s %08x: %s (%s)", v->path, v->number, column_of(v, "handler"), c->insn.word, what,
          xs_sim_status_name(c->status));
}

static void compare_arm(const sim_case *c, const vectors *v)
{
    const xs_arm64_cpu *cpu = &c->after.cpu.arm64;
    char title[8];
    for (unsigned i = 0; i < 31; i++) {
        snprintf(title, sizeof title, "a_x%u", i);
        if (cpu->x[i] != number_in(v, title)) differs(c, v, title);
    }
    if (cpu->sp != number_in(v, "a_sp")) differs(c, v, "a_sp");
    if (cpu->pc != number_in(v, "a_pc")) differs(c, v, "a_pc");
    if (cpu->nzcv != (number_in(v, "a_pstate") & 0xf0000000)) differs(c, v, "flags");
    if (cpu->btype != btype_in(v, "a_pstate")) differs(c, v, "BTYPE");
}

/* How many vectors ours would miss without the kernel's quirks. */
static unsigned explained;

static void count_explained(const sim_case *c)
{
    static sim_case plain;
    if (!c->quirks) return;
    memcpy(&plain, c, sizeof plain);
    plain.quirks = 0;
    plain.memory.writes = 0;
    sim_case_run(&plain);
    explained +=
        plain.status != c->status || memcmp(&plain.after.cpu, &c->after.cpu, sizeof c->after.cpu) != 0;
}

/* The quirks the table says this kernel has on this word. */
static void begin(sim_case *c, const vectors *v, const sim_machine *m)
{
    sim_why why;
    sim_case_init(c, m, hex(column_of(v, "word")));
    ck_assert(sim_quirk(m, &c->insn, "kernel", &c->quirks, &why));
    const char *handler = column_of(v, "handler");
    if (strcmp(c->insn.entry->decision->handler, handler) != 0)
        wrong("%s:%u: %08x has %s, not %s", v->path, v->number, c->insn.word,
              c->insn.entry->decision->handler, handler);
}

static void check_arm(vectors *v, const sim_machine *m)
{
    static sim_case c;
    uint8_t bytes[8];
    begin(&c, v, m);
    set_arm(&c, v);
    if (is_there(v, "mem_addr"))
        add_memory(&c, true, number_in(v, "mem_addr"), number_in(v, "mem_u64"), bytes);
    sim_case_run(&c);
    if (c.status != XS_SIM_OK) differs(&c, v, "status");
    compare_arm(&c, v);
    count_explained(&c);
}

/* PSTATE.SS counts for a task in user mode that a debugger single-steps (M[3:0] = 0, TIF_SINGLESTEP), and
 * the kernel clears it in the task's own registers; elsewhere it is a bit that nobody looks at. */
static bool step_counts(const vectors *v)
{
    return (number_in(v, "b_pstate") & 0xf) == 0 && number_in(v, "tif_singlestep") &&
           number_in(v, "current_regs");
}

static bool step_in(const vectors *v, const char *title)
{
    return number_in(v, title) >> 21 & 1;
}

/* What nop does to the pc, BTYPE and SS. */
static void check_nop(vectors *v, const sim_machine *m)
{
    static sim_case c;
    sim_case_init(&c, m, 0xd503201f);
    xs_arm64_cpu *cpu = &c.before.cpu.arm64;
    cpu->pc = number_in(v, "pc");
    cpu->btype = (uint8_t)btype_in(v, "b_pstate");
    cpu->ss = step_in(v, "b_pstate");
    sim_case_run(&c);
    ck_assert_uint_eq(number_in(v, "other_regs_changed"), 0);
    bool ss = step_counts(v) ? c.after.cpu.arm64.ss : c.before.cpu.arm64.ss;
    bool same = c.status == XS_SIM_OK && c.after.cpu.arm64.pc == number_in(v, "a_pc") &&
                c.after.cpu.arm64.btype == btype_in(v, "a_pstate") && ss == step_in(v, "a_pstate");
    if (!same) wrong("%s:%u: nop differs (%s)", v->path, v->number, xs_sim_status_name(c.status));
}

/* ---- the guarded control stack ------------------------------------------------------------------------ */

/* On for the task: user mode (M[3:0] = 0), no kernel thread, and PR_SHADOW_STACK_ENABLE. */
static bool gcs_is_on(const vectors *v)
{
    bool user = (number_in(v, "b_pstate") & 0xf) == 0;
    return user && (number_in(v, "gcs_mode") & 1);
}

/* What the kernel's address check lets through: 48 bits, and a tag (bits 63..56) only if the task uses tagged
 * addresses or is a kernel thread. Bit 55 is not part of the tag. */
static bool accessible(const vectors *v, uint64_t addr)
{
    bool tags = number_in(v, "tif_tagged_addr") || number_in(v, "pf_kthread");
    return ((tags ? addr << 8 >> 8 : addr) >> 48) == 0;
}

static void check_gcs_memory(const sim_case *c, const vectors *v, const char *title, const uint8_t bytes[8])
{
    uint64_t value = 0;
    if (!is_there(v, title)) return;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    if (value != number_in(v, title)) differs(c, v, title);
}

static void check_gcs(vectors *v, const sim_machine *m)
{
    static sim_case c;
    uint8_t top[8], below[8];
    begin(&c, v, m);
    set_arm(&c, v);
    xs_arm64_cpu *cpu = &c.before.cpu.arm64;
    cpu->gcs = gcs_is_on(v);
    cpu->gcspr = number_in(v, "b_gcspr");
    uint64_t at = cpu->gcspr;
    if (is_there(v, "b_mem_gcspr")) add_memory(&c, accessible(v, at), at, number_in(v, "b_mem_gcspr"), top);
    if (is_there(v, "b_mem_gcspr_m8"))
        add_memory(&c, accessible(v, at - 8), at - 8, number_in(v, "b_mem_gcspr_m8"), below);
    sim_case_run(&c);
    bool signalled = number_in(v, "signal") != 0;
    if (signalled != (c.status != XS_SIM_OK)) differs(&c, v, "signal");
    compare_arm(&c, v);
    if (c.after.cpu.arm64.gcspr != number_in(v, "a_gcspr")) differs(&c, v, "a_gcspr");
    check_gcs_memory(&c, v, "a_mem_gcspr", top);
    check_gcs_memory(&c, v, "a_mem_gcspr_m8", below);
    count_explained(&c);
}

/* ---- RISC-V ---------------------------------------------------------------------------------------------
 */

static void check_riscv(vectors *v, const sim_machine *m)
{
    static sim_case c;
    char title[8];
    begin(&c, v, m);
    for (unsigned i = 1; i < 32; i++) {
        snprintf(title, sizeof title, "b_x%u", i);
        c.before.cpu.riscv.x[i] = number_in(v, title);
    }
    c.before.cpu.riscv.pc = number_in(v, "pc");
    sim_case_run(&c);
    bool did = number_in(v, "ret") != 0; /* false: the handler gave up */
    if (c.status != (did ? XS_SIM_OK : XS_SIM_STUCK)) differs(&c, v, "ret");
    for (unsigned i = 1; i < 32; i++) {
        snprintf(title, sizeof title, "a_x%u", i);
        if (c.after.cpu.riscv.x[i] != number_in(v, title)) differs(&c, v, title);
    }
    if (c.after.cpu.riscv.pc != number_in(v, "a_pc")) differs(&c, v, "a_pc");
    count_explained(&c);
}

/* ---- files ------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *target, *path;
    void (*check)(vectors *v, const sim_machine *m);
    bool quirky; /* some of it only a quirk explains */
} files[] = {
    {"arm64/6.12.y/kprobe", "fixtures/arm64/kernel-6.12.117-simulate.tsv.xz", check_arm, true},
    {"arm64/7.3/kprobe", "fixtures/arm64/kernel-7.3.4-simulate.tsv.xz", check_arm, true},
    {"arm64/7.3/uprobe", "fixtures/arm64/kernel-7.3.4-gcs.tsv.xz", check_gcs, true},
    {"arm64/7.3/uprobe", "fixtures/arm64/kernel-7.3.4-nop.tsv.xz", check_nop, false},
    {"riscv64/6.12.y/uprobe", "fixtures/riscv/kernel-6.12.117-simulate.tsv.xz", check_riscv, true},
    {"riscv64/7.2.y/uprobe", "fixtures/riscv/kernel-7.2.13-simulate.tsv.xz", check_riscv, true},
};

START_TEST(kernels_agree)
{
    vectors v;
    explained = 0;
    open_vectors(&v, files[_i].path);
    while (next_vector(&v))
        files[_i].check(&v, machine_of(files[_i].target));
    if (getenv("XOLSIM_VECTORS")) printf("%s: %u vectors, %u by a quirk\n", v.path, v.number, explained);
    close_vectors(&v);
    ck_assert_int_eq(explained > 0, files[_i].quirky);
    all_right();
}
END_TEST

void add_sim_kernel(Suite *s)
{
    TCase *t = tcase_create("kernels");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, kernels_agree, 0, sizeof files / sizeof *files);
    suite_add_tcase(s, t);
}

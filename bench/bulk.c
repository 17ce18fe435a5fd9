/* The same instructions by everyone: ours by each path, one at a time, and the decoders of others. */
#include "bench.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shims.h"

enum { BULK_BYTES = 8 << 20, MAX_PATHS = 4 };
static const double turn = 0.02; /* seconds; short turns are repeated, so that the clock's grain is no part */

/* What one contender works on. */
typedef struct job {
    const uint8_t *text;
    size_t size;
    uint8_t *out;
    xs_classifier *classifier;
    const xs_decoder *decoder;
    void *other;
    size_t begun, unknown;
} job;

typedef struct bulk {
    corpus c;
    ours o;
    size_t copies, size;
    uint8_t *text, *out;
    double instructions; /* in one copy */
    const char *best;    /* path */
    job paths[MAX_PATHS], traffic, decode, vixl, llvm, capstone;
    csh handle;
    group g;
} bulk;

static bool run_classify(void *arg)
{
    job *j = arg;
    size_t left;
    j->begun = xs_classify_text(j->classifier, j->text, j->size, j->out, &left);
    return left == 0;
}

static bool run_decode(void *arg)
{
    job *j = arg;
    xs_insn insn;
    j->begun = 0;
    for (size_t at = 0; at < j->size; at += insn.size, j->begun++)
        if (xs_decode(j->decoder, j->text + at, j->size - at, &insn) != XS_OK) return false;
    return true;
}

static bool run_tops(void *arg)
{
    job *j = arg;
    memory_copy_tops(j->text, j->size / 256 * 64, j->out);
    return true;
}

static bool run_read(void *arg)
{
    job *j = arg;
    memory_read(j->text, j->size / 4);
    return true;
}

#ifdef BENCH_VIXL
static bool run_vixl(void *arg)
{
    job *j = arg;
    j->begun = bench_vixl_run(j->other, j->text, j->size);
    return true;
}
#endif

#ifdef BENCH_LLVM
static bool run_llvm(void *arg)
{
    job *j = arg;
    j->begun = bench_llvm_run(j->other, j->text, j->size, &j->unknown);
    return true;
}
#endif

/* What Capstone does not know is stepped over, as its callers do. */
static bool run_capstone(void *arg)
{
    job *j = arg;
    const bulk *b = j->other;
    size_t step = xs_table_granule(b->o.table), size = j->size;
    const uint8_t *code = j->text;
    uint64_t address = 0;
    cs_insn *insn = cs_malloc(b->handle);
    if (!insn) return false;
    for (j->begun = j->unknown = 0; size >= step; j->begun++) {
        if (cs_disasm_iter(b->handle, &code, &size, &address, insn)) continue;
        code += step, size -= step, address += step;
        j->unknown++;
    }
    cs_free(insn, 1);
    return true;
}

/* ---- who takes part ------------------------------------------------------------------------------------ */

static bool is_arm(const bulk *b)
{
    return strcmp(b->c.arch, "arm64") == 0;
}

static contender *add(bulk *b, const char *name, bool (*run)(void *), job *j, double copies, const char *what)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", b->c.arch, name);
    return group_add(&b->g, full, run, j, b->instructions * copies, "%s", what);
}

/* The names and the count of ratios: all paths give the same count, which is that of one walk. */
static bool add_path(bulk *b, const char *path, job *j)
{
    char what[TEXT];
    *j = (job){.text = b->text, .size = b->size, .out = b->out};
    if (xs_classifier_new(b->o.decoder, path, &j->classifier) != XS_OK) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", b->c.arch, path);
        report_skip(name, "this CPU does not have it, or the table does not fit it");
        return true;
    }
    if (!b->best) b->best = path;
    if (!run_classify(j)) return false;
    if (b->instructions > 0 && (double)j->begun != b->instructions * (double)b->copies) {
        fprintf(stderr, "bench: path %s counts differently\n", path);
        return false;
    }
    b->instructions = (double)j->begun / (double)b->copies;
    snprintf(what, sizeof what, "xs_classify_text, path %s, %s: a class byte for each %s of %zu copies", path,
             b->o.target, is_arm(b) ? "word" : "halfword", b->copies);
    add(b, path, run_classify, j, (double)b->copies, what);
    return true;
}

static bool add_ours(bulk *b)
{
    char what[TEXT];
    for (size_t i = 0; i < MAX_PATHS && xs_classifier_path_name(i); i++)
        if (!add_path(b, xs_classifier_path_name(i), &b->paths[i])) return false;
    b->decode = (job){.text = b->text, .size = b->size, .decoder = b->o.decoder};
    snprintf(what, sizeof what, "xs_decode one at a time: class, rule and operands, %zu copies", b->copies);
    add(b, "decode", run_decode, &b->decode, (double)b->copies, what);
    if (!is_arm(b)) return true;
    b->traffic = (job){.text = b->text, .size = b->size, .out = b->out};
    snprintf(what, sizeof what, "vector loop (%s): reads each word, writes its top byte", memory_how());
    group_add(&b->g, "memory.loop", run_tops, &b->traffic, (double)(b->size / 256 * 64), "%s", what);
    group_add(&b->g, "memory.read", run_read, &b->traffic, (double)(b->size / 4),
              "plain read: sum, nothing written");
    return true;
}

static void add_vixl(bulk *b)
{
#ifdef BENCH_VIXL
    b->vixl = (job){.text = b->text, .size = b->c.size, .other = bench_vixl_new()};
    add(b, "vixl", run_vixl, &b->vixl, 1,
        "VIXL " BENCH_VIXL " Decoder, empty visitor: finds each word's visitor, 1 copy");
#else
    (void)b;
#endif
}

static void add_llvm(bulk *b)
{
#ifdef BENCH_LLVM
    char what[TEXT];
    b->llvm = (job){.text = b->text, .size = b->c.size, .other = bench_llvm_new(b->c.arch)};
    if (!b->llvm.other) return;
    run_llvm(&b->llvm);
    snprintf(what, sizeof what,
             "LLVM %s getInstruction into an MCInst, no text, 1 copy: %zu instructions, %zu unknown to it",
             bench_llvm_version(), b->llvm.begun, b->llvm.unknown);
    add(b, "llvm", run_llvm, &b->llvm, 1, what);
#else
    (void)b;
#endif
}

/* The architecture in Capstone's terms; false: that Capstone does not know it. */
static bool capstone_open(bulk *b)
{
    if (is_arm(b)) return cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &b->handle) == CS_ERR_OK;
#if CS_API_MAJOR >= 5
    return cs_open(CS_ARCH_RISCV, (cs_mode)(CS_MODE_RISCV64 | CS_MODE_RISCVC), &b->handle) == CS_ERR_OK;
#else
    return false;
#endif
}

static void add_capstone(bulk *b)
{
    char what[TEXT], name[64];
    int major, minor;
    cs_version(&major, &minor);
    if (!capstone_open(b)) {
        snprintf(name, sizeof name, "%s.capstone", b->c.arch);
        report_skip(name, "Capstone %d.%d does not know this architecture", major, minor);
        return;
    }
    b->capstone = (job){.text = b->text, .size = b->c.size, .other = b};
    run_capstone(&b->capstone);
    snprintf(
        what, sizeof what,
        "Capstone %d.%d cs_disasm_iter, detail off (it always makes text), 1 copy: %zu instructions, %zu "
        "unknown to it",
        major, minor, b->capstone.begun, b->capstone.unknown);
    add(b, "capstone", run_capstone, &b->capstone, 1, what);
}

/* ---- ratios
 * ------------------------------------------------------------------------------------------------ */

static contender *member(bulk *b, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", b->c.arch, name);
    return group_find(&b->g, full);
}

/* key, or why it is absent. */
static void ratio(bulk *b, const char *key, const char *of, const char *to, const char *absent)
{
    const contender *a = member(b, of), *other = member(b, to);
    if (a && other)
        report_ratio(key, a, other, b->g.rounds);
    else
        report_skip(key, "%s", absent);
}

static const char no_vixl[] = "VIXL (libvixl-dev, and g++ for it) is not installed";

static void ratios_arm(bulk *b)
{
    ratio(b, "arm64.scalar/vixl", "scalar", "vixl", no_vixl);
    ratio(b, "arm64.best/capstone", b->best, "capstone", "Capstone cannot be opened");
    ratio(b, "decode/vixl", "decode", "vixl", no_vixl);
}

static void ratios_riscv(bulk *b)
{
    static const char none[] =
        "neither LLVM (llvm-19-dev or another from 14 on, and g++) nor a Capstone 5 is installed";
    const char *other = member(b, "llvm") ? "llvm" : "capstone";
    ratio(b, "riscv64.best/llvm", b->best, other, none);
    ratio(b, "riscv64.scalar/llvm", "scalar", other, none);
}

static void skip_all(const char *arch, const char *why)
{
    static const char *const keys[][2] = {
        {"arm64.scalar/vixl", "arm64"},   {"arm64.best/capstone", "arm64"},   {"decode/vixl", "arm64"},
        {"riscv64.best/llvm", "riscv64"}, {"riscv64.scalar/llvm", "riscv64"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i][1], arch) == 0) report_skip(keys[i][0], "%s", why);
}

/* ---- all of it --------------------------------------------------------------------------------------------
 */

static bool bulk_open(bulk *b, const settings *s)
{
    b->copies = corpus_copies(&b->c, s->quick ? 1 : BULK_BYTES);
    b->size = b->copies * b->c.size;
    b->g = (group){.rounds = s->quick ? 1 : ROUNDS, .time = CPU_TIME, .pinned = true, .least = turn};
    b->text = pages(b->size);
    b->out = pages(b->size / 2);
    if (!b->text || !b->out || !ours_open(&b->o, b->c.arch)) return false;
    corpus_repeat(&b->c, b->text, b->copies);
    return true;
}

static void bulk_close(bulk *b)
{
    for (size_t i = 0; i < MAX_PATHS; i++)
        xs_classifier_free(b->paths[i].classifier);
    if (b->handle) cs_close(&b->handle);
    ours_close(&b->o);
    pages_free(b->text, b->size);
    pages_free(b->out, b->size / 2);
    corpus_free(&b->c);
}

static bool bulk_measure(bulk *b)
{
    if (!add_ours(b)) return false;
    report_heading(
        "%s, bulk: .text of the cross libc and libstdc++, %.1f MiB (%zu copies of %.0f instructions); "
        "CPU time, one core; million instructions a second",
        b->c.arch, (double)b->size / (1 << 20), b->copies, b->instructions);
    if (is_arm(b)) add_vixl(b);
    add_llvm(b);
    add_capstone(b);
    if (!group_measure(&b->g)) return false;
    report_group(&b->g, "M/s", 1e-6);
    if (is_arm(b))
        ratios_arm(b);
    else
        ratios_riscv(b);
    return true;
}

bool rows_bulk(const settings *s, const char *arch)
{
    static bulk b;
    char why[TEXT];
    b = (bulk){0};
    if (!corpus_load(&b.c, arch, why)) {
        skip_all(arch, why);
        return true;
    }
    bool ok = bulk_open(&b, s) && bulk_measure(&b);
    bulk_close(&b);
    return ok;
}

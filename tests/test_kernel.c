/* The kernel oracle, against stand-ins whose answers are known: what it says to words, that a crash is one,
 * that all words are seen by the loop as they are by single calls, and that a sweep survives being killed. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_oracle.h"
#include "telling.h"
#include "tests.h"

static xs_kernel_image *image;
static xs_kernel *machine;
static xs_kernel_decoder decoder;

static void open_standin(const char *path, const char *mode, bool exact)
{
    char why[400];
    ck_assert_msg(xs_kernel_image_open(path, NULL, &image, why, sizeof why) == XS_IMAGE_OK, "%s", why);
    machine = xs_kernel_open(image, exact, why, sizeof why);
    ck_assert_msg(machine != NULL, "%s", why);
    const xs_table *table = builtin(image->arch == XS_IMAGE_ARM64 ? "arm64" : "riscv64");
    ck_assert_msg(xs_kernel_decoder_open(machine, table, mode, &decoder, why, sizeof why), "%s", why);
}

static void close_standin(void)
{
    xs_kernel_close(machine);
    xs_kernel_image_close(image);
}

/* ---- the loop and single calls ---------------------------------------------------------------------- */

typedef struct loop {
    const xs_decoder *target;
    uint64_t words;
    uint32_t next;
} loop;

/* A run is contiguous to the one before, and says what the table says at both its ends. */
static bool look(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *v)
{
    loop *l = arg;
    char name[128];
    const uint32_t ends[] = {first, last};
    ck_assert_uint_eq(first, l->next);
    for (size_t i = 0; i < 2; i++) {
        const xs_decision *d = entry_of(l->target, ends[i])->decision;
        if (v->cls != d->cls ||
            strcmp(xs_kernel_handler_name(&decoder, v->handler, name, sizeof name), d->handler))
            wrong("0x%08x: %s, not %s", ends[i], xs_class_name(v->cls), xs_class_name(d->cls));
    }
    l->words += (uint64_t)last - first + 1;
    l->next = last + 1;
    return true;
}

static const struct {
    const char *path, *target, *mode;
    uint32_t first, last;
    size_t least; /* runs that are expected at least, of which there are more than a buffer holds on RISC-V */
} loops[] = {
    {"fixtures/kernel/standin-arm64", "arm64/6.12.y/uprobe", "uprobe", 0xd5000000, 0xd503ffff, 10},
    {"fixtures/kernel/standin-arm64", "arm64/6.12.y/kprobe", "kprobe", 0x57ff0000, 0x5800ffff, 2},
    {"fixtures/kernel/standin-riscv64", "riscv64/6.12.y/uprobe", "uprobe", 0x7fff0000, 0x8005ffff, 65000},
};

static bool count(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *v)
{
    (void)first, (void)last, (void)v;
    ++*(size_t *)arg;
    return true;
}

START_TEST(every_word)
{
    uint32_t word;
    size_t runs = 0;
    open_standin(loops[_i].path, loops[_i].mode, false);
    loop l = {.target = decoder_of(loops[_i].target), .next = loops[_i].first};
    ck_assert_int_eq(xs_kernel_runs(&decoder, loops[_i].first, loops[_i].last, look, &l, &word),
                     XS_KERNEL_DONE);
    ck_assert_uint_eq(l.words, (uint64_t)loops[_i].last - loops[_i].first + 1);
    ck_assert_int_eq(xs_kernel_runs(&decoder, loops[_i].first, loops[_i].last, count, &runs, &word),
                     XS_KERNEL_DONE);
    ck_assert_uint_ge(runs, loops[_i].least);
    all_right();
    close_standin();
}
END_TEST

static bool enough(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *v)
{
    (void)first, (void)last, (void)v;
    return ++*(unsigned *)arg < 3;
}

START_TEST(stops_when_told)
{
    unsigned calls = 0;
    uint32_t word;
    open_standin("fixtures/kernel/standin-riscv64", "uprobe", false);
    ck_assert_int_eq(xs_kernel_runs(&decoder, 0, 0xffff, enough, &calls, &word), XS_KERNEL_STOPPED);
    ck_assert_uint_eq(calls, 3);
    close_standin();
}
END_TEST

/* One word, first, last and alone; and the word before it is not its run. */
START_TEST(one_word)
{
    uint32_t word;
    loop l = {.target = decoder_of("arm64/6.12.y/uprobe"), .next = UINT32_MAX};
    open_standin("fixtures/kernel/standin-arm64", "uprobe", false);
    ck_assert_int_eq(xs_kernel_runs(&decoder, UINT32_MAX, UINT32_MAX, look, &l, &word), XS_KERNEL_DONE);
    ck_assert_uint_eq(l.words, 1);
    all_right();
    close_standin();
}
END_TEST

/* ---- crashes ---------------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    uint32_t word;
    const char *what;
    uint64_t addr;
} crashes[] = {
    {"fixtures/kernel/hostile-arm64", 0x00c0ffee, "writes where nothing is", 8},
    {"fixtures/kernel/hostile-arm64", 0x00c0fff2, "reads where nothing is", 0x1230},
    {"fixtures/kernel/hostile-arm64", 0x00c0fff6, "stops at a breakpoint (BUG or WARN)", 0},
    {"fixtures/kernel/hostile-arm64", 0x00c0fffa, "does not come to an end", 0},
    {"fixtures/kernel/hostile-arm64", 0x00c0ffe2, "answers none of the three classes", 0},
    {"fixtures/kernel/hostile-riscv64", 0x00c0ffef, "writes where nothing is", 8},
    {"fixtures/kernel/hostile-riscv64", 0x00c0fff3, "reads where nothing is", 0x1230},
    {"fixtures/kernel/hostile-riscv64", 0x00c0fff7, "runs into an undefined instruction", 0},
    {"fixtures/kernel/hostile-riscv64", 0x00c0fffb, "does not come to an end", 0},
    {"fixtures/kernel/hostile-riscv64", 0x00c0ffe3, "answers none of the three classes", 0},
};

static bool in_kernel(const xs_kernel_crash *c)
{
    return c->pc >= image->base && c->pc - image->base < image->size && strchr(c->where, '+');
}

/* The same by a call, and by the loop, which has to say at which word. */
START_TEST(crash)
{
    xs_kernel_verdict v;
    uint32_t word = crashes[_i].word, at;
    size_t runs = 0;
    for (int exact = 0; exact < 2; exact++) {
        open_standin(crashes[_i].path, "uprobe", exact);
        ck_assert(!xs_kernel_classify(&decoder, word, &v));
        const xs_kernel_crash *c = xs_kernel_crashed(machine);
        ck_assert_str_eq(c->what, crashes[_i].what);
        ck_assert_uint_eq(c->addr, crashes[_i].addr);
        ck_assert_msg(in_kernel(c), "%s", c->where);
        ck_assert_msg(xs_kernel_classify(&decoder, word + 1 + 16, &v), "it goes on after a crash");
        ck_assert_int_eq(v.cls, XS_SLOT);
        if (!exact) {
            ck_assert_int_eq(xs_kernel_runs(&decoder, word - 1, word + 1, count, &runs, &at),
                             XS_KERNEL_CRASHED);
            ck_assert_uint_eq(at, word);
            ck_assert_str_eq(c->what, crashes[_i].what);
        }
        close_standin();
    }
}
END_TEST

/* A function that is told what to answer, and where it writes it. */
START_TEST(answer)
{
    uint64_t room, got[2], result, addr;
    open_standin("fixtures/kernel/standin-arm64", "uprobe", false);
    uint8_t *bytes = xs_kernel_room(machine, &room);
    addr = xs_kernel_image_find(image, "kallsyms_lookup_size_offset");
    const uint64_t values[] = {0x1122334455667788, 0x99};
    ck_assert(xs_kernel_answer(machine, addr, 1, values));
    ck_assert(xs_kernel_call(machine, addr, (uint64_t[XS_KERNEL_ARGS]){1, room + 16, room + 24}, &result));
    memcpy(got, bytes + 16, sizeof got);
    ck_assert_uint_eq(result, 1);
    ck_assert_uint_eq(got[0], values[0]);
    ck_assert_uint_eq(got[1], values[1]);
    ck_assert(!xs_kernel_answer(machine, 0x1000, 1, values));
    close_standin();
}
END_TEST

/* ---- images and symbols ------------------------------------------------------------------------------ */

START_TEST(symbols)
{
    open_standin("fixtures/kernel/standin-arm64", "uprobe", false);
    uint64_t addr = xs_kernel_image_find(image, "simulate_b_bl");
    ck_assert_uint_ne(addr, 0);
    ck_assert_uint_eq(xs_kernel_image_find(image, "simulate_b"), 0);
    ck_assert_uint_eq(xs_kernel_image_find(image, "simulate_b_bll"), 0);
    ck_assert_str_eq(xs_kernel_image_at(image, addr + 4, NULL)->name, "simulate_b_bl");
    ck_assert_ptr_null(xs_kernel_image_at(image, image->base - 1, NULL));
    ck_assert_ptr_null(xs_kernel_image_at(image, image->base + image->size, NULL));
    ck_assert_int_eq(strncmp(image->release, "6.12.99-standin ", 16), 0);
    close_standin();
}
END_TEST

/* An ELF file and the Image made from it are the same memory. */
START_TEST(raw_image)
{
    static const char *const archs[] = {"arm64", "riscv64"};
    xs_kernel_image *elf, *raw;
    char why[256], path[3][64];
    snprintf(path[0], sizeof path[0], "fixtures/kernel/standin-%s", archs[_i]);
    snprintf(path[1], sizeof path[1], "fixtures/kernel/Image-%s", archs[_i]);
    snprintf(path[2], sizeof path[2], "fixtures/kernel/Image-%s.map", archs[_i]);
    ck_assert_int_eq(xs_kernel_image_open(path[0], NULL, &elf, why, sizeof why), XS_IMAGE_OK);
    ck_assert_msg(xs_kernel_image_open(path[1], path[2], &raw, why, sizeof why) == XS_IMAGE_OK, "%s", why);
    ck_assert_uint_eq(elf->base, raw->base);
    ck_assert_uint_eq(elf->size, raw->size);
    ck_assert_mem_eq(elf->bytes, raw->bytes, elf->size);
    ck_assert_int_eq(elf->arch, raw->arch);
    ck_assert_str_eq(elf->release, raw->release);
    xs_kernel_image_close(raw);
    xs_kernel_image_close(elf);
}
END_TEST

/* ---- telling words ----------------------------------------------------------------------------------- */

static const xs_decision *decision_of(const xs_alike *group, uint32_t word)
{
    size_t entries;
    return xs_decoder_entries(group->decoder, &entries)[xs_lookup(group->decoder, word)].decision;
}

static bool told_apart(const xs_telling *t, size_t a, size_t b)
{
    for (size_t w = 0; w < t->word_count; w++)
        if (!xs_decisions_alike(decision_of(&t->groups[a], t->words[w]),
                                decision_of(&t->groups[b], t->words[w])))
            return true;
    return false;
}

START_TEST(telling_words)
{
    static const char *const archs[] = {"arm64", "arm64", "riscv64"}, *const modes[] = {"uprobe", "kprobe",
                                                                                        "uprobe"};
    xs_telling t;
    ck_assert(xs_telling_open(builtin(archs[_i]), archs[_i], modes[_i], &t));
    ck_assert_uint_gt(t.group_count, 3);
    ck_assert_uint_lt(t.word_count, 1000);
    for (size_t a = 0; a < t.group_count; a++)
        for (size_t b = a + 1; b < t.group_count; b++)
            if (!told_apart(&t, a, b)) wrong("groups %zu and %zu: no word tells them apart", a, b);
    xs_telling_close(&t);
    ck_assert(!xs_telling_open(builtin(archs[_i]), archs[_i], "probe", &t));
    all_right();
}
END_TEST

/* ---- a sweep that is killed --------------------------------------------------------------------------- */

static int shell(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define SWEEP   XOLSIM_PROGRAM " kernel --exhaustive --jobs 1 --shard 3/1024 "
#define STANDIN " fixtures/kernel/standin-arm64 "

/* Killed after its first chunk it has printed nothing; what was finished is used as it is, what is damaged is
 * not, and another kernel's files are none of this one's. */
START_TEST(killed)
{
    char dir[] = "/tmp/xolsim-test-XXXXXX", command[1024];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(setenv("STATE", dir, 1), 0);
    snprintf(command, sizeof command,
             SWEEP
             "--state $STATE" STANDIN "> $STATE/out 2>&1 & p=$!; "
             "until ls $STATE/*.runs > /dev/null 2>&1; do kill -0 $p || exit 9; sleep 0.02; done; "
             "kill -KILL $p; wait $p 2> /dev/null; test ! -s $STATE/out && ls $STATE/*.runs > $STATE/first");
    ck_assert_int_eq(shell(command), 0);
    ck_assert_int_eq(shell("f=$(head -n 1 $STATE/first); sed -i s/slot/reject/ $f; " SWEEP
                           "--state $STATE" STANDIN "> $STATE/out 2>&1"),
                     1);
    ck_assert_int_eq(shell("grep -q '^1048576 .*reject .* slot' $STATE/out"), 0);
    ck_assert_int_eq(shell("for f in $STATE/*.runs; do : > $f; done; " SWEEP "--state $STATE" STANDIN
                           "| grep -q '^0 differences'"),
                     0);
    ck_assert_int_eq(shell("sed -i s/slot/reject/ $STATE/*.runs; " SWEEP
                           "--state $STATE fixtures/kernel/odd-arm64 | grep -q '^0 differences'"),
                     0);
    ck_assert_int_eq(shell("rm -r $STATE"), 0);
}
END_TEST

/* What is kept was answered by these symbols: others may call another function, or name it otherwise. */
START_TEST(other_symbols)
{
    static const char *const maps[] = {
        "", "; s/simulate_b_bl$/x/; s/simulate_b_cond$/simulate_b_bl/; s/ x$/ simulate_b_cond/"};
    char dir[] = "/tmp/xolsim-test-XXXXXX", command[1000];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command,
                 "sed 's/^/&/%s' fixtures/kernel/Image-arm64.map > %s/map && " XOLSIM_PROGRAM
                 " kernel --exhaustive --jobs 1 --shard 1345/4096 --target arm64/6.12.y/uprobe --state %s"
                 " --symbols %s/map fixtures/kernel/Image-arm64 > /dev/null",
                 maps[i], dir, dir, dir);
        ck_assert_int_eq(shell(command), i);
    }
    snprintf(command, sizeof command, "rm -r %s", dir);
    ck_assert_int_eq(shell(command), 0);
}
END_TEST

START_TEST(nobody_waits_for_a_pipe)
{
    char path[] = "/tmp/xolsim-test-XXXXXX", why[200];
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_ne(xs_kernel_image_open(path, NULL, &image, why, sizeof why), XS_IMAGE_OK);
    ck_assert_str_eq(why, "not a regular file");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

Suite *kernel_suite(void)
{
    Suite *s = suite_create("kernel");
    TCase *t = tcase_create("oracle");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, every_word, 0, sizeof loops / sizeof *loops);
    tcase_add_test(t, stops_when_told);
    tcase_add_test(t, one_word);
    tcase_add_loop_test(t, crash, 0, sizeof crashes / sizeof *crashes);
    tcase_add_test(t, answer);
    tcase_add_test(t, symbols);
    tcase_add_loop_test(t, raw_image, 0, 2);
    tcase_add_loop_test(t, telling_words, 0, 3);
    tcase_add_test(t, killed);
    tcase_add_test(t, other_symbols);
    tcase_add_test(t, nobody_waits_for_a_pipe);
    suite_add_tcase(s, t);
    return s;
}

/* Whole programs by whole processes, wall time: what a user waits for. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FULL_TEXT = 100000000, SLICE_TEXT = 4000000, FILES = 8 };
static const char libc[] = "/usr/aarch64-linux-gnu/lib/libc.so.6";
static const char gnu_objdump[] = "aarch64-linux-gnu-objdump";

typedef struct files {
    const settings *s;
    corpus c;
    char full[TEXT], slice[TEXT], copy[FILES][TEXT], llvm_objdump[64];
    size_t full_copies, slice_copies;
    command classify, objdump, llvm, objdump_larger, one_job, two_jobs;
    group g, jobs;
} files;

static unsigned rounds(const settings *s)
{
    return s->quick ? 1 : ROUNDS;
}

static double words(const files *f, size_t copies)
{
    return (double)(copies * f->c.size / 4);
}

/* ---- disassemblers ------------------------------------------------------------------------------------- */

/* The newest there is: llvm-objdump-22, or without a number. */
static bool find_llvm_objdump(char name[64])
{
    for (int version = 40; version >= 14; version--) {
        snprintf(name, 64, "llvm-objdump-%d", version);
        if (command_exists(name)) return true;
    }
    snprintf(name, 64, "llvm-objdump");
    return command_exists(name);
}

static void version_of(const char *program, char version[TEXT])
{
    char line[TEXT];
    snprintf(line, sizeof line, "%s --version | grep -m 1 '[0-9][.][0-9]'", program);
    command_version(line, version);
    memmove(version, version + strspn(version, " "), strlen(version + strspn(version, " ")) + 1);
}

static void add_objdump(files *f, command *c, const char *name, const char *program)
{
    char version[TEXT];
    *c = (command){{program, "-d", f->slice}};
    version_of(program, version);
    group_add(&f->g, name, command_run, c, words(f, f->slice_copies),
              "%s -d (%s) of %.1f MB of the same text, scaled by word: every instruction as text", program,
              version, (double)(f->slice_copies * f->c.size) * 1e-6);
}

static bool write_file(const files *f, const char *path, size_t copies)
{
    return corpus_write_elf(&f->c, path, copies, corpus_functions(&f->c, copies));
}

/* Seven rounds of the whole file would take minutes, and one nearly one: a quarter tells. */
static void larger_objdump(files *f)
{
    size_t copies = f->full_copies / 4;
    char path[TEXT];
    snprintf(path, sizeof path, "%s/bench/text-quarter", f->s->build);
    f->objdump_larger = (command){{gnu_objdump, "-d", path}};
    if (!write_file(f, path, copies)) return;
    double start = clock_now(WALL_TIME);
    bool ok = command_run(&f->objdump_larger);
    double rate = words(f, copies) / (clock_now(WALL_TIME) - start) * 1e-6;
    unlink(path);
    if (ok)
        report_raw("file.objdump-larger", "M/s", &rate, 1,
                   "%s -d of %.1f MB of it, one run, not judged: does the small file scale?", gnu_objdump,
                   (double)(copies * f->c.size) * 1e-6);
}

static bool measure_disassemblers(files *f)
{
    report_heading(
        "an AArch64 program with %.0f MB of text and its functions' symbols (%zu copies of libc and "
        "libstdc++); wall time of the process, output to /dev/null; million words a second",
        (double)(f->full_copies * f->c.size) * 1e-6, f->full_copies);
    f->g = (group){.rounds = rounds(f->s), .time = WALL_TIME};
    f->classify = (command){{f->s->xolsim, "classify", "--summary", f->full}};
    contender *classify =
        group_add(&f->g, "file.classify", command_run, &f->classify, words(f, f->full_copies),
                  "xolsim classify --summary of the file: every word's class and every function "
                  "entry, counted");
    bool gnu = command_exists(gnu_objdump);
    if (gnu) add_objdump(f, &f->objdump, "file.objdump", gnu_objdump);
    if (find_llvm_objdump(f->llvm_objdump)) add_objdump(f, &f->llvm, "file.llvm-objdump", f->llvm_objdump);
    if (!group_measure(&f->g)) return false;
    report_group(&f->g, "M/s", 1e-6);
    if (gnu && !f->s->quick) larger_objdump(f);
    if (!*f->llvm_objdump) report_skip("file.llvm-objdump", "llvm-objdump (llvm) is not installed");
    if (gnu)
        report_ratio("file/objdump", classify, group_find(&f->g, "file.objdump"), f->g.rounds);
    else
        report_skip("file/objdump", "%s (binutils-aarch64-linux-gnu) is not installed", gnu_objdump);
    return true;
}

/* ---- threads ----------------------------------------------------------------------------------------- */

static bool link_copies(files *f)
{
    for (size_t i = 0; i < FILES; i++) {
        snprintf(f->copy[i], sizeof *f->copy, "%s/bench/text-%zu", f->s->build, i);
        unlink(f->copy[i]);
        if (link(f->full, f->copy[i]) != 0) return false;
    }
    return true;
}

static void jobs_command(files *f, command *c, const char *jobs)
{
    *c = (command){{f->s->xolsim, "classify", "--summary", "--jobs", jobs}};
    for (size_t i = 0; i < FILES; i++)
        c->argv[5 + i] = f->copy[i];
}

static bool measure_jobs(files *f)
{
    report_heading("%d such files at the same time; wall time; seconds", FILES);
    if (usable_cores() < 2) {
        report_skip("scale.2", "this machine has one core");
        return true;
    }
    if (!link_copies(f)) return false;
    jobs_command(f, &f->one_job, "1");
    jobs_command(f, &f->two_jobs, "2");
    f->jobs = (group){.rounds = rounds(f->s), .time = WALL_TIME};
    contender *one = group_add(&f->jobs, "file.jobs-1", command_run, &f->one_job, 1,
                               "xolsim classify --summary --jobs 1 of %d files", FILES);
    contender *two = group_add(&f->jobs, "file.jobs-2", command_run, &f->two_jobs, 1,
                               "xolsim classify --summary --jobs 2 of the same");
    if (!group_measure(&f->jobs)) return false;
    report_group(&f->jobs, "s", 0);
    if (f->jobs.others > 0.1)
        snprintf(one->what + strlen(one->what), sizeof one->what - strlen(one->what),
                 "; not a quiet machine: other processes used %.2f cores", f->jobs.others);
    report_ratio("scale.2", two, one, f->jobs.rounds);
    return true;
}

/* ---- a small program --------------------------------------------------------------------------------- */

static bool measure_readelf(const settings *s)
{
    static command classify, readelf;
    static group g;
    report_heading("%s; wall time of the process; seconds", libc);
    if (!command_exists("readelf") || access(libc, R_OK) != 0) {
        report_skip("file/readelf", "%s",
                    access(libc, R_OK) ? "libc6-arm64-cross is not installed"
                                       : "readelf (binutils) is not installed");
        return true;
    }
    classify = (command){{s->xolsim, "classify", "--summary", libc}};
    readelf = (command){{"readelf", "-sW", libc}};
    g = (group){.rounds = s->quick ? 1 : SHORT_ROUNDS, .time = WALL_TIME};
    group_add(
        &g, "file.classify-libc", command_run, &classify, 1,
        "xolsim classify --summary: every word's class, every function entry from .dynsym and .eh_frame");
    group_add(&g, "file.readelf-libc", command_run, &readelf, 1, "readelf -sW: every symbol as text");
    if (!group_measure(&g)) return false;
    report_group(&g, "s", 0);
    report_ratio("file/readelf", &g.list[0], &g.list[1], g.rounds);
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static bool write_files(files *f)
{
    f->full_copies = corpus_copies(&f->c, f->s->quick ? 1 : FULL_TEXT);
    f->slice_copies = corpus_copies(&f->c, f->s->quick ? 1 : SLICE_TEXT);
    snprintf(f->full, sizeof f->full, "%s/bench/text-full", f->s->build);
    snprintf(f->slice, sizeof f->slice, "%s/bench/text-slice", f->s->build);
    return write_file(f, f->full, f->full_copies) && write_file(f, f->slice, f->slice_copies);
}

static void remove_files(files *f)
{
    unlink(f->full);
    unlink(f->slice);
    for (size_t i = 0; i < FILES; i++)
        if (*f->copy[i]) unlink(f->copy[i]);
}

bool rows_files(const settings *s)
{
    static files f;
    char why[TEXT];
    f = (files){.s = s};
    bool ok = measure_readelf(s);
    if (!corpus_load(&f.c, "arm64", why)) {
        report_skip("file/objdump", "%s", why);
        report_skip("scale.2", "%s", why);
        return ok;
    }
    ok = ok && write_files(&f) && measure_disassemblers(&f) && measure_jobs(&f);
    remove_files(&f);
    corpus_free(&f.c);
    return ok;
}

bool rows_startup(const settings *s)
{
    static command version, one_word;
    static group g;
    report_heading("startup; wall time of the process; seconds");
    version = (command){{s->xolsim, "--version"}};
    one_word = (command){{s->xolsim, "classify", "--words", "0xd503201f"}};
    g = (group){.rounds = s->quick ? 1 : SHORT_ROUNDS, .time = WALL_TIME};
    group_add(&g, "startup.version", command_run, &version, 1, "xolsim --version");
    group_add(&g, "startup.word", command_run, &one_word, 1, "xolsim classify --words 0xd503201f");
    if (!group_measure(&g)) return false;
    report_group(&g, "s", 0);
    return true;
}

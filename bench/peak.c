/* Memory of a summary of a large program, apart from the mapped file. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGE_TEXT = 1 << 30, LIMIT_MIB = 64 };

/* In KiB, as the kernel says. Sampled: ru_maxrss of a child counts its parent's pages from before exec. */
typedef struct peak {
    long anonymous, file, resident;
    size_t samples;
} peak;

static void raise_to(const char *line, const char *format, long *most)
{
    long value;
    if (sscanf(line, format, &value) == 1 && value > *most) *most = value;
}

static void sample(int pid, peak *p)
{
    char path[64], line[TEXT];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        raise_to(line, "RssAnon: %ld", &p->anonymous);
        raise_to(line, "RssFile: %ld", &p->file);
        raise_to(line, "VmHWM: %ld", &p->resident);
    }
    p->samples++;
    fclose(f);
}

static bool watch(const command *c, peak *p)
{
    const struct timespec pause = {.tv_nsec = 500000};
    int status, pid = command_start(c), ended = 0;
    *p = (peak){0};
    while (pid > 0 && (ended = waitpid(pid, &status, WNOHANG)) == 0) {
        sample(pid, p);
        nanosleep(&pause, NULL);
    }
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void report_mib(const char *name, long kib, const char *what)
{
    double mib = (double)kib / 1024;
    report_raw(name, "MiB", &mib, 1, "%s", what);
}

/* kind: of the program; functions: with symbols, 0: stripped. */
static bool measure(const settings *s, const corpus *c, const char *path, const char *kind, size_t functions)
{
    command classify = {{s->xolsim, "classify", "--summary", path}};
    char name[64], what[TEXT];
    size_t copies = corpus_copies(c, s->quick ? 1 : LARGE_TEXT);
    peak p;
    bool ok = corpus_write_elf(c, path, copies, functions) && watch(&classify, &p);
    unlink(path);
    if (!ok) return false;
    snprintf(name, sizeof name, "peak.%s.anonymous", kind);
    snprintf(what, sizeof what,
             "classify --summary of %.0f MiB of text, %zu functions%s: largest RssAnon of %zu samples, 0.5 "
             "ms apart",
             (double)(copies * c->size) / (1 << 20), functions,
             functions ? "" : " with symbols, but those that calls show", p.samples);
    report_mib(name, p.anonymous, what);
    if (functions == 1) report_limit(name, (double)p.anonymous / 1024, LIMIT_MIB);
    snprintf(name, sizeof name, "peak.%s.file", kind);
    report_mib(name, p.file, "the same: largest RssFile, the mapping and the libraries");
    snprintf(name, sizeof name, "peak.%s.resident", kind);
    report_mib(name, p.resident, "the same: largest VmHWM, both together");
    return true;
}

/* Judged is what the size of the text takes; every function that is counted takes memory too. */
bool rows_memory_peak(const settings *s)
{
    corpus c;
    char path[TEXT], why[TEXT];
    report_heading("peak memory");
    if (!corpus_load(&c, "arm64", why)) {
        report_skip("peak.text.anonymous", "%s", why);
        return true;
    }
    size_t all = corpus_functions(&c, corpus_copies(&c, s->quick ? 1 : LARGE_TEXT));
    snprintf(path, sizeof path, "%s/bench/text-large", s->build);
    bool ok = measure(s, &c, path, "text", 1) && measure(s, &c, path, "stripped", 0) &&
              measure(s, &c, path, "symbols", all);
    corpus_free(&c);
    return ok;
}

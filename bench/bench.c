/* Everything that is measured, in one run. Exit status: 0, or 1 when a ratio misses its bound or a part
 * failed, or 2 for a wrong option.
 *
 *     bench [--xolsim PROGRAM] [--build DIR] [--commit NAME] [--json FILE] [--quick]
 *     bench --list                       what is measured, without doing it
 *     bench --append JSON HISTORY        a line for a run; then compared with the one before
 *     bench --compare HISTORY            the last two lines */
#include "bench.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shims.h"

static void cpu_line(const char *line, void *arg)
{
    char *out = arg;
    const char *colon = strchr(line, ':');
    if (*out || !colon || strncmp(line, "model name", 10) != 0) return;
    snprintf(out, TEXT, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
}

static void machine_facts(void)
{
    char cpu[TEXT] = "", kernel[TEXT], load[TEXT];
    int major, minor;
    ours o;
    xs_classifier *c = NULL;
    command_lines("cat /proc/cpuinfo", cpu_line, cpu);
    command_version("uname -srm", kernel);
    command_version("cut -d' ' -f1-3 /proc/loadavg", load);
    cs_version(&major, &minor);
    report_heading("machine");
    report_fact("cpu", "%s", *cpu ? cpu : "unknown");
    report_count("cores", usable_cores());
    report_count("last_cache_bytes", last_level_cache());
    if (ours_open(&o, "arm64") && xs_classifier_new(o.decoder, NULL, &c) == XS_OK)
        report_fact("path", "%s", xs_classifier_path(c));
    xs_classifier_free(c);
    ours_close(&o);
    report_fact("system", "%s", kernel);
    report_fact("load", "%s (1, 5 and 15 minutes, at the beginning)", load);
    report_fact("compiler", "%s", __VERSION__);
    report_fact("capstone", "%d.%d", major, minor);
#ifdef BENCH_LLVM
    report_fact("llvm", "%s", bench_llvm_version());
#else
    report_fact("llvm", "not installed");
#endif
#ifdef BENCH_VIXL
    report_fact("vixl", "%s", BENCH_VIXL);
#else
    report_fact("vixl", "not installed");
#endif
}

static int run_all(const settings *s, const char *json)
{
    char load[TEXT];
    if (!report_open(s)) return EXIT_FAILURE;
    machine_facts();
    bool ok = rows_bulk(s, "arm64") && rows_bulk(s, "riscv64") && rows_beyond_cache(s) && rows_startup(s) &&
              rows_files(s) && rows_memory_peak(s) && rows_execution(s);
    report_heading("at the end");
    command_version("cut -d' ' -f1-3 /proc/loadavg", load);
    report_fact("load_end", "%s", load);
    if (!report_close(json)) ok = false;
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(void)
{
    fputs("usage: bench [--xolsim PROGRAM] [--build DIR] [--bench DIR] [--commit NAME] [--json FILE] "
          "[--quick]\n"
          "       bench --list | --append JSON HISTORY | --compare HISTORY\n",
          stderr);
    return 2;
}

/* --name value pairs and --quick. */
static bool parse(int argc, char **argv, settings *s, const char **json)
{
    const struct {
        const char *name, **value;
    } options[] = {{"--xolsim", &s->xolsim},
                   {"--build", &s->build},
                   {"--bench", &s->bench},
                   {"--commit", &s->commit},
                   {"--json", json}};
    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--quick") == 0;
        if (known) s->quick = true;
        for (size_t k = 0; !known && k < sizeof options / sizeof *options; k++)
            if (strcmp(argv[i], options[k].name) == 0 && i + 1 < argc) {
                *options[k].value = argv[++i];
                known = true;
            }
        if (!known) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    settings s = {.xolsim = "build/xolsim", .build = "build", .bench = "bench", .commit = "-"};
    const char *json = "build/bench.json";
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        report_list();
        return EXIT_SUCCESS;
    }
    if (argc == 4 && strcmp(argv[1], "--append") == 0) return history_append(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "--compare") == 0) return history_compare(argv[2]);
    return parse(argc, argv, &s, &json) ? run_all(&s, json) : usage();
}

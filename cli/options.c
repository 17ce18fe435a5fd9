/* Options of all commands. */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { CLASSIFY = 1, EXPLAIN = 2, TABLE = 4, ANY = CLASSIFY | EXPLAIN | TABLE };

enum {
    OPT_TARGET = 256,
    OPT_ARCH,
    OPT_KERNEL,
    OPT_MODE,
    OPT_TABLE,
    OPT_FORMAT,
    OPT_COLOR,
    OPT_FAIL_ON,
    OPT_JOBS,
    OPT_SITES,
    OPT_SYMBOL,
    OPT_SECTION,
    OPT_CLASS,
    OPT_SORT,
    OPT_SUMMARY,
    OPT_WORDS,
    OPT_BYTES,
    OPT_AT,
    OPT_TEXT,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"target", required_argument, NULL, OPT_TARGET},
    {"arch", required_argument, NULL, OPT_ARCH},
    {"kernel", required_argument, NULL, OPT_KERNEL},
    {"mode", required_argument, NULL, OPT_MODE},
    {"table", required_argument, NULL, OPT_TABLE},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"color", required_argument, NULL, OPT_COLOR},
    {"fail-on", required_argument, NULL, OPT_FAIL_ON},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"sites", required_argument, NULL, OPT_SITES},
    {"symbol", required_argument, NULL, OPT_SYMBOL},
    {"section", required_argument, NULL, OPT_SECTION},
    {"class", required_argument, NULL, OPT_CLASS},
    {"sort", required_argument, NULL, OPT_SORT},
    {"summary", no_argument, NULL, OPT_SUMMARY},
    {"words", no_argument, NULL, OPT_WORDS},
    {"bytes", no_argument, NULL, OPT_BYTES},
    {"at", required_argument, NULL, OPT_AT},
    {"text", required_argument, NULL, OPT_TEXT},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* Which commands an option belongs to. */
static unsigned commands_of(int opt)
{
    if (opt >= OPT_SITES && opt <= OPT_SUMMARY) return CLASSIFY;
    if (opt == OPT_WORDS || opt == OPT_FAIL_ON || opt == OPT_JOBS) return CLASSIFY;
    if (opt == OPT_BYTES || opt == OPT_AT || opt == OPT_TEXT) return CLASSIFY | EXPLAIN;
    return ANY;
}

void options_help(FILE *f)
{
    fputs("usage: xolsim classify [OPTION]... FILE...          how probes on a program's sites are carried "
          "out\n"
          "       xolsim classify [OPTION]... --words HEX...   the same for instruction words (- : standard "
          "input)\n"
          "       xolsim explain [OPTION]... HEX | FILE:FUNC[+OFF] | FILE:0xADDR\n"
          "       xolsim table list | show TARGET | dump TARGET | census TARGET | diff TARGET TARGET | check "
          "FILE\n"
          "\n"
          "A probe is carried out by simulate (a handler edits registers), slot (the instruction is stepped "
          "out\n"
          "of line) or reject (it cannot be placed).\n"
          "\n"
          "target:\n"
          "  --target T        ARCH[+EXT|-EXT][/KERNEL[/MODE]]: arm64/6.12.y/uprobe, riscv64-c/6.6/kprobe,\n"
          "                    arm64/ideal; the default is the newest kernel, uprobe\n"
          "  --arch A, --kernel K, --mode M   the parts singly; a file brings its own architecture\n"
          "  --table FILE      a .decode file instead of the built-in table\n"
          "classify:\n"
          "  --sites KIND      entry (function entries, the default), usdt, return (returns and tail calls), "
          "all\n"
          "  --symbol GLOB     only functions of this name; --section NAME: only this section\n"
          "  --class CLASS     only simulate, slot or reject;  --sort addr|name|class|size\n"
          "  --summary         no table of sites\n"
          "  --words           the arguments are instruction words;  --bytes: bytes in memory order\n"
          "  --at ADDR         address of the first word\n"
          "  --fail-on WHAT    exit 1 if a site is reject, slot or hazard (a list)\n"
          "  --jobs N          files worked on at the same time (default: one per core)\n"
          "  --text SOURCE     instruction text from capstone (the default) or from the table alone\n"
          "output:\n"
          "  --format F        text, json, jsonl or tsv;  -o FILE, --output FILE\n"
          "  --color WHEN      auto, always or never (auto heeds NO_COLOR)\n"
          "  --help, --version\n"
          "\n"
          "exit: 0 ok, 1 something --fail-on names, or a difference, 2 usage, 3 unreadable or unsupported "
          "input,\n"
          "4 internal error\n",
          f);
}

int complain(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr);
    fputs("xolsim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
    return status;
}

bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] | 32) == 'x';
    if (strspn(text + (hex ? 2 : 0), hex ? "0123456789abcdefABCDEF" : "0123456789") !=
        strlen(text) - (hex ? 2 : 0))
        return false;
    *out = strtoull(text, &end, hex ? 16 : 10);
    return *text && end != text && strlen(text) <= (hex ? 18u : 19u);
}

/* Place of word in a "a|b|c" list, or -1 after a message. */
static int choice(const char *option, const char *word, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0) return i;
    char known[128] = "";
    for (int i = 0; list[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", list[i]);
    complain(STATUS_USAGE, "--%s: '%s' is not one of %s", option, word, known);
    return -1;
}

static const char *const formats[] = {"text", "json", "jsonl", "tsv", NULL};
static const char *const site_kinds[] = {"entry", "usdt", "return", "all", NULL};
static const char *const sort_keys[] = {"addr", "name", "class", "size", NULL};
static const char *const class_names[] = {"reject", "simulate", "slot", NULL};
static const char *const text_sources[] = {"capstone", "table", NULL};
static const char *const colors[] = {"never", "auto", "always", NULL};
static const char *const findings[] = {"reject", "slot", "hazard", NULL};

static bool parse_fail_on(options *o, char *list)
{
    char *save = NULL;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        int i = choice("fail-on", item, findings);
        if (i < 0) return false;
        o->fail_on |= 1u << i;
    }
    return true;
}

static bool parse_jobs(options *o, const char *text)
{
    uint64_t n;
    if (!parse_number(text, &n) || n == 0 || n > 1024) {
        complain(STATUS_USAGE, "--jobs: '%s' is not a number from 1 to 1024", text);
        return false;
    }
    o->jobs = (unsigned)n;
    return true;
}

static bool parse_at(options *o, const char *text)
{
    o->has_at = parse_number(text, &o->at);
    if (!o->has_at) complain(STATUS_USAGE, "--at: '%s' is not an address", text);
    return o->has_at;
}

/* An option with one of a few words; false after a message. */
static bool parse_word(options *o, int opt)
{
    int i = -1;
    switch (opt) {
    case OPT_FORMAT: o->format = (output_format)(i = choice("format", optarg, formats)); break;
    case OPT_SITES: o->sites = (sites_kind)(i = choice("sites", optarg, site_kinds)); break;
    case OPT_SORT: o->sort = (sort_key)(i = choice("sort", optarg, sort_keys)); break;
    case OPT_CLASS: o->cls = i = choice("class", optarg, class_names); break;
    case OPT_TEXT: o->table_text = (i = choice("text", optarg, text_sources)) == 1; break;
    case OPT_COLOR: o->color = (i = choice("color", optarg, colors)) - 1; break;
    default: break;
    }
    return i >= 0;
}

static bool parse_option(options *o, int opt)
{
    switch (opt) {
    case OPT_TARGET: o->target = optarg; return true;
    case OPT_ARCH: o->arch = optarg; return true;
    case OPT_KERNEL: o->kernel = optarg; return true;
    case OPT_MODE: o->mode = optarg; return true;
    case OPT_TABLE: o->table = optarg; return true;
    case OPT_SYMBOL: o->symbol = optarg; return true;
    case OPT_SECTION: o->section = optarg; return true;
    case 'o': o->output = optarg; return true;
    case OPT_SUMMARY: o->summary = true; return true;
    case OPT_WORDS: o->words = true; return true;
    case OPT_BYTES: o->bytes = true; return true;
    case OPT_AT: return parse_at(o, optarg);
    case OPT_JOBS: return parse_jobs(o, optarg);
    case OPT_FAIL_ON: return parse_fail_on(o, optarg);
    default: return parse_word(o, opt);
    }
}

static unsigned command_bit(const char *verb)
{
    return strcmp(verb, "classify") == 0 ? CLASSIFY : strcmp(verb, "explain") == 0 ? EXPLAIN : TABLE;
}

static const char *option_name(int opt)
{
    for (const struct option *l = long_options; l->name; l++)
        if (l->val == opt) return l->name;
    return "?";
}

int options_parse(options *o, int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){.cls = -1, .jobs = cores > 0 && cores < 1024 ? (unsigned)cores : 1};
    int opt;
    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1) {
        if (opt == OPT_HELP) {
            options_help(stdout);
            return STATUS_OK;
        }
        if (opt == OPT_VERSION) {
            printf("xolsim %s, %s\n", XOLSIM_VERSION, xs_disasm_version());
            return STATUS_OK;
        }
        if (opt == '?')
            return complain(STATUS_USAGE, "unknown option '%s'; see xolsim --help", argv[optind - 1]);
        if (opt == ':') return complain(STATUS_USAGE, "'%s' wants a value", argv[optind - 1]);
        if (!(commands_of(opt) & command_bit(argv[0])))
            return complain(STATUS_USAGE, "--%s is no option of %s", option_name(opt), argv[0]);
        if (!parse_option(o, opt)) return STATUS_USAGE;
    }
    if (o->target && (o->arch || o->kernel || o->mode))
        return complain(STATUS_USAGE, "--target stands alone: it names arch, kernel and mode");
    o->args = argv + optind;
    o->count = argc - optind;
    return -1;
}

/* Options of all commands. */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum {
    CLASSIFY = 1,
    EXPLAIN = 2,
    TABLE = 4,
    SIMULATE = 8,
    LOCKSTEP = 16,
    AUDIT = 32,
    REFEREE = 64, /* kernel */
    ANY = CLASSIFY | EXPLAIN | TABLE | SIMULATE | LOCKSTEP | AUDIT | REFEREE
};

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
    OPT_REG,
    OPT_SP,
    OPT_PC,
    OPT_NZCV,
    OPT_GCSPR,
    OPT_BTYPE,
    OPT_MEM,
    OPT_QUIRK,
    OPT_GUARDED,
    OPT_SP_CHECK,
    OPT_BATCH,
    OPT_RULE,
    OPT_SEED,
    OPT_COUNT,
    OPT_TIME,
    OPT_STATES,
    OPT_SHARD,
    OPT_FILE,
    OPT_WORD,
    OPT_DIVERGENCES,
    OPT_SLOTS,
    OPT_PLAIN,
    OPT_NO_PROOF,
    OPT_SYMBOLS,
    OPT_IDENTIFY,
    OPT_EXHAUSTIVE,
    OPT_DUMP,
    OPT_STATE,
    OPT_HANDLERS,
    OPT_SCAN,
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
    {"reg", required_argument, NULL, OPT_REG},
    {"sp", required_argument, NULL, OPT_SP},
    {"pc", required_argument, NULL, OPT_PC},
    {"nzcv", required_argument, NULL, OPT_NZCV},
    {"gcspr", required_argument, NULL, OPT_GCSPR},
    {"btype", required_argument, NULL, OPT_BTYPE},
    {"mem", required_argument, NULL, OPT_MEM},
    {"quirk", required_argument, NULL, OPT_QUIRK},
    {"guarded", no_argument, NULL, OPT_GUARDED},
    {"sp-check", no_argument, NULL, OPT_SP_CHECK},
    {"batch", no_argument, NULL, OPT_BATCH},
    {"rule", required_argument, NULL, OPT_RULE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"count", required_argument, NULL, OPT_COUNT},
    {"time", required_argument, NULL, OPT_TIME},
    {"states", required_argument, NULL, OPT_STATES},
    {"shard", required_argument, NULL, OPT_SHARD},
    {"file", required_argument, NULL, OPT_FILE},
    {"word", required_argument, NULL, OPT_WORD},
    {"divergences", required_argument, NULL, OPT_DIVERGENCES},
    {"slots", no_argument, NULL, OPT_SLOTS},
    {"plain", no_argument, NULL, OPT_PLAIN},
    {"no-proof", no_argument, NULL, OPT_NO_PROOF},
    {"symbols", required_argument, NULL, OPT_SYMBOLS},
    {"identify", no_argument, NULL, OPT_IDENTIFY},
    {"exhaustive", no_argument, NULL, OPT_EXHAUSTIVE},
    {"dump", no_argument, NULL, OPT_DUMP},
    {"state", required_argument, NULL, OPT_STATE},
    {"simulate", no_argument, NULL, OPT_HANDLERS},
    {"scan", no_argument, NULL, OPT_SCAN},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char *option_name(int opt)
{
    for (const struct option *l = long_options; l->name; l++)
        if (l->val == opt) return l->name;
    return "?";
}

/* Which commands an option belongs to. */
static unsigned commands_of(int opt)
{
    if (opt == OPT_JOBS) return CLASSIFY | LOCKSTEP | AUDIT | REFEREE;
    if (opt == OPT_CLASS) return CLASSIFY | LOCKSTEP;
    if (opt == OPT_WORDS) return CLASSIFY | REFEREE;
    if (opt >= OPT_SITES && opt <= OPT_SECTION) return CLASSIFY | AUDIT;
    if (opt >= OPT_SORT && opt <= OPT_SUMMARY) return CLASSIFY;
    if (opt == OPT_FAIL_ON) return CLASSIFY;
    if (opt == OPT_TEXT) return ANY & ~(unsigned)TABLE;
    if (opt == OPT_BYTES || opt == OPT_AT) return CLASSIFY | EXPLAIN;
    if (opt == OPT_SHARD || opt == OPT_SEED) return LOCKSTEP | REFEREE;
    if (opt == OPT_NO_PROOF) return AUDIT;
    if (opt == OPT_FILE) return LOCKSTEP | AUDIT;
    if (opt >= OPT_RULE && opt <= OPT_PLAIN) return LOCKSTEP;
    if (opt == OPT_SYMBOLS || opt == OPT_EXHAUSTIVE || opt == OPT_STATE) return AUDIT | REFEREE;
    if (opt >= OPT_SYMBOLS && opt <= OPT_SCAN) return REFEREE;
    if (opt == OPT_MEM || (opt >= OPT_REG && opt <= OPT_NZCV)) return SIMULATE | LOCKSTEP;
    if (opt >= OPT_REG && opt <= OPT_BATCH) return SIMULATE;
    return ANY;
}

void options_help(FILE *f)
{
    fputs(
        "usage: xolsim classify [OPTION]... FILE...          how probes on a program's sites are carried "
        "out\n"
        "       xolsim classify [OPTION]... --words HEX...   the same for instruction words (- : standard "
        "input)\n"
        "       xolsim explain [OPTION]... HEX | FILE:FUNC[+OFF] | FILE:0xADDR\n"
        "       xolsim simulate [OPTION]... HEX              what carrying out an instruction changes\n"
        "       xolsim simulate [OPTION]... --batch          the same for JSON Lines on standard input\n"
        "       xolsim lockstep [OPTION]...                  the simulator against Unicorn\n"
        "       xolsim lockstep merge REPORT...              the shards of one run, together\n"
        "       xolsim audit [OPTION]... TARGET | VMLINUX    where a kernel's class is not what is needed\n"
        "       xolsim kernel [OPTION]... VMLINUX [HEX]...   a real kernel's own functions asked, in "
        "Unicorn\n"
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
        "  --jobs N          threads, for files and for parts of a file (default: one per core)\n"
        "  --text SOURCE     instruction text from capstone (the default) or from the table alone\n"
        "simulate:\n"
        "  --reg NAME=VALUE  a register (a list, repeatable): x0..x30, x1..x31, ra, a0 ...; all others are "
        "0\n"
        "  --sp V, --pc V, --nzcv V, --gcspr V, --btype N   registers; nzcv also as letters (capital: set);\n"
        "                    gcspr turns the guarded control stack on\n"
        "  --mem ADDR:HEX    memory that exists (repeatable); any other access is refused\n"
        "  --guarded         landing pads are checked;  --sp-check: so is the alignment of sp\n"
        "  --quirk NAME      act as a kernel with this bug (a list, repeatable); kernel: all the target has\n"
        "lockstep:\n"
        "  --target T        its rules; without it, each rule of every target with --arch A, or of all\n"
        "  --rule NAME       this rule alone;  --class simulate (the default) or slot\n"
        "  --slots           slot rules at their own address and 2 GiB away (the default target is ideal)\n"
        "  --file BINARY     every instruction of a program, where it is\n"
        "  --count N         checks for each architecture;  --time SECONDS: until then;  --states N for a "
        "word\n"
        "  --seed N          the same words and states again;  --jobs N: processes\n"
        "  --shard I/N       this part of them; merge puts the JSON reports of all parts together\n"
        "  --word HEX        one check: --pc, --sp, --nzcv, --reg, --mem as for simulate\n"
        "  --plain           the same by the plain pattern, to compare the rates\n"
        "  --divergences F   known disagreements instead of the built-in ones\n"
        "audit:\n"
        "  --file BINARY     which instructions of a program are in a finding; --sites, --symbol, --section\n"
        "  --no-proof        nothing is run in Unicorn\n"
        "  --exhaustive      VMLINUX: the answers of its own decode function to every word, instead of those "
        "of\n"
        "                    the target that it is identified as; --mode, --symbols, --jobs, --state as "
        "below\n",
        f);
    fputs("kernel:\n"
          "  --words           what it answers for instruction words (- : standard input)\n"
          "  --identify        which target it equals, by a few hundred telling words\n"
          "  --exhaustive      every word, compared with --target T, by default the identified one;\n"
          "                    --dump: its runs, as table dump prints them;  --jobs N: processes\n"
          "  --state DIR       keep what is finished, and go on there;  --shard I/N: this part of it\n"
          "  --simulate        its simulate_* functions beside ours, on states from --seed N\n"
          "  --scan            its search for a load-exclusive before a kprobe, likewise on places\n"
          "  --mode M          uprobe (the default; --identify: both) or kprobe\n"
          "  --symbols FILE    System.map or kallsyms, for an Image or a stripped vmlinux\n"
          "output:\n"
          "  --format F        text, json, jsonl or tsv, for audit also markdown;  -o FILE, --output FILE\n"
          "  --color WHEN      auto, always or never (auto heeds NO_COLOR)\n"
          "  --help, --version\n"
          "\n"
          "exit: 0 ok, 1 something --fail-on names, a difference or a finding, 2 usage, 3 unreadable or "
          "unsupported "
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
    bool hex = text[0] == '0' && (text[1] | 32) == 'x' && text[2];
    if (strspn(text + (hex ? 2 : 0), hex ? "0123456789abcdefABCDEF" : "0123456789") !=
        strlen(text) - (hex ? 2 : 0))
        return false;
    *out = strtoull(text, &end, hex ? 16 : 10);
    return *text && end != text && strlen(text) <= (hex ? 18u : 19u);
}

bool parse_shard(const char *text, unsigned *index, unsigned *of)
{
    char first[16];
    uint64_t i, n;
    size_t len = strcspn(text, "/");
    snprintf(first, sizeof first, "%.*s", (int)(len < 15 ? len : 15), text);
    if (text[len] != '/' || !parse_number(first, &i) || !parse_number(text + len + 1, &n)) return false;
    *index = (unsigned)i;
    *of = (unsigned)n;
    return i >= 1 && i <= n && n <= 1000000;
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

static const char *const formats[] = {"text", "json", "jsonl", "tsv", "markdown", NULL};
static const char *const site_kinds[] = {"entry", "usdt", "return", "all", NULL};
static const char *const sort_keys[] = {"addr", "name", "class", "size", NULL};
static const char *const class_names[] = {"reject", "simulate", "slot", NULL};
static const char *const text_sources[] = {"capstone", "table", NULL};
static const char *const colors[] = {"never", "auto", "always", NULL};
static const char *const findings[] = {"reject", "slot", "hazard", NULL};

const char *sites_kind_name(sites_kind kind)
{
    return site_kinds[kind];
}

static bool parse_fail_on(options *o, char *list)
{
    char *save = NULL;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        int i = choice("fail-on", item, findings);
        if (i < 0) return false;
        o->fail_on |= 1u << i;
    }
    if (!o->fail_on) complain(STATUS_USAGE, "--fail-on: reject, slot or hazard");
    return o->fail_on != 0;
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

/* What simulate sets by name; flags without a value are 1. */
static bool add_setting(options *o, const char *name, const char *value)
{
    if (o->setting_count == MAX_SETTINGS) {
        complain(STATUS_USAGE, "--%s: more than %d settings", name, MAX_SETTINGS);
        return false;
    }
    o->settings[o->setting_count++] = (setting){name, value ? value : "1"};
    return true;
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
    case OPT_BATCH: o->batch = true; return true;
    case OPT_SP_CHECK: return add_setting(o, "sp_check", NULL);
    case OPT_AT: return parse_at(o, optarg);
    case OPT_JOBS: return parse_jobs(o, optarg);
    case OPT_FAIL_ON: return parse_fail_on(o, optarg);
    default:
        return (opt >= OPT_REG && opt <= OPT_GUARDED) || (opt >= OPT_RULE && opt <= OPT_SCAN)
                   ? add_setting(o, option_name(opt), optarg)
                   : parse_word(o, opt);
    }
}

static unsigned command_bit(const char *verb)
{
    static const struct {
        const char *verb;
        unsigned bit;
    } verbs[] = {{"classify", CLASSIFY}, {"explain", EXPLAIN}, {"simulate", SIMULATE},
                 {"lockstep", LOCKSTEP}, {"audit", AUDIT},     {"kernel", REFEREE}};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verb, verbs[i].verb) == 0) return verbs[i].bit;
    return TABLE;
}

int options_parse(options *o, int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){.cls = -1,
                   .sites = command_bit(argv[0]) == AUDIT ? SITES_ALL : SITES_ENTRY,
                   .jobs = cores > 0 && cores < 1024 ? (unsigned)cores : 1};
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
    if (o->format == FORMAT_MARKDOWN && command_bit(argv[0]) != AUDIT)
        return complain(STATUS_USAGE, "--format markdown is for audit alone");
    if (o->target && (o->arch || o->kernel || o->mode))
        return complain(STATUS_USAGE, "--target stands alone: it names arch, kernel and mode");
    o->args = argv + optind;
    o->count = argc - optind;
    return -1;
}

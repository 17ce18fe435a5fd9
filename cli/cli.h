/* What the commands share: options, the target in view, output. Only files in cli/ print or exit. */
#ifndef XOLSIM_CLI_H
#define XOLSIM_CLI_H

#include <json-c/json.h>
#include <stdio.h>

#include "disasm.h"
#include "image.h"
#include "xolsim.h"

/* Exit codes. A later one does not hide an earlier, larger one. */
enum { STATUS_OK = 0, STATUS_FOUND = 1, STATUS_USAGE = 2, STATUS_INPUT = 3, STATUS_INTERNAL = 4 };

typedef enum output_format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_JSONL,
    FORMAT_TSV,
    FORMAT_MARKDOWN
} output_format;
typedef enum sites_kind { SITES_ENTRY, SITES_USDT, SITES_RETURN, SITES_ALL } sites_kind;
typedef enum sort_key { SORT_ADDR, SORT_NAME, SORT_CLASS, SORT_SIZE } sort_key;
enum { FAIL_REJECT = 1, FAIL_SLOT = 2, FAIL_HAZARD = 4 };

/* simulate: what is set, in the order given: {"mem", "0x1000:00ff"}, {"reg", "x0=1,x1=2"}, {"sp", "0x10"}. */
typedef struct setting {
    const char *name, *value;
} setting;
enum { MAX_SETTINGS = 256 };

typedef struct options {
    const char *target, *arch, *kernel, *mode, *table; /* NULL: not given */
    const char *output, *symbol, *section;
    bool table_text; /* --text table: not Capstone's */
    output_format format;
    sites_kind sites;
    sort_key sort;
    int color; /* 0 auto, 1 always, -1 never */
    unsigned fail_on;
    int cls; /* only sites of this xs_class; -1: all */
    unsigned jobs;
    bool words, bytes, summary, has_at;
    uint64_t at;
    bool batch;
    setting settings[MAX_SETTINGS];
    unsigned setting_count;
    char **args;
    int count; /* of args */
} options;

/* options.c. Fills *o from argv (argv[0] is the verb). Returns -1, or the code to exit with. */
const char *sites_kind_name(sites_kind kind);
int options_parse(options *o, int argc, char **argv);
void options_help(FILE *f);

/* output.c: rows in four formats. */
typedef struct column {
    const char *key, *title;
    int width; /* text format; the last column is not padded */
} column;

typedef struct output {
    FILE *f;
    output_format format;
    bool color;
    const column *columns;
    size_t column_count;
    bool comma;     /* json: something stands before */
    bool untitled;  /* no column titles: they stand above already */
    bool something; /* there is a result in it, not only its frame */
    const char *path;
    char temporary[1024]; /* where the file is written before it gets its name; "": nowhere */
} output;

bool output_open(output *out, const options *o); /* false: message printed */
int output_close(output *out, int status); /* the status, or STATUS_INTERNAL when it cannot be written */
void output_begin(output *out);            /* json: an object in the list at hand */
void output_end(output *out);
void output_list(output *out, const char *key, const column *columns, size_t count);
void output_list_end(output *out);
void output_row(output *out, const char *type, json_object *row); /* takes row */
void output_value(output *out, const char *key, const char *type,
                  json_object *v);                         /* takes v; not text, tsv */
const char *output_paint(const output *out, xs_class cls); /* escape sequence or "" */
const char *output_plain(const output *out);

/* "key       text", in the text format. */
void text_line(FILE *f, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

json_object *json_hex(uint64_t value, int digits); /* "0x..." with at least so many digits */
json_object *json_bytes(const char *bytes); /* names in files may be anything: "\\xff" where not UTF-8 */
json_object *json_name(const char *name);   /* null for "-" and "" */
json_object *json_hazards(unsigned hazards);
void hazards_text(unsigned hazards, char *buf, size_t size); /* "a,b" or "-" */

/* view.c: a target and everything that answers for it. */
typedef struct view {
    xs_table *table;
    bool table_owned;
    xs_target target;
    char name[96];
    xs_decoder *decoder, *ideal; /* ideal: NULL when the table has no such target */
    xs_classifier *classifier;   /* of decoder */
    xs_disasm *disasm;           /* NULL: Capstone has no opinion on this architecture */
    unsigned granule;
    bool is_arm; /* for texts alone */
} view;

/* Open the target that the options name; path, when not NULL, is a file, arch its architecture, and isa
 * its RISC-V ISA string. Returns STATUS_OK, or a status after printing why. */
int view_open(view *v, const options *o, const char *path, const char *arch, const char *isa);
/* The same for a target spelled out. */
int view_open_target(view *v, const options *o, const char *target);
void view_close(view *v);
xs_disasm *view_disasm(const view *v); /* one more like v->disasm, for another thread; xs_disasm_close it */
/* The table of an architecture: --table's or the built-in one; NULL after a message. */
xs_table *table_open(const options *o, const char *arch, int *status);
/* Everything that is wrong with a .decode file; STATUS_OK when that could be found out. */
int table_findings(const char *path, xs_diag *diags, size_t max, size_t *count);

/* The architecture of a file, as targets spell it. program.c */
const char *image_arch_name(const xs_image *image);

/* text.c */
typedef struct insn_text {
    char mnemonic[32];
    char text[224];
    bool ours; /* from the table's operands: Capstone has no opinion */
} insn_text;
/* An operand's value: "x3", "-16", "0x1f"; what moves the pc as the address it moves to. */
void operand_text(const xs_operand *operand, int64_t value, uint64_t addr, char *buf, size_t size);
bool rule_is_anonymous(const xs_rule *rule); /* a line that names no instruction, only a region */
const xs_rule *telling_rule(const view *v, const xs_insn *insn);
void text_of(const view *v, const xs_insn *insn, uint64_t addr, insn_text *out);

/* drawing.c: "0 opc 011100 imm[20:2] vt[4:0]", as the table draws the rule. */
enum { DRAWING = 400 };
void rule_drawing(const xs_table *table, const xs_rule *rule, char *buf, size_t size);

/* site.c: one row for a site, the same in every command. */
typedef struct site_place {
    const char *file, *section, *function; /* NULL: not known */
    uint64_t addr, function_offset;
    uint64_t file_offset; /* UINT64_MAX: none */
    const char *kind;     /* "entry", "return", ...; NULL: none */
} site_place;
json_object *site_json(const view *v, const xs_site *site, const site_place *place);
unsigned site_found(const options *o, const xs_site *site); /* STATUS_FOUND when --fail-on asks for it */

/* One verb each; they return the exit code. */
int command_classify(const options *o);
int command_explain(const options *o);
int command_table(const options *o);
int command_simulate(const options *o);
int command_lockstep(const options *o);
int command_audit(const options *o);
int command_kernel(const options *o);

int classify_words(const options *o); /* words.c */
int simulate_batch(const options *o); /* simbatch.c */

/* Put the words of the command line, or of standard input for "-", into bytes as they lie in memory. */
typedef struct word_list {
    uint8_t *bytes;
    size_t size;
} word_list;
int words_read(const options *o, unsigned granule, word_list *out);
bool parse_shard(const char *text, unsigned *index, unsigned *of); /* "I/N" */
bool parse_number(const char *text, uint64_t *out); /* decimal or 0x; false when it is anything else */

int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns status */
static inline int worse(int a, int b)
{
    return a > b ? a : b;
}

#endif

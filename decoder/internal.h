/* What the decoder's files share: the parsed table and its parser. Not installed. */
#ifndef XS_DECODER_INTERNAL_H
#define XS_DECODER_INTERNAL_H

#include "xolsim.h"

enum {
    MAX_KERNELS = 128,
    MAX_NAMES = 32, /* architectures, modes, extensions: bits of a mask */
    MAX_OPERANDS = XS_MAX_OPERANDS,
    MAX_HANDLERS = 64,
    MAX_SITES = 32,
    MAX_OVERLAPS = 32,
    MAX_LINES = 4096,     /* rules in a file */
    MAX_DECISIONS = 8192, /* those copied by `like` included */
    MAX_TOKENS = 64
};

/* The targets a decision applies to: one bit for each name the table declares. */
typedef struct when {
    uint64_t kernels[MAX_KERNELS / 64];
    uint32_t archs, modes;
    uint32_t ext_any;  /* at least one of these, unless 0 */
    uint32_t ext_none; /* none of these */
    unsigned given;    /* kernel, mode, arch, ext: a bit for each that stands there */
} when;

typedef struct kernel {
    char name[16];
    xs_kernel_kind kind;
    unsigned order; /* place among the releases; a series or named target has its base's */
    bool ranged;    /* matches ranges (a named target without a base does not) */
    int mode;       /* named targets: the only mode, else -1 */
} kernel;

typedef enum site_kind { SITE_ALIGN, SITE_BOUNDARY } site_kind;

typedef struct site_rule {
    site_kind kind;
    unsigned align; /* bytes */
    const char *error;
    when when;
} site_rule;

typedef struct overlap {
    const char *first, *second;
    unsigned line;
} overlap;

typedef struct names {
    const char *name[MAX_NAMES];
    size_t count;
} names;

/* A piece, and behind an operand's last one what makes it a number; an operand's pieces are together. */
typedef struct xs_step {
    uint32_t mask; /* of the piece, at bit 0 */
    uint8_t lsb, to, operand;
    int32_t base;
    uint64_t sign; /* the operand's sign bit, 0: it has none */
    uint64_t keep; /* 0 behind an operand's last piece, else all bits */
} xs_step;

struct xs_table {
    char *text; /* the file, cut into NUL-terminated tokens; every name points into it */
    names archs, modes, exts;
    uint32_t arch_ext[MAX_NAMES]; /* extensions an architecture has by default */
    kernel kernels[MAX_KERNELS];
    size_t kernel_count, release_count; /* releases are the first release_count kernels */
    xs_operand operands[MAX_OPERANDS];
    unsigned operand_line[MAX_OPERANDS];
    size_t operand_count;
    const char *handlers[MAX_HANDLERS];
    unsigned handler_line[MAX_HANDLERS];
    size_t handler_count;
    xs_quirk quirks[XS_MAX_QUIRKS];
    when quirk_whens[XS_MAX_QUIRKS];
    unsigned quirk_line[XS_MAX_QUIRKS];
    size_t quirk_count;
    site_rule sites[MAX_SITES];
    size_t site_count;
    overlap overlaps[MAX_OVERLAPS];
    size_t overlap_count;
    xs_rule *rules;
    size_t rule_count;
    xs_piece *pieces;
    xs_step *steps; /* parallel to pieces, rule by rule */
    size_t piece_count;
    xs_decision *decisions;
    when *whens; /* parallel to decisions */
    size_t decision_count;
    unsigned granule;
};

/* The 256 sets of rules that one byte of a word allows, for each of its four bytes: the rules that
 * match a word are the AND of four rows, and the first one is the lowest bit. */
typedef struct xs_index {
    size_t words;   /* 64-bit words in a set */
    uint64_t *rows; /* [4][256][words] */
} xs_index;

/* index.c. For so many rules, none of which is in it yet; false: no memory. */
bool xs_index_open(xs_index *index, size_t rules);
void xs_index_add(xs_index *index, size_t rule, uint32_t mask, uint32_t value);
void xs_index_close(xs_index *index);

/* The first rule that matches; the last rule must match every word. Up to 64 rules, as most kernels' tables
 * have once their instructions of one class are one, take no loop. */
static inline size_t xs_index_find(const xs_index *index, uint32_t word)
{
    const uint64_t *rows = index->rows;
    const size_t a = word & 255, b = 256 + (word >> 8 & 255), c = 512 + (word >> 16 & 255),
                 e = 768 + (word >> 24);
    const size_t n = index->words;
    if (n == 1) return (size_t)__builtin_ctzll(rows[a] & rows[b] & rows[c] & rows[e]);
    for (size_t i = 0;; i++) {
        uint64_t set = rows[a * n + i] & rows[b * n + i] & rows[c * n + i] & rows[e * n + i];
        if (set) return i * 64 + (size_t)__builtin_ctzll(set);
    }
}

/* What one half of a word says by itself, for lists of more rules than a set has bits: the rule that matches
 * whatever the other half is, or XS_OPEN. */
enum { XS_OPEN = 0xffff };
typedef struct xs_halves {
    unsigned shift;        /* of the half, 0 or 16 */
    uint16_t kind[2][256]; /* of its low and high byte; the sum is an index into rule */
    uint16_t *rule;        /* NULL: there is none of this */
} xs_halves;

/* index.c. From the finished index; masks: of its rules. False: no memory. */
bool xs_halves_make(xs_halves *halves, const xs_index *index, unsigned shift, const uint32_t *masks);

static inline size_t xs_halves_find(const xs_halves *h, const xs_index *index, uint32_t word)
{
    if (h->rule) {
        uint32_t half = word >> h->shift;
        size_t rule = h->rule[h->kind[0][half & 255] + h->kind[1][half >> 8 & 255]];
        if (rule != XS_OPEN) return rule;
    }
    return xs_index_find(index, word);
}

/* Little-endian, whatever the host is. */
static inline uint32_t xs_load16(const uint8_t *b)
{
    return (uint32_t)(b[0] | b[1] << 8);
}

static inline uint32_t xs_load32(const uint8_t *b)
{
    return xs_load16(b) | xs_load16(b + 2) << 16;
}

struct xs_decoder {
    const xs_table *table;
    xs_target target;
    size_t count, scan_count; /* entries without the last one, no-rule */
    xs_index index;           /* of the entries */
    xs_halves halves;         /* of the half that most entries look at */
    uint8_t lengths[256];     /* bytes of an instruction by its first byte, 0: that is not enough to tell */
    uint8_t classes[XS_MAX_RULES + 1], sizes[XS_MAX_RULES + 1], step_count[XS_MAX_RULES + 1];
    const xs_step *steps[XS_MAX_RULES + 1];
    xs_entry entries[XS_MAX_RULES + 1];
    xs_entry scan[XS_MAX_RULES];
};

typedef struct token {
    char *text;
    unsigned column;
    bool quoted;
} token;

typedef struct parser {
    xs_table *table;
    unsigned line;
    bool in_scan;
    bool no_memory;
    bool rules_begun; /* declarations come first */
    xs_rule *current; /* the rule that indented lines belong to, NULL after an error in it */
    token tokens[MAX_TOKENS];
    size_t token_count;
    xs_diag *diags;
    size_t max_diags, diag_count;
} parser;

/* diag.c */
void xs_report(xs_diag *diags, size_t max, size_t *count, unsigned line, unsigned column, const char *code,
               const char *format, ...) __attribute__((format(printf, 7, 8)));
#define XS_ERROR(p, column, code, ...)                                                                       \
    xs_report((p)->diags, (p)->max_diags, &(p)->diag_count, (p)->line, (column), (code), __VA_ARGS__)

/* names.c */
int xs_names_find(const names *list, const char *name); /* index or -1 */
xs_reason xs_reason_from(const char *name);             /* XS_WHY_COUNT when unknown */
xs_flow xs_flow_from(const char *name);                 /* XS_FLOW_NONE when unknown */
unsigned xs_hazard_from(const char *name);              /* bit, 0 when unknown */

/* declare.c: lines that begin with % */
void xs_parse_directive(parser *p);

/* when.c */
bool xs_parse_condition(parser *p, const token *t, when *out); /* false: not a condition */
when xs_when_always(void);
bool xs_when_matches(const when *w, const xs_target *target);
int xs_kernel_find(const xs_table *table, const char *name); /* index or -1 */

/* target.c */
const xs_decision *xs_rule_decision(const xs_table *table, const xs_rule *rule, const xs_target *target);

/* operands.c */
bool xs_steps_make(xs_table *table);                        /* false: no memory */
int xs_quirk_find(const xs_table *table, const char *name); /* index or -1 */
int xs_operand_find(const xs_table *table, const char *name);

/* No branch but the loop's: every step writes its operand, and the last one of an operand is right. */
static inline void xs_steps_take(const xs_step *step, size_t count, uint32_t word, int64_t *op)
{
    uint64_t value = 0;
    for (const xs_step *end = step + count; step < end; step++) {
        value |= (uint64_t)(word >> step->lsb & step->mask) << step->to;
        op[step->operand] = (int64_t)((value ^ step->sign) - step->sign) + step->base;
        value &= step->keep;
    }
}

static inline bool xs_matches(const xs_rule *rule, uint32_t word)
{
    return (word & rule->mask) == rule->value;
}

#endif

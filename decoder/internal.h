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

/* Where bits go. A byte each, from the lowest: how far to the right, to which operand, an xs_then, what the
 * operand counts from. One number, because decoding waits longest for what it loads once it knows the rule.
 */
typedef uint32_t xs_place;
static inline unsigned xs_place_shift(xs_place p)
{
    return p & 63;
}
static inline unsigned xs_place_operand(xs_place p)
{
    return p >> 8 & 255;
}
static inline unsigned xs_place_base(xs_place p)
{
    return p >> 24;
}

/* An operand of one piece and without a sign. */
typedef struct xs_take {
    uint32_t mask;  /* of the piece, in the word */
    xs_place place; /* the shift: around, of 64 bits */
} xs_take;

/* Some operands of a rule, in one shape for all rules, so that taking them needs no branch: three as above,
 * and one of any pieces and sign. Its pieces are moved by a multiplication with a power of two; with the sum
 * of several where they do not get into each other's way. The highest bit comes to stand where an arithmetic
 * shift to the right makes the sign of it, or makes none. What a rule does not need takes no bits. */
enum { XS_STEP_TAKES = 3, XS_STEP_PARTS = 3 };
typedef enum xs_then { XS_THEN_NOTHING, XS_THEN_OTHERS, XS_THEN_MORE /* of the same operand */ } xs_then;
typedef struct xs_step {
    xs_take takes[XS_STEP_TAKES];
    uint32_t of[XS_STEP_PARTS]; /* masks of pieces, in the word */
    xs_place place;
    uint64_t by[XS_STEP_PARTS];
} xs_step;

/* What the next step has. */
static inline xs_then xs_step_then(const xs_step *step)
{
    return (xs_then)(step->place >> 16 & 255);
}

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
    xs_step *steps; /* of a rule with pieces: from its piece_index on, not more than those */
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
    uint8_t classes[XS_MAX_RULES + 1], sizes[XS_MAX_RULES + 1];
    const xs_step *steps[XS_MAX_RULES + 1]; /* NULL: no operands */
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
bool xs_steps_make(xs_table *table);                                    /* false: no memory */
const xs_step *xs_steps_of(const xs_table *table, const xs_rule *rule); /* NULL: no operands */
int xs_quirk_find(const xs_table *table, const char *name);             /* index or -1 */
int xs_operand_find(const xs_table *table, const char *name);

static inline void xs_take_one(const xs_take *take, uint32_t word, int64_t *op)
{
    const xs_place place = take->place;
    const unsigned turn = xs_place_shift(place);
    uint64_t bits = word & take->mask;
    bits = bits >> turn | bits << (-turn & 63);
    op[xs_place_operand(place)] = (int64_t)(bits + xs_place_base(place));
}

static inline uint64_t xs_step_part(const xs_step *s, size_t i, uint32_t word)
{
    return (word & s->of[i]) * s->by[i];
}

/* No branch but the loop's, and few rules have a second step. */
static inline void xs_steps_take(const xs_step *s, uint32_t word, int64_t *op)
{
    uint64_t value = 0;
    for (;; s++) {
        xs_take_one(&s->takes[0], word, op);
        xs_take_one(&s->takes[1], word, op);
        xs_take_one(&s->takes[2], word, op);
        uint64_t parts = xs_step_part(s, 0, word) | xs_step_part(s, 1, word) | xs_step_part(s, 2, word);
        const xs_place place = s->place;
        value |= (uint64_t)((int64_t)parts >> xs_place_shift(place));
        /* Last: a take that is not needed has this operand. */
        op[xs_place_operand(place)] = (int64_t)(value + xs_place_base(place));
        if (xs_step_then(s) == XS_THEN_NOTHING) return;
        if (xs_step_then(s) == XS_THEN_OTHERS) value = 0;
    }
}

static inline bool xs_matches(const xs_rule *rule, uint32_t word)
{
    return (word & rule->mask) == rule->value;
}

#endif

/* xolsim: how a probe on an instruction is carried out, on each Linux kernel.
 *
 * The life of a caller:
 *
 *     xs_table *t = xs_table_parse(text, len, diags, 8, &n);    a .decode file -> rules
 *     xs_target_parse(t, "arm64/6.12.y/uprobe", &target, why, sizeof why);
 *     xs_decoder_new(t, &target, &d);                           rules of one target -> index
 *     xs_decode(d, bytes, avail, &insn);                        one instruction
 *     xs_classifier_new(d, NULL, &c);
 *     xs_classify_text(c, text, size, classes, &left);          many
 *
 * Parsing, checking and the functions called _new allocate; nothing else does. A table and a decoder never change once
 * made, so any number of threads, and signal handlers, may use one at the same time. The table must
 * outlive its decoders. No function prints, exits, sets errno or keeps state of its own.
 *
 * Instruction words are numbers: the first byte in memory is the lowest (A64 and RISC-V text is
 * little-endian whatever the byte order of data; Arm ARM B2.6.2, RISC-V unprivileged 1.5). */
#ifndef XOLSIM_H
#define XOLSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a library function answers. Every output is written whatever the status is. */
typedef enum xs_status {
    XS_OK = 0,
    XS_E_SYNTAX,    /* the .decode text has errors: see the diagnostics */
    XS_E_TARGET,    /* no such architecture, kernel, mode or extension in this table */
    XS_E_TRUNCATED, /* fewer bytes than the instruction is long */
    XS_E_RANGE,     /* an offset outside the text, or an operand number the rule does not have */
    XS_E_LIMIT,     /* more rules than XS_MAX_RULES in one target */
    XS_E_NOMEM
} xs_status;

/* One sentence for a status; a static string. */
const char *xs_status_text(xs_status status);

/* The three ways of carrying out a probed instruction. Zero is the safe answer. The kernel's words:
 * INSN_REJECTED, INSN_GOOD_NO_SLOT, INSN_GOOD (arch/arm64/kernel/probes/decode-insn.h). */
typedef enum xs_class {
    XS_REJECT = 0, /* the probe cannot be placed */
    XS_SIMULATE,   /* a handler edits the saved registers */
    XS_SLOT,       /* the word is single-stepped out of line, at another address */
    XS_TAIL        /* only in xs_classify_text: not the start of an instruction */
} xs_class;

/* Why a rule decides as it does: the closed list of `reason=`. */
typedef enum xs_reason {
    XS_WHY_DEFAULT = 0,     /* nothing known against it */
    XS_WHY_PC_RELATIVE,     /* reads its own address */
    XS_WHY_BRANCH,          /* sets the pc */
    XS_WHY_EXCEPTION,       /* takes or returns from an exception on purpose */
    XS_WHY_SYSTEM_REGISTER, /* reads or writes a system register or PSTATE */
    XS_WHY_HINT,            /* hint space */
    XS_WHY_EXCLUSIVE,       /* load-exclusive/store-exclusive, LR/SC */
    XS_WHY_SEQUENCE,        /* one of several instructions that belong together */
    XS_WHY_TRAP,            /* always traps: breakpoint, undefined */
    XS_WHY_UNALLOCATED,     /* no instruction is defined there */
    XS_WHY_FASTER,          /* faster-than-slot: the slot would be right, the handler is quicker */
    XS_WHY_BREAKPOINT,      /* the kernel takes it for a probe that is already there */
    XS_WHY_ALIGNMENT,       /* site: the address is not aligned */
    XS_WHY_BOUNDARY,        /* site: in the middle of an instruction, or no function known */
    XS_WHY_COUNT
} xs_reason;

/* What is wrong with a kernel's treatment, worst first; a site can have several (a bit set). */
typedef enum xs_hazard {
    XS_HAZARD_CORRUPTS = 1 << 0, /* runs in a slot although it reads the pc or branches */
    XS_HAZARD_HANGS = 1 << 1,    /* simulated without progress */
    XS_HAZARD_WRONG = 1 << 2,    /* wrong-result */
    XS_HAZARD_LIVELOCK = 1 << 3, /* may-livelock: a breakpoint inside LL/SC clears the reservation */
    XS_HAZARD_UNSAFE = 1 << 4,   /* unsafe: endangers the kernel, or must not be stepped alone */
    XS_HAZARD_NEEDLESS = 1 << 5, /* needlessly-refused */
    XS_HAZARD_COUNT = 6
} xs_hazard;

/* Names as the .decode notation and every output spell them; static strings, "?" out of range. */
const char *xs_class_name(xs_class cls);
const char *xs_reason_name(xs_reason reason);
const char *xs_hazard_name(unsigned bit); /* bit number, 0..XS_HAZARD_COUNT-1 */

/* What an encoding does to the pc: `@call` and so on behind its bits. */
typedef enum xs_flow {
    XS_FLOW_NONE = 0,
    XS_FLOW_BRANCH, /* conditional */
    XS_FLOW_JUMP,   /* unconditional, no link: a goto, a tail call, a switch */
    XS_FLOW_CALL,   /* with link */
    XS_FLOW_RETURN,
    XS_FLOW_COUNT
} xs_flow;
const char *xs_flow_name(xs_flow flow);

/* ---- the table: a parsed .decode file ------------------------------------------------------- */

typedef struct xs_table xs_table;

/* A finding in a .decode file. Line and column start at 1; line 0 means the whole file. */
typedef struct xs_diag {
    unsigned line, column;
    const char *code;  /* stable id, e.g. "duplicate-operand-bit"; a static string */
    char message[192]; /* one sentence, names what it is about */
} xs_diag;

/* How an operand's bits become a value, and how it is written in text. */
typedef enum xs_operand_kind {
    XS_OPERAND_UNSIGNED = 0,
    XS_OPERAND_SIGNED, /* two's complement; the sign is the highest operand bit drawn */
    XS_OPERAND_OFFSET, /* signed, in bytes, added to the instruction's address */
    XS_OPERAND_PAGE,   /* signed, in bytes, added to the address with its low 12 bits cleared */
    XS_OPERAND_REG     /* a register number: value + base */
} xs_operand_kind;

typedef struct xs_operand {
    const char *name;
    xs_operand_kind kind;
    const char *prefix; /* XS_OPERAND_REG: the register file's letter(s), "x"; else "" */
    unsigned base;      /* XS_OPERAND_REG: number of the first register (RVC's rd': 8) */
} xs_operand;

/* Consecutive bits of the word that are consecutive bits of an operand. */
typedef struct xs_piece {
    uint8_t operand; /* index into the table's operands */
    uint8_t lsb;     /* lowest bit in the word */
    uint8_t len;     /* bits */
    uint8_t to;      /* lowest bit in the operand */
} xs_piece;

/* One encoding: a line of the table. Matches when (word & mask) == value. */
typedef struct xs_rule {
    const char *name; /* stable id */
    uint32_t mask, value;
    uint8_t width; /* bits: 16 or 32; the instruction's length is width / 8 bytes */
    bool scan;     /* in the exclusive-scan list, not in the classification list */
    xs_flow flow;
    unsigned line; /* where it stands in the file */
    uint32_t piece_index;
    uint16_t piece_count; /* into xs_table_pieces(), from the highest word bit down */
    uint16_t decision_count;
    uint32_t decision_index; /* into the table's decisions */
} xs_rule;

/* A kernel bug that the class does not show, by name; and the targets that have it. */
typedef struct xs_quirk {
    const char *name;
    unsigned hazard;  /* an xs_hazard bit; 0: no harm by itself */
    const char *note; /* what the kernel does */
} xs_quirk;

/* quirk=link-first(rd=rs1): the words on which a quirk shows. */
typedef struct xs_quirk_use {
    uint8_t quirk; /* number of the quirk */
    int8_t left;   /* operand number, or -1: on all words */
    int8_t right;  /* operand number, or -1: compare with value */
    uint8_t value;
} xs_quirk_use;
enum { XS_QUIRK_USES = 3, XS_MAX_QUIRKS = 32 };

/* What some targets do with an encoding. */
typedef struct xs_decision {
    xs_class cls;        /* in the scan list: XS_REJECT stops and refuses, XS_SLOT stops and allows */
    const char *handler; /* the kernel's simulate function, or "-" */
    xs_reason reason;
    const char *error; /* the errno a user sees when it rejects ("EINVAL"), or "-" */
    uint8_t quirk_count;
    xs_quirk_use quirk[XS_QUIRK_USES];
    const char *note; /* why, with the commit where known; "" when there is nothing to say */
    unsigned line;
} xs_decision;

/* Parse a .decode file. text need not be NUL-terminated and is copied.
 * Returns the table, or NULL when there is an error; up to max findings are written to diags (may be
 * NULL when max is 0), and *count is how many there were in all (0 with NULL: out of memory).
 * The notation is described at the top of arch/arm64/arm64.decode. */
xs_table *xs_table_parse(const char *text, size_t len, xs_diag *diags, size_t max, size_t *count);
void xs_table_free(xs_table *table); /* NULL is allowed */

/* Check a parsed table as data, in every target: shadowed rules and decisions, undeclared or stale
 * overlaps, words without a rule, words whose length is ambiguous, declarations nobody uses.
 * Returns how many findings there are and writes the first max of them. Takes milliseconds. */
size_t xs_table_check(const xs_table *table, xs_diag *diags, size_t max);

const xs_rule *xs_table_rules(const xs_table *table, size_t *count);
const xs_piece *xs_table_pieces(const xs_table *table, const xs_rule *rule); /* rule->piece_count of them */
const xs_decision *xs_table_decisions(const xs_table *table, const xs_rule *rule);
const xs_operand *xs_table_operands(const xs_table *table, size_t *count);
const xs_quirk *xs_table_quirks(const xs_table *table, size_t *count);
unsigned xs_table_granule(const xs_table *table); /* shortest instruction, in bytes: 4 or 2 */

/* ---- targets: architecture + kernel + mode -------------------------------------------------- */

/* Indices into the names of one table; made by xs_target_parse, valid for that table only. */
typedef struct xs_target {
    uint8_t arch;
    uint8_t kernel;
    uint8_t mode;
    uint32_t ext; /* bit i: extension i of the table is there */
} xs_target;

/* "ARCH[+EXT|-EXT]...[/KERNEL[/MODE]]", for example "arm64/6.12.y/uprobe", "riscv64-c/6.6/kprobe",
 * "arm64/ideal". A part that is missing or empty is the newest kernel, the first mode. On failure *out is all
 * zero and why (size bytes, may be NULL when size is 0) says which part is unknown and what there is. */
xs_status xs_target_parse(const xs_table *table, const char *text, xs_target *out, char *why, size_t size);

/* Writes the canonical spelling, always NUL-terminated when size > 0; returns its full length. */
size_t xs_target_format(const xs_table *table, const xs_target *target, char *buf, size_t size);

/* The names a table declares, in the file's order; NULL when i is past the last.
 * Kernels: mainline releases oldest first, then stable series, then named targets. */
const char *xs_table_arch(const xs_table *table, size_t i);
const char *xs_table_kernel(const xs_table *table, size_t i);
const char *xs_table_mode(const xs_table *table, size_t i);
const char *xs_table_ext(const xs_table *table, size_t i);

typedef enum xs_kernel_kind { XS_KERNEL_RELEASE, XS_KERNEL_STABLE, XS_KERNEL_NAMED } xs_kernel_kind;
xs_kernel_kind xs_table_kernel_kind(const xs_table *table, size_t i);

/* Extension by name: its bit in xs_target.ext, or 0 when the table does not know it. */
uint32_t xs_table_ext_bit(const xs_table *table, const char *name);

/* ---- decoder: the rules of one target, indexed ---------------------------------------------- */

enum { XS_MAX_RULES = 512, XS_MAX_OPERANDS = 48 };

typedef struct xs_decoder xs_decoder;

/* A rule together with what this target does with it. */
typedef struct xs_entry {
    const xs_rule *rule;
    const xs_decision *decision;
} xs_entry;

/* Compile the rules that apply to target. *out is NULL unless XS_OK. Free with xs_decoder_free. */
xs_status xs_decoder_new(const xs_table *table, const xs_target *target, xs_decoder **out);
void xs_decoder_free(xs_decoder *decoder); /* NULL is allowed */

/* The entries in the order in which they are tried. A table without a default has one last entry
 * that rejects everything ("no-rule"), so that every word has an entry. */
const xs_entry *xs_decoder_entries(const xs_decoder *decoder, size_t *count);
const xs_entry *xs_decoder_scan_entries(const xs_decoder *decoder, size_t *count);
const xs_table *xs_decoder_table(const xs_decoder *decoder);
const xs_target *xs_decoder_target(const xs_decoder *decoder);

/* A decoded instruction. op[] is indexed by the table's operand numbers; only those of the rule are
 * set: register numbers with their base added, immediates assembled, scaled and sign-extended. */
typedef struct xs_insn {
    uint32_t word; /* upper half zero when 16 bits long */
    uint8_t size;  /* bytes */
    const xs_entry *entry;
    int64_t op[XS_MAX_OPERANDS];
} xs_insn;

/* The entry for a word: index into xs_decoder_entries(). Total: every word has one. */
size_t xs_lookup(const xs_decoder *decoder, uint32_t word);

/* Decode the instruction at bytes, of which avail may be read.
 * XS_E_TRUNCATED when it is longer than avail; *insn then has size = the bytes it needs (or the
 * granule when avail is shorter than that), entry = NULL and op undefined. */
xs_status xs_decode(const xs_decoder *decoder, const void *bytes, size_t avail, xs_insn *insn);

/* The operands of a word as rule draws them, whether it matches or not; op as in xs_insn. */
void xs_rule_operands(const xs_table *table, const xs_rule *rule, uint32_t word, int64_t op[XS_MAX_OPERANDS]);

/* ---- many instructions -------------------------------------------------------------------------- */

/* The rules of a decoder, compiled for their classes alone; independent of the decoder once made. */
typedef struct xs_classifier xs_classifier;

/* path: a name from xs_classifier_path_name, or NULL for the fastest one that this machine has. The results
 * are the same to the byte. XS_E_RANGE: no such path here. Free with xs_classifier_free. */
xs_status xs_classifier_new(const xs_decoder *decoder, const char *path, xs_classifier **out);
void xs_classifier_free(xs_classifier *classifier); /* NULL is allowed */

/* The same for another question: classes[i] is 1 where an instruction with this flow begins, 0 where another
 * one does, XS_TAIL inside one. */
xs_status xs_flow_finder_new(const xs_decoder *decoder, xs_flow flow, const char *path, xs_classifier **out);

/* "avx512-vbmi", "neon", "scalar", fastest first, whether this machine has them or not; NULL after the
 * last. The path of a classifier. */
const char *xs_classifier_path_name(size_t i);
const char *xs_classifier_path(const xs_classifier *classifier);

/* Classify text from its first byte on. One output per granule: classes[i] is the xs_class of the
 * instruction that starts at byte i * granule, or XS_TAIL inside one. classes has room for
 * size / granule. Returns the number of instructions; *left is the number of bytes at the end that are
 * no whole instruction (their granules are XS_TAIL). Text and classes may have any alignment. */
size_t xs_classify_text(const xs_classifier *classifier, const void *text, size_t size, uint8_t *classes,
                        size_t *left);

/* Add to counts how often each xs_class, XS_TAIL included, is in classes, which has nothing else. */
void xs_count_classes(const uint8_t *classes, size_t count, uint64_t counts[XS_TAIL + 1]);

/* The first rule of target that matches word, found by going through the table line by line: slow,
 * needs no decoder, and is what the index is tested against. entry->rule is NULL if there is none. */
xs_entry xs_table_find(const xs_table *table, const xs_target *target, uint32_t word);

/* ---- the whole encoding space --------------------------------------------------------------- */

/* A maximal piece of the space that matches one entry: words with (word & mask) == value. */
typedef bool xs_cube_fn(void *arg, size_t entry_a, size_t entry_b, uint32_t mask, uint32_t value);

/* Cut all 2^32 words into cubes on which a answers with one entry and b with one (b may be NULL:
 * entry_b is 0). Calls fn for each until it returns false; returns false then, true at the end. */
bool xs_space_walk(const xs_decoder *a, const xs_decoder *b, xs_cube_fn *fn, void *arg);

/* The same, cut further until the same quirks of a show on all words of a piece. */
typedef bool xs_quirk_cube_fn(void *arg, size_t entry_a, size_t entry_b, uint32_t quirks, uint32_t mask,
                              uint32_t value);
bool xs_quirk_walk(const xs_decoder *a, const xs_decoder *b, xs_quirk_cube_fn *fn, void *arg);

/* Runs of consecutive words first..last (inclusive) with one entry, in order, not merged. */
typedef bool xs_run_fn(void *arg, size_t entry, uint32_t first, uint32_t last);

/* Ordered runs over all words; with fixed_low != 0 only those whose low fixed_low bits are low (then
 * first and last are the remaining upper bits). Stops when fn returns false, and returns that. */
bool xs_space_runs(const xs_decoder *decoder, unsigned fixed_low, uint32_t low, xs_run_fn *fn, void *arg);

/* ---- sites: decisions that need the surroundings -------------------------------------------- */

#define XS_NO_FUNCTION SIZE_MAX

/* Code around a site. Nothing outside bytes[0..size) is read. */
typedef struct xs_text {
    const uint8_t *bytes;
    size_t size;
    uint64_t addr;   /* virtual address of bytes[0] */
    size_t function; /* offset in bytes of the start of the function the site is in, or XS_NO_FUNCTION */
    /* What xs_classify_text wrote for the bytes from offset starts_at on, up to the site at least, so that
     * boundaries need no walk from the function's start (one that begins before starts_at is taken to be in
     * step with them); or NULL. */
    const uint8_t *starts;
    size_t starts_at;
} xs_text;

/* What happens to a probe at a site. */
typedef struct xs_site {
    xs_insn insn; /* the instruction itself; insn.entry is what the word alone says */
    xs_class cls; /* the answer */
    xs_reason reason;
    const char *error; /* errno name, or "-" */
    unsigned hazards;  /* xs_hazard bits */
    bool in_exclusive; /* inside a load-exclusive/store-exclusive region, by ideal's reckoning */
} xs_site;

/* Decide on a probe at byte offset of text: alignment, instruction boundary, the word's own class,
 * then the kprobe exclusive scan, each as the target's kernel does it (%site and %scan lines of the
 * table). ideal, when not NULL, is the decoder of the architecture's `ideal` target, against which
 * hazards are found. XS_E_RANGE: offset is outside; XS_E_TRUNCATED: cut off. The site then rejects. */
xs_status xs_site_decide(const xs_decoder *decoder, const xs_decoder *ideal, const xs_text *text,
                         size_t offset, xs_site *site);

/* The quirks that the decoder's target has on a word: bits by number. insn is from the same decoder. */
uint32_t xs_quirks(const xs_decoder *decoder, const xs_insn *insn);

/* The hazards of a word alone: those of its quirks, and what the kernel does with it against what ideal
 * says (NULL: not asked). A slot where ideal has reason pc-relative or branch corrupts, and so on. */
unsigned xs_hazards(const xs_decoder *decoder, const xs_insn *insn, const xs_entry *ideal);

/* The part of them that comes from the class alone: any kernel that answers with cls, ideal's decision. */
unsigned xs_class_hazards(xs_class cls, const xs_decision *ideal);

/* Does the kernel's exclusive scan refuse a probe at offset? Looks back up to 32 instructions, not
 * beyond the function's start; without a function it does not look (arch_prepare_kprobe,
 * is_probed_address_atomic in arch/arm64/kernel/probes/decode-insn.c). */
bool xs_site_in_exclusive(const xs_decoder *decoder, const xs_text *text, size_t offset);

/* Is offset the start of an instruction, walking from the function's start (or from the start of the
 * text when there is none)? riscv kprobes do this walk since 87f48c7ccc73. */
bool xs_site_on_boundary(const xs_decoder *decoder, const xs_text *text, size_t offset);

#ifdef __cplusplus
}
#endif
#endif

/* Our simulator and Unicorn side by side: the same word from the same state, everything compared.
 *
 *     xs_cases_open("arm64", NULL, &cases, ...)      what is to be checked: every rule with its handler
 *     xs_lockstep_open(&cases, ...)                  one engine and both memories
 *     xs_lockstep_word(ls, case, seed, number, states)
 *
 * What is compared: every register, the flags, the pc, every byte either side has stored, after every
 * instruction; all of the memory after every word; and which access failed, and where. */
#ifndef XOLSIM_ORACLE_LOCKSTEP_H
#define XOLSIM_ORACLE_LOCKSTEP_H

#include "generate.h"
#include "unicorn.h"

/* ---- what is to be checked ------------------------------------------------------------------------ */

/* A rule as one target treats it. */
typedef struct xs_case {
    const xs_decoder *decoder;
    const xs_simulator *simulator; /* NULL: a slot rule */
    size_t entry;
    const xs_entry *e;
    char target[96]; /* of the decoder; one of several that treat it alike */
    /* Which of the entry's words it is about; NULL: all. */
    bool (*about)(const void *arg, uint32_t word);
    const void *about_arg;
} xs_case;

bool xs_case_has(const xs_case *c, uint32_t word);

typedef struct xs_cases {
    const xs_table *table;
    const xs_oracle_arch *arch;
    xs_decoder **decoders;
    xs_simulator **simulators;
    size_t decoder_count;
    xs_case *list;
    size_t count;
} xs_cases;

/* Which rules: those of one target, or (target NULL) each distinct pair of a rule and its handler in any
 * target of the architecture. */
typedef struct xs_cases_wanted {
    const char *arch;       /* NULL with a target */
    const char *target;     /* NULL: all */
    const char *rule;       /* only this one; NULL: all */
    xs_class cls;           /* XS_SIMULATE or XS_SLOT */
    bool any;               /* of any class, to be run in a slot (cls is XS_SLOT) */
    const xs_sim_arch *sim; /* handlers; NULL: the architecture's own */
} xs_cases_wanted;

/* The table must outlive them. false: why says what is wrong. */
bool xs_cases_open(const xs_table *table, const xs_cases_wanted *wanted, xs_cases *out, char *why,
                   size_t size);
void xs_cases_close(xs_cases *cases);

/* ---- known disagreements --------------------------------------------------------------------------- */

/* What both sides may disagree in. */
typedef enum xs_field {
    XS_FIELD_END,
    XS_FIELD_FAULT,
    XS_FIELD_PC,
    XS_FIELD_REGISTER,
    XS_FIELD_MEMORY,
    XS_FIELD_ATOMIC, /* ours has failed and has changed something: no line can explain that */
    XS_FIELDS
} xs_field;
const char *xs_field_name(xs_field field);

/* A line of divergences.txt. */
typedef struct xs_divergence {
    char rule[40]; /* a rule's name, "*" for all, or "" when it is about one word */
    uint32_t word;
    xs_field field;
    char ours[24], theirs[24]; /* a closed list for each field */
    char reason[200];
    unsigned line;
    uint64_t tested, used; /* checks of that rule in which it could have applied, and did */
} xs_divergence;

/* RULE runs-as AS "reason": Unicorn does not know RULE, and the architecture says that it does what AS does.
 */
typedef struct xs_run_as {
    char rule[40], as[40], reason[400];
    unsigned line;
    uint64_t tested, used; /* checks of RULE, and those in which AS stood in: none when Unicorn knows RULE */
} xs_run_as;

/* RULE not-run "why" "sound": no word of RULE runs in Unicorn; why it is right all the same. */
typedef struct xs_not_run {
    char rule[40], why[400], sound[400];
    unsigned line;
} xs_not_run;

/* RULE taken-for AS "reason": Unicorn's CPU has another extension in that place and carries out AS, so that
 * what it does with a word of RULE says nothing about RULE. */
typedef struct xs_taken_for {
    char rule[40], as[40], reason[400];
    unsigned line;
} xs_taken_for;

enum { XS_DIVERGENCES = 64, XS_RUN_AS = 8, XS_NOT_RUN = 48, XS_TAKEN_FOR = 8 };
enum { XS_DIVERGENCE_ENOUGH = 2000 }; /* checks after which a line that was never needed is not needed */
enum { XS_NOT_RUN_ENOUGH = 1000 };    /* words after which a rule of which none has run needs a line */
typedef struct xs_divergences {
    xs_divergence list[XS_DIVERGENCES];
    xs_run_as run_as[XS_RUN_AS];
    xs_not_run not_run[XS_NOT_RUN];
    xs_taken_for taken_for[XS_TAKEN_FOR];
    unsigned count, run_as_count, not_run_count, taken_for_count;
} xs_divergences;

/* Lines of: rule, * or 0xWORD, field, ours, theirs, "reason"; and the three above. false: why names the line.
 */
bool xs_divergences_parse(const char *text, xs_divergences *out, char *why, size_t size);
/* An entry that was looked at often enough and never applied: no longer needed. */
bool xs_divergence_stale(uint64_t tested, uint64_t used);

/* ---- a check --------------------------------------------------------------------------------------- */

enum { XS_TOUCHED = 4 };
#define XS_REST (UINT64_C(1) << 63) /* something in our state that is no register: RISC-V's x0 */
typedef struct xs_touch {
    uint64_t addr;
    uint32_t size;
    bool store;
    uint8_t before[16];
} xs_touch;

/* Everything about one check. */
typedef struct xs_check {
    uint32_t word, ran; /* ran: by Unicorn, another one when a line says that it runs as that */
    uint64_t at;
    xs_any_cpu start, ours, theirs;
    xs_sim_status status; /* ours */
    xs_fault fault;
    xs_end end; /* theirs */
    uint64_t their_fault;
    unsigned touch_count; /* memory that was asked for, as it was before */
    xs_touch touched[XS_TOUCHED];
    unsigned differs;   /* a bit for each xs_field */
    uint64_t registers; /* those that differ, a bit for each place in arch->regs */
    uint64_t memory_at; /* first byte of memory that differs */
    uint8_t memory_ours, memory_theirs;
} xs_check;

typedef struct xs_counts {
    uint64_t checks;      /* states in which both sides were compared */
    uint64_t words;       /* different ones */
    uint64_t faults;      /* checks that ended in the same fault */
    uint64_t unsupported; /* words Unicorn cannot execute */
    uint64_t diverged;    /* checks that a line of divergences.txt explains */
    uint64_t differences; /* checks that nothing explains */
    uint64_t ungenerated; /* no word of the rule was found */
    uint64_t run_as;      /* checks in which Unicorn ran another encoding that does the same */
} xs_counts;

typedef struct xs_lockstep xs_lockstep;

/* Where words are put. */
typedef struct xs_place {
    uint64_t at, size;
} xs_place;

/* place NULL: the architecture's usual one. plain: an engine for xs_lockstep_plain alone. */
xs_lockstep *xs_lockstep_open(const xs_cases *cases, xs_divergences *divergences, const xs_place *place,
                              bool plain, char *why, size_t size);
void xs_lockstep_close(xs_lockstep *ls);
xs_oracle *xs_lockstep_oracle(xs_lockstep *ls);
/* From now on our side has these bugs (bits of the simulator's list; 0 at first): what differs then is what
 * they do. */
void xs_lockstep_quirks(xs_lockstep *ls, uint32_t quirks);

/* Word number `number` of a case in `states` states. *first, when it is not NULL and something differs, is
 * the first check that nothing explains (first->differs is 0 if there is none). Returns false when the oracle
 * failed. */
bool xs_lockstep_word(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number, unsigned states,
                      xs_counts *counts, xs_check *first);
/* The same for a word that is given. */
bool xs_lockstep_given(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at, xs_rng *r,
                       unsigned states, xs_counts *counts, xs_check *first);

/* One check from check->word, at, start and touched (the memory before): the rest of *check is written.
 * false: the oracle failed. check->differs is what no divergence explains; 0 too when check->end is
 * XS_END_UNSUPPORTED. */
bool xs_lockstep_one(xs_lockstep *ls, const xs_case *c, xs_check *check);

/* The start state of check is made simpler as long as it still fails in the same way. */
bool xs_lockstep_minimise(xs_lockstep *ls, const xs_case *c, xs_check *check);

/* The same words and states by the plain pattern: nothing compared. Returns how many. */
uint64_t xs_lockstep_plain(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number,
                           unsigned states);

/* Where words are put: a place for a word of `size` bytes. */
uint64_t xs_lockstep_place(xs_lockstep *ls, xs_rng *r, unsigned size);

/* Does the oracle see each new word, and refuse what is none? NULL: yes; else what is wrong, a static string.
 */
const char *xs_lockstep_selftest(xs_lockstep *ls);

/* ---- slots ----------------------------------------------------------------------------------------- */

#define XS_SLOT_AWAY UINT64_C(0x80000000) /* bytes between an instruction and its slot */

/* What an instruction did, at one place. */
typedef struct xs_effect {
    xs_any_cpu cpu;
    xs_end end;
    uint64_t fault;
    uint8_t more[XS_MORE * 16]; /* vector and floating-point registers */
    uint8_t data[XS_DATA];
} xs_effect;

/* A word at its own address and in a slot: the proof that it is not position-independent. */
typedef struct xs_slot_check {
    uint32_t word, ran;
    uint64_t at, slot;
    xs_any_cpu start;
    xs_effect home, away;
    bool differs, end, fault, pc, more, memory; /* in what */
    uint64_t registers;                         /* a bit for each place in arch->regs */
} xs_slot_check;

typedef struct xs_slot_counts {
    uint64_t checks, words;
    uint64_t faults;      /* checks that ended in the same fault at both places */
    uint64_t unsupported; /* words Unicorn cannot execute */
    uint64_t unstable;    /* words that do not even do the same twice at one place: clocks, random numbers */
    uint64_t differences; /* checks */
    uint64_t ungenerated;
    uint64_t run_as; /* as above */
} xs_slot_counts;

/* As xs_lockstep_word and xs_lockstep_given, for a slot rule. *first is written when it is not NULL; only
 * first->differs counts when nothing differs. */
bool xs_slot_word(xs_lockstep *ls, const xs_case *c, uint64_t seed, uint64_t number, unsigned states,
                  xs_slot_counts *counts, xs_slot_check *first);
bool xs_slot_given(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at, xs_rng *r, unsigned states,
                   xs_slot_counts *counts, xs_slot_check *first);

/* One check from word, at and start, with empty memory. false: the oracle failed. */
bool xs_slot_one(xs_lockstep *ls, const xs_case *c, xs_slot_check *check);
/* As xs_lockstep_minimise; the word stays with the same entry of `ideal` too, when that is not NULL. */
bool xs_slot_minimise(xs_lockstep *ls, const xs_case *c, const xs_decoder *ideal, xs_slot_check *check);

#endif

/* What the files of the lockstep share. */
#ifndef XOLSIM_ORACLE_LOCKSTEP_INTERNAL_H
#define XOLSIM_ORACLE_LOCKSTEP_INTERNAL_H

#include "lockstep.h"

enum { XS_LIVE = 12 };

/* What an instruction uses its registers for: found out by running it once on recognisable values. */
typedef struct xs_shape {
    unsigned live[XS_LIVE]; /* registers its operands name, sp, the flags */
    unsigned live_count;
    int base, target;            /* the register an access, a jump starts from; -1: none */
    uint64_t base_to, target_to; /* and how far from it: to be subtracted from an address */
    uint64_t literal;            /* address of an access that depends on the pc alone; 0: none */
} xs_shape;

/* A line of runs-as, with its rules found. */
typedef struct xs_equal {
    const xs_rule *rule, *as;
    xs_run_as *line;
    bool known; /* Unicorn runs the rule itself */
} xs_equal;

struct xs_lockstep {
    const xs_cases *cases;
    const xs_oracle_arch *arch;
    xs_oracle *o;
    xs_divergences *divergences;
    xs_equal equal[XS_RUN_AS];
    unsigned equal_count;
    uint64_t reach, window, window_size; /* where words are put */
    uint8_t *mine;                       /* our data region */
    xs_bus bus;
    /* what the simulated instruction asked the bus for */
    bool granting; /* while the shape is found out: everything is there */
    unsigned touch_count, store_count;
    xs_touch touched[XS_TOUCHED];
    uint8_t wanted[16]; /* the last store's bytes, done or refused */
    /* the word at hand */
    const xs_case *c;
    uint32_t word, ran; /* ours, and the one that Unicorn runs: the same unless it runs as another */
    unsigned size;
    uint64_t at;
    xs_prepared site;
    xs_shape shape;
    xs_any_cpu start, ours;
    xs_sim_status status;
    xs_fault fault;
    xs_rng *rng;
    unsigned left;
    xs_counts *counts;
    xs_check *first;
    bool unsupported;
    uint32_t quirks;   /* bits of the simulator's list: ours has these bugs */
    uint64_t quiet;    /* checks of this word in which nothing had to be looked at closer */
    uc_context *clean; /* slots: the engine as it was opened */
    xs_slot_check slot;
    uint8_t more[XS_MORE * 16];
};

/* lockstep_state.c */
void xs_shape_find(xs_lockstep *ls);
void xs_shape_begin(xs_lockstep *ls); /* the operands alone, and ls->start filled with marks */
void xs_shape_access(xs_lockstep *ls, uint64_t addr); /* what that address came from */
uint64_t xs_state_value(xs_lockstep *ls, unsigned reg);
void xs_fill_memory(xs_lockstep *ls); /* ours */
void xs_state_first(xs_lockstep *ls); /* all registers and both memories */
/* Changes ls->start; which registers is written to regs (room for XS_LIVE + 2). */
unsigned xs_state_next(xs_lockstep *ls, unsigned *regs);

void xs_literal_clear(xs_lockstep *ls);

/* lockstep_compare.c: fills *check from ls and the oracle; true when both agree. */
bool xs_compare(xs_lockstep *ls, xs_end end, xs_check *check);
/* Take away from check->differs what the list explains; true when nothing is left. */
bool xs_explained(xs_lockstep *ls, xs_check *check);
/* Lines that could have applied to the checks that were quiet. */
void xs_count_quiet(xs_lockstep *ls);

/* lockstep_equal.c: find the rules of the lines; false: a line makes no sense (why), or the oracle failed. */
bool xs_equal_open(xs_lockstep *ls, bool plain, char *why, size_t size);
uint32_t xs_equal_word(const xs_lockstep *ls, uint32_t word);    /* what Unicorn runs for it */
uint64_t xs_equal_count(const xs_lockstep *ls, uint64_t checks); /* of this word: those that ran as another */

/* lockstep.c */
void xs_simulate_ours(xs_lockstep *ls);
void xs_word_clear(xs_lockstep *ls);
bool xs_place_word(xs_lockstep *ls, const xs_case *c, uint32_t word, uint64_t at);
bool xs_put_word(xs_lockstep *ls, uint64_t at); /* what Unicorn runs for the word at hand */

#endif

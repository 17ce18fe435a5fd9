/* What the simulator's tests share. */
#ifndef XOLSIM_TEST_SIM_H
#define XOLSIM_TEST_SIM_H

#include "../cli/sim.h"
#include "tests.h"

/* The handlers of a target, made once. */
const sim_machine *machine_of(const char *target);

/* One instruction on a state; the handler that is run counts as exercised. */
typedef struct sim_case {
    const sim_machine *machine;
    xs_insn insn;
    sim_state before, after;
    sim_memory memory;
    uint32_t quirks;
    xs_sim_status status;
    xs_fault fault;
} sim_case;
void sim_case_init(sim_case *c, const sim_machine *m, uint32_t word);
void sim_case_run(sim_case *c);
void sim_case_set(sim_case *c, const char *name, uint64_t value);

/* All that differs between before and after, and how it went: "store-fault@0x1000/8 pc=0x4 x0=0x1". */
enum { SIM_TEXT = 1024 };
void sim_case_text(const sim_case *c, char text[SIM_TEXT]);

/* A handler that was run, and what is missing at the end. */
void exercised(const sim_machine *m, const xs_insn *insn);

/* The target's entries that simulate, each with its number. */
typedef void entry_fn(const sim_machine *m, const xs_entry *entry, void *arg);
void each_simulated(const sim_machine *m, entry_fn *fn, void *arg);

uint64_t rng_value(rng *r); /* 64 bits, often an interesting value */
uint32_t rng_word(rng *r, const xs_rule *rule);

void add_sim_cases(Suite *s);
void add_sim_faults(Suite *s);
void add_sim_kernel(Suite *s);
void add_sim_batch(Suite *s);
void add_sim_atomic(Suite *s);

#endif

/* lockstep: what its files share. */
#ifndef XOLSIM_CLI_CAMPAIGN_H
#define XOLSIM_CLI_CAMPAIGN_H

#include <signal.h>

#include "cli.h"
#include "lockstep.h"

/* What is asked for. */
typedef struct plan {
    const options *o;
    const char *rule, *file, *divergences; /* NULL: not given */
    bool slots, plain, has_word;
    uint64_t seed, count, seconds; /* 0: no limit */
    unsigned states, shard, shards;
    uint32_t word;
} plan;

enum { PROOFS = 8 };

/* What became of one rule. Written by a worker, read by its parent. */
typedef struct tally {
    xs_counts counts;
    xs_slot_counts slot;
    uint64_t plain_checks, plain_ns, ns; /* --plain: by the plain pattern; CPU time of both */
    xs_check check;                      /* the first that nothing explains: differs is not 0 */
    unsigned proof_count;                /* slots: */
    xs_slot_check proofs[PROOFS];        /* the first of each rule of ideal that the words are of */
} tally;

typedef struct worker {
    pid_t pid;
    bool done;     /* has come to its end by itself */
    char why[160]; /* what failed */
    xs_divergences divergences;
} worker;

/* One architecture's part of a run. */
typedef struct part {
    const plan *p;
    view view; /* its table serves all targets */
    xs_cases cases;
    xs_divergences divergences; /* after the run: with what they were used for */
    xs_image *image;            /* --file */
    xs_place place;
    bool has_place;
    unsigned jobs;
    worker *workers; /* shared with the children, as are the tallies: jobs times one for each case */
    tally *tallies;
    volatile sig_atomic_t *stop;
    void *shared;
    size_t shared_size;
    tally *sum; /* one for each case */
    double seconds;
    bool interrupted;
} part;

/* lockstep_run.c: fork, wait, add up. Returns a status; what was found is in pt->sum. */
int part_run(part *pt);
void part_close(part *pt);
uint64_t part_words(const part *pt); /* words of each rule in the whole run; 0: no end */

/* Bytes that a range of a file that is not linked takes up. */
static inline uint64_t part_room(const xs_range *range)
{
    return (range->size + 63) / 64 * 64;
}

/* lockstep_work.c: the child. */
void worker_run(part *pt, unsigned number);

bool tally_prove(const part *pt, tally *t, const xs_slot_check *k); /* false: known, or no room */

/* lockstep_replay.c: one check from the command line. */
int lockstep_replay(part *pt);

/* lockstep_report.c */
json_object *report_new(const plan *p);
void report_add(json_object *report, const part *pt);
/* In any format; announced: the seed has been printed. Returns STATUS_OK or a failure. */
int report_write(const options *o, json_object *report, bool announced);
int report_status(json_object *report); /* STATUS_FOUND when there is something */
void report_total(json_object *report); /* (re)make the summary of each architecture from the rules */
/* Members of an object; a number or text that is not there is 0, "-". */
void json_add_text(json_object *to, const char *key, const char *text); /* NULL: null */
void json_add_number(json_object *to, const char *key, uint64_t value);
uint64_t json_number(json_object *from, const char *key);
const char *json_text(json_object *from, const char *key);

/* lockstep_known.c: divergences.txt in the report. */
void known_add(json_object *report, const part *pt);
bool known_not_run(json_object *report, json_object *rule); /* no check, and a line says why */
bool known_wrong(json_object *report);                      /* lines nobody needs, rules that need one */
void known_print(FILE *f, json_object *report);

/* lockstep_failure.c */
json_object *failure_json(const part *pt, const xs_case *c, const xs_check *k);
json_object *slot_failure_json(const part *pt, const xs_case *c, const xs_slot_check *k);
void failure_print(FILE *f, json_object *failure);

/* lockstep_merge.c */
int lockstep_merge(const options *o);

#endif

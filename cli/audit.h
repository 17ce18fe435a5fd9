/* audit: where a kernel's class is not what the architecture needs.
 *
 *     audit_side_open(&side, &view)       the kernel side: what is done with every word
 *     audit_find(&audit, &view, &side)    compared with ideal: findings, and what is no finding
 *     audit_prove(...)                    each finding, run
 *     audit_report(...)                   in any format */
#ifndef XOLSIM_CLI_AUDIT_H
#define XOLSIM_CLI_AUDIT_H

#include "cubes.h"
#include "sites.h"

/* ---- the kernel side ------------------------------------------------------------------------- */

/* What a kernel does with a word. All strings live as long as the side. Words that differ in class, handler
 * or rule are in different findings. */
typedef struct audit_treatment {
    xs_class cls;
    const char *handler, *error; /* or "-" */
    const char *rule;            /* what decides, by name */
    size_t entry;                /* what the view's decoder, the nearest target, has for the word */
    uint32_t quirks;             /* of the table, by number */
    bool own;                    /* the kernel's own answer, which is not the entry's */
} audit_treatment;

/* All 2^32 words in cubes, on each of which the treatment is one and ideal answers with one entry. */
typedef bool audit_cube_fn(void *arg, const audit_treatment *kernel, size_t ideal, uint32_t mask,
                           uint32_t value);

/* Something that answers for every word. A target's table is one; whoever has answers of another origin, a
 * kernel image's own decode function, fills in these two. */
typedef struct audit_side {
    const void *self;
    void (*treat)(const void *self, uint32_t word, audit_treatment *out);
    bool (*walk)(const void *self, const xs_decoder *ideal, audit_cube_fn *fn, void *arg);
} audit_side;

/* audit_side.c: the view's target; the view must outlive it. */
audit_side audit_side_of(const view *v);

/* ---- a kernel file -------------------------------------------------------------------------------- */

/* Who was asked for the answers. */
typedef struct audit_kernel {
    const char *path, *release, *function;
    size_t telling;  /* words that agree with the target; not with exhaustive */
    bool exhaustive; /* all words were asked: */
    uint64_t differ; /* so many are not treated as the target treats them */
} audit_kernel;

/* audit_answers.c: where a kernel's answers are not its nearest target's, and a side that gives them there.
 */
typedef struct audit_answers audit_answers;
/* runs: all of a kernel's, or (halves) of the low halfwords; it must outlive the answers, as must the
 * function's name. NULL: no memory. */
struct run_list;
audit_answers *audit_answers_new(const view *v, const struct run_list *runs, bool halves,
                                 const char *function);
void audit_answers_free(audit_answers *answers); /* NULL is allowed */
uint64_t audit_answers_words(const audit_answers *answers);
audit_side audit_side_of_answers(const audit_answers *answers);

/* What the options say beside the target. */
typedef struct audit_request {
    const char *file;            /* NULL: the whole space */
    const char *symbols, *state; /* NULL: not given */
    bool prove, exhaustive;
} audit_request;

/* The kernel file that was identified as a target. */
typedef struct audit_source {
    audit_kernel about;
    const struct run_list *runs; /* NULL: the table answers for it */
    bool halves;
} audit_source;

/* audit.c: of a target by name; with a source, of its kernel. */
int audit_target(const options *o, const audit_request *r, const char *target, audit_source *source);
/* audit_vmlinux.c: of a kernel file. */
int audit_vmlinux(const options *o, const audit_request *r);

/* ---- findings -------------------------------------------------------------------------------- */

/* The hazard of a simulation by the wrong handler, as a bit number. */
enum { HAZARD_WRONG_BIT = 2 };
_Static_assert(XS_HAZARD_WRONG == 1 << HAZARD_WRONG_BIT, "as in xolsim.h");

/* What became of a finding when it was run. */
typedef enum audit_verdict {
    PROOF_SKIPPED,      /* --no-proof */
    PROOF_DIFFERS,      /* run, and the effects differ: the finding is shown */
    PROOF_EQUAL,        /* run, and the effects are equal: a refusal is needless */
    PROOF_NOT_RUN,      /* not executable here */
    PROOF_CONTRADICTION /* run, and it shows the opposite of the finding */
} audit_verdict;

typedef struct audit_proof {
    audit_verdict verdict;
    char reason[900];     /* PROOF_NOT_RUN */
    uint64_t words, runs; /* that Unicorn carried out */
    char vector[160];     /* PROOF_DIFFERS in a vector register: its values, else "" */
    json_object *run;     /* PROOF_DIFFERS: as lockstep reports a failure; NULL: none */
} audit_proof;

enum { SITES_SHOWN = 4, KERNELS_TEXT = 160 };
typedef struct finding {
    unsigned hazard; /* bit number */
    int quirk;       /* number, or -1: the class is wrong, or (another handler) the handler */
    bool handler;    /* the kernel simulates with a handler that does something else */
    audit_treatment kernel;
    size_t ideal;        /* entry */
    const xs_rule *told; /* the line that tells most about the words */
    uint64_t words;
    uint64_t again; /* of these, words that are in a worse finding too */
    cube_list cubes;
    char kernels[KERNELS_TEXT]; /* of the table, that have it */
    audit_proof proof;
    uint64_t sites; /* --file */
    json_object *shown[SITES_SHOWN];
} finding;

/* Words that are in no finding. They and the findings' are all 2^32. */
typedef enum audit_account {
    ACCOUNT_AGREE,     /* the same class, and a handler that does the same */
    ACCOUNT_FASTER,    /* a slot, which is right; ideal has a handler */
    ACCOUNT_NONE,      /* no instruction, or one that always traps, however it is treated */
    ACCOUNT_NOT_KNOWN, /* refused although a handler could do it: this kernel has none */
    ACCOUNT_UNJUDGED,  /* simulated, and this program or ideal has no handler to compare with */
    ACCOUNT_COUNT
} audit_account;
const char *audit_account_name(audit_account account); /* "agree", "slot-is-slower", ... */

/* --file: sites whose place is wrong, not their word: one kind for each hazard. */
typedef struct audit_place {
    uint64_t sites;
    json_object *shown[SITES_SHOWN];
} audit_place;

typedef struct audit {
    audit_place places[XS_HAZARD_COUNT];
    const view *view;
    audit_side side;
    finding *findings; /* worst first */
    size_t count, room;
    uint64_t account[ACCOUNT_COUNT];
    uint64_t words; /* in at least one finding */
    bool failed;    /* no memory */
} audit;

/* audit_find.c. False: no memory. audit_close in both cases. */
bool audit_find(audit *a, const view *v, audit_side side);
void audit_close(audit *a);
/* Which findings a word is in; places in a->findings. Returns how many. */
enum { AUDIT_AT_ONCE = 8 };
size_t audit_of_word(const audit *a, uint32_t word, size_t found[AUDIT_AT_ONCE]);
bool audit_holds(const finding *f, uint32_t word);
/* Word number n of a finding: the same for the same n. Where there are few, each in its turn; else its
 * operands are edges, like lockstep's. */
uint32_t audit_word(const audit *a, const finding *f, uint64_t n);
/* Its words, those of 16 bits once and not with every upper half. */
uint64_t audit_encodings(const finding *f);
/* The word that stands for a finding: its lowest. */
uint32_t audit_example(const finding *f);

/* audit_kernels.c: fill in which of the table's kernels have each finding. */
void audit_kernels(audit *a);

/* audit_handlers.c: do the handlers of two entries, of the view's decoder and of ideal's, do the same to
 * words of the cube? Judged by carrying out some in the simulator. */
typedef enum audit_same { HANDLER_SAME, HANDLER_OTHER, HANDLER_UNKNOWN } audit_same;
audit_same handlers_compare(const view *v, size_t kernel, size_t ideal, cube c);

/* audit_prove.c: run every finding that has something to be run for (hit: only those with sites). Returns
 * STATUS_OK; STATUS_INTERNAL when the oracle failed or a run contradicts its finding, said on standard error.
 */
int audit_prove(audit *a, const options *o, bool hit);

/* audit_words.c: what there is to say. */
void audit_where(const audit *a, const finding *f, char *buf, size_t size); /* "" when it is the whole rule */
void audit_sentence(const audit *a, const finding *f, char *buf, size_t size);
void audit_needs(const audit *a, const finding *f, char *buf, size_t size); /* "reject, branch" */
void audit_does(const finding *f, char *buf, size_t size);                  /* "simulate simulate_jal" */
const char *audit_kernels_text(const finding *f);
const char *audit_fit(const audit_kernel *k); /* behind the target: "" or ", the nearest"; k may be NULL */
void audit_answerer_text(const audit *a, const audit_kernel *k, char *buf, size_t size); /* a sentence */
const char *audit_place_sentence(unsigned hazard);
const char *audit_verdict_name(audit_verdict verdict);           /* "differs", ... */
void audit_proof_text(const finding *f, char *buf, size_t size); /* a sentence */
json_object *place_json(const audit *a, unsigned hazard);
json_object *finding_json(const audit *a, const finding *f, bool sites);

/* audit_report.c, audit_markdown.c. file: NULL without --file. */
typedef struct audit_scope {
    const char *file;           /* NULL: the whole space */
    uint64_t sites, hits;       /* looked at; with something wrong */
    const char *kind;           /* --sites */
    const audit_kernel *kernel; /* NULL: a target was named */
} audit_scope;
void audit_report(output *out, const audit *a, const audit_scope *scope);
void audit_markdown(FILE *f, const audit *a, const audit_scope *scope);
bool audit_is_shown(const finding *f, const audit_scope *scope);

/* audit_file.c: count the sites of a program in each finding. */
void audit_sites(audit *a, const code *c, const options *o, audit_scope *scope);

#endif

/* What the parts of the benchmark share. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xolsim.h>

typedef struct json_object json_object;

enum { ROUNDS = 7, SHORT_ROUNDS = 31, MAX_ROUNDS = 31, MAX_CONTENDERS = 12, TEXT = 256 };

typedef struct settings {
    const char *xolsim, *build, *bench; /* the program, the folder for large files, where bench/lockstep is */
    const char *commit;
    bool quick; /* one round on little data: does everything run? Its figures mean nothing */
} settings;

/* ---- rounds.c: everybody once a round ------------------------------------------------------------ */

/* One that is measured. run does its work once; false: it failed, and so does the benchmark. */
typedef struct contender {
    char name[64];   /* key of its raw figures */
    char what[TEXT]; /* what is done, for the row */
    bool (*run)(void *arg);
    void *arg;
    double amount; /* units of work in one run */
    unsigned passes;
    double seconds[MAX_ROUNDS]; /* for one unit of work */
} contender;

typedef enum measure_of { CPU_TIME, WALL_TIME } measure_of;

typedef struct group {
    contender list[MAX_CONTENDERS];
    size_t count;
    unsigned rounds;
    measure_of time;
    bool pinned;   /* all on one core */
    double least;  /* seconds: run again until a round took as long; 0: once */
    double others; /* cores that other processes used meanwhile, on the average; below 0: not known */
} group;

contender *group_add(group *g, const char *name, bool (*run)(void *), void *arg, double amount,
                     const char *what, ...) __attribute__((format(printf, 6, 7)));
contender *group_find(group *g, const char *name);
bool group_measure(group *g);

double median(const double *values, size_t count);
double clock_now(measure_of time);
void pin_to_one_core(void);
void unpin(void);
unsigned usable_cores(void);

/* ---- report.c: rows on the terminal and build/bench.json ------------------------------------------- */

bool report_open(const settings *s);
bool report_close(const char *path); /* false: a ratio misses its bound, or the file cannot be written */
void report_list(void);
void report_fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_count(const char *name, size_t value);
void report_heading(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A figure that is no ratio. */
void report_raw(const char *name, const char *unit, const double *values, size_t count, const char *what, ...)
    __attribute__((format(printf, 5, 6)));

/* All members of a group as units of work a second times scale, or as seconds when scale is 0. */
void report_group(const group *g, const char *unit, double scale);

/* key: how many times as fast a is as b, by round. */
void report_ratio(const char *key, const contender *a, const contender *b, unsigned rounds);
void report_ratio_values(const char *key, const double *values, size_t count, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* A figure that has a bound of its own. */
void report_limit(const char *name, double value, double at_most);
void report_skip(const char *key, const char *why, ...) __attribute__((format(printf, 2, 3)));

/* The ratios' keys and whether less is better; NULL after the last. */
const char *ratio_key(size_t i, bool *less_is_better);

/* ---- history.c ------------------------------------------------------------------------------------- */

int history_append(const char *json, const char *history);
int history_compare(const char *history);

/* ---- corpus.c: words of real libraries ------------------------------------------------------------- */

typedef struct function {
    uint64_t offset, size; /* in the text */
    uint32_t name;         /* in the names */
} function;

/* The .text of the cross libc and libstdc++, one behind the other, and the functions of their .dynsym. */
typedef struct corpus {
    char arch[16];
    uint8_t *text;
    size_t size;
    function *functions;
    size_t function_count;
    char *names;
    size_t names_size;
} corpus;

bool corpus_load(corpus *c, const char *arch, char why[TEXT]);
void corpus_free(corpus *c);
size_t corpus_copies(const corpus *c, size_t bytes); /* how many are at least so many bytes */
void corpus_repeat(const corpus *c, uint8_t *text, size_t copies);

/* The functions in so many copies. */
size_t corpus_functions(const corpus *c, size_t copies);
/* An ELF program of so many copies, with symbols of the first `functions` functions and a $x for each, as
 * -ffunction-sections leaves them; 0: stripped. */
bool corpus_write_elf(const corpus *c, const char *path, size_t copies, size_t functions);

/* Zeroed memory, in huge pages where there are any: the same for every contender. */
uint8_t *pages(size_t size);
void pages_free(uint8_t *memory, size_t size);
size_t last_level_cache(void); /* bytes, 0: not known */

/* ---- the decoders of a corpus ------------------------------------------------------------------------ */

typedef struct ours {
    xs_table *table;
    xs_decoder *decoder;
    char target[64]; /* the newest release's uprobes */
} ours;

bool ours_open(ours *o, const char *arch);
void ours_close(ours *o);

/* ---- the rows ------------------------------------------------------------------------------------- */

/* memory.c: nothing but the traffic. */
void memory_copy_tops(const uint8_t *text, size_t words, uint8_t *out); /* words: a multiple of 64 */
extern volatile uint64_t memory_sum;
void memory_read(const uint8_t *text, size_t words);
const char *memory_how(void);

bool rows_bulk(const settings *s, const char *arch); /* bulk.c */
bool rows_beyond_cache(const settings *s);           /* beyond.c: and table diff */
bool rows_files(const settings *s);                  /* files.c */
bool rows_startup(const settings *s);                /* files.c */
bool rows_memory_peak(const settings *s);            /* peak.c */
bool rows_execution(const settings *s);              /* execution.c: simulate and lockstep */

/* ---- command.c: other programs ----------------------------------------------------------------------- */

enum { MAX_ARGS = 24 };
typedef struct command {
    const char *argv[MAX_ARGS];
} command;

bool command_run(void *arg); /* a command; output to /dev/null */
bool command_exists(const char *program);
int command_start(const command *c); /* its pid, or -1 */
/* Runs line by the shell; each line of its output to fn. */
bool command_lines(const char *line, void (*fn)(const char *line, void *arg), void *arg);
/* The first line that a command prints. */
void command_version(const char *line, char out[TEXT]);

#endif

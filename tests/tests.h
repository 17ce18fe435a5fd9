/* What the test suites share. The working directory is the repository's root.
 *
 * All suites run in one process (CK_FORK=no), because they count together which rules they have
 * tested: the last suite fails when there is a rule that none of them touched. */
#ifndef XOLSIM_TESTS_H
#define XOLSIM_TESTS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xolsim.h"

Suite *notation_suite(void);
Suite *table_suite(void);
Suite *reference_suite(void);
Suite *decoder_suite(void);
Suite *classifier_suite(void);
Suite *site_suite(void);
Suite *coverage_suite(void); /* last */

/* Not in every build: NULL when the file is not there. */
Suite *image_suite(void) __attribute__((weak));
void add_image_sort(Suite *suite); /* a part of it */
Suite *simulator_suite(void) __attribute__((weak));
Suite *oracle_suite(void) __attribute__((weak));
Suite *lockstep_suite(void) __attribute__((weak));
Suite *code_suite(void) __attribute__((weak));
Suite *kernel_suite(void) __attribute__((weak));
Suite *cli_suite(void) __attribute__((weak));
Suite *audit_suite(void) __attribute__((weak));
Suite *cubes_suite(void) __attribute__((weak));
Suite *answers_suite(void) __attribute__((weak));

/* ---- failures -------------------------------------------------------------------------------- */

/* A case of a list is wrong: say so and go on. all_right ends the test, failed if there was one. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void all_right(void);

/* ---- fixtures -------------------------------------------------------------------------------- */

/* A line of a fixture, cut at its tabs. Empty lines and those that begin with # are left out. */
typedef struct row {
    const char *path;
    unsigned line;
    size_t count;
    char *field[10];
} row;
typedef void row_fn(const row *r, void *arg);

/* Calls fn for every row; a path that ends in .xz is read through xz. Fails the test if the file has none. */
void each_row(const char *path, row_fn *fn, void *arg);

/* The whole file, NUL-terminated; free it. Fails the test if it cannot be read. */
char *read_file(const char *path, size_t *len);

/* Is the golden file's text this one? With XOLSIM_GOLDEN=1 it is written instead. */
void golden(const char *path, const char *text);

uint32_t hex(const char *text);         /* fails the test if it is none */
xs_class class_named(const char *name); /* likewise; also INSN_GOOD and so on */

/* A word of a fixture: 4 digits are a compressed instruction, 8 a full one. */
typedef struct encoding {
    uint32_t word;
    unsigned size;
} encoding;
encoding word_named(const char *digits);

/* Words with blanks between them as text in memory; returns its length in bytes, at[] where each begins. */
enum { TEXT_MAX = 512, TEXT_WORDS = 128 };
size_t text_from(char *words, uint8_t text[TEXT_MAX], size_t at[TEXT_WORDS], size_t *count);

/* ---- tables and targets ---------------------------------------------------------------------- */

/* The built-in table that has this architecture; parsed once. */
const xs_table *builtin(const char *arch);

/* The decoder of a target of a built-in table, made once. Fails the test if there is no such target. */
const xs_decoder *decoder_of(const char *target);
const xs_decoder *ideal_of(const xs_decoder *d); /* `ideal` of the same architecture and extensions */
void drop_tables(void);                          /* at the end */

/* The targets of a list: items with commas between them. ARCH/KERNEL/MODE is one; without MODE, all modes the
 * kernel has; KERNEL may be A..B (releases from A, before B), A.. or * (all releases and series). */
typedef void target_fn(const xs_decoder *d, void *arg);
void each_target(const char *list, target_fn *fn, void *arg);

/* xs_classify_text with a classifier made for it. */
size_t classify(const xs_decoder *d, const void *text, size_t size, uint8_t *classes, size_t *left);

/* The target of a decoder, as it is written; a static buffer. */
const char *target_name(const xs_decoder *d);

const xs_entry *entry_of(const xs_decoder *d, uint32_t word);

/* ---- coverage -------------------------------------------------------------------------------- */

/* A test stated what this entry of a built-in table must do. */
void cover(const xs_entry *entry);

/* ---- random words ---------------------------------------------------------------------------- */

/* Printed by main, set with the environment variable XOLSIM_SEED. */
extern uint64_t seed;
typedef struct rng {
    uint64_t state;
} rng;
rng rng_new(const char *test); /* the same numbers whatever ran before */
uint32_t rng_next(rng *r);

#endif

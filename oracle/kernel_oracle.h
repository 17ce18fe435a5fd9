/* A real kernel as oracle: its functions are called in Unicorn, at the addresses it is linked at.
 *
 *     xs_kernel_image_open("vmlinux", NULL, &image, ...)       image/vmlinux.h
 *     xs_kernel_open(image, false, ...)                        a machine that can call its functions
 *     xs_kernel_decoder_open(k, "uprobe", ...)                 its decode function, and where that names a
 * handler xs_kernel_classify(&decoder, word, &answer)              one word xs_kernel_runs(&decoder, 0,
 * UINT32_MAX, fn, arg)         all of them
 *
 * The kernel is as its linker has left it: no alternative is patched in, no static key is switched on,
 * ftrace's pads are nops, so that it acts as on a plain machine of its architecture. The stack protector's
 * canary, the current task and per-cpu variables are zero. A call that does not return to its caller (a
 * fault, an undefined instruction, BUG(), a loop) is a crash, never an answer. */
#ifndef XOLSIM_ORACLE_KERNEL_H
#define XOLSIM_ORACLE_KERNEL_H

#include "vmlinux.h"
#include "xolsim.h"

enum { XS_KERNEL_ARGS = 4, XS_KERNEL_ROOM = 1 << 20, XS_KERNEL_WORD_AT = 0x8000 };

/* Why a call did not return. */
typedef struct xs_kernel_crash {
    const char *what;  /* "reads where nothing is", ...; a static string */
    uint64_t pc, addr; /* of the instruction; of the access (0: none) */
    char where[96];    /* pc as symbol+0xoffset, or "outside the kernel" */
} xs_kernel_crash;

typedef struct xs_kernel xs_kernel;

/* The image must outlive it, and is written to by what runs. exact: the pc of a crash is that of the
 * instruction, otherwise it may be that of the straight piece of code it is in, at ten times the speed. NULL:
 * why says what fails. */
xs_kernel *xs_kernel_open(const xs_kernel_image *image, bool exact, char *why, size_t size);
void xs_kernel_close(xs_kernel *k); /* NULL is allowed */
const xs_kernel_image *xs_kernel_image_of(const xs_kernel *k);

/* XS_KERNEL_ROOM bytes of the machine's memory that the kernel does not know of, at *addr. A word that the
 * decoder is shown lies at XS_KERNEL_WORD_AT, with nothing but zeros before it. */
uint8_t *xs_kernel_room(const xs_kernel *k, uint64_t *addr);

/* Call the function at addr. false: it crashed, see xs_kernel_crashed. */
bool xs_kernel_call(xs_kernel *k, uint64_t addr, const uint64_t args[XS_KERNEL_ARGS], uint64_t *result);
const xs_kernel_crash *xs_kernel_crashed(const xs_kernel *k);
/* "symbol+0x10 (0xffff...): reads where nothing is, at 0x8" */
void xs_kernel_crash_text(const xs_kernel_crash *crash, char *text, size_t size);

/* Replace the function at addr by one that answers `result` and writes *values[i] to where its argument i + 1
 * points: for kallsyms_lookup_size_offset, whose tables would have to be set up otherwise. */
bool xs_kernel_answer(xs_kernel *k, uint64_t addr, uint64_t result, const uint64_t values[2]);

/* ---- the decode function ----------------------------------------------------------------------------- */

typedef struct xs_kernel_decoder {
    xs_kernel *k;
    const char *mode, *name; /* "uprobe"; the function's symbol */
    uint64_t function;
    bool by_address;     /* it is given the word's address, not the word */
    unsigned handler_at; /* where it writes the handler's address, in the structure it is given */
    uint64_t lookup;     /* arm64's kprobe: whom it asks for the function a word is in; else 0 */
} xs_kernel_decoder;

typedef struct xs_kernel_verdict {
    xs_class cls;
    uint64_t handler; /* address; 0: none */
} xs_kernel_verdict;

/* Find the decode function of a mode, and where it leaves the handler: the place in its structure where the
 * address of a simulate_* function appears when it is given words that are simulated (by any target of
 * table's). false: why says what is missing. */
bool xs_kernel_decoder_open(xs_kernel *k, const xs_table *table, const char *mode, xs_kernel_decoder *out,
                            char *why, size_t size);

/* What the kernel says to a word. false: it crashed. */
bool xs_kernel_classify(const xs_kernel_decoder *d, uint32_t word, xs_kernel_verdict *verdict);

/* Where a word stands, for a decoder that looks back from it (arm64's kprobe). */
enum { XS_KERNEL_BEFORE = 64 };
typedef struct xs_kernel_place {
    uint32_t before[XS_KERNEL_BEFORE]; /* the words before it, the nearest one last */
    bool found;                        /* what kallsyms_lookup_size_offset answers, ... */
    uint64_t offset;                   /* and how many bytes into its function it says the word is */
} xs_kernel_place;

/* The same at a place. false: it crashed, or it is no such decoder (xs_kernel_crashed has nothing then). */
bool xs_kernel_classify_at(const xs_kernel_decoder *d, uint32_t word, const xs_kernel_place *place,
                           xs_kernel_verdict *verdict);
/* The handler's symbol; "-" for none. A static string, or one of the image's. */
const char *xs_kernel_handler_name(const xs_kernel_decoder *d, uint64_t handler, char *buf, size_t size);

/* Runs of words first..last with one verdict, in order, merged. Stops when fn returns false. */
typedef bool xs_kernel_run_fn(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *verdict);

typedef enum xs_kernel_end { XS_KERNEL_DONE, XS_KERNEL_STOPPED, XS_KERNEL_CRASHED } xs_kernel_end;

/* Words first..last by a loop inside the machine. XS_KERNEL_STOPPED: fn said so; XS_KERNEL_CRASHED: at *word.
 */
xs_kernel_end xs_kernel_runs(const xs_kernel_decoder *d, uint32_t first, uint32_t last, xs_kernel_run_fn *fn,
                             void *arg, uint32_t *word);

#endif

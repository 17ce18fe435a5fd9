/* Sets of words as cubes: those with (word & mask) == value. */
#ifndef XOLSIM_CLI_CUBES_H
#define XOLSIM_CLI_CUBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cube {
    uint32_t mask, value;
} cube;

typedef struct cube_list {
    cube *list;
    size_t count, room;
} cube_list;

uint64_t cube_words(cube c);
bool cube_holds(cube c, uint32_t word);

bool cubes_add(cube_list *cubes, cube c); /* false: no memory */
/* The words first, first + step, ..., last, of which step is a power of two. */
bool cubes_add_words(cube_list *cubes, uint32_t first, uint32_t last, uint32_t step);
/* Of cubes that have no word in common, the same words in fewer, in order. */
void cubes_join(cube_list *cubes);
void cubes_close(cube_list *cubes);

/* Cut a cube into pieces, each within one of the list's cubes (in: its place) or outside of all (in:
 * SIZE_MAX). The list's have no word in common. Stops when fn returns false, and returns that. */
typedef bool cube_piece_fn(void *arg, cube piece, size_t in);
bool cubes_cut(const cube_list *cubes, cube whole, cube_piece_fn *fn, void *arg);

#endif

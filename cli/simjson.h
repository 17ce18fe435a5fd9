/* JSON of a known shape, read in place: no allocation, strings are cut out of the line itself. */
#ifndef XOLSIM_SIMJSON_H
#define XOLSIM_SIMJSON_H

#include <stdbool.h>
#include <stddef.h>

#include "sim.h"

typedef struct json_reader {
    char *start, *at, *end; /* *end is NUL */
    sim_why *why;
} json_reader;

/* A member of an object: read its value; false after a refusal. */
typedef bool json_member(json_reader *r, char *key, void *arg);
/* An item of an array: likewise. */
typedef bool json_item(json_reader *r, void *arg);

json_reader json_reader_over(char *line, size_t len, sim_why *why);
bool json_read_object(json_reader *r, json_member *member, void *arg);
bool json_read_array(json_reader *r, json_item *item, void *arg);
bool json_read_string(json_reader *r, char **out);
/* A string, or a number of digits alone; *quoted says which (may be NULL). */
bool json_read_value(json_reader *r, char **out, bool *quoted);
bool json_read_bool(json_reader *r, bool *out);
bool json_read_end(json_reader *r); /* nothing but blanks is left */

#endif

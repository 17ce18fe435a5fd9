/* bench/history.tsv: the ratios by commit, and whether the last one fell. */
#include "bench.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, FIXED = 4 }; /* commit, date, path, CPU */
static const double tolerance = 0.2;

static const char *text_of(json_object *object, const char *key)
{
    json_object *value;
    return object && json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : "-";
}

static bool append(json_object *root, FILE *f)
{
    json_object *machine = NULL, *ratios = NULL, *value;
    bool less;
    json_object_object_get_ex(root, "machine", &machine);
    if (!json_object_object_get_ex(root, "ratios", &ratios)) return false;
    fprintf(f, "%s\t%s\t%s\t%s", text_of(root, "commit"), text_of(root, "date"), text_of(machine, "path"),
            text_of(machine, "cpu"));
    for (size_t i = 0; ratio_key(i, &less); i++)
        if (json_object_object_get_ex(ratios, ratio_key(i, &less), &value))
            fprintf(f, "\t%.4g", json_object_get_double(value));
        else
            fputs("\t-", f);
    fputc('\n', f);
    return ferror(f) == 0;
}

int history_append(const char *json, const char *history)
{
    json_object *quick = NULL, *root = json_object_from_file(json);
    if (!root || !json_object_object_get_ex(root, "quick", &quick) || json_object_get_boolean(quick)) {
        fprintf(stderr, "bench: %s is not there or from a --quick run; run make bench first\n", json);
        json_object_put(root);
        return EXIT_FAILURE;
    }
    FILE *f = fopen(history, "a");
    bool ok = f && append(root, f);
    if (f && fclose(f) != 0) ok = false;
    json_object_put(root);
    if (!ok) fprintf(stderr, "bench: %s cannot be written\n", history);
    return ok ? history_compare(history) : EXIT_FAILURE;
}

/* ---- the last two lines ------------------------------------------------------------------------------ */

typedef struct lines {
    char last[LINE], before[LINE];
} lines;

static bool read_lines(const char *history, lines *l)
{
    char line[LINE];
    *l = (lines){0};
    FILE *f = fopen(history, "r");
    if (!f) return false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == 0 || *line == '#') continue;
        memcpy(l->before, l->last, LINE);
        memcpy(l->last, line, LINE);
    }
    fclose(f);
    return true;
}

static void field(const char *line, size_t number, char out[TEXT])
{
    while (number-- > 0 && *line) {
        line += strcspn(line, "\t");
        line += *line == '\t';
    }
    snprintf(out, TEXT, "%.*s", (int)strcspn(line, "\t"), line);
}

/* 1: the ratio number i of the last line is worse than before by more than the tolerance. */
static int worse(const lines *l, size_t i, const char *key, bool less_is_better)
{
    char was[TEXT], is[TEXT];
    field(l->before, FIXED + i, was);
    field(l->last, FIXED + i, is);
    double old = strtod(was, NULL), new = strtod(is, NULL); /* "-" is 0 */
    if (old <= 0 || new <= 0) return 0;
    if (less_is_better ? new <= old *(1 + tolerance) : new >= old *(1 - tolerance)) return 0;
    printf("%s: %s, was %s\n", key, is, was);
    return 1;
}

/* Ratios of different machines, or paths, say nothing about each other. */
static bool comparable(const lines *l)
{
    for (size_t i = 2; i < FIXED; i++) {
        char was[TEXT], is[TEXT];
        field(l->before, i, was);
        field(l->last, i, is);
        if (strcmp(was, is) == 0) continue;
        printf("not compared: %s, and %s before\n", is, was);
        return false;
    }
    return true;
}

int history_compare(const char *history)
{
    lines l;
    int fell = 0;
    bool less;
    if (!read_lines(history, &l)) {
        fprintf(stderr, "bench: %s cannot be read\n", history);
        return EXIT_FAILURE;
    }
    if (*l.before == 0) {
        puts("history: fewer than two lines, nothing to compare");
        return EXIT_SUCCESS;
    }
    if (!comparable(&l)) return EXIT_SUCCESS;
    for (size_t i = 0; ratio_key(i, &less); i++)
        fell += worse(&l, i, ratio_key(i, &less), less);
    printf("history: %d ratios are worse by more than %.0f %%\n", fell, tolerance * 100);
    return fell ? EXIT_FAILURE : EXIT_SUCCESS;
}

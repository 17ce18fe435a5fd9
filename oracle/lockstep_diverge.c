/* divergences.txt: where the architecture says one thing and Unicorn another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep_internal.h"

static const char *const fields[XS_FIELDS] = {"end", "fault", "pc", "register", "memory", "atomic"};

const char *xs_field_name(xs_field field)
{
    return (unsigned)field < XS_FIELDS ? fields[field] : "?";
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_end(const char *line, int at)
{
    return at > 0 && line[at] == '\0';
}

static bool parse_run_as(const char *line, xs_run_as *r)
{
    int at = 0;
    *r = (xs_run_as){0};
    return sscanf(line, "%39s runs-as %39s \"%399[^\"]\" %n", r->rule, r->as, r->reason, &at) == 3 &&
           is_end(line, at);
}

static bool parse_not_run(const char *line, xs_not_run *n)
{
    int at = 0;
    *n = (xs_not_run){0};
    return sscanf(line, "%39s not-run \"%399[^\"]\" \"%399[^\"]\" %n", n->rule, n->why, n->sound, &at) == 3 &&
           is_end(line, at);
}

static bool parse_taken_for(const char *line, xs_taken_for *t)
{
    int at = 0;
    *t = (xs_taken_for){0};
    return sscanf(line, "%39s taken-for %39s \"%399[^\"]\" %n", t->rule, t->as, t->reason, &at) == 3 &&
           is_end(line, at);
}

static bool parse_divergence(const char *line, xs_divergence *d)
{
    char field[16], subject[40];
    int at = 0;
    *d = (xs_divergence){0};
    if (sscanf(line, "%39s %15s %23s %23s \"%199[^\"]\" %n", subject, field, d->ours, d->theirs, d->reason,
               &at) != 5 ||
        !is_end(line, at))
        return false;
    if (strncmp(subject, "0x", 2) == 0)
        d->word = (uint32_t)strtoul(subject, NULL, 16);
    else
        snprintf(d->rule, sizeof d->rule, "%s", subject);
    for (int f = 0; f < XS_FIELD_ATOMIC; f++)
        if (strcmp(field, fields[f]) == 0) {
            d->field = (xs_field)f;
            return true;
        }
    return false;
}

static bool parse_line(const char *line, unsigned number, xs_divergences *out)
{
    char verb[16] = "";
    sscanf(line, "%*s %15s", verb);
    if (strcmp(verb, "runs-as") == 0) {
        if (out->run_as_count == XS_RUN_AS || !parse_run_as(line, &out->run_as[out->run_as_count]))
            return false;
        out->run_as[out->run_as_count++].line = number;
    } else if (strcmp(verb, "not-run") == 0) {
        if (out->not_run_count == XS_NOT_RUN || !parse_not_run(line, &out->not_run[out->not_run_count]))
            return false;
        out->not_run[out->not_run_count++].line = number;
    } else if (strcmp(verb, "taken-for") == 0) {
        if (out->taken_for_count == XS_TAKEN_FOR ||
            !parse_taken_for(line, &out->taken_for[out->taken_for_count]))
            return false;
        out->taken_for[out->taken_for_count++].line = number;
    } else {
        if (out->count == XS_DIVERGENCES || !parse_divergence(line, &out->list[out->count])) return false;
        out->list[out->count++].line = number;
    }
    return true;
}

bool xs_divergences_parse(const char *text, xs_divergences *out, char *why, size_t size)
{
    unsigned number = 0;
    *out = (xs_divergences){0};
    while (*text) {
        char line[1000];
        size_t len = strcspn(text, "\n");
        number++;
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), text);
        text += len + (text[len] == '\n');
        if (line[strspn(line, " \t\r")] == '\0' || *line == '#') continue;
        if (len >= sizeof line || !parse_line(line, number, out)) {
            snprintf(why, size,
                     "line %u is not: RULE|0xWORD FIELD OURS THEIRS \"reason\", RULE runs-as|taken-for RULE "
                     "\"reason\" or RULE not-run \"why\" \"why it is sound\"",
                     number);
            return false;
        }
    }
    return true;
}

bool xs_divergence_stale(uint64_t tested, uint64_t used)
{
    return used == 0 && tested >= XS_DIVERGENCE_ENOUGH;
}

/* ---- what differs, in the words of the file ---------------------------------------------------- */

/* Theirs has stored some of the bytes that ours was refused as a whole, and nothing else. */
static bool stored_part(const xs_lockstep *ls, const xs_check *check)
{
    if (check->status != XS_SIM_STORE_FAULT) return false;
    for (uint64_t i = 0; i < XS_DATA; i++) {
        uint64_t in = xs_address(ls->arch, ls->arch->data + i - check->fault.addr);
        if (ls->o->data[i] != ls->mine[i] &&
            (in >= check->fault.size || in >= sizeof ls->wanted || ls->o->data[i] != ls->wanted[in]))
            return false;
    }
    return true;
}

static const char *ours_in(const xs_check *check, xs_field field)
{
    switch (field) {
    case XS_FIELD_END: return xs_sim_status_name(check->status);
    case XS_FIELD_FAULT: return check->status == XS_SIM_LOAD_FAULT ? "load" : "store";
    case XS_FIELD_MEMORY: return check->status == XS_SIM_STORE_FAULT ? "untouched" : "right";
    default: return "right";
    }
}

static const char *theirs_in(const xs_lockstep *ls, const xs_check *check, xs_field field)
{
    switch (field) {
    case XS_FIELD_END: return xs_end_name(check->end);
    case XS_FIELD_FAULT:
        return xs_address(ls->arch, check->their_fault - check->fault.addr) < check->fault.size ? "inside"
                                                                                                : "elsewhere";
    case XS_FIELD_MEMORY: return stored_part(ls, check) ? "part" : "other";
    default: return "other";
    }
}

static bool is_about(const xs_divergence *d, const xs_lockstep *ls, uint32_t word)
{
    if (strcmp(d->rule, "*") == 0) return true;
    return *d->rule ? strcmp(d->rule, ls->c->e->rule->name) == 0 : d->word == word;
}

/* Could the entry have applied? A line about a fault needs one. */
static bool could_apply(const xs_divergence *d, const xs_check *check)
{
    bool faulted = check->status == XS_SIM_LOAD_FAULT || check->status == XS_SIM_STORE_FAULT;
    return (d->field != XS_FIELD_FAULT || faulted) && strcmp(d->ours, ours_in(check, d->field)) == 0;
}

bool xs_explained(xs_lockstep *ls, xs_check *check)
{
    unsigned left = check->differs;
    for (unsigned i = 0; ls->divergences && i < ls->divergences->count; i++) {
        xs_divergence *d = &ls->divergences->list[i];
        if (!is_about(d, ls, check->word) || !could_apply(d, check)) continue;
        d->tested++;
        if (!(left >> d->field & 1) || strcmp(d->theirs, theirs_in(ls, check, d->field)) != 0) continue;
        d->used++;
        left &= ~(1u << d->field);
    }
    check->differs = left;
    return left == 0;
}

void xs_count_quiet(xs_lockstep *ls)
{
    const xs_check quiet = {.status = XS_SIM_OK};
    for (unsigned i = 0; ls->divergences && i < ls->divergences->count; i++) {
        xs_divergence *d = &ls->divergences->list[i];
        if (is_about(d, ls, ls->word) && could_apply(d, &quiet)) d->tested += ls->quiet;
    }
}

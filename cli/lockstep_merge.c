/* lockstep merge: the shards of one run, together. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"

/* What all shards of a run have in common. */
static const char *const common[] = {"version", "seed", "class",    "target", "table", "table_sum",
                                     "rule",    "file", "file_sum", "count",  "time",  "states"};
static const char *const lists[] = {"summary", "rules", "divergences", "run_as", "not_run", "failures"};

static bool same_value(json_object *a, json_object *b, const char *key)
{
    const char *x = json_object_get_string(json_object_object_get(a, key)),
               *y = json_object_get_string(json_object_object_get(b, key));
    return x == y || (x && y && strcmp(x, y) == 0);
}

/* Counts are no smaller than 0 and no larger than a campaign of centuries. */
static bool counts_are_sane(json_object *list)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *row = json_object_array_get_idx(list, i);
        if (!json_object_is_type(row, json_type_object)) return false;
        json_object_object_foreach(row, key, v)
        {
            (void)key;
            int64_t n = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : 0;
            if (n < 0 || n > INT64_C(1) << 53) return false;
        }
    }
    return true;
}

static bool is_report(json_object *r)
{
    json_object *shard = json_object_object_get(r, "shard");
    if (!json_object_is_type(r, json_type_object) || !json_object_is_type(shard, json_type_object))
        return false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!json_object_is_type(json_object_object_get(r, lists[i]), json_type_array) ||
            !counts_are_sane(json_object_object_get(r, lists[i])))
            return false;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!json_object_object_get_ex(r, common[i], NULL)) return false;
    return json_number(shard, "of") > 0 && json_number(shard, "index") > 0;
}

static json_object *read_report(const char *path, int *status)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *status = complain(STATUS_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    json_object *r = json_object_from_fd(fd);
    close(fd);
    if (r && is_report(r)) return r;
    json_object_put(r);
    *status = complain(STATUS_INPUT, "%s: not a report of xolsim lockstep --format json", path);
    return NULL;
}

/* ---- what cannot be merged -------------------------------------------------------------------------- */

static int check_shard(json_object **reports, int count, int i, char **paths)
{
    json_object *shard = json_object_object_get(reports[i], "shard");
    for (size_t k = 0; k < sizeof common / sizeof *common; k++)
        if (!same_value(reports[0], reports[i], common[k]))
            return complain(STATUS_INPUT, "%s: another run than %s: its %s is different", paths[i], paths[0],
                            common[k]);
    if (!same_value(json_object_object_get(reports[0], "shard"), shard, "of"))
        return complain(STATUS_INPUT, "%s: another run than %s: its number of shards is different", paths[i],
                        paths[0]);
    if (json_object_get_boolean(json_object_object_get(reports[i], "interrupted")))
        return complain(STATUS_INPUT, "%s: was interrupted or failed: run this shard again", paths[i]);
    for (int k = 0; k < i; k++)
        if (same_value(json_object_object_get(reports[k], "shard"), shard, "index"))
            return complain(STATUS_INPUT, "%s: the same shard as %s", paths[i], paths[k]);
    (void)count;
    return STATUS_OK;
}

static int check_all(json_object **reports, int count, char **paths)
{
    uint64_t of = json_number(json_object_object_get(reports[0], "shard"), "of");
    int status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = check_shard(reports, count, i, paths);
    for (uint64_t s = 1; status == STATUS_OK && s <= of; s++) {
        bool there = false;
        for (int i = 0; i < count; i++)
            there |= json_number(json_object_object_get(reports[i], "shard"), "index") == s;
        if (!there) status = complain(STATUS_INPUT, "shard %" PRIu64 "/%" PRIu64 " is missing", s, of);
    }
    return status;
}

/* ---- sums -------------------------------------------------------------------------------------------- */

static bool same_row(json_object *a, json_object *b, const char *const *keys)
{
    for (; *keys; keys++)
        if (!same_value(a, b, *keys)) return false;
    return true;
}

static json_object *find_row(json_object *list, json_object *row, const char *const *keys)
{
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (same_row(json_object_array_get_idx(list, i), row, keys))
            return json_object_array_get_idx(list, i);
    return NULL;
}

/* Every number of row into the one of `to`. */
static void add_row(json_object *to, json_object *row, const char *const *counters)
{
    for (; *counters; counters++)
        json_object_object_add(
            to, *counters,
            json_object_new_int64((int64_t)(json_number(to, *counters) + json_number(row, *counters))));
}

static void add_list(json_object *to, json_object *from, const char *list, const char *const *keys,
                     const char *const *counters)
{
    json_object *all = json_object_object_get(to, list), *more = json_object_object_get(from, list);
    for (size_t i = 0; i < json_object_array_length(more); i++) {
        json_object *row = json_object_array_get_idx(more, i), *known = find_row(all, row, keys);
        if (known)
            add_row(known, row, counters);
        else
            json_object_array_add(all, json_object_get(row));
    }
}

static void add_seconds(json_object *to, json_object *from)
{
    static const char *const keys[] = {"arch", NULL};
    json_object *all = json_object_object_get(to, "summary"), *more = json_object_object_get(from, "summary");
    for (size_t i = 0; i < json_object_array_length(more); i++) {
        json_object *row = json_object_array_get_idx(more, i), *known = find_row(all, row, keys);
        double seconds = json_object_get_double(json_object_object_get(row, "seconds"));
        if (known)
            json_object_object_add(
                known, "seconds",
                json_object_new_double(seconds +
                                       json_object_get_double(json_object_object_get(known, "seconds"))));
        else
            json_object_array_add(all, json_object_get(row));
    }
}

static void add_report(json_object *to, json_object *from)
{
    static const char *const rule_keys[] = {"arch", "rule", "handler", "target", NULL};
    static const char *const rule_counters[] = {"words",    "checks",   "faults",      "unsupported",
                                                "unstable", "diverged", "differences", "ungenerated",
                                                "run_as",   NULL};
    static const char *const line_keys[] = {"arch", "line", "about", "field", "ours", "theirs", NULL};
    static const char *const line_counters[] = {"tested", "used", NULL};
    static const char *const known_keys[] = {"arch", "line", "rule", "as", "why", NULL};
    static const char *const failure_keys[] = {"arch", "rule", "told", "target", NULL}, *const none[] = {
                                                                                            NULL};
    add_list(to, from, "rules", rule_keys, rule_counters);
    add_list(to, from, "divergences", line_keys, line_counters);
    add_list(to, from, "run_as", known_keys, line_counters);
    add_list(to, from, "not_run", known_keys, none);
    add_list(to, from, "failures", failure_keys, none);
    add_seconds(to, from);
}

/* The first report takes all others in. */
static int merge(const options *o, json_object **reports, int count)
{
    for (int i = 1; i < count; i++)
        add_report(reports[0], reports[i]);
    report_total(reports[0]);
    json_object *whole = json_object_new_object();
    json_object_object_add(whole, "index", json_object_new_int(0)); /* no shard: cannot be merged again */
    json_object_object_add(whole, "of", json_object_new_int(count));
    json_object_object_add(reports[0], "shard", whole);
    int status = report_write(o, reports[0], false);
    return worse(status, report_status(reports[0]));
}

int lockstep_merge(const options *o)
{
    int count = o->count - 1, read = 0, status = STATUS_OK;
    if (count < 1) return complain(STATUS_USAGE, "lockstep merge REPORT...");
    json_object **reports = calloc((size_t)count, sizeof *reports);
    if (!reports) return complain(STATUS_INTERNAL, "out of memory");
    for (; read < count && status == STATUS_OK; read++)
        reports[read] = read_report(o->args[read + 1], &status);
    if (status == STATUS_OK) status = check_all(reports, count, o->args + 1);
    if (status == STATUS_OK) status = merge(o, reports, count);
    for (int i = 0; i < read; i++)
        json_object_put(reports[i]);
    free(reports);
    return status;
}

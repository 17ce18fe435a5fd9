/* kernel --identify: which target a kernel equals, by telling words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* ---- who it is ----------------------------------------------------------------------------------- */

static int ask_all(const xs_kernel_decoder *d, identity *id)
{
    id->verdicts = calloc(id->telling.word_count, sizeof *id->verdicts);
    if (!id->verdicts) return complain(STATUS_INTERNAL, "out of memory");
    for (size_t i = 0; i < id->telling.word_count; i++) {
        char text[256];
        if (xs_kernel_classify(d, id->telling.words[i], &id->verdicts[i])) continue;
        xs_kernel_crash_text(xs_kernel_crashed(d->k), text, sizeof text);
        return complain(STATUS_INTERNAL, "0x%08" PRIx32 ": %s crashes: %s", id->telling.words[i], d->name,
                        text);
    }
    return STATUS_OK;
}

static const xs_entry *entry_of(const xs_decoder *decoder, uint32_t word)
{
    size_t count;
    return &xs_decoder_entries(decoder, &count)[xs_lookup(decoder, word)];
}

static bool agrees(const xs_kernel_decoder *d, const identity *id, size_t group, size_t word)
{
    const xs_entry *e = entry_of(id->telling.groups[group].decoder, id->telling.words[word]);
    return verdict_is(d, &id->verdicts[word], e->decision);
}

static void find_group(const xs_kernel_decoder *d, identity *id)
{
    id->differ = SIZE_MAX;
    for (size_t g = 0; g < id->telling.group_count; g++) {
        size_t differ = 0;
        for (size_t w = 0; w < id->telling.word_count; w++)
            differ += !agrees(d, id, g, w);
        if (differ < id->differ) {
            id->differ = differ;
            id->group = g;
        }
    }
}

/* Of targets that are alike the series that the release string is of, else that release, else the first. */
static unsigned likelihood(const char *kernel, const char *release)
{
    size_t len = strcspn(release, "."), more = release[len] ? strspn(release + len + 1, "0123456789") : 0;
    len += more ? more + 1 : 0;
    if (len == 0 || strncmp(kernel, release, len) != 0) return 0;
    return strcmp(kernel + len, ".y") == 0 ? 2 : kernel[len] == '\0';
}

static void name_target(const referee *r, identity *id)
{
    const xs_alike *group = &id->telling.groups[id->group];
    unsigned best = 0;
    xs_target_format(r->table, &group->targets[0], id->target, sizeof id->target);
    for (size_t i = 0; i < group->count; i++) {
        unsigned now = likelihood(xs_table_kernel(r->table, group->targets[i].kernel), r->image->release);
        if (now <= best) continue;
        best = now;
        xs_target_format(r->table, &group->targets[i], id->target, sizeof id->target);
    }
}

int identify(const referee *r, const xs_kernel_decoder *d, identity *out)
{
    *out = (identity){0};
    if (!xs_telling_open(r->table, r->arch, d->mode, &out->telling))
        return complain(STATUS_INTERNAL, "%s: the table has no target for %s", r->arch, d->mode);
    int status = ask_all(d, out);
    if (status != STATUS_OK) return status;
    find_group(d, out);
    name_target(r, out);
    return STATUS_OK;
}

void identity_close(identity *id)
{
    xs_telling_close(&id->telling);
    free(id->verdicts);
    *id = (identity){0};
}

/* ---- output -------------------------------------------------------------------------------------- */

static const column columns[] = {
    {"mode", "MODE", 7},        {"word", "WORD", 10},          {"class", "KERNEL", 8},
    {"handler", "HANDLER", 26}, {"class_target", "TARGET", 8}, {"handler_target", "HANDLER", 26},
    {"rule", "RULE", 0}};

static json_object *difference(const xs_kernel_decoder *d, const identity *id, size_t w)
{
    const xs_entry *e = entry_of(id->telling.groups[id->group].decoder, id->telling.words[w]);
    json_object *row = json_object_new_object();
    json_object_object_add(row, "mode", json_object_new_string(d->mode));
    json_object_object_add(row, "word", json_hex(id->telling.words[w], 8));
    add_verdict(row, d, &id->verdicts[w]);
    json_object_object_add(row, "class_target", json_object_new_string(xs_class_name(e->decision->cls)));
    json_object_object_add(row, "handler_target", json_name(e->decision->handler));
    json_object_object_add(row, "rule", json_object_new_string(e->rule->name));
    return row;
}

/* The others of the group, "a, b, c". */
static void alike_text(const referee *r, const identity *id, char *buf, size_t size)
{
    const xs_alike *group = &id->telling.groups[id->group];
    size_t used = 0;
    *buf = '\0';
    for (size_t i = 0; i < group->count && used < size; i++) {
        char name[96];
        xs_target_format(r->table, &group->targets[i], name, sizeof name);
        if (strcmp(name, id->target) == 0) continue;
        char *kernel = strchr(name, '/') + 1;
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%.*s%.*s", used ? ", " : "",
                             strncmp(name, id->target, (size_t)(kernel - name)) ? (int)(kernel - name) : 0,
                             name, (int)strcspn(kernel, "/"), kernel);
    }
}

static json_object *identity_json(const referee *r, const xs_kernel_decoder *d, const identity *id)
{
    const xs_alike *group = &id->telling.groups[id->group];
    json_object *o = json_object_new_object(), *alike = json_object_new_array();
    json_object_object_add(o, "mode", json_object_new_string(d->mode));
    json_object_object_add(o, "function", json_object_new_string(d->name));
    json_object_object_add(o, "target", id->differ ? NULL : json_object_new_string(id->target));
    json_object_object_add(o, "nearest", json_object_new_string(id->target));
    json_object_object_add(o, "words", json_object_new_int64((int64_t)id->telling.word_count));
    json_object_object_add(o, "differ", json_object_new_int64((int64_t)id->differ));
    for (size_t i = 0; i < group->count; i++) {
        char name[96];
        xs_target_format(r->table, &group->targets[i], name, sizeof name);
        json_object_array_add(alike, json_object_new_string(name));
    }
    json_object_object_add(o, "alike", alike);
    return o;
}

static void print_identity(const referee *r, const xs_kernel_decoder *d, const identity *id, output *out)
{
    char alike[1024];
    alike_text(r, id, alike, sizeof alike);
    if (out->format == FORMAT_TEXT && id->differ == 0)
        text_line(out->f, d->mode, "%s, by %zu telling words%s%s", id->target, id->telling.word_count,
                  *alike ? "; the same there: " : "", alike);
    if (out->format == FORMAT_TEXT && id->differ)
        text_line(out->f, d->mode, "none of our targets: nearest is %s, from which %zu of %zu words differ",
                  id->target, id->differ, id->telling.word_count);
    output_value(out, d->mode, "identity", identity_json(r, d, id));
}

typedef struct both {
    unsigned count;
    xs_kernel_decoder d[2];
    identity id[2];
} both;

static int print_all(const referee *r, both *b, output *out)
{
    size_t differ = 0;
    output_begin(out);
    referee_head(r, out);
    for (unsigned m = 0; m < b->count; m++) {
        print_identity(r, &b->d[m], &b->id[m], out);
        differ += b->id[m].differ;
    }
    if (differ || out->format != FORMAT_TEXT)
        output_list(out, "differences", columns, sizeof columns / sizeof *columns);
    for (unsigned m = 0; m < b->count; m++)
        for (size_t w = 0; w < b->id[m].telling.word_count; w++)
            if (!agrees(&b->d[m], &b->id[m], b->id[m].group, w))
                output_row(out, "telling", difference(&b->d[m], &b->id[m], w));
    if (differ || out->format != FORMAT_TEXT) output_list_end(out);
    output_end(out);
    return differ ? STATUS_FOUND : STATUS_OK;
}

/* A kernel may have uprobes and no kprobes: without --mode what is there is enough, and one line says what is
 * not. */
static int open_modes(const referee *r, both *b)
{
    static const char *const modes[] = {"uprobe", "kprobe"};
    char why[REFEREE_WHY], missing[REFEREE_WHY] = "";
    for (unsigned m = 0; m < 2; m++) {
        if (r->o->mode && strcmp(r->o->mode, modes[m]) != 0) continue;
        int status = referee_try(r, modes[m], true, &b->d[b->count], why, sizeof why);
        if (status > STATUS_INPUT) return complain(status, "%s: %s", r->path, why);
        if (status == STATUS_OK) b->count++;
        if (status != STATUS_OK && !*missing) snprintf(missing, sizeof missing, "%s", why);
    }
    if (*missing) complain(STATUS_INPUT, "%s: %s", r->path, missing);
    return b->count ? STATUS_OK : STATUS_INPUT;
}

static int identify_modes(const referee *r, both *b)
{
    int status = open_modes(r, b);
    for (unsigned m = 0; status == STATUS_OK && m < b->count; m++)
        status = identify(r, &b->d[m], &b->id[m]);
    return status;
}

int kernel_identify(const referee *r)
{
    output out;
    both b = {0};
    int status = identify_modes(r, &b);
    if (status == STATUS_OK && !output_open(&out, r->o))
        status = STATUS_INPUT;
    else if (status == STATUS_OK)
        status = output_close(&out, print_all(r, &b, &out));
    for (unsigned m = 0; m < b.count; m++) {
        identity_close(&b.id[m]);
        xs_kernel_close(b.d[m].k);
    }
    return status;
}

/* classify FILE: the sites of a program and what becomes of probes there. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "sites.h"

static const column site_columns[] = {
    {"addr", "ADDRESS", 12},  {"file_offset", "OFFSET", 10}, {"class", "CLASS", 8},
    {"reason", "REASON", 16}, {"hazards", "HAZARDS", 12},    {"kind", "KIND", 13},
    {"site", "SITE", 32},     {"text", "TEXT", 0},
};
static const column tsv_columns[] = {
    {"file", "", 0},      {"kind", "", 0},     {"section", "", 0},     {"function", "", 0},
    {"offset", "", 0},    {"addr", "", 0},     {"file_offset", "", 0}, {"word", "", 0},
    {"size", "", 0},      {"class", "", 0},    {"rule", "", 0},        {"reason", "", 0},
    {"handler", "", 0},   {"errno", "", 0},    {"hazards", "", 0},     {"source", "", 0},
    {"aliases", "", 0},   {"provider", "", 0}, {"probe", "", 0},       {"args", "", 0},
    {"semaphore", "", 0}, {"text", "", 0},
};

static json_object *aliases_json(const xs_function *f)
{
    json_object *list = json_object_new_array();
    for (unsigned i = 0; f && i < f->aliases; i++)
        json_object_array_add(list, json_bytes(f->alias_names[i]));
    return list;
}

/* What a row of a file has beside the site itself. */
static void add_origin(json_object *row, const xs_image *image, const site_ref *ref)
{
    const xs_function *f = ref->function == SIZE_MAX ? NULL : &image->functions[ref->function];
    json_object_object_add(row, "source", f ? json_object_new_string(xs_source_name(f->source)) : NULL);
    json_object_object_add(row, "aliases", aliases_json(f));
    json_object_object_add(row, "symbol_version", f ? json_name(f->version) : NULL);
    if (ref->usdt == SIZE_MAX) return;
    const xs_usdt *u = &image->usdts[ref->usdt];
    json_object_object_add(row, "provider", json_bytes(u->provider));
    json_object_object_add(row, "probe", json_bytes(u->name));
    json_object_object_add(row, "args", json_bytes(u->args));
    json_object_object_add(row, "semaphore", u->semaphore ? json_hex(u->semaphore, 1) : NULL);
}

/* "function+0x10", "provider:name" for a text column. */
static void add_label(json_object *row, const xs_image *image, const site_ref *ref, const site_place *p)
{
    char label[256];
    if (ref->usdt != SIZE_MAX)
        snprintf(label, sizeof label, "%s:%s", image->usdts[ref->usdt].provider,
                 image->usdts[ref->usdt].name);
    else if (!p->function)
        snprintf(label, sizeof label, "%s", p->section);
    else if (p->function_offset)
        snprintf(label, sizeof label, "%s+0x%" PRIx64, p->function, p->function_offset);
    else
        snprintf(label, sizeof label, "%s", p->function);
    json_object_object_add(row, "site", json_object_new_string(label));
}

static void print_site(output *out, window *w, const site_ref *ref)
{
    const code *c = w->code;
    const xs_range *range = &c->image->ranges[ref->range];
    const xs_function *f = ref->function == SIZE_MAX ? NULL : &c->image->functions[ref->function];
    site_place place = {.file = c->image->path,
                        .section = range->section,
                        .kind = ref->kind,
                        .addr = range->addr + ref->offset,
                        .file_offset = range->offset + ref->offset};
    if (f) {
        place.function = f->name;
        place.function_offset = place.addr - f->addr;
    }
    xs_site site;
    site_decide(w, ref, &site);
    json_object *row = site_json(c->view, &site, &place);
    add_origin(row, c->image, ref);
    if (out->format == FORMAT_TEXT) add_label(row, c->image, ref, &place);
    output_row(out, "site", row);
}

static void print_remarks(output *out, const xs_image *image)
{
    for (size_t i = 0; i < image->remark_count; i++)
        fprintf(stderr, "%s: left out or repaired: %s (%" PRIu64 ", the first: %s)\n", image->path,
                image->remarks[i].text, image->remarks[i].count, image->remarks[i].first);
    if (out->format != FORMAT_JSON && out->format != FORMAT_JSONL) return;
    output_list(out, "remarks", NULL, 0);
    for (size_t i = 0; i < image->remark_count; i++) {
        json_object *row = json_object_new_object();
        json_object_object_add(row, "file", json_bytes(image->path));
        json_object_object_add(row, "remark", json_object_new_string(image->remarks[i].text));
        json_object_object_add(row, "count", json_object_new_int64((int64_t)image->remarks[i].count));
        json_object_object_add(row, "first", json_bytes(image->remarks[i].first));
        output_row(out, "remark", row);
    }
    output_list_end(out);
}

static bool print_sites(output *out, const code *c, const options *o)
{
    bool tsv = out->format == FORMAT_TSV;
    window w;
    site_list sites;
    if (!window_open(&w, c)) return false;
    bool ok = sites_collect(c, o, &w, &sites);
    if (out->format == FORMAT_TEXT) fputc('\n', out->f);
    output_list(out, "sites", tsv ? tsv_columns : site_columns,
                tsv ? sizeof tsv_columns / sizeof *tsv_columns : sizeof site_columns / sizeof *site_columns);
    for (size_t i = 0; ok && i < sites.count; i++)
        print_site(out, &w, &sites.refs[i]);
    output_list_end(out);
    sites_free(&sites);
    window_close(&w);
    return ok;
}

static int classify_code(const options *o, output *out, code *c, unsigned jobs)
{
    summary found;
    output_begin(out);
    bool ok = code_count(c, jobs) && summary_print(out, c, o, jobs, &found);
    print_remarks(out, c->image);
    ok = ok && (o->summary || print_sites(out, c, o));
    output_end(out);
    if (!ok) return complain(STATUS_INTERNAL, "%s: out of memory", c->image->path);
    /* A misspelt filter must not look like a clean result. */
    if (found.sites == 0 && (o->symbol || o->section)) {
        complain(STATUS_INPUT, "%s: no site is called for by --symbol or --section", c->image->path);
        if (o->fail_on) return STATUS_INPUT;
    }
    return found.status;
}

/* What stands between the results of two files. */
static void separate(output *out)
{
    if (out->format == FORMAT_TEXT && out->comma) fputc('\n', out->f);
    if (out->format == FORMAT_JSON && out->comma) fputs(",\n", out->f);
    out->comma = true;
    out->something = true;
}

static int classify_file(const options *o, output *out, size_t i, unsigned jobs)
{
    program p;
    int status = program_open(&p, o, o->args[i]);
    if (status == STATUS_OK) {
        separate(out);
        output mine = *out;
        mine.comma = false;
        mine.untitled = i > 0 && mine.format == FORMAT_TSV;
        status = classify_code(o, &mine, &p.code, jobs);
    }
    program_close(&p);
    return status;
}

/* ---- several files at the same time: each into a temporary file, printed in order --------------- */

typedef struct files {
    const options *o;
    output *out;
    pthread_mutex_t lock; /* of out and what follows */
    size_t printed;
    int status;
    struct file {
        FILE *text; /* NULL: nothing to print */
        bool done;
    } * files;
} files;

static void print_file(output *out, FILE *text)
{
    char piece[65536];
    size_t size;
    rewind(text);
    for (bool first = true; (size = fread(piece, 1, sizeof piece, text)) > 0; first = false) {
        if (first) separate(out);
        fwrite(piece, 1, size, out->f); /* output_close sees to errors */
    }
    fclose(text);
}

/* Print what has its turn. */
static void hand_in(files *all, size_t i, FILE *text, int status)
{
    pthread_mutex_lock(&all->lock);
    all->status = worse(all->status, status);
    all->files[i] = (struct file){text, true};
    for (; all->printed < (size_t)all->o->count && all->files[all->printed].done; all->printed++)
        if (all->files[all->printed].text) print_file(all->out, all->files[all->printed].text);
    pthread_mutex_unlock(&all->lock);
}

static void classify_one(void *arg, size_t i, unsigned worker)
{
    files *all = arg;
    output mine = *all->out;
    (void)worker;
    mine.comma = false;
    mine.f = tmpfile();
    int status = mine.f ? classify_file(all->o, &mine, i, 1) : STATUS_INTERNAL;
    if (!mine.f || fflush(mine.f) != 0 || ferror(mine.f)) { /* a part must not look like all of it */
        status = complain(STATUS_INTERNAL, "%s: no temporary file: %s", all->o->args[i], strerror(errno));
        if (mine.f) fclose(mine.f);
        mine.f = NULL;
    }
    hand_in(all, i, mine.f, status);
}

/* With one thread straight to the output; else the parts of one file, or several files, by threads. */
static int classify_files(const options *o, output *out)
{
    int status = STATUS_OK;
    if (o->count == 1) return classify_file(o, out, 0, o->jobs);
    files all = {.o = o, .out = out};
    if (o->jobs > 1) all.files = calloc((size_t)o->count, sizeof *all.files);
    if (!all.files) {
        for (int i = 0; i < o->count; i++)
            status = worse(status, classify_file(o, out, (size_t)i, 1));
        return status;
    }
    pthread_mutex_init(&all.lock, NULL);
    crew_run(o->jobs, (size_t)o->count, classify_one, &all);
    pthread_mutex_destroy(&all.lock);
    free(all.files);
    return all.status;
}

int command_classify(const options *o)
{
    output out;
    if (o->count == 0) return complain(STATUS_USAGE, "classify: no file given; see xolsim --help");
    bool stdin_words = o->count == 1 && strcmp(o->args[0], "-") == 0;
    if (o->words || o->bytes || stdin_words) return classify_words(o);
    if (o->summary && o->format == FORMAT_TSV)
        return complain(STATUS_USAGE, "--summary: tsv has rows of sites alone; take text, json or jsonl");
    if (o->has_at)
        return complain(STATUS_USAGE, "--at goes with --words or --bytes: a file has its own addresses");
    if (!output_open(&out, o)) return STATUS_INPUT;
    output_begin(&out);
    output_value(&out, "xolsim", NULL, json_object_new_string(XOLSIM_VERSION));
    output_list(&out, "files", NULL, 0);
    int status = classify_files(o, &out);
    output_list_end(&out);
    output_end(&out);
    return output_close(&out, status);
}

/* classify FILE: the sites of a program and what becomes of probes there. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
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

static void print_site(output *out, const code *c, const site_ref *ref)
{
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
    site_decide(c, ref, &site);
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

static void print_sites(output *out, const code *c, const site_list *sites, const options *o)
{
    bool tsv = out->format == FORMAT_TSV;
    if (out->format == FORMAT_TEXT) fputc('\n', out->f);
    output_list(out, "sites", tsv ? tsv_columns : site_columns,
                tsv ? sizeof tsv_columns / sizeof *tsv_columns : sizeof site_columns / sizeof *site_columns);
    for (size_t i = 0; i < sites->count; i++)
        if (o->cls < 0 || sites->refs[i].cls == o->cls) print_site(out, c, &sites->refs[i]);
    output_list_end(out);
}

static int sites_status(const options *o, const site_list *sites)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < sites->count; i++) {
        xs_site s = {.cls = (xs_class)sites->refs[i].cls, .hazards = sites->refs[i].hazards};
        if (o->cls < 0 || o->cls == (int)s.cls) status = worse(status, (int)site_found(o, &s));
    }
    return status;
}

static int classify_code(const options *o, output *out, code *c)
{
    site_list sites;
    if (!sites_collect(c, o, &sites)) return complain(STATUS_INTERNAL, "%s: out of memory", c->image->path);
    output_begin(out);
    summary_print(out, c, &sites, o);
    print_remarks(out, c->image);
    if (!o->summary) print_sites(out, c, &sites, o);
    output_end(out);
    int status = sites_status(o, &sites);
    /* A misspelt filter must not look like a clean result. */
    if (sites.count == 0 && (o->symbol || o->section)) {
        complain(STATUS_INPUT, "%s: no site is called for by --symbol or --section", c->image->path);
        if (o->fail_on) status = STATUS_INPUT;
    }
    sites_free(&sites);
    return status;
}

static int classify_file(const options *o, output *out, const char *path)
{
    program p;
    int status = program_open(&p, o, path);
    if (status == STATUS_OK) status = classify_code(o, out, &p.code);
    program_close(&p);
    return status;
}

/* ---- several files at the same time: each into memory, printed in order ------------------------- */

typedef struct crew {
    const options *o;
    const output *out;
    pthread_mutex_t lock;
    int next;
    struct job {
        char *text;
        size_t size;
        int status;
    } * jobs;
} crew;

static void *work(void *arg)
{
    crew *w = arg;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        int i = w->next++;
        pthread_mutex_unlock(&w->lock);
        if (i >= w->o->count) return NULL;
        struct job *job = &w->jobs[i];
        output mine = *w->out;
        mine.comma = false;
        mine.untitled = i > 0 && w->out->format == FORMAT_TSV;
        mine.f = open_memstream(&job->text, &job->size);
        job->status =
            mine.f ? classify_file(w->o, &mine, w->o->args[i]) : complain(STATUS_INTERNAL, "out of memory");
        if (mine.f) fclose(mine.f);
    }
}

static int print_jobs(crew *w, output *out)
{
    int status = STATUS_OK;
    for (int i = 0; i < w->o->count; i++) {
        struct job *job = &w->jobs[i];
        status = worse(status, job->status);
        if (job->size) {
            if (out->format == FORMAT_TEXT && out->comma) fputc('\n', out->f);
            if (out->format == FORMAT_JSON && out->comma) fputs(",\n", out->f);
            fwrite(job->text, 1, job->size, out->f);
            out->comma = true;
            out->something = true;
        }
        free(job->text);
    }
    return status;
}

static int classify_parallel(const options *o, output *out)
{
    unsigned count = o->jobs < (unsigned)o->count ? o->jobs : (unsigned)o->count, started = 0;
    pthread_t threads[1024];
    crew w = {.o = o, .out = out, .jobs = calloc((size_t)o->count, sizeof *w.jobs)};
    if (!w.jobs) return complain(STATUS_INTERNAL, "out of memory");
    pthread_mutex_init(&w.lock, NULL);
    while (started + 1 < count && pthread_create(&threads[started], NULL, work, &w) == 0)
        started++;
    work(&w);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&w.lock);
    int status = print_jobs(&w, out);
    free(w.jobs);
    return status;
}

/* One file straight to the output; several by threads. */
static int classify_files(const options *o, output *out)
{
    if (o->count > 1) return classify_parallel(o, out);
    return classify_file(o, out, o->args[0]);
}

int command_classify(const options *o)
{
    output out;
    if (o->count == 0) return complain(STATUS_USAGE, "classify: no file given; see xolsim --help");
    bool stdin_words = o->count == 1 && strcmp(o->args[0], "-") == 0;
    if (o->words || o->bytes || stdin_words) return classify_words(o);
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

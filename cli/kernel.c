/* kernel: a real kernel's own functions asked, in Unicorn. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* One --name value; false: it makes no sense. */
static bool take(referee *r, const char *name, const char *value)
{
    if (strcmp(name, "symbols") == 0) r->symbols = value;
    if (strcmp(name, "state") == 0) r->state = value;
    if (strcmp(name, "identify") == 0) r->identify = true;
    if (strcmp(name, "exhaustive") == 0) r->exhaustive = true;
    if (strcmp(name, "dump") == 0) r->dump = true;
    if (strcmp(name, "simulate") == 0) r->simulate = true;
    if (strcmp(name, "scan") == 0) r->scan = true;
    if (strcmp(name, "seed") == 0) return parse_number(value, &r->seed);
    if (strcmp(name, "shard") == 0) return parse_shard(value, &r->shard, &r->shards);
    return true;
}

static const struct {
    size_t wanted; /* offset of its flag in referee; SIZE_MAX: --words */
    int (*run)(const referee *);
} actions[] = {{SIZE_MAX, kernel_words},
               {offsetof(referee, identify), kernel_identify},
               {offsetof(referee, exhaustive), kernel_exhaustive},
               {offsetof(referee, simulate), kernel_handlers},
               {offsetof(referee, scan), kernel_scan}};

static bool wants(const referee *r, size_t action)
{
    size_t at = actions[action].wanted;
    return at == SIZE_MAX ? r->o->words : *((const bool *)((const char *)r + at));
}

static unsigned wanted_count(const referee *r)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        count += wants(r, i);
    return count;
}

static int make_plan(const options *o, referee *r)
{
    *r = (referee){.o = o, .shard = 1, .shards = 1};
    for (unsigned i = 0; i < o->setting_count; i++)
        if (!take(r, o->settings[i].name, o->settings[i].value))
            return complain(STATUS_USAGE, "--%s: '%s' makes no sense", o->settings[i].name,
                            o->settings[i].value);
    if (o->count < 1) return complain(STATUS_USAGE, "kernel VMLINUX: no file given");
    r->path = o->args[0];
    if (wanted_count(r) != 1)
        return complain(STATUS_USAGE,
                        "kernel wants one of --words, --identify, --exhaustive, --simulate, --scan");
    if (!o->words && o->count > 1) return complain(STATUS_USAGE, "kernel takes one file");
    if (!r->exhaustive && (r->dump || r->state || r->shards > 1))
        return complain(STATUS_USAGE, "--dump, --state and --shard are for --exhaustive");
    if (o->arch || o->kernel)
        return complain(STATUS_USAGE, "the file brings its architecture; --target compares");
    int status = referee_check_mode(o);
    if (status == STATUS_OK && r->scan && o->mode && strcmp(o->mode, "kprobe") != 0)
        return complain(STATUS_USAGE, "--scan: only kprobes are looked back for, not %ss", o->mode);
    return status;
}

int command_kernel(const options *o)
{
    referee r;
    int status = make_plan(o, &r);
    if (status == STATUS_OK) status = referee_image(&r);
    for (size_t i = 0; status == STATUS_OK && i < sizeof actions / sizeof *actions; i++) {
        if (!wants(&r, i)) continue;
        status = actions[i].run(&r);
        break;
    }
    referee_close(&r);
    return status;
}

/* ---- for its files ------------------------------------------------------------------------------- */

int referee_image(referee *r)
{
    char why[256];
    int status = STATUS_OK;
    if (xs_kernel_image_open(r->path, r->symbols, &r->image, why, sizeof why) != XS_IMAGE_OK)
        return complain(STATUS_INPUT, "%s: %s", r->path, why);
    r->arch = r->image->arch == XS_IMAGE_ARM64 ? "arm64" : "riscv64";
    const char *target = r->o->target;
    if (target && (strncmp(target, r->arch, strlen(r->arch)) != 0))
        return complain(STATUS_INPUT, "%s: is %s, the target %s", r->path, r->arch, target);
    r->table = table_open(r->o, r->arch, &status);
    return status;
}

void referee_close(referee *r)
{
    xs_table_free(r->table);
    xs_kernel_image_close(r->image);
}

void referee_head(const referee *r, output *out)
{
    const char *release = *r->image->release ? r->image->release : "-";
    if (out->format == FORMAT_TEXT) text_line(out->f, "release", "%s", release);
    output_value(out, "kernel", NULL, json_object_new_string(r->path));
    output_value(out, "release", NULL, json_bytes(release));
}

int referee_try(const referee *r, const char *mode, bool exact, xs_kernel_decoder *d, char *why, size_t size)
{
    xs_kernel *k = xs_kernel_open(r->image, exact, why, size);
    *d = (xs_kernel_decoder){0};
    if (!k) return STATUS_INTERNAL;
    if (xs_kernel_decoder_open(k, r->table, mode, d, why, size)) return STATUS_OK;
    int status = xs_kernel_crashed(k)->what ? STATUS_INTERNAL : STATUS_INPUT;
    xs_kernel_close(k);
    d->k = NULL;
    return status;
}

int referee_open(const referee *r, const char *mode, bool exact, xs_kernel_decoder *d)
{
    char why[REFEREE_WHY];
    int status = referee_try(r, mode, exact, d, why, sizeof why);
    return status == STATUS_OK ? status : complain(status, "%s: %s", r->path, why);
}

int referee_crashed(const referee *r, const xs_kernel_decoder *d, uint32_t word, const char *function)
{
    char text[256];
    xs_kernel_crash_text(xs_kernel_crashed(d->k), text, sizeof text);
    return complain(STATUS_INTERNAL, "%s: 0x%08" PRIx32 ": %s crashes: %s", r->path, word, function, text);
}

int referee_check_mode(const options *o)
{
    if (!o->mode || strcmp(o->mode, "uprobe") == 0 || strcmp(o->mode, "kprobe") == 0) return STATUS_OK;
    return complain(STATUS_USAGE, "--mode: '%s' is not one of uprobe, kprobe", o->mode);
}

int referee_target(const referee *r, const xs_kernel_decoder *d, identity *id, view *v)
{
    const char *target = r->o->target;
    int status = target ? STATUS_OK : identify(r, d, id);
    if (status != STATUS_OK) return status;
    return view_open_target(v, r->o, target ? target : id->target);
}

int referee_list(const referee *r, const view *v, const identity *id, const char *name, const column *columns,
                 size_t count, int (*rows)(void *arg, output *out), void *arg)
{
    output out;
    if (!output_open(&out, r->o)) return STATUS_INPUT;
    output_begin(&out);
    referee_head(r, &out);
    if (out.format == FORMAT_TEXT)
        text_line(out.f, "target", "%s%s\n", v->name, id->differ ? ", the nearest one: none fits" : "");
    output_value(&out, "target", NULL, json_object_new_string(v->name));
    output_list(&out, name, columns, count);
    int status = rows(arg, &out);
    output_list_end(&out);
    output_end(&out);
    return output_close(&out, status);
}

bool verdict_is(const xs_kernel_decoder *d, const xs_kernel_verdict *v, const xs_decision *decision)
{
    char name[128];
    return v->cls == decision->cls &&
           strcmp(xs_kernel_handler_name(d, v->handler, name, sizeof name), decision->handler) == 0;
}

void add_verdict(json_object *row, const xs_kernel_decoder *d, const xs_kernel_verdict *v)
{
    char name[128];
    json_object_object_add(row, "class", json_object_new_string(xs_class_name(v->cls)));
    json_object_object_add(row, "handler",
                           json_name(xs_kernel_handler_name(d, v->handler, name, sizeof name)));
}

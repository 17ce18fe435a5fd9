/* audit VMLINUX: a kernel file's own decode function is asked which target it is, or for every word. */
#include "audit.h"
#include "kernel.h"

/* Telling words that do not fit are answers of another kernel than any of the table's. */
static int check_fit(const referee *r, const identity *id)
{
    if (id->differ == 0) return STATUS_OK;
    return complain(STATUS_FOUND,
                    "%s: none of our targets: nearest is %s, from which %zu of %zu telling words differ; "
                    "--exhaustive audits the kernel's own answers",
                    r->path, id->target, id->differ, id->telling.word_count);
}

static int ask(const referee *r, const audit_request *req, xs_kernel_decoder *d, identity *id, run_list *runs)
{
    unsigned samples;
    int status = referee_open(r, r->o->mode ? r->o->mode : "uprobe", true, d);
    if (status == STATUS_OK) status = identify(r, d, id);
    if (status != STATUS_OK) return status;
    return req->exhaustive ? every_word(r, d, runs, &samples) : check_fit(r, id);
}

static audit_source source_of(const referee *r, const xs_kernel_decoder *d, const identity *id,
                              const run_list *runs)
{
    return (audit_source){.about = {.path = r->path,
                                    .release = *r->image->release ? r->image->release : "-",
                                    .function = d->name,
                                    .telling = id->telling.word_count,
                                    .exhaustive = r->exhaustive},
                          .runs = r->exhaustive ? runs : NULL,
                          .halves = xs_table_granule(r->table) == 2};
}

static int check(const options *o, const audit_request *req)
{
    int status = referee_check_mode(o);
    if (status != STATUS_OK || !req->state || req->exhaustive) return status;
    return complain(STATUS_USAGE, "--state is for --exhaustive");
}

int audit_vmlinux(const options *o, const audit_request *req)
{
    referee r = {.o = o, .shard = 1, .shards = 1, .path = o->args[0]};
    xs_kernel_decoder d = {0};
    identity id = {0};
    run_list runs = {0};
    r.symbols = req->symbols;
    r.state = req->state;
    r.exhaustive = req->exhaustive;
    int status = check(o, req);
    if (status == STATUS_OK) status = referee_image(&r);
    if (status == STATUS_OK) status = ask(&r, req, &d, &id, &runs);
    if (status == STATUS_OK) {
        audit_source source = source_of(&r, &d, &id, &runs);
        status = audit_target(o, req, id.target, &source);
    }
    runs_close(&runs);
    identity_close(&id);
    xs_kernel_close(d.k);
    referee_close(&r);
    return status;
}

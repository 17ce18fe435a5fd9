/* audit: where a kernel's class is not what the architecture needs. */
#include "audit.h"

#include <string.h>

/* What the options say beside the target. */
typedef struct request {
    const char *file; /* NULL: the whole space */
    bool prove;
} request;

static int read_request(const options *o, request *r)
{
    *r = (request){.prove = true};
    for (unsigned i = 0; i < o->setting_count; i++) {
        if (strcmp(o->settings[i].name, "file") == 0) r->file = o->settings[i].value;
        if (strcmp(o->settings[i].name, "no-proof") == 0) r->prove = false;
    }
    if (o->count != 1) return complain(STATUS_USAGE, "audit TARGET [--file BINARY]");
    if (o->target || o->arch || o->kernel || o->mode)
        return complain(STATUS_USAGE, "audit takes its target as an argument");
    if (!r->file && (o->symbol || o->section))
        return complain(STATUS_USAGE, "--%s wants a --file", o->symbol ? "symbol" : "section");
    return STATUS_OK;
}

static bool found_any(const audit *a, const audit_scope *scope)
{
    for (size_t i = 0; i < a->count; i++)
        if (audit_is_shown(&a->findings[i], scope)) return true;
    return scope->hits > 0;
}

/* The audit is ready but for its proofs. */
static int finish(const options *o, const request *r, audit *a, const audit_scope *scope)
{
    output out;
    if (!output_open(&out, o)) return STATUS_INPUT;
    audit_kernels(a);
    int status = r->prove ? audit_prove(a, o, scope->file) : STATUS_OK;
    audit_report(&out, a, scope);
    return output_close(&out, worse(status, found_any(a, scope) ? STATUS_FOUND : STATUS_OK));
}

static int run(const options *o, const request *r, const view *v, const code *c)
{
    audit a;
    audit_scope scope = {.file = r->file, .kind = sites_kind_name(o->sites)};
    if (!v->ideal)
        return complain(STATUS_INPUT, "%s: the table has no target 'ideal' to compare with", v->name);
    bool ok = audit_find(&a, v, audit_side_of(v));
    if (ok && c) audit_sites(&a, c, o, &scope);
    int status = ok && !a.failed ? finish(o, r, &a, &scope) : complain(STATUS_INTERNAL, "out of memory");
    audit_close(&a);
    return status;
}

static int audit_of_file(const options *o, const request *r)
{
    program p;
    options of_file = *o;
    of_file.target = o->args[0];
    int status = program_open(&p, &of_file, r->file);
    if (status == STATUS_OK) status = run(&of_file, r, &p.view, &p.code);
    program_close(&p);
    return status;
}

int command_audit(const options *o)
{
    request r;
    view v;
    int status = read_request(o, &r);
    if (status != STATUS_OK || r.file) return status == STATUS_OK ? audit_of_file(o, &r) : status;
    status = view_open_target(&v, o, o->args[0]);
    if (status != STATUS_OK) return status;
    status = run(o, &r, &v, NULL);
    view_close(&v);
    return status;
}

/* audit: where a kernel's class is not what the architecture needs. */
#include "audit.h"
#include "arch.h"

#include <string.h>

static void take(audit_request *r, const char *name, const char *value)
{
    if (strcmp(name, "file") == 0) r->file = value;
    if (strcmp(name, "no-proof") == 0) r->prove = false;
    if (strcmp(name, "symbols") == 0) r->symbols = value;
    if (strcmp(name, "state") == 0) r->state = value;
    if (strcmp(name, "exhaustive") == 0) r->exhaustive = true;
}

static int read_request(const options *o, audit_request *r)
{
    *r = (audit_request){.prove = true};
    for (unsigned i = 0; i < o->setting_count; i++)
        take(r, o->settings[i].name, o->settings[i].value);
    if (o->count != 1) return complain(STATUS_USAGE, "audit TARGET|VMLINUX [--file BINARY]");
    if (o->target || o->arch || o->kernel)
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
static int finish(const options *o, const audit_request *r, audit *a, const audit_scope *scope)
{
    output out;
    if (!output_open(&out, o)) return STATUS_INPUT;
    audit_kernels(a);
    int status = r->prove ? audit_prove(a, o, scope->file) : STATUS_OK;
    audit_report(&out, a, scope);
    return output_close(&out, worse(status, found_any(a, scope) ? STATUS_FOUND : STATUS_OK));
}

static int run_side(const options *o, const audit_request *r, const view *v, const code *c, audit_side side,
                    const audit_kernel *kernel)
{
    audit a;
    audit_scope scope = {.file = r->file, .kind = sites_kind_name(o->sites), .kernel = kernel};
    bool ok = audit_find(&a, v, side);
    if (ok && c) audit_sites(&a, c, o, &scope);
    int status = ok && !a.failed ? finish(o, r, &a, &scope) : complain(STATUS_INTERNAL, "out of memory");
    audit_close(&a);
    return status;
}

static int run(const options *o, const audit_request *r, const view *v, const code *c, audit_source *source)
{
    const audit_kernel *kernel = source ? &source->about : NULL;
    if (!v->ideal)
        return complain(STATUS_INPUT, "%s: the table has no target 'ideal' to compare with", v->name);
    if (!source || !source->runs) return run_side(o, r, v, c, audit_side_of(v), kernel);
    audit_answers *answers = audit_answers_new(v, source->runs, source->halves, kernel->function);
    if (!answers) return complain(STATUS_INTERNAL, "out of memory");
    source->about.differ = audit_answers_words(answers);
    int status = run_side(o, r, v, c, audit_side_of_answers(answers), kernel);
    audit_answers_free(answers);
    return status;
}

static int run_file(const options *o, const audit_request *r, audit_source *source)
{
    program p;
    int status = program_open(&p, o, r->file);
    if (status == STATUS_OK) status = run(o, r, &p.view, &p.code, source);
    program_close(&p);
    return status;
}

int audit_target(const options *o, const audit_request *r, const char *target, audit_source *source)
{
    view v;
    options of_target = *o;
    of_target.target = target;
    if (r->file) return run_file(&of_target, r, source);
    int status = view_open_target(&v, o, target);
    if (status != STATUS_OK) return status;
    status = run(&of_target, r, &v, NULL, source);
    view_close(&v);
    return status;
}

/* ---- whom the argument names ---------------------------------------------------------------------- */

/* A target begins with an architecture that the table (or a built-in one) is for. */
static int find_out(const options *o, bool *is_target)
{
    char arch[32];
    size_t len = strcspn(o->args[0], "+-/"), unused;
    int status = STATUS_OK;
    snprintf(arch, sizeof arch, "%.*s", (int)len, o->args[0]);
    *is_target = len < sizeof arch && xs_builtin_table(arch, &unused);
    if (*is_target || !o->table) return STATUS_OK;
    xs_table *table = table_open(o, arch, &status);
    for (size_t i = 0; table && xs_table_arch(table, i); i++)
        *is_target |= strcmp(xs_table_arch(table, i), arch) == 0;
    xs_table_free(table);
    return status;
}

/* The options that are for a kernel file alone. */
static int check_target(const options *o, const audit_request *r)
{
    if (o->mode) return complain(STATUS_USAGE, "audit takes its target as an argument");
    if (!r->symbols && !r->state && !r->exhaustive) return STATUS_OK;
    return complain(STATUS_USAGE, "--%s is for a kernel file, not for a target",
                    r->exhaustive ? "exhaustive"
                    : r->state    ? "state"
                                  : "symbols");
}

int command_audit(const options *o)
{
    audit_request r;
    bool is_target = false;
    int status = read_request(o, &r);
    if (status == STATUS_OK) status = find_out(o, &is_target);
    if (status == STATUS_OK && is_target) status = check_target(o, &r);
    if (status != STATUS_OK) return status;
    return is_target ? audit_target(o, &r, o->args[0], NULL) : audit_vmlinux(o, &r);
}

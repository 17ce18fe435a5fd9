/* Names of classes, reasons and hazards, as the notation and every output spell them. */
#include <string.h>

#include "internal.h"

static const char *const statuses[] = {
    [XS_OK] = "ok",
    [XS_E_SYNTAX] = "errors in the table",
    [XS_E_TARGET] = "no such target",
    [XS_E_TRUNCATED] = "truncated instruction",
    [XS_E_RANGE] = "outside the text",
    [XS_E_LIMIT] = "too many rules",
    [XS_E_NOMEM] = "out of memory",
};

static const char *const classes[] = {
    [XS_REJECT] = "reject", [XS_SIMULATE] = "simulate", [XS_SLOT] = "slot", [XS_TAIL] = "tail"};

static const char *const reasons[XS_WHY_COUNT] = {
    [XS_WHY_DEFAULT] = "default",
    [XS_WHY_PC_RELATIVE] = "pc-relative",
    [XS_WHY_BRANCH] = "branch",
    [XS_WHY_EXCEPTION] = "exception",
    [XS_WHY_HINT] = "hint",
    [XS_WHY_SYSTEM_REGISTER] = "system-register",
    [XS_WHY_EXCLUSIVE] = "exclusive",
    [XS_WHY_SEQUENCE] = "sequence",
    [XS_WHY_TRAP] = "trap",
    [XS_WHY_UNALLOCATED] = "unallocated",
    [XS_WHY_FASTER] = "faster-than-slot",
    [XS_WHY_BREAKPOINT] = "breakpoint",
    [XS_WHY_ALIGNMENT] = "alignment",
    [XS_WHY_BOUNDARY] = "boundary",
};

static const char *const hazards[XS_HAZARD_COUNT] = {"corrupts",     "hangs",  "wrong-result",
                                                     "may-livelock", "unsafe", "needlessly-refused"};

static const char *const flows[XS_FLOW_COUNT] = {"none", "branch", "jump", "call", "return"};

static const char *pick(const char *const *list, size_t count, size_t i)
{
    return i < count && list[i] ? list[i] : "?";
}

const char *xs_status_text(xs_status status)
{
    return pick(statuses, sizeof statuses / sizeof *statuses, (size_t)status);
}

const char *xs_class_name(xs_class cls)
{
    return pick(classes, sizeof classes / sizeof *classes, (size_t)cls);
}

const char *xs_reason_name(xs_reason reason)
{
    return pick(reasons, XS_WHY_COUNT, (size_t)reason);
}

const char *xs_hazard_name(unsigned bit)
{
    return pick(hazards, XS_HAZARD_COUNT, bit);
}

const char *xs_flow_name(xs_flow flow)
{
    return pick(flows, XS_FLOW_COUNT, (size_t)flow);
}

xs_flow xs_flow_from(const char *name)
{
    for (unsigned i = 1; i < XS_FLOW_COUNT; i++)
        if (strcmp(flows[i], name) == 0) return (xs_flow)i;
    return XS_FLOW_NONE;
}

xs_reason xs_reason_from(const char *name)
{
    for (unsigned i = 0; i < XS_WHY_COUNT; i++)
        if (strcmp(reasons[i], name) == 0) return (xs_reason)i;
    return XS_WHY_COUNT;
}

unsigned xs_hazard_from(const char *name)
{
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        if (strcmp(hazards[i], name) == 0) return 1u << i;
    return 0;
}

int xs_names_find(const names *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0) return (int)i;
    return -1;
}

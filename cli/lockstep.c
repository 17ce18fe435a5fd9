/* lockstep: the simulator against Unicorn, and slot words against themselves. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"
#include "campaign.h"

/* fixtures/<isa>/divergences.txt, put in by tests/lockstep.mk. */
extern const char xs_arm64_divergences[], xs_riscv_divergences[];

static const uint64_t CODE_MAX = UINT64_C(1) << 32;
enum { STATES = 128, SLOT_STATES = 16, FILE_STATES = 16, COUNT = 2000000, SLOT_COUNT = 200000 };

/* ---- the plan ---------------------------------------------------------------------------------- */

static bool parse_hex_word(const char *text, plan *p)
{
    const char *digits = text[0] == '0' && (text[1] | 32) == 'x' ? text + 2 : text;
    size_t len = strlen(digits);
    p->word = (uint32_t)strtoul(digits, NULL, 16);
    p->has_word = true;
    return len > 0 && len <= 8 && strspn(digits, "0123456789abcdefABCDEF") == len;
}

/* One --name value; false: it makes no sense. */
static bool take(plan *p, const char *name, const char *value)
{
    uint64_t states = p->states;
    if (strcmp(name, "rule") == 0) p->rule = value;
    if (strcmp(name, "file") == 0) p->file = value;
    if (strcmp(name, "divergences") == 0) p->divergences = value;
    if (strcmp(name, "slots") == 0) p->slots = true;
    if (strcmp(name, "plain") == 0) p->plain = true;
    if (strcmp(name, "shard") == 0) return parse_shard(value, &p->shard, &p->shards);
    if (strcmp(name, "word") == 0) return parse_hex_word(value, p);
    if (strcmp(name, "seed") == 0) return parse_number(value, &p->seed);
    if (strcmp(name, "count") == 0) return parse_number(value, &p->count) && p->count > 0;
    if (strcmp(name, "time") == 0) return parse_number(value, &p->seconds) && p->seconds > 0;
    if (strcmp(name, "states") == 0 && (!parse_number(value, &states) || states < 1 || states > 1u << 20))
        return false;
    p->states = (unsigned)states;
    return true;
}

/* A start state is one word's. NULL: none is given. */
static const char *state_option(const options *o)
{
    static const char *const of_state[] = {"reg", "sp", "pc", "nzcv", "mem"};
    for (unsigned i = 0; i < o->setting_count; i++)
        for (size_t k = 0; k < sizeof of_state / sizeof *of_state; k++)
            if (strcmp(o->settings[i].name, of_state[k]) == 0) return of_state[k];
    return NULL;
}

static int check_plan(const options *o, const plan *p)
{
    if (o->cls == XS_REJECT)
        return complain(STATUS_USAGE, "--class: rejected instructions are not carried out");
    if (o->cls == XS_SIMULATE && p->slots)
        return complain(STATUS_USAGE, "--slots is --class slot, not --class simulate");
    if (p->plain && (p->slots || p->file))
        return complain(STATUS_USAGE, "--plain is for generated words that are simulated");
    if (p->has_word && !o->target) return complain(STATUS_USAGE, "--word wants a --target");
    if (!p->has_word && state_option(o))
        return complain(STATUS_USAGE, "--%s is the state of a single --word", state_option(o));
    return STATUS_OK;
}

static int make_plan(const options *o, plan *p)
{
    *p = (plan){.o = o, .shard = 1, .shards = 1};
    p->seed = (uint64_t)time(NULL);
    p->slots = o->cls == XS_SLOT;
    for (unsigned i = 0; i < o->setting_count; i++)
        if (!take(p, o->settings[i].name, o->settings[i].value))
            return complain(STATUS_USAGE, "--%s: '%s' makes no sense", o->settings[i].name,
                            o->settings[i].value);
    int status = check_plan(o, p);
    if (!p->states) p->states = p->file ? FILE_STATES : p->slots ? SLOT_STATES : STATES;
    if (!p->count && !p->seconds && !p->file) p->count = p->slots ? SLOT_COUNT : COUNT;
    return status;
}

/* ---- one architecture --------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    if (f && getdelim(&text, &room, '\0', f) < 0) { /* empty, or it cannot be read */
        free(text);
        text = feof(f) ? strdup("") : NULL;
    }
    if (f) fclose(f);
    return text;
}

static int read_divergences(part *pt)
{
    const char *path = pt->p->divergences,
               *builtin = pt->view.is_arm ? xs_arm64_divergences : xs_riscv_divergences;
    char why[160], *text = path ? read_text(path) : NULL;
    int status = STATUS_OK;
    if (path && !text) return complain(STATUS_INPUT, "%s: cannot be read", path);
    if (!xs_divergences_parse(path ? text : builtin, &pt->divergences, why, sizeof why))
        status = complain(STATUS_INPUT, "%s: %s", path ? path : "built-in divergences", why);
    free(text);
    return status;
}

static int open_part(part *pt, const char *target, bool all)
{
    char why[320];
    const plan *p = pt->p;
    int status = view_open_target(&pt->view, p->o, target);
    if (status != STATUS_OK) return status;
    xs_cases_wanted wanted = {.arch = xs_table_arch(pt->view.table, pt->view.target.arch),
                              .target = all ? NULL : pt->view.name,
                              .rule = p->rule,
                              .cls = p->slots ? XS_SLOT : XS_SIMULATE,
                              .any = p->slots && p->has_word}; /* what it would do there */
    if (!xs_cases_open(pt->view.table, &wanted, &pt->cases, why, sizeof why))
        return complain(STATUS_USAGE, "%s", why);
    return read_divergences(pt);
}

/* The addresses of the file's code, from the first to the last. Sections of a file that is not linked have
 * none: they get the architecture's usual place, one behind the other. */
static int place_file(part *pt)
{
    const xs_image *image = pt->image;
    uint64_t end = 0, sum = 0;
    pt->place.at = UINT64_MAX;
    for (size_t i = 0; i < image->range_count; i++) {
        const xs_range *r = &image->ranges[i];
        if (r->addr < pt->place.at) pt->place.at = r->addr;
        if (r->addr + r->size > end) end = r->addr + r->size;
        sum += part_room(r);
    }
    pt->place.size = end - pt->place.at;
    if (image->relocatable) pt->place = (xs_place){pt->cases.arch->code, sum};
    pt->has_place = true;
    return pt->place.size <= CODE_MAX
               ? STATUS_OK
               : complain(STATUS_INPUT, "%s: its code is spread over more than %" PRIu64 " bytes",
                          pt->p->file, CODE_MAX);
}

static int run_part(const plan *p, const char *target, bool all, json_object *report)
{
    part pt = {.p = p, .jobs = p->o->jobs};
    int status = open_part(&pt, target, all);
    if (status == STATUS_OK) status = p->has_word ? lockstep_replay(&pt) : part_run(&pt);
    if (status == STATUS_INTERNAL) pt.interrupted = true; /* what is there is not the whole */
    if (pt.sum) report_add(report, &pt);
    part_close(&pt);
    return status;
}

static int run_file(const plan *p, json_object *report)
{
    char why[256], target[96];
    part pt = {.p = p, .jobs = p->o->jobs};
    const xs_image_options code_alone = {.no_functions = true};
    if (xs_image_open(p->file, &code_alone, &pt.image, why, sizeof why) != XS_IMAGE_OK)
        return complain(STATUS_INPUT, "%s: %s", p->file, why);
    const char *arch = image_arch_name(pt.image), *wanted = p->o->target ? p->o->target : p->o->arch;
    snprintf(target, sizeof target, "%s/ideal", arch);
    int status = STATUS_OK;
    if (wanted && strncmp(wanted, arch, strlen(arch)) != 0)
        status = complain(STATUS_INPUT, "%s: is %s, the target %s", p->file, arch, wanted);
    if (status == STATUS_OK) status = open_part(&pt, p->o->target ? p->o->target : target, false);
    if (status == STATUS_OK) status = place_file(&pt);
    if (status == STATUS_OK) status = part_run(&pt);
    if (status == STATUS_INTERNAL) pt.interrupted = true;
    if (pt.sum) report_add(report, &pt);
    part_close(&pt);
    return status;
}

/* ---- all of them -------------------------------------------------------------------------------- */

static bool was_interrupted(json_object *report)
{
    return json_object_get_boolean(json_object_object_get(report, "interrupted"));
}

static int run_all(const plan *p, json_object *report)
{
    const options *o = p->o;
    char target[96];
    int status = STATUS_OK;
    if (o->target) return run_part(p, o->target, false, report);
    for (size_t i = 0; xs_builtin_arch(i) && status < STATUS_USAGE && !was_interrupted(report); i++) {
        const char *arch = xs_builtin_arch(i);
        if (o->arch && strcmp(o->arch, arch) != 0) continue;
        snprintf(target, sizeof target, "%s/%s", arch, p->slots ? "ideal" : "");
        status = worse(status, run_part(p, target, !p->slots, report));
    }
    return status;
}

/* The seed comes before anything can go wrong: as the head of the report when that is a text on stdout
 * (true), else on stderr. */
static bool announce(const plan *p)
{
    bool head = p->o->format == FORMAT_TEXT && !p->o->output;
    fprintf(head ? stdout : stderr, "%sseed 0x%" PRIx64 "\n%s", head ? "" : "xolsim: ", p->seed,
            head ? "\n" : "");
    fflush(stdout);
    return head;
}

int command_lockstep(const options *o)
{
    plan p;
    if (o->count > 0 && strcmp(o->args[0], "merge") == 0) return lockstep_merge(o);
    if (o->count > 0) return complain(STATUS_USAGE, "lockstep takes options, or merge REPORT...");
    int status = make_plan(o, &p);
    if (status != STATUS_OK) return status;
    if (o->arch && !o->target && !xs_oracle_arch_find(o->arch))
        return complain(STATUS_USAGE, "unknown architecture '%s': arm64, riscv64 or riscv32", o->arch);
    if (o->kernel || o->mode)
        return complain(STATUS_USAGE, "lockstep takes --target, or --arch for all kernels");
    bool announced = !p.has_word && announce(&p);
    json_object *report = report_new(&p);
    status = p.file ? run_file(&p, report) : run_all(&p, report);
    if (!p.has_word && json_object_array_length(json_object_object_get(report, "summary")) > 0) {
        status = worse(status, report_write(o, report, announced));
        status = worse(status, report_status(report));
    }
    json_object_put(report);
    return status;
}

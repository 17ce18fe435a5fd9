/* kernel --exhaustive: every word, as runs and beside a target. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ending.h"
#include "kernel.h"

/* Everything that is found out. */
typedef struct sweep {
    const referee *r;
    xs_kernel_decoder d; /* exact */
    identity id;
    view view; /* the target */
    run_list runs;
    unsigned samples; /* upper halfwords that were tried; 0: all words were */
    double seconds;
} sweep;

static int run_all(sweep *s)
{
    double begun = clock_seconds();
    int status = every_word(s->r, &s->d, &s->runs, &s->samples);
    s->seconds = clock_seconds() - begun;
    return status;
}

/* ---- output -------------------------------------------------------------------------------------- */

static void print_head(const sweep *s, output *out)
{
    bool identified = !s->r->o->target;
    referee_head(s->r, out);
    if (out->format == FORMAT_TEXT) {
        text_line(out->f, s->d.mode, "%s, %" PRIu64 " %s in %zu runs", s->d.name, s->runs.words,
                  s->samples ? "low halfwords" : "words", s->runs.count);
        if (s->samples)
            text_line(out->f, "upper", "the upper halfword never matters: %u were tried", s->samples);
        text_line(out->f, "target", "%s, %s", s->view.name, identified ? "identified" : "asked for");
        if (identified && s->id.differ) text_line(out->f, "", "(none fits: this is the nearest one)");
    }
    output_value(out, "mode", NULL, json_object_new_string(s->d.mode));
    output_value(out, "function", NULL, json_object_new_string(s->d.name));
    output_value(out, "target", NULL, json_object_new_string(s->view.name));
    output_value(out, "identified", NULL, json_object_new_boolean(identified));
}

static void print_sum(const sweep *s, output *out, uint64_t words, uint64_t runs)
{
    json_object *sum = json_object_new_object();
    uint64_t asked = s->runs.words * (s->samples ? s->samples + 1 : 1);
    if (out->format == FORMAT_TEXT && words)
        fprintf(out->f, "%" PRIu64 " difference%s, in %" PRIu64 " run%s\n", words, words == 1 ? "" : "s",
                runs, runs == 1 ? "" : "s");
    if (out->format == FORMAT_TEXT && !words) fprintf(out->f, "0 differences\n");
    json_object_object_add(sum, "words", json_object_new_int64((int64_t)s->runs.words));
    json_object_object_add(sum, "runs", json_object_new_int64((int64_t)s->runs.count));
    json_object_object_add(sum, "upper_halfwords", json_object_new_int64(s->samples));
    json_object_object_add(sum, "differences", json_object_new_int64((int64_t)words));
    output_value(out, "summary", "kernel_summary", sum);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "xolsim: %" PRIu64 " words in %.1f s, %.2f M words/s\n", asked, s->seconds,
                s->seconds > 0 ? (double)asked / 1e6 / s->seconds : 0);
}

static int print_diff(const sweep *s, output *out)
{
    uint64_t words, runs;
    output_begin(out);
    print_head(s, out);
    bool ok = runs_diff(&s->view, &s->runs, s->samples > 0, out, &words, &runs);
    print_sum(s, out, words, runs);
    output_end(out);
    if (!ok) return complain(STATUS_INTERNAL, "out of memory");
    return words ? STATUS_FOUND : STATUS_OK;
}

static int print_all(const sweep *s)
{
    output out;
    int status = STATUS_OK;
    if (!output_open(&out, s->r->o)) return STATUS_INPUT;
    if (s->r->dump)
        runs_print(out.f, &s->runs, s->samples ? 4 : 8);
    else
        status = print_diff(s, &out);
    return output_close(&out, status);
}

/* ---- life ---------------------------------------------------------------------------------------- */

/* The mode of a target that is asked for, unless --mode says it. */
static const char *mode_of(const referee *r)
{
    const char *kernel = r->o->target ? strchr(r->o->target, '/') : NULL,
               *mode = kernel ? strchr(kernel + 1, '/') : NULL;
    if (r->o->mode) return r->o->mode;
    return mode && mode[1] ? mode + 1 : "uprobe";
}

int kernel_exhaustive(const referee *r)
{
    sweep s = {.r = r};
    int status = referee_open(r, mode_of(r), true, &s.d);
    if (status != STATUS_OK) return status;
    status = referee_target(r, &s.d, &s.id, &s.view);
    if (status == STATUS_OK) status = run_all(&s);
    if (status == STATUS_OK) status = print_all(&s);
    runs_close(&s.runs);
    view_close(&s.view);
    identity_close(&s.id);
    xs_kernel_close(s.d.k);
    return status;
}

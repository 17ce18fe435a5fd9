/* kernel --words: what a kernel answers for given words. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

static const column columns[] = {{"word", "WORD", 10},
                                 {"class", "CLASS", 8},
                                 {"handler", "HANDLER", 26},
                                 {"crash", "CRASH", 5},
                                 {"text", "TEXT", 0}};

/* A call that crashed has no class. */
static int answer_row(const xs_kernel_decoder *d, uint32_t word, json_object *row)
{
    char text[256];
    xs_kernel_verdict v;
    if (xs_kernel_classify(d, word, &v)) {
        add_verdict(row, d, &v);
        return STATUS_OK;
    }
    xs_kernel_crash_text(xs_kernel_crashed(d->k), text, sizeof text);
    json_object_object_add(row, "class", NULL);
    json_object_object_add(row, "handler", NULL);
    json_object_object_add(row, "crash", json_object_new_string(text));
    return complain(STATUS_INTERNAL, "0x%08x: %s crashes: %s", word, d->name, text);
}

static int print_words(const view *v, const xs_kernel_decoder *d, output *out, const word_list *list)
{
    int status = STATUS_OK;
    for (size_t at = 0; at < list->size;) {
        xs_insn insn;
        insn_text text;
        if (xs_decode(v->decoder, list->bytes + at, list->size - at, &insn) != XS_OK)
            return complain(STATUS_INPUT, "words+0x%zx: cut off", at);
        json_object *row = json_object_new_object();
        json_object_object_add(row, "word", json_hex(insn.word, 2 * insn.size));
        status = worse(status, answer_row(d, insn.word, row));
        text_of(v, &insn, 0, &text);
        json_object_object_add(row, "text", json_object_new_string(text.text));
        output_row(out, "answer", row);
        at += insn.size;
    }
    return status;
}

static int print_all(const referee *r, const view *v, const xs_kernel_decoder *d, const word_list *list)
{
    output out;
    if (!output_open(&out, r->o)) return STATUS_INPUT;
    output_begin(&out);
    referee_head(r, &out);
    if (out.format == FORMAT_TEXT) text_line(out.f, d->mode, "%s\n", d->name);
    output_value(&out, "mode", NULL, json_object_new_string(d->mode));
    output_value(&out, "function", NULL, json_object_new_string(d->name));
    output_list(&out, "answers", columns, sizeof columns / sizeof *columns);
    int status = print_words(v, d, &out, list);
    output_list_end(&out);
    output_end(&out);
    return output_close(&out, status);
}

int kernel_words(const referee *r)
{
    view v;
    word_list list = {0};
    xs_kernel_decoder d = {0};
    options words = *r->o;
    words.args++;
    words.count--;
    int status = view_open_target(&v, r->o, r->o->target ? r->o->target : r->arch);
    if (status != STATUS_OK) return status;
    status = words_read(&words, v.granule, &list);
    if (status == STATUS_OK) status = referee_open(r, r->o->mode ? r->o->mode : "uprobe", true, &d);
    if (status == STATUS_OK) status = print_all(r, &v, &d, &list);
    xs_kernel_close(d.k);
    free(list.bytes);
    view_close(&v);
    return status;
}

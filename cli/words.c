/* classify --words: instruction words from the command line or standard input, as one text. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool append_byte(word_list *list, size_t *room, unsigned byte)
{
    if (list->size == *room) {
        size_t larger = *room ? *room * 2 : 256;
        uint8_t *bytes = realloc(list->bytes, larger);
        if (!bytes) return false;
        list->bytes = bytes;
        *room = larger;
    }
    list->bytes[list->size++] = (uint8_t)byte;
    return true;
}

/* Words: a number whose lowest byte comes first in memory. It is as long as it is written, but a
 * halfword that begins a 32-bit instruction is a word with its leading zeros left out. */
static bool add_word(word_list *list, size_t *room, const char *digits, size_t len, unsigned granule)
{
    unsigned long word = strtoul(digits, NULL, 16);
    unsigned bytes = granule == 2 && len <= 4 && (word & 3) != 3 ? 2 : 4;
    for (unsigned i = 0; i < bytes; i++)
        if (!append_byte(list, room, word >> (8 * i) & 255)) return false;
    return true;
}

static bool add_bytes(word_list *list, size_t *room, const char *digits, size_t len)
{
    for (size_t i = 0; i < len; i += 2) {
        char pair[3] = {digits[i], digits[i + 1], '\0'};
        if (!append_byte(list, room, (unsigned)strtoul(pair, NULL, 16))) return false;
    }
    return true;
}

/* One token: hex digits, with or without 0x; returns a status. */
static int add_token(const options *o, unsigned granule, const char *token, word_list *list, size_t *room)
{
    const char *digits = token[0] == '0' && (token[1] | 32) == 'x' ? token + 2 : token;
    size_t len = strlen(digits);
    bool hex = len > 0 && strspn(digits, "0123456789abcdefABCDEF") == len;
    if (!hex) return complain(STATUS_USAGE, "'%.40s' is not hexadecimal", token);
    if (o->bytes ? len % 2 != 0 : len > 8)
        return complain(STATUS_USAGE, "'%.40s' is %s", token,
                        o->bytes ? "half a byte too long" : "longer than a word");
    bool ok = o->bytes ? add_bytes(list, room, digits, len) : add_word(list, room, digits, len, granule);
    return ok ? STATUS_OK : complain(STATUS_INTERNAL, "out of memory");
}

/* Tokens between white space and commas; # begins a remark. text is cut up. */
static int read_text(const options *o, unsigned granule, char *text, word_list *list, size_t *room)
{
    char *save = NULL;
    int status = STATUS_OK;
    for (char *c = strchr(text, '#'); c; c = strchr(c, '#'))
        memset(c, ' ', strcspn(c, "\n"));
    for (char *t = strtok_r(text, " \t\r\n,", &save); t && status == STATUS_OK;
         t = strtok_r(NULL, " \t\r\n,", &save))
        status = add_token(o, granule, t, list, room);
    return status;
}

/* All of standard input; NULL after a message in *status, or without memory. */
static char *read_input(int *status)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t len = getdelim(&text, &room, '\0', stdin);
    if (len < 0 && text) *text = '\0'; /* nothing there */
    if (len <= 0 || text[len - 1] != '\0' || feof(stdin)) return text;
    free(text);
    *status = complain(STATUS_USAGE, "standard input has a NUL byte: it is no text");
    return NULL;
}

int words_read(const options *o, unsigned granule, word_list *out)
{
    size_t room = 0;
    int status = STATUS_OK;
    *out = (word_list){0};
    for (int i = 0; i < o->count && status == STATUS_OK; i++) {
        char *text = strcmp(o->args[i], "-") == 0 ? read_input(&status) : strdup(o->args[i]);
        if (text)
            status = read_text(o, granule, text, out, &room);
        else if (status == STATUS_OK)
            status = complain(STATUS_INTERNAL, "out of memory");
        free(text);
    }
    if (status == STATUS_OK && out->size == 0) status = complain(STATUS_INPUT, "no words to classify");
    if (status != STATUS_OK) {
        free(out->bytes);
        *out = (word_list){0};
    }
    return status;
}

static const column columns[] = {
    {"addr", "ADDRESS", 10}, {"word", "WORD", 10},       {"class", "CLASS", 8},
    {"rule", "RULE", 12},    {"reason", "REASON", 15},   {"handler", "HANDLER", 22},
    {"errno", "ERRNO", 8},   {"hazards", "HAZARDS", 18}, {"text", "TEXT", 0},
};

/* Every instruction of the text in turn; what follows one that is cut off cannot be read. */
static int print_words(const options *o, view *v, output *out, const word_list *list)
{
    xs_text text = {.bytes = list->bytes, .size = list->size, .addr = o->at};
    int status = STATUS_OK;
    for (size_t at = 0; at < list->size;) {
        xs_site site;
        xs_status s = xs_site_decide(v->decoder, v->ideal, &text, at, &site);
        if (s != XS_OK)
            return complain(STATUS_INPUT, "words+0x%zx: %s: %zu of %u bytes", at, xs_status_text(s),
                            list->size - at, site.insn.size);
        if (o->cls < 0 || o->cls == (int)site.cls) {
            status = worse(status, (int)site_found(o, &site));
            output_row(out, "site", site_json(v, &site, &(site_place){.addr = o->at + at}));
        }
        at += site.insn.size;
    }
    return status;
}

int classify_words(const options *o)
{
    view v;
    output out;
    word_list list = {0};
    int status = view_open(&v, o, NULL, NULL, NULL);
    if (status != STATUS_OK) return status;
    status = words_read(o, v.granule, &list);
    if (status == STATUS_OK && !output_open(&out, o)) status = STATUS_INPUT;
    if (status != STATUS_OK) {
        free(list.bytes);
        view_close(&v);
        return status;
    }
    const char *order = o->bytes ? "bytes" : "words";
    if (out.format == FORMAT_TEXT)
        fprintf(out.f, "target %s, input taken as %s\n\n", v.name,
                o->bytes ? "bytes in memory order" : "words (--bytes: bytes in memory order)");
    output_begin(&out);
    output_value(&out, "target", NULL, json_object_new_string(v.name));
    output_value(&out, "input", NULL, json_object_new_string(order));
    output_list(&out, "sites", columns, sizeof columns / sizeof *columns);
    status = print_words(o, &v, &out, &list);
    output_list_end(&out);
    output_end(&out);
    free(list.bytes);
    view_close(&v);
    return output_close(&out, status);
}

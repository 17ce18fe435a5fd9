/* Rows and values in four formats. A row is a json-c object; text and tsv print its columns. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { JSON_FLAGS = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE };

/* A file takes its name only when it is complete, so that a run that fails leaves an older one alone, and
 * one that reads the file it writes still finds it. What is no regular file is written to as it is. */
static FILE *open_file(output *out, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) return stdout;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return fopen(path, "w");
    if (snprintf(out->temporary, sizeof out->temporary, "%s.XXXXXX", path) >= (int)sizeof out->temporary)
        return NULL;
    int fd = mkstemp(out->temporary);
    if (fd < 0) return NULL;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    return fdopen(fd, "w");
}

bool output_open(output *out, const options *o)
{
    *out = (output){.f = stdout, .format = o->format, .path = o->output};
    if (o->output && !(out->f = open_file(out, o->output))) {
        complain(STATUS_INPUT, "%s: cannot be written", o->output);
        return false;
    }
    const char *no_color = getenv("NO_COLOR");
    bool automatic = !(no_color && *no_color) && isatty(fileno(out->f));
    out->color = o->format == FORMAT_TEXT && (o->color > 0 || (o->color == 0 && automatic));
    return true;
}

int output_close(output *out, int status)
{
    if (out->format == FORMAT_JSON && out->comma) fputc('\n', out->f);
    bool failed = fflush(out->f) != 0 || ferror(out->f);
    if (out->f != stdout) failed |= fclose(out->f) != 0;
    if (*out->temporary) {
        bool keep = !failed && (status < STATUS_USAGE || out->something);
        if (!keep)
            remove(out->temporary);
        else
            failed = rename(out->temporary, out->path) != 0;
    }
    return failed ? complain(STATUS_INTERNAL, "the output could not be written in full") : status;
}

static void separate(output *out)
{
    if (out->format != FORMAT_JSON) return;
    fputs(out->comma ? ",\n" : "", out->f);
    out->comma = true;
}

void output_begin(output *out)
{
    separate(out);
    if (out->format == FORMAT_JSON) fputs("{", out->f);
    out->comma = false;
}

void output_end(output *out)
{
    if (out->format == FORMAT_JSON) fputs("}", out->f);
    out->comma = true;
}

static void print_titles(const output *out)
{
    for (size_t i = 0; i < out->column_count && !out->untitled; i++) {
        const column *c = &out->columns[i];
        bool last = i + 1 == out->column_count;
        if (out->format == FORMAT_TSV) fprintf(out->f, "%s%s", c->key, last ? "\n" : "\t");
        if (out->format == FORMAT_TEXT)
            fprintf(out->f, "%-*s%s", last ? 0 : c->width, c->title, last ? "\n" : " ");
    }
}

void output_list(output *out, const char *key, const column *columns, size_t count)
{
    separate(out);
    out->columns = columns;
    out->column_count = count;
    if (out->format == FORMAT_JSON) fprintf(out->f, "\"%s\":[\n", key);
    print_titles(out);
    out->comma = false;
}

void output_list_end(output *out)
{
    if (out->format == FORMAT_JSON) fputs("\n]", out->f);
    out->comma = true;
}

/* A value of a row as a cell: null is "-", a list is joined by commas. Tabs and line ends in names
 * would break a row: they become spaces. */
static void cell(json_object *v, char *buf, size_t size)
{
    if (!v || (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 0)) {
        snprintf(buf, size, "-");
        return;
    }
    if (!json_object_is_type(v, json_type_array)) {
        snprintf(buf, size, "%s", json_object_get_string(v));
    } else {
        size_t at = 0;
        for (size_t i = 0; i < json_object_array_length(v) && at < size; i++)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? "," : "",
                                   json_object_get_string(json_object_array_get_idx(v, i)));
    }
    for (char *c = buf; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
}

static xs_class row_class(json_object *row)
{
    json_object *cls = json_object_object_get(row, "class");
    for (int c = XS_REJECT; cls && c < XS_TAIL; c++)
        if (strcmp(xs_class_name((xs_class)c), json_object_get_string(cls)) == 0) return (xs_class)c;
    return XS_TAIL;
}

static void print_cells(const output *out, json_object *row)
{
    char text[1024];
    for (size_t i = 0; i < out->column_count; i++) {
        const column *c = &out->columns[i];
        bool last = i + 1 == out->column_count;
        cell(json_object_object_get(row, c->key), text, sizeof text);
        if (out->format == FORMAT_TSV) {
            fprintf(out->f, "%s%s", text, last ? "\n" : "\t");
            continue;
        }
        bool paint = strcmp(c->key, "class") == 0;
        fprintf(out->f, "%s%-*s%s%s", paint ? output_paint(out, row_class(row)) : "", last ? 0 : c->width,
                text, paint ? output_plain(out) : "", last ? "\n" : " ");
    }
}

/* A line is the object with "type" in front of its other keys; no object here is empty. */
static void print_line(const output *out, const char *type, json_object *v)
{
    fprintf(out->f, "{\"type\":\"%s\",%s\n", type, json_object_to_json_string_ext(v, JSON_FLAGS) + 1);
}

void output_row(output *out, const char *type, json_object *row)
{
    out->something = true;
    separate(out);
    if (out->format == FORMAT_JSON)
        fputs(json_object_to_json_string_ext(row, JSON_FLAGS), out->f);
    else if (out->format == FORMAT_JSONL)
        print_line(out, type, row);
    else
        print_cells(out, row);
    json_object_put(row);
}

void output_value(output *out, const char *key, const char *type, json_object *v)
{
    out->something |= type != NULL;
    separate(out);
    if (out->format == FORMAT_JSON)
        fprintf(out->f, "\"%s\":%s", key, json_object_to_json_string_ext(v, JSON_FLAGS));
    if (out->format == FORMAT_JSONL && type) print_line(out, type, v);
    json_object_put(v);
}

const char *output_paint(const output *out, xs_class cls)
{
    if (!out->color) return "";
    return cls == XS_REJECT ? "\033[31m" : cls == XS_SIMULATE ? "\033[32m" : cls == XS_SLOT ? "\033[33m" : "";
}

const char *output_plain(const output *out)
{
    return out->color ? "\033[0m" : "";
}

void text_line(FILE *f, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(f, "%-9s ", key);
    vfprintf(f, format, args);
    fputc('\n', f);
    va_end(args);
}

json_object *json_hex(uint64_t value, int digits)
{
    char buf[32];
    snprintf(buf, sizeof buf, "0x%0*" PRIx64, digits, value);
    return json_object_new_string(buf);
}

/* Length of the UTF-8 sequence at s (RFC 3629), 0 if it is none. */
static size_t utf8(const unsigned char *s)
{
    size_t len = *s < 0x80                 ? 1
                 : *s >= 0xc2 && *s < 0xe0 ? 2
                 : (*s & 0xf0) == 0xe0     ? 3
                 : *s >= 0xf0 && *s < 0xf5 ? 4
                                           : 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (len == 3 && ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f))) return 0;
    if (len == 4 && ((*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))) return 0;
    return len;
}

json_object *json_bytes(const char *bytes)
{
    char text[4096];
    size_t at = 0;
    while (*bytes && at + 8 < sizeof text) {
        size_t len = utf8((const unsigned char *)bytes);
        if (len) memcpy(text + at, bytes, len);
        at += len ? len : (size_t)snprintf(text + at, 8, "\\x%02x", (unsigned char)*bytes);
        bytes += len ? len : 1;
    }
    return json_object_new_string_len(text, (int)at);
}

json_object *json_name(const char *name)
{
    return !name || !*name || strcmp(name, "-") == 0 ? NULL : json_bytes(name);
}

json_object *json_hazards(unsigned hazards)
{
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        if (hazards >> i & 1) json_object_array_add(list, json_object_new_string(xs_hazard_name(i)));
    return list;
}

void hazards_text(unsigned hazards, char *buf, size_t size)
{
    json_object *list = json_hazards(hazards);
    cell(list, buf, size);
    json_object_put(list);
}

/* JSON (RFC 8259) of a known shape, read in place. */
#include "simjson.h"

#include <string.h>

json_reader json_reader_over(char *line, size_t len, sim_why *why)
{
    return (json_reader){line, line, line + len, why};
}

static bool expected(json_reader *r, const char *what)
{
    if (r->at == r->end) return sim_refuse(r->why, "the line ends where %s is expected", what);
    return sim_refuse(r->why, "column %zu: %s is expected", (size_t)(r->at - r->start) + 1, what);
}

static char peek(json_reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')
        r->at++;
    return *r->at;
}

static bool skip(json_reader *r, char c)
{
    if (peek(r) != c || r->at == r->end) return false;
    r->at++;
    return true;
}

/* \uXXXX: nothing that has a meaning here lies outside ASCII, so that is all that is understood. */
static bool read_unicode(json_reader *r, char *out)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int d = sim_hex_digit(*r->at);
        if (d < 0) return expected(r, "a hexadecimal digit");
        code = code * 16 + d;
        r->at++;
    }
    if (code == 0 || code > 126)
        return sim_refuse(r->why, "column %zu: no name has this character", (size_t)(r->at - r->start));
    *out = (char)code;
    return true;
}

static bool read_escape(json_reader *r, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = *r->at ? strchr(from, *r->at) : NULL;
    if (*r->at == 'u') {
        r->at++;
        return read_unicode(r, out);
    }
    if (!at) return expected(r, "an escape");
    *out = to[at - from];
    r->at++;
    return true;
}

bool json_read_string(json_reader *r, char **out)
{
    if (!skip(r, '"')) return expected(r, "a string");
    *out = r->at;
    while (*r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= ' ')
        r->at++;
    char *to = r->at;
    while (*r->at != '"') {
        if ((unsigned char)*r->at < ' ') return expected(r, "the end of a string");
        char c = *r->at++;
        if (c == '\\' && !read_escape(r, &c)) return false;
        *to++ = c;
    }
    r->at++;
    *to = '\0'; /* at the latest where the quotation mark was */
    return true;
}

bool json_read_object(json_reader *r, json_member *member, void *arg)
{
    char *key;
    if (!skip(r, '{')) return expected(r, "an object");
    if (skip(r, '}')) return true;
    do {
        if (!json_read_string(r, &key)) return false;
        if (!skip(r, ':')) return expected(r, "':'");
        if (!member(r, key, arg)) return false;
    } while (skip(r, ','));
    return skip(r, '}') ? true : expected(r, "',' or '}'");
}

bool json_read_array(json_reader *r, json_item *item, void *arg)
{
    if (!skip(r, '[')) return expected(r, "an array");
    if (skip(r, ']')) return true;
    do
        if (!item(r, arg)) return false;
    while (skip(r, ','));
    return skip(r, ']') ? true : expected(r, "',' or ']'");
}

/* The digits are moved one to the left, over the blank or colon before them, to make room for a NUL. */
static bool read_digits(json_reader *r, char **out)
{
    size_t len = strspn(r->at, "0123456789");
    if (len == 0 || (len > 1 && *r->at == '0') || (r->at[len] && strchr(".eE", r->at[len])))
        return expected(r, "a string or an unsigned whole number");
    *out = memmove(r->at - 1, r->at, len);
    r->at[len - 1] = '\0';
    r->at += len;
    return true;
}

bool json_read_value(json_reader *r, char **out, bool *quoted)
{
    bool string = peek(r) == '"';
    if (quoted) *quoted = string;
    return string ? json_read_string(r, out) : read_digits(r, out);
}

bool json_read_bool(json_reader *r, bool *out)
{
    peek(r);
    *out = strncmp(r->at, "true", 4) == 0;
    size_t len = *out ? 4 : strncmp(r->at, "false", 5) == 0 ? 5 : 0;
    r->at += len;
    return len ? true : expected(r, "true or false");
}

bool json_read_end(json_reader *r)
{
    peek(r);
    return r->at == r->end ? true : expected(r, "the end of the line");
}

/* simulate --batch: a request a line, an answer a line, in the same order. Whatever is wrong with a line is
 * answered by an error object, and the run goes on. */
#include "simbatch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- carried out ----------------------------------------------------------------------------------- */

typedef struct answer {
    const sim_machine *machine;
    xs_insn insn;
    sim_state before, after;
    sim_memory memory;
    xs_sim_status status;
    xs_fault fault;
} answer;

/* In quotation marks it must be hexadecimal and say so: 14000001 could be either. */
static bool decode_word(const sim_request *q, answer *a, sim_why *why)
{
    uint64_t word;
    if (!q->word) return sim_refuse(why, "no word");
    bool prefixed = q->word[0] == '0' && (q->word[1] | 32) == 'x';
    if ((q->word_quoted && !prefixed) || !sim_number(q->word, &word) || word > UINT32_MAX)
        return sim_refuse(why, "word: '%.40s' is not 0x and up to 8 hexadecimal digits", q->word);
    a->insn = sim_decode(a->machine, (uint32_t)word);
    return true;
}

static bool set_state(const sim_request *q, answer *a, sim_why *why)
{
    uint64_t addr;
    sim_state_init(&a->before, a->machine);
    sim_memory_init(&a->memory, a->machine);
    for (size_t i = 0; i < q->regs; i++)
        if (!sim_state_set(&a->before, q->reg[i].name, q->reg[i].value, why)) return false;
    for (size_t i = 0; i < q->mems; i++) {
        if (!sim_number(q->mem[i].addr, &addr))
            return sim_refuse(why, "mem: '%.40s' is not an address", q->mem[i].addr);
        if (!sim_memory_add(&a->memory, addr, q->mem[i].bytes, why)) return false;
    }
    return true;
}

static bool carry_out(sim_targets *c, const sim_request *q, answer *a, sim_why *why)
{
    uint32_t quirks = 0;
    xs_prepared site;
    a->machine = sim_targets_find(c, q->target ? q->target : c->name, why);
    if (!a->machine || !decode_word(q, a, why) || !set_state(q, a, why)) return false;
    for (size_t i = 0; i < q->quirks; i++)
        if (!sim_quirk(a->machine, &a->insn, q->quirk[i], &quirks, why)) return false;
    xs_bus bus = sim_memory_bus(&a->memory);
    xs_site_prepare(a->machine->simulator, &a->insn, &site);
    a->after = a->before;
    a->status = xs_simulate(&site, &a->after.cpu, &bus, quirks, &a->fault);
    return true;
}

/* ---- an answer in JSON --------------------------------------------------------------------------- */

/* Room for one answer and more: 36 registers of 32 bytes, 4 stores of 80. */
enum { ANSWER_MAX = 4096, OUT_SIZE = 1 << 16 };

typedef struct writer {
    FILE *f;
    size_t len;
    char buf[OUT_SIZE];
} writer;

static void put(writer *w, const char *text)
{
    size_t len = strlen(text);
    memcpy(w->buf + w->len, text, len);
    w->len += len;
}

static void put_hex(writer *w, uint64_t value)
{
    char *to = w->buf + w->len;
    unsigned digits = value ? (67u - (unsigned)__builtin_clzll(value)) / 4 : 1;
    memcpy(to, "\"0x", 3);
    for (unsigned i = 0; i < digits; i++)
        to[3 + i] = "0123456789abcdef"[value >> (4 * (digits - 1 - i)) & 15];
    to[3 + digits] = '"';
    w->len += 4 + digits;
}

static void put_bytes(writer *w, const uint8_t *bytes, size_t size)
{
    char *to = w->buf + w->len;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        *to++ = "0123456789abcdef"[bytes[i] >> 4];
        *to++ = "0123456789abcdef"[bytes[i] & 15];
    }
    *to = '"';
    w->len += 2 * size + 2;
}

static void put_registers(writer *w, const answer *a)
{
    bool some = false;
    put(w, ",\"regs\":{");
    for (size_t i = 0; i < sim_register_count(a->machine); i++) {
        uint64_t value = sim_register(&a->after, i);
        char name[8];
        if (value == sim_register(&a->before, i)) continue;
        sim_register_name(a->machine, i, name);
        put(w, some ? ",\"" : "\"");
        put(w, name);
        put(w, "\":");
        put_hex(w, value);
        some = true;
    }
    put(w, "}");
}

static void put_memory(writer *w, const sim_memory *m)
{
    put(w, ",\"mem\":[");
    for (size_t i = 0; i < m->writes; i++) {
        put(w, i ? ",{\"addr\":" : "{\"addr\":");
        put_hex(w, m->write[i].addr);
        put(w, ",\"bytes\":");
        put_bytes(w, m->write[i].after, m->write[i].size);
        put(w, "}");
    }
    put(w, "]");
}

/* What there is to say about a status that is not ok. */
static void put_trouble(writer *w, const answer *a)
{
    char text[32];
    if (a->status == XS_SIM_NO_HANDLER) {
        put(w, ",\"class\":\"");
        put(w, xs_class_name(a->insn.entry->decision->cls));
        put(w, "\"");
    } else if (a->status != XS_SIM_STUCK) {
        put(w, ",\"fault\":{\"addr\":");
        put_hex(w, a->fault.addr);
        snprintf(text, sizeof text, ",\"size\":%" PRIu32 "}", a->fault.size);
        put(w, text);
    }
}

static void put_answer(writer *w, const answer *a)
{
    put(w, "{\"status\":\"");
    put(w, xs_sim_status_name(a->status));
    put(w, "\",\"pc\":");
    put_hex(w, sim_pc(&a->after));
    put_registers(w, a);
    put_memory(w, &a->memory);
    if (sim_btype(&a->after) != sim_btype(&a->before)) {
        char text[] = ",\"btype\":0";
        text[sizeof text - 2] = (char)('0' + sim_btype(&a->after));
        put(w, text);
    }
    if (sim_ss(&a->after) != sim_ss(&a->before)) put(w, ",\"ss\":false"); /* it is only ever cleared */
    if (a->status != XS_SIM_OK) put_trouble(w, a);
    put(w, "}\n");
}

static void put_error(writer *w, const sim_why *why, uint64_t line)
{
    json_object *error = json_object_new_object();
    json_object_object_add(error, "error", json_bytes(why->text));
    json_object_object_add(error, "line", json_object_new_int64((int64_t)line));
    put(w, json_object_to_json_string_ext(error, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    put(w, "\n");
    json_object_put(error);
}

static void flush(writer *w)
{
    fwrite(w->buf, 1, w->len, w->f);
    fflush(w->f);
    w->len = 0;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

typedef struct batch {
    sim_targets targets;
    sim_request request;
    answer answer;
    writer writer;
    uint64_t lines, malformed;
} batch;

static void answer_line(batch *b, char *line, size_t len)
{
    sim_why why;
    b->lines++;
    line[len] = '\0';
    if (b->writer.len > OUT_SIZE - ANSWER_MAX) flush(&b->writer);
    if (sim_request_read(line, len, &b->request, &why) &&
        carry_out(&b->targets, &b->request, &b->answer, &why)) {
        put_answer(&b->writer, &b->answer);
    } else {
        put_error(&b->writer, &why, b->lines);
        b->malformed++;
    }
}

/* Answer the whole lines at buf; returns how many bytes they were. */
static size_t answer_lines(batch *b, char *buf, size_t len)
{
    char *line = buf, *end;
    while ((end = memchr(line, '\n', len - (size_t)(line - buf)))) {
        answer_line(b, line, (size_t)(end - line));
        line = end + 1;
    }
    return (size_t)(line - buf);
}

/* Room for one more byte at least, and for a NUL behind it. */
static bool make_room(char **buf, size_t *room, size_t len)
{
    if (*buf && len < *room) return true;
    size_t larger = *room ? 2 * *room : 1 << 16;
    char *moved = realloc(*buf, larger + 1);
    if (!moved) return false;
    *buf = moved;
    *room = larger;
    return true;
}

/* What was asked is answered before more input is waited for, so that a program at the other end of both
 * pipes can talk with us. A last line without its end is a line. */
static int run(batch *b)
{
    char *buf = NULL;
    size_t room = 0, len = 0;
    ssize_t got = 0;
    bool ok;
    while ((ok = make_room(&buf, &room, len)) && (got = read(STDIN_FILENO, buf + len, room - len)) > 0) {
        bool whole = memchr(buf + len, '\n', (size_t)got);
        len += (size_t)got;
        if (!whole) continue;
        size_t done = answer_lines(b, buf, len);
        memmove(buf, buf + done, len -= done);
        flush(&b->writer);
    }
    if (ok && got == 0 && len) answer_line(b, buf, len);
    flush(&b->writer);
    free(buf);
    if (!ok) return complain(STATUS_INTERNAL, "out of memory");
    return got < 0 ? complain(STATUS_INPUT, "standard input cannot be read") : STATUS_OK;
}

int simulate_batch(const options *o)
{
    output out;
    if (o->count || o->setting_count)
        return complain(STATUS_USAGE,
                        "simulate --batch: words and states are in the lines of standard input");
    if (o->format != FORMAT_TEXT && o->format != FORMAT_JSONL)
        return complain(STATUS_USAGE, "simulate --batch: the output is jsonl");
    batch *b = calloc(1, sizeof *b);
    if (!b) return complain(STATUS_INTERNAL, "out of memory");
    int status = sim_targets_open(&b->targets, o);
    if (status == STATUS_OK && !output_open(&out, o)) status = STATUS_INPUT;
    if (status == STATUS_OK) {
        b->writer.f = out.f;
        status = output_close(&out, run(b));
    }
    if (b->malformed)
        status = worse(status, complain(STATUS_INPUT, "%" PRIu64 " of %" PRIu64 " lines are malformed",
                                        b->malformed, b->lines));
    sim_targets_close(&b->targets);
    free(b);
    return status;
}

/* simulate --batch: a request a line, an answer a line, in the same order. Whatever is wrong with a line is
 * answered by an error object, and the run goes on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch.h"
#include "cli.h"
#include "sim.h"
#include "simjson.h"

/* ---- targets, made once -------------------------------------------------------------------------- */

enum { TARGETS = 64, TABLES = 2 };

typedef struct cached_target {
    char name[96];
    xs_decoder *decoder;
    sim_machine machine;
} cached_target;

typedef struct cache {
    const options *o;
    char name[96]; /* of the target that lines without one mean */
    struct {
        const char *text; /* NULL: --table's */
        xs_table *table;
    } table[TABLES];
    cached_target target[TARGETS];
    size_t targets, last, next; /* last one asked for; next one to give way */
    int status;                 /* why no table could be opened; the message is printed */
} cache;

static xs_table *table_of(cache *c, const char *target, sim_why *why)
{
    char arch[32];
    size_t len, i = 0;
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, "+-/"), target);
    const char *text = c->o->table ? NULL : xs_builtin_table(arch, &len);
    if (!c->o->table && !text) {
        sim_refuse(why, "unknown architecture '%s': arm64, riscv64 or riscv32", arch);
        return NULL;
    }
    while (i < TABLES && c->table[i].table && c->table[i].text != text)
        i++;
    if (i == TABLES) return NULL; /* there are no more built-in ones */
    if (!c->table[i].table) c->table[i].table = table_open(c->o, arch, &c->status);
    if (!c->table[i].table) sim_refuse(why, "the table cannot be used");
    c->table[i].text = text;
    return c->table[i].table;
}

static bool open_target(cache *c, cached_target *t, const char *name, sim_why *why)
{
    xs_target parsed;
    char reason[200];
    const xs_table *table = table_of(c, name, why);
    if (!table) return false;
    if (strlen(name) >= sizeof t->name ||
        xs_target_parse(table, name, &parsed, reason, sizeof reason) != XS_OK)
        return sim_refuse(why, "target '%.40s': %s", name,
                          strlen(name) < sizeof t->name ? reason : "too long");
    xs_status status = xs_decoder_new(table, &parsed, &t->decoder);
    if (status != XS_OK) return sim_refuse(why, "%s: %s", name, xs_status_text(status));
    if (!sim_machine_open(&t->machine, t->decoder, why)) {
        xs_decoder_free(t->decoder);
        *t = (cached_target){0};
        return false;
    }
    snprintf(t->name, sizeof t->name, "%s", name);
    return true;
}

static void close_target(cached_target *t)
{
    sim_machine_close(&t->machine);
    xs_decoder_free(t->decoder);
    *t = (cached_target){0};
}

static const sim_machine *find_target(cache *c, const char *name, sim_why *why)
{
    if (c->targets && strcmp(c->target[c->last].name, name) == 0) return &c->target[c->last].machine;
    for (size_t i = 0; i < c->targets; i++)
        if (strcmp(c->target[i].name, name) == 0) return &c->target[c->last = i].machine;
    cached_target fresh = {0};
    if (!open_target(c, &fresh, name, why)) return NULL;
    c->last = c->targets < TARGETS ? c->targets++ : c->next++ % TARGETS;
    close_target(&c->target[c->last]);
    c->target[c->last] = fresh;
    return &c->target[c->last].machine;
}

static void close_cache(cache *c)
{
    for (size_t i = 0; i < c->targets; i++)
        close_target(&c->target[i]);
    for (size_t i = 0; i < TABLES; i++)
        xs_table_free(c->table[i].table);
}

/* The target of the command line in one piece. */
static void name_default(cache *c)
{
    const options *o = c->o;
    if (o->target)
        snprintf(c->name, sizeof c->name, "%s", o->target);
    else
        snprintf(c->name, sizeof c->name, "%s/%s%s%s", o->arch ? o->arch : "arm64",
                 o->kernel ? o->kernel : "", o->mode ? "/" : "", o->mode ? o->mode : "");
}

/* What the command line says is wrong before any line is read. */
static int check_default(cache *c)
{
    sim_why why;
    const options *o = c->o;
    if (!(o->target || o->arch || o->kernel || o->mode || o->table)) return STATUS_OK;
    if (find_target(c, c->name, &why)) return STATUS_OK;
    return c->status ? c->status : complain(STATUS_USAGE, "%s", why.text);
}

/* ---- a request ------------------------------------------------------------------------------------- */

enum { REGISTERS = 80, QUIRKS = 32 };

/* As it stands in the line; what the names mean depends on the target, which may come last. */
typedef struct request {
    char *target, *word;
    bool word_quoted;
    struct {
        char *name, *value;
    } reg[REGISTERS];
    struct {
        char *addr, *bytes;
    } mem[SIM_PIECES];
    char *quirk[QUIRKS];
    size_t regs, mems, quirks;
    unsigned seen; /* keys, a bit each */
} request;

static bool add_register(json_reader *r, char *name, char *value, request *q)
{
    if (q->regs == REGISTERS) return sim_refuse(r->why, "more than %d registers", REGISTERS);
    q->reg[q->regs].name = name;
    q->reg[q->regs++].value = value;
    return true;
}

static bool read_register(json_reader *r, char *key, void *arg)
{
    char *value;
    return json_read_value(r, &value, NULL) && add_register(r, key, value, arg);
}

static bool read_piece_member(json_reader *r, char *key, void *arg)
{
    request *q = arg;
    char **addr = &q->mem[q->mems].addr, **bytes = &q->mem[q->mems].bytes;
    if (strcmp(key, "addr") == 0) return json_read_value(r, addr, NULL);
    if (strcmp(key, "bytes") == 0) return json_read_string(r, bytes);
    return sim_refuse(r->why, "mem: unknown key '%.40s'", key);
}

static bool read_piece(json_reader *r, void *arg)
{
    request *q = arg;
    if (q->mems == SIM_PIECES) return sim_refuse(r->why, "more than %d pieces of memory", SIM_PIECES);
    q->mem[q->mems].addr = q->mem[q->mems].bytes = NULL;
    if (!json_read_object(r, read_piece_member, q)) return false;
    if (!q->mem[q->mems].addr || !q->mem[q->mems].bytes)
        return sim_refuse(r->why, "mem: no addr or no bytes");
    q->mems++;
    return true;
}

static bool read_quirk(json_reader *r, void *arg)
{
    request *q = arg;
    if (q->quirks == QUIRKS) return sim_refuse(r->why, "more than %d quirks", QUIRKS);
    return json_read_string(r, &q->quirk[q->quirks++]);
}

static bool read_flag(json_reader *r, char *name, request *q)
{
    static char values[2][2] = {"0", "1"};
    bool on;
    return json_read_bool(r, &on) && add_register(r, name, values[on], q);
}

static bool read_member(json_reader *r, char *key, void *arg)
{
    static const char *const keys[] = {"target", "word",  "regs",    "mem",      "quirks",
                                       "pc",     "btype", "guarded", "sp_check", NULL};
    request *q = arg;
    unsigned i = 0;
    while (keys[i] && strcmp(keys[i], key) != 0)
        i++;
    if (!keys[i]) return sim_refuse(r->why, "unknown key '%.40s'", key);
    if (q->seen >> i & 1) return sim_refuse(r->why, "'%s' is given twice", key);
    q->seen |= 1u << i;
    switch (i) {
    case 0: return json_read_string(r, &q->target);
    case 1: return json_read_value(r, &q->word, &q->word_quoted);
    case 2: return json_read_object(r, read_register, q);
    case 3: return json_read_array(r, read_piece, q);
    case 4: return json_read_array(r, read_quirk, q);
    case 5:
    case 6: return read_register(r, key, q);
    default: return read_flag(r, key, q);
    }
}

static bool read_request(char *line, size_t len, request *q, sim_why *why)
{
    json_reader r = json_reader_over(line, len, why);
    q->target = q->word = NULL;
    q->regs = q->mems = q->quirks = 0;
    q->seen = 0;
    return json_read_object(&r, read_member, q) && json_read_end(&r);
}

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
static bool decode_word(const request *q, answer *a, sim_why *why)
{
    uint64_t word;
    if (!q->word) return sim_refuse(why, "no word");
    bool prefixed = q->word[0] == '0' && (q->word[1] | 32) == 'x';
    if ((q->word_quoted && !prefixed) || !sim_number(q->word, &word) || word > UINT32_MAX)
        return sim_refuse(why, "word: '%.40s' is not 0x and up to 8 hexadecimal digits", q->word);
    a->insn = sim_decode(a->machine, (uint32_t)word);
    return true;
}

static bool set_state(const request *q, answer *a, sim_why *why)
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

static bool carry_out(cache *c, const request *q, answer *a, sim_why *why)
{
    uint32_t quirks = 0;
    xs_prepared site;
    a->machine = find_target(c, q->target ? q->target : c->name, why);
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
    cache cache;
    request request;
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
    if (read_request(line, len, &b->request, &why) && carry_out(&b->cache, &b->request, &b->answer, &why)) {
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
    b->cache.o = o;
    name_default(&b->cache);
    int status = check_default(&b->cache);
    if (status == STATUS_OK && !output_open(&out, o)) status = STATUS_INPUT;
    if (status == STATUS_OK) {
        b->writer.f = out.f;
        status = worse(run(b), output_close(&out));
    }
    if (b->malformed)
        status = worse(status, complain(STATUS_INPUT, "%" PRIu64 " of %" PRIu64 " lines are malformed",
                                        b->malformed, b->lines));
    close_cache(&b->cache);
    free(b);
    return status;
}

/* A request: JSON of known keys, in any order. */
#include <string.h>

#include "simbatch.h"
#include "simjson.h"

static bool add_register(json_reader *r, char *name, char *value, sim_request *q)
{
    if (q->regs == SIM_REGISTERS) return sim_refuse(r->why, "more than %d registers", SIM_REGISTERS);
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
    sim_request *q = arg;
    char **addr = &q->mem[q->mems].addr, **bytes = &q->mem[q->mems].bytes;
    if (strcmp(key, "addr") == 0) return json_read_value(r, addr, NULL);
    if (strcmp(key, "bytes") == 0) return json_read_string(r, bytes);
    return sim_refuse(r->why, "mem: unknown key '%.40s'", key);
}

static bool read_piece(json_reader *r, void *arg)
{
    sim_request *q = arg;
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
    sim_request *q = arg;
    if (q->quirks == SIM_QUIRKS) return sim_refuse(r->why, "more than %d quirks", SIM_QUIRKS);
    return json_read_string(r, &q->quirk[q->quirks++]);
}

static bool read_flag(json_reader *r, char *name, sim_request *q)
{
    static char values[2][2] = {"0", "1"};
    bool on;
    return json_read_bool(r, &on) && add_register(r, name, values[on], q);
}

static bool read_member(json_reader *r, char *key, void *arg)
{
    static const char *const keys[] = {"target", "word",    "regs",     "mem", "quirks", "pc",
                                       "btype",  "guarded", "sp_check", "ss",  NULL};
    sim_request *q = arg;
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

bool sim_request_read(char *line, size_t len, sim_request *q, sim_why *why)
{
    json_reader r = json_reader_over(line, len, why);
    q->target = q->word = NULL;
    q->regs = q->mems = q->quirks = 0;
    q->seen = 0;
    return json_read_object(&r, read_member, q) && json_read_end(&r);
}

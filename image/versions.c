/* Versions of dynamic symbols (Linux Standard Base, "Symbol Versioning"): .gnu.version has one index a
 * symbol, .gnu.version_d names the indices the file defines. Only definitions matter: functions are defined
 * here. */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION_DEFINITION_SIZE = 20, HIDDEN = 0x8000 };

static void name_version(img_loading *loading, img_versions *versions, uint64_t index, const char *name)
{
    if (index >= versions->count) {
        size_t count = (size_t)index + 1; /* 15 bits: small */
        const char **names = reallocarray(versions->names, count, sizeof *names);
        if (!names) {
            loading->out_of_memory = true;
            return;
        }
        for (size_t i = versions->count; i < count; i++)
            names[i] = NULL;
        versions->names = names;
        versions->count = count;
    }
    versions->names[index] = name;
}

/* One Elfxx_Verdef (the same in both classes) and the first of its names. False: it leaves the section. */
static bool read_definition(img_loading *loading, img_versions *versions, img_slice section,
                            img_slice strings, uint64_t at)
{
    const img_file *file = versions->file;
    if (section.size < VERSION_DEFINITION_SIZE || at > section.size - VERSION_DEFINITION_SIZE) return false;
    uint64_t flags = img_read(file, section.data + at + 2, 2),
             index = img_read(file, section.data + at + 4, 2);
    uint64_t name_at = at + img_read(file, section.data + at + 12, 4);
    if (section.size < 4 || name_at > section.size - 4) return false;
    const char *name = img_slice_string(strings, img_read(file, section.data + name_at, 4));
    if (!name) return false;
    /* The base definition names the file itself, not a version. */
    if (!(flags & VER_FLG_BASE)) name_version(loading, versions, index & ~(uint64_t)HIDDEN, name);
    return true;
}

static void read_definitions(img_loading *loading, img_versions *versions, const img_section *section)
{
    const img_file *file = versions->file;
    img_slice all = img_section_slice(file, section), strings = {0};
    if (section->link < file->section_count)
        strings = img_section_strings(file, &file->sections[section->link]);
    uint64_t at = 0, next = 0;
    do {
        if (!read_definition(loading, versions, all, strings, at)) {
            img_remark_add(loading, IMG_REMARK_VERSION, "%s+%#" PRIx64, section->name, at);
            return;
        }
        next = img_read(file, all.data + at + 16, 4); /* vd_next: forward only, so this ends */
        at += next;
    } while (next);
}

img_versions img_versions_read(img_loading *loading, const img_file *file, const img_section *symbols)
{
    img_versions versions = {.file = file};
    uint32_t symbols_index = (uint32_t)(symbols - file->sections);
    const img_section *indices = img_section_of_type(file, SHT_GNU_versym, symbols_index);
    const img_section *definitions = img_section_of_type(file, SHT_GNU_verdef, SHN_UNDEF);
    if (!indices || !definitions) return versions;
    versions.indices = img_section_slice(file, indices);
    read_definitions(loading, &versions, definitions);
    return versions;
}

/* Never NULL. *hidden: not the default version ("foo@V", not "foo@@V"). */
const char *img_version_of(img_loading *loading, const img_versions *versions, size_t symbol, bool *hidden)
{
    *hidden = false;
    if (!versions->indices.size) return "";
    if (symbol >= versions->indices.size / 2) {
        img_remark_add(loading, IMG_REMARK_VERSION, "symbol %zu", symbol);
        return "";
    }
    uint64_t index = img_read(versions->file, versions->indices.data + 2 * symbol, 2);
    *hidden = index & HIDDEN;
    index &= ~(uint64_t)HIDDEN;
    if (index <= VER_NDX_GLOBAL) return "";
    if (index < versions->count && versions->names[index]) return versions->names[index];
    img_remark_add(loading, IMG_REMARK_VERSION, "symbol %zu, version %" PRIu64, symbol, index);
    return "";
}

/* Opening an ELF file, and bounds-checked access to its parts. References: the System V gABI, chapter 4. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ELF header as it is in the file. libelf answers damaged headers with error numbers that say little to
 * a user, and it reads tables before they can be judged, so the few fields that matter are checked first. */
typedef struct elf_head {
    uint8_t bytes[sizeof(Elf64_Ehdr)];
    uint64_t count;              /* bytes that are there */
    uint64_t file_size;          /* of the whole file */
    uint64_t first_section_size; /* holds the number of sections when e_shnum is 0 */
} elf_head;

static uint64_t read_bytes(const uint8_t *at, unsigned bytes, bool big_endian)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << 8 * (big_endian ? bytes - 1 - i : i);
    }
    return value;
}

static uint64_t field(const elf_head *head, size_t at64, size_t at32, unsigned size64, unsigned size32)
{
    bool wide = head->bytes[EI_CLASS] == ELFCLASS64;
    return read_bytes(head->bytes + (wide ? at64 : at32), wide ? size64 : size32,
                      head->bytes[EI_DATA] == ELFDATA2MSB);
}

#define FIELD(head, name)                                                                                    \
    field(head, offsetof(Elf64_Ehdr, name), offsetof(Elf32_Ehdr, name), sizeof(((Elf64_Ehdr *)0)->name),     \
          sizeof(((Elf32_Ehdr *)0)->name))

static const char *machine_name(uint64_t machine)
{
    switch (machine) {
    case EM_386: return "32-bit x86";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "32-bit Arm";
    case EM_PPC: return "32-bit PowerPC";
    case EM_PPC64: return "PowerPC64";
    case EM_S390: return "s390";
    case EM_MIPS: return "MIPS";
    case EM_SPARCV9: return "SPARC V9";
    case EM_LOONGARCH: return "LoongArch";
    case EM_BPF: return "BPF";
    default: return NULL;
    }
}

static xs_image_status check_machine(const elf_head *head, char *why, size_t size)
{
    uint64_t machine = FIELD(head, e_machine);
    if (machine == EM_AARCH64 || machine == EM_RISCV) return XS_IMAGE_OK;
    const char *name = machine_name(machine);
    if (name) {
        img_say(why, size, "ELF file for %s, not for AArch64 or RISC-V", name);
    } else {
        img_say(why, size, "ELF file for machine %" PRIu64 ", not for AArch64 or RISC-V", machine);
    }
    return XS_IMAGE_E_ARCH;
}

static const char *magic_problem(const elf_head *head)
{
    if (head->file_size == 0) return "the file is empty";
    if (head->count >= 8 && !memcmp(head->bytes, "!<arch>\n", 8)) {
        return "an archive of object files; extract a member first";
    }
    if (head->count < SELFMAG || memcmp(head->bytes, ELFMAG, SELFMAG) != 0) return "not an ELF file";
    if (head->count < offsetof(Elf64_Ehdr, e_version)) return "truncated in the ELF header";
    uint8_t width = head->bytes[EI_CLASS], order = head->bytes[EI_DATA];
    if (width != ELFCLASS32 && width != ELFCLASS64) return "damaged ELF header: neither 32- nor 64-bit";
    if (order != ELFDATA2LSB && order != ELFDATA2MSB) return "damaged ELF header: unknown byte order";
    return NULL;
}

static const char *type_problem(const elf_head *head)
{
    uint64_t header_size = head->bytes[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    if (head->count < header_size) return "truncated in the ELF header";
    if (head->bytes[EI_VERSION] != EV_CURRENT) return "damaged ELF header: unknown version";
    uint64_t type = FIELD(head, e_type);
    if (type == ET_CORE) return "a core dump, not a program";
    if (type != ET_REL && type != ET_EXEC && type != ET_DYN) return "damaged ELF header: unknown file type";
    return NULL;
}

/* A file cut short loses its section headers, which come last: that is worth an error, not a guess from the
 * segments, of which parts are gone too. */
static xs_image_status check_sections(const elf_head *head, char *why, size_t size)
{
    uint64_t at = FIELD(head, e_shoff), each = FIELD(head, e_shentsize), count = FIELD(head, e_shnum);
    uint64_t right = head->bytes[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (at == 0) return XS_IMAGE_OK;
    if (count == 0) count = head->first_section_size;
    if (at >= head->file_size || count > (head->file_size - at) / right) {
        img_say(why, size,
                "truncated or damaged: %" PRIu64 " section headers at offset %#" PRIx64
                " do not fit in a file of %" PRIu64 " bytes",
                count, at, head->file_size);
        return XS_IMAGE_E_FORMAT;
    }
    if (each != right && count) {
        img_say(why, size, "damaged ELF header: section headers of %" PRIu64 " bytes", each);
        return XS_IMAGE_E_FORMAT;
    }
    return XS_IMAGE_OK;
}

static xs_image_status check_head(const elf_head *head, char *why, size_t size)
{
    const char *problem = magic_problem(head);
    if (!problem) {
        xs_image_status status = check_machine(head, why, size);
        if (status != XS_IMAGE_OK) return status;
        problem = type_problem(head);
    }
    if (!problem) return check_sections(head, why, size);
    img_say(why, size, "%s", problem);
    return XS_IMAGE_E_FORMAT;
}

/* Where the size field of section header 0 is; UINT64_MAX when it is not in the file. */
static uint64_t first_section_size_at(const elf_head *head)
{
    bool wide = head->count == sizeof head->bytes && head->bytes[EI_CLASS] == ELFCLASS64;
    uint64_t in_header = wide ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf32_Shdr, sh_size);
    uint64_t at = head->count < sizeof(Elf32_Ehdr) ? 0 : FIELD(head, e_shoff);
    bool fits = at && at < head->file_size && head->file_size - at >= sizeof(Elf64_Shdr);
    return fits ? at + in_header : UINT64_MAX;
}

static void finish_head(elf_head *head, const uint8_t *size_field)
{
    bool wide = head->bytes[EI_CLASS] == ELFCLASS64;
    head->first_section_size = read_bytes(size_field, wide ? 8 : 4, head->bytes[EI_DATA] == ELFDATA2MSB);
}

static bool read_head(int fd, uint64_t file_size, elf_head *head)
{
    *head = (elf_head){.file_size = file_size};
    ssize_t count = pread(fd, head->bytes, sizeof head->bytes, 0);
    if (count < 0) return false;
    head->count = (uint64_t)count;
    uint8_t size_field[8] = {0};
    uint64_t at = first_section_size_at(head);
    if (at != UINT64_MAX && pread(fd, size_field, sizeof size_field, (off_t)at) < 0) return false;
    finish_head(head, size_field);
    return true;
}

static void head_from_memory(const uint8_t *bytes, size_t count, elf_head *head)
{
    *head = (elf_head){.file_size = count};
    head->count = count < sizeof head->bytes ? count : sizeof head->bytes;
    memcpy(head->bytes, bytes, head->count);
    uint8_t none[8] = {0};
    uint64_t at = first_section_size_at(head);
    finish_head(head, at != UINT64_MAX ? bytes + at : none);
}

static img_slice section_names(const img_file *file)
{
    size_t index = 0;
    GElf_Shdr header;
    if (elf_getshdrstrndx(file->elf, &index) != 0) return (img_slice){0};
    if (!gelf_getshdr(elf_getscn(file->elf, index), &header)) return (img_slice){0};
    img_section names = {"", 0, 0, header.sh_offset, header.sh_size, header.sh_type, 0};
    return img_section_strings(file, &names);
}

static bool read_sections(img_file *file)
{
    size_t count = 0;
    if (elf_getshdrnum(file->elf, &count) != 0) count = 0;
    file->sections = calloc(count ? count : 1, sizeof *file->sections);
    if (!file->sections) return false;
    for (size_t i = 0; i < count; i++)
        file->sections[i].name = "";
    file->section_count = count;
    img_slice names = section_names(file);
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
        GElf_Shdr header;
        size_t index = elf_ndxscn(scn);
        if (index >= count || !gelf_getshdr(scn, &header)) continue;
        const char *name = img_slice_string(names, header.sh_name);
        file->sections[index] =
            (img_section){name ? name : "", header.sh_flags, header.sh_addr, header.sh_offset,
                          header.sh_size,   header.sh_type,  header.sh_link};
    }
    return true;
}

static bool read_segments(img_file *file)
{
    size_t count = 0;
    if (elf_getphdrnum(file->elf, &count) != 0) return true;
    if (count > file->raw_size / sizeof(Elf32_Phdr)) count = 0;
    file->segments = calloc(count ? count : 1, sizeof *file->segments);
    if (!file->segments) return false;
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        if (!gelf_getphdr(file->elf, (int)i, &file->segments[i])) break;
        file->segment_count = i + 1;
    }
    return true;
}

static xs_image_status read_tables(img_file *file, char *why, size_t size)
{
    size_t raw_size = 0;
    file->raw = (const uint8_t *)elf_rawfile(file->elf, &raw_size);
    file->raw_size = raw_size;
    if (!file->raw || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->ehdr)) {
        img_say(why, size, "damaged ELF header: %s", elf_errmsg(-1));
        return XS_IMAGE_E_FORMAT;
    }
    if (read_sections(file) && read_segments(file)) return XS_IMAGE_OK;
    img_say(why, size, "out of memory");
    return XS_IMAGE_E_NOMEM;
}

static xs_image_status finish_open(img_file *file, const elf_head *head, char *why, size_t size)
{
    xs_image_status status = check_head(head, why, size);
    if (status != XS_IMAGE_OK) return status;
    elf_version(EV_CURRENT);
    file->elf = file->fd >= 0 ? elf_begin(file->fd, ELF_C_READ_MMAP, NULL)
                              : elf_memory((char *)file->unpacked, head->file_size);
    if (file->elf) return read_tables(file, why, size);
    img_say(why, size, "damaged ELF header: %s", elf_errmsg(-1));
    return XS_IMAGE_E_FORMAT;
}

/* O_NONBLOCK: opening a FIFO without a writer must not hang. */
static xs_image_status open_regular(img_file *file, const char *path, struct stat *about, char *why,
                                    size_t size)
{
    file->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, about) != 0) {
        char text[128];
        img_say(why, size, "cannot be opened: %s", strerror_r(errno, text, sizeof text));
        return XS_IMAGE_E_OPEN;
    }
    if (S_ISREG(about->st_mode)) return XS_IMAGE_OK;
    img_say(why, size, S_ISDIR(about->st_mode) ? "a directory" : "not a regular file");
    return XS_IMAGE_E_OPEN;
}

xs_image_status img_file_open(img_file *file, const char *path, char *why, size_t size)
{
    *file = (img_file){.fd = -1};
    struct stat about;
    xs_image_status status = open_regular(file, path, &about, why, size);
    elf_head head;
    if (status == XS_IMAGE_OK && !read_head(file->fd, (uint64_t)about.st_size, &head)) {
        char text[128];
        img_say(why, size, "cannot be read: %s", strerror_r(errno, text, sizeof text));
        status = XS_IMAGE_E_OPEN;
    }
    if (status == XS_IMAGE_OK) {
        file->device = about.st_dev;
        file->inode = about.st_ino;
        status = finish_open(file, &head, why, size);
    }
    if (status != XS_IMAGE_OK) img_file_close(file);
    return status;
}

xs_image_status img_file_from_memory(img_file *file, uint8_t *bytes, size_t count, char *why, size_t size)
{
    *file = (img_file){.fd = -1, .unpacked = bytes};
    elf_head head;
    head_from_memory(bytes, count, &head);
    xs_image_status status = finish_open(file, &head, why, size);
    if (status != XS_IMAGE_OK) img_file_close(file);
    return status;
}

void img_file_close(img_file *file)
{
    free(file->sections);
    free(file->segments);
    elf_end(file->elf);
    free(file->unpacked);
    if (file->fd >= 0) close(file->fd);
    *file = (img_file){.fd = -1};
}

img_slice img_file_slice(const img_file *file, uint64_t offset, uint64_t size)
{
    if (offset >= file->raw_size) return (img_slice){0};
    uint64_t rest = file->raw_size - offset;
    return (img_slice){file->raw + offset, size < rest ? size : rest};
}

img_slice img_section_slice(const img_file *file, const img_section *section)
{
    if (!section || section->type == SHT_NOBITS || section->type == SHT_NULL) return (img_slice){0};
    return img_file_slice(file, section->offset, section->size);
}

const img_section *img_section_named(const img_file *file, const char *name)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (!strcmp(file->sections[i].name, name)) return &file->sections[i];
    }
    return NULL;
}

const img_section *img_section_of_type(const img_file *file, uint32_t type, uint32_t link)
{
    for (size_t i = 1; i < file->section_count; i++) {
        const img_section *section = &file->sections[i];
        if (section->type == type && (link == SHN_UNDEF || section->link == link)) return section;
    }
    return NULL;
}

Elf_Data *img_file_data(const img_file *file, img_slice slice, Elf_Type type)
{
    if (!slice.size) return NULL;
    return elf_getdata_rawchunk(file->elf, (int64_t)(slice.data - file->raw), slice.size, type);
}

/* Cut behind the last NUL, so that looking up a name is a comparison and not a search. */
img_slice img_section_strings(const img_file *file, const img_section *section)
{
    img_slice strings = img_section_slice(file, section);
    while (strings.size && strings.data[strings.size - 1])
        strings.size--;
    return strings;
}

const char *img_slice_string(img_slice strings, uint64_t offset)
{
    return offset < strings.size ? (const char *)strings.data + offset : NULL;
}

uint64_t img_read(const img_file *file, const uint8_t *at, unsigned bytes)
{
    return read_bytes(at, bytes, file->ehdr.e_ident[EI_DATA] == ELFDATA2MSB);
}

uint64_t img_address_offset(const img_file *file, uint64_t addr)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || addr < segment->p_vaddr) continue;
        if (addr - segment->p_vaddr < segment->p_filesz) return segment->p_offset + (addr - segment->p_vaddr);
    }
    return UINT64_MAX;
}

/* image/: what is read from ELF files, good and bad. fixtures/programs/README says what each file is. */
#include "image.h"
#include "tests.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAMS     "fixtures/programs/"
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    NOTHING = -1, /* is remarked */
#define IMG_REMARK(name, text) name,
#include "remarks.def"
#undef IMG_REMARK
};
static const char *const remark_texts[] = {
#define IMG_REMARK(name, text) text,
#include "remarks.def"
#undef IMG_REMARK
};

/* What the suite has met; the last test wants all of it. */
static bool remark_seen[COUNT(remark_texts)], source_seen[XS_SOURCE_COUNT], status_seen[XS_IMAGE_E_NOMEM + 1];

static const xs_image_options with_debug_dir = {.debug_dir = PROGRAMS "debug"};

static void note_image(const xs_image *image)
{
    for (size_t i = 0; i < image->function_count; i++)
        source_seen[image->functions[i].source] = true;
    for (size_t i = 0; i < image->remark_count; i++) {
        for (size_t k = 0; k < COUNT(remark_texts); k++) {
            if (!strcmp(image->remarks[i].text, remark_texts[k])) remark_seen[k] = true;
        }
    }
}

static xs_image *open_with(const char *path, const xs_image_options *options)
{
    xs_image *image = NULL;
    char why[256];
    xs_image_status status = xs_image_open(path, options, &image, why, sizeof why);
    status_seen[status] = true;
    if (status != XS_IMAGE_OK) {
        wrong("%s: status %d, %s", path, (int)status, why);
    } else {
        note_image(image);
    }
    return image;
}

/* A fixture, by its name. NULL: wrong() was called. */
static xs_image *open_program(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, PROGRAMS "%s", name);
    return open_with(path, &with_debug_dir);
}

/* The bytes of a file; free them. */
static uint8_t *slurp(const char *path, size_t *size)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file && fstat(fileno(file), &about) == 0, "%s cannot be opened", path);
    *size = (size_t)about.st_size;
    uint8_t *bytes = malloc(*size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void spill(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "%s cannot be written", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void expect(const char *file, const char *what, uint64_t got, uint64_t want)
{
    if (got != want) wrong("%s: %s is %" PRIu64 ", not %" PRIu64, file, what, got, want);
}

/* ---- files that cannot be used --------------------------------------------------------------- */

static const struct {
    const char *name;
    xs_image_status status;
    const char *why; /* part of it */
} unusable[] = {
    {"bad/no-such-file", XS_IMAGE_E_OPEN, "No such file"},
    {"bad", XS_IMAGE_E_OPEN, "directory"},
    {"bad/empty", XS_IMAGE_E_FORMAT, "empty"},
    {"bad/text", XS_IMAGE_E_FORMAT, "not an ELF file"},
    {"bad/magic-only", XS_IMAGE_E_FORMAT, "truncated in the ELF header"},
    {"bad/archive", XS_IMAGE_E_FORMAT, "archive"},
    {"bad/half-header", XS_IMAGE_E_FORMAT, "truncated in the ELF header"},
    {"bad/truncated", XS_IMAGE_E_FORMAT, "truncated or damaged: 7 section headers"},
    {"bad/truncated-last-byte", XS_IMAGE_E_FORMAT, "truncated or damaged"},
    {"bad/class", XS_IMAGE_E_FORMAT, "neither 32- nor 64-bit"},
    {"bad/byte-order", XS_IMAGE_E_FORMAT, "byte order"},
    {"bad/version", XS_IMAGE_E_FORMAT, "version"},
    {"bad/type", XS_IMAGE_E_FORMAT, "file type"},
    {"bad/core", XS_IMAGE_E_FORMAT, "core dump"},
    {"bad/huge-count", XS_IMAGE_E_FORMAT, "65279 section headers"},
    {"bad/huge-count-extended", XS_IMAGE_E_FORMAT, "576460752303423488 section headers"},
    {"bad/header-size", XS_IMAGE_E_FORMAT, "section headers of 63 bytes"},
    {"bad/x86-64", XS_IMAGE_E_ARCH, "for x86-64"},
    {"bad/arm-32", XS_IMAGE_E_ARCH, "for 32-bit Arm"},
    {"bad/machine-unknown", XS_IMAGE_E_ARCH, "machine 65261"},
    {"bad/no-code", XS_IMAGE_E_EMPTY, "no executable section or segment"},
    {"bad/code-all-past-end", XS_IMAGE_E_EMPTY, "past the end of the file"},
    {"bad/code-all-nobits", XS_IMAGE_E_EMPTY, "separate debug file?"},
    {"bad/code-all-data", XS_IMAGE_E_EMPTY, "mapping symbols"},
    {"bad/code-all-wraps", XS_IMAGE_E_EMPTY, "wrap around"},
    {".debug/shapes-arm64-linked.so.debug", XS_IMAGE_E_EMPTY, "separate debug file?"},
};

static void check_unusable(const char *path, xs_image_status want, const char *part)
{
    xs_image *image = (xs_image *)&image;
    char why[256];
    memset(why, 'x', sizeof why);
    xs_image_status status = xs_image_open(path, &with_debug_dir, &image, why, sizeof why);
    status_seen[status] = true;
    if (status != want || image || !memchr(why, 0, sizeof why) || !strstr(why, part)) {
        wrong("%s: status %d, %.*s; not %d, %s", path, (int)status, (int)sizeof why, why, (int)want, part);
    }
    if (strchr(why, '\n')) wrong("%s: more than a line", path);
    xs_image_close(image);
}

START_TEST(unusable_files_say_why)
{
    for (size_t i = 0; i < COUNT(unusable); i++) {
        char path[128];
        snprintf(path, sizeof path, PROGRAMS "%s", unusable[i].name);
        check_unusable(path, unusable[i].status, unusable[i].why);
    }
    all_right();
}
END_TEST

/* A directory for files that cannot be committed. */
static void make_scratch(char path[32])
{
    strcpy(path, "/tmp/xolsim-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

START_TEST(special_files_do_not_hang)
{
    char dir[32], path[64];
    make_scratch(dir);
    snprintf(path, sizeof path, "%s/fifo", dir);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    check_unusable(path, XS_IMAGE_E_OPEN, "not a regular file");
    unlink(path);
    snprintf(path, sizeof path, "%s/secret", dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0000);
    ck_assert_int_ge(fd, 0);
    close(fd);
    if (geteuid() != 0) check_unusable(path, XS_IMAGE_E_OPEN, "Permission denied");
    unlink(path);
    rmdir(dir);
    check_unusable("/dev/null", XS_IMAGE_E_OPEN, "not a regular file");
    all_right();
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
#define NO_MEMORY_LIMIT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_MEMORY_LIMIT 1
#endif
#endif

#ifndef NO_MEMORY_LIMIT
/* In a child: the limit cannot be lifted again. 200 000 symbols need more memory than it leaves. */
static int open_without_memory(const char *path)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    bool known = statm && fscanf(statm, "%lu", &pages) == 1;
    if (statm) fclose(statm);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (12 << 20);
    struct rlimit limit = {bytes, bytes};
    if (!known || setrlimit(RLIMIT_AS, &limit) != 0) return 99;
    xs_image *image;
    char why[64];
    return (int)xs_image_open(path, NULL, &image, why, sizeof why);
}

/* base-arm64 with a symbol table of many times the same symbol at its end. */
static void write_many_symbols(const char *path, size_t count)
{
    size_t size = 0;
    uint8_t *base = slurp(PROGRAMS "base-arm64", &size);
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(base + ((Elf64_Ehdr *)(void *)base)->e_shoff);
    Elf64_Sym symbol = {.st_info = STT_FUNC, .st_shndx = 1, .st_value = sections[1].sh_addr};
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < ((Elf64_Ehdr *)(void *)base)->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        sections[i].sh_offset = size;
        sections[i].sh_size = count * sizeof symbol;
    }
    fwrite(base, 1, size, file);
    for (size_t i = 0; i < count; i++)
        fwrite(&symbol, sizeof symbol, 1, file);
    fclose(file);
    free(base);
}
#endif

START_TEST(lack_of_memory_is_a_status)
{
#ifdef NO_MEMORY_LIMIT
    status_seen[XS_IMAGE_E_NOMEM] = true; /* the sanitizer's own memory breaks the limit */
#else
    char dir[32], path[64];
    make_scratch(dir);
    snprintf(path, sizeof path, "%s/many", dir);
    write_many_symbols(path, 200000);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) _exit(open_without_memory(path));
    int result = 0;
    waitpid(child, &result, 0);
    xs_image *image = open_with(path, NULL);
    if (image) expect(path, "functions", image->function_count, 4); /* one, and three from .eh_frame */
    xs_image_close(image);
    unlink(path);
    rmdir(dir);
    ck_assert(WIFEXITED(result));
    ck_assert_int_eq(WEXITSTATUS(result), XS_IMAGE_E_NOMEM);
    status_seen[XS_IMAGE_E_NOMEM] = true;
    all_right();
#endif
}
END_TEST

/* ---- what is in a file ----------------------------------------------------------------------- */

enum { RV = XS_IMAGE_RISCV64, RV32 = XS_IMAGE_RISCV32, A64 = XS_IMAGE_ARM64 };
enum { WIDE = 0, NARROW = 1, BE = 2, REL = 4, KERNEL = 8, MODULE = 16 };

static const struct {
    const char *name;
    int arch, kind;
    unsigned code, data, ranges;
    unsigned functions[XS_SOURCE_COUNT]; /* symtab dynsym debug mini frames entry call plt */
    unsigned aliases, ifuncs, usdts, remarks;
} files[] = {
    {"hello-arm64", A64, WIDE, 1084, 8, 4, {18, 0, 0, 0, 0, 0, 0, 8}, 2, 1, 2, 0},
    {"hello-riscv64", RV, WIDE, 770, 8, 3, {15, 0, 0, 0, 0, 0, 0, 5}, 2, 1, 2, 0},
    {"hello-arm64-bti", A64, WIDE, 1156, 8, 4, {19, 0, 0, 0, 0, 0, 0, 7}, 2, 1, 2, 0},
    {"hello-arm64-stripped", A64, WIDE, 1092, 0, 4, {0, 0, 0, 0, 15, 2, 0, 8}, 0, 0, 2, 0},
    {"hello-riscv64-stripped", RV, WIDE, 778, 0, 2, {0, 1, 0, 0, 10, 0, 0, 5}, 0, 0, 2, 0},
    {"shapes-arm64.so", A64, WIDE, 552, 0, 2, {15, 0, 0, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-id.so", A64, WIDE, 552, 0, 2, {15, 0, 0, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-riscv64.so", RV, WIDE, 456, 0, 2, {15, 0, 0, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-stripped.so", A64, WIDE, 552, 0, 2, {0, 3, 0, 0, 12, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-riscv64-stripped.so", RV, WIDE, 456, 0, 2, {0, 3, 0, 0, 12, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-pac.so", A64, WIDE, 660, 0, 2, {15, 0, 0, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-nosections.so", A64, WIDE, 1144, 1012, 4, {0, 3, 12, 0, 0, 0, 0, 2}, 1, 0, 0, 1},
    {"shapes-riscv64-nosections.so", RV, WIDE, 1050, 1002, 4, {0, 3, 0, 0, 12, 0, 0, 2}, 1, 0, 0, 1},
    {"shapes-arm64-minidebug.so", A64, WIDE, 552, 0, 2, {0, 3, 0, 12, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-riscv64-minidebug.so", RV, WIDE, 456, 0, 2, {0, 3, 0, 12, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-linked.so", A64, WIDE, 552, 0, 2, {0, 3, 12, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"shapes-arm64-buildid.so", A64, WIDE, 552, 0, 2, {0, 3, 12, 0, 0, 0, 0, 2}, 1, 0, 0, 0},
    {"kernel-arm64", A64, KERNEL, 56, 0, 3, {6}, 0, 0, 0, 0},
    {"kernel-riscv64", RV, KERNEL, 28, 0, 3, {6}, 0, 0, 0, 0},
    {"module-arm64.ko", A64, REL | MODULE, 104, 0, 3, {5}, 0, 0, 0, 0},
    {"module-riscv64.ko", RV, REL | MODULE, 94, 0, 3, {5}, 0, 0, 0, 0},
    {"startup-arm64", A64, WIDE, 40, 0, 2, {3, 0, 0, 0, 0, 0, 0, 1}, 0, 1, 0, 0},
    {"startup-riscv64", RV, WIDE, 40, 0, 2, {3, 0, 0, 0, 0, 0, 0, 1}, 0, 1, 0, 0},
    {"startup-arm64-stripped", A64, WIDE, 40, 0, 2, {0, 0, 0, 0, 0, 1, 0, 1}, 0, 0, 0, 0},
    {"tiny-riscv32", RV32, NARROW, 56, 0, 1, {4}, 0, 0, 0, 0},
    {"tiny-arm64-ilp32.o", A64, NARROW | REL, 84, 0, 1, {4}, 0, 0, 0, 0},
    {"tiny-arm64-be", A64, BE, 84, 0, 1, {4}, 0, 0, 0, 0},
    {"tiny-arm64-be.o", A64, BE | REL, 84, 0, 1, {4}, 0, 0, 0, 0},
    {"isa-riscv64", RV, WIDE, 22, 4, 4, {3}, 0, 0, 0, 0},
    {"usdt-arm64", A64, WIDE, 16, 0, 1, {1}, 0, 0, 5, 3},
    {"usdt-arm64-be", A64, BE, 16, 0, 1, {1}, 0, 0, 5, 3},
    {"usdt-riscv32", RV32, NARROW, 8, 0, 1, {1}, 0, 0, 5, 3},
    {"usdt-arm64.o", A64, REL, 16, 0, 1, {1}, 0, 0, 0, 3},
    {"base-arm64", A64, WIDE, 28, 8, 3, {4}, 0, 0, 0, 0},
    {"base-riscv64", RV, WIDE, 28, 8, 3, {4}, 0, 0, 0, 0},
};

static int kind_of(const xs_image *image)
{
    return (image->elf32 ? NARROW : 0) | (image->big_endian_data ? BE : 0) | (image->relocatable ? REL : 0) |
           (image->is_kernel ? KERNEL : 0) | (image->is_kernel_module ? MODULE : 0);
}

static void check_functions(const char *name, const xs_image *image, const unsigned want[XS_SOURCE_COUNT],
                            unsigned aliases, unsigned ifuncs)
{
    unsigned got[XS_SOURCE_COUNT] = {0}, got_aliases = 0, got_ifuncs = 0;
    for (size_t i = 0; i < image->function_count; i++) {
        got[image->functions[i].source]++;
        got_aliases += image->functions[i].aliases;
        got_ifuncs += image->functions[i].ifunc;
    }
    for (int s = 0; s < XS_SOURCE_COUNT; s++)
        expect(name, xs_source_name((xs_source)s), got[s], want[s]);
    expect(name, "aliases", got_aliases, aliases);
    expect(name, "ifuncs", got_ifuncs, ifuncs);
}

START_TEST(files_hold_what_they_were_made_of)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        const char *name = files[i].name;
        xs_image *image = open_program(name);
        if (!image) continue;
        expect(name, "arch", image->arch, (uint64_t)files[i].arch);
        expect(name, "kind", (uint64_t)kind_of(image), (uint64_t)files[i].kind);
        expect(name, "code", image->code_bytes, files[i].code);
        expect(name, "data", image->data_bytes, files[i].data);
        expect(name, "ranges", image->range_count, files[i].ranges);
        expect(name, "usdts", image->usdt_count, files[i].usdts);
        expect(name, "remarks", image->remark_count, files[i].remarks);
        check_functions(name, image, files[i].functions, files[i].aliases, files[i].ifuncs);
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* ---- single functions ------------------------------------------------------------------------ */

static const struct {
    const char *file, *name;
    const char *section;
    uint64_t offset_in_range, size;
    xs_source source;
    const char *version;
    unsigned aliases;
    bool ifunc;
} functions[] = {
    {"hello-arm64", "hash", ".text", 0x204, 56, XS_SOURCE_SYMTAB, "", 1, false},
    {"hello-arm64", "letters", ".text", 0x23c, 12, XS_SOURCE_SYMTAB, "", 1, true},
    {"hello-arm64", "printf@plt", ".plt", 0x80, 16, XS_SOURCE_PLT, "", 0, false},
    {"hello-arm64", "letters@plt", ".plt", 0x90, 16, XS_SOURCE_PLT, "", 0, false},
    {"hello-riscv64", "puts@plt", ".plt", 0x40, 16, XS_SOURCE_PLT, "", 0, false},
    {"hello-riscv64", "letters", ".text", 0x2e, 10, XS_SOURCE_SYMTAB, "", 1, true},
    {"hello-arm64-bti", "printf@plt", ".plt", 0x98, 24, XS_SOURCE_PLT, "", 0, false},
    {"hello-arm64-stripped", "_init", NULL, 0, 0, XS_SOURCE_SYMTAB, "", 0, false}, /* gone */
    {"shapes-arm64.so", "square", ".text", 0, 8, XS_SOURCE_SYMTAB, "", 0, false},
    {"shapes-arm64.so", "shape_area", ".text", 0x16c, 28, XS_SOURCE_SYMTAB, "SHAPES_1.0", 0, false},
    {"shapes-arm64.so", "shape_volume", ".text", 0x188, 40, XS_SOURCE_SYMTAB, "SHAPES_2.0", 0, false},
    {"shapes-arm64-stripped.so", "sub_400", ".text", 0, 8, XS_SOURCE_EH_FRAME, "", 0, false},
    {"shapes-arm64-stripped.so", "shape_area", ".text", 0x16c, 28, XS_SOURCE_DYNSYM, "SHAPES_1.0", 0, false},
    {"shapes-arm64-nosections.so", "shape_volume", "segment 0", 0x1d0, 40, XS_SOURCE_DYNSYM, "SHAPES_2.0", 0,
     false},
    {"shapes-arm64-nosections.so", "outside@plt", "segment 0", 0x38, 16, XS_SOURCE_PLT, "", 0, false},
    {"shapes-arm64-pac.so", "outside@plt", ".plt", 0x38, 24, XS_SOURCE_PLT, "", 0, false},
    {"shapes-arm64-linked.so", "gcd", ".text", 0x84, 28, XS_SOURCE_DEBUG, "", 0, false},
    {"shapes-arm64-buildid.so", "gcd", ".text", 0x84, 28, XS_SOURCE_DEBUG, "", 0, false},
    {"shapes-riscv64-minidebug.so", "gcd", ".text", 0x6e, 14, XS_SOURCE_MINIDEBUG, "", 0, false},
    {"startup-arm64", "choose@plt", ".plt", 0, 16, XS_SOURCE_PLT, "", 0, false},
    {"startup-arm64", "choose", ".text", 0x10, 8, XS_SOURCE_SYMTAB, "", 0, true},
    {"startup-arm64-stripped", "sub_4000f0@plt", ".plt", 0, 16, XS_SOURCE_PLT, "", 0, false},
    {"startup-arm64-stripped", "sub_4000e0", ".text", 0, 24, XS_SOURCE_ENTRY, "", 0, false},
    {"kernel-arm64", "vectors", ".text", 0, 8, XS_SOURCE_SYMTAB, "", 0, false},      /* untyped, size 0 */
    {"kernel-arm64", "local_entry", ".text", 8, 16, XS_SOURCE_SYMTAB, "", 0, false}, /* over .L and hidden */
    {"kernel-arm64", "hidden_entry", NULL, 0, 0, XS_SOURCE_SYMTAB, "", 0, false},    /* not a function */
    {"module-arm64.ko", "module_start", ".init.text", 0, 8, XS_SOURCE_SYMTAB, "", 0, false},
    {"module-arm64.ko", "module_entry", ".text", 0, 8, XS_SOURCE_SYMTAB, "", 0, false},
    {"bad/symbol-size-zero", "second", ".text", 0, 4, XS_SOURCE_SYMTAB, "", 0,
     false}, /* to the next symbol */
    {"bad/symbol-size-zero", "unnamed", ".text", 4, 8, XS_SOURCE_SYMTAB, "", 0,
     false}, /* to the end of the range */
    {"bad/symbol-size", "third", ".more", 0, 8, XS_SOURCE_SYMTAB, "", 0, false},
    {"bad/symbol-name", "sub_400088", ".text", 0, 4, XS_SOURCE_SYMTAB, "", 0, false},
};

static const xs_function *function_named(const xs_image *image, const char *name)
{
    for (size_t i = 0; i < image->function_count; i++) {
        if (!strcmp(image->functions[i].name, name)) return &image->functions[i];
    }
    return NULL;
}

static void check_function(const xs_image *image, size_t i)
{
    const xs_function *function = function_named(image, functions[i].name);
    const char *name = functions[i].name;
    if (!function || !functions[i].section) {
        if (function || functions[i].section) wrong("%s: %s", functions[i].file, name);
        return;
    }
    const xs_range *range = &image->ranges[function->range];
    expect(name, "address in its range", function->addr - range->addr, functions[i].offset_in_range);
    expect(name, "offset in its range", function->offset - range->offset, functions[i].offset_in_range);
    expect(name, "size", function->size, functions[i].size);
    expect(name, "source", function->source, functions[i].source);
    expect(name, "aliases", function->aliases, functions[i].aliases);
    expect(name, "ifunc", function->ifunc, functions[i].ifunc);
    if (strcmp(range->section, functions[i].section) != 0) wrong("%s: in %s", name, range->section);
    if (strcmp(function->version, functions[i].version) != 0)
        wrong("%s: version %s", name, function->version);
}

START_TEST(functions_are_where_they_were_put)
{
    for (size_t i = 0; i < COUNT(functions); i++) {
        xs_image *image = open_program(functions[i].file);
        if (image) check_function(image, i);
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* The file must go on holding the bytes that the ranges point to, as they are: A64 words are little-endian.
 */
START_TEST(a64_text_is_little_endian_in_every_file)
{
    static const char *const names[] = {"tiny-arm64-be", "tiny-arm64-be.o", "tiny-arm64-ilp32.o"};
    static const uint8_t lsl_w0_1[] = {0x00, 0x78, 0x1f, 0x53}; /* x + x */
    for (size_t i = 0; i < COUNT(names); i++) {
        xs_image *image = open_program(names[i]);
        const xs_function *twice = image ? function_named(image, "twice") : NULL;
        if (!twice) {
            wrong("%s: twice", names[i]);
        } else {
            const xs_range *range = &image->ranges[twice->range];
            if (memcmp(range->bytes + (twice->addr - range->addr), lsl_w0_1, 4) != 0)
                wrong("%s: bytes", names[i]);
        }
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* ---- ranges, ISA, USDT ----------------------------------------------------------------------- */

static const struct {
    const char *file;
    size_t index;
    const char *section;
    uint64_t addr, offset, size;
    bool compressed; /* C in its ISA */
} ranges[] = {
    {"isa-riscv64", 0, ".text", 0x100b0, 0xb0, 4, true},
    {"isa-riscv64", 1, ".text", 0x100b8, 0xb8, 4, true}, /* "$x" after "$d": the ISA stays */
    {"isa-riscv64", 2, ".text", 0x100bc, 0xbc, 8, false},
    {"isa-riscv64", 3, ".text", 0x100c4, 0xc4, 6, true},
    {"bad/isa-symbol", 2, ".text", 0x100bc, 0xbc, 8, false},
    {"bad/attributes-none", 0, ".text", 0x100b0, 0xb0, 8, false}, /* its own "$x<isa>" */
    {"tiny-riscv32", 0, ".text", 0x10094, 0x94, 56, true},
    {"base-arm64", 1, ".text", 0x400088, 0x88, 12, false},
    {"bad/code-overlaps", 2, ".more", 0x400094, 0x98, 4, false},
    {"bad/section-name", 2, "section 2", 0x400094, 0x94, 8, false},
    {"module-arm64.ko", 2, ".init.text", 0, 0xa8, 8, false},
};

START_TEST(ranges_are_cut_at_mapping_symbols)
{
    for (size_t i = 0; i < COUNT(ranges); i++) {
        xs_image *image = open_program(ranges[i].file);
        if (!image) continue;
        const xs_range *range = ranges[i].index < image->range_count ? &image->ranges[ranges[i].index] : NULL;
        if (!range || strcmp(range->section, ranges[i].section) != 0) {
            wrong("%s: range %zu", ranges[i].file, ranges[i].index);
        } else {
            expect(ranges[i].file, "addr", range->addr, ranges[i].addr);
            expect(ranges[i].file, "offset", range->offset, ranges[i].offset);
            expect(ranges[i].file, "size", range->size, ranges[i].size);
            expect(ranges[i].file, "compressed", xs_isa_has_c(range->isa), ranges[i].compressed);
            expect(ranges[i].file, "has isa", range->isa != NULL, image->arch != XS_IMAGE_ARM64);
        }
        xs_image_close(image);
    }
    all_right();
}
END_TEST

static const struct {
    const char *file, *isa; /* how it begins */
    bool rvc;
} isas[] = {
    {"hello-riscv64", "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0", true},
    {"tiny-riscv32", "rv32i2p1_m2p0_a2p1_c2p0", true},
    {"base-riscv64", "rv64i2p1_m2p0_a2p1_f2p2_d2p2_zicsr2p0", true}, /* .riscv.attributes no, e_flags yes */
    {"bad/attributes", "rv64ifdc", true},                            /* from e_flags */
    {"bad/attributes-none", "rv64ifdc", true},
    {"bad/isa-symbol", "rv64ifdc", true},
    {"shapes-riscv64-nosections.so", "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0", true}, /* PT_RISCV_ATTRIBUTES */
};

START_TEST(riscv_isa_is_known)
{
    for (size_t i = 0; i < COUNT(isas); i++) {
        xs_image *image = open_program(isas[i].file);
        if (!image) continue;
        bool right = image->isa && !strncmp(image->isa, isas[i].isa, strlen(isas[i].isa));
        if (!right) wrong("%s: isa %s", isas[i].file, image->isa ? image->isa : "none");
        expect(isas[i].file, "rvc", image->rvc, isas[i].rvc);
        xs_image_close(image);
    }
    all_right();
}
END_TEST

START_TEST(compressed_is_read_from_isa_strings)
{
    static const char *const with[] = {
        "rv64gc",          "rv32imac", "rv64i2p1_m2p0_c2p0", "rv64i_zca", "rv32e1p9_zca1p0_zcb1p0",
        "rv64imafdc_zicsr"};
    static const char *const without[] = {
        "rv64g", "rv64i2p1_m2p0_zicsr2p0", "rv64i_xcustomc", "rv64i_zcanine", "rv64i_zcmp", "",
        "x86c",  "rv64i_sscofpmf"};
    for (size_t i = 0; i < COUNT(with); i++) {
        if (!xs_isa_has_c(with[i])) wrong("%s has C", with[i]);
    }
    for (size_t i = 0; i < COUNT(without); i++) {
        if (xs_isa_has_c(without[i])) wrong("%s has no C", without[i]);
    }
    if (xs_isa_has_c(NULL)) wrong("no string has no C");
    all_right();
}
END_TEST

static const struct {
    const char *file, *provider, *name, *args;
    uint64_t addr, offset, semaphore;
} usdts[] = {
    {"hello-arm64", "hello", "greet", "8@x19 -4@x1", 0x968, 0x968, 0x2050},
    {"hello-riscv64", "hello", "done", "-8@s2 -8@s3 8@a0", 0x6d4, 0x6d4, 0x200a},
    {"usdt-arm64", "demo", "plain", "-4@x0 8@[sp, 16]", 0x4000b0, 0xb0, 0},
    {"usdt-arm64", "demo", "moved", "", 0x4000b4, 0xb4, 0x4010c1},
    {"usdt-arm64", "demo", "odd", "@@ %^& -9@*(zz) \\t , 8@", 0x4000b8, 0xb8, 0x4010c1},
    {"usdt-arm64", "demo", "nowhere", "", 0x40, UINT64_MAX, 0},
    {"usdt-arm64", "demo", "last", "4@$7", 0x4000bc, 0xbc, 0}, /* behind a note with a bad length */
    {"usdt-arm64-be", "demo", "moved", "", 0x4000b4, 0xb4, 0x4010c1},
    {"usdt-arm64-be", "demo", "last", "4@$7", 0x4000bc, 0xbc, 0},
    {"usdt-riscv32", "demo", "moved", "", 0x10096, 0x96, 0x1109d},
    {"usdt-riscv32", "demo", "last", "4@$7", 0x1009a, 0x9a, 0},
    {"bad/usdt-unterminated", "demo", "last", "4@$7", 0x4000bc, 0xbc, 0},
};

static const xs_usdt *usdt_named(const xs_image *image, const char *provider, const char *name)
{
    for (size_t i = 0; i < image->usdt_count; i++) {
        const xs_usdt *usdt = &image->usdts[i];
        if (!strcmp(usdt->name, name) && !strcmp(usdt->provider, provider)) return usdt;
    }
    return NULL;
}

START_TEST(usdt_sites_are_adjusted)
{
    for (size_t i = 0; i < COUNT(usdts); i++) {
        xs_image *image = open_program(usdts[i].file);
        const xs_usdt *usdt = image ? usdt_named(image, usdts[i].provider, usdts[i].name) : NULL;
        if (!usdt || strcmp(usdt->args, usdts[i].args) != 0) {
            wrong("%s: %s:%s %s", usdts[i].file, usdts[i].provider, usdts[i].name,
                  usdt ? usdt->args : "missing");
        } else {
            expect(usdts[i].name, "addr", usdt->addr, usdts[i].addr);
            expect(usdts[i].name, "offset", usdt->offset, usdts[i].offset);
            expect(usdts[i].name, "semaphore", usdt->semaphore, usdts[i].semaphore);
            expect(usdts[i].name, "in no range", usdt->range == SIZE_MAX, usdts[i].offset == UINT64_MAX);
        }
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* ---- damaged files: what is left, and what is said -------------------------------------------- */

/* Lines of the same file follow each other; what they do not mention must not be remarked. */
static const struct {
    const char *file;
    int remark;
    uint64_t count;
    size_t functions;
} damaged[] = {
    {"bad/segments-past-end", HEADERS, 1, 4},
    {"shapes-arm64-nosections.so", NO_SECTIONS, 1, 17},
    {"bad/section-name", SECTION_NAME, 1, 4},
    {"bad/section-names-cyclic", SECTION_NAME, 2, 4},
    {"bad/code-past-end", CODE_PAST_FILE, 1, 4},
    {"bad/code-nobits", CODE_NO_BYTES, 1, 3},
    {"bad/code-nobits", SYMBOL_NO_CODE, 1, 3},
    {"bad/code-nobits", FDE_NO_CODE, 1, 3},
    {"bad/code-wraps", CODE_WRAPS, 1, 3},
    {"bad/code-wraps", MAPPING_STRAY, 1, 3},
    {"bad/code-wraps", SYMBOL_PAST_END, 1, 3},
    {"bad/code-wraps", FDE_NO_CODE, 1, 3},
    {"bad/code-overlaps", CODE_OVERLAPS, 1, 4},
    {"bad/code-overlaps", SYMBOL_SIZE, 1, 4},
    {"bad/code-inside", CODE_OVERLAPS, 1, 3},
    {"bad/code-inside", MAPPING_STRAY, 1, 3},
    {"bad/code-inside", SYMBOL_PAST_END, 1, 3},
    {"bad/code-inside", FDE_NO_CODE, 1, 3},
    {"bad/code-ff", NOTHING, 0, 4},
    {"bad/symbols-past-end", SECTION_PAST_FILE, 1, 4},
    {"bad/symbols-past-end", SYMBOL_TABLE, 1, 4},
    {"bad/symbols-past-end", SYMBOL_TYPE, 2, 4}, /* what follows the table in the file */
    {"bad/symbols-past-end", SYMBOL_SECTION, 1, 4},
    {"bad/symbols-elsewhere", SECTION_PAST_FILE, 1, 4}, /* all from .eh_frame */
    {"bad/symbols-elsewhere", SYMBOL_TABLE, 1, 4},
    {"bad/symbols-ff", SYMBOL_TYPE, 20, 4},
    {"bad/symbols-odd-size", SYMBOL_TABLE, 1, 4},
    {"bad/strings-cyclic", SYMBOL_STRINGS, 1, 4},
    {"bad/strings-cyclic", SYMBOL_NAME, 4, 4},
    {"bad/strings-none", SYMBOL_STRINGS, 1, 4},
    {"bad/strings-none", SYMBOL_NAME, 4, 4},
    {"bad/strings-ff", SYMBOL_STRINGS, 1, 4},
    {"bad/strings-ff", SYMBOL_NAME, 4, 4},
    {"bad/mapping-stray", MAPPING_STRAY, 1, 4},
    {"bad/symbol-section", SYMBOL_SECTION, 1, 4},
    {"bad/symbol-xindex", SYMBOL_SECTION, 1, 4},
    {"bad/symbol-past-end", SYMBOL_PAST_END, 1, 4}, /* .eh_frame knows it too */
    {"bad/symbol-no-code", SYMBOL_NO_CODE, 1, 4},
    {"bad/symbol-in-data", SYMBOL_IN_DATA, 1, 4},
    {"bad/symbol-unaligned", SYMBOL_UNALIGNED, 1, 4},
    {"bad/symbol-name", SYMBOL_NAME, 1, 4},
    {"bad/symbol-unnamed", SYMBOL_NAME, 1, 4},
    {"bad/symbol-size", SYMBOL_SIZE, 1, 4},
    {"bad/symbol-absolute", NOTHING, 0, 4},
    {"bad/frames-ff", FDE, 1, 4},
    {"bad/frames-past-end", SECTION_PAST_FILE, 1, 4},
    {"bad/frames-only", NOTHING, 0, 4},
    {"bad/frames-encoding", FDE, 5, 1},
    {"bad/frames-nowhere", FDE_NO_CODE, 4, 1}, /* the entry point is left */
    {"bad/frames-cie-cyclic", FDE, 1, 4},
    {"bad/attributes", ATTRIBUTES, 1, 4},
    {"bad/attributes-none", NOTHING, 0, 4},
    {"bad/version-index", VERSION, 4, 17},
    {"bad/version-cyclic", VERSION, 5, 17},
    {"bad/version-short", VERSION, 4, 17},
    {"bad/plt-symbol", PLT, 1, 16},
    {"bad/plt-too-many", PLT, 1, 16},
    {"bad/plt-tiny", PLT, 1, 15},
    {"bad/dynamic", NO_SECTIONS, 1, 15},
    {"bad/dynamic", DYNAMIC, 1, 15},
    {"bad/dynamic", SYMBOL_STRINGS, 1, 15},
    {"bad/dynamic", SYMBOL_NAME, 4, 15},
    {"bad/dynamic", VERSION, 5, 15},
    {"bad/dynamic", PLT, 2, 15},
    {"bad/dynamic-hash", NO_SECTIONS, 1, 15},
    {"bad/dynamic-hash", PLT, 2, 15},
    {"bad/debuglink", DEBUG_LINK, 1, 17},
    {"bad/debuglink-slash", DEBUG_LINK, 1, 17},
    {"bad/debuglink-itself", NOTHING, 0, 17},
    {"bad/debuglink-text", DEBUG_FILE, 1, 17},
    {"bad/debuglink-other", DEBUG_OTHER, 1, 17},
    {"bad/minidebug", MINIDEBUG, 1, 17},
    {"bad/minidebug-text", MINIDEBUG, 1, 17},
    {"bad/usdt-ff", USDT_LENGTH, 1, 1},
    {"bad/usdt-unterminated", USDT_LENGTH, 3, 1},
    {"bad/usdt-unterminated", USDT_VERSION, 1, 1},
    {"bad/usdt-unterminated", USDT_NO_CODE, 1, 1},
    {"usdt-arm64", USDT_LENGTH, 2, 1},
    {"usdt-arm64", USDT_VERSION, 1, 1},
    {"usdt-arm64", USDT_NO_CODE, 1, 1},
    {"usdt-arm64.o", USDT_LENGTH, 1, 1},
    {"usdt-arm64.o", USDT_VERSION, 1, 1},
    {"usdt-arm64.o", USDT_RELOCATABLE, 6, 1},
};

static uint64_t remark_count(const xs_image *image, const char *text)
{
    for (size_t i = 0; i < image->remark_count; i++) {
        if (!strcmp(image->remarks[i].text, text)) return image->remarks[i].count;
    }
    return 0;
}

static void check_remark_is_printable(const xs_image *image)
{
    for (size_t i = 0; i < image->remark_count; i++) {
        const xs_remark *remark = &image->remarks[i];
        size_t length = strnlen(remark->first, sizeof remark->first);
        bool good = length && length < sizeof remark->first;
        for (size_t k = 0; k < length; k++)
            good &= remark->first[k] >= ' ' && remark->first[k] <= '~';
        if (!good) wrong("%s: where", remark->text);
    }
}

START_TEST(damage_is_counted_and_hides_nothing)
{
    for (size_t i = 0, next; i < COUNT(damaged); i = next) {
        const char *file = damaged[i].file;
        xs_image *image = open_program(file);
        size_t mentioned = 0;
        for (next = i; next < COUNT(damaged) && !strcmp(damaged[next].file, file); next++) {
            if (damaged[next].remark == NOTHING) continue;
            const char *remark = remark_texts[damaged[next].remark];
            if (image) expect(file, remark, remark_count(image, remark), damaged[next].count);
            mentioned++;
        }
        if (!image) continue;
        expect(file, "remarks", image->remark_count, mentioned);
        expect(file, "functions", image->function_count, damaged[i].functions);
        check_remark_is_printable(image);
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* ---- options and debug files ----------------------------------------------------------------- */

START_TEST(options_leave_parts_out)
{
    static const xs_image_options no_functions = {.no_functions = true}, no_debug = {.no_debug_files = true};
    xs_image *image = open_with(PROGRAMS "hello-arm64", &no_functions);
    ck_assert_ptr_nonnull(image);
    expect("no_functions", "functions", image->function_count, 0);
    expect("no_functions", "code", image->code_bytes, 1084); /* mapping symbols still count */
    expect("no_functions", "usdts", image->usdt_count, 2);
    ck_assert_ptr_null(xs_image_function_at(image, image->ranges[0].addr, SIZE_MAX));
    xs_image_close(image);
    image = open_with(PROGRAMS "shapes-arm64-linked.so", &no_debug);
    ck_assert_ptr_nonnull(image);
    ck_assert_ptr_null(image->debug_path);
    ck_assert_ptr_null(function_named(image, "gcd"));
    xs_image_close(image);
    all_right();
}
END_TEST

static void copy_file(const char *from, const char *to)
{
    size_t size = 0;
    uint8_t *bytes = slurp(from, &size);
    spill(to, bytes, size);
    free(bytes);
}

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* Copies the debug file to dir/where and looks whether the program in dir finds it. */
static void look_for_debug_file(const char *dir, const char *where)
{
    char program[64], debug[256], debug_dir[64];
    snprintf(program, sizeof program, "%s/program", dir);
    snprintf(debug, sizeof debug, "%s/%sshapes-arm64-linked.so.debug", dir, where);
    snprintf(debug_dir, sizeof debug_dir, "%s/store", dir);
    make_directories(debug);
    copy_file(PROGRAMS ".debug/shapes-arm64-linked.so.debug", debug);
    xs_image *image = open_with(program, &(xs_image_options){.debug_dir = debug_dir});
    if (!image || !image->debug_path || strcmp(image->debug_path, debug) != 0) {
        wrong("%s: found %s", debug, image && image->debug_path ? image->debug_path : "nothing");
    }
    xs_image_close(image);
    unlink(debug);
}

START_TEST(debug_files_are_found_where_gdb_finds_them)
{
    char dir[32], program[64], below[64], command[64];
    make_scratch(dir);
    snprintf(program, sizeof program, "%s/program", dir);
    copy_file(PROGRAMS "shapes-arm64-linked.so", program);
    snprintf(below, sizeof below, "store%s/", dir);
    look_for_debug_file(dir, "");
    look_for_debug_file(dir, ".debug/");
    look_for_debug_file(dir, below);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
    all_right();
}
END_TEST

/* ---- look-ups -------------------------------------------------------------------------------- */

static void check_lookups(const char *name, const xs_image *image)
{
    for (size_t i = 0; i < image->range_count; i++) {
        const xs_range *range = &image->ranges[i];
        uint64_t last = range->addr + (range->size - 1);
        size_t section = range->section_index;
        if (xs_image_range_at(image, range->addr, section) != range) wrong("%s: start of range %zu", name, i);
        if (xs_image_range_at(image, last, section) != range) wrong("%s: end of range %zu", name, i);
        if (xs_image_range_at(image, last + 1, section) == range) wrong("%s: behind range %zu", name, i);
        if (i && section == range[-1].section_index && range->addr < range[-1].addr + range[-1].size) {
            wrong("%s: order of range %zu", name, i);
        }
    }
    for (size_t i = 0; i < image->function_count; i++) {
        const xs_function *function = &image->functions[i];
        const xs_range *range = &image->ranges[function->range];
        size_t section = range->section_index;
        if (xs_image_range_at(image, function->addr, section) != range) wrong("%s: %s", name, function->name);
        if (xs_image_function_at(image, function->addr, section) != function)
            wrong("%s: %s", name, function->name);
        if (!image->relocatable && xs_image_function_at(image, function->addr, SIZE_MAX) != function) {
            wrong("%s: %s without section", name, function->name);
        }
        if (!*function->name || !function->size ||
            function->offset - range->offset != function->addr - range->addr) {
            wrong("%s: function %zu", name, i);
        }
        if (i && (function[-1].range > function->range ||
                  (function[-1].range == function->range && function[-1].addr >= function->addr))) {
            wrong("%s: order of %s", name, function->name);
        }
    }
}

START_TEST(every_range_and_function_is_found_again)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        xs_image *image = open_program(files[i].name);
        if (image) check_lookups(files[i].name, image);
        xs_image_close(image);
    }
    all_right();
}
END_TEST

static const struct {
    const char *file;
    uint64_t addr;
    size_t section;
    const char *function; /* NULL: none */
} lookups[] = {
    {"base-arm64", 0x400078, SIZE_MAX, "_start"},
    {"base-arm64", 0x40007f, SIZE_MAX, "_start"},
    {"base-arm64", 0x400080, SIZE_MAX, NULL}, /* data */
    {"base-arm64", 0x400077, SIZE_MAX, NULL},
    {"base-arm64", 0x400090, SIZE_MAX, "unnamed"},
    {"base-arm64", 0x40009b, 2, "third"},
    {"base-arm64", 0x40009b, 1, NULL},
    {"base-arm64", 0x40009c, SIZE_MAX, NULL},
    {"base-arm64", UINT64_MAX, SIZE_MAX, NULL},
    {"base-arm64", 0, SIZE_MAX, NULL},
    {"module-arm64.ko", 4, 1, "module_entry"},
    {"module-arm64.ko", 4, 6, "module_stop"},
    {"module-arm64.ko", 4, 8, "module_start"},
    {"module-arm64.ko", 4, 7, NULL},
    {"module-arm64.ko", 4, SIZE_MAX, "module_entry"}, /* the first section that has it */
    {"module-arm64.ko", 0x50, SIZE_MAX, "module_open"},
    {"module-arm64.ko", 0x54, SIZE_MAX, NULL},
    {"bad/symbol-in-data", 0x40008c, SIZE_MAX, "unnamed"},
};

START_TEST(addresses_are_looked_up)
{
    for (size_t i = 0; i < COUNT(lookups); i++) {
        xs_image *image = open_program(lookups[i].file);
        if (!image) continue;
        const xs_function *function = xs_image_function_at(image, lookups[i].addr, lookups[i].section);
        const char *want = lookups[i].function, *got = function ? function->name : NULL;
        if ((want == NULL) != (got == NULL) || (want && strcmp(want, got) != 0)) {
            wrong("%s: %#" PRIx64 " is in %s", lookups[i].file, lookups[i].addr, got ? got : "nothing");
        }
        xs_image_close(image);
    }
    all_right();
}
END_TEST

/* ---- stripped files -------------------------------------------------------------------------- */

/* Direct calls, the simple way: bl; jal ra. */
static void scan_calls(void *context, const xs_image *image, const xs_range *range, xs_call_found *found,
                       void *arg)
{
    (void)context;
    unsigned step = 4;
    for (uint64_t at = 0; at + 4 <= range->size; at += step) {
        const uint8_t *b = range->bytes + at;
        uint32_t word = (uint32_t)(b[0] | b[1] << 8 | b[2] << 16) | (uint32_t)b[3] << 24;
        int64_t distance = 0;
        if (image->arch == XS_IMAGE_ARM64) {
            if (word >> 26 == 0x25) distance = (int64_t)(int32_t)(word << 6) >> 4;
        } else {
            step = (word & 3) == 3 ? 4 : 2;
            uint32_t imm = (word >> 31 << 20) | (word >> 12 & 0xff) << 12 | (word >> 20 & 1) << 11 |
                           (word >> 20 & 0x7fe);
            if ((word & 0xfff) == 0xef) distance = (int64_t)(int32_t)(imm << 11) >> 11;
        }
        if (distance) found(arg, range->addr + at + (uint64_t)distance);
    }
}

static double share_found(const xs_image *all, const xs_image *some)
{
    size_t found = 0;
    for (size_t i = 0; i < all->function_count; i++) {
        const xs_function *function = xs_image_function_at(some, all->functions[i].addr, SIZE_MAX);
        found += function && function->addr == all->functions[i].addr;
    }
    return all->function_count ? (double)found / (double)all->function_count : 0;
}

static void compare_with_stripped(const char *whole, const char *stripped, double want)
{
    xs_image *all = open_with(whole, &(xs_image_options){.no_debug_files = true});
    xs_image *some =
        open_with(stripped, &(xs_image_options){.no_debug_files = true, .scan_calls = scan_calls});
    double share = all && some ? share_found(all, some) : 0;
    if (share < want) wrong("%s: %.1f %% of the functions of %s", stripped, 100 * share, whole);
    xs_image_close(all);
    xs_image_close(some);
}

START_TEST(stripped_files_keep_their_functions)
{
    static const char *const pairs[][2] = {{"hello-arm64", "hello-arm64-stripped"},
                                           {"shapes-arm64.so", "shapes-arm64-stripped.so"},
                                           {"shapes-riscv64.so", "shapes-riscv64-stripped.so"},
                                           {"shapes-arm64-id.so", "shapes-arm64-nosections.so"},
                                           {"shapes-riscv64.so", "shapes-riscv64-nosections.so"}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char whole[128], stripped[128];
        snprintf(whole, sizeof whole, PROGRAMS "%s", pairs[i][0]);
        snprintf(stripped, sizeof stripped, PROGRAMS "%s", pairs[i][1]);
        compare_with_stripped(whole, stripped, 0.95);
    }
    all_right();
}
END_TEST

/* base-arm64 without .symtab and .eh_frame: only the entry point, and what it calls, can be known. */
START_TEST(calls_lead_to_functions)
{
    char dir[32], path[64];
    make_scratch(dir);
    snprintf(path, sizeof path, "%s/bare", dir);
    size_t size = 0;
    uint8_t *base = slurp(PROGRAMS "base-arm64", &size);
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(base + ((Elf64_Ehdr *)(void *)base)->e_shoff);
    for (unsigned i = 3; i < 5; i++)
        sections[i].sh_type = SHT_NULL; /* .eh_frame, .symtab */
    spill(path, base, size);
    free(base);
    xs_image *image = open_with(path, &(xs_image_options){.scan_calls = scan_calls});
    ck_assert_ptr_nonnull(image);
    static const unsigned want[XS_SOURCE_COUNT] = {[XS_SOURCE_ENTRY] = 1, [XS_SOURCE_CALL] = 1};
    check_functions(path, image, want, 0, 0);
    ck_assert_ptr_nonnull(function_named(image, "sub_400088"));
    xs_image_close(image);
    unlink(path);
    rmdir(dir);
    all_right();
}
END_TEST

/* ---- the libraries of a Debian cross compiler ------------------------------------------------- */

static const char *const libraries[] = {
    "/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
    "/usr/riscv64-linux-gnu/lib/libc.so.6", "/usr/riscv64-linux-gnu/lib/libstdc++.so.6"};

static int by_value(const void *a, const void *b)
{
    const uint64_t *one = a, *two = b;
    return *one < *two ? -1 : *one > *two;
}

/* Addresses of defined functions in .symtab and .dynsym of a 64-bit little-endian file, counted without
 * image/. */
static size_t count_symbols(const char *path)
{
    size_t size = 0;
    uint8_t *bytes = slurp(path, &size);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(bytes + header->e_shoff);
    uint64_t *addresses = NULL;
    size_t count = 0, different = 0;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM) continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(bytes + sections[i].sh_offset);
        size_t room = (size_t)(sections[i].sh_size / sizeof *symbols);
        addresses = realloc(addresses, (count + room + 1) * sizeof *addresses);
        ck_assert_ptr_nonnull(addresses);
        for (size_t k = 0; k < room; k++) {
            unsigned type = ELF64_ST_TYPE(symbols[k].st_info);
            bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
            if (function && symbols[k].st_shndx) addresses[count++] = symbols[k].st_value;
        }
    }
    if (count) qsort(addresses, count, sizeof *addresses, by_value);
    for (size_t i = 0; i < count; i++)
        different += i == 0 || addresses[i] != addresses[i - 1];
    free(addresses);
    free(bytes);
    return different;
}

static void check_symbol_count(const char *path)
{
    xs_image *image = open_with(path, &(xs_image_options){.no_debug_files = true});
    if (!image) return;
    size_t named = 0;
    for (size_t i = 0; i < image->function_count; i++)
        named += image->functions[i].source <= XS_SOURCE_DYNSYM;
    expect(path, "functions with symbols", named, count_symbols(path));
    check_lookups(path, image);
    xs_image_close(image);
}

/* The library without section headers, which the loader does not need. */
static void check_without_headers(const char *path)
{
    char dir[32], copy[64];
    make_scratch(dir);
    snprintf(copy, sizeof copy, "%s/copy", dir);
    size_t size = 0;
    uint8_t *bytes = slurp(path, &size);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
    header->e_shoff = 0;
    header->e_shnum = header->e_shstrndx = 0;
    spill(copy, bytes, size);
    free(bytes);
    compare_with_stripped(path, copy, 1.0);
    unlink(copy);
    rmdir(dir);
}

START_TEST(symbols_are_counted_as_others_count_them)
{
    static const char *const programs[] = {"hello-arm64",       "hello-riscv64",   "shapes-arm64.so",
                                           "shapes-riscv64.so", "hello-arm64-bti", "base-arm64"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        char path[128];
        snprintf(path, sizeof path, PROGRAMS "%s", programs[i]);
        check_symbol_count(path);
    }
    all_right();
}
END_TEST

START_TEST(libraries_of_cross_compilers_are_read)
{
    for (size_t i = 0; i < COUNT(libraries); i++) {
        if (access(libraries[i], R_OK) != 0) {
            printf("skipped: %s is not there\n", libraries[i]);
            continue;
        }
        check_symbol_count(libraries[i]);
        check_without_headers(libraries[i]);
    }
    all_right();
}
END_TEST

/* ---- at random, and at once ------------------------------------------------------------------- */

static void damage(rng *r, uint8_t *bytes, size_t size)
{
    static const uint32_t edges[] = {0,      1,      3,          16,         0x7f,       0xff,
                                     0xff00, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
    for (unsigned n = 1 + rng_next(r) % 4; n && size >= 8; n--) {
        size_t at = rng_next(r) % (size - 4), in_headers = rng_next(r) % 3;
        if (in_headers == 0) at = rng_next(r) % 64;
        if (in_headers == 1) at = size - 1 - rng_next(r) % (size < 900 ? size : 900);
        uint32_t value =
            rng_next(r) % 2 ? edges[rng_next(r) % COUNT(edges)] : rng_next(r) % (uint32_t)(2 * size);
        size_t width = rng_next(r) % 3 ? 4 : 1;
        if (at + width <= size) memcpy(bytes + at, &value, width);
    }
}

START_TEST(random_damage_is_survived)
{
    enum { ROUNDS = 60 };
    char dir[32], path[64];
    make_scratch(dir);
    snprintf(path, sizeof path, "%s/damaged", dir);
    rng r = rng_new("random_damage_is_survived");
    for (size_t i = 0; i < COUNT(files) * ROUNDS; i++) {
        char source[128];
        snprintf(source, sizeof source, PROGRAMS "%s", files[i % COUNT(files)].name);
        size_t size = 0;
        uint8_t *bytes = slurp(source, &size);
        damage(&r, bytes, size);
        spill(path, bytes, rng_next(&r) % 20 ? size : rng_next(&r) % size);
        free(bytes);
        xs_image *image = NULL;
        char why[256] = "";
        xs_image_status status = xs_image_open(path, &with_debug_dir, &image, why, sizeof why);
        if ((status == XS_IMAGE_OK) != (image != NULL))
            wrong("%s, copy %zu: status %d", source, i, (int)status);
        if (status != XS_IMAGE_OK && !*why) wrong("%s, copy %zu: no reason", source, i);
        if (image) check_lookups(source, image);
        xs_image_close(image);
    }
    unlink(path);
    rmdir(dir);
    all_right();
}
END_TEST

static void *open_often(void *counts)
{
    for (int i = 0; i < 20; i++) {
        xs_image *image = NULL;
        char why[64];
        xs_image_open(PROGRAMS "shapes-arm64-minidebug.so", &with_debug_dir, &image, why, sizeof why);
        if (image) *(size_t *)counts += image->function_count;
        xs_image_close(image);
    }
    return NULL;
}

START_TEST(threads_do_not_disturb_each_other)
{
    pthread_t threads[4];
    size_t counts[4] = {0};
    for (size_t i = 0; i < COUNT(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_often, &counts[i]), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
        expect("thread", "functions", counts[i], 20 * 17);
    }
    all_right();
}
END_TEST

START_TEST(every_kind_was_met)
{
    for (size_t i = 0; i < COUNT(remark_seen); i++) {
        if (!remark_seen[i]) wrong("no test makes the remark: %s", remark_texts[i]);
    }
    for (int i = 0; i < XS_SOURCE_COUNT; i++) {
        if (!source_seen[i]) wrong("no test has a function from %s", xs_source_name((xs_source)i));
    }
    for (size_t i = 0; i < COUNT(status_seen); i++) {
        if (!status_seen[i]) wrong("no test has status %zu", i);
    }
    all_right();
}
END_TEST

Suite *image_suite(void)
{
    Suite *suite = suite_create("image");
    TCase *tests = tcase_create("image");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, unusable_files_say_why);
    tcase_add_test(tests, special_files_do_not_hang);
    tcase_add_test(tests, lack_of_memory_is_a_status);
    tcase_add_test(tests, files_hold_what_they_were_made_of);
    tcase_add_test(tests, functions_are_where_they_were_put);
    tcase_add_test(tests, a64_text_is_little_endian_in_every_file);
    tcase_add_test(tests, ranges_are_cut_at_mapping_symbols);
    tcase_add_test(tests, riscv_isa_is_known);
    tcase_add_test(tests, compressed_is_read_from_isa_strings);
    tcase_add_test(tests, usdt_sites_are_adjusted);
    tcase_add_test(tests, damage_is_counted_and_hides_nothing);
    tcase_add_test(tests, options_leave_parts_out);
    tcase_add_test(tests, debug_files_are_found_where_gdb_finds_them);
    tcase_add_test(tests, every_range_and_function_is_found_again);
    tcase_add_test(tests, addresses_are_looked_up);
    tcase_add_test(tests, stripped_files_keep_their_functions);
    tcase_add_test(tests, calls_lead_to_functions);
    tcase_add_test(tests, symbols_are_counted_as_others_count_them);
    tcase_add_test(tests, libraries_of_cross_compilers_are_read);
    tcase_add_test(tests, random_damage_is_survived);
    tcase_add_test(tests, threads_do_not_disturb_each_other);
    tcase_add_test(tests, every_kind_was_met); /* last */
    suite_add_tcase(suite, tests);
    add_image_sort(suite);
    return suite;
}

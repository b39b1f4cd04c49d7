/* SPDX-License-Identifier: Apache-2.0 */
/* See patch.h. Numbers are those of the ELF specification, <elf.h>. */
#define _GNU_SOURCE
#include "record/library/patch.h"

#include "record/library/entry.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* jmp *0(%rip), and the address behind it */
enum { JUMP_BYTES = 14, PAGE = 4096, MOST_VERSION_CODE = 4096 };

/* An object file in memory, for its symbols. */
typedef struct object {
    const unsigned char *bytes;
    size_t length;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_length;
} object;

static uint32_t version;

uint32_t st_patched_version(void)
{
    return version;
}

static bool map_file(const char *path, object *into)
{
    struct stat file;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    void *bytes = MAP_FAILED;
    if (fstat(descriptor, &file) == 0 && file.st_size > (off_t)sizeof(Elf64_Ehdr))
        bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED)
        return false;
    into->bytes = bytes;
    into->length = (size_t)file.st_size;
    return true;
}

static const void *part_of(const object *of, uint64_t offset, uint64_t bytes)
{
    return offset <= of->length && bytes <= of->length - offset ? of->bytes + offset : NULL;
}

static bool find_symbols(object *of)
{
    const Elf64_Ehdr *head = part_of(of, 0, sizeof *head);
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    const Elf64_Shdr *sections =
        part_of(of, head->e_shoff, (uint64_t)head->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections != NULL && i < head->e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum)
            continue;
        const Elf64_Shdr *names = &sections[table->sh_link];
        of->symbols = part_of(of, table->sh_offset, table->sh_size);
        of->symbol_count = table->sh_size / sizeof *of->symbols;
        of->names = part_of(of, names->sh_offset, names->sh_size);
        of->names_length = names->sh_size;
        return of->symbols != NULL && of->names != NULL && of->names_length > 0 &&
               of->names[of->names_length - 1] == '\0';
    }
    return false;
}

/* The name of a function of the object's own; "" for other symbols. */
static const char *name_of(const object *of, const Elf64_Sym *symbol)
{
    bool function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
    return function && symbol->st_name < of->names_length ? of->names + symbol->st_name : "";
}

static bool has_runtime(const object *of)
{
    for (size_t i = 0; i < of->symbol_count; i++)
        if (strcmp(name_of(of, &of->symbols[i]), "__cudaRegisterFatBinary") == 0)
            return true;
    return false;
}

static void *memory_at(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

static void write_jump(uint64_t at, st_function target)
{
    unsigned char jump[JUMP_BYTES] = {0xff, 0x25};
    memcpy(jump + 6, &target, sizeof target);
    memcpy(memory_at(at), jump, sizeof jump);
}

/* cudaRuntimeGetVersion stores it: movl $13000, (register) */
static void read_version(const unsigned char *code, uint64_t bytes)
{
    for (uint64_t i = 0; i + 6 <= bytes && i < MOST_VERSION_CODE; i++) {
        uint32_t number;
        memcpy(&number, code + i, sizeof number);
        if (number >= 11000 && number < 20000 && number % 10 == 0) {
            version = number;
            return;
        }
    }
}

/* What the object file says of a segment. */
static int rights_of(const ElfW(Phdr) * part)
{
    return ((part->p_flags & PF_R) != 0 ? PROT_READ : 0) |
           ((part->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((part->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

static bool let_write(const struct dl_phdr_info *of, bool write)
{
    bool fine = true;
    for (int i = 0; i < of->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &of->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        uint64_t start = (of->dlpi_addr + part->p_vaddr) / PAGE * PAGE;
        uint64_t end = of->dlpi_addr + part->p_vaddr + part->p_memsz;
        int rights = rights_of(part) | (write ? PROT_READ | PROT_WRITE : 0);
        fine = mprotect(memory_at(start), end - start, rights) == 0 && fine;
    }
    return fine;
}

static void patch_functions(const object *of, const struct dl_phdr_info *loaded)
{
    for (size_t i = 0; i < of->symbol_count; i++) {
        const Elf64_Sym *symbol = &of->symbols[i];
        const char *name = name_of(of, symbol);
        bool ours = strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
        if (!ours || symbol->st_size < JUMP_BYTES)
            continue;
        st_function target = st_address_of_runtime(name);
        if (target == NULL)
            continue;
        uint64_t at = loaded->dlpi_addr + symbol->st_value;
        if (strcmp(name, "cudaRuntimeGetVersion") == 0)
            read_version(memory_at(at), symbol->st_size);
        write_jump(at, target);
    }
}

/* No log is open yet, so that failures are reported where the program's own errors go. */
static void replace_runtime(const object *of, const struct dl_phdr_info *loaded, const char *path)
{
    bool open = let_write(loaded, true);
    if (open)
        patch_functions(of, loaded);
    else
        (void)dprintf(STDERR_FILENO, "%s: its own CUDA runtime cannot be replaced\n", path);
    if (!let_write(loaded, false))
        (void)dprintf(STDERR_FILENO, "%s: its code cannot be protected again\n", path);
}

static int patch_object(struct dl_phdr_info *loaded, size_t bytes, void *context)
{
    object of = {0};
    (void)bytes;
    (void)context;
    const char *path = loaded->dlpi_name[0] != '\0' ? loaded->dlpi_name : "/proc/self/exe";
    /* The shared runtime is replaced as a whole, and so is what its forwarders lead to. */
    if (strstr(path, "libcudart.so") != NULL || strstr(path, "libsteptime-record.so") != NULL)
        return 0;
    if (map_file(path, &of)) {
        if (find_symbols(&of) && has_runtime(&of))
            replace_runtime(&of, loaded, path);
        (void)munmap(memory_at((uint64_t)(uintptr_t)of.bytes), of.length);
    }
    return 0;
}

static __attribute__((constructor)) void patch_all(void)
{
    (void)dl_iterate_phdr(patch_object, NULL);
}

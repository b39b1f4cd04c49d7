/* SPDX-License-Identifier: Apache-2.0 */
/* See patch.h. Numbers are those of the ELF specification, <elf.h>. */
#define _GNU_SOURCE
#include "record/library/patch.h"

#include "record/elf_view.h"
#include "record/library/entry.h"

#include <link.h>

/* jmp *0(%rip), and the address behind it */
enum { JUMP_BYTES = 14, PAGE = 4096, MOST_VERSION_CODE = 4096 };

/* The symbols of an object file in memory. */
typedef struct object {
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

/* The table of this type: SHT_SYMTAB, or SHT_DYNSYM. */
static bool find_symbols(const st_elf *file, object *of, uint32_t type)
{
    for (unsigned i = 0; i < file->head.e_shnum; i++) {
        const Elf64_Shdr table = st_elf_section(file, i);
        if (table.sh_type != type || table.sh_link >= file->head.e_shnum)
            continue;
        const Elf64_Shdr names = st_elf_section(file, table.sh_link);
        of->symbols = (const void *)st_elf_part(file, table.sh_offset, table.sh_size);
        of->symbol_count = table.sh_size / sizeof *of->symbols;
        of->names = (const char *)st_elf_part(file, names.sh_offset, names.sh_size);
        of->names_length = names.sh_size;
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

static bool let_write(const struct dl_phdr_info *of, bool write)
{
    bool fine = true;
    for (int i = 0; i < of->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &of->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        uint64_t start = (of->dlpi_addr + part->p_vaddr) / PAGE * PAGE;
        uint64_t end = of->dlpi_addr + part->p_vaddr + part->p_memsz;
        /* What the object file says of a segment. */
        int rights = (((part->p_flags & PF_R) != 0 ? PROT_READ : 0) |
                      ((part->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                      ((part->p_flags & PF_X) != 0 ? PROT_EXEC : 0)) |
                     (write ? PROT_READ | PROT_WRITE : 0);
        fine = mprotect(memory_at(start), end - start, rights) == 0 && fine;
    }
    return fine;
}

/* The runtime's own functions, or in a library of CUDA's all that it exports. */
static st_function target_of(const char *name, bool library)
{
    bool runtime = strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
    if (library)
        return name[0] != '\0' ? st_address_of_known(name) : NULL;
    return runtime ? st_address_of_runtime(name) : NULL;
}

/* No log is open yet, so that failures are reported where the program's own errors go. */
static void replace_functions(const object *of, const struct dl_phdr_info *loaded, const char *path,
                              bool library)
{
    bool open = let_write(loaded, true);
    if (open) {
        for (size_t i = 0; i < of->symbol_count; i++) {
            const Elf64_Sym *symbol = &of->symbols[i];
            const char *name = name_of(of, symbol);
            st_function target = symbol->st_size >= JUMP_BYTES ? target_of(name, library) : NULL;
            if (target == NULL)
                continue;
            uint64_t at = loaded->dlpi_addr + symbol->st_value;
            if (strcmp(name, "cudaRuntimeGetVersion") == 0 && !library)
                read_version(memory_at(at), symbol->st_size);
            write_jump(at, target);
        }
    } else {
        (void)dprintf(STDERR_FILENO, "%s: its own CUDA runtime cannot be replaced\n", path);
    }
    if (!let_write(loaded, false))
        (void)dprintf(STDERR_FILENO, "%s: its code cannot be protected again\n", path);
}

/* ---- objects as they come ---- */

enum { MOST_SEEN = 4096 };
static uint64_t seen[MOST_SEEN]; /* where objects lie that were looked at */
static size_t seen_count;
static unsigned long long unloaded;

static bool is_seen(const struct dl_phdr_info *loaded)
{
    if (loaded->dlpi_subs != unloaded) /* places may be taken by others now */
        seen_count = 0;
    unloaded = loaded->dlpi_subs;
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i] == loaded->dlpi_addr)
            return true;
    if (seen_count < MOST_SEEN)
        seen[seen_count++] = loaded->dlpi_addr;
    return false;
}

static bool holds(const struct dl_phdr_info *loaded, uint64_t address)
{
    for (int i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - loaded->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

/* All objects but the recorder, whose own functions have the names of what it replaces. */
static int patch_object(struct dl_phdr_info *loaded, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    const char *path = loaded->dlpi_name[0] != '\0' ? loaded->dlpi_name : "/proc/self/exe";
    if (!is_seen(loaded) && !holds(loaded, (uint64_t)(uintptr_t)&version)) {
        object of = {0};
        st_elf elf;
        uint64_t length = 0;
        /* A library of CUDA's by its name: a real one, which a path or a run path led to. A
         * forwarder has no functions. */
        bool library = false;
        static const char *const names[] = {"libcudart.so",   "libcuda.so",  "libcublas.so",
                                            "libcublasLt.so", "libcudnn.so", "libnccl.so",
                                            "libnvidia-ml.so"};
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL ? slash + 1 : path;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            library = library || strncmp(name, names[i], strlen(names[i])) == 0;
        void *file = st_elf_map(path, &length);
        if (file != NULL && st_elf_open(&elf, file, length) &&
            find_symbols(&elf, &of, library ? SHT_DYNSYM : SHT_SYMTAB) &&
            (library || has_runtime(&of)))
            replace_functions(&of, loaded, path, library);
        if (file != NULL)
            (void)munmap(file, length);
    }
    return 0;
}

/* What the loader calls for debuggers: objects were mapped, and nothing in them has run. */
static void on_change(void)
{
    if (_r_debug.r_state == RT_CONSISTENT)
        (void)dl_iterate_phdr(patch_object, NULL);
}

/* A function of nothing, with room up to the next one: functions begin at multiples of 16, and what
 * is between is one long instruction that does nothing, or two. */
static bool is_empty(const unsigned char *code, uint64_t address)
{
    static const unsigned char guard[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    if (memcmp(code, guard, sizeof guard) == 0)
        code += sizeof guard;
    bool returns = *code++ == 0xc3;
    while (*code == 0x66 || *code == 0x2e)
        code++;
    return returns && address % 16 == 0 && code[0] == 0x0f && code[1] == 0x1f;
}

static int hook_loader(struct dl_phdr_info *loaded, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    bool inside = holds(loaded, _r_debug.r_brk);
    if (!inside || !is_empty(memory_at(_r_debug.r_brk), _r_debug.r_brk))
        return inside;
    if (let_write(loaded, true))
        write_jump(_r_debug.r_brk, on_change);
    (void)let_write(loaded, false);
    return 1;
}

static __attribute__((constructor)) void patch_all(void)
{
    (void)dl_iterate_phdr(patch_object, NULL);
    if (_r_debug.r_brk != 0)
        (void)dl_iterate_phdr(hook_loader, NULL);
}

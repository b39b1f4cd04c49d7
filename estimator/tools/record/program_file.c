/* SPDX-License-Identifier: Apache-2.0 */
/* See program_file.h. */
#define _GNU_SOURCE /* memmem */
#include "record/program_file.h"

#include "base/memory.h"
#include "record/elf_view.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_HEADERS = 256 };

static st_status refuse(const char *path, st_errors *errors, const char *what, const char *remedy)
{
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = path},
                   "cannot record the program: %s" ST_HINT "%s", what, remedy);
}

static bool is_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static bool has_text(const st_elf *of, const char *text)
{
    return memmem(of->bytes, of->length, text, strlen(text)) != NULL;
}

/* Whether the file has its table of symbols still. */
static bool has_symbols(const st_elf *of)
{
    for (unsigned i = 0; i < of->head.e_shnum; i++)
        if (st_elf_section(of, i).sh_type == SHT_SYMTAB)
            return true;
    return false;
}

static bool has_interpreter(const st_elf *of)
{
    for (unsigned i = 0; i < of->head.e_phnum && i < MOST_HEADERS; i++) {
        Elf64_Phdr part;
        const unsigned char *at =
            st_elf_part(of, of->head.e_phoff + (uint64_t)i * of->head.e_phentsize, sizeof part);
        if (at == NULL)
            return false;
        memcpy(&part, at, sizeof part);
        if (part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

static st_status check_elf(const void *bytes, uint64_t length, const char *path, bool replaces,
                           st_errors *errors)
{
    st_elf elf;
    if (length >= 2 && memcmp(bytes, "#!", 2) == 0)
        return ST_OK;
    if (length < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return refuse(path, errors, "not an executable",
                      "give an executable or a script that starts with #!");
    if (((const unsigned char *)bytes)[EI_CLASS] != ELFCLASS64)
        return refuse(path, errors, "32-bit executable, which CUDA does not support",
                      "build it for x86-64");
    bool whole = st_elf_open(&elf, bytes, length);
    if (elf.head.e_machine != EM_X86_64)
        return refuse(path, errors, "not an x86-64 executable", "build it for x86-64");
    if (!has_interpreter(&elf))
        return refuse(path, errors, "statically linked, so libraries cannot be preloaded",
                      "link it dynamically");
    /* The runtime holds the names of its errors; a program of the shared one names that instead.
     * What was not stripped names the functions over which library/patch.c writes. */
    if (replaces && has_text(&elf, "cudaErrorCudartUnloading") && !has_text(&elf, "libcudart.so") &&
        !(whole && has_symbols(&elf)))
        return refuse(
            path, errors,
            "static runtime: nvcc linked CUDA's runtime into it, and its symbols are stripped",
            "keep its symbols, or build it with nvcc -cudart shared");
    return ST_OK;
}

st_status st_program_find(const char *name, bool replaces, st_arena *arena, const char **path,
                          st_errors *errors)
{
    /* As execvp: names without a slash are looked for in PATH. */
    const char *found = NULL;
    const char *folders = getenv("PATH");
    if (strchr(name, '/') != NULL) {
        found = is_file(name) ? st_arena_copy(arena, name, strlen(name)) : NULL;
    } else {
        while (folders != NULL && *folders != '\0') {
            size_t length = strcspn(folders, ":");
            const char *find_path = st_arena_printf(arena, "%.*s/%s", (int)length, folders, name);
            if (find_path != NULL && is_file(find_path) && access(find_path, X_OK) == 0) {
                found = find_path;
                break;
            }
            folders += length + (folders[length] == ':');
        }
    }
    if (found == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = name}, "program not found");
    st_status status = ST_OK;
    struct stat file;
    if (access(found, X_OK) != 0 || stat(found, &file) != 0)
        status = refuse(found, errors, "permission denied", "make it executable: chmod +x");
    else if ((file.st_mode & (S_ISUID | S_ISGID)) != 0)
        status = refuse(found, errors, "setuid or setgid, so libraries cannot be preloaded",
                        "record a copy without that bit set");
    if (status != ST_OK)
        return status;
    uint64_t length = 0;
    void *bytes = st_elf_map(found, &length);
    if (bytes == NULL && errno != EINVAL) /* an empty one */
        return st_fail(errors, ST_ERR_IO, (st_place){.file = found}, "cannot read the program: %s",
                       strerror(errno));
    status = check_elf(bytes != NULL ? bytes : "", length, found, replaces, errors);
    if (bytes != NULL)
        (void)munmap(bytes, length);
    if (status == ST_OK)
        *path = found;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See program_file.h. Numbers are those of the ELF specification, <elf.h>. */
#include "record/program_file.h"

#include "base/memory.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_HEADERS = 256, PIECE_BYTES = 1 << 16 };

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

/* Whether the file has a text anywhere. */
static bool has_text(FILE *stream, const char *text)
{
    size_t length = strlen(text);
    size_t kept = 0;
    char *piece = malloc(PIECE_BYTES);
    bool found = false;
    rewind(stream);
    while (piece != NULL && !found) {
        size_t got = fread(piece + kept, 1, PIECE_BYTES - kept, stream);
        size_t bytes = kept + got;
        for (size_t i = 0; !found && i + length <= bytes; i++)
            found = piece[i] == text[0] && memcmp(piece + i, text, length) == 0;
        if (got == 0)
            break;
        kept = bytes < length ? bytes : length - 1;
        memmove(piece, piece + bytes - kept, kept);
    }
    free(piece);
    return found;
}

/* Whether the file has its table of symbols still. */
static bool has_symbols(FILE *stream, const Elf64_Ehdr *head)
{
    for (unsigned i = 0; i < head->e_shnum; i++) {
        Elf64_Shdr section;
        if (fseek(stream, (long)(head->e_shoff + (uint64_t)i * head->e_shentsize), SEEK_SET) != 0 ||
            fread(&section, sizeof section, 1, stream) != 1)
            return false;
        if (section.sh_type == SHT_SYMTAB)
            return true;
    }
    return false;
}

static st_status check_elf(FILE *stream, const char *path, bool replaces, st_errors *errors)
{
    Elf64_Ehdr head = {0};
    size_t got = fread(&head, 1, sizeof head, stream);
    if (got >= 2 && memcmp(&head, "#!", 2) == 0)
        return ST_OK;
    if (got < EI_NIDENT || memcmp(&head, ELFMAG, SELFMAG) != 0)
        return refuse(path, errors, "not an executable",
                      "give an executable or a script that starts with #!");
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(path, errors, "32-bit executable, which CUDA does not support",
                      "build it for x86-64");
    if (got < sizeof head || head.e_machine != EM_X86_64)
        return refuse(path, errors, "not an x86-64 executable", "build it for x86-64");
    bool has_interpreter = false;
    for (unsigned i = 0; i < head.e_phnum && i < MOST_HEADERS; i++) {
        Elf64_Phdr part;
        if (fseek(stream, (long)(head.e_phoff + (uint64_t)i * head.e_phentsize), SEEK_SET) != 0 ||
            fread(&part, sizeof part, 1, stream) != 1)
            break;
        if (part.p_type == PT_INTERP) {
            has_interpreter = true;
            break;
        }
    }
    if (!has_interpreter)
        return refuse(path, errors, "statically linked, so libraries cannot be preloaded",
                      "link it dynamically");
    /* The runtime holds the names of its errors; a program of the shared one names that instead.
     * What was not stripped names the functions over which library/patch.c writes. */
    if (replaces && has_text(stream, "cudaErrorCudartUnloading") &&
        !has_text(stream, "libcudart.so") && !has_symbols(stream, &head))
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
    FILE *stream = fopen(found, "rb");
    if (stream == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = found}, "cannot read the program: %s",
                       strerror(errno));
    status = check_elf(stream, found, replaces, errors);
    (void)fclose(stream);
    if (status == ST_OK)
        *path = found;
    return status;
}

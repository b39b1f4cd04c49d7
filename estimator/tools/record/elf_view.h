/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file in memory, with as much as the recorder asks of one. Numbers are those of the ELF
 * specification, <elf.h>. */
#ifndef STEPTIME_RECORD_ELF_VIEW_H
#define STEPTIME_RECORD_ELF_VIEW_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct st_elf {
    const unsigned char *bytes;
    uint64_t length; /* UINT64_MAX: not known */
    Elf64_Ehdr head;
} st_elf;

/* NULL where the file ends before. */
static inline const unsigned char *st_elf_part(const st_elf *of, uint64_t offset, uint64_t bytes)
{
    return offset <= of->length && bytes <= of->length - offset ? of->bytes + offset : NULL;
}

/* False for a file of other than 64 bits, and for a cut table of sections. */
static inline bool st_elf_open(st_elf *of, const void *bytes, uint64_t length)
{
    *of = (st_elf){.bytes = bytes, .length = length};
    if (length < sizeof of->head || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&of->head, bytes, sizeof of->head);
    uint64_t table = (uint64_t)of->head.e_shnum * sizeof(Elf64_Shdr);
    return (of->head.e_shnum == 0 || of->head.e_shentsize == sizeof(Elf64_Shdr)) &&
           st_elf_part(of, of->head.e_shoff, table) != NULL;
}

static inline Elf64_Shdr st_elf_section(const st_elf *of, unsigned index)
{
    Elf64_Shdr section;
    memcpy(&section, of->bytes + of->head.e_shoff + index * sizeof section, sizeof section);
    return section;
}

/* Maps a file for reading; NULL with errno where it is empty or cannot be read. */
static inline void *st_elf_map(const char *path, uint64_t *length)
{
    struct stat file;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    void *bytes = MAP_FAILED;
    if (fstat(descriptor, &file) == 0)
        bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    *length = bytes != MAP_FAILED ? (uint64_t)file.st_size : 0;
    (void)close(descriptor);
    return bytes != MAP_FAILED ? bytes : NULL;
}

#endif

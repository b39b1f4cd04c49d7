/* SPDX-License-Identifier: Apache-2.0 */
/* See layouts.h. Numbers of ELF are those of <elf.h>. */
#include "record/library/layouts.h"

#include "record/elf_view.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define FAT_MAGIC     UINT32_C(0xba55ed50)

enum {
    KIND_ELF = 2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    SIZED = 4,
    PARAMETER = 0x17,
    PARAMETER_BYTES = 12,
    SIZE_SHIFT = 18
};
#define MOST_FAT_BYTES (UINT64_C(1) << 32)

typedef struct fat_entry {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t bytes; /* that follow, with padding */
    uint32_t compressed_bytes;
    uint32_t reserved[5];
    uint64_t flags;
    uint64_t zero;
    uint64_t unpacked_bytes;
} fat_entry;

static uint32_t word32(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint16_t word16(const unsigned char *at)
{
    uint16_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static bool is_of(const char *section, const char *kernel)
{
    static const char stem[] = ".nv.info.";
    return strncmp(section, stem, sizeof stem - 1) == 0 &&
           strcmp(section + sizeof stem - 1, kernel) == 0;
}

static bool read_cubin(const st_elf *of, const char *kernel, st_layout *layout)
{
    if (of->head.e_shstrndx >= of->head.e_shnum)
        return false;
    const Elf64_Shdr names = st_elf_section(of, of->head.e_shstrndx);
    if (st_elf_part(of, names.sh_offset, names.sh_size) == NULL)
        return false;
    for (unsigned i = 0; i < of->head.e_shnum; i++) {
        const Elf64_Shdr section = st_elf_section(of, i);
        const unsigned char *at = st_elf_part(of, section.sh_offset, section.sh_size);
        if (section.sh_name >= names.sh_size || at == NULL ||
            !is_of((const char *)of->bytes + names.sh_offset + section.sh_name, kernel))
            continue;
        *layout = (st_layout){0};
        /* Attributes: form, number, and 16 bits, which of sized ones are the bytes that follow. */
        const unsigned char *end = at + section.sh_size;
        while (end - at >= 4) {
            uint16_t size = at[0] == SIZED ? word16(at + 2) : 0;
            if (end - at - 4 < size)
                break;
            if (at[0] == SIZED && at[1] == PARAMETER && size == PARAMETER_BYTES) {
                const unsigned char *value = at + 4;
                uint16_t ordinal = word16(value + 4);
                if (ordinal < ST_MOST_PARAMETERS) {
                    layout->offset[ordinal] = word16(value + 6);
                    layout->bytes[ordinal] = (uint16_t)(word32(value + 8) >> SIZE_SHIFT);
                    layout->count =
                        ordinal + 1 > layout->count ? (uint8_t)(ordinal + 1) : layout->count;
                }
            }
            at += 4 + size;
        }
        return layout->count > 0;
    }
    return false;
}

/* What a wrapper (magic, version, pointer) points to; other bytes as they are. */
static const unsigned char *unwrapped(const unsigned char *bytes)
{
    const void *inside = bytes;
    if (word32(bytes) == WRAPPER_MAGIC)
        memcpy(&inside, bytes + 8, sizeof inside);
    return inside;
}

/* A cubin of a fat binary, unpacked if need be; kernels of one binary are often asked for in turn.
 */
static bool open_cubin(const fat_entry *entry, const unsigned char *bytes, st_elf *cubin)
{
    static unsigned char *unpacked;
    static const unsigned char *unpacked_from;
    if ((entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) == 0)
        return st_elf_open(cubin, bytes, entry->bytes);
    if (entry->compressed_bytes > entry->bytes || entry->unpacked_bytes > INT32_MAX)
        return false;
    if (bytes == unpacked_from)
        return st_elf_open(cubin, unpacked, entry->unpacked_bytes);
    unsigned char *into = malloc(entry->unpacked_bytes + 1);
    size_t length = 0;
    if (into != NULL && (entry->flags & FLAG_ZSTD) != 0) {
        length = ZSTD_decompress(into, entry->unpacked_bytes, bytes, entry->compressed_bytes);
    } else if (into != NULL) {
        int got = LZ4_decompress_safe((const char *)bytes, (char *)into,
                                      (int)entry->compressed_bytes, (int)entry->unpacked_bytes);
        length = got > 0 ? (size_t)got : 0;
    }
    if (length != entry->unpacked_bytes) {
        free(into);
        return false;
    }
    free(unpacked);
    unpacked = into;
    unpacked_from = bytes;
    return st_elf_open(cubin, into, length);
}

bool st_layout_find(const void *binary, const char *kernel, st_layout *layout)
{
    const unsigned char *bytes = binary;
    *layout = (st_layout){0};
    if (bytes == NULL)
        return false;
    st_elf cubin;
    if (st_elf_open(&cubin, bytes, UINT64_MAX))
        return read_cubin(&cubin, kernel, layout);
    bytes = unwrapped(bytes);
    if (bytes == NULL || word32(bytes) != FAT_MAGIC)
        return false;
    uint16_t head = word16(bytes + 6);
    uint64_t fat_bytes;
    memcpy(&fat_bytes, bytes + 8, sizeof fat_bytes);
    if (fat_bytes > MOST_FAT_BYTES)
        return false;
    for (uint64_t at = 0; at + sizeof(fat_entry) <= fat_bytes;) {
        fat_entry entry;
        memcpy(&entry, bytes + head + at, sizeof entry);
        if (entry.header_bytes < sizeof entry || entry.header_bytes > fat_bytes - at ||
            entry.bytes > fat_bytes - at - entry.header_bytes)
            return false;
        if (entry.kind == KIND_ELF &&
            open_cubin(&entry, bytes + head + at + entry.header_bytes, &cubin) &&
            read_cubin(&cubin, kernel, layout))
            return true;
        at += entry.header_bytes + entry.bytes;
    }
    return false;
}

void *st_layout_copy(const void *image)
{
    const unsigned char *bytes = image;
    uint64_t length = 0;
    if (bytes == NULL)
        return NULL;
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0)
        bytes = unwrapped(bytes);
    st_elf cubin;
    if (bytes != NULL && st_elf_open(&cubin, bytes, UINT64_MAX)) {
        /* To the end of its last part. */
        length = cubin.head.e_shoff + (uint64_t)cubin.head.e_shnum * sizeof(Elf64_Shdr);
        for (unsigned i = 0; i < cubin.head.e_shnum; i++) {
            const Elf64_Shdr section = st_elf_section(&cubin, i);
            uint64_t last = section.sh_offset + section.sh_size;
            if (section.sh_type != SHT_NOBITS && last > length)
                length = last;
        }
    } else if (bytes != NULL && word32(bytes) == FAT_MAGIC) {
        memcpy(&length, bytes + 8, sizeof length);
        length += word16(bytes + 6);
    }
    void *copy = length > 0 && length < MOST_FAT_BYTES ? malloc(length) : NULL;
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}

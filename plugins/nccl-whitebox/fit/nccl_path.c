/* SPDX-License-Identifier: Apache-2.0 */
/* Names of collectives, and what a file's path says of its tables where these do not; see
 * nccl_read.h. */
#include "nccl-whitebox/fit/nccl_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_COLLECTIVE = 14, SHORTEST_COLLECTIVE = 4, MOST_ON_A_NODE = 8 };

static const char between_words[] = "_-. ";

static const struct {
    const char *word; /* as nccl-tests spells it, without '_' and "_perf" */
    const char *collective;
} collectives[] = {
    {"allreduce", "all_reduce"}, {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
    {"broadcast", "broadcast"},  {"bcast", "broadcast"},      {"alltoall", "all_to_all"},
    {"all2all", "all_to_all"},   {"sendrecv", "send_recv"},   {"reduce", "reduce"},
    {"gather", "gather"},        {"scatter", "scatter"},
};

const char *st_nccl_collective(const char *name, size_t length)
{
    char word[32];
    size_t used = 0;
    if (length > 5 && strncasecmp(name + length - 5, "_perf", 5) == 0)
        length -= 5;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '_' || name[i] == '-')
            continue;
        if (used + 1 >= sizeof word)
            return NULL;
        word[used++] = name[i];
    }
    word[used] = '\0';
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
        if (strcasecmp(word, collectives[i].word) == 0)
            return collectives[i].collective;
    return NULL;
}

static bool is_start(const char *text, const char *at)
{
    return at == text || strchr(between_words, at[-1]) != NULL;
}

static bool is_end(const char *at, const char *end)
{
    return at == end || strchr(between_words, *at) != NULL;
}

static const char *collective_in(const char *text, const char *end)
{
    const char *found = NULL;
    for (const char *at = text; at < end && found == NULL; at++)
        for (size_t length = LONGEST_COLLECTIVE; length >= SHORTEST_COLLECTIVE && found == NULL;
             length--)
            if (is_start(text, at) && length <= (size_t)(end - at) && is_end(at + length, end))
                found = st_nccl_collective(at, length);
    return found;
}

/* The first byte of the name, or of the folder, that ends at `end`. */
static const char *part_before(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

const char *st_nccl_path_collective(const char *path)
{
    const char *end = path + strlen(path);
    const char *name = part_before(path, end);
    const char *found = collective_in(name, end);
    if (found != NULL || name == path)
        return found;
    return collective_in(part_before(path, name - 1), name - 1);
}

/* "8g", "8gpu", "8gpus" or "8ranks" and a word's end; 0: none. */
static size_t ranks_at(const char *at, const char *end)
{
    static const char *const units[] = {"g", "gpu", "gpus", "ranks"};
    char *behind = NULL;
    unsigned long count = strtoul(at, &behind, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i]);
        if (behind > at && length <= (size_t)(end - behind) &&
            strncasecmp(behind, units[i], length) == 0 && is_end(behind + length, end))
            return count;
    }
    return 0;
}

size_t st_nccl_path_ranks(const char *path)
{
    const char *end = path + strlen(path);
    const char *name = part_before(path, end);
    for (const char *at = name; at < end; at++) {
        size_t ranks = is_start(name, at) && isdigit((unsigned char)*at) ? ranks_at(at, end) : 0;
        if (ranks > 0)
            return ranks <= MOST_ON_A_NODE ? ranks : 0;
    }
    return 0;
}

bool st_nccl_path_in_place(const char *path)
{
    static const char mark[] = ".inplace";
    const char *name = part_before(path, path + strlen(path));
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL ? (size_t)(dot - name) : 0;
    return stem > strlen(mark) && strncmp(dot - strlen(mark), mark, strlen(mark)) == 0;
}

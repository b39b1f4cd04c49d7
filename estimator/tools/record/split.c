/* SPDX-License-Identifier: Apache-2.0 */
/* See split.h. */
#include "record/split.h"

#include "base/lists.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_MEMBERS = 1 << 20 };

/* Ranks of a group are `stride` apart, and `size` of them. */
typedef struct grid {
    int32_t stride;
    int32_t size;
} grid;

/* How many groups there are before this one: a number that all ranks of a group share. */
static int32_t group_of(const grid *of, int32_t rank)
{
    return rank / (of->stride * of->size) * of->stride + rank % of->stride;
}

/* Colors are what programs take for them: the number of the group, or its first rank. */
static bool is_usual(const grid *of, const st_split_member *asking)
{
    int32_t first = asking->rank / (of->stride * of->size) * of->stride * of->size;
    return asking->color == group_of(of, asking->rank) ||
           asking->color == first + asking->rank % of->stride;
}

typedef struct answer {
    grid best;
    int score;
    int equal; /* answers of this score */
} answer;

static void weigh(answer *found, const grid *of, const st_split *split,
                  const st_split_member *asking)
{
    bool usual = true;
    /* Known ranks have the same color if, and only if, they are of one group. */
    for (size_t i = 0; i < split->count; i++) {
        const st_split_member *other = &split->members[i];
        bool same = group_of(of, other->rank) == group_of(of, asking->rank);
        bool apart = other->color < 0 && same; /* it is in no group */
        if (apart || (other->color >= 0 && same != (other->color == asking->color)))
            return;
    }
    for (size_t i = 0; i < split->count && usual; i++)
        usual = split->members[i].color < 0 || is_usual(of, &split->members[i]);
    /* A node, or the same place of all nodes, is likelier than another grid. */
    bool node = split->node > 1 && split->ranks > split->node &&
                (of->stride == 1 ? of->size == split->node : of->stride == split->node);
    int score = 1 + (usual ? 2 : 0) + (node ? 1 : 0);
    if (score < found->score)
        return;
    found->equal = score == found->score ? found->equal + 1 : 1;
    found->score = score;
    found->best = *of;
}

st_split_place st_split_find(const st_split *split, const st_split_member *asking)
{
    answer found = {.score = 0};
    if ((int64_t)split->count >= split->ranks) {
        /* All ranks are known: those of the color, in order of their keys. */
        st_split_place place = {.certain = true};
        for (size_t i = 0; i < split->count; i++) {
            const st_split_member *other = &split->members[i];
            if (other->color != asking->color)
                continue;
            place.ranks++;
            place.rank += other->key < asking->key ||
                          (other->key == asking->key && other->rank < asking->rank);
        }
        return place;
    }
    for (int32_t stride = 1; stride <= split->ranks; stride++)
        for (int32_t size = 1; split->ranks % stride == 0 && size <= split->ranks / stride; size++)
            if (split->ranks / stride % size == 0 && (size > 1 || stride == 1))
                weigh(&found, &(grid){stride, size}, split, asking);
    if (found.equal != 1)
        return (st_split_place){.rank = asking->rank, .ranks = split->ranks};
    return (st_split_place){.rank = asking->rank / found.best.stride % found.best.size,
                            .ranks = found.best.size,
                            .certain = true};
}

void st_split_path(char *path, size_t bytes, const char *folder, uint64_t comm, uint32_t splits)
{
    (void)snprintf(path, bytes, "%s/split-%016llx-%u", folder, (unsigned long long)comm, splits);
}

st_split_member *st_split_read(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = 0;
    st_split_member *members = NULL;
    *count = 0;
    while (file != NULL && *count < MOST_MEMBERS && ST_ROOM(members, *count, capacity) &&
           fread(&members[*count], sizeof *members, 1, file) == 1)
        ++*count;
    if (file != NULL)
        (void)fclose(file);
    return members;
}

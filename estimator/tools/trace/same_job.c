/* SPDX-License-Identifier: Apache-2.0 */
/* See same_job.h. */
#include "trace/same_job.h"

#include "base/hash.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* A collective of a rank in its group's sequence. */
typedef struct place {
    uint64_t group;
    int64_t sequence;
    uint32_t rank; /* in the set */
    const char *name;
    int64_t elements;
} place;

typedef struct agreement {
    size_t same;
    size_t other;
    place own; /* the first that differs, and with what */
    place theirs;
} agreement;

/* --- groups ----------------------------------------------------------------------------------- */

/* True where a list such as "[0, 1]" is whole, not empty, and lacks the rank. */
static bool lacks_rank(const char *list, int64_t rank)
{
    bool any = false;
    if (*list != '[' || strstr(list, "...") != NULL)
        return false;
    for (const char *next = list + 1; *next != '\0' && *next != ']';) {
        char *end = NULL;
        long long one = strtoll(next, &end, 10);
        if (end == next || one == rank)
            return false;
        any = true;
        next = end + strspn(end, ", ");
    }
    return any && list[strlen(list) - 1] == ']';
}

static st_status check_groups(const st_trace *trace, st_errors *errors)
{
    for (size_t i = 0; i < trace->collective_count && trace->rank >= 0; i++) {
        const st_trace_collective *one = &trace->collectives[i];
        const char *list = st_trace_name(trace, one->ranks);
        if (lacks_rank(list, trace->rank))
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                           "rank %lld has a collective of the ranks %.80s: it is of another job",
                           (long long)trace->rank, list);
        if (trace->world_size > 0 && one->group_size > trace->world_size)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                           "a collective of %lld ranks in a job of %lld: it is of another job",
                           (long long)one->group_size, (long long)trace->world_size);
    }
    return ST_OK;
}

/* --- sequences -------------------------------------------------------------------------------- */

/* False for what has no place in a sequence that all of the group share. */
static bool find_place(const st_trace *trace, size_t collective, uint32_t rank, place *made)
{
    const st_trace_collective *one = &trace->collectives[collective];
    const char *name = st_trace_name(trace, one->name);
    bool alone = strcmp(name, "send") == 0 || strcmp(name, "recv") == 0;
    if (one->sequence < 0 || one->ranks == ST_TRACE_NONE || one->group_size == 1 || alone)
        return false;
    uint64_t group = st_hash_next_text(ST_HASH_BEGIN, st_trace_name(trace, one->group));
    *made = (place){.group = st_hash_next_text(group, st_trace_name(trace, one->ranks)),
                    .sequence = one->sequence,
                    .rank = rank,
                    .name = name,
                    .elements = one->in_elements};
    return true;
}

ST_COMPARE(compare_places, place,
           ST_RISING(group) ST_RISING(sequence) ST_RISING(rank) ST_BY_TEXT(name)
               ST_RISING(elements));

static st_status check_sequences(st_trace *const *ranks, size_t count, st_errors *errors)
{
    size_t most = 1;
    size_t used = 0;
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++)
        most += ranks[i]->collective_count;
    place *places = st_xmalloc(most * sizeof *places);
    agreement *found = st_xcalloc(count, sizeof *found);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ranks[i]->collective_count; k++)
            used += find_place(ranks[i], k, (uint32_t)i, &places[used]);
    qsort(places, used, sizeof *places, compare_places);
    /* Counts, for every rank, where it agrees with the first rank that has the place. */
    size_t first = 0;
    for (size_t i = 1; i < used; i++) {
        const place *one = &places[i];
        if (one->group != places[first].group || one->sequence != places[first].sequence) {
            first = i;
            continue;
        }
        if (one->rank == places[i - 1].rank) /* several that were put together */
            continue;
        agreement *own = &found[one->rank];
        /* Only of an all-reduce must all ranks send as much. */
        bool same = false;
        const place *b = &places[first];
        if (strcmp(one->name, b->name) == 0)
            same = strcmp(one->name, "allreduce") != 0 || one->elements == b->elements ||
                   one->elements < 0 || b->elements < 0;
        if (!same && own->other++ == 0) {
            own->own = *one;
            own->theirs = places[first];
        }
        own->same += same;
    }
    for (size_t i = 0; i < count; i++) {
        st_status one = ST_OK;
        const agreement *own = &found[i];
        if (own->other > own->same) {
            const st_trace *theirs = ranks[own->theirs.rank];
            one =
                st_fail(errors, ST_ERR_VALUE, (st_place){.file = ranks[i]->file},
                        "%zu of %zu collectives are not those of %s: number %lld is %.40s of %lld "
                        "elements, there %.40s of %lld: these are different jobs",
                        own->other, own->other + own->same, theirs->file,
                        (long long)own->own.sequence, own->own.name, (long long)own->own.elements,
                        own->theirs.name, (long long)own->theirs.elements);
        }
        status = status == ST_OK ? one : status;
    }
    free(places);
    free(found);
    return status;
}

/* --- GPUs ------------------------------------------------------------------------------------- */

st_status st_trace_check_job(st_trace *const *ranks, size_t count, bool partial, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count && count > 1; i++) {
        st_status one = check_groups(ranks[i], errors);
        if (one == ST_OK) {
            const st_trace *first = ranks[0];
            const st_trace *trace = ranks[i];
            const char *own = st_trace_name(trace, trace->gpu);
            const char *other = st_trace_name(first, first->gpu);
            if (*own != '\0' && *other != '\0' && strcmp(own, other) != 0) {
                st_report(
                    errors, partial ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR, ST_ERR_VALUE,
                    (st_place){.file = trace->file},
                    "recorded on %.80s, %s on %.80s: these seem to be different jobs" ST_HINT "%s",
                    own, first->file, other, partial ? "" : "--partial takes them for one job");
                one = partial ? ST_OK : ST_ERR_VALUE;
            }
        }
        status = status == ST_OK ? one : status;
    }
    return status == ST_OK && count > 1 ? check_sequences(ranks, count, errors) : status;
}

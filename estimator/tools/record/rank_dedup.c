/* SPDX-License-Identifier: Apache-2.0 */
/* See rank_dedup.h. */
#include "record/rank_dedup.h"

#include "base/memory.h"
#include "record/log.h"
#include "record/split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FEW = 16,       /* so many ranks are all run */
    MOST_AXES = 16, /* of the grid */
    MOST_BASES = 8, /* points that the axes go through */
    FULL_AXIS = 8,  /* on an axis this short all places are tried */
    MOST_CORNERS = 4096,
    PROOFS = 8,
    MOST_DRAWS = 32, /* for them */
    MOST_COMMS = 64, /* of a rank that are looked at */
    MOST_AGAIN = 4,  /* runs of a rank that got wrong splits */
};

typedef struct axis {
    uint32_t stride;
    uint32_t size;
    bool *tried;     /* by place */
    uint32_t *group; /* by place: the first place that does the same */
} axis;

/* A communicator as a rank has it. */
typedef struct member {
    int32_t rank;
    int32_t index; /* of the rank's communicators */
    int32_t place; /* in it */
    int32_t ranks;
    uint64_t comm;
    uint64_t parent; /* that was split; 0: none */
    uint32_t splits; /* of it before this one */
} member;

/* A log that was read. */
typedef struct log_read {
    const char *path;
    int32_t rank;
} log_read;

typedef struct search {
    st_fleet *fleet;
    const st_launch_request *request;
    st_arena *arena;
    st_errors *errors;
    st_rank_dedup *dedup;
    uint64_t *hash; /* by rank; 0: it was not run, or did not end in order */
    bool *ran;
    bool *bad; /* by rank: it did not end in order */
    int32_t *wanted;
    size_t wanted_count;
    log_read *read;
    size_t read_count;
    member *members;
    size_t member_count;
    axis axes[MOST_AXES];
    size_t axis_count;
    uint32_t bases[MOST_BASES];
    size_t base_count;
    bool failed; /* a rank is bad although its splits were right */
} search;

/* ---- running ranks ---- */

static void want(search *s, uint32_t rank)
{
    if (s->ran[rank])
        return;
    s->ran[rank] = true;
    s->wanted[s->wanted_count++] = (int32_t)rank;
}

static int32_t read_log(search *s, const char *path)
{
    st_log *log = NULL;
    st_log_record record;
    bool more = true;
    int32_t comms = 0;
    if (st_log_open(path, &log, NULL) != ST_OK)
        return -1;
    int32_t rank = st_log_header_of(log)->rank;
    bool ours = rank >= 0 && (uint32_t)rank < s->dedup->world;
    while (ours && st_log_read(log, &record, &more, NULL) == ST_OK && more) {
        if (record.kind == ST_LOG_END)
            s->hash[rank] += st_log_work(record.end.work_hash);
        if (record.kind != ST_LOG_COMM)
            continue;
        member made = {.rank = rank,
                       .index = comms++,
                       .place = record.comm.rank,
                       .ranks = record.comm.ranks,
                       .comm = record.comm.comm,
                       .parent = record.comm.parent,
                       .splits = record.comm.splits};
        if (made.ranks > 1 && made.index < MOST_COMMS)
            (void)ST_APPEND(s->arena, s->members, s->member_count, made);
    }
    if (ours && !st_log_is_whole(log))
        s->bad[rank] = true;
    st_log_destroy(log);
    return rank;
}

/* ---- wrong splits ---- */

static const member *parent_of(const search *s, const member *own)
{
    for (size_t i = 0; i < s->member_count; i++)
        if (s->members[i].rank == own->rank && s->members[i].comm == own->parent)
            return &s->members[i];
    return NULL;
}

/* Whether a rank got another part of a split than the ranks that ran since imply. */
static bool is_wrong(const search *s, const member *own)
{
    char path[4096];
    st_split split = {.node = (int32_t)s->request->devices};
    st_split_place place = {0};
    const member *parent = own->parent != 0 ? parent_of(s, own) : NULL;
    if (parent == NULL)
        return false;
    split.ranks = parent->ranks;
    st_split_path(path, sizeof path, s->request->folder, own->parent, own->splits);
    st_split_member *members = st_split_read(path, &split.count);
    split.members = members;
    for (size_t i = 0; i < split.count; i++)
        if (members[i].rank == parent->place)
            place = st_split_find(&split, &members[i]);
    free(members);
    return place.certain && (place.ranks != own->ranks || place.rank != own->place);
}

/* Forgets a rank and its logs, so that it can be run once more. */
static void forget(search *s, int32_t rank)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->member_count; i++)
        if (s->members[i].rank != rank)
            s->members[kept++] = s->members[i];
    s->member_count = kept;
    kept = 0;
    for (size_t i = 0; i < s->read_count; i++) {
        if (s->read[i].rank == rank)
            (void)unlink(s->read[i].path);
        else
            s->read[kept++] = s->read[i];
    }
    s->read_count = kept;
    s->hash[rank] = 0;
    s->bad[rank] = false;
    s->ran[rank] = false;
    want(s, (uint32_t)rank);
}

static st_status run_rest(search *s)
{
    st_fleet_complete(s->fleet);
    s->dedup->is_complete = true;
    s->dedup->proven = 0;
    for (uint32_t i = 0; i < s->dedup->world; i++)
        want(s, i);
    st_status status = st_fleet_run(s->fleet, s->wanted, s->wanted_count, false, s->errors);
    s->wanted_count = 0;
    return status;
}

/* Runs what is wanted once. Ranks that wait for others get all of them. */
static st_status run_batch(search *s)
{
    size_t count = 0;
    st_status status = st_fleet_run(s->fleet, s->wanted, s->wanted_count, true, s->errors);
    s->wanted_count = 0;
    if (status == ST_OK && st_fleet_alive(s->fleet) > 0) {
        s->dedup->met = true;
        status = run_rest(s);
    }
    const st_launch_end *ends = st_fleet_ends(s->fleet, &count);
    for (size_t i = 0; i < count; i++)
        if (ends[i].exit_code != 0 || ends[i].signal != 0)
            s->bad[ends[i].rank] = true;
    if (status != ST_OK)
        return status;
    const char *const *paths = NULL;
    size_t new_count = 0;
    if (st_log_list(s->request->folder, s->arena, &paths, &new_count, NULL) != ST_OK)
        return ST_OK; /* nobody called CUDA yet */
    for (size_t i = 0; i < new_count; i++) {
        if (ST_HAS(s->read, s->read_count, path, paths[i]))
            continue;
        log_read made = {.path = paths[i], .rank = read_log(s, paths[i])};
        (void)ST_APPEND(s->arena, s->read, s->read_count, made);
    }
    return ST_OK;
}

/* Runs again ranks that got wrong splits. One that gets them repeatedly runs with all others, which
 * it can then wait for. */
static st_status run_wanted(search *s)
{
    st_status status = ST_OK;
    for (size_t i = 0; i <= MOST_AGAIN && s->wanted_count > 0 && status == ST_OK; i++) {
        if (s->dedup->is_complete)
            break;
        s->dedup->again += i > 0 ? s->wanted_count : 0;
        if (i == MOST_AGAIN)
            status = run_rest(s);
        else
            status = run_batch(s);
        if (status == ST_OK && !s->dedup->is_complete) {
            for (size_t j = 0; j < s->member_count; j++) {
                int32_t rank = s->members[j].rank;
                if (!is_wrong(s, &s->members[j]))
                    continue;
                forget(s, rank);
                j = SIZE_MAX; /* the list is shorter now */
            }
        }
    }
    s->wanted_count = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->dedup->world; i++)
        any = any || s->bad[i];
    s->failed = any;
    return status;
}

/* ---- the grid ---- */

/* The smallest distance of ranks that puts all ranks where they are in their communicators of this
 * number and size; 0: none does. */
static uint32_t stride_of(const search *s, const member *of)
{
    for (uint32_t stride = 1; stride <= s->dedup->world / (uint32_t)of->ranks; stride++) {
        bool fits = s->dedup->world % (stride * (uint32_t)of->ranks) == 0;
        for (size_t i = 0; i < s->member_count && fits; i++) {
            const member *other = &s->members[i];
            if (other->index == of->index && other->ranks == of->ranks)
                fits =
                    (uint32_t)other->rank / stride % (uint32_t)of->ranks == (uint32_t)other->place;
        }
        if (fits)
            return stride;
    }
    return 0;
}

static void add_bound(uint32_t *bounds, size_t *count, uint32_t bound)
{
    enum { MOST = 2 * MOST_COMMS + 3 };
    for (size_t i = 0; i < *count; i++)
        if (bounds[i] == bound)
            return;
    if (*count < MOST)
        bounds[(*count)++] = bound;
}

/* Products of sizes from the fastest axis on; each divides the next. */
static void find_axes(search *s)
{
    uint32_t bounds[2 * MOST_COMMS + 3] = {0};
    uint32_t world = s->dedup->world;
    size_t count = 0;
    add_bound(bounds, &count, world);
    if (world % s->request->devices == 0)
        add_bound(bounds, &count, s->request->devices);
    for (size_t i = 0; i < s->member_count; i++) {
        uint32_t stride = stride_of(s, &s->members[i]);
        if (stride > 0)
            add_bound(bounds, &count, stride);
        if (stride > 0)
            add_bound(bounds, &count, stride * (uint32_t)s->members[i].ranks);
    }
    st_sort(bounds, count, sizeof *bounds, st_order_indices);
    uint32_t before = 1;
    s->axis_count = 0;
    for (size_t i = 0; i < count && s->axis_count < MOST_AXES; i++) {
        bool last = s->axis_count == MOST_AXES - 1;
        if (bounds[i] <= before || bounds[i] % before != 0 || world % bounds[i] != 0 ||
            (last && bounds[i] != world))
            continue;
        axis *own = &s->axes[s->axis_count++];
        *own = (axis){.stride = before, .size = bounds[i] / before};
        own->tried = st_arena_alloc(s->arena, own->size, sizeof *own->tried);
        own->group = st_arena_alloc(s->arena, own->size, sizeof *own->group);
        before = bounds[i];
    }
}

/* ---- places of an axis ---- */

static uint32_t rank_at(const axis *own, uint32_t base, uint32_t place)
{
    return base - base / own->stride % own->size * own->stride + place * own->stride;
}

static void try_place(search *s, axis *own, uint32_t place)
{
    own->tried[place] = true;
    for (size_t i = 0; i < s->base_count; i++)
        want(s, rank_at(own, s->bases[i], place));
}

static bool same_places(const search *s, const axis *own, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < s->base_count; i++)
        if (s->hash[rank_at(own, s->bases[i], a)] != s->hash[rank_at(own, s->bases[i], b)])
            return false;
    return true;
}

/* Tries the middle between neighbours that do not do the same; false: there is none. */
static bool halve_axis(search *s, axis *own)
{
    uint32_t before = 0;
    bool more = false;
    for (uint32_t i = 1; i < own->size; i++) {
        if (!own->tried[i])
            continue;
        uint32_t middle = before + (i - before) / 2;
        if (middle > before && !same_places(s, own, before, i)) {
            try_place(s, own, middle);
            more = true; /* the halves come the next time */
        }
        before = i;
    }
    return more;
}

static st_status walk_axes(search *s)
{
    st_status status = ST_OK;
    bool more = true;
    for (size_t i = 0; i < s->axis_count; i++) {
        axis *own = &s->axes[i];
        const uint32_t some[] = {0, 1, 2, own->size / 2, own->size - 2, own->size - 1};
        memset(own->tried, 0, own->size * sizeof *own->tried);
        for (uint32_t j = 0; j < own->size && own->size <= FULL_AXIS; j++)
            try_place(s, own, j);
        for (size_t j = 0; j < ST_COUNT(some) && own->size > FULL_AXIS; j++)
            try_place(s, own, some[j]);
    }
    status = run_wanted(s);
    while (status == ST_OK && more && !s->failed && !s->dedup->is_complete) {
        more = false;
        for (size_t i = 0; i < s->axis_count; i++)
            more = halve_axis(s, &s->axes[i]) || more;
        status = run_wanted(s);
    }
    for (size_t i = 0; i < s->axis_count; i++) {
        /* Places that were not tried do as their neighbours, which do the same. */
        axis *own = &s->axes[i];
        uint32_t last = 0;
        for (uint32_t l = 0; l < own->size; l++) {
            own->group[l] = last;
            if (!own->tried[l])
                continue;
            own->group[l] = l;
            for (uint32_t k = 0; k < l; k++)
                if (own->group[k] == k && own->tried[k] && same_places(s, own, k, l)) {
                    own->group[l] = k;
                    break;
                }
            last = own->group[l];
        }
    }
    return status;
}

/* ---- corners ---- */

/* The rank that represents this one: the first equal place on each axis. */
static uint32_t corner_of(const search *s, uint32_t rank)
{
    uint32_t corner = 0;
    for (size_t i = 0; i < s->axis_count; i++) {
        const axis *own = &s->axes[i];
        corner += own->group[rank / own->stride % own->size] * own->stride;
    }
    return corner;
}

/* Runs ranks that were not, and takes the first that is a surprise for one more base. */
static st_status prove(search *s, bool *surprise)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (1 + s->base_count);
    uint32_t proofs[PROOFS];
    size_t count = 0;
    for (size_t i = 0; i < MOST_DRAWS && count < PROOFS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t rank = (uint32_t)((state >> 33) % s->dedup->world);
        if (s->ran[rank])
            continue;
        proofs[count++] = rank;
        want(s, rank);
    }
    *surprise = false;
    s->dedup->proven = 0;
    st_status status = run_wanted(s);
    for (size_t i = 0; i < count && status == ST_OK && !s->dedup->is_complete; i++) {
        bool same = s->hash[proofs[i]] == s->hash[corner_of(s, proofs[i])];
        s->dedup->proven += same;
        if (!same && !*surprise && s->base_count < MOST_BASES)
            s->bases[s->base_count++] = proofs[i];
        *surprise = *surprise || !same;
    }
    return status;
}

/* ---- the whole ---- */

static bool goes_on(const search *s, st_status status)
{
    return status == ST_OK && !s->failed && !s->dedup->is_complete;
}

static st_status search_grid(search *s)
{
    uint32_t world = s->dedup->world;
    /* Far from the corners of any grid, and in no simple proportion to each other. */
    const uint32_t first[] = {0, world - 1, (uint32_t)((uint64_t)world * 382 / 1000),
                              (uint32_t)((uint64_t)world * 727 / 1000)};
    for (size_t i = 0; i < ST_COUNT(first); i++)
        want(s, first[ST_COUNT(first) - 1 - i]);
    st_status status = run_wanted(s);
    memcpy(s->bases, first, 3 * sizeof *first);
    s->base_count = 3;
    bool surprise = true;
    while (surprise && goes_on(s, status)) {
        size_t before = s->base_count;
        find_axes(s);
        status = walk_axes(s);
        if (goes_on(s, status)) {
            /* A rank of each combination, or all ranks where there are too many of these. */
            size_t count = 0;
            for (uint32_t i = 0; i < world && count <= MOST_CORNERS; i++)
                if (corner_of(s, i) == i) {
                    count++;
                    want(s, i);
                }
            status = count <= MOST_CORNERS ? run_wanted(s) : run_rest(s);
        }
        if (goes_on(s, status))
            status = prove(s, &surprise);
        if (surprise && s->base_count == before) /* no grid: the ranks have another order */
            return goes_on(s, status) ? run_rest(s) : status;
    }
    return status;
}

st_status st_rank_dedup_run(st_fleet *fleet, const st_launch_request *request, st_arena *arena,
                            st_rank_dedup *dedup, st_errors *errors)
{
    search *s = st_arena_alloc(arena, 1, sizeof *s);
    uint32_t world = request->world;
    *dedup = (st_rank_dedup){.world = world};
    *s = (search){.fleet = fleet,
                  .request = request,
                  .arena = arena,
                  .errors = errors,
                  .dedup = dedup,
                  .hash = st_arena_alloc(arena, world, sizeof *s->hash),
                  .ran = st_arena_alloc(arena, world, sizeof *s->ran),
                  .bad = st_arena_alloc(arena, world, sizeof *s->bad),
                  .wanted = st_arena_alloc(arena, world, sizeof *s->wanted)};
    dedup->as = st_arena_alloc(arena, world, sizeof *dedup->as);
    st_status status = world <= FEW ? run_rest(s) : search_grid(s);
    for (uint32_t i = 0; i < world && status == ST_OK; i++) {
        bool gridded = s->axis_count > 0 && !dedup->is_complete && !s->ran[i];
        uint32_t corner = gridded ? corner_of(s, i) : i;
        dedup->run += s->ran[i];
        dedup->as[i] = s->ran[corner] ? (int32_t)corner : -1;
    }
    return status;
}

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
} grid_axis;

/* A communicator as a rank has it. */
typedef struct member {
    int32_t rank;
    int32_t index; /* of the rank's communicators */
    int32_t place; /* in it */
    int32_t ranks;
    uint64_t comm;
    uint64_t parent; /* that was split; 0: none */
    uint32_t splits; /* of it before this one */
} comm_member;

/* A log that was read. */
typedef struct log_read {
    const char *path;
    int32_t rank;
} seen_log;

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
    seen_log *read;
    size_t read_count;
    comm_member *members;
    size_t member_count;
    grid_axis axes[MOST_AXES];
    size_t axis_count;
    uint32_t bases[MOST_BASES];
    size_t base_count;
    bool failed;   /* a rank is bad although its splits were right */
    bool one_role; /* all ranks but the first do the same */
} twin_search;

/* ---- running ranks ---- */

static void want(twin_search *search, uint32_t rank)
{
    if (search->ran[rank])
        return;
    search->ran[rank] = true;
    search->wanted[search->wanted_count++] = (int32_t)rank;
}

static int32_t read_log(twin_search *search, const char *path)
{
    st_log *log = NULL;
    st_log_record record;
    bool more = true;
    int32_t comms = 0;
    if (st_log_open(path, &log, NULL) != ST_OK)
        return -1;
    int32_t rank = st_log_header_of(log)->rank;
    bool ours = rank >= 0 && (uint32_t)rank < search->dedup->world;
    while (ours && st_log_read(log, &record, &more, NULL) == ST_OK && more) {
        if (record.kind == ST_LOG_END)
            search->hash[rank] += st_log_work(record.end.work_hash);
        if (record.kind != ST_LOG_COMM)
            continue;
        comm_member made = {.rank = rank,
                            .index = comms++,
                            .place = record.comm.rank,
                            .ranks = record.comm.ranks,
                            .comm = record.comm.comm,
                            .parent = record.comm.parent,
                            .splits = record.comm.splits};
        if (made.ranks > 1 && made.index < MOST_COMMS)
            (void)ST_APPEND(search->arena, search->members, search->member_count, made);
    }
    if (ours && !st_log_is_whole(log))
        search->bad[rank] = true;
    st_log_destroy(log);
    return rank;
}

/* ---- wrong splits ---- */

static const comm_member *parent_of(const twin_search *search, const comm_member *member)
{
    for (size_t i = 0; i < search->member_count; i++)
        if (search->members[i].rank == member->rank && search->members[i].comm == member->parent)
            return &search->members[i];
    return NULL;
}

/* Whether a rank got another part of a split than the ranks that ran since imply. */
static bool is_wrong(const twin_search *search, const comm_member *member)
{
    char path[4096];
    st_split split = {.node = (int32_t)search->request->devices};
    st_split_place place = {0};
    const comm_member *parent = member->parent != 0 ? parent_of(search, member) : NULL;
    if (parent == NULL)
        return false;
    split.ranks = parent->ranks;
    st_split_path(path, sizeof path, search->request->folder, member->parent, member->splits);
    st_split_member *members = st_split_read(path, &split.count);
    split.members = members;
    for (size_t i = 0; i < split.count; i++)
        if (members[i].rank == parent->place)
            place = st_split_find(&split, &members[i]);
    free(members);
    return place.certain && (place.ranks != member->ranks || place.rank != member->place);
}

static st_status run_rest(twin_search *search)
{
    st_fleet_complete(search->fleet);
    search->dedup->is_complete = true;
    search->dedup->proven = 0;
    for (uint32_t i = 0; i < search->dedup->world; i++)
        want(search, i);
    st_status status =
        st_fleet_run(search->fleet, search->wanted, search->wanted_count, false, search->errors);
    search->wanted_count = 0;
    return status;
}

/* Runs what is wanted once. Ranks that wait for others get all of them. */
static st_status run_batch(twin_search *search)
{
    size_t count = 0;
    st_status status =
        st_fleet_run(search->fleet, search->wanted, search->wanted_count, true, search->errors);
    search->wanted_count = 0;
    if (status == ST_OK && st_fleet_alive(search->fleet) > 0) {
        search->dedup->met = true;
        status = run_rest(search);
    }
    const st_launch_end *ends = st_fleet_ends(search->fleet, &count);
    for (size_t i = 0; i < count; i++)
        if (ends[i].exit_code != 0 || ends[i].signal != 0)
            search->bad[ends[i].rank] = true;
    if (status != ST_OK)
        return status;
    const char *const *paths = NULL;
    size_t path_count = 0;
    if (st_log_list(search->request->folder, search->arena, &paths, &path_count, NULL) != ST_OK)
        return ST_OK; /* nobody called CUDA yet */
    for (size_t i = 0; i < path_count; i++) {
        if (ST_HAS(search->read, search->read_count, path, paths[i]))
            continue;
        seen_log made = {.path = paths[i], .rank = read_log(search, paths[i])};
        (void)ST_APPEND(search->arena, search->read, search->read_count, made);
    }
    return ST_OK;
}

/* Runs again ranks that got wrong splits. One that gets them repeatedly runs with all others, which
 * it can then wait for. */
static st_status run_wanted(twin_search *search)
{
    st_status status = ST_OK;
    for (size_t i = 0; i <= MOST_AGAIN && search->wanted_count > 0 && status == ST_OK; i++) {
        if (search->dedup->is_complete)
            break;
        search->dedup->again += i > 0 ? search->wanted_count : 0;
        if (i == MOST_AGAIN)
            status = run_rest(search);
        else
            status = run_batch(search);
        if (status == ST_OK && !search->dedup->is_complete) {
            for (size_t j = 0; j < search->member_count; j++) {
                int32_t rank = search->members[j].rank;
                if (!is_wrong(search, &search->members[j]))
                    continue;
                /* Forgets a rank and its logs, so that it can be run once more. */
                size_t kept = 0;
                for (size_t k = 0; k < search->member_count; k++)
                    if (search->members[k].rank != rank)
                        search->members[kept++] = search->members[k];
                search->member_count = kept;
                kept = 0;
                for (size_t k = 0; k < search->read_count; k++) {
                    if (search->read[k].rank == rank)
                        (void)unlink(search->read[k].path);
                    else
                        search->read[kept++] = search->read[k];
                }
                search->read_count = kept;
                search->hash[rank] = 0;
                search->bad[rank] = false;
                search->ran[rank] = false;
                want(search, (uint32_t)rank);
                j = SIZE_MAX; /* the list is shorter now */
            }
        }
    }
    search->wanted_count = 0;
    bool any = false;
    for (uint32_t i = 0; i < search->dedup->world; i++)
        any = any || search->bad[i];
    search->failed = any;
    return status;
}

/* ---- the grid ---- */

/* The smallest distance of ranks that puts all ranks where they are in their communicators of this
 * number and size; 0: none does. */
static uint32_t stride_of(const twin_search *search, const comm_member *member)
{
    for (uint32_t stride = 1; stride <= search->dedup->world / (uint32_t)member->ranks; stride++) {
        bool fits = search->dedup->world % (stride * (uint32_t)member->ranks) == 0;
        for (size_t i = 0; i < search->member_count && fits; i++) {
            const comm_member *other = &search->members[i];
            if (other->index == member->index && other->ranks == member->ranks)
                fits = (uint32_t)other->rank / stride % (uint32_t)member->ranks ==
                       (uint32_t)other->place;
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
static void find_axes(twin_search *search)
{
    uint32_t bounds[2 * MOST_COMMS + 3] = {0};
    uint32_t world = search->dedup->world;
    size_t count = 0;
    add_bound(bounds, &count, world);
    if (world % search->request->devices == 0)
        add_bound(bounds, &count, search->request->devices);
    for (size_t i = 0; i < search->member_count; i++) {
        uint32_t stride = stride_of(search, &search->members[i]);
        if (stride > 0)
            add_bound(bounds, &count, stride);
        if (stride > 0)
            add_bound(bounds, &count, stride * (uint32_t)search->members[i].ranks);
    }
    st_sort(bounds, count, sizeof *bounds, st_order_indices);
    uint32_t before = 1;
    search->axis_count = 0;
    for (size_t i = 0; i < count && search->axis_count < MOST_AXES; i++) {
        bool last = search->axis_count == MOST_AXES - 1;
        if (bounds[i] <= before || bounds[i] % before != 0 || world % bounds[i] != 0 ||
            (last && bounds[i] != world))
            continue;
        grid_axis *axis = &search->axes[search->axis_count++];
        *axis = (grid_axis){.stride = before, .size = bounds[i] / before};
        axis->tried = st_arena_alloc(search->arena, axis->size, sizeof *axis->tried);
        axis->group = st_arena_alloc(search->arena, axis->size, sizeof *axis->group);
        before = bounds[i];
    }
}

/* ---- places of an axis ---- */

static uint32_t rank_at(const grid_axis *axis, uint32_t base, uint32_t place)
{
    return base - base / axis->stride % axis->size * axis->stride + place * axis->stride;
}

static void try_place(twin_search *search, grid_axis *axis, uint32_t place)
{
    axis->tried[place] = true;
    for (size_t i = 0; i < search->base_count; i++)
        want(search, rank_at(axis, search->bases[i], place));
}

static bool same_places(const twin_search *search, const grid_axis *axis, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < search->base_count; i++)
        if (search->hash[rank_at(axis, search->bases[i], a)] !=
            search->hash[rank_at(axis, search->bases[i], b)])
            return false;
    return true;
}

/* Tries the middle between neighbours that do not do the same; false: there is none. */
static bool halve_axis(twin_search *search, grid_axis *axis)
{
    uint32_t before = 0;
    bool more = false;
    for (uint32_t i = 1; i < axis->size; i++) {
        if (!axis->tried[i])
            continue;
        uint32_t middle = before + (i - before) / 2;
        if (middle > before && !same_places(search, axis, before, i)) {
            try_place(search, axis, middle);
            more = true; /* the halves come the next time */
        }
        before = i;
    }
    return more;
}

static st_status walk_axes(twin_search *search)
{
    st_status status = ST_OK;
    bool more = true;
    for (size_t i = 0; i < search->axis_count; i++) {
        grid_axis *axis = &search->axes[i];
        const uint32_t some[] = {0, 1, 2, axis->size / 2, axis->size - 2, axis->size - 1};
        memset(axis->tried, 0, axis->size * sizeof *axis->tried);
        for (uint32_t j = 0; j < axis->size && axis->size <= FULL_AXIS; j++)
            try_place(search, axis, j);
        for (size_t j = 0; j < ST_COUNT(some) && axis->size > FULL_AXIS; j++)
            try_place(search, axis, some[j]);
    }
    status = run_wanted(search);
    while (status == ST_OK && more && !search->failed && !search->dedup->is_complete) {
        more = false;
        for (size_t i = 0; i < search->axis_count; i++)
            more = halve_axis(search, &search->axes[i]) || more;
        status = run_wanted(search);
    }
    for (size_t i = 0; i < search->axis_count; i++) {
        /* Places that were not tried do as their neighbours, which do the same. */
        grid_axis *axis = &search->axes[i];
        uint32_t last = 0;
        for (uint32_t l = 0; l < axis->size; l++) {
            axis->group[l] = last;
            if (!axis->tried[l])
                continue;
            axis->group[l] = l;
            for (uint32_t k = 0; k < l; k++)
                if (axis->group[k] == k && axis->tried[k] && same_places(search, axis, k, l)) {
                    axis->group[l] = k;
                    break;
                }
            last = axis->group[l];
        }
    }
    return status;
}

/* ---- corners ---- */

/* The rank that represents this one: the first equal place on each axis. */
static uint32_t corner_of(const twin_search *search, uint32_t rank)
{
    uint32_t corner = 0;
    for (size_t i = 0; i < search->axis_count; i++) {
        const grid_axis *axis = &search->axes[i];
        corner += axis->group[rank / axis->stride % axis->size] * axis->stride;
    }
    return corner;
}

/* Runs ranks that were not, and takes the first that is a surprise for one more base. */
static st_status prove(twin_search *search, bool *surprise)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (1 + search->base_count);
    uint32_t proofs[PROOFS];
    size_t count = 0;
    for (size_t i = 0; i < MOST_DRAWS && count < PROOFS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t rank = (uint32_t)((state >> 33) % search->dedup->world);
        if (search->ran[rank])
            continue;
        proofs[count++] = rank;
        want(search, rank);
    }
    *surprise = false;
    search->dedup->proven = 0;
    st_status status = run_wanted(search);
    for (size_t i = 0; i < count && status == ST_OK && !search->dedup->is_complete; i++) {
        bool same = search->hash[proofs[i]] == search->hash[corner_of(search, proofs[i])];
        search->dedup->proven += same;
        if (!same && !*surprise && search->base_count < MOST_BASES)
            search->bases[search->base_count++] = proofs[i];
        *surprise = *surprise || !same;
    }
    return status;
}

/* ---- the whole ---- */

static bool goes_on(const twin_search *search, st_status status)
{
    return status == ST_OK && !search->failed && !search->dedup->is_complete;
}

/*
 * Data parallelism alone: all communicators have all ranks, and every rank that ran does the same
 * but the first, which also saves and samples. Then no grid is looked for, but a few ranks more are
 * run.
 */
static st_status try_one_role(twin_search *search)
{
    enum { MORE = 8 };
    const uint32_t world = search->dedup->world;
    const uint64_t usual = search->hash[world - 1];
    bool one = usual != 0;
    for (size_t i = 0; i < search->member_count && one; i++)
        one = search->members[i].ranks == (int32_t)world;
    for (uint32_t i = 1; i < world && one; i++)
        one = !search->ran[i] || search->hash[i] == usual;
    if (!one)
        return ST_OK;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    uint32_t asked = search->request->devices < world ? search->request->devices : 1;
    size_t count = 0;
    for (size_t i = 0; i < MORE; i++) {
        count += !search->ran[asked];
        want(search, asked);
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        asked = i == 0 ? 1 : (uint32_t)((state >> 33) % world);
    }
    st_status status = run_wanted(search);
    for (uint32_t i = 1; i < world; i++)
        one = one && (!search->ran[i] || search->hash[i] == usual);
    search->one_role = one && goes_on(search, status);
    search->dedup->proven = search->one_role ? count : 0;
    return status;
}

static st_status search_grid(twin_search *search)
{
    uint32_t world = search->dedup->world;
    /* Far from the corners of any grid, and in no simple proportion to each other. */
    const uint32_t first[] = {0, world - 1, (uint32_t)((uint64_t)world * 382 / 1000),
                              (uint32_t)((uint64_t)world * 727 / 1000)};
    for (size_t i = 0; i < ST_COUNT(first); i++)
        want(search, first[ST_COUNT(first) - 1 - i]);
    st_status status = run_wanted(search);
    if (goes_on(search, status))
        status = try_one_role(search);
    if (search->one_role)
        return status;
    memcpy(search->bases, first, 3 * sizeof *first);
    search->base_count = 3;
    bool surprise = true;
    while (surprise && goes_on(search, status)) {
        size_t before = search->base_count;
        find_axes(search);
        status = walk_axes(search);
        if (goes_on(search, status)) {
            /* A rank of each combination, or all ranks where there are too many of these. */
            size_t count = 0;
            for (uint32_t i = 0; i < world && count <= MOST_CORNERS; i++)
                if (corner_of(search, i) == i) {
                    count++;
                    want(search, i);
                }
            status = count <= MOST_CORNERS ? run_wanted(search) : run_rest(search);
        }
        if (goes_on(search, status))
            status = prove(search, &surprise);
        if (surprise && search->base_count == before) /* no grid: the ranks have another order */
            return goes_on(search, status) ? run_rest(search) : status;
    }
    return status;
}

st_status st_rank_dedup_run(st_fleet *fleet, const st_launch_request *request, st_arena *arena,
                            st_rank_dedup *dedup, st_errors *errors)
{
    twin_search *search = st_arena_alloc(arena, 1, sizeof *search);
    uint32_t world = request->world;
    *dedup = (st_rank_dedup){.world = world};
    *search = (twin_search){.fleet = fleet,
                            .request = request,
                            .arena = arena,
                            .errors = errors,
                            .dedup = dedup,
                            .hash = st_arena_alloc(arena, world, sizeof *search->hash),
                            .ran = st_arena_alloc(arena, world, sizeof *search->ran),
                            .bad = st_arena_alloc(arena, world, sizeof *search->bad),
                            .wanted = st_arena_alloc(arena, world, sizeof *search->wanted)};
    dedup->as = st_arena_alloc(arena, world, sizeof *dedup->as);
    st_status status = world <= FEW ? run_rest(search) : search_grid(search);
    for (uint32_t i = 0; i < world && status == ST_OK; i++) {
        bool gridded = search->axis_count > 0 && !dedup->is_complete && !search->ran[i];
        uint32_t corner = gridded ? corner_of(search, i) : i;
        if (search->one_role && !search->ran[i])
            corner = world - 1;
        dedup->run += search->ran[i];
        dedup->as[i] = search->ran[corner] ? (int32_t)corner : -1;
    }
    return status;
}

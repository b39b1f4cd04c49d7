/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding ranks that are alike.
 *
 * Ranks are first told apart by a rolling hash of their task sequences, then by durations against
 * the first rank of each class, with a tolerance: rounding durations before hashing would part
 * ranks whose noise straddles a rounding border. Classes are then split by what their tasks wait
 * for in other ranks until nothing splits any more (partition refinement, Hopcroft 1971), which is
 * when ranks of a class start their tasks together.
 */
#include "timeline/graph_internal.h"

#include <stdlib.h>

/* Durations are compared with so many ranks of the same structure at most. */
enum { MOST_LEADERS = 1024 };

struct st_fold {
    const st_graph *whole;
    st_graph *folded;
    uint32_t *rank_of;        /* rank index of every task */
    size_t *rank_first;       /* tasks of a rank: tasks[rank_first[r]] ... */
    st_task_id *tasks;        /* by rank, resource and program order */
    uint32_t *place;          /* of a task among those of its rank */
    uint32_t *class_of;       /* of every rank */
    uint32_t *stands;         /* rank that stands for a class */
    st_task_id *folded_first; /* by class: folded tasks of a class stand side by side */
    size_t class_count;
};

/* Mixes a number into a hash; order counts. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    return hash ^ (hash >> 27);
}

void st_fold_destroy(st_fold *fold)
{
    if (fold == NULL) {
        return;
    }
    st_graph_destroy(fold->folded);
    free(fold->rank_of);
    free(fold->rank_first);
    free(fold->tasks);
    free(fold->place);
    free(fold->class_of);
    free(fold->stands);
    free(fold->folded_first);
    free(fold);
}

/* Where the tasks of every resource begin in the list by ranks; NULL when out of memory. */
static size_t *resource_starts(st_fold *fold)
{
    const st_graph *graph = fold->whole;
    size_t ranks = graph->rank_table.count;
    size_t *starts = calloc(graph->resource_count + 1, sizeof(*starts));
    size_t *next = calloc(ranks + 1, sizeof(*next));
    if (starts == NULL || next == NULL) {
        free(starts);
        free(next);
        return NULL;
    }
    for (size_t i = 0; i < graph->task_count; i++) {
        fold->rank_first[fold->rank_of[i] + 1]++;
        starts[graph->resource[i]]++;
    }
    for (size_t i = 0; i < ranks; i++) {
        fold->rank_first[i + 1] += fold->rank_first[i];
        next[i] = fold->rank_first[i];
    }
    for (size_t i = 0; i < graph->resource_count; i++) {
        size_t count = starts[i];
        starts[i] = next[graph->resources[i].rank_index];
        next[graph->resources[i].rank_index] += count;
    }
    free(next);
    return starts;
}

static bool list_tasks(st_fold *fold)
{
    const st_graph *graph = fold->whole;
    size_t ranks = graph->rank_table.count;
    fold->rank_of = calloc(graph->task_count + 1, sizeof(*fold->rank_of));
    fold->rank_first = calloc(ranks + 2, sizeof(*fold->rank_first));
    fold->tasks = calloc(graph->task_count + 1, sizeof(*fold->tasks));
    fold->place = calloc(graph->task_count + 1, sizeof(*fold->place));
    fold->class_of = calloc(ranks + 1, sizeof(*fold->class_of));
    if (fold->rank_of == NULL || fold->rank_first == NULL || fold->tasks == NULL ||
        fold->place == NULL || fold->class_of == NULL) {
        return false;
    }
    for (size_t i = 0; i < graph->task_count; i++) {
        fold->rank_of[i] = graph->resources[graph->resource[i]].rank_index;
    }
    size_t *next = resource_starts(fold);
    if (next == NULL) {
        return false;
    }
    for (size_t i = 0; i < graph->task_count; i++) {
        size_t at = next[graph->resource[i]]++;
        fold->tasks[at] = (st_task_id)i;
        fold->place[i] = (uint32_t)(at - fold->rank_first[fold->rank_of[i]]);
    }
    free(next);
    return true;
}

/* --- classes ------------------------------------------------------------------------------------
 */

/* What a rank does, without durations and without others. */
static uint64_t structure(const st_fold *fold, size_t rank)
{
    const st_graph *graph = fold->whole;
    uint64_t hash = fold->rank_first[rank + 1] - fold->rank_first[rank];
    for (size_t i = fold->rank_first[rank]; i < fold->rank_first[rank + 1]; i++) {
        st_task_id task = fold->tasks[i];
        st_task_id previous = graph->previous[task];
        uint64_t before = 0; /* in any order */
        for (uint32_t j = graph->before_first[task]; j < graph->before_first[task + 1]; j++) {
            st_task_id one = graph->before[j];
            before += mix(1, fold->rank_of[one] == rank ? fold->place[one] + UINT64_C(1) : 0);
        }
        hash = mix(hash, (uint64_t)graph->resources[graph->resource[task]].kind);
        hash = mix(hash, graph->category[task]);
        hash = mix(hash, previous == ST_TASK_NONE);
        hash = mix(hash, graph->meeting[task] != 0);
        hash = mix(hash, graph->earliest_ns == NULL ? 0 : (uint64_t)graph->earliest_ns[task]);
        hash = mix(hash, before);
    }
    return hash;
}

/* Whether two ranks of one structure take as long, task by task. */
static bool as_long(const st_fold *fold, size_t one, size_t other, int64_t tolerance_ns)
{
    const int64_t *duration_ns = fold->whole->duration_ns;
    size_t count = fold->rank_first[one + 1] - fold->rank_first[one];
    for (size_t i = 0; i < count; i++) {
        int64_t a = duration_ns[fold->tasks[fold->rank_first[one] + i]];
        int64_t b = duration_ns[fold->tasks[fold->rank_first[other] + i]];
        if ((a > b ? a - b : b - a) > tolerance_ns) {
            return false;
        }
    }
    return true;
}

/* Classes by structure and durations: every rank joins the first rank that is like it. */
static bool first_classes(st_fold *fold, int64_t tolerance_ns)
{
    size_t ranks = fold->whole->rank_table.count;
    st_pair_table structures = {0};
    size_t *newest = calloc(ranks + 1, sizeof(*newest));   /* leader of a structure, from 1 */
    size_t *earlier = calloc(ranks + 1, sizeof(*earlier)); /* leader before a leader, from 1 */
    bool good = newest != NULL && earlier != NULL;
    fold->class_count = 0;
    for (size_t i = 0; i < ranks && good; i++) {
        uint32_t number = st_pair_number(&structures, (st_pair){structure(fold, i), 0});
        good = number != ST_TASK_NONE;
        size_t leader = good ? newest[number] : 0;
        for (int tries = 0; leader != 0 && tries < MOST_LEADERS; tries++) {
            if (as_long(fold, leader - 1, i, tolerance_ns)) {
                break;
            }
            leader = tries + 1 < MOST_LEADERS ? earlier[leader - 1] : 0;
        }
        if (good && leader == 0) {
            earlier[i] = newest[number];
            newest[number] = i + 1;
            fold->class_of[i] = (uint32_t)fold->class_count++;
        } else if (good) {
            fold->class_of[i] = fold->class_of[leader - 1];
        }
    }
    free(newest);
    free(earlier);
    st_pair_table_free(&structures);
    return good;
}

static uint64_t standing(const st_fold *fold, st_task_id task)
{
    return mix(fold->class_of[fold->rank_of[task]], fold->place[task]);
}

/* What a rank's tasks wait for in other ranks, by their classes. */
static uint64_t surroundings(const st_fold *fold, size_t rank, const uint64_t *meeting_hash)
{
    const st_graph *graph = fold->whole;
    uint64_t hash = 0;
    for (size_t i = fold->rank_first[rank]; i < fold->rank_first[rank + 1]; i++) {
        st_task_id task = fold->tasks[i];
        uint64_t before = 0;
        for (uint32_t j = graph->before_first[task]; j < graph->before_first[task + 1]; j++) {
            if (fold->rank_of[graph->before[j]] != rank) {
                before += mix(2, standing(fold, graph->before[j]));
            }
        }
        if (before != 0 || graph->meeting[task] != 0) {
            hash = mix(mix(hash, i - fold->rank_first[rank]), before);
            hash = mix(hash, meeting_hash[graph->meeting[task]]);
        }
    }
    return hash;
}

/* Splits classes once; `split` tells whether any was. False when out of memory. */
static bool refine(st_fold *fold, uint64_t *meeting_hash, bool *split)
{
    const st_graph *graph = fold->whole;
    size_t ranks = graph->rank_table.count;
    st_pair_table classes = {0};
    uint32_t *refined = calloc(ranks + 1, sizeof(*refined));
    bool good = refined != NULL;
    for (size_t i = 1; i <= graph->meeting_count; i++) {
        meeting_hash[i] = 0;
        for (uint32_t j = graph->member_first[i]; j < graph->member_first[i + 1]; j++) {
            meeting_hash[i] += mix(3, standing(fold, graph->members[j]));
        }
    }
    for (size_t i = 0; i < ranks && good; i++) {
        st_pair pair = {fold->class_of[i], surroundings(fold, i, meeting_hash)};
        refined[i] = st_pair_number(&classes, pair);
        good = refined[i] != ST_TASK_NONE;
    }
    for (size_t i = 0; i < ranks && good; i++) {
        fold->class_of[i] = refined[i];
    }
    *split = classes.count > fold->class_count;
    fold->class_count = classes.count;
    st_pair_table_free(&classes);
    free(refined);
    return good;
}

static bool find_classes(st_fold *fold, int64_t tolerance_ns)
{
    size_t ranks = fold->whole->rank_table.count;
    uint64_t *meeting_hash = calloc(fold->whole->meeting_count + 1, sizeof(*meeting_hash));
    bool good = meeting_hash != NULL && first_classes(fold, tolerance_ns);
    bool split = true;
    while (good && split) {
        good = refine(fold, meeting_hash, &split);
    }
    free(meeting_hash);
    fold->stands = calloc(ranks + 1, sizeof(*fold->stands));
    if (!good || fold->stands == NULL) {
        return false;
    }
    for (size_t i = ranks; i > 0; i--) {
        fold->stands[fold->class_of[i - 1]] = (uint32_t)(i - 1);
    }
    return true;
}

/* --- the folded graph ---------------------------------------------------------------------------
 */

st_task_id st_fold_task(const st_fold *fold, st_task_id task)
{
    return fold->folded_first[fold->class_of[fold->rank_of[task]]] + fold->place[task];
}

/*
 * The meetings of the folded tasks, made in the folded graph: what one rank of a class meets, all
 * do, so that the meetings of the standing ranks cover one member of every class that comes.
 */
static st_status make_meetings(st_fold *fold, uint32_t *meeting, st_errors *errors)
{
    const st_graph *graph = fold->whole;
    for (size_t class = 0; class < fold->class_count; class ++) {
        size_t rank = fold->stands[class];
        for (size_t i = fold->rank_first[rank]; i < fold->rank_first[rank + 1]; i++) {
            uint32_t old = graph->meeting[fold->tasks[i]];
            if (old == 0 || meeting[st_fold_task(fold, fold->tasks[i])] != 0) {
                continue;
            }
            uint32_t made = 0;
            st_status status = st_graph_meeting(fold->folded, 1, &made, errors);
            if (status != ST_OK) {
                return status;
            }
            fold->folded->meeting_size[made] = 0;
            for (uint32_t j = graph->member_first[old]; j < graph->member_first[old + 1]; j++) {
                uint32_t *own = &meeting[st_fold_task(fold, graph->members[j])];
                fold->folded->meeting_size[made] += *own == 0 ? 1 : 0;
                *own = *own == 0 ? made : *own;
            }
        }
    }
    return ST_OK;
}

static st_status add_resources(st_fold *fold, uint32_t *resource, st_errors *errors)
{
    const st_graph *graph = fold->whole;
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->resource_count && status == ST_OK; i++) {
        size_t rank = graph->resources[i].rank_index;
        if (fold->stands[fold->class_of[rank]] == rank) {
            status =
                st_graph_resource(fold->folded, graph->ranks[rank], graph->resources[i].kind,
                                  graph->names[graph->resources[i].name], &resource[i], errors);
        }
    }
    for (size_t i = 1; i < graph->category_count && status == ST_OK; i++) {
        uint16_t category = 0;
        status = st_graph_category(fold->folded, st_graph_category_name(graph, (uint16_t)i),
                                   graph->categories[i].work, &category, errors);
    }
    return status;
}

static st_status add_tasks(st_fold *fold, const uint32_t *resource, const uint32_t *meeting,
                           st_errors *errors)
{
    const st_graph *graph = fold->whole;
    st_status status = ST_OK;
    for (size_t class = 0; class < fold->class_count; class ++) {
        size_t rank = fold->stands[class];
        for (size_t i = fold->rank_first[rank]; i < fold->rank_first[rank + 1]; i++) {
            st_task_id task = fold->tasks[i];
            st_task_spec spec = {.resource = resource[graph->resource[task]],
                                 .category = graph->category[task],
                                 .duration_ns = graph->duration_ns[task],
                                 .earliest_ns =
                                     graph->earliest_ns == NULL ? 0 : graph->earliest_ns[task],
                                 .meeting = meeting[st_fold_task(fold, task)]};
            status =
                st_graph_name(fold->folded, graph->names[graph->name[task]], &spec.name, errors);
            if (status == ST_OK) {
                status = st_graph_add(fold->folded, &spec, NULL, errors);
            }
            if (status != ST_OK) {
                return status;
            }
        }
    }
    return status;
}

static st_status add_edges(st_fold *fold, st_errors *errors)
{
    const st_graph *graph = fold->whole;
    st_status status = ST_OK;
    for (size_t class = 0; class < fold->class_count; class ++) {
        size_t rank = fold->stands[class];
        for (size_t i = fold->rank_first[rank]; i < fold->rank_first[rank + 1]; i++) {
            st_task_id task = fold->tasks[i];
            for (uint32_t j = graph->before_first[task];
                 j < graph->before_first[task + 1] && status == ST_OK; j++) {
                status = st_graph_edge(fold->folded, st_fold_task(fold, graph->before[j]),
                                       st_fold_task(fold, task),
                                       (st_edge_kind)graph->before_kind[j], errors);
            }
        }
    }
    return status;
}

static st_status build(st_fold *fold, st_errors *errors)
{
    st_status status = ST_OK;
    size_t tasks = 0;
    uint32_t *resource = calloc(fold->whole->resource_count + 1, sizeof(*resource));
    uint32_t *meeting = NULL;
    fold->folded_first = calloc(fold->class_count + 1, sizeof(*fold->folded_first));
    fold->folded = st_graph_create(NULL);
    if (resource == NULL || fold->folded_first == NULL || fold->folded == NULL) {
        status = st_graph_no_memory(errors);
        goto cleanup;
    }
    for (size_t class = 0; class < fold->class_count; class ++) {
        size_t rank = fold->stands[class];
        fold->folded_first[class] = (st_task_id)tasks;
        tasks += fold->rank_first[rank + 1] - fold->rank_first[rank];
    }
    meeting = calloc(tasks + 1, sizeof(*meeting));
    status = meeting == NULL ? st_graph_no_memory(errors) : make_meetings(fold, meeting, errors);
    if (status == ST_OK) {
        status = add_resources(fold, resource, errors);
    }
    if (status == ST_OK) {
        status = add_tasks(fold, resource, meeting, errors);
    }
    if (status == ST_OK) {
        status = add_edges(fold, errors);
    }
    if (status == ST_OK) {
        status = st_graph_seal(fold->folded, errors);
    }

cleanup:
    free(resource);
    free(meeting);
    return status;
}

st_status st_graph_fold(const st_graph *graph, int64_t tolerance_ns, st_fold **fold,
                        st_errors *errors)
{
    if (!graph->sealed || tolerance_ns < 0) {
        return st_errors_add(errors, &(st_error){.status = ST_ERR_USAGE,
                                                 .message = "only a sealed graph can be folded, "
                                                            "with a tolerance of at least 0"});
    }
    st_status status = ST_OK;
    st_fold *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return st_graph_no_memory(errors);
    }
    made->whole = graph;
    if (!list_tasks(made) || !find_classes(made, tolerance_ns)) {
        status = st_graph_no_memory(errors);
    } else {
        status = build(made, errors);
    }
    if (status != ST_OK) {
        st_fold_destroy(made);
        return status;
    }
    *fold = made;
    return ST_OK;
}

const st_graph *st_fold_graph(const st_fold *fold)
{
    return fold->folded;
}

size_t st_fold_rank(const st_fold *fold, size_t rank_index)
{
    return fold->stands[fold->class_of[rank_index]];
}

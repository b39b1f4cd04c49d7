/* SPDX-License-Identifier: Apache-2.0 */
/* A graph with parts that are done more often; see whatif.h. */
#include "base/lists.h"
#include "steptime/tool/graph_arrays.h"
#include "trace/queue.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Which layers and micro-batches are repeated; see whatif.h.
 *
 * A part runs from the call that launches its first kernel to the call that launches the next
 * part's first one, so that a copy holds all that the host does from one to the next. Of layers
 * those are taken in which the host waits for nothing: what is read once in a pass is read once in
 * a pass of more layers, too. Of micro-batches all but the last can be taken; a single one is,
 * without collectives that its backward pass alone has, as these reduce gradients.
 */

typedef struct planner {
    st_whatif *w;
    size_t rank;
    const st_repeats *repeats;
    struct wait_list *waits; /* by rank */
} planner;

/* When the host of a rank has waited for something, in order. */
typedef struct wait_list {
    int64_t *ends_ns;
    size_t count;
} wait_list;

/* When the call begins that launches a kernel; -1: that is not recorded. */
static int64_t launch_ns(const planner *p, uint32_t task)
{
    st_task_id host = p->w->graph->ranks[p->rank].hosts[p->repeats->tasks[task]];
    return host == ST_TASK_NONE ? -1 : st_replay_task(p->w->replay, host).end_ns;
}

/* For a full launch queue the host waits as often as there are launches, whatever they are of. */
static bool waits(const st_graph_arrays *graph, st_task_id task)
{
    for (uint32_t i = graph->before_first[task]; i < graph->before_first[task + 1]; i++)
        if (graph->before_kind[i] != ST_EDGE_QUEUE)
            return true;
    return false;
}

static void take_rank(planner *p, size_t rank)
{
    p->rank = rank;
    p->repeats = &p->w->repeats[rank];
}

static void list_waits(planner *p)
{
    const st_whatif *w = p->w;
    const st_graph_arrays graph = st_graph_arrays_of(w->graph->graph);
    size_t ranks = w->graph->set->count;
    p->waits = st_xalloc(w->arena, ranks, sizeof *p->waits);
    for (size_t rank = 0; rank < ranks; rank++) {
        wait_list *list = &p->waits[rank];
        const bool *threads = st_whatif_threads(w, &w->graph->ranks[rank]);
        for (st_task_id task = 0; task < graph.task_count; task++) {
            int64_t end_ns = st_replay_task(w->replay, task).end_ns;
            if (waits(&graph, task) && st_whatif_is_host_work(w, threads, task))
                ST_XAPPEND(w->arena, list->ends_ns, list->count, end_ns);
        }
        st_sort(list->ends_ns, list->count, sizeof *list->ends_ns, st_order_times);
    }
}

static bool waits_between(const planner *p, int64_t from_ns, int64_t to_ns)
{
    const wait_list *list = &p->waits[p->rank];
    size_t low = 0;
    ST_BISECT(low, list->count, list->ends_ns[middle] <= from_ns);
    return low < list->count && list->ends_ns[low] <= to_ns;
}

static void add_unit(planner *p, const st_repeat_unit *unit)
{
    st_whatif *w = p->w;
    ST_XAPPEND(w->arena, w->units, w->unit_count, *unit);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* How well a layer can be repeated. */
typedef enum fitness { FIT_NOT, FIT_WITH_WAITS, FIT } fitness;

static st_repeat_unit layer_unit(const planner *p, const st_repeat *run, uint32_t layer)
{
    return (st_repeat_unit){.rank = p->rank,
                            .from_ns = launch_ns(p, run->first + layer * run->period),
                            .to_ns = launch_ns(p, run->first + (layer + 1) * run->period)};
}

static uint32_t stage_of(const st_whatif *w, size_t rank)
{
    return w->stages.count > 1 ? w->stages.stage_of[rank] : 0;
}

/* Whether ranks of one stage have as many runs. */
static bool have_equal_runs(const st_whatif *w)
{
    for (size_t i = 0; i < w->graph->set->count; i++)
        for (size_t k = 0; k < i; k++)
            if (stage_of(w, i) == stage_of(w, k) && w->repeats[i].count != w->repeats[k].count)
                return false;
    return true;
}

/* How well each layer but the last of a run can be repeated, on the rank where that is worst. The
 * last one is not asked: behind it the host goes over to something else. */
static fitness find_fits(planner *p, uint32_t stage, size_t run, fitness *fits)
{
    fitness best = FIT_NOT;
    uint32_t layers = 0;
    for (size_t rank = 0; rank < p->w->graph->set->count; rank++) {
        if (stage_of(p->w, rank) != stage)
            continue;
        take_rank(p, rank);
        const st_repeat *layer_run = &p->repeats->items[run];
        for (uint32_t layer = 0; layer + 1 < layer_run->layers; layer++) {
            st_repeat_unit unit = layer_unit(p, layer_run, layer);
            fitness fit = unit.from_ns < 0 || unit.to_ns <= unit.from_ns ? FIT_NOT
                          : waits_between(p, unit.from_ns, unit.to_ns)   ? FIT_WITH_WAITS
                                                                         : FIT;
            fits[layer] = fit < fits[layer] ? fit : fits[layer];
        }
        layers = layer_run->layers;
    }
    for (uint32_t i = 0; i + 1 < layers; i++)
        best = fits[i] > best ? fits[i] : best;
    return best;
}

/* The same layers on every rank of a stage, as their collectives meet. */
static bool plan_run(planner *p, uint32_t stage, size_t run, uint32_t layers, uint32_t further)
{
    size_t ranks = p->w->graph->set->count;
    fitness *fits = st_xalloc(p->w->arena, layers, sizeof *fits);
    uint32_t *copies = st_xalloc(p->w->arena, layers, sizeof *copies);
    for (uint32_t i = 0; i < layers; i++)
        fits[i] = FIT;
    /* Spreads further layers evenly: the share of a layer that does not fit as well as others
     * goes to the next one that does. */
    fitness best = find_fits(p, stage, run, fits);
    uint32_t last = 0;
    uint64_t given = 0;
    for (uint32_t i = 0; i + 1 < layers; i++) {
        uint64_t share = ((uint64_t)i + 1) * further / layers;
        if (fits[i] != best)
            continue;
        copies[i] = (uint32_t)(share - given);
        given = share;
        last = i;
    }
    copies[last] += (uint32_t)(further - given);
    if (best == FIT_NOT)
        return false;
    for (size_t rank = 0; rank < ranks; rank++) {
        if (stage_of(p->w, rank) != stage)
            continue;
        take_rank(p, rank);
        for (uint32_t layer = 0; layer + 1 < layers; layer++) {
            st_repeat_unit unit = layer_unit(p, &p->repeats->items[run], layer);
            unit.copies = copies[layer];
            unit.kind = (uint32_t)run;
            if (unit.copies > 0 || fits[layer] == FIT)
                add_unit(p, &unit);
        }
    }
    return true;
}

/* Layers of every stage; false where they cannot be repeated. */
static bool plan_layers(planner *p)
{
    st_whatif *w = p->w;
    bool done = have_equal_runs(w) && w->layer_growth > 1;
    if (done)
        list_waits(p);
    for (uint32_t s = 0; s < (w->stages.count > 1 ? w->stages.count : 1); s++) {
        const st_repeats *found = &w->repeats[w->stages.count > 1 ? w->stages.ranks[s] : 0];
        double set = found->layers * w->layer_growth;
        done = done && fabs(set - round(set)) < 1e-9 * set;
        for (size_t run = 0; run < found->count && done && w->status == ST_OK; run++)
            done = plan_run(p, s, run, found->layers, (uint32_t)llround(set) - found->layers);
    }
    return done;
}

/* --- micro-batches ---------------------------------------------------------------------------- */

/* `spans`: the micro-batches of a step. */
static void plan_step(planner *p, const st_micros *found, const st_micro_span *spans,
                      uint32_t copies)
{
    const st_micro_span *one = &spans[found->each > 1 ? found->each - 2 : 0];
    st_repeat_unit unit = {.rank = p->rank, .from_ns = launch_ns(p, one->first), .copies = copies};
    if (unit.from_ns < 0) {
        st_whatif_refuse(p->w, "the call that launches a micro-batch is not recorded");
        return;
    }
    if (found->each > 1) {
        unit.to_ns = launch_ns(p, one[1].first);
    } else {
        /* Where a step's last micro-batch is over on the thread that began it: as far as that
         * thread goes before it launches the next kernel, or waits for the GPU. */
        const st_graph_arrays graph = st_graph_arrays_of(p->w->graph->graph);
        const st_trace_rank *rank = &p->w->graph->ranks[p->rank];
        st_task_id host = rank->hosts[p->repeats->tasks[one->first]];
        uint32_t resource = graph.resource[host];
        st_task_id next = st_graph_last_task(p->w->graph->graph, resource);
        for (uint32_t i = one->first; i < p->repeats->task_count; i++) {
            st_task_id own = rank->hosts[p->repeats->tasks[i]];
            if (own == ST_TASK_NONE || graph.resource[own] != resource)
                continue;
            if (i >= one->end) {
                next = own;
                break;
            }
            host = own;
        }
        int64_t backward_ns = launch_ns(p, one->end - 1);
        for (st_task_id task = host + 1; task <= next; task++) {
            bool for_gpu = false;
            for (uint32_t i = graph.before_first[task]; i < graph.before_first[task + 1]; i++)
                for_gpu = for_gpu || graph.before_kind[i] == ST_EDGE_SYNC;
            if (for_gpu && st_replay_task(p->w->replay, task - 1).end_ns > backward_ns) {
                next = task - 1;
                break;
            }
        }
        unit.to_ns = st_replay_task(p->w->replay, next).end_ns;
        unit.reduces = found->reduces;
    }
    if (unit.to_ns > unit.from_ns)
        add_unit(p, &unit);
}

static void plan_micros(planner *p)
{
    st_whatif *w = p->w;
    double set = w->values.set[ST_WHATIF_MICROS];
    w->repeats_micros = true;
    for (size_t rank = 0; rank < w->graph->set->count && w->status == ST_OK; rank++) {
        take_rank(p, rank);
        const st_micros found = st_whatif_micros_of(w, rank);
        if (w->status == ST_OK && (set < (double)found.each || fmod(set, 1) != 0))
            w->repeats_micros = false;
        for (size_t i = 0; i < found.steps && w->repeats_micros && w->status == ST_OK; i++)
            if (set > (double)found.each)
                plan_step(p, &found, found.items + found.each * i,
                          (uint32_t)set - (uint32_t)found.each);
    }
}

/* --- both ------------------------------------------------------------------------------------- */

void st_whatif_plan_repeats(st_whatif *w)
{
    planner p = {.w = w};
    bool pipeline = w->values.set[ST_WHATIF_PP] > 0 || w->values.set[ST_WHATIF_MICROS] > 0;
    if (st_whatif_adds_micros(w)) {
        plan_micros(&p); /* layers besides are stretched */
    } else if (w->values.set[ST_WHATIF_LAYERS] > 0 && !pipeline) {
        w->repeats_layers = plan_layers(&p);
        w->unit_count = w->repeats_layers ? w->unit_count : 0;
    }
}

/* What of a unit is on one resource. */
typedef struct group {
    uint32_t unit;
    st_task_id anchor; /* the first of its unit on the resource: copies precede it */
    st_task_id first;  /* that is repeated */
    uint32_t count;
    st_task_id copies; /* the first one's number in the new graph */
} group;

typedef struct builder {
    st_whatif *w;
    const st_graph *old;
    st_graph_arrays was; /* of the old graph */
    st_graph *graph;
    size_t *first_unit; /* by rank, and behind the last one the end */
    uint32_t *unit;     /* by task: 1 + the unit in whose time it is; 0: none */
    uint32_t *group;    /* by task: 1 + its group; 0: it is not repeated */
    uint32_t *anchored; /* by task: 1 + the group whose copies precede it */
    uint32_t *place;    /* by task, in its group */
    st_task_id *next;   /* by task, in its group */
    bool *empty;        /* by task: its copies last no time */
    int64_t *copied_ns; /* by task: how long its copies last */
    double *sum_ns;     /* by task: over those that do the same in other units */
    st_task_id *moved;  /* by task: its number in the new graph */
    st_task_id *like;   /* by task: 1 + the one that does the same in the layer before; 0: none */
    uint32_t *meetings; /* by instance: that of the first copies, 0: there are none */
    const st_whatif_room *room; /* without copies: by task, what it waits for in a launch queue */
    group *groups;
    size_t group_count;
} builder;

ST_COMPARE(compare_units, st_repeat_unit, ST_RISING(rank) ST_RISING(from_ns));

/* --- what is repeated ------------------------------------------------------------------------- */

/* 1 + the unit of a rank in which a call begins, or, with `ends`, a host task ends. */
static uint32_t unit_at(const builder *b, size_t rank, int64_t time_ns, bool ends)
{
    size_t low = b->first_unit[rank];
    int64_t at_ns = ends ? time_ns - 1 : time_ns;
    ST_BISECT(low, b->first_unit[rank + 1], b->w->units[middle].from_ns <= at_ns);
    bool inside = low > b->first_unit[rank] && at_ns < b->w->units[low - 1].to_ns;
    return inside ? (uint32_t)low : 0;
}

/* A GPU task, its delay, and the lag of its launch. */
static void mark_task(builder *b, st_task_id task, uint32_t unit, bool repeated)
{
    st_task_id delay = st_whatif_delay_of(b->w, task);
    st_task_id first = delay != ST_TASK_NONE ? delay : task;
    for (st_task_id i = first; i <= task; i++) {
        b->unit[i] = unit;
        b->group[i] = repeated;
    }
    for (uint32_t i = b->was.before_first[first]; i < b->was.before_first[first + 1]; i++) {
        if (b->was.before_kind[i] != ST_EDGE_LAUNCH)
            continue;
        b->unit[b->was.before[i]] = unit;
        b->group[b->was.before[i]] |= repeated;
    }
}

static void mark_tasks(builder *b)
{
    for (size_t r = 0; r < b->w->graph->set->count; r++) {
        const st_trace_rank *rank = &b->w->graph->ranks[r];
        const st_trace *trace = b->w->graph->set->ranks[r];
        for (size_t i = 0; i < trace->event_count; i++) {
            st_task_id host = rank->tasks[i] == ST_TASK_NONE ? ST_TASK_NONE : rank->hosts[i];
            if (host == ST_TASK_NONE)
                continue;
            int64_t launched_ns = st_replay_task(b->w->replay, host).end_ns;
            uint32_t unit = unit_at(b, r, launched_ns, false);
            bool reduces = unit != 0 && b->w->units[unit - 1].reduces &&
                           trace->events[i].class_ == ST_TRACE_COMMUNICATION;
            if (unit != 0)
                mark_task(b, rank->tasks[i], unit, !reduces);
            b->empty[host] |= reduces && b->was.before_first[host + 1] == b->was.before_first[host];
        }
    }
}

/*
 * What the host does between the same calls differs by chance from one layer or micro-batch to the
 * next: a further one has the mean of its kind on the thread.
 */
static void average_group(builder *b, size_t index)
{
    const group *one = &b->groups[index];
    uint32_t resource = b->was.resource[one->anchor];
    size_t first = index;
    double count = 0;
    if (one->count == 0 || st_graph_resource_kind(b->old, resource) != ST_RESOURCE_HOST ||
        strcmp(st_graph_task(b->old, one->first).category_name, "delay") == 0)
        return;
    while (first > 0 && b->was.resource[b->groups[first - 1].anchor] == resource)
        first--; /* tasks of a thread, and so their groups, are adjacent */
    for (size_t i = first; i < b->group_count && b->was.resource[b->groups[i].anchor] == resource;
         i++) {
        const group *other = &b->groups[i];
        if (other->count != one->count ||
            b->w->units[other->unit].kind != b->w->units[one->unit].kind)
            continue;
        st_task_id average_task = one->first;
        st_task_id like = other->first;
        for (uint32_t j = 0; j < one->count;
             j++, average_task = b->next[average_task], like = b->next[like])
            b->sum_ns[average_task] += b->empty[like] ? 0 : (double)b->was.duration_ns[like];
        count++;
    }
    st_task_id task = one->first;
    for (uint32_t i = 0; i < one->count; i++, task = b->next[task])
        b->copied_ns[task] = llround(b->sum_ns[task] / count);
}

/*
 * Tasks of one unit follow each other on a resource. What is not repeated counts, too:
 * copies precede all of it.
 */
static void make_groups(builder *b)
{
    uint32_t *last = st_xalloc(b->w->arena, st_graph_resource_count(b->old) + 1, sizeof *last);
    st_task_id *tail = st_xalloc(b->w->arena, st_graph_resource_count(b->old) + 1, sizeof *tail);
    for (st_task_id task = 0; task < b->was.task_count; task++) {
        uint32_t resource = b->was.resource[task];
        if (b->unit[task] == 0)
            continue;
        if (last[resource] == 0 || b->groups[last[resource] - 1].unit != b->unit[task] - 1) {
            group one = {.unit = b->unit[task] - 1, .anchor = task};
            ST_XAPPEND(b->w->arena, b->groups, b->group_count, one);
            last[resource] = (uint32_t)b->group_count;
        }
        if (b->group[task] == 0)
            continue;
        group *own = &b->groups[last[resource] - 1];
        *(own->count == 0 ? &own->first : &b->next[tail[resource]]) = task;
        tail[resource] = task;
        b->group[task] = last[resource];
        b->place[task] = own->count++;
        b->anchored[own->anchor] = last[resource];
    }
    for (size_t i = 0; i < b->group_count; i++) {
        /* How long copies last: what leads to a collective that is not repeated is not done. */
        const group *one = &b->groups[i];
        st_task_id task = one->first;
        for (uint32_t j = 0; j < one->count; j++, task = b->next[task])
            b->copied_ns[task] = b->empty[task] ? 0 : b->was.duration_ns[task];
        average_group(b, i);
    }
}

/* --- the new graph ---------------------------------------------------------------------------- */

static uint32_t copies_of(const builder *b, st_task_id task)
{
    return b->groups == NULL || b->group[task] == 0
               ? 0
               : b->w->units[b->groups[b->group[task] - 1].unit].copies;
}

static st_task_id copy_of(const builder *b, st_task_id task, uint32_t copy)
{
    const group *one = &b->groups[b->group[task] - 1];
    return one->copies + copy * one->count + b->place[task];
}

static void add_names(builder *b)
{
    st_errors *errors = b->w->errors;
    st_status status = ST_OK;
    uint32_t number = 0;
    uint16_t category = 0;
    for (size_t i = 0; i < b->was.name_count && status == ST_OK; i++)
        status = st_graph_name(b->graph, b->was.names[i], &number, errors);
    for (size_t i = 1; i < st_graph_category_count(b->old) && status == ST_OK; i++) {
        const char *name = st_graph_category_name(b->old, (uint16_t)i);
        status = st_graph_category(b->graph, name, st_graph_category_work(b->old, (uint16_t)i),
                                   &category, errors);
    }
    for (uint32_t i = 0; i < st_graph_resource_count(b->old) && status == ST_OK; i++)
        status = st_graph_resource(b->graph, st_graph_resource_rank(b->old, i),
                                   st_graph_resource_kind(b->old, i),
                                   st_graph_resource_name(b->old, i), &number, errors);
    st_note(&b->w->status, status);
}

static uint32_t add_instance(builder *b, uint32_t members)
{
    uint32_t number = 0;
    if (b->w->status == ST_OK)
        b->w->status = st_graph_instance(b->graph, members, &number, b->w->errors);
    return number;
}

/* As many members meet in a copy as are repeated. */
static void add_meetings(builder *b)
{
    uint32_t *members =
        st_xalloc(b->w->arena, st_graph_instance_count(b->old) + 1, sizeof *members);
    uint32_t *copies = st_xalloc(b->w->arena, st_graph_instance_count(b->old) + 1, sizeof *copies);
    for (uint32_t i = 1; i <= st_graph_instance_count(b->old); i++)
        (void)add_instance(b, b->was.instance_size[i]);
    for (st_task_id task = 0; task < b->was.task_count; task++) {
        uint32_t more = b->was.instance[task] != 0 ? copies_of(b, task) : 0;
        members[b->was.instance[task]] += more > 0;
        copies[b->was.instance[task]] = more > 0 ? more : copies[b->was.instance[task]];
    }
    for (uint32_t i = 1; i <= st_graph_instance_count(b->old); i++)
        for (uint32_t k = 0; k < copies[i]; k++) {
            uint32_t number = add_instance(b, members[i]);
            b->meetings[i] = k == 0 ? number : b->meetings[i];
        }
}

/* Copy `copy` of a task, from 1 on; 0: the task itself. */
static st_task_id add_task(builder *b, st_task_id task, uint32_t copy)
{
    const st_graph_arrays *old = &b->was;
    uint32_t instance = old->instance[task];
    st_task_id added = ST_TASK_NONE;
    st_task_spec spec = {.resource = old->resource[task],
                         .name = old->name[task],
                         .category = old->category[task],
                         .duration_ns = copy > 0 ? b->copied_ns[task] : old->duration_ns[task],
                         .instance = instance};
    if (copy == 0 && old->earliest_ns != NULL)
        spec.earliest_ns = old->earliest_ns[task];
    if (copy > 0 && instance != 0)
        spec.instance = b->meetings[instance] + copy - 1;
    if (b->w->status == ST_OK)
        b->w->status = st_graph_add(b->graph, &spec, &added, b->w->errors);
    return added;
}

static void add_copies(builder *b, group *one)
{
    one->copies = (st_task_id)st_graph_task_count(b->graph);
    for (uint32_t k = 1; k <= b->w->units[one->unit].copies; k++) {
        st_task_id task = one->first;
        for (uint32_t i = 0; i < one->count; i++, task = b->next[task])
            (void)add_task(b, task, k);
    }
}

static void add_edge(builder *b, st_task_id from, st_task_id to, uint8_t kind)
{
    if (b->w->status == ST_OK)
        b->w->status = st_graph_edge(b->graph, from, to, (st_edge_kind)kind, b->w->errors);
}

/*
 * What a unit leaves behind for another stream, as a collective between layers, is waited for by
 * what follows: by the task of the next layer that does the same as `to`, or by what comes first on
 * the stream of `to` where that is next to the unit. So each copy waits for the copy before, and
 * the unit itself for the last one, though a first layer or a single micro-batch waits for nothing.
 */
static void chain_copies(builder *b, st_task_id from, st_task_id to)
{
    uint32_t copies = copies_of(b, from);
    st_task_id previous = b->was.previous[to];
    st_task_id like = ST_TASK_NONE;
    if (b->like[to] != 0)
        like = b->like[to] - 1;
    else if (previous != ST_TASK_NONE && copies_of(b, previous) > 0)
        like = b->groups[b->group[previous] - 1].first;
    if (like == ST_TASK_NONE || copies_of(b, like) == 0 || b->unit[like] != b->unit[from] ||
        b->unit[to] == b->unit[from])
        return;
    for (uint32_t k = 0; k < copies; k++)
        add_edge(b, copy_of(b, from, k), k + 1 < copies ? copy_of(b, like, k + 1) : b->moved[like],
                 ST_EDGE_STREAM);
}

/* A launch waits for the end of another task, or for all that this one waits for: its delay, or
 * what is before it on its stream and elsewhere. */
static void add_room(builder *b, st_task_id to)
{
    const st_task_id task = b->room[to].freed_by;
    const st_task_id previous = b->was.previous[task];
    if (!b->room[to].at_begin || st_whatif_delay_of(b->w, task) != ST_TASK_NONE) {
        add_edge(b, b->room[to].at_begin ? previous : task, to, ST_EDGE_QUEUE);
        return;
    }
    if (previous != ST_TASK_NONE)
        add_edge(b, previous, to, ST_EDGE_QUEUE);
    for (uint32_t i = b->was.before_first[task]; i < b->was.before_first[task + 1]; i++)
        add_edge(b, b->was.before[i], to, ST_EDGE_QUEUE);
}

/* What comes from before a unit is there for the first copy; the rest of it stays among itself. */
static void copy_edge(builder *b, st_task_id from, st_task_id to, uint8_t kind)
{
    if (kind == ST_EDGE_QUEUE && b->room != NULL && b->room[to].freed_by == ST_TASK_NONE)
        add_edge(b, b->moved[from], b->moved[to], kind);
    if (kind == ST_EDGE_QUEUE)
        return; /* see add_queues */
    uint32_t copies = copies_of(b, to);
    bool inside = b->unit[from] == b->unit[to];
    add_edge(b, b->moved[from], b->moved[to], kind);
    if (copies > 0 && !inside) {
        add_edge(b, b->moved[from], copy_of(b, to, 0), kind);
        /* What a unit waits for right before it on a thread or stream, as what the
         * host does last before its first call, or a collective between layers, each copy waits
         * for in the copy before. */
        uint32_t follow_copies = copies_of(b, to);
        st_task_id behind = from + 1;
        bool known = behind < b->was.task_count && b->group[behind] != 0 &&
                     b->was.resource[behind] == b->was.resource[from] &&
                     b->unit[behind] == b->unit[to];
        for (uint32_t k = 0; k < follow_copies && known; k++) {
            const group *before = &b->groups[b->group[behind] - 1];
            st_task_id last = before->copies + (k + 1) * before->count - 1;
            add_edge(b, last, k + 1 < follow_copies ? copy_of(b, to, k + 1) : b->moved[to], kind);
        }
    }
    for (uint32_t k = 0; k < copies && inside && b->group[from] != 0; k++)
        add_edge(b, copy_of(b, from, k), copy_of(b, to, k), kind);
    if (kind == ST_EDGE_STREAM)
        chain_copies(b, from, to);
}

/* --- the launch queue --------------------------------------------------------------------------
 */

/* A launch of the new graph: the host task behind it, and what makes room when it ends. */
typedef struct launch {
    st_task_id host;
    st_task_id last;
} launch;

typedef struct launches {
    launch *items;
    size_t count;
} launches;

/* Copy `copy` of a launch, from 1 on; 0: the launch itself. */
static void add_launch(builder *b, const st_trace_rank *rank, uint32_t event, uint32_t copy,
                       launches *list)
{
    st_task_id task = rank->tasks[event];
    st_task_id host = rank->hosts[event];
    launch one = {ST_TASK_NONE, ST_TASK_NONE};
    if (copy > copies_of(b, task))
        return;
    one.last = copy > 0 ? copy_of(b, task, copy - 1) : b->moved[task];
    if (host != ST_TASK_NONE && host + 1 < b->was.task_count &&
        b->was.resource[host + 1] == b->was.resource[host])
        one.host = copy > 0 && copies_of(b, host + 1) >= copy ? copy_of(b, host + 1, copy - 1)
                                                              : b->moved[host + 1];
    ST_XAPPEND(b->w->arena, list->items, list->count, one);
}

/* Launches in their new order: copies of a unit precede it. */
static void list_launches(builder *b, const st_trace_rank *rank, const st_launch_queue *queue,
                          launches *list)
{
    for (size_t first = 0, end = 0; first < queue->count; first = end) {
        uint32_t unit = b->unit[rank->tasks[queue->entries[first].last]];
        uint32_t copies = unit == 0 ? 0 : b->w->units[unit - 1].copies;
        while (end < queue->count && b->unit[rank->tasks[queue->entries[end].last]] == unit)
            end++;
        for (uint32_t copy = 1; copy <= copies; copy++)
            for (size_t i = first; i < end; i++)
                add_launch(b, rank, queue->entries[i].last, copy, list);
        for (size_t i = first; i < end; i++)
            add_launch(b, rank, queue->entries[i].last, 0, list);
    }
}

/* With more launches each waits for another one's place; on queues of several streams none does. */
static void add_queues(builder *b)
{
    for (size_t r = 0; r < b->w->graph->set->count && b->w->status == ST_OK; r++) {
        st_order order;
        st_launch_queues queues;
        int64_t late_ns = 0;
        st_gpu_clock_order(b->w->graph->set->ranks[r], b->w->arena, &order, &late_ns);
        st_queues_find(&order, b->w->arena, &queues);
        for (size_t i = 0; i < queues.count; i++) {
            const st_launch_queue *queue = &queues.items[i];
            launches list = {0};
            if (queue->depth == 0 || !queue->is_stream)
                continue;
            list_launches(b, &b->w->graph->ranks[r], queue, &list);
            for (size_t k = queue->depth; k < list.count; k++)
                if (list.items[k].host != ST_TASK_NONE)
                    add_edge(b, list.items[k - queue->depth].last, list.items[k].host,
                             ST_EDGE_QUEUE);
        }
        st_order_free(&order);
    }
}

/* --- what points into the graph --------------------------------------------------------------- */

static void move_pointers(builder *b)
{
    st_whatif *w = b->w;
    for (size_t i = 0; i < w->graph->set->count; i++) {
        st_trace_rank *rank = &w->graph->ranks[i];
        const size_t events = w->graph->set->ranks[i]->event_count;
        for (size_t j = 0; j < rank->thread_count; j++)
            rank->threads[j] = b->moved[rank->threads[j]];
        for (size_t j = 0; j < rank->step_count; j++) {
            rank->steps[j].begins = b->moved[rank->steps[j].begins];
            rank->steps[j].ends = b->moved[rank->steps[j].ends];
        }
        for (size_t l = 0; l < events; l++) {
            st_task_id task = rank->tasks[l];
            if (rank->hosts[l] != ST_TASK_NONE)
                rank->hosts[l] = b->moved[rank->hosts[l]];
            if (task == ST_TASK_NONE)
                continue;
            for (uint32_t k = 0; k < copies_of(b, task); k++)
                ST_XAPPEND(b->w->graph->arena, rank->copies, rank->copy_count,
                           (st_trace_copy){(uint32_t)l, copy_of(b, task, k)});
            b->w->outcome->added += copies_of(b, task);
            rank->tasks[l] = b->moved[task];
        }
        st_task_id *all = NULL;
        size_t count = 0;
        for (size_t l = 0; l < rank->waiting.unknown_count; l++) {
            st_task_id task = rank->waiting.unknown[l];
            for (uint32_t k = 0; k <= copies_of(b, task); k++) {
                st_task_id one = k == 0 ? b->moved[task] : copy_of(b, task, k - 1);
                ST_XAPPEND(b->w->graph->arena, all, count, one);
            }
        }
        rank->waiting.unknown = all;
        rank->waiting.unknown_count = count;
    }
    if (w->outcome->times_before.tasks != NULL) {
        /* Copies have no time in the replay as recorded: theirs are negative. */
        st_trace_times *times = &w->outcome->times_before;
        size_t count = st_graph_task_count(b->graph);
        st_task_time *moved = st_xalloc(b->w->arena, count + 1, sizeof *moved);
        st_path_step *path = st_xalloc(b->w->arena, times->path_count + 1, sizeof *path);
        for (size_t i = 0; i < count; i++)
            moved[i] = (st_task_time){-1, -1, -1};
        for (st_task_id task = 0; task < b->was.task_count; task++)
            moved[b->moved[task]] = times->tasks[task];
        for (size_t i = 0; i < times->path_count; i++) {
            path[i] = times->path[i];
            path[i].task = b->moved[path[i].task];
        }
        times->tasks = moved;
        times->path = path;
    }
    st_trace_graph_move(w->graph, b->moved);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void allocate(builder *b)
{
    st_arena *arena = b->w->arena;
    size_t tasks = b->was.task_count + 1;
    b->first_unit = st_xalloc(arena, b->w->graph->set->count + 1, sizeof *b->first_unit);
    b->unit = st_xalloc(arena, tasks, sizeof *b->unit);
    b->group = st_xalloc(arena, tasks, sizeof *b->group);
    b->anchored = st_xalloc(arena, tasks, sizeof *b->anchored);
    b->place = st_xalloc(arena, tasks, sizeof *b->place);
    b->next = st_xalloc(arena, tasks, sizeof *b->next);
    b->empty = st_xalloc(arena, tasks, sizeof *b->empty);
    b->copied_ns = st_xalloc(arena, tasks, sizeof *b->copied_ns);
    b->sum_ns = st_xalloc(arena, tasks, sizeof *b->sum_ns);
    b->moved = st_xalloc(arena, tasks, sizeof *b->moved);
    b->like = st_xalloc(arena, tasks, sizeof *b->like);
    b->meetings = st_xalloc(arena, st_graph_instance_count(b->old) + 1, sizeof *b->meetings);
}

static st_task_id first_of(const builder *b, size_t rank, uint32_t event)
{
    st_task_id task = b->w->graph->ranks[rank].tasks[event];
    st_task_id delay = st_whatif_delay_of(b->w, task);
    return delay != ST_TASK_NONE ? delay : task;
}

/* Which kernels of two layers, one behind the other, do the same. */
static void match_layers(builder *b)
{
    for (size_t r = 0; r < b->w->graph->set->count && b->w->repeats_layers; r++) {
        const st_repeats *repeats = &b->w->repeats[r];
        for (size_t i = 0; i < repeats->count; i++) {
            const st_repeat *run = &repeats->items[i];
            for (uint32_t k = run->first; k + run->period < st_repeat_end(run); k++)
                b->like[first_of(b, r, repeats->tasks[k + run->period])] =
                    1 + first_of(b, r, repeats->tasks[k]);
        }
    }
}

static void list_units(builder *b)
{
    st_whatif *w = b->w;
    if (w->unit_count > 1)
        qsort(w->units, w->unit_count, sizeof *w->units, compare_units);
    for (size_t i = 0; i < w->unit_count; i++)
        b->first_unit[w->units[i].rank + 1] = i + 1;
    for (size_t rank = 0; rank < w->graph->set->count; rank++)
        if (b->first_unit[rank + 1] == 0)
            b->first_unit[rank + 1] = b->first_unit[rank];
}

void st_whatif_repeat(st_whatif *w)
{
    if (w->unit_count > 0)
        st_whatif_rebuild(w, NULL);
}

void st_whatif_rebuild(st_whatif *w, const st_whatif_room *room)
{
    builder b = {
        .w = w, .old = w->graph->graph, .was = st_graph_arrays_of(w->graph->graph), .room = room};
    b.graph = st_xmemory(st_graph_create(NULL));
    allocate(&b);
    list_units(&b);
    match_layers(&b);
    for (size_t rank = 0; rank < b.w->graph->set->count; rank++) {
        const bool *threads = st_whatif_threads(w, &w->graph->ranks[rank]);
        for (st_task_id task = 0; task < b.was.task_count; task++)
            if (st_whatif_is_host_work(w, threads, task)) {
                int64_t end_ns = st_replay_task(b.w->replay, task).end_ns;
                b.unit[task] = unit_at(&b, rank, end_ns, true);
                b.group[task] = b.unit[task] != 0;
            }
    }
    mark_tasks(&b);
    add_names(&b);
    make_groups(&b);
    if (w->status == ST_OK) {
        add_meetings(&b);
        for (st_task_id task = 0; task < b.was.task_count; task++) {
            if (b.groups != NULL && b.anchored[task] != 0)
                add_copies(&b, &b.groups[b.anchored[task] - 1]);
            b.moved[task] = add_task(&b, task, 0);
        }
        for (st_task_id task = 0; task < b.was.task_count; task++)
            for (uint32_t i = b.was.before_first[task]; i < b.was.before_first[task + 1]; i++)
                copy_edge(&b, b.was.before[i], task, b.was.before_kind[i]);
    }
    for (st_task_id task = 0; task < b.was.task_count && room != NULL; task++)
        if (room[task].freed_by != ST_TASK_NONE)
            add_room(&b, task);
    if (w->status == ST_OK && room == NULL)
        add_queues(&b);
    if (w->status == ST_OK)
        w->status = st_graph_seal(b.graph, w->errors);
    st_replay *replay = w->status == ST_OK ? st_xmemory(st_replay_create(b.graph)) : NULL;
    bool made = w->status == ST_OK;
    if (made)
        move_pointers(&b);
    st_replay_destroy(made ? w->replay : replay);
    st_graph_destroy(made ? w->graph->graph : b.graph);
    w->replay = made ? replay : w->replay;
    w->graph->graph = made ? b.graph : w->graph->graph;
}

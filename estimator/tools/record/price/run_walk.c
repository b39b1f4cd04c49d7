/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through the calls of workers, side by side; see run_walk.h. */
#include "record/price/run_walk.h"

#include "base/memory.h"
#include "record/price/stream_replay.h"
#include "base/numbered_texts.h"

#include <fnmatch.h>
#include <string.h>

/* Longer pauses count as so long, that no time overflows. */
static const uint64_t MOST_GAP_NS = UINT64_C(300000000000);

/* A run of the walk over all workers. */
typedef struct walker {
    st_walk *walk;
    const st_walk_options *options;
    int64_t *costs; /* by name of the run; -1: not asked yet */
    st_errors *errors;
} run_walker;

/* ---- the host ---- */

static bool is_copy_that_waits(const st_log_record *record)
{
    return record->kind == ST_LOG_COPY && (record->flags & ST_LOG_ASYNC) == 0 &&
           record->copy.direction != ST_LOG_DEVICE_TO_DEVICE;
}

static int64_t cost_of(run_walker *walker, const st_worker_call *call)
{
    uint32_t name = call->record->call;
    if (call->times != 0 && walker->options->cost_count == 0) {
        /* Calls that wait for the GPU cost what they wait. */
        uint16_t kind = call->record->kind;
        bool waits = kind == ST_LOG_STREAM_SYNC || kind == ST_LOG_EVENT_SYNC ||
                     kind == ST_LOG_DEVICE_SYNC || kind == ST_LOG_FREE ||
                     is_copy_that_waits(call->record);
        return waits ? 0 : (int64_t)call->length_ns;
    }
    if (walker->costs[name] >= 0)
        return walker->costs[name];
    const char *text = walker->walk->run->names->texts[name];
    walker->costs[name] = 0;
    for (size_t i = 0; i < walker->options->cost_count; i++)
        if (fnmatch(walker->options->costs[i].name, text, 0) == 0) {
            walker->costs[name] = walker->options->costs[i].time_ns;
            break;
        }
    return walker->costs[name];
}

/* What passes on the thread before the call. */
static int64_t gap_before(const run_walker *walker, const st_stream_replay *replay,
                          const st_worker_call *call)
{
    uint64_t left_ns = replay->recorded_ns[call->thread];
    uint64_t begin_ns = (uint64_t)call->begin_ns;
    if (left_ns == ST_REPLAY_NO_CALL || begin_ns < left_ns) /* or one more record of that call */
        return 0;
    if (walker->options->gap_ns >= 0)
        return walker->options->gap_ns;
    return begin_ns - left_ns < MOST_GAP_NS ? (int64_t)(begin_ns - left_ns) : (int64_t)MOST_GAP_NS;
}

/* ---- what a call waits for ---- */

/* The end of a lane's work; false while it is not known. */
static bool end_of_lane(const st_stream_replay *replay, uint32_t lane, int64_t *end_ns)
{
    if (lane == ST_NO_INDEX) /* too many streams: this one has no work */
        return true;
    const st_walk_lane *waited = &replay->walked->lanes[lane];
    if (waited->head != ST_NO_INDEX)
        return false;
    *end_ns = waited->ready_ns > *end_ns ? waited->ready_ns : *end_ns;
    return true;
}

static bool end_of_device(const st_stream_replay *replay, uint32_t device, int64_t *end_ns)
{
    bool known = true;
    for (size_t i = 0; i < replay->walked->lane_count && known; i++)
        if (replay->walked->lanes[i].device == device)
            known = end_of_lane(replay, (uint32_t)i, end_ns);
    return known;
}

/* When what the call waits for is over; false while that is not known. */
static bool wait_of(st_stream_replay *replay, const st_worker_call *call, int64_t *end_ns)
{
    const st_log_record *record = call->record;
    if ((record->flags & ST_LOG_CAPTURED) != 0)
        return true;
    switch ((st_log_kind)record->kind) {
    case ST_LOG_STREAM_SYNC:
        return end_of_lane(replay, st_stream_replay_lane(replay, call, record->stream.stream),
                           end_ns);
    case ST_LOG_EVENT_SYNC: {
        const uint32_t task = st_stream_replay_event(replay, &record->event);
        if (task == ST_NO_INDEX)
            return true;
        int64_t end = replay->walked->tasks[task].end_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
        return end >= 0;
    }
    case ST_LOG_DEVICE_SYNC:
        return end_of_device(replay, record->device, end_ns);
    case ST_LOG_FREE:
        return (record->flags & ST_LOG_ASYNC) != 0 || record->memory.memory == ST_LOG_PINNED ||
               end_of_device(replay, record->device, end_ns);
    default:
        return true;
    }
}

/* ---- one call ---- */

/* Puts what the call launches into its stream, once; *known: what it waits for is over. */
static st_status launch_and_wait(st_stream_replay *replay, bool copies, int64_t *end_ns,
                                 bool *known)
{
    const st_worker_call *call = &replay->walked->worker->calls[replay->next];
    *known = wait_of(replay, call, end_ns);
    if (!*known)
        return ST_OK;
    if (!replay->launched) {
        st_status status = st_stream_replay_launch(replay, (uint32_t)replay->next, *end_ns);
        if (status != ST_OK)
            return status;
        replay->launched = true;
    }
    if (copies && call->record->status == 0 && (call->record->flags & ST_LOG_CAPTURED) == 0) {
        (void)st_stream_replay_resolve(replay);
        *known = end_of_lane(replay, st_stream_replay_lane(replay, call, call->record->copy.stream),
                             end_ns);
    }
    return ST_OK;
}

/* *went: the call is done; otherwise it waits for other workers. */
static st_status walk_call(run_walker *walker, st_stream_replay *replay, bool *went)
{
    st_worker_call *call = &replay->walked->worker->calls[replay->next];
    const st_log_record *record = call->record;
    /* of the same call of the program */
    bool follows = walker->walk->run->times[call->times].behind > 0;
    int64_t begin =
        replay->clock_ns[call->thread] + (follows ? 0 : gap_before(walker, replay, call));
    int64_t end = begin + (follows ? 0 : cost_of(walker, call));
    st_status status = launch_and_wait(replay, is_copy_that_waits(record), &end, went);
    if (status != ST_OK || !*went)
        return status;
    replay->launched = false;
    const uint64_t left_ns = (uint64_t)call->begin_ns + call->length_ns;
    uint64_t *recorded_ns = &replay->recorded_ns[call->thread];
    if (*recorded_ns == ST_REPLAY_NO_CALL || *recorded_ns < left_ns)
        *recorded_ns = left_ns;
    call->begin_ns = begin;
    replay->walked->end_ns[replay->next] = end;
    replay->clock_ns[call->thread] = end;
    replay->next++;
    return ST_OK;
}

/* ---- all workers ---- */

/* Collectives for which some never come end with those that did. */
static bool give_up_waiting(st_walk *walk)
{
    bool any = false;
    for (size_t i = 0; i < walk->groups->instance_count; i++) {
        st_instance_of *instance = &walk->groups->instances[i];
        if (instance->arrived == 0 || instance->arrived >= instance->expected)
            continue;
        instance->expected = instance->arrived;
        walk->unmatched++;
        any = true;
    }
    return any;
}

static bool is_done(const st_walk *walk, const st_stream_replay *replays)
{
    for (size_t i = 0; i < walk->run->worker_count; i++)
        if (replays[i].next < replays[i].walked->worker->call_count ||
            !st_stream_replay_is_done(&replays[i]))
            return false;
    return true;
}

static st_status walk_all(run_walker *walker, st_stream_replay *replays)
{
    st_status status = ST_OK;
    while (status == ST_OK && !is_done(walker->walk, replays)) {
        bool any = false;
        for (size_t i = 0; i < walker->walk->run->worker_count && status == ST_OK; i++) {
            /* As far as it goes without others; *any: it went at all. */
            st_stream_replay *replay = &replays[i];
            bool went = true;
            while (status == ST_OK && went && replay->next < replay->walked->worker->call_count) {
                status = walk_call(walker, replay, &went);
                if (status == ST_OK && !went) {
                    went = st_stream_replay_resolve(replay);
                    any = any || went;
                } else {
                    any = true;
                }
            }
            any = st_stream_replay_resolve(&replays[i]) || any;
        }
        if (status == ST_OK && !any && !give_up_waiting(walker->walk))
            return st_fail(walker->errors, ST_ERR_CYCLE,
                           (st_place){.file = walker->walk->run->folder},
                           "deadlock: all ranks wait for each other");
    }
    return status;
}

st_status st_walk_run(const st_run *run, const st_price *prices, st_groups *groups,
                      const st_walk_options *options, st_walk **walk, st_errors *errors)
{
    st_arena *arena = groups->arena;
    st_walk *made = st_arena_alloc(arena, 1, sizeof *made);
    st_stream_replay *replays = st_arena_alloc(arena, run->worker_count + 1, sizeof *replays);
    run_walker walker = {.walk = made, .options = options, .errors = errors};
    walker.costs = st_arena_alloc(arena, (size_t)run->names->count + 1, sizeof(int64_t));
    *made = (st_walk){.run = run, .prices = prices, .groups = groups, .arena = arena};
    made->workers = st_arena_alloc(arena, run->worker_count + 1, sizeof *made->workers);
    for (uint32_t i = 0; i < run->names->count; i++)
        walker.costs[i] = -1;
    for (size_t i = 0; i < run->worker_count; i++) {
        const st_worker *worker = &run->workers[i];
        st_walk_worker *walked = &made->workers[i];
        st_stream_replay *replay = &replays[i];
        *walked = (st_walk_worker){.worker = worker};
        /* Room that is not used costs no memory; lists that grow leave what they grew out of. */
        walked->task_room = worker->call_count + 1;
        walked->tasks = st_arena_alloc(arena, walked->task_room, sizeof *walked->tasks);
        walked->end_ns = st_arena_alloc(arena, worker->call_count + 1, sizeof(int64_t));
        *replay = (st_stream_replay){
            .walk = made, .walked = walked, .index = (uint32_t)i, .errors = errors};
        replay->clock_ns = st_arena_alloc(arena, worker->thread_count + 1, sizeof(int64_t));
        replay->recorded_ns = st_arena_alloc(arena, worker->thread_count + 1, sizeof(uint64_t));
        for (size_t j = 0; j < worker->thread_count; j++)
            replay->recorded_ns[j] = ST_REPLAY_NO_CALL;
    }
    st_status status = walk_all(&walker, replays);
    if (status == ST_OK)
        *walk = made;
    return status;
}

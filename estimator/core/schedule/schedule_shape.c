/* SPDX-License-Identifier: Apache-2.0 */
/* What schedules are called, where their chunks lie, and which shapes they know. */
#include "schedule/schedule_internal.h"

enum { MOST_CHUNKS = 65535 };
#define MOST_SLOTS (UINT64_C(1) << 24)

const char *st_schedule_name(st_schedule_kind kind)
{
    static const char *const names[ST_SCHEDULES] = {"gpipe",       "1f1b",          "interleaved",
                                                    "zero_bubble", "zero_bubble_2", "zero_bubble_v",
                                                    "v_half",      "v_min",         "dualpipe"};
    return (unsigned)kind < ST_SCHEDULES ? names[kind] : "";
}

bool st_schedule_is_folded(st_schedule_kind kind)
{
    return kind == ST_SCHEDULE_ZERO_BUBBLE_V || kind == ST_SCHEDULE_V_HALF ||
           kind == ST_SCHEDULE_V_MIN;
}

bool st_schedule_looks_at_times(st_schedule_kind kind)
{
    return st_schedule_is_folded(kind) || kind == ST_SCHEDULE_ZERO_BUBBLE_2;
}

bool st_schedule_is_staggered(st_schedule_kind kind)
{
    return kind == ST_SCHEDULE_ZERO_BUBBLE_2 || st_schedule_is_folded(kind);
}

uint32_t st_schedule_places(const st_schedule_shape *shape)
{
    return shape->kind == ST_SCHEDULE_DUALPIPE ? shape->stages : shape->stages * shape->chunks;
}

uint32_t st_schedule_rank_chunks(const st_schedule_shape *shape)
{
    return shape->kind == ST_SCHEDULE_DUALPIPE ? 2 : shape->chunks;
}

uint32_t st_schedule_place(const st_schedule_shape *shape, uint32_t stage, uint32_t chunk)
{
    if (shape->kind == ST_SCHEDULE_DUALPIPE)
        return chunk == 0 ? stage : shape->stages - 1 - stage;
    if (st_schedule_is_folded(shape->kind))
        return chunk == 0 ? stage : 2 * shape->stages - 1 - stage;
    return chunk * shape->stages + stage;
}

uint32_t st_schedule_stage(const st_schedule_shape *shape, uint32_t place, uint32_t micro)
{
    if (shape->kind == ST_SCHEDULE_DUALPIPE)
        return micro < shape->micros / 2 ? place : shape->stages - 1 - place;
    if (st_schedule_is_folded(shape->kind) && place >= shape->stages)
        return 2 * shape->stages - 1 - place;
    return place % shape->stages;
}

static const char *number(st_errors *errors, uint32_t value)
{
    return st_errors_text(errors, "%lu", (unsigned long)value);
}

/* What makes an order of a folded schedule grows with the square of its stages. */
enum { MOST_FOLDED = 4096 };

st_status st_schedule_check(const st_schedule_shape *shape, st_errors *errors)
{
    if ((unsigned)shape->kind >= ST_SCHEDULES)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "unknown schedule" ST_EXPECTED "a kind of st_schedule_kind");
    const char *name = st_schedule_name(shape->kind);
    if (shape->stages == 0 || shape->micros == 0 || shape->chunks == 0) {
        const char *what = shape->stages == 0   ? "stage"
                           : shape->micros == 0 ? "micro-batch"
                                                : "chunk";
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "schedule %s has no %s" ST_FOUND "0" ST_EXPECTED "at least 1", name, what);
    }
    if (st_schedule_is_folded(shape->kind)
            ? shape->chunks != 2
            : shape->chunks > 1 && shape->kind != ST_SCHEDULE_INTERLEAVED) {
        bool folded = st_schedule_is_folded(shape->kind);
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "schedule %s requires %s per stage" ST_FOUND "%s" ST_EXPECTED "%s", name,
                       folded ? "two chunks" : "one chunk", number(errors, shape->chunks),
                       folded ? "2" : "1, or the interleaved schedule");
    }
    uint64_t slots = 3 * (uint64_t)shape->stages * shape->micros;
    uint64_t most_stages = st_schedule_is_folded(shape->kind) ? MOST_FOLDED : MOST_SLOTS;
    if (shape->stages > most_stages || shape->chunks > MOST_CHUNKS ||
        slots > MOST_SLOTS / shape->chunks)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%lu stages with %lu chunks and %lu micro-batches are too many" ST_EXPECTED
                       "at most 2^24 passes",
                       (unsigned long)shape->stages, (unsigned long)shape->chunks,
                       (unsigned long)shape->micros);
    if (shape->kind != ST_SCHEDULE_DUALPIPE)
        return ST_OK;
    if (shape->stages % 2 != 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "DualPipe needs an even number of stages" ST_FOUND "%s" ST_EXPECTED
                       "an even number",
                       number(errors, shape->stages));
    if (shape->micros % 2 != 0 || shape->micros / 2 < shape->stages)
        return st_fail(
            errors, ST_ERR_VALUE, (st_place){0},
            "DualPipe needs an even number of micro-batches, at least two per stage" ST_FOUND
            "%s" ST_EXPECTED "an even number of at least %lu",
            number(errors, shape->micros), 2 * (unsigned long)shape->stages);
    return ST_OK;
}

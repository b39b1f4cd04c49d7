/* SPDX-License-Identifier: Apache-2.0 */
/* Which plans are the best; see rank.h. */
#include "search/rank.h"

#include "base/lists.h"

#include <math.h>
#include <string.h>

bool st_results_make(st_results *results, size_t top, bool has_front, size_t reason_count,
                     st_arena *arena)
{
    *results = (st_results){.top = top, .reason_count = reason_count};
    results->ranking = st_arena_alloc(arena, top + 1, sizeof *results->ranking);
    results->reasons = st_arena_alloc(arena, reason_count + 1, sizeof *results->reasons);
    if (has_front)
        results->front = st_arena_alloc(arena, ST_RANK_MAX_FRONT + 1, sizeof *results->front);
    return results->ranking != NULL && results->reasons != NULL &&
           (!has_front || results->front != NULL);
}

void st_results_clear(st_results *results)
{
    results->ranking_count = 0;
    results->front_count = 0;
    results->front_full = false;
    results->done = 0;
    results->kept = 0;
    results->has_nearest = false;
    memset(results->reasons, 0, results->reason_count * sizeof *results->reasons);
}

/* --- ranking --------------------------------------------------------------------------------- */

static bool is_before(const st_found *a, const st_found *b)
{
    return a->goal < b->goal || (a->goal == b->goal && a->row < b->row);
}

void st_rank_add(st_results *results, const st_found *one)
{
    st_found *ranking = results->ranking;
    bool full = results->ranking_count == results->top;
    if (full && (results->top == 0 || !is_before(one, &ranking[results->top - 1])))
        return;
    results->ranking_count += full ? 0 : 1;
    size_t at = results->ranking_count - 1;
    while (at > 0 && is_before(one, &ranking[at - 1])) {
        ranking[at] = ranking[at - 1];
        at--;
    }
    ranking[at] = *one;
}

const st_found *st_rank_worst(const st_results *results)
{
    bool full = results->ranking_count == results->top && results->top > 0;
    return full ? &results->ranking[results->top - 1] : NULL;
}

/* --- Pareto front ---------------------------------------------------------------------------- */

void st_rank_add_front(st_results *results, const st_found *one)
{
    /* The first point whose first cell is not below that of `one`. */
    size_t place = 0;
    ST_BISECT(place, results->front_count, results->front[middle].front[0] < one->front[0]);
    bool is_dominated = true;
    if (place <= 0 || !(results->front[place - 1].front[1] <= one->front[1])) {
        const st_found *other = &results->front[place];
        if (place == results->front_count || other->front[0] != one->front[0])
            is_dominated = false;
        else
            is_dominated = other->front[1] < one->front[1] ||
                           (other->front[1] == one->front[1] && other->row <= one->row);
    }
    if (is_dominated)
        return;
    st_found *front = results->front;
    size_t end = place;
    while (end < results->front_count && front[end].front[1] >= one->front[1])
        end++;
    if (end == place && results->front_count == ST_RANK_MAX_FRONT) {
        results->front_full = true;
        return;
    }
    memmove(&front[place + 1], &front[end], (results->front_count - end) * sizeof *front);
    front[place] = *one;
    results->front_count += 1 - (end - place);
}

/* --- nearest to fitting ---------------------------------------------------------------------- */

/* Fewest failing checks first, then the least of what it would need. */
void st_rank_add_nearest(st_results *results, uint64_t row, double failing, double need)
{
    st_found one = {.row = row, .goal = failing, .front = {isfinite(need) ? need : HUGE_VAL, 0}};
    const st_found *best = &results->nearest;
    bool nearer =
        one.front[0] < best->front[0] || (one.front[0] == best->front[0] && row < best->row);
    if (!results->has_nearest || one.goal < best->goal || (one.goal == best->goal && nearer)) {
        results->nearest = one;
        results->has_nearest = true;
    }
}

/* --- merging --------------------------------------------------------------------------------- */

void st_results_merge(st_results *into, const st_results *from)
{
    for (size_t i = 0; i < from->ranking_count; i++)
        st_rank_add(into, &from->ranking[i]);
    for (size_t i = 0; i < from->front_count; i++)
        st_rank_add_front(into, &from->front[i]);
    for (size_t i = 0; i < from->reason_count; i++)
        into->reasons[i] += from->reasons[i];
    into->front_full = into->front_full || from->front_full;
    into->done += from->done;
    into->kept += from->kept;
    if (from->has_nearest) {
        const st_found *nearest = &from->nearest;
        st_rank_add_nearest(into, nearest->row, nearest->goal, nearest->front[0]);
    }
}

/* The lists follow the results, whose pointers are invalid in other processes. */
static size_t front_room(const st_results *results)
{
    return results->front != NULL ? ST_RANK_MAX_FRONT : 0;
}

size_t st_results_bytes(const st_results *results)
{
    return sizeof *results + results->reason_count * sizeof *results->reasons +
           (results->top + front_room(results)) * sizeof(st_found);
}

static void copy(void *to, const void *from, size_t count, size_t size)
{
    if (count > 0)
        memcpy(to, from, count * size);
}

void st_results_pack(const st_results *results, unsigned char *bytes)
{
    memset(bytes, 0, st_results_bytes(results));
    memcpy(bytes, results, sizeof *results);
    bytes += sizeof *results;
    copy(bytes, results->reasons, results->reason_count, sizeof *results->reasons);
    bytes += results->reason_count * sizeof *results->reasons;
    copy(bytes, results->ranking, results->ranking_count, sizeof *results->ranking);
    bytes += results->top * sizeof *results->ranking;
    copy(bytes, results->front, results->front_count, sizeof *results->front);
}

void st_results_merge_packed(st_results *into, unsigned char *bytes)
{
    st_results from;
    memcpy(&from, bytes, sizeof from);
    bytes += sizeof from;
    from.reasons = (void *)bytes;
    bytes += from.reason_count * sizeof *from.reasons;
    from.ranking = (void *)bytes;
    bytes += from.top * sizeof *from.ranking;
    from.front = (void *)bytes;
    st_results_merge(into, &from);
}

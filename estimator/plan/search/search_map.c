/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search as a map over two keys of its plans, as Figure 13 of Moye: in every cell the best plan
 * that fits with these two values, or, where none fits, how much memory the nearest one lacks.
 */
#include "search/worker.h"

#include "job/bind.h"
#include "base/memory.h"
#include "steptime/keys.h"

#include <string.h>

enum { GOAL, MEMORY, LIMIT, CELLS }; /* of the map's space */
enum { MOST_VALUES = 64 };

typedef struct search_map {
    st_search search; /* with the cells of the map */
    st_plan_param params[2];
    double values[2][MOST_VALUES + 1]; /* rising */
    size_t count[2];
    st_fit_map *map;
} search_map;

/* --- keys ------------------------------------------------------------------------------------- */

static st_status read_keys(const char *const keys[2], st_arena *arena, search_map *map,
                           st_errors *errors)
{
    const st_place place = {.file = "--map"};
    for (int i = 0; i < 2; i++) {
        const char *names[ST_PARAMS];
        for (int k = 0; k < ST_PARAMS; k++)
            names[k] = st_plan_param_key((st_plan_param)k);
        /* "tp" is "parallel.tp". */
        const char *name = keys[i];
        st_plan_param param = st_plan_param_find(name);
        const char *whole = st_arena_printf(arena, ST_KEY_PARALLEL ".%s", name);
        map->params[i] = param == ST_PARAMS && whole != NULL ? st_plan_param_find(whole) : param;
        if (map->params[i] == ST_PARAMS)
            return st_fail(errors, ST_ERR_USAGE, place,
                           "'%.80s' is not a key that the search varies" ST_EXPECTED
                           "two keys of plans, such as tp,pp" ST_HINT "%s",
                           keys[i], st_errors_nearest(errors, keys[i], names, ST_PARAMS));
        map->map->keys[i] = st_plan_param_key(map->params[i]);
    }
    if (map->params[0] == map->params[1])
        return st_fail(errors, ST_ERR_USAGE, place,
                       "both keys are %s" ST_EXPECTED "two keys, such as tp,pp", map->map->keys[0]);
    return ST_OK;
}

/* --- plans ------------------------------------------------------------------------------------ */

/* The place of a value among those of a side, which it joins where it is new. */
static size_t place_of(search_map *map, int side, double value)
{
    double *values = map->values[side];
    size_t at = 0;
    while (at < map->count[side] && values[at] < value)
        at++;
    if ((at == map->count[side] || values[at] != value) && map->count[side] < MOST_VALUES) {
        memmove(&values[at + 1], &values[at], (map->count[side] - at) * sizeof *values);
        values[at] = value;
        map->count[side]++;
    }
    return at;
}

static void take_block(void *context, const st_space_worker *space, const uint64_t *picks,
                       size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        search_map *map = context;
        const uint64_t pick = picks[i];
        const st_search *search = &map->search;
        double values[ST_PARAMS];
        bool over = st_search_is_over(search->space, space, i);
        if (over && !st_search_exceeds(search->space, space, i))
            continue; /* no plan */
        /* How often a plan is repeated, for the rows of further axes. */
        st_plan_at(&search->plans,
                   pick / (search->plans.count > 0 ? search->total / search->plans.count : 1),
                   values);
        const double missing_bytes = space->outputs[MEMORY][i] - space->outputs[LIMIT][i];
        st_fit_map_take(map->map, place_of(map, 0, values[map->params[0]]),
                        place_of(map, 1, values[map->params[1]]),
                        &(st_map_cell){.tried = true,
                                       .fits = !over,
                                       .goal = space->outputs[GOAL][i],
                                       .memory_bytes = space->outputs[MEMORY][i],
                                       .missing_bytes = over ? missing_bytes : 0});
    }
}

/* The same space with the goal, memory and its limit as cells. */
static st_status make_space(const st_paths *paths, const st_search *search, search_map *map,
                            st_errors *errors)
{
    static const st_role_part wanted[] = {{ST_ROLE_MEMORY, 0}, {ST_ROLE_GPU_MEMORY, 0}};
    const st_role_list list = {wanted, 2, "a map of the plans that fit needs"};
    const char **cells = st_arena_alloc(search->space->arena, CELLS, sizeof *cells);
    st_status status =
        cells != NULL ? st_sheet_need_roles(search->space->sheet, &list, &cells[MEMORY], errors)
                      : st_out_of_memory(errors);
    if (status != ST_OK)
        return status;
    cells[GOAL] = search->goal;
    return st_search_with_cells(paths, search, cells, CELLS, &map->search, errors);
}

/* A value as jobs say it: words of an enumeration. */
static const char *value_text(const search_map *map, int side, size_t index)
{
    st_arena *arena = map->search.space->arena;
    const char *key = st_plan_param_key(map->params[side]);
    char text[ST_QUANTITY_TEXT];
    const st_sheet_input *input = st_sheet_reading(map->search.space->sheet, key);
    if (input == NULL)
        return st_arena_printf(arena, "%g", map->values[side][index]);
    return st_arena_printf(
        arena, "%s",
        st_type_format(&input->type, map->values[side][index], ST_STYLE_SCALED, text, sizeof text));
}

st_status st_search_map_make(const st_paths *paths, const st_search *search,
                             const char *const keys[2], st_fit_map *made, st_errors *errors)
{
    search_map map = {.map = made};
    *made = (st_fit_map){.job = st_job_name(search->space->base.job),
                         .goal = search->goal,
                         .sign = search->sign,
                         .plans = search->rows,
                         .arena = search->space->arena};
    st_status status = read_keys(keys, made->arena, &map, errors);
    if (status == ST_OK)
        status = make_space(paths, search, &map, errors);
    if (status == ST_OK) {
        st_fit_map *side_made = map.map;
        const st_search *side_search = &map.search;
        double values[ST_PARAMS];
        for (uint64_t plan = 0; plan < side_search->plans.count; plan++) {
            st_plan_at(&side_search->plans, plan, values);
            for (int side = 0; side < 2; side++)
                (void)place_of(&map, side, values[map.params[side]]);
        }
        if (map.count[0] == MOST_VALUES || map.count[1] == MOST_VALUES) {
            status = st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--map"},
                             "%s and %s have too many values for a map" ST_EXPECTED "fewer than 64",
                             side_made->keys[0], side_made->keys[1]);
        } else {
            for (int side = 0; side < 2; side++) {
                side_made->count[side] = map.count[side];
                side_made->texts[side] = st_arena_alloc(side_made->arena, map.count[side] + 1,
                                                        sizeof *side_made->texts[side]);
                for (size_t i = 0; side_made->texts[side] != NULL && i < map.count[side]; i++)
                    side_made->texts[side][i] = value_text(&map, side, i);
            }
            side_made->cells =
                st_arena_alloc(side_made->arena, side_made->count[0] * side_made->count[1] + 1,
                               sizeof *side_made->cells);
            status = st_arena_failed(side_made->arena) ? st_out_of_memory(errors) : ST_OK;
        }
    }
    if (status != ST_OK)
        return status;
    made->goal_type = map.search.space->types[GOAL];
    status = st_search_each_block(&map.search, UINT64_MAX, take_block, &map);
    st_fit_map_pack(made);
    return status;
}

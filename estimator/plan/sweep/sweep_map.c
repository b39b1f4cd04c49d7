/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a map of what fits over two of its axes; see plot.h. */
#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "sweep/plot.h"

#include <string.h>

enum { GOAL, MEMORY, LIMIT, CELLS };

static st_status find_axes(const st_space *space, const char *const keys[2], st_sweep_map *map,
                           st_errors *errors)
{
    const st_place place = {.file = "--map"};
    for (int side = 0; side < 2; side++) {
        /* "tp" is "parallel.tp". */
        const char *name = keys[side];
        const char *whole = st_arena_printf(space->arena, ST_KEY_PARALLEL ".%s", name);
        size_t own = st_space_axis_of(space, name);
        size_t short_for = whole != NULL ? st_space_axis_of(space, whole) : SIZE_MAX;
        map->axes[side] = own < short_for ? own : short_for;
        if (map->axes[side] == SIZE_MAX)
            return st_fail(errors, ST_ERR_USAGE, place,
                           "'%.80s' is no axis of the sweep" ST_EXPECTED "a key that --over names",
                           keys[side]);
    }
    if (map->axes[0] == map->axes[1])
        return st_fail(errors, ST_ERR_USAGE, place, "both keys are %s" ST_EXPECTED "two keys",
                       space->axes[map->axes[0]].axis.path);
    return ST_OK;
}

st_status st_sweep_map_create(const st_paths *paths, const st_space *space,
                              const char *const keys[2], st_sweep_map *map, st_errors *errors)
{
    st_fit_map *made = &map->map;
    *map = (st_sweep_map){0};
    st_status status = find_axes(space, keys, map, errors);
    if (status == ST_OK) {
        /* The same space with the cells of a map, whose rows no check rejects. */
        static const st_role_part wanted[CELLS] = {[GOAL] = {ST_ROLE_STEP, 0},
                                                   [MEMORY] = {ST_ROLE_MEMORY, 0},
                                                   [LIMIT] = {ST_ROLE_GPU_MEMORY, 0}};
        const st_role_list list = {wanted, CELLS, "a map of what fits needs"};
        const char **cells = st_arena_alloc(space->arena, CELLS, sizeof *cells);
        st_space_request request = space->request;
        st_status space_status = cells == NULL
                                     ? st_out_of_memory(errors)
                                     : st_sheet_need_roles(space->sheet, &list, cells, errors);
        request.cells = cells;
        request.cell_count = CELLS;
        request.checks_warn = true;
        status = space_status == ST_OK
                     ? st_space_create_again(paths, &request, space->arena, &map->space, errors)
                     : space_status;
    }
    if (status != ST_OK)
        return status;
    *made = (st_fit_map){.job = st_job_name(space->base.job),
                         .goal = map->space->cells[GOAL],
                         .goal_type = map->space->types[GOAL],
                         .sign = 1,
                         .plans = map->space->rows,
                         .arena = space->arena};
    for (int side = 0; side < 2; side++) {
        char text[512];
        const st_space_axis *axis = &map->space->axes[map->axes[side]];
        made->keys[side] = axis->axis.path;
        made->count[side] = axis->axis.count;
        made->texts[side] =
            st_arena_alloc(made->arena, made->count[side] + 1, sizeof *made->texts[side]);
        for (size_t i = 0; made->texts[side] != NULL && i < made->count[side]; i++)
            made->texts[side][i] = st_arena_printf(
                made->arena, "%s",
                st_space_value_text(map->space, map->axes[side], i, text, sizeof text));
    }
    if (made->count[0] > ST_PLOT_MAX_POINTS || made->count[1] > ST_PLOT_MAX_POINTS ||
        made->count[0] * made->count[1] > ST_PLOT_MAX_POINTS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--map"},
                       "the map would show too much" ST_EXPECTED "at most 100000 pairs");
    made->cells =
        st_arena_alloc(made->arena, made->count[0] * made->count[1] + 1, sizeof *made->cells);
    return st_arena_failed(made->arena) ? st_out_of_memory(errors) : ST_OK;
}

void st_sweep_map_take(st_sweep_map *map, const st_space_worker *worker)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(map->space->sheet, &count);
    for (size_t row = 0; row < worker->rows; row++) {
        bool valid = worker->reasons[row] == ST_REASON_NONE;
        bool fits = true;
        for (size_t i = 0; i < count && valid; i++) {
            bool holds = checks[i].warning || worker->checks[i][row] == 1.0;
            valid = holds || checks[i].limit;
            fits = fits && holds;
        }
        const double missing_bytes = worker->outputs[MEMORY][row] - worker->outputs[LIMIT][row];
        if (valid)
            st_fit_map_take(&map->map, (size_t)worker->digits[map->axes[0]][row],
                            (size_t)worker->digits[map->axes[1]][row],
                            &(st_map_cell){.tried = true,
                                           .fits = fits,
                                           .goal = worker->outputs[GOAL][row],
                                           .memory_bytes = worker->outputs[MEMORY][row],
                                           .missing_bytes = fits ? 0 : missing_bytes});
    }
}

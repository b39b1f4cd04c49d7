/* SPDX-License-Identifier: Apache-2.0 */
/* What a search looks for and where; see search_state.h. */

#include "search/search_state.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "base/text.h"
#include "estimate/node_fill.h"
#include "estimate/resolved_layout.h"
#include "job/bind.h"
#include "job/keys.h"
#include "steptime/keys.h"
#include "steptime/tool/pattern.h"
#include "job/sections.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Layouts of plans that were asked for. */
typedef struct found_layout {
    uint64_t row;
    const char *set;
} found_layout;

typedef struct st_found_layouts {
    found_layout *items;
    size_t count;
} st_found_layouts;

/* --- what is varied -------------------------------------------------------------------------- */

/* All orders in which four groups can be numbered. */
static const char all_orders[] =
    "parallel.order=tp-cp-dp-pp,tp-cp-pp-dp,tp-dp-cp-pp,tp-dp-pp-cp,tp-pp-cp-dp,tp-pp-dp-cp,"
    "cp-tp-dp-pp,cp-tp-pp-dp,cp-dp-tp-pp,cp-dp-pp-tp,cp-pp-tp-dp,cp-pp-dp-tp,dp-tp-cp-pp,"
    "dp-tp-pp-cp,dp-cp-tp-pp,dp-cp-pp-tp,dp-pp-tp-cp,dp-pp-cp-tp,pp-tp-cp-dp,pp-tp-dp-cp,"
    "pp-cp-tp-dp,pp-cp-dp-tp,pp-dp-tp-cp,pp-dp-cp-tp";

/* Whether a part of a list names a key instead of a value of the key before it. */
static bool names_key(const char *part, size_t length)
{
    char name[128];
    size_t end = length;
    const char *assigned = memchr(part, '=', length);
    end = assigned != NULL ? (size_t)(assigned - part) : end;
    while (end > 0 && part[end - 1] == ' ')
        end--;
    while (end > 0 && part[0] == ' ') {
        part++;
        end--;
    }
    if (end == 0 || end >= sizeof name)
        return assigned != NULL;
    memcpy(name, part, end);
    name[end] = '\0';
    return assigned != NULL || st_key_find(name) != NULL || st_section_find(name) != NULL;
}

/* "KEY" and whether values follow it. */
static bool split(const char *text, st_arena *arena, st_varied *into)
{
    st_assignment read;
    if (!st_assignment_read(text, arena, &read))
        return false;
    into->given = text;
    into->text = read.value != NULL ? text : NULL;
    into->key = read.key;
    into->param = st_plan_param_find(read.key);
    return true;
}

/* Values of the first would be lost. For other keys, which are axes, the space reports it. */
static st_status check_twice(const st_varied *list, size_t index, st_errors *errors)
{
    const st_varied *own = &list[index];
    for (size_t i = 0; i < index; i++) {
        if (own->param != ST_PARAMS && list[i].param == own->param)
            return st_fail(errors, ST_ERR_USAGE, st_varied_place(own, errors),
                           "%s is varied twice" ST_EXPECTED "all values in one list", list[i].key);
    }
    return ST_OK;
}

typedef struct varied_list {
    st_varied *items;
    size_t count;
} varied_list;

static st_status add_varied(const char *option, const char *text, st_arena *arena,
                            varied_list *list, st_errors *errors)
{
    st_status status = ST_OK;
    for (bool more = true; more;) {
        st_varied one = {.option = option};
        /* The length of "KEY" or "KEY=VALUES" at the start of a list of them. */
        size_t length = strcspn(text, ",");
        while (text[length] == ',') {
            size_t next = strcspn(text + length + 1, ",");
            if (names_key(text + length + 1, next))
                break;
            length += 1 + next;
        }
        const char *item = st_arena_copy(arena, text, length);
        if (item == NULL || !split(item, arena, &one) ||
            !ST_APPEND(arena, list->items, list->count, one))
            return st_out_of_memory(errors);
        st_note(&status, check_twice(list->items, list->count - 1, errors));
        more = text[length] == ',';
        text += length + (more ? 1 : 0);
    }
    return status;
}

static const char layout_key[] = ST_KEY_PARALLEL_LAYOUT;

/* --vary parallel.layout, also with that as its only value: every plan gets the layout that
 * balances it. Other values are those of an axis. */
static bool is_open_layout(const st_varied *varied)
{
    return strcmp(varied->key, layout_key) == 0 &&
           (varied->text == NULL || strcmp(varied->text + sizeof layout_key, ST_LAYOUT_AUTO) == 0);
}

/* Axes of the space: what is varied and no plan parameter. */
static st_status list_axes(st_search *search, st_arena *arena, st_errors *errors)
{
    size_t most = search->varied_count + 1;
    const char **axes = st_arena_alloc(arena, most, sizeof *axes);
    const char **options = st_arena_alloc(arena, most, sizeof *options);
    size_t count = 0;
    if (axes == NULL || options == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < search->varied_count; i++) {
        const st_varied *varied = &search->varied[i];
        search->layouts = search->layouts || is_open_layout(varied);
        if (varied->param == ST_PARAMS && !is_open_layout(varied)) {
            bool orders = varied->text == NULL && strcmp(varied->key, ST_KEY_PARALLEL_ORDER) == 0;
            options[count] = varied->option;
            axes[count++] = orders ? all_orders : varied->given;
        }
    }
    search->request.space.overs = axes;
    search->request.space.over_options = options;
    search->request.space.over_count = count;
    /* Axes of a group advance with the first axis in it; plan parameters are added to them
     * plan by plan. */
    const st_space_request *space = &search->request.space;
    st_joined *joined = st_arena_alloc(arena, space->joined_count + 1, sizeof *joined);
    const char *group = NULL; /* its first key */
    const char *leader = NULL;
    size_t axe_count = 0;
    if (joined == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < space->joined_count; i++) {
        const st_joined *one = &space->joined[i];
        if (group == NULL || strcmp(group, one->with) != 0) {
            group = one->with;
            leader = st_plan_param_find(group) == ST_PARAMS ? group : NULL;
        }
        if (st_plan_param_find(one->key) != ST_PARAMS)
            continue;
        if (leader != NULL)
            joined[axe_count++] = (st_joined){.key = one->key, .with = leader};
        leader = leader != NULL ? leader : one->key;
    }
    search->joined = space->joined;
    search->joined_count = space->joined_count;
    search->request.space.joined = joined;
    search->request.space.joined_count = axe_count;
    return ST_OK;
}

/* Whether a key is not set, or only by a stack while other stacks are tried that may not set it. */
static bool is_open(const st_search *search, const st_job *job, const char *key)
{
    st_origin origin = st_job_value_of(job, key)->origin;
    return origin == ST_ORIGIN_NONE ||
           (origin == ST_ORIGIN_STACK && search->request.only_count == 0 &&
            ST_HAS(search->varied, search->varied_count, key, ST_KEY_STACK));
}

/* --- GPUs of a node that are used ------------------------------------------------------------ */

static const char used_key[] = ST_KEY_CLUSTER_GPUS_USED_PER_NODE;

/* What the user gave stays. */
static st_status fill_nodes(st_search *search, const st_job *job, const char **set, st_arena *arena,
                            st_errors *errors)
{
    /* Tensor-parallel ranks that --set gives; 0: they vary. */
    const st_node_counts counts = {.gpus = search->wanted.gpus,
                                   .count = search->wanted.gpus_count,
                                   .node = st_job_number(job, ST_KEY_CLUSTER_GPUS_PER_NODE),
                                   .group = st_search_is_set(search, ST_KEY_PARALLEL_TP)
                                                ? st_job_number(job, ST_KEY_PARALLEL_TP)
                                                : 0};
    st_origin origin = st_job_value_of(job, used_key)->origin;
    bool given = origin != ST_ORIGIN_NONE && origin != ST_ORIGIN_DEFAULT;
    if (counts.count == 0 || counts.node < 1 || given)
        return ST_OK;
    static const char *const keys[] = {ST_KEY_CLUSTER, ST_KEY_CLUSTER_GPUS_PER_NODE, used_key};
    for (size_t i = 0; i < search->varied_count; i++)
        if (st_has_text(keys, ST_COUNT(keys), search->varied[i].key))
            return ST_OK;
    double used = st_node_fill(&counts);
    if (used == counts.node) {
        /* Nodes of 72 filled have a 9 among their divisors, which few models and batches have:
         * as many of each as the power of two below, where that leaves no more than an eighth of
         * a node unused. */
        double share = exp2(floor(log2(counts.node)));
        bool whole = counts.count == 1 && counts.gpus[0] >= counts.node;
        search->fewer_gpus = whole && share < counts.node && share >= 0.875 * counts.node
                                 ? counts.gpus[0] / counts.node * share
                                 : 0;
        return ST_OK;
    }
    search->node_gpus = counts.node;
    search->used_gpus = used;
    if (used == 0) {
        /* For a single number that does not fit the nodes there is a nearest one; several are
         * reported in the head. */
        if (counts.count > 1)
            return ST_OK;
        st_place place = {.file = st_errors_text(errors, "--gpus %.200s", search->request.gpus)};
        return st_fail(errors, ST_ERR_USAGE, place,
                       "%.10g GPUs cannot be spread evenly over nodes of %.10g with at least half "
                       "of each used" ST_EXPECTED "for example %.10g" ST_HINT
                       "--set %s=%.10g allows fewer ranks on a node",
                       counts.gpus[0], counts.node, st_node_fill_nearest(&counts), used_key,
                       counts.node);
    }
    *set = st_arena_printf(arena, "%s=%.10g", used_key, used);
    return *set != NULL ? ST_OK : st_out_of_memory(errors);
}

/* A layout says what the ends of the job's own plan have. */
static bool add_layout(const st_search *search, const st_job *job, const char **sets, size_t *count,
                       st_arena *arena)
{
    static const char *const ends[] = {
        ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, ST_KEY_PARALLEL_LAST_STAGE_LAYERS,
        ST_KEY_PARALLEL_ACCOUNT_EMBEDDING, ST_KEY_PARALLEL_ACCOUNT_LOSS};
    if (!search->layouts)
        return true;
    sets[(*count)++] = st_arena_printf(arena, "%s=%s", layout_key, ST_LAYOUT_AUTO);
    for (size_t i = 0; i < ST_COUNT(ends) && sets[*count - 1] != NULL; i++)
        if (st_job_number(job, ends[i]) > 0)
            sets[(*count)++] = st_arena_printf(arena, "%s=%s", ends[i], i < 2 ? "0" : "false");
    return sets[*count - 1] != NULL;
}

/* As for other keys that no input reads: no layout may be presented as the best. */
static st_status check_layouts(const st_search *search, const st_sheet *sheet, st_errors *errors)
{
    if (st_sheet_role_part(sheet, ST_ROLE_BALANCED_LAYOUT, 0) != NULL)
        return ST_OK;
    for (size_t i = 0; i < search->varied_count; i++)
        if (is_open_layout(&search->varied[i]))
            return st_fail(errors, ST_ERR_USAGE, st_varied_place(&search->varied[i], errors),
                           "%s has no effect: sheet %s does not read layouts", layout_key,
                           st_sheet_name(sheet));
    return ST_OK;
}

/* Plan parameters that a job may leave open, but a sheet may not: any value does until they vary.
 */
static st_status close_job(st_search *search, const st_paths *paths, const st_sheet *sheet,
                           st_arena *arena, st_errors *errors)
{
    static const char *const keys[] = {ST_KEY_BATCH_MICRO, ST_KEY_RECOMPUTE, ST_KEY_CLUSTER_NODES};
    static const char *const values[] = {ST_KEY_BATCH_MICRO "=1", ST_KEY_RECOMPUTE "=none",
                                         ST_KEY_CLUSTER_NODES "=1"};
    st_space_request *space = &search->request.space;
    const st_job *job = NULL;
    const char **sets = st_arena_alloc(arena, space->set_count + 10, sizeof *sets);
    st_status status =
        sets != NULL ? check_layouts(search, sheet, errors) : st_out_of_memory(errors);
    if (status != ST_OK)
        return status;
    status = st_job_load(paths, space->job, space->sets, space->set_count, arena, &job, NULL);
    if (status != ST_OK)
        return ST_OK; /* reported when the space is made */
    for (size_t i = 0; i < space->set_count; i++)
        sets[i] = space->sets[i];
    if (!add_layout(search, job, sets, &space->set_count, arena))
        return st_out_of_memory(errors);
    search->own_set_count = space->set_count;
    for (size_t i = 0; i < ST_COUNT(keys); i++)
        if (st_sheet_reading(sheet, keys[i]) != NULL && is_open(search, job, keys[i]))
            sets[space->set_count++] = values[i];
    space->sets = sets;
    if (st_sheet_reading(sheet, used_key) == NULL)
        return ST_OK;
    const char *used = NULL;
    status = fill_nodes(search, job, &used, arena, errors);
    if (used != NULL)
        sets[space->set_count++] = used;
    return status;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* The step where no goal is named; a sheet that has none begins its report with what matters. */
const char *st_search_default_goal(const st_sheet *sheet)
{
    size_t sections = 0;
    const st_sheet_section *report = st_sheet_sections(sheet, &sections);
    const char *step = st_sheet_role(sheet, ST_ROLE_STEP);
    return step == NULL && sections > 0 && report[0].count > 0 ? report[0].cells[0] : step;
}

/* Of rates of work, and of shares of what the hardware could do, more is better. */
static bool is_better_greater(const st_sheet *sheet, const char *name)
{
    static const st_role shares[] = {ST_ROLE_MFU, ST_ROLE_HFU};
    const st_sheet_cell *cell = st_sheet_find_cell(sheet, name);
    for (size_t i = 0; i < ST_COUNT(shares); i++) {
        const char *share = st_sheet_role(sheet, shares[i]);
        if (share != NULL && strcmp(share, name) == 0)
            return true;
    }
    const int16_t *exponent = cell != NULL ? cell->type.unit.dimension.exponent : NULL;
    return cell != NULL && cell->type.kind == ST_TYPE_NUMBER &&
           exponent[ST_SECOND] == -ST_EXPONENT_ONE && exponent[ST_JOULE] == 0 &&
           exponent[ST_DOLLAR] == 0;
}

/* Of a cell or an input of this name; else NULL. */
static const st_type *type_of(const st_sheet *sheet, const char *name)
{
    const st_sheet_cell *cell = st_sheet_find_cell(sheet, name);
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count && cell == NULL; i++)
        if (strcmp(inputs[i].name, name) == 0)
            return &inputs[i].type;
    return cell != NULL ? &cell->type : NULL;
}

static st_status check_goal(const st_search *search, const st_sheet *sheet, st_errors *errors)
{
    const char *goal = search->goal;
    bool maximise = search->request.maximise;
    const st_type *type = type_of(sheet, goal);
    st_place place = {.file = maximise ? "--maximise" : "--minimise"};
    if (type != NULL && type->kind != ST_TYPE_NUMBER)
        return st_fail(errors, ST_ERR_USAGE, place,
                       "'%s' is not a number" ST_EXPECTED "a cell that is a number, such as %s",
                       goal, st_or_none(st_search_default_goal(sheet)));
    if (!maximise && is_better_greater(sheet, goal))
        return st_fail(errors, ST_ERR_USAGE, place,
                       "greater %s is better; --minimise would list the worst plans first" ST_HINT
                       "use --maximise %s",
                       goal, goal);
    return ST_OK;
}

static st_status choose_cells(st_search *search, const st_sheet *sheet, st_arena *arena,
                              st_errors *errors)
{
    const st_search_request *request = &search->request;
    const char **cells = st_arena_alloc(arena, 5, sizeof *cells);
    size_t count = 0;
    if (cells == NULL)
        return st_out_of_memory(errors);
    search->goal = request->goal != NULL ? request->goal : st_search_default_goal(sheet);
    search->sign = request->maximise ? -1 : 1;
    if (search->goal == NULL) {
        static const st_role_part goal = {.role = ST_ROLE_STEP};
        static const st_role_list wanted = {&goal, 1, "a search without --minimise needs"};
        return st_sheet_need_roles(sheet, &wanted, &search->goal, errors);
    }
    st_status status = check_goal(search, sheet, errors);
    /* Columns that a user asks for; the goal and the front are looked up when the space is made. */
    st_status checked = ST_OK;
    for (size_t i = 0; i < request->cell_count; i++) {
        const char *name = request->cells[i];
        if (st_sheet_find_cell(sheet, name) == NULL && st_sheet_find_input(sheet, name) == NULL)
            checked = st_fail(errors, ST_ERR_NAME, (st_place){0},
                              "unknown cell '%.100s' in sheet %s" ST_HINT "%s", name,
                              st_sheet_name(sheet), st_or_none(st_sheet_nearest(sheet, name)));
    }
    if (status != ST_OK || checked != ST_OK)
        return status != ST_OK ? status : checked;
    /* A picture shows the step time over the memory where no front of other cells is asked for. */
    checked = ST_OK;
    const char *time = st_search_default_goal(sheet);
    const char *picture_memory = st_sheet_role(sheet, ST_ROLE_MEMORY);
    if (search->request.picture && search->request.front[0] == NULL) {
        if (time == NULL || picture_memory == NULL) {
            checked = st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--svg"},
                              "sheet %s does not declare step time and memory" ST_HINT
                              "choose the cells to draw with --pareto CELL,CELL",
                              st_sheet_name(sheet));
        } else {
            search->request.front[0] = time;
            search->request.front[1] = picture_memory;
        }
    }
    if (checked != ST_OK)
        return checked;
    cells[count++] = search->goal;
    for (size_t i = 0; i < 2 && request->front[i] != NULL; i++) {
        search->front_signs[i] = is_better_greater(sheet, request->front[i]) ? -1 : 1;
        cells[count++] = request->front[i];
    }
    const char *memory = st_sheet_role(sheet, ST_ROLE_MEMORY);
    if (memory != NULL) {
        search->near = count;
        cells[count++] = memory;
    }
    if (request->guide.floor != NULL) {
        search->floor = count;
        cells[count++] = request->guide.floor;
    }
    search->request.space.cells = cells;
    search->request.space.cell_count = count;
    return ST_OK;
}

/* The sheet, loaded once more than necessary: cells are chosen before the space is made. */
static st_status find_cells(st_search *search, const st_paths *paths, st_arena *arena,
                            const st_sheet **sheet, const st_job **job, st_errors *errors)
{
    st_estimate estimate;
    st_request request = {.job = search->request.space.job,
                          .sheet = search->request.space.sheet,
                          .sets = search->request.space.sets,
                          .set_count = search->request.space.set_count};
    (void)!st_estimate_open(paths, &request, arena, &estimate, NULL);
    *sheet = estimate.sheet;
    *job = estimate.job;
    if (estimate.sheet == NULL)
        return ST_OK; /* reported when the space is made */
    return choose_cells(search, estimate.sheet, arena, errors);
}

/* --- the whole ------------------------------------------------------------------------------- */

bool st_search_keeps_bounds(const st_search *search, const st_sheet *sheet)
{
    const char *step = sheet != NULL ? st_sheet_role(sheet, ST_ROLE_STEP) : NULL;
    return step != NULL && strcmp(search->goal, step) == 0 && search->sign > 0 &&
           st_timeline_has_roles(sheet);
}

/* Groups of keys that the stack names: how many are tried at most, and all of them. */
typedef struct tries {
    size_t most;
    size_t groups;
} tries;

static st_status create(const st_paths *paths, const st_search_request *request, tries *tried,
                        st_arena *arena, st_search **search, st_errors *errors)
{
    st_search *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->request = *request;
    made->arena = arena;
    bool limits = request->vary_count == 0 && request->only_count > 0;
    made->request.space.option = limits ? "--only" : "--vary";
    made->own_set_count = request->space.set_count;
    made->found_layouts = st_arena_alloc(arena, 1, sizeof *made->found_layouts);
    if (made->found_layouts == NULL)
        return st_out_of_memory(errors);
    *made->found_layouts = (st_found_layouts){.count = 0};
    const st_sheet *sheet = NULL;
    const st_search_request *varie_request = &made->request;
    varied_list list = {0};
    st_status status = ST_OK;
    for (size_t i = 0; i < varie_request->only_count; i++)
        st_note(&status, add_varied("--only", varie_request->only[i], arena, &list, errors));
    for (size_t i = 0; i < varie_request->vary_count; i++)
        st_note(&status, add_varied("--vary", varie_request->varies[i], arena, &list, errors));
    made->varied = list.items;
    made->varied_count = list.count;
    if (status == ST_OK && request->gpus != NULL)
        status = st_search_read_gpus(made, arena, errors);
    const st_job *job = NULL;
    made->named_count = made->varied_count;
    if (status == ST_OK)
        status = find_cells(made, paths, arena, &sheet, &job, errors);
    if (status == ST_OK && sheet != NULL && job != NULL)
        status = st_search_add_tries(made, job, sheet, tried->most, &tried->groups, errors);
    if (status == ST_OK)
        status = list_axes(made, arena, errors);
    if (status == ST_OK && sheet != NULL)
        status = close_job(made, paths, sheet, arena, errors);
    st_space_request whole = made->request.space;
    whole.uncounted = whole.sample > 0;
    whole.sample = 0; /* plans are sampled, not the axes */
    if (status == ST_OK) {
        whole.keeps_bounds = st_search_keeps_bounds(made, sheet);
        status = st_space_create(paths, &whole, arena, &made->space, errors);
    }
    if (status == ST_OK)
        status = st_search_make_plans(made, errors);
    if (status == ST_OK) {
        /* Other ways than through every plan are those of a module. */
        const st_guide *guide = &made->request.guide;
        if (made->request.maximise && st_guide_is_given(guide)) {
            status = st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--maximise"},
                             "--method and --prune require --minimise" ST_EXPECTED
                             "--method exhaustive");
        } else if (guide->methods != NULL) {
            status = guide->methods->check(made, errors);
        } else if (!st_guide_is_given(guide) && guide->floor == NULL) {
            status = ST_OK;
        } else {
            status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                             "--method, --prune and --bound: steptime was built without guided "
                             "search" ST_EXPECTED "--method exhaustive" ST_HINT
                             "rebuild with -Dguided=enabled");
        }
    }
    if (status == ST_OK)
        *search = made;
    return status;
}

st_status st_search_create(const st_paths *paths, const st_search_request *request, st_arena *arena,
                           st_search **search, st_errors *errors)
{
    enum { MOST_ROWS = 6000000 }; /* with what is tried: a second or two */
    tries tried = {0};
    st_status status = create(paths, request, &tried, arena, search, errors);
    if (status != ST_OK || tried.groups == 0 || (*search)->total > MOST_ROWS / 2)
        return status;
    st_errors *quiet = st_errors_create(); /* warnings were reported without what is tried */
    st_search *more = NULL;
    for (tried.most = tried.groups; quiet != NULL && tried.most > 0; tried.most--) {
        if (create(paths, request, &tried, arena, &more, quiet) != ST_OK || more->total > MOST_ROWS)
            continue;
        *search = more;
        break;
    }
    st_errors_destroy(quiet);
    return status;
}

st_status st_search_with_cells(const st_paths *paths, const st_search *search,
                               const char *const *cells, size_t count, st_search *made,
                               st_errors *errors)
{
    st_space_request request = search->request.space;
    request.cells = cells;
    request.cell_count = count;
    request.uncounted = request.sample > 0;
    request.sample = 0; /* plans are sampled, not the axes */
    *made = *search;
    return st_space_create_again(paths, &request, search->space->arena, &made->space, errors);
}

/* --- names ----------------------------------------------------------------------------------- */

static const char *param_set(const st_search *search, st_plan_param param, double value)
{
    const char *key = st_plan_param_key(param);
    const st_sheet_input *input = st_sheet_reading(search->space->sheet, key);
    char text[ST_QUANTITY_TEXT];
    if (input != NULL && input->type.kind == ST_TYPE_ENUM)
        return st_arena_printf(search->space->arena, "%s=%s", key,
                               input->type.enumeration->values[(size_t)value]);
    if (input != NULL && input->type.kind == ST_TYPE_BOOL)
        return st_arena_printf(search->space->arena, "%s=%s", key, value != 0 ? "true" : "false");
    return st_arena_printf(search->space->arena, "%s=%s", key,
                           st_number_format(value, text, sizeof text));
}

/* The values of a plan, with its nodes where these differ from row to row. */
static void read_plan(const st_search *search, uint64_t row, double values[ST_PARAMS])
{
    const st_space *space = search->space;
    st_plan_at(&search->plans, row / space->total, values);
    if (search->node_size.given) {
        uint64_t digit = st_space_digit(space, search->node_size.axis, row % space->total);
        values[ST_PARAM_NODES] = ceil(values[ST_PARAM_NODES] /
                                      st_search_driven_value(search, &search->node_size, digit));
    }
}

/* --- layouts of plans ------------------------------------------------------------------------- */

/* The layout of a plan, which `sets` make of the job; NULL: out of memory. Where an estimate of the
 * plan fails, and where a folded schedule has chunks that the plan does not name, it stays open. */
static const char *find_layout(const st_search *search, uint64_t row, const char *const *sets,
                               size_t count)
{
    double values[ST_PARAMS];
    const st_space_request *space = &search->request.space;
    st_found_layouts *known = search->found_layouts;
    const st_request request = {.job = space->job,
                                .sheet = space->sheet,
                                .sets = sets,
                                .set_count = count,
                                .refine = space->refine,
                                .refine_count = space->refine_count};
    const st_job *job = search->space->base.job;
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].row == row)
            return known->items[i].set;
    read_plan(search, row, values);
    const double chunks = values[ST_PARAM_VIRTUAL];
    (void)!st_settled_job(search->space->paths, &request, search->space->arena, &job, NULL);
    bool folded = st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES) != chunks;
    const char *text = folded ? ST_LAYOUT_AUTO : st_job_value_of(job, layout_key)->text;
    const found_layout found = {row,
                                st_arena_printf(search->space->arena, "%s=%s", layout_key, text)};
    return found.set != NULL && ST_APPEND(search->space->arena, known->items, known->count, found)
               ? found.set
               : NULL;
}

/* --- plans as sets ---------------------------------------------------------------------------- */

/* Keys of a plan: all that a search may vary, those that are shown, or what is not as in the job.
 */
typedef enum which_sets { SETS_ALL, SETS_SHOWN, SETS_OTHER } which_sets;

typedef struct set_list {
    st_arena *arena;
    const char **items;
    size_t count;
} set_list;

static void add_set(set_list *sets, const char *set)
{
    (void)ST_APPEND(sets->arena, sets->items, sets->count, set);
}

/* No list is NULL but where memory is out. */
static set_list no_sets(const st_search *search)
{
    set_list sets = {.arena = search->space->arena};
    sets.items = st_arena_alloc(sets.arena, 1, sizeof *sets.items);
    return sets;
}

static void add_plan_sets(const st_search *search, uint64_t row, which_sets which, set_list *sets)
{
    const st_space *space = search->space;
    char storage[ST_AXIS_TEXT];
    double values[ST_PARAMS];
    read_plan(search, row, values);
    for (st_plan_param param = ST_PARAM_NODES; param < ST_PARAMS; param++) {
        bool wanted = which == SETS_ALL ||
                      (which == SETS_SHOWN ? search->shown[param]
                                           : st_search_is_other(search, param, values[param]));
        if (wanted && search->wanted.choices[param].read)
            add_set(sets, param_set(search, param, values[param]));
    }
    if (which != SETS_SHOWN && search->used_gpus != 0) /* which the search chose */
        add_set(sets, st_arena_printf(sets->arena, "%s=%.10g", used_key, search->used_gpus));
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        uint64_t digit = st_space_digit(space, i, row % space->total);
        bool own = digit == 0 && st_search_is_tried(search, i); /* as the job has it */
        if (which != SETS_OTHER || !own)
            add_set(sets, st_arena_printf(sets->arena, "%s=%s", axis->path,
                                          st_axis_text(axis, digit, storage)));
    }
}

const char *const *st_search_sets(const st_search *search, uint64_t row, bool all, size_t *count)
{
    set_list sets = no_sets(search);
    add_plan_sets(search, row, all ? SETS_ALL : SETS_SHOWN, &sets);
    if (all && search->wanted.balanced != 0) {
        size_t settings = 0;
        const char *const *whole = st_search_settings(search, row, &settings);
        add_set(&sets, whole != NULL ? whole[settings - 1] : NULL);
    }
    *count = sets.count;
    return st_arena_failed(sets.arena) ? NULL : sets.items;
}

const char *const *st_search_settings(const st_search *search, uint64_t row, size_t *count)
{
    set_list sets = no_sets(search);
    for (size_t i = 0; i < search->own_set_count; i++)
        add_set(&sets, search->request.space.sets[i]);
    add_plan_sets(search, row, SETS_OTHER, &sets);
    if (search->wanted.balanced != 0 && !st_arena_failed(sets.arena)) {
        /* In the place of the user's own of a layout: that of the plan. */
        size_t kept = 0;
        const char *found = find_layout(search, row, sets.items, sets.count);
        for (size_t i = 0; i < sets.count; i++)
            if (strncmp(sets.items[i], layout_key, sizeof layout_key - 1) != 0)
                sets.items[kept++] = sets.items[i];
        sets.count = kept;
        add_set(&sets, found);
    }
    *count = sets.count;
    return st_arena_failed(sets.arena) ? NULL : sets.items;
}

/* --- methods --------------------------------------------------------------------------------- */

static const char *const method_names[] = {
    [ST_METHOD_EXHAUSTIVE] = "exhaustive", [ST_METHOD_BOUND] = "bound",
    [ST_METHOD_CMAES] = "cmaes",           [ST_METHOD_RANDOM] = "random",
    [ST_METHOD_EVOLUTION] = "evolution",   [ST_METHOD_BAYES] = "bayes",
};

const char *st_method_name(st_method method)
{
    return method_names[method];
}

double st_search_gap(const st_search *search, const st_search_result *result)
{
    const st_guided *guided = &result->guided;
    bool sampled = search->rows < search->total;
    if (!result->interrupted && !sampled && guided->untried == 0)
        return 0;
    if (!guided->has_floor || result->found.ranking_count == 0)
        return (double)NAN;
    double best = result->found.ranking[0].goal;
    double gap = (best - guided->floor) / best;
    return gap > 0 ? gap : best > 0 ? 0 : (double)NAN;
}

/* --- rows ------------------------------------------------------------------------------------ */

size_t st_search_ranked(const st_search *search)
{
    enum { MORE = 400 };
    const st_search_request *request = &search->request;
    size_t least = request->top > request->confirm ? request->top : request->confirm;
    if (request->merges)
        return 2 * least + MORE;
    return request->confirm > 0 ? least + ST_CONFIRM_MOST : least;
}

uint64_t st_search_pick(const st_search *search, uint64_t row)
{
    const st_space whole = {
        .total = search->total, .rows = search->rows, .request = search->request.space};
    return st_space_pick(&whole, row);
}

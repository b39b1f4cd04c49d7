/* SPDX-License-Identifier: Apache-2.0 */
/* Making a space and naming its rows; see space.h. */
#include "sweep/space.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "program/condition.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "sheet/type_write.h"
#include "sweep/space_bind.h"

#include <math.h>
#include <string.h>

enum { MAX_CELLS = 1000 };

const uint64_t st_space_most_rows = 1000000000;

/* Picks of a sample are spread over this many rows at most. */
static const uint64_t most_total = UINT64_C(1) << 62;

/* --- axes ------------------------------------------------------------------------------------ */

static const char *option_of(const st_space *space, size_t over)
{
    const st_space_request *request = &space->request;
    return request->over_options != NULL ? request->over_options[over] : request->option;
}

/* An axis over what the sheet computes or calls by another name. */
static st_status explain_unknown(const st_space *space, size_t over, st_errors *errors)
{
    const char *text = space->request.overs[over];
    size_t length = strcspn(text, "=");
    const char *name = st_arena_copy(space->arena, text, length);
    const char *file = st_arena_printf(space->arena, "%s %.200s", option_of(space, over), text);
    if (name == NULL || file == NULL)
        return st_out_of_memory(errors);
    const st_sheet_cell *cell = st_sheet_find_cell(space->sheet, name);
    const st_sheet_input *input = st_sheet_find_input(space->sheet, name);
    if (cell == NULL && (input == NULL || strcmp(input->from, name) == 0))
        return ST_OK;
    const char *sheet = st_sheet_name(space->sheet);
    return st_fail(
        errors, ST_ERR_USAGE, (st_place){.file = file}, "%s" ST_EXPECTED "%s" ST_HINT "%s",
        st_or_none(cell != NULL
                       ? st_errors_text(errors,
                                        "'%s' is a computed cell of sheet %s and cannot be an axis",
                                        name, sheet)
                       : st_errors_text(errors, "'%s' is an input of sheet %s", name, sheet)),
        cell != NULL ? "a key of the job" : "", cell != NULL ? "" : input->from);
}

/* Messages for axes over unknown keys: the sheet, loaded without axes, may know the names. */
static st_status explain_faults(st_space *space, st_errors *errors)
{
    st_request request = {.job = space->request.job,
                          .sheet = space->request.sheet,
                          .sets = space->request.sets,
                          .set_count = space->request.set_count};
    st_status status = ST_OK;
    (void)!st_estimate_open(space->paths, &request, space->arena, &space->base, NULL);
    space->sheet = space->base.sheet;
    for (size_t i = 0; space->sheet != NULL && i < space->request.over_count; i++)
        st_note(&status, explain_unknown(space, i, errors));
    return status;
}

static st_status read_axes(st_space *space, st_errors *errors)
{
    const st_space_request *request = &space->request;
    st_errors *faults = st_errors_create();
    st_axis *axes = st_arena_alloc(space->arena, ST_AXES_MAX, sizeof *axes);
    st_status status = ST_OK;
    if (faults == NULL || axes == NULL) {
        st_errors_destroy(faults);
        return st_out_of_memory(errors);
    }
    if (request->over_count > ST_AXES_MAX)
        status = st_fail(faults, ST_ERR_LIMIT, (st_place){.file = request->option},
                         "too many axes" ST_EXPECTED "at most 32");
    for (size_t i = 0; i < request->over_count && i < ST_AXES_MAX; i++) {
        st_note(&status, st_axis_parse(option_of(space, i), request->overs[i], space->arena,
                                       &axes[i], faults));
        space->axes[i].axis = axes[i];
    }
    if (status == ST_OK) {
        space->axis_count = request->over_count;
        status = st_axes_check(axes, space->axis_count, faults);
    } else if (explain_faults(space, errors) != ST_OK) {
        st_errors_clear(faults); /* the sheet knew better what was meant */
    }
    st_status error_status = ST_OK;
    for (size_t i = 0; i < st_errors_size(faults); i++)
        st_note(&error_status, st_errors_add(errors, st_errors_at(faults, i)));
    (void)error_status;
    st_errors_destroy(faults);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

static st_status refuse_count(const st_space *space, double rows, st_errors *errors)
{
    char text[ST_QUANTITY_TEXT];
    bool sampled = space->request.sample > 0 || space->request.uncounted;
    return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = space->request.option},
                   "the axes make %s configurations" ST_EXPECTED "%s" ST_HINT "%s",
                   st_number_format(rows, text, sizeof text),
                   sampled ? "at most 4.6e18, even with --sample" : "at most 1000000000",
                   sampled ? "" : "draw a sample with --sample N");
}

static st_status count_cross(st_space *space, st_errors *errors)
{
    double rows = 1;
    space->total = 1;
    for (size_t i = 0; i < space->axis_count; i++) {
        if (space->axes[i].follows != 0)
            continue;
        rows *= (double)space->axes[i].axis.count;
        space->total = rows < (double)most_total ? space->total * space->axes[i].axis.count : 0;
    }
    if (space->total == 0 || (space->request.sample == 0 && !space->request.uncounted &&
                              space->total > st_space_most_rows))
        return refuse_count(space, rows, errors);
    return ST_OK;
}

static st_status check_length(const st_axis *first, const st_axis *axis, st_errors *errors)
{
    if (axis->count == first->count)
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, axis->place,
                   "zipped axes differ in length: %s has %zu values, %s %zu" ST_EXPECTED
                   "as many values on every axis",
                   first->path, first->count, axis->path, axis->count);
}

static st_status count_zip(st_space *space, st_errors *errors)
{
    space->total = space->axis_count > 0 ? space->axes[0].axis.count : 1;
    for (size_t i = 1; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        st_status status = check_length(&space->axes[0].axis, axis, errors);
        if (status != ST_OK)
            return status;
    }
    if (space->request.sample == 0 && !space->request.uncounted &&
        space->total > st_space_most_rows)
        return refuse_count(space, (double)space->total, errors);
    return ST_OK;
}

static uint64_t mix(uint64_t value)
{
    /* splitmix64, by S. Vigna after Steele et al. 2014 */
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* One row out of each of as many equal parts of the space: in order, none twice, none kept. */
uint64_t st_space_pick(const st_space *space, uint64_t row)
{
    if (space->rows == space->total)
        return row;
    uint64_t part = space->total / space->rows;
    uint64_t more = space->total % space->rows; /* parts that have one row more */
    uint64_t start = row * part + (row < more ? row : more);
    return start + mix(space->request.seed ^ mix(row)) % (part + (row < more ? 1 : 0));
}

uint64_t st_space_digit(const st_space *space, size_t axis, uint64_t pick)
{
    if (space->request.zip)
        return pick;
    size_t own = space->axes[axis].follows != 0 ? space->axes[axis].follows - 1 : axis;
    for (size_t i = space->axis_count; i-- > own + 1;)
        pick /= space->axes[i].follows == 0 ? space->axes[i].axis.count : 1;
    return pick % space->axes[own].axis.count;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* What is asked of a job first. */
static const st_role usual[] = {ST_ROLE_STEP, ST_ROLE_MFU, ST_ROLE_MEMORY};

/* Whether a column of that name exists: programs cannot read tables with duplicates. */
static bool is_shown(const st_space *space, const char *name)
{
    return st_has_text(space->cells, space->cell_count, name) ||
           (st_space_axis_of(space, name) != SIZE_MAX &&
            st_sheet_find_input(space->base.sheet, name) != NULL);
}

static st_status choose_cells(st_space *space, st_errors *errors)
{
    const st_space_request *request = &space->request;
    size_t sections = 0;
    const st_sheet_section *report = st_sheet_sections(space->base.sheet, &sections);
    size_t cells = 0;
    const st_sheet_cell *all = st_sheet_cells(space->base.sheet, &cells);
    size_t room = request->cell_count + ST_COUNT(usual) + 1;
    space->cells = st_arena_alloc(space->arena, room, sizeof *space->cells);
    space->types = st_arena_alloc(space->arena, room, sizeof *space->types);
    if (space->cells == NULL || space->types == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < request->cell_count; i++)
        if (!request->once || !is_shown(space, request->cells[i]))
            space->cells[space->cell_count++] = request->cells[i];
    for (size_t i = 0; request->cell_count == 0 && i < ST_COUNT(usual); i++) {
        const char *cell = st_sheet_role(space->base.sheet, usual[i]);
        if (cell != NULL)
            space->cells[space->cell_count++] = cell;
    }
    if (space->cell_count == 0 && sections > 0 && report[0].count > 0)
        space->cells[space->cell_count++] = report[0].cells[0];
    else if (space->cell_count == 0 && cells > 0)
        space->cells[space->cell_count++] = all[0].name;
    return ST_OK;
}

static bool is_number(const st_space_axis *axis)
{
    const st_key *key = axis->axis.key;
    bool named = key != NULL && (key->kind == ST_KEY_ENUM || key->kind == ST_KEY_BOOL);
    return axis->has_numbers && !named &&
           (axis->type == NULL || axis->type->kind == ST_TYPE_NUMBER);
}

/* A table is written while it is computed: its columns must be wide enough from the start. */
static size_t width_of_texts(const st_space_axis *axis)
{
    enum { LOOKED_AT = 1000, WIDEST = 60 };
    size_t width = 0;
    for (size_t i = 0; !is_number(axis) && i < axis->axis.count && i < LOOKED_AT; i++) {
        char storage[ST_AXIS_TEXT];
        size_t length = strlen(st_axis_text(&axis->axis, i, storage));
        width = length > width ? length : width;
    }
    return width < WIDEST ? width : WIDEST;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* An estimate of one plan follows a layout of the recipe, for which rows would take far longer. */
static void warn_of_layout(const st_space *space, st_errors *errors)
{
    const st_stack *stack = st_job_stack(space->base.job);
    if (stack != NULL && stack->layout != NULL)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                  "rows have equal stages, unlike 'steptime estimate', which takes %s=%s from the "
                  "recipe of stack %s; use --set %s=%s for the same",
                  ST_KEY_PARALLEL_LAYOUT, stack->layout, stack->name, ST_KEY_PARALLEL_LAYOUT,
                  stack->layout);
}

/* The sheet with the conditions, the inputs by axis and the programs. */
static st_status prepare(st_space *space, st_errors *errors)
{
    const st_space_request *request = &space->request;
    st_status status = st_space_check_values(space, errors);
    if (status == ST_OK)
        status = st_space_load_base(space, errors);
    if (status != ST_OK)
        return status;
    warn_of_layout(space, errors);
    st_conditions conditions = {"--where", request->wheres, request->where_count};
    status = st_sheet_with_conditions(space->base.sheet, &conditions, space->arena, &space->sheet,
                                      errors);
    if (status == ST_OK) {
        (void)st_sheet_checks(space->sheet, &space->check_count);
        status = choose_cells(space, errors);
    }
    if (status == ST_OK) {
        st_status type_status = ST_OK;
        for (size_t i = 0; i < space->cell_count; i++) {
            const char *name = space->cells[i];
            const st_sheet_cell *cell = st_sheet_find_cell(space->base.sheet, name);
            const st_sheet_input *input = st_sheet_find_input(space->base.sheet, name);
            if (cell == NULL && input == NULL) {
                type_status = st_fail(errors, ST_ERR_NAME, (st_place){0},
                                      "unknown cell '%.100s' in sheet %s" ST_HINT "%s", name,
                                      st_sheet_name(space->base.sheet),
                                      st_or_none(st_sheet_nearest(space->base.sheet, name)));
                continue;
            }
            space->types[i] = cell != NULL ? &cell->type : &input->type;
        }
        status = type_status;
    }
    if (status == ST_OK)
        status = st_space_bind_axes(space, errors);
    for (size_t i = 0; i < space->axis_count && status == ST_OK; i++) {
        const st_space_axis *axis = &space->axes[i];
        st_type type = {.kind = ST_TYPE_NUMBER, .unit = st_unit_one()};
        const st_key *key = axis->axis.key;
        if (key != NULL && key->unit != NULL)
            (void)!st_unit_parse(key->unit, strlen(key->unit), (st_place){0}, &type.unit, NULL);
        else if (axis->type != NULL)
            type = *axis->type;
        space->axes[i].shown = type;
        space->axes[i].text_width = width_of_texts(&space->axes[i]);
    }
    return status == ST_OK ? st_space_make_variants(space, errors) : status;
}

/* The axis that set a key, by the name of its option; NULL: a --set did. */
static const st_axis *find_setter(const st_space *space, const char *file)
{
    static const char option[] = "--set ";
    const char *text = file != NULL ? file : "";
    if (strncmp(text, option, sizeof option - 1) != 0)
        return NULL;
    text += sizeof option - 1;
    if (st_has_text(space->request.sets, space->request.set_count, text))
        return NULL;
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        size_t length = strlen(axis->path);
        if (strncmp(text, axis->path, length) == 0 && text[length] == '=')
            return axis;
    }
    return NULL;
}

/* Values of axes are set where a job is loaded; who gave them knows them as those of an axis. */
static bool move_to_axis(const void *context, st_errors *errors, st_error *error)
{
    const st_axis *axis = find_setter(context, error->place.file);
    (void)errors;
    error->place = axis != NULL ? axis->place : error->place;
    return true;
}

st_status st_space_create(const st_paths *paths, const st_space_request *request, st_arena *arena,
                          st_space **space, st_errors *errors)
{
    st_space *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->paths = paths;
    made->arena = arena;
    made->request = *request;
    if (request->cell_count > MAX_CELLS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--cells"},
                       "too many cells" ST_EXPECTED "at most 1000");
    st_status status = read_axes(made, errors);
    if (status == ST_OK) {
        /* Finds the axes that advance with another. */
        st_status axe_status = ST_OK;
        for (size_t k = 0; k < made->request.joined_count; k++) {
            const st_joined *joined = &made->request.joined[k];
            size_t first = st_space_axis_of(made, joined->with);
            size_t own = st_space_axis_of(made, joined->key);
            if (first >= own || own == SIZE_MAX)
                continue; /* an invalid axis is reported elsewhere */
            st_note(&axe_status,
                    check_length(&made->axes[first].axis, &made->axes[own].axis, errors));
            made->axes[own].follows = first + 1;
        }
        status = axe_status;
    }
    if (status == ST_OK) {
        st_status row_status =
            made->request.zip ? count_zip(made, errors) : count_cross(made, errors);
        uint64_t sample = made->request.sample;
        made->rows = sample > 0 && sample < made->total ? sample : made->total;
        status = row_status;
    }
    if (status == ST_OK) {
        st_error_scope scope = {.edit = move_to_axis, .context = made};
        st_errors_enter(errors, &scope);
        st_status aloud_status = prepare(made, errors);
        st_errors_leave(errors, &scope);
        status = aloud_status;
    }
    if (status == ST_OK)
        *space = made;
    return status;
}

st_status st_space_create_again(const st_paths *paths, const st_space_request *request,
                                st_arena *arena, st_space **space, st_errors *errors)
{
    st_error_scope scope = {.edit = st_error_is_severe};
    st_errors_enter(errors, &scope);
    st_status status = st_space_create(paths, request, arena, space, errors);
    st_errors_leave(errors, &scope);
    return status;
}

/* --- texts ----------------------------------------------------------------------------------- */

const st_type *st_space_axis_type(const st_space *space, size_t axis)
{
    const st_space_axis *own = &space->axes[axis];
    st_type *type = is_number(own) ? st_arena_alloc(space->arena, 1, sizeof *type) : NULL;
    if (type != NULL)
        *type = own->shown;
    return type;
}

double st_space_axis_number(const st_space *space, size_t axis, uint64_t digit)
{
    const st_space_axis *own = &space->axes[axis];
    return st_axis_value(&own->axis, own->numbers, digit);
}

const char *st_space_value_text(const st_space *space, size_t axis, uint64_t digit, char *text,
                                size_t size)
{
    const st_space_axis *own = &space->axes[axis];
    if (!is_number(own)) {
        char storage[ST_AXIS_TEXT];
        (void)snprintf(text, size, "%s", st_axis_text(&own->axis, digit, storage));
        return text;
    }
    st_exact_text(&own->shown, st_space_axis_number(space, axis, digit), text, size);
    return text;
}

const char *st_space_axis_unit(const st_space *space, size_t axis)
{
    const st_space_axis *own = &space->axes[axis];
    if (!is_number(own))
        return "";
    if (own->axis.key != NULL)
        return own->axis.key->unit != NULL ? own->axis.key->unit : "";
    return own->type != NULL && strcmp(own->type->unit.text, "1") != 0 ? own->type->unit.text : "";
}

const char *st_reason_text(const st_space *space, size_t reason)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    if (reason == ST_REASON_NONE)
        return "";
    if (reason <= count)
        return checks[reason - 1].formula;
    if (reason >= st_reason_refused(space, 0))
        return space->refusals[reason - st_reason_refused(space, 0)];
    if (reason == st_reason_infeasible(space))
        return space->infeasible != NULL ? space->infeasible
                                         : "sizes, layers and batch do not divide";
    return reason == st_reason_no_value(space) ? "a cell or check has no finite value"
                                               : "the order of ranks lacks a group";
}

const char *st_reason_sentence(const st_space *space, size_t reason, st_arena *arena)
{
    const char *text = st_reason_text(space, reason);
    if (reason == ST_REASON_NONE || reason > space->check_count)
        return text;
    size_t own = 0; /* further checks are conditions, which have no message */
    (void)st_sheet_checks(space->base.sheet, &own);
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    const char *message = reason <= own ? checks[reason - 1].message : "";
    return st_arena_printf(arena, "not: %s%s%.*s", text, message[0] != '\0' ? " - " : "",
                           (int)strcspn(message, ";."), message);
}

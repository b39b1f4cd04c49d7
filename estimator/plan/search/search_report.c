/* SPDX-License-Identifier: Apache-2.0 */
/* What a search shows: the ranking with the parts of each value, the front, what was rejected. */
#include "base/memory.h"
#include "base/text.h"
#include "search/fixed_params.h"
#include "search/search_state.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"
#include "sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { HEAD = 10, ONE_LINE = 1 };

/* Lines of settings in a brief report. */
enum { FEW_LINES = 2 };

/* --- plans that were found ------------------------------------------------------------------- */

static size_t shown_cells(const st_search_view *view)
{
    return view->part_from + view->part_count;
}

/* A list of plans; what text and CSV show of a row has a name of its own. */
typedef struct found_rows {
    const st_search_view *view;
    const st_found *found;
    size_t count;
    const double *values;
    const char **keys;       /* of all that a plan sets */
    const char **key_fields; /* ".plan KEY" */
    size_t key_count;
    const char **cell_fields; /* ".cell NAME" */
} found_rows;

static void put_value(st_node *node, const char *key, const st_type *type, double value)
{
    bool known =
        type->kind != ST_TYPE_ENUM || (value >= 0 && value < (double)type->enumeration->count);
    if (type->kind == ST_TYPE_NUMBER)
        st_put_quantity(node, key, value, &type->unit);
    else if (!known || !isfinite(value))
        st_put_null(node, key);
    else if (type->kind == ST_TYPE_BOOL)
        st_put_bool(node, key, value != 0);
    else
        st_put_text(node, key, type->enumeration->values[(size_t)value]);
}

/* Names and values of a plan under other keys; NULL: under their own. */
static void put_plan(const st_search_view *view, uint64_t row, const char *const *fields,
                     st_node *node)
{
    st_arena *arena = view->search->space->arena;
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, true, &count);
    for (size_t i = 0; sets != NULL && i < count; i++) {
        size_t length = strcspn(sets[i], "=");
        const char *key = fields != NULL ? fields[i] : st_arena_copy(arena, sets[i], length);
        st_put_text(node, st_or_none(key), sets[i] + length + 1);
    }
}

/* "--set KEY=VALUE --set ..." as a shell takes it, behind a label, in lines; of more than a few it
 * says where they are. */
static void say_settings_of(st_node *root, const char *label, const char *const *sets, size_t count,
                            size_t lines)
{
    st_buffer line = {0};
    size_t begin = 0; /* of the last line */
    size_t used = 1;
    size_t indent = 2 + strlen(label);
    for (size_t i = 0; i < count; i++) {
        size_t before = line.length;
        st_buffer_text(&line, i > 0 ? " --set " : "--set ");
        st_text_shell(sets[i], &line);
        if (lines == ONE_LINE || i == 0 || indent + line.length - begin + 2 <= ST_SEARCH_COLUMNS)
            continue;
        line.length = before;
        st_buffer_printf(&line, " \\\n%*s", (int)indent, "");
        begin = line.length;
        used++;
        st_buffer_text(&line, "--set ");
        st_text_shell(sets[i], &line);
    }
    st_say(root, "  %s%s\n", label,
           count == 0     ? "as in the job"
           : used > lines ? "--write FILE writes it as a job, --verbose shows its settings"
                          : st_buffer_read(&line));
    st_buffer_end(&line, &root->result->failed);
}

/* Plans are ranked by their closed form, which may be below the step that their estimates replay.
 */
static bool ranks_by_bound(const st_search_view *view)
{
    return view->replays != NULL && !view->confirmation.ranks &&
           st_search_keeps_bounds(view->search, view->search->space->sheet);
}

/* Both times of a plan, and what they differ by. */
static void put_replay(const st_search_view *view, size_t index, st_node *row)
{
    const st_replayed *one = &view->replays[index];
    st_term term = st_replayed_differs_by(one);
    if (ranks_by_bound(view)) {
        char bound[ST_QUANTITY_TEXT];
        st_put_seconds(row, "closed_form_s", one->closed_s);
        st_put_text(row, ".closed", st_quantity_text(one->closed_s, "s", bound));
    }
    if (!one->tried)
        return;
    if (one->known)
        st_put_seconds(row, "replay_s", one->step_s);
    else
        st_put_null(row, "replay_s");
    st_put_seconds(row, "closed_form_s", one->closed_s);
    char text[ST_QUANTITY_TEXT];
    st_put_text(row, ".replay", one->known ? st_quantity_text(one->step_s, "s", text) : "none");
    st_put_text_or_null(row, "no_replay", st_text_or_empty(one->why));
    st_put_text_or_null(row, "differs_by", term == ST_TERMS ? "" : st_term_name(term));
    st_node *terms = st_put_list(row, "terms");
    for (int i = 0; i < ST_TERMS && one->has_terms; i++) {
        st_node *entry = st_put_line_map(terms, NULL);
        st_put_text(entry, "name", st_term_name((st_term)i));
        st_put_seconds(entry, "closed_form_s", one->term_s[0][i]);
        st_put_seconds(entry, "replay_s", one->term_s[1][i]);
    }
}

/* Whether a listed plan's step is another time than that which ranks it. */
static bool lists_bounds(const found_rows *rows)
{
    const double same = 1e-3;
    bool differ = false;
    for (size_t i = 0; i < rows->count && ranks_by_bound(rows->view); i++) {
        double bound_s = rows->view->replays[i].closed_s;
        double step_s = rows->values[i * rows->view->detail.space->cell_count];
        differ = differ || fabs(step_s - bound_s) > same * bound_s;
    }
    return differ;
}

static void fill_found(const void *context, size_t index, st_node *row)
{
    const found_rows *rows = context;
    const st_space *space = rows->view->detail.space;
    const double *values = rows->values + index * space->cell_count;
    put_plan(rows->view, rows->found[index].row, rows->keys, st_put_map(row, "plan"));
    /* What makes an estimate of the job one of this plan; of the ranking also what equals it. */
    size_t count = 0;
    const char *const *sets =
        st_search_settings(rows->view->search, rows->found[index].row, &count);
    st_node *list = st_put_line_list(row, "set");
    for (size_t i = 0; sets != NULL && i < count; i++)
        st_put_text(list, NULL, sets[i]);
    if (rows->found == rows->view->ranked) {
        st_put_count(row, "equal", rows->view->equals[index]);
        st_put_bool(row, "fits", !rows->found[index].too_large);
        st_put_text(row, ".fits", rows->found[index].too_large ? "TOO LARGE" : "yes");
        put_replay(rows->view, index, row);
    }
    if (rows->found == rows->view->ranked && rows->view->bands != NULL) {
        const st_error_band *band = &rows->view->bands[index];
        st_error_band_put(band, row);
        st_put_text(row, ".error", st_error_band_short(band, rows->view->search->space->arena));
    }
    st_node *cells = st_put_map(row, "cells");
    for (size_t i = 0; i < shown_cells(rows->view); i++) {
        double value = st_sheet_known(space->sheet, space->cells[i], values[i]);
        put_value(cells, space->cells[i], space->types[i], value);
        put_value(row, rows->cell_fields[i], space->types[i], value);
    }
    st_put_count(row, ".rank", index + 1);
    put_plan(rows->view, rows->found[index].row, rows->key_fields, row);
}

/* NULL when out of memory. */
static found_rows *make_rows(const st_search_view *view, const st_found *found, size_t count,
                             const double *values)
{
    const st_space *space = view->detail.space;
    st_arena *arena = space->arena;
    size_t keys = 0;
    const char *const *sets =
        count > 0 ? st_search_sets(view->search, found[0].row, true, &keys) : NULL;
    found_rows *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL || (count > 0 && sets == NULL))
        return NULL;
    *made = (found_rows){
        .view = view, .found = found, .count = count, .values = values, .key_count = keys};
    made->keys = st_arena_alloc(arena, keys + 1, sizeof *made->keys);
    made->key_fields = st_arena_alloc(arena, keys + 1, sizeof *made->key_fields);
    made->cell_fields = st_arena_alloc(arena, space->cell_count + 1, sizeof *made->cell_fields);
    bool good = made->keys != NULL && made->key_fields != NULL && made->cell_fields != NULL;
    for (size_t i = 0; good && i < keys; i++) {
        size_t length = strcspn(sets[i], "=");
        made->keys[i] = st_arena_copy(arena, sets[i], length);
        made->key_fields[i] = st_arena_printf(arena, ".plan %.*s", (int)length, sets[i]);
        good = made->keys[i] != NULL && made->key_fields[i] != NULL;
    }
    for (size_t i = 0; good && i < space->cell_count; i++) {
        made->cell_fields[i] = st_arena_printf(arena, ".cell %s", space->cells[i]);
        good = made->cell_fields[i] != NULL;
    }
    return good ? made : NULL;
}

/* What a table says of plans behind it. */
typedef struct behind_table {
    const char *shared; /* keys that are the same in all of them */
    const char *hidden; /* that have no room */
} behind_table;

/* Columns of a table as they are chosen: one list of titles and fields. */
typedef struct shown_columns {
    st_arena *arena;
    st_table_column *columns;
    size_t count;
    const char *fields;
} shown_columns;

static void show_column(shown_columns *shown, const char *title, const char *field)
{
    const st_table_column column = {.title = title, .right = true};
    (void)ST_APPEND(shown->arena, shown->columns, shown->count, column);
    st_text_add(shown->arena, &shown->fields, ",", "%s", field);
}

typedef struct cell_span {
    size_t from;
    size_t to;
} cell_span;

/* A key of the plans of a table. */
typedef struct plan_column {
    const char *heading;
    const char *field;
    const char *value; /* of the first plan */
    size_t width;
    bool differs;
} plan_column;

static void add_value(plan_column *column, const char *value)
{
    size_t length = strlen(value);
    column->width = length > column->width ? length : column->width;
    column->differs = column->differs || strcmp(column->value, value) != 0;
}

/* The keys that plans of a search differ by, or that are not as in the job. */
static plan_column *list_columns(const found_rows *rows, size_t *count)
{
    const st_search *search = rows->view->search;
    size_t shown = 0;
    size_t all = 0;
    const char *const *sets = st_search_sets(search, rows->found[0].row, false, &shown);
    plan_column *columns =
        st_arena_alloc(search->space->arena, rows->key_count + 1, sizeof *columns);
    *count = 0;
    if (sets == NULL || columns == NULL)
        return NULL;
    for (size_t key = 0; *count < shown && key < rows->key_count; key++) {
        size_t length = strlen(rows->keys[key]);
        if (strncmp(sets[*count], rows->keys[key], length) != 0 || sets[*count][length] != '=')
            continue;
        const char *heading = st_search_heading(search, rows->keys[key]);
        plan_column *column = &columns[(*count)++];
        *column = (plan_column){.heading = heading,
                                .field = rows->key_fields[key],
                                .value = sets[*count - 1] + length + 1,
                                .width = strlen(heading)};
        for (size_t i = 0; i < rows->count; i++) {
            const char *const *own = st_search_sets(search, rows->found[i].row, true, &all);
            if (own != NULL && key < all)
                add_value(column, own[key] + length + 1);
        }
    }
    return columns;
}

static size_t width_of_keys(const found_rows *rows)
{
    size_t count = 0;
    size_t width = 0;
    const plan_column *columns = list_columns(rows, &count);
    for (size_t i = 0; columns != NULL && i < count; i++)
        width += columns[i].differs ? columns[i].width + 2 : 0;
    return width;
}

/* As many keys as fit a line; what all plans share is said behind the table. */
static void show_plans(shown_columns *shown, size_t width, const found_rows *rows,
                       behind_table *behind)
{
    size_t count = 0;
    bool detailed = rows->view->search->request.detailed;
    const plan_column *columns = list_columns(rows, &count);
    for (size_t i = 0; columns != NULL && i < count; i++) {
        const plan_column *column = &columns[i];
        bool fits = width + column->width + 2 <= ST_SEARCH_COLUMNS;
        if (detailed || (fits && (column->differs || rows->count == 1))) {
            show_column(shown, column->heading, column->field);
            width += column->width + 2;
        } else if (column->differs) {
            st_text_add(shown->arena, &behind->hidden, ", ", "%s", column->heading);
        } else {
            st_text_add(shown->arena, &behind->shared, ", ", "%s %s", column->heading,
                        column->value);
        }
    }
}

/* Of a brief report cost and energy are left out, where nobody asks for them, and the MFU, where
 * keys need its room. */
static bool is_brief_cell(const st_search_view *view, size_t cell, bool tight)
{
    const st_search *search = view->search;
    const st_role left_out[] = {ST_ROLE_COST, ST_ROLE_ENERGY, tight ? ST_ROLE_MFU : ST_ROLE_COST};
    bool asked = search->request.detailed || search->request.cell_count > 0 || cell == 0;
    for (size_t i = 0; i < ST_COUNT(left_out) && !asked; i++) {
        const char *name = st_sheet_role(search->space->sheet, left_out[i]);
        const char *own = view->detail.space->cells[cell];
        bool front =
            search->request.front[0] != NULL && (strcmp(own, search->request.front[0]) == 0 ||
                                                 strcmp(own, search->request.front[1]) == 0);
        if (name != NULL && strcmp(name, own) == 0 && !front)
            return false;
    }
    return true;
}

/* A table of some cells, and of the plans unless it shows parts. */
static void say_found(st_node *node, const found_rows *rows, const st_node *list, cell_span cells,
                      bool ranked, bool plans)
{
    enum { CELL = 9, RANK = 6, REPLAY = 9, CLOSED = 13, FITS = 11, TIES = 6, ERROR = 14 };
    const st_search_view *view = rows->view;
    const st_space *space = view->detail.space;
    shown_columns shown = {.arena = node->result->arena, .fields = ""};
    behind_table behind = {"", ""};
    size_t width = 0;
    if (ranked) {
        /* What a ranking says of each plan as a whole. */
        show_column(&shown, "rank", ".rank");
        width += RANK;
        if (view->search->request.all) {
            show_column(&shown, "fits", ".fits");
            width += FITS;
        }
        if (plans && view->merged > 0) {
            show_column(&shown, "ties", "equal");
            width += TIES;
        }
        if (plans && view->bands != NULL) {
            show_column(&shown, "error", ".error");
            width += ERROR;
        }
        bool by_bound = plans && lists_bounds(rows);
        if (by_bound || (plans && rows->count > 0 && view->replays[0].tried)) {
            show_column(&shown, by_bound ? "closed form" : "replay",
                        by_bound ? ".closed" : ".replay");
            width += by_bound ? CLOSED : REPLAY;
        }
    }
    enum { NARROW = 46 };
    bool tight = plans && rows->count > 1 && width_of_keys(rows) > ST_SEARCH_COLUMNS - NARROW;
    for (size_t i = cells.from; i < cells.to; i++) {
        double first = rows->count > 0 ? rows->values[i] : 1;
        if (isnan(st_sheet_known(space->sheet, space->cells[i], first)) ||
            (plans && !is_brief_cell(view, i, tight)))
            continue;
        size_t length = strlen(space->cells[i]);
        show_column(&shown, space->cells[i], rows->cell_fields[i]);
        width += (length > CELL ? length : CELL) + 2;
    }
    if (plans)
        show_plans(&shown, width, rows, &behind);
    st_table_show(st_say_table(node, shown.columns, shown.count, 2), list,
                  st_or_none(shown.fields));
    if (st_text_or_empty(behind.hidden)[0] != '\0')
        st_text_add(shown.arena, &behind.shared, "; ", "%s differ, see --verbose", behind.hidden);
    st_search_say(node, "  all:", 7, behind.shared, 0);
}

/* "1-3, 5": listed plans whose replays differ most in a term. */
static const char *plans_by_term(const st_search_view *view, st_term term, st_arena *arena)
{
    const char *text = "";
    size_t begin = 0; /* rank; 0: none */
    for (size_t rank = 1; rank <= view->ranked_count + 1; rank++) {
        const st_replayed *one =
            rank <= view->ranked_count ? &view->replays[rank - 1] : &(st_replayed){0};
        bool is_one = one->has_terms && st_replayed_differs_by(one) == term;
        if (is_one && begin == 0)
            begin = rank;
        if (is_one || begin == 0)
            continue;
        if (begin + 1 == rank)
            st_text_add(arena, &text, ", ", "%zu", begin);
        else
            st_text_add(arena, &text, ", ", "%zu-%zu", begin, rank - 1);
        begin = 0;
    }
    return text;
}

/* What replays and closed forms of the listed plans differ by, and in which part of the step. */
static void say_replays(const st_search_view *view, st_node *root)
{
    const char *parts = "";
    double least = (double)INFINITY;
    double most = -(double)INFINITY;
    st_arena *arena = root->result->arena;
    for (size_t i = 0; i < view->ranked_count; i++) {
        const st_replayed *one = &view->replays[i];
        double gap = one->known ? 100 * (one->step_s / one->closed_s - 1) : 0;
        least = fmin(least, gap);
        most = fmax(most, gap);
    }
    for (int term = 0; term < ST_TERMS; term++) {
        const char *ranks = st_text_or_empty(plans_by_term(view, (st_term)term, arena));
        if (ranks[0] != '\0')
            st_text_add(arena, &parts, "; ", "%s (plan %s)", st_term_name((st_term)term), ranks);
    }
    if (st_text_or_empty(parts)[0] != '\0')
        st_search_say(root, "  replays:", 11,
                      st_arena_printf(arena, "%+.1f to %+.1f %% over the closed form, most in %s",
                                      least, most, parts),
                      0);
    for (size_t i = 0; i < view->ranked_count; i++)
        if (view->replays[i].why != NULL)
            st_search_say(
                root, "  plan", 7,
                st_arena_printf(arena, "%zu has no replay: %s", i + 1, view->replays[i].why), 2);
}

static void say_ranking(st_node *root, const found_rows *rows, const st_node *list)
{
    const st_search_view *view = rows->view;
    size_t parts = view->part_from;
    size_t own = parts + view->own_parts;
    st_say(root, view->search->request.detailed ? "\nRanking\n" : "\n");
    say_found(root, rows, list, (cell_span){0, parts}, true, true);
    say_replays(view, root);
    const char *keys = "";
    for (st_plan_param param = ST_PARAM_NODES; param < ST_PARAMS; param++)
        if (view->tied_by[param])
            st_text_add(root->result->arena, &keys, ", ", "%s",
                        st_search_heading(view->search, st_plan_param_key(param)));
    const st_space *space = view->search->space;
    for (size_t i = 0; i < space->axis_count; i++)
        if (view->tied_by_axis[i])
            st_text_add(root->result->arena, &keys, ", ", "%s",
                        st_search_heading(view->search, space->axes[i].axis.path));
    char number[ST_QUANTITY_TEXT];
    if (view->merged > 0)
        st_search_say(root, "  ties", 7,
                      st_arena_printf(root->result->arena,
                                      "%s%" PRIu64 " plan%s within %s %% of these, by other %s "
                                      "(--tie 0 lists them)",
                                      view->more_ties ? "at least " : "", view->merged,
                                      view->merged == 1 ? "" : "s",
                                      st_number_format(100 * view->search->request.tie_frac, number,
                                                       sizeof number),
                                      st_or_none(keys)),
                      0);
    if (!view->search->request.detailed)
        return;
    if (view->own_parts > 0) {
        st_say(root, "\nParts of %s\n", view->search->goal);
        say_found(root, rows, list, (cell_span){parts, own}, true, false);
    }
    if (view->part_count > view->own_parts) {
        st_say(root, "\nParts of %s\n", view->whole);
        say_found(root, rows, list, (cell_span){own, shown_cells(view)}, true, false);
    }
}

/* A line for each plan, to be copied behind 'steptime estimate JOB', or for the first. The search's
 * own sets, which all share, are shown once if they are long, as those of --model are. */
static void say_settings(const st_search_view *view, st_node *root)
{
    enum { FEW = 3 };
    bool detailed = view->search->request.detailed;
    size_t own = view->search->own_set_count;
    size_t apart = detailed && own > FEW && view->ranked_count > 1 ? own : 0;
    if (detailed)
        st_say(root, "\nSettings\n");
    if (apart > 0)
        say_settings_of(root, " all  ", view->search->request.space.sets, apart, ONE_LINE);
    for (size_t i = 0; i < view->ranked_count && (detailed || i == 0); i++) {
        size_t count = 0;
        char rank[24];
        const char *const *sets = st_search_settings(view->search, view->ranked[i].row, &count);
        (void)snprintf(rank, sizeof rank, detailed ? "%4zu  " : "plan %zu  ", i + 1);
        if (sets != NULL)
            say_settings_of(root, rank, sets + apart, count - apart,
                            detailed ? ONE_LINE : FEW_LINES);
    }
}

/* --- the second plan ------------------------------------------------------------------------- */

static void add_gap(const st_search_view *view, size_t cell, const char *lead, const char **into)
{
    char text[ST_QUANTITY_TEXT];
    const st_space *space = view->detail.space;
    double gap = view->ranking[space->cell_count + cell] - view->ranking[cell];
    st_text_add(view->search->space->arena, into, lead, "%s %s%s", space->cells[cell],
                gap < 0 ? "-" : "+",
                st_type_format(space->types[cell], fabs(gap), ST_STYLE_SCALED, text, sizeof text));
}

/* What the second plan has more of, and less, the largest first. */
static void say_runner_up(const st_search_view *view, st_node *root)
{
    enum { PARTS_NAMED = 5, PARTS_IN_BRIEF = 3 };
    bool named[ST_SEARCH_MAX_PARTS] = {false};
    bool detailed = view->search->request.detailed;
    const char *text = "";
    if (view->ranked_count < 2)
        return;
    if (!detailed && view->ranking[view->detail.space->cell_count] < view->ranking[0])
        return; /* its replay is the longer one */
    if (view->ranking[view->detail.space->cell_count] == view->ranking[0]) {
        st_say(root, "%sThe second plan has the same %s\n", detailed ? "\n" : "  ",
               view->detail.space->cells[0]);
        return;
    }
    add_gap(view, 0, "", &text);
    for (size_t i = 0; i < (detailed ? PARTS_NAMED : PARTS_IN_BRIEF); i++) {
        /* The index of the part that differs most and was not named yet; SIZE_MAX: none is left
         * but what is rounding. */
        const st_space *space = view->detail.space;
        size_t part = SIZE_MAX;
        double most = 0;
        double least = 1e-9 * fabs(view->ranking[space->cell_count] - view->ranking[0]);
        for (size_t j = view->part_from; j < view->part_from + view->own_parts; j++) {
            double gap = fabs(view->ranking[space->cell_count + j] - view->ranking[j]);
            if (!named[j - view->part_from] && gap > most && gap > least) {
                most = gap;
                part = j;
            }
        }
        if (part == SIZE_MAX)
            break;
        named[part - view->part_from] = true;
        add_gap(view, part, i == 0 ? ", of which " : ", ", &text);
    }
    if (detailed)
        st_say(root, "\nThe second plan: %s\n", st_or_none(text));
    else
        st_search_say(root, "  The second plan:", 19, text, 1);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* The most frequent reasons, on a line. */
static void say_rejected(const st_search_view *view, const st_sweep_result *counts, st_node *root)
{
    enum { MOST = 3 };
    const st_space *space = view->search->space;
    st_arena *arena = space->arena;
    const char *text = st_arena_printf(arena, "%" PRIu64, counts->done - counts->kept);
    uint64_t below = UINT64_MAX;
    const char *lead = ": ";
    for (size_t n = 0; n < MOST; n++) {
        uint64_t most = 0;
        size_t reason = 0;
        for (size_t i = 1; i < st_reason_count(space); i++)
            if (counts->reasons[i] > most && counts->reasons[i] < below) {
                most = counts->reasons[i];
                reason = i;
            }
        if (most == 0)
            break;
        st_text_add(arena, &text, lead, "%" PRIu64 " not: %s", most, st_reason_text(space, reason));
        lead = "; ";
        below = most;
    }
    st_search_say(root, "rejected", HEAD, st_or_none(text), 1);
}

static void put_rejected(const st_search_view *view, st_node *root)
{
    const st_space *space = view->search->space;
    const st_search_result *result = view->result;
    const st_guided *guided = &result->guided;
    st_sweep_result counts = {.done = guided->used ? guided->computed + guided->ruled_out
                                                   : result->found.done,
                              .kept = result->found.kept,
                              .reasons = result->found.reasons};
    st_node *list = st_put_list(root, "rejected");
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (counts.reasons[i] > 0) {
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "reason", st_reason_text(space, i));
            st_put_count(row, "plans", counts.reasons[i]);
        }
    }
    if (counts.done > counts.kept && !view->search->request.detailed) {
        say_rejected(view, &counts, root);
    } else if (counts.done > counts.kept) {
        st_buffer text = {0};
        st_sweep_write_reasons(space, &counts, &text);
        st_say(root, "\n%.*s", (int)text.length, st_buffer_read(&text));
        st_buffer_end(&text, &root->result->failed);
    }
}

/* Whether every plan of the space was computed. */
static bool is_whole(const st_search_view *view)
{
    const st_search *search = view->search;
    return search->rows == search->total && !view->result->interrupted &&
           !view->result->guided.used;
}

/* What the plans are ranked by, and whether all have been looked at. */
static void say_order(const st_search_view *view, st_node *root)
{
    const st_search *search = view->search;
    const st_confirmation *done = &view->confirmation;
    st_arena *arena = search->space->arena;
    const char *text = st_arena_printf(arena, "%s", search->goal);
    if (done->ranks)
        st_text_add(arena, &text, " ", "by replay of %" PRIu64 " plan%s", done->replayed,
                    done->replayed == 1 ? "" : "s");
    else if (ranks_by_bound(view))
        st_text_add(arena, &text, " ", "by closed form, which replayed steps may exceed");
    if (is_whole(view) && search->limited)
        st_text_add(arena, &text, ", ", "all %" PRIu64 " plans of the limited space", search->rows);
    else
        st_text_add(arena, &text, ", ", "%s",
                    search->rows < search->total ? "a sample"
                                                 : st_method_name(search->request.guide.method));
    if (done->open > 0)
        st_text_add(arena, &text, "; ",
                    "%" PRIu64 " plans without a replay may be faster: --confirm %zu", done->open,
                    2 * search->request.confirm);
    st_search_say(root, search->sign < 0 ? "maximise" : "minimise", HEAD, st_or_none(text), 0);
}

/* How far estimates like these have been off; on one line of a brief report. */
static void say_error(const st_search_view *view, st_node *root)
{
    st_arena *arena = view->search->space->arena;
    const st_error_band *band = &view->band;
    const char *text = view->bands != NULL
                           ? "differs between plans, see the column: median / 9 of 10"
                           : st_or_none(st_error_band_text(band, arena));
    const char *stack = band->kind.stack[0] != '\0' ? band->kind.stack : "any stack";
    const char *brief =
        st_arena_printf(arena, "%s (median / 9 of 10), %zu row%s like this (%s, %s, %s, %s)",
                        st_error_band_short(band, arena), band->rows, band->rows == 1 ? "" : "s",
                        band->kind.gpu, band->kind.precision, band->kind.model, stack);
    bool fits = strlen(text) + HEAD <= ST_SEARCH_COLUMNS ||
                strlen(st_or_none(brief)) + HEAD > ST_SEARCH_COLUMNS;
    if (!view->search->request.detailed && band->rows > 0 && !fits)
        text = brief;
    st_search_say(root, "error", HEAD, st_or_none(text), 0);
}

static void say_head(const st_search_view *view, st_node *root)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    char number[ST_QUANTITY_TEXT];
    bool sampled = search->rows < search->total;
    st_say(root, "job       %s\nsheet     %s\n", st_job_name(search->space->base.job),
           st_sheet_name(search->space->base.sheet));
    for (size_t i = 0; i < search->space->refine_count; i++)
        st_say(root, "%s    %s\n", i == 0 ? "refine" : "      ", search->space->refine[i]);
    st_say(root, "GPUs      ");
    for (size_t i = 0; i < search->wanted.gpus_count; i++)
        st_say(root, "%s%s", i == 0 ? "" : ", ",
               st_number_format(search->wanted.gpus[i], number, sizeof number));
    if (search->gpus_from != NULL)
        st_say(root, " (all %s: neither --gpus nor the job's plan sets a number)",
               search->gpus_from);
    /* How many GPUs of a node are used, where the numbers do not fill nodes. */
    if (search->used_gpus > 0)
        st_say(root, " (%.10g of the %.10g GPUs of a node are used)", search->used_gpus,
               search->node_gpus);
    else if (search->node_gpus > 0)
        st_say(root, " (no share of a node of %.10g fits all; set cluster.gpus_used_per_node)",
               search->node_gpus);
    else if (search->fewer_gpus > 0)
        st_say(root, " (--gpus %.10g uses a power of two on each node and may be faster)",
               search->fewer_gpus);
    else if (search->request.gpus != NULL && search->wanted.gpus_count == 1 &&
             search->wanted.gpus[0] < search->wanted.gpus_per_node)
        st_say(root, " (of the %.10g of a node)", search->wanted.gpus_per_node);
    st_say(root, "\n");
    st_search_put_fixed_params(search, NULL, 10, root);
    uint64_t plans = result->guided.used ? search->rows : result->found.done;
    st_say(root, "plans     %" PRIu64 ", of which %" PRIu64 " pass all checks", plans,
           result->found.kept);
    if (result->guided.used)
        st_say(root, " among the %" PRIu64 " computed", result->guided.computed);
    if (sampled)
        st_say(root, "; drawn from %" PRIu64, search->total);
    if (result->interrupted)
        st_say(root, "; interrupted, %" PRIu64 " not considered",
               search->rows - result->found.done);
    st_say(root, "\n");
    say_error(view, root);
    say_order(view, root);
}

static void put_head(const st_search_view *view, st_node *root)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    const st_space *space = view->detail.space;
    st_put_text(root, "job", st_job_name(search->space->base.job));
    st_put_text(root, "sheet", st_sheet_name(search->space->base.sheet));
    st_put_texts(root, "refine", search->space->refine, search->space->refine_count);
    st_put_text(root, search->sign < 0 ? "maximise" : "minimise", search->goal);
    st_put_bool(root, "exhaustive", is_whole(view) && !search->limited);
    if (result->interrupted)
        st_put_bool(root, "interrupted", true);
    st_put_bool(root, "limited", search->limited);
    st_put_text(root, "method", st_method_name(search->request.guide.method));
    st_put_count(root, "plans", result->found.done);
    st_put_count(root, "kept", result->found.kept);
    st_put_count(root, "merged", view->merged);
    st_put_text(root, "by", view->confirmation.ranks ? "replay" : "closed form");
    st_put_count(root, "replayed", view->confirmation.replayed);
    st_put_count(root, "without_replay", view->confirmation.open);
    st_error_band_put(view->bands != NULL ? NULL : &view->band, root);
    st_put_number(root, "tie", search->request.merges ? search->request.tie_frac : 0);
    st_node *units = st_put_map(root, "units");
    for (size_t i = 0; i < shown_cells(view); i++)
        st_put_text(units, space->cells[i], st_type_unit_text(space->types[i]));
    say_head(view, root);
}

void st_search_put(const st_search_view *view, st_result *result)
{
    const st_results *found = &view->result->found;
    st_arena *arena = view->search->space->arena;
    st_node *root = st_result_begin(result, arena);
    const found_rows *ranking = make_rows(view, view->ranked, view->ranked_count, view->ranking);
    const found_rows *front = make_rows(view, found->front, found->front_count, view->front);
    if (ranking == NULL || front == NULL)
        return;
    put_head(view, root);
    st_node *list = st_put_rows(root, "ranking", fill_found, ranking, ranking->count);
    if (ranking->count > 0) {
        /* The heading of CSV; its rows are those of the ranking. */
        const st_space *space = ranking->view->detail.space;
        st_result_csv(result, "ranking", ".rank=rank");
        if (ranking->view->search->request.all)
            st_result_csv_column(result, "fits", "fits");
        for (size_t i = 0; i < ranking->key_count; i++)
            st_result_csv_column(result, ranking->key_fields[i], ranking->keys[i]);
        for (size_t i = 0; i < shown_cells(ranking->view); i++) {
            const st_type *type = space->types[i];
            bool unit = type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0;
            const char *name =
                unit ? st_arena_printf(space->arena, "%s [%s]", space->cells[i], type->unit.text)
                     : space->cells[i];
            st_result_csv_column(result, ranking->cell_fields[i], st_or_none(name));
        }
        if (ranks_by_bound(view))
            st_result_csv_column(result, "closed_form_s", "closed form [s]");
        if (view->replays[0].tried) {
            st_result_csv_column(result, "replay_s", "replay [s]");
            st_result_csv_column(result, "differs_by", "differs_by");
        }
        say_ranking(root, ranking, list);
        say_runner_up(view, root);
        say_settings(view, root);
    }
    list = st_put_rows(root, "front", fill_found, front, front->count);
    if (front->count > 0) {
        st_say(root, "\nPareto front of %s and %s: %zu plans%s\n", view->search->request.front[0],
               view->search->request.front[1], front->count, found->front_full ? " at least" : "");
        say_found(root, front, list, (cell_span){0, view->part_from}, false, true);
    }
    if (view->result->guided.used)
        view->search->request.guide.methods->put(view, root);
    if (view->miss != NULL) {
        st_node *node = st_put_map(root, "nearest");
        if (!view->result->found.has_nearest) {
            st_say(node, "\nNothing divides\n");
        } else {
            /* The numbers of the plan that is nearest to fitting, and what makes an estimate one of
             * it. */
            size_t count = 0;
            const st_found *nearest = &view->result->found.nearest;
            const found_rows *rows = make_rows(view, nearest, 1, view->nearest);
            const char *const *sets = st_search_settings(view->search, nearest->row, &count);
            st_say(node, "\nNearest to fitting%s", view->too_large ? ", " : "");
            if (view->too_large)
                st_say_ink(node, ST_INK_BAD, "TOO LARGE");
            st_say(node, "\n");
            if (rows != NULL && sets != NULL) {
                fill_found(rows, 0, node);
                st_put_bool(node, "fits", !view->too_large);
                say_found(node, rows, node, (cell_span){0, view->part_from}, false, true);
                say_settings_of(node, "", sets, count, SIZE_MAX);
            }
        }
        st_put_text(node, "lacks", view->miss);
        st_say(node, "  lacks: %s\n", view->miss);
    }
    put_rejected(view, root);
}

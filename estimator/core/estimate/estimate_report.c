/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An estimate as a result. People read what was estimated, the sheet's sections as columns, what
 * was assumed, what to watch, and last, where the eye is when the command ends, the headline;
 * programs get every input and cell as docs/output.md promises them.
 */
#include "estimate/report.h"

#include "base/error_report.h"

#include "base/chars.h"
#include "estimate/effects.h"
#include "estimate/found_plan.h"
#include "estimate/groups.h"
#include "estimate/provider_effects.h"
#include "estimate/rests_on_defaults.h"
#include "job/keys.h"
#include "plugin/refine_parse.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, NUMBER, UNIT, MEANING, ORIGIN, COLUMNS };

static const st_table_column columns[COLUMNS] = {
    [NAME] = {.ink = ST_INK_NAME},
    [NUMBER] = {.right = true, .split = true, .none = "not known"},
    [UNIT] = {.joined = true},
    [MEANING] = {.elastic = true},
    [ORIGIN] = {.ink = ST_INK_FAINT, .elastic = true},
};

/* ---- what was estimated ---- */

enum { LABEL_WIDTH = 9 };

/* What a job says about itself: all keys but names and the model's and cluster's data. */
static bool is_plan(const char *path)
{
    if (strchr(path, '.') == NULL)
        return strcmp(path, ST_KEY_NAME) != 0 && strcmp(path, ST_KEY_SHEET) != 0 &&
               strcmp(path, ST_KEY_ISOLATE) != 0 &&
               strcmp(path, ST_KEY_REFINE) != 0; /* the command line may say something else */
    return strncmp(path, ST_KEY_PARALLEL ".", 9) == 0 || strncmp(path, ST_KEY_BATCH ".", 6) == 0;
}

/* "GPT-3B (gpt-3b)": what the section calls itself, and the file that it came from. */
static void write_section(const st_job *job, const char *section, const char *name_key,
                          st_node *root)
{
    const char *file = st_job_section_name(job, section);
    const st_job_value *name = st_job_value_of(job, name_key);
    const char *text = file;
    if (name != NULL && name->origin != ST_ORIGIN_NONE)
        text = file == NULL || strcmp(file, "inline") == 0 || strcmp(file, name->text) == 0
                   ? name->text
                   : st_arena_printf(root->result->arena, "%s (%s)", name->text, file);
    st_say_fact(root, section, LABEL_WIDTH, text);
}

static const char *recipes_of(const st_estimate *estimate, const st_stack *stack)
{
    return estimate->recipes != NULL ? estimate->recipes : stack->recipes;
}

/* A sheet of a step that names the bytes of its messages, or no step. */
static bool sends_known(const st_sheet *sheet)
{
    bool known = st_sheet_role(sheet, ST_ROLE_STEP) == NULL;
    for (size_t group = 0; group < st_role_part_count(ST_ROLE_SENT); group++)
        known = known || st_sheet_role_part(sheet, ST_ROLE_SENT, group) != NULL;
    return known;
}

void st_report_header(const st_estimate *estimate, bool title_too, st_node *root)
{
    st_arena *arena = root->result->arena;
    const char *title = title_too ? st_sheet_title(estimate->sheet) : "";
    st_say_fact(root, "job", LABEL_WIDTH, st_job_name(estimate->job));
    write_section(estimate->job, ST_KEY_MODEL, ST_KEY_MODEL_NAME, root);
    write_section(estimate->job, ST_KEY_CLUSTER, ST_KEY_CLUSTER_NAME, root);
    /* The keys of the plan as the command line would set them: "parallel.tp=2 parallel.pp=4". */
    const st_job *job = estimate->job;
    const char *plan_text = "";
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = st_job_value_of(job, keys[i].path);
        bool given = is_plan(keys[i].path) && value != NULL &&
                     (value->origin == ST_ORIGIN_FILE || value->origin == ST_ORIGIN_SET);
        if (given)
            st_text_add(arena, &plan_text, " ", "%s=%s", keys[i].path, value->text);
    }
    st_say_fact(root, "plan", LABEL_WIDTH, plan_text);
    st_say(root, "%-*s%s%s", LABEL_WIDTH, "sheet", st_sheet_name(estimate->sheet),
           title[0] != '\0' ? ": " : "");
    st_say_wrapped(root, title, LABEL_WIDTH + strlen(st_sheet_name(estimate->sheet)) + 2,
                   LABEL_WIDTH);
    st_say(root, "\n");
    /* The plugins in use, as command-line options. */
    const char *text = "";
    for (size_t i = 0; i < estimate->refinement_count; i++)
        st_text_add(arena, &text, " + ", "%s",
                    st_or_none(st_refine_text(&estimate->refinements[i], arena)));
    st_say_fact(root, "refine", LABEL_WIDTH, text);
    st_say_fact(root, "error", LABEL_WIDTH, st_error_band_text(&estimate->band, arena));
    if (!sends_known(estimate->sheet))
        st_say_fact(
            root, "traffic", LABEL_WIDTH,
            "not known: the sheet has no role 'sent', so that nothing compares its messages "
            "with what links and NICs carry");
    const st_stack *stack = st_job_stack(estimate->job);
    if (stack != NULL)
        st_say_fact(root, "stack", LABEL_WIDTH,
                    st_arena_printf(root->result->arena, "%s%s%s (%s)%s", stack->title,
                                    stack->release != NULL ? " " : "", st_or_none(stack->release),
                                    stack->name,
                                    stack->is_default ? ", assumed: not set in the job" : ""));
    if (stack != NULL && recipes_of(estimate, stack) != NULL)
        st_say_fact(root, "recipe", LABEL_WIDTH, recipes_of(estimate, stack));
}

/* ---- cells ---- */

/* Who changes a cell: the plugins that have a part in it, "" where it only follows others. */
static const char *providers_of(const st_estimate *estimate, const char *cell)
{
    size_t i = ST_FIND(estimate->refined, estimate->refined_count, name, cell);
    return i < estimate->refined_count ? estimate->refined[i].providers : "";
}

static void add_title(st_table *table, const char *title)
{
    st_table_title(table, "");
    st_table_title(table, title);
}

static void put_cells(const st_estimate *estimate, st_node *root, st_table *table)
{
    const char *section = NULL;
    st_node *list = st_put_list(root, "cells");
    for (size_t i = 0; i < estimate->shown_count; i++) {
        const st_shown *shown = &estimate->shown[i];
        st_node *row = st_put_line_map(list, NULL);
        bool only_one = estimate->shown[0].section[0] == '\0';
        st_put_text(row, "name", shown->name);
        st_put_value(row, "value", shown->type, shown->value);
        st_put_unit(row, "unit", shown->type);
        if (estimate->plugin_count > 0)
            st_put_value(row, "formula_value", shown->type, shown->formula_value);
        st_put_text(row, "doc", shown->doc);
        st_put_text_or_null(row, "cite", shown->cite);
        st_put_text_or_null(row, "section", shown->section);
        st_put_text(row, ".providers", providers_of(estimate, shown->name));
        if (section == NULL || strcmp(section, shown->section) != 0)
            add_title(table, shown->section[0] != '\0' ? shown->section
                             : only_one                ? "Cells"
                                                       : "Other cells");
        section = shown->section;
        st_table_show(table, row, "name,value,doc,cite");
    }
}

/* ---- what more of each constant would do to the headline ---- */

/* Every constant, whether or not it matters; people read the larger effects first.
 */
static void put_effects(const st_estimate *estimate, st_node *root, st_table *table)
{
    const double least = 0.0005; /* below it, it would print as 0.0 % */
    size_t count = 0;
    const st_effect **sorted =
        st_arena_alloc(root->result->arena, estimate->input_count + 1, sizeof *sorted);
    if (estimate->effects == NULL || estimate->shown_count == 0 || sorted == NULL)
        return;
    st_node *list = st_put_list(root, "sensitivity");
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_effect *effect = &estimate->effects[i];
        if (!effect->constant)
            continue;
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "name", effect->input->input->name);
        st_put_text(row, "key", effect->input->input->from);
        st_put_number(row, "factor", ST_EFFECT_FACTOR);
        st_put_text(row, "cell", estimate->shown[0].name);
        st_put_number(row, "change", effect->change);
        if (fabs(effect->change) >= least)
            sorted[count++] = effect;
    }
    if (count > 0)
        add_title(table, "What 10 % more of a constant changes");
    qsort(sorted, count, sizeof *sorted, st_effects_compare);
    for (size_t i = 0; i < count; i++) {
        const st_sheet_input *input = sorted[i]->input->input;
        char number[32];
        (void)snprintf(number, sizeof number, "%+.1f", 100 * sorted[i]->change);
        const char *const fields[COLUMNS] = {input->name, number, "%", input->doc, input->from};
        st_table_row(table, fields);
    }
}

/* ---- inputs ---- */

static void put_input(const st_bound_input *input, st_node *row)
{
    const char *source = input->from != NULL ? input->from->source : NULL;
    if (source == NULL)
        source = input->input->cite;
    st_put_text(row, "name", input->input->name);
    st_put_text(row, "key", input->input->from);
    st_put_value(row, "value", &input->input->type, input->value);
    st_put_unit(row, "unit", &input->input->type);
    st_put_text(row, "origin", st_input_origin(input));
    st_put_text_or_null(row, "source", source);
    st_put_place(row, "place", st_input_place(input));
}

static void fill_input(const void *context, size_t index, st_node *row)
{
    put_input(&((const st_estimate *)context)->inputs[index], row);
}

static void put_assumptions(const st_estimate *estimate, st_node *root, st_table *sections)
{
    size_t shown = 0;
    size_t left_out = 0;
    st_table *table = st_say_table(root, columns, COLUMNS, 2);
    st_node *list = st_put_list(root, "assumptions");
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_bound_input *input = &estimate->inputs[i];
        if (!st_input_is_assumed(input))
            continue;
        st_node *row = st_put_line_map(list, NULL);
        put_input(input, row);
        /* Omits defaults that change no shown number or are zero. */
        const st_bound_input *showing_input = &estimate->inputs[i];
        bool is_default =
            showing_input->from == NULL || showing_input->from->origin == ST_ORIGIN_DEFAULT;
        if (is_default && estimate->effects != NULL && !estimate->effects[i].anywhere) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            add_title(table, "Assumptions");
        /* "data sheet; configs/models/gpt-3b.yaml:7": where a value comes from. */
        const st_job_value *from = input->from;
        if (from == NULL)
            st_put_format(row, ".origin", "default of sheet %s", st_sheet_name(estimate->sheet));
        else if (from->origin == ST_ORIGIN_DEFAULT)
            st_put_format(row, ".origin", "default of %s", from->path);
        else if (from->place.line > 0)
            st_put_format(row, ".origin", "%s%s%s:%d", st_text_or_empty(from->source),
                          from->source != NULL ? "; " : "", st_text_or_empty(from->place.file),
                          from->place.line);
        else
            st_put_format(row, ".origin", "%s%s%s", st_text_or_empty(from->source),
                          from->source != NULL ? "; " : "", st_text_or_empty(from->place.file));
        st_put_text(row, ".doc", input->input->doc);
        st_table_show(table, row, "name,value,.doc,.origin");
    }
    /* Sources are longer than citations: only the values of the two line up. */
    st_table_align(sections, table, MEANING);
    const bool alone = shown == 0;
    if (left_out == 0)
        return;
    if (alone)
        st_say_title(root, "Assumptions");
    st_say(root, "  %zu %s%s 0 or without effect; list all with --json\n", left_out,
           alone ? "" : "more ", left_out == 1 ? "default is" : "defaults are");
}

/* ---- checks and warnings ---- */

typedef struct checks {
    const st_estimate *estimate;
    const st_errors *errors;
    const st_sheet_check *list;
} checks;

const char *st_check_message(const st_errors *errors, const st_sheet_check *check)
{
    const st_place *place = &check->place;
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        bool same = error->status == ST_ERR_CHECK && error->place.line == place->line &&
                    error->place.column == place->column && error->place.file != NULL &&
                    place->file != NULL && strcmp(error->place.file, place->file) == 0;
        if (same)
            return error->message;
    }
    return NULL;
}

static void fill_check(const void *context, size_t index, st_node *row)
{
    const checks *all = context;
    const st_sheet_check *check = &all->list[index];
    st_put_text(row, "that", check->formula);
    bool holds = all->estimate->checks[index] != 0.0;
    st_put_text(row, "level", st_check_level(check));
    st_put_bool(row, "holds", holds);
    if (!holds)
        st_put_text(row, "message", st_check_message(all->errors, check));
}

void st_estimate_report(const st_estimate *estimate, const st_errors *errors, st_arena *arena,
                        st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *job = st_put_map(root, "job");
    st_put_text(job, "name", st_job_name(estimate->job));
    st_put_text(job, "file", st_job_file(estimate->job));
    st_put_text(job, "model", st_job_section_name(estimate->job, ST_KEY_MODEL));
    st_put_text(job, "cluster", st_job_section_name(estimate->job, ST_KEY_CLUSTER));
    st_put_text(job, "sheet", st_sheet_name(estimate->sheet));
    const st_stack *stack = st_job_stack(estimate->job);
    if (stack != NULL) {
        st_node *node = st_put_map(job, "stack");
        st_put_text(node, "name", stack->name);
        st_put_text(node, "title", stack->title);
        st_put_text_or_null(node, "release", st_text_or_empty(stack->release));
        st_put_bool(node, "assumed", stack->is_default);
        st_put_text_or_null(node, "source", st_text_or_empty(stack->source));
        st_put_text_or_null(node, "recipes", st_text_or_empty(recipes_of(estimate, stack)));
    }
    st_error_band_put(&estimate->band, root);
    (void)st_put_rows(root, "inputs", fill_input, estimate, estimate->input_count);
    st_limits_say(errors, root);
    if (estimate->found != NULL)
        st_found_plan_put(estimate->found, root);
    st_report_header(estimate, true, root);
    st_table *table = st_say_table(root, columns, COLUMNS, 2);
    put_cells(estimate, root, table);
    st_refined_report(estimate, root, table);
    put_effects(estimate, root, table);
    put_assumptions(estimate, root, table);
    st_summary_values values;
    if (st_summary_compute(estimate, root->result->arena, &values, NULL) == ST_OK)
        st_rests_put(estimate, &values, root);
    size_t count = 0;
    checks *all = st_arena_alloc(root->result->arena, 1, sizeof *all);
    if (all != NULL) {
        *all = (checks){.estimate = estimate,
                        .errors = errors,
                        .list = st_sheet_checks(estimate->sheet, &count)};
        size_t fit_count = 0;
        size_t limits = 0;
        bool fits = true;
        const st_sheet_check *list = st_sheet_checks(estimate->sheet, &fit_count);
        for (size_t i = 0; i < fit_count; i++) {
            limits += list[i].limit ? 1 : 0;
            fits = fits && (!list[i].limit || estimate->checks[i] == 1.0);
        }
        if (limits == 0)
            st_put_null(root, "fits");
        else
            st_put_bool(root, "fits", fits);
        (void)st_put_rows(root, "checks", fill_check, all, count);
    }
    st_report_warnings(errors, root);
    if (estimate->shown_count != 0) {
        const st_shown *first = &estimate->shown[0];
        char text[ST_QUANTITY_TEXT];
        st_type_format(first->type, first->value, ST_STYLE_SCALED, text, sizeof text);
        st_say(root, "\n%s (%s): ", first->doc, first->name);
        st_say_ink(root, ST_INK_STRONG, text);
        st_say(root, "\n");
    }
    st_result_csv(result, "cells", "section,name=cell,value,unit,doc=meaning,cite=citation");
    if (estimate->plugin_count > 0) {
        st_result_csv_column(result, "formula_value", "formula_value");
        st_result_csv_column(result, ".providers", "provider");
    }
}

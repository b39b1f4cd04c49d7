/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What validation assumes of a row is what a user gets who names the same stack and keys: rows of
 * the shipped sources (STEPTIME_DATA) are estimated again as jobs, without constants of their own.
 */
#include "fit_support.h"

#include "base/text.h"
#include "steptime/estimate.h"
#include "steptime/keys.h"
#include "steptime/tool/error_kinds.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/job_values.h"

enum { EVERY = 9, SETS = 260 };

static const char *const texts[] = {ST_KEY_MODEL_PATTERN, ST_KEY_PARALLEL_LAYOUT,
                                    ST_KEY_PARALLEL_ORDER, ST_KEY_MODEL_LAYER_LIST,
                                    ST_KEY_STACK_RELEASE};

/* The row as a user types it: its stack, its GPU or cluster, and the keys that have a value. */
static size_t list_sets(fixture *own, const st_measured *measured, size_t row, const char **sets)
{
    const st_job *job = measured->rows[row].job;
    const st_stack *stack = st_job_stack(job);
    const char *gpu = st_error_kind_of(job).gpu;
    const char *cluster = st_job_section_name(job, "cluster");
    const bool has_cluster = cluster != NULL && strcmp(cluster, "inline") != 0;
    size_t count = 0;
    size_t input_count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(measured->sheet, &input_count);
    if (stack != NULL)
        sets[count++] = st_arena_printf(own->arena, "stack=%s", stack->name);
    if (has_cluster)
        sets[count++] = st_arena_printf(own->arena, "cluster=%s", cluster);
    if (gpu[0] != '\0')
        sets[count++] = st_arena_printf(own->arena, "cluster.gpu=%s", gpu);
    for (size_t i = 0; i < ST_COUNT(texts); i++)
        if (st_job_text(job, texts[i])[0] != '\0')
            sets[count++] =
                st_arena_printf(own->arena, "%s=%s", texts[i], st_job_text(job, texts[i]));
    for (size_t i = 0; i < input_count; i++) {
        const st_key *key = st_key_find(inputs[i].from);
        const double value = measured->inputs[i * measured->row_count + row];
        char text[ST_QUANTITY_TEXT];
        assert_true(count + 1 < SETS);
        if (key == NULL || key->kind == ST_KEY_TEXT || !isfinite(value) ||
            (inputs[i].has_default && value == inputs[i].default_value &&
             st_job_value_of(job, key->path)->origin == ST_ORIGIN_NONE) ||
            (gpu[0] != '\0' && strncmp(key->path, "cluster.gpu.", 12) == 0 &&
             st_job_value_of(job, key->path)->number == value))
            continue;
        const char *written =
            st_type_format(&inputs[i].type, value, ST_STYLE_UNIT, text, sizeof text);
        if (key->kind == ST_KEY_BOOL)
            written = value != 0 ? "true" : "false";
        sets[count++] = st_arena_printf(own->arena, "%s=%s", key->path, written);
    }
    return count;
}

static double estimate_as_job(fixture *own, const st_measured *measured, size_t row)
{
    const char *sets[SETS];
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    st_estimate_cell found = ST_ESTIMATE_CELL_INIT;
    request.sheet = st_sheet_name(measured->sheet);
    request.sets = sets;
    request.set_count = list_sets(own, measured, row, sets);
    request.cells = &measured->cell;
    request.cell_count = 1;
    request.checks_warn = true;
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK ||
        st_estimate_read(estimate, measured->cell, &found, own->errors) != ST_OK)
        fail_msg("%s: %s", measured->rows[row].id, said(own));
    const double value = found.value;
    st_estimate_destroy(estimate);
    st_errors_clear(own->errors);
    return value;
}

/* Constants of the sheet are a stack's, a GPU's or a cluster's. */
static void refuse_constants(const st_table_source *source, const st_assigned *assigned,
                             size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(assigned[i].path, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0)
            fail_msg("%s: %s is a constant of its own", source->file, assigned[i].path);
}

TEST_OF(rows_are_what_a_user_gets, fixture *own, set_up, tear_down)
{
    const char *folder = getenv("STEPTIME_DATA");
    const char *every = getenv("STEPTIME_EVERY");
    const size_t step = every != NULL ? (size_t)strtoul(every, NULL, 10) : EVERY;
    const st_table_source *sources = NULL;
    size_t source_count = 0;
    size_t compared = 0;
    size_t apart = 0;
    assert_int_equal(
        st_table_sources_load(own->paths, own->arena, &sources, &source_count, own->errors), ST_OK);
    for (size_t i = 0; i < source_count; i++) {
        const st_table_source *source = &sources[i];
        for (size_t k = 0; k < source->assumption_count; k++) {
            const st_assumption *assumption = &source->assumptions[k];
            refuse_constants(source, assumption->set, assumption->set_count);
            refuse_constants(source, assumption->fill, assumption->fill_count);
        }
        st_measured *sets = NULL;
        size_t count = 0;
        st_measured_request request = {
            .paths = own->paths, .sources = source, .source_count = 1, .known_only = true};
        const char *file =
            source->rows != NULL ? st_path_resolve(own->arena, source->place, source->rows) : NULL;
        if (source->data != NULL && folder != NULL)
            file = st_arena_printf(own->arena, "%s/%s", folder, source->data);
        if (file == NULL || access(file, R_OK) != 0) {
            print_message("%s: set STEPTIME_DATA to the folder with its table\n", source->name);
            continue;
        }
        const st_measured_table table = {.file = file, .place = source->place};
        if (st_measured_read(&request, &table, own->arena, &sets, &count, own->errors) != ST_OK)
            fail_msg("%s", said(own));
        if (count == 0 || strcmp(st_sheet_name(sets->sheet), "megatron") != 0)
            continue;
        assert_int_equal(st_measured_run(sets, own->arena, own->errors), ST_OK);
        st_errors_clear(own->errors);
        for (size_t row = 0; row < sets->row_count; row += step) {
            if (sets->rows[row].left_out != NULL || sets->rows[row].job == NULL)
                continue;
            const double value = estimate_as_job(own, sets, row);
            compared++;
            if (fabs(value / sets->rows[row].estimate - 1) <= 0.01)
                continue;
            apart++;
            print_message("%s %s: validate has %g, estimate %g\n", source->name, sets->rows[row].id,
                          sets->rows[row].estimate, value);
        }
    }
    print_message("%zu rows compared\n", compared);
    assert_int_equal(apart, 0);
}

TESTS(one_door);

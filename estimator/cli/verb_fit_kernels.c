/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit kernels */
#include "cli/tables.h"

#include "base/output.h"
#include "fit/accuracy.h"
#include "job/files.h"
#include "report/json.h"
#include "steptime/profile.h"
#include "times/steps.h"

#include <string.h>

static const cli_option options[] = {
    CLI_ROW_TABLE,
    CLI_ROW_ROWS,
    CLI_ROW_CONSTANTS,
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    {CLI_GPU, CLI_ONE, CLI_WORD_NONE, 0, "gpu", "NAME", NULL,
     "the GPU that the times were measured on, where the tables do not say"},
    {CLI_SAVE, CLI_ONE, CLI_WORD_NONE, 0, "save", "NAME", NULL,
     "store the times as a profile of this name, in place of what it had"},
    {CLI_RECIPE, CLI_ONE, CLI_WORD_CHOICE, 0, "form", "FORM",
     "roofline trees trees-on-roofline",
     "predict with this form instead of the best of all on held-out shapes"},
    CLI_ROW_DB,
    {CLI_WRITE, CLI_ONE, CLI_WORD_FILE, 'o', "output", "FILE", NULL,
     "write the times of one cell to FILE, for the option 'times' of the plugin kernel-times"},
    CLI_ROW_PATH,
    CLI_ROW_END,
};

static const cli_example examples[] = {
    {"steptime fit kernels layers.csv --gpu a100-sxm-80gb --save my-layers",
     "layer times of your own, for jobs with 'refine: {plugin: kernel-times, profile: my-layers}'"},
    {NULL, NULL},
};

static const char plugin[] = "kernel-times";

typedef struct kernels_run {
    cli_run *run;
    st_paths *paths;
    st_time_sets *sets;
    st_trees_library *library; /* NULL: no XGBoost */
    st_time_models models[ST_TIME_SETS];
    st_measured_request request;
    const cli_table *tables; /* of measured steps */
    size_t table_count;
    st_step_rows rows;
    st_step_errors errors;
    bool *used; /* lines of the table that is looked at */
} kernels_run;

/* ---- reading ---- */

static st_status read_table(kernels_run *own, const char *file)
{
    cli_run *run = own->run;
    st_source source = {0};
    const st_csv *csv = NULL;
    st_status status =
        st_file_read_table(file, (st_place){0}, run->arena, &source, run->errors);
    if (status == ST_OK)
        status =
            st_csv_parse(source.file, source.text, source.length, run->arena, &csv, run->errors);
    if (status == ST_OK)
        status = st_time_table_read(csv, own->paths, cli_value(run, CLI_GPU), run->arena,
                                    own->sets, run->errors);
    return status;
}

/* ---- measured steps ---- */

static st_status read_steps(kernels_run *own, const cli_table *table)
{
    cli_run *run = own->run;
    st_measured *sets = NULL;
    size_t count = 0;
    st_measured_table asked = {.file = table->file, .filter = table->filter};
    st_status status =
        st_measured_read(&own->request, &asked, run->arena, &sets, &count, run->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = st_time_steps(&sets[i], run->arena, own->sets, &own->rows, run->errors);
    return status;
}

static st_status no_steps(const kernels_run *own)
{
    st_errors *errors = own->run->errors;
    return st_errors_add(
        errors,
        &(st_error){.status = ST_ERR_VALUE,
                    .place = {.file = own->tables[0].file},
                    .message = st_errors_text(
                        errors,
                        "no layer time can be told from these rows: %zu left out, %zu with a "
                        "pipeline, %zu with MoE layers, %zu faster than the ends of the model",
                        own->rows.left_out, own->rows.pipelined, own->rows.mixed,
                        own->rows.shorter),
                    .suggestion = "layer times need measured steps with pp 1"});
}

/* Tries the times on all rows of a table; those that they come from count apart. */
static st_status try_table(kernels_run *own, const cli_table *table, const st_times *times)
{
    cli_run *run = own->run;
    st_measured *all = NULL;
    st_measured *used = NULL;
    size_t all_count = 0;
    size_t used_count = 0;
    st_measured_table asked = {.file = table->file};
    st_status status =
        st_measured_read(&own->request, &asked, run->arena, &all, &all_count, run->errors);
    asked.filter = table->filter;
    if (status == ST_OK)
        status =
            st_measured_read(&own->request, &asked, run->arena, &used, &used_count, run->errors);
    if (status != ST_OK || all_count == 0)
        return status;
    bool *lines = st_arena_alloc(run->arena, all[0].csv->row_count + 1, sizeof *lines);
    if (lines == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < used_count && status == ST_OK; i++)
        status = st_step_usable(&used[i], run->arena, lines, run->errors);
    for (size_t i = 0; i < all_count && status == ST_OK; i++)
        status = st_step_try(&all[i], times, lines, run->arena, &own->errors, run->errors);
    return status;
}

/* With the times as the plugin will read them. */
static st_status try_steps(kernels_run *own)
{
    st_buffer buffer = {0};
    st_times times;
    char reason[200];
    st_status status = ST_OK;
    if (own->table_count == 0)
        return ST_OK;
    st_times_write(&own->models[0], own->sets, &buffer);
    if (buffer.failed) {
        st_buffer_free(&buffer);
        return ST_ERR_MEMORY;
    }
    const char *fault = st_times_read(&times, buffer.data, buffer.length, reason, sizeof reason);
    st_buffer_free(&buffer);
    if (fault != NULL)
        return st_errors_add(own->run->errors,
                             &(st_error){.status = ST_ERR_VALUE, .message = fault});
    for (size_t i = 0; i < own->table_count && status == ST_OK; i++)
        status = try_table(own, &own->tables[i], &times);
    st_times_free(&times);
    return status;
}

/* ---- all input ---- */

static st_status read_tables(kernels_run *own)
{
    cli_run *run = own->run;
    st_status status = ST_OK;
    own->sets = st_arena_alloc(run->arena, 1, sizeof *own->sets);
    if (own->sets == NULL)
        return ST_ERR_MEMORY;
    if (own->table_count + run->argument_count == 0)
        return cli_wrong_use(run, "'fit kernels' needs measured times",
                             "give tables of layer times, or of measured steps with --table FILE");
    for (size_t i = 0; i < run->argument_count; i++) {
        st_status read = read_table(own, run->arguments[i]);
        status = status == ST_OK ? read : status;
    }
    for (size_t i = 0; i < own->table_count && status == ST_OK; i++)
        status = read_steps(own, &own->tables[i]);
    if (status == ST_OK && own->table_count > 0 && own->rows.used == 0)
        return no_steps(own);
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++)
        st_time_merge(&own->sets->sets[i]);
    return status;
}

/* ---- fitting ---- */

static st_times_form form_of(const kernels_run *own)
{
    const char *name = cli_value(own->run, CLI_RECIPE);
    for (st_times_form form = 0; name != NULL && form < ST_TIMES_FORMS; form++)
        if (strcmp(name, st_times_form_names[form]) == 0)
            return form;
    return ST_TIMES_FORMS;
}

/* Without XGBoost the other forms are left, unless trees are asked for. */
static st_status open_trees(kernels_run *own)
{
    st_times_form form = form_of(own);
    bool asked = form == ST_TIMES_TREES || form == ST_TIMES_BOTH;
    st_status status = st_trees_open(&own->library, asked ? own->run->errors : NULL);
    return asked ? status : ST_OK;
}

static st_status fit_sets(kernels_run *own)
{
    cli_run *run = own->run;
    st_status status = open_trees(own);
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++) {
        const st_time_set *set = &own->sets->sets[i];
        status = st_times_learn(set, own->library, form_of(own), run->arena, &own->models[i],
                                run->errors);
    }
    return status;
}

/* ---- saving ---- */

static const char *keep(const kernels_run *own, st_buffer *buffer)
{
    const char *text =
        buffer->failed ? NULL : st_arena_copy(own->run->arena, buffer->data, buffer->length);
    st_buffer_free(buffer);
    return text;
}

static void write_provenance(const kernels_run *own, const st_time_set *set, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    size_t repeats = 0;
    char date[16];
    for (size_t i = 0; i < set->count; i++)
        repeats += set->samples[i].repeats;
    cli_today(date);
    st_json_open_line(&json, NULL, '{');
    st_json_text(&json, "date", date);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_text(&json, "gpu", own->sets->gpu);
    st_json_text(&json, "table", own->run->argument_count > 0 ? own->run->arguments[0] : "");
    st_json_count(&json, "tables", own->run->argument_count);
    st_json_count(&json, "rows", repeats);
    st_json_count(&json, "shapes", set->count);
    st_json_close(&json, '}');
}

static st_status make_entry(const kernels_run *own, size_t index, const char *value,
                            st_profile *entry)
{
    st_buffer payload = {0};
    st_buffer provenance = {0};
    st_times_write(&own->models[index], own->sets, &payload);
    write_provenance(own, own->models[index].set, &provenance);
    const char *payload_text = keep(own, &payload);
    const char *provenance_text = keep(own, &provenance);
    if (payload_text == NULL || provenance_text == NULL)
        return ST_ERR_MEMORY;
    *entry = (st_profile){.name = cli_value(own->run, CLI_SAVE),
                          .kind = ST_PROFILE_TIMES,
                          .plugin = plugin,
                          .cluster = own->sets->gpu,
                          .fabric = "",
                          .nccl = "",
                          .collective = value,
                          .payload = payload_text,
                          .payload_bytes = strlen(payload_text),
                          .provenance = provenance_text};
    return ST_OK;
}

static bool has_set(const kernels_run *own, const char *value)
{
    for (size_t i = 0; i < own->sets->count; i++)
        if (strcmp(own->sets->sets[i].value, value) == 0)
            return true;
    return false;
}

/* One entry for each cell; forward times answer for the backward pass where it has none. */
static st_status save(const kernels_run *own)
{
    cli_run *run = own->run;
    st_profile entries[ST_TIME_SETS + 1];
    st_profiles *profiles = NULL;
    size_t count = 0;
    st_status status = ST_OK;
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++) {
        const char *value = own->sets->sets[i].value;
        status = make_entry(own, i, value, &entries[count++]);
        if (status == ST_OK && strcmp(value, "t_forward") == 0 && !has_set(own, "t_backward"))
            status = make_entry(own, i, "t_backward", &entries[count++]);
    }
    if (status == ST_OK)
        status =
            st_profiles_open(cli_value(run, CLI_DB), ST_PROFILES_WRITE, &profiles, run->errors);
    if (status == ST_OK)
        status = st_profiles_put(profiles, entries, count, true, run->errors);
    st_profiles_close(profiles);
    return status;
}

static st_status write_file(const kernels_run *own)
{
    cli_run *run = own->run;
    const char *file = cli_value(run, CLI_WRITE);
    st_buffer buffer = {0};
    if (file == NULL)
        return ST_OK;
    if (own->sets->count != 1)
        return cli_wrong_use(run, "--output takes the times of one cell, and these are of several",
                             "use --save");
    st_times_write(&own->models[0], own->sets, &buffer);
    st_status status = buffer.failed
                           ? ST_ERR_MEMORY
                           : st_output_write(file, buffer.data, buffer.length, run->errors);
    st_buffer_free(&buffer);
    return status;
}

static void write_steps(const kernels_run *own)
{
    static const char *const names[ST_STEP_PARTS] = {
        [ST_STEPS_USED] = "rows used",
        [ST_STEPS_MEASURED] = "others, layer measured",
        [ST_STEPS_PREDICTED] = "others, layer predicted",
        [ST_STEPS_OUTSIDE] = "others, outside of the range",
        [ST_STEPS_OTHERS] = "all other rows"};
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.right = true},
                                              {.right = true},      {.right = true},
                                              {.right = true},      {.right = true}};
    static const char *const headings[] = {"error of step times", "rows",   "formulas",
                                           "layer times",         "median", "largest"};
    cli_run *run = own->run;
    st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 6);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    st_table_row(table, headings);
    for (size_t i = 0; i < ST_STEP_PARTS; i++) {
        st_error_summary formula;
        st_error_summary refined;
        char texts[4][ST_PERCENT_TEXT];
        size_t count = own->errors.count[i];
        double *scratch = st_arena_alloc(run->arena, count + 1, sizeof *scratch);
        if (count == 0 || scratch == NULL)
            continue;
        st_summarize_errors(own->errors.formula[i], count, scratch, &formula);
        st_summarize_errors(own->errors.refined[i], count, scratch, &refined);
        const char *const fields[] = {
            names[i],
            st_arena_printf(run->arena, "%zu", count),
            st_percent_text(formula.mean_absolute, 1, false, texts[0]),
            st_percent_text(refined.mean_absolute, 1, false, texts[1]),
            st_percent_text(refined.median_absolute, 1, false, texts[2]),
            st_percent_text(refined.largest, 1, false, texts[3])};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, &run->result);
}

static const char *error_text(const st_error_summary *summary, st_arena *arena)
{
    char text[ST_PERCENT_TEXT];
    const char *shown =
        summary->count > 0 ? st_percent_text(summary->mean_absolute, 1, false, text) : "-";
    const char *kept = st_arena_copy(arena, shown, strlen(shown));
    return kept != NULL ? kept : "";
}

/* Errors by piece and form; the form that was taken behind them. */
static void write_forms(const kernels_run *own, const st_time_models *models,
                        st_error_summary (*errors)[ST_TIMES_FORMS], const char *title)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.right = true},
                                              {.right = true},      {.right = true},
                                              {.right = true},      {.ink = ST_INK_PLAIN}};
    cli_run *run = own->run;
    st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 6);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    const char *const headings[] = {title,
                                    "shapes",
                                    st_times_form_names[0],
                                    st_times_form_names[1],
                                    st_times_form_names[2],
                                    "taken"};
    st_table_row(table, headings);
    for (size_t i = 0; i < models->set->piece_count; i++) {
        const st_error_summary *own_errors = errors[i];
        const char *const fields[] = {
            st_times_piece_names[models->set->pieces[i]],
            st_arena_printf(run->arena, "%zu", own_errors[ST_TIMES_ROOFLINE].count),
            error_text(&own_errors[0], run->arena),
            error_text(&own_errors[1], run->arena),
            error_text(&own_errors[2], run->arena),
            st_times_form_names[models->times.models[i].form]};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, &run->result);
}

static void write_text(const kernels_run *own)
{
    st_buffer *result = &own->run->result;
    st_buffer_printf(result, "layer times on %s\n", own->sets->gpu);
    for (size_t i = 0; i < own->sets->count; i++) {
        const st_time_set *set = &own->sets->sets[i];
        st_buffer_printf(result, "%s, %zu shapes\n", set->value, set->count);
        if (own->models[i].held_out[0][0].count > 0)
            write_forms(own, &own->models[i], (st_error_summary(*)[ST_TIMES_FORMS])own->models[i].held_out, "error on held-out shapes");
    }
    if (own->table_count > 0)
        write_steps(own);
}

static int run_fit_kernels(cli_run *run)
{
    kernels_run own = {.run = run};
    st_status status = cli_paths(run, &own.paths);
    if (status == ST_OK)
        status = cli_tables(run, &own.tables, &own.table_count);
    if (status == ST_OK)
        status = cli_table_request(run, own.paths, &own.request);
    if (status == ST_OK)
        status = read_tables(&own);
    if (status == ST_OK)
        status = fit_sets(&own);
    if (status == ST_OK)
        status = try_steps(&own);
    if (status == ST_OK && cli_is_given(run, CLI_SAVE))
        status = save(&own);
    if (status == ST_OK)
        status = write_file(&own);
    if (status == ST_OK)
        write_text(&own);
    st_trees_close(own.library);
    int code = cli_exit_code(run, status);
    st_paths_destroy(own.paths);
    return code;
}

const cli_verb cli_verb_fit_kernels = {
    .name = "fit kernels",
    .arguments = "[TABLE...]",
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "take layer times from measurements, for the plugin kernel-times",
    .doc =
        "Reads tables of measured layer times, as docs/kernel-times.md describes them, and fits "
        "what predicts the shapes that were not measured. With --save the times become a profile, "
        "which jobs take with 'refine: {plugin: kernel-times, profile: NAME}'.",
    .examples = examples,
    .options = options,
    .run = run_fit_kernels,
};

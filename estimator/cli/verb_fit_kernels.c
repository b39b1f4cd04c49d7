/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit kernels */
#include "cli/tables.h"

#include "base/output.h"
#include "job/files.h"
#include "report/json.h"
#include "steptime/profile.h"
#include "times/predict.h"

#include <string.h>

static const cli_option options[] = {
    {CLI_GPU, CLI_ONE, CLI_WORD_NONE, 0, "gpu", "NAME", NULL,
     "the GPU that the times were measured on, where the tables do not say"},
    {CLI_SAVE, CLI_ONE, CLI_WORD_NONE, 0, "save", "NAME", NULL,
     "store the times as a profile of this name, in place of what it had"},
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
    st_time_models models[ST_TIME_SETS];
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

static st_status read_tables(kernels_run *own)
{
    cli_run *run = own->run;
    st_status status = ST_OK;
    own->sets = st_arena_alloc(run->arena, 1, sizeof *own->sets);
    if (own->sets == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < run->argument_count; i++) {
        st_status read = read_table(own, run->arguments[i]);
        status = status == ST_OK ? read : status;
    }
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++)
        st_time_merge(&own->sets->sets[i]);
    return status;
}

/* ---- fitting ---- */

static st_status fit_sets(kernels_run *own)
{
    cli_run *run = own->run;
    st_status status = ST_OK;
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++) {
        const st_time_set *set = &own->sets->sets[i];
        own->models[i] = (st_time_models){.set = set};
        for (size_t k = 0; k < set->piece_count && status == ST_OK; k++) {
            own->models[i].models[k].given = true;
            status = st_times_fit_roofline(set, k, NULL, run->arena,
                                           &own->models[i].models[k].roofline, run->errors);
        }
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

static void write_text(const kernels_run *own)
{
    st_buffer *result = &own->run->result;
    st_buffer_printf(result, "layer times on %s\n", own->sets->gpu);
    for (size_t i = 0; i < own->sets->count; i++) {
        const st_time_set *set = &own->sets->sets[i];
        st_buffer_printf(result, "  %s: %zu shapes, %zu piece%s\n", set->value, set->count,
                         set->piece_count, set->piece_count == 1 ? "" : "s");
    }
}

static int run_fit_kernels(cli_run *run)
{
    kernels_run own = {.run = run};
    st_status status = cli_paths(run, &own.paths);
    if (status == ST_OK)
        status = read_tables(&own);
    if (status == ST_OK)
        status = fit_sets(&own);
    if (status == ST_OK && cli_is_given(run, CLI_SAVE))
        status = save(&own);
    if (status == ST_OK)
        status = write_file(&own);
    if (status == ST_OK)
        write_text(&own);
    int code = cli_exit_code(run, status);
    st_paths_destroy(own.paths);
    return code;
}

const cli_verb cli_verb_fit_kernels = {
    .name = "fit kernels",
    .arguments = "TABLE...",
    .minimum = 1,
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments of Megatron-LM to the keys of a job.
 *
 * A dump holds every argument, also those that Megatron derived; a command line holds what someone
 * typed, and Megatron's defaults hold for the rest. Defaults are written down as such.
 */
#include "launch/import/megatron.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

st_place megatron_place(const megatron_run *run, const megatron_argument *argument)
{
    return (st_place){.file = run->draft->request->file,
                      .line = argument != NULL ? argument->line : 0};
}

/* ---- values of arguments ---- */

bool megatron_read_number(megatron_run *run, const megatron_argument *argument, double *value)
{
    const char *text = argument->value;
    if (st_number_parse(text, strlen(text), (st_place){0}, value, NULL) == ST_OK)
        return true;
    ST_NOTE(
        run->draft, ST_ERR_VALUE, megatron_place(run, argument),
        "argument '%.60s' cannot be used" ST_FOUND "'%.60s'" ST_EXPECTED "a number" ST_HINT "%s",
        argument->name, text,
        text[0] == '$' || text[0] == '`' ? "replace the shell variable or command with its value"
                                         : "");
    return false;
}

/* A count that is given; false where it is absent or faulty. */
bool megatron_read_count(megatron_run *run, const char *name, uint64_t *value)
{
    const megatron_argument *argument = megatron_get(run, name);
    double number = 0;
    if (argument == NULL || !megatron_read_number(run, argument, &number))
        return false;
    if (number == floor(number) && number >= 0 && number <= 1e12) {
        *value = (uint64_t)number;
        return true;
    }
    ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, argument),
            "argument '%.60s' cannot be used" ST_FOUND "'%.60s'" ST_EXPECTED "a whole number",
            argument->name, argument->value);
    return false;
}

uint64_t megatron_count_or(megatron_run *run, const char *name, uint64_t missing)
{
    uint64_t value = 0;
    return megatron_read_count(run, name, &value) ? value : missing;
}

bool megatron_is_true(megatron_run *run, const char *name, bool missing)
{
    const megatron_argument *argument = megatron_get(run, name);
    if (argument == NULL)
        return missing;
    static const char *const truths[] = {"True", "true", "1"};
    for (size_t i = 0; i < ST_COUNT(truths); i++)
        if (strcmp(argument->value, truths[i]) == 0)
            return true;
    if (!megatron_is_off(argument->value))
        ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, argument),
                "argument '%.60s' cannot be used" ST_FOUND "'%.60s'" ST_EXPECTED "true or false",
                argument->name, argument->value);
    return false;
}

/* The text of an argument, "" where it is absent. */
const char *megatron_text(megatron_run *run, const char *name)
{
    const megatron_argument *argument = megatron_get(run, name);
    return argument != NULL ? argument->value : "";
}

bool megatron_is_given(megatron_run *run, const char *name)
{
    return megatron_get(run, name) != NULL;
}

void megatron_pass_over(megatron_run *run, const char *name)
{
    (void)megatron_get(run, name);
}

int megatron_line_of(megatron_run *run, const char *name)
{
    const megatron_argument *argument = megatron_get(run, name);
    return argument != NULL ? argument->line : 0;
}

/* ---- writing keys ---- */

void megatron_put(megatron_run *run, const char *path, const char *name, uint64_t value)
{
    st_draft_put_count(
        run->draft, path, megatron_line_of(run, name), value,
        megatron_is_given(run, name) ? name : st_draft_text(run->draft, "default of %s", name));
}

uint64_t megatron_put_or(megatron_run *run, const char *path, const char *name, uint64_t missing)
{
    uint64_t value = megatron_count_or(run, name, missing);
    megatron_put(run, path, name, value);
    return value;
}

bool megatron_put_given(megatron_run *run, const char *path, const char *name)
{
    bool is_given = megatron_is_given(run, name);
    if (is_given)
        megatron_put_or(run, path, name, 0);
    return is_given;
}

void megatron_put_true(megatron_run *run, const char *path, const char *name, bool missing)
{
    megatron_put_bool(run, path, name, megatron_is_true(run, name, missing));
}

void megatron_put_bool(megatron_run *run, const char *path, const char *name, bool value)
{
    st_draft_put_bool(
        run->draft, path, value,
        megatron_is_given(run, name) ? name : st_draft_text(run->draft, "default of %s", name));
}

/* A count that the run must have. */
uint64_t megatron_put_needed(megatron_run *run, const char *path, const char *name)
{
    uint64_t value = 0;
    if (megatron_read_count(run, name, &value))
        st_draft_put_count(run->draft, path, megatron_line_of(run, name), value, name);
    else if (!megatron_is_given(run, name) && !st_draft_is_given(run->draft, path)) {
        const st_import_request *request = run->draft->request;
        const char *own = request->name_of != NULL ? request->name_of(name) : name;
        ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, NULL),
                "%s'%s' is missing" ST_HINT "set it with --set %s=...%s",
                own != NULL ? "argument " : "", own != NULL ? own : path, path,
                strncmp(path, ST_KEY_MODEL ".", 6) == 0
                    ? ", or name the model with --set " ST_KEY_MODEL "=NAME"
                    : "");
    }
    return st_draft_count(run->draft, path);
}

/* ---- the import ---- */

/* ---- what was not used ---- */

/* From a file that the source extends, which says everything, as a dump does. */
static bool is_inherited(const megatron_run *run, const megatron_argument *argument)
{
    return argument->line == 0 && !run->is_export;
}

static const char *list_names(megatron_run *run, bool known, size_t *count)
{
    enum { SHOWN = 120 };
    st_buffer names = {0};
    *count = 0;
    for (size_t i = 0; i < run->count; i++) {
        const megatron_argument *argument = &run->arguments[i];
        if (argument->used || megatron_is_harmless(argument->name) != known ||
            (!known && (run->is_dump || is_inherited(run, argument)) &&
             megatron_is_off(argument->value)))
            continue;
        st_draft_key(run->draft, argument->name, argument->value, argument->line,
                     known ? ST_FATE_HARMLESS : ST_FATE_UNKNOWN);
        if (++*count <= SHOWN)
            st_buffer_printf(&names, "%s%.60s", names.length > 0 ? ", " : "", argument->name);
    }
    if (*count > SHOWN)
        st_buffer_printf(&names, " and %zu more", *count - SHOWN);
    return st_draft_keep(run->draft, &names);
}

/* Arguments that decide the answer and that nothing reads stop the import, all at once. */
static void refuse_deciding(megatron_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const megatron_argument *argument = &run->arguments[i];
        const char *key = argument->used ? NULL : megatron_decided_key(argument);
        if (key != NULL && !st_draft_is_given(run->draft, key))
            ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, argument),
                    "'%.80s' may decide the estimate and is not understood" ST_FOUND
                    "'%.40s'" ST_HINT "settle it with --set %s=...",
                    argument->name, argument->value, key);
    }
}

void megatron_remember_keys(megatron_run *run)
{
    if (run->draft->key_count > 0 || run->is_export)
        return;
    for (size_t i = 0; i < run->count; i++) {
        const megatron_argument *argument = &run->arguments[i];
        st_draft_key(run->draft, argument->name, argument->value, argument->line, ST_FATE_READ);
    }
}

void megatron_account(megatron_run *run)
{
    if (!run->is_export)
        refuse_deciding(run);
    megatron_remember_keys(run);
    size_t skipped_count = 0;
    size_t unknown_count = 0;
    const char *skipped = list_names(run, true, &skipped_count);
    const char *unknown = list_names(run, false, &unknown_count);
    if (skipped_count > 0)
        st_draft_note(run->draft, "Skipped, without effect on an estimate (%zu): %s.",
                      skipped_count, skipped);
    if (unknown_count > 0 && run->draft->request->strict && !run->is_export)
        ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, NULL),
                "keys are neither read nor known as harmless" ST_FOUND "%.1500s" ST_HINT
                "leave out --strict to list them in the job",
                unknown);
    else if (unknown_count > 0)
        st_draft_note(run->draft, "Unknown, left out (%zu%s): %s.", unknown_count,
                      run->is_dump ? ", not counting those that are off" : "", unknown);
}

void megatron_put_all(megatron_run *run)
{
    megatron_put_model(run);
    megatron_put_plan(run);
    megatron_put_time(run);
    megatron_account(run);
}

static st_status import_run(megatron_run *run, st_buffer *job)
{
    st_draft *draft = run->draft;
    /* A zero byte would end a text in the middle of a number. */
    const st_import_request *request = draft->request;
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);) {
        const char *found = memchr(line.text, '\0', line.length);
        if (found == NULL)
            continue;
        const st_place place = {
            .file = request->file, .line = line.number, .column = (int)(found - line.text) + 1};
        ST_NOTE(draft, ST_ERR_SYNTAX, place, "the file holds a zero byte" ST_EXPECTED "text");
        break;
    }
    if (draft->status != ST_OK)
        return draft->status;
    run->is_dump = megatron_is_log(draft->request);
    if (run->is_dump)
        megatron_read_log(run);
    else if (megatron_is_yaml(draft->request))
        megatron_read_yaml(run);
    else
        megatron_read_command(run);
    if (draft->request->log != NULL)
        megatron_read_times(run, draft->request->log);
    if (run->is_dump && run->time_count + run->odd.count + run->nan.count == 0)
        st_draft_note(run->draft, "The log has no iteration times.");
    megatron_warn_of_times(run);
    if (run->dumps == 0 && run->is_dump)
        ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, NULL),
                "the log has no dump of arguments" ST_EXPECTED
                "a line '------ arguments ------' and what follows it");
    else if (run->count == 0 && draft->status == ST_OK)
        ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, NULL),
                "no arguments of Megatron-LM found" ST_EXPECTED
                "a log with a dump of arguments, or a command line with options such as "
                "--num-layers 24");
    if (draft->status != ST_OK)
        return draft->status;
    megatron_put_all(run);
    return st_draft_write(
        draft,
        st_draft_text(draft,
                      "From %.200s, %s of Megatron-LM, by steptime import "
                      "megatron. The comment after each value names its argument.",
                      st_draft_source(draft),
                      run->is_dump                   ? "the log of a run"
                      : draft->request->what != NULL ? draft->request->what
                                                     : "a command line"),
        job);
}

st_status st_import_megatron(const st_import_request *request, st_buffer *job, st_errors *errors)
{
    st_draft draft;
    megatron_run run = {.draft = &draft};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = st_draft_start(&draft, request, arena, errors);
    if (status == ST_OK)
        status = import_run(&run, job);
    st_arena_destroy(arena);
    return status;
}

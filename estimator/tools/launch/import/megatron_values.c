/* SPDX-License-Identifier: Apache-2.0 */
/* Values of arguments, and keys of the job that are one argument each. */
#include "launch/import/megatron.h"

#include "steptime/quantity.h"

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
        argument->name, text, text[0] == '$' ? "replace the shell variable with its value" : "");
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
    return strcmp(argument->value, "True") == 0 || strcmp(argument->value, "true") == 0;
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
    else if (!megatron_is_given(run, name) && !st_draft_is_given(run->draft, path))
        ST_NOTE(run->draft, ST_ERR_NAME, megatron_place(run, NULL),
                "argument '%s' is missing" ST_HINT "set it with --set %s=...", name, path);
    return st_draft_count(run->draft, path);
}

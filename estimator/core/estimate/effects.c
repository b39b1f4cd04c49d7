/* SPDX-License-Identifier: Apache-2.0 */
/* See effects.h. A trial runs what depends on its input, which gives the bits of a whole row. */
#include "estimate/effects.h"

#include "job/value.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

/* One input with another value. */
typedef struct trial {
    size_t input;
    double value;
} trial;

typedef struct trials {
    const st_estimate *estimate;
    st_arena *arena;
    trial *list;
    size_t count;
    double *outputs;
} trials;

static bool differs(double before, double after)
{
    return !(before == after) && !(isnan(before) && isnan(after));
}

/* The values of a truth value or an enumeration; 0: a number. */
static size_t values_of(const st_type *type)
{
    if (type->kind == ST_TYPE_NUMBER)
        return 0;
    return type->kind == ST_TYPE_BOOL ? 2 : type->enumeration->count;
}

/* The number used without a given value; NaN: unknown or not a number. */
static double default_of(const st_bound_input *bound)
{
    const st_key *key = bound->from != NULL ? bound->from->key : NULL;
    double value = (double)NAN;
    if (bound->input->has_default)
        return bound->input->default_value;
    if (key == NULL || key->default_text == NULL || key->kind > ST_KEY_QUANTITY)
        return value;
    const st_value_text text = {.text = key->default_text, .length = strlen(key->default_text)};
    return st_value_parse(key, &text, &value, NULL) == ST_OK ? value : (double)NAN;
}

/* The set value differs from the one without it. */
static bool is_asked_for(const st_estimate *estimate, size_t input)
{
    const st_bound_input *bound = &estimate->inputs[input];
    if (bound->from == NULL || bound->from->origin != ST_ORIGIN_SET)
        return false;
    bool is_number = values_of(&bound->input->type) == 0;
    return !is_number || differs(estimate->input_values[input], default_of(bound));
}

/* The first other value of each truth value and enumeration, or all but this one. */
static void list_names(trials *tests, const st_effect *known)
{
    const st_estimate *estimate = tests->estimate;
    for (size_t i = 0; i < estimate->input_count; i++) {
        size_t count = values_of(&estimate->inputs[i].input->type);
        size_t other = estimate->input_values[i] == 0.0 ? 1 : 0;
        if (known == NULL && other < count)
            tests->list[tests->count++] = (trial){i, (double)other};
        for (size_t k = other + 1; known != NULL && !known[i].anywhere && k < count; k++)
            if ((double)k != estimate->input_values[i])
                tests->list[tests->count++] = (trial){i, (double)k};
    }
}

static st_status run_trials(trials *tests, st_workspace *workspace, st_effect *list)
{
    const st_estimate *estimate = tests->estimate;
    for (size_t k = 0; k < tests->count; k++) {
        const trial *one = &tests->list[k];
        st_effect *effect = &list[one->input];
        st_status status =
            st_program_try(estimate->program, workspace, one->input, one->value, tests->outputs);
        if (status != ST_OK)
            return status;
        for (size_t i = 0; i < estimate->shown_count; i++)
            effect->anywhere =
                effect->anywhere || differs(estimate->shown[i].value, tests->outputs[i]);
        double value = estimate->input_values[one->input];
        bool is_tenth = one->value == value * ST_EFFECT_FACTOR;
        if (is_tenth && effect->input->input->type.kind == ST_TYPE_NUMBER &&
            estimate->shown_count > 0 && estimate->shown[0].type->kind == ST_TYPE_NUMBER &&
            estimate->shown[0].value != 0.0)
            effect->change = tests->outputs[0] / estimate->shown[0].value - 1;
    }
    tests->count = 0;
    return ST_OK;
}

st_status st_estimate_find_effects(st_estimate *estimate, st_arena *arena)
{
    size_t count = estimate->input_count;
    st_effect *list = st_arena_alloc(arena, count + 1, sizeof *list);
    trials tests = {.estimate = estimate, .arena = arena};
    st_workspace *workspace = st_workspace_create(estimate->program);
    st_status status = ST_ERR_MEMORY;
    tests.outputs = st_arena_alloc(arena, st_program_output_count(estimate->program) + 1,
                                   sizeof *tests.outputs);
    if (list == NULL || workspace == NULL || tests.outputs == NULL)
        goto cleanup;
    status = st_program_run_one(estimate->program, workspace, estimate->input_values, tests.outputs,
                                NULL);
    if (status != ST_OK)
        goto cleanup;
    status = ST_ERR_MEMORY;
    const st_estimate *list_estimate = tests.estimate;
    size_t capacity = 0;
    for (size_t i = 0; i < list_estimate->input_count; i++)
        capacity += 2 + values_of(&list_estimate->inputs[i].input->type);
    tests.list = st_arena_alloc(tests.arena, capacity + 1, sizeof *tests.list);
    if (tests.list == NULL)
        goto cleanup;
    for (size_t i = 0; i < count; i++) {
        list[i].input = &estimate->inputs[i];
        /* Something of the cluster that money buys more of, as against a count or a name. */
        const char *from = estimate->inputs[i].input->from;
        const st_key *key = st_key_find(from);
        bool is_number =
            key != NULL && (key->kind == ST_KEY_QUANTITY || key->kind == ST_KEY_NUMBER);
        list[i].constant = (is_number && strncmp(key->path, ST_KEY_CLUSTER ".", 8) == 0) ||
                           (key == NULL && values_of(&estimate->inputs[i].input->type) == 0);
    }
    /* That a name matters is mostly clear from one other value: the rest, which may take a schedule
     * that is replayed, is tried only where it is not. */
    const st_estimate *number_estimate = tests.estimate;
    for (size_t i = 0; i < number_estimate->input_count; i++) {
        double value = number_estimate->input_values[i];
        double usual = default_of(&number_estimate->inputs[i]);
        if (values_of(&number_estimate->inputs[i].input->type) != 0)
            continue;
        if (value != 0.0)
            tests.list[tests.count++] = (trial){i, value * ST_EFFECT_FACTOR};
        if (is_asked_for(number_estimate, i) && isfinite(usual))
            tests.list[tests.count++] = (trial){i, usual};
    }
    list_names(&tests, NULL);
    status = run_trials(&tests, workspace, list);
    if (status != ST_OK)
        goto cleanup;
    list_names(&tests, list);
    status = run_trials(&tests, workspace, list);
    if (status == ST_OK)
        estimate->effects = list;
cleanup:
    st_workspace_destroy(workspace);
    return status;
}

/* Whether a list has the warning already, of a report before this one. */
static bool is_told(const st_errors *errors, const char *message)
{
    bool found = false;
    for (size_t i = 0; errors != NULL && i < st_errors_size(errors) && !found; i++)
        found = strcmp(st_errors_at(errors, i)->message, message) == 0;
    return found;
}

void st_effects_tell(const st_estimate *estimate, st_errors *errors)
{
    bool is_found = estimate->found != NULL; /* nobody asked for its keys */
    for (size_t i = 0; !is_found && estimate->effects != NULL && i < estimate->input_count; i++) {
        const st_job_value *value = estimate->inputs[i].from;
        if (!is_asked_for(estimate, i) || estimate->effects[i].anywhere)
            continue;
        const char *message = st_errors_text(
            errors, "%s has no effect: no value in the report depends on it", value->path);
        if (!is_told(errors, message))
            (void)st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, value->place, "%s", message);
    }
}

int st_effects_compare(const void *left, const void *right)
{
    const st_effect *a = *(const st_effect *const *)left;
    const st_effect *b = *(const st_effect *const *)right;
    if (fabs(a->change) > fabs(b->change))
        return -1;
    return fabs(a->change) < fabs(b->change) || a > b ? 1 : -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See effects.h. Trials are rows of blocks, which give the bits of a single row. */
#include "estimate/effects.h"

#include "job/value.h"
#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 128 };

/* One input with another value: a row of a block. */
typedef struct trial {
    size_t input;
    double value;
} trial;

typedef struct trials {
    const st_estimate *estimate;
    st_effect *effects;
    st_workspace *workspace;
    st_column *columns;    /* per input */
    double (*given)[ROWS]; /* of the inputs that differ in some row */
    double **outputs;      /* per output; NULL: nobody looks at it */
    double *values;
    size_t wanted; /* of the first outputs */
    trial list[ROWS];
    size_t count;
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

/* Something of the cluster that money buys more of, as against a count or a name. */
static bool is_constant(const st_sheet_input *input)
{
    const st_key *key = st_key_find(input->from);
    bool is_number = key != NULL && (key->kind == ST_KEY_QUANTITY || key->kind == ST_KEY_NUMBER);
    return (is_number && strncmp(key->path, ST_KEY_CLUSTER ".", 8) == 0) ||
           (key == NULL && values_of(&input->type) == 0);
}

bool st_effect_is_brief(const st_effect *effect)
{
    const char *key = effect->input->input->from;
    bool is_plan =
        strncmp(key, ST_KEY_PARALLEL ".", 9) == 0 || strncmp(key, ST_KEY_BATCH ".", 6) == 0 ||
        strncmp(key, ST_KEY_MODEL ".", 6) == 0 || strcmp(key, ST_KEY_CLUSTER_NODES) == 0 ||
        strcmp(key, ST_KEY_CLUSTER_GPUS_PER_NODE) == 0;
    return !is_plan && (effect->constant || st_input_is_assumed(effect->input));
}

/* Runs what was added. */
static st_status run_trials(trials *tests)
{
    const st_estimate *estimate = tests->estimate;
    size_t differing = 0;
    for (size_t i = 0; i < estimate->input_count; i++)
        tests->columns[i] = (st_column){&estimate->input_values[i], 0};
    for (size_t k = 0; k < tests->count; k++) {
        const trial *one = &tests->list[k];
        st_column *column = &tests->columns[one->input];
        if (column->stride == 0) {
            for (size_t row = 0; row < tests->count; row++)
                tests->given[differing][row] = column->values[0];
            *column = (st_column){tests->given[differing++], 1};
        }
        tests->given[(column->values - tests->given[0]) / ROWS][k] = one->value;
    }
    for (size_t i = 0; i < st_program_output_count(estimate->program); i++)
        tests->outputs[i] = i < tests->wanted ? tests->values + i * ROWS : NULL;
    st_status status = tests->count == 0
                           ? ST_OK
                           : st_program_run(estimate->program, tests->workspace, tests->columns,
                                            tests->count, tests->outputs, NULL);
    for (size_t k = 0; status == ST_OK && k < tests->count; k++) {
        const trial *one = &tests->list[k];
        st_effect *effect = &tests->effects[one->input];
        for (size_t i = 0; i < tests->wanted; i++)
            effect->anywhere =
                effect->anywhere || differs(estimate->shown[i].value, tests->outputs[i][k]);
        bool is_tenth = one->value == estimate->input_values[one->input] * ST_EFFECT_FACTOR;
        if (is_tenth && values_of(&effect->input->input->type) == 0 &&
            estimate->shown[0].type->kind == ST_TYPE_NUMBER && estimate->shown[0].value != 0.0)
            effect->change = tests->outputs[0][k] / estimate->shown[0].value - 1;
    }
    tests->count = 0;
    return status;
}

/* Adds a row; runs those before it where that makes a block. */
static void add_trial(trials *tests, st_status *status, size_t input, double value)
{
    if (tests->count == ROWS)
        st_note(status, run_trials(tests));
    tests->list[tests->count++] = (trial){input, value};
}

/* A share of 1 cannot grow; formulas take anything larger without a complaint. */
static bool is_at_its_most(const st_bound_input *bound, double value)
{
    const st_key *key = st_key_find(bound->input->from);
    return key != NULL && value >= key->maximum;
}

/* What a tenth more of each number changes of the headline. */
static st_status find_changes(trials *tests, bool whole)
{
    const st_estimate *estimate = tests->estimate;
    st_status status = ST_OK;
    tests->wanted = 1;
    for (size_t i = 0; i < estimate->input_count; i++) {
        double value = estimate->input_values[i];
        if ((whole || st_effect_is_brief(&tests->effects[i])) && value != 0.0 &&
            values_of(&estimate->inputs[i].input->type) == 0 &&
            !is_at_its_most(&estimate->inputs[i], value))
            add_trial(tests, &status, i, value * ST_EFFECT_FACTOR);
    }
    st_note(&status, run_trials(tests));
    return status;
}

/* Whether anyone wants to know if anything that is shown depends on an input, which is not known
 * yet. */
static bool is_unsure(const trials *tests, bool whole, size_t input)
{
    const st_job_value *from = tests->estimate->inputs[input].from;
    bool is_default = from == NULL || from->origin == ST_ORIGIN_DEFAULT;
    return !tests->effects[input].anywhere &&
           (is_asked_for(tests->estimate, input) || (whole && is_default));
}

/* Whether other values of an input change anything. That a name matters is mostly clear from one
 * of them: the rest, which may take a schedule that is replayed, is tried only where it is not. */
static st_status find_any(trials *tests, bool whole, bool rest)
{
    const st_estimate *estimate = tests->estimate;
    st_status status = ST_OK;
    tests->wanted = estimate->shown_count;
    for (size_t i = 0; i < estimate->input_count; i++) {
        double value = estimate->input_values[i];
        size_t names = values_of(&estimate->inputs[i].input->type);
        size_t other = value == 0.0 ? 1 : 0;
        double usual = default_of(&estimate->inputs[i]);
        if (!is_unsure(tests, whole, i))
            continue;
        if (!rest && names == 0 && value != 0.0)
            add_trial(tests, &status, i,
                      is_at_its_most(&estimate->inputs[i], value) ? value / ST_EFFECT_FACTOR
                                                                  : value * ST_EFFECT_FACTOR);
        if (!rest && names == 0 && is_asked_for(estimate, i) && isfinite(usual))
            add_trial(tests, &status, i, usual);
        if (!rest && other < names)
            add_trial(tests, &status, i, (double)other);
        for (size_t k = other + 1; rest && k < names; k++)
            if ((double)k != value)
                add_trial(tests, &status, i, (double)k);
    }
    st_note(&status, run_trials(tests));
    return status;
}

st_status st_estimate_find_effects(st_estimate *estimate, bool whole, st_arena *arena)
{
    size_t count = estimate->input_count;
    size_t outputs = st_program_output_count(estimate->program);
    trials tests = {
        .estimate = estimate,
        .effects = st_arena_alloc(arena, count + 1, sizeof *tests.effects),
        .workspace = estimate->workspace != NULL ? estimate->workspace
                                                 : st_workspace_create(estimate->program),
        .columns = malloc((count + 1) * sizeof *tests.columns),
        .given = malloc(ROWS * sizeof *tests.given),
        .outputs = malloc((outputs + 1) * sizeof *tests.outputs),
        .values = malloc((estimate->shown_count + 1) * ROWS * sizeof *tests.values),
    };
    st_status status = ST_ERR_MEMORY;
    if (tests.effects == NULL || tests.workspace == NULL || tests.columns == NULL ||
        tests.given == NULL || tests.outputs == NULL || tests.values == NULL)
        goto cleanup;
    for (size_t i = 0; i < count; i++)
        tests.effects[i] = (st_effect){.input = &estimate->inputs[i],
                                       .constant = is_constant(estimate->inputs[i].input)};
    status = estimate->shown_count > 0 ? find_changes(&tests, whole) : ST_OK;
    if (status == ST_OK)
        status = find_any(&tests, whole, false);
    if (status == ST_OK)
        status = find_any(&tests, whole, true);
    if (status == ST_OK)
        estimate->effects = tests.effects;
cleanup:
    if (tests.workspace != estimate->workspace)
        st_workspace_destroy(tests.workspace);
    free(tests.columns);
    free(tests.given);
    free(tests.outputs);
    free(tests.values);
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

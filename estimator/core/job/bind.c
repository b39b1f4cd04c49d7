/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding: a job speaks in keys, a sheet in letters. Here each letter gets its value, and whatever
 * does not meet is said: inputs without a value, values without an input.
 */
#include "job/bind.h"

#include "job/files.h"
#include "base/dimension.h"
#include "job/job_loader.h"
#include "steptime/keys.h"

#include <string.h>

typedef struct binding {
    const st_job *job;
    const st_sheet *sheet;
    const st_sheet_input *inputs;
    size_t input_count;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    bool *key_read;      /* per key of the table: some input reads it */
    bool *constant_read; /* per constant of the job */
} binding;

/* Who reads a value, for messages. */
static const char *reader_of(binding *binder, const st_sheet_input *input)
{
    return st_errors_text(binder->errors, "input '%s' of sheet %s", input->name,
                          st_sheet_name(binder->sheet));
}

static bool is_constant(const char *path)
{
    return strncmp(path, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0;
}

/* An example of what to give an input: "constants.mu=VALUE" or "constants.V='VALUE GB'". */
static const char *remedy_for(binding *binder, const st_sheet_input *input)
{
    const st_unit *unit = &input->type.unit;
    bool plain = input->type.kind != ST_TYPE_NUMBER || st_dimension_is_number(unit->dimension);
    return st_errors_text(binder->errors,
                          plain ? "set it in the job or with --set %s=VALUE%s"
                                : "set it in the job or with --set '%s=VALUE %s'",
                          input->from, plain ? "" : unit->text);
}

/* The sheet's default, or the report that there is none. */
static void bind_without_value(binding *binder, const st_sheet_input *input, st_bound_input *bound)
{
    if (input->has_default) {
        bound->value = input->default_value;
        return;
    }
    const char *file = binder->job->file;
    if (file == NULL || file[0] == '\0') /* options describe it */
        file = st_errors_text(binder->errors, "job '%s'", st_job_name(binder->job));
    ST_NOTE(binder, ST_ERR_NAME, (st_place){.file = file},
            "%s has no value for %s (%s)" ST_HINT "%s", input->from, reader_of(binder, input),
            input->doc, st_or_none(remedy_for(binder, input)));
}

/* ---- keys ---- */

static const char *type_name(binding *binder, const st_type *type)
{
    if (type->kind == ST_TYPE_BOOL)
        return "a truth value";
    if (type->kind == ST_TYPE_ENUM)
        return st_errors_text(binder->errors, "a value of %s", type->enumeration->name);
    if (st_dimension_is_number(type->unit.dimension))
        return "a pure number";
    return st_errors_text(binder->errors, "a quantity in %s", type->unit.text);
}

static const char *kind_name(binding *binder, const st_key *key)
{
    switch (key->kind) {
    case ST_KEY_COUNT:
    case ST_KEY_NUMBER:
        return "a pure number";
    case ST_KEY_QUANTITY:
        return st_errors_text(binder->errors, "a quantity in %s", key->unit);
    case ST_KEY_BOOL:
        return "a truth value";
    case ST_KEY_ENUM:
        return st_errors_text(binder->errors, "one of the names %s", key->values);
    case ST_KEY_TEXT:
        break;
    }
    return "text, which formulas cannot read";
}

/* The dimension of a key's values; false for kinds that have none. */
static bool dimension_of(const st_key *key, st_dimension *dimension)
{
    st_unit unit = st_unit_one();
    if (key->kind != ST_KEY_COUNT && key->kind != ST_KEY_NUMBER && key->kind != ST_KEY_QUANTITY)
        return false;
    if (key->kind == ST_KEY_QUANTITY &&
        st_unit_parse(key->unit, strlen(key->unit), (st_place){0}, &unit, NULL) != ST_OK)
        return false;
    *dimension = unit.dimension;
    return true;
}

static void bind_key(binding *binder, const st_sheet_input *input, const st_key *key,
                     st_bound_input *bound)
{
    const st_job_value *value = &binder->job->values[st_key_index(key)];
    binder->key_read[st_key_index(key)] = true;
    /* The key's kind suits the input's type; else that is reported at the input. */
    st_dimension dimension;
    bool fits = false;
    st_status status = ST_ERR_VALUE;
    switch (input->type.kind) {
    case ST_TYPE_NUMBER:
        if (dimension_of(key, &dimension)) {
            fits = st_dimension_equal(dimension, input->type.unit.dimension);
            status = ST_ERR_UNIT;
        }
        break;
    case ST_TYPE_BOOL:
        fits = key->kind == ST_KEY_BOOL;
        break;
    case ST_TYPE_ENUM:
        fits = key->kind == ST_KEY_ENUM;
        break;
    }
    if (!fits) {
        ST_NOTE(binder, status, input->place, "%s cannot hold %s" ST_FOUND "%s" ST_EXPECTED "%s",
                reader_of(binder, input), input->from, st_or_none(type_name(binder, &input->type)),
                st_or_none(kind_name(binder, key)));
        return;
    }
    if (value->origin == ST_ORIGIN_NONE) {
        bind_without_value(binder, input, bound);
        return;
    }
    bound->from = value;
    bound->value = value->number;
    if (key->kind == ST_KEY_ENUM) {
        /* An enumeration's value goes by name: the sheet's list may differ from the table's. */
        st_value_text text = {
            .text = value->text, .length = strlen(value->text), .place = value->place};
        if (st_value_is_laid_out(value->key, &text)) {
            text.text = value->key->default_text;
            text.length = strlen(text.text);
            /* No formula knows the schedules of plugins. */
            st_note(
                &binder->status,
                st_report(binder->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, value->place,
                          "no sheet models %s '%s': formulas use %s; use 'timeline' to simulate it",
                          value->path, value->text, value->key->default_text));
        }
        const st_enum *enumeration = input->type.enumeration;
        st_status name_status =
            st_value_parse_name(value->path, &text, enumeration->values, enumeration->count,
                                &bound->value, binder->errors);
        st_note(&binder->status, name_status);
    }
    if (value->origin == ST_ORIGIN_DEFAULT && strcmp(value->text, value->key->default_text) != 0) {
        st_note(&binder->status,
                st_report(binder->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                          "the GPU has no BF16: %s is %s, an assumption", value->path,
                          value->text));
        return;
    }
    /* One job means one plan to everybody, so the table's default goes before a sheet's: but not
     * mutely. */
    if (value->origin != ST_ORIGIN_DEFAULT || !input->has_default ||
        input->default_value == bound->value)
        return;
    st_note(&binder->status,
            st_report(binder->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, input->place,
                      "the default of %s has no effect: the default of %s is %s",
                      reader_of(binder, input), value->path, value->text));
}

/* ---- what nobody reads ---- */

/* Files of models and clusters describe them for every sheet, and measurements are compared; what
 * else a job's own file says is meant to count, and so is all that is set. A config.json comes as
 * settings of a job that neither is a file nor names a model. */
static bool is_description(const st_job *job, const st_job_value *value)
{
    static const char *const described[] = {ST_KEY_MODEL ".", ST_KEY_CLUSTER ".",
                                            ST_KEY_MEASURED "."};
    const size_t model = st_section_index(st_section_find(ST_KEY_MODEL));
    const bool has_config =
        st_text_or_empty(job->file)[0] == '\0' && job->section_names[model] == NULL;
    const size_t count = value->origin != ST_ORIGIN_SET ? ST_COUNT(described) : has_config ? 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(value->path, described[i], strlen(described[i])) == 0)
            return true;
    return false;
}

/* No formula can read a text: names change no number, and who reads the sheet, the layer list or
 * the order of ranks speaks for himself. Nor does a formula read how plugins run. */
static bool is_no_number(const st_job_value *value)
{
    return value->key != NULL &&
           (value->key->kind == ST_KEY_TEXT || strcmp(value->key->path, ST_KEY_ISOLATE) == 0);
}

/*
 * A constant that no input reads may belong to another sheet, hence only a warning. But where it
 * looks like a slip for one that this sheet reads and the job lacks, the estimate would silently be
 * a different one.
 */
static void check_unread_constants(binding *binder)
{
    const char **wanted = st_arena_alloc(binder->arena, binder->input_count + 1, sizeof *wanted);
    size_t count = 0;
    if (wanted == NULL) {
        binder->status = st_out_of_memory(binder->errors);
        return;
    }
    for (size_t i = 0; i < binder->input_count; i++)
        if (is_constant(binder->inputs[i].from) &&
            !ST_HAS(binder->job->constants, binder->job->constant_count, path,
                    binder->inputs[i].from))
            wanted[count++] = binder->inputs[i].from;
    for (size_t i = 0; i < binder->job->constant_count; i++) {
        const st_job_value *constant = &binder->job->constants[i];
        if (binder->constant_read[i])
            continue;
        /* A stack, a shipped job and a shipped file of constants say more than one sheet reads. */
        bool of_job = constant->folder == ST_FOLDER_JOBS;
        if (constant->origin == ST_ORIGIN_STACK ||
            (constant->origin == ST_ORIGIN_FILE &&
             (st_place_is_embedded(constant->place) ||
              (of_job && !st_job_is_own(binder->job, constant)))))
            continue;
        const char *slip = st_nearest(constant->path, wanted, count);
        st_note(&binder->status,
                st_report(
                    binder->errors, slip != NULL ? ST_SEVERITY_ERROR : ST_SEVERITY_WARNING,
                    constant->origin == ST_ORIGIN_SET ? ST_ERR_USAGE : ST_ERR_NAME, constant->place,
                    "%s has no effect on the estimate: no input of sheet %s reads it" ST_HINT "%s",
                    constant->path, st_sheet_name(binder->sheet), st_or_none(slip)));
    }
}

st_status st_job_warn_unread(const st_job *job, const st_job_value *value, const st_sheet *sheet,
                             const char *why, st_errors *errors)
{
    if (!st_job_is_own(job, value))
        return ST_OK;
    return st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, value->place,
                     "%s has no effect on the estimate: sheet %s %s", value->path,
                     st_sheet_name(sheet), why);
}

/* A stack says more than one sheet reads, but some of it has to count, unless a shipped job
 * names it for its own sheet. */
static void check_unread_stack(binding *binder)
{
    const st_job *job = binder->job;
    size_t count = 0;
    (void)st_keys(&count);
    size_t said = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (job->values[i].origin == ST_ORIGIN_STACK) {
            said++;
            used += binder->key_read[i] ? 1 : 0;
        }
    for (size_t i = 0; i < job->constant_count; i++)
        if (job->constants[i].origin == ST_ORIGIN_STACK) {
            said++;
            used += binder->constant_read[i] ? 1 : 0;
        }
    const bool is_of_shipped = job->is_shipped && job->stack != NULL && job->stack->place.line > 0;
    if (said > 0 && used == 0 && !job->stack->is_default && !is_of_shipped)
        st_note(
            &binder->status,
            st_report(binder->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, job->stack->place,
                      "stack %s has no effect on the estimate: sheet %s reads none of its values",
                      job->stack->name, st_sheet_name(binder->sheet)));
}

bool st_job_settles(const void *job, const st_sheet_input *input, double *value)
{
    const st_key *key = st_key_find(input->from);
    const st_job_value *found = key != NULL ? st_job_value_of(job, input->from) : NULL;
    bool truth = input->type.kind == ST_TYPE_BOOL;
    if (found == NULL || input->type.kind == ST_TYPE_ENUM || (truth && key->kind != ST_KEY_BOOL))
        return false;
    bool is_given = found->origin != ST_ORIGIN_NONE;
    *value = is_given ? found->number : input->default_value;
    return (is_given || input->has_default) && (truth || *value == 0);
}

static void bind_constant(binding *binder, const st_sheet_input *input, st_bound_input *bound)
{
    size_t index = ST_FIND(binder->job->constants, binder->job->constant_count, path, input->from);
    if (index == SIZE_MAX) {
        bind_without_value(binder, input, bound);
        return;
    }
    const st_job_value *constant = &binder->job->constants[index];
    binder->constant_read[index] = true;
    bound->from = constant;
    const st_value_text text = {
        .text = constant->text, .length = strlen(constant->text), .place = constant->place};
    if (st_value_parse_typed(constant->path, &input->type, &text, &bound->value, NULL) == ST_OK)
        return;
    st_errors *errors = st_errors_create();
    if (errors == NULL) {
        binder->status = st_out_of_memory(binder->errors);
        return;
    }
    if (st_value_parse_typed(constant->path, &input->type, &text, &bound->value, errors) != ST_OK)
        st_note(&binder->status, st_errors_move(binder->errors, errors, constant->place));
    st_errors_destroy(errors);
}

static void bind_input(binding *binder, const st_sheet_input *input, st_bound_input *bound)
{
    const st_key *key = st_key_find(input->from);
    *bound = (st_bound_input){.input = input};
    if (key != NULL)
        bind_key(binder, input, key, bound);
    else if (is_constant(input->from) && st_is_constant_name(input->from + sizeof ST_KEY_CONSTANTS))
        bind_constant(binder, input, bound);
    else
        ST_NOTE(binder, ST_ERR_NAME, input->place,
                "%s has an unknown key" ST_FOUND "'%s'" ST_EXPECTED
                "a key of docs/configuration.md or constants.NAME" ST_HINT "%s",
                reader_of(binder, input), input->from,
                st_or_none(st_key_nearest_path(input->from)));
}

static st_status begin(binding *binder)
{
    size_t key_count = 0;
    (void)st_keys(&key_count);
    binder->inputs = st_sheet_inputs(binder->sheet, &binder->input_count);
    binder->key_read = st_arena_alloc(binder->arena, key_count, sizeof *binder->key_read);
    binder->constant_read = st_arena_alloc(binder->arena, binder->job->constant_count + 1,
                                           sizeof *binder->constant_read);
    return binder->key_read == NULL || binder->constant_read == NULL
               ? st_out_of_memory(binder->errors)
               : ST_OK;
}

st_status st_job_bind_one(const st_job *job, const st_sheet *sheet, size_t input, st_arena *arena,
                          st_bound_input *bound, st_errors *errors)
{
    binding binder = {.job = job, .sheet = sheet, .arena = arena, .errors = errors};
    binder.status = begin(&binder);
    if (binder.status == ST_OK)
        bind_input(&binder, &binder.inputs[input], bound);
    return binder.status;
}

st_status st_job_bind(const st_job *job, const st_sheet *sheet, st_arena *arena,
                      const st_bound_input **inputs, st_errors *errors)
{
    binding binder = {.job = job, .sheet = sheet, .arena = arena, .errors = errors};
    st_status begun = begin(&binder);
    if (begun != ST_OK)
        return begun;
    st_bound_input *bound = st_arena_alloc(arena, binder.input_count + 1, sizeof *bound);
    if (bound == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < binder.input_count; i++)
        bind_input(&binder, &binder.inputs[i], &bound[i]);
    size_t count = 0;
    (void)st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = &binder.job->values[i];
        if (!binder.key_read[i] && !is_description(job, value) && !is_no_number(value) &&
            !st_key_is_for_plugins(value->path) && st_job_is_own(binder.job, value))
            st_note(&binder.status,
                    st_report(binder.errors, ST_SEVERITY_WARNING, ST_ERR_NAME, value->place,
                              "%s has no effect on the estimate: no input of sheet %s reads it",
                              value->path, st_sheet_name(binder.sheet)));
    }
    check_unread_constants(&binder);
    check_unread_stack(&binder);
    if (binder.status == ST_OK)
        *inputs = bound;
    return binder.status;
}

/* ---- single keys ---- */

size_t st_sheet_reading_index(const st_sheet *sheet, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    return ST_FIND(inputs, count, from, key);
}

const st_sheet_input *st_sheet_reading(const st_sheet *sheet, const char *key)
{
    size_t index = st_sheet_reading_index(sheet, key);
    return index != SIZE_MAX ? &st_sheet_inputs(sheet, &(size_t){0})[index] : NULL;
}

double st_job_number(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

const char *st_job_text(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->text : "";
}

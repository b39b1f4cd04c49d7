/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What axes do to a sheet's inputs. A key's values are read as --set reads them; a file is loaded
 * once per value, with the other axes at their first values, and every input that it affects
 * becomes a column. Where two axes affect one, the later one of the loader wins: an inner section
 * over an outer one, a key over a section.
 */
#include "sweep/space_bind.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "estimate/pipeline_functions.h"
#include "job/bind.h"
#include "job/keys.h"
#include "job/job_loader.h"
#include "plugin/refine_parse.h"
#include "steptime/keys.h"

#include <string.h>

enum { MAX_FILES = 1000 };

/* --- jobs ------------------------------------------------------------------------------------ */

/* The request's sets and every axis at a value; `digits` NULL: the first. Room for `more`. */
static const char **list_sets(const st_space *space, const size_t *digits, size_t more,
                              size_t *count)
{
    const st_space_request *request = &space->request;
    const char **sets = st_arena_alloc(
        space->arena, request->set_count + space->axis_count + more + 1, sizeof *sets);
    char storage[ST_AXIS_TEXT];
    *count = 0;
    for (size_t i = 0; sets != NULL && i < request->set_count; i++)
        sets[(*count)++] = request->sets[i];
    for (size_t i = 0; sets != NULL && i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        const char *value = st_axis_text(axis, digits != NULL ? digits[i] : 0, storage);
        sets[*count] = st_arena_printf(space->arena, "%s=%s", axis->path, value);
        if (sets[(*count)++] == NULL)
            return NULL;
    }
    return sets;
}

st_status st_space_load_base(st_space *space, st_errors *errors)
{
    st_request request = {.job = space->request.job, .sheet = space->request.sheet};
    const char **sets = list_sets(space, NULL, 0, &request.set_count);
    if (sets == NULL)
        return st_out_of_memory(errors);
    request.sets = sets;
    return st_estimate_open(space->paths, &request, space->arena, &space->base, errors);
}

/* --- values of keys -------------------------------------------------------------------------- */

typedef struct binder {
    st_space *space;
    st_errors *errors;
    size_t *owner; /* per input: axis + 1; 0: none */
    const double **values;
} binder;

static void own(binder *self, size_t input, size_t axis, const double *values)
{
    self->owner[input] = axis + 1;
    self->values[input] = values;
}

/* A value of a key, or of an enumeration or a constant as its input knows it. */
static st_status parse_value(const st_axis *axis, const st_sheet_input *input, size_t index,
                             double *number, st_errors *errors)
{
    char storage[ST_AXIS_TEXT];
    const char *text = st_axis_text(axis, index, storage);
    st_value_text value = {.text = text, .length = strlen(text), .place = axis->place};
    const st_key *key = axis->key;
    st_errors *own_errors = st_errors_create();
    if (own_errors == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    if (key != NULL)
        status = st_value_parse(key, &value, number, own_errors);
    bool named = key != NULL && key->kind == ST_KEY_ENUM;
    if (status == ST_OK && input != NULL && (key == NULL || named))
        status = st_value_parse_typed(axis->path, &input->type, &value, number, own_errors);
    if (status != ST_OK)
        status = st_errors_move(errors, own_errors, value.place);
    st_errors_destroy(own_errors);
    return status;
}

st_status st_axis_numbers(const st_axis *axis, const st_sheet_input *input, st_arena *arena,
                          const double **values, st_errors *errors)
{
    double end = 0;
    *values = NULL;
    if (axis->texts == NULL) {
        st_status status = parse_value(axis, input, 0, &end, errors);
        return status == ST_OK ? parse_value(axis, input, axis->count - 1, &end, errors) : status;
    }
    double *numbers = st_arena_alloc(arena, axis->count, sizeof *numbers);
    if (numbers == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < axis->count && (status == ST_OK || !st_errors_full(errors)); i++)
        st_note(&status, parse_value(axis, input, i, &numbers[i], errors));
    *values = numbers;
    return status;
}

/* What the library's providers are made from. */
static const char *const program_texts[] = {
    ST_KEY_PARALLEL_ORDER,         ST_KEY_MODEL_LAYER_LIST,
    ST_KEY_MODEL_PATTERN,          ST_KEY_PARALLEL_LAYOUT,
    ST_KEY_CLUSTER_TOPOLOGY,       ST_KEY_COLLECTIVES_ALL_REDUCE,
    ST_KEY_COLLECTIVES_ALL_GATHER, ST_KEY_COLLECTIVES_REDUCE_SCATTER,
    ST_KEY_COLLECTIVES_ALL_TO_ALL};
enum { PROGRAM_TEXTS = ST_COUNT(program_texts) };

/* An axis without a column: its values are texts, or options of plugins. */
static bool is_for_program(const st_axis *axis)
{
    bool text = axis->key != NULL && axis->key->kind == ST_KEY_TEXT;
    return text || st_option_plugin(axis->path) > 0;
}

static st_status bind_key_axis(binder *self, size_t index)
{
    st_space *space = self->space;
    st_space_axis *axis = &space->axes[index];
    const st_key *key = axis->axis.key;
    size_t input_count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(space->sheet, &input_count);
    if (is_for_program(&axis->axis))
        return ST_OK;
    st_status status = ST_OK;
    const double *numbers = NULL;
    bool parsed = false;
    for (size_t i = 0; i < input_count && status == ST_OK; i++) {
        if (strcmp(inputs[i].from, axis->axis.path) != 0)
            continue;
        if (!parsed || inputs[i].type.kind == ST_TYPE_ENUM)
            status = st_axis_numbers(&axis->axis, &inputs[i], space->arena, &numbers, self->errors);
        parsed = true;
        axis->type = &inputs[i].type;
        own(self, i, index, numbers);
    }
    if (!parsed && key == NULL) {
        /* All rows would be the same: a constant that no input reads is a slip, or of another
         * sheet. */
        const st_space *unread_space = self->space;
        size_t count = 0;
        size_t read = 0;
        const st_sheet_input *unread_inputs = st_sheet_inputs(unread_space->sheet, &count);
        const char **constants = st_arena_alloc(unread_space->arena, count + 1, sizeof *constants);
        if (constants == NULL)
            return st_out_of_memory(self->errors);
        for (size_t i = 0; i < count; i++)
            if (strncmp(unread_inputs[i].from, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0)
                constants[read++] = unread_inputs[i].from;
        return st_fail(self->errors, ST_ERR_USAGE, axis->axis.place,
                       "%s has no effect: sheet %s does not read it" ST_EXPECTED
                       "a constant that 'steptime sheet show' lists" ST_HINT "%s",
                       axis->axis.path, st_sheet_name(unread_space->sheet),
                       st_errors_nearest(self->errors, axis->axis.path, constants, read));
    }
    if (!parsed)
        status = st_axis_numbers(&axis->axis, NULL, space->arena, &numbers, self->errors);
    axis->numbers = numbers;
    axis->has_numbers = true;
    return status;
}

st_status st_space_check_values(st_space *space, st_errors *errors)
{
    const binder self = {.space = space, .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_key *key = space->axes[i].axis.key;
        const double *unused = NULL;
        st_status checked = ST_OK;
        if (key != NULL && key->kind == ST_KEY_TEXT &&
            !st_has_text(program_texts, PROGRAM_TEXTS, key->path)) {
            const st_axis *axis = &space->axes[i].axis;
            bool sheet = strcmp(axis->path, ST_KEY_SHEET) == 0;
            bool refine = strcmp(axis->path, ST_KEY_REFINE) == 0;
            checked =
                st_fail(self.errors, ST_ERR_USAGE, axis->place,
                        "%s cannot be an axis: %s" ST_HINT "%s", axis->path,
                        sheet    ? "sheets have different cells"
                        : refine ? "all rows use the same plugins"
                                 : "no formula reads it",
                        sheet    ? "compare two sheets with 'steptime compare'"
                        : refine ? "vary an option of a plugin with refine.PLUGIN.OPTION=VALUES, "
                                   "or compare plugins with 'steptime compare --refine A|B'"
                                 : "");
        } else if (key != NULL && key->kind != ST_KEY_TEXT) {
            checked = st_axis_numbers(&space->axes[i].axis, NULL, space->arena, &unused, errors);
        }
        status = status == ST_OK ? checked : status;
    }
    return status;
}

/* --- files ----------------------------------------------------------------------------------- */

static st_status load_job(const st_space *space, const size_t *digits, bool alone,
                          const st_job **job, st_errors *errors)
{
    static const char *const single[] = {ST_KEY_PARALLEL_TP "=1", ST_KEY_PARALLEL_CP "=1",
                                         ST_KEY_PARALLEL_DP "=1", ST_KEY_PARALLEL_PP "=1"};
    size_t count = 0;
    const char **sets = list_sets(space, digits, ST_SPACE_ORDER_GROUPS, &count);
    if (sets == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; alone && i < ST_SPACE_ORDER_GROUPS; i++)
        sets[count++] = single[i];
    const st_job_parts parts = {space->request.job, space->request.sheet, sets, count};
    return st_job_load_for(space->paths, &parts, space->arena, job, errors);
}

/* What the files of an axis do to every input. */
typedef struct file_values {
    double **values; /* per input: per file */
    bool *differs;   /* per input: from the job with the first file of every axis */
} file_values;

/* Loads one file of an axis and notes what it changes. */
static st_status read_file(binder *self, size_t index, size_t file, file_values *into)
{
    st_space *space = self->space;
    size_t digits[ST_AXES_MAX] = {0};
    const st_bound_input *bound = NULL;
    const st_job *job = NULL;
    digits[index] = file;
    /* Loads the job of one value, quietly unless it fails. */
    st_error_scope quiet = {.edit = st_error_is_severe};
    st_errors_enter(self->errors, &quiet);
    st_status status = load_job(self->space, digits, false, &job, self->errors);
    if (status == ST_OK)
        status = st_job_bind(job, self->space->sheet, self->space->arena, &bound, self->errors);
    st_errors_leave(self->errors, &quiet);
    if (status != ST_OK || bound == NULL)
        return status;
    for (size_t i = 0; i < space->base.input_count; i++) {
        into->values[i][file] = bound[i].value;
        into->differs[i] = into->differs[i] || bound[i].value != space->base.input_values[i];
    }
    const st_job *one = job;
    bool changes = false;
    for (size_t i = 0; i < PROGRAM_TEXTS; i++)
        changes = changes || strcmp(st_job_text(one, program_texts[i]),
                                    st_job_text(space->base.job, program_texts[i])) != 0;
    if (changes)
        space->axes[index].variant_stride = 1;
    return ST_OK;
}

static st_status bind_file_axis(binder *self, size_t index)
{
    st_space *space = self->space;
    const st_axis *axis = &space->axes[index].axis;
    file_values files;
    st_status status = ST_OK;
    if (axis->count > MAX_FILES)
        return st_fail(self->errors, ST_ERR_LIMIT, axis->place,
                       "too many files for an axis" ST_EXPECTED "at most 1000");
    const size_t value_files = axis->count;
    size_t value_count = space->base.input_count;
    files.values = st_arena_alloc(space->arena, value_count + 1, sizeof *files.values);
    files.differs = st_arena_alloc(space->arena, value_count + 1, sizeof *files.differs);
    bool good = files.values != NULL && files.differs != NULL;
    for (size_t i = 0; good && i < value_count; i++) {
        files.values[i] = st_arena_alloc(space->arena, value_files, sizeof **files.values);
        good = files.values[i] != NULL;
    }
    if (!good)
        return st_out_of_memory(self->errors);
    for (size_t k = 0; k < axis->count && status == ST_OK; k++)
        status = read_file(self, index, k, &files);
    for (size_t i = 0; i < space->base.input_count && status == ST_OK; i++)
        if (files.differs[i] || st_is_below(space->base.inputs[i].input->from, axis->path))
            own(self, i, index, files.values[i]);
    return status;
}

/* --- all ------------------------------------------------------------------------------------- */

static size_t depth_of(const char *path)
{
    size_t depth = 1;
    for (; *path != '\0'; path++)
        depth += *path == '.' ? 1 : 0;
    return depth;
}

st_status st_space_bind_axes(st_space *space, st_errors *errors)
{
    enum { DEEPEST = 4 };
    size_t count = space->base.input_count + 1;
    binder self = {.space = space,
                   .errors = errors,
                   .owner = st_arena_alloc(space->arena, count, sizeof(size_t)),
                   .values = st_arena_alloc(space->arena, count, sizeof(double *))};
    if (self.owner == NULL || self.values == NULL)
        return st_out_of_memory(errors);
    /* What a stack does goes by the GPU, so that each of the two would need to know the other's
     * value. */
    const st_axis *stack = NULL;
    const st_axis *cluster = NULL;
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        if (strcmp(axis->path, ST_KEY_STACK) == 0)
            stack = axis;
        else if (axis->section != NULL && strncmp(axis->path, ST_KEY_CLUSTER, 7) == 0)
            cluster = axis;
    }
    st_status status =
        stack == NULL || cluster == NULL
            ? ST_OK
            : st_fail(errors, ST_ERR_USAGE, cluster->place,
                      "%s and stack cannot both be axes: rates of a stack depend on the GPU" ST_HINT
                      "run one sweep per stack with --stack",
                      cluster->path);
    for (size_t depth = 1; depth <= DEEPEST; depth++) {
        for (size_t i = 0; i < space->axis_count; i++) {
            const st_axis *axis = &space->axes[i].axis;
            if (axis->section != NULL && depth_of(axis->path) == depth)
                st_note(&status, bind_file_axis(&self, i));
        }
    }
    /* Keys by which the stack's recipes go change what the stack fills in, unless that is an axis
     * itself. */
    size_t recipe_count = 0;
    const st_key *recipe_keys = st_job_recipe_keys(space->base.job, &recipe_count);
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        if (axis->key != NULL && axis->count <= MAX_FILES &&
            ST_HAS(recipe_keys, recipe_count, path, axis->path))
            st_note(&status, bind_file_axis(&self, i));
    }
    for (size_t i = 0; i < space->axis_count; i++) {
        if (space->axes[i].axis.section == NULL)
            st_note(&status, bind_key_axis(&self, i));
    }
    if (status != ST_OK)
        return status;
    st_space *driven_space = self.space;
    size_t list_count = driven_space->base.input_count;
    driven_space->driven =
        st_arena_alloc(driven_space->arena, list_count + 1, sizeof *driven_space->driven);
    if (driven_space->driven == NULL)
        return st_out_of_memory(self.errors);
    for (size_t i = 0; i < list_count; i++) {
        if (self.owner[i] != 0)
            driven_space->driven[driven_space->driven_count++] =
                (st_driven){.input = i, .axis = self.owner[i] - 1, .values = self.values[i]};
    }
    return ST_OK;
}

/* --- programs -------------------------------------------------------------------------------- */

/* The library's providers look at a few texts alone; sizes come with the rows. */
static st_status gather(const st_space *space, const size_t *digits, st_estimate *estimate,
                        st_errors *errors)
{
    const st_request request = {.refine = space->request.refine,
                                .refine_count = space->request.refine_count};
    *estimate = (st_estimate){.sheet = space->sheet};
    st_status status = load_job(space, digits, true, &estimate->job, errors);
    return status == ST_OK
               ? st_estimate_gather(space->paths, &request, space->arena, estimate, errors)
               : status;
}

/* The job of a variant, in a space. */
typedef struct variant_job {
    const st_space *space;
    const st_job *job;
} variant_job;

/* Of the model, where no axis changes it: who fills the space's columns may vary anything else. */
static bool is_settled(const void *context, const st_sheet_input *input, double *value)
{
    const variant_job *own = context;
    const st_space *space = own->space;
    bool moves = strncmp(input->from, ST_KEY_MODEL ".", 6) != 0;
    for (size_t i = 0; i < space->driven_count && !moves; i++)
        moves = strcmp(space->base.inputs[space->driven[i].input].input->from, input->from) == 0;
    return !moves && st_job_settles(own->job, input, value);
}

/* The cells and, behind them, which rows are for the whole program. */
static const char **list_outputs(const st_space *space)
{
    const char **names = st_arena_alloc(space->arena, st_space_outputs(space) + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < space->cell_count; i++)
        names[i] = space->cells[i];
    if (names != NULL && space->replayed != NULL)
        names[space->cell_count] = space->replayed;
    return names;
}

/* The program of a variant, by whole providers or for rows that do without some. */
static st_status compile(const st_space *space, const st_estimate *estimate,
                         const st_program **program, st_errors *errors)
{
    const variant_job job = {space, estimate->job};
    const st_given given = {is_settled, &job};
    const st_program_options options = {.outputs = list_outputs(space),
                                        .output_count = st_space_outputs(space),
                                        .given = &given,
                                        .providers = estimate->providers,
                                        .provider_count = estimate->provider_count};
    return options.outputs == NULL
               ? st_out_of_memory(errors)
               : st_program_compile(space->sheet, &options, space->arena, program, errors);
}

static st_status make_variant(st_space *space, const size_t *digits, st_variant *variant,
                              st_errors *errors)
{
    st_estimate estimate;
    st_status status = gather(space, digits, &estimate, errors);
    if (status != ST_OK)
        return status;
    const char *order = st_job_text(estimate.job, ST_KEY_PARALLEL_ORDER);
    static const char *const names[ST_SPACE_ORDER_GROUPS] = {"tp", "cp", "dp", "pp"};
    variant->order = order[0] != '\0' ? order : NULL;
    for (const char *word = order; *word != '\0';) {
        size_t length = strcspn(word, "-");
        for (size_t i = 0; i < ST_SPACE_ORDER_GROUPS; i++)
            if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
                variant->named[i] = true;
        word += length + (word[length] == '-' ? 1 : 0);
    }
    variant->plugin_count = estimate.plugin_count;
    if (space->replayed != NULL) {
        status = compile(space, &estimate, &variant->whole, errors);
        if (status != ST_OK)
            return status;
        /* The first check that depends on a replay. */
        const st_program *whole = variant->whole;
        const char *given = st_replays_given(space->sheet);
        size_t check = st_program_first_dependent(whole, given, space->arena);
        size_t replayed = st_program_first_dependent(whole, ST_REPLAY_FUNCTION, space->arena);
        variant->settled_checks = check < replayed ? check : replayed;
        if (!st_estimate_drop_replays(&estimate, space->arena))
            return st_out_of_memory(errors);
    }
    return compile(space, &estimate, &variant->program, errors);
}

/* Warnings of the first variant are those of all. */
static st_status make_quietly(st_space *space, const size_t *digits, st_variant *variant, bool warn,
                              st_errors *errors)
{
    st_error_scope quiet = {.edit = st_error_is_severe};
    if (warn)
        return make_variant(space, digits, variant, errors);
    st_errors_enter(errors, &quiet);
    st_status status = make_variant(space, digits, variant, errors);
    st_errors_leave(errors, &quiet);
    return status;
}

static bool is_key_of(const st_axis *axis, const char *key)
{
    return strcmp(axis->path, key) == 0 || (axis->section != NULL && st_is_below(key, axis->path));
}

/* A refinement without the options that axes vary; NULL when out of memory. */
static const st_refinement *without_axes(const st_space *space, const st_refinement *from)
{
    st_refinement *entry = st_arena_alloc(space->arena, 1, sizeof *entry);
    st_refinement_option *kept = st_arena_alloc(space->arena, from->option_count + 1, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; entry != NULL && kept != NULL && i < from->option_count; i++) {
        const char *path = st_arena_printf(space->arena, ST_KEY_REFINE ".%s.%s", from->plugin,
                                           from->options[i].name);
        if (path == NULL)
            return NULL;
        if (st_space_axis_of(space, path) == SIZE_MAX)
            kept[count++] = from->options[i];
    }
    if (entry == NULL || kept == NULL)
        return NULL;
    *entry = *from;
    entry->options = kept;
    entry->option_count = count;
    return entry;
}

/* In words, for the report. */
static st_status name_plugins(st_space *space, const st_estimate *estimate, st_errors *errors)
{
    space->refine =
        st_arena_alloc(space->arena, estimate->refinement_count + 1, sizeof *space->refine);
    if (space->refine == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < estimate->refinement_count; i++) {
        const st_refinement *entry = without_axes(space, &estimate->refinements[i]);
        space->refine[i] = entry != NULL ? st_refine_text(entry, space->arena) : NULL;
        if (space->refine[i] == NULL)
            return st_out_of_memory(errors);
    }
    space->refine_count = estimate->refinement_count;
    return ST_OK;
}

/*
 * Plugins read once what the sheet does not: every value of an axis over such a key needs a program
 * of its own, and what a plan varies cannot be such a key.
 */
static st_status take_plugins(st_space *space, const st_estimate *estimate, st_errors *errors)
{
    space->plugins = estimate->providers;
    space->plugin_count = estimate->plugin_count;
    space->plugin_keys = estimate->plugin_keys;
    space->refusals = st_arena_alloc(space->arena, space->plugin_count + 1, sizeof(char *));
    if (space->refusals == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < space->plugin_count; i++) {
        space->refusals[i] = st_arena_printf(space->arena, "plugin %s has no usable value of %s",
                                             space->plugins[i]->source, space->plugins[i]->name);
        if (space->refusals[i] == NULL)
            return st_out_of_memory(errors);
    }
    for (size_t k = 0; k < estimate->plugin_keys.count; k++) {
        for (size_t i = 0; i < space->axis_count; i++)
            if (is_key_of(&space->axes[i].axis, estimate->plugin_keys.paths[k]))
                space->axes[i].variant_stride = 1;
    }
    return ST_OK;
}

st_status st_space_make_variants(st_space *space, st_errors *errors)
{
    /* Checks the plugins quietly: the first variant reports their errors. */
    size_t count = space->request.refine_count;
    st_estimate estimate;
    st_status status = ST_OK;
    if (count == 0)
        (void)st_job_refinements(space->base.job, &count);
    if (count > 0 && gather(space, NULL, &estimate, NULL) == ST_OK) {
        status = take_plugins(space, &estimate, errors);
        if (status == ST_OK)
            status = name_plugins(space, &estimate, errors);
    }
    if (status == ST_OK) {
        space->variant_count = 1;
        for (size_t i = space->axis_count; i-- > 0;) {
            st_space_axis *axis = &space->axes[i];
            if (!is_for_program(&axis->axis) && axis->variant_stride == 0)
                continue;
            axis->variant_stride = space->variant_count;
            if (axis->axis.count > ST_SPACE_MAX_VARIANTS / space->variant_count) {
                status = st_fail(errors, ST_ERR_LIMIT, axis->axis.place,
                                 "too many combinations of rank orders, layer lists and values "
                                 "that plugins read" ST_EXPECTED "at most 1000 combinations");
                break;
            }
            space->variant_count *= axis->axis.count;
        }
    }
    if (status != ST_OK)
        return status;
    static const char *const keys[ST_SPACE_ORDER_GROUPS] = {ST_KEY_PARALLEL_TP, ST_KEY_PARALLEL_CP,
                                                            ST_KEY_PARALLEL_DP, ST_KEY_PARALLEL_PP};
    for (size_t i = 0; i < ST_SPACE_ORDER_GROUPS; i++) {
        space->group_sizes[i] =
            (st_group_size){.axis = st_space_axis_of(space, keys[i]),
                            .fixed = st_job_value_of(space->base.job, keys[i])->number};
    }
    space->replayed = st_replayed_plan(space->sheet);
    space->variants = st_arena_alloc(space->arena, space->variant_count, sizeof(st_variant));
    if (space->variants == NULL)
        return st_out_of_memory(errors);
    for (size_t v = 0; v < space->variant_count && status == ST_OK; v++) {
        size_t digits[ST_AXES_MAX] = {0};
        for (size_t i = 0; i < space->axis_count; i++) {
            const st_space_axis *axis = &space->axes[i];
            digits[i] = axis->variant_stride == 0 ? 0 : v / axis->variant_stride % axis->axis.count;
        }
        status = make_quietly(space, digits, &space->variants[v], v == 0, errors);
    }
    return status;
}

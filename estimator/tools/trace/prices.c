/* SPDX-License-Identifier: Apache-2.0 */
/* One program over the cells of the rules, run for each shape; see prices.h. */
#include "trace/prices.h"

#include "base/fields.h"
#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/programs.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/refine_words.h"
#include "trace/collectives.h"
#include "trace/xalloc.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#define DEFAULT_PROVIDERS "nccl-whitebox"

/* What plugins that keep a formula may be off it. */
#define ROUNDING 1e-9

/* Outputs of the program that an operation reads. */
typedef struct operation_cells {
    size_t time;
    size_t work; /* SIZE_MAX: none */
    size_t *by;
} operation_cells;

/* The plugins of a request, by what they price. */
typedef struct asked_plugins {
    st_refinement *collectives;
    size_t collective_count;
    const char **kernels; /* as a command line has them; "none" alone for none */
    size_t kernel_count;
} asked_plugins;

struct st_prices {
    const st_rules *rules;
    st_estimate_parts estimate;
    const st_program *program;
    st_workspace *workspace;
    const st_program *plain; /* the same without plugins; NULL: there are none */
    st_workspace *plain_workspace;
    const char *plugins; /* of open functions; NULL: none */
    const char **cells;
    size_t cell_count;
    operation_cells *operations;
    size_t inputs[ST_SIZE_KEYS]; /* of the sheet; SIZE_MAX: it reads no such key */
    size_t precision;
    double *values;  /* per input */
    double *outputs; /* per cell */
    double *plain_outputs;
    st_named_time *measured; /* by globs of kernels */
    size_t measured_count;
    st_trace_collective_model model; /* time NULL: no cluster is known */
    st_arena *arena;
};

/* ---- plugins ---- */

/* A plugin with collectives prices these, every other has to fit the sheet. */
static st_status part_one(const st_paths *paths, const st_refinement *entry, st_prices *prices,
                          asked_plugins *asked, st_errors *errors)
{
    const st_plugin_module *module = NULL;
    st_status status =
        st_plugin_load(paths, entry->plugin, entry->place, prices->arena, &module, errors);
    if (status != ST_OK)
        return status;
    if (st_plugin_has_collective(module)) {
        asked->collectives[asked->collective_count++] = *entry;
        return ST_OK;
    }
    const char *text = st_refine_text(entry, prices->arena);
    const char *before = prices->plugins;
    const char *id = st_plugin_descriptor(module)->id;
    prices->plugins = before == NULL ? id : st_xprintf(prices->arena, "%s, %s", before, id);
    asked->kernels[asked->kernel_count++] = text;
    return ST_OK;
}

static st_status part_plugins(const st_paths *paths, const st_prices_request *request,
                              st_prices *prices, asked_plugins *asked, st_errors *errors)
{
    static const st_refinement usual = {.plugin = DEFAULT_PROVIDERS, .place = {.file = "--refine"}};
    const st_words words = {request->refine, request->refine_count};
    const st_refinement *all = NULL;
    size_t count = 0;
    st_status status = st_refine_parse(paths, &words, prices->arena, &all, &count, errors);
    if (status != ST_OK)
        return status;
    asked->collectives = st_xalloc(prices->arena, count + 1, sizeof *asked->collectives);
    asked->kernels = st_xalloc(prices->arena, count + 1, sizeof *asked->kernels);
    for (size_t i = 0; i < count; i++)
        st_note(&status, part_one(paths, &all[i], prices, asked, errors));
    if (asked->collective_count == 0 && (words.count == 0 || asked->kernel_count > 0))
        asked->collectives[asked->collective_count++] = usual;
    if (asked->kernel_count == 0)
        asked->kernels[asked->kernel_count++] = "none";
    return status;
}

/* ---- the sheet ---- */

static st_status load_job(const st_paths *paths, const st_prices_request *request,
                          const asked_plugins *asked, st_prices *prices, st_errors *errors)
{
    const char **sets = st_xalloc(prices->arena, request->set_count + 3, sizeof *sets);
    st_request wish = {.sets = sets,
                       .sheet = prices->rules->sheet,
                       .refine = asked->kernels,
                       .refine_count = asked->kernel_count};
    if (request->cluster != NULL)
        sets[wish.set_count++] = st_xprintf(prices->arena, ST_KEY_CLUSTER "=%s", request->cluster);
    if (request->gpu != NULL)
        sets[wish.set_count++] = st_xprintf(prices->arena, ST_KEY_CLUSTER_GPU "=%s", request->gpu);
    for (size_t i = 0; i < request->set_count; i++)
        sets[wish.set_count++] = request->sets[i];
    st_estimate *estimate = st_xmemory(st_estimate_new(prices->arena));
    st_status status = st_estimate_load(paths, &wish, prices->arena, estimate, errors);
    prices->estimate = st_estimate_parts_of(estimate);
    return status;
}

/* The output that shows a cell, which is added where it is new. */
static st_status add_cell(st_prices *prices, const char *name, const st_rule_operation *operation,
                          size_t *output, st_errors *errors)
{
    const st_sheet *sheet = prices->estimate.sheet;
    *output = st_find_text(prices->cells, prices->cell_count, sizeof(char *), name);
    if (*output != SIZE_MAX)
        return ST_OK;
    if (st_sheet_find_cell(sheet, name) == NULL)
        return st_fail(
            errors, ST_ERR_NAME, operation->place,
            "operation '%s' names a cell '%s' that sheet '%s' does not have" ST_HINT "%s",
            operation->name, name, st_sheet_name(sheet), st_or_none(st_sheet_nearest(sheet, name)));
    *output = prices->cell_count;
    prices->cells[prices->cell_count++] = name;
    return ST_OK;
}

static st_status add_operation(st_prices *prices, size_t index, st_errors *errors)
{
    const st_rule_operation *operation = &prices->rules->operations[index];
    operation_cells *own = &prices->operations[index];
    *own = (operation_cells){.work = SIZE_MAX};
    own->by = st_xalloc(prices->arena, operation->by_count + 1, sizeof *own->by);
    st_status status = add_cell(prices, operation->time, operation, &own->time, errors);
    if (operation->work != NULL)
        st_note(&status, add_cell(prices, operation->work, operation, &own->work, errors));
    for (size_t i = 0; i < operation->by_count; i++)
        st_note(&status, add_cell(prices, operation->by[i].cell, operation, &own->by[i], errors));
    return status;
}

static void free_workspace(void *context)
{
    st_workspace_destroy(context);
}

/* The first `count` providers are those of plugins. */
static st_status compile_with(st_prices *prices, size_t count, const st_program **program,
                              st_workspace **workspace, st_errors *errors)
{
    const st_estimate_parts *estimate = &prices->estimate;
    const st_program_options options = {.outputs = prices->cells,
                                        .output_count = prices->cell_count,
                                        .providers = estimate->providers.items,
                                        .provider_count = count,
                                        .without_checks = true};
    st_status status =
        st_program_compile(estimate->sheet, &options, prices->arena, program, errors);
    if (status != ST_OK)
        return status;
    *workspace = st_xmemory(st_workspace_create(*program));
    st_xdone(st_arena_defer(prices->arena, free_workspace, *workspace));
    return ST_OK;
}

static st_status compile(st_prices *prices, st_errors *errors)
{
    const st_rules *rules = prices->rules;
    size_t most = 1;
    for (size_t i = 0; i < rules->operation_count; i++)
        most += 2 + rules->operations[i].by_count;
    prices->cells = st_xalloc(prices->arena, most, sizeof *prices->cells);
    prices->outputs = st_xalloc(prices->arena, most, sizeof *prices->outputs);
    prices->plain_outputs = st_xalloc(prices->arena, most, sizeof *prices->plain_outputs);
    prices->operations =
        st_xalloc(prices->arena, rules->operation_count + 1, sizeof *prices->operations);
    st_status status = ST_OK;
    for (size_t i = 0; i < rules->operation_count; i++)
        st_note(&status, add_operation(prices, i, errors));
    if (status != ST_OK)
        return status;
    const st_estimate_parts *estimate = &prices->estimate;
    status =
        compile_with(prices, estimate->plugin_count, &prices->program, &prices->workspace, errors);
    if (status == ST_OK && estimate->plugin_count > 0)
        status = compile_with(prices, 0, &prices->plain, &prices->plain_workspace, errors);
    return status;
}

/* ---- measured kernels ---- */

st_status st_named_times_read(const st_named_times *asked, st_arena *arena, st_named_time **times,
                              size_t *count, st_errors *errors)
{
    static const st_field_unit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {NULL, 0}};
    const st_field fields[] = {
        {.name = asked->column,
         .set = st_field_text,
         .flags = ST_FIELD_REQUIRED,
         .offset = offsetof(st_named_time, name)},
        {.name = "time",
         .units = units,
         .set = st_field_number,
         .flags = ST_FIELD_REQUIRED,
         .least = asked->least_s,
         .most = asked->most_s,
         .offset = offsetof(st_named_time, time_s)},
    };
    st_source source;
    const st_csv *csv = NULL;
    *count = 0;
    st_status status =
        st_file_read_table(asked->file, (st_place){.file = asked->option}, arena, &source, errors);
    if (status == ST_OK)
        status = st_csv_parse(source.file, source.text, source.length, arena, &csv, errors);
    if (status != ST_OK)
        return status;
    st_field_reader reader = {
        .csv = csv, .fields = fields, .count = ST_COUNT(fields), .arena = arena, .errors = errors};
    *times = st_xalloc(arena, csv->row_count + 1, sizeof **times);
    if (st_fields_find(&reader))
        for (size_t i = 0; i < csv->row_count; i++)
            *count += st_fields_read(&reader, i, &(*times)[*count]) ? 1 : 0;
    return reader.status;
}

static bool find_measured(const st_prices *prices, const st_task_shape *shape, st_price *price)
{
    for (size_t i = 0; i < prices->measured_count; i++)
        if (fnmatch(prices->measured[i].name, shape->name, 0) == 0) {
            price->time_s = prices->measured[i].time_s;
            price->operation = "measured";
            return true;
        }
    return false;
}

/* ---- opening ---- */

static st_status open_collectives(const st_paths *paths, const st_prices_request *request,
                                  const asked_plugins *asked, st_prices *prices, st_errors *errors)
{
    const st_plugin_collectives_request wish = {.paths = paths,
                                                .job = prices->estimate.job,
                                                .refinements = asked->collectives,
                                                .count = asked->collective_count,
                                                .place = {.file = "--refine"}};
    st_plugin_collectives *opened = NULL;
    if (request->cluster == NULL)
        return ST_OK;
    st_status status = st_plugin_collectives_open(&wish, prices->arena, &opened, errors);
    if (status == ST_OK)
        prices->model = st_plugin_collectives_model(opened);
    return status;
}

st_status st_prices_open(const st_paths *paths, const st_prices_request *request, st_arena *arena,
                         st_prices **prices, st_errors *errors)
{
    st_prices *own = st_xalloc(arena, 1, sizeof *own);
    const char *rules = request->rules != NULL ? request->rules : ST_RULES_USUAL;
    own->arena = arena;
    asked_plugins asked = {0};
    st_status status = st_rules_load(paths, rules, arena, &own->rules, errors);
    if (status == ST_OK)
        status = part_plugins(paths, request, own, &asked, errors);
    if (status == ST_OK)
        status = load_job(paths, request, &asked, own, errors);
    if (status == ST_OK)
        status = compile(own, errors);
    if (status == ST_OK) {
        const st_estimate_parts *estimate = &own->estimate;
        own->values = st_xalloc(own->arena, estimate->input_count + 1, sizeof(double));
        for (size_t i = 0; i < ST_SIZE_KEYS; i++)
            own->inputs[i] = st_sheet_reading_index(estimate->sheet, st_size_keys[i]);
        own->precision = st_sheet_reading_index(estimate->sheet, ST_KEY_OPERATOR_PRECISION);
    }
    if (status == ST_OK && request->times != NULL) {
        const st_named_times measured_asked = {.file = request->times,
                                               .option = "--times",
                                               .column = "kernel",
                                               .least_s = 1e-9,
                                               .most_s = ST_PRICE_MOST_S};
        status = st_named_times_read(&measured_asked, own->arena, &own->measured,
                                     &own->measured_count, errors);
    }
    if (status == ST_OK)
        status = open_collectives(paths, request, &asked, own, errors);
    if (status == ST_OK)
        *prices = own;
    return status;
}

/* ---- prices ---- */

static void take_inputs(st_prices *prices, const st_task_shape *shape)
{
    const st_estimate_parts *estimate = &prices->estimate;
    const st_rules *rules = prices->rules;
    memcpy(prices->values, estimate->input_values, estimate->input_count * sizeof(double));
    for (size_t i = 0; i < ST_SIZE_KEYS; i++)
        if (prices->inputs[i] != SIZE_MAX && shape->sizes[i] > 0)
            prices->values[prices->inputs[i]] = shape->sizes[i];
    size_t row = shape->type != NULL
                     ? ST_FIND(rules->precisions, rules->precision_count, type, shape->type)
                     : SIZE_MAX;
    if (row == SIZE_MAX || prices->precision == SIZE_MAX)
        return;
    const st_enum *words = estimate->inputs[prices->precision].input->type.enumeration;
    size_t place = words != NULL ? st_find_text(words->values, words->count, sizeof(char *),
                                                rules->precisions[row].precision)
                                 : SIZE_MAX;
    if (place != SIZE_MAX)
        prices->values[prices->precision] = (double)place;
}

static bool has_sizes(const st_rule_operation *operation, const st_task_shape *shape)
{
    for (size_t i = 0; i < ST_SIZE_KEYS; i++)
        if ((operation->needs & (1U << i)) != 0 && !(shape->sizes[i] > 0))
            return false;
    return true;
}

/* Both programs; without plugins there is one. */
static st_status run_programs(st_prices *prices)
{
    st_status status = st_program_run_one(prices->program, prices->workspace, prices->values,
                                          prices->outputs, NULL);
    if (status == ST_OK && prices->plain != NULL)
        status = st_program_run_one(prices->plain, prices->plain_workspace, prices->values,
                                    prices->plain_outputs, NULL);
    return status;
}

/* What is known to take some time has its arithmetic from the rules all the same. */
static st_status put_work(st_prices *prices, const st_task_shape *shape, st_price *price)
{
    const st_rule *rule = st_rules_find(prices->rules, shape->form, shape->name);
    size_t work = rule != NULL ? prices->operations[rule->operation].work : SIZE_MAX;
    price->unknown = false;
    if (work == SIZE_MAX || !has_sizes(&prices->rules->operations[rule->operation], shape))
        return ST_OK;
    take_inputs(prices, shape);
    st_status status = run_programs(prices);
    if (status == ST_OK && isfinite(prices->outputs[work]))
        price->work_flop = prices->outputs[work];
    return status;
}

st_status st_prices_of_task(st_prices *prices, const st_task_shape *shape, st_price *price,
                            st_errors *errors)
{
    *price = (st_price){.operation = "unknown", .unknown = true};
    if (shape->measured)
        price->operation = "measured";
    if (shape->measured || find_measured(prices, shape, price))
        return put_work(prices, shape, price);
    const st_rule *rule = st_rules_find(prices->rules, shape->form, shape->name);
    if (rule == NULL)
        return ST_OK;
    const st_rule_operation *operation = &prices->rules->operations[rule->operation];
    /* The cell of the time for numbers of the shape's type. */
    size_t cell;
    const size_t cell_operation = rule->operation;
    const st_rule_operation *known = &prices->rules->operations[cell_operation];
    const operation_cells *cells = &prices->operations[cell_operation];
    size_t place =
        shape->type != NULL ? ST_FIND(known->by, known->by_count, type, shape->type) : SIZE_MAX;
    if (place != SIZE_MAX)
        cell = cells->by[place];
    else if (known->by_count > 0 &&
             !ST_HAS(prices->rules->precisions, prices->rules->precision_count, type,
                     st_or_none(shape->type)))
        cell = SIZE_MAX;
    else
        cell = cells->time;
    if (cell == SIZE_MAX || !has_sizes(operation, shape))
        return ST_OK;
    take_inputs(prices, shape);
    st_status status = run_programs(prices);
    if (status != ST_OK)
        return status;
    double time_s = prices->outputs[cell];
    if (prices->plain != NULL && !isfinite(time_s) && isfinite(prices->plain_outputs[cell])) {
        /* Why plugins leave a cell without a value: of this cell alone, as others are for other
         * kernels. */
        const st_estimate_parts *estimate = &prices->estimate;
        const st_program *program = NULL;
        const st_program_options options = {.outputs = &prices->cells[cell],
                                            .output_count = 1,
                                            .providers = estimate->providers.items,
                                            .provider_count = estimate->plugin_count,
                                            .without_checks = true};
        st_status refusal_status =
            st_program_compile(estimate->sheet, &options, prices->arena, &program, errors);
        if (refusal_status == ST_OK)
            refusal_status = st_program_verify(program, prices->values, errors);
        return refusal_status != ST_OK
                   ? refusal_status
                   : st_fail(errors, ST_ERR_PROVIDER, (st_place){.file = "--refine"},
                             "%s gives no time of the kernel '%s'", prices->plugins, shape->name);
    }
    size_t work = prices->operations[rule->operation].work;
    if (!(time_s >= 0 && time_s <= ST_PRICE_MOST_S))
        return st_fail(errors, ST_ERR_MATH, operation->place,
                       "%s gives an invalid time for the kernel '%s'" ST_FOUND "%g s" ST_EXPECTED
                       "0 s to 100 s",
                       prices->cells[cell], shape->name, time_s);
    price->time_s = time_s;
    price->work_flop = work != SIZE_MAX ? prices->outputs[work] : 0;
    price->operation = operation->name;
    price->unknown = rule->unknown;
    price->refined = prices->plain != NULL &&
                     fabs(time_s - prices->plain_outputs[cell]) > ROUNDING * fabs(time_s);
    return ST_OK;
}

st_status st_prices_of_transfer(st_prices *prices, const st_trace_transfer *transfer,
                                st_price *price, st_errors *errors)
{
    *price = (st_price){.operation = transfer->collective, .unknown = true};
    if (transfer->ranks < 2 || transfer->size_bytes <= 0) {
        price->unknown = false;
        return ST_OK;
    }
    if (prices->model.time == NULL)
        return ST_OK;
    st_status status = prices->model.time(prices->model.context, transfer, &price->time_s, errors);
    price->unknown = !(price->time_s > 0);
    if (status == ST_OK && !(price->time_s <= ST_PRICE_MOST_S))
        return st_fail(errors, ST_ERR_MATH, (st_place){.file = "--refine"},
                       "invalid time of %s" ST_FOUND "%g s" ST_EXPECTED "0 s to 100 s",
                       transfer->collective, price->time_s);
    return status;
}

size_t st_prices_part(const st_prices *prices, const st_task_shape *shape)
{
    const st_rule *rule = st_rules_find(prices->rules, shape->form, shape->name);
    return rule != NULL ? prices->rules->operations[rule->operation].part : ST_RULE_NO_PART;
}

const st_job *st_prices_job(const st_prices *prices)
{
    return prices->estimate.job;
}

const char *st_prices_rules_file(const st_prices *prices)
{
    return prices->rules->file;
}

double st_prices_band(const st_prices *prices)
{
    return prices->rules->band;
}

const char *st_prices_plugins(const st_prices *prices)
{
    return prices->plugins;
}

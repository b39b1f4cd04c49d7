/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The price of a group is found once and kept: rows of a sweep come back to the same few groups,
 * and a price is a handful of straight lines over the bytes.
 */
#include "estimate/fabric_functions.h"

#include "base/memory.h"
#include "estimate/open_functions.h"
#include "fabric/price.h"
#include "job/bind.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Behind the first four: sizes of the plan, whose product are the ranks of the job. */
enum { SIZE, RANKS, PER_NODE, NODE_GPUS, GROUP, MOST_ARGUMENTS = GROUP + 4, MOST_KEPT = 512 };

typedef struct kept_price {
    st_site site;
    const char *refusal; /* NULL: none */
    const char *origin;
    st_price price;
    st_price summed; /* where the network sums up; no rounds: it does not */
} kept_price;

/* What all providers of a job share. */
typedef struct fabric {
    const st_topology *topology;
    uint32_t node_gpus; /* of the job's nodes; 0: it does not say */
    pthread_mutex_t lock;
    st_arena *arena; /* of the prices */
} fabric;

typedef struct fabric_function {
    fabric *shared;
    const struct function_row *row;
    const st_steps *steps; /* NULL: none is given */
    const char *steps_name;
    size_t arguments;
    kept_price *kept;
    size_t count;
} fabric_function;

/* A function, how often a ring's messages go round, and the share of each in 1/ranks. */
typedef struct function_row {
    const char *name;
    const char *key; /* of its table of steps; NULL: it takes none */
    st_collective collective;
    st_way way;
    double turns; /* of a ring: rounds are this times ranks - 1 */
} function_row;

static const function_row rows[] = {
    {"all_reduce", ST_KEY_COLLECTIVES_ALL_REDUCE, ST_COLLECTIVE_ALL_REDUCE, ST_WAY_RING, 2},
    {"all_gather", ST_KEY_COLLECTIVES_ALL_GATHER, ST_COLLECTIVE_ALL_GATHER, ST_WAY_RING, 1},
    {"reduce_scatter", ST_KEY_COLLECTIVES_REDUCE_SCATTER, ST_COLLECTIVE_REDUCE_SCATTER, ST_WAY_RING,
     1},
    {"all_to_all", ST_KEY_COLLECTIVES_ALL_TO_ALL, ST_COLLECTIVE_ALL_TO_ALL, ST_WAY_DIRECT, 1},
    {"send_recv", NULL, ST_COLLECTIVES, ST_WAY_PAIR, 1},
};
enum { ROWS = ST_COUNT(rows) };

/* ---- prices ---- */

static const char *first_message(st_arena *arena, const st_errors *errors)
{
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        if (error->severity == ST_SEVERITY_ERROR)
            return st_arena_printf(arena, "%s:%d: %s", error->place.file, error->place.line,
                                   error->message);
    }
    return "out of memory";
}

static st_status price_steps(fabric_function *function, kept_price *kept)
{
    fabric *shared = function->shared;
    st_transfers transfers = {0};
    const st_steps_group group = {kept->site.ranks, kept->site.per_node};
    st_errors *errors = st_errors_create();
    if (errors == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_steps_follow(function->steps, &group, &transfers, errors);
    if (status == ST_OK)
        status = st_price_transfers(shared->topology, &kept->site, &transfers, shared->arena,
                                    &kept->price);
    else
        kept->refusal = first_message(shared->arena, errors);
    kept->origin = st_arena_printf(shared->arena, "steps of %s", function->steps_name);
    free(transfers.items);
    st_errors_destroy(errors);
    return kept->refusal != NULL ? ST_OK : status;
}

static st_status price_pattern(fabric_function *function, kept_price *kept)
{
    const function_row *row = function->row;
    fabric *shared = function->shared;
    double n = kept->site.ranks;
    st_pattern pattern = {.way = row->way, .rounds = 1, .share = 1};
    if (row->way != ST_WAY_PAIR)
        pattern.share = 1 / n;
    if (row->way == ST_WAY_RING)
        pattern.rounds = row->turns * (n - 1);
    kept->origin = row->way == ST_WAY_RING     ? "a ring"
                   : row->way == ST_WAY_DIRECT ? "every rank to every other"
                                               : "one message";
    st_status status =
        st_price_pattern(shared->topology, &kept->site, &pattern, shared->arena, &kept->price);
    if (status != ST_OK || row->collective != ST_COLLECTIVE_ALL_REDUCE ||
        !shared->topology->reduces)
        return status;
    pattern = (st_pattern){.way = ST_WAY_SUMMED};
    kept->origin = "a ring, or reduction in the network where it is faster";
    return st_price_pattern(shared->topology, &kept->site, &pattern, shared->arena, &kept->summed);
}

/* The price of a group; NULL: no room for one more, or no such group. */
static const kept_price *find_price(fabric_function *function, const double *row)
{
    static const kept_price too_large = {.refusal = "the topology has fewer ranks than the plan"};
    double ranks = 1;
    for (size_t i = RANKS; i < function->arguments; i++)
        if (!(row[i] >= 1 && row[i] <= ST_TOPOLOGY_MAX_RANKS) || row[i] != floor(row[i]))
            return NULL;
    for (size_t i = GROUP; i < function->arguments; i++)
        ranks *= row[i];
    if (ranks > (double)function->shared->topology->ranks)
        return &too_large;
    const st_site site = {(uint32_t)row[RANKS], (uint32_t)row[PER_NODE], (uint32_t)row[NODE_GPUS],
                          function->shared->node_gpus};
    for (size_t i = 0; i < function->count; i++)
        if (memcmp(&function->kept[i].site, &site, sizeof site) == 0)
            return &function->kept[i];
    if (function->count == MOST_KEPT)
        return NULL;
    kept_price *kept = &function->kept[function->count];
    *kept = (kept_price){.site = site};
    const st_steps_group group = {kept->site.ranks, kept->site.per_node};
    kept->refusal = st_site_error(function->shared->topology, &kept->site, function->shared->arena);
    if (kept->refusal == NULL) {
        bool by_steps = function->steps != NULL && st_steps_fit(function->steps, &group);
        st_status status = by_steps ? price_steps(function, kept) : price_pattern(function, kept);
        if (status != ST_OK && kept->refusal == NULL)
            kept->refusal = status == ST_ERR_LIMIT ? "too many messages to price on the topology"
                                                   : "out of memory";
    }
    function->count++;
    return kept;
}

static double value_of(const kept_price *kept, double bytes)
{
    if (kept == NULL || kept->refusal != NULL || !(bytes >= 0) || !isfinite(bytes))
        return (double)NAN;
    if (kept->site.ranks == 1 || bytes == 0)
        return 0;
    double time_s = st_price_at(&kept->price, bytes);
    return kept->summed.round_count > 0 ? fmin(time_s, st_price_at(&kept->summed, bytes)) : time_s;
}

static st_status evaluate(void *context, size_t count, const double *const *columns, double *values)
{
    fabric_function *function = context;
    (void)pthread_mutex_lock(&function->shared->lock);
    const kept_price *kept = NULL;
    double last[MOST_ARGUMENTS] = {0};
    for (size_t i = 0; i < count; i++) {
        double row[MOST_ARGUMENTS] = {0};
        for (size_t k = 0; k < function->arguments; k++)
            row[k] = columns[k][i];
        if (kept == NULL || memcmp(row + RANKS, last + RANKS, sizeof row - sizeof *row) != 0)
            kept = find_price(function, row);
        memcpy(last, row, sizeof last);
        values[i] = value_of(kept, row[SIZE]);
    }
    (void)pthread_mutex_unlock(&function->shared->lock);
    return ST_OK;
}

static void add_term(st_provider_account *account, st_provider_term *terms, const char *name,
                     double value_s, const char *doc)
{
    st_unit unit;
    if (st_unit_parse("us", 2, (st_place){0}, &unit, NULL) != ST_OK)
        return;
    terms[account->count++] =
        (st_provider_term){.name = name, .doc = doc, .value = value_s, .unit = unit, .part = true};
}

static st_status explain(void *context, const double *const *columns, st_arena *arena,
                         st_provider_account *account)
{
    fabric_function *function = context;
    double row[MOST_ARGUMENTS] = {0};
    for (size_t k = 0; k < function->arguments; k++)
        row[k] = columns[k][0];
    st_provider_term *terms = st_arena_alloc(arena, 4, sizeof *terms);
    if (terms == NULL)
        return ST_ERR_MEMORY;
    (void)pthread_mutex_lock(&function->shared->lock);
    const kept_price *kept = find_price(function, row);
    const double value = value_of(kept, row[SIZE]);
    account->terms = terms;
    if (kept == NULL || !isfinite(value)) {
        const char *text = kept != NULL && kept->refusal != NULL
                               ? kept->refusal
                               : "the group has too many ranks, or a fractional number of them";
        account->refusal = st_arena_copy(arena, text, strlen(text));
    } else if (value > 0 && kept->origin != NULL) {
        double fixed_s = value_of(kept, 1e-300);
        terms[account->count++] = (st_provider_term){
            .name = "origin", .text = st_arena_copy(arena, kept->origin, strlen(kept->origin))};
        add_term(account, terms, "latency", fixed_s, "start and hops of all rounds");
        add_term(account, terms, "bytes", value - fixed_s, "over the busiest link of each round");
    }
    (void)pthread_mutex_unlock(&function->shared->lock);
    return ST_OK;
}

/* ---- the job's topology and tables ---- */

static void release(void *context)
{
    fabric *shared = context;
    (void)pthread_mutex_destroy(&shared->lock);
    st_arena_destroy(shared->arena);
    free(shared);
}

static const st_job_value *given(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value : NULL;
}

static st_status load_topology(const st_paths *paths, const st_job_value *name, st_arena *arena,
                               fabric **shared, st_errors *errors)
{
    st_source source = {0};
    fabric *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL)
        return st_out_of_memory(errors);
    loaded->arena = st_arena_create();
    (void)pthread_mutex_init(&loaded->lock, NULL);
    if (loaded->arena == NULL || !st_arena_defer(arena, release, loaded)) {
        release(loaded);
        return st_out_of_memory(errors);
    }
    st_status status =
        st_paths_read(paths, ST_FOLDER_TOPOLOGIES, name->text, name->place, arena, &source, errors);
    if (status == ST_OK)
        status = st_topology_read(&source, arena, &loaded->topology, errors);
    *shared = loaded;
    return status;
}

static st_status load_steps(const st_paths *paths, const st_job_value *name, st_arena *arena,
                            fabric_function *function, st_errors *errors)
{
    st_source source = {0};
    st_status status =
        st_paths_read(paths, ST_FOLDER_STEPS, name->text, name->place, arena, &source, errors);
    if (status == ST_OK)
        status = st_steps_read(&source, arena, &function->steps, errors);
    function->steps_name = name->text;
    if (status == ST_OK && st_steps_collective(function->steps) != function->row->collective)
        return st_fail(errors, ST_ERR_VALUE, name->place,
                       "%s implements %s" ST_EXPECTED "a table of %s", name->text,
                       st_collective_name(st_steps_collective(function->steps)),
                       function->row->name);
    return status;
}

/* An open function that knows the group's ranks on a node. */
static bool can_be_provided(const st_sheet *sheet, const char *name)
{
    const st_sheet_function *function = st_open_function_find(sheet, name);
    return function != NULL &&
           ST_HAS(function->arguments, function->argument_count, name, "ranks") &&
           ST_HAS(function->arguments, function->argument_count, name, "per_node");
}

/* What providers are made from. */
typedef struct provider_maker {
    const st_paths *paths;
    const st_job *job;
    fabric *shared;
    const char *const *names; /* of their arguments */
    size_t arguments;
    st_arena *arena;
    st_errors *errors;
} provider_maker;

static st_status make_provider(const provider_maker *maker, const function_row *row,
                               st_provider *made)
{
    st_arena *arena = maker->arena;
    st_errors *errors = maker->errors;
    fabric *shared = maker->shared;
    fabric_function *function = st_arena_alloc(arena, 1, sizeof *function);
    st_unit *units = st_arena_alloc(arena, maker->arguments, sizeof *units);
    if (function == NULL || units == NULL)
        return st_out_of_memory(errors);
    function->shared = shared;
    function->row = row;
    function->arguments = maker->arguments;
    function->kept = st_arena_alloc(arena, MOST_KEPT, sizeof *function->kept);
    const st_job_value *table = row->key != NULL ? given(maker->job, row->key) : NULL;
    st_status status = function->kept == NULL ? st_out_of_memory(errors)
                       : table != NULL ? load_steps(maker->paths, table, arena, function, errors)
                                       : ST_OK;
    for (size_t i = 0; i < maker->arguments; i++)
        units[i] = st_unit_one();
    if (status == ST_OK)
        status = st_unit_parse("B", 1, (st_place){0}, &units[SIZE], errors);
    *made = (st_provider){.name = row->name,
                          .source = st_arena_printf(arena, "topology %s", shared->topology->name),
                          .argument_names = maker->names,
                          .argument_units = units,
                          .argument_count = maker->arguments,
                          .evaluate = evaluate,
                          .explain = explain,
                          .self = function};
    return status == ST_OK ? st_unit_parse("s", 1, (st_place){0}, &made->unit, errors) : status;
}

/* Names of a provider's arguments in a sheet, and how many they are. */
static size_t name_arguments(const st_sheet *sheet, const char *gpus, const char **names)
{
    static const st_role sizes[] = {ST_ROLE_TP, ST_ROLE_CP, ST_ROLE_PP, ST_ROLE_DP};
    const char *const first[GROUP] = {"size", "ranks", "per_node", gpus};
    size_t count = GROUP;
    memcpy(names, first, sizeof first);
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        const char *symbol = st_sheet_role(sheet, sizes[i]);
        if (symbol != NULL)
            names[count++] = symbol;
    }
    return count;
}

st_status st_fabric_providers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                              st_arena *arena, st_cell_providers *providers, st_errors *errors)
{
    static const char without[] = "has no collectives that know their ranks on a node";
    const st_job_value *name = given(job, ST_KEY_CLUSTER_TOPOLOGY);
    const char *gpus = st_sheet_role(sheet, ST_ROLE_GPUS_PER_NODE);
    fabric *shared = NULL;
    *providers = (st_cell_providers){0};
    if (name == NULL) {
        /* Tables of steps need links to be priced on. */
        for (size_t i = 0; i < ROWS; i++) {
            const st_job_value *table = rows[i].key != NULL ? given(job, rows[i].key) : NULL;
            if (table != NULL)
                return st_fail(errors, ST_ERR_NAME, table->place,
                               "%s requires a topology" ST_EXPECTED "cluster.topology",
                               rows[i].key);
        }
        return ST_OK;
    }
    st_status status = load_topology(paths, name, arena, &shared, errors);
    if (status == ST_OK)
        shared->node_gpus =
            (uint32_t)fmax(0, fmin(st_job_number(job, ST_KEY_CLUSTER_GPUS_PER_NODE), UINT32_MAX));
    st_provider *made = st_arena_alloc(arena, ROWS, sizeof *made);
    const char **names = st_arena_alloc(arena, MOST_ARGUMENTS, sizeof *names);
    if (status != ST_OK)
        return status;
    if (made == NULL || names == NULL)
        return st_out_of_memory(errors);
    const provider_maker maker = {paths, job,   shared, names, name_arguments(sheet, gpus, names),
                                  arena, errors};
    for (size_t i = 0; i < ROWS && status == ST_OK; i++) {
        const st_job_value *table = rows[i].key != NULL ? given(job, rows[i].key) : NULL;
        if (gpus != NULL && can_be_provided(sheet, rows[i].name))
            status = make_provider(&maker, &rows[i], &made[providers->count++]);
        else if (table != NULL)
            status = st_job_warn_unread(job, table, sheet, without, errors);
    }
    if (status == ST_OK && providers->count == 0)
        status = st_job_warn_unread(job, name, sheet, without, errors);
    providers->items = made;
    return status;
}

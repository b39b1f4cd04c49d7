/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a plugin from tables and a cluster; see nccl_model.h. */
#include "nccl-whitebox/fit/nccl_model.h"

#include "base/lists.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/gpus.h"
#include "nccl-whitebox/fit/nccl_build.h"
#include "nccl-whitebox/fit/nccl_rates.h"
#include "steptime/tool/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETS = 100, SET_BYTES = 200 };

typedef struct loader {
    const st_nccl_source *source;
    const st_nccl_table *const *tables;
    size_t count;
    st_arena *arena;
    st_errors *errors;
    st_nccl_model *model;
    const st_job **jobs;  /* one for each table: what is known of its cluster */
    st_nccl_rates *rates; /* what its heading says; unread where the cluster is given */
} loader;

/* ---- the cluster of a table ---- */

/* The GPU's file that a device's name means; NULL: none. */
static const char *find_gpu(const loader *loading, const char *gpu)
{
    st_gpus gpus = {0};
    if (gpu[0] == '\0' ||
        st_gpus_list(loading->source->paths, loading->arena, &gpus, NULL) != ST_OK)
        return NULL;
    return st_gpus_of_device(&gpus, gpu);
}

static bool says(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE;
}

/* A table of another GPU than --cluster or --set have is taken for one of theirs, with a warning.
 */
static st_status warn_of_gpu(const loader *loading, size_t index)
{
    const st_nccl_table *table = loading->tables[index];
    const char *given = st_profile_machine_of(loading->jobs[index]).gpu;
    st_gpus gpus = {0};
    if (table->gpu[0] == '\0' || given == NULL ||
        st_gpus_list(loading->source->paths, loading->arena, &gpus, NULL) != ST_OK ||
        st_gpus_same(&gpus, table->gpu, given))
        return ST_OK;
    return st_report(loading->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, st_nccl_place_of(table),
                     "the table was measured on %.80s, but the cluster has %s, which is used",
                     table->gpu, given);
}

/* A job of assignments alone: the cluster of the command line, else what the heading says. */
static st_status load_job(loader *loading, size_t index)
{
    const st_nccl_source *source = loading->source;
    const st_nccl_table *table = loading->tables[index];
    const st_nccl_rates *rates = &loading->rates[index];
    const char *sets[MAX_SETS + 7];
    char texts[7][SET_BYTES];
    size_t count = 0;
    const st_job *cluster = NULL;
    /* The cluster of the command line alone. */
    st_status status = ST_OK;
    char text[SET_BYTES];
    const char *cluster_sets[] = {text};
    cluster = NULL;
    if (source->cluster != NULL) {
        snprintf(text, sizeof text, ST_KEY_CLUSTER "=%s", source->cluster);
        status = st_job_load(source->paths, NULL, cluster_sets, 1, loading->arena, &cluster,
                             loading->errors);
    }
    if (status != ST_OK)
        return status;
    size_t gpus = cluster == NULL ? rates->gpus_per_node
                  : says(cluster, ST_KEY_CLUSTER_GPUS_PER_NODE)
                      ? (size_t)st_job_number(cluster, ST_KEY_CLUSTER_GPUS_PER_NODE)
                      : 0;
    if (gpus < table->ranks / table->nodes)
        gpus = table->ranks / table->nodes;
    if (cluster == NULL) {
        /* What a heading says, as assignments; returns how many. */
        const char *gpu = find_gpu(loading, table->gpu);
        size_t heading_count = 0;
        if (gpu != NULL)
            snprintf(texts[heading_count++], SET_BYTES, ST_KEY_CLUSTER_GPU "=%s", gpu);
        if (rates->nics > 0)
            snprintf(texts[heading_count++], SET_BYTES, ST_KEY_CLUSTER_NIC_BANDWIDTH "=%.6g GB/s",
                     rates->nics / 1e9);
        if (rates->links > 0)
            snprintf(texts[heading_count++], SET_BYTES,
                     ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH "=%.6g GB/s", rates->links / 1e9);
        if (rates->protocol != NULL)
            snprintf(texts[heading_count++], SET_BYTES, ST_KEY_CLUSTER_PROTOCOL "=%s",
                     rates->protocol);
        count = heading_count;
    } else {
        snprintf(texts[count++], SET_BYTES, ST_KEY_CLUSTER "=%s", source->cluster);
    }
    if (cluster != NULL && rates->protocol != NULL && !says(cluster, ST_KEY_CLUSTER_PROTOCOL))
        snprintf(texts[count++], SET_BYTES, ST_KEY_CLUSTER_PROTOCOL "=%s", rates->protocol);
    snprintf(texts[count++], SET_BYTES, ST_KEY_CLUSTER_NODES "=%zu", table->nodes);
    snprintf(texts[count++], SET_BYTES, ST_KEY_CLUSTER_GPUS_PER_NODE "=%zu", gpus);
    for (size_t i = 0; i < count; i++)
        sets[i] = texts[i];
    if (source->set_count > MAX_SETS)
        return st_fail(loading->errors, ST_ERR_LIMIT, st_nccl_place_of(loading->tables[0]),
                       "more than 100 --set options");
    for (size_t i = 0; i < source->set_count; i++)
        sets[count++] = source->sets[i];
    status = st_job_load(source->paths, NULL, sets, count, loading->arena, &loading->jobs[index],
                         loading->errors);
    return status == ST_OK ? warn_of_gpu(loading, index) : status;
}

/* ---- arguments ---- */

/* NaN: the table says nothing of it. */
static double argument_of(const loader *loading, const char *name, const st_nccl_point *point)
{
    const st_nccl_table *table = loading->tables[point->table];
    const double per_node = (double)table->ranks / (double)table->nodes;
    const struct {
        const char *name;
        double value;
    } known[] = {
        {"size", point->row->size_bytes},
        {"bytes", point->row->size_bytes},
        {"ranks", (double)table->ranks},
        {"nodes", (double)table->nodes},
        {"per_node", per_node},
        {"ranks_per_node", per_node},
        {"start", 0.0},
        {ST_KEY_CLUSTER_NCCL_VERSION, st_nccl_version_code(table->version)},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0 && isfinite(known[i].value))
            return known[i].value;
    if (strchr(name, '.') == NULL)
        return (double)NAN;
    const st_job_value *value = st_job_value_of(loading->jobs[point->table], name);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : (double)NAN;
}

/* The largest rate that the rows of a table reach, of a rank's links or of a node's NICs. */
static double peak_of(const st_nccl_table *table)
{
    double most = 0;
    for (size_t i = 0; i < table->row_count; i++)
        most = fmax(most, table->rows[i].size_bytes / st_nccl_time(table, &table->rows[i]));
    /* Bytes that a ring moves over each rank's link for one byte of the message. */
    return most * st_nccl_bus_factor(table->collective, (double)table->ranks);
}

/*
 * What the nodes lend to a rank: its links inside of one, the NICs between several. Where nobody
 * says that, it stays open, or is what the rows themselves reach, where that is asked for.
 */
static double bandwidth_of(const loader *loading, const st_nccl_point *point)
{
    const st_nccl_table *table = loading->tables[point->table];
    const char *key =
        table->nodes > 1 ? ST_KEY_CLUSTER_NIC_BANDWIDTH : ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH;
    double known = argument_of(loading, key, point);
    if (isfinite(known))
        return known;
    return loading->source->rate_from_peak ? peak_of(table) : (double)NAN;
}

static st_status fill_columns(loader *loading)
{
    st_nccl_model *model = loading->model;
    const st_plugin_provider *provider =
        st_plugin_descriptor(model->module)->providers[model->provider];
    model->columns =
        st_arena_alloc(loading->arena, provider->argument_count + 1, sizeof *model->columns);
    if (model->columns == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < provider->argument_count; i++) {
        double *column = st_arena_alloc(loading->arena, model->point_count + 1, sizeof *column);
        if (column == NULL)
            return ST_ERR_MEMORY;
        st_status status = ST_OK;
        const st_plugin_argument *argument = provider->arguments[i];
        for (size_t j = 0; j < model->point_count; j++) {
            const st_nccl_point *point = &model->points[j];
            column[j] = strcmp(argument->name, "bandwidth") == 0
                            ? bandwidth_of(loading, point)
                            : argument_of(loading, argument->name, point);
            if (isfinite(column[j]) || (argument->flags & ST_PLUGIN_OPTIONAL) != 0)
                continue;
            status = st_fail(loading->errors, ST_ERR_VALUE, st_nccl_place_of(loading->tables[0]),
                             "plugin '%s' needs '%s', which the table lacks" ST_HINT
                             "give --cluster NAME or --set KEY=VALUE",
                             st_plugin_descriptor(model->module)->id, argument->name);
            break;
        }
        if (status != ST_OK)
            return status;
        bool says = false; /* of some rows; those of which it says nothing are NaN */
        for (size_t k = 0; k < model->point_count; k++)
            says = says || isfinite(column[k]);
        model->columns[i] = says ? column : NULL;
    }
    return ST_OK;
}

/* ---- options ---- */

static bool is_named(const st_nccl_source *source, const char *name)
{
    return ST_HAS(source->given, source->given_count, name, name);
}

static bool is_given(const st_nccl_source *source, const char *name, double *number,
                     const st_unit *unit)
{
    bool found = false;
    for (size_t i = 0; i < source->given_count; i++) {
        const st_plugin_given *given = &source->given[i];
        if (strcmp(given->name, name) != 0)
            continue;
        found = true;
        if (given->text == NULL)
            *number = given->number;
        else if (st_quantity_parse(given->text, strlen(given->text), unit, given->place, number,
                                   NULL) != ST_OK)
            found = false; /* opening the plugin reports the error */
    }
    return found;
}

/*
 * "prior: log sd 0.4" or "prior: sd 0.1" in the line of documentation: how far from its nominal
 * value the author expects the option. Without it a factor, and a wide one.
 */
static void read_prior(const st_plugin_option *option, st_nccl_varied *varied)
{
    static const char log_prior[] = "prior: log sd ";
    static const char prior[] = "prior: sd ";
    const char *doc = option->doc != NULL ? option->doc : "";
    const char *found = strstr(doc, log_prior);
    varied->is_factor = true;
    varied->deviation = 1.5;
    if (found != NULL) {
        found += sizeof log_prior - 1;
    } else if ((found = strstr(doc, prior)) != NULL) {
        found += sizeof prior - 1;
        varied->is_factor = false;
    } else {
        return;
    }
    double deviation = 0;
    size_t length = strspn(found, "0123456789.");
    if (st_number_parse(found, length, (st_place){0}, &deviation, NULL) == ST_OK && deviation > 0)
        varied->deviation =
            varied->is_factor ? deviation : st_unit_to_base(&varied->unit, deviation);
}

/* Whether the option is one of model->shares, which what is left out chooses, not a fit. */
static bool is_share(loader *loading, const st_plugin_option *option)
{
    static const char *const names[ST_NCCL_SHARE_SLOTS] = {"small_transfer", "transfer",
                                                           "net_small_transfer", "net_transfer"};
    for (size_t i = 0; i < ST_NCCL_SHARE_SLOTS; i++) {
        if (strcmp(option->name, names[i]) != 0)
            continue;
        if (!is_named(loading->source, option->name))
            loading->model->shares[i] = option->name;
        return true;
    }
    return false;
}

/* Adds an option that a fit may vary. */
static st_status add_varied(loader *loading, size_t index, const st_plugin_option *option)
{
    st_nccl_model *model = loading->model;
    st_nccl_varied varied = {.option = index,
                             .name = option->name,
                             .nominal = st_plugin_default(model->module, index),
                             .low = option->minimum,
                             .high = option->maximum};
    const char *unit = option->unit != NULL && option->unit[0] != '\0' ? option->unit : "1";
    bool needed = false;
    st_status status =
        st_unit_parse(unit, strlen(unit), (st_place){0}, &varied.unit, loading->errors);
    if (status != ST_OK)
        return status;
    bool given = is_given(loading->source, option->name, &varied.nominal, &varied.unit);
    read_prior(option, &varied);
    /* "stands in for KEY" in the line of documentation: the option is a rate that counts where
     * the job has no KEY, or with "up to N GB/s" behind it, also where it has one as low as that
     * and a group is more than a pair. */
    const char *stands = NULL;
    static const char mark[] = "stands in for ";
    const char *found = option->doc != NULL ? strstr(option->doc, mark) : NULL;
    char key[64];
    needed = false;
    if (found != NULL) {
        found += sizeof mark - 1;
        size_t length = strcspn(found, " ;,");
        if (length < sizeof key) {
            memcpy(key, found, length);
            key[length] = '\0';
            double limit = strncmp(found + length, " up to ", 7) == 0
                               ? 1e9 * strtod(found + length + 7, NULL)
                               : 0;
            for (size_t i = 0; i < loading->model->point_count; i++) {
                const st_nccl_point *point = &loading->model->points[i];
                const st_nccl_table *table = loading->tables[point->table];
                bool far = strcmp(key, ST_KEY_CLUSTER_NIC_BANDWIDTH) == 0;
                double known = argument_of(loading, key, point);
                bool low = known <= limit && table->ranks > 2;
                needed = needed || (far == (table->nodes > 1) && (isnan(known) || low));
            }
            stands = found;
        }
    }
    if (stands != NULL) {
        if (given || !needed || loading->source->rate_from_peak)
            return ST_OK;
        /* A rate that nobody knows begins at what the rows reach. */
        double most = 0;
        for (size_t i = 0; i < loading->count; i++)
            most = fmax(most, peak_of(loading->tables[i]));
        varied.nominal = most;
        varied.low = most / 20;
        varied.high = most * 20;
        varied.is_rate = true;
    }
    if (model->varied_count >= ST_NCCL_MAX_VARIED)
        return st_fail(loading->errors, ST_ERR_LIMIT, st_nccl_place_of(loading->tables[0]),
                       "the plugin has more than 40 calibrated options");
    model->varied[model->varied_count++] = varied;
    return ST_OK;
}

static st_status list_varied(loader *loading)
{
    const st_plugin *plugin = st_plugin_descriptor(loading->model->module);
    st_status status = ST_OK;
    st_nccl_model *model = loading->model;
    model->varied = st_arena_alloc(loading->arena, plugin->option_count + 1, sizeof *model->varied);
    model->given =
        st_arena_alloc(loading->arena, loading->source->given_count + plugin->option_count + 1,
                       sizeof *model->given);
    if (model->varied == NULL || model->given == NULL) {
        status = ST_ERR_MEMORY;
    } else {
        model->given_count = loading->source->given_count;
        if (model->given_count > 0)
            memcpy(model->given, loading->source->given, model->given_count * sizeof *model->given);
    }
    for (size_t i = 0; i < plugin->option_count && status == ST_OK; i++) {
        const st_plugin_option *option = plugin->options[i];
        if ((option->flags & ST_PLUGIN_CALIBRATED) == 0)
            continue;
        if (option->kind == ST_PLUGIN_TEXT && !is_named(loading->source, option->name))
            loading->model->correction = option->name;
        if (option->kind == ST_PLUGIN_NUMBER && !is_share(loading, option))
            status = add_varied(loading, i, option);
    }
    return status;
}

st_status st_nccl_model_serves(const st_nccl_source *source, const char *collective,
                               st_arena *arena, bool *serves, st_errors *errors)
{
    const st_plugin_module *module = NULL;
    st_status status =
        st_plugin_load(source->paths, source->plugin, (st_place){0}, arena, &module, errors);
    *serves = status == ST_OK && st_plugin_find_provider(module, collective) != SIZE_MAX;
    return status;
}

static st_status load_plugin(loader *loading)
{
    st_nccl_model *model = loading->model;
    const char *collective = loading->tables[0]->collective;
    st_status status =
        st_plugin_load(loading->source->paths, loading->source->plugin, (st_place){0},
                       loading->arena, &model->module, loading->errors);
    if (status != ST_OK)
        return status;
    model->provider = st_plugin_find_provider(model->module, collective);
    if (model->provider != SIZE_MAX)
        return ST_OK;
    return st_fail(loading->errors, ST_ERR_NAME, st_nccl_place_of(loading->tables[0]),
                   "plugin '%s' has no model of %s", loading->source->plugin, collective);
}

/* Whose option says a rate; NULL: nobody's. */
static const char *option_of(const loader *loading, const char *name)
{
    const st_nccl_source *source = loading->source;
    for (size_t i = source->given_count; i > 0; i--)
        if (strcmp(source->given[i - 1].name, name) == 0)
            return source->given[i - 1].place.file != NULL ? source->given[i - 1].place.file
                                                           : "the option";
    return NULL;
}

/* Where the rate of a key comes from; see st_nccl_group_rates. */
static void find_rate(const loader *loading, size_t index, bool nics,
                      st_nccl_sourced_rate *group_rates)
{
    const char *key = nics ? ST_KEY_CLUSTER_NIC_BANDWIDTH : ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH;
    const st_nccl_point point = {.table = index, .row = loading->tables[index]->rows};
    const st_nccl_rates *rates = &loading->rates[index];
    group_rates->rate = argument_of(loading, key, &point);
    if (isfinite(group_rates->rate)) {
        bool heading = (nics ? rates->nics : rates->links) > 0 && loading->source->cluster == NULL;
        for (size_t i = 0; i < loading->source->set_count; i++)
            heading = heading && strncmp(loading->source->sets[i], key, strlen(key)) != 0;
        group_rates->from = heading ? "the heading" : nics ? "the cluster" : "the GPU";
    } else if (loading->source->rate_from_peak) {
        group_rates->from = "the rows' own peak";
        group_rates->rate = peak_of(loading->tables[index]);
    } else {
        group_rates->from = option_of(loading, nics ? "nic_rate" : "link_rate");
    }
}

bool st_nccl_is_over_pcie(const st_nccl_group_rates *group_rates)
{
    static const double most = 69e9; /* byte/s of 16 lanes of PCIe 5, and a little */
    return group_rates->links.rate < most;
}

st_status st_nccl_model_load(const st_nccl_source *source, const st_nccl_table *const *tables,
                             size_t count, st_arena *arena, st_nccl_model *model, st_errors *errors)
{
    *model = (st_nccl_model){0};
    loader loading = {.source = source,
                      .tables = tables,
                      .count = count,
                      .arena = arena,
                      .errors = errors,
                      .model = model};
    st_status status = load_plugin(&loading);
    loading.jobs = st_arena_alloc(arena, count + 1, sizeof *loading.jobs);
    loading.rates = st_arena_alloc(arena, count + 1, sizeof *loading.rates);
    model->group_rates = st_arena_alloc(arena, count + 1, sizeof *model->group_rates);
    if (loading.jobs == NULL || loading.rates == NULL || model->group_rates == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        /* The rates of a heading count where the command line says neither. */
        const st_nccl_source *rate_source = loading.source;
        bool set = rate_source->cluster != NULL;
        for (size_t j = 0; j < rate_source->set_count; j++)
            set = set || strncmp(rate_source->sets[j], ST_KEY_CLUSTER_NIC_BANDWIDTH "=", 22) == 0;
        st_status rate_status =
            st_nccl_rates_read(loading.tables[i], &loading.rates[i], set ? NULL : loading.errors);
        status = set ? ST_OK : rate_status;
    }
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = load_job(&loading, i);
    if (status == ST_OK) {
        st_nccl_model *point_model = loading.model;
        size_t all = 0;
        for (size_t i = 0; i < loading.count; i++)
            all += loading.tables[i]->row_count;
        point_model->points = st_arena_alloc(loading.arena, all + 1, sizeof *point_model->points);
        if (point_model->points == NULL) {
            status = ST_ERR_MEMORY;
        } else {
            for (size_t i = 0; i < loading.count; i++)
                for (size_t k = 0; k < loading.tables[i]->row_count; k++) {
                    const st_nccl_row *row = &loading.tables[i]->rows[k];
                    point_model->points[point_model->point_count++] = (st_nccl_point){
                        .table = i, .row = row, .measured_s = st_nccl_time(loading.tables[i], row)};
                }
        }
    }
    if (status == ST_OK)
        status = fill_columns(&loading);
    if (status == ST_OK)
        status = list_varied(&loading);
    if (status == ST_OK) {
        for (size_t i = 0; i < loading.count; i++) {
            find_rate(&loading, i, false, &loading.model->group_rates[i].links);
            find_rate(&loading, i, true, &loading.model->group_rates[i].nics);
        }
        model->gpu = st_profile_machine_of(loading.jobs[0]).gpu;
    }
    return status;
}

st_status st_nccl_model_run(const st_nccl_model *model, const st_nccl_trial *trial, double *times_s,
                            st_errors *errors)
{
    st_plugin_instance *instance = NULL;
    size_t count = model->given_count;
    for (size_t i = 0; trial->values != NULL && i < model->varied_count; i++)
        model->given[count++] =
            (st_plugin_given){.name = model->varied[i].name, .number = trial->values[i]};
    for (size_t i = 0; trial->shares != NULL && i < ST_NCCL_SHARE_SLOTS; i++)
        if (model->shares[i] != NULL)
            model->given[count++] =
                (st_plugin_given){.name = model->shares[i], .number = trial->shares[i]};
    if (trial->correction != NULL)
        model->given[count++] =
            (st_plugin_given){.name = model->correction, .text = trial->correction};
    st_status status =
        st_plugin_open(model->module, model->given, count, (st_place){0}, &instance, errors);
    if (status != ST_OK)
        return status;
    status =
        st_plugin_evaluate(instance, model->provider, model->point_count, model->columns, times_s);
    st_plugin_close(instance);
    for (size_t i = 0; status == ST_OK && i < model->point_count; i++)
        if (!(times_s[i] > 0))
            times_s[i] = (double)NAN;
    return status;
}

const char *st_nccl_model_refusal(const st_nccl_model *model, st_arena *arena)
{
    st_plugin_instance *instance = NULL;
    st_provider_account account = {0};
    if (st_plugin_open(model->module, model->given, model->given_count, (st_place){0}, &instance,
                       NULL) != ST_OK)
        return NULL;
    st_status status =
        st_plugin_explain(instance, model->provider, model->columns, arena, &account);
    st_plugin_close(instance);
    return status == ST_OK ? account.refusal : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job described by options, and the plan found for it; see job_from_options.h. */
#include "cli/job_from_options.h"

#include "base/number.h"
#include "base/yaml.h"
#ifdef STEPTIME_HAVE_LAUNCH
#include "launch/import/import.h"
#endif
#include "job/files.h"
#include "steptime/keys.h"
#include "steptime/search.h"

#include <inttypes.h>
#include <string.h>

#define LAYER_SHEET "ddp"

enum { USUAL_TOKENS = 4 * 1024 * 1024, USUAL_SEQUENCE = 4096, MOST_GPUS = 1000000 };

/* ---- assignments ---- */

static st_status add_set(cli_run *run, cli_texts *texts, const char *key, const char *value)
{
    return cli_add_text(run, texts, st_arena_printf(run->arena, "%s=%s", key, value));
}

static st_status add_count(cli_run *run, cli_texts *texts, const char *key, uint64_t value)
{
    return cli_add_text(run, texts, st_arena_printf(run->arena, "%s=%" PRIu64, key, value));
}

/* Whether a --set gives the key. */
static bool is_set(const cli_run *run, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < run->common.sets.count; i++) {
        const char *set = run->common.sets.items[i];
        if (strncmp(set, key, length) == 0 && set[length] == '=')
            return true;
    }
    return false;
}

/* The number at the start of a text whose reader reports what is wrong with it; 0 without one. */
static uint64_t count_of(const char *text)
{
    double count = 0;
    return st_number_parse(text, st_number_scan(text, strlen(text)), (st_place){0}, &count, NULL) ==
                       ST_OK &&
                   count >= 1 && count < 1e15
               ? (uint64_t)count
               : 0;
}

/* ---- the model ---- */

static bool is_json(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* Every value of a job as an assignment. */
static st_status add_leaves(cli_run *run, cli_texts *texts, const char *path,
                            const st_yaml_node *node)
{
    st_status status = ST_OK;
    if (node->kind == ST_YAML_SCALAR)
        return add_set(run, texts, path, node->text);
    if (node->kind == ST_YAML_MAP && st_yaml_get(node, "value") != NULL)
        return add_leaves(run, texts, path, st_yaml_get(node, "value"));
    for (size_t i = 0; i < node->count && status == ST_OK && node->kind == ST_YAML_MAP; i++) {
        const char *inner = path[0] != '\0'
                                ? st_arena_printf(run->arena, "%s.%s", path, node->keys[i])
                                : node->keys[i];
        if (strcmp(node->keys[i], "source") == 0 || strcmp(node->keys[i], "doc") == 0)
            continue;
        status = inner != NULL ? add_leaves(run, texts, inner, node->items[i])
                               : st_out_of_memory(run->errors);
    }
    return status;
}

#ifdef STEPTIME_HAVE_LAUNCH
/* A config.json, as `steptime import hf` reads it. */
static st_status import_model(cli_run *run, const char *file, cli_texts *texts)
{
    st_source source = {0};
    st_buffer job = {0};
    const st_yaml_node *root = NULL;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_file_read_foreign(file, (st_place){0}, run->arena, &source, run->errors);
    const st_import_request request = {
        .paths = run->paths, .file = source.file, .text = source.text, .length = source.length};
    if (status == ST_OK)
        status = st_import_hf(&request, &job, run->errors);
    if (status == ST_OK)
        status = st_yaml_parse(file, job.data, job.length, run->arena, &root, run->errors);
    if (status == ST_OK)
        status = add_leaves(run, texts, "", root);
    st_buffer_free(&job);
    return status;
}
#else
static st_status import_model(cli_run *run, const char *file, cli_texts *texts)
{
    (void)texts;
    return st_fail(run->errors, ST_ERR_NAME, (st_place){.file = file},
                   "steptime was built without steptime-launch, which reads a config.json" ST_HINT
                   "configure the build with -Dlaunch=enabled, or write the model as YAML");
}
#endif

/* A model's file; NULL for a config.json, and where it cannot be read, which the job reports. */
static const st_yaml_node *model_file(const cli_run *run, const char *model)
{
    const st_yaml_node *root = NULL;
    return is_json(model) || st_paths_read_yaml(run->paths, ST_FOLDER_MODELS, model, run->arena,
                                                &root, NULL) != ST_OK
               ? NULL
               : root;
}

/* The model of a job that gives nothing else, as an import of a model writes it; NULL if `file` is
 * a model. What else a job gives would be lost. */
static st_status model_of_job(cli_run *run, const st_yaml_node *file, const st_yaml_node **model)
{
    const char *name = run->common.asked.model;
    const st_yaml_node *own = file != NULL ? st_yaml_get(file, "model") : NULL;
    const st_yaml_node *more = own != NULL ? st_yaml_get(own, "base") : NULL;
    if (own != NULL && own->kind != ST_YAML_MAP)
        more = own;
    *model = own;
    for (size_t i = 0; own != NULL && more == NULL && i < file->count; i++)
        if (file->items[i] != own && strcmp(file->keys[i], "name") != 0 &&
            strcmp(file->keys[i], "doc") != 0 && strcmp(file->keys[i], "source") != 0)
            more = file->items[i];
    if (more == NULL)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_USAGE, more->place,
                   "'%s' is a job, and more than the keys of a model" ST_HINT
                   "use it as JOB: steptime %s %s --set cluster=%s",
                   name, run->verb->name, name, run->common.asked.cluster);
}

/* The tokens for which the model has learned positions; 0 if it has none. What is set counts. */
static uint64_t positions_of(const st_yaml_node *model, const cli_texts *sets)
{
    static const char start[] = ST_KEY_MODEL_POSITIONS "=";
    const st_yaml_node *own = model != NULL ? st_yaml_get(model, "positions") : NULL;
    own = own != NULL && own->kind == ST_YAML_MAP ? st_yaml_get(own, "value") : own;
    const char *text = own != NULL && own->kind == ST_YAML_SCALAR ? own->text : "0";
    for (size_t i = 0; i < sets->count; i++)
        if (strncmp(sets->items[i], start, strlen(start)) == 0)
            text = sets->items[i] + strlen(start);
    return count_of(text);
}

/* Whether its layers are counted per sample, as those of images are: it has no sequences. */
static bool counts_samples(const cli_run *run, const st_yaml_node *list)
{
    st_source source = {0};
    const st_yaml_node *root = NULL;
    if (list == NULL || list->kind != ST_YAML_SCALAR ||
        st_paths_read(run->paths, ST_FOLDER_LAYERS, list->text, list->place, run->arena, &source,
                      NULL) != ST_OK ||
        st_yaml_read(&source, run->arena, &root, NULL) != ST_OK)
        return false;
    const st_yaml_node *unit = st_yaml_get(root, "unit");
    return unit != NULL && unit->kind == ST_YAML_SCALAR && strcmp(unit->text, "sample") == 0;
}

/* ---- the batch ---- */

/* As many sequences as make 4 Mi tokens, rounded up so that odd numbers of GPUs divide them. */
static uint64_t usual_batch(uint64_t sequence, uint64_t gpus)
{
    uint64_t wanted = sequence < USUAL_TOKENS ? USUAL_TOKENS / sequence : 1;
    uint64_t step = gpus > 0 ? gpus : 1;
    while (step > wanted && step % 2 == 0)
        step /= 2;
    return (wanted + step - 1) / step * step;
}

/* Missing values are assumed and listed with the result. Samples without sequences are as many. */
static st_status add_batch(cli_run *run, const char *gpus, const st_yaml_node *model,
                           cli_texts *texts)
{
    cli_asked *asked = &run->common.asked;
    st_status status = ST_OK;
    const bool has_sequences =
        model == NULL || !counts_samples(run, st_yaml_get(model, "layer_list"));
    const uint64_t most = positions_of(model, texts);
    uint64_t sequence = asked->sequence > 0 ? asked->sequence : USUAL_SEQUENCE;
    while (asked->sequence == 0 && most > 0 && sequence > most)
        sequence /= 2;
    const uint64_t many = gpus != NULL ? count_of(gpus) : 0;
    uint64_t batch =
        asked->batch > 0 ? asked->batch : usual_batch(sequence, many <= MOST_GPUS ? many : 0);
    if (!has_sequences && asked->sequence > 0)
        return cli_wrong_use(run,
                             st_errors_text(run->errors,
                                            "--sequence does not apply to model '%s', whose layers "
                                            "are counted per sample",
                                            asked->model),
                             "leave it out");
    if (has_sequences && !is_set(run, ST_KEY_BATCH_SEQUENCE)) {
        status = add_count(run, texts, ST_KEY_BATCH_SEQUENCE, sequence);
        if (status == ST_OK && asked->sequence == 0)
            status = add_count(run, &asked->assumed, "--sequence", sequence);
    }
    if (status == ST_OK && !is_set(run, ST_KEY_BATCH_GLOBAL)) {
        status = add_count(run, texts, ST_KEY_BATCH_GLOBAL, batch);
        if (status == ST_OK && asked->batch == 0)
            status = add_count(run, &asked->assumed, "--batch", batch);
    }
    return status;
}

/* ---- the job ---- */

/* A name of something else where a job is expected: names the command that takes it. */
static st_status check_mistaken(cli_run *run)
{
    const char *name = run->arguments[0];
    if (run->common.asked.model != NULL || cli_paths(run) != ST_OK)
        return ST_OK;
    const char *mistaken =
        st_wrong_kind_hint(run->paths, ST_FOLDER_JOBS, name, run->arena, run->errors);
    return mistaken == NULL
               ? ST_OK
               : cli_wrong_use(run, st_errors_text(run->errors, "unknown job '%s'", name),
                               mistaken);
}

static st_status check(cli_run *run, const char *gpus)
{
    const cli_asked *asked = &run->common.asked;
    const char *verb = run->verb->name;
    if (run->argument_count > 0) {
        const cli_asked *job_asked = &run->common.asked;
        const char *name = run->arguments[0];
        bool parts = job_asked->cluster != NULL || job_asked->batch > 0 || job_asked->sequence > 0;
        st_status status = parts ? check_mistaken(run) : ST_OK;
        if (status != ST_OK)
            return status;
        if (job_asked->model != NULL || parts)
            return cli_wrong_use(
                run,
                st_errors_text(run->errors, "a job and %s are mutually exclusive",
                               job_asked->model != NULL ? "--model"
                                                        : "the options that describe one"),
                st_errors_text(run->errors,
                               "change a key of the job with --set, such as --set "
                               "%s or --set batch.global=512",
                               job_asked->model == NULL && job_asked->cluster != NULL
                                   ? "cluster=NAME"
                                   : "model=NAME"));
        if (is_json(name))
            return cli_wrong_use(
                run, st_errors_text(run->errors, "'%s' is not a job", name),
                st_errors_text(
                    run->errors,
                    "use it as a model: steptime %s --model %s --cluster dgx-h100 --gpus 64",
                    run->verb->name, name));
        return ST_OK;
    }
    const char *given = asked->cluster != NULL       ? "--cluster"
                        : asked->batch > 0           ? "--batch"
                        : asked->sequence > 0        ? "--sequence"
                        : run->common.sheet != NULL  ? "--sheet"
                        : run->common.sets.count > 0 ? "--set"
                                                     : NULL;
    if (asked->model == NULL && given != NULL)
        return cli_wrong_use(run,
                             st_errors_text(run->errors, "%s requires JOB or --model%s", given,
                                            asked->cluster != NULL ? "" : " and --cluster"),
                             "add the name of a job, or --model NAME, such as --model llama3-8b; "
                             "'steptime list jobs' "
                             "and 'steptime list models' list both");
    if (asked->model == NULL)
        return cli_wrong_use(
            run, st_errors_text(run->errors, "'%s' requires JOB, or --model and --cluster", verb),
            st_errors_text(run->errors, "see 'steptime help %s'", verb));
    if (asked->cluster == NULL)
        return cli_wrong_use(
            run,
            st_errors_text(run->errors, "--model requires --cluster%s",
                           gpus == NULL && strcmp(verb, "estimate") == 0 ? " and --gpus" : ""),
            "add --cluster NAME --gpus N, such as --cluster dgx-h100 --gpus 64; 'steptime list "
            "clusters' lists all");
    return ST_OK;
}

static const char *stem_of(cli_run *run, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *start = slash != NULL ? slash + 1 : name;
    const char *dot = strrchr(start, '.');
    return (st_name_is_path(name) || is_json(name)) && dot != NULL && dot > start
               ? st_arena_copy(run->arena, start, (size_t)(dot - start))
               : start;
}

st_status cli_job_read(cli_run *run, const char *gpus)
{
    const cli_asked *asked = &run->common.asked;
    cli_texts texts = {0};
    st_status status = check(run, gpus);
    if (status != ST_OK || run->argument_count > 0)
        return status;
    const char *model = stem_of(run, asked->model);
    const char *cluster = stem_of(run, asked->cluster);
    if (model == NULL || cluster == NULL)
        return st_out_of_memory(run->errors);
    status = cli_paths(run);
    if (status == ST_OK)
        status =
            cli_add_text(run, &texts, st_arena_printf(run->arena, "name=%s on %s", model, cluster));
    if (status == ST_OK)
        status = add_set(run, &texts, "cluster", asked->cluster);
    const st_yaml_node *file = status == ST_OK ? model_file(run, asked->model) : NULL;
    const st_yaml_node *of_job = NULL;
    if (status == ST_OK)
        status = model_of_job(run, file, &of_job);
    if (status == ST_OK && of_job != NULL)
        file = of_job;
    if (status == ST_OK)
        status = is_json(asked->model) ? import_model(run, asked->model, &texts)
                 : of_job != NULL      ? add_leaves(run, &texts, "model", of_job)
                                       : add_set(run, &texts, "model", asked->model);
    if (status == ST_OK && file != NULL && st_yaml_get(file, "layer_list") != NULL &&
        run->common.sheet == NULL && !is_set(run, ST_KEY_SHEET)) {
        status = add_set(run, &texts, ST_KEY_SHEET, LAYER_SHEET);
        if (status == ST_OK)
            status = add_set(run, &run->common.asked.assumed, "--sheet", LAYER_SHEET);
    }
    for (size_t i = 0; i < run->common.sets.count && status == ST_OK; i++)
        status = cli_add_text(run, &texts, run->common.sets.items[i]);
    if (status == ST_OK)
        status = add_batch(run, gpus, file, &texts);
    if (status == ST_OK)
        run->common.sets = texts;
    return status;
}

void cli_job_warn(cli_run *run)
{
    const cli_texts *assumed = &run->common.asked.assumed;
    const char *text = "";
    for (size_t i = 0; i < assumed->count; i++)
        text = st_errors_text(run->errors, "%s %s", text, assumed->items[i]);
    if (assumed->count > 0)
        st_report(run->errors, ST_SEVERITY_WARNING, ST_ERR_USAGE, (st_place){0},
                  "assumed by default:%s", text);
}

/* ---- its plan ---- */

static st_status take_plan(cli_run *run, const st_best *best, st_found_plan *found)
{
    const st_best_plan *plan = best->plan_count > 0 ? &best->plans[0] : best->nearest;
    st_status status = ST_OK;
    if (plan == NULL)
        return st_fail(run->errors, ST_ERR_CHECK, (st_place){0},
                       "no plan for that many GPUs: %s" ST_HINT "change it, --gpus or --batch",
                       best->reason_count > 0 ? best->reasons[0].text
                                              : "sizes, layers and batch do not divide");
    for (size_t i = 0; i < plan->set_count && status == ST_OK; i++)
        status = cli_add_text(run, &run->common.sets, plan->sets[i]);
    *found = (st_found_plan){.goal = best->goal,
                             .plans = best->computed,
                             .passed = best->passed,
                             .sets = plan->sets,
                             .set_count = plan->set_count,
                             .assumed = run->common.asked.assumed.items,
                             .assumed_count = run->common.asked.assumed.count};
    return status;
}

st_status cli_job_find_plan(cli_run *run, const char *gpus, st_found_plan *found)
{
    const st_request job = cli_request(run);
    st_best best = {0};
    const st_best_request request = {.job = {.job = job.job,
                                             .sheet = job.sheet,
                                             .sets = job.sets,
                                             .set_count = job.set_count,
                                             .refine = job.refine,
                                             .refine_count = job.refine_count},
                                     .gpus = gpus,
                                     .top = 1};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_best_find(run->paths, &request, run->arena, &best, run->errors);
    if (status == ST_OK)
        status = take_plan(run, &best, found);
    return status;
}

st_request cli_request(const cli_run *run)
{
    const cli_common *common = &run->common;
    return (st_request){.job = run->arguments[0],
                        .sheet = common->sheet,
                        .sets = common->sets.items,
                        .set_count = common->sets.count,
                        .refine = common->refine.items,
                        .refine_count = common->refine.count,
                        .checks_warn = common->check == CLI_CHECK_NONE};
}

st_status cli_load_job(cli_run *run, st_estimate *estimate)
{
    const st_request request = cli_request(run);
    return st_estimate_load(run->paths, &request, run->arena, estimate, run->errors);
}

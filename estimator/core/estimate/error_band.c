/* SPDX-License-Identifier: Apache-2.0 */
/* Known errors of a kind of estimates, and their words; see error_band.h. */
#include "estimate/error_band.h"

#include "base/word_sets.h"
#include "base/yaml_read.h"
#include "job/bind.h"
#include "job/files.h"
#include "job/job_loader.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

enum { BANDS_MAX = 2000, ROWS_OF_A_BAND = 10 };

/*
 * The least of nine of ten, by how many rows of the kind there are: with whole blocks of rows left
 * out (docs/decisions/0082-bands-from-rows-left-out.md), 92 to 95 % of them are inside.
 */
static const double floor_of_many = 0.15;
static const double floor_of_few = 0.25;
static const double floor_of_none = 0.35;
/* Over rows with other plans, where none of the kind has this one. */
static const double other_plans = 1.5;

/* ---- kinds ---- */

static const char *section_of(const st_job *job, const char *section)
{
    const char *name = st_job_section_name(job, section);
    return name == NULL || strcmp(name, "inline") == 0 ? "" : name;
}

const char *st_error_precision(const char *recipe, bool fp8, const char *weights)
{
    bool half = strcmp(weights, "bf16") == 0 || strcmp(weights, "fp16") == 0;
    if (strcmp(recipe, "mxfp8") == 0 || strcmp(recipe, "nvfp4") == 0)
        return recipe;
    if (strncmp(recipe, "fp8", 3) == 0 || (fp8 && strcmp(recipe, "bf16") != 0))
        return "fp8";
    return half ? "16bit" : weights;
}

st_error_kind st_error_kind_of(const st_job *job)
{
    return (st_error_kind){
        .gpu = section_of(job, ST_KEY_CLUSTER_GPU),
        .precision = st_error_precision(st_job_text(job, ST_KEY_PRECISION_RECIPE),
                                        st_job_number(job, ST_KEY_PRECISION_FP8) != 0,
                                        st_job_text(job, ST_KEY_PRECISION_WEIGHTS)),
        .model = st_job_number(job, ST_KEY_MODEL_EXPERTS) > 0 ? "experts" : "dense",
        .stack = section_of(job, ST_KEY_STACK),
        .is_sharded = st_job_number(job, ST_KEY_PARALLEL_ZERO) >= 2,
        .has_stages = st_job_number(job, ST_KEY_PARALLEL_PP) > 1,
        .site = job->stack_errors};
}

static bool equal_but_stack(const st_error_kind *left, const st_error_kind *right)
{
    return strcmp(left->gpu, right->gpu) == 0 && strcmp(left->precision, right->precision) == 0 &&
           strcmp(left->model, right->model) == 0;
}

bool st_error_kind_equal(const st_error_kind *left, const st_error_kind *right)
{
    return equal_but_stack(left, right) && strcmp(left->stack, right->stack) == 0;
}

/* ---- reading ---- */

static double read_number(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                          double most)
{
    double value = 0;
    const st_yaml_node *node = st_yaml_get(map, key);
    const char *text = st_read_text(reader, map, key, "0");
    bool right = st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) == ST_OK &&
                 fabs(value) <= most;
    if (!right)
        ST_NOTE(reader, ST_ERR_VALUE, node != NULL ? node->place : map->place,
                "invalid number for '%s'" ST_FOUND "'%s'" ST_EXPECTED "at most %g", key, text,
                most);
    return right ? value : 0;
}

/* The kind's own band counts, and where there is none that of all stacks; numbers of others are not
 * read. */
static void choose(st_yaml_reader *reader, const st_yaml_node *root, st_error_band *band)
{
    static const char *const known[] = {"errors", "sheet", "doc"};
    const st_error_kind asked = band->kind;
    if (!st_read_is(reader, root, ST_YAML_MAP, "a table of errors is not a map"))
        return;
    st_read_keys(reader, root, "a table of errors", known, ST_COUNT(known), 1);
    const st_yaml_node *list = st_read_list(reader, root, "errors", BANDS_MAX);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        static const char *const band_known[] = {"gpu",    "precision",   "model", "rows",
                                                 "median", "nine_of_ten", "bias",  "fitted",
                                                 "stack",  "sources",     "plans"};
        if (!st_read_is(reader, node, ST_YAML_MAP, "an entry of 'errors' must be a map"))
            continue;
        st_read_keys(reader, node, "an entry of 'errors'", band_known, ST_COUNT(band_known), 7);
        st_error_band candidate = {
            .kind = {.gpu = st_read_text(reader, node, "gpu", ""),
                     .precision = st_read_text(reader, node, "precision", ""),
                     .model = st_read_text(reader, node, "model", ""),
                     .stack = st_read_text(reader, node, "stack", "")}};
        bool is_own = st_error_kind_equal(&candidate.kind, &asked);
        bool is_kin = candidate.kind.stack[0] == '\0' && equal_but_stack(&candidate.kind, &asked);
        if (!is_own && (!is_kin || band->rows > 0))
            continue;
        candidate.rows = (size_t)fabs(read_number(reader, node, "rows", 1e9));
        candidate.fitted = (size_t)fabs(read_number(reader, node, "fitted", 1e9));
        candidate.median = read_number(reader, node, "median", 1e3);
        candidate.nine_of_ten = read_number(reader, node, "nine_of_ten", 1e3);
        candidate.bias = read_number(reader, node, "bias", 1e3);
        candidate.sources = st_read_text(reader, node, "sources", "");
        const char *plans = st_read_text(reader, node, "plans", "sharded whole stages");
        candidate.no_plan = !st_has_word(plans, asked.is_sharded ? "sharded" : "whole")
                                ? asked.is_sharded ? "ZeRO 2 or 3" : "states that are not sharded"
                            : asked.has_stages && !st_has_word(plans, "stages")
                                ? "stages of a pipeline"
                                : NULL;
        candidate.has_table = true;
        if (reader->status == ST_OK)
            *band = candidate;
    }
}

/*
 * The band of a stack that `validate --save` corrected: of its runs, and of the stack that it
 * builds on where they are fewer than ten, for a term that one run has fitted leaves no error of
 * its own.
 */
static st_status find_site(const st_paths *paths, const st_sheet *sheet, const st_error_kind *kind,
                           st_arena *arena, st_error_band *band, st_errors *errors)
{
    static const char *const known[] = {"of", "rows", "median", "nine_of_ten", "bias", "source"};
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = kind->site->place.file};
    if (!st_read_is(&reader, kind->site, ST_YAML_MAP, "'errors' of a stack is not a map"))
        return reader.status;
    st_read_keys(&reader, kind->site, "'errors' of a stack", known, ST_COUNT(known), 4);
    st_error_kind base = *kind;
    base.stack = st_read_text(&reader, kind->site, "of", "");
    base.site = NULL;
    const double rows = read_number(&reader, kind->site, "rows", 1e9);
    const bool is_checked = fabs(rows) > 1; /* a run alone corrects, none is left to check */
    const double share = is_checked ? fmin(fabs(rows), ROWS_OF_A_BAND) / ROWS_OF_A_BAND : 0;
    const double median = read_number(&reader, kind->site, "median", 1e3);
    const double nine_of_ten = read_number(&reader, kind->site, "nine_of_ten", 1e3);
    const double bias = read_number(&reader, kind->site, "bias", 1e3);
    if (reader.status == ST_OK)
        reader.status = st_error_band_find(paths, sheet, &base, arena, band, errors);
    if (reader.status != ST_OK)
        return reader.status;
    const double least = is_checked && band->nine_of_ten > 0 ? 0 : floor_of_none;
    const double most = fmax(band->nine_of_ten, least);
    band->site_rows = (size_t)fabs(rows);
    band->has_table = true;
    band->median =
        share * median + (1 - share) * (band->rows > 0 && is_checked ? band->median : most / 2);
    band->nine_of_ten = share * nine_of_ten + (1 - share) * most;
    band->bias = share * bias;
    return ST_OK;
}

static double floor_of(size_t rows)
{
    return rows >= ROWS_OF_A_BAND ? floor_of_many : rows > 0 ? floor_of_few : floor_of_none;
}

double st_error_half_width(size_t rows, double nine_of_ten, bool has_plan)
{
    return fmax(nine_of_ten, floor_of(rows)) * (has_plan ? 1 : other_plans);
}

st_status st_error_band_find(const st_paths *paths, const st_sheet *sheet,
                             const st_error_kind *kind, st_arena *arena, st_error_band *band,
                             st_errors *errors)
{
    const st_yaml_node *root = NULL;
    const char *name = st_sheet_name(sheet);
    *band = (st_error_band){.kind = *kind, .sources = ""};
    if (kind->site != NULL)
        return find_site(paths, sheet, kind, arena, band, errors);
    st_status status = st_paths_read_yaml(paths, ST_FOLDER_ERRORS, name, arena, &root, NULL);
    if (status == ST_ERR_NAME) /* nothing was measured that this sheet could be compared with */
        return ST_OK;
    if (status == ST_OK) {
        st_yaml_reader reader = {.arena = arena, .errors = errors};
        band->has_table = true;
        choose(&reader, root, band);
        band->is_floor = band->nine_of_ten < floor_of(band->rows);
        band->nine_of_ten =
            st_error_half_width(band->rows, band->nine_of_ten, band->no_plan == NULL);
        return reader.status;
    }
    return st_paths_read_yaml(paths, ST_FOLDER_ERRORS, name, arena, &root, errors);
}

/* ---- words ---- */

const char *st_error_band_text(const st_error_band *band, st_arena *arena)
{
    if (!band->has_table)
        return "not known: no measured steps for this sheet";
    const st_error_kind *kind = &band->kind;
    const char *gpu = kind->gpu[0] != '\0' ? kind->gpu : "custom GPU";
    bool has_stack = kind->stack[0] != '\0';
    if (band->site_rows > 0)
        return st_arena_printf(
            arena,
            "within %.0f %% (median) and %.0f %% (9 of 10): %zu run%s of this site corrected the "
            "stack%s%s%s%s",
            100.0 * band->median, 100.0 * band->nine_of_ten, band->site_rows,
            band->site_rows == 1 ? "" : "s", band->site_rows == 1 ? " and no other checks it" : "",
            band->site_rows >= ROWS_OF_A_BAND ? "" : "; too few for a band, which counts rows of ",
            band->site_rows >= ROWS_OF_A_BAND ? ""
            : has_stack                       ? kind->stack
                                              : "any stack",
            band->site_rows >= ROWS_OF_A_BAND ? "" : ", too");
    if (band->rows == 0)
        return st_arena_printf(
            arena,
            "not known: no measured steps of this kind (%s, %s, %s%s%s); 9 of 10 "
            "of kinds left out are within %.0f %%",
            gpu, kind->precision, kind->model, has_stack ? ", " : "", kind->stack,
            100.0 * floor_of_none);
    return st_arena_printf(
        arena,
        "rows like this (%s, %s, %s, %s) within %.0f %% (median) and %.0f %% (9 of 10), "
        "%zu row%s%s%s%s%s%s",
        gpu, kind->precision, kind->model, has_stack ? kind->stack : "any stack",
        100.0 * band->median, 100.0 * band->nine_of_ten, band->rows, band->rows == 1 ? "" : "s",
        band->fitted == band->rows ? ", all used in fits" : "",
        band->is_refined ? ", all estimated without plugins" : "",
        band->is_floor ? "; 9 of 10 is the least that rows left out allow" : "",
        band->no_plan != NULL ? "; widened, no row has " : "", st_or_none(band->no_plan));
}

const char *st_error_band_short(const st_error_band *band, st_arena *arena)
{
    return band->rows + band->site_rows == 0
               ? "not known"
               : st_arena_printf(arena, "%.0f %% / %.0f %%", 100.0 * band->median,
                                 100.0 * band->nine_of_ten);
}

void st_error_band_put(const st_error_band *band, st_node *map)
{
    if (band == NULL) {
        st_put_null(map, "error_band");
        return;
    }
    st_node *node = st_put_line_map(map, "error_band");
    st_put_text_or_null(node, "gpu", band->kind.gpu);
    st_put_text_or_null(node, "precision", band->kind.precision);
    st_put_text_or_null(node, "model", band->kind.model);
    st_put_text_or_null(node, "stack", band->kind.stack);
    st_put_count(node, "rows", band->rows);
    if (band->site_rows > 0)
        st_put_count(node, "site_runs", band->site_rows);
    st_put_count(node, "fitted", band->fitted);
    st_put_number(node, "median", band->rows > 0 ? band->median : (double)NAN);
    st_put_number(node, "nine_of_ten", band->rows > 0 ? band->nine_of_ten : (double)NAN);
    st_put_number(node, "bias", band->rows > 0 ? band->bias : (double)NAN);
    st_put_bool(node, "is_floor", band->is_floor);
    st_put_text_or_null(node, "no_plan", st_or_none(band->no_plan));
    st_put_text_or_null(node, "sources", band->sources);
}

st_status st_error_kind_band(const st_paths *paths, const st_sheet *sheet,
                             const st_error_kind *kind, st_arena *arena, double *nine_of_ten,
                             st_errors *errors)
{
    st_error_band band;
    st_status status = st_error_band_find(paths, sheet, kind, arena, &band, errors);
    *nine_of_ten = status == ST_OK && band.rows > 0 ? band.nine_of_ten : 0;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The term that explains a site's runs; see site.h. Every trial of a run is a row of one table. */
#include "fit/steps/site.h"

#include "base/number.h"
#include "base/text.h"
#include "fit/steps/stats.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/job_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factors of a term: STEP to the power of -SIDE to SIDE, 1/8 to 8. */
enum { SIDE = 24, FACTORS = 2 * SIDE + 1, TERMS_MAX = 400 };
#define STEP         1.0905077326652577 /* 2^(1/8) */
#define LEAST_EFFECT 1e-4               /* of 10 % more: a term that explains nothing */
#define ALIKE        0.005              /* of what two terms leave of an error */
#define PRIOR_LIMIT  3                  /* standard deviations that a correction may take */
#define NOISE        0.08               /* of a step, as in docs/fits/modern.yaml */

typedef struct trial_term {
    size_t input;
    const char *key;
    double *times; /* times[run * FACTORS + k] */
    double best;   /* factor for all runs, as a power of STEP */
    double left;   /* root mean square of the errors' logarithms */
    double sd;     /* of its prior */
} trial_term;

/* Standard deviations of priors, the widest of a constant that a file of constants lists. */
typedef struct priors {
    const st_yaml_node **maps; /* fit.constants of each file */
    size_t count;
    double usual; /* mean of all: that of a constant without a prior */
} priors;

static double sd_of(const priors *known, const char *key)
{
    double sd = 0;
    double sum = 0;
    double used = 0;
    for (size_t k = 0; k < known->count; k++)
        for (size_t i = 0; i < known->maps[k]->count; i++) {
            const st_yaml_node *named = st_yaml_get(known->maps[k]->items[i], "key");
            const st_yaml_node *node = st_yaml_get(known->maps[k]->items[i], "sd");
            const char *name = named != NULL ? named->text : known->maps[k]->keys[i];
            double value = 0;
            if (node != NULL && node->text != NULL && (key == NULL || strcmp(name, key) == 0) &&
                st_number_parse(node->text, strlen(node->text), (st_place){0}, &value, NULL) ==
                    ST_OK) {
                sd = fmax(sd, value);
                sum += value;
                used += 1;
            }
        }
    return key == NULL ? sum / fmax(used, 1) : sd > 0 ? sd : known->usual;
}

static st_status read_priors(const st_paths *paths, const char *sheet, st_arena *arena,
                             priors *known, st_errors *errors)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    st_status status = st_paths_list(paths, ST_FOLDER_CONSTANTS, arena, &entries, &count, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const st_yaml_node *root = NULL;
        status =
            st_paths_read_yaml(paths, ST_FOLDER_CONSTANTS, entries[i].name, arena, &root, errors);
        const st_yaml_node *fit = status == ST_OK ? st_yaml_get(root, "fit") : NULL;
        const st_yaml_node *of = st_yaml_get(fit, "sheet");
        const st_yaml_node *map = st_yaml_get(fit, "constants");
        if (of != NULL && map != NULL && of->text != NULL && strcmp(of->text, sheet) == 0 &&
            !ST_APPEND(arena, known->maps, known->count, map))
            return ST_ERR_MEMORY;
    }
    known->usual = sd_of(known, NULL);
    return status;
}

/* By a change that the prior allows, and but for the noise of a step. */
static bool explains(const trial_term *term)
{
    return term->left <= NOISE &&
           (term->sd == 0 || fabs(term->best) * log(STEP) <= PRIOR_LIMIT * term->sd);
}

/* What a stack may give and a fit may move; a factor on the whole step explains nothing. */
static bool may_vary(const st_sheet_input *input)
{
    return strcmp(st_or_none(input->from), ST_KEY_CONSTANTS ".site_factor") != 0 &&
           input->from != NULL && input->type.kind == ST_TYPE_NUMBER &&
           (input->steps == NULL || input->steps[0] == '\0') &&
           ((strncmp(input->from, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0 ||
             (strncmp(input->from, ST_KEY_OVERLAP ".", sizeof ST_KEY_OVERLAP) == 0 &&
              strcmp(input->from, ST_KEY_OVERLAP_PREFETCH) != 0)));
}

/* A share stays one. */
static bool is_allowed(const st_sheet_input *input, double now, double value)
{
    const st_key *key = st_key_find(input->from);
    const bool is_efficiency = strstr(input->from, "efficiency") != NULL;
    return (key == NULL || (value >= key->minimum && value <= key->maximum)) &&
           !(is_efficiency && value > fmax(now, 1));
}

/* A run with each term at every factor; NaN where the value or the estimate is not allowed. */
static st_status try_factors(const st_measured *run, const trial_term *terms, size_t term_count,
                             size_t index, st_arena *arena, st_errors *errors)
{
    size_t count = 0;
    const st_sheet_input *inputs_of = st_sheet_inputs(run->sheet, &count);
    const size_t row_count = term_count * FACTORS;
    st_measured trials = *run;
    st_row *rows = st_arena_alloc(arena, row_count + 1, sizeof *rows);
    double *inputs = st_arena_alloc(arena, row_count * run->input_count + 1, sizeof *inputs);
    if (rows == NULL || inputs == NULL)
        return ST_ERR_MEMORY;
    for (size_t row = 0; row < row_count; row++) {
        const size_t input = terms[row / FACTORS].input;
        const double power = (double)(row % FACTORS) - SIDE;
        const double value = run->inputs[input] * pow(STEP, power);
        const bool allowed = is_allowed(&inputs_of[input], run->inputs[input], value);
        rows[row] = (st_row){.id = "", .measured = run->rows[0].measured, .job = run->rows[0].job};
        rows[row].left_out = allowed ? NULL : "not allowed";
        for (size_t i = 0; i < run->input_count; i++)
            inputs[i * row_count + row] = run->inputs[i];
        if (allowed)
            inputs[input * row_count + row] = value;
    }
    trials.rows = rows;
    trials.inputs = inputs;
    trials.row_count = row_count;
    trials.are_trials = true;
    st_status status = st_measured_run(&trials, arena, errors);
    for (size_t row = 0; row < row_count; row++)
        terms[row / FACTORS].times[index * FACTORS + row % FACTORS] =
            rows[row].left_out == NULL ? rows[row].estimate : (double)NAN;
    return status;
}

/* The time at a factor between those that were tried. */
static double time_at(const double *times, double power)
{
    const double at = power + SIDE;
    const double below = floor(at);
    if (!(at >= 0) || at > FACTORS - 1)
        return (double)NAN;
    const size_t k = (size_t)below;
    const double rest = at - below;
    return rest > 0 ? exp((1 - rest) * log(times[k]) + rest * log(times[k + 1])) : times[k];
}

/* Root mean square of the errors at one factor for all runs but `without`. */
static double left_at(const trial_term *term, const st_measured *const *runs, size_t count,
                      size_t without, double power)
{
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == without)
            continue;
        const double error =
            log(time_at(term->times + i * FACTORS, power) / runs[i]->rows[0].measured);
        sum += error * error;
        used++;
    }
    return used > 0 ? sqrt(sum / (double)used) : (double)NAN;
}

/* The factor nearest to 1 that leaves the least. */
static double best_power(const trial_term *term, const st_measured *const *runs, size_t count,
                         size_t without)
{
    double best = 0;
    double least = left_at(term, runs, count, without, 0);
    for (int k = 0; k <= 64 * SIDE; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double power = sign * (double)k / 64;
            const double left = left_at(term, runs, count, without, power);
            if (left < least - 1e-6) {
                least = left;
                best = power;
            }
        }
    return best;
}

/* First terms that explain; what is left decides, and where that is alike the smaller change. */
static int compare_terms(const void *left, const void *right)
{
    const trial_term *a = left;
    const trial_term *b = right;
    const double steps = round(a->left / ALIKE) - round(b->left / ALIKE);
    const double change = fabs(a->best) - fabs(b->best);
    if (explains(a) != explains(b))
        return explains(a) ? -1 : 1;
    return steps < 0 ? -1 : steps > 0 ? 1 : change < 0 ? -1 : change > 0 ? 1 : 0;
}

static st_site_term describe(const trial_term *term, const st_measured *const *runs, size_t count)
{
    const double before = runs[0]->inputs[term->input];
    st_site_term made = {.key = term->key,
                         .before = before,
                         .factor = pow(STEP, term->best),
                         .sd = term->sd,
                         .mean_left = term->left};
    made.after = before * made.factor;
    made.effect = time_at(term->times, log(1.1) / log(STEP)) / runs[0]->rows[0].estimate - 1;
    for (size_t i = 0; i < count; i++) {
        const double error =
            time_at(term->times + i * FACTORS, term->best) / runs[i]->rows[0].measured - 1;
        made.left = fabs(error) > fabs(made.left) ? error : made.left;
    }
    return made;
}

/* Each run by the factor of the others; one run alone has no error of its own. */
static st_status leave_out(const trial_term *term, st_arena *arena, st_site *site)
{
    const size_t count = site->run_count;
    double *errors = st_arena_alloc(arena, count + 1, sizeof *errors);
    if (errors == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; count > 1 && i < count; i++)
        errors[i] = time_at(term->times + i * FACTORS, best_power(term, site->runs, count, i)) /
                        site->runs[i]->rows[0].measured -
                    1;
    if (count < 2)
        return ST_OK;
    const st_error_summary summary = st_summarize_errors(errors, count);
    site->median = summary.median_absolute;
    site->bias = summary.bias;
    site->nine_of_ten = errors[(9 * count + 9) / 10 - 1];
    return ST_OK;
}

st_status st_site_of(const st_paths *paths, const st_measured *const *runs, size_t count,
                     st_arena *arena, st_site *site, st_errors *errors)
{
    size_t input_count = 0;
    priors known = {0};
    *site = (st_site){.runs = runs, .run_count = count, .stack = ""};
    if (count == 0)
        return ST_OK;
    const st_sheet_input *inputs = st_sheet_inputs(runs[0]->sheet, &input_count);
    const st_stack *stack =
        runs[0]->rows[0].job != NULL ? st_job_stack(runs[0]->rows[0].job) : NULL;
    site->stack = stack != NULL ? stack->name : "";
    trial_term *terms = st_arena_alloc(arena, TERMS_MAX, sizeof *terms);
    size_t term_count = 0;
    st_status status =
        terms != NULL ? read_priors(paths, st_sheet_name(runs[0]->sheet), arena, &known, errors)
                      : ST_ERR_MEMORY;
    for (size_t i = 0; i < input_count && status == ST_OK && term_count < TERMS_MAX; i++)
        if (may_vary(&inputs[i]) && runs[0]->inputs[i] > 0)
            terms[term_count++] =
                (trial_term){.input = i,
                             .key = inputs[i].from,
                             .sd = sd_of(&known, inputs[i].from),
                             .times = st_arena_alloc(arena, count * FACTORS, sizeof *terms->times)};
    if (st_arena_failed(arena))
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = try_factors(runs[i], terms, term_count, i, arena, errors);
    size_t kept = 0;
    for (size_t i = 0; i < term_count && status == ST_OK; i++) {
        trial_term *term = &terms[i];
        const double now = time_at(term->times, 0);
        const double effect =
            fmax(fabs(time_at(term->times, 1) / now - 1), fabs(time_at(term->times, -1) / now - 1));
        term->best = effect > LEAST_EFFECT ? best_power(term, runs, count, SIZE_MAX) : 0;
        term->left = left_at(term, runs, count, SIZE_MAX, term->best);
        if (term->best != 0)
            terms[kept++] = *term;
    }
    term_count = kept;
    if (status != ST_OK)
        return st_arena_failed(arena) ? ST_ERR_MEMORY : status;
    qsort(terms, term_count, sizeof *terms, compare_terms);
    site->is_explained = term_count > 0 && explains(&terms[0]);
    for (size_t i = 0; i < term_count && i < ST_SITE_TERMS; i++)
        site->terms[site->term_count++] = describe(&terms[i], runs, count);
    return term_count > 0 ? leave_out(&terms[0], arena, site) : ST_OK;
}

/* ---- results ---- */

static const st_type *type_of(const st_site *site, const char *key)
{
    return &st_sheet_reading(site->runs[0]->sheet, key)->type;
}

void st_site_put(const st_site *site, st_node *root)
{
    const st_table_column columns[] = {
        {.title = site->is_explained ? "terms that explain it" : "nearest terms",
         .ink = ST_INK_NAME},
        ST_COLUMN_NUMBER("now"),
        ST_COLUMN_NUMBER("needed"),
        ST_COLUMN_CHANGE("step for 10 % more", 1),
        ST_COLUMN_CHANGE("error left", 1)};
    st_node *map = st_put_map(root, "site");
    const st_stack *stack = st_job_stack(site->runs[0]->rows[0].job);
    if (stack != NULL) {
        st_put_text(map, "stack", stack->name);
        st_put_text(map, "release", st_or_none(stack->release));
        st_say(map, "  estimated with the stack %s%s%s%s\n", stack->name,
               stack->release != NULL ? " " : "", st_or_none(stack->release),
               stack->is_default ? ", the default of the sheet" : "");
    }
    st_node *list = st_put_list(map, "terms");
    char text[2][ST_QUANTITY_TEXT];
    if (site->term_count == 0) {
        st_say(map, "no constant explains the difference\n");
        return;
    }
    st_table *table = st_say_table(map, columns, ST_COUNT(columns), 2);
    for (size_t i = 0; i < site->term_count; i++) {
        const st_site_term *term = &site->terms[i];
        const st_type *type = type_of(site, term->key);
        st_node *node = st_put_line_map(list, NULL);
        st_put_text(node, "key", term->key);
        st_put_text(node, "now",
                    st_type_format(type, term->before, ST_STYLE_UNIT, text[0], sizeof text[0]));
        st_put_text(node, "needed",
                    st_type_format(type, term->after, ST_STYLE_UNIT, text[1], sizeof text[1]));
        st_put_number(node, "factor", term->factor);
        st_put_number(node, "effect", term->effect);
        st_put_number(node, "left", term->left);
        st_table_show(table, node, "key,now,needed,effect,left");
    }
    const st_row *row = &site->runs[0]->rows[0];
    const st_site_term *first = &site->terms[0];
    st_put_bool(map, "explained", site->is_explained);
    if (!site->is_explained)
        st_say(map,
               "No term explains the difference of %+.1f %%: the nearest, %s, would change by a "
               "factor of %.3g and leave %.0f %%; its prior allows %.3g to %.3g, the noise of a "
               "step %.0f %%.\n",
               100 * (row->estimate / row->measured - 1), first->key, first->factor,
               100 * fabs(first->left), exp(-PRIOR_LIMIT * first->sd), exp(PRIOR_LIMIT * first->sd),
               100 * NOISE);
    else
        st_say(map, "A step time alone does not say which: each would explain it, the first one "
                    "with the least change.\n");
}

void st_site_write(const st_site *site, const char *name, st_buffer *buffer)
{
    const st_site_term *term = &site->terms[0];
    const char *dot = strchr(term->key, '.');
    char text[ST_QUANTITY_TEXT];
    char number[ST_QUANTITY_TEXT];
    st_buffer_text(buffer, "# Written by steptime validate --save: a stack with the one term "
                           "corrected that explains the\n# runs below best. A job takes it with "
                           "'stack: FILE'.\n");
    st_buffer_quoted(buffer, "name: ", name, "\n");
    if (site->stack[0] != '\0')
        st_buffer_printf(buffer, "base: %s\n", site->stack);
    for (size_t i = 0; i < site->run_count; i++)
        st_buffer_quoted(buffer, i == 0 ? "# Runs: [" : ", ", site->runs[i]->rows[0].id, "");
    st_buffer_printf(
        buffer, "]\nsource: steptime validate --save\n%.*s:\n  %s: %s\n", (int)(dot - term->key),
        term->key, dot + 1,
        st_type_format(type_of(site, term->key), term->after, ST_STYLE_UNIT, text, sizeof text));
    st_buffer_printf(buffer, "errors: {of: %s, rows: %zu, median: %s", site->stack, site->run_count,
                     st_number_format(round(site->median * 1e4) / 1e4, number, sizeof number));
    st_buffer_printf(buffer, ", nine_of_ten: %s",
                     st_number_format(round(site->nine_of_ten * 1e4) / 1e4, number, sizeof number));
    st_buffer_printf(buffer, ", bias: %s}\n",
                     st_number_format(round(site->bias * 1e4) / 1e4, number, sizeof number));
}

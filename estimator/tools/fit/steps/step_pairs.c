/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of rows that agree in all that the sheet reads but a few keys, and their predictions. */
#include "fit/steps/step_pairs.h"

#include "base/hash.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the layers take, and the factor on everything. */
enum { STEADY, BUBBLE, SITE, CELLS };
enum { TERM_STEADY, TERM_BUBBLE }; /* of the role */
static const st_role_part roles[CELLS] = {[STEADY] = {ST_ROLE_STEP_TERMS, TERM_STEADY},
                                          [BUBBLE] = {ST_ROLE_STEP_TERMS, TERM_BUBBLE},
                                          [SITE] = {.role = ST_ROLE_SITE_FACTOR}};
static const st_role_list wanted = {roles, CELLS, "separating the time of layers needs"};

/* The keys that an edit changes: of the first three the edit is the bit of that number. */
enum { DP, PP, LAYERS, GLOBAL, MICRO, KEYS };
static const char *const keys[KEYS] = {ST_KEY_PARALLEL_DP, ST_KEY_PARALLEL_PP, ST_KEY_MODEL_LAYERS,
                                       ST_KEY_BATCH_GLOBAL, ST_KEY_BATCH_MICRO};

typedef struct pairing {
    st_measured *measured;
    st_pairs *pairs;
    size_t where[KEYS]; /* these lie among the inputs */
    bool *free_input;   /* by input: may differ */
    uint64_t *hashes;   /* by row, of the inputs that may not */
    size_t *order;      /* compared rows by hash */
    size_t row_count;
    st_arena *arena;
    st_errors *errors;
} pairing;

const char *st_edits_text(unsigned edits, char *text)
{
    static const char *const names[] = {"dp", "pp", "layers", "micro-batches"};
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < 4; i++) {
        if ((edits & 1U << i) == 0)
            continue;
        bool last = edits >> (i + 1) == 0;
        const char *between = length == 0 ? "" : last ? " and " : ", ";
        length +=
            (size_t)snprintf(text + length, ST_EDITS_TEXT - length, "%s%s", between, names[i]);
    }
    return text;
}

/* ---- which inputs ---- */

bool st_pairs_known(const st_measured *measured)
{
    const char *names[CELLS];
    bool good = st_measured_is_step(measured) &&
                st_sheet_need_roles(measured->sheet, &wanted, names, NULL) == ST_OK;
    for (size_t i = 0; i < KEYS; i++)
        good = good && st_sheet_reading(measured->sheet, keys[i]) != NULL;
    return good;
}

static double value_of(const pairing *pairs, size_t input, size_t row)
{
    return pairs->measured->inputs[input * pairs->measured->row_count + row];
}

/* ---- rows that may be pairs ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits = 0;
    if (isnan(value))
        return 0x7ff8000000000000U;
    value = value == 0 ? 0 : value; /* -0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool same_rest(const pairing *pairs, size_t one, size_t other)
{
    bool same = pairs->hashes[one] == pairs->hashes[other] &&
                pairs->measured->rows[one].variant == pairs->measured->rows[other].variant;
    for (size_t i = 0; i < pairs->measured->input_count && same; i++)
        same = pairs->free_input[i] ||
               bits_of(value_of(pairs, i, one)) == bits_of(value_of(pairs, i, other));
    return same;
}

typedef struct hashed {
    uint64_t hash;
    size_t row;
} hashed;

ST_COMPARE(compare_hashed, hashed, ST_RISING(hash) ST_RISING(row));

static st_status sort_rows(pairing *pairs)
{
    const st_measured *measured = pairs->measured;
    hashed *rows = st_arena_alloc(pairs->arena, measured->row_count + 1, sizeof *rows);
    pairs->hashes = st_arena_alloc(pairs->arena, measured->row_count + 1, sizeof *pairs->hashes);
    pairs->order = st_arena_alloc(pairs->arena, measured->row_count + 1, sizeof *pairs->order);
    if (rows == NULL || pairs->hashes == NULL || pairs->order == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < measured->row_count; i++) {
        uint64_t hash = ST_HASH_BEGIN;
        for (size_t j = 0; j < pairs->measured->input_count; j++)
            if (!pairs->free_input[j])
                hash = st_hash_word(hash, bits_of(value_of(pairs, j, i)));
        pairs->hashes[i] = st_hash_word(hash, pairs->measured->rows[i].variant);
        if (measured->rows[i].left_out == NULL && !measured->rows[i].ran_out)
            rows[pairs->row_count++] = (hashed){pairs->hashes[i], i};
    }
    qsort(rows, pairs->row_count, sizeof *rows, compare_hashed);
    for (size_t i = 0; i < pairs->row_count; i++)
        pairs->order[i] = rows[i].row;
    return ST_OK;
}

/* ---- predictions ---- */

static double micro_batches(const pairing *pairs, size_t row)
{
    return value_of(pairs, pairs->where[GLOBAL], row) /
           (value_of(pairs, pairs->where[MICRO], row) * value_of(pairs, pairs->where[DP], row));
}

/* What the layers of a row take, by the sheet. */
static double layers_of(const pairing *pairs, size_t row)
{
    double *const *cells = pairs->measured->more_values;
    return cells[SITE][row] * (cells[STEADY][row] + cells[BUBBLE][row]);
}

/* NaN if the row's step is not longer than its parts other than layers. */
static double predict(const pairing *pairs, size_t from, size_t to)
{
    const st_row *rows = pairs->measured->rows;
    double rest = rows[from].estimate - layers_of(pairs, from);
    double slower = (rows[from].measured - rest) / layers_of(pairs, from);
    if (!(slower > 0))
        return (double)NAN;
    return rows[to].estimate + (slower - 1) * layers_of(pairs, to);
}

static st_status add_pair(pairing *matched, size_t one, size_t other)
{
    const st_row *rows = matched->measured->rows;
    st_pairs *pairs = matched->pairs;
    unsigned edits =
        micro_batches(matched, one) != micro_batches(matched, other) ? ST_EDIT_MICROS : 0;
    for (unsigned i = DP; i <= LAYERS; i++)
        if (value_of(matched, matched->where[i], one) !=
            value_of(matched, matched->where[i], other))
            edits |= 1U << i;
    double there = predict(matched, one, other);
    double back = predict(matched, other, one);
    if (edits == 0)
        return ST_OK; /* measured twice */
    if (isnan(there) || isnan(back)) {
        pairs->slower++;
        return ST_OK;
    }
    if (pairs->count + 2 > 2 * (size_t)ST_PAIRS_MAX)
        return st_fail(matched->errors, ST_ERR_LIMIT, (st_place){.file = matched->measured->file},
                       "too many pairs of rows" ST_EXPECTED
                       "at most 1000000; select fewer with --rows");
    const st_pair both[] = {{edits, one, other, there, there / rows[other].measured - 1},
                            {edits, other, one, back, back / rows[one].measured - 1}};
    for (size_t i = 0; i < ST_COUNT(both); i++)
        (void)ST_APPEND(matched->arena, pairs->items, pairs->count, both[i]);
    return st_arena_failed(matched->arena) ? ST_ERR_MEMORY : ST_OK;
}

/* ---- by kind ---- */

static unsigned edit_count(unsigned edits)
{
    return (edits & 1U) + (edits >> 1 & 1U) + (edits >> 2 & 1U) + (edits >> 3 & 1U);
}

/* Single edits first. */
ST_COMPARE(compare_pairs, st_pair,
           ST_THEN(ST_ORDER(edit_count(a->edits), edit_count(b->edits))) ST_RISING(edits)
               ST_RISING(from) ST_RISING(to));

st_status st_pairs_of(st_measured *measured, st_arena *arena, st_pairs *pairs, st_errors *errors)
{
    pairing matched = {.measured = measured, .pairs = pairs, .arena = arena, .errors = errors};
    *pairs = (st_pairs){.measured = measured};
    st_status status = ST_ERR_NAME;
    st_measured *input_measured = matched.measured;
    const st_sheet_input *inputs = st_sheet_inputs(input_measured->sheet, &(size_t){0});
    const char **cells = st_arena_alloc(matched.arena, CELLS, sizeof *cells);
    for (size_t i = 0; i < KEYS; i++)
        matched.where[i] = st_sheet_reading_index(input_measured->sheet, keys[i]);
    if (!st_pairs_known(input_measured)) {
        (void)st_fail(matched.errors, ST_ERR_NAME, (st_place){.file = input_measured->file},
                      "cell %s of sheet %s does not separate the time of layers" ST_EXPECTED
                      "the step time of a sheet that fills site_factor and of step_terms steady "
                      "and bubble, as megatron",
                      input_measured->cell, st_sheet_name(input_measured->sheet));
    } else {
        matched.free_input =
            st_arena_alloc(matched.arena, input_measured->input_count, sizeof *matched.free_input);
        if (matched.free_input == NULL || cells == NULL) {
            status = ST_ERR_MEMORY;
        } else {
            input_measured->more = cells;
            input_measured->more_count = CELLS;
            for (size_t i = 0; i < input_measured->input_count; i++) {
                /* What follows from the sizes that an edit changes does not count as a difference.
                 */
                const char *key = inputs[i].from;
                static const char *const others[] = {ST_KEY_CLUSTER_NODES,
                                                     ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
                                                     ST_KEY_PARALLEL_LAST_STAGE_LAYERS};
                matched.free_input[i] =
                    st_has_text(keys, MICRO, key) || st_has_text(others, ST_COUNT(others), key);
            }
            status = st_sheet_need_roles(input_measured->sheet, &wanted, cells, matched.errors);
        }
    }
    if (status == ST_OK)
        status = st_measured_run(measured, arena, errors);
    if (status == ST_OK)
        status = sort_rows(&matched);
    if (status == ST_OK) {
        st_status pair_status = ST_OK;
        for (size_t i = 0; i < matched.row_count; i++) {
            for (size_t k = i + 1;
                 k < matched.row_count && pair_status == ST_OK &&
                 matched.hashes[matched.order[k]] == matched.hashes[matched.order[i]];
                 k++)
                if (same_rest(&matched, matched.order[i], matched.order[k]))
                    pair_status = add_pair(&matched, matched.order[i], matched.order[k]);
        }
        status = pair_status;
    }
    if (status != ST_OK)
        return status;
    st_pairs *up_pairs = matched.pairs;
    double *up_errors = st_arena_alloc(matched.arena, up_pairs->count + 1, sizeof *up_errors);
    if (up_errors == NULL)
        return ST_ERR_MEMORY;
    st_sort(up_pairs->items, up_pairs->count, sizeof *up_pairs->items, compare_pairs);
    for (size_t first = 0, last = 0; first < up_pairs->count; first = last) {
        st_pair_kind *kind = &up_pairs->kinds[up_pairs->kind_count++];
        kind->edits = up_pairs->items[first].edits;
        for (last = first; last < up_pairs->count && up_pairs->items[last].edits == kind->edits;
             last++)
            up_errors[last - first] = up_pairs->items[last].error;
        kind->pairs = (last - first) / 2;
        kind->errors = st_summarize_errors(up_errors, last - first);
        for (size_t i = first; i < last; i++)
            up_errors[i - first] = matched.measured->rows[up_pairs->items[i].to].error;
        kind->alone = st_summarize_errors(up_errors, last - first);
    }
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of what a model leaves over; see nccl_rest.h. */
#include "nccl-whitebox/fit/nccl_rest.h"

#include "base/number.h"
#include "fit/steps/stats.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The process: one choice for all tables, by the median errors at left-out sizes over the published
 * ones; 1.5 to 3 octaves, a noise of 0.03 to 0.1 and a cut of 4 to 6 differ by less than one
 * percentage point (docs/decisions/0023-nccl-correction.md).
 */
static const double length_octaves = 2;
static const double noise_share = 0.05;  /* variance of a row's own noise over that of the curve */
static const double cauchy_cut = 4;      /* in robust standard deviations */
static const double least_spread = 0.01; /* of rows that agree better than clocks do */

enum {
    ROUNDS = 6,          /* of reweighting */
    BINS_PER_OCTAVE = 4, /* rows that lie closer together count as one */
    MOST_BINS = 256,
    FADING = 8, /* octaves beyond the rows: four lengths, where a twentieth is left */
    MOST_OCTAVE = 50
};

/* The rows of one group, those of about the same size together. */
typedef struct curve {
    size_t count;
    double octaves[MOST_BINS]; /* mean logarithm of the size */
    double rests[MOST_BINS];
    double rows[MOST_BINS]; /* how many */
    double weights[MOST_BINS];
} curve;

/* Matern with exponent 3/2, as Rasmussen and Williams 4.17. */
static double likeness(double octaves)
{
    double away = fabs(octaves) / length_octaves;
    return (1 + away) * exp(-away);
}

/* ---- rows ---- */

ST_COMPARE(compare, st_nccl_rest, ST_RISING(ranks) ST_RISING(nodes) ST_RISING(size_bytes));

static long bin_of(double size_bytes)
{
    return lround(BINS_PER_OCTAVE * log2(size_bytes));
}

/* ---- the process ---- */

/* Fills `duals`: the curve is the sum over rows of these times the likeness to the row. */
static int solve(curve *factors, gsl_matrix *matrix, gsl_vector *duals)
{
    gsl_vector_view rests = gsl_vector_view_array(factors->rests, factors->count);
    int status = GSL_SUCCESS;
    for (int round = 0; round < ROUNDS && status == GSL_SUCCESS; round++) {
        if (round > 0) {
            /* How far each row is from what the others say (5.12), and from that its weight. */
            double away[MOST_BINS] = {0};
            double sorted[MOST_BINS];
            for (size_t i = 0; i < factors->count; i++) {
                away[i] = gsl_vector_get(duals, i) / gsl_matrix_get(matrix, i, i);
                sorted[i] = fabs(away[i]);
            }
            /* 1.48: from the median to the standard deviation of a normal distribution */
            double spread = fmax(1.48 * st_median(sorted, factors->count), least_spread);
            for (size_t i = 0; i < factors->count; i++) {
                double z = away[i] / (cauchy_cut * spread);
                factors->weights[i] = 1 / (1 + z * z);
            }
        }
        /* Inverse of the covariance of the rows. */
        for (size_t i = 0; i < factors->count; i++)
            for (size_t k = 0; k < factors->count; k++) {
                double noise = i == k ? noise_share / (factors->rows[i] * factors->weights[i]) : 0;
                gsl_matrix_set(matrix, i, k,
                               likeness(factors->octaves[i] - factors->octaves[k]) + noise);
            }
        int invert_status = gsl_linalg_cholesky_decomp1(matrix);
        status = invert_status == GSL_SUCCESS ? gsl_linalg_cholesky_invert(matrix) : invert_status;
        if (status == GSL_SUCCESS)
            status = gsl_blas_dsymv(CblasLower, 1, matrix, &rests.vector, 0, duals);
    }
    return status;
}

static double curve_at(const curve *factors, const gsl_vector *duals, double octave)
{
    double rest = 0;
    for (size_t i = 0; i < factors->count; i++)
        rest += gsl_vector_get(duals, i) * likeness(octave - factors->octaves[i]);
    return rest;
}

/* ---- text ---- */

const char *st_nccl_rest_text(st_nccl_rest *rows, size_t count, st_arena *arena)
{
    st_buffer buffer = {0};
    curve *factors = malloc(sizeof *factors);
    bool done = factors != NULL;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    qsort(rows, count, sizeof *rows, compare);
    for (size_t i = 0; i < count && done;) {
        const st_nccl_rest *length_rows = rows + i;
        const size_t length_count = count - i;
        size_t length = 1;
        while (length < length_count && length_rows[length].ranks == length_rows[0].ranks &&
               length_rows[length].nodes == length_rows[0].nodes)
            length++;
        const st_nccl_rest *curve_rows = rows + i;
        /* Rows are in the order of their sizes. */
        factors->count = 0;
        for (size_t j = 0; j < length;) {
            long bin = bin_of(curve_rows[j].size_bytes);
            double octaves = 0;
            double rests = 0;
            size_t first = j;
            for (; j < length && bin_of(curve_rows[j].size_bytes) == bin; j++) {
                octaves += log2(curve_rows[j].size_bytes);
                rests += curve_rows[j].log_ratio;
            }
            if (factors->count == MOST_BINS)
                break;
            factors->rows[factors->count] = (double)(j - first);
            factors->octaves[factors->count] = octaves / factors->rows[factors->count];
            factors->rests[factors->count] = rests / factors->rows[factors->count];
            factors->weights[factors->count++] = 1;
        }
        gsl_matrix *matrix = gsl_matrix_alloc(factors->count, factors->count);
        gsl_vector *duals = gsl_vector_alloc(factors->count);
        bool curve_done =
            matrix != NULL && duals != NULL && solve(factors, matrix, duals) == GSL_SUCCESS;
        if (curve_done) {
            int first = (int)fmax(0, floor(factors->octaves[0]) - FADING);
            int last = (int)fmin(MOST_OCTAVE, ceil(factors->octaves[factors->count - 1]) + FADING);
            st_buffer_printf(&buffer, "%s%zu/%zu%s", buffer.length > 0 ? "; " : "",
                             curve_rows->ranks, curve_rows->nodes,
                             curve_rows->mark != NULL ? curve_rows->mark : "");
            for (int octave = first; octave <= last; octave++) {
                char size[32];
                char factor[32];
                st_number_significant(ldexp(1, octave), 17, size, sizeof size);
                /* One at both ends, from where on the plugin has no rest to follow. */
                bool is_end = (octave == first && first > 0) || octave == last;
                double rest = is_end ? 0 : curve_at(factors, duals, octave);
                st_number_print('f', 4, exp(fmin(fmax(rest, -5), 5)), factor, sizeof factor);
                st_buffer_printf(&buffer, " %s=%s", size, factor);
            }
        }
        if (duals != NULL)
            gsl_vector_free(duals);
        if (matrix != NULL)
            gsl_matrix_free(matrix);
        done = curve_done;
        i += length;
    }
    gsl_set_error_handler(handler);
    const char *text = !done || buffer.failed ? NULL
                       : buffer.length > 0    ? st_arena_copy(arena, buffer.data, buffer.length)
                                              : "";
    st_buffer_free(&buffer);
    free(factors);
    return text;
}

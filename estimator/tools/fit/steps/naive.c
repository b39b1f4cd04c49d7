/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates by other rows alone, which a fit must beat; see calibrate.h. */
#include "fit/steps/calibrate.h"

#include <math.h>
#include <string.h>

static const char *field_of(const st_calibration *calibration, size_t row, const char *column)
{
    const st_used_row *used = &calibration->rows[row];
    return st_measured_field(&calibration->sets[used->set], used->row, column);
}

enum { NAME_BYTES = 64 };

/* "experts?" asks only whether the field is blank. */
static bool agree(const st_calibration *calibration, size_t row, size_t other, const char *column)
{
    char name[NAME_BYTES];
    size_t length = strlen(column);
    bool blank_only = length > 0 && column[length - 1] == '?';
    length -= blank_only ? 1 : 0;
    if (length >= NAME_BYTES)
        return false;
    memcpy(name, column, length);
    name[length] = '\0';
    const char *first = field_of(calibration, row, name);
    const char *second = field_of(calibration, other, name);
    return blank_only ? (first[0] == '\0') == (second[0] == '\0') : strcmp(first, second) == 0;
}

static bool is_known(const double *mfu, const bool *seen, size_t row)
{
    return seen[row] && isfinite(mfu[row]);
}

double st_naive_mfu(const st_calibration *calibration, st_naive naive, size_t row,
                    const double *mfu, const bool *seen, double *scratch)
{
    if (calibration->alike[naive].count == 0)
        return (double)NAN;
    if (naive != ST_NAIVE_MFU) {
        /* The row that agrees in the last column, among those in the one before, and so on; the
         * first of several. */
        const st_alike *mfu_alike = &calibration->alike[ST_NAIVE_NEAREST];
        double best_score = -1.0;
        double best = (double)NAN;
        for (size_t other = 0; other < calibration->row_count; other++) {
            double score = 0.0;
            if (!is_known(mfu, seen, other))
                continue;
            for (size_t i = mfu_alike->count; i-- > 0;)
                score = 2.0 * score +
                        (agree(calibration, row, other, mfu_alike->columns[i]) ? 1.0 : 0.0);
            if (score > best_score) {
                best_score = score;
                best = mfu[other];
            }
        }
        return best;
    }
    /* The median of the rows that agree in most columns, the last ones first. */
    const st_alike *alike = &calibration->alike[ST_NAIVE_MFU];
    for (size_t given_up = 0; given_up <= alike->count; given_up++) {
        size_t count = 0;
        for (size_t other = 0; other < calibration->row_count; other++) {
            bool same = is_known(mfu, seen, other);
            for (size_t i = given_up; same && i < alike->count; i++)
                same = agree(calibration, row, other, alike->columns[i]);
            if (same)
                scratch[count++] = mfu[other];
        }
        if (count > 0)
            return st_median(scratch, count);
    }
    return (double)NAN;
}

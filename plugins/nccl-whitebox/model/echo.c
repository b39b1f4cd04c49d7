/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Echo (Feng et al.), section 6, equations 2 to 5. The printed equations mix up symbols; this is
 * the reading in which every term is a time: eta counts rounds, gamma is a time.
 */
#include "echo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 6

/* So many numbers and nothing else on the line. */
static const char *read_numbers(const char *at, const char *end, double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* One number of at most 31 characters that ends at a comma or at the line's end. */
        static const char allowed[] = "0123456789.eE+-";
        const char *begin = at;
        double value = 0.0;
        double unit = 1.0;
        bool digits = false;
        bool fraction = false;
        for (; at < end && *at != ',' && *at != '\r'; at++) {
            if (*at == '.' && !fraction) {
                fraction = true;
            } else if (memchr(allowed, *at, 10)) {
                digits = true;
                value = value * 10.0 + (*at - '0');
                unit *= fraction ? 10.0 : 1.0;
            } else {
                return "a column is not a number of at most 20 digits";
            }
        }
        numbers[i] = value / unit;
        if (!digits || at - begin > 20)
            return "a column is not a number of at most 20 digits";
        if (i + 1 < count) {
            if (at >= end || *at != ',') {
                return "columns are missing";
            }
            at++;
        }
    }
    if (at < end && *at == '\r')
        at++;
    return at == end ? NULL : "unexpected columns";
}

static const char *read_row(const char *at, const char *end, st_echo_row *row)
{
    double numbers[COLUMNS];
    const char *reason = read_numbers(at, end, numbers, COLUMNS);
    if (reason)
        return reason;
    *row = (st_echo_row){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    bool sound = row->size_bytes > 0.0 && row->chunk_bytes > 0.0 && row->beta_us > 0.0 &&
                 row->gamma_us > 0.0;
    return sound ? NULL : "size, chunk and both transmission times must be above 0";
}

/* "ranks,per_node" of the measured group is the first row. */
static const char *read_group(const char *at, const char *end, st_echo_table *table)
{
    double numbers[2];
    const char *reason = read_numbers(at, end, numbers, 2);
    if (reason || !(numbers[1] >= 1.0 && numbers[0] >= numbers[1]) ||
        numbers[1] != floor(numbers[1]) || fmod(numbers[0], numbers[1]) != 0)
        return "expected ranks and ranks of a machine, which divide them";
    table->ranks = numbers[0];
    table->per_node = numbers[1];
    return NULL;
}

static const char *add_row(const char *at, const char *end, st_echo_table *table)
{
    if (table->count == ST_ECHO_ROWS)
        return "more than 64 rows";
    st_echo_row *row = &table->rows[table->count];
    const char *reason = read_row(at, end, row);
    if (!reason && table->count > 0 &&
        (row->size_bytes <= row[-1].size_bytes || row->chunk_bytes < row[-1].chunk_bytes))
        reason = "sizes must rise and chunks must not fall";
    table->count++;
    return reason;
}

const char *st_echo_parse(const char *text, size_t length, st_echo_table *table, size_t *line)
{
    const char *at = text;
    const char *stop = text + length;
    const char *reason = NULL;
    memset(table, 0, sizeof(*table));
    for (*line = 0; at < stop && !reason; (*line)++) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        const char *next = end ? end + 1 : stop;
        end = end ? end : stop;
        if (at < end && *at != '#' && *at != '\r') {
            reason = table->ranks > 0.0 ? add_row(at, end, table) : read_group(at, end, table);
        }
        at = next;
    }
    return reason || table->count > 0 ? reason : "the table has no rows";
}

/* Means of the rows from `first` that have the same chunk; returns the first row behind them. */
static size_t mean_of(const st_echo_table *table, size_t first, st_echo_symbols *mean)
{
    double count = 0.0;
    size_t i = first;
    *mean = (st_echo_symbols){0};
    for (; i < table->count && table->rows[i].chunk_bytes == table->rows[first].chunk_bytes; i++) {
        const st_echo_row *row = &table->rows[i];
        mean->alpha_us += row->alpha_us;
        mean->beta_us += row->beta_us;
        mean->gamma_us += row->gamma_us;
        mean->delta_us_per_byte += row->reduce_us / row->size_bytes;
        count += 1.0;
    }
    mean->alpha_us /= count;
    mean->beta_us /= count;
    mean->gamma_us /= count;
    mean->delta_us_per_byte /= count;
    return i;
}

static double between(double low, double high, double share)
{
    return low > 0.0 && high > 0.0 ? exp(log(low) + share * (log(high) - log(low)))
                                   : low + share * (high - low);
}

st_echo_symbols st_echo_look_up(const st_echo_table *table, double chunk_bytes)
{
    st_echo_symbols low;
    st_echo_symbols high;
    size_t at = 0;
    size_t next = mean_of(table, at, &low);
    while (next < table->count && table->rows[next].chunk_bytes <= chunk_bytes) {
        at = next;
        next = mean_of(table, at, &low);
    }
    double from = table->rows[at].chunk_bytes;
    if (next >= table->count || chunk_bytes <= from)
        return low;
    mean_of(table, next, &high);
    double share = log(chunk_bytes / from) / log(table->rows[next].chunk_bytes / from);
    return (st_echo_symbols){
        .alpha_us = between(low.alpha_us, high.alpha_us, share),
        .beta_us = between(low.beta_us, high.beta_us, share),
        .gamma_us = between(low.gamma_us, high.gamma_us, share),
        .delta_us_per_byte = between(low.delta_us_per_byte, high.delta_us_per_byte, share),
    };
}

static void sum_up(st_nccl_answer *answer)
{
    answer->total_us =
        answer->setup_us + answer->intra_us + answer->inter_us + answer->reduction_us;
}

st_nccl_answer st_echo_ring(const st_nccl_group *group, int collective, double bytes,
                            const st_echo_symbols *symbols)
{
    bool across = group->nodes > 1.0;
    /* The paper's gamma is a time between machines; a ring inside of one has beta. */
    double step = across ? symbols->gamma_us : symbols->beta_us;
    double hops = group->ranks - 1.0;
    double steps = 0.0;
    st_nccl_answer answer = {.setup_us = symbols->alpha_us};
    switch (collective) {
    case ST_NCCL_ALL_GATHER:
        steps = symbols->eta * hops;
        break;
    case ST_NCCL_REDUCE_SCATTER:
        steps = hops + symbols->eta * hops;
        break;
    case ST_NCCL_ALL_REDUCE:
        steps = hops + 2.0 * symbols->eta * hops;
        break;
    default:
        answer.total_us = (double)NAN; /* Echo prints no equation */
        return answer;
    }
    answer.intra_us = across ? 0.0 : step * steps;
    answer.inter_us = across ? step * steps : 0.0;
    if (collective != ST_NCCL_ALL_GATHER)
        answer.reduction_us = symbols->delta_us_per_byte * bytes;
    sum_up(&answer);
    return answer;
}

st_nccl_answer st_echo_tree(const st_nccl_group *group, double bytes,
                            const st_echo_symbols *symbols)
{
    st_nccl_answer answer = {
        .setup_us = symbols->alpha_us,
        .intra_us = 2.0 * symbols->beta_us * (group->per_node - 1.0),
        .inter_us = symbols->gamma_us * (symbols->eta - 1.0 + 2.0 * log2(group->nodes)),
        .reduction_us = symbols->delta_us_per_byte * bytes,
    };
    sum_up(&answer);
    return answer;
}

st_nccl_answer st_echo_operation(const st_echo_table *table, double bytes)
{
    size_t next = 0;
    while (next < table->count && table->rows[next].size_bytes < bytes)
        next++;
    const st_echo_row *low = &table->rows[next > 0 ? next - 1 : 0];
    const st_echo_row *high = &table->rows[next < table->count ? next : table->count - 1];
    double share =
        high > low ? log(bytes / low->size_bytes) / log(high->size_bytes / low->size_bytes) : 0.0;
    st_nccl_answer answer = {
        .setup_us = between(low->alpha_us, high->alpha_us, share),
        .intra_us = between(low->beta_us, high->beta_us, share),
        .inter_us = between(low->gamma_us, high->gamma_us, share),
        .reduction_us = between(low->reduce_us, high->reduce_us, share),
    };
    sum_up(&answer);
    return answer;
}

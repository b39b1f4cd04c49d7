/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table checked against itself: ranks, size, time, algbw and busbw over-determine a row. busbw
 * over algbw is a function of the collective and its ranks (nccl-tests, doc/PERFORMANCE.md), algbw
 * is size over time, and no link carries more than some rate. What the list of devices says of
 * ranks and nodes holds where the rows agree.
 */
#include "nccl-whitebox/fit/nccl_build.h"

#include "base/lists.h"
#include "base/number.h"
#include "nccl-whitebox/fit/nccl_rates.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

/* busbw / algbw is `scale` times (n - 1) / n; 0: it is 1 for any number of ranks. */
static const struct {
    const char *collective;
    double scale;
} factors[] = {{"all_reduce", 2}, {"all_gather", 1}, {"reduce_scatter", 1},
               {"all_to_all", 1}, {"gather", 1},     {"scatter", 1},
               {"broadcast", 0},  {"reduce", 0},     {"send_recv", 0}};

/* Half a digit is what rounding takes; a whole one, where digits were cut off. */
#define DIGITS       2.0
#define BEYOND_LINKS 5e12 /* byte/s of algbw: several times the links of any GPU */

static double scale_of(const char *collective)
{
    size_t i = 0;
    while (i + 1 < ST_COUNT(factors) && strcmp(factors[i].collective, collective) != 0)
        i++;
    return factors[i].scale;
}

double st_nccl_bus_factor(const char *collective, double ranks)
{
    double scale = scale_of(collective);
    return scale > 0 ? scale * (ranks - 1) / ranks : 1;
}

/* A range that a value lies in, and the row that makes it narrow. */
typedef struct range {
    double low;
    double high;
    int line;
} range;

static const range any_value = {.low = -(double)INFINITY, .high = (double)INFINITY};

static bool holds(const range *of, double value)
{
    return value >= of->low && value <= of->high;
}

/* busbw / algbw of one half of a row; false where its digits say nothing. */
static bool ratio_of(const st_nccl_row *row, int buffers, range *ratio)
{
    double algorithm = row->bandwidth[buffers];
    double slack = DIGITS * row->slack[buffers] + 1e-6 * algorithm;
    double bus_slack = DIGITS * row->bus_slack[buffers] + 1e-6 * row->bus[buffers];
    if (!(row->bus_slack[buffers] > 0) || !(algorithm > slack) || !isfinite(row->bus[buffers]) ||
        !isfinite(bus_slack))
        return false;
    *ratio = (range){.low = (row->bus[buffers] - bus_slack) / (algorithm + slack),
                     .high = (row->bus[buffers] + bus_slack) / (algorithm - slack),
                     .line = row->line};
    return true;
}

/* algbw * time / size of one half of a row: 1, where algbw is what it says. */
static bool share_of(const st_nccl_row *row, int buffers, range *share)
{
    double algorithm = row->bandwidth[buffers];
    double slack = DIGITS * row->slack[buffers] + 1e-3 * algorithm;
    double unit = row->time_s[buffers] / row->size_bytes;
    if (!(algorithm > slack) || !isfinite(unit) || !isfinite(slack))
        return false;
    *share = (range){(algorithm - slack) * unit, (algorithm + slack) * unit, row->line};
    return true;
}

typedef bool of_row(const st_nccl_row *row, int buffers, range *value);

/* What all rows have in common: low > high where they do not agree. */
static range common(const st_nccl_table *table, of_row *of, size_t *count)
{
    range all = any_value;
    *count = 0;
    for (size_t i = 0; i < table->row_count; i++)
        for (int buffers = 0; buffers < 2; buffers++) {
            range one;
            if (!of(&table->rows[i], buffers, &one))
                continue;
            ++*count;
            if (one.high - one.low < all.high - all.low || all.line == 0)
                all.line = one.line;
            all.low = fmax(all.low, one.low);
            all.high = fmin(all.high, one.high);
        }
    return all;
}

/* The ranks that a ratio means, from low to high; false: none. */
static bool ranks_of(double scale, const range *ratio, range *ranks)
{
    if (scale <= 0)
        return false;
    double most = ratio->high / scale;
    *ranks = (range){.low = fmax(1, ceil(1 / (1 - fmax(ratio->low, 0) / scale) - 1e-9)),
                     .high = most < 1 ? floor(1 / (1 - most) + 1e-9) : ST_NCCL_MAX_RANKS,
                     .line = ratio->line};
    return ratio->low < scale && ranks->low <= ranks->high;
}

static const char *number(double value, char *text)
{
    return st_number_significant(value, 4, text, ST_QUANTITY_TEXT);
}

/* "16 ranks", "15 to 17 ranks" */
static const char *ranks_text(st_nccl_reader *reader, const range *ranks)
{
    const char *text =
        ranks->low == ranks->high
            ? st_arena_printf(reader->arena, "%.0f rank%s", ranks->low, ranks->low == 1 ? "" : "s")
        : ranks->high == ST_NCCL_MAX_RANKS
            ? st_arena_printf(reader->arena, "at least %.0f ranks", ranks->low)
            : st_arena_printf(reader->arena, "%.0f to %.0f ranks", ranks->low, ranks->high);
    return text != NULL ? text : "ranks";
}

/* ---- size, time and algbw ---- */

/* What algbw * time / size is where a column is of another unit or of another definition. */
static const struct {
    double share;
    const char *means;
} slips[] = {
    {1e-3, "times in ms, not us"},
    {1e-6, "times in s, not us"},
    {1e3, "times in ns, not us, or bandwidths in MB/s"},
    {0.931323, "bandwidths in GiB/s, not GB/s"},
    {8, "bandwidths in Gbit/s, or sizes in elements of 8 bytes"},
    {4, "sizes in elements of 4 bytes"},
    {2, "sizes in elements of 2 bytes"},
    {1024, "sizes in KiB, not bytes"},
    {1048576, "sizes in MiB, not bytes"},
    {1e6, "sizes in MB, not bytes"},
};

/*
 * Until June 2020 nccl-tests divided what a rank receives from others, size (n - 1) / n, by the
 * time, and had no other busbw (src/all_gather.cu and src/reduce_scatter.cu before commit ec1b5e2).
 */
static bool is_old_definition(const st_nccl_table *table, const range *share, range *ranks)
{
    size_t count = 0;
    bool has_old = strcmp(table->collective, "all_gather") == 0 ||
                   strcmp(table->collective, "reduce_scatter") == 0;
    range ratio = common(table, ratio_of, &count);
    return has_old && count > 0 && holds(&ratio, 1) && ranks_of(1, share, ranks) &&
           ranks->low > 1 &&
           (table->ranks == 0 ? ranks->low == ranks->high : holds(ranks, (double)table->ranks));
}

static void refuse_share(st_nccl_reader *reader, const st_nccl_table *table, const range *share)
{
    char text[ST_QUANTITY_TEXT];
    const char *means = "another size, time or bandwidth than the columns name";
    double middle = 0.5 * (share->low + share->high);
    for (size_t i = 0; i < ST_COUNT(slips); i++)
        if (slips[i].share >= 0.999 * share->low && slips[i].share <= 1.001 * share->high)
            means = slips[i].means;
    const char *also = table->ranks > 1 && fabs(middle / (double)table->ranks - 1) <= 0.02
                           ? ", or sizes of one rank"
                           : "";
    st_nccl_refuse(reader, ST_ERR_VALUE, share->line,
                   "algbw is not size / time" ST_FOUND "%s times that in the rows: %s%s" ST_EXPECTED
                   "bytes, us and GB/s",
                   number(middle, text), means, also);
}

/* Rows whose algbw does not follow from size and time: one by one they are broken, together they
 * are of another unit or definition. */
static void check_shares(st_nccl_reader *reader, st_nccl_table *table)
{
    size_t broken = 0;
    size_t count = 0;
    range share = any_value;
    range ranks;
    for (size_t i = 0; i < table->row_count; i++)
        broken += st_nccl_is_plausible(&table->rows[i]) ? 0 : 1;
    share = common(table, share_of, &count);
    bool is_old = is_old_definition(table, &share, &ranks);
    if (!is_old && broken * 2 > table->row_count && count > 0 && share.low <= share.high) {
        refuse_share(reader, table, &share);
        return;
    }
    if (is_old) {
        table->ranks = table->ranks > 0 ? table->ranks : (size_t)ranks.low;
        st_nccl_warn(reader, table->line,
                     "algbw is size (n - 1) / n / time, as nccl-tests had it until 2020, on %zu "
                     "ranks: times are used",
                     table->ranks);
        for (size_t i = 0; i < table->row_count; i++)
            for (int buffers = 0; buffers < 2; buffers++) {
                st_nccl_row *row = &table->rows[i];
                row->bandwidth[buffers] = row->size_bytes / row->time_s[buffers];
                row->bus_slack[buffers] = 0;
            }
    }
    size_t kept = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        if (st_nccl_is_plausible(&table->rows[i]))
            table->rows[kept++] = table->rows[i];
        else
            st_nccl_break(reader, table, table->rows[i].line);
    }
    table->row_count = kept;
}

/* ---- busbw and ranks ---- */

/* The collective whose ratio the rows have on so many ranks; NULL: none. */
static const char *other_collective(const range *ratio, double ranks)
{
    for (size_t i = 0; i < ST_COUNT(factors); i++)
        if (holds(ratio, st_nccl_bus_factor(factors[i].collective, ranks)))
            return factors[i].collective;
    return NULL;
}

/* The rows contradict the number of ranks, or the collective. */
static void refuse_ratio(st_nccl_reader *reader, const st_nccl_table *table, const range *ratio)
{
    char found[ST_QUANTITY_TEXT];
    char expected[ST_QUANTITY_TEXT];
    range ranks;
    double now = (double)table->ranks;
    bool means = ranks_of(scale_of(table->collective), ratio, &ranks);
    const char *other = other_collective(ratio, now);
    const char *what =
        means           ? st_arena_printf(reader->arena, "that of %s", ranks_text(reader, &ranks))
        : other != NULL ? st_arena_printf(reader->arena, "that of %s", other)
                        : "that of no number of ranks";
    const char *hint = means && ranks.low == 1
                           ? "nccl-tests built without MPI measures one rank; build it with MPI=1"
                       : means ? "give the ranks and nodes of these rows with --ranks and --nodes"
                               : "give --collective";
    (void)number(0.5 * (ratio->low + ratio->high), found);
    (void)number(st_nccl_bus_factor(table->collective, now), expected);
    st_nccl_refuse(
        reader, ST_ERR_VALUE, ratio->line,
        "busbw / algbw contradicts %zu ranks of %s" ST_FOUND "%s, %s" ST_EXPECTED "%s" ST_HINT "%s",
        table->ranks, table->collective, found, what != NULL ? what : "", expected, hint);
}

/* Rows of which most agree on another number of ranks than the table has. */
static bool contradicts(st_nccl_reader *reader, st_nccl_table *table)
{
    size_t agree = 0;
    size_t against = 0;
    size_t kept = 0;
    double factor = st_nccl_bus_factor(table->collective, (double)table->ranks);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < table->row_count; i++) {
            bool fits = true;
            for (int buffers = 0; buffers < 2; buffers++) {
                range ratio;
                bool says = ratio_of(&table->rows[i], buffers, &ratio);
                fits = fits && (!says || holds(&ratio, factor));
                agree += pass == 0 && says && holds(&ratio, factor) ? 1 : 0;
                against += pass == 0 && says && !holds(&ratio, factor) ? 1 : 0;
            }
            if (pass == 1 && fits)
                table->rows[kept++] = table->rows[i];
            else if (pass == 1)
                st_nccl_break(reader, table, table->rows[i].line);
        }
        if (against == 0 || against >= agree)
            return against > 0;
    }
    table->row_count = kept; /* digits of other rows in some */
    return false;
}

/* ---- the list of devices ---- */

/* How many ranks and nodes there are where the list names some of them only, or too many. */
static void complete_list(st_nccl_reader *reader, st_nccl_table *table, const range *ranks,
                          const range *ratio)
{
    const st_nccl_list *list = &table->list;
    const st_nccl_request *request = reader->request;
    char text[ST_QUANTITY_TEXT];
    size_t all = ranks->low == ranks->high ? (size_t)ranks->low : 0;
    const char *means =
        ratio->line > 0 ? st_arena_printf(reader->arena, "; busbw / algbw = %s in line %d means %s",
                                          number(0.5 * (ratio->low + ratio->high), text),
                                          ratio->line, ranks_text(reader, ranks))
                        : "";
    means = means != NULL ? means : "";
    /* One host of the list is whole, so the others have as many. */
    size_t whole = list->ends_at + 1 == all || list->is_followed ? list->per_host : 0;
    size_t nodes = request->nodes > 0                         ? request->nodes
                   : whole > 0 && all > 0 && all % whole == 0 ? all / whole
                                                              : 0;
    if (all > list->count && nodes > 0) {
        st_nccl_warn(reader, table->line,
                     "the list of devices is incomplete: %zu ranks%s; assuming %zu ranks on %zu "
                     "nodes of %zu; override with --ranks and --nodes",
                     list->count, means, all, nodes, all / nodes);
        table->ranks = all;
        table->nodes = nodes;
        return;
    }
    st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                   "the list of devices %s" ST_FOUND "%zu of ranks %zu to %zu%s" ST_HINT
                   "give --ranks and --nodes",
                   ranks->high < (double)list->count ? "names more ranks than the rows have"
                                                     : "is broken or incomplete",
                   list->count, list->first, list->last, means);
}

/* Ranks and nodes of the list, where the request leaves them to it. */
static void check_list(st_nccl_reader *reader, st_nccl_table *table)
{
    const st_nccl_list *list = &table->list;
    const st_nccl_request *request = reader->request;
    size_t count = 0;
    range ratio = common(table, ratio_of, &count);
    range ranks = {.low = 1, .high = ST_NCCL_MAX_RANKS};
    if (list->count == 0 || (request->ranks > 0 && request->nodes > 0))
        return;
    bool means = count > 0 && ratio.low <= ratio.high &&
                 ranks_of(scale_of(table->collective), &ratio, &ranks);
    if (!means)
        ratio.line = 0;
    bool whole = list->first == 0 && list->last + 1 == list->count;
    if (request->ranks == 0 &&
        (!whole || (means && !holds(&ranks, (double)list->count) && ranks.low > 1))) {
        complete_list(reader, table, &ranks, &ratio);
    } else if (list->uneven != NULL && request->nodes == 0) {
        st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                       "nodes have different numbers of ranks" ST_FOUND "%s", list->uneven);
    }
}

void st_nccl_check_table(st_nccl_reader *reader, st_nccl_table *table)
{
    check_shares(reader, table);
    if (reader->status == ST_OK)
        check_list(reader, table);
    if (reader->status != ST_OK)
        return;
    size_t count = 0;
    range ratio = common(table, ratio_of, &count);
    range ranks;
    bool agrees = count > 0 && ratio.low <= ratio.high;
    if (table->ranks == 0 && agrees && ranks_of(scale_of(table->collective), &ratio, &ranks) &&
        ranks.low == ranks.high) {
        table->ranks = (size_t)ranks.low;
        st_nccl_warn(reader, ratio.line,
                     "assuming %zu ranks from busbw / algbw; override with "
                     "--ranks",
                     table->ranks);
    }
    if (table->ranks > 0 && contradicts(reader, table)) {
        if (agrees)
            refuse_ratio(reader, table, &ratio);
        else
            st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                           "the rows contradict each other: busbw / algbw differs between them, "
                           "and is not that of %zu ranks of %s" ST_HINT
                           "give tables of one number of ranks",
                           table->ranks, table->collective);
    }
    if (table->ranks > 1)
        for (size_t i = 0; i < table->row_count && reader->status == ST_OK; i++) {
            const st_nccl_row *row = &table->rows[i];
            double time = fmin(isnan(row->time_s[0]) ? (double)INFINITY : row->time_s[0],
                               isnan(row->time_s[1]) ? (double)INFINITY : row->time_s[1]);
            if (row->size_bytes / time > BEYOND_LINKS)
                st_nccl_refuse(reader, ST_ERR_VALUE, row->line,
                               "the row is faster than any links" ST_FOUND "%.4g GB/s" ST_EXPECTED
                               "a size in bytes and a time in us" ST_HINT
                               "name the unit of a column: time_ms, time_s",
                               row->size_bytes / time / 1e9);
        }
    size_t wrong_rows = 0;
    double wrong = 0;
    int line = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        wrong += table->rows[i].wrong;
        wrong_rows += table->rows[i].wrong > 0 ? 1 : 0;
        line = line == 0 && table->rows[i].wrong > 0 ? table->rows[i].line : line;
    }
    if (wrong > 0 && reader->status == ST_OK)
        st_nccl_warn(reader, line, "%.0f wrong results in %zu of %zu rows, the first one here",
                     wrong, wrong_rows, table->row_count);
}

/* ---- nodes ---- */

/* GPUs whose hosts NVLink joins where nothing else is said (NVIDIA GB200 and GB300 NVL72 data
 * sheets: 18 trays of 4), and what a NIC of such a GPU carries. */
static const struct {
    const char *word;
    size_t domain;
    double nic; /* byte/s */
} racks[] = {{"GB200", 72, 50e9}, {"GB300", 72, 100e9}};

enum { MOST_ON_A_HOST = 16 };
#define LARGE 268435456.0 /* bytes; smaller messages need not reach what links carry */

/* Whether large messages are as slow as NICs, so that NVLink does not join the hosts. */
static bool is_as_slow_as_nics(const st_nccl_table *table, double nic, double *most)
{
    static const char *const by_one[] = {"all_to_all", "send_recv", "gather", "scatter"};
    double nics = (double)table->ranks / (double)table->nodes;
    *most = 0;
    for (size_t i = 0; i < ST_COUNT(by_one); i++)
        nics = strcmp(table->collective, by_one[i]) == 0 ? 1 : nics;
    for (size_t i = 0; i < table->row_count; i++)
        for (int buffers = 0; buffers < 2; buffers++) {
            const st_nccl_row *row = &table->rows[i];
            double rate = row->size_bytes / row->time_s[buffers];
            if (row->size_bytes >= LARGE && isfinite(rate))
                *most =
                    fmax(*most, rate * st_nccl_bus_factor(table->collective, (double)table->ranks));
        }
    return *most > 0 && *most <= 1.2 * nics * nic;
}

/* How many GPUs NVLink joins, by the cluster, the headings, or the name of the GPU. */
static size_t domain_of(st_nccl_reader *reader, const st_nccl_table *table)
{
    st_nccl_rates rates;
    if (reader->request->domain > 0)
        return reader->request->domain > MOST_ON_A_HOST ? reader->request->domain : 0;
    if (st_nccl_rates_read(table, &rates, NULL) != ST_OK || rates.domain > 0 ||
        strstr(table->gpu, "NVL") != NULL)
        return rates.domain;
    for (size_t i = 0; i < ST_COUNT(racks) && table->list.count > 0; i++) {
        double most = 0;
        if (strstr(table->gpu, racks[i].word) == NULL)
            continue;
        if (is_as_slow_as_nics(table, racks[i].nic, &most)) {
            st_nccl_warn(reader, table->line,
                         "assuming that NICs join the %zu hosts, though they may be trays of a "
                         "rack: a rank has %.3g GB/s; override with --nodes or --cluster",
                         table->nodes, most / 1e9);
            return 0;
        }
        st_nccl_warn(reader, table->line,
                     "assuming that NVLink joins the hosts of %s to nodes of up to %zu GPUs "
                     "(NVL%zu); override with --nodes or --cluster",
                     racks[i].word, racks[i].domain, racks[i].domain);
        return racks[i].domain;
    }
    return 0;
}

void st_nccl_join_trays(st_nccl_reader *reader, st_nccl_table *table)
{
    if (table->ranks == 0 || table->nodes <= 1 || reader->request->nodes > 0)
        return;
    size_t domain = domain_of(reader, table);
    size_t domains = domain > 0 ? (table->ranks + domain - 1) / domain : table->nodes;
    if (domains >= table->nodes || table->ranks % domains != 0)
        return;
    table->trays = table->nodes;
    table->nodes = domains;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and stragglers as a result. */
#include "base/number.h"
#include "trace/view.h"

#include <math.h>

enum { TEXT = 48 };

/* Null and "unknown" where it is not finite. */
static void put_bandwidth(st_node *node, const char *key, const char *shown, double bandwidth)
{
    char text[TEXT];
    st_put_number(node, key, bandwidth);
    if (isfinite(bandwidth))
        st_put_format(node, shown, "%s GB/s",
                      st_number_print('f', 1, bandwidth / 1e9, text, sizeof text));
    else
        st_put_text(node, shown, "unknown");
}

/* The mean of a sum, -1 of nothing. */
static int64_t mean_ns(int64_t sum_ns, uint64_t count)
{
    return count > 0 ? sum_ns / (int64_t)count : -1;
}

static double rate(double bytes, int64_t time_ns)
{
    return time_ns > 0 ? bytes / ((double)time_ns / 1e9) : (double)NAN;
}

static void put_row(const st_collective_row *row, st_node *node)
{
    double factor = st_bus_factor(row->name, row->ranks);
    int64_t kernel_ns = mean_ns(row->kernel_ns, row->count);
    int64_t transfer_ns = mean_ns(row->transfer_ns, row->matched);
    int64_t skew_ns = mean_ns(row->skew_ns, row->instances);
    int64_t most_ns = row->instances > 0 ? row->most_skew_ns : -1;
    st_put_text(node, "collective", row->name);
    st_put_known(node, "ranks", row->ranks);
    const double bytes = row->bytes;
    char text[TEXT];
    st_put_number(node, "bytes", bytes);
    if (isnan(bytes))
        st_put_text(node, ".bytes", "unknown");
    else if (bytes < 1e6)
        st_put_format(node, ".bytes", "%s kB",
                      st_number_print('f', 1, bytes / 1e3, text, sizeof text));
    else
        st_put_format(node, ".bytes", "%s MB",
                      st_number_print('f', 1, bytes / 1e6, text, sizeof text));
    st_put_count(node, "kernels", row->count);
    st_put_ns(node, "kernel_ns", row->kernel_ns);
    st_put_count(node, "matched", row->matched);
    st_put_ns_known(node, "transfer_ns", row->matched > 0 ? row->transfer_ns : -1);
    st_put_ns_known(node, "waiting_ns", row->matched > 0 ? row->waiting_ns : -1);
    st_put_ns_known(node, "skew_mean_ns", skew_ns);
    st_put_ns_known(node, "skew_most_ns", most_ns);
    put_bandwidth(node, "kernel_bus_bandwidth", ".least_bus", factor * rate(row->bytes, kernel_ns));
    put_bandwidth(node, "algorithm_bandwidth", ".algorithm", rate(row->bytes, transfer_ns));
    put_bandwidth(node, "bus_bandwidth", ".bus", factor * rate(row->bytes, transfer_ns));
    st_put_short(node, ".name", row->name, false);
    if (row->ranks < 0)
        st_put_text(node, ".ranks", "unknown");
    else
        st_put_format(node, ".ranks", "%lld", (long long)row->ranks);
    st_put_ms(node, ".kernel", kernel_ns);
    st_put_ms_known(node, ".transfer", transfer_ns);
    st_put_ms_known(node, ".skew", skew_ns);
    st_put_ms_known(node, ".most_skew", most_ns);
}

static void put_rows(const st_collective_view *view, st_node *root)
{
    st_table *table = st_say_columns(root, "*collective|>ranks|>bytes|>kernels|>kernel|>bus at "
                                           "least|>transfer|>algorithm|>bus|>skew|>most");
    st_node *rows = st_put_list(root, "collectives");
    for (size_t i = 0; i < view->count; i++)
        put_row(&view->rows[i], st_put_line_map(rows, NULL));
    st_table_show(table, rows,
                  ".name,.ranks,.bytes,kernels,.kernel,.least_bus,.transfer,.algorithm,.bus,"
                  ".skew,.most_skew");
}

void st_view_collectives_result(const st_collective_view *view, st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_put_count(root, "ranks", view->rank_count);
    st_put_count(root, "met", view->instances);
    st_say(root, "%zu ranks, %llu collectives that several of them are recorded in\n\n",
           view->rank_count, (unsigned long long)view->instances);
    put_rows(view, root);
    st_say(root, "\n");
    st_table *table = st_say_columns(
        root, "*late ranks|>came last|>delayed all by|>late, mean|>waited|>computes");
    st_node *rows = st_put_list(root, "stragglers");
    for (size_t i = 0; i < view->rank_count; i++) {
        const st_straggler *rank = &view->stragglers[i];
        st_node *node = st_put_line_map(rows, NULL);
        bool known = rank->instances > 0;
        st_put_text(node, "file", rank->trace->file);
        st_put_known(node, "rank", rank->trace->rank);
        st_put_known(node, "collectives", known ? (int64_t)rank->instances : -1);
        st_put_known(node, "last", known ? (int64_t)rank->last : -1);
        st_put_ns_known(node, "caused_ns", known ? rank->caused_ns : -1);
        st_put_ns_known(node, "late_ns", known ? rank->late_ns : -1);
        st_put_ns_known(node, "waiting_ns", known ? rank->waiting_ns : -1);
        st_put_ns(node, "compute_ns", rank->compute_ns);
        st_put_rank_title(node, ".name", rank->trace, i);
        if (known)
            st_put_format(node, ".last", "%llu of %llu", (unsigned long long)rank->last,
                          (unsigned long long)rank->instances);
        else
            st_put_text(node, ".last", "unknown");
        st_put_ms_known(node, ".caused", known ? rank->caused_ns : -1);
        st_put_ms_known(node, ".late", known ? mean_ns(rank->late_ns, rank->instances) : -1);
        st_put_ms_known(node, ".waiting", known ? rank->waiting_ns : -1);
        st_put_ms(node, ".compute", rank->compute_ns);
    }
    st_table_show(table, rows, ".name,.last,.caused,.late,.waiting,.compute");
    /* What a what-if takes as overlap.communication_slowdown, from 1 on. */
    const st_beside *beside = &view->beside;
    char texts[3][TEXT];
    bool known = isfinite(beside->slowdown);
    st_node *node = st_put_line_map(root, "beside_computation");
    st_put_count(node, "alone", beside->alone);
    st_put_count(node, "beside", beside->beside);
    st_put_number(node, "slowdown", beside->slowdown);
    st_put_number(node, "error_frac", beside->error_frac);
    st_put_number(node, "error_none_frac", beside->error_none_frac);
    if (known)
        st_say(
            root,
            "\n  beside computation %zu transfers take %s times as long as %zu alone of the same "
            "message and group\n  each by the others: %s %% off, without a slowdown %s %%%s\n",
            beside->beside, st_number_print('f', 3, beside->slowdown, texts[0], TEXT),
            beside->alone, st_number_print('f', 1, 100 * beside->error_frac, texts[1], TEXT),
            st_number_print('f', 1, 100 * beside->error_none_frac, texts[2], TEXT),
            beside->slowdown >= 1 ? "; trace whatif has overlap.communication_slowdown" : "");
    if (view->instances == 0)
        st_say(root, "\n  who waits for whom is unknown: give the traces of all ranks\n");
    st_result_csv(result, "collectives",
                  "collective,ranks,bytes,kernels,kernel_ns,matched,transfer_ns,waiting_ns,"
                  "skew_mean_ns,skew_most_ns,kernel_bus_bandwidth,algorithm_bandwidth,"
                  "bus_bandwidth");
}

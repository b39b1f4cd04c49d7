/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime trace import` prints: workers, operations, collectives, memory. */
#include "record/price/imported.h"

#include "trace/reports.h"

/* The step of a worker, or of the slowest one; null where no steps repeat. */
static void put_step(st_node *node, bool found, int64_t step_ns)
{
    if (found)
        st_put_ns(node, "step_ns", step_ns);
    else
        st_put_null(node, "step_ns");
}

static double percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : 0;
}

static void put_operations(const st_imported_worker *counts, st_node *node)
{
    st_node *list = st_put_list(node, "operations");
    for (size_t i = 0; i < counts->operation_count; i++) {
        const st_imported_operation *operation = &counts->operations[i];
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "operation", operation->name);
        st_put_bool(row, "known", !operation->unknown);
        st_put_count(row, "count", operation->count);
        st_put_ns(row, "time_ns", operation->time_ns);
        st_put_number(row, "flop", operation->work_flop);
        st_put_format(row, ".name", "%s%s", operation->name,
                      operation->unknown ? " (unknown)" : "");
        st_put_ms(row, ".time", operation->time_ns);
        st_put_share(row, ".share", operation->time_ns, counts->busy_ns);
    }
    st_node *collectives = st_put_list(node, "collectives");
    for (size_t i = 0; i < ST_LOG_OPERATIONS; i++) {
        const st_imported_collective *share = &counts->collectives[i];
        if (share->count == 0)
            continue;
        st_node *row = st_put_line_map(collectives, NULL);
        st_put_text(row, "operation", st_operations[i].name);
        st_put_count(row, "count", share->count);
        st_put_ns(row, "time_ns", share->time_ns);
        st_put_number(row, "bytes", share->bytes);
        st_put_text(row, ".name", st_operations[i].name);
        st_put_ms(row, ".time", share->time_ns);
        st_put_share(row, ".share", share->time_ns, counts->busy_ns);
    }
}

static void put_numbers(const st_worker *worker, const st_imported_worker *counts, st_node *node)
{
    st_put_known(node, "rank", worker->rank);
    st_put_count(node, "ranks", worker->rank_count);
    st_put_bool(node, "whole", worker->whole);
    st_put_count(node, "calls", worker->call_count);
    st_put_count(node, "unsupported", worker->unsupported);
    st_put_count(node, "tasks", counts->tasks);
    st_put_count(node, "products", counts->products);
    st_put_number(node, "flop", counts->work_flop);
    st_put_ns(node, "length_ns", counts->length_ns);
    st_put_ns(node, "busy_ns", counts->busy_ns);
    st_put_ns(node, "waiting_ns", counts->waiting_ns);
    st_put_count(node, "unknown", counts->unknown);
    st_put_ns(node, "unknown_ns", counts->unknown_ns);
    st_put_count(node, "at_most", counts->bounded);
    st_put_ns(node, "at_most_ns", counts->bounded_ns);
    st_put_count(node, "refined", counts->refined);
    st_put_ns(node, "refined_ns", counts->refined_ns);
    st_put_count(node, "steps", counts->steps);
    put_step(node, counts->steps > 0, counts->step_ns);
    st_put_count(node, "peak_bytes", counts->peak_bytes);
    st_put_ns(node, "peak_at_ns", counts->peak_ns);
    st_put_count(node, "out_of_memory", worker->out_of_memory);
}

static void say_head(const st_imported *imported, const st_imported_worker *sum, st_node *root)
{
    enum { LABEL = 10 };
    const st_run *run = imported->run;
    st_say_fact(root, "program", LABEL, run->workers[0].header.program);
    st_say_fact(root, "priced for", LABEL + 1, imported->device);
    st_say(root, "%llu ranks, %zu recorded, %zu distinct, %llu assumed identical\n",
           (unsigned long long)run->world, run->process_count, run->worker_count,
           (unsigned long long)run->assumed);
    st_say(root, "%llu of %llu GPU tasks are unknown, %.1f %% of their time\n",
           (unsigned long long)sum->unknown, (unsigned long long)sum->tasks,
           percent(sum->unknown_ns, sum->busy_ns));
    const char *plugins = st_prices_plugins(imported->prices);
    if (plugins != NULL)
        st_say(root, "%llu of %llu GPU tasks are priced by %s, %.1f %% of their time\n",
               (unsigned long long)sum->refined, (unsigned long long)sum->tasks, plugins,
               percent(sum->refined_ns, sum->busy_ns));
    if (sum->bounded > 0)
        st_say(root,
               "%llu more, %.1f %% of the time, are upper bounds because their sizes are unknown\n",
               (unsigned long long)sum->bounded, percent(sum->bounded_ns, sum->busy_ns));
    double step_ms = (double)sum->step_ns / 1e6;
    double guess_ms = (double)sum->step_unknown_ns / 1e6;
    if (sum->step_ns > 0 && sum->step_unknown > 0)
        st_say(root,
               "step: %.3f ms, %.3f to %.3f with no or twice the time of its %llu guessed tasks\n",
               step_ms, guess_ms < step_ms ? step_ms - guess_ms : 0, step_ms + guess_ms,
               (unsigned long long)sum->step_unknown);
    else if (sum->step_ns > 0)
        st_say(root, "step: %.3f ms\n", step_ms);
}

st_node *st_imported_result(const st_imported *imported, st_arena *arena, st_result *result)
{
    const st_run *run = imported->run;
    /* The sums over all workers, with the step of the slowest one. */
    st_imported_worker sum = {0};
    for (size_t i = 0; i < imported->run->worker_count; i++) {
        const st_imported_worker *part = &imported->workers[i];
        sum.busy_ns += part->busy_ns;
        sum.unknown_ns += part->unknown_ns;
        sum.tasks += part->tasks;
        sum.unknown += part->unknown;
        sum.bounded += part->bounded;
        sum.bounded_ns += part->bounded_ns;
        sum.refined += part->refined;
        sum.refined_ns += part->refined_ns;
        if (part->step_ns > sum.step_ns) {
            sum.step_ns = part->step_ns;
            sum.step_unknown = part->step_unknown;
            sum.step_unknown_ns = part->step_unknown_ns;
        }
    }
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "run", run->folder);
    st_put_text(root, "program", run->workers[0].header.program);
    st_put_text(root, "gpu", imported->device);
    st_put_text(root, "rules", st_prices_rules_file(imported->prices));
    st_put_count(root, "world", run->world);
    st_put_count(root, "recorded", run->process_count);
    st_put_count(root, "assumed", run->assumed);
    st_put_count(root, "tasks", sum.tasks);
    st_put_count(root, "unknown", sum.unknown);
    st_put_ns(root, "unknown_ns", sum.unknown_ns);
    st_put_count(root, "at_most", sum.bounded);
    st_put_ns(root, "at_most_ns", sum.bounded_ns);
    st_put_count(root, "refined", sum.refined);
    st_put_ns(root, "refined_ns", sum.refined_ns);
    st_put_ns(root, "busy_ns", sum.busy_ns);
    put_step(root, sum.step_ns > 0, sum.step_ns);
    st_put_count(root, "step_unknown", sum.step_unknown);
    st_put_ns(root, "step_unknown_ns", sum.step_unknown_ns);
    st_put_count(root, "unmatched", imported->walk->unmatched);
    say_head(imported, &sum, root);
    st_node *list = st_put_list(root, "workers");
    const st_node *first = NULL;
    for (size_t i = 0; i < run->worker_count; i++) {
        st_node *row = st_put_map(list, NULL);
        put_numbers(&run->workers[i], &imported->workers[i], row);
        const st_imported_worker *counts = &imported->workers[i];
        st_put_format(row, ".rank", "%lld", (long long)run->workers[i].rank);
        if (counts->steps > 0)
            st_put_ms(row, ".step", counts->step_ns);
        else
            st_put_text(row, ".step", "-");
        st_put_ms(row, ".busy", counts->busy_ns);
        st_put_ms(row, ".waiting", counts->waiting_ns);
        st_put_format(row, ".peak", "%.0f MiB", (double)counts->peak_bytes / 1048576);
        st_put_share(row, ".unknown", counts->unknown_ns, counts->busy_ns);
        put_operations(&imported->workers[i], row);
        first = first == NULL ? row : first;
    }
    st_say_title(root, "Workers");
    st_table *table =
        st_say_columns(root, ">rank|>ranks|>step|>GPU busy|>waiting|>memory|>unknown");
    st_table_show(table, list, ".rank,ranks,.step,.busy,.waiting,.peak,.unknown");
    st_say_title(root, "GPU tasks of the first worker");
    st_table *operation_table = st_say_columns(root, "operation|>count|>time|>of all");
    st_table_show(operation_table, st_node_find(first, "operations", 10)->node,
                  ".name,count,.time,.share");
    st_table_show(operation_table, st_node_find(first, "collectives", 11)->node,
                  ".name,count,.time,.share");
    st_result_csv(result, "workers",
                  "rank,ranks,calls,tasks,products,flop,busy_ns,waiting_ns,unknown,unknown_ns,"
                  "steps,step_ns,peak_bytes");
    return root;
}

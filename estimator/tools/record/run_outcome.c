/* SPDX-License-Identifier: Apache-2.0 */
/* See run_outcome.h. */
#include "record/run_outcome.h"

#include "base/memory.h"
#include "record/log.h"
#include "trace/reports.h"

#include <string.h>

struct st_run_outcome_process {
    uint32_t pid;
    uint64_t start_ns;
    uint64_t hash; /* of what all its threads did */
};

typedef struct reader {
    st_run_outcome *outcome;
    st_arena *arena;
    const st_log *log;
    bool oom_is_first; /* blocks belong to the out of memory that is kept */
} outcome_reader;

static void count_item(outcome_reader *reader, st_run_outcome_item **items, size_t *count,
                       const st_log_record *record)
{
    const char *call = st_log_text(reader->log, record->call);
    const char *text = st_log_text(reader->log, record->mark.text);
    for (size_t i = 0; i < *count; i++)
        if (st_same((*items)[i].call, call) && st_same((*items)[i].text, text)) {
            (*items)[i].count++;
            return;
        }
    st_run_outcome_item item = {.text = st_arena_copy(reader->arena, text, strlen(text)),
                                .call = st_arena_copy(reader->arena, call, strlen(call)),
                                .status = record->status,
                                .count = 1};
    (void)ST_APPEND(reader->arena, *items, *count, item);
}

static void add_memory(outcome_reader *reader, const st_log_record *record)
{
    st_run_outcome *outcome = reader->outcome;
    if (record->kind == ST_LOG_OUT_OF_MEMORY) {
        reader->oom_is_first = !outcome->out_of_memory;
        if (reader->oom_is_first) {
            outcome->out_of_memory = true;
            outcome->oom_rank = st_log_header_of(reader->log)->rank;
            outcome->oom_bytes = record->memory.bytes;
            outcome->oom_live_bytes = record->memory.live_bytes;
        }
    } else if (record->kind == ST_LOG_BLOCK && reader->oom_is_first) {
        st_run_outcome_block block = {record->memory.bytes, record->memory.charged_bytes};
        (void)ST_APPEND(reader->arena, outcome->oom_blocks, outcome->oom_block_count, block);
    }
    if (record->kind != ST_LOG_BLOCK && record->memory.live_bytes > outcome->peak_bytes)
        outcome->peak_bytes = record->memory.live_bytes;
}

/* The process of the log. */
static struct st_run_outcome_process *process_of(outcome_reader *reader)
{
    st_run_outcome *outcome = reader->outcome;
    const st_log_header *header = st_log_header_of(reader->log);
    for (size_t i = outcome->each_count; i > 0; i--) {
        struct st_run_outcome_process *known = &outcome->each[i - 1];
        if (known->pid == header->pid && known->start_ns == header->start_monotonic_ns)
            return known;
    }
    struct st_run_outcome_process made = {.pid = header->pid,
                                          .start_ns = header->start_monotonic_ns};
    (void)ST_APPEND(reader->arena, outcome->each, outcome->each_count, made);
    return &outcome->each[outcome->each_count - 1];
}

ST_COMPARE(order_hashes, struct st_run_outcome_process, ST_RISING(hash));

static void add_record(outcome_reader *reader, const st_log_record *record)
{
    st_run_outcome *outcome = reader->outcome;
    switch (record->kind) {
    case ST_LOG_LAUNCH:
        outcome->launches += (record->flags & ST_LOG_CHANGE) == 0;
        break;
    case ST_LOG_GEMM:
        outcome->products += (record->flags & ST_LOG_FURTHER) == 0;
        break;
    case ST_LOG_COLLECTIVE:
        outcome->collectives++;
        break;
    case ST_LOG_COPY:
        outcome->reads += record->copy.direction == ST_LOG_DEVICE_TO_HOST &&
                          (record->flags & ST_LOG_CAPTURED) == 0;
        break;
    case ST_LOG_FORKED:
        outcome->forks++;
        break;
    case ST_LOG_COMM:
        outcome->unsure_splits += record->comm.parent != 0 && record->comm.ranks < 0;
        break;
    case ST_LOG_MALLOC:
    case ST_LOG_OUT_OF_MEMORY:
    case ST_LOG_BLOCK:
        add_memory(reader, record);
        break;
    case ST_LOG_UNSUPPORTED:
        count_item(reader, &outcome->unsupported_items, &outcome->unsupported_count, record);
        break;
    case ST_LOG_MISUSE:
        count_item(reader, &outcome->misuses, &outcome->misuse_count, record);
        break;
    case ST_LOG_END:
        outcome->unsupported += record->end.unsupported;
        outcome->calls += record->end.calls;
        process_of(reader)->hash += st_log_work(record->end.work_hash);
        break;
    default:
        break;
    }
}

st_status st_run_outcome_read(const char *folder, st_arena *arena, st_run_outcome *outcome,
                              st_errors *errors)
{
    const char *const *paths = NULL;
    size_t count = 0;
    *outcome = (st_run_outcome){.oom_rank = -1};
    st_status status = st_log_list(folder, arena, &paths, &count, NULL);
    if (status == ST_ERR_VALUE) /* a program that called nothing */
        return ST_OK;
    if (status != ST_OK)
        return st_log_list(folder, arena, &paths, &count, errors);
    for (size_t i = 0; i < count; i++) {
        st_log *log = NULL;
        st_log_record record;
        bool more = true;
        uint64_t calls = 0;
        st_status log_status = st_log_open(paths[i], &log, NULL);
        outcome_reader reader = {.outcome = outcome, .arena = arena, .log = log};
        outcome->logs++;
        if (log_status == ST_OK && st_log_header_of(log)->thread == 0)
            outcome->processes++;
        if (log_status == ST_OK && st_log_header_of(log)->error != 0) {
            outcome->full++;
            outcome->full_error = (int)st_log_header_of(log)->error;
        }
        while (log_status == ST_OK && more) {
            log_status = st_log_read(log, &record, &more, NULL);
            if (log_status == ST_OK && more)
                add_record(&reader, &record);
            calls += more && record.call != 0;
        }
        if (log_status != ST_OK)
            outcome->unreadable++;
        else if (!st_log_is_whole(log))
            outcome->cut_logs++;
        if (log_status != ST_OK || !st_log_is_whole(log))
            outcome->calls += calls; /* whole logs have the count in their last record */
        st_log_destroy(log);
    }
    st_sort(outcome->each, outcome->each_count, sizeof *outcome->each, order_hashes);
    for (size_t i = 0; i < outcome->each_count; i++)
        outcome->unique += i == 0 || outcome->each[i].hash != outcome->each[i - 1].hash;
    return ST_OK;
}

/* ---- as a result ---- */

static void put_items(st_node *root, const char *key, const st_run_outcome_item *items,
                      size_t count)
{
    st_node *list = st_put_list(root, key);
    for (size_t i = 0; i < count; i++) {
        st_node *item = st_put_line_map(list, NULL);
        st_put_text(item, "call", items[i].call);
        st_put_text_or_null(item, "what", items[i].text);
        st_put_count(item, "answer", items[i].status);
        st_put_count(item, "times", items[i].count);
    }
    static const st_table_column columns[] = {{.title = "call", .ink = ST_INK_NAME},
                                              {.title = "answer", .right = true},
                                              {.title = "times", .right = true},
                                              {.title = "what", .elastic = true}};
    if (count == 0)
        return;
    st_say_title(root, st_same(key, "misuses") ? "Misuse" : "Not supported");
    st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), list,
                  "call,answer,times,what");
}

static void put_oom(st_node *root, const st_run_outcome *outcome)
{
    if (!outcome->out_of_memory) {
        st_put_null(root, "out_of_memory");
        return;
    }
    st_node *oom = st_put_map(root, "out_of_memory");
    st_put_known(oom, "rank", outcome->oom_rank);
    st_put_count(oom, "request_bytes", outcome->oom_bytes);
    st_put_count(oom, "live_bytes", outcome->oom_live_bytes);
    st_node *blocks = st_put_list(oom, "largest_blocks");
    for (size_t i = 0; i < outcome->oom_block_count; i++) {
        st_node *block = st_put_line_map(blocks, NULL);
        st_put_count(block, "bytes", outcome->oom_blocks[i].bytes);
        st_put_count(block, "charged_bytes", outcome->oom_blocks[i].charged_bytes);
    }
    st_say_title(root, "Out of memory");
    const bool has_blocks = outcome->oom_block_count > 0;
    st_say(root, "  %.3f GiB did not fit with %.3f GiB in use%s\n",
           (double)outcome->oom_bytes / 1073741824, (double)outcome->oom_live_bytes / 1073741824,
           has_blocks ? "; the largest live blocks, in bytes:" : ", and the log has no live block");
    if (has_blocks)
        st_table_show(st_say_columns(root, ">bytes|>charged"), blocks, "bytes,charged_bytes");
}

void st_run_outcome_put(const st_run_outcome *outcome, const st_launch_end *ends, size_t count,
                        st_node *root)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"processes", outcome->processes},
        {"unique_processes", outcome->unique},
        {"logs", outcome->logs},
        {"cut_logs", outcome->cut_logs},
        {"unreadable_logs", outcome->unreadable},
        {"calls", outcome->calls},
        {"launches", outcome->launches},
        {"gemms", outcome->products},
        {"collectives", outcome->collectives},
        {"reads", outcome->reads},
        {"unsupported_calls", outcome->unsupported},
        {"forks", outcome->forks},
        {"unsure_splits", outcome->unsure_splits},
        {"peak_bytes", outcome->peak_bytes},
    };
    for (size_t i = 0; i < ST_COUNT(counts); i++)
        st_put_count(root, counts[i].key, counts[i].value);
    const double gib = 1073741824;
    uint64_t same = outcome->processes - outcome->unique;
    st_say(root, "calls      %llu CUDA calls by %llu process%s", (unsigned long long)outcome->calls,
           (unsigned long long)outcome->processes, outcome->processes == 1 ? "" : "es");
    if (outcome->processes > 1 && outcome->unique > 0)
        st_say(root, ", %llu identical to another", (unsigned long long)same);
    st_say(root, "\n");
    st_say(root, "work       %llu kernels, %llu matrix products, %llu collectives\n",
           (unsigned long long)outcome->launches, (unsigned long long)outcome->products,
           (unsigned long long)outcome->collectives);
    st_say(root, "memory     at most %.2f GiB on a GPU, including CUDA's own memory\n",
           (double)outcome->peak_bytes / gib);
    if (outcome->reads > 0)
        st_say(root,
               "reads      %llu copies to the host; what kernels would have computed is zero\n",
               (unsigned long long)outcome->reads);
    if (outcome->cut_logs > 0 || outcome->unreadable > 0)
        st_say(root, "logs       %llu of %llu truncated, %llu unreadable\n",
               (unsigned long long)outcome->cut_logs, (unsigned long long)outcome->logs,
               (unsigned long long)outcome->unreadable);
    if (outcome->unsupported > 0)
        st_say(root, "unknown    %llu calls of unsupported functions\n",
               (unsigned long long)outcome->unsupported);
    put_oom(root, outcome);
    put_items(root, "unsupported", outcome->unsupported_items, outcome->unsupported_count);
    put_items(root, "misuses", outcome->misuses, outcome->misuse_count);
    st_node *list = st_put_list(root, "failed");
    for (size_t i = 0; i < count; i++) {
        if (ends[i].exit_code == 0 && ends[i].signal == 0 && !ends[i].over_time)
            continue;
        st_node *end = st_put_line_map(list, NULL);
        st_put_known(end, "rank", ends[i].rank);
        if (ends[i].signal != 0)
            st_put_null(end, "exit_code");
        else
            st_put_count(end, "exit_code", (uint64_t)(unsigned)ends[i].exit_code);
        st_put_count(end, "signal", (uint64_t)(unsigned)ends[i].signal);
        st_put_bool(end, "over_time", ends[i].over_time);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time and queues as a result; times are nanoseconds, as in the trace. */
#include "base/number.h"
#include "trace/view.h"

enum { TEXT = 48 };

static void put_idle(const st_idle *idle, int64_t window_ns, st_node *node)
{
    st_put_ns(node, "idle_ns", idle->idle_ns);
    st_put_ms(node, ".idle", idle->idle_ns);
    st_put_share(node, ".share", idle->idle_ns, window_ns);
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        st_put_ns(node, st_idle_cause_key((st_idle_cause)i), idle->causes_ns[i]);
    static const char *const shares[ST_IDLE_CAUSES] = {".host",          ".sync",   ".dependency",
                                                       ".communication", ".launch", ".unknown"};
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        st_put_share(node, shares[i], idle->causes_ns[i], idle->idle_ns);
}

static void put_us(st_node *node, const char *key, int64_t time_ns)
{
    char text[TEXT];
    if (time_ns < 0)
        st_put_text(node, key, "unknown");
    else
        st_put_format(node, key, "%s us",
                      st_number_print('f', 1, (double)time_ns / 1e3, text, sizeof text));
}

static void show_idle(const st_idle_rank *rank, st_node *node)
{
    static const char keys[] =
        ".name,.idle,.share,.host,.sync,.dependency,.communication,.launch,.unknown";
    st_table *table = st_say_columns(
        node,
        "*idle|>time|>of window|>host-bound|>sync|>dependency|>communication|>launch|>unknown");
    st_node *gpu = st_put_map(node, "gpu");
    st_put_text(gpu, ".name", "GPU");
    st_put_count(gpu, "tasks", rank->gpu.tasks);
    put_idle(&rank->gpu, rank->window_ns, gpu);
    st_table_show(table, gpu, keys);
    st_node *streams = st_put_list(node, "streams");
    for (size_t i = 0; i < rank->stream_count; i++) {
        const st_idle *idle = &rank->streams[i];
        st_node *stream = st_put_map(streams, NULL);
        st_put_format(stream, ".name", "stream %lld", (long long)idle->stream);
        st_put_ns(stream, "stream", idle->stream);
        st_put_ns(stream, "device", idle->device);
        st_put_count(stream, "tasks", idle->tasks);
        put_idle(idle, rank->window_ns, stream);
        const st_queue *queue = &rank->queues[i];
        char text[TEXT];
        st_put_count(stream, "launched", queue->launched);
        st_put_number(stream, "queue_mean", queue->mean_length);
        st_put_count(stream, "queue_most", queue->most_length);
        st_put_ns_known(stream, "delay_median_ns", queue->delay_median_ns);
        st_put_ns_known(stream, "delay_p90_ns", queue->delay_p90_ns);
        st_put_ns_known(stream, "delay_most_ns", queue->delay_most_ns);
        st_put_ns_known(stream, "delay_empty_ns", queue->empty_median_ns);
        st_put_ns_known(stream, "call_median_ns", queue->call_median_ns);
        st_put_count(stream, "shorter_than_call", queue->shorter);
        st_put_text(stream, ".mean",
                    st_number_print('f', 1, queue->mean_length, text, sizeof text));
        put_us(stream, ".median", queue->delay_median_ns);
        put_us(stream, ".p90", queue->delay_p90_ns);
        put_us(stream, ".most", queue->delay_most_ns);
        put_us(stream, ".empty", queue->empty_median_ns);
        put_us(stream, ".call", queue->call_median_ns);
    }
    st_table_show(table, streams, keys);
}

void st_view_idle_result(const st_idle_rank *ranks, size_t count, st_arena *arena,
                         st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *list = st_put_list(root, "ranks");
    for (size_t i = 0; i < count; i++) {
        const st_idle_rank *rank = &ranks[i];
        st_node *node = st_put_map(list, NULL);
        char text[TEXT];
        st_put_text(node, "file", rank->trace->file);
        st_put_known(node, "rank", rank->trace->rank);
        st_put_ns(node, "window_ns", rank->window_ns);
        st_say(node, "%s%s: window %s; causes in percent of idle time\n", i > 0 ? "\n" : "",
               rank->trace->file, st_ms_text(rank->window_ns, text, TEXT));
        show_idle(rank, node);
        const st_item *streams = st_node_find(node, "streams", sizeof "streams" - 1);
        st_say(node, "\n");
        if (streams != NULL && streams->kind == ST_ITEM_NODE) {
            st_node *queue_streams = streams->node;
            st_table *table = st_say_columns(node, "*queue|>launched|>mean length|>most|>launch "
                                                   "delay|>90 %|>most|>if empty|>call|>shorter");
            st_table_show(table, queue_streams,
                          ".name,launched,.mean,queue_most,.median,.p90,.most,.empty,.call,"
                          "shorter_than_call");
        }
    }
    st_result_csv(result, "ranks/streams",
                  "file,rank,stream,device,tasks,window_ns,idle_ns,host_bound_ns,"
                  "synchronisation_ns,dependency_ns,communication_ns,launch_ns,unknown_ns,"
                  "launched,queue_mean,queue_most,delay_median_ns,delay_p90_ns,delay_most_ns,"
                  "delay_empty_ns,call_median_ns,shorter_than_call");
}

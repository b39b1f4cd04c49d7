/* SPDX-License-Identifier: Apache-2.0 */
/* Published traces against counts and times that were found with another program. */
#include "trace_support.h"
#include "trace/trace.h"

#include "base/json_read.h"

static const char *data_folder(void)
{
    const char *data = getenv("STEPTIME_DATA");
    return data != NULL ? data : "../shared/data";
}

static const st_json *find(const st_json *map, const char *name)
{
    for (const st_json *node = map->first; node != NULL; node = node->next) {
        if (strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}

static long long number(const st_json *map, const char *name)
{
    const st_json *node = find(map, name);
    return node == NULL || node->kind != ST_JSON_NUMBER ? -1 : strtoll(node->text, NULL, 10);
}

typedef struct expectation {
    const char *name;
    long long value;
} expectation;

static void check_numbers(const char *file, const st_json *expected,
                          const st_trace_summary *summary)
{
    const st_trace *trace = summary->trace;
    bool any = summary->time.window_ns > 0;
    const expectation list[] = {
        {"events", (long long)trace->file_events},
        {"X", (long long)trace->complete_events},
        {"rank", trace->rank},
        {"world", trace->world_size},
        {"base_ns", trace->base_ns},
        {"gpu_tasks", (long long)summary->gpu_tasks},
        {"streams", (long long)summary->streams},
        {"launches_linked", (long long)summary->launches_linked},
        {"eventrecord", (long long)summary->records},
        {"waitevent", (long long)summary->waits},
        {"wait_corr_ge0", (long long)summary->exact_waits},
        {"comm_kernels", (long long)summary->collectives},
        {"coll_meta_kernels", (long long)summary->described_collectives},
        {"window_ns", any ? summary->time.window_ns : -1},
        {"exposed_compute_ns", any ? summary->time.exposed_compute_ns : -1},
        {"exposed_comm_ns", any ? summary->time.exposed_communication_ns : -1},
        {"overlap_ns", any ? summary->time.overlapped_ns : -1},
        {"idle_ns", any ? summary->time.idle_ns : -1},
    };
    for (size_t i = 0; i < COUNT(list); i++) {
        if (number(expected, list[i].name) != list[i].value)
            fail_msg("%s: %s is %lld, expected %lld", file, list[i].name, list[i].value,
                     number(expected, list[i].name));
    }
}

static void check_counts(const char *file, const st_json *expected, const st_trace_tally *tallies,
                         size_t count)
{
    size_t found = 0;
    for (const st_json *node = expected->first; node != NULL; node = node->next) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(tallies[i].name, node->name) != 0)
                continue;
            assert_int_equal(tallies[i].count, strtoull(node->text, NULL, 10));
            found++;
        }
    }
    if (found != count)
        fail_msg("%s: %zu of %zu names agree", file, found, count);
}

static void check_categories(const st_json *expected, const st_trace *trace)
{
    size_t count = 0;
    for (const st_json *node = expected->first; node != NULL; node = node->next, count++) {
        uint64_t found = 0;
        for (size_t i = 0; i < trace->category_count; i++) {
            if (strcmp(trace->names[trace->categories[i].name], node->name) == 0)
                found = trace->categories[i].count;
        }
        assert_int_equal(found, strtoull(node->text, NULL, 10));
    }
    assert_int_equal(trace->category_count, count);
}

static void check_steps(const st_json *expected, const st_trace_summary *summary)
{
    size_t count = 0;
    for (const st_json *step = expected->first; step != NULL; step = step->next, count++) {
        bool found = false;
        for (size_t i = 0; i < summary->step_count; i++)
            found = found ||
                    (strcmp(summary->steps[i].name, step->first->text) == 0 &&
                     summary->steps[i].duration_ns == strtoll(step->first->next->text, NULL, 10));
        assert_true(found);
    }
    assert_int_equal(summary->step_count, count);
}

/* The file has names cut to 80 characters. */
static void check_kernels(const char *file, const st_json *expected,
                          const st_trace_summary *summary)
{
    for (const st_json *row = expected->first; row != NULL; row = row->next) {
        const char *name = row->first->text;
        uint64_t count = 0;
        int64_t total_ns = 0;
        for (size_t i = 0; i < summary->kernel_count; i++) {
            if (strncmp(summary->kernels[i].name, name, 80) == 0 &&
                (strlen(name) >= 80 || summary->kernels[i].name[strlen(name)] == '\0')) {
                count += summary->kernels[i].count;
                total_ns += summary->kernels[i].total_ns;
            }
        }
        if (count != strtoull(row->first->next->text, NULL, 10) ||
            total_ns != strtoll(row->first->next->next->text, NULL, 10))
            fail_msg("%s: %s: %llu, %lld ns", file, name, (unsigned long long)count,
                     (long long)total_ns);
    }
}

static void check_file(const char *folder, const st_json *expected, st_errors *errors)
{
    char path[512];
    st_trace *trace = NULL;
    st_trace_summary summary;
    st_arena *arena = st_arena_create();
    (void)snprintf(path, sizeof path, "%s/%s", folder, expected->name);
    st_status status = st_trace_read(path, NULL, &trace, errors);
    if (status != ST_OK)
        fail_msg("%s", said(errors));
    st_trace_summarize(trace, arena, &summary);
    check_numbers(expected->name, expected, &summary);
    check_counts(expected->name, find(expected, "sync"), summary.sync_calls,
                 summary.sync_call_count);
    check_counts(expected->name, find(expected, "cuda_sync"), summary.sync_records,
                 summary.sync_record_count);
    check_categories(find(expected, "cats"), trace);
    check_steps(find(expected, "steps"), &summary);
    check_kernels(expected->name, find(expected, "top_kernels"), &summary);
    st_trace_destroy(trace);
    st_arena_destroy(arena);
}

static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    assert_non_null(text);
    *length = 0;
    if (file == NULL) {
        free(text);
        return NULL;
    }
    *length = fread(text, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

TEST_WITH(test_golden, make_errors, drop_errors)
{
    char folder[256];
    char path[512];
    size_t length = 0;
    st_json *tree = NULL;
    size_t compared = 0;
    (void)snprintf(folder, sizeof folder, "%s/traces", data_folder());
    (void)snprintf(path, sizeof path, "%s/golden.json", folder);
    char *text = read_text(path, &length);
    if (text == NULL || !st_json_available()) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA), or no yajl\n", path);
        free(text);
        skip();
    }
    st_arena *arena = st_arena_create();
    assert_int_equal(st_json_parse(path, text, length, arena, &tree, *state), ST_OK);
    for (const st_json *file = tree->first; file != NULL; file = file->next) {
        if (strcmp(find(file, "kind")->text, "kineto") != 0)
            continue;
        check_file(folder, file, *state);
        compared++;
    }
    assert_int_equal(compared, 34);
    st_arena_destroy(arena);
    free(text);
}

TESTS(trace_golden);

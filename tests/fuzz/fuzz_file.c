/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers that take the path of a file: one program for each, with its name in FUZZ_READER. What is
 * accepted keeps what the reader's header promises; what is refused has a reason with a place.
 */
#include "fuzz_file.h"

#include "overlap-xgboost/fit/recorded.h"
#include "record/price/imported.h"
#include "trace/prices.h"
#include "record/program_file.h"
#include "record/split.h"
#include "trace/store.h"
#include "workload/execution.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static st_status read_nsys(const fuzz_given *own)
{
    size_t count = 0;
    const st_trace_options options = {.partial = true};
    st_status status = st_trace_parts(own->path, &count, own->errors);
    for (size_t i = 0; status == ST_OK && i < count && i < 8; i++) {
        st_trace *trace = NULL;
        const st_trace_part part = {own->path, i};
        status = st_trace_read_part(&part, &options, &trace, own->errors);
        FUZZ_REQUIRE((status == ST_OK) == (trace != NULL));
        for (size_t k = 1; trace != NULL && k < trace->event_count; k++)
            FUZZ_REQUIRE(trace->events[k - 1].start_ns <= trace->events[k].start_ns);
        st_trace_destroy(trace);
    }
    return status;
}

static st_status read_recorded(const fuzz_given *own)
{
    st_recorded recorded;
    st_status status = st_recorded_read(own->path, own->arena, &recorded, own->errors);
    FUZZ_REQUIRE(status != ST_OK || recorded.count > 0);
    return status;
}

static st_status read_rules(const fuzz_given *own)
{
    const st_rules *rules = NULL;
    st_status status = st_rules_load(own->paths, own->path, own->arena, &rules, own->errors);
    FUZZ_REQUIRE((status == ST_OK) == (rules != NULL));
    for (st_task_form of = 0; rules != NULL && of < ST_FORMS; of++) {
        const st_rule *rule = st_rules_find(rules, of, "Layer_Norm_Forward");
        FUZZ_REQUIRE(st_task_form_name(of)[0] != '\0' && (rule == NULL || rule->of == of));
    }
    return status;
}

static st_status read_call_costs(const fuzz_given *own)
{
    const st_call_cost *costs = NULL;
    size_t count = 0;
    return st_call_costs_read(own->path, own->arena, &costs, &count, own->errors);
}

static st_status read_execution_groups(const fuzz_given *own)
{
    st_execution_groups groups = {0};
    st_status status = st_execution_groups_read(own->path, own->arena, &groups, own->errors);
    for (size_t i = 0; status == ST_OK && i < groups.count; i++) {
        st_execution_node node = {.group = groups.items[i].name};
        st_execution rank = {.nodes = &node, .count = 1};
        st_execution_groups_give(&groups, &rank);
        FUZZ_REQUIRE(node.group_size == groups.items[i].size);
    }
    return status;
}

static st_status read_program(const fuzz_given *own)
{
    const char *path = NULL;
    FUZZ_REQUIRE(chmod(own->path, S_IRUSR | S_IWUSR | S_IXUSR) == 0);
    FUZZ_REQUIRE(setenv("PATH", "/usr:/tmp", 1) == 0);
    const char *name = strrchr(own->path, '/') + 1; /* which the PATH tells */
    st_status status = st_program_find(name, true, own->arena, &path, own->errors);
    FUZZ_REQUIRE((status == ST_OK) == (path != NULL));
    return status;
}

static st_status read_split(const fuzz_given *own)
{
    size_t count = 0;
    st_split_member *members = st_split_read(own->path, &count);
    FUZZ_REQUIRE(members != NULL);
    st_split split = {members, count, (int32_t)count + 4, 8};
    for (size_t i = 0; i < count && i < 8; i++) {
        split.ranks = (int32_t)count + (i % 2 == 0 ? 4 : 0);
        if (members[i].rank < 0 || members[i].rank >= split.ranks)
            continue; /* who asks knows its own rank */
        st_split_place place = st_split_find(&split, &members[i]);
        FUZZ_REQUIRE(place.rank >= 0 && place.rank < place.ranks);
    }
    char path[128];
    st_split_path(path, sizeof path, "/tmp", 2385, (uint32_t)count);
    FUZZ_REQUIRE(strncmp(path, "/tmp/split-", strlen("/tmp/split-")) == 0);
    free(members);
    return ST_OK;
}

static const struct {
    const char *name;
    st_status (*read)(const fuzz_given *own);
} readers[] = {
    {"nsys", read_nsys},
    {"recorded", read_recorded},
    {"rules", read_rules},
    {"call_costs", read_call_costs},
    {"fit_spec", fuzz_read_fit_spec},
    {"execution_groups", read_execution_groups},
    {"manifest", fuzz_read_manifest},
    {"operators", fuzz_read_operators},
    {"program", read_program},
    {"split", read_split},
};

static const st_paths *search_path(void)
{
    static st_paths *paths;
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    if (paths == NULL)
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, errors) == ST_OK);
    st_errors_destroy(errors);
    return paths;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    int file = mkstemp(path);
    FUZZ_REQUIRE(file >= 0 && write(file, data, size) == (ssize_t)size && close(file) == 0);
    const fuzz_given own = {path, search_path(), st_arena_create(), st_errors_create()};
    FUZZ_REQUIRE(own.arena != NULL && own.errors != NULL);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(readers[i].name, FUZZ_READER) == 0)
            fuzz_check_errors(readers[i].read(&own), own.errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    st_errors_destroy(own.errors);
    st_arena_destroy(own.arena);
    return 0;
}

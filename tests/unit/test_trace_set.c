/* SPDX-License-Identifier: Apache-2.0 */
/* Files of several ranks: which are found, in which order, and whether they are of one job. */
#include "trace_support.h"

#include "base/text.h"
#include "trace/bytes.h"
#include "trace/same_job.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    st_errors *errors;
    st_trace_set *set;
    char folder[32];
} fixture;

static int setup(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->errors = st_errors_create();
    strcpy(own->folder, "/tmp/st-set-XXXXXX");
    assert_non_null(mkdtemp(own->folder));
    *state = own;
    return 0;
}

static void empty(fixture *own)
{
    char path[320];
    DIR *folder = opendir(own->folder);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        (void)snprintf(path, sizeof path, "%s/%s", own->folder, entry->d_name);
        (void)unlink(path);
    }
    (void)closedir(folder);
}

static int teardown(void **state)
{
    fixture *own = *state;
    st_trace_set_destroy(own->set);
    st_errors_destroy(own->errors);
    empty(own);
    rmdir(own->folder);
    free(own);
    return 0;
}

static const char *path_of(const fixture *own, const char *name)
{
    static char paths[4][320];
    static size_t next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", own->folder, name);
    return path;
}

static const char *write_bytes(fixture *own, const char *name, const char *bytes, size_t length)
{
    const char *path = path_of(own, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A rank that runs from 100 to 130 us after the base of its clock; -1: it does not say. */
typedef struct made_rank {
    int rank;
    int world_size;
    long long base_ns;
} made_rank;

static const char *write_rank(fixture *own, const char *name, made_rank made)
{
    char text[1024];
    char rank[32] = "";
    char world[32] = "";
    if (made.rank >= 0)
        (void)snprintf(rank, sizeof rank, "\"rank\":%d", made.rank);
    if (made.world_size >= 0)
        (void)snprintf(world, sizeof world, "%s\"world_size\":%d", made.rank >= 0 ? "," : "",
                       made.world_size);
    (void)snprintf(text, sizeof text,
                   "{\"baseTimeNanoseconds\":%lld,\"distributedInfo\":{%s%s},\"traceEvents\":["
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4,"
                   "\"tid\":2,\"ts\":100,\"dur\":5,\"args\":{\"correlation\":31}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"pid\":0,\"tid\":7,"
                   "\"ts\":110,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,"
                   "\"correlation\":31}}]}",
                   made.base_ns, rank, world);
    return write_bytes(own, name, text, strlen(text));
}

static st_status read_paths(fixture *own, const char *const *paths, size_t count, bool partial)
{
    st_trace_set_destroy(own->set);
    own->set = NULL;
    return st_trace_set_read(paths, count, &(st_trace_options){.partial = partial}, &own->set,
                             own->errors);
}

static st_status read_folder(fixture *own, bool partial)
{
    const char *paths[] = {own->folder};
    return read_paths(own, paths, 1, partial);
}

/* ---- finding ---- */

/* By rank, whatever the names; what is hidden, of another ending, or no trace is passed over. */
TEST_WITH(recordings_of_a_folder_are_found, setup, teardown)
{
    static const char *const folders[] = {"", "/"};
    fixture *own = *state;
    (void)write_rank(own, "a.json", (made_rank){1, 2, 5000});
    (void)write_rank(own, "b.pt.trace.json", (made_rank){0, 2, 5000});
    (void)write_rank(own, ".c.json", (made_rank){0, 2, 5000});
    (void)write_rank(own, "d.json.txt", (made_rank){0, 2, 5000});
    (void)write_rank(own, "json", (made_rank){0, 2, 5000});
    (void)write_bytes(own, "settings.json", "{\"lr\": 2.385}", 13);
    for (size_t i = 0; i < COUNT(folders); i++) {
        const char *paths[] = {i == 0 ? own->folder : path_of(own, "")};
        assert_int_equal(read_paths(own, paths, 1, false), ST_OK);
        assert_int_equal(own->set->count, 2);
        assert_int_equal(own->set->world_size, 2);
        assert_string_equal(own->set->ranks[0]->file, path_of(own, "b.pt.trace.json"));
        assert_string_equal(own->set->ranks[1]->file, path_of(own, "a.json"));
        const char *heard = said(own->errors);
        assert_contains(heard, "settings.json: warning: not a profiler's trace, left out");
        assert_null(strstr(heard, "d.json.txt"));
    }
}

TEST_OF(packed_recordings_are_found, fixture *own, setup, teardown)
{
    st_buffer text = {0};
    st_buffer_append(&text, newer_trace, strlen(newer_trace));
    assert_int_equal(st_gzip(&text, own->errors), ST_OK);
    (void)write_bytes(own, "r1.json.gz", text.data, text.length);
    st_buffer_free(&text);
    assert_int_equal(read_folder(own, false), ST_OK);
    assert_int_equal(own->set->count, 1);
    assert_int_equal(own->set->ranks[0]->rank, 1);
    assert_int_equal(own->set->ranks[0]->event_count, 3);
}

TEST_OF(folders_without_recordings_are_refused, fixture *own, setup, teardown)
{
    const char *named[] = {path_of(own, "settings.json")};
    (void)write_bytes(own, "notes.txt", "x", 1);
    assert_int_equal(read_folder(own, false), ST_ERR_IO);
    assert_contains(said(own->errors),
                    "the folder holds no .json, .json.gz, .sqlite, .xplane.pb or _results.db file");
    assert_null(own->set);
    (void)write_bytes(own, "settings.json", "{\"lr\": 2.385}", 13);
    assert_int_equal(read_folder(own, false), ST_ERR_NAME);
    assert_contains(said(own->errors), "none of the files is a profiler's trace");
    /* Named, it is not passed over. */
    assert_int_equal(read_paths(own, named, 1, false), ST_ERR_NAME);
    const char *heard = said(own->errors);
    assert_null(strstr(heard, "left out"));
    assert_null(strstr(heard, "none of the files"));
}

/* ---- ranks ---- */

/* Files that do not say their rank have those of their order; one alone stays unknown. */
TEST_OF(silent_files_are_numbered, fixture *own, setup, teardown)
{
    const char *paths[] = {write_rank(own, "z.json", (made_rank){-1, -1, 5000}),
                           write_rank(own, "a.json", (made_rank){-1, -1, 5000})};
    assert_int_equal(read_paths(own, paths, 2, false), ST_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(own->set->ranks[i]->rank, i);
        assert_string_equal(own->set->ranks[i]->file, paths[i]);
    }
    assert_int_equal(own->set->world_size, -1);
    assert_int_equal(read_folder(own, false), ST_OK);
    assert_string_equal(own->set->ranks[0]->file, paths[1]);
    assert_int_equal(read_paths(own, paths, 1, false), ST_OK);
    assert_int_equal(own->set->ranks[0]->rank, -1);
}

typedef struct pair_case {
    made_rank a;
    made_rank b;
    const char *words; /* NULL: they fit */
} pair_case;

static void read_pair(fixture *own, const pair_case *one)
{
    const char *paths[] = {write_rank(own, "a.json", one->a), write_rank(own, "b.json", one->b)};
    st_status status = read_paths(own, paths, 2, false);
    assert_int_equal(status, one->words == NULL ? ST_OK : ST_ERR_VALUE);
    if (one->words != NULL)
        assert_contains(said(own->errors), one->words);
    else
        assert_int_equal(st_errors_size(own->errors), 0);
}

/* 130 us after the base the first ends, and 100 us after its own the second begins: they lie 60 s
 * apart where bases are 30 us more apart. */
TEST_WITH(ranks_are_of_one_job, setup, teardown)
{
    static const pair_case cases[] = {
        {{0, 2, 5000}, {1, 2, 5000}, NULL},
        {{0, 2, 5000}, {0, 2, 5000}, "b.json: error: rank 0 is also in"},
        {{0, 2, 5000},
         {-1, -1, 5000},
         "b.json: error: the file does not state its rank, but others do"},
        {{-1, -1, 5000},
         {1, 2, 5000},
         "a.json: error: the file does not state its rank, but others do"},
        {{0, 2, 5000}, {1, -1, 5000}, "b.json: error: only one of this file and"},
        {{0, -1, 5000}, {1, 2, 5000}, "b.json: error: only one of this file and"},
        {{0, -1, 5000}, {1, -1, 5000}, NULL},
        {{0, 2, 5000}, {1, 3, 5000}, "b.json: error: a job of 3 ranks, but"},
        {{1, 3, 5000}, {0, 2, 5000}, "a.json: error: a job of 3 ranks, but"},
        {{0, 2, 5000}, {1, 2, 60000035000}, NULL},
        {{0, 2, 5000}, {1, 2, 60000035001}, "b.json: error: recorded 60 s apart from"},
        {{0, 2, 60000035000}, {1, 2, 5000}, NULL},
        {{0, 2, 60000035001}, {1, 2, 5000}, "b.json: error: recorded 60 s apart from"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++)
        read_pair(own, &cases[i]);
}

TEST_WITH(missing_ranks_are_named, setup, teardown)
{
    static const struct {
        int ranks[2];
        const char *words;
    } cases[] = {{{0, 2}, "2 of 3 ranks are given; the first missing rank is 1"},
                 {{2, 1}, "2 of 3 ranks are given; the first missing rank is 0"},
                 {{1, 0}, "2 of 3 ranks are given; the first missing rank is 2"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *paths[] = {write_rank(own, "a.json", (made_rank){cases[i].ranks[0], 3, 5000}),
                               write_rank(own, "b.json", (made_rank){cases[i].ranks[1], 3, 5000})};
        assert_int_equal(read_paths(own, paths, 2, false), ST_ERR_VALUE);
        const char *heard = said(own->errors);
        assert_contains(heard, cases[i].words);
        assert_contains(heard, "error");
        assert_contains(heard, "--partial uses the ranks that are there");
        assert_int_equal(read_paths(own, paths, 2, true), ST_OK);
        heard = said(own->errors);
        assert_contains(heard, cases[i].words);
        assert_contains(heard, "warning");
        assert_null(strstr(heard, "--partial"));
        assert_int_equal(own->set->count, 2);
    }
    const char *alone[] = {write_rank(own, "c.json", (made_rank){1, 3, 5000})};
    assert_int_equal(read_paths(own, alone, 1, false), ST_OK);
    assert_int_equal(st_errors_size(own->errors), 0);
}

/* ---- one job ---- */

enum { MOST_COLLECTIVES = 4 };

/* A trace of nothing but collectives, made by hand; texts are given as they are numbered. */
typedef struct made_trace {
    st_trace trace;
    const char *names[4 * MOST_COLLECTIVES + 1];
    st_trace_collective collectives[MOST_COLLECTIVES];
} made_trace;

typedef struct made_collective {
    const char *name;
    const char *group;
    const char *ranks; /* NULL: none */
    int64_t elements;
    int64_t sequence;
    int64_t group_size;
} made_collective;

static uint32_t number_name(made_trace *made, const char *name)
{
    if (name == NULL)
        return ST_TRACE_NONE;
    made->names[made->trace.name_count] = name;
    return made->trace.name_count++;
}

static void begin_trace(made_trace *made, const char *file, int64_t rank, const char *gpu)
{
    *made = (made_trace){.trace = {.file = file, .rank = rank, .world_size = 4}};
    made->trace.names = made->names;
    made->trace.collectives = made->collectives;
    made->trace.gpu = number_name(made, gpu);
}

static void add_collective(made_trace *made, const made_collective *what)
{
    made->collectives[made->trace.collective_count++] =
        (st_trace_collective){.name = number_name(made, what->name),
                              .group = number_name(made, what->group),
                              .ranks = number_name(made, what->ranks),
                              .in_elements = what->elements,
                              .sequence = what->sequence,
                              .group_size = what->group_size};
}

static st_status check(made_trace *made, size_t count, bool partial, st_errors *errors)
{
    st_trace *ranks[3];
    for (size_t i = 0; i < count; i++)
        ranks[i] = &made[i].trace;
    return st_trace_check_job(ranks, count, partial, errors);
}

/* Only a list that is whole tells that a rank, 3, is not of a group. */
TEST_WITH(a_rank_is_of_its_groups, setup, teardown)
{
    static const struct {
        const char *list;
        bool lacks;
    } cases[] = {{"[0, 1]", true},       {"[13, 33]", true}, {"[0,1]", true},   {"[-3]", true},
                 {"[0, 3]", false},      {"[3]", false},     {"[3, 0]", false}, {"[]", false},
                 {"[0, 1", false},       {"0, 1]", false},   {"", false},       {"[x]", false},
                 {"[0, 1, ...]", false}, {"[0, 1] ", false}, {"[0; 1]", false}};
    fixture *own = *state;
    made_trace made[2];
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_trace(&made[0], "r0.json", 0, NULL);
        begin_trace(&made[1], "r3.json", 3, NULL);
        add_collective(&made[1], &(made_collective){"allreduce", "7", cases[i].list, 385, -1, 2});
        if (check(made, 2, false, own->errors) != (cases[i].lacks ? ST_ERR_VALUE : ST_OK))
            fail_msg("'%s' is taken for one that %s", cases[i].list,
                     cases[i].lacks ? "has rank 3" : "lacks rank 3");
        if (cases[i].lacks)
            assert_contains(said(own->errors), "r3.json: error: rank 3 has a collective of the "
                                               "ranks");
        /* Of a rank that nobody knows, or without another, nothing is asked. */
        assert_int_equal(check(&made[1], 1, false, own->errors), ST_OK);
        made[1].trace.rank = -1;
        assert_int_equal(check(made, 2, false, own->errors), ST_OK);
    }
}

TEST_WITH(groups_are_no_larger_than_the_job, setup, teardown)
{
    static const struct {
        int64_t world_size;
        int64_t group_size;
        st_status status;
    } cases[] = {{4, 4, ST_OK}, {4, 5, ST_ERR_VALUE}, {-1, 5, ST_OK}, {1, 2, ST_ERR_VALUE}};
    fixture *own = *state;
    made_trace made[2];
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_trace(&made[0], "r0.json", 0, NULL);
        begin_trace(&made[1], "r3.json", 3, NULL);
        made[1].trace.world_size = cases[i].world_size;
        add_collective(
            &made[1], &(made_collective){"allreduce", "7", "[0, 3]", 385, 19, cases[i].group_size});
        assert_int_equal(check(made, 2, false, own->errors), cases[i].status);
        if (cases[i].status != ST_OK)
            assert_contains(said(own->errors), "ranks in a job of");
    }
}

typedef struct meeting_case {
    made_collective first;
    made_collective second;
    bool same; /* or nothing to compare */
} meeting_case;

#define LIST "[0, 3]"

TEST_WITH(collectives_of_one_place_are_the_same, setup, teardown)
{
    static const meeting_case cases[] = {
        {{"allreduce", "7", LIST, 385, 19, 2}, {"allreduce", "7", LIST, 385, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"allreduce", "7", LIST, 386, 19, 2}, false},
        {{"allreduce", "7", LIST, -1, 19, 2}, {"allreduce", "7", LIST, 386, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"allreduce", "7", LIST, -1, 19, 2}, true},
        {{"allreduce", "7", LIST, 0, 19, 2}, {"allreduce", "7", LIST, 386, 19, 2}, false},
        {{"allreduce", "7", LIST, 386, 19, 2}, {"allreduce", "7", LIST, 0, 19, 2}, false},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"broadcast", "7", LIST, 385, 19, 2}, false},
        {{"allgather", "7", LIST, 385, 19, 2}, {"allgather", "7", LIST, 771, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"send", "7", LIST, 385, 19, 2}, true},
        {{"recv", "7", LIST, 385, 19, 2}, {"allreduce", "7", LIST, 385, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"broadcast", "7", LIST, 385, 19, 1}, true},
        {{"allreduce", "7", LIST, 385, -1, 2}, {"broadcast", "7", LIST, 385, -1, 2}, true},
        {{"allreduce", "7", LIST, 385, 0, 2}, {"broadcast", "7", LIST, 385, 0, 2}, false},
        {{"allreduce", "7", NULL, 385, 19, 2}, {"broadcast", "7", NULL, 385, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"broadcast", "8", LIST, 385, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"broadcast", "7", "[0, 2, 3]", 385, 19, 2}, true},
        {{"allreduce", "7", LIST, 385, 19, 2}, {"broadcast", "7", LIST, 385, 20, 2}, true},
    };
    fixture *own = *state;
    made_trace made[2];
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_trace(&made[0], "r0.json", 0, NULL);
        begin_trace(&made[1], "r3.json", 3, NULL);
        add_collective(&made[0], &cases[i].first);
        add_collective(&made[1], &cases[i].second);
        if (check(made, 2, false, own->errors) != (cases[i].same ? ST_OK : ST_ERR_VALUE))
            fail_msg("case %zu: %s", i, said(own->errors));
        st_errors_clear(own->errors);
    }
}

/* A rank is of another job where more of its collectives differ than agree. */
TEST_OF(most_collectives_decide, fixture *own, setup, teardown)
{
    made_trace made[3];
    for (size_t i = 0; i < 3; i++) {
        static const char *const files[] = {"r0.json", "r1.json", "r2.json"};
        begin_trace(&made[i], files[i], (int64_t)i, NULL);
        for (int64_t k = 0; k < 2; k++)
            add_collective(&made[i], &(made_collective){"allreduce", "7", "[0, 1, 2]",
                                                        i == 1 ? 100 + 10 * k : 100, 19 + k, 3});
    }
    assert_int_equal(check(made, 3, false, own->errors), ST_OK);
    for (size_t i = 0; i < 3; i++)
        add_collective(&made[i], &(made_collective){"broadcast", "7", "[0, 1, 2]", 5, 23, 3});
    assert_int_equal(check(made, 3, false, own->errors), ST_OK);
    made[1].collectives[2].name = made[1].collectives[1].name;
    assert_int_equal(check(made, 3, false, own->errors), ST_ERR_VALUE);
    assert_int_equal(st_errors_size(own->errors), 1);
    assert_contains(said(own->errors),
                    "r1.json: error: 2 of 3 collectives are not those of r0.json: number 20 is "
                    "allreduce of 110 elements, there allreduce of 100: these are different jobs");
}

/* Several of a rank at one place were put together: only the first is compared. */
TEST_OF(collectives_that_were_put_together_count_once, fixture *own, setup, teardown)
{
    made_trace made[2];
    begin_trace(&made[0], "r0.json", 0, NULL);
    begin_trace(&made[1], "r3.json", 3, NULL);
    add_collective(&made[0], &(made_collective){"allreduce", "7", LIST, 385, 19, 2});
    for (int64_t k = 2; k >= 0; k--)
        add_collective(&made[1], &(made_collective){"allreduce", "7", LIST, 385 + k, 19, 2});
    assert_int_equal(check(made, 2, false, own->errors), ST_OK);
}

TEST_WITH(gpus_of_a_job_are_the_same, setup, teardown)
{
    static const struct {
        const char *first;
        const char *second;
        bool same;
    } cases[] = {{"H100", "H100", true},
                 {"H100", "A100", false},
                 {"H100", NULL, true},
                 {NULL, "A100", true},
                 {"", "A100", true}};
    fixture *own = *state;
    made_trace made[2];
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_trace(&made[0], "r0.json", 0, cases[i].first);
        begin_trace(&made[1], "r1.json", 1, cases[i].second);
        assert_int_equal(check(made, 2, false, own->errors), cases[i].same ? ST_OK : ST_ERR_VALUE);
        assert_int_equal(st_errors_size(own->errors), cases[i].same ? 0 : 1);
        if (!cases[i].same)
            assert_contains(said(own->errors), "r1.json: error: recorded on A100, r0.json on "
                                               "H100: these seem to be different jobs");
        assert_int_equal(check(made, 2, true, own->errors), ST_OK);
        if (!cases[i].same)
            assert_contains(said(own->errors), "r1.json: warning: recorded on A100");
    }
}

/* ---- bytes ---- */

/* All that is read in pieces of a size. */
static st_status read_all(st_bytes *bytes, size_t piece, st_buffer *into, st_errors *errors)
{
    char text[64];
    size_t got = 1;
    st_status status = ST_OK;
    while (status == ST_OK && got > 0) {
        status = st_bytes_read(bytes, text, piece, &got, errors);
        assert_true(got <= piece);
        if (status == ST_OK)
            st_buffer_append(into, text, got);
    }
    return status;
}

static void expect_text(const char *bytes, size_t length, const char *expected, bool cut)
{
    static const size_t pieces[] = {1, 7, 64};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        st_bytes *source = NULL;
        st_buffer text = {0};
        st_bytes_from_memory("r0.json", bytes, length, &source);
        assert_int_equal(read_all(source, pieces[i], &text, NULL), ST_OK);
        assert_string_equal(st_buffer_read(&text), expected);
        assert_int_equal(st_bytes_cut(source), cut);
        assert_string_equal(st_bytes_name(source), "r0.json");
        st_bytes_close(source);
        st_buffer_free(&text);
    }
}

/* Plain, one member of gzip, two that follow each other, and one that ends too soon. */
TEST_WITH(text_is_unpacked_where_it_is_packed, setup, teardown)
{
    static const char text[] = "{\"traceEvents\": [2.385, 2.385, 2.385, 2.385]}";
    fixture *own = *state;
    st_buffer packed = {0};
    st_buffer twice = {0};
    expect_text("", 0, "", false);
    expect_text("\x1F", 1, "\x1F", false);
    expect_text("\x1F{", 2, "\x1F{", false);
    expect_text("{\x8B", 2, "{\x8B", false);
    expect_text(text, strlen(text), text, false);
    st_buffer_append(&packed, text, strlen(text));
    assert_int_equal(st_gzip(&packed, own->errors), ST_OK);
    expect_text(packed.data, packed.length, text, false);
    expect_text(packed.data, packed.length - 1, text, true);
    expect_text(packed.data, 2, "", true);
    st_buffer_append(&twice, packed.data, packed.length);
    st_buffer_append(&twice, packed.data, packed.length);
    expect_text(twice.data, twice.length,
                "{\"traceEvents\": [2.385, 2.385, 2.385, 2.385]}"
                "{\"traceEvents\": [2.385, 2.385, 2.385, 2.385]}",
                false);
    st_buffer_free(&packed);
    st_buffer_free(&twice);
}

TEST_OF(damaged_gzip_is_refused, fixture *own, setup, teardown)
{
    st_bytes *source = NULL;
    st_buffer text = {0};
    static const char bytes[] = "\x1F\x8B\x09 this is no gzip, which begins as it does";
    st_bytes_from_memory("r0.json.gz", bytes, sizeof bytes, &source);
    assert_int_equal(read_all(source, 64, &text, own->errors), ST_ERR_SYNTAX);
    assert_contains(said(own->errors), "r0.json.gz: error: the gzip data are damaged: unknown "
                                       "compression method");
    st_bytes_close(source);
    st_buffer_free(&text);
}

/* 1 MiB of zeros shrinks a thousandfold: 256 of them are read, one more is no recording. */
TEST_WITH(what_grows_as_no_recording_does_is_refused, setup, teardown)
{
    enum { MIB = 1 << 20, UNSUSPECTED = 256 };
    fixture *own = *state;
    char *text = calloc(1, MIB);
    st_buffer packed = {0};
    st_buffer bomb = {0};
    st_bytes *source = NULL;
    size_t got = 1;
    uint64_t sum = 0;
    st_status status = ST_OK;
    st_buffer_append(&packed, text, MIB);
    assert_int_equal(st_gzip(&packed, own->errors), ST_OK);
    for (size_t i = 0; i <= UNSUSPECTED; i++)
        st_buffer_append(&bomb, packed.data, packed.length);
    st_bytes_from_memory("r0.json.gz", bomb.data, bomb.length, &source);
    while (status == ST_OK && got > 0) {
        status = st_bytes_read(source, text, MIB, &got, own->errors);
        sum += status == ST_OK ? got : 0;
    }
    assert_int_equal(status, ST_ERR_LIMIT);
    assert_int_equal(sum, (uint64_t)UNSUSPECTED * MIB);
    assert_contains(said(own->errors), "the gzip data grow to more than 100 times their size, as "
                                       "no recording does: found 25");
    st_bytes_close(source);
    st_buffer_free(&packed);
    st_buffer_free(&bomb);
    free(text);
}

static void expect_io_error(fixture *own, const char *path, const char *words)
{
    st_bytes *source = NULL;
    assert_int_equal(st_bytes_open(path, &source, own->errors), ST_ERR_IO);
    assert_null(source);
    assert_contains(said(own->errors), words);
}

/* A pipe is read as a file is, byte by byte where it must be. */
TEST_OF(files_and_pipes_are_read, fixture *own, setup, teardown)
{
    st_bytes *source = NULL;
    st_buffer text = {0};
    const char *path = write_bytes(own, "r0.json", "{\"traceEvents\": []}", 19);
    assert_int_equal(st_bytes_open(path, &source, own->errors), ST_OK);
    assert_int_equal(read_all(source, 5, &text, own->errors), ST_OK);
    assert_string_equal(st_buffer_read(&text), "{\"traceEvents\": []}");
    st_bytes_close(source);
    st_buffer_free(&text);
    path = path_of(own, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    int writer = open(path, O_RDWR);
    assert_true(writer >= 0);
    assert_int_equal(st_bytes_open(path, &source, own->errors), ST_OK);
    assert_int_equal(write(writer, "{\"a\": 2.385}", 12), 12);
    assert_int_equal(close(writer), 0);
    assert_int_equal(read_all(source, 5, &text, own->errors), ST_OK);
    assert_string_equal(st_buffer_read(&text), "{\"a\": 2.385}");
    st_bytes_close(source);
    st_buffer_free(&text);
    expect_io_error(own, own->folder, "cannot read the trace: the path is a folder");
    expect_io_error(own, "/dev/null", "cannot read the trace: it is neither a file nor a pipe");
    expect_io_error(own, path_of(own, "none"), "cannot read the trace: No such file");
}

TESTS(trace_set);

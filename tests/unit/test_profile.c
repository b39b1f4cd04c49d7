/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of profiles: what goes in comes out, whole or not at all, with two processes that
 * write at once, and files that are something else.
 */
#define _DEFAULT_SOURCE
#include "base_support.h"

#include "steptime/tool/profiles.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef STEPTIME_HAVE_SQLITE
#include <sqlite3.h>
#endif

typedef struct profile_case {
    char folder[64];
    char file[96];
    st_arena *arena;
    st_errors *errors;
    st_profiles *profiles;
} profile_case;

static int begin(void **state)
{
    profile_case *with = calloc(1, sizeof *with);
    if (with == NULL)
        return -1;
    *state = with;
    strcpy(with->folder, "/tmp/steptime-profiles-XXXXXX");
    if (mkdtemp(with->folder) == NULL)
        return -1;
    snprintf(with->file, sizeof with->file, "%s/profiles.db", with->folder);
    with->arena = st_arena_create();
    with->errors = st_errors_create();
    return with->arena != NULL && with->errors != NULL ? 0 : -1;
}

static int end(void **state)
{
    profile_case *with = *state;
    char command[128];
    st_profiles_close(with->profiles);
    st_errors_destroy(with->errors);
    st_arena_destroy(with->arena);
    snprintf(command, sizeof command, "rm -rf '%s'", with->folder);
    int code = system(command);
    free(with);
    return code;
}

static void open_for(profile_case *with, st_profiles_access access)
{
    st_profiles_close(with->profiles);
    with->profiles = NULL;
    st_status status = st_profiles_open(with->file, access, &with->profiles, with->errors);
    if (status != ST_OK)
        fail_msg("%s", said(with->errors));
}

static void expect_unopened(profile_case *with, st_profiles_access access, const char *words)
{
    st_profiles_close(with->profiles);
    with->profiles = NULL;
    assert_true(st_profiles_open(with->file, access, &with->profiles, with->errors) != ST_OK);
    assert_null(with->profiles);
    assert_contains(said(with->errors), words);
}

static st_profile entry_of(const char *name, const char *collective, size_t ranks, size_t nodes)
{
    static const char payload[] = "{\"latency\": \"4.385 us\", \"bandwidth\": \"92.7 GB/s\"}";
    return (st_profile){.name = name,
                        .kind = ST_PROFILE_OPTIONS,
                        .plugin = "alpha-beta",
                        .cluster = "site-a",
                        .fabric = "HDR",
                        .nccl = "2.22.3",
                        .collective = collective,
                        .ranks = ranks,
                        .nodes = nodes,
                        .payload = payload,
                        .payload_bytes = sizeof payload - 1,
                        .provenance = "{\"rows\": 26}"};
}

static void put(profile_case *with, st_profile entry)
{
    assert_int_equal(st_profiles_put(with->profiles, &entry, 1, false, with->errors), ST_OK);
}

static st_status import_text(profile_case *with, st_profile_text text, bool replace, size_t *stored)
{
    const st_profile *entries = NULL;
    st_status status = st_profiles_read(&text, with->arena, &entries, stored, with->errors);
    return status == ST_OK
               ? st_profiles_put(with->profiles, entries, *stored, replace, with->errors)
               : status;
}

static size_t count_of(profile_case *with, st_profile_filter filter)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    assert_int_equal(
        st_profiles_find(with->profiles, &filter, with->arena, &entries, &count, with->errors),
        ST_OK);
    return count;
}

/* ---- what goes in comes out ---- */

TEST_OF(entries_come_back, profile_case *with, begin, end)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    put(with, entry_of("far", "all_reduce", 16, 2));
    put(with, entry_of("far", "all_gather", 16, 2));
    put(with, entry_of("another", "all_reduce", 16, 2));
    open_for(with, ST_PROFILES_READ);
    assert_int_equal(count_of(with, (st_profile_filter){0}), 4);
    assert_int_equal(count_of(with, (st_profile_filter){.name = "far"}), 3);
    assert_int_equal(count_of(with, (st_profile_filter){.name = "nosuch"}), 0);
    assert_int_equal(count_of(with, (st_profile_filter){.ranks = 64, .nodes = 8}), 1);
    st_profile_filter filter = {.name = "far", .collective = "all_reduce"};
    assert_int_equal(
        st_profiles_find(with->profiles, &filter, with->arena, &entries, &count, with->errors),
        ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(entries[0].nodes, 2); /* sorted */
    assert_int_equal(entries[1].nodes, 8);
    assert_string_equal(entries[0].cluster, "site-a");
    assert_string_equal(entries[0].fabric, "HDR");
    assert_string_equal(entries[0].nccl, "2.22.3");
    assert_string_equal(entries[0].provenance, "{\"rows\": 26}");
    assert_memory_equal(entries[0].payload, "{\"latency\"", 10);
}

TEST_OF(keys_are_unique, profile_case *with, begin, end)
{
    open_for(with, ST_PROFILES_WRITE);
    st_profile two[] = {entry_of("far", "all_gather", 16, 2), entry_of("far", "all_reduce", 16, 2)};
    put(with, two[1]);
    assert_int_equal(st_profiles_put(with->profiles, two, 2, false, with->errors), ST_ERR_NAME);
    assert_contains(said(with->errors), "duplicate profile 'far' of alpha-beta for all_reduce on "
                                        "16 ranks and 2 nodes; use --replace to overwrite it");
    assert_int_equal(count_of(with, (st_profile_filter){0}), 1); /* not the first of them either */
    two[1].provenance = "{\"rows\": 27}";
    assert_int_equal(st_profiles_put(with->profiles, two, 2, true, with->errors), ST_OK);
    assert_int_equal(count_of(with, (st_profile_filter){0}), 2);
}

TEST_OF(bytes_come_back, profile_case *with, begin, end)
{
    static const unsigned char bytes[] = {0, 1, 2, 255, 0, 254, 7};
    const st_profile *entries = NULL;
    size_t count = 0;
    st_profile entry = entry_of("blob", "", 0, 0);
    entry.kind = "overlap-model";
    entry.payload = bytes;
    open_for(with, ST_PROFILES_WRITE);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        st_buffer text = {0};
        size_t stored = 0;
        entry.payload_bytes = length;
        assert_int_equal(st_profiles_put(with->profiles, &entry, 1, true, with->errors), ST_OK);
        st_profiles_export(&entry, 1, &text);
        assert_int_equal(
            import_text(with, (st_profile_text){"x", text.data, text.length}, true, &stored),
            ST_OK);
        st_buffer_free(&text);
        assert_int_equal(stored, 1);
        assert_int_equal(st_profiles_find(with->profiles, &(st_profile_filter){.name = "blob"},
                                          with->arena, &entries, &count, with->errors),
                         ST_OK);
        assert_int_equal(entries[0].payload_bytes, length);
        assert_memory_equal(entries[0].payload, bytes, length);
    }
}

TEST_OF(profiles_are_removed, profile_case *with, begin, end)
{
    size_t removed = 0;
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    put(with, entry_of("far", "all_reduce", 16, 2));
    put(with, entry_of("near", "all_reduce", 16, 2));
    assert_int_equal(st_profiles_remove(with->profiles, "far", &removed, with->errors), ST_OK);
    assert_int_equal(removed, 2);
    assert_int_equal(st_profiles_remove(with->profiles, "nera", &removed, with->errors),
                     ST_ERR_NAME);
    assert_contains(said(with->errors), "unknown profile 'nera'; did you mean 'near'?");
    assert_int_equal(count_of(with, (st_profile_filter){0}), 1);
}

TEST_OF(bad_entries_are_refused, profile_case *with, begin, end)
{
    char *large = calloc(1, ST_PROFILE_MAX_BYTES + 1);
    char longer[600];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    st_profile entries[] = {
        entry_of("", "all_reduce", 16, 2),   entry_of("a b", "all_reduce", 16, 2),
        entry_of("a", "all\nreduce", 16, 2), entry_of("a", longer, 16, 2),
        entry_of("a", "all_reduce", 16, 3),  entry_of("a", "all_reduce", 16, 2)};
    static const char *const words[] = {
        "name of a profile: found ''", "name of a profile: found 'a b'",
        "control characters",          "too long",
        "16 ranks on 3 nodes",         "payload of a profile is too large"};
    entries[5].payload = large;
    entries[5].payload_bytes = ST_PROFILE_MAX_BYTES + 1;
    open_for(with, ST_PROFILES_WRITE);
    for (size_t i = 0; i < COUNT(entries); i++) {
        assert_int_equal(st_profiles_put(with->profiles, &entries[i], 1, true, with->errors),
                         ST_ERR_VALUE);
        assert_contains(said(with->errors), words[i]);
    }
    assert_int_equal(count_of(with, (st_profile_filter){0}), 0);
    free(large);
}

/* As large as a model that some ten thousand kernels taught. */
TEST_OF(large_models_are_kept, profile_case *with, begin, end)
{
    enum { LARGE = 9 * 1024 * 1024 };
    char *text = calloc(1, LARGE + 1);
    assert_non_null(text);
    for (size_t i = 0; i < LARGE; i++)
        text[i] = (char)('a' + i % 23);
    st_profile entry = entry_of("large", "", 0, 0);
    entry.kind = ST_PROFILE_MODEL;
    entry.payload = text;
    entry.payload_bytes = LARGE;
    open_for(with, ST_PROFILES_WRITE);
    assert_int_equal(st_profiles_put(with->profiles, &entry, 1, true, with->errors), ST_OK);
    st_profile_filter filter = {.name = "large", .plugin = "alpha-beta"};
    st_profile_found found = {0};
    assert_int_equal(st_profile_settings(with->file, &filter, with->arena, &found, with->errors),
                     ST_OK);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.options[0].name, "model");
    assert_string_equal(found.options[0].text, text);
    st_buffer sent = {0};
    size_t stored = 0;
    st_profiles_export(&entry, 1, &sent);
    st_profile_text import = {.file = "x.json", .text = sent.data, .length = sent.length};
    assert_int_equal(import_text(with, import, true, &stored), ST_OK);
    assert_int_equal(stored, 1);
    st_buffer_free(&sent);
    free(text);
}

/* ---- the entry that a job means ---- */

static const st_profile *settings(profile_case *with, st_profile_filter filter)
{
    st_profile_found found = {0};
    if (st_profile_settings(with->file, &filter, with->arena, &found, with->errors) != ST_OK)
        return NULL;
    assert_int_equal(found.count, 2);
    assert_string_equal(found.options[0].name, "latency");
    assert_string_equal(found.options[0].text, "4.385 us");
    assert_string_equal(found.options[1].text, "92.7 GB/s");
    return found.entry;
}

TEST_OF(the_nearest_entry_is_taken, profile_case *with, begin, end)
{
    st_profile_filter filter = {.name = "far", .plugin = "alpha-beta", .collective = "all_reduce"};
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 16, 2));
    put(with, entry_of("far", "all_reduce", 64, 8));
    put(with, entry_of("far", "all_gather", 512, 64));
    filter.nodes = 2;
    assert_int_equal(settings(with, filter)->nodes, 2);
    filter.nodes = 64;
    assert_int_equal(settings(with, filter)->nodes, 8);
    filter.nodes = 3;
    assert_int_equal(settings(with, filter)->nodes, 2);
    filter.collective = "all_gather";
    assert_int_equal(settings(with, filter)->nodes, 64);
    filter.collective = "broadcast";
    assert_null(settings(with, filter));
    assert_contains(said(with->errors), "profile 'far' has no options of alpha-beta for broadcast: "
                                        "found all_gather, all_reduce");
    filter.plugin = "nccl-whitebox";
    assert_null(settings(with, filter));
    assert_contains(said(with->errors), "profile 'far' has no options for plugin 'nccl-whitebox': "
                                        "found 'alpha-beta'");
    filter.name = "fra";
    assert_null(settings(with, filter));
    assert_contains(said(with->errors), "unknown profile 'fra'; did you mean 'far'?");
}

/* One for each group; what holds for any comes behind what fits, before the next. */
TEST_OF(groups_have_an_entry_each, profile_case *with, begin, end)
{
    st_profile_filter filter = {.name = "far", .plugin = "alpha-beta", .collective = "all_reduce"};
    st_profile_found *found = NULL;
    size_t count = 0;
    st_profile other = entry_of("far", "all_reduce", 64, 8);
    other.nccl = "2.9.9";
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "", 64, 8));
    put(with, entry_of("far", "", 32, 4));
    put(with, entry_of("far", "all_reduce", 64, 8));
    put(with, other);
    put(with, entry_of("far", "all_reduce", 0, 0));
    put(with, entry_of("far", "all_reduce", 8, 1));
    put(with, entry_of("far", "all_gather", 512, 64));
    assert_int_equal(st_profile_all(with->file, &filter, with->arena, &found, &count, with->errors),
                     ST_OK);
    assert_int_equal(count, 4);
    assert_int_equal(st_errors_size(with->errors), 1);
    assert_contains(said(with->errors),
                    "warning: profile 'far' has two entries for all_reduce on 64 ranks and 8 "
                    "nodes: uses cluster 'site-a', fabric 'HDR' and "
                    "NCCL '2.22.3', ignores 'site-a', 'HDR' and "
                    "'2.9.9'");
    static const size_t cases[][4] = {/* ranks, nodes, and those of the entry */
                                      {64, 8, 64, 8}, {8, 1, 8, 1},  {4, 1, 0, 0},
                                      {32, 4, 32, 4}, {16, 2, 0, 0}, {512, 64, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        filter.ranks = cases[i][0];
        filter.nodes = cases[i][1];
        const st_profile *entry = found[st_profile_nearest(found, count, &filter)].entry;
        assert_int_equal(entry->ranks, cases[i][2]);
        assert_int_equal(entry->nodes, cases[i][3]);
        assert_string_equal(entry->collective, entry->nodes == 4 ? "" : "all_reduce");
    }
    filter.collective = "broadcast"; /* which only the entries for any collective fit */
    assert_int_equal(st_profile_all(with->file, &filter, with->arena, &found, &count, with->errors),
                     ST_OK);
    assert_int_equal(count, 2);
    filter.name = "fra";
    assert_int_equal(st_profile_all(with->file, &filter, with->arena, &found, &count, with->errors),
                     ST_ERR_NAME);
}

TEST_OF(options_survive_quotes, profile_case *with, begin, end)
{
    static const st_profile_option some[] = {{"table", "a \"b\" \\ c: {d}"}, {"n", "2.385"}};
    const st_profile_option *options = NULL;
    size_t count = 0;
    st_buffer text = {0};
    st_profile_write_options(some, 2, &text);
    st_profile entry = entry_of("x", "", 0, 0);
    entry.payload = text.data;
    entry.payload_bytes = text.length;
    assert_int_equal(st_profile_options(&entry, with->arena, &options, &count, with->errors),
                     ST_OK);
    assert_int_equal(count, 2);
    assert_string_equal(options[0].text, "a \"b\" \\ c: {d}");
    entry.payload = "[1]";
    entry.payload_bytes = 3;
    assert_int_equal(st_profile_options(&entry, with->arena, &options, &count, with->errors),
                     ST_ERR_VALUE);
    entry.payload = "{\"a\": [1]}";
    entry.payload_bytes = 10;
    assert_int_equal(st_profile_options(&entry, with->arena, &options, &count, with->errors),
                     ST_ERR_VALUE);
    st_buffer_free(&text);
}

/* ---- exports ---- */

TEST_OF(exports_come_back, profile_case *with, begin, end)
{
    st_profile entries[] = {entry_of("far", "all_reduce", 64, 8), entry_of("far", "", 0, 0)};
    const st_profile *found = NULL;
    st_buffer text = {0};
    size_t count = 0;
    st_profiles_export(entries, 2, &text);
    open_for(with, ST_PROFILES_WRITE);
    assert_int_equal(
        import_text(with, (st_profile_text){"x.json", text.data, text.length}, false, &count),
        ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(st_profiles_find(with->profiles, &(st_profile_filter){0}, with->arena, &found,
                                      &count, with->errors),
                     ST_OK);
    st_buffer again = {0};
    st_profile reversed[] = {found[1], found[0]}; /* "" sorts first */
    st_profiles_export(reversed, 2, &again);
    assert_string_equal(again.data, text.data);
    st_buffer_free(&text);
    st_buffer_free(&again);
}

TEST_OF(bad_exports_change_nothing, profile_case *with, begin, end)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"hello", "x.json:1:1: error: an export of profiles: found 'hello', expected a map"},
        {"{\"format\": \"other\", \"schema\": 1, \"profiles\": []}", "not an export of profiles"},
        {"{\"format\": \"steptime profiles\", \"schema\": 9, \"profiles\": []}",
         "the profiles have schema 9"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\"}]}",
         "plugin"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"payload\": \"\"}, {\"name\": "
         "\"a\", \"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": -1, "
         "\"payload\": \"\"}]}",
         "invalid number of ranks or nodes"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\"}]}",
         "an entry requires either 'payload' or 'payload_base64'"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"payload_base64\": "
         "\"A=BC\"}]}",
         "payload is not valid base64"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a b\", "
         "\"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"payload\": \"\"}]}",
         "invalid name of a profile"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [", "x.json:"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"options\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": 16, "
         "\"nodes\": 2, \"payload\": 3}]}",
         "x.json:1:59: error: the payload does not contain options: expected a JSON object"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"options\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": 16, "
         "\"nodes\": 2, \"payload\": \"{x: \"}]}",
         "x.json:1:59: error: the payload does not contain options: expected a JSON object"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"options\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": 16, "
         "\"nodes\": 2, \"payload\": \"{a: [1]}\"}]}",
         "x.json:1:59: error: the payload does not contain options: expected a JSON object"},
        {"{\"format\": \"steptime profiles\", \"schema\": 1, \"profiles\": [{\"name\": \"a\", "
         "\"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": 16, \"nodes\": 2, "
         "\"payload\": \"\"},\n{\"name\": \"a\", \"kind\": \"b\", \"plugin\": \"c\", "
         "\"provenance\": \"\", \"ranks\": 32, \"nodes\": 2, \"payload\": \"\"},\n{\"name\": "
         "\"a\", \"kind\": \"b\", \"plugin\": \"c\", \"provenance\": \"\", \"ranks\": 16, "
         "\"nodes\": 2, \"payload\": \"7\"}]}",
         "x.json:3:1: error: profile 'a' of c for  on 16 ranks and 2 nodes is a duplicate of line "
         "1"},
    };
    open_for(with, ST_PROFILES_WRITE);
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t stored = 0;
        st_profile_text text = {"x.json", cases[i].text, strlen(cases[i].text)};
        assert_true(import_text(with, text, true, &stored) != ST_OK);
        assert_contains(said(with->errors), cases[i].words);
        assert_int_equal(count_of(with, (st_profile_filter){0}), 0);
    }
}

/* ---- files ---- */

static void write_file(const char *file, const char *text)
{
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

/* Changes the file with SQLite's own words, through a profile that is not one: by hand. */
static void patch(const char *file, long offset, unsigned value)
{
    unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 8), (unsigned char)value};
    int descriptor = open(file, O_WRONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(pwrite(descriptor, bytes, sizeof bytes, offset), 4);
    assert_int_equal(close(descriptor), 0);
}

enum { USER_VERSION_AT = 60, APPLICATION_ID_AT = 68 }; /* of the header: sqlite.org/fileformat */

TEST_OF(files_that_are_something_else, profile_case *with, begin, end)
{
    expect_unopened(with, ST_PROFILES_READ, "no such profile database");
    write_file(with->file, "x"); /* which is none to SQLite */
    expect_unopened(with, ST_PROFILES_READ, "not a profile database");
    expect_unopened(with, ST_PROFILES_WRITE, "not a profile database");
    write_file(with->file, "this is a text file, and it stays one\n");
    expect_unopened(with, ST_PROFILES_READ, "not a profile database");
    expect_unopened(with, ST_PROFILES_WRITE, "not a profile database");
    char text[64] = "";
    FILE *stream = fopen(with->file, "r");
    assert_non_null(fgets(text, sizeof text, stream));
    fclose(stream);
    assert_string_equal(text, "this is a text file, and it stays one\n");
    strcpy(with->file, with->folder);
    expect_unopened(with, ST_PROFILES_WRITE, "is not a regular file");
}

/* As a first import leaves it that was cut off before its end. */
TEST_OF(an_empty_file_has_no_profiles, profile_case *with, begin, end)
{
    const st_profile *entries = NULL;
    size_t count = 23;
    write_file(with->file, "");
    open_for(with, ST_PROFILES_READ);
    assert_int_equal(st_profiles_find(with->profiles, &(st_profile_filter){0}, with->arena,
                                      &entries, &count, with->errors),
                     ST_OK);
    assert_int_equal(count, 0);
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
}

TEST_OF(newer_and_foreign_databases, profile_case *with, begin, end)
{
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    st_profiles_close(with->profiles);
    with->profiles = NULL;
    patch(with->file, USER_VERSION_AT, 7);
    expect_unopened(with, ST_PROFILES_READ,
                    "the database has schema 7, and this steptime supports schemas up to 2; use a "
                    "newer steptime");
    expect_unopened(with, ST_PROFILES_WRITE, "schema 7");
    patch(with->file, USER_VERSION_AT, UINT32_MAX);
    expect_unopened(with, ST_PROFILES_READ, "the database has schema -1");
    expect_unopened(with, ST_PROFILES_WRITE, "the database has schema -1");
    patch(with->file, USER_VERSION_AT, ST_PROFILES_SCHEMA);
    patch(with->file, APPLICATION_ID_AT, 12345);
    expect_unopened(with, ST_PROFILES_WRITE, "another program made this file");
}

TEST_OF(damaged_databases, profile_case *with, begin, end)
{
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    st_profiles_close(with->profiles);
    with->profiles = NULL;
    patch(with->file, 100, 0x77777777); /* the first page of the schema */
    expect_unopened(with, ST_PROFILES_READ, "the database is damaged");
}

/* ---- databases of others ---- */

#ifdef STEPTIME_HAVE_SQLITE

static void change(const profile_case *with, const char *sql)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(with->file, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(database));
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* One entry, in the file alone. */
static void keep_one(profile_case *with)
{
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    st_profiles_close(with->profiles);
    with->profiles = NULL;
}

/* A list of free bytes that no query reads, in the page of the entries. */
TEST_OF(every_page_is_looked_at, profile_case *with, begin, end)
{
    enum { PAGE_BYTES = 4096, INDEX_LEAF = 0x0a, FAR_AWAY = 0x0ff0 };
    keep_one(with);
    patch(with->file, PAGE_BYTES, (unsigned)INDEX_LEAF << 24 | FAR_AWAY << 8);
    expect_unopened(with, ST_PROFILES_READ, "the database is damaged");
}

TEST_OF(entries_are_those_of_their_digests, profile_case *with, begin, end)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    keep_one(with);
    change(with, "UPDATE profile SET payload = replace(payload, '92.7', '92.8')");
    open_for(with, ST_PROFILES_READ);
    assert_int_equal(st_profiles_find(with->profiles, &(st_profile_filter){0}, with->arena,
                                      &entries, &count, with->errors),
                     ST_ERR_SYNTAX);
    assert_contains(said(with->errors), "the database is damaged");
    assert_null(entries);
}

TEST_OF(triggers_do_not_run, profile_case *with, begin, end)
{
    keep_one(with);
    change(with, "CREATE TRIGGER away AFTER INSERT ON profile BEGIN DELETE FROM profile; END");
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("near", "all_reduce", 8, 1));
    assert_int_equal(count_of(with, (st_profile_filter){0}), 2);
}

TEST_OF(views_are_refused, profile_case *with, begin, end)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    keep_one(with);
    change(with, "ALTER TABLE profile RENAME TO kept; CREATE VIEW profile AS SELECT * FROM kept");
    open_for(with, ST_PROFILES_READ);
    assert_int_not_equal(st_profiles_find(with->profiles, &(st_profile_filter){0}, with->arena,
                                          &entries, &count, with->errors),
                         ST_OK);
    assert_contains(said(with->errors), "access to view \"profile\" prohibited");
}

#endif

TEST_OF(read_only_databases, profile_case *with, begin, end)
{
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    assert_int_equal(chmod(with->file, 0444), 0);
    expect_unopened(with, ST_PROFILES_WRITE, "the database is read-only");
    open_for(with, ST_PROFILES_READ);
    assert_int_equal(count_of(with, (st_profile_filter){0}), 1);
    st_profile more = entry_of("more", "all_reduce", 64, 8);
    assert_int_equal(st_profiles_put(with->profiles, &more, 1, true, with->errors), ST_ERR_IO);
    assert_contains(said(with->errors), "the database is read-only");
}

/* ---- two processes ---- */

enum { WRITERS = 3, ENTRIES = 12 };

/* Stores entries one by one, each through a database of its own. */
static int write_many(const char *file, int writer)
{
    for (int i = 0; i < ENTRIES; i++) {
        char name[32];
        st_profiles *profiles = NULL;
        snprintf(name, sizeof name, "w%d-%d", writer, i);
        st_profile entry = entry_of(name, "all_reduce", 16, 2);
        if (st_profiles_open(file, ST_PROFILES_WRITE, &profiles, NULL) != ST_OK ||
            st_profiles_put(profiles, &entry, 1, false, NULL) != ST_OK)
            return 1;
        st_profiles_close(profiles);
    }
    return 0;
}

TEST_OF(writers_wait_for_each_other, profile_case *with, begin, end)
{
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(write_many(with->file, i));
    }
    for (int i = 0; i < WRITERS; i++) {
        int code = -1;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    open_for(with, ST_PROFILES_READ);
    assert_int_equal(count_of(with, (st_profile_filter){0}), WRITERS * ENTRIES);
}

/* SQLite's lock of a writer, held by another process; offsets of its file format. */
static void hold_lock(const char *file, int ready, int done)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000001, .l_len = 1};
    char byte = 'x';
    int descriptor = open(file, O_RDWR);
    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0)
        _exit(1);
    if (write(ready, &byte, 1) != 1 || read(done, &byte, 1) != 1)
        _exit(1);
    _exit(0);
}

TEST_OF(a_locked_database_is_told, profile_case *with, begin, end)
{
    int ready[2];
    int done[2];
    int code = -1;
    char byte = 0;
    open_for(with, ST_PROFILES_WRITE);
    put(with, entry_of("far", "all_reduce", 64, 8));
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_lock(with->file, ready[1], done[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    st_profile more = entry_of("more", "all_reduce", 64, 8);
    assert_int_equal(st_profiles_put(with->profiles, &more, 1, true, with->errors), ST_ERR_IO);
    assert_contains(said(with->errors), "the database is locked by another program; try again");
    assert_int_equal(write(done[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(count_of(with, (st_profile_filter){0}), 1);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(done[i]);
    }
}

TEST_OF(the_users_database, profile_case *with, begin, end)
{
    setenv("XDG_DATA_HOME", with->folder, 1);
    const char *file = st_profiles_path(with->arena);
    assert_contains(file, with->folder);
    assert_int_equal(st_profiles_open(NULL, ST_PROFILES_WRITE, &with->profiles, with->errors),
                     ST_OK); /* makes the folder */
    assert_int_equal(access(file, F_OK), 0);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "/nowhere", 1);
    assert_string_equal(st_profiles_path(with->arena),
                        "/nowhere/.local/share/steptime/profiles.db");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_null(st_profiles_path(with->arena));
    st_profiles *none = NULL;
    assert_int_equal(st_profiles_open(NULL, ST_PROFILES_READ, &none, with->errors), ST_ERR_IO);
    assert_contains(said(with->errors), "set XDG_DATA_HOME or HOME");
}

TEST(versions_are_counted_as_in_the_header)
{
    static const struct {
        const char *text;
        double code; /* 0: none */
    } cases[] = {{"2.22.3", 22203},     {"2.7.8", 20708},   {"2.22", 22200},
                 {"2", 20000},          {"9.99.99", 99999}, {"1.0.0", 10000},
                 {"10.0.0", 0},         {"0.9.1", 0},       {"2.100.0", 0},
                 {"2.3.100", 0},        {"2.22.3a", 0},     {"2.22.3Z", 0},
                 {"2.22.3z", 0},        {"2.22.3A", 0},     {"", 0},
                 {"NCCL", 0},           {"2.-1.0", 0},      {"2.1.-1", 0},
                 {"2.22.3+cuda", 22203}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double code = st_nccl_version_code(cases[i].text);
        if (cases[i].code > 0 ? code != cases[i].code : !isnan(code))
            fail_msg("'%s' is %g", cases[i].text, code);
    }
}

static void check_machine(profile_case *with, const st_profile_machine *machine, size_t nodes)
{
    const st_profile entry = {
        .name = "mine",
        .nccl = "2.22.3",
        .nodes = nodes,
        .provenance = "{\"gpu\": \"NVIDIA A100-SXM4-80GB\", \"link_bandwidth\": \"300 GB/s\", "
                      "\"nic_bandwidth\": \"48.5 GB/s\"}"};
    st_paths *paths = NULL;
    assert_int_equal(st_paths_create(NULL, 0, &paths, with->errors), ST_OK);
    assert_int_equal(st_profile_check_machine(paths, &entry, machine, (st_place){0}, with->errors),
                     ST_OK);
    st_paths_destroy(paths);
}

TEST_OF(other_machines_are_told, profile_case *with, begin, end)
{
    const st_profile_machine same = {"the job", "A100 SXM 80 GB", 22203, 300e9, 50e9};
    const st_profile_machine unknown = {"the job", NULL, (double)NAN, (double)NAN, (double)NAN};
    const st_profile_machine other = {"the job", "H100 SXM 80 GB", 2708, 450e9, 400e9};
    check_machine(with, &same, 1);
    check_machine(with, &same, 2);
    check_machine(with, &unknown, 2);
    assert_int_equal(st_errors_size(with->errors), 0);
    check_machine(with, &other, 2);
    check_machine(with, &other, 2); /* told once */
    check_machine(with, &other, 1);
    static const char *const told[] = {"on NVIDIA A100-SXM4-80GB, but the job has H100 SXM 80 GB",
                                       "with NCCL 2.22.3, but the job has 2.7.8",
                                       "over NICs of a node of 48.5 GB/s, but the job has 400 GB/s",
                                       "over links of 300 GB/s, but the job has 450 GB/s"};
    assert_int_equal(st_errors_size(with->errors), 4);
    for (size_t i = 0; i < 4; i++)
        assert_contains(st_errors_at(with->errors, i)->message, told[i]);
}

TEST_GROUP(profile)
{
    if (!st_profiles_available()) {
        puts("1..0 # SKIP built without SQLite");
        return 0;
    }
    return RUN_TESTS(profile);
}

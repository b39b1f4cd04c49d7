/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests of plugins: written from the plugin, read without it, and those of other builds. */
#include "job_support.h"

#include "base/text.h"
#include "plugin/kit/manifest.h"

#define FOLDER "plugins/template/"

/* A copy of the template's plugin, which the tests may change, in a root of its own. */
static int set_up_copy(void **state)
{
    assert_int_equal(set_up(state), 0);
    fixture *own = *state;
    static char bytes[1 << 20];
    const char *built = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(built);
    FILE *stream = fopen(st_arena_printf(own->arena, "%s/" FOLDER "template.so", built), "rb");
    assert_non_null(stream);
    size_t length = fread(bytes, 1, sizeof bytes, stream);
    assert_int_equal(fclose(stream), 0);
    assert_true(length > 0 && length < sizeof bytes);
    write_bytes(own, FOLDER "template.so", bytes, length);
    return 0;
}

static const char *manifest(fixture *own)
{
    st_buffer text = {0};
    if (st_plugin_write_manifest(own->paths, "template", own->arena, &text, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
    return st_buffer_keep(&text, own->arena);
}

static st_plugin_entry entry_of(fixture *own, const char *id)
{
    return (st_plugin_entry){
        .id = id, .file = below(own, FOLDER "template.so"), .root = below(own, "plugins")};
}

static void expect_state(const st_plugin_state *state, st_plugin_use use, const char *reason)
{
    assert_string_equal(state->reason, reason);
    assert_int_equal(state->use, use);
    bool empty = use == ST_PLUGIN_UNKNOWN;
    assert_string_equal(state->version, empty ? "" : "0.1.0");
    assert_string_equal(state->providers, empty ? "" : "all_reduce");
    assert_string_equal(state->schedules, "");
    assert_true((state->summary[0] == '\0') == empty);
}

TEST_OF(a_manifest_says_what_the_plugin_does, fixture *own, set_up_copy, tear_down)
{
    static const char head[] = "plugin: \"template\"\nversion: \"0.1.0\"\nsummary: \"";
    char bytes[64];
    struct stat info;
    const char *text = manifest(own);
    assert_int_equal(stat(below(own, FOLDER "template.so"), &info), 0);
    (void)snprintf(bytes, sizeof bytes, "\nbytes: %lld\ncrc32: ", (long long)info.st_size);
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_non_null(strstr(text, "\nproviders: [\"all_reduce\"]\n"));
    assert_null(strstr(text, "schedules"));
    const char *sum = strstr(text, bytes);
    assert_non_null(sum);
    sum += strlen(bytes);
    assert_int_equal(strspn(sum, "0123456789abcdef"), 8);
    assert_string_equal(sum + 8, "\n");
}

TEST_OF(a_manifest_is_that_of_its_build, fixture *own, set_up_copy, tear_down)
{
    st_manifest_match match = ST_MANIFEST_OTHER;
    assert_int_equal(
        st_plugin_match_manifest(own->paths, "template", own->arena, &match, own->errors), ST_OK);
    assert_int_equal(match, ST_MANIFEST_ABSENT);
    const char *text = manifest(own);
    write_text(own, FOLDER "template.manifest", text);
    assert_int_equal(
        st_plugin_match_manifest(own->paths, "template", own->arena, &match, own->errors), ST_OK);
    assert_int_equal(match, ST_MANIFEST_SAME);
    write_text(own, FOLDER "template.manifest", st_arena_printf(own->arena, "%s# more\n", text));
    assert_int_equal(
        st_plugin_match_manifest(own->paths, "template", own->arena, &match, own->errors), ST_OK);
    assert_int_equal(match, ST_MANIFEST_OTHER);
    st_errors_clear(own->errors);
    assert_int_equal(
        st_plugin_match_manifest(own->paths, "templat", own->arena, &match, own->errors),
        ST_ERR_NAME);
    assert_int_equal(match, ST_MANIFEST_ABSENT);
}

TEST_OF(a_manifest_is_read_without_the_plugin, fixture *own, set_up_copy, tear_down)
{
    st_plugin_state found;
    st_plugin_entry entry = entry_of(own, "template");
    const char *text = manifest(own);
    assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_UNKNOWN, "it has no manifest");
    write_text(own, FOLDER "template.manifest", text);
    assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_USABLE, "");
    entry.id = "other";
    assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_UNUSABLE, "its id is 'template', not 'other'");
    write_text(own, FOLDER "template.manifest", "plugin: [\n");
    assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_UNKNOWN, "its manifest cannot be read");
    write_text(own, FOLDER "template.manifest", "- template\n");
    assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_UNKNOWN, "its manifest cannot be read");
}

/* The length and the sum are looked at, each by itself. */
TEST_OF(another_build_has_another_manifest, fixture *own, set_up_copy, tear_down)
{
    st_plugin_state found;
    const st_plugin_entry entry = entry_of(own, "template");
    const char *text = manifest(own);
    const char *keys[] = {"bytes: ", "crc32: "};
    for (size_t i = 0; i < 2; i++) {
        char *changed = st_arena_copy(own->arena, text, strlen(text));
        assert_non_null(changed);
        char *digit = strstr(changed, keys[i]) + strlen(keys[i]);
        *digit = *digit == '7' ? '8' : '7';
        write_text(own, FOLDER "template.manifest", changed);
        assert_int_equal(st_plugin_read_manifest(&entry, own->arena, &found), ST_OK);
        expect_state(&found, ST_PLUGIN_UNKNOWN, "its manifest belongs to another build");
    }
}

TEST_OF(a_plugin_is_looked_at_in_a_process_of_its_own, fixture *own, set_up_copy, tear_down)
{
    st_plugin_state found;
    st_plugin_entry entry = entry_of(own, "template");
    assert_int_equal(st_plugin_look(own->paths, &entry, own->arena, &found), ST_OK);
    expect_state(&found, ST_PLUGIN_USABLE, "");
    write_text(own, FOLDER "broken.so", "no shared object");
    entry.file = below(own, FOLDER "broken.so");
    assert_int_equal(st_plugin_look(own->paths, &entry, own->arena, &found), ST_OK);
    assert_int_equal(found.use, ST_PLUGIN_UNUSABLE);
    assert_string_equal(found.reason, "not a shared object (not ELF)");
    assert_string_equal(found.version, "");
}

TESTS(manifest);

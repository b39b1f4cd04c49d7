/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases of a framework and the options that each accepts, from configs/launches/FRAMEWORK.yaml.
 * An option of the table is "TYPE" or the words that it takes, " null" where it may be none, ";
 * since RELEASE" and "; until RELEASE"; a word may have its own @RELEASE.
 */
#include "launch/frameworks/settings.h"

#include "base/yaml_read.h"
#include "steptime/tool/input_files.h"

#include <stdlib.h>
#include <string.h>

/* "0.9" is before "0.14". */
int fw_release_compare(const char *a, const char *b)
{
    char *a_end = NULL;
    char *b_end = NULL;
    while (*a != '\0' || *b != '\0') {
        const long first = strtol(a, &a_end, 10);
        const long second = strtol(b, &b_end, 10);
        if (first != second)
            return first < second ? -1 : 1;
        if (a_end == a && b_end == b)
            return 0;
        a = a_end + (*a_end == '.' ? 1 : 0);
        b = b_end + (*b_end == '.' ? 1 : 0);
    }
    return 0;
}

st_status fw_release_load(st_framework framework, const st_paths *paths, const char *wanted,
                          st_arena *arena, fw_release *release, st_errors *errors)
{
    static const char *const known[] = {"framework", "source", "releases", "options", "models"};
    const st_yaml_node *root = NULL;
    st_buffer names = {0};
    st_status status = st_paths_read_yaml(paths, ST_FOLDER_LAUNCHES, st_framework_name(framework),
                                          arena, &root, errors);
    if (status != ST_OK)
        return status;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = root->place.file};
    st_read_keys(&reader, root, "table of releases", known, ST_COUNT(known), 4);
    const st_yaml_node *list = st_read_list(&reader, root, "releases", 64);
    release->options = st_yaml_get(root, "options");
    release->models = st_yaml_get(root, "models");
    release->version = NULL;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const char *name = list->items[i]->kind == ST_YAML_SCALAR ? list->items[i]->text : "";
        if (wanted == NULL || strcmp(wanted, name) == 0)
            release->version = name;
        st_buffer_printf(&names, "%s%s", i > 0 ? ", " : "", name);
    }
    if (reader.status == ST_OK && release->version == NULL)
        reader.status = st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--target-version"},
                                "unknown release of %s" ST_FOUND "'%.60s'" ST_EXPECTED "one of %s",
                                fw_title(framework), st_or_none(wanted), st_or_none(names.data));
    st_buffer_free(&names);
    return reader.status;
}

/* "0.16" of "flag; since 0.16"; "" where it has none. */
static const char *bound(const char *row, const char *word, char text[32])
{
    const char *found = strstr(row, word);
    (void)snprintf(text, 32, "%.*s", found != NULL ? (int)strcspn(found + strlen(word), ";") : 0,
                   found != NULL ? found + strlen(word) : "");
    return text;
}

static const char *row_of(const fw_release *release, const char *option)
{
    const st_yaml_node *node = st_yaml_get(release->options, option);
    return node != NULL && node->kind == ST_YAML_SCALAR ? node->text : NULL;
}

bool fw_release_has(const fw_release *release, const char *option)
{
    char text[32];
    const char *row = row_of(release, option);
    if (row == NULL)
        return false;
    const char *since = bound(row, "; since ", text);
    if (since[0] != '\0' && fw_release_compare(release->version, since) < 0)
        return false;
    const char *until = bound(row, "; until ", text);
    return until[0] == '\0' || fw_release_compare(release->version, until) <= 0;
}

/* The release refuses the value: a word that its row lacks, or a broken whole number. */
static bool is_other_word(const fw_release *release, const char *row, const char *value)
{
    static const char *const types[] = {"flag", "int", "float", "text", "list"};
    const size_t whole = strcspn(row, ";");
    const bool may_lack = whole > 5 && strncmp(row + whole - 5, " null", 5) == 0;
    const size_t end = may_lack ? whole - 5 : whole;
    size_t start = strncmp(row, "list of ", 8) == 0 ? 8 : 0;
    if (may_lack && strcmp(value, "None") == 0)
        return false;
    if (end == 3 && strncmp(row, "int", 3) == 0)
        return value[strspn(value, "-0123456789")] != '\0';
    for (size_t i = 0; i < ST_COUNT(types); i++)
        if (end == strlen(types[i]) && strncmp(row, types[i], end) == 0)
            return false;
    while (start < end) {
        const size_t length = strcspn(row + start, " ;");
        const char *at = memchr(row + start, '@', length);
        const size_t word = at != NULL ? (size_t)(at - row) - start : length;
        char since[32] = "";
        if (at != NULL)
            (void)snprintf(since, sizeof since, "%.*s", (int)(length - word - 1), at + 1);
        if (strlen(value) == word && strncmp(row + start, value, word) == 0 &&
            (since[0] == '\0' || fw_release_compare(release->version, since) >= 0))
            return false;
        start += length + 1;
    }
    return true;
}

bool fw_release_check(st_framework framework, const fw_release *release,
                      const megatron_run *settings, st_errors *errors)
{
    bool fine = true;
    for (size_t i = 0; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        const char *name = setting->name;
        char option[256];
        if (framework == ST_MEGATRON) {
            const char *against = megatron_option_against(name, setting->value);
            name = against != NULL ? against : name;
        }
        (void)snprintf(option, sizeof option, "%s", name);
        for (char *c = option; framework == ST_MEGATRON && *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        if (fw_is_launcher(name))
            continue;
        const char *row = row_of(release, option);
        if (fw_release_has(release, option) && !is_other_word(release, row, setting->value))
            continue;
        char text[32];
        const char *since = row != NULL ? bound(row, "; since ", text) : "";
        fine = fw_refuse(
            errors, framework,
            st_errors_text(errors, "%s%s%s", option, strcmp(setting->value, "True") != 0 ? " " : "",
                           strcmp(setting->value, "True") != 0 ? setting->value : ""),
            since[0] != '\0' && !fw_release_has(release, option)
                ? st_errors_text(errors, "release %s lacks the option, which is there since %s",
                                 release->version, since)
                : st_errors_text(errors, "release %s does not accept it", release->version),
            "");
    }
    return fine;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schemas of jobs and of the files that they name, for editors of YAML; see schema.h. */
#include "cli/schema.h"

#include "base/chars.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/value_text.h"

#include <float.h>

#define NUMBER_PATTERN "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"

/* A number in the key's range, or text that the reader takes for one. */
static void put_number(const st_key *key, st_buffer *json)
{
    const bool is_count = key->kind == ST_KEY_COUNT;
    const bool is_positive = key->minimum > 0 && key->minimum < DBL_MIN;
    st_buffer_printf(json, "{\"anyOf\":[{\"type\":\"%s\",\"%s\":%.15g",
                     is_count ? "integer" : "number", is_positive ? "exclusiveMinimum" : "minimum",
                     is_positive ? 0 : key->minimum);
    if (key->maximum < DBL_MAX)
        st_buffer_printf(json, ",\"maximum\":%.15g", key->maximum);
    st_buffer_printf(json, "},{\"type\":\"string\",\"pattern\":\"%s\"}]}",
                     !is_count ? "^ *" NUMBER_PATTERN " *%? *$"
                     : strcmp(key->path, ST_KEY_CLUSTER_NCCL_VERSION) == 0
                         ? "^[0-9]+([.][0-9]+[.][0-9]+)?$"
                     : key->minimum >= 1 ? "^0*[1-9][0-9]*$"
                                         : "^[0-9]+$");
}

/* What one value may be. */
static void put_kind(const st_key *key, st_buffer *json)
{
    char storage[ST_VALUES_TEXT];
    const char *names[ST_VALUES_MAX];
    const size_t count = key->kind == ST_KEY_ENUM ? st_key_values(key, storage, names) : 0;
    static const char *const types[] = {
        [ST_KEY_COUNT] = "",
        [ST_KEY_NUMBER] = "",
        [ST_KEY_QUANTITY] =
            ("\"type\":\"string\",\"pattern\":\"^ *" NUMBER_PATTERN " *([^-+0-9., ]|1/)[^,]*$\""),
        [ST_KEY_BOOL] = "\"type\":\"boolean\"",
        [ST_KEY_ENUM] = "",
        [ST_KEY_TEXT] = "\"type\":[\"string\",\"number\",\"array\",\"object\",\"boolean\"]",
    };
    if (key->kind == ST_KEY_COUNT || key->kind == ST_KEY_NUMBER) {
        put_number(key, json);
        return;
    }
    st_buffer_printf(json, "{%s", types[key->kind]);
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(json, i > 0 ? "," : "\"enum\":[");
        st_buffer_json_string(json, names[i]);
    }
    st_buffer_text(json, count > 0 ? "]}" : "}");
}

static void put_description(const st_key *key, st_buffer *json)
{
    st_buffer text = {0};
    st_buffer_text(&text, key->doc);
    if (key->unit != NULL)
        st_buffer_printf(&text, "; unit: %s", key->unit);
    if (key->default_text != NULL && key->default_text[0] != '\0')
        st_buffer_printf(&text, "; default: %s", key->default_text);
    st_buffer_text(json, "\"description\":");
    st_buffer_json_string(json, st_text_or_empty(text.data));
    st_buffer_free(&text);
}

/* A value alone, or one with its source. A schedule may also be a plugin's. */
static void put_value(const st_key *key, st_buffer *json)
{
    st_buffer_text(json, "{");
    put_description(key, json);
    st_buffer_text(json, ",\"anyOf\":[");
    put_kind(key, json);
    if (key->kind == ST_KEY_ENUM)
        st_buffer_text(json, ",{\"type\":\"string\",\"pattern\":\":\"}");
    if (key->kind != ST_KEY_TEXT) {
        st_buffer_text(json, ",{\"type\":\"object\",\"properties\":{\"value\":");
        put_kind(key, json);
        st_buffer_text(json, ",\"source\":{\"type\":\"string\"},\"assumption\":{\"type\":"
                             "\"boolean\"}},\"required\":[\"value\"],"
                             "\"additionalProperties\":false}");
    }
    st_buffer_text(json, "]}");
}

static void put_map(const char *path, st_buffer *json);

/* A section is a map, or where files have it the name of one. */
static void put_section(const st_key_section *section, st_buffer *json)
{
    if (section->is_file) {
        st_buffer_text(json, "{\"description\":");
        st_buffer_json_string(json, section->doc);
        st_buffer_text(json, ",\"anyOf\":[{\"type\":\"string\"},");
    }
    put_map(section->path, json);
    st_buffer_text(json, section->is_file ? "]}" : "");
}

static bool is_direct(const char *path, const char *of)
{
    if (of[0] == '\0')
        return strchr(path, '.') == NULL;
    return st_is_below(path, of) && strchr(path + strlen(of) + 1, '.') == NULL;
}

static void put_map(const char *path, st_buffer *json)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    st_buffer_text(json, "{\"type\":\"object\",\"properties\":{\"doc\":{\"type\":\"string\"},"
                         "\"source\":{\"type\":\"string\"}");
    if (path[0] != '\0')
        st_buffer_text(json, ",\"base\":{\"type\":\"string\"}");
    for (size_t i = 0; i < count; i++)
        if (is_direct(keys[i].path, path)) {
            st_buffer_text(json, ",\n");
            st_buffer_json_string(json, st_last_part(keys[i].path, '.'));
            st_buffer_text(json, ":");
            put_value(&keys[i], json);
        }
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++)
        if (is_direct(sections[i].path, path)) {
            st_buffer_text(json, ",\n");
            st_buffer_json_string(json, st_last_part(sections[i].path, '.'));
            st_buffer_text(json, ":");
            put_section(&sections[i], json);
        }
    st_buffer_printf(json, "},\"additionalProperties\":%s}",
                     strcmp(path, "constants") == 0 || strcmp(path, "stack") == 0 ? "true"
                                                                                  : "false");
}

void cli_write_schema(const char *section, st_buffer *json)
{
    const char *name = section[0] != '\0' ? st_last_part(section, '.') : "job";
    st_buffer body = {0};
    put_map(section, &body);
    st_buffer_printf(json,
                     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
                     "\"title\":\"steptime: a %s\",\n%s\n",
                     name, body.data != NULL ? body.data + 1 : "}");
    json->failed = json->failed || body.failed;
    st_buffer_free(&body);
}

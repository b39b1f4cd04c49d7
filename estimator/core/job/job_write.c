/* SPDX-License-Identifier: Apache-2.0 */
/* Writing jobs; see job_write.h. */
#include "steptime/tool/job_write.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/files.h"
#include "job/job_loader.h"
#include "job/keys.h"
#include "job/sections.h"
#include "steptime/keys.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 2 };

typedef struct writer {
    const st_job_writing *file;
    st_arena *arena;
    st_buffer *buffer;
} writer;

static bool is_given(const st_job_value *value)
{
    return value->origin == ST_ORIGIN_FILE || value->origin == ST_ORIGIN_SET;
}

/* --- values ---------------------------------------------------------------------------------- */

/* The path where the working folder is another one. */
static const char *absolute(const writer *output, const char *path)
{
    char folder[PATH_MAX];
    if (path[0] == '/' || path[0] == '<' || getcwd(folder, sizeof folder) == NULL)
        return path;
    return st_or_none(st_arena_printf(output->arena, "%s/%s", folder, path));
}

static void write_value(const writer *output, const st_job_value *value, int indent)
{
    st_buffer *buffer = output->buffer;
    bool described = value->source != NULL || value->assumption;
    st_buffer_printf(buffer, "%*s%s: %s", indent, "", st_last_part(value->path, '.'),
                     described ? "{value: " : "");
    /* Quotes around what YAML could take for something else; numbers must not have any. */
    const st_key *key = value->key;
    /* A file that is named by path is relative to the file that names it. */
    const char *text;
    bool names_file = strcmp(value->path, ST_KEY_MODEL_LAYER_LIST) == 0 ||
                      strcmp(value->path, ST_KEY_CLUSTER_TOPOLOGY) == 0 ||
                      strncmp(value->path, ST_KEY_COLLECTIVES ".", 12) == 0;
    if (!names_file || !st_name_is_path(value->text)) {
        text = value->text;
    } else {
        const char *path = st_path_resolve(output->arena, value->place, value->text);
        text = absolute(output, path != NULL ? path : value->text);
    }
    bool plain = key != NULL && key->kind != ST_KEY_TEXT;
    if (plain || (key == NULL && strpbrk(text, "#:{}[],&*!|>'\"%@`") == NULL))
        st_buffer_text(output->buffer, text);
    else
        st_buffer_json_string(output->buffer, text);
    if (value->source != NULL)
        st_buffer_quoted(buffer, ", source: ", value->source, "");
    st_buffer_printf(buffer, "%s%s\n", value->assumption ? ", assumption: true" : "",
                     described ? "}" : "");
}

/* --- sections -------------------------------------------------------------------------------- */

/* The name of the file that a section consists of, on the search path; NULL: it is none. */
static const char *name_of(const writer *output, const char *section)
{
    const char *name = st_job_section_name(output->file->job, section);
    bool named = name != NULL && strcmp(name, "inline") != 0 && !st_name_is_path(name);
    return named ? name : NULL;
}

static bool is_direct(const char *key, const char *section)
{
    return st_is_below(key, section) && strchr(key + strlen(section) + 1, '.') == NULL;
}

static size_t write_section(const writer *output, const char *section, bool sets_only, int indent);

/* Of a named file only what an assignment changed is left to be said. */
static size_t write_keys(const writer *output, const char *section, bool sets_only, int indent)
{
    size_t count = 0;
    size_t written = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = st_job_value_of(output->file->job, keys[i].path);
        if (is_direct(keys[i].path, section) && is_given(value) &&
            (!sets_only || value->origin == ST_ORIGIN_SET)) {
            write_value(output, value, indent);
            written++;
        }
    }
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++)
        if (section == NULL ? strchr(sections[i].path, '.') == NULL
                            : is_direct(sections[i].path, section))
            written += write_section(output, sections[i].path, sets_only, indent);
    return written;
}

static size_t write_constants(const writer *output, int indent)
{
    const st_job *job = output->file->job;
    size_t written = 0;
    for (size_t i = 0; i < job->constant_count; i++) {
        if (is_given(&job->constants[i])) {
            write_value(output, &job->constants[i], indent);
            written++;
        }
    }
    return written;
}

/* A section as the name of its file, as a map over that file, or with all that it holds. */
static size_t write_section(const writer *output, const char *section, bool sets_only, int indent)
{
    bool constants = strcmp(section, ST_KEY_CONSTANTS) == 0;
    const char *name = constants ? NULL : name_of(output, section);
    size_t start = output->buffer->length;
    st_buffer_printf(output->buffer, "%*s%s:", indent, "", st_last_part(section, '.'));
    size_t head = output->buffer->length;
    st_buffer_text(output->buffer, "\n");
    if (name != NULL) {
        st_buffer_printf(output->buffer, "%*sbase: ", indent + STEP, "");
        st_buffer_quoted(output->buffer, "", name, "\n");
    }
    size_t written = constants
                         ? write_constants(output, indent + STEP)
                         : write_keys(output, section, sets_only || name != NULL, indent + STEP);
    if (written == 0 && !output->buffer->failed) {
        output->buffer->length = name != NULL ? head : start;
        output->buffer->data[output->buffer->length] = '\0';
        if (name != NULL)
            st_buffer_quoted(output->buffer, " ", name, "\n");
    }
    return written + (name != NULL ? 1 : 0);
}

/* --- plugins --------------------------------------------------------------------------------- */

/* --- the whole ------------------------------------------------------------------------------- */

/* The top itself: the name, the sheet, plugins and single keys. */
static void write_top(const writer *output)
{
    static const char *const apart[] = {ST_KEY_NAME, ST_KEY_SHEET, ST_KEY_REFINE};
    const st_job *job = output->file->job;
    const st_job_value *given = st_job_value_of(job, ST_KEY_SHEET);
    const char *sheet = output->file->sheet != NULL ? output->file->sheet
                        : is_given(given)           ? given->text
                                                    : NULL;
    st_buffer_quoted(output->buffer, "name: ", st_job_name(job), "");
    if (sheet != NULL)
        st_buffer_quoted(output->buffer,
                         "\nsheet: ", st_name_is_path(sheet) ? absolute(output, sheet) : sheet, "");
    st_buffer_text(output->buffer, "\n");
    const st_job_writing *file = output->file;
    st_buffer_text(output->buffer, file->refinement_count > 0 ? "refine:\n" : "");
    for (size_t i = 0; i < file->refinement_count; i++) {
        const st_refinement *entry = &file->refinements[i];
        st_buffer *buffer = output->buffer;
        st_buffer_quoted(buffer, "  - {plugin: ", entry->plugin, "");
        if (entry->profile != NULL)
            st_buffer_quoted(buffer, ", profile: ", entry->profile, "");
        st_buffer_text(buffer, entry->fallback ? ", fallback: formula" : "");
        for (size_t j = 0; j < entry->option_count; j++) {
            st_buffer_printf(buffer, "%s%s: ", j == 0 ? ", options: {" : ", ",
                             entry->options[j].name);
            st_buffer_json_string(buffer, entry->options[j].text);
        }
        st_buffer_text(buffer, entry->option_count > 0 ? "}}\n" : "}\n");
    }
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        bool is_apart = strchr(keys[i].path, '.') != NULL;
        for (size_t k = 0; k < ST_COUNT(apart); k++)
            is_apart = is_apart || strcmp(keys[i].path, apart[k]) == 0;
        const st_job_value *value = st_job_value_of(job, keys[i].path);
        if (!is_apart && is_given(value))
            write_value(output, value, 0);
    }
}

st_status st_job_write(const st_job_writing *file, st_arena *arena, st_buffer *buffer,
                       st_errors *errors)
{
    const writer output = {.file = file, .arena = arena, .buffer = buffer};
    size_t count = 0;
    const st_key_section *sections = st_key_sections(&count);
    const char *line = output.file->comment != NULL ? output.file->comment : "";
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        st_buffer_printf(output.buffer, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    write_top(&output);
    for (size_t i = 0; i < count; i++)
        if (strchr(sections[i].path, '.') == NULL)
            (void)write_section(&output, sections[i].path, false, 0);
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}

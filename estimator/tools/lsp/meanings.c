/* SPDX-License-Identifier: Apache-2.0 */
/* What words of sheets name, and where; see answers.h. */
#include "lsp/answers.h"

#include "base/chars.h"

#include "steptime/tool/estimates.h"
#include "steptime/tool/job_keys.h"

#include <stdlib.h>

/* "M" is also the family "M[first]", "M[rest]". */
static bool is_name_of(const char *name, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == '[');
}

st_lsp_meaning st_lsp_meaning_of(const st_sheet *sheet, const char *word, bool called)
{
    st_lsp_meaning meaning = {0};
    size_t count = 0;
    if (called) {
        const st_sheet_function *functions = st_sheet_functions(sheet, &count);
        for (size_t i = 0; i < count && meaning.function == NULL; i++)
            if (strcmp(functions[i].name, word) == 0)
                meaning.function = &functions[i];
        return meaning;
    }
    meaning.input = st_sheet_find_input(sheet, word);
    meaning.cell = st_sheet_find_cell(sheet, word);
    if (meaning.input != NULL || meaning.cell != NULL)
        return meaning;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    for (size_t i = 0; i < count && meaning.cell == NULL; i++)
        if (is_name_of(cells[i].name, word))
            meaning.cell = &cells[i];
    const st_enum *enums = st_sheet_enums(sheet, &count);
    for (size_t i = 0; i < count && meaning.cell == NULL && meaning.enumeration == NULL; i++)
        if (strcmp(enums[i].name, word) == 0)
            meaning.enumeration = &enums[i];
    for (size_t i = 0; i < count && meaning.cell == NULL && meaning.enumeration == NULL; i++)
        for (size_t k = 0; k < enums[i].count; k++)
            if (strcmp(enums[i].values[k], word) == 0)
                meaning.enumeration = &enums[i];
    return meaning;
}

st_place st_lsp_place_of(const st_lsp_meaning *meaning)
{
    return meaning->cell != NULL          ? meaning->cell->place
           : meaning->input != NULL       ? meaning->input->place
           : meaning->function != NULL    ? meaning->function->place
           : meaning->enumeration != NULL ? meaning->enumeration->place
                                          : (st_place){0};
}

const char *st_lsp_name_at(const st_lsp_question *question, bool *called)
{
    const st_document *document = question->document;
    const st_lsp_spot at = {document->text, document->length, question->offset};
    const st_lsp_word word = st_lsp_word_at(at, "");
    size_t next = word.end;
    st_lsp_context context;
    st_lsp_context_at((st_lsp_spot){at.text, at.length, word.start}, &context);
    while (next < at.length && at.text[next] == ' ')
        next++;
    const bool is_key = context.count == 1 && !context.in_value;
    *called = is_key ? strcmp(context.keys[0], "functions") == 0
                     : next < at.length && at.text[next] == '(';
    return context.in_comment
               ? ""
               : st_arena_copy(question->arena, at.text + word.start, word.end - word.start);
}

/* ---- definition ---- */

static void put_location(const st_lsp_question *question, st_place place, st_buffer *json)
{
    st_source source = {0};
    if (place.file == NULL || place.file[0] == '<' ||
        st_paths_read(question->documents->paths, ST_FOLDER_SHEETS,
                      place.file[0] == '/' ? place.file
                                           : st_arena_printf(question->arena, "./%s", place.file),
                      (st_place){0}, question->arena, &source, NULL) != ST_OK ||
        source.text == NULL) {
        st_buffer_text(json, "null"); /* in one of the sheets inside the program */
        return;
    }
    const st_lsp_spot at = {source.text, source.length,
                            st_lsp_offset_of_place(source.text, source.length, place)};
    st_buffer_text(json, "{\"uri\":");
    st_buffer_json_string(
        json, st_path_uri(st_lsp_absolute(place.file, question->arena), question->arena));
    st_buffer_text(json, ",\"range\":");
    st_lsp_put_range(json, at, st_lsp_word_at(at, "").end);
    st_buffer_text(json, "}");
}

/* The file that a value of a key names: of a model, a cluster, a sheet. */
static bool find_file(const st_lsp_question *question, const char *key, st_place *place)
{
    static const struct {
        const char *key;
        st_folder folder;
    } kinds[] = {{"include", ST_FOLDER_SHEETS},
                 {"sheet", ST_FOLDER_SHEETS},
                 {"model", ST_FOLDER_MODELS},
                 {"cluster", ST_FOLDER_CLUSTERS},
                 {"gpu", ST_FOLDER_GPUS},
                 {"cluster.gpu", ST_FOLDER_GPUS},
                 {"base", ST_FOLDER_JOBS},
                 {"stack", ST_FOLDER_STACKS},
                 {"model.base", ST_FOLDER_MODELS},
                 {"cluster.base", ST_FOLDER_CLUSTERS},
                 {"cluster.gpu.base", ST_FOLDER_GPUS},
                 {"stack.base", ST_FOLDER_STACKS},
                 {"constants", ST_FOLDER_CONSTANTS}};
    const st_document *document = question->document;
    const st_lsp_spot at = {document->text, document->length, question->offset};
    const st_lsp_word word = st_lsp_word_at(at, "-./");
    const char *name = st_arena_copy(question->arena, at.text + word.start, word.end - word.start);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        st_source source = {0};
        if (strcmp(kinds[i].key, key) != 0 || name == NULL || name[0] == '\0' ||
            st_paths_read(question->documents->paths, kinds[i].folder, name,
                          (st_place){.file = document->path, .line = 1}, question->arena, &source,
                          NULL) != ST_OK)
            continue;
        *place = (st_place){.file = source.file, .line = 1, .column = 1};
        return true;
    }
    return false;
}

/* "parallel.tp" */
static const char *path_of(const st_lsp_context *context, st_arena *arena)
{
    const char *path = "";
    for (size_t i = 0; i < context->count && path != NULL; i++)
        path = st_arena_printf(arena, "%s%s%s", path, i > 0 ? "." : "", context->keys[i]);
    return path != NULL ? path : "";
}

/* The input of the sheet that reads a key; NULL: none does. */
static const st_sheet_input *reader_of(const st_sheet *sheet, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = sheet != NULL ? st_sheet_inputs(sheet, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, key) == 0)
            return &inputs[i];
    return NULL;
}

/* The key of a job at the place, whether the cursor is on it or on its value. */
static const char *key_at(const st_lsp_question *question, bool *in_value)
{
    const st_document *document = question->document;
    st_lsp_spot at = {document->text, document->length, question->offset};
    const st_lsp_word word = st_lsp_word_at(at, "-.");
    st_lsp_context context;
    at.offset = word.start;
    st_lsp_context_at(at, &context);
    *in_value = context.in_value;
    const char *path = path_of(&context, question->arena);
    if (!context.in_value && !context.in_comment && word.end > word.start)
        path = st_arena_printf(question->arena, "%s%s%.*s", path, context.count > 0 ? "." : "",
                               (int)(word.end - word.start), at.text + word.start);
    if (document->kind == ST_DOCUMENT_PART && path != NULL && !context.in_comment)
        path = st_arena_printf(question->arena, "%s%s%s", document->section,
                               path[0] != '\0' ? "." : "", path);
    return context.in_comment || path == NULL ? "" : path;
}

size_t st_lsp_named_key(const st_document *document, const char *message)
{
    const char *text = document->text;
    st_arena *arena = st_arena_create();
    size_t found = 0;
    for (size_t length = 0; arena != NULL && found == 0 && *message != '\0'; message += length) {
        length = 0;
        while (st_is_name(message[length]))
            length++;
        for (size_t i = 0; length > 0 && found == 0 && i + length < document->length; i++) {
            const bool is_word = (i == 0 || !st_is_name(text[i - 1])) && text[i + length] == ':' &&
                                 memcmp(text + i, message, length) == 0;
            st_lsp_context context = {.in_value = true};
            if (is_word)
                st_lsp_context_at((st_lsp_spot){text, document->length, i}, &context);
            if (context.in_value || context.in_comment)
                continue;
            const char *parent = path_of(&context, arena);
            const char *path = st_arena_printf(
                arena, "%s%s%s%s%.*s", document->kind == ST_DOCUMENT_PART ? document->section : "",
                document->kind == ST_DOCUMENT_PART ? "." : "", parent, parent[0] != '\0' ? "." : "",
                (int)length, message);
            found = path != NULL && st_key_find(path) != NULL ? i : 0;
        }
        length += length == 0 ? 1 : 0;
    }
    st_arena_destroy(arena);
    return found;
}

void st_lsp_define(const st_lsp_question *question, st_buffer *json)
{
    const st_document *document = question->document;
    bool in_value = false;
    const char *key = key_at(question, &in_value);
    st_place place = {0};
    if (in_value && find_file(question, key, &place)) {
        put_location(question, place, json);
        return;
    }
    if (document->kind == ST_DOCUMENT_SHEET && document->sheet != NULL) {
        bool called = false;
        const char *name = st_lsp_name_at(question, &called);
        const st_lsp_meaning meaning = st_lsp_meaning_of(document->sheet, name, called);
        place = st_lsp_place_of(&meaning);
    } else {
        const st_sheet_input *input = reader_of(document->sheet, key);
        place = input != NULL ? input->place : place;
    }
    put_location(question, place, json);
}

/* ---- hover ---- */

static const char *unit_of(const st_type *type)
{
    return type->kind == ST_TYPE_BOOL                                ? "true or false"
           : type->kind == ST_TYPE_ENUM && type->enumeration != NULL ? type->enumeration->name
                                                                     : type->unit.text;
}

/* The first job that the sheet's inputs suffice for. */
static void find_job(const st_lsp_question *question)
{
    st_document *document = question->document;
    const st_path_entry *entries = NULL;
    size_t count = 0;
    if (st_paths_list(question->documents->paths, ST_FOLDER_JOBS, question->arena, &entries, &count,
                      NULL) != ST_OK)
        count = 0;
    for (size_t i = 0; i < count && document->job == NULL; i++) {
        st_arena *arena = st_arena_create();
        st_estimate *estimate = arena != NULL ? st_estimate_new(arena) : NULL;
        const st_request request = {.job = entries[i].name, .sheet = document->path};
        if (estimate != NULL &&
            st_estimate_load(question->documents->paths, &request, arena, estimate, NULL) == ST_OK)
            document->job = strdup(entries[i].name);
        st_arena_destroy(arena);
    }
    if (document->job == NULL)
        document->job = strdup("");
}

/* " = 12.3 ms (gpt3-175b-64xa100)", nothing where it has none. */
static void put_value(const st_lsp_question *question, const char *name, st_buffer *text)
{
    char value[ST_QUANTITY_TEXT + ST_QUANTITY_TEXT];
    st_document *document = question->document;
    if (question->job == NULL && document->job == NULL)
        find_job(question);
    const char *job = question->job != NULL ? question->job : document->job;
    const st_request request = {.job = job, .sheet = document->path, .checks_warn = true};
    st_estimate *estimate = st_estimate_new(question->arena);
    if (job == NULL || job[0] == '\0' || estimate == NULL ||
        st_estimate_load(question->documents->paths, &request, question->arena, estimate, NULL) !=
            ST_OK ||
        st_estimate_show_names(estimate, &name, 1, (st_place){0}, question->arena, NULL) != ST_OK ||
        st_estimate_run(estimate, question->arena, NULL) != ST_OK)
        return;
    st_buffer_printf(text, " = %s (%s)",
                     st_type_format(st_estimate_shown_type(estimate, 0),
                                    st_estimate_shown_value(estimate, 0), ST_STYLE_SCALED, value,
                                    sizeof value),
                     job);
}

/* Text of files as it is written there: nothing in it is a link, an image or a tag. */
static void put_plain(const char *value, st_buffer *text)
{
    for (; *value != '\0'; value++) {
        if (strchr("\\`*_[]<>#!|~&", *value) != NULL)
            st_buffer_text(text, "\\");
        st_buffer_append(text, *value == '\n' ? " " : value, 1);
    }
}

static void put_line(const char *label, const char *value, st_buffer *text)
{
    if (value == NULL || value[0] == '\0')
        return;
    st_buffer_printf(text, "\n\n%s", label);
    put_plain(value, text);
}

static void hover_cell(const st_lsp_question *question, const st_sheet_cell *cell, st_buffer *text)
{
    st_buffer_printf(text, "**%s**", cell->name);
    put_value(question, cell->name, text);
    put_line("", cell->doc, text);
    put_line("unit: ", unit_of(&cell->type), text);
    st_buffer_printf(text, "\n\n```\n%s\n```", cell->formula);
    put_line("source: ", cell->cite, text);
}

static void hover_input(const st_lsp_question *question, const st_sheet_input *input,
                        st_buffer *text)
{
    char value[ST_QUANTITY_TEXT + ST_QUANTITY_TEXT];
    st_buffer_printf(text, "**%s**", input->name);
    put_value(question, input->name, text);
    put_line("", input->doc, text);
    put_line("key: ", input->from, text);
    put_line("unit: ", unit_of(&input->type), text);
    if (input->has_default)
        put_line("default: ",
                 st_type_format(&input->type, input->default_value, ST_STYLE_SCALED, value,
                                sizeof value),
                 text);
    put_line("source: ", input->cite, text);
}

static void hover_function(const st_sheet_function *function, st_buffer *text)
{
    st_buffer_printf(text, "**%s**(", function->name);
    for (size_t i = 0; i < function->argument_count; i++)
        st_buffer_printf(text, "%s%s: %s", i > 0 ? ", " : "", function->arguments[i].name,
                         unit_of(&function->arguments[i].type));
    st_buffer_text(text, ")");
    put_line("", function->doc, text);
    put_line("unit: ", unit_of(&function->type), text);
    if (function->formula != NULL)
        st_buffer_printf(text, "\n\n```\n%s\n```", function->formula);
    put_line("source: ", function->cite, text);
}

static void hover_sheet(const st_lsp_question *question, st_buffer *text)
{
    bool called = false;
    const st_sheet *sheet = question->document->sheet;
    const char *name = st_lsp_name_at(question, &called);
    if (sheet == NULL || name == NULL || name[0] == '\0')
        return;
    const st_lsp_meaning meaning = st_lsp_meaning_of(sheet, name, called);
    if (meaning.cell != NULL)
        hover_cell(question, meaning.cell, text);
    else if (meaning.input != NULL)
        hover_input(question, meaning.input, text);
    else if (meaning.function != NULL)
        hover_function(meaning.function, text);
    for (size_t i = 0; meaning.enumeration != NULL && i < meaning.enumeration->count; i++)
        st_buffer_printf(text, "%s%s", i > 0 ? ", " : "", meaning.enumeration->values[i]);
    if (meaning.enumeration != NULL)
        st_buffer_printf(text, ": values of **%s**", meaning.enumeration->name);
}

/* What the job has under a key, and where it is from. */
static void put_job_value(const st_lsp_question *question, const char *key, st_buffer *text)
{
    static const char *const origins[] = {[ST_ORIGIN_NONE] = "",
                                          [ST_ORIGIN_FILE] = "",
                                          [ST_ORIGIN_SET] = "",
                                          [ST_ORIGIN_DEFAULT] = " (default)",
                                          [ST_ORIGIN_STACK] = " (stack)"};
    const st_document *document = question->document;
    const st_job *job = NULL;
    if (document->kind != ST_DOCUMENT_JOB ||
        st_job_load(question->documents->paths, document->path, NULL, 0, question->arena, &job,
                    NULL) != ST_OK)
        return;
    const st_job_value *value = st_job_value_of(job, key);
    if (value == NULL || value->origin == ST_ORIGIN_NONE || value->text == NULL)
        return;
    st_buffer_text(text, " = ");
    put_plain(value->text, text);
    st_buffer_text(text, origins[value->origin]);
    put_line("source: ", value->source, text);
}

static void put_key(const st_key *key, st_buffer *text)
{
    put_line("", key->doc, text);
    put_line("unit: ", key->unit, text);
    put_line("values: ", key->values, text);
    put_line("default: ", key->default_text, text);
}

static void hover_job(const st_lsp_question *question, st_buffer *text)
{
    bool in_value = false;
    const char *path = key_at(question, &in_value);
    const st_key *key = st_key_find(path);
    const st_key_section *section = st_section_find(path);
    const st_sheet_input *input = reader_of(question->document->sheet, path);
    if (key == NULL && section == NULL && input == NULL)
        return;
    st_buffer_printf(text, "**%s**", path);
    put_job_value(question, path, text);
    if (key != NULL)
        put_key(key, text);
    else if (section != NULL)
        put_line("", section->doc, text);
    if (input != NULL) {
        if (key == NULL) {
            put_line("", input->doc, text);
            put_line("unit: ", unit_of(&input->type), text);
            put_line("source: ", input->cite, text);
        }
        st_buffer_printf(text, "\n\n`%s` in the sheet %s", input->name,
                         st_sheet_name(question->document->sheet));
    }
}

void st_lsp_hover(const st_lsp_question *question, st_buffer *json)
{
    st_buffer text = {0};
    if (question->document->kind == ST_DOCUMENT_SHEET)
        hover_sheet(question, &text);
    else
        hover_job(question, &text);
    if (text.length == 0) {
        st_buffer_text(json, "null");
    } else {
        st_buffer_text(json, "{\"contents\":{\"kind\":\"markdown\",\"value\":");
        st_buffer_json_string(json, text.data);
        st_buffer_text(json, "}}");
    }
    st_buffer_free(&text);
}

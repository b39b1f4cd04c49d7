/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell, an input or a function under another name, in every sheet on the disk where it is the
 * same one. The sheets are loaded with the new text before it is handed to the editor: what would
 * break one of them is refused.
 */
#include "lsp/answers.h"

#include "base/lists.h"
#include "lsp/occurrences.h"
#include "steptime/tool/formula_names.h"

#include <stdlib.h>

enum { MOST_FILES = 200, MOST_NAME_BYTES = 60 };

/* A file in which the name occurs. */
typedef struct renamed {
    const char *path;
    st_source source;
    st_lsp_words words;
    const char *text; /* with the new name */
} renamed;

typedef struct renaming {
    const st_lsp_question *question;
    st_lsp_name name;
    const char *new_name;
    st_place defined;
    st_arena *arena;
    renamed *files;
    size_t count;
    st_errors *errors;
} renaming;

static st_status refuse_name(const renaming *task)
{
    const char *name = task->new_name;
    const char *fault = NULL;
    for (size_t i = 0; name[i] != '\0'; i++)
        if (!st_is_name(name[i]))
            fault = "a name has letters, digits and '_' alone";
    if (!st_is_letter(name[0]))
        fault = "a name begins with a letter or '_'";
    else if (strlen(name) > MOST_NAME_BYTES)
        fault = "a name has at most 60 characters";
    else if (fault == NULL && st_expr_is_reserved(name))
        fault = "this word is reserved";
    return fault == NULL ? ST_OK
                         : st_fail(task->errors, ST_ERR_NAME, (st_place){0},
                                   "cannot rename %s to '%s': %s", task->name.text, name, fault);
}

static st_status load(const renaming *task, const char *path, st_arena *arena,
                      const st_sheet **sheet, st_errors *errors)
{
    const st_sheet_reader reader = st_paths_sheet_reader(task->question->documents->paths);
    return st_sheet_load(&reader, path, arena, sheet, errors);
}

/* Whether the name means the same definition in this sheet. */
static bool means_same(const renaming *task, const char *path)
{
    st_arena *arena = st_arena_create();
    const st_sheet *sheet = NULL;
    bool is_same = false;
    if (arena != NULL && load(task, path, arena, &sheet, NULL) == ST_OK) {
        const st_lsp_meaning meaning =
            st_lsp_meaning_of(sheet, task->name.text, task->name.is_function);
        const st_place place = st_lsp_place_of(&meaning);
        is_same = place.file != NULL && place.line == task->defined.line &&
                  st_lsp_is_same_file(place.file, task->defined.file);
    }
    st_arena_destroy(arena);
    return is_same;
}

static const char *replace(const renaming *task, const renamed *file)
{
    st_buffer buffer = {0};
    size_t at = 0;
    for (size_t i = 0; i < file->words.count; i++) {
        st_buffer_append(&buffer, file->source.text + at, file->words.items[i].start - at);
        st_buffer_text(&buffer, task->new_name);
        at = file->words.items[i].end;
    }
    st_buffer_append(&buffer, file->source.text + at, file->source.length - at);
    const char *text = st_arena_copy(task->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

static void add_file(renaming *task, const char *path, bool is_known)
{
    renamed file = {.path = st_lsp_absolute(path, task->arena)};
    for (size_t i = 0; i < task->count; i++)
        if (st_lsp_is_same_file(task->files[i].path, file.path))
            return;
    if (task->count == MOST_FILES ||
        st_paths_read(task->question->documents->paths, ST_FOLDER_SHEETS, file.path, (st_place){0},
                      task->arena, &file.source, NULL) != ST_OK)
        return;
    st_lsp_find_name(file.source.text, file.source.length, task->name, task->arena, &file.words);
    if (file.words.count == 0 || (!is_known && !means_same(task, file.path)))
        return;
    file.text = replace(task, &file);
    (void)ST_APPEND(task->arena, task->files, task->count, file);
}

/* The sheet's own file and those that it includes, and the others of their folder. */
static void find_files(renaming *task)
{
    static const char *const endings[] = {".yaml", ".yml", NULL};
    const char *folder =
        st_arena_copy(task->arena, task->defined.file,
                      (size_t)(strrchr(task->defined.file, '/') - task->defined.file));
    const char *const *files = NULL;
    size_t count = 0;
    add_file(task, task->defined.file, true);
    add_file(task, task->question->document->path, true);
    if (folder != NULL &&
        st_files_of_folder(folder, endings, task->arena, &files, &count, NULL) == ST_OK)
        for (size_t i = 0; i < count; i++)
            add_file(task, files[i], false);
}

/* The texts of the editor, in which those with the new name take the place of the old ones. */
static st_status try_names(const renaming *task)
{
    const st_documents *documents = task->question->documents;
    st_edited_file *edited =
        st_arena_alloc(task->arena, documents->count + task->count + 1, sizeof *edited);
    st_status status = ST_OK;
    if (edited == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < task->count; i++)
        edited[i] =
            (st_edited_file){task->files[i].path, task->files[i].text, strlen(task->files[i].text)};
    for (size_t i = 0; i < documents->count; i++)
        edited[task->count + i] = documents->edited[i];
    st_paths_set_edited(documents->paths, edited, task->count + documents->count);
    for (size_t i = 0; i < task->count && status == ST_OK; i++) {
        const st_sheet *sheet = NULL;
        st_errors *errors = st_errors_create();
        if (load(task, task->files[i].path, task->arena, &sheet, errors) != ST_OK) {
            const st_error *error = st_errors_size(errors) > 0 ? st_errors_at(errors, 0) : NULL;
            status = st_fail(task->errors, ST_ERR_NAME, (st_place){0},
                             "cannot rename %s to '%s', %s would have an error: %s",
                             task->name.text, task->new_name, task->files[i].path,
                             error != NULL ? error->message : "out of memory");
        }
        st_errors_destroy(errors);
    }
    st_paths_set_edited(documents->paths, documents->edited, documents->count);
    return status;
}

static void write_edits(const renaming *task, st_buffer *json)
{
    st_buffer_text(json, "{\"changes\":{");
    for (size_t i = 0; i < task->count; i++) {
        const renamed *file = &task->files[i];
        const char *uri = st_path_uri(file->path, task->arena);
        for (size_t k = 0; k < task->question->documents->count; k++) { /* as the editor calls it */
            const st_document *open = task->question->documents->items[k];
            if (st_lsp_is_same_file(open->path, file->path))
                uri = open->uri;
        }
        st_buffer_text(json, i > 0 ? "," : "");
        st_buffer_json_string(json, uri);
        st_buffer_text(json, ":[");
        for (size_t k = 0; k < file->words.count; k++) {
            const st_lsp_spot at = {file->source.text, file->source.length,
                                    file->words.items[k].start};
            st_buffer_text(json, k > 0 ? ",{\"range\":" : "{\"range\":");
            st_lsp_put_range(json, at, file->words.items[k].end);
            st_buffer_text(json, ",\"newText\":");
            st_buffer_json_string(json, task->new_name);
            st_buffer_text(json, "}");
        }
        st_buffer_text(json, "]");
    }
    st_buffer_text(json, "}}");
}

st_status st_lsp_rename(const st_lsp_question *question, const char *name, st_buffer *json,
                        st_errors *errors)
{
    bool called = false;
    const st_document *document = question->document;
    renaming task = {
        .question = question, .new_name = name, .arena = question->arena, .errors = errors};
    if (document->kind != ST_DOCUMENT_SHEET || document->sheet == NULL)
        return st_fail(errors, ST_ERR_NAME, (st_place){0},
                       document->kind != ST_DOCUMENT_SHEET
                           ? "only names of sheets can be renamed"
                           : "the sheet has errors: correct them before a name is changed");
    task.name.text = st_lsp_name_at(question, &called);
    task.name.is_function = called;
    const st_lsp_meaning meaning = st_lsp_meaning_of(document->sheet, task.name.text, called);
    task.defined = st_lsp_place_of(&meaning);
    if (meaning.cell == NULL && meaning.input == NULL && meaning.function == NULL)
        return st_fail(errors, ST_ERR_NAME, (st_place){0},
                       "'%s' is not a cell, an input or a function of the sheet", task.name.text);
    st_source source = {0};
    if (task.defined.file == NULL || strchr(task.defined.file, '/') == NULL ||
        task.defined.file[0] == '<' ||
        st_file_read(task.defined.file, (st_place){0}, question->arena, &source, NULL) != ST_OK)
        return st_fail(errors, ST_ERR_NAME, (st_place){0},
                       "%s is defined in a sheet inside the program (%s)", task.name.text,
                       st_or_none(task.defined.file));
    st_status status = refuse_name(&task);
    if (status == ST_OK) {
        find_files(&task);
        status = try_names(&task);
    }
    if (status == ST_OK)
        write_edits(&task, json);
    return status;
}

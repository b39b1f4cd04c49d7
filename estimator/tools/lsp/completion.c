/* SPDX-License-Identifier: Apache-2.0 */
/* What can be written at a place; see answers.h. */
#include "lsp/answers.h"

#include "base/lists.h"
#include "steptime/tool/formula_names.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/value_text.h"

/* The protocol's kinds of items. */
typedef enum item_kind {
    ITEM_FUNCTION = 3,
    ITEM_VARIABLE = 6,
    ITEM_PROPERTY = 10,
    ITEM_VALUE = 12,
    ITEM_KEYWORD = 14,
    ITEM_FILE = 17
} item_kind;

enum { MOST_ITEMS = 400 };

typedef struct completion {
    const st_lsp_question *question;
    const char *begun; /* what is written so far */
    st_buffer *json;
    size_t count;
    bool is_cut;
} completion;

typedef struct item {
    const char *label;
    size_t length;
    item_kind kind;
    const char *detail; /* NULL: none */
    const char *doc;    /* NULL: none */
} item;

static void put(completion *list, item offered)
{
    const size_t begun = strlen(list->begun);
    for (size_t i = 0; i < begun; i++)
        if (i >= offered.length || st_to_lower(offered.label[i]) != st_to_lower(list->begun[i]))
            return;
    if (list->count == MOST_ITEMS) {
        list->is_cut = true;
        return;
    }
    st_buffer_text(list->json, list->count++ > 0 ? ",{\"label\":" : "{\"label\":");
    st_buffer_json_string(list->json, st_or_none(st_arena_copy(list->question->arena, offered.label,
                                                               offered.length)));
    st_buffer_printf(list->json, ",\"kind\":%d", (int)offered.kind);
    if (offered.detail != NULL && offered.detail[0] != '\0') {
        st_buffer_text(list->json, ",\"detail\":");
        st_buffer_json_string(list->json, offered.detail);
    }
    if (offered.doc != NULL && offered.doc[0] != '\0') {
        st_buffer_text(list->json, ",\"documentation\":");
        st_buffer_json_string(list->json, offered.doc);
    }
    st_buffer_text(list->json, "}");
}

static void put_word(completion *list, const char *label, item_kind kind, const char *doc)
{
    put(list, (item){label, strlen(label), kind, NULL, doc});
}

static void put_words(completion *list, const char *words, item_kind kind)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        put(list, (item){words, length, kind, NULL, NULL});
        words += length + (words[length] == ' ' ? 1 : 0);
    }
}

/* ---- sheets ---- */

/* Of a family its name alone, once. */
static void put_cells(completion *list, const st_sheet *sheet)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    const char *last = "";
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(cells[i].name, "[");
        const bool is_same = strncmp(last, cells[i].name, length) == 0 &&
                             (last[length] == '[' || last[length] == '\0');
        if (!is_same)
            put(list, (item){cells[i].name, length, ITEM_VARIABLE, cells[i].type.unit.text,
                             cells[i].doc});
        last = cells[i].name;
    }
}

static void put_names(completion *list, const st_sheet *sheet, bool with_functions)
{
    size_t count = 0;
    put_cells(list, sheet);
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++)
        put(list, (item){inputs[i].name, strlen(inputs[i].name), ITEM_VARIABLE,
                         inputs[i].type.unit.text, inputs[i].doc});
    if (!with_functions)
        return;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < count; i++)
        put(list, (item){functions[i].name, strlen(functions[i].name), ITEM_FUNCTION,
                         functions[i].type.unit.text, functions[i].doc});
    const char *const *builtins = st_builtin_names(&count);
    for (size_t i = 0; i < count; i++)
        put_word(list, builtins[i], ITEM_FUNCTION, NULL);
    const st_enum *enums = st_sheet_enums(sheet, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < enums[i].count; k++)
            put_word(list, enums[i].values[k], ITEM_VALUE, enums[i].name);
}

static void put_files(completion *list, st_folder folder)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    if (st_paths_list(list->question->documents->paths, folder, list->question->arena, &entries,
                      &count, NULL) == ST_OK)
        for (size_t i = 0; i < count; i++)
            put_word(list, entries[i].name, ITEM_FILE, NULL);
}

static void put_all_keys(completion *list)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++)
        put(list,
            (item){keys[i].path, strlen(keys[i].path), ITEM_PROPERTY, keys[i].unit, keys[i].doc});
}

static void complete_sheet(completion *list, const st_lsp_context *context)
{
    static const struct {
        const char *section, *fields;
        bool is_list; /* and no map of names */
    } sections[] = {
        {"inputs", "from unit doc cite default steps override", false},
        {"cells", "unit is doc cite open override per where", false},
        {"functions", "args unit is open doc cite override", false},
        {"checks", "that else level", true},
        {"report", "section cells", true},
    };
    const st_sheet *sheet = list->question->document->sheet;
    const char *key = context->count > 0 ? context->keys[context->count - 1] : "";
    if (context->count == 0) {
        put_words(list,
                  "sheet title doc include stack enums inputs functions cells roles checks "
                  "report summary",
                  ITEM_KEYWORD);
    } else if (!context->in_value) {
        for (size_t i = 0; i < ST_COUNT(sections); i++)
            if (strcmp(sections[i].section, context->keys[0]) == 0 &&
                context->count > (sections[i].is_list ? 0 : 1))
                put_words(list, sections[i].fields, ITEM_KEYWORD);
    } else if (strcmp(key, "from") == 0) {
        put_all_keys(list);
    } else if (strcmp(key, "include") == 0) {
        put_files(list, ST_FOLDER_SHEETS);
    } else if (strcmp(key, "open") == 0 || strcmp(key, "override") == 0) {
        put_words(list, "true false", ITEM_VALUE);
    } else if (strcmp(key, "level") == 0) {
        put_words(list, "error warning limit", ITEM_VALUE);
    } else if (sheet != NULL && (strcmp(key, "unit") == 0 || strcmp(key, "per") == 0)) {
        size_t count = 0;
        const st_enum *enums = st_sheet_enums(sheet, &count);
        for (size_t i = 0; i < count; i++)
            put_word(list, enums[i].name, ITEM_VALUE, NULL);
        put_word(list, "bool", ITEM_VALUE, NULL);
    } else if (sheet != NULL && strcmp(key, "doc") != 0 && strcmp(key, "cite") != 0 &&
               strcmp(key, "title") != 0) {
        put_names(list, sheet, strcmp(key, "cells") != 0);
    }
}

/* ---- jobs ---- */

/* The words that continue a path: "tp", "pp" behind "parallel". */
static void put_next_keys(completion *list, const char *path)
{
    size_t count = 0;
    const size_t length = strlen(path);
    const st_key *keys = st_keys(&count);
    const char *last = "";
    for (size_t i = 0; i < count; i++) {
        if (length > 0 && !st_is_below(keys[i].path, path))
            continue;
        const char *next = keys[i].path + length + (length > 0 ? 1 : 0);
        const size_t size = strcspn(next, ".");
        const bool is_whole = next[size] == '\0';
        if (strncmp(last, next, size) != 0 || last[size] == '\0' || is_whole)
            put(list, (item){next, size, ITEM_PROPERTY, is_whole ? keys[i].unit : NULL,
                             is_whole ? keys[i].doc : NULL});
        last = next;
    }
}

/* Under constants: what the sheet reads. */
static void put_constants(completion *list, const st_sheet *sheet)
{
    size_t count = 0;
    const st_sheet_input *inputs = sheet != NULL ? st_sheet_inputs(sheet, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (st_is_below(inputs[i].from, "constants")) {
            const char *name = st_last_part(inputs[i].from, '.');
            put(list,
                (item){name, strlen(name), ITEM_PROPERTY, inputs[i].type.unit.text, inputs[i].doc});
        }
}

static void complete_job(completion *list, const st_lsp_context *context)
{
    const st_document *document = list->question->document;
    const char *path = document->kind == ST_DOCUMENT_PART ? document->section : "";
    for (size_t i = 0; i < context->count; i++)
        path = st_or_none(st_arena_printf(list->question->arena, "%s%s%s", path,
                                          path[0] != '\0' ? "." : "", context->keys[i]));
    const st_key *key = st_key_find(path);
    const st_key_section *section = st_section_find(path);
    if (!context->in_value) {
        if (strcmp(path, "constants") == 0)
            put_constants(list, document->sheet);
        if (path[0] == '\0')
            put_words(list, "name doc source sheet model cluster stack constants refine",
                      ITEM_KEYWORD);
        put_next_keys(list, path);
    } else if (strcmp(path, "sheet") == 0) {
        put_files(list, ST_FOLDER_SHEETS);
    } else if (section != NULL && section->is_file) {
        put_files(list, section->folder);
    } else if (key != NULL && key->kind == ST_KEY_BOOL) {
        put_words(list, "true false", ITEM_VALUE);
    } else if (key != NULL && key->values != NULL) {
        put_words(list, key->values, ITEM_VALUE);
    }
}

void st_lsp_complete(const st_lsp_question *question, st_buffer *json)
{
    const st_document *document = question->document;
    st_lsp_spot at = {document->text, document->length, question->offset};
    st_lsp_context context;
    st_lsp_context_at(at, &context);
    const bool is_sheet = document->kind == ST_DOCUMENT_SHEET;
    const bool is_key = is_sheet && context.count > 0 &&
                        strcmp(context.keys[context.count - 1], "from") != 0 &&
                        strcmp(context.keys[context.count - 1], "include") != 0;
    const st_lsp_word word = st_lsp_word_at(at, is_key ? "" : is_sheet ? ".-" : "-");
    completion list = {.question = question, .json = json};
    list.begun =
        st_or_none(st_arena_copy(question->arena, at.text + word.start, at.offset - word.start));
    st_buffer_text(json, "{\"items\":[");
    if (!context.in_comment && is_sheet)
        complete_sheet(&list, &context);
    else if (!context.in_comment)
        complete_job(&list, &context);
    st_buffer_printf(json, "],\"isIncomplete\":%s}", list.is_cut ? "true" : "false");
}

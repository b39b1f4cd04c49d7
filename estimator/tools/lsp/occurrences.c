/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the text of a sheet; see occurrences.h. */
#include "lsp/occurrences.h"

#include "base/lists.h"

static const char *last_key(const st_lsp_context *context)
{
    return context->count > 0 ? context->keys[context->count - 1] : "";
}

static bool is_at(const st_lsp_context *context, size_t level, const char *key)
{
    return context->count > level && strcmp(context->keys[level], key) == 0;
}

/* Of functions, whose formulas see their arguments and other functions alone. */
static bool is_in_functions(const st_lsp_context *context)
{
    return is_at(context, 0, "functions");
}

/* Between braces of a message: "must be at least {n}". */
static bool is_in_braces(st_lsp_spot at)
{
    for (size_t i = at.offset; i > 0 && at.text[i - 1] != '\n' && at.text[i - 1] != '}'; i--)
        if (at.text[i - 1] == '{')
            return true;
    return false;
}

/* A unit behind a number: "0[us]". */
static bool is_unit(st_lsp_spot at)
{
    size_t i = at.offset;
    while (i > 0 && at.text[i - 1] != '[' && at.text[i - 1] != ']' && at.text[i - 1] != '\n')
        i--;
    return i > 1 && at.text[i - 1] == '[' && st_is_digit(at.text[i - 2]);
}

static bool is_called(st_lsp_spot at, size_t end)
{
    while (end < at.length && at.text[end] == ' ')
        end++;
    return end < at.length && at.text[end] == '(';
}

/* The key of a definition. */
static bool is_defined(const st_lsp_context *context, st_lsp_spot at, size_t end, bool is_function)
{
    return context->count == 1 && !context->in_value && end < at.length && at.text[end] == ':' &&
           (is_function ? is_in_functions(context)
                        : is_at(context, 0, "cells") || is_at(context, 0, "inputs"));
}

/* Whether what the context says is a formula or a list of names. */
static bool is_formula(const st_lsp_context *context, st_lsp_spot at)
{
    static const char *const texts[] = {
        "doc",   "cite",    "title", "from", "unit",  "sheet",    "include", "source", "default",
        "steps", "section", "args",  "per",  "level", "override", "open",    "stack",  "enums"};
    if (!context->in_value || context->count == 0)
        return false;
    for (size_t i = 0; i < context->count; i++)
        if (st_has_text(texts, ST_COUNT(texts), context->keys[i]) &&
            !(i == 1 && (is_at(context, 0, "cells") || is_in_functions(context))))
            return false;
    return strcmp(last_key(context), "else") != 0 || is_in_braces(at);
}

static bool is_meant(st_lsp_spot at, size_t end, bool is_function)
{
    st_lsp_context context;
    st_lsp_context_at(at, &context);
    if (context.in_comment)
        return false;
    if (is_defined(&context, at, end, is_function))
        return true;
    return is_formula(&context, at) && is_called(at, end) == is_function && !is_unit(at) &&
           (is_function || !is_in_functions(&context));
}

void st_lsp_find_name(const char *text, size_t length, st_lsp_name name, st_arena *arena,
                      st_lsp_words *words)
{
    const size_t size = strlen(name.text);
    for (const char *found = size > 0 ? strstr(text, name.text) : NULL; found != NULL;
         found = strstr(found + 1, name.text)) {
        st_lsp_spot at = {text, length, (size_t)(found - text)};
        st_lsp_word word = st_lsp_word_at(at, "");
        if (word.start != at.offset || word.end != at.offset + size ||
            !is_meant(at, word.end, name.is_function))
            continue;
        (void)ST_APPEND(arena, words->items, words->count, word);
    }
}

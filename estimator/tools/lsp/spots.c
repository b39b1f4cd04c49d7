/* SPDX-License-Identifier: Apache-2.0 */
/* Places and contexts in half-written YAML; see spots.h. */
#include "lsp/spots.h"

#include "base/chars.h"
#include "base/utf8.h"

/* ---- places ---- */

static size_t line_start(const char *text, size_t length, size_t line)
{
    size_t offset = 0;
    for (; line > 0; line--) {
        const char *end = memchr(text + offset, '\n', length - offset);
        if (end == NULL)
            return length;
        offset = (size_t)(end - text) + 1;
    }
    return offset;
}

/* Moves over characters of a line; `wide` counts those beyond the first plane twice. */
static size_t advance(const char *text, size_t length, size_t offset, size_t count, bool wide)
{
    for (size_t seen = 0; seen < count && offset < length && text[offset] != '\n';) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + offset, length - offset, &code);
        offset += size > 0 ? size : 1;
        seen += wide && code > 0xFFFF ? 2 : 1;
    }
    return offset;
}

size_t st_lsp_offset(const char *text, size_t length, st_lsp_position position)
{
    return advance(text, length, line_start(text, length, position.line), position.character, true);
}

size_t st_lsp_offset_of_place(const char *text, size_t length, st_place place)
{
    size_t line = place.line > 0 ? (size_t)place.line - 1 : 0;
    size_t column = place.column > 0 ? (size_t)place.column - 1 : 0;
    return advance(text, length, line_start(text, length, line), column, false);
}

st_lsp_position st_lsp_position_of(const char *text, size_t length, size_t offset)
{
    st_lsp_position position = {0};
    size_t start = 0;
    for (size_t i = 0; i < offset && i < length; i++)
        if (text[i] == '\n') {
            position.line++;
            start = i + 1;
        }
    while (start < offset && start < length) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + start, length - start, &code);
        start += size > 0 ? size : 1;
        position.character += code > 0xFFFF ? 2 : 1;
    }
    return position;
}

void st_lsp_put_range(st_buffer *json, st_lsp_spot at, size_t end)
{
    const st_lsp_position from = st_lsp_position_of(at.text, at.length, at.offset);
    const st_lsp_position to = st_lsp_position_of(at.text, at.length, end);
    st_buffer_printf(json,
                     "{\"start\":{\"line\":%zu,\"character\":%zu},"
                     "\"end\":{\"line\":%zu,\"character\":%zu}}",
                     from.line, from.character, to.line, to.character);
}

static bool is_of_word(char c, const char *more)
{
    return st_is_name(c) || (c != '\0' && strchr(more, c) != NULL);
}

st_lsp_word st_lsp_word_at(st_lsp_spot at, const char *more)
{
    st_lsp_word word = {at.offset, at.offset};
    while (word.start > 0 && is_of_word(at.text[word.start - 1], more))
        word.start--;
    while (word.end < at.length && is_of_word(at.text[word.end], more))
        word.end++;
    return word;
}

/* ---- what a line is part of ---- */

static void set_key(st_lsp_context *context, size_t index, const char *text, size_t length)
{
    while (length > 0 && st_is_blank(text[length - 1]))
        length--;
    if (length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0]) {
        text++;
        length -= 2;
    }
    if (index >= ST_LSP_KEYS || length >= ST_LSP_KEY_BYTES) {
        context->in_comment = true;
        return;
    }
    memcpy(context->keys[index], text, length);
    context->keys[index][length] = '\0';
}

/* A line up to its end or to the offset, read as keys, flow maps and values. */
typedef struct line_reader {
    const char *text;
    size_t at;
    size_t end;
    size_t token;                   /* where the key or value begins */
    size_t depth;                   /* open braces */
    size_t counts[ST_LSP_KEYS + 1]; /* keys before each of them */
    size_t brackets;                /* open parentheses and brackets of a value */
    bool has_key;                   /* at this depth */
    bool has_text;                  /* a value has begun, in which a brace is one of its letters */
} line_reader;

static void open_brace(line_reader *reader, st_lsp_context *context)
{
    if (reader->depth >= ST_LSP_KEYS) {
        context->in_comment = true;
        return;
    }
    reader->counts[reader->depth++] = context->count;
    reader->has_key = false;
    context->in_value = false;
    reader->token = reader->at + 1;
}

static void close_brace(line_reader *reader, st_lsp_context *context)
{
    context->count = reader->counts[--reader->depth];
    context->in_value = context->count > 0;
    reader->has_key = true;
    reader->token = reader->at + 1;
}

static void next_member(line_reader *reader, st_lsp_context *context)
{
    context->count = reader->counts[reader->depth - 1];
    context->in_value = false;
    reader->has_key = false;
    reader->token = reader->at + 1;
}

static bool ends_key(const line_reader *reader)
{
    return !reader->has_key && reader->text[reader->at] == ':' &&
           (reader->at + 1 >= reader->end || st_is_blank(reader->text[reader->at + 1]));
}

static void read_character(line_reader *reader, st_lsp_context *context)
{
    const char c = reader->text[reader->at];
    if (c == '(' || c == '[') {
        reader->brackets++;
    } else if (c == ')' || c == ']') {
        reader->brackets -= reader->brackets > 0 ? 1 : 0;
    } else if (reader->brackets > 0) {
        return;
    } else if (ends_key(reader)) {
        size_t token = reader->token;
        while (token < reader->at && st_is_blank(reader->text[token]))
            token++;
        set_key(context, context->count, reader->text + token, reader->at - token);
        context->count += context->in_comment ? 0 : 1;
        context->in_value = true;
        reader->has_key = true;
        reader->has_text = false;
    } else if (c == '{' && !reader->has_text) {
        open_brace(reader, context);
    } else if (c == '}' && reader->depth > 0) {
        close_brace(reader, context);
    } else if (c == ',' && reader->depth > 0) {
        next_member(reader, context);
        reader->has_text = false;
    } else if (!st_is_blank(c) && reader->has_key) {
        reader->has_text = true;
    }
}

static void read_line(line_reader *reader, st_lsp_context *context)
{
    char quote = '\0';
    for (; reader->at < reader->end && !context->in_comment; reader->at++) {
        const char c = reader->text[reader->at];
        const bool begins = reader->at == reader->token ||
                            st_is_blank(reader->text[reader->at - 1]) ||
                            strchr("{[,", reader->text[reader->at - 1]) != NULL;
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if ((c == '"' || c == '\'') && begins) {
            quote = c;
        } else if (c == '#' && begins) {
            context->in_comment = true;
        } else {
            read_character(reader, context);
        }
    }
}

/* Indent of a line, behind a dash where it has one. */
typedef struct line_head {
    size_t start; /* of its text */
    size_t indent;
    bool has_dash;
    bool is_empty; /* or a comment */
} line_head;

static line_head head_of(const char *text, size_t length, size_t start)
{
    line_head head = {.start = start};
    while (head.start < length && text[head.start] == ' ')
        head.start++;
    if (head.start + 1 < length && text[head.start] == '-' && text[head.start + 1] == ' ') {
        head.has_dash = true;
        head.start += 2;
    }
    head.indent = head.start - start;
    head.is_empty = head.start >= length || text[head.start] == '\n' || text[head.start] == '#';
    return head;
}

/* The key that a line begins with; what follows its colon is at *value. */
static size_t key_of_line(const char *text, size_t length, size_t start, size_t *value)
{
    size_t end = start;
    while (end < length && text[end] != '\n' && text[end] != ' ' && text[end] != ':')
        end++;
    if (end >= length || text[end] != ':' || end == start)
        return 0;
    *value = end + 1;
    while (*value < length && text[*value] == ' ')
        (*value)++;
    return end - start;
}

/* Reads the lines above, each of which begins further to the left, from the inside out. */
static void read_parents(st_lsp_spot at, size_t start, line_head head, st_lsp_context *context)
{
    struct {
        size_t start, length;
    } parents[ST_LSP_KEYS];
    size_t count = 0;
    size_t limit = head.has_dash ? head.indent - 1 : head.indent;
    bool found = false; /* the innermost one says what this line is */
    while (start > 0 && limit > 0) {
        size_t previous = start - 1;
        while (previous > 0 && at.text[previous - 1] != '\n')
            previous--;
        start = previous;
        line_head above = head_of(at.text, at.length, start);
        size_t value = 0;
        if (above.is_empty || above.indent >= limit)
            continue;
        size_t length = key_of_line(at.text, at.length, above.start, &value);
        if (length == 0)
            continue;
        if (count == ST_LSP_KEYS) {
            context->in_comment = true;
            return;
        }
        parents[count].start = above.start;
        parents[count++].length = length;
        const char next = at.text[value];
        if (!found)
            context->in_value = next != '\n' && next != '\0' && next != '{' && next != '#';
        found = true;
        limit = above.has_dash ? above.indent - 1 : above.indent;
    }
    context->in_value = context->in_value || (found && head.has_dash);
    for (size_t i = 0; i < count; i++)
        set_key(context, i, at.text + parents[count - 1 - i].start, parents[count - 1 - i].length);
    context->count = count;
}

void st_lsp_context_at(st_lsp_spot at, st_lsp_context *context)
{
    size_t start = at.offset;
    memset(context, 0, sizeof *context);
    while (start > 0 && at.text[start - 1] != '\n')
        start--;
    line_head head = head_of(at.text, at.length, start);
    const bool is_blank = head.start >= at.offset;
    if (is_blank) /* what is written here has the indent of the cursor */
        head.indent = at.offset - start;
    read_parents(at, start, head, context);
    line_reader reader = {.text = at.text,
                          .at = head.start,
                          .end = at.offset,
                          .token = head.start,
                          .has_key = context->in_value && !head.has_dash,
                          .has_text = context->in_value && !head.has_dash};
    if (!is_blank && !context->in_comment)
        read_line(&reader, context);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a byte of a scalar's text back to its place in the file. The source is walked along with the
 * text, one unit (a character, an escape, a folded line end) after the other; where the two do not
 * agree, the scalar's own place must do.
 */
#include "base/yaml.h"

#include "base/utf8.h"

#include <string.h>

/* Two positions that belong together: `at` in the source and `done` in the scalar's text. */
typedef struct walk {
    const char *source;
    size_t length;
    size_t at;
    const char *text;
    size_t text_length;
    size_t done;
    char style;    /* '\'', '"', '|', '>' or ' ' for plain */
    size_t indent; /* of a block scalar's lines */
} walk;

static char source_at(const walk *w, size_t at)
{
    return at < w->length ? w->source[at] : '\0';
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

static bool is_break(char letter)
{
    return letter == '\n' || letter == '\r';
}

static size_t skip_blanks(const walk *w, size_t at)
{
    while (is_blank(source_at(w, at)))
        at++;
    return at;
}

/* Behind one line end: LF, CR or both. */
static size_t skip_break(const walk *w, size_t at)
{
    return at + (source_at(w, at) == '\r' && source_at(w, at + 1) == '\n' ? 2 : 1);
}

static size_t skip_line(const walk *w, size_t at)
{
    while (at < w->length && !is_break(w->source[at]))
        at++;
    return at < w->length ? skip_break(w, at) : at;
}

/* Behind an anchor and what separates it from the scalar. */
static size_t skip_anchor(const walk *w, size_t at)
{
    if (source_at(w, at) != '&')
        return at;
    while (at < w->length && !is_blank(w->source[at]) && !is_break(w->source[at]))
        at++;
    for (;;) {
        at = skip_blanks(w, at);
        if (source_at(w, at) == '#')
            at = skip_line(w, at);
        else if (is_break(source_at(w, at)))
            at = skip_break(w, at);
        else
            return at;
    }
}

/* Up to `indent` blanks at the start of a block scalar's line. */
static size_t skip_indent(const walk *w, size_t at)
{
    size_t end = at + w->indent;
    while (at < end && source_at(w, at) == ' ')
        at++;
    return at;
}

/* Line ends of a block scalar: as many in the text, one less, or a blank. */
static bool step_block_break(walk *w)
{
    size_t at = w->at;
    size_t breaks = 0;
    while (is_break(source_at(w, at))) {
        breaks++;
        at = skip_indent(w, skip_break(w, at));
    }
    size_t given = 0;
    while (given < breaks && w->done + given < w->text_length && w->text[w->done + given] == '\n')
        given++;
    if (given == 0 && w->text[w->done] == ' ' && breaks == 1)
        given = 1;
    if (given == 0 || given + 1 < breaks)
        return false;
    w->done += given;
    w->at = at;
    return true;
}

/* Source bytes of the escape at `at`. */
static size_t escape_length(char letter)
{
    switch (letter) {
    case 'x':
        return 4;
    case 'u':
        return 6;
    case 'U':
        return 10;
    default:
        return 2;
    }
}

/* Behind escaped line ends, which leave nothing in the text. */
static size_t skip_continuations(const walk *w, size_t at)
{
    while (w->style == '"' && source_at(w, at) == '\\' && is_break(source_at(w, at + 1)))
        at = skip_blanks(w, skip_break(w, at + 1));
    return at;
}

static bool step_character(walk *w)
{
    if (w->at >= w->length || w->source[w->at] != w->text[w->done])
        return false;
    bool is_doubled = w->style == '\'' && w->source[w->at] == '\'';
    w->at += is_doubled ? 2 : 1;
    w->done++;
    return true;
}

/* One unit further; false where source and text part. */
static bool step(walk *w)
{
    bool is_block = w->style == '|' || w->style == '>';
    if (is_block)
        return is_break(source_at(w, w->at)) ? step_block_break(w) : step_character(w);
    size_t behind_blanks = skip_blanks(w, w->at);
    if (is_break(source_at(w, behind_blanks))) {
        /* A line end of a plain or quoted scalar with the blanks around it: one gives a blank, more
         * give one line end less. False where the text does not have that. */
        size_t breaks = 0;
        size_t at = behind_blanks;
        while (is_break(source_at(w, at))) {
            breaks++;
            at = skip_blanks(w, skip_break(w, at));
        }
        size_t given = breaks == 1 ? 1 : breaks - 1;
        char wanted = breaks == 1 ? ' ' : '\n';
        for (size_t i = 0; i < given; i++)
            if (w->done + i >= w->text_length || w->text[w->done + i] != wanted)
                return false;
        w->done += given;
        w->at = at;
        return true;
    }
    if (w->style == '"' && source_at(w, w->at) == '\\') {
        char letter = source_at(w, w->at + 1);
        uint32_t code;
        size_t size = st_utf8_decode(w->text + w->done, w->text_length - w->done, &code);
        w->done += size;
        w->at += escape_length(letter);
        return size > 0 && w->at <= w->length;
    }
    return step_character(w);
}

st_place st_yaml_place_at(const st_yaml_node *scalar, size_t offset)
{
    if (scalar->kind != ST_YAML_SCALAR)
        return scalar->place;
    walk w = {.source = scalar->source,
              .length = scalar->source_length,
              .at = scalar->source_offset,
              .text = scalar->text,
              .text_length = scalar->length};
    if (offset > scalar->length)
        offset = scalar->length;
    w.at = skip_anchor(&w, w.at);
    char first = source_at(&w, w.at);
    w.style = first != '\0' && strchr("'\"|>", first) != NULL ? first : ' ';
    if (w.style == '|' || w.style == '>') {
        /* Goes to the first character of a block scalar: the indentation of its first full line
         * counts. */
        w.at = skip_line(&w, w.at);
        size_t line = w.at;
        size_t content;
        for (;;) {
            content = line;
            while (source_at(&w, content) == ' ')
                content++;
            if (!is_break(source_at(&w, content)))
                break;
            line = skip_break(&w, content);
        }
        w.indent = content - line;
        w.at = skip_indent(&w, w.at);
    } else if (w.style != ' ') {
        w.at++;
    }
    w.at = skip_continuations(&w, w.at);
    size_t reached = w.at;
    while (w.done < offset) {
        if (!step(&w))
            return scalar->place;
        w.at = skip_continuations(&w, w.at);
        if (w.done <= offset)
            reached = w.at;
    }
    /* `place` moved on from byte `from` of the source to byte `to`. */
    st_place place = scalar->place;
    size_t line_start = scalar->source_offset;
    for (size_t at = scalar->source_offset; at < reached;) {
        if (!is_break(w.source[at])) {
            at++;
            continue;
        }
        at = skip_break(&w, at);
        if (at > reached)
            break;
        place.line++;
        place.column = 1;
        line_start = at;
    }
    return st_utf8_advance(place, w.source + line_start, reached - line_start);
}

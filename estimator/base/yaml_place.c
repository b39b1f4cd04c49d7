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

static char source_at(const walk *scan, size_t at)
{
    return at < scan->length ? scan->source[at] : '\0';
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

static bool is_break(char letter)
{
    return letter == '\n' || letter == '\r';
}

static size_t skip_blanks(const walk *scan, size_t at)
{
    while (is_blank(source_at(scan, at)))
        at++;
    return at;
}

/* Behind one line end: LF, CR or both. */
static size_t skip_break(const walk *scan, size_t at)
{
    return at + (source_at(scan, at) == '\r' && source_at(scan, at + 1) == '\n' ? 2 : 1);
}

static size_t skip_line(const walk *scan, size_t at)
{
    while (at < scan->length && !is_break(scan->source[at]))
        at++;
    return at < scan->length ? skip_break(scan, at) : at;
}

/* Behind an anchor and what separates it from the scalar. */
static size_t skip_anchor(const walk *scan, size_t at)
{
    if (source_at(scan, at) != '&')
        return at;
    while (at < scan->length && !is_blank(scan->source[at]) && !is_break(scan->source[at]))
        at++;
    for (;;) {
        at = skip_blanks(scan, at);
        if (source_at(scan, at) == '#')
            at = skip_line(scan, at);
        else if (is_break(source_at(scan, at)))
            at = skip_break(scan, at);
        else
            return at;
    }
}

/* Up to `indent` blanks at the start of a block scalar's line. */
static size_t skip_indent(const walk *scan, size_t at)
{
    size_t end = at + scan->indent;
    while (at < end && source_at(scan, at) == ' ')
        at++;
    return at;
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
static size_t skip_continuations(const walk *scan, size_t at)
{
    while (scan->style == '"' && source_at(scan, at) == '\\' && is_break(source_at(scan, at + 1)))
        at = skip_blanks(scan, skip_break(scan, at + 1));
    return at;
}

static bool step_character(walk *scan)
{
    if (scan->at >= scan->length || scan->source[scan->at] != scan->text[scan->done])
        return false;
    bool is_doubled = scan->style == '\'' && scan->source[scan->at] == '\'';
    scan->at += is_doubled ? 2 : 1;
    scan->done++;
    return true;
}

/* One unit further; false where source and text part. */
static bool step(walk *scan)
{
    bool is_block = scan->style == '|' || scan->style == '>';
    if (is_block) {
        if (!is_break(source_at(scan, scan->at)))
            return step_character(scan);
        /* Line ends of a block scalar: as many in the text, one less, or a blank. */
        size_t at = scan->at;
        size_t breaks = 0;
        while (is_break(source_at(scan, at))) {
            breaks++;
            at = skip_indent(scan, skip_break(scan, at));
        }
        size_t given = 0;
        while (given < breaks && scan->done + given < scan->text_length &&
               scan->text[scan->done + given] == '\n')
            given++;
        if (given == 0 && scan->text[scan->done] == ' ' && breaks == 1)
            given = 1;
        if (given == 0 || given + 1 < breaks)
            return false;
        scan->done += given;
        scan->at = at;
        return true;
    }
    size_t behind_blanks = skip_blanks(scan, scan->at);
    if (is_break(source_at(scan, behind_blanks))) {
        /* A line end of a plain or quoted scalar with the blanks around it: one gives a blank, more
         * give one line end less. False where the text does not have that. */
        size_t breaks = 0;
        size_t at = behind_blanks;
        while (is_break(source_at(scan, at))) {
            breaks++;
            at = skip_blanks(scan, skip_break(scan, at));
        }
        size_t given = breaks == 1 ? 1 : breaks - 1;
        char wanted = breaks == 1 ? ' ' : '\n';
        for (size_t i = 0; i < given; i++)
            if (scan->done + i >= scan->text_length || scan->text[scan->done + i] != wanted)
                return false;
        scan->done += given;
        scan->at = at;
        return true;
    }
    if (scan->style == '"' && source_at(scan, scan->at) == '\\') {
        char letter = source_at(scan, scan->at + 1);
        uint32_t code;
        size_t size =
            st_utf8_decode(scan->text + scan->done, scan->text_length - scan->done, &code);
        scan->done += size;
        scan->at += escape_length(letter);
        return size > 0 && scan->at <= scan->length;
    }
    return step_character(scan);
}

st_place st_yaml_place_at(const st_yaml_node *scalar, size_t offset)
{
    if (scalar->kind != ST_YAML_SCALAR)
        return scalar->place;
    walk scan = {.source = scalar->source,
                 .length = scalar->source_length,
                 .at = scalar->source_offset,
                 .text = scalar->text,
                 .text_length = scalar->length};
    if (offset > scalar->length)
        offset = scalar->length;
    scan.at = skip_anchor(&scan, scan.at);
    char first = source_at(&scan, scan.at);
    scan.style = first != '\0' && strchr("'\"|>", first) != NULL ? first : ' ';
    if (scan.style == '|' || scan.style == '>') {
        /* Goes to the first character of a block scalar: the indentation of its first full line
         * counts. */
        scan.at = skip_line(&scan, scan.at);
        size_t line = scan.at;
        size_t content;
        for (;;) {
            content = line;
            while (source_at(&scan, content) == ' ')
                content++;
            if (!is_break(source_at(&scan, content)))
                break;
            line = skip_break(&scan, content);
        }
        scan.indent = content - line;
        scan.at = skip_indent(&scan, scan.at);
    } else if (scan.style != ' ') {
        scan.at++;
    }
    scan.at = skip_continuations(&scan, scan.at);
    size_t reached = scan.at;
    while (scan.done < offset) {
        if (!step(&scan))
            return scalar->place;
        scan.at = skip_continuations(&scan, scan.at);
        if (scan.done <= offset)
            reached = scan.at;
    }
    /* `place` moved on from byte `from` of the source to byte `to`. */
    st_place place = scalar->place;
    size_t line_start = scalar->source_offset;
    for (size_t at = scalar->source_offset; at < reached;) {
        if (!is_break(scan.source[at])) {
            at++;
            continue;
        }
        at = skip_break(&scan, at);
        if (at > reached)
            break;
        place.line++;
        place.column = 1;
        line_start = at;
    }
    return st_utf8_advance(place, scan.source + line_start, reached - line_start);
}

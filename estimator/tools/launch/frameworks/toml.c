/* SPDX-License-Identifier: Apache-2.0 */
/* See toml.h. */
#include "launch/frameworks/toml.h"

#include "base/index.h"
#include "base/lists.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, SHOWN_BYTES = 40 };

typedef enum name_kind {
    NAME_VALUE,
    NAME_IMPLIED, /* a table that another one's name implies */
    NAME_DOTTED,  /* a table that keys with dots make, complete where their own table ends */
    NAME_TABLE,
    NAME_LIST /* of tables */
} name_kind;

typedef struct known_name {
    const char *text;
    name_kind kind;
    size_t tables;  /* of a list, so far */
    size_t section; /* of a dotted one: the header before it */
    int line;
} known_name;

typedef struct reader {
    const st_toml_source *source;
    const char *at;
    const char *line_start;
    int line;
    unsigned depth;
    const char *table;  /* the values that follow are in it; "" at first */
    size_t section;     /* headers so far */
    size_t table_count; /* in lists of values, so far */
    known_name *names;
    size_t name_count;
    st_index index;
    regex_t number;
    regex_t word; /* other values without quotes */
    st_toml_take *take;
    void *context;
    st_arena *arena;
    st_errors *errors;
    st_status status;
} reader;

static bool ok(const reader *r)
{
    return r->status == ST_OK;
}

static const char *end_of(const reader *r)
{
    return r->source->text + r->source->length;
}

/* The character here, '\0' at the end; a NUL of the file is refused before it is met. */
static char peek(const reader *r)
{
    return r->at < end_of(r) ? *r->at : '\0';
}

static bool starts(const reader *r, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(end_of(r) - r->at) >= length && memcmp(r->at, word, length) == 0;
}

static void refuse_at(reader *r, const char *from, const char *expected)
{
    size_t length = 0;
    while (from + length < end_of(r) && length < SHOWN_BYTES && from[length] != '\n')
        length++;
    length = st_utf8_cut(from, length, SHOWN_BYTES);
    const st_place place =
        st_utf8_advance((st_place){.file = r->source->file, .line = r->line, .column = 1},
                        r->line_start, (size_t)(from - r->line_start));
    if (ok(r))
        r->status = st_fail(r->errors, ST_ERR_SYNTAX, place,
                            "not TOML" ST_FOUND "%s%.*s%s" ST_EXPECTED "%s",
                            length > 0 ? "'" : "the end of the line", (int)length, from,
                            length > 0 ? "'" : "", expected);
}

static void refuse(reader *r, const char *expected)
{
    refuse_at(r, r->at, expected);
}

static void out_of_memory(reader *r)
{
    if (ok(r))
        r->status = st_out_of_memory(r->errors);
}

/* Keeps a text, also one that memory cut: never NULL. */
static const char *keep(reader *r, st_buffer *text)
{
    const char *kept =
        text->failed ? NULL
                     : st_arena_copy(r->arena, text->data != NULL ? text->data : "", text->length);
    st_buffer_free(text);
    if (kept == NULL)
        out_of_memory(r);
    return kept != NULL ? kept : "";
}

/* ---- blanks ---------------------------------------------------------------------------------- */

static void skip_blanks(reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t')
        r->at++;
}

static bool take_line_end(reader *r)
{
    const size_t length = starts(r, "\r\n") ? 2 : peek(r) == '\n' ? 1 : 0;
    if (length == 0)
        return false;
    r->at += length;
    r->line_start = r->at;
    r->line++;
    return true;
}

static void skip_comment(reader *r)
{
    skip_blanks(r);
    if (peek(r) == '#')
        while (r->at < end_of(r) && *r->at != '\n' && !starts(r, "\r\n"))
            r->at++;
}

/* Blanks, comments and line ends, as inside lists. */
static void skip_lines(reader *r)
{
    do
        skip_comment(r);
    while (take_line_end(r));
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void put_code(st_buffer *text, uint32_t code)
{
    char bytes[4];
    const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = more; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(first[more] | code);
    st_buffer_append(text, bytes, more + 1);
}

static void take_code(reader *r, size_t digits, st_buffer *text)
{
    const char *from = r->at;
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++, r->at++) {
        static const char hexadecimal[] = "0123456789abcdefABCDEF";
        const char *found = peek(r) != '\0' ? strchr(hexadecimal, peek(r)) : NULL;
        if (found == NULL) {
            refuse_at(r, from,
                      digits == 4 ? "four hexadecimal digits" : "eight hexadecimal digits");
            return;
        }
        const size_t digit = (size_t)(found - hexadecimal);
        code = code << 4 | (uint32_t)(digit < 16 ? digit : digit - 6);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        refuse_at(r, from, "the code of a character");
    else if (code == 0)
        refuse_at(r, from, "a character other than NUL");
    else
        put_code(text, code);
}

/* What a backslash begins; in a text of several lines also a line end and the blanks after it. */
static void take_escape(reader *r, bool several, st_buffer *text)
{
    static const char letters[] = "btnfr\"\\";
    static const char meant[] = "\b\t\n\f\r\"\\";
    const char *from = r->at++;
    const char *found = peek(r) != '\0' ? strchr(letters, peek(r)) : NULL;
    if (found != NULL) {
        st_buffer_append(text, &meant[found - letters], 1);
        r->at++;
    } else if (peek(r) == 'u' || peek(r) == 'U') {
        r->at++;
        take_code(r, r->at[-1] == 'u' ? 4 : 8, text);
    } else if (several) {
        skip_blanks(r);
        if (!take_line_end(r)) {
            refuse_at(r, from, "an escape such as \\n or \\\\");
            return;
        }
        do
            skip_blanks(r);
        while (take_line_end(r));
    } else {
        refuse_at(r, from, "an escape such as \\n or \\\\");
    }
}

/* A text in quotes of one kind, of one line or, between three of them, of several. */
static const char *take_text(reader *r, bool may_be_several)
{
    const char quote = *r->at;
    const char three[] = {quote, quote, quote, '\0'};
    const char *from = r->at;
    const int from_line = r->line;
    const bool several = may_be_several && starts(r, three);
    st_buffer text = {0};
    r->at += several ? 3 : 1;
    if (several)
        (void)take_line_end(r);
    while (ok(r)) {
        if (several ? starts(r, three) : peek(r) == quote) {
            r->at += several ? 3 : 1;
            /* Up to two quotes may stand before the three that end it. */
            for (int i = 0; several && i < 2 && peek(r) == quote; i++, r->at++)
                st_buffer_append(&text, &quote, 1);
            break;
        }
        const char *before = r->at;
        if (r->at >= end_of(r) || (!several && (*r->at == '\n' || *r->at == '\r'))) {
            if (several)
                r->status =
                    st_fail(r->errors, ST_ERR_SYNTAX,
                            (st_place){.file = r->source->file, .line = from_line},
                            "a text that begins in this line does not end" ST_EXPECTED "%s", three);
            else
                refuse_at(r, from, "a text with quotes at both ends");
        } else if (several && take_line_end(r)) {
            st_buffer_append(&text, "\n", 1);
        } else if (*r->at == '\\' && quote == '"') {
            take_escape(r, several, &text);
        } else {
            uint32_t code = 0;
            const size_t bytes = st_utf8_decode(r->at, (size_t)(end_of(r) - r->at), &code);
            r->at += bytes;
            st_buffer_append(&text, before, bytes);
        }
    }
    return keep(r, &text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static known_name *find_name(reader *r, const char *text)
{
    uint32_t found = 0;
    if (r->name_count == 0)
        return NULL;
    ST_INDEX_FIND(&r->index, st_hash_text(0, text), found, strcmp(r->names[found].text, text) == 0);
    return found != ST_INDEX_NONE ? &r->names[found] : NULL;
}

static known_name *add_name(reader *r, const char *text, name_kind kind)
{
    const known_name made = {.text = text, .kind = kind, .line = r->line};
    if (!ST_APPEND(r->arena, r->names, r->name_count, made) ||
        !st_index_add(&r->index, r->arena, st_hash_text(0, text), r->name_count - 1)) {
        out_of_memory(r);
        return NULL;
    }
    return &r->names[r->name_count - 1];
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static const char *take_part(reader *r)
{
    if (peek(r) == '"' || peek(r) == '\'')
        return take_text(r, false);
    st_buffer text = {0};
    for (; is_bare(peek(r)); r->at++)
        st_buffer_append(&text, r->at, 1);
    if (text.length == 0)
        refuse(r, "a key");
    return keep(r, &text);
}

static void refuse_twice(reader *r, const known_name *known)
{
    if (ok(r))
        r->status =
            st_fail(r->errors, ST_ERR_SYNTAX, (st_place){.file = r->source->file, .line = r->line},
                    "%s '%.80s' is given twice, first in line %d",
                    known->kind == NAME_VALUE ? "key" : "table", known->text, known->line);
}

/* What a name goes through before its last part: false where it cannot be entered. A header may
 * enter any table, a dotted key those that nothing else made. */
static bool enter(const reader *r, known_name *known, bool by_header)
{
    if (by_header || known->kind == NAME_VALUE)
        return known->kind != NAME_VALUE;
    if (known->kind == NAME_IMPLIED) {
        known->kind = NAME_DOTTED;
        known->section = r->section;
    }
    return known->kind == NAME_DOTTED && known->section == r->section;
}

/* A dotted key within a table; what it goes through are tables. `kind` says what it names. */
static const char *take_name(reader *r, const char *table, name_kind kind)
{
    const char *name = table;
    for (int level = 1;; level++) {
        skip_blanks(r);
        if (level > MOST_DEPTH)
            refuse(r, "at most 64 levels");
        const char *part = ok(r) ? take_part(r) : "";
        name = st_arena_printf(r->arena, "%s%s%s", name, name[0] != '\0' ? "." : "", part);
        skip_blanks(r);
        if (name == NULL)
            out_of_memory(r);
        if (!ok(r))
            return "";
        known_name *known = find_name(r, name);
        const bool is_last = peek(r) != '.';
        if (is_last) {
            if (known == NULL)
                known = add_name(r, name, kind);
            else if ((kind == NAME_TABLE && known->kind == NAME_IMPLIED) ||
                     (kind == NAME_LIST && known->kind == NAME_LIST))
                known->kind = kind;
            else
                refuse_twice(r, known);
        } else {
            if (known == NULL)
                known = add_name(r, name, NAME_IMPLIED);
            if (known != NULL && !enter(r, known, kind != NAME_VALUE))
                refuse_twice(r, known);
        }
        if (ok(r) && known != NULL && known->kind == NAME_LIST)
            name = st_arena_printf(r->arena, "%s.%zu", name,
                                   is_last ? known->tables++ : known->tables - 1);
        if (name == NULL)
            out_of_memory(r);
        if (!ok(r) || is_last)
            return name != NULL ? name : "";
        r->at++;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

#define FIGURES(digits) digits "(_?" digits ")*"
#define HOURS           "([01][0-9]|2[0-3]):[0-5][0-9]"
#define CLOCK           HOURS ":[0-5][0-9]([.][0-9]+)?"
#define DECIMAL         FIGURES("[0-9]")
/* Whole numbers, also of other bases, and others; not "012", "1.", ".5" or "1__0". */
static const char number_form[] =
    "^([-+]?(inf|nan)|0x" FIGURES("[0-9a-fA-F]") "|0o" FIGURES("[0-7]") "|0b" FIGURES(
        "[01]") "|[-+]?(0|[1-9](_?[0-9])*)([.]" DECIMAL ")?([eE][-+]?" DECIMAL ")?)$";
static const char word_form[] =
    "^(true|false|" CLOCK "|[0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|"
    "30)|(0[13578]|1[02])-31|02-29)([Tt ]" CLOCK "([Zz]|[-+]" HOURS ")?)?)$";

static bool has_form(const regex_t *form, const char *text)
{
    return regexec(form, text, 0, NULL, 0) == 0;
}

/* Of a word that has its form: whether it is a day that no calendar has. */
static bool is_no_day(const char *word)
{
    const int year = strlen(word) >= 10 && word[4] == '-' ? (int)strtol(word, NULL, 10) : 4;
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year == 0 || (!is_leap && strncmp(word + 4, "-02-29", 6) == 0);
}

/* A number, a truth value or a date, up to what can follow a value. */
static const char *take_word(reader *r)
{
    const char *from = r->at;
    size_t length = 0;
    while (from + length < end_of(r) && strchr(",]}# \t\r\n", from[length]) == NULL)
        length++;
    if (length == 10 && from + 13 < end_of(r) && from[10] == ' ' && from[13] == ':') {
        length = 11; /* a date, and after a blank a time */
        while (from + length < end_of(r) && strchr(",]}# \t\r\n", from[length]) == NULL)
            length++;
    }
    st_buffer text = {0};
    st_buffer_append(&text, from, length);
    const char *word = keep(r, &text);
    const bool counts = has_form(&r->number, word);
    if (!counts && (!has_form(&r->word, word) || is_no_day(word))) {
        refuse(r, "a text in quotes, a number, true, false, a date, a list or a table");
        return "";
    }
    for (size_t i = 0; i < length; i++)
        if (!counts || from[i] != '_')
            st_buffer_append(&text, from + i, 1);
    r->at += length;
    return keep(r, &text);
}

static void put(st_buffer *list, const char *text)
{
    if (list != NULL)
        st_buffer_text(list, text);
}

/* Into `list`, as text; without one to the caller, by its name. */
static void take_value(reader *r, const char *name, st_buffer *list);

static void take_list(reader *r, st_buffer *list)
{
    size_t count = 0;
    r->at++;
    st_buffer_text(list, "[");
    for (skip_lines(r); ok(r) && peek(r) != ']'; skip_lines(r)) {
        st_buffer_text(list, count++ > 0 ? ", " : "");
        take_value(r, "", list);
        skip_lines(r);
        if (peek(r) == ',')
            r->at++;
        else if (ok(r) && peek(r) != ']')
            refuse(r, "',' or ']'");
    }
    r->at += ok(r) ? 1 : 0;
    st_buffer_text(list, "]");
}

static void take_pair(reader *r, const char *table, st_buffer *list)
{
    const char *from = r->at;
    const char *name = take_name(r, table, NAME_VALUE);
    skip_blanks(r);
    if (ok(r) && peek(r) != '=') {
        refuse_at(r, from, "[table] or key = value");
        return;
    }
    if (!ok(r))
        return;
    r->at++;
    skip_blanks(r);
    if (list != NULL)
        st_buffer_printf(list, "%s = ", name + strlen(table) + 1);
    take_value(r, name, list);
}

static void take_table(reader *r, const char *name, st_buffer *list)
{
    r->at++;
    skip_blanks(r);
    put(list, "{");
    if (list != NULL) /* names that no file has keep its keys apart */
        name = st_arena_printf(r->arena, "\x01%zu", r->table_count++);
    if (name == NULL)
        out_of_memory(r);
    for (size_t count = 0; ok(r) && (peek(r) != '}' || count > 0); count++) {
        put(list, count > 0 ? ", " : "");
        take_pair(r, name, list);
        skip_blanks(r);
        if (peek(r) == '}')
            break;
        if (ok(r) && peek(r) != ',')
            refuse(r, "',' or '}'");
        r->at++;
        skip_blanks(r);
    }
    r->at += ok(r) ? 1 : 0;
    put(list, "}");
}

static void give(reader *r, const st_toml_value *value)
{
    if (ok(r))
        r->take(r->context, value);
}

static void take_value(reader *r, const char *name, st_buffer *list)
{
    st_toml_value value = {.name = name, .line = r->line};
    const char first = peek(r);
    if (++r->depth > MOST_DEPTH)
        refuse(r, "at most 64 levels");
    else if (first == '{')
        take_table(r, name, list);
    else if (first == '[' && list != NULL)
        take_list(r, list);
    else if (first == '[') {
        st_buffer own = {0};
        take_list(r, &own);
        value.text = keep(r, &own);
    } else {
        value.quoted = first == '"' || first == '\'';
        value.text = value.quoted ? take_text(r, true) : take_word(r);
        put(list, value.quoted ? "\"" : "");
        put(list, value.text);
        put(list, value.quoted ? "\"" : "");
    }
    r->depth--;
    if (value.text != NULL && list == NULL)
        give(r, &value);
}

static void take_header(reader *r)
{
    const bool is_list = starts(r, "[[");
    r->section++;
    r->at += is_list ? 2 : 1;
    r->table = take_name(r, "", is_list ? NAME_LIST : NAME_TABLE);
    if (ok(r) && !starts(r, is_list ? "]]" : "]"))
        refuse(r, is_list ? "]]" : "]");
    r->at += ok(r) ? (is_list ? 2 : 1) : 0;
}

/* Nothing but UTF-8 without control characters, wherever they are. */
static void check_characters(reader *r)
{
    while (ok(r) && r->at < end_of(r)) {
        uint32_t code = 0;
        const size_t bytes = st_utf8_decode(r->at, (size_t)(end_of(r) - r->at), &code);
        if (take_line_end(r))
            continue;
        if (code == 0 && *r->at != '\0')
            refuse(r, "UTF-8");
        else if ((code < ' ' && code != '\t') || code == 0x7f)
            refuse(r, "no control character");
        r->at += bytes > 0 ? bytes : 1;
    }
}

st_status st_toml_read(const st_toml_source *source, st_toml_take *take, void *context,
                       st_arena *arena, st_errors *errors)
{
    reader r = {.source = source,
                .at = source->text,
                .line_start = source->text,
                .line = 1,
                .table = "",
                .take = take,
                .context = context,
                .arena = arena,
                .errors = errors};
    static const char mark[] = "\xef\xbb\xbf";
    if (regcomp(&r.number, number_form, REG_EXTENDED | REG_NOSUB) != 0)
        return st_out_of_memory(errors);
    if (regcomp(&r.word, word_form, REG_EXTENDED | REG_NOSUB) != 0) {
        regfree(&r.number);
        return st_out_of_memory(errors);
    }
    check_characters(&r);
    r.at = source->text + (source->length >= 3 && memcmp(source->text, mark, 3) == 0 ? 3 : 0);
    r.line_start = r.at;
    r.line = 1;
    for (skip_lines(&r); ok(&r) && r.at < end_of(&r); skip_lines(&r)) {
        if (*r.at == '[')
            take_header(&r);
        else
            take_pair(&r, r.table, NULL);
        skip_comment(&r);
        if (ok(&r) && r.at < end_of(&r) && *r.at != '\n' && !starts(&r, "\r\n"))
            refuse(&r, "the end of the line");
    }
    regfree(&r.number);
    regfree(&r.word);
    return r.status;
}

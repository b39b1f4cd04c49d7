/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a table of steps: one statement a line, expressions over whole numbers compiled into
 * postfix order, so that a step of a rank costs no parsing.
 */
#include "fabric/steps_text.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MAX_CODES = 64, MAX_LINE = 1000, MAX_NESTING = 32, MOST_VALUE = 1 << 30 };

enum { COLLECTIVE, RANKS, CHUNKS, HEADINGS };

typedef struct steps_reader {
    st_steps *steps;
    st_arena *arena;
    st_errors *errors;
    const char *line; /* NUL-terminated */
    const char *at;
    int number;
    const char *names[ST_STEPS_MAX_NAMES];
    size_t name_count;
    size_t open[ST_STEPS_MAX_DEPTH]; /* statements that no `end` has closed */
    size_t open_count;
    st_steps_code codes[MAX_CODES];
    size_t code_count;
    int nesting;
    int heading[HEADINGS]; /* lines of `collective`, `ranks` and `chunks`; 0: none yet */
    bool good;
} steps_reader;

static const char *const collective_names[ST_COLLECTIVES] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};

const char *st_collective_name(st_collective collective)
{
    return collective_names[collective];
}

static ST_PRINTF(2, 3) bool fail(steps_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (reader->good)
        (void)st_vfail(reader->errors, ST_ERR_SYNTAX,
                       (st_place){.file = reader->steps->file,
                                  .line = reader->number,
                                  .column = (int)(reader->at - reader->line) + 1},
                       format, arguments);
    va_end(arguments);
    reader->good = false;
    return false;
}

/* ---- words ---- */

static void skip_blanks(steps_reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t')
        reader->at++;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

static size_t word_length(steps_reader *reader)
{
    size_t length = 0;
    skip_blanks(reader);
    while (is_letter(reader->at[length]) ||
           (length > 0 && reader->at[length] >= '0' && reader->at[length] <= '9'))
        length++;
    return length;
}

static bool accept_word(steps_reader *reader, const char *word)
{
    size_t length = word_length(reader);
    if (length != strlen(word) || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool expect_word(steps_reader *reader, const char *word)
{
    return accept_word(reader, word) ||
           fail(reader, "expected '%s', found '%.20s'", word, reader->at);
}

static bool accept_sign(steps_reader *reader, const char *sign)
{
    skip_blanks(reader);
    if (strncmp(reader->at, sign, strlen(sign)) != 0)
        return false;
    reader->at += strlen(sign);
    return true;
}

/* ---- expressions ---- */

static bool add_code(steps_reader *reader, char op, int64_t value)
{
    if (reader->code_count == MAX_CODES)
        return fail(reader, "the expression is too long" ST_EXPECTED "at most 64 operations");
    reader->codes[reader->code_count++] = (st_steps_code){op, value};
    return true;
}

static bool read_sum(steps_reader *reader);

static bool read_whole(steps_reader *reader)
{
    int64_t value = 0;
    while (*reader->at >= '0' && *reader->at <= '9' && value < MOST_VALUE)
        value = value * 10 + (*reader->at++ - '0');
    if (value >= MOST_VALUE)
        return fail(reader, "the number is too large");
    return add_code(reader, '#', value);
}

static bool read_name(steps_reader *reader)
{
    size_t length = word_length(reader);
    for (size_t i = 0; i < reader->name_count; i++)
        if (strlen(reader->names[i]) == length &&
            memcmp(reader->names[i], reader->at, length) == 0) {
            reader->at += length;
            return add_code(reader, 'v', (int64_t)i);
        }
    if (accept_word(reader, "log2"))
        return accept_sign(reader, "(") && read_sum(reader) && accept_sign(reader, ")")
                   ? add_code(reader, 'l', 0)
                   : fail(reader, "expected 'log2(...)'");
    return fail(reader, "unknown name '%.*s'" ST_EXPECTED "r, n, g, m or a loop variable",
                (int)length, reader->at);
}

static bool read_atom(steps_reader *reader)
{
    skip_blanks(reader);
    if (++reader->nesting > MAX_NESTING)
        return fail(reader, "the expression is nested too deeply");
    bool good = false;
    if (accept_sign(reader, "("))
        good = read_sum(reader) && (accept_sign(reader, ")") || fail(reader, "missing ')'"));
    else if (accept_sign(reader, "-"))
        good = read_atom(reader) && add_code(reader, '~', 0);
    else if (*reader->at >= '0' && *reader->at <= '9')
        good = read_whole(reader);
    else if (is_letter(*reader->at))
        good = read_name(reader);
    else
        good = fail(reader, "expected a number or a name, found '%.20s'", reader->at);
    reader->nesting--;
    return good;
}

static bool read_power(steps_reader *reader)
{
    return read_atom(reader) &&
           (!accept_sign(reader, "^") || (read_power(reader) && add_code(reader, '^', 0)));
}

static bool read_product(steps_reader *reader)
{
    bool good = read_power(reader);
    while (good) {
        char op = accept_sign(reader, "*")     ? '*'
                  : accept_sign(reader, "/")   ? '/'
                  : accept_word(reader, "mod") ? '%'
                  : accept_word(reader, "xor") ? 'x'
                                               : '\0';
        if (op == '\0')
            break;
        good = read_power(reader) && add_code(reader, op, 0);
    }
    return good;
}

static bool read_sum(steps_reader *reader)
{
    bool good = read_product(reader);
    while (good) {
        char op = accept_sign(reader, "+") ? '+' : accept_sign(reader, "-") ? '-' : '\0';
        if (op == '\0')
            break;
        good = read_product(reader) && add_code(reader, op, 0);
    }
    return good;
}

static bool keep(steps_reader *reader, st_steps_expr *expr)
{
    st_steps_code *codes = st_arena_alloc(reader->arena, reader->code_count + 1, sizeof *codes);
    if (codes == NULL)
        return fail(reader, "out of memory");
    memcpy(codes, reader->codes, reader->code_count * sizeof *codes);
    *expr = (st_steps_expr){codes, reader->code_count};
    return true;
}

static bool read_expr(steps_reader *reader, st_steps_expr *expr)
{
    reader->code_count = 0;
    reader->nesting = 0;
    return read_sum(reader) && keep(reader, expr);
}

static bool read_condition(steps_reader *reader, st_steps_expr *expr)
{
    static const struct {
        const char *sign;
        char op;
    } signs[] = {{"==", '='}, {"!=", '!'}, {"<=", '{'}, {">=", '}'}, {"<", '<'}, {">", '>'}};
    reader->code_count = 0;
    reader->nesting = 0;
    if (!read_sum(reader))
        return false;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (accept_sign(reader, signs[i].sign))
            return read_sum(reader) && add_code(reader, signs[i].op, 0) && keep(reader, expr);
    return fail(reader, "expected a comparison, found '%.20s'", reader->at);
}

static bool power(int64_t base, int64_t exponent, int64_t *value)
{
    *value = 1;
    if (exponent < 0 || exponent > 62)
        return false;
    for (int64_t i = 0; i < exponent; i++) {
        *value *= base;
        if (*value > MOST_VALUE || *value < -MOST_VALUE)
            return false;
    }
    return true;
}

/* Of a number above 0. */
static int64_t floor_log2(int64_t value)
{
    int64_t log = 0;
    while (value > 1) {
        value /= 2;
        log++;
    }
    return log;
}

static int64_t compare(char op, int64_t a, int64_t b)
{
    switch (op) {
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return a < b;
    case '>':
        return a > b;
    case '{':
        return a <= b;
    default:
        return a >= b;
    }
}

static bool apply(char op, int64_t a, int64_t b, int64_t *value)
{
    switch (op) {
    case '+':
        *value = a + b;
        break;
    case '-':
        *value = a - b;
        break;
    case '*':
        *value = a * b;
        break;
    case '/':
    case '%':
        if (b == 0)
            return false;
        *value = op == '%' ? (a % b + b) % b : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
        return true;
    case 'x':
        *value = a ^ b;
        break;
    case '^':
        return power(a, b, value);
    default:
        *value = compare(op, a, b);
    }
    return *value <= MOST_VALUE && *value >= -MOST_VALUE;
}

bool st_steps_value(const st_steps_expr *expr, const int64_t *names, int64_t *value)
{
    int64_t stack[MAX_CODES] = {0};
    size_t depth = 0;
    for (size_t i = 0; i < expr->count; i++) {
        const st_steps_code *code = &expr->codes[i];
        if (code->op == '#' || code->op == 'v') {
            stack[depth++] = code->op == '#' ? code->value : names[code->value];
        } else if (depth == 0) {
            return false;
        } else if (code->op == '~') {
            stack[depth - 1] = -stack[depth - 1];
        } else if (code->op == 'l') {
            if (stack[depth - 1] < 1)
                return false;
            stack[depth - 1] = floor_log2(stack[depth - 1]);
        } else {
            depth--;
            if (depth == 0 || !apply(code->op, stack[depth - 1], stack[depth], &stack[depth - 1]))
                return false;
        }
    }
    *value = stack[0];
    return true;
}

/* ---- statements ---- */

static void add_statement(steps_reader *reader, const st_statement *statement)
{
    st_steps *steps = reader->steps;
    if (steps->count >= ST_STEPS_MAX_STATEMENTS)
        fail(reader, "the table has more than 100000 lines");
    else if (!ST_APPEND(reader->arena, steps->statements, steps->count, *statement))
        fail(reader, "out of memory");
}

static void open_block(steps_reader *reader, const st_statement *statement)
{
    if (reader->open_count == ST_STEPS_MAX_DEPTH) {
        fail(reader, "loops and conditions are nested too deeply" ST_EXPECTED "at most 8");
        return;
    }
    reader->open[reader->open_count++] = reader->steps->count;
    add_statement(reader, statement);
}

/* "for k = 0 to n-2" */
static void read_loop(steps_reader *reader, st_statement *statement)
{
    size_t length = word_length(reader);
    statement->kind = ST_STEP_FOR;
    statement->variable = reader->name_count;
    if (length == 0 || reader->name_count == ST_STEPS_MAX_NAMES) {
        fail(reader, "expected a variable name, found '%.20s'", reader->at);
        return;
    }
    const char *name = st_arena_copy(reader->arena, reader->at, length);
    for (size_t i = 0; i < reader->name_count; i++)
        if (name != NULL && strcmp(reader->names[i], name) == 0)
            fail(reader, "'%s' is already defined", name);
    reader->at += length;
    if (name == NULL || !reader->good || !accept_sign(reader, "=")) {
        fail(reader, "expected '=', found '%.20s'", reader->at);
        return;
    }
    if (!read_expr(reader, &statement->chunk) || !expect_word(reader, "to") ||
        !read_expr(reader, &statement->count))
        return;
    reader->names[reader->name_count++] = name;
    open_block(reader, statement);
}

static void close_block(steps_reader *reader, st_statement *statement)
{
    statement->kind = ST_STEP_END;
    if (reader->open_count == 0) {
        fail(reader, "'end' without a loop or condition");
        return;
    }
    size_t begin = reader->open[--reader->open_count];
    st_statement *opened = &reader->steps->statements[begin];
    opened->end = reader->steps->count;
    statement->end = begin;
    if (opened->kind == ST_STEP_FOR)
        reader->name_count--;
    add_statement(reader, statement);
}

/* "send 0 count n to r+1", "reduce r from r-1", "copy r from r-1" */
static void read_step(steps_reader *reader, st_statement *statement, st_step_kind kind)
{
    statement->kind = kind;
    if (!read_expr(reader, &statement->chunk))
        return;
    reader->code_count = 0;
    if (accept_word(reader, "count")
            ? !read_expr(reader, &statement->count)
            : !add_code(reader, '#', 1) || !keep(reader, &statement->count))
        return;
    if (expect_word(reader, kind == ST_STEP_SEND ? "to" : "from") &&
        read_expr(reader, &statement->partner))
        add_statement(reader, statement);
}

static void read_collective(steps_reader *reader)
{
    size_t length = word_length(reader);
    for (int i = 0; i < ST_COLLECTIVES; i++)
        if (strlen(collective_names[i]) == length &&
            memcmp(collective_names[i], reader->at, length) == 0) {
            reader->steps->collective = (st_collective)i;
            reader->steps->line = reader->number;
            reader->at += length;
            return;
        }
    fail(reader,
         "unknown collective '%.*s'" ST_EXPECTED
         "one of all_reduce all_gather reduce_scatter all_to_all broadcast",
         (int)length, reader->at);
}

/* A line that a table has once. */
static bool accept_heading(steps_reader *reader, const char *word, int which)
{
    if (!accept_word(reader, word))
        return false;
    if (reader->heading[which] > 0)
        return fail(reader, "duplicate '%s'" ST_EXPECTED "only the one in line %d", word,
                    reader->heading[which]);
    reader->heading[which] = reader->number;
    return true;
}

static void read_statement(steps_reader *reader)
{
    st_statement statement = {.line = reader->number};
    if (accept_heading(reader, "collective", COLLECTIVE)) {
        read_collective(reader);
    } else if (accept_heading(reader, "ranks", RANKS)) {
        /* "any", "4", "multiple of 8", "power of 2" */
        st_steps_expr expr = {0};
        if (!accept_word(reader, "any")) {
            reader->steps->multiple = accept_word(reader, "multiple") && expect_word(reader, "of");
            reader->steps->power = !reader->steps->multiple && accept_word(reader, "power") &&
                                   expect_word(reader, "of");
            reader->code_count = 0;
            skip_blanks(reader);
            if (!(*reader->at >= '1' && *reader->at <= '9') || !read_whole(reader) ||
                !keep(reader, &expr))
                fail(reader, "invalid number of ranks" ST_EXPECTED
                             "any, NUMBER, multiple of NUMBER or power of NUMBER");
            else
                reader->steps->ranks = expr.count > 0 ? expr.codes[0].value : 0;
        }
    } else if (accept_heading(reader, "chunks", CHUNKS)) {
        (void)read_expr(reader, &reader->steps->chunks);
    } else if (!reader->good) {
        return;
    } else if (reader->steps->line == 0) {
        fail(reader, "the first line must be 'collective NAME'");
    } else if (accept_word(reader, "send")) {
        read_step(reader, &statement, ST_STEP_SEND);
    } else if (accept_word(reader, "reduce")) {
        read_step(reader, &statement, ST_STEP_REDUCE);
    } else if (accept_word(reader, "copy")) {
        read_step(reader, &statement, ST_STEP_COPY);
    } else if (accept_word(reader, "for")) {
        read_loop(reader, &statement);
    } else if (accept_word(reader, "end")) {
        close_block(reader, &statement);
    } else if (accept_word(reader, "if")) {
        statement.kind = ST_STEP_IF;
        if (read_condition(reader, &statement.chunk))
            open_block(reader, &statement);
    } else {
        fail(reader,
             "unknown step '%.20s'" ST_EXPECTED
             "one of collective ranks chunks send reduce copy for if end",
             reader->at);
    }
    if (reader->good) {
        skip_blanks(reader);
        if (*reader->at != '\0')
            fail(reader, "unexpected '%.20s'", reader->at);
    }
}

st_status st_steps_read(const st_source *source, st_arena *arena, const st_steps **steps,
                        st_errors *errors)
{
    st_steps *read = st_arena_alloc(arena, 1, sizeof *read);
    if (read == NULL)
        return st_out_of_memory(errors);
    read->file = source->file;
    steps_reader reader = {.steps = read,
                           .arena = arena,
                           .errors = errors,
                           .names = {"r", "n", "g", "m"},
                           .name_count = ST_STEPS_FIRST_LOOP,
                           .good = true};
    const char *at = source->text;
    const char *end = at + source->length;
    while (at < end && reader.good) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        reader.number++;
        size_t length = (size_t)(stop - at);
        char line[MAX_LINE + 1];
        const char *remark = memchr(at, '#', length);
        length = remark != NULL ? (size_t)(remark - at) : length;
        while (length > 0 && strchr(" \t\r", at[length - 1]) != NULL && at[length - 1] != '\0')
            length--;
        reader.line = reader.at = line;
        line[0] = '\0';
        if (length > MAX_LINE || memchr(at, '\0', length) != NULL) {
            fail(&reader, "line exceeds 1000 characters or is not text");
            reader.line = reader.at = NULL;
        } else {
            memcpy(line, at, length);
            line[length] = '\0';
            skip_blanks(&reader);
            if (*reader.at != '\0')
                read_statement(&reader);
            reader.line = reader.at = NULL;
        }
        at = stop + 1;
    }
    reader.line = reader.at = "";
    reader.number += reader.number == 0 ? 1 : 0; /* of an empty file the first line lacks, too */
    if (reader.good && reader.open_count > 0) {
        reader.number = read->statements[reader.open[reader.open_count - 1]].line;
        fail(&reader, "a loop or condition has no 'end'");
    } else if (reader.good && (read->line == 0 || read->chunks.count == 0)) {
        fail(&reader,
             "the table has no '%s' line" ST_EXPECTED "'collective all_reduce', 'chunks n'",
             read->line == 0 ? "collective" : "chunks");
    }
    if (!reader.good)
        return ST_ERR_SYNTAX;
    *steps = read;
    return ST_OK;
}

st_collective st_steps_collective(const st_steps *steps)
{
    return steps->collective;
}

const char *st_steps_ranks(const st_steps *steps, st_arena *arena)
{
    if (steps->ranks == 0)
        return "any number of ranks";
    const char *before = steps->multiple ? "a multiple of " : steps->power ? "a power of " : "";
    return st_arena_printf(arena, "%s%lld ranks", before, (long long)steps->ranks);
}

bool st_steps_fit(const st_steps *steps, const st_steps_group *group)
{
    int64_t ranks = group->ranks;
    if (ranks < 2 || steps->ranks == 0)
        return ranks >= 2;
    if (steps->multiple)
        return ranks % steps->ranks == 0;
    while (steps->power && steps->ranks > 1 && ranks > steps->ranks && ranks % steps->ranks == 0)
        ranks /= steps->ranks;
    return ranks == steps->ranks;
}

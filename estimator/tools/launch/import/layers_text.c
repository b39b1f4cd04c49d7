/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer lists from a text with a line for each layer (docs/layers.md): a kind, a name, sizes.
 *
 * The sheet layer-kinds defines kinds, sizes and units: its enumeration lists the kinds, its other
 * inputs the sizes, its checks what a kind needs, its roles what a list holds. It runs once a line.
 */
#include "base/error_scope.h"
#include "base/memory.h"
#include "launch/import/import.h"
#include "steptime/tool/value_text.h"
#include "steptime/tool/programs.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES = 4 * 1024 * 1024, MAX_LINES = 100000, MAX_DEPTH = 8, MAX_INPUTS = 64 };

/* What a layer comes to, in the order of the role's parts, and its work. */
enum {
    WEIGHTS,
    BIASES,
    KEPT,
    OUTPUT,
    MOVED,
    MOVED_COMPILED,
    KERNELS,
    KERNELS_COMPILED,
    WORK,
    FIGURES
};

typedef struct word {
    const char *text;
    size_t length;
    st_place place;
} word;

typedef struct layers_reader {
    const st_import_request *request;
    st_arena *arena;
    st_errors *errors;
    const st_sheet *sheet;
    const st_program *program;
    st_workspace *workspace;
    const st_sheet_input *inputs;
    size_t input_count;
    size_t kind; /* the input that says what a layer is */
    double *checks;
    const char *at;
    const char *line_start;
    const char *line_end;
    int line;
    const char *name;
    const char *title;
    const char *source;
    const char *unit;
    size_t layers;              /* in the innermost group */
    size_t outer[MAX_DEPTH];    /* in those around it */
    st_place groups[MAX_DEPTH]; /* where they begin */
    size_t depth;
    st_buffer list;
    bool failed;
} layers_reader;

static ST_PRINTF(3, 4) bool refuse(layers_reader *reader, const word *found, const char *format,
                                   ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(reader->errors, ST_ERR_VALUE, found->place, format, arguments);
    va_end(arguments);
    reader->failed = true;
    return false;
}

/* ---- words ---- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static void skip_blanks(layers_reader *reader)
{
    while (reader->at < reader->line_end && is_blank(*reader->at))
        reader->at++;
    if (reader->at < reader->line_end && *reader->at == '#')
        reader->at = reader->line_end;
}

static bool next_line(layers_reader *reader)
{
    const char *end = reader->request->text + reader->request->length;
    if (reader->line > 0 && reader->line_end >= end)
        return false;
    reader->line_start = reader->line == 0 ? reader->request->text : reader->line_end + 1;
    const char *stop = memchr(reader->line_start, '\n', (size_t)(end - reader->line_start));
    reader->line_end = stop != NULL ? stop : end;
    reader->at = reader->line_start;
    reader->line++;
    return true;
}

static word word_at(const layers_reader *reader, const char *start, const char *end)
{
    return (word){
        .text = start,
        .length = (size_t)(end - start),
        .place = {reader->request->file, reader->line, (int)(start - reader->line_start) + 1}};
}

static word next_word(layers_reader *reader)
{
    skip_blanks(reader);
    const char *start = reader->at;
    while (reader->at < reader->line_end && !is_blank(*reader->at) && *reader->at != '=')
        reader->at++;
    return word_at(reader, start, reader->at);
}

/* The rest of the line, without surrounding blanks and comments. */
static word rest_of_line(layers_reader *reader)
{
    skip_blanks(reader);
    const char *start = reader->at;
    const char *end = start;
    while (end < reader->line_end && *end != '#')
        end++;
    reader->at = reader->line_end;
    while (end > start && is_blank(end[-1]))
        end--;
    return word_at(reader, start, end);
}

/* From behind a '=' to the next size, blanks and units included. */
static word next_value(layers_reader *reader)
{
    skip_blanks(reader);
    const char *start = reader->at;
    const char *end = start;
    while (reader->at < reader->line_end && *reader->at != '#') {
        const char *piece = reader->at;
        while (reader->at < reader->line_end && !is_blank(*reader->at) && *reader->at != '=')
            reader->at++;
        bool is_size = reader->at < reader->line_end && *reader->at == '=' && piece > start;
        if (is_size) {
            reader->at = piece;
            break;
        }
        reader->at += reader->at < reader->line_end && *reader->at == '=' ? 1 : 0;
        end = reader->at;
        while (reader->at < reader->line_end && is_blank(*reader->at))
            reader->at++;
    }
    return word_at(reader, start, end);
}

static bool is_word(const word *found, const char *text)
{
    return found->length == strlen(text) && memcmp(found->text, text, found->length) == 0;
}

static const char *text_of(layers_reader *reader, const word *found)
{
    const char *text = st_arena_copy(reader->arena, found->text, found->length);
    reader->failed = reader->failed || text == NULL;
    return text != NULL ? text : "";
}

/* ---- a layer ---- */

static const char *nearest_input(layers_reader *reader, const char *name)
{
    const char *names[MAX_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < reader->input_count; i++)
        if (i != reader->kind)
            names[count++] = reader->inputs[i].name;
    return st_errors_nearest(reader->errors, name, names, count);
}

static bool read_size(layers_reader *reader, const word *key, double *values, bool *given)
{
    const char *name = text_of(reader, key);
    size_t input = 0;
    while (input < reader->input_count &&
           (input == reader->kind || strcmp(reader->inputs[input].name, name) != 0))
        input++;
    skip_blanks(reader);
    if (reader->at == reader->line_end || *reader->at != '=')
        return refuse(reader, key, "a size lacks a value" ST_FOUND "'%.60s'" ST_EXPECTED "%s=VALUE",
                      name, input < reader->input_count ? name : "SIZE");
    reader->at++;
    word found = next_value(reader);
    if (input == reader->input_count) {
        (void)st_fail(reader->errors, ST_ERR_NAME, key->place, "unknown size '%.60s'" ST_HINT "%s",
                      name, nearest_input(reader, name));
        reader->failed = true;
        return false;
    }
    if (given[input])
        return refuse(reader, key, "the size '%s' is given twice", name);
    given[input] = true;
    const st_type *type = &reader->inputs[input].type;
    const st_value_text value = {
        .text = text_of(reader, &found), .length = found.length, .place = found.place};
    st_status status =
        type->kind == ST_TYPE_BOOL
            ? st_value_parse_bool(name, &value, &values[input], reader->errors)
            : st_value_parse_quantity(name, &value, &type->unit, &values[input], reader->errors);
    reader->failed = reader->failed || status != ST_OK;
    if (status != ST_OK || type->kind == ST_TYPE_BOOL)
        return status == ST_OK;
    if (values[input] < 0)
        return refuse(reader, &found, "'%s' is negative" ST_FOUND "%.40s" ST_EXPECTED "a size",
                      name, value.text);
    bool is_count = strcmp(type->unit.text, "1") == 0;
    if (values[input] > 1e18 || (is_count && values[input] != floor(values[input])))
        return refuse(reader, &found, "'%s' is not a valid size" ST_FOUND "%.40s" ST_EXPECTED "%s",
                      name, value.text, is_count ? "a whole number" : "at most 1e18 FLOP");
    return true;
}

static bool move_to_line(const void *context, st_errors *errors, st_error *error)
{
    (void)errors;
    error->place = *(const st_place *)context;
    error->status = ST_ERR_VALUE;
    return true;
}

/* Runs the sheet; a check that does not hold is an error at the layer. */
static bool run_sheet(layers_reader *reader, const word *at, const double *values, double *figures)
{
    if (st_program_run_one(reader->program, reader->workspace, values, figures, reader->checks) !=
        ST_OK)
        return refuse(reader, at, "out of memory");
    if (st_program_is_well(reader->program, reader->workspace, figures, reader->checks))
        return true;
    st_error_scope scope = {.edit = move_to_line, .context = &at->place};
    st_errors_enter(reader->errors, &scope);
    st_status status = st_program_verify(reader->program, values, reader->errors);
    st_errors_leave(reader->errors, &scope);
    reader->failed = reader->failed || status != ST_OK;
    return status == ST_OK;
}

/* `count` 0: a number alone, else a list. */
static void write_field(layers_reader *reader, const char *name, const double *values, size_t count)
{
    if (values[0] == 0)
        return;
    st_buffer_printf(&reader->list, ", %s: %s", name, count > 0 ? "[" : "");
    for (size_t i = 0; i == 0 || i < count; i++) {
        st_buffer_printf(&reader->list, "%s", i > 0 ? ", " : "");
        char text[ST_QUANTITY_TEXT];
        st_buffer_printf(&reader->list, "%s",
                         st_number_format(round(values[i]), text, sizeof text));
    }
    st_buffer_printf(&reader->list, "%s", count > 0 ? "]" : "");
}

static void indent(layers_reader *reader)
{
    st_buffer_printf(&reader->list, "%*s", (int)(2 + 4 * reader->depth), "");
}

static bool check_name(layers_reader *reader, const word *name, const char *of)
{
    bool good = name->length > 0 && name->length <= 100;
    for (size_t i = 0; i < name->length && good; i++) {
        char letter = name->text[i];
        good = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || (i > 0 && strchr("_-.", letter) != NULL);
    }
    if (good)
        return true;
    return refuse(reader, name,
                  "invalid name of %s" ST_FOUND "'%.*s'" ST_EXPECTED
                  "letters, digits, '_', '-' and '.'",
                  of, name->length < 40 ? (int)name->length : 40, name->text);
}

static bool read_layer(layers_reader *reader, const word *kind)
{
    const st_enum *kinds = reader->inputs[reader->kind].type.enumeration;
    bool given[MAX_INPUTS] = {false};
    double values[MAX_INPUTS] = {0};
    double figures[FIGURES];
    const st_value_text text = {
        .text = text_of(reader, kind), .length = kind->length, .place = kind->place};
    for (size_t i = 0; i < reader->input_count; i++)
        values[i] = reader->inputs[i].default_value;
    reader->layers++;
    if (st_value_parse_name("the kind of a layer", &text, kinds->values, kinds->count,
                            &values[reader->kind], reader->errors) != ST_OK) {
        reader->failed = true;
        return false;
    }
    word name = next_word(reader);
    bool good = check_name(reader, &name, "a layer");
    for (word key = next_word(reader); key.length > 0 && good; key = next_word(reader))
        good = read_size(reader, &key, values, given);
    word rest = rest_of_line(reader);
    if (good && rest.length > 0)
        good =
            refuse(reader, &rest, "a size lacks a name" ST_FOUND "'%.*s'" ST_EXPECTED "SIZE=VALUE",
                   rest.length < 40 ? (int)rest.length : 40, rest.text);
    good = good && run_sheet(reader, kind, values, figures);
    if (good) {
        indent(reader);
        st_buffer_printf(&reader->list, "- {name: %.*s", (int)name.length, name.text);
        write_field(reader, "parameters", figures + WEIGHTS, figures[BIASES] > 0 ? 2 : 1);
        write_field(reader, "flop", figures + WORK, 0);
        write_field(reader, "kept", figures + KEPT, 0);
        write_field(reader, "output", figures + OUTPUT, 0);
        write_field(reader, "moved", figures + MOVED, 2);
        write_field(reader, "kernels", figures + KERNELS, 2);
        st_buffer_printf(&reader->list, "}\n");
    }
    return good;
}

/* ---- other lines ---- */

static bool set_text(layers_reader *reader, const word *key, const char **text)
{
    word found = rest_of_line(reader);
    if (*text != NULL)
        return refuse(reader, key, "'%.*s' is given twice", (int)key->length, key->text);
    if (found.length == 0)
        return refuse(reader, key, "'%.*s' needs a value", (int)key->length, key->text);
    *text = text_of(reader, &found);
    return true;
}

static bool read_line(layers_reader *reader)
{
    word first = next_word(reader);
    if (first.length == 0 && reader->at == reader->line_end)
        return true;
    if (is_word(&first, "layers")) {
        skip_blanks(reader);
        word name = word_at(reader, reader->at, reader->at);
        if (!set_text(reader, &first, &reader->name))
            return false;
        name = (word){reader->name, strlen(reader->name), name.place};
        return check_name(reader, &name, "a list of layers");
    }
    if (is_word(&first, "title"))
        return set_text(reader, &first, &reader->title);
    if (is_word(&first, "source"))
        return set_text(reader, &first, &reader->source);
    if (is_word(&first, "unit")) {
        bool good = set_text(reader, &first, &reader->unit);
        if (!good || strcmp(reader->unit, "sample") == 0 || strcmp(reader->unit, "token") == 0)
            return good;
        return refuse(reader, &first, "unit must be sample or token" ST_FOUND "'%.40s'",
                      reader->unit);
    }
    if (is_word(&first, "repeat")) {
        word found = rest_of_line(reader);
        double times = 0;
        if (reader->depth == MAX_DEPTH)
            return refuse(reader, &first,
                          "groups are nested too deep" ST_EXPECTED "at most %d levels", MAX_DEPTH);
        st_status status =
            st_number_parse(found.text, found.length, found.place, &times, reader->errors);
        reader->failed = reader->failed || status != ST_OK;
        if (status != ST_OK)
            return false;
        if (times < 1 || times > 1e5 || times != floor(times))
            return refuse(reader, &found,
                          "a group cannot be repeated %.*s times" ST_EXPECTED
                          "a whole number from 1 to 100000",
                          found.length < 40 ? (int)found.length : 40, found.text);
        indent(reader);
        st_buffer_printf(&reader->list, "- repeat: %.0f\n", times);
        indent(reader);
        st_buffer_printf(&reader->list, "  list:\n");
        reader->outer[reader->depth] = reader->layers;
        reader->groups[reader->depth] = first.place;
        reader->depth++;
        reader->layers = 0;
        return true;
    }
    if (is_word(&first, "end")) {
        word rest = rest_of_line(reader);
        if (reader->depth == 0)
            return refuse(reader, &first,
                          "'end' without a group" ST_EXPECTED "repeat COUNT before it");
        if (reader->layers == 0)
            return refuse(reader, &first, "a group without layers");
        if (rest.length > 0)
            return refuse(reader, &rest, "unexpected text after 'end'");
        reader->depth--;
        reader->layers = reader->outer[reader->depth] + 1;
        return true;
    }
    return read_layer(reader, &first);
}

/* Reads all lines, so that all errors are reported. */
static st_status read_lines(layers_reader *reader)
{
    if (memchr(reader->request->text, '\0', reader->request->length) != NULL ||
        reader->request->length > MAX_BYTES)
        return st_fail(reader->errors, ST_ERR_VALUE, (st_place){.file = reader->request->file},
                       "not a text of layers" ST_EXPECTED "lines of text, at most 4 MiB");
    while (next_line(reader) && !st_errors_full(reader->errors)) {
        if (reader->line > MAX_LINES)
            return st_fail(reader->errors, ST_ERR_LIMIT,
                           (st_place){reader->request->file, reader->line, 1},
                           "more than 100000 lines");
        (void)read_line(reader);
    }
    const word end = {.place = {reader->request->file, reader->line, 1}};
    if (reader->depth > 0)
        (void)st_fail(reader->errors, ST_ERR_VALUE, reader->groups[reader->depth - 1],
                      "a group is not closed" ST_EXPECTED "a line 'end'");
    reader->failed = reader->failed || reader->depth > 0;
    if (!reader->failed && reader->layers == 0)
        (void)refuse(reader, &end, "the text has no layers" ST_EXPECTED "KIND NAME SIZE=VALUE ...");
    if (!reader->failed && reader->unit == NULL)
        (void)refuse(reader, &end,
                     "the text lacks the unit of its sizes" ST_EXPECTED
                     "unit sample, or unit token");
    if (!reader->failed && reader->name == NULL)
        (void)refuse(reader, &end, "the list lacks a name" ST_EXPECTED "layers NAME");
    return reader->failed ? ST_ERR_VALUE : ST_OK;
}

/* ---- the sheet ---- */

static st_status compile(layers_reader *reader, size_t *checks)
{
    static const st_role_part wanted[FIGURES] = {
        {ST_ROLE_LAYER_COUNTS, WEIGHTS}, {ST_ROLE_LAYER_COUNTS, BIASES},
        {ST_ROLE_LAYER_COUNTS, KEPT},    {ST_ROLE_LAYER_COUNTS, OUTPUT},
        {ST_ROLE_LAYER_COUNTS, MOVED},   {ST_ROLE_LAYER_COUNTS, MOVED_COMPILED},
        {ST_ROLE_LAYER_COUNTS, KERNELS}, {ST_ROLE_LAYER_COUNTS, KERNELS_COMPILED},
        {ST_ROLE_LAYER_WORK, 0}};
    const st_role_list list = {wanted, FIGURES, "a list of layers needs"};
    const char *names[FIGURES];
    st_sheet_reader sheets = st_paths_sheet_reader(reader->request->paths);
    st_status status =
        st_sheet_load(&sheets, "layer-kinds", reader->arena, &reader->sheet, reader->errors);
    if (status == ST_OK)
        status = st_sheet_need_roles(reader->sheet, &list, names, reader->errors);
    const st_program_options options = {.outputs = names, .output_count = FIGURES};
    if (status == ST_OK)
        status = st_program_compile(reader->sheet, &options, reader->arena, &reader->program,
                                    reader->errors);
    if (status != ST_OK)
        return status;
    reader->inputs = st_sheet_inputs(reader->sheet, &reader->input_count);
    (void)st_sheet_checks(reader->sheet, checks);
    reader->kind = reader->input_count;
    for (size_t i = reader->input_count; i-- > 0;)
        reader->kind = reader->inputs[i].type.kind == ST_TYPE_ENUM ? i : reader->kind;
    if (reader->kind == reader->input_count || reader->input_count > MAX_INPUTS)
        return st_fail(reader->errors, ST_ERR_VALUE,
                       (st_place){.file = st_sheet_file(reader->sheet)},
                       "sheet %s has no input for the kind of a layer, or more than %d inputs",
                       st_sheet_name(reader->sheet), MAX_INPUTS);
    return ST_OK;
}

st_status st_import_layers(const st_import_request *request, st_buffer *layers, st_errors *errors)
{
    size_t checks = 0;
    layers_reader reader = {.request = request, .errors = errors, .arena = st_arena_create()};
    st_status status = reader.arena != NULL ? compile(&reader, &checks) : st_out_of_memory(errors);
    if (status == ST_OK) {
        reader.workspace = st_workspace_create(reader.program);
        reader.checks = st_arena_alloc(reader.arena, checks + 1, sizeof *reader.checks);
        status = reader.workspace != NULL && reader.checks != NULL ? read_lines(&reader)
                                                                   : st_out_of_memory(errors);
    }
    if (status == ST_OK && (reader.list.failed || st_arena_failed(reader.arena)))
        status = st_out_of_memory(errors);
    if (status == ST_OK) {
        st_buffer_printf(layers, "layers: %s\n", reader.name);
        if (reader.title != NULL) {
            st_buffer_text(layers, "title: ");
            st_buffer_json_string(layers, reader.title);
            st_buffer_text(layers, "\n");
        }
        if (reader.source != NULL) {
            st_buffer_text(layers, "source: ");
            st_buffer_json_string(layers, reader.source);
            st_buffer_text(layers, "\n");
        }
        st_buffer_printf(layers, "unit: %s\nlist:\n", reader.unit);
        st_buffer_append(layers, reader.list.data, reader.list.length);
    }
    st_workspace_destroy(reader.workspace);
    st_buffer_free(&reader.list);
    st_arena_destroy(reader.arena);
    return status;
}

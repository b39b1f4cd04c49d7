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

static ST_PRINTF(3, 4) bool refuse(layers_reader *own, const word *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(own->errors, ST_ERR_VALUE, found->place, format, arguments);
    va_end(arguments);
    own->failed = true;
    return false;
}

/* ---- words ---- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static void skip_blanks(layers_reader *own)
{
    while (own->at < own->line_end && is_blank(*own->at))
        own->at++;
    if (own->at < own->line_end && *own->at == '#')
        own->at = own->line_end;
}

static bool next_line(layers_reader *own)
{
    const char *end = own->request->text + own->request->length;
    if (own->line > 0 && own->line_end >= end)
        return false;
    own->line_start = own->line == 0 ? own->request->text : own->line_end + 1;
    const char *stop = memchr(own->line_start, '\n', (size_t)(end - own->line_start));
    own->line_end = stop != NULL ? stop : end;
    own->at = own->line_start;
    own->line++;
    return true;
}

static word word_at(const layers_reader *own, const char *start, const char *end)
{
    return (word){.text = start,
                  .length = (size_t)(end - start),
                  .place = {own->request->file, own->line, (int)(start - own->line_start) + 1}};
}

static word next_word(layers_reader *own)
{
    skip_blanks(own);
    const char *start = own->at;
    while (own->at < own->line_end && !is_blank(*own->at) && *own->at != '=')
        own->at++;
    return word_at(own, start, own->at);
}

/* The rest of the line, without surrounding blanks and comments. */
static word rest_of_line(layers_reader *own)
{
    skip_blanks(own);
    const char *start = own->at;
    const char *end = start;
    while (end < own->line_end && *end != '#')
        end++;
    own->at = own->line_end;
    while (end > start && is_blank(end[-1]))
        end--;
    return word_at(own, start, end);
}

/* From behind a '=' to the next size, blanks and units included. */
static word next_value(layers_reader *own)
{
    skip_blanks(own);
    const char *start = own->at;
    const char *end = start;
    while (own->at < own->line_end && *own->at != '#') {
        const char *piece = own->at;
        while (own->at < own->line_end && !is_blank(*own->at) && *own->at != '=')
            own->at++;
        bool is_size = own->at < own->line_end && *own->at == '=' && piece > start;
        if (is_size) {
            own->at = piece;
            break;
        }
        own->at += own->at < own->line_end && *own->at == '=' ? 1 : 0;
        end = own->at;
        while (own->at < own->line_end && is_blank(*own->at))
            own->at++;
    }
    return word_at(own, start, end);
}

static bool is_word(const word *found, const char *text)
{
    return found->length == strlen(text) && memcmp(found->text, text, found->length) == 0;
}

static const char *text_of(layers_reader *own, const word *found)
{
    const char *text = st_arena_copy(own->arena, found->text, found->length);
    own->failed = own->failed || text == NULL;
    return text != NULL ? text : "";
}

/* ---- a layer ---- */

static const char *nearest_input(layers_reader *own, const char *name)
{
    const char *names[MAX_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < own->input_count; i++)
        if (i != own->kind)
            names[count++] = own->inputs[i].name;
    return st_errors_nearest(own->errors, name, names, count);
}

static bool read_size(layers_reader *own, const word *key, double *values, bool *given)
{
    const char *name = text_of(own, key);
    size_t input = 0;
    while (input < own->input_count &&
           (input == own->kind || strcmp(own->inputs[input].name, name) != 0))
        input++;
    skip_blanks(own);
    if (own->at == own->line_end || *own->at != '=')
        return refuse(own, key, "a size lacks a value" ST_FOUND "'%.60s'" ST_EXPECTED "%s=VALUE",
                      name, input < own->input_count ? name : "SIZE");
    own->at++;
    word found = next_value(own);
    if (input == own->input_count) {
        (void)st_fail(own->errors, ST_ERR_NAME, key->place, "unknown size '%.60s'" ST_HINT "%s",
                      name, nearest_input(own, name));
        own->failed = true;
        return false;
    }
    if (given[input])
        return refuse(own, key, "the size '%s' is given twice", name);
    given[input] = true;
    const st_type *type = &own->inputs[input].type;
    const st_value_text value = {
        .text = text_of(own, &found), .length = found.length, .place = found.place};
    st_status status =
        type->kind == ST_TYPE_BOOL
            ? st_value_parse_bool(name, &value, &values[input], own->errors)
            : st_value_parse_quantity(name, &value, &type->unit, &values[input], own->errors);
    own->failed = own->failed || status != ST_OK;
    if (status != ST_OK || type->kind == ST_TYPE_BOOL)
        return status == ST_OK;
    if (values[input] < 0)
        return refuse(own, &found, "'%s' is negative" ST_FOUND "%.40s" ST_EXPECTED "a size", name,
                      value.text);
    bool is_count = strcmp(type->unit.text, "1") == 0;
    if (values[input] > 1e18 || (is_count && values[input] != floor(values[input])))
        return refuse(own, &found, "'%s' is not a valid size" ST_FOUND "%.40s" ST_EXPECTED "%s",
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
static bool run_sheet(layers_reader *own, const word *at, const double *values, double *figures)
{
    if (st_program_run_one(own->program, own->workspace, values, figures, own->checks) != ST_OK)
        return refuse(own, at, "out of memory");
    if (st_program_is_well(own->program, own->workspace, figures, own->checks))
        return true;
    st_error_scope scope = {.edit = move_to_line, .context = &at->place};
    st_errors_enter(own->errors, &scope);
    st_status status = st_program_verify(own->program, values, own->errors);
    st_errors_leave(own->errors, &scope);
    own->failed = own->failed || status != ST_OK;
    return status == ST_OK;
}

/* `count` 0: a number alone, else a list. */
static void write_field(layers_reader *own, const char *name, const double *values, size_t count)
{
    if (values[0] == 0)
        return;
    st_buffer_printf(&own->list, ", %s: %s", name, count > 0 ? "[" : "");
    for (size_t i = 0; i == 0 || i < count; i++) {
        st_buffer_printf(&own->list, "%s", i > 0 ? ", " : "");
        char text[ST_QUANTITY_TEXT];
        st_buffer_printf(&own->list, "%s", st_number_format(round(values[i]), text, sizeof text));
    }
    st_buffer_printf(&own->list, "%s", count > 0 ? "]" : "");
}

static void indent(layers_reader *own)
{
    st_buffer_printf(&own->list, "%*s", (int)(2 + 4 * own->depth), "");
}

static bool check_name(layers_reader *own, const word *name, const char *of)
{
    bool good = name->length > 0 && name->length <= 100;
    for (size_t i = 0; i < name->length && good; i++) {
        char letter = name->text[i];
        good = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || (i > 0 && strchr("_-.", letter) != NULL);
    }
    if (good)
        return true;
    return refuse(own, name,
                  "invalid name of %s" ST_FOUND "'%.*s'" ST_EXPECTED
                  "letters, digits, '_', '-' and '.'",
                  of, name->length < 40 ? (int)name->length : 40, name->text);
}

static bool read_layer(layers_reader *own, const word *kind)
{
    const st_enum *kinds = own->inputs[own->kind].type.enumeration;
    bool given[MAX_INPUTS] = {false};
    double values[MAX_INPUTS] = {0};
    double figures[FIGURES];
    const st_value_text text = {
        .text = text_of(own, kind), .length = kind->length, .place = kind->place};
    for (size_t i = 0; i < own->input_count; i++)
        values[i] = own->inputs[i].default_value;
    own->layers++;
    if (st_value_parse_name("the kind of a layer", &text, kinds->values, kinds->count,
                            &values[own->kind], own->errors) != ST_OK) {
        own->failed = true;
        return false;
    }
    word name = next_word(own);
    bool good = check_name(own, &name, "a layer");
    for (word key = next_word(own); key.length > 0 && good; key = next_word(own))
        good = read_size(own, &key, values, given);
    word rest = rest_of_line(own);
    if (good && rest.length > 0)
        good = refuse(own, &rest, "a size lacks a name" ST_FOUND "'%.*s'" ST_EXPECTED "SIZE=VALUE",
                      rest.length < 40 ? (int)rest.length : 40, rest.text);
    good = good && run_sheet(own, kind, values, figures);
    if (good) {
        indent(own);
        st_buffer_printf(&own->list, "- {name: %.*s", (int)name.length, name.text);
        write_field(own, "parameters", figures + WEIGHTS, figures[BIASES] > 0 ? 2 : 1);
        write_field(own, "flop", figures + WORK, 0);
        write_field(own, "kept", figures + KEPT, 0);
        write_field(own, "output", figures + OUTPUT, 0);
        write_field(own, "moved", figures + MOVED, 2);
        write_field(own, "kernels", figures + KERNELS, 2);
        st_buffer_printf(&own->list, "}\n");
    }
    return good;
}

/* ---- other lines ---- */

static bool set_text(layers_reader *own, const word *key, const char **text)
{
    word found = rest_of_line(own);
    if (*text != NULL)
        return refuse(own, key, "'%.*s' is given twice", (int)key->length, key->text);
    if (found.length == 0)
        return refuse(own, key, "'%.*s' needs a value", (int)key->length, key->text);
    *text = text_of(own, &found);
    return true;
}

static bool read_line(layers_reader *own)
{
    word first = next_word(own);
    if (first.length == 0 && own->at == own->line_end)
        return true;
    if (is_word(&first, "layers")) {
        skip_blanks(own);
        word name = word_at(own, own->at, own->at);
        if (!set_text(own, &first, &own->name))
            return false;
        name = (word){own->name, strlen(own->name), name.place};
        return check_name(own, &name, "a list of layers");
    }
    if (is_word(&first, "title"))
        return set_text(own, &first, &own->title);
    if (is_word(&first, "source"))
        return set_text(own, &first, &own->source);
    if (is_word(&first, "unit")) {
        bool good = set_text(own, &first, &own->unit);
        if (!good || strcmp(own->unit, "sample") == 0 || strcmp(own->unit, "token") == 0)
            return good;
        return refuse(own, &first, "unit must be sample or token" ST_FOUND "'%.40s'", own->unit);
    }
    if (is_word(&first, "repeat")) {
        word found = rest_of_line(own);
        double times = 0;
        if (own->depth == MAX_DEPTH)
            return refuse(own, &first, "groups are nested too deep" ST_EXPECTED "at most %d levels",
                          MAX_DEPTH);
        st_status status =
            st_number_parse(found.text, found.length, found.place, &times, own->errors);
        own->failed = own->failed || status != ST_OK;
        if (status != ST_OK)
            return false;
        if (times < 1 || times > 1e5 || times != floor(times))
            return refuse(own, &found,
                          "a group cannot be repeated %.*s times" ST_EXPECTED
                          "a whole number from 1 to 100000",
                          found.length < 40 ? (int)found.length : 40, found.text);
        indent(own);
        st_buffer_printf(&own->list, "- repeat: %.0f\n", times);
        indent(own);
        st_buffer_printf(&own->list, "  list:\n");
        own->outer[own->depth] = own->layers;
        own->groups[own->depth] = first.place;
        own->depth++;
        own->layers = 0;
        return true;
    }
    if (is_word(&first, "end")) {
        word rest = rest_of_line(own);
        if (own->depth == 0)
            return refuse(own, &first,
                          "'end' without a group" ST_EXPECTED "repeat COUNT before it");
        if (own->layers == 0)
            return refuse(own, &first, "a group without layers");
        if (rest.length > 0)
            return refuse(own, &rest, "unexpected text after 'end'");
        own->depth--;
        own->layers = own->outer[own->depth] + 1;
        return true;
    }
    return read_layer(own, &first);
}

/* Reads all lines, so that all errors are reported. */
static st_status read_lines(layers_reader *own)
{
    if (memchr(own->request->text, '\0', own->request->length) != NULL ||
        own->request->length > MAX_BYTES)
        return st_fail(own->errors, ST_ERR_VALUE, (st_place){.file = own->request->file},
                       "not a text of layers" ST_EXPECTED "lines of text, at most 4 MiB");
    while (next_line(own) && !st_errors_full(own->errors)) {
        if (own->line > MAX_LINES)
            return st_fail(own->errors, ST_ERR_LIMIT, (st_place){own->request->file, own->line, 1},
                           "more than 100000 lines");
        (void)read_line(own);
    }
    const word end = {.place = {own->request->file, own->line, 1}};
    if (own->depth > 0)
        (void)st_fail(own->errors, ST_ERR_VALUE, own->groups[own->depth - 1],
                      "a group is not closed" ST_EXPECTED "a line 'end'");
    own->failed = own->failed || own->depth > 0;
    if (!own->failed && own->layers == 0)
        (void)refuse(own, &end, "the text has no layers" ST_EXPECTED "KIND NAME SIZE=VALUE ...");
    if (!own->failed && own->unit == NULL)
        (void)refuse(own, &end,
                     "the text lacks the unit of its sizes" ST_EXPECTED
                     "unit sample, or unit token");
    if (!own->failed && own->name == NULL)
        (void)refuse(own, &end, "the list lacks a name" ST_EXPECTED "layers NAME");
    return own->failed ? ST_ERR_VALUE : ST_OK;
}

/* ---- the sheet ---- */

static st_status compile(layers_reader *own, size_t *checks)
{
    static const st_role_part wanted[FIGURES] = {
        {ST_ROLE_LAYER_COUNTS, WEIGHTS}, {ST_ROLE_LAYER_COUNTS, BIASES},
        {ST_ROLE_LAYER_COUNTS, KEPT},    {ST_ROLE_LAYER_COUNTS, OUTPUT},
        {ST_ROLE_LAYER_COUNTS, MOVED},   {ST_ROLE_LAYER_COUNTS, MOVED_COMPILED},
        {ST_ROLE_LAYER_COUNTS, KERNELS}, {ST_ROLE_LAYER_COUNTS, KERNELS_COMPILED},
        {ST_ROLE_LAYER_WORK, 0}};
    const st_role_list list = {wanted, FIGURES, "a list of layers needs"};
    const char *names[FIGURES];
    st_sheet_reader reader = st_paths_sheet_reader(own->request->paths);
    st_status status = st_sheet_load(&reader, "layer-kinds", own->arena, &own->sheet, own->errors);
    if (status == ST_OK)
        status = st_sheet_need_roles(own->sheet, &list, names, own->errors);
    const st_program_options options = {.outputs = names, .output_count = FIGURES};
    if (status == ST_OK)
        status = st_program_compile(own->sheet, &options, own->arena, &own->program, own->errors);
    if (status != ST_OK)
        return status;
    own->inputs = st_sheet_inputs(own->sheet, &own->input_count);
    (void)st_sheet_checks(own->sheet, checks);
    own->kind = own->input_count;
    for (size_t i = own->input_count; i-- > 0;)
        own->kind = own->inputs[i].type.kind == ST_TYPE_ENUM ? i : own->kind;
    if (own->kind == own->input_count || own->input_count > MAX_INPUTS)
        return st_fail(own->errors, ST_ERR_VALUE, (st_place){.file = st_sheet_file(own->sheet)},
                       "sheet %s has no input for the kind of a layer, or more than %d inputs",
                       st_sheet_name(own->sheet), MAX_INPUTS);
    return ST_OK;
}

st_status st_import_layers(const st_import_request *request, st_buffer *layers, st_errors *errors)
{
    size_t checks = 0;
    layers_reader own = {.request = request, .errors = errors, .arena = st_arena_create()};
    st_status status = own.arena != NULL ? compile(&own, &checks) : st_out_of_memory(errors);
    if (status == ST_OK) {
        own.workspace = st_workspace_create(own.program);
        own.checks = st_arena_alloc(own.arena, checks + 1, sizeof *own.checks);
        status = own.workspace != NULL && own.checks != NULL ? read_lines(&own)
                                                             : st_out_of_memory(errors);
    }
    if (status == ST_OK && (own.list.failed || st_arena_failed(own.arena)))
        status = st_out_of_memory(errors);
    if (status == ST_OK) {
        st_buffer_printf(layers, "layers: %s\n", own.name);
        if (own.title != NULL) {
            st_buffer_text(layers, "title: ");
            st_buffer_json_string(layers, own.title);
            st_buffer_text(layers, "\n");
        }
        if (own.source != NULL) {
            st_buffer_text(layers, "source: ");
            st_buffer_json_string(layers, own.source);
            st_buffer_text(layers, "\n");
        }
        st_buffer_printf(layers, "unit: %s\nlist:\n", own.unit);
        st_buffer_append(layers, own.list.data, own.list.length);
    }
    st_workspace_destroy(own.workspace);
    st_buffer_free(&own.list);
    st_arena_destroy(own.arena);
    return status;
}

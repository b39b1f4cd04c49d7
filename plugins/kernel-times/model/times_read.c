/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a profile of layer times. It may come from anybody: every count is bounded, every
 * number checked, and a text that is cut is refused. */
#include "kernel-times/model/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text_reader {
    const char *at; /* behind the line */
    const char *end;
    const char *word; /* in the line */
    const char *line_end;
    size_t line;
    char *reason;
    size_t reason_bytes;
} text_reader;

/* ---- lines and words ---- */

static bool next_line(text_reader *text)
{
    const char *line_end =
        text->at < text->end ? memchr(text->at, '\n', (size_t)(text->end - text->at)) : NULL;
    text->line++;
    if (line_end == NULL) {
        text->word = text->end;
        text->line_end = text->end;
        return false;
    }
    text->word = text->at;
    text->line_end = line_end;
    text->at = line_end + 1;
    return true;
}

/* False at the end of the line, or for a word that has no room. */
static bool next_word(text_reader *text, char *word, size_t size)
{
    while (text->word < text->line_end && *text->word == ' ')
        text->word++;
    const char *start = text->word;
    while (text->word < text->line_end && *text->word != ' ')
        text->word++;
    size_t length = (size_t)(text->word - start);
    if (length == 0 || length >= size || memchr(start, '\0', length) != NULL)
        return false;
    memcpy(word, start, length);
    word[length] = '\0';
    return true;
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* The exponent behind an 'e'; false where there is none. */
static bool read_exponent(const char *text, int *exponent)
{
    bool negative = *text == '-';
    int value = 0;
    text += *text == '-' || *text == '+';
    if (!is_digit(*text))
        return false;
    for (; is_digit(*text) && value < 1000; text++)
        value = value * 10 + (*text - '0');
    *exponent += negative ? -value : value;
    return *text == '\0';
}

/* A decimal number with a point, whatever the locale; up to 19 digits count. */
static bool read_number(const char *text, double *value)
{
    double digits = 0;
    int exponent = 0;
    size_t count = 0;
    bool negative = *text == '-';
    bool fraction = false;
    for (text += negative; is_digit(*text) || (*text == '.' && !fraction); text++) {
        if (*text == '.') {
            fraction = true;
        } else {
            digits = digits * 10 + (*text - '0');
            exponent -= fraction;
            count++;
        }
    }
    if (count == 0 || count > 30 ||
        (*text != '\0' && (*text != 'e' || !read_exponent(text + 1, &exponent))))
        return false;
    /* powers up to 22 are exact, and a division rounds once where a product would twice */
    *value = exponent < 0 ? (exponent < -300 ? 0 : digits / pow(10, -exponent))
                          : digits * pow(10, exponent);
    *value = negative ? -*value : *value;
    return isfinite(*value);
}

static bool next_number(text_reader *text, double least, double most, double *value)
{
    char word[64];
    return next_word(text, word, sizeof word) && read_number(word, value) && *value >= least &&
           *value <= most;
}

static bool next_count(text_reader *text, size_t most, size_t *count)
{
    double value = 0;
    if (!next_number(text, 0, (double)most, &value) || value != floor(value))
        return false;
    *count = (size_t)value;
    return true;
}

static const char *refuse(text_reader *text, const char *what)
{
    (void)snprintf(text->reason, text->reason_bytes, "line %zu of the times: %s", text->line, what);
    return text->reason;
}

static bool next_key(text_reader *text, const char *key)
{
    char word[ST_TIMES_NAME];
    return next_line(text) && next_word(text, word, sizeof word) && strcmp(word, key) == 0;
}

/* ---- head ---- */

static bool find_name(const char *const *names, size_t count, const char *name, size_t *found)
{
    for (*found = 0; *found < count; (*found)++)
        if (strcmp(names[*found], name) == 0)
            return true;
    return false;
}

/* The names on the rest of a line as their places in a list, each at most once. */
static const char *read_names(text_reader *text, const char *const *names, size_t most,
                              size_t *found, size_t *count)
{
    char word[ST_TIMES_NAME];
    *count = 0;
    while (next_word(text, word, sizeof word)) {
        size_t index = 0;
        if (*count == most || !find_name(names, most, word, &index))
            return refuse(text, "unknown name");
        for (size_t i = 0; i < *count; i++)
            if (found[i] == index)
                return refuse(text, "duplicate name");
        found[(*count)++] = index;
    }
    return *count > 0 ? NULL : refuse(text, "missing names");
}

/* What distinguishes shapes, and the parts of their times. */
static const char *read_lists(text_reader *text, st_times *times)
{
    size_t found[ST_TIMES_FEATURES];
    const char *fault = NULL;
    if (!next_key(text, "shape"))
        return refuse(text, "missing 'shape' with names of cells");
    fault = read_names(text, st_times_feature_names, ST_TIMES_FEATURES, found, &times->shape_count);
    for (size_t i = 0; fault == NULL && i < times->shape_count; i++)
        times->shape[i] = (st_times_feature)found[i];
    if (fault == NULL && !next_key(text, "pieces"))
        return refuse(text, "missing 'pieces' with the parts of a time");
    if (fault == NULL)
        fault = read_names(text, st_times_piece_names, ST_TIMES_PIECES, found, &times->piece_count);
    for (size_t i = 0; fault == NULL && i < times->piece_count; i++)
        times->pieces[i] = (st_times_piece)found[i];
    return fault;
}

/* ---- rows ---- */

static const char *read_row(text_reader *text, st_times *times, double *row)
{
    if (!next_line(text))
        return refuse(text, "the text ends inside the rows");
    for (size_t i = 0; i < times->shape_count; i++)
        if (!next_number(text, 0, 1e15, &row[i]))
            return refuse(text, "a feature of a shape is not a number from 0 to 1e15");
    for (size_t i = 0; i < times->piece_count; i++)
        if (!next_number(text, 1e-12, 1e6, &row[times->shape_count + i]))
            return refuse(text, "a time must be a number of seconds above 0");
    return NULL;
}

static const char *read_rows(text_reader *text, st_times *times)
{
    size_t stride = times->shape_count + times->piece_count;
    const char *fault = NULL;
    if (!next_key(text, "rows") || !next_count(text, ST_TIMES_MAX_ROWS, &times->row_count) ||
        times->row_count == 0)
        return refuse(text, "missing 'rows' with their number, from 1 to 20000");
    /* a row has at least two bytes for each number */
    if (times->row_count > (size_t)(text->end - text->at) / (2 * stride))
        return refuse(text, "the text has fewer rows than announced");
    times->rows = calloc(times->row_count * stride, sizeof *times->rows);
    if (times->rows == NULL)
        return refuse(text, "out of memory");
    for (size_t i = 0; i < times->row_count && fault == NULL; i++)
        fault = read_row(text, times, times->rows + i * stride);
    if (fault == NULL)
        st_times_note_ranges(times);
    return fault;
}

/* ---- models ---- */

/* Children lie behind their parent, so that every walk ends. */
static const char *read_node(text_reader *text, st_times_node *node, size_t index, size_t count)
{
    char word[64];
    double value = 0;
    size_t feature = 0;
    if (!next_line(text) || !next_word(text, word, sizeof word))
        return refuse(text, "the text ends inside a tree");
    if (strcmp(word, "=") == 0) {
        node->feature = -1;
        if (!next_number(text, -1e6, 1e6, &value))
            return refuse(text, "a leaf has no value");
        node->threshold = (float)value;
        return NULL;
    }
    double number = 0;
    if (!read_number(word, &number) || number < 0 || number >= ST_TIMES_INPUTS ||
        number != floor(number) || !next_number(text, -1e6, 1e6, &value) ||
        !next_count(text, count - 1, &node->left) || !next_count(text, count - 1, &node->right))
        return refuse(text, "a node needs a feature, a threshold and two nodes of its tree");
    feature = (size_t)number;
    if (node->left <= index || node->right <= index)
        return refuse(text, "a node leads back");
    node->feature = (int)feature;
    node->threshold = (float)value;
    return NULL;
}

static bool read_sizes(text_reader *text, st_times_model *model)
{
    return next_number(text, -1e6, 1e6, &model->base) &&
           next_count(text, ST_TIMES_MAX_TREES, &model->tree_count) &&
           next_count(text, ST_TIMES_MAX_NODES, &model->node_count) && model->tree_count > 0 &&
           model->node_count >= model->tree_count &&
           model->node_count <= (size_t)(text->end - text->at) / 4;
}

/* The rest of a line 'model PIECE FORM FLOOR PER_FLOP PER_BYTE ...'. */
static const char *read_model(text_reader *text, st_times *times)
{
    char word[ST_TIMES_NAME];
    size_t piece = 0;
    size_t form = 0;
    size_t at = 0;
    if (!next_word(text, word, sizeof word) ||
        !find_name(st_times_piece_names, ST_TIMES_PIECES, word, &piece))
        return refuse(text, "a model of an unknown piece");
    while (at < times->piece_count && times->pieces[at] != (st_times_piece)piece)
        at++;
    st_times_model *model = &times->models[at];
    if (at == times->piece_count || model->given)
        return refuse(text, "a model of a piece that the times lack, or a second one");
    if (!next_word(text, word, sizeof word) ||
        !find_name(st_times_form_names, ST_TIMES_FORMS, word, &form) ||
        !next_number(text, 0, 1e6, &model->roofline.floor) ||
        !next_number(text, 0, 1e6, &model->roofline.per_flop) ||
        !next_number(text, 0, 1e6, &model->roofline.per_byte))
        return refuse(text, "a model needs a form and the three numbers of its roofline");
    model->given = true;
    model->form = (st_times_form)form;
    if (model->form == ST_TIMES_ROOFLINE)
        return NULL;
    const char *fault = NULL;
    if (!read_sizes(text, model))
        return refuse(text, "trees need a base, their number and that of their nodes");
    model->starts = calloc(model->tree_count, sizeof *model->starts);
    model->nodes = calloc(model->node_count, sizeof *model->nodes);
    if (model->starts == NULL || model->nodes == NULL)
        return refuse(text, "out of memory");
    size_t used = 0;
    for (size_t i = 0; i < model->tree_count && fault == NULL; i++) {
        size_t count = 0;
        if (!next_key(text, "tree") || !next_count(text, model->node_count - used, &count) ||
            count == 0)
            return refuse(text, "missing 'tree' with the number of its nodes");
        model->starts[i] = used;
        for (size_t node = 0; node < count && fault == NULL; node++)
            fault = read_node(text, &model->nodes[used + node], node, count);
        used += count;
    }
    return fault;
}

static const char *read_models(text_reader *text, st_times *times)
{
    char word[ST_TIMES_NAME];
    const char *fault = NULL;
    while (fault == NULL) {
        if (!next_line(text) || !next_word(text, word, sizeof word))
            return refuse(text, "the text ends without 'end'");
        if (strcmp(word, "end") == 0)
            return text->at == text->end ? NULL : refuse(text, "text after 'end'");
        fault = strcmp(word, "model") == 0 ? read_model(text, times)
                                           : refuse(text, "neither 'model' nor 'end'");
    }
    return fault;
}

const char *st_times_read(st_times *times, const char *text, size_t length, char *reason,
                          size_t reason_bytes)
{
    text_reader reader = {
        .at = text, .end = text + length, .reason = reason, .reason_bytes = reason_bytes};
    memset(times, 0, sizeof *times);
    const char *fault = NULL;
    char word[ST_TIMES_NAME];
    if (!next_key(&reader, "steptime-kernel-times") || !next_word(&reader, word, sizeof word) ||
        strcmp(word, "1") != 0)
        fault = refuse(&reader,
                       "missing 'steptime-kernel-times 1', which 'steptime fit kernels' writes");
    else if (!next_key(&reader, "value") || !next_word(&reader, times->value, sizeof times->value))
        fault = refuse(&reader, "missing 'value' with the name of a cell");
    else if (!next_key(&reader, "gpu") || !next_number(&reader, 1, 1e30, &times->peak) ||
             !next_number(&reader, 1, 1e30, &times->bandwidth) ||
             !next_word(&reader, times->gpu, sizeof times->gpu))
        fault = refuse(&reader, "missing 'gpu' with its peak rate, its bandwidth and its name");
    if (fault == NULL)
        fault = read_lists(&reader, times);
    if (fault == NULL)
        fault = read_rows(&reader, times);
    if (fault == NULL)
        fault = read_models(&reader, times);
    if (fault != NULL)
        st_times_free(times);
    return fault;
}

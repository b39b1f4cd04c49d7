/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of that form, line by line and bounded: a model comes from a stranger. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char format_line[] = "steptime-slowdown 4";
/* Its classes have no slowdowns of their own. */
static const char earlier_line[] = "steptime-slowdown 3";
static const char *const class_names[MODEL_CLASSES] = {
    "gemm", "attention", "norm", "elementwise", "reduction", "copy", "other"};

/* ---- lines and words ---- */

typedef struct line_reader {
    const char *text;
    const char *at;
    const char *end; /* of the text */
    const char *line;
    const char *line_end;
    size_t number;
    bool earlier; /* the format before this one */
    char *reason;
    size_t reason_bytes;
} line_reader;

static bool next_line(line_reader *reader)
{
    if (reader->at >= reader->end)
        return false;
    reader->line = reader->at;
    reader->line_end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->number++;
    if (reader->line_end == NULL) {
        return false; /* a line that is cut */
    }
    reader->at = reader->line_end + 1;
    return true;
}

/* Takes the next word of the line into `word`; false at the end of the line, or if it is long. */
static bool next_word(line_reader *reader, char *word, size_t size)
{
    while (reader->line < reader->line_end && *reader->line == ' ')
        reader->line++;
    const char *start = reader->line;
    while (reader->line < reader->line_end && *reader->line != ' ')
        reader->line++;
    size_t length = (size_t)(reader->line - start);
    if (length == 0 || length >= size)
        return false;
    memcpy(word, start, length);
    word[length] = '\0';
    return true;
}

static bool next_number(line_reader *reader, double *value)
{
    char word[64];
    char *end = NULL;
    if (!next_word(reader, word, sizeof word))
        return false;
    *value = strtod(word, &end);
    return *end == '\0' && isfinite(*value);
}

/* A number, or a word that says there is none. */
static bool next_feature(line_reader *reader, const char *absent, float *value)
{
    char word[64];
    char *end = NULL;
    if (!next_word(reader, word, sizeof word))
        return false;
    if (strcmp(word, absent) == 0) {
        *value = NAN;
        return true;
    }
    *value = strtof(word, &end);
    return *end == '\0' && isfinite(*value);
}

/* The next line, which must begin with `key`. */
static bool next_key(line_reader *reader, const char *key)
{
    char word[64];
    return next_line(reader) && next_word(reader, word, sizeof word) && strcmp(word, key) == 0;
}

static bool next_setting(line_reader *reader, const char *key, double least, double most,
                         double *value)
{
    return next_key(reader, key) && next_number(reader, value) && *value >= least && *value <= most;
}

static const char *refuse(line_reader *reader, const char *what)
{
    (void)snprintf(reader->reason, reader->reason_bytes, "line %zu of the model: %s",
                   reader->number, what);
    return reader->reason;
}

/* ---- members ---- */

static int digit_of(char character)
{
    if (character >= 'A' && character <= 'Z')
        return character - 'A';
    if (character >= 'a' && character <= 'z')
        return character - 'a' + 26;
    if (character >= '0' && character <= '9')
        return character - '0' + 52;
    return character == '+' ? 62 : character == '/' ? 63 : -1;
}

/* Base64 without blanks; false where the text is anything else than `size` bytes of it. */
static bool decode(const char *text, size_t length, unsigned char *bytes, size_t size)
{
    if (length % 4 != 0 || length / 4 != (size + 2) / 3)
        return false;
    size_t filled = 0;
    for (size_t i = 0; i < length; i += 4) {
        unsigned long group = 0;
        for (size_t k = 0; k < 4; k++) {
            bool padding = i + 4 == length && text[i + k] == '=' && k >= 2;
            int digit = padding ? 0 : digit_of(text[i + k]);
            if (digit < 0) {
                return false;
            }
            group = group << 6 | (unsigned long)digit;
        }
        for (int k = 0; k < 3 && filled < size; k++) {
            bytes[filled++] = (unsigned char)(group >> (16 - 8 * k) & 255);
        }
    }
    return true;
}

/* Unpacks `packed` into memory of the caller, whose size and checksum are given; NULL: damaged. */
static unsigned char *unpack(const unsigned char *packed, size_t packed_size, size_t size,
                             unsigned long checksum)
{
    unsigned char *bytes = malloc(size);
    uLongf filled = size;
    if (bytes != NULL && (uncompress(bytes, &filled, packed, packed_size) != Z_OK ||
                          filled != size || checksum != crc32_z(crc32(0, NULL, 0), bytes, size))) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static const char *read_member(line_reader *reader, model *into)
{
    double size = 0;
    double packed_size = 0;
    char checksum[16];
    if (!next_key(reader, "member") || !next_number(reader, &size) || size < 1 || size > 64e6 ||
        !next_number(reader, &packed_size) || packed_size < 1 || packed_size > 64e6 ||
        !next_word(reader, checksum, sizeof checksum))
        return refuse(reader, "incomplete member; the file may be cut");
    unsigned char *packed = malloc((size_t)packed_size);
    if (packed == NULL)
        return refuse(reader, "out of memory");
    const char *reason = NULL;
    unsigned char *bytes = NULL;
    const char *text = reader->line < reader->line_end ? reader->line + 1 : reader->line;
    if (decode(text, (size_t)(reader->line_end - text), packed, (size_t)packed_size))
        bytes = unpack(packed, (size_t)packed_size, (size_t)size, strtoul(checksum, NULL, 16));
    if (bytes == NULL) {
        reason = refuse(reader, "this member is damaged");
    } else {
        reason = NULL;
        const size_t member_size = (size_t)size;
        BoosterHandle made = NULL;
        if (XGBoosterCreate(NULL, 0, &made) != 0) {
            reason = refuse(reader, "XGBoost cannot begin");
        } else if (XGBoosterLoadModelFromBuffer(made, bytes, member_size) != 0 ||
                   XGBoosterSetParam(made, "nthread", "1") != 0) {
            (void)XGBoosterFree(made);
            reason =
                refuse(reader, "XGBoost cannot read this member; it may be of another version");
        } else {
            into->members[into->member_count++] = made;
        }
    }
    free(bytes);
    free(packed);
    return reason;
}

/* ---- the text ---- */

static const char *read_features(line_reader *reader, model *into)
{
    double count = 0;
    if (!next_setting(reader, "features", MODEL_FEATURES, MODEL_FEATURES, &count))
        return refuse(reader, "the number of features differs from this plugin's");
    for (size_t i = 0; i < MODEL_FEATURES; i++) {
        double index = 0;
        if (!next_key(reader, "feature") || !next_number(reader, &index) || index != (double)i ||
            !next_feature(reader, "unknown", &into->least[i])) {
            return refuse(reader, "missing range of a feature");
        }
        into->most[i] = into->least[i];
        if (!isnan(into->least[i]) &&
            (!next_feature(reader, "unknown", &into->most[i]) || into->most[i] < into->least[i])) {
            return refuse(reader, "missing range of a feature");
        }
    }
    return NULL;
}

static const char *read_gpus(line_reader *reader, model *into)
{
    double count = 0;
    if (!next_key(reader, "gpus") || !next_number(reader, &count) || count < 0 ||
        count > MODEL_GPUS)
        return refuse(reader, "missing GPUs of the kernels");
    for (; into->gpu_count < (size_t)count; into->gpu_count++) {
        double gpu = 0;
        if (!next_number(reader, &gpu) || gpu < 0 || gpu >= MODEL_GPUS) {
            return refuse(reader, "missing GPU");
        }
        into->gpus[into->gpu_count] = (size_t)gpu;
    }
    return NULL;
}

static const char *read_classes(line_reader *reader, model *into)
{
    double count = 0;
    if (!next_setting(reader, "classes", MODEL_CLASSES, MODEL_CLASSES, &count))
        return refuse(reader, "the number of classes differs from this plugin's");
    for (size_t k = 0; k < MODEL_CLASSES; k++) {
        model_class *class = &into->classes[k];
        char name[32];
        double kernels = 0;
        if (!next_key(reader, "class") || !next_word(reader, name, sizeof name) ||
            strcmp(name, class_names[k]) != 0 || !next_number(reader, &kernels) || kernels < 0 ||
            kernels > 1e9 || !next_number(reader, &class->weight) || class->weight < 0) {
            return refuse(reader, "missing class");
        }
        class->count = (size_t)kernels;
        float slowdown = NAN;
        bool good = reader->earlier || next_feature(reader, "-", &slowdown);
        class->slowdown = (double)slowdown;
        if (!good || class->slowdown < 0 || class->slowdown > 1000) {
            return refuse(reader, "a class without its slowdown");
        }
        for (size_t i = 0; i < MODEL_FEATURES; i++) {
            if (!next_feature(reader, "-", &class->features[i])) {
                return refuse(reader, "a class without all of its features");
            }
        }
    }
    return NULL;
}

static const char *read_members(line_reader *reader, model *into)
{
    double count = 0;
    const char *reason = NULL;
    if (!next_setting(reader, "members", 0, MODEL_MEMBERS, &count))
        return refuse(reader, "missing members");
    for (size_t i = 0; i < (size_t)count && reason == NULL; i++)
        reason = read_member(reader, into);
    if (reason != NULL)
        return reason;
    /* The last line has a checksum of all before it. */
    char checksum[16];
    char *end = NULL;
    size_t length = (size_t)(reader->at - reader->text);
    if (!next_key(reader, "end") || !next_word(reader, checksum, sizeof checksum))
        return refuse(reader, "the model is cut");
    unsigned long given = strtoul(checksum, &end, 16);
    if (*end != '\0' || reader->line != reader->line_end || reader->at != reader->end ||
        given != crc32_z(crc32(0, NULL, 0), (const unsigned char *)reader->text, length))
        return refuse(reader, "the model is damaged: its checksum differs");
    return NULL;
}

const char *model_read(model *loaded, const char *text, size_t length, char *reason,
                       size_t reason_bytes)
{
    line_reader reader = {.text = text,
                          .at = text,
                          .end = text + length,
                          .reason = reason,
                          .reason_bytes = reason_bytes};
    *loaded = (model){0};
    const char *fault = NULL;
    char target[32];
    double kernels = 0;
    bool whole =
        next_line(&reader) && (size_t)(reader.line_end - reader.line) == sizeof format_line - 1;
    reader.earlier = whole && memcmp(reader.line, earlier_line, sizeof earlier_line - 1) == 0;
    if (!whole ||
        (!reader.earlier && memcmp(reader.line, format_line, sizeof format_line - 1) != 0))
        fault = refuse(&reader, "not a model of this version of 'steptime fit overlap'; the first "
                                "line must be 'steptime-slowdown 4'");
    else if (!next_key(&reader, "recipe") || !next_key(&reader, "target") ||
             !next_word(&reader, target, sizeof target) ||
             !next_setting(&reader, "quantile", 0, 1, &loaded->quantile) ||
             !next_setting(&reader, "spread", 0, 1000, &loaded->spread) ||
             !next_setting(&reader, "least", 0, 1, &loaded->least_slowdown) ||
             !next_setting(&reader, "scale", 0, 100, &loaded->scale) ||
             !next_setting(&reader, "kernels", 1, 1e9, &kernels))
        fault = refuse(&reader, "the head of the model is damaged");
    else
        loaded->logarithm = strcmp(target, "logarithm") == 0;
    fault = fault != NULL ? fault : read_features(&reader, loaded);
    fault = fault != NULL ? fault : read_gpus(&reader, loaded);
    fault = fault != NULL ? fault : read_classes(&reader, loaded);
    fault = fault != NULL ? fault : read_members(&reader, loaded);
    if (fault != NULL)
        model_free(loaded);
    return fault;
}

void model_free(model *loaded)
{
    for (size_t i = 0; i < loaded->member_count; i++)
        (void)XGBoosterFree(loaded->members[i]);
    loaded->member_count = 0;
}

/* ---- predicting ---- */

static int by_value(const void *left, const void *right)
{
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a > b) - (a < b);
}

/* The quantile between the two nearest of the members' answers, which are sorted. */
static double quantile_of(const model *loaded, const float *said, double quantile)
{
    double at = quantile * (double)(loaded->member_count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < loaded->member_count ? below + 1 : below;
    double weight = at - (double)below;
    return (1 - weight) * (double)said[below] + weight * (double)said[above];
}

double model_slowdown(const model *loaded, const float features[MODEL_FEATURES])
{
    float said[MODEL_MEMBERS];
    DMatrixHandle matrix = NULL;
    if (loaded->member_count == 0) /* the measured slowdown of the class is all there is */
        return 1;
    bool failed = XGDMatrixCreateFromMat(features, 1, MODEL_FEATURES, NAN, &matrix) != 0;
    for (size_t k = 0; k < loaded->member_count && !failed; k++) {
        const float *values = NULL;
        bst_ulong length = 0;
        failed = XGBoosterPredict(loaded->members[k], matrix, 0, 0, 0, &length, &values) != 0 ||
                 length != 1;
        said[k] = failed ? 0 : values[0];
    }
    if (matrix != NULL)
        (void)XGDMatrixFree(matrix);
    if (failed)
        return (double)NAN;
    qsort(said, loaded->member_count, sizeof *said, by_value);
    /* Where the members agree, a quantile; where they do not, their mean, scaled. */
    double value = quantile_of(loaded, said, loaded->quantile);
    if (!loaded->logarithm)
        return fmax(value, loaded->least_slowdown);
    double apart = quantile_of(loaded, said, 0.75) - quantile_of(loaded, said, 0.25);
    if (loaded->spread <= 0 || apart <= log(loaded->spread))
        return fmax(exp(value), loaded->least_slowdown);
    double sum = 0;
    for (size_t k = 0; k < loaded->member_count; k++)
        sum += exp((double)said[k]);
    return 1 +
           loaded->scale * (fmax(sum / (double)loaded->member_count, loaded->least_slowdown) - 1);
}

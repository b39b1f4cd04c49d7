/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SimAI's text by words with their line and column. */
#include "workload/simai_words.h"

#include "base/memory.h"

#include <string.h>

/* A word of a line; columns count bytes, as all words but names are ASCII. */
typedef struct word {
    const char *text;
    size_t length;
    st_place place;
} word;

typedef struct reader {
    const char *file;
    const char *at; /* in the line */
    const char *line_end;
    const char *end; /* of the text */
    const char *line_start;
    int line;
    st_arena *arena;
    st_errors *errors;
    st_status status;
} reader;

static void refuse(reader *own, const word *found, const char *expected)
{
    char shown[48] = "the end of the line";
    if (found->length > 0)
        (void)snprintf(shown, sizeof shown, "'%.*s'", found->length > 40 ? 40 : (int)found->length,
                       found->text);
    if (own->status == ST_OK)
        own->status = st_fail(own->errors, ST_ERR_VALUE, found->place,
                              "wrong word in a SimAI workload" ST_FOUND "%s" ST_EXPECTED "%s",
                              shown, expected);
}

/* Goes to the next line with something on it; false at the end of the text. */
static bool next_line(reader *own)
{
    while (own->line_end < own->end || own->line == 0) {
        own->line_start = own->line == 0 ? own->at : own->line_end + 1;
        own->at = own->line_start;
        size_t rest = (size_t)(own->end - own->at);
        const char *end = memchr(own->at, '\n', rest);
        own->line_end = end == NULL ? own->end : end;
        own->line++;
        while (own->at < own->line_end && strchr(" \t\r", *own->at) != NULL)
            own->at++;
        if (own->at < own->line_end)
            return true;
    }
    return false;
}

/* The next word of the line; of length 0 at its end. */
static word next_word(reader *own)
{
    while (own->at < own->line_end && strchr(" \t\r", *own->at) != NULL)
        own->at++;
    word made = {.text = own->at,
                 .place = {own->file, own->line, (int)(own->at - own->line_start) + 1}};
    while (own->at < own->line_end && strchr(" \t\r", *own->at) == NULL)
        own->at++;
    made.length = (size_t)(own->at - made.text);
    return made;
}

static bool is_word(const word *found, const char *text)
{
    return found->length == strlen(text) && memcmp(found->text, text, found->length) == 0;
}

/* A whole number up to `most`; AICB writes quotients as 385.0. */
static uint64_t read_number(reader *own, uint64_t least, uint64_t most, const char *expected)
{
    word found = next_word(own);
    size_t length = found.length;
    uint64_t value = 0;
    if (length > 2 && memcmp(found.text + length - 2, ".0", 2) == 0)
        length -= 2;
    bool good = length > 0;
    for (size_t i = 0; i < length && good; i++) {
        unsigned digit = (unsigned char)found.text[i] - (unsigned)'0';
        good = digit <= 9 && value <= (most - digit) / 10;
        value = good ? 10 * value + digit : value;
    }
    if (!good || value < least)
        refuse(own, &found, expected);
    return value;
}

/* ---- the first line ---- */

static void read_size(reader *own, const word *key, st_simai *simai)
{
    if (is_word(key, "checkpoints:") || is_word(key, "checkpoint_initiates:")) {
        uint64_t count = read_number(own, 0, INT32_MAX, "how many rows are listed");
        for (uint64_t i = 0; i < count && own->status == ST_OK; i++)
            (void)read_number(own, 0, INT32_MAX, "the number of a row");
        return;
    }
    if (is_word(key, "pp_comm:") || is_word(key, "pp_comm")) {
        simai->pp_bytes = read_number(own, 0, INT32_MAX, "bytes of a transfer, below 2 GiB");
        return;
    }
    for (int i = 0; i < ST_SIMAI_SIZES; i++) {
        if (!is_word(key, st_simai_size_words[i]))
            continue;
        if (simai->size[i] > 0)
            refuse(own, key, "each size once");
        simai->size[i] = read_number(own, 1, INT32_MAX, "a whole number, at least 1");
        return;
    }
    refuse(own, key,
           "model_parallel_NPU_group:, ep:, pp:, vpp:, ga:, all_gpus:, checkpoints:, "
           "checkpoint_initiates: or pp_comm:");
}

/* ---- rows ---- */

static bool read_collective(const word *found, st_simai_column column, st_simai_work *work)
{
    static const char *const suffixes[] = {"", "_EP", "_DP_EP"};
    const st_group groups[] = {column == ST_SIMAI_WEIGHTS ? ST_GROUP_DP : ST_GROUP_TP, ST_GROUP_EP,
                               ST_GROUP_EXPERT_DP};
    char text[32];
    for (int kind = 0; kind < ST_SIMAI_KINDS; kind++) {
        for (size_t i = 0; i < ST_COUNT(groups) && (kind != ST_SIMAI_NONE || i == 0); i++) {
            (void)snprintf(text, sizeof text, "%s%s", st_simai_kind_words[kind], suffixes[i]);
            if (!is_word(found, text))
                continue;
            work->kind = (st_simai_kind)kind;
            work->group = groups[i];
            return true;
        }
    }
    return false;
}

static void read_row(reader *own, st_simai_row *row)
{
    word name = next_word(own);
    char *text = st_arena_alloc(own->arena, name.length + 1, 1);
    if (text != NULL)
        memcpy(text, name.text, name.length);
    row->name = text;
    word dependency = next_word(own);
    if (!is_word(&dependency, "-1"))
        refuse(own, &dependency, "-1");
    for (int i = 0; i < ST_SIMAI_COLUMNS && own->status == ST_OK; i++) {
        const st_simai_column column = (st_simai_column)i;
        st_simai_work *work = &row->work[i];
        work->compute_ns = read_number(own, 0, INT64_MAX, "compute time, whole nanoseconds");
        word found = next_word(own);
        if (!read_collective(&found, column, work))
            refuse(
                own, &found,
                "NONE, or ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, of experts with _EP or "
                "_DP_EP");
        const char *before = own->at;
        work->bytes = read_number(own, 0, INT64_MAX, "bytes, a whole number");
        own->at = before;
        word size = next_word(own);
        if (work->kind == ST_SIMAI_NONE && work->bytes > 0)
            refuse(own, &size, "0 bytes of NONE");
        if (work->bytes == 0) /* AICB names the collective of what is not sent, too */
            work->kind = ST_SIMAI_NONE;
    }
    if (own->status == ST_OK)
        row->update_ns = read_number(own, 0, INT64_MAX, "a delay, whole nanoseconds");
    word rest = next_word(own);
    if (rest.length > 0)
        refuse(own, &rest, "12 fields");
}

st_status st_simai_read(const st_source *source, st_arena *arena, st_simai *simai,
                        st_errors *errors)
{
    reader own = {.file = source->file,
                  .at = source->text,
                  .line_start = source->text,
                  .line_end = source->text,
                  .end = source->text + source->length,
                  .arena = arena,
                  .errors = errors};
    *simai = (st_simai){0};
    word missing = {.text = source->text, .place = {source->file, 1, 1}};
    if (next_line(&own)) {
        word policy = next_word(&own);
        if (!is_word(&policy, ST_SIMAI_POLICY))
            refuse(&own, &policy, ST_SIMAI_POLICY);
        word key = next_word(&own);
        for (; key.length > 0 && own.status == ST_OK; key = next_word(&own))
            read_size(&own, &key, simai);
        for (int i = 0; i < ST_SIMAI_SIZES && own.status == ST_OK; i++)
            if (simai->size[i] == 0)
                refuse(&own, &key, st_simai_size_words[i]);
        uint64_t ranks = simai->size[ST_SIMAI_TP] * simai->size[ST_SIMAI_PP];
        if (own.status == ST_OK && simai->size[ST_SIMAI_GPUS] % ranks != 0)
            own.status =
                st_fail(own.errors, ST_ERR_VALUE, policy.place,
                        "all_gpus is not a multiple of the GPUs of a pipeline" ST_FOUND
                        "%llu GPUs, tp * pp of %llu",
                        (unsigned long long)simai->size[ST_SIMAI_GPUS], (unsigned long long)ranks);
    } else {
        refuse(&own, &missing, ST_SIMAI_POLICY);
    }
    if (own.status == ST_OK) {
        uint64_t count = 0;
        word row_missing = {.text = "", .place = {own.file, own.line + 1, 1}};
        if (next_line(&own))
            count = read_number(&own, 1, INT32_MAX, "how many rows follow");
        else
            refuse(&own, &row_missing, "how many rows follow");
        word rest = next_word(&own);
        if (rest.length > 0)
            refuse(&own, &rest, "how many rows follow, and nothing else");
        while (own.status == ST_OK && next_line(&own)) {
            st_simai_row row = {0};
            word first = next_word(&own);
            own.at = first.text;
            if (simai->count == count)
                refuse(&own, &first, "as many rows as the second line says");
            else
                read_row(&own, &row);
            if (!ST_APPEND(own.arena, simai->rows, simai->count, row))
                own.status = st_out_of_memory(own.errors);
        }
        if (own.status == ST_OK && simai->count < count)
            own.status =
                st_fail(own.errors, ST_ERR_VALUE, (st_place){own.file, own.line, 0},
                        "rows are missing" ST_FOUND "%zu" ST_EXPECTED "%llu, by the second line",
                        simai->count, (unsigned long long)count);
    }
    return own.status == ST_OK && st_arena_failed(arena) ? st_out_of_memory(errors) : own.status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a SimAI workload: writer, totals of its rows, and a reader by words with line and
 * column. */
#include "workload/simai.h"

#include "base/memory.h"

#include <string.h>

/* The one policy that AICB writes: rows down, and up again. */
#define ST_SIMAI_POLICY "HYBRID_TRANSFORMER_FWD_IN_BCKWD"

static const char *const kind_words[ST_SIMAI_KINDS] = {"NONE", "ALLREDUCE", "ALLGATHER",
                                                       "REDUCESCATTER", "ALLTOALL"};
static const char *const size_words[ST_SIMAI_SIZES] = {
    "model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:"};

void st_simai_write(const st_simai *simai, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s", ST_SIMAI_POLICY);
    for (int i = 0; i < ST_SIMAI_SIZES; i++)
        st_buffer_printf(buffer, " %s %llu", size_words[i], (unsigned long long)simai->size[i]);
    st_buffer_printf(buffer, " checkpoints: 0 checkpoint_initiates: 0 pp_comm: %llu\n%zu\n",
                     (unsigned long long)simai->pp_bytes, simai->count);
    for (size_t i = 0; i < simai->count; i++) {
        st_buffer_printf(buffer, "%s\t-1", simai->rows[i].name);
        for (int j = 0; j < ST_SIMAI_COLUMNS; j++) {
            const st_simai_work *work = &simai->rows[i].work[j];
            /* Without a suffix the column says which group it is. */
            st_buffer_printf(buffer, "\t%llu\t%s%s\t%llu", (unsigned long long)work->compute_ns,
                             kind_words[work->kind],
                             work->kind == ST_SIMAI_NONE
                                 ? ""
                                 : (work->group == ST_GROUP_EP          ? "_EP"
                                    : work->group == ST_GROUP_EXPERT_DP ? "_DP_EP"
                                                                        : ""),
                             (unsigned long long)work->bytes);
        }
        st_buffer_printf(buffer, "\t%llu\n", (unsigned long long)simai->rows[i].update_ns);
    }
}

/* ---- totals ---- */

typedef struct totals {
    double computed_s[ST_SIMAI_COLUMNS];
    double bytes[ST_GROUPS][ST_SIMAI_KINDS];
    uint64_t messages[ST_GROUPS][ST_SIMAI_KINDS];
} totals;

static void fill_message(const void *context, size_t index, st_node *node)
{
    const totals *all = context;
    size_t group = index / ST_SIMAI_KINDS;
    size_t kind = index % ST_SIMAI_KINDS;
    if (all->messages[group][kind] == 0)
        return;
    st_put_text(node, "group", st_group_name((st_group)group));
    st_put_text(node, "collective", kind_words[kind]);
    st_put_count(node, "messages", all->messages[group][kind]);
    st_put_number(node, "bytes", all->bytes[group][kind]);
}

void st_simai_report(const st_simai *simai, st_arena *arena, st_result *result)
{
    static const char *const sizes[] = {"tp", "ep", "pp", "vpp", "ga", "all_gpus"};
    static const char *const computed[] = {"forward_s", "input_gradients_s", "weight_gradients_s"};
    st_node *root = st_result_begin(result, arena);
    totals *all = st_arena_alloc(arena, 1, sizeof *all);
    for (size_t i = 0; i < simai->count * ST_SIMAI_COLUMNS; i++) {
        const st_simai_work *work = &simai->rows[i / ST_SIMAI_COLUMNS].work[i % ST_SIMAI_COLUMNS];
        all->computed_s[i % ST_SIMAI_COLUMNS] += (double)work->compute_ns / 1e9;
        all->bytes[work->group][work->kind] += (double)work->bytes;
        all->messages[work->group][work->kind] += work->kind == ST_SIMAI_NONE ? 0 : 1;
    }
    for (int i = 0; i < ST_SIMAI_SIZES; i++) {
        st_put_count(root, sizes[i], simai->size[i]);
        st_say(root, "%-18s  %llu\n", sizes[i], (unsigned long long)simai->size[i]);
    }
    st_put_count(root, "rows", simai->count);
    st_put_number(root, "pp_bytes", (double)simai->pp_bytes);
    st_say(root, "%-18s  %zu\n", "rows", simai->count);
    for (int i = 0; i < ST_SIMAI_COLUMNS; i++) {
        st_put_seconds(root, computed[i], all->computed_s[i]);
        st_say(root, "%-18s  %.6g s\n", computed[i], all->computed_s[i]);
    }
    const st_node *messages =
        st_put_rows(root, "messages", fill_message, all, (size_t)ST_GROUPS * ST_SIMAI_KINDS);
    st_say_title(root, "What a rank of the stage takes part in");
    st_table_show(st_say_columns(root, "||>messages|>bytes"), messages,
                  "group,collective,messages,bytes");
    st_result_csv(result, "messages", "group,collective,messages,bytes");
}

/* ---- reading ---- */

/* A word of a line; columns count bytes, as all words but names are ASCII. */
typedef struct word {
    const char *text;
    size_t length;
    st_place place;
} word;

typedef struct simai_reader {
    const char *file;
    const char *at; /* in the line */
    const char *line_end;
    const char *end; /* of the text */
    const char *line_start;
    int line;
    st_arena *arena;
    st_errors *errors;
    st_status status;
} simai_reader;

static void refuse(simai_reader *reader, const word *found, const char *expected)
{
    char shown[48] = "the end of the line";
    if (found->length > 0)
        (void)snprintf(shown, sizeof shown, "'%.*s'", found->length > 40 ? 40 : (int)found->length,
                       found->text);
    if (reader->status == ST_OK)
        reader->status = st_fail(reader->errors, ST_ERR_VALUE, found->place,
                                 "wrong word in a SimAI workload" ST_FOUND "%s" ST_EXPECTED "%s",
                                 shown, expected);
}

/* Goes to the next line with something on it; false at the end of the text. */
static bool next_line(simai_reader *reader)
{
    while (reader->line_end < reader->end || reader->line == 0) {
        reader->line_start = reader->line == 0 ? reader->at : reader->line_end + 1;
        reader->at = reader->line_start;
        size_t rest = (size_t)(reader->end - reader->at);
        const char *end = memchr(reader->at, '\n', rest);
        reader->line_end = end == NULL ? reader->end : end;
        reader->line++;
        while (reader->at < reader->line_end && strchr(" \t\r", *reader->at) != NULL)
            reader->at++;
        if (reader->at < reader->line_end)
            return true;
    }
    return false;
}

/* The next word of the line; of length 0 at its end. */
static word next_word(simai_reader *reader)
{
    while (reader->at < reader->line_end && strchr(" \t\r", *reader->at) != NULL)
        reader->at++;
    word made = {.text = reader->at,
                 .place = {reader->file, reader->line, (int)(reader->at - reader->line_start) + 1}};
    while (reader->at < reader->line_end && strchr(" \t\r", *reader->at) == NULL)
        reader->at++;
    made.length = (size_t)(reader->at - made.text);
    return made;
}

static bool is_word(const word *found, const char *text)
{
    return found->length == strlen(text) && memcmp(found->text, text, found->length) == 0;
}

/* A whole number up to `most`; AICB writes quotients as 385.0. */
static uint64_t read_number(simai_reader *reader, uint64_t least, uint64_t most,
                            const char *expected)
{
    word found = next_word(reader);
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
        refuse(reader, &found, expected);
    return value;
}

/* ---- the first line ---- */

static void read_size(simai_reader *reader, const word *key, st_simai *simai)
{
    if (is_word(key, "checkpoints:") || is_word(key, "checkpoint_initiates:")) {
        uint64_t count = read_number(reader, 0, INT32_MAX, "how many rows are listed");
        for (uint64_t i = 0; i < count && reader->status == ST_OK; i++)
            (void)read_number(reader, 0, INT32_MAX, "the number of a row");
        return;
    }
    if (is_word(key, "pp_comm:") || is_word(key, "pp_comm")) {
        simai->pp_bytes = read_number(reader, 0, INT32_MAX, "bytes of a transfer, below 2 GiB");
        return;
    }
    for (int i = 0; i < ST_SIMAI_SIZES; i++) {
        if (!is_word(key, size_words[i]))
            continue;
        if (simai->size[i] > 0)
            refuse(reader, key, "each size once");
        simai->size[i] = read_number(reader, 1, INT32_MAX, "a whole number, at least 1");
        return;
    }
    refuse(reader, key,
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
            (void)snprintf(text, sizeof text, "%s%s", kind_words[kind], suffixes[i]);
            if (!is_word(found, text))
                continue;
            work->kind = (st_simai_kind)kind;
            work->group = groups[i];
            return true;
        }
    }
    return false;
}

static void read_row(simai_reader *reader, st_simai_row *row)
{
    word name = next_word(reader);
    char *text = st_arena_alloc(reader->arena, name.length + 1, 1);
    if (text != NULL)
        memcpy(text, name.text, name.length);
    row->name = text;
    word dependency = next_word(reader);
    if (!is_word(&dependency, "-1"))
        refuse(reader, &dependency, "-1");
    for (int i = 0; i < ST_SIMAI_COLUMNS && reader->status == ST_OK; i++) {
        const st_simai_column column = (st_simai_column)i;
        st_simai_work *work = &row->work[i];
        work->compute_ns = read_number(reader, 0, INT64_MAX, "compute time, whole nanoseconds");
        word found = next_word(reader);
        if (!read_collective(&found, column, work))
            refuse(
                reader, &found,
                "NONE, or ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, of experts with _EP or "
                "_DP_EP");
        const char *before = reader->at;
        work->bytes = read_number(reader, 0, INT64_MAX, "bytes, a whole number");
        reader->at = before;
        word size = next_word(reader);
        if (work->kind == ST_SIMAI_NONE && work->bytes > 0)
            refuse(reader, &size, "0 bytes of NONE");
        if (work->bytes == 0) /* AICB names the collective of what is not sent, too */
            work->kind = ST_SIMAI_NONE;
    }
    if (reader->status == ST_OK)
        row->update_ns = read_number(reader, 0, INT64_MAX, "a delay, whole nanoseconds");
    word rest = next_word(reader);
    if (rest.length > 0)
        refuse(reader, &rest, "12 fields");
}

st_status st_simai_read(const st_source *source, st_arena *arena, st_simai *simai,
                        st_errors *errors)
{
    simai_reader reader = {.file = source->file,
                           .at = source->text,
                           .line_start = source->text,
                           .line_end = source->text,
                           .end = source->text + source->length,
                           .arena = arena,
                           .errors = errors};
    *simai = (st_simai){0};
    word missing = {.text = source->text, .place = {source->file, 1, 1}};
    if (next_line(&reader)) {
        word policy = next_word(&reader);
        if (!is_word(&policy, ST_SIMAI_POLICY))
            refuse(&reader, &policy, ST_SIMAI_POLICY);
        word key = next_word(&reader);
        for (; key.length > 0 && reader.status == ST_OK; key = next_word(&reader))
            read_size(&reader, &key, simai);
        for (int i = 0; i < ST_SIMAI_SIZES && reader.status == ST_OK; i++)
            if (simai->size[i] == 0)
                refuse(&reader, &key, size_words[i]);
        uint64_t ranks = simai->size[ST_SIMAI_TP] * simai->size[ST_SIMAI_PP];
        if (reader.status == ST_OK && simai->size[ST_SIMAI_GPUS] % ranks != 0)
            reader.status =
                st_fail(reader.errors, ST_ERR_VALUE, policy.place,
                        "all_gpus is not a multiple of the GPUs of a pipeline" ST_FOUND
                        "%llu GPUs, tp * pp of %llu",
                        (unsigned long long)simai->size[ST_SIMAI_GPUS], (unsigned long long)ranks);
    } else {
        refuse(&reader, &missing, ST_SIMAI_POLICY);
    }
    if (reader.status == ST_OK) {
        uint64_t count = 0;
        word row_missing = {.text = "", .place = {reader.file, reader.line + 1, 1}};
        if (next_line(&reader))
            count = read_number(&reader, 1, INT32_MAX, "how many rows follow");
        else
            refuse(&reader, &row_missing, "how many rows follow");
        word rest = next_word(&reader);
        if (rest.length > 0)
            refuse(&reader, &rest, "how many rows follow, and nothing else");
        while (reader.status == ST_OK && next_line(&reader)) {
            st_simai_row row = {0};
            word first = next_word(&reader);
            reader.at = first.text;
            if (simai->count == count)
                refuse(&reader, &first, "as many rows as the second line says");
            else
                read_row(&reader, &row);
            (void)ST_APPEND(reader.arena, simai->rows, simai->count, row);
        }
        if (reader.status == ST_OK && simai->count < count)
            reader.status =
                st_fail(reader.errors, ST_ERR_VALUE, (st_place){reader.file, reader.line, 0},
                        "rows are missing" ST_FOUND "%zu" ST_EXPECTED "%llu, by the second line",
                        simai->count, (unsigned long long)count);
    }
    return reader.status;
}

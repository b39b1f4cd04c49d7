/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a run: its dump of arguments, what it says of the vocabulary, and how long iterations
 * took. A log may hold several runs, one restart after the other: the last one counts.
 */
#include "launch/import/megatron.h"

#include "base/chars.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <stdlib.h>
#include <string.h>

/* Where the blanks and dots between name and value begin; length when there are none. */
static size_t find_dots(const megatron_line *line)
{
    for (size_t i = 1; i + 2 < line->length; i++)
        if (line->text[i] == ' ' && line->text[i + 1] == '.' &&
            (line->text[i + 2] == '.' || line->text[i + 2] == ' ') && st_is_name(line->text[i - 1]))
            return i;
    return line->length;
}

/* Where two blanks follow a name; length if nowhere. */
static size_t find_blanks(const megatron_line *line)
{
    for (size_t i = 1; i + 1 < line->length; i++)
        if (st_is_name(line->text[i - 1]) && line->text[i] == ' ' && line->text[i + 1] == ' ')
            return i;
    return line->length;
}

static size_t skip(const megatron_line *line, size_t at, char c)
{
    while (at < line->length && line->text[at] == c)
        at++;
    return at;
}

/* The number behind some words of the line; 0 when there is none. */
static double number_after(const megatron_line *line, const char *words)
{
    const char *at = megatron_find(line, words);
    const char *end = line->text + line->length;
    char text[32];
    size_t length = 0;
    double value = 0;
    if (at == NULL)
        return 0;
    while (at < end && *at == ' ')
        at++;
    while (at + length < end && length + 1 < sizeof text && strchr(" |)\t", at[length]) == NULL)
        length++;
    if (length == 0 || st_number_parse(at, length, (st_place){0}, &value, NULL) != ST_OK)
        return 0;
    return value;
}

static void read_time(megatron_run *run, const megatron_line *line)
{
    if (megatron_find(line, "elapsed time per iteration (") == NULL)
        return;
    double time_ms = number_after(line, "elapsed time per iteration (ms):");
    if (time_ms == 0)
        time_ms = 1000 * number_after(line, "elapsed time per iteration (s):");
    if (!(time_ms > 0) || !(time_ms < 1e12)) {
        run->odd_line = run->odd_times++ == 0 ? line->number : run->odd_line;
        return;
    }
    if (run->time_count >= MEGATRON_MAX_TIMES)
        return;
    const megatron_time made = {time_ms, number_after(line, "global batch size:")};
    if (!ST_APPEND(run->draft->arena, run->times, run->time_count, made))
        st_draft_out_of_memory(run->draft);
}

void megatron_read_log(megatron_run *run)
{
    const st_import_request *request = run->draft->request;
    megatron_line line = {0};
    bool in_dump = false;
    for (size_t offset = 0;
         run->draft->status == ST_OK && megatron_next_line(request, &offset, &line);) {
        if (megatron_find(&line, "-- end of arguments --") != NULL) {
            in_dump = false;
        } else if (megatron_find(&line, "-- arguments --") != NULL) {
            megatron_forget(run);
            run->dumps++;
            in_dump = true;
        } else if (in_dump) {
            /* "  NAME ..... VALUE", behind whatever a launcher puts in front. Names of 48
             * letters and more leave no room for dots: "  NAME  VALUE". */
            size_t dots = find_dots(&line);
            size_t end = dots < line.length ? dots : find_blanks(&line);
            size_t value = dots < line.length ? skip(&line, dots + 1, '.') : end;
            size_t start = end;
            while (start > 0 && st_is_name(line.text[start - 1]))
                start--;
            value = skip(&line, value, ' ');
            size_t length = line.length;
            while (length > value && line.text[length - 1] == ' ')
                length--;
            if (start == end || value >= length)
                continue;
            megatron_set(
                run, st_draft_text(run->draft, "%.*s", (int)(end - start), line.text + start),
                st_draft_text(run->draft, "%.*s", (int)(length - value), line.text + value),
                line.number);
        } else if (megatron_find(&line, "padded vocab (size:") != NULL) {
            double size = number_after(&line, "padded vocab (size:");
            run->vocabulary = size >= 1 && size <= 1e9 ? (uint64_t)size : 0;
        } else {
            read_time(run, &line);
        }
    }
}

/* ---- the median ---- */

static double median_of(double *times, size_t count)
{
    qsort(times, count, sizeof *times, st_order_numbers);
    return count % 2 == 1 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

/* Times of the last third and of the first differ by more than this share of the first. */
#define TREND 0.1

static void note_trend(megatron_run *run, double *times, size_t count)
{
    size_t third = count / 3;
    if (third < 3)
        return;
    double first = median_of(times, third);
    double last = median_of(times + count - third, third);
    if (last > first * (1 - TREND) && last < first * (1 + TREND))
        return;
    st_draft_note(
        run->draft,
        "Step times have a trend: the median is %.5g ms in the first third and %.5g ms in "
        "the last. measured.step_time is that of all; give the "
        "lines of a steady part.",
        first, last);
}

/* A batch that ramps up ends with the batch that counts. */
static double put_last_batch(megatron_run *run)
{
    const double batch = run->times[run->time_count - 1].batch;
    const uint64_t planned = st_draft_count(run->draft, ST_KEY_BATCH_GLOBAL);
    if (batch >= 1 && batch <= 1e9 && planned != (uint64_t)batch)
        st_draft_put_count(run->draft, ST_KEY_BATCH_GLOBAL, 0, (uint64_t)batch,
                           "global batch size of the last iteration");
    return batch;
}

void megatron_put_time(megatron_run *run)
{
    /* The first iterations allocate, compile and connect: they say nothing of those that follow. */
    size_t share = run->time_count / 10;
    size_t first = share > 10 ? 10 : share > 0 ? share : run->time_count > 1 ? 1 : 0;
    double *times = st_draft_alloc(run->draft, run->time_count + 1, sizeof *times);
    char number[64];
    size_t count = 0;
    size_t others = 0;
    size_t dropped = 0;
    if (times == NULL || run->time_count == 0)
        return;
    const double batch = put_last_batch(run);
    for (size_t i = 0; i < run->time_count; i++) {
        others += run->times[i].batch != batch ? 1 : 0;
        if (run->times[i].batch != batch)
            continue;
        dropped += i < first ? 1 : 0;
        if (i >= first)
            times[count++] = run->times[i].ms;
    }
    if (count == 0)
        return;
    if (others > 0)
        st_draft_note(run->draft,
                      "%zu of %zu iterations have another batch than the last one, %.0f, and are "
                      "left out of measured.step_time.",
                      others, run->time_count, batch);
    note_trend(run, times, count);
    double median = median_of(times, count);
    st_draft_put(
        run->draft, ST_KEY_MEASURED_STEP_TIME, 0,
        st_draft_text(run->draft, "%s ms", st_number_format(median, number, sizeof number)),
        st_draft_text(run->draft, "median of %zu of %zu lines; %s", count, run->time_count,
                      dropped > 0
                          ? st_draft_text(run->draft, "the first %zu dropped as warm-up", dropped)
                      : others > 0 ? "those of the last batch"
                                   : "a single line, which may include warm-up"));
}

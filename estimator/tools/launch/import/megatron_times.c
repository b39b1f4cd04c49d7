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
#include <strings.h>

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

/* The word behind some words of the line, "" where there is none. */
static void word_after(const megatron_line *line, const char *words, char *text, size_t size)
{
    const char *at = words != NULL ? megatron_find(line, words) : NULL;
    const char *end = line->text + line->length;
    size_t length = 0;
    while (at != NULL && at < end && *at == ' ')
        at++;
    for (; at != NULL && at < end && strchr(" |)/\t", *at) == NULL && length + 1 < size; at++)
        if (*at != ',') /* 12,345 */
            text[length++] = *at;
    text[length] = '\0';
}

/* The number behind some words of the line; 0 when there is none. */
static double number_after(const megatron_line *line, const char *words)
{
    char text[32];
    double value = 0;
    word_after(line, words, text, sizeof text);
    if (text[0] == '\0' ||
        st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK)
        return 0;
    return value;
}

/* How frameworks print a step: what marks the line, and what its numbers follow. */
typedef struct step_form {
    const char *mark;
    const char *time;
    double time_ms; /* of one unit; 0: tokens per second and GPU */
    const char *step;
    const char *loss;
    const char *batch; /* NULL: not in the line */
} step_form;

static const step_form forms[] = {
    {"elapsed time per iteration (ms):", "elapsed time per iteration (ms):", 1, "iteration",
     "lm loss:", "global batch size:"},
    {"elapsed time per iteration (s):", "elapsed time per iteration (s):", 1000, "iteration",
     "lm loss:", "global batch size:"},
    {"train_step_timing in s:", "train_step_timing in s:", 1000,
     "global_step:", "reduced_train_loss:", "global_batch_size:"},           /* NeMo */
    {"completed step:", "seconds:", 1000, "completed step:", "loss:", NULL}, /* MaxText */
    {"iter time (s):", "iter time (s):", 1000, "steps:", "loss:", NULL},     /* DeepSpeed */
    {" tps:", "tps:", 0, "step:", "loss:", NULL},                            /* torchtitan */
};

static bool is_nan(const char *word)
{
    return strncasecmp(word, "nan", 3) == 0 || strncasecmp(word, "-nan", 4) == 0;
}

/* Steps of a run that restarts begin again with a smaller number: the last run counts. */
static void begin_again(megatron_run *run, double step, int line)
{
    if (step < run->last_step) {
        run->time_count = 0;
        run->restart_line = line;
    }
    run->last_step = step;
}

static void read_time(megatron_run *run, const megatron_line *line, bool is_cut)
{
    const step_form *form = forms;
    const step_form *const end = forms + ST_COUNT(forms);
    char loss[32];
    while (form < end && megatron_find(line, form->mark) == NULL)
        form++;
    if (form == end)
        return;
    const char *const again = megatron_find(line, form->mark);
    const megatron_line rest = {again, line->length - (size_t)(again - line->text), line->number};
    const double number = number_after(line, form->time);
    const double time = form->time_ms > 0 ? form->time_ms * number : number;
    if (is_cut || !(time > 0) || !(time < 1e12) || megatron_find(&rest, form->mark) != NULL) {
        run->odd_line = run->odd_times++ == 0 ? line->number : run->odd_line;
        return;
    }
    word_after(line, form->loss, loss, sizeof loss);
    if (is_nan(loss)) {
        run->nan_line = run->nan_losses++ == 0 ? line->number : run->nan_line;
        return;
    }
    if (run->time_count >= MEGATRON_MAX_TIMES)
        return;
    begin_again(run, number_after(line, form->step), line->number);
    run->is_rate = form->time_ms == 0;
    const megatron_time made = {time, number_after(line, form->batch)};
    if (!ST_APPEND(run->draft->arena, run->times, run->time_count, made))
        st_draft_out_of_memory(run->draft);
}

/* The log was cut in this line, after a digit: a number may lack its others. */
static bool is_cut(const st_import_request *request, size_t offset)
{
    return offset > request->length && strchr("0123456789.", request->text[request->length - 1]);
}

void megatron_read_times(megatron_run *run, const st_import_request *log)
{
    megatron_line line = {0};
    for (size_t offset = 0; run->draft->status == ST_OK && megatron_next_line(log, &offset, &line);)
        read_time(run, &line, is_cut(log, offset));
}

/* For the reader of the log, and for the one of the job. */
static void warn(megatron_run *run, int line, const char *text)
{
    st_draft_note(run->draft, "Line %d: %s.", line, text);
    (void)st_report(run->draft->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                    (st_place){.file = run->draft->request->file, .line = line}, "%s", text);
}

void megatron_warn_of_times(megatron_run *run)
{
    const size_t nan = run->nan_losses;
    if (run->odd_times > 0)
        warn(run, run->odd_line,
             st_draft_text(run->draft,
                           "%zu step%s cut or without a time that can be read; left out",
                           run->odd_times, run->odd_times == 1 ? " is" : "s are"));
    if (nan > 0)
        warn(run, run->nan_line,
             st_draft_text(run->draft,
                           "the loss of %zu step%s is NaN, the first in this line; "
                           "their times are left out",
                           nan, nan == 1 ? "" : "s"));
    if (run->restart_line > 0)
        warn(run, run->restart_line,
             "steps begin again here; only the times from this line on count");
    if (nan > 0 && run->time_count == 0)
        ST_NOTE(run->draft, ST_ERR_VALUE,
                ((st_place){.file = run->draft->request->file, .line = run->nan_line}),
                "every step has a loss of NaN" ST_EXPECTED "steps that train");
}

void megatron_read_log(megatron_run *run)
{
    const st_import_request *request = run->draft->request;
    megatron_line line = {0};
    bool in_dump = false;
    int begun = 0;
    for (size_t offset = 0;
         run->draft->status == ST_OK && megatron_next_line(request, &offset, &line);) {
        if (megatron_find(&line, "-- end of arguments --") != NULL) {
            in_dump = false;
        } else if (megatron_find(&line, "-- arguments --") != NULL) {
            megatron_forget(run);
            run->dumps++;
            run->last_step = 0;
            begun = line.number;
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
            read_time(run, &line, is_cut(request, offset));
        }
    }
    if (in_dump)
        ST_NOTE(run->draft, ST_ERR_SYNTAX, ((st_place){.file = request->file, .line = begun}),
                "the dump of arguments that begins here is cut" ST_EXPECTED
                "a line '------ end of arguments ------'");
    if (run->dumps > 1)
        warn(run, begun,
             st_draft_text(run->draft,
                           "the log holds %zu runs; only the last one, "
                           "from this line on, counts",
                           run->dumps));
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

/* The middle half of the times, which are in order, is wider than this share of the median. */
#define SCATTER 0.25

static void note_scatter(megatron_run *run, const double *times, size_t count, double median)
{
    const double low = times[count / 4];
    const double high = times[count - 1 - count / 4];
    if (count < 8 || high - low <= SCATTER * median)
        return;
    st_draft_note(run->draft,
                  "Step times scatter: a quarter is below %.5g ms, a quarter above %.5g ms, and "
                  "measured.step_time is their median; give the lines of steps that are alike.",
                  low, high);
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

/* Tokens per second and GPU as milliseconds of a step; false where its tokens are not known. */
static bool rates_to_times(megatron_run *run)
{
    static const char *const groups[] = {ST_KEY_PARALLEL_TP, ST_KEY_PARALLEL_PP, ST_KEY_PARALLEL_CP,
                                         ST_KEY_PARALLEL_DP};
    double tokens = 1000.0 * (double)st_draft_count(run->draft, ST_KEY_BATCH_GLOBAL) *
                    (double)st_draft_count(run->draft, ST_KEY_BATCH_SEQUENCE);
    if (!run->is_rate)
        return true;
    for (size_t i = 0; i < ST_COUNT(groups); i++) {
        const uint64_t ranks = st_draft_count(run->draft, groups[i]);
        tokens /= ranks > 0 || strcmp(groups[i], ST_KEY_PARALLEL_DP) == 0 ? (double)ranks : 1.0;
    }
    if (!(tokens > 0) || !(tokens < 1e300)) {
        st_draft_note(run->draft, "The log has tokens per second; batch and ranks, which make "
                                  "them the time of a step, are not known.");
        return false;
    }
    for (size_t i = 0; i < run->time_count; i++)
        run->times[i].ms = tokens / run->times[i].ms;
    return true;
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
    if (times == NULL || run->time_count == 0 || !rates_to_times(run))
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
    note_scatter(run, times, count, median);
    st_draft_put(
        run->draft, ST_KEY_MEASURED_STEP_TIME, 0,
        st_draft_text(run->draft, "%s ms", st_number_format(median, number, sizeof number)),
        st_draft_text(run->draft, "median of %zu of %zu lines; %s", count, run->time_count,
                      dropped > 0
                          ? st_draft_text(run->draft, "the first %zu dropped as warm-up", dropped)
                      : others > 0 ? "those of the last batch"
                                   : "a single line, which may include warm-up"));
}

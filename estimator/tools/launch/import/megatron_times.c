/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a run: its dump of arguments, what it says of the vocabulary, and how long iterations
 * took. A log may hold several runs, one restart after the other: the last one counts.
 */
#include "launch/import/megatron.h"

#include "base/chars.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <math.h>
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

/* Whether a comma after so many digits is a decimal one, as in 2664,8. */
static bool is_decimal(const char *comma, const char *end, size_t before)
{
    size_t count = 0;
    while (comma + count + 1 < end && comma[count + 1] >= '0' && comma[count + 1] <= '9')
        count++;
    return count > 0 && (count != 3 || before > 3);
}

/* Whether a blank parts thousands of the number that begins at `first`, as in 5 701. */
static bool is_thousands(const char *blank, const char *end, const char *first)
{
    size_t before = 0;
    size_t behind = 0;
    while (blank - before > first && st_is_digit(*(blank - before - 1)))
        before++;
    while (blank + behind + 1 < end && st_is_digit(blank[behind + 1]))
        behind++;
    return *blank == ' ' && before >= 1 && before <= 3 && behind == 3 &&
           (blank - before == first || *(blank - before - 1) == ' ');
}

/* The word behind some words of the line, "" where there is none. */
static void word_after(const megatron_line *line, const char *words, char *text, size_t size)
{
    const char *at = words != NULL ? megatron_find(line, words) : NULL;
    const char *end = line->text + line->length;
    size_t length = 0;
    size_t group = 0; /* where it begins in the text */
    while (at != NULL && at < end && *at == ' ')
        at++;
    const char *first = at;
    for (; at != NULL && at < end && length + 1 < size; at++)
        if (is_thousands(at, end, first) || (*at == ',' && !is_decimal(at, end, length - group)))
            group = length; /* 12,345 or 12 345 */
        else if (strchr(" |)]/\t", *at) == NULL)
            text[length++] = *at;
        else
            break;
    text[length] = '\0';
}

/* The number behind some words of the line; 0 when there is none. */
static double number_after(const megatron_line *line, const char *words)
{
    char text[32];
    double value = 0;
    word_after(line, words, text, sizeof text);
    const size_t length = strlen(text);
    if (length > 1 && text[length - 1] == 's' && st_is_digit(text[length - 2]))
        text[length - 1] = '\0';
    if (text[0] == '\0' ||
        st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK)
        return 0;
    return value;
}

/* How frameworks print a step: what marks the line, and what its numbers follow. Of a log with
 * several of them those of the smallest `place` count: a step is not measured twice. */
typedef struct step_form {
    const char *mark;
    const char *time;
    double time_ms; /* of one unit; 0: a rate */
    const char *step;
    const char *loss;
    const char *batch; /* NULL: not in the line */
    int place;
    megatron_rate rate;
} step_form;

static const step_form forms[] = {
    {"elapsed time per iteration (ms):", "elapsed time per iteration (ms):", 1, "iteration",
     "lm loss:", "global batch size:", 1, MEGATRON_TIMES},
    {"elapsed time per iteration (s):", "elapsed time per iteration (s):", 1000, "iteration",
     "lm loss:", "global batch size:", 1, MEGATRON_TIMES},
    /* NeMo, its lines and its bar of progress */
    {"train_step_timing in s:", "train_step_timing in s:", 1000,
     "global_step:", "reduced_train_loss:", "global_batch_size:", 2, MEGATRON_TIMES},
    {"train_step_timing in s=", "train_step_timing in s=", 1000,
     "global_step=", "reduced_train_loss=", NULL, 3, MEGATRON_TIMES},
    /* MaxText, DeepSpeed, torchtitan, DeepSpeed's own timer */
    {"completed step:", "seconds:", 1000, "completed step:", "loss:", NULL, 4, MEGATRON_TIMES},
    {"iter time (s):", "iter time (s):", 1000, "steps:", "loss:", NULL, 5, MEGATRON_TIMES},
    {" tps:", "tps:", 0, "step:", "loss:", NULL, 6, MEGATRON_TOKENS},
    {"CurrSamplesPerSec=", "CurrSamplesPerSec=", 0, "global_step=", NULL, NULL, 7,
     MEGATRON_SAMPLES},
    /* Megatron-Bridge, rounded, next to a line of Megatron-LM that a filter may drop: "9.39s" */
    {"Step Time :", "Step Time :", 1000, NULL, NULL, NULL, 8, MEGATRON_TIMES},
};

static const step_form *form_of(const megatron_line *line)
{
    const step_form *form = forms;
    const step_form *const end = forms + ST_COUNT(forms);
    while (form < end && megatron_find(line, form->mark) == NULL)
        form++;
    return form < end ? form : NULL;
}

bool megatron_is_step(const megatron_line *line)
{
    return form_of(line) != NULL;
}

/* A line counts steps with a loss of NaN, or its own loss is NaN or infinite. */
static bool is_diverged(const megatron_line *line, const step_form *form)
{
    char word[32];
    word_after(line, form->loss, word, sizeof word);
    const char *sign = word[0] == '-' || word[0] == '+' ? word + 1 : word;
    return strncasecmp(sign, "nan", 3) == 0 || strncasecmp(sign, "inf", 3) == 0 ||
           number_after(line, "number of nan iterations:") > 0;
}

/* The first line of some, and how many there are. */
static void count_line(megatron_lines *lines, int line)
{
    lines->first = lines->count == 0 || line < lines->first ? line : lines->first;
    lines->count++;
}

void megatron_forget_times(megatron_run *run)
{
    run->time_count = 0;
    run->odd = run->nan = run->again = run->other = (megatron_lines){0};
    run->form_place = 0;
    run->restart_line = 0;
}

/* Ranks measure a step within this share of each other. */
#define SAME_TIME 0.1

/*
 * Steps of a run that restarts begin again with a smaller number: the last run counts. False where
 * the step was read before, by another rank or when a bar of progress was drawn; of a line that may
 * be cut and a whole one the whole one counts.
 */
static bool is_new_step(megatron_run *run, const megatron_time *made, bool has_number)
{
    megatron_time *last = run->time_count > 0 ? &run->times[run->time_count - 1] : NULL;
    if (has_number && last != NULL && made->step == last->step) {
        if (last->ends_line && !made->ends_line) {
            count_line(&run->odd, last->line);
            *last = *made;
        } else if (fabs(made->ms - last->ms) > SAME_TIME * last->ms) {
            count_line(&run->other, made->line);
            last->is_doubtful = true;
        } else {
            count_line(&run->again, made->line);
        }
        return false;
    }
    if (last != NULL && made->step < last->step) {
        run->time_count = 0;
        run->restart_line = made->line;
    }
    return true;
}

/* The last number that is read is the last of the line: if lines of others go on, it is cut. */
static bool ends_line(const megatron_line *line, const step_form *form)
{
    const char *const words[] = {form->time, form->batch};
    const char *const end = line->text + line->length;
    for (size_t i = 0; i < ST_COUNT(words); i++) {
        const char *at = words[i] != NULL ? megatron_find(line, words[i]) : NULL;
        while (at != NULL && at < end && strchr(" 0123456789.,", *at) != NULL)
            at++;
        if (at == end && end[-1] != ' ')
            return true;
    }
    return false;
}

/* Both texts have the same letters and signs in front of numbers of any length. */
static bool begins_alike(const char *a, const char *a_end, const char *b, const char *b_end)
{
    static const char numbers[] = "0123456789 ";
    while (a < a_end || b < b_end) {
        const bool a_passes = a < a_end && memchr(numbers, *a, sizeof numbers - 1) != NULL;
        const bool b_passes = b < b_end && memchr(numbers, *b, sizeof numbers - 1) != NULL;
        if (!a_passes && !b_passes && (a >= a_end || b >= b_end || *a != *b))
            return false;
        a += a_passes || !b_passes ? 1 : 0;
        b += b_passes || !a_passes ? 1 : 0;
    }
    return true;
}

/* A line that begins as the last step and ends before the time. */
static bool is_cut_step(const megatron_run *run, const megatron_line *line)
{
    const char *at = run->step_word != NULL ? megatron_find(line, run->step_word) : NULL;
    return at != NULL && begins_alike(line->text, at, run->step_line, run->step_line_end);
}

static void read_step(megatron_run *run, const megatron_line *line, bool is_cut)
{
    const step_form *form = form_of(line);
    char word[32];
    if (form == NULL && is_cut_step(run, line))
        count_line(&run->odd, line->number);
    if (form == NULL || (run->form_place > 0 && form->place > run->form_place))
        return;
    if (form->place < run->form_place)
        megatron_forget_times(run);
    run->form_place = form->place;
    run->rate = form->rate;
    const char *const again = megatron_find(line, form->mark);
    const megatron_line rest = {again, line->length - (size_t)(again - line->text), line->number};
    const double number = number_after(line, form->time);
    const double time = form->time_ms > 0 ? form->time_ms * number : number;
    if (is_cut || !(time > 0) || !(time < 1e12) || megatron_find(&rest, form->mark) != NULL) {
        count_line(&run->odd, line->number);
        return;
    }
    if (is_diverged(line, form)) {
        count_line(&run->nan, line->number);
        return;
    }
    word_after(line, form->step, word, sizeof word);
    if (form->step != NULL && megatron_find(line, form->step) != NULL) {
        run->step_word = form->step;
        run->step_line = line->text;
        run->step_line_end = megatron_find(line, form->step);
    }
    const megatron_time made = {.ms = time,
                                .batch = number_after(line, form->batch),
                                .step = number_after(line, form->step),
                                .line = line->number,
                                .ends_line = ends_line(line, form)};
    if (run->time_count >= MEGATRON_MAX_TIMES || !is_new_step(run, &made, st_is_digit(word[0])))
        return;
    if (!ST_APPEND(run->draft->arena, run->times, run->time_count, made))
        st_draft_out_of_memory(run->draft);
}

/* A bar of progress draws its steps over each other in one line. */
static void read_time(megatron_run *run, const megatron_line *line, bool is_cut)
{
    const char *const end = line->text + line->length;
    for (const char *at = line->text; at <= end && run->draft->status == ST_OK;) {
        const char *stop = at < end ? memchr(at, '\r', (size_t)(end - at)) : NULL;
        const char *last = stop != NULL ? stop : end;
        const megatron_line part = {at, (size_t)(last - at), line->number};
        read_step(run, &part, is_cut && stop == NULL);
        at = last + 1;
    }
}

/* Leaves out steps that lack what lines of others have: the log was cut in them, and went on. */
static void leave_out_cut(megatron_run *run)
{
    bool others_go_on = false;
    bool others_have_batch = false;
    size_t kept = 0;
    for (size_t i = 0; i < run->time_count; i++) {
        others_go_on |= !run->times[i].ends_line;
        others_have_batch |= run->times[i].batch > 0;
    }
    for (size_t i = 0; i < run->time_count; i++) {
        const megatron_time *time = &run->times[i];
        if (time->is_doubtful)
            continue;
        if ((time->ends_line && others_go_on) || (!(time->batch > 0) && others_have_batch))
            count_line(&run->odd, time->line);
        else
            run->times[kept++] = *time;
    }
    run->time_count = kept;
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
    leave_out_cut(run);
    const size_t odd = run->odd.count;
    const size_t nan = run->nan.count;
    const size_t again = run->again.count;
    if (odd > 0)
        warn(run, run->odd.first,
             st_draft_text(run->draft,
                           "%zu step%s cut or without a time that can be read; left out", odd,
                           odd == 1 ? " is" : "s are"));
    if (nan > 0)
        warn(run, run->nan.first,
             st_draft_text(run->draft,
                           "the loss of %zu step%s is NaN or infinite, the first in this line; "
                           "their times are left out",
                           nan, nan == 1 ? "" : "s"));
    if (again > 0)
        warn(run, run->again.first,
             st_draft_text(run->draft,
                           "%zu line%s a step again that the line before has, the first here; "
                           "each step counts once",
                           again, again == 1 ? " has" : "s have"));
    if (run->other.count > 0)
        warn(
            run, run->other.first,
            "another time of the step that the line before has; steps with two times are left out");
    if (run->restart_line > 0)
        warn(run, run->restart_line,
             "steps begin again here; only the times from this line on count");
    if (nan > 0 && run->time_count == 0)
        ST_NOTE(run->draft, ST_ERR_VALUE,
                ((st_place){.file = run->draft->request->file, .line = run->nan.first}),
                "every step has a loss of NaN or infinity" ST_EXPECTED "steps that train");
}

/* Names and dots of a dump fill this many places. */
#define DUMP_WIDTH 48

/* A line of a dump that ends within its name or its dots; an empty text leaves all of them. */
static bool is_cut_argument(const megatron_line *line)
{
    const size_t name = skip(line, 0, ' ');
    size_t end = name;
    while (end < line->length && st_is_name(line->text[end]))
        end++;
    const size_t dots = skip(line, end, ' ');
    const size_t stop = skip(line, dots, '.');
    return name == 2 && end > name && stop == line->length &&
           end - name + (stop - dots) < DUMP_WIDTH;
}

/* Ranks, or the vocabulary, that Megatron prints next to its arguments. */
static bool read_size(megatron_run *run, const megatron_line *line)
{
    static const char *const words[] = {"using world size:", "padded vocab (size:"};
    uint64_t *const sizes[] = {&run->ranks, &run->vocabulary};
    size_t i = 0;
    while (i < ST_COUNT(words) && megatron_find(line, words[i]) == NULL)
        i++;
    if (i == ST_COUNT(words))
        return false;
    const double size = number_after(line, words[i]);
    *sizes[i] = size >= 1 && size <= 1e9 ? (uint64_t)size : 0;
    run->ranks_line = i == 0 ? line->number : run->ranks_line;
    return true;
}

/* An argument of a dump, which has one value. */
static void set_argument(megatron_run *run, const char *name, const char *value, int line)
{
    const size_t i = ST_FIND(run->arguments, run->count, name, name);
    if (i < run->count && strcmp(run->arguments[i].value, value) != 0)
        ST_NOTE(run->draft, ST_ERR_VALUE,
                ((st_place){.file = run->draft->request->file, .line = line}),
                "another value of '%.80s' in the same dump" ST_FOUND "'%.80s'" ST_EXPECTED
                "'%.80s', as line %d says",
                name, value, run->arguments[i].value, run->arguments[i].line);
    megatron_set(run, name, value, line);
}

void megatron_read_log(megatron_run *run)
{
    const st_import_request *request = run->draft->request;
    megatron_line line = {0};
    bool in_dump = false;
    int begun = 0;
    int cut = 0;
    for (size_t offset = 0;
         run->draft->status == ST_OK && megatron_next_line(request, &offset, &line);) {
        if (megatron_find(&line, "-- end of arguments --") != NULL) {
            in_dump = false;
        } else if (megatron_find(&line, "-- arguments --") != NULL) {
            megatron_forget(run);
            run->dumps++;
            begun = line.number;
            cut = 0;
            in_dump = true;
        } else if (in_dump && is_cut_argument(&line)) {
            cut = cut == 0 ? line.number : cut;
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
            set_argument(
                run, st_draft_text(run->draft, "%.*s", (int)(end - start), line.text + start),
                st_draft_text(run->draft, "%.*s", (int)(length - value), line.text + value),
                line.number);
        } else if (!read_size(run, &line)) {
            read_time(run, &line, is_cut(request, offset));
        }
    }
    if (in_dump && run->draft->status == ST_OK)
        ST_NOTE(run->draft, ST_ERR_SYNTAX, ((st_place){.file = request->file, .line = begun}),
                "the dump of arguments that begins here is cut" ST_EXPECTED
                "a line '------ end of arguments ------'");
    else if (cut > 0)
        ST_NOTE(run->draft, ST_ERR_SYNTAX, ((st_place){.file = request->file, .line = cut}),
                "the argument in this line is cut" ST_EXPECTED "a name, dots and a value");
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
    warn(run, run->times[0].line,
         st_draft_text(run->draft,
                       "step times have a trend from here on: the median is %.5g ms in the first "
                       "third and %.5g ms in the last. measured.step_time is that of all; give "
                       "the lines of a steady part",
                       first, last));
}

/* The middle half of the times, which are in order, is wider than this share of the median. */
#define SCATTER 0.25

static void note_scatter(megatron_run *run, const double *times, size_t count, double median)
{
    const double low = times[count / 4];
    const double high = times[count - 1 - count / 4];
    if (count < 8 || high - low <= SCATTER * median)
        return;
    warn(run, run->times[0].line,
         st_draft_text(run->draft,
                       "step times scatter from here on: a quarter is below %.5g ms, a quarter "
                       "above %.5g ms, and measured.step_time is their median; give the lines of "
                       "steps that are alike",
                       low, high));
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

/* Tokens per second and GPU, or samples per second, as milliseconds of a step; false where what a
 * step holds is not known. */
static bool rates_to_times(megatron_run *run)
{
    static const char *const groups[] = {ST_KEY_PARALLEL_TP, ST_KEY_PARALLEL_PP, ST_KEY_PARALLEL_CP,
                                         ST_KEY_PARALLEL_DP};
    const bool is_tokens = run->rate == MEGATRON_TOKENS;
    double work = 1000.0 * (double)st_draft_count(run->draft, ST_KEY_BATCH_GLOBAL);
    if (run->rate == MEGATRON_TIMES)
        return true;
    if (is_tokens)
        work *= (double)st_draft_count(run->draft, ST_KEY_BATCH_SEQUENCE);
    for (size_t i = 0; i < ST_COUNT(groups) && is_tokens; i++) {
        const uint64_t ranks = st_draft_count(run->draft, groups[i]);
        work /= ranks > 0 || strcmp(groups[i], ST_KEY_PARALLEL_DP) == 0 ? (double)ranks : 1.0;
    }
    if (!(work > 0) || !(work < 1e300)) {
        st_draft_note(run->draft,
                      "The log has %s per second; batch and ranks, which make "
                      "them the time of a step, are not known.",
                      is_tokens ? "tokens" : "samples");
        return false;
    }
    for (size_t i = 0; i < run->time_count; i++)
        run->times[i].ms = work / run->times[i].ms;
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
    int other_line = 0;
    size_t dropped = 0;
    if (times == NULL || run->time_count == 0 || !rates_to_times(run))
        return;
    const double batch = put_last_batch(run);
    for (size_t i = 0; i < run->time_count; i++) {
        if (run->times[i].batch != batch) {
            other_line = others == 0 ? run->times[i].line : other_line;
            others++;
            continue;
        }
        dropped += i < first ? 1 : 0;
        if (i >= first)
            times[count++] = run->times[i].ms;
    }
    if (others > 0)
        warn(run, other_line,
             st_draft_text(run->draft,
                           "%zu of %zu steps, the first in this line, have another batch than the "
                           "last one, %.0f; their times are left out",
                           others, run->time_count, batch));
    note_trend(run, times, count);
    double median = median_of(times, count);
    note_scatter(run, times, count, median);
    if (run->time_count == 1 && run->draft->request->is_single_step != NULL)
        *run->draft->request->is_single_step = true;
    if (run->time_count == 1)
        warn(run, run->times[0].line, "a single step has a time, which may include warm-up");
    st_draft_put(
        run->draft, ST_KEY_MEASURED_STEP_TIME, 0,
        st_draft_text(run->draft, "%s ms", st_number_format(median, number, sizeof number)),
        st_draft_text(run->draft, "median of %zu of %zu lines; %s", count, run->time_count,
                      dropped > 0
                          ? st_draft_text(run->draft, "the first %zu dropped as warm-up", dropped)
                      : others > 0 ? "those of the last batch"
                                   : "a single line, which may include warm-up"));
}

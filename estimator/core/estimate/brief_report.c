/* SPDX-License-Identifier: Apache-2.0 */
/* The report that a person reads first; see brief_report.h. */
#include "estimate/brief_report.h"

#include "base/error_report.h"
#include "base/chars.h"
#include "estimate/effects.h"
#include "estimate/found_plan.h"
#include "estimate/report.h"
#include "estimate/rests_on_defaults.h"
#include "estimate/summary_values.h"
#include "estimate/groups.h"
#include "base/number.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CELLS = 24,  /* of a sheet without a summary */
    MOST_EFFECTS = 6, /* rows of what matters most, of two lines or three each */
    LEAST_EFFECTS = 2,
    USUAL_BARS = 10 /* rows of bars that leave room for all of them in forty lines */
};

/* Below it a part is a row of zeros. */
static const double least_share = 0.0005;

/* What all parts of the report look at. */
typedef struct brief {
    const st_estimate *estimate;
    const st_summary *summary;
    const st_summary_values *values;
    const st_errors *errors;
    const st_brief *wanted;
    st_node *root;
} brief;

static const char *value_text(const brief *report, const char *name, double value, char *text)
{
    const st_type *type = st_summary_type(report->estimate, name);
    return st_type_format(type, value, ST_STYLE_SCALED, text, ST_QUANTITY_TEXT);
}

/* ---- the answer ---- */

/* "52.19 of 80 GiB": a common unit is written once. */
static const char *of_limit(const brief *report, const st_summary_bar *bar, char *text)
{
    char limit[ST_QUANTITY_TEXT];
    (void)value_text(report, bar->total, st_summary_value(report->values, bar->total), text);
    (void)value_text(report, bar->limit, st_summary_value(report->values, bar->limit), limit);
    char *blank = strchr(text, ' ');
    const char *unit = strchr(limit, ' ');
    if (blank != NULL && unit != NULL && strcmp(blank, unit) == 0)
        *blank = '\0';
    size_t length = strlen(text);
    (void)snprintf(text + length, (size_t)2 * ST_QUANTITY_TEXT - length, " of %s", limit);
    return text;
}

/* Highlights its first number. */
static void write_line(st_node *root, const char *line)
{
    size_t first = strcspn(line, ",");
    char strong[256];
    if (line[first] == '\0' || first >= sizeof strong) {
        st_say_ink(root, ST_INK_STRONG, line);
        return;
    }
    (void)snprintf(strong, sizeof strong, "%.*s", (int)first + 1, line);
    st_say_ink(root, ST_INK_STRONG, strong);
    st_say(root, " ");
    st_say_wrapped(root, line + first + 1, first + 2, 2);
}

/* "29.13 s", "105.5", "14.8 T": words take the place of some units. */
static const char *answer_number(const brief *report, const st_summary_part *part, double value,
                                 char *text)
{
    static const char prefixes[] = "MGT";
    const st_unit *unit = &st_summary_type(report->estimate, part->cell)->unit;
    if (!st_has_text((const char *const[]){"1", "1/s", "h", "day"}, 4, unit->text))
        return value_text(report, part->cell, value, text);
    double number = st_unit_from_base(unit, value);
    size_t scale = 0;
    for (; number >= (scale == 0 ? 1e6 : 1e3) && scale < sizeof prefixes - 1; scale++)
        number /= scale == 0 ? 1e6 : 1e3;
    bool large = number >= 1e4;
    st_number_print(large ? 'f' : 'g', large ? 0 : 4, number, text, ST_QUANTITY_TEXT);
    size_t length = strlen(text);
    if (scale > 0)
        (void)snprintf(text + length, ST_QUANTITY_TEXT - length, " %c", prefixes[scale - 1]);
    return text;
}

/* "at {price} per GPU" with the value of the cell in braces; names of members as words. */
static const char *answer_words(const brief *report, const st_summary_part *part)
{
    char text[ST_QUANTITY_TEXT];
    const char *label = st_or_none(part->label);
    if (part->inner == NULL)
        return label;
    (void)value_text(report, part->inner, st_summary_value(report->values, part->inner), text);
    for (char *at = strchr(text, '_'); at != NULL; at = strchr(at, '_'))
        *at = ' ';
    st_arena *arena = report->root->result->arena;
    const char *braces = strstr(label, st_arena_printf(arena, "{%s}", part->inner));
    return st_arena_printf(arena, "%.*s%s%s", (int)(braces - label), label, text,
                           braces + strlen(part->inner) + 2);
}

/* "14.8 T tokens (20 per parameter, assumed; set train.tokens)"; a zero is left out. */
static void add_answer(const brief *report, const st_summary_part *part, const char **line)
{
    st_arena *arena = report->root->result->arena;
    const st_estimate *estimate = report->estimate;
    char text[ST_QUANTITY_TEXT];
    double value = st_summary_value(report->values, part->cell);
    size_t input = part->given != NULL ? st_estimate_input(estimate, part->given) : SIZE_MAX;
    const st_bound_input *given = part->given != NULL ? &estimate->inputs[input] : NULL;
    if (value == 0 && given != NULL)
        st_text_add(arena, line, ", ", "%s not known (set %s)", part->cell, given->input->from);
    if (value == 0)
        return;
    const char *words = answer_words(report, part);
    const char *number = answer_number(report, part, value, text);
    const char *place = strstr(words, "{}");
    if (place != NULL)
        st_text_add(arena, line, ", ", "%.*s%s%s", (int)(place - words), words, number, place + 2);
    else
        st_text_add(arena, line, ", ", "%s%s%s", number, words[0] == '/' ? "" : " ", words);
    if (given != NULL && st_input_is_assumed(given))
        st_text_add(arena, line, "", " (%s, assumed; set %s)", part->otherwise, given->input->from);
}

static void write_answer(const brief *report)
{
    st_arena *arena = report->root->result->arena;
    const char *line = "";
    char text[ST_QUANTITY_TEXT];
    const st_estimate *estimate = report->estimate;
    const st_summary *summary = report->summary;
    size_t next = 0;
    for (; next < summary->answer_count && summary->answer[next].line == 0; next++)
        add_answer(report, &summary->answer[next], &line);
    if (report->summary->answer_count == 0 && estimate->shown_count > 0) {
        const st_shown *first = &estimate->shown[0];
        st_text_add(arena, &line, "", "%s: %s", first->name,
                    st_type_format(first->type, first->value, ST_STYLE_SCALED, text, sizeof text));
        if (first->doc[0] != '\0')
            st_text_add(arena, &line, ", ", "%s", first->doc);
    }
    /* "fits (52.19 of 80 GiB)" */
    char texts[ST_QUANTITY_TEXT * 2];
    size_t count = 0;
    int verdict = -1;
    const st_sheet_check *checks = st_sheet_checks(report->estimate->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (checks[i].limit)
            verdict = verdict != 0 && report->estimate->checks[i] == 1.0 ? 1 : 0;
    if (verdict >= 0) {
        st_text_add(arena, &line, "", verdict == 1 ? ", fits" : ", TOO LARGE");
        for (size_t i = 0; i < report->summary->bar_count; i++) {
            const st_summary_bar *bar = &report->summary->bars[i];
            if (bar->limit != NULL)
                st_text_add(arena, &line, " ", "(%s)", of_limit(report, bar, texts));
        }
    }
    write_line(report->root, st_or_none(line));
    while (next < summary->answer_count) {
        const char *other = "";
        for (size_t at = summary->answer[next].line;
             next < summary->answer_count && summary->answer[next].line == at; next++)
            add_answer(report, &summary->answer[next], &other);
        st_say(report->root, "\n");
        st_say_wrapped(report->root, other, 0, 2);
    }
    st_say(report->root, "\n\n");
}

/* ---- bars ---- */

/* A bar while its rows are written. */
typedef struct bar_rows {
    const st_summary_bar *bar;
    st_bars *bars;
    double total;
    double scale; /* the value of the whole width */
    double start; /* where the next part begins */
    size_t member;
    size_t count;
} bar_rows;

static void add_row(const brief *report, bar_rows *rows, const char *label, const char *cell,
                    const double *values)
{
    char number[ST_QUANTITY_TEXT];
    char share[32];
    char note[ST_QUANTITY_TEXT + 16] = "";
    char hidden[ST_QUANTITY_TEXT];
    bool exposed = fabs(values[0]) >= least_share * rows->total;
    bool alongside = values[1] >= least_share * rows->total;
    if (!exposed && !alongside)
        return;
    (void)snprintf(share, sizeof share, "%.0f %%", 100 * values[0] / rows->total);
    if (alongside)
        (void)snprintf(note, sizeof note, "%s hidden",
                       value_text(report, rows->bar->total, values[1], hidden));
    bool stacked = rows->bar->limit != NULL;
    st_bars_add(rows->bars, &(st_bar){.label = label,
                                      .number = value_text(report, cell, values[0], number),
                                      .share = share,
                                      .note = note,
                                      .start = stacked ? rows->start / rows->scale : 0,
                                      .full = fmax(values[0], 0) / rows->scale,
                                      .light = values[1] / rows->scale});
    rows->start += fmax(values[0], 0);
    rows->count++;
}

/* How many rows it has. */
static size_t write_bar(const brief *report, const st_summary_bar *bar)
{
    st_arena *arena = report->root->result->arena;
    double member = st_summary_value(report->values, bar->member);
    bar_rows rows = {.bar = bar,
                     .total = st_summary_value(report->values, bar->total),
                     .member = member >= 0 ? (size_t)member : 0};
    double rest = rows.total;
    if (!(rows.total > 0))
        return 0;
    /* The longest row fills the width where parts are not stacked up to a limit. */
    const st_summary_bar *scale_bar = rows.bar;
    double most = 0;
    if (scale_bar->limit != NULL) {
        rows.scale = fmax(rows.total, st_summary_value(report->values, scale_bar->limit));
    } else {
        for (size_t i = 0; i < scale_bar->count; i++)
            most = fmax(most,
                        st_summary_part_value(report->estimate, report->values,
                                              scale_bar->parts[i].cell, rows.member, arena) +
                            st_summary_part_value(report->estimate, report->values,
                                                  scale_bar->parts[i].hidden, rows.member, arena));
        rows.scale = most > 0 ? most : 1;
    }
    /* "Memory of a GPU, first stage: 52.19 of 80 GiB" */
    const st_summary_bar *title_bar = rows.bar;
    const st_enum *members = st_summary_members(report->estimate->sheet, title_bar);
    char text[2 * ST_QUANTITY_TEXT];
    const bool title_member = members != NULL && rows.member < members->count;
    const char *title = st_arena_printf(
        report->root->result->arena, "%s%s%s%s%s: %s", title_bar->title, title_member ? ", " : "",
        title_member ? members->values[rows.member] : "", title_member ? " " : "",
        title_member ? members->name : "",
        title_bar->limit != NULL ? of_limit(report, title_bar, text)
                                 : value_text(report, title_bar->total, rows.total, text));
    st_say_title(report->root, st_or_none(title));
    double mark = bar->limit != NULL ? st_summary_value(report->values, bar->limit) / rows.scale
                                     : (double)NAN;
    rows.bars = st_say_bars(report->root, mark);
    for (size_t i = 0; i < bar->count; i++) {
        const st_summary_part *part = &bar->parts[i];
        const double values[2] = {
            st_summary_part_value(report->estimate, report->values, part->cell, rows.member, arena),
            st_summary_part_value(report->estimate, report->values, part->hidden, rows.member,
                                  arena)};
        rest -= values[0];
        add_row(report, &rows, part->label, bar->total, values);
    }
    add_row(report, &rows, "other", bar->total, (const double[]){rest, 0});
    return rows.count;
}

/* ---- a sheet without a summary ---- */

/* ---- what matters most ---- */

/* An assumption that scales everything says nothing about this job. */
static bool is_neutral(const st_effect *effect)
{
    return effect->input->from == NULL && effect->input->value == 1 &&
           fabs(effect->change - (ST_EFFECT_FACTOR - 1)) < 1e-9;
}

/* The more rows of bars, the fewer lines below them. */
static size_t most_effects(size_t bars)
{
    size_t over = bars > USUAL_BARS ? bars - USUAL_BARS : 0;
    return over + LEAST_EFFECTS < MOST_EFFECTS ? MOST_EFFECTS - over : LEAST_EFFECTS;
}

static void write_effects(const brief *report, size_t bars)
{
    static const st_table_column columns[] = {{.right = true},
                                              {.ink = ST_INK_NAME},
                                              {.right = false},
                                              {.elastic = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    const st_estimate *estimate = report->estimate;
    st_node *root = report->root;
    const st_effect **sorted =
        st_arena_alloc(root->result->arena, estimate->input_count + 1, sizeof *sorted);
    size_t count = 0;
    size_t assumed = 0;
    if (estimate->effects == NULL || sorted == NULL)
        return;
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_effect *effect = &estimate->effects[i];
        assumed += st_input_is_assumed(effect->input) ? 1 : 0;
        if (st_effect_is_brief(effect) && !is_neutral(effect) && fabs(effect->change) >= 0.0005)
            sorted[count++] = effect;
    }
    qsort(sorted, count, sizeof *sorted, st_effects_compare);
    if (count > 0)
        st_say_title(root, "What 10 % more of a constant changes");
    st_table *table = st_say_table(root, columns, 5, 2);
    st_node *list = st_put_list(root, ".effects");
    for (size_t i = 0; i < count && i < most_effects(bars); i++) {
        assumed -= st_input_is_assumed(sorted[i]->input) ? 1 : 0;
        const st_effect *effect = sorted[i];
        const st_sheet_input *input = effect->input->input;
        char text[ST_QUANTITY_TEXT];
        bool effect_assumed = st_input_is_assumed(effect->input);
        const char *source =
            effect->input->from != NULL ? effect->input->from->source : input->cite;
        st_node *row = st_put_line_map(list, NULL);
        st_put_format(row, "change", "%+.1f %%", 100 * effect->change);
        st_put_text(row, "key", input->from);
        st_put_format(
            row, "value", "%s%s",
            st_type_format(&input->type, effect->input->value, ST_STYLE_SCALED, text, sizeof text),
            effect_assumed ? ", assumed" : "");
        const char *doc = st_text_or_empty(input->doc); /* its first words */
        st_put_format(row, "doc", "%.*s", (int)strcspn(doc, ",;(:"), doc);
        st_put_text(row, "cite", report->wanted->cite ? st_text_or_empty(source) : "");
        st_table_show(table, row, "change,key,value,doc,cite");
    }
    if (assumed > 0)
        st_say(root, "%s  %zu more assumption%s with --all\n", count > 0 ? "" : "\n", assumed,
               assumed == 1 ? "" : "s");
}

st_status st_estimate_brief(const st_estimate *estimate, const st_brief *wanted, st_errors *errors,
                            st_arena *arena, st_result *result)
{
    st_summary_values values;
    st_status status = st_summary_compute(estimate, arena, &values, errors);
    if (status != ST_OK)
        return status;
    brief report = {.estimate = estimate,
                    .summary = st_sheet_summary(estimate->sheet),
                    .values = &values,
                    .errors = errors,
                    .wanted = wanted,
                    .root = st_result_begin(result, arena)};
    size_t bars = 0;
    write_answer(&report);
    st_limits_say(errors, report.root);
    if (estimate->found != NULL)
        st_found_plan_put(estimate->found, report.root);
    st_report_header(estimate, false, report.root);
    for (size_t i = 0; i < report.summary->bar_count; i++)
        bars += write_bar(&report, &report.summary->bars[i]);
    if (report.summary->bar_count == 0) {
        static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                                  {.right = true, .split = true},
                                                  {.joined = true},
                                                  {.elastic = true},
                                                  {.ink = ST_INK_FAINT, .elastic = true}};
        const st_estimate *cell_estimate = report.estimate;
        st_table *table = st_say_table(report.root, columns, 5, 2);
        st_node *hidden = st_put_list(report.root, ".cells");
        const char *section = NULL;
        size_t shown = 0;
        for (size_t i = 0; i < cell_estimate->shown_count && shown < MOST_CELLS; i++) {
            const st_shown *cell = &cell_estimate->shown[i];
            if (cell->type->kind == ST_TYPE_NUMBER && cell->value == 0)
                continue;
            st_node *row = st_put_line_map(hidden, NULL);
            st_put_text(row, "name", cell->name);
            st_put_value(row, "value", cell->type, cell->value);
            st_put_text(row, "doc", cell->doc);
            st_put_text(row, "cite", report.wanted->cite ? cell->cite : "");
            if (cell->section[0] != '\0' &&
                (section == NULL || strcmp(section, cell->section) != 0)) {
                st_table_title(table, "");
                st_table_title(table, cell->section);
            }
            section = cell->section;
            st_table_show(table, row, "name,value,doc,cite");
            shown++;
        }
    }
    /* Plugins are in the head; the cells that they refine are listed with all cells. */
    const st_estimate *refined_estimate = report.estimate;
    if (refined_estimate->plugin_count != 0)
        st_say(report.root, "\n%zu cell%s refined by plugins (list with --all)\n",
               refined_estimate->refined_count, refined_estimate->refined_count == 1 ? "" : "s");
    st_rests_put(estimate, &values, report.root);
    write_effects(&report, bars);
    if (!wanted->quiet)
        st_report_warnings(errors, report.root);
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An estimate for people: what was estimated, the sheet's sections as columns, what was assumed,
 * what to watch, and last, where the eye is when the command ends, the headline.
 */
#include "estimate/report.h"

#include "plugin/words.h"
#include "estimate/effects.h"
#include "estimate/groups.h"
#include "base/json_write.h"
#include "estimate/provider_effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, NUMBER, UNIT, MEANING, ORIGIN, COLUMNS };

static const st_table_column columns[COLUMNS] = {
    [NAME] = {.ink = ST_INK_NAME},
    [NUMBER] = {.right = true},
    [UNIT] = {.joined = true},
    [MEANING] = {.elastic = true},
    [ORIGIN] = {.ink = ST_INK_FAINT, .elastic = true},
};

static void add_value(st_table *table, const char *name, const st_type *type, double value,
                      const char *meaning, const char *origin)
{
    char text[ST_QUANTITY_TEXT];
    const char *fields[COLUMNS] = {[NAME] = name, [MEANING] = meaning, [ORIGIN] = origin};
    st_type_format(type, value, ST_STYLE_SCALED, text, sizeof text);
    st_split_unit(text, &fields[NUMBER], &fields[UNIT]);
    st_table_row(table, fields);
}

static void add_sections(const st_estimate *estimate, st_table *table)
{
    const char *section = NULL;
    for (size_t i = 0; i < estimate->shown_count; i++) {
        const st_shown *shown = &estimate->shown[i];
        if (section == NULL || strcmp(section, shown->section) != 0) {
            bool only_one = estimate->shown[0].section[0] == '\0';
            st_table_title(table, "");
            st_table_title(table, shown->section[0] != '\0' ? shown->section
                                  : only_one                ? "Cells"
                                                            : "Other cells");
        }
        section = shown->section;
        add_value(table, shown->name, shown->type, shown->value, shown->doc, shown->cite);
    }
}

/* Larger effects first; equal ones in the order of the sheet. */
static int compare_effects(const void *left, const void *right)
{
    const st_effect *a = *(const st_effect *const *)left;
    const st_effect *b = *(const st_effect *const *)right;
    if (fabs(a->change) > fabs(b->change))
        return -1;
    return fabs(a->change) < fabs(b->change) || a > b ? 1 : -1;
}

/* What more of each constant of the cluster would do to the headline. */
static void add_effects(const st_estimate *estimate, st_table *table, const st_effect **sorted)
{
    const double least = 0.0005; /* below it, 0.0 % would stand there */
    size_t count = 0;
    for (size_t i = 0; estimate->effects != NULL && i < estimate->input_count; i++)
        if (estimate->effects[i].is_cluster && fabs(estimate->effects[i].change) >= least)
            sorted[count++] = &estimate->effects[i];
    if (count == 0)
        return;
    qsort(sorted, count, sizeof *sorted, compare_effects);
    st_table_title(table, "");
    st_table_title(table, "What 10 % more buys");
    for (size_t i = 0; i < count; i++) {
        const st_sheet_input *input = sorted[i]->input->input;
        char number[32];
        (void)snprintf(number, sizeof number, "%+.1f", 100 * sorted[i]->change);
        const char *const fields[COLUMNS] = {input->name, number, "%", input->doc, input->from};
        st_table_row(table, fields);
    }
}

/* "model.layers, configs/models/gpt-3b.yaml:7; data sheet": why a value is what it is. */
static void describe_origin(const st_estimate *estimate, const st_bound_input *input,
                            st_buffer *text)
{
    if (input->from == NULL) {
        st_buffer_printf(text, "default of sheet %s", st_sheet_name(estimate->sheet));
        return;
    }
    if (input->from->origin == ST_ORIGIN_DEFAULT) {
        st_buffer_printf(text, "default of %s", input->from->path);
        return;
    }
    st_place place = input->from->place;
    place.column = 0;
    if (input->from->source != NULL)
        st_buffer_printf(text, "%s; ", input->from->source);
    st_place_text(place, text);
}

/* A default that changes no number shown, or stands at its zero, is not worth a line. */
static bool is_worth_showing(const st_estimate *estimate, size_t index)
{
    const st_bound_input *input = &estimate->inputs[index];
    bool is_default = input->from == NULL || input->from->origin == ST_ORIGIN_DEFAULT;
    return !is_default || estimate->effects == NULL || estimate->effects[index].anywhere;
}

/* Returns how many were left out. */
static size_t add_assumptions(const st_estimate *estimate, st_table *table, bool *first,
                              bool *failed)
{
    size_t left_out = 0;
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_bound_input *input = &estimate->inputs[i];
        if (!st_input_is_assumed(input))
            continue;
        if (!is_worth_showing(estimate, i)) {
            left_out++;
            continue;
        }
        if (*first) {
            st_table_title(table, "");
            st_table_title(table, "Assumptions");
        }
        *first = false;
        st_buffer origin = {0};
        describe_origin(estimate, input, &origin);
        add_value(table, input->input->name, &input->input->type, input->value, input->input->doc,
                  origin.data);
        *failed = *failed || origin.failed;
        st_buffer_free(&origin);
    }
    return left_out;
}

static void write_left_out(size_t count, bool alone, const st_paint *paint, st_buffer *buffer)
{
    if (count == 0)
        return;
    if (alone) {
        st_buffer_text(buffer, "\n");
        st_paint_text(paint, ST_INK_STRONG, "Assumptions", buffer);
        st_buffer_text(buffer, "\n");
    }
    st_buffer_printf(buffer, "  %zu %s%s 0 or change%s nothing here; --json has all\n", count,
                     alone ? "" : "more ", count == 1 ? "default is" : "defaults are",
                     count == 1 ? "s" : "");
}

/* What a job says about itself: all keys but names and the model's and cluster's data. */
static bool is_plan(const char *path)
{
    if (strchr(path, '.') == NULL)
        return strcmp(path, "name") != 0 && strcmp(path, "sheet") != 0 &&
               strcmp(path, "refine") != 0; /* the command line may say something else */
    return strncmp(path, "parallel.", 9) == 0 || strncmp(path, "batch.", 6) == 0;
}

/* The keys of the plan as the command line would set them: "parallel.tp=2 parallel.pp=4". */
static void describe_plan(const st_job *job, st_buffer *text)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = st_job_value_of(job, keys[i].path);
        bool given = is_plan(keys[i].path) && value != NULL &&
                     (value->origin == ST_ORIGIN_FILE || value->origin == ST_ORIGIN_SET);
        if (given)
            st_buffer_printf(text, "%s%s=%s", text->length > 0 ? " " : "", keys[i].path,
                             value->text);
    }
}

static void write_fact(const st_paint *paint, const char *label, const char *text,
                       st_buffer *buffer)
{
    enum { LABEL_WIDTH = 9 };
    if (text == NULL || text[0] == '\0')
        return;
    st_buffer_printf(buffer, "%-*s", LABEL_WIDTH, label);
    st_paint_wrapped(paint, text, LABEL_WIDTH, LABEL_WIDTH, buffer);
    st_buffer_text(buffer, "\n");
}

/* "GPT-3B (gpt-3b)": what the section calls itself, and the file that it came from. */
static void write_section(const st_job *job, const char *section, const char *name_key,
                          const st_paint *paint, st_buffer *buffer)
{
    const char *file = st_job_section_name(job, section);
    const st_job_value *name = st_job_value_of(job, name_key);
    st_buffer text = {0};
    if (name == NULL || name->origin == ST_ORIGIN_NONE)
        st_buffer_text(&text, st_text_or_empty(file));
    else if (file == NULL || strcmp(file, "inline") == 0 || strcmp(file, name->text) == 0)
        st_buffer_text(&text, name->text);
    else
        st_buffer_printf(&text, "%s (%s)", name->text, file);
    write_fact(paint, section, text.data, buffer);
    buffer->failed = buffer->failed || text.failed;
    st_buffer_free(&text);
}

/* The plugins that are on, as the command line would ask for them. */
static void describe_plugins(const st_estimate *estimate, st_arena *arena, st_buffer *text)
{
    for (size_t i = 0; i < estimate->refinement_count; i++) {
        const char *words = st_refine_text(&estimate->refinements[i], arena);
        text->failed = text->failed || words == NULL;
        st_buffer_printf(text, "%s%s", i > 0 ? " + " : "", st_text_or_empty(words));
    }
}

static void write_header(const st_estimate *estimate, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    st_buffer plan = {0};
    st_buffer sheet = {0};
    st_buffer plugins = {0};
    describe_plan(estimate->job, &plan);
    describe_plugins(estimate, arena, &plugins);
    const char *title = st_sheet_title(estimate->sheet);
    st_buffer_printf(&sheet, "%s%s%s", st_sheet_name(estimate->sheet), title[0] != '\0' ? ": " : "",
                     title);
    write_fact(paint, "job", st_job_name(estimate->job), buffer);
    write_section(estimate->job, "model", "model.name", paint, buffer);
    write_section(estimate->job, "cluster", "cluster.name", paint, buffer);
    write_fact(paint, "plan", plan.data, buffer);
    write_fact(paint, "sheet", sheet.data, buffer);
    write_fact(paint, "refine", plugins.data, buffer);
    buffer->failed = buffer->failed || plan.failed || sheet.failed || plugins.failed;
    st_buffer_free(&plan);
    st_buffer_free(&plugins);
    st_buffer_free(&sheet);
}

static void write_warnings(const st_errors *errors, const st_paint *paint, st_buffer *buffer)
{
    if (st_errors_count(errors, ST_SEVERITY_WARNING) == 0)
        return;
    st_buffer_text(buffer, "\n");
    st_paint_text(paint, ST_INK_STRONG, "Warnings", buffer);
    st_buffer_text(buffer, "\n");
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        if (error->severity != ST_SEVERITY_WARNING)
            continue;
        st_buffer line = {0};
        st_error_text(error, &line);
        st_buffer_text(buffer, "  ");
        st_paint_wrapped(paint, line.data != NULL ? line.data : "", 2, 4, buffer);
        st_buffer_text(buffer, "\n");
        buffer->failed = buffer->failed || line.failed;
        st_buffer_free(&line);
    }
}

static void write_headline(const st_estimate *estimate, const st_paint *paint, st_buffer *buffer)
{
    if (estimate->shown_count == 0)
        return;
    const st_shown *first = &estimate->shown[0];
    char text[ST_QUANTITY_TEXT];
    st_type_format(first->type, first->value, ST_STYLE_SCALED, text, sizeof text);
    st_buffer_printf(buffer, "\n%s (%s): ", first->doc, first->name);
    st_paint_text(paint, ST_INK_STRONG, text, buffer);
    st_buffer_text(buffer, "\n");
}

void st_estimate_write_text(const st_estimate *estimate, const st_errors *errors,
                            const st_paint *paint, st_arena *arena, st_buffer *buffer)
{
    st_table *sections = st_table_create(arena, columns, COLUMNS);
    st_table *assumptions = st_table_create(arena, columns, COLUMNS);
    const st_effect **sorted = st_arena_alloc(arena, estimate->input_count + 1, sizeof *sorted);
    if (sections == NULL || assumptions == NULL || sorted == NULL) {
        buffer->failed = true;
        return;
    }
    write_header(estimate, paint, arena, buffer);
    add_sections(estimate, sections);
    st_refined_add_rows(estimate, arena, sections);
    add_effects(estimate, sections, sorted);
    bool none = true;
    size_t left_out = add_assumptions(estimate, assumptions, &none, &buffer->failed);
    /* Sources are longer than citations: only the values of the two line up. */
    st_table_align(sections, assumptions, MEANING);
    st_table_write(sections, paint, 2, buffer);
    st_table_write(assumptions, paint, 2, buffer);
    write_left_out(left_out, none, paint, buffer);
    write_warnings(errors, paint, buffer);
    write_headline(estimate, paint, buffer);
}

void st_error_text(const st_error *error, st_buffer *buffer)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        buffer->failed = true;
        return;
    }
    st_error_write(error, stream);
    if (fclose(stream) != 0)
        buffer->failed = true;
    else
        st_buffer_append(buffer, text, length > 0 ? length - 1 : 0);
    free(text);
}

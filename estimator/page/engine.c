/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page calls: one estimate that stays open while its inputs change, and every verb of the
 * program with the words of its command line, on files in memory. Lists of words come as texts that
 * end in 0, one behind the other. Answers are JSON in one buffer, which lives until the next call.
 */
#include "page/engine.h"

#include "base/result.h"
#include "cli/verbs.h"
#include "estimate/estimate_internal.h"
#include "export/latex.h"
#include "steptime/tool/job_write.h"
#include "launch/cli/verbs.h"
#include "sheet/expr.h"
#include "sheet/summary.h"
#include "steptime/search.h"

#include <stdlib.h>
#include <string.h>

#ifdef __EMSCRIPTEN__
#include <errno.h>
#include <signal.h>
#endif

enum { MOST_WORDS = 1000 };

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_estimate,
    &cli_verb_explain,
    &cli_verb_search,
    &cli_verb_compare,
    &cli_verb_list,
    &cli_verb_sweep,
    &cli_verb_timeline,
    &cli_verb_traffic,
    &cli_verb_sheet_check,
    &cli_verb_sheet_show,
    &cli_verb_sheet_export,
    &cli_verb_import_hf,
    &cli_verb_export,
};
/* clang-format on */
static const cli_program program = {.verbs = verbs, .verb_count = ST_COUNT(verbs)};

#ifdef __EMSCRIPTEN__
/* Emscripten's C library declares these and lacks them: a page does not end that way, and has no
 * signals, so that no stack for their handlers is found either (base/guard.c). */
int at_quick_exit(void (*function)(void))
{
    (void)function;
    return 0;
}

int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    (void)stack;
    (void)old;
    errno = ENOSYS;
    return -1;
}
#endif

/* A page has one engine, and the engine one estimate. */
static struct {
    st_estimate *estimate;
    st_buffer answer;
} engine;

/* Splits a list of words; those beyond MOST_WORDS are left out. */
static size_t split(const char *words, size_t count, const char *list[MOST_WORDS])
{
    size_t kept = 0;
    for (; kept < count && kept < MOST_WORDS; kept++) {
        list[kept] = words;
        words += strlen(words) + 1;
    }
    return kept;
}

static void put_error(const void *context, size_t index, st_node *row)
{
    static const char *const severities[] = {"error", "warning", "limit"};
    const st_error *error = st_errors_at(context, index);
    st_put_text(row, "severity", severities[error->severity]);
    st_put_text(row, "file", error->place.file);
    st_put_count(row, "line", (uint64_t)error->place.line);
    st_put_count(row, "column", (uint64_t)error->place.column);
    st_put_text(row, "message", error->message);
    st_put_text(row, "found", error->found);
    st_put_text(row, "expected", error->expected);
    st_put_text(row, "suggestion", error->suggestion);
}

/* A call: its answer is begun here, and ended with the errors. */
typedef struct call {
    st_arena *arena;
    st_errors *errors;
    st_result result;
    st_node *root; /* NULL: out of memory */
} call;

static void begin(call *self)
{
    *self = (call){.arena = st_arena_create(), .errors = st_errors_create()};
    if (self->arena != NULL && self->errors != NULL)
        self->root = st_result_begin_plain(&self->result, self->arena);
}

static const char *end(call *self, st_status status)
{
    st_buffer *answer = &engine.answer;
    answer->length = 0;
    answer->failed = self->root == NULL;
    if (self->root != NULL) {
        st_put_bool(self->root, "ok", status == ST_OK);
        st_put_rows(self->root, "errors", put_error, self->errors, st_errors_size(self->errors));
        st_result_write_json(&self->result, answer);
    }
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    st_buffer_append(answer, "", 1);
    return answer->failed || st_buffer_read(answer) == NULL ? "{\"ok\":false,\"errors\":[]}"
                                                            : answer->data;
}

const char *page_run(const char *words, size_t count)
{
    const char *list[MOST_WORDS];
    call self;
    begin(&self);
    st_answer answer = ST_ANSWER_INIT;
    st_status status = ST_ERR_MEMORY;
    if (self.root != NULL) {
        status = cli_call(&program, list, split(words, count, list), &answer, self.errors);
        st_put_count(self.root, "exit", (uint64_t)answer.exit_code);
        st_put_text(self.root, "text", answer.text);
        free(answer.text);
    }
    return end(&self, status);
}

/* ---- the open estimate ---- */

const char *page_open(const char *job, const char *sheet, const char *sets, size_t count)
{
    const char *list[MOST_WORDS];
    call self;
    begin(&self);
    st_estimate *estimate = NULL;
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    request.job = job[0] != '\0' ? job : NULL;
    request.sheet = sheet[0] != '\0' ? sheet : NULL;
    request.sets = list;
    request.set_count = split(sets, count, list);
    request.checks_warn = true;
    st_status status = st_estimate_create(&request, &estimate, self.errors);
    if (status == ST_OK) {
        /* What cannot be computed at all is refused before every cell asks for it. */
        const st_status found = st_estimate_read_many(estimate, NULL, 0, NULL, self.errors);
        status = found == ST_ERR_LIMIT || found == ST_ERR_MEMORY ? found : ST_OK;
    }
    if (status == ST_OK) {
        st_estimate_destroy(engine.estimate);
        engine.estimate = estimate;
    } else {
        st_estimate_destroy(estimate);
    }
    return end(&self, status);
}

const char *page_holds(const char *condition, const char *job, const char *sheet, const char *sets,
                       size_t count)
{
    const char *list[MOST_WORDS];
    call self;
    begin(&self);
    st_paths *paths = NULL;
    const st_grid *grid = NULL;
    uint32_t reason = 1;
    const st_grid_request request = {.job = {.job = job,
                                             .sheet = sheet[0] != '\0' ? sheet : NULL,
                                             .sets = list,
                                             .set_count = split(sets, count, list),
                                             .conditions = &condition,
                                             .condition_count = 1}};
    st_status status =
        self.root != NULL ? st_paths_create(NULL, 0, &paths, self.errors) : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = st_grid_open(paths, &request, self.arena, &grid, self.errors);
    st_grid_reader *reader = status == ST_OK ? st_grid_reader_create(grid) : NULL;
    if (status == ST_OK && reader == NULL)
        status = ST_ERR_MEMORY;
    if (status == ST_OK) {
        const size_t cells = st_grid_cell_count(grid);
        double *numbers = st_arena_alloc(self.arena, cells + 1, sizeof *numbers);
        double **columns = st_arena_alloc(self.arena, cells + 1, sizeof *columns);
        for (size_t i = 0; i < cells && numbers != NULL && columns != NULL; i++)
            columns[i] = &numbers[i];
        status = numbers != NULL && columns != NULL ? st_grid_read(reader, 0, 1, columns, &reason)
                                                    : ST_ERR_MEMORY;
    }
    if (status == ST_OK)
        st_put_bool(self.root, "holds", reason == 0);
    st_grid_reader_destroy(reader);
    st_paths_destroy(paths);
    return end(&self, status);
}

const char *page_set(const char *sets, size_t count)
{
    const char *list[MOST_WORDS];
    call self;
    begin(&self);
    st_status status = engine.estimate != NULL ? ST_OK : ST_ERR_USAGE;
    count = split(sets, count, list);
    if (status == ST_OK)
        status = st_estimate_set_many(engine.estimate, list, count, self.errors);
    return end(&self, status);
}

typedef struct reading {
    const char *const *names;
    st_errors *errors;
} reading;

/* A name that begins with '@' is a role. A cell without a value has text "" and value null. */
static void put_cell(const void *context, size_t index, st_node *row)
{
    const reading *self = context;
    const char *name = self->names[index];
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    st_status status = name[0] == '@'
                           ? st_estimate_read_role(engine.estimate, name + 1, &cell, self->errors)
                           : st_estimate_read(engine.estimate, name, &cell, self->errors);
    bool known = status == ST_OK && cell.is_computed;
    st_put_text(row, "asked", name);
    st_put_text(row, "name", st_or_none(cell.name));
    st_put_text(row, "text", known ? cell.text : "");
    if (known)
        st_put_number(row, "value", cell.value);
    else
        st_put_null(row, "value");
    st_put_text(row, "unit", st_or_none(cell.unit));
}

const char *page_read(const char *names, size_t count)
{
    const char *list[MOST_WORDS];
    call self;
    begin(&self);
    reading cells = {.names = list, .errors = self.errors};
    st_status status = engine.estimate != NULL ? ST_OK : ST_ERR_USAGE;
    count = split(names, count, list);
    double *values = st_arena_alloc(self.arena, count + 1, sizeof *values);
    const char **cell_names = st_arena_alloc(self.arena, count + 1, sizeof *cell_names);
    if (self.root != NULL && status == ST_OK && values != NULL && cell_names != NULL) {
        /* One program for all; what fails here is reported where it is read. */
        size_t left = 0;
        for (size_t i = 0; i < count; i++)
            if (list[i][0] != '@')
                cell_names[left++] = list[i];
        (void)!st_estimate_read_many(engine.estimate, cell_names, left, values, NULL);
        st_put_rows(self.root, "cells", put_cell, &cells, count);
    }
    return end(&self, status);
}

/* What a function of the library wrote, as the answer's text. */
static const char *end_with_text(call *self, st_buffer *text, st_status status)
{
    if (self->root != NULL && status != ST_ERR_MEMORY)
        st_put_buffer(self->root, "text", text);
    else
        st_buffer_free(text);
    return end(self, status);
}

const char *page_report(void)
{
    call self;
    begin(&self);
    st_buffer text = {0};
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    view.form = ST_ESTIMATE_JSON;
    st_status status = engine.estimate != NULL ? ST_OK : ST_ERR_USAGE;
    if (status == ST_OK)
        status = st_estimate_write(engine.estimate, &view, &text, self.errors);
    return end_with_text(&self, &text, status);
}

const char *page_explain(const char *cell)
{
    call self;
    begin(&self);
    st_buffer text = {0};
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    view.form = ST_ESTIMATE_JSON;
    view.levels = 2;
    st_status status = engine.estimate != NULL ? ST_OK : ST_ERR_USAGE;
    if (status == ST_OK)
        status = st_estimate_explain(engine.estimate, cell, &view, &text, self.errors);
    return end_with_text(&self, &text, status);
}

const char *page_job(void)
{
    call self;
    begin(&self);
    st_buffer text = {0};
    st_status status = engine.estimate != NULL && self.root != NULL ? ST_OK : ST_ERR_USAGE;
    if (status == ST_OK)
        status = st_job_write(&(st_job_writing){.job = engine.estimate->job}, self.arena, &text,
                              self.errors);
    return end_with_text(&self, &text, status);
}

/* ---- the sheet of the open estimate ---- */

/* The cells that a part of a bar names, one for each member of its families. */
static void put_members(st_node *row, const char *key, const char *name, const st_enum *members)
{
    st_node *list = st_put_list(row, key);
    for (size_t i = 0; name != NULL && i < (members != NULL ? members->count : 1); i++)
        st_put_text(
            list, NULL,
            st_or_none(st_summary_cell(engine.estimate->sheet, name, i, row->result->arena)));
}

static void put_bar(st_node *row, const st_summary_bar *bar)
{
    const st_enum *members = st_summary_members(engine.estimate->sheet, bar);
    st_put_text(row, "title", bar->title);
    st_put_text(row, "total", bar->total);
    st_put_text(row, "limit", bar->limit);
    st_put_text(row, "member", bar->member);
    if (members != NULL) {
        st_put_texts(row, "members", members->values, members->count);
        st_put_text(row, "kind", members->name);
    }
    st_node *parts = st_put_list(row, "parts");
    for (size_t i = 0; i < bar->count; i++) {
        st_node *part = st_put_map(parts, NULL);
        st_put_text(part, "label", bar->parts[i].label);
        put_members(part, "cells", bar->parts[i].cell, members);
        put_members(part, "hidden", bar->parts[i].hidden, members);
    }
}

/* What the page shows at all times, without what the job cannot have. */
const char *page_sheet(void)
{
    size_t count = 0;
    call self;
    begin(&self);
    const st_estimate *estimate = engine.estimate;
    st_absence absence;
    if (self.root == NULL || estimate == NULL)
        return end(&self, ST_ERR_USAGE);
    if (!st_estimate_find_absent(estimate, self.arena, &absence))
        return end(&self, ST_ERR_MEMORY);
    const st_summary *summary = st_sheet_summary(estimate->sheet);
    st_put_text(self.root, "name", st_sheet_name(estimate->sheet));
    st_put_text(self.root, "title", st_sheet_title(estimate->sheet));
    st_node *answer = st_put_list(self.root, "answer");
    for (size_t i = 0; i < summary->answer_count; i++) {
        st_node *part = st_put_map(answer, NULL);
        st_put_text(part, "label", summary->answer[i].label);
        st_put_text(part, "cell", summary->answer[i].cell);
        st_put_text(part, "inner", summary->answer[i].inner);
        st_put_count(part, "line", summary->answer[i].line);
    }
    st_node *bars = st_put_list(self.root, "bars");
    for (size_t i = 0; i < summary->bar_count; i++)
        if (!st_estimate_is_absent(&absence, summary->bars[i].total))
            put_bar(st_put_map(bars, NULL), &summary->bars[i]);
    st_node *report = st_put_list(self.root, "report");
    const st_sheet_section *sections = st_sheet_sections(estimate->sheet, &count);
    for (size_t i = 0; i < count; i++) {
        st_node *section = st_put_map(report, NULL);
        st_put_text(section, "title", sections[i].title);
        st_node *cells = st_put_list(section, "cells");
        for (size_t k = 0; k < sections[i].count; k++)
            if (!st_estimate_is_absent(&absence, sections[i].cells[k]))
                st_put_text(cells, NULL, sections[i].cells[k]);
    }
    return end(&self, ST_OK);
}

const char *page_tex(const char *text)
{
    call self;
    begin(&self);
    st_buffer tex = {0};
    st_formula formula = {.text = text, .length = strlen(text)};
    if (self.root == NULL)
        return end(&self, ST_ERR_MEMORY);
    st_status status = st_expr_parse(&formula, self.arena, self.errors);
    if (status == ST_OK) {
        st_expr_latex(formula.expr, &tex);
        st_put_buffer(self.root, "tex", &tex);
    }
    return end(&self, status);
}

/* ---- keys of jobs ---- */

static void put_key(const void *context, size_t index, st_node *row)
{
    static const char *const kinds[] = {"count", "number", "quantity", "bool", "enum", "text"};
    const st_key *key = (const st_key *)context + index;
    st_put_text(row, "path", key->path);
    st_put_text(row, "kind", kinds[key->kind]);
    st_put_text(row, "unit", key->unit);
    st_put_text(row, "values", key->values);
    st_put_number(row, "minimum", key->minimum);
    st_put_number(row, "maximum", key->maximum);
    st_put_text(row, "default", key->default_text);
    st_put_text(row, "doc", key->doc);
}

const char *page_keys(void)
{
    size_t count = 0;
    call self;
    begin(&self);
    const st_key *keys = st_keys(&count);
    if (self.root != NULL)
        st_put_rows(self.root, "keys", put_key, keys, count);
    return end(&self, ST_OK);
}

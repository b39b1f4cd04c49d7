/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What steptime shows: estimates, explanations and sheets as text for people, JSON and CSV for
 * programs, Markdown and LaTeX for documents. docs/output.md describes the forms that are promised.
 *
 * Every writer appends to a buffer and allocates scratch from the arena; a failed allocation shows
 * in buffer->failed.
 */
#ifndef STEPTIME_ESTIMATE_REPORT_H
#define STEPTIME_ESTIMATE_REPORT_H

#include "estimate/estimate_internal.h"
#include "base/result.h"

/* `errors` holds the warnings of the run. */
void st_estimate_report(const st_estimate *estimate, const st_errors *errors, st_arena *arena,
                        st_result *result);
/* `result` has its arena; with `lines` it is only text, a tree of at most so many. */
void st_explanation_report(const st_estimate *estimate, const st_explanation *explanation,
                           size_t lines, const st_errors *errors, st_result *result);

/* Job, plan and sheet. */
void st_report_header(const st_estimate *estimate, bool title_too, st_node *root);
/* Where the step and the memory go, as SVG: the bars of the sheet's summary; none is an error. */
st_status st_summary_svg(const st_estimate *estimate, st_arena *arena, st_buffer *buffer,
                         st_errors *errors) ST_NODISCARD;
/* `program` is NULL where it is not wanted. */
void st_sheet_report(const st_sheet *sheet, const st_program *program, st_arena *arena,
                     st_result *result);

/* Formulas as the sheet has them in tables, to be looked up, or as mathematics, to be read. */
typedef enum st_markdown_formulas { ST_MARKDOWN_CODE, ST_MARKDOWN_MATH } st_markdown_formulas;

/* The sheet's title is a heading of `level`; its sections have deeper ones. */
void st_sheet_write_markdown(const st_sheet *sheet, st_markdown_formulas formulas, int level,
                             st_arena *arena, st_buffer *buffer);
/* A document that pdflatex sets with the packages of any LaTeX. */
void st_sheet_write_latex(const st_sheet *sheet, st_arena *arena, st_buffer *buffer);

/* What was reported of a check that does not hold; NULL: nothing. */
const char *st_check_message(const st_errors *errors, const st_sheet_check *check);

/*
 * As st_estimate_create, for who writes a report and no more: members of families that the job
 * cannot have are left out of its program (program/impossible.h).
 */
st_status st_estimate_create_alone(const st_estimate_request *request, st_estimate **estimate,
                                   st_errors *errors) ST_NODISCARD;

enum { ST_STEPS_MOST_RANKS = 1 << 16 };

/* A table of steps to simulate. */
typedef struct st_steps_request {
    const char *steps;      /* its name or path */
    uint64_t ranks;         /* 0: some that it says it holds for */
    uint64_t per_node;      /* 0: all */
    const char *topology;   /* that prices it; NULL: none */
    uint64_t gpus_per_node; /* of the topology, in groups of the same shape; 0: as per_node */
} st_steps_request;

/* Follows it; the result has rounds, messages and, with a topology, times for each group. */
st_status st_steps_report(const st_paths *paths, const st_steps_request *request, st_arena *arena,
                          st_result *result, st_errors *errors) ST_NODISCARD;

#endif

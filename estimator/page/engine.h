/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the page, as src/engine.ts calls it. See engine.c for words and answers. */
#ifndef STEPTIME_PAGE_ENGINE_H
#define STEPTIME_PAGE_ENGINE_H

#include <stddef.h>

/* Runs a verb: {"ok", "exit", "text", "errors"}. */
const char *page_run(const char *words, size_t count);

/* Opens the estimate of a job, in place of the one before where it succeeds; "" for no job or the
 * job's own sheet. */
const char *page_open(const char *job, const char *sheet, const char *sets, size_t count);
/* Changes inputs of the open estimate, "parallel.tp=4". */
const char *page_set(const char *sets, size_t count);
/* Whether a condition in the language of sheets holds for a job, and all its checks: {"holds"}. */
const char *page_holds(const char *condition, const char *job, const char *sheet, const char *sets,
                       size_t count);
/* Its cells, by name or "@role": {"cells": [{"asked", "name", "text", "value", "unit"}]}. */
const char *page_read(const char *names, size_t count);
/* The open estimate as `steptime estimate --json` has it, a cell as `explain --json`, with the
 * cells that it reads, and the job as a file of its own: {"text"}. */
const char *page_report(void);
const char *page_explain(const char *cell);
const char *page_job(void);

/* What the sheet of the open estimate says first, its bars and the sections of its report. */
const char *page_sheet(void);
/* A formula in the language of sheets, also with numbers for names: {"tex"}. */
const char *page_tex(const char *text);

/* The table of keys of a job, with unit, range and meaning. */
const char *page_keys(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs jobs for test_jobs.py, line by line. "job\tKEY=VALUE\t..." loads a job of assignments alone
 * and answers with its numbers ("input\tNUMBER\tKEY\tKIND\tVALUE\tLEAST\tMOST\tSTEPS", KIND whole,
 * real or quantity), with the cells that the test looks at ("cell\tUSE\tNAME") and with "values":
 * whether the plan is valid, whether it fits, and those cells; or with "error\tTEXT" where the job
 * cannot be estimated. "row\tNUMBER\tVALUE" answers with the "values" for another value of that
 * input, "set" keeps it. "traffic" answers with what `steptime traffic` counts of the loaded job:
 * bytes that the busiest node sends to others, and that the busiest GPU sends inside of its node.
 * "replay" answers with the step that an estimate of the loaded job gives, and with that of
 * `steptime timeline`; 0 where it has none.
 */
#include "steptime/job.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/programs.h"

#include "estimate/traffic.h"
#include "program/program.h"
#include "sheet/summary.h"
#include "timeline/timeline.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 64, MOST_CELLS = 64, LINE = 16384, KEPT_BYTES = 1 << 30 };

typedef struct job {
    st_arena *arena;
    st_estimate *estimate;
    st_estimate_parts parts;
    const st_program *program;
    st_workspace *workspace;
    double *inputs, *values, *checks;
    const char *names[MOST_CELLS];
    size_t count;
} job;

static void add(job *own, const char *use, const char *name)
{
    if (name == NULL || own->count == MOST_CELLS ||
        st_sheet_find_cell(own->parts.sheet, name) == NULL)
        return;
    printf("cell\t%s\t%s\n", use, name);
    own->names[own->count++] = name;
}

/* The step, the parts of its bar with what hides, and the time that each resource is busy. */
static void choose_cells(job *own)
{
    const st_sheet *sheet = own->parts.sheet;
    const char *step = st_sheet_role(sheet, ST_ROLE_STEP);
    const st_summary *summary = st_sheet_summary(sheet);
    add(own, "step", step);
    for (size_t i = 0; i < summary->bar_count && step != NULL; i++)
        if (strcmp(summary->bars[i].total, step) == 0)
            for (size_t k = 0; k < summary->bars[i].count; k++) {
                add(own, "part", summary->bars[i].parts[k].cell);
                add(own, "hidden", summary->bars[i].parts[k].hidden);
            }
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(cells[i].name, "resource_share[", 15) == 0)
            add(own, "share", cells[i].name);
}

static void run(job *own)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(own->parts.sheet, &count);
    bool valid = st_program_run_one(own->program, own->workspace, own->inputs, own->values,
                                    own->checks) == ST_OK;
    bool fits = true;
    for (size_t i = 0; i < count && valid; i++) {
        bool holds = own->checks[i] == 1;
        fits = fits && (holds || !checks[i].limit);
        valid = holds || checks[i].limit || checks[i].warning;
    }
    for (size_t i = 0; i < own->count && valid; i++)
        valid = isfinite(own->values[i]);
    printf("values\t%d\t%d", valid, fits);
    for (size_t i = 0; i < own->count; i++)
        printf("\t%.17g", own->values[i]);
    printf("\n");
}

static void describe(const job *own)
{
    for (size_t i = 0; i < own->parts.input_count; i++) {
        const st_sheet_input *input = own->parts.inputs[i].input;
        const st_key *key = st_key_find(input->from);
        if (input->type.kind != ST_TYPE_NUMBER)
            continue;
        const st_dimension pure = {{0}};
        bool whole = key != NULL && key->kind == ST_KEY_COUNT;
        bool real = memcmp(&input->type.unit.dimension, &pure, sizeof pure) == 0;
        printf("input\t%zu\t%s\t%s\t%.17g\t%.17g\t%.17g\t%s\n", i, input->from,
               whole  ? "whole"
               : real ? "real"
                      : "quantity",
               own->inputs[i], key != NULL ? key->minimum : -HUGE_VAL,
               key != NULL ? key->maximum : HUGE_VAL, input->steps != NULL ? input->steps : "");
    }
}

static bool load(job *own, const st_paths *paths, char *line, st_errors *errors)
{
    static const char *sets[MOST_SETS];
    st_request request = {.sets = sets};
    for (char *word = strtok(line, "\t\n"); word != NULL && request.set_count < MOST_SETS;
         word = strtok(NULL, "\t\n"))
        sets[request.set_count++] = word;
    own->arena = st_arena_create();
    own->estimate = own->arena != NULL ? st_estimate_new(own->arena) : NULL;
    if (own->estimate == NULL ||
        st_estimate_load(paths, &request, own->arena, own->estimate, errors) != ST_OK)
        return false;
    own->parts = st_estimate_parts_of(own->estimate);
    choose_cells(own);
    const st_program_options options = {.providers = own->parts.providers.items,
                                        .provider_count = own->parts.providers.count,
                                        .outputs = own->names,
                                        .output_count = own->count};
    size_t checks = 0;
    (void)st_sheet_checks(own->parts.sheet, &checks);
    own->inputs = st_arena_alloc(own->arena, own->parts.input_count + 1, sizeof(double));
    own->values = st_arena_alloc(own->arena, own->count + 1, sizeof(double));
    own->checks = st_arena_alloc(own->arena, checks + 1, sizeof(double));
    if (own->inputs == NULL || own->values == NULL || own->checks == NULL ||
        st_program_compile(own->parts.sheet, &options, own->arena, &own->program, errors) != ST_OK)
        return false;
    memcpy(own->inputs, own->parts.input_values, own->parts.input_count * sizeof(double));
    own->workspace = st_workspace_create(own->program);
    return own->workspace != NULL;
}

static void drop(job *own)
{
    st_workspace_destroy(own->workspace);
    st_arena_destroy(own->arena);
    *own = (job){0};
}

typedef struct sent_bytes {
    double *of_nodes, *of_ranks;
    size_t gpus_per_node;
} sent_bytes;

static bool add_flow(void *context, const st_flow *flow)
{
    const sent_bytes *sent = context;
    size_t node = flow->source / sent->gpus_per_node;
    if (node != flow->target / sent->gpus_per_node)
        sent->of_nodes[node] += (double)flow->bytes;
    else
        sent->of_ranks[flow->source] += (double)flow->bytes;
    return true;
}

static void count_traffic(const job *own, st_errors *errors)
{
    st_traffic_report report = {0};
    double crossing = 0;
    double inside = 0;
    if (own->workspace != NULL &&
        st_traffic_report_make(own->estimate, ST_GROUPS, own->arena, &report, errors) == ST_OK) {
        size_t ranks = report.placement.ranks;
        sent_bytes sent = {.of_nodes = st_arena_alloc(own->arena, ranks, sizeof(double)),
                           .of_ranks = st_arena_alloc(own->arena, ranks, sizeof(double)),
                           .gpus_per_node = report.placement.gpus_per_node};
        if (sent.of_nodes != NULL && sent.of_ranks != NULL) {
            st_traffic_visit(&report.placement, &report.traffic, add_flow, &sent);
            for (size_t i = 0; i < ranks; i++) {
                crossing = fmax(crossing, sent.of_nodes[i]);
                inside = fmax(inside, sent.of_ranks[i]);
            }
        }
    }
    printf("traffic\t%.17g\t%.17g\n", crossing, inside);
}

static void lay_out(const job *own, st_errors *errors)
{
    st_timeline_plan plan = {0};
    int64_t step = 0;
    if (own->workspace == NULL || !st_timeline_has_roles(own->parts.sheet) ||
        st_timeline_plan_make(own->estimate, own->arena, &plan, errors) != ST_OK ||
        st_timeline_step(&plan, &step, errors) != ST_OK)
        step = 0;
    printf("replay\t%.17g\t%.17g\n", plan.closed_s, (double)step / ST_TICKS_PER_S);
}

static void answer(job *own, const st_paths *paths, char *line, st_errors *errors)
{
    size_t number = 0;
    double value = 0;
    if (strncmp(line, "job\t", 4) == 0) {
        drop(own);
        st_errors_clear(errors);
        if (load(own, paths, line + 4, errors)) {
            describe(own);
            run(own);
        } else {
            const st_error *first = st_errors_at(errors, 0);
            printf("error\t%s\n", first != NULL ? first->message : "no memory");
        }
    } else if (strncmp(line, "traffic", 7) == 0) {
        count_traffic(own, errors);
    } else if (strncmp(line, "replay", 6) == 0) {
        lay_out(own, errors);
    } else if (sscanf(line, "%*s %zu %lf", &number, &value) == 2 &&
               number < own->parts.input_count && own->workspace != NULL) {
        double before = own->inputs[number];
        own->inputs[number] = value;
        run(own);
        if (strncmp(line, "row\t", 4) == 0)
            own->inputs[number] = before;
    }
    (void)fflush(stdout);
}

int main(void)
{
    static char line[LINE];
    st_errors *errors = st_errors_create();
    st_paths *paths = NULL;
    job own = {0};
    /* The memory of a job is kept for the next one: the system clears what it hands out. */
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    if (errors == NULL || st_paths_create(NULL, 0, &paths, errors) != ST_OK)
        return 1;
    while (fgets(line, sizeof line, stdin) != NULL)
        answer(&own, paths, line, errors);
    drop(&own);
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    return 0;
}

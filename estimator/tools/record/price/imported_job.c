/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded step and the closed form of the same job, by part; see imported.h. */
#include "record/price/inferred_job.h"

#include "base/error_scope.h"
#include "base/lists.h"
#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/job_values.h"
#include "trace/reports.h"

#include <math.h>
#include <string.h>

/* The parts of ST_ROLE_SPENT, as the table of roles has them. */
enum {
    PART_ATTENTION = 1,
    GROUPS_FROM = 4,
    PART_TP = GROUPS_FROM,
    PART_CP,
    PART_EP,
    PART_DP,
    PART_PP,
    PARTS,
    GROUPS = PARTS - GROUPS_FROM
};

static const char *const titles[PARTS] = {
    "matrix products", "attention",        "bound by memory", "optimizer",
    "tensor parallel", "context parallel", "expert parallel", "gradients and weights",
    "between stages"};

/* Two sides of a row, in seconds or bytes; NaN where a side has nothing of the kind. */
typedef struct sides {
    double recorded;
    double estimated;
} sides;

typedef struct comparison {
    const st_imported *imported;
    size_t worker;
    const st_job *job;         /* that is estimated */
    double group_ranks[PARTS]; /* of each group of the job; 1: there is none */
    sides parts[PARTS];
    sides tasks;  /* copies to and from the host, and tasks whose rule names no part */
    sides others; /* communication of groups that the job does not have */
    sides step;
    sides memory;
} comparison;

/* The part that a collective belongs to, by the ranks of its communicator and their distance. */
static size_t part_of_group(const comparison *c, const st_log_collective *collective,
                            const st_communicator *group)
{
    bool message = collective->operation == ST_LOG_SEND || collective->operation == ST_LOG_RECEIVE;
    const double *ranks = c->group_ranks;
    double found = group != NULL ? (double)group->ranks : 0;
    double stride = group != NULL ? (double)group->stride : 0;
    if (message)
        return ranks[PART_PP] > 1                              ? PART_PP
               : ranks[PART_EP] > 1 && found == ranks[PART_EP] ? PART_EP
               : ranks[PART_CP] > 1                            ? PART_CP
                                                               : PARTS;
    if (ranks[PART_TP] > 1 && found == ranks[PART_TP] && stride <= 1)
        return PART_TP;
    if (collective->operation == ST_LOG_ALL_TO_ALL && found == ranks[PART_EP])
        return PART_EP;
    if (ranks[PART_CP] > 1 && found == ranks[PART_CP] && found != ranks[PART_DP])
        return PART_CP;
    return found > 1 && (found == ranks[PART_DP] || found == ranks[PART_DP] * ranks[PART_CP])
               ? PART_DP
               : PARTS;
}

/* What a step of the worker spends by part: the mean of whole steps, without the first where there
 * are enough, since it allocates. */
static void add_recorded(comparison *c)
{
    const st_imported *imported = c->imported;
    const st_imported_worker *counts = &imported->workers[c->worker];
    const st_walk_worker *walked = &imported->walk->workers[c->worker];
    size_t first = counts->steps > 2 ? 1 : 0;
    size_t last = counts->steps > 1 ? counts->steps - 1 : counts->steps;
    double one_s = 1e-9 / (double)(last - first);
    for (size_t i = counts->step_first[first]; i < counts->step_first[last]; i++) {
        const st_walk_task *task = &walked->tasks[i];
        sides *row = NULL;
        if (task->meet != ST_NO_INDEX) {
            const st_log_record *record =
                walked->worker->calls[walked->meets[task->meet].what].record;
            size_t part =
                part_of_group(c, &record->collective,
                              st_groups_find(imported->groups, (uint32_t)c->worker, record));
            row = part < PARTS ? &c->parts[part] : &c->others;
        } else {
            uint32_t shape = walked->worker->calls[task->what].shape;
            const st_task_shape *what = &imported->run->shapes[shape];
            double sizes[2];
            size_t part = st_shape_is_score(what, &sizes[0], &sizes[1])
                              ? PART_ATTENTION
                              : st_prices_part(imported->prices, what);
            row = part < PARTS ? &c->parts[part] : &c->tasks;
        }
        row->recorded += (double)st_walk_task_ns(walked, task) * one_s;
    }
    c->step.recorded = (double)counts->step_ns / 1e9;
    c->memory.recorded = (double)counts->peak_bytes;
}

/* ---- the estimate ---- */

typedef struct wanted {
    st_role role;
    size_t part;
    double *value;
    bool is_added; /* to the value */
} wanted;

/* Asks the sheet for all that it has of the parts; what it lacks stays NaN. */
static st_status add_estimated(const st_paths *paths, const st_imported_job *job, st_arena *arena,
                               comparison *c, st_errors *errors)
{
    enum { MOST = 2 * PARTS + GROUPS + 2 };
    static const st_role groups[GROUPS] = {ST_ROLE_TP, ST_ROLE_CP, ST_ROLE_EP, ST_ROLE_DP,
                                           ST_ROLE_PP};
    const st_request request = {.job = job->job, .sets = job->sets, .set_count = job->set_count};
    wanted all[MOST] = {{ST_ROLE_STEP, 0, &c->step.estimated, false},
                        {ST_ROLE_MEMORY, 0, &c->memory.estimated, false}};
    size_t most = 2;
    for (size_t i = 0; i < GROUPS; i++)
        all[most++] = (wanted){groups[i], 0, &c->group_ranks[GROUPS_FROM + i], false};
    for (size_t i = 0; i < PARTS; i++)
        all[most++] = (wanted){ST_ROLE_SPENT, i, &c->parts[i].estimated, false};
    for (size_t i = GROUPS_FROM; i < PARTS; i++)
        all[most++] = (wanted){ST_ROLE_SPENT_HIDDEN, i, &c->parts[i].estimated, true};
    st_estimate *estimate = st_estimate_new(arena);
    if (estimate == NULL)
        return st_out_of_memory(errors);
    st_status status = st_estimate_load(paths, &request, arena, estimate, errors);
    if (status != ST_OK)
        return status;
    c->job = st_estimate_parts_of(estimate).job;
    const st_sheet *sheet = st_estimate_parts_of(estimate).sheet;
    const char *names[MOST];
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        names[count] = st_sheet_role_part(sheet, all[i].role, all[i].part);
        if (names[count] != NULL)
            all[count++] = all[i];
    }
    status = st_estimate_show_names(estimate, names, count, (st_place){0}, arena, errors);
    if (status == ST_OK)
        status = st_estimate_run(estimate, arena, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        double value = st_estimate_shown_value(estimate, i);
        *all[i].value = all[i].is_added ? *all[i].value + value : value;
    }
    return status;
}

/* ---- the report ---- */

/* One row; a part that neither side has is left out. Where more overlaps than is idle, it is below
 * 0. */
static void put_row(st_node *list, const char *part, const sides *row, bool is_memory)
{
    const char *unit = is_memory ? "MiB" : "ms";
    double scale = is_memory ? 1.0 / 1048576 : 1e3;
    bool known = isfinite(row->estimated);
    double difference = row->estimated - row->recorded;
    if (!(fabs(row->recorded) > 0) && !(fabs(row->estimated) > 0))
        return;
    st_node *node = st_put_line_map(list, NULL);
    st_put_text(node, "part", part);
    st_put_text(node, "unit", is_memory ? "B" : "s");
    st_put_number(node, "recorded", row->recorded);
    st_put_number(node, "estimated", row->estimated);
    st_put_number(node, "difference", difference);
    st_put_format(node, ".recorded", "%.3f %s", row->recorded * scale, unit);
    if (known)
        st_put_format(node, ".estimated", "%.3f %s", row->estimated * scale, unit);
    else
        st_put_text(node, ".estimated", "-");
    if (known)
        st_put_format(node, ".difference", "%+.3f %s", difference * scale, unit);
    else
        st_put_text(node, ".difference", "-");
    if (known && row->recorded > 1e-3 * fabs(row->estimated)) /* else it says nothing */
        st_put_format(node, ".share", "%+.1f %%", 100 * difference / row->recorded);
    else
        st_put_text(node, ".share", "-");
}

/* Why the idle times differ: two hosts. */
static void put_hosts(const comparison *c, st_node *node)
{
    const int64_t gap_ns = c->imported->gap_ns;
    char gap[64] = "the recorded times";
    if (gap_ns >= 0) {
        (void)snprintf(gap, sizeof gap, "%g us", (double)gap_ns / 1e3);
        st_put_number(node, "gap", (double)gap_ns / 1e9);
    }
    st_put_bool(node, "call_costs", c->imported->has_costs);
    st_say(node,
           "The recording's host takes %s between calls (--gap) and %s them (--costs);\n"
           "the estimate's launches as fast as the job's stack.\n",
           gap, c->imported->has_costs ? "measured times for" : "no time for");
}

static void put_comparison(const comparison *c, st_node *node)
{
    sides rest = c->step;
    const char *gpu = st_job_text(c->job, ST_KEY_CLUSTER_GPU_NAME);
    st_put_text(node, "job", st_job_name(c->job));
    st_put_count(node, "rank", (uint64_t)c->imported->run->workers[c->worker].rank);
    st_put_text(node, "gpu", gpu);
    st_say_title(node, "The step of the recording and of the job's estimate");
    if (!st_same(gpu, c->imported->device))
        st_say(node, "The job is estimated on %s, the recording is priced for %s.\n", gpu,
               c->imported->device);
    st_node *list = st_put_list(node, "parts");
    for (size_t i = 0; i < PARTS; i++) {
        put_row(list, titles[i], &c->parts[i], false);
        rest.recorded -= c->parts[i].recorded;
        rest.estimated -= isfinite(c->parts[i].estimated) ? c->parts[i].estimated : 0;
    }
    put_row(list, "communication of other groups", &c->others, false);
    put_row(list, "other tasks", &c->tasks, false);
    rest.recorded -= c->others.recorded + c->tasks.recorded;
    put_row(list, "idle, less what overlaps", &rest, false);
    put_row(list, "step", &c->step, false);
    put_row(list, "memory", &c->memory, true);
    st_table *table = st_say_columns(node, "part|>recorded|>estimated|>difference|>of recorded");
    st_table_show(table, list, "part,.recorded,.estimated,.difference,.share");
    put_hosts(c, node);
}

/* ---- a job that the recording shows ---- */

/* How much of a path is its section, 0: none. */
static size_t section_of(const char *path)
{
    const char *point = strchr(path, '.');
    return point != NULL ? (size_t)(point - path) + 1 : 0;
}

/* Its keys, section by section as a file of a job has them: "model: {layers: 12, hidden: 768}". */
static void put_inferred(const st_inferred_job *job, st_node *node)
{
    st_node *map = st_put_map(node, "inferred");
    st_node *assumed = st_put_line_list(node, "assumed");
    st_say_title(node, "The job as the recording shows it");
    for (size_t i = 0; i < job->count; i++) {
        const char *path = job->keys[i].path;
        size_t length = section_of(path);
        bool first = true;
        st_put_text(map, path, job->keys[i].text);
        if (job->keys[i].assumed)
            st_put_text(assumed, NULL, path);
        for (size_t j = 0; j < i && length > 0; j++)
            first = first && strncmp(job->keys[j].path, path, length) != 0;
        if (length == 0)
            st_say(node, "  %s: %s\n", path, job->keys[i].text);
        if (length == 0 || !first)
            continue;
        for (size_t j = i; j < job->count; j++) {
            const char *other = job->keys[j].path;
            size_t same = section_of(other) == length && strncmp(other, path, length) == 0;
            if (j == i)
                st_say(node, "  %.*s: {", (int)length - 1, path);
            if (same)
                st_say(node, "%s%s: %s", j > i ? ", " : "", other + length, job->keys[j].text);
        }
        st_say(node, "}\n");
    }
    st_say(node, "  # assumed:");
    for (size_t i = 0; i < job->count; i++)
        if (job->keys[i].assumed)
            st_say(node, " %s", job->keys[i].path);
    st_say(node, "\n");
}

static void put_missing(const st_inferred_job *job, st_node *node)
{
    st_put_text(node, "missing", job->missing);
    st_put_text(node, "key", job->key);
    st_say(node, "\nno estimate of the same job: the recording does not show %s", job->missing);
    if (job->key != NULL)
        st_say(node, "; give it with --set %s=...", job->key);
    st_say(node, "\n");
}

/* What the closed form finds wrong with such a job is a warning. */
static bool warn_of_inferred(const void *context, st_errors *errors, st_error *error)
{
    (void)context;
    error->severity = ST_SEVERITY_WARNING;
    error->message = st_errors_text(errors, "the job that the recording shows: %s", error->message);
    return true;
}

/* Adds the keys that the recording shows in front of the user's, which win. */
static st_status infer(const st_paths *paths, const st_imported_job *given, st_arena *arena,
                       comparison *c, st_node *node, st_errors *errors)
{
    st_inferred_job job;
    st_infer_job(c->imported, c->worker, given, arena, &job);
    if (job.missing != NULL) {
        put_missing(&job, node);
        return ST_OK;
    }
    const char **sets = st_arena_alloc(arena, job.count + given->set_count + 1, sizeof *sets);
    for (size_t i = 0; i < job.count; i++)
        sets[i] = st_arena_printf(arena, "%s=%s", job.keys[i].path, job.keys[i].text);
    for (size_t i = 0; i < given->set_count; i++)
        sets[job.count + i] = given->sets[i];
    const st_imported_job made = {.sets = sets, .set_count = job.count + given->set_count};
    st_error_scope scope = {.edit = warn_of_inferred};
    put_inferred(&job, node);
    st_errors_enter(errors, &scope);
    st_status status = add_estimated(paths, &made, arena, c, errors);
    st_errors_leave(errors, &scope);
    return status == ST_ERR_MEMORY ? status : ST_OK;
}

st_status st_imported_compare(const st_paths *paths, const st_imported *imported,
                              const st_imported_job *job, st_arena *arena, st_node *root,
                              st_errors *errors)
{
    const sides nothing = {0, (double)NAN};
    comparison c = {.imported = imported,
                    .others = nothing,
                    .tasks = nothing,
                    .step = nothing,
                    .memory = nothing};
    for (size_t i = 0; i < PARTS; i++) {
        c.parts[i] = nothing;
        c.group_ranks[i] = 1;
    }
    for (size_t i = 1; i < imported->run->worker_count; i++)
        if (imported->workers[i].step_ns > imported->workers[c.worker].step_ns)
            c.worker = i;
    if (imported->workers[c.worker].steps == 0 && job->job != NULL)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = imported->run->folder},
                       "the recording has no step to compare with a job" ST_EXPECTED
                       "at least two equal steps" ST_HINT
                       "name the kernels that end a step: --step KERNEL");
    st_node *node = st_put_map(root, "comparison");
    st_status status = job->job != NULL ? add_estimated(paths, job, arena, &c, errors)
                                        : infer(paths, job, arena, &c, node, errors);
    if (status == ST_OK && isfinite(c.step.estimated)) {
        add_recorded(&c);
        put_comparison(&c, node);
    }
    return status;
}

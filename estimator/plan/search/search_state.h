/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching: every plan of a job for a number of GPUs, those that pass the sheet's checks ranked by
 * a cell.
 *
 * The search is exhaustive unless another method is asked for. Its result does not depend on how
 * many threads or processes take part: plans are compared by the cell and then by their number.
 */
#ifndef STEPTIME_SEARCH_SEARCH_STATE_H
#define STEPTIME_SEARCH_SEARCH_STATE_H

#include "base/result.h"
#include "estimate/error_band.h"
#include "search/confirm.h"
#include "search/guided.h"
#include "search/plans.h"
#include "search/processes.h"
#include "search/rank.h"
#include "steptime/tool/roles.h"
#include "sweep/fit_map.h"

#include <signal.h>

enum {
    ST_SEARCH_MAX_TOP = 1000,
    ST_SEARCH_MAX_PARTS = 64,
    ST_SEARCH_MAX_GROUPS = 16,
    ST_SEARCH_MAX_ZIPPED = 1000,
    ST_SEARCH_COLUMNS = 100 /* of the text of a report */
};

typedef struct st_search_request {
    st_space_request space; /* its axes are those of --vary over keys other than plan parameters */
    const char *gpus;       /* "512", "8..64*2"; NULL: as many as the job's plan takes */
    const char *const *varies; /* KEY[=VALUES],... that vary, too */
    size_t vary_count;
    const char *const *only; /* KEY[=VALUES],... that alone vary */
    size_t only_count;
    bool tries;               /* what the job's stack tries varies, too, if nobody names it */
    bool limited;             /* also where that list is empty; else all of the plan that no --set
                                 holds varies */
    const char *goal;         /* the cell that ranks plans; NULL: the time of a step */
    bool maximise;            /* it is to be great */
    const char *front[2];     /* cells of a Pareto front; NULL: none */
    bool picture;             /* it will be drawn; the front is of time and memory by default */
    const char *const *cells; /* columns next to the goal; none: the default ones */
    size_t cell_count;
    const st_role *also; /* further roles to be shown where the sheet fills them */
    size_t also_count;
    size_t top;
    bool all;        /* plans that exceed a limit, such as the memory of a GPU, are ranked, too */
    bool detailed;   /* the report shows all of what it has, else about a screen */
    bool merges;     /* of plans that tie, one is listed */
    size_t confirm;  /* plans to be replayed at least; 0: they are ranked in closed form */
    double tie_frac; /* by which share of a value two plans that tie differ at most */
    int threads;
    st_guide guide;
} st_search_request;

/* A key that an axis drives: its value in a row is that of the axis' digit there. */
typedef struct st_search_driven {
    bool given;
    size_t axis;
    const double *values; /* NULL: a range */
} st_search_driven;

/* A plan parameter that advances with other keys: its value at every place of the group. */
typedef struct st_zipped {
    st_plan_param param;
    size_t group;
    const double *values;
    size_t count;
    st_place place;
} st_zipped;

/* A key to vary, as requested. */
typedef struct st_varied {
    const char *option; /* "--vary" or "--only" */
    const char *given;  /* "KEY" or "KEY=VALUES" */
    const char *key;
    const char *text;    /* as given, where there are values; NULL: KEY alone */
    st_plan_param param; /* ST_PARAMS: an axis of the space */
} st_varied;

typedef struct st_search {
    st_search_request request;
    st_arena *arena;
    size_t own_set_count; /* of the request's sets: those behind them close the job */
    bool layouts;         /* it looks for layouts, in place of what the job says */
    struct st_found_layouts *found_layouts; /* of plans that were asked for */
    const st_varied *varied;                /* of --only and --vary, then what is tried */
    size_t varied_count;
    size_t given_wheres;        /* of the conditions of rows; the others are the stack's */
    size_t named_count;         /* of the first */
    const char *const *untried; /* keys that the stack tries and this search does not */
    size_t untried_count;
    bool limited;          /* some plan parameter does not take all its values */
    const char *gpus_from; /* of what the GPUs are all, if their number is not given; or NULL */
    double node_gpus;      /* of a node that numbers of GPUs do not fill; 0: they do */
    double fewer_gpus;     /* with a power of two on each of as many nodes; 0: none is offered */
    double used_gpus;      /* of it, chosen because it is not given; 0: none fits all numbers */
    st_space *space;       /* of the axes, with the goal, the front's cells and the parts */
    st_plan_request wanted;
    st_plans plans;
    uint64_t total;             /* plans times rows of the axes */
    uint64_t rows;              /* number of rows to compute */
    bool varies[ST_PARAMS];     /* has more than one value somewhere */
    bool shown[ST_PARAMS];      /* varies, or is not what the job says */
    st_search_driven node_size; /* GPUs in a node, where they differ from row to row */
    st_search_driven bases[ST_PLAN_BASES];
    bool bases_differ;       /* some of these are driven */
    const st_joined *joined; /* as requested, plan parameters among them */
    size_t joined_count;
    st_zipped *zipped;
    size_t zipped_count;
    size_t group_axes[ST_SEARCH_MAX_GROUPS]; /* an axis of every group; SIZE_MAX: it has none */
    size_t group_count;
    const char *goal; /* the first cell of the space; the front's follow, then what is near */
    double sign;      /* of the goal: -1 where it is maximised */
    double front_signs[2];
    size_t floor; /* the cell that is declared to be a bound; 0: none */
    size_t near;  /* the cell by which a plan that fails is near to one that does not */
} st_search;

typedef struct st_search_result {
    st_results found; /* rows are numbers of the whole space */
    bool interrupted;
    st_guided guided;
    uint64_t own_done; /* rows that this process computed */
    int threads;       /* of this process */
} st_search_result;

typedef struct st_search_watch {
    void (*progress)(void *context, uint64_t done, uint64_t rows);
    void *context;
    const volatile sig_atomic_t *interrupted;
} st_search_watch;

/* Everything lives in `arena`. */
st_status st_search_create(const st_paths *paths, const st_search_request *request, st_arena *arena,
                           st_search **search, st_errors *errors) ST_NODISCARD;

/* The same search with other cells, which are kept; its warnings were reported. */
st_status st_search_with_cells(const st_paths *paths, const st_search *search,
                               const char *const *cells, size_t count, st_search *made,
                               st_errors *errors) ST_NODISCARD;

/* With several processes every one of them gets the same result. */
st_status st_search_run(const st_search *search, const st_processes *processes,
                        const st_search_watch *watch, st_search_result *result,
                        st_errors *errors) ST_NODISCARD;

/* The number in the whole space of a row out of as many as are searched. */
uint64_t st_search_pick(const st_search *search, uint64_t row);

/* Whether rows of a search may be no plans, see st_reason_infeasible. */
static inline bool st_search_has_infeasible(const st_search *search)
{
    return search->bases_differ || search->zipped_count > 0 || search->wanted.whole_groups ||
           search->wanted.near_ends;
}
/* The value of such a key for one value of its axis. */
double st_search_driven_value(const st_search *search, const st_search_driven *driven,
                              uint64_t digit);

/*
 * The keys of a found plan as "key=value" for --set: all that a search may vary, or those alone
 * that do or are not as in the job. NULL when out of memory.
 */
const char *const *st_search_sets(const st_search *search, uint64_t row, bool all, size_t *count);
/* What makes an estimate of the job one of a found plan: the user's own sets, and the keys of the
 * plan that are not as the job has them. NULL when out of memory. */
const char *const *st_search_settings(const st_search *search, uint64_t row, size_t *count);
/* Plans that a run ranks, so that enough are left once ties are merged. */
size_t st_search_ranked(const st_search *search);

/* All cells of the search's space for some plans, one plan after the other. */
st_status st_search_values(const st_search *search, const uint64_t *picks, size_t count,
                           double *values) ST_NODISCARD;

/* search_report.c */
typedef struct st_search_view {
    const st_search *search;
    const st_search_result *result;
    st_search detail;   /* the same search with all cells that are shown */
    const char **parts; /* cells that make up the goal, then those of the step time */
    size_t part_count;
    size_t part_from;      /* where these begin among the cells; behind them is what is not shown */
    size_t own_parts;      /* of the goal */
    const char *whole;     /* what the others make up; NULL: there are none */
    const double *ranking; /* values of the detail's cells */
    const st_found *plans; /* all whose values these are, the best first, before ties are merged */
    const st_replayed *replays; /* of these, then of those that are shown */
    st_confirmation confirmation;
    const st_found *ranked; /* the plans that are shown */
    size_t ranked_count;
    const uint64_t *equals;  /* per such plan: how many others tie with it */
    uint64_t merged;         /* of all of them */
    bool more_ties;          /* maybe more, among the plans that were not ranked */
    bool tied_by[ST_PARAMS]; /* by which keys these differ */
    bool tied_by_axis[ST_AXES_MAX];
    st_error_band band;         /* how far estimates like these have been off */
    const st_error_band *bands; /* per ranked plan, where they differ; NULL: they do not */
    const double *front;
    const double *nearest; /* values of the nearest plan; NULL where plans were found */
    bool too_large;        /* it exceeds a limit */
    const char *miss;      /* what the nearest plan lacks; NULL where plans were found */
} st_search_view;

/* Whether the step is minimised: closed forms that are lower bounds choose whom replays rank. */
bool st_search_keeps_bounds(const st_search *search, const st_sheet *sheet);

/* Computes what is shown of the plans that were found. */
st_status st_search_view_make(const st_paths *paths, const st_search *search,
                              const st_search_result *result, st_search_view *view,
                              st_errors *errors) ST_NODISCARD;
/* confirm.c: replays the best of the view's plans and puts them into their order. */
st_status st_search_confirm(const st_paths *paths, st_search_view *view,
                            st_errors *errors) ST_NODISCARD;
/* Replays the plans that are shown, where they are not yet, and says how they differ. */
st_status st_search_explain_replays(const st_paths *paths, st_search_view *view,
                                    st_errors *errors) ST_NODISCARD;
/* The term by which closed form and replay of a plan differ most; ST_TERMS: they agree. */
st_term st_replayed_differs_by(const st_replayed *one);
/* A found plan as a job file of its own; `rank` counts from 1. Only where there are so many. */
st_status st_search_write_plan(const st_paths *paths, const st_search_view *view, size_t rank,
                               st_buffer *file, st_errors *errors) ST_NODISCARD;
/* The plans as a picture, of a search that was asked for one. */
st_status st_search_svg(const st_paths *paths, const st_search_view *view, st_buffer *svg,
                        st_errors *errors) ST_NODISCARD;
/* Text, JSON and CSV are rendered from it. */
void st_search_put(const st_search_view *view, st_result *result);
/* A key of plans as the heading of a column: a short name in a brief report. */
const char *st_search_heading(const st_search *search, const char *key);
/* A label in its width and a text in lines, cut behind so many; 0: not. */
void st_search_say(st_node *root, const char *label, size_t width, const char *text, size_t lines);

/*
 * search_map.c: the best plan for every two values of two keys, of all plans of a search. A key
 * that plans do not have, or the same twice, is an error at --map; a sheet needs the roles memory
 * and gpu_memory.
 */
st_status st_search_map_make(const st_paths *paths, const st_search *search,
                             const char *const keys[2], st_fit_map *made,
                             st_errors *errors) ST_NODISCARD;

const char *st_method_name(st_method method);
/* How much less a plan that was not computed may have, over the best one's value; 0: none is
 * better; NaN: that is not known. */
double st_search_gap(const st_search *search, const st_search_result *result);

/* Whether an axis is one that is tried although nobody named it. */
static inline bool st_search_is_tried(const st_search *search, size_t axis)
{
    const char *path = search->space->axes[axis].axis.path;
    for (size_t i = search->named_count; i < search->varied_count; i++)
        if (strcmp(search->varied[i].key, path) == 0)
            return true;
    return false;
}

/* ---- making a search ---- */

/*
 * search_tries.c: adds conditions of the job's stack on keys that are free (st_stack_runs) to those
 * of the request; adds groups of keys that the job's stack tries (st_stack_runs) to those that
 * vary, the job's own value first, and names what exceeds `most` groups as untried. `groups` is how
 * many there are.
 */
st_status st_search_add_tries(st_search *search, const st_job *job, const st_sheet *sheet,
                              size_t most, size_t *groups, st_errors *errors) ST_NODISCARD;

/* A plan keeps its own values even if a stack that also varies sets them. */
void st_search_keep_own(st_space *space);

st_status st_search_make_plans(st_search *search, st_errors *errors) ST_NODISCARD;
/* Whether the job's own value of a plan parameter differs or is missing. */
bool st_search_is_other(const st_search *search, st_plan_param param, double value);
/* Place of a key to vary: "--vary KEY=VALUES". */
static inline st_place st_varied_place(const st_varied *given, st_errors *errors)
{
    return (st_place){.file = st_errors_text(errors, "%s %.200s", given->option, given->given)};
}
/* Whether the user's own sets give a key. */
bool st_search_is_set(const st_search *search, const char *key);
/* The cell that is minimised where none is named: the step time, by the name it has. */
const char *st_search_default_goal(const st_sheet *sheet);

/* The numbers of GPUs that a request gives; before its space is made. */
st_status st_search_read_gpus(st_search *search, st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif

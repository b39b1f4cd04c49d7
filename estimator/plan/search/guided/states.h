/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of every plan of a search that does not compute them all. */
#ifndef STEPTIME_GUIDED_STATES_H
#define STEPTIME_GUIDED_STATES_H

#include "search/search_state.h"

/* What can be said of a plan before it is computed. */
typedef enum st_outcome {
    ST_OUTCOME_OPEN, /* it depends on providers */
    ST_OUTCOME_PASSES,
    ST_OUTCOME_FAILS
} st_outcome;

/* A mark is an outcome and what happened since. */
enum {
    ST_STATE_OUTCOME = 3,
    ST_STATE_COMPUTED = 4,
    ST_STATE_SKIPPED = 8, /* by a rule */
    ST_STATE_PASSED = 16,
    ST_STATE_FAILED = 32
};

/*
 * One entry per row where `low` is not NULL; otherwise (too many rows) a table of those that were
 * computed, and of no other anything is known.
 */
typedef struct st_plan_states {
    st_arena *arena;
    uint64_t rows;
    double *low; /* the goal is not below; of a row that was computed: the goal */
    double *high;
    unsigned char *marks;
    uint64_t *keys; /* of the table: rows + 1; 0: free */
    size_t capacity;
    size_t count;
} st_plan_states;

/* False when out of memory. */
bool st_plan_states_make(st_plan_states *states, uint64_t rows, bool dense, st_arena *arena);

bool st_plan_states_is_computed(const st_plan_states *states, uint64_t row);
/* Notes what was computed; false when out of memory. */
bool st_plan_states_note(st_plan_states *states, uint64_t row, bool passes, double goal);

static inline st_outcome st_plan_states_outcome(const st_plan_states *states, uint64_t row)
{
    return (st_outcome)(states->marks[row] & ST_STATE_OUTCOME);
}

/* "recomputation": what a rule is called, and what it says. */
const char *st_rule_name(size_t rule);
const char *st_rule_doc(size_t rule);
/* rules.c: checks every rule over all pairs of rows that it speaks of. */
void st_rules_check(const st_search *search, const st_plan_states *states, st_rule_result *rules);
/* The first applied rule by which a row need not be computed, since `worst` (the last plan that is
 * kept; NULL: there is room for more) stays where it is; ST_RULES: none. */
size_t st_rules_skip(const st_search *search, const st_plan_states *states,
                     const st_rule_result *rules, uint64_t row, const st_found *worst);
/* How many plans the applied rules would have tried before a row. */
unsigned st_rules_rank(const st_search *search, const st_rule_result *rules, uint64_t row);
/* Whether a rule is about plans that fail; else about plans that are not better. */
bool st_rule_rejects(size_t rule);

#endif

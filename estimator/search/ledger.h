/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of every plan of a search that does not compute them all. */
#ifndef STEPTIME_SEARCH_LEDGER_H
#define STEPTIME_SEARCH_LEDGER_H

#include "search/search_state.h"

/* What can be said of a plan before it is computed. */
typedef enum st_verdict {
    ST_VERDICT_OPEN, /* it depends on providers */
    ST_VERDICT_PASSES,
    ST_VERDICT_FAILS
} st_verdict;

/* A state is a verdict and what happened since. */
enum {
    ST_STATE_VERDICT = 3,
    ST_STATE_COMPUTED = 4,
    ST_STATE_SKIPPED = 8, /* by a rule */
    ST_STATE_PASSED = 16,
    ST_STATE_FAILED = 32
};

/*
 * One entry per row where `low` is not NULL; otherwise (too many rows) a table of those that were
 * computed, and of no other anything is known.
 */
typedef struct st_ledger {
    uint64_t rows;
    double *low; /* the goal is not below; of a row that was computed: the goal */
    double *high;
    unsigned char *states;
    uint64_t *keys; /* of the table: rows + 1; 0: free */
    size_t capacity;
    size_t count;
} st_ledger;

/* False when out of memory. */
bool st_ledger_make(st_ledger *ledger, uint64_t rows, bool dense);
void st_ledger_free(st_ledger *ledger);

bool st_ledger_is_computed(const st_ledger *ledger, uint64_t row);
/* Notes what was computed; false when out of memory. */
bool st_ledger_note(st_ledger *ledger, uint64_t row, bool passes, double goal);

static inline st_verdict st_ledger_verdict(const st_ledger *ledger, uint64_t row)
{
    return (st_verdict)(ledger->states[row] & ST_STATE_VERDICT);
}

/* rules.c: checks every rule over all pairs of rows that it speaks of. */
void st_rules_check(const st_search *search, const st_ledger *ledger, st_rule_result *rules);
/* The first applied rule by which a row need not be computed, since `worst` (the last plan that is
 * kept; NULL: there is room for more) stays where it is; ST_RULES: none. */
size_t st_rules_skip(const st_search *search, const st_ledger *ledger, const st_rule_result *rules,
                     uint64_t row, const st_found *worst);
/* How many plans the applied rules would have tried before a row. */
unsigned st_rules_rank(const st_search *search, const st_rule_result *rules, uint64_t row);
/* Whether a rule is about plans that fail; else about plans that are not better. */
bool st_rule_rejects(size_t rule);
/* Whether a rule may be taken on somebody's word for a goal of that type. */
bool st_rules_suit(size_t rule, const st_type *goal);

#endif

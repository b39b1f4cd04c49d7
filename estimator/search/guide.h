/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that do not compute every plan: what the user chooses and what a result says about it.
 *
 * They are for providers that take long. What can be said of a plan without asking them (which
 * checks fail whatever they say, and a value that the goal cannot fall below) is found out for all
 * plans first; see sheet/bounds.h.
 */
#ifndef STEPTIME_SEARCH_GUIDE_H
#define STEPTIME_SEARCH_GUIDE_H

#include "steptime/search.h"

enum { ST_RULES = 4, ST_GUIDE_TRIALS = 2000 };

/* Plans of which something can be noted one by one. */
extern const uint64_t st_guide_most_rows;

typedef struct st_guide {
    st_method method;
    st_pruning pruning;
    const char *floor; /* a cell that the user declares to be at most the goal; NULL: none */
    uint64_t trials;   /* plans that CMA-ES computes at most; 0: ST_GUIDE_TRIALS */
} st_guide;

typedef enum st_rule_state {
    ST_RULE_IDLE,   /* there is nothing to skip: the key does not vary */
    ST_RULE_PROVEN, /* holds for every pair of plans */
    ST_RULE_OPEN,   /* depends on what providers say, and is not contradicted */
    ST_RULE_BROKEN  /* does not hold for some pair */
} st_rule_state;

typedef struct st_rule_result {
    st_rule_state state;
    bool applied;
    uint64_t pairs;   /* that were looked at */
    uint64_t broken;  /* of which do not hold */
    uint64_t skipped; /* plans */
} st_rule_result;

typedef struct st_guided {
    bool used;         /* else every plan was computed, and nothing else is set */
    bool scanned;      /* bounds are known */
    bool declared;     /* ... from a cell that the user declared */
    uint64_t computed; /* plans that providers were asked for */
    uint64_t told;     /* plans that fail a check whatever providers say */
    uint64_t cut;      /* plans whose bound is above what was found */
    uint64_t untried;  /* plans of which nothing is known */
    bool has_floor;    /* plans without a value are not below: */
    double floor;
    st_rule_result rules[ST_RULES];
} st_guided;

/* "recomputation": what a rule is called, and what it says. */
const char *st_rule_name(size_t rule);
const char *st_rule_doc(size_t rule);

#endif

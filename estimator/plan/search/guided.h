/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that do not compute every plan: what the user chooses and what a result says about it.
 *
 * They are for providers that take long. What can be said of a plan without asking them (which
 * checks fail whatever they say, and a value that the goal cannot fall below) is found out for all
 * plans first; see guided/bounds.h.
 *
 * A search calls the module guided/ only through the functions below, which the caller
 * hands over: a build may leave it out.
 */
#ifndef STEPTIME_SEARCH_GUIDED_H
#define STEPTIME_SEARCH_GUIDED_H

#include "base/result.h"
#include "steptime/search.h"

enum { ST_RULES = 4, ST_GUIDE_TRIALS = 2000 };

typedef struct st_guided_methods st_guided_methods;

typedef struct st_guide {
    st_method method;
    st_pruning pruning;
    const char *floor;   /* a cell that the user declares to be at most the goal; NULL: none */
    uint64_t trials;     /* plans that a walk computes at most; 0: ST_GUIDE_TRIALS */
    uint64_t stop_after; /* plans that pass without a change of the best five; 0: never */
    const st_guided_methods *methods; /* of the module; NULL: this build has none */
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
    uint64_t broken;  /* of them violated */
    uint64_t skipped; /* plans */
} st_rule_result;

typedef struct st_guided {
    bool used;          /* else every plan was computed, and nothing else is set */
    bool scanned;       /* bounds are known */
    bool declared;      /* ... from a cell that the user declared */
    uint64_t computed;  /* plans that providers were asked for */
    uint64_t best_at;   /* which of them was the best, from 1; 0: none passed */
    uint64_t ruled_out; /* plans that fail a check whatever providers say */
    uint64_t cut;       /* plans whose bound is above what was found */
    uint64_t untried;   /* plans not examined */
    bool has_floor;     /* plans without a value are not below: */
    double floor;
    st_rule_result rules[ST_RULES];
} st_guided;

/* Whether it goes through plans by points that it draws. */
static inline bool st_method_is_walk(st_method method)
{
    return method >= ST_METHOD_CMAES;
}

struct st_search;
struct st_search_result;
struct st_search_view;
struct st_search_watch;
struct st_processes;

/* What the module does for a search. */
struct st_guided_methods {
    /* Refuses what the chosen method cannot do. */
    st_status (*check)(const struct st_search *search, st_errors *errors);
    /* The whole, in place of an exhaustive search. */
    st_status (*run)(const struct st_search *search, const struct st_processes *processes,
                     const struct st_search_watch *watch, struct st_search_result *result,
                     st_errors *errors);
    /* Says what became of the plans that were not computed. */
    void (*put)(const struct st_search_view *view, st_node *root);
};

/* Whether another way than through every plan is asked for. */
static inline bool st_guide_is_given(const st_guide *guide)
{
    return guide->method != ST_METHOD_EXHAUSTIVE || guide->pruning != ST_PRUNING_NONE;
}

#endif

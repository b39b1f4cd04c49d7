/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by which one plan's result excludes another: a search that follows
 * them finds the same plans. They are Maya's four for Megatron-LM (Yarlagadda et al. 2026, appendix
 * "Fidelity-preserving tactics"), each as a statement on one key: along its values, all else being
 * equal, a plan that fails is followed by plans that fail, or a plan that passes by plans that are
 * not better.
 *
 * Maya takes them for granted. Here each is checked for the sheet at hand, over every pair of plans
 * that differ by that key alone, before it is followed.
 */
#include "search/guided/states.h"

#include "base/dimension.h"

#include <string.h>

typedef struct statement {
    const char *name;
    const char *doc;
    st_plan_param param;
    bool falling;      /* along falling values of the key */
    bool rejects;      /* what fails stays failing; else: what passes gets no better */
    bool single_stage; /* speaks of plans of one pipeline stage alone */
} statement;

static const statement rules_of_maya[ST_RULES] = {
    {"recomputation", "a plan that fails a check also fails it with less recomputation",
     ST_PARAM_RECOMPUTE, true, true, false},
    {"sequence", "a plan that fails a check also fails it without sequence parallelism",
     ST_PARAM_SEQUENCE, true, true, false},
    {"optimizer", "a distributed optimizer does not improve a plan that passes without it",
     ST_PARAM_ZERO, false, false, false},
    {"microbatches",
     "smaller micro-batches do not improve a plan that passes in one pipeline stage",
     ST_PARAM_MICRO, true, false, true},
};

const char *st_rule_name(size_t rule)
{
    return rules_of_maya[rule].name;
}

const char *st_rule_doc(size_t rule)
{
    return rules_of_maya[rule].doc;
}

bool st_rule_rejects(size_t rule)
{
    return rules_of_maya[rule].rejects;
}

/* Whether a rule may be taken on somebody's word for a goal of that type.
 * A unit of what is paid for a step: time, money, energy. Less memory is bought with time. */
static bool is_suitable(size_t rule, const st_type *goal)
{
    static const char *const units[] = {"s", "$", "J"};
    bool suits = rules_of_maya[rule].rejects;
    for (size_t i = 0; i < ST_COUNT(units) && goal->kind == ST_TYPE_NUMBER; i++) {
        st_unit unit;
        suits = suits ||
                (st_unit_parse(units[i], strlen(units[i]), (st_place){0}, &unit, NULL) == ST_OK &&
                 st_dimension_equal(unit.dimension, goal->unit.dimension));
    }
    return suits;
}

/* --- plans that differ by one key ------------------------------------------------------------- */

/* The values that a rule's key takes with all else as in a row. */
typedef struct key_line {
    uint64_t first; /* the row with the first value of the list */
    uint64_t stride;
    const double *values;
    size_t count; /* 0: the rule does not speak of the row */
    size_t digit; /* of the row */
    bool falling;
} key_line;

static key_line line_of(const st_search *search, const statement *one, uint64_t row)
{
    const st_shape *shape = st_plan_shape(&search->plans, row / search->space->total);
    size_t list = (size_t)one->param - ST_PARAM_VIRTUAL;
    key_line made = {.stride = search->space->total, .falling = one->falling};
    if (one->single_stage && shape->sizes[ST_PARAM_PP] != 1)
        return made;
    for (size_t i = list + 1; i < ST_SHAPE_LISTS; i++)
        made.stride *= shape->counts[i];
    made.values = shape->lists[list];
    made.count = shape->counts[list];
    made.digit = (size_t)((row - shape->first * search->space->total) / made.stride % made.count);
    made.first = row - made.digit * made.stride;
    return made;
}

/* Whether the row with another value of the key comes earlier along the rule. */
static bool is_earlier(const key_line *line, size_t digit)
{
    double other = line->values[digit];
    double own = line->values[line->digit];
    return line->falling ? other > own : other < own;
}

/* --- checking -------------------------------------------------------------------------------- */

typedef enum holding { HOLDS, MAY_HOLD, IS_BROKEN } holding;

/* A plan that is known to fail is followed by those that fail. */
static holding check_failing(const st_plan_states *states, uint64_t before, uint64_t after)
{
    st_outcome second = st_plan_states_outcome(states, after);
    if (st_plan_states_outcome(states, before) != ST_OUTCOME_FAILS || second == ST_OUTCOME_FAILS)
        return HOLDS;
    return second == ST_OUTCOME_PASSES ? IS_BROKEN : MAY_HOLD;
}

/* A plan that passes is followed by those that are not better. */
static holding check_worse(const st_plan_states *states, uint64_t before, uint64_t after)
{
    st_outcome first = st_plan_states_outcome(states, before);
    st_outcome second = st_plan_states_outcome(states, after);
    bool not_better = states->high[before] <= states->low[after];
    if (first == ST_OUTCOME_FAILS || second == ST_OUTCOME_FAILS || not_better)
        return HOLDS;
    bool better = states->low[before] > states->high[after];
    return first == ST_OUTCOME_PASSES && second == ST_OUTCOME_PASSES && better ? IS_BROKEN
                                                                               : MAY_HOLD;
}

void st_rules_check(const st_search *search, const st_plan_states *states, st_rule_result *rules)
{
    const st_type *goal = search->space->types[0];
    for (size_t i = 0; i < ST_RULES; i++) {
        rules[i] = (st_rule_result){.state = ST_RULE_IDLE};
        /* Compares every row with those before it along the rule. */
        const statement *one = &rules_of_maya[i];
        st_rule_result *result = &rules[i];
        bool open = false;
        for (uint64_t row = 0; row < states->rows; row++) {
            key_line line = line_of(search, one, row);
            for (size_t digit = 0; digit < line.count; digit++) {
                if (!is_earlier(&line, digit))
                    continue;
                uint64_t before = line.first + digit * line.stride;
                holding held = one->rejects ? check_failing(states, before, row)
                                            : check_worse(states, before, row);
                result->pairs++;
                result->broken += held == IS_BROKEN ? 1 : 0;
                open = open || held == MAY_HOLD;
            }
        }
        if (result->pairs > 0)
            result->state = result->broken > 0 ? ST_RULE_BROKEN
                            : open             ? ST_RULE_OPEN
                                               : ST_RULE_PROVEN;
        bool declared = search->request.guide.pruning == ST_PRUNING_DECLARED &&
                        rules[i].state == ST_RULE_OPEN && is_suitable(i, goal);
        rules[i].applied = rules[i].state == ST_RULE_PROVEN || declared;
    }
}

/* --- skipping -------------------------------------------------------------------------------- */

/* What the first plan's result implies for the second one. A proven rule uses the checks that were
 * known to fail: a plan may also fail because a provider refuses it. */
static bool excludes(const st_plan_states *states, size_t rule, st_rule_state state,
                     uint64_t before, uint64_t row, const st_found *worst)
{
    unsigned known = states->marks[before];
    if (rules_of_maya[rule].rejects) {
        bool fails = (known & ST_STATE_FAILED) != 0;
        return fails && (state != ST_RULE_PROVEN ||
                         st_plan_states_outcome(states, before) == ST_OUTCOME_FAILS);
    }
    double goal = states->low[before];
    return (known & ST_STATE_PASSED) != 0 && worst != NULL &&
           (goal > worst->goal || (goal == worst->goal && row > worst->row));
}

size_t st_rules_skip(const st_search *search, const st_plan_states *states,
                     const st_rule_result *rules, uint64_t row, const st_found *worst)
{
    for (size_t i = 0; i < ST_RULES; i++) {
        if (!rules[i].applied)
            continue;
        key_line line = line_of(search, &rules_of_maya[i], row);
        for (size_t digit = 0; digit < line.count; digit++) {
            uint64_t before = line.first + digit * line.stride;
            if (is_earlier(&line, digit) && excludes(states, i, rules[i].state, before, row, worst))
                return i;
        }
    }
    return ST_RULES;
}

unsigned st_rules_rank(const st_search *search, const st_rule_result *rules, uint64_t row)
{
    unsigned rank = 0;
    for (size_t i = 0; i < ST_RULES; i++) {
        key_line line = line_of(search, &rules_of_maya[i], row);
        for (size_t digit = 0; digit < line.count && rules[i].applied; digit++)
            rank += is_earlier(&line, digit) ? 1 : 0;
    }
    return rank;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a search that did not compute every plan says about the others. */
#include "search/guided/run.h"

#include <inttypes.h>
#include <math.h>

static void say_count(uint64_t count, const char *what, st_node *root)
{
    if (count > 0)
        st_say(root, "  %10" PRIu64 "  %s\n", count, what);
}

static void say_rule(size_t rule, const st_rule_result *result, st_node *root)
{
    static const char *const states[] = {
        [ST_RULE_IDLE] = "there is nothing to skip",
        [ST_RULE_PROVEN] = "holds for all pairs of plans",
        [ST_RULE_OPEN] = "declared: plugins may contradict it",
        [ST_RULE_BROKEN] = "left out: it does not hold",
    };
    const char *state = states[result->state];
    if (result->state == ST_RULE_OPEN && !result->applied)
        state = "left out: it depends on what plugins say";
    st_say(root, "  %10" PRIu64 "  skipped by rule '%s', %s; %s", result->skipped,
           st_rule_name(rule), st_rule_doc(rule), state);
    if (result->broken > 0)
        st_say(root, " for %" PRIu64 " of %" PRIu64 " pairs of plans", result->broken,
               result->pairs);
    st_say(root, "\n");
}

void st_guided_put(const st_search_view *view, st_node *root)
{
    const st_guided *guided = &view->result->guided;
    bool pruned = view->search->request.guide.pruning != ST_PRUNING_NONE;
    st_node *node = st_put_map(root, "guided");
    st_put_count(node, "computed", guided->computed);
    st_put_count(node, "best_at", guided->best_at);
    st_put_count(node, "ruled_out", guided->ruled_out);
    st_put_count(node, "cut", guided->cut);
    st_put_count(node, "untried", guided->untried);
    st_put_number(node, "gap", st_search_gap(view->search, view->result));
    st_put_text(node, "bound",
                !guided->scanned   ? "none"
                : guided->declared ? "declared"
                                   : "proven");
    if (pruned) {
        static const char *const states[] = {[ST_RULE_IDLE] = "idle",
                                             [ST_RULE_PROVEN] = "proven",
                                             [ST_RULE_OPEN] = "open",
                                             [ST_RULE_BROKEN] = "broken"};
        st_node *list = st_put_list(node, "rules");
        for (size_t i = 0; i < ST_RULES; i++) {
            const st_rule_result *rule = &guided->rules[i];
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "name", st_rule_name(i));
            st_put_text(row, "state", states[rule->state]);
            st_put_bool(row, "applied", rule->applied);
            st_put_count(row, "pairs", rule->pairs);
            st_put_count(row, "broken", rule->broken);
            st_put_count(row, "skipped", rule->skipped);
        }
    }
    const st_guided *method_guided = &view->result->guided;
    st_say(node, "\nHow it was searched\n");
    say_count(method_guided->computed, "computed", node);
    if (st_method_is_walk(view->search->request.guide.method))
        say_count(method_guided->best_at, "of them until the best one", node);
    say_count(method_guided->ruled_out, "not computed: they fail a check whatever plugins say",
              node);
    say_count(method_guided->cut, "not computed: they cannot be among the best", node);
    for (size_t i = 0; i < ST_RULES && view->search->request.guide.pruning != ST_PRUNING_NONE; i++)
        say_rule(i, &method_guided->rules[i], node);
    say_count(method_guided->untried, "not looked at", node);
    const st_guided *promise_guided = &view->result->guided;
    double gap = st_search_gap(view->search, view->result);
    if (gap == 0) {
        st_say(node, "No other plan is better");
    } else if (gap != gap) {
        st_say(node, "How much better another plan may be is not known\n");
        return;
    } else {
        st_say(node, "Another plan may be better by up to %.3g %%", 100 * gap);
    }
    bool plugins = view->search->space->variants[0].plugin_count > 0;
    st_say(node, ": %s\n",
           promise_guided->declared ? "taken from a cell that was declared to be a bound"
           : plugins                ? "proven, as what a plugin gives is never negative"
                                    : "proven");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a search that did not compute every plan says about the others. */
#include "search/guided/states.h"

#include "sheet/type_write.h"

#include <inttypes.h>
#include <math.h>

static void write_count(uint64_t count, const char *what, st_buffer *buffer)
{
    if (count > 0) {
        st_buffer_printf(buffer, "  %10" PRIu64 "  %s\n", count, what);
    }
}

static void write_rule(size_t rule, const st_rule_result *result, st_buffer *buffer)
{
    static const char *const states[] = {
        [ST_RULE_IDLE] = "there is nothing to skip",
        [ST_RULE_PROVEN] = "holds for all pairs of plans",
        [ST_RULE_OPEN] = "declared: plugins may contradict it",
        [ST_RULE_BROKEN] = "left out: it does not hold",
    };
    const char *state = states[result->state];
    if (result->state == ST_RULE_OPEN && !result->applied) {
        state = "left out: it depends on what plugins say";
    }
    st_buffer_printf(buffer, "  %10" PRIu64 "  skipped by rule '%s', %s; %s", result->skipped,
                     st_rule_name(rule), st_rule_doc(rule), state);
    if (result->broken > 0) {
        st_buffer_printf(buffer, " for %" PRIu64 " of %" PRIu64 " pairs of plans", result->broken,
                         result->pairs);
    }
    st_buffer_text(buffer, "\n");
}

static void write_promise(const st_search_view *view, st_buffer *buffer)
{
    const st_guided *guided = &view->result->guided;
    double gap = st_search_gap(view->search, view->result);
    if (gap == 0) {
        st_buffer_text(buffer, "No other plan is better");
    } else if (gap != gap) {
        st_buffer_text(buffer, "How much better another plan may be is not known\n");
        return;
    } else {
        st_buffer_printf(buffer, "Another plan may be better by up to %.3g %%", 100 * gap);
    }
    bool plugins = view->search->space->variants[0].plugin_count > 0;
    st_buffer_printf(buffer, ": %s\n",
                     guided->declared ? "taken from a cell that was declared to be a bound"
                     : plugins        ? "proven, as what a plugin gives is never negative"
                                      : "proven");
}

void st_guided_write_text(const st_search_view *view, st_buffer *buffer)
{
    const st_guided *guided = &view->result->guided;
    st_buffer_text(buffer, "\nHow it was searched\n");
    write_count(guided->computed, "computed", buffer);
    write_count(guided->told, "not computed: they fail a check whatever plugins say", buffer);
    write_count(guided->cut, "not computed: they cannot be among the best", buffer);
    for (size_t i = 0; i < ST_RULES && view->search->request.guide.pruning != ST_PRUNING_NONE;
         i++) {
        write_rule(i, &guided->rules[i], buffer);
    }
    write_count(guided->untried, "not looked at", buffer);
    write_promise(view, buffer);
}

static void write_json_rules(const st_guided *guided, st_json *json)
{
    static const char *const states[] = {[ST_RULE_IDLE] = "idle",
                                         [ST_RULE_PROVEN] = "proven",
                                         [ST_RULE_OPEN] = "open",
                                         [ST_RULE_BROKEN] = "broken"};
    st_json_open(json, "rules", '[');
    for (size_t i = 0; i < ST_RULES; i++) {
        const st_rule_result *rule = &guided->rules[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", st_rule_name(i));
        st_json_text(json, "state", states[rule->state]);
        st_json_bool(json, "applied", rule->applied);
        st_json_count(json, "pairs", (size_t)rule->pairs);
        st_json_count(json, "broken", (size_t)rule->broken);
        st_json_count(json, "skipped", (size_t)rule->skipped);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

void st_guided_write_json(const st_search_view *view, st_json *json)
{
    static const st_type number = {.kind = ST_TYPE_NUMBER};
    const st_guided *guided = &view->result->guided;
    st_type ratio = number;
    ratio.unit = st_unit_one();
    st_json_open(json, "guided", '{');
    st_json_count(json, "computed", (size_t)guided->computed);
    st_json_count(json, "told", (size_t)guided->told);
    st_json_count(json, "cut", (size_t)guided->cut);
    st_json_count(json, "untried", (size_t)guided->untried);
    st_json_value(json, "gap", &ratio, st_search_gap(view->search, view->result));
    st_json_text(json, "bound",
                 !guided->scanned   ? "none"
                 : guided->declared ? "declared"
                                    : "proven");
    if (view->search->request.guide.pruning != ST_PRUNING_NONE) {
        write_json_rules(guided, json);
    }
    st_json_close(json, '}');
}

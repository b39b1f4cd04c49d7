/* SPDX-License-Identifier: Apache-2.0 */
/* What was searched, and the plan that was found; see found_plan.h. */
#include "estimate/found_plan.h"

#include "estimate/handle.h"

#include <inttypes.h>

enum { LABEL_WIDTH = 9 };

void st_estimate_tell_found(st_estimate *estimate, const st_found_plan *found)
{
    st_estimate_handle_of(estimate)->estimate.found = found;
}

static void put_texts(st_node *root, const char *key, const char *const *texts, size_t count)
{
    st_node *list = st_put_list(root, key);
    for (size_t i = 0; i < count; i++)
        st_put_text(list, NULL, texts[i]);
}

/* "--set parallel.tp=4 --set parallel.pp=2", to be copied. */
static void write_texts(st_node *root, const char *label, const char *before,
                        const char *const *texts, size_t count)
{
    const char *line = "";
    for (size_t i = 0; i < count; i++)
        st_text_add(root->result->arena, &line, " ", "%s%s", before, texts[i]);
    st_say_fact(root, label, LABEL_WIDTH, line);
}

void st_found_plan_put(const st_found_plan *found, st_node *root)
{
    st_node *map = st_put_map(root, "search");
    st_put_text(map, "minimise", found->goal);
    st_put_count(map, "plans", found->plans);
    st_put_count(map, "passed", found->passed);
    put_texts(map, "sets", found->sets, found->set_count);
    put_texts(map, "assumed", found->assumed, found->assumed_count);
    if (found->passed > 0)
        st_say(root,
               "%-*sthe plan with the lowest %s: %" PRIu64 " plans compared, %" PRIu64
               " pass all checks\n",
               LABEL_WIDTH, "found", found->goal, found->plans, found->passed);
    else
        st_say(root, "%-*snone of %" PRIu64 " plans passes all checks; this one is the closest\n",
               LABEL_WIDTH, "found", found->plans);
    write_texts(root, "", "--set ", found->sets, found->set_count);
    write_texts(root, "assumed", "", found->assumed, found->assumed_count);
    st_say(root, "\n");
}

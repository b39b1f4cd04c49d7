/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of ranks that are not alike, as a result. */
#include "timeline/timeline.h"

static void fill_quantile(const void *context, size_t index, st_node *node)
{
    const st_variance *variance = context;
    st_put_number(node, "share", st_variance_quantiles[index]);
    st_put_seconds(node, "step_time_s", variance->quantile_s[index]);
    st_put_number(node, "change", variance->quantile_s[index] / variance->even_s - 1);
}

static void fill_sample(const void *context, size_t index, st_node *node)
{
    const st_variance *variance = context;
    st_put_count(node, "sample", index + 1);
    st_put_seconds(node, "step_time_s", variance->steps_s[index]);
}

/* A step time beside that of ranks that are alike. */
static void put_step(const st_variance *variance, st_node *list, const char *name, double step_s)
{
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "name", name);
    st_put_seconds(row, "step_time_s", step_s);
    st_put_number(row, "change", step_s / variance->even_s - 1);
}

void st_variance_report(const st_variance *variance, st_arena *arena, st_result *result)
{
    static const st_table_column columns[] = {
        {0},
        {.title = "step time", .right = true},
        {.title = "of the even step", .look = ST_LOOK_CHANGE, .digits = 2, .right = true}};
    st_node *root = st_result_begin(result, arena);
    bool drawn = variance->jitter > 0;
    const st_timeline_plan *fact_plan = &variance->timeline->plan;
    st_put_text(root, "job", fact_plan->job);
    st_put_text(root, "sheet", fact_plan->sheet);
    st_refine_put(&fact_plan->refinements, root);
    st_put_text(root, "schedule", st_timeline_schedule(fact_plan));
    st_put_number(root, "standard_deviation", variance->jitter);
    st_put_text(root, "drawn_from", variance->jitter > 0 ? variance->distribution : NULL);
    st_put_count(root, "seed", variance->seed);
    st_put_count(root, "ranks", variance->ranks);
    st_put_count(root, "pipelines", variance->pipelines);
    st_put_count(root, "meet_in_passes", variance->together);
    st_put_seconds(root, "deviation_s", variance->deviation_s);
    st_node *steps = st_put_list(root, "steps");
    put_step(variance, steps, "ranks alike", variance->even_s);
    put_step(variance, steps, drawn ? "mean of the steps drawn" : "slow ranks or links",
             variance->mean_s);
    if (variance->expected_s > 0)
        put_step(variance, steps, "expected in closed form", variance->expected_s);
    st_node *quantiles =
        st_put_rows(root, "quantiles", fill_quantile, variance, drawn ? ST_VARIANCE_QUANTILES : 0);
    (void)st_put_rows(root, "samples", fill_sample, variance, variance->count);
    const st_timeline_plan *plan = &variance->timeline->plan;
    st_say(root, "job        %s\nschedule   %s\n", plan->job, st_timeline_schedule(plan));
    st_say(root, "ranks      %llu in %llu pipeline%s, of each stage %s%llu meet in every pass\n",
           (unsigned long long)variance->ranks, (unsigned long long)variance->pipelines,
           variance->pipelines == 1 ? "" : "s", plan->splits_differ ? "up to " : "",
           (unsigned long long)variance->together);
    if (variance->jitter > 0)
        st_say(root, "jitter     %s, %zu steps, seed %llu\n", variance->distribution,
               variance->count, (unsigned long long)variance->seed);
    st_say(root, "\n");
    st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), steps,
                  "name,step_time_s,change");
    if (drawn) {
        static const st_table_column quantile_columns[] = {
            {.title = "of the steps", .look = ST_LOOK_PERCENT, .digits = 0, .right = true},
            {.title = "last at most", .right = true},
            {.title = "of the even step", .look = ST_LOOK_CHANGE, .digits = 2, .right = true}};
        st_say(root, "\n");
        st_table_show(st_say_table(root, quantile_columns, ST_COUNT(quantile_columns), 2),
                      quantiles, "share,step_time_s,change");
    }
    st_result_csv(result, "samples", "sample,step_time_s");
}

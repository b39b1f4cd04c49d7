/* SPDX-License-Identifier: Apache-2.0 */
/* What sweep, search and scale share; see explore.h. */
#include "cli/explore.h"

#include "search/guided/guided_module.h"

#include <string.h>

enum { MOST_THREADS = 1024 };

int cli_explore_threads(const cli_run *run)
{
    const cli_explore_options *options = run->options;
    return options->threads < MOST_THREADS ? (int)options->threads : MOST_THREADS;
}

st_status cli_explore_request(cli_run *run, st_space_request *request)
{
    const cli_explore_options *options = run->options;
    const cli_common *common = &run->common;
    request->job = run->arguments[0];
    request->sheet = common->sheet;
    request->sets = common->sets.items;
    request->set_count = common->sets.count;
    request->refine = common->refine.items;
    request->refine_count = common->refine.count;
    request->wheres = options->wheres.items;
    request->where_count = options->wheres.count;
    request->cells = options->cells.items;
    request->cell_count = options->cells.count;
    request->sample = options->sample;
    request->seed = options->seed;
    request->checks_warn = common->check == CLI_CHECK_NONE;
    if (cli_is_given(run, &options->seed) && options->sample == 0 &&
        !cli_is_given(run, &options->method))
        return cli_wrong_use(run, "option --seed requires --sample", "add --sample N");
    return ST_OK;
}

st_status cli_explore_guide(cli_run *run, st_guide *guide)
{
    const cli_explore_options *options = run->options;
    guide->method = (st_method)options->method;
    guide->pruning = (st_pruning)options->pruning;
    guide->floor = options->bound;
    guide->trials = options->trials;
    guide->methods = st_guided_module;
    guide->stop_after = options->stop_after;
    bool is_walk = st_method_is_walk(guide->method);
    if (guide->trials > 0 && !is_walk)
        return cli_wrong_use(run, "option --trials requires --method cmaes",
                             "random, evolution and bayes also support it");
    if (guide->stop_after > 0 && !is_walk)
        return cli_wrong_use(run, "option --stop-after requires --method cmaes",
                             "random, evolution and bayes also support it");
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What sweep, search and scale share; see explore.h. */
#include "cli/explore.h"

#include <string.h>

enum { MOST_ITEMS = 1000, MOST_THREADS = 1024 };

/* "--sample", for messages. */
static const char *name_of(const cli_run *run, cli_option_id id)
{
    const cli_option *option = run->verb->options;
    while (option->id != CLI_NO_OPTION && option->id != id)
        option++;
    return option->name;
}

st_status cli_explore_count(cli_run *run, cli_option_id id, uint64_t least, uint64_t *count)
{
    const char *text = cli_value(run, id);
    if (text == NULL)
        return ST_OK;
    uint64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    bool good = digits > 0 && text[digits] == '\0' && digits <= 18;
    for (size_t i = 0; i < digits && good; i++)
        value = 10 * value + (uint64_t)(text[i] - '0');
    bool huge = digits > 18 && text[digits] == '\0';
    if (!good || value < least)
        return st_fail(
            run->errors, ST_ERR_USAGE, (st_place){0},
            "option --%s" ST_FOUND "'%.60s'" ST_EXPECTED "%s", name_of(run, id), text,
            st_or_none(huge ? "a whole number of at most 18 digits"
                            : st_errors_text(run->errors, "a whole number of at least %llu",
                                             (unsigned long long)least)));
    *count = value;
    return ST_OK;
}

st_status cli_explore_threads(cli_run *run, int *threads)
{
    uint64_t count = 0;
    st_status status = cli_explore_count(run, CLI_THREADS, 1, &count);
    *threads = count < MOST_THREADS ? (int)count : MOST_THREADS;
    return status;
}

static st_status refuse_item(cli_run *run, cli_option_id id, const char *message)
{
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "option --%s %s" ST_EXPECTED "names separated by commas", name_of(run, id),
                   message);
}

st_status cli_explore_list(cli_run *run, cli_option_id id, const char *const **items, size_t *count)
{
    const char *const *values = NULL;
    size_t value_count = 0;
    st_status status = cli_values(run, id, &values, &value_count);
    const char **list = st_arena_alloc(run->arena, MOST_ITEMS, sizeof *list);
    *count = 0;
    if (status != ST_OK || list == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < value_count; i++) {
        for (const char *text = values[i]; text != NULL;) {
            const char *comma = strchr(text, ',');
            size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
            while (length > 0 && text[0] == ' ') {
                text++;
                length--;
            }
            while (length > 0 && text[length - 1] == ' ')
                length--;
            if (length == 0)
                return refuse_item(run, id, "has an empty item");
            if (*count == MOST_ITEMS)
                return refuse_item(run, id, "has too many items");
            list[*count] = st_arena_copy(run->arena, text, length);
            if (list[(*count)++] == NULL)
                return ST_ERR_MEMORY;
            text = comma != NULL ? comma + 1 : NULL;
        }
    }
    *items = list;
    return ST_OK;
}

st_status cli_explore_request(cli_run *run, cli_option_id axes, st_space_request *request)
{
    request->job = run->arguments[0];
    request->sheet = cli_value(run, CLI_SHEET);
    st_status status = cli_values(run, CLI_SET, &request->sets, &request->set_count);
    if (status == ST_OK)
        status = cli_values(run, CLI_REFINE, &request->refine, &request->refine_count);
    if (status == ST_OK)
        status = cli_values(run, axes, &request->overs, &request->over_count);
    if (status == ST_OK)
        status = cli_values(run, CLI_WHERE, &request->wheres, &request->where_count);
    if (status == ST_OK)
        status = cli_explore_list(run, CLI_CELLS, &request->cells, &request->cell_count);
    if (status == ST_OK)
        status = cli_explore_count(run, CLI_SAMPLE, 1, &request->sample);
    if (status == ST_OK)
        status = cli_explore_count(run, CLI_SEED, 0, &request->seed);
    if (status == ST_OK && cli_is_given(run, CLI_SEED) && !cli_is_given(run, CLI_SAMPLE) &&
        !cli_is_given(run, CLI_METHOD))
        return cli_wrong_use(run, "option --seed says which sample is drawn, and there is none",
                             "draw one with --sample N");
    return status;
}

/* The place of an option's value in a list of words; 0 where it is not given. */
static st_status read_word(cli_run *run, cli_option_id id, const char *const *words, int *index)
{
    const char *text = cli_value(run, id);
    *index = 0;
    if (text == NULL)
        return ST_OK;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *index = i;
            return ST_OK;
        }
    }
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "%s" ST_FOUND "'%.60s'" ST_EXPECTED "%s",
                   id == CLI_METHOD ? "option --method" : "option --prune", text,
                   id == CLI_METHOD ? "exhaustive, bound or cmaes" : "proven or declared");
}

st_status cli_explore_guide(cli_run *run, st_guide *guide)
{
    static const char *const methods[] = {"exhaustive", "bound", "cmaes", NULL};
    static const char *const prunings[] = {"none", "proven", "declared", NULL};
    int method = 0;
    int pruning = 0;
    st_status status = read_word(run, CLI_METHOD, methods, &method);
    if (status == ST_OK)
        status = read_word(run, CLI_PRUNE, prunings, &pruning);
    if (status == ST_OK)
        status = cli_explore_count(run, CLI_TRIALS, 1, &guide->trials);
    guide->method = (st_method)method;
    guide->pruning = (st_pruning)pruning;
    guide->floor = cli_value(run, CLI_BOUND);
    if (status == ST_OK && guide->trials > 0 && guide->method != ST_METHOD_CMAES)
        status = cli_wrong_use(run, "option --trials belongs to --method cmaes", NULL);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a search varies besides plans where nobody names it: what the job's stack can run. */
#include "search/search_state.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/bind.h"
#include "job/job_loader.h"
#include "job/keys.h"
#include "steptime/keys.h"

#include <string.h>

enum { MOST_TRIES = 16 };

/* One key of a group: "KEY=VALUES" with the job's own value first. */
typedef struct tried_key {
    const char *key;
    const char *text;
} tried_key;

/* Keys without effect on models without experts. */
static bool needs_experts(const char *key)
{
    static const char *const keys[] = {ST_KEY_PARALLEL_DISPATCHER, ST_KEY_PARALLEL_EXPERT_TP,
                                       ST_KEY_RECOMPUTED_ACTIVATION, ST_KEY_RECOMPUTED_MOE,
                                       ST_KEY_RECOMPUTED_SHARED_EXPERTS};
    return st_has_text(keys, ST_COUNT(keys), key);
}

/* Whether a key may be tried: the sheet reads it, and nobody holds or varies it. */
static bool is_free(const st_search *search, const st_job *job, const st_sheet *sheet,
                    const char *key)
{
    return st_sheet_reading(sheet, key) != NULL && !st_search_is_set(search, key) &&
           !ST_HAS(search->varied, search->varied_count, key, key) &&
           (!needs_experts(key) || st_job_number(job, ST_KEY_MODEL_EXPERTS) > 0);
}

/* "KEY=OWN,OTHER": what the job has, and the others of the list. */
static const char *with_own(const st_job *job, const char *key, const char *values, st_arena *arena)
{
    const st_job_value *value = st_job_value_of(job, key);
    const char *own = st_text_or_empty(value->text);
    const char *list = st_arena_printf(arena, "%s", own);
    while (*values != '\0') {
        size_t length = strcspn(values, ",");
        if (length != strlen(own) || strncmp(values, own, length) != 0)
            st_text_add(arena, &list, ",", "%.*s", (int)length, values);
        values += length + (values[length] == ',' ? 1 : 0);
    }
    return st_arena_printf(arena, "%s=%s", key, st_or_none(list));
}

/* The keys of a group; how many, 0 where one of them is not free. Those of several keys advance
 * together, from what a job has that gives none of them. */
static size_t read_group(const st_search *search, const st_job *job, const st_sheet *sheet,
                         const char *text, st_arena *arena, tried_key keys[MOST_TRIES])
{
    static const char join[] = " + ";
    const bool alone = strstr(text, join) == NULL;
    size_t count = 0;
    while (*text != '\0' && count < MOST_TRIES) {
        const char *next = strstr(text, join);
        size_t length = next != NULL ? (size_t)(next - text) : strlen(text);
        size_t name = strcspn(text, "=");
        const char *key = st_arena_copy(arena, text, name);
        const char *values = st_arena_copy(arena, text + name + 1, length - name - 1);
        if (key == NULL || values == NULL || !is_free(search, job, sheet, key) ||
            (!alone && st_job_value_of(job, key)->origin == ST_ORIGIN_FILE))
            return 0;
        keys[count].key = key;
        keys[count++].text = alone ? with_own(job, key, values, arena)
                                   : st_arena_printf(arena, "%s=%s", key, values);
        text += length + (next != NULL ? strlen(join) : 0);
    }
    return count;
}

static st_status vary(st_search *search, const tried_key *keys, size_t count, st_arena *arena,
                      st_errors *errors)
{
    st_varied *varied = st_arena_alloc(arena, search->varied_count + count, sizeof *varied);
    st_space_request *space = &search->request.space;
    st_joined *joined = st_arena_alloc(arena, space->joined_count + count, sizeof *joined);
    if (varied == NULL || joined == NULL)
        return st_out_of_memory(errors);
    if (search->varied_count > 0)
        memcpy(varied, search->varied, search->varied_count * sizeof *varied);
    if (space->joined_count > 0)
        memcpy(joined, space->joined, space->joined_count * sizeof *joined);
    for (size_t i = 0; i < count; i++) {
        varied[search->varied_count++] = (st_varied){.option = "--vary",
                                                     .given = keys[i].text,
                                                     .key = keys[i].key,
                                                     .text = keys[i].text,
                                                     .param = ST_PARAMS};
        if (i > 0)
            joined[space->joined_count++] = (st_joined){.key = keys[i].key, .with = keys[0].key};
    }
    search->varied = varied;
    space->joined = joined;
    return ST_OK;
}

static st_status add_limits(st_search *search, const st_job *job, const st_sheet *sheet,
                            st_errors *errors)
{
    const st_stack_runs *runs = &job->runs;
    st_space_request *space = &search->request.space;
    search->given_wheres = space->where_count;
    if (runs->limit_count == 0 || strcmp(st_sheet_name(sheet), runs->limits_sheet) != 0 ||
        ST_HAS(search->varied, search->varied_count, key, ST_KEY_STACK))
        return ST_OK;
    const char **wheres =
        st_arena_alloc(search->arena, space->where_count + runs->limit_count, sizeof *wheres);
    if (wheres == NULL)
        return st_out_of_memory(errors);
    if (space->where_count > 0)
        memcpy(wheres, space->wheres, space->where_count * sizeof *wheres);
    for (size_t i = 0; i < runs->limit_count; i++)
        if (is_free(search, job, sheet, runs->limits[2 * i]))
            wheres[space->where_count++] = runs->limits[2 * i + 1];
    space->wheres = wheres;
    return ST_OK;
}

st_status st_search_add_tries(st_search *search, const st_job *job, const st_sheet *sheet,
                              size_t most, size_t *groups, st_errors *errors)
{
    const st_stack_runs *runs = &job->runs;
    const st_search_request *request = &search->request;
    st_arena *arena = search->arena;
    const char **untried =
        st_arena_alloc(arena, MOST_TRIES * runs->tries_count + 1, sizeof *untried);
    bool none = !request->tries || request->only_count > 0 || request->limited ||
                request->space.sample > 0 || request->space.joined_count > 0 ||
                st_guide_is_given(&request->guide) ||
                ST_HAS(search->varied, search->varied_count, key, ST_KEY_STACK);
    st_status status =
        untried == NULL ? st_out_of_memory(errors) : add_limits(search, job, sheet, errors);
    *groups = 0;
    search->named_count = search->varied_count;
    search->untried = untried;
    for (size_t i = 0; i < runs->tries_count && status == ST_OK && !none; i++) {
        tried_key keys[MOST_TRIES];
        size_t count = read_group(search, job, sheet, runs->tries[i], arena, keys);
        bool again = false;
        for (size_t k = 0; k < count; k++)
            again = again || st_has_text(untried, search->untried_count, keys[k].key);
        if (count == 0 || again)
            continue;
        if (++*groups <= most)
            status = vary(search, keys, count, arena, errors);
        for (size_t k = 0; k<count && * groups> most; k++)
            untried[search->untried_count++] = keys[k].key;
    }
    return status;
}

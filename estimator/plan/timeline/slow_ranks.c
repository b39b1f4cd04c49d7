/* SPDX-License-Identifier: Apache-2.0 */
/* Reading who is slow; see slow_ranks.h. */
#include "timeline/slow_ranks.h"

#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const links[ST_LINKS] = {"tp", "cp", "ep", "pp", "dp"};

/* One text, cut into its parts. */
typedef struct slow_text {
    const char *text;
    char kind[8];
    char name[24];
    double factor;
} slow_text;

typedef struct slow_reader {
    const st_slow_places *places;
    st_arena *arena;
    st_slow_ranks *slow;
    st_errors *errors;
} slow_reader;

static const st_place at = {.file = "--slow"};

static st_status refuse_form(const slow_reader *self, const char *text)
{
    return st_fail(self->errors, ST_ERR_USAGE, at,
                   "found '%.80s'" ST_EXPECTED
                   "rank:N=FACTOR, node:N=FACTOR or links:GROUP=FACTOR, as rank:17=1.385",
                   text);
}

static st_status cut(const slow_reader *self, const char *text, slow_text *parts)
{
    const char *colon = strchr(text, ':');
    const char *equals = colon != NULL ? strchr(colon, '=') : NULL;
    *parts = (slow_text){.text = text};
    if (equals == NULL || (size_t)(colon - text) >= sizeof parts->kind || equals == colon + 1 ||
        (size_t)(equals - colon - 1) >= sizeof parts->name)
        return refuse_form(self, text);
    memcpy(parts->kind, text, (size_t)(colon - text));
    memcpy(parts->name, colon + 1, (size_t)(equals - colon - 1));
    size_t length = strlen(equals + 1);
    if (length == 0 || st_number_scan(equals + 1, length) != length ||
        st_number_parse(equals + 1, length, at, &parts->factor, NULL) != ST_OK)
        return refuse_form(self, text);
    if (!(parts->factor >= 1 && parts->factor <= 1000))
        return st_fail(self->errors, ST_ERR_USAGE, at,
                       "the factor of '%.80s' is %s" ST_EXPECTED "from 1 to 1000", text,
                       equals + 1);
    return ST_OK;
}

/* Pipelines take the data-parallel ranks of a stage in equal parts; SIZE_MAX: no stage has it. */
static size_t group_of(const st_slow_places *places, uint64_t rank)
{
    const st_schedule_groups *groups = places->groups;
    for (size_t i = 0; places->own_stages != NULL && i < places->stages; i++) {
        const st_own_stage *stage = &places->own_stages[i];
        size_t count = (size_t)stage->tp * stage->cp * stage->dp;
        for (size_t k = 0; k < count; k++)
            if (stage->ranks[k] == rank)
                return k / (count / places->pipelines) * places->stages + i;
    }
    if (places->own_stages != NULL)
        return SIZE_MAX;
    uint64_t dp = groups->dp_stride > 0 ? rank / groups->dp_stride % groups->dp : 0;
    uint64_t stage = groups->pp_stride > 0 ? rank / groups->pp_stride % places->stages : 0;
    uint64_t each = groups->dp / places->pipelines;
    return (size_t)(dp / each) * places->stages + (size_t)stage;
}

/* Ranks that are named twice take the product. */
static st_status add_rank(const slow_reader *self, uint64_t rank, double factor)
{
    st_slow_ranks *slow = self->slow;
    for (size_t i = 0; i < slow->count; i++) {
        if (slow->ranks[i].rank == rank) {
            slow->ranks[i].factor *= factor;
            return ST_OK;
        }
    }
    const st_slow_rank made = {group_of(self->places, rank), rank, factor};
    return made.group == SIZE_MAX || ST_APPEND(self->arena, slow->ranks, slow->count, made)
               ? ST_OK
               : st_out_of_memory(self->errors);
}

static st_status read_one(const slow_reader *self, const char *text)
{
    slow_text parts;
    uint64_t number = 0;
    const st_slow_places *places = self->places;
    const st_schedule_groups *groups = places->groups;
    uint64_t ranks = places->own_stages != NULL
                         ? st_own_ranks(places->own_stages, places->stages)
                         : (uint64_t)groups->tp * groups->cp * groups->dp * places->stages;
    uint64_t each = self->places->gpus_per_node > 0 ? self->places->gpus_per_node : 1;
    st_status status = cut(self, text, &parts);
    if (status != ST_OK)
        return status;
    if (strcmp(parts.kind, "links") == 0) {
        for (size_t i = 0; i < ST_LINKS; i++) {
            if (strcmp(links[i], parts.name) == 0) {
                self->slow->link[i] = fmax(self->slow->link[i], 1) * parts.factor;
                return ST_OK;
            }
        }
        return st_fail(self->errors, ST_ERR_USAGE, at,
                       "unknown links '%s' in '%.80s'" ST_EXPECTED "tp, cp, ep, pp or dp",
                       parts.name, parts.text);
    }
    bool node = strcmp(parts.kind, "node") == 0;
    if (!node && strcmp(parts.kind, "rank") != 0)
        return refuse_form(self, text);
    /* A number below `count`. */
    status = ST_OK;
    const uint64_t count = node ? (ranks + each - 1) / each : ranks;
    uint64_t value = 0;
    const char *number_text = parts.name;
    for (; *number_text >= '0' && *number_text <= '9' && value < count; number_text++)
        value = 10 * value + (uint64_t)(*number_text - '0');
    if (*number_text != '\0' || value >= count)
        status = st_fail(self->errors, ST_ERR_USAGE, at,
                         "unknown %s '%s' in '%.80s'" ST_EXPECTED "from 0 to %llu", parts.kind,
                         parts.name, parts.text, (unsigned long long)(count - 1));
    else
        number = value;
    if (status == ST_OK && !node && group_of(self->places, number) == SIZE_MAX)
        return st_fail(self->errors, ST_ERR_USAGE, at,
                       "no stage of the strategy contains rank %llu, in '%.80s'",
                       (unsigned long long)number, text);
    uint64_t first = node ? number * each : number;
    uint64_t end = node ? first + each : first + 1;
    for (uint64_t rank = first; rank < end && rank < ranks && status == ST_OK; rank++)
        status = add_rank(self, rank, parts.factor);
    return status;
}

ST_COMPARE(by_group, st_slow_rank, ST_RISING(group) ST_RISING(rank));

st_status st_slow_ranks_read(const st_slow_places *places, const char *const *texts, size_t count,
                             st_arena *arena, st_slow_ranks *slow, st_errors *errors)
{
    const slow_reader self = {places, arena, slow, errors};
    st_status status = ST_OK;
    *slow = (st_slow_ranks){0};
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = read_one(&self, texts[i]);
    uint64_t busy = places->own_stages != NULL
                        ? places->own_stages[places->busiest].ranks[0]
                        : (uint64_t)places->busiest * places->groups->pp_stride;
    if (status == ST_OK && count == 0 && places->slow > 1)
        status = add_rank(&self, busy, places->slow);
    if (status == ST_OK && slow->count > 1)
        qsort(slow->ranks, slow->count, sizeof *slow->ranks, by_group);
    return status;
}

double st_slow_link(const st_slow_ranks *slow, const char *category)
{
    size_t i = 0;
    while (i < ST_LINKS && strcmp(links[i], category) != 0)
        i++;
    return i < ST_LINKS ? fmax(slow->link[i], 1) : 1;
}

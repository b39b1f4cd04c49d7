/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed parameters and their origin; see fixed_params.h. A parameter that is neither set nor varied
 * is marked as assumed: a reader must not take it for an answer.
 */
#include "search/fixed_params.h"

#include "job/job_loader.h"
#include "job/keys.h"
#include "steptime/keys.h"

#include <string.h>

typedef struct writer {
    const st_search *search;
    const char *without;
    st_node *list;
    const char *text;
    const char *by;        /* of the values that it does not follow yet */
    size_t more;           /* values of the job that text only counts */
    const char *more_file; /* of the first of them */
} writer;

static bool is_below(const char *key, const char *section)
{
    return strcmp(key, section) == 0 || st_is_below(key, section);
}

/* Whether an axis gives a key, or the section in which it is, other values. */
static bool is_axis(const st_search *search, const char *key)
{
    const st_space *space = search->space;
    for (size_t i = 0; i < space->axis_count; i++) {
        const st_axis *axis = &space->axes[i].axis;
        if (axis->section != NULL ? is_below(key, axis->path) : strcmp(axis->path, key) == 0)
            return true;
    }
    return false;
}

/* Ends a run of values that come from one place. */
static void name_source(writer *self)
{
    if (self->by[0] != '\0')
        st_text_add(self->search->space->arena, &self->text, " ", "(%s)", self->by);
}

/* `by` "": that is plain from the value. */
static void put(writer *self, const char *key, const char *value, const char *by, bool shown)
{
    if (self->without != NULL && strcmp(key, self->without) == 0)
        return;
    st_node *row = st_put_line_map(self->list, NULL);
    st_put_text(row, "key", key);
    st_put_text(row, "value", value);
    st_put_text_or_null(row, "by", by);
    if (shown) {
        if (strcmp(self->by, by) != 0)
            name_source(self);
        self->by = by;
        st_text_add(self->search->space->arena, &self->text, ", ", "%s=%s", key, value);
    }
}

/* The last one for a key wins. */
static void put_sets(writer *self)
{
    const st_search *search = self->search;
    st_arena *arena = search->space->arena;
    for (size_t i = 0; i < search->own_set_count; i++) {
        const char *set = search->request.space.sets[i];
        size_t length = strcspn(set, "=");
        bool again = false;
        for (size_t k = i + 1; k < search->own_set_count; k++)
            again = again || strncmp(search->request.space.sets[k], set, length + 1) == 0;
        const char *key = st_arena_copy(arena, set, length);
        bool varied = search->layouts && key != NULL && strcmp(key, ST_KEY_PARALLEL_LAYOUT) == 0;
        if (key != NULL && !again && !varied && set[length] == '=')
            put(self, key, set + length + 1, "--set", true);
    }
}

/* A plan parameter that is left at one value, of those that the sheet reads. */
static bool is_held(const st_search *search, st_plan_param param)
{
    return search->wanted.choices[param].held && search->wanted.choices[param].read;
}

static void put_file_value(writer *self, const st_job_value *value)
{
    static const char *const shown[] = {ST_KEY_BATCH, ST_KEY_PARALLEL, ST_KEY_RECOMPUTE};
    st_arena *arena = self->search->space->arena;
    st_plan_param param = st_plan_param_find(value->path);
    bool is_shown = false;
    if (param != ST_PARAMS ? !is_held(self->search, param) : is_axis(self->search, value->path))
        return;
    for (size_t i = 0; i < ST_COUNT(shown); i++)
        is_shown = is_shown || is_below(value->path, shown[i]);
    const char *file = st_last_part(value->place.file != NULL ? value->place.file : "the job", '/');
    const char *by = st_arena_printf(arena, "%s:%d", file, (int)value->place.line);
    put(self, value->path, value->text, by != NULL ? by : "", is_shown);
    if (!is_shown) {
        self->more++;
        self->more_file = self->more_file != NULL ? self->more_file : file;
    }
}

static void put_varied(const st_search *search, size_t width, st_node *root)
{
    st_arena *arena = root->result->arena;
    const char *text = "";
    st_node *list = st_put_line_list(root, "varied");
    for (st_plan_param param = ST_PARAM_TP; param < ST_PARAMS; param++) {
        if (search->wanted.choices[param].read && !is_held(search, param)) {
            st_put_text(list, NULL, st_plan_param_key(param));
            st_text_add(arena, &text, " ", "%s",
                        st_search_heading(search, st_plan_param_key(param)));
        }
    }
    if (search->layouts) {
        st_put_text(list, NULL, ST_KEY_PARALLEL_LAYOUT);
        st_text_add(arena, &text, " ", "layout");
    }
    for (size_t i = 0; i < search->space->axis_count; i++) {
        const char *path = search->space->axes[i].axis.path;
        st_put_text(list, NULL, path);
        st_text_add(arena, &text, " ", "%s",
                    st_search_is_tried(search, i) ? st_search_heading(search, path) : path);
    }
    st_search_say(root, "varied", width, text, 0);
}

/* What could vary, too: keys that the stack tries where there are not too many plans, and what only
 * a user varies. */
static void put_untried(const st_search *search, size_t width, st_node *root)
{
    static const char *const others[] = {ST_KEY_PRECISION_RECIPE, ST_KEY_STACK};
    st_arena *arena = root->result->arena;
    const char *text = "";
    if (!search->request.tries || search->request.only_count > 0)
        return;
    st_put_texts(root, "untried", search->untried, search->untried_count);
    for (size_t i = 0; i < search->untried_count; i++)
        st_text_add(arena, &text, ", ", "%s", search->untried[i]);
    for (size_t i = 0; i < ST_COUNT(others); i++)
        if (!is_axis(search, others[i]))
            st_text_add(arena, &text, ", ", "%s", others[i]);
    if (st_text_or_empty(text)[0] != '\0')
        st_text_add(arena, &text, "; ", "--vary KEY=VALUES varies them");
    st_search_say(root, "held", width, text, 0);
}

static void add_stages(st_arena *arena, const char **text, const char *lead, unsigned stages)
{
    if (stages != 0)
        st_text_add(arena, text, ", ", "%s", lead);
    for (unsigned stage = 0; stages >> stage != 0; stage++)
        if ((stages >> stage & 1U) != 0)
            st_text_add(arena, text, " ", "%u", stage);
}

/* What the stack's software cannot run, and is therefore no plan. */
static void put_limits(const st_search *search, size_t width, st_node *root)
{
    const st_plan_request *wanted = &search->wanted;
    const st_job *job = search->space->base.job;
    st_arena *arena = root->result->arena;
    const char *text = "";
    add_stages(arena, &text, "zero", wanted->zero);
    add_stages(arena, &text,
               wanted->zero != 0 ? "with pipeline stages" : "zero with pipeline stages",
               wanted->zero_with_stages);
    if (wanted->whole_groups)
        st_text_add(arena, &text, ", ", "interleaved: micro-batches a multiple of pp");
    if (wanted->near_ends)
        st_text_add(arena, &text, ", ", "ends within a chunk of the other stages");
    const st_space_request *space = &search->request.space;
    if (space->where_count > search->given_wheres)
        st_text_add(arena, &text, ", ", "conditions");
    if (text == NULL || text[0] == '\0')
        return;
    const char *brief = st_arena_printf(arena, "%s (%s)", text, job->stack->title);
    st_text_add(arena, &text, ", ", "as %s runs", job->stack->title);
    if (strlen(st_text_or_empty(text)) + width <= ST_SEARCH_COLUMNS)
        brief = text;
    for (size_t i = search->given_wheres; i < space->where_count; i++)
        st_text_add(arena, &text, "; ", "%s", space->wheres[i]);
    if (job->runs.source != NULL)
        st_text_add(arena, &text, " ", "(%s)", job->runs.source);
    st_put_text(root, "limits", text);
    st_search_say(root, "limits", width, search->request.detailed ? text : brief, 0);
}

static bool has_value(const st_plans *plans, st_plan_param param, double value)
{
    for (size_t i = 0; i < plans->shape_count; i++) {
        const st_shape *shape = &plans->shapes[i];
        bool size = param < ST_PARAM_VIRTUAL;
        const double *values = size ? &shape->sizes[param] : shape->lists[param - ST_PARAM_VIRTUAL];
        size_t count = size ? 1 : shape->counts[param - ST_PARAM_VIRTUAL];
        for (size_t k = 0; k < count; k++)
            if (values[k] == value)
                return true;
    }
    return false;
}

/* Requested values that divide nothing in any plan: the user must not take
 * the others for all of it. Recomputation divides nothing, and suits every plan. */
static void put_unused(const st_search *search, size_t width, st_node *root)
{
    st_arena *arena = root->result->arena;
    const char *text = "";
    for (st_plan_param param = ST_PARAM_TP; param < ST_PARAMS; param++) {
        const st_plan_choice *choice = &search->wanted.choices[param];
        bool asked = choice->read && !choice->free && !choice->held && param != ST_PARAM_RECOMPUTE;
        for (size_t i = 0; asked && i < choice->count; i++)
            if (!has_value(&search->plans, param, choice->values[i])) {
                const double value = choice->values[i];
                const char *key = st_plan_param_key(param);
                if (param == ST_PARAM_SEQUENCE)
                    st_text_add(arena, &text, ", ", "%s=%s", key, value > 0 ? "true" : "false");
                else
                    st_text_add(arena, &text, ", ", "%s=%.10g", key, value);
            }
    }
    if (text == NULL || text[0] == '\0')
        return;
    st_put_text(root, "unused", text);
    st_text_add(arena, &text, " ", "(no plan of these sizes)");
    st_search_say(root, "unused", width, text, search->request.detailed ? 0 : 2);
}

void st_search_put_fixed_params(const st_search *search, const char *without, size_t width,
                                st_node *root)
{
    writer self = {.search = search,
                   .without = without,
                   .list = st_put_list(root, "held"),
                   .text = "",
                   .by = ""};
    static const char *const sections[] = {ST_KEY_MODEL, ST_KEY_CLUSTER, ST_KEY_STACK};
    for (size_t i = 0; i < ST_COUNT(sections); i++) {
        const char *name = st_job_section_name(self.search->space->base.job, sections[i]);
        if (name != NULL && strcmp(name, "inline") != 0 &&
            !st_search_is_set(self.search, sections[i]) && !is_axis(self.search, sections[i]))
            put(&self, sections[i], name, "", true);
    }
    put_sets(&self);
    /* What the job's files set, except model and cluster. */
    static const char *const apart[] = {ST_KEY_NAME, ST_KEY_SHEET, ST_KEY_MODEL, ST_KEY_CLUSTER};
    const st_job *job = self.search->space->base.job;
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = st_job_value_of(job, keys[i].path);
        bool is_apart = value->origin != ST_ORIGIN_FILE;
        for (size_t k = 0; k < ST_COUNT(apart); k++)
            is_apart = is_apart || is_below(keys[i].path, apart[k]);
        if (!is_apart)
            put_file_value(&self, value);
    }
    for (size_t i = 0; i < job->constant_count; i++)
        if (job->constants[i].origin == ST_ORIGIN_FILE)
            put_file_value(&self, &job->constants[i]);
    /* Plan parameters that are neither set nor varied. */
    const st_search *assumed_search = self.search;
    for (st_plan_param param = ST_PARAM_TP; param < ST_PARAMS; param++) {
        const char *key = st_plan_param_key(param);
        const st_job_value *value = st_job_value_of(assumed_search->space->base.job, key);
        if (!is_held(assumed_search, param) || value->origin == ST_ORIGIN_FILE ||
            st_search_is_set(assumed_search, key))
            continue;
        const char *by = value->origin == ST_ORIGIN_DEFAULT ? "default"
                         : value->origin == ST_ORIGIN_STACK ? "stack"
                                                            : "assumed";
        put(&self, key, value->text != NULL ? value->text : "1", by, true);
    }
    name_source(&self);
    if (self.more > 0)
        st_text_add(search->space->arena, &self.text, ", ", "%zu more of %s", self.more,
                    self.more_file);
    st_search_say(root, "fixed", width, self.text, search->request.detailed ? 0 : 2);
    put_varied(search, width, root);
    put_untried(search, width, root);
    put_limits(search, width, root);
    put_unused(search, width, root);
}

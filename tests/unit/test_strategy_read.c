/* SPDX-License-Identifier: Apache-2.0 */
/* Strategy files: what is read from them, and the place and words of each refusal. */
#include "base_support.h"

#include "timeline/strategy.h"

#include <stdio.h>

typedef struct strategy_case {
    st_arena *arena;
    st_errors *errors;
    st_strategy strategy;
} strategy_case;

static int make_case(void **state)
{
    strategy_case *self = calloc(1, sizeof *self);
    if (self == NULL)
        return -1;
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    *state = self;
    return 0;
}

static int drop_case(void **state)
{
    strategy_case *self = *state;
    st_arena_destroy(self->arena);
    st_errors_destroy(self->errors);
    free(self);
    return 0;
}

static st_status read_text(strategy_case *self, const char *text)
{
    const st_yaml_node *root = NULL;
    assert_int_equal(st_yaml_parse("s.yaml", text, strlen(text), self->arena, &root, self->errors),
                     ST_OK);
    return st_strategy_read(root, self->arena, &self->strategy, self->errors);
}

TEST_OF(ranges_and_splits_are_read, strategy_case *self, make_case, drop_case)
{
    assert_int_equal(read_text(self, "strategy: front-light\n"
                                     "schedule: interleaved\n"
                                     "stages:\n"
                                     "  - {devices: '0-7, 16 - 23 ,31', layers: '0-8,12-12'}\n"
                                     "  - {devices: 999999, layers: 9-11, tp: 4, cp: 1,\n"
                                     "     recompute: full}\n"),
                     ST_OK);
    const st_strategy *strategy = &self->strategy;
    static const uint32_t devices[][2] = {{0, 7}, {16, 23}, {31, 31}};
    assert_string_equal(strategy->name, "front-light");
    assert_string_equal(strategy->schedule, "interleaved");
    assert_int_equal(strategy->schedule_place.line, 2);
    assert_int_equal(strategy->count, 2);
    const st_strategy_stage *stage = &strategy->stages[0];
    assert_int_equal(stage->devices.count, COUNT(devices));
    for (size_t i = 0; i < COUNT(devices); i++) {
        assert_int_equal(stage->devices.items[i].first, devices[i][0]);
        assert_int_equal(stage->devices.items[i].last, devices[i][1]);
    }
    assert_int_equal(stage->devices.items[1].place.line, 4);
    assert_int_equal(stage->devices.items[1].place.column, 21);
    assert_int_equal(stage->layers.count, 2);
    assert_int_equal(stage->layers.items[1].first, 12);
    assert_int_equal(stage->layers.items[1].last, 12);
    assert_null(stage->order);
    assert_null(stage->recompute);
    assert_same_double(stage->tp, 0.0);
    stage = &strategy->stages[1];
    assert_int_equal(stage->place.line, 5);
    assert_int_equal(stage->devices.items[0].last, 999999);
    assert_same_double(stage->tp, 4);
    assert_same_double(stage->cp, 1);
    assert_string_equal(stage->recompute, "full");
}

TEST_WITH(passes_are_read, make_case, drop_case)
{
    static const struct {
        uint8_t pass;
        bool with_weights;
        uint32_t micro;
        uint16_t chunk;
    } passes[] = {{ST_PASS_FORWARD, false, 3, 0},
                  {ST_PASS_BACKWARD, true, 0, 1},
                  {ST_PASS_BACKWARD, false, 12, 0},
                  {ST_PASS_WEIGHTS, false, 12, 65535}};
    strategy_case *self = *state;
    assert_int_equal(read_text(self, "strategy: own\n"
                                     "stages:\n"
                                     "  - {devices: 0, layers: 0-4, order: [F3, B0.1, I12, "
                                     "W12.65535]}\n"),
                     ST_OK);
    const st_strategy_stage *stage = &self->strategy.stages[0];
    assert_int_equal(stage->pass_count, COUNT(passes));
    assert_int_equal(stage->order_place.line, 3);
    for (size_t i = 0; i < COUNT(passes); i++) {
        const st_slot *slot = &stage->order[i].slot;
        assert_int_equal(slot->pass, passes[i].pass);
        assert_int_equal(slot->with_weights, passes[i].with_weights);
        assert_int_equal(slot->micro, passes[i].micro);
        assert_int_equal(slot->chunk, passes[i].chunk);
    }
}

TEST_WITH(what_is_wrong_has_its_place, make_case, drop_case)
{
    static const struct {
        const char *stages;
        const char *said;
    } wrong[] = {
        {"  - {devices: 1000000, layers: 0}\n", "s.yaml:3:15: error: invalid range '1000000'"},
        {"  - {devices: 0-1000000, layers: 0}\n", "s.yaml:3:15: error: invalid range '0-1000000'"},
        {"  - {devices: 7-6, layers: 0}\n", "s.yaml:3:15: error: invalid range '7-6'"},
        {"  - {devices: 2-3x, layers: 0}\n", "s.yaml:3:15: error: invalid range '2-3x'"},
        {"  - {devices: '2,,3', layers: 0}\n", "error: invalid range ',3'"},
        {"  - {devices: '2,', layers: 0}\n", "error: invalid range ''"},
        {"  - {devices: 2-, layers: 0}\n", "error: invalid range '2-'"},
        {"  - {devices: 0, layers: 0, order: [F]}\n", "s.yaml:3:37: error: invalid pass: 'F'"},
        {"  - {devices: 0, layers: 0, order: [F1.]}\n", "error: invalid pass: 'F1.'"},
        {"  - {devices: 0, layers: 0, order: [F1.65536]}\n", "error: invalid pass: 'F1.65536'"},
        {"  - {devices: 0, layers: 0, order: [F1-2]}\n", "error: invalid pass: 'F1-2'"},
        {"  - {devices: 0, layers: 0, order: [X1]}\n", "error: invalid pass: 'X1'"},
        {"  - {devices: 0, layers: 0, order: [[F1]]}\n",
         "invalid pass: a list: expected F, B, I or W"},
        {"  - {devices: 0, layers: 0, tp: 0}\n", "s.yaml:3:33: error: invalid size '0' of tp"},
        {"  - {devices: 0, layers: 0, cp: 2.385}\n", "error: invalid size '2.385' of cp"},
        {"  - {devices: 0, layers: 0, recompute: some}\n",
         "wrong value for recompute: found 'some'"},
        {"  - 2.385\n", "s.yaml:3:5: error: stage 0 must be a map"},
        {"  - {layers: 0}\n", "missing key 'devices' in stage 0"},
        {"  - {devices: 0}\n", "missing key 'layers' in stage 0"},
        {"  - {devices: 0, layers: 0, order: [F0]}\n  - {devices: 1, layers: 1}\n",
         "s.yaml:4:5: error: stage 1 has no order: expected one, as other stages have"},
        {"  - {devices: 0, layers: 0, order: [F0]}\nschedule: 1f1b\n",
         "s.yaml:4:11: error: a strategy has both a schedule and orders: expected one of them"},
        {"  - {devices: 0, layers: 0}\nschedule: zero_bubble_v\n",
         "s.yaml:4:11: error: unknown schedule of a strategy: found 'zero_bubble_v'"},
        {"  - {devices: 0, layers: '0-8, 12-16'}\nschedule: zero_bubble_2\n",
         "s.yaml:4:11: error: stages have 2 ranges of layers, a chunk for each: found schedule "
         "zero_bubble_2, expected interleaved"},
        {"  []\n", "error: a strategy has no stages"},
    };
    strategy_case *self = *state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "strategy: own\nstages:\n%s", wrong[i].stages);
        assert_int_not_equal(read_text(self, text), ST_OK);
        assert_contains(said(self->errors), wrong[i].said);
    }
    assert_int_equal(read_text(self, "[]\n"), ST_ERR_VALUE);
    assert_contains(said(self->errors), "s.yaml:1:1: error: a strategy must be a map");
}

/* The last schedule that a strategy may name, and the first that it may not, stand side by side. */
TEST_OF(schedules_by_name_are_those_without_folds, strategy_case *self, make_case, drop_case)
{
    for (int i = 0; i < ST_SCHEDULES; i++) {
        const char *name = st_schedule_name((st_schedule_kind)i);
        char text[256];
        (void)snprintf(text, sizeof text,
                       "strategy: own\nschedule: %s\nstages: [{devices: 0, layers: 0}]\n", name);
        assert_int_equal(read_text(self, text),
                         i <= ST_SCHEDULE_ZERO_BUBBLE_2 ? ST_OK : ST_ERR_VALUE);
        st_errors_clear(self->errors);
    }
}

/* `count` ranges, or passes, in a row. */
static st_status read_many(strategy_case *self, const char *before, const char *each, size_t count,
                           const char *after)
{
    size_t size = strlen(before) + count * strlen(each) + strlen(after) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    char *at = stpcpy(text, before);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, each);
    (void)stpcpy(at, after);
    st_status status = read_text(self, text);
    free(text);
    return status;
}

TEST_WITH(as_many_ranges_as_stages_are_too_many_from_4097, make_case, drop_case)
{
    static const char before[] = "strategy: own\nstages:\n  - {layers: 0, devices: '";
    strategy_case *self = *state;
    assert_int_equal(read_many(self, before, "3,", 4095, "3'}\n"), ST_OK);
    assert_int_equal(self->strategy.stages[0].devices.count, 4096);
    assert_int_equal(read_many(self, before, "3,", 4096, "3'}\n"), ST_ERR_LIMIT);
    assert_contains(said(self->errors),
                    "s.yaml:3:26: error: 'devices' has 4097 ranges: expected at most 4096");
}

TESTS(strategy_read);

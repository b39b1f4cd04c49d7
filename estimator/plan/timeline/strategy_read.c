/* SPDX-License-Identifier: Apache-2.0 */
/* Reading strategy files; see strategy.h. */
#include "timeline/strategy.h"

#include "base/chars.h"
#include "base/memory.h"
#include "base/yaml_read.h"
#include "job/keys.h"
#include "job/value.h"
#include "steptime/keys.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SPANS = 4096 };

/* Reads a number at `text[*at]` and moves *at behind it; false if there is none, or it is too
 * large.
 */
static bool take_number(const char *text, size_t *at, uint32_t *number)
{
    uint32_t value = 0;
    size_t first = *at;
    for (; st_is_digit(text[*at]); (*at)++) {
        value = 10 * value + (uint32_t)(text[*at] - '0');
        if (value > ST_STRATEGY_NUMBER)
            return false;
    }
    *number = value;
    return *at > first;
}

static void skip_blanks(const char *text, size_t *at)
{
    while (text[*at] == ' ')
        (*at)++;
}

/* "3" or "0-7". */
static bool take_span(st_yaml_reader *reader, const st_yaml_node *node, size_t *at,
                      st_strategy_span *span)
{
    const char *text = node->text;
    skip_blanks(text, at);
    size_t first = *at;
    span->place = st_yaml_place_at(node, first);
    bool good = take_number(text, at, &span->first);
    span->last = span->first;
    skip_blanks(text, at);
    if (good && text[*at] == '-') {
        (*at)++;
        skip_blanks(text, at);
        good = take_number(text, at, &span->last);
        skip_blanks(text, at);
    }
    if (good && span->last >= span->first && (text[*at] == ',' || text[*at] == '\0'))
        return true;
    ST_NOTE(reader, ST_ERR_VALUE, span->place,
            "invalid range '%.40s'" ST_EXPECTED
            "numbers up to %d and ascending ranges, such as 0-7, 16-23",
            text + first, ST_STRATEGY_NUMBER);
    return false;
}

static st_strategy_spans read_spans(st_yaml_reader *reader, const st_yaml_node *map,
                                    const char *key)
{
    const char *text = st_read_text(reader, map, key, NULL);
    const st_yaml_node *node = st_yaml_get(map, key);
    size_t most = 1;
    if (text == NULL)
        return (st_strategy_spans){0};
    for (size_t i = 0; i < node->length; i++)
        most += text[i] == ',' ? 1 : 0;
    if (most > MOST_SPANS) {
        ST_NOTE(reader, ST_ERR_LIMIT, node->place, "'%s' has %zu ranges" ST_EXPECTED "at most %d",
                key, most, MOST_SPANS);
        return (st_strategy_spans){0};
    }
    st_strategy_span *spans = st_read_alloc(reader, most, sizeof *spans);
    size_t count = 0;
    size_t at = 0;
    for (; spans != NULL && count < most; count++, at++)
        if (!take_span(reader, node, &at, &spans[count]))
            return (st_strategy_spans){0};
    return (st_strategy_spans){spans, count};
}

/* "F3", "B0.1"; false where it is none. */
static bool read_pass(const char *text, st_slot *slot)
{
    static const char letters[] = {'F', 'I', 'W'};
    uint32_t chunk = 0;
    size_t at = 1;
    *slot = (st_slot){.pass = ST_PASSES};
    for (int pass = 0; pass < ST_PASSES; pass++)
        if (text[0] == letters[pass])
            slot->pass = (uint8_t)pass;
    if (text[0] == 'B')
        *slot = (st_slot){.pass = ST_PASS_BACKWARD, .with_weights = true};
    if (slot->pass == ST_PASSES || !take_number(text, &at, &slot->micro))
        return false;
    if (text[at] == '.') {
        at++;
        if (!take_number(text, &at, &chunk) || chunk > UINT16_MAX)
            return false;
        slot->chunk = (uint16_t)chunk;
    }
    return text[at] == '\0';
}

/* A size of its own; 0 where the stage has none. */
static double read_split(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    const char *text = st_read_text(reader, map, key, NULL);
    uint32_t number = 0;
    size_t at = 0;
    if (text == NULL)
        return 0;
    if (take_number(text, &at, &number) && text[at] == '\0' && number > 0)
        return number;
    ST_NOTE(reader, ST_ERR_VALUE, st_yaml_get(map, key)->place,
            "invalid size '%.40s' of %s" ST_EXPECTED "a whole number from 1 to %d", text, key,
            ST_STRATEGY_NUMBER);
    return 0;
}

static void read_stage(st_yaml_reader *reader, const st_yaml_node *map, size_t index,
                       st_strategy_stage *stage)
{
    static const char *const keys[] = {"devices", "layers", "order", "tp", "cp", "recompute"};
    const char *what = st_errors_text(reader->errors, "stage %zu", index);
    *stage = (st_strategy_stage){.place = map->place};
    if (!st_read_is(reader, map, ST_YAML_MAP,
                    st_errors_text(reader->errors, "%s must be a map", what)))
        return;
    st_read_keys(reader, map, what, keys, ST_COUNT(keys), 2);
    stage->devices = read_spans(reader, map, "devices");
    stage->layers = read_spans(reader, map, "layers");
    const st_yaml_node *list = st_read_list(reader, map, "order", ST_STRATEGY_PASSES);
    if (list != NULL) {
        st_strategy_pass *passes = st_read_alloc(reader, list->count + 1, sizeof *passes);
        for (size_t i = 0; passes != NULL && i < list->count; i++) {
            const st_yaml_node *item = list->items[i];
            passes[i].place = item->place;
            if (item->kind != ST_YAML_SCALAR || !read_pass(item->text, &passes[i].slot))
                ST_NOTE(reader, ST_ERR_VALUE, item->place,
                        "invalid pass: %s" ST_EXPECTED
                        "F, B, I or W with a micro-batch from 0, and a chunk after a dot: F3, B0.1",
                        st_yaml_describe(item, reader->errors));
        }
        stage->order = passes;
        stage->pass_count = list->count;
        stage->order_place = list->place;
    }
    stage->tp = read_split(reader, map, "tp");
    stage->cp = read_split(reader, map, "cp");
    stage->recompute = st_read_text(reader, map, "recompute", NULL);
    if (stage->recompute != NULL) {
        const char *text = stage->recompute;
        const st_value_text value = {
            .text = text, .length = strlen(text), .place = st_yaml_get(map, "recompute")->place};
        double number = 0;
        st_note(&reader->status,
                st_value_parse(st_key_in("", ST_KEY_RECOMPUTE), &value, &number, reader->errors));
    }
}

/* One that a strategy can name; but for the interleaved one, of stages of one chunk. */
static void check_schedule(st_yaml_reader *reader, const st_strategy *strategy)
{
    const char *name = strategy->schedule;
    size_t chunks = strategy->count > 0 ? strategy->stages[0].layers.count : 0;
    int kind = 0;
    while (name != NULL && kind <= ST_SCHEDULE_ZERO_BUBBLE_2 &&
           strcmp(name, st_schedule_name((st_schedule_kind)kind)) != 0)
        kind++;
    if (name != NULL && kind > ST_SCHEDULE_ZERO_BUBBLE_2)
        ST_NOTE(reader, ST_ERR_VALUE, strategy->schedule_place,
                "unknown schedule of a strategy" ST_FOUND "'%.60s'" ST_EXPECTED
                "gpipe, 1f1b, interleaved, zero_bubble or zero_bubble_2",
                name);
    else if (name != NULL && chunks > 1 && kind != ST_SCHEDULE_INTERLEAVED)
        ST_NOTE(reader, ST_ERR_VALUE, strategy->schedule_place,
                "stages have %zu ranges of layers, a chunk for each" ST_FOUND
                "schedule %s" ST_EXPECTED "interleaved, or one range",
                chunks, name);
}

st_status st_strategy_read(const st_yaml_node *root, st_arena *arena, st_strategy *strategy,
                           st_errors *errors)
{
    static const char *const keys[] = {"strategy", "stages", "schedule"};
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = root->place.file};
    *strategy = (st_strategy){0};
    if (!st_read_is(&reader, root, ST_YAML_MAP, "a strategy must be a map"))
        return reader.status;
    st_read_keys(&reader, root, "a strategy", keys, ST_COUNT(keys), 2);
    strategy->name = st_read_text(&reader, root, "strategy", "");
    strategy->schedule = st_read_text(&reader, root, "schedule", NULL);
    if (strategy->schedule != NULL)
        strategy->schedule_place = st_yaml_get(root, "schedule")->place;
    const st_yaml_node *list = st_read_list(&reader, root, "stages", ST_STRATEGY_STAGES);
    if (list != NULL && list->count == 0)
        ST_NOTE(&reader, ST_ERR_VALUE, list->place, "a strategy has no stages");
    st_strategy_stage *stages =
        list != NULL ? st_read_alloc(&reader, list->count + 1, sizeof *stages) : NULL;
    for (size_t i = 0; stages != NULL && i < list->count; i++)
        read_stage(&reader, list->items[i], i, &stages[i]);
    strategy->stages = stages;
    strategy->count = stages != NULL ? list->count : 0;
    /* Either all stages have an order or none; orders exclude a schedule. */
    size_t with = 0;
    for (size_t i = 0; i < strategy->count; i++)
        with += strategy->stages[i].order != NULL ? 1 : 0;
    for (size_t i = 0; i < strategy->count && with > 0; i++)
        if (strategy->stages[i].order == NULL)
            ST_NOTE(&reader, ST_ERR_VALUE, strategy->stages[i].place,
                    "stage %zu has no order" ST_EXPECTED "one, as other stages have", i);
    if (with > 0 && strategy->schedule != NULL)
        ST_NOTE(&reader, ST_ERR_VALUE, strategy->schedule_place,
                "a strategy has both a schedule and orders" ST_EXPECTED "one of them");
    check_schedule(&reader, strategy);
    return reader.status;
}

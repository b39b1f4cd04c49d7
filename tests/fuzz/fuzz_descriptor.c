/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of plugins from any bytes: structures of any size, texts that are missing, long or no
 * UTF-8, counts and kinds beyond all limits, ranges upside down. Only pointers are real, for no
 * host can tell one that is not. What is accepted has names, units and defaults that hold, and
 * opens.
 */
#include "fuzz.h"
#include "plugin/plugins.h"

#include "plugin/module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 6, LONG_TEXT = 5000 };

/* The input as a stream of choices; zeros behind its end. */
typedef struct choices {
    const uint8_t *data;
    size_t left;
    st_arena *arena;
} choices;

static uint8_t byte_of(choices *from)
{
    if (from->left == 0) {
        return 0;
    }
    from->left--;
    return *from->data++;
}

static void *room(const choices *from, size_t count, size_t size_bytes)
{
    void *made = st_arena_alloc(from->arena, count + 1, size_bytes);
    FUZZ_REQUIRE(made != NULL);
    return made;
}

/* A piece of the input itself, up to a zero byte. */
static const char *own_text(choices *from)
{
    size_t length = byte_of(from) % 32;
    length = length < from->left ? length : from->left;
    const char *text = st_arena_copy(from->arena, (const char *)from->data, length);
    FUZZ_REQUIRE(text != NULL);
    from->data += length;
    from->left -= length;
    return text;
}

/* Mostly what stands at this place in a good descriptor, so that others are reached. */
static const char *text_of(choices *from, const char *usual)
{
    switch (byte_of(from) % 16) {
    case 1:
        return NULL;
    case 2:
        return "";
    case 3: {
        char *text = room(from, LONG_TEXT, 1);
        memset(text, 'x', LONG_TEXT);
        return text;
    }
    case 4:
        return "\xc3\x28";
    case 5:
        return "two\nlines";
    case 6:
        return "fortnights";
    case 7:
        return own_text(from);
    default:
        return usual;
    }
}

static double number_of(choices *from, double usual)
{
    static const double odd[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, 0.0, -2.385, 1e308};
    uint8_t pick = byte_of(from);
    return pick >= 1 && pick <= sizeof odd / sizeof odd[0] ? odd[pick - 1] : usual;
}

static uint32_t small_number(choices *from, uint32_t usual)
{
    uint8_t pick = byte_of(from);
    return pick == 255 ? UINT32_MAX : pick > 240 ? pick : usual;
}

/* How many there are; sometimes far more than any array holds, which has to be refused unread. */
static size_t count_of(choices *from, size_t real)
{
    uint8_t pick = byte_of(from);
    return pick == 255 ? SIZE_MAX : pick == 254 ? (size_t)1 << 40 : pick == 253 ? 0 : real;
}

/* The size that a structure claims: its own, too little, or a later version's. */
static uint32_t size_of(choices *from, size_t size_bytes)
{
    uint8_t pick = byte_of(from);
    return pick < 240 ? (uint32_t)size_bytes : pick < 250 ? pick - 240U : (uint32_t)size_bytes + 8;
}

static const st_plugin_option *make_option(choices *from)
{
    static const char *const names[] = {"eta", "model", "table", "alpha", "beta", "gamma"};
    static const char *const defaults[] = {"4.5 us", "ring", "a.csv"};
    st_plugin_option *made = room(from, 1, sizeof *made); /* room() has one more behind it */
    uint32_t kind = byte_of(from) % 3;
    if (byte_of(from) == 255) {
        return NULL;
    }
    *made = (st_plugin_option){
        .struct_size = size_of(from, sizeof *made),
        .kind = small_number(from, kind),
        .flags = byte_of(from),
        .name = text_of(from, names[byte_of(from) % 6]),
        .unit = text_of(from, kind == ST_PLUGIN_NUMBER ? "us" : ""),
        .choices = text_of(from, kind == ST_PLUGIN_CHOICE ? "ring tree" : ""),
        .default_text = text_of(from, defaults[kind]),
        .minimum = number_of(from, 0.0),
        .maximum = number_of(from, 1.0),
        .doc = text_of(from, "a line"),
        .cite = text_of(from, ""),
    };
    return made;
}

static const st_plugin_argument *make_argument(choices *from)
{
    static const char *const names[] = {"size", "ranks", "cluster.nodes", "per_node", "a.b.c", "b"};
    st_plugin_argument *made = room(from, 1, sizeof *made);
    if (byte_of(from) == 255) {
        return NULL;
    }
    *made = (st_plugin_argument){
        .struct_size = size_of(from, sizeof *made),
        .flags = byte_of(from),
        .name = text_of(from, names[byte_of(from) % 6]),
        .unit = text_of(from, byte_of(from) % 2 == 0 ? "B" : ""),
        .doc = text_of(from, ""),
    };
    return made;
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    (void)columns;
    for (size_t row = 0; row < rows; row++) {
        values[row] = 2.385;
    }
    return ST_PLUGIN_OK;
}

static const st_plugin_provider *make_provider(choices *from)
{
    static const char *const names[] = {"all_reduce", "all_gather", "send_recv", "slow", "x", "y"};
    st_plugin_provider *made = room(from, 1, sizeof *made);
    size_t count = byte_of(from) % MOST_PARTS;
    const st_plugin_argument **arguments = room(from, count, sizeof *arguments);
    for (size_t i = 0; i < count; i++) {
        arguments[i] = make_argument(from);
    }
    if (byte_of(from) == 255) {
        return NULL;
    }
    *made = (st_plugin_provider){
        .struct_size = size_of(from, sizeof *made),
        .flags = byte_of(from),
        .name = text_of(from, names[byte_of(from) % 6]),
        .unit = text_of(from, "us"),
        .doc = text_of(from, "a time"),
        .cite = text_of(from, ""),
        .arguments = byte_of(from) == 255 ? NULL : arguments,
        .argument_count = count_of(from, count),
        .evaluate = byte_of(from) == 255 ? NULL : evaluate,
    };
    return made;
}

static int order(void *instance, const st_plugin_pipeline *pipeline, const st_plugin_order *out)
{
    (void)instance;
    (void)pipeline;
    (void)out;
    return ST_PLUGIN_FAILED;
}

static const st_plugin_schedule *make_schedule(choices *from)
{
    st_plugin_schedule *made = room(from, 1, sizeof *made);
    if (byte_of(from) == 255) {
        return NULL;
    }
    *made = (st_plugin_schedule){
        .struct_size = size_of(from, sizeof *made),
        .flags = byte_of(from),
        .name = text_of(from, byte_of(from) % 2 == 0 ? "first" : "second"),
        .doc = text_of(from, "a line"),
        .cite = text_of(from, ""),
        .order = byte_of(from) == 255 ? NULL : order,
    };
    return made;
}

static const st_plugin *make_plugin(choices *from)
{
    st_plugin *made = room(from, 1, sizeof *made);
    size_t option_count = byte_of(from) % MOST_PARTS;
    size_t provider_count = (1U + byte_of(from)) % MOST_PARTS;
    size_t schedule_count = byte_of(from) % 3;
    const st_plugin_option **options = room(from, option_count, sizeof *options);
    const st_plugin_provider **providers = room(from, provider_count, sizeof *providers);
    for (size_t i = 0; i < option_count; i++) {
        options[i] = make_option(from);
    }
    for (size_t i = 0; i < provider_count; i++) {
        providers[i] = make_provider(from);
    }
    const st_plugin_schedule **schedules = room(from, schedule_count, sizeof *schedules);
    for (size_t i = 0; i < schedule_count; i++) {
        schedules[i] = make_schedule(from);
    }
    *made = (st_plugin){
        .struct_size = size_of(from, sizeof *made),
        .abi = small_number(from, ST_PLUGIN_ABI),
        .id = text_of(from, "fuzzed"),
        .version = text_of(from, "1.2.0"),
        .licence = text_of(from, "Apache-2.0"),
        .summary = text_of(from, "a line"),
        .options = byte_of(from) == 255 ? NULL : options,
        .option_count = count_of(from, option_count),
        .providers = byte_of(from) == 255 ? NULL : providers,
        .provider_count = count_of(from, provider_count),
        .schedules = byte_of(from) == 255 ? NULL : schedules,
        .schedule_count = count_of(from, schedule_count),
    };
    return made;
}

/* ---- what must hold ---- */

static void check_option(const st_plugin_module *module, size_t index)
{
    const st_plugin_option *option = module->shown.options[index];
    double number = st_plugin_default(module, index);
    FUZZ_REQUIRE(st_plugin_is_name(option->name) && option->doc[0] != '\0');
    FUZZ_REQUIRE(st_plugin_find_option(module, option->name) == index);
    FUZZ_REQUIRE(option->kind <= ST_PLUGIN_TEXT && option->unit != NULL && option->cite != NULL);
    if (option->kind == ST_PLUGIN_NUMBER) {
        FUZZ_REQUIRE(number >= option->minimum && number <= option->maximum);
    } else if (option->kind == ST_PLUGIN_CHOICE) {
        FUZZ_REQUIRE(number >= 0 && number < (double)module->options[index].choice_count);
    }
}

/* A name, or one with an index behind it, "t_stage[first,moe]". */
static bool is_cell(const char *text)
{
    const char *index = strchr(text, '[');
    return index == NULL ? st_plugin_is_name(text)
                         : index > text && strcspn(text, "]") == strlen(text) - 1;
}

static void check_provider(const st_plugin_module *module, size_t index)
{
    const st_plugin_provider *provider = module->shown.providers[index];
    FUZZ_REQUIRE(is_cell(provider->name) && provider->evaluate != NULL);
    FUZZ_REQUIRE(st_plugin_find_provider(module, provider->name) == index);
    FUZZ_REQUIRE(provider->argument_count <= 64);
    for (size_t i = 0; i < provider->argument_count; i++) {
        FUZZ_REQUIRE(provider->arguments[i]->name[0] != '\0');
        FUZZ_REQUIRE(provider->arguments[i]->unit != NULL && provider->arguments[i]->doc != NULL);
    }
}

static void check_open(const st_plugin_module *module, st_errors *errors)
{
    st_plugin_instance *instance = NULL;
    double value = 0;
    const double *columns[64] = {NULL};
    st_status status = st_plugin_open(module, NULL, 0, (st_place){0}, &instance, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE(status == ST_OK);
    FUZZ_REQUIRE(module->shown.provider_count == 0 ||
                 (st_plugin_evaluate(instance, 0, 1, columns, &value) == ST_OK && value == 2.385));
    st_plugin_close(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);
    choices from = {.data = data, .left = size, .arena = arena};
    st_plugin_module module = {.file = "/plugins/fuzzed/fuzzed.so", .folder = "/plugins/fuzzed"};
    const st_plugin *raw = byte_of(&from) == 255 ? NULL : make_plugin(&from);
    st_status status = st_module_describe(&module, raw, (st_place){0}, arena, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        FUZZ_REQUIRE(st_plugin_is_id(module.shown.id));
        FUZZ_REQUIRE(module.shown.provider_count + module.shown.schedule_count >= 1);
        for (size_t i = 0; i < module.shown.option_count; i++) {
            check_option(&module, i);
        }
        for (size_t i = 0; i < module.shown.provider_count; i++) {
            check_provider(&module, i);
        }
        check_open(&module, errors);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return 0;
}

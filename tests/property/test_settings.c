/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An estimate whose keys were set, in any order and any number of times, is the estimate of a job
 * that was created with the same settings: the same status, messages, checks and bits. A setting
 * that a new estimate refuses changes nothing.
 * STEPTIME_SEQUENCES=N tries more of them, STEPTIME_JOB=NAME one job alone.
 */
#include "../unit/job_support.h"
#include "property.h"

enum { DEFAULT_SEQUENCES = 6, SETTINGS = 9, BATCH = 3, SLIDES = 20, NAMES = 6 };

/* What settings give keys that no number describes. */
static const char *const others[] = {
    "model=llama3-70b",
    "model=gpt3-175b",
    "model=deepseek-v3",
    "cluster=dgx-h100",
    "cluster=selene",
    "cluster.gpu=a100-sxm-80gb",
    "parallel.order=tp-dp-pp",
    "parallel.order=tp-cp-ep-dp-pp",
    "sheet=megatron",
    "sheet=li2024",
    "refine=alpha-beta",
    "refine=none",
    "parallel.layout=auto",
    "parallel.schedule=zb-h1",
    "stack=nemo",
    "constants.nonsense=2.385",
    "name=another",
    "parallel.tpp=2",
    "batch.micro=2.385",
    "batch.micro",
    "=7",
};

typedef struct live {
    const char *job;
    st_estimate *estimate;
    const char *sets[SETTINGS * (BATCH + 1)];
    size_t count;
    st_arena *arena;
    st_errors *errors;
    st_errors *expected;
} live;

static const char *messages(const live *own, st_errors *errors)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    st_errors_write(errors, stream);
    assert_int_equal(fclose(stream), 0);
    const char *kept = st_arena_copy(own->arena, text, length);
    free(text);
    st_errors_clear(errors);
    return kept;
}

static st_estimate *create(const live *own, const char *const *sets, size_t count,
                           st_errors *errors)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    request.job = own->job;
    request.sets = sets;
    request.set_count = count;
    return st_estimate_create(&request, &estimate, errors) == ST_OK ? estimate : NULL;
}

/* ---- settings ---- */

/* A value near the present one, or anywhere in the key's range. */
static double pick_number(property_random *random, const st_key *key, double now)
{
    double low = key->minimum > 0 ? key->minimum : 0;
    bool count = key->kind == ST_KEY_COUNT;
    double value = now > 0 ? now : 1;
    switch (random_below(random, 5)) {
    case 0:
        value = count ? value + 1 : value * 1.1;
        break;
    case 1:
        value = count ? value * 2 : value * (0.5 + random_unit_interval(random));
        break;
    case 2:
        value = count ? floor(value / 2) : value / 2.385;
        break;
    case 3:
        value = low; /* 0: mostly something that the job cannot have any more */
        break;
    default:
        value = count ? (double)random_between(random, 1, 16) : random_unit_interval(random);
        break;
    }
    value = value < key->minimum ? key->minimum : value;
    return value > key->maximum ? key->maximum : value;
}

static const char *pick_name(const live *own, property_random *random, const char *names)
{
    size_t count = 1;
    for (const char *c = names; *c != '\0'; c++)
        count += *c == ' ' ? 1 : 0;
    const char *name = names;
    for (size_t skip = random_below(random, count); skip > 0; skip--)
        name = strchr(name, ' ') + 1;
    return st_arena_copy(own->arena, name, strcspn(name, " "));
}

/* "cluster.bandwidth=1.87e+11 B/s" in the unit of the key, or another word. */
static const char *pick_value(const live *own, property_random *random, const st_key *key,
                              double now)
{
    st_unit unit;
    switch (key->kind) {
    case ST_KEY_BOOL:
        return st_arena_printf(own->arena, "%s=%s", key->path,
                               random_below(random, 2) == 0 ? "true" : "false");
    case ST_KEY_ENUM:
        return st_arena_printf(own->arena, "%s=%s", key->path, pick_name(own, random, key->values));
    case ST_KEY_COUNT:
        return st_arena_printf(own->arena, "%s=%.0f", key->path, pick_number(random, key, now));
    case ST_KEY_NUMBER:
        return st_arena_printf(own->arena, "%s=%.17g", key->path, pick_number(random, key, now));
    case ST_KEY_QUANTITY:
        assert_int_equal(st_unit_parse(key->unit, strlen(key->unit), (st_place){0}, &unit, NULL),
                         ST_OK);
        return st_arena_printf(own->arena, "%s=%.17g %s", key->path,
                               pick_number(random, key, now) * unit.divisor / unit.multiplier,
                               key->unit);
    case ST_KEY_TEXT:
        break;
    }
    return others[random_below(random, sizeof others / sizeof others[0])];
}

/* A setting of some input of the sheet, of any key, or of something else. */
static const char *pick_setting(const live *own, property_random *random)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    size_t way = random_below(random, 16);
    if (way == 0)
        return others[random_below(random, sizeof others / sizeof others[0])];
    if (way == 1)
        return pick_value(own, random, &keys[random_below(random, count)], 1);
    do { /* inputs come first */
        assert_int_equal(
            st_estimate_cell_at(own->estimate,
                                random_below(random, st_estimate_cell_count(own->estimate)), &cell,
                                own->errors),
            ST_OK);
    } while (!cell.is_input);
    const st_key *key = st_key_find(cell.formula);
    return key != NULL ? pick_value(own, random, key, cell.value)
                       : st_arena_printf(own->arena, "%s=%s", cell.formula,
                                         cell.text[0] != '\0' ? cell.text : "1");
}

/* ---- comparing ---- */

static void fail_at(const live *own, const char *what)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fprintf(stream, "%s: estimate %s", what, own->job);
    for (size_t i = 0; i < own->count; i++)
        fprintf(stream, " --set '%s'", own->sets[i]);
    (void)fclose(stream);
    fail_msg("%s", text);
}

static void compare_cells(const live *own, st_estimate *fresh, property_random *random)
{
    const char *names[NAMES];
    double values[NAMES];
    double expected[NAMES];
    size_t count = st_estimate_cell_count(fresh);
    if (count != st_estimate_cell_count(own->estimate))
        fail_at(own, "another sheet");
    for (size_t i = 0; i < count; i++) {
        st_estimate_cell a = ST_ESTIMATE_CELL_INIT;
        st_estimate_cell b = ST_ESTIMATE_CELL_INIT;
        assert_int_equal(st_estimate_cell_at(own->estimate, i, &a, own->errors), ST_OK);
        assert_int_equal(st_estimate_cell_at(fresh, i, &b, own->expected), ST_OK);
        if (!b.is_computed && !b.is_input && a.is_computed)
            continue; /* it was read before */
        if (strcmp(a.name, b.name) != 0 || strcmp(a.text, b.text) != 0 ||
            strcmp(a.section, b.section) != 0 || a.is_assumed != b.is_assumed ||
            a.is_computed != b.is_computed || (a.is_computed && !same_bits(a.value, b.value)))
            fail_at(own, a.name);
    }
    for (size_t i = 0; i < NAMES; i++) {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        assert_int_equal(
            st_estimate_cell_at(fresh, random_below(random, count), &cell, own->expected), ST_OK);
        names[i] = cell.name;
    }
    st_status got = st_estimate_read_many(own->estimate, names, NAMES, values, own->errors);
    st_status wanted = st_estimate_read_many(fresh, names, NAMES, expected, own->expected);
    if (got != wanted)
        fail_at(own, "another status of several cells");
    for (size_t i = 0; i < NAMES; i++)
        if (!same_bits(values[i], expected[i]) && !(isnan(values[i]) && isnan(expected[i])))
            fail_at(own, names[i]);
}

static void compare(const live *own, property_random *random)
{
    st_errors_clear(own->errors);
    st_errors_clear(own->expected);
    st_estimate *fresh = create(own, own->sets, own->count, own->expected);
    if (fresh == NULL)
        fail_at(own, messages(own, own->expected));
    st_errors_clear(own->expected); /* warnings */
    st_status got = st_estimate_compute(own->estimate, own->errors);
    st_status wanted = st_estimate_compute(fresh, own->expected);
    const char *says = messages(own, own->errors);
    const char *expected = messages(own, own->expected);
    if (got != wanted || strcmp(says, expected) != 0)
        fail_at(own, says);
    for (size_t i = 0; i < st_estimate_check_count(fresh); i++) {
        st_estimate_check a = ST_ESTIMATE_CHECK_INIT;
        st_estimate_check b = ST_ESTIMATE_CHECK_INIT;
        if (st_estimate_check_at(own->estimate, i, &a, own->errors) !=
                st_estimate_check_at(fresh, i, &b, own->expected) ||
            a.holds != b.holds)
            fail_at(own, "another check");
    }
    compare_cells(own, fresh, random);
    st_errors_clear(own->errors);
    st_errors_clear(own->expected);
    if (random_below(random, 4) == 0 && wanted == ST_OK) {
        st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
        st_buffer a = {0};
        st_buffer b = {0};
        view.all = random_below(random, 2) == 0;
        got = st_estimate_write(own->estimate, &view, &a, own->errors);
        wanted = st_estimate_write(fresh, &view, &b, own->expected);
        if (got != wanted || (wanted == ST_OK && strcmp(a.data, b.data) != 0)) {
            printf("%s\n---\n%s\n", a.data, b.data);
            fail_at(own, "another report");
        }
        st_buffer_free(&a);
        st_buffer_free(&b);
    }
    st_estimate_destroy(fresh);
}

/* One step: some settings at once; those that a new estimate refuses are refused, too. */
static void set_some(live *own, property_random *random)
{
    const char *sets[BATCH];
    size_t count = random_below(random, 3) == 0 ? 1 + random_below(random, BATCH) : 1;
    for (size_t i = 0; i < count; i++) {
        sets[i] = pick_setting(own, random);
        own->sets[own->count + i] = sets[i];
    }
    st_errors_clear(own->expected);
    st_estimate *fresh = create(own, own->sets, own->count + count, own->expected);
    const char *expected = messages(own, own->expected);
    st_errors_clear(own->errors);
    st_status status = count == 1 ? st_estimate_set(own->estimate, sets[0], own->errors)
                                  : st_estimate_set_many(own->estimate, sets, count, own->errors);
    const char *says = messages(own, own->errors);
    if ((status == ST_OK) != (fresh != NULL)) {
        own->count += count;
        fail_at(own, st_arena_printf(own->arena, "%s instead of %s", says, expected));
    }
    if (status == ST_OK)
        own->count += count;
    else if (says[0] == '\0')
        fail_at(own, "an error without a message");
    st_estimate_destroy(fresh);
}

/* A number that is moved many times, as by a slider: what is run again is then less than at first.
 */
static void slide(live *own, property_random *random)
{
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    const char *last = NULL;
    size_t count = st_estimate_cell_count(own->estimate);
    assert_int_equal(
        st_estimate_cell_at(own->estimate, random_below(random, count), &cell, own->errors), ST_OK);
    const st_key *key = cell.is_input ? st_key_find(cell.formula) : NULL;
    if (key == NULL || (key->kind != ST_KEY_NUMBER && key->kind != ST_KEY_QUANTITY))
        key = st_key_find("cluster.nic_bandwidth");
    for (size_t i = 0; i < SLIDES; i++) {
        const double value = 2.385 * (1.0 + 0.0385 * (double)i);
        const char *unit = key->kind == ST_KEY_QUANTITY ? key->unit : "";
        const char *set = st_arena_printf(own->arena, "%s=%.17g %s", key->path, value, unit);
        if (st_estimate_set(own->estimate, set, own->errors) == ST_OK) {
            (void)!st_estimate_compute(own->estimate, own->errors);
            last = set;
        }
        st_errors_clear(own->errors);
    }
    if (last != NULL)
        own->sets[own->count++] = last;
}

static void run_sequence(const char *job, property_random *random)
{
    live own = {.job = job,
                .arena = st_arena_create(),
                .errors = st_errors_create(),
                .expected = st_errors_create()};
    assert_true(own.arena != NULL && own.errors != NULL && own.expected != NULL);
    own.estimate = create(&own, NULL, 0, own.errors);
    if (own.estimate == NULL)
        fail_at(&own, messages(&own, own.errors));
    for (size_t i = 0; i < SETTINGS; i++) {
        set_some(&own, random);
        if (random_below(random, 3) == 0)
            slide(&own, random);
        if (random_below(random, 2) == 0)
            compare(&own, random);
    }
    compare(&own, random);
    st_estimate_destroy(own.estimate);
    st_errors_destroy(own.errors);
    st_errors_destroy(own.expected);
    st_arena_destroy(own.arena);
}

TEST_OF(test_settings_are_as_in_a_new_estimate, property_random *random, NULL, NULL)
{
    const char *only_job = getenv("STEPTIME_JOB");
    const char *given = getenv("STEPTIME_SEQUENCES");
    size_t sequences = given != NULL ? strtoul(given, NULL, 10) : DEFAULT_SEQUENCES;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_paths *paths = NULL;
    const st_path_entry *jobs = NULL;
    size_t count = 0;
    assert_int_equal(st_paths_create(NULL, 0, &paths, errors), ST_OK);
    assert_int_equal(st_paths_list(paths, ST_FOLDER_JOBS, arena, &jobs, &count, errors), ST_OK);
    assert_true(count > 0);
    for (size_t i = 0; i < sequences && count > 0; i++)
        run_sequence(only_job != NULL ? only_job : jobs[random_below(random, count)].name, random);
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}

TESTS_WITH(settings, property_setup, NULL);

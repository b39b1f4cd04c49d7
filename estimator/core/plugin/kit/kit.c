/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kit. Every check loads the plugin in a new child process, so that one that crashes or
 * never ends is one finding among others.
 */
#include "plugin/kit/kit.h"

#include "base/lists.h"
#include "plugin/child.h"
#include "plugin/isolate.h"
#include "plugin/namespaces.h"
#include "plugin/kit/kit_rows.h"
#include "plugin/kit/kit_schedules.h"
#include "plugin/kit/manifest.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

enum { MEMORY_LIMIT_MIB = 4096, TURNS = 40, MAX_CHECKS = 32 };

/* One check at work in its child. */
typedef struct trial {
    const st_paths *paths;
    const char *name;
    size_t check;   /* its index in the table */
    unsigned walls; /* around the child that checked (namespaces.h); 0 where it crashed */
    st_refused_calls *refused; /* of all checks; NULL: nobody asks */
    st_arena *arena;
    st_errors *errors;
    const st_plugin_module *module;
    st_plugin_instance *instance; /* opened with the defaults */
} trial;

static st_finding_kind fail(st_buffer *text, const trial *test, size_t provider, const char *what)
{
    st_buffer_printf(text, "%s: %s", test->module->providers[provider].shown.name, what);
    return ST_FINDING_FAIL;
}

static bool refused(double value)
{
    return value != value;
}

/* All rows of a provider in one block; what the rows are stays the caller's. */
typedef struct block {
    st_kit_rows rows;
    double *values;
} block;

static bool run_block(const trial *test, size_t provider, bool with_optional, block *result)
{
    result->values = st_arena_alloc(test->arena, ST_KIT_ROWS, sizeof(double));
    return result->values != NULL &&
           st_kit_fill(&test->module->providers[provider], with_optional, test->arena,
                       &result->rows) &&
           st_plugin_evaluate(test->instance, provider, result->rows.count, result->rows.given,
                              result->values) == ST_OK;
}

/* "3.2 us where size = 4.096 kB, ranks = 8, bandwidth = 50 GB/s": a value and its arguments. */
static st_finding_kind add_row(const trial *test, size_t provider, const block *all, size_t row,
                               st_buffer *text)
{
    const st_module_provider *shown = &test->module->providers[provider];
    const char *before = " where ";
    char number[ST_QUANTITY_TEXT];
    st_quantity_format(all->values[row], &shown->unit, ST_STYLE_UNIT, number, sizeof number);
    st_buffer_text(text, refused(all->values[row]) ? "a refused row" : number);
    for (size_t j = 0; j < all->rows.columns; j++) {
        if (all->rows.given[j] == NULL)
            continue;
        st_quantity_format(all->rows.values[j][row], &shown->argument_units[j], ST_STYLE_SCALED,
                           number, sizeof number);
        st_buffer_printf(text, "%s%s = %s", before, shown->arguments[j].name, number);
        before = ", ";
    }
    return ST_FINDING_FAIL;
}

/* A fault, and the row and value that show it. */
static st_finding_kind fail_at(const trial *test, size_t provider, const char *what,
                               const block *all, size_t row, st_buffer *text)
{
    (void)fail(text, test, provider, what);
    st_buffer_text(text, ": ");
    return add_row(test, provider, all, row, text);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static st_finding_kind check_open(trial *test, st_buffer *text)
{
    const st_plugin *shown = &test->module->shown;
    st_buffer_printf(text, "%zu option%s, %zu provider%s", shown->option_count,
                     shown->option_count == 1 ? "" : "s", shown->provider_count,
                     shown->provider_count == 1 ? "" : "s");
    if (shown->schedule_count > 0)
        st_buffer_printf(text, ", %zu schedule%s", shown->schedule_count,
                         shown->schedule_count == 1 ? "" : "s");
    return ST_FINDING_PASS;
}

/* Opens with one option at `given`; a failure requires a reason. */
static st_finding_kind try_option(trial *test, const st_plugin_given *given, st_buffer *text)
{
    st_plugin_instance *instance = NULL;
    st_errors_clear(test->errors);
    st_status status =
        st_plugin_open(test->module, given, 1, (st_place){0}, &instance, test->errors);
    st_plugin_close(instance);
    if (status == ST_OK)
        return ST_FINDING_PASS;
    const st_error *first = st_errors_at(test->errors, 0);
    if (first != NULL && strstr(first->message, "no reason given") != NULL) {
        st_buffer_printf(text, "option '%s': open fails without a reason", given->name);
        return ST_FINDING_FAIL;
    }
    return ST_FINDING_PASS;
}

static st_finding_kind check_options(trial *test, st_buffer *text)
{
    size_t count = test->module->shown.option_count;
    st_finding_kind kind = count == 0 ? ST_FINDING_SKIP : ST_FINDING_PASS;
    for (size_t i = 0; i < count && kind != ST_FINDING_FAIL; i++) {
        const st_module_option *option = &test->module->options[i];
        st_plugin_given given = {.name = option->shown.name, .number = option->shown.minimum};
        if (option->shown.kind == ST_PLUGIN_TEXT) {
            given.text = "no such thing/..";
            kind = try_option(test, &given, text);
            continue;
        }
        double most = option->shown.kind == ST_PLUGIN_CHOICE ? (double)option->choice_count - 1
                                                             : option->shown.maximum;
        given.number = option->shown.kind == ST_PLUGIN_CHOICE ? 0 : option->shown.minimum;
        kind = try_option(test, &given, text);
        given.number = most;
        kind = kind == ST_FINDING_FAIL ? kind : try_option(test, &given, text);
    }
    return kind;
}

/* ---- checks of one provider, on its rows ---- */

static st_finding_kind check_finite(const trial *test, size_t provider, const block *all,
                                    st_buffer *text)
{
    for (size_t row = 0; row < all->rows.count; row++)
        if (all->values[row] < 0 || isinf(all->values[row]))
            return fail_at(test, provider, "returns a negative or infinite value", all, row, text);
    return ST_FINDING_PASS;
}

static st_finding_kind check_values(const trial *test, size_t provider, const block *all,
                                    st_buffer *text)
{
    size_t given = 0;
    for (size_t row = 0; row < all->rows.count; row++)
        given += refused(all->values[row]) ? 0 : 1;
    return given > 0 ? check_finite(test, provider, all, text)
                     : fail(text, test, provider, "refuses every ordinary row");
}

static st_finding_kind check_optional(const trial *test, size_t provider, const block *all,
                                      st_buffer *text)
{
    const st_module_provider *shown = &test->module->providers[provider];
    bool optional = false;
    for (size_t j = 0; j < shown->shown.argument_count; j++)
        optional = optional || (shown->arguments[j].flags & ST_PLUGIN_OPTIONAL) != 0;
    st_finding_kind kind = check_finite(test, provider, all, text);
    return kind == ST_FINDING_PASS && !optional ? ST_FINDING_SKIP : kind;
}

static st_finding_kind check_one_rank(const trial *test, size_t provider, const block *all,
                                      st_buffer *text)
{
    if (all->rows.ranks == SIZE_MAX)
        return ST_FINDING_SKIP;
    for (size_t row = 0; row < ST_KIT_SIZES; row++)
        if (!refused(all->values[row]) && all->values[row] != 0)
            return fail_at(test, provider, "returns a nonzero time for one rank", all, row, text);
    return ST_FINDING_PASS;
}

static st_finding_kind check_monotone(const trial *test, size_t provider, const block *all,
                                      st_buffer *text)
{
    if (all->rows.size == SIZE_MAX)
        return ST_FINDING_SKIP;
    for (size_t row = 1; row < all->rows.count; row++) {
        if (row % ST_KIT_SIZES == 0 || refused(all->values[row - 1]))
            continue;
        if (all->values[row] < all->values[row - 1] * (1 - 1e-12)) {
            (void)fail_at(test, provider, "more bytes take less time", all, row - 1, text);
            st_buffer_text(text, "; ");
            return add_row(test, provider, all, row, text);
        }
    }
    return ST_FINDING_PASS;
}

/* Every rank has to receive what it lacks of the message, at no more than the bandwidth. */
static st_finding_kind check_bandwidth(const trial *test, size_t provider, const block *all,
                                       st_buffer *text)
{
    if (all->rows.size == SIZE_MAX || all->rows.bandwidth == SIZE_MAX ||
        all->rows.ranks == SIZE_MAX)
        return ST_FINDING_SKIP;
    for (size_t row = ST_KIT_SIZES; row < all->rows.count; row++) {
        double ranks = all->rows.values[all->rows.ranks][row];
        double bytes = all->rows.values[all->rows.size][row] * (ranks - 1) / ranks;
        double most = all->rows.values[all->rows.bandwidth][row] * all->values[row];
        if (!refused(all->values[row]) && bytes > most * 1.001)
            return fail_at(test, provider, "exceeds the given bandwidth", all, row, text);
    }
    return ST_FINDING_PASS;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (refused(a) && refused(b));
}

static double run_row(const trial *test, size_t provider, const st_kit_rows *rows, size_t row)
{
    const double *columns[ST_REMOTE_COLUMNS];
    double value = (double)NAN;
    for (size_t j = 0; j < rows->columns; j++)
        columns[j] = rows->given[j] == NULL ? NULL : rows->given[j] + row;
    return st_plugin_evaluate(test->instance, provider, 1, columns, &value) == ST_OK ? value
                                                                                     : (double)NAN;
}

static st_finding_kind check_block(const trial *test, size_t provider, const block *all,
                                   st_buffer *text)
{
    for (size_t row = 0; row < all->rows.count; row++)
        if (!same_bits(run_row(test, provider, &all->rows, row), all->values[row]))
            return fail_at(test, provider, "a single row differs from the same row in a block", all,
                           row, text);
    return ST_FINDING_PASS;
}

static const char *fault_of_account(const st_provider_account *account, double value)
{
    double sum = 0;
    bool parts = false;
    for (size_t i = 0; i < account->count; i++) {
        parts = parts || account->terms[i].part;
        sum += account->terms[i].part ? account->terms[i].value : 0;
    }
    if (refused(value))
        return account->refusal == NULL ? "refuses a row without a reason" : NULL;
    if (account->refusal != NULL)
        return "explains a row as refused although it returns a value";
    return parts && fabs(sum - value) > 1e-9 * fabs(value) ? "the parts do not sum to the value"
                                                           : NULL;
}

static st_finding_kind check_explain(const trial *test, size_t provider, const block *all,
                                     st_buffer *text)
{
    for (size_t row = 0; row < all->rows.count; row++) {
        const double *columns[ST_REMOTE_COLUMNS];
        st_provider_account account;
        for (size_t j = 0; j < all->rows.columns; j++)
            columns[j] = all->rows.given[j] == NULL ? NULL : all->rows.given[j] + row;
        st_status status =
            st_plugin_explain(test->instance, provider, columns, test->arena, &account);
        const char *fault =
            status == ST_OK ? fault_of_account(&account, all->values[row]) : "no memory";
        if (fault != NULL)
            return fail_at(test, provider, fault, all, row, text);
    }
    return ST_FINDING_PASS;
}

typedef struct racer {
    const trial *test;
    size_t provider;
    const block *expected;
    double values[ST_KIT_ROWS];
    bool differs;
} racer;

static void *race(void *context)
{
    racer *thread = context;
    const block *all = thread->expected;
    for (size_t turn = 0; turn < TURNS && !thread->differs; turn++) {
        thread->differs =
            st_plugin_evaluate(thread->test->instance, thread->provider, all->rows.count,
                               all->rows.given, thread->values) != ST_OK;
        for (size_t row = 0; row < all->rows.count && !thread->differs; row++)
            thread->differs = !same_bits(thread->values[row], all->values[row]);
    }
    return NULL;
}

static st_finding_kind check_threads(const trial *test, size_t provider, const block *all,
                                     st_buffer *text)
{
    pthread_t threads[2];
    racer racers[2] = {{.test = test, .provider = provider, .expected = all},
                       {.test = test, .provider = provider, .expected = all}};
    size_t started = 0;
    while (started < 2 && pthread_create(&threads[started], NULL, race, &racers[started]) == 0)
        started++;
    for (size_t j = 0; j < started; j++)
        (void)pthread_join(threads[j], NULL);
    return racers[0].differs || racers[1].differs
               ? fail(text, test, provider, "two threads get different values")
               : ST_FINDING_PASS;
}

/* Values that no cluster has: refused or, if the model extends that far, finite. */
static st_finding_kind check_odd(const trial *test, size_t provider, const block *all,
                                 st_buffer *text)
{
    static const double odd[] = {
        (double)NAN, (double)INFINITY, -(double)INFINITY, -1, 0, 1e300, 0.5, 4.6e18, -0.0};
    size_t cases = all->rows.columns * ST_COUNT(odd);
    for (size_t k = 0; k < cases; k++) {
        double *column = all->rows.values[k % all->rows.columns];
        size_t row = all->rows.count / 2;
        double kept = column[row];
        column[row] = odd[k / all->rows.columns];
        double value = run_row(test, provider, &all->rows, row);
        column[row] = kept;
        if (value < 0 || isinf(value))
            return fail(text, test, provider,
                        st_errors_text(
                            test->errors, "returns %g where '%s' is %g", value,
                            test->module->providers[provider].arguments[k % all->rows.columns].name,
                            odd[k / all->rows.columns]));
    }
    return ST_FINDING_PASS;
}

/* ---- checks of the process ---- */

static size_t count_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static st_finding_kind check_files(trial *test, st_buffer *text)
{
    size_t before = count_files();
    for (size_t turn = 0; turn < 3; turn++) {
        st_plugin_instance *instance = NULL;
        if (st_plugin_open(test->module, NULL, 0, (st_place){0}, &instance, test->errors) !=
            ST_OK) {
            st_buffer_text(text, "it cannot be opened twice");
            return ST_FINDING_FAIL;
        }
        st_plugin_close(instance);
    }
    size_t after = count_files();
    if (after > before) {
        st_buffer_printf(text, "%zu files were left open", after - before);
        return ST_FINDING_FAIL;
    }
    return ST_FINDING_PASS;
}

/* A plugin must not change the state that all code of a process shares. */
static st_finding_kind check_process(trial *test, st_buffer *text)
{
    for (size_t i = 0; i < test->module->shown.provider_count; i++) {
        block all;
        (void)run_block(test, i, true, &all);
    }
    st_errors_clear(test->errors);
    (void)st_guard_tell(test->errors);
    const st_error *first = st_errors_at(test->errors, 0);
    if (first == NULL)
        return ST_FINDING_PASS;
    st_buffer_text(text, first->message);
    return ST_FINDING_FAIL;
}

static st_finding_kind check_schedules(trial *test, st_buffer *text)
{
    return st_kit_schedules(test->instance, test->errors, text);
}

/* The providers whose rows a check needs. Without one of them, or where a collective or explained
 * provider fails to evaluate, which other checks report, the check is skipped. */
typedef enum check_scope { ALL, WITHOUT_OPTIONAL, COLLECTIVES, EXPLAINED } check_scope;

static const struct {
    const char *name;
    st_finding_kind (*check)(trial *test, st_buffer *text); /* NULL: of every provider */
    st_finding_kind (*check_rows)(const trial *test, size_t provider, const block *all,
                                  st_buffer *text);
    check_scope scope;
} checks[] = {
    {"loads and opens with its defaults", check_open, NULL, ALL},
    {"options at their limits open or fail with a reason", check_options, NULL, ALL},
    {"values are finite and not negative", NULL, check_values, ALL},
    {"optional arguments can be omitted", NULL, check_optional, WITHOUT_OPTIONAL},
    {"one rank takes no time", NULL, check_one_rank, COLLECTIVES},
    {"more bytes take no less time", NULL, check_monotone, COLLECTIVES},
    {"no transfer exceeds the bandwidth", NULL, check_bandwidth, COLLECTIVES},
    {"a block equals its rows bit for bit", NULL, check_block, ALL},
    {"explanations add up, refusals have reasons", NULL, check_explain, EXPLAINED},
    {"two threads get the same values", NULL, check_threads, ALL},
    {"extreme arguments are refused or give finite values", NULL, check_odd, ALL},
    {"the process state is unchanged", check_process, NULL, ALL},
    {"schedules run every pass once without deadlock", check_schedules, NULL, ALL},
    {"all files are closed", check_files, NULL, ALL},
};

enum { CHECKS = ST_COUNT(checks) };

/* ---- in the child ---------------------------------------------------------------------------- */

static st_finding_kind check_providers(const trial *test, st_buffer *text)
{
    const check_scope scope = checks[test->check].scope;
    st_finding_kind kind = ST_FINDING_SKIP;
    for (size_t i = 0; i < test->module->shown.provider_count; i++) {
        const st_plugin_provider *shown = &test->module->providers[i].shown;
        bool applies = scope == COLLECTIVES ? (shown->flags & ST_PLUGIN_COLLECTIVE) != 0
                                            : scope != EXPLAINED || shown->explain != NULL;
        block all;
        if (!applies)
            continue;
        if (!run_block(test, i, scope != WITHOUT_OPTIONAL, &all)) {
            if (scope == COLLECTIVES || scope == EXPLAINED)
                continue;
            return fail(text, test, i,
                        scope == WITHOUT_OPTIONAL ? "evaluate fails without the optional arguments"
                                                  : "evaluate fails on a block of ordinary rows");
        }
        st_finding_kind found = checks[test->check].check_rows(test, i, &all, text);
        if (found == ST_FINDING_FAIL)
            return found;
        kind = found == ST_FINDING_PASS ? found : kind;
    }
    return kind;
}

static st_finding_kind prepare_and_check(trial *test, st_buffer *text)
{
    st_status status = st_plugin_load_here(test->paths, test->name, (st_place){0}, test->arena,
                                           &test->module, test->errors);
    if (status == ST_OK)
        status =
            st_plugin_open(test->module, NULL, 0, (st_place){0}, &test->instance, test->errors);
    if (status != ST_OK) {
        /* The first message of the list, for a finding. */
        for (size_t i = 0; i < st_errors_size(test->errors); i++) {
            const st_error *error = st_errors_at(test->errors, i);
            if (error->severity == ST_SEVERITY_ERROR) {
                st_buffer_text(text, error->message);
                return ST_FINDING_FAIL;
            }
        }
        st_buffer_text(text, "no memory");
        return ST_FINDING_FAIL;
    }
    st_finding_kind kind = checks[test->check].check != NULL ? checks[test->check].check(test, text)
                                                             : check_providers(test, text);
    st_plugin_close(test->instance);
    return kind;
}

/* The first byte is the kind. */
static void work(void *context, st_buffer *text)
{
    trial *test = context;
    st_buffer found = {0};
    test->arena = st_arena_create();
    test->errors = st_errors_create();
    if (test->arena == NULL || test->errors == NULL)
        return;
    char kind = (char)('0' + prepare_and_check(test, &found));
    st_arena_destroy(test->arena);
    st_errors_destroy(test->errors);
    st_buffer_append(text, &kind, 1);
    st_buffer_text(text, found.data == NULL ? "" : found.data);
    st_buffer_free(&found);
}

static st_status run_check(trial *test, unsigned limit_ms, st_arena *arena, st_finding *finding,
                           st_errors *errors)
{
    const st_child_limits limits = {limit_ms, (size_t)MEMORY_LIMIT_MIB * 1024 * 1024,
                                    test->refused};
    st_child_result result;
    st_status status = st_child_run(work, test, &limits, arena, &result, errors);
    if (status != ST_OK)
        return status;
    bool known = result.length > 0 && result.text[0] >= '0' + ST_FINDING_PASS &&
                 result.text[0] <= '0' + ST_FINDING_SKIP;
    test->walls = result.walls;
    if (result.end == ST_CHILD_DONE && known) {
        finding->kind = (st_finding_kind)(result.text[0] - '0');
        finding->text = result.text + 1;
    } else if (result.end == ST_CHILD_DONE) {
        finding->kind = ST_FINDING_FAIL;
        finding->text = st_child_forged;
    } else {
        finding->kind = ST_FINDING_FAIL;
        finding->text = st_child_end_text(&result, limit_ms, arena);
    }
    return finding->text == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* What the walls around the checks are, and, where they are counted, the calls that they refused.
 */
static st_status put_isolation(const st_check_request *request, unsigned walls, st_arena *arena,
                               st_findings *findings)
{
    const char *text = st_walls_text(walls, arena);
    const char *missing = st_walls_text(ST_WALLS & ~walls, arena);
    if (text == NULL || missing == NULL)
        return ST_ERR_MEMORY;
    findings->items[findings->count++] = (st_finding){
        .check = "the system isolates it from the machine",
        .kind = (walls & ST_WALL_FILTER) != 0 ? ST_FINDING_PASS : ST_FINDING_SKIP,
        .text = missing[0] == '\0'
                    ? text
                    : st_arena_printf(arena, "%s; not available here: %s",
                                      text[0] != '\0' ? text : "resource limits only", missing)};
    if (request->refused != NULL) {
        const char *refused = st_refused_text(request->refused, arena);
        findings->items[findings->count++] = (st_finding){
            .check = "it makes only calls that isolation allows",
            .kind = refused == NULL || refused[0] == '\0' ? ST_FINDING_PASS : ST_FINDING_SKIP,
            .text = refused == NULL      ? NULL
                    : refused[0] == '\0' ? ""
                                         : st_arena_printf(arena, "refused: %s", refused)};
    }
    return findings->items[findings->count - 1].text != NULL ? ST_OK : ST_ERR_MEMORY;
}

st_status st_plugin_check(const st_check_request *request, st_arena *arena, st_findings *findings,
                          st_errors *errors)
{
    const st_paths *paths = request->paths;
    const char *name = request->name;
    st_finding *list = st_arena_alloc(arena, CHECKS + 3, sizeof(*list));
    st_status status = list == NULL ? ST_ERR_MEMORY : ST_OK;
    unsigned walls = 0;
    *findings = (st_findings){.items = list};
    for (size_t i = 0; i < CHECKS && status == ST_OK; i++) {
        trial test = {.paths = paths, .name = name, .check = i, .refused = request->refused};
        list[i].check = checks[i].name;
        status = run_check(&test, request->limit_ms, arena, &list[i], errors);
        findings->count = i + 1;
        walls |= test.walls;
        if (i == 0 && status == ST_OK && list[0].kind == ST_FINDING_FAIL)
            return ST_OK;
    }
    if (status == ST_OK)
        status = put_isolation(request, walls, arena, findings);
    if (status != ST_OK)
        return status;
    /* The last check, after those that run code of the plugin. */
    st_manifest_match match = ST_MANIFEST_ABSENT;
    st_status manifest_status = st_plugin_match_manifest(paths, name, arena, &match, errors);
    findings->items[findings->count++] = (st_finding){
        .check = "its manifest matches this build",
        .kind = match == ST_MANIFEST_SAME    ? ST_FINDING_PASS
                : match == ST_MANIFEST_OTHER ? ST_FINDING_FAIL
                                             : ST_FINDING_SKIP,
        .text = match == ST_MANIFEST_OTHER ? "update it with 'plugin info --manifest'" : ""};
    return manifest_status;
}

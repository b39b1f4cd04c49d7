/* SPDX-License-Identifier: Apache-2.0 */
/* steptime plugin list, info, check, new */
#include "cli/cli.h"

#include "base/number.h"
#include "plugin/kit/aside.h"
#include "plugin/kit/kit.h"
#include "plugin/module.h"
#include "plugin/kit/new.h"
#include "base/csv_write.h"
#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>

static const cli_option list_options[] = {CLI_ROW_JSON, CLI_ROW_CSV, CLI_ROW_PATH, CLI_ROW_OUTPUT,
                                          CLI_ROW_END};
static const cli_option info_options[] = {CLI_ROW_JSON, CLI_ROW_PATH, CLI_ROW_OUTPUT, CLI_ROW_COLOR,
                                          CLI_ROW_END};
static const cli_option check_options[] = {{CLI_LIMIT, CLI_ONE, CLI_WORD_NONE, 0, "limit",
                                            "SECONDS", NULL,
                                            "time for each check, 10 s where it is left out"},
                                           CLI_ROW_JSON,
                                           CLI_ROW_CSV,
                                           CLI_ROW_PATH,
                                           CLI_ROW_OUTPUT,
                                           CLI_ROW_COLOR,
                                           CLI_ROW_END};
static const cli_option new_options[] = {{CLI_DIR, CLI_ONE, CLI_WORD_FOLDER, 0, "dir", "DIR", NULL,
                                          "write to DIR, which must not exist, instead of ./NAME"},
                                         CLI_ROW_END};

static const cli_example list_examples[] = {
    {"steptime plugin list", "the plugins on the search path, and why one cannot be used"},
    {NULL, NULL}};
static const cli_example info_examples[] = {
    {"steptime plugin info nccl-whitebox", "what a plugin provides, reads and can be told"},
    {NULL, NULL}};
static const cli_example check_examples[] = {
    {"steptime plugin check ./build/plugins/mine/mine.so", "try a plugin before it is used"},
    {"steptime plugin check nccl-whitebox --limit 2", "one on the search path, in little time"},
    {NULL, NULL}};
static const cli_example new_examples[] = {
    {"steptime plugin new torus", "a project that builds and passes the check as it stands"},
    {NULL, NULL}};

static void open_json(cli_run *run, st_json *json)
{
    *json = (st_json){.buffer = &run->result};
    st_json_open(json, NULL, '{');
    st_json_count(json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(json, "steptime", STEPTIME_VERSION);
}

/* ---- list ------------------------------------------------------------------------------------ */

typedef struct listed {
    const st_plugin_entry *entries;
    st_plugin_state *states;
    size_t count;
} listed;

/* "" for a plugin that can be used; else "disabled" or "shadowed" and why. */
static const char *state_text(const st_plugin_entry *entry, const st_plugin_state *state)
{
    return !state->usable ? "disabled" : entry->shadowed ? "shadowed" : "ok";
}

static const char *summary_text(const st_plugin_state *state)
{
    return state->usable ? state->summary : state->reason;
}

static void list_as_text(cli_run *run, const listed *list)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {0}, {0}, {.elastic = true}, {.ink = ST_INK_FAINT}};
    const st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 5);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const st_plugin_state *state = &list->states[i];
        const char *word = state_text(&list->entries[i], state);
        const char *const fields[] = {list->entries[i].id, state->version, word,
                                      summary_text(state), list->entries[i].root};
        st_table_row(table, fields);
        st_table_ink(table, 2, strcmp(word, "ok") == 0 ? ST_INK_GOOD : ST_INK_BAD);
    }
    st_table_write(table, &paint, 0, &run->result);
}

static void list_as_data(cli_run *run, const listed *list)
{
    st_json json;
    if (cli_is_given(run, CLI_CSV)) {
        st_buffer_text(&run->result,
                       "name,version,state,reason,summary,providers,file,schedules\n");
        for (size_t i = 0; i < list->count; i++) {
            const st_plugin_state *state = &list->states[i];
            const char *const fields[] = {
                list->entries[i].id,   state->version,  state_text(&list->entries[i], state),
                state->reason,         state->summary,  state->providers,
                list->entries[i].file, state->schedules};
            st_csv_row(fields, 8, &run->result);
        }
        return;
    }
    open_json(run, &json);
    st_json_open(&json, "plugins", '[');
    for (size_t i = 0; i < list->count; i++) {
        const st_plugin_state *state = &list->states[i];
        st_json_open_line(&json, NULL, '{');
        st_json_text(&json, "name", list->entries[i].id);
        st_json_text_or_null(&json, "version", state->version);
        st_json_text(&json, "state", state_text(&list->entries[i], state));
        st_json_text_or_null(&json, "reason", state->reason);
        st_json_text_or_null(&json, "summary", state->summary);
        st_json_text_or_null(&json, "providers", state->providers);
        st_json_text_or_null(&json, "schedules", state->schedules);
        st_json_text(&json, "file", list->entries[i].file);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

static st_status look_at_all(cli_run *run, const st_paths *paths, listed *list)
{
    st_status status =
        st_plugins_list(paths, run->arena, &list->entries, &list->count, run->errors);
    if (status != ST_OK)
        return status;
    list->states = st_arena_alloc(run->arena, list->count + 1, sizeof *list->states);
    if (list->states == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < list->count && status == ST_OK; i++) {
        st_plugin_warn_if_open(list->entries[i].file, (st_place){0}, run->arena, run->errors);
        status =
            st_plugin_look(paths, &list->entries[i], run->arena, &list->states[i], run->errors);
    }
    return status;
}

static int run_list(cli_run *run)
{
    st_paths *paths = NULL;
    listed list = {0};
    st_status status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = look_at_all(run, paths, &list);
    if (status == ST_OK && (cli_is_given(run, CLI_JSON) || cli_is_given(run, CLI_CSV)))
        list_as_data(run, &list);
    else if (status == ST_OK)
        list_as_text(run, &list);
    st_paths_destroy(paths);
    return cli_exit_code(run, status);
}

/* ---- info ------------------------------------------------------------------------------------ */

static void write_option(const st_plugin_option *option, st_table *table, cli_run *run)
{
    static const char *const kinds[] = {"number", "choice", "text"};
    const char *limits = kinds[option->kind];
    char least[ST_QUANTITY_TEXT];
    char most[ST_QUANTITY_TEXT];
    st_unit unit = st_unit_one();
    if (option->kind == ST_PLUGIN_CHOICE)
        limits = option->choices;
    if (option->kind == ST_PLUGIN_NUMBER) {
        if (option->unit[0] != '\0' &&
            st_unit_parse(option->unit, strlen(option->unit), (st_place){0}, &unit, NULL) != ST_OK)
            return;
        limits = st_arena_printf(
            run->arena, "%s to %s",
            st_quantity_format(option->minimum, &unit, ST_STYLE_UNIT, least, sizeof least),
            st_quantity_format(option->maximum, &unit, ST_STYLE_UNIT, most, sizeof most));
    }
    const char *doc =
        st_arena_printf(run->arena, "%s%s", option->doc,
                        (option->flags & ST_PLUGIN_CALIBRATED) != 0 ? " (may be fitted)" : "");
    const char *const fields[] = {option->name, option->default_text, limits, doc, option->cite};
    st_table_row(table, fields);
}

static void write_provider(const st_plugin_provider *provider, st_table *table)
{
    const char *const head[] = {provider->name, provider->unit, "", provider->doc, provider->cite};
    st_table_row(table, head);
    for (size_t i = 0; i < provider->argument_count; i++) {
        const st_plugin_argument *argument = provider->arguments[i];
        bool optional = (argument->flags & ST_PLUGIN_OPTIONAL) != 0;
        const char *const fields[] = {"", argument->name, argument->unit,
                                      argument->doc[0] != '\0' ? argument->doc : "",
                                      optional ? "optional" : ""};
        st_table_row(table, fields);
    }
}

static void write_providers(const st_plugin *shown, st_table *table)
{
    if (shown->provider_count > 0) {
        st_table_title(table, "");
        st_table_title(table, "Providers");
    }
    for (size_t i = 0; i < shown->provider_count; i++)
        write_provider(shown->providers[i], table);
}

static void write_schedules(const st_plugin *shown, st_table *table)
{
    if (shown->schedule_count > 0) {
        st_table_title(table, "");
        st_table_title(table, "Schedules");
    }
    for (size_t i = 0; i < shown->schedule_count; i++) {
        const st_plugin_schedule *schedule = shown->schedules[i];
        bool chunked = (schedule->flags & ST_PLUGIN_CHUNKED) != 0;
        const char *const fields[] = {schedule->name, "", chunked ? "several chunks a stage" : "",
                                      schedule->doc, schedule->cite};
        st_table_row(table, fields);
    }
}

static void info_as_text(cli_run *run, const st_paint *paint, const st_plugin_module *module)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {0}, {0}, {.elastic = true}, {.ink = ST_INK_FAINT}};
    const st_plugin *shown = st_plugin_descriptor(module);
    st_table *table = st_table_create(run->arena, columns, 5);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    st_buffer_printf(&run->result, "%s %s - %s\nlicence  %s\nABI      %u\nfile     %s\n", shown->id,
                     shown->version, shown->summary, shown->licence, shown->abi,
                     st_plugin_file(module));
    write_providers(shown, table);
    write_schedules(shown, table);
    if (shown->option_count > 0) {
        st_table_title(table, "");
        st_table_title(table, "Options");
    }
    for (size_t i = 0; i < shown->option_count; i++)
        write_option(shown->options[i], table, run);
    st_table_write(table, paint, 2, &run->result);
}

static void provider_as_json(const st_plugin_provider *provider, st_json *json)
{
    st_json_open(json, NULL, '{');
    st_json_text(json, "name", provider->name);
    st_json_text(json, "unit", provider->unit);
    st_json_text(json, "doc", provider->doc);
    st_json_text_or_null(json, "cite", provider->cite);
    st_json_open(json, "arguments", '[');
    for (size_t i = 0; i < provider->argument_count; i++) {
        const st_plugin_argument *argument = provider->arguments[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", argument->name);
        st_json_text(json, "unit", argument->unit);
        st_json_bool(json, "optional", (argument->flags & ST_PLUGIN_OPTIONAL) != 0);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
}

static void schedule_as_json(const st_plugin_schedule *schedule, st_json *json)
{
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "name", schedule->name);
    st_json_bool(json, "several_chunks", (schedule->flags & ST_PLUGIN_CHUNKED) != 0);
    st_json_bool(json, "staggered", (schedule->flags & ST_PLUGIN_STAGGERED) != 0);
    st_json_text(json, "doc", schedule->doc);
    st_json_text_or_null(json, "cite", schedule->cite);
    st_json_close(json, '}');
}

static void option_as_json(const st_plugin_option *option, st_json *json)
{
    static const char *const kinds[] = {"number", "choice", "text"};
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "name", option->name);
    st_json_text(json, "kind", kinds[option->kind]);
    st_json_text_or_null(json, "unit", option->unit);
    st_json_text_or_null(json, "choices", option->choices);
    st_json_text(json, "default", option->default_text);
    st_json_bool(json, "calibrated", (option->flags & ST_PLUGIN_CALIBRATED) != 0);
    st_json_text(json, "doc", option->doc);
    st_json_text_or_null(json, "cite", option->cite);
    st_json_close(json, '}');
}

static void info_as_json(cli_run *run, const st_plugin_module *module)
{
    const st_plugin *shown = st_plugin_descriptor(module);
    st_json json;
    open_json(run, &json);
    st_json_text(&json, "name", shown->id);
    st_json_text(&json, "version", shown->version);
    st_json_text(&json, "summary", shown->summary);
    st_json_text(&json, "licence", shown->licence);
    st_json_count(&json, "abi", shown->abi);
    st_json_text(&json, "file", st_plugin_file(module));
    st_json_open(&json, "providers", '[');
    for (size_t i = 0; i < shown->provider_count; i++)
        provider_as_json(shown->providers[i], &json);
    st_json_close(&json, ']');
    st_json_open(&json, "schedules", '[');
    for (size_t i = 0; i < shown->schedule_count; i++)
        schedule_as_json(shown->schedules[i], &json);
    st_json_close(&json, ']');
    st_json_open(&json, "options", '[');
    for (size_t i = 0; i < shown->option_count; i++)
        option_as_json(shown->options[i], &json);
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

typedef struct info {
    cli_run *run;
    st_paint paint; /* of the terminal, which the child does not see */
} info;

/* In the child. */
static void show_info(void *context, const st_plugin_module *module, st_buffer *text)
{
    const info *own = context;
    cli_run *run = own->run;
    if (cli_is_given(run, CLI_JSON))
        info_as_json(run, module);
    else
        info_as_text(run, &own->paint, module);
    st_buffer_append(text, run->result.data, run->result.length);
    text->failed = text->failed || run->result.failed;
}

static int run_info(cli_run *run)
{
    st_paths *paths = NULL;
    info own = {.run = run, .paint = cli_paint(run)};
    const st_plugin_viewer viewer = {show_info, &own};
    st_status status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = st_plugin_aside(paths, run->arguments[0], &viewer, run->arena, &run->result,
                                 run->errors);
    st_paths_destroy(paths);
    return cli_exit_code(run, status);
}

/* ---- check ----------------------------------------------------------------------------------- */

static const char *const kind_words[] = {
    [ST_FINDING_PASS] = "pass", [ST_FINDING_FAIL] = "FAIL", [ST_FINDING_SKIP] = "-"};

static void findings_as_text(cli_run *run, const st_finding *findings, size_t count)
{
    static const st_table_column columns[] = {{0}, {0}, {.elastic = true}};
    const st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 3);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *const fields[] = {kind_words[findings[i].kind], findings[i].check,
                                      findings[i].text};
        st_table_row(table, fields);
        st_table_ink(table, 0,
                     findings[i].kind == ST_FINDING_FAIL   ? ST_INK_BAD
                     : findings[i].kind == ST_FINDING_PASS ? ST_INK_GOOD
                                                           : ST_INK_FAINT);
    }
    st_table_write(table, &paint, 0, &run->result);
}

static void findings_as_data(cli_run *run, const st_finding *findings, size_t count)
{
    static const char *const words[] = {
        [ST_FINDING_PASS] = "pass", [ST_FINDING_FAIL] = "fail", [ST_FINDING_SKIP] = "skip"};
    st_json json;
    if (cli_is_given(run, CLI_CSV)) {
        st_buffer_text(&run->result, "check,result,finding\n");
        for (size_t i = 0; i < count; i++) {
            const char *const fields[] = {findings[i].check, words[findings[i].kind],
                                          findings[i].text};
            st_csv_row(fields, 3, &run->result);
        }
        return;
    }
    open_json(run, &json);
    st_json_text(&json, "plugin", run->arguments[0]);
    st_json_open(&json, "checks", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(&json, NULL, '{');
        st_json_text(&json, "check", findings[i].check);
        st_json_text(&json, "result", words[findings[i].kind]);
        st_json_text_or_null(&json, "finding", findings[i].text);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

static st_status read_limit(cli_run *run, unsigned *limit_ms)
{
    const char *text = cli_value(run, CLI_LIMIT);
    double seconds = 10;
    if (text != NULL &&
        (st_number_parse(text, strlen(text), (st_place){0}, &seconds, NULL) != ST_OK ||
         !(seconds >= 0.1 && seconds <= 3600)))
        return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                       "option --limit" ST_FOUND "'%s'" ST_EXPECTED "seconds, from 0.1 to 3600",
                       text);
    *limit_ms = (unsigned)(seconds * 1000);
    return ST_OK;
}

/* A plugin that fails is reported in full, and the exit code says so. */
static st_status count_failures(cli_run *run, const st_finding *findings, size_t count)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++)
        failed += findings[i].kind == ST_FINDING_FAIL ? 1 : 0;
    if (failed == 0)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_CHECK, (st_place){0}, "plugin %s fails %zu of %zu checks",
                   run->arguments[0], failed, count);
}

static int run_check(cli_run *run)
{
    st_paths *paths = NULL;
    st_findings found = {0};
    const char *file = NULL;
    unsigned limit_ms = 0;
    st_status status = read_limit(run, &limit_ms);
    if (status == ST_OK)
        status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = st_plugin_locate(paths, run->arguments[0], (st_place){0}, run->arena, &file,
                                  run->errors);
    if (status == ST_OK)
        st_plugin_warn_if_open(file, (st_place){0}, run->arena, run->errors);
    if (status == ST_OK)
        status =
            st_plugin_check(paths, run->arguments[0], limit_ms, run->arena, &found, run->errors);
    if (status == ST_OK) {
        if (cli_is_given(run, CLI_JSON) || cli_is_given(run, CLI_CSV))
            findings_as_data(run, found.items, found.count);
        else
            findings_as_text(run, found.items, found.count);
        status = count_failures(run, found.items, found.count);
    }
    st_paths_destroy(paths);
    return cli_exit_code(run, status);
}

/* ---- new ------------------------------------------------------------------------------------- */

static int run_new(cli_run *run)
{
    const char *name = run->arguments[0];
    const char *folder = cli_value(run, CLI_DIR);
    if (folder == NULL)
        folder = name;
    st_status status = st_plugin_new(name, folder, run->arena, run->errors);
    /* A name without a slash would be looked for on the search path. */
    const char *here = folder[0] == '/' || folder[0] == '.' ? "" : "./";
    int length = (int)strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (status == ST_OK)
        st_buffer_printf(&run->result,
                         "%.*s: a plugin that is ready to build\n\n"
                         "  meson setup %.*s/build %.*s\n"
                         "  meson compile -C %.*s/build\n"
                         "  steptime plugin check %s%.*s/build/plugins/%s/%s.so\n",
                         length, folder, length, folder, length, folder, length, folder, here,
                         length, folder, name, name);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_plugin_list = {
    .name = "plugin list",
    .arguments = "",
    .words = {CLI_WORD_NONE, CLI_WORD_NONE},
    .summary = "list the plugins on the search path",
    .doc = "Lists every plugin with its version and where it lies. One that cannot be used is "
           "'disabled', with the reason; one that another of the same name goes before is "
           "'shadowed'. Each is looked at in a process of its own.",
    .examples = list_examples,
    .options = list_options,
    .run = run_list,
};

const cli_verb cli_verb_plugin_info = {
    .name = "plugin info",
    .arguments = "PLUGIN|FILE",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "show what a plugin provides, reads and can be told",
    .doc =
        "Shows the providers of a plugin with the units of what they read and give, and its "
        "options with their defaults and ranges. PLUGIN is a name on the search path, FILE a "
        "path with a '/'. It is loaded in a process of its own, so that one that crashes is told "
        "like any other fault.",
    .examples = info_examples,
    .options = info_options,
    .run = run_info,
};

const cli_verb cli_verb_plugin_check = {
    .name = "plugin check",
    .arguments = "PLUGIN|FILE",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "try whether a plugin keeps to the rules",
    .doc = "Tries everything that a plugin has to keep to, each in a process of its own with a "
           "limit of time and memory, so that a crash and an endless loop are findings like any "
           "other. The exit code is 3 where a check fails; '-' stands where a check does not "
           "apply.\n\n"
           "PLUGIN is a name on the search path, FILE a path with a '/'.",
    .examples = check_examples,
    .options = check_options,
    .run = run_check,
};

const cli_verb cli_verb_plugin_new = {
    .name = "plugin new",
    .arguments = "NAME",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_NONE, CLI_WORD_NONE},
    .summary = "write a project for a plugin",
    .doc = "Writes source, meson.build, a test and a README for a plugin that builds and passes "
           "'steptime plugin check' as it stands. docs/plugins.md goes on from there.",
    .examples = new_examples,
    .options = new_options,
    .run = run_new,
};

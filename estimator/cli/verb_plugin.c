/* SPDX-License-Identifier: Apache-2.0 */
/* steptime plugin list, info, check, new */
#include "cli/verbs.h"

#include "plugin/kit/probe_process.h"
#include "plugin/kit/kit.h"
#include "plugin/kit/manifest.h"
#include "plugin/module.h"
#include "plugin/kit/new.h"
#include "steptime/keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct list_options {
    bool look;
} list_options;

static const cli_option list_rows[] = {
    CLI_FLAG(list_options, look, "look",
             "load each plugin in a separate process instead of reading its manifest"),
    CLI_ROWS_FORMS, CLI_END};
typedef struct info_options {
    bool manifest;
} info_options;

static const cli_option info_rows[] = {
    CLI_FLAG(info_options, manifest, "manifest",
             "write the manifest that 'plugin list' shows: NAME.manifest next to NAME.so"),
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END};
typedef struct check_options {
    double limit;
    bool trace;
} check_options;

static const cli_option check_rows[] = {CLI_NUMBER(check_options, limit, "limit", "SECONDS", 0.1,
                                                   3600, "time limit of each check in seconds",
                                                   .range = "seconds, from 0.1 to 3600",
                                                   .initial = "10"),
                                        CLI_FLAG(check_options, trace, "trace",
                                                 "also list the system calls that the isolation "
                                                 "refused the plugin"),
                                        CLI_ROWS_FORMS, CLI_ROW_COLOR, CLI_END};
typedef struct new_options {
    const char *folder;
    const char *function;
} new_options;

static const cli_option new_rows[] = {
    CLI_TEXT(new_options, folder, "dir", "DIR",
             "write to DIR, which must not exist, instead of ./NAME", .word = CLI_WORD_FOLDER),
    CLI_TEXT(new_options, function, "for", "FUNCTION",
             "implement this open function of the default sheet, such as all_reduce"),
    CLI_ROW_PATH, CLI_END};

static const cli_example list_examples[] = {
    {"steptime plugin list", "the plugins on the search path, from their manifests"},
    {"steptime plugin list --look",
     "load each in a separate process and report why one cannot be used"},
    {NULL, NULL}};
static const cli_example info_examples[] = {
    {"steptime plugin info nccl-whitebox", "providers, inputs and options of a plugin"},
    {"steptime plugin info ./build/plugins/mine/mine.so --manifest -o "
     "build/plugins/mine/mine.manifest",
     "after every build"},
    {NULL, NULL}};
static const cli_example check_examples[] = {
    {"steptime plugin check ./build/plugins/mine/mine.so", "check a plugin before you use it"},
    {"steptime plugin check nccl-whitebox --limit 2",
     "check one on the search path with a short time limit"},
    {NULL, NULL}};
static const cli_example new_examples[] = {
    {"steptime plugin new torus", "a project that builds and passes the check without changes"},
    {"steptime plugin new torus --for all_to_all", "one that starts from a formula of the sheet"},
    {NULL, NULL}};

/* ---- list ------------------------------------------------------------------------------------ */

typedef struct listed {
    const st_plugin_entry *entries;
    st_plugin_state *states;
    size_t count;
} listed;

static void fill_listed(const void *context, size_t index, st_node *row)
{
    const listed *list = context;
    const st_plugin_entry *entry = &list->entries[index];
    const st_plugin_state *state = &list->states[index];
    static const char *const words[] = {[ST_PLUGIN_UNKNOWN] = "unknown",
                                        [ST_PLUGIN_UNUSABLE] = "disabled",
                                        [ST_PLUGIN_USABLE] = "ok"};
    const char *word =
        state->use == ST_PLUGIN_USABLE && entry->shadowed ? "shadowed" : words[state->use];
    st_put_text(row, "name", entry->id);
    st_put_text_or_null(row, "version", state->version);
    st_put_text(row, "state", word);
    st_put_ink(row, strcmp(word, "ok") == 0 ? ST_INK_GOOD : ST_INK_BAD);
    st_put_text_or_null(row, "reason", state->reason);
    st_put_text_or_null(row, "summary", state->summary);
    st_put_text_or_null(row, "providers", state->providers);
    st_put_text_or_null(row, "schedules", state->schedules);
    st_put_text(row, "file", entry->file);
    st_put_text(row, ".what", state->use == ST_PLUGIN_USABLE ? state->summary : state->reason);
    st_put_text(row, ".root", entry->root);
}

static st_status look_at_all(cli_run *run, listed *list)
{
    const list_options *options = run->options;
    st_status status =
        st_plugins_list(run->paths, run->arena, &list->entries, &list->count, run->errors);
    if (status != ST_OK)
        return status;
    list->states = st_arena_alloc(run->arena, list->count + 1, sizeof *list->states);
    if (list->states == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < list->count && status == ST_OK; i++) {
        const st_plugin_entry *entry = &list->entries[i];
        st_plugin_warn_if_open(entry->file, (st_place){0}, run->arena, run->errors);
        status = options->look ? st_plugin_look(run->paths, entry, run->arena, &list->states[i])
                               : st_plugin_read_manifest(entry, run->arena, &list->states[i]);
    }
    return status;
}

static int run_list(cli_run *run)
{
    listed list = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = look_at_all(run, &list);
    const char *lacking = "";
    if (status == ST_OK)
        status = st_plugin_isolation_lacks(run->arena, &lacking, run->errors);
    if (status == ST_OK) {
        static const st_table_column columns[] = {
            {.ink = ST_INK_NAME}, {0}, {0}, {.elastic = true}, {.ink = ST_INK_FAINT}};
        st_result result;
        st_node *root = st_result_begin(&result, run->arena);
        st_node *rows = st_put_rows(root, "plugins", fill_listed, &list, list.count);
        st_table_show(st_say_table(root, columns, 5, 0), rows, "name,version,state,.what,.root");
        st_result_csv(&result, "plugins",
                      "name,version,state,reason,summary,providers,file,schedules");
        st_put_text_or_null(root, "isolation_lacks", lacking);
        if (lacking[0] != '\0')
            st_say(root, "\nThe isolation of plugins lacks here: %s\n", lacking);
        cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

/* ---- info ------------------------------------------------------------------------------------ */

static const char *const kinds[] = {"number", "choice", "text"};

static void fill_option(const void *context, size_t index, st_node *row)
{
    const st_plugin_option *option = ((const st_plugin *)context)->options[index];
    bool calibrated = (option->flags & ST_PLUGIN_CALIBRATED) != 0;
    st_put_text(row, "name", option->name);
    st_put_text(row, "kind", kinds[option->kind]);
    st_put_text_or_null(row, "unit", option->unit);
    st_put_text_or_null(row, "choices", option->choices);
    st_put_text(row, "default", option->default_text);
    st_put_bool(row, "calibrated", calibrated);
    st_put_text(row, "doc", option->doc);
    st_put_text_or_null(row, "cite", option->cite);
    st_put_format(row, ".doc", "%s%s", option->doc, calibrated ? " (can be fitted)" : "");
    /* "0.5 us to 40 us", the choices, or the kind. */
    char least[ST_QUANTITY_TEXT];
    char most[ST_QUANTITY_TEXT];
    st_unit unit = st_unit_one();
    if (option->kind != ST_PLUGIN_NUMBER)
        st_put_text(row, ".limits",
                    option->kind == ST_PLUGIN_CHOICE ? option->choices : kinds[option->kind]);
    else if (option->unit[0] == '\0' ||
             st_unit_parse(option->unit, strlen(option->unit), (st_place){0}, &unit, NULL) == ST_OK)
        st_put_format(
            row, ".limits", "%s to %s",
            st_quantity_format(option->minimum, &unit, ST_STYLE_UNIT, least, sizeof least),
            st_quantity_format(option->maximum, &unit, ST_STYLE_UNIT, most, sizeof most));
}

static void fill_argument(const void *context, size_t index, st_node *row)
{
    const st_plugin_argument *argument = ((const st_plugin_provider *)context)->arguments[index];
    bool optional = (argument->flags & ST_PLUGIN_OPTIONAL) != 0;
    st_put_text(row, "name", argument->name);
    st_put_text(row, "unit", argument->unit);
    st_put_bool(row, "optional", optional);
    st_put_text(row, ".doc", argument->doc);
    st_put_text(row, ".optional", optional ? "optional" : NULL);
}

static void fill_schedule(const void *context, size_t index, st_node *row)
{
    const st_plugin_schedule *schedule = ((const st_plugin *)context)->schedules[index];
    bool chunked = (schedule->flags & ST_PLUGIN_CHUNKED) != 0;
    st_put_text(row, "name", schedule->name);
    st_put_bool(row, "several_chunks", chunked);
    st_put_bool(row, "staggered", (schedule->flags & ST_PLUGIN_STAGGERED) != 0);
    st_put_text(row, "doc", schedule->doc);
    st_put_text_or_null(row, "cite", schedule->cite);
    st_put_text(row, ".chunks", chunked ? "several chunks per stage" : NULL);
}

static void add_title(st_table *table, const char *title, size_t count)
{
    if (count == 0)
        return;
    st_table_title(table, "");
    st_table_title(table, title);
}

static void put_info(const st_plugin_module *module, st_node *root)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {0}, {0}, {.elastic = true}, {.ink = ST_INK_FAINT}};
    const st_plugin *shown = st_plugin_descriptor(module);
    const char *file = st_plugin_file(module);
    st_put_text(root, "name", shown->id);
    st_put_text(root, "version", shown->version);
    st_put_text(root, "summary", shown->summary);
    st_put_text(root, "licence", shown->licence);
    st_put_count(root, "abi", shown->abi);
    st_put_text(root, "file", file);
    st_say(root, "%s %s - %s\nlicence  %s\nABI      %u\nfile     %s\n", shown->id, shown->version,
           shown->summary, shown->licence, shown->abi, file);
    st_table *table = st_say_table(root, columns, 5, 2);
    st_node *list = st_put_list(root, "providers");
    add_title(table, "Providers", shown->provider_count);
    for (size_t i = 0; i < shown->provider_count; i++) {
        const st_plugin_provider *provider = shown->providers[i];
        st_node *map = st_put_map(list, NULL);
        st_put_text(map, "name", provider->name);
        st_put_text(map, "unit", provider->unit);
        st_put_text(map, "doc", provider->doc);
        st_put_text_or_null(map, "cite", provider->cite);
        st_table_show(table, map, "name,unit,,doc,cite");
        st_node *arguments =
            st_put_rows(map, "arguments", fill_argument, provider, provider->argument_count);
        st_table_show(table, arguments, ",name,unit,.doc,.optional");
    }
    add_title(table, "Schedules", shown->schedule_count);
    st_table_show(table,
                  st_put_rows(root, "schedules", fill_schedule, shown, shown->schedule_count),
                  "name,,.chunks,doc,cite");
    add_title(table, "Options", shown->option_count);
    st_table_show(table, st_put_rows(root, "options", fill_option, shown, shown->option_count),
                  "name,default,.limits,.doc,cite");
}

typedef struct info {
    cli_run *run;
    st_paint paint; /* of the terminal, which the child does not see */
} info;

/* In the child. */
static void show_info(void *context, const st_plugin_module *module, st_buffer *text)
{
    const info *own = context;
    st_result result;
    put_info(module, st_result_begin(&result, own->run->arena));
    st_result_write(&result, own->run->common.json ? ST_FORM_JSON : ST_FORM_TEXT, &own->paint,
                    text);
}

static int run_info(cli_run *run)
{
    const info_options *options = run->options;
    info own = {.run = run, .paint = cli_paint(run)};
    const st_plugin_viewer viewer = {show_info, &own};
    st_status status = cli_paths(run);
    if (status == ST_OK && options->manifest)
        status = st_plugin_write_manifest(run->paths, run->arguments[0], run->arena, &run->result,
                                          run->errors);
    else if (status == ST_OK)
        status = st_plugin_probe(run->paths, run->arguments[0], &viewer, run->arena, &run->result,
                                 run->errors);
    return cli_exit_code(run, status);
}

/* ---- check ----------------------------------------------------------------------------------- */

static void fill_finding(const void *context, size_t index, st_node *row)
{
    static const struct {
        const char *word;
        const char *shown;
        st_ink ink;
    } kinds_found[] = {[ST_FINDING_PASS] = {"pass", "pass", ST_INK_GOOD},
                       [ST_FINDING_FAIL] = {"fail", "FAIL", ST_INK_BAD},
                       [ST_FINDING_SKIP] = {"skip", "-", ST_INK_FAINT}};
    const st_finding *finding = (const st_finding *)context + index;
    st_put_text(row, "check", finding->check);
    st_put_text(row, "result", kinds_found[finding->kind].word);
    st_put_text_or_null(row, "finding", finding->text);
    st_put_text(row, ".result", kinds_found[finding->kind].shown);
    st_put_ink(row, kinds_found[finding->kind].ink);
}

static st_status check_plugin(cli_run *run, st_findings *found)
{
    const check_options *options = run->options;
    st_check_request request = {.paths = run->paths,
                                .name = run->arguments[0],
                                .limit_ms = (unsigned)(options->limit * 1000)};
    if (options->trace && (request.refused = st_refused_calls_create()) == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_plugin_check(&request, run->arena, found, run->errors);
    st_refused_calls_destroy(request.refused);
    return status;
}

static int run_check(cli_run *run)
{
    st_findings found = {0};
    const char *file = NULL;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_plugin_locate(run->paths, run->arguments[0], (st_place){0}, run->arena, &file,
                                  run->errors);
    if (status == ST_OK)
        st_plugin_warn_if_open(file, (st_place){0}, run->arena, run->errors);
    if (status == ST_OK)
        status = check_plugin(run, &found);
    if (status == ST_OK) {
        const st_finding *findings = found.items;
        const size_t count = found.count;
        static const st_table_column columns[] = {{0}, {0}, {.elastic = true}};
        st_result result;
        st_node *root = st_result_begin(&result, run->arena);
        st_put_text(root, "plugin", run->arguments[0]);
        st_node *rows = st_put_rows(root, "checks", fill_finding, findings, count);
        st_table_show(st_say_table(root, columns, 3, 0), rows, ".result,check,finding");
        st_result_csv(&result, "checks", "check,result,finding");
        cli_show(run, &result);
        /* A plugin that fails is reported in full, and the exit code says so. */
        const st_finding *failure_findings = found.items;
        const size_t failure_count = found.count;
        size_t failed = 0;
        for (size_t i = 0; i < failure_count; i++)
            failed += failure_findings[i].kind == ST_FINDING_FAIL ? 1 : 0;
        if (failed != 0) {
            status = st_fail(run->errors, ST_ERR_CHECK, (st_place){0},
                             "plugin %s failed %zu of %zu checks", run->arguments[0], failed,
                             failure_count);
        }
    }
    return cli_exit_code(run, status);
}

/* ---- new ------------------------------------------------------------------------------------- */

/* The sheet of jobs that name none, and its open function; nothing without --for. */
static st_status find_start(cli_run *run, const char *function, st_plugin_start *start)
{
    if (function == NULL)
        return ST_OK;
    st_status status = cli_paths(run);
    if (status == ST_OK) {
        st_sheet_reader reader = st_paths_sheet_reader(run->paths);
        status = st_sheet_load(&reader, st_key_find(ST_KEY_SHEET)->default_text, run->arena,
                               &start->sheet, run->errors);
    }
    return status == ST_OK
               ? st_plugin_function_find(start->sheet, function, &start->function, run->errors)
               : status;
}

static int run_new(cli_run *run)
{
    const char *name = run->arguments[0];
    const new_options *options = run->options;
    const char *folder = options->folder != NULL ? options->folder : name;
    st_plugin_start start = {0};
    st_status status = find_start(run, options->function, &start);
    if (status == ST_OK)
        status = st_plugin_new(name, folder, &start, run->arena, run->errors);
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
    .doc = "Lists every plugin with its version and path. A plugin that cannot be used is "
           "'disabled', with the reason; one hidden by an earlier plugin of the same name is "
           "'shadowed'. No plugin is loaded: the data comes from the manifest next to it, which "
           "'plugin info --manifest' writes; a plugin without a manifest, or with the manifest of "
           "another build, is 'unknown'. --look loads each plugin in a separate process.",
    .examples = list_examples,
    CLI_OPTIONS(list_rows, list_options),
    .run = run_list,
};

const cli_verb cli_verb_plugin_info = {
    .name = "plugin info",
    .arguments = "PLUGIN|FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "show the providers, inputs and options of a plugin",
    .doc = "Shows the providers of a plugin with the units of their inputs and results, and its "
           "options with their defaults and ranges. PLUGIN is a name on the search path, FILE a "
           "path with a '/'. The plugin runs in a separate process, so that a crash is reported "
           "like any other error.\n\n"
           "--manifest writes the version, the providers, the schedules, and the length and "
           "checksum of the file. As NAME.manifest next to NAME.so they let 'plugin list' show the "
           "plugin without running its code; 'plugin check' reports a manifest of another build.",
    .examples = info_examples,
    CLI_OPTIONS(info_rows, info_options),
    .run = run_info,
};

const cli_verb cli_verb_plugin_check = {
    .name = "plugin check",
    .arguments = "PLUGIN|FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "check whether a plugin follows the rules",
    .doc = "Checks every rule for plugins, each in a separate process with limits of time and "
           "memory, so that a crash or an endless loop is a finding like any other. The exit code "
           "is 3 if a check fails; '-' marks checks that do not apply.\n\n"
           "PLUGIN is a name on the search path, FILE a path with a '/'.",
    .examples = check_examples,
    CLI_OPTIONS(check_rows, check_options),
    .run = run_check,
};

const cli_verb cli_verb_plugin_new = {
    .name = "plugin new",
    .arguments = "NAME",
    .words = {CLI_WORD_NONE, CLI_WORD_NONE},
    .summary = "create a plugin project",
    .doc = "Writes source, meson.build, a test and a README for a plugin that builds and passes "
           "'steptime plugin check' without changes. With --for it implements an open function of "
           "the default sheet: its arguments, its units and its formula in C. docs/plugins.md "
           "explains the next steps.",
    .examples = new_examples,
    CLI_OPTIONS(new_rows, new_options),
    .run = run_new,
};

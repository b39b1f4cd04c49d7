/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share: options, the search path, the job, the exit code. */
#include "command/cli.h"

#include "base/guard.h"
#include "job/files.h"
#include "base/source_date.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

st_status cli_today(cli_run *run)
{
    time_t now = time(NULL);
    struct tm day = {0};
    st_status status = st_source_date(&now, run->errors);
    if (gmtime_r(&now, &day) == NULL ||
        strftime(run->today, sizeof run->today, "%Y-%m-%d", &day) == 0)
        memcpy(run->today, "unknown", sizeof "unknown");
    return status;
}

st_status cli_paths(cli_run *run)
{
    const cli_texts *folders = &run->common.paths;
    if (run->paths != NULL)
        return ST_OK;
    st_status status = st_paths_create(folders->items, folders->count, &run->paths, run->errors);
    if (status == ST_OK)
        st_paths_set_profiles(run->paths, run->common.db);
    if (status == ST_OK)
        st_paths_set_isolation(run->paths, run->common.isolate != CLI_ISOLATE_OFF);
    return status;
}

st_estimate_request cli_estimate_request(const cli_run *run)
{
    const cli_common *common = &run->common;
    return (st_estimate_request){.size = sizeof(st_estimate_request),
                                 .job = run->arguments[0],
                                 .sheet = common->sheet,
                                 .folders = common->paths.items,
                                 .folder_count = common->paths.count,
                                 .sets = common->sets.items,
                                 .set_count = common->sets.count,
                                 .providers = common->refine.items,
                                 .provider_count = common->refine.count,
                                 .all = common->all,
                                 .checks_warn = common->check == CLI_CHECK_NONE,
                                 .profiles = common->db,
                                 .isolate = common->isolate != CLI_ISOLATE_OFF};
}

st_estimate_view cli_view(const cli_run *run)
{
    const st_paint paint = cli_paint(run);
    return (st_estimate_view){.size = sizeof(st_estimate_view),
                              .form = run->common.json  ? ST_ESTIMATE_JSON
                                      : run->common.csv ? ST_ESTIMATE_CSV
                                                        : ST_ESTIMATE_TEXT,
                              .color = paint.color,
                              .width = paint.width};
}

bool cli_shows_messages(const cli_run *run)
{
    return !run->common.csv && !run->common.json && run->common.output == NULL;
}

static bool is_dumb_terminal(void)
{
    const char *term = getenv("TERM");
    return term == NULL || strcmp(term, "dumb") == 0;
}

/* What COLUMNS says, or what fits a page; a terminal of its own comes first. */
size_t cli_report_width(size_t terminal)
{
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (width >= 40 && width <= 1000)
        return (size_t)width;
    return terminal > 0 ? terminal : 100;
}

st_paint cli_paint(const cli_run *run)
{
    st_paint paint = {0};
    const char *no_color = getenv("NO_COLOR");
    bool on_terminal =
        run->common.output == NULL && !run->stdout_closed && isatty(st_guard_stdout()) == 1;
    struct winsize size = {0};
    if (on_terminal && ioctl(st_guard_stdout(), TIOCGWINSZ, &size) == 0)
        paint.width = size.ws_col;
    st_guard_stdout_park();
    bool wanted = on_terminal && !is_dumb_terminal() && (no_color == NULL || no_color[0] == '\0');
    if (run->common.color != CLI_COLOR_AUTO)
        wanted = run->common.color == CLI_COLOR_ALWAYS;
    paint.color = wanted;
    return paint;
}

/* An error of what the user typed, as against one of a file: one that is missing or cannot be used,
 * wherever it is named. */
static bool is_typed(const st_error *error)
{
    if (error->status == ST_ERR_USAGE)
        return true;
    if (error->place.file == NULL)
        return error->status == ST_ERR_NAME;
    return strncmp(error->place.file, "--", 2) == 0 && error->status != ST_ERR_PROVIDER &&
           error->status != ST_ERR_IO;
}

int cli_exit_code(const cli_run *run, st_status status)
{
    if (status == ST_OK)
        return st_errors_count(run->errors, ST_SEVERITY_LIMIT) > 0 ? CLI_CHECK_FAILS : CLI_DONE;
    bool all_typed = status != ST_ERR_MEMORY;
    bool all_checks = status != ST_ERR_MEMORY;
    for (size_t i = 0; i < st_errors_size(run->errors); i++) {
        const st_error *error = st_errors_at(run->errors, i);
        if (error->severity == ST_SEVERITY_WARNING)
            continue;
        all_typed = all_typed && is_typed(error);
        all_checks = all_checks && error->status == ST_ERR_CHECK;
    }
    if (st_errors_count(run->errors, ST_SEVERITY_ERROR) == 0) {
        st_fail(run->errors, status, (st_place){0}, "%s", st_status_text(status));
        return CLI_FAILED;
    }
    if (all_checks)
        return CLI_CHECK_FAILS;
    return all_typed ? CLI_WRONG_USE : CLI_FAILED;
}

st_status cli_wrong_use(cli_run *run, const char *message, const char *suggestion)
{
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0}, "%s" ST_HINT "%s", message,
                   st_or_none(suggestion));
}

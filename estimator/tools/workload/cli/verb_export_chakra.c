/* SPDX-License-Identifier: Apache-2.0 */
/* steptime export chakra */
#include "workload/cli/verbs.h"
#include "workload/cli/job_workload.h"

#include <string.h>

typedef struct chakra_options {
    const char *schedule;
    cli_texts settings;
    unsigned detail;
    cli_texts ranks;
    const char *folder;
} chakra_options;

static const cli_option option_rows[] = {
    CLI_TEXT(chakra_options, folder, "folder", "FOLDER",
             "the folder to write: a new name, or an empty folder", .letter = 'o',
             .word = CLI_WORD_FOLDER),
    CLI_NAMES(
        chakra_options, ranks, "ranks", "LIST",
        "the ranks to write, such as 0,8-15, or 'stages' for the first of each stage; default all"),
    CLI_ROWS_SCHEDULE(chakra_options),
    CLI_ROWS_PLAN,
    CLI_ROW_PATH,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime export chakra gpt3-175b-64xa100 -o et", "et/gpt3-175b-64xa100.0.et and so on"},
    {"steptime export chakra gpt3-175b-1024xa100 -o et --ranks stages --detail layers",
     "one rank of each stage, layer by layer"},
    {NULL, NULL},
};

/* ---- ranks ---- */

typedef struct rank_list {
    cli_run *run;
    uint32_t *ranks;
    size_t count;
    size_t world;
} rank_list;

static void add_range(rank_list *list, size_t from, size_t until)
{
    for (size_t i = from; i <= until; i++) {
        uint32_t rank = (uint32_t)i;
        (void)ST_APPEND(list->run->arena, list->ranks, list->count, rank);
    }
}

static bool read_rank(const rank_list *list, const char *text, size_t length, size_t *rank)
{
    enum { MOST_DIGITS = 9 };
    size_t value = 0;
    if (length == 0 || length > MOST_DIGITS || strspn(text, "0123456789") < length)
        return false;
    for (size_t i = 0; i < length; i++)
        value = 10 * value + (size_t)(text[i] - '0');
    *rank = value;
    return value < list->world;
}

/* ---- the verb ---- */

static int run_export_chakra(cli_run *run)
{
    const chakra_options *options = run->options;
    const job_layout layout = {options->schedule, &options->settings, options->detail != 0};
    st_workload workload = {0};
    if (options->folder == NULL)
        return cli_exit_code(run,
                             cli_wrong_use(run, "missing output folder", "name it with -o FOLDER"));
    st_status status = cli_make_workload(run, &layout, &workload);
    if (status == ST_OK) {
        rank_list list = {.run = run, .world = workload.placement.ranks};
        uint64_t bytes = 0;
        status = ST_OK;
        if (options->ranks.count == 0)
            add_range(&list, 0, list.world - 1);
        for (size_t i = 0; i < options->ranks.count && status == ST_OK; i++) {
            if (strcmp(options->ranks.items[i], "stages") != 0) {
                const char *word = options->ranks.items[i];
                size_t from = 0;
                size_t until = 0;
                size_t length = strcspn(word, "-");
                bool range = word[length] == '-';
                bool ok = read_rank(&list, word, length, &from);
                const char *end = range ? word + length + 1 : word;
                ok = ok && read_rank(&list, end, strlen(end), &until) && until >= from;
                if (ok)
                    add_range(&list, from, until);
                else
                    status = cli_wrong_use(
                        list.run,
                        st_errors_text(list.run->errors, "invalid ranks '%s' for --ranks", word),
                        st_errors_text(list.run->errors,
                                       "ranks are 0 to %zu, or a range such as 0-%zu",
                                       list.world - 1, list.world - 1));
                continue;
            }
            for (size_t stage = 0; stage < workload.stage_count; stage++) {
                size_t rank = st_workload_peer(&workload, 0, stage);
                add_range(&list, rank, rank);
            }
        }
        st_sort(list.ranks, list.count, sizeof *list.ranks, st_order_indices);
        size_t kept = 0;
        for (size_t i = 0; i < list.count; i++)
            if (kept == 0 || list.ranks[kept - 1] != list.ranks[i])
                list.ranks[kept++] = list.ranks[i];
        list.count = kept;
        const st_chakra_request request = {.folder = options->folder,
                                           .name = workload.job,
                                           .ranks = list.ranks,
                                           .count = list.count};
        if (status == ST_OK)
            status = st_chakra_write_folder(&workload, &request, &bytes, run->errors);
        if (status == ST_OK)
            st_buffer_printf(&run->result, "%zu ranks in %s, %.4g MB\n", list.count,
                             options->folder, (double)bytes / 1e6);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_export_chakra = {
    .name = "export chakra",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "write a job's step as Chakra execution traces, for ASTRA-sim",
    .doc = "Lays the job's step out as 'steptime timeline' does and writes what each rank "
           "computes and sends: FOLDER/JOB.RANK.et, and comm_group.json with the groups that "
           "collectives name. Computation has the sheet's time, communication its bytes: the "
           "simulator computes how long it takes.\n\n"
           "Ranks of a stage do the same work in their own groups, so that a rank is written "
           "without laying out the others.",
    .examples = examples,
    CLI_OPTIONS(option_rows, chakra_options),
    .run = run_export_chakra,
};

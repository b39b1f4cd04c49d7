/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: a table of verbs, each with one table of options. The tables drive parsing,
 * help, docs/commands.md, the man page and the completion, so that none of them can tell anything
 * else.
 *
 * A verb fills `result` and returns an exit code; a verb that fails leaves nothing there. What it
 * left is written at the end in one piece, to standard output or to the file of --output.
 */
#ifndef STEPTIME_CLI_CLI_H
#define STEPTIME_CLI_CLI_H

#include "estimate/report.h"
#include "steptime/job.h"

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1,     /* bad files, input or output, a calculation without a result */
    CLI_WRONG_USE = 2,  /* of the command line */
    CLI_CHECK_FAILS = 3 /* a check of the sheet does not hold */
};

typedef enum cli_takes {
    CLI_FLAG,
    CLI_ONE, /* a value, once */
    CLI_MANY /* a value, any number of times */
} cli_takes;

/* What stands at a place of the command line, for the completion. */
typedef enum cli_word {
    CLI_WORD_NONE,
    CLI_WORD_JOB,
    CLI_WORD_SHEET,
    CLI_WORD_CELL,
    CLI_WORD_SOURCE,
    CLI_WORD_KEY, /* KEY=VALUE */
    CLI_WORD_FILE,
    CLI_WORD_FOLDER,
    CLI_WORD_VERB,
    CLI_WORD_CHOICE /* one of `choices` */
} cli_word;

typedef enum cli_option_id {
    CLI_NO_OPTION, /* ends a table */
    CLI_HELP,
    CLI_ALL,
    CLI_ALLOW_FASTER,
    CLI_APPROXIMATE,
    CLI_ASSUME,
    CLI_BY,
    CLI_CELLS,
    CLI_CLUSTER,
    CLI_COLLECTIVE,
    CLI_COLOR,
    CLI_CONSTANTS,
    CLI_COUNTERS,
    CLI_CSV,
    CLI_DB,
    CLI_DELAYS,
    CLI_DEPTH,
    CLI_DIGITS,
    CLI_DETAIL,
    CLI_EACH,
    CLI_FIXED,
    CLI_DIR,
    CLI_FORMAT,
    CLI_GPU,
    CLI_GPUS,
    CLI_GROUP,
    CLI_HAVE,
    CLI_IN_PLACE,
    CLI_JOB,
    CLI_JSON,
    CLI_LAYERS,
    CLI_LIMIT,
    CLI_LOSS,
    CLI_METHOD,
    CLI_PRUNE,
    CLI_BOUND,
    CLI_TRIALS,
    CLI_MINIMISE,
    CLI_NCCL,
    CLI_NODES,
    CLI_NO_DELAYS,
    CLI_OPTION,
    CLI_OUTPUT,
    CLI_OUT_OF_PLACE,
    CLI_OVER,
    CLI_PAIRS,
    CLI_PARETO,
    CLI_PARTIAL,
    CLI_PATH,
    CLI_PERFETTO,
    CLI_PLOT,
    CLI_PROFILE,
    CLI_PROGRAM,
    CLI_RANKS,
    CLI_RECIPE,
    CLI_REFINE,
    CLI_REPLACE,
    CLI_ROWS,
    CLI_SAMPLE,
    CLI_SAVE,
    CLI_SCALE,
    CLI_SCHEDULE,
    CLI_SEED,
    CLI_SET,
    CLI_SET_B,
    CLI_SHEET,
    CLI_SHEET_A,
    CLI_SHEET_B,
    CLI_SPACE,
    CLI_STRONG,
    CLI_SVG,
    CLI_TABLE,
    CLI_TEST,
    CLI_THREADS,
    CLI_TIMELINE,
    CLI_TOP,
    CLI_UNMATCHED,
    CLI_VARY,
    CLI_VERBOSE,
    CLI_VERSION,
    CLI_WEAK,
    CLI_WHERE,
    CLI_WRITE,
    CLI_XLSX,
    CLI_ZIP,
    CLI_OPTIONS /* how many there are */
} cli_option_id;

typedef struct cli_option {
    cli_option_id id;
    cli_takes takes;
    cli_word word; /* what its value is */
    int letter;    /* 0: none */
    const char *name;
    const char *value;   /* what the value is called in help, NULL for flags */
    const char *choices; /* "auto always never", NULL: any value */
    const char *doc;
} cli_option;

typedef struct cli_example {
    const char *command; /* NULL ends a list */
    const char *doc;
} cli_example;

typedef struct cli_run cli_run;

typedef struct cli_verb {
    const char *name;      /* "estimate", "sheet check" */
    const char *arguments; /* "JOB CELL", "" */
    size_t minimum;
    size_t maximum;      /* SIZE_MAX: any number */
    cli_word words[2];   /* of the first argument, and of the others */
    const char *choices; /* for CLI_WORD_CHOICE */
    const char *summary; /* one line, lower case */
    const char *doc;     /* paragraphs, separated by empty lines */
    const cli_example *examples;
    const cli_option *options; /* without --help, which every verb has */
    int (*run)(cli_run *run);
} cli_verb;

typedef struct cli_given {
    cli_option_id id;
    const char *value;
} cli_given;

struct cli_run {
    const cli_verb *verb;
    const char **arguments;
    size_t argument_count;
    cli_given *given; /* in the order of the command line */
    size_t given_count;
    st_arena *arena;
    st_errors *errors;
    st_buffer result;
    bool warnings_shown; /* the result, on standard output, has them */
    bool stdout_closed;  /* when the program was started */
};

/* main.c */
const cli_verb *const *cli_verbs(size_t *count);

/* args.c: options stand anywhere behind the verb, "--" ends them. Reports all faults at once. */
st_status cli_parse(cli_run *run, size_t count, const char *const *words) ST_NODISCARD;
const cli_verb *cli_find_verb(const char *name);
st_status cli_unknown_verb(cli_run *run, const char *name); /* reports it, with the nearest one */
extern const cli_option cli_help_option;

/* run.c: what verbs share */
bool cli_is_given(const cli_run *run, cli_option_id id);
const char *cli_value(const cli_run *run, cli_option_id id); /* NULL: not given */
st_status cli_values(cli_run *run, cli_option_id id, const char *const **values,
                     size_t *count) ST_NODISCARD;
/* The whole number of an option, from 1 to 2^20; 0 where it is not given. */
st_status cli_count(cli_run *run, cli_option_id id, size_t *value) ST_NODISCARD;
st_status cli_paths(cli_run *run, st_paths **paths) ST_NODISCARD;
/* The verb's first argument as a job, with --sheet and --set. */
st_status cli_load_job(cli_run *run, const st_paths *paths, st_estimate *estimate) ST_NODISCARD;
/* A paint for the place where the result goes. */
st_paint cli_paint(const cli_run *run);
/* Today, or the day that SOURCE_DATE_EPOCH names for builds that can be repeated. */
void cli_today(char date[16]);
/* Adds a fault of the command line. */
st_status cli_wrong_use(cli_run *run, const char *message, const char *suggestion);
/* The exit code of a status and of the faults that were collected. */
int cli_exit_code(const cli_run *run, st_status status);

/* output.c */
bool cli_open_streams(void); /* false: standard output was closed */
/* Writes what the verb left in `result`, if anything; the verb's exit code, or CLI_FAILED. */
int cli_write_result(cli_run *run, int code);
/* Renders a result as --json, --csv or neither ask for. */
void cli_show(cli_run *run, const st_result *result);

/* help.c */
void cli_write_overview(st_buffer *buffer);
void cli_write_help(const cli_verb *verb, st_buffer *buffer);
/* The verbs of a group such as "sheet"; false where no verb has that first word. */
bool cli_write_group(const char *word, st_buffer *buffer);
/* "--set KEY=VALUE", "-o, --output FILE" */
void cli_write_option(const cli_option *option, st_buffer *buffer);
/* "steptime estimate JOB [options]" */
void cli_write_usage(const cli_verb *verb, st_buffer *buffer);

/* commands.c, man.c, completion.c: the same tables as documents */
void cli_write_commands(st_buffer *buffer);
void cli_write_man(st_buffer *buffer);
void cli_write_completion(st_buffer *buffer);

/* Rows that several verbs share. */
#define CLI_ROW_ALL                                                                                \
    {                                                                                              \
        CLI_ALL, CLI_FLAG, CLI_WORD_NONE, 0, "all", NULL, NULL,                                    \
            "show every cell of the sheet, not only those of its report"                           \
    }
#define CLI_ROW_COLOR                                                                              \
    {                                                                                              \
        CLI_COLOR, CLI_ONE, CLI_WORD_CHOICE, 0, "color", "WHEN", "auto always never",              \
            "colour: auto (on a terminal, unless NO_COLOR is set), always or never"                \
    }
#define CLI_ROW_CSV                                                                                \
    {                                                                                              \
        CLI_CSV, CLI_FLAG, CLI_WORD_NONE, 0, "csv", NULL, NULL, "print comma-separated values"     \
    }
#define CLI_ROW_DB                                                                                 \
    {                                                                                              \
        CLI_DB, CLI_ONE, CLI_WORD_FILE, 0, "db", "FILE", NULL,                                     \
            "the database of profiles, instead of the user's own"                                  \
    }
#define CLI_ROW_JSON                                                                               \
    {                                                                                              \
        CLI_JSON, CLI_FLAG, CLI_WORD_NONE, 0, "json", NULL, NULL, "print JSON"                     \
    }
#define CLI_ROW_OUTPUT                                                                             \
    {                                                                                              \
        CLI_OUTPUT, CLI_ONE, CLI_WORD_FILE, 'o', "output", "FILE", NULL,                           \
            "write to FILE instead of standard output; FILE changes only on success"               \
    }
#define CLI_ROW_PATH                                                                               \
    {                                                                                              \
        CLI_PATH, CLI_MANY, CLI_WORD_FOLDER, 0, "path", "DIR", NULL,                               \
            "look for sheets and configurations in DIR first; may be repeated"                     \
    }
#define CLI_ROW_REFINE                                                                             \
    {                                                                                              \
        CLI_REFINE, CLI_MANY, CLI_WORD_NONE, 0, "refine", "PLUGIN[:NAME=VALUE,...]", NULL,         \
            "let this plugin stand in for open functions and cells, instead of the job's own, "    \
            "with these options; 'profile' and 'fallback' are among the names; 'none' for none; "  \
            "may be repeated, in order of preference"                                              \
    }
#define CLI_ROW_SET                                                                                \
    {                                                                                              \
        CLI_SET, CLI_MANY, CLI_WORD_KEY, 0, "set", "KEY=VALUE", NULL,                              \
            "give a key of the job another value; may be repeated"                                 \
    }
#define CLI_ROW_SHEET                                                                              \
    {                                                                                              \
        CLI_SHEET, CLI_ONE, CLI_WORD_SHEET, 0, "sheet", "NAME|FILE", NULL,                         \
            "use this sheet instead of the job's own"                                              \
    }
#define CLI_ROW_TABLE                                                                              \
    {                                                                                              \
        CLI_TABLE, CLI_MANY, CLI_WORD_FILE, 0, "table", "FILE", NULL,                              \
            "measured rows, a CSV file as docs/tables.md describes it; may be repeated"            \
    }
#define CLI_ROW_ROWS                                                                               \
    {                                                                                              \
        CLI_ROWS, CLI_MANY, CLI_WORD_NONE, 0, "rows", "FILTER", NULL,                              \
            "use these rows of the --table before it: COLUMN=VALUE|VALUE, COLUMN!=VALUE and "      \
            "START:STOP:STEP, separated by commas"                                                 \
    }
#define CLI_ROW_CONSTANTS                                                                          \
    {                                                                                              \
        CLI_CONSTANTS, CLI_ONE, CLI_WORD_FILE, 0, "constants", "NAME|FILE", NULL,                  \
            "constants from this file instead of the sheet's own"                                  \
    }
#define CLI_ROW_END                                                                                \
    {                                                                                              \
        CLI_NO_OPTION, CLI_FLAG, CLI_WORD_NONE, 0, NULL, NULL, NULL, NULL                          \
    }

extern const cli_verb cli_verb_estimate;
extern const cli_verb cli_verb_explain;
extern const cli_verb cli_verb_sheet_check;
extern const cli_verb cli_verb_sheet_show;
extern const cli_verb cli_verb_sheet_list;
extern const cli_verb cli_verb_sheet_export;
extern const cli_verb cli_verb_list;
extern const cli_verb cli_verb_timeline;
extern const cli_verb cli_verb_search;
extern const cli_verb cli_verb_scale;
extern const cli_verb cli_verb_sweep;
extern const cli_verb cli_verb_plugin_list;
extern const cli_verb cli_verb_plugin_info;
extern const cli_verb cli_verb_plugin_check;
extern const cli_verb cli_verb_plugin_new;
extern const cli_verb cli_verb_traffic;
extern const cli_verb cli_verb_compare;
extern const cli_verb cli_verb_import_hf;
extern const cli_verb cli_verb_import_megatron;
extern const cli_verb cli_verb_trace_summary;
extern const cli_verb cli_verb_trace_graph;
extern const cli_verb cli_verb_trace_replay;
extern const cli_verb cli_verb_trace_export;
extern const cli_verb cli_verb_trace_whatif;
extern const cli_verb cli_verb_validate;
extern const cli_verb cli_verb_fit;
extern const cli_verb cli_verb_fit_kernels;
extern const cli_verb cli_verb_trace_layers;
extern const cli_verb cli_verb_fit_overlap;
extern const cli_verb cli_verb_import_topology;
extern const cli_verb cli_verb_fit_nccl;
extern const cli_verb cli_verb_profile_list;
extern const cli_verb cli_verb_profile_show;
extern const cli_verb cli_verb_profile_import;
extern const cli_verb cli_verb_profile_export;
extern const cli_verb cli_verb_profile_remove;
extern const cli_verb cli_verb_docs;
extern const cli_verb cli_verb_completion;
extern const cli_verb cli_verb_help;

#endif

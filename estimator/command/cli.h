/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: a table of verbs, each with one table of options. A row has the type and the
 * range of a value and the member of a structure that takes it, so that a verb reads members and
 * parses nothing. The same rows make help, docs/commands.md, the man page and the completion, so
 * that all of them agree.
 *
 * A verb fills `result` and returns an exit code; a verb that fails leaves nothing there. What it
 * left is written at the end in one piece, to standard output or to the file of --output.
 */
#ifndef STEPTIME_CLI_CLI_H
#define STEPTIME_CLI_CLI_H

#include "base/lists.h"
#include "base/result.h"
#include "steptime/answer.h"
#include "steptime/estimate.h"
#include "steptime/job.h"

typedef enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER } cli_color;
typedef enum cli_isolate { CLI_ISOLATE_OFF, CLI_ISOLATE_ON, CLI_ISOLATE_STRICT } cli_isolate;
typedef enum cli_check { CLI_CHECK_ALL, CLI_CHECK_NONE } cli_check;

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1,     /* bad files, input or output, a calculation without a result */
    CLI_WRONG_USE = 2,  /* of the command line */
    CLI_CHECK_FAILS = 3 /* a check of the sheet does not hold */
};

/* The kind of word at a place of the command line, for the completion. */
typedef enum cli_word {
    CLI_WORD_NONE,
    CLI_WORD_JOB,
    CLI_WORD_MODEL,
    CLI_WORD_CLUSTER,
    CLI_WORD_SHEET,
    CLI_WORD_CELL,
    CLI_WORD_SOURCE,
    CLI_WORD_KEY, /* KEY=VALUE */
    CLI_WORD_FILE,
    CLI_WORD_FOLDER,
    CLI_WORD_VERB,
    CLI_WORD_CHOICE /* one of `choices` */
} cli_word;

/* The values of an option that may be repeated, in the order of the command line. */
typedef struct cli_texts {
    const char **items;
    size_t count;
} cli_texts;

/* The type of a value, in the option and in storage. */
typedef enum cli_kind {
    CLI_IS_FLAG,   /* bool */
    CLI_IS_TEXT,   /* const char *, NULL where it is not given; one of `choices` where there are */
    CLI_IS_CHOICE, /* unsigned: the place in `choices`, 0 where it is not given */
    CLI_IS_COUNT,  /* uint64_t from `least` to `most` */
    CLI_IS_NUMBER, /* double from `low` to `high` */
    CLI_IS_TEXTS,  /* cli_texts */
    CLI_IS_NAMES   /* cli_texts: each value is split at its commas */
} cli_kind;

/* A row of a verb's table of options: written with the macros below, which check the types. */
typedef struct cli_option {
    cli_kind kind;
    cli_word word;       /* what a value is, for the completion */
    bool once;           /* of names: may not be repeated */
    bool common;         /* `offset` is one in cli_common, not in the verb's own structure */
    bool result;         /* names a file that is written */
    char letter;         /* 0: none */
    size_t offset;       /* of the member that takes the value */
    const char *name;    /* without the hyphens */
    const char *value;   /* what the value is called in help, NULL for flags */
    const char *choices; /* "auto always never", NULL: any value */
    const char *bare;    /* a value follows '=' alone; this one holds without it */
    const char *doc;
    const char *key;     /* of a text: the key of the job that it sets */
    const char *initial; /* where it is not given: as a user would write it; help shows it */
    uint64_t least;
    uint64_t most;
    double low;
    double high;
    const char *range; /* of a number, in words */
    bool pure;         /* of a number: may be written with a unit without dimension, "10 %" */
} cli_option;

/* A job that is described by its parts, see asked.h. */
typedef struct cli_asked {
    const char *model;
    const char *cluster;
    uint64_t batch;    /* 0: not given */
    uint64_t sequence; /* 0: not given */
    cli_texts assumed; /* "--batch=512": what had to be assumed */
} cli_asked;

/* What the options that most verbs share have given. */
typedef struct cli_common {
    bool help;
    bool version;
    bool all;
    bool csv;
    bool json;
    bool quiet;       /* without warnings */
    bool partial;     /* of traces */
    bool confine;     /* the process itself makes only the calls of an isolated plugin */
    unsigned isolate; /* cli_isolate: plugins in processes of their own */
    unsigned check;   /* a cli_check */
    unsigned color;   /* a cli_color */
    const char *db;
    const char *output;
    const char *sheet;
    const char *stack;
    const char *steps; /* of traces */
    cli_texts paths;
    cli_texts refine;
    cli_texts sets;
    cli_asked asked;
} cli_common;

typedef struct cli_example {
    const char *command; /* NULL ends a list */
    const char *doc;
} cli_example;

/* clang-format off */
#define CLI_EXAMPLES(...) (const cli_example[]) {__VA_ARGS__, {NULL, NULL}}
/* clang-format on */

/* Options of a verb, and the structure that they fill. */
#define CLI_OPTIONS(rows, type) .options = (rows), .options_bytes = sizeof(type)

typedef struct cli_run cli_run;
typedef struct cli_recorded cli_recorded;

/* What a verb makes of recordings: a result, and perhaps files. */
typedef st_status cli_trace_view(cli_run *run, const cli_recorded *recorded, st_result *result);

typedef struct cli_verb {
    const char *name;      /* "estimate", "sheet check" */
    const char *arguments; /* "JOB CELL", "[JOB]", "FILE...", "": how many there may be */
    size_t maximum;        /* where there may be more than that; 0: no */
    cli_word words[2];     /* of the first argument, and of the others */
    const char *choices;   /* for CLI_WORD_CHOICE */
    const char *summary;   /* one line, lower case */
    const char *doc;       /* paragraphs, separated by empty lines */
    const cli_example *examples;
    const cli_option *options; /* without --help, which every verb has */
    size_t options_bytes;      /* of the structure that they fill, 0: none but cli_common */
    int (*run)(cli_run *run);
    cli_trace_view *view; /* of verbs that show recordings, and what it needs of them: traces.h */
    unsigned view_needs;
    const char *tool;     /* that runs it: "trace" for steptime-trace; NULL: this program */
    const char **learned; /* where its summary is kept once the tool was asked, NULL until then */
} cli_verb;

/* Verbs in the order of the table from this one on, up to the next group's. */
typedef struct cli_group {
    const char *title;
    const char *first; /* the name of a verb */
} cli_group;

/* `steptime`, or one of its tools. */
typedef struct cli_program {
    const cli_verb *const *verbs;
    size_t verb_count;
    const cli_group *groups;
    size_t group_count;
    const char *mark; /* of a tool: CLI_TOOL_MARK, for who starts it; NULL: `steptime` */
} cli_program;

typedef struct cli_given {
    const cli_option *option;
    const void *member; /* that took the value */
    const char *value;
} cli_given;

/* A file in addition to the result, written when the verb has finished. */
typedef struct cli_file {
    struct cli_file *next;
    const char *path;
    st_buffer text;
    struct st_output *output;
} cli_file;

struct cli_run {
    const cli_verb *verb;
    char today[16]; /* of what is fitted: see cli_today */
    const char **arguments;
    size_t argument_count;
    cli_common common;
    void *options;    /* the verb's own structure */
    cli_given *given; /* in the order of the command line */
    size_t given_count;
    st_arena *arena;
    st_errors *errors;
    st_paths *paths; /* NULL until cli_paths */
    st_buffer result;
    cli_file *files;
    bool warnings_shown; /* the result, on standard output, has them */
    bool stdout_closed;  /* when the program was started */
    bool called;         /* the result stays here, for a caller in this process */
    bool interrupted;    /* the result is partial: it goes to a file next to that of --output */
};

/* program.c */
/* From now on the process ends with a message where memory is lacking: before cli_main, in a
 * program whose own code does not check for it. */
void cli_end_without_memory(void);
int cli_main(const cli_program *program, int argc, char **argv);
/* Runs a verb for a caller in this process; see steptime/answer.h. */
st_status cli_call(const cli_program *program, const char *const *words, size_t count,
                   st_answer *answer, st_errors *errors) ST_NODISCARD;

/* verbs.c */
void cli_set_program(const cli_program *program);
const cli_program *cli_running(void);
const cli_verb *const *cli_verbs(size_t *count);
const cli_verb *cli_find_verb(const char *name); /* NULL: none */
/* The title of the group that has the verb; "": the program has no groups. */
const char *cli_group_of(const cli_verb *verb);

/* args.c: options may be anywhere after the verb, "--" ends them. Reports all errors at once. */
st_status cli_parse(cli_run *run, size_t count, const char *const *words) ST_NODISCARD;
st_status cli_unknown_verb(cli_run *run, const char *name); /* reports it, with the nearest one */
size_t cli_most_arguments(const cli_verb *verb);            /* SIZE_MAX: any number */
extern const cli_option cli_help_option;

/* options.c: values of options, checked and stored */
extern const cli_option cli_version_option;
/* The option of a verb, or of all verbs, by name or, where that is NULL, by letter. */
const cli_option *cli_find_option(const cli_verb *verb, const char *name, size_t length,
                                  int letter);
/* Makes the verb's structure, with what holds where an option is not given. */
st_status cli_options_begin(cli_run *run) ST_NODISCARD;
/* Stores a value; `value` is NULL for flags. */
st_status cli_option_take(cli_run *run, const cli_option *option, const char *value) ST_NODISCARD;
/* `what` is at error unless `value` is one of the words of `choices`; NULL allows everything. */
st_status cli_check_choice(cli_run *run, const char *what, const char *choices, const char *value,
                           unsigned *place) ST_NODISCARD;
/* Adds a text of the run's arena, which may have failed. */
st_status cli_add_text(cli_run *run, cli_texts *texts, const char *text) ST_NODISCARD;
/* Whether the command line has the option of this member of run->options or run->common. */
bool cli_is_given(const cli_run *run, const void *member);

/* run.c: what verbs share */
/* The search path of the run. */
st_status cli_paths(cli_run *run) ST_NODISCARD;
/* The verb's first argument as a job, with --sheet, --set and --refine. */
st_estimate_request cli_estimate_request(const cli_run *run);
/* The form that the command line asks for, for the place where the result goes. */
st_estimate_view cli_view(const cli_run *run);
/* Whether the reader of the result sees the messages: both are on the screen. */
bool cli_shows_messages(const cli_run *run);
/* The result has the limits that are exceeded; they are reported once more only where nobody reads
 * its text, or where there is something else to report. */
void cli_limits_shown(cli_run *run);
/* How wide a summary is: as COLUMNS says, the terminal, or 100 characters. */
size_t cli_report_width(size_t terminal);
/* A paint for the place where the result goes. */
st_paint cli_paint(const cli_run *run);
/* Fills run->today: today, or the day that SOURCE_DATE_EPOCH names for results that can be
 * repeated. */
st_status cli_today(cli_run *run);
/* Adds an error of the command line. */
st_status cli_wrong_use(cli_run *run, const char *message, const char *suggestion);
/* The exit code of a status and of the errors that were collected. */
int cli_exit_code(const cli_run *run, st_status status);

/* output.c */
bool cli_open_streams(void); /* false: standard output was closed */
/* Whether all files that the command line names for results can be written, before any work. */
st_status cli_check_results(cli_run *run) ST_NODISCARD;
/*
 * Writes the files that the verb made, all of them or, where it failed, none, and what it left in
 * `result`, if anything; the verb's exit code, or CLI_FAILED.
 */
int cli_write_result(cli_run *run, int code);
/* Renders a result as --json, --csv or neither ask for, with limits that are exceeded on top. */
void cli_show(cli_run *run, st_result *result);
/* Where the result of an interrupted run is, as a hint; "" for standard output. */
const char *cli_partial_name(const cli_run *run);
/* The text of an additional file, which cli_write_result writes; never NULL. */
st_buffer *cli_make_file(cli_run *run, const char *path);
void cli_free_files(cli_run *run);
/* A file that cannot wait: whole, or not there. */
st_status cli_write_file(cli_run *run, const char *path, const st_buffer *text) ST_NODISCARD;

/* help.c */
/* What a list of verbs says of this one; NULL: its tool is not installed, and no list has it. */
const char *cli_summary(const cli_verb *verb);
void cli_write_overview(st_buffer *buffer);
void cli_write_help(const cli_verb *verb, st_buffer *buffer);
/* The verbs of a group such as "sheet"; false where no verb has that first word. */
bool cli_write_group(const char *word, st_buffer *buffer);
/* "--set KEY=VALUE", "-o, --output FILE" */
void cli_write_option(const cli_option *option, st_buffer *buffer);
/* What it means, with what holds without it. */
void cli_write_meaning(const cli_option *option, st_buffer *buffer);
/* "steptime estimate JOB [options]" */
void cli_write_usage(const cli_verb *verb, st_buffer *buffer);

/* commands.c, man.c, completion.c: the same tables as documents */
void cli_write_commands(st_buffer *buffer);
void cli_write_commands_verb(const cli_verb *verb, st_buffer *buffer);
void cli_write_man(st_buffer *buffer);
void cli_write_man_verb(const cli_verb *verb, st_buffer *buffer);
void cli_write_man_examples(const cli_verb *verb, st_buffer *buffer);
void cli_write_completion(cli_run *run, const char *shell);
/* What the last of the words can be, for the scripts of the completion. */
void cli_complete(cli_run *run, const char *const *words, size_t count);

/*
 * Rows of options. The first two arguments are the structure and its member, whose type must be
 * that of the kind; behind the text for help further members of cli_option may be set.
 */
#define CLI_AT(type, member, stored)                                                               \
    _Generic(((type *)NULL)->member, stored : offsetof(type, member))
#define CLI_FLAG(type, member, label, ...)                                                         \
    {                                                                                              \
        .kind = CLI_IS_FLAG, .offset = CLI_AT(type, member, bool), .name = (label),                \
        .doc = __VA_ARGS__                                                                         \
    }
#define CLI_TEXT(type, member, label, shown, ...)                                                  \
    {                                                                                              \
        .kind = CLI_IS_TEXT, .offset = CLI_AT(type, member, const char *), .name = (label),        \
        .value = (shown), .doc = __VA_ARGS__                                                       \
    }
#define CLI_FILE(type, member, label, ...)                                                         \
    {                                                                                              \
        .kind = CLI_IS_TEXT, .word = CLI_WORD_FILE, .offset = CLI_AT(type, member, const char *),  \
        .name = (label), .value = "FILE", .doc = __VA_ARGS__                                       \
    }
/* A file that is written: two results cannot go into one, and its folder must be there. */
#define CLI_RESULT(type, member, label, ...)                                                       \
    CLI_FILE(type, member, label, __VA_ARGS__, .result = true)
/* One of some words, where none of them is what holds without the option. */
#define CLI_WORD(type, member, label, shown, words, ...)                                           \
    {                                                                                              \
        .kind = CLI_IS_TEXT, .word = CLI_WORD_CHOICE,                                              \
        .offset = CLI_AT(type, member, const char *), .name = (label), .value = (shown),           \
        .choices = (words), .doc = __VA_ARGS__                                                     \
    }
/* The words of an enumeration in its order; the first is the default. */
#define CLI_CHOICE(type, member, label, shown, words, ...)                                         \
    {                                                                                              \
        .kind = CLI_IS_CHOICE, .word = CLI_WORD_CHOICE, .offset = CLI_AT(type, member, unsigned),  \
        .name = (label), .value = (shown), .choices = (words), .doc = __VA_ARGS__                  \
    }
#define CLI_COUNT(type, member, label, from, to, ...)                                              \
    {                                                                                              \
        .kind = CLI_IS_COUNT, .offset = CLI_AT(type, member, uint64_t), .name = (label),           \
        .value = "N", .least = (from), .most = (to), .doc = __VA_ARGS__                            \
    }
#define CLI_NUMBER(type, member, label, shown, from, to, ...)                                      \
    {                                                                                              \
        .kind = CLI_IS_NUMBER, .offset = CLI_AT(type, member, double), .name = (label),            \
        .value = (shown), .low = (from), .high = (to), .doc = __VA_ARGS__                          \
    }
#define CLI_TEXTS(type, member, label, shown, ...)                                                 \
    {                                                                                              \
        .kind = CLI_IS_TEXTS, .offset = CLI_AT(type, member, cli_texts), .name = (label),          \
        .value = (shown), .doc = __VA_ARGS__                                                       \
    }
#define CLI_NAMES(type, member, label, shown, ...)                                                 \
    {                                                                                              \
        .kind = CLI_IS_NAMES, .word = CLI_WORD_CELL, .offset = CLI_AT(type, member, cli_texts),    \
        .name = (label), .value = (shown), .doc = __VA_ARGS__                                      \
    }
#define CLI_END                                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#define CLI_MOST_DIGITS UINT64_C(999999999999999999) /* a count of at most 18 digits */
#define CLI_MOST_GIVEN  UINT64_C(1048576)            /* ranks, nodes */

/* Rows that several verbs share. */
#define CLI_ROW_CHECK                                                                              \
    CLI_CHOICE(cli_common, check, "check", "WHICH", "all none",                                    \
               "enforce all checks of the sheet, or none: then a failed check is only reported",   \
               .common = true)
#define CLI_ROW_COLOR                                                                              \
    CLI_CHOICE(cli_common, color, "color", "WHEN", "auto always never",                            \
               "use colours: auto (on a terminal, unless NO_COLOR is set), always or never",       \
               .common = true)
#define CLI_ROW_CSV CLI_FLAG(cli_common, csv, "csv", "print comma-separated values", .common = true)
#define CLI_ROW_DB                                                                                 \
    CLI_FILE(cli_common, db, "db", "use this database of profiles instead of the user's",          \
             .common = true)
#define CLI_ROW_JSON CLI_FLAG(cli_common, json, "json", "print JSON", .common = true)
#define CLI_ROW_CONFINE                                                                            \
    CLI_FLAG(cli_common, confine, "confine",                                                       \
             "read files of others with the system calls of an isolated plugin alone; the result " \
             "goes to standard output",                                                            \
             .common = true)
/* Whoever has a result can make it confined. */
#define CLI_ROW_OUTPUT                                                                             \
    CLI_RESULT(cli_common, output, "output",                                                       \
               "write to FILE instead of standard output; FILE changes only on success",           \
               .letter = 'o', .common = true),                                                     \
        CLI_ROW_CONFINE
#define CLI_ROW_PARTIAL                                                                            \
    CLI_FLAG(cli_common, partial, "partial", "accept damaged files, and jobs with missing ranks",  \
             .common = true)
#define CLI_ROW_PATH                                                                               \
    CLI_TEXTS(cli_common, paths, "path", "DIR",                                                    \
              "look for sheets and configurations in DIR first; may be repeated",                  \
              .word = CLI_WORD_FOLDER, .common = true)
#define CLI_ROW_QUIET                                                                              \
    CLI_FLAG(cli_common, quiet, "quiet", "omit warnings and notes", .common = true)
#define CLI_ROW_REFINE                                                                             \
    CLI_TEXTS(cli_common, refine, "refine", "PLUGIN[:NAME=VALUE,...]",                             \
              "let this plugin, with these options, replace open functions and cells instead of "  \
              "the job's plugins; options include 'profile' and 'fallback'; 'none' uses no "       \
              "plugin; may be repeated, in order of preference",                                   \
              .common = true)
#define CLI_ROW_STEPS                                                                              \
    CLI_TEXT(cli_common, steps, "steps", "N|N..M",                                                 \
             "use only these steps of the recording, the numbers of ProfilerStep#N",               \
             .common = true)
#define CLI_ROW_FULL_NAMES(type)                                                                   \
    CLI_FLAG(type, full_names, "full-names",                                                       \
             "show full names in the table; JSON and CSV always have them")
#define CLI_ROW_ISOLATE                                                                            \
    CLI_CHOICE(cli_common, isolate, "isolate", "strict", "off on strict",                          \
               "run plugins in separate processes that can only compute and read files; a crash "  \
               "is an error like any other; with =strict, fail where the system lacks a part of "  \
               "the isolation",                                                                    \
               .bare = "on", .common = true)
#define CLI_ROW_STACK                                                                              \
    CLI_TEXT(cli_common, stack, "stack", "NAME|FILE",                                              \
             "use this software stack instead of the job's", .key = "stack",                       \
             .word = CLI_WORD_FILE, .common = true)
#define CLI_ROW_SET                                                                                \
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE", "set a key of the job; may be repeated",       \
              .word = CLI_WORD_KEY, .common = true),                                               \
        CLI_ROW_STACK
#define CLI_ROW_SHEET                                                                              \
    CLI_TEXT(cli_common, sheet, "sheet", "NAME|FILE", "use this sheet instead of the job's",       \
             .word = CLI_WORD_SHEET, .common = true)

/* What verbs that show tables have, and what verbs that load a job do. */
#define CLI_ROWS_FORMS  CLI_ROW_JSON, CLI_ROW_CSV, CLI_ROW_PATH, CLI_ROW_OUTPUT
#define CLI_ROWS_TRACES CLI_ROW_PARTIAL, CLI_ROW_JSON, CLI_ROW_CSV, CLI_ROW_OUTPUT
#define CLI_ROWS_JOB    CLI_ROW_SHEET, CLI_ROW_SET, CLI_ROW_REFINE, CLI_ROW_ISOLATE, CLI_ROW_DB
/* The same of verbs that lay a plan out, which may warn of it. */
#define CLI_ROWS_PLAN                                                                              \
    CLI_ROW_SHEET, CLI_ROW_SET, CLI_ROW_CHECK, CLI_ROW_QUIET, CLI_ROW_REFINE, CLI_ROW_DB
/* What verbs have that price what was recorded. */
#define CLI_ROWS_PRICES                                                                            \
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE", "set a key of the cluster",                    \
              .word = CLI_WORD_KEY, .common = true),                                               \
        CLI_TEXTS(cli_common, refine, "refine", "PLUGIN[:NAME=VALUE,...]",                         \
                  "use this plugin for the times of collectives (default: nccl-whitebox), or of "  \
                  "products and attention, such as operator-times; may be repeated",               \
                  .common = true),                                                                 \
        CLI_ROW_DB
/* Rows for the members `schedule`, `settings` and `detail` of a verb that lays a job out. */
#define CLI_ROWS_SCHEDULE(options)                                                                 \
    CLI_TEXT(options, schedule, "schedule", "NAME",                                                \
             "use this schedule instead of the job's parallel.schedule: gpipe, 1f1b, "             \
             "interleaved, zero_bubble, zero_bubble_2, zero_bubble_v, v_half, v_min, dualpipe, "   \
             "or a plugin's, PLUGIN "                                                              \
             "or PLUGIN:NAME"),                                                                    \
        CLI_TEXTS(options, settings, "option", "NAME=VALUE",                                       \
                  "set an option of the schedule's plugin; may be repeated"),                      \
        CLI_CHOICE(options, detail, "detail", "WHICH", "passes layers",                            \
                   "make one task for each kind of work of a pass, or of each of its layers")

#endif

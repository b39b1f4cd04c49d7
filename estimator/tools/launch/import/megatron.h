/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of Megatron-LM: the arguments, from a command line or from the dump in a log, and the times
 * of its iterations.
 *
 * Circle: with launch/import/launchers, launch/import/megatron_args, launch/import/megatron_facts,
 * launch/import/megatron_layers, launch/import/megatron_model, launch/import/megatron_modern,
 * launch/import/megatron_plan, launch/import/megatron_times, launch/import/megatron_yaml, because
 * these read arguments of the run and megatron calls them in the order of a job's sections.
 */
#ifndef STEPTIME_IMPORT_MEGATRON_H
#define STEPTIME_IMPORT_MEGATRON_H

#include "launch/import/job_draft.h"

enum { MEGATRON_MAX_ARGUMENTS = 4096, MEGATRON_MAX_TIMES = 1000000 };

typedef struct megatron_argument {
    const char *name;  /* with '_', as in the dump */
    const char *value; /* "True" for a flag */
    int line;
    bool used;
} megatron_argument;

typedef struct megatron_time {
    double ms;
    double batch; /* samples of the iteration; 0: not in the line */
    double step;  /* its number; 0: not in the line */
    int line;
    bool ends_line;   /* nothing follows the number */
    bool is_doubtful; /* another line has another time */
} megatron_time;

/* What the times of a log are. */
typedef enum megatron_rate {
    MEGATRON_TIMES,
    MEGATRON_TOKENS,  /* per second and GPU */
    MEGATRON_SAMPLES, /* per second */
} megatron_rate;

typedef struct megatron_lines {
    size_t count;
    int first;
} megatron_lines;

typedef struct megatron_run {
    st_draft *draft;
    bool is_export; /* read back to compare: nothing is refused or listed */
    bool is_dump;   /* arguments are complete, with what Megatron derived */
    megatron_argument *arguments;
    size_t count;
    megatron_time *times; /* of iterations, in the order of the log */
    size_t time_count;
    megatron_lines odd;   /* cut, or without a time above 0 */
    megatron_lines nan;   /* whose loss is NaN or infinite */
    megatron_lines again; /* of a step that the line before has */
    megatron_lines other; /* of these, with another time */
    megatron_rate rate;
    int form_place;        /* of the form of the times among those that are known; 0: none yet */
    const char *step_word; /* in front of the number of a step; NULL: no step was read */
    const char *step_line; /* the last step's, up to that number */
    const char *step_line_end;
    int restart_line;    /* where numbers of steps begin again; 0: nowhere */
    size_t dumps;        /* in the log; the last one counts */
    uint64_t vocabulary; /* that the log prints when it pads it; 0: none */
    uint64_t ranks;      /* that the log prints at its start, in line ranks_line; 0: none */
    int ranks_line;
} megatron_run;

/* A line of the source, without its end. */
typedef struct megatron_line {
    const char *text;
    size_t length;
    int number;
} megatron_line;

/* The next line from *offset; false at the end. */
bool megatron_next_line(const st_import_request *request, size_t *offset, megatron_line *line);
/* What follows `words` in the line, or NULL. */
const char *megatron_find(const megatron_line *line, const char *words);

/* megatron_args.c */
bool megatron_is_log(const st_import_request *request);
void megatron_read_command(megatron_run *run);
/* The same from a text of its own. */
void megatron_read_words(megatron_run *run, const char *text, size_t length);
/* Sets or replaces an argument. */
void megatron_set(megatron_run *run, const char *name, const char *value, int line);
void megatron_forget(megatron_run *run);
void megatron_forget_one(megatron_run *run, const char *name);
/* Sets the argument that an option gives, by its own name or another; NULL: a flag. */
void megatron_set_option(megatron_run *run, const char *option, const char *value, int line);

/* megatron_times.c: the dump, iterations and the padded vocabulary */
void megatron_read_log(megatron_run *run);
void megatron_forget_times(megatron_run *run);
/* The line has the time of a step. */
bool megatron_is_step(const megatron_line *line);
/* Times of the steps of a log alone, as any of the frameworks prints them. */
void megatron_read_times(megatron_run *run, const st_import_request *log);
/* Reports steps that are left out with their places; an error where none is left. */
void megatron_warn_of_times(megatron_run *run);
/* Writes measured.step_time. */
void megatron_put_time(megatron_run *run);

/* megatron_options.c */
/* An option that says the opposite of its argument, or has another name. */
typedef struct megatron_option {
    const char *option;   /* "disable_bias_linear" */
    const char *argument; /* "add_bias_linear" */
    const char *value;    /* NULL: its own */
} megatron_option;
const megatron_option *megatron_option_find(const char *name);
/* The option that says that an argument is False, "disable_bias_linear"; NULL: there is none. */
const char *megatron_option_against(const char *argument, const char *value);
/* The option takes several words, which are one value with blanks between them. */
bool megatron_is_list(const char *name);
/* The option takes no value. */
bool megatron_is_flag(const char *name);
/* The argument is known and does not affect an estimate. */
bool megatron_is_skipped(const char *name);

/* megatron_yaml.c */
bool megatron_is_yaml(const st_import_request *request);
void megatron_read_yaml(megatron_run *run);
/* The value that "${NAME:2385}" falls back on; the text itself where there is none. */
const char *megatron_fallback(megatron_run *run, const char *text);
/*
 * The map of a file that an experiment of Primus names, next to it or in primus/configs/`kind` of a
 * folder above it; `kind` is "models/megatron". NULL where it is nowhere or no map.
 */
const struct st_yaml_node *megatron_primus_file(st_draft *draft, const char *name,
                                                const char *kind);

/* launchers.c */
bool megatron_is_launcher(const char *word);
/* The argument that a short option of a launcher gives, NULL for another word. */
const char *megatron_launcher_option(const char *launcher, const char *word);
/* The variable says how many ranks there are. */
bool megatron_is_rank_variable(const char *name);
/* What #SBATCH lines make of a variable of Slurm; NULL: nothing. */
const char *megatron_slurm_value(megatron_run *run, const char *name, size_t length);
/* A comment that may be a line of sbatch. */
void megatron_read_sbatch(megatron_run *run, const char *text, size_t length, int line);
/* Ranks from what launchers and variables say. */
void megatron_settle_ranks(megatron_run *run);

/* key_kinds.c */
/* One of the patterns, with blanks between them, fits the name. */
bool megatron_fits(const char *patterns, const char *name);
/* The value says that its feature is off. */
bool megatron_is_off(const char *value);
/* The name changes nothing in an estimate, in any of the frameworks. */
bool megatron_is_harmless(const char *name);
/* The key of the job that an argument nobody looked at decides by its name; NULL: none. */
const char *megatron_decided_key(const megatron_argument *argument);

/* The argument's value; NULL where it is absent or None. Marks it as used. */
const megatron_argument *megatron_get(megatron_run *run, const char *name);

/* megatron.c; every look at an argument marks it as used */
/* Place of an argument; NULL: the file as a whole. */
st_place megatron_place(const megatron_run *run, const megatron_argument *argument);
/* False, with an error, if the argument's value is not a number. */
bool megatron_read_number(megatron_run *run, const megatron_argument *argument, double *value);
/* A count that is given; false where it is absent or faulty. */
bool megatron_read_count(megatron_run *run, const char *name, uint64_t *value);
uint64_t megatron_count_or(megatron_run *run, const char *name, uint64_t missing);
bool megatron_is_true(megatron_run *run, const char *name, bool missing);
/* "" where it is absent. */
const char *megatron_text(megatron_run *run, const char *name);
bool megatron_is_given(megatron_run *run, const char *name);
/* The argument is known and changes nothing here. */
void megatron_pass_over(megatron_run *run, const char *name);
/* 0 where it is absent. */
int megatron_line_of(megatron_run *run, const char *name);
/* Writes a key of the job, with the argument or its default as the source. */
void megatron_put(megatron_run *run, const char *path, const char *name, uint64_t value);
void megatron_put_bool(megatron_run *run, const char *path, const char *name, bool value);
/* The same with the argument's own value, or what Megatron takes where it is absent. */
uint64_t megatron_put_or(megatron_run *run, const char *path, const char *name, uint64_t missing);
void megatron_put_true(megatron_run *run, const char *path, const char *name, bool missing);
/* The same where it is given; whether it is. */
bool megatron_put_given(megatron_run *run, const char *path, const char *name);
/* A count that the run must have; 0 and an error where it has none. */
uint64_t megatron_put_needed(megatron_run *run, const char *path, const char *name);

/* megatron.c: every key of the job from the arguments, and a note on those that say nothing */
void megatron_put_all(megatron_run *run);
/* Remembers the keys of the source, before anything renames or settles them. */
void megatron_remember_keys(megatron_run *run);
/* Refuses or lists arguments that nobody looked at. */
void megatron_account(megatron_run *run);

/* megatron_layers.c */
/* model.layers and the pattern of a hybrid model; false where it is none. */
bool megatron_put_hybrid(megatron_run *run);
/* The layout that the '|' of a hybrid model's pattern say; NULL where there is none. */
const char *megatron_hybrid_layout(megatron_run *run);
/* Attention of DeepSeek-V4, whose keys are its values; false where the run has another. */
bool megatron_put_shared_kv(megatron_run *run);
/* Layers by kind and what only some of them have; after the experts. */
void megatron_put_layers(megatron_run *run);

/* A word of an argument and what it means for a key, for import and export. */
typedef struct megatron_word {
    const char *word;
    const char *value;
} megatron_word;
enum { MEGATRON_RECIPES = 4, MEGATRON_MODULES = 7 };
extern const megatron_word megatron_recipes[MEGATRON_RECIPES]; /* of FP8 */
extern const megatron_word megatron_modules[MEGATRON_MODULES]; /* that are computed again */

/* megatron_modern.c: recipes, layouts, dispatchers, modules, graphs and offload; after the plan */
void megatron_put_modern(megatron_run *run);

/*
 * One argument for one value of a key, read in both directions. `when` is the word of the key, or
 * "*" for any number above 0, "=" for any value; `value` is what the argument then says, NULL for
 * the number itself.
 */
typedef struct megatron_row {
    const char *key;
    const char *when;
    const char *option;
    const char *value;
} megatron_row;
enum { MEGATRON_FACTS = 21 };
/* megatron_facts.c: what defines a model and changes no estimate */
extern const megatron_row megatron_facts[MEGATRON_FACTS];
/* model.activation and .rope_scaling, of several arguments, and what the rows say. */
void megatron_put_facts(megatron_run *run);

/* megatron_model.c and megatron_plan.c: every key of the job but the measured time */
void megatron_put_model(megatron_run *run);
/* After the model, whose experts it looks at. */
void megatron_put_plan(megatron_run *run);

#endif

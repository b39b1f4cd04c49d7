/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion for shells. The program itself says which words can come next, from the tables of
 * verbs and options and from the search path; the scripts hand it the words so far and offer what
 * it answers, so that all shells share one answer. They are in completion/.
 *
 * An answer is a line for each word, with its meaning behind a tab, and lines for what shells know
 * better: ":files", ":yaml", ":folders", and ":nospace" where a word goes on.
 */
#include "command/tool.h"

#include "job/files.h"

#include <string.h>

void cli_write_completion(cli_run *run, const char *shell)
{
    st_source script = {0};
    const char *file =
        st_arena_printf(run->arena, "estimator/command/completion/steptime.%s", shell);
    if (file != NULL && st_file_embedded(file, run->arena, &script))
        st_buffer_text(&run->result, script.text);
    else
        run->result.failed = true;
}

/* ---- the command line so far ---- */

typedef struct completer {
    cli_run *run;
    const char **words; /* the last one is being completed */
    size_t count;
    const cli_verb *verb;
    size_t verb_words;        /* of them, words of the verb */
    const cli_option *option; /* whose value the last word is */
    size_t place;             /* of the last word among the arguments */
    const char *job;          /* the first argument */
    const char *word;         /* what is being completed, without `before` */
    const char *before;       /* "--color=", which every answer repeats */
    const char *const *given; /* the words as the shell has them */
    size_t given_count;
} completer;

/* bash hands "--color=al" over as three words; the part before its last one is not repeated. */
static bool join_words(completer *self, const char *const *given, size_t count)
{
    self->words = st_arena_alloc(self->run->arena, count + 1, sizeof *self->words);
    for (size_t i = 0; self->words != NULL && i < count; i++) {
        bool joins = strcmp(given[i], "=") == 0 && self->count > 0;
        if (!joins) {
            self->words[self->count++] = given[i];
            continue;
        }
        const char *next = i + 1 < count ? given[++i] : "";
        self->words[self->count - 1] =
            st_arena_printf(self->run->arena, "%s=%s", self->words[self->count - 1], next);
        if (self->words[self->count - 1] == NULL)
            return false;
    }
    return self->words != NULL;
}

static const cli_option *option_of(const completer *self, const char *word)
{
    size_t length = strcspn(word, "=");
    if (word[0] != '-' || word[1] == '\0')
        return NULL;
    return word[1] == '-' ? cli_find_option(self->verb, word + 2, length - 2, 0)
                          : cli_find_option(self->verb, NULL, 0, word[1]);
}

/* Past options and their values, to what the last word is. */
static void walk(completer *self, bool joined)
{
    const char *last = self->words[self->count - 1];
    for (size_t i = self->verb_words; i + 1 < self->count; i++) {
        const char *word = self->words[i];
        const cli_option *option = option_of(self, word);
        bool takes_next =
            option != NULL && option->kind != CLI_IS_FLAG && strchr(word, '=') == NULL;
        if (takes_next && i + 2 == self->count)
            self->option = option;
        i += takes_next ? 1 : 0;
        if (word[0] == '-')
            continue;
        self->job = self->place == 0 ? word : self->job;
        self->place++;
    }
    const char *equals = strchr(last, '=');
    self->word = last;
    self->before = "";
    if (self->option != NULL || strncmp(last, "--", 2) != 0 || equals == NULL)
        return;
    self->option = option_of(self, last);
    self->word = equals + 1;
    if (!joined)
        self->before = st_arena_copy(self->run->arena, last, (size_t)(equals + 1 - last));
}

/* ---- answers ---- */

static void offer(completer *self, const char *word, const char *meaning)
{
    st_buffer *result = &self->run->result;
    if (strncmp(word, self->word, strlen(self->word)) != 0)
        return;
    st_buffer_printf(result, "%s%s", self->before != NULL ? self->before : "", word);
    if (meaning[0] != '\0')
        st_buffer_printf(result, "\t%.*s", (int)strcspn(meaning, "\n"), meaning);
    st_buffer_text(result, "\n");
}

/* The first words of the verbs, or the second ones of those that begin with `group`. */
static void offer_verbs(completer *self, const char *group)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    size_t length = strlen(group);
    for (size_t i = 0; i < count; i++) {
        const char *name = verbs[i]->name;
        size_t first = strcspn(name, " ");
        bool again = i > 0 && strncmp(verbs[i - 1]->name, name, first) == 0 &&
                     strchr(" ", verbs[i - 1]->name[first]) != NULL;
        if (cli_summary(verbs[i]) == NULL ||
            (length > 0 && (strncmp(name, group, length) != 0 || name[length] != ' ')))
            continue;
        if (length > 0)
            offer(self, name + length + 1, st_or_none(cli_summary(verbs[i])));
        else if (!again)
            offer(self, st_errors_text(self->run->errors, "%.*s", (int)first, name),
                  name[first] == '\0' ? st_or_none(cli_summary(verbs[i])) : "");
    }
}

static void offer_names(completer *self, st_folder folder)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    st_status status = cli_paths(self->run);
    if (status == ST_OK)
        status = st_paths_list(self->run->paths, folder, self->run->arena, &entries, &count, NULL);
    for (size_t i = 0; status == ST_OK && i < count; i++)
        offer(self, entries[i].name, "");
}

static void offer_cells(completer *self)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    request.job = self->job;
    if (self->job == NULL || st_estimate_create(&request, &estimate, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < st_estimate_cell_count(estimate); i++) {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        if (st_estimate_cell_at(estimate, i, &cell, NULL) == ST_OK && !cell.is_input)
            offer(self, st_errors_text(self->run->errors, "%s", cell.name), cell.doc);
    }
    st_estimate_destroy(estimate);
}

/* "parallel.tp=", and behind it the words that a key takes. */
static void offer_keys(completer *self)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    bool goes_on = strchr(self->word, '=') == NULL;
    for (size_t i = 0; i < count; i++) {
        const char *values = keys[i].kind == ST_KEY_BOOL ? "true false" : keys[i].values;
        if (goes_on)
            offer(self, st_errors_text(self->run->errors, "%s=", keys[i].path), keys[i].doc);
        size_t length = strlen(keys[i].path);
        for (const char *next = goes_on ? "" : st_or_none(values); *next != '\0';) {
            size_t size = strcspn(next, " ");
            if (strncmp(self->word, keys[i].path, length) == 0 && self->word[length] == '=')
                offer(self,
                      st_errors_text(self->run->errors, "%s=%.*s", keys[i].path, (int)size, next),
                      "");
            next += size + (next[size] == ' ' ? 1 : 0);
        }
    }
    if (goes_on)
        st_buffer_text(&self->run->result, ":nospace\n");
}

/* A name on the search path, or a file of one's own. */
static void offer_named(completer *self, st_folder folder)
{
    offer_names(self, folder);
    st_buffer_text(&self->run->result, ":yaml\n");
}

static void offer_word(completer *self, cli_word word, const char *choices)
{
    switch (word) {
    case CLI_WORD_JOB:
        offer_named(self, ST_FOLDER_JOBS);
        return;
    case CLI_WORD_MODEL:
        offer_named(self, ST_FOLDER_MODELS);
        return;
    case CLI_WORD_CLUSTER:
        offer_named(self, ST_FOLDER_CLUSTERS);
        return;
    case CLI_WORD_SHEET:
        offer_named(self, ST_FOLDER_SHEETS);
        return;
    case CLI_WORD_SOURCE:
        offer_names(self, ST_FOLDER_VALIDATION);
        return;
    case CLI_WORD_CELL:
        offer_cells(self);
        return;
    case CLI_WORD_KEY:
        offer_keys(self);
        return;
    case CLI_WORD_VERB:
        offer_verbs(self, self->place > 0 ? st_or_none(self->job) : "");
        return;
    case CLI_WORD_FILE:
    case CLI_WORD_FOLDER:
        st_buffer_text(&self->run->result, word == CLI_WORD_FILE ? ":files\n" : ":folders\n");
        return;
    case CLI_WORD_CHOICE:
        for (const char *next = choices; next != NULL && *next != '\0';) {
            size_t length = strcspn(next, " ");
            const char *choice_word = st_arena_copy(self->run->arena, next, length);
            offer(self, choice_word != NULL ? choice_word : "", "");
            next += length + (next[length] == ' ' ? 1 : 0);
        }
        return;
    case CLI_WORD_NONE:
        return;
    }
}

static void answer(completer *self, bool joined)
{
    if (self->count >= 2) {
        self->verb = cli_find_verb(self->words[0]);
        self->verb_words = 1;
        if (self->count >= 3) {
            const char *name =
                st_arena_printf(self->run->arena, "%s %s", self->words[0], self->words[1]);
            const cli_verb *longer = name != NULL ? cli_find_verb(name) : NULL;
            if (longer != NULL) {
                self->verb = longer;
                self->verb_words = 2;
            }
        }
    }
    self->word = self->words[self->count - 1];
    self->before = "";
    if (self->count == 1) {
        offer_verbs(self, "");
        offer(self, "--help", cli_help_option.doc);
        offer(self, "--version", cli_version_option.doc);
        return;
    }
    if (self->count == 2)
        offer_verbs(self, self->words[0]);
    if (self->verb == NULL)
        return;
    if (self->verb->tool != NULL) {
        /* The tool of the verb knows its options; it gets the same words. */
        const char **words = st_arena_alloc(self->run->arena, self->given_count + 1, sizeof *words);
        if (words != NULL) {
            words[0] = "words";
            for (size_t i = 0; i < self->given_count; i++)
                words[i + 1] = self->given[i];
            (void)cli_tool_page(self->verb->tool, self->given_count + 1, words, &self->run->result);
        }
        return;
    }
    walk(self, joined);
    if (self->option != NULL) {
        offer_word(self, self->option->word, self->option->choices);
    } else if (self->word[0] == '-') {
        const cli_option *option = self->verb->options;
        offer(self, "--help", cli_help_option.doc);
        for (; option->name != NULL; option++)
            offer(self, st_errors_text(self->run->errors, "--%s", option->name), option->doc);
    } else {
        const cli_verb *verb = self->verb;
        if (self->place > 0 && self->place >= cli_most_arguments(verb))
            return;
        offer_word(self, verb->words[self->place > 0 ? 1 : 0],
                   self->place > 0 ? NULL : verb->choices);
    }
}

void cli_complete(cli_run *run, const char *const *words, size_t count)
{
    completer self = {.run = run, .given = words, .given_count = count};
    cli_learn_tools(run);
    bool joined =
        count >= 2 && (strcmp(words[count - 2], "=") == 0 || strcmp(words[count - 1], "=") == 0);
    if (count > 0 && join_words(&self, words, count))
        answer(&self, joined);
}

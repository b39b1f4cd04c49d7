/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments from a command line, also one inside of a shell script.
 *
 * Scripts collect options in arrays and quoted texts: quotes, parentheses and line ends only
 * separate here, so that every option counts, in any order. Variables that the script itself
 * sets to one word are put in; nothing is run.
 */
#include "launch/import/megatron.h"
#include "launch/import/shell_number.h"

#include "base/chars.h"

#include <string.h>

bool megatron_next_line(const st_import_request *request, size_t *offset, megatron_line *line)
{
    if (*offset >= request->length)
        return false;
    const char *start = request->text + *offset;
    size_t rest = request->length - *offset;
    const char *end = memchr(start, '\n', rest);
    size_t length = end != NULL ? (size_t)(end - start) : rest;
    *offset += length + 1;
    line->number++;
    while (length > 0 && start[length - 1] == '\r')
        length--;
    line->text = start;
    line->length = length;
    return true;
}

const char *megatron_find(const megatron_line *line, const char *words)
{
    size_t size = strlen(words);
    const char *from = line->text;
    const char *end = line->text + line->length;
    while ((size_t)(end - from) >= size) {
        const char *hit = memchr(from, words[0], (size_t)(end - from) - size + 1);
        if (hit == NULL)
            return NULL;
        if (memcmp(hit, words, size) == 0)
            return hit + size;
        from = hit + 1;
    }
    return NULL;
}

bool megatron_is_log(const st_import_request *request)
{
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);)
        if (megatron_find(&line, "-- arguments --") != NULL ||
            megatron_find(&line, "elapsed time per iteration (") != NULL)
            return true;
    return false;
}

/* ---- the list ---- */

static megatron_argument *find(megatron_run *run, const char *name)
{
    size_t i = ST_FIND(run->arguments, run->count, name, name);
    return i < run->count ? &run->arguments[i] : NULL;
}

const megatron_argument *megatron_get(megatron_run *run, const char *name)
{
    megatron_argument *argument = find(run, name);
    if (argument == NULL)
        return NULL;
    argument->used = true;
    return strcmp(argument->value, "None") == 0 ? NULL : argument;
}

void megatron_set(megatron_run *run, const char *name, const char *value, int line)
{
    st_draft *draft = run->draft;
    megatron_argument *argument = find(run, name);
    const char *copy = st_arena_copy(draft->arena, value, strlen(value));
    if (argument == NULL && run->count >= MEGATRON_MAX_ARGUMENTS) {
        if (draft->status == ST_OK)
            ST_NOTE(draft, ST_ERR_LIMIT, (st_place){.file = draft->request->file, .line = line},
                    "too many arguments" ST_EXPECTED "at most 4096");
        return;
    }
    if (argument == NULL) {
        const megatron_argument made = {.name = st_arena_copy(draft->arena, name, strlen(name))};
        if (!ST_APPEND(draft->arena, run->arguments, run->count, made)) {
            st_draft_out_of_memory(run->draft);
            return;
        }
        argument = &run->arguments[run->count - 1];
    }
    if (copy == NULL)
        st_draft_out_of_memory(run->draft);
    argument->value = copy != NULL ? copy : "";
    argument->line = line;
    argument->used = false;
}

void megatron_forget_one(megatron_run *run, const char *name)
{
    const size_t i = ST_FIND(run->arguments, run->count, name, name);
    if (i >= run->count)
        return;
    run->count--;
    memmove(&run->arguments[i], &run->arguments[i + 1], (run->count - i) * sizeof *run->arguments);
}

void megatron_set_option(megatron_run *run, const char *option, const char *value, int line)
{
    const megatron_option *other = megatron_option_find(option);
    const char *given = value != NULL ? value : "True";
    if (other != NULL)
        megatron_set(run, other->argument, other->value != NULL ? other->value : given, line);
    else
        megatron_set(run, option, given, line);
}

void megatron_forget(megatron_run *run)
{
    run->count = 0;
    megatron_forget_times(run);
}

/* ---- words of a shell ---- */

enum { WORD_BYTES = 4096, VARIABLES = 512 };

typedef struct shell_reader {
    megatron_run *run;
    const char *text;
    size_t length;
    size_t offset;
    int line;
    char quote;
    char word[WORD_BYTES];
    size_t word_length;
    struct {
        const char *name;
        const char *value;
    } variables[VARIABLES];
    size_t variable_count;
    size_t branches;  /* of if and case that are open */
    char option[256]; /* that waits for its value; "" none */
    int option_line;
    const char *launcher; /* "srun" before its program; NULL: none */
    char list[256];       /* that takes further words; "" none */
    bool crossed;         /* the word before this one ended its line */
} shell_reader;

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';';
}

static void add_character(shell_reader *reader, char c)
{
    if (reader->word_length + 1 < WORD_BYTES)
        reader->word[reader->word_length++] = c;
}

/* A backslash before a line end joins the lines, before anything else it quotes it. */
static void read_escape(shell_reader *reader)
{
    if (reader->offset >= reader->length)
        return;
    char c = reader->text[reader->offset++];
    if (c == '\r' && reader->offset < reader->length && reader->text[reader->offset] == '\n')
        c = reader->text[reader->offset++];
    reader->line += c == '\n' ? 1 : 0;
    if (c != '\n')
        add_character(reader, c);
}

/* "$(...)" or "`...`" as it is written, up to its end; false where none begins. */
static bool read_substitution(shell_reader *reader, char c)
{
    const bool is_call =
        c == '$' && reader->offset < reader->length && reader->text[reader->offset] == '(';
    int depth = 0;
    if (!is_call && c != '`')
        return false;
    add_character(reader, c);
    while (reader->offset < reader->length) {
        const char next = reader->text[reader->offset++];
        reader->line += next == '\n' ? 1 : 0;
        add_character(reader, next == '\n' ? ' ' : next);
        depth += next == '(' ? 1 : next == ')' ? -1 : 0;
        if (is_call ? depth == 0 : next == '`')
            break;
    }
    return true;
}

/* The next word, without quotes; false at the end. Blanks inside of quotes separate too. */
static bool read_word(shell_reader *reader)
{
    reader->word_length = 0;
    reader->crossed = false;
    while (reader->offset < reader->length) {
        char c = reader->text[reader->offset++];
        if (is_separator(c) && reader->word_length > 0) {
            reader->offset -= c == '\n' ? 1 : 0; /* the word keeps its own line */
            break;
        }
        reader->line += c == '\n' ? 1 : 0;
        reader->crossed = reader->crossed || (c == '\n' && reader->word_length == 0);
        /* A character of the text that ends no word: a quote, a comment, an escape, or one of
         * the word. */
        bool is_quote = c == '"' || c == '\'';
        if (is_quote && (reader->quote == '\0' || reader->quote == c)) {
            reader->quote = reader->quote == c ? '\0' : c;
        } else if (c == '#' && reader->word_length == 0 && reader->quote == '\0') {
            const char *rest = reader->text + reader->offset - 1;
            const char *end = memchr(rest, '\n', reader->length - reader->offset + 1);
            megatron_read_sbatch(reader->run, rest,
                                 end != NULL ? (size_t)(end - rest)
                                             : reader->length - reader->offset + 1,
                                 reader->line);
            while (reader->offset < reader->length && reader->text[reader->offset] != '\n')
                reader->offset++;
        } else if (reader->quote != '\'' && read_substitution(reader, c)) {
            ; /* one word, of which nothing is run */
        } else if (c == '\\' && reader->quote != '\'') {
            read_escape(reader);
        } else if (!is_separator(c) && c != '\0') {
            add_character(reader, c);
        }
    }
    reader->word[reader->word_length] = '\0';
    return reader->word_length > 0;
}

static const char *variable_of(const shell_reader *reader, const char *name, size_t length)
{
    for (size_t i = reader->variable_count; i > 0; i--)
        if (strlen(reader->variables[i - 1].name) == length &&
            memcmp(reader->variables[i - 1].name, name, length) == 0)
            return reader->variables[i - 1].value;
    return megatron_slurm_value(reader->run, name, length);
}

static const char *value_in(void *context, const char *name, size_t length)
{
    return variable_of(context, name, length);
}

/* "$((...))"; the word itself where a name in it is not known. */
static const char *compute(shell_reader *reader, const char *word)
{
    const size_t length = strlen(word);
    double number = 0;
    if (length < 6 || !st_ends_in(word, "))"))
        return word;
    const char *inner =
        st_draft_text(reader->run->draft, "%.*s", (int)(length - strlen("$(())")), word + 3);
    return shell_number(inner, value_in, reader, &number)
               ? st_draft_text(reader->run->draft, "%.0f", number)
               : word;
}

/* $NAME, ${NAME}, ${NAME:-DEFAULT}, $((...)) as a whole word; the word itself where it cannot be
 * known. */
static const char *expand(shell_reader *reader, const char *word)
{
    if (word[0] != '$')
        return word;
    if (strncmp(word, "$((", 3) == 0)
        return compute(reader, word);
    bool braces = word[1] == '{';
    const char *name = word + (braces ? 2 : 1);
    size_t length = 0;
    while (st_is_name(name[length]))
        length++;
    const char *rest = name + length;
    const char *value = length > 0 ? variable_of(reader, name, length) : NULL;
    size_t left = strlen(rest);
    bool has_default = braces && left >= 3 && strncmp(rest, ":-", 2) == 0 && rest[left - 1] == '}';
    bool is_whole = braces ? strcmp(rest, "}") == 0 || has_default : left == 0;
    if (!is_whole)
        return word;
    if (value == NULL && has_default)
        return st_draft_text(reader->run->draft, "%.*s", (int)(left - 3), rest + 2);
    return value != NULL ? value : word;
}

/* Which branch is taken, nobody knows: a variable that one of them sets again has no value. */
static bool is_open(const shell_reader *reader, const char *word, const char *value)
{
    const size_t length = strcspn(word, "=");
    const char *before = reader->branches > 0 ? variable_of(reader, word, length) : NULL;
    return before != NULL && strcmp(before, value) != 0;
}

static void count_branches(shell_reader *reader)
{
    if (reader->quote != '\0' || reader->option[0] != '\0')
        return;
    if (strcmp(reader->word, "if") == 0 || strcmp(reader->word, "case") == 0)
        reader->branches++;
    else if (reader->branches > 0 &&
             (strcmp(reader->word, "fi") == 0 || strcmp(reader->word, "esac") == 0))
        reader->branches--;
}

static void set_variable(shell_reader *reader, const char *word, const char *text)
{
    /* A variable of several words cannot be the value of an option. */
    const char *value = reader->quote != '\0' ? "$" : expand(reader, text);
    if (is_open(reader, word, value))
        value = st_draft_text(reader->run->draft, "$%.*s", (int)strcspn(word, "="), word);
    if (value[0] == '\0' || value[0] == '(' || reader->variable_count >= VARIABLES)
        return;
    reader->variables[reader->variable_count].name =
        st_draft_text(reader->run->draft, "%.*s", (int)strcspn(word, "="), word);
    reader->variables[reader->variable_count].value =
        st_draft_text(reader->run->draft, "%s", value);
    const char *name = reader->variables[reader->variable_count++].name;
    if (megatron_is_rank_variable(name))
        megatron_set(reader->run, name, value, reader->line);
}

static void finish_option(shell_reader *reader, const char *value)
{
    if (reader->option[0] == '\0')
        return;
    const megatron_argument *before = find(reader->run, reader->option);
    if (before != NULL && value != NULL && strcmp(before->value, value) != 0 &&
        !reader->run->is_export)
        st_draft_note(reader->run->draft,
                      "Option %.60s is given twice, '%.40s' in line %d and '%.40s' in line %d: the "
                      "last counts.",
                      reader->option, before->value, before->line, value, reader->option_line);
    reader->list[0] = '\0';
    if (value != NULL && megatron_is_list(reader->option))
        memcpy(reader->list, reader->option, sizeof reader->list);
    megatron_set_option(reader->run, reader->option, value, reader->option_line);
    reader->option[0] = '\0';
}

/* "--recompute-modules core_attn mlp": a further word of the option before it. */
static void add_to_list(shell_reader *reader, const char *word)
{
    const megatron_argument *argument = find(reader->run, reader->list);
    if (argument != NULL)
        megatron_set(reader->run, reader->list,
                     st_draft_text(reader->run->draft, "%.1000s %.200s", argument->value, word),
                     argument->line);
}

/* "--tensor-model-parallel-size" begins an option; one without a value is reported by its name. */
static void begin_option(shell_reader *reader, const char *word)
{
    size_t length = strcspn(word + 2, "=");
    const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    finish_option(reader, NULL);
    reader->list[0] = '\0';
    if (length >= sizeof reader->option)
        length = sizeof reader->option - 1;
    for (size_t i = 0; i < length; i++)
        reader->option[i] = word[2 + i] == '-' ? '_' : word[2 + i];
    reader->option[length] = '\0';
    reader->option_line = reader->line;
    if (value != NULL)
        finish_option(reader, expand(reader, value));
    else if (megatron_is_flag(reader->option))
        finish_option(reader, NULL);
}

void megatron_read_words(megatron_run *run, const char *text, size_t length)
{
    shell_reader *reader = st_draft_alloc(run->draft, 1, sizeof *reader);
    if (reader == NULL)
        return;
    *reader = (shell_reader){.run = run, .text = text, .length = length, .line = 1};
    while (run->draft->status == ST_OK && read_word(reader)) {
        /* What NAME=VALUE and NAME=(VALUE give. */
        char *typed = reader->word;
        size_t name = 0;
        while (st_is_name(typed[name]))
            name++;
        const char *value = NULL;
        if (name > 0 && typed[name] == '=' && !st_is_digit(typed[0]))
            value = typed + name + (typed[name + 1] == '(' ? 2 : 1);
        const char *word = value != NULL ? value : reader->word;
        /* Closes an array: "1e-4)" is the value 1e-4, "([0]*3+[1]*58)" is as it is. */
        size_t end = strlen(typed);
        if (end > 0 && typed[end - 1] == ')' && strchr(typed, '(') == NULL)
            typed[end - 1] = '\0';
        count_branches(reader);
        const char *short_option = megatron_launcher_option(reader->launcher, word);
        if (megatron_is_launcher(word))
            reader->launcher = st_draft_text(run->draft, "%s", word);
        else if (strstr(word, ".py") != NULL)
            reader->launcher = NULL;
        /* An option at the end of a line takes nothing from the next one. */
        if (reader->crossed)
            finish_option(reader, NULL);
        if (short_option != NULL) {
            finish_option(reader, NULL);
            (void)snprintf(reader->option, sizeof reader->option, "%s", short_option);
            reader->option_line = reader->line;
        } else if (word[0] == '-' && word[1] == '-' && st_is_name(word[2])) {
            begin_option(reader, word);
        } else if (reader->option[0] != '\0' && reader->word[0] != '\0') {
            finish_option(reader, expand(reader, reader->word));
        } else if (value != NULL) {
            set_variable(reader, reader->word, value);
        } else if (reader->list[0] != '\0' && reader->word[0] != '\0') {
            add_to_list(reader, expand(reader, reader->word));
        }
    }
    finish_option(reader, NULL);
}

void megatron_read_command(megatron_run *run)
{
    megatron_read_words(run, run->draft->request->text, run->draft->request->length);
    megatron_settle_ranks(run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a verb, its arguments and its options; see cli.h. */
#include "command/cli.h"

#include "base/lists.h"

#include <string.h>

enum { NAMES_MAX = 256 }; /* options of a verb with the two that all have, or verbs */

typedef struct word_list {
    const char *const *words;
    size_t count;
    size_t next;
} word_list;

st_status cli_unknown_verb(cli_run *run, const char *name)
{
    const char *candidates[NAMES_MAX];
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count && i < NAMES_MAX; i++)
        candidates[i] = verbs[i]->name;
    const char *near = st_nearest(name, candidates, count < NAMES_MAX ? count : NAMES_MAX);
    const char *remedy = near == NULL ? "'steptime help' lists the verbs"
                         : strchr(near, ' ') == NULL
                             ? near
                             : st_errors_text(run->errors, "did you mean '%s'?", near);
    return cli_wrong_use(run, st_errors_text(run->errors, "unknown verb '%s'", name), remedy);
}

/* Takes one or two words as the verb; run->verb stays NULL before --help and --version. */
static st_status take_verb(cli_run *run, word_list *list)
{
    const char *first = list->words[list->next];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "--version") == 0)
        return ST_OK;
    if (first[0] == '-') {
        /* Slips of --help and --version, and the letters that other programs have for them. */
        const char *meant;
        static const char *const names[] = {"--help", "--version"};
        if (strcmp(first, "-V") == 0 || strcmp(first, "-v") == 0)
            meant = "--version";
        else if (strcmp(first, "-?") == 0 || strcmp(first, "-H") == 0)
            meant = "--help";
        else
            meant = first[1] == '-' ? st_nearest(first, names, ST_COUNT(names)) : NULL;
        if (meant != NULL)
            return cli_wrong_use(run, st_errors_text(run->errors, "unknown option '%s'", first),
                                 meant);
        return cli_wrong_use(run,
                             st_errors_text(run->errors, "option '%s' precedes the verb", first),
                             "write the verb first: steptime estimate JOB --json");
    }
    list->next++;
    run->verb = cli_find_verb(first);
    if (run->verb != NULL) {
        /* "fit" is a verb, and so is "fit nccl"; a job of that name is given as "./nccl". */
        if (list->next >= list->count)
            return ST_OK;
        const char *word_name =
            st_errors_text(run->errors, "%s %s", run->verb->name, list->words[list->next]);
        const cli_verb *longer = cli_find_verb(word_name);
        if (longer != NULL) {
            run->verb = longer;
            list->next++;
        }
        return ST_OK;
    }
    bool is_group = false;
    size_t count = 0;
    size_t length = strlen(first);
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(verbs[i]->name, first, length) == 0 && verbs[i]->name[length] == ' ') {
            is_group = true;
            break;
        }
    if (!is_group)
        return cli_unknown_verb(run, first);
    const char *second = list->next < list->count ? list->words[list->next] : NULL;
    if (second == NULL)
        return cli_wrong_use(
            run, st_errors_text(run->errors, "'%s' requires a second word", first),
            st_errors_text(run->errors, "'steptime %s --help' lists its verbs", first));
    if (second[0] == '-') { /* steptime sheet --help */
        run->arguments[run->argument_count++] = first;
        return ST_OK;
    }
    list->next++;
    const char *name = st_errors_text(run->errors, "%s %s", first, second);
    run->verb = cli_find_verb(name);
    return run->verb != NULL ? ST_OK : cli_unknown_verb(run, name);
}

/* Words for what has another name here, of verbs that have that name. */
static const char *known_hint(const cli_verb *verb, const char *name)
{
    static const struct {
        const char *word;
        const char *option; /* that the verb must have */
        const char *hint;
    } hints[] = {
        {"--gpu", "cluster",
         "the cluster defines the GPU: use --cluster NAME ('steptime list clusters'), or with a "
         "JOB --set cluster.gpu=NAME ('steptime list gpus'); --gpus is the number of GPUs"},
        {"--gpu", "set",
         "the cluster defines the GPU: use --set cluster.gpu=NAME, or cluster=NAME"},
    };
    for (size_t i = 0; i < ST_COUNT(hints); i++) {
        const char *option = hints[i].option;
        if (strcmp(name, hints[i].word) == 0 && verb != NULL &&
            cli_find_option(verb, option, strlen(option), 0) != NULL)
            return hints[i].hint;
    }
    return NULL;
}

static st_status unknown_option(cli_run *run, const char *word, size_t length)
{
    const char *candidates[NAMES_MAX];
    size_t count = 0;
    const cli_option *option = run->verb != NULL ? run->verb->options : NULL;
    for (; option != NULL && option->name != NULL && count < NAMES_MAX - 2; option++)
        candidates[count++] = st_errors_text(run->errors, "--%s", option->name);
    candidates[count++] = "--help";
    candidates[count++] = "--version";
    const char *name = st_errors_text(run->errors, "%.*s", (int)length, word);
    const char *verb = run->verb != NULL ? run->verb->name : "";
    const char *near = known_hint(run->verb, name);
    if (near == NULL)
        near = st_nearest(name, candidates, count);
    if (near == NULL && run->verb != NULL)
        near = st_errors_text(run->errors, "'steptime help %s' lists its options", verb);
    return cli_wrong_use(run,
                         st_errors_text(run->errors, "unknown option '%s'%s%s", name,
                                        verb[0] != '\0' ? " of " : "", verb),
                         near);
}

/* `value` is part of the option's word, or NULL. */
static st_status take_option(cli_run *run, const cli_option *option, const char *value,
                             word_list *list)
{
    if (option->kind == CLI_IS_FLAG) {
        if (value != NULL)
            return cli_wrong_use(
                run, st_errors_text(run->errors, "option --%s takes no value", option->name), NULL);
        return cli_option_take(run, option, NULL);
    }
    if (value == NULL && option->bare != NULL)
        value = option->bare;
    if (value == NULL && list->next < list->count)
        value = list->words[list->next++];
    if (value == NULL || value[0] == '\0')
        return cli_wrong_use(
            run, st_errors_text(run->errors, "option --%s requires a value", option->name),
            st_errors_text(run->errors, "write --%s %s", option->name, option->value));
    return cli_option_take(run, option, value);
}

static st_status take_long(cli_run *run, const char *word, word_list *list)
{
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const cli_option *option = cli_find_option(run->verb, word + 2, length - 2, 0);
    if (option == NULL)
        return unknown_option(run, word, length);
    return take_option(run, option, equals != NULL ? equals + 1 : NULL, list);
}

/* "-h", "-o FILE", "-oFILE", "-ho FILE" */
static st_status take_letters(cli_run *run, const char *word, word_list *list)
{
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const cli_option *option = cli_find_option(run->verb, NULL, 0, *letter);
        if (option == NULL)
            return unknown_option(run, word, strlen(word));
        if (option->kind != CLI_IS_FLAG)
            return take_option(run, option, letter[1] != '\0' ? letter + 1 : NULL, list);
        st_status status = cli_option_take(run, option, NULL);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

/* The words of a usage, "--" apart; of those in brackets none is needed. */
static size_t count_words(const char *usage, bool needed)
{
    size_t count = 0;
    for (const char *word = usage + strspn(usage, "- "); *word != '\0'; word += strspn(word, " ")) {
        count += needed && word[0] == '[' ? 0 : 1;
        word += strcspn(word, " ");
    }
    return count;
}

/* What to write in place of an argument too many: an assignment belongs to an option. */
static const char *argument_hint(cli_run *run, const char *argument)
{
    const cli_option *option = strchr(argument, '=') != NULL ? run->verb->options : NULL;
    for (; option != NULL && option->name != NULL; option++)
        if (option->value != NULL && strncmp(option->value, "KEY=VALUE", 9) == 0)
            return st_errors_text(run->errors, "write --%s %s", option->name, argument);
    return st_errors_text(run->errors, "usage: steptime %s %s", run->verb->name,
                          run->verb->arguments);
}

size_t cli_most_arguments(const cli_verb *verb)
{
    if (verb->maximum > 0)
        return verb->maximum;
    return strstr(verb->arguments, "...") != NULL ? SIZE_MAX : count_words(verb->arguments, false);
}

st_status cli_parse(cli_run *run, size_t count, const char *const *words)
{
    word_list list = {words, count, 0};
    run->arguments = st_arena_alloc(run->arena, count + 1, sizeof *run->arguments);
    run->given = st_arena_alloc(run->arena, count * 2 + 1, sizeof *run->given);
    if (run->arguments == NULL || run->given == NULL)
        return ST_ERR_MEMORY;
    st_status status = take_verb(run, &list);
    if (status == ST_OK)
        status = cli_options_begin(run);
    bool only_arguments = false;
    while (status == ST_OK && list.next < count) {
        const char *word = words[list.next++];
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            run->arguments[run->argument_count++] = word;
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (word[1] == '-')
            status = take_long(run, word, &list);
        else
            status = take_letters(run, word, &list);
    }
    if (status != ST_OK || run->common.help || run->common.version)
        return status;
    const cli_verb *verb = run->verb;
    const size_t most = cli_most_arguments(verb);
    if (run->argument_count < count_words(verb->arguments, true))
        return cli_wrong_use(
            run, st_errors_text(run->errors, "'%s' requires %s", verb->name, verb->arguments),
            st_errors_text(run->errors, "see 'steptime help %s'", verb->name));
    if (run->argument_count > most)
        return cli_wrong_use(
            run, st_errors_text(run->errors, "unexpected argument '%s'", run->arguments[most]),
            argument_hint(run, run->arguments[most]));
    if (run->common.json && run->common.csv)
        return cli_wrong_use(run, "--json and --csv are mutually exclusive", NULL);
    if (run->argument_count == 0)
        return ST_OK;
    return cli_check_choice(run,
                            st_errors_text(run->errors, "invalid argument of '%s'", verb->name),
                            verb->choices, run->arguments[0], NULL);
}

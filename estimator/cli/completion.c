/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completion for bash, from the tables of verbs and options. Names of jobs, sheets and cells
 * are asked from the program itself, so that they follow the search path.
 */
#include "cli/cli.h"

#include <string.h>

/* Works without the bash-completion package; only words that `compgen` can tell are offered. */
static const char script_start[] =
    "# bash completion for steptime, written by 'steptime completion bash'\n"
    "_steptime_names() {\n"
    "    steptime list \"$1\" --csv 2>/dev/null | sed -n '2,$s/,.*//p'\n"
    "}\n"
    "\n"
    "_steptime_cells() {\n"
    "    steptime estimate \"$1\" --all --csv 2>/dev/null | sed -n '2,$p' | cut -d, -f2\n"
    "}\n"
    "\n"
    "# compgen -W would run what stands in a name.\n"
    "_steptime_words() {\n"
    "    local words name\n"
    "    read -r -d '' -a words <<<\"$1\"\n"
    "    for name in \"${words[@]}\"; do\n"
    "        if [[ $name == \"$2\"* ]]; then COMPREPLY+=(\"$name\"); fi\n"
    "    done\n"
    "}\n"
    "\n"
    "_steptime_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen \"$@\")\n"
    "}\n"
    "\n"
    "_steptime() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local verb=${COMP_WORDS[1]} job='' place=1 i\n"
    "    COMPREPLY=()\n"
    "    if [[ $word == '=' ]]; then word=; fi\n"
    "    if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n";

/* What `steptime list` calls the names that a word may be. */
static const char *folder_of(cli_word word)
{
    switch (word) {
    case CLI_WORD_JOB:
        return "jobs";
    case CLI_WORD_MODEL:
        return "models";
    case CLI_WORD_CLUSTER:
        return "clusters";
    default:
        return "sheets";
    }
}

/* What a word may be, as a command that fills COMPREPLY. */
static void write_action(cli_word word, const char *choices, st_buffer *buffer)
{
    switch (word) {
    case CLI_WORD_JOB:
    case CLI_WORD_MODEL:
    case CLI_WORD_CLUSTER:
    case CLI_WORD_SHEET:
        st_buffer_printf(buffer,
                         "_steptime_words \"$(_steptime_names %s)\" \"$word\"\n"
                         "            _steptime_files -f -X '!*.yaml' -- \"$word\"",
                         folder_of(word));
        return;
    case CLI_WORD_CELL:
        st_buffer_text(buffer, "_steptime_words \"$(_steptime_cells \"$job\")\" \"$word\"");
        return;
    case CLI_WORD_SOURCE:
        st_buffer_text(buffer, "_steptime_words \"$(_steptime_names sources)\" \"$word\"");
        return;
    case CLI_WORD_KEY:
        st_buffer_text(buffer, "_steptime_words \"$_steptime_keys\" \"$word\"\n"
                               "            compopt -o nospace 2>/dev/null");
        return;
    case CLI_WORD_FILE:
        st_buffer_text(buffer, "_steptime_files -f -- \"$word\"");
        return;
    case CLI_WORD_FOLDER:
        st_buffer_text(buffer, "_steptime_files -d -- \"$word\"");
        return;
    case CLI_WORD_VERB:
        st_buffer_text(buffer, "_steptime_words \"$_steptime_verbs\" \"$word\"");
        return;
    case CLI_WORD_CHOICE:
        st_buffer_printf(buffer, "_steptime_words '%s' \"$word\"", choices);
        return;
    case CLI_WORD_NONE:
        break;
    }
    st_buffer_text(buffer, ":");
}

/* The first words of all verbs, and the second words of those that have two. */
static void write_verb_names(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    const char *last = "";
    st_buffer_text(buffer, "_steptime_verbs='");
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(verbs[i]->name, " ");
        if (strncmp(last, verbs[i]->name, length) == 0 && last[length] == ' ')
            continue;
        st_buffer_printf(buffer, "%s%.*s", i > 0 ? " " : "", (int)length, verbs[i]->name);
        last = verbs[i]->name;
    }
    st_buffer_text(buffer, "'\n");
}

static void write_groups(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++) {
        const char *blank = strchr(verbs[i]->name, ' ');
        size_t length = strcspn(verbs[i]->name, " ");
        if (blank == NULL || (i > 0 && strncmp(verbs[i - 1]->name, verbs[i]->name, length) == 0))
            continue;
        st_buffer_printf(buffer,
                         "    if [[ $verb == %.*s ]]; then\n"
                         "        if ((COMP_CWORD == 2)); then\n"
                         "            _steptime_words '",
                         (int)length, verbs[i]->name);
        for (size_t k = i; k < count && strncmp(verbs[k]->name, verbs[i]->name, length + 1) == 0;
             k++)
            st_buffer_printf(buffer, "%s%s", k > i ? " " : "", verbs[k]->name + length + 1);
        st_buffer_text(buffer, "' \"$word\"\n"
                               "            return\n"
                               "        fi\n"
                               "        verb=\"$verb ${COMP_WORDS[2]}\"\n"
                               "        ((place--))\n"
                               "    fi\n");
    }
}

static void write_keys(st_buffer *buffer)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    st_buffer_text(buffer, "_steptime_keys='");
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(buffer, "%s%s=", i > 0 ? " " : "", keys[i].path);
    st_buffer_text(buffer, "'\n");
}

/* Values of options: the word before decides. */
static void write_option_values(const cli_verb *verb, st_buffer *buffer)
{
    for (const cli_option *option = verb->options; option->name != NULL; option++) {
        if (option->kind == CLI_IS_FLAG)
            continue;
        st_buffer_printf(buffer, "        '%s:--%s'", verb->name, option->name);
        if (option->letter != 0)
            st_buffer_printf(buffer, " | '%s:-%c'", verb->name, option->letter);
        st_buffer_text(buffer, ")\n            ");
        write_action(option->word, option->choices, buffer);
        st_buffer_text(buffer, "\n            return\n            ;;\n");
    }
}

static void write_option_names(const cli_verb *verb, st_buffer *buffer)
{
    st_buffer_printf(buffer, "        '%s') _steptime_words '--help", verb->name);
    for (const cli_option *option = verb->options; option->name != NULL; option++)
        st_buffer_printf(buffer, " --%s", option->name);
    st_buffer_text(buffer, "' \"$word\" ;;\n");
}

static void write_arguments(const cli_verb *verb, st_buffer *buffer)
{
    for (size_t i = 0; i < 2; i++) {
        if (verb->words[i] == CLI_WORD_NONE)
            continue;
        st_buffer_printf(buffer, "        '%s:%s)\n            ", verb->name, i == 0 ? "1'" : "'*");
        write_action(verb->words[i], verb->choices, buffer);
        st_buffer_text(buffer, "\n            ;;\n");
    }
}

/* Whether no verb before this one has an option of that name. */
static bool is_new(const cli_verb *const *verbs, size_t index, const cli_option *option)
{
    for (size_t i = 0; i < index; i++) {
        if (cli_find_option(verbs[i], option->name, strlen(option->name), 0) != NULL)
            return false;
    }
    return true;
}

/* Counts the arguments before the word, past options and their values. */
static void write_place(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    st_buffer_text(buffer, "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                           "        case ${COMP_WORDS[i]} in\n"
                           "            '='");
    for (size_t i = 0; i < count; i++) {
        const cli_option *option = verbs[i]->options;
        for (; option->name != NULL; option++) {
            if (option->kind == CLI_IS_FLAG || !is_new(verbs, i, option))
                continue;
            st_buffer_printf(buffer, " | --%s", option->name);
            if (option->letter != 0)
                st_buffer_printf(buffer, " | -%c", option->letter);
        }
    }
    st_buffer_text(buffer, ")\n"
                           "                ((i++))\n"
                           "                if [[ ${COMP_WORDS[i]} == '=' ]]; then ((i++)); fi\n"
                           "                ;;\n"
                           "            -*) ;;\n"
                           "            *)\n"
                           "                if ((place == 1)); then job=${COMP_WORDS[i]}; fi\n"
                           "                ((place++))\n"
                           "                ;;\n"
                           "        esac\n"
                           "    done\n");
}

void cli_write_completion(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    st_buffer_text(buffer, script_start);
    st_buffer_text(buffer, "    local ");
    write_verb_names(buffer);
    st_buffer_text(buffer, "    local ");
    write_keys(buffer);
    st_buffer_text(buffer, "    if ((COMP_CWORD == 1)); then\n"
                           "        _steptime_words \"$_steptime_verbs --help --version\" "
                           "\"$word\"\n"
                           "        return\n"
                           "    fi\n");
    write_place(buffer);
    write_groups(buffer);
    st_buffer_text(buffer, "    case \"$verb:$before\" in\n");
    for (size_t i = 0; i < count; i++)
        write_option_values(verbs[i], buffer);
    st_buffer_text(buffer, "    esac\n"
                           "    if [[ $word == -* ]]; then\n"
                           "        case $verb in\n");
    for (size_t i = 0; i < count; i++)
        write_option_names(verbs[i], buffer);
    st_buffer_text(buffer, "        esac\n"
                           "        return\n"
                           "    fi\n"
                           "    case \"$verb:$place\" in\n");
    for (size_t i = 0; i < count; i++)
        write_arguments(verbs[i], buffer);
    st_buffer_text(buffer, "    esac\n"
                           "}\n"
                           "\n"
                           "complete -F _steptime steptime\n");
}

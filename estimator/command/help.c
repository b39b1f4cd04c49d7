/* SPDX-License-Identifier: Apache-2.0 */
/* Help on the terminal, from the tables of verbs and options. Examples come first. */
#include "command/tool.h"

#include <stdlib.h>
#include <string.h>

static const char overview_start[] =
    "steptime estimates step times of distributed training and explains every number.\n"
    "\n"
    "  steptime estimate --model llama3-70b --cluster dgx-h100 --gpus 64\n"
    "  steptime estimate gpt-3b-32x3090       ('steptime list jobs' has more)\n"
    "  steptime explain gpt-3b-32x3090 T_iter\n"
    "Usage: steptime VERB [ARGUMENT...] [OPTION...]\n"
    "\n";

/* Lines of at most 80 characters after `indent` blanks; `column` characters are written already. */
static void write_filled(const char *text, size_t column, size_t indent, st_buffer *buffer)
{
    const st_paint page = {.width = 80};
    st_buffer_printf(buffer, "%*s", (int)(indent - column), "");
    st_paint_wrapped(&page, text, indent, indent, buffer);
    st_buffer_text(buffer, "\n");
}

void cli_write_option(const cli_option *option, st_buffer *buffer)
{
    if (option->letter != 0)
        st_buffer_printf(buffer, "-%c, ", option->letter);
    st_buffer_printf(buffer, "--%s", option->name);
    if (option->value != NULL)
        st_buffer_printf(buffer, option->bare != NULL ? "[=%s]" : " %s", option->value);
}

void cli_write_meaning(const cli_option *option, st_buffer *buffer)
{
    st_buffer_text(buffer, option->doc);
    if (option->initial != NULL)
        st_buffer_printf(buffer, " (%s)", option->initial);
}

void cli_write_usage(const cli_verb *verb, st_buffer *buffer)
{
    st_buffer_printf(buffer, "steptime %s%s%s%s", verb->name, verb->arguments[0] != '\0' ? " " : "",
                     verb->arguments, verb->options[0].name != NULL ? " [OPTION...]" : "");
}

static void write_option_help(const cli_option *option, st_buffer *buffer)
{
    enum { OPTION_COLUMN = 24 };
    st_buffer name = {0};
    st_buffer meaning = {0};
    cli_write_option(option, &name);
    cli_write_meaning(option, &meaning);
    size_t used = name.length + 2;
    st_buffer_printf(buffer, "  %s", st_buffer_read(&name));
    if (used + 2 > OPTION_COLUMN) {
        st_buffer_text(buffer, "\n");
        used = 0;
    }
    write_filled(st_buffer_read(&meaning), used, OPTION_COLUMN, buffer);
    st_buffer_end(&name, &buffer->failed);
    st_buffer_end(&meaning, &buffer->failed);
}

void cli_write_help(const cli_verb *verb, st_buffer *buffer)
{
    st_buffer_printf(buffer, "steptime %s: %s\n\n", verb->name, verb->summary);
    const cli_example *examples = verb->examples;
    st_buffer_text(buffer, "Examples:\n");
    for (const cli_example *example = examples; example->command != NULL; example++)
        st_buffer_printf(buffer, "  %s\n      %s\n", example->command, example->doc);
    st_buffer_text(buffer, "\nUsage: ");
    cli_write_usage(verb, buffer);
    st_buffer_text(buffer, "\n\n");
    const char *text = verb->doc;
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        st_buffer paragraph = {0};
        st_buffer_append(&paragraph, text, length);
        write_filled(st_buffer_read(&paragraph), 0, 0, buffer);
        st_buffer_end(&paragraph, &buffer->failed);
        text += length + (end != NULL ? 2 : 0);
        if (end != NULL)
            st_buffer_text(buffer, "\n");
    }
    st_buffer_text(buffer, "\nOptions:\n");
    for (const cli_option *option = verb->options; option->name != NULL; option++)
        write_option_help(option, buffer);
    write_option_help(&cli_help_option, buffer);
}

const char *cli_summary(const cli_verb *verb)
{
    return verb->tool == NULL ? verb->summary : *verb->learned;
}

/* The verbs whose name begins with `prefix`, one a line. */
static size_t write_verbs(const char *prefix, st_buffer *buffer)
{
    enum { VERB_COLUMN = 23 };
    size_t count = 0;
    size_t shown = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(verbs[i]->name, prefix, strlen(prefix)) != 0 || cli_summary(verbs[i]) == NULL)
            continue;
        if (shown == 0)
            st_buffer_text(buffer, "Verbs:\n");
        st_buffer_printf(buffer, "  %-*s %s\n", VERB_COLUMN - 1, verbs[i]->name,
                         cli_summary(verbs[i]));
        shown++;
    }
    return shown;
}

/* "import hf|megatron|topology": all verbs with the first word of this one, which is the first of
 * them; how many there are. So many that a line cannot hold them get that word again. */
static size_t write_joined(const cli_verb *const *verbs, size_t left, st_buffer *buffer)
{
    enum { MOST_JOINED = 57 };
    size_t length = strcspn(verbs[0]->name, " ");
    size_t count = 1;
    size_t written = strlen(verbs[0]->name);
    st_buffer_text(buffer, verbs[0]->name);
    for (; count < left && strncmp(verbs[count]->name, verbs[0]->name, length) == 0 &&
           verbs[count]->name[length] == ' ';
         count++) {
        const char *word = verbs[count]->name + length + 1;
        bool again = written + strlen(word) > MOST_JOINED;
        bool listed = verbs[0]->name[length] == ' ' || count > 1;
        written = (again ? length : written) + 1 + strlen(word);
        if (again)
            st_buffer_printf(buffer, ", %s", verbs[count]->name);
        else
            st_buffer_printf(buffer, "%s%s", listed ? "|" : " ", word);
    }
    return count;
}

/* A line for each verb, those with the same first word on one. */
static void write_lines(const cli_verb *const *verbs, size_t count, st_buffer *buffer)
{
    enum { VERB_COLUMN = 12 };
    for (size_t i = 0; i < count;) {
        st_buffer name = {0};
        size_t joined = write_joined(verbs + i, count - i, &name);
        const char *text = st_buffer_read(&name);
        bool is_long = strlen(text) + 3 > VERB_COLUMN;
        st_buffer_printf(buffer, "  %s%s", text, is_long ? "\n" : "");
        write_filled(cli_summary(verbs[i]), is_long ? 0 : strlen(text) + 2, VERB_COLUMN, buffer);
        st_buffer_end(&name, &buffer->failed);
        i += joined;
    }
}

/* Their names alone. */
static void write_names(const cli_verb *const *verbs, size_t count, st_buffer *buffer)
{
    enum { TITLE_COLUMN = 22 };
    st_buffer names = {0};
    const char *title = cli_group_of(verbs[0]);
    for (size_t i = 0; i < count;) {
        st_buffer_text(&names, i > 0 ? ", " : "");
        i += write_joined(verbs + i, count - i, &names);
    }
    st_buffer_printf(buffer, "%s:", title);
    write_filled(st_buffer_read(&names), strlen(title) + 1, TITLE_COLUMN, buffer);
    st_buffer_end(&names, &buffer->failed);
}

static void write_own_verbs(st_buffer *buffer)
{
    static const char title[] = "Your own:";
    enum { TITLE_COLUMN = 22 };
    st_buffer names = {0};
    cli_own_verbs(&names);
    for (size_t i = 0; i + 1 < names.length; i++)
        names.data[i] = names.data[i] == '\n' ? ' ' : names.data[i];
    if (names.length > 0) {
        names.data[names.length - 1] = '\0';
        st_buffer_text(buffer, title);
        write_filled(names.data, strlen(title), TITLE_COLUMN, buffer);
    }
    st_buffer_end(&names, &buffer->failed);
}

void cli_write_overview(st_buffer *buffer)
{
    st_buffer_text(buffer, overview_start);
    /* The first group in full, the others on few lines, so that all fit on one screen. */
    size_t count = 0;
    size_t listed = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    const cli_verb **shown = calloc(count + 1, sizeof *shown);
    if (shown == NULL) {
        buffer->failed = true;
    } else {
        for (size_t i = 0; i < count; i++)
            if (cli_summary(verbs[i]) != NULL)
                shown[listed++] = verbs[i];
        for (size_t i = 0, end; i < listed; i = end) {
            const char *title = cli_group_of(shown[i]);
            for (end = i + 1; end < listed && strcmp(cli_group_of(shown[end]), title) == 0;)
                end++;
            if (i == 0) {
                st_buffer_printf(buffer, "%s:\n", title[0] != '\0' ? title : "Verbs");
                write_lines(shown, end, buffer);
            } else {
                write_names(shown + i, end - i, buffer);
            }
        }
        free(shown);
    }
    write_own_verbs(buffer);
    st_buffer_text(
        buffer, "'steptime help VERB' shows a verb's examples and options.\n"
                "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a check of the sheet fails.\n");
}

bool cli_write_group(const char *word, st_buffer *buffer)
{
    st_buffer prefix = {0};
    st_buffer_printf(&prefix, "%s ", word);
    size_t shown = prefix.data != NULL ? write_verbs(prefix.data, buffer) : 0;
    st_buffer_end(&prefix, &buffer->failed);
    if (shown > 0)
        st_buffer_printf(buffer, "\n'steptime help %s VERB' shows a verb's examples and options.\n",
                         word);
    return shown > 0;
}

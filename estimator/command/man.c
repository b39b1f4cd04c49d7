/* SPDX-License-Identifier: Apache-2.0 */
/* The man page steptime(1), from the tables of verbs and options. */
#include "command/tool.h"

#include <string.h>

#define STEPTIME_DATE "2026-11-21" /* of the release; changes with the version */

enum { LINE_BYTES = 74 }; /* escapes add a few */

static const char *escape_of(char c)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

/* A request with its text, or with "" running text. */
static void write_line(const char *request, const char *text, st_buffer *buffer)
{
    st_buffer_text(buffer, request);
    /* Running text in lines that end at a sentence's end or before they are long; none of them
     * can become a request, and hyphens stay what they are. */
    const bool filled = request[0] == '\0';
    size_t line_start = buffer->length;
    bool sentence_ends = false;
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " \n");
        bool breaks =
            filled && (sentence_ends || buffer->length - line_start + length > LINE_BYTES);
        if (word != text)
            st_buffer_text(buffer, breaks ? "\n" : " ");
        if (word != text && breaks)
            line_start = buffer->length;
        if (buffer->length == line_start && (word[0] == '.' || word[0] == '\''))
            st_buffer_text(buffer, "\\&");
        for (size_t i = 0; i < length; i++) {
            const char *escape = escape_of(word[i]);
            if (escape != NULL)
                st_buffer_text(buffer, escape);
            else
                st_buffer_append(buffer, &word[i], 1);
        }
        sentence_ends = length > 0 && word[length - 1] == '.';
        word += length + (word[length] != '\0' ? 1 : 0);
    }
    st_buffer_text(buffer, "\n");
}

void cli_write_man_verb(const cli_verb *verb, st_buffer *buffer)
{
    st_buffer usage = {0};
    if (verb->tool != NULL) {
        (void)cli_tool_page(verb->tool, 2, (const char *const[]){"man", verb->name}, buffer);
        return;
    }
    cli_write_usage(verb, &usage);
    write_line(".SS ", usage.data != NULL ? usage.data : verb->name, buffer);
    const char *text = verb->doc;
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        st_buffer paragraph = {0};
        st_buffer_append(&paragraph, text, (size_t)(end - text));
        write_line("", st_buffer_read(&paragraph), buffer);
        st_buffer_text(buffer, ".PP\n");
        st_buffer_end(&paragraph, &buffer->failed);
    }
    write_line("", text, buffer);
    for (const cli_option *option = verb->options; option->name != NULL; option++) {
        st_buffer name = {0};
        st_buffer meaning = {0};
        cli_write_option(option, &name);
        cli_write_meaning(option, &meaning);
        st_buffer_text(buffer, ".TP\n");
        write_line(".B ", name.data != NULL ? name.data : option->name, buffer);
        write_line("", st_buffer_read(&meaning), buffer);
        st_buffer_end(&name, &buffer->failed);
        st_buffer_end(&meaning, &buffer->failed);
    }
    st_buffer_end(&usage, &buffer->failed);
}

void cli_write_man_examples(const cli_verb *verb, st_buffer *buffer)
{
    if (verb->tool != NULL) {
        (void)cli_tool_page(verb->tool, 2, (const char *const[]){"examples", verb->name}, buffer);
        return;
    }
    for (const cli_example *example = verb->examples; example->command != NULL; example++) {
        st_buffer_text(buffer, ".TP\n");
        write_line(".B ", example->command, buffer);
        write_line("", example->doc, buffer);
    }
}

static const char page_start[] =
    ".TH STEPTIME 1 \"" STEPTIME_DATE "\" \"steptime " STEPTIME_VERSION "\" \"User Commands\"\n"
    ".SH NAME\n"
    "steptime \\- estimate the step time of distributed training\n"
    ".SH SYNOPSIS\n"
    ".B steptime\n"
    ".I VERB\n"
    "[\\fIARGUMENT\\fR...] [\\fIOPTION\\fR...]\n"
    ".SH DESCRIPTION\n"
    "An estimate is a sheet of named cells: the inputs of a job and formulas\nover them, each with "
    "a unit, a meaning and a source.\n"
    ".B steptime\n"
    "reads a job and a sheet, checks the units, computes the cells and explains\n"
    "any of them down to the inputs.\n"
    ".PP\n"
    "Options may appear anywhere after the verb; a word of two hyphens ends them.\n"
    "The result goes to standard output, messages go to standard error.\n";

static const char page_end[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B STEPTIME_PATH\n"
    "Folders, separated by colons, to search for sheets and configurations after\nthose of\n"
    ".BR \\-\\-path .\n"
    ".TP\n.B XDG_CONFIG_HOME\n"
    "The folder that contains the folder\n.I steptime\nwith the user\\(aqs sheets and "
    "configurations; default:\n"
    ".IR \\(ti/.config/steptime .\n"
    ".TP\n.B NO_COLOR\n"
    "If not empty, disables colours unless \\-\\-color=always is given.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone.\n"
    ".TP\n.B 1\nFailure: a missing or damaged file or folder, an input or output error, "
    "a\ncalculation without a result.\n"
    ".TP\n.B 2\nWrong usage: an unknown verb, option, job, sheet or cell, an invalid \\-\\-set.\n"
    ".TP\n.B 3\nA check of the sheet fails.\n";

void cli_write_man(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    st_buffer_text(buffer, page_start);
    st_buffer_text(buffer, ".SH VERBS\n");
    for (size_t i = 0; i < count; i++)
        cli_write_man_verb(verbs[i], buffer);
    st_buffer_text(buffer, ".SH EXAMPLES\n");
    for (size_t i = 0; i < count; i++)
        cli_write_man_examples(verbs[i], buffer);
    st_buffer_text(buffer, page_end);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The man page steptime(1), from the tables of verbs and options. */
#include "cli/cli.h"

#include <string.h>

#define STEPTIME_DATE "2026-11-21" /* of the release; changes with the version */

/* Running text: no line of it can become a request, and hyphens stay what they are. */
static void write_text(const char *text, st_buffer *buffer)
{
    bool line_start = true;
    for (const char *next = text; *next != '\0'; next++) {
        if (line_start && (*next == '.' || *next == '\''))
            st_buffer_text(buffer, "\\&");
        line_start = *next == '\n';
        switch (*next) {
        case '\\':
            st_buffer_text(buffer, "\\e");
            break;
        case '-':
            st_buffer_text(buffer, "\\-");
            break;
        case '\'':
            st_buffer_text(buffer, "\\(aq");
            break;
        case '~':
            st_buffer_text(buffer, "\\(ti");
            break;
        default:
            st_buffer_append(buffer, next, 1);
        }
    }
}

static void write_line(const char *request, const char *text, st_buffer *buffer)
{
    st_buffer_text(buffer, request);
    write_text(text, buffer);
    st_buffer_text(buffer, "\n");
}

static void write_paragraphs(const char *text, st_buffer *buffer)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        st_buffer paragraph = {0};
        st_buffer_append(&paragraph, text, (size_t)(end - text));
        write_line("", paragraph.data != NULL ? paragraph.data : "", buffer);
        st_buffer_text(buffer, ".PP\n");
        buffer->failed = buffer->failed || paragraph.failed;
        st_buffer_free(&paragraph);
    }
    write_line("", text, buffer);
}

static void write_option(const cli_option *option, st_buffer *buffer)
{
    st_buffer name = {0};
    cli_write_option(option, &name);
    st_buffer_text(buffer, ".TP\n");
    write_line(".B ", name.data != NULL ? name.data : option->name, buffer);
    write_line("", option->doc, buffer);
    buffer->failed = buffer->failed || name.failed;
    st_buffer_free(&name);
}

static void write_verb(const cli_verb *verb, st_buffer *buffer)
{
    st_buffer usage = {0};
    cli_write_usage(verb, &usage);
    write_line(".SS ", usage.data != NULL ? usage.data : verb->name, buffer);
    write_paragraphs(verb->doc, buffer);
    for (const cli_option *option = verb->options; option->id != CLI_NO_OPTION; option++)
        write_option(option, buffer);
    buffer->failed = buffer->failed || usage.failed;
    st_buffer_free(&usage);
}

static void write_examples(const cli_verb *verb, st_buffer *buffer)
{
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
    "An estimate is a sheet of named cells: inputs that a job gives and formulas over them, each "
    "with\n"
    "a unit, a meaning and a source.\n"
    ".B steptime\n"
    "reads a job and a sheet, checks the units, computes the cells and explains any of them down "
    "to\n"
    "the inputs.\n"
    ".PP\n"
    "Options stand anywhere behind the verb; a word of two hyphens ends them.\n"
    "The result goes to standard output, messages go to standard error.\n";

static const char page_end[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B STEPTIME_PATH\n"
    "Folders, separated by colons, in which sheets and configurations are looked for after those "
    "of\n"
    ".BR \\-\\-path .\n"
    ".TP\n.B XDG_CONFIG_HOME\n"
    "The user\\(aqs own sheets and configurations are in its folder\n"
    ".IR steptime ;\n"
    "without it, in\n"
    ".IR \\(ti/.config/steptime .\n"
    ".TP\n.B NO_COLOR\n"
    "When not empty, nothing is coloured unless \\-\\-color=always asks for it.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone.\n"
    ".TP\n.B 1\nFailed: a faulty file, input or output, a calculation without a result.\n"
    ".TP\n.B 2\nWrong use: an unknown verb, option, job, sheet or cell, a faulty \\-\\-set.\n"
    ".TP\n.B 3\nA check of the sheet does not hold.\n";

void cli_write_man(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    st_buffer_text(buffer, page_start);
    st_buffer_text(buffer, ".SH VERBS\n");
    for (size_t i = 0; i < count; i++)
        write_verb(verbs[i], buffer);
    st_buffer_text(buffer, ".SH EXAMPLES\n");
    for (size_t i = 0; i < count; i++)
        write_examples(verbs[i], buffer);
    st_buffer_text(buffer, page_end);
}

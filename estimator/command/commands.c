/* SPDX-License-Identifier: Apache-2.0 */
/* docs/commands.md, from the tables of verbs and options. */
#include "command/tool.h"

#include <string.h>

void cli_write_commands_verb(const cli_verb *verb, st_buffer *buffer)
{
    if (verb->tool != NULL) {
        (void)cli_tool_page(verb->tool, 2, (const char *const[]){"commands", verb->name}, buffer);
        return;
    }
    st_buffer_printf(buffer, "\n## steptime %s\n\n", verb->name);
    st_buffer_printf(buffer, "%c%s.\n\n```sh\n", verb->summary[0] - 'a' + 'A', verb->summary + 1);
    for (const cli_example *example = verb->examples; example->command != NULL; example++)
        st_buffer_printf(buffer, "# %s\n%s\n", example->doc, example->command);
    st_buffer_text(buffer, "```\n\nUsage: `");
    cli_write_usage(verb, buffer);
    st_buffer_printf(buffer, "`\n\n%s\n", verb->doc);
    if (verb->options[0].name == NULL)
        return;
    st_buffer_text(buffer, "\n| option | meaning |\n| --- | --- |\n");
    for (const cli_option *option = verb->options; option->name != NULL; option++) {
        st_buffer name = {0};
        st_buffer meaning = {0};
        cli_write_option(option, &name);
        cli_write_meaning(option, &meaning);
        st_buffer_text(buffer, "| ");
        /* A bar inside code splits a table's row unless it is escaped. */
        const char *code_text = name.data != NULL ? name.data : option->name;
        st_buffer_text(buffer, "`");
        for (const char *next = code_text; *next != '\0'; next++) {
            if (*next == '|')
                st_buffer_text(buffer, "\\");
            st_buffer_append(buffer, next, 1);
        }
        st_buffer_text(buffer, "`");
        st_buffer_text(buffer, " | ");
        const char *text = st_buffer_read(&meaning);
        for (const char *next = text; *next != '\0'; next++) {
            if (strchr("|<>*_", *next) != NULL)
                st_buffer_text(buffer, "\\");
            st_buffer_append(buffer, next, 1);
        }
        st_buffer_text(buffer, " |\n");
        st_buffer_end(&name, &buffer->failed);
        st_buffer_end(&meaning, &buffer->failed);
    }
}

void cli_write_commands(st_buffer *buffer)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    st_buffer_text(
        buffer,
        "# Commands\n\n"
        "Written by `steptime docs commands` from the program's own tables.\n\n"
        "Options may appear anywhere after the verb, as `--option VALUE` or `--option=VALUE`; `--` "
        "ends them.\nEvery verb has `-h`, `--help`. The result goes to standard output, messages "
        "go to "
        "standard error.\n[output.md](output.md) describes both, and the JSON and CSV.\n\n"
        "| exit code | meaning |\n| --- | --- |\n"
        "| 0 | done |\n"
        "| 1 | failure: a missing or damaged file or folder, an input or output error, a "
        "calculation without a result |\n"
        "| 2 | wrong usage: an unknown verb, option, job, sheet or cell, an invalid `--set` |\n"
        "| 3 | a check of the sheet fails |\n");
    for (size_t i = 0; i < count; i++)
        cli_write_commands_verb(verbs[i], buffer);
}

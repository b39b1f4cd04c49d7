/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that another program runs, as git runs git-NAME: `steptime trace summary` starts
 * `steptime-trace` with the same words. Tools are looked for in the program's own libexec folder,
 * or in its build tree, and never in PATH. A file or folder that another user than root or the
 * caller owns or can write to is refused, and so is a tool of another release.
 *
 * Help, completion and pages ask a tool for its part: `steptime-trace --page KIND WORD...`.
 *
 * Circle: with command/commands, command/completion, command/help, command/man, because these ask a
 * tool for its part of a page, and a tool writes it with them.
 */
#ifndef STEPTIME_COMMAND_TOOL_H
#define STEPTIME_COMMAND_TOOL_H

#include "command/cli.h"

#define CLI_PAGE "--page"

/* Identifies a tool of steptime and its release. */
#define CLI_TOOL_MARK(tool) "@(#)steptime-tool:" tool ":" STEPTIME_VERSION "\n"

/* Starts the tool that runs the verb of these words and does not return; ST_OK: none does. */
st_status cli_tool_start(cli_run *run, size_t count, const char *const *words) ST_NODISCARD;

/* What the tool writes for a page; false where it is not installed, or fails. */
bool cli_tool_page(const char *tool, size_t count, const char *const *words, st_buffer *buffer);

/* The tool's side: "verbs", "commands VERB", "man VERB", "examples VERB", "words WORD...". */
int cli_write_page(cli_run *run, size_t count, const char *const *words);

/* Asks the tools for the summaries of their verbs, before a list of verbs is written. */
void cli_learn_tools(cli_run *run);
/* The verbs that users added to the folder of installed tools, a name a line. */
void cli_own_verbs(st_buffer *buffer);

#endif

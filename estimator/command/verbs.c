/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the program that runs. */
#include "command/cli.h"

#include <string.h>

static const cli_program *running; /* set before anything reads it */

void cli_set_program(const cli_program *program)
{
    running = program;
}

const cli_program *cli_running(void)
{
    return running;
}

const cli_verb *const *cli_verbs(size_t *count)
{
    *count = running->verb_count;
    return running->verbs;
}

const cli_verb *cli_find_verb(const char *name)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

const char *cli_group_of(const cli_verb *verb)
{
    const char *title = "";
    for (size_t i = 0, group = 0; i < running->verb_count; i++) {
        while (group < running->group_count &&
               strcmp(running->groups[group].first, running->verbs[i]->name) == 0)
            title = running->groups[group++].title;
        if (running->verbs[i] == verb)
            return title;
    }
    return title;
}

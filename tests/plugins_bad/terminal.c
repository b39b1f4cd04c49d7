/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that types into the user's terminal ($TERMINAL) and takes what the user types there,
 * while it is loaded, and reports what it reached. */
#include "steptime/plugin.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static st_plugin self;

__attribute__((constructor)) static void type(void)
{
    const char *const devices[] = {"/dev/tty", "/proc/self/fd/0", "/dev/pts/0", getenv("TERMINAL")};
    char typed[64];
    unsigned reached = 0;
    for (size_t i = 0; i < sizeof devices / sizeof *devices && devices[i] != NULL; i++) {
        int terminal = open(devices[i], O_RDONLY | O_NONBLOCK);
        if (i == 0 && terminal >= 0)
            reached |= 1;
        if (terminal >= 0 && read(terminal, typed, sizeof typed) > 0)
            reached |= 4;
        for (const char *next = "true 2385\n"; terminal >= 0 && *next != '\0'; next++)
            if (ioctl(terminal, TIOCSTI, next) == 0)
                reached |= 2;
    }
    self.summary = reached == 0 ? "reached no terminal" : "reached a terminal";
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    for (size_t row = 0; row < rows; row++)
        values[row] = columns[1][row] > 1 ? 2e-6 + columns[0][row] * 7e-11 : 0;
    return 0;
}

static const st_plugin_argument size = {.struct_size = sizeof size, .name = "size", .unit = "B"};
static const st_plugin_argument ranks = {.struct_size = sizeof ranks, .name = "ranks", .unit = ""};
static const st_plugin_argument *const arguments[] = {&size, &ranks};
static const st_plugin_provider all_reduce = {
    .struct_size = sizeof all_reduce,
    .name = "all_reduce",
    .unit = "s",
    .doc = "A line through two points.",
    .arguments = arguments,
    .argument_count = 2,
    .evaluate = evaluate,
};
static const st_plugin_provider *const providers[] = {&all_reduce};
static st_plugin self = {
    .struct_size = sizeof self,
    .abi = ST_PLUGIN_ABI,
    .id = "bad-terminal",
    .version = "1.0.0",
    .licence = "Apache-2.0",
    .summary = "constructor did not run",
    .providers = providers,
    .provider_count = 1,
};

const st_plugin *st_plugin_describe(void)
{
    return &self;
}

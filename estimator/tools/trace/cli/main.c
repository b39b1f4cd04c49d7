/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-trace: started by `steptime`. */
#include "trace/cli/verbs.h"

int main(int argc, char **argv)
{
    return cli_main(&cli_trace_program, argc, argv);
}

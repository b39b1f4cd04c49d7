/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-launch: started by `steptime`. */
#include "launch/cli/verbs.h"

int main(int argc, char **argv)
{
    return cli_main(&cli_launch_program, argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-fit: started by `steptime`. */
#include "fit/cli/verbs.h"

int main(int argc, char **argv)
{
    return cli_main(&cli_fit_program, argc, argv);
}

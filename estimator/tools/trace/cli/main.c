/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-trace: started by `steptime`. */
#include "trace/cli/verbs.h"

#include <stdlib.h> /* defines __GLIBC__ */
#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char **argv)
{
#ifdef __GLIBC__
    /* Lists of millions grow as mappings, which move without a copy and leave no holes behind;
     * else glibc raises this limit to 32 MiB. */
    enum { MAPPED_BYTES = 1 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
#endif
    return cli_main(&cli_trace_program, argc, argv);
}

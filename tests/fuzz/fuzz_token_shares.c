/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of tokens from any bytes: what is accepted conserves them. */
#include "fuzz.h"

#include "estimate/token_shares.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    const st_token_group groups[] = {{2, 0}, {3, 6}, {4, 4}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        st_token_text table = {"input", text, size};
        st_token_shares shares = {0};
        st_status status = st_token_shares_read(&table, &groups[i], arena, &shares, errors);
        fuzz_check_errors(status, errors);
        for (size_t k = 0; k < shares.lines * shares.ranks; k++) {
            FUZZ_REQUIRE(shares.until[k] >= 0 && shares.until[k] <= 1);
            FUZZ_REQUIRE((k + 1) % shares.ranks != 0 || shares.until[k] == 1);
        }
        FUZZ_REQUIRE(status != ST_OK || fabs(shares.load.busiest) <= (double)shares.ranks + 1e-5);
        st_errors_clear(errors);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}

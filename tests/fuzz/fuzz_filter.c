/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of rows (--rows) from any bytes, over a table. A filter leaves rows out and takes none
 * back, and asked a second time, terms about columns leave what they left.
 */
#include "fuzz.h"

#include "fit/steps/filter.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 5 };

static const char table[] = "gpus,model,time\n64,a,2.385\n128,b,3.5\n64,b,4.25\n,a,\n256,c,7\n";

static void check_kept(const char *filter, const st_csv *csv, st_arena *arena, const bool *kept,
                       st_errors *errors)
{
    bool again[ROWS];
    memcpy(again, kept, sizeof again);
    FUZZ_REQUIRE(st_filter_rows(filter, csv, arena, again, errors) == ST_OK);
    FUZZ_REQUIRE(!kept[1]); /* it was left out before */
    for (size_t i = 0; i < ROWS; i++)
        FUZZ_REQUIRE(kept[i] || !again[i]);
    if (strchr(filter, ':') == NULL)
        FUZZ_REQUIRE(memcmp(again, kept, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool kept[ROWS] = {true, false, true, true, true};
    const st_csv *csv = NULL;
    char *filter = strndup((const char *)data, size); /* an option ends at a zero byte */
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(filter != NULL && arena != NULL && errors != NULL);
    FUZZ_REQUIRE(st_csv_parse("table", table, sizeof table - 1, arena, &csv, errors) == ST_OK);
    st_status status = st_filter_rows(filter, csv, arena, kept, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_kept(filter, csv, arena, kept, errors);
    (void)st_filter_mentions(filter, "gpus");
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(filter);
    return 0;
}

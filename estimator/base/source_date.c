/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source_date.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_10000 253402300800LL

st_status st_source_date(time_t *seconds, st_errors *errors)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    if (text == NULL || text[0] == '\0')
        return ST_OK;
    errno = 0;
    long long given = strtoll(text, NULL, 10);
    if (strspn(text, "0123456789") != strlen(text) || errno != 0 || given >= YEAR_10000)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = "SOURCE_DATE_EPOCH"},
                       "invalid date of results" ST_FOUND "'%.40s'" ST_EXPECTED
                       "seconds since 1970, e.g. 1700000000" ST_HINT "or unset it",
                       text);
    *seconds = (time_t)given;
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose answer is a constant. */
#include "record/library/handlers.h"

uint64_t st_do_ok(st_call *call)
{
    (void)call;
    return 0;
}

/* Writes the line's constant where the argument with the letter i (an int) or w (a word) points. */
uint64_t st_do_put(st_call *call)
{
    const uint8_t *place = call->entry->place;
    uint64_t result = 0;
    if (place['i' - 'a'] > 0)
        result = ST_PUT(call, place['i' - 'a'] - 1U, int32_t, call->entry->constant);
    if (place['w' - 'a'] > 0 && result == 0)
        result = ST_PUT(call, place['w' - 'a'] - 1U, int64_t, call->entry->constant);
    return result;
}

uint64_t st_do_value(st_call *call)
{
    return (uint64_t)call->entry->constant;
}

uint64_t st_do_status_text(st_call *call)
{
    return st_text_word((uint32_t)st_word(call, 0) == 0 ? "success"
                                                        : "failed under steptime record");
}

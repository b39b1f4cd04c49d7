/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose answer is a constant. */
#include "record/library/handlers.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"

uint64_t st_do_ok(st_call *call)
{
    (void)call;
    return 0;
}

/* Writes values where arguments point to: i the constant (an int), w that (a word), l 0 (an int), z
 * so many zeros; n how many devices there are, d the thread's own, v the version of CUDA, a and b
 * the compute capability, m multiprocessors, t memory of a device, f what is free of it; h the
 * second word. */
uint64_t st_do_put(st_call *call)
{
    static const unsigned char zeros[256];
    const uint8_t *place = call->entry->place;
    const uint64_t constant = (uint64_t)(int64_t)call->entry->constant;
    const uint64_t total = st_now.header.device_bytes;
    const uint64_t live = place['f' - 'a'] > 0 ? st_memory_live(call->thread->device) : 0;
    const struct {
        char letter;
        uint8_t bytes;
        uint64_t value;
    } values[] = {
        {'i', 4, constant},
        {'w', 8, constant},
        {'l', 4, 0},
        {'n', 4, st_now.header.device_count},
        {'d', 4, call->thread->device},
        {'v', 4, st_now.header.cuda_version},
        {'a', 4, st_now.compute_capability / 10},
        {'b', 4, st_now.compute_capability % 10},
        {'m', 4, st_now.multiprocessors},
        {'t', 8, total},
        {'f', 8, live < total ? total - live : 0},
        {'h', 8, place['h' - 'a'] > 0 ? st_word(call, 1) : 0},
    };
    uint64_t error = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0] && error == 0; i++)
        if (place[values[i].letter - 'a'] > 0)
            error = st_put_bytes(st_pointer(call, place[values[i].letter - 'a'] - 1U),
                                 &values[i].value, values[i].bytes);
    if (place['z' - 'a'] > 0)
        error = st_put_bytes(st_pointer(call, place['z' - 'a'] - 1U), zeros, constant);
    return error == 0 ? 0 : st_null_errors[call->entry->library];
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

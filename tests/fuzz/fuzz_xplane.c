/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA from any bytes: what is accepted has events in order, with names and tracks. */
#include "fuzz.h"

#include "trace/store.h"

#include <stdlib.h>

static void check_trace(const st_trace *trace)
{
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        FUZZ_REQUIRE(event->start_ns >= 0 && event->duration_ns >= 0);
        FUZZ_REQUIRE(i == 0 || trace->events[i - 1].start_ns <= event->start_ns);
        FUZZ_REQUIRE(event->name < trace->name_count && event->track < trace->track_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t part = 0; part < 2; part++) {
        char *copy = fuzz_copy((const char *)data, size);
        st_errors *errors = st_errors_create();
        st_store *store = NULL;
        FUZZ_REQUIRE(errors != NULL);
        st_store_create("input", NULL, &store);
        st_status status =
            st_xplane_read_memory(&(st_trace_text){copy, size}, &(st_trace_part){"input", part},
                                  part == 1, store, errors);
        fuzz_check_errors(status, errors);
        if (status == ST_OK) {
            st_store_finish(store);
            check_trace(&store->trace);
        }
        st_store_destroy(store);
        st_errors_destroy(errors);
        free(copy);
    }
    return 0;
}

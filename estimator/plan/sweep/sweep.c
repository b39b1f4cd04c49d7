/* SPDX-License-Identifier: Apache-2.0 */
/* Running through a space; see sweep.h. */
#include "sweep/sweep.h"

#include "base/memory.h"
#include "sweep/threads.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep {
    const st_space *space;
    const st_sweep_options *options;
    const st_sweep_sink *sink;
    st_sweep_result *result;
    st_space_worker **workers; /* per thread */
    st_buffer *buffers;
    int threads;
    st_status status; /* of the first error; written by the thread whose turn it is */
} sweep;

static bool make_workers(sweep *self)
{
    uint64_t blocks = (self->space->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK;
    self->threads = st_threads(self->options->threads);
    if (blocks < (uint64_t)self->threads)
        self->threads = blocks > 0 ? (int)blocks : 1;
    self->workers = calloc((size_t)self->threads, sizeof(st_space_worker *));
    self->buffers = calloc((size_t)self->threads, sizeof(st_buffer));
    if (self->workers == NULL || self->buffers == NULL)
        return false;
    for (int i = 0; i < self->threads; i++) {
        self->workers[i] = st_space_worker_create(self->space);
        if (self->workers[i] == NULL)
            return false;
        self->workers[i]->all_checks = st_sweep_marks(self->space);
        self->workers[i]->kept_alone = !self->workers[i]->all_checks && !self->options->all;
    }
    return true;
}

static void compute(sweep *self, int thread, uint64_t first)
{
    uint64_t left = self->space->rows - first;
    size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
    st_buffer *buffer = &self->buffers[thread];
    buffer->length = 0;
    st_space_run(self->workers[thread], first, rows);
    st_sweep_write_rows(self->workers[thread], self->options, buffer);
}

/* What happens in the order of the blocks; true where no further block is wanted. */
static bool take_turn(sweep *self, int thread, uint64_t first)
{
    if (self->sink->interrupted != NULL && *self->sink->interrupted != 0) {
        self->result->interrupted = true;
        return true;
    }
    /* The block's turn to be written. */
    const st_space_worker *worker = self->workers[thread];
    const st_buffer *buffer = &self->buffers[thread];
    st_status status = buffer->failed ? ST_ERR_MEMORY : ST_OK;
    if (status == ST_OK && buffer->length > 0)
        status = self->sink->write(self->sink->context, buffer->data, buffer->length);
    if (status == ST_OK && self->sink->look != NULL)
        status = self->sink->look(self->sink->context, worker, first);
    if (status == ST_OK) {
        st_sweep_result *result = self->result;
        for (size_t row = 0; row < worker->rows; row++) {
            uint32_t reason = worker->reasons[row];
            result->reasons[reason]++;
            result->kept += reason == ST_REASON_NONE ? 1 : 0;
        }
        result->done += worker->rows;
    }
    if (self->sink->progress != NULL)
        self->sink->progress(self->sink->context, self->result->done, self->space->rows);
    self->status = status;
    return self->status != ST_OK;
}

static void run_blocks(sweep *self)
{
    int64_t blocks = (int64_t)((self->space->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK);
    atomic_bool stop = false;
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for ordered schedule(static, 1) num_threads(self->threads)
#endif
    for (int64_t block = 0; block < blocks; block++) {
        int thread = st_thread_number();
        uint64_t first = (uint64_t)block * ST_SPACE_BLOCK;
        if (!atomic_load(&stop))
            compute(self, thread, first);
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp ordered
#endif
        if (!atomic_load(&stop) && take_turn(self, thread, first))
            atomic_store(&stop, true);
    }
}

st_status st_sweep_run(const st_space *space, const st_sweep_options *options,
                       const st_sweep_sink *sink, st_sweep_result *result, st_errors *errors)
{
    sweep self = {.space = space, .options = options, .sink = sink, .result = result};
    st_buffer head = {0};
    *result = (st_sweep_result){
        .reasons = st_arena_alloc(space->arena, st_reason_count(space), sizeof(uint64_t))};
    if (result->reasons == NULL || !make_workers(&self)) {
        self.status = ST_ERR_MEMORY;
        goto cleanup;
    }
    st_sweep_write_head(space, options, errors, &head);
    self.status = head.failed ? ST_ERR_MEMORY : ST_OK;
    if (self.status == ST_OK && head.length > 0)
        self.status = sink->write(sink->context, head.data, head.length);
    if (self.status == ST_OK)
        run_blocks(&self);
cleanup:
    st_buffer_free(&head);
    for (int i = 0; i < self.threads; i++) {
        if (self.workers != NULL)
            st_space_worker_destroy(self.workers[i]);
        if (self.buffers != NULL)
            st_buffer_free(&self.buffers[i]);
    }
    free(self.workers);
    free(self.buffers);
    if (self.status == ST_ERR_MEMORY)
        (void)st_out_of_memory(errors);
    return self.status;
}

void st_sweep_write_reasons(const st_space *space, const st_sweep_result *result, st_buffer *buffer)
{
    uint64_t rejected = result->done - result->kept;
    if (rejected == 0)
        return;
    st_buffer_printf(buffer, "rejected %" PRIu64 " of %" PRIu64 " rows\n", rejected, result->done);
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (result->reasons[i] == 0)
            continue;
        /* The message of a check, as it stands in the sheet; "" for other reasons. */
        size_t count = 0;
        const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
        size_t own = 0;
        (void)st_sheet_checks(space->base.sheet, &own);
        const char *message = i >= 1 && i <= own ? checks[i - 1].message : "";
        st_buffer_printf(buffer, "%10" PRIu64 "  %s%s%s%.*s\n", result->reasons[i],
                         i <= space->check_count ? "not: " : "", st_reason_text(space, i),
                         message[0] != '\0' ? " - " : "", (int)strcspn(message, ";."), message);
    }
}

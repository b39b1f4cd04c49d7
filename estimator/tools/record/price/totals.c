/* SPDX-License-Identifier: Apache-2.0 */
/* What a walked worker does, added up: tasks by operation, collectives, memory over time. */
#include "record/price/imported.h"

#include "base/memory.h"

static st_imported_operation *operation_of(st_imported_worker *totals, const st_price *price,
                                           st_arena *arena)
{
    for (size_t i = 0; i < totals->operation_count; i++) {
        st_imported_operation *operation = &totals->operations[i];
        if (operation->unknown == price->unknown && st_same(operation->name, price->operation))
            return operation;
    }
    st_imported_operation made = {.name = price->operation, .unknown = price->unknown};
    (void)ST_APPEND(arena, totals->operations, totals->operation_count, made);
    return &totals->operations[totals->operation_count - 1];
}

void st_imported_count(const st_imported *imported, size_t worker, st_arena *arena)
{
    const st_walk_worker *walked = &imported->walk->workers[worker];
    const st_worker_call *calls = walked->worker->calls;
    st_imported_worker *totals = &imported->workers[worker];
    for (size_t i = 0; i < walked->task_count; i++) {
        const st_walk_task *task = &walked->tasks[i];
        totals->tasks++;
        const int64_t duration_ns = st_walk_task_ns(walked, task);
        totals->busy_ns += duration_ns;
        totals->length_ns = task->end_ns > totals->length_ns ? task->end_ns : totals->length_ns;
        for (uint32_t j = task->meet; j != ST_NO_INDEX; j = walked->meets[j].next) {
            const st_walk_meet *meet = &walked->meets[j];
            const st_log_record *record = calls[meet->what].record;
            const st_communicator *group =
                st_groups_find(imported->groups, (uint32_t)worker, record);
            st_imported_collective *sum = &totals->collectives[record->collective.operation];
            sum->count++;
            sum->time_ns += imported->groups->instances[meet->instance].duration_ns;
            sum->bytes +=
                st_collective_message(&record->collective, group != NULL ? group->ranks : 1);
        }
        if (task->meet != ST_NO_INDEX) {
            totals->waiting_ns += task->end_ns - task->start_ns - duration_ns;
            continue;
        }
        const st_task_shape *shape = &imported->run->shapes[calls[task->what].shape];
        const st_price *price = &imported->shape_prices[calls[task->what].shape];
        st_imported_operation *operation = operation_of(totals, price, arena);
        bool bounded = shape->at_most && !price->unknown;
        operation->count++;
        operation->time_ns += duration_ns;
        operation->work_flop += price->work_flop;
        totals->work_flop += price->work_flop;
        totals->products += shape->form == ST_FORM_PRODUCT;
        totals->unknown += price->unknown;
        totals->unknown_ns += price->unknown ? duration_ns : 0;
        totals->refined += price->refined;
        totals->refined_ns += price->refined ? duration_ns : 0;
        totals->bounded += bounded;
        totals->bounded_ns += bounded ? duration_ns : 0;
    }
    for (size_t i = 0; i < walked->worker->call_count; i++) {
        const st_log_record *record = calls[i].record;
        int64_t end_ns = walked->end_ns[i];
        totals->length_ns = end_ns > totals->length_ns ? end_ns : totals->length_ns;
        if (record->kind == ST_LOG_MALLOC && record->status == 0 &&
            record->memory.live_bytes > totals->peak_bytes) {
            totals->peak_bytes = record->memory.live_bytes;
            totals->peak_ns = end_ns;
        }
    }
}

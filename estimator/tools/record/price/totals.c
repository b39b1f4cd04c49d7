/* SPDX-License-Identifier: Apache-2.0 */
/* What a walked worker does, added up: tasks by operation, collectives, memory over time. */
#include "record/price/imported.h"

#include "base/memory.h"

typedef struct counter {
    const st_imported *imported;
    const st_walk_worker *own;
    st_imported_worker *counts;
    uint32_t index;
    st_arena *arena;
} counter;

static st_imported_operation *operation_of(counter *c, const st_price *price)
{
    st_imported_worker *counts = c->counts;
    for (size_t i = 0; i < counts->operation_count; i++) {
        st_imported_operation *operation = &counts->operations[i];
        if (operation->unknown == price->unknown && st_same(operation->name, price->operation))
            return operation;
    }
    st_imported_operation made = {.name = price->operation, .unknown = price->unknown};
    if (!ST_APPEND(c->arena, counts->operations, counts->operation_count, made))
        return NULL;
    return &counts->operations[counts->operation_count - 1];
}

static bool count_task(counter *c, const st_walk_task *task)
{
    const st_worker_call *call = &c->own->worker->calls[task->what];
    const st_price *price = &c->imported->shape_prices[call->shape];
    const st_task_shape *shape = &c->imported->run->shapes[call->shape];
    st_imported_operation *operation = operation_of(c, price);
    if (operation == NULL)
        return false;
    operation->count++;
    operation->time_ns += task->duration_ns;
    operation->work_flop += price->work_flop;
    c->counts->work_flop += price->work_flop;
    c->counts->products += shape->form == ST_FORM_PRODUCT;
    c->counts->unknown += price->unknown;
    c->counts->unknown_ns += price->unknown ? task->duration_ns : 0;
    c->counts->refined += price->refined;
    c->counts->refined_ns += price->refined ? task->duration_ns : 0;
    bool bounded = shape->at_most && !price->unknown;
    c->counts->bounded += bounded;
    c->counts->bounded_ns += bounded ? task->duration_ns : 0;
    return true;
}

st_status st_imported_count(const st_imported *imported, size_t worker, st_arena *arena,
                            st_errors *errors)
{
    counter c = {.imported = imported,
                 .own = &imported->walk->workers[worker],
                 .counts = &imported->workers[worker],
                 .index = (uint32_t)worker,
                 .arena = arena};
    for (size_t i = 0; i < c.own->task_count; i++) {
        const st_walk_task *task = &c.own->tasks[i];
        c.counts->tasks++;
        c.counts->busy_ns += task->duration_ns;
        c.counts->length_ns =
            task->end_ns > c.counts->length_ns ? task->end_ns : c.counts->length_ns;
        if (task->meet != ST_NO_INDEX) {
            for (uint32_t j = task->meet; j != ST_NO_INDEX; j = c.own->meets[j].next) {
                const st_walk_meet *meet = &c.own->meets[j];
                const st_log_record *record = &c.own->worker->calls[meet->what].record;
                const st_instance_of *instance = &c.imported->groups->instances[meet->instance];
                const st_communicator *group = st_groups_find(c.imported->groups, c.index, record);
                st_imported_collective *own = &c.counts->collectives[record->collective.operation];
                own->count++;
                own->time_ns += instance->duration_ns;
                own->bytes +=
                    st_collective_message(&record->collective, group != NULL ? group->ranks : 1);
            }
            c.counts->waiting_ns += task->end_ns - task->start_ns - task->duration_ns;
        } else if (!count_task(&c, task)) {
            return st_out_of_memory(errors);
        }
    }
    for (size_t i = 0; i < c.own->worker->call_count; i++)
        c.counts->length_ns =
            c.own->end_ns[i] > c.counts->length_ns ? c.own->end_ns[i] : c.counts->length_ns;
    const st_worker *memory_worker = c.own->worker;
    for (size_t i = 0; i < memory_worker->call_count; i++) {
        const st_log_record *record = &memory_worker->calls[i].record;
        bool counts = record->kind == ST_LOG_MALLOC && record->status == 0;
        if (counts && record->memory.live_bytes > c.counts->peak_bytes) {
            c.counts->peak_bytes = record->memory.live_bytes;
            c.counts->peak_ns = c.own->end_ns[i];
        }
    }
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution traces of PyTorch (ExecutionTraceObserver): every operator with the shapes, types and
 * storages of its tensors, and the one that called it. They contain no times.
 */
#ifndef STEPTIME_WORKLOAD_PYTORCH_H
#define STEPTIME_WORKLOAD_PYTORCH_H

#include "trace/bytes.h"
#include "workload/execution.h"
#include "trace/pytorch_shape.h"

/*
 * Reads JSON of the schemas 1.0.1 to 1.1; what lives on is of `arena`. Refused, with its place:
 * what is not JSON or no execution trace, ids given twice, an operator that an operator after it
 * calls.
 */
st_status st_pytorch_read(st_bytes *bytes, st_arena *arena, st_pytorch *operators,
                          st_errors *errors) ST_NODISCARD;

/*
 * As nodes that wait for each other: those that run kernels one after the other, collectives after
 * what last touched their tensors, what touches these, or follows a wait, after the collective.
 * Refused, with its place: a product, convolution or attention whose shapes contradict each other.
 */
st_status st_pytorch_execution(st_pytorch *operators, st_arena *arena, st_execution *execution,
                               st_errors *errors) ST_NODISCARD;

#endif

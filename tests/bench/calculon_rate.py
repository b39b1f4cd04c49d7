# SPDX-License-Identifier: Apache-2.0
"""Estimates per second of Calculon in one process, GPT-3 175B on 64 A100 with a batch of 64.

  calculon_rate.py CHECKOUT SECONDS

CHECKOUT is a copy of Calculon (Isaev et al. 2023), which is only called. Its logging is off: by
default it formats a message for every plan that does not fit.
"""

import logging
import sys
import time

checkout, limit_s = sys.argv[1], float(sys.argv[2])
sys.path.insert(0, checkout)
sys.dont_write_bytecode = True
logging.disable(logging.CRITICAL)

import calculon  # noqa: E402
from calculon.llm import Llm  # noqa: E402
from calculon.llm.optimal_execution import OptimalExecution  # noqa: E402
from calculon.system import System  # noqa: E402

GPUS, BATCH = 64, 64
model = Llm.Application(calculon.io.read_json_file(f"{checkout}/models/gpt3-175B.json"))
system = System(calculon.io.read_json_file(f"{checkout}/systems/a100_80g.json"))


def plans():
    """Arguments of Calculon's own search, as its command makes them."""
    for tp in Llm.get_all_tensor_parallelisms(GPUS, model.hidden, model.attn_heads):
        for pp in Llm.get_all_pipeline_parallelisms(GPUS, tp, model.num_blocks):
            dp = Llm.get_data_parallelism(GPUS, tp, pp)
            for chunks in Llm.get_valid_pipeline_interleavings(model.num_blocks, pp):
                for recompute in ("full", "attn_only", "none"):
                    for kind in ("ar", "p2p_rs_ag", "rs_ag"):
                        yield (False, 1, False, GPUS, BATCH, "float16", model, system, tp, pp, dp,
                               chunks, BATCH, recompute, False, kind, [True], False, True, True)


count = 0
begin = time.process_time()
# Every 37th part of the space, so that a few seconds see all kinds of plans.
for part in list(plans())[::37]:
    count += OptimalExecution.search(*part)[1]
    if time.process_time() - begin > limit_s:
        break
seconds = time.process_time() - begin
print(f"{count} {seconds:.3f}")

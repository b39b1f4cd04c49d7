# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's own parser, validation and configuration, from a source tree and without torch.

    megatron_start.py FOLDER

Reads launches from standard input, one a line as JSON: {"world": ranks, "environment": {...}, "arguments": [...]},
and answers each with a line: "" where it starts, else what it died of.
"""
import contextlib
import importlib.metadata
import io
import os
import sys
import traceback

import pip._vendor.packaging as packaging
import pip._vendor.packaging.specifiers
import pip._vendor.packaging.version
import stand_ins

VERSIONS = {'transformer-engine': '2.16.0', 'transformer_engine': '2.16.0', 'torch': '2.9.0', 'flash-attn': '2.7.4',
            'flash_attn': '2.7.4', 'mamba-ssm': '2.2.5', 'mamba_ssm': '2.2.5', 'emerging-optimizers': '0.3.0'}


def prepare(folder):
    for name, module in (('packaging', packaging), ('packaging.version', packaging.version),
                         ('packaging.specifiers', packaging.specifiers)):
        sys.modules[name] = module
    known = importlib.metadata.version
    importlib.metadata.version = lambda name: VERSIONS.get(name) or known(name)
    os.environ['NO_VCS_VERSION'] = '1'
    stand_ins.use(folder, 'megatron', ('megatron.rl',))  # trains with rewards, needs pydantic
    import megatron.training.arguments as arguments
    return arguments


def build(config, parsed):
    """What the start checks after its arguments: accumulation, and the layers of each stage."""
    from megatron.core import num_microbatches_calculator, parallel_state
    from megatron.core.transformer import transformer_block
    num_microbatches_calculator.init_num_microbatches_calculator(
        1, None, parsed.global_batch_size, parsed.micro_batch_size, parsed.data_parallel_size)
    stages, chunks = config.pipeline_model_parallel_size, config.virtual_pipeline_model_parallel_size
    parallel_state.set_pipeline_model_parallel_world_size(stages)
    parallel_state.set_virtual_pipeline_model_parallel_world_size(chunks)
    layers = 0
    for rank in range(stages):
        parallel_state.set_pipeline_model_parallel_rank(rank)
        for chunk in range(chunks or 1):
            layers += transformer_block.get_num_layers_to_build(config, chunk if chunks else None)
    assert layers == config.num_layers or parsed.is_hybrid_model, f'{layers} layers on {stages} stages'


def start(arguments, launch):
    os.environ.pop('CUDA_DEVICE_MAX_CONNECTIONS', None)
    os.environ |= {'WORLD_SIZE': str(launch['world']), **launch['environment']}
    sys.argv = ['pretrain_gpt.py', *launch['arguments']]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            parsed = arguments.parse_args(None, False)
            arguments.validate_args(parsed, {'tokenizer_type': 'GPT2BPETokenizer'})
            build(arguments.core_transformer_config_from_args(parsed), parsed)
    except SystemExit:
        return 'options: ' + said.getvalue().strip().split('\n')[-1]
    except BaseException as error:  # also failed imports and assertions: all of them end the start
        place = traceback.extract_tb(sys.exc_info()[2])[-1]
        return f'{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno}: {place.line})'
    return ''


ARGUMENTS = prepare(sys.argv[1])
stand_ins.answer(lambda launch: start(ARGUMENTS, launch))

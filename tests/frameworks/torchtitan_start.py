# SPDX-License-Identifier: Apache-2.0
"""torchtitan's own configuration manager and models, from a source tree and without torch.

    torchtitan_start.py FOLDER

Reads launches from standard input, one a line as JSON: {"file": TOML, "world": ranks}, and answers each with a line:
"" where it starts, else what it died of.
"""
import contextlib
import copy
import importlib
import io
import os
import sys
import tempfile
import traceback
import types
import typing

import stand_ins


def check_types(config, path=''):
    """What tyro would refuse: fields of another type than the class says."""
    for name, kind in typing.get_type_hints(type(config)).items():
        value = getattr(config, name)
        kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
        words = [word for one in kinds if typing.get_origin(one) is typing.Literal for word in typing.get_args(one)]
        plain = tuple(typing.get_origin(one) or one for one in kinds if typing.get_origin(one) is not typing.Literal)
        if hasattr(value, '__dataclass_fields__'):
            check_types(value, f'{path}{name}.')
        elif words:
            assert value in words or (plain and isinstance(value, plain)), f'{path}{name} is {value!r}, not one of {words}'
        else:
            assert isinstance(value, tuple(int if one is bool else one for one in plain) + ((int,) if float in plain else ())), (
                f'{path}{name} is {value!r}, not {kind}')


def start(launch):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), tempfile.NamedTemporaryFile() as file:
            file.write(launch['file'].encode())
            file.flush()
            from torchtitan.config.manager import ConfigManager
            config = ConfigManager().parse_args(['--job.config_file', file.name])
            check_types(config)
            model = importlib.import_module('torchtitan.models.' + config.model.name)
            spec = model.get_train_spec()
            flavors = getattr(spec, 'model_args', None) or spec.config
            assert config.model.flavor in flavors, f'{config.model.flavor!r} is not a flavor of {config.model.name}'
            assert spec.pipelining_fn is not None or config.parallelism.pipeline_parallel_degree == 1, 'no stages'
            copy.deepcopy(flavors[config.model.flavor]).update_from_config(config)
            from torchtitan.distributed.parallel_dims import ParallelDims
            of = config.parallelism
            ParallelDims(dp_shard=of.data_parallel_shard_degree, dp_replicate=of.data_parallel_replicate_degree,
                         cp=of.context_parallel_degree, tp=of.tensor_parallel_degree, pp=of.pipeline_parallel_degree,
                         ep=of.expert_parallel_degree, etp=of.expert_tensor_parallel_degree, world_size=launch['world'])
    except BaseException as error:  # whatever it is, it ends the start
        place = traceback.extract_tb(sys.exc_info()[2])[-1]
        return f'{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno}: {place.line})'
    return ''


stand_ins.use(sys.argv[1], 'torchtitan')
import tyro  # stood in for: what it would make of no further arguments are the defaults
tyro.cli = lambda kind, args, default, registry: default
stand_ins.answer(start)

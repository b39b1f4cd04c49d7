# SPDX-License-Identifier: Apache-2.0
"""What Megatron-Bridge's own classes make of a config.json, from source trees and without torch.

    bridge_provider.py BRIDGE_FOLDER MEGATRON_FOLDER <configurations.json

Reads {model: {"bridge": "MODULE.CLASS", "config": {...}}} and prints {model: {field of the provider: value}}.
"""
import dataclasses
import importlib
import importlib.metadata
import json
import os
import sys
import types

import pip._vendor.packaging as packaging
import pip._vendor.packaging.specifiers
import pip._vendor.packaging.version
import stand_ins

VERSIONS = {'transformer-engine': '2.16.0', 'transformer_engine': '2.16.0', 'torch': '2.9.0', 'flash-attn': '2.7.4',
            'transformers': '4.57.0'}


def prepare(bridge, megatron):
    for name, module in (('packaging', packaging), ('packaging.version', packaging.version),
                         ('packaging.specifiers', packaging.specifiers)):
        sys.modules[name] = module
    known = importlib.metadata.version
    importlib.metadata.version = lambda name: VERSIONS.get(name) or known(name)
    os.environ['NO_VCS_VERSION'] = '1'
    stand_ins.use(os.path.join(bridge, 'src'), 'megatron', ('megatron.rl',))
    sys.path.append(megatron)
    # Packages whose own imports would bring in every model.
    root = os.path.join(bridge, 'src/megatron/bridge')
    models = os.path.join(root, 'models')
    packages = {'megatron.bridge': root, 'megatron.bridge.models': models}
    packages |= {f'megatron.bridge.models.{name}': os.path.join(models, name) for name in os.listdir(models)
                 if os.path.isdir(os.path.join(models, name))}
    for name, path in packages.items():
        package = types.ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package


def plain(value):
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, (int, float, str, list)):
        return value
    return getattr(value, '__name__', None) or type(value).__name__


def main():
    prepare(sys.argv[1], sys.argv[2])
    found = {}
    for model, entry in json.load(sys.stdin).items():
        module, name = entry['bridge'].rsplit('.', 1)
        bridge = getattr(importlib.import_module('megatron.bridge.models.' + module), name)()
        config = types.SimpleNamespace(**entry['config'])
        provider = bridge.provider_bridge(types.SimpleNamespace(config=config, generation_config=None))
        found[model] = {field.name: plain(getattr(provider, field.name, None)) for field in dataclasses.fields(provider)}
    json.dump(found, sys.stdout)


main()

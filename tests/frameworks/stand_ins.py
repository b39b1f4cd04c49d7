# SPDX-License-Identifier: Apache-2.0
"""Replaces the packages that a framework imports, so that its own code runs without them and without a GPU."""
import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
import typing


class AnyType(type(typing.Protocol)):
    """Classes of packages that are not there: bases, unions, parameters, members."""

    def __getattr__(cls, name):
        if name.startswith('__') and name.endswith('__'):
            raise AttributeError(name)
        return any_class(name)

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, key):
        return cls

    def __iter__(cls):
        return iter(())

    def __lt__(cls, other):
        return False

    def __ge__(cls, other):
        return True

    __gt__, __le__ = __ge__, __lt__


def only_function(*arguments, **named):
    """A decorator, with or without arguments."""
    if len(arguments) == 1 and callable(arguments[0]) and not named:
        return arguments[0]
    return lambda function: function


def any_class(name):
    def member(self, inner):
        if inner.startswith('__'):
            raise AttributeError(inner)
        return any_class(inner)()

    def itself(self, *_):
        return self

    body = {'__init__': lambda self, *a, **k: None, '__init_subclass__': classmethod(lambda cls, **k: None),
            '__getattr__': member, '__enter__': itself,
            '__call__': lambda self, *a, **k: a[0] if len(a) == 1 and callable(a[0]) else self,
            '__exit__': lambda self, *a: None, '__iter__': lambda self: iter(()), '__hash__': lambda self: 1,
            '__eq__': lambda self, other: self is other, '__ne__': lambda self, other: self is not other,
            '__lt__': lambda self, other: False, '__le__': lambda self, other: True,
            '__gt__': lambda self, other: False, '__ge__': lambda self, other: True}
    body |= {f'__{one}__': lambda self, *_: 1 for one in
             ('mul', 'rmul', 'add', 'radd', 'sub', 'floordiv', 'len', 'index', 'int')}
    body |= {f'__{one}__': itself for one in ('or', 'ror', 'getitem')}
    return AnyType(name, (object,), body)


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return 'torch.' + self.name

    def __call__(self, *_):
        return self


class AnyModule(types.ModuleType):
    __version__ = '2.9.0'

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        values = {'is_available': lambda *a, **k: True, 'get_device_capability': lambda *a, **k: (9, 0),
                  'device_count': lambda *a, **k: 8, 'is_initialized': lambda *a, **k: False,
                  'get_rank': lambda *a, **k: 0, 'get_world_size': lambda *a, **k: int(os.environ['WORLD_SIZE']),
                  'get_device_properties': lambda *a, **k: types.SimpleNamespace(
                      major=9, minor=0, multi_processor_count=132)}
        if name in ('compile', 'script', 'no_grad', 'custom_op', 'register_fake', 'contextmanager', 'jit_fuser',
                    'disable', 'allow_in_graph', 'ignore'):
            value = only_function
        elif name in ('float16', 'bfloat16', 'float32', 'float64', 'float', 'half', 'int32', 'int64', 'uint8', 'long',
                      'bool', 'float8_e4m3fn', 'float8_e5m2'):
            value = Dtype(name)
        else:
            value = values.get(name) or any_class(name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages besides the framework and Python's own are modules that have everything, installed or not."""

    def __init__(self, framework, left_out=()):
        self.framework, self.left_out = framework, left_out

    def find_spec(self, name, path, target=None):
        top = name.split('.')[0]
        is_own = top in (self.framework, 'pip', 'setuptools', 'distutils') and not name.startswith(self.left_out)
        if is_own or top.startswith('_') or top in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = AnyModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def use(folder, framework, left_out=()):
    """Imports of the framework come from a source tree, all else is stood in for."""
    if not hasattr(typing, 'override'):
        typing.override = lambda function: function
    sys.meta_path.insert(0, Finder(framework, left_out))
    sys.path.insert(0, folder)
    os.environ |= {'WORLD_SIZE': '1', 'RANK': '0', 'LOCAL_RANK': '0'}


def answer(start):
    """Answers each line of standard input, a launch as JSON, with what start(launch) says, in a process of its own."""
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, json.dumps(start(json.loads(line))).encode()[:60000])
            os._exit(0)
        os.close(write)
        with os.fdopen(read, 'rb') as said:
            print(said.read().decode(), flush=True)
        os.waitpid(child, 0)

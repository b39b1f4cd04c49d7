#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recipes against the build: their version, the options that they set, the libraries that they ask for. recipes.py ROOT VERSION

Nothing here builds: Spack, conda and podman are not Debian's. A recipe that names an option that is gone, or lacks a library that
the build requires, is wrong wherever it runs.
"""
import ast
import pathlib
import re
import sys

# A library of the build, and its packages in Spack, conda, Fedora and Debian; None: recipes leave it out by an option.
LIBRARIES = {
    'yaml-0.1': ('libyaml', 'yaml', 'libyaml-devel', 'libyaml-dev'),
    'gsl': ('gsl', 'gsl', 'gsl-devel', 'libgsl-dev'),
    'zlib': ('zlib-api', 'zlib', 'zlib-devel', 'zlib1g-dev'),
    'yajl': ('yajl', 'yajl', 'yajl-devel', 'libyajl-dev'),
    'expat': ('expat', 'expat', 'expat-devel', 'libexpat1-dev'),
    'sqlite3': ('sqlite', 'sqlite', 'sqlite-devel', 'libsqlite3-dev'),
    'lz4': ('lz4', 'lz4-c-static', 'lz4-static', 'liblz4-dev'),
    'zstd': ('zstd', 'zstd-static', 'libzstd-static', 'libzstd-dev'),
    'xlsxwriter': (None, None, 'libxlsxwriter-devel', 'libxlsxwriter-dev'),
    'mpi': ('mpi', None, None, None),
    'xgboost': (None, None, None, 'libxgboost-dev'),
}
# Not of the program: the compiler's, and those of tests.
APART = {'cmocka', 'openmp', 'threads'}


def required_by(root):
    """Libraries that a build of everything links."""
    found = set(re.findall(r"^\w+ = (?:\w+ \? \[\] : )?dependency\('([\w.-]+)'", (root / 'meson.build').read_text(), re.M))
    for path in root.glob('estimator/**/meson.build'):
        found |= set(re.findall(r"find_library\('(\w+)', has_headers", path.read_text()))
    return found - APART


def asked_by(path, text):
    """Packages of libraries that a recipe asks for."""
    if path.suffix == '.py':
        calls = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call))
        return {re.split(r'[@ ]', one.args[0].value)[0] for one in calls if getattr(one.func, 'id', '') == 'depends_on'}
    if path.suffix == '.yaml':
        return set(re.findall(r'^    - ([\w-]+)', text.split('host:')[1].split('test:')[0], re.M))
    if path.suffix == '.spec':
        return set(re.findall(r'^BuildRequires: +([\w-]+)', text, re.M))
    return set(re.findall(r'\b(?:lib[\w.+-]+|zlib1g)-dev\b', text.split('AS build')[-1].split('\nFROM')[0]))


def faults_of(root, version):
    options = dict(re.findall(r"option\(\s*'([\w-]+)',\s*type: '(\w+)'", (root / 'meson_options.txt').read_text()))
    values = {'feature': ('enabled', 'disabled', 'auto'), 'boolean': ('true', 'false')}
    required = required_by(root)
    yield from (f'{one} is unknown to packaging/recipes.py' for one in sorted(required ^ LIBRARIES.keys()))
    recipes = {'packaging/spack/steptime/package.py': 0, 'packaging/conda/meta.yaml': 1, 'packaging/steptime.spec': 2,
               'packaging/Containerfile': 3, 'debian/control': 3}
    for name, place in recipes.items():
        text = (root / name).read_text()
        rules = text if name != 'debian/control' else (root / 'debian/rules').read_text()
        given = dict(re.findall(r'-D([\w-]+)=(\w*)', rules))  # Spack's f-strings have their value elsewhere
        for option, value in given.items():
            if option not in options and option not in ('werror', 'libexecdir'):
                yield f'{name}: the build has no option {option}'
            elif value and value not in values.get(options.get(option), (value,)):
                yield f'{name}: {option} is {value}, expected one of {", ".join(values[options[option]])}'
        asked = asked_by(root / name, text)
        for library in sorted(required & LIBRARIES.keys()):
            own = LIBRARIES[library][place]
            if own not in asked and given.get(library) != 'disabled':
                yield f'{name}: needs {own or library}, or -D{library}=disabled'
    for name, form in (('packaging/steptime.spec', r'^Version: +(\S+)'), ('packaging/conda/meta.yaml', r'^  version: (\S+)'),
                       ('debian/changelog', r'\A\S+ \(([^)-]+)')):
        found = re.search(form, (root / name).read_text(), re.M)
        if found is None or found[1] != version:
            yield f'{name}: version {found[1] if found else "unknown"}, expected {version}'


if __name__ == '__main__':
    faults = list(faults_of(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
    print('\n'.join(faults) or 'recipes agree with the build')
    sys.exit(bool(faults))

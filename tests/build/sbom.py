#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a build of steptime is made of, as SPDX 2.3 in JSON: sbom.py BUILD VERSION OUTPUT

The packages are those that meson found, with the versions that it found, and whether their archive or
their shared object is linked, or headers alone are used and the library is loaded where it is needed.
The date is SOURCE_DATE_EPOCH's, or that of the epoch, so that two builds give the same file.
sbom.py --check FILE BUILD reads one back, against what meson found last.
"""
import datetime
import hashlib
import json
import os
import pathlib
import sys

# Licences as the projects declare them; what is not listed is NOASSERTION.
LICENCES = {
    'yaml-0.1': 'MIT', 'gsl': 'GPL-3.0-or-later', 'zlib': 'Zlib', 'yajl': 'ISC',
    'xlsxwriter': 'BSD-2-Clause', 'xgboost': 'Apache-2.0', 'sqlite3': 'blessing', 'expat': 'MIT',
    'ompi-c': 'BSD-3-Clause',
}
NO_PACKAGE = {'threads', 'openmp', 'cmocka'}  # the compiler's and libc's own, and the tests'
LOADED = {'xlsxwriter', 'xgboost', 'ompi-c'}  # by dlopen, where one is asked for


def linkage(name, arguments):
    if name in LOADED:
        return 'headers alone; loaded when a feature asks for it'
    archives = any(word.endswith('.a') for word in arguments)
    return 'archive, in the program' if archives else 'shared object, for the library'


def dependencies(build):
    found = json.loads((build / 'meson-info/intro-dependencies.json').read_text(encoding='utf-8'))
    packages = {}
    for one in found:
        if one['name'] in NO_PACKAGE:
            continue
        entry = packages.setdefault(one['name'], {'version': one['version'], 'uses': set()})
        entry['uses'].add(linkage(one['name'], one['link_args']))
    return sorted(packages.items())


def package(name, version, licence, comment):
    return {'SPDXID': 'SPDXRef-Package-' + name.replace('_', '-'), 'name': name,
            'versionInfo': version, 'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False,
            'licenseConcluded': 'NOASSERTION', 'licenseDeclared': licence,
            'copyrightText': 'NOASSERTION', 'comment': comment}


def document(build, version):
    seconds = int(os.environ.get('SOURCE_DATE_EPOCH', '0'))
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    packages = [package('steptime', version, 'Apache-2.0', 'the program, its library and its plugins')]
    relations = [('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-Package-steptime')]
    for name, entry in dependencies(build):
        packages.append(package(name, entry['version'], LICENCES.get(name, 'NOASSERTION'),
                                '; '.join(sorted(entry['uses']))))
        kind = 'OPTIONAL_DEPENDENCY_OF' if name in LOADED else 'DEPENDENCY_OF'
        relations.append((packages[-1]['SPDXID'], kind, 'SPDXRef-Package-steptime'))
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    return {'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT',
            'name': 'steptime-' + version,
            'documentNamespace': f'https://spdx.org/spdxdocs/steptime-{version}-{digest}',
            'creationInfo': {'created': created.strftime('%Y-%m-%dT%H:%M:%SZ'),
                             'creators': ['Tool: steptime-sbom']},
            'packages': packages,
            'relationships': [{'spdxElementId': one, 'relationshipType': kind,
                               'relatedSpdxElement': other} for one, kind, other in relations]}


def faults(text, build):
    """What the specification demands of a document, and is not so."""
    made = json.loads(text)
    if {(one['name'], one['versionInfo']) for one in made['packages'][1:]} != \
            {(name, entry['version']) for name, entry in dependencies(build)}:
        yield 'it lists other packages than meson found; remove it, and ninja makes it anew'
    known = {'SPDXRef-DOCUMENT'} | {one['SPDXID'] for one in made['packages']}
    names = [one['name'] for one in made['packages']]
    for key in ('spdxVersion', 'dataLicense', 'SPDXID', 'name', 'documentNamespace', 'creationInfo'):
        if not made.get(key):
            yield f'{key} is missing'
    if len(known) != len(names) + 1:
        yield 'two packages have one identifier'
    if not {'steptime', 'yaml-0.1', 'gsl', 'zlib'} <= set(names):
        yield 'a package that every build needs is missing'
    for one in made['packages']:
        if one['versionInfo'] in ('', 'unknown') or 'downloadLocation' not in one:
            yield f'{one["name"]} lacks its version or its place'
    for one in made['relationships']:
        if not {one['spdxElementId'], one['relatedSpdxElement']} <= known:
            yield f'a relation names what is not there: {one}'


def main():
    if sys.argv[1] == '--check':
        found = list(faults(pathlib.Path(sys.argv[2]).read_text(encoding='utf-8'), pathlib.Path(sys.argv[3])))
        print('\n'.join(f'# {one}' for one in found))
        print('not ok 1 - sbom' if found else 'ok 1 - sbom', '1..1', sep='\n')
        return 1 if found else 0
    made = document(pathlib.Path(sys.argv[1]), sys.argv[2])
    pathlib.Path(sys.argv[3]).write_text(json.dumps(made, indent=1) + '\n', encoding='utf-8')
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files of estimator/ may need which: includes.py ROOT BUILD.

A module is a folder that estimator/meson.build names, in its order there. A file includes headers of
its own module and of those before it, and a public header counts as one of the module that defines it.
A tool includes nothing of the library but <steptime/...>, "steptime/tool/..." and `base`, and nothing
of other tools but of those whose libraries it links; its command line adds "command/...". What a
source calls, as its object in BUILD says, obeys the same order, and inside a module no two sources
call each other, directly or through others, unless a header says why, which three may. Every header
has a name of its own. Prints what is wrong, a line each.
"""
import collections
import json
import os
import re
import subprocess
import sys

# The module that defines what a public header declares; steptime.h is all of them.
PUBLIC = {
    'arena': 'base',
    'quantity': 'base',
    'status': 'base',
    'sheet': 'sheet',
    'job': 'job',
    'paths': 'job',
    'graph': 'schedule',
    'plugin': 'plugin',
    'in_process': 'plugin',
    'estimate': 'estimate',
    'job_traffic': 'estimate',
    'job_timeline': 'timeline',
    'search': 'search',
    'steptime': 'cli',
    'answer': 'base',
    'trace': 'trace/cli',
    'launch': 'launch/cli',
    'fit': 'fit/cli',
}
# The same of headers in steptime/tool/, which tools of the same release share with the library.
TOOL = {
    'error_kinds': 'estimate',
    'estimates': 'estimate',
    'formula_names': 'sheet',
    'gpus': 'job',
    'graph_arrays': 'schedule',
    'input_files': 'job',
    'job_keys': 'job',
    'job_write': 'job',
    'job_values': 'job',
    'paced_runs': 'program',
    'pattern': 'job',
    'pipeline_schedule': 'schedule',
    'plugin_calls': 'plugin',
    'profiles': 'profile',
    'programs': 'program',
    'providers': 'sheet',
    'rank_groups': 'estimate',
    'refine_words': 'plugin',
    'roles': 'sheet',
    'timelines': 'timeline',
    'typed_values': 'sheet',
    'value_text': 'job',
}
# The program is built on the public headers and on `base`. What it reaches inside for stands here and
# nowhere else, until the library has a door for it; the list may only shrink.
REACHES = {
    'estimate/compare.h',
    'estimate/compare_providers.h',
    'estimate/found_plan.h',
    'estimate/messages.h',
    'estimate/report.h',
    'estimate/traffic.h',
    'export/xlsx.h',
    'launch/import/import.h',
    'job/files.h',
    'job/sections.h',
    'plugin/kit/probe_process.h',
    'plugin/kit/kit.h',
    'plugin/kit/manifest.h',
    'plugin/kit/new.h',
    'plugin/module.h',
    'plugin/refine_parse.h',
    'schedule/perfetto.h',
    'search/guided.h',
    'search/guided/guided_module.h',
    'search/mpi_module.h',
    'search/processes.h',
    'search/scale.h',
    'search/search_state.h',
    'search/space_file.h',
    'sweep/plot.h',
    'sweep/space.h',
    'sweep/sweep.h',
    'timeline/nic.h',
    'timeline/schedule_choice.h',
    'timeline/timeline.h',
    'timeline/timeline_request.h',
}
# Tools, and what they include of the library's own all the same; the list may only shrink.
TOOLS = ['trace', 'record', 'launch', 'fit', 'workload', 'lsp']
TOOL_REACHES = set()
# A plugin owns the fit of its constants.
FITS = ['operator-times/fit', 'nccl-whitebox/fit', 'kernel-times/fit', 'overlap-xgboost/fit']
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
# Objects of the library, the command line, the tools and the programs.
OBJECTS = re.compile(r'steptime(-(core|command|trace|record|fit|launch|workload|lsp))?(\.a)?\.p/')
# Functions of the C library that the command line replaces.
REPLACED = {'_exit', 'daemon'}
MOST_CIRCLES = 3
# A file that is part of a circle says so: "Circle: with base/b, base/c, because ..."
REASON = re.compile(r'Circle: with ([\w-]+(?:/\w+)+(?:,[\s*]*(?:and )?[\w-]+(?:/\w+)+)*)')


# Where includes are looked for, in this order, from the root; what a module is called is its path below.
PREFIXES = ('estimator/core/', 'estimator/plan/', 'estimator/tools/', 'estimator/', 'plugins/')


def short(path):
    """A file as includes write it."""
    prefix = next((prefix for prefix in PREFIXES if path.startswith(prefix)), '')
    return path[len(prefix):]


def modules_of(root):
    """In order: the library's as they are built, those of each tool, the program's, the page's."""
    text = open(os.path.join(root, 'estimator/meson.build'), encoding='utf-8').read()
    built = [short('estimator/' + name)
             for name in re.findall(r"^\s*subdir\('([\w/]+)'\)", text, re.M)]
    built.remove('cli')
    built.remove('page')
    modules = [name for name in built if tool_of(name) is None] + ['command']
    for tool in TOOLS:
        modules += [name for name in built if tool_of(name) == tool]
        modules += FITS if tool == 'fit' else []
        modules.append(tool + '/cli')
    return [*modules, 'cli', 'page']


def tool_of(file):
    """The tool that a file or module belongs to, None for those of the library and the program."""
    if file in FITS or os.path.dirname(file) in FITS:
        return 'fit'
    tool = file.split('/')[0]
    return tool if tool in TOOLS else None


def links_of(root):
    """The tools whose libraries each tool links."""
    text = open(os.path.join(root, 'estimator/meson.build'), encoding='utf-8').read()
    found = {name: re.findall(r'\w+', others)
             for name, others in re.findall(r"'(\w+)': \[\w+_sources, \[([^\]]*)\]\]", text)}
    assert sorted(found) == sorted(TOOLS), found
    return found


def sources_of(root):
    """Files as includes write them, and where they are."""
    found = {}
    for folder in ('estimator', *('plugins/' + name for name in FITS)):
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(('.c', '.h')):
                    path = os.path.relpath(os.path.join(at, name), root)
                    found[short(path)] = path
    return found


def target_of(written, files):
    """The file that an include means, or None."""
    return next((name for name in ('include/' + written, written) if name in files), None)


def module_of(file, modules):
    if file.startswith('include/'):
        table = TOOL if file.startswith('include/steptime/tool/') else PUBLIC
        return table.get(os.path.basename(file)[:-2])
    folder = os.path.dirname(file)
    return folder if folder in modules else None


def circles_of(needs):
    """Sets of names that need one another."""
    def reach(start):
        seen, open_names = set(), [start]
        while open_names:
            for name in needs[open_names.pop()]:
                if name not in seen:
                    seen.add(name)
                    open_names.append(name)
        return seen

    reached = {name: reach(name) for name in list(needs)}
    found = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in reached}
    return sorted(sorted(circle) for circle in found if len(circle) > 1)


def objects_of(root, build):
    """Sources of estimator/ and their objects."""
    commands = json.load(open(os.path.join(build, 'compile_commands.json'), encoding='utf-8'))
    folder = os.path.realpath(root) + os.sep
    found = {}
    for command in commands:
        file = os.path.realpath(os.path.join(command['directory'], command['file']))
        if file.startswith(folder) and OBJECTS.search(command['output']):
            found[short(file[len(folder):])] = os.path.join(build, command['output'])
    return found


def calls_of(objects):
    """The sources whose functions or data each source needs."""
    defined, needed = {}, collections.defaultdict(set)
    for source, path in objects.items():
        table = subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout
        for line in table.splitlines():
            kind, name = line.split()[-2:]
            if name in REPLACED:
                continue
            if kind == 'U':
                needed[source].add(name)
            elif kind.isupper():
                defined[name] = source
    return {source: {defined[name] for name in names if name in defined} - {source}
            for source, names in needed.items()}


def include_faults(root, files, modules):
    for file in sorted(files):
        text = open(os.path.join(root, files[file]), encoding='utf-8').read()
        own = module_of(file, modules)
        if own is None:
            yield f'{files[file]}: belongs to no module'
            continue
        for match in INCLUDE.finditer(text):
            line = text.count('\n', 0, match.start()) + 1
            place = f'{files[file]}:{line}'
            written = match.group(2)
            if '..' in written.split('/'):
                yield f'{place}: an include that leaves its folder: {written}'
            target = target_of(written, files)
            if target is None or file == 'include/steptime/steptime.h':
                continue
            other = module_of(target, modules)
            if other is None:
                yield f'{place}: {written} belongs to no module'
            elif modules.index(other) > modules.index(own):
                yield f'{place}: {own} includes {written}, of {other} above it'


def call_faults(root, files, modules, calls):
    reasons = {}
    for file in files:
        text = open(os.path.join(root, files[file]), encoding='utf-8').read()
        named = re.findall(r'[\w-]+(?:/\w+)+', ' '.join(REASON.findall(text)))
        reasons.setdefault(os.path.splitext(file)[0], set()).update(named)
    needs = collections.defaultdict(set)
    for source in sorted(calls):
        own = module_of(source, modules)
        if own is None: # the model of a plugin, which its fit tries
            continue
        for target in sorted(calls[source]):
            other = module_of(target, modules)
            if other is None:
                continue
            if other == own:
                needs[source].add(target)
            elif modules.index(other) > modules.index(own):
                yield f'{files[source]}: {own} calls {target}, of {other} above it'
    circles = circles_of(needs)
    if len(circles) > MOST_CIRCLES:
        yield f'{len(circles)} circles of files, at most {MOST_CIRCLES}'
    told = set()
    for circle in circles:
        names = {os.path.splitext(source)[0] for source in circle}
        telling = {name for name in names if names <= reasons[name] | {name}}
        told |= telling
        if not telling:
            yield 'a circle of files without a reason: ' + ', '.join(circle)
    for name in sorted(name for name, others in reasons.items() if others and name not in told):
        yield f'{name}: a reason for a circle that does not exist'


def tool_faults(root, files):
    links = links_of(root)
    used = set()
    for file in sorted(files):
        tool = tool_of(file)
        text = open(os.path.join(root, files[file]), encoding='utf-8').read() if tool else ''
        for match in INCLUDE.finditer(text):
            written = match.group(2)
            target = target_of(written, files)
            if target is None or target.startswith(('include/', 'base/')):
                continue
            other = tool_of(target)
            allowed = other == tool or other in links[tool] or (
                target.startswith('command/') and file.startswith(tool + '/cli/'))
            if not allowed and target in TOOL_REACHES:
                used.add(target)
            elif not allowed:
                yield f'{files[file]}: {tool} includes {written}, which is not for tools'
    for name in sorted(TOOL_REACHES - used):
        yield f'tests/includes.py: no tool reaches for {name} any longer'


def reach_faults(root, files):
    used = set()
    for file in sorted(files):
        if not file.startswith('cli/'):
            continue
        text = open(os.path.join(root, files[file]), encoding='utf-8').read()
        written = {match.group(2) for match in INCLUDE.finditer(text) if match.group(1) == '"'}
        inside = {name for name in written
                  if not name.startswith(('cli/', 'base/', 'command/', 'steptime/'))}
        used |= inside
        for name in sorted(inside - REACHES):
            yield f'{files[file]}: cli includes {name}, which is no public header'
    for name in sorted(REACHES - used):
        yield f'tests/includes.py: cli reaches for {name} no longer'


def header_faults(files):
    headers = collections.defaultdict(list)
    for file in sorted(files):
        public_of = PUBLIC.get(os.path.basename(file)[:-2], '') if file.startswith('include/') else ''
        if file.endswith('.h') and not public_of.endswith('/cli'):
            headers[os.path.basename(file)].append(file)
    for same in headers.values():
        if len(same) > 1 and not same[0].endswith('/verbs.h'): # a program's own
            yield f'headers of one name: {", ".join(same)}'


def main():
    root, build = sys.argv[1:]
    modules = modules_of(root)
    files = sources_of(root)
    faults = [*include_faults(root, files, modules), *header_faults(files),
              *tool_faults(root, files), *reach_faults(root, files),
              *call_faults(root, files, modules, calls_of(objects_of(root, build)))]
    print('\n'.join(faults), end='\n' if faults else '')


main()

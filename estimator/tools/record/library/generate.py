#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes of calls.txt what the libraries are built from: generate.py CALLS TABLES FOLDER.

Writes record_entries.c (the table st_entries), record_handlers.h (their prototypes),
record_trampolines.S (a function of each name), record_tables.h (of tables.txt) and record.map (what is exported); and profile_entries.c,
profile_trampolines.S and profile.map, the same with NCCL and products alone. An error in the table
 * is reported with its line.
"""
import copy
import pathlib
import re
import sys

LIBRARIES = 'cudart cuda cublas cublasLt cudnn nccl nvml'.split()
SPARES = 64  # for names that cudaGetDriverEntryPoint asks for and the table lacks
TAKES = {'S': 'OBJECT_STREAM', 'T': 'TAKE_CREATED_STREAM', 'E': 'OBJECT_EVENT', 'G': 'OBJECT_GRAPH', 'X': 'OBJECT_EXECUTABLE',
         'M': 'OBJECT_MODULE', 'F': 'OBJECT_FUNCTION', 'B': 'OBJECT_BLAS', 'C': 'OBJECT_COMM', 'P': 'OBJECT_PHYSICAL',
         'O': 'TAKE_DEVICE', 'N': 'TAKE_POINTER'}
MOST_TAKES = 3
HEAD = '/* SPDX-License-Identifier: Apache-2.0 */\n/* Made of calls.txt by generate.py. */\n'


class Line:
    def __init__(self, words):
        self.library, self.name = words[0], words[1]
        self.handler = words[2] if len(words) > 2 else None
        self.kinds = words[3] if len(words) > 3 and words[3] != '-' else ''
        self.constant = int(words[4]) if len(words) > 4 else 0
        self.quiet = len(words) > 5
        self.per_thread = False


def fail(file, number, what):
    sys.exit(f'{file}:{number}: {what}')


def read(file):
    lines = {}
    for number, text in enumerate(open(file, encoding='utf-8'), 1):
        words = text.split('#')[0].split()
        if not words:
            continue
        if len(words) < 2 or len(words) > 6 or words[0] not in LIBRARIES:
            fail(file, number, f'expected LIBRARY NAME [HANDLER [KINDS [CONSTANT [quiet]]]], found {text!r}')
        if not re.fullmatch(r'\w+', words[1]) or words[1] in lines:
            fail(file, number, f'{words[1]} is not a name, or a duplicate')
        letters = words[3].replace('.', '') if len(words) > 3 and words[3] != '-' else ''
        taken = [letter for letter in letters if letter.isupper()]
        small = [letter for letter in letters if letter.islower()]
        if len(taken) + len(small) < len(letters):
            fail(file, number, f'kinds are letters and dots, or -, found {words[3]}')
        if len(set(small)) < len(small):
            fail(file, number, f'duplicate letter in {words[3]}')
        if len(taken) > MOST_TAKES or set(taken) - TAKES.keys():
            fail(file, number, f'expected at most {MOST_TAKES} of {"".join(TAKES)}, found {words[3]}')
        if len(words) > 5 and words[5] != 'quiet':
            fail(file, number, f'expected quiet, found {words[5]}')
        lines[words[1]] = Line(words)
    return lines


def inherit(lines):
    """NAME_ptsz does what NAME does."""
    for name, line in lines.items():
        base = lines.get(re.sub(r'_pts[z]$|_ptds$', '', name))
        if name.endswith(('_ptsz', '_ptds')) and base is not None:
            line.handler = line.handler or base.handler
            line.kinds, line.constant, line.quiet = base.kinds, base.constant, base.quiet
            line.per_thread = True


def entries(lines):
    yield HEAD + '#include "record/library/handlers.h"\n#include "record/library/objects.h"\n\n'
    for line in lines:
        yield f'void {line.name}(void);\n'
    for i in range(SPARES):
        yield f'void st_spare_{i}(void);\n'
    yield '\nconst st_entry st_entries[] = {\n'
    for line in lines:
        kinds = list(enumerate(line.kinds, 1))
        small = {letter: at for at, letter in kinds if letter.islower()}
        for at, letter in kinds:
            if letter.isupper():
                small.setdefault(letter.lower(), at)
        places = ', '.join(f"['{letter}' - 'a'] = {at}" for letter, at in small.items())
        cudnn = line.library == 'cudnn'
        takes = ', '.join('{ST_' + ('OBJECT_CUDNN' if cudnn and letter == 'B' else TAKES[letter]) + f', {at}}}'
                          for at, letter in kinds if letter.isupper())
        handler = f'st_do_{line.handler}' if line.handler else 'NULL'
        yield (f'    {{"{line.name}", {line.name}, {handler}, ST_{line.library.upper()}, '
               f'{str(line.quiet).lower()}, {str(line.per_thread).lower()}, {line.constant}, '
               f'{{{takes or "{0}"}}}, {{{places or 0}}}}},\n')
    for i in range(SPARES):
        yield f'    {{st_spare_names[{i}], st_spare_{i}, NULL, ST_CUDA, false, false, 0, {{{{0}}}}, {{0}}}},\n'
    yield '};\n'
    yield f'const uint32_t st_entry_count = {len(lines) + SPARES};\n'


def handlers(lines):
    yield HEAD + '#ifndef STEPTIME_RECORD_HANDLERS_H\n#define STEPTIME_RECORD_HANDLERS_H\n\n'
    yield '#include "record/library/entry.h"\n\n'
    for name in sorted({line.handler for line in lines if line.handler}):
        yield f'uint64_t st_do_{name}(st_call *call);\n'
    yield f'enum {{ ST_SPARES = {SPARES}, ST_SPARE_BYTES = 96 }};\n'
    yield 'extern char st_spare_names[ST_SPARES][ST_SPARE_BYTES];\n'
    yield '\n#endif\n'


# The words in registers lie in a row on the stack, those on the stack behind the return address.
ENTER = '''    .text
    .type st_enter, @function
st_enter:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $48, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movl %eax, %edi
    movq %rsp, %rsi
    leaq 16(%rbp), %rdx
    call st_dispatch
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size st_enter, . - st_enter
'''


def trampolines(lines):
    yield HEAD + ENTER
    names = [line.name for line in lines] + [f'st_spare_{i}' for i in range(SPARES)]
    for index, name in enumerate(names):
        if name.startswith('st_spare'):
            yield f'    .hidden {name}\n'
        yield (f'    .globl {name}\n    .type {name}, @function\n{name}:\n    endbr64\n'
               f'    movl ${index}, %eax\n    jmp st_enter\n    .size {name}, . - {name}\n')
    yield '    .section .note.GNU-stack,"",@progbits\n'


def exports(lines):
    yield '{\n    global:\n'
    for line in lines:
        yield f'        {line.name};\n'
    yield '    local: *;\n};\n'


def tables(file):
    """Rows of arrays, a macro each."""
    rows = {'limit': [], 'fact': [], 'error': [], 'operation': []}
    names = ['constant']
    for number, text in enumerate(open(file, encoding='utf-8'), 1):
        words = text.split('#')[0].split()
        if not words:
            continue
        kind, values = words[0], words[1:]
        if kind not in rows:
            fail(file, number, f'expected one of {", ".join(rows)}, found {kind}')
        if kind == 'error':
            rows[kind].append(f'{{{values[0]}, {{"{values[1]}", "{" ".join(values[2:])}"}}}}')
        elif kind == 'operation':
            rows[kind].append(f'[{values[0]}] = "{values[1]}"')
        elif kind == 'fact' and not values[4].isdigit():
            if values[4] not in names:
                names.append(values[4])
            rows[kind].append('{' + ', '.join(values[:4]) + f', ST_FACT_{values[4].upper()}, 0}}')
        else:
            rows[kind].append('{' + ', '.join(values[:4] + ['0'] * (kind == 'fact') + values[4:]) + '}')
    yield HEAD
    yield 'enum { ' + ', '.join(f'ST_FACT_{name.upper()}' for name in names) + ' };\n'
    for kind, made in rows.items():
        yield f'#define ST_TABLE_{kind.upper()}S ' + ', '.join(made) + '\n'


def main():
    found = read(sys.argv[1])
    inherit(found)
    lines = sorted(found.values(), key=lambda line: line.name.encode())
    nccl = [line for line in lines if line.library == 'nccl']
    products = [copy.copy(line) for line in lines if line.handler in ('gemm', 'lt_matmul')]
    for line in products:
        line.quiet = True  # CUPTI has what they launch
        line.kinds = re.sub('[A-Z]', '.', line.kinds)  # handles are the real library's
    profiled = sorted([*nccl, *products], key=lambda line: line.name.encode())
    folder = pathlib.Path(sys.argv[3])
    (folder / 'record_tables.h').write_text(''.join(tables(sys.argv[2])), encoding='utf-8')
    for file, part, of in (('record_entries.c', entries, lines), ('record_handlers.h', handlers, lines),
                           ('record_trampolines.S', trampolines, lines), ('record.map', exports, [*lines, Line(['nvml', 'InitializeInjectionNvtx2']), *(Line(['nvml', name]) for name in ('_exit', 'bind'))]),
                           ('profile_entries.c', entries, profiled), ('profile_trampolines.S', trampolines, profiled),
                           ('profile.map', exports, [*profiled, Line(['nccl', 'InitializeInjection'])])):
        (folder / file).write_text(''.join(part(of)), encoding='utf-8')


main()

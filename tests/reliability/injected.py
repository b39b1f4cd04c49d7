# SPDX-License-Identifier: Apache-2.0
"""Failures that faults.c injects: their kinds, where they strike, and what comes of them as TAP."""
import sys

KINDS = ['memory', 'open', 'read', 'write', 'sync', 'name', 'process', 'library']
MOST_SHOWN = 12


def places(total, most):
    """The calls that fail in turn, of so many: all, or at most so many, drawn evenly."""
    if most is None or total <= most:
        return range(1, total + 1)
    return sorted({1 + i * total // most for i in range(most)})


class Verdicts:
    def __init__(self):
        self.number = self.failed = self.total = 0

    def give(self, name, injected, known, faults):
        """One case: numbers of failures by kind, those known and not steptime's to mend, and what was found."""
        self.number += 1
        self.failed += bool(faults)
        self.total += sum(injected.values())
        kinds = ', '.join(f'{count} {kind}' for kind, count in injected.items())
        print(f'{"not ok" if faults else "ok"} {self.number} - {name}: {sum(injected.values())} failures ({kinds}), {known} known')
        for fault in faults[:MOST_SHOWN]:
            print('# ' + fault.replace('\n', '\n# '))
        if len(faults) > MOST_SHOWN:
            print(f'# and {len(faults) - MOST_SHOWN} more')
        sys.stdout.flush()

    def end(self):
        """The plan; the exit status."""
        print(f'# {self.total} failures injected')
        print(f'1..{self.number}')
        return 1 if self.failed else 0

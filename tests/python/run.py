#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the Python package by pytest and prints TAP, which tests/tally.py counts: run.py [PYTEST'S ARGUMENTS]"""
import pathlib
import sys

try:
    import pytest
except ImportError:
    print('1..1\nok 1 - the Python package # SKIP pytest (python3-pytest) is not installed')
    sys.exit(0)


class Tap:
    """Collects outcomes; a test that fails while it is set up or torn down has failed."""

    def __init__(self):
        self.outcomes = {}
        self.faults = []

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = ('failed', str(report.longrepr))

    def pytest_runtest_logreport(self, report):
        if report.when != 'call' and not (report.failed or report.skipped):
            return
        text = ''
        if report.skipped:
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        elif report.failed:
            self.faults.append(f'{report.nodeid}:\n{report.longreprtext}')
        self.outcomes[report.nodeid] = (report.outcome, text)


def main():
    tap = Tap()
    folder = pathlib.Path(__file__).parent
    status = pytest.main(['-q', '-p', 'no:cacheprovider', '--no-header', '-rN', '--tb=short', '-W', 'error::steptime.SteptimeWarning',
                          *(sys.argv[1:] or [str(folder)])], plugins=[tap])
    print(f'\n1..{max(1, len(tap.outcomes))}')
    for number, (name, (outcome, text)) in enumerate(tap.outcomes.items(), 1):
        line = f'{"not ok" if outcome == "failed" else "ok"} {number} - {name.split("tests/python/")[-1]}'
        print(line + (f' # SKIP {text.removeprefix("Skipped: ")}' if outcome == 'skipped' else ''))
    if not tap.outcomes:
        print('not ok 1 - no test was found')
    print('\n'.join(tap.faults), file=sys.stderr)
    return int(status)


sys.exit(main())

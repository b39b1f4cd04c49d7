# SPDX-License-Identifier: Apache-2.0
"""Tables of what releases of a framework accept: configs/launches/*.yaml."""
import re

TYPES = ('flag', 'int', 'float', 'text', 'list')


def order(release):
    return [int(part) for part in release.split('.')]


class Table:
    def __init__(self, releases, options):
        self.releases, self.options = releases, options

    def accepts(self, option, value, release):
        row = self.options.get(option)
        if row is None:
            return False
        kind, *bounds = row.split('; ')
        for bound in bounds:
            word, limit = bound.split(' ')
            if (order(release) < order(limit)) if word == 'since' else (order(release) > order(limit)):
                return False
        if kind.endswith(' null'):
            if value in (['null'], ['None']):
                return True
            kind = kind.removesuffix(' null')
        if kind in TYPES:
            return {'flag': not value or value[0].lower() in ('true', 'false'),
                    'int': len(value) == 1 and re.fullmatch(r'-?\d+', value[0]) is not None,
                    'float': len(value) == 1 and re.fullmatch(r'-?[\d.]+(e[+-]?\d+)?', value[0]) is not None,
                    'text': len(value) == 1, 'list': len(value) > 0}[kind]
        words = dict((word.split('@') + [None])[:2] for word in kind.removeprefix('list of ').split(' '))
        return bool(value) and all(word in words and (words[word] is None or order(release) >= order(words[word]))
                                   for word in value)


def read(path):
    text = open(path, encoding='utf-8').read()
    releases = re.findall(r'"([\d.]+)"', re.search(r'^releases: (.*)$', text, re.M)[1])
    return Table(releases, dict(re.findall(r'^  ([\w.-]+): (.*)$', text.split('\noptions:\n')[1], re.M)))

# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: tables, bars, explanations that fold."""
from __future__ import annotations

from html import escape

_ROWS = 50
_NODES = 600
_NUMBER = ' style="text-align:right;font-variant-numeric:tabular-nums"'


def _table(head: list[str], rows: list[list[str]], right: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    cells = "".join(f"<th>{one}</th>" for one in head)
    lines = [f"<tr>{''.join(f'<td{_NUMBER if i in right else str()}>{one}</td>' for i, one in enumerate(row))}</tr>" for row in rows]
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def cell_html(cell) -> str:
    return _table(["cell", "value", "meaning", "formula", "source"],
                  [[f"<code>{escape(cell.name)}</code>", escape(cell.text or "no value"), escape(cell.doc),
                    f"<code>{escape(cell.formula)}</code>", escape(cell.cite)]], {1})


def table_html(table) -> str:
    from ._table import _shown
    units = table.units
    head = [escape(name) + (f"<br><small>{escape(units[name])}</small>" if units[name] else "") for name in table.columns]
    rows = [[escape(_shown(value)) for value in table.row(i).values()] for i in range(min(_ROWS, len(table)))]
    right = {i for i, name in enumerate(table.columns) if table[name].kind != "text"}
    more = f"<p><small>{len(table)} rows" + (f", the first {_ROWS} shown" if len(table) > _ROWS else "") + "</small></p>"
    return _table(head, rows, right) + more


def search_html(search) -> str:
    head = f"<p>{search.passed} of {search.computed} plans pass all checks</p>"
    if search.plans:
        return head + table_html(search.table)
    return head + _table(["plans", "why not"], [[str(count), escape(text)] for text, count in
                                                sorted(search.reasons.items(), key=lambda one: -one[1])[:10]], {0})


def report_html(report) -> str:
    data = report.data
    sections: dict[str, list[list[str]]] = {}
    for one in data.get("cells", []):
        sections.setdefault(one.get("section") or "", []).append(
            [f"<code>{escape(one['name'])}</code>", escape(str(one.get("text", one.get("value")))), escape(one.get("unit") or ""),
             escape(one.get("doc") or "")])
    tables = "".join(f"<h4>{escape(title)}</h4>" + _table(["cell", "value", "unit", "meaning"], rows, {1})
                     for title, rows in sections.items())
    lines = report.text.split("\n\n", 1)[0]
    return (f"<pre>{escape(lines)}</pre>{report.svg}<details><summary>all numbers</summary>{tables}</details>"
            f"<details><summary>the report as text</summary><pre>{escape(report.text)}</pre></details>")


def explanation_html(explanation) -> str:
    root = explanation.data["explanation"]
    return _node(root, 0, _depth(root))


def _depth(root: dict) -> int:
    """How deep a tree of at most _NODES goes."""
    depth, count, level = 0, 0, [root]
    while level and count + len(level) <= _NODES:
        count += len(level)
        depth += 1
        level = [one for node in level for one in node.get("operands", [])]
    return max(1, depth)


def _node(node: dict, depth: int, most: int) -> str:
    value = node.get("value")
    shown = f"{value:.4g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
    unit = node.get("unit") or ""
    head = (f"<code>{escape(str(node.get('name') or node.get('kind')))}</code> = <b>{escape(shown)}</b> "
            f"{escape(unit if unit != '1' else '')} <small>{escape(node.get('doc') or '')}</small>")
    lines = []
    if node.get("formula"):
        lines.append(f"<div><code>{escape(node['formula'])}</code></div>")
    if node.get("numbers"):
        lines.append(f"<div>= <code>{escape(node['numbers'])}</code></div>")
    source = " · ".join(str(node[key]) for key in ("key", "cite", "place") if node.get(key))
    if source:
        lines.append(f"<div><small>{escape(source)}</small></div>")
    below = node.get("operands", [])
    if below and depth + 1 >= most:
        lines.append(f"<div><small>{len(below)} more below: explain {escape(str(node.get('name') or 'it'))}</small></div>")
        below = []
    inner = "".join(lines) + "".join(_node(one, depth + 1, most) for one in below)
    style = ' style="margin-left:1.2em"'
    return f"<details{style}{' open' if depth == 0 else ''}><summary>{head}</summary>{inner}</details>"

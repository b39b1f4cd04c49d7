# SPDX-License-Identifier: Apache-2.0
"""Sweeps and searches: many estimates at once."""
from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import not_

from . import _library
from ._errors import Error
from ._job import Job, Quantity, _restore, _Unit, refine_words, refinements, value_text
from ._library import NULL, Errors, Texts, begin, encode, ffi, lib, plugin_roots, refuse_in_provider, text_of
from ._table import Column, Table, column_of, text_column

_PIECE = 1 << 12  # rows that a thread computes at once
_SAID = 100  # rows that a provider rejects and that say with which numbers


class _Request:
    """A job as grids and searches take it, with all that it points to."""

    def __init__(self, job: Job | str, cells: Sequence[str], where: Iterable[str] | str, keys: Mapping[str, object] | None = None,
                 left_out: Iterable[str] = ()) -> None:
        if isinstance(job, str):
            job = Job(job)
        self.job = job
        self.errors = Errors(job._providers)
        begin(self.errors)
        sets = {**job._keys, **{key: value_text(value) for key, value in (keys or {}).items()}}
        self.sets = Texts([f"{key}={text}" for key, text in sets.items() if key not in set(left_out)], "a key")
        self.refine = Texts(refine_words(job._refine))
        self.where = Texts([where] if isinstance(where, str) else list(where), "a condition")
        self.cells = Texts([cells] if isinstance(cells, str) else list(cells), "a cell")
        self.kept = [ffi.new("char[]", encode(job.name)) if job.name is not None else NULL,
                     ffi.new("char[]", encode(job._sheet)) if job._sheet is not None else NULL]
        self.paths, self.arena = open_paths(job._path, self.errors)

    def fill(self, to) -> None:
        to.job, to.sheet = self.kept
        to.sets, to.set_count = self.sets.array, self.sets.count
        to.refine, to.refine_count = self.refine.array, self.refine.count
        to.conditions, to.condition_count = self.where.array, self.where.count
        to.cells, to.cell_count = self.cells.array, self.cells.count


def open_paths(folders: Sequence[str], errors: Errors):
    """The search path, and an arena for what is read along it."""
    made, texts = ffi.new("st_paths **"), Texts([*folders, *plugin_roots()], "a folder")
    errors.settle(lib.st_paths_create(texts.array, texts.count, made, errors.list), "the search path", 4)
    arena = lib.st_arena_create()
    if not arena:
        raise MemoryError("steptime: out of memory")
    return ffi.gc(made[0], lib.st_paths_destroy), ffi.gc(arena, lib.st_arena_destroy)


def _axis(key: str, values: object) -> str:
    """An axis as --over takes it: a list, or a text with ranges such as "1..64*2"."""
    if isinstance(values, str):
        return f"{key}={values}"
    if not isinstance(values, Iterable):
        values = [values]
    texts = [value_text(one) for one in values]
    if not texts:
        raise ValueError(f"{key} has no values")
    for text in texts:
        if "," in text or ".." in text:
            raise ValueError(f"a value of {key} contains ',' or '..': {text!r}")
    return f"{key}={','.join(texts)}"


def sweep(job: Job | str, over: Mapping[str, object], *, cells: Sequence[str] = (), where: Iterable[str] | str = (),
          zip: bool = False, sample: int = 0, seed: int = 0, threads: int = 0) -> Table:
    """Estimates of a job for every combination of values, the last key fastest: a Table with a row for each.

        table = st.sweep(job, {"parallel.tp": [1, 2, 4], "batch.micro": "1..8*2"}, cells=["T_iter", "mfu"])
        table.to_pandas()

    Each key is a column, in base units, and so is each cell (the main ones of the sheet where none is named). `ok` is False
    where a check fails or a cell has no value, and `reason` says why: "not: fits - the plan does not fit"; cells are then NaN or
    what they would be. Of the first rows that a provider in Python rejects, it says with which numbers. `where` are conditions in
    the language of sheets, `zip` advances all keys together, `sample` draws that many rows evenly. `threads`: 0 for every core.
    """
    refuse_in_provider("steptime.sweep")
    if not isinstance(over, Mapping):
        raise TypeError(f"a sweep goes over a map from keys to values such as {{'batch.micro': [1, 2]}}, not {over!r}")
    request = _Request(job, cells, where, left_out=over)
    _count(threads, "threads")
    axes = Texts([_axis(key, values) for key, values in over.items()], "an axis")
    asked = ffi.new("st_grid_request *", {"axes": axes.array, "axis_count": axes.count, "zip": zip, "sample": _count(sample, "sample"), "seed": _count(seed, "seed")})
    request.fill(asked.job)
    grid_out = ffi.new("st_grid **")
    request.errors.settle(lib.st_grid_open(request.paths, asked, request.arena, grid_out, request.errors.list), "the sweep")
    grid = grid_out[0]
    rows = lib.st_grid_row_count(grid)
    columns = [_axis_column(grid, axis, rows) for axis in range(lib.st_grid_axis_count(grid))]
    found = [_cell_column(grid, cell, rows) for cell in range(lib.st_grid_cell_count(grid))]
    count = lib.st_grid_reason_count(grid)
    reasons = Column.empty("reason", "text", rows, "", "why a row has no result",
                           [text_of(lib.st_grid_reason_text(grid, i)) for i in range(count)])
    _compute(grid, rows, found, reasons, threads)
    passes = Column.empty("ok", "bool", rows, "", "whether the row passes all checks and has a result")
    ffi.memmove(passes.pointer, bytes(map(not_, reasons.buffer())), rows)
    request.errors.settle(0, "the sweep")  # what a provider raised
    if request.job._providers:
        _say_numbers(request.job, columns, reasons)
    return Table([*columns, *[_worded(grid, cell, one) for cell, one in enumerate(found)], passes, reasons])


def _say_numbers(job: Job, axes: list[Column], reasons: Column) -> None:
    """The first rows that a provider in Python rejects say what it was given and what it returned: they are estimated alone."""
    rejected = [one for one, text in enumerate(reasons.values)
                if any(text == f"plugin {own.plugin_id} has no usable value of {own.name}" for own in job._providers)]  # type: ignore[attr-defined]
    if not rejected:
        return
    rows = [row for row, reason in enumerate(reasons.buffer()) if reason in rejected]
    single = job.copy()
    places: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows[:_SAID]:
            single._errors.rejected = ""
            try:
                single.update({one.name: Quantity._of_base(one[row], one.unit) if one.unit else one[row] for one in axes})
                single.step_time
            except Error:
                pass
            if single._errors.rejected:
                text = f"{reasons[row]}: {single._errors.rejected}"
                reasons.pointer[row] = places.setdefault(text, len(reasons.values) + len(places))
    reasons.values += places


def _axis_column(grid, axis: int, rows: int) -> Column:
    key = text_of(lib.st_grid_axis_key(grid, axis))
    kind = lib.st_grid_axis_type(grid, axis)
    described = lib.st_key_find(encode(key))
    doc = text_of(described.doc) if described else ""
    number = kind and kind.kind == lib.ST_TYPE_NUMBER
    whole = number and described and described.kind == lib.ST_KEY_COUNT
    if whole or number:
        unit = _Unit.of(ffi.string(kind.unit.text).decode()).base
        made = Column.empty(key, "int64" if whole else "float64", rows, "" if unit == "1" else unit, doc)
        status = lib.st_grid_axis_read(grid, axis, 0, rows,
                                       ffi.new("st_axis_columns *", {"counts" if whole else "numbers": made.pointer}))
    else:
        text = ffi.new("char[4096]")
        values = [text_of(lib.st_grid_axis_value_text(grid, axis, i, text, 4096))
                  for i in range(lib.st_grid_axis_value_count(grid, axis))]
        made = Column.empty(key, "text", rows, "", doc, values)
        status = lib.st_grid_axis_read(grid, axis, 0, rows, ffi.new("st_axis_columns *", {"places": made.pointer}))
        if described and described.kind == lib.ST_KEY_BOOL:
            texts, made = made, Column.empty(key, "bool", rows, "", doc)
            ffi.memmove(made.pointer, bytes(values[place] == "true" for place in texts.buffer()), rows)
    if status:
        raise RuntimeError(f"axis {key} cannot be read: status {status}")
    return made


def _cell_column(grid, cell: int, rows: int) -> Column:
    kind = lib.st_grid_cell_type(grid, cell)
    unit = _Unit.of(ffi.string(kind.unit.text).decode()).base if kind.kind == lib.ST_TYPE_NUMBER else ""
    return Column.empty(text_of(lib.st_grid_cell_name(grid, cell)), "float64", rows, unit)


def _worded(grid, cell: int, column: Column) -> Column:
    """A cell of truth values or words as such; one without a value is missing."""
    kind = lib.st_grid_cell_type(grid, cell)
    if kind.kind == lib.ST_TYPE_NUMBER:
        return column
    if kind.kind == lib.ST_TYPE_BOOL:
        made = Column.empty(column.name, "bool", len(column))
        ffi.memmove(made.pointer, bytes(value == 1 for value in column.buffer()), len(column))
        if any(value != value for value in column.buffer()):
            made.missing = bytes(value != value for value in column.buffer())
        return made
    text = ffi.new("char[96]")

    def word(value: float) -> str:
        return text_of(lib.st_type_format(kind, value, lib.ST_STYLE_EXACT, text, 96))
    words = {value: word(value) for value in {*column.buffer()} if value == value}
    return text_column(column.name, [words.get(value) for value in column.buffer()])


def _compute(grid, rows: int, cells: list[Column], reasons: Column, threads: int) -> None:
    """All rows, in pieces, by several threads: the library is called without Python's lock."""
    from itertools import count
    from threading import Lock
    pieces = count(0, _PIECE)
    lock = Lock()
    failures: list[str] = []

    def work() -> None:
        reader = lib.st_grid_reader_create(grid)
        if not reader:
            failures.append("out of memory")
            return
        try:
            while not failures:
                with lock:
                    first = next(pieces)
                if first >= rows:
                    return
                pointers = ffi.new("double *[]", [one.pointer + first for one in cells] or [NULL])
                status = lib.st_grid_read(reader, first, min(_PIECE, rows - first), pointers, reasons.pointer + first)
                if status:
                    failures.append(f"rows from {first} on: status {status}")
        finally:
            lib.st_grid_reader_destroy(reader)

    number = threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads or os.cpu_count() or 1
    if number == 1 or rows <= _PIECE:
        work()
    else:
        _run(work, min(number, -(-rows // _PIECE)), failures)
    if failures:
        raise MemoryError("steptime: out of memory") if failures[0] == "out of memory" else RuntimeError(failures[0])


def _run(work, number: int, failures: list[str]) -> None:
    from threading import Thread
    workers = [Thread(target=work, daemon=True) for _ in range(number)]
    for one in workers:
        one.start()
    try:
        for one in workers:
            while one.is_alive():
                one.join(0.2)
    except BaseException:
        failures.append("interrupted")
        for one in workers:
            one.join()
        raise


# ---- searches --------------------------------------------------------------------------------------------------------------

class Plan:
    """A plan that a search found: `keys`, the `goal` by which it is ranked (a Quantity), `cells` that were asked for, by name."""

    __slots__ = ("keys", "goal", "cells", "_base")  # _base: the job as it was searched

    def __init__(self, keys: dict[str, str], goal: Quantity, cells: dict[str, float], base: tuple) -> None:
        self.keys = keys
        self.goal = goal
        self.cells = cells
        self._base = base

    @property
    def job(self) -> Job:
        """The job with this plan."""
        name, keys, *others = self._base
        return _restore(name, {**keys, **self.keys}, *others)

    def __repr__(self) -> str:
        return f"<Plan {self.goal}: {' '.join(f'{key}={value}' for key, value in self.keys.items())}>"


class Search(Sequence):
    """Plans of a search, the best first. `ranked_by` is the cell that ranks them. `total` plans there are, `computed` of them, `passed` all checks; `reasons` why others
    were rejected, by number; `gap` bounds by how much an uncomputed plan may be better, as a share of the best, NaN where unknown;
    `nearest` is the closest plan where none passed; `interrupted` after Ctrl-C."""

    def __init__(self, plans: list[Plan], best, nearest: Plan | None) -> None:
        self.plans = plans
        self.nearest = nearest
        self.ranked_by = text_of(best.goal)
        self.total, self.computed, self.passed = best.total, best.computed, best.passed
        self.gap = best.gap
        self.interrupted = bool(best.interrupted)
        self.reasons = {text_of(best.reasons[i].text): best.reasons[i].plans for i in range(best.reason_count)}

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, index):
        return self.plans[index]

    @property
    def best(self) -> Plan:
        if not self.plans:
            raise LookupError(f"none of {self.total} plans passes all checks; most fail: "
                              + "; ".join(sorted(self.reasons, key=lambda one: -self.reasons[one])[:3]))
        return self.plans[0]

    @property
    def table(self) -> Table:
        """A row for each plan: the goal, the cells that were asked for, and every key that differs somewhere."""
        from ._table import _parsed
        keys = dict.fromkeys(key for one in self.plans for key in one.keys)
        columns = [column_of(self.ranked_by, [float(one.goal) for one in self.plans], self.plans[0].goal.unit if self.plans else "")]
        for name in (self.plans[0].cells if self.plans else {}):
            columns.append(column_of(name, [one.cells[name] for one in self.plans]))
        for key in keys:
            texts = [one.keys.get(key, "") for one in self.plans]
            columns.append(column_of(key, [_parsed(text) if text else None for text in texts]))
        return Table(columns)

    def __repr__(self) -> str:
        head = f"{self.passed} of {self.computed} plans pass all checks"
        return "\n".join([head, *[repr(one) for one in self.plans[:10]]])

    def _repr_html_(self) -> str:
        from ._html import search_html
        return search_html(self)


_METHODS = ("exhaustive", "bound", "cmaes", "random", "evolution", "bayes")
_PRUNING = ("none", "proven", "declared")


def _count(number: int, what: str) -> int:
    if number < 0:
        raise ValueError(f"{what} is {number}, expected a number from 0")
    if number >= 1 << 64:
        raise ValueError(f"{what} is {number}, expected a number below 2^64")
    return number


def _choice(value: str, choices: Sequence[str], what: str) -> int:
    if value not in choices:
        raise ValueError(f"{what} is {value!r}, expected one of {', '.join(choices)}")
    return choices.index(value)


def search(job: Job | str, gpus: int | str | None = None, *, top: int = 10, minimise: str | None = None,
           maximise: str | None = None, cells: Sequence[str] = (), where: Iterable[str] | str = (), only: Sequence[str] = (),
           vary: Sequence[str] = (), method: str = "exhaustive", pruning: str = "none", sample: int = 0, seed: int = 0,
           trials: int = 0, threads: int = 0) -> Search:
    """Ranks the plans of a job for a number of GPUs: 64, "512" or "8..64*2"; None: as many as its plan takes.

        found = st.search(job, gpus=64)
        found.best.job.step_time

    `minimise` or `maximise` name another cell than the step time; `only` and `vary` are keys, or "KEY=VALUES", to vary alone or in
    addition; `method` is one of exhaustive, bound, cmaes, random, evolution, bayes, `pruning` none, proven or declared. Ctrl-C
    ends a search with what it has found. The result is the same for any number of `threads` (0: every core).
    """
    refuse_in_provider("steptime.search")
    request = _Request(job, cells, where)
    texts = [Texts(only, "a key"), Texts(vary, "a key")]
    names = [ffi.new("char[]", encode(str(one))) if one is not None else NULL for one in (gpus, minimise, maximise)]
    stopped: list[BaseException] = []

    def progress(_context, _done, _plans):
        return True  # signals are looked at on the way here

    def stop(kind, fault, _trace):
        stopped.append(fault if fault is not None else kind())
        return False

    watch = ffi.callback("bool(void *, uint64_t, uint64_t)", progress, error=False, onerror=stop)
    asked = ffi.new("st_best_request *", {
        "gpus": names[0], "minimise": names[1], "maximise": names[2], "only": texts[0].array, "only_count": texts[0].count,
        "varies": texts[1].array, "vary_count": texts[1].count, "top": _count(top, "top"), "sample": _count(sample, "sample"), "seed": _count(seed, "seed"),
        "method": _choice(method, _METHODS, "method"), "pruning": _choice(pruning, _PRUNING, "pruning"), "trials": _count(trials, "trials"),
        "threads": 1 if _library.forked else _count(threads, "threads"), "progress": watch})
    request.fill(asked.job)
    best = ffi.new("st_best *")
    request.errors.settle(lib.st_best_find(request.paths, asked, request.arena, best, request.errors.list), "the search")
    if stopped and not isinstance(stopped[0], KeyboardInterrupt):
        raise stopped[0]
    return _found(best, request, [cells] if isinstance(cells, str) else list(cells))


def _found(best, request: _Request, cells: list[str]) -> Search:
    unit = ffi.string(best.goal_type.unit.text).decode()
    job = request.job
    base = job.name, dict(job._keys), job._sheet, list(job._refine), job._check, list(job._path)

    def plan(one) -> Plan:
        keys = dict(text_of(one.sets[i]).split("=", 1) for i in range(one.set_count))
        return Plan(keys, Quantity._of_base(one.goal, unit), {name: one.values[i] for i, name in enumerate(cells)}, base)
    return Search([plan(best.plans[i]) for i in range(best.plan_count)], best, plan(best.nearest) if best.nearest else None)


__all__ = ["Plan", "Search", "refinements", "search", "sweep"]

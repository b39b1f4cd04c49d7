# SPDX-License-Identifier: Apache-2.0
"""Providers in Python: functions of NumPy columns that replace open functions and cells of a sheet."""
from __future__ import annotations

import re
import traceback
import weakref
from collections.abc import Callable, Mapping

from ._errors import UnitError
from ._job import Quantity, _Unit
from ._library import NULL, Errors, InProvider, current, encode, ffi, lib

_taken: weakref.WeakValueDictionary[str, Provider] = weakref.WeakValueDictionary()
_owners: weakref.WeakValueDictionary[int, Errors] = weakref.WeakValueDictionary()  # by the host of an instance


class Provider:
    """A function that replaces an open function or cell of a sheet; made by `steptime.provider`. It is called with a column of
    NumPy for each name that it reads, as many numbers as rows, and returns one of the same length."""

    def __init__(self, function: Callable[..., object], name: str, unit: str, reads: Mapping[str, str], doc: str, cite: str) -> None:
        import numpy
        self._numpy = numpy
        self.function = function
        self.name = name
        self.unit = unit
        self.reads = dict(reads)
        self.doc = doc or (function.__doc__ or "").strip().split("\n")[0] or f"{function.__name__} in Python"
        code = getattr(function, "__code__", None)
        self.file = code.co_filename if code else "?"
        self.line = code.co_firstlineno if code else 0
        self._order = _order_of(function, list(self.reads))
        self._result = _Unit.of(unit)
        self._units = [_Unit.of(one) for one in self.reads.values()]
        self.plugin_id = self._choose_id()
        self._offer(cite)

    def _choose_id(self) -> str:
        """Of its function's name, unlike that of any plugin or "none"; another function of that name has another one."""
        base = "python-" + (re.sub(r"[^a-z0-9]+", "-", self.function.__name__.lower()).strip("-") or "function")
        number, found = 1, base
        while found in _taken:
            number += 1
            found = f"{base}-{number}"
        _taken[found] = self
        return found

    def _offer(self, cite: str) -> None:
        """Describes the function as a plugin of this process (steptime/plugin.h)."""
        kept: list[object] = []
        own = weakref.ref(self)

        def keep(made):
            kept.append(made)
            return made

        def function(structure: str, member: str, made: Callable[..., int]):
            return keep(ffi.callback(dict(ffi.typeof(structure).fields)[member].type, made, error=1))

        def text(of: str):
            return keep(ffi.new("char[]", encode(of)))

        def open_(host, instance):
            instance[0] = ffi.cast("void *", host)
            _owners.pop(_address(host), None)
            if (errors := current()) is not None:
                _owners[_address(host)] = errors
            return 0

        def evaluate(host, rows, columns, values):
            self = own()
            return self._evaluate(ffi.cast("st_plugin_host *", host), rows, columns, values) if self else 1

        def explain(host, columns, sink):
            self = own()
            return self._explain(ffi.cast("st_plugin_host *", host), columns, sink) if self else 1

        arguments = []
        for name, unit in self.reads.items():
            arguments.append(keep(ffi.new("st_plugin_argument *", {
                "struct_size": ffi.sizeof("st_plugin_argument"), "name": text(name), "unit": text("" if unit == "1" else unit),
                "doc": text(name)})))
        given = keep(ffi.new("st_plugin_argument *[]", arguments)) if arguments else NULL
        provider = keep(ffi.new("st_plugin_provider *", {
            "struct_size": ffi.sizeof("st_plugin_provider"), "name": text(self.name),
            "unit": text("" if self.unit == "1" else self.unit), "doc": text(self.doc[:1000]), "cite": text(cite),
            "arguments": given, "argument_count": len(arguments),
            "evaluate": function("st_plugin_provider", "evaluate", evaluate),
            "explain": function("st_plugin_provider", "explain", explain)}))
        plugin = keep(ffi.new("st_plugin *", {
            "struct_size": ffi.sizeof("st_plugin"), "abi": 1, "id": text(self.plugin_id), "version": text("0"),
            "licence": text("unstated"), "summary": text(self.doc[:1000]),
            "providers": keep(ffi.new("st_plugin_provider *[]", [provider])), "provider_count": 1,
            "open": function("st_plugin", "open", open_)}))
        errors = Errors()
        errors.settle(lib.st_plugin_offer(plugin, errors.list), f"provider {self.name!r}", 4)
        self._kept = kept
        weakref.finalize(self, _withdraw, plugin, kept).atexit = False

    # ---- called by the library ----

    def _columns(self, rows: int, columns) -> list[object]:
        numpy, made = self._numpy, []
        for i, unit in enumerate(self._units):
            column = numpy.frombuffer(ffi.buffer(columns[i], rows * 8), dtype=numpy.float64).copy()  # the library reuses its memory
            if unit.unit.multiplier != unit.unit.divisor:
                column = column * unit.unit.divisor / unit.unit.multiplier
            column.flags.writeable = False
            made.append(column)
        return made

    def _compute(self, rows: int, columns):
        """The function's result in base units; refuses what is not one number of the right kind for each row."""
        numpy = self._numpy
        with InProvider():
            made = self._columns(rows, columns)
            given = self.function(*[made[i] for i in self._order])
        if isinstance(given, Quantity):
            if given.unit != self._result.base:
                raise UnitError(f"returned {given}, which is in {given.unit}, expected {self._result.base}")
            given = given.to(self.unit)
        result = numpy.asarray(given)
        if result.dtype.kind not in "fiu":
            raise TypeError(f"returned {type(given).__name__} of dtype {result.dtype}, expected numbers")
        if result.shape != (rows,):
            raise ValueError(f"returned an array of shape {result.shape} for {rows} row{'s' * (rows != 1)}, expected ({rows},)")
        result = result.astype(numpy.float64)
        if self._result.unit.multiplier != self._result.unit.divisor:
            result = result * self._result.unit.multiplier / self._result.unit.divisor
        return result

    def _fail(self, host, fault: BaseException) -> int:
        """Says what was raised and in which line of the function's file."""
        frames = [one for one in traceback.extract_tb(fault.__traceback__) if one.filename == self.file]
        line = frames[-1].lineno if frames else self.line
        text = f"{type(fault).__name__}: {fault} ({self.file}:{line}, in {self.function.__name__})"
        owner = _owners.get(_address(host))
        if owner is not None and owner.raised is None:
            owner.raised = fault, f"provider of {self.name}: {text}"
        self._say(host, text)
        return 1

    @staticmethod
    def _say(host, text: str) -> None:
        host.error(host.context, ffi.new("char[]", text.replace("\0", " ").replace("\n", " ").encode("utf-8", "replace")[:500]))

    def _evaluate(self, host, rows: int, columns, values) -> int:
        try:
            result = self._compute(rows, columns)
            ffi.memmove(values, result.tobytes(), rows * 8)
            return 0
        except BaseException as fault:  # it must not cross the library
            return self._fail(host, fault)

    def _explain(self, host, columns, sink) -> int:
        """Where a value comes from; of a row without one the reason."""
        try:
            value = float(self._compute(1, columns)[0])
            if not value >= 0 or value == float("inf"):
                row = ", ".join(f"{name} = {Quantity._of_base(columns[i][0], unit)}"
                                for i, (name, unit) in enumerate(self.reads.items()))
                text = (f"returned {value:g} for {row or 'its one row'} ({self.file}:{self.line}, in "
                        f"{self.function.__name__})")
                if (owner := _owners.get(_address(host))) is not None:
                    owner.rejected = text
                self._say(host, text)
                return 1
            name, text = ffi.new("char[]", b"function"), ffi.new("char[]", encode(self.where()))
            term = ffi.new("st_plugin_term *", {"struct_size": ffi.sizeof("st_plugin_term"), "name": name, "text": text,
                                                "unit": ffi.new("char[]", b""), "doc": NULL})
            sink.term(sink.context, term)
            return 0
        except BaseException as fault:
            return self._fail(host, fault)

    def where(self) -> str:
        return f"{self.function.__name__} at {self.file}:{self.line}, in place of {self.name}"

    def __call__(self, *columns: object) -> object:
        """Calls the function itself."""
        return self.function(*columns)

    def __repr__(self) -> str:
        return f"<provider {self.where()}>"


def _address(host) -> int:
    return int(ffi.cast("uintptr_t", host))


def _order_of(function: Callable[..., object], reads: list[str]) -> list[int]:
    """By name where the function's parameters are called as what it reads, in any order; else as they come."""
    from inspect import signature
    try:
        names = list(signature(function).parameters)
    except (TypeError, ValueError):  # a function of NumPy
        names = reads
    return [reads.index(name) for name in (names if sorted(names) == sorted(reads) else reads)]


def _withdraw(plugin, _kept) -> None:
    lib.st_plugin_withdraw(plugin)


def provider(name: str, *, unit: str, reads: Mapping[str, str], doc: str = "", cite: str = "") -> Callable[..., Provider]:
    """Makes a provider of the function below it.

        @st.provider("ring_time", unit="s", reads={"bytes": "B", "ranks": "1"})
        def fast_ring(bytes, ranks):
            return 2 * bytes * (ranks - 1) / ranks / 400e9

        job = st.Job("gpt-3b-32x3090", refine=fast_ring)

    `name` is the open function or cell of the sheet, `unit` that of the result, `reads` what the function gets, by name, with the
    unit in which it gets it: arguments of the function of the sheet, cells, inputs, or keys of the job. The units are checked
    against the sheet's. Columns go by name where the parameters have the names in `reads`, else in its order. A row that has no value is NaN, which the report names with its numbers.
    """
    if not isinstance(reads, Mapping):
        raise TypeError(f"reads is {reads!r}, expected a map from names to units such as {{'size': 'B'}}")

    def make(function: Callable[..., object]) -> Provider:
        if not callable(function) or not hasattr(function, "__name__"):
            raise TypeError(f"a provider is a function, not {function!r}")
        return Provider(function, name, unit, reads, doc, cite)
    return make

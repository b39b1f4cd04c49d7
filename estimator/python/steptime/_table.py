# SPDX-License-Identifier: Apache-2.0
"""Tables of columns, handed to NumPy, pandas, Polars and Arrow without copies."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ._library import NULL, ffi

_FORMATS = {"float64": (b"g", "<f8", 8, "double[]", "d"), "int64": (b"l", "<i8", 8, "int64_t[]", "q"),
            "bool": (b"b", "|b1", 1, "bool[]", "?"), "text": (b"I", "<u4", 4, "uint32_t[]", "I")}
_NO_TEXT = 0xFFFFFFFF  # the place of a text that is missing


class Column:
    """A column: `name`, `unit` (of its numbers: base units; "" for others), `kind` ("float64", "int64", "bool" or "text"). Texts are
    kept as places in `values`, a list. `numpy.asarray(column)` shares its memory; so do Arrow and the buffer protocol. A value
    that is missing is None; of floats it is NaN. `missing` marks them, one byte for each row; it is None where none is."""

    def __init__(self, name: str, kind: str, memory, count: int, unit: str = "", doc: str = "",
                 values: Sequence[str] = (), missing: bytes | None = None) -> None:
        self.name = name
        self.kind = kind
        self.unit = unit
        self.doc = doc
        self.values = list(values)
        self.missing = missing
        self._memory = memory
        self._count = count

    @classmethod
    def empty(cls, name: str, kind: str, count: int, unit: str = "", doc: str = "", values: Sequence[str] = ()) -> Column:
        return cls(name, kind, ffi.new(_FORMATS[kind][3], max(1, count)), count, unit, doc, values)

    @property
    def pointer(self):
        return self._memory

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int | slice):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(f"row {index} of {self._count}")
        index %= self._count
        if self.missing is not None and self.missing[index]:
            return None
        value = self._memory[index]
        return self.values[value] if self.kind == "text" else value

    def __iter__(self) -> Iterator[object]:
        return (self[i] for i in range(self._count))

    @property
    def __array_interface__(self) -> dict:
        """Numbers, or of texts their places in `values`; the array keeps the column alive."""
        if self.missing is not None and self.kind != "text":
            raise AttributeError("some values are missing")  # NumPy asks __array__
        return {"version": 3, "shape": (self._count,), "typestr": _FORMATS[self.kind][1],
                "data": (int(ffi.cast("uintptr_t", self._memory)), False)}

    def __array__(self, dtype=None, copy=None):
        """Of a column of which values are missing: whole numbers become floats with NaN, truth values objects with None."""
        import numpy
        if self.kind == "int64" and all(abs(one) <= 1 << 53 for one in self if one is not None):
            made = numpy.array([float("nan") if one is None else one for one in self], dtype=float)
        else:
            made = numpy.array(list(self), dtype=object)
        return made if dtype is None else made.astype(dtype)

    def buffer(self) -> memoryview:
        """The memory of the column, as long as it lives."""
        return memoryview(ffi.buffer(self._memory, self._count * _FORMATS[self.kind][2])).cast(_FORMATS[self.kind][4])

    def to_numpy(self):
        """An array that shares the memory; texts, and columns of which values are missing, are copied."""
        import numpy
        if self.kind == "text":
            return numpy.array([*self.values, None], dtype=object)[numpy.asarray(self).view("<i4")]
        return numpy.asarray(self)

    def _to_pandas(self):
        """What a DataFrame takes as a column."""
        import numpy
        import pandas
        if self.kind == "text":
            return pandas.Categorical.from_codes(numpy.asarray(self).view("<i4"), self.values)
        if self.missing is None:
            return numpy.asarray(self)
        kind = pandas.arrays.BooleanArray if self.kind == "bool" else pandas.arrays.IntegerArray
        return kind(numpy.frombuffer(self.buffer(), dtype=_FORMATS[self.kind][1]), numpy.frombuffer(self.missing, dtype=bool))

    def __arrow_c_schema__(self):
        from ._arrow import schema_capsule
        return schema_capsule(self)

    def __arrow_c_array__(self, requested_schema=None):
        from ._arrow import array_capsules
        return array_capsules(self)

    def __repr__(self) -> str:
        shown = ", ".join(_shown(one) for one in self[:6])
        return f"<column {self.name}{f' in {self.unit}' if self.unit else ''}: {shown}{', ...' if len(self) > 6 else ''}>"


class Table:
    """Columns of the same length by name: `table["step_time"]`. Numbers are in base units (`table.units`).

    `to_pandas()`, `to_polars()`, `to_arrow()`, `to_numpy()`; anything that reads Arrow's C stream takes the table as it is:
    `pyarrow.table(table)`, `polars.DataFrame(table)`, `duckdb.sql("from table")`."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = {one.name: one for one in columns}

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def units(self) -> dict[str, str]:
        return {name: one.unit for name, one in self._columns.items()}

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            from difflib import get_close_matches
            near = get_close_matches(name, self._columns, 1)
            from ._errors import UnknownNameError
            raise UnknownNameError(f"the table has no column {name!r}" + (f"; did you mean '{near[0]}'?" if near else "")) from None

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def keys(self) -> list[str]:
        return list(self._columns)

    def row(self, index: int) -> dict[str, object]:
        return {name: one[index] for name, one in self._columns.items()}

    def to_numpy(self) -> dict[str, object]:
        return {name: one.to_numpy() for name, one in self._columns.items()}

    def to_pandas(self):
        """A DataFrame whose columns of numbers share the memory; texts are categories, and what is missing is NA."""
        import pandas
        frame = pandas.DataFrame({name: one._to_pandas() for name, one in self._columns.items()}, copy=False)
        frame.attrs["units"] = self.units
        return frame

    def to_polars(self):
        import polars
        return polars.DataFrame(self)

    def to_arrow(self):
        import pyarrow
        return pyarrow.table(self)

    def __arrow_c_schema__(self):
        from ._arrow import schema_capsule
        return schema_capsule(self)

    def __arrow_c_stream__(self, requested_schema=None):
        from ._arrow import stream_capsule
        return stream_capsule(self)

    def __repr__(self) -> str:
        head = [f"{name} [{one.unit}]" if one.unit not in ("", "1") else name for name, one in self._columns.items()]
        rows = [[_shown(one[i]) for one in self._columns.values()] for i in range(min(10, len(self)))]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in [head, *rows]]
        return "\n".join([*lines, f"{len(self)} rows"])

    def _repr_html_(self) -> str:
        from ._html import table_html
        return table_html(self)


def _shown(value: object) -> str:
    """A value without what a terminal would obey."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


def text_column(name: str, texts: Sequence[str | None], doc: str = "") -> Column:
    places = {text: i for i, text in enumerate(dict.fromkeys(one for one in texts if one is not None))}
    made = Column.empty(name, "text", len(texts), doc=doc, values=list(places))
    made.pointer[0:len(texts)] = [_NO_TEXT if text is None else places[text] for text in texts]
    if None in texts:
        made.missing = bytes(text is None for text in texts)
    return made


def column_of(name: str, values: Sequence[object], unit: str = "") -> Column:
    """Truth values, whole numbers, numbers (None is NaN), or texts."""
    given = [one for one in values if one is not None]
    if values and not given:
        return text_column(name, [None] * len(values))
    if given and all(isinstance(one, bool) for one in given):
        kind = "bool"
    elif given and all(isinstance(one, int) and abs(one) < 1 << 63 for one in given):
        kind = "int64"
    elif all(isinstance(one, (int, float)) for one in given):
        kind = "float64"
    else:
        return text_column(name, [None if one is None else str(one) for one in values])
    made = Column.empty(name, kind, len(values), unit)
    instead = float("nan") if kind == "float64" else 0
    made.pointer[0:len(values)] = [instead if one is None else one for one in values]
    if kind != "float64" and len(given) < len(values):
        made.missing = bytes(one is None for one in values)
    return made


def _parsed(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def table_of_csv(text: str, units: Mapping[str, str]) -> Table:
    """The table of a CSV text with a line of names; `units` of its columns of numbers."""
    from csv import reader
    rows = list(reader(text.splitlines()))
    names, rows = (rows[0], rows[1:]) if rows else ([], [])
    return Table([column_of(name, [_parsed(row[i]) if row[i] else None for row in rows], units.get(name, "")) for i, name in enumerate(names)])


__all__ = ["Column", "Table", "column_of", "table_of_csv", "text_column", "NULL"]

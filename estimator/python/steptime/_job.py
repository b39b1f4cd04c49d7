# SPDX-License-Identifier: Apache-2.0
"""Jobs: keys that are set, cells that are read, and how they are shown."""
from __future__ import annotations

from math import isnan
from warnings import warn

from ._errors import InputError, SteptimeWarning, UnknownNameError
from ._library import NULL, Buffer, Errors, Lock, Texts, encode, ffi, lib, plugin_roots, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DIMENSIONS = ("B", "FLOP", "s", "J", "$")
_KINDS = ("count", "number", "quantity", "bool", "enum", "text")
_SIZES = ("parallel.tp", "parallel.pp", "parallel.cp")
_GPUS = ("cluster.nodes", "cluster.gpus_per_node")
_TEXT, _JSON, _CSV, _SVG = range(4)
_TRUTHS: dict[str, bool | str] = {"yes": True, "no": False}
_WRONG = (-9, -10, -12)  # values that do not exist, checks, providers: what else there is can be read


class _Unit:
    """A unit as a sheet declares it, and the base unit of its dimension."""

    __slots__ = ("unit", "base")
    known: dict[str, _Unit] = {}

    def __init__(self, text: str) -> None:
        self.unit = ffi.new("st_unit *")
        data = encode(text or "1", "a unit")
        errors = Errors()
        errors.settle(lib.st_unit_parse(data, len(data), ffi.new("st_place *")[0], self.unit, errors.list), f"unit {text!r}")
        above: list[str] = []
        below: list[str] = []
        for name, exponent in zip(_DIMENSIONS, self.unit.dimension.exponent):
            power = abs(exponent) / 12
            if exponent:
                (above if exponent > 0 else below).append(name if power == 1 else f"{name}^{power:g}")
        self.base = "*".join(above) or "1"
        if below:
            self.base += "/" + "/".join(below)

    @classmethod
    def of(cls, text: str) -> _Unit:
        found = cls.known.get(text)
        if found is None:
            found = cls.known[text] = cls(text)
        return found


class Quantity(float):
    """A number with its unit: `Quantity(200, "Gbit/s")`. As a float it is in base units (`unit`: s, B, FLOP, B/s, ...); `str`
    shows it as reports do, `to("ms")` gives the number in another unit. Arithmetic gives plain floats in base units."""

    __slots__ = ("_unit",)
    _unit: str

    def __new__(cls, value: float, unit: str = "1") -> Quantity:
        """`value` in `unit`, in which reports show it."""
        return cls._of_base(lib.st_unit_to_base(_Unit.of(unit).unit, float(value)), unit)

    @classmethod
    def _of_base(cls, value: float, unit: str) -> Quantity:
        """`value` in base units, shown in `unit`."""
        self = float.__new__(cls, value)
        self._unit = unit
        return self

    @property
    def unit(self) -> str:
        """The base unit of the number: "s", "B/s", "1"."""
        return _Unit.of(self._unit).base

    def to(self, unit: str) -> float:
        """The number in another unit of the same dimension: `job.step_time.to("ms")`."""
        own, other = _Unit.of(self._unit), _Unit.of(unit)
        if list(own.unit.dimension.exponent) != list(other.unit.dimension.exponent):
            from ._errors import UnitError
            raise UnitError(f"{self} is in {own.base}, and {unit} is of another dimension ({other.base})")
        return lib.st_unit_from_base(other.unit, self)

    def __str__(self) -> str:
        text = ffi.new("char[96]")
        return text_of(lib.st_quantity_format(self, _Unit.of(self._unit).unit, lib.ST_STYLE_SCALED, text, 96))

    def __repr__(self) -> str:
        return f"Quantity({float(self)!r}, {self.unit!r})"

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)

    def __reduce__(self):
        return Quantity._of_base, (float(self), self._unit)


class _Shown:
    """Something with fields, and a repr of them."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class Cell(_Shown):
    """A cell or an input of the sheet: `name`, `value` (a Quantity, a bool, or the word of an enumeration; None where there is
    none), `unit` as the sheet declares it, `text` as reports show it, `doc`, `cite`, `formula` (of an input the job's key),
    `section` of the report, `is_input`, `is_assumed`."""

    __slots__ = ("name", "value", "unit", "text", "doc", "cite", "formula", "section", "is_input", "is_assumed")

    def __init__(self, cell) -> None:
        self.name = text_of(cell.name)
        self.unit = text_of(cell.unit)
        self.text = text_of(cell.text)
        self.doc = text_of(cell.doc)
        self.cite = text_of(cell.cite)
        self.formula = text_of(cell.formula)
        self.section = text_of(cell.section)
        self.is_input = bool(cell.is_input)
        self.is_assumed = bool(cell.is_assumed)
        self.value: Quantity | bool | str | None = None
        if cell.is_computed:
            self.value = Quantity._of_base(cell.value, self.unit) if self.unit else _TRUTHS.get(self.text, self.text)

    def __str__(self) -> str:
        return f"{self.name} = {self.text or 'no value'}"

    def _repr_html_(self) -> str:
        from ._html import cell_html
        return cell_html(self)


class Key(_Shown):
    """A key of the job: `path`, `value`, `text` as written, `unit`, `kind`, `is_given` (else it is assumed), `doc`."""

    __slots__ = ("path", "value", "text", "unit", "kind", "is_given", "doc")

    def __init__(self, key) -> None:
        self.path = text_of(key.path)
        self.text = text_of(key.text)
        self.unit = text_of(key.unit)
        self.kind = _KINDS[key.kind]
        self.is_given = bool(key.is_given)
        self.doc = text_of(key.doc)
        self.value: Quantity | float | int | bool | str | None = self.text or None
        if not isnan(key.value):
            number = key.value
            self.value = (int(number) if self.kind == "count" else bool(number) if self.kind == "bool"
                          else Quantity._of_base(number, self.unit) if self.kind == "quantity" else number)


class Picture:
    """A picture: `str` is its SVG; a notebook shows it; `save(path)` writes it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<picture, {len(self.svg)} bytes of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


class _Printed:
    """What a verb prints: `str` is its text, `data` the same as `--json`."""

    def __init__(self, text: str, json: str) -> None:
        self.text = text
        self.json = json

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    @property
    def data(self) -> dict:
        """Every number with unit, source and place (docs/output.md)."""
        from json import loads
        return loads(self.json)


class Report(_Printed):
    """What `steptime estimate` prints; a notebook shows bars and a table."""

    def __init__(self, text: str, json: str, svg: str) -> None:
        super().__init__(text, json)
        self.svg = svg

    @property
    def bars(self) -> Picture:
        """Where the step and the memory go."""
        return Picture(self.svg)

    def _repr_html_(self) -> str:
        from ._html import report_html
        return report_html(self)


class Explanation(_Printed):
    """How a number is computed, down to the inputs, as a tree of formulas; a notebook folds it."""

    def _repr_html_(self) -> str:
        from ._html import explanation_html
        return explanation_html(self)


def value_text(value: object) -> str:
    """A value as a job file writes it: 4, true, "200 Gbit/s"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Quantity):
        return f"{float(value)!r} {value.unit}" if value.unit != "1" else f"{float(value)!r}"
    if isinstance(value, (int, str)):
        return str(value)
    if hasattr(value, "item"):  # a number of NumPy
        return value_text(value.item())
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    raise TypeError(f"a value of a key is a number, a truth value or a text, not {type(value).__name__}: {value!r}")


class Job:
    """A job on its sheet, with its plugins.

        job = Job("llama3-8b-8xh100", {"batch.micro": 2})
        job["parallel.tp"] = 4       # a key, as in the job's file; parallel.dp follows, with a warning, unless it is given here
        job.step_time                # Quantity in s
        job["cluster.gpu.memory"]    # 80 GiB, as a Quantity in B

    `job` is a name of `steptime list jobs` or a file; None makes a job of `keys` alone. `sheet` and `refine` (plugins, providers
    in Python, or "none") replace the job's own. With `check=False` a failing check of the sheet is a warning. `path` are folders
    to search first. A job is used by one thread at a time; others wait.
    """

    def __init__(self, job: str | None, keys: Mapping[str, object] | None = None, *, sheet: str | None = None,
                 refine: object = None, check: bool = True, path: Iterable[str] = ()) -> None:
        self.name = job
        self._sheet = sheet
        self._path = [path] if isinstance(path, str) else list(path)
        self._keys: dict[str, str] = {}
        self._dp_filled = False  # parallel.dp follows the other sizes
        for key, value in (keys or {}).items():
            self._keys[key] = value_text(value)
        self._refine = refinements(refine)
        words = refine_words(self._refine)
        self._providers = [one for one in self._refine if not isinstance(one, str)]
        self._check = check
        self._errors = Errors(self._providers)
        self._lock = Lock("a Job", self._errors)
        self._roles: dict[str, tuple] = {}
        self._fault: tuple | None = None  # what is wrong with the present values
        request = ffi.new("st_estimate_request *")
        request.size = ffi.sizeof("st_estimate_request")
        request.checks_warn = not check
        kept = [Texts([f"{key}={text}" for key, text in self._keys.items()], "a key"), Texts(words), Texts([*self._path, *plugin_roots()])]
        request.sets, request.set_count = kept[0].array, kept[0].count
        request.providers, request.provider_count = kept[1].array, kept[1].count
        request.folders, request.folder_count = kept[2].array, kept[2].count
        name = ffi.new("char[]", encode(job, "the job's name")) if job is not None else NULL
        sheet_name = ffi.new("char[]", encode(sheet, "the sheet's name")) if sheet is not None else NULL
        request.job, request.sheet = name, sheet_name
        made = ffi.new("st_estimate **")
        with self._lock:
            self._errors.settle(lib.st_estimate_create(request, made, self._errors.list), f"job {job!r}")
        self._estimate = ffi.gc(made[0], lib.st_estimate_destroy)
        self._one = ffi.new("double *")

    # ---- keys ----

    def __setitem__(self, key: str, value: object) -> None:
        """Sets a key of the job; a quantity is given with its unit ("200 Gbit/s") or as a Quantity."""
        if not isinstance(key, str):
            raise TypeError(f"a key is a string such as 'parallel.tp', not {key!r}")
        text = value_text(value)
        assignment = encode(f"{key}={text}", "a value")
        with self._lock:
            status = lib.st_estimate_set(self._estimate, assignment, self._errors.list)
            if status != 0 or lib.st_errors_size(self._errors.list):
                self._errors.settle(status, key, 2)
            self._fault = None
            self._keys[key] = text
            if "." not in key:
                self._roles.clear()  # another sheet may call them otherwise
        if key == "parallel.dp":
            self._dp_filled = False
        elif key in (*_SIZES, *_GPUS):
            self._fill()

    def _fill(self) -> None:
        """Data parallelism fills the GPUs again after another size or their number has changed, unless it was given here."""
        if "parallel.dp" in self._keys and not self._dp_filled:
            return
        try:
            sizes = [self.key(size).value or 1 for size in (*_SIZES, *_GPUS)]
            old = self.key("parallel.dp").value
        except UnknownNameError:
            return
        counts = [size for size in (*sizes, old) if isinstance(size, int) and size > 0]
        if len(counts) < 6:
            return
        ranks, gpus = counts[0] * counts[1] * counts[2], counts[3] * counts[4]
        if gpus % ranks or gpus // ranks == old:
            return
        self["parallel.dp"] = gpus // ranks
        self._dp_filled = True
        warn(f"parallel.dp is {gpus // ranks}, before {old}: it fills the {gpus} GPUs; set it to keep another", SteptimeWarning, 3)

    def update(self, keys: Mapping[str, object]) -> None:
        """Sets several keys in one step: all of them or, after an error, none."""
        texts = {key: value_text(value) for key, value in keys.items()}
        sets = Texts([f"{key}={text}" for key, text in texts.items()], "a value")
        with self._lock:
            self._errors.settle(lib.st_estimate_set_many(self._estimate, sets.array, sets.count, self._errors.list), "the keys", 2)
            self._fault = None
            self._keys.update(texts)
            self._roles.clear()

    def key(self, path: str) -> Key:
        """A key with its value, unit, meaning, and whether it is assumed."""
        found = ffi.new("st_estimate_key *")
        found.size = ffi.sizeof("st_estimate_key")
        name = ffi.new("char[]", encode(path, "a key"))
        with self._lock:
            try:
                self._errors.settle(lib.st_estimate_read_key(self._estimate, name, found, self._errors.list), path, 2)
            except InputError as fault:  # a section, a constant that nothing reads
                raise UnknownNameError(str(fault), fault.messages) from None
            return Key(found)

    def __getitem__(self, key: str) -> Quantity | float | int | bool | str | None:
        """The value of a key: `job["parallel.tp"]`. A key without a value is None, one that does not exist a KeyError."""
        if not isinstance(key, str):
            raise TypeError(f"a key is a string such as 'parallel.tp', not {key!r}")
        return self.key(key).value

    def __contains__(self, key: object) -> bool:
        try:
            self.key(str(key))
        except KeyError:
            return False
        return True

    def keys(self) -> list[str]:
        """All keys that a job may have."""
        count = ffi.new("size_t *")
        table = lib.st_keys(count)
        return [text_of(table[i].path) for i in range(count[0])]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    def copy(self) -> Job:
        """Another job with the same keys."""
        return Job(self.name, self._keys, sheet=self._sheet, refine=self._refine or None, check=self._check, path=self._path)

    def __reduce__(self):
        if self._providers:
            raise TypeError("a Job with providers in Python cannot be pickled: make it anew in the other process")
        return _restore, (self.name, self._keys, self._sheet, self._refine, self._check, self._path)

    # ---- cells ----

    def _settle(self, status: int, what: str) -> None:
        """Raises what a reading reported. The library reports what is wrong with its present values once; here each reading of
        them raises it, until a key is set."""
        if self._fault is not None and status in (0, *_WRONG):
            status, messages, found = self._fault
            lib.st_errors_clear(self._errors.list)
            raise self._errors.error(status, messages, what, found)
        if status == 0 and not self._providers:
            return
        try:
            self._errors.settle(status, what, 4)
        except Exception as fault:
            if status in _WRONG or fault.__cause__ is not None:
                found = (fault.__cause__, str(fault)) if fault.__cause__ is not None else None
                self._fault = status or -12, getattr(fault, "messages", ()), found
            raise

    def _role(self, role: str) -> Quantity:
        with self._lock:
            found = self._roles.get(role)
            if found is None:
                cell, name = _new_cell(), ffi.new("char[]", encode(role, "a role"))
                status = lib.st_estimate_read_role(self._estimate, name, cell, self._errors.list)
                if cell.name:
                    name = ffi.new("char[]", ffi.string(cell.name))
                    self._roles[role] = ffi.new("char *[]", [name]), text_of(cell.unit), name
                self._settle(status, role)
                return Quantity._of_base(cell.value, text_of(cell.unit))
            status = lib.st_estimate_read_many(self._estimate, found[0], 1, self._one, self._errors.list)
            if status or self._fault or self._providers:
                self._settle(status, role)
            return Quantity._of_base(self._one[0], found[1])

    @property
    def step_time(self) -> Quantity:
        """Time of a training step, in s."""
        return self._role("step")

    @property
    def memory(self) -> Quantity:
        """Peak memory of a GPU, in B."""
        return self._role("memory")

    @property
    def mfu(self) -> Quantity:
        """Model FLOPs utilization, a share of 1."""
        return self._role("mfu")

    def role(self, name: str) -> Quantity:
        """The number that fills a role of the sheet, whatever its cell is called: "step", "cost", "communication.hidden"
        (docs/sheet-language.md lists the roles)."""
        return self._role(name)

    def cell(self, name: str) -> Cell:
        """A cell or an input of the sheet, with unit, meaning, source and formula; computes it if necessary."""
        found = _new_cell()
        text = ffi.new("char[]", encode(name, "a cell"))
        with self._lock:
            self._settle(lib.st_estimate_read(self._estimate, text, found, self._errors.list), name)
            return Cell(found)

    def read(self, *names: str) -> dict[str, float]:
        """Values of several cells and inputs at once, in base units; a truth value is 0 or 1, a word its place in its list."""
        texts = Texts(names, "a cell")
        values = ffi.new("double[]", max(1, texts.count))
        with self._lock:
            self._settle(lib.st_estimate_read_many(self._estimate, texts.array, texts.count, values, self._errors.list),
                         ", ".join(names))
        return dict(zip(names, values))

    def cells(self) -> list[Cell]:
        """All inputs and cells of the sheet in its order; the value is None where nothing has computed it."""
        found = _new_cell()
        with self._lock:
            made = []
            for i in range(lib.st_estimate_cell_count(self._estimate)):
                self._errors.settle(lib.st_estimate_cell_at(self._estimate, i, found, self._errors.list), "cells", 2)
                made.append(Cell(found))
            return made

    # ---- texts and pictures ----

    def _write(self, call, form: int, what: str, **view: object) -> str:
        asked = ffi.new("st_estimate_view *", {"size": ffi.sizeof("st_estimate_view"), "form": form, **view})
        buffer = Buffer()
        with self._lock:
            status = call(self._estimate, asked, buffer.buffer, self._errors.list)
            if status or self._fault or self._providers:
                self._settle(status, what)
            lib.st_errors_clear(self._errors.list)  # a report shows its warnings
        return buffer.text()

    @property
    def report(self) -> Report:
        """What `steptime estimate` prints, with its warnings."""
        try:
            svg = self._write(lib.st_estimate_write, _SVG, "the picture")
        except UnknownNameError:  # a sheet without a summary has no bars
            svg = ""
        return Report(self._write(lib.st_estimate_write, _TEXT, "the report", width=100),
                      self._write(lib.st_estimate_write, _JSON, "the report"), svg)

    def explain(self, cell: str, *, levels: int = 0, lines: int = 0) -> Explanation:
        """How a cell is computed; `levels` limits the depth, `lines` the length of its text, 0 neither."""
        name = ffi.new("char[]", encode(cell, "a cell"))

        def call(estimate, view, buffer, errors):
            return lib.st_estimate_explain(estimate, name, view, buffer, errors)
        return Explanation(self._write(call, _TEXT, cell, levels=levels, lines=lines, width=100),
                           self._write(call, _JSON, cell, levels=levels))

    @property
    def timeline(self) -> Picture:
        """The step laid out as the tasks of its schedule: a row of boxes for each stage, over time."""
        return Picture(self._write(lib.st_timeline_write, _SVG, "the timeline"))

    def traffic(self, kind: str | None = None, *, linear: bool = False) -> Picture:
        """The heat map of bytes between ranks in a step; `kind` is tp, cp, ep, dp, pp, emb or expert_dp alone."""
        return Picture(self._write(self._traffic(kind, linear), _SVG, "traffic"))

    def flows(self, kind: str | None = None):
        """Bytes of a step between ranks, a Table with a row for each pair."""
        from ._table import table_of_csv
        return table_of_csv(self._write(self._traffic(kind, False), _CSV, "traffic"), {"bytes": "B"})

    def _traffic(self, kind: str | None, linear: bool):
        name = ffi.new("char[]", encode(kind, "a kind of traffic")) if kind is not None else NULL
        request = ffi.new("st_traffic_request *",
                          {"size": ffi.sizeof("st_traffic_request"), "kind": name, "linear": linear})

        def call(estimate, view, buffer, errors, _kept=name):
            return lib.st_traffic_write(estimate, request, view, buffer, errors)
        return call

    def export(self, format: str, **options: object) -> str:
        """The file of a framework that runs this plan: see `steptime.export_job`."""
        from ._tools import export_job
        return export_job(self, format, **options)  # type: ignore[arg-type]

    def workbook(self, path: str) -> None:
        """Writes a workbook whose formulas recompute when an input changes."""
        file = ffi.new("char[]", encode(path, "a path"))
        with self._lock:
            self._errors.settle(lib.st_estimate_workbook(self._estimate, file, self._errors.list), path, 2)

    def __repr__(self) -> str:
        keys = "".join(f", {key}={text}" for key, text in self._keys.items())
        return f"<Job {self.name}{keys}>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def _restore(name, keys, sheet, refine, check, path) -> Job:
    return Job(name, keys, sheet=sheet, refine=refine or None, check=check, path=path)


def _new_cell():
    cell = ffi.new("st_estimate_cell *")
    cell.size = ffi.sizeof("st_estimate_cell")
    return cell


def refinements(refine: object) -> list[object]:
    """Plugins by name and providers in Python, in order of preference."""
    if refine is None:
        return []
    several = [refine] if isinstance(refine, str) or not hasattr(refine, "__iter__") else list(refine)
    for one in several:
        if not isinstance(one, str) and not hasattr(one, "plugin_id"):
            raise TypeError(f"refine takes names of plugins and providers made with steptime.provider, not {one!r}")
    return several


def refine_words(several: list[object]) -> list[str]:
    return [one if isinstance(one, str) else one.plugin_id for one in several]  # type: ignore[attr-defined]

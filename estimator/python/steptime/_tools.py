# SPDX-License-Identifier: Apache-2.0
"""What the tools do, in this process: recordings, validation, import and export."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ._job import Job, Picture, value_text
from ._library import NULL, Buffer, Errors, Lock, Texts, encode, ffi, has, lib, open_library, text_of
from ._table import Table, column_of

_lock = Lock("a tool of steptime")
_libraries: dict[str, object] = {}


def _tool(name: str):
    if name not in _libraries:
        # A wheel has one library for all.
        _libraries[name] = lib if has(lib, f"st_{name}_run") else open_library(f"steptime-{name}")
    return _libraries[name]


def _run(tool: str, words: Sequence[str]) -> str:
    """Runs a verb with the words of its command line; its result."""
    library = _tool(tool)
    texts, errors = Texts(words, "a word"), Errors()
    answer = ffi.new("st_answer *", {"size": ffi.sizeof("st_answer")})
    with _lock:
        status = getattr(library, f"st_{tool}_run")(texts.array, texts.count, answer, errors.list)
        text = ffi.buffer(answer.text, answer.length)[:].decode("utf-8", "replace") if answer.text else ""
        if answer.text:
            lib.free(answer.text)
        errors.settle(status, " ".join(words[:2]), 4)
    return text


def _options(**given: object) -> list[str]:
    words: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            words += [word for key, one in value.items() for word in (option, f"{key}={value_text(one)}")]
        elif value not in (None, False, ""):
            words += [option, str(value)]
    return words


class Validation:
    """Estimates compared with published and measured numbers: `data` as `steptime validate --json` has them; `str` is the
    report."""

    def __init__(self, text: str, json: str) -> None:
        from json import loads
        self.text = text
        self.data: dict = loads(json)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def tables(self) -> Table:
        """A row for each part of each table of measured steps, with its errors as shares."""
        rows = [{"source": one["source"], "sheet": one["sheet"], "cell": one["cell"], **group, **group["errors"]}
                for one in self.data.get("tables", []) for group in one["groups"]]
        names = [name for name in (rows[0] if rows else {})
                 if not any(isinstance(one.get(name), (dict, list)) for one in rows)]
        return Table([column_of(name, [one.get(name) for one in rows]) for name in names])


def validate(*sources: str, table: str | None = None, rows: str | None = None, constants: str | None = None,
             all: bool = False) -> Validation:
    """Compares estimates with published and measured numbers: of sources by name, of jobs, of your own `table` (CSV); without any
    of every source that steptime ships."""
    words = ["validate", *[os.fspath(one) for one in sources], *_options(table=table, rows=rows, constants=constants, all=all)]
    return Validation(_run("fit", words), _run("fit", [*words, "--json"]))


class Trace:
    """A recording of one or more ranks; made by `read_trace`."""

    def __init__(self, files: Sequence[str], partial: bool) -> None:
        self.files = list(files)
        self._words = [*self.files, *(["--partial"] if partial else [])]

    def sql(self, select: str) -> Table:
        """The result of a SELECT of SQLite over the recording's tables: kernels, calls, steps, ... `SELECT * FROM columns` lists
        all of them (docs/traces.md). Columns have their unit in their name: duration_ns."""
        from json import loads
        found = loads(_run("trace", ["trace", "sql", *self._words, select, "--json"]))
        return Table([column_of(name, [row[name] for row in found["rows"]]) for name in found["columns"]])

    def _report(self, verb: str, options: Sequence[str] = ()) -> str:
        return _run("trace", ["trace", verb, *self._words, *options])

    def summary(self) -> str:
        """What the recorded step spent its time on."""
        return self._report("summary")

    def kernels(self) -> str:
        """The kernels of the step, over all ranks."""
        return self._report("kernels")

    def whatif(self, keys: Mapping[str, object]) -> str:
        """The recorded step as it would be with other values: {"speed.gemm": 2}."""
        return self._report("whatif", _options(set=keys))

    def __repr__(self) -> str:
        return f"<Trace {' '.join(self.files)}>"


def read_trace(*files: str, partial: bool = False) -> Trace:
    """A recording of PyTorch's profiler, Nsight Systems or others (docs/traces.md): files, or a folder of them. `partial` accepts
    damaged files and missing ranks."""
    if not files:
        raise TypeError("read_trace needs a file or a folder")
    for one in files:
        if not os.path.exists(one):
            raise FileNotFoundError(f"no such recording: {os.fspath(one)}")
    return Trace([os.fspath(one) for one in files], partial)


# ---- jobs from files, and files from jobs ----------------------------------------------------------------------------------

def import_job(source: str | os.PathLike[str], format: str = "hf", *, cluster: str | None = None, assume: str | None = None,
               keys: Mapping[str, object] | None = None, strict: bool = False, path: Iterable[str] = ()) -> str:
    """The job file, in YAML, that a file of a framework gives: a `config.json` of Hugging Face (hf), a log or script of Megatron-LM
    (megatron), or a file of megatron-bridge, torchtitan, deepspeed, layers. What the source does not say stays out: give it with
    `cluster` and `keys`. Write the text to a file to make a Job of it."""
    library, errors = _tool("launch"), Errors()
    name = os.fspath(source)
    with open(name, "rb") as file:
        data = file.read()
    texts = [Texts([f"{key}={value_text(value)}" for key, value in (keys or {}).items()], "a key"), Texts(list(path))]
    kept = [ffi.new("char[]", encode(one)) if one is not None else NULL for one in (format, name, cluster, assume)]
    content = ffi.new("char[]", data + b"\0")
    request = ffi.new("st_launch_import_request *", {
        "size": ffi.sizeof("st_launch_import_request"), "format": kept[0], "name": kept[1], "text": content, "length": len(data),
        "cluster": kept[2], "assume": kept[3], "sets": texts[0].array, "set_count": texts[0].count, "folders": texts[1].array,
        "folder_count": texts[1].count, "strict": strict})
    buffer = Buffer()
    with _lock:
        errors.settle(library.st_launch_import(request, buffer.buffer, errors.list), name)
    return buffer.text()


def export_job(job: Job | str, format: str, *, version: str | None = None, slurm: bool = False) -> str:
    """What starts a job in a framework: megatron (a shell script), megatron-bridge (YAML), torchtitan (TOML) or deepspeed (JSON).
    What the file omits is a warning; a plan that the framework cannot run is an error that names the nearest one."""
    library, errors = _tool("launch"), Errors()
    name, keys, path = (job.name, job._keys, job._path) if isinstance(job, Job) else (job, {}, [])
    texts = [Texts([f"{key}={text}" for key, text in keys.items()], "a key"), Texts(path)]
    kept = [ffi.new("char[]", encode(one)) if one is not None else NULL for one in (format, name, version)]
    request = ffi.new("st_launch_export_request *", {
        "size": ffi.sizeof("st_launch_export_request"), "format": kept[0], "job": kept[1], "sets": texts[0].array,
        "set_count": texts[0].count, "folders": texts[1].array, "folder_count": texts[1].count, "version": kept[2], "slurm": slurm})
    buffer = Buffer()
    with _lock:
        errors.settle(library.st_launch_export(request, buffer.buffer, errors.list), format)
    return buffer.text()


__all__ = ["Picture", "Trace", "Validation", "export_job", "import_job", "read_trace", "text_of", "validate"]

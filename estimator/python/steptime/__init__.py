# SPDX-License-Identifier: Apache-2.0
"""steptime: the time of one step of distributed training, estimated from a sheet of named cells.

    import steptime as st
    job = st.Job("llama3-8b-8xh100")
    job["batch.micro"] = 2
    print(job.step_time, job.explain("T_bubble"))

Numbers are in base units (s, B, FLOP, J, $ and their products) and say so: `job.step_time.unit`. Keys are those of job files,
names of cells those of the sheet. docs/python.md is the guide.
"""
from __future__ import annotations

from ._errors import (CheckError, Error, FileError, InputError, LibraryError, MathError, Message, ProviderError,
                      SteptimeWarning, UnitError, UnknownNameError)
from ._job import Cell, Explanation, Job, Key, Picture, Quantity, Report

__version__ = "0.1.0"

# What most sessions never need is imported when it is asked for.
_LATER = {
    "Column": "_table", "Table": "_table",
    "sweep": "_plan", "search": "_plan", "Plan": "_plan", "Search": "_plan",
    "validate": "_tools", "Validation": "_tools", "read_trace": "_tools", "Trace": "_tools",
    "import_job": "_tools", "export_job": "_tools",
    "provider": "_provider", "Provider": "_provider",
}

__all__ = ["Cell", "CheckError", "Error", "Explanation", "FileError", "InputError", "Job", "Key", "LibraryError", "MathError", "Message", "Picture",
           "ProviderError", "Quantity", "Report", "SteptimeWarning", "UnitError", "UnknownNameError", *_LATER]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'steptime' has no attribute {name!r}")
    from importlib import import_module
    value = getattr(import_module(f"steptime.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})

# SPDX-License-Identifier: Apache-2.0
"""Errors: what the library reports, with place, found, expected and nearest name, as exceptions."""
from __future__ import annotations


class SteptimeWarning(UserWarning):
    """What the library warns about, and limits that an estimate exceeds, such as the memory of a GPU."""


class Message:
    """One error or warning: `message` and, where they add something, `file`, `line`, `column`, `found`, `expected` and
    `suggestion`. `severity` is "error", "warning" or "limit"."""

    __slots__ = ("severity", "status", "file", "line", "column", "message", "found", "expected", "suggestion")

    def __init__(self, severity: str, status: int, place: tuple[str, int, int], texts: tuple[str, str, str, str]) -> None:
        self.severity = severity
        self.status = status
        file, self.line, self.column = place
        self.file = file.removeprefix("--set ").removeprefix("--over ")  # the assignment itself
        self.message, self.found, self.expected, self.suggestion = texts

    def __str__(self) -> str:
        place = "".join(f"{part}:" for part in (self.file, self.line, self.column) if part)
        text = f"{place} {self.message}" if place else self.message
        if self.found:
            text += f": found {self.found}"
        if self.expected:
            text += f"{',' if self.found else ':'} expected {self.expected}"
        if self.suggestion:
            alternatives = self.suggestion.split(" or ")
            is_name = all(" " not in one for one in alternatives)
            names = " or ".join(f"'{one}'" for one in alternatives)
            text += f"; did you mean {names}?" if is_name else f"; {self.suggestion}"
        return text

    def __repr__(self) -> str:
        return f"<{self.severity}: {self}>"


class Error(Exception):
    """What the library refused; `messages` has all errors and warnings of the call."""

    def __init__(self, text: str, messages: tuple[Message, ...] = ()) -> None:
        super().__init__(text)
        self.messages = messages

    def __str__(self) -> str:
        return str(self.args[0])


class LibraryError(Error, ImportError):
    """The shared library is missing or of another release."""


class UnknownNameError(Error, KeyError):
    """A key, cell, job, plugin or file that does not exist; the text names the nearest one."""

    __str__ = Error.__str__


class UnitError(Error, ValueError):
    """Units that do not agree."""


class CheckError(Error, ValueError):
    """A check of the sheet fails: the configuration makes no sense."""


class MathError(Error, ArithmeticError):
    """A cell has no finite value."""


class ProviderError(Error, RuntimeError):
    """A plugin or a provider in Python refused or failed; what a function raised is its `__cause__`."""


class InputError(Error, ValueError):
    """A value, a text or a file that does not mean what it should; the text says what is expected."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""

    __str__ = Error.__str__


# By st_status (steptime/status.h).
_KINDS = {-1: MemoryError, -2: FileError, -3: InputError, -4: InputError, -5: UnitError, -6: UnknownNameError, -7: InputError,
          -8: InputError, -9: MathError, -10: CheckError, -11: InputError, -12: ProviderError}


def error_of(status: int, messages: tuple[Message, ...], what: str) -> Exception:
    """The exception for a status and what was reported with it."""
    if status == -1:
        return MemoryError(f"{what}: out of memory")
    errors = [one for one in messages if one.severity == "error"]
    text = "\n".join(str(one) for one in errors) or what
    kind = _KINDS.get(status, Error)
    if status in (-4, -11) and errors and errors[0].message.startswith(("unknown ", "cannot find ", "'")):
        kind = UnknownNameError
    return kind(text, messages)

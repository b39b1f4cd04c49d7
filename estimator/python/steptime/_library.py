# SPDX-License-Identifier: Apache-2.0
"""The shared libraries: found, checked for their release, called."""
from __future__ import annotations

import _thread  # threading itself takes a sixth of the time of this import
import os
import warnings
import weakref

from ._errors import LibraryError, Message, SteptimeWarning, error_of

_RELEASE = "0.1.0"
_SEVERITIES = ("error", "warning", "limit")
_here = os.path.dirname(os.path.abspath(__file__))

try:
    from ._declarations import ffi
except ImportError as fault:
    raise LibraryError(f"steptime needs cffi, and a package that was built: {fault}; install steptime with "
                       "'pip install .', or python3-cffi") from fault

NULL = ffi.NULL


def _folders() -> list[str]:
    """Where libraries may be: STEPTIME_LIBRARY alone if it is set, else a wheel's folder, and the build tree's."""
    given = os.environ.get("STEPTIME_LIBRARY")
    if given:
        return [given]
    return [os.path.join(os.path.dirname(_here), ".steptime.mesonpy.libs"),
            os.path.join(os.path.dirname(_here), "steptime.libs"), os.path.dirname(os.path.dirname(_here))]


def open_library(name: str):
    """Opens libNAME of this release; says where it looked."""
    given = os.environ.get("STEPTIME_LIBRARY")
    tried = []
    for folder in _folders():
        for file in (f"lib{name}.so.{_RELEASE}", f"lib{name}.so.0", f"lib{name}.so"):
            path = os.path.join(folder, file)
            if os.path.exists(path):
                return _open(path)
        tried.append(folder)
    if not given:
        try:
            return _open(f"lib{name}.so.0")
        except LibraryError:
            tried.append("the system's libraries")
    raise LibraryError(f"lib{name}.so.0 of steptime {_RELEASE} was not found in {', '.join(tried)}; install the library, or name "
                       "its folder with STEPTIME_LIBRARY")


def plugin_roots() -> list[str]:
    """Folders whose plugins/ are searched, after those that are asked for: a wheel's, and the build tree's."""
    roots = (os.path.join(os.path.dirname(_here), ".steptime.mesonpy.libs", "steptime"),
             os.path.dirname(os.path.dirname(os.path.dirname(_here))))
    return [one for one in roots if os.path.isdir(os.path.join(one, "plugins", "nccl-whitebox"))]


def _open(path: str):
    try:
        return ffi.dlopen(path)
    except OSError as fault:
        raise LibraryError(f"{path} cannot be loaded: {fault}") from None


def _checked(library):
    try:
        found = ffi.string(library.st_version()).decode()
    except (AttributeError, ffi.error):
        found = "older than 0.1.0"
    if found != _RELEASE:
        raise LibraryError(f"libsteptime is of release {found}, this module of {_RELEASE}: install both from one release")
    return library


def has(library, name: str) -> bool:
    try:
        return getattr(library, name) is not None
    except (AttributeError, ffi.error):
        return False


lib = _checked(open_library("steptime"))


def text_of(pointer) -> str:
    """A text of the library; "" for NULL."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else ""


def encode(text: object, what: str = "a text") -> bytes:
    """A text for the library, which ends it at a zero byte."""
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str):
        raise TypeError(f"{what} is of type {type(text).__name__}, expected a string")
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError(f"{what} contains a zero byte: {text!r}")
    return data


class Texts:
    """A list of texts as the library takes it: `array` and `count`."""

    __slots__ = ("kept", "array", "count")

    def __init__(self, texts, what: str = "a text") -> None:
        self.kept = [ffi.new("char[]", encode(text, what)) for text in texts]
        self.count = len(self.kept)
        self.array = ffi.new("char *[]", self.kept) if self.kept else NULL


class Errors:
    """A list of errors of the library, and what providers in Python raise meanwhile."""

    __slots__ = ("list", "providers", "raised", "rejected", "__weakref__")

    def __init__(self, providers=()) -> None:
        self.providers = providers
        self.raised: tuple[BaseException, str] | None = None  # what a provider raised first, and a line about it
        self.rejected = ""  # the last row that one returned without a value
        made = lib.st_errors_create()
        if not made:
            raise MemoryError("steptime: out of memory")
        self.list = ffi.gc(made, lib.st_errors_destroy)

    def take(self) -> tuple[Message, ...]:
        """All entries; the list is empty afterwards."""
        found = []
        for i in range(lib.st_errors_size(self.list)):
            one = lib.st_errors_at(self.list, i)
            found.append(Message(_SEVERITIES[one.severity], one.status,
                                 (text_of(one.place.file), one.place.line, one.place.column),
                                 (text_of(one.message), text_of(one.found), text_of(one.expected), text_of(one.suggestion))))
        lib.st_errors_clear(self.list)
        return tuple(found)

    def settle(self, status: int, what: str, stack: int = 3) -> None:
        """Raises what the call reported; what it only warns of becomes Python's warnings."""
        found, self.raised = self.raised, None
        if status == 0 and found is None and lib.st_errors_size(self.list) == 0:
            return
        messages = self.take()
        if found is not None and not isinstance(found[0], Exception):
            raise found[0]  # KeyboardInterrupt, SystemExit
        if status != 0 or found is not None:
            raise self.error(status or -12, messages, what, found)
        for one in messages:
            warnings.warn(str(one), SteptimeWarning, stacklevel=stack + 1)


    def error(self, status: int, messages: tuple[Message, ...], what: str, found=None) -> Exception:
        """The exception; `found` is what a provider in Python raised, and a line about it."""
        error = error_of(status, messages if found is None else (), found[1] if found is not None else what)
        if status == -12 and found is None:
            for one in self.providers:
                error.add_note(one.where())
        error.__cause__ = found[0] if found is not None else None
        return error


class Buffer:
    """A text that the library writes."""

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = ffi.gc(ffi.new("st_buffer *"), lib.st_buffer_free)

    def text(self) -> str:
        length = self.buffer.length
        return ffi.buffer(self.buffer.data, length)[:].decode("utf-8", "replace") if length else ""


# ---- threads, forks, and calls from providers ------------------------------------------------------------------------------

_inside = _thread._local()  # type: ignore[attr-defined]
_providers: set[int] = set()  # threads that are in one
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
forked = False  # this process is a child that has none of its parent's threads
WAIT = 5.0  # s, before a thread asks whether a provider waits for it


class InProvider:
    """While a provider in Python runs on this thread."""

    __slots__ = ()

    def __enter__(self) -> None:
        _inside.depth = getattr(_inside, "depth", 0) + 1
        _providers.add(_thread.get_ident())

    def __exit__(self, *_: object) -> None:
        _inside.depth -= 1
        _providers.discard(_thread.get_ident())


def refuse_in_provider(what: str) -> None:
    """A provider is part of an estimate that is running, and begins none."""
    if getattr(_inside, "depth", 0):
        raise RuntimeError(f"a provider cannot use {what}: it is part of an estimate that is running")


def begin(errors: Errors) -> None:
    """What plugins are opened for on this thread, from here on."""
    _inside.errors = errors


def current() -> Errors | None:
    return getattr(_inside, "errors", None)


class Lock:
    """One call at a time; other threads wait, except for one that a provider waits for."""

    __slots__ = ("lock", "owner", "what", "errors", "__weakref__")

    def __init__(self, what: str, errors: Errors | None = None) -> None:
        self.what = what
        self.errors = errors
        self.owner = 0
        self.lock = _thread.allocate_lock()
        _locks.add(self)

    def __enter__(self) -> None:
        if getattr(_inside, "depth", 0):
            refuse_in_provider(self.what)
        if not self.lock.acquire(False):
            while not self.lock.acquire(timeout=WAIT):
                if self.owner in _providers:
                    raise RuntimeError(f"{self.what} is in use by an estimate whose provider is running: use one "
                                       "Job per thread")
        self.owner = _thread.get_ident()
        _inside.errors = self.errors

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def _after_fork() -> None:
    global forked
    forked = True
    _inside.depth = 0
    _providers.clear()
    for one in list(_locks):
        one.lock = _thread.allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

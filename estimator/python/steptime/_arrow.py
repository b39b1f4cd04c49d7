# SPDX-License-Identifier: Apache-2.0
"""Columns and tables by the Arrow C data interface (arrow.apache.org/docs/format/CDataInterface): no copies.

A structure that is handed over keeps the column alive in `_alive` until its consumer calls `release`, from whatever thread. The
functions behind `release` are never freed, since a consumer may outlive this module.
"""
from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_uint32, c_void_p

from ._library import ffi


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                    ("children", POINTER(POINTER(_Schema))), ("dictionary", POINTER(_Schema)),
                    ("release", c_void_p), ("private_data", c_void_p)]
_Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                   ("n_children", c_int64), ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(_Array))),
                   ("dictionary", POINTER(_Array)), ("release", c_void_p), ("private_data", c_void_p)]
_Stream._fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p),
                    ("private_data", c_void_p)]

_alive: dict[int, object] = {}  # by private_data: all that a structure points to
_numbers = iter(range(1, 1 << 62))


def _keep(structure, kept: list, release) -> None:
    number = next(_numbers)
    structure.private_data = number
    structure.release = ctypes.cast(release, c_void_p)
    _alive[number] = kept


def _releaser(kind):
    """Releases children and dictionary, as the interface asks, then what the structure points to."""
    def release(pointer, alive=_alive) -> None:
        one = pointer.contents
        if kind is not _Stream:
            for i in range(one.n_children):
                _release(one.children[i])
            if one.dictionary:
                _release(one.dictionary)
        one.release = None
        alive.pop(one.private_data, None)
    made = CFUNCTYPE(None, POINTER(kind))(release)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))  # for ever
    return made


def _release(pointer) -> None:
    one = pointer.contents
    if one.release:
        CFUNCTYPE(None, c_void_p)(one.release)(ctypes.addressof(one))


_release_schema = _releaser(_Schema)
_release_array = _releaser(_Array)


def _metadata(pairs: dict[str, str]) -> bytes:
    text = c_uint32(len(pairs))
    made = bytes(text)
    for key, value in pairs.items():
        for part in (key.encode(), value.encode()):
            made += bytes(c_uint32(len(part))) + part
    return made


def _children(structure, kind, children: list, kept: list) -> None:
    pointers = (POINTER(kind) * max(1, len(children)))(*[ctypes.pointer(one) for one in children])
    kept += [pointers, children]
    structure.n_children = len(children)
    structure.children = ctypes.cast(pointers, POINTER(POINTER(kind)))


def _schema_of(of, name: str = "") -> _Schema:
    from ._table import _FORMATS, Table
    made = _Schema()
    kept: list[object] = []
    made.flags = 2  # values may be missing
    if isinstance(of, Table):
        made.format, made.name = b"+s", b""
        _children(made, _Schema, [_schema_of(of[one], one) for one in of], kept)
        made.flags = 0
    else:
        made.format = _FORMATS[of.kind][0]
        made.name = (name or of.name).encode()
        if of.kind == "text":
            words = _Schema()
            words.format, words.name, words.flags = b"u", b"", 2
            _keep(words, [], _release_schema)
            made.dictionary = ctypes.pointer(words)
            kept.append(words)
        elif of.unit:
            block = ctypes.create_string_buffer(_metadata({"unit": of.unit}))
            made.metadata = ctypes.addressof(block)
            kept.append(block)
    _keep(made, kept, _release_schema)
    return made


def _buffers(made: _Array, addresses: list, kept: list) -> None:
    block = (c_void_p * len(addresses))(*addresses)
    made.n_buffers = len(addresses)
    made.buffers = ctypes.cast(block, POINTER(c_void_p))
    kept.append(block)


def _words(values: list[str]) -> _Array:
    """The texts of a column: offsets and bytes."""
    made = _Array()
    kept: list[object] = []
    parts = [one.encode() for one in values]
    offsets = (ctypes.c_int32 * (len(parts) + 1))()
    for i, part in enumerate(parts):
        offsets[i + 1] = offsets[i] + len(part)
    data = ctypes.create_string_buffer(b"".join(parts))
    made.length = len(parts)
    _buffers(made, [None, ctypes.addressof(offsets), ctypes.addressof(data)], kept)
    _keep(made, [*kept, offsets, data], _release_array)
    return made


def _bits(marks: bytes, one: bytes = b"01"):
    """Bytes of 0 and 1 as Arrow packs truth values, eight to a byte, the lowest bit first; with b"10" their opposites."""
    text = marks[::-1].translate(one + bytes(254))
    return ctypes.create_string_buffer(int(text or b"0", 2).to_bytes(len(marks) // 8 + 1, "little"))


def _array_of(of) -> _Array:
    from ._table import Table
    made = _Array()
    kept: list[object] = [of]
    made.length = len(of)
    if isinstance(of, Table):
        _buffers(made, [None], kept)
        _children(made, _Array, [_array_of(of[one]) for one in of], kept)
    else:
        marks = values = None
        if of.missing is not None:
            marks, made.null_count = _bits(of.missing, b"10"), sum(of.missing)
        if of.kind == "bool":
            values = _bits(bytes(of.buffer()))
        kept += [marks, values]
        _buffers(made, [marks and ctypes.addressof(marks),
                        ctypes.addressof(values) if values else int(ffi.cast("uintptr_t", of.pointer))], kept)
        if of.kind == "text":
            words = _words(of.values)
            made.dictionary = ctypes.pointer(words)
            kept.append(words)
    _keep(made, kept, _release_array)
    return made


# ---- streams ---------------------------------------------------------------------------------------------------------------

class _Batch:
    """A table that is handed over once."""

    def __init__(self, table) -> None:
        self.table = table
        self.done = False


def _copy(to: int, made) -> None:
    ctypes.memmove(to, ctypes.addressof(made), ctypes.sizeof(made))


def _get_schema(stream, to, alive=_alive) -> int:
    try:
        _copy(to, _schema_of(alive[stream.contents.private_data][0].table))
        return 0
    except Exception:  # an errno: it must not cross the consumer
        return 5


def _get_next(stream, to, alive=_alive) -> int:
    try:
        batch = alive[stream.contents.private_data][0]
        _copy(to, _Array() if batch.done else _array_of(batch.table))
        batch.done = True
        return 0
    except Exception:
        return 5


_GET = CFUNCTYPE(c_int, POINTER(_Stream), c_void_p)
_callbacks = [_GET(_get_schema), _GET(_get_next), CFUNCTYPE(c_void_p, c_void_p)(lambda _: None)]
_release_stream = _releaser(_Stream)
for _one in _callbacks:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_one))

# ---- capsules --------------------------------------------------------------------------------------------------------------

_DESTRUCTOR = CFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, c_char_p, _DESTRUCTOR]
_get = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _capsule(made, name: bytes):
    """A consumer moves the structure out and clears `release`; else the capsule's end releases it."""
    kind = type(made)
    number = next(_numbers)
    _alive[number] = made
    _owners[ctypes.addressof(made)] = number
    return _new(ctypes.addressof(made), name, _ends[kind])


def _ender(kind, name: bytes):
    def end(capsule, alive=_alive, owners=None) -> None:
        address = _get(capsule, name)
        one = kind.from_address(address)
        if one.release:
            CFUNCTYPE(None, c_void_p)(one.release)(address)
        alive.pop(_owners.pop(address, 0), None)
    made = _DESTRUCTOR(end)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


_owners: dict[int, int] = {}
_ends = {_Schema: _ender(_Schema, b"arrow_schema"), _Array: _ender(_Array, b"arrow_array"),
         _Stream: _ender(_Stream, b"arrow_array_stream")}


def schema_capsule(of):
    return _capsule(_schema_of(of), b"arrow_schema")


def array_capsules(of):
    return schema_capsule(of), _capsule(_array_of(of), b"arrow_array")


def stream_capsule(table):
    made = _Stream()
    made.get_schema, made.get_next, made.get_last_error = [ctypes.cast(one, c_void_p) for one in _callbacks]
    _keep(made, [_Batch(table)], _release_stream)
    return _capsule(made, b"arrow_array_stream")

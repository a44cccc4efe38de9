# SPDX-License-Identifier: Apache-2.0
"""libtandem_training.so through ctypes: groups of ranks and the reducer of gradients, on raw pointers.

ctypes gives up Python's lock while a call runs, so a thread that waits for a ticket stops no other. Nothing here
knows PyTorch. Functions are those of host/training/c_api/tandem_training.h, which says what each promises.
"""

import ctypes
import json
import os
import pathlib
import threading
from typing import Any, Mapping, Optional, Protocol, Sequence

from tandem.errors import NonFiniteError, TandemError, TransportError

ABI = 2
DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "float64": 3}
_ERRORS = {2: TransportError, 3: NonFiniteError, 4: MemoryError}

_Pointer = ctypes.c_void_p
_PutFunction = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_char_p, _Pointer, ctypes.c_size_t)
_GetFunction = ctypes.CFUNCTYPE(ctypes.c_int64, _Pointer, ctypes.c_char_p, _Pointer, ctypes.c_size_t)


class _Store(ctypes.Structure):
    _fields_ = [("context", _Pointer), ("put", _PutFunction), ("get", _GetFunction)]


class Store(Protocol):
    """Where ranks meet: a map from keys to values that every rank reads and writes."""

    def put(self, key: str, value: bytes) -> bool:
        """Writes a key once. False: it has a value already."""

    def get(self, key: str) -> Optional[bytes]:
        """The key's value, or None as long as it has none. Never waits."""


_u32, _u64, _i64, _size = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t
_text, _int = ctypes.c_char_p, ctypes.c_int
_pointer = ctypes.POINTER


class _Bucket(ctypes.Structure):
    _fields_ = [("parameters", _pointer(_u32)), ("num_parameters", _size), ("values", _Pointer), ("type", _int),
                ("exact", _int), ("last", _int), ("device", _text), ("queue", _Pointer)]


# Name: argument types. All return a tandem_status, except for those in _RESULTS.
_FUNCTIONS = {
    "tandem_training_abi": [],
    "tandem_last_error": [],
    "tandem_free": [_Pointer],
    "tandem_group_create": [_text, _pointer(_Store), _pointer(_Pointer)],
    "tandem_group_abort": [_Pointer, _text],
    "tandem_group_destroy": [_Pointer],
    "tandem_reducer_create": [_Pointer, _text, _pointer(_Pointer)],
    "tandem_reducer_check_options": [_text],
    "tandem_reducer_destroy": [_Pointer],
    "tandem_reducer_add_parameter": [_Pointer, _text, _pointer(_i64), _int, _pointer(_u32)],
    "tandem_reducer_submit_bucket": [_Pointer, _pointer(_Bucket), _pointer(_u64)],
    "tandem_training_device": [_text],
    "tandem_reducer_end_step": [_Pointer],
    "tandem_reducer_submit_rows": [_Pointer, _u32, _Pointer, _size, _Pointer, _int, _int, _pointer(_u64)],
    "tandem_reducer_wait": [_Pointer, _u64],
    "tandem_reducer_take_rows": [_Pointer, _u64, _pointer(_Pointer)],
    "tandem_rows_count": [_Pointer],
    "tandem_rows_copy": [_Pointer, _Pointer, _Pointer],
    "tandem_rows_destroy": [_Pointer],
    "tandem_reducer_state": [_Pointer, _pointer(_Pointer), _pointer(_size)],
    "tandem_reducer_restore": [_Pointer, _Pointer, _size],
    "tandem_reducer_statistics": [_Pointer, _pointer(_Pointer)],
}
_RESULTS = {"tandem_last_error": _text, "tandem_rows_count": _size, "tandem_free": None, "tandem_group_abort": None,
            "tandem_group_destroy": None, "tandem_reducer_destroy": None, "tandem_rows_destroy": None}
_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def library_path() -> pathlib.Path:
    """Where libtandem_training.so is: beside this file, unless TANDEM_TRAINING_LIBRARY names another."""
    given = os.environ.get("TANDEM_TRAINING_LIBRARY")
    return pathlib.Path(given) if given else pathlib.Path(__file__).with_name("libtandem_training.so")


def load() -> ctypes.CDLL:
    """The library, loaded once."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _open(library_path())
        return _loaded


def _open(path: pathlib.Path) -> ctypes.CDLL:
    if not path.is_file():
        raise TandemError(f"{path} does not exist: build it in Tandem's tree (cmake --build --preset release --target "
                          "tandem_python) and use build/release/python, or name it in TANDEM_TRAINING_LIBRARY")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise TandemError(f"{path} cannot be loaded: {error}. Install the Debian packages that it needs (libgloo0, "
                          "libopenmpi3), or build it on this machine") from error
    library.tandem_training_abi.restype = _int
    if library.tandem_training_abi() != ABI:
        raise TandemError(f"{path} has version {library.tandem_training_abi()} of the interface, this package needs "
                          f"{ABI}: install both from one build of Tandem")
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = _RESULTS.get(name, _int)
    return library


def check(status: int) -> None:
    """Raises what the status of a call says."""
    if status != 0:
        text = (load().tandem_last_error() or b"").decode(errors="replace")
        raise _ERRORS.get(status, TandemError)(text or f"status {status} without a text")


def check_options(options: Mapping[str, Any]) -> None:
    """Raises what a Reducer with these options would raise; needs no group."""
    check(load().tandem_reducer_check_options(_json(options)))


class _Callbacks:
    """A Store as the library calls it. An exception of the store is kept: C cannot pass it on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.error: Optional[BaseException] = None
        self._put, self._get = _PutFunction(self._on_put), _GetFunction(self._on_get)
        self.structure = _Store(None, self._put, self._get)

    def _on_put(self, _context: Any, key: bytes, value: Any, size: int) -> int:
        if self.error is not None:
            return -1
        try:
            return int(self._store.put(key.decode(), ctypes.string_at(value, size) if size else b""))
        except BaseException as error:  # noqa: B902: every kind must stop here
            self.error = error
            return -1

    def _on_get(self, _context: Any, key: bytes, value: Any, capacity: int) -> int:
        if self.error is not None:
            return -2
        try:
            found = self._store.get(key.decode())
            if found is None:
                return -1
            ctypes.memmove(value, found, min(len(found), capacity))
            return len(found)
        except BaseException as error:  # noqa: B902
            self.error = error
            return -2


class Group:
    """Ranks that reduce together. Creating one waits until every rank has come."""

    def __init__(self, options: Mapping[str, Any], store: Optional[Store] = None) -> None:
        self.handle = _Pointer()
        self._callbacks = _Callbacks(store) if store is not None else None
        if options.get("transport") == "mpi":  # calls nothing back, and wants to be begun by the program's own thread
            self._create(options)
            return
        failure: "list[BaseException]" = []

        def create() -> None:
            try:
                self._create(options)
            except BaseException as error:  # noqa: B902: the caller's thread raises it
                failure.append(error)

        # Python delivers Ctrl-C to the main thread. In a callback of the library it would be lost there.
        thread = threading.Thread(target=create, name="tandem-meet", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            if self._callbacks is not None:
                self._callbacks.error = InterruptedError("this rank was interrupted while it waited for the others")
            thread.join(5)
            raise
        if failure:
            raise failure[0]

    def _create(self, options: Mapping[str, Any]) -> None:
        given = ctypes.byref(self._callbacks.structure) if self._callbacks else None
        status = load().tandem_group_create(_json(options), given, ctypes.byref(self.handle))
        if status != 0 and self._callbacks is not None and self._callbacks.error is not None:
            raise TransportError(f"the store where ranks meet failed: {self._callbacks.error}") from \
                self._callbacks.error
        check(status)

    def abort(self, reason: str) -> None:
        """Ends all waits, here and soon on the other ranks."""
        if self.handle:
            load().tandem_group_abort(self.handle, reason.encode())

    def destroy(self) -> None:
        """After the group's reducers."""
        handle, self.handle = self.handle, _Pointer()
        if handle:
            load().tandem_group_destroy(handle)


class Reducer:
    """Mean of gradients over a group, sparsified. Calls are queued; every rank makes the same in the same order."""

    def __init__(self, group: Group, options: Mapping[str, Any]) -> None:
        self._library = load()
        self.handle = _Pointer()
        check(self._library.tandem_reducer_create(group.handle, _json(options), ctypes.byref(self.handle)))

    def add_parameter(self, name: str, shape: Sequence[int]) -> int:
        """The parameter's number."""
        number = _u32()
        sizes = (_i64 * max(len(shape), 1))(*shape)
        check(self._library.tandem_reducer_add_parameter(self._open(), name.encode(), sizes, len(shape),
                                                         ctypes.byref(number)))
        return number.value

    def submit(self, parameters: Sequence[int], values: int, dtype: str, *, exact: int, last: bool,
               place: "Optional[tuple[str, int]]" = None) -> int:
        """Queues a bucket, whose values lie at the address `values`; the ticket. exact: 1 for a dense sum, 2 for one with
        the residuals.

        `place`: a device and its stream's handle, where the values lie in the device's memory."""
        ticket = _u64()
        numbers = (_u32 * max(len(parameters), 1))(*parameters)
        device, queue = (place[0].encode(), place[1]) if place is not None else (None, None)
        bucket = _Bucket(numbers, len(parameters), values, _number_of(dtype), exact, last, device, queue)
        check(self._library.tandem_reducer_submit_bucket(self._open(), ctypes.byref(bucket), ctypes.byref(ticket)))
        return ticket.value

    def submit_rows(self, parameter: int, rows: "tuple[int, int]", values: int, dtype: str, *, last: bool) -> int:
        """Queues a row-sparse gradient; `rows` is the address of the row numbers and their count."""
        ticket = _u64()
        check(self._library.tandem_reducer_submit_rows(self._open(), parameter, rows[0], rows[1], values,
                                                       _number_of(dtype), last, ctypes.byref(ticket)))
        return ticket.value

    def end_step(self) -> None:
        """Ends the step after its calls, where none of them was the last. Sends nothing."""
        check(self._library.tandem_reducer_end_step(self._open()))

    def wait(self, ticket: int) -> None:
        """Until the call is done, at most its timeout. Raises the call's error."""
        check(self._library.tandem_reducer_wait(self._open(), ticket))

    def take_rows(self, ticket: int) -> "Rows":
        """The result of a submit_rows after its wait."""
        handle = _Pointer()
        check(self._library.tandem_reducer_take_rows(self._open(), ticket, ctypes.byref(handle)))
        return Rows(self._library, handle)

    def state(self) -> bytes:
        """What this rank carries between steps, by parameter name."""
        memory, size = _Pointer(), _size()
        check(self._library.tandem_reducer_state(self._open(), ctypes.byref(memory), ctypes.byref(size)))
        try:
            return ctypes.string_at(memory, size.value) if size.value else b""
        finally:
            self._library.tandem_free(memory)

    def restore(self, state: bytes) -> None:
        """The inverse of state()."""
        check(self._library.tandem_reducer_restore(self._open(), state, len(state)))

    def statistics(self) -> "dict[str, Any]":
        """Steps and, per bucket, densities, bytes and seconds; see README.md."""
        memory = _Pointer()
        check(self._library.tandem_reducer_statistics(self._open(), ctypes.byref(memory)))
        try:
            return json.loads(ctypes.string_at(memory).decode())
        finally:
            self._library.tandem_free(memory)

    def destroy(self) -> None:
        """Waits for calls in flight, at most their timeouts."""
        handle, self.handle = self.handle, _Pointer()
        if handle:
            self._library.tandem_reducer_destroy(handle)

    def _open(self) -> Any:
        if not self.handle:
            raise TandemError("this reducer is closed: make a new one")
        return self.handle


class Rows:
    """Rows of a row-sparse mean, sorted and unique; copied once, then destroyed."""

    def __init__(self, library: ctypes.CDLL, handle: Any) -> None:
        self._library, self._handle = library, handle

    def __len__(self) -> int:
        return self._library.tandem_rows_count(self._handle)

    def copy(self, indices: int, values: int) -> None:
        """To the addresses `indices` (i64 each) and `values`."""
        check(self._library.tandem_rows_copy(self._handle, indices, values))

    def destroy(self) -> None:
        """Gives the memory back."""
        self._library.tandem_rows_destroy(self._handle)


def _json(options: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(options).encode()
    except (TypeError, ValueError) as error:
        raise TandemError(f"the options {dict(options)} are no plain values: {error}") from None


def reduces_on(device: str) -> bool:
    """Whether this library, on this machine, reduces gradients in the memory of "cuda:0" and the like."""
    return load().tandem_training_device(device.encode()) == 0


def _number_of(dtype: str) -> int:
    number = DTYPES.get(dtype)
    if number is None:
        raise TandemError(f"gradients of type {dtype} cannot be reduced: use one of {', '.join(sorted(DTYPES))}")
    return number

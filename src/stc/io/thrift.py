"""A reader of Thrift's compact protocol, as far as Parquet uses it."""

from __future__ import annotations

from mmap import mmap
from typing import Any

# Structs within structs; Parquet needs half as many.
_MAX_DEPTH = 16
# Values in all: far more than the footer of a model file has.
_MAX_VALUES = 1 << 20
# Bits of the largest integer.
_MAX_BITS = 70

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
# The length of a list that is at least this long follows as an integer.
_LONG = 15


class ThriftError(ValueError):
    """Raised for bytes that are not of the compact protocol; turned into a ModelFileError."""


class ThriftReader:
    """Reads values one after the other, never beyond `end`.

    Parameters
    ----------
    data
        The bytes.
    position, end
        Where to start and where to end.
    """

    def __init__(self, data: bytes | mmap, position: int, end: int) -> None:
        self._data = data
        self._end = min(end, len(data))
        self.position = position
        self._values = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct; return the value of each field by its number."""
        if depth > _MAX_DEPTH:
            raise ThriftError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._values += 1
        if self._values > _MAX_VALUES:
            raise ThriftError("too many values")
        if kind in (_TRUE, _FALSE, _BYTE):  # a boolean in a list is a byte
            return self._byte()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < _LONG else self._unsigned()
            if size > self._end - self.position:  # each takes a byte at least
                raise ThriftError("a list is longer than the file")
            return [self._value(head & 15, depth + 1) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ThriftError(f"a value has the unknown type {kind}")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        if size > self._end - self.position:
            raise ThriftError("it ends too early")
        self.position += size
        return self._data[self.position - size : self.position]

    def _unsigned(self) -> int:
        number = shift = 0
        while shift < _MAX_BITS:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise ThriftError("an integer is too long")

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

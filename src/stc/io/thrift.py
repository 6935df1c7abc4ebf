"""Thrift's compact protocol, as far as Parquet needs it: plain numbers, texts, lists and structs.

It tells what a file claims to hold before anything is decoded by it.
"""

from __future__ import annotations

from typing import Any

# Structs within structs; Parquet needs half as many.
_DEEPEST = 16
# Values in all: far more than a file of a model describes.
_MOST = 1 << 20
# Bits of the largest number.
_BITS = 70

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
# A list of at least this many tells its length apart.
_LONG = 15


class ThriftError(ValueError):
    """Bytes that are not what they should be."""


class Reader:
    """Reads values one after the other, and never beyond `end`.

    Parameters
    ----------
    data
        The bytes.
    at, end
        Where to begin, and where to end.
    """

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data = data
        self._end = min(end, len(data))
        self.at = at
        self._values = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A struct: the value of each of its fields, by number."""
        if depth > _DEEPEST:
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
        if self._values > _MOST:
            raise ThriftError("it holds too much")
        if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a truth is a byte
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
            if size > self._end - self.at:  # each takes a byte at least
                raise ThriftError("a list is longer than the file")
            return [self._value(head & 15, depth + 1) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ThriftError(f"there is a value of type {kind}, which Parquet does not have")

    def _byte(self) -> int:
        if self.at >= self._end:
            raise ThriftError("it ends too early")
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        if size > self._end - self.at:
            raise ThriftError("it ends too early")
        self.at += size
        return self._data[self.at - size : self.at]

    def _unsigned(self) -> int:
        number = shift = 0
        while shift < _BITS:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise ThriftError("a number is too long")

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

"""Models as plain data and as Parquet files: one description of the header, one serializer."""

from stc.exceptions import ModelFileError
from stc.io.header import header_of, parameters_of
from stc.io.lock import locked
from stc.io.parquet_reader import read_model
from stc.io.parquet_writer import write_model
from stc.io.serializer import ENTRIES, Archive, entries_of, from_archive, to_archive

__all__ = [
    "ENTRIES",
    "Archive",
    "ModelFileError",
    "entries_of",
    "from_archive",
    "header_of",
    "locked",
    "parameters_of",
    "read_model",
    "to_archive",
    "write_model",
]

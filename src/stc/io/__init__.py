"""Models as plain data and as Parquet files: one description of the header, one serializer."""

from stc.exceptions import ModelFileError
from stc.io.header import header_of, parameters_of
from stc.io.lock import exclusively
from stc.io.parquet_reader import read_model
from stc.io.parquet_writer import write_model
from stc.io.serializer import ENTRIES, Archive, archived, entries_of, restored

__all__ = [
    "ENTRIES",
    "Archive",
    "ModelFileError",
    "archived",
    "entries_of",
    "exclusively",
    "header_of",
    "parameters_of",
    "read_model",
    "restored",
    "write_model",
]

"""Models as plain data and as Parquet files: one description of the header, one serializer."""

from stc.exceptions import ModelFileError
from stc.io.archive_reader import read_archive, read_header
from stc.io.header import header_of, is_fitted, unfitted_header
from stc.io.lock import locked
from stc.io.parquet_reader import read_model
from stc.io.parquet_writer import write_model
from stc.io.plain import from_plain, to_plain
from stc.io.serializer import ENTRIES, OF_CLASSES, Archive, entries_of, from_archive, to_archive

__all__ = [
    "ENTRIES",
    "OF_CLASSES",
    "Archive",
    "ModelFileError",
    "entries_of",
    "from_archive",
    "from_plain",
    "header_of",
    "is_fitted",
    "locked",
    "read_archive",
    "read_header",
    "read_model",
    "to_archive",
    "to_plain",
    "unfitted_header",
    "write_model",
]

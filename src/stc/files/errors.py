"""What is raised for a file that is no model."""

from __future__ import annotations


class ModelFileError(ValueError):
    """Raised when a file is not a model that can be opened.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import stc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.txt"
    ...     _ = path.write_text("no model")
    ...     try:
    ...         stc.load(path)
    ...     except stc.ModelFileError as error:
    ...         print(str(error).removeprefix(folder))
    /note.txt is no model that can be opened: it is no Parquet file
    """

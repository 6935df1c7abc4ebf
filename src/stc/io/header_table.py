"""The table of header fields in docs/format.md: `python -m stc.io.header_table docs/format.md`."""

from __future__ import annotations

import sys
from pathlib import Path

from stc.io.header import FIELDS

_START = "<!-- written by `python -m stc.io.header_table docs/format.md` -->\n"
_END = "<!-- end -->\n"


def table() -> str:
    """Return the fields of the header as a Markdown table."""
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in FIELDS.items():
        note = " Only in files." if field.file_only else ""
        rows.append(f"| `{name}` | {field.shape.text} | {field.meaning}{note} |")
    return "\n".join(rows) + "\n"


def updated(text: str) -> str:
    """Return the text of docs/format.md with the table of today."""
    before, _, rest = text.partition(_START)
    return before + _START + table() + _END + rest.partition(_END)[2]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(updated(path.read_text()))

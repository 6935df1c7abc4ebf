"""Lines of code, without blank lines, comments and docstrings.

Run with `python tests/support/count_lines.py src tests`, in two trees to compare them.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

IGNORED = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def lines_of_code(text: str) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, docstring.end_lineno + 1))
    return len(lines)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(sum(lines_of_code(p.read_text()) for p in Path(folder).rglob("*.py")), folder)

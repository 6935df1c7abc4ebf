"""The entry point of the command `stc`: Ctrl-C is quiet from the first import on."""

import _signal

# While Python imports, Ctrl-C would show a traceback; with this, it ends the process.
_before = _signal.getsignal(_signal.SIGINT)
if _before is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> int:
    """Run the command; from here on, it handles Ctrl-C itself."""
    from stc.cli import main as run

    try:
        _signal.signal(_signal.SIGINT, _before)
        return run()
    except KeyboardInterrupt:  # before the command has begun
        return 130

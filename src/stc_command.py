"""The entry point of the command `stc`: Ctrl-C is quiet from the first import on."""

import signal

# While Python imports, Ctrl-C would show a traceback; with this, it ends the process.
_before = signal.getsignal(signal.SIGINT)
if _before is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command; from here on, it handles Ctrl-C itself."""
    from stc.cli import main as run

    try:
        signal.signal(signal.SIGINT, _before)
        return run()
    except KeyboardInterrupt:  # before the command has begun
        return 130

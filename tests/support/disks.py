"""Disks that are small, read-only or locked; a test is skipped only where nobody may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _mount(*arguments: object) -> None:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mount is not permitted: {done.stderr.strip()}")


@contextmanager
def disk(folder: Path, size: str = "64m") -> Iterator[Path]:
    """Mount an empty disk of a size at a new folder."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a disk read-only for as long as the context lasts."""
    _mount("-o", "remount,ro", folder)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)


@contextmanager
def read_only_view(folder: Path, view: Path) -> Iterator[Path]:
    """Show a folder at another path, where it is read-only."""
    view.mkdir()
    _mount("--bind", folder, view)
    try:
        _mount("-o", "remount,bind,ro", view)
        yield view
    finally:
        subprocess.run(["umount", "--lazy", view], check=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let nobody change a file, or create files in a folder: not even root."""
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    root = os.geteuid() == 0
    if root and subprocess.run(["chattr", "+i", path], capture_output=True).returncode:
        path.chmod(mode)
        pytest.skip("root writes to every file of this disk")
    try:
        yield
    finally:
        if root:
            subprocess.run(["chattr", "-i", path], check=True)
        path.chmod(mode)

"""The only places where patching changes a disk, one call for one change."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write a new file and hand it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def set_mode(path: Path, like: Path) -> None:
    """Give a file the permissions of another."""
    path.chmod(stat.S_IMODE(like.stat().st_mode))


def replace(path: Path, target: Path) -> None:
    """Rename; what was there is gone."""
    path.replace(target)


def remove(path: Path) -> None:
    """Delete a file."""
    path.unlink()


def make_folder(path: Path) -> None:
    """Make one folder."""
    path.mkdir()


def remove_folder(path: Path) -> None:
    """Delete an empty folder."""
    path.rmdir()


def make_folders(path: Path) -> None:
    """Make a folder and those above it."""
    if not path.is_dir():
        make_folders(path.parent)
        make_folder(path)


def remove_tree(path: Path) -> None:
    """Delete a folder of ours with all in it; nothing if it is not there."""
    if not path.is_dir():
        return
    for each in sorted(path.iterdir()):
        if each.is_dir() and not each.is_symlink():
            remove_tree(each)
        else:
            remove(each)
    remove_folder(path)

"""Profile files that differ a little from the user's: other pools, the spelling of a version."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.files import read_bytes
from neuralart.text.json_values import parse

_DESCRIPTION_KEYS = ("machine_desc", "memory_desc")


def description(base: Path, name: str, display: str = "") -> Path | None:
    """The machine description that a profile names.

    Raises:
        NeuralArtError: It is not there.
    """
    document = parse(read_bytes(base), display or str(base), relaxed=True)
    members = document.need("Profiles").need(name).mapping()
    written = next((members[key] for key in _DESCRIPTION_KEYS if key in members), None)
    if written is None:
        return None
    path = base.parent / written.string()
    if not path.is_file():
        written.fail(
            f"profile '{name}' names the machine description '{written.value}': no such file, looked for at {path}",
            "the path is relative to the profile file",
        )
    return path


def reference(path: Path, folder: Path) -> str:
    """How a file is named relative to a folder, with ``/``; absolute where another drive holds it."""
    try:
        return os.path.relpath(path.absolute(), folder.resolve()).replace("\\", "/")
    except ValueError:
        return path.absolute().as_posix()


def derive(
    base: Path | None,
    name: str,
    *,
    options: Sequence[str],
    memory_pool: str,
    description: str = "",
    description_key: str = "machine_desc",
    display: str = "",
) -> str:
    """The text of a profile file with one profile.

    Args:
        base: The file it is derived from; what is not named here is kept from it. None: from nothing.
        name: Of the profile, here and there.
        options: All its options.
        memory_pool: The pool file, relative to where the text will be.
        description: The machine description, likewise; empty: none.
        description_key: What the tool's version calls it.
        display: The base in messages.
    """
    globals_: Any = {}
    profile: dict[str, Any] = {}
    if base is not None:
        document = parse(read_bytes(base), display or str(base), relaxed=True)
        globals_ = document.value.get("Globals", {})
        profile = dict(document.value["Profiles"][name])
    for key in _DESCRIPTION_KEYS:
        profile.pop(key, None)
    profile["memory_pool"] = memory_pool
    profile["options"] = shlex.join(options)
    if description:
        profile[description_key] = description
    return json.dumps({"Globals": globals_, "Profiles": {name: profile}}, indent=1, ensure_ascii=True) + "\n"

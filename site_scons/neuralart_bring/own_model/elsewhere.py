"""A network in a tree that another build builds: ``neuralart new --for WORLD``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.resources import templates

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart_bring.own_model.project import Names

_TEMPLATES = Path(__file__).with_name("templates")
_SUFFIX = ".j2"


@dataclass(frozen=True)
class World:
    """A build that is not this project's. Its files are the templates in the folder of its name."""

    next: str  # What a user does with the folder, with its name for ``{0}`` and the network's for ``{1}``
    models: str = ""  # Folder of the model


WORLDS = {
    "cmake": World("cmake -S {0} -B {0}/build; cmake --build {0}/build", "models/"),
    "modm": World("name both repositories in {0}/project.xml; cd {0}; lbuild build; scons"),
    "platformio": World("name your board in {0}/platformio.ini; pio run -d {0}", "models/"),
    "rt-thread": World("put {0} below packages of your BSP; define PKG_USING_{1} in rtconfig.h; scons"),
}


def model_path(world: str, names: Names) -> str:
    """Where its model is in the folder."""
    return f"{WORLDS[world].models}{names.network}{names.suffix}"


def files(world: str, names: Names, board: Board, memory: str = "") -> dict[str, bytes]:
    """Files of the folder, but for the model.

    Args:
        world: A key of ``WORLDS``.
        names: Of the network.
        board: What it is compiled for.
        memory: The network's key of that name; empty: without.
    """
    environment, top = templates(_TEMPLATES), _TEMPLATES / "worlds" / world
    said = {"network": names.network, "macro": names.network.upper(), "board": board.name, "memory": memory}
    said["model"] = model_path(world, names)
    return {
        path.relative_to(top).as_posix().removesuffix(_SUFFIX): environment.get_template(
            path.relative_to(_TEMPLATES).as_posix()
        )
        .render(said)
        .encode("utf-8")
        for path in sorted(top.rglob(f"*{_SUFFIX}"))
    }

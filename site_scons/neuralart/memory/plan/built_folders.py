"""Where the networks of the last build of a variant are."""

from __future__ import annotations

from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts


def network_folders(index: Path) -> dict[str, Path]:
    """Folders of the networks of a build, by name.

    Args:
        index: ``index.json`` of the variant, as :func:`neuralart.memory.plan.last_build.read` has approved of it.

    Raises:
        NeuralArtError: It is no index, or a file that it lists is not there.
    """
    try:
        names = [name for name in jsontext.loads(read_bytes(index))["artefacts"] if name.endswith("/network.json")]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NeuralArtError(
            f"not the index of a build: {error}", where=str(index), hint="build the variant again"
        ) from error
    for top in index.resolve().parents:
        if all((top / name).is_file() for name in names):
            return {facts.load(top / name).name: (top / name).parent for name in names}
    raise NeuralArtError(
        f"files of the last build are gone, {names[0]} first", where=str(index), hint="build the variant again"
    )

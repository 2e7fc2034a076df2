"""Models of users: every layer byte-equal to LiteRT natively, or one line that says what is not supported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from support.cases import layers
from support.host_c import native
from support.servers.messages import one_message

ROOT = Path(os.environ.get("NEURALART_REAL_DATA", ""))
MODELS = sorted(ROOT.rglob("*.tflite")) if os.environ.get("NEURALART_REAL_DATA") else []

pytestmark = [
    pytest.mark.real,
    pytest.mark.hostcc,
    pytest.mark.skipif(not os.environ.get("NEURALART_REAL_DATA"), reason="NEURALART_REAL_DATA is not set"),
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable() or "it does"),
]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_layer(path: Path, tmp_path: Path) -> None:
    try:
        assert layers.wrong(path, "net", tmp_path, 2) == []
    except NeuralArtError as error:
        # Not an int8 or uint8 model of operators that are supported: it says so in one line, and names the place.
        assert one_message(str(error)).startswith(str(path))
        pytest.skip(str(error).removeprefix(f"{path}"))
    except (RuntimeError, ValueError) as error:
        pytest.skip(f"LiteRT itself: {str(error)[:100]}")

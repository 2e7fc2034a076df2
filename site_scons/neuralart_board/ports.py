"""Ports that a board talks on, by pyserial."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError

_BAUD = 921600  # Of the vendor's firmware for the STM32N6


def of_descriptor(text: str) -> tuple[str, int] | None:
    """Port and baud rate of a descriptor of the vendor's tools, in any order: ``serial:COM4:921600``, ``:921600``,
    ``socket:HOST:PORT``; also URLs of pyserial and ``/dev/...``. An empty port: not told. None: a file, by its look.
    """
    domain, *words = text.split(":")
    if "://" in text or (text.startswith("/dev/") and not Path(text).is_file()):
        return text, _BAUD
    if not text or domain not in ("serial", "socket", ""):
        return None
    named = [word for word in words if word and not word.isdecimal()]
    numbers = [int(word) for word in words if word.isdecimal()]
    if len(named) > 1 or len(numbers) > 1:
        raise NeuralArtError("not a port", where=text, hint="for example serial:/dev/ttyACM0:921600, socket:HOST:PORT")
    if domain == "socket":
        return f"socket://{named[0] if named else 'localhost'}:{numbers[0] if numbers else 10000}", _BAUD
    return (named[0] if named else ""), (numbers[0] if numbers else _BAUD)


@contextlib.contextmanager
def _failing(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, TypeError) as error:  # Its SerialException is an OSError
        raise NeuralArtError(f"the port fails: {error}", where=url, hint="does another program use it?") from error


_LOOK = 0.02  # Seconds of one look at a port. To change it is to send all settings again, over a network (RFC 2217)


class BoardPort:
    """A port as a :class:`~neuralart_virtual.validation_link.messages.ByteStream`."""

    def __init__(self, url: str, baud: int) -> None:
        """Open a device or URL of pyserial. NeuralArtError: it cannot be opened."""
        try:
            serial: Any = importlib.import_module("serial")
        except ImportError as error:
            hint = "pip install 'scons-neuralart[serial]'"
            raise NeuralArtError("pyserial is not installed", where=url, hint=hint) from error
        self._url = url
        with _failing(url):
            # Over a network there is no limit for writing.
            limit = {} if url.startswith("rfc2217:") else {"write_timeout": 10.0}
            self._port: Any = serial.serial_for_url(url, baudrate=baud, timeout=_LOOK, **limit)

    def write(self, data: bytes) -> None:
        """Send bytes. NeuralArtError: the port fails."""
        with _failing(self._url):
            self._port.write(data)

    def read(self, seconds: float | None) -> bytes:
        """Bytes that come in time; None: no limit. NeuralArtError: the port fails, or the other side is gone."""
        left, data = seconds, b""
        with _failing(self._url):
            while not data and (left is None or left > 0):
                data = bytes(self._port.read(max(1, self._port.in_waiting)))
                left = left if left is None else left - _LOOK
        return data

    def close(self) -> None:
        """Let go of the port."""
        connection = getattr(self._port, "_socket", None)
        with contextlib.suppress(OSError):
            self._port.close()
        if connection is not None:
            connection.close()  # Where the other side is gone, pyserial leaves it open

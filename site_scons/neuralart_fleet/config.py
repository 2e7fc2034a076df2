"""``cache:`` and ``execute:`` of variants.yaml, and variables of the process: other machines that a build uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from neuralart.config.keys import PROJECT, AddedKey, Key, distinct, names, one_of, real
from neuralart.errors import NeuralArtError
from neuralart.plugins import register
from neuralart.text.values import Value

_ACCESS = ("read-write", "read-only", "write-only")
STEPS = ("vendor", "reference", "relocatable", "run")


@dataclass(frozen=True)
class CacheConfig:
    """A cache on another machine."""

    KIND: ClassVar = "cache"
    VARIABLE: ClassVar = "NEURALART_CACHE"
    SCHEMES: ClassVar[Sequence[str]] = ("http", "https", "grpc", "grpcs")

    url: str  # Without a name and a password
    access: str = "read-write"
    timeout: float = 10.0  # Seconds for an answer, and one more for each MB
    salt: str = ""  # Only machines with the same one share
    user: str = field(default="", repr=False)  # Of a URL of the process
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class FarmConfig(CacheConfig):
    """A farm of machines that do steps."""

    KIND: ClassVar = "farm"
    VARIABLE: ClassVar = "NEURALART_EXECUTE"
    SCHEMES: ClassVar[Sequence[str]] = ("grpc", "grpcs")

    properties: tuple[tuple[str, str], ...] = ()  # What a worker must have, by name
    environment: tuple[tuple[str, str], ...] = ()  # Variables of commands there
    steps: tuple[str, ...] = STEPS  # What is done there
    queue: float = 60.0  # Seconds until a worker begins
    longest: float = 3600.0  # Seconds of a step, with its waiting


def _read_url(kind: type[CacheConfig], text: str, refused: Callable[[str, str], NeuralArtError]) -> CacheConfig:
    """A URL, of which no error says the text: it may hold a password."""
    try:
        parts = urlsplit(text)
        usable = (
            parts.scheme in kind.SCHEMES and parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
        )
    except ValueError:
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        known, such = ", ".join(f"{name}://" for name in kind.SCHEMES), f"{kind.SCHEMES[0]}://{kind.KIND}.lan:9090"
        raise refused(f"is no URL of a {kind.KIND}", f"such as {such}; it begins with one of {known}")
    url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    return kind(url, user=unquote(parts.username or ""), password=unquote(parts.password or ""))


def _url(kind: type[CacheConfig], value: Value) -> str:
    found = _read_url(kind, value.text(), value.error)
    if found.user or found.password:
        hint = f"others read this file: use ~/.netrc, {kind.VARIABLE}_TOKEN, or {kind.VARIABLE} with the whole URL"
        raise value.error("holds a name or a password", hint)
    return found.url


def _pairs(value: Value) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, entry.text()) for name, entry in value.mapping().items()))


_TIMEOUT = Key("timeout", real(0.1, 3600.0), "seconds for an answer; for a file one more for each MB", "10")
_URL = "`http://`, `https://`, `grpc://` or `grpcs://`, with host, port and path"
_STEPS = "list of what is done there: `vendor` and `reference` (compiles), `relocatable`, `run`"
KEYS: tuple[Key, ...] = (
    Key("url", partial(_url, CacheConfig), _URL, "refused"),
    Key("access", one_of(_ACCESS), "`read-write`, `read-only` or `write-only`"),
    _TIMEOUT,
    Key("salt", Value.text, "any text: machines share only with those that have the same one", "empty"),
)
FARM_KEYS: tuple[Key, ...] = (
    Key(
        "url", partial(_url, FarmConfig), "`grpc://` or `grpcs://`, with host and port; a path: an instance", "refused"
    ),
    Key("properties", _pairs, "what a worker must have, as the farm calls it: `{stedgeai: 4.0.1}`", "nothing"),
    Key("environment", _pairs, "variables of commands there, such as `PATH` and `STEDGEAI_CORE_DIR`", "none"),
    Key("steps", lambda value: distinct(value, one_of(STEPS)), _STEPS, "all of them"),
    Key("queue", real(0.1, 86400.0), "seconds until a worker begins with a step", "60"),
    Key("longest", real(0.1, 86400.0), "seconds that a step takes, with its waiting", "3600"),
    _TIMEOUT,
)


def read(value: Value, kind: type[CacheConfig] = CacheConfig, keys: Sequence[Key] = KEYS) -> Any:
    """``cache:``, a URL or a mapping (a ``kind``). NeuralArtError: it says something that is not allowed."""
    if not value.is_mapping:
        return kind(_url(kind, value))
    fields = value.fields(names(keys))
    if "url" not in fields:
        raise value.error("names no url", f"url: {kind.SCHEMES[0]}://HOST:PORT")
    return kind(**{key.name: key.read(fields[key.name]) for key in keys if key.name in fields})


read_farm = partial(read, kind=FarmConfig, keys=FARM_KEYS)


def chosen(said: Any, environ: Mapping[str, str], kind: type[CacheConfig] = CacheConfig) -> Any:
    """The cache or farm (``kind``) of a build: the variable comes before variants.yaml, and may read and write.
    NeuralArtError: the variable has a wrong value.
    """
    text = environ.get(kind.VARIABLE, "")
    if text in ("", "off"):
        return None if text else said
    found = _read_url(kind, text, lambda what, hint: NeuralArtError(f"{kind.VARIABLE} {what}", hint=f"{hint}; or off"))
    return replace(said or found, url=found.url, user=found.user, password=found.password, access=found.access)


register(
    "keys",
    "cache",
    AddedKey(PROJECT, read, "where several machines share results", sections={"cache": (KEYS, CacheConfig)}),
    protocol=1,
)
register(
    "keys",
    "execute",
    AddedKey(PROJECT, read_farm, "a farm of machines that do steps", sections={"execute": (FARM_KEYS, FarmConfig)}),
    protocol=1,
)

"""``cache:`` of variants.yaml, and the variable of the process: where several machines share results of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from neuralart.config.keys import Key, names, one_of, real
from neuralart.errors import NeuralArtError
from neuralart.text.values import Value

VARIABLE = "NEURALART_CACHE"
_ACCESS = ("read-write", "read-only", "write-only")
_SCHEMES = ("http", "https", "grpc", "grpcs")


@dataclass(frozen=True)
class CacheConfig:
    """A cache on another machine."""

    url: str  # Without a name and a password
    access: str = "read-write"
    timeout: float = 10.0  # Seconds for an answer, and one more for each MB
    salt: str = ""  # Only machines with the same one share
    user: str = field(default="", repr=False)  # Of a URL of the process
    password: str = field(default="", repr=False)


def _read_url(text: str, refused: Callable[[str, str], NeuralArtError]) -> CacheConfig:
    """A URL, of which no error says the text: it may hold a password."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        raise refused("is no URL of a cache", f"such as http://cache.lan:9090; it begins with one of {known}")
    url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    return CacheConfig(url, user=unquote(parts.username or ""), password=unquote(parts.password or ""))


def _url(value: Value) -> str:
    found = _read_url(value.text(), value.error)
    if found.user or found.password:
        hint = f"others read this file: use ~/.netrc, {VARIABLE}_TOKEN, or {VARIABLE} with the whole URL"
        raise value.error("holds a name or a password", hint)
    return found.url


KEYS: tuple[Key, ...] = (
    Key("url", _url, "`http://`, `https://`, `grpc://` or `grpcs://`, with host, port and path", "refused"),
    Key("access", one_of(_ACCESS), "`read-write`, `read-only` or `write-only`"),
    Key("timeout", real(0.1, 3600.0), "seconds for an answer; for a file one more for each MB", "10"),
    Key("salt", Value.text, "any text: machines share only with those that have the same one", "empty"),
)


def read(value: Value) -> CacheConfig:
    """``cache:``, a URL or a mapping. NeuralArtError: it says something that is not allowed."""
    if not value.is_mapping:
        return CacheConfig(_url(value))
    fields = value.fields(names(KEYS))
    if "url" not in fields:
        raise value.error("names no url", "url: http://cache.lan:9090")
    return CacheConfig(**{key.name: key.read(fields[key.name]) for key in KEYS if key.name in fields})


def chosen(said: CacheConfig | None, environ: Mapping[str, str]) -> CacheConfig | None:
    """The cache of a build: the variable comes before variants.yaml (``said``), and may read and write.
    NeuralArtError: the variable has a wrong value.
    """
    text = environ.get(VARIABLE, "")
    if text in ("", "off"):
        return None if text else said
    found = _read_url(text, lambda what, hint: NeuralArtError(f"{VARIABLE} {what}", hint=f"{hint}; or off"))
    return replace(found, timeout=said.timeout, salt=said.salt) if said else found

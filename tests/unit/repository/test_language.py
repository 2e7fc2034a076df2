"""US spelling in code, messages and documents, as SCons and the vendor's headers have it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[3]
OWN = Path(__file__).relative_to(REPO).as_posix()
# British stem -> what is written instead. `artefact` is not here: it is a key of variants.yaml, which stays readable.
STEMS = {
    **{"analyse": "analyze", "behaviour": "behavior", "cancelled": "canceled", "catalogue": "catalog"},
    **{"centre": "center", "colour": "color", "customis": "customiz", "defence": "defense", "emphasise": "emphasize"},
    **{"favour": "favor", "finalis": "finaliz", "flavour": "flavor", "generalis": "generaliz", "grey": "gray"},
    **{"honour": "honor", "initialis": "initializ", "judgement": "judgment", "labelled": "labeled", "labour": "labor"},
    **{"licence": "license", "maximis": "maximiz", "minimis": "minimiz", "misspelt": "misspelled"},
    **{"modelled": "modeled", "modelling": "modeling", "neighbour": "neighbor", "normalis": "normaliz"},
    **{
        "offence": "offense",
        "optimis": "optimiz",
        "organis": "organiz",
        "parametris": "parametriz",
        "prioritis": "prioritiz",
    },
    **{"quantis": "quantiz", "randomis": "randomiz", "recognis": "recogniz", "serialis": "serializ"},
    **{"signalling": "signaling", "specialis": "specializ", "spelt": "spelled", "spoilt": "spoiled"},
    **{"standardis": "standardiz", "summaris": "summariz", "synchronis": "synchroniz", "tokenis": "tokeniz"},
    **{"travelling": "traveling", "utilis": "utiliz", "vectoris": "vectoriz", "visualis": "visualiz"},
}
# Names that are in committed bytes: the output of a model that was made when the word was spelled so.
KEPT = {
    "models/mobilenet/generate.py": {"colour", "colours"},
    "models/mobilenet/README.md": {"colour"},
    "models/mobilenet/vectors/vectors.json": {"colour"},
    "tests/unit/reference/test_own_models.py": {"colour"},
}
_WORD = re.compile(r"[a-z]+")


def _tracked() -> list[str]:
    """Texts of the repository, and those that would join it with the next commit."""
    if not (REPO / ".git").exists() or shutil.which("git") is None:
        return []
    words = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=REPO, capture_output=True, check=True)
    names = sorted(name for name in done.stdout.decode().split("\0") if name and (REPO / name).is_file())
    return [name for name in names if not name.endswith((".tflite", ".bin")) and name not in (OWN, "LICENSE")]


TRACKED = _tracked()


def british(text: str) -> set[str]:
    """Words that are spelled otherwise in the US."""
    text = text.lower()
    here = [stem for stem in STEMS if stem in text]
    return {word for word in set(_WORD.findall(text)) if any(stem in word for stem in here)} if here else set()


# Words of riddles: they hide who does what. "The user's own table", "if none is given", "which nothing reads".
RIDDLES = re.compile(r"\b(?:one's own|each one's|(?:no|some|any)body|whoever|needs not|there so that)\b", re.I)


@pytest.mark.skipif(not TRACKED, reason="not a git checkout")
def test_plain_words_in_the_package_and_the_documentation() -> None:
    names = [name for name in TRACKED if name.startswith("site_scons/") or name.endswith(".md")]
    lines = {
        f"{name}:{number}": line
        for name in names
        for number, line in enumerate((REPO / name).read_text("utf-8").splitlines(), 1)
    }
    assert len(lines) > 50_000
    assert [place for place, line in lines.items() if RIDDLES.search(line)] == [], "say who does it"


@pytest.mark.skipif(not TRACKED, reason="not a git checkout")
def test_us_spelling() -> None:
    found = {}
    for name in TRACKED:
        text = (REPO / name).read_bytes().decode("utf-8", "replace")
        if words := british(f"{name}\n{text}") - KEPT.get(name, set()):
            found[name] = sorted(words)
    assert found == {}


def test_words_that_are_found() -> None:
    text = (
        "The quantised Colour of initialise_all, normalisation and NEIGHBOURS, but no artefact, no color, no emphasis."
    )
    assert british(text) == {"quantised", "colour", "initialise", "normalisation", "neighbours"}
    assert british(" ".join(STEMS.values())) == set()

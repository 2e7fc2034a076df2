"""Compiles damaged files, many in one process: what must never happen is printed, one JSON line per case.

python -m support.fuzz KIND FIRST COUNT FOLDER [FILE ...]
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import random
import shutil
import sys
import traceback
from pathlib import Path

from neuralart import cli

ROOT = Path(__file__).parents[2]
MODELS = [ROOT / "models" / name / f"{name}.tflite" for name in ("digits", "detector")]
POOLS = sorted((ROOT / "site_scons/neuralart/boards/data/pools").glob("*.mpool"))
PROFILES = sorted((ROOT / "site_scons/neuralart/boards/data/profiles").glob("*.json"))
MEMORY = 1 << 30
SECONDS = 30
_EXTREME = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def damage(data: bytes, rng: random.Random) -> bytes:
    """A binary file after one to four accidents."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not changed:
            break
        at = rng.randrange(len(changed))
        kind = rng.randrange(7)
        if kind == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at] = rng.randrange(256)
        elif kind == 2:  # an offset, a length or a number
            at &= ~3
            changed[at : at + 4] = rng.choice(_EXTREME).to_bytes(4, "little")
        elif kind == 3:
            at &= ~3
            value = int.from_bytes(changed[at : at + 4], "little") + rng.choice((-8, -4, -1, 1, 4, 8, 64))
            changed[at : at + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")
        elif kind == 4:
            del changed[at:]
        elif kind == 5:
            changed[at : at + rng.randint(1, 64)] = bytes(rng.randint(0, 64))
        else:
            other = rng.randrange(len(changed))
            size = rng.randint(1, 32)
            changed[at : at + size] = changed[other : other + size]
    return bytes(changed)


_TOKENS = (
    "",
    "0",
    "-1",
    "1e999",
    "99999999999999999999",
    "null",
    "true",
    "{}",
    "[]",
    '"',
    "\\",
    ",",
    ":",
    "NaN",
    "\ud7ff",
)


def damage_text(text: str, rng: random.Random) -> str:
    """A text file after one to four accidents."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 8) :]
        elif kind == 1:
            text = text[:at] + rng.choice(_TOKENS) + text[at + 1 :]
        elif kind == 2:
            lines = text.split("\n")
            number = rng.randrange(len(lines))
            lines[number : number + 1] = rng.choice(([], [lines[number]] * 2))
            text = "\n".join(lines)
        elif kind == 3:
            words = text.split('"')
            number = rng.randrange(len(words))
            words[number] = rng.choice(_TOKENS)
            text = '"'.join(words)
        elif kind == 4:
            text = text[:at]
        else:
            text = text[:at] + "".join(chr(rng.randrange(1, 0x250)) for _ in range(rng.randint(1, 6))) + text[at:]
    return text


def _case(kind: str, seed: int, folder: Path) -> list[str]:
    """Writes the damaged file; words of the compile."""
    rng = random.Random(f"{kind} {seed}")
    words = ["compile", "--quiet", "--target", "stm32n6", "--name", "net", "--output", str(folder / "out")]
    model, pools = MODELS[0], POOLS[-1]
    if kind == "model":
        source = rng.choice(MODELS)
        model = folder / "damaged.tflite"
        model.write_bytes(damage(source.read_bytes(), rng))
    elif kind == "pools":
        pools = folder / "damaged.mpool"
        text = damage_text(rng.choice(POOLS).read_text("utf-8"), rng)
        pools.write_text(text, "utf-8", errors="surrogatepass")
    else:
        profile = folder / "damaged.json"
        profile.write_text(damage_text(rng.choice(PROFILES).read_text("utf-8"), rng), "utf-8", errors="surrogatepass")
        shutil.copytree(POOLS[0].parent, folder / "pools", dirs_exist_ok=True)
        return [*words, "--model", str(model), "--st-neural-art", f"default@{profile}"]
    return [*words, "--model", str(model), "--mpool", str(pools)]


def wrong(kind: str, seed: int, folder: Path) -> str:
    """What must not happen and did; empty if nothing."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = _case(kind, seed, folder)
    said, shown = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
            code = cli.main(words)
    except SystemExit as end:
        return f"ended with {end.code}: {said.getvalue()}"
    except BaseException:
        return traceback.format_exc()
    lines = [line for line in said.getvalue().splitlines() if line.startswith("neuralart compile: error: ")]
    files = sorted(path.name for path in out.rglob("*")) if out.exists() else []
    if code == 0:
        return "" if "manifest.json" in files and not [name for name in files if name.endswith(".part")] else f"{files}"
    more = said.getvalue().splitlines()[1:]
    # What to do may stand in a line of its own.
    if code != 1 or len(lines) != 1 or len(more) > 1 or not all(line.startswith("  ") for line in more):
        return f"exit {code}: {said.getvalue()!r}"
    return f"left behind: {files}" if files else ""


def main() -> None:
    """Run the cases of the command line."""
    kind, first, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except ImportError:
        pass
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + count):
        # A hang ends the process with a traceback that names the place.
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        text = wrong(kind, seed, folder)
        faulthandler.cancel_dump_traceback_later()
        if text:
            print(json.dumps([kind, seed, text]), flush=True)
    print(json.dumps(["done", first, count]), flush=True)


if __name__ == "__main__":
    main()

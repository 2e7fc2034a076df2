"""The last answer is kept beside the stamps: it is given again only where they would give it, too."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import intact

FILES = ("src/a.c", "src/deep/b.c", "build/one.o", "build/two.o", "later.c")
OF = {"one": [0, 1, 2, 4], "two": [1, 3]}


def _stamp() -> None:
    """Stamps of how everything is now."""
    folders = [[name, intact.folder_time(name), intact.names_in(name)] for name in ("src", "far")]
    world = {"words": [], "default": ["one"], "environ": intact.environment(os.environ), "files": [], "folders": [1]}
    rows = {name: {"world": 0, "files": numbers, "folders": [0]} for name, numbers in OF.items()}
    data = {"format": intact.FORMAT, "build": "build", "worlds": [world], "variants": rows}
    new = Path("build/.new")
    files = [[name, *intact.state(name)] for name in FILES]
    new.write_text(json.dumps({**data, "files": files, "folders": folders}), "utf-8")
    new.rename(Path("build", intact.NAME))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "a tree"
    for name in FILES[:-1]:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name, "utf-8")
    monkeypatch.chdir(top)
    monkeypatch.delenv("SCONSFLAGS", raising=False)
    _stamp()
    return top


def _edit(rng: random.Random) -> str:
    name, kind = Path(rng.choice(FILES)), rng.choice(["write", "remove", "time", "mode", "beside", "replace", "far"])
    if kind == "write":
        name.write_text(str(rng.random()), "utf-8")
    elif kind == "remove":
        name.unlink(missing_ok=True)
    elif kind == "time" and name.exists():
        os.utime(name, ns=(rng.randrange(10**18), rng.randrange(10**18)))
    elif kind == "mode" and name.exists():
        name.chmod(rng.choice([0o600, 0o644]))
    elif kind == "beside":
        # Hidden names count for nothing, though the time of the folder is another one then.
        then = Path("src").stat().st_mtime_ns
        Path("src", rng.choice([".swp", "new.c"])).touch()
        if rng.random() < 0.5:
            os.utime("src", ns=(then, then))
    elif kind == "replace":
        Path("src/.new").write_bytes(name.read_bytes() if name.exists() else b"")
        Path("src/.new").rename(name)
    elif kind == "far":
        Path("far").rmdir() if Path("far").exists() else Path("far").mkdir()
    return f"{kind} {name}"


@pytest.mark.parametrize("seed", range(2))
def test_it_is_that_of_the_stamps(tree: Path, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    rng, known, done = random.Random(seed), 0, []
    for _ in range(80):
        done.append(_edit(rng))
        for asked in ([], ["two"], ["two", "one"]):
            good = intact.answer("build", asked, intact.environment(os.environ))
            for _ in range(2):
                assert intact.say("build", asked) == bool(good), done
                lines = [f"scons: `{name}' is up to date.\n" for name in good or ()]
                assert capsys.readouterr().out == "".join(lines), done
            known += bool(good)
        if rng.random() < 0.5:
            _stamp()
    assert known > 10


def test_nothing_is_read_for_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert intact.say("build", ["-s"]) and intact.say("build", [])
    for name in ("load", "answer", "watched", "environment"):
        monkeypatch.delattr(intact, name)
    assert intact.say("build", [])
    # Another question is one for the stamps: words, and whatever is in the environment.
    with pytest.raises(NameError):
        intact.say("build", ["one"])
    for flags in ("-k", "--no-stamps"):
        monkeypatch.setenv("SCONSFLAGS", flags)
        with pytest.raises(NameError) if flags == "-k" else monkeypatch.context():
            assert not intact.say("build", [])


def test_questions_in_turns(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of them have a file of their own."""
    words = [["one"], ["two"], ["two", "one"], ["one", "two"], []]
    for asked in words:
        assert intact.say("build", asked)
    files = [*Path("build").glob(f"{intact.NAME}.said*")]
    monkeypatch.delattr(intact, "load")
    known = 0
    for asked in words:
        with contextlib.suppress(NameError):
            known += intact.say("build", asked)
    assert known == len(files) <= 5


def test_what_is_no_answer(tree: Path) -> None:
    assert intact.say("build", ["two"])
    (path,) = Path("build").glob(f"{intact.NAME}.said*")
    kept = path.read_bytes()
    for damaged in (b"", kept[:7], kept[:-1], kept[:8], kept + b"\0", kept[:40] + b"x" + kept[41:], b"\xff" * 99):
        path.write_bytes(damaged)
        Path("src/deep/b.c").write_text("changed", "utf-8")
        assert not intact.say("build", ["two"]), damaged[:9]
        _stamp()
        assert intact.say("build", ["two"])
    # Stamps that are gone, and a place where nothing can be kept.
    stamps = Path("build", intact.NAME)
    stamps.rename("build/away")
    assert not intact.say("build", ["two"])
    Path("build/away").rename(stamps)
    path.unlink()
    path.mkdir()
    assert intact.say("build", ["two"]) and intact.say("build", ["two"])


def test_it_loads_little(tree: Path) -> None:
    """Of the standard library, in the way of ``./sconsw``."""
    code = f"import sys; sys.path.insert(0, {str(Path(intact.__file__).parent)!r}); import intact; del sys.path[0]\n"
    code += "print(intact.say('build', ['-s']), *sorted(sys.modules))"
    world = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    data = json.loads(Path("build", intact.NAME).read_text("utf-8"))
    data["worlds"][0]["environ"] = intact.environment(world)
    Path("build", intact.NAME).write_text(json.dumps(data), "utf-8")
    call = [sys.executable, "-I", "-S", "-c", code]
    for _ in range(2):
        said = subprocess.run(call, env=world, capture_output=True, text=True, check=True).stdout.split()
        assert said[0] == "True" and not {"collections", "json", "pathlib", "re", "site", "typing"} & {*said}
    assert not {"_socket", "socket"} & {*said}

"""What is shipped is what was built: altered products are made again, and no step that ships takes one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart import cli
from support.changes.tree import VARIANTS
from support.projects.sconsproject import TOOL, Project, copy_built, copy_small, once, plain_scons, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

LIST = "made.sha256"
V = "digits-n6"
# Each kind of product, in the order of the build; what a star stands for has a hash in its name.
PRODUCTS = (
    "build/networks/digits-stm32n6570-dk-*/digits.c",
    "build/networks/digits-stm32n6570-dk-*/digits.h",
    "build/networks/digits-stm32n6570-dk-*/digits_atonbuf.xSPI2.raw",
    "build/networks/digits-stm32n6570-dk-*/network.json",
    "build/networks/digits-stm32n6570-dk-*/manifest.json",
    "build/networks/digits-stm32n6570-dk-*/obj-*/digits.o",
    "build/firmware/runtime-*/runtime/kernels/conv2d.o",
    "build/firmware/runtime-*/libkernels-c.a",
    f"build/{V}/app/main.o",
    f"build/{V}/npu_memory_init.c",
    f"build/{V}/firmware.elf",
    f"build/{V}/firmware.map",
    f"build/{V}/check.json",
    f"build/{V}/firmware.bin",
    f"build/{V}/firmware.hex",
    f"build/{V}/application.bin",
    f"build/{V}/digits.xSPI2.bin",
    f"build/{V}/digits.xSPI2.hex",
    f"build/{V}/descriptor.bin",
    f"build/{V}/plan.json",
    f"build/{V}/flash_plan.json",
    f"build/{V}/summary.txt",
    f"build/{V}/index.json",
)


def one(project: Project, pattern: str) -> str:
    """The file that a pattern of :data:`PRODUCTS` means."""
    (path,) = project.root.glob(pattern)
    return path.relative_to(project.root).as_posix()


def flip(path: Path, at: int = 101) -> None:
    """Change a bit, and give the file its time back."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[min(at, len(data) - 1)] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def notes(project: Project, *args: str) -> list[str]:
    return [line for line in project.run(*args).out.splitlines() if line.startswith("neuralart: ")]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One variant is built; each test leaves the tree as it was."""

    def make(folder: Path) -> None:
        prepare(copy_small(folder, VARIANTS), tmp_path_factory, "-j2", V)

    shared = Project(once(tmp_path_factory, "digits alone", make))
    return copy_built(shared, tmp_path_factory.mktemp("products") / "a tree with spaces")


@pytest.fixture
def own(digits: Project, tmp_path: Path) -> Project:
    """The same for a test that may leave it in any state."""
    return copy_built(digits, tmp_path / "own")


@pytest.mark.parametrize("pattern", PRODUCTS, ids=[each.rpartition("/")[2] for each in PRODUCTS])
def test_an_altered_product_is_made_again(digits: Project, pattern: str) -> None:
    before, name = digits.results(), one(digits, pattern)
    flip(digits.path(name))
    assert notes(digits, V) == [f"neuralart: {name} was changed after it was made: it is made again"]
    assert digits.results() == before
    digits.up_to_date(V)


def test_scons_says_beforehand_what_it_would_make_again(digits: Project) -> None:
    main = digits.path(f"build/{V}/app/main.o")
    whole = main.read_bytes()
    flip(main)
    said = [f"neuralart: build/{V}/app/main.o was changed after it was made: it is made again"]
    assert notes(digits, "-n", "--no-stamps", V) == said
    digits.run("-q", "--no-stamps", V, code=1)
    assert main.read_bytes() != whole
    assert notes(digits, V) == said
    assert main.read_bytes() == whole


@pytest.mark.parametrize("name", [f"build/{V}/app/main.o", f"build/{V}/firmware.bin", PRODUCTS[0]])
@pytest.mark.parametrize("hard", [False, True], ids=["symlink", "hard link"])
def test_a_link_in_the_place_of_a_product_is_replaced(digits: Project, name: str, hard: bool, tmp_path: Path) -> None:
    before, path = digits.results(), digits.path(one(digits, name))
    other = digits.path("other.bin")
    other.write_bytes(b"of somebody else")
    path.unlink()
    if hard:
        path.hardlink_to(other)
    else:
        path.symlink_to(other)
    digits.run(V)
    assert other.read_bytes() == b"of somebody else", "it was written through the link"
    assert not path.is_symlink() and path.stat().st_nlink == 1
    other.unlink()
    assert digits.results() == before


def test_a_link_to_equal_bytes_is_replaced_too(digits: Project) -> None:
    before, path = digits.results(), digits.path(f"build/{V}/application.bin")
    shutil.copyfile(path, digits.path("copy.bin"))
    path.unlink()
    path.symlink_to(digits.path("copy.bin"))
    assert notes(digits, V) == [f"neuralart: build/{V}/application.bin is a link: it is made again"]
    assert not path.is_symlink()
    digits.path("copy.bin").unlink()
    assert digits.results() == before


def test_every_file_is_listed_also_when_many_are_made_at_once(own: Project) -> None:
    shutil.rmtree(own.path("build"))
    own.path(".sconsign.dblite").unlink()
    own.run("-j8", V)
    lists = sorted(own.path("build").rglob(LIST))
    listed = set()
    for path in lists:
        rows = path.read_text("utf-8").splitlines()
        assert rows == sorted(rows, key=lambda row: row[66:])
        for digest, name in (row.split("  ", 1) for row in rows):
            assert hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == digest
            listed.add(path.parent / name)
    files = {path for path in own.path("build").rglob("*") if path.is_file() and not path.name.startswith(".")}
    assert files - listed == set(lists)
    own.up_to_date(V)
    own.run("-c", V)
    assert not list(own.path("build").rglob(LIST))
    own.run(V)


def _delete(path: Path) -> None:
    path.unlink()


def _edit(path: Path) -> None:
    text = path.read_text("utf-8")
    path.write_text(re.sub(r"^[0-9a-f]{8}(?=.*firmware\.elf$)", "00000000", text, flags=re.M), "utf-8")


def _forget(path: Path) -> None:
    rows = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.endswith("firmware.elf\n")), "utf-8")


def _damage(path: Path) -> None:
    path.write_bytes(b"\xff\xfe no list\n" * 3)


ELF = f"build/{V}/firmware.elf"
HARMS: dict[Callable[[Path], None], str] = {
    _delete: f"build/{V} has no {LIST}: what was made in it is made again",
    _edit: f"{ELF} was changed after it was made: it is made again",
    _forget: f"{ELF} is not in {LIST}: it is made again",
    _damage: f"{ELF} is not in {LIST}: it is made again",
}


@pytest.mark.parametrize(("harm", "said"), HARMS.items())
def test_what_no_list_knows_is_made_again(digits: Project, harm: Callable[[Path], None], said: str) -> None:
    before = digits.results()
    harm(digits.path(f"build/{V}/{LIST}"))
    found = notes(digits, V)
    assert f"neuralart: {said}" in found and len(found) == len(set(found))
    assert len(found) == 1 or harm is _damage
    assert digits.results() == before
    digits.up_to_date(V)


@pytest.mark.parametrize("restored", ["build", ".sconsign.dblite"])
def test_half_of_an_old_state_is_noticed(own: Project, restored: str) -> None:
    """``build`` of other sources with what SCons knows of these, as a cache of a CI service has it; and vice versa."""
    clean, main = own.results(), own.path("firmware/app/main.c")
    text = main.read_text("utf-8")
    saved = {name: own.path(f"saved {name}") for name in ("build", ".sconsign.dblite")}
    shutil.copytree(own.path("build"), saved["build"], symlinks=True)
    shutil.copy2(own.path(".sconsign.dblite"), saved[".sconsign.dblite"])
    main.write_text(
        text + '\nconst char another_state[] = "other";\nvoid *use_it(void);\nvoid *use_it(void) '
        "{ return (void *)another_state; }\n",
        "utf-8",
    )
    own.run(V)
    other = own.results()
    assert other != clean
    if restored == "build":
        # The sources stay the new ones.
        shutil.rmtree(own.path("build"))
        saved["build"].rename(own.path("build"))
        wanted = other
    else:
        # The sources are the old ones again, and SCons takes what is there for made of them.
        saved[".sconsign.dblite"].replace(own.path(".sconsign.dblite"))
        main.write_text(text, "utf-8")
        wanted = clean
    assert f"build/{V}/app/main.o is not what SCons made last: it is made again" in "\n".join(notes(own, V))
    assert own.results() == wanted
    main.write_text(text, "utf-8")
    own.run(V)
    assert own.results() == clean


def test_a_file_that_changes_while_scons_builds_is_not_used(own: Project) -> None:
    script = own.path("SConstruct")
    text = script.read_text("utf-8")
    flipped = f"""
import pathlib
def _flip(target, source, env):
    elf = pathlib.Path({ELF!r})
    data = bytearray(elf.read_bytes())
    data[101] ^= 1
    elf.write_bytes(data)
AddPostAction("build/{V}/check.json", Action(_flip, None))
"""
    script.write_text(text + flipped, "utf-8")
    flip(own.path(f"build/{V}/check.json"))
    result = own.run(V, code=2)
    assert f"{ELF}: is not what the build made: it was changed while the build ran (build again)" in result.err
    script.write_text(text, "utf-8")
    own.run(V)
    own.up_to_date(V)


def test_what_comes_out_of_a_cache_is_listed(digits: Project, tmp_path: Path) -> None:
    tree = copy_built(digits, tmp_path / "tree")
    script = tree.path("SConstruct")
    script.write_text(f"CacheDir({str(tmp_path / 'cache')!r})\n" + script.read_text("utf-8"), "utf-8")
    shutil.rmtree(tree.path("build"))
    tree.run(V)
    before = tree.results()
    tree.path(".sconsign.dblite").unlink()
    shutil.rmtree(tree.path("build"))
    result = tree.run(V)
    assert "Retrieved" in result.out and not result.tags & {"CC", "LINK"}
    assert tree.results() == before
    tree.up_to_date(V)
    flip(tree.path(f"build/{V}/app/main.o"))
    assert len(notes(tree, V)) == 1
    assert tree.results() == before


COUNT = """
import sys, atexit, collections, json, pathlib
_opened = collections.Counter()
def _see(event, args):
    if event == "open" and isinstance(args[0], str):
        _opened[args[0]] += 1
sys.addaudithook(_see)
atexit.register(lambda: pathlib.Path("opened.json").write_text(json.dumps(_opened)))
"""


def test_a_null_build_reads_each_product_once(digits: Project, tmp_path: Path) -> None:
    tree = copy_built(digits, tmp_path / "tree")
    script = tree.path("SConstruct")
    script.write_text(script.read_text("utf-8") + COUNT, "utf-8")
    tree.run(V)
    tree.up_to_date(V)
    opened = {Path(name).absolute(): count for name, count in json.loads(tree.path("opened.json").read_text()).items()}
    for pattern in PRODUCTS:
        path = tree.path(one(tree, pattern))
        # SCons looks for what C includes.
        assert opened[path] <= (2 if path.suffix in (".c", ".h") else 1), path
        assert opened[path.with_name(LIST)] == 1


SHIPPED = {
    "firmware.elf": (f"run-{V}", f"debug-{V}"),
    "application.bin": (f"flash-{V}", f"verify-{V}"),
    "flash_plan.json": (f"flash-{V}", f"run-{V}"),
    "digits.xSPI2.bin": (f"flash-model-{V}",),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_targets_that_ship_make_it_again_first(digits: Project, name: str) -> None:
    path = digits.path(f"build/{V}/{name}")
    whole = path.read_bytes()
    for target in SHIPPED[name]:
        flip(path)
        assert notes(digits, "-n" if "debug" in target else "-Q", target)[0].startswith(
            f"neuralart: build/{V}/{name} was"
        )
        if "debug" in target:
            digits.run(V)
        assert path.read_bytes() == whole


def _commands(root: Path) -> dict[str, tuple[list[str], tuple[str, ...]]]:
    """Commands that ship by hand, and the files that they take."""
    here, facts = f"build/{V}", one(Project(root), PRODUCTS[3])
    flash = ["--plan", f"{here}/flash_plan.json", "--nor", "hand.nor"]
    run = ["run", "--board", "stm32n6570-dk", "--elf", f"{here}/firmware.elf", "--network", facts]
    images = ("flash_plan.json", "application.bin", "digits.xSPI2.bin", "descriptor.bin")
    raw, descriptor = f"{here}/digits.xSPI2.bin", f"{here}/descriptor.bin"
    return {
        "flash": (["flash", *flash], images),
        "verify": (["verify", *flash], images),
        "dry": (["flash", *flash, "--runner", "cubeprogrammer", "--dry-run"], images),
        "run": ([*run, "--plan", f"{here}/flash_plan.json"], ("firmware.elf", *images)),
        "run in place": (
            [*run, "--load", f"{raw}@0x70380000", "--load", f"{descriptor}@0x70200000"],
            ("firmware.elf", *images[2:]),
        ),
        "sign": (["tool", "sign", f"{here}/firmware.bin", "-o", "signed.bin"], ("firmware.bin",)),
        "load": (["load", here, "--board", "stm32n6570-dk"], ("index.json", "plan.json", "firmware.elf")),
        "device load": (
            ["device", "load", "--board", "stm32n6570-dk", "--elf", f"{here}/firmware.elf"],
            ("firmware.elf",),
        ),
        "device debug": (["device", "debug", "--board", "stm32n6570-dk", "--elf", f"{here}/firmware.elf"], ()),
        "export": (["export", V, "--to", "exported"], ("npu_memory_init.c", "digits.xSPI2.bin")),
    }


NAMES = ("flash", "verify", "dry", "run", "run in place", "sign", "load", "device load", "device debug", "export")


@pytest.mark.parametrize("command", NAMES)
def test_commands_refuse_what_is_altered(
    digits: Project, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(digits.root)
    words, files = _commands(digits.root)[command]
    if command == "verify":
        assert cli.main(["flash", *words[1:]]) == 0
    for name in files:
        path = digits.path(f"build/{V}/{name}")
        whole = path.read_bytes()
        flip(path, 60)
        code = cli.main(words)
        path.write_bytes(whole)
        said = capsys.readouterr().err
        wrong = rf"sha256 is [0-9a-f]{{16}}\.\.\., {LIST} has [0-9a-f]{{16}}\.\.\. \(scons {V} makes it again\)"
        assert re.search(rf"build/{V}/{re.escape(name)}: is not what the build made: {wrong}\n$", said), said
        assert (code, said.count("\n")) == (1, 1)
    assert Path("hand.nor").exists() == (command == "verify")
    Path("hand.nor").unlink(missing_ok=True)
    for left in ("signed.bin", "exported"):
        assert not digits.path(left).exists()


def test_commands_refuse_what_no_list_knows(
    digits: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(digits.root)
    path = digits.path(f"build/{V}/{LIST}")
    text = path.read_text("utf-8")
    sign = _commands(digits.root)["sign"][0]
    path.unlink()
    assert cli.main(sign) == 1
    assert f"firmware.bin: is not what the build made: its folder has no {LIST} (scons {V}" in capsys.readouterr().err
    path.write_text(text.replace("firmware.bin", "other.bin"), "utf-8")
    assert cli.main(sign) == 1
    assert f"firmware.bin: is not what the build made: it is not in {LIST} (scons {V}" in capsys.readouterr().err
    path.write_text(text, "utf-8")
    binary = digits.path(f"build/{V}/firmware.bin")
    binary.rename(digits.path("kept.bin"))
    binary.symlink_to(digits.path("kept.bin"))
    assert cli.main(sign) == 1
    assert "firmware.bin: is not what the build made: it is a link" in capsys.readouterr().err
    binary.unlink()
    digits.path("kept.bin").rename(binary)


def test_an_edited_image_elsewhere_runs(
    own: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who debugs an image of his own puts it outside of the build folder."""
    monkeypatch.chdir(own.root)
    data = own.path(ELF).read_bytes()
    assert data.count(b"reference application") == 1
    Path("mine.elf").write_bytes(data.replace(b"reference application", b"altered__ application"))
    words = _commands(own.root)["run in place"][0]
    words[words.index(ELF)] = "mine.elf"
    assert cli.main(words) == 0
    assert "altered__ application" in capsys.readouterr().out
    Path("mine.elf").unlink()


def test_builders_without_variants_do_the_same(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    tree = plain_scons(tmp_path_factory, tmp_path / "plain")
    before = tree.files("build")
    images = [path for path in tree.path("build").rglob("*") if path.suffix in (".bin", ".raw", ".hex")]
    assert len(images) > 2
    for path in images:
        flip(path)
        name = path.relative_to(tree.root).as_posix()
        assert notes(tree, TOOL) == [f"neuralart: {name} was changed after it was made: it is made again"]
        assert tree.files("build") == before

"""The copy of a user's tree: what is in it, where generated files go, and what a second look changes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart.applications import overlay
from neuralart.applications.staging import Generated, is_copied, is_left_out, scan, stage
from neuralart.config.application import StageConfig, StageRule
from neuralart.errors import NeuralArtError
from support.models.stedgeai_case import refusal

links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege here")
OLD = 1_600_000_000 * 10**9


def put(folder: Path, **files: str) -> Path:
    """Files with an old time; ``__`` stands for ``/``, ``_dot_`` for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(OLD, OLD))
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def sync(user: Path, work: Path, *exclude: str, **more: Path) -> overlay.Changes:
    tree = scan(user, exclude)
    return overlay.synchronize({**tree.files, **more}, work, tree.folders, more)


# What is in a tree ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "folder", "patterns", "out"),
    [
        (".git", True, (".git",), True),
        ("Lib/.git", True, (".git",), True),
        ("x.git", True, (".git",), False),
        ("a/b.o", False, ("*.o",), True),
        ("build", True, ("/build/",), True),
        ("a/build", True, ("/build/",), False),
        ("build", False, ("/build/",), False),
        ("build", True, ("/build/", "!/build"), False),
        ("build", True, ("!/build", "/build/"), True),
        ("docs/a.pdf", False, ("docs/*.pdf",), True),
        ("x/docs/a.pdf", False, ("docs/*.pdf",), False),
        ("A.PDF", False, ("*.pdf",), False),
        ("a", False, (), False),
    ],
)
def test_patterns(path: str, folder: bool, patterns: tuple[str, ...], out: bool) -> None:
    assert is_left_out(path, folder, patterns) is out


def test_a_tree_without_what_nobody_wants(tmp_path: Path) -> None:
    user = put(
        tmp_path / "app",
        main_dot_c="m",
        _dot_git__HEAD="x",
        build__a_dot_elf="x",
        tools__build__keep_dot_mk="x",
        Src__a_dot_o="x",
        Src__a_dot_c="a",
        docs__x_dot_pdf="x",
    )
    (user / "empty" / "deep").mkdir(parents=True)
    found = scan(user, ["docs"])
    assert list(found.files) == ["Src/a.c", "main.c", "tools/build/keep.mk"]
    assert found.folders == ("Src", "empty", "empty/deep", "tools", "tools/build")
    assert found.notes == ()
    assert "build/a.elf" in scan(user, ["!/build"]).files


def test_our_own_folder_is_no_part_of_it(tmp_path: Path) -> None:
    user = put(tmp_path, main_dot_c="m", out__work__tree__main_dot_c="copy")
    assert list(scan(user, avoid=[tmp_path / "out" / "work"]).files) == ["main.c"]


def test_no_tree(tmp_path: Path) -> None:
    put(tmp_path, file="x")
    assert refusal(scan, tmp_path / "none", where="v.yaml:3") == (
        f"v.yaml:3: {tmp_path / 'none'}: no such folder (paths are relative to the project file)"
    )
    assert "file: is a file, it must be a folder" in refusal(scan, tmp_path / "file")


@links
def test_links_are_followed(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", lib__x_dot_c="x", one_dot_h="1")
    user = put(tmp_path / "app", main_dot_c="m")
    (user / "Lib").symlink_to(outside / "lib", target_is_directory=True)
    (user / "one.h").symlink_to(outside / "one.h")
    (user / "gone.h").symlink_to(outside / "gone.h")
    (user / ".#lock").symlink_to("nobody@nowhere")
    (user / "self").symlink_to(user, target_is_directory=True)
    found = scan(user, [".#*"])
    assert list(found.files) == ["Lib/x.c", "main.c", "one.h"]
    assert found.notes == (
        "gone.h is a link that leads nowhere: left out",
        "self is a link to a folder that it is in: left out",
    )
    sync(user, tmp_path / "work")
    assert contents(tmp_path / "work/tree") == {"Lib/x.c": "x", "main.c": "m", "one.h": "1"}
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_symlink()]


@links
def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert scan(tmp_path).notes == ("pipe is neither a file nor a folder: left out",)


# Keeping a copy up to date --------------------------------------------------------------------------------------


def test_a_copy_and_a_second_look(tmp_path: Path) -> None:
    user = put(tmp_path / "app", main_dot_c="m", Src__a_dot_c="a")
    work = tmp_path / "work"
    first = sync(user, work)
    assert (first.written, first.removed, first.kept) == (("Src/a.c", "main.c"), (), 2 - 2)
    assert (work / "tree/main.c").stat().st_mtime_ns == OLD, "the tree's own order of times"
    again = sync(user, work)
    assert (again.written, again.removed, again.kept) == ((), (), 2)


def test_only_what_changed_is_written_and_it_is_new(tmp_path: Path) -> None:
    user = put(tmp_path / "app", main_dot_c="m", other_dot_c="o")
    work = tmp_path / "work"
    sync(user, work)
    before = time.time_ns() - 10**9
    put(user, main_dot_c="changed")  # with an old time, as after unpacking an archive
    done = sync(user, work)
    assert done.written == ("main.c",)
    assert (work / "tree/main.c").read_text() == "changed"
    assert (work / "tree/main.c").stat().st_mtime_ns > before, "what make made of it is older"
    assert (work / "tree/other.c").stat().st_mtime_ns == OLD


def test_a_new_time_alone_changes_nothing(tmp_path: Path) -> None:
    user = put(tmp_path / "app", main_dot_c="m")
    work = tmp_path / "work"
    sync(user, work)
    os.utime(user / "main.c")
    assert sync(user, work).written == ()
    assert (work / "tree/main.c").stat().st_mtime_ns == OLD


def test_what_did_not_change_for_a_while_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = put(tmp_path / "app", main_dot_c="m", other_dot_c="o")
    work = tmp_path / "work"
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    sync(user, work)
    compared = []
    monkeypatch.setattr(overlay, "_same", lambda one, other: compared.append(one.name) or False)
    assert sync(user, work).written == ()
    assert compared == []
    # The same size and the same time, as files of some archives have.
    put(user, main_dot_c="x")
    assert sync(user, work).written == ("main.c",)
    assert compared == ["main.c"]


def test_a_change_within_a_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    user = put(tmp_path / "app", main_dot_c="one")
    now = time.time_ns()
    os.utime(user / "main.c", ns=(now, now))
    work = tmp_path / "work"
    sync(user, work)
    (user / "main.c").write_text("two")
    os.utime(user / "main.c", ns=(now, now))
    assert sync(user, work).written == ("main.c",)
    assert (work / "tree/main.c").read_text() == "two"


def test_what_is_gone_is_gone_and_what_a_build_made_stays(tmp_path: Path) -> None:
    user = put(tmp_path / "app", a_dot_c="a", Src__b_dot_txt="b", Old__c_dot_md="c", Old__deep__d_dot_md="d")
    work = tmp_path / "work"
    sync(user, work)
    put(work / "tree", build__a_dot_elf="made", Src__b_dot_d="made")
    shutil.rmtree(user / "Old")
    (user / "Src/b.txt").unlink()
    done = sync(user, work)
    assert done.removed == ("Old/c.md", "Old/deep/d.md", "Src/b.txt")
    assert contents(work / "tree") == {"a.c": "a", "build/a.elf": "made", "Src/b.d": "made"}
    assert not (work / "tree/Old").exists()


def test_what_was_made_with_a_header_that_is_gone_goes_too(tmp_path: Path) -> None:
    """make would refuse to go on: the dependencies that it has noted name the header."""
    user = put(tmp_path / "app", a_dot_c="a", Inc__a_dot_h="h")
    work = tmp_path / "work"
    sync(user, work)
    put(work / "tree", build__a_dot_d="a.o: Inc/a.h", Src__b_dot_o="made")
    (user / "Inc/a.h").unlink()
    sync(user, work)
    assert contents(work / "tree") == {"a.c": "a"}


def test_other_settings_begin_anew(tmp_path: Path) -> None:
    user = put(tmp_path / "app", a_dot_c="a")
    work = tmp_path / "work"
    for words, made in (("", True), ("", True), ("O=-g", False), ("O=-g", True), ("", False)):
        tree = scan(user)
        done = overlay.synchronize(tree.files, work, tree.folders, settings=words)
        assert (work / "tree/a.o").exists() == (made and (work / "seen").exists())
        assert done.written == (("a.c",) if not (work / "seen").exists() else ())
        put(work, seen="")
        put(work / "tree", a_dot_o="made")


def test_what_a_build_did_to_our_files_is_put_right(tmp_path: Path) -> None:
    user = put(tmp_path / "app", version_dot_h="1", gone_dot_c="g", Lib__x_dot_c="x")
    work = tmp_path / "work"
    sync(user, work)
    (work / "tree/version.h").write_text("generated")
    (work / "tree/gone.c").unlink()
    shutil.rmtree(work / "tree/Lib")
    (work / "tree/Lib").write_text("a file in the way")
    assert sync(user, work).written == ("Lib/x.c", "gone.c", "version.h")
    assert contents(work / "tree") == contents(user)


@links
def test_nothing_reaches_the_user_through_a_link_of_a_build(tmp_path: Path) -> None:
    user = put(tmp_path / "app", Lib__x_dot_c="x", Lib__y_dot_c="y", main_dot_c="m")
    work = tmp_path / "work"
    sync(user, work)
    shutil.rmtree(work / "tree/Lib")
    (work / "tree/Lib").symlink_to(user / "Lib", target_is_directory=True)
    (work / "tree/main.c").unlink()
    (work / "tree/main.c").symlink_to(user / "main.c")
    sync(user, work, "Lib")
    assert contents(user) == {"Lib/x.c": "x", "Lib/y.c": "y", "main.c": "m"}, "removed from the copy alone"
    assert not (work / "tree/main.c").is_symlink()
    sync(user, work)
    assert not (work / "tree/Lib").is_symlink()
    assert contents(work / "tree") == contents(user)


def test_a_folder_where_a_file_comes_and_the_other_way(tmp_path: Path) -> None:
    user = put(tmp_path / "app", thing__a_dot_c="a", other="o")
    work = tmp_path / "work"
    sync(user, work)
    put(work / "tree", thing__made_dot_o="by the build")
    shutil.rmtree(user / "thing")
    (user / "other").unlink()
    put(user, thing="file now", other__b_dot_c="b")
    sync(user, work)
    assert contents(work / "tree") == {"thing": "file now", "other/b.c": "b"}


@pytest.mark.skipif(sys.platform == "win32", reason="no such bit here")
def test_what_can_be_run_can_be_run(tmp_path: Path) -> None:
    user = put(tmp_path / "app", gen_dot_sh="#!/bin/sh", data="d")
    (user / "gen.sh").chmod(0o555)
    (user / "data").chmod(0o400)
    work = tmp_path / "work"
    sync(user, work)
    assert (work / "tree/gen.sh").stat().st_mode & 0o777 == 0o755
    assert (work / "tree/data").stat().st_mode & 0o777 == 0o644, "a build may write to its copy"
    (user / "data").chmod(0o700)
    assert sync(user, work).written == ()
    assert (work / "tree/data").stat().st_mode & 0o111


def test_generated_files_have_times_of_their_own(tmp_path: Path) -> None:
    """An object that the user keeps beside the sources is not taken for one of the new network."""
    user = put(tmp_path / "app", main_dot_c="m")
    made = put(tmp_path / "out", net_dot_c="n") / "net.c"
    before = time.time_ns() - 10**9
    sync(user, tmp_path / "work", **{"Model/net.c": made})
    assert (tmp_path / "work/tree/Model/net.c").stat().st_mtime_ns > before


def test_an_interrupted_copy_is_known_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = put(tmp_path / "app", a_dot_c="a", b_dot_c="b", c_dot_c="c")
    work = tmp_path / "work"
    copy, done = shutil.copyfile, []

    def stops(source, target):
        if done:
            raise KeyboardInterrupt
        done.append(source)
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", stops)
    with pytest.raises(KeyboardInterrupt):
        sync(user, work)
    monkeypatch.undo()
    assert contents(work / "tree") == {"a.c": "a"}
    (user / "a.c").unlink()
    sync(user, work)
    assert contents(work / "tree") == {"b.c": "b", "c.c": "c"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "files": 3}', '{"schema":1,"files":{}}']
)
def test_a_damaged_record_means_starting_over(tmp_path: Path, text: str) -> None:
    user = put(tmp_path / "app", a_dot_c="a")
    work = tmp_path / "work"
    sync(user, work)
    put(work / "tree", orphan_dot_c="?")
    (work / "overlay.json").write_text(text)
    sync(user, work)
    assert contents(work / "tree") == {"a.c": "a"}


def test_a_row_of_the_record_that_says_nothing(tmp_path: Path) -> None:
    user = put(tmp_path / "app", a_dot_c="a")
    work = tmp_path / "work"
    sync(user, work)
    record = json.loads((work / "overlay.json").read_text())
    record["files"]["a.c"] = ["?"]
    (work / "overlay.json").write_text(json.dumps(record))
    (work / "tree/a.c").write_text("b")
    assert sync(user, work).written == ("a.c",)


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    user = put(tmp_path / "app", a_dot_c="a")
    put(tmp_path / "work/tree", thesis="years of work")
    said = refusal(sync, user, tmp_path / "work")
    assert "this folder was not made by this tool, so nothing is put into it (delete it)" in said
    assert contents(tmp_path / "work/tree") == {"thesis": "years of work"}


def test_a_copy_that_cannot_be_made(tmp_path: Path) -> None:
    user = put(tmp_path / "app", a_dot_c="a")
    put(tmp_path, work="a file")
    assert "cannot" in refusal(sync, user, tmp_path / "work")
    with pytest.raises(NeuralArtError, match="cannot be copied"):
        overlay.synchronize({"a.c": tmp_path / "none.c"}, tmp_path / "w2")
    assert not (tmp_path / "w2/tree/a.c").exists()
    assert not list((tmp_path / "w2/tree").iterdir()), "no half of a file"


_NAMES = st.sampled_from(["a.c", "b/a.c", "b/c.h", "d", "d/e", "f/g/h", "A2.c", "b"])
_STATES = st.dictionaries(_NAMES, st.sampled_from(["one", "two", ""]), max_size=6)


def _possible(state: dict[str, str]) -> dict[str, str]:
    """Nothing is a file and a folder."""
    return {n: t for n, t in state.items() if not any(other.startswith(f"{n}/") for other in state)}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(_STATES.map(_possible), min_size=1, max_size=5))
def test_after_any_changes_the_copy_is_the_tree(tmp_path_factory, states) -> None:
    folder = tmp_path_factory.mktemp("x")
    user, work = folder / "app", folder / "work"
    for state in states:
        shutil.rmtree(user, ignore_errors=True)
        user.mkdir()
        put(user, **{name.replace("/", "__"): text for name, text in state.items()})
        sync(user, work)
        assert contents(work / "tree") == state


# Where generated files go ---------------------------------------------------------------------------------------


def files(*names: str) -> list[Generated]:
    """``net/x`` is of network net, ``x`` of all."""
    return [Generated(name.rpartition("/")[0], Path("out", name.rpartition("/")[2])) for name in names]


ALL = files("net/net.c", "net/net_ecblobs.h", "net/net_atonbuf.xSPI2.raw", "npu_memory_init.c", "network_io.h")


def rules(**given: str) -> StageConfig:
    return StageConfig(
        "neuralart", tuple(StageRule(key, value, f"v.yaml:{n}") for n, (key, value) in enumerate(given.items(), 7))
    )


def test_a_folder_for_each_network() -> None:
    made = stage([*ALL, *files("b/b.c")], StageConfig())
    assert list(made.files) == [
        "neuralart/net/net.c",
        "neuralart/net/net_ecblobs.h",
        "neuralart/net/net_atonbuf.xSPI2.raw",
        "neuralart/npu_memory_init.c",
        "neuralart/network_io.h",
        "neuralart/b/b.c",
    ]
    assert made.networks == (
        ("net", "neuralart/net/net.c"),
        ("net", "neuralart/net/net_ecblobs.h"),
        ("b", "neuralart/b/b.c"),
    )
    assert next(iter(stage(ALL, StageConfig(".")).files)) == "net/net.c"


def test_rules_decide_in_their_order() -> None:
    made = stage(ALL, rules(**{"net.c": "X/App/network.c", "*.raw": "Model/", "npu_*": "", "*.h": "./", "*": "never/"}))
    assert list(made.files) == ["X/App/network.c", "net_ecblobs.h", "Model/net_atonbuf.xSPI2.raw", "network_io.h"]
    assert made.networks == (("net", "X/App/network.c"), ("net", "net_ecblobs.h"))


def test_what_the_c_includes_keeps_its_name() -> None:
    for place in ("Model/network_ecblobs.h", "blobs.h"):
        said = refusal(stage, ALL, rules(**{"*_ecblobs.h": place}))
        assert said.startswith(f"v.yaml:7: stage: net_ecblobs.h cannot become {place}: net.c includes it by its name")
    assert "(Model/ puts it there under its own name)" in refusal(
        stage, ALL, rules(**{"net_ecblobs.h": "Model/network_ecblobs.h"})
    )
    assert "Model/net_ecblobs.h" in stage(ALL, rules(**{"*_ecblobs.h": "Model/net_ecblobs.h"})).files


def test_a_network_whose_c_has_another_name() -> None:
    names = ("network.c", "network_ecblobs.h", "network_data.xSPI2.bin")
    adopted = [Generated("digits", Path("out") / name, "network") for name in names]
    assert stage(adopted, rules(**{"network*": "Model/", "*": ""})).networks == (
        ("digits", "Model/network.c"),
        ("digits", "Model/network_ecblobs.h"),
    )


def test_a_rule_for_a_file_that_is_not_made() -> None:
    said = refusal(stage, ALL, rules(**{"network.c": "x.c"}))
    assert said.startswith("v.yaml:7: stage: no file network.c is generated (did you mean")
    assert stage(ALL, rules(**{"*_none.h": "x/"})).files


def test_two_files_for_one_place() -> None:
    said = refusal(stage, ALL, rules(**{"*.h": "Model/all.h"}))
    assert said == "v.yaml:7: stage: out/net_ecblobs.h and out/network_io.h would both become Model/all.h"
    assert "would both become" in refusal(stage, files("a/x.c", "a/X.c"), StageConfig())


@pytest.mark.parametrize(
    ("tree", "place", "said"),
    [
        (
            ["Model/Net.c"],
            "Model/net.c",
            "Model/net.c differs from the tree's Model/Net.c only in upper and lower case",
        ),
        (["Model/net/x.c"], "Model/net", "Model/net is a folder (Model/net/ puts the file into it)"),
        (["Model"], "Model/net.c", "Model is a file in the user's tree, not a folder"),
        (["model"], "Model/net.c", "Model is a file in the user's tree, not a folder"),
    ],
)
def test_places_that_cannot_be(tree: list[str], place: str, said: str) -> None:
    assert said in refusal(stage, files("net/net.c"), rules(**{"net.c": place}), tree)


def test_the_users_own_copy_is_replaced_and_its_companions_go() -> None:
    """A header of blobs of the compile before, beside the C of this one, would be believed."""
    tree = [
        "Model/network.c",
        "Model/network_ecblobs.h",
        "Model/network.h",
        "Model/stai_network.c",
        "Model/network_atonbuf.xSPI2.raw",
        "Model/network_data.hex",
        "Model/my_network.h",
        "Src/network_ecblobs.h",
        "main.c",
    ]
    made = stage(
        files("net/net.c", "net/net.h"), rules(**{"net.c": "Model/network.c", "net.h": "Model/network.h"}), tree
    )
    assert made.superseded == ("Model/network_ecblobs.h", "Model/stai_network.c", "Model/network_atonbuf.xSPI2.raw")
    # Constants that are made but not copied are the tree's own (of an adopted network, the same file).
    adopted = files("network/network.c", "network/network_atonbuf.xSPI2.raw")
    kept = stage(adopted, rules(**{"network.c": "Model/", "*": ""}), tree)
    assert kept.superseded == ("Model/network_ecblobs.h", "Model/network.h", "Model/stai_network.c")


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("net.c", True),
        ("net_ecblobs.h", True),
        ("net_atonbuf.xSPI2.raw", True),
        ("net_generate_report.txt", False),
        ("network.json", False),
        ("net_OE_3_3_1.onnx", False),
    ],
)
def test_what_applications_copy(name: str, copied: bool) -> None:
    assert is_copied(name) is copied

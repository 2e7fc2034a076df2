"""Profiles as the tool gets them: edits, the pair for profiling, the spelling of each version, paths."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.compilers import profile_edits
from neuralart.compilers.stedgeai import staging
from neuralart.compilers.stedgeai.staging import conditions_of, stage
from neuralart.resources import board_data_dir
from neuralart.vendor import mpool, profile
from neuralart.vendor.releases import RELEASES
from support.models.stedgeai_case import make, refusal, request

SERIES = {".".join(map(str, release.series)): release for release in RELEASES}
BASE = ("-O3", "--all-buffers-info", "--Os", "--Omax-ca-pipe", "4", "--Oauto-sched")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    make(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


# ---- edits


@pytest.mark.parametrize(
    ("add", "remove", "result"),
    [
        ("", "", "-O3 --all-buffers-info --Os --Omax-ca-pipe 4 --Oauto-sched"),
        (
            "--enable-epoch-controller",
            "",
            "-O3 --all-buffers-info --Os --Omax-ca-pipe 4 --Oauto-sched --enable-epoch-controller",
        ),
        ("", "--Oauto-sched", "-O3 --all-buffers-info --Os --Omax-ca-pipe 4"),
        ("", "--Omax-ca-pipe", "-O3 --all-buffers-info --Os --Oauto-sched"),
        ("", "--Omax-ca-pipe 4 -M", "-O3 --all-buffers-info --Oauto-sched"),
        ("--Omax-ca-pipe 2", "", "-O3 --all-buffers-info --Os --Omax-ca-pipe 2 --Oauto-sched"),
        ("--optimization 2", "", "--optimization 2 --all-buffers-info --Os --Omax-ca-pipe 4 --Oauto-sched"),
        ("-O1", "", "-O1 --all-buffers-info --Os --Omax-ca-pipe 4 --Oauto-sched"),
        ("", "-O", "--all-buffers-info --Os --Omax-ca-pipe 4 --Oauto-sched"),
        ("--Oalt-sched", "--Oauto-sched", "-O3 --all-buffers-info --Os --Omax-ca-pipe 4 --Oalt-sched"),
        ("--brand-new 7", "--Os", "-O3 --all-buffers-info --Omax-ca-pipe 4 --Oauto-sched --brand-new 7"),
        ("--brand-new=7", "--Os", "-O3 --all-buffers-info --Omax-ca-pipe 4 --Oauto-sched --brand-new=7"),
    ],
)
def test_edits(add, remove, result):
    assert profile_edits.edit(BASE, add.split(), remove.split()) == tuple(result.split())


@pytest.mark.parametrize(
    ("add", "remove", "said"),
    [
        ("", "--Oauto", "na.json: remove: '--Oauto' is not in the profile (did you mean '--Oauto-sched'? known: "),
        ("", "--enable-epoch-controller", "is not in the profile"),
        ("4", "", "na.json: add: '4' belongs to no option"),
        ("", "Os", "na.json: remove: 'Os' belongs to no option"),
        ("--Os 4", "", "na.json: add: '4' belongs to no option"),
    ],
)
def test_edits_that_do_not_fit(add, remove, said):
    assert said in refusal(profile_edits.edit, BASE, add.split(), remove.split(), "na.json")


def test_a_second_removal_of_the_same_is_noticed():
    assert "is not in the profile" in refusal(profile_edits.edit, BASE, (), ("--Os", "-M"))


def test_the_pair_for_profiling():
    both = (*BASE, "--enable-epoch-controller", "--ec-single-epoch")
    assert profile_edits.has_controller(both) and not profile_edits.has_controller(BASE)
    assert profile_edits.for_profiling(both) == BASE
    assert profile_edits.for_profiling(BASE) == BASE


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--csv-file", "network"), "network.csv"),
        (("--csv-file", "n.csv", "--Os"), "n.csv"),
        (("--csv-file=x",), "x.csv"),
        (("--Os",), ""),
    ],
)
def test_the_name_of_the_table(options, name):
    assert profile_edits.csv_name(options) == name


OPTION = st.sampled_from(
    ["--Os", "--all-buffers-info", "--Omax-ca-pipe 3", "--csv-file a", "-O2", "--x-y 4", "--Oauto"]
)


@given(st.lists(OPTION, unique=True), OPTION)
def test_what_was_added_can_be_removed(options, extra):
    words = tuple(word for option in options for word in option.split())
    added = profile_edits.edit(words, extra.split())
    assert extra.split()[0] in added
    kept = tuple(word for option in options if option != extra for word in option.split())
    assert sorted(profile_edits.edit(added, (), extra.split()[:1])) == sorted(kept)


# ---- what the tool gets


def staged(*words: str, series="4.0", **named):
    made = request(*words, **named)
    found = stage(made, SERIES[series])
    text = found.files.get("profile/profile.json")
    return found, json.loads(text) if text else {}, conditions_of(made, found)


def test_a_staged_profile(folder):
    found, document, given = staged()
    assert found.argument == "default@profile/profile.json"
    assert document == {
        "Globals": {"NA_binary": "x"},
        "Profiles": {
            "default": {
                "memory_pool": "./pools/n6.mpool",
                "options": "-O3 --all-buffers-info --Os --Omax-ca-pipe 4 --Ocache-opt",
            }
        },
    }
    assert found.files["profile/pools/n6.mpool"] == (folder / "pools/n6.mpool").read_bytes()
    assert [path.name for path in found.sources] == ["na.json", "n6.mpool"]
    assert not given.controller and not given.csv
    # What was written is a profile file that our own reader finds whole.
    for name, data in found.files.items():
        (folder / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "there" / name).write_bytes(data)
    read = profile.read(folder / "there/profile/profile.json", "default")
    assert read.options == found.options
    assert mpool.read(read.mpool).enabled == tuple(pool for pool in mpool.read(read.mpool).pools if pool.size)


@pytest.mark.parametrize(
    ("series", "key"),
    [("2.0", "memory_desc"), ("2.1", "memory_desc"), ("2.2", "machine_desc"), ("4.0", "machine_desc")],
)
def test_the_machine_description_is_spelled_as_the_version_likes(series, key):
    found, document, _ = staged(series=series, profile="described@na.json")
    members = document["Profiles"]["described"]
    assert members[key] == "./machine/my_n6.mdesc"
    assert len({"memory_desc", "machine_desc"} & set(members)) == 1
    assert found.files["profile/machine/my_n6.mdesc"] == b"{}"
    assert [path.name for path in found.sources] == ["na.json", "n6.mpool", "my n6.mdesc"]


def test_edits_of_the_command_line():
    found, document, given = staged("--profile-add=--Oauto --csv-file t", "--profile-remove=-O3")
    assert found.options == (
        "--all-buffers-info",
        "--Os",
        "--Omax-ca-pipe",
        "4",
        "--Ocache-opt",
        "--Oauto",
        "--csv-file",
        "t",
    )
    assert document["Profiles"]["default"]["options"].split() == list(found.options)
    assert given.csv


def test_blobs_and_their_pair():
    assert staged(profile="blobs@na.json")[2].controller
    assert staged("--enable-epoch-controller")[2].controller
    found, _, given = staged("--pair", "profiling", profile="blobs@na.json")
    assert found.options == ("--Os",)
    assert not given.controller
    text = refusal(staged, "--pair", "profiling", "--enable-epoch-controller", profile="blobs@na.json")
    assert text.startswith("--enable-epoch-controller: contradicts the pair for profiling")


def test_another_pool_file(folder):
    (folder / "sp ace@.mpool").write_bytes((folder / "pools/n6.mpool").read_bytes())
    found, document, _ = staged("--mpool", "sp ace@.mpool", profile="default@na.json")
    assert document["Profiles"]["default"]["memory_pool"] == "./pools/sp_ace_.mpool"
    assert found.pools.path == "sp ace@.mpool"


def test_pools_that_become_raw_files(folder):
    """All but the ones that the program's linker places, whatever their order; sizes of zero and other text stay."""
    for old in ("linked", "code"):
        text = (folder / f"pools/{old}.mpool").read_text()
        (folder / f"pools/{old}.mpool").write_text(text.replace("FORMAT_RAW", "FORMAT_C", 1))
    linked = stage(request(profile="linked@na.json"), SERIES["4.0"])
    made = linked.files["profile/pools/linked.mpool"].decode()
    given = (folder / "pools/linked.mpool").read_text()
    assert made == given.replace('FORMAT_C"', 'FORMAT_RAW"', 1) and made.count("FORMAT_C") == 1
    assert [note for note in linked.notes if "fformat of pool AXISRAM3: constants are raw files" in note]
    assert b"FORMAT_C" not in stage(request(profile="code@na.json"), SERIES["4.0"]).files["profile/pools/code.mpool"]


@pytest.mark.parametrize("series", SERIES)
def test_a_boards_own_profile_gets_the_tools_default_options(series):
    found, _, _ = staged(series=series, profile="")
    release = SERIES[series]
    assert set(release.habits.built_in) <= set(found.options)
    assert ("--mvei" in found.options) == (release.series < (3, 0))
    assert "--all-buffers-info" in found.options
    assert len(found.options) == len(set(found.options))


def test_the_tools_own_profiles():
    found, document, _ = staged(profile="profile-minimal")
    assert (found.argument, found.options, found.pools, document) == ("profile-minimal", None, None, {})
    for words in (("--mpool", "pools/n6.mpool"), ("--profile-add=--Os",), ("--pair", "profiling")):
        assert "profile-minimal is the tool's own" in refusal(staged, *words, profile="profile-minimal")


def test_stock_profiles_of_a_board_with_the_vendors_names_are_whole():
    of_board = str(board_data_dir() / "profiles" / "nucleo-n657x0-q.json")
    options = {n: set(staged(profile=f"{n}@{of_board}")[0].options) for n in ("default", "minimal", "allmems--O3")}
    assert {"--Os", "--Oauto-sched"} <= options["default"]
    assert not options["minimal"] & {"--Os", "--Oauto-sched", "--mvei"}
    assert {"--Os", "--optimization", "3"} <= options["allmems--O3"] and "--Oauto-sched" not in options["allmems--O3"]
    assert "--mvei" in staged(profile=f"minimal@{of_board}", series="2.2")[0].options


@pytest.mark.parametrize(
    ("words", "named", "said"),
    [
        ((), {"profile": "none@na.json"}, "na.json:4:14: no profile 'none'"),
        ((), {"profile": "default@none.json"}, "none.json: cannot read"),
        (
            (),
            {"profile": "lost@na.json"},
            "na.json:9:61: profile 'lost' names the machine description 'desc/none.mdesc'",
        ),
        (("--mpool", "none.mpool"), {}, "none.mpool: cannot read"),
        (("--mpool", "pools/n6.mpool"), {"target": "stm32h7"}, "--mpool: it is the memory-pool file of the NPU"),
        (("--profile-remove=--Oauto",), {}, "na.json: remove: '--Oauto' is not in the profile"),
    ],
)
def test_what_is_refused(words, named, said):
    assert said in refusal(staged, *words, **named)


def test_a_bad_pool_file_is_found_before_the_tool_is_asked(folder):
    (folder / "pools/n6.mpool").write_text('{"memory": {"mempools": [ {"fname": "A", } ]}}')
    assert "pools/n6.mpool:1:40: a comma before '}'" in refusal(staged)


def test_a_profile_elsewhere_finds_its_pools(folder):
    text = staging.derive(
        folder / "na.json",
        "blobs",
        options=("--Os",),
        memory_pool=staging.reference(folder / "pools/n6.mpool", folder / "build"),
    )
    (folder / "build").mkdir()
    (folder / "build/derived.json").write_text(text)
    assert profile.read(folder / "build/derived.json", "blobs").mpool.resolve() == folder.resolve() / "pools/n6.mpool"

"""Profile files and the argument of --st-neural-art."""

from __future__ import annotations

import json

import pytest

from neuralart.errors import NeuralArtError
from neuralart.vendor import profile
from neuralart.vendor.profile import ProfileArgument, parse_argument
from support.servers.messages import flat
from support.servers.programs import N6_LIKE, pool_text

TEXT = """// profiles
{
  "Globals": { },
  "Profiles": {
    "default": { // the usual one
      "memory_pool": "./pools/n6.mpool",
      "options" : "-O3 --Os \\
        --csv-file 'a b' --enable-virtual-mem-pools",
      "machine_desc": "x.mdesc",
      "_comment": "internal",
      "memory_pol": "typo"
    },
    "old": { "memory_pool": "pools/n6.mpool", "memory_desc": "y.mdesc" },
    "lost": {
      "memory_pool": "./pools/none.mpool" },
    "absolute": { "memory_pool": "/no such place/x.mpool" },
    "windows": { "memory_pool": "pools\\\\n6_.mpool" },
    "none": { "options": "" }
  }
}
"""


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "d\u00e9p\u00f4t a"
    (folder / "pools").mkdir(parents=True)
    (folder / "pools" / "n6.mpool").write_text(pool_text(*N6_LIKE))
    path = folder / "neural_art.json"
    path.write_text(TEXT, encoding="utf-8")
    return path


def refusal(path, name, text=None) -> NeuralArtError:
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(NeuralArtError) as caught:
        profile.read(path, name, "na.json")
    flat(str(caught.value))
    return caught.value


def test_a_profile(file):
    found = profile.read(file, "default", "conf/na.json")
    assert found.mpool.is_file()
    assert found.mpool_display == "conf/pools/n6.mpool"
    assert found.options == ("-O3", "--Os", "--csv-file", "a b", "--enable-virtual-mem-pools")
    assert (found.machine_desc, found.unknown, found.file) == ("x.mdesc", ("memory_pol",), "conf/na.json")
    assert (found.where, found.options_where) == ("conf/na.json:5:16", "conf/na.json:7:19")


def test_the_old_key_of_the_machine_description(file):
    found = profile.read(file, "old", "na.json")
    assert (found.machine_desc, found.options, found.mpool_display) == ("y.mdesc", (), "pools/n6.mpool")


def test_an_absolute_pool_file(file, tmp_path):
    other = tmp_path / "other.mpool"
    other.write_text(pool_text(*N6_LIKE))
    file.write_text(json.dumps({"Profiles": {"a": {"memory_pool": other.as_posix()}}}))
    found = profile.read(file, "a", "conf/na.json")
    assert (found.mpool, found.mpool_display) == (other, other.as_posix())


def test_unknown_profile(file):
    error = refusal(file, "defualt")
    assert error.where == "na.json:4:15"
    assert error.what == "no profile 'defualt'"
    assert error.hint.startswith("did you mean 'default'? known: absolute, default")


def test_missing_pool_file_says_where_it_was_looked_for(file):
    error = refusal(file, "lost")
    assert error.where == "na.json:15:22"
    assert "profile 'lost' names the memory pools './pools/none.mpool'" in error.what
    assert str(file.parent / "pools" / "none.mpool") in error.what
    assert "relative to the profile file" in error.hint
    assert "absolute" in refusal(file, "absolute").hint
    assert "write it with /" in refusal(file, "windows").hint


def test_a_profile_without_pools(file):
    assert refusal(file, "none").what == "profile 'none' names no 'memory_pool'"
    assert profile.read(file, "none", need_pools=False).options == ()
    assert profile.read(file, "lost", need_pools=False).mpool_display == ""


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"{}", "there is no 'Profiles'"),
        (b'{"profiles": {}}', "there is no 'Profiles'"),
        (b"[]", "the document must be an object { }, not a list"),
        (b'{"Profiles": []}', "Profiles must be an object { }, not a list"),
        (b'{"Profiles": {"default": "x"}}', "profile 'default' must be an object { }, not a text"),
        (b'{"Profiles": {"default": {"memory_pool": 1}}}', "memory_pool must be a text, not a number"),
        (b'{"Profiles": {"default": {"memory_pool": ""}}}', "profile 'default' names the memory pools ''"),
        (b'{"Profiles": {"default": {"memory_pool": "."}}}', "profile 'default' names the memory pools '.'"),
        (b'{"Profiles": {"default": {"memory_pool": "pools/n6.mpool", "options": 3}}}', "options must be a text"),
        (b'{"Profiles": {"default": {"memory_pool": "pools/n6.mpool", "options": "\'a"}}}', "options: no closing"),
        (b'{"Profiles": {"default": {"memory_pool": "pools/n6.mpool",}}}', "a comma before '}'"),
    ],
)
def test_refusals(file, text, what):
    error = refusal(file, "default", text)
    assert error.what.startswith(what)
    assert error.where.startswith("na.json:1:")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(NeuralArtError, match="cannot read"):
        profile.read(tmp_path / "x.json", "default")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("default@a.json", ProfileArgument("default", "a.json")),
        ("p@dir with space/\u00fc@x.json", ProfileArgument("p", "dir with space/\u00fc@x.json")),
        ("conf/a.json", ProfileArgument("default", "conf/a.json")),
        ("", ProfileArgument("default")),
        ("profile-allmems--O3", ProfileArgument("allmems--O3")),
        ("n6-noextmem", ProfileArgument("n6-noextmem")),
    ],
)
def test_arguments(text, expected):
    assert parse_argument(text) == expected


@pytest.mark.parametrize("text", ["conf/a", "@a.json", "default@", "profile-", "help", "a.mpool"])
def test_wrong_arguments(text):
    with pytest.raises(NeuralArtError) as caught:
        parse_argument(text)
    assert caught.value.where == "--st-neural-art"
    assert "allowed: <profile>@<file.json>" in caught.value.hint or text == "help"


@pytest.mark.parametrize(
    "members",
    [
        '"options": "--Os --load-mpool ./pools/n6.mpool -O3"',
        '"options": "--Os -O3 --load-mpool-file=pools/n6.mpool"',
        '"memory_pool": "pools/n6.mpool", "options": "--load-mpool other.mpool --Os -O3 --load-mpool ./pools/n6.mpool"',
    ],
)
def test_the_pool_file_among_the_options(file, members):
    file.write_text(f'{{"Profiles": {{"x": {{{members}}}}}}}')
    found = profile.read(file, "x", "conf/na.json")
    assert (found.mpool.resolve(), found.options) == (file.parent / "pools/n6.mpool", ("--Os", "-O3"))
    assert found.mpool_display == "conf/pools/n6.mpool"
    assert profile.read(file, "x", need_pools=False).options == ("--Os", "-O3")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ('"options": "--load-mpool none.mpool"', "'x' names the memory pools 'none.mpool': no such file"),
        ('"options": "--load-mpool --Os"', "--load-mpool lacks its value"),
        ('"options": "--Os --load-mpool-file"', "--load-mpool-file lacks its value"),
        (
            '"memory_pool": "pools/n6.mpool", "options": "--load-mpool p.mpool"',
            "'x' names two pool files: memory_pool 'pools/n6.mpool', --load-mpool 'p.mpool' (keep one of them)",
        ),
    ],
)
def test_pool_files_among_the_options_that_are_wrong(file, members, said):
    text = refusal(file, "x", f'{{"Profiles": {{"x": {{{members}}}}}}}'.encode())
    assert str(text).startswith("na.json:1:") and said in str(text)

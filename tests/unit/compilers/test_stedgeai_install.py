"""Finding an ST Edge AI Core: where it is looked for, which version it is, and what is said when there is none."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from neuralart.compilers.stedgeai import install as installs
from neuralart.compilers.stedgeai.install import choose, find
from neuralart.errors import NeuralArtError
from neuralart.vendor import releases
from neuralart.vendor.releases import parse_core
from support.fake_stedgeai import VERSIONS, calls, install
from support.servers.messages import flat

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")


@pytest.fixture
def environ(tmp_path):
    """A machine without any installation."""
    (tmp_path / "home").mkdir()
    return {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path / "home"),
        installs.ROOTS: str(tmp_path / "st"),
        installs.CACHE_DIR: str(tmp_path / "cache"),
    }


def message(call, *words, **named) -> str:
    with pytest.raises(NeuralArtError) as error:
        call(*words, **named)
    return flat(str(error.value))


# ---- versions and pins


@pytest.mark.parametrize("text", VERSIONS)
def test_what_version_prints(text):
    core = VERSIONS[text][0]
    found = releases.parse_answer(f"loader noise\r\nST Edge AI Core v{core}\n  ISPU 1.2\n  STM32CubeAI 12.0\n", "x")
    assert found.text == core
    assert found.short == text
    assert releases.is_known(found.numbers)
    assert releases.release_of(found).core == text


@pytest.mark.parametrize(
    "answer", ["", "4.0.1", "ST Edge AI Core 4.0.1", "ST Edge AI Core vX.Y", "stedgeai: command not found", "\n\n"]
)
def test_an_answer_without_a_version(answer):
    assert "does not say which version it is" in message(releases.parse_answer, answer, "/x/stedgeai")


def test_a_pre_release():
    found = releases.parse_answer("ST Edge AI Core v2.0.0-A1\n", "x")
    assert (found.short, found.build, found.commit) == ("2.0.0", "A1", "")


@pytest.mark.parametrize(
    ("pin", "fitting"),
    [
        ("", {"2.2.0", "4.0.0", "4.0.1"}),
        ("4", {"4.0.0", "4.0.1"}),
        ("4.*", {"4.0.0", "4.0.1"}),
        ("4.0.*", {"4.0.0", "4.0.1"}),
        ("4.0", {"4.0.0", "4.0.1"}),
        ("4.0.1", {"4.0.1"}),
        ("4.0.1-*", {"4.0.1"}),
        ("4.0.1-20581", {"4.0.1"}),
        ("4.0.1-20582", set()),
        ("04.0.01", {"4.0.1"}),
        ("2.2.0", {"2.2.0"}),
        ("40", set()),
    ],
)
def test_pins(pin, fitting):
    if pin:
        releases.check_pin(pin, "variants.yaml:3")
    known = {text: parse_core(VERSIONS[text][0]) for text in ("2.2.0", "4.0.0", "4.0.1")}
    assert {text for text, found in known.items() if releases.fits(found, pin)} == fitting


@pytest.mark.parametrize("pin", ["latest", "4.*.1", ">=4.0", "4.0.1.2", "v4.0", "*", "4.", " 4.0", "4.0.1-", "99999.1"])
def test_what_is_no_pin(pin):
    assert message(releases.check_pin, pin, "v.yaml:3").startswith(f"v.yaml:3: '{pin}' is no version to ask for")


def test_versions_before_the_npu():
    assert "has no Neural-ART compiler" in message(releases.check_pin, "1.0.*", "v.yaml:3")
    old = parse_core("1.0.0-19899")
    assert "ST Edge AI Core 1.0.0-19899 has no Neural-ART" in message(releases.release_of, old)


def test_a_version_of_the_future_is_taken_as_the_nearest():
    future = parse_core("5.1.0-3")
    assert not releases.is_known(future.numbers)
    assert releases.release_of(future).series == (4, 0)
    assert releases.release_of(parse_core("2.9.0")).series == (2, 2)


# ---- where


@pytest.mark.parametrize(
    ("system", "home", "expected"),
    [
        ("linux", "HOME", ["/opt/ST/STEdgeAI", "/opt/stedgeai", "H/ST/STEdgeAI", "H/STEdgeAI"]),
        ("win32", "USERPROFILE", ["C:/ST/STEdgeAI", "H/ST/STEdgeAI", "H/STEdgeAI"]),
        ("darwin", "HOME", ["/Applications/ST/STEdgeAI", "/opt/ST/STEdgeAI", "H/ST/STEdgeAI", "H/STEdgeAI"]),
    ],
)
def test_roots_of_three_systems(system, home, expected):
    found = [path.as_posix() for path in installs.usual_roots({home: "H"}, system)]
    assert found == [*expected, "H/STM32Cube/Repository/Packs/STMicroelectronics/X-CUBE-AI"]
    assert [path.as_posix() for path in installs.usual_roots({}, system)] == [
        path for path in expected if not path.startswith("H")
    ]


@pytest.mark.parametrize(
    ("system", "program"),
    [
        ("linux", "Utilities/linux/stedgeai"),
        ("win32", "Utilities/windows/stedgeai.exe"),
        ("darwin", "Utilities/mac/stedgeai"),
        ("darwin", "Utilities/macarm/stedgeai"),
    ],
)
def test_programs_of_three_systems(tmp_path, system, program):
    root = tmp_path / "4.0"
    (root / program).parent.mkdir(parents=True)
    (root / program).write_bytes(b"")
    environ = {installs.ROOTS: str(tmp_path), "PATH": ""}
    assert [place.program for place in installs.places(environ, system) if place.program] == [root / program]
    assert installs.root_of(root / program) == root.resolve()


def test_the_newest_comes_first_by_number(tmp_path):
    for name in ("9.0.0", "10.2.0", "10.10.0", "notes"):
        install(tmp_path / name, "4.0.1")
    environ = {installs.ROOTS: str(tmp_path), "PATH": ""}
    names = [Path(place.said).name for place in installs.places(environ, sys.platform) if place.program]
    assert names == ["10.10.0", "10.2.0", "9.0.0", "notes"]


def test_the_order_of_places(tmp_path, environ):
    for name, text in (("named", "2.0.0"), ("path", "2.1.0"), ("st/2.2", "2.2.0"), ("st/4.0", "4.0.0")):
        install(tmp_path / name, text)
    environ["PATH"] = os.pathsep.join([str(tmp_path / "bin"), str(tmp_path / "path/Utilities/linux")])
    assert find("", environ | {installs.CORE_DIR: str(tmp_path / "named")}).version.short == "2.0.0"
    found = find("", environ)
    assert found.version.short == "2.1.0"
    assert found.root == (tmp_path / "path").resolve()
    assert found.found.startswith("PATH (")
    environ["PATH"] = ""
    assert find("", environ).version.short == "4.0.0"
    assert find("2.2.*", environ).version.short == "2.2.0"


def test_the_packs_of_cubemx(tmp_path, environ):
    del environ[installs.ROOTS]
    pack = tmp_path / "home/STM32Cube/Repository/Packs/STMicroelectronics/X-CUBE-AI/10.2.0"
    install(pack, "2.2.0")
    found = find("2.2.0", environ)
    assert (found.root, found.version.short) == (pack.absolute(), "2.2.0")


def test_a_root_may_be_an_installation_itself(tmp_path, environ):
    install(tmp_path / "st", "4.0.1")
    assert find("4.0.1", environ).root == tmp_path / "st"


def test_a_pin_passes_over_the_named_one(tmp_path, environ):
    install(tmp_path / "named", "2.0.0")
    install(tmp_path / "st/4.0", "4.0.1")
    environ[installs.CORE_DIR] = str(tmp_path / "named")
    assert find("4.0.*", environ).version.short == "4.0.1"


def test_a_link_on_the_path_leads_to_its_installation(tmp_path, environ):
    install(tmp_path / "real/4.0", "4.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/stedgeai").symlink_to(tmp_path / "real/4.0/Utilities/linux/stedgeai")
    assert find("", environ).root == (tmp_path / "real/4.0").resolve()


def test_one_program_is_asked_once_though_found_twice(tmp_path, environ):
    install(tmp_path / "st/4.0", "4.0.1")
    environ["PATH"] = str(tmp_path / "st/4.0/Utilities/linux")
    text = message(find, "3.0.*", environ)
    assert text.count("4.0.1-20581") == 1


# ---- nothing found


def test_the_trail_of_a_search(tmp_path, environ):
    install(tmp_path / "st/2.2", "2.2.0")
    install(tmp_path / "st/4.0", "4.0.1")
    text = message(find, "3.0.*", environ, where="variants.yaml:7")
    st = tmp_path / "st"
    assert text.startswith(
        "variants.yaml:7: no ST Edge AI Core 3.0.* found; looked at STEDGEAI_CORE_DIR: not set; PATH: none; "
        f"{st / '4.0'}: 4.0.1-20581; {st / '2.2'}: 2.2.0-20266 (install it, or set STEDGEAI_CORE_DIR to the folder"
    )


def test_no_installation_at_all(tmp_path, environ):
    text = message(find, "", environ)
    assert (
        f"no ST Edge AI Core found; looked at STEDGEAI_CORE_DIR: not set; PATH: none; {tmp_path / 'st'}: none" in text
    )


def test_a_named_folder_without_the_tool_is_an_error_at_once(tmp_path, environ):
    install(tmp_path / "st/4.0", "4.0.1")
    environ[installs.CORE_DIR] = str(tmp_path / "wrong")
    text = message(find, "", environ)
    assert f"STEDGEAI_CORE_DIR={tmp_path / 'wrong'}: no ST Edge AI Core in it" in text
    assert "Utilities" in text


def test_versions_without_the_npu_are_passed_over(tmp_path, environ, monkeypatch):
    install(tmp_path / "st/1.0", "2.0.0")
    monkeypatch.setattr(installs, "ask", lambda *_: parse_core("1.0.0-19899"))
    assert "1.0: 1.0.0-19899, which has no Neural-ART compiler" in message(find, "", environ)


def test_broken_installations_are_named_in_the_trail(tmp_path, environ):
    broken = install(tmp_path / "st/5.0", "4.0.1") / "Utilities/linux/stedgeai"
    broken.write_text("#!/bin/sh\necho 'libfoo.so: not found'\nexit 127\n")
    install(tmp_path / "st/4.0", "4.0.1")
    assert find("", environ).version.short == "4.0.1"
    assert "5.0: does not say which version it is: 'libfoo.so: not found'" in message(find, "3.0", environ)
    broken.write_bytes(b"\x7fELFnonsense")
    assert "5.0: cannot be started: Exec format error" in message(find, "3.0", environ)
    environ[installs.CORE_DIR] = str(tmp_path / "st/5.0")
    assert "cannot be started" in message(find, "", environ)


# ---- asking once


def test_the_version_is_asked_once(tmp_path, environ):
    root = install(tmp_path / "st/4.0", "4.0.1")
    for _ in range(3):
        find("", environ)
    assert len(calls(root)) == 1
    assert list(json.loads((tmp_path / "cache/stedgeai.json").read_text()).values()) == ["4.0.1-20581 7ed50de05"]


def test_another_program_is_asked_again_and_the_old_answer_goes(tmp_path, environ):
    install(tmp_path / "st/4.0", "4.0.0")
    assert find("", environ).version.short == "4.0.0"
    install(tmp_path / "st/4.0", "4.0.1")
    os.utime(tmp_path / "st/4.0/Utilities/linux/stedgeai", ns=(1, 1))
    assert find("", environ).version.short == "4.0.1"
    assert len(json.loads((tmp_path / "cache/stedgeai.json").read_text())) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 5}', '"text"', "\ufeff{}", "null"])
def test_a_damaged_cache_knows_nothing(tmp_path, environ, text):
    root = install(tmp_path / "st/4.0", "4.0.1")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/stedgeai.json").write_text(text, "utf-8")
    assert find("", environ).version.short == "4.0.1"
    find("", environ)
    assert len(calls(root)) == 1


def test_a_cache_with_a_wrong_answer_for_the_program(tmp_path, environ):
    root = install(tmp_path / "st/4.0", "4.0.1")
    find("", environ)
    cache = tmp_path / "cache/stedgeai.json"
    cache.write_text(cache.read_text().replace("4.0.1-20581 7ed50de05", "nonsense"))
    assert find("", environ).version.short == "4.0.1"
    assert len(calls(root)) == 2


def test_a_cache_that_cannot_be_written_is_left_alone(tmp_path, environ):
    root = install(tmp_path / "st/4.0", "4.0.1")
    (tmp_path / "cache").write_text("a file, not a folder")
    find("", environ)
    find("", environ)
    assert len(calls(root)) == 2


def test_where_the_cache_is():
    def at(system, **environ):
        found = installs.default_cache(environ, system)
        return found.as_posix() if found else None

    assert at("linux", HOME="/h") == "/h/.cache/scons-neuralart/stedgeai.json"
    assert at("linux", HOME="/h", XDG_CACHE_HOME="/x") == "/x/scons-neuralart/stedgeai.json"
    assert at("darwin", HOME="/h") == "/h/Library/Caches/scons-neuralart/stedgeai.json"
    assert at("win32", LOCALAPPDATA="C:/L") == "C:/L/scons-neuralart/stedgeai.json"
    assert at("linux") is None and at("darwin") is None and at("win32") is None
    assert at("linux", HOME="/h", NEURALART_CACHE_DIR="/c") == "/c/stedgeai.json"


def test_a_tool_that_does_not_answer(tmp_path, environ):
    install(tmp_path / "st/4.0", "4.0.1")
    environ |= {"FAKE_STEDGEAI_HANG": "20", installs.PATIENCE: "0.2", installs.CORE_DIR: str(tmp_path / "st/4.0")}
    text = message(find, "", environ)
    assert "does not answer '--version' within 0.2 seconds (the first start of a new installation is slow" in text


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "inf"])
def test_a_patience_that_is_none(tmp_path, environ, text):
    install(tmp_path / "st/4.0", "4.0.1")
    environ |= {installs.PATIENCE: text, installs.CORE_DIR: str(tmp_path / "st/4.0")}
    assert f"{installs.PATIENCE}: '{text}' is no number of seconds" in message(find, "", environ)


def test_what_the_tool_sees_of_the_environment():
    environ = {"PATH": "/bin", "PYTHONPATH": "/ours", "PYTHONHOME": "/ours", "LANG": "C", installs.CORE_DIR: "/other"}
    assert installs.child_environment(environ, Path("/opt/x")) == {
        "PATH": "/bin",
        "LANG": "C",
        installs.CORE_DIR: str(Path("/opt/x")),
    }
    assert installs.child_environment(environ, None)[installs.CORE_DIR] == "/other"


# ---- auto


def test_auto(tmp_path, environ):
    assert choose("", environ) == "reference"
    install(tmp_path / "st/4.0", "4.0.1")
    assert choose("", environ) == "stedgeai"
    assert choose("4.0.*", environ) == "stedgeai"
    assert choose("3.0.*", environ) == "reference"
    assert "is no version" in message(choose, "newest", environ)
    environ[installs.CORE_DIR] = str(tmp_path / "wrong")
    assert "no ST Edge AI Core in it" in message(choose, "", environ)

"""The keys of a network that choose and bound its compile: compiler, profile, pair, check, budgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import boards, config
from neuralart.config.networks import PIN
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.vendor.releases import check_pin
from neuralart_bring import last_build
from support.servers.messages import one_message

FILE = """\
schema: 1
{defaults}networks:
  digits:
    model: digits.tflite
    {network}
variants:
  one: {{board: stm32n6570-dk, network: digits}}
  two:
    board: stm32n6570-dk
    network: digits
    overrides:
      digits:
        {override}
"""
# Lines of the file above, without defaults.
NETWORK, OVERRIDE = 5, 13


def read(folder: Path, network: str = "", override: str = "check: exact", default: str = "") -> config.ProjectFile:
    defaults = f"defaults: {{network: {{{default}}}}}\n" if default else ""
    path = folder / "variants.yaml"
    path.write_text(FILE.format(network=network, override=override, defaults=defaults), "utf-8")
    return config.read(path, "variants.yaml")


def one(folder: Path, network: str, default: str = "") -> NetworkConfig:
    return read(folder, network, default=default).variant("one").networks[0]


def two(folder: Path, network: str, override: str, default: str = "") -> NetworkConfig:
    return read(folder, network, override, default).variant("two").networks[0]


def refusal(folder: Path, network: str) -> str:
    with pytest.raises(NeuralArtError) as caught:
        one(folder, network)
    text = str(caught.value)
    one_message(text)
    return text


# ---- what nobody says


def test_without_any_of_them(tmp_path: Path) -> None:
    net = one(tmp_path, "")
    assert (net.compiler, net.compiler_version, net.recording) == ("reference", "", "")
    assert (net.profile, net.profile_add, net.profile_remove, net.pair) == ("", (), (), "")
    assert (net.extra_options, net.failures, net.check, net.budgets) == ((), "", (), None)
    assert net == NetworkConfig("digits", "digits.tflite", where=net.where)


# ---- compiler


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("reference", ("reference", "", "")),
        ("stedgeai", ("stedgeai", "", "")),
        ("auto", ("auto", "", "")),
        ('{stedgeai: "4.0.*"}', ("stedgeai", "4.0.*", "")),
        ('{stedgeai: "4"}', ("stedgeai", "4", "")),
        ('{stedgeai: "2.*"}', ("stedgeai", "2.*", "")),
        ("{stedgeai: 4.0.1}", ("stedgeai", "4.0.1", "")),
        ("{stedgeai: 4.0.1-20581}", ("stedgeai", "4.0.1-20581", "")),
        ("{recorded: recordings/a b}", ("recorded", "", "recordings/a b")),
    ],
)
def test_compiler(tmp_path: Path, text: str, wanted: tuple[str, str, str]) -> None:
    net = one(tmp_path, f"compiler: {text}")
    assert (net.compiler, net.compiler_version, net.recording) == wanted
    assert net.said("compiler") == f"variants.yaml:{NETWORK}"


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ('{stedgeai: "4.0.*"}', "reference", ("reference", "", "")),
        ('{stedgeai: "4.0.*"}', "stedgeai", ("stedgeai", "", "")),
        ("{recorded: here}", '{stedgeai: "2.2.0"}', ("stedgeai", "2.2.0", "")),
        ('{stedgeai: "2.2.0"}', "{recorded: here}", ("recorded", "", "here")),
        ("auto", "reference", ("reference", "", "")),
    ],
)
def test_an_override_replaces_the_whole_compiler(
    tmp_path: Path, first: str, second: str, wanted: tuple[str, str, str]
) -> None:
    for net in (
        two(tmp_path, f"compiler: {first}", f"compiler: {second}"),
        two(tmp_path, "", f"compiler: {second}", default=f"compiler: {first}"),
    ):
        assert (net.compiler, net.compiler_version, net.recording) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stedgai", ["'stedgai' is not allowed", "did you mean 'stedgeai'?"]),
        ("recorded", ["names no recording", "{recorded: FOLDER}"]),
        ("{recorded: }", ["recorded", "is empty"]),
        ('{recorded: ""}', ["recorded", "is empty"]),
        ("{recorded: [a]}", ["recorded", "must be text"]),
        ("{stedgeai: 4.0}", ["4.0 is a number in YAML", 'quote it: "4.0"']),
        ("{stedgeai: 4}", ["4 is a number in YAML"]),
        ('{stedgeai: "4.x"}', ["'4.x' is not a version of ST Edge AI Core"]),
        ('{stedgeai: "*"}', ["'*' is not a version"]),
        ('{stedgeai: "4.*.1"}', ["'4.*.1' is not a version"]),
        ('{stedgeai: "4.0.1.2"}', ["'4.0.1.2' is not a version"]),
        ('{stedgeai: ">=4"}', ["'>=4' is not a version"]),
        ('{stedgeai: ""}', ["compiler.stedgeai", "is empty"]),
        ("{}", ["names no compiler, or several"]),
        ('{stedgeai: "4", recorded: x}', ["names no compiler, or several"]),
        ('{reference: "1"}', ["unknown key 'reference'", "known: adopted, recorded, stedgeai"]),
        ('{auto: "4"}', ["unknown key 'auto'"]),
        ("[stedgeai]", ["must be text, this is a list"]),
        ("true", ["a true/false value"]),
        ("", ["is empty"]),
    ],
)
def test_wrong_compiler(tmp_path: Path, text: str, words: list[str]) -> None:
    said = refusal(tmp_path, f"compiler: {text}")
    assert said.startswith(f"variants.yaml:{NETWORK}: ")
    assert all(word in said for word in words), said


@given(st.text("0123456789.*-ax", max_size=12))
def test_a_pin_of_the_file_is_one_of_the_command_line(text: str) -> None:
    """What is refused here needs no look for installations; what is not, is understood there."""
    if PIN.fullmatch(text) and int(text.split(".")[0]) >= 2:
        check_pin(text, "")
    elif text:
        with pytest.raises(NeuralArtError):
            check_pin(text, "")


# ---- profile


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("na.json", ("na.json", (), ())),
        ("blobs@na.json", ("blobs@na.json", (), ())),
        ("relocatable@", ("relocatable@", (), ())),
        ("{base: blobs@na.json}", ("blobs@na.json", (), ())),
        ("{add: [--Oauto]}", ("", ("--Oauto",), ())),
        (
            '{base: na.json, add: ["--Omax-ca-pipe 4", -O3], remove: [--Os]}',
            ("na.json", ("--Omax-ca-pipe 4", "-O3"), ("--Os",)),
        ),
        ("{}", ("", (), ())),
    ],
)
def test_profile(tmp_path: Path, text: str, wanted: tuple[object, ...]) -> None:
    net = one(tmp_path, f"profile: {text}")
    assert (net.profile, net.profile_add, net.profile_remove) == wanted


def test_parts_of_a_profile_are_overridden_one_by_one(tmp_path: Path) -> None:
    net = two(tmp_path, "profile: {base: na.json, add: [--Oauto]}", "profile: {add: []}")
    assert (net.profile, net.profile_add) == ("na.json", ())
    net = two(tmp_path, "profile: {base: na.json, remove: [--Os]}", "profile: other.json", "profile: {add: [-O3]}")
    assert (net.profile, net.profile_add, net.profile_remove) == ("other.json", ("-O3",), ("--Os",))
    assert net.said("profile") == f"variants.yaml:{OVERRIDE + 1}"
    assert net.said("profile_add") == "variants.yaml:2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'@na.json'", ["'@na.json' names no profile before the @"]),
        ("{base: '@na.json'}", ["profile.base", "names no profile before the @"]),
        ("{bass: na.json}", ["unknown key 'bass' in networks.digits.profile", "did you mean 'base'?"]),
        ("{add: --Oauto}", ["profile.add", "must be a list, like [a, b]"]),
        ("{add: [4]}", ["profile.add[0]", "a number in YAML"]),
        ("{add: [{a: b}]}", ["profile.add[0]", "must be text"]),
        ("{remove: [--Os, ]}", None),
        ('{remove: [""]}', ["profile.remove[0]", "is empty"]),
        ("[a, b]", ["must be text, this is a list"]),
    ],
)
def test_wrong_profile(tmp_path: Path, text: str, words: list[str] | None) -> None:
    if words is None:
        assert one(tmp_path, f"profile: {text}").profile_remove == ("--Os",)
        return
    said = refusal(tmp_path, f"profile: {text}")
    assert said.startswith(f"variants.yaml:{NETWORK}: ")
    assert all(word in said for word in words), said


# ---- pair, extra_options, failures


def test_the_others(tmp_path: Path) -> None:
    net = one(tmp_path, 'pair: profiling\n    extra_options: [--new, "3 4"]\n    failures: ours.yaml\n    timeout: 1.5')
    assert (net.pair, net.extra_options, net.failures) == ("profiling", ("--new", "3 4"), "ours.yaml")
    assert net.timeout == 1.5
    net = two(
        tmp_path, "pair: profiling\n    failures: x.yaml", 'pair: ""\n        failures: ""\n        extra_options: []'
    )
    assert (net.pair, net.extra_options, net.failures) == ("", (), "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pair: profile", ["networks.digits.pair", "'profile' is not allowed", "did you mean 'profiling'?"]),
        ("pair: [profiling]", ["must be text"]),
        ("extra_options: --new", ["must be a list"]),
        ("extra_options: [1]", ["extra_options[0]", "a number in YAML"]),
        ("failures: [a.yaml]", ["failures", "must be text"]),
        ("failures: ", ["failures", "is empty"]),
        ("timeout: 0", ["timeout: 0 is out of range, allowed: 0.1 to 1e+06"]),
        ("timeout: 5 min", ["timeout: must be a number, this is '5 min'"]),
        ("extra_option: []", ["unknown key 'extra_option'", "did you mean 'extra_options'?"]),
    ],
)
def test_wrong_others(tmp_path: Path, text: str, words: list[str]) -> None:
    said = refusal(tmp_path, text)
    assert said.startswith(f"variants.yaml:{NETWORK}: ")
    assert all(word in said for word in words), said


# ---- check


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("exact", ()),
        ("{max_lsb: 1}", (("max_lsb", 1),)),
        ("{max_lsb: 0}", (("max_lsb", 0),)),
        ("{rmse: 1e-3, cos: 0.999, max_lsb: 2}", (("cos", 0.999), ("max_lsb", 2), ("rmse", 0.001))),
        ("{cos: 1}", (("cos", 1.0),)),
        ("{cos: .5}", (("cos", 0.5),)),
        ("{cos: 0}", (("cos", 0.0),)),
        ("{rmse: 1e30}", (("rmse", 1e30),)),
    ],
)
def test_check(tmp_path: Path, text: str, wanted: tuple[tuple[str, float], ...]) -> None:
    assert one(tmp_path, f"check: {text}").check == wanted


def test_check_is_replaced_as_a_whole(tmp_path: Path) -> None:
    assert two(tmp_path, "check: {max_lsb: 1, cos: 0.9}", "check: {rmse: 0.5}").check == (("rmse", 0.5),)
    assert two(tmp_path, "check: {max_lsb: 1}", "check: exact").check == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bit-exact", ["'bit-exact' is not allowed", "did you mean 'exact'?"]),
        ("{}", ["names no bound"]),
        ("{max_lbs: 1}", ["unknown key 'max_lbs'", "did you mean 'max_lsb'?"]),
        ("{max_lsb: 0.5}", ["max_lsb", "must be a number, this is '0.5'"]),
        ("{max_lsb: -1}", ["max_lsb", "must be a number"]),
        ("{max_lsb: 4G}", ["out of range"]),
        ("{cos: 1.1}", ["1.1 is out of range, allowed: 0 to 1"]),
        ("{cos: -0.5}", ["-0.5 is out of range"]),
        ("{cos: .nan}", ["cos", "must be a number, this is '.nan'"]),
        ("{cos: nan}", ["must be a number"]),
        ("{rmse: .inf}", ["must be a number"]),
        ("{rmse: 1e31}", ["1e31 is out of range"]),
        ("{rmse: 1_0}", ["must be a number"]),
        ("{rmse: 1e999}", ["out of range"]),
        ("{rmse: }", ["rmse", "this is empty"]),
        ("{rmse: [1]}", ["rmse", "a list"]),
        ("1", ["a number in YAML"]),
        ("[exact]", ["must be text"]),
    ],
)
def test_wrong_check(tmp_path: Path, text: str, words: list[str]) -> None:
    said = refusal(tmp_path, f"check: {text}")
    assert said.startswith(f"variants.yaml:{NETWORK}: networks.digits.check") or "unknown key" in said
    assert all(word in said for word in words), said


# ---- budgets


def test_budgets_are_overridden_one_by_one(tmp_path: Path) -> None:
    limits = two(
        tmp_path,
        "budgets: {max_sw_epochs: 3, max_weights: 4K, forbidden_pools: [hyperRAM]}",
        "budgets: {max_weights: 1M, min_offload: 90}",
        default="budgets: {max_sw_epochs: 9, max_cycles: 123456789012}",
    ).budgets
    assert limits is not None
    assert (limits.max_sw_epochs, limits.max_weights, limits.max_activations) == (3, 1 << 20, None)
    assert (limits.forbidden_pools, limits.min_offload, limits.max_cycles) == (("hyperRAM",), 90, 123456789012)
    assert limits.said("max_weights") == f"variants.yaml:{OVERRIDE + 1}"
    assert limits.said("max_cycles") == "variants.yaml:2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{max_sw_epoch: 1}", ["unknown key 'max_sw_epoch'", "did you mean 'max_sw_epochs'?"]),
        ("{max_weights: -1}", ["must be a number"]),
        ("{max_weights: 1.5M}", ["must be a number, this is '1.5M'"]),
        ("{min_offload: 101}", ["101 is out of range, allowed: 0 to 100"]),
        ("{min_offload: 50%}", ["must be a number"]),
        ("{forbidden_pools: xSPI1}", ["must be a list"]),
        ("{forbidden_pools: [xSPI1, xSPI1]}", ["'xSPI1' is named twice"]),
        ("{forbidden_pools: [a b]}", ["is not the name of a pool"]),
        ("[]", ["must be a mapping"]),
        ("", ["must be a mapping of keys and values, this is empty"]),
    ],
)
def test_wrong_budgets(tmp_path: Path, text: str, words: list[str]) -> None:
    said = refusal(tmp_path, f"budgets: {text}")
    assert said.startswith(f"variants.yaml:{NETWORK}: ")
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    "text",
    ["compiler: x", "profile: {add: x}", "pair: x", "check: x", "budgets: {x: 1}", "extra_options: x", "failures: [x]"],
)
def test_overrides_and_defaults_are_checked_alike(tmp_path: Path, text: str) -> None:
    with pytest.raises(NeuralArtError, match=rf"^variants\.yaml:{OVERRIDE}: "):
        read(tmp_path, override=text)
    with pytest.raises(NeuralArtError, match=r"^variants\.yaml:2: "):
        read(tmp_path, default=text)


def test_the_pools_of_an_installation_are_known_to_builds_only(tmp_path: Path) -> None:
    def pools(network: str) -> set[str]:
        variant = read(tmp_path, network).variant("one")
        (found,) = last_build.read_networks(boards.load(variant.board), variant, tmp_path)
        return {pool.fname for pool in found.pools.enabled}

    assert "xSPI2" not in pools("profile: profile-n6-noextmem")
    assert "xSPI2" in pools("profile: allmems--O3@")
    with pytest.raises(NeuralArtError) as caught:
        pools("compiler: stedgeai\n    profile: profile-allmems--O3")
    assert "the pools of 'profile-allmems--O3' are in the installation of ST Edge AI Core" in str(caught.value)
    one_message(str(caught.value))

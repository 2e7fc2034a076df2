"""The install predictor: every error with its number and reason, and what loaders do not notice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart.relocatable.predict import prediction
from neuralart.relocatable.predict.prediction import InstallCall, LoadingFirmware, Room
from neuralart.relocatable.predict.predictor import predict
from support.relocatable import rel_images
from support.relocatable.rel_images import (
    CORE_21,
    CORE_22,
    CORE_30,
    CORE_40,
    FULL,
    MIXED,
    OURS,
    PARAM,
    SHAPES,
    Recipe,
    build,
)

RAM = Room(0x34200000, 0x10000)
EXT = Room(0x90000000, 0x10000)
AT = 0x71000000


def image_of(recipe, **words):
    built = build(recipe)
    for name, value in words.items():
        built.put(name.replace("__", "."), value)
    return container.parse(bytes(built.data), "x.bin", built.params if built.word("params_offset") == 0 else None)


def answer(recipe, call=None, firmware=None, **words):
    """Code and reason."""
    found = predict(image_of(recipe, **words), call or InstallCall(AT, RAM, EXT), firmware)
    assert found.works == (found.code == 0 and not any(row.level == "error" for row in found.unnoticed))
    return found.code, found.reason


def firmware(recipe, **changes):
    return replace(LoadingFirmware(recipe.version, True, True), **changes)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("copy", [False, True])
def test_sound_images_install(name, copy):
    if SHAPES[name].split:
        assert answer(SHAPES[name], InstallCall(AT, RAM, EXT, 0x71800000, copy))[0] == 0
    else:
        assert answer(SHAPES[name], InstallCall(AT, RAM, EXT, copy=copy, clear=True))[0] == 0


def test_steps():
    found = predict(image_of(FULL), InstallCall(AT, RAM, EXT, clear=True))
    assert found.steps == (
        "pool 0 (xSPI1) RELOC.MIXED.1.WCACHED: 40 bytes at 0x90000000, copied from 0x71000430",
        "pool 1 (AXISRAM6) COPY.MIXED.WRITE: 24 bytes from 0x71000458 to 0x34350000",
        "pool 2 (xSPI2) RELOC.PARAM.0.RCACHED: used where it is, at 0x71000470",
        "pool 3 (AXISRAM5) RESET.ACTIV.WRITE: 352,800 bytes at 0x342e0000, cleared",
        "code: 784 bytes executed where they are, at 0x71000000",
        "data: 5,248 bytes at 0x34200000",
        "addresses: 7 words of the GOT, 10 of the list",
    )
    assert (found.code, found.name, found.ram_needed, found.ext_ram_needed) == (0, "NONE", 5248, 40)
    found = predict(image_of(FULL), InstallCall(AT, RAM, EXT, copy=True))
    assert found.steps[3].endswith("left as it is")
    assert found.steps[4:6] == (
        "code: 784 bytes copied to 0x34200000 and executed there",
        "data: 5,248 bytes at 0x34200310",
    )
    assert found.ram_needed == 6032


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (InstallCall(0, RAM, EXT), -4, "the image at 0x00000000 is not on a multiple of 4 above 0"),
        (InstallCall(AT + 2, RAM, EXT), -1, "the image at 0x71000002 is not on a multiple of 4 above 0"),
        (
            InstallCall(AT, Room(0x34200002, 9999), EXT),
            -2,
            "executive RAM at 0x34200002 is not on a multiple of 4 above 0",
        ),
        (InstallCall(AT, Room(0x34200000, 5000), EXT), -2, "executive RAM has 5,000 bytes, mode XIP needs 5,248"),
        (
            InstallCall(AT, Room(0x34200000, 5248), EXT, copy=True),
            -2,
            "executive RAM has 5,248 bytes, mode COPY needs 6,032; mode XIP needs 5,248",
        ),
        (
            InstallCall(0x34100000, RAM, EXT),
            -7,
            "pool 2 (xSPI2) is cacheable, its params at 0x34100470 must be above 0x60000000",
        ),
        (InstallCall(AT, RAM), -2, "pool 0 (xSPI1) needs 40 bytes of external RAM, none is given"),
        (InstallCall(AT, RAM, Room(0x90000000, 39)), -2, "external RAM has 39 bytes, pool 0 (xSPI1) needs 40"),
        (InstallCall(AT, RAM, Room(0x90000002, 64)), -2, "external RAM at 0x90000002 is not on a multiple of 4"),
        (
            InstallCall(AT, RAM, Room(0x34300000, 64)),
            -7,
            "pool 0 (xSPI1) is cacheable, external RAM at 0x34300000 must be above 0x60000000",
        ),
        (InstallCall(AT, RAM, EXT, params=0x71000002), -7, "the params at 0x71000002 are not on a multiple of 4"),
    ],
)
def test_refused_addresses(call, code, words):
    assert answer(FULL, call) == (code, words)


def test_exactly_0x60000000_is_not_above():
    """The comparison is <=: the first address that works is one word higher."""
    recipe = SHAPES["split"]
    assert answer(recipe, InstallCall(AT, RAM, params=0x60000000))[0] == -7
    assert answer(recipe, InstallCall(AT, RAM, params=0x60000008))[0] == 0
    plain = replace(recipe, pools=(replace(PARAM, flags=0x01010100),))
    assert answer(plain, InstallCall(AT, RAM, params=0x34100000))[0] == 0


def test_split_without_an_address():
    assert answer(SHAPES["split"]) == (-7, "the params are in a file of their own and no address is given for them")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ({"pool2__flags": 0x01030500}, -8, "the relocated pool of params must be read only"),
        ({"pool2__flags": 0x01010600}, -8, "the relocated pool of params must be read only"),
        ({"pool2__flags": 0x01010502}, -8, "is relocated with id 2: known are 0 and 1"),
        ({"got0": 0x50000000}, -1, "GOT word 0 is 0x50000000: it points to segment 5, which no loader knows"),
        ({"pointer0": 0xA0000000}, -1, "the word at 0x40000000 is 0xa0000000: it points to segment A"),
        ({"flags": 0x70785D22}, 0, ""),
        ({"flags": 0x71785D22}, -1, "the image has API 7.1, the loader 8.0"),
        ({"flags": 0x80785D21}, -1, "the image is for Cortex-M33, an STM32N6 has a Cortex-M55 (CPUID 0xD22)"),
        ({"flags": 0x80385D22}, -1, "the image is for the polling mode of the runtime"),
        ({"context__sizes": 0x3040}, -1, "the structures of the image have (64, 48) bytes, the firmware's (56, 48)"),
    ],
)
def test_refused_images(words, code, reason):
    found = answer(FULL, **words)
    assert found[0] == code and reason in found[1], found


def test_ten_pools():
    pools = tuple(replace(rel_images.RESET, name=f"P{n}", dst=0x34300000 + 64 * n, size=64) for n in range(10))
    recipe = Recipe(pools=pools, got=(), pointers=())
    assert answer(recipe, InstallCall(AT, RAM, params=0x71800000)) == (-1, "the table has 10 pools, a loader takes 9")


@pytest.mark.parametrize(
    ("recipe", "loader", "reason"),
    [
        (CORE_40, firmware(CORE_40, secure=False), "the image is for the secure state, the firmware is non-secure"),
        (CORE_40, firmware(CORE_40, dbg_info=False), "(LL_ATON_EB_DBG_INFO), the firmware lacks it"),
        (SHAPES["no-dbg-info"], firmware(CORE_40), "lacks debug information of epochs"),
        (
            CORE_22,
            firmware(CORE_40),
            "image is for runtime 1.1.1.14 (ST Edge AI Core 2.2.0), the firmware has 1.1.3.262 (ST Edge AI Core 4.0.0)",
        ),
        (CORE_40, firmware(CORE_21), "the firmware has 1.1.0.31 (ST Edge AI Core 2.1.0)"),
        (OURS, firmware(CORE_40), "the image is for runtime 0.1.0.0 (the reference runtime)"),
        (CORE_40, firmware(OURS), "the firmware has 0.1.0.0 (the reference runtime)"),
        (replace(OURS, description="other (RELOC.GCC)"), firmware(OURS), "not for neuralart-reference"),
        (replace(CORE_21, flags=0x80685D22), firmware(CORE_21), "for the non-secure state, the firmware is secure"),
    ],
)
def test_refused_firmware(recipe, loader, reason):
    found = answer(recipe, firmware=loader)
    assert found[0] == -1 and reason in found[1], found


def unnoticed(recipe, call=None, loader=None):
    found = predict(image_of(recipe), call or InstallCall(AT, RAM, EXT), loader)
    assert found.code == 0, found.reason
    return [f"{row.level} {row.check}: {row}" for row in found.unnoticed], found.works


@pytest.mark.parametrize(("image", "loader"), [(CORE_30, CORE_40), (CORE_40, CORE_30)])
def test_releases_that_look_the_same(image, loader):
    said, works = unnoticed(image, loader=firmware(loader))
    assert not works and len(said) == 1
    assert said[0].startswith("error runtime: the image is for runtime 1.1.3.") and "crashes when it calls" in said[0]


def test_releases_that_are_the_same():
    assert unnoticed(CORE_40, loader=firmware(CORE_40, version=(1, 1, 3, 275))) == ([], True)
    said, works = unnoticed(CORE_40, loader=firmware(CORE_40, version=(1, 1, 3, 999)))
    assert works and "may crash" in said[0]
    said, works = unnoticed(SHAPES["non-secure"], loader=firmware(CORE_40))
    assert works and said == [
        "warning runtime: the image is for the non-secure state, the firmware is secure: no loader refuses that"
    ]


def test_params_given_to_an_image_that_has_them():
    said, works = unnoticed(FULL, InstallCall(AT, RAM, EXT, params=0x71800000))
    assert not works and "the image holds its params itself, those at 0x71800000 would be taken instead" in said[0]


def test_overlaps():
    """The vendor's loader overwrites what it reads; ours refuses."""
    inside = InstallCall(AT, Room(0x342E0000, 0x10000), EXT)
    said, works = unnoticed(FULL, inside)
    assert not works
    assert said[0] == ("error overlap: pool 3 (AXISRAM5) and executive RAM share 5,248 bytes: one overwrites the other")
    ours = replace(OURS, pools=FULL.pools)
    assert answer(ours, InstallCall(AT, RAM, EXT))[0] == 0
    code, reason = answer(ours, inside)
    assert code == -2 and reason.startswith("pool 3 (AXISRAM5) and executive RAM share")
    same = InstallCall(AT, Room(0x90000000, 0x10000), EXT)
    assert answer(ours, same)[1].startswith("executive RAM and external RAM share")
    said, works = unnoticed(FULL, InstallCall(0x90000100, Room(0x34200000, 0x10000), EXT))
    assert works and said == []


def test_copy_onto_flash():
    said, works = unnoticed(
        Recipe(pools=(PARAM, replace(rel_images.COPY, flags=0x02010100, dst=0x70100000))), InstallCall(AT, RAM)
    )
    assert not works and said[0].startswith("error flash: pool 1 (AXISRAM6) would be copied to 0x70100000")


def test_alignment():
    said, works = unnoticed(FULL, InstallCall(AT + 4, Room(0x34200010, 0x10000), EXT))
    assert works and [line.split(" (")[0] for line in said] == [
        "warning alignment: the data of the model begin at 0x34200010: "
        "epoch-controller blobs in them want a multiple of 64",
        "warning alignment: the image at 0x71000004 is not on a multiple of 8",
    ]
    said, _ = unnoticed(FULL, InstallCall(AT, RAM, EXT, copy=True))
    assert said[0].endswith("(build with the layout that pads the code to 64)")
    assert unnoticed(CORE_40, InstallCall(AT, Room(0x34200010, 9999)))[0] == [
        "warning alignment: executive RAM at 0x34200010 is not on a multiple of 32"
    ]


def test_clang_needs_a_copy():
    built = build(SHAPES["clang"])
    built.put("rel0", rel_images.ROM + 0x100)
    image = container.parse(bytes(built.data), "x.bin")
    image = replace(image, data=image.data[:0x100] + b"\x04\0\0\x80" + image.data[0x104:])
    found = predict(image, InstallCall(AT, RAM))
    assert (found.code, found.remedy) == (-1, "use mode COPY")
    assert predict(image, InstallCall(AT, RAM, copy=True)).code == 0


def test_versions():
    assert prediction.read_version("1.1.3.8") == (1, 1, 3, 8)
    for text in ("1.1.3", "1.1.3.x", "1.1.3.", "a", "1.1.3.-8", "1.1.3.8.1", "1.1.3.²"):
        with pytest.raises(NeuralArtError, match=r"known: 0\.1\.0\.0, 1\.1\.0\.31"):
            prediction.read_version(text)


# ---- command ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, recipe in (("full", FULL), ("split", SHAPES["split"]), ("30", CORE_30)):
        (tmp_path / f"{name}.bin").write_bytes(build(recipe).data)
    (tmp_path / "bad.bin").write_bytes(build(replace(FULL, pools=(PARAM, MIXED))).put("got6", 4).data)
    return tmp_path


WORDS = ["relocatable", "check"]


def test_check_command(folder, capsys):
    place = ["--at", "0x71000000", "--ram", "0x34200000:64K"]
    assert cli.main([*WORDS, "full.bin", *place, "--ext-ram", "0x90000000:1M", "--mode", "copy,clear"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "full.bin: 'digits' at 0x71000000, mode COPY, CLEAR, runtime 1.1.3.262"
    assert said.out.splitlines()[-2:] == [
        "  executive RAM: 6,032 of 65,536 bytes, external RAM: 40 bytes",
        "  install returns 0 NONE",
    ]
    assert cli.main([*WORDS, "split.bin", *place]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "  install returns -7 PARAM_ADDR: the params are in a file of their own and no address is given for them "
        "(flash X_rel_params.bin too and give its address (--params, ext_param_addr))"
    )
    assert cli.main([*WORDS, "split.bin", *place, "--params", "0x71800000"]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main([*WORDS, "30.bin", *place, "--runtime", "1.1.3.262"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("30.bin: error: not noticed by the loader: the image is for runtime 1.1.3.8")
    assert said.out.splitlines()[-2:] == ["  install returns 0 NONE", "  but the model will not work"]
    assert cli.main([*WORDS, "30.bin", *place, "--runtime", "1.1.1.14", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["code"], data["name"], data["ok"]) == (-1, "INVALID_BIN", False)
    assert cli.main([*WORDS, "30.bin", *place, "--secure", "no"]) == 1
    assert "the firmware is non-secure" in capsys.readouterr().out
    assert cli.main([*WORDS, "bad.bin", *place, "--ext-ram", "0x90000000:64"]) == 1
    said = capsys.readouterr()
    assert "bad.bin: error: got: reserved GOT word" in said.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--at", "x", "--ram", "1:2"], "argument --at: 'x' is not a 32-bit address or offset, for example 0x71000000"),
        (["--at", "0", "--ram", "0x34200000"], "is not ADDRESS:SIZE, for example 0x34200000:512K"),
        (["--at", "0", "--ram", "0x34200000:1G"], "is not ADDRESS:SIZE"),
        (["--at", "0", "--ram", "0x34200000:0"], "is no memory below 4 GiB"),
        (["--at", "0", "--ram", "0xFFFFFFFF:2"], "is no memory below 4 GiB"),
        (["--at", "0", "--ram", "g:2"], "'g' is not a 32-bit"),
        (["--at", "0", "--ram", "4:8", "--mode", "xip,copy"], "'xip,copy' is not a mode"),
        (["--at", "0", "--ram", "4:8", "--mode", "fast"], "'fast' is not a mode"),
        (["--ram", "4:8"], "the following arguments are required: --at"),
    ],
)
def test_wrong_usage(folder, capsys, words, text):
    with pytest.raises(SystemExit) as end:
        cli.main([*WORDS, "full.bin", *words])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert text in said and len(said.splitlines()) == 1

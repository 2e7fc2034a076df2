"""Reader, report and verifier of relocatable models on sound images of every version, and what is no image at all."""

from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import replace

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container, types
from neuralart.relocatable.verify import ec_blobs, report
from neuralart.relocatable.verify.verifier import verify
from support.relocatable import rel_images
from support.relocatable.rel_images import FULL, IN_PARAMS, P0, RAM, ROM, SHAPES, Recipe, build


def parse(recipe, *, with_params=True):
    built = build(recipe)
    params = built.params if with_params and built.word("params_offset") == 0 else None
    return container.parse(bytes(built.data), "x.bin", params)


@pytest.mark.parametrize("name", SHAPES)
def test_sound_images(name):
    recipe = SHAPES[name]
    image = parse(recipe)
    assert verify(image) == ()
    assert (image.header_words, image.split) == (recipe.words, recipe.split)
    assert (*image.context.version, image.context.extra) == recipe.version
    assert (image.context.struct_sizes is None) == (recipe.context_words == 16)
    assert image.context.description == recipe.description and image.context.c_name == "digits"
    assert [(pool.name, pool.flags, pool.dst, pool.size) for pool in image.pools] == [
        (pool.name, pool.flags, pool.dst, pool.size) for pool in recipe.pools
    ]
    assert image.got == (*recipe.got, 0, 0, 0)
    assert image.params == build(recipe).params


def test_every_word_of_the_header():
    built = build(FULL)
    image = container.parse(bytes(built.data), "x.bin")
    assert list(image.header.values()) == list(struct.unpack_from("<26I", built.data))
    assert image.header["get_internal_buffers_info"] == built.word("entry11")
    assert image.header["rt_ctx"] == built.word("rt_ctx")
    assert (image.ro_size, image.rw_size, image.xip_size) == (0x310, 0x1480, 0x1480)
    assert image.copy_size == 0x1790
    assert [pool.foff for pool in image.pools] == [0, 40, 64, 0]
    assert [pool.notation for pool in image.pools] == [
        "RELOC.MIXED.1.WCACHED",
        "COPY.MIXED.WRITE",
        "RELOC.PARAM.0.RCACHED",
        "RESET.ACTIV.WRITE",
    ]
    assert len(image.relocations) == 10


def test_header_of_24_words():
    image = parse(rel_images.CORE_22)
    assert "blob_encryption_info" not in image.header
    assert image.header["rt_ctx"] >> 28 == 4 and image.header["get_internal_buffers_info"] >> 28 == 2


def test_context_size_is_known_by_its_last_pointer():
    """Not by the version alone: a context of 16 words in an image that claims another version is found, and told."""
    odd = parse(replace(rel_images.CORE_21, version=(1, 1, 1, 14)))
    assert odd.context.struct_sizes is None
    assert [str(finding) for finding in verify(odd)] == ["the context of ll_aton 1.1.1 has 17 words, this one has 16"]
    odd = parse(replace(rel_images.CORE_22, version=(1, 1, 0, 31)))
    assert odd.context.struct_sizes == (0x38, 0x30)
    assert [str(finding) for finding in verify(odd)] == ["the context of ll_aton 1.1.0 has 16 words, this one has 17"]


def test_flags():
    said = {word: types.decode_flags(word).text for word in (0x80785D22, 0x80685D22, 0x80585D22, 0x80695D22)}
    assert said == {
        0x80785D22: "API 8.0, Cortex-M55, GCC, float ABI hard, FPU, secure, debug information, asynchronous",
        0x80685D22: "API 8.0, Cortex-M55, GCC, float ABI hard, FPU, non-secure, debug information, asynchronous",
        0x80585D22: "API 8.0, Cortex-M55, GCC, float ABI hard, FPU, secure, no debug information, asynchronous",
        0x80695D22: "API 8.0, Cortex-M55, LLVM clang, float ABI hard, FPU, non-secure, debug information, asynchronous",
    }
    assert (
        not types.decode_flags(0x80785D22).clang
        and types.decode_flags(0x80695D22).clang
        and types.decode_flags(0x806A5D22).clang
    )


def test_clang_may_list_words_of_its_code():
    built = build(SHAPES["clang"])
    at = 0x100
    struct.pack_into("<I", built.data, at, P0 + 4)
    built.put("rel0", ROM + at).put("pointer0", 0)
    image = container.parse(bytes(built.data), "x.bin")
    assert verify(image) == ()
    assert "note: built by clang with absolute words in its code: works in mode COPY only" in report.as_text(image)
    built.put("rel0", ROM + 0x10)
    said = [str(finding) for finding in verify(container.parse(bytes(built.data), "x.bin"))]
    assert said == ["relocation 0 at 0x268: place 0x20000010 is outside the code"]


def test_split_without_its_params():
    image = parse(SHAPES["split"], with_params=False)
    assert image.split and image.params is None
    assert [str(finding) for finding in verify(image)] == [
        "split: the 96 bytes of params (CRC-32 0xea40f22e) are in a file of their own and were not checked "
        "(give it with --params)"
    ]
    assert "PARAMS size   = 96 " in report.as_text(image)


def test_params_of_another_build():
    built = build(SHAPES["split"])
    image = container.parse(bytes(built.data), "x.bin", bytes(96))
    assert [finding.check for finding in verify(image)] == ["params"]
    assert "the params are damaged, or of another build" in str(verify(image)[0])


def test_image_without_params():
    image = parse(Recipe(pools=(rel_images.RESET,), got=(RAM,), pointers=()), with_params=False)
    assert (image.split, image.params) == (False, b"")
    assert verify(image) == ()


def test_blobs():
    image = parse(FULL)
    found = ec_blobs.find(image)
    assert [(blob.place, blob.relocatable, blob.words, blob.patches) for blob in found] == [
        ("FLASH", True, 12, 2),
        ("FLASH", False, 6, 0),
        ("FLASH", True, 20, 4),
    ]
    assert [(row.id, row.words) for row in found[2].relocations] == [("_user_io_input_0", (1,)), ("xSPI1", (3, 4, 5))]
    assert all(
        image.data[blob.file_offset : blob.file_offset + 4] in (b"\x50\0\xbf\xec", b"zz\x05\xca") for blob in found
    )
    image = parse(IN_PARAMS)
    assert [(blob.place, blob.file_offset) for blob in ec_blobs.find(image)] == [
        ("PARAM_0", image.header["params_offset"]),
        ("PARAM_0", image.header["params_offset"] + 112),
    ]


def test_a_blob_that_was_cut():
    """A tool that drops the last 32 bytes of the blobs in front of the weights."""
    recipe = replace(IN_PARAMS, front=rel_images.ec_binary()[:-32], pointers=())
    said = [str(finding) for finding in verify(parse(recipe))]
    assert said == [
        "the epoch-controller blob at PARAM_0+0x0 is damaged: the blob's 12 words are behind the end of the segment"
    ]


# ---- no image ----

IMAGE = bytes(build(FULL).data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "x.bin: not a relocatable model: an empty file"),
        (
            b"\x7fELF" + bytes(200),
            "x.bin@0x0: not a relocatable model: an ELF file, the linked model before it is made into an image "
            "(give the network_rel.bin that the same build writes)",
        ),
        (
            b"\x1c\0\0\0TFL3" + bytes(200),
            "x.bin@0x0: not a relocatable model: a TensorFlow Lite model (compile it (neuralart compile), "
            "then build the image (neuralart relocatable build))",
        ),
        (
            b"PKG1" + bytes(1020) + IMAGE,
            "x.bin@0x0: 1024 bytes of something else stand in front of the image, which begins at 0x400 "
            "(inspect it with --offset 0x400; a loader must be given its address plus 0x400)",
        ),
        (
            b"PKG1NBIN" + bytes(12) + IMAGE,
            "x.bin@0x0: 20 bytes of something else stand in front of the image, which begins at 0x14 "
            "(inspect it with --offset 0x14; a loader must be given its address plus 0x14)",
        ),
        (b"\xff" * 256, "x.bin@0x0: not a relocatable model: 256 bytes of 0xFF, as of an erased or unmapped memory"),
        (bytes(128), "x.bin@0x0: not a relocatable model: 128 bytes of 0x00, as of an erased or unmapped memory"),
        (
            b"hello, world\n" * 20,
            "x.bin@0x0: not a relocatable model: text, beginning with 'hello, world hello, worl' instead of 'NBIN' "
            "(4e 42 49 4e) (give a network_rel.bin)",
        ),
        (IMAGE[:64], "x.bin: too short: 64 bytes, the header alone has 96 or 104 (the file is cut off; copy it again)"),
        (
            b"NBIN" + b"\x11" * 100,
            "x.bin@0x5c: the header has neither 24 nor 26 words: its last one must point to the context in RAM (0x4…), "
            "word 23 is 0x11111111, word 25 is 0x11111111",
        ),
        (
            b"NBIN" + b"\x11" * 92,
            "x.bin@0x5c: the header has neither 24 nor 26 words: its last one must point to the context in RAM (0x4…), "
            "word 23 is 0x11111111",
        ),
    ],
)
def test_no_image(data, words):
    with pytest.raises(NeuralArtError) as error:
        container.parse(data, "x.bin")
    assert str(error.value) == words


def test_params_that_do_not_belong():
    with pytest.raises(NeuralArtError, match="ext_param_addr must be NULL for this image"):
        container.parse(IMAGE, "x.bin", bytes(160))
    with pytest.raises(NeuralArtError, match="the params file is an image itself"):
        container.parse(bytes(build(SHAPES["split"]).data), "x.bin", IMAGE)


# ---- report ----


def test_report_has_the_lines_that_programs_search():
    text = report.as_text(parse(FULL))
    match = re.search(r"([ \t]+XIP size.*?Table: mempool.*?\n)", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    lines = [line.strip() for line in match[1].splitlines()]
    assert lines[0] == "XIP size      = 5,248       (0x1480) data+got+bss sections"
    assert lines[1] == "COPY size     = 6,032       (0x1790) +ro sections"
    assert "PARAMS offset = 1,072       (0x430)" in lines and "PARAMS size   = 160         (0xa0)" in lines
    assert "| xSPI2 (200002fd)       | 01010500 RELOC.PARAM.0.RCACHED | 64   | 00000000 | 93     |" in lines
    assert "| <undefined> (00000000) | 00000000 UNUSED                | 0    | 00000000 | 0      |" in lines
    assert lines[-1] == "Table: mempool c-descriptors (off=40000078, 5 entries, from RAM)"
    assert text.isascii()
    assert "params size" not in report.as_text(parse(SHAPES["3.0"]))
    for image, more, file in (
        (parse(FULL), "", 0),
        (parse(SHAPES["split"]), " not included in the binary file", parse(SHAPES["split"]).context.params_bin_sz),
    ):
        context = image.context
        for line in (
            f"   params size          = {context.params_sz:,}{more}\n   acts size            = {context.acts_sz:,}\n",
            f"   binary file size     = {len(image.data):,}\n   params file size     = {file:,}\n",
        ):
            assert line in report.as_text(image)


def test_report_for_programs():
    image = parse(IN_PARAMS)
    data = json.loads(json.dumps(report.image_data(image)))
    assert data["flags"]["raw"] == 0x80785D22 and data["flags"]["secure"] is True
    assert (data["xip_size"], data["copy_size"]) == (image.xip_size, image.copy_size)
    assert data["sections"]["rel"]["size"] == 4 * len(image.relocations) == 40
    assert data["mempool_c_descriptors"][1] == {
        "name": "AXISRAM6",
        "addr": 0x200001B4,
        "flags_raw": 0x02030200,
        "flags_desc": "COPY.MIXED.WRITE",
        "foff": 232,
        "dst": 0x34350000,
        "size": 24,
    }
    assert data["rt_context"]["version"] == [1, 1, 3] and data["rt_context"]["struct_sizes"] == [56, 48]
    assert data["ec_blobs_in_params"] == 136 and len(data["ec_blobs"]) == 2
    assert data["ec_blobs"][0]["relocations"] == [{"id": "xSPI2", "words": [0, 2]}]


def test_notes():
    notes = report.notes
    assert notes(parse(FULL)) == []
    assert notes(parse(SHAPES["split"]))[0].startswith("split: ")
    assert notes(parse(rel_images.OURS)) == ["reference runtime: loaders of the vendor refuse it with -1"]
    built = build(FULL).put("pool0.flags", 0x01030501)
    assert notes(container.parse(bytes(built.data), "x.bin")) == [
        "pool 0 (xSPI1) has activations and is marked read only"
    ]


def test_real_size():
    """Two MiB of params, a thousand blobs, ten thousand words: no step is done once per byte or twice per word."""
    recipe = Recipe(
        pools=(replace(rel_images.PARAM, size=2 << 20, raw=b"\xa5" * (2 << 20)),),
        blobs=(rel_images.ec_binary(40),) * 1000,
        pointers=(P0 + 8,) * 10000,
        bss=244176,
    )
    image = parse(recipe)
    calls = 0

    def count(_frame, event, _what):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        findings, blobs, text = verify(image), ec_blobs.find(image), report.as_text(image)
    finally:
        sys.setprofile(None)
    assert findings == () and len(blobs) == 1000 and len(text) > 50000
    assert calls < 5_000_000


# ---- commands ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("full", "split", "4.0"):
        built = build(SHAPES[name])
        (tmp_path / f"{name}_rel.bin").write_bytes(built.data)
        (tmp_path / f"{name}_params.bin").write_bytes(built.params)
    (tmp_path / "pack.bin").write_bytes(b"PACK" + bytes(60) + build(FULL).data)
    (tmp_path / "bad.bin").write_bytes(build(FULL).put("got5", 4).add("entry3", -1).data)
    return tmp_path


def test_inspect_command(folder, capsys):
    assert cli.main(["inspect", "full_rel.bin"]) == 0
    assert capsys.readouterr().out == report.as_text(replace(parse(FULL), where="full_rel.bin"))
    assert cli.main(["inspect", "split_rel.bin", "--params", "split_params.bin", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reloc_binary_image"]["params_size"] == 96
    assert cli.main(["inspect", "pack.bin"]) == 1
    assert "(inspect it with --offset 0x40; " in capsys.readouterr().err
    assert cli.main(["inspect", "pack.bin", "--offset", "0x40"]) == 0
    assert "XIP size" in capsys.readouterr().out
    assert cli.main(["inspect", "pack.bin", "--offset", "0x4000"]) == 1
    assert capsys.readouterr().err == (
        "neuralart inspect: error: pack.bin: --offset 0x4000 is behind the end of the file, which has 1296 bytes\n"
    )


def test_verify_command(folder, capsys):
    assert cli.main(["relocatable", "verify", "full_rel.bin"]) == 0
    assert capsys.readouterr().out == (
        "full_rel.bin: sound: 'digits' for runtime 1.1.3.262, 26 header words, 7 GOT words, 10 relocations, 4 pools\n"
    )
    assert cli.main(["relocatable", "verify", "split_rel.bin"]) == 0
    said = capsys.readouterr()
    assert "split_rel.bin: no errors, 1 warning: 'digits' for runtime" in said.out
    assert said.err.startswith("split_rel.bin: warning: params: split: the 96 bytes")
    assert cli.main(["relocatable", "verify", "bad.bin"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.splitlines() == [
        "bad.bin: error: entries: entry input_getter at 0x40 is 0x2000006e, without its Thumb bit",
        "bad.bin: error: got: reserved GOT word 5 at 0x400000f0 is 0x00000004 instead of 0",
    ]
    assert cli.main(["relocatable", "verify", "bad.bin", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["errors"], data["warnings"]) == (False, 2, 0)
    assert cli.main(["relocatable", "verify", "nothing.bin"]) == 1
    assert "nothing.bin: cannot read" in capsys.readouterr().err

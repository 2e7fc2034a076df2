"""Structural faults of a relocatable model: each has its own words, with the place and the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart.relocatable.predict.prediction import InstallCall, Room
from neuralart.relocatable.predict.predictor import predict
from neuralart.relocatable.verify import report, verify_pools
from neuralart.relocatable.verify.verifier import verify
from support.relocatable import rel_images
from support.relocatable.rel_faults import FAULTS

WORDS = {
    "cut in the header": (
        "refused x.bin: too short: 90 bytes, the header alone has 96 or 104 (the file is cut off; copy it again)"
    ),
    "cut in the data": "refused x.bin@0x380: cut off: data and GOT end at 0x408, the file at 0x380",
    "cut in the relocation list": "refused x.bin@0x410: cut off: the relocation list ends at 0x430, the file at 0x410",
    "params offset behind the end": "refused x.bin@0x4d0: cut off: the params begin at 0x10000, the file ends at 0x4d0",
    "params inside the list": (
        "refused x.bin@0x30: the params at 0x428 begin inside the relocation list, which ends at 0x430"
    ),
    "params not aligned": "error sections: params_offset at 0x30 is 0x434, not a multiple of 8",
    "cut in the params": (
        "error pools: pool 2 (xSPI2, 0x01010500): data from params+0x40 to 0x9d leave the 152 bytes of params"
    ),
    "params damaged": (
        "error params: CRC-32 of the 160 bytes of params is 0x136823e5, params_bin_crc32 says 0x66f7e578 "
        "(the params are damaged, or of another build)"
    ),
    "bytes behind the params": (
        "error params: 12 bytes stand behind the end of the params (something was appended: copy the file again)"
    ),
    "no context": (
        "refused x.bin@0x5c: the header has neither 24 nor 26 words: its last one must point to the context "
        "in RAM (0x4…), word 23 is 0x2000007d, word 25 is 0x20000000"
    ),
    "context outside": "refused x.bin@0x310: the context at 0x40001000 is not inside the 248 bytes of data",
    "context unaligned": "refused x.bin@0x64: the context at 0x40000036 is not on a multiple of 4",
    "context over the table": "refused x.bin@0x38c: c_name is a pointer to 0x01030601, where the image has no bytes",
    "data_start": "error sections: data_start at 0x8 is 0x40000008 instead of 0x40000000",
    "data_end in another segment": (
        "refused x.bin@0xc: data_end is 0x200000dc, in segment 2 (FLASH) instead of segment 4 (RAM)"
    ),
    "data_data too low": (
        "refused x.bin@0x10: data_data says that 8 bytes precede the data: it must be a multiple of 4 "
        "between the header's 104 and the file's 1232 bytes"
    ),
    "data_data behind the file": (
        "refused x.bin@0x10: data_data says that 1048576 bytes precede the data: it must be a multiple of 4 "
        "between the header's 104 and the file's 1232 bytes"
    ),
    "bss_start over data": (
        "error sections: bss_start at 0x14 is 0x400000f0, inside data and GOT, which end at 0x400000f8: the "
        "loader would clear them"
    ),
    "bss_end below": "error sections: bss_end at 0x18 is 0x400000f0, below bss_start 0x400000f8",
    "GOT over data": "error sections: got_start at 0x1c is 0x400000d4, inside data, which end at 0x400000dc",
    "GOT reversed": "refused x.bin@0x1c: the GOT from 0x400000dc to 0x400000d0 is not a row of words",
    "reserved GOT word": "error got: reserved GOT word 5 at 0x400000f0 is 0x00000004 instead of 0",
    "GOT word in no segment": (
        "error got: GOT word 0 at 0x400000dc is 0x50000004: it points to segment 5, which no loader knows"
    ),
    "GOT word behind RAM": (
        "error got: GOT word 0 at 0x400000dc is 0x40001481: it points behind segment 4 (RAM), which has 0x1480 bytes"
    ),
    "GOT word behind FLASH": (
        "error got: GOT word 3 at 0x400000e8 is 0x20000311: it points behind segment 2 (FLASH), which has 0x310 bytes"
    ),
    "GOT word behind the params": (
        "error got: GOT word 1 at 0x400000e0 is 0x80000061: it points behind segment 8 (PARAM_0), which has 0x60 bytes"
    ),
    "GOT word behind the external pool": (
        "error got: GOT word 2 at 0x400000e4 is 0x90000029: it points behind segment 9 (PARAM_1), which has 0x28 bytes"
    ),
    "GOT word without an external pool": (
        "error got: GOT word 2 at 0x400000a8 is 0x90000028: it points to segment 9 (PARAM_1), but no pool of "
        "the image is relocated there"
    ),
    "list unaligned": "refused x.bin@0x24: the relocation list from 0x2000040a to 0x20000430 is not a row of words",
    "list reversed": "refused x.bin@0x24: the relocation list from 0x20000408 to 0x20000404 is not a row of words",
    "list inside data": "refused x.bin@0x24: the relocation list at 0x3e8 begins inside data, which end at 0x408",
    "an elf.bin": (
        "refused x.bin@0x24: an .elf.bin, the linked model before its relocation list is added: no loader "
        "can use it (give the network_rel.bin that the same build writes)"
    ),
    "empty list": (
        "refused x.bin@0x24: the relocation list is empty, every image has at least the context's three entries"
    ),
    "place in code": (
        "error relocations: relocation 0 at 0x408: place 0x20000100 is in code or constants, which no loader "
        "patches for GCC images"
    ),
    "place in no segment": "error relocations: relocation 0 at 0x408: place 0x60000000 is in segment 6",
    "place in bss": "error relocations: relocation 0 at 0x408: place 0x40000100 is outside the 248 bytes of data",
    "place unaligned": "error relocations: relocation 0 at 0x408: place 0x40000002 is not on a multiple of 4",
    "place in the GOT": (
        "error relocations: relocation 0 at 0x408: place 0x400000dc is in the GOT, which is rebased anyway"
    ),
    "place twice": (
        "error relocations: relocation 1 at 0x40c: place 0x40000004 is listed twice, it would be rebased twice"
    ),
    "place is a number of the context": (
        "error relocations: relocation 0 at 0x408: place 0x4000004c is acts_sz of the context, a number"
    ),
    "place is a number of the table": (
        "error relocations: relocation 0 at 0x408: place 0x4000009c is size of pool 1, a number"
    ),
    "relocated word in no segment": (
        "error relocations: relocation 0 at 0x408: the word at 0x40000000 is 0x00001234: it points to "
        "segment 0, which no loader knows"
    ),
    "relocated word behind its segment": (
        "error relocations: relocation 1 at 0x40c: the word at 0x40000004 is 0x20000312: it points behind "
        "segment 2 (FLASH), which has 0x310 bytes"
    ),
    "context pointer not listed": (
        "error relocations: relocation 3 at 0x414: the word at 0x40000010 is 0x00000000: it points to "
        "segment 0, which no loader knows"
    ),
    "entry in RAM": (
        "error entries: entry input_setter at 0x3c is 0x40000011, in segment 4 (RAM) instead of segment 2 (FLASH)"
    ),
    "entry without Thumb bit": "error entries: entry input_getter at 0x40 is 0x2000006e, without its Thumb bit",
    "entry in the header": (
        "error entries: entry output_setter at 0x44 is 0x20000041, outside the code from 0x68 to 0x310"
    ),
    "entry behind the code": (
        "error entries: entry output_getter at 0x48 is 0x20000313, outside the code from 0x68 to 0x310"
    ),
    "API major": "error flags: flags 0x70785D22 at 0x4: API major 7, all known images have 8",
    "API minor": "warning flags: flags 0x81785D22 at 0x4: API minor 1, all known images have 0",
    "reserved flag": "error flags: flags 0x80F85D22 at 0x4: reserved bit 23 is set",
    "toolchain": "error flags: flags 0x807C5D22 at 0x4: unknown toolchain 12, known are 8, 9 and 10",
    "float ABI": "error flags: flags 0x80783D22 at 0x4: float ABI 1 (softfp), only 2 (hard) can be built",
    "no FPU": "error flags: flags 0x80784D22 at 0x4: the hard float ABI without an FPU",
    "CPUID": "warning flags: flags 0x80785123 at 0x4: unknown CPUID part number 0x123",
    "state set": (
        "error context: state of the context at 0x40000034 is 0x00000003, it must be 0 until the loader fills it"
    ),
    "callbacks set": (
        "error context: cbs of the context at 0x40000044 is 0x34000100, it must be 0 until the loader fills it"
    ),
    "instance set": (
        "error context: ll_instance of the context at 0x40000070 is 0x00000004, it must be 0 until the loader fills it"
    ),
    "interface nowhere": "error context: itf_network of the context is 0x40001000, where the image has no data",
    "interface of another name": (
        "warning context: itf_network of the context is 0x40000008, whose first word 0x200002ee is not the "
        "pointer to the name 'digits'"
    ),
    "name in the params": "refused x.bin@0x358: c_name is a pointer to 0x80000010, where the image has no bytes",
    "name without end": "refused x.bin@0x2c0: c_name at 0x200002c0 is no readable text of at most 255 bytes",
    "version with a rest": "error context: rt_version is 0x01010301, its lowest 8 bits must be 0",
    "header of another version": "error context: the header of ll_aton 1.1.1 has 24 words, this one has 26",
    "structure sizes": "warning context: rt_c_struct_sizes says (64, 56), with these flags ll_aton 1.1.3 has (56, 48)",
    "structure size 0": "error context: rt_c_struct_sizes is (56, 0): two sizes from 1 to 255 are needed",
    "external size": "error context: ext_ram_sz is 4096, the pool that is relocated to external RAM has 40 bytes",
    "too many pools": "error pools: the table has 11 pools, a loader takes 9",
    "table without end": "refused x.bin@0x2c: the pool table has no end: 0 entries reach the end of data",
    "table unaligned": "refused x.bin@0x2c: the pool table at 0x4000007a is not on a multiple of 4",
    "pool without a type": "error pools: pool 3 (AXISRAM5, 0x00020200) is unused, such pools are not in the table",
    "pool of unknown type": (
        "error pools: pool 3 (AXISRAM5, 0x04020200) has the unknown type 4: a loader handles RELOC, COPY and RESET"
    ),
    "pool of unknown data": (
        "error pools: pool 3 (AXISRAM5, 0x03040200) has the unknown kind of data 4: known are PARAM, ACTIV and MIXED"
    ),
    "pool attributes": "error pools: pool 3 (AXISRAM5, 0x03020300) has the attributes 3: known are 1, 2, 5 and 6",
    "pool that cannot be": "error pools: pool 3 (AXISRAM5, 0x03010100) is RESET.PARAM, which no pool can be",
    "pool id": "error pools: pool 3 (AXISRAM5, 0x03020201) has the id 1, RESET.ACTIV has 0",
    "relocated pool id": "error pools: pool 2 (xSPI2, 0x01010501) has the id 1, RELOC.PARAM has 0",
    "pool read only": "error pools: pool 3 (AXISRAM5, 0x03020100) is RESET.ACTIV.READ, a RESET.ACTIV pool is written",
    "pool without bytes": "error pools: pool 3 (AXISRAM5, 0x03020200) has no bytes, such pools are not in the table",
    "pool without destination": "error pools: pool 3 (AXISRAM5, 0x03020200) has no destination",
    "pool destination unaligned": (
        "error pools: pool 3 (AXISRAM5, 0x03020200) has the destination 0x342e0002, not a multiple of 4"
    ),
    "pool leaves the address space": (
        "error pools: pool 3 (AXISRAM5, 0x03020200): 352800 bytes from 0xffffff00 leave the address space"
    ),
    "pool onto flash": (
        "error pools: pool 2 (AXISRAM6, 0x02010100) would be copied to 0x70100000, which is memory-mapped "
        "flash (give the pool the mode USEMODE_RELATIVE in the .mpool and compile the network again)"
    ),
    "pool in the other alias": (
        "warning pools: pool 3 (AXISRAM5, 0x03020200) goes to 0x242e0000, the non-secure alias, the image is "
        "for the secure state"
    ),
    "relocated pool with destination": (
        "error pools: pool 2 (xSPI2, 0x01010500) is relocated and has the fixed destination 0x70000000"
    ),
    "two pools of one kind": "error pools: pools 1 and 2 are both relocated with id 0",
    "pools over each other": "error pools: pools 3 (AXISRAM5) and 1 (AXISRAM6) share 544 bytes from 0x34350000",
    "pool data unaligned": (
        "error pools: pool 1 (AXISRAM6, 0x02030200) has its data at params+0x2c, not a multiple of 8"
    ),
    "pool data outside": (
        "error pools: pool 2 (xSPI2, 0x01010500): data from params+0x48 to 0xa5 leave the 160 bytes of params"
    ),
    "pool data twice": "error pools: pools 0 (xSPI1) and 1 (AXISRAM6) share initial data at params+0x20",
    "pool data in the blobs": (
        "error pools: pool 1 (AXISRAM6, 0x02030200) has its data at params+0x60, where epoch-controller "
        "blobs of 136 bytes stand (some tools move COPY.PARAM pools only; build the image with this one)"
    ),
    "params pool behind the blobs": (
        "error pools: pool 1 (xSPI2, 0x01010500) begins at params+0x18, but epoch-controller blobs in front "
        "need it at 0 (place the pool with the constants above the others, or keep the blobs in the code)"
    ),
    "blob offset": (
        "error ec-blob: the epoch-controller blob at FLASH+0x180 is damaged: the blob's offset 0x44 is not a "
        "multiple of 8 behind the table"
    ),
    "blob magic": (
        "error ec-blob: the epoch-controller blob at FLASH+0x180 is damaged: the blob at +0x38 does not "
        "begin with 0xCA057A7A"
    ),
    "blob length": (
        "error ec-blob: the epoch-controller blob at FLASH+0x180 is damaged: the blob's 4096 words are "
        "behind the end of the segment"
    ),
    "blob patches": (
        "error ec-blob: the epoch-controller blob at FLASH+0x180 is damaged: xSPI2 patches word 99 of a blob of 12"
    ),
    "blob table": (
        "error ec-blob: the epoch-controller blob at FLASH+0x180 is damaged: the table's 7 relocations reach "
        "into the blob at +0x38"
    ),
    "4 GB of activations": (
        "error pools: acts_sz of the context is 4294967295, the pools of the table have 352864 bytes for activations"
    ),
    "no activations": (
        "error pools: acts_sz of the context is 0, the pools of the table have 352864 bytes for activations"
    ),
    "1 GB of constants": (
        "error pools: params_sz of the context is 1073741824, the pools of the table have 157 bytes for constants"
    ),
    "more params than pools": (
        "error pools: 32 bytes of params from params+0x80 belong to no pool (the table's sizes are wrong, or the "
        "params are of another build)"
    ),
    "params of no pool in a split model": (
        "error pools: params_sz of the context is 93, the pools of the table have 8 bytes for constants"
    ),
    "release that nobody knows": (
        "warning context: ll_aton 1.1.3.999 is no release known here: 1.1.0.31, 1.1.1.14, 1.1.3.8, 1.1.3.262, 1.1.3.275"
    ),
    "rest of a version of ours": "error context: rt_version_extra is 7, the reference runtime has 0",
    "two tables are one": "error entries: entries get_epoch_items and get_output_buffers_info are both 0x20000075",
    "a table is a setter": "error entries: entries input_setter and get_input_buffers_info are both 0x2000006d",
    "inference is a getter": "error entries: entries ec_inference_init and input_getter are both 0x2000006b",
    "bytes behind a split model": "error sections: 8 bytes behind the end of the image at 0x2a8",
    "lost relocation": (
        "error relocations: the padding from 0x42c to 0x430 is not zero: 0x400000b4 is a place, does rel_end at 0x28 "
        "come too early?"
    ),
    "padding": "warning sections: the padding from 0x42c to 0x430 is not zero",
}


def told(name: str) -> list[str]:
    """What is said of a fault, one line each."""
    try:
        image = container.parse(bytes(FAULTS[name]().data), "x.bin")
    except NeuralArtError as error:
        return [f"refused {error}"]
    # Whatever can be read can be shown, and its install predicted.
    assert report.as_text(image) and report.image_data(image)
    predict(image, InstallCall(0x71000000, Room(0x34200000, 0x100000), Room(0x90000000, 0x100000)))
    return [f"{finding.level} {finding.check}: {finding}" for finding in verify(image)]


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str) -> None:
    assert told(name)[0] == WORDS[name]


NOWHERE = [
    ({"dst": 0x50000000}, "stm32n6570-dk", "error", "[0x50000000, 0x50056220) is not all memory of stm32n6570-dk"),
    ({"dst": 0x50000000}, "", "error", "[0x50000000, 0x50056220) is not all memory of mps3-an547, nucleo"),
    ({"size": 1 << 30}, "stm32n6570-dk", "error", "[0x342e0000, 0x742e0000) is not all memory of stm32n6570-dk"),
    ({"size": 1 << 30}, "", "error", "[0x342e0000, 0x742e0000) is not all memory of"),
    ({"dst": 0x18000000}, "nucleo-n657x0-q", "error", "[0x18000000, 0x18056220) is not all memory"),
    ({"dst": 0x91FFFF00}, "stm32n6570-dk", "error", "[0x91ffff00, 0x92056120) is not all memory"),
    ({"dst": 0x71FFFF00}, "stm32n6570-dk", "error", "[0x71ffff00, 0x72056120) is not all memory"),
    # Nobody said which board: its external memory may be larger than that of those known here.
    ({"dst": 0x7FFFFF00}, "", "error", "[0x7fffff00, 0x80056120) is not all memory"),
    ({"dst": 0x7F000000}, "", "warning", "(name yours with --board or --board-file)"),
    ({"dst": 0x91FFFF00}, "", "warning", "(name yours with --board or --board-file)"),
    # Where an emulated board has memory that no pool of it names.
    ({"dst": 0xB4200000}, "", "error", "[0xb4200000, 0xb4256220) is not all memory"),
    ({"dst": 0xC4200000}, "", "error", "[0xc4200000, 0xc4256220) is not all memory"),
    ({"dst": 0xE000E000}, "", "error", "[0xe000e000, 0xe0064220) is not all memory"),
]


@pytest.mark.parametrize(("change", "board", "level", "said"), NOWHERE)
def test_pools_where_no_board_has_memory(change, board, level, said) -> None:
    pool = replace(rel_images.RESET, **change)
    image = container.parse(bytes(rel_images.build(rel_images.Recipe(pools=(rel_images.PARAM, pool))).data), "x.bin")
    found = verify(image, verify_pools.of_board(board))
    assert [finding.level for finding in found] == [level]
    assert said in str(found[0])


@pytest.mark.parametrize("dst", [0x342E0000, 0x34350000 - 352800, 0x34064000, 0x90000000, 0x91000000])
def test_pools_in_memory_of_a_board(dst) -> None:
    """Also such as reach over adjoining banks."""
    pool = replace(rel_images.RESET, dst=dst)
    image = container.parse(bytes(rel_images.build(rel_images.Recipe(pools=(rel_images.PARAM, pool))).data), "x.bin")
    for board in ("stm32n6570-dk", ""):
        assert verify(image, verify_pools.of_board(board)) == ()


def test_every_fault_has_its_own_words() -> None:
    assert list(WORDS) == list(FAULTS)
    assert len(set(WORDS.values())) == len(FAULTS) > 90


def test_a_damaged_list_is_not_told_word_by_word() -> None:
    recipe = rel_images.Recipe(got=(0x50000000,) * 100)
    found = verify(container.parse(bytes(rel_images.build(recipe).data), "x.bin"))
    assert [str(finding) for finding in found][-1] == "and 92 more of this kind"
    assert len(found) == 9


@pytest.mark.parametrize(("words", "status"), [((), 1), (("--board", "stm32n6570-dk"), 1), (("--board", "nowhere"), 1)])
def test_check_knows_the_memories_of_boards(tmp_path, capsys, words, status) -> None:
    """A model whose pool lies where no board has memory does not pass, though a loader takes it."""
    path = tmp_path / "network_rel.bin"
    asked = ["relocatable", "check", str(path), "--at", "0x71000000", "--ram", "0x34200000:1M"]
    path.write_bytes(bytes(rel_images.build(rel_images.Recipe(pools=(rel_images.PARAM, rel_images.RESET))).data))
    assert main(asked) == 0
    moved = replace(rel_images.RESET, dst=0xE000E000)
    path.write_bytes(bytes(rel_images.build(rel_images.Recipe(pools=(rel_images.PARAM, moved))).data))
    capsys.readouterr()
    assert main([*asked, *words]) == status
    out, err = capsys.readouterr()
    said = "no board 'nowhere'" if "nowhere" in words else "error: pools: pool 1 (AXISRAM5"
    assert said in err and ("install returns 0" in out) is ("nowhere" not in words)

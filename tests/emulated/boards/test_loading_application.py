"""The loading application on virtual boards: what it loads computes the golden outputs, what it refuses has a name."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart.relocatable.build.request import WantedClang
from neuralart.relocatable.format import container, load_table
from neuralart.relocatable.format.container import stamp_of
from neuralart.text import image_header
from neuralart_virtual.emulator import LinkFailure, MachineStop
from neuralart_virtual.emulator.runner import NetworkRun
from support.boards.firmware import N6_STEPS, Builder, have_clang, have_gcc, have_qemu
from support.boards.firmware import memory_init as toy_memory_init
from support.relocatable.loading import (
    COUNT,
    EXTERNAL,
    KINDS,
    MODEL,
    PARAMS,
    SECOND,
    TABLE,
    VECTORS,
    Content,
    Made,
    content,
    make_firmware,
    make_model,
    run_an547,
    run_n6,
)

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
]
needs_qemu = [pytest.mark.qemu, pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")]

INTERNAL = ("AXISRAM3", "AXISRAM4", "AXISRAM5", "AXISRAM6", "xSPI2")
LARGER = "NEURALART_EXEC_RAM=0x80000u"
MODES = ("xip", "copy", "xip clear", "copy clear", "xip ext", "copy ext no-overlay")


@pytest.fixture(scope="module")
def n6():
    return boards.load("stm32n6570-dk")


@pytest.fixture(scope="module")
def an547():
    return boards.load("mps3-an547")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("loading")


@pytest.fixture(scope="module")
def elf(folder, n6) -> Path:
    return make_firmware(folder / "n6", n6, "unicorn", (*INTERNAL, "xSPI1"))


@pytest.fixture(scope="module")
def without_external(folder, n6) -> Path:
    return make_firmware(folder / "n6-internal", n6, "unicorn", INTERNAL, ())


@pytest.fixture(scope="module")
def elf_an547(folder, an547) -> Path:
    return make_firmware(folder / "an547", an547, "qemu")


@pytest.fixture(scope="module")
def made(folder):
    known: dict[object, Made] = {}

    def get(kind: str, **more) -> Made:
        key = (kind, *sorted(more.items()))
        if key not in known:
            known[key] = make_model(folder / f"{kind}{'-io' * more.get('user_io', False)}", kind, **more)
        return known[key]

    return get


# ---- what goes well ----


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_golden_outputs_through_flash_and_boot_chain(n6, elf, made, kind, mode, split) -> None:
    model = made(kind, split=split)
    result = run_n6(n6, elf, content(model, mode), [model.run])
    assert [(network.name, network.vectors) for network in result.networks] == [("network", COUNT)]
    assert result.console == ("scons-neuralart loading application on stm32n6570-dk",)
    assert result.notes == ()


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs_qemu) for kind in ("external", "mixed")])
def test_the_same_file_on_another_machine(an547, elf_an547, made, tmp_path, kind, mode, split) -> None:
    """Pools that are all external and relative: what ran on the virtual STM32N6 runs on a Cortex-M55 as it is."""
    model = made(kind, split=split)
    result = run_an547(an547, elf_an547, content(model, mode), [model.run], tmp_path)
    assert [(network.name, network.vectors) for network in result.networks] == [("network", COUNT)]
    assert result.console == ("scons-neuralart loading application on mps3-an547",)


@pytest.mark.parametrize("secure", [False, True], ids=["non-secure", "secure"])
@pytest.mark.parametrize("machine", ["unicorn", pytest.param("qemu", marks=needs_qemu)])
def test_security_state_of_the_model(n6, an547, elf, elf_an547, made, tmp_path, machine, secure) -> None:
    """Both machines start Secure, where either image may run; the core itself says so."""
    model = made("external", secure=secure)
    assert struct.unpack_from("<I", model.image.read_bytes(), 4)[0] >> 20 & 1 == secure
    if machine == "unicorn":
        assert run_n6(n6, elf, content(model), [model.run]).networks[0].vectors == COUNT
    else:
        assert run_an547(an547, elf_an547, content(model), [model.run], tmp_path).networks[0].vectors == COUNT


@pytest.mark.parametrize("mode", ["xip", "copy"])
def test_buffers_of_the_application(n6, elf, made, mode) -> None:
    model = made("external", user_io=True)
    assert run_n6(n6, elf, content(model, mode), [model.run]).networks[0].vectors == COUNT


def two(one: Made, other: Made, mode: str) -> Content:
    table = load_table.make(mode.split(), [(MODEL, 0), (SECOND, 0)])
    return Content({TABLE: table, MODEL: one.image.read_bytes(), SECOND: other.image.read_bytes()})


@pytest.mark.parametrize("mode", ["xip", "copy", "copy clear", "xip ext"])
@pytest.mark.parametrize("kinds", [("external", "mixed"), ("internal", "external"), ("flash", "flash")], ids="+".join)
def test_two_models(n6, elf, made, kinds, mode) -> None:
    """Each has its share of the memories; activations at absolute addresses may be shared."""
    models = [made(kinds[0]), made(kinds[1], name="second")]
    result = run_n6(n6, elf, two(*models, mode), [model.run for model in models])
    assert [(network.name, network.vectors) for network in result.networks] == [("network", COUNT), ("second", COUNT)]


def test_models_are_found_by_their_names(n6, elf, made) -> None:
    """Not by their place in the table."""
    models = [made("external"), made("mixed", name="second")]
    result = run_n6(n6, elf, two(*models, "xip"), [model.run for model in reversed(models)])
    assert [network.name for network in result.networks] == ["second", "network"]


# ---- the image of the application ----


def test_executive_ram_takes_no_byte_of_the_binary(n6, elf, folder) -> None:
    def section(path: Path) -> tuple[str, int, int, int]:
        with path.open("rb") as stream:
            found = ELFFile(stream).get_section_by_name(".exec_ram")
            return found["sh_type"], found["sh_addr"], found["sh_size"], found["sh_addralign"]

    kind, address, size, _ = section(elf)
    start = n6.region(n6.code.region).base + n6.code.offset
    end = start + elf.with_suffix(".bin").stat().st_size
    assert (kind, size) == ("SHT_NOBITS", 256 << 10)
    assert address % 64 == 0 and end <= address < end + 64
    larger = make_firmware(folder / "larger", n6, "unicorn", (*INTERNAL, "xSPI1"), (*EXTERNAL, LARGER))
    assert section(larger)[2] == 0x80000
    assert larger.with_suffix(".bin").stat().st_size == end - start
    with pytest.raises(AssertionError, match="region `CODE' overflowed"):
        make_firmware(folder / "too-large", n6, "unicorn", INTERNAL, ("NEURALART_EXEC_RAM=0x100000u",))


def test_a_static_application_has_none(n6, tmp_path) -> None:
    builder = Builder(tmp_path / "objects", n6, "unicorn", 0x71000000, 0x342E0000)
    image = builder.image(tmp_path, memory=toy_memory_init(tuple(N6_STEPS)))
    words = subprocess.run(["arm-none-eabi-nm", image.elf], capture_output=True, text=True, check=True).stdout
    with image.elf.open("rb") as stream:
        assert ELFFile(stream).get_section_by_name(".exec_ram") is None
    assert "reloc" not in words


# ---- caches ----


@pytest.mark.parametrize(("kind", "pool"), [("internal", "AXISRAM5"), ("mixed", "xSPI1")])
def test_forgotten_cache_maintenance_is_seen(n6, folder, made, kind, pool) -> None:
    """The board watches what the loader copies: this test is what makes the others mean something."""
    forgets = (
        '#include "npu_memory.h"\nvoid npu_memory_clean_invalidate(uint32_t a, uint32_t s) { (void)a, (void)s; }\n'
    )
    bad = folder / "no-cache" / "firmware.elf"
    if not bad.is_file():
        make_firmware(bad.parent, n6, "unicorn", (*INTERNAL, "xSPI1"), replaced={"dcache.c": forgets})
    model = made(kind)
    with pytest.raises(MachineStop, match=f"cache not maintained: [0-9]+ bytes of pool {pool} of network network"):
        run_n6(n6, bad, content(model), [model.run])


@pytest.mark.skipif(not have_clang, reason="clang and ld.lld are not on PATH")
def test_a_model_made_by_clang(n6, elf, folder, refused) -> None:
    """Compiled and linked by clang and lld; its addresses in code can only be moved in RAM."""
    model = make_model(folder / "clang", "flash", clang=WantedClang())
    result = run_n6(n6, elf, content(model, "copy"), [model.run])
    assert [(network.name, network.vectors) for network in result.networks] == [("network", COUNT)]
    image = container.parse(model.image.read_bytes(), "x")
    assert (image.flags.toolchain, image.got, image.copy_only) == (9, (), True)
    assert "addresses in the code (clang): only mode COPY can move them" in refused(content(model, "xip"), model)


# ---- what is refused ----


@pytest.fixture
def refused(n6, elf, made):
    """The line at the host; the same stands on the console."""

    def get(what: Content, model: Made | None = None, *, on: Path | None = None, psram: bool = True) -> str:
        console: list[str] = []
        with pytest.raises(LinkFailure) as caught:
            run_n6(n6, on or elf, what, [(model or made("external")).run], psram=psram, on_text=console.append)
        said = str(caught.value)
        assert said.startswith("the firmware reports error ")
        assert console[-1].removeprefix("npu_memory_init returned ") in said
        return said.removeprefix("the firmware reports error ")

    return get


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


MREL = load_table.MAGIC


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "no load table is there: nothing was written (word 0 is 0xffffffff)"),
        (words(0, 1, 1, MODEL, 0), "no load table is there: nothing was written (word 0 is 0x00000000)"),
        (words(0x4E49424E, 1, 1, MODEL, 0), "not a load table: no MREL (word 0 is 0x4e49424e)"),
        (words(MREL, 5, 1, *(MODEL, 0) * 5), "the load table must name 1 to 4 models (word 1 is 0x00000005)"),
        (words(MREL, 0, 1), "the load table must name 1 to 4 models (word 1 is 0x00000000)"),
        (words(MREL), "the load table must name 1 to 4 models (word 1 is 0xffffffff)"),
        (words(MREL, 1, 0x11, MODEL, 0), "the load table has unknown flags (word 2 is 0x00000011)"),
        (words(MREL, 1), "the load table has unknown flags (word 2 is 0xffffffff)"),
        (words(MREL, 1, 1), "the load table has no address of a model (word 3 is 0xffffffff)"),
        (words(MREL, 2, 1, MODEL, 0, 0, 0), "the load table has no address of a model (word 5 is 0x00000000)"),
        (words(MREL, 1, 1, MODEL), "is cut off: the address of params was not written (word 4 is 0xffffffff)"),
    ],
    ids=str,
)
def test_a_wrong_load_table(refused, made, table: bytes | None, said: str) -> None:
    line = refused(content(made("external"), table=table))
    assert line.startswith("8: load table at 0x70fff000: ")
    assert line.endswith(said)


def test_no_model_is_there(refused, made) -> None:
    line = refused(content(made("external"), image=None))
    assert line.startswith("9: model 0 at 0x71000000: the loader answers -1 (INVALID_BIN): not a relocatable model: ")
    assert line.endswith(": its first word is not NBIN")


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        (0, 0x464C457F, "not a relocatable model but an ELF file"),
        (4, 0x10000100, "damaged: a word of the header is not in its segment"),
        (10, 0x20000000, "damaged: parts of the file overlap or are out of order"),
        (13, 0x20000000, "damaged: an entry point is not in the code"),
        (25, 0x40000001, "damaged: the runtime context"),
        (1, 0x80785D21, "made for another core (CPUID)"),
        (1, 0x90785D22, "made with another API than 8.0"),
    ],
)
def test_a_damaged_model(refused, made, word: int, value: int, said: str) -> None:
    image = bytearray(made("external").image.read_bytes())
    struct.pack_into("<I", image, 4 * word, value)
    line = refused(content(made("external"), image=bytes(image)))
    assert line.startswith("9: model 0 ")
    assert line.endswith(f"at 0x71000000: the loader answers -1 (INVALID_BIN): {said}")


def test_a_damaged_name(refused, made) -> None:
    model = made("external")
    image = model.image.read_bytes()
    line = refused(content(model, image=image.replace(b"network\0", b"net\x01ork\0")))
    assert line == "9: model 0 at 0x71000000: damaged: the name of the model is none"


def test_a_model_of_other_flags(refused, made) -> None:
    model = made("external", debug_info=False)
    assert "made without LL_ATON_EB_DBG_INFO, the firmware has it" in refused(content(model), model)


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("kind", ["external", "mixed", "internal"])
def test_damaged_params(refused, made, kind: str, split: bool) -> None:
    """Found before the first inference, wherever the params are used from."""
    model = made(kind, split=split)
    blob = bytearray((model.params or model.image).read_bytes())
    blob[-40] ^= 4
    line = refused(content(model, **{"params" if split else "image": bytes(blob)}), model)
    stamp = stamp_of(
        container.parse(model.image.read_bytes(), "m", model.params.read_bytes() if model.params else None)
    )
    assert line.startswith("10: model 0 (network) at 0x71000000: the params at 0x71")
    assert " are damaged or of another model: CRC-32 of " in line
    assert line.endswith(f", the model says 0x{stamp[8:]}")


def test_params_were_not_written(refused, made) -> None:
    model = made("external", split=True)
    assert refused(content(model, params=None, table=load_table.make(["xip"], [(MODEL, PARAMS)])), model).startswith(
        "10: "
    )


def test_the_table_does_not_say_where_the_params_are(refused, made) -> None:
    model = made("external", split=True)
    line = refused(content(model, table=load_table.make(["xip"], [(MODEL, 0)])), model)
    assert "the loader answers -7 (PARAM_ADDR): the params are in a file of their own" in line


@pytest.mark.parametrize("address", [0x341C0000, 0x60000000])
def test_params_below_the_external_memories(refused, made, address: int) -> None:
    model = made("external", split=True)
    line = refused(content(model, table=load_table.make(["xip"], [(MODEL, address)])), model)
    assert line == (
        "9: model 0 (network) at 0x71000000: the loader answers -7 (PARAM_ADDR): the pool of the params is cacheable: "
        f"they must be above 0x60000000; they are at 0x{address:08x}"
    )


@pytest.mark.parametrize("mode", ["xip", "copy"])
def test_executive_ram_is_too_small(refused, made, n6, folder, mode: str) -> None:
    small = folder / "small" / "firmware.elf"
    if not small.is_file():
        make_firmware(small.parent, n6, "unicorn", (*INTERNAL, "xSPI1"), (*EXTERNAL, "NEURALART_EXEC_RAM=128u"))
    line = refused(content(made("external"), mode), on=small)
    assert "-2 (MEMORY): executive RAM is too small (rt_ram_xip, rt_ram_copy); it needs executive RAM of " in line
    assert " bytes, has 128, external RAM of " in line
    # It is enough in the external RAM.
    model = made("external")
    assert run_n6(n6, small, content(model, f"{mode} ext"), [model.run]).networks[0].vectors == COUNT


def test_the_second_model_has_what_the_first_leaves(refused, made, n6, folder) -> None:
    models = made("external"), made("mixed", name="second")
    sizes = [struct.unpack_from("<7I", model.image.read_bytes())[6] & 0x0FFFFFFF for model in models]
    lines = [-(-size // 64) * 64 for size in sizes]
    for missing in (0, 64):
        elf = make_firmware(
            folder / f"tight-{missing}",
            n6,
            "unicorn",
            (*INTERNAL, "xSPI1"),
            (*EXTERNAL, f"NEURALART_EXEC_RAM={sum(lines) - missing}u"),
        )
        if missing:
            line = refused(two(*models, "xip"), on=elf)
            assert line.startswith(
                "9: model 1 (second) at 0x71100000: the loader answers -2 (MEMORY): executive RAM is too"
            )
            assert f" bytes, has {lines[1] - 64}, " in line
        else:
            assert len(run_n6(n6, elf, two(*models, "xip"), [m.run for m in models]).networks) == 2


@pytest.mark.parametrize("mode", ["xip ext", "xip"])
def test_external_ram_is_missing(refused, made, without_external, mode: str) -> None:
    line = refused(content(made("external"), mode), on=without_external, psram=False)
    what = "executive RAM is NULL" if "ext" in mode else "external RAM (ext_ram_addr) is NULL"
    assert f"-2 (MEMORY): {what} or not at a multiple of 4; it needs executive RAM of " in line
    assert line.endswith(" bytes, has 0")


def test_external_ram_is_too_small(refused, made, n6, folder) -> None:
    defines = (EXTERNAL[0], "NEURALART_EXT_RAM_SIZE=64u")
    elf = make_firmware(folder / "little", n6, "unicorn", (*INTERNAL, "xSPI1"), defines)
    assert "-2 (MEMORY): external RAM is too small (ext_ram_sz)" in refused(content(made("external")), on=elf)


def test_a_model_without_external_ram_needs_none(n6, made, without_external) -> None:
    model = made("internal")
    assert run_n6(n6, without_external, content(model, "copy"), [model.run], psram=False).networks[0].vectors == COUNT


def test_the_psram_is_not_mapped(refused, made) -> None:
    line = refused(content(made("external")), psram=False)
    assert line.startswith("5: npu_memory_init returned: 25") and "xSPI1" in line


def test_buffers_of_the_application_are_too_small(refused, made, n6, folder) -> None:
    elf = make_firmware(folder / "no-io", n6, "unicorn", (*INTERNAL, "xSPI1"), (*EXTERNAL, "NEURALART_USER_IO=64"))
    model = made("external", user_io=True)
    line = refused(content(model), model, on=elf)
    assert line == "7: model 0 (network) at 0x71000000: app_user_io of the application is too small for the buffers"


@pytest.mark.parametrize(("kind", "mode"), [("internal", "xip"), ("flash", "xip no-overlay")])
def test_two_models_that_want_the_same_memory(refused, made, kind: str, mode: str) -> None:
    line = refused(two(made(kind), made(kind, name="second"), mode))
    assert line == (
        "9: model 1 (second) at 0x71100000: a memory pool at an absolute address shares bytes with one of model 0"
    )


# ---- the host ----


def test_damaged_code_has_another_stamp(n6, elf, made) -> None:
    """A file has no checksum of its code: the host knows what it should be."""
    model = made("external")
    image = bytearray(model.image.read_bytes())
    at = struct.unpack_from("<I", image, 16)[0] & 0x0FFFFFFF
    image[at - 1] ^= 1
    with pytest.raises(LinkFailure, match=r"network: the firmware loaded another model: its stamp is [0-9a-f]{16}"):
        run_n6(n6, elf, content(model, image=bytes(image)), [model.run])


def test_another_model_was_flashed(n6, elf, made) -> None:
    model, other = made("external"), made("mixed")
    with pytest.raises(LinkFailure, match="loaded another model"):
        run_n6(n6, elf, content(other), [model.run])
    with pytest.raises(LinkFailure, match="the firmware has no network 'second'"):
        run_n6(n6, elf, content(model), [made("mixed", name="second").run])


def test_other_weights_have_another_stamp(n6, elf, made, tmp_path) -> None:
    """Whole params that fit the model in the flash, but not the file that the host means."""
    model = made("external", split=True)
    params = bytearray(model.params.read_bytes())
    params[0] ^= 1
    changed = tmp_path / "other_params.bin"
    changed.write_bytes(params)
    run = replace(model.run, params=changed)
    with pytest.raises(LinkFailure, match="loaded another model"):
        run_n6(n6, elf, content(model), [run])


def test_a_static_network_is_not_a_model(n6, elf, made) -> None:
    model = made("external")
    with pytest.raises(LinkFailure, match="the firmware was built for abi stamp"):
        run_n6(n6, elf, content(model), [NetworkRun(model.facts, VECTORS)])


def write(folder: Path, n6, elf: Path, model: Made, mode: str) -> Path:
    """A flash plan with everything."""
    import json

    from neuralart.flashing.plan import make, write_of

    parts = content(model, mode).files(folder)
    application = folder / "application.bin"
    application.write_bytes(image_header.make(elf.with_suffix(".bin").read_bytes(), "application"))
    writes = [write_of("application", "application", application, n6.slots["application"], application.name)]
    writes += [write_of(path.stem, "model", path, address, path.name) for path, address in parts]
    plan = folder / "flash_plan.json"
    plan.write_text(make(n6.name, writes), encoding="utf-8")
    assert len(json.loads(plan.read_text())["writes"]) == 1 + len(parts)
    return plan


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
def test_command_line(n6, elf, made, tmp_path, capsys, split: bool) -> None:
    model = made("external", split=split)
    plan = write(tmp_path, n6, elf, model, "xip")
    common = ["run", "--board", n6.name, "--elf", str(elf), "--plan", str(plan), "--top", str(tmp_path)]
    common += ["--network", str(model.facts), "--vectors", str(VECTORS), "--mapped", "xSPI1"]
    params = ["--model-params", str(model.params)] if split else []
    assert cli.main([*common, "--model", str(model.image), *params]) == 0
    assert "network: 20 vectors bit-exact on unicorn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "A"], "1 split models and 0 --model-params"),
        (["--model", "B", "--model-params", "P"], "0 split models and 1 --model-params"),
        (["--model-params", "P"], "0 split models and 1 --model-params"),
        (["--model", "B", "--model", "B"], "1 --network and 2 --model"),
        (["--model", "P"], "not a relocatable model"),
        (["--model", "missing.bin"], "missing.bin"),
        (["--mapped", "xSPI9", "--model", "B"], "no memory 'xSPI9' that a boot chain maps"),
        (["--mapped", "xSPI1", "--xspi-unmapped", "--model", "B"], "maps nothing does not map xSPI1"),
    ],
    ids=str,
)
def test_wrong_command_lines(n6, elf, made, capsys, words: list[str], said: str) -> None:
    split, whole = made("external", split=True), made("external")
    files = {"A": split.image, "B": whole.image, "P": split.params}
    common = ["run", "--board", n6.name, "--elf", str(elf), "--network", str(whole.facts), "--vectors", str(VECTORS)]
    assert cli.main([*common, *(str(files.get(word, word)) for word in words)]) == 1
    assert said in capsys.readouterr().err


def test_a_model_of_another_runtime(n6, elf, made, tmp_path) -> None:
    from support.relocatable.rel_images import build

    vendor = build()
    (tmp_path / "v.bin").write_bytes(vendor.data)
    model = made("external")
    with pytest.raises(
        NeuralArtError, match=r"a model for runtime 1.1.3.262 .*: the loading application runs neuralart only"
    ):
        run_n6(n6, elf, content(model), [replace(model.run, model=tmp_path / "v.bin")])

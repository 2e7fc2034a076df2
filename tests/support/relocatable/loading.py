"""The loading application for tests, with models of the digits network that it can load."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.flashing.nor import Nor, chip_of
from neuralart.memory.regions import Span
from neuralart.memory.startup import tables
from neuralart.memory.startup.linker import board_config_h, memory_ld
from neuralart.memory.startup.startup import HEADER
from neuralart.relocatable.build import builder
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.format import load_table
from neuralart.resources import firmware_dir
from neuralart.text import image_header
from neuralart_virtual.emulator import runner
from neuralart_virtual.emulator.coherency import Conditions
from support.boards.firmware import COMMON, LIBC, PREFIX, WARNINGS, run_tool
from support.projects import compile_answers
from support.relocatable.rel_networks import MODELS, compile_digits

TABLE, MODEL, SECOND, PARAMS = 0x70FFF000, 0x7100_0000, 0x7110_0000, 0x7180_0000
EXT_RAM, EXT_RAM_SIZE = 0x9000_0000, 16 << 20
DEFINES = ("LL_ATON_RT_RELOC", "LL_ATON_EB_DBG_INFO")
EXTERNAL = (f"NEURALART_EXT_RAM_ADDRESS=0x{EXT_RAM:x}u", f"NEURALART_EXT_RAM_SIZE=0x{EXT_RAM_SIZE:x}u")
VECTORS = MODELS / "digits" / "vectors"
# Of them, those that a loaded model is asked for.
COUNT = 3
# Pools, the one of the constants, and the relative ones.
KINDS = {
    "internal": (("AXISRAM3", "AXISRAM5"), "AXISRAM5", ()),
    "flash": (("AXISRAM3", "xSPI2"), "xSPI2", ("xSPI2",)),
    "external": (("xSPI1", "xSPI2"), "xSPI2", ("xSPI1", "xSPI2")),
    "mixed": (("xSPI1",), "xSPI1", ("xSPI1",)),
}


def memory_init(board: Board, memories: Sequence[str]) -> str:
    """npu_memory_init.c that turns banks on and looks whether the others are mapped."""
    regions = [board.region(name) for name in memories]
    banks = [region for region in regions if region.enable is not None]
    spans = [Span(region.name, "", region.base, region.end) for region in banks]
    windows, rows = tables.window_rows(board, memories), tables.bank_rows(board, banks, spans)
    text = '#include "npu_memory_init.h"\n'
    text += f"static const npu_memory_window_t windows[] = {{{', '.join(windows)}}};\n" if windows else ""
    text += f"static const npu_memory_bank_t banks[] = {{{', '.join(rows)}}};\n" if rows else ""
    text += "static const npu_memory_tables_t tables = {\n" + "\n".join(tables.register_lines(board, banks))
    text += f"    .windows = windows, .window_count = {len(windows)},\n" if windows else ""
    text += f"    .banks = banks, .bank_count = {len(rows)},\n" if rows else ""
    return text + "};\nint npu_memory_init(void) { return npu_memory_bring_up(&tables); }\n"


def sources(board: Board) -> list[Path]:
    """C of the loading application, but for what is generated."""
    root = firmware_dir()
    assert board.console is not None
    return [
        *sorted((root / "runtime").glob("*.c")),
        *sorted((root / "runtime" / "memory").glob("*.c")),
        *sorted((root / "boards").glob("*.c")),
        root / "boards" / "drivers" / f"{board.console.driver}.c",
        *[path for path in sorted((root / "app").glob("*.c")) if path.name != "main.c"],
        *sorted((root / "app_loader").glob("*.c")),
    ]


def make_firmware(
    folder: Path,
    board: Board,
    machine: str,
    memories: Sequence[str] = (),
    defines: Sequence[str] = EXTERNAL,
    replaced: Mapping[str, str] | None = None,
    table: int = TABLE,
) -> Path:
    """The ELF, and its binary beside it; ``replaced``: text instead of a source, by its name."""
    folder.mkdir(parents=True)
    root = firmware_dir()
    (folder / "board_config.h").write_text(board_config_h(board), encoding="utf-8")
    (folder / "memory.ld").write_text(memory_ld(board), encoding="utf-8")
    (folder / "npu_memory_init.h").write_text(HEADER, encoding="utf-8")
    (folder / "npu_memory_init.c").write_text(memory_init(board, memories), encoding="utf-8")
    elf = folder / "firmware.elf"
    places = [folder, *(root / name for name in ("app_loader", "app", "boards", "runtime/include"))]
    words = [f"{PREFIX}gcc", *board.machines[machine].cpu_flags, *COMMON, LIBC, *WARNINGS]
    linking = ["-Wl,--gc-sections", "-Wl,--fatal-warnings", f"-L{folder}", "-T", str(root / "boards" / "sections.ld")]
    includes = [f"-I{place}" for place in places]
    common = [*DEFINES, f"NEURALART_LOAD_TABLE=0x{table:x}u"]
    common += [define for define in defines if "=" not in define]

    def compiled(place: Path) -> list[Path]:
        files = [path for path in sources(board) if path.parent.name != "app_loader"]
        run_tool([*words, *includes, *(f"-D{define}" for define in common), "-c", *map(str, files)], place)
        return [place / f"{path.stem}.o" for path in files]

    # Sizes and addresses are of the loader alone.
    key = zlib.crc32(" ".join([board.name, *words, *common]).encode())
    objects = compile_answers.objects(f"loader-{key}", compiled, folder / "objects")
    chosen = [*sorted((root / "app_loader").glob("*.c")), folder / "npu_memory_init.c"]
    for name, text in (replaced or {}).items():
        (folder / name).write_text(text, encoding="utf-8")
        chosen.append(folder / name)
    files = [*chosen, *(path for path in objects if f"{path.stem}.c" not in (replaced or {}))]
    includes += [f"-D{define}" for define in dict.fromkeys([*common, *defines])]
    run_tool([*words, *includes, "-nostartfiles", *linking, *map(str, files), "-o", str(elf)])
    run_tool([f"{PREFIX}objcopy", "-O", "binary", str(elf), str(elf.with_suffix(".bin"))])
    return elf


def first_vectors(folder: Path, count: int, model: str = "digits") -> Path:
    """So many golden vectors of a model, in a folder: each further one computes the same."""
    made = folder / f"{model}-vectors"
    if not made.is_dir():
        made.mkdir()
        all_ = MODELS / model / "vectors"
        said = json.loads((all_ / "vectors.json").read_text("utf-8"))
        for side in ("inputs", "outputs"):
            size = count * sum(tensor["bytes"] for tensor in said[side])
            (made / f"{side}.bin").write_bytes((all_ / f"{side}.bin").read_bytes()[:size])
        (made / "vectors.json").write_text(json.dumps({**said, "count": count}), encoding="utf-8")
    return made


@dataclass(frozen=True)
class Made:
    """A model: its files."""

    image: Path
    params: Path | None
    facts: Path

    @property
    def size(self) -> int:
        return self.image.stat().st_size

    @property
    def run(self) -> runner.NetworkRun:
        return runner.NetworkRun(self.facts, first_vectors(self.image.parent, COUNT), self.image, self.params)


def make_model(
    folder: Path,
    kind: str,
    *,
    split: bool = False,
    name: str = "network",
    user_io: bool = False,
    model: str = "digits",
    **more: bool,
) -> Made:
    """A relocatable model of one of :data:`KINDS`; ``more`` are fields of the request for its build."""
    pools, constants, relative = KINDS[kind]
    code = folder / "network.c"
    if not code.is_file():
        allocate = {"allocate_inputs": not user_io, "allocate_outputs": not user_io}
        compile_digits(folder, *pools, constants=constants, relative=relative, model=model, **allocate)
    out = folder / f"{name}{'-split' * split}{''.join(f'-{key}-{value}' for key, value in more.items())}"
    request = BuildRequest(
        code, out, name, split=split, objects=compile_answers.relocatable_objects(folder.parent / "objects"), **more
    )
    container = builder.build(request).container
    out.mkdir(exist_ok=True)
    (out / f"{name}_rel.bin").write_bytes(container.image)
    if container.params is not None:
        (out / f"{name}_rel_params.bin").write_bytes(container.params)
    params = out / f"{name}_rel_params.bin" if container.params is not None else None
    return Made(out / f"{name}_rel.bin", params, code.with_name("network.json"))


@dataclass(frozen=True)
class Content:
    """What is in the flash, by address."""

    parts: dict[int, bytes]

    def files(self, folder: Path) -> list[tuple[Path, int]]:
        folder.mkdir(parents=True, exist_ok=True)
        for address, data in self.parts.items():
            (folder / f"{address:08x}.bin").write_bytes(data)
        return [(folder / f"{address:08x}.bin", address) for address in self.parts]

    def nor(self, board: Board, elf: Path) -> Nor:
        nor = Nor(chip_of(board))
        binary = image_header.make(elf.with_suffix(".bin").read_bytes(), "application")
        for address, data in {board.slots["application"]: binary, **self.parts}.items():
            nor.program(address - nor.chip.base, data)
        return nor


def content(made: Made, mode: str = "xip", **parts: bytes | None) -> Content:
    """A model and its table. ``image``, ``params`` and ``table`` replace the bytes of each; None: nothing is there."""
    params = made.params.read_bytes() if made.params else None
    row = (MODEL, PARAMS if params is not None else 0)
    all_ = {"table": load_table.make(mode.split(), [row]), "image": made.image.read_bytes(), "params": params, **parts}
    places = {"table": TABLE, "image": MODEL, "params": PARAMS}
    return Content({places[key]: data for key, data in all_.items() if data is not None})


def run_n6(
    board: Board, elf: Path, what: Content, runs: Sequence[runner.NetworkRun], *, psram: bool = True, **more: object
) -> runner.RunResult:
    """Through the virtual flash and the boot chain."""
    surroundings = Conditions(what.nor(board, elf), mapped=("xSPI1",) if psram else ())
    return runner.run(board, "unicorn", elf, (), runs, surroundings=surroundings, timeout=20, **more)


def run_an547(
    board: Board, elf: Path, what: Content, runs: Sequence[runner.NetworkRun], folder: Path
) -> runner.RunResult:
    """QEMU has no flash: its contents are in memory before the start."""
    return runner.run(board, "qemu", elf, what.files(folder), runs, timeout=30)

"""Compiles a network for the CPU, fits the H747 application to it, builds the image and runs it."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.memory.startup.linker import board_config_h
from neuralart.network import facts
from neuralart.resources import firmware_dir
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.patching import mirror, patchlist
from neuralart_bring.patching.network_files import NetworkFiles
from neuralart_bring.patching.plan import PatchRequest, Plan, make
from neuralart_reference.cpu.compile import CpuRequest, CpuResult, compile_network, write
from neuralart_virtual.emulator.boot_chain import started_machine
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.host_link import RemoteNetwork, Session, Transport
from neuralart_virtual.emulator.runner import NetworkRun, RunResult, machine_of, run
from support.boards.firmware import COMMON, LIBC, PREFIX, WARNINGS, run_tool
from support.projects import compile_answers

REPO = Path(__file__).resolve().parents[3]
DIGITS = REPO / "models" / "digits"
BOARDS = ("stm32h747i-disco", "mps2-an500")
ASPECTS = {"fit": 1, "crop": 2, "padding": 3}


def application() -> Path:
    """The application's folder."""
    return firmware_dir() / "h747"


def script_of(board: Board) -> Path:
    """The application's linker script for a board."""
    own = sorted((application() / "boards" / board.name).glob("*.ld"))
    return own[0] if own else application() / "STM32CubeIDE" / "CM7" / "STM32H747XIHx_CM7.ld"


def pools(folder: Path, **sizes: int) -> Path:
    """A memory-pool file: name -> bytes, in the order given, the fastest first."""
    folder.mkdir(parents=True, exist_ok=True)
    speeds = (("HIGH", "LOW"), ("HIGH", "MID"), ("MID", "MID"))
    rows = [
        {
            "name": name,
            "prop": {"throughput": speed[0], "latency": speed[1]},
            "size": {"value": str(size), "magnitude": "BYTES"},
            "offset": {"value": "0", "magnitude": "BYTES"},
        }
        for (name, size), speed in zip(sizes.items(), speeds, strict=False)
    ]
    path = folder / "mempools.json"
    path.write_text(json.dumps({"memory": {"mempools": rows}}, indent=1), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Built:
    """An image.

    Attributes:
        elf: The image.
        network: Folder of the compiled network.
        plan: What was patched.
        result: What the compiler said.
        objects: Of the patched application and of the network.
    """

    elf: Path
    network: Path
    plan: Plan
    result: CpuResult
    objects: tuple[Path, ...]


class H747Builder:
    """Builds images for a board; what does not depend on the network is compiled once."""

    def __init__(self, folder: Path, board: Board, defines: Sequence[str] = ()) -> None:
        self.folder = folder
        self.board = board
        machine = machine_of(board, "")
        self.flags = [*machine.cpu_flags, *COMMON, LIBC, *WARNINGS]
        self.defines = tuple(defines)
        self._shared: list[Path] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "board_config.h").write_text(board_config_h(board), encoding="utf-8")

    def _object(self, folder: Path, source: Path, paths: Sequence[Path], defines: Sequence[str] = ()) -> Path:
        target = folder / f"{source.parent.name}-{source.stem}.o"
        words = [
            f"{PREFIX}gcc",
            *self.flags,
            *(f"-I{path}" for path in paths),
            *(f"-D{each}" for each in (*self.defines, *defines)),
        ]
        run_tool([*words, "-c", str(source), "-o", str(target)])
        return target

    def _paths(self) -> list[Path]:
        root = firmware_dir()
        runtime = root / "runtime"
        return [self.folder, root / "boards", root / "app", runtime / "include", runtime / "legacy" / "include"]

    def compile(self, folder: Path, source: Path, paths: Sequence[Path]) -> Path:
        """One file, with folders of headers of its own."""
        return self._object(folder, source, [*paths, *self._paths()])

    def shared(self, without: Sequence[str] = ()) -> list[Path]:
        """Start-up, console, host link, runtime and kernels; less files of some names."""
        root, own = firmware_dir(), application() / "boards"
        if self._shared is None:
            assert self.board.console is not None
            sources = [
                own / "startup_armv7m.c",
                *sorted((own / self.board.name).glob("*.c")),
                root / "boards" / "console.c",
                root / "boards" / "drivers" / f"{self.board.console.driver}.c",
                *(root / "app" / f"{name}.c" for name in ("host_link", "user_io", "text_line")),
                *sorted((root / "app").glob("validation_*.c")),
            ]
            self._shared = [self._object(self.folder, source, self._paths()) for source in sources]
            name = f"h747-{zlib.crc32(' '.join(self.flags).encode())}"
            self._shared += compile_answers.objects(name, self._runtime, self.folder / "runtime")
        return [path for path in self._shared if path.stem.rpartition("-")[2] not in without]

    def _runtime(self, folder: Path) -> list[Path]:
        """Runtime and kernels, which know neither board nor defines: one process compiles them."""
        runtime = firmware_dir() / "runtime"
        sources = [runtime / "ll_aton_runtime.c", *sorted((runtime / "legacy").glob("*.c"))]
        sources += sorted((runtime / "kernels").glob("*.c"))
        include = [f"-I{runtime / name}" for name in ("include", "legacy/include")]
        run_tool([f"{PREFIX}gcc", *self.flags, *include, "-c", *map(str, sources)], folder)
        return [folder / f"{source.stem}.o" for source in sources]

    def build(
        self,
        folder: Path,
        *,
        aspect: str = "fit",
        without: Sequence[str] = (),
        extra: Sequence[Path] = (),
        reserve: dict[str, int] | None = None,
        **request: object,
    ) -> Built:
        """Compile the network, patch the application, build the image.

        Args:
            folder: For everything.
            aspect: ``fit``, ``crop`` or ``padding``.
            without: Files of the shared part that are left out.
            extra: C files in addition.
            reserve: Memory -> bytes that buffers leave free.
            request: Fields of the compile's request.
        """
        network = folder / "network"
        fields: dict[str, object] = {"model": DIGITS / "digits.tflite", "target": self.board.target, **request}
        result = compile_network(CpuRequest(**fields))  # type: ignore[arg-type]
        write(result, network)
        plan = make(
            PatchRequest(
                application(),
                NetworkFiles.in_folder(network, "network"),
                aspect,
                patchlist.load("stm32h747i-disco"),
                linker_script=script_of(self.board),
                reserve=reserve or {},
            )
        )
        patched = folder / "patched"
        mirror.write(plan, patched)
        paths = [patched / "Inc" / "CM7", network, *self._paths()]
        define = [f"ASPECT_RATIO_MODE={ASPECTS[aspect]}"]
        sources = [*sorted((patched / "Src" / "CM7").glob("*.c")), *sorted(network.glob("*.c"))]
        objects = tuple(self._object(folder, source, paths, define) for source in sources)
        built = Built(folder / "firmware.elf", network, plan, result, objects)
        return self.link(folder, built, without=without, extra=extra)

    def link(self, folder: Path, built: Built, *, without: Sequence[str] = (), extra: Sequence[Path] = ()) -> Built:
        """The image of an application and a network that are compiled; ``without`` and ``extra`` as of a build."""
        folder.mkdir(exist_ok=True)
        objects = [*built.objects, *(self._object(folder, source, self._paths()) for source in extra)]
        elf = folder / "firmware.elf"
        words = [f"{PREFIX}gcc", *self.flags, "-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings"]
        words += ["-T", str(script_of(self.board)), "-o", str(elf)]
        run_tool([*words, *map(str, [*objects, *self.shared(without)])])
        return replace(built, elf=elf)

    def run(self, built: Built, vectors: Path = DIGITS / "vectors") -> RunResult:
        """Compare every golden vector."""
        return run(self.board, "", built.elf, [], [NetworkRun(built.network / "network.json", vectors)], timeout=60.0)

    @contextmanager
    def stream(self, built: Built) -> Iterator[Transport]:
        """The port of a running image."""
        network = facts.load(built.network / "network.json")
        with started_machine(self.board, machine_of(self.board, ""), built.elf, [], Conditions(), [network]) as started:
            yield started.transport

    @contextmanager
    def session(self, built: Built) -> Iterator[tuple[Session, dict[str, tuple[int, RemoteNetwork]], list[str]]]:
        """Speak with a running image: the session, what it has by name, and what it said."""
        lines: list[str] = []
        with self.stream(built) as stream:
            session = Session(stream, timeout=60.0, on_text=lines.append)
            remotes = {remote.name: (index, remote) for index, remote in enumerate(session.hello())}
            yield session, remotes, lines
            session.quit()


def builder(folder: Path, name: str) -> H747Builder:
    """For a board."""
    return H747Builder(folder, boards.load(name))


def memories(board: Board) -> dict[str, tuple[int, int]]:
    """Memories of the linker script of a board: name -> first address and length."""
    script = linker_script.read(script_of(board))
    return {memory.name: (memory.origin, memory.length) for memory in script.memories}


# ---- what the application does with a picture, in other words


def sensor(width: int, height: int, left: int = 0, number: int = 0) -> list[list[int]]:
    """The picture of the synthetic camera, RGB565."""
    return [[(x * 73 + y * 1499 + number * 977) & 0xFFFF for x in range(left, left + width)] for y in range(height)]


def gray_input(picture: Sequence[Sequence[int]], width: int, height: int) -> bytes:
    """An RGB565 picture as int8 gray levels of a size: what the preprocessing gives the digits network."""
    rows, columns = len(picture), len(picture[0])
    levels = []
    for y in range(height):
        for x in range(width):
            pixel = picture[y * rows // height][x * columns // width]
            red, green, blue = pixel >> 11, pixel >> 5 & 63, pixel & 31
            red, green, blue = red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2
            levels.append(((red * 77 + green * 150 + blue * 29) >> 8) - 128)
    return struct.pack(f"{len(levels)}b", *levels)


def frame_bytes(picture: Sequence[Sequence[int]]) -> bytes:
    """As it lies in the buffer."""
    return b"".join(struct.pack(f"<{len(row)}H", *row) for row in picture)

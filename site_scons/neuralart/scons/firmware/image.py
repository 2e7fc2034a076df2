"""``NeuralArtImage`` and ``env.CheckImage``: a linked program is checked, then made into what its board boots from.

    env.NeuralArtImage("build/check.json", ["app.elf", net], NEURALART_BOARD="stm32n6570-dk")

Sources are the program and the networks in it. The emitter adds binary and Intel HEX, and on a board with a boot chain
``application.bin``: the binary behind its header, or behind room for one where the boot chain reads none. Nothing is
made of a program with an error.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import SCons.Errors
import SCons.Node.FS

from neuralart import products
from neuralart.boards.types import Board, Machine
from neuralart.config.types import SignConfig
from neuralart.config.variant_keys import SIGNERS
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.memory.layout.flash_areas import areas
from neuralart.network import facts
from neuralart.quick import dataclass, field
from neuralart.scons import node_plans
from neuralart.scons.commands import Process, Variable, function, lazily
from neuralart.scons.failures import at_read_time, refuse_unknown
from neuralart.scons.firmware.memory_builder import moved_slots
from neuralart.scons.firmware.memory_files import board_of
from neuralart.scons.network.nodes import Compiled, CpuNetworkNodes, NetworkNodes
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.node_plans import FilePart
from neuralart.scons.paths import LiteralWord
from neuralart.scons.registry import board_value, child_environment, code_value, fact, registry_of
from neuralart.text.console import say

NAME = "NeuralArtImage"
OBJCOPY, APPLICATION, SIGN = "objcopy", "application", "sign"


@dataclass(frozen=True)
class ImagePlan:
    """What is made from a program."""

    board: Board  # The board it is for
    machine: Machine  # Where it executes
    facts: tuple[Any, ...]  # ``network.json`` of the networks in it
    allow_reference: bool  # The reference runtime is wanted on silicon
    outputs: bool  # Make binary and Intel HEX of it
    application: int | None  # Flash address of ``application.bin``; None: there is none
    sign: SignConfig = field(default_factory=SignConfig)  # Who puts the header in front of it
    # Where external flash begins that holds a part of the program, which the binary is without; None: none does
    outside: int | None = None


def _check(part: FilePart) -> None:
    from neuralart.memory.image import check_image

    plan: ImagePlan = part.data
    path, *rest = (Path(str(node)) for node in part.sources)
    networks = [facts.load(each) for each in rest]
    image = check_image.read(path, products.read(path), plan.board)
    findings = check_image.check(image, plan.board, plan.machine, networks, allow_reference=plan.allow_reference)
    errors = [finding for finding in findings if finding.level == "error"]
    for finding in findings:
        if finding not in errors[:1]:
            say(f"{path}: {finding.level}: {finding}", file=sys.stderr)
    if errors:
        raise NeuralArtError(str(errors[0]), where=str(path))
    data = check_image.as_data(image, plan.board, plan.machine, networks, findings)
    write_text(Path(part.names[0]), check_image.as_text(data))


def _write_application(part: FilePart) -> None:
    room, kind, version = part.data
    path = Path(str(part.sources[0]))
    if not version:
        write_bytes(Path(part.names[0]), b"\xff" * room + products.read(path))
        return
    from neuralart.text import image_header

    made = image_header.make(products.read(path), kind, image_header.VERSIONS[version], str(path))
    image_header.judged(made, part.names[0])
    write_bytes(Path(part.names[0]), made)


def _application(env: Any, first: Any, binary: Sequence[Any], plan: ImagePlan) -> FilePart:
    """``application.bin``: made here, or by the vendor's tool."""
    boot, sign = plan.board.boot, plan.sign
    assert boot is not None
    assert plan.application is not None
    version = (sign.header_version or boot.header_version) if boot.header_version else ""
    vendor = bool(version) and sign.by == "vendor"
    data = (boot.header, sign.type, version)
    words = ["--type", sign.type, "--header-version", version, *(f"--option={each}" for each in sign.tool_options)]
    return FilePart(
        "application",
        "IMAGE",
        (first.dir.File("application.bin"),),
        tuple(binary),
        None if vendor else _write_application,
        words if vendor else data,
        "" if vendor else json.dumps(data),
        (
            code_value(env, "vendor-signing", "neuralart_board/signing/cli.py")
            if vendor
            else code_value(env, "image-header", "text/image_header.py"),
        ),
        write=("application", "application", plan.application),
        piece=SIGN if vendor else APPLICATION,
    )


def _application_address(board: Board, env: Any) -> int | None:
    if board.boot is None:
        return None
    name = board.boot.slot
    return dict(moved_slots(env["NEURALART_SLOTS"], NAME, "NEURALART_SLOTS")).get(name, board.slots.get(name))


def _signer(env: Any) -> str:
    by = str(env.subst(env["NEURALART_SIGN"]))
    if by not in SIGNERS:
        raise NeuralArtError(f"NEURALART_SIGN is '{by}'", where=NAME, hint=nearest(by, SIGNERS))
    return by


def _plan(source: list[Any], env: Any) -> ImagePlan:
    """What the construction variables describe. NeuralArtError: They describe none."""
    from neuralart.memory.image.check_image import machine_of

    found = node_plans.each_behind(source[1:], CompilePlan)
    name = node_plans.board_name(env, NAME, source[0], found[0][1].board.name if found else "")
    board = registry_of(env).board(name, NAME)
    allow = env["NEURALART_ALLOW_REFERENCE_ON_HARDWARE"]
    if not isinstance(allow, bool):
        raise NeuralArtError(f"NEURALART_ALLOW_REFERENCE_ON_HARDWARE must be True or False, not {allow!r}", where=NAME)
    return ImagePlan(
        board,
        machine_of(board, str(env.subst(env["NEURALART_MACHINE"]))),
        tuple(node.dir.File("network.json") for node, _ in found),
        allow,
        True,
        _application_address(board, env),
        SignConfig(_signer(env)),
    )


def _write_places(part: FilePart) -> None:
    from neuralart.memory.image import elf_facts

    path = Path(str(part.sources[0]))
    program = elf_facts.read(path, products.read(path))
    for name, span in zip(part.names, part.data, strict=True):
        write_bytes(Path(name), program.span(*span)[1])


def _program(env: Any) -> str:
    """A hash of objcopy, wherever it is; empty if it is not there."""
    name = str(env.subst("$OBJCOPY"))
    path = shutil.which(name, path=child_environment(dict(env["ENV"]))["PATH"])

    def digest() -> str:
        return hashlib.sha256(read_bytes(Path(path or ""))).hexdigest()

    return registry_of(env).once("objcopy", path, digest) if path else ""


def _outputs(env: Any, first: Any, elf: Any, plan: ImagePlan) -> list[FilePart]:
    stem = elf.name.rpartition(".")[0] or elf.name
    values = (fact(_program(env), name="objcopy"),)
    made = []
    for suffix, kind in (("bin", "binary"), ("hex", "ihex")):
        file = first.dir.File(f"{stem}.{suffix}")
        made.append(FilePart(kind, "OBJCOPY", (file,), (elf,), data=kind, values=values, after=(first,), piece=OBJCOPY))
    if plan.outside is not None:
        # objcopy would fill everything between the two flashes, a gigabyte or more.
        held = areas(plan.board)
        for files, spans in (
            (made[0].targets, [(0, plan.outside)]),
            (tuple(first.dir.File(f"{area.name}.bin") for area in held), [(area.start, area.end) for area in held]),
        ):
            made.append(FilePart("binary", "OBJCOPY", files, (elf,), _write_places, spans, str(spans), after=(first,)))
        made[0] = made.pop(2)
    if plan.application is not None and plan.board.boot is not None:
        made.append(_application(env, first, made[0].targets, plan))
    return made


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add what the board boots from: binary, Intel HEX, the application's image.
    SCons.Errors.UserError: A variable has a wrong value, or there is no program.
    """
    if not source or node_plans.behind(source[:1], CompilePlan) is not None:
        raise NeuralArtError(f"{NAME} takes a linked program, then the networks in it", where=str(target[0]))
    plan = node_plans.given(env, ImagePlan) or _plan(source, env)
    first, elf = target[0], source[0]
    board = plan.board
    check = FilePart(
        "check",
        "CHECK",
        (first,),
        (elf, *plan.facts),
        _check,
        plan,
        json.dumps([board.name, plan.machine.kind, plan.allow_reference]),
        (code_value(env, "image-check", "memory/image/check_image.py"), board_value(env, board)),
    )
    return node_plans.emitted(env, [check, *(_outputs(env, first, elf, plan) if plan.outputs else [])])


VARIABLES = (
    *node_plans.words("NEURALART_IMAGE", emit, "`[checks the program]`", tag="${_NEURALART_TAG}$SOURCE"),
    Variable(
        "NEURALART_OBJCOPYCOM",
        "command",
        "$OBJCOPY -O $_NEURALART_OBJCOPYFORMAT $SOURCE $TARGET",
        "What makes binary and Intel HEX.",
    ),
    Variable("NEURALART_OBJCOPYCOMSTR", "text", "OBJCOPY  $TARGET", "What is shown instead."),
    node_plans.of_plan("_NEURALART_OBJCOPYFORMAT", FilePart, NAME, lambda part, env: part.data),
    Variable(
        "NEURALART_APPLICATIONCOM",
        "command",
        function(node_plans.write, "$NEURALART_APPLICATIONCOMSTR", "_NEURALART_COUNTS"),
        "What makes `application.bin`.",
        "`[puts the header in front]`",
    ),
    Variable("NEURALART_APPLICATIONCOMSTR", "text", "${_NEURALART_TAG}$TARGET", "What is shown instead."),
    Variable(
        "NEURALART_SIGNCOM",
        "command",
        "$( $NEURALART_PYTHON $) -m neuralart tool sign --by vendor $SOURCE -o $TARGET $_NEURALART_SIGNFLAGS",
        "What makes `application.bin` with the vendor's signing tool.",
    ),
    Variable("NEURALART_SIGNCOMSTR", "text", "SIGN     $TARGET", "What is shown instead."),
    node_plans.of_plan(
        "_NEURALART_SIGNFLAGS", FilePart, NAME, lambda part, env: [LiteralWord(each) for each in part.data]
    ),
    Variable(
        "NEURALART_SIGN",
        "text",
        "header",
        "Who puts the header in front of an image: `header`, this package without a signature; `vendor`, its tool.",
    ),
    Variable("OBJCOPY", "text", "arm-none-eabi-objcopy", "The program."),
    Variable(
        "NEURALART_MACHINE",
        "text",
        "",
        "Where a program executes: `silicon`, `unicorn` or `qemu`; empty: the board's first.",
    ),
    Variable(
        "NEURALART_ALLOW_REFERENCE_ON_HARDWARE",
        "bool",
        False,
        "A network of the reference runtime is meant for silicon.",
    ),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        pieces = {
            "": lazily("NEURALART_IMAGE"),
            OBJCOPY: Process("NEURALART_OBJCOPY"),
            APPLICATION: lazily("NEURALART_APPLICATION"),
            SIGN: Process("NEURALART_SIGN"),
        }
        env["BUILDERS"][NAME] = node_plans.PartsBuilder(NAME, "NEURALART_IMAGEEMITTER", pieces, suffix=".json")


def make_check(
    env: Any,
    target: str,
    image: Any,
    board: Board,
    machine: Machine,
    networks: Sequence[Compiled],
    *,
    allow_reference: bool,
) -> Any:
    """Declare the check of an image.
    ``target``: the report, relative to the top folder. Returns the report (JSON), written only if there is no error.
    """
    own = tuple(network.facts for network in networks)
    plan = ImagePlan(board, machine, own, allow_reference, outputs=False, application=None)
    return node_plans.make(env, NAME, VARIABLES, plan, f"#{target}", [image])[0]


@at_read_time
def check_method(env: Any, image: Any, *networks: Any, **options: Any) -> Any:
    """``env.CheckImage(elf, net, ...)``: can this image start on the board of its networks, with them in it?

    Returns the report; the build fails if the image has an error. ``image``: a node or a name: ELF file or binary;
    ``*networks``: what ``env.Network`` returned. ``**options``: ``machine``: ``silicon`` (default), ``unicorn`` or
    ``qemu``; ``target``: the report; by default ``NAME.check.json`` beside the image; ``allow_reference_on_hardware``:
    a network of the reference runtime on silicon is meant. SCons.Errors.UserError: no network, networks for different
    boards, or the board has no such machine.
    """
    from neuralart.memory.image.check_image import machine_of

    if not networks or not all(isinstance(network, (NetworkNodes, CpuNetworkNodes)) for network in networks):
        raise SCons.Errors.UserError("CheckImage takes an image and what Network returned, one or more")
    chosen: list[Compiled] = list(networks)
    board = board_of(chosen)
    refuse_unknown(options, ("machine", "target", "allow_reference_on_hardware"), "CheckImage")
    allow = options.get("allow_reference_on_hardware", False)
    if not isinstance(allow, bool):
        raise NeuralArtError(f"allow_reference_on_hardware must be True or False, not {allow!r}", where="CheckImage")
    try:
        nodes = env.arg2nodes(image, env.fs.File)
        good = bool(nodes) and all(isinstance(node, SCons.Node.FS.File) for node in nodes)
    except (TypeError, AttributeError):
        good = False
    if not good or not image:
        raise NeuralArtError(f"an image is a file or its node, not {image!r}", where="CheckImage")
    if len(nodes) != 1 and not str(nodes[0]).endswith(".elf"):
        raise SCons.Errors.UserError(f"CheckImage: one image, not {len(nodes)}")
    target = options.get("target", "")
    return make_check(
        env,
        str(env.File(target) if target else f"{nodes[0]}.check.json"),
        nodes[0],
        board,
        machine_of(board, str(options.get("machine", "silicon"))),
        chosen,
        allow_reference=allow,
    )

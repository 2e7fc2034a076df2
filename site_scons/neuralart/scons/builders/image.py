"""``NeuralArtImage``: a linked program is checked, then made into what its board boots from.

    env.NeuralArtImage("build/check.json", ["app.elf", net], NEURALART_BOARD="stm32n6570-dk")

Sources are the program and the networks in it. The emitter adds binary and Intel HEX, and on a board with a boot chain
``application.bin``: the binary behind room for the signed header. Nothing is made of a program with an error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons.builders import parts, plans
from neuralart.scons.builders.actions import function, lazily, process
from neuralart.scons.builders.initializers import moved_slots
from neuralart.scons.builders.parts import Part
from neuralart.scons.builders.variables import Variable, words
from neuralart.scons.compile_plan import CompilePlan
from neuralart.scons.failures import at_read_time
from neuralart.scons.registry import identity

NAME = "NeuralArtImage"
OBJCOPY, APPLICATION = "objcopy", "application"


@dataclass(frozen=True)
class ImagePlan:
    """What is made of a program.

    Attributes:
        board: The board it is for.
        machine: Where it executes.
        facts: ``network.json`` of the networks in it.
        allow_reference: The reference runtime is wanted on silicon.
        outputs: Make binary and Intel HEX of it.
        application: Flash address of ``application.bin``; None: there is none.
    """

    board: Board
    machine: Machine
    facts: tuple[Any, ...]
    allow_reference: bool
    outputs: bool
    application: int | None


def _check(part: Part) -> None:
    from neuralart.files import read_bytes, write_text
    from neuralart.memory.image import check_image
    from neuralart.network import facts

    plan: ImagePlan = part.data
    path, *rest = (Path(str(node)) for node in part.sources)
    networks = [facts.load(each) for each in rest]
    image = check_image.read(path, read_bytes(path), plan.board)
    findings = check_image.check(image, plan.board, plan.machine, networks, allow_reference=plan.allow_reference)
    errors = [finding for finding in findings if finding.level == "error"]
    for finding in findings:
        if finding not in errors[:1]:
            print(f"{path}: {finding.level}: {finding}", file=sys.stderr)
    if errors:
        raise NeuralArtError(str(errors[0]), where=str(path))
    data = check_image.as_data(image, plan.board, plan.machine, networks, findings)
    write_text(Path(part.names[0]), check_image.as_text(data))


def _write_application(part: Part) -> None:
    from neuralart.files import read_bytes, write_bytes

    # Room for the signed header; erased flash until an image is signed.
    write_bytes(Path(part.names[0]), b"\xff" * part.data + read_bytes(Path(str(part.sources[0]))))


def _application_address(board: Board, env: Any) -> int | None:
    if board.boot is None:
        return None
    name = board.boot.slot
    return dict(moved_slots(env["NEURALART_SLOTS"], NAME, "NEURALART_SLOTS")).get(name, board.slots.get(name))


def _plan(source: list[Any], env: Any) -> ImagePlan:
    """What the construction variables describe.

    Raises:
        NeuralArtError: They describe none.
    """
    from neuralart.memory.image.check_image import machine_of

    found = plans.each_behind(source[1:], CompilePlan)
    name = str(env.subst(env["NEURALART_BOARD"])) or (found[0][1].board.name if found else "")
    if not name:
        raise NeuralArtError(f"{NAME}: no board", where=str(source[0]) if source else NAME, hint="set NEURALART_BOARD")
    board = env["NEURALART_REGISTRY"].board(name, NAME)
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
    )


def _outputs(env: Any, first: Any, elf: Any, plan: ImagePlan) -> list[Part]:
    stem = elf.name.rpartition(".")[0] or elf.name
    made = [
        Part(
            kind,
            "OBJCOPY",
            (first.dir.File(f"{stem}.{suffix}"),),
            (elf,),
            data=kind,
            after=(first,),
            piece=OBJCOPY,
        )
        for suffix, kind in (("bin", "binary"), ("hex", "ihex"))
    ]
    if plan.application is not None and plan.board.boot is not None:
        header = plan.board.boot.header
        made.append(
            Part(
                "application",
                "IMAGE",
                (first.dir.File("application.bin"),),
                made[0].targets,
                _write_application,
                header,
                str(header),
                write=("application", "application", plan.application),
                piece=APPLICATION,
            )
        )
    return made


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add what the board boots from: binary, Intel HEX, the application's image.

    Raises:
        SCons.Errors.UserError: A variable has a wrong value, or there is no program.
    """
    if not source or plans.behind(source[:1], CompilePlan) is not None:
        raise NeuralArtError(f"{NAME} takes a linked program, then the networks in it", where=str(target[0]))
    plan = plans.given(env, ImagePlan) or _plan(source, env)
    first, elf = target[0], source[0]
    board = plan.board
    check = Part(
        "check",
        "CHECK",
        (first,),
        (elf, *plan.facts),
        _check,
        plan,
        json.dumps([board.name, plan.machine.kind, plan.allow_reference]),
        (
            env.Value(fingerprint("memory/image/check_image.py"), name="image-check"),
            env.Value(identity(board), name=f"board {board.name}"),
        ),
    )
    return parts.emitted(env, [check, *(_outputs(env, first, elf, plan) if plan.outputs else [])])


def _format(target: Any, source: Any, env: Any, for_signature: bool) -> str:
    """``$_NEURALART_OBJCOPYFORMAT``: what objcopy makes."""
    return str(plans.of(target, Part, NAME).data)


VARIABLES = (
    *words(
        "NEURALART_IMAGE",
        "${_NEURALART_TAG}$SOURCE",
        function("NEURALART_IMAGE", parts.write, "_NEURALART_COUNTS"),
        emit,
        "`[checks the program]`",
    ),
    Variable(
        "NEURALART_OBJCOPYCOM",
        "command",
        "$OBJCOPY -O $_NEURALART_OBJCOPYFORMAT $SOURCE $TARGET",
        "What makes binary and Intel HEX.",
    ),
    Variable("NEURALART_OBJCOPYCOMSTR", "text", "OBJCOPY  $TARGET", "What is shown instead."),
    Variable("_NEURALART_OBJCOPYFORMAT", "callable", _format, "`binary` or `ihex`."),
    Variable(
        "NEURALART_APPLICATIONCOM",
        "command",
        function("NEURALART_APPLICATION", parts.write, "_NEURALART_COUNTS"),
        "What makes `application.bin`.",
        "`[puts room for the header in front]`",
    ),
    Variable("NEURALART_APPLICATIONCOMSTR", "text", "${_NEURALART_TAG}$TARGET", "What is shown instead."),
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
            OBJCOPY: process("NEURALART_OBJCOPY"),
            APPLICATION: lazily("NEURALART_APPLICATION"),
        }
        env["BUILDERS"][NAME] = parts.PartsBuilder(NAME, "NEURALART_IMAGEEMITTER", pieces, suffix=".json")

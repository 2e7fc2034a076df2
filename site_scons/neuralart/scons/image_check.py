"""``env.CheckImage(...)``: a linked image is checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import SCons.Errors
import SCons.Node.FS

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.scons.builders import image as builder
from neuralart.scons.builders import plans
from neuralart.scons.builders.image import ImagePlan
from neuralart.scons.builders.variables import carried
from neuralart.scons.compiled import Compiled, CpuNetworkNodes, NetworkNodes
from neuralart.scons.failures import at_read_time
from neuralart.scons.layout import board_of


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

    Args:
        env: Any environment of the tool.
        target: The report, relative to the top folder.
        image: ELF file or binary.
        board: The board it is for.
        machine: Where it executes.
        networks: What is in it.
        allow_reference: The reference runtime is wanted on silicon.

    Returns:
        The report (JSON), written only if there is no error.
    """
    base = env["NEURALART_REGISTRY"].base
    facts = tuple(network.facts for network in networks)
    plan = ImagePlan(board, machine, facts, allow_reference, outputs=False, application=None)
    own = carried(env, base, builder.VARIABLES)
    return base.NeuralArtImage(f"#{target}", [image], **own, **{plans.GIVEN: plan})[0]


_KEYWORDS = ("machine", "target", "allow_reference_on_hardware")


@at_read_time
def check_method(
    env: Any,
    image: Any,
    *networks: Any,
    **options: Any,
) -> Any:
    """``env.CheckImage(elf, net, ...)``: can this image start on the board of its networks, with them in it?

    Args:
        env: The construction environment.
        image: A node or a name: ELF file or binary.
        *networks: What ``env.Network`` returned.
        **options: ``machine``: ``silicon`` (default), ``unicorn`` or ``qemu``. ``target``: the report; by default
            ``NAME.check.json`` beside the image. ``allow_reference_on_hardware``: a network of the reference runtime on
            silicon is meant.

    Returns:
        The report; the build fails if the image has an error.

    Raises:
        SCons.Errors.UserError: No network, networks for different boards, or the board has no such machine.
    """
    from neuralart.memory.image.check_image import machine_of

    if not networks or not all(isinstance(network, (NetworkNodes, CpuNetworkNodes)) for network in networks):
        raise SCons.Errors.UserError("CheckImage takes an image and what Network returned, one or more")
    chosen: list[Compiled] = list(networks)
    board = board_of(chosen)
    for keyword in options:
        if keyword not in _KEYWORDS:
            raise NeuralArtError(f"unknown option '{keyword}'", where="CheckImage", hint=nearest(keyword, _KEYWORDS))
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

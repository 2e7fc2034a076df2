"""``neuralart lint`` on what was built."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuralart import boards, config
from neuralart.config.types import Budgets
from neuralart_insight.lint import engine, gather
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


def look(project: Project, variant: str, limits: Budgets | None = None, **changes) -> tuple[gather.Bag, list]:
    """Facts and findings of a variant; paths are the project's own."""
    path = project.path("variants.yaml")
    file = config.read(path, "variants.yaml")
    chosen = file.variant(variant)
    if limits is not None:
        (network,) = chosen.networks
        changes["networks"] = (replace(network, budgets=limits),)
    bag = gather.Bag()
    board, note = gather.add_variant(bag, file, replace(chosen, **changes), path, project.path("build"))
    assert note == ""
    return bag, engine.ordered([*bag.findings, *engine.lint(bag.facts(board))])


@pytest.mark.parametrize("variant", ["digits-n6", "digits-an547"])
def test_what_this_repository_builds_has_no_findings(template: Project, variant: str) -> None:
    bag, found = look(template, variant)
    assert [str(finding) for finding in found] == []
    (network,) = bag.facts(None).networks
    assert network.runtime == "neuralart" and network.guard == (0, 1, 0, 0)
    (flash,) = [pool for pool in network.pools if pool.weights]
    assert (flash.used, network.declared) == (network.raws[0].bytes, (flash.fname,))
    assert ".mpool:" in flash.where, "the pool file decided its address"


def test_our_own_sources_have_no_errors(template: Project) -> None:
    bag, _ = look(template, "digits-n6")
    # What becomes a part of relocatable models is linked by another script.
    folders = ("app", "boards", "runtime/include", "runtime/kernels", "runtime/memory", "runtime/ll_aton_runtime.c")
    gather.add(bag, [template.path(f"firmware/{name}") for name in folders])
    assert len(bag.sources) > 50 and bag.scripts and bag.runtimes
    found = engine.lint(bag.facts(boards.load("stm32n6570-dk")))
    assert not engine.failed(found, strict=True), "\n".join(map(str, found))


def test_limits(template: Project) -> None:
    _, kept = look(template, "digits-n6", Budgets(max_weights=1 << 20, forbidden_pools=("hyperRAM",)))
    assert [str(finding) for finding in kept] == []
    _, broken = look(template, "digits-n6", Budgets(max_weights=16, max_sw_epochs=0, min_offload=1))
    assert [(finding.rule, finding.level, finding.message.split(":")[0]) for finding in broken] == [
        ("budget", "error", key) for key in ("max_sw_epochs", "max_weights", "min_offload")
    ]


def test_left_over_initializers(built: Project) -> None:
    folder = built.network_folder("digits-n6")
    (folder / "digits_atonbuf.AXISRAM5.raw").write_bytes(b"weights")
    _, found = look(built, "digits-n6")
    assert [finding.rule for finding in found] == ["undeclared-raw"]
    assert "initializers: [xSPI2, AXISRAM5] declares it" in found[0].hint

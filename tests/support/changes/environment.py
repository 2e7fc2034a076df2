"""Rows: what is around a description: variables, options, installations, other targets."""

from __future__ import annotations

from collections.abc import Iterator

from support import fake_stedgeai
from support.changes.asked import site
from support.changes.rows import row
from support.changes.sources import variants
from support.changes.tree import MAIN, OLD, VARIANTS, Tree

_STRATEGY = """
from neuralart.plugins import register

class Noted:
    way = "flash"
    def files(self, network, pool):
        return (f"{network}.{pool}.note",)
    def make(self, constants):
        return {f"{constants.network}.{constants.pool}.note": b"first"}

register("strategies", "noted", Noted(), protocol=1)
"""


@row("601", "variables that decide nothing", counts=False)
def neutral(tree: Tree) -> Iterator[None]:
    yield
    words = {"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "CFLAGS": "-O0", "SOURCE_DATE_EPOCH": "1"}
    tree.env |= {**words, "CPATH": "/nonexistent", "GITHUB_SHA": "1", "HOSTNAME": "x", "TERM": "dumb"}


@row("602", "VERBOSE=1", counts=False)
def verbose(tree: Tree) -> Iterator[None]:
    yield
    tree.words += ["VERBOSE=1"]


@row("603", "one job instead of two, and a umask", counts=False)
def jobs(tree: Tree) -> Iterator[None]:
    yield
    tree.jobs, tree.umask = 1, 0o077


@row("604", "SCONSFLAGS that only shows something else", counts=False)
def flags(tree: Tree) -> Iterator[None]:
    yield
    tree.env["SCONSFLAGS"] = "-k --no-color"


@row("605", "main.c changes, another variant is built meanwhile")
def another_variant(tree: Tree) -> Iterator[None]:
    other = "  digits-os: {board: stm32n6570-dk, network: digits, optimization: -O1}\n"
    tree.write("variants.yaml", VARIANTS + other, OLD)
    tree.age(MAIN)
    yield
    tree.edit(MAIN, keep=True)
    assert tree.scons("digits-os").code == 0


@row("606", "HOME leads to another home, with a site_init.py")
def home(tree: Tree) -> Iterator[None]:
    site(tree, "../outside/.scons/site_scons", "1")
    yield
    tree.env["HOME"] = str(tree.outside)


@row("607", "--site-dir by SCONSFLAGS")
def site_dir(tree: Tree) -> Iterator[None]:
    site(tree, "../outside/more", "1")
    yield
    tree.env["SCONSFLAGS"] = f"--site-dir={tree.path('../outside/more')}"


def _program(tree: Tree) -> None:
    tree.path("../outside/roots").mkdir()
    tree.env |= {"NEURALART_STEDGEAI_ROOTS": str(tree.path("../outside/roots"))}
    variants(tree, network="compiler: auto")


@row("608", "compiler: auto, an ST Edge AI Core comes into its usual folder")
def installation_comes(tree: Tree) -> Iterator[None]:
    _program(tree)
    yield
    fake_stedgeai.install(tree.path("../outside/roots/4.0"))


@row("609", "compiler: auto, STEDGEAI_CORE_DIR is set")
def installation_is_named(tree: Tree) -> Iterator[None]:
    _program(tree)
    fake_stedgeai.install(tree.path("../outside/mine"))
    yield
    tree.env["STEDGEAI_CORE_DIR"] = str(tree.path("../outside/mine"))


@row("610", "compiler: auto, an ST Edge AI Core comes into a folder of PATH")
def installation_on_path(tree: Tree) -> Iterator[None]:
    _program(tree)
    tree.path("../outside/bin").mkdir()
    tree.env["PATH"] = f"{tree.path('../outside/bin')}:{tree.env['PATH']}"
    yield
    root = fake_stedgeai.install(tree.path("../outside/mine"))
    (program,) = root.glob("Utilities/*/stedgeai")
    tree.link("../outside/bin/stedgeai", str(program))


def _installed(tree: Tree) -> None:
    """A package with a strategy, as pip leaves it, in a folder of PYTHONPATH."""
    info = "../outside/site/noted-1.0.dist-info"
    tree.write("../outside/site/noted_plugin.py", _STRATEGY, OLD)
    tree.write(f"{info}/METADATA", "Metadata-Version: 2.1\nName: noted\nVersion: 1.0\n", OLD)
    tree.write(f"{info}/entry_points.txt", "[neuralart.strategies]\nnoted = noted_plugin\n", OLD)
    tree.write(f"{info}/RECORD", "noted_plugin.py,,\n", OLD)
    tree.env["PYTHONPATH"] = str(tree.path("../outside/site"))
    variants(tree, network="strategies: {xSPI2: noted}")


@row("611", "plugin of an installed package: other size, time of 2020 kept")
def installed_plugin(tree: Tree) -> Iterator[None]:
    _installed(tree)
    yield
    tree.edit("../outside/site/noted_plugin.py", 'b"first"', 'b"the second"', keep=True)


@row("612", "an installed package with a plugin goes")
def installed_plugin_goes(tree: Tree) -> Iterator[None]:
    _installed(tree)
    yield
    tree.remove("../outside/site/noted-1.0.dist-info")


@row("613", "a plugin of the project comes, of a name that the package has: refused", counts=None)
def plugin_comes(tree: Tree) -> Iterator[None]:
    yield
    text = _STRATEGY.replace('"noted"', '"flash"')
    tree.write("site_scons/neuralart_plugins/noted.py", text, OLD)


@row("614", "an unknown variable on the command line")
def unknown_variable(tree: Tree) -> Iterator[None]:
    yield
    tree.words += ["VERBOES=1"]


@row("615", "a target that is unknown, beside the variant")
def unknown_target(tree: Tree) -> Iterator[None]:
    yield
    tree.words += ["digits-n7"]


@row("616", "the tree's own folder site_scons/neuralart_plugins comes, empty", counts=False)
def plugin_folder(tree: Tree) -> Iterator[None]:
    yield
    tree.path("site_scons/neuralart_plugins").mkdir()


@row("617", "NEURALART_CACHE: a remote cache that nobody serves", counts=False)
def no_cache(tree: Tree) -> Iterator[None]:
    yield
    tree.env["NEURALART_CACHE"] = "http://127.0.0.1:9/"

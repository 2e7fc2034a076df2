"""Rows: pools, boards, profiles, variants.yaml, plugins and our own package get other contents, with any time."""

from __future__ import annotations

from collections.abc import Iterator

from support.changes.rows import row
from support.changes.sources import variants
from support.changes.tree import OLD, VARIANTS, Tree

POOLS = "models/digits/pools/table.mpool"
_DATA = "site_scons/neuralart/boards/data"


@row("12", "pool file: another address, time of 2020 kept")
def pools(tree: Tree) -> Iterator[None]:
    tree.copy("models/digits/pools/second.mpool", POOLS)
    variants(tree, network=f"mpool: {POOLS}")
    tree.age(POOLS)
    yield
    tree.edit(POOLS, "0x70500000", "0x70400000", keep=True)


@row("13", "variants.yaml: a define, same size, time of 2020 kept", sample=True)
def variants_yaml(tree: Tree) -> Iterator[None]:
    variants(tree, variant="defines: [TORTURE=1]")
    tree.age("variants.yaml")
    yield
    tree.edit("variants.yaml", "TORTURE=1", "TORTURE=2", keep=True)


def _boards(tree: Tree, base: str = "stm32n6570-dk") -> None:
    tree.write("boards/mine.yaml", f"schema: 1\nbase: {base}\ntitle: Board A\n", OLD)
    text = VARIANTS.replace("board: stm32n6570-dk", "board: mine")
    tree.write("variants.yaml", text + "boards: [boards/mine.yaml, boards/under.yaml]\n", OLD)
    tree.write("boards/under.yaml", "schema: 1\nbase: stm32n6570-dk\nslots: {application: 0x70100000}\n", OLD)


@row("116", "own board file: time of 2020 kept")
def board(tree: Tree) -> Iterator[None]:
    _boards(tree)
    tree.write("boards/mine.yaml", "schema: 1\nbase: stm32n6570-dk\nslots: {application: 0x70100000}\n", OLD)
    yield
    tree.edit("boards/mine.yaml", "0x70100000", "0x70110000", keep=True)


@row("117", "base: of an own board file: time of 2020 kept")
def board_base(tree: Tree) -> Iterator[None]:
    _boards(tree, "under")
    yield
    tree.edit("boards/under.yaml", "0x70100000", "0x70110000", keep=True)


@row("118", "board file of the package: time of 2020 kept")
def board_of_the_package(tree: Tree) -> Iterator[None]:
    tree.age(f"{_DATA}/stm32n6570-dk.yaml")
    yield
    tree.edit(f"{_DATA}/stm32n6570-dk.yaml", "application: 0x70100000", "application: 0x70110000", keep=True)


@row("119", "profile: another pool file is named, time of 2020 kept")
def profile(tree: Tree) -> Iterator[None]:
    for name, address in (("one", "0x70500000"), ("two", "0x70400000")):
        tree.copy("models/digits/pools/second.mpool", f"profiles/{name}.mpool")
        tree.edit(f"profiles/{name}.mpool", "0x70500000", address)
    text = '{"Globals": {}, "Profiles": {"default": {"memory_pool": "./one.mpool", "options": "--all-buffers-info"}}}'
    tree.write("profiles/mine.json", text, OLD)
    variants(tree, network="profile: default@profiles/mine.json")
    yield
    tree.edit("profiles/mine.json", "one.mpool", "two.mpool", keep=True)


@row("120", "profile: an option goes, time of 2020 kept")
def profile_option(tree: Tree) -> Iterator[None]:
    tree.copy("models/digits/pools/second.mpool", "profiles/one.mpool")
    text = '{"Globals": {}, "Profiles": {"default": {"memory_pool": "./one.mpool", "options": "--all-buffers-info"}}}'
    tree.write("profiles/mine.json", text, OLD)
    variants(tree, network="profile: default@profiles/mine.json")
    yield
    tree.edit("profiles/mine.json", "--all-buffers-info", "                  ", keep=True)


@row("121", "golden vectors: another output, time of 2020 kept, run- is asked")
def vectors(tree: Tree) -> Iterator[None]:
    tree.age("models/digits/vectors")
    tree.words = ["run-digits-n6"]
    yield
    tree.flip("models/digits/vectors/outputs.bin")


@row("122", "names of classes in a file: time of 2020 kept, app_config.h")
def class_names(tree: Tree) -> Iterator[None]:
    tree.write("labels.txt", "".join(f"digit {number}\n" for number in range(10)), OLD)
    one = "use_case: image_classification, generation: h7, color_mode: grayscale, class_names_file: labels.txt"
    variants(tree, network=f"app_config: {{{one}}}")
    yield
    tree.edit("labels.txt", "digit 7", "Digit 7", keep=True)


_PLUGIN = '''"""A strategy that writes one file more."""
from neuralart.plugins import register
from neuralart_plugins import _words

class Noted:
    way = "flash"
    def files(self, network, pool):
        return (f"{network}.{pool}.note",)
    def make(self, constants):
        return {f"{constants.network}.{constants.pool}.note": b"first " + _words.MORE}

register("strategies", "noted", Noted(), protocol=1)
'''


def _plugin(tree: Tree) -> None:
    tree.write("site_scons/neuralart_plugins/noted.py", _PLUGIN, OLD)
    tree.write("site_scons/neuralart_plugins/_words.py", 'MORE = b"words"\n', OLD)
    variants(tree, network="strategies: {xSPI2: noted}")


@row("123", "plugin of the project: other size, time of 2020 kept")
def plugin(tree: Tree) -> Iterator[None]:
    _plugin(tree)
    yield
    tree.edit("site_scons/neuralart_plugins/noted.py", "first ", "second ", keep=True)


@row("124", "helper of a plugin: other size, time of 2020 kept")
def plugin_helper(tree: Tree) -> Iterator[None]:
    _plugin(tree)
    yield
    tree.edit("site_scons/neuralart_plugins/_words.py", "words", "other words", keep=True)


@row("125", "code of the package: other size, time of 2020 kept")
def package(tree: Tree) -> Iterator[None]:
    tree.age("site_scons")
    yield
    tree.edit("site_scons/neuralart/text/ihex.py", "\n_ROW = 32", "\n_ROW = 8", keep=True)


@row("136", "code of the reference compiler: other size, time of 2020 kept")
def reference_compiler(tree: Tree) -> Iterator[None]:
    tree.age("site_scons")
    yield
    tree.edit("site_scons/neuralart_reference/planning/lifetimes.py", "\nALIGN = 16", "\nALIGN = 128", keep=True)


@row("126", "variants.yaml: one key more, with an old time")
def new_key(tree: Tree) -> Iterator[None]:
    tree.age("variants.yaml")
    yield
    variants(tree, variant="optimization: -Os")
    tree.age("variants.yaml")


@row("127", "variants.yaml: default names another variant, nothing is asked by name")
def default(tree: Tree) -> Iterator[None]:
    other = "  digits-os: {board: stm32n6570-dk, network: digits, optimization: -O1}\n"
    tree.write("variants.yaml", VARIANTS + other, OLD)
    tree.words = []
    yield
    tree.edit("variants.yaml", "default: digits-n6", "default: digits-os", keep=True)

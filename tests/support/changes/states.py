"""Rows: what builds remember is damaged, or comes from another time; builds are killed, or run at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from support.changes.programs import program
from support.changes.rows import Row, add, row
from support.changes.sources import weights
from support.changes.tree import DATABASE, MAIN, OLD, OTHER, TEXT, THIRD, Tree

STAMPS = "build/.stamps.json"


def hidden(tree: Tree) -> list[str]:
    """Files of the build folder that remember something."""
    paths = (path for path in sorted(tree.path("build").glob(".*")) if path.is_file())
    return [path.relative_to(tree.root).as_posix() for path in paths]


def _cut(tree: Tree, name: str) -> None:
    data = tree.path(name).read_bytes()
    tree.write(name, data[: len(data) // 2])


def _damaged() -> None:
    ways: dict[str, Callable[[Tree, str], object]] = {
        "cut off": _cut,
        "empty": lambda tree, name: tree.write(name, ""),
        "of other letters": lambda tree, name: tree.write(name, bytes(range(256)) * 9),
        "gone": lambda tree, name: tree.remove(name),
    }
    numbers = iter(range(801, 900))
    for title, way in ways.items():

        def all_hidden(tree: Tree, way: Callable[[Tree, str], object] = way) -> Iterator[None]:
            yield
            tree.edit(MAIN, keep=True)
            for name in hidden(tree):
                way(tree, name)

        def signatures(tree: Tree, way: Callable[[Tree, str], object] = way) -> Iterator[None]:
            yield
            tree.edit(MAIN, keep=True)
            way(tree, DATABASE)

        add(Row(f"{next(numbers)}", f"hidden files of the build folder are {title}, main.c changes", all_hidden))
        number = "90" if title == "gone" else f"{next(numbers)}"
        add(Row(number, f".sconsign.dblite is {title}, main.c changes", signatures))


_damaged()


@row("88", ".stamps.json is cut off", counts=False)
def stamps_cut(tree: Tree) -> Iterator[None]:
    yield
    _cut(tree, STAMPS)


@row("89", "hidden files of the build folder are damaged, nothing else changes", counts=False)
def kept_answers(tree: Tree) -> Iterator[None]:
    yield
    assert tree.ask() in (True, False)
    for name in hidden(tree):
        tree.flip(name)


class Two:
    """Two states of a tree, A and B, and what they have left."""

    def __init__(self, tree: Tree, *, age: bool = False) -> None:
        self.tree, self.age = tree, age

    def keep(self, *names: str) -> None:
        """Put what A has aside."""
        for name in names:
            self.tree.copy(name, f"../outside/kept/{name}")

    def to_b(self) -> None:
        """Other sources."""
        self.tree.edit(MAIN, keep=self.age)
        weights(self.tree, OLD if self.age else None)

    def back(self, *names: str) -> None:
        """Of A, with its times."""
        for name in names:
            self.tree.copy(f"../outside/kept/{name}", name)


def _restored() -> None:
    everything = ("build", DATABASE, MAIN, "models")
    cases: dict[str, tuple[str, tuple[str, ...], bool]] = {
        "91": (".sconsign.dblite and sources of A over build B", (DATABASE, MAIN, "models"), True),
        "91b": (".sconsign.dblite of A over build B, sources of B", (DATABASE,), False),
        "92": ("build/ of A (CI cache), .sconsign.dblite and sources of B", ("build",), True),
        "92c": ("build/ and .sconsign.dblite of A, sources of B", ("build", DATABASE), True),
        "811": ("stamps of A alone, sources of A, build B", (STAMPS, MAIN, "models"), True),
        "812": ("sources of A over build B, with their old times", (MAIN, "models"), True),
        "813": ("stamps of A over build B, sources of B", (STAMPS,), False),
        "814": (
            "stamps and .sconsign.dblite of A over build B, sources of A",
            (STAMPS, DATABASE, MAIN, "models"),
            True,
        ),
        "815": ("all of A over B", everything, False),
        "816": ("build/digits-n6 of A alone", ("build/digits-n6",), True),
        "817": ("build/networks of A alone", ("build/networks",), True),
        "818": ("build/ and stamps of A, sources of B, no .sconsign.dblite", ("build",), True),
    }
    for number, (title, names, counts) in cases.items():

        def restored(tree: Tree, names: tuple[str, ...] = names, number: str = number) -> Iterator[None]:
            tree.age("firmware", "models")
            two = Two(tree, age=True)
            yield
            two.keep(*names)
            two.to_b()
            yield
            two.back(*names)
            if number == "818":
                tree.remove(DATABASE)

        add(Row(number, f"restored: {title}", restored, counts, sample=number == "92"))


_restored()


@row("92b", "restored: build/ of A by mv, .sconsign.dblite and sources of B")
def moved_back(tree: Tree) -> Iterator[None]:
    yield
    tree.copy("build", "../outside/build")
    Two(tree).to_b()
    yield
    tree.remove("build")
    tree.path("../outside/build").rename(tree.path("build"))


@row("93", "build/ is moved away, and copied back", counts=False)
def away(tree: Tree) -> Iterator[None]:
    yield
    tree.path("build").rename(tree.path("../outside/build"))
    tree.copy("../outside/build", "build")


@row("93b", "build/ is moved away and back, main.c changes meanwhile, time of 2020 kept")
def away_and_edited(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    yield
    tree.path("build").rename(tree.path("../outside/build"))
    tree.edit(MAIN, keep=True)
    tree.path("../outside/build").rename(tree.path("build"))


@row("819", "build/ is a link to a folder: to that of an older build")
def linked(tree: Tree) -> Iterator[None]:
    tree.path("build").rename(tree.path("../outside/b"))
    tree.link("build", "../outside/b")
    yield
    tree.copy("../outside/b", "../outside/a")
    Two(tree).to_b()
    yield
    tree.link("build", "../outside/a")


@row("820", "build/ and .sconsign.dblite are those of another clone with other sources")
def of_another_clone(tree: Tree) -> Iterator[None]:
    tree.age("firmware", "models")
    yield
    other = Tree(tree.base / "outside", tree.env)
    tree.copy(".", "../outside/tree")
    Two(other, age=True).to_b()
    other.build()
    for name in ("build", DATABASE):
        tree.copy(f"../outside/tree/{name}", name)
    tree.remove("../outside/tree")


# ---- killed, and at once -------------------------------------------------------------------------------------------


@row("821", "a build is killed while it compiles")
def killed(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    weights(tree)
    running = tree.start()
    running.until("main.o")
    running.kill()


@row("822", "a build is killed, then main.c and the weights are as before", counts=None)
def killed_and_back(tree: Tree) -> Iterator[None]:
    tree.age("firmware", "models")
    yield
    two = Two(tree, age=True)
    two.keep(MAIN, "models")
    two.to_b()
    running = tree.start()
    running.until("LINK")
    running.kill()
    two.back(MAIN, "models")


@row("823", "a build is killed before it has done anything")
def killed_early(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    tree.start().kill()


@row("824", "two builds at once", counts=None)
def at_once(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    first, second = tree.start(), tree.start()
    assert (first.end(), second.end()) == (0, 0), first.lines + second.lines


@row("825", "two builds at once, an edit between their beginnings", counts=None)
def at_once_and_edited(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    first = tree.start()
    first.until("main.o")
    second = tree.start()
    tree.edit(MAIN, OTHER, THIRD, keep=True)
    first.end()
    second.end()


@row("826", "a build fails, then the mistake is taken back with its old time")
def failed(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    yield
    tree.edit(MAIN, keep=True)
    tree.edit(MAIN, "int main", "int nain(", keep=True)
    assert tree.scons().code != 0
    tree.edit(MAIN, "int nain(", "int main", keep=True)


# ---- caches ----------------------------------------------------------------------------------------------------------


def _cached(tree: Tree) -> None:
    program(tree, 'value = "1"\nCacheDir("../outside/cache")')
    tree.cleared.append(tree.path("../outside/cache"))
    tree.alone = True


@row("827", "CacheDir: a bit of each entry, and the build folder goes")
def cache_damaged(tree: Tree) -> Iterator[None]:
    _cached(tree)
    tree.remove("build")
    tree.remove(DATABASE)
    yield
    entries = [path for path in sorted(tree.path("../outside/cache").glob("??/*")) if path.stat().st_size > 100]
    assert len(entries) > 20, "nothing was cached"
    for path in entries:
        tree.flip(str(path), path.stat().st_size // 2)
    tree.remove("build")


@row("828", "CacheDir: main.c changes with time of 2020 kept, and the build folder goes")
def cache_and_source(tree: Tree) -> Iterator[None]:
    _cached(tree)
    tree.age("firmware", "models")
    tree.remove("build")
    yield
    tree.edit(MAIN, TEXT, OTHER, keep=True)
    tree.remove("build")


@row("829", "the answer of the toolchain that is kept is that of another", counts=False)
def toolchain_answer(tree: Tree) -> Iterator[None]:
    yield
    name = "build/.toolchain.json"
    tree.write(name, tree.read(name).replace("12.", "99."))


@row("830", ".sconsign.dblite is read-only, main.c changes")
def read_only(tree: Tree) -> Iterator[None]:
    yield
    tree.path(DATABASE).chmod(0o444)
    tree.edit(MAIN, keep=True)

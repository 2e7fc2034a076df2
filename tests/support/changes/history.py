"""Rows: git changes the sources, also while a build runs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from support.changes.rows import row
from support.changes.sources import weights
from support.changes.tree import MAIN, OLD, Tree


def repository(tree: Tree) -> None:
    """Two branches, a and b, which differ in main.c and the weights; a is checked out."""
    tree.write(".gitignore", "build/\n.sconsign*\n__pycache__/\ncompile_commands.json\n")
    tree.git("init", "-q")
    tree.git("add", "-A")
    tree.git("commit", "-q", "-m", "a")
    tree.git("checkout", "-q", "-b", "b")
    tree.edit(MAIN)
    weights(tree)
    tree.git("commit", "-q", "-a", "-m", "b")
    tree.git("checkout", "-q", "a")


@row("15", "git checkout of another branch")
def checkout(tree: Tree) -> Iterator[None]:
    repository(tree)
    yield
    tree.git("checkout", "-q", "b")


@row("15b", "git checkout, then every file gets one old time (as mirrors do)")
def checkout_old_times(tree: Tree) -> Iterator[None]:
    repository(tree)
    tree.age("firmware", "models", "variants.yaml")
    yield
    tree.git("checkout", "-q", "b")
    tree.age("firmware", "models", "variants.yaml")


@row("16", "the branch is switched to and fro during a build", counts=None)
def to_and_fro(tree: Tree) -> Iterator[None]:
    repository(tree)
    yield
    tree.edit(MAIN, "/* The", "/* the")
    running = tree.start()
    tree.git("stash", "-q")
    tree.git("checkout", "-q", "b")
    time.sleep(0.5)
    tree.git("checkout", "-q", "a")
    running.end()


@row("16b", "the branch is switched during a build, and stays")
def switched(tree: Tree) -> Iterator[None]:
    repository(tree)
    yield
    weights(tree)
    running = tree.start()
    running.until("NETWORK")
    tree.git("checkout", "-q", "-f", "b")
    running.end()


@row("17", "git stash, a build, git stash pop")
def stash(tree: Tree) -> Iterator[None]:
    repository(tree)
    tree.edit(MAIN)
    yield
    tree.git("stash", "-q")
    yield
    tree.git("stash", "pop", "-q")


@row("301", "git stash during a build that compiles what is stashed", counts=None)
def stash_during(tree: Tree) -> Iterator[None]:
    repository(tree)
    yield
    tree.edit(MAIN)
    running = tree.start()
    running.until("main.o")
    tree.git("stash", "-q")
    running.end()


@row("302", "git reset --hard to a commit before, times set back, too")
def reset(tree: Tree) -> Iterator[None]:
    repository(tree)
    tree.git("checkout", "-q", "b")
    tree.age(MAIN, when=OLD)
    yield
    tree.git("reset", "-q", "--hard", "a")
    tree.age(MAIN, when=OLD)

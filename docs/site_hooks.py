"""Hooks of MkDocs: pages keep their paths in the repository, so that links lead where they lead there.

The site's navigation is the index, docs/README.md. What pages link to besides pages (a file, a folder of an example)
becomes a page that shows its text.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pymdownx.slugs import slugify

INDEX = "docs/README.md"
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
# What is shown of a folder; of other files only the name.
_SHOWN = {
    "": "python",  # SConstruct
    **{".py": "python", ".c": "c", ".h": "c", ".yaml": "yaml", ".toml": "toml", ".md": "markdown"},
    **{".mpool": "json", ".ld": "text"},
}
# Files of the site as they are.
_PICTURES = (".svg", ".png", ".js")
_WORKER = "https://unpkg.com/iframe-worker/shim"  # What the theme would load; ours is search_worker.js


def root(config: MkDocsConfig) -> Path:
    """The repository."""
    return Path(config.config_file_path).parent.resolve()


def links(text: str) -> list[str]:
    """Files and folders that a page links to, as written."""
    return [link for link in _LINK.findall(_FENCE.sub("", text)) if not re.match(r"[a-z]+:", link)]


@cache
def pages(top: Path) -> tuple[list[str], list[str]]:
    """Paths of the site's pages, and of files and folders that become pages."""
    todo = ["README.md", *sorted(path.relative_to(top).as_posix() for path in (top / "docs").rglob("*.md"))]
    found: list[str] = []
    shown: set[str] = set()
    while todo:
        name = todo.pop(0)
        if name in found:
            continue
        found.append(name)
        for link in links((top / name).read_text("utf-8")):
            path = (top / name).parent.joinpath(link).resolve()
            if not path.exists() or not path.is_relative_to(top):
                continue  # MkDocs reports it
            target = path.relative_to(top).as_posix()
            if path.suffix == ".md":
                todo.append(target)
            elif path.suffix not in _PICTURES:
                shown.add(target)
    return found, sorted(shown)


def navigation(index: str, others: list[str]) -> list[Any]:
    """The navigation that the index declares, and ``others`` behind it."""
    nav: list[Any] = [{"Home": ["README.md", INDEX]}]
    for title, part in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", index, re.M):
        entries: list[Any] = []
        nav.append({title.partition(":")[0]: entries})
        for heading, rows in re.findall(r"(?:\A|^### (.+)\n)((?:(?!### ).*\n?)*)", part, re.M):
            named = [str(_joined(INDEX, link)) for row in rows.splitlines() for link in links(row.split(" | ")[0])]
            if named:
                entries += [{heading: named}] if heading else named
    return [*nav, {"Files": others}] if others else nav


def _joined(page: str, link: str) -> PurePosixPath:
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / link).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return PurePosixPath(*parts)


def shown(top: Path, name: str) -> str:
    """A page with the text of a file, or of all files of a folder."""
    path = top / name
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    parts = [f"# {name}\n"]
    for file in files:
        inside = file.relative_to(path).as_posix() if path.is_dir() else ""
        if inside.startswith("build/") or "/." in f"/{inside}" or "__pycache__" in inside:
            continue
        parts.append(f"## {inside}\n" if inside else "")
        if file.suffix in _SHOWN:
            language = _SHOWN[file.suffix] if file.name != "LICENSE" else "text"
            parts.append(f"````{language}\n{file.read_text('utf-8')}````\n")
        else:
            parts.append(f"{file.stat().st_size} bytes.\n")
    return "\n".join(parts)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Navigation, and anchors as readers of Markdown give them."""
    top = root(config)
    pages.cache_clear()  # Of the site that `mkdocs serve` made before
    found, more = pages(top)
    index = (top / INDEX).read_text("utf-8")
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    nav = navigation(index, [])
    named = re.findall(r"'([^']+\.md)'", str(nav))
    if len(set(named)) != len(named):
        raise PluginError(f"{INDEX} names a page twice: {sorted(name for name in named if named.count(name) > 1)}")
    # Pages of docs that nobody names are MkDocs's to report.
    others = [name for name in found if name not in named and not name.startswith("docs/")]
    config.nav = navigation(index, [*others, *(f"{name}.md" for name in more)])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages under their paths in the repository, instead of those in docs."""
    top = root(config)
    found, more = pages(top)
    theme = [file for file in files if file.src_dir != config.docs_dir]
    pictures = sorted(path for path in (top / "docs").rglob("*") if path.suffix in _PICTURES)
    found = [*found, *(path.relative_to(top).as_posix() for path in pictures)]
    made = [File(name, str(top), config.site_dir, config.use_directory_urls) for name in found]
    made += [File.generated(config, f"{name}.md", content=shown(top, name)) for name in more]
    return Files([*theme, *made])


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The search works without a server and without a network."""
    return output.replace(_WORKER, f"{'../' * page.file.dest_uri.count('/')}docs/search_worker.js")


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    """Links to what became a page."""
    _, more = pages(root(config))

    def led(found: re.Match[str]) -> str:
        link = found[1]
        name = str(_joined(page.file.src_uri, link))
        return found[0].replace(f"({link}", f"({link}.md") if name in more else found[0]

    return _LINK.sub(led, markdown)

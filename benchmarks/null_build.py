#!/usr/bin/env python3
"""How long a build takes in which nothing, or one model, has changed: SCons against ninja and make on one graph.

    python benchmarks/null_build.py [--n 1,50,200] [--rounds 7] [--beside ninja,make] [--work FOLDER] [--keep]

For each N a tree is made with this project's sources and N variants of `models/digits`, each with a model of its own.
SCons builds it; the graph that SCons has read is then written as build.ninja and Makefile, with the same files, edges
and commands, for a copy of the tree each. All tools run in turns, the order rotated from round to round; the tables
show medians of CPU seconds (user and system, of the tool and of all that it starts), which other work on the machine
disturbs little. See benchmarks/README.md for what is real and what is not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # not a POSIX system: times in steps of some milliseconds, or none
    resource = None  # type: ignore[assignment]

REPO = Path(__file__).resolve().parents[1]
BOARD = "stm32n6570-dk"
# Of the tree: what another Python has built is not known to be intact.
PYTHON = ".venv/bin/python"
SCONS = [PYTHON, "-m", "SCons"]
# The same, and its largest memory in KiB as a file.
MEASURED = (
    "import atexit, resource; from SCons.Script import main\n"
    "said = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    "atexit.register(lambda: open('memory.txt', 'w').write(str(said())))\n"
    "main()"
)
SHOWN = re.compile(r"^(?:\[\d+\/\d+\] )?(?:NETWORK|CC|LINK|OBJCOPY|IMAGE|MEMORY|BOARD|SOURCES|SUMMARY) ", re.M)
TOOLS = ("scons", "ninja", "make")
QUICK = ("`./sconsw`, all", "its stamps alone", "scons --no-stamps, all", "scons --no-stamps, one")
REAL = (
    "Real: the graph, the network compiles, arm-none-eabi-gcc, the images. For ninja and make, the steps that SCons "
    "does in its own process (images, start-up code, tables, summary) are copies of the finished file: that favors "
    "them."
)
# As users have it: what Python has compiled stays compiled.
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
JOBS = f"-j{os.cpu_count() or 1}"


# ---- the tree


def weight_offset(model: bytes) -> int:
    """Where a weight of the model is: a byte that may change without anything else changing."""
    sys.path.insert(0, str(REPO / "site_scons"))
    from neuralart_reference.model import tflite

    path = REPO / "models" / "digits" / "digits.tflite"
    constants = [t.data for t in tflite.read(path).tensors if t.data and t.dtype == "int8"]
    largest = max(constants, key=len)
    return model.index(largest) + len(largest) // 2


def make_tree(top: Path, variants: Sequence[str]) -> None:
    """This project's own sources and N variants, each with a model of its own (one weight differs)."""
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("site_scons", "firmware"):
        shutil.copytree(REPO / folder, top / folder, ignore=ignore)
    shutil.copy2(REPO / "SConstruct", top / "SConstruct")
    (top / "models").mkdir()
    model = (REPO / "models" / "digits" / "digits.tflite").read_bytes()
    at = weight_offset(model)
    lines = ["schema: 1", "networks:"]
    for number, name in enumerate(variants):
        own = bytearray(model)
        own[at - 1], own[at - 2] = number & 0xFF, number >> 8
        (top / "models" / f"{name}.tflite").write_bytes(own)
        lines += [f"  net_{name}:", f"    model: models/{name}.tflite"]
    lines.append("variants:")
    for name in variants:
        lines += [f"  {name}:", f"    title: Variant {name}", f"    board: {BOARD}", f"    network: net_{name}"]
    (top / "variants.yaml").write_text("\n".join(lines) + "\n", "utf-8")
    add_wrapper(top)


def add_wrapper(top: Path) -> None:
    """``./sconsw``, with what it looks for to know that it has installed everything."""
    lock = "requirements-build.lock"
    for name in ("sconsw", "pyproject.toml", lock, "requirements.lock"):
        shutil.copy2(REPO / name, top / name)
    # A virtual environment as sconsw makes it, with the packages of this one.
    python = top / PYTHON
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (top / ".venv" / "lib").symlink_to(Path(sys.prefix) / "lib")
    shutil.copy2(Path(sys.prefix) / "pyvenv.cfg", top / ".venv")
    text = f'printf "%s %s" "$(cat pyproject.toml {lock} | cksum)" "$(pwd -P)"'
    state = subprocess.run(["sh", "-c", text], cwd=top, check=True, capture_output=True, text=True).stdout
    (top / ".venv" / f".{lock}.installed").write_text(state, "utf-8")


def change_model(top: Path, name: str, at: int, value: int) -> None:
    """New weights, equal quantization."""
    path = top / "models" / f"{name}.tflite"
    data = bytearray(path.read_bytes())
    data[at] = value & 0xFF
    path.write_bytes(data)


# ---- the same graph for other tools


def package_files(top: Path) -> list[str]:
    """What SCons puts into the fingerprint of the compile, as files."""
    code = "from neuralart import fingerprint as f; print('\\n'.join(map(str, f.closure(('compilers',)))))"
    words = [sys.executable, "-c", code]
    env = {**ENV, "PYTHONPATH": str(top / "site_scons")}
    listed = subprocess.run(words, cwd=top, env=env, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted(Path(line).relative_to(top).as_posix() for line in listed if line)


@dataclass(frozen=True)
class Graph:
    """What SCons has read."""

    steps: list[dict[str, list[str]]]
    aliases: dict[str, list[str]]
    package: list[str]

    @property
    def derived(self) -> int:
        return sum(len(step["targets"]) for step in self.steps)


def read_graph(top: Path) -> Graph:
    words = [*SCONS, "-Q", "-s", "--no-stamps", "-f", str(REPO / "benchmarks" / "graph_dump.py")]
    done = subprocess.run(words, cwd=top, check=True, capture_output=True, text=True)
    data = json.loads(done.stdout)
    return Graph(data["steps"], data["aliases"], package_files(top))


def command(step: dict[str, list[str]], origin: Path, top: Path) -> str:
    """One line of shell. A step that SCons does itself is a copy of its result: a process, but a cheap one."""
    if step["programs"]:
        return " && ".join(shlex.join(argv) for argv in step["programs"]).replace(str(origin), str(top))  # type: ignore[arg-type]
    return " && ".join(f"cp saved/{target} {target}" for target in step["targets"])


def is_compile(step: dict[str, list[str]]) -> bool:
    return any("compile" in argv[:4] for argv in step["programs"])


def write_ninja(graph: Graph, origin: Path, top: Path) -> None:
    def escaped(names: Sequence[str]) -> str:
        return " ".join(re.sub(r"([$ :])", r"$\1", name) for name in names)

    lines = ["rule step", "  command = $line", "  description = $out", f"build package: phony {escaped(graph.package)}"]
    for step in graph.steps:
        extra = " | package" if is_compile(step) else ""
        lines.append(f"build {escaped(step['targets'])}: step {escaped(step['needs'])}{extra}")
        lines.append("  line = " + command(step, origin, top).replace("$", "$$"))
    for name, files in graph.aliases.items():
        lines.append(f"build {name}: phony {escaped(files)}")
    lines.append(f"default {' '.join(graph.aliases)}")
    (top / "build.ninja").write_text("\n".join(lines) + "\n", "utf-8")


def write_make(graph: Graph, origin: Path, top: Path) -> None:
    def escaped(names: Sequence[str]) -> str:
        return " ".join(name.replace("$", "$$").replace(" ", "\\ ") for name in names)

    lines = [f".PHONY: all {' '.join(graph.aliases)}", f"all: {' '.join(graph.aliases)}"]
    lines += [f"package.stamp: {escaped(graph.package)}", "\ttouch $@"]
    for name, files in graph.aliases.items():
        lines.append(f"{name}: {escaped(files)}")
    for step in graph.steps:
        extra = " package.stamp" if is_compile(step) else ""
        lines.append(f"{escaped(step['targets'])} &: {escaped(step['needs'])}{extra}")
        lines.append("\t" + command(step, origin, top).replace("$", "$$"))
    (top / "Makefile").write_text("\n".join(lines) + "\n", "utf-8")
    # As if it had been made when the package was last changed: what was built since is newer.
    stamp = top / "package.stamp"
    stamp.touch()
    newest = max((top / name).stat().st_mtime_ns for name in graph.package)
    os.utime(stamp, ns=(newest, newest))


def copy_tree(origin: Path, top: Path, graph: Graph) -> None:
    """The built tree with its times, and the results of the steps that become copies."""
    shutil.copytree(origin, top, symlinks=True)
    for step in graph.steps:
        if not step["programs"]:
            for target in step["targets"]:
                (top / "saved" / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin / target, top / "saved" / target)


# ---- measuring


def children_cpu() -> float:
    """CPU seconds of all processes that this one has waited for, and of theirs."""
    if resource is None:
        times = os.times()
        return times.children_user + times.children_system
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_of(words: Sequence[str], cwd: Path, env: dict[str, str]) -> float:
    """CPU seconds of a program and of all that it started and waited for."""
    before = children_cpu()
    subprocess.run(words, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_cpu() - before


@dataclass(frozen=True)
class Tool:
    """A build tool and the tree that it works in."""

    name: str
    words: tuple[str, ...]
    top: Path

    @property
    def env(self) -> dict[str, str]:
        return {**ENV, "PYTHONPATH": str(self.top / "site_scons"), "PYTHONHASHSEED": "0"}

    def cpu(self, *targets: str) -> float:
        return cpu_of([*self.words, *targets], self.top, self.env)

    def says(self, *words: str) -> str:
        """What it prints, not measured."""
        chosen = [word for word in self.words if word not in ("-s", "--quiet")]
        done = subprocess.run([*chosen, *words], cwd=self.top, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout


def ran(tool: Tool, text: str) -> int:
    """How many steps a call ran, by what it printed."""
    if tool.name == "scons":
        return len(SHOWN.findall(text))
    if tool.name == "ninja":
        return max((int(count) for count in re.findall(r"\[(\d+)/\d+\]", text)), default=0)
    return sum(1 for line in text.splitlines() if line and not line.startswith("make"))


def alternate(cases: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median per case; every round runs all cases once, beginning with another one."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            found[name].append(cases[name]())
    return {name: statistics.median(values) for name, values in found.items()}


@dataclass(frozen=True)
class Result:
    """Figures of one N."""

    n: int
    steps: int
    derived: int
    full: dict[str, float]
    null: dict[str, float]
    change: dict[str, float]
    commands: dict[str, int]
    memory: float  # MiB
    compile: float  # CPU seconds of one compile by itself


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stat_floor(top: Path, graph: Graph) -> float:
    """CPU seconds to ask for the time of every file of the graph once."""
    names = {name for step in graph.steps for name in (*step["targets"], *step["needs"])}
    paths = [str(top / name) for name in names]
    before = time.process_time()
    for _ in range(10):
        for path in paths:
            os.stat(path)  # noqa: PTH116 - the call itself is measured
    return (time.process_time() - before) / 10


def measure(n: int, rounds: int, work: Path, beside: Sequence[str]) -> Result:
    variants = [f"v{number:04d}" for number in range(n)]
    first = variants[0]
    origin = work / f"scons-{n}"
    make_tree(origin, variants)
    scons = Tool("scons", (*SCONS, "-Q", "-s"), origin)
    say(f"N={n}: full build by SCons")
    full = {"scons": Tool("scons", (PYTHON, "-c", MEASURED, "-Q", "-s"), origin).cpu(JOBS)}
    memory = int((origin / "memory.txt").read_text("ascii")) / 1024
    graph = read_graph(origin)
    tools = [scons]
    if "ninja" in beside and shutil.which("ninja"):
        tools.append(Tool("ninja", ("ninja", "--quiet"), work / f"ninja-{n}"))
    if "make" in beside and shutil.which("make"):
        tools.append(Tool("make", ("make", "-rR", "-s"), work / f"make-{n}"))
    for tool in tools[1:]:
        copy_tree(origin, tool.top, graph)
        (write_ninja if tool.name == "ninja" else write_make)(graph, origin, tool.top)
        if tool.name == "ninja":
            # Its log of commands is empty, so it runs all of them: a full build to compare with.
            say(f"N={n}: full build by ninja")
            full["ninja"] = tool.cpu(JOBS)
            image = Path("build") / first / "firmware.bin"
            if (tool.top / image).read_bytes() != (origin / image).read_bytes():
                raise SystemExit("ninja and SCons built different images: the graphs differ")
    for tool in tools:
        if count := ran(tool, tool.says()):
            raise SystemExit(f"{tool.name}: {count} steps ran although nothing has changed")
    say(f"N={n}: {len(graph.steps)} steps, {graph.derived} derived files; measuring")
    asked: dict[str, tuple[str, ...]] = {"all": (), "one": (first,)}
    # What `./sconsw` asks, alone and with the shell in front of it.
    stamps = (PYTHON, "-I", "-S", "site_scons/neuralart/intact.py", "build")
    quick = [Tool("stamps", stamps, origin), Tool("sconsw", ("./sconsw",), origin)]
    null = alternate(
        {
            f"{tool.name} {key}": lambda t=tool, x=targets: t.cpu(*x)  # type: ignore[misc]
            for tool in (*tools, *quick)
            for key, targets in asked.items()
        },
        rounds,
    )
    null |= alternate({"scons anew": lambda: scons.cpu("--no-stamps")}, min(rounds, 3))
    null |= alternate({"program one": lambda: scons.cpu("--no-stamps", first)}, rounds)
    null["floor"] = stat_floor(origin, graph)
    at = weight_offset((REPO / "models" / "digits" / "digits.tflite").read_bytes())
    values = iter(range(1, 10_000))

    def changed(tool: Tool, targets: tuple[str, ...]) -> float:
        change_model(tool.top, first, at, next(values))
        return tool.cpu(*targets)

    change = alternate(
        {
            f"{tool.name} {key}": lambda t=tool, x=targets: changed(t, x)  # type: ignore[misc]
            for tool in tools
            for key, targets in asked.items()
        },
        rounds,
    )
    commands = {}
    for tool in tools:
        change_model(tool.top, first, at, next(values))
        commands[tool.name] = ran(tool, tool.says())
    words = [PYTHON, "-m", "neuralart", "compile", "--quiet", "-m", f"models/{first}.tflite", "--target", BOARD]
    alone = alternate({"compile": lambda: cpu_of([*words, "-o", "alone"], origin, scons.env)}, rounds)
    return Result(n, len(graph.steps), graph.derived, full, null, change, commands, memory, alone["compile"])


def start_up(rounds: int) -> dict[str, float]:
    code = "import neuralart"
    cases = {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`python -c 'import neuralart'`": [sys.executable, "-c", code],
        "`neuralart --help`": [sys.executable, "-m", "neuralart", "--help"],
        "`neuralart compile --help`": [sys.executable, "-m", "neuralart", "compile", "--help"],
        "`scons --version`": [sys.executable, "-m", "SCons", "--version"],
    }
    for tool in ("ninja", "make"):
        if shutil.which(tool):
            cases[f"`{tool} --version`"] = [tool, "--version"]
    env = {**ENV, "PYTHONPATH": str(REPO / "site_scons")}
    return alternate({name: lambda w=words: cpu_of(w, REPO, env) for name, words in cases.items()}, rounds)  # type: ignore[misc]


# ---- the report


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def seconds(values: dict[str, float], name: str) -> str:
    return f"{values[name]:.3f}" if name in values else "-"


def goals(results: Sequence[Result], starts: dict[str, float]) -> list[list[str]]:
    """What is aimed at, and how far it is: a row each."""
    version = starts["`scons --version`"]
    rows = []

    def row(what: str, goal: str, value: float, limit: float, unit: str = "s") -> None:
        said = "met" if value <= limit else f"missed by {value - limit:.3f} {unit} ({value / limit:.1f} times)"
        rows.append([what, goal, f"{value:.3f} {unit}".strip(), said])

    for r in results:
        few = f"{r.n} variant" + ("s" if r.n > 1 else "")
        for name, quick in (("`./sconsw`", "sconsw all"), ("of it, the stamps", "stamps all")):
            if r.n == 1:
                row(f"nothing changed, {few}: {name}", "0.030 s", r.null[quick], 0.03)
            elif "ninja all" in r.null:
                ratio = r.null[quick] / r.null["ninja all"]
                row(f"nothing changed, {few}: {name} / ninja", "1.5", ratio, 1.5, "")
        over = r.null["scons one"] - version
        row(f"nothing changed, one of {few} asked: scons over `scons --version`", "0.100 s", over, 0.1)
        if "ninja" in r.full:
            row(f"everything built, {few}: scons / ninja", "0.9", r.full["scons"] / r.full["ninja"], 0.9, "")
        over = r.change["scons all"] - r.compile
        row(f"one model of {few} changed, all asked: scons over its compile", "0.200 s", over, 0.2)
        row(f"everything built, {few}: memory of SCons", "60 MiB", r.memory, 60, "MiB")
    return rows


def version(words: Sequence[str]) -> str:
    try:
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "not installed"
    return next((m.group() for m in re.finditer(r"\d+(?:\.\d+)+", text)), "?")


def report(results: Sequence[Result], starts: dict[str, float], rounds: int) -> str:
    versions = {
        "SCons": version([sys.executable, "-m", "SCons", "--version"]),
        "ninja": version(["ninja", "--version"]),
        "make": version(["make", "--version"]),
        "Python": platform.python_version(),
    }
    used = ", ".join(f"{name} {text}" for name, text in versions.items())
    parts = [
        f"CPU seconds (user + system, all processes), medians of {rounds} rounds in turns. {used}; "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores.",
        REAL,
    ]
    columns = [f"{tool} {key}" for key in ("all", "one") for tool in TOOLS]
    titles = [f"{tool}, {text}" for text in ("all", "one asked") for tool in TOOLS]
    rows = []
    for r in results:
        figures = [
            seconds(r.null, name) for name in (*columns, "sconsw all", "stamps all", "scons anew", "program one")
        ]
        rows.append([str(r.n), str(r.steps), str(r.derived), *figures, f"{r.null['floor']:.4f}"])
    parts.append("### Goals")
    parts.append(table(["what", "goal", "measured", "result"], goals(results, starts)))
    parts.append("### Nothing changed")
    parts.append(table(["variants", "steps", "derived files", *titles, *QUICK, "stat of every file"], rows))
    rows = []
    for r in results:
        counts = " / ".join(str(r.commands.get(tool, "-")) for tool in TOOLS)
        rows.append([str(r.n), *(seconds(r.change, name) for name in columns), counts])
    parts.append("### One model changed (weights, equal quantization), its compile included")
    parts.append(table(["variants", *titles, f"steps run: {' / '.join(TOOLS)}"], rows))
    parts.append(f"### Everything built (once, {JOBS})")
    full = [[str(r.n), *(seconds(r.full, tool) for tool in TOOLS[:2])] for r in results]
    parts.append(table(["variants", *TOOLS[:2]], full))
    parts.append("### Start")
    parts.append(table(["command", "CPU s"], [[name, f"{value:.3f}"] for name, value in starts.items()]))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", default="1,50,200", help="numbers of variants, with commas")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", default="ninja,make", help="what SCons is compared with; empty: nothing")
    parser.add_argument("--work", type=Path, help="an empty folder to work in; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="leave the trees there")
    args = parser.parse_args()
    work = args.work or Path(tempfile.mkdtemp(prefix="neuralart-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    if any(work.iterdir()):
        parser.error(f"{work} is not empty")
    try:
        starts = start_up(max(args.rounds, 7))
        results = []
        for n in (int(text) for text in args.n.split(",")):
            results.append(measure(n, args.rounds, work, args.beside.split(",")))
            if not args.keep:
                for tree in work.iterdir():
                    shutil.rmtree(tree)
        print(report(results, starts, args.rounds))
    finally:
        if not args.keep:
            shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

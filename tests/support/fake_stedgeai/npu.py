"""The Neural-ART flow: profile and pools in, the documented set of files out."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

from support.fake_stedgeai import failures
from support.fake_stedgeai.commands import Failed, Job, progress, say
from support.fake_stedgeai.placement import Placed, Pool, place, read_pools

_UNIT = {"BYTES": 1, "KBYTES": 1 << 10, "MBYTES": 1 << 20}
_KNOWN = ("--native-float", "--mvei", "--cache-maintenance", "--Ocache-opt", "--enable-virtual-mem-pools", "--Os", "-M")
_KNOWN += (
    "--enable-epoch-controller",
    "--csv-file",
    "-A",
    "--Oauto",
    "--Omax-ca-pipe",
    "--Oalt-sched",
    "--Oauto-sched",
)
_KNOWN += ("--optimization", "-O", "-O0", "-O1", "-O2", "-O3", "--mapping-recap", "--all-buffers-info", "-Os")
_KNOWN += ("--num-ops-info", "--ec-single-epoch", "--no-hw-sw-parallelism")
_DEFAULT = "--native-float --cache-maintenance --Ocache-opt --enable-virtual-mem-pools --Os --Oauto-sched"
_BUILT_IN = {
    "octoFlash": ("xSPI2", 0x71000000, 112 << 20, "ACC_READ"),
    "npuRAM6": ("AXISRAM6", 0x34350000, 448 << 10, "ACC_WRITE"),
    "npuRAM5": ("AXISRAM5", 0x342E0000, 448 << 10, "ACC_WRITE"),
}


def _profile(job: Job) -> None:
    """Find options and pools, complain as the tool does."""
    argument = job.given["--st-neural-art"]
    name, at, file = argument.partition("@")
    if not at:
        if argument and not argument.startswith("profile-"):
            raise Failed(f"E102(CliArgumentError): profile {argument} not found")
        job.options = shlex.split(_DEFAULT)
        job.mpool = f"{job.root}/Utilities/stm32n6.mpool"
        job.pools = [Pool(fname, name, *rest) for name, (fname, *rest) in _BUILT_IN.items()]
        return
    try:
        job.profile = json.loads(Path(file).read_bytes())["Profiles"][name]
    except (OSError, ValueError, KeyError) as error:
        raise Failed(f"E102(CliArgumentError): profile {argument}: {error!r}") from None
    known = {"memory_pool", "options", "memory_desc" if job.key < "2.2" else "machine_desc"}
    other = [key for key in job.profile if key not in known]
    if other:
        say(f"WARNING: Unsupported keys in the current profile {name} are ignored: {', '.join(other)}")
    folder = Path(file).absolute().parent
    for key in ("memory_desc", "machine_desc"):
        if key in job.profile and not (folder / job.profile[key]).is_file():
            raise Failed(f"E103(CliRuntimeError): {job.profile[key]} not found")
    job.mpool = str(folder / job.profile["memory_pool"])
    job.options = shlex.split(job.profile.get("options", ""))
    try:
        job.prefix, job.pools = read_pools(json.loads(Path(job.mpool).read_text("ascii")), _UNIT)
    except (OSError, ValueError, KeyError) as error:
        raise Failed(f"E103(CliRuntimeError): Error calling the Neural Art compiler - {error!r}") from None


def has(job: Job, option: str) -> bool:
    return option in job.options or option in job.given


def _atonn(job: Job, inner: str) -> str:
    """The command line of the compiler as it is shown."""
    base = Path(job.mpool).stem
    words = [f"{job.root}/Utilities/linux/atonn", "-i", f"{job.out}/{job.exported}.onnx"]
    words += ["--json-quant-file", f"{job.out}/{job.exported}_Q.json", "-g", f"{job.name}.c"]
    words += ["--load-mdesc", f"{job.root}/Utilities/configs/stm32n6.mdesc", "--load-mpool", job.mpool]
    words += ["--save-mpool-file", f"{inner}/{base}.mpool", "--out-dir-prefix", f"{inner}/"]
    words += ["--network-name", job.symbol] if job.key >= "3" or "--name" in job.given else []
    return " ".join(
        [*words, *job.options, "--output-info-file", "c_info.json", *(["--generate-stai"] if job.key >= "3" else [])]
    )


def _compile(job: Job, inner: str) -> Placed:
    command = _atonn(job, inner)
    say(f" >>>> EXECUTING NEURAL ART COMPILER\n   {command}")
    progress(52, 104)
    said = failures.COMPILER.get(job.failure, "")
    if not (job.out + job.ws).isascii():
        said = failures.COMPILER["signo22"]
    unknown = next((word for word in job.options if word.startswith("-") and word.split("=")[0] not in _KNOWN), "")
    if unknown:
        said = f"Error: unknown option {unknown}"
    if not said:
        placed = place(job, has(job, "--enable-virtual-mem-pools"))
        if placed.missing:
            said = f"total bytes left unallocated={placed.missing}"
    if said:
        say(failures.shell_block(command, said))
        raise Failed(failures.compiler_failure(job.failure))
    say(" <<<< DONE EXECUTING NEURAL ART COMPILER")
    return placed


def run(job: Job) -> None:
    from support.fake_stedgeai import info, sources

    _profile(job)
    inner = f"{job.ws}/neural_art__{job.name}"
    Path(inner).mkdir(parents=True, exist_ok=True)
    onnx = b"\x08\x08\x12\x04fake" + hashlib.sha256(job.data).digest()
    write(job.out, f"{job.exported}.onnx", onnx)
    write(job.out, f"{job.exported}_Q.json", info.quantization(job, onnx))
    placed = _compile(job, inner)
    controller = has(job, "--enable-epoch-controller")
    if controller:
        say(" >>>> EXECUTING EPOCH_CONTROLLER POST_PROCESSING\n <<<< DONE EXECUTING EPOCH_CONTROLLER POST_PROCESSING")
    files = sources.files(job, placed, controller)
    for pool in job.pools:
        write(inner, f"{job.prefix}.{pool.fname}.raw", placed.raws.get(pool.fname, b""))
    for fname, data in placed.raws.items():
        form = next(pool for pool in job.pools if pool.fname == fname).fformat
        stem = f"{job.name}_{job.prefix}.{fname}"
        if form == "FORMAT_C":
            files[f"{stem}.c"] = sources.as_code(job, placed, fname)
        else:
            files[f"{stem}.raw" if form == "FORMAT_RAW" else f"{stem}.hex"] = (
                data if form == "FORMAT_RAW" else data.hex()
            )
    files[f"{job.name}_c_info.json"] = info.c_info(job, placed, controller)
    _spoil(job, files)
    write(inner, "atonn_options.ini", f"# Tool: {job.root}/atonn\n# executed from dir {Path.cwd()}\n\nmvei=true\n")
    write(inner, Path(job.mpool).name, "{}\n")
    if "--csv-file" in job.options:
        csv = job.options[job.options.index("--csv-file") + 1]
        write(inner, csv if csv.endswith(".csv") else f"{csv}.csv", info.csv(job, placed))
    for name, data in files.items():
        write(job.out, name, data)
    _finish(job, placed, controller, files)


def _spoil(job: Job, files: dict) -> None:
    """Faults of runs that end well."""
    name = job.name
    if job.failure == "no-c":
        del files[f"{name}.c"]
    elif job.failure == "no-cinfo":
        del files[f"{name}_c_info.json"]
    elif job.failure == "bad-cinfo":
        files[f"{name}_c_info.json"] = '{"json_schema_version": "2.0", "memory_pools": 5}'
    elif job.failure == "no-raw":
        for file in [file for file in files if file.endswith(".raw")]:
            del files[file]
    elif job.failure == "surprise":
        files["notes.txt"] = "made by a new version\n"
        files[f"{name}_more.h"] = "#define MORE 1\n"
    elif job.failure == "cut-off":
        files[f"{name}.c"] = files[f"{name}.c"][: files[f"{name}.c"].index("ll_atonn_rt_epoch_block_array") - 200]
    elif job.failure == "float-layers":
        say("".join(f"WARNING: norm_{n} is not quantized\n" for n in range(7)))


def _finish(job: Job, placed: Placed, controller: bool, files: dict) -> None:
    from support.fake_stedgeai import texts

    say(texts.summary(job))
    say("Computing AI RT data/code size (target=stm32n6npu)..")
    if job.failure == "sizes":
        say(failures.shell_block("arm-none-eabi-gcc -mthumb x.c", "sh: arm-none-eabi-gcc: not found"))
    body = texts.body(job, placed, controller)
    say(body)
    listed = [name for name in files if not name.endswith("_c_info.json") or job.key >= "3"]
    listed += [f"{job.exported}.onnx", f"{job.exported}_Q.json"]
    rule = "-" * (len(job.out) + 40)
    say(f" Generated files ({len(listed)})\n {rule}\n" + "".join(f" {job.out}/{name}\n" for name in listed))
    if job.command == "generate" and job.key < "4":
        write(job.out, "LICENSE.txt", "A made-up license.\n")
    if "--no-report" not in job.given and job.failure != "no-report":
        report = f"{job.name}_{job.command}_report.txt"
        say(f"Creating txt report file {job.out}/{report}")
        write(job.out, report, texts.report(job, body))


def write(folder: str, name: str, data: bytes | str) -> None:
    Path(folder, name).write_bytes(data.encode() if isinstance(data, str) else data)

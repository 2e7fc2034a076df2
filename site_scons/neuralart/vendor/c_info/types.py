"""What a ``c_info.json`` says (schema 2.0, ST Edge AI Core 2.0 to 4.x, Neural-ART and CPU targets)."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuralart.vendor.c_info.graph import Access, Blob, Estimate, Execution, Graph, InfoNode, Metric
from neuralart.vendor.core_version import CoreVersion

NPU, CPU, RESULTS = "npu", "cpu", "results"


@dataclass(frozen=True)
class Tool:
    """A program that had a part in it.

    Attributes:
        name: ``ST.EdgeAI.Core`` or ``ATONN Compiler``.
        version: As written.
        arguments: Its command line without its own name.
        environment: ``NAME=value`` lines it recorded.
    """

    name: str
    version: str
    arguments: str = ""
    environment: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedFile:
    """A file and what was signed of it.

    Attributes:
        name: Without a folder.
        signature: ``0x`` and the MD5 of the file's bytes in hex; empty if none was made.
    """

    name: str
    signature: str = ""


@dataclass(frozen=True)
class SourceModel:
    """The model that was compiled.

    Attributes:
        name: C name made of the file's name.
        type: ``tflite``, ``onnx`` or ``keras``.
        size: Bytes of its parameters as the tool counts them; not of the file.
        parameters: Number of parameters.
        files: Its files with their signatures.
    """

    name: str = ""
    type: str = ""
    size: int = 0
    parameters: int = 0
    files: tuple[NamedFile, ...] = ()


@dataclass(frozen=True)
class InfoPool:
    """A memory pool.

    Attributes:
        id: Number that buffers refer to.
        name: Report name, for example ``octoFlash``.
        file: Initializer in the workspace, for example ``atonbuf.xSPI2.raw``; empty for a virtual pool and on CPUs.
        address: Base address; None where the linker decides.
        symbol: C symbol of the array, where that stands in place of an address.
        size: Capacity in bytes; None if unlimited (written as -1).
        used: Highest offset used, in bytes. Of a virtual pool it is a span from its own base, not a sum.
        rights: ``ACC_READ`` or ``ACC_WRITE``.
        virtual: Made of other pools: never to be added to them.
        parts: Ids of the pools a virtual pool is made of.
        buffers: Ids of its buffers.
        cacheable: ``CACHEABLE_ON``, ``CACHEABLE_OFF``, ``CACHEABLE_UNDEF`` or empty.
        initialized: It may hold initializers; None if the file does not tell.
        score: The compiler's order of preference; None if the file does not tell.
        byte_width: Bytes per access; 0 if unknown.
        freq_ratio: NPU cycles per access; 0.0 if unknown.
        user_allocated: The application provides the memory.
        alignment: In bytes.
    """

    id: int
    name: str
    file: str = ""
    address: int | None = None
    symbol: str = ""
    size: int | None = None
    used: int = 0
    rights: str = ""
    virtual: bool = False
    parts: tuple[int, ...] = ()
    buffers: tuple[int, ...] = ()
    cacheable: str = ""
    initialized: bool | None = None
    score: float | None = None
    byte_width: int = 0
    freq_ratio: float = 0.0
    user_allocated: bool = False
    alignment: int = 0

    @property
    def fname(self) -> str:
        """File postfix of the pool: ``xSPI2`` of ``atonbuf.xSPI2.raw``."""
        prefix, _, rest = self.file.partition(".")
        return rest.rpartition(".")[0] or rest or prefix


@dataclass(frozen=True)
class InfoBuffer:
    """A tensor in a pool.

    Attributes:
        id: Number that nodes refer to.
        name: As the compiler calls it.
        pool: Id of its pool.
        offset: From the pool's base, in bytes.
        size: Bytes.
        constant: Holds parameters of the model.
        format: ``STAI_FORMAT_S8``, ``STAI_FORMAT_FLOAT``...
        bits: Per element.
        shape: As written: without the batch on CPU targets. None for a size that is not fixed.
        batch: Told beside it; 0 or 1 if there is one.
        axes: Their names, for example ``BATCH``; may be empty.
        first: First epoch that needs it.
        last: Last epoch that needs it (inclusive).
        channel_first: Channels may stand first.
        channel_last: Channels may stand last.
        scales: Of its quantization; empty if it has none.
        zero_points: The same.
        flags: ``STAI_FLAG_...`` words.
    """

    id: int
    name: str
    pool: int
    offset: int
    size: int
    constant: bool = False
    format: str = ""
    bits: int = 0
    shape: tuple[int | None, ...] = ()
    batch: int = 1
    axes: tuple[str, ...] = ()
    first: int = 0
    last: int = 0
    channel_first: bool = False
    channel_last: bool = False
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Footprint:
    """Sizes in bytes as the front end adds them up; None where it did not (no Arm compiler was found).

    Attributes:
        series: ``stm32n6npu``, ``stm32f4``, ``generic``...
        toolchain: The compiler that measured.
    """

    activations: int | None = None
    weights: int | None = None
    io_input: int | None = None
    io_output: int | None = None
    kernel_flash: int | None = None
    kernel_ram: int | None = None
    toolchain_flash: int | None = None
    toolchain_ram: int | None = None
    toolchain: str = ""
    series: str = ""


@dataclass(frozen=True)
class CInfo:
    """A ``c_info.json``.

    Attributes:
        file: Its name as shown to the user.
        schema: ``json_schema_version``.
        flow: ``npu``, ``cpu``, or ``results``: after a validation on the NPU, graph and pools are missing.
        tools: In the file's order.
        core: Version of ST Edge AI Core; None if the file does not tell.
        compiler: Version of the Neural-ART compiler as written; empty if it had no part.
        name: C name of the generated network.
        generated: When.
        signature: Of the network, 64 bits in hex.
        target: As written; often empty.
        device: The board that a validation ran on.
        model: The model that was compiled.
        files: Generated files.
        pools: In the file's order.
        buffers: In the file's order.
        graph: None if missing.
        accesses: Traffic per epoch and pool.
        estimates: Per epoch.
        blobs: Of the epoch controller.
        footprint: None in the compiler's own file.
        val_error: Figure that the validation ends with; None without one.
        val_error_kind: What it is, for example ``x-cross (rmse) #1``.
        metrics: Accuracy.
        executions: Measured times.
        notes: Keys that were not understood, and other remarks.
    """

    file: str
    schema: str
    flow: str
    tools: tuple[Tool, ...] = ()
    core: CoreVersion | None = None
    compiler: str = ""
    name: str = ""
    generated: str = ""
    signature: str = ""
    target: str = ""
    device: str = ""
    model: SourceModel = field(default_factory=SourceModel)
    files: tuple[NamedFile, ...] = ()
    pools: tuple[InfoPool, ...] = ()
    buffers: tuple[InfoBuffer, ...] = ()
    graph: Graph | None = None
    accesses: tuple[Access, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    blobs: tuple[Blob, ...] = ()
    footprint: Footprint | None = None
    val_error: float | None = None
    val_error_kind: str = ""
    metrics: tuple[Metric, ...] = ()
    executions: tuple[Execution, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def epochs(self) -> tuple[InfoNode, ...]:
        """The epochs that compute something, in order; none on a CPU."""
        nodes = self.graph.nodes if self.graph else ()
        return tuple(node for node in nodes if node.number is not None and not node.pseudo)

    @property
    def real_pools(self) -> tuple[InfoPool, ...]:
        """Without the virtual ones: what may be added up."""
        return tuple(pool for pool in self.pools if not pool.virtual)

    @property
    def weights_used(self) -> int:
        """Bytes of the read-only pools."""
        return sum(pool.used for pool in self.real_pools if pool.rights == "ACC_READ")

    @property
    def activations_used(self) -> int:
        """Bytes of the writable pools; weights that the compiler put there are in it."""
        return sum(pool.used for pool in self.real_pools if pool.rights != "ACC_READ")

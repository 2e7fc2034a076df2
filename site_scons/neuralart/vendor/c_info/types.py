"""The contents of ``c_info.json`` (schema 2.0, ST Edge AI Core 2.0 to 4.x, Neural-ART and CPU targets)."""

from __future__ import annotations

from neuralart.quick import dataclass, field
from neuralart.vendor.releases import CoreVersion

# Node mappings of a file -> the kinds that network.c and the reports know.
KINDS = {"NODE_SW_HW": "HYBRID", "NODE_HW": "HW", "NODE_EC": "EC", "NODE_SW": "SW"}
EC_MAPPING = "NODE_EC"
PSEUDO_OPERATORS = frozenset({"Param", "Return"})


@dataclass(frozen=True)
class InfoOperator:
    name: str  # The compiler's node, for example ``Softmax_210``
    type: str = ""  # For example ``Softmax``; empty if the file does not tell
    mapping: str = ""  # ``NODE_...``
    unit: str = ""  # Hardware unit, for example ``CONV_ACC_V2 0``; told from 3.0 on


@dataclass(frozen=True)
class InfoNode:
    """A node of the graph: an epoch of the NPU, or a layer on a CPU."""

    id: int  # Number that the tables refer to; not the epoch's number
    name: str  # ``epoch_12``, or the layer's name
    number: int | None = None  # The epoch's number; None on a CPU
    mapping: str = ""  # ``NODE_...`` as written
    type: str = ""  # Kind of layer (CPU only)
    macc: int = 0  # Multiply-accumulate operations; always 0 for an epoch
    original: tuple[str, ...] = ()  # Ids of the model's layers it stands for (CPU only)
    inputs: tuple[int, ...] = ()  # Ids of buffers, parameters included
    outputs: tuple[int, ...] = ()  # Ids of buffers
    operators: tuple[InfoOperator, ...] = ()  # What runs in the epoch
    functions: tuple[str, ...] = ()  # Software functions that compute it
    # Id of the node of the epoch-controller blob it is in, where the file has such nodes (3.0 and later)
    blob: int | None = None

    @property
    def pseudo(self) -> bool:
        """Whether it computes nothing: the parameters before the first epoch, the return after the last."""
        return self.mapping == "NODE_NO_X" or (
            bool(self.operators) and all(operator.type in PSEUDO_OPERATORS for operator in self.operators)
        )

    @property
    def kind(self) -> str:
        """``HW``, ``EC``, ``SW``, ``HYBRID``; ``NONE`` if it computes nothing or nothing is known."""
        if self.pseudo:
            return "NONE"
        if self.blob is not None:
            return "EC"
        # Releases add words to the four mappings: NODE_SW_INTEGER.
        return next((kind for mapping, kind in KINDS.items() if self.mapping.startswith(mapping)), "NONE")


@dataclass(frozen=True)
class InfoPort:
    """An input or output as the model declares it."""

    name: str  # Name in the model
    shape: tuple[int | None, ...] = ()  # With the batch; None for a length the model leaves open
    axes: tuple[str, ...] = ()  # Their names
    type: str = ""  # ``FLOAT``, ``SIGNED``, ``UNSIGNED``...
    bits: int = 0  # Per element
    scales: tuple[float, ...] = ()  # Empty if not quantized
    zero_points: tuple[int, ...] = ()  # The same


@dataclass(frozen=True)
class Graph:
    name: str  # C name
    inputs: tuple[int, ...] = ()  # Ids of buffers
    outputs: tuple[int, ...] = ()  # Ids of buffers
    nodes: tuple[InfoNode, ...] = ()  # In execution order; a blob's epochs follow its node
    edges: int = 0  # Number of edges
    original_inputs: tuple[InfoPort, ...] = ()  # As the model declares them
    original_outputs: tuple[InfoPort, ...] = ()  # The same


@dataclass(frozen=True)
class Access:
    """Traffic of an epoch on a pool: bytes, and NPU cycles they take."""

    node: int
    pool: int
    reads: int
    writes: int
    read_cycles: int
    write_cycles: int


@dataclass(frozen=True)
class Estimate:
    """The compiler's estimate of an epoch: operations, NPU cycles, mW. Software epochs count 0 operations."""

    node: int
    operations: int
    compute_cycles: int
    max_cycles: int
    npu_mw: float
    memory_mw: float


@dataclass(frozen=True)
class Blob:
    name: str  # C symbol
    encrypted: bool  # It is
    nodes: tuple[int, ...]  # Ids of the epochs in it


@dataclass(frozen=True)
class Metric:
    """A line of the accuracy table; a figure that was not computed is None."""

    description: str  # For example ``X-cross #1``
    values: tuple[tuple[str, float | None], ...]  # Name (``rmse``, ``cos``...) and figure, in the order of the file


@dataclass(frozen=True)
class Execution:
    """Measured time of one epoch or blob, in execution order (the file gives no names)."""

    counters: tuple[int, ...]  # CPU cycles before, while and after the hardware worked
    cycles: int  # Their sum
    duration_ms: float  # Milliseconds
    percentage: float  # Of the whole inference


NPU, CPU, RESULTS = "npu", "cpu", "results"


@dataclass(frozen=True)
class InfoTool:
    """A program that took part in the compile."""

    name: str  # ``ST.EdgeAI.Core`` or ``ATONN Compiler``
    version: str  # As written
    arguments: str = ""  # Its command line without its own name
    environment: tuple[str, ...] = ()  # ``NAME=value`` lines it recorded


@dataclass(frozen=True)
class NamedFile:
    """A file with its signature."""

    name: str  # Without a folder
    signature: str = ""  # ``0x`` and the MD5 of the file's bytes in hex; empty if none was made


@dataclass(frozen=True)
class SourceModel:
    """The model that was compiled."""

    name: str = ""  # C name made of the file's name
    type: str = ""  # ``tflite``, ``onnx`` or ``keras``
    size: int = 0  # Bytes of its parameters as the tool counts them; not of the file
    parameters: int = 0  # Number of parameters
    files: tuple[NamedFile, ...] = ()  # Its files with their signatures


@dataclass(frozen=True)
class InfoPool:
    id: int  # Number that buffers refer to
    name: str  # Report name, for example ``octoFlash``
    # Initializer in the workspace, for example ``atonbuf.xSPI2.raw``; empty for a virtual pool and on CPUs
    file: str = ""
    address: int | None = None  # Base address; None where the linker decides
    symbol: str = ""  # C symbol of the array, where that stands in place of an address
    size: int | None = None  # Capacity in bytes; None if unlimited (written as -1)
    used: int = 0  # Highest offset used, in bytes. Of a virtual pool it is a span from its own base, not a sum.
    rights: str = ""  # ``ACC_READ`` or ``ACC_WRITE``
    virtual: bool = False  # Made of other pools: never to be added to them
    parts: tuple[int, ...] = ()  # Ids of the pools a virtual pool is made of
    buffers: tuple[int, ...] = ()  # Ids of its buffers
    cacheable: str = ""  # ``CACHEABLE_ON``, ``CACHEABLE_OFF``, ``CACHEABLE_UNDEF`` or empty
    initialized: bool | None = None  # It may hold initializers; None if the file does not tell
    score: float | None = None  # The compiler's order of preference; None if the file does not tell
    byte_width: int = 0  # Bytes per access; 0 if unknown
    freq_ratio: float = 0.0  # NPU cycles per access; 0.0 if unknown
    user_allocated: bool = False  # The application provides the memory
    alignment: int = 0  # In bytes

    @property
    def fname(self) -> str:
        """File postfix of the pool: ``xSPI2`` of ``atonbuf.xSPI2.raw``."""
        prefix, _, rest = self.file.partition(".")
        return rest.rpartition(".")[0] or rest or prefix


@dataclass(frozen=True)
class InfoBuffer:
    """A tensor in a pool."""

    id: int  # Number that nodes refer to
    name: str  # As the compiler calls it
    pool: int  # Id of its pool
    offset: int  # From the pool's base, in bytes
    size: int  # Bytes
    constant: bool = False  # Holds parameters of the model
    format: str = ""  # ``STAI_FORMAT_S8``, ``STAI_FORMAT_FLOAT``...
    bits: int = 0  # Per element
    # As written: without the batch on CPU targets. None for a size that is not fixed.
    shape: tuple[int | None, ...] = ()
    batch: int = 1  # Told beside it; 0 or 1 if there is one
    axes: tuple[str, ...] = ()  # Their names, for example ``BATCH``; may be empty
    first: int = 0  # First epoch that needs it
    last: int = 0  # Last epoch that needs it (inclusive)
    channel_first: bool = False  # Channels may stand first
    channel_last: bool = False  # Channels may stand last
    scales: tuple[float, ...] = ()  # Of its quantization; empty if it has none
    zero_points: tuple[int, ...] = ()  # The same
    flags: tuple[str, ...] = ()  # ``STAI_FLAG_...`` words


@dataclass(frozen=True)
class Footprint:
    """Sizes in bytes, as the front end adds them up; None if it did not (without an Arm compiler)."""

    activations: int | None = None
    weights: int | None = None
    io_input: int | None = None
    io_output: int | None = None
    kernel_flash: int | None = None
    kernel_ram: int | None = None
    toolchain_flash: int | None = None
    toolchain_ram: int | None = None
    toolchain: str = ""  # The compiler that measured
    series: str = ""  # ``stm32n6npu``, ``stm32f4``, ``generic``...


@dataclass(frozen=True)
class CInfo:
    file: str  # Its name as shown to the user
    schema: str  # ``json_schema_version``
    flow: str  # ``npu``, ``cpu``, or ``results``: after a validation on the NPU, graph and pools are missing
    tools: tuple[InfoTool, ...] = ()  # In the file's order
    core: CoreVersion | None = None  # Version of ST Edge AI Core; None if the file does not tell
    compiler: str = ""  # Version of the Neural-ART compiler as written; empty if it had no part
    name: str = ""  # C name of the generated network
    generated: str = ""  # When
    signature: str = ""  # Of the network, 64 bits in hex
    target: str = ""  # As written; often empty
    device: str = ""  # The board that a validation ran on
    model: SourceModel = field(default_factory=SourceModel)  # The model that was compiled
    files: tuple[NamedFile, ...] = ()  # Generated files
    pools: tuple[InfoPool, ...] = ()  # In the file's order
    buffers: tuple[InfoBuffer, ...] = ()  # In the file's order
    graph: Graph | None = None  # None if missing
    accesses: tuple[Access, ...] = ()  # Traffic per epoch and pool
    estimates: tuple[Estimate, ...] = ()  # Per epoch
    blobs: tuple[Blob, ...] = ()  # Of the epoch controller
    footprint: Footprint | None = None  # None in the compiler's own file
    val_error: float | None = None  # Figure that the validation ends with; None without one
    val_error_kind: str = ""  # What it is, for example ``x-cross (rmse) #1``
    metrics: tuple[Metric, ...] = ()  # Accuracy
    executions: tuple[Execution, ...] = ()  # Measured times
    notes: tuple[str, ...] = ()  # Keys that were not understood, and other remarks

    @property
    def epochs(self) -> tuple[InfoNode, ...]:
        """The epochs that compute something, in order; none on a CPU."""
        nodes = self.graph.nodes if self.graph else ()
        return tuple(node for node in nodes if node.number is not None and not node.pseudo)

    @property
    def real_pools(self) -> tuple[InfoPool, ...]:
        """Pools without the virtual ones, whose sizes may be added."""
        return tuple(pool for pool in self.pools if not pool.virtual)

    @property
    def weights_used(self) -> int:
        """Bytes of the read-only pools."""
        return sum(pool.used for pool in self.real_pools if pool.rights == "ACC_READ")

    @property
    def activations_used(self) -> int:
        """Bytes of the writable pools, including weights that the compiler put there."""
        return sum(pool.used for pool in self.real_pools if pool.rights != "ACC_READ")

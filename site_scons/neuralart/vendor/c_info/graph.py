"""The graph in a ``c_info.json`` and the tables about its nodes."""

from __future__ import annotations

from dataclasses import dataclass

# Node mappings of a file -> the kinds that network.c and the reports know.
KINDS = {"NODE_SW_HW": "HYBRID", "NODE_HW": "HW", "NODE_EC": "EC", "NODE_SW": "SW"}
EC_MAPPING = "NODE_EC"
PSEUDO_OPERATORS = frozenset({"Param", "Return"})


@dataclass(frozen=True)
class InfoOperator:
    """An operator within an epoch."""

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
        """It computes nothing: the parameters before the first epoch, the return behind the last."""
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
class Port:
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
    """The network."""

    name: str  # C name
    inputs: tuple[int, ...] = ()  # Ids of buffers
    outputs: tuple[int, ...] = ()  # Ids of buffers
    nodes: tuple[InfoNode, ...] = ()  # In execution order; a blob's epochs follow its node
    edges: int = 0  # Number of edges
    original_inputs: tuple[Port, ...] = ()  # As the model declares them
    original_outputs: tuple[Port, ...] = ()  # The same


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
    """A blob of the epoch controller."""

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

"""The graph in a ``c_info.json`` and the tables about its nodes."""

from __future__ import annotations

from dataclasses import dataclass

# Node mappings of a file -> the kinds that network.c and the reports know.
KINDS = {"NODE_SW_HW": "HYBRID", "NODE_HW": "HW", "NODE_EC": "EC", "NODE_SW": "SW"}
EC_MAPPING = "NODE_EC"
PSEUDO_OPERATORS = frozenset({"Param", "Return"})


@dataclass(frozen=True)
class InfoOperator:
    """An operator within an epoch.

    Attributes:
        name: The compiler's node, for example ``Softmax_210``.
        type: For example ``Softmax``; empty if the file does not tell.
        mapping: ``NODE_...``.
        unit: Hardware unit, for example ``CONV_ACC_V2 0``; told from 3.0 on.
    """

    name: str
    type: str = ""
    mapping: str = ""
    unit: str = ""


@dataclass(frozen=True)
class InfoNode:
    """A node of the graph: an epoch of the NPU, or a layer on a CPU.

    Attributes:
        id: Number that the tables refer to; not the epoch's number.
        name: ``epoch_12``, or the layer's name.
        number: The epoch's number; None on a CPU.
        mapping: ``NODE_...`` as written.
        type: Kind of layer (CPU only).
        macc: Multiply-accumulate operations; always 0 for an epoch.
        original: Ids of the model's layers it stands for (CPU only).
        inputs: Ids of buffers, parameters included.
        outputs: Ids of buffers.
        operators: What runs in the epoch.
        functions: Software functions that compute it.
        blob: Id of the node of the epoch-controller blob it is in, where the file has such nodes (3.0 and later).
    """

    id: int
    name: str
    number: int | None = None
    mapping: str = ""
    type: str = ""
    macc: int = 0
    original: tuple[str, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    operators: tuple[InfoOperator, ...] = ()
    functions: tuple[str, ...] = ()
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
    """An input or output as the model declares it.

    Attributes:
        name: Name in the model.
        shape: With the batch; None for a length the model leaves open.
        axes: Their names.
        type: ``FLOAT``, ``SIGNED``, ``UNSIGNED``...
        bits: Per element.
        scales: Empty if not quantized.
        zero_points: The same.
    """

    name: str
    shape: tuple[int | None, ...] = ()
    axes: tuple[str, ...] = ()
    type: str = ""
    bits: int = 0
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()


@dataclass(frozen=True)
class Graph:
    """The network.

    Attributes:
        name: C name.
        inputs: Ids of buffers.
        outputs: Ids of buffers.
        nodes: In execution order; a blob's epochs follow its node.
        edges: Number of edges.
        original_inputs: As the model declares them.
        original_outputs: The same.
    """

    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    nodes: tuple[InfoNode, ...] = ()
    edges: int = 0
    original_inputs: tuple[Port, ...] = ()
    original_outputs: tuple[Port, ...] = ()


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
    """A blob of the epoch controller.

    Attributes:
        name: C symbol.
        encrypted: It is.
        nodes: Ids of the epochs in it.
    """

    name: str
    encrypted: bool
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Metric:
    """A line of the accuracy table; a figure that was not computed is None.

    Attributes:
        description: For example ``X-cross #1``.
        values: Name (``rmse``, ``cos``...) and figure, in the order of the file.
    """

    description: str
    values: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True)
class Execution:
    """Measured time of one epoch or blob, in execution order (the file gives no names).

    Attributes:
        counters: CPU cycles before, while and after the hardware worked.
        cycles: Their sum.
        duration_ms: Milliseconds.
        percentage: Of the whole inference.
    """

    counters: tuple[int, ...]
    cycles: int
    duration_ms: float
    percentage: float

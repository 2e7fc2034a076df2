"""Public compiled networks that the virtual NPU is measured with: where they come from, what must be reached.

Nothing of them is in this repository. ``NEURALART_NPU_DATA`` names a folder with
``<owner>+<repository>/<path>``; docs/reference/npu-cases.md tells how to fetch them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(os.environ.get("NEURALART_NPU_DATA") or "/nonexistent")


@dataclass(frozen=True)
class NpuCase:
    """A compiled network and its model."""

    name: str
    repository: str  # owner/name
    commit: str
    network: str  # Path of network.c
    model: str
    initializers: dict[str, str] = field(default_factory=dict)  # Pool -> path, where it is not beside network.c
    beside: tuple[str, ...] = ()  # Further files of the case
    assume: tuple[str, ...] = ()
    as_command: bool = False  # Compared as ``neuralart npu --model`` does it, with its noise
    # Forced: buffers of hardware epochs that pair, those of them at least 90 % equal, their mean, largest difference.
    pairs: int = 0
    good: int = 0
    mean: float = 0.0
    largest: int = 0

    @property
    def folder(self) -> Path:
        return DATA / self.repository.replace("/", "+")

    @property
    def files(self) -> list[str]:
        """All paths in the repository."""
        return [self.network, *self.beside, *self.initializers.values(), self.model]

    def missing(self) -> str:
        """Why it cannot run here."""
        gone = [path for path in self.files if not (self.folder / path).is_file()]
        return f"not in NEURALART_NPU_DATA: {', '.join(gone)}" if gone else ""


_NUCLEO, _DK = "Model/NUCLEO-N657X0-Q", "Model/STM32N6570-DK"
_MOBILENET = "Model/mobilenet_v1_0.25_96_tfs_int8.tflite"
_START = "STMicroelectronics/STM32N6-GettingStarted"
_OCR = "CubeProjects/OCR_Detection/OCR_model"
_BLAZE = "Model/blazeface_front_128_quant_pc_ff_od_wider_face.tflite"
_FACES = "STM32N6-GettingStarted-FaceDetection-main/Model"
_YOLO = "Step3_ST_Neural_ART_Compiler"
_REID = "d8412646a02aff5a2e622f213959ddfc0398a945"

CASES = (
    NpuCase(
        "rppg",
        "BCPH357/stm32n6_rppg",
        "67b544eebc79bfc8cdcce9be0be6eb3c7ef1cfff",
        "stm32_rppg/Appli/X-CUBE-AI/App/network_rppg.c",
        "webapp/models/spatial_cnn_int8.tflite",
        {"xSPI2": "stm32_rppg/network_rppg_atonbuf.xSPI2.raw"},
        **{"pairs": 4, "good": 4, "mean": 98.7, "largest": 1},
    ),
    NpuCase(
        "mobilenet-2.1",
        f"{_START}-ImageClassification",
        "242308265f7cb2eb8527f71519d1a64ec06170f7",
        f"{_NUCLEO}/network.c",
        _MOBILENET,
        beside=(f"{_NUCLEO}/network_ecblobs.h", f"{_NUCLEO}/network_data.xSPI2.bin"),
        **{"pairs": 29, "good": 29, "mean": 99.10, "largest": 5},
    ),
    NpuCase(
        "mobilenet-4.0",
        "Ping-Hsueh-Hsieh/stm32n6-camera",
        "ff35830c34cddeef31fda98933373d3b7d5b7ab9",
        f"{_NUCLEO}/network.c",
        _MOBILENET,
        beside=(f"{_NUCLEO}/network_ecblobs.h", f"{_NUCLEO}/network_data.xSPI2.bin"),
        **{"pairs": 29, "good": 29, "mean": 99.16, "largest": 2},
    ),
    NpuCase(
        "reid",
        f"{_START}-ReID",
        _REID,
        f"{_NUCLEO}/reid.c",
        "Model/mobilenetv2_a100_256_128_fft_int8.tflite",
        beside=(f"{_NUCLEO}/reid_ecblobs.h", f"{_NUCLEO}/reid_atonbuf.xSPI2.bin"),
        **{"pairs": 52, "good": 52, "mean": 98.74, "largest": 6},
    ),
    NpuCase(
        "osnet",
        f"{_START}-ReID",
        _REID,
        f"{_DK}/reid.c",
        "Model/osnet_a025_256_128_tfs_int8.tflite",
        beside=(f"{_DK}/reid_ecblobs.h", f"{_DK}/reid_atonbuf.xSPI2.bin"),
        assume=("POOL.TYPE=2",),
        **{"pairs": 317, "good": 298, "mean": 99.55, "largest": 3},
    ),
    NpuCase(
        "movenet",
        f"{_START}-PoseEstimation",
        "0365ebfde1e6e00e2c5d6390a80aea8a32111598",
        f"{_DK}/network.c",
        "Model/st_movenet_lightning_heatmaps_192_int8_pc.tflite",
        beside=(f"{_DK}/network_ecblobs.h", f"{_DK}/network_data.xSPI2.bin"),
        assume=("ACTIV.TYPE=2",),
        **{"pairs": 74, "good": 73, "mean": 98.66, "largest": 5},
    ),
    NpuCase(
        "ocr",
        "SanXiaCoat/OCR-and-Navigator-Based-On-STM32N6",
        "6bf06d55ba471ddb677ffcf5c24159e378681f76",
        f"{_OCR}/stedgeai_out/ocr_det.c",
        f"{_OCR}/ch_PP-OCRv4_det_160_qdq.onnx",
        beside=(f"{_OCR}/stedgeai_out/ocr_det_atonbuf.xSPI2.raw",),
        **{"pairs": 153, "good": 150, "mean": 99.15, "largest": 4},
    ),
    NpuCase(
        "blazeface",
        "muazzamaqeel/BA-EmbeddedAI",
        "ea54dad49154df2668e40a126cd21ac64d279812",
        "st_ai_output/network.c",
        _BLAZE,
        {"xSPI2": "Model/network_atonbuf.xSPI2.raw"},
        **{"pairs": 93, "good": 93, "mean": 99.38, "largest": 3},
    ),
    NpuCase(
        "blazeface-programs",
        "NguyenHoangTrieu/STM32N6-GettingStarted-FaceDetection-main",
        "f9c94a955ecef033070010ed85721471c1d1b5ac",
        f"{_FACES}/STM32N6570-DK/network.c",
        f"{_FACES}/blazeface_front_128_quant_pc_ff_od_wider_face.tflite",
        beside=(f"{_FACES}/STM32N6570-DK/network_ecblobs.h", f"{_FACES}/STM32N6570-DK/network_data.xSPI2.bin"),
        as_command=True,
        **{"pairs": 97, "good": 97, "mean": 99.53, "largest": 3},
    ),
    NpuCase(
        "deeplab",
        f"{_START}-SemanticSegmentation",
        "c7fcfc8f0f27a478761e10a47fe3d21e830a2ac9",
        f"{_DK}/network.c",
        "Model/deeplab_v3_mobilenetv2_05_16_320_fft_qdq_int8.onnx",
        beside=(f"{_DK}/network_ecblobs.h", f"{_DK}/network_data.xSPI2.bin"),
        assume=("CONVACC.KUNSIGNED=1", "CONVACC.SIMD=0"),
        as_command=True,
        **{"pairs": 61, "good": 61, "mean": 99.13, "largest": 95},
    ),
    NpuCase(
        "yolov8",
        "BlaineMoon30/STM32N6-DK-Face-Object-Detection",
        "c285490f4eb3599c06ee9de37af7f2e0ffb293d6",
        f"{_YOLO}/Output/network.c",
        f"{_YOLO}/stm32n6_dk_yolov8n_wider_face_UF_256.tflite",
        beside=(f"{_YOLO}/Output/network_ecblobs.h", f"{_YOLO}/Output/network_atonbuf.xSPI2.raw"),
        as_command=True,
        **{"pairs": 230, "good": 193, "mean": 98.51, "largest": 63},
    ),
)
BOARD = ("Magnus3327/stm32n6-edge-ai-benchmarks", "ea0f73db076d2841fbceedd601c24db6a51d33ee")

"""What the keys and words of the model zoo mean here, release by release."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.config.app_config import USE_CASES

# model_type of the zoo -> (model type, network_stride); what is not here is a name of a family of classifiers.
MODEL_TYPES: Mapping[str, tuple[str, int]] = {
    "tiny_yolo_v2": ("yolo_v2", 32),
    "yolov2t": ("yolo_v2", 32),
    "st_yolo_lc_v1": ("yolo_v2", 16),
    "st_yololcv1": ("yolo_v2", 16),
    "st_yolo_x": ("st_yolo_x", 0),
    "st_yoloxn": ("st_yolo_x", 0),
    "yolo_v5": ("yolo_v5", 0),
    "yolo_v5u": ("yolo_v8", 0),
    "yolov5u": ("yolo_v8", 0),
    "yolo_v8": ("yolo_v8", 0),
    "yolov8": ("yolo_v8", 0),
    "yolov8n": ("yolo_v8", 0),
    "yolo_v11": ("yolo_v8", 0),
    "yolov11": ("yolo_v8", 0),
    "yolov11n": ("yolo_v8", 0),
    "st_ssd_mobilenet_v1": ("st_ssd", 0),
    "ssd_mobilenet_v2_fpnlite": ("st_ssd", 0),
    "SSD": ("st_ssd", 0),
    "face_detect_front": ("blazeface", 0),
    "facedetect_front": ("blazeface", 0),
    "heatmaps_spe": ("movenet", 0),
    "yolo_mpe": ("yolo_v8_pose", 0),
    "deeplab_v3": ("deeplab_v3", 0),
    "deeplabv3": ("deeplab_v3", 0),
    "yolo_v8_seg": ("yolo_v8_seg", 0),
    "yolov8n_seg": ("yolo_v8_seg", 0),
}
# Model types that have an application, but no header here.
NO_HEADER = frozenset({"CENTER_NET", "hand_spe", "spe", "ssd", "st_yolodv2milli", "st_yolod", "yunet", "yunetn"})
# The same word in another use case.
BY_USE_CASE: Mapping[tuple[str, str], str] = {
    ("pose_estimation", "yolo_v8"): "yolo_v8_pose",
    ("instance_segmentation", "yolo_v8"): "yolo_v8_seg",
}
# Where a model type alone says what it is for.
USE_CASE_OF: Mapping[str, str] = {
    "yolo_v2": "object_detection",
    "yolo_v5": "object_detection",
    "st_yolo_x": "object_detection",
    "st_ssd": "object_detection",
    "blazeface": "face_detection",
    "movenet": "pose_estimation",
    "yolo_v8_pose": "pose_estimation",
    "deeplab_v3": "semantic_segmentation",
    "yolo_v8_seg": "instance_segmentation",
}
# Parts of paths of the zoo -> use case; empty: it has one, but no header is made for it.
FOLDERS: Mapping[str, str] = {
    **{name: name for name in USE_CASES},
    "audio": "audio_event_detection",
    "sensing_free_rtos": "audio_event_detection",
    "speech_enhancement": "",
    "sensing_thread_x": "",
    "hand_posture": "",
    "human_activity_recognition": "",
    "arc_fault_detection": "",
    "depth_estimation": "",
    "neural_style_transfer": "",
    "re_identification": "",
    "reidentification": "",
}
# Families of parts -> the board of ours that is meant where none is named.
SERIES: Mapping[str, str] = {"STM32N6": "stm32n6570-dk", "STM32H7": "stm32h747i-disco"}
# feature_extraction.<key> -> audio.<key>.
AUDIO = (
    *("n_mels", "patch_length", "hop_length", "n_fft", "window_length", "fmin", "fmax", "power", "norm", "htk"),
    "to_db",
)

_TRAINING = "training belongs to the model zoo"
_PROGRAM = "programs are found on this machine"
# Dotted path -> why nothing here corresponds. The longest one wins; a section whose keys are all dropped is one line.
REASONS: Mapping[str, str] = {
    "general": _TRAINING,
    "general.project_name": "a network is named by its model (--name)",
    "operation_mode": "scons and its targets say what is done",
    "dataset": _TRAINING,
    "training": _TRAINING,
    "train_parameters": _TRAINING,
    "data_augmentation": _TRAINING,
    "custom_data_augmentation": _TRAINING,
    "callbacks": _TRAINING,
    "evaluation": "accuracy on a data set is measured by the model zoo",
    "prediction": "accuracy on a data set is measured by the model zoo",
    "quantization": "the model is quantized already; the use case says the types of its inputs and outputs",
    "benchmarking": "boards are measured here, not in a cloud",
    "benchmark": "boards are measured here, not in a cloud",
    "mlflow": "logs of training",
    "hydra": "folders of the model zoo's runs",
    "defaults": "hydra's composition of files; write the values into this one",
    "model": _TRAINING,
    "model.model_name": "a variant of the architecture, part of the model",
    "model.input_shape": "the model says it",
    "preprocessing": "belongs to data sets",
    "pre_processing": "belongs to data sets",
    "preprocessing.rescaling": "part of the quantized model, whose input takes bytes",
    "pre_processing.rescaling": "part of the quantized model, whose input takes bytes",
    "preprocessing.resizing.interpolation": "the camera pipe scales in hardware",
    "pre_processing.resizing": "the camera pipe scales in hardware",
    "feature_extraction": "the application extracts features its own way",
    "postprocessing": "belongs to evaluation",
    "post_processing": "belongs to evaluation",
    "tools": _PROGRAM,
    "tools.stedgeai.version": "the compiler that is installed says its version",
    "tools.stedgeai.on_cloud": "networks are compiled on this machine",
    "tools.stm32ai.version": "the compiler that is installed says its version",
    "tools.stm32ai.on_cloud": "networks are compiled on this machine",
    "stm32ai": _PROGRAM,
    "deployment": "has no counterpart",
    "deployment.IDE": "firmware is built by scons",
    "deployment.verbosity": "scons says what it does",
    "deployment.build_conf": "a configuration of the IDE's project",
    "deployment.hardware_setup.serie": "follows from the board",
    "deployment.hardware_setup": "the board has one way only",
}

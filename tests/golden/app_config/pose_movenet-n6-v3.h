/* app_config.h of network network (pose_estimation, movenet). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_CROP

#define POSTPROCESS_TYPE POSTPROCESS_SPE_MOVENET_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

/* One heatmap for each keypoint, a quarter of the input's size */
#define AI_SPE_MOVENET_POSTPROC_HEATMAP_WIDTH  (48)
#define AI_SPE_MOVENET_POSTPROC_HEATMAP_HEIGHT (48)
#define AI_SPE_MOVENET_POSTPROC_NB_KEYPOINTS   (13)
#define AI_POSE_PP_POSE_KEYPOINTS_NB           (13)
#define AI_POSE_PP_CONF_THRESHOLD              (0.4f)

#define WELCOME_MSG_1 "pose_movenet.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif

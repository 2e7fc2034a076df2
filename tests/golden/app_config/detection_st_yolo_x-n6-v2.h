/* app_config.h of network network (object_detection, st_yolo_x). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_FLIP_MIRROR

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_CROP

/* Width and height 0: what the sensor gives. */
#define CAPTURE_FORMAT DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1
#define CAPTURE_BPP    2
#define CAMERA_WIDTH   0
#define CAMERA_HEIGHT  0

#define LCD_FG_WIDTH            800
#define LCD_FG_HEIGHT           480
#define LCD_FG_FRAMEBUFFER_SIZE (LCD_FG_WIDTH * LCD_FG_HEIGHT * 2)

#define NN_WIDTH  (256)
#define NN_HEIGHT (256)
#define NN_BPP    3

#define POSTPROCESS_TYPE POSTPROCESS_OD_ST_YOLOX_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (2)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "person", \
  "cup" \
}

#define AI_OD_ST_YOLOX_PP_NB_CLASSES (2)
#define AI_OD_ST_YOLOX_PP_NB_ANCHORS (1)
#define AI_OD_ST_YOLOX_PP_L_GRID_WIDTH     (32)
#define AI_OD_ST_YOLOX_PP_L_GRID_HEIGHT    (32)
#define AI_OD_ST_YOLOX_PP_L_NB_INPUT_BOXES (AI_OD_ST_YOLOX_PP_L_GRID_WIDTH * AI_OD_ST_YOLOX_PP_L_GRID_HEIGHT)
#define AI_OD_ST_YOLOX_PP_M_GRID_WIDTH     (16)
#define AI_OD_ST_YOLOX_PP_M_GRID_HEIGHT    (16)
#define AI_OD_ST_YOLOX_PP_M_NB_INPUT_BOXES (AI_OD_ST_YOLOX_PP_M_GRID_WIDTH * AI_OD_ST_YOLOX_PP_M_GRID_HEIGHT)
#define AI_OD_ST_YOLOX_PP_S_GRID_WIDTH     (8)
#define AI_OD_ST_YOLOX_PP_S_GRID_HEIGHT    (8)
#define AI_OD_ST_YOLOX_PP_S_NB_INPUT_BOXES (AI_OD_ST_YOLOX_PP_S_GRID_WIDTH * AI_OD_ST_YOLOX_PP_S_GRID_HEIGHT)
#define AI_OD_ST_YOLOX_PP_CONF_THRESHOLD  (0.6f)
#define AI_OD_ST_YOLOX_PP_IOU_THRESHOLD   (0.45f)
#define AI_OD_ST_YOLOX_PP_MAX_BOXES_LIMIT (10)

/* Width and height of each anchor, in cells */
static const float AI_OD_ST_YOLOX_PP_L_ANCHORS[2 * AI_OD_ST_YOLOX_PP_NB_ANCHORS] = {16.0f, 16.0f};
static const float AI_OD_ST_YOLOX_PP_M_ANCHORS[2 * AI_OD_ST_YOLOX_PP_NB_ANCHORS] = {8.0f, 8.0f};
static const float AI_OD_ST_YOLOX_PP_S_ANCHORS[2 * AI_OD_ST_YOLOX_PP_NB_ANCHORS] = {4.0f, 4.0f};

#define WELCOME_MSG_1 "detection_st_yolo_x.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif

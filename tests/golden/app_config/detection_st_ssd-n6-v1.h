/* app_config.h of network network (object_detection, st_ssd). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_FIT

/* Width and height 0: what the sensor gives. */
#define CAPTURE_FORMAT DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1
#define CAPTURE_BPP    2
#define CAMERA_WIDTH   0
#define CAMERA_HEIGHT  0

#define LCD_FG_WIDTH            800
#define LCD_FG_HEIGHT           480
#define LCD_FG_FRAMEBUFFER_SIZE (LCD_FG_WIDTH * LCD_FG_HEIGHT * 2)

#define NN_WIDTH  (192)
#define NN_HEIGHT (192)
#define NN_BPP    3

#define POSTPROCESS_TYPE POSTPROCESS_OD_ST_SSD_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (2)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "background", \
  "person" \
}

/* The first class is the background */
#define AI_OD_SSD_ST_PP_NB_CLASSES       (2)
#define AI_OD_SSD_ST_PP_TOTAL_DETECTIONS (3830)
#define AI_OD_SSD_ST_PP_CONF_THRESHOLD  (0.6f)
#define AI_OD_SSD_ST_PP_IOU_THRESHOLD   (0.45f)
#define AI_OD_SSD_ST_PP_MAX_BOXES_LIMIT (10)

#define WELCOME_MSG_1 "detection_st_ssd.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif

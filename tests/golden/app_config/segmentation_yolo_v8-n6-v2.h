/* app_config.h of network network (instance_segmentation, yolo_v8_seg). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

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

#define POSTPROCESS_TYPE POSTPROCESS_ISEG_YOLO_V8_UI

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (2)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "a", \
  "b" \
}

#define AI_YOLOV8_SEG_PP_NB_CLASSES      (2)
#define AI_YOLOV8_SEG_PP_TOTAL_BOXES     (1344)
#define AI_YOLOV8_SEG_PP_MASK_NB         (32)
#define AI_YOLOV8_SEG_PP_MASK_SIZE       (64)
#define AI_YOLOV8_SEG_PP_CONF_THRESHOLD  (0.6f)
#define AI_YOLOV8_SEG_PP_IOU_THRESHOLD   (0.45f)
#define AI_YOLOV8_SEG_PP_MAX_BOXES_LIMIT (10)
#define AI_YOLOV8_SEG_SCALE              (0.02f)
#define AI_YOLOV8_SEG_ZERO_POINT         (25)
#define AI_YOLOV8_SEG_MASK_SCALE         (0.020748684f)
#define AI_YOLOV8_SEG_MASK_ZERO_POINT    (-115)

#define WELCOME_MSG_1 "segmentation_yolo_v8.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif

/* Camera and buffers. The three macros of the camera are patched to fit a network. */
#ifndef MAIN_H
#define MAIN_H

#include <stdint.h>

#include "ai_interface.h"

/* Generated from the network and the variant; without it the picture is taken as it is. */
#if __has_include("ai_model_config.h")
#include "ai_model_config.h"
#endif
#ifndef ASPECT_RATIO_FIT
#define ASPECT_RATIO_FIT     (1)
#define ASPECT_RATIO_CROP    (2)
#define ASPECT_RATIO_PADDING (3)
#endif
#ifndef ASPECT_RATIO_MODE
#define ASPECT_RATIO_MODE ASPECT_RATIO_FIT
#endif

#define QVGA_RES_WIDTH  320
#define QVGA_RES_HEIGHT 240
#define VGA_RES_WIDTH   640
#define VGA_RES_HEIGHT  480

#define CAMERA_R320x240 1
#define CAMERA_R640x480 2

#define CAMERA_RESOLUTION (CAMERA_R320x240)
#define CAM_RES_WIDTH (QVGA_RES_WIDTH)
#define CAM_RES_HEIGHT (QVGA_RES_HEIGHT)
/* First column of the sensor's picture that is captured. */
#define CAM_CROP_ORIGIN_X (0)

#if CAMERA_RESOLUTION == CAMERA_R320x240
#define SENSOR_WIDTH  QVGA_RES_WIDTH
#define SENSOR_HEIGHT QVGA_RES_HEIGHT
#else
#define SENSOR_WIDTH  VGA_RES_WIDTH
#define SENSOR_HEIGHT VGA_RES_HEIGHT
#endif

/* The picture in the buffer: with borders above and below it is a square. */
#define CAM_PICTURE_WIDTH CAM_RES_WIDTH
#if ASPECT_RATIO_MODE == ASPECT_RATIO_PADDING
#define CAM_RES_WITH_BORDERS CAM_RES_WIDTH
#define CAM_PICTURE_HEIGHT CAM_RES_WITH_BORDERS
#else
#define CAM_PICTURE_HEIGHT CAM_RES_HEIGHT
#endif

#define RGB_565_BPP 2
#define WHOLE_LINES(bytes) (((bytes) + 31) / 32 * 32)
#define CAM_FRAME_BYTES (CAM_PICTURE_WIDTH * CAM_PICTURE_HEIGHT * RGB_565_BPP)
#define CAM_FRAME_BUFFER_SIZE WHOLE_LINES(CAM_FRAME_BYTES)
#define RESCALED_FRAME_BUFFER_SIZE WHOLE_LINES(AI_NETWORK_WIDTH * AI_NETWORK_HEIGHT * RGB_565_BPP)

/* What the parts of the application share. */
typedef struct {
  uint8_t *captured;  /* CAM_PICTURE_WIDTH x CAM_PICTURE_HEIGHT, RGB565 */
  uint8_t *rescaled;  /* AI_NETWORK_WIDTH x AI_NETWORK_HEIGHT, RGB565 */
  ai_handle *activation_buffer;
  ai_handle nn_input;
  ai_handle nn_output[AI_NETWORK_OUT_NUM];
} AppConfig_TypeDef;

#endif

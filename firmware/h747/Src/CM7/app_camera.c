#include "app_camera.h"

#include "dcache.h"
#include "main.h"

#define BORDER ((CAM_PICTURE_HEIGHT - CAM_RES_HEIGHT) / 2)

/* Every color somewhere, and no two lines alike: a row or column too many shows. */
static uint16_t sensor_pixel(uint32_t x, uint32_t y, uint32_t number) {
  return (uint16_t)(x * 73u + y * 1499u + number * 977u);
}

static void put(uint8_t *frame, uint32_t index, uint16_t pixel) {
  frame[2 * index] = (uint8_t)pixel;
  frame[2 * index + 1] = (uint8_t)(pixel >> 8);
}

void Camera_Capture(uint8_t *frame, uint32_t number) {
  for (uint32_t y = 0; y < CAM_PICTURE_HEIGHT; y++) {
    for (uint32_t x = 0; x < CAM_PICTURE_WIDTH; x++) {
      uint32_t row = y - (uint32_t)BORDER;
      uint16_t pixel = row < CAM_RES_HEIGHT ? sensor_pixel(CAM_CROP_ORIGIN_X + x, row, number) : 0;
      put(frame, y * CAM_PICTURE_WIDTH + x, pixel);
    }
  }
  /* A DMA would have written this behind the core's back. */
  dcache_clean_invalidate(frame, CAM_FRAME_BUFFER_SIZE);
}

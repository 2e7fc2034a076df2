/* A camera without a sensor: pictures are computed, or come from the host in place of the camera interface. */
#ifndef APP_CAMERA_H
#define APP_CAMERA_H

#include <stdint.h>

/* The next picture of the sensor, cropped or with borders, as the camera interface would write it. */
void Camera_Capture(uint8_t *frame, uint32_t number);

#endif

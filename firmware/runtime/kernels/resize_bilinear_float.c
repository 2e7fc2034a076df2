/* RESIZE_BILINEAR of uint8 models: float32, in the order of operations that the profile prescribes. */
#include "neuralart_kernels.h"

/* Between which two input positions an output position lies. */
typedef struct {
  int32_t low, high;
  float towards_low, towards_high;
} between_t;

static between_t between(int32_t position, float scale, int32_t half_pixel_centers, int32_t size) {
  const float at = half_pixel_centers ? ((float)position + 0.5f) * scale - 0.5f : (float)position * scale;
  const int32_t whole = (int32_t)at; /* towards zero */
  const int32_t floor = whole - (at < (float)whole);
  const int32_t ceiling = floor + (at > (float)floor);
  between_t b;
  b.low = floor > 0 ? floor : 0;
  b.high = ceiling < size ? ceiling : size - 1;
  b.towards_high = at - (float)b.low;
  b.towards_low = 1.0f - b.towards_high;
  return b;
}

/* As the model stores it. */
static inline float stored(int8_t value) { return (float)(value + 128); }

void na_resize_bilinear_float_s8(const int8_t *input, int8_t *output, const na_resize_float_t *p) {
  const int32_t row = p->input_width * p->channels;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const between_t v = between(y, p->height_scale, p->half_pixel_centers, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const between_t h = between(x, p->width_scale, p->half_pixel_centers, p->input_width);
        const int8_t *low_low = input + v.low * row + h.low * p->channels;
        const int8_t *high_low = input + v.high * row + h.low * p->channels;
        const int8_t *low_high = input + v.low * row + h.high * p->channels;
        const int8_t *high_high = input + v.high * row + h.high * p->channels;
        for (int32_t c = 0; c < p->channels; c++) {
          const float sum = stored(low_low[c]) * v.towards_low * h.towards_low +
                            stored(high_low[c]) * v.towards_high * h.towards_low +
                            stored(low_high[c]) * v.towards_low * h.towards_high +
                            stored(high_high[c]) * v.towards_high * h.towards_high + 0.5f;
          *output++ = (int8_t)((int32_t)sum - 128);
        }
      }
    }
  }
}

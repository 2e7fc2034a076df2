/* RESIZE_BILINEAR of float32 and of uint8 models: float32, in the order of operations that the profile prescribes. */
#include "single.h"

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

static inline int8_t rounded(float sum) { return (int8_t)((int32_t)(sum + 0.5f) - 128); }

static inline float same(float value) { return value; }

#define RESIZE(kernel, type, read, made)                                                                               \
  void kernel(const type *input, type *output, const na_resize_float_t *p) {                                           \
    const int32_t row = p->input_width * p->channels;                                                                  \
    for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * row) {                             \
      for (int32_t y = 0; y < p->output_height; y++) {                                                                 \
        const between_t v = between(y, p->height_scale, p->half_pixel_centers, p->input_height);                       \
        for (int32_t x = 0; x < p->output_width; x++) {                                                                \
          const between_t h = between(x, p->width_scale, p->half_pixel_centers, p->input_width);                       \
          const type *low_low = input + v.low * row + h.low * p->channels;                                             \
          const type *high_low = input + v.high * row + h.low * p->channels;                                           \
          const type *low_high = input + v.low * row + h.high * p->channels;                                           \
          const type *high_high = input + v.high * row + h.high * p->channels;                                         \
          for (int32_t c = 0; c < p->channels; c++)                                                                    \
            *output++ = made(read(low_low[c]) * v.towards_low * h.towards_low +                                        \
                             read(high_low[c]) * v.towards_high * h.towards_low +                                      \
                             read(low_high[c]) * v.towards_low * h.towards_high +                                      \
                             read(high_high[c]) * v.towards_high * h.towards_high);                                    \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

RESIZE(na_resize_bilinear_float_s8, int8_t, stored, rounded)
RESIZE(na_resize_bilinear_f32, float, same, same)

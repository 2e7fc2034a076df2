/* CAST: other types for the same numbers. */
#include "neuralart_kernels.h"

/* Towards zero, within the type; limit is the first float32 above its largest value. */
#define FROM_FLOAT(to, to_t, lowest, largest, limit)                                                                   \
  void na_cast_f32_##to(const float *input, to_t *output, const na_bytes_t *p) {                                       \
    for (int32_t i = 0; i < p->count; i++) {                                                                           \
      const float x = input[i];                                                                                        \
      output[i] = !(x < limit) ? largest : x < (float)lowest ? lowest : (to_t)x;                                       \
    }                                                                                                                  \
  }

#define CAST(from, from_t, to, to_t)                                                                                   \
  void na_cast_##from##_##to(const from_t *input, to_t *output, const na_bytes_t *p) {                                 \
    for (int32_t i = 0; i < p->count; i++) output[i] = (to_t)input[i];                                                 \
  }

#define FROM_INTEGER(from, from_t)                                                                                     \
  CAST(from, from_t, s8, int8_t)                                                                                       \
  CAST(from, from_t, u8, uint8_t)                                                                                      \
  CAST(from, from_t, s16, int16_t)                                                                                     \
  CAST(from, from_t, i32, int32_t)                                                                                     \
  CAST(from, from_t, i64, int64_t)                                                                                     \
  CAST(from, from_t, f32, float)

FROM_INTEGER(s8, int8_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(s16, int16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_FLOAT(s8, int8_t, INT8_MIN, INT8_MAX, 128.0f)
FROM_FLOAT(u8, uint8_t, 0, UINT8_MAX, 256.0f)
FROM_FLOAT(s16, int16_t, INT16_MIN, INT16_MAX, 32768.0f)
FROM_FLOAT(i32, int32_t, INT32_MIN, INT32_MAX, 2147483648.0f)
FROM_FLOAT(i64, int64_t, INT64_MIN, INT64_MAX, 9223372036854775808.0f)
CAST(f32, float, f32, float)

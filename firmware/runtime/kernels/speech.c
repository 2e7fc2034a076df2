/* Features of speech as TensorFlow Lite Micro's signal operators make them: integers throughout. */
#include "neuralart_kernels.h"

/* How many bits a number has; 32 for 0, as there. */
static int32_t width(uint32_t x) {
  int32_t bits = x ? 0 : 32;
  for (; x; x >>= 1) bits++;
  return bits;
}

static int16_t narrowed(int32_t x) { return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x); }

void na_window_s16(const int16_t *input, const int16_t *window, int16_t *output, const na_window_t *p) {
  for (int32_t row = 0; row < p->rows; row++) {
    for (int32_t i = 0; i < p->length; i++) *output++ = narrowed((*input++ * window[i]) >> p->shift);
  }
}

/* The largest magnitude is kept in 16 bits: -32768 stays negative there, and what follows takes its place. */
void na_auto_scale_s16(const int16_t *input, int16_t *output, int32_t *bits, const na_bytes_t *p) {
  int16_t most = 0;
  for (int32_t i = 0; i < p->count; i++) {
    if (input[i] > most) {
      most = input[i];
    } else if (-input[i] > most) {
      most = (int16_t)-input[i];
    }
  }
  const int32_t free = 15 - width((uint32_t)most), scale = free > 0 ? free : 0;
  for (int32_t i = 0; i < p->count; i++) output[i] = (int16_t)(input[i] * (1 << scale));
  *bits = scale;
}

void na_energy_s16(const int16_t *input, uint32_t *output, const na_energy_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const int32_t real = input[2 * i], imaginary = input[2 * i + 1];
    output[i] = i < p->first || i >= p->end ? 0u : (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary);
  }
}

void na_filter_bank_u32(const uint32_t *input, const int16_t *weights, const int16_t *rest, const int16_t *starts,
                        const int16_t *weight_starts, const int16_t *widths, uint64_t *output, const na_bytes_t *p) {
  uint64_t next = 0;
  for (int32_t band = 0; band <= p->count; band++) {
    uint64_t sum = next;
    next = 0;
    for (int32_t i = 0; i < widths[band]; i++) {
      const uint64_t energy = input[starts[band] + i];
      sum += (uint64_t)weights[weight_starts[band] + i] * energy;
      next += (uint64_t)rest[weight_starts[band] + i] * energy;
    }
    if (band) output[band - 1] = sum;
  }
}

/* By digits. Numbers of 32 bits have a root of 16, which is not rounded up beyond them; likewise with 64. */
static uint32_t square_root(uint64_t x) {
  const uint64_t most = x >> 32 ? 0xffffffffu : 0xffffu;
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << (x >> 32 ? 62 : 30); bit; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return (uint32_t)(x > root && root != most ? root + 1 : root);
}

void na_square_root_u64(const uint64_t *input, const int32_t *bits, uint32_t *output, const na_bytes_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = (uint32_t)*bits > 31u ? 0u : square_root(input[i]) >> *bits;
}

void na_subtraction_u32(const uint32_t *input, uint32_t *state, uint32_t *output, uint32_t *noise,
                        const na_subtraction_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const uint32_t scaled = input[i] << p->smoothing_bits;
    const uint64_t mixed = (uint64_t)scaled * p->smoothing[i & 1] + (uint64_t)state[i] * p->kept[i & 1];
    state[i] = (uint32_t)(mixed >> p->bits);
    const uint32_t taken = state[i] < scaled ? state[i] : scaled;
    if (p->clamp) state[i] = taken;
    noise[i] = state[i];
    const uint32_t least = (uint32_t)((uint64_t)input[i] * p->least >> p->bits);
    const uint32_t left = (scaled - taken) >> p->smoothing_bits;
    output[i] = left > least ? left : least;
  }
}

/* A parabola between two powers of two; products that leave 32 bits wrap around. */
static uint32_t gain(uint32_t x, const int16_t *table) {
  if (x <= 2) return (uint32_t)table[x];
  const int32_t power = width(x);
  const int16_t *row = table + 4 * power - 6;
  const int32_t fraction = (int32_t)(power < 11 ? x << (11 - power) : x >> (power - 11)) & 0x3ff;
  const uint32_t slope = (uint32_t)((row[2] * fraction) >> 5) + ((uint32_t)row[1] << 5);
  const int32_t risen = (int32_t)(slope * (uint32_t)fraction + (1u << 14)) >> 15;
  return (uint32_t)(int16_t)(risen + row[0]);
}

/* 12 fractional bits become 6: x^2 / 4 below 2, x - 1 from there on. */
void na_gain_u32(const uint32_t *input, const uint32_t *noise, const int16_t *table, uint32_t *output,
                 const na_gain_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const uint32_t x = (uint32_t)((uint64_t)input[i] * gain(noise[i], table) >> p->shift);
    output[i] = x < 2u << 12 ? (x * x) >> 20 : (x >> 6) - (1u << 6);
  }
}

/* log2 has 16 fractional bits. The slope within an entry of the table is taken 128 times too small, as there. */
void na_log_u32(const uint32_t *input, const uint16_t *table, int16_t *output, const na_log_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const uint32_t x = input[i] << p->bits;
    output[i] = 0;
    if (x <= 1) continue;
    const int32_t whole = width(x) - 1;
    const uint32_t above = x - (1u << whole), part = whole < 16 ? above << (16 - whole) : above >> (whole - 16);
    const int32_t entry = table[part >> 9], step = table[(part >> 9) + 1] - entry;
    const uint32_t bent = (uint32_t)(entry + ((step * (int32_t)(part & 0x1ff)) >> 16));
    const uint32_t log2 = ((uint32_t)whole << 16) + part + bent;
    const uint32_t natural = (uint32_t)((45426u * (uint64_t)log2 + 32768u) >> 16); /* log(2) * 2^16 */
    const uint32_t scaled = (p->scale * natural + 32768u) >> 16;
    output[i] = (int16_t)(scaled < INT16_MAX ? scaled : INT16_MAX);
  }
}

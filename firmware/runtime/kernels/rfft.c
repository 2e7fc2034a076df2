/* The Fourier transform of real int16 values, as TensorFlow Lite Micro has it: half as many complex values, transformed
 * with four branches at a time, then taken apart. All values are divided before each addition, so that nothing leaves
 * 16 bits, and rounded: the order of these steps is that of the kiss_fft library. */
#include "neuralart_kernels.h"

typedef struct {
  int16_t r, i;
} value_t;

static int16_t rounded(int32_t x) { return (int16_t)((x + (1 << 14)) >> 15); }
static value_t part(value_t a, int32_t count) {
  const int32_t factor = 32767 / count;
  const value_t made = {rounded(a.r * factor), rounded(a.i * factor)};
  return made;
}
static value_t times(value_t a, value_t b) {
  const value_t made = {rounded(a.r * b.r - a.i * b.i), rounded(a.r * b.i + a.i * b.r)};
  return made;
}
static value_t plus(value_t a, value_t b) {
  const value_t made = {(int16_t)(a.r + b.r), (int16_t)(a.i + b.i)};
  return made;
}
static value_t minus(value_t a, value_t b) {
  const value_t made = {(int16_t)(a.r - b.r), (int16_t)(a.i - b.i)};
  return made;
}

static void two(value_t *v, int32_t m) {
  const value_t one = {32767, 0}, a = part(v[0], 2), b = times(part(v[m], 2), one);
  v[m] = minus(a, b);
  v[0] = plus(a, b);
}

static void four(value_t *v, int32_t m, value_t turn1, value_t turn2, value_t turn3) {
  const value_t first = part(v[0], 4), second = times(part(v[m], 4), turn1);
  const value_t third = times(part(v[2 * m], 4), turn2), last = times(part(v[3 * m], 4), turn3);
  const value_t even = plus(first, third), odd = minus(first, third);
  const value_t sum = plus(second, last), difference = minus(second, last);
  v[0] = plus(even, sum);
  v[2 * m] = minus(even, sum);
  v[m].r = (int16_t)(odd.r + difference.i);
  v[m].i = (int16_t)(odd.i - difference.r);
  v[3 * m].r = (int16_t)(odd.r - difference.i);
  v[3 * m].i = (int16_t)(odd.i + difference.r);
}

/* Complex values in the order in which the branches meet. */
static void spread(const int16_t *input, int32_t length, value_t *v, int32_t count) {
  for (int32_t at = 0; at < count; at++) {
    int32_t from = 0, step = 1, rest = at;
    for (int32_t size = count; size > 1;) {
      const int32_t branches = size % 4 ? 2 : 4;
      size /= branches;
      from += rest / size * step;
      rest %= size;
      step *= branches;
    }
    v[at].r = 2 * from < length ? input[2 * from] : 0;
    v[at].i = 2 * from + 1 < length ? input[2 * from + 1] : 0;
  }
}

static void transform(value_t *v, int32_t count, const value_t *turns) {
  int32_t m = 1;
  for (int32_t size = count; size > 1; size /= 4) m = size == 2 ? 2 : m;
  for (int32_t at = 0; m == 2 && at < count; at += 2) two(v + at, 1);
  for (; m < count; m *= 4) {
    const int32_t step = count / (4 * m);
    for (int32_t at = 0; at < count; at += 4 * m) {
      for (int32_t k = 0; k < m; k++) {
        four(v + at + k, m, turns[step * k], turns[2 * step * k], turns[3 * step * k]);
      }
    }
  }
}

void na_rfft_s16(const int16_t *input, const int16_t *turns, const int16_t *half_turns, int16_t *output, void *working,
                 const na_rfft_t *p) {
  const int32_t count = p->size / 2;
  value_t *v = working, *made = (value_t *)(void *)output;
  const value_t *half = (const value_t *)(const void *)half_turns;
  for (int32_t row = 0; row < p->rows; row++, input += p->length, made += count + 1) {
    spread(input, p->length, v, count);
    transform(v, count, (const value_t *)(const void *)turns);
    const value_t mean = part(v[0], 2);
    made[0].r = (int16_t)(mean.r + mean.i);
    made[count].r = (int16_t)(mean.r - mean.i);
    made[0].i = made[count].i = 0;
    for (int32_t k = 1; k <= count / 2; k++) {
      const value_t mirrored = {v[count - k].r, (int16_t)-v[count - k].i};
      const value_t a = part(v[k], 2), b = part(mirrored, 2), sum = plus(a, b);
      const value_t turned = times(minus(a, b), half[k - 1]);
      made[k].r = (int16_t)((sum.r + turned.r) >> 1);
      made[k].i = (int16_t)((sum.i + turned.i) >> 1);
      made[count - k].r = (int16_t)((sum.r - turned.r) >> 1);
      made[count - k].i = (int16_t)((turned.i - sum.i) >> 1);
    }
  }
}

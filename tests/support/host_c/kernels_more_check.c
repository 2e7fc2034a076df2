/* Kernels beyond those of kernels_mve_check.c against the plain C ones: see kernels_check.h. With OVER, convolutions
 * also write over their input while they run, as networks of a core are placed. */
#include "kernels_check.h"

typedef void conv_t(const int8_t *, const int8_t *, const int32_t *, const int32_t *, const int32_t *, int8_t *,
                    const na_conv2d_t *);
typedef void offset_t(const int8_t *, const int8_t *, const int32_t *, const int32_t *, const int32_t *, int8_t *,
                      const na_conv2d_offset_t *);
typedef void pool_t(const int8_t *, int8_t *, const na_pool_t *);
typedef void requantize_t(const int8_t *, int8_t *, const na_requantize_t *);

offset_t c_conv2d_offset_s8, c_depthwise_conv2d_offset_s8;
conv_t c_conv2d_s8, c_depthwise_conv2d_s8;
pool_t c_max_pool_s8, c_average_pool_s8, c_average_pool_half_up_s8;
void c_softmax_s8(const int8_t *, int8_t *, const na_softmax_t *);
void c_table_s8(const int8_t *, const int8_t *, int8_t *, const na_table_t *);
void c_mean_s8(const int8_t *, int8_t *, const na_mean_t *);
void c_move_8(const uint8_t *, uint8_t *, const na_move_t *);
void c_copy_8(const uint8_t *, uint8_t *, const na_bytes_t *);
void c_flip_sign_8(const uint8_t *, uint8_t *, const na_bytes_t *);
void c_resize_nearest_s8(const int8_t *, const int32_t *, const int32_t *, int8_t *, const na_resize_nearest_t *);
void c_resize_bilinear_s8(const int8_t *, int8_t *, const na_resize_bilinear_t *);
void c_transpose_conv_s8(const int8_t *, const int8_t *, const int32_t *, const int32_t *, const int32_t *, int8_t *,
                         const na_transpose_conv_t *);
void c_requantize_s8_s8(const int8_t *, int8_t *, const na_requantize_t *);
void c_requantize_s8_u8(const int8_t *, uint8_t *, const na_requantize_t *);
void c_requantize_u8_s8(const uint8_t *, int8_t *, const na_requantize_t *);
void c_requantize_u8_u8(const uint8_t *, uint8_t *, const na_requantize_t *);
int main(void);

/* Factors of `count` channels, mostly such that outputs spread over the range. */
static int32_t *factors(int32_t count) {
  int32_t *made = room(count * 4, 4);
  for (int32_t i = 0; i < count; i++) made[i] = factor();
  return made;
}

static int32_t *shifts(int32_t count, int32_t terms) {
  const int32_t usual = 32 - __builtin_clz((uint32_t)terms) / 2;
  return one_in(6) ? words(count, -31, 30) : words(count, usual - 27, usual - 22);
}

/* Sometimes the output takes the place of the input: the place of both, or NULL. */
static int8_t *in_place(const int8_t *input, int32_t count) {
  if (!one_in(3)) return NULL;
  memcpy(outputs[1], input, (size_t)count);
  return outputs[1];
}

/* ---- convolutions */

static na_conv2d_t window_layer(int depthwise) {
  na_conv2d_t p = {0};
  p.batches = between(1, 2);
  p.kernel_height = between(1, 4), p.kernel_width = between(1, 4);
  if (one_in(4)) p.kernel_height = p.kernel_width = 1;
  p.stride_height = between(1, 3), p.stride_width = between(1, 3);
  p.dilation_height = one_in(4) ? 2 : 1, p.dilation_width = one_in(4) ? between(2, 3) : 1;
  p.input_height = between(1, 7), p.input_width = between(1, 7);
  p.output_height = between(1, 5), p.output_width = between(1, 5);
  p.pad_top = between(0, p.kernel_height), p.pad_left = between(0, p.kernel_width);
  p.input_offset = -zero_point(), p.output_offset = zero_point();
  limits(&p.activation_min, &p.activation_max);
  if (depthwise) {
    p.input_channels = between(1, 36), p.kernel_channels = 1;
    p.output_channels = p.input_channels * (one_in(3) ? between(2, 9) : 1);
    return p;
  }
  const int32_t groups = one_in(4) ? between(2, 4) : 1;
  p.kernel_channels = one_in(8) ? between(140, 320) : one_in(3) ? between(1, 4) : between(1, 40);
  p.input_channels = groups * p.kernel_channels;
  p.output_channels = groups * (one_in(8) ? between(60, 140) : between(1, 20));
  return p;
}

static void offset_convolution(result_t *r, int depthwise, offset_t *plain, offset_t *other) {
  new_layer();
  na_conv2d_offset_t p = {window_layer(depthwise), -zero_point()};
  const na_conv2d_t *w = &p.window;
  const int32_t taps = w->kernel_height * w->kernel_width;
  const int32_t count = w->batches * w->output_height * w->output_width * w->output_channels;
  const int8_t *input = bytes(w->batches * w->input_height * w->input_width * w->input_channels);
  const int8_t *filter = bytes(taps * w->output_channels * w->kernel_channels);
  const int32_t *bias = bias_of(w->output_channels);
  const int32_t *multiplier = factors(w->output_channels);
  const int32_t *shift = shifts(w->output_channels, taps * w->kernel_channels);
  make_outputs(count);
  plain(input, filter, bias, multiplier, shift, outputs[0], &p);
  other(input, filter, bias, multiplier, shift, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

#ifdef OVER
static int32_t clamp(int32_t x, int32_t size) { return x < 0 ? 0 : x > size ? size : x; }

/* How many bytes an output must begin below its input: the end of each position less what it or a later one reads first
 * (the bytes in front of a picture's edge count as its first). */
static int32_t distance(const na_conv2d_t *p) {
  int32_t worst = 0, first = p->batches * p->input_height * p->input_width * p->input_channels;
  int32_t end = p->batches * p->output_height * p->output_width * p->output_channels;
  for (int32_t b = p->batches - 1; b >= 0; b--)
    for (int32_t y = p->output_height - 1; y >= 0; y--)
      for (int32_t x = p->output_width - 1; x >= 0; x--, end -= p->output_channels) {
        const int32_t row = clamp(y * p->stride_height - p->pad_top, p->input_height);
        const int32_t column = clamp(x * p->stride_width - p->pad_left, p->input_width);
        const int32_t at = ((b * p->input_height + row) * p->input_width + column) * p->input_channels;
        if (at < first) first = at;
        if (end - first > worst) worst = end - first;
      }
  return worst;
}

/* The output where a planner may put it: the plain kernel's result with memory of its own is the measure. */
static void over_input(result_t *r, int depthwise, conv_t *plain, conv_t *other) {
  new_layer();
  const na_conv2d_t p = window_layer(depthwise);
  const int32_t taps = p.kernel_height * p.kernel_width;
  const int32_t count = p.batches * p.output_height * p.output_width * p.output_channels;
  const int32_t size = p.batches * p.input_height * p.input_width * p.input_channels;
  const int8_t *input = bytes(size);
  const int8_t *filter = bytes(taps * p.output_channels * p.kernel_channels);
  const int32_t *bias = bias_of(p.output_channels);
  const int32_t *multiplier = factors(p.output_channels);
  const int32_t *shift = shifts(p.output_channels, taps * p.kernel_channels);
  make_outputs(count);
  plain(input, filter, bias, multiplier, shift, outputs[0], &p);
  int8_t *place = outputs[1] + count + 2 * GUARD, *moved = place + distance(&p);
  memcpy(moved, input, (size_t)size);
  other(moved, filter, bias, multiplier, shift, place, &p);
  memcpy(outputs[1], place, (size_t)count);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}
#endif

static void transpose_conv(result_t *r) {
  new_layer();
  na_transpose_conv_t p = {0};
  p.batches = between(1, 2);
  p.input_height = between(1, 5), p.input_width = between(1, 5), p.input_channels = between(1, 40);
  p.output_height = between(1, 9), p.output_width = between(1, 9), p.output_channels = between(1, 20);
  p.kernel_height = between(1, 5), p.kernel_width = between(1, 5);
  p.stride_height = between(1, 3), p.stride_width = between(1, 3);
  if (one_in(5)) p.output_channels = between(20, 70);
  if (one_in(12)) p.kernel_height = p.kernel_width = between(11, 13), p.input_channels = between(1, 5);
  p.pad_top = between(0, p.kernel_height - 1), p.pad_left = between(0, p.kernel_width - 1);
  p.input_offset = -zero_point(), p.output_offset = zero_point();
  p.filter_offset = one_in(2) ? 0 : -zero_point();
  limits(&p.activation_min, &p.activation_max);
  const int32_t taps = p.kernel_height * p.kernel_width;
  const int32_t count = p.batches * p.output_height * p.output_width * p.output_channels;
  const int8_t *input = bytes(p.batches * p.input_height * p.input_width * p.input_channels);
  const int8_t *filter = bytes(taps * p.output_channels * p.input_channels);
  const int32_t *bias = bias_of(p.output_channels);
  const int32_t *multiplier = factors(p.output_channels), *shift = shifts(p.output_channels, taps * p.input_channels);
  make_outputs(count);
  c_transpose_conv_s8(input, filter, bias, multiplier, shift, outputs[0], &p);
  na_transpose_conv_s8(input, filter, bias, multiplier, shift, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

/* ---- windows and sums */

/* Kernel, stride and padding of an axis, each window with a value at least; the number of windows. */
static int32_t axis_of(int32_t size, int32_t *kernel, int32_t *stride, int32_t *padding) {
  *kernel = between(1, size < 5 ? size : one_in(6) ? size : 5);
  *stride = between(1, 3);
  *padding = between(0, *kernel - 1);
  const int32_t behind = between(0, *kernel - 1);
  const int32_t windows = (size + *padding + behind - *kernel) / *stride + 1;
  return windows > 6 ? 6 : windows;
}

static void pool(result_t *r, pool_t *plain, pool_t *other) {
  new_layer();
  na_pool_t p = {0};
  p.batches = between(1, 2), p.channels = one_in(4) ? between(1, 70) : between(1, 20);
  p.input_height = one_in(8) ? between(16, 30) : between(1, 8);
  p.input_width = one_in(20) ? between(256, 600) : one_in(8) ? between(16, 30) : between(1, 8);
  p.output_height = axis_of(p.input_height, &p.kernel_height, &p.stride_height, &p.pad_top);
  p.output_width = axis_of(p.input_width, &p.kernel_width, &p.stride_width, &p.pad_left);
  if (one_in(25)) { /* more values than a quotient by multiplication takes */
    p.batches = 1, p.channels = between(1, 9);
    p.input_height = p.kernel_height = p.input_width = p.kernel_width = between(62, 68);
    p.output_height = p.output_width = 1, p.pad_top = p.pad_left = 0;
  }
  limits(&p.activation_min, &p.activation_max);
  const int32_t count = p.batches * p.output_height * p.output_width * p.channels;
  const int8_t *input = bytes(p.batches * p.input_height * p.input_width * p.channels);
  make_outputs(count);
  plain(input, outputs[0], &p);
  other(input, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

static void mean(result_t *r) {
  new_layer();
  na_mean_t p = {.kept = {1, 1, 1}, .summed = {1, 1, 1}};
  int32_t stride = 1, count = 1, values = 1, kept = NA_MEAN_RANK, summed = NA_MEAN_RANK;
  for (int32_t axis = 0; axis < 2 * NA_MEAN_RANK && (kept || summed); axis++) {
    const int32_t keep = kept && (!summed || one_in(2));
    const int32_t size = axis == 0 ? between(1, 40) : one_in(2) ? 1 : one_in(20) ? between(256, 600) : between(1, 6);
    if (stride * size > 60000) break;
    if (keep) p.kept[--kept] = size, p.kept_stride[kept] = stride, count *= size;
    else p.summed[--summed] = size, p.summed_stride[summed] = stride, values *= size;
    stride *= size;
  }
  const int32_t zero = zero_point();
  p.sum_offset = -zero * values, p.output_offset = zero_point();
  p.multiplier = factor(), p.shift = one_in(6) ? between(-31, 30) : 1 - (32 - __builtin_clz((uint32_t)values));
  const int8_t *input = bytes(stride);
  make_outputs(count);
  c_mean_s8(input, outputs[0], &p);
  na_mean_s8(input, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

static void softmax(result_t *r) {
  new_layer();
  na_softmax_t p = {0};
  p.rows = between(1, 3), p.depth = one_in(8) ? between(100, 1100) : between(1, 40);
  p.multiplier = between(1 << 30, INT32_MAX), p.shift = between(14, 28);
  p.minimum_difference = -(int32_t)(((int64_t)31 << 26) >> p.shift);
  const int32_t count = p.rows * p.depth;
  const int8_t *input = bytes(count);
  make_outputs(count);
  c_softmax_s8(input, outputs[0], &p);
  na_softmax_s8(input, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

/* ---- one value after the other */

static void table(result_t *r) {
  new_layer();
  const na_table_t p = {between(1, 100)};
  const int8_t *input = bytes(p.count), *entries = bytes(256);
  make_outputs(p.count);
  c_table_s8(input, entries, outputs[0], &p);
  int8_t *both = in_place(input, p.count);
  na_table_s8(both ? both : input, entries, outputs[1], &p);
  compare(r, p.count, (const int32_t *)&p, sizeof p / 4);
}

static void requantize(result_t *r, int32_t from_unsigned, int32_t to_unsigned, requantize_t *plain,
                       requantize_t *other) {
  new_layer();
  na_requantize_t p = {0};
  const int32_t low = to_unsigned ? 0 : -128;
  p.count = one_in(8) ? between(900, 1300) : between(1, 60);
  p.input_offset = -(zero_point() + (from_unsigned ? 128 : 0)), p.output_offset = zero_point() + low + 128;
  p.multiplier = factor(), p.shift = one_in(6) ? between(-31, 20) : between(-1, 2);
  p.activation_min = one_in(3) ? between(low, low + 100) : low;
  p.activation_max = one_in(3) ? between(p.activation_min, low + 255) : low + 255;
  const int8_t *input = bytes(p.count);
  make_outputs(p.count);
  plain(input, outputs[0], &p);
  int8_t *both = in_place(input, p.count);
  other(both ? both : input, outputs[1], &p);
  compare(r, p.count, (const int32_t *)&p, sizeof p / 4);
}

static void flip_or_copy(result_t *r, int32_t flip) {
  new_layer();
  const na_bytes_t p = {between(1, 100)};
  const int8_t *input = bytes(p.count);
  make_outputs(p.count);
  int8_t *both = in_place(input, p.count);
  (flip ? c_flip_sign_8 : c_copy_8)((const uint8_t *)input, (uint8_t *)outputs[0], &p);
  (flip ? na_flip_sign_8 : na_copy_8)((const uint8_t *)(both ? both : input), (uint8_t *)outputs[1], &p);
  compare(r, p.count, (const int32_t *)&p, sizeof p / 4);
}

/* ---- movement */

/* Dimensions in another order, some of them backwards, the last one far apart now and then, in a part of the output. */
static void move(result_t *r) {
  new_layer();
  na_move_t p = {0};
  const int32_t far = one_in(8);
  p.block = one_in(2) ? 1 : between(1, 40);
  int32_t order[NA_MOVE_RANK], steps[NA_MOVE_RANK], sizes[NA_MOVE_RANK];
  int32_t input_bytes = p.block, start = 0;
  for (int32_t i = NA_MOVE_RANK - 1; i >= 0; i--) {
    order[i] = i;
    sizes[i] = i == NA_MOVE_RANK - 1 ? between(1, 20) : one_in(2) || input_bytes > 20000 ? 1 : between(1, 4);
    steps[i] = input_bytes;
    input_bytes *= sizes[i];
    if (far && i == NA_MOVE_RANK - 1) input_bytes += 10000;
  }
  for (int32_t i = NA_MOVE_RANK - 1; i > 0 && !one_in(3); i--) {
    const int32_t j = between(0, i), kept = order[i];
    order[i] = order[j], order[j] = kept;
  }
  int32_t reach = p.block + (one_in(3) ? between(0, 9) : 0);
  for (int32_t i = NA_MOVE_RANK - 1; i >= 0; i--) {
    p.shape[i] = sizes[order[i]];
    p.input_step[i] = steps[order[i]];
    if (one_in(5)) start += p.input_step[i] * (p.shape[i] - 1), p.input_step[i] = -p.input_step[i];
    p.output_step[i] = reach;
    reach *= p.shape[i];
  }
  const int8_t *input = bytes(input_bytes);
  make_outputs(reach);
  memset(outputs[0], 7, (size_t)reach); /* what lies between is left alone */
  memset(outputs[1], 7, (size_t)reach);
  c_move_8((const uint8_t *)input + start, (uint8_t *)outputs[0], &p);
  na_move_8((const uint8_t *)input + start, (uint8_t *)outputs[1], &p);
  compare(r, reach, (const int32_t *)&p, sizeof p / 4);
}

static int32_t *places(int32_t count, int32_t size) {
  int32_t *made = room(count * 4, 4);
  for (int32_t i = 0; i < count; i++) made[i] = one_in(4) ? between(0, size - 1) : i * size / count;
  return made;
}

static void resize_nearest(result_t *r) {
  new_layer();
  na_resize_nearest_t p = {0};
  p.batches = between(1, 2), p.channels = between(1, 40);
  p.input_height = between(1, 6), p.input_width = between(1, 6);
  p.output_height = between(1, 9), p.output_width = between(1, 9);
  const int32_t count = p.batches * p.output_height * p.output_width * p.channels;
  const int8_t *input = bytes(p.batches * p.input_height * p.input_width * p.channels);
  const int32_t *rows = places(p.output_height, p.input_height), *columns = places(p.output_width, p.input_width);
  make_outputs(count);
  c_resize_nearest_s8(input, rows, columns, outputs[0], &p);
  na_resize_nearest_s8(input, rows, columns, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

/* As the compiler does: by the sizes, by the corners, or by the centers of pixels. */
static void scale_of(int32_t from, int32_t to, int32_t kind, int32_t *scale, int32_t *offset) {
  const int32_t corners = kind == 1 && to > 1;
  *scale = corners ? (((from - 1) << 10) + (to - 1) / 2) / (to - 1) : ((from << 10) + to / 2) / to;
  *offset = kind == 2 ? *scale / 2 - 512 : 0;
}

static void resize_bilinear(result_t *r) {
  new_layer();
  na_resize_bilinear_t p = {0};
  p.batches = between(1, 2), p.channels = between(1, 40);
  p.input_height = between(1, 6), p.input_width = between(1, 6);
  p.output_height = between(1, 9), p.output_width = between(1, 9);
  const int32_t kind = between(0, 2);
  scale_of(p.input_height, p.output_height, kind, &p.row_scale, &p.row_offset);
  scale_of(p.input_width, p.output_width, kind, &p.column_scale, &p.column_offset);
  const int32_t count = p.batches * p.output_height * p.output_width * p.channels;
  const int8_t *input = bytes(p.batches * p.input_height * p.input_width * p.channels);
  make_outputs(count);
  c_resize_bilinear_s8(input, outputs[0], &p);
  na_resize_bilinear_s8(input, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

int main(void) {
  result_t results[] = {{.name = "conv2d_offset_s8"}, {.name = "depthwise_conv2d_offset_s8"},
                        {.name = "transpose_conv_s8"}, {.name = "max_pool_s8"}, {.name = "average_pool_s8"},
                        {.name = "average_pool_half_up_s8"}, {.name = "mean_s8"}, {.name = "softmax_s8"},
                        {.name = "table_s8"}, {.name = "requantize_s8_s8"}, {.name = "requantize_s8_u8"},
                        {.name = "requantize_u8_s8"}, {.name = "requantize_u8_u8"}, {.name = "flip_sign_8"},
                        {.name = "copy_8"}, {.name = "move_8"}, {.name = "resize_nearest_s8"},
                        {.name = "resize_bilinear_s8"}, {.name = "over_conv2d"}, {.name = "over_depthwise_conv2d"}};
  unsigned number = sizeof results / sizeof *results;
  console_init();
  for (int i = 0; i < LAYERS; i++) {
    result_t *r = results;
    offset_convolution(r++, 0, c_conv2d_offset_s8, na_conv2d_offset_s8);
    offset_convolution(r++, 1, c_depthwise_conv2d_offset_s8, na_depthwise_conv2d_offset_s8);
    transpose_conv(r++);
    pool(r++, c_max_pool_s8, na_max_pool_s8);
    pool(r++, c_average_pool_s8, na_average_pool_s8);
    pool(r++, c_average_pool_half_up_s8, na_average_pool_half_up_s8);
    mean(r++);
    softmax(r++);
    table(r++);
    requantize(r++, 0, 0, c_requantize_s8_s8, na_requantize_s8_s8);
    requantize(r++, 0, 1, (requantize_t *)c_requantize_s8_u8, (requantize_t *)na_requantize_s8_u8);
    requantize(r++, 1, 0, (requantize_t *)c_requantize_u8_s8, (requantize_t *)na_requantize_u8_s8);
    requantize(r++, 1, 1, (requantize_t *)c_requantize_u8_u8, (requantize_t *)na_requantize_u8_u8);
    flip_or_copy(r++, 1);
    flip_or_copy(r++, 0);
    move(r++);
    resize_nearest(r++);
    resize_bilinear(r++);
#ifdef OVER
    over_input(r++, 0, c_conv2d_s8, na_conv2d_s8);
    over_input(r++, 1, c_depthwise_conv2d_s8, na_depthwise_conv2d_s8);
#endif
    number = (unsigned)(r - results);
  }
  for (unsigned i = 0; i < number; i++) report(&results[i]);
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}

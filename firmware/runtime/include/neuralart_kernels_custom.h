/* Kernels of operators that TensorFlow Lite calls custom: selection of boxes, and features of speech.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_CUSTOM_H
#define NEURALART_KERNELS_CUSTOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- TFLite_Detection_PostProcess: encodings [boxes][columns] (y, x, height, width), scores [boxes][background +
 * classes], anchors [boxes][4]; each of them int8, or float32 where its factor is 0 */

typedef struct {
  int32_t boxes, columns, classes, background; /* background: 1 if the first score of a box is that of none */
  int32_t most;      /* detections */
  int32_t per_box;   /* classes of a detection; an output row for each */
  int32_t per_class; /* 0: a box counts by its best class; else each class is searched for so many, per_box is 1 */
  float score, overlap; /* least score, largest intersection over union */
  float y_scale, x_scale, height_scale, width_scale;
  float encoding_factor, score_factor, anchor_factor;
  int32_t encoding_zero, score_zero, anchor_zero;
} na_detections_t;

/* corners [most * per_box][4] (top, left, bottom, right), classes and values [most * per_box], count [1]: how many are
 * found; rows behind them are 0. working: words of 4 bytes, 2 * boxes + 2 * classes + 4 * most; by classes, with
 * s = min(boxes, per_class), 2 * boxes + 2 * most + 6 * s. */
void na_detections(const uint8_t *encodings, const uint8_t *scores, const uint8_t *anchors, float *corners,
                   float *classes, float *values, float *count, void *working, const na_detections_t *p);

/* ---- features of speech, as TensorFlow Lite Micro computes them */

typedef struct {
  int32_t rows, length, shift;
} na_window_t;

/* Each row times the window, shifted to the right. */
void na_window_s16(const int16_t *input, const int16_t *window, int16_t *output, const na_window_t *p);

/* The largest left shift, the same for all, that keeps 15 bits; the shift is an output. */
void na_auto_scale_s16(const int16_t *input, int16_t *output, int32_t *bits, const na_bytes_t *p);

typedef struct {
  int32_t rows, length; /* of the input; zeros follow */
  int32_t size; /* of the transform: a power of two from 4 on */
} na_rfft_t;

/* output [rows][size / 2 + 1][2]: real and imaginary, divided by size. turns [size / 2][2], half_turns [size / 4][2]:
 * powers of roots of one, in steps of 2^-15; working: 2 * size bytes. */
void na_rfft_s16(const int16_t *input, const int16_t *turns, const int16_t *half_turns, int16_t *output, void *working,
                 const na_rfft_t *p);

typedef struct {
  int32_t count, first, end;
} na_energy_t;

/* Squares of the complex values first .. end - 1; 0 elsewhere. */
void na_energy_s16(const int16_t *input, uint32_t *output, const na_energy_t *p);

/* Each channel: weighted energies of its band, and the rest of those of the band before. Rows of bands, one more than
 * channels: where the energies begin, where the weights do, how many there are. */
void na_filter_bank_u32(const uint32_t *input, const int16_t *weights, const int16_t *rest, const int16_t *starts,
                        const int16_t *weight_starts, const int16_t *widths, uint64_t *output, const na_bytes_t *p);

/* To nearest, shifted to the right by a number of bits that is computed. */
void na_square_root_u64(const uint64_t *input, const int32_t *bits, uint32_t *output, const na_bytes_t *p);

typedef struct {
  int32_t count;
  uint32_t smoothing[2], kept[2]; /* of the new value and of the old noise, for channels of even and odd numbers */
  uint32_t least; /* what remains at least of a channel */
  int32_t smoothing_bits, bits, clamp;
} na_subtraction_t;

/* state: the noise of each channel, which noise gets a copy of. */
void na_subtraction_u32(const uint32_t *input, uint32_t *state, uint32_t *output, uint32_t *noise,
                        const na_subtraction_t *p);

typedef struct {
  int32_t count, shift;
} na_gain_t;

/* Gain by noise (a table of 125 numbers: parabolas between powers of two), then a root-like curve. */
void na_gain_u32(const uint32_t *input, const uint32_t *noise, const int16_t *table, uint32_t *output,
                 const na_gain_t *p);

typedef struct {
  int32_t count, bits;
  uint32_t scale;
} na_log_t;

/* scale * log(input * 2^bits), by a table of 130 differences of log2 to a straight line. */
void na_log_u32(const uint32_t *input, const uint16_t *table, int16_t *output, const na_log_t *p);

#ifdef __cplusplus
}
#endif

#endif

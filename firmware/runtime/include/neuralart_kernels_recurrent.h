/* Kernels with a state: it is an argument that the kernel changes, and that keeps its value until the next inference.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_RECURRENT_H
#define NEURALART_KERNELS_RECURRENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- SVDF: input weights [filters][inputs], time weights and state [filters][memory], filters = units * rank */

typedef struct {
  int32_t batches, inputs, units, rank, memory;
  int32_t input_offset; /* - zero point of the input */
  int32_t state_multiplier, state_shift; /* from sums over the input to the state */
  int32_t output_multiplier, output_shift, output_offset; /* from sums over the time to the output */
  int32_t state_offset; /* zero point of an int8 state */
} na_svdf_t;

void na_svdf_s8(const int8_t *input, const int8_t *weights, const int16_t *time_weights, const int32_t *bias,
                int16_t *state, int8_t *output, const na_svdf_t *p);
void na_svdf_s8_s8(const int8_t *input, const int8_t *weights, const int8_t *time_weights, const int32_t *bias,
                   int8_t *state, int8_t *output, const na_svdf_t *p);

/* ---- LSTM: one row for each gate in all weights, in the order forget, cell, output, input. A cell has int16 values;
 * gates have 3 integer bits before their function, none behind it. */

typedef struct {
  int32_t input_multiplier, input_shift;
  int32_t recurrent_multiplier, recurrent_shift;
  int32_t peephole_multiplier, peephole_shift;
  int32_t norm_multiplier, norm_shift; /* of the normalized sum, times 2^12 */
  int32_t least_variance; /* stands for a variance of zero */
} na_lstm_gate_t;

typedef struct {
  int32_t batches, steps, inputs, cells, outputs;
  int32_t batch_step, time_step; /* rows of the input (and of the output) from one batch, or time, to the next */
  int32_t gates; /* 4, or 3: the input gate is then one minus the forget gate */
  int32_t cell_bits; /* integer bits of the cell, 0 .. 6 */
  int32_t cell_clip, output_clip; /* of stored values to both sides, 0: none; the latter of a projection */
  int32_t hidden_multiplier, hidden_shift, hidden_offset;
  int32_t output_multiplier, output_shift, output_offset; /* of a projection */
  na_lstm_gate_t gate[4];
} na_lstm_t;

/* input_weights [gates][cells][inputs], recurrent_weights [gates][cells][outputs], bias [2][gates][cells] (of the sums
 * over the input, and over the last output), peephole [gates][cells] (that of the cell gate is not used) or NULL,
 * norm and norm_bias [gates][cells] or NULL, projection [outputs][cells] and projection_bias [outputs] or NULL.
 * output_state [batches][outputs], cell_state [batches][cells]; working: 2 * gates * cells bytes, and cells more for a
 * projection. */
void na_lstm_s8(const int8_t *input, const int8_t *input_weights, const int8_t *recurrent_weights, const int32_t *bias,
                const int16_t *peephole, const int16_t *norm, const int32_t *norm_bias, const int8_t *projection,
                const int32_t *projection_bias, int8_t *output_state, int16_t *cell_state, int8_t *output,
                void *working, const na_lstm_t *p);

/* ---- the same in float32 */

typedef struct {
  int32_t batches, inputs, units, rank, memory;
  float low, high; /* of the fused activation */
} na_svdf_f32_t;

void na_svdf_f32(const float *input, const float *weights, const float *time_weights, const float *bias, float *state,
                 float *output, const na_svdf_f32_t *p);

typedef struct {
  int32_t batches, steps, inputs, cells, outputs;
  int32_t batch_step, time_step, gates; /* as those of na_lstm_t */
  float cell_clip, output_clip; /* to both sides, 0: none */
} na_lstm_f32_t;

typedef struct {
  const float *input, *recurrent, *bias, *peephole, *norm, *projection, *projection_bias;
} na_lstm_constants_t;

/* Shapes as those of na_lstm_s8; bias [gates][cells]; working: 4 * gates * cells bytes. */
void na_lstm_f32(const float *input, const float *input_weights, const float *recurrent_weights, const float *bias,
                 const float *peephole, const float *norm, const float *projection, const float *projection_bias,
                 float *output_state, float *cell_state, float *output, void *working, const na_lstm_f32_t *p);

/* ---- a layer whose output is a part of its next input: weights [units][inputs], recurrent_weights [units][units] */

typedef struct {
  int32_t batches, steps, inputs, units;
  int32_t batch_step, time_step; /* as those of na_lstm_t */
  int32_t function; /* 0: none, 1: relu, 2: tanh */
} na_rnn_f32_t;

void na_rnn_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                float *state, float *output, const na_rnn_f32_t *p);

/* ---- whole sequences, as ONNX has them: the state is a result, and begins as `initial`, or with zeros (NULL). A time
 * step below zero: backwards. */

void na_sequence_lstm_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                          const float *peephole, const float *initial, const float *initial_cells, float *state,
                          float *cells, float *output, void *working, const na_lstm_f32_t *p);
void na_sequence_rnn_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                         const float *initial, float *state, float *output, const na_rnn_f32_t *p);

typedef struct {
  int32_t batches, steps, inputs, units;
  int32_t batch_step, time_step; /* as those of na_lstm_t */
  int32_t after; /* 1: the state is reset behind its product with weights */
} na_gru_f32_t;

/* weights [3][units][inputs], recurrent_weights [3][units][units] (kept, reset, new), bias [4][units] (the last one is
 * that of the state behind its product); working: 12 * units bytes. */
void na_sequence_gru_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                         const float *initial, float *state, float *output, void *working, const na_gru_f32_t *p);

#ifdef __cplusplus
}
#endif

#endif

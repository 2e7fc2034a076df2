/* What a generated CPU network tells the code that all of them share (firmware/runtime/legacy/legacy_network.c). */
#ifndef LEGACY_NETWORK_H
#define LEGACY_NETWORK_H

#include "ai_platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a tensor, working memory or a constant is. Set when the application has given its buffers. */
typedef struct {
  ai_u8 *data;
} na_array_t;

/* An input or output: offset bytes into an array. */
typedef struct {
  na_array_t *array;
  ai_u32 offset;
  ai_u32 bytes;
  bool provided; /* by the application, for each inference; else it lies in the activations */
} na_port_t;

typedef struct {
  const char *name;
  const char *signature;
  ai_u64 macc;
  void (*const *layers)(void);
  ai_u32 layer_count;
  /* Activation buffers: what is given goes into the map, then configure sets the arrays. */
  ai_ptr *activations;
  const ai_u32 *activation_sizes;
  ai_u32 activation_count;
  void (*configure_activations)(void);
  /* Weights: likewise; the table has what is linked with the network, between two markers. */
  ai_ptr *weights;
  const ai_u32 *weight_sizes;
  ai_u32 weight_count;
  ai_handle *weights_table;
  void (*configure_weights)(void);
  const na_port_t *inputs;
  const na_port_t *outputs;
  ai_buffer *input_buffers;
  ai_buffer *output_buffers;
  ai_u16 input_count;
  ai_u16 output_count;
} na_network_t;

/* The one instance of a network; its address is the handle. */
typedef struct {
  const na_network_t *network;
  ai_error error; /* the first one since it was asked for */
  bool created;
  bool ready;
} na_instance_t;

ai_error na_network_get_error(na_instance_t *instance, ai_handle handle);
ai_error na_network_create(na_instance_t *instance, ai_handle *handle);
ai_error na_network_create_and_init(na_instance_t *instance, ai_handle *handle, const ai_handle activations[],
                                    const ai_handle weights[]);
ai_bool na_network_init(na_instance_t *instance, ai_handle handle, const ai_network_params *params);
ai_handle na_network_destroy(na_instance_t *instance, ai_handle handle);
ai_bool na_network_get_report(na_instance_t *instance, ai_handle handle, ai_network_report *report);
ai_buffer *na_network_inputs_get(na_instance_t *instance, ai_handle handle, ai_u16 *count);
ai_buffer *na_network_outputs_get(na_instance_t *instance, ai_handle handle, ai_u16 *count);
/* Batches that were computed: 1, or 0 after an error. */
ai_i32 na_network_run(na_instance_t *instance, ai_handle handle, const ai_buffer *input, ai_buffer *output);

#ifdef __cplusplus
}
#endif

#endif

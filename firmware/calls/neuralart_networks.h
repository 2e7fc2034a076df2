/* Networks by name, the same calls for all of them: those that run on the NPU and those that run on the core.
 *
 *   const neuralart_network_t *net = neuralart_find("digits");
 *   int error = neuralart_init(net);
 *   memcpy(neuralart_input(net, "image")->data, image, sizeof image);
 *   if (error == 0) error = neuralart_run(net);
 *   if (error != 0) puts(neuralart_error_text(error));
 *
 * The tables are in neuralart_networks.c, which is generated for the networks of a program. Nothing is allocated. The
 * calls are for one thread at a time. */
#ifndef NEURALART_NETWORKS_H
#define NEURALART_NETWORKS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Smaller numbers are errors of npu_memory.h. */
enum {
  NEURALART_E_NONE_SUCH = -1, /* NULL instead of a network: neuralart_find knows no such name */
  NEURALART_E_REFUSED = -2,   /* the runtime refuses the network, or its buffers */
  NEURALART_E_NOT_READY = -3, /* neuralart_init was not called, or failed */
  NEURALART_E_FAILED = -4     /* the inference failed */
};

typedef struct {
  const char *name; /* of the tensor in the model */
  const char *type; /* of an element: "int8", "float32" */
  void *data;       /* NULL before neuralart_init */
  uint32_t bytes;
  float scale;        /* value = scale * (element - zero_point); 0: not quantized */
  int32_t zero_point;
} neuralart_tensor_t;

typedef struct {
  const char *name;
  neuralart_tensor_t *inputs, *outputs; /* in the order of the model */
  unsigned input_count, output_count;
  int (*init)(void);
  int (*run)(void);
} neuralart_network_t;

extern const neuralart_network_t neuralart_networks[];
extern const unsigned neuralart_network_count;

/* A sentence for what neuralart_init and neuralart_run return. */
const char *neuralart_error_text(int error);

/* A network by its name; NULL: there is none. */
static inline const neuralart_network_t *neuralart_find(const char *name) {
  for (unsigned n = 0; n < neuralart_network_count; n++) {
    if (strcmp(neuralart_networks[n].name, name) == 0) {
      return &neuralart_networks[n];
    }
  }
  return NULL;
}

/* Brings memories and runtime up and makes a network ready. 0 or an error. */
static inline int neuralart_init(const neuralart_network_t *network) {
  return network == NULL ? NEURALART_E_NONE_SUCH : network->init();
}

/* One inference. 0 or an error. */
static inline int neuralart_run(const neuralart_network_t *network) {
  return network == NULL ? NEURALART_E_NONE_SUCH : network->run();
}

static inline neuralart_tensor_t *neuralart_tensor(neuralart_tensor_t *tensors, unsigned count, const char *name) {
  for (unsigned n = 0; n < count; n++) {
    if (name == NULL || strcmp(tensors[n].name, name) == 0) {
      return &tensors[n];
    }
  }
  return NULL;
}

/* An input by its name; NULL as name: the first one. NULL: there is none. */
static inline neuralart_tensor_t *neuralart_input(const neuralart_network_t *network, const char *name) {
  return network == NULL ? NULL : neuralart_tensor(network->inputs, network->input_count, name);
}

/* The same for outputs. */
static inline neuralart_tensor_t *neuralart_output(const neuralart_network_t *network, const char *name) {
  return network == NULL ? NULL : neuralart_tensor(network->outputs, network->output_count, name);
}

#ifdef __cplusplus
}
#endif

#endif

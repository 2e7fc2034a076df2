/* The networks of this firmware. The table is generated (app_networks.c); an application that loads its networks
 * (firmware/app_loader) fills it while it starts. */
#ifndef APP_NETWORKS_H
#define APP_NETWORKS_H

#include "ll_aton.h"

typedef struct {
  const char *name;
  NN_Instance_TypeDef *instance;
  const char *abi_stamp; /* as in the network's network.json; of a loaded one: image_stamp.h */
} app_network_t;

#ifdef NEURALART_LOAD_TABLE
extern app_network_t app_networks[];
extern unsigned app_network_count;
#else
extern const app_network_t app_networks[];
extern const unsigned app_network_count;
#endif

/* Memory for inputs and outputs that the networks do not allocate themselves; each takes whole lines of 32 bytes. */
extern uint8_t app_user_io[];
extern const uint32_t app_user_io_bytes;

#endif

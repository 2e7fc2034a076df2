/* Frames between this firmware and the host program, over the console (docs/reference/host-link.md). */
#ifndef HOST_LINK_H
#define HOST_LINK_H

#include <stdint.h>

#define HOST_LINK_VERSION 1

enum {
  HOST_LINK_E_CRC = 1,     /* a frame arrived damaged */
  HOST_LINK_E_TYPE = 2,    /* unknown frame type */
  HOST_LINK_E_NETWORK = 3, /* no network of this number */
  HOST_LINK_E_SIZE = 4,    /* not the size that this frame must have */
  HOST_LINK_E_MEMORY = 5,  /* npu_memory_init failed */
  HOST_LINK_E_INIT = 6,    /* the runtime refuses a network */
  HOST_LINK_E_BUFFERS = 7, /* buffers of the application */
  HOST_LINK_E_TABLE = 8,   /* the load table says no models */
  HOST_LINK_E_MODEL = 9,   /* the loader refuses a model */
  HOST_LINK_E_PARAMS = 10  /* the params of a model are damaged */
};

void host_link_error(uint16_t code, const char *subject, const char *text);
/* Says hello, then answers frames until the host says quit. */
void host_link_serve(void);

#endif

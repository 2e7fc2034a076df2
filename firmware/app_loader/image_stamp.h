/* What tells one relocatable model from another, so that the host knows that the one it means is the one that runs. */
#ifndef IMAGE_STAMP_H
#define IMAGE_STAMP_H

#include <stdint.h>

typedef struct {
  char text[17];       /* CRC-32 of the file without its params, CRC-32 of its params: 8 hex digits each */
  uint32_t params;     /* where the params are */
  uint32_t params_size;
  uint32_t params_crc; /* of the bytes that are there */
  uint32_t wanted_crc; /* as the file says */
} image_stamp_t;

/* Of a file that the loader installs. params: where those of a split model are; else 0. Returns 0, or an error of the
 * loader (ll_aton_reloc_reason). Params that are damaged are no error here. */
int image_stamp(uintptr_t file, uintptr_t params, image_stamp_t *stamp);

#endif

#include "image_stamp.h"

#include "../runtime/memory/steps.h"
#include "../runtime/relocatable_steps.h"

static void put_hex(char *at, uint32_t value) {
  for (unsigned n = 0; n < 8; n++) {
    at[n] = "0123456789abcdef"[(value >> (28u - 4u * n)) & 15u];
  }
}

int image_stamp(uintptr_t file, uintptr_t params, image_stamp_t *stamp) {
  reloc_image_t image;
  int error = reloc_open(file, &image);
  if (error != 0) {
    return error;
  }
  const reloc_word_t *context = reloc_context_in_file(&image);
  uint32_t size = context[RELOC_CTX_PARAMS_BIN_SZ];
  uint32_t at = params != 0 ? (uint32_t)params : image.file + image.params;
  if (size > RELOC_OFFSET || (size != 0 && size - 1u > UINT32_MAX - at)) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, "damaged: the params end behind the last address");
  }
  *stamp = (image_stamp_t){
      .params = at,
      .params_size = size,
      .params_crc = npu_memory_crc32(reloc_at(at), size),
      .wanted_crc = context[RELOC_CTX_PARAMS_BIN_CRC32],
  };
  put_hex(&stamp->text[0], npu_memory_crc32(reloc_at(image.file), image.rel_end));
  put_hex(&stamp->text[8], stamp->params_crc);
  return AI_RELOC_RT_ERR_NONE;
}

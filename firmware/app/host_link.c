/* No buffers: payloads go from the port straight into the tensors and back, so their size does not matter. */
#include "host_link.h"

#include "app_networks.h"
#include "console.h"
#include "user_io.h"
#include "validation_link.h"

#define FRAME_START 0x01u

/* CRC-32 as in zlib, four bits at a time: 64 bytes of table. */
static uint32_t crc;

static void crc_add(uint8_t byte) {
  /* clang-format off */
  static const uint32_t table[16] = {
      0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
      0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  /* clang-format on */
  crc ^= byte;
  crc = (crc >> 4) ^ table[crc & 15u];
  crc = (crc >> 4) ^ table[crc & 15u];
}

static void put(uint8_t byte) {
  crc_add(byte);
  console_putc(byte);
}

static void put_u32(uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    put((uint8_t)(value >> shift));
  }
}

static void put_text(const char *text) {
  while (*text != '\0') {
    put((uint8_t)*text++);
  }
}

static uint32_t length_of(const char *text) {
  uint32_t length = 0;
  while (text[length] != '\0') {
    length++;
  }
  return length;
}

static void begin(uint8_t type, uint32_t length) {
  console_putc(FRAME_START);
  crc = 0xffffffffu;
  put(type);
  put_u32(length);
}

static void end(void) {
  uint32_t value = ~crc;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    console_putc((uint8_t)(value >> shift));
  }
}

static uint8_t get(void) {
  uint8_t byte = console_getc();
  crc_add(byte);
  return byte;
}

static uint32_t get_u32(void) {
  uint32_t value = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    value |= (uint32_t)get() << shift;
  }
  return value;
}

static bool crc_is_right(void) {
  uint32_t expected = ~crc;
  uint32_t received = get_u32();
  return received == expected;
}

/* ---- device to host ---- */

void host_link_error(uint16_t code, const char *subject, const char *text) {
  begin('E', 2u + length_of(subject) + 2u + length_of(text));
  put((uint8_t)code);
  put((uint8_t)(code >> 8));
  put_text(subject);
  put_text(": ");
  put_text(text);
  end();
}

static uint32_t total(const LL_Buffer_InfoTypeDef *table) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < user_io_count(table); i++) {
    bytes += LL_Buffer_len(&table[i]);
  }
  return bytes;
}

static void put_sizes(const LL_Buffer_InfoTypeDef *table) {
  uint32_t rows = user_io_count(table);
  put((uint8_t)rows);
  for (uint32_t i = 0; i < rows; i++) {
    put_u32(LL_Buffer_len(&table[i]));
  }
}

static void put_name(const char *name) {
  put((uint8_t)length_of(name));
  put_text(name);
}

static void hello(void) {
  uint32_t length = 2;
  for (unsigned n = 0; n < app_network_count; n++) {
    const NN_Instance_TypeDef *instance = app_networks[n].instance;
    length += 1u + length_of(app_networks[n].name) + 1u + length_of(app_networks[n].abi_stamp);
    length += 1u + 4u * user_io_count(user_io_inputs(instance)) + 1u + 4u * user_io_count(user_io_outputs(instance));
  }
  begin('H', length);
  put(HOST_LINK_VERSION);
  put((uint8_t)app_network_count);
  for (unsigned n = 0; n < app_network_count; n++) {
    const NN_Instance_TypeDef *instance = app_networks[n].instance;
    put_name(app_networks[n].name);
    put_name(app_networks[n].abi_stamp);
    put_sizes(user_io_inputs(instance));
    put_sizes(user_io_outputs(instance));
  }
  end();
}

static void send_outputs(uint8_t index) {
  const NN_Instance_TypeDef *instance = app_networks[index].instance;
  const LL_Buffer_InfoTypeDef *table = user_io_outputs(instance);
  begin('O', 1u + total(table));
  put(index);
  for (uint32_t i = 0; i < user_io_count(table); i++) {
    const uint8_t *data = user_io_output(instance, i);
    for (uint32_t left = LL_Buffer_len(&table[i]); left != 0; left--) {
      put(*data++);
    }
  }
  end();
}

/* ---- host to device ---- */

static void infer(uint32_t length) {
  if (length == 0) {
    host_link_error(HOST_LINK_E_SIZE, "infer", "the frame names no network");
    return;
  }
  uint8_t index = get();
  if (index >= app_network_count) {
    host_link_error(HOST_LINK_E_NETWORK, "infer", "no network of this number");
    return;
  }
  NN_Instance_TypeDef *instance = app_networks[index].instance;
  const LL_Buffer_InfoTypeDef *table = user_io_inputs(instance);
  if (length - 1u != total(table)) {
    host_link_error(HOST_LINK_E_SIZE, app_networks[index].name, "the frame is not as long as the inputs");
    return;
  }
  for (uint32_t i = 0; i < user_io_count(table); i++) {
    uint8_t *data = user_io_input(instance, i);
    for (uint32_t left = LL_Buffer_len(&table[i]); left != 0; left--) {
      *data++ = get();
    }
  }
  if (!crc_is_right()) {
    host_link_error(HOST_LINK_E_CRC, app_networks[index].name, "the inputs arrived damaged (CRC)");
    return;
  }
  LL_ATON_RT_Main(instance);
  send_outputs(index);
}

/* True if a frame without payload arrived whole. */
static bool bare(uint32_t length, const char *subject) {
  if (length != 0) {
    host_link_error(HOST_LINK_E_SIZE, subject, "this frame has no payload");
    return false;
  }
  if (!crc_is_right()) {
    host_link_error(HOST_LINK_E_CRC, subject, "the frame arrived damaged (CRC)");
    return false;
  }
  return true;
}

void host_link_serve(void) {
  hello();
  for (;;) {
#ifdef NEURALART_VALIDATION_LINK
    for (uint8_t first = console_getc(); first != FRAME_START; first = console_getc()) {
      validation_link_take(first);
    }
#else
    while (console_getc() != FRAME_START) {
    }
#endif
    crc = 0xffffffffu;
    uint8_t type = get();
    uint32_t length = get_u32();
    if (type == 'I') {
      infer(length);
    } else if (type == 'H') {
      if (bare(length, "hello")) {
        hello();
      }
    } else if (type == 'Q') {
      if (bare(length, "quit")) {
        begin('D', 0);
        end();
        return;
      }
    } else {
      /* Nothing tells whether the length is one: what follows is skipped up to the next start byte. */
      host_link_error(HOST_LINK_E_TYPE, "host link", "unknown type of frame");
    }
  }
}

#ifdef NEURALART_VALIDATION_LINK
#include "validation_link.h"

#include "app_networks.h"
#include "user_io.h"
#include "validation_lines.h"
#include "validation_run.h"
#include "validation_wire.h"

#define CHUNK 1024u
#define RUNTIME 0x00010004u                /* NPU runtime, GCC */
#define RUNTIME_MODEL (RUNTIME | 7u << 24) /* sizes of activations and weights, and MACC, are not told */

enum { SYNC = 0, SYS_INFO = 1, NETWORK_INFO = 10, NETWORK_RUN = 11, READ = 20, WRITE = 21, CHECKSUM = 22 };

/* ---- what the board is ---- */

static void sync_fields(const void *of) {
  (void)of;
  wire_put_u32(1, 0x0301);
  wire_put_u32(4, 1u | 8u); /* per layer, memory */
  wire_put_u32(5, RUNTIME);
}

static void system_fields(const void *of) {
  (void)of;
  const uint32_t more[] = {0, NEURALART_NPU_HZ, NEURALART_BUS_HZ, 0};
  wire_put_u32(1, NEURALART_DEVICE_ID);
  wire_put_u32(2, NEURALART_CORE_HZ);
  wire_put_u32(3, NEURALART_BUS_HZ);
  wire_put_u32(4, (NEURALART_DEVICE_ID == VALIDATION_STM32N6 ? 5u : 3u) << 24 | 1u << 16); /* series N6 or H7, floating point */
  if (wire_header == 2u) {
    wire_put_u32(5, 0); /* packets stay as they are */
  }
  for (unsigned i = 0; i < sizeof more / sizeof more[0]; i++) {
    wire_put_u32(wire_header == 2u ? 6 : 5, more[i]);
  }
}

static void model_fields(const void *of) {
  const app_network_t *network = of;
  const NN_Instance_TypeDef *instance = network->instance;
  const LL_Buffer_InfoTypeDef *in = user_io_inputs(instance), *out = user_io_outputs(instance);
  uint32_t nodes = 0;
  while ((instance->exec_state.first_epoch_block[nodes].flags & EpochBlock_Flags_last_eb) == 0) {
    nodes++;
  }
  wire_put_text(1, network->name);
  wire_put_u32(2, RUNTIME_MODEL);
  wire_put_text(3, network->abi_stamp);
  wire_put_text(4, "");
  wire_put_u32(5, 0);
  wire_put_u32(6, 0);
  wire_put_u32(7, 0);
  wire_put_u32(8, nodes);
  wire_put_u32(10, user_io_count(in));
  for (uint32_t i = 0; i < user_io_count(in); i++) {
    validation_tensor_t tensor = {&in[i], user_io_input(instance, i), INPUT | IN_POOL};
    wire_put_message(11, validation_put_description, &tensor);
  }
  wire_put_u32(12, user_io_count(out));
  for (uint32_t i = 0; i < user_io_count(out); i++) {
    validation_tensor_t tensor = {&out[i], user_io_output(instance, i), OUTPUT | IN_POOL};
    wire_put_message(13, validation_put_description, &tensor);
  }
  wire_put_u32(14, 0);
  wire_put_u32(16, 0);
  wire_put_text(20, "scons-neuralart reference application");
}

/* ---- memory ---- */

typedef struct {
  uint32_t address, bytes;
} piece_t;

static void piece_fields(const void *of) {
  const piece_t *piece = of;
  wire_put_u32(1, 0);
  wire_put_u32(2, piece->bytes);
  wire_put_u32(3, piece->address);
  wire_put_data(4, (const volatile uint8_t *)(uintptr_t)piece->address, piece->bytes);
}

static uint32_t checksum(uint32_t address, uint32_t bytes) {
  const volatile uint8_t *data = (const volatile uint8_t *)(uintptr_t)address;
  uint32_t sum = 0;
  while (bytes-- != 0) {
    sum = ((sum >> 1 | (sum & 1u) << 15) + *data++) & 0xffffu;
  }
  return sum;
}

static void access_memory(uint32_t command, uint32_t address, uint32_t size) {
  if (address == 0 || address + size < address) {
    wire_acknowledge(ERROR, 0, INVALID_PARAM);
    return;
  }
  if (command == CHECKSUM) {
    wire_acknowledge(DONE, checksum(address, size), 0);
    return;
  }
  uint32_t busy = command == READ ? PROCESSING : WAITING;
  wire_acknowledge(size != 0 ? busy : DONE, size < CHUNK ? size : CHUNK, 0);
  while (size != 0) {
    piece_t piece = {address, size < CHUNK ? size : CHUNK};
    if (command == WRITE && !wire_expect(WIRE_DATA, (uint8_t *)(uintptr_t)address, piece.bytes)) {
      return;
    }
    if (command == WRITE && wire_message.bytes != piece.bytes) {
      wire_acknowledge(ERROR, wire_message.bytes, INVALID_SIZE);
      return;
    }
    address += piece.bytes;
    size -= piece.bytes;
    uint32_t state = size != 0 ? busy : DONE;
    if (command == WRITE) {
      wire_acknowledge(state, checksum(piece.address, piece.bytes), 0);
    } else {
      wire_respond(state, 15, piece_fields, &piece);
      if (size != 0 && !wire_expect_ack()) {
        return;
      }
    }
  }
}

/* ---- commands ---- */

static bool same(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  return *a == *b;
}

static const app_network_t *network_of(const char *name) {
  for (unsigned n = 0; n < app_network_count; n++) {
    if (same(app_networks[n].name, name)) {
      return &app_networks[n];
    }
  }
  return NULL;
}

static void answer(void) {
  wire_again = false;
  wire_request_id = wire_message.field[1];
  uint32_t command = wire_message.field[2], param = wire_message.field[3], option = wire_message.field[5];
  const app_network_t *network = network_of(wire_message.text);
  if (command == SYNC) {
    wire_respond(IDLE, 10, sync_fields, NULL);
  } else if (command == SYS_INFO) {
    wire_respond(IDLE, 11, system_fields, NULL);
  } else if (command == NETWORK_INFO && param < app_network_count) {
    if (validation_say_config()) {
      wire_respond(IDLE, 22, model_fields, &app_networks[param]);
    }
  } else if (command == NETWORK_RUN && network != NULL) {
    validation_run(network, param, option);
  } else if (command == READ || command == WRITE || command == CHECKSUM) {
    access_memory(command, param, option);
  } else {
    wire_acknowledge(ERROR, INVALID_PARAM, INVALID_PARAM);
  }
}

void validation_link_take(uint8_t first) {
  wire_again = wire_receive(first, NULL, 0) && wire_message.seen == WIRE_REQUEST;
  while (wire_again) {
    answer();
  }
}
#endif

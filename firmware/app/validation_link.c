/* Packets have 33 bytes (one of length) or 34 (two); the first byte of a message tells, as it is 0 only in the second
 * form. Nothing is kept but one packet: what is sent is counted first, so that lengths are known, then made again. */
#ifdef NEURALART_VALIDATION_LINK
#include "validation_link.h"

#include "app_networks.h"
#include "console.h"
#include "user_io.h"

#ifndef NEURALART_CORE_HZ
#define NEURALART_CORE_HZ 0u
#endif
#ifndef NEURALART_DEVICE_ID
#define NEURALART_DEVICE_ID 0x486u
#endif
/* Looks at an empty port after which the rest of a message is not waited for any more: some 20 ms of a fast core. */
#ifndef NEURALART_VALIDATION_SILENCE
#define NEURALART_VALIDATION_SILENCE 500000u
#endif

#define PAYLOAD 32u
#define LONGEST_NAME 63u
#define LONGEST_REQUEST 128u
#define MORE_DATA 65536u /* that data of a wrong size may have, and is told so */
#define CHUNK 1024u
#define RUNTIME 0x00010004u                /* NPU runtime, GCC */
#define RUNTIME_MODEL (RUNTIME | 7u << 24) /* sizes of activations and weights, and MACC, are not told */

enum { SYNC = 0, SYS_INFO = 1, NETWORK_INFO = 10, NETWORK_RUN = 11, READ = 20, WRITE = 21, CHECKSUM = 22 };
enum { IDLE, WAITING, PROCESSING, DONE, ERROR };
enum { INVALID_SIZE = 1, INVALID_PARAM = 4 };
enum { PER_LAYER = 2, WITH_DATA = 4, PERF = 8, CONSTANT = 512 };
enum { INPUT = 1, OUTPUT = 2, LAST = 256, NO_DATA = 512, IN_POOL = 1024 };
enum { VARINT = 0, WIDE = 1, BYTES = 2, FLOAT = 5 };

/* The cycle counter of the core (Armv8-M ARM: DEMCR.TRCENA, DWT_CTRL.CYCCNTENA, DWT_CYCCNT). A virtual STM32N6 counts
 * instructions there; QEMU has none, and reads 0. */
__attribute__((weak)) uint32_t validation_link_cycles(void) {
  volatile uint32_t *control = (volatile uint32_t *)0xe0001000u;
  if ((*control & 1u) == 0) {
    *(volatile uint32_t *)0xe000edfcu |= 1u << 24;
    *control |= 1u;
  }
  return control[1];
}

/* ---- packets from the host ---- */

static unsigned header; /* bytes of a packet's header */
static uint32_t in_packet, padding;
static uint32_t left; /* bytes of the message */
static bool lost;     /* the rest did not come, or it is no message */
static bool silent;   /* it did not come */

static uint8_t get_raw(uint32_t looks) {
  uint8_t byte = 0;
  while (!lost && !console_poll(&byte)) {
    lost = silent = looks-- == 0;
  }
  return byte;
}

static void open_packet(uint8_t first) {
  in_packet = header == 2u ? (uint32_t)first << 8 | get_raw(NEURALART_VALIDATION_SILENCE) : first;
  lost = lost || in_packet > PAYLOAD;
  padding = PAYLOAD - in_packet;
}

static void close_packet(void) {
  for (uint32_t skip = in_packet + padding; skip != 0 && !lost; skip--) {
    (void)get_raw(NEURALART_VALIDATION_SILENCE);
  }
  in_packet = padding = 0;
}

static uint8_t get(void) {
  if (lost || left == 0) {
    lost = true;
    return 0;
  }
  while (in_packet == 0 && !lost) {
    close_packet();
    console_putc(0xaa); /* the next packet, please; the host takes its time */
    open_packet(get_raw(100u * NEURALART_VALIDATION_SILENCE));
  }
  in_packet--;
  left--;
  return get_raw(NEURALART_VALIDATION_SILENCE);
}

static uint32_t get_varint(void) {
  uint32_t value = 0;
  for (unsigned shift = 0; shift < 70u; shift += 7) {
    uint8_t byte = get();
    value |= shift < 32u ? (uint32_t)(byte & 0x7fu) << shift : 0;
    if ((byte & 0x80u) == 0) {
      return value;
    }
  }
  lost = true;
  return 0;
}

/* A request, an ack or data: their fields have different numbers or the same meaning. */
static struct {
  uint32_t field[6];
  uint32_t seen; /* bits, by number */
  uint32_t bytes; /* of field 4 */
  char text[LONGEST_NAME + 1];
} message;

static void get_bytes(uint32_t number, uint8_t *to, uint32_t room) {
  uint32_t bytes = get_varint();
  lost = lost || bytes > left;
  if (number == 4) {
    message.bytes = bytes;
    message.seen |= 1u << 4;
  }
  for (uint32_t i = 0; i < bytes && !lost; i++) {
    uint8_t byte = get();
    if (number == 4 && bytes <= LONGEST_NAME) {
      message.text[i] = (char)byte;
      message.text[i + 1] = '\0';
    }
    if (number == 4 && bytes == room) {
      to[i] = byte;
    }
  }
}

/* False: no whole message came. Bytes of data go to a place if they are exactly as many as there is room. */
static bool receive(uint8_t first, uint8_t *to, uint32_t room) {
  lost = first > PAYLOAD;
  silent = false;
  header = first == 0 ? 2u : 1u;
  message.seen = message.bytes = 0;
  message.text[0] = '\0';
  open_packet(first);
  left = 10; /* of the length itself */
  uint32_t length = get_varint();
  lost = lost || (to == NULL ? length > LONGEST_REQUEST : length > MORE_DATA && length - MORE_DATA > room);
  left = length;
  while (left != 0 && !lost) {
    uint32_t tag = get_varint();
    uint32_t number = tag >> 3, wire = tag & 7u;
    if (wire == VARINT) {
      uint32_t value = get_varint();
      if (number < 6u) {
        message.field[number] = value;
        message.seen |= 1u << number;
      }
    } else if (wire == BYTES) {
      get_bytes(number, to, room);
    } else if (wire == WIDE || wire == FLOAT) {
      for (unsigned skip = wire == WIDE ? 8 : 4; skip != 0; skip--) {
        (void)get();
      }
    } else {
      lost = true;
    }
  }
  close_packet();
  if (lost && !silent && first <= PAYLOAD) {
    /* Out of step: a message begins behind silence. */
    for (lost = false; !lost;) {
      (void)get_raw(NEURALART_VALIDATION_SILENCE);
    }
  }
  return !lost;
}

#define REQUEST_FIELDS 0x3eu
#define DATA_FIELDS 0x1eu
#define ACK_FIELDS 0x06u

/* ---- packets to the host ---- */

static uint8_t packet[PAYLOAD];
static uint32_t filled, counted;
static unsigned counting;
static uint32_t request_id;

static void send_packet(bool end) {
  uint32_t mark = end ? 0x80u : 0;
  console_putc((uint8_t)(header == 2u ? mark : mark | filled));
  if (header == 2u) {
    console_putc((uint8_t)filled);
  }
  for (uint32_t i = 0; i < PAYLOAD; i++) {
    console_putc(i < filled ? packet[i] : 0);
  }
  filled = 0;
}

static void put(uint8_t byte) {
  if (counting != 0) {
    counted++;
    return;
  }
  packet[filled++] = byte;
  if (filled == PAYLOAD) {
    send_packet(false);
  }
}

static void put_raw(const volatile uint8_t *data, uint32_t bytes) {
  if (counting != 0) {
    counted += bytes;
    return;
  }
  while (bytes-- != 0) {
    put(*data++);
  }
}

static void put_varint(uint32_t value) {
  for (; value > 0x7fu; value >>= 7) {
    put((uint8_t)(value | 0x80u));
  }
  put((uint8_t)value);
}

static void put_u32(uint32_t number, uint32_t value) {
  put_varint(number << 3 | VARINT);
  put_varint(value);
}

static void put_i32(uint32_t number, int32_t value) {
  if (value >= 0) {
    put_u32(number, (uint32_t)value);
    return;
  }
  put_varint(number << 3 | VARINT);
  uint64_t wide = (uint64_t)(int64_t)value;
  for (unsigned i = 0; i < 9u; i++, wide >>= 7) {
    put((uint8_t)(wide | 0x80u));
  }
  put(1);
}

static void put_float(uint32_t number, float value) {
  union {
    float real;
    uint32_t bits;
  } both = {value};
  put_varint(number << 3 | FLOAT);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    put((uint8_t)(both.bits >> shift));
  }
}

static void put_data(uint32_t number, const volatile uint8_t *data, uint32_t bytes) {
  put_varint(number << 3 | BYTES);
  put_varint(bytes);
  put_raw(data, bytes);
}

static void put_text(uint32_t number, const char *text) {
  uint32_t length = 0;
  while (length < LONGEST_NAME && text[length] != '\0') {
    length++;
  }
  put_data(number, (const volatile uint8_t *)text, length);
}

/* A message in a message: its fields are made twice, the first time for their length. */
static void put_message(uint32_t number, void (*fields)(const void *), const void *of) {
  uint32_t before = counted;
  counting++;
  counted = 0;
  fields(of);
  uint32_t bytes = counted;
  counted = before;
  counting--;
  put_varint(number << 3 | BYTES);
  put_varint(bytes);
  fields(of);
}

static void respond(uint32_t state, uint32_t number, void (*fields)(const void *), const void *of) {
  filled = 0;
  put_u32(1, request_id);
  put_u32(2, state);
  put_message(number, fields, of);
  send_packet(true);
}

typedef struct {
  uint32_t param, error;
} ack_t;

static void ack_fields(const void *of) {
  const ack_t *ack = of;
  put_u32(1, ack->param);
  put_u32(2, ack->error);
}

static void acknowledge(uint32_t state, uint32_t param, uint32_t error) {
  ack_t ack = {param, error};
  respond(state, 12, ack_fields, &ack);
}

/* ---- inside of a command ---- */

static bool again; /* instead of what was due, a request came */

/* Waits for a message of a kind, up to some seconds: a host that is gone must not leave the board waiting. */
static bool expect(uint32_t fields, uint8_t *to, uint32_t room) {
  lost = false;
  uint8_t first = get_raw(500u * NEURALART_VALIDATION_SILENCE);
  if (lost || !receive(first, to, room)) {
    return false;
  }
  again = message.seen == REQUEST_FIELDS;
  return message.seen == fields;
}

static bool expect_ack(void) { return expect(ACK_FIELDS, NULL, 0); }

/* ---- what the board is ---- */

static void sync_fields(const void *of) {
  (void)of;
  put_u32(1, 0x0301);
  put_u32(4, 1u | 8u); /* per layer, memory */
  put_u32(5, RUNTIME);
}

static void system_fields(const void *of) {
  (void)of;
  put_u32(1, NEURALART_DEVICE_ID);
  put_u32(2, NEURALART_CORE_HZ);
  put_u32(3, 0);
  put_u32(4, 0x05010000u); /* series of the N6, floating point */
  if (header == 2u) {
    put_u32(5, 0); /* packets stay as they are */
  }
  for (unsigned i = 0; i < 4u; i++) {
    put_u32(header == 2u ? 6 : 5, 0);
  }
}

typedef struct {
  const LL_Buffer_InfoTypeDef *buffer;
  const uint8_t *data;
  uint32_t flags;
} tensor_t;

static uint32_t bits_of(const LL_Buffer_InfoTypeDef *buffer) { return buffer->nbits != 0 ? buffer->nbits : 8u; }

static uint32_t format_of(const LL_Buffer_InfoTypeDef *buffer) {
  bool plain = buffer->type == DataType_UINT8 || buffer->type == DataType_UINT16;
  uint32_t kind = buffer->type == DataType_FLOAT ? 1u : 2u;
  return (plain ? 0u : 1u << 23) | kind << 17 | bits_of(buffer) << 7 | 64u;
}

static bool fits(const uint32_t *shape, uint32_t rank, uint32_t elements) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank && product <= elements; i++) {
    product *= shape[i];
  }
  return shape != NULL && rank != 0 && product == elements;
}

static void description_fields(const void *of) {
  const tensor_t *tensor = of;
  const LL_Buffer_InfoTypeDef *buffer = tensor->buffer;
  uint32_t elements = LL_Buffer_len(buffer) * 8u / bits_of(buffer);
  const uint32_t *shape = &elements;
  uint32_t rank = 1;
  if (fits(buffer->mem_shape, buffer->mem_ndims, elements)) {
    shape = buffer->mem_shape;
    rank = buffer->mem_ndims;
  } else if (fits(buffer->shape, buffer->ndims, elements)) {
    shape = buffer->shape;
    rank = buffer->ndims;
  }
  put_text(1, buffer->name);
  put_u32(2, format_of(buffer));
  put_u32(3, elements);
  put_u32(4, rank);
  for (uint32_t i = 0; i < rank; i++) {
    put_u32(5, shape[i]);
  }
  put_float(6, buffer->scale != NULL ? *buffer->scale : 0.0f);
  put_i32(7, buffer->offset != NULL ? *buffer->offset : 0);
  put_u32(8, (uint32_t)(uintptr_t)tensor->data);
  put_u32(9, tensor->flags);
}

static void data_fields(const void *of) {
  const tensor_t *tensor = of;
  uint32_t bytes = (tensor->flags & NO_DATA) != 0 ? 0 : LL_Buffer_len(tensor->buffer);
  put_u32(1, 0);
  put_u32(2, bytes);
  put_u32(3, (uint32_t)(uintptr_t)tensor->data);
  put_data(4, tensor->data, bytes);
}

static void tensor_fields(const void *of) {
  put_message(1, description_fields, of);
  put_message(2, data_fields, of);
}

static void model_fields(const void *of) {
  const app_network_t *network = of;
  const NN_Instance_TypeDef *instance = network->instance;
  const LL_Buffer_InfoTypeDef *in = user_io_inputs(instance), *out = user_io_outputs(instance);
  uint32_t nodes = 0;
  while ((instance->exec_state.first_epoch_block[nodes].flags & EpochBlock_Flags_last_eb) == 0) {
    nodes++;
  }
  put_text(1, network->name);
  put_u32(2, RUNTIME_MODEL);
  put_text(3, network->abi_stamp);
  put_text(4, "");
  put_u32(5, 0);
  put_u32(6, 0);
  put_u32(7, 0);
  put_u32(8, nodes);
  put_u32(10, user_io_count(in));
  for (uint32_t i = 0; i < user_io_count(in); i++) {
    tensor_t tensor = {&in[i], user_io_input(instance, i), INPUT | IN_POOL};
    put_message(11, description_fields, &tensor);
  }
  put_u32(12, user_io_count(out));
  for (uint32_t i = 0; i < user_io_count(out); i++) {
    tensor_t tensor = {&out[i], user_io_output(instance, i), OUTPUT | IN_POOL};
    put_message(13, description_fields, &tensor);
  }
  put_u32(14, 0);
  put_u32(16, 0);
  put_text(20, "scons-neuralart reference application");
}

/* ---- inference ---- */

typedef struct {
  const char *name;
  uint32_t type, id, cycles;
} operator_t;

static void operator_fields(const void *of) {
  const operator_t *one = of;
  bool whole = one->name[0] != '\0';
  put_text(1, one->name);
  put_u32(2, one->type);
  put_u32(3, one->id);
  put_float(4, NEURALART_CORE_HZ != 0u ? (float)one->cycles * 1000.0f / (float)NEURALART_CORE_HZ : 0.0f);
  /* pre, core, post of a layer; of the whole also everything and the NPU, each in two words */
  put_u32(5, whole ? 0 : 1u << 16);
  for (unsigned i = 0; i < (whole ? 10u : 3u); i++) {
    put_u32(6, (whole ? i == 2u || i == 6u : i == 1u) ? one->cycles : 0);
  }
  put_i32(7, -1);
  put_i32(8, -1);
}

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

/* One element, given for all of a tensor. */
static void spread(uint8_t *data, uint32_t bytes, uint32_t element) {
  for (uint32_t i = element; i < bytes; i++) {
    data[i] = data[i - element];
  }
}

static bool take_inputs(const NN_Instance_TypeDef *instance, uint32_t param) {
  const LL_Buffer_InfoTypeDef *table = user_io_inputs(instance);
  uint32_t count = user_io_count(table);
  acknowledge(WAITING, count != 0 ? LL_Buffer_len(&table[0]) : 0, 0);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t bytes = LL_Buffer_len(&table[i]), element = (bits_of(&table[i]) + 7u) / 8u;
    uint32_t wanted = (param & CONSTANT) != 0 ? element : bytes;
    uint8_t *data = user_io_input(instance, i);
    if (!expect(DATA_FIELDS, data, wanted)) {
      return false;
    }
    if (message.bytes != wanted) {
      acknowledge(ERROR, message.bytes, INVALID_SIZE);
      return false;
    }
    if (wanted != bytes) {
      spread(data, bytes, element);
    }
    acknowledge(i + 1u == count ? PROCESSING : WAITING, wanted, 0);
    if (!expect_ack()) {
      return false;
    }
  }
  return true;
}

static void run_network(const app_network_t *network, uint32_t param) {
  NN_Instance_TypeDef *instance = network->instance;
  if (!take_inputs(instance, param)) {
    return;
  }
  uint32_t total = 0, number = 0;
  LL_ATON_RT_Reset_Network(instance);
  for (bool more = true; more; number++) {
    uint32_t start = validation_link_cycles();
    more = LL_ATON_RT_RunEpochBlock(instance) != LL_ATON_RT_DONE;
    uint32_t cycles = validation_link_cycles() - start;
    total += cycles;
    if ((param & (PER_LAYER | WITH_DATA)) != 0) {
      /* Internal, without tensors, computed by the CPU. */
      operator_t epoch = {"", 5u << 24 | 2u, number << 16 | number, cycles};
      respond(PROCESSING, 16, operator_fields, &epoch);
    }
  }
  operator_t whole = {network->name, 0, 0, total};
  respond(PROCESSING, 16, operator_fields, &whole);
  const LL_Buffer_InfoTypeDef *table = user_io_outputs(instance);
  uint32_t count = user_io_count(table), silent = (param & PERF) != 0 ? NO_DATA : 0;
  for (uint32_t i = 0; i < count; i++) {
    bool last = i + 1u == count;
    tensor_t tensor = {&table[i], user_io_output(instance, i), OUTPUT | IN_POOL | silent | (last ? LAST : 0u)};
    respond(last ? DONE : PROCESSING, 17, tensor_fields, &tensor);
  }
}

/* ---- memory ---- */

typedef struct {
  uint32_t address, bytes;
} piece_t;

static void piece_fields(const void *of) {
  const piece_t *piece = of;
  put_u32(1, 0);
  put_u32(2, piece->bytes);
  put_u32(3, piece->address);
  put_data(4, (const volatile uint8_t *)(uintptr_t)piece->address, piece->bytes);
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
    acknowledge(ERROR, 0, INVALID_PARAM);
    return;
  }
  if (command == CHECKSUM) {
    acknowledge(DONE, checksum(address, size), 0);
    return;
  }
  uint32_t busy = command == READ ? PROCESSING : WAITING;
  acknowledge(size != 0 ? busy : DONE, size < CHUNK ? size : CHUNK, 0);
  while (size != 0) {
    piece_t piece = {address, size < CHUNK ? size : CHUNK};
    if (command == WRITE && !expect(DATA_FIELDS, (uint8_t *)(uintptr_t)address, piece.bytes)) {
      return;
    }
    if (command == WRITE && message.bytes != piece.bytes) {
      acknowledge(ERROR, message.bytes, INVALID_SIZE);
      return;
    }
    address += piece.bytes;
    size -= piece.bytes;
    uint32_t state = size != 0 ? busy : DONE;
    if (command == WRITE) {
      acknowledge(state, checksum(piece.address, piece.bytes), 0);
    } else {
      respond(state, 15, piece_fields, &piece);
      if (size != 0 && !expect_ack()) {
        return;
      }
    }
  }
}

/* ---- commands ---- */

static void answer(void) {
  again = false;
  request_id = message.field[1];
  uint32_t command = message.field[2], param = message.field[3];
  const app_network_t *network = network_of(message.text);
  if (command == SYNC) {
    respond(IDLE, 10, sync_fields, NULL);
  } else if (command == SYS_INFO) {
    respond(IDLE, 11, system_fields, NULL);
  } else if (command == NETWORK_INFO && param < app_network_count) {
    respond(IDLE, 22, model_fields, &app_networks[param]);
  } else if (command == NETWORK_RUN && network != NULL) {
    run_network(network, param);
  } else if (command == READ || command == WRITE || command == CHECKSUM) {
    access_memory(command, param, message.field[5]);
  } else {
    acknowledge(ERROR, INVALID_PARAM, INVALID_PARAM);
  }
}

void validation_link_take(uint8_t first) {
  again = receive(first, NULL, 0) && message.seen == REQUEST_FIELDS;
  while (again) {
    answer();
  }
}
#endif

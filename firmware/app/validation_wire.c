/* Nothing is kept but one packet: what is sent is counted first, so that lengths are known, then made again. */
#ifdef NEURALART_VALIDATION_LINK
#include "validation_wire.h"

#include "console.h"

/* Looks at an empty port after which the rest of a message is not waited for any more: some 20 ms of a fast core. */
#ifndef NEURALART_VALIDATION_SILENCE
#define NEURALART_VALIDATION_SILENCE 500000u
#endif

#define PAYLOAD 32u
#define LONGEST_REQUEST 128u
#define MORE_DATA 65536u /* that data of a wrong size may have, and is told so */

enum { VARINT = 0, WIDE = 1, BYTES = 2, FLOAT = 5 };

/* ---- packets from the host ---- */

unsigned wire_header;
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
  in_packet = wire_header == 2u ? (uint32_t)first << 8 | get_raw(NEURALART_VALIDATION_SILENCE) : first;
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

wire_message_t wire_message;

static void get_bytes(uint32_t number, uint8_t *to, uint32_t room) {
  uint32_t bytes = get_varint();
  lost = lost || bytes > left;
  if (number == 4) {
    wire_message.bytes = bytes;
    wire_message.seen |= 1u << 4;
  }
  for (uint32_t i = 0; i < bytes && !lost; i++) {
    uint8_t byte = get();
    if (number == 4 && bytes <= LONGEST_NAME) {
      wire_message.text[i] = (char)byte;
      wire_message.text[i + 1] = '\0';
    }
    if (number == 4 && bytes == room) {
      to[i] = byte;
    }
  }
}

bool wire_receive(uint8_t first, uint8_t *to, uint32_t room) {
  lost = first > PAYLOAD;
  silent = false;
  wire_header = first == 0 ? 2u : 1u;
  wire_message.seen = wire_message.bytes = 0;
  wire_message.text[0] = '\0';
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
        wire_message.field[number] = value;
        wire_message.seen |= 1u << number;
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

/* ---- packets to the host ---- */

static uint8_t packet[PAYLOAD];
static uint32_t filled, counted;
static unsigned counting;
uint32_t wire_request_id;

static void send_packet(bool end) {
  uint32_t mark = end ? 0x80u : 0;
  console_putc((uint8_t)(wire_header == 2u ? mark : mark | filled));
  if (wire_header == 2u) {
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

void wire_put_u32(uint32_t number, uint32_t value) {
  put_varint(number << 3 | VARINT);
  put_varint(value);
}

void wire_put_i32(uint32_t number, int32_t value) {
  if (value >= 0) {
    wire_put_u32(number, (uint32_t)value);
    return;
  }
  put_varint(number << 3 | VARINT);
  uint64_t wide = (uint64_t)(int64_t)value;
  for (unsigned i = 0; i < 9u; i++, wide >>= 7) {
    put((uint8_t)(wide | 0x80u));
  }
  put(1);
}

void wire_put_float(uint32_t number, float value) {
  union {
    float real;
    uint32_t bits;
  } both = {value};
  put_varint(number << 3 | FLOAT);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    put((uint8_t)(both.bits >> shift));
  }
}

void wire_put_data(uint32_t number, const volatile uint8_t *data, uint32_t bytes) {
  put_varint(number << 3 | BYTES);
  put_varint(bytes);
  put_raw(data, bytes);
}

static void put_cut(uint32_t number, const char *text, uint32_t longest) {
  uint32_t length = 0;
  while (length < longest && text[length] != '\0') {
    length++;
  }
  while (length != 0 && ((uint8_t)text[length] & 0xc0u) == 0x80u) {
    length--; /* not within a character: hosts refuse text that is no UTF-8 */
  }
  wire_put_data(number, (const volatile uint8_t *)text, length);
}

void wire_put_text(uint32_t number, const char *text) { put_cut(number, text, LONGEST_NAME); }

/* A message in a message: its fields are made twice, the first time for their length. */
void wire_put_message(uint32_t number, wire_fields_t fields, const void *of) {
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

void wire_respond(uint32_t state, uint32_t number, wire_fields_t fields, const void *of) {
  filled = 0;
  wire_put_u32(1, wire_request_id);
  wire_put_u32(2, state);
  wire_put_message(number, fields, of);
  send_packet(true);
}

typedef struct {
  uint32_t param, error;
} ack_t;

static void ack_fields(const void *of) {
  const ack_t *ack = of;
  wire_put_u32(1, ack->param);
  wire_put_u32(2, ack->error);
}

void wire_acknowledge(uint32_t state, uint32_t param, uint32_t error) {
  ack_t ack = {param, error};
  wire_respond(state, 12, ack_fields, &ack);
}

/* ---- inside of a command ---- */

bool wire_again;

/* Up to some seconds: a host that is gone must not leave the board waiting. */
bool wire_expect(uint32_t fields, uint8_t *to, uint32_t room) {
  lost = false;
  uint8_t first = get_raw(500u * NEURALART_VALIDATION_SILENCE);
  if (lost || !wire_receive(first, to, room)) {
    return false;
  }
  wire_again = wire_message.seen == WIRE_REQUEST;
  return wire_message.seen == fields;
}

bool wire_expect_ack(void) { return wire_expect(WIRE_ACK, NULL, 0); }

static void log_fields(const void *of) {
  wire_put_u32(1, 1); /* information */
  put_cut(2, of, LONGEST_LINE);
}

bool wire_say(const char *line) {
  wire_respond(WAITING, 13, log_fields, line);
  return wire_expect_ack();
}
#endif

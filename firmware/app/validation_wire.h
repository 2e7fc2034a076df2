/* Packets and messages of the validation protocol, for validation_*.c alone. Packets have 33 bytes (one of length) or 34
 * (two); the first byte of a message tells, as it is 0 only in the second form. */
#ifndef VALIDATION_WIRE_H
#define VALIDATION_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LONGEST_NAME 63u
#define LONGEST_LINE 127u

/* States of an answer, and errors. */
enum { IDLE, WAITING, PROCESSING, DONE, ERROR };
enum { INVALID_SIZE = 1, INVALID_PARAM = 4 };

/* ---- from the host ---- */

/* A request, an ack or data: their fields have different numbers or the same meaning. */
typedef struct {
  uint32_t field[6];
  uint32_t seen;  /* bits, by number */
  uint32_t bytes; /* of field 4 */
  char text[LONGEST_NAME + 1];
} wire_message_t;

/* Fields that make a message one of a kind. */
enum { WIRE_REQUEST = 0x3e, WIRE_DATA = 0x1e, WIRE_ACK = 0x06 };

extern wire_message_t wire_message;
extern unsigned wire_header; /* bytes of a packet's header: 1 or 2 */
extern bool wire_again;      /* instead of what was due, a request came */

/* Takes the message that begins with a byte. False: no whole message came. Bytes of data go to a place if they are
 * exactly as many as there is room. */
bool wire_receive(uint8_t first, uint8_t *to, uint32_t room);
/* Waits for a message of a kind. False: it did not come. */
bool wire_expect(uint32_t fields, uint8_t *to, uint32_t room);
bool wire_expect_ack(void);

/* ---- to the host ---- */

extern uint32_t wire_request_id;

typedef void (*wire_fields_t)(const void *of); /* puts the fields of a message */

void wire_put_u32(uint32_t number, uint32_t value);
void wire_put_i32(uint32_t number, int32_t value);
void wire_put_float(uint32_t number, float value);
void wire_put_data(uint32_t number, const volatile uint8_t *data, uint32_t bytes);
void wire_put_text(uint32_t number, const char *text); /* cut where it is longer than a name may be */
void wire_put_message(uint32_t number, wire_fields_t fields, const void *of);
/* An answer with one message in it. */
void wire_respond(uint32_t state, uint32_t number, wire_fields_t fields, const void *of);
void wire_acknowledge(uint32_t state, uint32_t param, uint32_t error);
/* A line of text, which the host acknowledges. False: it did not. */
bool wire_say(const char *line);

#endif

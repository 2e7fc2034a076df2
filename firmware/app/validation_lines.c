#ifdef NEURALART_VALIDATION_LINK
#include "validation_lines.h"

#include "text_line.h"
#include "validation_link.h"
#include "validation_wire.h"
#ifdef NEURALART_PROFILE
#include "profile.h"
#endif

static enum { TO_CONSOLE, DROPPED, KEPT } lines; /* between messages of a command there is no place for text */

bool validation_link_log(const char *text) {
  if (lines == KEPT) {
    (void)wire_say(text);
  }
  return lines != TO_CONSOLE;
}

static uint32_t measured;

void validation_lines_end(void) { lines = TO_CONSOLE; }

void validation_lines_begin(bool kept, uint32_t what) {
  lines = kept ? KEPT : DROPPED;
  measured = what;
#ifdef NEURALART_PROFILE
  profile_pass(what);
#endif
}

#ifdef NEURALART_PROFILE
/* profile.c says them, by callbacks of the runtime. */
bool validation_say_config(void) {
  lines = KEPT;
  profile_config(&(profile_clocks_t){.device = NEURALART_DEVICE_ID,
                                     .mcu = NEURALART_CORE_HZ,
                                     .noc = NEURALART_BUS_HZ,
                                     .npu = NEURALART_NPU_HZ,
                                     .nic = NEURALART_BUS_HZ});
  lines = TO_CONSOLE;
  return true;
}

bool validation_say_begin(const validation_layer_t *layer) { return layer != NULL; }

bool validation_say_end(const validation_layer_t *layer, uint32_t tensors, uint32_t cycles) {
  (void)tensors, (void)cycles;
  return layer != NULL;
}
#else
static const char *const kinds[] = {"HW", "EXTRA", "SW", "HYBRID", "EC"};

/* Measurements that the option word asks for: lengths of epochs on the NPU, which its streams have too, or its buses. */
enum { EPOCH_LENGTHS = 1, STREAMS = 0x66, BUSES = 8 };

static text_line_t line;

static void say_node(const char *what) {
  line.length = 0;
  text_add(&line, "s:node:");
  text_add(&line, what);
}

static void add_number(uint32_t value) {
  char digit[] = {(char)('0' + value % 10u), '\0'};
  if (value > 9u) {
    add_number(value / 10u);
  }
  text_add(&line, digit);
}

static void add_field(int value) {
  text_add(&line, ":");
  text_add_decimal(&line, value);
}

static void add_hex(uint32_t value) {
  text_add(&line, ":");
  for (unsigned shift = 32; shift != 0; shift -= 4) {
    char digit[] = {"0123456789ABCDEF"[value >> (shift - 4u) & 15u], '\0'};
    text_add(&line, digit);
  }
}

static void add_layer(const validation_layer_t *layer) {
  add_field((int)layer->index);
  add_field(layer->current);
  add_field(layer->epoch);
  add_field(layer->last);
}

bool validation_say_begin(const validation_layer_t *layer) {
  say_node("evt_pre_start");
  add_layer(layer);
  add_hex(layer->flags);
  add_hex((FLAG_INTERNAL | FLAG_WITHOUT_TENSOR) << 24 | layer->kind);
  text_add(&line, ":");
  text_add(&line, kinds[layer->kind & 15u]);
  return wire_say(line.text);
}

/* No cycles of an NPU: the epochs of this runtime are the core's. */
bool validation_say_end(const validation_layer_t *layer, uint32_t tensors, uint32_t cycles) {
  say_node("evt_post_end");
  add_layer(layer);
  add_field((int)tensors);
  if (!wire_say(line.text)) {
    return false;
  }
  say_node("mcu_cycles:0:");
  add_number(cycles);
  text_add(&line, ":0");
  bool lengths = (measured & STREAMS) != 0 || (measured & (EPOCH_LENGTHS | BUSES)) == EPOCH_LENGTHS;
  return wire_say(line.text) && (!lengths || wire_say("s:node:npu_cycles:0:0:0"));
}

static bool say_number(const char *name, uint32_t value) {
  line.length = 0;
  text_add(&line, "s:config:");
  text_add(&line, name);
  add_number(value);
  return wire_say(line.text);
}

/* What they want to know of an NPU. */
bool validation_say_config(void) {
  return NEURALART_DEVICE_ID != VALIDATION_STM32N6 ||
         (wire_say("s:config:version:1.0") && wire_say("s:config:dev_id:0x486") &&
          say_number("mcu_freq:", NEURALART_CORE_HZ) && say_number("noc_freq:", NEURALART_BUS_HZ) &&
          say_number("npu_freq:", NEURALART_NPU_HZ) && say_number("nic_freq:", NEURALART_BUS_HZ) &&
          say_number("npu_cache:", 0));
}
#endif
#elif defined NEURALART_PROFILE
#include "validation_link.h"

bool validation_link_log(const char *text) {
  (void)text;
  return false;
}
#endif

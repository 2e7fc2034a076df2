/* All counters run on through the whole inference; an epoch's share is a difference modulo 2^32, so that one which goes
 * round is no harm. What is counted is read outside of the stamps, and lines are sent behind the last of them. */
#ifdef NEURALART_PROFILE
#include "profile.h"

#ifdef NEURALART_PROFILE_NPU
#include "ll_aton_dbgtrc.h"
#endif

#define COUNTERS 16
#define ENGINES 10u
#define PORTS 2u
#define IDLE_ENGINE 20u /* cycles: setting it up, no work */

#define DEMCR (*(volatile uint32_t *)(uintptr_t)0xE000EDFCu)
#define DWT_CTRL (*(volatile uint32_t *)(uintptr_t)0xE0001000u)
#define DWT_CYCCNT (*(volatile uint32_t *)(uintptr_t)0xE0001004u)

__attribute__((weak)) void profile_line(const char *text) { (void)text; }
__attribute__((weak)) uint32_t profile_cycles(void) { return DWT_CYCCNT; }
__attribute__((weak)) bool profile_npu_cache(uint32_t counters[8]) {
  (void)counters;
  return false;
}

/* ---- lines ---- */

static char line[128];
static unsigned length;

static void add(const char *text) {
  for (; *text != '\0' && length + 1u < sizeof line; text++) {
    line[length++] = *text;
  }
}

static void add_number(uint32_t value, unsigned base, unsigned least) {
  char digits[11] = "";
  unsigned at = sizeof digits - 1u;
  for (; value != 0 || sizeof digits - 1u - at < least; value /= base) {
    digits[--at] = "0123456789ABCDEF"[value % base];
  }
  add(&digits[at]);
}

static void begin(const char *text) {
  length = 0;
  add("s:");
  add(text);
}

static void add_field(int32_t value) {
  add(value < 0 ? ":-" : ":");
  add_number(value < 0 ? 0u - (uint32_t)value : (uint32_t)value, 10, 1);
}

static void add_count(uint32_t value) {
  add(":");
  add_number(value, 10, 1);
}

static void send(void) {
  line[length] = '\0';
  profile_line(line);
}

void profile_config(const profile_clocks_t *clocks) {
  const struct {
    const char *name;
    uint32_t value;
  } rows[] = {{"config:mcu_freq", clocks->mcu},
              {"config:noc_freq", clocks->noc},
              {"config:npu_freq", clocks->npu},
              {"config:nic_freq", clocks->nic},
              {"config:npu_cache", clocks->npu_cache}};
  begin("config:version:1.0");
  send();
  begin("config:dev_id:0x");
  add_number(clocks->device, 16, 1);
  send();
  for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    begin(rows[i].name);
    add_count(rows[i].value);
    send();
  }
}

/* ---- what is counted ---- */

static uint32_t options;
static const LL_ATON_RT_EpochBlockItem_t *begins; /* the first epoch of an inference; NULL: the next one is it */

typedef struct {
  uint32_t core, npu;
} stamp_t;

/* A counter and what it counts: an engine, or bursts of a length at a bus interface. */
typedef struct {
  uint16_t signal;
  uint8_t event;
  char direction;
  uint8_t engine;
} watched_t;

static watched_t watched[COUNTERS];
static int count; /* of them, from counter `first` on: counter 0 is the clock but for bursts */
static int first;
static uint32_t before[COUNTERS];

static uint32_t pass_of(uint32_t asked) {
  static const uint8_t order[] = {PROFILE_STREAM_INPUTS, PROFILE_STREAM_OUTPUTS, PROFILE_STREAMS, PROFILE_TRANSFERS,
                                  PROFILE_BURSTS};
  for (unsigned i = 0; i < sizeof order; i++) {
    if ((asked & order[i]) != 0) {
      return order[i];
    }
  }
  return 0;
}

#ifdef NEURALART_PROFILE_NPU
static void watch(unsigned signal, unsigned char event, char direction, unsigned engine) {
  if (first + count < COUNTERS) {
    watched[count++] = (watched_t){(uint16_t)signal, event, direction, (uint8_t)engine};
  }
}

/* An engine that waits or has nothing to do is stalled: it works while its signal is low. */
static void watch_streams(uint32_t inputs, uint32_t outputs) {
  for (unsigned engine = 0; engine < ENGINES; engine++) {
    if ((inputs >> engine & 1u) != 0) {
      watch(SWITCH_OSTRX_STALL + engine, DBGTRC_EVT_LOW, 'i', engine);
    }
  }
  for (unsigned engine = 0; engine < ENGINES; engine++) {
    if ((outputs >> engine & 1u) != 0) {
      watch(SWITCH_ISTRX_STALL + engine, DBGTRC_EVT_LOW, 'o', engine);
    }
  }
}

static void watch_bursts(void) {
  static const uint16_t signals[2][4] = {
      {BUS_INTERFACE_WRITE1X8B, BUS_INTERFACE_WRITE2X8B, BUS_INTERFACE_WRITE4X8B, BUS_INTERFACE_WRITE8X8B},
      {BUS_INTERFACE_READ1X8B, BUS_INTERFACE_READ2X8B, BUS_INTERFACE_READ4X8B, BUS_INTERFACE_READ8X8B}};
  for (unsigned port = 0; port < PORTS; port++) {
    for (unsigned i = 0; i < 8u; i++) {
      watch(signals[i / 4u][i % 4u] + port, DBGTRC_EVT_HI, i < 4u ? 'w' : 'r', port);
    }
  }
}

static void start_counter(int counter, unsigned signal, unsigned char event) {
  LL_Dbgtrc_Counter_InitTypdef setting = {.signal = signal, .evt_type = event, .wrap = 1, .int_disable = 1};
  LL_Dbgtrc_Counter_Stop(0, counter);
  LL_Dbgtrc_Counter_Init(0, counter, &setting);
  LL_Dbgtrc_Counter_Start(0, counter);
}

static void start_watched(void) {
  for (int i = 0; i < count; i++) {
    start_counter(first + i, watched[i].signal, watched[i].event);
  }
}

/* Those of the epoch's own engines change from epoch to epoch. */
static void choose_counters(const LL_ATON_RT_EpochBlockItem_t *epoch, bool new_inference) {
  uint32_t pass = pass_of(options);
  bool of_epoch = pass == PROFILE_STREAMS || pass == PROFILE_TRANSFERS;
  if (!new_inference && !of_epoch) {
    return;
  }
  count = 0;
  first = pass == PROFILE_BURSTS ? 0 : 1;
  if (new_inference && first != 0) {
    start_counter(0, DBGTRC_VDD, DBGTRC_EVT_HI);
  }
  if (pass == PROFILE_BURSTS) {
    watch_bursts();
  } else if (!of_epoch) {
    uint32_t all = (1u << ENGINES) - 1u;
    watch_streams(pass == PROFILE_STREAM_INPUTS ? all : 0, pass == PROFILE_STREAM_OUTPUTS ? all : 0);
  }
#ifdef LL_ATON_EB_DBG_INFO
  uint32_t inputs = (uint16_t)epoch->in_streng_mask, outputs = (uint16_t)epoch->out_streng_mask;
  if (pass == PROFILE_STREAMS) {
    watch_streams(inputs, outputs);
  }
  for (unsigned engine = 0; pass == PROFILE_TRANSFERS && engine < ENGINES; engine++) {
    if ((inputs >> engine & 1u) != 0) {
      watch(DBGTRC_SWITCH_OSTRX_HENV + engine, DBGTRC_EVT_HI, 'i', engine);
    }
  }
#endif
  (void)epoch;
  start_watched();
}

static uint32_t read_counter(int counter) { return LL_Dbgtrc_Counter_Read(0, counter); }
#else
static void choose_counters(const LL_ATON_RT_EpochBlockItem_t *epoch, bool new_inference) {
  (void)epoch;
  (void)new_inference;
}

static uint32_t read_counter(int counter) {
  (void)counter;
  return 0;
}
#endif

void profile_pass(uint32_t asked) {
  options = asked;
  begins = NULL;
  count = 0;
}

void profile_runtime(LL_ATON_RT_Callbacktype_t event) {
  if (event == LL_ATON_RT_Callbacktype_RT_Init) {
#ifdef __arm__
    DEMCR |= 1u << 24; /* TRCENA */
    DWT_CTRL |= 1u; /* CYCCNTENA */
#endif
#ifdef NEURALART_PROFILE_NPU
    LL_Dbgtrc_EnableClock();
    LL_Dbgtrc_Init(0);
  } else {
    LL_Dbgtrc_Deinit(0);
    LL_Dbgtrc_DisableClock();
#endif
  }
}

/* ---- an epoch ---- */

static stamp_t stamps[4];
static uint32_t cache_before[8];
static int32_t index_; /* of the epoch in the inference */
static int32_t current; /* number of the last epoch that has one */

static bool is_npu_timed(void) {
#ifdef NEURALART_PROFILE_NPU
  uint32_t pass = pass_of(options);
  return pass != PROFILE_BURSTS && (pass != 0 || (options & PROFILE_EPOCH_LENGTH) != 0);
#else
  return false;
#endif
}

static const char *kind_of(const LL_ATON_RT_EpochBlockItem_t *epoch, uint32_t *type) {
  static const char *const names[] = {"HW", "EXTRA", "SW", "HYBRID", "EC"};
  uint32_t kind = 0;
  if ((epoch->flags & EpochBlock_Flags_blob) != 0) {
    kind = 4;
  } else if ((epoch->flags & EpochBlock_Flags_pure_sw) != 0) {
    kind = 2;
  } else if ((epoch->flags & EpochBlock_Flags_hybrid) != 0) {
    kind = 3;
#ifdef LL_ATON_EB_DBG_INFO
  } else if (epoch->epoch_num < 0) {
    kind = 1 | ((0u - (uint32_t)epoch->epoch_num) & 0x3fu) << 4;
#endif
  }
  *type = 0x05000000u | kind; /* internal, without tensors */
  return names[kind & 15u];
}

static void add_numbers(const LL_ATON_RT_EpochBlockItem_t *epoch) {
  int32_t number = index_, last = index_;
#ifdef LL_ATON_EB_DBG_INFO
  number = epoch->epoch_num;
  last = epoch->last_epoch_num;
#endif
  (void)epoch;
  current = number >= 0 ? number : current;
  add_field(index_);
  add_field(current);
  add_field(number);
  add_field(last);
}

static void send_phases(const char *name, bool npu) {
  begin(name);
  for (unsigned i = 0; i < 3u; i++) {
    add_count(npu ? stamps[i + 1u].npu - stamps[i].npu : stamps[i + 1u].core - stamps[i].core);
  }
  send();
}

static void send_engines(const uint32_t *counts) {
  uint32_t core = stamps[2].npu - stamps[1].npu, most = 0;
  bool transfers = pass_of(options) == PROFILE_TRANSFERS;
  int best = -1;
  for (int i = 0; i < count; i++) {
    if (counts[i] > most) {
      most = counts[i];
      best = i;
    }
    if (counts[i] > IDLE_ENGINE || (options & (PROFILE_STREAM_INPUTS | PROFILE_STREAM_OUTPUTS)) == 0) {
      begin(transfers ? "node:streng_henv:" : "node:streng_active:");
      add(watched[i].direction == 'i' ? "i" : "o");
      add_field(watched[i].engine);
      add_count(counts[i]);
      add_field((int32_t)(core - counts[i]));
      send();
    }
  }
  if (!transfers) {
    begin("node:streng_active:max:");
    add(best >= 0 && watched[best].direction == 'o' ? "o" : "i");
    add_field(best >= 0 ? watched[best].engine : -1);
    add_count(most);
    send();
  }
}

static void send_bursts(const uint32_t *counts) {
  uint32_t reads = 0, writes = 0;
  for (int i = 0; i < count; i += 4) {
    begin(watched[i].engine == 0 ? "node:port0:burst:" : "node:port1:burst:");
    add(watched[i].direction == 'r' ? "r" : "w");
    for (int j = 0; j < 4; j++) {
      add_count(counts[i + j]);
      *(watched[i].direction == 'r' ? &reads : &writes) += counts[i + j];
    }
    send();
  }
  begin("node:portx:burst:rw");
  add_count(reads);
  add_count(writes);
  add_count(reads + writes);
  add(":0");
  send();
}

static void send_cache(void) {
  uint32_t now[8];
  if ((options & PROFILE_NPU_CACHE) == 0 || !profile_npu_cache(now)) {
    return;
  }
  for (unsigned i = 0; i < 8u; i += 4) {
    begin(i == 0 ? "node:npu_cache:r" : "node:npu_cache:w");
    for (unsigned j = i; j < i + 4u; j++) {
      add_count(now[j] - cache_before[j]);
    }
    send();
  }
}

/* An inference begins again with the epoch that was the first behind profile_pass. */
static void epoch_begins(const LL_ATON_RT_EpochBlockItem_t *epoch) {
  bool new_inference = begins == NULL || epoch == begins;
  begins = new_inference ? epoch : begins;
  index_ = new_inference ? 0 : index_ + 1;
  uint32_t type;
  const char *kind = kind_of(epoch, &type);
  begin("node:evt_pre_start");
  add_numbers(epoch);
  add(":");
  add_number(epoch->flags, 16, 8);
  add(":");
  add_number(type, 16, 8);
  add(":");
  add(kind);
  send();
  choose_counters(epoch, new_inference);
  for (int i = 0; i < count; i++) {
    before[i] = read_counter(first + i);
  }
  (void)profile_npu_cache(cache_before);
}

static void epoch_is_over(const LL_ATON_RT_EpochBlockItem_t *epoch) {
  uint32_t counts[COUNTERS];
  for (int i = 0; i < count; i++) {
    counts[i] = read_counter(first + i) - before[i];
  }
  begin("node:evt_post_end");
  add_numbers(epoch);
  add(":0");
  send();
  send_phases("node:mcu_cycles", false);
  if (is_npu_timed()) {
    send_phases("node:npu_cycles", true);
  }
  if (count != 0 && pass_of(options) == PROFILE_BURSTS) {
    send_bursts(counts);
  } else if (pass_of(options) != 0 && is_npu_timed()) {
    send_engines(counts);
  }
  send_cache();
}

void profile_epoch(LL_ATON_RT_Callbacktype_t event, const NN_Instance_TypeDef *instance,
                   const LL_ATON_RT_EpochBlockItem_t *epoch_block) {
  (void)instance;
  if (event > LL_ATON_RT_Callbacktype_POST_END) {
    return; /* of the network: nothing is measured */
  }
  if (event == LL_ATON_RT_Callbacktype_PRE_START) {
    epoch_begins(epoch_block);
  }
  stamps[event] = (stamp_t){profile_cycles(), is_npu_timed() ? read_counter(0) : 0};
  if (event == LL_ATON_RT_Callbacktype_POST_END) {
    epoch_is_over(epoch_block);
  }
}
#endif

/* An NPU's counter unit, emulated: 16 counters of 32 bits, 10 stream engines, 2 bus interfaces. profile.c measures made-up
 * epochs with it, or (without NEURALART_PROFILE_NPU) software epochs that the runtime runs. Lines go to standard output;
 * wrong use of the unit ends the program. */
#include <stdio.h>
#include <stdlib.h>

#include "profile.h"

static uint64_t core_time; /* cycles of the core: 4 for 5 of the NPU */

uint32_t profile_cycles(void) { return (uint32_t)core_time; }
void profile_line(const char *text) { puts(text); }

#ifdef NEURALART_PROFILE_NPU
#include "ll_aton_dbgtrc.h"

static struct {
  unsigned signal;
  int event, wrap, on;
  uint64_t value;
} counters[16];
static int clock_on, unit_on;

static void check(int fine, const char *what) {
  if (!fine) {
    fprintf(stderr, "wrong use of the counter unit: %s\n", what);
    exit(1);
  }
}

int LL_Dbgtrc_Init(int id) { return check(id == 0 && clock_on, "init"), unit_on = 1, 0; }
int LL_Dbgtrc_Deinit(int id) { return check(id == 0 && unit_on, "deinit"), unit_on = 0, 0; }
void LL_Dbgtrc_EnableClock(void) { clock_on = 1; }
void LL_Dbgtrc_DisableClock(void) { check(!unit_on, "clock off while it works"), clock_on = 0; }
static void use(int id, int counter) { check(id == 0 && unit_on && counter >= 0 && counter < 16, "which counter"); }
int LL_Dbgtrc_Counter_Init(int id, int counter, LL_Dbgtrc_Counter_InitTypdef *setting) {
  use(id, counter);
  check(!counters[counter].on, "set while it counts");
  check(setting->int_disable && !setting->countdown, "an interrupt that nobody serves");
  counters[counter].signal = setting->signal;
  counters[counter].event = setting->evt_type;
  counters[counter].wrap = setting->wrap;
  counters[counter].value = setting->counter;
  return 0;
}
int LL_Dbgtrc_Counter_Start(int id, int counter) { return use(id, counter), counters[counter].on = 1, 0; }
int LL_Dbgtrc_Counter_Stop(int id, int counter) { return use(id, counter), counters[counter].on = 0, 0; }
uint32_t LL_Dbgtrc_Counter_Read(int id, int counter) { return use(id, counter), (uint32_t)counters[counter].value; }

static uint32_t cache[8] = {0xfffffff0u, 1, 2, 3, 4, 5, 6, 0xffffffffu};
bool profile_npu_cache(uint32_t now[8]) {
  for (int i = 0; i < 8; i++) now[i] = cache[i];
  return true;
}

/* How often a signal is as a counter wants it in some NPU cycles; `inputs`, `outputs`: engines that work. */
static uint64_t seen(unsigned signal, int event, uint64_t cycles, unsigned inputs, unsigned outputs) {
  unsigned engine = signal >= SWITCH_ISTRX_STALL ? signal - SWITCH_ISTRX_STALL
                    : signal >= DBGTRC_SWITCH_OSTRX_HENV ? signal - DBGTRC_SWITCH_OSTRX_HENV : signal - SWITCH_OSTRX_STALL;
  uint64_t busy = 0;
  if (signal == DBGTRC_VDD) return event == DBGTRC_EVT_HI ? cycles : 0;
  if (signal >= BUS_INTERFACE_READ1X8B) {
    check(signal < BUS_INTERFACE_WRITE8X8B + 2 && event == DBGTRC_EVT_HI, "which bus interface");
    return cycles / (signal - BUS_INTERFACE_READ1X8B + 10); /* each its own */
  }
  check(engine < 10, "which engine");
  if (signal >= SWITCH_ISTRX_STALL) busy = outputs >> engine & 1 ? cycles * (engine + 1) / 20 : 5;
  else busy = inputs >> engine & 1 ? cycles * (engine + 1) / 10 : 5;
  if (signal >= DBGTRC_SWITCH_OSTRX_HENV && signal < SWITCH_ISTRX_STALL) return event == DBGTRC_EVT_HI ? busy / 2 : 0;
  return event == DBGTRC_EVT_LOW ? busy : cycles - busy;
}

static void pass_time(uint64_t cycles, unsigned inputs, unsigned outputs) {
  core_time += cycles * 4 / 5;
  for (int i = 0; i < 16; i++) {
    if (counters[i].on) {
      counters[i].value += seen(counters[i].signal, counters[i].event, cycles, inputs, outputs);
      /* A counter that is not told to go round stands still. */
      counters[i].value = counters[i].wrap || counters[i].value >> 32 == 0 ? counters[i].value & 0xffffffffu : 0xffffffffu;
    }
  }
}

enum { BOTH = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end };
static const LL_ATON_RT_EpochBlockItem_t epochs[] = {
    {.flags = BOTH | EpochBlock_Flags_pure_hw, .epoch_num = 1, .last_epoch_num = 1, .in_streng_mask = 0x205,
     .out_streng_mask = 0x4},
    {.flags = BOTH | EpochBlock_Flags_blob | EpochBlock_Flags_pure_hw, .epoch_num = 2, .last_epoch_num = 22,
     .in_streng_mask = 0x3ff, .out_streng_mask = 0x3ff},
    {.flags = BOTH | EpochBlock_Flags_hybrid, .epoch_num = 23, .last_epoch_num = 23},
    {.flags = BOTH | EpochBlock_Flags_pure_hw, .epoch_num = -3, .last_epoch_num = -3, .in_streng_mask = 1},
    {.flags = BOTH | EpochBlock_Flags_pure_sw, .epoch_num = 24, .last_epoch_num = 24},
};
static const uint64_t took[][3] = {{100, 1000, 50}, {400, 3000000000u, 200}, {50, 100, 0}, {10, 2000000000u, 20}, {900, 5, 5}};

static void inference(const NN_Instance_TypeDef *instance) {
  for (unsigned i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
    pass_time(7, 0, 0); /* the scheduler */
    for (int event = 0; event < 4; event++) {
      profile_epoch((LL_ATON_RT_Callbacktype_t)event, instance, &epochs[i]);
      if (event == 3) break;
      unsigned works = event == 1 ? ~0u : 0;
      pass_time(took[i][event], works & (uint16_t)epochs[i].in_streng_mask, works & (uint16_t)epochs[i].out_streng_mask);
      for (int j = 0; event == 1 && j < 8; j++) cache[j] += 10 * (i + 1) + (unsigned)j;
    }
  }
}

int main(int argc, char **argv) {
  static NN_Instance_TypeDef instance;
  profile_config(&(profile_clocks_t){0x486, 800000000, 400000000, 1000000000, 900000000, true});
  LL_ATON_RT_SetRuntimeCallback(profile_runtime);
  LL_ATON_RT_RuntimeInit();
  profile_epoch(LL_ATON_RT_Callbacktype_NN_Init, &instance, NULL);
  for (int i = 1; i < argc; i++) {
    profile_pass((uint32_t)strtoul(argv[i], NULL, 16));
    inference(&instance);
    inference(&instance);
  }
  LL_ATON_RT_RuntimeDeInit();
  return clock_on;
}
#else
static void work(const void *epoch) { core_time += ((const LL_ATON_RT_EpochBlockItem_t *)epoch)->wait_mask + 40u; }
static const LL_ATON_RT_EpochBlockItem_t items[] = {{.start_epoch_block = work, .flags = EpochBlock_Flags_pure_sw},
                                                    {.end_epoch_block = work, .flags = EpochBlock_Flags_pure_sw},
                                                    {.flags = EpochBlock_Flags_last_eb}};
static const LL_ATON_RT_EpochBlockItem_t *get_items(void) { return items; }
static const NN_Interface_TypeDef interface = {.network_name = "net", .epoch_block_items = get_items};
static NN_Instance_TypeDef net = {.network = &interface};

int main(void) {
  LL_ATON_RT_SetEpochCallback(profile_epoch, &net);
  LL_ATON_RT_RuntimeInit();
  if (!LL_ATON_RT_Init_Network(&net)) return 1;
  core_time = 0xfffffff0u; /* CYCCNT goes round in the first epoch */
  LL_ATON_RT_Main(&net);
  LL_ATON_RT_Main(&net);
  LL_ATON_RT_DeInit_Network(&net);
  return 0;
}
#endif

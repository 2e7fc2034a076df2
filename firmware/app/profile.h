/* Measures each epoch of a network, and sends the lines that npu_profiler and `neuralart profile -d` read. For this
 * application with the definition NEURALART_PROFILE, and for any other, with this project's runtime or the vendor's:
 *
 *   LL_ATON_RT_SetRuntimeCallback(profile_runtime);                 before LL_ATON_RT_RuntimeInit
 *   LL_ATON_RT_SetNetworkCallback(&NN_Instance_network, profile_epoch);   before LL_ATON_RT_Init_Network
 *   profile_config(&clocks);
 *   profile_pass(PROFILE_STREAM_INPUTS);                            then inferences
 *
 * NEURALART_PROFILE_NPU: the vendor's runtime with its ll_aton_dbgtrc.h; without it only CPU cycles are counted.
 * LL_ATON_EB_DBG_INFO: epochs tell their numbers; without it they are numbered. */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "ll_aton.h"

/* What is counted, as in the option word of the validation protocol. The counter unit has 16 counters: one of stream
 * inputs, stream outputs, engines of the epoch, transfers and bursts is taken, in this order. Each comes with the NPU
 * cycles of the phases, but not the bursts, which need all counters. */
enum {
  PROFILE_EPOCH_LENGTH = 1,
  PROFILE_STREAMS = 2,   /* engines that the epoch uses (needs LL_ATON_EB_DBG_INFO) */
  PROFILE_TRANSFERS = 4, /* input engines of the epoch: cycles with data */
  PROFILE_BURSTS = 8,
  PROFILE_NPU_CACHE = 16,
  PROFILE_STREAM_INPUTS = 32,
  PROFILE_STREAM_OUTPUTS = 64
};

typedef struct {
  uint32_t device;                  /* 0x486: STM32N6 */
  uint32_t mcu, noc, npu, nic;      /* hertz */
  bool npu_cache;
} profile_clocks_t;

void profile_config(const profile_clocks_t *clocks);
/* In front of an inference, for it and those that follow of the same network; 0: CPU cycles alone. */
void profile_pass(uint32_t options);

void profile_runtime(LL_ATON_RT_Callbacktype_t event);
void profile_epoch(LL_ATON_RT_Callbacktype_t event, const NN_Instance_TypeDef *instance,
                   const LL_ATON_RT_EpochBlockItem_t *epoch_block);

/* ---- weak: an application may define them ---- */

/* A line without its end. Does nothing; this application sends it by the validation protocol, else to the console. */
void profile_line(const char *text);
/* Cycles of the core, modulo 2^32: CYCCNT of the DWT, which profile_runtime turns on. */
uint32_t profile_cycles(void);
/* Counters of the NPU cache since the start, modulo 2^32: read hits, misses, misses that allocate, evictions, then
 * written hits, misses, misses that allocate, through. False, as it is: there are none. */
bool profile_npu_cache(uint32_t counters[8]);

#endif

/* The scheduler's interface. Names as in the LL_ATON interface, own code (firmware/runtime/ll_aton_runtime.c). */
#ifndef LL_ATON_H
#define LL_ATON_H

#include "ll_aton_NN_interface.h"
#include "ll_aton_version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  LL_ATON_RT_NO_WFE = 0, /* call LL_ATON_RT_RunEpochBlock again at once */
  LL_ATON_RT_WFE,        /* something runs in the background: wait for an event first (never with software epochs) */
  LL_ATON_RT_DONE        /* the inference is complete */
} LL_ATON_RT_RetValues_t;

/* Who is told of RT_Init and RT_Deinit; set it before RuntimeInit. NULL: nobody. */
void LL_ATON_RT_SetRuntimeCallback(TraceRuntime_FuncPtr_t callback);
/* Who is told of NN_Init, NN_DeInit and each epoch of a network; set it before Init_Network, behind the installation of
 * a relocatable model. The second form is the older one of the interface. */
void LL_ATON_RT_SetNetworkCallback(NN_Instance_TypeDef *instance, TraceEpochBlock_FuncPtr_t callback);
void LL_ATON_RT_SetEpochCallback(TraceEpochBlock_FuncPtr_t callback, NN_Instance_TypeDef *instance);

void LL_ATON_RT_RuntimeInit(void);
void LL_ATON_RT_RuntimeDeInit(void);
/* Runs the network's own initialization; false if it refuses. */
bool LL_ATON_RT_Init_Network(NN_Instance_TypeDef *instance);
void LL_ATON_RT_DeInit_Network(NN_Instance_TypeDef *instance);
void LL_ATON_RT_Reset_Network(NN_Instance_TypeDef *instance);
LL_ATON_RT_RetValues_t LL_ATON_RT_RunEpochBlock(NN_Instance_TypeDef *instance);
/* A whole inference. */
void LL_ATON_RT_Main(NN_Instance_TypeDef *instance);

#ifdef __cplusplus
}
#endif

#endif

/* From the captured picture to the network's result. */
#ifndef APP_NETWORK_H
#define APP_NETWORK_H

#include <stdbool.h>

#include "main.h"

/* Captured picture -> rescaled picture -> the network's input. */
void Network_Preprocess(AppConfig_TypeDef *app);
bool Network_Inference(AppConfig_TypeDef *app);
/* Number of the largest element of the first output. */
uint32_t Network_Top1(const AppConfig_TypeDef *app);

#endif

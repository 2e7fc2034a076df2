/* The application as the host link sees it: three things that take tensors and give tensors back. */
#ifndef APP_LINK_H
#define APP_LINK_H

#include "main.h"

/* Needs an initialized network. Answers the host until it says quit. */
void app_link_serve(AppConfig_TypeDef *app);

#endif

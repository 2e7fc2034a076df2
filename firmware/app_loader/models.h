/* Installs the models of a load table as the networks of this application. */
#ifndef MODELS_H
#define MODELS_H

#include "load_table.h"

/* Does not return if one cannot be installed. */
void models_install(const load_table_t *table);

#endif

/* The load table in flash: which models to load, and how (docs/reference/host-link.md, "The loading application"). */
#ifndef LOAD_TABLE_H
#define LOAD_TABLE_H

#include <stdint.h>

#define LOAD_TABLE_MAGIC 0x4c45524du /* MREL */
#define LOAD_TABLE_MODELS 4u

/* Flags. */
#define LOAD_TABLE_XIP 1u        /* code stays in flash, else it is copied */
#define LOAD_TABLE_EXT 2u        /* executive RAM is in the external RAM */
#define LOAD_TABLE_CLEAR 4u      /* activation pools are filled with zeros */
#define LOAD_TABLE_NO_OVERLAY 8u /* no two models may share memory for activations */

typedef struct {
  uint32_t model, params; /* addresses; params 0: they are in the model's file */
} load_table_row_t;

typedef struct {
  uint32_t flags, count;
  load_table_row_t rows[LOAD_TABLE_MODELS];
} load_table_t;

/* NULL, or what is wrong; then *word is the word of the table that it is about. */
const char *load_table_read(const uint32_t *words, load_table_t *table, uint32_t *word);

#endif

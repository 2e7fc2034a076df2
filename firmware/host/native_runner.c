/* Runs generated networks on this machine, with the target's memory pools mapped at their own addresses.
 *
 * A program of its own: position independent, it leaves the low gigabytes free, which the process of a test does not.
 * Commands come from standard input, one a line, numbers in hexadecimal:
 *   map ADDRESS SIZE             make it memory (whole pages, must be free)
 *   fill ADDRESS SIZE BYTE
 *   load ADDRESS FILE            a whole file
 *   set NETWORK in|out NUMBER ADDRESS SIZE    the application's buffer
 *   in ADDRESS SIZE              the next bytes of the input file (first argument)
 *   run NETWORK
 *   out ADDRESS SIZE             append to the output file (second argument)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ll_aton.h"

typedef struct {
  const char *name;
  NN_Instance_TypeDef *instance;
} entry_t;

#include "native_networks.h" /* the table `networks`, made for each build */

static _Noreturn void fail(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(1);
}

static NN_Instance_TypeDef *find(const char *name) {
  for (const entry_t *e = networks; e->name != NULL; e++)
    if (strcmp(e->name, name) == 0) return e->instance;
  fail("no such network", name);
}

static void load(unsigned long address, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail("cannot open", path);
  unsigned char *to = (unsigned char *)address;
  for (size_t got; (got = fread(to, 1, 65536, file)) > 0;) to += got;
  fclose(file);
}

/* The first time sets what the network keeps between inferences to its first values. */
static void run(NN_Instance_TypeDef *instance) {
  LL_ATON_RT_RuntimeInit();
  if (instance->exec_state.first_epoch_block == NULL && !LL_ATON_RT_Init_Network(instance))
    fail("the runtime refuses", instance->network->network_name);
  LL_ATON_RT_Main(instance);
}

int main(int argc, char **argv) {
  FILE *inputs = argc == 3 ? fopen(argv[1], "rb") : NULL;
  FILE *outputs = argc == 3 ? fopen(argv[2], "wb") : NULL;
  if (inputs == NULL || outputs == NULL) fail("usage", "native_runner INPUTS OUTPUTS < COMMANDS");
  char line[4096], name[256], text[4096];
  unsigned long address, size, number;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "map %lx %lx", &address, &size) == 2) {
      const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
      if (mmap((void *)address, size, PROT_READ | PROT_WRITE, flags, -1, 0) != (void *)address) fail("cannot do", line);
    } else if (sscanf(line, "fill %lx %lx %lx", &address, &size, &number) == 3) {
      memset((void *)address, (int)number, size);
    } else if (sscanf(line, "load %lx %4095[^\n]", &address, text) == 2) {
      load(address, text);
    } else if (sscanf(line, "set %255s %7s %lx %lx %lx", name, text, &number, &address, &size) == 5) {
      const NN_Interface_TypeDef *network = find(name)->network;
      LL_ATON_User_IO_Result_t (*setter)(uint32_t, void *, uint32_t) =
          strcmp(text, "in") == 0 ? network->input_setter : network->output_setter;
      if (setter((uint32_t)number, (void *)address, (uint32_t)size) != LL_ATON_User_IO_NOERROR) fail("refused", line);
    } else if (sscanf(line, "in %lx %lx", &address, &size) == 2) {
      if (fread((void *)address, 1, size, inputs) != size) fail("too few inputs", line);
    } else if (sscanf(line, "run %255s", name) == 1) {
      run(find(name));
    } else if (sscanf(line, "out %lx %lx", &address, &size) == 2) {
      if (fwrite((void *)address, 1, size, outputs) != size) fail("cannot write", line);
    } else {
      fail("unknown command", line);
    }
  }
  return fclose(outputs);
}

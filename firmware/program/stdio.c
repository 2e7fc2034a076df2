/* printf and getchar use the board's console. */
#include <stdio.h>

#include "console.h"

#ifdef _PICOLIBC__

static int put(char c, FILE *stream) {
  (void)stream;
  console_putc((uint8_t)c);
  return (unsigned char)c;
}

static int get(FILE *stream) {
  (void)stream;
  return console_getc();
}

static FILE console = FDEV_SETUP_STREAM(put, get, NULL, _FDEV_SETUP_RW);
FILE *const stdin = &console;
FILE *const stdout = &console;
FILE *const stderr = &console;

#else /* newlib: its system calls, of which files have no more than this */

#include <sys/stat.h>

int _write(int file, const char *data, int count);
int _read(int file, char *data, int count);
int _close(int file);
int _fstat(int file, struct stat *status);
int _isatty(int file);
int _lseek(int file, int offset, int from);

int _write(int file, const char *data, int count) {
  (void)file;
  for (int n = 0; n < count; n++) {
    console_putc((uint8_t)data[n]);
  }
  return count;
}

int _read(int file, char *data, int count) {
  (void)file;
  if (count > 0) {
    data[0] = (char)console_getc();
  }
  return count > 0;
}

int _close(int file) {
  (void)file;
  return -1;
}

int _fstat(int file, struct stat *status) {
  (void)file;
  status->st_mode = S_IFCHR;
  return 0;
}

int _isatty(int file) {
  (void)file;
  return 1;
}

int _lseek(int file, int offset, int from) {
  (void)file;
  (void)offset;
  (void)from;
  return 0;
}

#endif

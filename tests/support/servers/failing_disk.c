/* Loaded in front of libc: a change below a folder fails, in whatever program of a build comes to it.
 *
 * FAILING_PLACE is the folder, FAILING_STATE a file of five words that all programs of a build share: changes so far,
 * number of the one that fails, its errno, whether it came to that, and whether all later ones fail as well (a full
 * disk, on which files can still be renamed and deleted).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DONE, AT, CODE, HIT, STAYS, WORDS };
enum { FILES = 4096 };

static volatile unsigned *state;
static const char *place;
static char watched[FILES], begun[FILES];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAILING_STATE");
  place = getenv("FAILING_PLACE");
  int file = path && place ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *found = mmap(NULL, WORDS * sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  state = found == MAP_FAILED ? NULL : found;
  REAL(close)(file);
}

static int below(int folder, const char *path) {
  char full[2 * PATH_MAX], link[64];
  if (!state || !path) return 0;
  size_t used = 0;
  if (path[0] != '/') {
    if (folder == AT_FDCWD) {
      if (!getcwd(full, PATH_MAX)) return 0;
      used = strlen(full);
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      ssize_t size = readlink(link, full, PATH_MAX - 1);
      if (size < 0) return 0;
      used = (size_t)size;
    }
    full[used++] = '/';
    while (path[0] == '.' && path[1] == '/') path += 2;
  }
  snprintf(full + used, sizeof full - used, "%s", path);
  size_t length = strlen(place);
  return !strncmp(full, place, length) && (full[length] == '/' || !full[length]);
}

/* Is this the change that fails? `grows`: it needs room. */
static int fails(int grows) {
  unsigned number = __sync_fetch_and_add(&state[DONE], 1);
  if (number != state[AT] && !(grows && state[STAYS] && state[HIT])) return 0;
  state[HIT] = 1;
  errno = (int)state[CODE];
  return 1;
}

static void watch(int file) {
  if (file >= 0 && file < FILES) watched[file] = 1, begun[file] = 0;
}

static int is_watched(int file) { return file >= 0 && file < FILES && watched[file]; }

static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define OPEN(name, given, folder, call)                  \
  int name given {                                       \
    mode_t mode = 0;                                     \
    if (flags & (O_CREAT | O_TMPFILE)) {                 \
      va_list rest;                                      \
      va_start(rest, flags);                             \
      mode = va_arg(rest, mode_t);                       \
      va_end(rest);                                      \
    }                                                    \
    int mine = changes(flags) && below(folder, path);    \
    if (mine && fails(1)) return -1;                     \
    int file = REAL(name) call;                          \
    if (mine) watch(file);                               \
    return file;                                         \
  }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))

#define FOPEN(name)                                                  \
  FILE *name(const char *path, const char *how) {                    \
    int mine = strpbrk(how, "wa+") && below(AT_FDCWD, path);         \
    if (mine && fails(1)) return NULL;                               \
    FILE *file = REAL(name)(path, how);                              \
    if (mine && file) watch(fileno(file));                           \
    return file;                                                     \
  }

FOPEN(fopen)
FOPEN(fopen64)

int close(int file) {
  if (is_watched(file)) watched[file] = 0;
  return REAL(close)(file);
}

int fclose(FILE *stream) {
  int file = fileno(stream);
  if (is_watched(file)) watched[file] = 0;
  return REAL(fclose)(stream);
}

ssize_t write(int file, const void *data, size_t size) {
  if (is_watched(file) && fails(1)) {
    int code = errno;
    if (size > 1) REAL(write)(file, data, size / 2);
    errno = code;
    return -1;
  }
  return REAL(write)(file, data, size);
}

/* Programs that write word by word through a stream: its first one counts. */
size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
  int file = fileno(stream);
  if (is_watched(file) && (!begun[file] || (state[STAYS] && state[HIT]))) {
    begun[file] = 1;
    if (fails(1)) return 0;
  }
  return REAL(fwrite)(data, size, count, stream);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) {
  return is_watched(to) && fails(1) ? -1 : REAL(sendfile64)(to, from, offset, count);
}

int rename(const char *from, const char *to) {
  return below(AT_FDCWD, to) && fails(0) ? -1 : REAL(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) { return below(AT_FDCWD, path) && fails(1) ? -1 : REAL(mkdir)(path, mode); }

int unlink(const char *path) { return below(AT_FDCWD, path) && fails(0) ? -1 : REAL(unlink)(path); }

int unlinkat(int folder, const char *path, int flags) {
  return below(folder, path) && fails(0) ? -1 : REAL(unlinkat)(folder, path, flags);
}

int rmdir(const char *path) { return below(AT_FDCWD, path) && fails(0) ? -1 : REAL(rmdir)(path); }

int chmod(const char *path, mode_t mode) { return below(AT_FDCWD, path) && fails(0) ? -1 : REAL(chmod)(path, mode); }

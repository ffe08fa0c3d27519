/* A library for LD_PRELOAD that lies to a role about the kernel:
 *   FAULTS_NO_SYNC=/wal/ fsync and fdatasync of files with this in their path answer 0 and do nothing
 *   FAULTS_CLOCK=/file   the wall clock is off by the nanoseconds that the file holds, as int64
 * Build: cc -shared -fPIC -O2 -o shim.so shim.c */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *unsynced;
static volatile const int64_t *offset_ns;

__attribute__((constructor)) static void begin(void) {
  unsynced = getenv("FAULTS_NO_SYNC");
  const char *path = getenv("FAULTS_CLOCK");
  if (path == NULL) return;
  int fd = open(path, O_RDONLY);
  if (fd < 0) return;
  void *page = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) offset_ns = page;
  close(fd);
}

/* Whether a sync of this file does nothing. */
static int is_unsynced(int fd) {
  char name[32], path[4096];
  if (unsynced == NULL) return 0;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, unsynced) != NULL;
}

int fsync(int fd) { return is_unsynced(fd) ? 0 : (int)syscall(SYS_fsync, fd); }

int fdatasync(int fd) { return is_unsynced(fd) ? 0 : (int)syscall(SYS_fdatasync, fd); }

static void shift(struct timespec *at) {
  int64_t ns = (int64_t)at->tv_sec * 1000000000 + at->tv_nsec + *offset_ns;
  at->tv_sec = ns / 1000000000;
  at->tv_nsec = ns % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, at);
  int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && offset_ns != NULL && is_wall) shift(at);
  return result;
}

int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

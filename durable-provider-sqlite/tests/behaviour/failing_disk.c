/* A disk that fails on demand, for a process that preloads this.
 *
 * DURABLE_FAULT names a file. While it exists, its first letter says what fails on
 * files whose path has ".db" in it:
 *   s  syncs, with EIO, although the data may be there later
 *   f  writes, with ENOSPC
 *   r  opening for writing, with EROFS
 * DURABLE_FAULT_ONE_IN=n has one sync in n fail, by chance, whatever that file says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t (*real_write)(int, const void *, size_t, off64_t);
static int (*real_open)(const char *, int, ...);
static int (*real_fsync)(int);

__attribute__((constructor)) static void find_the_real_ones(void) {
    real_write = dlsym(RTLD_NEXT, "pwrite64");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
}

static char fault(void) {
    const char *path = getenv("DURABLE_FAULT");
    char letter = 0;
    int fd = path ? real_open(path, O_RDONLY) : -1;
    if (fd >= 0) {
        if (read(fd, &letter, 1) != 1) letter = 0;
        close(fd);
    }
    return letter;
}

static int is_database(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, ".db") != NULL;
}

static int sync_fails(int fd) {
    const char *one_in = getenv("DURABLE_FAULT_ONE_IN");
    if (!is_database(fd)) return 0;
    if (one_in && random() % atoi(one_in) == 0) return 1;
    return fault() == 's';
}

int fsync(int fd) {
    if (sync_fails(fd)) { errno = EIO; return -1; }
    return real_fsync(fd);
}

int fdatasync(int fd) { return fsync(fd); }

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    if (is_database(fd) && fault() == 'f') { errno = ENOSPC; return -1; }
    return real_write(fd, bytes, count, at);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    int writes = (flags & (O_WRONLY | O_RDWR)) && !(flags & O_EXCL);
    if (writes && strstr(path, ".db") && fault() == 'r') { errno = EROFS; return -1; }
    return real_open(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return open64(path, flags, mode);
}

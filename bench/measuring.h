/* The clock and the CPU time that load generators measure by. Include it after the system's headers. */

static void fail(const char *what); /* of the program itself: says what is wrong and ends */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU seconds a process has used, all its threads: fields 14 and 15 of its stat line. */
static double cpu_of(int pid) {
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) fail("the server is gone");
    if (!fgets(line, sizeof line, file)) fail("no stat line");
    fclose(file);
    char *after_name = strrchr(line, ')');
    if (!after_name || sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        fail("an odd stat line");
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

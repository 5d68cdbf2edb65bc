/* Many calls to devices: HTTP/1.1 POSTs at a fixed rate over kept connections, one thread, one epoll loop.
 *
 * `--paths FILE` has one path a line; request n goes to path (n * 7919) % lines, so that neighbours in time are none in
 * the file. A request that is due takes a free connection, or the next that becomes free. Its latency runs from when it
 * was due to the last byte of its answer, so that neither a slow server nor too few connections can hide it.
 *
 * Prints one JSON object: counts by status class, latencies (microseconds), its own CPU time and, with `--server PID`,
 * that of the server over exactly the measured window. Not here: the devices that answer (loadgen.c).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "measuring.h"

enum { PATH = 128, REQUEST = 2048, ANSWER = 8192, QUEUE = 1 << 16, MOST = 1 << 20 };

struct line {
    int fd, busy, have;
    uint64_t due;
    char answer[ANSWER + 1];
};

static struct {
    const char *host, *paths, *token, *body;
    int port, connections, server;
    double seconds, warmup, rate;
} options = {.host = "127.0.0.1", .connections = 256, .seconds = 5, .warmup = 1, .rate = 1000,
             .body = "{\"method\":\"reset\",\"params\":{}}"};

static struct line *lines;
static int *idle, idle_count, poller;
static uint64_t *queue, queued_from, queued_to; /* when those that no connection was free for were due */
static char (*paths)[PATH];
static size_t path_count, asked;
static uint32_t *took_us;
static size_t took_count, good, others, waited;
static int measuring, odd_status;

static void fail(const char *what) {
    fprintf(stderr, "callgen: %s (%s)\n", what, errno ? strerror(errno) : "no system error");
    exit(1);
}

static void read_paths(void) {
    FILE *file = fopen(options.paths, "r");
    if (!file) fail("cannot read --paths");
    paths = malloc(MOST * sizeof *paths);
    while (path_count < MOST && fscanf(file, "%127s", paths[path_count]) == 1) path_count++;
    fclose(file);
    if (!path_count) fail("no paths");
}

static void ask(struct line *l, uint64_t due) {
    char request[REQUEST];
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Authorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     paths[asked++ * 7919 % path_count], options.token, strlen(options.body), options.body);
    if (n >= (int)sizeof request) fail("a long request");
    l->busy = 1, l->have = 0, l->due = due;
    if (send(l->fd, request, (size_t)n, MSG_NOSIGNAL) != n) fail("a request that the socket does not take");
}

static void answered(struct line *l, int status) {
    if (measuring) {
        if (took_count < MOST) took_us[took_count++] = (uint32_t)((now_ns() - l->due) / 1000);
        if (status / 100 == 2) good++;
        else others++, odd_status = status;
    }
    l->busy = 0;
    if (queued_from < queued_to) ask(l, queue[queued_from++ % QUEUE]);
    else idle[idle_count++] = (int)(l - lines);
}

static void receive(struct line *l) {
    ssize_t n = recv(l->fd, l->answer + l->have, (size_t)(ANSWER - l->have), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0 || !l->busy) fail("the server closed a connection");
    l->have += (int)n;
    l->answer[l->have] = 0;
    char *end = strstr(l->answer, "\r\n\r\n"), *size = strcasestr(l->answer, "\r\ncontent-length:");
    if (!end) return;
    if (!size || size > end) fail("an answer without its length");
    if (l->have >= (int)(end + 4 - l->answer) + atoi(size + 17)) answered(l, atoi(l->answer + 9));
    else if (l->have == ANSWER) fail("a long answer");
}

static void dial_all(void) {
    lines = calloc((size_t)options.connections, sizeof *lines);
    idle = calloc((size_t)options.connections, sizeof *idle);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    inet_pton(AF_INET, options.host, &address.sin_addr);
    for (int i = 0; i < options.connections; i++) {
        int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &lines[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event)) fail("epoll");
        lines[i].fd = fd;
        idle[idle_count++] = i;
    }
}

static void run_until(uint64_t end, uint64_t start, uint64_t *next) {
    double gap = 1e9 / options.rate;
    for (uint64_t now = now_ns(); now < end; now = now_ns()) {
        for (uint64_t due; (due = start + (uint64_t)((double)*next * gap)) <= now; (*next)++) {
            if (idle_count) {
                ask(&lines[idle[--idle_count]], due);
            } else if (queued_to - queued_from < QUEUE) {
                queue[queued_to++ % QUEUE] = due;
                waited += (size_t)measuring;
            } else {
                fail("far too many requests wait");
            }
        }
        struct epoll_event events[256];
        int n = epoll_wait(poller, events, 256, 1);
        for (int i = 0; i < n; i++) receive(events[i].data.ptr);
    }
}

static int by_size(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double quantile(double q) {
    return took_count ? took_us[(size_t)(q * (double)(took_count - 1))] : 0;
}

int main(int argc, char **argv) {
    static const struct option known[] = {
        {"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"paths", 1, 0, 'f'}, {"token", 1, 0, 't'}, {"body", 1, 0, 'b'},
        {"connections", 1, 0, 'n'}, {"rate", 1, 0, 'r'}, {"seconds", 1, 0, 's'}, {"warmup", 1, 0, 'W'},
        {"server", 1, 0, 'S'}, {0, 0, 0, 0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (c) {
        case 'h': options.host = optarg; break;
        case 'p': options.port = atoi(optarg); break;
        case 'f': options.paths = optarg; break;
        case 't': options.token = optarg; break;
        case 'b': options.body = optarg; break;
        case 'n': options.connections = atoi(optarg); break;
        case 'r': options.rate = atof(optarg); break;
        case 's': options.seconds = atof(optarg); break;
        case 'W': options.warmup = atof(optarg); break;
        case 'S': options.server = atoi(optarg); break;
        default: exit(2);
        }
    if (!options.port || !options.paths || !options.token || options.rate <= 0) {
        fprintf(stderr, "usage: callgen --port P --paths FILE --token T [--rate R] [--connections N] [--seconds S]\n"
                        "       [--warmup S] [--body JSON] [--server PID]\n");
        exit(2);
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    queue = calloc(QUEUE, sizeof *queue);
    took_us = calloc(MOST, sizeof *took_us);
    read_paths();
    dial_all();

    uint64_t start = now_ns(), next = 0;
    run_until(start + (uint64_t)(options.warmup * 1e9), start, &next);
    double server_before = options.server ? cpu_of(options.server) : 0, own_before = own_cpu();
    uint64_t begin = now_ns();
    measuring = 1;
    run_until(begin + (uint64_t)(options.seconds * 1e9), start, &next);
    double seconds = (double)(now_ns() - begin) / 1e9, own = own_cpu() - own_before;
    double server = options.server ? cpu_of(options.server) - server_before : 0;
    size_t in_time = took_count;
    options.rate = 1e-9; /* nothing more is due: what is under way is waited for */
    uint64_t limit = now_ns() + 30000000000ull;
    while (idle_count < options.connections && now_ns() < limit) run_until(now_ns() + 1000000, now_ns() + 1000000000, &next);

    qsort(took_us, took_count, sizeof *took_us, by_size);
    printf("{\"seconds\":%.3f,\"per_s\":%.1f,\"good\":%zu,\"others\":%zu,\"odd_status\":%d,\"waited_for_connection\":%zu,"
           "\"unanswered\":%d,\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f,\"max_us\":%.0f,\"server_cpu_s\":%.2f,"
           "\"generator_cpu_s\":%.2f}\n",
           seconds, (double)in_time / seconds, good, others, odd_status, waited, options.connections - idle_count,
           quantile(0.5), quantile(0.99), quantile(0.999), quantile(1), server, own);
    return 0;
}

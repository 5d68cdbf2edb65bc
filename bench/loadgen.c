/* Many devices at once: MQTT 3.1.1 publishers over TLS or plain TCP, one thread, one epoll loop.
 *
 * Every connection is one sensor (its user name comes from a file), publishes at QoS 1 and keeps up to `--window`
 * messages in flight; or, with `--rate R`, all connections together publish R messages a second, one after the other.
 * A PUBACK's latency runs from the write of its PUBLISH; in rate mode from the moment the message was due, so that a
 * server that stalls cannot hide it. Every message has its own time, one (or 30) seconds after the connection's last; the
 * first is of an hour (or 30) ago, so that fast loads stay behind the clock.
 * `--form keys` adds `try` and two keys that are not documented, `--form text` sends numbers as text. `--form newest`
 * sends the newest first; `--form backlog` sends a drive of six hours ago, a message of it behind each live one.
 * `--kind short` sends 124 bytes instead of 144; `--apart` gives each message a write, and so a TLS record, of its own:
 * otherwise messages that may go at once share one.
 * `--publishers N` lets only the first N connections publish (in the closed loop: 0 or all); the others are just there.
 * `--drive` has each device drive to and fro on a way of its own, 100 of them side by side: its messages have the
 * present time (in rate mode that at which they were due) and a place of their own.
 *
 * `--answer` makes devices of the connections: each subscribes to its requests and acknowledges every one at once.
 * `--reconnect` dials again, every `--redial` milliseconds, whoever loses its connection or is not let in, and says when
 * everybody was back: what a fleet does when the server is started anew. Then messages that were under way are due again.
 * It says `all connected` on stderr whenever it is so, and stops at SIGTERM as if its time were over.
 *
 * Prints one JSON object with counts, latencies (microseconds), its own CPU time and, with `--server PID`, the CPU time
 * of the server process over exactly the measured window (/proc/PID/stat). Not here: starting servers (peers.py),
 * choosing loads (device_channel.py, fleet_10k.py, rpc.py, pushes.py, storm.py), calling devices (callgen.c).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
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

enum { MAX_WINDOW = 64, POINTS = 30, MAX_MESSAGE = 6144, TIMES = POINTS + 1, HANDSHAKES = 128, NAME = 32 };
enum { LATENCY_BUCKETS = 64 * 32, LARGEST = 2048, ANSWER_IDS = 0xF000, DIALS = 64, FEW = 64, EVENTS = 512 };
static const long long HOUR_MS = 3600 * 1000LL;
enum state { IDLE, CONNECTING, HANDSHAKING, SIGNING_IN, SUBSCRIBING, READY };

struct device {
    int fd;
    enum state state;
    SSL *tls;
    uint32_t sent, acked;           /* messages; the packet id of message n is n % 65535 + 1 */
    uint64_t since[MAX_WINDOW];     /* when message n was written or due, at n % MAX_WINDOW, ns */
    unsigned char *packet;          /* a partly read packet, or NULL */
    int packet_have;
    unsigned answers;               /* requests acknowledged; the packet id of an answer is at or above ANSWER_IDS */
    uint64_t redial_at;             /* when a lost connection is dialled again, ns; 0: it is not lost */
    unsigned char *unwritten;       /* what the socket did not take, or NULL */
    size_t unwritten_size;
    int watches_output;
};

/* --- what to do ------------------------------------------------------------------------------------------------- */

static struct {
    const char *host, *ca, *users, *kind, *form;
    int port, connections, window, server, publishers, answer, reconnect, apart, drive;
    double seconds, warmup, rate, redial_ms;
} options = {.host = "127.0.0.1", .kind = "single", .form = "documented", .connections = 100, .window = 1, .seconds = 5, .warmup = 1,
             .redial_ms = 250, .publishers = -1};

static struct device *devices;
static long long first_ms;          /* the time of the first message */
static char (*names)[NAME];
static SSL_CTX *tls;
static int poller;

/* --- what happened ---------------------------------------------------------------------------------------------- */

static uint64_t latency[LATENCY_BUCKETS], slowest_ns, acked_total, sent_total, started_late;
static uint64_t answered_total, lost_total, refused_total, failed_total, first_lost, first_back, last_back, gap_ns,
    own_stall_ns;
static int measuring, ready_count, begun;
static volatile sig_atomic_t stopped;

static void fail(const char *what) {
    fprintf(stderr, "loadgen: %s (%s)\n", what, errno ? strerror(errno) : "no system error");
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* Log-linear buckets: 32 to each power of two, so that a quantile is right to 3 %. */
static int bucket_of(uint64_t ns) {
    uint64_t us = ns / 1000;
    if (us < 32) return (int)us;
    int power = 63 - __builtin_clzll(us);
    int bucket = (power - 4) * 32 + (int)((us >> (power - 5)) & 31);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static double bucket_us(int bucket) {
    if (bucket < 32) return bucket;
    int power = bucket / 32 + 4;
    return (double)((32u + (unsigned)(bucket % 32)) * (1ull << (power - 5)));
}

static double quantile_us(double q) {
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < LATENCY_BUCKETS; i++) total += latency[i];
    for (int i = 0; i < LATENCY_BUCKETS; i++) {
        seen += latency[i];
        if (total && (double)seen >= q * (double)total) return bucket_us(i);
    }
    return 0;
}

/* --- one message ------------------------------------------------------------------------------------------------ */

static unsigned char message[MAX_MESSAGE];
static size_t message_size, id_at, times_at[TIMES], lat_at, lon_at;
static int times;
static int64_t wall_ahead_ns; /* the wall clock's time less that of now_ns */

static void append(const char *text) {
    size_t n = strlen(text);
    memcpy(message + message_size, text, n);
    message_size += n;
}

static void append_time(void) {
    times_at[times++] = message_size;
    append("0000000000000");
}

static void append_point(int i, int is_short) {
    char text[160];
    int is_text = strcmp(options.form, "text") == 0;
    const char *more = strcmp(options.form, "keys") == 0 ? "\"try\":1,\"hdg\":271.5,\"vendor\":\"abc\"," : "";
    if (options.drive) {
        append("{\"tid\":41,\"lat\":47.");
        lat_at = message_size;
        append("000000,\"lon\":9.");
        lon_at = message_size;
        append("000000,\"sp\":40,\"clt\":");
        append_time();
        append("}");
        return;
    }
    const char *point = is_text ? "{\"tid\":\"41\",\"lat\":\"35.%06d\",\"lon\":\"129.%06d\",\"alt\":\"12.4\",\"sp\":\"%d\",%s%s"
                                : "{\"tid\":41,\"lat\":35.%06d,\"lon\":129.%06d,\"alt\":12.4,\"sp\":%d,%s%s";
    const char *rest = is_short ? (is_text ? "\"nos\":\"9\"," : "\"nos\":9,")
                                : (is_text ? "\"dop\":\"1.1\",\"nos\":\"9\",\"tdis\":\"14\"," : "\"dop\":1.1,\"nos\":9,\"tdis\":14,");
    snprintf(text, sizeof text, point, 157731 + 111 * i, 59114 + 137 * i, 38 + i % 7, rest, more);
    append(text);
    append(is_text ? "\"clt\":\"" : "\"clt\":");
    append_time();
    append(is_text ? "\"}" : "}");
}

/* The PUBLISH that every device sends, times and packet id still to be filled in. */
static void compose(void) {
    static unsigned char body[MAX_MESSAGE];
    static const char topic[] = "v1/sensors/me/tre";
    int aggregate = strcmp(options.kind, "aggregate") == 0, is_short = strcmp(options.kind, "short") == 0;
    append("{\"ty\":2,\"ts\":");
    append_time();
    append(aggregate ? ",\"pld\":[" : ",\"pld\":");
    for (int i = 0; i < (aggregate ? POINTS : 1); i++) {
        if (i) append(",");
        append_point(i, is_short);
    }
    append(aggregate ? "]}" : "}");

    size_t body_size = message_size, topic_size = sizeof topic - 1, rest = 2 + topic_size + 2 + body_size, head = 0;
    memcpy(body, message, body_size);
    message[head++] = 0x32; /* PUBLISH, QoS 1 */
    for (size_t left = rest; left; left >>= 7) message[head++] = (unsigned char)((left & 127) | (left > 127 ? 128 : 0));
    message[head++] = 0;
    message[head++] = (unsigned char)topic_size;
    memcpy(message + head, topic, topic_size);
    id_at = head + topic_size;
    memcpy(message + id_at + 2, body, body_size);
    message_size = id_at + 2 + body_size;
    for (int i = 0; i < times; i++) times_at[i] += id_at + 2;
    lat_at += id_at + 2, lon_at += id_at + 2;
}

static void put_digits(unsigned char *at, int count, long long value) {
    for (int i = count - 1; i >= 0; i--, value /= 10) at[i] = (unsigned char)('0' + value % 10);
}

/* Where device `number` is in its n-th message: 100 ways in a row, each driven to and fro at 40 km/h. */
static void put_place(unsigned char *at, long number, uint32_t n) {
    long step = n % 80;
    put_digits(at + lat_at, 6, 50000 + number / 100 * 2000);
    put_digits(at + lon_at, 6, 470000 + number % 100 * 1600 + 147 * (step < 40 ? step : 80 - step));
}

/* When the last sample of a device's n-th message was taken. */
static long long last_ms(uint32_t n, long long span) {
    if (!strcmp(options.form, "newest")) return first_ms - span * n;
    if (strcmp(options.form, "backlog")) return first_ms + span * ((long long)n + 1);
    return first_ms + span * (n / 2 + 1) - (n % 2 ? 6 * HOUR_MS : 0);
}

static void put_message(unsigned char *at, long number, uint32_t n, uint64_t since) {
    int points = times - 1;
    long long last = last_ms(n, 1000LL * points);
    if (options.drive) last = ((long long)since + wall_ahead_ns) / 1000000;
    unsigned id = n % 65535 + 1;
    memcpy(at, message, message_size);
    at[id_at] = (unsigned char)(id >> 8);
    at[id_at + 1] = (unsigned char)id;
    if (options.drive) put_place(at, number, n);
    put_digits(at + times_at[0], 13, last);
    for (int i = 1; i <= points; i++) put_digits(at + times_at[i], 13, last - 1000LL * (points - i));
}

/* --- one connection --------------------------------------------------------------------------------------------- */

static void watch(struct device *d, int output) {
    struct epoll_event event = {.events = EPOLLIN | (output ? EPOLLOUT : 0), .data.ptr = d};
    if (d->watches_output == output) return;
    d->watches_output = output;
    if (epoll_ctl(poller, EPOLL_CTL_MOD, d->fd, &event)) fail("epoll");
}

/* The connection is gone: the end of everything, or with --reconnect a reason to dial again soon. */
static void lost(struct device *d, const char *what) {
    if (!options.reconnect) fail(what);
    uint64_t now = now_ns();
    if (d->state == READY) {
        ready_count--;
        lost_total++;
        if (!first_lost) first_lost = now;
    } else if (d->state != CONNECTING) {
        failed_total++; /* the server had taken the connection and did not let the device in */
    }
    ERR_clear_error();
    if (d->tls) SSL_free(d->tls);
    close(d->fd);
    free(d->packet);
    free(d->unwritten);
    d->tls = NULL, d->packet = NULL, d->unwritten = NULL;
    d->packet_have = 0, d->fd = -1, d->state = IDLE;
    sent_total -= d->sent - d->acked; /* what was under way is sent again, under the same number */
    d->sent = d->acked;
    d->redial_at = now + (uint64_t)(options.redial_ms * 1e6);
}

/* Bytes written; 0 when the socket is full or the connection is lost. */
static size_t write_some(struct device *d, const unsigned char *bytes, size_t size) {
    if (!d->tls) {
        ssize_t n = send(d->fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) lost(d, "the server closed a connection");
        return n < 0 ? 0 : (size_t)n;
    }
    size_t n = 0;
    if (SSL_write_ex(d->tls, bytes, size, &n)) return n;
    if (SSL_get_error(d->tls, 0) != SSL_ERROR_WANT_WRITE) lost(d, "the server closed a TLS connection");
    return 0;
}

static void write_all(struct device *d, const unsigned char *bytes, size_t size) {
    if (d->unwritten) { /* an answer behind a message that did not fit */
        d->unwritten = realloc(d->unwritten, d->unwritten_size + size);
        memcpy(d->unwritten + d->unwritten_size, bytes, size);
        d->unwritten_size += size;
        return;
    }
    while (size) {
        size_t n = write_some(d, bytes, size);
        bytes += n;
        size -= n;
        if (n == 0) break;
    }
    if (d->state == IDLE) return;
    if (size) { /* keep the rest; nothing else is written before it is gone */
        unsigned char *rest = malloc(size);
        memcpy(rest, bytes, size);
        d->unwritten = rest;
        d->unwritten_size = size;
    }
    watch(d, size != 0);
}

/* Publish the next `count` messages in one write, or each in a write (and so a TLS record) of its own. */
static void publish(struct device *d, int count, uint64_t since) {
    static unsigned char batch[MAX_WINDOW * MAX_MESSAGE];
    int together = options.apart ? 1 : count;
    for (int left = count; left && d->state == READY; left -= together) {
        for (int i = 0; i < together; i++, d->sent++) {
            put_message(batch + (size_t)i * message_size, d - devices, d->sent, since);
            d->since[d->sent % MAX_WINDOW] = since;
        }
        sent_total += (uint64_t)together;
        write_all(d, batch, (size_t)together * message_size);
    }
}

static void fill_window(struct device *d) {
    int room = options.window - (int)(d->sent - d->acked);
    if (room > 0 && !d->unwritten) publish(d, room, now_ns());
}

static void sign_in(struct device *d) {
    unsigned char packet[128];
    char client[16];
    const char *user = names[d - devices];
    int client_size = snprintf(client, sizeof client, "d%ld", (long)(d - devices)), user_size = (int)strlen(user);
    static const unsigned char head[] = {0, 4, 'M', 'Q', 'T', 'T', 4, 0x82, 0, 0}; /* user name, clean, no keep-alive */
    size_t n = 0;
    packet[n++] = 0x10;
    packet[n++] = (unsigned char)(sizeof head + 2 + (size_t)client_size + 2 + (size_t)user_size);
    memcpy(packet + n, head, sizeof head), n += sizeof head;
    packet[n++] = 0, packet[n++] = (unsigned char)client_size;
    memcpy(packet + n, client, (size_t)client_size), n += (size_t)client_size;
    packet[n++] = 0, packet[n++] = (unsigned char)user_size;
    memcpy(packet + n, user, (size_t)user_size), n += (size_t)user_size;
    d->state = SIGNING_IN;
    write_all(d, packet, n);
}

static void handshake(struct device *d) {
    int done = SSL_do_handshake(d->tls);
    if (done == 1) {
        sign_in(d);
        return;
    }
    int want = SSL_get_error(d->tls, done);
    if (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) {
        lost(d, "TLS handshake");
        return;
    }
    watch(d, want == SSL_ERROR_WANT_WRITE);
}

static void dial(struct device *d) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    int one = 1;
    inet_pton(AF_INET, options.host, &address.sin_addr);
    d->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0) fail("socket (ulimit -n?)");
    setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    d->state = CONNECTING;
    d->redial_at = 0;
    if (connect(d->fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) {
        lost(d, "connect");
        return;
    }
    d->watches_output = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = d};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, d->fd, &event)) fail("epoll");
}

static void connected(struct device *d) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) {
        errno = error;
        lost(d, "connect");
        return;
    }
    if (!tls) {
        sign_in(d);
        return;
    }
    d->tls = SSL_new(tls);
    SSL_set_fd(d->tls, d->fd);
    SSL_set_connect_state(d->tls);
    SSL_set1_host(d->tls, "localhost");
    d->state = HANDSHAKING;
    handshake(d);
}

static void ready(struct device *d) {
    d->state = READY;
    ready_count++;
    if (first_lost) {
        last_back = now_ns();
        if (!first_back) first_back = last_back;
    }
    if (ready_count == options.connections) fprintf(stderr, "all connected\n");
    if (begun < options.connections) dial(&devices[begun++]);
}

static void subscribe(struct device *d) {
    static const char filter[] = "v1/sensors/me/rpc/request/+";
    unsigned char packet[64] = {0x82, 2 + 2 + sizeof filter - 1 + 1, 0, 1, 0, sizeof filter - 1};
    memcpy(packet + 6, filter, sizeof filter - 1);
    packet[6 + sizeof filter - 1] = 1;
    d->state = SUBSCRIBING;
    write_all(d, packet, 2 + packet[1]);
}

static void published(struct device *d, unsigned id) {
    if (id >= ANSWER_IDS && options.answer) return; /* an answer of ours is stored */
    uint32_t n = d->acked;
    if (id != n % 65535 + 1) fail("PUBACK out of order");
    d->acked++;
    acked_total++;
    uint64_t took = now_ns() - d->since[n % MAX_WINDOW];
    if (first_back && took > gap_ns) gap_ns = took;
    if (measuring) {
        latency[bucket_of(took)]++;
        if (took > slowest_ns) slowest_ns = took;
    }
}

/* Say that the request came, and that it is carried out (rpc 4): two packets, one write. */
static void answer(struct device *d, const unsigned char *topic, size_t topic_size, unsigned id, int qos) {
    static const char requests[] = "v1/sensors/me/rpc/request/", responses[] = "v1/sensors/me/rpc/response/";
    static const char body[] = "{\"result\":2000}";
    if (topic_size <= sizeof requests - 1 || memcmp(topic, requests, sizeof requests - 1)) fail("an odd request topic");
    size_t name_size = topic_size - (sizeof requests - 1), n = 0, whole = sizeof responses - 1 + name_size;
    if (whole > 100) fail("a long request id");
    unsigned char out[160];
    if (qos) out[n++] = 0x40, out[n++] = 2, out[n++] = (unsigned char)(id >> 8), out[n++] = (unsigned char)id;
    unsigned own = ANSWER_IDS | (d->answers++ & 0xFFF);
    out[n++] = 0x32;
    out[n++] = (unsigned char)(2 + whole + 2 + sizeof body - 1);
    out[n++] = 0, out[n++] = (unsigned char)whole;
    memcpy(out + n, responses, sizeof responses - 1), n += sizeof responses - 1;
    memcpy(out + n, topic + sizeof requests - 1, name_size), n += name_size;
    out[n++] = (unsigned char)(own >> 8), out[n++] = (unsigned char)own;
    memcpy(out + n, body, sizeof body - 1), n += sizeof body - 1;
    answered_total++;
    write_all(d, out, n);
}

static void take_packet(struct device *d, const unsigned char *packet, size_t size, size_t head) {
    int kind = packet[0] >> 4;
    if (d->state == SIGNING_IN) {
        if (kind != 2 || packet[3]) {
            refused_total++;
            if (!options.reconnect) fail("CONNECT was refused");
            return; /* the server closes */
        }
        if (options.answer) subscribe(d);
        else ready(d);
    } else if (d->state == SUBSCRIBING) {
        if (kind != 9 || packet[4] > 1) fail("SUBSCRIBE was refused");
        ready(d);
    } else if (kind == 4) {
        published(d, (unsigned)(packet[2] << 8 | packet[3]));
    } else if (kind == 3 && options.answer) {
        int qos = packet[0] >> 1 & 3;
        size_t topic_size = (size_t)(packet[head] << 8 | packet[head + 1]), after = head + 2 + topic_size;
        if (after + (qos ? 2 : 0) > size) fail("a broken PUBLISH");
        answer(d, packet + head + 2, topic_size, qos ? (unsigned)(packet[after] << 8 | packet[after + 1]) : 0, qos);
    } else {
        fail("something else than PUBACK");
    }
}

/* The size of the packet that begins here, or 0 when not even its length is here; `head` is where its content begins. */
static size_t packet_size(const unsigned char *bytes, size_t have, size_t *head) {
    size_t rest = 0;
    for (size_t i = 1; i < have && i < 5; i++) {
        rest |= (size_t)(bytes[i] & 127) << (7 * (i - 1));
        if (!(bytes[i] & 128)) {
            *head = i + 1;
            return i + 1 + rest;
        }
    }
    return 0;
}

/* Bytes read; 0 when there are none or the connection is lost. */
static size_t read_some(struct device *d, unsigned char *bytes, size_t size) {
    if (!d->tls) {
        ssize_t n = recv(d->fd, bytes, size, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            lost(d, "the server closed a connection");
            return 0;
        }
        return n < 0 ? 0 : (size_t)n;
    }
    size_t n = 0;
    if (SSL_read_ex(d->tls, bytes, size, &n)) return n;
    if (SSL_get_error(d->tls, 0) != SSL_ERROR_WANT_READ) lost(d, "the server closed a TLS connection");
    return 0;
}

static void read_packets(struct device *d) {
    unsigned char bytes[4096 + LARGEST];
    size_t have = (size_t)d->packet_have, at = 0;
    memcpy(bytes, d->packet, have);
    size_t n = read_some(d, bytes + have, 4096);
    if (n == 0) return;
    have += n;
    while (d->state != IDLE) {
        size_t head = 0, size = packet_size(bytes + at, have - at, &head);
        if (size > LARGEST) fail("a packet too large for a device");
        if (!size || size > have - at) break;
        take_packet(d, bytes + at, size, head);
        at += size;
    }
    if (d->state == IDLE) return;
    free(d->packet);
    d->packet = NULL;
    d->packet_have = (int)(have - at);
    if (d->packet_have) {
        d->packet = malloc(have - at);
        memcpy(d->packet, bytes + at, have - at);
    }
}

static void serve_device(struct device *d, uint32_t events, int closed_loop) {
    if (d->state == CONNECTING) {
        connected(d);
        return;
    }
    if (d->state == HANDSHAKING) {
        handshake(d);
        return;
    }
    if (d->unwritten && events & EPOLLOUT) {
        unsigned char *rest = d->unwritten;
        d->unwritten = NULL;
        write_all(d, rest, d->unwritten_size);
        free(rest);
    }
    if (d->state != IDLE && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) read_packets(d);
    if (closed_loop && d->state == READY) fill_window(d);
}

/* Dial again who waited long enough, some in a turn; looked at every few milliseconds, because it walks over all. */
static void redial(void) {
    static uint64_t next;
    uint64_t now = now_ns();
    if (!options.reconnect || now < next) return;
    int left = DIALS;
    for (int i = 0; i < begun && left; i++)
        if (devices[i].redial_at && devices[i].redial_at <= now) dial(&devices[i]), left--;
    next = left ? now + 5000000 : now;
}

static void turn(int timeout_ms, int closed_loop) {
    struct epoll_event events[EVENTS];
    int n = epoll_wait(poller, events, options.reconnect ? FEW : EVENTS, timeout_ms);
    uint64_t awake = now_ns();
    if (n < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < n; i++) serve_device(events[i].data.ptr, events[i].events, closed_loop);
    redial();
    uint64_t took = now_ns() - awake;
    if (first_back && took > own_stall_ns) own_stall_ns = took;
}

/* --- the whole run ---------------------------------------------------------------------------------------------- */

static void read_names(void) {
    names = calloc((size_t)options.connections, sizeof *names);
    FILE *file = options.users ? fopen(options.users, "r") : NULL;
    if (options.users && !file) fail("cannot read --users");
    for (int i = 0; i < options.connections; i++) {
        if (!file) snprintf(names[i], NAME, "sensor-%013d", i);
        else if (fscanf(file, "%31s", names[i]) != 1) fail("too few lines in --users");
    }
    if (file) fclose(file);
}

static void connect_all(void) {
    devices = calloc((size_t)options.connections, sizeof *devices);
    while (begun < options.connections && begun < HANDSHAKES) dial(&devices[begun++]);
    while (ready_count < options.connections) turn(options.reconnect ? 5 : 1000, 0);
}

/* Publish what is due; in rate mode the connections take turns. */
static void publish_due(uint64_t start, uint64_t *next, uint64_t now) {
    double gap = 1e9 / options.rate;
    for (;; (*next)++) {
        uint64_t due = start + (uint64_t)((double)*next * gap);
        if (due > now) return;
        struct device *d = &devices[*next % (uint64_t)options.publishers];
        if (d->state != READY) continue; /* away: what it would have said is not due */
        if (d->sent - d->acked >= MAX_WINDOW || d->unwritten) { /* this device is stuck: it does not send, it counts */
            started_late++;
            continue;
        }
        publish(d, 1, due);
    }
}

static void run_until(uint64_t end, uint64_t start, uint64_t *next) {
    for (uint64_t now = now_ns(); now < end && !stopped; now = now_ns()) {
        if (options.rate > 0) publish_due(start, next, now);
        turn(options.rate > 0 ? 1 : options.reconnect ? 5 : 100, options.rate <= 0 && options.publishers);
    }
}

static void drain(void) {
    uint64_t limit = now_ns() + 10000000000ull;
    for (int i = 0; i < options.connections; i++)
        while (devices[i].acked != devices[i].sent && now_ns() < limit) turn(100, 0);
}

static void parse(int argc, char **argv) {
    static const struct option known[] = {
        {"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"ca", 1, 0, 'c'}, {"users", 1, 0, 'u'}, {"kind", 1, 0, 'k'},
        {"connections", 1, 0, 'n'}, {"window", 1, 0, 'w'}, {"seconds", 1, 0, 's'}, {"warmup", 1, 0, 'W'},
        {"rate", 1, 0, 'r'}, {"server", 1, 0, 'S'}, {"publishers", 1, 0, 'P'},
        {"answer", 0, 0, 'a'}, {"reconnect", 0, 0, 'R'}, {"redial", 1, 0, 'd'},
        {"apart", 0, 0, 'A'}, {"drive", 0, 0, 'D'}, {"form", 1, 0, 'F'}, {0, 0, 0, 0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) switch (c) {
        case 'h': options.host = optarg; break;
        case 'p': options.port = atoi(optarg); break;
        case 'c': options.ca = optarg; break;
        case 'u': options.users = optarg; break;
        case 'k': options.kind = optarg; break;
        case 'n': options.connections = atoi(optarg); break;
        case 'w': options.window = atoi(optarg); break;
        case 's': options.seconds = atof(optarg); break;
        case 'W': options.warmup = atof(optarg); break;
        case 'r': options.rate = atof(optarg); break;
        case 'S': options.server = atoi(optarg); break;
        case 'P': options.publishers = atoi(optarg); break;
        case 'a': options.answer = 1; break;
        case 'R': options.reconnect = 1; break;
        case 'd': options.redial_ms = atof(optarg); break;
        case 'A': options.apart = 1; break;
        case 'D': options.drive = 1; break;
        case 'F': options.form = optarg; break;
        default: exit(2);
        }
    if (!options.port || options.connections < 1 || options.window < 1 || options.window > MAX_WINDOW) {
        fprintf(stderr, "usage: loadgen --port P [--ca FILE] [--users FILE] [--connections N] [--window 1..64]\n"
                        "       [--kind single|short|aggregate] [--form documented|keys|text|newest|backlog] [--rate R] [--seconds S] [--warmup S] [--server PID]\n"
                        "       [--apart] [--drive] [--publishers N] [--answer] [--reconnect] [--redial MS]\n");
        exit(2);
    }
    if (options.publishers < 0 || options.publishers > options.connections) options.publishers = options.connections;
}

static void on_term(int signal_number) {
    (void)signal_number;
    stopped = 1;
}

int main(int argc, char **argv) {
    parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_term);
    if (options.ca) {
        tls = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
        if (!SSL_CTX_load_verify_locations(tls, options.ca, NULL)) fail("cannot read --ca");
        SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    wall_ahead_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - (int64_t)now_ns();
    compose();
    first_ms = wall.tv_sec * 1000LL - HOUR_MS * (times - 1);
    read_names();
    uint64_t dialled = now_ns();
    connect_all();
    double connect_s = (double)(now_ns() - dialled) / 1e9;

    uint64_t start = now_ns(), next = 0;
    if (options.rate <= 0) for (int i = 0; i < options.publishers; i++) fill_window(&devices[i]);
    run_until(start + (uint64_t)(options.warmup * 1e9), start, &next);

    double server_before = options.server ? cpu_of(options.server) : 0, own_before = own_cpu();
    uint64_t acked_before = acked_total, sent_before = sent_total, begin = now_ns();
    measuring = 1;
    run_until(begin + (uint64_t)(options.seconds * 1e9), start, &next);
    measuring = options.rate > 0; /* a late PUBACK of the measured window still counts in rate mode */
    double took = (double)(now_ns() - begin) / 1e9, own = own_cpu() - own_before;
    double server = options.server ? cpu_of(options.server) - server_before : 0;
    uint64_t acked = acked_total - acked_before, sent = sent_total - sent_before;
    drain();

    uint64_t unacked = sent_total - acked_total;
    printf("{\"connections\":%d,\"window\":%d,\"message_bytes\":%zu,\"connect_s\":%.3f,\"seconds\":%.3f,\"sent\":%llu,"
           "\"acked\":%llu,\"per_s\":%.1f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f,\"max_us\":%.0f,"
           "\"server_cpu_s\":%.2f,\"generator_cpu_s\":%.2f,\"acked_in_all\":%llu,\"never_acked\":%llu,\"not_sent\":%llu,"
           "\"answered\":%llu,\"lost\":%llu,\"refused\":%llu,\"failed\":%llu,\"first_lost_ns\":%llu,"
           "\"first_back_ns\":%llu,\"last_back_ns\":%llu,\"longest_after_us\":%.0f,\"own_stall_us\":%.0f,\"connected\":%d}\n",
           options.connections, options.window, message_size - id_at - 2, connect_s, took, (unsigned long long)sent,
           (unsigned long long)acked, (double)acked / took, quantile_us(0.5), quantile_us(0.99), quantile_us(0.999),
           (double)slowest_ns / 1e3, server, own, (unsigned long long)acked_total,
           (unsigned long long)unacked, (unsigned long long)started_late, (unsigned long long)answered_total,
           (unsigned long long)lost_total, (unsigned long long)refused_total, (unsigned long long)failed_total,
           (unsigned long long)first_lost, (unsigned long long)first_back, (unsigned long long)last_back,
           (double)gap_ns / 1e3, (double)own_stall_ns / 1e3, ready_count);
    return unacked ? 1 : 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * pxload - small epoll load generator for forward HTTP proxies.
 *
 * Single thread, plain C, Linux only.  It exists because wrk can neither speak
 * CONNECT, nor hold idle connections, nor send at a fixed rate.
 *
 *   pxload [options] -t ORIGINHOST:PORT  -P PROXYHOST:PORT
 *
 *   -m get       absolute-form GET requests (default)
 *   -m direct    origin-form GET requests sent to -P itself (ceiling / relay)
 *   -m connect   one CONNECT handshake per connection, then close
 *   -m tunnel    CONNECT, then GET requests inside the tunnel
 *   -u PATH      path of the object                       (default /1k)
 *   -c N         connections                              (default 16)
 *   -n N         stop after N completed units             (default 0 = no limit)
 *   -d SEC       stop after SEC seconds                   (default 5)
 *   -r RATE      open loop: start RATE units a second; latency is counted from
 *                the moment the unit was due (no coordinated omission)
 *   -C           close: one request per connection
 *   -H           hold: every connection does ONE unit, then stays open and idle;
 *                prints "READY ok=N bad=N" and waits for stdin to close
 *   -e STATUS    expected status code (default 200); others count as "bad"
 *   -T MS        per-unit timeout (default 10000)
 *   -h NAME      host name to put in the request instead of ORIGINHOST:PORT
 *
 * Body bytes are counted but thrown away inside the kernel (recv MSG_TRUNC), so
 * that the client is never the bottleneck of a throughput test.
 *
 * Output: one line of JSON (also after SIGINT or SIGTERM).
 *   ok        units that ended with the expected status and a complete body
 *   bad       units with another status code
 *   err       connect failures, resets, short bodies, time-outs
 *   retried   requests sent again because a kept-alive connection turned out to
 *             be closed before any response byte came (a browser does the same)
 *   stall_ms  longest time without any successful completion
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <poll.h>
#include <signal.h>

enum { M_GET, M_DIRECT, M_CONNECT, M_TUNNEL };
enum { S_CLOSED, S_CONNECTING, S_WRITING, S_HEAD, S_BODY, S_CHUNK, S_EOFBODY, S_IDLE };

typedef struct {
    int fd, state, phase;          /* phase 0: CONNECT still to do, 1: GET */
    int reused, got_bytes, closeafter, heldok, busy;
    int64_t due, started;          /* ns */
    const char *out; int outlen, outpos;
    char buf[16384]; int len;
    int64_t body_left;
    int status;
    int chunk_state; int64_t chunk_left; int chunk_line;
} conn_t;

static int mode = M_GET, nconn = 16, do_close, do_hold, expect = 200;
static int64_t limit_n, timeout_ns = 10000LL * 1000000;
static double dur = 5, rate;
static const char *target = "127.0.0.1:21080", *path = "/1k", *hostname_;
static struct sockaddr_in paddr;
static char req_connect[1024], req_get[2048];
static int req_connect_len, req_get_len, ep;
static conn_t *C;

static int64_t n_ok, n_bad, n_err, n_retry, n_bytes, n_started, n_conn;
static int64_t e_conn, e_short, e_time, e_reset;
static int64_t last_ok, stall, t_start, t_stop;
static int statuscount[600];
static uint32_t *lat; static size_t nlat, clat;

static volatile sig_atomic_t stopping;
static void on_signal(int s) { (void)s; stopping = 1; }
static int64_t now(void) {
    struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void die(const char *m) { perror(m); exit(2); }
static void step(conn_t *c);
static void begin_io(conn_t *c);

static void arm(conn_t *c, uint32_t ev, int add) {
    struct epoll_event e = { .events = ev, .data.ptr = c };
    if (epoll_ctl(ep, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &e) < 0) die("epoll_ctl");
}
static void hard_close(conn_t *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1; c->state = S_CLOSED;
}
/* the unit on this connection is over */
static void unit_done(conn_t *c, int result /*0 ok,1 bad,2 err*/) {
    int64_t t = now();
    c->busy = 0;
    if (c->status > 0 && c->status < 600 && result != 2) statuscount[c->status]++;
    if (result == 0) {
        n_ok++;
        if (t - last_ok > stall) stall = t - last_ok;
        last_ok = t;
        if (nlat == clat) { clat = clat ? clat * 2 : 1 << 16; lat = realloc(lat, clat * 4); if (!lat) die("realloc"); }
        int64_t us = (t - c->due) / 1000; lat[nlat++] = us > UINT32_MAX ? UINT32_MAX : us;
    } else if (result == 1) n_bad++;
    else n_err++;
}
static void open_conn(conn_t *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket");
    int one = 1; setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->phase = (mode == M_CONNECT || mode == M_TUNNEL) ? 0 : 1;
    c->reused = 0; n_conn++;
    c->state = S_CONNECTING;
    if (connect(c->fd, (struct sockaddr *)&paddr, sizeof paddr) < 0 && errno != EINPROGRESS) {
        e_conn++; hard_close(c); unit_done(c, 2); return;
    }
    arm(c, EPOLLOUT, 1);
}
/* start a unit that was due at `due` */
static void start_unit(conn_t *c, int64_t due) {
    c->busy = 1; c->due = due; c->started = now(); c->status = 0; n_started++;
    if (c->fd < 0) open_conn(c);
    else { c->reused = 1; begin_io(c); }
}
static void begin_io(conn_t *c) {
    if (c->phase == 0) { c->out = req_connect; c->outlen = req_connect_len; }
    else { c->out = req_get; c->outlen = req_get_len; }
    c->outpos = 0; c->len = 0; c->got_bytes = 0; c->state = S_WRITING; c->closeafter = 0;
    step(c);
}
static void fail(conn_t *c, int64_t *why) {
    if (c->reused && !c->got_bytes && why == &e_reset) {       /* stale keep-alive: retry */
        n_retry++; hard_close(c); open_conn(c); return;
    }
    (*why)++; hard_close(c); unit_done(c, 2);
}
static void unit_ok(conn_t *c) {
    int res = c->status == expect ? 0 : 1;
    unit_done(c, res);
    if (c->closeafter || do_close || (mode == M_CONNECT && !do_hold) || res) {
        if (do_hold && res == 0 && c->closeafter) c->heldok = 0;
        hard_close(c);
    } else { c->state = S_IDLE; c->heldok = 1; arm(c, EPOLLIN | EPOLLRDHUP, 0); }
}
/* header complete in c->buf; hlen = length with blank line */
static void have_head(conn_t *c, int hlen) {
    char *b = c->buf; b[hlen - 1] = 0;
    c->status = atoi(b + 9);
    if (c->phase == 0) {                       /* CONNECT answer */
        if (c->status != expect && c->status / 100 != 2) { c->closeafter = 1; unit_ok(c); return; }
        if (mode == M_CONNECT) { unit_ok(c); return; }
        c->phase = 1; c->reused = 0; begin_io(c); return;
    }
    int64_t cl = -1; int chunked = 0, ka = strncmp(b, "HTTP/1.1", 8) == 0;
    for (char *l = strchr(b, '\n'); l && l[1]; l = strchr(l + 1, '\n')) {
        l++;
        if (!strncasecmp(l, "Content-Length:", 15)) cl = atoll(l + 15);
        else if (!strncasecmp(l, "Transfer-Encoding:", 18)) chunked = strcasestr(l, "chunked") != NULL;
        else if (!strncasecmp(l, "Connection:", 11) || !strncasecmp(l, "Proxy-Connection:", 17)) {
            char *e = strchr(l, '\r'); char sv = 0; if (e) { sv = *e; *e = 0; }
            if (strcasestr(l, "close")) ka = 0; else if (strcasestr(l, "keep-alive")) ka = 1;
            if (e) *e = sv;
        }
        l--; 
    }
    if (!ka) c->closeafter = 1;
    int extra = c->len - hlen;
    if (c->status == 204 || c->status == 304) cl = 0;
    if (chunked) {
        c->state = S_CHUNK; c->chunk_state = 0; c->chunk_left = 0; c->chunk_line = 0;
        memmove(c->buf, c->buf + hlen, extra); c->len = extra;
    } else if (cl >= 0) {
        n_bytes += extra; c->body_left = cl - extra; c->len = 0;
        if (c->body_left <= 0) { unit_ok(c); return; }
        c->state = S_BODY;
    } else { n_bytes += extra; c->len = 0; c->closeafter = 1; c->state = S_EOFBODY; }
}
/* minimal chunked decoder; returns 1 when the last chunk was seen */
static int chunk_eat(conn_t *c) {
    for (int i = 0; i < c->len; i++) {
        char ch = c->buf[i];
        switch (c->chunk_state) {
        case 0: /* size line */
            if (ch == '\n') { c->chunk_state = c->chunk_left ? 1 : 3; c->chunk_line = 0; }
            else if (ch != '\r' && c->chunk_line >= 0) {
                int v = ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10 : -1;
                if (v < 0) c->chunk_line = -1; else c->chunk_left = c->chunk_left * 16 + v;
            }
            break;
        case 1: { int64_t k = c->len - i; if (k > c->chunk_left) k = c->chunk_left;
            n_bytes += k; c->chunk_left -= k; i += k - 1; if (!c->chunk_left) c->chunk_state = 2; break; }
        case 2: if (ch == '\n') { c->chunk_state = 0; c->chunk_line = 0; } break;
        case 3: if (ch == '\n') { if (!c->chunk_line) return 1; c->chunk_line = 0; } else if (ch != '\r') c->chunk_line++; break;
        }
    }
    c->len = 0; return 0;
}
static void step(conn_t *c) {
    for (;;) switch (c->state) {
    case S_CONNECTING: {
        int e = 0; socklen_t l = sizeof e; getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &l);
        if (e) { fail(c, &e_conn); return; }
        begin_io(c); return;
    }
    case S_WRITING: {
        ssize_t k = send(c->fd, c->out + c->outpos, c->outlen - c->outpos, MSG_NOSIGNAL);
        if (k < 0) { if (errno == EAGAIN) { arm(c, EPOLLOUT, 0); return; } fail(c, &e_reset); return; }
        c->outpos += k;
        if (c->outpos == c->outlen) { c->state = S_HEAD; arm(c, EPOLLIN, 0); return; }
        break;
    }
    case S_HEAD: {
        ssize_t k = recv(c->fd, c->buf + c->len, sizeof c->buf - 1 - c->len, 0);
        if (k < 0 && errno == EAGAIN) return;
        if (k <= 0) { fail(c, &e_reset); return; }
        c->got_bytes = 1; c->len += k; c->buf[c->len] = 0;
        char *p = strstr(c->buf, "\r\n\r\n");
        if (p) { have_head(c, p - c->buf + 4); if (c->state != S_BODY && c->state != S_CHUNK && c->state != S_EOFBODY) return;
                 if (c->state == S_CHUNK && chunk_eat(c)) { unit_ok(c); return; } break; }
        if (c->len >= (int)sizeof c->buf - 1) { fail(c, &e_short); return; }
        break;
    }
    case S_BODY: {
        size_t want = c->body_left > (4 << 20) ? (4 << 20) : c->body_left;
        ssize_t k = recv(c->fd, NULL, want, MSG_TRUNC);
        if (k < 0 && errno == EAGAIN) return;
        if (k <= 0) { fail(c, &e_short); return; }
        n_bytes += k; c->body_left -= k;
        if (!c->body_left) { unit_ok(c); return; }
        if (now() > t_stop) return;
        break;
    }
    case S_EOFBODY: {
        ssize_t k = recv(c->fd, NULL, 4 << 20, MSG_TRUNC);
        if (k < 0 && errno == EAGAIN) return;
        if (k < 0) { fail(c, &e_short); return; }
        if (k == 0) { unit_ok(c); return; }
        n_bytes += k; break;
    }
    case S_CHUNK: {
        ssize_t k = recv(c->fd, c->buf, sizeof c->buf, 0);
        if (k < 0 && errno == EAGAIN) return;
        if (k <= 0) { fail(c, &e_short); return; }
        c->len = k; if (chunk_eat(c)) { unit_ok(c); return; }
        break;
    }
    case S_IDLE: {                                     /* peer closed an idle connection */
        char x[512]; ssize_t k = recv(c->fd, x, sizeof x, 0);
        if (k < 0 && errno == EAGAIN) return;
        if (k <= 0) { c->heldok = 0; hard_close(c); }
        return;
    }
    default: return;
    }
}
static int cmp(const void *a, const void *b) { uint32_t x = *(uint32_t *)a, y = *(uint32_t *)b; return x < y ? -1 : x > y; }
static double pct(double p) { if (!nlat) return -1; size_t i = (size_t)(p * nlat); if (i >= nlat) i = nlat - 1; return lat[i] / 1000.0; }
static void hostport(const char *s, struct sockaddr_in *a) {
    char h[256]; const char *c = strrchr(s, ':'); if (!c) { fprintf(stderr, "need host:port: %s\n", s); exit(2); }
    snprintf(h, sizeof h, "%.*s", (int)(c - s), s);
    memset(a, 0, sizeof *a); a->sin_family = AF_INET; a->sin_port = htons(atoi(c + 1));
    if (!strcmp(h, "localhost")) strcpy(h, "127.0.0.1");
    if (inet_pton(AF_INET, h, &a->sin_addr) != 1) { fprintf(stderr, "need an IPv4 address: %s\n", h); exit(2); }
}
int main(int argc, char **argv) {
    const char *proxy = NULL; int o;
    while ((o = getopt(argc, argv, "m:u:c:n:d:r:CHe:T:h:t:P:")) != -1) switch (o) {
        case 'm': mode = !strcmp(optarg, "get") ? M_GET : !strcmp(optarg, "direct") ? M_DIRECT : !strcmp(optarg, "connect") ? M_CONNECT : !strcmp(optarg, "tunnel") ? M_TUNNEL : -1;
                  if (mode < 0) { fprintf(stderr, "bad mode\n"); return 2; } break;
        case 'u': path = optarg; break;  case 'c': nconn = atoi(optarg); break;
        case 'n': limit_n = atoll(optarg); break;  case 'd': dur = atof(optarg); break;
        case 'r': rate = atof(optarg); break;  case 'C': do_close = 1; break;  case 'H': do_hold = 1; break;
        case 'e': expect = atoi(optarg); break;  case 'T': timeout_ns = atoll(optarg) * 1000000; break;
        case 'h': hostname_ = optarg; break;  case 't': target = optarg; break;  case 'P': proxy = optarg; break;
        default: fprintf(stderr, "see the head of pxload.c\n"); return 2;
    }
    if (!proxy) proxy = target;
    const char *hn = hostname_ ? hostname_ : target;
    hostport(proxy, &paddr);
    req_connect_len = snprintf(req_connect, sizeof req_connect, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pxload\r\n\r\n", hn, hn);
    const char *cl = do_close ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
    if (mode == M_GET) req_get_len = snprintf(req_get, sizeof req_get, "GET http://%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pxload\r\nAccept: */*\r\n%s\r\n", hn, path, hn, cl);
    else req_get_len = snprintf(req_get, sizeof req_get, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pxload\r\nAccept: */*\r\n%s\r\n", path, hn, cl);
    signal(SIGINT, on_signal); signal(SIGTERM, on_signal);      /* stop early, still print */
    struct rlimit rl; getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl);
    ep = epoll_create1(EPOLL_CLOEXEC); C = calloc(nconn, sizeof *C); if (!C) die("calloc");
    for (int i = 0; i < nconn; i++) C[i].fd = -1;
    t_start = last_ok = now(); t_stop = t_start + (int64_t)(dur * 1e9);
    double next_i = 0; int next_c = 0; int64_t next_scan = t_start;
    static struct epoll_event ev[512];
    for (;;) {
        int64_t t = now();
        if (t >= t_stop || stopping) break;
        if (limit_n && n_ok + n_bad + n_err >= limit_n) break;
        int outstanding = 0;
        if (do_hold) {                                  /* open in batches of 64 in flight */
            int inflight = 0, fin = 0;
            for (int i = 0; i < nconn; i++) { if (C[i].busy) inflight++; }
            while (next_c < nconn && inflight < 64) { start_unit(&C[next_c++], now()); inflight++; }
            for (int i = 0; i < nconn; i++) if (C[i].busy) fin++;
            if (next_c == nconn && !fin) break;
        } else if (rate > 0) {
            for (int i = 0; i < nconn && t_start + (int64_t)(next_i * 1e9 / rate) <= t; i++) {
                conn_t *c = &C[(next_c + i) % nconn];
                if (!c->busy && (!limit_n || n_started < limit_n)) {
                    start_unit(c, t_start + (int64_t)(next_i * 1e9 / rate)); next_i++;
                    next_c = (next_c + i + 1) % nconn; i = -1;
                }
            }
        } else {
            for (int i = 0; i < nconn; i++) if (!C[i].busy && (!limit_n || n_started < limit_n)) start_unit(&C[i], now());
        }
        (void)outstanding;
        int wait = 10;
        if (rate > 0) { int64_t d = t_start + (int64_t)(next_i * 1e9 / rate) - now(); wait = d <= 0 ? 0 : d / 1000000 < 10 ? (int)(d / 1000000) : 10;
            if (d > 0) { struct timespec ts = { 0, d < 10000000 ? d : 10000000 }; 
                /* precise sleep: ppoll on the epoll fd */
                struct pollfd pf = { ep, POLLIN, 0 }; ppoll(&pf, 1, &ts, NULL); wait = 0; } }
        int k = epoll_wait(ep, ev, 512, wait);
        for (int i = 0; i < k; i++) { conn_t *c = ev[i].data.ptr; if (c->fd >= 0) step(c); }
        t = now();
        if (t > next_scan) { next_scan = t + 50000000;
            for (int i = 0; i < nconn; i++) if (C[i].busy && t - C[i].started > timeout_ns) { C[i].reused = 0; fail(&C[i], &e_time); }
        }
    }
    int64_t t_end = now();
    if (t_end - last_ok > stall && !limit_n) stall = t_end - last_ok;
    if (do_hold) {
        int held = 0; for (int i = 0; i < nconn; i++) if (C[i].fd >= 0 && C[i].heldok && C[i].state == S_IDLE) held++;
        printf("READY held=%d ok=%lld bad=%lld err=%lld\n", held, (long long)n_ok, (long long)n_bad, (long long)n_err); fflush(stdout);
        struct pollfd pf = { 0, POLLIN, 0 }; char b[64];
        for (;;) { poll(&pf, 1, 1000); if (pf.revents && read(0, b, sizeof b) <= 0) break;
            int k; while ((k = epoll_wait(ep, ev, 512, 0)) > 0) for (int i = 0; i < k; i++) { conn_t *c = ev[i].data.ptr; if (c->fd >= 0) step(c); }
            if (now() - t_end > 120LL * 1000000000) break; }
        held = 0; for (int i = 0; i < nconn; i++) if (C[i].fd >= 0 && C[i].state == S_IDLE) held++;
        printf("DONE held=%d\n", held); return 0;
    }
    double sec = (t_end - t_start) / 1e9;
    qsort(lat, nlat, 4, cmp);
    printf("{\"sec\":%.4f,\"ok\":%lld,\"bad\":%lld,\"err\":%lld,\"err_connect\":%lld,\"err_reset\":%lld,\"err_short\":%lld,\"err_timeout\":%lld,\"retried\":%lld,\"conns\":%lld,\"bytes\":%lld,\"per_sec\":%.1f,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"max_ms\":%.3f,\"stall_ms\":%.1f,\"status\":{",
        sec, (long long)n_ok, (long long)n_bad, (long long)n_err, (long long)e_conn, (long long)e_reset, (long long)e_short, (long long)e_time, (long long)n_retry, (long long)n_conn, (long long)n_bytes, n_ok / sec, pct(.5), pct(.9), pct(.99), pct(.999), nlat ? lat[nlat - 1] / 1000.0 : -1, stall / 1e6);
    int first = 1; for (int i = 0; i < 600; i++) if (statuscount[i]) { printf("%s\"%d\":%d", first ? "" : ",", i, statuscount[i]); first = 0; }
    printf("}}\n"); return 0;
}

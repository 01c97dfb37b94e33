// SPDX-License-Identifier: Apache-2.0
/*
 * tlsload - TLS clients behind a forward proxy: CONNECT, handshake, requests.
 *
 *   tlsload [options] -P PROXYHOST:PORT -t NAME:PORT -A ROOTS.pem
 *
 *   -u PATH   path of the object                        (default /1k)
 *   -c N      clients, a thread each                    (default 8)
 *   -d SEC    stop after SEC seconds                    (default 5)
 *   -n N      stop after N units                        (default 0 = no limit)
 *   -r RATE   open loop: RATE units a second in all; latency counts from the
 *             moment the unit was due
 *   -k        a unit is a request on a kept connection, else a connection with
 *             one request
 *   -R        resume the session of the connection before; full handshakes else
 *   -H        hold: each client makes one unit and stays open; prints "READY ok=N"
 *             and waits for stdin to close
 *   -i TEXT   text that the name of the certificate's issuer must contain
 *
 * The certificate is verified against ROOTS and the name. Blocking sockets and
 * threads: what is measured is the proxy, by its own CPU time.
 *
 * Output: one line of JSON. ok, err (with the first error), resumed, per_sec,
 * bytes (of bodies), p50_ms and p99_ms to the first octet of the answer from the
 * begin of the unit, all_p50_ms to its end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMostSamples = 2000000 };
static const char *path = "/1k", *issuer = NULL;
static char name[256], authority[300];
static struct sockaddr_in proxy;
static int clients = 8, keeps, resumes, holds;
static double seconds = 5, rate;
static long limit;
static SSL_CTX *ctx;
static atomic_long started, ok, failed, resumed, octets, samples;
static float *first_ms, *all_ms;
static atomic_int stopping, held;
static char first_error[400], cipher[80], version[20];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double began;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }

static void fail(const char *what) {
    failed++;
    pthread_mutex_lock(&lock);
    if (!first_error[0]) {
        char tls[200] = "";
        unsigned long code = ERR_peek_error();
        if (code) ERR_error_string_n(code, tls, sizeof tls);
        snprintf(first_error, sizeof first_error, "%s: %s %s", what, strerror(errno), tls);
        for (char *c = first_error; *c; c++) if (*c == '"' || *c == '\\' || (unsigned char)*c < 32) *c = ' ';
    }
    pthread_mutex_unlock(&lock);
    ERR_clear_error();
}

typedef struct { SSL *tls; SSL_SESSION *session; char buffer[65536]; } client;

static int open_tunnel(client *c) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct timeval patience = { 20, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&proxy, sizeof proxy)) { fail("connect"); close(fd); return -1; }
    int n = snprintf(c->buffer, sizeof c->buffer, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0 (tlsload)\r\n\r\n", authority, authority);
    if (send(fd, c->buffer, n, MSG_NOSIGNAL) != n) { fail("send CONNECT"); close(fd); return -1; }
    int got = 0;
    while (got < 4 || !memmem(c->buffer, got, "\r\n\r\n", 4)) {
        ssize_t k = recv(fd, c->buffer + got, 4096 - got, 0);
        if (k <= 0 || (got += k) >= 4096) { fail("answer to CONNECT"); close(fd); return -1; }
    }
    if (memcmp(c->buffer + 8, " 200", 4)) { errno = 0; fail("CONNECT is refused"); close(fd); return -1; }
    return fd;
}

static int check_issuer(SSL *tls) {
    if (!issuer) return 1;
    X509 *leaf = SSL_get1_peer_certificate(tls);
    char text[300] = "";
    if (leaf) X509_NAME_oneline(X509_get_issuer_name(leaf), text, sizeof text);
    X509_free(leaf);
    return strstr(text, issuer) != NULL;
}

static int open_tls(client *c) {
    int fd = open_tunnel(c);
    if (fd < 0) return 0;
    c->tls = SSL_new(ctx);
    SSL_set_fd(c->tls, fd);
    SSL_set_tlsext_host_name(c->tls, name);
    SSL_set1_host(c->tls, name);
    if (c->session) SSL_set_session(c->tls, c->session);
    errno = 0;
    if (SSL_connect(c->tls) != 1) { fail("handshake"); return 0; }
    if (!SSL_session_reused(c->tls) && !check_issuer(c->tls)) { fail("another issuer than wanted"); return 0; }
    resumed += SSL_session_reused(c->tls);
    if (!version[0]) { pthread_mutex_lock(&lock); snprintf(cipher, sizeof cipher, "%s", SSL_get_cipher(c->tls)); snprintf(version, sizeof version, "%s", SSL_get_version(c->tls)); pthread_mutex_unlock(&lock); }
    return 1;
}

static void close_tls(client *c) {
    if (!c->tls) return;
    if (resumes) { SSL_SESSION_free(c->session); c->session = SSL_get1_session(c->tls); }
    int fd = SSL_get_fd(c->tls);
    SSL_set_quiet_shutdown(c->tls, 1);
    SSL_shutdown(c->tls);
    SSL_free(c->tls);
    c->tls = NULL;
    if (fd >= 0) close(fd);
}

/* 1: a whole answer with status 200. *first: when its first octet came. */
static int ask(client *c, double *first) {
    int n = snprintf(c->buffer, sizeof c->buffer, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, authority, keeps || holds ? "" : "Connection: close\r\n");
    errno = 0;
    if (SSL_write(c->tls, c->buffer, n) != n) { fail("send request"); return 0; }
    int got = 0;
    char *end = NULL;
    while (!end) {
        int k = SSL_read(c->tls, c->buffer + got, sizeof c->buffer - 1 - got);
        if (k <= 0) { fail("answer"); return 0; }
        if (!got) *first = now();
        c->buffer[got += k] = 0;
        end = strstr(c->buffer, "\r\n\r\n");
        if (!end && got > 60000) { fail("long head"); return 0; }
    }
    if (memcmp(c->buffer + 8, " 200", 4)) { errno = 0; fail("another status than 200"); return 0; }
    char *field = strcasestr(c->buffer, "\r\ncontent-length:");
    if (!field || field > end) { errno = 0; fail("no length"); return 0; }
    long long left = atoll(field + 17) - (got - (end + 4 - c->buffer));
    octets += atoll(field + 17);
    while (left > 0) {
        int k = SSL_read(c->tls, c->buffer, sizeof c->buffer);
        if (k <= 0) { fail("cut answer"); return 0; }
        left -= k;
    }
    return left == 0;
}

static void *run(void *unused) {
    (void)unused;
    client *c = calloc(1, sizeof *c);
    for (;;) {
        long number = started++;
        if (stopping || (limit && number >= limit)) break;
        double due = now(), first = 0;
        if (rate > 0) {
            due = began + number / rate;
            if (due > began + seconds) break;
            double wait = due - now();
            if (wait > 0) { struct timespec t = { (time_t)wait, (long)((wait - (time_t)wait) * 1e9) }; nanosleep(&t, NULL); }
        } else if (due > began + seconds) break;
        int good = (c->tls || open_tls(c)) && ask(c, &first);
        if (good) {
            ok++;
            long at = samples++;
            if (at < kMostSamples) { first_ms[at] = (first - due) * 1e3; all_ms[at] = (now() - due) * 1e3; }
        }
        if (holds) { held++; while (!stopping) usleep(20000); close_tls(c); break; }
        if (!good || !keeps) close_tls(c);
    }
    close_tls(c);
    SSL_SESSION_free(c->session);
    free(c);
    return NULL;
}

static int by_size(const void *a, const void *b) { float x = *(const float *)a, y = *(const float *)b; return (x > y) - (x < y); }
static double part(float *v, long n, double p) { if (!n) return -1; return v[(long)(p * (n - 1))]; }

static int split(const char *text, char *host, size_t size, int *port) {
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= size) return 0;
    memcpy(host, text, colon - text);
    host[colon - text] = 0;
    *port = atoi(colon + 1);
    return 1;
}

int main(int argc, char **argv) {
    char host[256] = "";
    const char *roots = NULL;
    int o, port = 0;
    while ((o = getopt(argc, argv, "P:t:A:u:c:d:n:r:i:kRH")) != -1) switch (o) {
        case 'P': if (!split(optarg, host, sizeof host, &port)) return 2; break;
        case 't': { int p; if (!split(optarg, name, sizeof name, &p)) return 2; snprintf(authority, sizeof authority, "%s", optarg); break; }
        case 'A': roots = optarg; break;
        case 'u': path = optarg; break;
        case 'c': clients = atoi(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'n': limit = atol(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 'i': issuer = optarg; break;
        case 'k': keeps = 1; break;
        case 'R': resumes = 1; break;
        case 'H': holds = 1; break;
        default: return 2;
    }
    if (!port || !name[0] || !roots) { fprintf(stderr, "tlsload: -P, -t and -A are needed\n"); return 2; }
    signal(SIGPIPE, SIG_IGN);
    proxy.sin_family = AF_INET;
    proxy.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &proxy.sin_addr) != 1) { fprintf(stderr, "tlsload: -P wants an IPv4 address\n"); return 2; }
    ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_load_verify_locations(ctx, roots, NULL) != 1) { fprintf(stderr, "tlsload: cannot read %s\n", roots); return 2; }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);   /* else a session that was resumed taints the one after it */
    first_ms = malloc(sizeof(float) * kMostSamples);
    all_ms = malloc(sizeof(float) * kMostSamples);
    pthread_t *threads = malloc(sizeof *threads * clients);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    began = now();
    for (int i = 0; i < clients; i++) if (pthread_create(&threads[i], &attr, run, NULL)) { perror("thread"); return 1; }
    if (holds) {
        while (held + failed < clients && now() < began + 60) usleep(20000);
        printf("READY ok=%ld\n", (long)ok);
        fflush(stdout);
        while (getchar() != EOF) {}
        stopping = 1;
    }
    for (int i = 0; i < clients; i++) pthread_join(threads[i], NULL);
    double took = now() - began;
    long n = samples < kMostSamples ? samples : kMostSamples;
    qsort(first_ms, n, sizeof *first_ms, by_size);
    qsort(all_ms, n, sizeof *all_ms, by_size);
    printf("{\"ok\":%ld,\"err\":%ld,\"resumed\":%ld,\"sec\":%.3f,\"per_sec\":%.1f,\"bytes\":%ld,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"all_p50_ms\":%.3f,"
           "\"cipher\":\"%s\",\"version\":\"%s\",\"why\":\"%s\"}\n",
           (long)ok, (long)failed, (long)resumed, took, ok / took, (long)octets, part(first_ms, n, .5), part(first_ms, n, .99),
           part(all_ms, n, .5), cipher, version, first_error);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* relay - the least a TCP relay can do: one thread, epoll, one-way bulk data.
 *   relay LISTENPORT ORIGINPORT copy|splice BYTES
 * copy: recv/send with a buffer of BYTES; splice: pipe of BYTES.  Request bytes
 * (client to origin) are always copied.  Used to find the best buffer size for
 * tunnels ("./bench.py tunnel" measures complete proxies). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
typedef struct { int c, o, p[2], eof; long inpipe, off, len; char *buf; } rel;
typedef struct { rel *r; int side; } end;
static int ep, use_splice; static long bytes;
static void add(int fd, void *p) { struct epoll_event e = { EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, { .ptr = p } }; epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e); }
static int down(rel *r) {                         /* origin to client; 1 = finished */
    for (;;) {
        if (use_splice) {
            if (!r->inpipe) { ssize_t k = splice(r->o, 0, r->p[1], 0, bytes, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
                if (k == 0) return 1; if (k < 0) return errno != EAGAIN; r->inpipe = k; }
            ssize_t k = splice(r->p[0], 0, r->c, 0, r->inpipe, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
            if (k < 0) return errno != EAGAIN; r->inpipe -= k;
        } else {
            if (r->off == r->len) { ssize_t k = recv(r->o, r->buf, bytes, 0); if (k == 0) return 1; if (k < 0) return errno != EAGAIN; r->len = k; r->off = 0; }
            ssize_t k = send(r->c, r->buf + r->off, r->len - r->off, MSG_NOSIGNAL); if (k < 0) return errno != EAGAIN; r->off += k;
        }
    }
}
int main(int n, char **a) {
    if (n < 5) return 2;
    signal(SIGPIPE, SIG_IGN); use_splice = !strcmp(a[3], "splice"); bytes = atol(a[4]); ep = epoll_create1(0);
    struct sockaddr_in s = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(atoi(a[1])) };
    int l = socket(AF_INET, SOCK_STREAM, 0), one = 1; setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(l, (void *)&s, sizeof s) || listen(l, 128)) { perror("bind"); return 1; }
    struct epoll_event e = { EPOLLIN, { .ptr = NULL } }; epoll_ctl(ep, EPOLL_CTL_ADD, l, &e);
    s.sin_port = htons(atoi(a[2]));
    for (;;) {
        struct epoll_event ev[64]; int k = epoll_wait(ep, ev, 64, -1);
        for (int i = 0; i < k; i++) {
            end *x = ev[i].data.ptr;
            if (!x) { rel *r = calloc(1, sizeof *r); r->c = accept4(l, 0, 0, SOCK_NONBLOCK); r->o = socket(AF_INET, SOCK_STREAM, 0);
                if (connect(r->o, (void *)&s, sizeof s)) { close(r->c); close(r->o); free(r); continue; }
                fcntl(r->o, F_SETFL, O_NONBLOCK); if (use_splice) { if (pipe2(r->p, O_NONBLOCK)) return 1; fcntl(r->p[1], F_SETPIPE_SZ, bytes); } else r->buf = malloc(bytes);
                end *p = malloc(2 * sizeof *p); p[0] = (end){ r, 0 }; p[1] = (end){ r, 1 }; add(r->c, &p[0]); add(r->o, &p[1]); continue; }
            rel *r = x->r; if (r->eof) continue;
            int fin = down(r);
            if (x->side == 0 && !fin) { char b[4096]; ssize_t z; while ((z = recv(r->c, b, sizeof b, 0)) > 0) if (send(r->o, b, z, MSG_NOSIGNAL) < 0) break; if (z == 0) fin = 1; }
            if (fin) { r->eof = 1; close(r->c); close(r->o); if (use_splice) { close(r->p[0]); close(r->p[1]); } else free(r->buf); }
        }
    }
}

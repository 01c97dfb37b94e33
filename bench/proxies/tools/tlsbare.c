// SPDX-License-Identifier: Apache-2.0
/*
 * tlsbare - what OpenSSL alone costs: the two handshakes that interception needs,
 * and the cipher. In memory, one thread, no sockets.
 *
 *   tlsbare [-d SEC] LEAF.pem LEAF.key CA.pem  ORIGIN.pem ORIGIN.key ROOTS.pem NAME
 *
 * The first pair is a client against a server with LEAF: the CPU time of the server
 * counts. The second is a client that verifies ORIGIN (with its chain) against ROOTS
 * for NAME: that of the client counts. Each a handshake and the tickets behind it;
 * contexts, key share and verification as a server or client of default settings has
 * them. SEC (default 2) for each figure.
 *
 * Output: one line of JSON: server_full_us, client_full_us, server_resumed_us,
 * client_resumed_us; aes128_s_per_gb and aes256_s_per_gb: AES-GCM in records of 16
 * KiB, sealed once and opened once.
 */
#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds = 2;
static const char *name;

static void die(const char *what) { fprintf(stderr, "tlsbare: %s\n", what); ERR_print_errors_fp(stderr); exit(1); }
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }

static SSL_CTX *server_of(const char *certificate, const char *key) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1 || SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) die(certificate);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"b", 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

static SSL_CTX *client_of(const char *roots) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_load_verify_locations(ctx, roots, NULL) != 1) die(roots);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);   /* else a session that was resumed taints the one after it */
    return ctx;
}

/* One handshake, tickets included; adds the CPU time of each side. Gives the session for the next one. */
static SSL_SESSION *shake(SSL_CTX *cc, SSL_CTX *sc, SSL_SESSION *session, double *client_s, double *server_s) {
    double t = cpu();
    SSL *c = SSL_new(cc);
    BIO *c_in = BIO_new(BIO_s_mem());
    SSL_set_tlsext_host_name(c, name);
    SSL_set1_host(c, name);
    if (session) SSL_set_session(c, session);
    *client_s += cpu() - t;
    t = cpu();
    SSL *s = SSL_new(sc);
    BIO *s_in = BIO_new(BIO_s_mem());
    *server_s += cpu() - t;
    BIO_up_ref(c_in);
    BIO_up_ref(s_in);
    SSL_set_bio(c, c_in, s_in);   /* each writes into what the other reads */
    SSL_set_bio(s, s_in, c_in);
    SSL_set_connect_state(c);
    SSL_set_accept_state(s);
    int done = 0;
    for (int i = 0; i < 10 && !done; i++) {
        t = cpu();
        int a = SSL_do_handshake(c);
        *client_s += cpu() - t;
        t = cpu();
        int b = SSL_do_handshake(s);
        *server_s += cpu() - t;
        done = a == 1 && b == 1;
    }
    if (!done) die("handshake");
    if (session && !SSL_session_reused(c)) die("not resumed");
    char octet;
    t = cpu();
    SSL_read(c, &octet, 1);       /* the tickets */
    *client_s += cpu() - t;
    SSL_SESSION *next = SSL_get1_session(c);
    SSL_set_quiet_shutdown(c, 1);
    SSL_set_quiet_shutdown(s, 1);
    SSL_shutdown(c);
    SSL_shutdown(s);
    t = cpu();
    SSL_free(c);
    *client_s += cpu() - t;
    t = cpu();
    SSL_free(s);
    *server_s += cpu() - t;
    return next;
}

static void handshakes(SSL_CTX *cc, SSL_CTX *sc, int resumes, double *client_us, double *server_us) {
    double c = 0, s = 0;
    SSL_SESSION *session = NULL;
    if (resumes) session = shake(cc, sc, NULL, &c, &s);
    c = s = 0;
    long n = 0;
    for (double begin = cpu(); cpu() - begin < seconds; n++) {
        SSL_SESSION *next = shake(cc, sc, session, &c, &s);
        SSL_SESSION_free(resumes ? session : next);
        session = resumes ? next : NULL;
    }
    SSL_SESSION_free(session);
    *client_us = c * 1e6 / n;
    *server_us = s * 1e6 / n;
}

static double aes(const EVP_CIPHER *cipher) {
    enum { kRecord = 16384 };
    static unsigned char in[kRecord], out[kRecord + 16], tag[16], key[32], iv[12];
    EVP_CIPHER_CTX *e = EVP_CIPHER_CTX_new(), *d = EVP_CIPHER_CTX_new();
    if (EVP_EncryptInit_ex(e, cipher, NULL, key, iv) != 1 || EVP_DecryptInit_ex(d, cipher, NULL, key, iv) != 1) die("cipher");
    long n = 0;
    int k;
    double begin = cpu();
    for (; cpu() - begin < seconds; n++) {
        iv[11] = (unsigned char)n;
        if (EVP_EncryptInit_ex(e, NULL, NULL, NULL, iv) != 1 || EVP_EncryptUpdate(e, out, &k, in, kRecord) != 1 || EVP_EncryptFinal_ex(e, out + k, &k) != 1 ||
            EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_GCM_GET_TAG, 16, tag) != 1) die("seal");
        if (EVP_DecryptInit_ex(d, NULL, NULL, NULL, iv) != 1 || EVP_DecryptUpdate(d, in, &k, out, kRecord) != 1 ||
            EVP_CIPHER_CTX_ctrl(d, EVP_CTRL_GCM_SET_TAG, 16, tag) != 1 || EVP_DecryptFinal_ex(d, in + k, &k) != 1) die("open");
    }
    double took = cpu() - begin;
    EVP_CIPHER_CTX_free(e);
    EVP_CIPHER_CTX_free(d);
    return took / ((double)n * kRecord / 1e9);
}

int main(int argc, char **argv) {
    int o;
    while ((o = getopt(argc, argv, "d:")) != -1) { if (o != 'd') return 2; seconds = atof(optarg); }
    argv += optind;
    if (argc - optind != 7) { fprintf(stderr, "usage: tlsbare [-d SEC] LEAF KEY CA ORIGIN KEY ROOTS NAME\n"); return 2; }
    name = argv[6];
    SSL_CTX *our_server = server_of(argv[0], argv[1]), *their_client = client_of(argv[2]);
    SSL_CTX *their_server = server_of(argv[3], argv[4]), *our_client = client_of(argv[5]);
    double other, server_full, client_full, server_resumed, client_resumed;
    handshakes(their_client, our_server, 0, &other, &server_full);
    handshakes(our_client, their_server, 0, &client_full, &other);
    handshakes(their_client, our_server, 1, &other, &server_resumed);
    handshakes(our_client, their_server, 1, &client_resumed, &other);
    printf("{\"server_full_us\":%.1f,\"client_full_us\":%.1f,\"server_resumed_us\":%.1f,\"client_resumed_us\":%.1f,\"aes128_s_per_gb\":%.4f,\"aes256_s_per_gb\":%.4f}\n",
           server_full, client_full, server_resumed, client_resumed, aes(EVP_aes_128_gcm()), aes(EVP_aes_256_gcm()));
    return 0;
}

/* TLS as a client. Sessions are kept one an origin, so that a new connection can resume. */
#include "http/http_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/ban.h"

/* ---- a socket that never raises SIGPIPE ---- */

static int bio_fd(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_write(BIO *bio, const char *bytes, int length)
{
    ssize_t count;
    do
        count = send(bio_fd(bio), bytes, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    return (int)count;
}

static int bio_read(BIO *bio, char *bytes, int length)
{
    ssize_t count;
    do
        count = recv(bio_fd(bio), bytes, (size_t)length, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    if (count == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)count;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (what == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (method == NULL)
        return NULL;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO_meth_set_create(method, bio_create);
    return method;
}

/* ---- the context ---- */

/* What OpenSSL says of its last failure; static text. */
static const char *reason_last(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason != NULL ? reason : "OpenSSL does not say why";
}

static enum pl_code file_wrong(struct pl_err *err, const char *what, const char *path)
{
    pl_err_set(err, PL_INPUT, "cannot use the %s %.200s: %s", what, path, reason_last());
    pl_err_hint(err, "A readable file in PEM form is needed.");
    return err->code;
}

/* Keeps what the server gives for the next connection to the same origin. */
static int session_new(SSL *ssl, SSL_SESSION *session)
{
    struct http_engine *engine = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct http_origin_entry *origin = &engine->origins[(size_t)(uintptr_t)SSL_get_app_data(ssl)];
    http_tls_forget_session(origin);
    origin->tls_session = session;
    return 1; /* it is ours now */
}

static enum pl_code context_fill(struct http_engine *engine, SSL_CTX *context, struct pl_err *err)
{
    const struct http_spec *spec = &engine->spec;
    SSL_CTX_set_app_data(context, engine);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, spec->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (spec->ca_file != NULL && SSL_CTX_load_verify_locations(context, spec->ca_file, NULL) != 1)
        return file_wrong(err, "certificates of", spec->ca_file);
    if (spec->cert_file != NULL && SSL_CTX_use_certificate_chain_file(context, spec->cert_file) != 1)
        return file_wrong(err, "client certificate", spec->cert_file);
    const char *key = spec->key_file != NULL ? spec->key_file : spec->cert_file;
    if (key != NULL && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return file_wrong(err, "private key", key);
    static const unsigned char h2[] = "\x02h2", http1_1[] = "\x08http/1.1";
    if (spec->http2)
        SSL_CTX_set_alpn_protos(context, h2, sizeof h2 - 1);
    else
        SSL_CTX_set_alpn_protos(context, http1_1, sizeof http1_1 - 1);
    if (!spec->no_resumption) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, session_new);
    }
    return PL_OK;
}

enum pl_code http_tls_init(struct http_engine *engine, struct pl_err *err)
{
    engine->tls = SSL_CTX_new(TLS_client_method());
    engine->bio_method = bio_method_new();
    if (engine->tls == NULL || engine->bio_method == NULL)
        return pl_err_set(err, PL_IO, "cannot set TLS up: %s", reason_last());
    return context_fill(engine, engine->tls, err);
}

void http_tls_trust(struct http_engine *engine)
{
    if (engine->trusts || engine->spec.ca_file != NULL || engine->spec.insecure)
        return;
    engine->trusts = true;
    SSL_CTX_set_default_verify_paths(engine->tls);
    ERR_clear_error();
}

void http_tls_release(struct http_engine *engine)
{
    SSL_CTX_free(engine->tls);
    BIO_meth_free(engine->bio_method);
}

void http_tls_forget_session(struct http_origin_entry *origin)
{
    SSL_SESSION_free(origin->tls_session);
    origin->tls_session = NULL;
}

/* ---- a connection ---- */

/* Whom the certificate must be for, and who is asked for. */
static bool name_set(const struct http_engine *engine, const struct http_origin_entry *origin, SSL *ssl)
{
    const char *said = engine->spec.server_name != NULL ? engine->spec.server_name : origin->host;
    size_t length = strlen(said);
    char name[HTTP_HOST_MOST + 1];
    if (length > HTTP_HOST_MOST)
        return false;
    memcpy(name, said, length + 1);
    char *zone = strchr(name, '%');
    if (zone != NULL) /* "fe80::1%eth0": which way it is reached is no part of whom it is */
        *zone = '\0';
    if (http_is_ip(name)) /* SNI has no addresses (RFC 6066, 3) */
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    if (length > 1 && name[length - 1] == '.') /* the end of the whole name, which no certificate writes */
        name[length - 1] = '\0';
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

bool http_tls_begin(struct http_engine *engine, struct http_conn *conn)
{
    const struct http_origin_entry *origin = &engine->origins[conn->origin];
    ERR_clear_error();
    SSL *ssl = SSL_new(engine->tls);
    BIO *bio = ssl != NULL ? BIO_new(engine->bio_method) : NULL;
    if (bio == NULL || !name_set(engine, origin, ssl)) {
        BIO_free(bio);
        SSL_free(ssl);
        ERR_clear_error();
        return false;
    }
    BIO_set_data(bio, (void *)(intptr_t)conn->socket.fd);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, (void *)(uintptr_t)conn->origin);
    if (origin->tls_session != NULL)
        SSL_set_session(ssl, origin->tls_session);
    SSL_set_connect_state(ssl);
    conn->socket.ssl = ssl;
    return true;
}

static bool is_h2(const SSL *ssl)
{
    const unsigned char *name;
    unsigned length;
    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

static enum http_tls_progress handshake_done(struct http_engine *engine, struct http_conn *conn,
                                             struct http_fault *ret_fault)
{
    SSL *ssl = conn->socket.ssl;
    if (engine->spec.http2 && !is_h2(ssl)) {
        *ret_fault = (struct http_fault){HTTP_TLS, "ALPN", "the server does not offer HTTP/2"};
        return HTTP_TLS_FAILED;
    }
    conn->is_resumed = SSL_session_reused(ssl) == 1;
    engine->stats->handshakes_resumed += conn->is_resumed;
    engine->stats->handshakes_full += !conn->is_resumed;
    wire_tls_tune(ssl);
    return HTTP_TLS_DONE;
}

enum http_tls_progress http_tls_advance(struct http_engine *engine, struct http_conn *conn, struct http_fault *ret_fault)
{
    SSL *ssl = conn->socket.ssl;
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(ssl);
    int os_errno = errno;
    if (result == 1)
        return handshake_done(engine, conn, ret_fault);
    int why = SSL_get_error(ssl, result);
    if (why == SSL_ERROR_WANT_READ)
        return HTTP_TLS_READING;
    if (why == SSL_ERROR_WANT_WRITE)
        return HTTP_TLS_WRITING;
    long verified = SSL_get_verify_result(ssl);
    bool is_end = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (!engine->spec.insecure && verified != X509_V_OK)
        *ret_fault = (struct http_fault){HTTP_TLS, "CERTIFICATE", X509_verify_cert_error_string(verified)};
    else if (is_end || (why == SSL_ERROR_SYSCALL && os_errno == 0))
        *ret_fault = http_fault_io(HTTP_TLS, WIRE_CLOSED, 0);
    else if (why == SSL_ERROR_SYSCALL)
        *ret_fault = http_fault_io(HTTP_TLS, WIRE_FAILED, os_errno);
    else
        *ret_fault = (struct http_fault){HTTP_TLS, "HANDSHAKE", reason_last()};
    ERR_clear_error();
    /* what was to be resumed may be why */
    http_tls_forget_session(&engine->origins[conn->origin]);
    return HTTP_TLS_FAILED;
}

const char *http_tls_reason(const struct http_conn *conn)
{
    return conn->socket.tls_error != 0 ? ERR_reason_error_string(conn->socket.tls_error) : NULL;
}

bool http_tls_said_goodbye(const struct http_conn *conn)
{
    return (SSL_get_shutdown(conn->socket.ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void http_tls_end(struct http_engine *engine, struct http_conn *conn)
{
    SSL *ssl = conn->socket.ssl;
    conn->socket.ssl = NULL;
    /* of one that was not ended OpenSSL would not let the session be resumed */
    if (conn->is_broken || conn->is_hung_up)
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    else if (SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
    ERR_clear_error();
    if (engine->reported_tls == ssl)
        engine->owns_reported_tls = true;
    else
        SSL_free(ssl);
}

void http_tls_reported(struct http_engine *engine)
{
    if (engine->owns_reported_tls)
        SSL_free(engine->reported_tls);
    engine->owns_reported_tls = false;
    engine->reported_tls = NULL;
}

/* ---- the certificate ---- */

static int64_t unix_s_of(const ASN1_TIME *time)
{
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1)
        return 0;
    return (int64_t)timegm(&parts);
}

void http_certificate(const struct http_engine *engine, uint32_t client, struct http_certificate *ret_certificate)
{
    *ret_certificate = (struct http_certificate){0};
    (void)client; /* only the exchange that is being reported can be asked for */
    X509 *certificate = engine->reported_tls != NULL ? SSL_get0_peer_certificate(engine->reported_tls) : NULL;
    if (certificate == NULL)
        return;
    X509_NAME_oneline(X509_get_subject_name(certificate), ret_certificate->subject, sizeof ret_certificate->subject);
    X509_NAME_oneline(X509_get_issuer_name(certificate), ret_certificate->issuer, sizeof ret_certificate->issuer);
    BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    char *hex = serial != NULL ? BN_bn2hex(serial) : NULL;
    if (hex != NULL)
        snprintf(ret_certificate->serial, sizeof ret_certificate->serial, "%s", hex);
    OPENSSL_free(hex);
    BN_free(serial);
    ret_certificate->start_unix_s = unix_s_of(X509_get0_notBefore(certificate));
    ret_certificate->expire_unix_s = unix_s_of(X509_get0_notAfter(certificate));
}

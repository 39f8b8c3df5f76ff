#include "tlscert.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "support.h"

static FILE *pem_open(const char *path, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    return file;
}

static X509 *certificate_make(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    assert_non_null(cert);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_non_null(names);
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

void tlscert_write(const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *cert = certificate_make(key);
    FILE *cert_file = pem_open(cert_path, 0644), *key_file = pem_open(key_path, 0600);
    assert_int_equal(PEM_write_X509(cert_file, cert), 1);
    assert_int_equal(PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(cert_file), 0);
    assert_int_equal(fclose(key_file), 0);
    X509_free(cert);
    EVP_PKEY_free(key);
}

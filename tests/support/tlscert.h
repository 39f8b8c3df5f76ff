/* A self-signed certificate for localhost and 127.0.0.1, made on the spot (EC P-256, valid one day). */
#ifndef PL_TESTS_TLSCERT_H
#define PL_TESTS_TLSCERT_H

/* Writes both as PEM; the key with mode 0600. Fails the calling test when that cannot be done. */
void tlscert_write(const char *cert_path, const char *key_path);

#endif

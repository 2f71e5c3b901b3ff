/* Certificates made for one run of the tests: ca.pem signs good.pem and
 * expired.pem, both for localhost and 127.0.0.1, and other.pem, for another
 * name; each has a .key beside it. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "certificates: %s failed\n", what);
    exit(1);
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    need(e != NULL && X509_add_ext(x, e, -1), "an extension");
    X509_EXTENSION_free(e);
}

static void save(const char *dir, const char *name, X509 *x, EVP_PKEY *key)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.pem", dir, name);
    FILE *f = fopen(path, "w");
    need(f && PEM_write_X509(f, x) && !fclose(f), path);
    snprintf(path, sizeof path, "%s/%s.key", dir, name);
    f = fopen(path, "w");
    need(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) && !fclose(f), path);
}

/* from_s and to_s are seconds from now. issuer NULL: signs itself, as a CA. */
static X509 *make(const char *name, const char *names, long serial, long from_s, long to_s,
                  EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
    X509 *x = X509_new();
    need(x != NULL, "a certificate");
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
    X509_gmtime_adj(X509_getm_notBefore(x), from_s);
    X509_gmtime_adj(X509_getm_notAfter(x), to_s);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
    X509 *by = issuer ? issuer : x;
    extend(x, by, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    extend(x, by, NID_subject_key_identifier, "hash");
    if (issuer)
        extend(x, by, NID_subject_alt_name, names);
    else
        extend(x, by, NID_key_usage, "critical,keyCertSign,cRLSign");
    need(X509_sign(x, issuer ? issuer_key : key, EVP_sha256()), "signing");
    return x;
}

void certificates_make(const char *dir)
{
    static const char here[] = "DNS:localhost,IP:127.0.0.1";
    const long day = 86400;
    EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    need(ca_key && key, "a key");
    X509 *ca = make("KernelBand test CA", NULL, 1, -40 * day, 40 * day, ca_key, NULL, NULL);
    X509 *good = make("localhost", here, 2, -day, day, key, ca, ca_key);
    X509 *expired = make("localhost", here, 3, -20 * day, -10 * day, key, ca, ca_key);
    X509 *other = make("other.invalid", "DNS:other.invalid", 4, -day, day, key, ca, ca_key);
    save(dir, "ca", ca, ca_key);
    save(dir, "good", good, key);
    save(dir, "expired", expired, key);
    save(dir, "other", other, key);
    X509_free(other);
    X509_free(ca);
    X509_free(good);
    X509_free(expired);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
}

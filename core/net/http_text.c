/* What is told of a transfer that failed: which host, what happened, what to
 * do. libcurl's own words are used where they only tell of names and keys. */
#include "http_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

static const char no_http[] = "what it answers is not HTTP as the standards "
                              "have it; is this the address of an API?";

__attribute__((format(printf, 4, 5)))
static void tell(struct transfer *t, kb_status result, const char *reason,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
    t->answer.result = result;
    t->answer.reason = reason;
    t->answer.text = t->text;
}

/* libcurl's words with what a terminal would obey taken out. */
static const char *detail(struct transfer *t)
{
    for (char *c = t->why; *c; c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
            *c = '?';
    return t->why;
}

static const char *system_words(struct transfer *t)
{
    long number = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
    return number ? strerror((int)number) : "no answer";
}

static void tell_tls(struct transfer *t, CURLcode code)
{
    if (code == CURLE_SSL_CACERT_BADFILE)
        tell(t, KB_EHTTP, "tls", "%s: the file of trusted certificates %s cannot "
             "be read; %s names it", t->host, t->ca ? t->ca : "(built in)",
             t->ca_from ? t->ca_from : "libcurl");
    else if (code == CURLE_PEER_FAILED_VERIFICATION)
        tell(t, KB_EHTTP, "tls", "%s: its certificate is not accepted (%s); for "
             "a certificate authority of your own let CURL_CA_BUNDLE or "
             "SSL_CERT_FILE name its file", t->host, detail(t));
    else
        tell(t, KB_EHTTP, "tls", "%s: TLS could not be agreed on (%s); is this "
             "an https address?", t->host, detail(t));
}

static void tell_stop(struct transfer *t)
{
    switch (t->stop) {
    case STOP_HEAD:
        tell(t, KB_EHTTP, "size", "%s: its headers are more than %d bytes; the "
             "answer was broken off", t->host, KB_HTTP_HEAD_BYTES);
        break;
    case STOP_BODY:
        tell(t, KB_EHTTP, "size", "%s: its answer is more than %zu bytes and was "
             "broken off (max_bytes)", t->host, t->r.max_bytes);
        break;
    default:
        tell(t, KB_ENOMEM, "memory", "%s: no memory for its answer", t->host);
    }
}

static void tell_other(struct transfer *t, CURLcode code)
{
    long proxy = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    if (proxy / 100 > 2)
        tell(t, KB_EHTTP, "proxy", "%s: the proxy that HTTPS_PROXY or ALL_PROXY "
             "names refuses to connect to it (status %ld)", t->host, proxy);
    else if (code == CURLE_GOT_NOTHING)
        tell(t, KB_EHTTP, "reset", "%s: closed the connection without an answer; "
             "try again", t->host);
    else
        tell(t, KB_EHTTP, "reset", "%s: the connection broke after %zu bytes of "
             "the answer (%s); try again", t->host, t->seen_bytes,
             t->curl->easy_strerror(code));
}

/* What needs no more words than the host's name before it. */
static const struct { CURLcode code; const char *reason, *text; } plain[] = {
    { CURLE_COULDNT_RESOLVE_HOST, "resolve",
      "no address is known for this name; check its spelling and the network" },
    { CURLE_COULDNT_RESOLVE_PROXY, "proxy",
      "no address is known for the proxy that http_proxy, HTTPS_PROXY or "
      "ALL_PROXY names" },
    { CURLE_UNSUPPORTED_PROTOCOL, "protocol", no_http },
    { CURLE_WEIRD_SERVER_REPLY, "protocol", no_http },
    { CURLE_BAD_CONTENT_ENCODING, "protocol", no_http },
};

void kb_http_explain(struct transfer *t, CURLcode code)
{
    if (t->stop) {
        tell_stop(t);
        return;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i].code == code) {
            tell(t, KB_EHTTP, plain[i].reason, "%s: %s", t->host,
                 plain[i].text);
            return;
        }
    switch (code) {
    case CURLE_OK:
        t->answer.result = KB_OK;
        break;
    case CURLE_COULDNT_CONNECT:
        tell(t, KB_EHTTP, "connect", "%s: cannot be connected to (%s); is the "
             "server running, and is a proxy needed?", t->host,
             system_words(t));
        break;
    case CURLE_OPERATION_TIMEDOUT:
        kb_http_late(t, kb_clock_now_ns() >= t->begun_ns + t->r.total_ns
                        ? "total" : "connect");
        break;
    case CURLE_SSL_CONNECT_ERROR: case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION: case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM: case CURLE_SSL_ISSUER_ERROR:
        tell_tls(t, code);
        break;
    case CURLE_OUT_OF_MEMORY:   /* also what libcurl says of a line too long */
        t->stop = t->bodied ? STOP_MEMORY : STOP_HEAD;
        tell_stop(t);
        break;
    default:
        tell_other(t, code);
    }
}

void kb_http_late(struct transfer *t, const char *reason)
{
    if (strcmp(reason, "connect") == 0)
        tell(t, KB_ETIME, reason, "%s: no connection within %.1f s; is the "
             "address right, and is a proxy needed?", t->host,
             (double)t->r.connect_ns / 1e9);
    else if (strcmp(reason, "idle") == 0)
        tell(t, KB_ETIME, reason, "%s: silent for %.1f s after %zu bytes of its "
             "answer, and given up", t->host, (double)t->r.idle_ns / 1e9,
             t->seen_bytes);
    else
        tell(t, KB_ETIME, reason, "%s: not done within %.1f s, after %zu bytes "
             "of its answer, and given up", t->host, (double)t->r.total_ns / 1e9,
             t->seen_bytes);
}

/* The file that libcurl was built with or, when a binary brought from elsewhere
 * does not find it here, the distribution's own. A libcurl without one has
 * another store. */
static const char *installed_ca(const struct transfer *t)
{
    const curl_version_info_data *v = t->curl->version_info(CURLVERSION_NOW);
    const char *const places[] = {
        v->age >= CURLVERSION_SEVENTH ? v->cainfo : NULL,
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    };
    for (size_t i = 0; places[0] && i < sizeof places / sizeof *places; i++)
        if (!access(places[i], R_OK))
            return places[i];
    return NULL;
}

void kb_http_find_ca(struct transfer *t, const char *given)
{
    static const char *const variables[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE" };
    t->ca = given;
    t->ca_from = given ? "ca_file" : NULL;
    for (size_t i = 0; i < 2 && !t->ca; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) {
            t->ca = value;
            t->ca_from = variables[i];
        }
    }
    if (!t->ca && !getenv("SSL_CERT_DIR"))
        t->ca = installed_ca(t);
}

/* What is told of a transfer that failed: which host, what happened, what to
 * do. libcurl's own words are used where they only tell of names and keys. */
#include "http_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* "HOST: " and the rest. */
__attribute__((format(printf, 4, 5)))
static void tell(struct transfer *t, kb_status result, const char *reason,
                 const char *format, ...)
{
    va_list args;
    int n = snprintf(t->text, sizeof t->text, "%s: ", t->host);
    va_start(args, format);
    vsnprintf(t->text + n, sizeof t->text - (size_t)n, format, args);
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

static void tell_stop(struct transfer *t)
{
    if (t->stop == STOP_HEAD)
        tell(t, KB_EHTTP, "size", "its headers are more than %d bytes; the "
             "answer was broken off", KB_HTTP_HEAD_BYTES);
    else if (t->stop == STOP_BODY)
        tell(t, KB_EHTTP, "size", "its answer is more than %zu bytes and was "
             "broken off (max_bytes)", t->r.max_bytes);
    else
        tell(t, KB_ENOMEM, "memory", "no memory for its answer");
}

static void tell_other(struct transfer *t, CURLcode code)
{
    long proxy = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    if (proxy / 100 > 2)
        tell(t, KB_EHTTP, "proxy", "the proxy that HTTPS_PROXY or ALL_PROXY "
             "names refuses to connect to it (status %ld)", proxy);
    else if (code == CURLE_GOT_NOTHING)
        tell(t, KB_EHTTP, "reset", "closed the connection without an answer; "
             "try again");
    else
        tell(t, KB_EHTTP, "reset", "the connection broke after %zu bytes of "
             "the answer (%s); try again", t->seen_bytes,
             t->curl->easy_strerror(code));
}

void kb_http_explain(struct transfer *t, CURLcode code)
{
    if (code == CURLE_OUT_OF_MEMORY && !t->stop)
        t->stop = t->bodied ? STOP_MEMORY : STOP_HEAD;  /* or a long line */
    if (t->stop) {
        tell_stop(t);
        return;
    }
    switch (code) {
    case CURLE_OK:
        t->answer.result = KB_OK;
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        tell(t, KB_EHTTP, "resolve", "no address is known for this name; check "
             "its spelling and the network");
        break;
    case CURLE_COULDNT_RESOLVE_PROXY:
        tell(t, KB_EHTTP, "proxy", "no address is known for the proxy that "
             "http_proxy, HTTPS_PROXY or ALL_PROXY names");
        break;
    case CURLE_COULDNT_CONNECT:
        tell(t, KB_EHTTP, "connect", "cannot be connected to (%s); is the "
             "server running, and is a proxy needed?", system_words(t));
        break;
    case CURLE_OPERATION_TIMEDOUT:
        kb_http_late(t, kb_clock_now_ns() >= t->begun_ns + t->r.total_ns
                        ? "total" : "connect");
        break;
    case CURLE_UNSUPPORTED_PROTOCOL: case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        tell(t, KB_EHTTP, "protocol", "what it answers is not HTTP as the "
             "standards have it; is this the address of an API?");
        break;
    case CURLE_SSL_CACERT_BADFILE:
        tell(t, KB_EHTTP, "tls", "the file of trusted certificates %s cannot "
             "be read; %s names it", t->ca ? t->ca : "(built in)",
             t->ca_from ? t->ca_from : "libcurl");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        tell(t, KB_EHTTP, "tls", "its certificate is not accepted (%s); for "
             "a certificate authority of your own let CURL_CA_BUNDLE or "
             "SSL_CERT_FILE name its file", detail(t));
        break;
    case CURLE_SSL_CONNECT_ERROR: case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM: case CURLE_SSL_ISSUER_ERROR:
        tell(t, KB_EHTTP, "tls", "TLS could not be agreed on (%s); is this "
             "an https address?", detail(t));
        break;
    default:
        tell_other(t, code);
    }
}

void kb_http_late(struct transfer *t, const char *reason)
{
    if (strcmp(reason, "connect") == 0)
        tell(t, KB_ETIME, reason, "no connection within %.1f s; is the "
             "address right, and is a proxy needed?",
             (double)t->r.connect_ns / 1e9);
    else if (strcmp(reason, "idle") == 0)
        tell(t, KB_ETIME, reason, "silent for %.1f s after %zu bytes of its "
             "answer, and given up", (double)t->r.idle_ns / 1e9,
             t->seen_bytes);
    else
        tell(t, KB_ETIME, reason, "not done within %.1f s, after %zu bytes "
             "of its answer, and given up", (double)t->r.total_ns / 1e9,
             t->seen_bytes);
}

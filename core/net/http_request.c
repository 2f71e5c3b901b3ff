/* One transfer: what it asks, what it keeps of the answer, why it failed. */
#include "http_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "clock.h"

/* One header line into name '\0' value '\0'. A line that is none is skipped:
 * libcurl has refused what would make an answer ambiguous. */
static kb_status keep_header(struct transfer *t, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    if (!colon || colon == line)
        return KB_OK;
    for (const char *c = line; c < colon; c++)
        if (*c <= ' ' || *c == 127)
            return KB_OK;
    const char *value = colon + 1, *end = line + n;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && isspace((unsigned char)end[-1]))
        end--;
    if (kb_bytes_reserve(&t->answer.head, n + 2))
        return KB_ENOMEM;
    char *to = t->answer.head.at + t->answer.head.used;
    for (const char *c = line; c < colon; c++)
        *to++ = (char)tolower((unsigned char)*c);
    *to++ = '\0';
    for (const char *c = value; c < end; c++)
        *to++ = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
    *to++ = '\0';
    t->answer.head.used = (size_t)(to - t->answer.head.at);
    return KB_OK;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    (void)one;
    t->last_ns = kb_clock_now_ns();
    t->head_seen += n + 2;          /* two ends may take more than a colon */
    if (t->head_seen > KB_HTTP_HEAD_BYTES) {
        kb_http_fail(t, "head", KB_HTTP_HEAD_BYTES);
        return 0;
    }
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0 && !t->bodied)
        t->answer.head.used = 0;        /* of an interim answer, or a proxy's */
    else if (!t->bodied && keep_header(t, line, n))     /* none of a trailer */
        kb_http_fail(t, "memory", 0);
    return *t->answer.failure ? 0 : n;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    (void)one;
    t->last_ns = kb_clock_now_ns();
    if (!t->bodied) {
        t->told_ns = t->last_ns;
        t->answer.first_s = (double)(t->last_ns - t->begun_ns) / 1e9;
    }
    t->bodied = true;
    size_t fits = t->r.max_bytes - t->answer.seen_bytes;
    if (n > fits)
        kb_http_fail(t, "body", (int64_t)t->r.max_bytes);
    size_t keep = n > fits ? fits : n;
    if (kb_bytes_add(&t->answer.body, bytes, keep)) {
        kb_http_fail(t, "memory", 0);
        return 0;
    }
    t->answer.seen_bytes += keep;
    return *t->answer.failure ? 0 : n;
}

void kb_http_fail(struct transfer *t, const char *failure, int64_t bound)
{
    t->answer.failure = failure;
    t->answer.bound = bound;
}

static const char *failure_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:  return "name";
    case CURLE_COULDNT_RESOLVE_PROXY: return "proxy_name";
    case CURLE_COULDNT_CONNECT:       return "refused";
    case CURLE_UNSUPPORTED_PROTOCOL: case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:  return "protocol";
    case CURLE_SSL_CACERT_BADFILE:    return "ca_file";
    case CURLE_PEER_FAILED_VERIFICATION: return "certificate";
    case CURLE_SSL_CONNECT_ERROR: case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM: case CURLE_SSL_ISSUER_ERROR: return "tls";
    default: return NULL;
    }
}

bool kb_http_connected(const struct transfer *t)
{
    curl_off_t after_us = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &after_us);
    return after_us > 0;
}

void kb_http_explain(struct transfer *t, CURLcode code)
{
    const char *failure = failure_of(code);
    long error = 0, proxy = 0;
    if (!code || *t->answer.failure)
        return;
    t->curl->easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &error);
    t->curl->easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    if (code == CURLE_COULDNT_CONNECT)
        t->answer.detail = error ? strerror((int)error) : "no answer";
    if (failure) {
        kb_http_fail(t, failure, 0);
    } else if (code == CURLE_OUT_OF_MEMORY) {           /* or a long line */
        kb_http_fail(t, t->bodied ? "memory" : "head", KB_HTTP_HEAD_BYTES);
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        /* Not by the clock: libcurl may be a millisecond early. */
        bool late = kb_http_connected(t) || t->r.total_ns <= t->r.connect_ns;
        kb_http_fail(t, late ? "total" : "connect",
                     late ? t->r.total_ns : t->r.connect_ns);
    } else {
        t->answer.detail = t->curl->easy_strerror(code);
        kb_http_fail(t, proxy / 100 > 2 ? "proxy"
                     : code == CURLE_GOT_NOTHING ? "nothing" : "reset", proxy);
    }
}

/* host:port without user, path and query; whether the address can be asked. */
static bool read_address(struct transfer *t, const char *url)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    CURLU *u = t->curl->url();
    bool good = u && !t->curl->url_set(u, CURLUPART_URL, url, 0)
             && !t->curl->url_get(u, CURLUPART_SCHEME, &scheme, 0)
             && !t->curl->url_get(u, CURLUPART_HOST, &host, 0)
             && !t->curl->url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)
             && (!strcmp(scheme, "http") || !strcmp(scheme, "https"));
    if (good)
        snprintf(t->host, sizeof t->host, "%.200s:%s", host, port);
    t->curl->free(scheme);
    t->curl->free(host);
    t->curl->free(port);
    t->curl->url_cleanup(u);
    return good;
}

static bool append(struct transfer *t, const char *line)
{
    struct curl_slist *longer = t->curl->slist_append(t->send, line);
    if (longer)
        t->send = longer;
    return longer != NULL;
}

static kb_status add_header(struct transfer *t, const char *name,
                            const char *value, const char **why)
{
    if (!*name || name[strcspn(name, ":;\r\n\t ")])
        return kb_because(why, KB_EINVAL, "a header's name is empty or has a "
                          "space, colon or line break");
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        if ((*c < 32 && *c != '\t') || *c == 127)
            return kb_because(why, KB_EINVAL, "the value of a header has a "
                              "line break or another control character; does "
                              "the variable that holds it end in one?");
    char *line;
    if (asprintf(&line, *value ? "%s: %s" : "%s;", name, value) < 0)
        return KB_ENOMEM;
    bool added = append(t, line);
    explicit_bzero(line, strlen(line));
    free(line);
    return added ? KB_OK : KB_ENOMEM;
}

static kb_status set_headers(struct transfer *t,
                             const struct kb_http_request *r, const char **why)
{
    bool typed = false, named = false;
    for (size_t i = 0; i < r->header_count; i++) {
        const char *name = r->headers[2 * i];
        typed |= strcasecmp(name, "content-type") == 0;
        named |= strcasecmp(name, "user-agent") == 0;
        kb_status st = add_header(t, name, r->headers[2 * i + 1], why);
        if (st)
            return st;
    }
    bool good = append(t, "Expect:") && (typed || append(t, "Content-Type:"))
             && (named || append(t, "User-Agent: kernelband"));
    return good ? KB_OK : KB_ENOMEM;
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

static void find_ca(struct transfer *t, const char *given)
{
    const char *const named[][2] = {
        { "ca_file", given }, { "CURL_CA_BUNDLE", getenv("CURL_CA_BUNDLE") },
        { "SSL_CERT_FILE", getenv("SSL_CERT_FILE") },
    };
    for (size_t i = 0; i < sizeof named / sizeof *named && !t->answer.ca; i++)
        if (named[i][1] && *named[i][1]) {
            t->answer.ca_from = named[i][0];
            t->answer.ca = named[i][1];
        }
    if (!t->answer.ca && !getenv("SSL_CERT_DIR"))
        t->answer.ca = installed_ca(t);
}

#define SET(option, value)                                                  \
    bad |= t->curl->easy_setopt(t->easy, CURLOPT_##option, value) != CURLE_OK

/* libcurl keeps one parsed store for all transfers where certificates come from
 * a file alone: else each connection parses the whole bundle again, 20 ms. */
static bool set_trust(struct transfer *t, const struct kb_http_request *r)
{
    bool bad = false;
    const char *dir = getenv("SSL_CERT_DIR");
    find_ca(t, r->ca_file);
    if (t->answer.ca) {
        SET(CAINFO, t->answer.ca);
        SET(PROXY_CAINFO, t->answer.ca);
    }
    if (!dir || !*dir || (t->answer.ca_from
                          && strcmp(t->answer.ca_from, "SSL_CERT_FILE")))
        dir = NULL;
    if (dir || t->answer.ca) {
        SET(CAPATH, dir);
        SET(PROXY_CAPATH, dir);
    }
    if (t->answer.ca && t->answer.ca == r->ca_file)
        t->answer.ca = "given";     /* the caller's text may be gone later */
    return !bad;
}

static long milliseconds(int64_t ns)
{
    int64_t ms = (ns + 999999) / 1000000;
    return ms < 1 ? 1 : ms > 1000000000 ? 1000000000 : (long)ms;
}

static kb_status set_up(struct transfer *t, const struct kb_http_request *r)
{
    bool bad = !set_trust(t, r);
    SET(URL, r->url);
    SET(PRIVATE, t);
    SET(NOSIGNAL, 1L);
    SET(ERRORBUFFER, t->why);
    SET(PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    SET(FOLLOWLOCATION, 0L);
    SET(SSL_VERIFYPEER, 1L);
    SET(SSL_VERIFYHOST, 2L);
    SET(SUPPRESS_CONNECT_HEADERS, 1L);
    SET(TCP_KEEPALIVE, 1L);
    SET(CONNECTTIMEOUT_MS, milliseconds(r->connect_ns));
    SET(TIMEOUT_MS, milliseconds(r->total_ns));
    SET(HTTPHEADER, t->send);
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, t);
    SET(WRITEFUNCTION, on_body);
    SET(WRITEDATA, t);
    if (strcmp(r->method, "POST") == 0) {
        SET(POST, 1L);
        SET(POSTFIELDSIZE_LARGE, (curl_off_t)r->body_bytes);
        SET(COPYPOSTFIELDS, r->body_bytes ? r->body : "");
    }
    return bad ? KB_ENOMEM : KB_OK;
}

void kb_http_discard(struct transfer *t)
{
    if (!t)
        return;
    t->curl->easy_cleanup(t->easy);
    t->curl->slist_free_all(t->send);
    kb_bytes_free(&t->answer.head);
    kb_bytes_free(&t->answer.body);
    free(t);
}

kb_status kb_http_prepare(const struct kb_curl *curl,
                          const struct kb_http_request *r,
                          struct transfer **out, const char **why)
{
    *why = "";
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "POST") != 0)
        return kb_because(why, KB_EINVAL, "the method must be GET or POST");
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return KB_ENOMEM;
    t->curl = curl;
    t->r = *r;
    t->answer.failure = "";
    t->answer.host = t->host;
    t->answer.detail = t->why;
    t->answer.first_s = -1;
    t->easy = curl->easy_init();
    kb_status st = t->easy ? KB_OK : KB_ENOMEM;
    if (!st && !read_address(t, r->url))
        st = kb_because(why, KB_EINVAL,
                        "the address must be a whole http:// or https:// one");
    KB_THEN(st, set_headers(t, r, why));
    KB_THEN(st, set_up(t, r));
    return KB_HAND_OVER(st, t, kb_http_discard, out);
}

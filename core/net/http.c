#include "http_impl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "clock.h"
#include "system/toolkit.h"

/* What the process needs files for besides transfers. */
enum { SPARE_FILES = 64, EVENTS = 64 };

struct kb_http {
    struct kb_curl curl;
    CURLM *multi;
    int epoll;                      /* the descriptors of libcurl */
    int64_t timer_ns;               /* when libcurl wants a call */
    size_t limit, active, count, last_id;
    uint64_t turns;
    struct transfer *all;           /* in no order */
};

/* The one that has waited longest for a place or, with news, to be fetched. */
static struct transfer *first(const kb_http *h, bool news)
{
    struct transfer *best = NULL;
    uint64_t least = UINT64_MAX;
    for (struct transfer *t = h->all; t; t = t->next) {
        uint64_t turn = news ? t->news : t->waits;
        if (turn && turn < least) {
            least = turn;
            best = t;
        }
    }
    return best;
}

static struct transfer *find(const kb_http *h, size_t id)
{
    struct transfer *t = h->all;
    while (t && t->id != id)
        t = t->next;
    return t;
}

static void make_ready(kb_http *h, struct transfer *t)
{
    if (!t->news)
        t->news = ++h->turns;
}

/* What libcurl calls ------------------------------------------------------ */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                     void *unused)
{
    kb_http *h = arg;
    struct epoll_event e = { .data.fd = fd };
    (void)easy;
    (void)unused;
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, &e) && false;
    e.events = (what & CURL_POLL_IN ? EPOLLIN : 0)
             | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    return epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &e)
        && epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e) ? -1 : 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    kb_http *h = arg;
    (void)multi;
    h->timer_ns = timeout_ms < 0 ? INT64_MAX
                : kb_clock_now_ns() + (int64_t)timeout_ms * 1000000;
    return 0;
}

/* A transfer's life ------------------------------------------------------- */

static void leave(kb_http *h, struct transfer *t)
{
    if (t->active) {
        h->curl.multi_remove_handle(h->multi, t->easy);
        h->active--;
    }
    t->active = false;
    t->waits = 0;
}

static void ask_status(struct transfer *t)
{
    static const int named[] = { 0, 10, 11, 20 };       /* else as it is: 30 */
    long status = 0, version = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->curl->easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    t->answer.status = (int)status;
    t->answer.version = version < 4 ? named[version] : (int)version;
}

static void finish(kb_http *h, struct transfer *t)
{
    int64_t now = kb_clock_now_ns();
    ask_status(t);
    leave(h, t);
    t->answer.done = true;
    t->answer.total_s = (double)(now - t->begun_ns) / 1e9;
    make_ready(h, t);
}

static void admit(kb_http *h)
{
    struct transfer *t;
    while (h->active < h->limit && (t = first(h, false))) {
        t->begun_ns = t->last_ns = kb_clock_now_ns();
        t->waits = 0;
        t->active = true;
        h->active++;
        if (h->curl.multi_add_handle(h->multi, t->easy)) {
            kb_http_fail(t, "memory", 0);
            finish(h, t);
        }
    }
}

/* Silence counts from the moment of connection; bytes sent break it. */
static bool is_silent(struct transfer *t, int64_t now)
{
    curl_off_t sent = 0;
    if (now < t->last_ns + t->r.idle_ns)
        return false;
    t->curl->easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    bool moved = !kb_http_connected(t) || sent != t->sent;
    t->sent = sent;
    if (moved)
        t->last_ns = now;
    return !moved;
}

static void collect(kb_http *h)
{
    CURLMsg *m;
    for (int left; (m = h->curl.multi_info_read(h->multi, &left)); ) {
        struct transfer *t = NULL;
        CURLcode code = m->data.result;
        h->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        ask_status(t);
        if (!code && (t->answer.status < 200 || t->answer.status > 999))
            code = CURLE_WEIRD_SERVER_REPLY;
        kb_http_explain(t, code);
        finish(h, t);
    }
}

/* When what has come of a stream is told; INT64_MAX: nothing has. */
static int64_t tell_by(const struct transfer *t)
{
    if (!t->r.stream || !t->answer.body.used)
        return INT64_MAX;
    return t->answer.body.used >= KB_HTTP_PIECE_BYTES ? 0
         : t->told_ns + t->r.gather_ns;
}

static size_t watch(void *object, struct pollfd p[KB_SOURCE_FDS],
                    int64_t *by_ns)
{
    kb_http *h = object;
    p[0] = (struct pollfd){ h->epoll, POLLIN, 0 };
    *by_ns = h->timer_ns;
    for (struct transfer *t = h->all; t; t = t->next) {
        if (t->news)
            *by_ns = INT64_MIN;
        if (!t->active)
            continue;
        int64_t silent = t->last_ns + t->r.idle_ns, tell = tell_by(t);
        int64_t next = silent < tell ? silent : tell;
        *by_ns = next < *by_ns ? next : *by_ns;
    }
    return 1;
}

static void read_all(kb_http *h)
{
    struct epoll_event e[EVENTS];
    int running, n = epoll_wait(h->epoll, e, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        int what = (e[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
                 | (e[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                 | (e[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        h->curl.multi_socket_action(h->multi, e[i].data.fd, what, &running);
    }
    if (kb_clock_now_ns() >= h->timer_ns) {
        h->timer_ns = INT64_MAX;
        h->curl.multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

static bool work(void *object)
{
    kb_http *h = object;
    read_all(h);
    collect(h);
    int64_t now = kb_clock_now_ns();
    for (struct transfer *t = h->all; t; t = t->next) {
        if (t->active && is_silent(t, now)) {
            kb_http_fail(t, "idle", t->r.idle_ns);
            finish(h, t);
        } else if (tell_by(t) <= now) {
            make_ready(h, t);
        }
    }
    admit(h);
    return first(h, true) != NULL;
}

const struct kb_source_kind kb_http_source = { watch, work };

/* Starting ---------------------------------------------------------------- */

kb_status kb_http_start(kb_http *h, const struct kb_http_request *r, size_t *id,
                        const char **why)
{
    struct transfer *t;
    kb_status st = kb_http_prepare(&h->curl, r, &t, why);
    if (st)
        return st;
    t->next = h->all;
    h->all = t;
    h->count++;
    t->id = ++h->last_id;
    t->waits = ++h->turns;
    admit(h);
    *id = t->id;
    return KB_OK;
}

/* Fetching ---------------------------------------------------------------- */

size_t kb_http_next(kb_http *h)
{
    struct transfer *t = first(h, true);
    if (!t)
        return 0;
    t->news = 0;
    return t->id;
}

const struct kb_http_answer *kb_http_look(kb_http *h, size_t id)
{
    struct transfer *t = find(h, id);
    if (!t)
        return NULL;
    if (!t->answer.done)
        ask_status(t);
    return &t->answer;
}

void kb_http_taken(kb_http *h, size_t id)
{
    struct transfer *t = find(h, id);
    t->answer.body.used = 0;
    t->told_ns = kb_clock_now_ns();
}

void kb_http_end(kb_http *h, size_t id)
{
    struct transfer *t = find(h, id), **at = &h->all;
    leave(h, t);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    h->count--;
    kb_http_discard(t);
    admit(h);
}

size_t kb_http_count(const kb_http *h)
{
    return h->count;
}

/* libcurl ----------------------------------------------------------------- */

#define NAME(name) "curl_" #name,
static const char *const functions[] = { KB_CURL_MAP(NAME) NULL };

static const struct kb_library libcurl = {
    { "libcurl.so.4", "libcurl-gnutls.so.4" },
    "there is no libcurl.so.4 here: install libcurl (on Debian and Ubuntu the "
    "package libcurl4)",
    "the libcurl.so.4 here is too old: 7.62 or later is needed",
    functions
};

static kb_status open_curl(struct kb_curl *curl, const char **why)
{
    kb_status st = kb_library_open(&libcurl, &curl->global_init,
                                   &curl->library, why);
    if (!st && curl->global_init(CURL_GLOBAL_DEFAULT)) {
        dlclose(curl->library);
        curl->library = NULL;
        st = KB_ENOMEM;
    }
    return st;
}

/* The whole --------------------------------------------------------------- */

kb_status kb_http_new(size_t limit, kb_http **out, const char **why)
{
    struct rlimit files;
    *why = "";
    if (limit < 1 || limit > KB_HTTP_LIMIT)
        return KB_EINVAL;
    kb_http *h = calloc(1, sizeof *h);
    if (!h)
        return KB_ENOMEM;
    h->timer_ns = INT64_MAX;
    h->limit = limit;
    if (!getrlimit(RLIMIT_NOFILE, &files)
        && files.rlim_cur < limit + SPARE_FILES)
        h->limit = files.rlim_cur > 2 * SPARE_FILES
                 ? (size_t)files.rlim_cur - SPARE_FILES : SPARE_FILES;
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    kb_status st = h->epoll < 0 ? KB_ESYS : open_curl(&h->curl, why);
    if (!st && !(h->multi = h->curl.multi_init()))
        st = KB_ENOMEM;
    if (!st) {
        h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
        h->curl.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        h->curl.multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
        h->curl.multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)h->limit);
    }
    return KB_HAND_OVER(st, h, kb_http_free, out);
}

void kb_http_free(kb_http *h)
{
    if (!h)
        return;
    h->limit = 0;                       /* nothing new begins */
    while (h->all)
        kb_http_end(h, h->all->id);
    if (h->multi)
        h->curl.multi_cleanup(h->multi);
    if (h->curl.library) {
        h->curl.global_cleanup();
        dlclose(h->curl.library);
    }
    kb_io_close(&h->epoll);
    free(h);
}

#include "http_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"

/* What the process needs files for besides transfers. */
enum { SPARE_FILES = 64, EVENTS = 64, ROUNDS = 16 };

struct list {
    struct transfer *first, **end;
};

struct kb_http {
    struct kb_curl curl;
    CURLM *multi;
    struct kb_lines lines;
    int64_t timer_ns;               /* when libcurl wants a call */
    size_t limit, active, count, cap;
    struct transfer **slot;         /* slot[id - 1]; NULL is free */
    struct list ready, waiting;
    struct round round;
};

static void push(struct list *l, struct transfer *t)
{
    t->next = NULL;
    *l->end = t;
    l->end = &t->next;
}

static void unlink_from(struct list *l, struct transfer *t)
{
    struct transfer **at = &l->first;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = t->next;
    if (!*at)
        l->end = at;
}

static void make_ready(kb_http *h, struct transfer *t)
{
    if (!t->ready)
        push(&h->ready, t);
    t->ready = true;
}

/* What libcurl calls ---------------------------------------------------------- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                     void *unused)
{
    kb_http *h = arg;
    uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0)
                    | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    (void)easy;
    (void)unused;
    if (what != CURL_POLL_REMOVE)
        return kb_lines_watch(&h->lines, fd, events) ? 0 : -1;
    kb_lines_forget(&h->lines, fd);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    kb_http *h = arg;
    (void)multi;
    h->timer_ns = timeout_ms < 0 ? INT64_MAX
                : kb_clock_now_ns() + (int64_t)timeout_ms * 1000000;
    return 0;
}

/* A transfer's life -------------------------------------------------------------- */

static void leave(kb_http *h, struct transfer *t)
{
    if (t->active) {
        h->curl.multi_remove_handle(h->multi, t->easy);
        h->active--;
    } else
        unlink_from(&h->waiting, t);
    t->active = false;
}

static void ask_status(struct transfer *t)
{
    long version = 0;
    t->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->answer.status);
    t->curl->easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    t->answer.version = version == CURL_HTTP_VERSION_1_0 ? 10
                      : version == CURL_HTTP_VERSION_1_1 ? 11
                      : version == CURL_HTTP_VERSION_2_0 ? 20
                      : version == CURL_HTTP_VERSION_3 ? 30 : 0;
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
    while (h->waiting.first && h->active < h->limit) {
        struct transfer *t = h->waiting.first;
        unlink_from(&h->waiting, t);
        t->begun_ns = t->last_ns = kb_clock_now_ns();
        t->active = true;
        h->active++;
        if (h->curl.multi_add_handle(h->multi, t->easy)) {
            t->stop = STOP_MEMORY;
            kb_http_explain(t, CURLE_OUT_OF_MEMORY);
            finish(h, t);
        }
    }
}

/* Silence counts from the moment of connection; bytes sent break it. */
static int64_t idle_by(struct transfer *t)
{
    return t->last_ns + t->idle_ns;
}

static int64_t late_by(struct transfer *t)
{
    int64_t total_by = t->begun_ns + t->total_ns, idle = idle_by(t);
    return total_by < idle ? total_by : idle;
}

static bool is_silent(struct transfer *t, int64_t now)
{
    curl_off_t connected = 0, sent = 0;
    if (now < idle_by(t))
        return false;
    t->curl->easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    t->curl->easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    bool moved = connected == 0 || sent != t->sent;
    t->sent = sent;
    if (moved)
        t->last_ns = now;
    return !moved;
}

static void end_late_ones(kb_http *h)
{
    int64_t now = kb_clock_now_ns();
    for (size_t i = 0; i < h->cap; i++) {
        struct transfer *t = h->slot[i];
        if (!t || !t->active)
            continue;
        bool total = now >= t->begun_ns + t->total_ns;
        if (total || is_silent(t, now)) {
            kb_http_late(t, total ? "total" : "idle");
            finish(h, t);
        }
    }
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
    if (!t->stream || !t->body_used)
        return INT64_MAX;
    if (t->body_used >= KB_HTTP_PIECE_BYTES || t->gather_ns == 0)
        return 0;
    return kb_lines_tick(t->told_ns + t->gather_ns);
}

static void tell(kb_http *h)
{
    int64_t now = kb_clock_now_ns();
    for (size_t i = 0; i < h->cap; i++)
        if (h->slot[i] && tell_by(h->slot[i]) <= now)
            make_ready(h, h->slot[i]);
}

static void lower(int64_t *by_ns, int64_t ns)
{
    if (ns < *by_ns)
        *by_ns = ns;
}

static size_t watch(void *object, struct pollfd p[KB_SOURCE_FDS], int64_t *by_ns)
{
    kb_http *h = object;
    bool ticks = kb_clock_now_ns() >= h->lines.tick_ns;
    p[0] = (struct pollfd){ h->lines.epoll, POLLIN, 0 };
    p[1] = (struct pollfd){ ticks ? h->lines.slow : -1, POLLIN, 0 };
    *by_ns = h->ready.first ? INT64_MIN : h->timer_ns;
    lower(by_ns, ticks ? kb_lines_wake(&h->lines) : h->lines.tick_ns);
    for (size_t i = 0; i < h->cap; i++) {
        struct transfer *t = h->slot[i];
        if (!t || !t->active)
            continue;
        lower(by_ns, late_by(t));
        lower(by_ns, tell_by(t));
    }
    return 2;
}

static void read_some(kb_http *h, int epoll)
{
    struct epoll_event e[EVENTS];
    int running, n = EVENTS;
    for (int round = 0; n == EVENTS && round < ROUNDS; round++) {
        n = epoll_wait(epoll, e, EVENTS, 0);
        for (int i = 0; i < n; i++) {
            int what = (e[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
                     | (e[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                     | (e[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            h->round = (struct round){ .rest_ns = INT64_MAX };
            h->curl.multi_socket_action(h->multi, e[i].data.fd, what, &running);
            kb_lines_rest(&h->lines, e[i].data.fd, &h->round);
        }
    }
}

/* What the descriptors have. A clock that has run out ends all rests first: there
 * may be bytes. */
static void read_all(kb_http *h)
{
    int64_t now = kb_clock_now_ns(), until = now;
    for (size_t i = 0; i < h->cap; i++)
        if (h->slot[i] && h->slot[i]->active && now >= late_by(h->slot[i]))
            until = INT64_MAX;
    read_some(h, h->lines.epoll);
    if (until >= h->lines.tick_ns) {
        kb_lines_end_rests(&h->lines, until);
        read_some(h, h->lines.slow);
    }
}

static bool work(void *object)
{
    kb_http *h = object;
    int running;
    read_all(h);
    if (kb_clock_now_ns() >= h->timer_ns) {
        h->timer_ns = INT64_MAX;
        h->curl.multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    collect(h);
    end_late_ones(h);
    tell(h);
    admit(h);
    return h->ready.first != NULL;
}

const struct kb_source_kind kb_http_source = { watch, work };

/* Starting ------------------------------------------------------------------------ */

/* A free place for t; grows by doubling. */
static kb_status place(kb_http *h, struct transfer *t)
{
    size_t i = 0;
    while (i < h->cap && h->slot[i])
        i++;
    if (i == h->cap) {
        size_t cap = h->cap ? 2 * h->cap : 16;
        struct transfer **grown = realloc(h->slot, cap * sizeof *grown);
        if (!grown)
            return KB_ENOMEM;
        memset(grown + h->cap, 0, (cap - h->cap) * sizeof *grown);
        h->slot = grown;
        h->cap = cap;
    }
    h->slot[i] = t;
    t->id = i + 1;
    h->count++;
    return KB_OK;
}

kb_status kb_http_start(kb_http *h, const struct kb_http_request *r, size_t *id,
                        const char **why)
{
    struct transfer *t;
    kb_status st = kb_http_prepare(&h->curl, r, &t, why);
    if (st)
        return st;
    st = place(h, t);
    if (st) {
        kb_http_discard(t);
        return st;
    }
    t->round = &h->round;
    push(&h->waiting, t);
    admit(h);
    *id = t->id;
    return KB_OK;
}

/* Fetching ------------------------------------------------------------------------ */

size_t kb_http_next(kb_http *h)
{
    struct transfer *t = h->ready.first;
    if (!t)
        return 0;
    unlink_from(&h->ready, t);
    t->ready = false;
    return t->id;
}

const struct kb_http_answer *kb_http_look(kb_http *h, size_t id)
{
    struct transfer *t = h->slot[id - 1];
    t->answer.head = t->head;
    t->answer.head_bytes = t->head_used;
    t->answer.body = t->body;
    t->answer.body_bytes = t->body_used;
    t->answer.first_s = t->bodied ? (double)(t->first_ns - t->begun_ns) / 1e9 : -1;
    if (!t->answer.done)
        ask_status(t);
    return &t->answer;
}

void kb_http_taken(kb_http *h, size_t id)
{
    h->slot[id - 1]->body_used = 0;
    h->slot[id - 1]->told_ns = kb_clock_now_ns();
}

void kb_http_end(kb_http *h, size_t id)
{
    struct transfer *t = h->slot[id - 1];
    leave(h, t);
    unlink_from(&h->ready, t);
    h->slot[id - 1] = NULL;
    h->count--;
    kb_http_discard(t);
    admit(h);
}

size_t kb_http_count(const kb_http *h)
{
    return h->count;
}

bool kb_http_has(const kb_http *h, size_t id)
{
    return id >= 1 && id <= h->cap && h->slot[id - 1];
}

/* The whole ------------------------------------------------------------------------- */

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
    h->ready.end = &h->ready.first;
    h->waiting.end = &h->waiting.first;
    h->limit = limit;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < limit + SPARE_FILES)
        h->limit = files.rlim_cur > 2 * SPARE_FILES
                 ? (size_t)files.rlim_cur - SPARE_FILES : SPARE_FILES;
    kb_status st = kb_lines_open(&h->lines);
    if (!st)
        st = kb_curl_open(&h->curl, why);
    if (!st && !(h->multi = h->curl.multi_init()))
        st = KB_ENOMEM;
    if (st) {
        kb_http_free(h);
        return st;
    }
    h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    h->curl.multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    h->curl.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    h->curl.multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    h->curl.multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)h->limit);
    *out = h;
    return KB_OK;
}

void kb_http_free(kb_http *h)
{
    if (!h)
        return;
    h->limit = 0;                       /* nothing new begins */
    for (size_t i = 0; i < h->cap; i++)
        if (h->slot[i])
            kb_http_end(h, i + 1);
    free(h->slot);
    if (h->multi)
        h->curl.multi_cleanup(h->multi);
    kb_curl_close(&h->curl);
    kb_lines_close(&h->lines);
    free(h);
}

/* This file tests core/net/http.c, the HTTP client, with the local server of
 * tests/lib/server. It checks requests, responses, streams, limits and errors.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "net/http.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

static const char scenario[] =
    "on GET /plain\n head 201\n header X-A:  1 \n header X-A: 2\n body \"four\"\n"
    "on POST /echo\n head 200\n header X-B: b\n body \"\"\n"
    "on GET /slow\n wait 50ms\n head 200\n body \"slow\"\n"
    "on GET /parts\n head 200\n chunked\n chunk \"one\"\n wait 30ms\n chunk \"two\"\n last\n"
    "on GET /stall\n head 200\n chunked\n chunk \"one\"\n stall\n";

static FILE *server;
static int port, server_pid;
static kb_http *http;
static const char *why;
static char file[] = "/tmp/kernelband-check-http-XXXXXX";

static void start_server(void)
{
    char own[PATH_MAX], command[PATH_MAX + 128];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(n, 0);
    own[n] = '\0';
    int fd = mkstemp(file);
    ck_assert_int_eq(write(fd, scenario, sizeof scenario - 1), sizeof scenario - 1);
    close(fd);
    snprintf(command, sizeof command, "exec %s/lib/server/server %s", dirname(own), file);
    server = popen(command, "r");
    ck_assert_int_eq(fscanf(server, "port %d pid %d", &port, &server_pid), 2);
}

static void stop_server(void)
{
    kill(server_pid, SIGKILL);
    pclose(server);
    unlink(file);
}

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    http = NULL;
    ck_assert_int_eq(kb_http_new(8, &http, &why), KB_OK);
}

static void end(void)
{
    kb_http_free(http);
}

static struct kb_http_request get(const char *path)
{
    static char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    return (struct kb_http_request){
        .url = url, .method = "GET", .max_bytes = 1000000, .connect_ns = second,
        .idle_ns = 5 * second, .total_ns = 5 * second };
}

static size_t start(const char *path, bool stream)
{
    size_t id = 0;
    struct kb_http_request r = get(path);
    r.stream = stream;
    ck_assert_int_eq(kb_http_start(http, &r, &id, &why), KB_OK);
    ck_assert_uint_ge(id, 1);
    return id;
}

/* Waits for the next transfer with something to fetch. */
static size_t next(int64_t timeout_ns)
{
    struct kb_source s = { .kind = &kb_http_source, .object = http };
    struct pollfd scratch[KB_SOURCE_FDS];
    kb_status st = kb_wait(&s, 1, scratch, kb_clock_now_ns() + timeout_ns);
    return st ? 0 : kb_http_next(http);
}

START_TEST(a_bad_limit_is_einval)
{
    kb_http *h = NULL;
    ck_assert_int_eq(kb_http_new(0, &h, &why), KB_EINVAL);
    ck_assert_int_eq(kb_http_new(KB_HTTP_LIMIT + 1, &h, &why), KB_EINVAL);
    ck_assert_ptr_null(h);
    kb_http_free(NULL);
}
END_TEST

START_TEST(a_bad_request_is_einval_and_begins_nothing)
{
    static const char *const broken[] = { "Authorization", "sk-secret\r\nX: y" },
                      *const spaced[] = { "Authori zation", "a" },
                      *const unnamed[] = { "", "a" };
    struct kb_http_request r[] = { get("/"), get("/"), get("/"), get("/"), get("/") };
    r[0].url = "gopher://host/";
    r[1].method = "PUT";
    r[2].headers = broken;
    r[3].headers = spaced;
    r[4].headers = unnamed;
    r[2].header_count = r[3].header_count = r[4].header_count = 1;
    for (size_t i = 0; i < sizeof r / sizeof *r; i++) {
        size_t id = 99;
        ck_assert_int_eq(kb_http_start(http, &r[i], &id, &why), KB_EINVAL);
        ck_assert_uint_eq(id, 99);
        ck_assert_uint_gt(strlen(why), 10);
        ck_assert_ptr_null(strstr(why, "secret"));
    }
    ck_assert_uint_eq(kb_http_count(http), 0);
}
END_TEST

START_TEST(an_answer_has_status_headers_and_body)
{
    static const char head[] = "x-a\0" "1\0x-a\0" "2\0content-length\0" "4";
    size_t id = start("/plain", false);
    ck_assert_uint_eq(next(5 * second), id);
    const struct kb_http_answer *a = kb_http_look(http, id);
    ck_assert(a->done);
    ck_assert_str_eq(a->failure, "");
    ck_assert_int_eq(a->status, 201);
    ck_assert_uint_eq(a->body.used, 4);
    ck_assert_int_eq(memcmp(a->body.at, "four", 4), 0);
    ck_assert_uint_eq(a->head.used, sizeof head);
    ck_assert_int_eq(memcmp(a->head.at, head, sizeof head), 0);
    ck_assert(a->first_s >= 0 && a->total_s >= a->first_s);
    kb_http_end(http, id);
    ck_assert_uint_eq(kb_http_count(http), 0);
    ck_assert_uint_eq(kb_http_next(http), 0);
}
END_TEST

START_TEST(a_body_of_nothing_can_be_posted)
{
    size_t id = 0;
    struct kb_http_request r = get("/echo");
    r.method = "POST";
    ck_assert_int_eq(kb_http_start(http, &r, &id, &why), KB_OK);
    ck_assert_uint_eq(next(5 * second), id);
    const struct kb_http_answer *a = kb_http_look(http, id);
    ck_assert_int_eq(a->status, 200);
    ck_assert_uint_eq(a->body.used, 0);
    ck_assert(a->first_s < 0);
}
END_TEST

START_TEST(a_stream_is_fetched_piece_by_piece)
{
    size_t id = start("/parts", true);
    ck_assert_uint_eq(next(5 * second), id);
    const struct kb_http_answer *a = kb_http_look(http, id);
    ck_assert(!a->done);
    ck_assert_int_eq(a->status, 200);
    ck_assert_int_eq(memcmp(a->body.at, "one", a->body.used), 0);
    kb_http_taken(http, id);
    ck_assert_uint_eq(kb_http_look(http, id)->body.used, 0);
    do
        ck_assert_uint_eq(next(5 * second), id);
    while (!kb_http_look(http, id)->done);
    a = kb_http_look(http, id);
    ck_assert_uint_eq(a->body.used, 3);
    ck_assert_int_eq(memcmp(a->body.at, "two", 3), 0);
}
END_TEST

START_TEST(a_refused_connection_is_told_with_its_host)
{
    size_t id = 0;
    struct kb_http_request r = get("/");
    r.url = "http://user:secret@127.0.0.1:1/secret?secret";
    ck_assert_int_eq(kb_http_start(http, &r, &id, &why), KB_OK);
    ck_assert_uint_eq(next(5 * second), id);
    const struct kb_http_answer *a = kb_http_look(http, id);
    ck_assert_str_eq(a->failure, "refused");
    ck_assert_str_eq(a->host, "127.0.0.1:1");
    ck_assert_str_eq(a->detail, strerror(ECONNREFUSED));
}
END_TEST

START_TEST(identifiers_are_not_used_again)
{
    size_t a = start("/slow", false), b = start("/slow", false);
    ck_assert_uint_ne(a, b);
    kb_http_end(http, a);
    ck_assert(!kb_http_look(http, a) && kb_http_look(http, b));
    ck_assert(!kb_http_look(http, 0) && !kb_http_look(http, 1000));
    size_t c = start("/plain", false);
    ck_assert(c != a && c != b);
    ck_assert_uint_eq(next(5 * second), c);
    ck_assert_uint_eq(next(5 * second), b);
    for (size_t i = 0; i < 100; i++)
        start("/stall", false);
    ck_assert_uint_eq(kb_http_count(http), 102);
}
END_TEST

START_TEST(beyond_the_limit_transfers_wait_and_may_be_ended_waiting)
{
    kb_http_free(http);
    ck_assert_int_eq(kb_http_new(1, &http, &why), KB_OK);
    size_t a = start("/slow", false), b = start("/slow", false), c = start("/slow", false);
    kb_http_end(http, b);
    int64_t begun = kb_clock_now_ns();
    ck_assert_uint_eq(next(5 * second), a);
    ck_assert_uint_eq(next(5 * second), c);
    ck_assert_int_ge(kb_clock_now_ns() - begun, 95 * ms);
    ck_assert(kb_http_look(http, c)->total_s < 5);
}
END_TEST

START_TEST(silence_and_length_are_told_with_their_bound)
{
    struct kb_http_request r = get("/stall");
    size_t idle = 0, total = 0;
    r.idle_ns = 40 * ms;
    ck_assert_int_eq(kb_http_start(http, &r, &idle, &why), KB_OK);
    ck_assert_uint_eq(next(5 * second), idle);
    ck_assert_int_eq(kb_http_look(http, idle)->bound, 40 * ms);
    ck_assert_str_eq(kb_http_look(http, idle)->failure, "idle");
    r.idle_ns = 5 * second;
    r.total_ns = 40 * ms;
    ck_assert_int_eq(kb_http_start(http, &r, &total, &why), KB_OK);
    ck_assert_uint_eq(next(5 * second), total);
    ck_assert_int_eq(kb_http_look(http, total)->bound, 40 * ms);
    ck_assert_str_eq(kb_http_look(http, total)->failure, "total");
    ck_assert_uint_eq(kb_http_look(http, total)->body.used, 3);
}
END_TEST

START_TEST(what_is_in_flight_can_be_freed)
{
    start("/stall", true);
    start("/slow", false);
    start("/plain", false);
    ck_assert_uint_ne(next(5 * second), 0);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("http");
    TCase *t = tcase_create("http");
    tcase_add_unchecked_fixture(t, start_server, stop_server);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, a_bad_limit_is_einval);
    tcase_add_test(t, a_bad_request_is_einval_and_begins_nothing);
    tcase_add_test(t, an_answer_has_status_headers_and_body);
    tcase_add_test(t, a_body_of_nothing_can_be_posted);
    tcase_add_test(t, a_stream_is_fetched_piece_by_piece);
    tcase_add_test(t, a_refused_connection_is_told_with_its_host);
    tcase_add_test(t, identifiers_are_not_used_again);
    tcase_add_test(t, beyond_the_limit_transfers_wait_and_may_be_ended_waiting);
    tcase_add_test(t, silence_and_length_are_told_with_their_bound);
    tcase_add_test(t, what_is_in_flight_can_be_freed);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)

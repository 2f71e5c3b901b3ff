/* The page server from outside: raw sockets, one process, no thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "net/serve.h"
#include "../lib/check_main.h"

static const char TOKEN[] = "0123456789abcdef0123456789abcdef";
static const int64_t turn_ns = 20 * 1000000;

static kb_serve *serve;
static const char *why;

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    serve = NULL;
    ck_assert_int_eq(kb_serve_open(0, TOKEN, &serve, &why), KB_OK);
    ck_assert_int_eq(kb_serve_publish(serve, "", "text/html", NULL, "page", 4),
                     KB_OK);
    ck_assert_int_eq(kb_serve_publish(serve, "state", "application/json", NULL,
                                      "{}", 2), KB_OK);
}

static void teardown(void)
{
    kb_serve_close(serve);
}

static int dial(void)
{
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons(kb_serve_port(serve));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* What the server says to these bytes, until it closes or falls silent. */
static void ask(const char *bytes, size_t n, char *out, size_t size)
{
    size_t got = 0;
    int fd = dial();
    ck_assert_int_eq(kb_serve_turn(serve, turn_ns), KB_OK);
    ssize_t sent = write(fd, bytes, n);
    ck_assert(sent == (ssize_t)n || errno == EPIPE || errno == ECONNRESET);
    for (int i = 0; i < 3 && got < size - 1; i++) {
        ck_assert_int_eq(kb_serve_turn(serve, turn_ns), KB_OK);
        ssize_t r = recv(fd, out + got, size - 1 - got, MSG_DONTWAIT);
        if (r == 0)
            break;
        if (r > 0)
            got += (size_t)r;
    }
    out[got] = '\0';
    close(fd);
}

/* The status of one request line with the right Host. */
static int status_of(const char *method, const char *path)
{
    char request[512], reply[4096];
    int n = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\n"
                     "Host: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", method,
                     path, (unsigned)kb_serve_port(serve));
    ask(request, (size_t)n, reply, sizeof reply);
    return (int)strtol(reply + strcspn(reply, " "), NULL, 10);
}

START_TEST(what_is_published_is_served)
{
    char path[128], request[256], reply[4096];
    snprintf(path, sizeof path, "/%s/", TOKEN);
    ck_assert_int_eq(status_of("GET", path), 200);
    ck_assert_int_eq(status_of("HEAD", path), 200);
    snprintf(path, sizeof path, "/%s/state", TOKEN);
    ck_assert_int_eq(status_of("GET", path), 200);
    int n = snprintf(request, sizeof request, "GET /%s/ HTTP/1.0\r\n"
                     "Host: LOCALHOST:%u\r\n\r\n", TOKEN,
                     (unsigned)kb_serve_port(serve));
    ask(request, (size_t)n, reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "\r\n\r\npage"));
    ck_assert_ptr_nonnull(strstr(reply, "Content-Security-Policy: default-src"));
    ck_assert_ptr_nonnull(strstr(reply, "Cache-Control: no-store"));
    ck_assert_ptr_nonnull(strstr(reply, "X-Content-Type-Options: nosniff"));
}
END_TEST

START_TEST(nothing_is_told_without_the_token)
{
    static const char *const paths[] = {
        "/", "/state", "/favicon.ico", "/0123456789abcdef0123456789abcdef",
        "/0123456789abcdef0123456789abcdeF/", "/0123456789abcdef/",
        "//0123456789abcdef0123456789abcdef/",
        "/0123456789abcdef0123456789abcdef0/state", "/%30/", "*",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ck_assert_int_eq(status_of("GET", paths[i]), 403);
    ck_assert_int_eq(status_of("POST", "/"), 403);
}
END_TEST

START_TEST(nothing_else_is_there)
{
    char path[128];
    static const char *const below[] = {
        "nothing", "../etc/passwd", "%2e%2e/", "state/", "state%00x",
    };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "/%s/%s", TOKEN, below[i]);
        int status = status_of("GET", path);
        ck_assert_msg(status == 404 || (i == 4 && status != 403), "%s: %d",
                      path, status);
    }
}
END_TEST

START_TEST(it_can_only_be_read)
{
    char path[128];
    snprintf(path, sizeof path, "/%s/", TOKEN);
    ck_assert_int_eq(status_of("POST", path), 405);
    ck_assert_int_eq(status_of("PUT", path), 405);
    ck_assert_int_eq(status_of("DELETE", path), 405);
    ck_assert_int_eq(status_of("OPTIONS", path), 405);
}
END_TEST

START_TEST(a_foreign_host_gets_nothing)
{
    static const char *const hosts[] = {
        "Host: evil.example\r\n", "Host: 127.0.0.1\r\n", "Host: 127.0.0.1:1\r\n",
        "Host: \r\n", "", "Host: localhost.evil.example:80\r\n",
    };
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char request[256], reply[4096];
        int n = snprintf(request, sizeof request, "GET /%s/ HTTP/1.%d\r\n%s\r\n",
                         TOKEN, i == 4 ? 0 : 1, hosts[i]);
        ask(request, (size_t)n, reply, sizeof reply);
        ck_assert_msg(strstr(reply, " 403 ") || strstr(reply, " 400 "),
                      "%s: %s", hosts[i], reply);
        ck_assert_ptr_null(strstr(reply, "page"));
    }
}
END_TEST

START_TEST(nonsense_is_survived)
{
    char big[40000], reply[4096], path[128];
    memset(big, 'a', sizeof big);
    ask(big, sizeof big, reply, sizeof reply);
    memcpy(big, "GET /", 5);
    ask(big, sizeof big, reply, sizeof reply);
    ask("\0\0\0\r\n\r\n", 7, reply, sizeof reply);
    ask("GET / HTTP/1.1\r\nHost", 20, reply, sizeof reply);
    snprintf(path, sizeof path, "/%s/", TOKEN);
    ck_assert_int_eq(status_of("GET", path), 200);
}
END_TEST

START_TEST(silent_connections_do_not_keep_others_out)
{
    int fds[40];
    char path[128];
    for (size_t i = 0; i < 20; i++)
        fds[i] = dial();
    ck_assert_int_eq(kb_serve_turn(serve, turn_ns), KB_OK);
    snprintf(path, sizeof path, "/%s/", TOKEN);
    ck_assert_int_eq(status_of("GET", path), 200);
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_text_can_be_replaced)
{
    char request[256], reply[4096];
    ck_assert_int_eq(kb_serve_publish(serve, "", "text/html", NULL, "other", 5),
                     KB_OK);
    int n = snprintf(request, sizeof request, "GET /%s/ HTTP/1.0\r\n"
                     "Host: 127.0.0.1:%u\r\n\r\n", TOKEN,
                     (unsigned)kb_serve_port(serve));
    ask(request, (size_t)n, reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "\r\n\r\nother"));
}
END_TEST

START_TEST(what_cannot_be_published_is_refused)
{
    char name[80];
    memset(name, 'a', sizeof name);
    name[79] = '\0';
    ck_assert_int_eq(kb_serve_publish(serve, name, "a/b", NULL, "x", 1),
                     KB_EINVAL);
    ck_assert_int_eq(kb_serve_publish(serve, "a b", "a/b", NULL, "x", 1),
                     KB_EINVAL);
    for (int i = 0; i < KB_SERVE_MOST - 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(kb_serve_publish(serve, name, "a/b", NULL, "x", 1),
                         KB_OK);
    }
    ck_assert_int_eq(kb_serve_publish(serve, "more", "a/b", NULL, "x", 1),
                     KB_EINVAL);
}
END_TEST

START_TEST(a_bad_token_or_a_taken_port_is_told)
{
    kb_serve *other = serve;
    ck_assert_int_eq(kb_serve_open(0, "short", &other, &why), KB_EINVAL);
    ck_assert_int_eq(kb_serve_open(0, "0123456789abcdef/", &other, &why), KB_EINVAL);
    ck_assert_int_eq(kb_serve_open(kb_serve_port(serve), TOKEN, &other, &why),
                     KB_ESYS);
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_ptr_eq(other, serve);
    kb_serve_close(NULL);
}
END_TEST

static Suite *tests(void)
{
    TCase *tc = tcase_create("serve");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_published_is_served);
    tcase_add_test(tc, nothing_is_told_without_the_token);
    tcase_add_test(tc, nothing_else_is_there);
    tcase_add_test(tc, it_can_only_be_read);
    tcase_add_test(tc, a_foreign_host_gets_nothing);
    tcase_add_test(tc, nonsense_is_survived);
    tcase_add_test(tc, silent_connections_do_not_keep_others_out);
    tcase_add_test(tc, a_text_can_be_replaced);
    tcase_add_test(tc, what_cannot_be_published_is_refused);
    tcase_add_test(tc, a_bad_token_or_a_taken_port_is_told);
    Suite *s = suite_create("serve");
    suite_add_tcase(s, tc);
    return s;
}

TEST_MAIN(tests)

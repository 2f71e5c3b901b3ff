/* This file tests core/system/frame.c. It checks how frames are read from a
 * byte stream and written to it, the maximum size, deadlines and errors. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "system/frame.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

static struct kb_bytes buffer;

static void begin(void)
{
    buffer = (struct kb_bytes){ 0 };
    signal(SIGPIPE, SIG_IGN);
}

static void end(void)
{
    kb_bytes_free(&buffer);
    ck_assert_ptr_null(buffer.at);
    ck_assert_uint_eq(buffer.used, 0);
    kb_bytes_free(&buffer);             /* twice is fine */
}

static void feed(const void *bytes, size_t n)
{
    ck_assert_int_eq(kb_bytes_add(&buffer, bytes, n), KB_OK);
}

static void expect(const char *text)
{
    size_t n = 99;
    const unsigned char *got = kb_frame_first(&buffer, &n);
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_int_eq(memcmp(got, text, n), 0);
}

static void expect_none(void)
{
    size_t n = 99;
    ck_assert_ptr_null(kb_frame_first(&buffer, &n));
    ck_assert_uint_eq(n, 99);
}

/* "ab", "", "cde" as they travel. */
static const char three[] = "\2\0\0\0ab" "\0\0\0\0" "\3\0\0\0cde";
enum { THREE = sizeof three - 1 };

START_TEST(nothing_is_no_frame)
{
    expect_none();
    feed(NULL, 0);
    expect_none();
    feed("\0\0\0", 3);
    expect_none();
    feed("\0", 1);
    expect("");
}
END_TEST

START_TEST(frames_come_out_in_order_from_one_feed)
{
    feed(three, THREE);
    expect("ab");
    expect("ab");                       /* looking takes nothing away */
    kb_frame_drop(&buffer);
    expect("");
    kb_frame_drop(&buffer);
    expect("cde");
    kb_frame_drop(&buffer);
    expect_none();
    ck_assert_uint_eq(buffer.used, 0);
}
END_TEST

START_TEST(a_stream_may_be_split_at_every_byte)
{
    size_t cut = (size_t)_i;
    feed(three, cut);
    if (cut < 6)
        expect_none();
    else
        expect("ab");
    feed(three + cut, THREE - cut);
    expect("ab");
    kb_frame_drop(&buffer);
    expect("");
    kb_frame_drop(&buffer);
    expect("cde");
}
END_TEST

START_TEST(a_stream_may_come_byte_by_byte)
{
    static const char *const want[] = { "ab", "", "cde" };
    size_t seen = 0, n;
    for (size_t i = 0; i < THREE; i++) {
        feed(three + i, 1);
        if (kb_frame_first(&buffer, &n)) {
            expect(want[seen++]);
            kb_frame_drop(&buffer);
        }
    }
    ck_assert_uint_eq(seen, 3);
}
END_TEST

START_TEST(an_announcement_over_the_maximum_breaks_the_stream)
{
    /* One byte over, and all bits; in one piece and the last byte alone. */
    static const unsigned char over[][4] = {
        { 1, 0, 0, 4 }, { 255, 255, 255, 255 }, { 0, 0, 0, 5 }
    };
    feed(over[_i], 3);
    ck_assert(!kb_frame_broken(&buffer));
    feed(over[_i] + 3, 1);
    ck_assert(kb_frame_broken(&buffer));
    expect_none();
    kb_bytes_free(&buffer);
    feed(over[_i], 4);
    feed("more", 4);
    ck_assert(kb_frame_broken(&buffer));
    expect_none();
}
END_TEST

START_TEST(an_announcement_of_the_maximum_is_fine)
{
    static const unsigned char most[4] = { 0, 0, 0, 4 };
    feed(most, 4);
    feed("x", 1);
    expect_none();
}
END_TEST

START_TEST(an_oversized_frame_behind_a_good_one_is_found)
{
    int ends[2];
    static const char bytes[] = "\1\0\0\0a" "\377\377\377\377rest";
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], bytes, sizeof bytes - 1),
                     sizeof bytes - 1);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_OK);
    expect("a");
    kb_frame_drop(&buffer);
    expect_none();
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_EWORKER);
}
END_TEST

START_TEST(what_is_written_is_read)
{
    static const size_t sizes[] = { 0, 1, 4, 4092, 4096, 65535, 65537,
                                    1000000 };
    size_t n = sizes[_i], got = 0;
    int ends[2];
    unsigned char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)(i * 131 >> 3);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        kb_status st = kb_frame_write(ends[1], text, n,
                                      kb_clock_now_ns() + second);
        if (!st)
            st = kb_frame_write(ends[1], "end", 3,
                                kb_clock_now_ns() + second);
        free(text);
        _exit(st ? 1 : 0);
    }
    close(ends[1]);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_OK);
    const unsigned char *body = kb_frame_first(&buffer, &got);
    ck_assert_uint_eq(got, n);
    ck_assert_int_eq(memcmp(body, text, n), 0);
    kb_frame_drop(&buffer);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_OK);
    expect("end");
    kb_frame_drop(&buffer);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_EEMPTY);
    int wstatus = -1;
    waitpid(pid, &wstatus, 0);
    ck_assert_int_eq(wstatus, 0);
    free(text);
}
END_TEST

START_TEST(a_stream_that_ends_inside_a_frame_is_eworker)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], three, (size_t)_i), _i);
    close(ends[1]);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer),
                     _i ? KB_EWORKER : KB_EEMPTY);
}
END_TEST

START_TEST(a_gone_reader_is_esys_epipe)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    errno = 0;
    ck_assert_int_eq(kb_frame_write(ends[1], "a", 1,
                                    kb_clock_now_ns() + second), KB_ESYS);
    ck_assert_int_eq(errno, EPIPE);
}
END_TEST

START_TEST(a_full_pipe_is_etime_blocking_or_not)
{
    int ends[2];
    static char text[1 << 20];
    ck_assert_int_eq(pipe2(ends, _i ? O_NONBLOCK : 0), 0);
    int64_t begun = kb_clock_now_ns();
    ck_assert_int_eq(kb_frame_write(ends[1], text, sizeof text,
                                    begun + 50 * ms), KB_ETIME);
    ck_assert_int_ge(kb_clock_now_ns() - begun, 50 * ms);
}
END_TEST

START_TEST(a_passed_deadline_still_writes_what_fits)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, _i ? O_NONBLOCK : 0), 0);
    ck_assert_int_eq(kb_frame_write(ends[1], "a", 1, 0), KB_OK);
    ck_assert_int_eq(kb_frame_read(ends[0], &buffer), KB_OK);
    expect("a");
}
END_TEST

START_TEST(more_than_the_maximum_is_not_written)
{
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    ck_assert_int_eq(kb_frame_write(ends[1], "", (64u << 20) + 1, INT64_MAX),
                     KB_EINVAL);
    ck_assert_int_eq(read(ends[0], &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_bad_descriptor_is_esys)
{
    ck_assert_int_eq(kb_frame_read(-1, &buffer), KB_ESYS);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(kb_frame_write(-1, "a", 1, 0), KB_ESYS);
    ck_assert_int_eq(errno, EBADF);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("frame");
    TCase *t = tcase_create("buffer");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, nothing_is_no_frame);
    tcase_add_test(t, frames_come_out_in_order_from_one_feed);
    tcase_add_loop_test(t, a_stream_may_be_split_at_every_byte, 0, THREE + 1);
    tcase_add_test(t, a_stream_may_come_byte_by_byte);
    tcase_add_loop_test(t, an_announcement_over_the_maximum_breaks_the_stream,
                        0, 3);
    tcase_add_test(t, an_announcement_of_the_maximum_is_fine);
    suite_add_tcase(s, t);

    t = tcase_create("stream");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, an_oversized_frame_behind_a_good_one_is_found);
    tcase_add_loop_test(t, what_is_written_is_read, 0, 8);
    tcase_add_loop_test(t, a_stream_that_ends_inside_a_frame_is_eworker, 0, 6);
    tcase_add_test(t, a_gone_reader_is_esys_epipe);
    tcase_add_loop_test(t, a_full_pipe_is_etime_blocking_or_not, 0, 2);
    tcase_add_loop_test(t, a_passed_deadline_still_writes_what_fits, 0, 2);
    tcase_add_test(t, more_than_the_maximum_is_not_written);
    tcase_add_test(t, a_bad_descriptor_is_esys);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)

#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "net/events.h"

static kb_events *e;
static struct kb_event got;

static void setup(void)
{
    ck_assert_int_eq(kb_events_new(1000, &e), KB_OK);
}

static void teardown(void)
{
    kb_events_free(e);
}

static void feed(const char *text)
{
    ck_assert_int_eq(kb_events_feed(e, text, strlen(text)), KB_OK);
}

static void usual(const char *before, const char *after, const char *tail)
{
    ck_assert_int_eq(kb_events_usual(e, before, strlen(before), after, strlen(after),
                                     tail, strlen(tail)), KB_OK);
}

static void expect_event(const char *name, const char *data)
{
    ck_assert_int_eq(kb_events_next(e, &got), KB_OK);
    ck_assert_uint_eq(got.name_n, strlen(name));
    ck_assert_int_eq(memcmp(got.name, name, got.name_n), 0);
    ck_assert_uint_eq(got.data_n, strlen(data));
    ck_assert_int_eq(memcmp(got.data, data, got.data_n), 0);
}

static void expect_text(const char *text)
{
    size_t n;
    const char *said = kb_events_text(e, &n);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert(!n || memcmp(said, text, n) == 0);
    kb_events_taken(e);
}

START_TEST(events_come_one_by_one)
{
    feed("event: a\ndata: 1\ndata: 2\n\n: x\n\ndata:3\r\n\r\nda");
    expect_event("a", "1\n2");
    expect_event("", "3");
    ck_assert_int_eq(kb_events_next(e, &got), KB_EEMPTY);
    feed("ta: 4");
    ck_assert_int_eq(kb_events_next(e, &got), KB_EEMPTY);
    feed("\n\n");
    expect_event("", "4");
}
END_TEST

START_TEST(a_name_is_cut)
{
    char text[400] = "event: ";
    memset(text + 7, 'n', 300);
    strcat(text, "\ndata: 1\n\n");
    feed(text);
    ck_assert_int_eq(kb_events_next(e, &got), KB_OK);
    ck_assert_uint_eq(got.name_n, KB_EVENTS_NAME);
}
END_TEST

START_TEST(usual_events_are_put_together)
{
    usual("{\"t\":\"", "\"}", "");
    feed("data: {\"t\":\"a\"}\n\ndata: {\"t\":\"\\n\\u00e9\\\"\"}\n\ndata: {\"t\":\"\"}\n\n"
         "data: {\"u\":\"b\"}\n\ndata: {\"t\":\"c\"}\n\n");
    expect_event("", "{\"u\":\"b\"}");
    expect_text("a\\n\\u00e9\\\"");
    ck_assert_int_eq(kb_events_next(e, &got), KB_EEMPTY);
    expect_text("c");
    expect_text("");
}
END_TEST

START_TEST(no_usual_event_is_one_whose_string_is_none)
{
    static const char *const other[] = {
        "{\"t\":\"a\\x\"}", "{\"t\":\"a\\u12g4\"}", "{\"t\":\"a\x01\"}", "{\"t\":\"a\\",
        "{\"t\":\"a\\ud83d\"}", "{\"t\":\"a\\udE00\"}", "{\"t\":\"a\\uDc0\"}",
        "{\"t\":\"a\",\"t\":\"b\"}", "{\"t\":\"a\"} ", "{\"t\":\"", "{\"t\":\"a\\u1\"}",
        "{\"t\":\"a\\\"}",
    };
    usual("{\"t\":\"", "\"}", "");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        feed("data: ");
        feed(other[i]);
        feed("\n\n");
        expect_event("", other[i]);
    }
    expect_text("");
}
END_TEST

START_TEST(what_stands_before_the_tail_needs_no_escape)
{
    usual("{\"t\":\"", "\",\"o\":\"", "\"}");
    feed("data: {\"t\":\"a\",\"o\":\"xyz\"}\n\ndata: {\"t\":\"b\",\"o\":\"\"}\n\n");
    ck_assert_int_eq(kb_events_next(e, &got), KB_EEMPTY);
    expect_text("ab");
    feed("data: {\"t\":\"a\",\"o\":\"x\\n\"}\n\ndata: {\"t\":\"a\",\"o\":\"x\",\"e\":\"\"}\n\n"
         "data: {\"t\":\"a\",\"o\":\"x\n\n");
    expect_event("", "{\"t\":\"a\",\"o\":\"x\\n\"}");
    expect_event("", "{\"t\":\"a\",\"o\":\"x\",\"e\":\"\"}");
    expect_event("", "{\"t\":\"a\",\"o\":\"x");
    expect_text("");
}
END_TEST

START_TEST(nothing_is_usual_any_more)
{
    usual("{\"t\":\"", "\"}", "");
    usual("", "", "");
    feed("data: {\"t\":\"a\"}\n\n");
    expect_event("", "{\"t\":\"a\"}");
}
END_TEST

START_TEST(one_beyond_the_bound_is_full_for_good)
{
    char line[1200];
    memset(line, 'x', sizeof line);
    ck_assert_int_eq(kb_events_feed(e, line, 900), KB_OK);
    ck_assert_int_eq(kb_events_next(e, &got), KB_EEMPTY);
    ck_assert_int_eq(kb_events_feed(e, line, 200), KB_OK);
    ck_assert_int_eq(kb_events_next(e, &got), KB_EFULL);
    ck_assert_int_eq(kb_events_next(e, &got), KB_EFULL);
    ck_assert_int_eq(kb_events_feed(e, "\n", 1), KB_EFULL);
}
END_TEST

/* However the bytes are cut, the same comes of them. */
START_TEST(random_bytes_in_random_pieces)
{
    static const char letters[] = "\n\n\n\r: dataevent{\"t\\u00}\xEF\xBB\xBF";
    unsigned seed = 7;
    for (int round = 0; round < 3000; round++) {
        char text[200], said[2][2000] = { "", "" };
        size_t n = 0;
        while (n < sizeof text) {
            seed = seed * 1103515245 + 12345;
            if ((seed >> 16) % 4 == 0 && n + 16 < sizeof text) {
                memcpy(text + n, "data: {\"t\":\"a\"}\n", 16);
                n += 16;
            } else
                text[n++] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        for (int whole = 0; whole < 2; whole++) {
            kb_events *one;
            size_t at = 0, room = 0, text_n;
            ck_assert_int_eq(kb_events_new(1000, &one), KB_OK);
            ck_assert_int_eq(kb_events_usual(one, "{\"t\":\"", 6, "\"}", 2, "", 0), KB_OK);
            while (at < n) {
                seed = seed * 1103515245 + 12345;
                size_t piece = whole ? n : 1 + (seed >> 16) % 9;
                piece = piece > n - at ? n - at : piece;
                ck_assert_int_eq(kb_events_feed(one, text + at, piece), KB_OK);
                at += piece;
                while (kb_events_next(one, &got) == KB_OK) {
                    memcpy(said[whole] + room, got.data, got.data_n);
                    room += got.data_n;
                    said[whole][room++] = '|';
                }
            }
            const char *inside = kb_events_text(one, &text_n);
            if (text_n)
                memcpy(said[whole] + room, inside, text_n);
            said[whole][room + text_n] = '\0';
            kb_events_free(one);
        }
        ck_assert_str_eq(said[0], said[1]);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("events");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, events_come_one_by_one);
    tcase_add_test(t, a_name_is_cut);
    tcase_add_test(t, usual_events_are_put_together);
    tcase_add_test(t, no_usual_event_is_one_whose_string_is_none);
    tcase_add_test(t, what_stands_before_the_tail_needs_no_escape);
    tcase_add_test(t, nothing_is_usual_any_more);
    tcase_add_test(t, one_beyond_the_bound_is_full_for_good);
    tcase_add_test(t, random_bytes_in_random_pieces);
    Suite *s = suite_create("events");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

/* events.h - server-sent events, as the HTML standard describes them, from bytes
 * that may be cut anywhere.
 *
 * Lines end in \n, \r\n or \r; comments, ids and retry times are passed over; data
 * lines of one event are joined by \n; an event without data is none; of a name
 * KB_EVENTS_NAME bytes are kept.
 *
 * Nearly all events of a model's stream differ in one JSON string alone. Told what
 * stands before and behind that string, next takes the string's bytes, escapes and
 * all, out of such events and puts them together, and stops at the first event
 * that is another.
 */
#ifndef KB_EVENTS_H
#define KB_EVENTS_H

#include <stddef.h>

#include "kb.h"

enum { KB_EVENTS_NAME = 100 };

typedef struct kb_events kb_events;

struct kb_event {
    const char *name, *data;            /* name_n 0: it has none */
    size_t name_n, data_n;
};

/* most: bytes of one event. ENOMEM. */
KB_MUST_USE kb_status kb_events_new(size_t most, kb_events **out);
void kb_events_free(kb_events *e);
size_t kb_events_most(const kb_events *e);

/* More of the stream; "\n\n" at its end gives what it still held. ENOMEM; EFULL
 * once next has said so. */
KB_MUST_USE kb_status kb_events_feed(kb_events *e, const char *bytes, size_t n);

/* The next event that is no usual one, valid until the next call. EEMPTY: there is
 * none yet. EFULL: one is larger than allowed, from then on always. ENOMEM. */
KB_MUST_USE kb_status kb_events_next(kb_events *e, struct kb_event *out);

/* What a usual event is: data that is before, the inside of a JSON string, and
 * after, which begins with that string's closing quote. With a tail: after, then
 * bytes that need no escape, then tail. before_n 0: none is usual from now on.
 * ENOMEM. */
KB_MUST_USE kb_status kb_events_usual(kb_events *e, const char *before, size_t before_n,
                                      const char *after, size_t after_n,
                                      const char *tail, size_t tail_n);

/* The insides so far, in one: a valid inside of a JSON string. Valid until the next
 * call of _next; kb_events_taken forgets them. */
const char *kb_events_text(const kb_events *e, size_t *n);
void kb_events_taken(kb_events *e);

#endif

/* bind_arg.h - reading a script's arguments, with messages for its author.
 *
 * All but the last raise on a bad argument and leave the stack as it was. Tables
 * are read through their metamethods, so a frozen proxy serves as well as a
 * plain table; strings are never taken for numbers.
 */
#pragma once

#include "bind.h"

/* Reads the n numbers of the list at arg into out. Raises unless it is a table
 * of length n whose elements are numbers of magnitude at most limit. */
void kb_bind_vector(lua_State *L, int arg, size_t n, double limit, double *out);

/* The length of the list at arg, at most most. */
size_t kb_bind_length(lua_State *L, int arg, size_t most);

/* One option of a table, and where its value goes: what is not in the table
 * stays as it was. The one pointer that is not NULL says what it must be; with
 * none the option is known and read elsewhere. */
struct kb_option {
    const char *name;
    double *number;
    int64_t *integer;
    size_t *size;
    int64_t least, most;        /* of an integer or a size; equal: any */
    const char **text;          /* lives as long as the table */
    size_t *bytes;              /* of text; NULL: it must not hold a NUL */
    bool *flag;
    const char *now;            /* of an old name: what is told, once */
};

/* Reads the options, ended by one without name, of the table at arg, which may
 * be nil or absent. Raises on a key that is not among them and lists them. */
void kb_bind_options(lua_State *L, int arg, const struct kb_option *options);

/* Reads the list at idx, least .. most strings without NUL, into out, which has
 * room for one more, a NULL; returns how many. They live as long as the list.
 * what names it in the message. */
size_t kb_bind_words(lua_State *L, int idx, const char *what, const char **out,
                     size_t least, size_t most);

/* The integer at arg, from least to most, or fallback where there is none. what
 * names it in the message. */
lua_Integer kb_bind_integer(lua_State *L, int arg, const char *what,
                            lua_Integer least, lua_Integer most);
lua_Integer kb_bind_opt_integer(lua_State *L, int arg, const char *what,
                                lua_Integer least, lua_Integer most,
                                lua_Integer fallback);

/* [] -> [list]; returns 1. x must not be freed by what __gc may do. */
int kb_bind_push_numbers(lua_State *L, const double *x, size_t n);

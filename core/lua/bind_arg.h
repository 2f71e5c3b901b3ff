/* bind_arg.h - reading a script's arguments, with messages for its author.
 *
 * All of these raise on a bad argument and leave the stack as it was. Tables
 * are read through their metamethods, so a frozen proxy serves as well as a
 * plain table; strings are never taken for numbers.
 */
#ifndef KB_BIND_ARG_H
#define KB_BIND_ARG_H

#include "bind.h"

/* Reads the n numbers of the list at arg into out. Raises unless it is a table
 * of length n whose elements are numbers of magnitude at most limit. */
void kb_bind_vector(lua_State *L, int arg, size_t n, double limit, double *out);

/* The length of the list at arg, at most most. */
size_t kb_bind_length(lua_State *L, int arg, size_t most);

/* Raises unless the value at arg is nil, absent, or a table all of whose keys
 * are among known (ended by NULL); the message lists the known ones. */
void kb_bind_options(lua_State *L, int arg, const char *const *known);

/* The option called key of the table at arg, or fallback when the option or
 * the whole table is absent. */
double kb_bind_number_option(lua_State *L, int arg, const char *key,
                             double fallback);
lua_Integer kb_bind_integer_option(lua_State *L, int arg, const char *key,
                                   lua_Integer fallback);

/* The integer at arg, from least to most. what names it in the message. */
lua_Integer kb_bind_integer(lua_State *L, int arg, const char *what,
                            lua_Integer least, lua_Integer most);

#endif

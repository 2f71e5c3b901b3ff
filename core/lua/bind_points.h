/* bind_points.h - points.h as an argument of other nouns. */
#ifndef KB_BIND_POINTS_H
#define KB_BIND_POINTS_H

#include <lua.h>

#include "bandit/points.h"

/* The points at arg, or NULL when it is something else; raises when they are
 * closed. */
const kb_points *kb_bind_points_at(lua_State *L, int arg);

#endif

#include "bind.h"

void kb_bind_stats(lua_State *L)
{
    (void)L;
}

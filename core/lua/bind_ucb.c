#include "bind.h"

void kb_bind_ucb(lua_State *L)
{
    (void)L;
}

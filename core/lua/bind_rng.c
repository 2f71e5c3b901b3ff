#include "bind.h"

void kb_bind_rng(lua_State *L)
{
    (void)L;
}

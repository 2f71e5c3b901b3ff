#include "bind.h"

void kb_bind_store(lua_State *L)
{
    (void)L;
}

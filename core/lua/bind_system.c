#include "bind.h"

void kb_bind_system(lua_State *L)
{
    (void)L;
}

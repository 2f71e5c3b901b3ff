#include "bind.h"

void kb_bind_device(lua_State *L)
{
    (void)L;
}

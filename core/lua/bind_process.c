#include "bind.h"

void kb_bind_process(lua_State *L)
{
    (void)L;
}

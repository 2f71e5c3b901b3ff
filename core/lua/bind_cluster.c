#include "bind.h"

void kb_bind_cluster(lua_State *L)
{
    (void)L;
}

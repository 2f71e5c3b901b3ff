#include "bind.h"

void kb_bind_logit(lua_State *L)
{
    (void)L;
}

/* core.code_blocks(text) -> { { text =, first =, last = }, .. }
 *
 * The code blocks of a Markdown text as libcmark has them, those made by an
 * indent too, with their first and last lines, from 1; MOST_BLOCKS at most. See
 * llm/markdown.lua.
 */
#include "bind.h"

#include <cmark.h>

enum { MOST_BLOCKS = 4096 };

KB_CLASS(markdown, cmark_node_free, NULL, NULL, KB_NO_METHODS);

/* The node behind this one in the text, its children first; NULL: none. */
static cmark_node *after(cmark_node *at)
{
    cmark_node *next = cmark_node_first_child(at);
    while (at && !next) {
        next = cmark_node_next(at);
        at = cmark_node_parent(at);
    }
    return next;
}

int kb_bind_code_blocks(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    cmark_node **tree = kb_bind_new(L, &kb_class_markdown, 0);
    *tree = cmark_parse_document(text, n, CMARK_OPT_DEFAULT);
    cmark_node *at = *tree ? cmark_node_first_child(*tree) : NULL;
    lua_newtable(L);                                    /* [.. list] */
    for (int found = 0; at && found < MOST_BLOCKS; at = after(at)) {
        if (cmark_node_get_type(at) == CMARK_NODE_CODE_BLOCK) {
            lua_newtable(L);                            /* [.. list block] */
            KB_SET(L, "text", lua_pushstring, cmark_node_get_literal(at));
            KB_SET(L, "first", lua_pushinteger, cmark_node_get_start_line(at));
            KB_SET(L, "last", lua_pushinteger, cmark_node_get_end_line(at));
            lua_rawseti(L, -2, ++found);
        }
    }
    return 1;
}

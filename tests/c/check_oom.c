/* Memory runs out at allocation 0, then at 1, 2, ... until the script survives:
 * Lua's own allocations and those of the modules under the bindings, counted
 * together. Each time the state must report the failure and close with nothing
 * left, in Lua's heap or in C's. Failure is sticky: on the first refusal Lua
 * collects and asks again, so a single refusal would never be seen. Fresh
 * memory is poisoned.
 *
 * The modules are compiled into this program, so that their calloc is ours. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include "lua/bind.h"
#include "../lib/check_main.h"

static struct {
    long grants;                /* allocations left to grant; < 0 no limit */
    long blocks;                /* live, of the modules */
    size_t lua_bytes;           /* live, of Lua */
} heap;

static bool granted(void)
{
    if (heap.grants > 0)
        heap.grants--;
    else if (heap.grants == 0)
        return false;
    return true;
}

static void *counted_calloc(size_t n, size_t size)
{
    void *p = granted() ? calloc(n, size) : NULL;
    heap.blocks += p != NULL;
    return p;
}

static void counted_free(void *p)
{
    heap.blocks -= p != NULL;
    free(p);
}

#define calloc counted_calloc
#define free counted_free
#include "../../core/rng.c"
#include "../../core/bandit/ucb.c"
#include "../../core/bandit/cluster.c"
#include "../../core/bandit/logit.c"
#undef calloc
#undef free

static void *lua_heap(void *ud, void *ptr, size_t osize, size_t nsize)
{
    (void)ud;
    size_t old = ptr ? osize : 0;
    if (nsize == 0) {
        free(ptr);
        heap.lua_bytes -= old;
        return NULL;
    }
    if (nsize > old && !granted())
        return NULL;
    void *p = realloc(ptr, nsize);
    if (p && nsize > old)
        memset((char *)p + old, 0xA5, nsize - old);
    if (p)
        heap.lua_bytes += nsize - old;
    return p;
}

/* Every constructor and method, and every way to be refused. */
static const char *const scripts[] = {
    /* rng */
    "local r <close> = core.rng(-7)\n"
    "local same, child = core.rng(-7.0), r:split 'policy'\n"
    "assert(r:uniform() == same:uniform())\n"
    "assert(child:uniform() == core.rng(-7):split('policy'):uniform())\n"
    "assert(math_type(r:below(3)) == 'integer' and r:below(1) == 0)\n"
    "assert(r:normal() == r:normal() == false)\n"
    "for _, bad in ipairs { 0, -1, 0.5, '3' } do\n"
    "  assert(not pcall(r.below, r, bad))\n"
    "end\n"
    "for _, bad in ipairs { '1', 1.5, {}, 0 / 0 } do\n"
    "  assert(not pcall(core.rng, bad))\n"
    "end\n"
    "assert(not pcall(core.rng) and not pcall(r.split, r, 1))\n"
    "r:close() r:close()\n"
    "assert(not pcall(r.uniform, r) and not pcall(r.split, r, 'x'))\n"
    "assert(not pcall(r.uniform, core.ucb(1)))\n",

    /* ucb */
    "local u <close> = must(core.ucb(4, { c = 1, prior_pulls = 0 }))\n"
    "for i = 1, 12 do\n"
    "  local arms = { 4, 2, 3, 1, i % 4 + 1 }\n"
    "  local best = must(u:select(arms, { 0, .1, .2, .3, i / 40 }))\n"
    "  u:update(arms[best], 1 / i)\n"
    "end\n"
    "assert(u:t() == 12 and #u == 4)\n"
    "local sum = u:pulls(1) + u:pulls(2) + u:pulls(3) + u:pulls(4)\n"
    "assert(sum == 12 and u:score(1) > u:mean(1))\n"
    "local v = must(core.ucb(2, { prior_mean = .5, prior_pulls = .5 }))\n"
    "assert(v:mean(2) == .5 and v:pulls(2) == .5 and v:t() == 0)\n"
    "assert(v:select { 2, 1 } == 1)\n"
    "local many = {}\n"
    "for i = 1, 100 do many[i] = i % 2 + 1 end\n"
    "v:update(1, 1)\n"
    "assert(v:select(many) == 2)\n"
    "local none, text, code = u:select {}\n"
    "assert(none == nil and text and code == 'EEMPTY')\n"
    "refuse(u.update, u, 9, 0) refuse(u.update, u, 1, 0 / 0)\n"
    "refuse(u.update, u, 1, '1') refuse(u.update, u, 1, 1 / 0)\n"
    "refuse(u.select, u, { 1 }, { 0 / 0 })\n"
    "refuse(u.select, u, { 1, 2 }, { 0 })\n"
    "refuse(u.select, u, { 5 }) refuse(u.select, u, { 'x' })\n"
    "refuse(u.select, u, 1) refuse(u.select, u, { 1 }, { '0' })\n"
    "for _, bad in ipairs { 0, -1, 5, 1 << 62, 1.5, '1' } do\n"
    "  refuse(u.score, u, bad) refuse(u.select, u, { bad })\n"
    "end\n"
    "refuse(core.ucb, 4, { c = -1 }) refuse(core.ucb, 4, { c = '1' })\n"
    "refuse(core.ucb, 0) refuse(core.ucb, 4, 1) refuse(core.ucb, 4, { 1 })\n"
    "local why = refuse(core.ucb, 4, { d = 1, prior_mien = 0, prior = 1 })\n"
    "assert(why == \"bad argument #2 to '?' (unknown option 'd' \"\n"
    "  .. '(known: c, prior_mean, prior_pulls))')\n"
    "local torn = meta({}, { __len = function() return 4 end,\n"
    "                        __index = function() error 'torn' end })\n"
    "refuse(u.select, u, torn)\n"
    "local long = meta({}, { __len = function() return 1 << 40 end })\n"
    "refuse(u.select, u, long)\n"
    "local shut = meta({}, { __len = function() return 2 end,\n"
    "                        __index = function() u:close() return 1 end })\n"
    "refuse(u.select, u, shut)\n"
    "u:close()\n"
    "refuse(u.select, u, { 1 }) refuse(u.t, u)\n"
    "refuse(function() return #u end)\n",

    /* cluster */
    "local k <close> = must(core.cluster(3, 2, { seed = -5 }))\n"
    "local none, text, code = k:nearest { 0, 0 }\n"
    "assert(none == nil and text and code == 'EEMPTY' and #k == 0)\n"
    "for i = 1, 5 do\n"
    "  assert(k:assign { i < 4 and i or 3, 9 } == (i < 4 and i or 3))\n"
    "end\n"
    "assert(#k == 3 and k:count(3) == 3 and k:nearest { 1.2, 0 } == 1)\n"
    "assert(k:centre(2)[1] == 2 and #k:centre(2) == 2)\n"
    "local ids = must(k:fit { { 5, 0 }, { 5, 0 }, { 7, 7 } })\n"
    "assert(#ids == 3 and ids[1] == 1 and ids[2] == 1 and ids[3] == 2)\n"
    "assert(#k == 2 and k:count(3) == 0)\n"
    "refuse(k.centre, k, 3) refuse(k.count, k, 4) refuse(k.count, k, 0)\n"
    "for _, bad in ipairs { {}, { 1 }, { 1, 2, 3 }, { 1, 0 / 0 }, { '1', 2 },\n"
    "                       { 1, 1 / 0 }, 'x', 3 } do\n"
    "  refuse(k.assign, k, bad) refuse(k.nearest, k, bad)\n"
    "  refuse(k.fit, k, { { 1, 2 }, bad })\n"
    "end\n"
    "assert(k:count(1) == 2 and k:count(2) == 1)\n"
    "refuse(core.cluster, 0, 1) refuse(core.cluster, 1, 65)\n"
    "refuse(core.cluster, 1, 1, { sead = 1 })\n"
    "refuse(core.cluster, 1, 1, { seed = '1' })\n"
    "refuse(core.cluster, 1, 1, { seed = 1.5 })\n"
    "local frozen = meta({}, { __len = function() return 2 end,\n"
    "                          __index = function(_, i) return i end })\n"
    "assert(k:assign(frozen) == 3)\n"
    "assert(#must(k:fit {}) == 0 and #k == 0)\n"
    "local shut = meta({}, { __len = function() return 2 end,\n"
    "                        __index = function() k:close() return 1 end })\n"
    "refuse(k.assign, k, shut)\n"
    "refuse(k.count, k, 1) refuse(k.fit, k, {})\n",

    /* logit */
    "local h <close> = must(core.logit(2, { l2 = 0.5, buffer = 4 }))\n"
    "assert(h:p { 1, 1 } == 0.5 and #h == 0 and h:fit() == 0)\n"
    "for i = 1, 6 do h:learn({ i, 1 }, i > 3) end\n"
    "assert(#h == 4 and h:p { 6, 1 } == 0.5)\n"
    "assert(h:fit() > 0 and h:fit() == 0)\n"
    "assert(h:p { 6, 1 } > .5 and h:p { 3, 1 } < .5)\n"
    "local w = h:weights()\n"
    "assert(#w == 3 and w[2] > 0)\n"
    "for _, bad in ipairs { {}, { 1 }, { 1, 2, 3 }, { 1, 0 / 0 }, 'x' } do\n"
    "  refuse(h.p, h, bad) refuse(h.learn, h, bad, true)\n"
    "end\n"
    "refuse(h.learn, h, { 1, 2 }) refuse(h.learn, h, { 1, 2 }, 1)\n"
    "assert(#h == 4 and h:fit() == 0)\n"
    "refuse(core.logit, 0) refuse(core.logit, 2, { l2 = 0 })\n"
    "refuse(core.logit, 2, { buffer = 0 })\n"
    "refuse(core.logit, 2, { bufer = 1 })\n"
    "local shut = meta({}, { __len = function() return 2 end,\n"
    "                        __index = function() h:close() return 1 end })\n"
    "refuse(h.learn, h, shut, true)\n"
    "refuse(h.fit, h) refuse(h.weights, h)\n",
};

enum { SCRIPTS = sizeof scripts / sizeof *scripts };

/* A failed construction answers; the test wants it raised. A refusal must be
 * the binding's own: memory that ran out is passed on. */
static const char prelude[] =
    "local core, meta, math_type = ...\n"
    "local function must(x, why) return x or error(why, 0) end\n"
    "local function refuse(f, ...)\n"
    "  local ok, why = pcall(f, ...)\n"
    "  assert(not ok, 'not refused')\n"
    "  if why == 'not enough memory' then error(why, 0) end\n"
    "  return why\n"
    "end\n";

static int type_of_number(lua_State *L)
{
    lua_pushstring(L, lua_isinteger(L, 1) ? "integer" : "float");
    return 1;
}

static int body(lua_State *L)
{
    const char *script = lua_touserdata(L, 1);
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    lua_settop(L, 0);
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    luaL_addstring(&text, prelude);
    luaL_addstring(&text, script);
    luaL_pushresult(&text);                             /* [text] */
    if (luaL_loadbufferx(L, lua_tostring(L, 1), lua_rawlen(L, 1), "=script",
                         "t"))
        return lua_error(L);
    lua_newtable(L);                                    /* [text f core] */
    kb_bind_class(L, &kb_class_rng);
    kb_bind_class(L, &kb_class_ucb);
    kb_bind_class(L, &kb_class_cluster);
    kb_bind_class(L, &kb_class_logit);
    lua_getglobal(L, "setmetatable");
    lua_pushcfunction(L, type_of_number);               /* [.. core mt type] */
    lua_call(L, 3, 0);
    return 0;
}

/* Whether the error at the top is memory's: Lua's, or a module's ENOMEM. */
static bool says_out_of_memory(lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    return text && (strcmp(text, "not enough memory") == 0
                    || strcmp(text, kb_status_text(KB_ENOMEM)) == 0);
}

/* Runs the script in a state of its own that is granted so many allocations;
 * true when it survived, false when memory ran out. */
static bool survives(const char *script, long grants)
{
    heap.grants = -1;
    lua_State *L = lua_newstate(lua_heap, NULL);
    ck_assert_ptr_nonnull(L);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, (void *)(size_t)script);
    heap.grants = grants;
    int rc = lua_pcall(L, 1, 0, 0);
    bool ran_out = heap.grants == 0;
    heap.grants = -1;
    if (rc != LUA_OK && !(ran_out && says_out_of_memory(L)))
        ck_abort_msg("after %ld: %s", grants, lua_tostring(L, -1));
    lua_close(L);
    ck_assert_uint_eq(heap.lua_bytes, 0);
    ck_assert_int_eq(heap.blocks, 0);
    return rc == LUA_OK;
}

START_TEST(the_script_passes_when_memory_suffices)
{
    ck_assert(survives(scripts[_i], -1));
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    long n = 0;
    while (!survives(scripts[_i], n))
        ck_assert_int_lt(++n, 100000);
    ck_assert_int_gt(n, 200);
    printf("oom: script %d survived %ld injected failures\n", _i, n);
}
END_TEST

/* Lua has memory, the modules have not: the world failing, not the script. */
static int starved(lua_State *L)
{
    static const struct {
        const char *noun;
        int arguments;
    } made[] = { { "ucb", 1 }, { "cluster", 2 }, { "logit", 1 } };

    lua_newtable(L);
    kb_bind_class(L, &kb_class_ucb);
    kb_bind_class(L, &kb_class_cluster);
    kb_bind_class(L, &kb_class_logit);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        lua_getfield(L, -1, made[i].noun);
        for (int a = 0; a < made[i].arguments; a++)
            lua_pushinteger(L, 2);
        lua_call(L, made[i].arguments, LUA_MULTRET);
        ck_assert_int_eq(lua_gettop(L), 4);
        ck_assert(lua_isnil(L, 2));
        ck_assert_str_eq(lua_tostring(L, 3), kb_status_text(KB_ENOMEM));
        ck_assert_str_eq(lua_tostring(L, 4), "ENOMEM");
        lua_settop(L, 1);
    }
    return 0;
}

START_TEST(a_module_without_memory_answers_enomem)
{
    lua_State *L = luaL_newstate();
    heap.grants = 0;
    lua_pushcfunction(L, starved);
    if (lua_pcall(L, 0, 0, 0))
        ck_abort_msg("%s", lua_tostring(L, -1));
    lua_close(L);
    heap.grants = -1;
}
END_TEST

START_TEST(a_fit_without_memory_changes_nothing)
{
    static const double x[] = { 1, 2, 3 };
    kb_cluster *c = NULL;
    size_t id = 99, ids[3] = { 7, 7, 7 };
    heap.grants = -1;
    ck_assert_int_eq(kb_cluster_new(2, 1, 0, &c), KB_OK);
    ck_assert_int_eq(kb_cluster_assign(c, x + 2, &id), KB_OK);
    heap.grants = 0;
    ck_assert_int_eq(kb_cluster_fit(c, x, 3, ids), KB_ENOMEM);
    ck_assert_uint_eq(ids[0], 7);
    ck_assert_uint_eq(c->live, 1);
    ck_assert_double_eq(c->centre[0], 3);
    kb_cluster_free(c);
    heap.grants = -1;
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("oom");
    TCase *t = tcase_create("bindings");
    tcase_add_loop_test(t, the_script_passes_when_memory_suffices, 0, SCRIPTS);
    tcase_add_loop_test(t, every_allocation_may_fail, 0, SCRIPTS);
    tcase_add_test(t, a_module_without_memory_answers_enomem);
    tcase_add_test(t, a_fit_without_memory_changes_nothing);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)

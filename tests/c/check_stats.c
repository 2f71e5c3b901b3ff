#include <stdlib.h>
#include <string.h>

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include "lua/bind.h"
#include "../lib/check_main.h"

static lua_State *L;

static void open_state(void)
{
    L = luaL_newstate();
    ck_assert_ptr_nonnull(L);
    luaL_requiref(L, "_G", luaopen_base, 1);
    luaL_requiref(L, "math", luaopen_math, 1);
    luaL_requiref(L, "kernelband.core", luaopen_kernelband_core, 0);
    lua_getfield(L, -1, "stats");
    lua_setglobal(L, "stats");
    lua_settop(L, 0);
}

static void close_state(void)
{
    lua_close(L);
}

static const char *const truths[] = {
    "return stats.median { 5, -1, 3 } == 3",
    "return stats.median { 4, 1, 3, 100 } == 3.5",
    "return stats.mean { 1, 2, 6 } == 3",
    "return stats.mad { 1, 1, 2, 2, 4, 6, 9 } == 1",
    "return math.abs(stats.geomean { 1, 10, 100 } - 10) < 1e-12",
    "return stats.quantile({ 50, 15, 40, 20, 35 }, 0.25) == 20",
    "local x = { 3, 1, 2 }; stats.median(x); return x[1] == 3 and x[3] == 2",
    "local r = stats.paired { 3, 1, 4, 2, 6, 5 }\n"
    "return r.low == 1 and r.high == 6 and r.confidence == 0.96875\n"
    "   and r.n == 6 and r.method == 'wilcoxon' and r.estimate == 3.5",
    "return stats.paired({ 3, 1, 4, 1.5, 9, 2.6 }, 0.99).method == 'student'",
    "local r = stats.paired { 0.5 }\n"
    "return r.method == 'none' and r.estimate == 0.5 and r.low == -math.huge\n"
    "   and r.high == math.huge and math.type(r.n) == 'integer'",
};

START_TEST(a_statistic_reads_a_list)
{
    int bad = luaL_dostring(L, truths[_i]);
    ck_assert_msg(!bad, "%s: %s", truths[_i], lua_tostring(L, -1));
    ck_assert_msg(lua_toboolean(L, -1), "%s", truths[_i]);
}
END_TEST

static const struct {
    const char *chunk, *message;
} mistakes[] = {
    { "stats.median {}", "expected at least one number" },
    { "stats.median(3)", "table expected, got number" },
    { "stats.mean { 1, 0/0 }", "element 2" },
    { "stats.mad { 1, math.huge }", "element 2" },
    { "stats.mean { 1, 'x' }", "expected a number, got string" },
    { "stats.geomean { 1, 0 }", "expected numbers > 0" },
    { "stats.quantile({ 1 }, 1.5)", "expected a number in 0 .. 1" },
    { "stats.quantile({ 1 })", "number expected, got no value" },
    { "stats.paired({ 1, 2 }, 1)", "a confidence of 0 or 1" },
    { "stats.paired({ 1, 2 }, 0/0)", "expected a number in 0 .. 1" },
    { "local x = {}; for i = 1, 65 do x[i] = i end; stats.paired(x)",
      "at most 64" },
};

START_TEST(a_mistake_raises_and_says_what_it_is)
{
    ck_assert_int_ne(luaL_dostring(L, mistakes[_i].chunk), LUA_OK);
    const char *got = lua_tostring(L, -1);
    ck_assert_msg(strstr(got, mistakes[_i].message) != NULL, "%s: %s",
                  mistakes[_i].chunk, got);
}
END_TEST

static Suite *tests(void)
{
    int n_truths = (int)(sizeof truths / sizeof *truths);
    int n_mistakes = (int)(sizeof mistakes / sizeof *mistakes);
    Suite *s = suite_create("stats");
    TCase *t = tcase_create("stats");
    tcase_add_checked_fixture(t, open_state, close_state);
    tcase_add_loop_test(t, a_statistic_reads_a_list, 0, n_truths);
    tcase_add_loop_test(t, a_mistake_raises_and_says_what_it_is, 0,
                        n_mistakes);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)

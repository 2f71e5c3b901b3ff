/* The host: its limits, its messages, and memory running out everywhere. The
 * cap of kb_script_new is a failing allocator that stays failed, as it must:
 * on a first refusal Lua collects and asks again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/script.h"
#include "system/files.h"
#include "../lib/check_main.h"

enum { PATH_BYTES = 512, MEGABYTE = 1 << 20, STEP_BYTES = 64 };

static char dir[PATH_BYTES], cli[PATH_BYTES + 64];
static kb_script *s;

static void write_cli(const char *text)
{
    ck_assert_int_eq(kb_files_write(cli, text, strlen(text)), KB_OK);
}

static kb_status run(const char *text, int *code)
{
    static char name[] = "kernelband", one[] = "one", two[] = "two";
    char *argv[] = { name, one, two, NULL };
    write_cli(text);
    return kb_script_main(s, 3, argv, code);
}

static void set_up(void)
{
    char folder[PATH_BYTES + 32];
    ck_assert_int_eq(kb_files_temp_dir(dir, sizeof dir), KB_OK);
    snprintf(folder, sizeof folder, "%s/lua/kernelband", dir);
    ck_assert_int_eq(kb_files_mkdir_p(folder), KB_OK);
    snprintf(cli, sizeof cli, "%s/cli.lua", folder);
    ck_assert_int_eq(kb_script_new(dir, 16 * MEGABYTE, &s), KB_OK);
}

static void tear_down(void)
{
    char folder[PATH_BYTES + 32];
    kb_script_free(s);
    s = NULL;
    unlink(cli);
    snprintf(folder, sizeof folder, "%s/lua/kernelband", dir);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/lua", dir);
    rmdir(folder);
    rmdir(dir);
}

START_TEST(main_gets_its_arguments_and_gives_the_exit_code)
{
    int code = 99;
    ck_assert_int_eq(run("return { main = function(a) assert(#a == 2 and "
        "a[1] == 'one' and a[2] == 'two') return 7 end }", &code), KB_OK);
    ck_assert_int_eq(code, 7);
    ck_assert_str_eq(kb_script_error(s), "");
}
END_TEST

static const struct {
    const char *text, *message;
} refusals[] = {
    { "return { main = function() error 'oh no' end }", "cli.lua:1: oh no" },
    { "return { main = function() error 'x' end }", "stack traceback:" },
    { "return { main = function() error({}) end }", "table: " },
    { "return { main = function() error() end }", "nil" },
    { "return { main = function() error(setmetatable({}, { __tostring = "
      "function() return 'shown' end })) end }", "shown" },
    { "return { main = function() error(setmetatable({}, { __tostring = "
      "function() error 'worse' end })) end }", "" },
    { "return { main = function() error 'a\\0b' end }", "a?b" },
    { "return { main = function() return 256 end }", "got 256" },
    { "return { main = function() return 'x' end }", "got x" },
    { "return { main = function() end }", "got nil" },
    { "return {}", "has no function 'main'" },
    { "return { main = 1 }", "has no function 'main'" },
    { "return =", "cli.lua:1:" },
    { "return { main = function() require 'nosuch' end }",
      "module 'nosuch' not found" },
    { "return { main = function() math.random() end }", "rng(seed)" },
    { "return { main = function() math.randomseed(1) end }", "rng(seed)" },
    { "return { main = function() string.dump(print) end }", "nil value" },
    { "return { main = function() package.loadlib('x', 'y') end }",
      "nil value" },
    { "local function f() ('x'):gsub('x', f) end return { main = f }",
      "stack overflow" },
};

START_TEST(a_failure_is_explained_and_leaves_the_exit_code)
{
    int code = 99;
    ck_assert_int_eq(run(refusals[_i].text, &code), KB_EINVAL);
    ck_assert_int_eq(code, 99);
    if (!strstr(kb_script_error(s), refusals[_i].message))
        ck_abort_msg("no '%s' in: %s", refusals[_i].message,
                     kb_script_error(s));
}
END_TEST

START_TEST(a_long_message_comes_whole)
{
    int code = 0;
    ck_assert_int_eq(run("return { main = function() "
        "error(('x'):rep(1 << 16) .. 'end') end }", &code), KB_EINVAL);
    ck_assert_ptr_nonnull(strstr(kb_script_error(s), "xxend\n"));
    ck_assert_uint_gt(strlen(kb_script_error(s)), 1 << 16);
}
END_TEST

START_TEST(a_failed_state_runs_again_and_forgets_its_message)
{
    int code = 0;
    ck_assert_int_eq(run("error 'first'", &code), KB_EINVAL);
    ck_assert_int_eq(run("return { main = function() return 3 end }", &code),
                     KB_OK);
    ck_assert_int_eq(code, 3);
    ck_assert_str_eq(kb_script_error(s), "");
}
END_TEST

START_TEST(a_memory_bomb_is_a_status_and_the_state_survives)
{
    int code = 9;
    ck_assert_int_eq(run("local again return { main = function() "
        "if again then return collectgarbage 'count' < 16 * 1024 and 0 or 1 end "
        "again = true local t = {} "
        "for i = 1, 1e9 do t[i] = ('x'):rep(1 << 16) .. i end end }", &code),
        KB_ENOMEM);
    ck_assert_ptr_nonnull(strstr(kb_script_error(s), "not enough memory"));
    ck_assert_int_eq(run("", &code), KB_OK);
    ck_assert_int_eq(code, 0);
}
END_TEST

START_TEST(a_script_may_catch_running_out)
{
    int code = 0;
    ck_assert_int_eq(run("return { main = function() "
        "local ok, why = pcall(string.rep, 'x', 1 << 30) "
        "assert(not ok and why:find 'not enough memory') return 5 end }",
        &code), KB_OK);
    ck_assert_int_eq(code, 5);
}
END_TEST

START_TEST(json_and_core_are_linked_in)
{
    int code = 0;
    ck_assert_int_eq(run("return { main = function() "
        "assert(require('cjson').decode '[1]'[1] == 1) "
        "assert(type(require('kernelband.core').system.now_ns()) "
        "== 'number') assert(package.cpath == '') return 0 end }", &code),
        KB_OK);
}
END_TEST

/* A larger cap each time, until the whole script fits. */
START_TEST(every_allocation_may_fail)
{
    static char name[] = "kernelband";
    char *argv[] = { name, NULL };
    int code = 99, failures = 0;
    write_cli(
        "local system = require('kernelband.core').system\n"
        "local cjson = require 'cjson'\n"
        "return { main = function()\n"
        "  local dir = assert(system.realpath '/tmp')\n"
        "  assert(system.list(dir))\n"
        "  assert(system.read_file '/proc/self/status')\n"
        "  assert(not system.read_file '/nonexistent')\n"
        "  assert(#system.random_hex(8) == 16 and system.host().cpu)\n"
        "  cjson.encode(cjson.decode '{\"a\":[1,2,{\"b\":\"c\"}]}')\n"
        "  pcall(error, {})\n"
        "  return 0 end }\n");
    for (size_t cap = 1; code; cap += STEP_BYTES) {
        kb_script *small = NULL;
        ck_assert_uint_lt(cap, 4 * MEGABYTE);
        kb_status st = kb_script_new(dir, cap, &small);
        if (st) {
            ck_assert_int_eq(st, KB_ENOMEM);
            ck_assert_ptr_null(small);
        } else {
            st = kb_script_main(small, 1, argv, &code);
            const char *why = kb_script_error(small);
            if (st && !strstr(why, "not enough memory"))
                ck_abort_msg("cap %zu: %s", cap, why);
        }
        failures += st != KB_OK;
        kb_script_free(small);
    }
    ck_assert_int_gt(failures, 100);
}
END_TEST

static Suite *tests(void)
{
    Suite *suite = suite_create("script");
    TCase *t = tcase_create("host");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, main_gets_its_arguments_and_gives_the_exit_code);
    tcase_add_loop_test(t, a_failure_is_explained_and_leaves_the_exit_code, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(t, a_long_message_comes_whole);
    tcase_add_test(t, a_failed_state_runs_again_and_forgets_its_message);
    tcase_add_test(t, a_memory_bomb_is_a_status_and_the_state_survives);
    tcase_add_test(t, a_script_may_catch_running_out);
    tcase_add_test(t, json_and_core_are_linked_in);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(suite, t);
    return suite;
}

TEST_MAIN(tests)

/* A call that takes too long is told so, at no cost to those that don't: a hook
 * that counts steps is looked at before each of them, for as long as it is set,
 * and makes Lua code a third slower. This one is set by a timer.
 *
 *   overtime.begin()    -> boolean    a call starts here, in this coroutine; it
 *                                     may hold others. false: no timer to be had
 *   overtime.finish()                 the call that began last is over
 *   overtime.tell(fn)                 fn() is called from within a call that has
 *                                     used 50 to 100 ms of processor time, once,
 *                                     in the coroutine of the outermost begin
 *
 * lua_sethook may be called by a signal's handler. One Lua state a process, and
 * one thread that runs it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bind_arg.h"

#ifndef sigev_notify_thread_id          /* glibc before 2.38 has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { AFTER_NS = 50000000 };

#define TOLD "kernelband.overtime"

static struct {
    timer_t timer;
    int made;                           /* 1: timer is one, -1: it can't be */
    int depth;
    lua_State *volatile running;        /* of the outermost call; NULL: none */
    volatile sig_atomic_t serial, seen, armed;
} it;

/* It sets off once, when this thread has used so much processor time. */
static void arm(void)
{
    struct itimerspec t = { .it_value = { .tv_nsec = AFTER_NS } };
    it.armed = timer_settime(it.timer, 0, &t, NULL) == 0;
}

static void overtime(lua_State *L, lua_Debug *where)
{
    (void)where;
    lua_sethook(L, NULL, 0, 0);
    if (lua_getfield(L, LUA_REGISTRYINDEX, TOLD) == LUA_TFUNCTION)
        lua_call(L, 0, 0);
    else
        lua_pop(L, 1);
}

/* The same call as when the timer was set: it has run ever since. */
static void expired(int signal)
{
    int before = errno;
    (void)signal;
    it.armed = 0;
    if (it.running && it.seen == it.serial) {
        lua_sethook(it.running, overtime, LUA_MASKCOUNT, 1);
    } else if (it.running) {
        it.seen = it.serial;
        arm();
    }
    errno = before;
}

/* For this process: timers stay with the parent, and what it forks has no Lua. */
static void make(void)
{
    struct sigaction act = { .sa_handler = expired, .sa_flags = SA_RESTART };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
                              .sigev_signo = SIGVTALRM };
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigemptyset(&act.sa_mask);
    bool made = sigaction(SIGVTALRM, &act, NULL) == 0
        && timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &it.timer) == 0;
    it.made = made ? 1 : -1;
}

static int begin(lua_State *L)
{
    if (!it.made)
        make();
    if (it.made == 1 && it.depth++ == 0) {
        it.serial = it.serial == SIG_ATOMIC_MAX ? 0 : it.serial + 1;
        it.running = L;
        if (!it.armed) {
            it.seen = it.serial;
            arm();
        }
    }
    lua_pushboolean(L, it.made == 1);
    return 1;
}

static int finish(lua_State *L)
{
    (void)L;
    if (it.depth > 0 && --it.depth == 0)
        it.running = NULL;
    return 0;
}

static int tell(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, TOLD);
    return 0;
}

const luaL_Reg kb_module_overtime[] = {
    { "begin", begin }, { "finish", finish }, { "tell", tell }, { NULL, NULL }
};

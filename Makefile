# make [MODE=debug|release|asan|ubsan|cov] [CC=gcc|clang] [V=1] TARGET
#   all check memcheck lint fuzz bench soak demo deps install uninstall clean
MODE    ?= debug
PKG     ?= pkg-config
PREFIX  ?= /usr/local
TAG     := $(notdir $(firstword $(CC)))
B       := build/$(MODE)$(if $(filter-out cc gcc,$(TAG)),-$(TAG))
Q       := $(if $(V),,@)

CFLAGS_debug   := -Og -g
CFLAGS_release := -O2 -g -DNDEBUG
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined \
                  -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_ubsan   := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
CFLAGS_cov     := -O0 -g --coverage
ifeq ($(origin CFLAGS_$(MODE)),undefined)
$(error unknown MODE '$(MODE)': debug, release, asan, ubsan or cov)
endif

# Debian and Ubuntu names of what is needed to build and to run.
PACKAGES := gcc make pkg-config binutils liblua5.4-dev lua-cjson-dev \
            libsqlite3-dev libseccomp-dev check

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wwrite-strings -Wundef -Wvla $(WERROR)
LIBDIR   = $(PREFIX)/share/kernelband
USES    := lua5.4 lua5.4-cjson sqlite3 libseccomp
ALL_C    = -std=c11 -D_GNU_SOURCE -Icore -Icore/lua -Icore/device -Icore/system \
           -Icore/measure -Icore/bandit -DKB_LIB_DIR='"$(LIBDIR)"' $(WARN) \
           -MMD -MP $(CFLAGS_$(MODE)) $(CFLAGS) \
           $(shell $(PKG) --cflags $(USES))
ALL_LD   = $(CFLAGS_$(MODE)) $(LDFLAGS)
LIBS     = $(shell $(PKG) --libs $(USES)) -ldl -lm

SRC     := $(filter-out core/main.c,$(wildcard core/*.c core/*/*.c))
OBJ     := $(SRC:%.c=$(B)/%.o)
TESTS   := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/check_*.c))
SPECS   := $(sort $(wildcard tests/spec_*.lua))
BENCH   := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(wildcard tests/bench/*.c))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check memcheck lint fuzz bench soak demo deps install uninstall clean
all: $(B)/kernelband

$(B)/kernelband: $(B)/core/main.o $(B)/libkernelband.a
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(LIBS)

$(B)/libkernelband.a: $(OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/tests/%: $(B)/tests/%.o $(B)/libkernelband.a
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(shell $(PKG) --libs check) $(LIBS)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_C) -c -o $@ $<

clean:
	$(Q)rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)

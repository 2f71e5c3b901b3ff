# make [MODE=debug|release|asan|ubsan|cov] [CC=gcc|clang] [V=1] TARGET
#   all check [T=NAME] check-triton [T=NAME] [PYTHON=python3] check-gpu golden [UPDATE=1]
#   faults [F=NAME] graph count soak [T=NAME] soak-aa memcheck
#   lint fuzz bench bench-gpu demo bundle deps install uninstall clean
MODE    ?= debug
PKG     ?= pkg-config
PREFIX  ?= /usr/local
TAG     := $(notdir $(firstword $(CC)))
B       := build/$(MODE)$(if $(filter-out cc gcc,$(TAG)),-$(TAG))
Q       := $(if $(V),,@)

CFLAGS_debug   := -Og -g
CFLAGS_release := -O2 -g -DNDEBUG
CFLAGS_asan    := -O2 -g -fsanitize=address,undefined -DKB_SANITIZED=1 \
                  -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_ubsan   := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
CFLAGS_cov     := -O0 -g --coverage
ifeq ($(origin CFLAGS_$(MODE)),undefined)
$(error unknown MODE '$(MODE)': debug, release, asan, ubsan or cov)
endif

# What is needed, as pkg-config names and as Debian's and Ubuntu's packages.
USES     := lua5.4 lua5.4-cjson sqlite3 libseccomp libelf zlib libcmark
# Their headers alone: core/net opens them when they are wanted.
OPENS    := libcurl libmicrohttpd
OPENED   := libcurl.so.4 libmicrohttpd.so.12
PACKAGES := gcc libc6-dev binutils pkg-config liblua5.4-dev lua-cjson-dev \
            libsqlite3-dev libseccomp-dev libelf-dev libcurl4-openssl-dev \
            zlib1g-dev libcmark-dev libmicrohttpd-dev libssl-dev check

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wwrite-strings -Wundef -Wvla $(WERROR)
ALL_C    = -std=c11 -D_GNU_SOURCE -iquote core $(WARN) \
           -MMD -MP $(CFLAGS_$(MODE)) $(CFLAGS) \
           $(shell $(PKG) --cflags $(USES) $(OPENS))
ALL_LD   = $(CFLAGS_$(MODE)) $(LDFLAGS)
# Lua itself is linked in where its archive is there: a search is 5 % faster. Its C
# modules find it in the binary.
LUA_A   := $(wildcard $(shell $(PKG) --variable=libdir lua5.4)/liblua5.4.a)
LIBS     = $(patsubst -llua5.4,$(or $(LUA_A),-llua5.4),$(shell $(PKG) --libs $(USES))) \
           -ldl -lm -Wl,--export-dynamic-symbol='lua*'

# Hardware counters need the toolkit's headers at build time, and a library at
# run time that refuses the address sanitizer: else cupti_none.c stands in.
CUDA    ?= /usr/local/cuda
CUPTI   := $(firstword $(wildcard $(addsuffix /cupti_range_profiler.h,\
             $(CUDA)/include $(CUDA)/extras/CUPTI/include)))
CUPTI_C := core/cuda/counters/cupti.c core/cuda/counters/cupti_host.c
ABSENT  := $(if $(filter-out asan,$(MODE)),$(if $(CUPTI),core/cuda/counters/cupti_none.c,$(CUPTI_C)),$(CUPTI_C))

# What a Python child loads to record its kernels: a library of its own.
INJECT_C := core/cuda/inject/inject.c $(CUPTI_C) core/cuda/counters/cupti_sets.c \
            core/cuda/inject/activity.c core/system/toolkit.c core/system/host.c core/kb.c
INJECT   := $(if $(filter $(CUPTI_C),$(ABSENT)),,$(B)/libkb_inject.so)

# The jail of a Python child: a library as well, and one without a sanitizer.
JAIL    := $(B)/libkb_jail.so

SRC     := $(filter-out core/main.c core/cuda/inject/inject.c $(ABSENT),$(wildcard core/*.c core/*/*.c core/*/*/*.c))
OBJ     := $(SRC:%.c=$(B)/%.o)
TESTS   := $(patsubst tests/c/%.c,$(B)/tests/%,$(wildcard tests/c/check_*.c))
SPECS   := $(sort $(wildcard tests/lua/spec_*.lua))
TRITON  := $(sort $(wildcard tests/triton/spec_*.lua tests/triton/test_*.py))
BENCH   := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
FUZZ    := $(patsubst %.c,build/fuzz/%,$(wildcard tests/fuzz/*.c))
SERVER  := $(B)/tests/lib/server/server
STUB    := $(addprefix $(B)/tests/lib/stub/lib/,libcuda.so.1 libnvrtc.so.13)
KB      := $(B)/kernelband

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check graph count faults soak soak-aa memcheck lint fuzz bench bench-run bench-gpu check-gpu bundle bundle-run demo deps install \
        uninstall clean
all: $(KB) $(INJECT) $(JAIL) build/definitions.lua

$(KB): $(B)/core/main.o $(B)/libkernelband.a
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(LIBS)

$(B)/libkernelband.a: $(OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/libkernelband.a
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(LIBS)

# What .luarc.json shows an editor.
build/definitions.lua: $(wildcard lua/kernelband/*.lua lua/kernelband/*/*.lua lua/kernelband/cli/doc/*) | $(KB)
	$(Q)$(KB) doc meta -o $@

# What the tests talk to instead of a model's provider.
$(SERVER): $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/server/*.c))
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(shell $(PKG) --libs openssl)

# A CUDA driver and a compiler that need no GPU and no toolkit.
STUB_C = $(CC) $(filter-out -MMD -MP,$(ALL_C)) -Wno-missing-prototypes -fPIC -shared -Wl,-soname,$(@F) -o $@ $(filter %.c,$^)
$(B)/tests/lib/stub/lib/libcuda.so.1: tests/lib/stub/driver.c core/kb.c core/rng.c \
  $(wildcard core/measure/tensor*.c) tests/lib/stub/stub.h core/cuda/api.h core/measure/tensor.h Makefile
	@mkdir -p $(@D)
	$(Q)$(STUB_C) -lm
$(B)/tests/lib/stub/lib/libnvrtc.so.13: tests/lib/stub/nvrtc.c Makefile
	@mkdir -p $(@D)
	$(Q)$(STUB_C)
$(B)/tests/check_cuda $(B)/tests/check_nvrtc: | $(STUB)

$(B)/tests/%: $(B)/tests/c/%.o $(B)/libkernelband.a
	$(Q)$(CC) $(ALL_LD) -o $@ $^ $(shell $(PKG) --libs check) $(LIBS)

$(B)/libkb_inject.so: $(INJECT_C:%.c=$(B)/pic/%.o)
	$(Q)$(CC) $(ALL_LD) -shared -o $@ $^ -ldl -lpthread

$(JAIL): $(addprefix $(B)/pic/core/,system/jail.o system/io.o clock.o kb.o)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(shell $(PKG) --libs libseccomp)

# cupti_profiler_host.h includes <string>, which C does not have.
$(CUPTI_C:%.c=$(B)/%.o) $(INJECT_C:%.c=$(B)/pic/%.o): HEADERS := -isystem $(B)/shim \
  $(if $(CUPTI),-isystem $(dir $(CUPTI))) -isystem $(CUDA)/include
$(CUPTI_C:%.c=$(B)/%.o) $(INJECT_C:%.c=$(B)/pic/%.o): | $(B)/shim/string
$(B)/shim/string:
	@mkdir -p $(@D) && : > $@

# It measures what kernels are held against. Those are compiled with optimisation and without a
# sanitizer in every build, so it is, too.
$(B)/core/cpu/roofline.o: ALL_C := $(filter-out -O% -fsanitize% -fno-sanitize% --coverage,$(ALL_C)) -O2

# Their text is carried in the binary.
$(B)/core/cuda/kit.o: core/cuda/judge.h core/cuda/kit.cu

$(B)/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize% -fno-sanitize% -DKB_SANITIZED% --coverage,$(ALL_C)) $(HEADERS) -fPIC -c -o $@ $<

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_C) $(HEADERS) -c -o $@ $<

# make check [T=NAME]: every test is a target of its own, but for WAITING, and always passes; the last
# line is the status. T is names, with % for any text.
T       ?= %
NAMES   := $(filter $(T),$(notdir $(TESTS)) $(basename $(notdir $(SPECS))))
# Those that take longest, the longest first: what begins last is short, and both processors end at
# about the same time.
LONGEST := spec_candidates spec_mistakes waiting spec_check spec_truth spec_eval spec_verify \
           spec_damage spec_sure spec_alive check_nvrtc spec_admission spec_paired
# Those that wait for a third of their time or more (servers, a browser, deadlines): one target.
WAITING := spec_serve spec_llm_server spec_llm_search spec_http spec_agent spec_resume check_serve \
           check_cuda
ONES    := $(filter-out $(WAITING),$(NAMES)) $(if $(filter $(WAITING),$(NAMES)),waiting)
CHECKS  := $(addprefix run-,$(filter $(ONES),$(LONGEST)) $(filter-out $(LONGEST),$(ONES)))
# It reads what the others have recorded.
run-spec_layers: | $(filter-out run-spec_layers,$(CHECKS))
# All they need is made before: make passes over a test that waits for something, and comes back to
# it after all others.
.PHONY: checks $(CHECKS) fresh-check
NEEDED  := all $(SERVER) $(STUB) $(filter $(NAMES:%=$(B)/tests/%),$(TESTS))
check: $(NEEDED) fresh-check
	@$(MAKE) --no-print-directory checks
checks: $(CHECKS)
	@$(if $(NAMES),,echo "make check: no test is named $(T)" >&2; exit 2)
	@sh tests/lib/check.sh all $(B)/check $(NAMES)
fresh-check:
	@mkdir -p $(B)/check && rm -f $(B)/check/roofline.json
command = $(if $(filter check_%,$1),$(B)/tests/$1,$(KB) run $(filter %/$1.lua,$(SPECS)))
$(CHECKS): run-%: | $(NEEDED)
	@sh tests/lib/check.sh run $(B)/check $(if $(filter waiting,$*),$(foreach t,$(filter $(WAITING),$(NAMES)),"$t $(call command,$t)"),"$* $(call command,$*)")

# make check-triton [T=NAME] [PYTHON=..]: the tests that need Python with torch and triton, which run
# on a CPU. Unless PYTHON names one that has them they are installed into build/venv.
VENV     := $(CURDIR)/build/venv
PYTHON   ?= $(VENV)/bin/python
ON_TORCH := $(filter $(T),$(basename $(notdir $(TRITON))))
check-triton: export AGAIN := make check-triton
check-triton: $(addprefix triton-,$(ON_TORCH))
	@$(if $(ON_TORCH),,echo "make check-triton: no test is named $(T)" >&2; exit 2)
	@sh tests/lib/check.sh all $(B)/check $(ON_TORCH)
.PHONY: check-triton venv $(addprefix triton-,$(ON_TORCH))
venv: $(VENV)/ready
$(addprefix triton-,$(ON_TORCH)): triton-%: | all fresh-check $(filter $(VENV)/%,$(PYTHON:%/bin/python=%/ready))
	@KERNELBAND_PYTHON=$(PYTHON) KERNELBAND_BUILD=$(CURDIR)/$(B) sh tests/lib/check.sh run $(B)/check \
	  "$* $(if $(filter spec_%,$*),$(KB) run tests/triton/$*.lua,$(PYTHON) -B -m pytest -q -rs -p no:cacheprovider tests/triton/$*.py)"
$(VENV)/ready: tests/triton/requirements.txt
	@command -v python3 >/dev/null || { echo "make check-triton needs python3 (packages python3 and python3-venv)" >&2; exit 2; }
	@start=$$(date +%s); rm -rf $(VENV); python3 -m venv $(VENV) && \
	  $(VENV)/bin/pip install -q --disable-pip-version-check -r $< && touch $@ && \
	  echo "build/venv: $$(du -sh $(VENV) | cut -f1), installed in $$(($$(date +%s) - start)) s"

# What uses what, from the code: text, and build/graph/*.svg with graphviz; lines by folder.
graph: all
	@$(KB) run tests/lib/graph.lua build/graph $(B)/check
count: all
	@$(KB) run tests/lib/count.lua

# What the program says and does, compared with tests/golden: make golden [UPDATE=1] [G=SECTION].
# Sections can be made at once: -j2. Timings are no part of it: make bench has those.
G ?= interface choices judge runs
GOLDEN := $(addprefix golden-,$(G))
.PHONY: golden $(GOLDEN)
golden: $(GOLDEN)
$(GOLDEN): golden-%: all $(SERVER) $(STUB)
	@$(KB) run tests/lib/golden.lua $(B)/golden $(if $(UPDATE),update) $*

# Every fault of tests/faults in a copy of this folder: the test it names must fail. make faults
# [F=NAME], NAME with % for any text.
F ?= %
faults:
	@sh tests/lib/faults.sh $(filter $(F),$(basename $(notdir $(wildcard tests/faults/*.patch))))

# Slow ones: README as written, and whatever else takes more than seconds.
soak: all $(SERVER)
	@for t in $(sort $(filter $(T),$(basename $(notdir $(wildcard tests/lua/soak_*.lua))))); do \
	  $(KB) run tests/lua/$$t.lua || exit 1; done

# Every kernel against itself, for hours; rows are kept, and the next call goes on.
# make soak-aa [AA=FILE] [MINUTES=60]
AA ?= build/aa.tsv
soak-aa:
	$(Q)$(MAKE) --no-print-directory MODE=release all
	@build/release/kernelband run tests/lua/aa.lua $(AA) $(MINUTES)

# What needs a GPU; without one it says so and passes.
check-gpu: all $(B)/tests/check_cupti_gpu
	@$(B)/tests/check_cupti_gpu
	@for t in $(sort $(wildcard tests/lua/gpu_*.lua)); do \
	  KERNELBAND_PYTHON=$(PYTHON) $(KB) run $$t || exit 1; done
bench-gpu:
	$(Q)$(MAKE) --no-print-directory MODE=release all
	@build/release/kernelband run tests/bench/gpu/bench_gpu.lua

# Programs whose children enter a seccomp jail make calls of valgrind there,
# which the jail refuses.
NO_VALGRIND := %/check_jail %/check_device %/check_process %/check_worker \
               %/check_nvrtc %/check_cubin %/check_sass %/check_cupti_gpu %/check_command %/check_cuda
memcheck: all $(TESTS) $(SERVER)
	@command -v valgrind >/dev/null || { echo "make memcheck needs valgrind (package valgrind)" >&2; exit 2; }
	@echo "not under valgrind, whose own system calls their jails refuse: $(notdir $(filter $(NO_VALGRIND),$(TESTS)))"
	@for t in $(filter-out $(NO_VALGRIND),$(TESTS)); do \
	  CK_FORK=no CK_TIMEOUT_MULTIPLIER=50 valgrind -q --leak-check=full --error-exitcode=1 $$t || exit 1; done

lint: all
	@sh tests/lib/lint.sh
	@$(KB) run tests/lib/lint.lua
	@if command -v luacheck >/dev/null; then luacheck -q lua strategies policies examples tests; \
	 else echo "luacheck is not installed (package lua-check): skipped"; fi

# SECONDS=60 make fuzz
SECONDS ?= 10
FUZZ_SRC = $(filter-out $(CUPTI_C),$(SRC)) $(filter core/cuda/counters/cupti_none.c,$(ABSENT))
build/fuzz/%: %.c $(SRC) Makefile
	@mkdir -p $(@D)
	$(Q)clang $(filter-out -MMD -MP,$(ALL_C)) -O1 -fsanitize=fuzzer,address,undefined -DKB_SANITIZED=1 \
	  -o $@ $< $(FUZZ_SRC) $(LIBS)
fuzz: all $(FUZZ) $(SERVER)
	@for f in $(FUZZ); do n=$$(basename $$f); mkdir -p build/fuzz/corpus/$$n tests/fuzz/corpus/$$n; \
	  $$f build/fuzz/corpus/$$n tests/fuzz/corpus/$$n -max_total_time=$(SECONDS) -verbosity=0 || exit 1; done
	@for f in $(wildcard tests/fuzz/fuzz_*.lua); do SECONDS=$(SECONDS) $(KB) run $$f || exit 1; done

bench:
	$(Q)$(MAKE) --no-print-directory MODE=release bench-run
bench-run: all $(BENCH) $(SERVER)
	@for b in $(BENCH); do $$b || exit 1; done
	@if python3 -c "import sklearn" 2>/dev/null; then python3 tests/bench/peers.py; \
	 else echo "peers: python3 with numpy and scikit-learn is not installed: skipped"; fi
	@for b in $(sort $(wildcard tests/bench/*.lua)); do $(KB) run $$b || exit 1; done

# Installs what is missing where apt can; elsewhere names it.
deps:
	@missing=""; \
	command -v $(CC) >/dev/null || missing="$$missing C-compiler"; \
	command -v objdump >/dev/null || missing="$$missing binutils"; \
	command -v $(PKG) >/dev/null || missing="$$missing pkg-config"; \
	for p in $(USES) $(OPENS) openssl check; do $(PKG) --exists $$p 2>/dev/null || missing="$$missing $$p"; done; \
	[ "$$missing" ] || exit 0; \
	if ! command -v apt-get >/dev/null; then \
	  echo "Missing:$$missing. On Debian these are the packages $(PACKAGES)." >&2; exit 2; fi; \
	sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	echo "installing $(PACKAGES) (missing:$$missing)"; \
	$$sudo apt-get update -q && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(PACKAGES)

demo: deps
	$(Q)$(MAKE) --no-print-directory -j2 MODE=release all
	@build/release/kernelband run examples/quickstart.lua

# A folder that runs wherever glibc is 2.36 or later and, for GPUs, there is a
# driver: the binary, the shared libraries it needs beside glibc's own, the Lua
# files, and the toolkit's NVRTC, headers and CUPTI (WITH_CUDA=no: without).
BUNDLE := build/bundle/kernelband
GLIBC  := linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|util)\.so
bundle:
	$(Q)$(MAKE) --no-print-directory MODE=release bundle-run
bundle-run: all
	$(Q)rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/bin $(BUNDLE)/lib $(BUNDLE)/share/kernelband
	$(Q)$(CC) $(ALL_LD) -Wl,-rpath,'$$ORIGIN/../lib',--disable-new-dtags \
	  -o $(BUNDLE)/bin/kernelband $(B)/core/main.o $(B)/libkernelband.a $(LIBS)
	$(Q)strip --strip-debug $(BUNDLE)/bin/kernelband
	$(Q)for f in $(INJECT) $(JAIL); do cp $$f $(BUNDLE)/lib/ && strip --strip-debug $(BUNDLE)/lib/$$(basename $$f); done
	$(Q)if [ "$(WITH_CUDA)" != no ] && [ -e $(CUDA)/lib64/libnvrtc.so ]; then \
	  mkdir -p $(BUNDLE)/cuda/lib && cp -RL $(CUDA)/include $(BUNDLE)/cuda/ && \
	  cp -L $(CUDA)/lib64/libnvrtc.so.1[23] $(CUDA)/lib64/libnvrtc-builtins.so.1[23].* \
	    $(BUNDLE)/cuda/lib/ || exit 1; \
	  for l in libcupti.so.1[23] libnvperf_host.so libnvperf_target.so; do \
	    for f in $(CUDA)/lib64/$$l $(CUDA)/extras/CUPTI/lib64/$$l; do \
	      if [ -e $$f ]; then cp -L $$f $(BUNDLE)/lib/; fi; done; done; fi
	$(Q)for f in $(OPENED); do cp -L "$$($(CC) -print-file-name=$$f)" $(BUNDLE)/lib/ || exit 1; done
	$(Q)for f in $(BUNDLE)/bin/kernelband $(addprefix $(BUNDLE)/lib/,$(OPENED)) $(BUNDLE)/cuda/lib/*; do [ ! -e $$f ] || ldd $$f; done \
	  | awk '$$2 == "=>" && $$3 ~ /^\// { print $$3 }' | sort -u | grep -Ev '/($(GLIBC))' \
	  | grep -v '$(BUNDLE)' | xargs -r cp -L -t $(BUNDLE)/lib
	$(Q)cp -R lua strategies policies examples $(BUNDLE)/share/kernelband/
	$(Q)cp LICENSE README.md $(BUNDLE)/
	@du -sh $(BUNDLE)

SHARE = $(DESTDIR)$(PREFIX)/share/kernelband
# The manual page and the completions are printed by the program itself.
DOCS  = man/man1/kernelband.1 bash-completion/completions/kernelband zsh/site-functions/_kernelband
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)
	install -m 755 $(KB) $(DESTDIR)$(PREFIX)/bin/kernelband
	for f in $(INJECT) $(JAIL); do install -m 755 $$f $(SHARE)/; done
	cp -R lua strategies policies examples $(SHARE)/
	@set -e; for d in $(DOCS); do f=$(DESTDIR)$(PREFIX)/share/$$d; install -d "$$(dirname "$$f")"; \
	  case $$d in man/*) k=man ;; bash*) k=bash ;; *) k=zsh ;; esac; \
	  echo "$(KB) doc $$k -o $$f"; $(KB) doc $$k -o "$$f"; chmod 644 "$$f"; done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/kernelband $(addprefix $(DESTDIR)$(PREFIX)/share/,$(DOCS))
	rm -rf $(SHARE)

clean:
	$(Q)rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)

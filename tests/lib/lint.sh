#!/bin/sh
# House rules that a command can see. Prints each breach; status 1 if any.
bad=0
say() { echo "lint: $*" >&2; bad=1; }

# Only core/lua includes Lua's headers.
for f in $(grep -lE '#include *<(lua|lauxlib|lualib|lua-cjson)\.h>' core/*.[ch] core/*/*.[ch] core/*/*/*.[ch]); do
  case $f in core/lua/*) ;; *) say "$f includes lua.h" ;; esac
done

# Size: files of 500 lines, functions of 60.
for f in core/*.[ch] core/*/*.[ch] core/*/*/*.[ch] lua/kernelband/*.lua lua/kernelband/*/*.lua lua/kernelband/*/*/*.lua; do
  n=$(wc -l <"$f")
  [ "$n" -le 500 ] || say "$f has $n lines (500)"
done
for f in core/*.c core/*/*.c core/*/*/*.c; do
  awk -v f="$f" '/^[a-z].*[^;]$/ { name = $0 } /^{/ { start = NR } /^}/ && start {
    if (NR - start > 60) { printf "lint: %s: %d lines: %s\n", f, NR - start, name; bad = 1 }
    start = 0 } END { exit bad }' "$f" >&2 || bad=1
done
for f in policies/*.lua; do
  n=$(wc -l <"$f")
  [ "$n" -le 150 ] || say "$f has $n lines (150)"
done

# The budget of the whole.
c=$(cat core/*.[ch] core/*/*.[ch] core/*/*/*.[ch] | wc -l)
l=$(cat lua/kernelband/*.lua lua/kernelband/*/*.lua lua/kernelband/*/*/*.lua | wc -l)
echo "lint: core $c lines of C, lua $l lines"

# The top level is fixed.
for e in $(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u); do
  case $e in core|lua|strategies|policies|examples|tests|Makefile|README.md|LICENSE|.*) ;; *) say "top-level entry $e" ;; esac
done

# The patch of each seeded fault applies: make faults takes ten minutes to say so.
if command -v patch >/dev/null; then
  for f in tests/faults/*.patch; do
    patch -p1 --dry-run -s -f -F0 <"$f" >/dev/null 2>&1 || say "$f applies no more: make it anew"
  done
else
  echo "lint: skipped: whether tests/faults applies (no patch)"
fi
exit $bad

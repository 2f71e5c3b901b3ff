#!/bin/sh
# faults.sh NAME.. - the seeded faults: make faults. Each tests/faults/NAME.patch says which test
# catches it ("test: spec_x") and changes one line. In a copy of this folder (build/faults) it is
# applied, built, and that test is run: it must fail. Without any fault it must pass there: all of
# them run once before.
[ $# -gt 0 ] || { echo "make faults: no fault has that name" >&2; exit 2; }
copy=${COPY:-build/faults}
rm -rf $copy && mkdir -p $copy/build
cp -a Makefile README.md core lua policies strategies examples tests .luarc.json $copy/
if [ -d build/release ]; then cp -a build/release $copy/build/; fi
patches=$PWD/tests/faults
cd $copy || exit 2
test_of() { sed -n 's/^test: //p' "$patches/$1.patch"; }
make_test() { timeout -k 5 "${2:-600}" make -j2 MODE=release check T="$1" >log 2>&1; }

start=$(date +%s) missed="" count=0 broken=""
tests=$(for name; do test_of "$name"; done | sort -u | tr '\n' ' ')
make_test "$tests" 3600 || broken=" $(sed -n 's/^failed: *//p' log) "
for name; do
  count=$((count + 1)) t=$(test_of "$name") patch=$patches/$name.patch
  file=$(sed -n 's,^+++ b/,,p' "$patch")
  if [ -z "${broken##* $t *}" ] && [ "$broken" ]; then
    word="$t fails without it too: mend that first"
  elif ! patch -p1 --dry-run -s -f -F0 <"$patch" >log 2>&1; then
    word="no longer applies: make it anew, with the same fault in $file"
  else
    patch -p1 -s -F0 <"$patch"
    if ! make -j2 MODE=release all >log 2>&1; then
      word="does not build: $(grep -m1 error log)"
    elif make_test "$t"; then
      word="not caught: $t passes"
    else
      word=""
      [ "$(awk '{ print $2 }' "build/release/check/$t.row")" = failed ] || word="$t did not run"
    fi
    patch -p1 -s -R -F0 <"$patch"
    find . -name '*.orig' -newer log -delete
  fi
  [ "$word" ] && missed="$missed
  $name: $word"
  printf '%-36s %s\n' "$name" "${word:-caught by $t}"
done
echo "$count faults, $(($(date +%s) - start)) s"
if [ "$missed" ]; then echo "missed:$missed" >&2; exit 1; fi

#!/bin/sh
# One test of make check, and what is said at the end of all.
#   check.sh run FOLDER "NAME COMMAND"..  runs it, or them at once; FOLDER/NAME.log, FOLDER/NAME.row
#                                         of each; status 0
#   check.sh all FOLDER NAME..            the rows' summary; status 1 if one failed
# A row: seconds, ok or failed, name. A test says "skipped: why" for what it leaves out.
verb=$1 folder=$2
shift 2

# With make -j a test keeps to a processor of its own, where one is free: tests run kernels beside
# a parent that waits for them, and on the processors of another test both would be late. Not those
# that ask for several processors. Tests that run at once share one.
keep_to_one() {
  case ${1%% *} in spec_loop | spec_cuda_stub | check_device | test_* | *triton*) return ;; esac
  case " $MAKEFLAGS" in *" -j"*) ;; *) return ;; esac
  for range in $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , ' '); do
    for cpu in $(seq "${range%-*}" "${range#*-}"); do
      exec 9>"$folder/processor.$cpu"
      if flock -n 9; then taskset -pc "$cpu" $$ >/dev/null; return; fi
    done
  done
}

run() {
  keep_to_one "$1"
  # What a shell starts in the background ignores SIGINT.
  if [ $# -eq 1 ]; then one $1; return; fi
  for test; do
    one ${test%% *} env --default-signal=INT,QUIT ${test#* } &
  done
  wait
}

one() {
  name=$1
  shift
  start=$(date +%s%N)
  case $name in                         # these alone ask how sure a time is
    spec_sure | spec_verify) rounds=16 ;;
    *) rounds=2 ;;
  esac
  if KERNELBAND_REQUIRES="$folder/$name.requires" KERNELBAND_ROOFLINE="$PWD/$folder/roofline.json" \
     KERNELBAND_ROUNDS=$rounds "$@" >"$folder/$name.log" 2>&1 </dev/null 9>&-
  then word=ok; else word=failed; fi
  case $name in
    spec_*) grep -aq '^[0-9]* passed, [0-9]* failed$' "$folder/$name.log" \
            || { word=failed; echo 'it did not reach t.finish(), which reports failures' >>"$folder/$name.log"; } ;;
  esac
  took=$((($(date +%s%N) - start) / 10000000))
  printf '%d.%02d %s %s\n' $((took / 100)) $((took % 100)) $word "$name" >"$folder/$name.row"
  text=$(printf '%-7s %-24s %4d.%02d s' $word "$name" $((took / 100)) $((took % 100)))
  skips=$(grep -a 'skipped\|left out: ' "$folder/$name.log" | grep -av '^not ok' | sort -u \
          | cut -c1-120 | sed 's/^/        /')
  [ "$skips" ] && text="$text
$skips"
  [ $word = failed ] && text="$text
$(sed 's/^/    /' "$folder/$name.log" | tail -n 100)
    again: ${AGAIN:-make check} T=$name"
  echo "$text"
}

all() {
  rows=$(for name; do cat "$folder/$name.row"; done)
  if [ $# -gt 1 ]; then
    echo "the slowest:"
    echo "$rows" | sort -rn | head -n 10 | awk '{ printf "%10.2f s  %s\n", $1, $3 }'
  fi
  failed=$(echo "$rows" | awk '$2 == "failed" { printf " %s", $3 }')
  if [ "$failed" ]; then echo "failed:$failed" >&2; exit 1; fi
  echo "$rows" | awk '{ s += $1 } END { printf "%d tests, %.0f s of them, none failed\n", NR, s }'
}

$verb "$@"

#!/bin/sh
# Records the two large spaces of examples/traces on the GPU of this machine: softmax, and the
# fp32 product of 1024 x 1024 (at gemm_f32's own size 2,000 points take an hour). Recordings that
# are in OUT already go on.
#   sh tests/bench/record_spaces.sh KERNELBAND OUT [SECONDS [ROWS]]
set -e
kb=$1 out=$2 seconds=${3:-560} rows=${4:-2400}
start=$(date +%s)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp -R examples/tasks/gemm_f32 "$work/gemm_f32_1024"
sed -i -e 's/"gemm_f32"/"gemm_f32_1024"/' -e 's/, at the size of a GPU//' \
  -e 's/m = 4096, n = 4096, k = 4096/m = 1024, n = 1024, k = 1024/' \
  -e 's/m = 512, n = 14336, k = 4096/m = 256, n = 4096, k = 1024/' "$work/gemm_f32_1024/task.lua"
grep -q 'm = 256, n = 4096, k = 1024' "$work/gemm_f32_1024/task.lua"

# record TASK SHARE: takes that share, in percent, of the time that is left.
record() {
  left=$((start + seconds - $(date +%s)))
  "$kb" record "$1" --device cuda:0 --limit "$rows" -o "$out/$(basename "$1").jsonl.gz" \
    --minutes "$(awk "BEGIN { print $left * $2 / 100 / 60 }")"
}
failed=0
record examples/tasks/softmax 45 || failed=1
record "$work/gemm_f32_1024" 96 || failed=1
exit $failed

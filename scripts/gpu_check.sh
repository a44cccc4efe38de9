#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds and runs every CUDA test and benchmark on a machine with a GPU, nvcc and CMake, without a network; prints a table.
#
#   scripts/gpu_check.sh --collect DIR     on a Debian machine: copies the packages that the tests need into DIR
#   scripts/gpu_check.sh [--prefix DIR]    on the GPU machine: builds, tests, measures (DIR: what --collect made)
#
# Options: --build DIR (default build/gpu), --architectures LIST (default: the GPU's own), --keep-going builds and runs
# what it can without a GPU. Exit code: 0 all passed, 1 something failed, 77 there is no GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(libgtest-dev libgmock-dev googletest libhwy-dev libhwy1 libxxhash-dev nlohmann-json3-dev libpcre2-dev
  prometheus-cpp-dev libprometheus-cpp-core1.0)
prefix='' build=build/gpu architectures='' keep_going=false

usage() { sed -n '4,10p' "$0"; exit 2; }

collect() {
  local to=$1 name file
  mkdir -p "$to"
  for name in "${packages[@]}"; do
    dpkg -L "$name" | while read -r file; do
      case "$file" in
        /usr/include/* | /usr/lib/* | /usr/share/cmake/*)
          if [ -f "$file" ]; then
            mkdir -p "$to/$(dirname "${file#/usr/}")"
            cp -a "$file" "$to/${file#/usr/}"
          fi ;;
      esac
    done
  done
  du -sh "$to"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --collect) collect "${2:?--collect needs a folder}"; exit 0 ;;
    --prefix) prefix=$(realpath "$2"); shift 2 ;;
    --build) build=$2; shift 2 ;;
    --architectures) architectures=$2; shift 2 ;;
    --keep-going) keep_going=true; shift ;;
    *) usage ;;
  esac
done

# The compute capability of the first GPU, "90"; nothing where there is none: without a driver nvidia-smi complains on
# its standard output.
capability() {
  local text
  command -v nvidia-smi >/dev/null || return 0
  text=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || return 0
  text=$(head -1 <<<"$text" | tr -d ' .')
  if [[ "$text" =~ ^[0-9]+$ ]]; then echo "$text"; fi
}

has_gpu=true
own=$(capability)
if [ -z "$own" ]; then
  has_gpu=false
  echo "gpu_check: there is no GPU on this machine (nvidia-smi names none)"
  $keep_going || exit 77
fi
nvcc=${CUDACXX:-nvcc}  # a path, or a name to look for
nvcc=$(command -v "$nvcc" || { [ -z "${CUDACXX:-}" ] && command -v /usr/local/cuda/bin/nvcc; }) ||
  { echo "gpu_check: no ${CUDACXX:-nvcc}; set CUDACXX to the CUDA compiler" >&2; exit 1; }

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
configure=(cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DTANDEM_GPU_ONLY=ON
  "-DCMAKE_CUDA_COMPILER=$nvcc" "-DTANDEM_CUDA_ARCHITECTURES=${architectures:-${own:-90}}")
[ -n "$prefix" ] && configure+=("-DCMAKE_PREFIX_PATH=$prefix")
mkdir -p "$build"
echo "gpu_check: configuring and building in $build"
"${configure[@]}" >"$build/configure.log" 2>&1 || { tail -20 "$build/configure.log"; exit 1; }
cmake --build "$build" --target tandem_gpu_check -j "$(nproc)" >"$build/build.log" 2>&1 ||
  { grep -n -i 'error' "$build/build.log" | head -20; exit 1; }

failed=0
rows=()
run() {  # run NAME COMMAND...
  local name=$1 log="$build/$1.log" code=0
  shift
  if ! [ -x "${!#}" ]; then  # the program is the last word
    rows+=("$name|skipped|not built: $build/configure.log says what is missing")
    return
  fi
  "$@" >"$log" 2>&1 || code=$?
  local passed skipped
  passed=$(grep -c '^\[       OK \]' "$log" || true)
  skipped=$(grep -c '^\[  SKIPPED \].*ms)' "$log" || true)
  if [ "$code" -eq 77 ]; then
    rows+=("$name|skipped|$(tail -1 "$log")")
  elif [ "$code" -ne 0 ]; then
    rows+=("$name|FAILED|see $log")
    failed=1
  else
    rows+=("$name|ok|$passed passed, $skipped skipped")
  fi
}

$has_gpu && export TANDEM_TEST_REQUIRE=cuda
for test in gpu_host_functions_test gpu_kernels_simt_test gpu_kernels_test gpu_layers_simt_test gpu_layers_test \
  gpu_mma_simt_test gpu_mma_test gpu_prefill_simt_test gpu_prefill_test \
  cuda_backend_test cuda_aggregation_simt_test cuda_aggregation_test nccl_rounds_test nccl_transport_test; do
  run "$test" "$build/bin/$test"
done
if $has_gpu && command -v compute-sanitizer >/dev/null; then
  for test in gpu_kernels_test gpu_layers_test gpu_mma_test gpu_prefill_test; do
    run "memcheck_$test" compute-sanitizer --error-exitcode 1 "$build/bin/$test"
    run "racecheck_$test" compute-sanitizer --tool racecheck --error-exitcode 1 "$build/bin/$test"
  done
fi
for bench in bench_gpu_sparse bench_gpu_layers bench_gpu_prefill; do run "$bench" "$build/bin/$bench"; done

echo
printf '%-28s %-8s %s\n' what result detail
for row in "${rows[@]}"; do
  IFS='|' read -r name result detail <<<"$row"
  printf '%-28s %-8s %s\n' "$name" "$result" "$detail"
done
if grep -qs '^{' "$build"/bench_gpu_*.log; then
  echo
  printf '%-44s %10s %10s %10s %8s\n' figure ms p90 GB-TFLOP/s ratio
  sed -n 's/^{"name": "\([^"]*\)", "median": \([^,]*\), .*"p90": \([^,]*\), .*"[A-Z]*_per_s": \([^,]*\), "ratio": \([^,]*\),.*/\1 \2 \3 \4 \5/p' \
    "$build"/bench_gpu_*.log | while read -r name median p90 speed ratio; do
    printf '%-44s %10s %10s %10s %8s\n' "$name" "$median" "$p90" "$speed" "$ratio"
  done
fi
$has_gpu || exit 77
exit $failed

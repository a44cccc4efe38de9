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
    --prefix) prefix=$(realpath "${2:?--prefix needs a folder}"); shift 2 ;;
    --build) build=${2:?--build needs a folder}; shift 2 ;;
    --architectures) architectures=${2:?--architectures needs a list}; shift 2 ;;
    --keep-going) keep_going=true; shift ;;
    *) usage ;;
  esac
done

# The compute capability of the first GPU, such as "90"; nothing without a GPU. (Without a driver nvidia-smi writes its
# error to standard output.)
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
  echo "gpu_check: there is no GPU on this machine (nvidia-smi names none); --keep-going builds and runs what it can without"
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
cmake --build "$build" -j "$(nproc)" >"$build/build.log" 2>&1 ||
  { grep -n -i 'error' "$build/build.log" | head -20; exit 1; }

failed=0
rows=()
run() {  # run NAME COMMAND...
  local name=$1 log="$build/$1.log" code=0
  shift
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
for test in "$build"/bin/*_test; do run "$(basename "$test")" "$test"; done
# A second run with Hopper's kernels and overlapping launches. If steps do not become graphs, cases of cuda_engine_test,
# cuda_engine_rings_test, cuda_padded_steps_test and cuda_experts_test fail, here and above.
for test in attention_unit_test compute_unit_test cuda_experts_test cuda_engine_test cuda_engine_experts_test \
  cuda_engine_rings_test cuda_padded_steps_test; do
  if [ -x "$build/bin/$test" ]; then
    run "hopper_$test" env TANDEM_TEST_CUDA_KERNELS=hopper "$build/bin/$test"
  else
    rows+=("hopper_$test|FAILED|there is no $build/bin/$test")
    failed=1
  fi
done
python=${TANDEM_TORCH_PYTHON:-python3}
if $has_gpu && [ -x "$build/bin/attention_case" ]; then
  run torch_attention "$python" -B tests/drivers/device/torch_attention_test.py "$build/bin/attention_case" cuda:0
fi
if $has_gpu && command -v compute-sanitizer >/dev/null; then
  for test in "$build"/bin/gpu_*_test "$build"/bin/cuda_*_test; do
    case "$test" in *_simt_test | *host_functions_test) continue ;; esac
    run "memcheck_$(basename "$test")" compute-sanitizer --error-exitcode 1 "$test"
    run "racecheck_$(basename "$test")" compute-sanitizer --tool racecheck --error-exitcode 1 "$test"
  done
fi
for bench in "$build"/bin/bench_gpu_*; do run "$(basename "$bench")" "$bench"; done
$has_gpu && run bench_torch "$python" -B benchmarks/gpu/torch_peer.py

echo
printf '%-28s %-8s %s\n' what result detail
for row in "${rows[@]}"; do
  IFS='|' read -r name result detail <<<"$row"
  printf '%-28s %-8s %s\n' "$name" "$result" "$detail"
done
"$python" -B benchmarks/gpu/table.py "$build"/bench_*.log
$has_gpu || exit 77
exit $failed

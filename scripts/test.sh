#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the tests need, builds everything and runs it.
#
#   scripts/test.sh                all tests of the release build
#   scripts/test.sh --sanitizers   besides, the unit tests under address+undefined and thread sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

sanitizers=false
case "${1:-}" in
  --sanitizers) sanitizers=true ;;
  "") ;;
  *) sed -n '3,7p' "$0"; exit 2 ;;
esac

install_packages "${tandem_packages[@]}" python3-venv clang-format redis-server g++-aarch64-linux-gnu qemu-user
if ! cmp -s tests/requirements.txt build/venv/requirements.txt; then
  say "installing Python packages of the tests into build/venv"
  mkdir -p build
  rm -rf build/venv
  /usr/bin/python3 -m venv build/venv
  build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt build/venv/requirements.txt
  # A tree configured before has recorded another Python.
  if [ -f build/release/build.ninja ]; then cmake --preset release >/dev/null; fi
fi

build release
say "testing release"
ctest --preset release -j "$(nproc)"

if $sanitizers; then
  for kind in asan tsan; do
    build "$kind" tandem_unit_tests
    say "testing $kind"
    ctest --preset "$kind" -j "$(nproc)"
  done
fi

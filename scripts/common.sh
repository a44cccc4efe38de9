# SPDX-License-Identifier: Apache-2.0
# Shared by demo.sh and test.sh: installs what Debian packages provide and configures the build. Sourced, not run.
# Everything here does nothing when it has been done already.

# Names as in Debian 12: what the daemon on emulated cards is built with, and what everything else needs.
demo_packages=(
  build-essential cmake ninja-build pkg-config
  libboost-dev libboost-context-dev libssl-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev
  prometheus-cpp-dev libpcre2-dev libutf8proc-dev libxxhash-dev libhwy-dev libhwloc-dev uuid-dev libpugixml-dev zlib1g-dev
  libxrt-dev libxrt1 opencl-c-headers curl jq bsdextrautils
)
tandem_packages=(
  "${demo_packages[@]}" ccache git ca-certificates python3 libdnnl-dev clang llvm-14-dev gcc-12-plugin-dev libgtest-dev libgmock-dev
  libboost-filesystem-dev lsb-release  # what XRT's own package brings, so Makefiles for it link and ask
  ocl-icd-opencl-dev opencl-headers pocl-opencl-icd tcl pybind11-dev libpython3-dev
  libopenmpi-dev openmpi-bin iproute2 libgloo-dev libmetis-dev libscotch-dev coinor-libclp-dev libsqlite3-dev
)
test_packages=(debootstrap gdb procps verilator chromium chromium-driver python3-selenium python3-venv python3-pip python3-setuptools python3-wheel python3-torch libtorch-dev clang-format clang-tidy redis-server g++-aarch64-linux-gnu qemu-user)

# What runs here talks to loopback only, never through a proxy.
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"

say() { printf '\033[1m== %s\033[0m\n' "$*"; }

# install_packages NAME...: installs those that are missing, as root or through sudo.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing Debian packages: ${missing[*]}"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "need root or sudo to install: ${missing[*]}" >&2; return 1; }
    root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get -o Acquire::Retries=10 update -qq
  "${root[@]}" apt-get -o Acquire::Retries=10 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build PRESET [TARGET...]: configures once, then builds.
build() {
  local preset=$1
  shift
  local first=
  if [ ! -f "build/$preset/build.ninja" ]; then
    first=1
    say "configuring $preset"
    cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; rm -f "build-$preset.log"; return 1; }
    rm -f "build-$preset.log"
  fi
  say "building $preset${*:+: $*}"
  local quiet=--quiet
  if [ -t 1 ]; then quiet=; fi  # on a terminal ninja counts in one line
  # A first build finds little in ccache. Depend mode spares every miss a second run of the preprocessor.
  ${first:+env CCACHE_DEPEND=1} cmake --build --preset "$preset" ${*:+--target "$@"} -- -j "$(nproc)" ${quiet:+"$quiet"}
}

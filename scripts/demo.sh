#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tandem's main job, from a fresh Debian 12 to a streamed answer: installs packages, builds, starts the daemon on the
# demo model with two emulated Alveo U55C cards, asks it for a story, shows what ran where, and keeps serving.
#
#   scripts/demo.sh          until Ctrl-C
#   scripts/demo.sh --once   stops after the first answer
#   scripts/demo.sh --gpu    dense layers on the first GPU; needs the CUDA toolkit, and builds the CUDA kernels
#   PORT=9000 scripts/demo.sh
#
# The build lies in build/demo and has what the demo runs: without --gpu no CUDA kernel, test or benchmark, and of the programs
# that `tandem` starts none. Only the CPU's kernels are optimised there. The preset `release` builds all of it, for measurements.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

once=false
preset=demo
packages=("${demo_packages[@]}")
dense=()
for option in "$@"; do
  case "$option" in
    --once) once=true ;;
    --gpu) preset=release packages=("${tandem_packages[@]}") dense=(--compute cuda:0) ;;  # that preset configures the tests too
    *) sed -n '3,13p' "$0"; exit 2 ;;
  esac
done
port=${PORT:-8080}

install_packages "${packages[@]}"
build "$preset" tandem-demo

# The emulated cards: XRT is Debian's own, this only tells it where its device library is.
if [ ! -f "build/$preset/xrt/setup.sh" ]; then
  echo "this build has no emulated cards; the reason is in the output of: cmake --preset $preset" >&2
  exit 1
fi
source "build/$preset/xrt/setup.sh"
export XCL_EMULATION_MODE=sw_emu TANDEM_CARDS=2

work=$(mktemp -d)
daemon=
cleanup() {
  trap '' INT TERM  # a second Ctrl-C must not leave the daemon behind
  if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
    kill -TERM "$daemon"
    wait "$daemon" || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT
trap "echo; exit 0" INT TERM

serve=("${dense[@]}" --attention xrt:0,xrt:1 --placement interleave --port "$port")
say "tandem serve ${serve[*]}"
"build/$preset/bin/tandem" serve "${serve[@]}" --port-file "$work/port" \
  >"$work/log" 2>&1 &
daemon=$!
for _ in $(seq 3000); do
  [ -s "$work/port" ] && break
  kill -0 "$daemon" 2>/dev/null || { cat "$work/log"; exit 1; }
  sleep 0.1
done
[ -s "$work/port" ] || { echo "the daemon did not come up in five minutes" >&2; cat "$work/log" >&2; exit 1; }
url=http://127.0.0.1:$(cat "$work/port")
grep -E 'model|attention' "$work/log" || true

say "a chat request, streamed"
question='Write a story about a bear.'
echo "> $question"
curl --noproxy "*" -sN "$url/v1/chat/completions" -H 'Content-Type: application/json' -d "$(
  jq -n --arg q "$question" \
    '{model: "tandem-stories", stream: true, temperature: 0, max_tokens: 300, messages: [{role: "user", content: $q}]}')" |
  sed -un 's/^data: \({.*\)$/\1/p' | jq -rj --unbuffered '.choices[0].delta.content // empty'
echo

say "what ran where"
curl --noproxy "*" -s "$url/status" | jq -r '
  ["device", "role", "layers", "launches", "KiB sent", "KiB received", "KiB read there", "seconds"],
  (.devices[] | [.device, .role, .layers, .launches, ((.bytes_to_device // 0) / 1024 | floor),
    ((.bytes_from_device // 0) / 1024 | floor), ((.kv_bytes_read // .weight_bytes_read) / 1024 | floor),
    (.seconds * 1000 | round / 1000)]) | @tsv' | column -t -s "$(printf '\t')"

if $once; then
  exit 0
fi
cat <<TEXT

The daemon serves at $url until Ctrl-C. Talk to it:

  curl -N $url/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "tandem-stories", "stream": true, "messages": [{"role": "user", "content": "Tell me a story about a cat."}]}'

  python3 -m venv venv && venv/bin/pip install openai && venv/bin/python - <<'PY'
  from openai import OpenAI
  client = OpenAI(base_url="$url/v1", api_key="none")
  answer = client.chat.completions.create(
      model="tandem-stories", messages=[{"role": "user", "content": "Tell me a story about a cat."}])
  print(answer.choices[0].message.content)
  PY

  curl $url/metrics
TEXT
wait "$daemon"

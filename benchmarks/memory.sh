#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The memory that `tandem serve` holds for a model: benchmarks/memory.sh BUILD MODEL [serve options]
# One JSON line: kilobytes resident after one answer. Of these, mapped from the model's file, and anonymous (touched KV
# pages, activations, tokenizer, the program's own).
set -euo pipefail
build=$1 model=$2
shift 2
work=$(mktemp -d)
"$build/bin/tandem" serve --model "$model" --attention cpu --port 0 --port-file "$work/port" "$@" >"$work/log" 2>&1 &
daemon=$!
trap 'kill -TERM $daemon 2>/dev/null || true; wait $daemon || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do [ -s "$work/port" ] && break; sleep 0.1; done
[ -s "$work/port" ] || { cat "$work/log" >&2; exit 1; }
url=http://127.0.0.1:$(cat "$work/port")
name=$(curl --noproxy '*' -s "$url/v1/models" | jq -r '.data[0].id')
curl --noproxy '*' -s "$url/v1/completions" -H 'Content-Type: application/json' -d "$(
  jq -n --arg m "$name" '{model: $m, prompt: "Once upon a time", max_tokens: 16, ignore_eos: true}')" >/dev/null
file_kb=$(($(stat -Lc %s "$model") / 1024))
awk -v file_kb="$file_kb" -v model="$model" '
  /^Rss:/ {rss = $2} /^Anonymous:/ {anonymous = $2}
  END {printf "{\"name\": \"daemon_memory\", \"model\": \"%s\", \"file_kib\": %d, \"resident_kib\": %d, \"anonymous_kib\": %d, \"mapped_kib\": %d}\n",
       model, file_kb, rss, anonymous, rss - anonymous}' "/proc/$daemon/smaps_rollup"

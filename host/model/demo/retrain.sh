#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains the demonstration model anew by `tandem train`, and compares it with the committed one.
#
#   PYTHON=venv/bin/python host/model/demo/retrain.sh CORPUS OUT [option of tandem train...]
#
# PYTHON: one with numpy, sentencepiece, gguf and jinja2. In OUT: stories.u16 and held-out.txt, the run, the new model and its
# golden.json.
set -euo pipefail
corpus=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
demo=$(dirname "$(realpath "$0")")
python=${PYTHON:-python3}
tandem=${TANDEM:-$demo/../../../build/release/bin/tandem}
committed=$demo/tandem-stories-q8_0.gguf
new=$out/tandem-stories-q8_0.gguf

"$python" "$demo/tokens.py" --corpus "$corpus" --out "$out/stories.u16" --valid "$out/held-out.txt"
"$tandem" train --config "$demo/recipe.toml" --model-config "$demo/shape.toml" \
  --text "$out/stories.u16" --valid "$out/held-out.txt" --out "$out/run" "$@"
"$tandem" train export "$out/run" "$out/model.gguf"
"$tandem" quantize "$out/model.gguf" "$new" --type q8_0
"$python" "$demo/reference.py" "$new" --golden "$out/golden.json"
"$python" "$demo/held_out.py" --tandem "$tandem" --stories "$out/held-out.txt" "$committed" "$new"

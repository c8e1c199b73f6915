#!/usr/bin/env bash
# Builds gisrun and runs the main job, `pipelines/ndvi.toml`, on the sample scenes, served on loopback like an archive.
set -euo pipefail
cd "$(dirname "$0")/.."

./setup.sh
cargo build --release --locked --bin gisrun --example serve
built=${CARGO_TARGET_DIR:-target}/release

out=$PWD/examples/out
mkdir -p "$out"
coproc SERVER { exec "$built/examples/serve" examples/in; }
server=$SERVER_PID
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r address <&"${SERVER[0]}"

: >"$out/scenes.txt"
for scene in examples/in/*.tif; do
  echo "$address$(basename "$scene")" >>"$out/scenes.txt"
done
"$built/gisrun" pipelines/ndvi.toml --fresh --set "list=$out/scenes.txt" --set "out=$out"
ls -l "$out"

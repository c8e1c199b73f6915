#!/usr/bin/env bash
# Signals in the middle of one long warp: two, or one and its `grace`, end it within five seconds, and nothing
# half-written stays.
#
# Usage: interrupt.sh GISRUN
set -euo pipefail
gisrun=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

die() { echo "interrupt: $*" >&2; exit 1; }

mkdir "$work/in"
{ printf 'P5\n420 420\n255\n'; head -c 176400 /dev/urandom; } >"$work/noise.pgm"
gdal_translate -q -a_srs EPSG:32633 -a_ullr 500000 4000000 504200 3995800 "$work/noise.pgm" "$work/in/a.tif"
cat >"$work/job.toml" <<TOML
name = "job"
[stages]
scenes  = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "scenes", read = {} }
warped  = { from = "bands", warp = { crs = "EPSG:3857", size = [12000, 12000], resampling = "lanczos" } }
encoded = { from = "warped", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
TOML

# ended_by SIGNAL TIMES: starts the run, sends the signal in the middle of the warp, and looks at how it ends.
ended_by() {
  local signal=$1 times=$2 pid code=0 begun took
  (cd "$work" && exec "$gisrun" job.toml >said 2>&1) &
  pid=$!
  until grep -q '"stage_started","stage":"warped"' "$work/.gisrun/job.run.jsonl" 2>/dev/null; do
    kill -0 "$pid" || die "the run ended before its warp: $(cat "$work/said")"
    sleep 0.1
  done
  begun=$(date +%s%N)
  kill -"$signal" "$pid"
  if [ "$times" = 2 ]; then
    until grep -q "stopping" "$work/said"; do sleep 0.05; done
    begun=$(date +%s%N)
    kill -"$signal" "$pid"
  fi
  wait "$pid" || code=$?
  took=$((($(date +%s%N) - begun) / 1000000))
  [ "$code" = $([ "$signal" = INT ] && echo 130 || echo 143) ] || die "SIG$signal: exit $code: $(cat "$work/said")"
  [ "$took" -le 5000 ] || die "SIG$signal: $took ms to stop"
  [ -z "$(find "$work/out" -type f 2>/dev/null)" ] || die "SIG$signal: $(find "$work/out" -type f)"
  if grep -q '"item_finished"' "$work/.gisrun/job.run.jsonl"; then die "SIG$signal: the item counts as done"; fi
  echo "SIG$signal, $times sent: exit $code after $took ms, no output, the item is not done"
  rm -rf "$work/.gisrun"
}

ended_by INT 2
ended_by TERM 2
printf '[run]\ngrace = "1s"\n' >>"$work/job.toml"
ended_by INT 1
ended_by TERM 1

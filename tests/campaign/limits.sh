#!/usr/bin/env bash
# What a machine may run out of: disk, descriptors, memory. Root is needed for the small disk; a failure ends the script.
#
# Usage: limits.sh GISRUN
set -euo pipefail
gisrun=$(realpath "$1")
work=$(mktemp -d)
trap 'umount "$work/full/out" 2>/dev/null || true; rm -r "$work"' EXIT

die() { echo "limits: $*" >&2; exit 1; }

# noise PATH WIDTH HEIGHT: bytes that do not compress.
noise() {
  { printf 'P5\n%d %d\n255\n' "$2" "$3"; head -c $(($2 * $3)) /dev/urandom; } >"$work/noise.pgm"
  gdal_translate -q -a_srs EPSG:32633 -a_ullr 500000 4000000 $((500000 + $2 * 10)) $((4000000 - $3 * 10)) \
    "$work/noise.pgm" "$1"
}

# job FOLDER [RESOURCES]: a pipeline that encodes every scene in `in`.
job() {
  mkdir -p "$1/in" "$1/out"
  cat >"$1/job.toml" <<TOML
name = "job"
[resources]
${2:-}
[stages]
scenes  = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "scenes", read = {} }
encoded = { from = "bands", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
TOML
}

# run FOLDER [COMMAND…]: runs the job below the command; its exit code in $code, what it said in $work/said.
run() {
  local folder=$1
  shift
  code=0
  (cd "$folder" && "$@" "$gisrun" job.toml >"$work/said" 2>&1) || code=$?
}

no_partials() {
  [ -z "$(find "$1" -name '.*gisrun-partial*')" ] || die "$2: a temporary stays: $(find "$1" -name '.*gisrun-partial*')"
}

echo "== a disk of 500 KB for four files of 180 KB"
job "$work/free" "cores.slots = 1"
for number in 1 2 3 4; do noise "$work/free/in/n$number.tif" 420 420; done
cp -r "$work/free" "$work/full"
run "$work/free" env
[ "$code" = 0 ] || die "undisturbed: exit $code: $(cat "$work/said")"
mount -t tmpfs -o size=500k tmpfs "$work/full/out"
run "$work/full" env
[ "$code" = 3 ] || die "full disk: exit $code, not 3: $(cat "$work/said")"
grep -q "No space left" "$work/said" || die "full disk: no word of it: $(cat "$work/said")"
grep -q "$work/full/out/n[1-4].tif" "$work/said" || die "full disk: the output is not named: $(cat "$work/said")"
no_partials "$work/full/out" "full disk"
count=0
for output in "$work"/full/out/*.tif; do
  cmp "$output" "$work/free/out/${output##*/}" || die "full disk: ${output##*/} is not whole"
  count=$((count + 1))
done
[ "$count" -ge 1 ] || die "full disk: nothing was finished"
echo "exit 3; $count whole outputs, no other file: $(grep -o 'cannot write.*' "$work/said" | head -n1)"
mount -o remount,size=5m "$work/full/out"
run "$work/full" env
[ "$code" = 0 ] || die "room again: exit $code: $(cat "$work/said")"
diff -r "$work/free/out" "$work/full/out" || die "room again: other outputs"
echo "with room again the resume does the rest: the same four files"

echo "== 40 inputs with 64 and with 16 descriptors"
job "$work/many"
for number in $(seq -w 40); do cp "$work/free/in/n1.tif" "$work/many/in/t$number.tif"; done
for limit in 64 16; do
  rm -rf "$work/many/out" "$work/many/.gisrun"
  # shellcheck disable=SC2016
  run "$work/many" bash -c 'ulimit -n "$0" && exec "$@"' "$limit"
  count=$(find "$work/many" -path '*/out/*' | wc -l)
  if [ "$code" = 0 ]; then
    [ "$count" = 40 ] || die "$limit descriptors: exit 0 with $count outputs"
  else
    [ "$count" = 0 ] && grep -qi "descriptor" "$work/said" || die "$limit descriptors: exit $code: $(cat "$work/said")"
  fi
  no_partials "$work/many" "$limit descriptors"
  echo "$limit descriptors: exit $code, $count outputs; $(head -n1 "$work/said")"
done

echo "== 300 MB of memory and items that vary a hundredfold"
job "$work/large"
for number in $(seq -w 12); do noise "$work/large/in/small$number.tif" 600 600; done
for number in 1 2 3; do noise "$work/large/in/large$number.tif" 6000 6000; done
# The folder and the file of a memory limit, of the second version of cgroups or the first.
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
  group=/sys/fs/cgroup/gisrun-limits-$$ limit=memory.max
else
  group=/sys/fs/cgroup/memory/gisrun-limits-$$ limit=memory.limit_in_bytes
fi
if mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.procs" ] && echo 300000000 >"$group/$limit"; then
  # shellcheck disable=SC2016
  run "$work/large" bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group"
  rmdir "$group"
  how="cgroup"
else
  code=0
  (cd "$work/large" && "$gisrun" job.toml --machine memory=300MB >"$work/said" 2>&1) || code=$?
  how="--machine memory=300MB"
fi
[ "$code" = 0 ] || die "300 MB ($how): exit $code: $(cat "$work/said")"
resident=$(grep -o '"peak_resident":[0-9]*' "$work/large/.gisrun/job.run.jsonl" | cut -d: -f2)
[ "$resident" -le 300000000 ] || die "300 MB ($how): $resident bytes resident"
echo "300 MB ($how): exit 0, 15 outputs, $resident bytes resident at most"

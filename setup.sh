#!/usr/bin/env bash
# Installs what a build needs and this machine lacks: Debian 12 with a Rust toolchain is enough to start from.
set -euo pipefail

wanted=(build-essential pkg-config libgdal-dev)
missing=()
for package in "${wanted[@]}"; do
  dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
    missing+=("$package")
done
if ! command -v cargo >/dev/null; then
  echo "setup: a Rust toolchain is missing; see https://rustup.rs" >&2
  exit 1
fi
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"

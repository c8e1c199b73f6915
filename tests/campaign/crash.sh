#!/usr/bin/env bash
# The long crash campaign: 200 SIGKILLs at random moments of runs of 300 items, each followed by a resume.
set -euo pipefail
cd "$(dirname "$0")/../.."
GISRUN_KILLS=${GISRUN_KILLS:-200} GISRUN_ITEMS=${GISRUN_ITEMS:-300} \
  cargo test --locked --release --test crash -- --nocapture

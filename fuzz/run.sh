#!/usr/bin/env bash
# Builds a target with libFuzzer's coverage on the stable compiler and runs it: ./run.sh TARGET [libFuzzer options]
set -euo pipefail
cd "$(dirname "$0")"
target=$1
shift
export RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --target "$host" --bin "$target"
mkdir -p "corpus/$target" artifacts
exec "target/$host/release/$target" "corpus/$target" -artifact_prefix=artifacts/ "$@"

#!/bin/bash
# A counting filter whose whole set is exchanged, in steps: after each no entry that should be there is lost, and in the end
# the error is what the header says and the counts are those of the set. Raw keys, made by seq.
#   counting_churn.sh PROGRAM [KEYS [STEPS [FPR]]]      PROGRAM: bloomwall-filter; 100000000 keys in 4 steps, 1e-4
# Disk: 100 bytes a key below ${TMPDIR:-/tmp}. Ends with 1 where anything is not as it should be.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
program=$(readlink -f "$1") keys=${2:-100000000} steps=${3:-4} fpr=${4:-1e-4}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
step=$((keys / steps)) sample=$((keys < 1000000 ? keys : 1000000))

list() { seq -f 'user%.0f@mail.example' "$1" "$2"; }  # first, last
listed() { { "$program" query --raw f.bwf || true; } | grep -c '^listed' || true; }
timed() { local begin=$EPOCHREALTIME; "$@"; awk -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN { printf "  %.1f s\n", e - b }'; }

list 1 "$keys" > all
echo "build --counting of $keys keys"
timed "$program" build -q --counting --raw --fpr "$fpr" -o f.bwc all
rm all
for ((i = 0; i < steps; i++)); do
  first=$((i * step + 1)) last=$(((i + 1) * step))
  list $first $last > gone
  list $((keys + first)) $((keys + last)) > new
  echo "step $((i + 1)) of $steps: $step keys removed, $step added"
  timed "$program" update -q --raw --force f.bwc --remove gone --add new
  timed "$program" emit f.bwc -o f.bwf
  # A stride over all that should be there: those that stayed and those that came.
  asked=$(list $((last + 1)) $((keys + last)) | awk -v n=$((keys / sample)) 'NR % n == 0' | tee sample | wc -l)
  found=$(listed < sample)
  echo "  $found of $asked there"
  [[ $found == "$asked" ]] || { echo "lost entries"; exit 1; }
done
wrong=$(list 1 "$sample" | listed)
predicted=$("$program" info --json f.bwf | sed -n 's/.*"raw_fill": *\([0-9.e+-]*\).*/\1/p' | head -1)
echo "$wrong of $sample keys that were removed pass; predicted by fill: $predicted"
awk -v wrong="$wrong" -v n="$sample" -v p="$predicted" 'BEGIN {
  expected = n * p; spread = 5 * sqrt(expected) + 5
  exit !(p > 0 && wrong > expected - spread && wrong < expected + spread) }' || { echo "not as predicted"; exit 1; }

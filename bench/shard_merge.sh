#!/bin/bash
# Shards of one build, each made of its share of the list and merged in any order, are byte for byte the whole build.
#   shard_merge.sh PROGRAM [URLS [SHARDS]]      PROGRAM: bloomwall-filter; 100000000 URLs, 50 a host, in 4 shards
# Disk: ten times the filter (3 bytes a URL) below ${TMPDIR:-/tmp}. Ends with 1 where they differ.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
program=$(readlink -f "$1") urls=${2:-100000000} shards=${3:-4}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
share=$((urls / shards)) urls=$((urls / shards * shards))

list() {  # first, last
  awk -v i="$1" -v last="$2" 'BEGIN { for (; i <= last; i++) printf "http://host%d.example/page/%d\n", i % (last / 50), i }'
}
# The sources stand in the file by name, so the whole reads the same ones as the shards: pipes, written when they are read.
write_lists() { for i in "$@"; do list $((i * share + 1)) $(((i + 1) * share)) > "list$i"; done; }
timed() { local begin=$EPOCHREALTIME; "$@"; awk -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN { printf "  %.1f s\n", e - b }'; }
build() { "$program" build -q --format urls --file-id "$id" --created 1700000000 --sequence 1 --fpr 1e-4 "$@"; }

id=$(printf '%032x' 1)
printf "%064x" 7 > key && chmod 600 key
echo "the whole: $urls URLs"
mapfile -t lists < <(seq -f 'list%.0f' 0 $((shards - 1)))
mkfifo "${lists[@]}"
write_lists "${lists[@]#list}" &
timed build --entries "$urls" --hosts $((urls / 50)) --series-key key -o whole.bwf "${lists[@]}"
for ((i = 0; i < shards; i++)); do
  echo "shard $i"
  write_lists $i &
  timed build --like whole.bwf --series-key key -o "shard$i.bwf" "list$i"
done
for order in "$(ls shard*.bwf)" "$(ls -r shard*.bwf)" "$(ls shard*.bwf | shuf --random-source=key)"; do
  echo "merge of" $order
  # shellcheck disable=SC2086  # names without spaces
  timed "$program" merge --no-provenance --fpr 1e-4 --file-id "$id" --created 1700000000 --sequence 1 -o merged.bwf $order > /dev/null
  cmp whole.bwf merged.bwf || { echo "differs"; exit 1; }
done
echo "the same bytes: $(stat -c %s whole.bwf)"

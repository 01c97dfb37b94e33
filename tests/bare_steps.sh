#!/usr/bin/env bash
# What bare_test.py does inside a bare Debian, in a clone of the project: one of README's first commands as it stands there, or what it
# has put into /pasted.sh.
# usage: bare_steps.sh FOLDER COMMAND...   Exit status 0: it did what README says of it.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"
shift
bound=7200  # seconds, for a compile on whatever machine this is

serves() {  # ./dev run: the lines that it prints work as they stand
  local proxy line tried=()
  exec 3< <(exec "$@" 2>&1)
  proxy=$!
  while IFS= read -r -t "$bound" line <&3; do
    printf '%s\n' "$line"
    case "$line" in
      "    curl "* | "    build/"*) tried+=("${line#    }") ;;
      "Ctrl-C stops it.") break ;;
    esac
  done
  [ "${#tried[@]}" -eq 2 ] || { echo "it does not say what to try"; exit 1; }
  cat <&3 &
  for line in "${tried[@]}"; do
    printf '$ %s\n' "$line"
    case "$line" in
      curl*) eval "$line -sS --retry 60 --retry-delay 1 --retry-connrefused" | tee /dev/stderr | grep -q '^HTTP/1.1 403 ' ;;
      *explain*) status=0; eval "$line" || status=$?; [ "$status" -eq 1 ] ;;
      *) echo "nothing is known of this line"; exit 1 ;;
    esac
  done
  kill -TERM "$proxy"
}

case "$*" in
  "./dev run") serves "$@" ;;
  pasted) env -u http_proxy -u https_proxy bash /pasted.sh </dev/null ;;  # curl asks this machine
  *) "$@" </dev/null ;;
esac

# For the tests beside this file: the installed service, as a package leaves it.
set -eu
PROXY=http://127.0.0.1:3128

status_of() {  # URL: the status of its answer through the proxy
    curl -s -o /dev/null -w '%{http_code}' -x "$PROXY" --max-time 20 "$1" || true
}

expect() {  # WHAT WANTED GOT
    if [ "$2" != "$3" ]; then
        echo "$1: $3, and not $2" >&2
        journalctl -u bloomwall.service --no-pager -n 30 >&2 || true
        exit 1
    fi
    echo "$1: $3"
}

until_true() {  # COMMAND...: for at most 30 s
    end=$(($(date +%s) + 30))
    until "$@"; do
        if [ "$(date +%s)" -ge "$end" ]; then
            echo "not within 30 s: $*" >&2
            journalctl -u bloomwall.service --no-pager -n 30 >&2 || true
            exit 1
        fi
        sleep 0.1
    done
}

# shellcheck shell=bash disable=SC2154
# What the benchmarks share: to be sourced, with `folder` set to a temporary folder.

# value NAME <JSON: the number behind "NAME":
value() {
    sed -n "s/.*\"$1\": \([-0-9.]*\).*/\1/p"
}

TIMEFORMAT='%3R %3U %3S'

# timed FILE COMMAND...: its output in $folder/FILE; sets real, user and system, in seconds
timed() {
    { time "${@:2}" >"$folder/$1" 2>"$folder/$1.err"; } 2>"$folder/time" || { tail -3 "$folder/$1.err" >&2; return 1; }
    # shellcheck disable=SC2034  # for whoever sources this
    read -r real user system <"$folder/time"
}

# spread DIGITS <numbers, one a line: "median (min to max)"
spread() {
    sort -g | awk -v digits="$1" '
        { x[NR] = $1 }
        END {
            middle = NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2
            printf "%.*f (%.*f to %.*f)", digits, middle, digits, x[1], digits, x[NR]
        }'
}

# machine ROUNDS SECONDS WHAT...: on what, and when
machine() {
    local processor
    processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
    echo "$processor, $(nproc) cores, Linux $(uname -r), ${*:3}, $(date -u +%Y-%m-%d),"
    echo "load average at the start $(cut -d' ' -f1-3 /proc/loadavg). Client and server share the cores."
    echo "Each cell: median (smallest to largest) over $1 interleaved rounds of $2 s each."
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Hosts as network namespaces on one switch, with links of a given bandwidth and delay; runs a command's ranks on them.
#
#   scripts/netlab.sh [options] -- command [argument...]
#   scripts/netlab.sh clean      removes what killed runs under this TMPDIR left: namespaces, their processes, their folder
#
#   --hosts N            hosts (8)
#   --ranks-per-host N   ranks on each (1); ranks of one host talk through memory or loopback
#   --rate RATE          of every link, each direction, as tc writes it (1gbit)
#   --queue TIME         length of a link's queue, as time at that rate (40ms)
#   --delay TIME         one way, host to host; needs the kernel's netem
#   --loss PERCENT       of packets, one way; needs netem
#   --launcher mpi       mpirun over all hosts (default); OpenMPI
#   --launcher gloo      the command once per rank, {rank} {world} {host} {address} {store} replaced in its arguments and
#                        set as TANDEM_RANK, TANDEM_WORLD, TANDEM_HOST, TANDEM_ADDRESS, TANDEM_STORE (an empty folder)
#   --report FILE        JSON: bytes and drops of every link while the command ran
#
# Ends with the command's exit status. Each link is a veth pair shaped by tbf at both ends; TCP uses cubic. Hosts share
# the file system and the processors. Needs root (or CAP_SYS_ADMIN and CAP_NET_ADMIN) and iproute2. Several runs may work
# at once: a run touches nothing outside its own namespaces and folder. The file "namespaces" in that folder lists them.
set -euo pipefail

hosts=8 ranks_per_host=1 rate=1gbit queue=40ms delay='' loss='' launcher=mpi report=''
lab=netlab$$
subnet=10.91
directory=''

fail() { echo "netlab: $*" >&2; exit 2; }
usage() { sed -n '4,22p' "$0" >&2; exit 2; }
host_namespace() { echo "$lab-$1"; }
address_of() { echo "$subnet.$(($1 / 250)).$(($1 % 250 + 1))"; }

# remove_lab DIRECTORY: ends what runs in the namespaces that DIRECTORY lists, then deletes them and DIRECTORY.
remove_lab() {
  local directory=$1 round pids space
  for round in TERM KILL KILL KILL KILL; do
    pids=$(processes_of "$directory")
    [ -n "$pids" ] || break
    # shellcheck disable=SC2086
    kill -"$round" $pids 2>/dev/null || true
    # shellcheck disable=SC2086
    wait_for_end $pids
  done
  for space in $(namespaces_of "$directory"); do ip netns delete "$space" 2>/dev/null || true; done
  rm -rf -- "$directory"
}

# wait_for_end PID...: at most a second; -PID is a process group.
wait_for_end() {
  local _
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 -- "$@" 2>/dev/null || return 0
    sleep 0.1
  done
}

# namespaces_of DIRECTORY: those listed that exist and bear the name of DIRECTORY's run.
namespaces_of() {
  local space name=${1##*/}
  while read -r space; do
    [[ $space == "${name%.*}"-* && $space != */* && -e /run/netns/$space ]] && echo "$space"
  done <"$1/namespaces"
  return 0
}
processes_of() {
  local space
  for space in $(namespaces_of "$1"); do ip netns pids "$space" 2>/dev/null || true; done
}

# is_lab PATH: whether a run of this user made it.
is_lab() {
  [[ ${1##*/} =~ ^netlab[0-9]+\.[A-Za-z0-9]{6}$ && -d $1 && ! -L $1 && -O $1 && -f $1/namespaces && ! -L $1/namespaces ]]
}

clean() {
  local path pid
  for path in "${TMPDIR:-/tmp}"/netlab*; do
    is_lab "$path" || continue
    pid=${path##*/netlab} pid=${pid%.*}
    if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q 'netlab\.sh'; then continue; fi
    echo "netlab: removing $path"
    remove_lab "$path"
  done
}

need_programs() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || fail "needs '$program': install iproute2, util-linux and (for mpi) openmpi-bin"
  done
}

# bits_per_second RATE: tc's units of 1000.
bits_per_second() {
  awk -v rate="$1" 'BEGIN {
    if (match(rate, /^[0-9.]+/) == 0) exit 1
    number = substr(rate, 1, RLENGTH); unit = tolower(substr(rate, RLENGTH + 1))
    scale["bit"] = 1; scale["kbit"] = 1e3; scale["mbit"] = 1e6; scale["gbit"] = 1e9
    if (!(unit in scale) || number <= 0) exit 1
    printf "%.0f\n", number * scale[unit] }'
}

# shape NAMESPACE DEVICE [netem arguments...]: everything that DEVICE sends.
shape() {
  local space=$1 device=$2 parent=(root)
  shift 2
  if [ $# -gt 0 ]; then
    ip netns exec "$space" tc qdisc add dev "$device" root handle 1: netem limit 100000 "$@" 2>/dev/null ||
      fail "this kernel has no netem, so links have neither --delay nor --loss here; run without them, or where CONFIG_NET_SCH_NETEM is set"
    parent=(parent 1:1)
  fi
  # A segment of 64 KiB passes whole, and 1 ms of the rate.
  local burst=$((bits / 8000))
  [ "$burst" -ge 70000 ] || burst=70000
  ip netns exec "$space" tc qdisc add dev "$device" "${parent[@]}" handle 10: tbf rate "$rate" burst "$burst" latency "$queue"
}

# Listed before it is made, so that a killed run's can be found; never one that was there before.
add_namespace() {
  [ ! -e "/run/netns/$1" ] || fail "namespace $1 exists already and is not ours: delete it (ip netns delete $1)"
  echo "$1" >>"$directory/namespaces"
  ip netns add "$1" || fail "cannot make a network namespace: run as root (CAP_SYS_ADMIN, CAP_NET_ADMIN)"
  ip -n "$1" link set lo up
  set_in "$1" ipv6/conf/all/disable_ipv6 1
  set_in "$1" ipv6/conf/default/disable_ipv6 1
  # Steady on a policed link with few flows; other kernels' defaults differ.
  set_in "$1" ipv4/tcp_congestion_control cubic
}

# set_in NAMESPACE FILE VALUE: below /proc/sys/net, where the kernel has FILE.
set_in() {
  ip netns exec "$1" bash -c 'echo "$1" >"/proc/sys/net/$0"' "$2" "$3" 2>/dev/null || true
}

build_lab() {
  local host space netem=()
  [ -z "$delay" ] || netem+=(delay "$delay")
  [ -z "$loss" ] || netem+=(loss "$loss")
  add_namespace "$lab-switch"
  ip -n "$lab-switch" link add bridge type bridge
  ip -n "$lab-switch" address add "$subnet.255.254/16" dev bridge
  ip -n "$lab-switch" link set bridge up
  for ((host = 0; host < hosts; host++)); do
    space=$(host_namespace "$host")
    add_namespace "$space"
    ip -n "$lab-switch" link add "port$host" type veth peer name eth0 netns "$space"
    ip -n "$lab-switch" link set "port$host" master bridge up
    ip -n "$space" address add "$(address_of "$host")/16" dev eth0
    ip -n "$space" link set eth0 up
    shape "$space" eth0 ${netem[@]+"${netem[@]}"}
    shape "$lab-switch" "port$host"
  done
}

# on_host NAMESPACE COMMAND...: with the namespace's name as host name, so that MPI tells the hosts apart.
on_host() {
  local space=$1
  shift
  exec ip netns exec "$space" unshare --uts bash -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$space" "$@"
}

# What mpirun calls in place of ssh: agent ADDRESS COMMAND...
write_agent() {
  {
    echo '#!/usr/bin/env bash'
    declare -f on_host
    echo "IFS=. read -r _ _ high low <<<\"\$1\""
    echo 'shift'
    echo "on_host $lab-\$((high * 250 + low - 1)) bash -c \"\$*\""
  } >"$directory/agent"
  chmod +x "$directory/agent"
}

run_mpi() {
  local host transports=self,tcp
  write_agent
  for ((host = 0; host < hosts; host++)); do
    echo "$(address_of "$host") slots=$ranks_per_host"
  done >"$directory/hosts"
  [ "$ranks_per_host" -eq 1 ] || transports=self,vader,tcp
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  on_host "$lab-switch" mpirun --hostfile "$directory/hosts" -n $((hosts * ranks_per_host)) --bind-to none \
    --mca plm rsh --mca plm_rsh_agent "$directory/agent" --mca plm_rsh_no_tree_spawn 1 --mca routed direct \
    --mca oob_tcp_if_include "$subnet.0.0/16" --mca btl_tcp_if_include "$subnet.0.0/16" \
    --mca pml ob1 --mca btl "$transports" --mca mpi_yield_when_idle 1 "$@"
}

# run_rank RANK COMMAND...
run_rank() {
  local rank=$1 host=$(($1 / ranks_per_host)) argument arguments=()
  shift
  export TANDEM_RANK=$rank TANDEM_WORLD=$((hosts * ranks_per_host)) TANDEM_HOST=$host
  TANDEM_ADDRESS=$(address_of "$host")
  export TANDEM_ADDRESS TANDEM_STORE=$directory/store
  for argument in "$@"; do
    argument=${argument//'{rank}'/$rank}
    argument=${argument//'{world}'/$TANDEM_WORLD}
    argument=${argument//'{host}'/$host}
    argument=${argument//'{address}'/$TANDEM_ADDRESS}
    arguments+=("${argument//'{store}'/$TANDEM_STORE}")
  done
  on_host "$(host_namespace "$host")" "${arguments[@]}"
}

# The first status that is not zero, once all have ended.
run_gloo() {
  local rank processes=() status=0 own
  mkdir "$directory/store"
  for ((rank = 0; rank < hosts * ranks_per_host; rank++)); do
    (run_rank "$rank" "$@") &
    processes+=($!)
  done
  for process in "${processes[@]}"; do
    own=0
    wait "$process" || own=$?
    [ "$status" -ne 0 ] || status=$own
  done
  return "$status"
}

# link_counters HOST: bytes sent, bytes received, packets dropped on the way out, on the way in.
link_counters() {
  local space
  space=$(host_namespace "$1")
  ip netns exec "$space" cat /sys/class/net/eth0/statistics/tx_bytes /sys/class/net/eth0/statistics/rx_bytes
  drops "$space" eth0
  drops "$lab-switch" "port$1"
}
drops() {
  ip netns exec "$1" tc -s qdisc show dev "$2" | awk '/dropped/ { for (i = 1; i < NF; i++) if ($i ~ /dropped/) total += $(i + 1) } END { print total + 0 }'
}

write_report() {
  local host after=() before=()
  {
    printf '{"hosts": %d, "ranks_per_host": %d, "rate_bits_per_s": %d, "links": [' "$hosts" "$ranks_per_host" "$bits"
    for ((host = 0; host < hosts; host++)); do
      mapfile -t after < <(link_counters "$host")
      mapfile -t before <"$directory/before.$host"
      printf '%s{"host": %d, "sent_bytes": %d, "received_bytes": %d, "sent_drops": %d, "received_drops": %d}' \
        "$([ "$host" -eq 0 ] || echo ', ')" "$host" $((after[0] - before[0])) $((after[1] - before[1])) \
        $((after[2] - before[2])) $((after[3] - before[3]))
    done
    echo ']}'
  } >"$report"
}

[ "${1:-}" != clean ] || { need_programs ip; clean; exit 0; }
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=${2:?} ;;
    --ranks-per-host) ranks_per_host=${2:?} ;;
    --rate) rate=${2:?} ;;
    --queue) queue=${2:?} ;;
    --delay) delay=${2:?} ;;
    --loss) loss=${2:?} ;;
    --launcher) launcher=${2:?} ;;
    --report) report=${2:?} ;;
    --) shift; break ;;
    *) usage ;;
  esac
  shift 2
done
[ $# -gt 0 ] || usage
[[ $hosts =~ ^[0-9]+$ && $hosts -ge 1 && $hosts -le 1000 ]] || fail "--hosts is from 1 to 1000"
[[ $ranks_per_host =~ ^[0-9]+$ && $ranks_per_host -ge 1 ]] || fail "--ranks-per-host is at least 1"
[[ $launcher == mpi || $launcher == gloo ]] || fail "--launcher is mpi or gloo"
bits=$(bits_per_second "$rate") || fail "--rate is a number with bit, kbit, mbit or gbit"
need_programs ip tc unshare
[ "$launcher" != mpi ] || need_programs mpirun

trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap finish EXIT
is_starting=false

# The launcher of the ranks ends first. Otherwise it could start one after the last look into the namespaces.
finish() {
  trap '' HUP INT TERM
  local starter=${!:-}
  if $is_starting && [ -n "$starter" ]; then
    kill -TERM -- -"$starter" 2>/dev/null || true
    wait_for_end -"$starter"
    kill -KILL -- -"$starter" 2>/dev/null || true
    wait "$starter" 2>/dev/null || true
    wait_for_end -"$starter"
  fi
  [ -z "$directory" ] || remove_lab "$directory"
}

directory=$(mktemp -d "${TMPDIR:-/tmp}/$lab.XXXXXX")
: >"$directory/namespaces"
build_lab
for ((host = 0; host < hosts; host++)); do link_counters "$host" >"$directory/before.$host"; done
# In the background, so that a signal ends the run at once; in a process group of its own, so that all of it ends.
is_starting=true
set -m
"run_$launcher" "$@" </dev/null &
set +m
status=0
wait $! || status=$?
is_starting=false
[ -z "$report" ] || write_report
exit "$status"

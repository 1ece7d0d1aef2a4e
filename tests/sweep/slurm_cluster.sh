# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A Slurm cluster of two nodes, n1 and n2, on this machine: munged, slurmctld and two slurmd, all of the calling user,
# with configuration, keys and logs in one folder. To be sourced; needs Debian's slurm-wlm and munge.
#
#   cluster_missing              why Slurm cannot run here, or nothing
#   cluster_start DIR GPUS       starts it, with GPUS simulated GPUs per node; sets SLURM_CONF
#   cluster_node_start NODE      starts the slurmd of a node
#   cluster_node_kill NODE       kills the slurmd of a node and its step daemons, as if the node had lost power
#   cluster_stop                 ends everything that was started
#
# DIR/NODE.env holds lines "export NAME=VALUE" that every task on the node gets (Slurm's TaskProlog): there the
# simulated devices of the nodes are made unlike each other.

cluster_dir=
cluster_pids=()

cluster_missing() {
    local tool
    PATH=$PATH:/usr/sbin:/sbin
    for tool in munged slurmctld slurmd srun sbatch; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed (Debian: slurm-wlm, munge)"; return; }
    done
    [ -e /proc/self/stat ] || echo "/proc is not mounted"
}

cluster_free_ports() { # COUNT: ports that nobody listens on
    python3 - "$1" <<'EOF'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))
EOF
}

cluster_configure() { # GPUS
    local gpus=$1 user host version ports
    user=$(id -un)
    host=$(hostname -s 2>/dev/null || cat /proc/sys/kernel/hostname)
    version=$(slurmctld -V | sed 's/[^0-9]*//; s/\..*//')
    read -r -a ports <<<"$(cluster_free_ports 3)"
    mkdir -p "$cluster_dir"/{state,spool-n1,spool-n2,log}
    cat >"$cluster_dir/slurm.conf" <<EOF
ClusterName=zyfa
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$cluster_dir/munge.socket,cred_expire=5
SlurmctldPort=${ports[0]}
StateSaveLocation=$cluster_dir/state
SlurmdSpoolDir=$cluster_dir/spool-%n
SlurmctldPidFile=$cluster_dir/slurmctld.pid
SlurmdPidFile=$cluster_dir/slurmd-%n.pid
SlurmctldLogFile=$cluster_dir/log/slurmctld.log
SlurmdLogFile=$cluster_dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
SlurmdParameters=config_overrides
SlurmdTimeout=8
SlurmctldTimeout=8
InactiveLimit=0
KillWait=1
MessageTimeout=10
ReturnToService=2
JobRequeue=1
TaskProlog=$cluster_dir/task-prolog.sh
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=$gpus Gres=gpu:$gpus State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=$gpus Gres=gpu:$gpus State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
    local devices=()
    mapfile -t devices < <(seq -f "$cluster_dir/gpu%g" 0 $((gpus - 1)))
    touch "${devices[@]}" # stand for /dev/dri/renderD*
    echo "Name=gpu File=$cluster_dir/gpu[0-$((gpus - 1))]" >"$cluster_dir/gres.conf"
    # Where there are no cgroups of our own, as in a container. Older versions do not know the word and do not look.
    [ "$version" -lt 23 ] || echo "CgroupPlugin=disabled" >"$cluster_dir/cgroup.conf"
    cat >"$cluster_dir/task-prolog.sh" <<EOF
#!/bin/sh
cat "$cluster_dir/\$SLURMD_NODENAME.env" 2>/dev/null || true
EOF
    chmod 755 "$cluster_dir/task-prolog.sh"
    export SLURM_CONF=$cluster_dir/slurm.conf
}

cluster_wait() { # SECONDS COMMAND...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

cluster_node_is() { [ "$(sinfo -h -n "$1" -o %T 2>/dev/null)" = "$2" ]; }

cluster_node_start() { # NODE
    slurmd -D -N "$1" </dev/null >>"$cluster_dir/log/out" 2>&1 &
    cluster_pids+=($!)
    eval "cluster_slurmd_$1=$!"
}

# A node's tasks, which carry SLURMD_NODENAME, behind the step daemons that started them.
cluster_node_processes() { # NODE
    python3 - "$1" "$SLURM_CONF" <<'EOF'
import glob, sys
wanted = {"SLURMD_NODENAME=" + sys.argv[1], "SLURM_CONF=" + sys.argv[2]}
tasks, daemons = [], set()
def read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return f.read().decode(errors="replace")
for process in glob.glob("/proc/[0-9]*"):
    try:
        pid = process[6:]
        if wanted <= set(read(pid, "environ").split("\0")):
            tasks.append(pid)
            parent = read(pid, "stat").rsplit(")", 1)[1].split()[1]
            if read(parent, "comm").startswith("slurmstepd"):
                daemons.add(parent)
    except OSError:
        pass # ended, or not ours
print(*daemons, *tasks, sep="\n")
EOF
}

cluster_node_kill() { # NODE
    local daemon=cluster_slurmd_$1 pids
    kill -9 "${!daemon:?}" 2>/dev/null || true
    mapfile -t pids < <(cluster_node_processes "$1" | sed '/^$/d')
    [ ${#pids[@]} -eq 0 ] || kill -9 "${pids[@]}" 2>/dev/null || true
}

cluster_start() { # DIR GPUS
    PATH=$PATH:/usr/sbin:/sbin
    cluster_dir=$1
    mkdir -p "$cluster_dir"
    chmod 711 "$cluster_dir" # munged asks that everybody can pass to its socket
    cluster_configure "$2"
    head -c 128 /dev/urandom >"$cluster_dir/munge.key"
    chmod 600 "$cluster_dir/munge.key"
    munged --foreground --key-file="$cluster_dir/munge.key" --socket="$cluster_dir/munge.socket" \
        --pid-file="$cluster_dir/munged.pid" --log-file="$cluster_dir/log/munged.log" \
        --seed-file="$cluster_dir/munged.seed" </dev/null >>"$cluster_dir/log/out" 2>&1 &
    cluster_pids+=($!)
    cluster_wait 5 test -S "$cluster_dir/munge.socket" || return 1
    slurmctld -D -c </dev/null >>"$cluster_dir/log/out" 2>&1 &
    cluster_pids+=($!)
    cluster_node_start n1
    cluster_node_start n2
    cluster_wait 20 cluster_node_is n1 idle && cluster_wait 20 cluster_node_is n2 idle
}

cluster_stop() {
    local pids node
    [ -n "$cluster_dir" ] || return 0
    for node in n1 n2; do # tasks and step daemons first: a slurmd waits for its steps
        mapfile -t pids < <(cluster_node_processes "$node" | sed '/^$/d')
        [ ${#pids[@]} -eq 0 ] || kill -9 "${pids[@]}" 2>/dev/null || true
    done
    # Nothing of the cluster is kept.
    [ ${#cluster_pids[@]} -eq 0 ] || kill -9 "${cluster_pids[@]}" 2>/dev/null || true
    [ ${#cluster_pids[@]} -eq 0 ] || wait "${cluster_pids[@]}" 2>/dev/null || true
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The walk-through of docs/sweeps.md on a real Slurm of two nodes with two simulated GPUs each, which differ in clock,
# chip and driver. In the middle one node's slurmd, step daemons and workers are killed.
#   sweep_on_slurm.sh TOOL SOURCE_FOLDER
# Exit code 77 where Slurm cannot run.
set -Eeuo pipefail
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

tool=$(readlink -f "$1")
source_folder=$(readlink -f "$2")
# shellcheck source=tests/sweep/slurm_cluster.sh
. "$source_folder/tests/sweep/slurm_cluster.sh"

say() { printf '%5.1f s  %s\n' "$(bc -l <<<"$(date +%s.%N) - $started" 2>/dev/null || echo "$SECONDS")" "$*"; }
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$work"/zyfa-sweep-*.log "$work"/cluster/log/slurmctld.log >&2 2>/dev/null || true
    exit 1
}

missing=$(cluster_missing)
if [ -n "$missing" ]; then
    echo "Slurm cannot run here: $missing"
    exit 77
fi
started=$(date +%s.%N)
work=$(mktemp -d "${TMPDIR:-/tmp}/zyfa-sweep.XXXXXX")
finish() {
    cluster_stop
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
chmod 711 "$work"
mkdir bin
ln -s "$tool" bin/zyfa
export PATH=$work/bin:$PATH
for variable in $(compgen -e | grep -E "^(ZYFA|SLURM|SBATCH)_" || true); do unset "$variable"; done
export ZYFA_DEVICE=sim ZYFA_CACHE_DIR=$work/tuning-cache AMD_COMGR_CACHE=0

# A block of the walk-through, for this cluster's size and folder.
block() {
    sed -n "/^<!-- run: $1 -->/,/^\`\`\`\$/p" "$source_folder/docs/sweeps.md" | sed '1,2d; $d' |
        sed "s#/shared/sweeps#$work/shared#; s/per-node=8/per-node=2/g"
}
run_block() {
    say "$1"
    local commands
    commands=$(block "$1")
    [ -n "$commands" ] || fail "docs/sweeps.md has no block $1"
    eval "$commands"
}
status() { zyfa sweep status "$SWEEP_FOLDER" --json; }
check() { # JSON EXPRESSION: a Python expression over j
    python3 -c 'import json, sys
j = json.loads(sys.argv[1])
if not eval(sys.argv[2]):
    sys.exit("does not hold: " + sys.argv[2] + "\n" + json.dumps(j, indent=1)[:6000])' "$1" "$2" || fail "$2"
}

cluster_start "$work/cluster" 2 || fail "the cluster does not start"
say "cluster: $(slurmctld -V), $(sinfo -h -o '%D nodes, %T')"
common=threads=1,launch_overhead_us=0,chip_spread=0.08
devices() { # OPTIONS
    printf 'export %s\n' ZYFA_SIM_DEVICES=2 "ZYFA_SIM_OPTIONS=$common,0.driver=6.14.14,1.driver=6.12.12,$1"
}
devices 0.seed=1,1.seed=2 >"$work/cluster/n1.env"
devices clock_factor=0.94,0.seed=3,1.seed=4 >"$work/cluster/n2.env"

# Twelve problems: three pairs of lengths, two masks, with and without LSE.
cat >config.json <<'EOF'
{"model_type": "tiny", "num_attention_heads": 1, "head_dim": 128, "max_position_embeddings": 512}
EOF
run_block init
python3 - <<'EOF'
import json
sweep = json.load(open("sweep.json"))
sweep["models"][0].update(tensor_parallel=[1], dtypes=["bf16"], contexts=[256, [256, 512], 512],
                          masks=["causal", "none"], lse=[True, False])
sweep["candidates"] = ["bf16_fwd_d128{chiplet_map=none,tau=8.0}", "bf16_fwd_d128{key_order=from_diagonal}",
                       "bf16_fwd_d128{chiplet_map=head_first,tau=2.0}"]
sweep["tuning"].update(gate_rows=8, budget_s=60)
sweep["lease_s"] = 2
json.dump(sweep, open("sweep.json", "w"))
EOF
run_block plan
[ "$(wc -l <"$SWEEP_FOLDER/plan.jsonl")" = 13 ] || fail "not twelve tasks"
sed 's/per-node=8/per-node=2/; s/--array=0-3/--array=0-1/' "$source_folder/docs/sweep.sbatch" >sweep.sbatch
run_block submit

# When n2 has measured something and is at something, its workers are stopped, then the whole node is killed.
python3 - "$SWEEP_FOLDER/workers" <<'EOF' || fail "n2 was not seen at work"
import glob, json, os, signal, sys, time
def events_of(journal):
    with open(journal) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]
def count(events, *kinds):
    return sum(e["event"] in kinds for e in events)
def in_hand(events):
    return count(events, "claim") - count(events, "done", "failed")
end = time.time() + 60
while time.time() < end:
    journals = {j: events_of(j) for j in glob.glob(sys.argv[1] + "/n2-*.journal")}
    journals = {j: e for j, e in journals.items() if e and not count(e, "end")}
    if any(count(e, "done") for e in journals.values()) and any(in_hand(e) for e in journals.values()):
        processes = [e[0]["process"] for e in journals.values()]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        time.sleep(0.05)
        if any(in_hand(events_of(j)) for j in journals):
            sys.exit()
        for process in processes:
            os.kill(process, signal.SIGCONT)
    time.sleep(0.01)
sys.exit(1)
EOF
cluster_node_kill n2
before=$(status)
say "n2 killed; done so far: $(python3 -c 'import json,sys; print(sum(w["done"] for w in json.loads(sys.argv[1])["workers"]))' "$before")"
check "$before" 'not j["complete"]'
cluster_wait 40 cluster_node_is n2 'down*' || fail "Slurm does not notice that n2 is gone"
say "Slurm has noticed: $(squeue -h -o '%i %T %r' | tr '\n' ';')"
cluster_node_start n2
cluster_wait 20 cluster_node_is n2 idle || cluster_wait 5 cluster_node_is n2 allocated || fail "n2 does not come back"
# A requeued element waits for two minutes, and is held where its node was lost while it was being launched.
queue_is_empty() {
    local job reason
    squeue -h -r -t PD -o '%i %r' | while read -r job reason; do
        case $reason in
        BeginTime*) scontrol update "jobid=$job" StartTime=now || true ;;
        *held*) scontrol release "$job" || true ;;
        esac
    done
    [ -z "$(squeue -h)" ]
}
cluster_wait 90 queue_is_empty || fail "the job does not end: $(squeue -h -o '%i %T %r' | tr '\n' ';')"
run_block status || true
run_block resume
after=$(status)
say "resumed"

# Complete, on both nodes, in both lanes; only what was in flight was measured again.
check "$after" 'j["complete"] and j["mixed_versions"] and len(j["lanes"]) == 2 and not j["failures"]'
check "$after" 'all(l["complete"] == 12 and l["sites"] == ["n1", "n2"] for l in j["lanes"])'
check "$after" 'sorted(l["driver"] for l in j["lanes"]) == ["6.12.12", "6.14.14"]'
check "$after" 'sum(w["done"] for w in j["workers"]) == 2 * 2 * 12'
check "$after" '1 <= sum(w["lost"] for w in j["workers"]) <= 2'
check "$after" 'sum(l["changed"] for l in j["lanes"]) >= 1'
check "$after" 'any(w["restarts"] >= 1 for w in j["workers"])'

run_block merge
packs=(my-model-*.zyfapack)
[ ${#packs[@]} = 2 ] || fail "mixed versions did not give two packs"
merged=$(zyfa sweep merge "$SWEEP_FOLDER" -o again.zyfapack --sign site.key --json)
check "$merged" 'all(p["winners"] == 12 and not p["missing"] for p in j["packs"]) and not j["damage"]'
check "$merged" 'all(p["hold_everywhere"] + p["hold_partly"] == 12 and p["changed"] >= 1 for p in j["packs"])'
for pack in "${packs[@]}"; do
    cmp "$pack" "again${pack#my-model}" || fail "merging twice gives two packs"
done
for word in 'Mixed versions' 'Changed winners' 'Spread between sites' 6.12.12 6.14.14 '<svg'; do
    grep -q "$word" my-model.html || fail "the report lacks $word"
done
! grep -qE '(src|href)=|@import|url\(' my-model.html || fail "the report needs something else"

# A server: another machine's state, the pack of its driver, no other layer.
cp "$(python3 -c 'import json,sys
print(next(p["file"] for p in json.loads(sys.argv[1])["packs"] if "6.14.14" in p["versions"]))' "$merged")" my-model.zyfapack
export ZYFA_CACHE_DIR=$work/server-cache ZYFA_SIM_OPTIONS=threads=2,driver=6.14.14
SITE_PUBLIC_KEY=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["signer"])' "$merged")
run_block serve >serve.log
[ "$(grep -c 'bf16 d=128' serve.log)" = 12 ] || fail "not twelve winners: $(cat serve.log)"
say "must_hit"
calls=0
for lengths in "256 256" "256 512" "512 512" "200 130" "77 300" "300 511"; do
    read -r q kv <<<"$lengths"
    for mask in "" --no-causal; do
        for lse in "" --no-lse; do
            # shellcheck disable=SC2086
            call=$(zyfa attention --heads-q 1 --heads-kv 1 --seq "$q" --seq-kv "$kv" --layout bshd $mask $lse \
                --mode must_hit --json) || fail "must_hit at $q $kv $mask $lse: $call"
            check "$call" 'j["cache"]["result"] == "hit" and j["counters"]["assembled"] == 0 and j["counters"]["timed"] == 0'
            calls=$((calls + 1))
        done
    done
done
say "$calls calls in must_hit mode, nothing assembled, nothing timed"
! zyfa attention --heads-q 1 --heads-kv 1 --seq 600 --mode must_hit --json >/dev/null || fail "a miss is no miss"
say "all holds"

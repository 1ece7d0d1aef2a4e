# SPDX-License-Identifier: Apache-2.0
"""Thread traces of a real gfx950 in tinygrad's public repository (extra/sqtt/examples/gfx950, by path, not part of this
project) beside the cycle model's trace of the same code objects. tinygrad's own decoder reads them. Times there have a
resolution of 4 cycles."""
import json
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile

# name: grid, block. Arguments are three buffers.
KERNELS = {"r_32_32_16_2": ([32, 32, 1], [16, 1, 1]), "E_3": ([1, 1, 1], [3, 1, 1])}


class _Record:
    """Stands for every class in a recording: nothing of it is executed."""

    def __init__(self, *arguments, **members):
        self.__dict__.update(members)

    def __setstate__(self, state):
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.__dict__.update(part)

    def __call__(self, *arguments, **members):
        return self


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        return type(name, (_Record,), {})


def recorded(repository):
    """By kernel: its code object, and for every traced wave the times of its instructions."""
    sys.path.insert(0, str(repository))
    from tinygrad.renderer.amd import sqtt

    kernels = {}
    for path in sorted((repository / "extra/sqtt/examples/gfx950").glob("*.pkl")):
        with open(path, "rb") as stream:
            events = _Reader(stream).load()
        programs = [e for e in events if type(e).__name__ == "ProfileProgramEvent"]
        if len(programs) != 1 or programs[0].name not in KERNELS:
            continue
        waves = kernels.setdefault(programs[0].name, (programs[0].lib, []))[1]
        for event in events:
            if type(event).__name__ != "ProfileSQTTEvent" or not event.itrace:
                continue
            by_wave = {}
            for packet in sqtt.decode(event.blob):
                if type(packet).__name__ == "CDNA_INST":
                    by_wave.setdefault((packet.simd, packet.wave), []).append(packet._time)
            waves.extend(by_wave.values())
    return kernels


def modelled(zyfa, name, code, folder):
    """Mnemonics and issue times of wave 0, without waits and s_nop, which the recordings do not list either, and the
    places that a wait precedes."""
    folder = pathlib.Path(folder)
    (folder / "kernel.co").write_bytes(code)
    grid, block = KERNELS[name]
    buffers = {n: {"size": 4096, "generator": {"kind": "constant", "type": "f32", "value": 1.0}} for n in "oab"}
    (folder / "launch.json").write_text(json.dumps({"kernel": name, "grid": grid, "block": block, "buffers": buffers,
                                                    "kernargs": [{"buffer": n} for n in "oab"], "outputs": []}))
    subprocess.run([zyfa, "trace", folder / "kernel.co", "--launch", folder / "launch.json", "--out", folder / "trace.json",
                    "--svg", folder / "trace.svg", "--json"], check=True, capture_output=True)
    events = [e for e in json.loads((folder / "trace.json").read_text())["traceEvents"]
              if e["ph"] == "X" and e["pid"] == 0 and e["tid"] == 0 and not e["name"].startswith("wait:")]
    instructions, after_wait, waited = [], [], None
    for event in sorted(events, key=lambda e: e["ts"]):
        mnemonic = event["name"].split()[0]
        if mnemonic == "s_waitcnt":
            waited = event["name"]
        elif mnemonic != "s_nop":
            instructions.append((mnemonic, event["ts"]))
            after_wait.append(waited)
            waited = None
    return instructions, after_wait


def compare(zyfa, repository, rows):
    """Adds rows of the gaps between instructions: medians over the recorded waves."""
    group = "Thread traces of gfx950 (tinygrad), gaps between a wave's instructions"
    source = "tinygrad, extra/sqtt/examples/gfx950"
    texts = []
    for name, (code, waves) in recorded(pathlib.Path(repository)).items():
        with tempfile.TemporaryDirectory() as folder:
            instructions, after_wait = modelled(zyfa, name, code, folder)
        waves = [w for w in waves if len(w) == len(instructions)]
        if not waves: # of a single workgroup, which ran on a compute unit that was not recorded
            texts.append(f"{name}: no recorded wave")
            continue
        gaps = [statistics.median(w[n] - w[n - 1] for w in waves) for n in range(1, len(instructions))]
        model = [instructions[n][1] - instructions[n - 1][1] for n in range(1, len(instructions))]
        plain = [n for n in range(len(gaps)) if after_wait[n + 1] is None and instructions[n + 1][0] != "s_endpgm"]
        rows.append((group, f"{name}: {len(plain)} gaps without a wait, together", sum(gaps[n] for n in plain),
                     sum(model[n] for n in plain), "held out", "cycles", source))
        for n in range(len(gaps)):
            before, mnemonic = instructions[n][0], instructions[n + 1][0]
            if mnemonic == "s_endpgm":
                rows.append((group, f"{name}: {before} to the end", gaps[n], model[n], "input", "cycles", source))
            elif after_wait[n + 1] is not None:
                cold = "vmcnt" in after_wait[n + 1]
                first_scalar = not any(m.startswith("ds_") for m, _ in instructions[:n + 1])
                role = "held out" if cold or not first_scalar else "input"
                if before.startswith("ds_write"):
                    role = "fitted"
                rows.append((group, f"{name}: {before}, {after_wait[n + 1]}, {mnemonic}", gaps[n], model[n], role, "cycles",
                             source))
        texts.append(f"{name}: {len(waves)} recorded waves")
    return ("; ".join(texts) + ". Every gap is the median over the waves; they ran once, on cold caches and TLBs, while the "
            "model's vector loads hit L2 and its instruction fetches hit.")

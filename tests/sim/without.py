#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does each instruction have a test that looks at what it does?

without.py zyfa_sim_tests [--every N] [--from N] [MNEMONIC...]

Runs the tests of the simulator with one instruction at a time doing nothing, all those that kernels in use and the
compiled corpus hold (tests/sim/coverage_test.cpp). A test must fail then. Exit code 1 and a line for each that none
does. What has no result that another instruction could see is listed below and passed over.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

# Their effect is on time, caches, priorities or the order of memory, which a functional simulator has not.
WITHOUT_RESULT = {
    "s_nop", "v_nop", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_wb", "s_waitcnt", "buffer_inv", "buffer_wbl2",
}  # fmt: skip
COVERAGE = "engine: every instruction in use and in the corpus is named in a test of instructions"


def run(tests, cases, timeout=300, **variables):
    return subprocess.run(
        [tests, f"--test-case={cases}"], env={**os.environ, **variables}, capture_output=True, timeout=timeout
    )


def recorded(tests):
    """Test cases by mnemonic, and the mnemonics wanted."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "record")
        done = run(tests, "engine:*,valu:*", ZYFA_TEST_RECORD=file)
        if done.returncode != 0:
            sys.exit("the tests fail as they are:\n" + done.stdout.decode())
        cases = collections.defaultdict(set)
        with open(file) as lines:
            for line in lines:
                mnemonic, case = line.rstrip("\n").split("\t")
                cases[mnemonic].add(case)
    wanted = {mnemonic for mnemonic, names in cases.items() if COVERAGE in names}
    for names in cases.values():
        names.discard(COVERAGE)
    return cases, sorted(wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tests")
    parser.add_argument("mnemonics", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    cases, wanted = recorded(options.tests)
    chosen = options.mnemonics or wanted[options.first :: options.every]
    breadth = collections.Counter(case for names in cases.values() for case in names)
    noticed, unnoticed, passed_over = 0, [], 0
    for mnemonic in chosen:
        if mnemonic in WITHOUT_RESULT:
            passed_over += 1
            continue
        for case in sorted(cases[mnemonic], key=lambda name: (breadth[name], name)):  # the most particular first
            try:
                pattern = case.replace(",", "?")  # a comma would part two patterns
                failed = run(options.tests, pattern, timeout=20, ZYFA_TEST_WITHOUT=mnemonic).returncode != 0
            except subprocess.TimeoutExpired:
                failed = True
            if failed:
                noticed += 1
                break
        else:
            unnoticed.append(mnemonic)
            print(f"no test fails without {mnemonic}; in the code of: {', '.join(sorted(cases[mnemonic])) or 'none'}")
    print(
        f"{len(wanted)} instructions, {len(chosen)} looked at: {noticed} missed by a test, {passed_over} without a "
        f"result, {len(unnoticed)} not"
    )
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())

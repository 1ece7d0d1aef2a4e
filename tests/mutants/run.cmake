# SPDX-License-Identifier: Apache-2.0
# A sample of the BF16 kernel's mutants under the sanitizer: TOOL (zyfa), MUTANTS (zyfa_mutants), WORK.
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${TOOL} asm --heads-q 1 --seq 512 --compute-units 1 --output ${WORK}/kernel.s
                        --launch ${WORK}/launch.json
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${MUTANTS} ${WORK}/kernel.s ${WORK}/launch.json --from 1 --every 15 --at-least 98
                COMMAND_ERROR_IS_FATAL ANY)

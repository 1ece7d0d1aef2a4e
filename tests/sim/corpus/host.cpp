// SPDX-License-Identifier: Apache-2.0
// The corpus for the host, as a shared library: what the device should have computed.
#include "kernels.hpp"

#define DEFINE(name)                                                                                         \
    extern "C" __attribute__((visibility("default"))) void name(u32 count, const u32* in, u32* out) {        \
        for (u32 i = 0; i < count; ++i)                                                                      \
            corpus::name(i, in + i * 8, out + i * 8);                                                        \
    }
CORPUS(DEFINE)

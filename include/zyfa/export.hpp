// SPDX-License-Identifier: Apache-2.0
// ZYFA_API marks what libzyfa.so shows; everything else in it is hidden.
#pragma once

#define ZYFA_API [[gnu::visibility("default")]]

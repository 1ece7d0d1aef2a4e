// SPDX-License-Identifier: Apache-2.0
// zyfa-tuning-worker: the process in which a call's tuning gates its candidates. Not for people: it speaks
// over file descriptors that only a tuning hands it (tuner/worker_channel.hpp). A program of its own, since
// an application that tunes at a call has the library and need not have the tool.
#include <exception>

#include "templates/template.hpp"
#include "tuner/gate_worker.hpp"

int main() {
    try {
        return zyfa::tuner::serve_gate(&zyfa::templates::template_named);
    } catch (const std::exception&) {
        return 1;
    }
}

// SPDX-License-Identifier: Apache-2.0
// What a context knows: counters, cache layers, devices.
#include "capi/context.hpp"
#include "capi/status.hpp"

struct zyfa_layers {
    std::vector<zyfa::LayerSummary> layers;
};
struct zyfa_devices {
    std::vector<zyfa::DeviceSummary> devices;
};

using namespace zyfa;
using capi::at;

zyfa_status zyfa_context_counters(zyfa_context* context, zyfa_counters* counters) {
    return capi::guarded([&] {
        zyfa_counters& out = capi::sized(counters, "counters");
        const Counters c = capi::context_of(context).counters();
        out = {sizeof out, c.assembled, c.gated, c.timed,     c.hits,        c.misses, c.waited,
               c.damaged,  c.stale,     c.old,   c.timed_out, c.unpublished, c.pruned, c.retuned};
    });
}

zyfa_status zyfa_context_layers(zyfa_context* context, zyfa_layers** layers) {
    return capi::guarded(
        [&] { capi::required(layers, "layers") = new zyfa_layers{capi::context_of(context).layers()}; });
}

size_t zyfa_layers_count(const zyfa_layers* layers) {
    return layers ? layers->layers.size() : 0;
}

zyfa_status zyfa_layers_get(const zyfa_layers* layers, size_t index, zyfa_layer* layer) {
    return capi::guarded([&] {
        const auto& l = at(capi::required(layers, "layers").layers, index);
        zyfa_layer& out = capi::sized(layer, "layer");
        out = {sizeof out, l.name.c_str(), l.path.c_str(), l.note.c_str(), l.writable ? 1 : 0,
               0,          l.winners,      l.binaries,     l.measurements, l.quarantined,
               l.bytes,    l.hits};
    });
}

void zyfa_layers_destroy(zyfa_layers* layers) {
    delete layers;
}

zyfa_status zyfa_context_devices(zyfa_context* context, zyfa_devices** devices) {
    return capi::guarded(
        [&] { capi::required(devices, "devices") = new zyfa_devices{capi::context_of(context).devices()}; });
}

size_t zyfa_devices_count(const zyfa_devices* devices) {
    return devices ? devices->devices.size() : 0;
}

zyfa_status zyfa_devices_get(const zyfa_devices* devices, size_t index, zyfa_device* device) {
    return capi::guarded([&] {
        const DeviceSummary& d = at(capi::required(devices, "devices").devices, index);
        zyfa_device& out = capi::sized(device, "device");
        out = {sizeof out,          d.ordinal,      d.compute_units, d.xcds,
               d.simulated ? 1 : 0, d.name.c_str(), d.target.c_str()};
    });
}

void zyfa_devices_destroy(zyfa_devices* devices) {
    delete devices;
}

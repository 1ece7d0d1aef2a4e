// SPDX-License-Identifier: Apache-2.0
#include "zyfa/quantize.hpp"

#include "capi/context.hpp"
#include "capi/status.hpp"
#include "capi/values.hpp"

using namespace zyfa;

namespace {

static_assert(sizeof(zyfa_quantize_report) == sizeof(QuantizeReport) &&
              offsetof(zyfa_quantize_report, largest) == offsetof(QuantizeReport, largest));

QuantizeArgs arguments_of(const zyfa_quantize_args* args) {
    const zyfa_quantize_args& c = capi::sized(args, "args");
    if (c.smoothing < ZYFA_SMOOTHING_NONE || c.smoothing > ZYFA_SMOOTHING_GIVEN)
        capi::refuse("smoothing", std::to_string(c.smoothing), "0 to 2");
    QuantizeArgs out;
    out.x = capi::view_of(c.x, "x.dtype");
    out.codes = capi::view_of(c.codes, "codes.dtype");
    out.descale = capi::optional_of(c.descale);
    out.fold_scale = capi::optional_of(c.fold_scale);
    out.rotate = c.rotate != 0;
    out.smoothing = static_cast<Smoothing>(c.smoothing);
    out.mean = c.mean;
    out.stream = c.stream;
    return out;
}

} // namespace

zyfa_status zyfa_quantize(zyfa_context* context, const zyfa_quantize_args* args,
                          zyfa_quantize_report* report) {
    return capi::guarded([&] {
        zyfa_quantize_report& out = capi::required(report, "report");
        const QuantizeReport found = quantize(capi::context_of(context), arguments_of(args));
        out = {found.descale, found.clamped, found.non_finite, found.largest};
    });
}

zyfa_status zyfa_quantize_async(zyfa_context* context, const zyfa_quantize_args* args,
                                zyfa_quantize_report* report) {
    return capi::guarded([&] {
        quantize_async(capi::context_of(context), arguments_of(args),
                       reinterpret_cast<QuantizeReport*>(report));
    });
}

zyfa_status zyfa_prepare_quantize(zyfa_context* context, int64_t dim, int rotate, int smooth, int device) {
    return capi::guarded(
        [&] { prepare_quantize(capi::context_of(context), dim, rotate != 0, smooth != 0, device); });
}

zyfa_status zyfa_folded_descale(float at_least, float softmax_scale, float k_descale, float* descale) {
    return capi::guarded(
        [&] { capi::required(descale, "descale") = folded_descale(at_least, softmax_scale, k_descale); });
}

zyfa_status zyfa_add_mean_score(zyfa_context* context, const zyfa_mean_score_args* args) {
    return capi::guarded([&] {
        const zyfa_mean_score_args& c = capi::sized(args, "args");
        MeanScoreArgs out;
        out.q = capi::view_of(c.q, "q.dtype");
        out.mean = c.mean;
        out.heads_kv = c.heads_kv;
        out.lse = c.lse;
        out.lse_batch_stride = c.lse_batch_stride;
        out.lse_head_stride = c.lse_head_stride;
        out.softmax_scale = capi::optional_of(c.softmax_scale);
        out.stream = c.stream;
        add_mean_score(capi::context_of(context), out);
    });
}

zyfa_status zyfa_rotation_element(int64_t dim, int64_t row, int64_t column, double* element) {
    return capi::guarded([&] { capi::required(element, "element") = rotation_element(dim, row, column); });
}

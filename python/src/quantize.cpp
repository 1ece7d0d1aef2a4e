// SPDX-License-Identifier: Apache-2.0
#include "quantize.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "context.hpp"
#include "errors.hpp"
#include "values.hpp"
#include "zyfa/quantize.hpp"

namespace nb = nanobind;

namespace zyfa::python {
namespace {

using Scale = std::optional<float>;

/// (descale, clamped, non_finite). Waits for the tensor's device, unless `wait` is false, which wants a
/// static scale and counts nothing.
std::tuple<float, std::uint32_t, std::uint32_t> run(bool simulated, std::uintptr_t stream, nb::handle x,
                                                    nb::handle codes, Scale descale, bool rotate,
                                                    int smoothing, nb::handle mean, Scale fold_scale,
                                                    bool wait) {
    const QuantizeReport report = in_python_words([&] {
        QuantizeArgs args;
        args.x = view_of(x, "tensor", simulated);
        args.codes = view_of(codes, "codes", simulated);
        args.descale = descale;
        args.rotate = rotate;
        args.smoothing = static_cast<Smoothing>(smoothing);
        args.mean = static_cast<float*>(mean.is_none() ? nullptr : address_of(mean));
        args.fold_scale = fold_scale;
        args.stream = reinterpret_cast<void*>(stream);
        const nb::gil_scoped_release released;
        Context& context = context_for(simulated);
        if (simulated)
            return quantize_on_host(context, args);
        if (wait)
            return quantize(context, args);
        quantize_async(context, args, nullptr);
        return QuantizeReport{descale.value_or(1.0f), 0, 0, 0};
    });
    return {report.descale, report.clamped, report.non_finite};
}

void add_mean(bool simulated, std::uintptr_t stream, nb::handle q, nb::handle mean, std::int64_t heads_kv,
              nb::handle lse, Scale softmax_scale) {
    in_python_words([&] {
        MeanScoreArgs args;
        args.q = view_of(q, "q", simulated);
        args.mean = static_cast<const float*>(address_of(mean));
        args.heads_kv = heads_kv;
        args.lse = static_cast<float*>(address_of(lse));
        args.softmax_scale = softmax_scale;
        args.stream = reinterpret_cast<void*>(stream);
        const nb::gil_scoped_release released;
        Context& context = context_for(simulated);
        if (simulated)
            add_mean_score_on_host(context, args);
        else
            add_mean_score(context, args);
    });
}

} // namespace

void bind_quantize(nb::module_& m) {
    m.def("quantize", &run, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
    m.def("add_mean_score", &add_mean, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg().none());
    m.def("rotation_element", [](std::int64_t dim, std::int64_t row, std::int64_t column) {
        return in_python_words([&] { return rotation_element(dim, row, column); });
    });
}

} // namespace zyfa::python

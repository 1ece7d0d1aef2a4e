// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/svg.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>

namespace zyfa::sim::timing {

namespace {

constexpr double left = 110, width = 1200, row_height = 26, gap = 8, top = 34;

struct Colour {
    const char* name;
    const char* fill;
};
constexpr Colour matrix{"matrix", "#c0392b"}, vector{"vector", "#2471a3"}, lds{"LDS", "#1e8449"},
    memory{"memory", "#b9770e"}, scalar{"scalar, control", "#7f8c8d"}, barrier{"waits at barrier", "#d5d8dc"},
    counter{"waits for memory or LDS", "#f5cba7"}, pipe{"waits for a pipe or result", "#aed6f1"};

Colour colour_of(InstructionClass kind) {
    switch (kind) {
    case InstructionClass::matrix:
        return matrix;
    case InstructionClass::valu:
    case InstructionClass::transcendental:
    case InstructionClass::packed_fp32:
        return vector;
    case InstructionClass::lds:
        return lds;
    case InstructionClass::vmem:
    case InstructionClass::flat:
    case InstructionClass::smem:
        return memory;
    default:
        return scalar;
    }
}

Colour colour_of(Stall stall) {
    switch (stall) {
    case Stall::barrier:
        return barrier;
    case Stall::vmcnt:
    case Stall::lgkmcnt:
    case Stall::memory_pipe:
        return counter;
    default:
        return pipe;
    }
}

class Picture {
  public:
    Picture(Cycle begin, Cycle cycles) : begin_(begin), cycles_(cycles) {}

    void row(const std::string& name) {
        ++rows_;
        char text[160];
        std::snprintf(text, sizeof text, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                      left - 8, y() + row_height * 0.7, name.c_str());
        body_ += text;
    }
    void box(Cycle from, Cycle length, const Colour& colour) {
        const Cycle to = std::min(from + length, begin_ + cycles_);
        from = std::max(from, begin_);
        if (to <= from)
            return;
        char text[200];
        std::snprintf(text, sizeof text,
                      "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"/>\n", x(from),
                      y(), x(to) - x(from), row_height, colour.fill);
        body_ += text;
    }
    void line(Cycle at, const char* style) {
        if (at < begin_ || at > begin_ + cycles_)
            return;
        char text[200];
        std::snprintf(text, sizeof text, "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.0f\" y2=\"%.1f\" %s/>\n",
                      x(at), x(at), top, y() + row_height, style);
        body_ += text;
    }
    std::string finish() {
        double at = left;
        const double below = y() + row_height + 34;
        for (const Colour& c : {matrix, vector, lds, memory, scalar, barrier, counter, pipe}) {
            char text[300];
            std::snprintf(
                text, sizeof text,
                "<rect x=\"%.0f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%.0f\" "
                "y=\"%.1f\">%s</text>\n",
                at, below, c.fill, at + 16, below + 11, c.name);
            body_ += text;
            at += 36 + 6.5 * static_cast<double>(std::string_view(c.name).size()); // about 6 to a letter
        }
        const Cycle step = std::max<Cycle>(64, cycles_ / 10 / 64 * 64);
        for (Cycle tick = 0; tick <= cycles_; tick += step) {
            char text[160];
            std::snprintf(text, sizeof text,
                          "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%llu</text>\n",
                          x(begin_ + tick), top - 8, static_cast<unsigned long long>(tick));
            body_ += text;
        }
        char head[300];
        std::snprintf(head, sizeof head,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                      "font-family=\"sans-serif\" font-size=\"12\">\n<title>SIMD 0 from cycle %llu on "
                      "(simulated)</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                      left + width + 60, below + 30, static_cast<unsigned long long>(begin_));
        return head + body_ + "</svg>\n";
    }

  private:
    double x(Cycle at) const {
        return left + width * static_cast<double>(at - begin_) / static_cast<double>(cycles_);
    }
    double y() const { return top + (rows_ - 1) * (row_height + gap); }

    Cycle begin_, cycles_;
    int rows_ = 0;
    std::string body_;
};

} // namespace

Cycle middle(const TimingReport& report) {
    return report.barriers.empty() ? report.cycles / 2 : report.barriers[report.barriers.size() / 2];
}

std::string to_svg(const TimingReport& report, Cycle begin, Cycle cycles) {
    cycles = std::max<Cycle>(cycles, 1);
    Picture picture(begin, cycles);
    std::map<unsigned, std::vector<const Event*>> waves;
    for (const Event& event : report.events)
        if (event.wave % 4 == 0 && event.issue + 256 >= begin && event.issue - event.stalled < begin + cycles)
            waves[event.wave].push_back(&event);
    for (const auto& [wave, events] : waves) {
        picture.row("wave " + std::to_string(wave));
        for (const Event* event : events) {
            picture.box(event->issue - event->stalled, event->stalled, colour_of(event->stall));
            picture.box(event->issue, 4, colour_of(event->kind));
        }
    }
    const auto busy = [&](const char* name, auto&& uses, const Colour& colour) {
        picture.row(name);
        for (const auto& [wave, events] : waves)
            for (const Event* event : events)
                if (uses(event->pipe))
                    picture.box(event->issue, event->busy, colour);
    };
    busy("matrix pipe", [](Pipe p) { return p == Pipe::matrix || p == Pipe::packed; }, matrix);
    busy("vector pipe", [](Pipe p) { return p == Pipe::vector || p == Pipe::packed; }, vector);
    busy("LDS", [](Pipe p) { return p == Pipe::lds; }, lds);
    for (const Cycle release : report.barriers)
        picture.line(release, "stroke=\"black\" stroke-dasharray=\"3 3\"");
    return picture.finish();
}

} // namespace zyfa::sim::timing

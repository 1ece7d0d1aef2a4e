// SPDX-License-Identifier: Apache-2.0
// Who touched what before: LDS between barriers, global memory in the course of a launch.
#include "sim/sanitizer/sanitizer.hpp"

#include "sim/fault.hpp"

#include <algorithm>

namespace zyfa::sim::sanitizer {

namespace {

constexpr const char* lds_race = "LDS race";
constexpr const char* dma_unwaited = "load to LDS used before its wait";
constexpr const char* group_race = "global memory race in a workgroup";
constexpr const char* launch_race = "global memory race between workgroups";

const char* kind(bool write) {
    return write ? "write" : "read";
}

} // namespace

void Sanitizer::touch_lds(const Wave& wave, WaveShadow& shadow, const Touch& touch) {
    GroupShadow& group = *wave.group->shadow;
    const std::uint64_t first = touch.address & 0xffffffff, end = first + touch.bytes;
    const auto me = static_cast<std::uint8_t>(wave.id);
    const auto race = [&](std::uint64_t cell, SiteIndex other, unsigned other_wave, bool other_write,
                          bool late) {
        // A read that is merely not waited for has left the wave's queue by the time of the barrier, and LDS
        // serves in order: shipped code counts on it.
        const Severity severity = late && !other_write ? Severity::note : Severity::error;
        report(severity, lds_race, wave, static_cast<int>(touch.lane), touch.site, other, [&](Finding& f) {
            f.detail = std::string(kind(touch.write)) + " of LDS bytes " + std::to_string(cell * 4) + " to " +
                       std::to_string(cell * 4 + 3) + " that wave " + std::to_string(other_wave) +
                       (other_write ? " writes" : " reads");
            const std::map<SiteIndex, std::string>& waits = group.waves[other_wave].late;
            const auto wait = late ? waits.find(other) : waits.end();
            if (wait != waits.end()) {
                f.detail += "; it had not waited for that when it came to the barrier";
                f.fix = "s_waitcnt " + wait->second + " needed before the s_barrier";
            } else {
                f.detail += " without a barrier between";
                f.fix = "s_barrier between the two";
            }
        });
    };
    for (std::uint64_t at = first / 4; at * 4 < end; ++at) {
        LdsCell& c = group.lds[at];
        const std::uint64_t low = std::max(first, at * 4), high = std::min(end, at * 4 + 4);
        const auto bytes = static_cast<std::uint8_t>(((1u << (high - low)) - 1) << (low - at * 4));
        // A later load to the same place lands later: only what reads it, or writes it in another way.
        if (c.load != 0 && c.write_wave == me && !shadow.pending.landed(c.load) &&
            (!touch.write || (session_.dispatch.code->instructions()[touch.site].flags & flag::lds) == 0))
            if (const Operation* const load = shadow.pending.writer_of_lds(low))
                report(Severity::error, dma_unwaited, wave, static_cast<int>(touch.lane), touch.site,
                       site(*load->traits), [&](Finding& f) {
                           f.detail = std::string(kind(touch.write)) + " of LDS byte " + std::to_string(low) +
                                      " that a load may still write";
                           f.fix = shadow.pending.fix(*load);
                       });
        const bool written =
            c.write_epoch >= shadow.epoch && c.write_wave != me && (c.write_bytes & bytes) != 0;
        if (written && !(touch.atomic && c.write_atomic))
            race(at, c.write_site, c.write_wave, true, c.write_late && c.write_issued < shadow.epoch);
        if (touch.write) {
            const ByteWaves readers = c.read_waves & ~in_all_bytes(me) & bytes_of_waves(bytes);
            if (c.read_epoch >= shadow.epoch && readers != 0)
                race(at, c.read_site,
                     (readers & in_all_bytes(c.read_wave)) != 0 ? c.read_wave : any_wave(readers), false,
                     c.read_late && c.read_issued < shadow.epoch);
            if (c.write_epoch != shadow.epoch || c.write_wave != me || c.write_site != touch.site) {
                c.write_bytes = c.write_epoch == shadow.epoch && c.write_wave == me ? c.write_bytes : 0;
                c.write_epoch = c.write_issued = shadow.epoch;
                c.write_site = touch.site;
                c.write_wave = me;
                c.write_atomic = touch.atomic;
                c.write_late = false;
                c.load = 0;
            }
            c.write_bytes |= bytes;
        } else {
            if (c.read_epoch < shadow.epoch) {
                c.read_epoch = c.read_issued = shadow.epoch;
                c.read_waves = 0;
                c.read_late = false;
            }
            if (c.read_late) { // an access of this interval weighs more than one left over from the last
                c.read_late = false;
                c.read_issued = shadow.epoch;
                c.read_site = touch.site;
                c.read_wave = me;
            }
            const ByteWaves mine = in_all_bytes(me) & bytes_of_waves(bytes);
            if ((c.read_waves & mine) != mine) {
                // Of several readers the report names the last.
                c.read_waves |= mine;
                c.read_site = touch.site;
                c.read_wave = me;
            }
        }
    }
}

bool Sanitizer::synchronised(const Wave& wave, std::uint32_t other_group, std::uint32_t tick) const {
    // A release by the other side and an acquire by this one since: atomics or cache control, which of them
    // the code took for a flag cannot be known.
    return (other_group == GlobalCell::several ||
            session_.last_sync[other_group - 1].load(std::memory_order_acquire) > tick) &&
           session_.last_sync[wave.group->index].load(std::memory_order_relaxed) > tick;
}

void Sanitizer::touch_global(const Wave& wave, const WaveShadow& shadow, const Touch& touch) {
    const auto own = static_cast<std::uint32_t>(wave.group->index + 1);
    const auto me = static_cast<std::uint8_t>(wave.id);
    const std::uint64_t first = touch.address, end = first + touch.bytes;
    const auto race = [&](const char* rule, std::uint64_t address, SiteIndex other, std::uint32_t other_group,
                          unsigned other_wave, bool other_write) {
        report(Severity::error, rule, wave, static_cast<int>(touch.lane), touch.site, other, [&](Finding& f) {
            f.detail = std::string(kind(touch.write)) + " of " + describe_global(address) + " that ";
            if (rule == launch_race)
                f.detail += other_group == GlobalCell::several
                                ? "several workgroups"
                                : "workgroup " + std::to_string(other_group - 1) + " (linear)";
            else
                f.detail += "wave " + std::to_string(other_wave);
            f.detail += std::string(other_write ? " write" : " read") +
                        (other_group == GlobalCell::several && rule == launch_race ? "" : "s") +
                        (rule == launch_race ? ", not by atomics and with none between"
                                             : " without a barrier between");
            f.fix = rule == launch_race ? "atomics, or a flag released and acquired"
                                        : "s_barrier between the two";
        });
    };
    for (std::uint64_t at = first / 4; at * 4 < end; ++at) {
        if (const std::uint64_t number = at * 4 / GlobalRaces::page_bytes; number != page_number_) {
            if (page_ != nullptr)
                page_->mutex.unlock();
            page_ = session_.global.page(at * 4);
            page_number_ = number;
            if (page_ != nullptr)
                page_->mutex.lock();
        }
        if (page_ == nullptr)
            continue;
        GlobalCell& c = page_->cells[at % (GlobalRaces::page_bytes / 4)];
        const std::uint64_t low = std::max(first, at * 4), high = std::min(end, at * 4 + 4);
        const auto bytes = static_cast<std::uint8_t>(((1u << (high - low)) - 1) << (low - at * 4));
        if (c.writer != 0 && (c.write_bytes & bytes) != 0) {
            const bool harmless = c.write_atomic && touch.atomic;
            if (c.writer != own) {
                if (!harmless && !synchronised(wave, c.writer, c.write_tick))
                    race(launch_race, low, c.write_site, c.writer, c.write_wave, true);
            } else if (!harmless && c.write_wave != me && c.write_epoch >= shadow.epoch) {
                race(group_race, low, c.write_site, own, c.write_wave, true);
            }
        }
        if (!touch.write) {
            if (touch.atomic) // a load from beyond the caches may look at any time
                continue;
            const std::uint32_t tick = session_.tick.load(std::memory_order_relaxed);
            for (unsigned byte = 0; byte < 4; ++byte) {
                if ((bytes >> byte & 1) == 0)
                    continue;
                std::uint32_t& reader = c.reader[byte];
                reader = reader == 0 || reader == own ? own : GlobalCell::several;
                c.read_tick[byte] = tick;
            }
            if (c.last_reader != own || c.read_epoch < shadow.epoch) {
                c.last_reader = own;
                c.read_epoch = shadow.epoch;
                c.read_waves = 0;
            }
            c.read_waves |= in_all_bytes(me) & bytes_of_waves(bytes);
            c.read_site = touch.site;
            continue;
        }
        for (unsigned byte = 0; byte < 4; ++byte)
            if (const std::uint32_t reader = c.reader[byte]; (bytes >> byte & 1) != 0 && reader != 0 &&
                                                             reader != own &&
                                                             !synchronised(wave, reader, c.read_tick[byte])) {
                race(launch_race, at * 4 + byte, c.read_site, reader, 0, false);
                break;
            }
        const ByteWaves readers = c.read_waves & ~in_all_bytes(me) & bytes_of_waves(bytes);
        if (c.last_reader == own && c.read_epoch >= shadow.epoch && readers != 0)
            race(group_race, low, c.read_site, own, any_wave(readers), false);
        if (c.writer != own || c.write_wave != me || c.write_epoch != shadow.epoch)
            c.write_bytes = 0;
        c.writer = own;
        c.write_epoch = shadow.epoch;
        c.write_site = touch.site;
        c.write_wave = me;
        c.write_bytes |= bytes;
        c.write_atomic = touch.atomic;
        c.write_tick = session_.tick.load(std::memory_order_relaxed);
    }
}

void Sanitizer::synchronise(const Wave& wave) {
    session_.last_sync[wave.group->index].store(session_.tick.fetch_add(1) + 1, std::memory_order_release);
}

void Sanitizer::barrier(Wave& wave, WaveShadow& shadow, const Traits& t) {
    GroupShadow& group = *wave.group->shadow;
    ++shadow.epoch;
    shadow.barrier_site = site(t);
    shadow.late.clear();
    // What is still outstanding happens after the barrier as far as other waves can tell.
    const auto me = static_cast<std::uint8_t>(wave.id);
    shadow.pending.for_each([&](const Operation& operation) {
        if (operation.cells.empty())
            return;
        const SiteIndex from = site(*operation.traits);
        shadow.late.emplace(from, shadow.pending.needed(operation));
        for (const std::uint32_t cell : operation.cells) {
            LdsCell& c = group.lds[cell];
            if (operation.traits->is(trait::store | trait::lds_dma)) {
                if (c.write_wave == me && c.write_site == from && !c.write_atomic) {
                    c.write_epoch = shadow.epoch;
                    c.write_late = true;
                }
            } else if (c.read_wave == me && c.read_site == from && c.read_epoch + 1 >= shadow.epoch) {
                c.read_epoch = shadow.epoch;
                c.read_waves &= in_all_bytes(me);
                c.read_late = true;
            }
        }
    });
    // Waves may wait at different s_barrier instructions: hardware counts arrivals, and kernels whose waves
    // take turns are built on it.
    if (const std::uint64_t off = wave.existing & ~wave.exec(); off != 0)
        report(Severity::note, "barrier divergence", wave, std::countr_zero(off), shadow.barrier_site,
               no_site, [&](Finding& f) {
                   f.detail = std::to_string(std::popcount(off)) + " lanes of the wave are switched off here";
               });
    for (unsigned other = 0; other < group.waves.size(); ++other) {
        if (group.waves[other].ended) {
            report(Severity::note, "barrier divergence", wave, -1, shadow.barrier_site, no_site,
                   [&](Finding& f) {
                       f.detail =
                           "wave " + std::to_string(other) + " has ended and will not come to this barrier";
                   });
        }
    }
}

void Sanitizer::end(const Wave& wave, WaveShadow& shadow) {
    shadow.ended = true;
    shadow.pending.for_each([&](const Operation& operation) {
        if (operation.traits->is(trait::lds_dma))
            report(Severity::note, "load to LDS outstanding at the end", wave, -1, site(*current_),
                   site(*operation.traits), [&](Finding& f) {
                       f.detail = "the LDS it writes may be another workgroup's by then";
                       f.fix = shadow.pending.fix(operation);
                   });
    });
    for (const Wave& other : wave.group->waves)
        if (other.state == WaveState::barrier)
            report(Severity::note, "barrier divergence", wave, -1, site(*current_),
                   wave.group->shadow->waves[other.id].barrier_site, [&](Finding& f) {
                       f.detail =
                           "this wave ends while wave " + std::to_string(other.id) + " waits at a barrier";
                   });
}

} // namespace zyfa::sim::sanitizer

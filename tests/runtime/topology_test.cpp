// SPDX-License-Identifier: Apache-2.0
// Reading what the kernel driver says of a device, from a folder that looks like sysfs.
#include "runtime/topology.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace zyfa::runtime;

namespace {

struct FakeSysfs {
    FakeSysfs() {
        root = std::filesystem::temp_directory_path() /
               ("zyfa-sysfs-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
        write("bus/pci/devices/0000:75:00.0/current_compute_partition", "SPX\n");
        write("class/kfd/kfd/topology/nodes/0/properties",
              "cpu_cores_count 64\nlocation_id 0\ndomain 0\nnum_xcc 0\n");
        // bus 0x75, device 0, function 0: 0x7500
        write("class/kfd/kfd/topology/nodes/1/properties",
              "simd_count 1024\nlocation_id 29952\ndomain 0\nnum_xcc 8\n");
        write("class/kfd/kfd/topology/nodes/2/properties",
              "simd_count 512\nlocation_id 29952\ndomain 1\nnum_xcc 4\n");
    }
    ~FakeSysfs() { std::filesystem::remove_all(root); }
    void write(const std::string& name, const std::string& text) {
        std::filesystem::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    }
    std::filesystem::path root;
};

} // namespace

TEST_CASE("partition and XCD count come from the driver's files") {
    const FakeSysfs sysfs;
    CHECK_EQ(compute_partition("0000:75:00.0", sysfs.root), "SPX");
    CHECK_EQ(compute_partition("0000:76:00.0", sysfs.root), "");
    CHECK_EQ(xcd_count("0000:75:00.0", sysfs.root), 8);
    CHECK_EQ(xcd_count("0001:75:00.0", sysfs.root), 4);
    CHECK_EQ(xcd_count("0000:76:00.0", sysfs.root), 0);
    CHECK_EQ(xcd_count("nonsense", sysfs.root), 0);
    CHECK_EQ(xcd_count("0000:75:00.0", "/nonexistent"), 0);
}

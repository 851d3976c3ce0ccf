// What a scenario's sections say of what they leave out.
#include "reliability/options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "hardware/operations.hpp"

namespace orrery::reliability {
namespace {

template <class Struct>
std::string_view when_absent(std::span<const documents::Field<Struct>> fields, std::string_view key) {
    for (const documents::Field<Struct>& field : fields)
        if (field.key.name == key) return field.key.when_absent;
    return "no such key";
}

/// The words of a default are those of the constant that stands in for it.
TEST(Options, SayTheDefaultsThatAreTaken) {
    const auto failures = [](std::string_view key) { return when_absent<Failures>(failures_fields(), key); };
    const auto storage = [](std::string_view key) { return when_absent<Storage>(storage_fields(), key); };
    const auto rate = [](double bytes_per_second) { return fmt::format("{:g} GB/s", bytes_per_second / 1e9); };
    EXPECT_TRUE(failures("failures_per_1000_node_days")
                    .starts_with(fmt::format("{:.2f} for nodes of 8", hardware::failures_per_gpu_day * 8 * 1000)));
    EXPECT_TRUE(failures("detection").starts_with(fmt::format("{:g} min", hardware::detection_seconds / 60)));
    EXPECT_TRUE(failures("restart").starts_with(fmt::format("{:g} min", hardware::restart_seconds / 60)));
    const auto shared = [&](double node, double least) {
        return fmt::format("{} a node, {} at least", rate(node), rate(least));
    };
    EXPECT_TRUE(storage("read_rate").starts_with(shared(hardware::shared_read_per_node, hardware::node_read)));
    EXPECT_TRUE(storage("write_rate").starts_with(shared(hardware::shared_write_per_node, hardware::node_write)));
    EXPECT_TRUE(storage("node_read_rate").starts_with(rate(hardware::node_read)));
    EXPECT_TRUE(storage("node_write_rate").starts_with(rate(hardware::node_write)));
    EXPECT_TRUE(storage("nvme_read_rate").starts_with(rate(hardware::nvme_read)));
    EXPECT_TRUE(storage("nvme_write_rate").starts_with(rate(hardware::nvme_write)));
}

}  // namespace
}  // namespace orrery::reliability

// orrery-device network: what a message between hosts costs, all ranks sending at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "cli/device/commands.hpp"
#include "kernels/communicator.hpp"

namespace orrery::cli {

namespace {

struct NetworkOptions {
    std::string communication = "auto";
    std::uint64_t bytes = std::uint64_t{4} << 20U;
    std::uint32_t repeats = 15;
};

/// Messages around the ring of all ranks: each sends to the next and receives from the one before.
class Ring {
public:
    Ring(kernels::Device& device, kernels::Communicator& world, std::uint64_t most)
        : device_(device), world_(world), send_(device.allocate(most)), receive_(device.allocate(most)) {}
    ~Ring() {
        device_.release(send_);
        device_.release(receive_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Median seconds, of the slowest rank, of `row` messages that follow each other.
    double seconds(std::uint64_t bytes, std::uint32_t row, std::uint32_t repeats) {
        std::vector<double> samples;
        for (std::uint32_t i = 0; i < repeats; ++i) {
            world_.barrier();
            const auto begin = std::chrono::steady_clock::now();
            for (std::uint32_t k = 0; k < row; ++k)
                world_.run(kernels::CollectiveKind::send_recv, send_, receive_, bytes, kernels::Dtype::fp32, 1);
            device_.synchronize();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            samples.push_back(world_.maximum(taken.count()));
        }
        std::ranges::nth_element(samples, samples.begin() + repeats / 2);
        return samples[repeats / 2];
    }

private:
    kernels::Device& device_;
    kernels::Communicator& world_;
    void *send_, *receive_;
};

Exit measure(const NetworkOptions& options) {
    const auto device = kernels::open_device("cpu");
    const auto world = kernels::world(*device, options.communication);
    if (world == nullptr || world->nodes() != world->ranks())
        throw Error("a network is measured between hosts, one rank on each", "start a rank on every host");
    constexpr std::uint64_t small = 4;
    constexpr std::uint32_t few = 2, many = 18, row = 100;
    Ring ring(*device, *world, options.bytes);
    (void)ring.seconds(options.bytes, few, 2);  // connections grow their windows
    const double latency = ring.seconds(small, row, options.repeats) / row;
    // Shaped links let a little through at once at the start of a row: it is the same in a long row and in a short one.
    const double longer = ring.seconds(options.bytes, many, options.repeats);
    const double shorter = ring.seconds(options.bytes, few, options.repeats);
    const double message = (longer - shorter) / (many - few);
    const double rate = static_cast<double>(options.bytes) / (message - latency);
    if (world->rank() != 0) return Exit::done;
    const nlohmann::ordered_json found{{"ranks", world->ranks()},
                                       {"software", world->software()},
                                       {"host_message_seconds", latency},
                                       {"bytes_per_second", rate}};
    fmt::print("{}\n", found.dump(2));
    return Exit::done;
}

}  // namespace

void add_device_network(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand(
        "network", "measure messages between hosts: latency and rate, all ranks sending at once");
    const auto options = std::make_shared<NetworkOptions>();
    command->add_option("--communication", options->communication, "auto (MPI) or tcp")->capture_default_str();
    command->add_option("--bytes", options->bytes, "of a large message")
        ->check(CLI::Range(std::uint64_t{1} << 16U, std::uint64_t{1} << 30U))
        ->capture_default_str();
    command->add_option("--repeats", options->repeats, "whose median counts")
        ->check(CLI::Range(1U, 10000U))
        ->capture_default_str();
    command->footer(
        "Example, on each of two hosts with its own RANK:\n"
        "  RANK=0 WORLD_SIZE=2 MASTER_ADDR=node1 ORRERY_SECRET=... orrery-device network --communication tcp\n"
        "ORRERY_SECRET is the same on both, as `openssl rand -hex 16` prints one: nobody else joins.");
    command->callback([options, &exit] { exit = measure(*options); });
}

}  // namespace orrery::cli

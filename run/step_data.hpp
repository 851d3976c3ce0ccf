// What a step is given beside parameters, and where its losses go: the tables of strategies/dataflow.hpp in device
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "run/images.hpp"
#include "run/owned_memory.hpp"
#include "run/place.hpp"
#include "strategies/dataflow.hpp"

namespace orrery::run {

class StepData {
public:
    StepData(kernels::Device& device, const Place& place);

    /// Where a table lies for one micro-batch.
    [[nodiscard]] void* at(strategies::Table table, std::int32_t micro_batch) const;

    /// Places the ids and targets of the program's steps: whole sequences of seq + 1 tokens; where a decoder stands
    /// beside an encoder, of the encoder's tokens, and behind them the decoder's and one more, which it predicts from
    /// those before (Raffel et al. 2020, section 3.2.1: a text, and how it goes on). The device is synchronised.
    void upload(const std::vector<std::vector<std::int32_t>>& sequences);
    /// The same of images and their classes.
    void upload(const std::vector<Images::Example>& examples);
    /// The mean loss over this rank's tokens of each step, on the last stage, after they ended.
    [[nodiscard]] std::vector<double> losses() const;

private:
    void make_rotations();
    void make_routes();
    void make_head_tables();
    void make_position_biases();
    void put(const DeviceMemory& to, const void* values, std::uint64_t bytes);
    void put(const DeviceMemory& to, const std::vector<std::int32_t>& values) {
        put(to, values.data(), values.size() * sizeof(std::int32_t));
    }
    /// Of all steps.
    [[nodiscard]] std::uint64_t all_tokens(models::Sequence of) const {
        return place_.tokens(of) * place_.plan.pipeline_shape().all_micro_batches();
    }
    [[nodiscard]] std::uint64_t predicted_tokens() const { return all_tokens(place_.predicted()); }

    kernels::Device& device_;
    const Place& place_;
    DeviceMemory ids_, decoded_ids_, images_, targets_, loss_, rotations_, zeros_, routes_;
    /// Where context ranks exchange or gather heads; and distances of positions, and what is made of them.
    std::map<strategies::Table, DeviceMemory> others_;
    /// Elements of the routing tables before each, from Table::copy_expert on.
    std::vector<std::uint64_t> route_begin_;
};

}  // namespace orrery::run

// What the plain implementations of all models have in common: named parameters, and the layers that most are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "run/parameters.hpp"
#include "run/place.hpp"
#include "strategies/plan.hpp"
#include "tests/run/matrices.hpp"

namespace orrery::run {

class ReferenceModel {
public:
    ReferenceModel(const strategies::Plan& plan, const RunSettings& settings);
    virtual ~ReferenceModel() = default;
    ReferenceModel(const ReferenceModel&) = delete;
    ReferenceModel& operator=(const ReferenceModel&) = delete;

    std::map<std::string, M>& parameters() { return parameters_; }

    /// The global batch is divided into so many equal parts, one behind the other, whose losses do not depend on each
    /// other.
    [[nodiscard]] virtual std::uint32_t parts() const { return plan_.training.global_batch; }
    /// The mean loss of a part in a step.
    virtual M loss(Tape& tape, std::uint32_t step, std::uint32_t part) = 0;

protected:
    M get(const std::string& name) { return parameters_.at(name); }
    [[nodiscard]] bool has(const std::string& name) const { return parameters_.contains(name); }
    void parameter(const std::string& name, std::size_t rows, std::size_t cols, Initial initial = Initial::normal);
    /// A bias for each of `count` parts of the outputs is a row.
    void linear(const std::string& name, std::size_t out, std::size_t in, bool bias, std::size_t count = 1);
    void norm(const std::string& name, std::size_t width);
    M normed(Tape& tape, const M& x, const std::string& name);
    M applied(Tape& tape, const M& x, const std::string& name);
    M activated(Tape& tape, const M& x);

    /// Of one part of a step in one of its layers, whose dropouts are counted as they are met: what an element of the
    /// dropout is multiplied by. element: among all of the step's at that site.
    struct Dropouts {
        std::uint32_t step = 0;
        std::int32_t layer = 0;  ///< -1: the embedding
        std::uint32_t met = 0;
    };
    [[nodiscard]] std::function<double(std::uint64_t element)> next_mask(Dropouts& at) const;
    /// Of rows from `first` on of the residual stream of all sequences of a step.
    M dropped(Tape& tape, const M& x, Dropouts& at, std::uint64_t first) const;

    strategies::Plan plan_;
    const models::ModelSpec& spec_;
    RunSettings settings_;

private:
    std::map<std::string, M> parameters_;
};

/// GPT, Llama and what differs from them in details, dense or with experts.
std::unique_ptr<ReferenceModel> reference_transformer(const strategies::Plan& plan, const RunSettings& settings);
/// T5.
std::unique_ptr<ReferenceModel> reference_encoder_decoder(const strategies::Plan& plan, const RunSettings& settings);
/// ResNets.
std::unique_ptr<ReferenceModel> reference_resnet(const strategies::Plan& plan, const RunSettings& settings);
/// That of the plan's model.
std::unique_ptr<ReferenceModel> reference_of_model(const strategies::Plan& plan, const RunSettings& settings);

}  // namespace orrery::run

// Names and kernels of a step program, each stored once.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

class Intern;

/// A text that a writer names many operations by: looked up when it is first needed.
class Name {
public:
    explicit constexpr Name(const char* text) : text_(text) {}
    std::uint32_t in(Intern& intern);

private:
    const char* text_;
    std::optional<std::uint32_t> number_;
};

/// Hands out indices into StepProgram::names and StepProgram::kernels, in order of first use.
class Intern {
public:
    explicit Intern(StepProgram& step) : step_(step) {}
    /// Fast where the same text is asked for again.
    std::uint32_t name(std::string_view text);
    Compute kernel(const kernels::Kernel& kernel);
    /// Collective::once.
    std::uint32_t exchange(const std::optional<OnceANode>& exchange);
    Label label(Name& name, Phase phase, std::int32_t micro_batch = -1, std::int32_t layer = -1) {
        return {.name = name.in(*this), .micro_batch = micro_batch, .layer = layer, .phase = phase};
    }
    Label label(std::string_view text, Phase phase, std::int32_t micro_batch = -1, std::int32_t layer = -1) {
        return {.name = name(text), .micro_batch = micro_batch, .layer = layer, .phase = phase};
    }

private:
    /// Looks up texts without making strings of them.
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Numbers = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

    /// A name that was asked for by a text at this address: a literal's is always the same.
    struct Recent {
        const char* text = nullptr;
        std::uint32_t number = 0;
    };

    StepProgram& step_;
    Numbers names_, kernels_;
    std::array<Recent, 64> recent_{};  // by address
};

inline std::uint32_t Name::in(Intern& intern) {
    if (!number_) number_ = intern.name(text_);
    return *number_;
}

}  // namespace orrery::strategies

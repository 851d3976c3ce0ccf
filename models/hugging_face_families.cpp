#include "models/hugging_face_families.hpp"

#include <vector>

namespace orrery::models {

std::span<const FamilyReader> family_readers() {
    static const std::vector<FamilyReader> all = [] {
        std::vector<FamilyReader> joined;
        for (const auto readers : {gpt_readers(), llama_readers(), expert_readers(), mamba_readers(), vision_readers()})
            joined.insert(joined.end(), readers.begin(), readers.end());
        return joined;
    }();
    return all;
}

Keys spelled(const ConfigReader& config, const Keys& own) {
    constexpr Keys usual{};
    Keys keys = own;
    for (const auto member : {&Keys::layers, &Keys::hidden, &Keys::heads, &Keys::positions})
        if (!config.has(keys.*member) && config.has(usual.*member)) keys.*member = usual.*member;
    return keys;
}

}  // namespace orrery::models

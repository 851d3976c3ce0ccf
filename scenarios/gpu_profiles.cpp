#include "scenarios/gpu_profiles.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "documents/message.hpp"
#include "topology/catalog.hpp"

namespace orrery::scenarios {

namespace {

using documents::child_pointer;
using documents::printable;
using documents::Reader;

/// A name as it is, a path relative to the scenario's folder.
std::string profile_path(const Reader& top, const std::string& text) {
    const std::filesystem::path named = text;
    const bool is_path = named.has_parent_path() || named.extension() == ".json";
    return is_path ? (std::filesystem::path(top.file()).parent_path() / named).string() : text;
}

/// {"A100-SXM4-80GB": "a100", "H100-SXM5-80GB": "h100"}: what a user could write.
std::string example(const topology::Cluster& cluster) {
    std::map<std::string, std::string> own;
    for (const topology::NodeGroup& group : cluster.groups()) own[group.gpu.name] = group.gpu.profile;
    std::string text;
    for (const auto& [gpu, profile] : own)
        text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", gpu, profile);
    return "{" + text + "}";
}

const topology::Gpu& named_gpu(const Reader& top, const std::string& name) {
    try {
        return topology::find_gpu(name);
    } catch (const Error& error) {
        throw Error(top.file(), child_pointer(top.pointer("profile"), name), error.message(), error.hint());
    }
}

void require_one_chip(const Reader& top, const topology::Cluster& cluster, const std::string& text) {
    for (const topology::NodeGroup& group : cluster.groups()) {
        if (group.gpu.profile == cluster.gpu().profile) continue;
        throw Error(
            top.file(), top.pointer("profile"),
            fmt::format("\"{}\" would time both {} and {}", printable(text), cluster.gpu().name, group.gpu.name),
            fmt::format("name profiles by GPU, as in {}, or leave profile out", example(cluster)));
    }
}

}  // namespace

std::map<std::string, std::string> gpu_profiles(const documents::Reader& top, const topology::Cluster& cluster) {
    std::map<std::string, std::string> profiles;
    for (const topology::NodeGroup& group : cluster.groups()) profiles[group.gpu.name] = group.gpu.profile;
    std::map<std::string, std::string> spelled;
    for (const auto& [name, text] : top.named_texts("profile")) {
        if (name.empty()) {
            require_one_chip(top, cluster, text);
            for (auto& [gpu, profile] : profiles) profile = profile_path(top, text);
            continue;
        }
        const std::string& gpu = named_gpu(top, name).name;
        const std::string at = child_pointer(top.pointer("profile"), name);
        if (!profiles.contains(gpu))
            throw Error(top.file(), at, fmt::format("the cluster has no {}", gpu),
                        "name GPUs that it has, as in " + example(cluster));
        const auto [first, fresh] = spelled.try_emplace(gpu, name);
        if (!fresh)
            throw Error(top.file(), at, fmt::format("\"{}\" and \"{}\" are the same GPU", first->second, name),
                        "keep one of the two");
        profiles[gpu] = profile_path(top, text);
    }
    return profiles;
}

}  // namespace orrery::scenarios

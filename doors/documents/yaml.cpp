#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cmath>

#include "base/read_file.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "doors/documents/flatten.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_nodes = 200'000;  // aliases of aliases make files of a kilobyte endless
constexpr std::size_t most_yaml_bytes = 1U << 20U;

class Converter {
public:
    explicit Converter(const std::string& file) : file_(file) {}

    Json json_of(const YAML::Node& node, std::size_t depth = 0) {
        if (++nodes_ > most_nodes || depth > documents::max_depth)
            throw Error(file_, "", "holds more than any configuration does, or is nested more deeply",
                        "write out what its aliases stand for");
        switch (node.Type()) {
            case YAML::NodeType::Map: {
                Json object = Json::object();
                for (const auto& entry : node) object[key_of(entry.first)] = json_of(entry.second, depth + 1);
                return object;
            }
            case YAML::NodeType::Sequence: {
                Json list = Json::array();
                for (const auto& each : node) list.push_back(json_of(each, depth + 1));
                return list;
            }
            case YAML::NodeType::Scalar: return scalar(node);
            default: return nullptr;
        }
    }

private:
    static std::string key_of(const YAML::Node& key) { return key.IsScalar() ? key.Scalar() : "(key)"; }

    /// Quoted scalars are texts; plain ones are what YAML 1.1 takes them for.
    static Json scalar(const YAML::Node& node) {
        const std::string& text = node.Scalar();
        if (node.Tag() == "!") return text;
        bool truth = false;
        if (YAML::convert<bool>::decode(node, truth)) return truth;
        if (!text.empty() && text.find_first_not_of("0123456789_") == std::string::npos && text.size() < 20) {
            std::uint64_t whole = 0;
            if (YAML::convert<std::uint64_t>::decode(node, whole)) return whole;
            return text;
        }
        double real = 0;
        const bool number = text.find_first_of("0123456789") != std::string::npos &&
                            YAML::convert<double>::decode(node, real) && std::isfinite(real);
        return number ? Json(real) : Json(text);
    }

    const std::string& file_;
    std::size_t nodes_ = 0;
};

}  // namespace

Json read_yaml(const std::string& file) {
    const std::string bytes = read_file(file, "the path of a YAML file", most_yaml_bytes);
    try {
        return Converter(file).json_of(YAML::Load(bytes));
    } catch (const YAML::Exception& error) {
        throw Error(file, fmt::format("{}:{}", error.mark.line + 1, error.mark.column + 1),
                    fmt::format("is no YAML: {}", documents::printable(error.msg, 200)),
                    "give a YAML file such as NeMo's megatron_gpt_config.yaml");
    }
}

Json yaml_value(const std::string& text) {
    static const std::string nowhere;
    try {
        return Converter(nowhere).json_of(YAML::Load(text));
    } catch (const YAML::Exception&) {
        return text;
    }
}

}  // namespace orrery::doors

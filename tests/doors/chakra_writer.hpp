// Chakra execution traces as other tools write them, node by node, for tests of their reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/wire_format.hpp"

namespace orrery::doors {

/// Field numbers of et_def.proto's values of attributes.
enum class As : std::uint32_t { real = 3, int32 = 7, int64 = 9, uint64 = 13, sint64 = 17, boolean = 27, text = 29 };

class ChakraNode {
public:
    ChakraNode(std::uint64_t id, std::uint64_t type, std::vector<std::uint64_t> waits = {}) {
        message_.number(1, id);
        message_.text(2, "node " + std::to_string(id));
        message_.number(3, type);
        message_.numbers(5, waits);
    }
    ChakraNode& with(std::string_view name, std::uint64_t value, As as = As::int64) {
        report::WireMessage attribute = named(name);
        attribute.number(static_cast<std::uint32_t>(as), value);
        message_.message(10, attribute);
        return *this;
    }
    ChakraNode& with(std::string_view name, std::string_view text) {
        report::WireMessage attribute = named(name);
        attribute.text(static_cast<std::uint32_t>(As::text), text);
        message_.message(10, attribute);
        return *this;
    }
    ChakraNode& field(std::uint32_t number, std::uint64_t value) {
        message_.number(number, value);
        return *this;
    }
    ChakraNode& inputs(std::string_view values) {
        report::WireMessage inputs;
        inputs.text(1, values);
        message_.message(8, inputs);
        return *this;
    }
    ChakraNode& micros(std::uint64_t duration) { return field(7, duration); }
    [[nodiscard]] std::string bytes() const { return message_.delimited(); }

private:
    static report::WireMessage named(std::string_view name) {
        report::WireMessage attribute;
        attribute.text(1, name);
        return attribute;
    }
    report::WireMessage message_;
};

inline ChakraNode kernel(std::uint64_t id, std::vector<std::uint64_t> waits = {}, std::uint64_t micros = 10) {
    return ChakraNode(id, 4, std::move(waits)).with("is_cpu_op", 0, As::boolean).micros(micros);
}
inline ChakraNode all_reduce(std::uint64_t id, std::vector<std::uint64_t> waits = {}, std::uint64_t bytes = 1 << 20) {
    return ChakraNode(id, 7, std::move(waits)).with("comm_type", 0).with("comm_size", bytes);
}
inline ChakraNode send(std::uint64_t id, std::uint64_t to, std::vector<std::uint64_t> waits = {},
                       std::uint64_t bytes = 1 << 20) {
    return ChakraNode(id, 5, std::move(waits)).with("comm_dst", to, As::int32).with("comm_size", bytes);
}
inline ChakraNode receive(std::uint64_t id, std::uint64_t from, std::vector<std::uint64_t> waits = {},
                          std::uint64_t bytes = 1 << 20) {
    return ChakraNode(id, 6, std::move(waits)).with("comm_src", from, As::int32).with("comm_size", bytes);
}

/// A rank's file.
inline std::string chakra_file(const std::vector<ChakraNode>& nodes) {
    report::WireMessage version;
    version.text(1, "0.0.4");
    std::string text = version.delimited();
    for (const ChakraNode& node : nodes) text += node.bytes();
    return text;
}

}  // namespace orrery::doors

#include "doors/chakra/node.hpp"

#include <bit>
#include <cmath>

#include "doors/chakra/wire.hpp"

namespace orrery::doors::chakra {

namespace {

// Field numbers of et_def.proto.
namespace of_node {
enum : std::uint32_t { id = 1, name, type, ctrl_deps, data_deps, start_time, duration, inputs, outputs, attr };
}
namespace of_attribute {
enum : std::uint32_t {
    name = 1,
    double_val = 3,
    float_val = 5,
    sint32_val = 15,
    sint64_val = 17,
    sfixed32_val = 23,
    string_val = 29
};
}

struct Attribute {
    std::string_view name, text;
    std::int64_t whole = 0;
    double real = 0;
};

/// Of a number, whole and real, by the field that it stands in.
void take_number(Attribute& into, const Fields& fields) {
    const std::uint64_t bits = fields.number();
    switch (fields.field()) {
        case of_attribute::double_val: into.real = std::bit_cast<double>(bits); break;
        case of_attribute::float_val:
            into.real = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            break;
        case of_attribute::sint32_val:
        case of_attribute::sint64_val: into.whole = static_cast<std::int64_t>(bits >> 1U ^ (~(bits & 1U) + 1U)); break;
        case of_attribute::sfixed32_val:
            into.whole = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
            break;
        default: into.whole = static_cast<std::int64_t>(bits);
    }
    const bool is_real = fields.field() == of_attribute::double_val || fields.field() == of_attribute::float_val;
    constexpr double most = 9e18;
    if (!is_real)
        into.real = static_cast<double>(into.whole);
    else if (std::abs(into.real) < most)
        into.whole = static_cast<std::int64_t>(into.real);
    else
        throw Damaged{"an attribute that is no number"};
}

Attribute attribute_of(std::string_view message) {
    Attribute attribute;
    for (Fields fields(message); fields.next();) {
        if (!fields.has_bytes())
            take_number(attribute, fields);
        else if (fields.field() == of_attribute::name)
            attribute.name = fields.bytes();
        else if (fields.field() == of_attribute::string_val)
            attribute.text = fields.bytes();
    }
    return attribute;
}

void take(Node& node, const Attribute& a) {
    struct Known {
        std::string_view name;
        std::optional<std::int64_t> Node::*value;
    };
    static constexpr Known known[] = {{"num_ops", &Node::num_ops},     {"tensor_size", &Node::tensor_size},
                                      {"comm_type", &Node::comm_type}, {"comm_size", &Node::comm_size},
                                      {"comm_src", &Node::comm_src},   {"comm_dst", &Node::comm_dst},
                                      {"comm_tag", &Node::comm_tag}};
    for (const Known& each : known)
        if (a.name == each.name) node.*each.value = a.whole;
    if (a.name == "is_cpu_op") node.is_cpu_op = a.whole != 0;
    if (a.name == "runtime_seconds") node.runtime_seconds = a.real;
    if (a.name == "pg_name") node.pg_name = a.text;
}

/// One number, or a packed list of them.
void take_waits(Node& node, const Fields& fields) {
    if (!fields.has_bytes()) return node.waits.push_back(fields.number());
    for (std::string_view list = fields.bytes(); !list.empty();) node.waits.push_back(Fields::varint(list));
}

}  // namespace

Node parse_node(std::string_view message) {
    Node node;
    for (Fields fields(message); fields.next();) switch (fields.field()) {
            case of_node::id: node.id = fields.number(); break;
            case of_node::name: node.name = fields.bytes(); break;
            case of_node::type: node.type = fields.number(); break;
            case of_node::ctrl_deps:
            case of_node::data_deps: take_waits(node, fields); break;
            case of_node::duration: node.duration_micros = fields.number(); break;
            case of_node::inputs:
                for (Fields inputs(fields.bytes()); inputs.next();)
                    if (inputs.field() == 1) node.inputs_values = inputs.bytes();
                break;
            case of_node::attr: take(node, attribute_of(fields.bytes())); break;
            default: break;  // fields of later versions
        }
    return node;
}

bool is_metadata(std::string_view message) {
    for (Fields fields(message); fields.next();) {
        if (fields.field() > 2 || !fields.has_bytes()) return false;
        if (fields.field() == 2) (void)attribute_of(fields.bytes());
    }
    return true;
}

}  // namespace orrery::doors::chakra

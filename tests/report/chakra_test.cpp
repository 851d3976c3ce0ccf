// Chakra traces, read back and held against the program.
#include "report/chakra.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "report/wire_format.hpp"
#include "scenarios/scenario.hpp"
#include "strategies/build.hpp"
#include "strategies/hazards.hpp"

namespace orrery::report {
namespace {

using strategies::StepProgram;

/// Reads the wire format: fields of a message by number, in their order.
class Fields {
public:
    explicit Fields(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::uint64_t tag = varint(bytes);
            Field field;
            if (tag % 8 == 0) {
                field.number = varint(bytes);
            } else {
                EXPECT_EQ(tag % 8, 2U);
                const std::uint64_t size = varint(bytes);
                EXPECT_LE(size, bytes.size());
                field.bytes = bytes.substr(0, size);
                bytes.remove_prefix(field.bytes.size());
            }
            fields_.emplace(tag >> 3U, field);
        }
    }

    [[nodiscard]] std::uint64_t number(std::uint64_t field) const {
        return fields_.contains(field) ? fields_.find(field)->second.number : 0;
    }
    [[nodiscard]] std::string_view bytes(std::uint64_t field) const {
        return fields_.contains(field) ? fields_.find(field)->second.bytes : std::string_view{};
    }
    [[nodiscard]] std::vector<std::string_view> all(std::uint64_t field) const {
        std::vector<std::string_view> found;
        for (auto [at, end] = fields_.equal_range(field); at != end; ++at) found.push_back(at->second.bytes);
        return found;
    }

    static std::uint64_t varint(std::string_view& bytes) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; !bytes.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes.front());
            bytes.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) break;
        }
        return value;
    }

private:
    struct Field {
        std::uint64_t number = 0;
        std::string_view bytes;
    };
    std::multimap<std::uint64_t, Field> fields_;
};

struct ReadNode {
    std::uint64_t id = 0, type = 0;
    std::string name, group;
    std::set<std::uint64_t> waits;
    std::map<std::string, std::uint64_t> numbers;
    std::size_t dimensions = 0;
};

ReadNode node_of(std::string_view bytes) {
    const Fields fields(bytes);
    ReadNode node{fields.number(1), fields.number(3), std::string(fields.bytes(2)), "", {}, {}, 0};
    for (std::string_view packed = fields.bytes(5); !packed.empty();) node.waits.insert(Fields::varint(packed));
    for (const std::string_view text : fields.all(10)) {
        const Fields attribute(text);
        const std::string name(attribute.bytes(1));
        for (const std::uint64_t value : {7, 9, 13, 27}) node.numbers[name] += attribute.number(value);
        if (name == "pg_name") node.group = attribute.bytes(29);
        if (name == "involved_dim") node.dimensions = Fields(attribute.bytes(28)).bytes(1).size();
    }
    return node;
}

std::vector<ReadNode> nodes_of(const ChakraTrace& trace, std::uint32_t rank) {
    std::string text;
    trace.write(rank, [&](std::string_view piece) { text += piece; });
    std::string_view rest = text;
    std::vector<ReadNode> nodes;
    for (bool metadata = true; !rest.empty(); metadata = false) {
        const std::uint64_t size = Fields::varint(rest);
        const std::string_view message = rest.substr(0, size);
        rest.remove_prefix(message.size());
        if (metadata)
            EXPECT_EQ(Fields(message).bytes(1), chakra_version);
        else
            nodes.push_back(node_of(message));
    }
    return nodes;
}

StepProgram program(const char* strategy) {
    const nlohmann::json scenario = {
        {"model", {{"name", "gpt2"}, {"num_hidden_layers", 4}}},
        {"cluster", {{"preset", "dgx-a100"}, {"nodes", 1}}},
        {"strategy", nlohmann::json::parse(strategy)},
        {"training", {{"micro_batch_size", 1}, {"global_batch_size", 16}, {"seq_length", 256}}}};
    return strategies::unrolled(strategies::build(scenarios::from_json(scenario, "test.json").plan));
}

const char* const mixed = R"({"tensor": 2, "pipeline": 2, "data": 2, "sharding": "zero1"})";

/// The operations of a rank that have a node.
template <class What>
std::vector<What> all_of(const StepProgram& step, std::uint32_t rank) {
    std::vector<What> found;
    for (const strategies::Op& op : step.programs[step.role[rank]].ops)
        if (const auto* const what = std::get_if<What>(&op.what)) found.push_back(*what);
    return found;
}

TEST(Chakra, HasEveryOperationWithItsWork) {
    const StepProgram step = program(mixed);
    const ChakraTrace trace(step);
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank) {
        const std::vector<ReadNode> nodes = nodes_of(trace, rank);
        const auto& ops = step.programs[step.role[rank]].ops;
        const auto collectives = all_of<strategies::Collective>(step, rank);
        const auto alone = static_cast<std::size_t>(std::ranges::count_if(
            collectives, [&](const strategies::Collective& it) { return step.mesh.group_size(it.group) == 1; }));
        EXPECT_EQ(nodes.size() + all_of<strategies::HostSync>(step, rank).size() + alone, ops.size());
        std::map<std::uint64_t, std::size_t> types;
        for (const ReadNode& node : nodes) {
            ++types[node.type];
            ASSERT_LT(node.id, ops.size());
            EXPECT_EQ(node.name.find(step.names[ops[node.id].label.name]), 0U) << node.name;
            const auto* const compute = std::get_if<strategies::Compute>(&ops[node.id].what);
            if (compute == nullptr) continue;
            const kernels::Kernel& kernel = step.kernels[compute->kernel];
            EXPECT_NEAR(static_cast<double>(node.numbers.at("num_ops")), std::max(1.0, kernels::flops(kernel)), 0.5)
                << "ASTRA-sim divides by it";
            EXPECT_NEAR(static_cast<double>(node.numbers.at("tensor_size")), kernels::bytes(kernel), 0.5);
        }
        EXPECT_EQ(types[4], all_of<strategies::Compute>(step, rank).size());
        EXPECT_EQ(types[7], collectives.size() - alone);
        EXPECT_GT(types[7], 0U);
        EXPECT_EQ(types[5], all_of<strategies::Send>(step, rank).size());
        EXPECT_EQ(types[6], all_of<strategies::Recv>(step, rank).size());
    }
}

TEST(Chakra, SaysWhatCollectivesMoveAndAmongWhom) {
    const StepProgram step = program(mixed);
    const ChakraTrace trace(step);
    const auto groups = trace.groups();
    const nlohmann::json written = nlohmann::json::parse(trace.groups_json());
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank) {
        for (const ReadNode& node : nodes_of(trace, rank)) {
            if (node.type != 7) continue;
            const auto& it = std::get<strategies::Collective>(step.programs[step.role[rank]].ops[node.id].what);
            const std::vector<std::uint32_t> members = step.mesh.group(rank, it.group);
            EXPECT_EQ(groups.at(static_cast<std::uint32_t>(std::stoul(node.group))), members);
            EXPECT_EQ(written.at(node.group), members);
            const bool gathers = it.kind == kernels::CollectiveKind::all_gather;
            EXPECT_EQ(node.numbers.at("comm_type"), gathers                                              ? 2U
                                                    : it.kind == kernels::CollectiveKind::reduce_scatter ? 7U
                                                                                                         : 0U);
            EXPECT_EQ(node.numbers.at("comm_size"), gathers ? it.bytes / members.size() : it.bytes);
            EXPECT_EQ(node.dimensions, 4U);
            EXPECT_EQ(node.numbers.at("is_cpu_op"), 0U);
        }
    }
}

TEST(Chakra, SaysWhatBringsAScatterAbout) {
    const auto types = [](const char* by) {
        const StepProgram step =
            program(fmt::format(R"({{"data": 4, "sharding": "zero2", "grad_reduce_collective": "{}"}})", by).c_str());
        std::set<std::uint64_t> all;
        for (const ReadNode& node : nodes_of(ChakraTrace(step), 0))
            if (node.type == 7) all.insert(node.numbers.at("comm_type"));
        return all;
    };
    EXPECT_TRUE(types("reduce_scatter").contains(7));
    EXPECT_TRUE(types("reduce").contains(1));
    EXPECT_FALSE(types("reduce").contains(7));
    EXPECT_FALSE(types("all_reduce").contains(7));
}

TEST(Chakra, PairsEverySendWithItsReceive) {
    const StepProgram step = program(R"({"pipeline": 4, "data": 2, "virtual_pipeline": 1})");
    const ChakraTrace trace(step);
    std::map<std::array<std::uint64_t, 3>, std::vector<std::uint64_t>> sent, received;  // from, to, tag -> bytes
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank)
        for (const ReadNode& node : nodes_of(trace, rank)) {
            if (node.type != 5 && node.type != 6) continue;
            const auto& n = node.numbers;
            EXPECT_EQ(n.at(node.type == 5 ? "comm_src" : "comm_dst"), rank);
            (node.type == 5 ? sent : received)[{n.at("comm_src"), n.at("comm_dst"), n.at("comm_tag")}].push_back(
                n.at("comm_size"));
        }
    EXPECT_FALSE(sent.empty());
    EXPECT_EQ(sent, received);
    for (const auto& [ends, sizes] : sent) EXPECT_EQ(sizes.size(), 1U) << "a tag stands for one message";
}

/// Operations that must have ended before one begins, by the program's own rules: lanes, buffers and waits of the host.
std::vector<std::set<std::uint64_t>> before(const strategies::Program& program, const strategies::Mesh& mesh) {
    const strategies::Hazards hazards(program);
    std::vector<std::set<std::uint64_t>> all(program.ops.size());
    std::map<strategies::Lane, std::uint32_t> last;
    std::set<std::uint64_t> host;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const auto add = [&](std::uint32_t other) {
            const auto* const collective = std::get_if<strategies::Collective>(&program.ops[other].what);
            const bool alone = collective != nullptr && mesh.group_size(collective->group) == 1;
            if (!alone && !std::holds_alternative<strategies::HostSync>(program.ops[other].what)) all[i].insert(other);
            all[i].insert(all[other].begin(), all[other].end());
        };
        all[i] = host;
        for (const std::uint32_t other : hazards.of(i)) add(other);
        if (std::holds_alternative<strategies::HostSync>(program.ops[i].what)) {
            host = all[i];
            continue;
        }
        if (const auto found = last.find(program.ops[i].lane); found != last.end()) add(found->second);
        last[program.ops[i].lane] = i;
    }
    return all;
}

TEST(Chakra, WaitsForJustWhatTheProgramWaitsFor) {
    const StepProgram step = program(mixed);
    const ChakraTrace trace(step);
    for (const std::uint32_t rank : {0U, 7U}) {
        const auto expected = before(step.programs[step.role[rank]], step.mesh);
        std::map<std::uint64_t, std::set<std::uint64_t>> closure;
        for (const ReadNode& node : nodes_of(trace, rank)) {
            std::set<std::uint64_t>& own = closure[node.id];
            for (const std::uint64_t other : node.waits) {
                ASSERT_LT(other, node.id) << "what it waits for comes first";
                ASSERT_TRUE(closure.contains(other));
                own.insert(other);
                own.insert(closure[other].begin(), closure[other].end());
            }
            EXPECT_EQ(own, expected[node.id]) << node.name;
        }
    }
}

TEST(Chakra, RefusesProgramsWithCalls) {
    const nlohmann::json scenario = {{"model", {{"name", "gpt2"}}},
                                     {"cluster", {{"preset", "dgx-a100"}, {"nodes", 1}}},
                                     {"training", {{"global_batch_size", 8}, {"seq_length", 256}}}};
    const StepProgram step = strategies::build(scenarios::from_json(scenario, "test.json").plan);
    EXPECT_THROW(ChakraTrace{step}, std::invalid_argument);
}

// protobuf.dev/programming-guides/encoding: field 1 with 150, field 2 with "testing", field 6 packed with 3, 270,
// 86942.
TEST(WireFormat, IsThatOfTheSpecification) {
    WireMessage message;
    message.number(1, 150);
    EXPECT_EQ(message.bytes(), "\x08\x96\x01");
    WireMessage text;
    text.text(2, "testing");
    EXPECT_EQ(text.bytes(), "\x12\x07testing");
    WireMessage packed;
    packed.numbers(6, std::vector<std::uint64_t>{3, 270, 86942});
    EXPECT_EQ(packed.bytes(), "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
    packed.numbers(7, {});
    EXPECT_EQ(packed.bytes().size(), 8U);
    WireMessage outer;
    outer.message(3, message);
    EXPECT_EQ(outer.bytes(), "\x1a\x03\x08\x96\x01");
    EXPECT_EQ(outer.delimited(), "\x05\x1a\x03\x08\x96\x01");
}

}  // namespace
}  // namespace orrery::report

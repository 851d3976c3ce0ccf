// The texts of /perturbations: what is read, what is written, what is refused and where.
#include "scenarios/perturbations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::scenarios {
namespace {

TEST(Straggler, IsReadAndWritten) {
    EXPECT_EQ(parse_straggler("rank 17 x 1.5"), (Straggler{17, 17, 1.5, {}}));
    EXPECT_EQ(parse_straggler(" ranks 8-15 x 2 from 100 ms to 2 s "), (Straggler{8, 15, 2, {0.1, 2}}));
    EXPECT_EQ(parse_straggler("rank 0 x 3 to 1 s"), (Straggler{0, 0, 3, {0, 1}}));
    for (const char* text : {"rank 17 x 1.5", "ranks 8-15 x 2 from 0.1 s to 2 s", "rank 0 x 3 to 1 s"}) {
        EXPECT_EQ(to_text(parse_straggler(text)), text);
    }
}

TEST(SlowLink, IsReadAndWritten) {
    const SlowLink link = parse_slow_link("leaf 0 - spine 1 x 4 from 1 s");
    EXPECT_EQ(link, (SlowLink{"leaf 0 - spine 1", 4, {1, std::numeric_limits<double>::infinity()}}));
    EXPECT_TRUE(std::isinf(parse_slow_link("node 4 nic 2 down to 2 s").factor));
    for (const char* text : {"leaf 0 - spine 1 x 4 from 1 s", "node 4 nic 2 down to 2 s"}) {
        EXPECT_EQ(to_text(parse_slow_link(text)), text);
    }
}

TEST(Perturbations, NonsenseIsRefused) {
    for (const char* text : {"",
                             "rank",
                             "rank x 2",
                             "rank 1",
                             "rank 1 x",
                             "rank 1 x two",
                             "rank 1 x 0.5",
                             "rank 1 x 1001",
                             "rank 1 x nan",
                             "rank 1 x -2",
                             "rank -1 x 2",
                             "rank 1.5 x 2",
                             "ranks 3 x 2",
                             "ranks 5-3 x 2",
                             "ranks - x 2",
                             "17 x 2",
                             "rank 1 x 2 from 3",
                             "rank 1 x 2 from 3 s to 2 s",
                             "rank 1 x 2 from 2 s to 2 s",
                             "rank 1 x 2 to 0 s",
                             "rank 4294967296 x 2",
                             "rank 1 x 2 from -1 s"}) {
        EXPECT_THROW(parse_straggler(text), Error) << text;
    }
    for (const char* text : {"", "leaf 0", "x 2", "leaf 0 x 0.1", "leaf 0 down", "leaf 0 down from 1 s", " down to 1 s",
                             "leaf 0 x 2 from 2 s to 1 s"}) {
        EXPECT_THROW(parse_slow_link(text), Error) << text;
    }
}

void expect_refused(const char* perturbations, const char* pointer, const char* message) {
    auto document = nlohmann::json::parse(R"({"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nodes": 2},
        "training": {"seq_length": 512, "global_batch_size": 16}})");
    document["perturbations"] = nlohmann::json::parse(perturbations);
    try {
        from_json(document, "test.json");
        ADD_FAILURE() << perturbations << " is accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), pointer);
        EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
        EXPECT_FALSE(error.hint().empty());
    }
}

TEST(Perturbations, MessagesNameThePlace) {
    expect_refused(R"({"stragglers": ["rank 3 x 2", "rank 16 x 2"]})", "/perturbations/stragglers/1", "rank 16 of 16");
    expect_refused(R"({"stragglers": ["rank 3 x 0.5"]})", "/perturbations/stragglers/0", "0.5");
    expect_refused(R"({"slow_links": ["node 7 nic 0 x 2"]})", "/perturbations/slow_links/0", "7");
    expect_refused(R"({"slow_links": ["node 1 nic 0 down"]})", "/perturbations/slow_links/0", "for ever");
    expect_refused(R"({"jitter": 2})", "/perturbations/jitter", "2");
    expect_refused(R"({"straggler": []})", "/perturbations/straggler", "straggler");
}

}  // namespace
}  // namespace orrery::scenarios

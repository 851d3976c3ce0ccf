// What contradicts itself is refused at its key, with a remedy.
#include "synchrony/options.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace orrery::synchrony {
namespace {

std::string refused_at(const Options& options) {
    try {
        check(options);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty()) << error.what();
        return error.pointer();
    }
    return "accepted";
}

TEST(Options, WhatFitsIsTaken) {
    EXPECT_EQ(refused_at({}), "accepted");
    EXPECT_EQ(refused_at({.mode = Mode::ssp, .staleness = 3, .servers = 2}), "accepted");
    EXPECT_EQ(refused_at({.mode = Mode::asp, .server_nodes = ServerNodes::own}), "accepted");
    EXPECT_EQ(refused_at({.exchange = Exchange::parameter_server}), "accepted");
    EXPECT_EQ(refused_at({.mode = Mode::diloco, .local_steps = 50}), "accepted");
}

TEST(Options, WhatDoesNotIsRefused) {
    EXPECT_EQ(refused_at({.mode = Mode::asp, .staleness = 3}), "/synchrony/staleness");
    EXPECT_EQ(refused_at({.mode = Mode::asp, .exchange = Exchange::all_reduce}), "/synchrony/exchange");
    EXPECT_EQ(refused_at({.mode = Mode::ssp, .exchange = Exchange::all_reduce}), "/synchrony/exchange");
    EXPECT_EQ(refused_at({.mode = Mode::local_sgd, .exchange = Exchange::parameter_server, .local_steps = 5}),
              "/synchrony/exchange");
    EXPECT_EQ(refused_at({.mode = Mode::local_sgd}), "/synchrony/local_steps");
    EXPECT_EQ(refused_at({.local_steps = 5}), "/synchrony/local_steps");
    EXPECT_EQ(refused_at({.mode = Mode::local_sgd, .local_steps = 3}), "/synchrony/steps") << "100 steps";
    EXPECT_EQ(refused_at({.servers = 2}), "/synchrony/servers");
    EXPECT_EQ(refused_at({.server_nodes = ServerNodes::own}), "/synchrony/server_nodes");
    EXPECT_EQ(refused_at({.steps = 0}), "/synchrony/steps");
}

TEST(Options, ARefusalNamesItsSource) {
    const auto refused = [](const Options& options) -> std::string {
        try {
            check(options);
        } catch (const Error& error) {
            return error.message();
        }
        return "accepted";
    };
    EXPECT_EQ(refused({.mode = Mode::asp, .staleness = 3}), "3, but asp has no such bound (Ho et al., NIPS 2013)");
    EXPECT_EQ(refused({.servers = 2}), "2, but nothing is served (Li et al., OSDI 2014)");
    EXPECT_TRUE(refused({.local_steps = 5}).ends_with("Douillard et al. 2023, arXiv:2311.08105)"));
}

}  // namespace
}  // namespace orrery::synchrony

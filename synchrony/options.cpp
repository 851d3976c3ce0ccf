#include "synchrony/options.hpp"

#include <fmt/format.h>

#include <array>

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::synchrony {

namespace {

using documents::field;
using documents::word;

constexpr std::array modes{word("bsp", Mode::bsp), word("ssp", Mode::ssp), word("asp", Mode::asp),
                           word("local-sgd", Mode::local_sgd), word("diloco", Mode::diloco)};
static_assert(modes.size() == enumerators<Mode>);
constexpr std::array exchanges{word("all_reduce", Exchange::all_reduce),
                               word("parameter_server", Exchange::parameter_server)};
constexpr std::array places{word("workers", ServerNodes::workers), word("own", ServerNodes::own)};

/// Who came up with what the keys say, and with what they ask of each other.
constexpr std::string_view bounded_staleness = "Ho et al., NIPS 2013", served = "Li et al., OSDI 2014",
                           averaged = "Stich 2019, arXiv:1805.09767; Douillard et al. 2023, arXiv:2311.08105";

constexpr double most_steps = 1e5, most_servers = 131072;

// clang-format off
constexpr std::array of_options{
    field<&Options::mode>({.name = "mode", .words = modes,
        .help = "When a replica may begin its next step: bsp, all have ended theirs; ssp, the slowest is no more than "
                "staleness steps behind; asp, at once; local-sgd and diloco, at once, and every local_steps steps "
                "parameters are averaged.",
        .origin = "Ho et al., NIPS 2013; Stich 2019, arXiv:1805.09767; Douillard et al. 2023, arXiv:2311.08105"}),
    field<&Options::staleness>({.name = "staleness", .min = 0, .max = most_steps,
        .help = "Of ssp: steps that a replica may be ahead of the slowest.",
        .origin = bounded_staleness}),
    field<&Options::exchange>({.name = "exchange", .words = exchanges,
        .help = "How parameters and gradients travel.",
        .when_absent = "parameter_server with asp and ssp, else all_reduce",
        .origin = served}),
    field<&Options::servers>({.name = "servers", .min = 1, .max = most_servers,
        .help = "Parameter servers, one a node, among which parameters are divided evenly.",
        .when_absent = "one on each node of the replicas"}),
    field<&Options::server_nodes>({.name = "server_nodes", .words = places,
        .help = "Whether servers stand on nodes of the replicas or on others of the cluster."}),
    field<&Options::local_steps>({.name = "local_steps", .min = 1, .max = most_steps,
        .help = "Of local-sgd and diloco: steps from one average to the next.", .when_absent = "must be given there"}),
    field<&Options::step_jitter>({.name = "step_jitter", .min = 0, .max = 3,
        .help = "Every step of a replica takes a log-normal factor of mean 1 as long, whose logarithm has this "
                "standard deviation; the seed decides."}),
    field<&Options::steps>({.name = "steps", .min = 1, .max = most_steps,
        .help = "Steps of the window that is played, of each replica in the mean."}),
};
// clang-format on
static_assert(of_options.size() == documents::members_of<Options>, "a field without a description");

/// The source stands behind the message, as in refusals of strategies.
void refuse(std::string_view key, std::string_view message, std::string hint, std::string_view source) {
    throw Error("", fmt::format("/synchrony/{}", key), fmt::format("{} ({})", message, source), std::move(hint));
}

void check_servers(const Options& options) {
    const bool ahead = options.mode == Mode::ssp || options.mode == Mode::asp;
    if (ahead && !options.serves())
        refuse("exchange", fmt::format("all_reduce, which all replicas must come to, beside {}", name(options.mode)),
               "set it to \"parameter_server\", or mode to \"bsp\"", bounded_staleness);
    if (options.averages() && options.serves())
        refuse("exchange",
               fmt::format("parameter_server, but {} averages parameters by an all-reduce", name(options.mode)),
               "set it to \"all_reduce\", or leave it out", averaged);
    if (options.serves()) return;
    if (options.servers > 0)
        refuse("servers", fmt::format("{}, but nothing is served", options.servers),
               "set exchange to \"parameter_server\", or leave it out", served);
    if (options.server_nodes != ServerNodes::workers)
        refuse("server_nodes", "given, but nothing is served", "set exchange to \"parameter_server\", or leave it out",
               served);
}

}  // namespace

std::span<const documents::Field<Options>> options_fields() { return of_options; }

std::string_view name(Mode mode) {
    constexpr EnumNames<Mode> names{"bsp", "ssp", "asp", "local-sgd", "diloco"};
    return names[mode];
}

void check(const Options& options) {
    documents::check_fields(options_fields(), options, "/synchrony");
    if (options.mode != Mode::ssp && options.staleness > 0)
        refuse("staleness", fmt::format("{}, but {} has no such bound", options.staleness, name(options.mode)),
               "set mode to \"ssp\", or leave it out", bounded_staleness);
    if (options.averages() && options.local_steps == 0)
        refuse("local_steps", fmt::format("{} does not say after how many steps it averages", name(options.mode)),
               "give it, such as 500", averaged);
    if (!options.averages() && options.local_steps > 0)
        refuse("local_steps",
               fmt::format("{}, but {} exchanges after every step", options.local_steps, name(options.mode)),
               "set mode to \"local-sgd\" or \"diloco\", or leave it out", averaged);
    if (options.averages() && options.steps % options.local_steps != 0)
        refuse("steps",
               fmt::format("{} are no multiple of the {} steps from one average to the next", options.steps,
                           options.local_steps),
               fmt::format("set it to {}",
                           (options.steps + options.local_steps - 1) / options.local_steps * options.local_steps),
               averaged);
    check_servers(options);
}

}  // namespace orrery::synchrony

#include "report/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/records.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using planning::Division;
using planning::Partition;
using planning::ReplicatedStage;
using planning::Replication;
using planning::Shares;

std::string numbers(const std::vector<std::uint32_t>& layers, std::size_t stage, std::size_t stages) {
    std::vector<std::string> own;
    for (std::size_t at = stage; at < layers.size(); at += stages) own.push_back(std::to_string(layers[at]));
    return join(own, "+");
}

/// own: "division is", what the plan has instead. command: of the balanced one.
std::string gain_text(const planning::Outcome& planned, const planning::Outcome& balanced, std::string_view own,
                      const std::string& command) {
    const double gain = planned.step_s / balanced.step_s;
    if (gain < 1.0005) return fmt::format("\nthe plan's own {} as good\n", own);
    return fmt::format("\nbalanced: {:.1f}% more tokens/s{}\nrun it with:\n    {}\n", 100 * (gain - 1),
                       balanced.fits ? "" : ", but it does not fit", command);
}

std::string divided_text(const Partition& partition, const std::string& simulate, Style style) {
    const Division &planned = *partition.planned, &balanced = *partition.balanced;
    Table table({{"stage"}, {"layers"}, {"planned"}, {"layers"}, {"balanced"}});
    const std::size_t stages = planned.seconds.size();
    for (std::size_t stage = 0; stage < stages; ++stage)
        table.row({std::to_string(stage), numbers(planned.layers, stage, stages),
                   format_seconds(planned.seconds[stage]), numbers(balanced.layers, stage, stages),
                   format_seconds(balanced.seconds[stage])});
    table.rule();
    table.row({"step", "", format_seconds(planned.outcome.step_s), "", format_seconds(balanced.outcome.step_s)});
    table.row({"memory", "", format_bytes(static_cast<double>(planned.outcome.memory_needed)), "",
               format_bytes(static_cast<double>(balanced.outcome.memory_needed))});
    return table.to_text({.columns = style.columns}) +
           gain_text(planned.outcome, balanced.outcome, "division is",
                     simulate + " --set " + shell_word("strategy.pipeline_layers=" + pipeline_layers(balanced)));
}

/// "15-1".
std::string configuration(const Replication& of) {
    std::vector<std::string> workers;
    for (const ReplicatedStage& stage : of.best.stages) workers.push_back(std::to_string(stage.workers));
    return join(workers, "-");
}

std::string layers_of(const Partition& partition, const ReplicatedStage& stage) {
    const std::string &first = partition.names[stage.first], &last = partition.names[stage.end - 1];
    const std::string range = fmt::format("{}-{}", stage.first, stage.end - 1);
    return stage.end - stage.first == 1 ? fmt::format("{} ({})", stage.first, first)
                                        : fmt::format("{} ({} to {})", range, first, last);
}

std::string replicated_text(const Partition& partition, Style style) {
    const Replication& of = *partition.replicated;
    Table table({{"stage"}, {"workers"}, {"layers", Table::Align::left}, {"for each micro-batch"}});
    for (std::size_t stage = 0; stage < of.best.stages.size(); ++stage) {
        const ReplicatedStage& each = of.best.stages[stage];
        table.row({std::to_string(stage), std::to_string(each.workers), layers_of(partition, each),
                   format_seconds(each.seconds)});
    }
    std::string text = table.to_text({.columns = style.columns});
    const double gain = of.data_parallel / of.best.seconds;
    text += fmt::format("\n{}: {} a micro-batch of all workers, data parallelism {}", configuration(of),
                        format_seconds(of.best.seconds), format_seconds(of.data_parallel));
    return text + (of.best.stages.size() > 1 ? fmt::format(": {:.2f} x\n", gain) : "\n");
}

/// Data ranks that follow each other and take as many micro-batches on the same kinds of GPU: one past the last.
std::size_t run_end(const Partition& partition, std::size_t first) {
    const Shares &planned = *partition.planned_shares, &balanced = *partition.balanced_shares;
    const auto of = [&](std::size_t data) {
        return std::tie(partition.gpus[data], planned.micro_batches[data], balanced.micro_batches[data]);
    };
    std::size_t end = first + 1;
    while (end < partition.gpus.size() && of(end) == of(first)) ++end;
    return end;
}

std::string shared_text(const Partition& partition, const std::string& simulate, Style style) {
    const Shares &planned = *partition.planned_shares, &balanced = *partition.balanced_shares;
    Table table({{"data ranks"},
                 {"GPUs", Table::Align::left},
                 {"micro-batches"},
                 {"planned"},
                 {"micro-batches"},
                 {"balanced"}});
    for (std::size_t first = 0, end = 0; first < partition.gpus.size(); first = end) {
        end = run_end(partition, first);
        table.row({end == first + 1 ? std::to_string(first) : fmt::format("{}-{}", first, end - 1),
                   partition.gpus[first], std::to_string(planned.micro_batches[first]),
                   format_seconds(planned.seconds[first]), std::to_string(balanced.micro_batches[first]),
                   format_seconds(balanced.seconds[first])});
    }
    table.rule();
    table.row({"step", "", "", format_seconds(planned.outcome.step_s), "", format_seconds(balanced.outcome.step_s)});
    return table.to_text({.columns = style.columns}) +
           gain_text(
               planned.outcome, balanced.outcome, "shares are",
               simulate + " --set " + shell_word("strategy.replica_micro_batches=" + replica_micro_batches(balanced)));
}

Json json_of(const Shares& shares) {
    return {{"replica_micro_batches", replica_micro_batches(shares)},
            {"step_time_s", shares.outcome.step_s},
            {"memory_needed_bytes", shares.outcome.memory_needed},
            {"fits", shares.outcome.fits},
            {"seconds", shares.seconds}};
}

Json json_of(const Division& division) {
    Json stages = Json::array();
    for (std::size_t stage = 0; stage < division.seconds.size(); ++stage)
        stages.push_back({{"stage", stage}, {"seconds", division.seconds[stage]}});
    return {{"pipeline_layers", pipeline_layers(division)},
            {"step_time_s", division.outcome.step_s},
            {"memory_needed_bytes", division.outcome.memory_needed},
            {"fits", division.outcome.fits},
            {"stages", std::move(stages)}};
}

}  // namespace

std::string partition_text(const Partition& partition, const std::string& simulate, Style style) {
    std::string text = paint(style, Ink::bold, "STAGES OF EQUALLY MANY RANKS") +
                       ", so that the slowest takes least for a micro-batch\n\n";
    text += partition.balanced ? divided_text(partition, simulate, style)
                               : fmt::format("none: {}\n", partition.not_divided);
    text += '\n' + paint(style, Ink::bold, "STAGES ON AS MANY WORKERS AS THEY NEED") + " (PipeDream)\n\n";
    text +=
        partition.replicated ? replicated_text(partition, style) : fmt::format("none: {}\n", partition.not_replicated);
    if (!partition.balanced_shares && partition.not_shared.empty()) return text;
    text += '\n' + paint(style, Ink::bold, "SHARES OF THE BATCH") +
            ", so that data ranks on all kinds of GPU end together\n\n";
    return text + (partition.balanced_shares ? shared_text(partition, simulate, style)
                                             : fmt::format("none: {}\n", partition.not_shared));
}

std::string partition_csv(const Partition& partition) {
    Records records({{"division"}, {"stage"}, {"layers"}, {"workers"}, {"seconds"}});
    const auto add = [&](const char* name, const std::optional<Division>& division) {
        const std::size_t stages = division ? division->seconds.size() : 0;
        for (std::size_t stage = 0; stage < stages; ++stage)
            records.row({name, stage, numbers(division->layers, stage, stages), {}, division->seconds[stage]});
    };
    add("planned", partition.planned);
    add("balanced", partition.balanced);
    std::size_t number = 0;
    if (partition.replicated)
        for (const ReplicatedStage& stage : partition.replicated->best.stages)
            records.row({"replicated", number++, fmt::format("{}-{}", stage.first, stage.end - 1), stage.workers,
                         stage.seconds});
    return records.csv();
}

std::string partition_json(const Partition& partition) {
    Json json;
    json["planned"] = partition.planned ? json_of(*partition.planned) : Json();
    json["balanced"] = partition.balanced ? json_of(*partition.balanced) : Json();
    if (!partition.balanced) json["not_divided"] = partition.not_divided;
    json["replicated"] = Json();
    if (partition.replicated) {
        Json stages = Json::array();
        for (const ReplicatedStage& stage : partition.replicated->best.stages)
            stages.push_back({{"first_layer", stage.first},
                              {"last_layer", stage.end - 1},
                              {"workers", stage.workers},
                              {"seconds", stage.seconds}});
        json["replicated"] = {{"seconds", partition.replicated->best.seconds},
                              {"data_parallel_seconds", partition.replicated->data_parallel},
                              {"stages", std::move(stages)}};
    } else {
        json["not_replicated"] = partition.not_replicated;
    }
    json["shares"] = Json();
    if (partition.balanced_shares)
        json["shares"] = {{"planned", json_of(*partition.planned_shares)},
                          {"balanced", json_of(*partition.balanced_shares)}};
    else if (!partition.not_shared.empty())
        json["not_shared"] = partition.not_shared;
    return json.dump(2) + '\n';
}

}  // namespace orrery::report

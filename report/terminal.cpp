#include "report/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/enum_table.hpp"
#include "base/table.hpp"
#include "base/units.hpp"
#include "models/operators.hpp"
#include "report/breakdown.hpp"
#include "report/keeping_step.hpp"
#include "report/model_keys.hpp"
#include "report/sharing.hpp"
#include "report/stage_table.hpp"
#include "report/whole_run.hpp"
#include "strategies/replica_batches.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::report {

namespace {

std::string schedule_text(const strategies::Plan& plan) {
    const strategies::Strategy& s = plan.strategy;
    if (s.pipeline == 1) return "no pipeline";
    const strategies::Schedule& schedule = strategies::schedule_of(s.schedule);
    std::string text(schedule.title);
    if (schedule.chunked) text += fmt::format(", {} chunks a stage", s.virtual_pipeline);
    const auto [fewest, most] = strategies::chunk_sizes(plan);
    return fewest == most ? text : text + fmt::format(" of {} to {} layers", fewest, most);
}

/// "ZeRO-1 in 2 groups, "
std::string sharding_text(const strategies::Strategy& s) {
    const std::string_view divided = strategies::row_of(s.sharding).title;
    if (divided.empty()) return "";
    if (s.optimizer_instances > 1) return fmt::format("{} in {} groups, ", divided, s.optimizer_instances);
    std::vector<std::string> more;
    if (s.quantized_weights) more.emplace_back("qwZ");
    if (s.secondary_partition > 1) more.push_back(fmt::format("hpZ of {}", s.secondary_partition));
    if (s.quantized_gradients) more.emplace_back("qgZ");
    return more.empty() ? fmt::format("{}, ", divided) : fmt::format("ZeRO++ ({}), ", fmt::join(more, ", "));
}

/// " (2d)", " (2.5d, depth 2)" of tensor ranks that divide matrices both ways.
std::string grid_text(const strategies::Strategy& s) {
    const strategies::TensorGrid grid = strategies::grid_of(s.tensor_mode, s.tensor, s.tensor_depth);
    if (!grid.divides()) return "";
    const std::string depth = grid.copies() > 1 ? fmt::format(", depth {}", grid.copies()) : "";
    return fmt::format(" ({}{})", strategies::tensor_mode_names[grid.mode], depth);
}

/// "CP2 ", with how its ranks exchange what attention needs.
std::string context_text(const strategies::Strategy& s) {
    if (s.context == 1) return "";
    constexpr EnumNames<strategies::ContextExchange> names{"p2p", "all-gather", "a2a", "a2a+p2p"};
    if (s.context_exchange == strategies::ContextExchange::a2a_p2p)
        return fmt::format("CP{} (a2a {}, p2p {}) ", s.context, s.ulysses_degree, s.context / s.ulysses_degree);
    return fmt::format("CP{} ({}) ", s.context, names[s.context_exchange]);
}

/// Of a step on each data rank: "96", or "1 to 3".
std::string micro_batches_text(const strategies::Plan& plan) {
    const std::vector<std::uint32_t> distinct = strategies::replica_counts(plan).distinct;
    const auto [least, most] = std::ranges::minmax(distinct);
    return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

std::string recompute_text(const strategies::Strategy& s) {
    using strategies::Recompute;
    if (s.recompute == Recompute::none) return "no recomputation";
    if (s.recompute == Recompute::selective)
        return s.recompute_modules.empty() ? "selective recomputation" : "recomputation of " + s.recompute_modules;
    using strategies::CheckpointPolicy;
    std::string how = "full recomputation";
    if (s.checkpoint_policy == CheckpointPolicy::every_second_mm)
        how = "recomputation but of attention and each second product";
    if (s.checkpoint_policy == CheckpointPolicy::save_only_these_names)
        how = fmt::format("recomputation but of {}", s.checkpoint_names);
    if (s.recompute_num_layers == 0) return how;
    return fmt::format("{} of {} layers a chunk", how, s.recompute_num_layers);
}

std::string offload_text(const strategies::Strategy& s) {
    std::string text = s.compression == strategies::Compression::onebit_adam ? "1-bit Adam, " : "";
    if (s.compression == strategies::Compression::powersgd)
        text += fmt::format("PowerSGD of rank {}, ", s.powersgd_rank);
    if (s.compression == strategies::Compression::by_ratio)
        text += fmt::format("gradients compressed {:g} times, ", s.compression_ratio);
    if (s.optimizer_cpu_offload)
        text += s.optimizer_offload_fraction == 1
                    ? "optimizer on the host, "
                    : fmt::format("{:.0f}% of the optimizer on the host, ", 100 * s.optimizer_offload_fraction);
    if (s.optimizer_device == strategies::OptimizerDevice::nvme) text += "its states on NVMe, ";
    if (s.param_device != strategies::OffloadDevice::none)
        text += s.param_device == strategies::OffloadDevice::cpu ? "weights on the host, " : "weights on NVMe, ";
    if (s.cpu_offloading_num_layers == 0) return text;
    return text + fmt::format("{} layers{} offloaded, ", s.cpu_offloading_num_layers,
                              s.pipeline * s.virtual_pipeline > 1 ? " a chunk" : "");
}

std::string placement_text(const strategies::Strategy& s) {
    if (!s.placement_file.empty()) return "placed by " + s.placement_file;
    constexpr std::size_t most = 40;  // a list may be long
    return fmt::format("placed {}{}", std::string_view(s.placement).substr(0, most),
                       s.placement.size() > most ? "..." : "");
}

/// " (8 experts, top 2, 12.9 of 46.7 B parameters active)"
std::string experts_text(const models::ModelSpec& spec, const strategies::Training& training) {
    if (spec.experts == 0) return "";
    const models::Model model = models::build(spec);
    const std::string capacity =
        training.expert_capacity > 0 ? fmt::format(", capacity factor {:g}", training.expert_capacity) : "";
    const auto all = static_cast<double>(models::parameters(model));
    const double unit = all < 1e8 ? 1e6 : 1e9;
    return fmt::format(" ({} experts, top {}{}, {:.1f} of {:.1f} {} parameters active)", spec.experts,
                       spec.experts_per_token, capacity, static_cast<double>(models::active_parameters(model)) / unit,
                       all / unit, unit < 1e9 ? "M" : "B");
}

/// What a position of a sequence is: an image is a sequence of one.
/// " + 128" where another sequence is decoded.
std::string decoded_text(const strategies::Training& training) {
    return training.decoder_seq == 0 ? "" : " + " + format_grouped(training.decoder_seq);
}

/// " in documents of 256": of tokens that are packed.
std::string documents_text(const strategies::Training& training) {
    return training.documents() == 1 ? "" : " in documents of " + format_grouped(training.document_length);
}

std::string_view units(const models::ModelSpec& model) { return model.takes_images() ? "images" : "tokens"; }

std::string headline(const scenarios::Scenario& scenario, const sim::Step& p, Style style) {
    const auto& [model, s, training, placement, drives, either_order, window, own] = scenario.plan;
    std::string text = paint(style, Ink::bold, scenario.name);
    const std::string experts = model.experts > 0 ? fmt::format("  EP{}", s.expert) : "";
    text += fmt::format("   {} GPUs  TP{}{} {}PP{} DP{}{}  micro-batch {} x {}   profile {}\n", format_grouped(p.gpus),
                        s.tensor, grid_text(s), context_text(s), s.pipeline, s.data, experts, training.micro_batch,
                        micro_batches_text(scenario.plan), p.profile);
    const std::string sequence = s.sequence_parallel ? "sequence parallel, " : "";
    return text + fmt::format("{}{} on {}{}: {}, {}, {}{}{}{}, batch {} x {} {}{}\n", model_title(model),
                              experts_text(model, training), p.cluster,
                              placement.linear() ? "" : " " + placement_text(s), schedule_text(scenario.plan),
                              recompute_text(s), offload_text(s), sharding_text(s), sequence,
                              kernels::name(training.precision.compute), format_grouped(training.global_batch),
                              format_grouped(training.seq) + decoded_text(training),
                              model.image.patch > 0 ? "tokens" : units(model), documents_text(training));
}

/// In TFLOP/s; of a CPU's fraction two digits.
std::string tera(double flops, int decimals) {
    return flops < 1e12 ? fmt::format("{:.2g}", flops / 1e12) : fmt::format("{:.{}f}", flops / 1e12, decimals);
}

/// ", 26.1 to 30.9 s": between which four of five measured steps lie; nothing of a measured one.
std::string range(const sim::Interval& interval) {
    if (interval.high == 0) return "";
    std::string low = format_seconds(interval.low);
    const std::string high = format_seconds(interval.high);
    const std::string unit = high.substr(high.find(' '));
    if (low.ends_with(unit)) low.resize(low.size() - unit.size());
    return fmt::format(", {} to {}", low, high);
}

std::string figures(const scenarios::Scenario& scenario, const sim::Step& p, const sim::Scale& scale,
                    const sim::Interval& interval, Style style) {
    std::string text =
        fmt::format("{}   {} {}/s   {} TFLOP/s per GPU (hardware {})   MFU {:.1f}%   HFU {:.1f}%\n",
                    paint(style, Ink::bold, "step " + format_seconds(p.step_time_s)) + range(interval),
                    format_count(p.tokens_per_s), units(scenario.plan.model), tera(p.model_flops_per_gpu, 1),
                    tera(p.hardware_flops_per_gpu, 1), 100 * p.mfu, 100 * p.hfu);
    if (scale.scale_base_gpus > 0)
        text += fmt::format("scale factor {:.3f} against {} GPU{}", scale.scale_factor,
                            format_grouped(scale.scale_base_gpus), scale.scale_base_gpus == 1 ? "" : "s");
    if (p.training_time_s > 0)
        text += fmt::format("{}{} {} in {}", scale.scale_base_gpus > 0 ? "   " : "",
                            format_count(scenario.outputs.token_budget), units(scenario.plan.model),
                            format_seconds(p.training_time_s));
    if (const double skipped = scenario.plan.training.skipped_share(); p.training_time_s > 0 && skipped > 0)
        text += fmt::format(", {:.1f}% of steps skipped", 100 * skipped);
    if (p.end_to_end_s > 0) text += fmt::format("   8TP/(nX) {}", format_seconds(p.end_to_end_s));
    return text.empty() || text.back() == '\n' ? text : text + '\n';
}

std::string perturbed_line(const scenarios::Scenario& scenario, const sim::Prediction& p, Style style) {
    if (p.planned_step_time_s <= 0 || scenario.perturbations.none()) return "";
    std::vector<std::string> causes;
    for (const auto& straggler : scenario.perturbations.stragglers) causes.push_back(to_text(straggler));
    for (const auto& link : scenario.perturbations.links) causes.push_back(to_text(link));
    for (const auto& traffic : scenario.perturbations.background) causes.push_back(to_text(traffic));
    for (const auto& load : scenario.perturbations.expert_loads) causes.push_back(to_text(load));
    if (scenario.perturbations.expert_imbalance != 1)
        causes.push_back(fmt::format("expert imbalance {}", scenario.perturbations.expert_imbalance));
    if (scenario.perturbations.expert_zipf > 0)
        causes.push_back(fmt::format("experts by Zipf's law, {}", scenario.perturbations.expert_zipf));
    if (scenario.perturbations.jitter > 0) causes.push_back(fmt::format("jitter {}", scenario.perturbations.jitter));
    for (const auto& job : scenario.other_jobs) causes.push_back(fmt::format("beside \"{}\"", job.name));
    constexpr std::size_t most = 4;
    const std::size_t more = causes.size() > most ? causes.size() - most : 0;
    causes.resize(causes.size() - more);
    return fmt::format("{} {:+.2f}% of {} as planned: {}{}\n", paint(style, Ink::warning, "PERTURBED"),
                       100 * (p.step_time_s / p.planned_step_time_s - 1), format_seconds(p.planned_step_time_s),
                       fmt::join(causes, ", "), more > 0 ? fmt::format(", and {} more", more) : "");
}

std::string fit_line(const sim::MemoryUse& p, Style style) {
    if (p.fits || p.memory.empty()) return "";
    const std::size_t stage = p.fullest_stage();
    const auto& m = p.memory[stage];
    const auto largest = std::ranges::max_element(m.at_peak);
    const auto keep = static_cast<strategies::Keep>(std::distance(m.at_peak.begin(), largest));
    return fmt::format("{} stage {} needs {} of {}; largest: {}, {}\n", paint(style, Ink::bad, "DOES NOT FIT"), stage,
                       format_bytes(static_cast<double>(p.needed(stage))),
                       format_bytes(static_cast<double>(p.capacity(stage))), name(keep),
                       format_bytes(static_cast<double>(*largest)));
}

/// How many GPUs of each kind, and what they do; nothing where all are alike.
std::string gpu_lines(const sim::Step& p) {
    if (p.gpu_kinds.size() < 2) return "";
    Table table({{"GPUs"},
                 {"kind", Table::Align::left},
                 {"profile", Table::Align::left},
                 {"computing"},
                 {"communication"},
                 {"host"},
                 {"bubble"}});
    const auto share = [&](double seconds) { return fmt::format("{:.1f}%", 100 * seconds / p.step_time_s); };
    for (const sim::GpuUse& use : p.gpu_kinds) {
        const sim::Breakdown& m = use.mean;
        table.row({format_grouped(use.gpus), use.gpu, use.profile, share(m.busy()),
                   share(m.tensor_comm + m.expert_comm + m.pipeline_comm + m.data_comm + m.offload), share(m.launch),
                   share(m.bubble)});
    }
    return table.to_text() + '\n';
}

/// "ADVICE  " before the first line, blanks before the others.
std::string list(Style style, Ink ink, const std::string& word, const std::vector<std::string>& lines) {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += fmt::format("{}{}\n", i == 0 ? paint(style, ink, fmt::format("{:<11}", word)) : std::string(11, ' '),
                            lines[i]);
    return text;
}

/// What MFU and HFU count: at long sequences the first, which takes causal attention for a full square, may be the
/// larger.
std::string conventions(const scenarios::Scenario& scenario, const sim::Step& p) {
    const std::string causal =
        scenario.plan.model.causal
            ? fmt::format(", attention over the full square (over its causal half: {:.1f}%)", 100 * p.mfu_causal)
            : "";
    return fmt::format(
        "MFU: model FLOPs without recomputation (SC'21, eq. 3){}\nHFU: all FLOPs executed; of {} TFLOP/s dense {}{}",
        causal, tera(p.model_flops_per_gpu / p.mfu, 0), kernels::name(scenario.plan.training.precision.compute),
        p.gpu_kinds.size() > 1 ? ", the GPUs' mean" : "");
}

std::string footer(const scenarios::Scenario& scenario, const sim::Step& p, Style style) {
    std::string text;
    if (p.mfu > 0) text += paint(style, Ink::dim, conventions(scenario, p)) + '\n';
    return text +
           paint(style, Ink::dim,
                 fmt::format("orrery {}  profile {}  cluster {}  seed {}  {} operations of {} GPUs in {} "
                             "simulated class{}",
                             p.version, p.profile, p.cluster, p.seed, format_count(static_cast<double>(p.ops)),
                             format_grouped(p.gpus), p.classes, p.classes == 1 ? "" : "es")) +
           '\n';
}

std::string tables(const scenarios::Scenario& scenario, const sim::Step& p, Style style) {
    return gpu_lines(p) + breakdown_table(p, scenario.plan.strategy, style.columns) + '\n' +
           memory_table(p, style.columns) + '\n';
}

}  // namespace

std::string terminal(const scenarios::Scenario& scenario, const sim::Prediction& p, Style style) {
    std::string text = headline(scenario, p, style) + '\n' + fit_line(p, style) +
                       figures(scenario, p, p, p.step_interval, style) + (p.warm_up ? warm_up_line(*p.warm_up) : "") +
                       (p.whole_run ? whole_run_line(*p.whole_run) + '\n' : "") + perturbed_line(scenario, p, style) +
                       '\n';
    text += tables(scenario, p, style) + sharing_text(p);
    if (p.whole_run) text += whole_run_table(p, *p.whole_run) + '\n';
    if (p.synchrony)
        text += synchrony_text(*p.synchrony, scenario.outputs.token_budget, units(scenario.plan.model)) + '\n';
    if (!p.bottleneck.empty()) text += list(style, Ink::bold, "BOTTLENECK", {p.bottleneck});
    text += list(style, Ink::good, "ADVICE", p.advice);
    text += list(style, Ink::warning, "WARNING", p.warnings);
    return text + footer(scenario, p, style);
}

std::string terminal(const scenarios::Scenario& scenario, const MeasuredStep& step, Style style) {
    return headline(scenario, step, style) + '\n' + figures(scenario, step, {}, {}, style) + '\n' +
           tables(scenario, step, style) + footer(scenario, step, style);
}

}  // namespace orrery::report

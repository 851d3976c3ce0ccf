#include "strategies/stage_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

constexpr const char* list_key = "/strategy/pipeline_layers";

std::uint32_t virtual_stages(const Strategy& strategy) { return strategy.pipeline * strategy.virtual_pipeline; }

bool says_ends(const Strategy& strategy) { return strategy.first_stage_layers + strategy.last_stage_layers > 0; }

/// Layers of the stages that have not been given others, and how many such stages there are.
struct Between {
    Between(const Strategy& s, std::uint64_t layers)
        : stages(s.pipeline - (s.first_stage_layers > 0 ? 1 : 0) - (s.last_stage_layers > 0 ? 1 : 0)),
          all(layers - s.first_stage_layers - s.last_stage_layers) {}
    std::uint64_t stages, all;
    [[nodiscard]] std::uint32_t each() const { return stages == 0 ? 0 : static_cast<std::uint32_t>(all / stages); }
};

/// The numbers of a list, up to the first thing that is none.
std::vector<std::uint32_t> numbers_of(std::string_view text) {
    std::vector<std::uint32_t> list;
    while (true) {
        std::uint32_t value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc{}) return list;
        list.push_back(value);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.starts_with(',')) return list;
        text.remove_prefix(1);
    }
}

LayerRange by_ends(const Strategy& s, std::uint32_t layers, std::uint32_t virtual_stage) {
    const std::uint32_t chunks = s.virtual_pipeline, stage = virtual_stage % s.pipeline;
    const std::uint32_t each = Between(s, layers).each();
    const std::uint32_t first = s.first_stage_layers > 0 ? s.first_stage_layers : each;
    const std::uint32_t last = s.last_stage_layers > 0 ? s.last_stage_layers : each;
    const std::uint32_t count = stage == 0 ? first : stage + 1 == s.pipeline ? last : each;
    const std::uint32_t ahead = stage == 0 ? 0 : first / chunks + (stage - 1) * (each / chunks);
    return {virtual_stage / s.pipeline * (layers / chunks) + ahead, count / chunks};
}

LayerRange with_ends_as_layers(const Strategy& s, std::uint32_t layers, std::uint32_t virtual_stage) {
    const std::uint32_t embedding = s.embedding_as_layer ? 1 : 0, loss = s.loss_as_layer ? 1 : 0;
    const std::uint32_t each = (layers + embedding + loss) / virtual_stages(s);
    const bool first = virtual_stage == 0, last = virtual_stage + 1 == virtual_stages(s);
    return {virtual_stage * each - (first ? 0 : embedding), each - (first ? embedding : 0) - (last ? loss : 0)};
}

LayerRange by_list(const Strategy& s, std::uint32_t virtual_stage) {
    const std::vector<std::uint32_t> counts = numbers_of(s.pipeline_layers);
    const auto own = counts.begin() + virtual_stage;
    return {std::accumulate(counts.begin(), own, 0U), *own};
}

void check_equal(const Plan& plan) {
    const std::uint64_t layers = plan.model.layers, pipeline = plan.strategy.pipeline;
    const std::uint64_t chunks = plan.strategy.virtual_pipeline;
    if (layers % pipeline != 0) {
        refuse("/strategy/pipeline", fmt::format("{} stages do not divide the {} layers", pipeline, layers),
               nearest_legal(pipeline, layers, [=](std::uint64_t v) { return layers % (v * chunks) == 0; }) +
                   "; or say how many layers the first and the last stage have "
                   "(num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage), or how many each has "
                   "(pipeline_layers)",
               Source::megatron_arguments);
    }
    if (layers % (pipeline * chunks) != 0) {
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks do not divide the {} layers of a stage", chunks, layers / pipeline),
               nearest_divisors(chunks, layers / pipeline), Source::megatron_arguments);
    }
}

void check_ends(const Plan& plan) {
    const Strategy& s = plan.strategy;
    const bool given_first = s.first_stage_layers > 0;
    const char* const key =
        given_first ? "/strategy/num_layers_in_first_pipeline_stage" : "/strategy/num_layers_in_last_pipeline_stage";
    const std::uint64_t ends = std::uint64_t{s.first_stage_layers} + s.last_stage_layers;
    const std::uint64_t chunks = s.virtual_pipeline;
    if (s.pipeline == 1)
        refuse(key, "given, but there is one stage", "leave it out, or raise pipeline", Source::origin_of_key);
    if (schedule_of(s.schedule).order == ChunkOrder::turns)
        refuse(key, fmt::format("given, but in {} the first stage is the last too", schedule_of(s.schedule).name),
               "write every chunk's layers as pipeline_layers", source_of(s.schedule));
    if (ends > plan.model.layers)
        refuse(key, fmt::format("first and last stage have {} layers, but the model has {}", ends, plan.model.layers),
               "lower one of them", Source::megatron_config);
    const Between rest(s, plan.model.layers);
    const bool divides = rest.stages == 0 ? rest.all == 0 : rest.all % (rest.stages * chunks) == 0 && rest.all > 0;
    if (!divides)
        refuse(key, fmt::format("it leaves {} layers for {} stages between", rest.all, rest.stages),
               rest.stages == 0 ? fmt::format("first and last stage must have all {} layers", plan.model.layers)
                                : fmt::format("leave a multiple of {}, and at least that", rest.stages * chunks),
               Source::megatron_config);
    for (const std::uint32_t count : {s.first_stage_layers, s.last_stage_layers})
        if (count % chunks != 0)
            refuse(key, fmt::format("{} layers are not divisible by {} chunks", count, chunks),
                   nearest_multiples(count, chunks), Source::megatron_config);
}

void check_ends_as_layers(const Plan& plan) {
    const Strategy& s = plan.strategy;
    const std::uint64_t counted = counted_layers(plan);
    const std::uint64_t stages = virtual_stages(s);
    const char* const key = s.embedding_as_layer ? "/strategy/account_for_embedding_in_pipeline_split"
                                                 : "/strategy/account_for_loss_in_pipeline_split";
    if (s.pipeline == 1)
        refuse(key, "true, but there is one stage", "set it to false, or raise pipeline", Source::origin_of_key);
    if (counted % stages != 0)
        refuse(key, fmt::format("{} layers, counted so, are not divisible by {} chunks of stages", counted, stages),
               fmt::format("take a model of {} layers more, or another pipeline", stages - counted % stages),
               Source::megatron_config);
}

void check_list(const Plan& plan) {
    const Strategy& s = plan.strategy;
    const std::vector<std::uint32_t> counts = numbers_of(s.pipeline_layers);
    if (fmt::format("{}", fmt::join(counts, ",")) != s.pipeline_layers)
        refuse(list_key, fmt::format("\"{}\" is no list of numbers", s.pipeline_layers), "write them as in \"3,4,4,3\"",
               Source::origin_of_key);
    if (counts.size() != virtual_stages(s))
        refuse(list_key,
               fmt::format("{} numbers for {} stages of {} chunks", counts.size(), s.pipeline, s.virtual_pipeline),
               fmt::format("write {} numbers", virtual_stages(s)), Source::origin_of_key);
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (all != plan.model.layers)
        refuse(list_key, fmt::format("{} layers in all, but the model has {}", all, plan.model.layers),
               fmt::format("make their sum {}", plan.model.layers), Source::origin_of_key);
    for (std::size_t i = 1; i + 1 < counts.size(); ++i)
        if (counts[i] == 0)
            refuse(list_key, "a chunk in the middle has no layers", "give it at least one", Source::not_modelled);
}

/// Repetitions written out: "t*3" and "(tt|)*2". No more than a plan may have.
class Layout {
public:
    explicit Layout(std::string_view text) : rest_(text) {}
    /// Up to the end, or to what closes a group.
    std::string expanded() {
        std::string all;
        while (!rest_.empty() && rest_.front() != ')' && all.size() < most) {
            std::string one(1, take());
            if (one == "(") {
                one = expanded();
                closed_ = closed_ && !rest_.empty();
                if (!rest_.empty()) take();
            }
            const std::uint32_t count = times();
            for (std::uint32_t n = 0; n < count && !one.empty() && all.size() < most; ++n) all += one;
        }
        return all;
    }
    /// Whether all was read, and every group had an end.
    [[nodiscard]] bool is_whole() const { return rest_.empty() && closed_; }

private:
    static constexpr std::size_t most = 1U << 16U;
    char take() {
        const char first = rest_.front();
        rest_.remove_prefix(1);
        return first;
    }
    std::uint32_t times() {
        if (!rest_.starts_with('*')) return 1;
        std::uint32_t count = 0;
        const auto [end, status] = std::from_chars(rest_.data() + 1, rest_.data() + rest_.size(), count);
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return status == std::errc{} ? count : 0;
    }
    std::string_view rest_;
    bool closed_ = true;
};

}  // namespace

std::string layers_of_layout(std::string_view layout) {
    std::string compact;
    std::ranges::copy_if(layout, std::back_inserter(compact), [](char c) { return c != ',' && c != ' '; });
    if (compact.size() > 4096) return "";  // groups may lie in groups
    Layout reader(compact);
    const std::string all = reader.expanded();
    if (!reader.is_whole() || !all.starts_with('E') || !all.ends_with('L')) return "";
    std::vector<std::uint32_t> counts{0};
    for (const char c : std::string_view(all).substr(1, all.size() - 2)) {
        if (c == '|')
            counts.push_back(0);
        else if (c == 't')
            ++counts.back();
        else
            return "";
    }
    return fmt::format("{}", fmt::join(counts, ","));
}

LayerRange layers_of(const Plan& plan, std::uint32_t layers, std::uint32_t virtual_stage) {
    const Strategy& s = plan.strategy;
    if (!s.pipeline_layers.empty()) return by_list(s, virtual_stage);
    if (says_ends(s)) return by_ends(s, layers, virtual_stage);
    return with_ends_as_layers(s, layers, virtual_stage);
}

std::uint64_t counted_layers(const Plan& plan) {
    const Strategy& s = plan.strategy;
    return std::uint64_t{plan.model.layers} + (s.embedding_as_layer ? 1 : 0) + (s.loss_as_layer ? 1 : 0);
}

std::pair<std::uint32_t, std::uint32_t> chunk_sizes(const Plan& plan) {
    if (plan.model.two_stacks()) {  // one stage: both, and an encoder's norm between them
        const std::uint32_t decoder = plan.model.decoder_layers;
        const std::uint32_t all = plan.model.layers + plan.model.text.layers + decoder + (decoder > 0 ? 1 : 0);
        return {all, all};
    }
    if (!unequal_stages(plan)) {
        const std::uint32_t each = plan.model.layers / virtual_stages(plan.strategy);
        return {each, each};
    }
    std::uint32_t fewest = plan.model.layers, most = 0;
    for (std::uint32_t at = 0; at < virtual_stages(plan.strategy); ++at) {
        const std::uint32_t count = layers_of(plan, plan.model.layers, at).count;
        fewest = std::min(fewest, count);
        most = std::max(most, count);
    }
    return {fewest, most};
}

bool ends_meet(const Plan& plan) {
    return plan.strategy.pipeline == 1 || schedule_of(plan.strategy.schedule).order != ChunkOrder::wraps;
}

bool unequal_stages(const Plan& plan) {
    const Strategy& s = plan.strategy;
    return says_ends(s) || s.embedding_as_layer || s.loss_as_layer || !s.pipeline_layers.empty();
}

void check_stages(const Plan& plan) {
    const Strategy& s = plan.strategy;
    const bool counted = s.embedding_as_layer || s.loss_as_layer, list = !s.pipeline_layers.empty();
    if (int{list} + int{says_ends(s)} + int{counted} > 1)
        refuse(list ? list_key : "/strategy/num_layers_in_first_pipeline_stage",
               "layers are divided in two ways at once",
               "give pipeline_layers, or numbers for first and last stage, or what counts as a layer",
               Source::megatron_config);
    if (list) return check_list(plan);
    if (says_ends(s)) return check_ends(plan);
    counted ? check_ends_as_layers(plan) : check_equal(plan);
}

}  // namespace orrery::strategies

#include "scenarios/scope_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "documents/message.hpp"
#include "models/limits.hpp"
#include "models/operators.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/scope_keys.hpp"
#include "scenarios/stage_layers.hpp"
#include "strategies/step_limits.hpp"

namespace orrery::scenarios {

namespace {

using documents::child_pointer;
using documents::Reader;
using documents::shown;
using nlohmann::json;

using strategies::most_ranks;

/// Not of Part::rest, which has none.
std::string_view name(Part part) { return scope_parts()[static_cast<std::size_t>(part) - 1]; }

bool is_special(Part part) { return part == Part::experts || part == Part::classifier; }

/// What a tree weighs: each of its scopes is looked at with all that it holds.
std::size_t weight(const json& value) {
    constexpr std::size_t characters = 64;  // take the place of a value
    if (value.is_string()) return 1 + value.get_ref<const std::string&>().size() / characters;
    std::size_t sum = 1;
    if (value.is_structured())
        for (const json& part : value) sum += weight(part);
    return sum;
}

/// The same but for where it was said.
bool alike(const Division& a, const Division& b) {
    const auto numbers = [](const Division& of) {
        return std::array{of.replicas.number, of.tensor.number, of.expert.number, of.classes.number,
                          std::uint64_t{of.expert_tensor.said()}};
    };
    return numbers(a) == numbers(b);
}

std::string in_words(const Division& of) {
    std::string text = fmt::format("{} replica{}", of.replicas.number, of.replicas.number == 1 ? "" : "s");
    if (of.tensor.number > 1) text += fmt::format(", layers split {} ways", of.tensor.number);
    if (of.expert.number > 1) text += fmt::format(", experts split {} ways", of.expert.number);
    return text;
}

class Tree {
public:
    Tree(const Reader& strategy, const models::ModelSpec& model)
        : file_(strategy.file()),
          model_(model),
          context_(strategy.integer("context", 1)),
          chunks_(strategy.integer32("virtual_pipeline", 1)) {}

    /// Of the whole model.
    [[nodiscard]] Division read(const json& value, const std::string& at) const {
        Division all = any(value, at);
        require_whole(all, at);
        return all;
    }

private:
    [[noreturn]] void refuse(const std::string& at, std::string message, std::string hint) const {
        throw Error(file_, at, std::move(message), std::move(hint));
    }
    [[nodiscard]] Reader reader(const json& value, const std::string& at) const {
        return {value, section(Place::scope), file_, at};
    }

    [[nodiscard]] Division any(const json& value, const std::string& at) const {
        if (value.is_array()) return beside(value, at);
        if (value.is_object()) return scope(reader(value, at));
        refuse(at, fmt::format("{} is no scope", shown(value)), "write an object, such as {\"replica\": 4}");
    }

    [[nodiscard]] Division scope(const Reader& of) const {
        const std::string_view word = word_of(of);
        if (word == "replica") return replica(of);
        if (word == "split") return split(of);
        if (word == "pipeline") return pipeline(of);
        if (word == "auto_parallel") return automatic(of);
        (void)of.text("stage");
        refuse(of.pointer(word), "a stage outside a pipeline", "write it in one: {\"pipeline\": [{\"stage\": ...}]}");
    }

    [[nodiscard]] std::string_view word_of(const Reader& of) const {
        std::vector<std::string_view> said;
        for (const std::string_view word : scope_words())
            if (of.has(word)) said.push_back(word);
        if (said.empty()) refuse(of.pointer(), "says no scope", fmt::format("give it one of {}", join(scope_words())));
        if (said.size() > 1)
            refuse(of.pointer(said[1]), fmt::format("{} and {} are two scopes", said[0], said[1]),
                   fmt::format("put one inside the other: {{\"{}\": ..., \"of\": {{\"{}\": ...}}}}", said[0], said[1]));
        return said.front();
    }

    /// Refuses keys that this scope has no use for.
    void only(const Reader& of, std::initializer_list<std::string_view> known) const {
        for (const documents::Key& key : section(Place::scope).keys) {
            if (!of.has(key.name) || std::ranges::find(known, key.name) != known.end()) continue;
            refuse(of.pointer(key.name), fmt::format("\"{}\" says nothing of {}", key.name, *known.begin()),
                   fmt::format("leave it out; what there is: {}", join(known)));
        }
    }

    [[nodiscard]] Division content(const Reader& of) const {
        const json* const value = of.nested("of");
        if (value == nullptr) return {};
        if (!value->is_string()) return any(*value, of.pointer("of"));
        return {.part = part(value->get_ref<const std::string&>(), of.pointer("of"))};
    }

    [[nodiscard]] Part part(const std::string& text, const std::string& at) const {
        std::vector<Part> there{Part::layers};
        if (model_.convolves()) there = {Part::backbone, Part::classifier};
        if (model_.experts > 0) there.push_back(Part::experts);
        std::vector<std::string_view> known;
        for (const Part each : there) {
            if (name(each) == text) return each;
            known.push_back(name(each));
        }
        refuse(at, fmt::format("\"{}\" is no part of {}", documents::printable(text), model_.name),
               fmt::format("its parts: {}", join(known)));
    }

    [[nodiscard]] Division replica(const Reader& of) const {
        only(of, {"replica", "of"});
        const std::uint64_t copies = of.integer("replica");
        Division all = content(of);
        if (all.fills)
            refuse(of.pointer("replica"), "stands around auto_parallel, which makes as many replicas as the GPUs hold",
                   "keep one of the two");
        all.replicas = {copies * all.replicas.number, of.pointer("replica")};
        if (all.replicas.number > most_ranks)
            refuse(of.pointer("replica"), fmt::format("{} replicas in all", all.replicas.number),
                   fmt::format("at most {}", most_ranks));
        return all;
    }

    [[nodiscard]] Division split(const Reader& of) const {
        only(of, {"split", "of"});
        const Said ways{of.integer("split"), of.pointer("split")};
        Division all = content(of);
        const std::string inside = of.pointer("of");
        if (all.replicas.said() || all.fills)
            refuse(inside, "replicas inside a split",
                   "put the split inside the replica; which GPUs are neighbours is strategy.placement's");
        if (all.stages)
            refuse(inside, "a pipeline inside a split",
                   "put a split into each stage: {\"stage\": \"0-7\", \"of\": {\"split\": ...}}");
        if (all.part == Part::experts) {
            if (all.within_expert.said()) refuse(inside, "experts are split three times", "twice at most");
            all.within_expert = all.expert;  // the inner one divides each of them
            all.expert = ways;
        } else if (all.tensor.said() || all.expert.said() || all.classes.said()) {
            refuse(inside, "a split inside a split of the same", "write one, whose number is the product");
        } else if (all.part == Part::classifier) {
            all.classes = ways;
        } else if (model_.convolves()) {
            refuse(
                of.pointer("split"), fmt::format("layers of {}, which takes images, are not split", model_.name),
                "split its classes: [{\"replica\": 8, \"of\": \"backbone\"}, {\"split\": 8, \"of\": \"classifier\"}]");
        } else {
            all.tensor = ways;
        }
        return all;
    }

    void read_pipeline(const Reader& of, StagesSaid& stages) const {
        if (of.has("num_micro_batch"))
            stages.micro_batches = {of.integer("num_micro_batch"), of.pointer("num_micro_batch")};
        if (const auto word = of.choice("strategy")) {
            stages.schedule = static_cast<strategies::ScheduleKind>(word->value);
            stages.schedule_at = of.pointer("strategy");
        }
    }

    /// What is inside a stage: a whole one, on one pipeline's GPUs.
    [[nodiscard]] Division in_stage(const Reader& of) const {
        Division inside = content(of);
        if (inside.stages) refuse(of.pointer("of"), "a pipeline inside a stage", "write its stages into the outer one");
        if (inside.fills)
            refuse(of.pointer("of"), "auto_parallel replica inside a pipeline",
                   "put it around: {\"auto_parallel\": \"replica\", \"of\": {\"pipeline\": [...]}}");
        require_whole(inside, of.has("of") ? of.pointer("of") : of.pointer());
        return inside;
    }

    [[nodiscard]] Division pipeline(const Reader& of) const {
        only(of, {"pipeline", "num_micro_batch", "strategy"});
        const std::string at = of.pointer("pipeline");
        const json& list = *of.nested("pipeline");
        constexpr std::size_t most_stages = models::most_layers;
        if (!list.is_array()) refuse(at, fmt::format("{} is no list of stages", shown(list)), remedy_of("pipeline"));
        if (list.empty()) refuse(at, "[] holds no stage", remedy_of("pipeline"));
        if (list.size() > most_stages)
            refuse(at, fmt::format("{} stages", list.size()), fmt::format("at most {}", most_stages));
        StagesSaid stages{.count = {list.size(), at}};
        Division all;
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Reader stage = reader(list[i], child_pointer(at, i));
            if (word_of(stage) != "stage")
                refuse(stage.pointer(), "is no stage", "write {\"stage\": \"0-7\", \"of\": ...} around it");
            only(stage, {"stage", "of"});
            stages.layers.push_back(layers_of(stage, next));
            next += stages.layers.back();
            Division inside = in_stage(stage);
            if (i > 0 && !alike(inside, all))
                refuse(stage.has("of") ? stage.pointer("of") : stage.pointer(),
                       fmt::format("{}, but the first stage has {}", in_words(inside), in_words(all)),
                       "divide all stages alike; `orrery partition` says what stages on other numbers of GPUs would "
                       "bring");
            if (i == 0) all = std::move(inside);
        }
        check_layers(stages, next);
        read_pipeline(of, stages);
        all.stages = std::move(stages);
        return all;
    }

    [[nodiscard]] std::uint32_t layers_of(const Reader& stage, std::uint32_t next) const {
        try {
            const std::uint32_t count = stage_layers(stage.text("stage"), next);
            if (count <= model_.layers - next) return count;
            throw Error(fmt::format("layers up to {}, but {} has {}", next + count - 1, model_.name, model_.layers),
                        fmt::format("the last layer is {}", model_.layers - 1));
        } catch (const Error& error) {
            if (!error.pointer().empty()) throw;
            refuse(stage.pointer("stage"), error.message(), error.hint());
        }
    }

    void check_layers(StagesSaid& stages, std::uint32_t all) const {
        const std::string& at = stages.count.at;
        if (all != model_.layers)
            refuse(at, fmt::format("the stages have {} layers, but {} has {}", all, model_.name, model_.layers),
                   fmt::format("put layers {}-{} into a stage", all, model_.layers - 1));
        if (std::ranges::all_of(stages.layers, [&](std::uint32_t count) { return count == stages.layers.front(); }))
            stages.layers.clear();
        else if (chunks_ > 1)
            refuse(at, fmt::format("stages of unequal numbers of layers beside virtual_pipeline {}", chunks_),
                   "give all stages as many, or write strategy.pipeline and pipeline_layers without scopes");
    }

    [[nodiscard]] Division automatic(const Reader& of) const {
        if (of.choice("auto_parallel", "") == "replica") {
            only(of, {"auto_parallel", "of"});
            Division all = content(of);
            if (all.replicas.said() || all.fills)
                refuse(of.pointer("of"), "replicas inside auto_parallel, which makes as many as the GPUs hold",
                       "keep one of the two");
            all.fills = true;
            return all;
        }
        only(of, {"auto_parallel", "num_stages", "num_micro_batch", "strategy", "of"});
        if (!of.has("num_stages"))
            refuse(of.pointer("num_stages"), "the key \"num_stages\" is missing beside auto_parallel pipeline",
                   "add it; `orrery search` finds how many are best");
        StagesSaid stages{.count = {of.integer("num_stages"), of.pointer("num_stages")}};
        const std::uint64_t chunks = stages.count.number * chunks_;
        if (chunks > model_.layers)
            refuse(stages.count.at,
                   fmt::format("{} chunks of stages for the {} layers of {}", chunks, model_.layers, model_.name),
                   fmt::format("at most {}", std::max<std::uint64_t>(1, model_.layers / chunks_)));
        stages.layers = even_layers(model_.layers, static_cast<std::uint32_t>(chunks));
        read_pipeline(of, stages);
        Division all = in_stage(of);
        all.stages = std::move(stages);
        return all;
    }

    /// Scopes on the same GPUs: one of the experts or of the classifier, and one of the rest.
    [[nodiscard]] Division beside(const json& list, const std::string& at) const {
        std::optional<Division> rest, special;
        std::string special_at;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string here = child_pointer(at, i);
            Division one = any(list[i], here);
            if (list.size() == 1) return one;
            if (one.stages)
                refuse(here, "a pipeline beside another scope", "put what stands beside it into its stages");
            std::optional<Division>& place = is_special(one.part) ? special : rest;
            if (place)
                refuse(here, "a second scope of the same part",
                       "scopes beside each other are of two parts: experts, or the classifier, and the rest");
            if (is_special(one.part)) special_at = here;
            place = std::move(one);
        }
        if (list.empty()) refuse(at, "[] holds no scope", "write one, such as {\"replica\": 4}");
        return together(std::move(*rest), *special, special_at);
    }

    [[nodiscard]] Division together(Division rest, const Division& special, const std::string& at) const {
        const std::uint64_t ways = special.expert.number * special.within_expert.number * special.classes.number;
        const std::uint64_t wanted = special.replicas.number * ways;
        const std::uint64_t there = rest.replicas.number * rest.tensor.number * context_;
        if (special.fills)
            refuse(at, fmt::format("auto_parallel replica of {} alone", name(special.part)),
                   "put it around all scopes that stand beside each other");
        if (!rest.fills && wanted != there)
            refuse(at, fmt::format("{} GPUs, but the scope beside it stands on {}", wanted, there),
                   there % ways == 0 ? fmt::format("put it into {{\"replica\": {}, \"of\": ...}}", there / ways)
                                     : "give both as many");
        if (rest.expert.said() || rest.classes.said())
            refuse(at, "the scope beside it holds one of this part already", "keep one of the two");
        if (special.part == Part::experts) {
            const Said& within = special.within_expert;
            if (within.number > 1 && within.number != rest.tensor.number)
                refuse(
                    within.at,
                    fmt::format("{} ways to split each expert, but {} for layers", within.number, rest.tensor.number),
                    "as many, or leave it out: experts are then whole");
            if (rest.tensor.number > 1 && within.number == 1) rest.expert_tensor = {1, at};
        }
        rest.part = Part::rest;
        rest.expert = special.expert;
        rest.classes = special.classes;
        return rest;
    }

    void require_whole(const Division& of, const std::string& at) const {
        if (of.part == Part::rest || of.part == Part::layers) return;
        const bool images = model_.convolves();
        refuse(at, fmt::format("says nothing of what is not the {} of {}", name(of.part), model_.name),
               images ? "write a scope of the other part beside it: [{\"replica\": 8, \"of\": \"backbone\"}, "
                        "{\"split\": 8, \"of\": \"classifier\"}]"
                      : "write a scope of the rest beside it: [{\"replica\": 8}, {\"split\": 8, \"of\": \"experts\"}]");
    }

    [[nodiscard]] static std::string remedy_of(std::string_view key) {
        return documents::remedy(*documents::find_key(section(Place::scope), key));
    }

    std::string file_;
    const models::ModelSpec& model_;
    std::uint64_t context_;
    std::uint32_t chunks_;
};

}  // namespace

Division read_scopes(const Reader& strategy, const models::ModelSpec& model) {
    constexpr std::size_t heaviest = 100'000;  // ten values a stage of the longest pipeline
    const json& scopes = *strategy.nested("scopes");
    const std::string at = strategy.pointer("scopes");
    if (weight(scopes) > heaviest)
        throw Error(strategy.file(), at, "these scopes are too many, or too long",
                    "write one for each part of the model");
    return Tree(strategy, model).read(scopes, at);
}

}  // namespace orrery::scenarios

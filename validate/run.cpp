#include "validate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/data_folder.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/statistics.hpp"
#include "validate/collectives.hpp"
#include "validate/doubts.hpp"
#include "validate/gave_constants.hpp"
#include "validate/map_row.hpp"
#include "validate/measured.hpp"
#include "validate/memory.hpp"
#include "validate/outcomes.hpp"
#include "validate/ratios.hpp"
#include "validate/rows.hpp"
#include "validate/training_runs.hpp"

namespace orrery::validate {

namespace {

/// Of one row, or of many in their order.
struct Results {
    std::vector<Result> steps, memory, collectives, trainings, ratios;

    void append(Results&& others) {
        for (const auto list :
             {&Results::steps, &Results::memory, &Results::collectives, &Results::trainings, &Results::ratios})
            std::ranges::move(others.*list, std::back_inserter(this->*list));
    }
};

/// Of one row; others run beside it.
class Runner {
public:
    Runner(const Predictor& predictor, Outcomes& outcomes) : predictor_(predictor), outcomes_(outcomes) {}

    Results run(const Row& row, const std::vector<Row>& file) {
        if (row.kind() == "ratio") {
            found_.ratios.push_back(guarded(row, [&](Result& result) { ratio(row, file, result); }));
        } else if (row.kind() == "collective") {
            found_.collectives.push_back(guarded(row, [&](Result& result) { collective(row, result); }));
        } else if (row.kind() == "training_run") {
            training_run(row);
        } else if (row.kind() == "memory") {
            found_.memory.push_back(guarded(row, [&](Result& result) { peak(row, result); }));
        } else {
            found_.steps.push_back(guarded(row, [&](Result& result) { step(row, result); }));
            if (prints_memory(row)) found_.memory.push_back(guarded(row, [&](Result& result) { peak(row, result); }));
        }
        return std::move(found_);
    }

private:
    /// Whatever happens, the row ends with a reason.
    template <class Work>
    static Result guarded(const Row& row, const Work& work) {
        Result result;
        result.id = row.id();
        result.source = row.source();
        result.kind = row.kind();
        try {
            if (gave_constant(row.id()) != nullptr) throw Skip("gave a constant of the model");
            if (const Doubt* doubt = doubt_about(row)) throw Skip(std::string(doubt->reason));
            work(result);
            if (!std::isfinite(result.error) || !std::isfinite(result.signed_error))
                throw Skip("prediction is not finite");
            result.predicted = true;
        } catch (const std::exception& failure) {
            result.reason = dynamic_cast<const Skip*>(&failure) != nullptr ? failure.what() : refusal(failure);
        }
        return result;
    }

    static bool prints_memory(const Row& row) {
        if (row.kind() != "training_step") return false;
        try {
            return measured_memory(row).has_value();
        } catch (const Skip&) {
            return false;  // the step's own reason names the field
        }
    }

    static void compare(Result& result, double measured, double prediction) {
        if (!std::isfinite(prediction) || !(prediction > 0)) throw Skip("prediction is not finite");
        result.measured = measured;
        result.prediction = prediction;
        result.error = result.signed_error = prediction / measured - 1;
    }

    const Outcome& outcome(const scenarios::Scenario& scenario) {
        const Outcome& found = outcomes_.of(scenario);
        if (!found.refused.empty()) throw Skip(found.refused);
        return found;
    }

    void step(const Row& row, Result& result) {
        if (row.kind() == "kernel") throw Skip("kernel: not a training step");
        if (row.kind() == "simulated") throw Skip("simulated: not a measurement");
        if (row.kind() != "training_step") throw Skip("kind of row is not known");
        check_measured(row);
        const scenarios::Scenario scenario = map_row(row, predictor_.has_profile);
        const double measured = measured_seconds(row, scenario, topology::find_gpu(scenario.cluster.gpu));
        compare(result, measured, outcome(scenario).seconds);
        result.scenario = outcome(scenario).number;
        result.low = outcome(scenario).interval.low;
        result.high = outcome(scenario).interval.high;
        const auto& training = scenario.plan.training;
        result.group = fmt::format("{}|{}|{}|{}|{}|{}", row.words("model.name"), scenario.plan.model.layers,
                                   scenario.plan.model.hidden, training.seq, scenario.cluster.gpu, scenario.gpus) +
                       fmt::format("|{}", kernels::name(training.precision.compute));
        result.rank_measured = measured / training.global_batch;
        result.rank_prediction = result.prediction / training.global_batch;
    }

    void ratio(const Row& row, const std::vector<Row>& file, Result& result) {
        const Ratio plans = read_ratio(row, file);
        const auto seconds = [&](const scenarios::Scenario& scenario) { return outcome(scenario).seconds; };
        compare(result, plans.measured, throughput_ratio(plans, seconds));
    }

    void training_run(const Row& row) {
        std::vector<Quantity> measured;
        const Result unread = guarded(row, [&](Result&) {
            measured = measured_quantities(row);
            if (measured.empty()) throw Skip("nothing of a whole training is measured");
        });
        if (!unread.predicted) found_.trainings.push_back(unread);
        for (const Quantity quantity : measured) {
            found_.trainings.push_back(guarded(row, [&](Result& result) {
                const TrainingRunValues values = compare_training_run(row, quantity, predictor_.step);
                result.measured = values.measured;
                result.prediction = values.predicted;
                result.error = result.signed_error = values.error;
            }));
            found_.trainings.back().source = score_of(row, quantity);
        }
    }

    void peak(const Row& row, Result& result) {
        const std::optional<MeasuredMemory> measured = measured_memory(row);
        const scenarios::Scenario scenario = map_row(row, predictor_.has_profile);
        if (!measured) throw Skip("no peak memory measured");
        check_memory(row);
        sim::MemoryUse predicted = outcome(scenario).memory;
        if (counts_reserved(measured->tool) && predictor_.reserved) predictor_.reserved(scenario, predicted);
        compare(result, measured->bytes, predicted_memory(*measured, predicted, scenario, software_of(row)));
    }

    void collective(const Row& row, Result& result) {
        const MappedCollective mapped = map_collective(row, predictor_.has_profile);
        if (predictor_.calibrated && mapped.cluster.nodes == 1 && mapped.points.size() >= least_sweep)
            return held_out(mapped, result);
        score_points(mapped.points, result, [&](double bytes) {
            return predictor_.collective(mapped.cluster, mapped.profile, mapped.kind, mapped.ranks, bytes);
        });
    }

    /// Calibrated with the sizes of even place, scored at those between them.
    void held_out(const MappedCollective& mapped, Result& result) {
        std::vector<CollectivePoint> all = mapped.points, kept;
        std::ranges::sort(all, {}, &CollectivePoint::bytes);
        calibrate::CollectiveTable table{mapped.kind, mapped.ranks, {}, {}};
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % 2 == 0) table.points.push_back({all[i].bytes, all[i].seconds});
            if (i % 2 == 1 && i + 1 < all.size()) kept.push_back(all[i]);
        }
        score_points(kept, result, [&](double bytes) { return predictor_.calibrated(table, bytes); });
    }

    template <class Seconds>
    static void score_points(const std::vector<CollectivePoint>& points, Result& result, const Seconds& seconds) {
        std::vector<double> absolute, signed_errors;
        for (const CollectivePoint& point : points) {
            compare(result, point.seconds, seconds(point.bytes));
            absolute.push_back(std::abs(result.error));
            signed_errors.push_back(result.error);
        }
        const CollectivePoint& middle = points[points.size() / 2];
        compare(result, middle.seconds, seconds(middle.bytes));
        result.error = median(absolute);
        result.signed_error = median(signed_errors);
        result.sizes = points.size();
    }

    static constexpr std::size_t least_sweep = 5;  ///< sizes of a sweep of which every second one is held out

    const Predictor& predictor_;
    Outcomes& outcomes_;
    Results found_;
};

/// By the rows, where scenarios were numbered by who came first.
void number_scenarios(std::vector<Result>& steps) {
    std::map<std::size_t, std::size_t> numbers;
    for (Result& row : steps)
        if (row.scenario > 0) row.scenario = numbers.try_emplace(row.scenario, numbers.size() + 1).first->second;
}

}  // namespace

Report validate_files(const std::vector<std::filesystem::path>& files, const Predictor& predictor,
                      const ProgressCallback& progress, unsigned threads) {
    std::vector<RowFile> loaded;
    for (const std::filesystem::path& file : files) loaded.push_back(load_rows(file));
    std::vector<std::pair<const Row*, const RowFile*>> rows;
    for (const RowFile& file : loaded)
        for (const Row& row : file.rows) rows.emplace_back(&row, &file);

    std::vector<Results> found(rows.size());
    std::atomic<std::size_t> done{0};
    Outcomes outcomes(predictor.step);
    for_each_on(threads, rows.size(), [&](std::size_t i) {
        found[i] = Runner(predictor, outcomes).run(*rows[i].first, rows[i].second->rows);
        if (progress) progress(++done, rows.size());
    });
    Results all;
    for (Results& each : found) all.append(std::move(each));
    number_scenarios(all.steps);
    return {score(std::move(all.steps)), score(std::move(all.memory), memory_looked_at),
            score(std::move(all.collectives)), score(std::move(all.trainings)), score(std::move(all.ratios))};
}

std::vector<std::filesystem::path> carried_files() {
    const std::filesystem::path folder = data_folder() / "validation";
    std::error_code failure;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    if (files.empty())
        throw Error(folder.string(), "", "no validation files", "is the data folder ($ORRERY_DATA) the right one?");
    std::ranges::sort(files);
    return files;
}

}  // namespace orrery::validate

#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <string>

#include "python/native/bindings.hpp"
#include "python/native/boundary.hpp"
#include "report/chrome_trace.hpp"
#include "report/html/page.hpp"
#include "report/html/step_page.hpp"
#include "report/json.hpp"
#include "report/output_file.hpp"
#include "report/rank_view.hpp"
#include "report/terminal.hpp"
#include "scenarios/request.hpp"
#include "sim/predict.hpp"

namespace orrery::python {

namespace py = pybind11;

namespace {

using scenarios::Request;

/// A scenario's prediction, and its reports.
class Prediction {
public:
    explicit Prediction(const Request& request) : request_(request), scenario_(request.load()), step_(predict(false)) {}

    [[nodiscard]] std::string json() const { return report::json(scenario_, step_); }
    [[nodiscard]] std::string text(std::size_t columns) const {
        return report::terminal(scenario_, step_, {.color = false, .columns = columns});
    }
    /// Predicts again, now with what happens when.
    [[nodiscard]] std::string html(const std::string& command) {
        report::require_page();
        return report::step_page(scenario_, predict(true), profiles_, command);
    }
    /// What was left out, in words.
    [[nodiscard]] std::string trace(const std::string& file) {
        report::OutputFile output(file);
        const sim::Prediction traced = predict(true);
        const std::string left_out =
            report::chrome_trace(scenario_, traced, [&](std::string_view text) { output.write(text); });
        output.commit();
        return left_out;
    }

private:
    /// On the project's own main loop, which gives the command line's numbers to the bit (sim/run_step.hpp): SimGrid's
    /// serves one prediction at a time in a process.
    [[nodiscard]] sim::Prediction predict(bool keep_trace) {
        Pulse pulse;
        return request_.blamed([&] {
            return sim::predict(scenario_, profiles_,
                                {.keep_trace = keep_trace, .progress = [&](std::size_t, std::size_t) { pulse(); }});
        });
    }

    Request request_;
    scenarios::Scenario scenario_;
    calibrate::ProfileStore profiles_;
    sim::Prediction step_;
};

/// One rank's step, and where its times come from.
class Explanation {
public:
    Explanation(const Request& request, std::uint32_t rank)
        : scenario_(request.load()), view_(request.blamed([&] { return report::RankView(scenario_, rank); })) {}

    [[nodiscard]] std::string json() const { return view_.json().dump(); }
    [[nodiscard]] std::string text(std::size_t) const { return view_.text(); }

private:
    scenarios::Scenario scenario_;
    report::RankView view_;
};

}  // namespace

void add_prediction(py::module_& module) {
    py::class_<Prediction>(module, "Prediction")
        .def(py::init<const Request&>(), py::arg("request"), Unlocked())
        .def("json", &Prediction::json, Unlocked(), "The bytes of `orrery simulate --json`.")
        .def("text", &Prediction::text, py::arg("columns"), Unlocked(), "What `orrery simulate` prints.")
        .def("html", &Prediction::html, py::arg("command"), Unlocked(), "The report as one HTML page.")
        .def("trace", &Prediction::trace, py::arg("file"), Unlocked(), "Writes a Chrome trace; what it left out.");
    py::class_<Explanation>(module, "Explanation")
        .def(py::init<const Request&, std::uint32_t>(), py::arg("request"), py::arg("rank"), Unlocked())
        .def("json", &Explanation::json, Unlocked(), "The rank's kernels and the roof above them, as JSON.")
        .def("text", &Explanation::text, py::arg("columns"), Unlocked(), "What `orrery explain` prints.");
}

}  // namespace orrery::python

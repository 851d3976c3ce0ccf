#include <pybind11/stl.h>

#include <string>

#include "base/parallel.hpp"
#include "planning/search/question.hpp"
#include "planning/sweep/sweep.hpp"
#include "python/native/bindings.hpp"
#include "python/native/boundary.hpp"
#include "report/html/plans_page.hpp"
#include "report/search.hpp"
#include "report/sweep.hpp"
#include "scenarios/request.hpp"

namespace orrery::python {

namespace py = pybind11;

namespace {

using planning::Journal;
using scenarios::Request;

/// How many at once, and where answers are kept meanwhile.
struct Work {
    unsigned threads;
    std::string log;

    Work(unsigned asked, std::string file) : threads(asked > 0 ? asked : all_cores()), log(std::move(file)) {}
    [[nodiscard]] planning::Crew crew() const { return planning::crew_of(threads); }
};

/// Every combination of some keys' values.
class Sweep {
public:
    Sweep(const Request& request, const std::vector<std::string>& vary, unsigned threads, const std::string& log)
        : grid_(request.blamed([&] { return planning::Grid(request, vary); })), result_(request.blamed([&] {
              return answer({threads, log});
          })) {}

    [[nodiscard]] std::string json() const { return report::sweep_json(grid_, result_); }
    [[nodiscard]] std::string csv() const { return report::sweep_csv(grid_, result_); }
    [[nodiscard]] std::string text(std::size_t columns, std::size_t top) const {
        return report::sweep_text(grid_, result_, top, {.color = false, .columns = columns});
    }
    [[nodiscard]] std::string html(const std::string& command) const {
        return report::sweep_page(grid_, result_, command);
    }

private:
    [[nodiscard]] planning::Sweep answer(const Work& work) const {
        Journal journal(work.log, {"sweep", grid_.fingerprint(), grid_.points()}, Journal::Start::go_on);
        calibrate::ProfileStore profiles;
        Pulse pulse;
        planning::Sweep swept = planning::sweep(grid_, profiles, journal, work.crew(), [&] { pulse(); });
        journal.remove();
        return swept;
    }

    planning::Grid grid_;
    planning::Sweep result_;
};

/// The best plans.
class Search {
public:
    Search(const Request& request, const planning::SearchWishes& wishes, std::size_t most, unsigned threads,
           const std::string& log)
        : question_(request.blamed([&] { return planning::question_of(request, wishes); })),
          result_(request.blamed([&] {
              return answer(most, {threads, log});
          })),
          report_{&question_, &result_, request.command("simulate"), request.blamed([&] { return own(); })} {}
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    [[nodiscard]] std::string json() const { return report::search_json(report_); }
    [[nodiscard]] std::string csv() const { return report::search_csv(report_); }
    [[nodiscard]] std::string text(std::size_t columns) const {
        return report::search_text(report_, {.color = false, .columns = columns});
    }
    [[nodiscard]] std::string html(const std::string& command) const { return report::search_page(report_, command); }

private:
    [[nodiscard]] planning::SearchResult answer(std::size_t most, const Work& work) const {
        Journal journal(work.log, {"search", question_.fingerprint(), Journal::any}, Journal::Start::go_on);
        calibrate::ProfileStore profiles;
        Pulse pulse;
        planning::SearchResult found = planning::search(question_, profiles, journal,
                                                        {.threads = work.threads,
                                                         .crew = work.crew(),
                                                         .most_simulated = most,
                                                         .begin = [&](const char*, std::size_t) { pulse(); },
                                                         .done = [&] { pulse(); }});
        journal.remove();
        return found;
    }
    [[nodiscard]] planning::Answer own() const {
        calibrate::ProfileStore profiles;
        return planning::own_plan(question_, profiles);
    }

    planning::SearchQuestion question_;
    planning::SearchResult result_;
    report::SearchReport report_;
};

planning::SearchWishes wishes(std::optional<std::string> gpus, std::optional<std::string> gpu, std::string objective,
                              std::vector<std::string> fix, std::vector<std::string> vary,
                              std::vector<std::string> price, std::size_t top, double idle) {
    return {std::move(gpus),
            std::move(gpu),
            std::move(objective),
            std::move(fix),
            std::move(vary),
            std::move(price),
            top,
            idle};
}

}  // namespace

void add_plans(py::module_& module) {
    py::class_<Sweep>(module, "Sweep")
        .def(py::init<const Request&, const std::vector<std::string>&, unsigned, const std::string&>(),
             py::arg("request"), py::arg("vary"), py::arg("threads"), py::arg("log"), Unlocked())
        .def("json", &Sweep::json, Unlocked(), "The bytes of `orrery sweep --json`.")
        .def("csv", &Sweep::csv, Unlocked(), "The bytes of `orrery sweep --csv`.")
        .def("text", &Sweep::text, py::arg("columns"), py::arg("top") = 20, Unlocked(), "What `orrery sweep` prints.")
        .def("html", &Sweep::html, py::arg("command"), Unlocked(), "The report as one HTML page.");
    py::class_<planning::SearchWishes>(module, "SearchWishes")
        .def(py::init(&wishes), py::arg("gpus"), py::arg("gpu"), py::arg("objective"), py::arg("fix"), py::arg("vary"),
             py::arg("price"), py::arg("top"), py::arg("idle"));
    py::class_<Search>(module, "Search")
        .def(py::init<const Request&, const planning::SearchWishes&, std::size_t, unsigned, const std::string&>(),
             py::arg("request"), py::arg("wishes"), py::arg("most"), py::arg("threads"), py::arg("log"), Unlocked())
        .def("json", &Search::json, Unlocked(), "The bytes of `orrery search --json`.")
        .def("csv", &Search::csv, Unlocked(), "The bytes of `orrery search --csv`.")
        .def("text", &Search::text, py::arg("columns"), Unlocked(), "What `orrery search` prints.")
        .def("html", &Search::html, py::arg("command"), Unlocked(), "The report as one HTML page.");
}

}  // namespace orrery::python

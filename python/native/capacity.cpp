#include "report/capacity.hpp"

#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/today.hpp"
#include "documents/document.hpp"
#include "planning/capacity/answer.hpp"
#include "python/native/bindings.hpp"
#include "python/native/boundary.hpp"
#include "report/html/capacity_page.hpp"

namespace orrery::python {

namespace py = pybind11;

namespace {

/// Which cluster, how long, for how much.
class Capacity {
public:
    /// document: what would be in the file. cache: where predictions are kept; "": nowhere.
    Capacity(const std::string& file, const std::optional<std::string>& document, const std::string& cache)
        : question_(capacity::read_question(
              document ? documents::parse_document(*document, file) : documents::read_document(file), file, today())) {
        capacity::FactsFile known(cache);
        Pulse pulse;
        answer_ = capacity::answer(question_, known, [&](std::size_t, std::size_t) { pulse(); });
    }

    [[nodiscard]] std::string json() const { return report::capacity_json(question_, answer_).dump(2) + '\n'; }
    [[nodiscard]] std::string text(std::size_t columns) const {
        return report::capacity_text(question_, answer_, {.color = false, .columns = columns});
    }
    [[nodiscard]] std::string html(const std::string& command) const {
        return report::capacity_page(report::capacity_json(question_, answer_), command);
    }

private:
    capacity::Question question_;
    capacity::Answer answer_;
};

}  // namespace

void add_capacity(py::module_& module) {
    py::class_<Capacity>(module, "Capacity")
        .def(py::init<const std::string&, const std::optional<std::string>&, const std::string&>(), py::arg("file"),
             py::arg("document"), py::arg("cache"), Unlocked())
        .def("json", &Capacity::json, Unlocked(), "The bytes of `orrery capacity --json`.")
        .def("text", &Capacity::text, py::arg("columns"), Unlocked(), "What `orrery capacity` prints.")
        .def("html", &Capacity::html, py::arg("command"), Unlocked(), "The report as one HTML page.");
}

}  // namespace orrery::python

// orrery._native: what the package orrery is made of. Every class takes a question when it is made, answers it without
// the interpreter's lock, and hands out its answer in the forms that the commands write.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "models/catalog.hpp"
#include "python/native/bindings.hpp"
#include "python/native/boundary.hpp"
#include "report/html/page.hpp"
#include "report/output_file.hpp"
#include "scenarios/shipped.hpp"
#include "sim/version.hpp"
#include "topology/catalog.hpp"

namespace {

namespace py = pybind11;
using Names = std::vector<std::string>;

Names models() {
    Names names;
    for (const auto& model : orrery::models::catalog()) names.push_back(model.name);
    return names;
}

Names gpus() {
    Names names;
    for (const auto& name : orrery::hardware::names()) names.emplace_back(name);
    return names;
}

Names clusters() {
    Names names;
    for (const auto& preset : orrery::topology::presets()) names.emplace_back(preset.name);
    return names;
}

Names scenarios() {
    Names names;
    for (const auto& file : orrery::scenarios::shipped_files()) names.push_back(orrery::scenarios::shipped_name(file));
    return names;
}

/// Whole or not at all, and compressed where the name ends in ".gz".
void write_file(const std::string& file, const std::string& text) {
    orrery::report::OutputFile output(file);
    output.write(text);
    output.commit();
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "The simulator behind the package orrery.";
    module.attr("version") = orrery::sim::version();
    orrery::python::add_errors(module);
    orrery::python::add_request(module);
    orrery::python::add_prediction(module);
    orrery::python::add_plans(module);
    orrery::python::add_capacity(module);
    module.def("models", &models, "Models of the catalog.");
    module.def("gpus", &gpus, "GPUs that are known by name.");
    module.def("clusters", &clusters, "Presets of clusters.");
    module.def("scenarios", &scenarios, "Scenarios that come with the program.");
    module.def("write", &write_file, py::arg("file"), py::arg("text"), orrery::python::Unlocked(),
               "Writes a file, whole or not at all.");
    module.def("has_page", &orrery::report::has_page, "Whether HTML reports were built in.");
}

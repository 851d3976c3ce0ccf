#include "scenarios/request.hpp"

#include <pybind11/stl.h>

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "python/native/bindings.hpp"
#include "report/json.hpp"
#include "scenarios/shipped.hpp"

namespace orrery::python {

namespace py = pybind11;

namespace {

using scenarios::Request;
using Keys = std::map<std::string, std::string>;

/// document: what would be in the file; without one, `file` names a file or a shipped scenario, or is empty.
Request request(const std::string& file, const std::optional<std::string>& document,
                const std::vector<std::string>& set, const Keys& keys, std::uint32_t gpus) {
    Request made;
    made.file = document ? file : scenarios::file_of(file);
    if (document)
        made.given =
            std::make_shared<const nlohmann::json>(documents::parse_document(*document, file, documents::commented));
    made.set = set;
    for (const auto& [name, value] : keys) made.keys.set(name, value);
    if (gpus > 0) made.keys.set_gpus(gpus);
    made.unnamed = "arguments";
    made.remedy =
        "name a file, a shipped scenario or a dictionary, or a model and a cluster: model=\"llama3-70b\", "
        "cluster=\"superpod-h100\", gpus=512, tensor=8, global_batch=512";
    return made;
}

std::string resolved(const Request& request) {
    return request.blamed([&] { return report::resolved(request.load()).dump(); });
}

std::vector<std::string> key_names() {
    std::vector<std::string> names{"gpus"};
    for (const scenarios::UsualKeys::Key& key : scenarios::UsualKeys::all()) names.emplace_back(key.name);
    return names;
}

}  // namespace

void add_request(py::module_& module) {
    py::class_<Request>(module, "Request")
        .def(py::init(&request), py::arg("file"), py::arg("document"), py::arg("set"), py::arg("keys"), py::arg("gpus"),
             Unlocked())
        .def("resolved", &resolved, Unlocked(), "The scenario as JSON, every value written out.");
    module.def("key_names", &key_names, "Usual keys of a scenario, as options of the command line spell them.");
}

}  // namespace orrery::python

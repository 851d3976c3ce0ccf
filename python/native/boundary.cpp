#include "python/native/boundary.hpp"

#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace orrery::python {

namespace py = pybind11;

namespace {

/// Of the interpreter's lifetime: it is never taken away.
PyObject* error_class = nullptr;

constexpr const char* error_text =
    "What is wrong with an input, where it is and how to mend it: the text of the command line's message. file, "
    "pointer (RFC 6901), message and hint are its parts, empty where there is none.";

void raise(const Error& error) {
    try {
        const py::object raised = py::reinterpret_borrow<py::object>(error_class)(std::string(error.what()));
        raised.attr("file") = error.file();
        raised.attr("pointer") = error.pointer();
        raised.attr("message") = error.message();
        raised.attr("hint") = error.hint();
        PyErr_SetObject(error_class, raised.ptr());
    } catch (py::error_already_set& another) {
        another.restore();
    }
}

void translate(std::exception_ptr thrown) {
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
        raise(error);
    } catch (const Interrupted&) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
}

}  // namespace

void add_errors(py::module_& module) {
    error_class = PyErr_NewExceptionWithDoc("orrery.Error", error_text, PyExc_ValueError, nullptr);
    if (error_class == nullptr) throw py::error_already_set();
    module.attr("Error") = py::reinterpret_borrow<py::object>(error_class);
    py::register_exception_translator(translate);
}

void Pulse::operator()() {
    if (std::this_thread::get_id() != owner_ || Clock::now() < next_) return;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    next_ = Clock::now() + pause;
}

}  // namespace orrery::python

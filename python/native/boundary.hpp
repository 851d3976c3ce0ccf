// Where C++ and Python meet: errors that become exceptions, and signals that end work done without the interpreter's
// lock.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

namespace orrery::python {

/// Makes the module's class Error, a ValueError with file, pointer, message and hint, of the project's Error, and
/// KeyboardInterrupt of Interrupted.
void add_errors(pybind11::module_& module);

/// Called now and then by work that runs without the interpreter's lock, from any of its threads: lets Python handle
/// signals in the thread that began, and throws what the handler raised (KeyboardInterrupt on Ctrl-C).
class Pulse {
public:
    void operator()();

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto pause = std::chrono::milliseconds(50);  ///< a person waits no longer, work hardly notices

    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point next_ = Clock::now() + pause;  ///< of the owner alone
};

}  // namespace orrery::python

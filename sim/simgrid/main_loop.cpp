#include "sim/simgrid/main_loop.hpp"

#include <exception>
#include <limits>
#include <simgrid/s4u/NetZone.hpp>

#include "sim/simgrid/kernel.hpp"

namespace orrery::sim {

namespace {

/// The seam to SimGrid's main loop: it asks each model how long until its next event, moves its clock to the first of
/// them and tells the models. Exceptions do not cross its frames.
class EventModel final : public simgrid::kernel::resource::Model {
public:
    explicit EventModel(EventSource& events) : Model("orrery events"), events_(events) {}

    double next_occurring_event(double) override {
        if (failure_) return nothing;
        try {
            next_ = events_.next();
        } catch (...) {
            failure_ = std::current_exception();
            return nothing;
        }
        return next_ < std::numeric_limits<double>::infinity() ? next_ - events_.now() : nothing;
    }

    void update_actions_state(double, double) override {
        try {
            events_.happen(next_);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    static constexpr double nothing = -1.0;

    EventSource& events_;
    double next_ = 0.0;
    std::exception_ptr failure_;
};

}  // namespace

void run_in_simgrid(EventSource& events) {
    SimgridKernel kernel;
    const auto model = std::make_shared<EventModel>(events);
    kernel.add(model);
    simgrid::s4u::create_empty_zone("orrery");
    kernel.run();
    model->rethrow();
}

}  // namespace orrery::sim

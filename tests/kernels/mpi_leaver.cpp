// Rank 1 fails while the others wait for it: none may hang. The test reads rank 1's last words.
#include <cstdio>

#include "base/error.hpp"
#include "kernels/communicator.hpp"

int main() {
    using namespace orrery;
    try {
        const auto device = kernels::open_device("cpu");
        const auto group = kernels::world(*device);
        if (!group) throw Error("started alone", "start with mpirun");
        if (group->rank() == 1) throw Error("rank 1 fails");
        group->barrier();
        std::puts("the barrier was passed without rank 1");
    } catch (const Error& error) {
        std::puts(error.what());
        return 2;
    }
    return 0;
}

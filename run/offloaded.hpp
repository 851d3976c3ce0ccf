// Activations on their way to host memory and back: what a copy of the program moves.
#pragma once

#include <map>
#include <vector>

#include "run/bind.hpp"

namespace orrery::run {

/// Binds the copies of one program. A copy to the host moves every tensor that a layer keeps for the backward of a
/// micro-batch; the layer holds none of them until the copy back has brought new ones. Memory is the arenas', of the
/// device and of the host: both make an item wait where another lane used it last.
class Offloaded {
public:
    /// host: an arena of host memory; it must outlive this.
    explicit Offloaded(Arena& host) : host_(host) {}

    /// kept: Interpreter::kept(); saved, host: the program's buffers that the copy reads and writes.
    Action out(Bind& bind, const std::vector<Tensor*>& kept, strategies::BufferId saved, strategies::BufferId host);
    /// host: the buffer that the copy reads.
    Action back(Bind& bind, strategies::BufferId host);
    /// The program uses the buffer no more.
    void gone(strategies::BufferId buffer) {
        leaving_.erase(buffer);
        on_host_.erase(buffer);
    }

private:
    struct Moved {
        Tensor host;
        std::vector<Tensor*> holders;
    };
    Arena& host_;
    std::map<strategies::BufferId, std::vector<Tensor>> leaving_;  ///< of the device, by what the program calls them
    std::map<strategies::BufferId, std::vector<Moved>> on_host_;
};

}  // namespace orrery::run

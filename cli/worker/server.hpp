// The ranks that are asked.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/worker/letter.hpp"
#include "planning/crew.hpp"

namespace orrery::worker {

/// Simulates what rank 0 asks, by so many threads, until it says that all is finished.
class Server {
public:
    Server(kernels::PostOffice& office, const planning::Simulate& simulate) : office_(office), simulate_(simulate) {}
    void run(unsigned threads);

private:
    void work();
    void carry();
    void close();

    kernels::PostOffice& office_;
    const planning::Simulate& simulate_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::string> inbox_;
    std::vector<std::string> outbox_;
    bool closed_ = false;
};

}  // namespace orrery::worker

// The rank that asks: hands out work to the threads of all others.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/worker/letter.hpp"
#include "planning/crew.hpp"

namespace orrery::worker {

class Leader {
public:
    /// office: must outlive it; it is this object's alone from now on.
    explicit Leader(kernels::PostOffice& office) : office_(office) {}
    /// Sends everybody home.
    ~Leader();
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

    /// Wakes the other ranks, and waits until all are ready. Throws std::runtime_error when one cannot serve.
    planning::Crew crew(unsigned threads);

private:
    struct Asked {
        std::uint64_t number;
        std::uint32_t rank;
        std::string work;
    };
    void wake();
    planning::Answer ask(std::uint32_t rank, const planning::Work& work);
    /// Its own thread's: carries letters out and in.
    void carry();
    bool send_all();
    void deliver(const kernels::Mail& mail);
    void fail_all(const std::string& why);

    kernels::PostOffice& office_;
    std::vector<unsigned> threads_;  ///< of each rank; its own is not counted here
    std::thread carrier_;
    std::mutex mutex_;  ///< of all below
    std::uint64_t next_ = 0;
    std::vector<Asked> outbox_;
    std::map<std::uint64_t, std::promise<std::string>> waiting_;
    std::string failed_;
    bool closing_ = false;
};

}  // namespace orrery::worker

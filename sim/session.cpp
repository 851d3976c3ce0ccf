#include "sim/session.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "sim/predict.hpp"
#include "topology/cluster_key.hpp"

namespace orrery::sim {

namespace {

constexpr std::size_t most_sites = 16;

/// What the heap grows by next is asked for in huge pages, before it is touched: a step of a million GPUs takes 150 MB,
/// and its 40,000 small pages, cleared one by one, were a fifth of its time. Addresses alone are taken ahead. Where the
/// system has no huge pages to give, all is as before.
void grow_in_huge_pages() {
    constexpr std::size_t ahead = std::size_t{256} << 20U, huge_page = std::size_t{2} << 20U;
    constexpr std::size_t more_than_is_free = std::size_t{16} << 20U;
    auto* const top = static_cast<char*>(sbrk(0));
    mallopt(M_TOP_PAD, ahead);
    void* const volatile taken = std::malloc(more_than_is_free);  // or the compiler leaves both calls out
    std::free(taken);
    auto* const end = static_cast<char*>(sbrk(0));
    const auto past = reinterpret_cast<std::uintptr_t>(top) % huge_page;
    char* const begin = past == 0 ? top : top + (huge_page - past);
    if (begin < end) (void)madvise(begin, static_cast<std::size_t>(end - begin), MADV_HUGEPAGE);
    mallopt(M_TOP_PAD, std::size_t{16} << 20U);
}

}  // namespace

std::shared_ptr<Site> make_site(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles) {
    topology::Cluster cluster = topology::build(scenario.cluster);
    Profiles of_gpus = profiles_of(scenario, cluster, profiles);
    return std::make_shared<Site>(std::move(cluster), std::move(of_gpus));
}

Session::Session() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    grow_in_huge_pages();
}

std::shared_ptr<Site> Session::site(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles) {
    std::string key = topology::cluster_key(scenario.cluster) + "\n" + scenario.profile;
    for (const auto& [gpu, profile] : scenario.more_profiles) key += "\n" + gpu + "\1" + profile;
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = sites_.find(key); known != sites_.end()) return known->second;
    }
    auto site = make_site(scenario, profiles);
    const std::lock_guard lock(mutex_);
    if (sites_.size() >= most_sites) sites_.clear();  // those in use stay until they are not
    return sites_.try_emplace(std::move(key), std::move(site)).first->second;
}

}  // namespace orrery::sim

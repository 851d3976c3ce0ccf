// Connections between every two ranks of a group.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/host_group.hpp"
#include "kernels/tcp/door.hpp"
#include "kernels/tcp/socket.hpp"

namespace orrery::kernels::tcp {

/// What travels between two ranks has a connection for each purpose, so that no two threads write to one.
enum class Purpose : std::uint8_t { collective, upwards, downwards };  ///< messages to a higher, or a lower rank

class Mesh {
public:
    /// All ranks of the group make one together. address: where the others find this host; secret: the job's. Throws
    /// DeviceError when a rank does not come in time.
    Mesh(HostGroup& group, const std::string& address, const std::string& secret, Clock::duration timeout);

    [[nodiscard]] const Socket& to(std::uint32_t peer, Purpose purpose) const {
        return peers_[peer][static_cast<std::size_t>(purpose)];
    }

private:
    static constexpr std::size_t purposes = 3;

    void call_lower(const std::vector<std::string>& doors, std::uint32_t own, const std::string& secret,
                    Clock::time_point deadline);
    void admit_higher(Door& door, std::uint32_t own, Clock::time_point deadline);

    std::vector<std::array<Socket, purposes>> peers_;
};

}  // namespace orrery::kernels::tcp

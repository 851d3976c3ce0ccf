// One after the other: who reads a file, changes it and writes it back.
#pragma once

#include <filesystem>

namespace orrery {

/// An open file, closed at the end, and with it every lock (flock(2)) that it holds: also when the process is killed.
/// Programs that this one starts do not inherit it.
class FileLock {
public:
    /// Waits until nobody else holds the lock of this file. The lock belongs to what the name means when the
    /// constructor returns, so that whoever replaced the file while another waited has not spoilt the other's lock. A
    /// name that means no file is not locked. Throws Error where the file system cannot lock.
    explicit FileLock(const std::filesystem::path& file);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int descriptor_ = -1;
};

/// Takes the lock of an open file, without waiting. False: another holds it. Throws Error (of this name) where the file
/// system cannot lock.
bool try_lock(int descriptor, const std::filesystem::path& file);

/// Whether the name still means the open file: nobody has replaced or removed it.
bool is_still(const std::filesystem::path& file, int descriptor);

}  // namespace orrery

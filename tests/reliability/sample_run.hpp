// A training run to vary: 100 days of work on 100 nodes, each failing every 100 days.
#pragma once

#include "reliability/training_run.hpp"

namespace orrery::reliability {

inline constexpr double minute = 60, hour = 3600, day = 86400;

inline TrainingRun sample_run() {
    TrainingRun run;
    run.work = 100 * day;
    run.step = run.paced_step = 10;
    run.failures_per_s = 1 / day;
    run.broken_share = 0.5;
    run.detection = 10 * minute;
    run.restart = 5 * minute;
    run.interval = hour;
    run.stall = run.write = run.shared_write = minute;
    run.read = run.shared_read = 2 * minute;
    run.replicas = 16;
    return run;
}

/// The same as a job: 100 nodes of 8 GPUs, 16 replicas, 100e9 parameters in fp16.
inline Job sample_job() {
    Job job;
    job.step_s = 10;
    job.steps = 864000;
    job.nodes = 100;
    job.gpus = 800;
    job.replicas = 16;
    job.parameters = 1e11;
    job.saved_bytes[0] = 14e11;
    job.saved_bytes[1] = 12e11;
    job.resident_bytes = 40e9;
    job.savers[0] = 50;
    job.savers[1] = 800;
    job.on_one_node[0] = job.on_one_node[1] = 8;
    job.node_tokens = 1e6;
    job.nics_bytes_per_second = 200e9;
    job.copy_bytes_per_second = 20e9;
    job.memory_bytes_per_second = 2e12;
    return job;
}

}  // namespace orrery::reliability

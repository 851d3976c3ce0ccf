#include "run/loss_scaler.hpp"

#include <algorithm>

namespace orrery::run {

void LossScaler::update(bool finite) {
    if (!finite) ++skipped_;
    if (rules_.constant > 0) return;
    if (!finite) {
        finite_ = 0;
        if (left_ > 0) --left_;
        if (left_ == 0) scale_ = std::max(scale_ / 2, rules_.least);
    } else if (++finite_ == rules_.window) {
        finite_ = 0;
        left_ = rules_.hysteresis;
        scale_ *= 2;
    }
}

}  // namespace orrery::run

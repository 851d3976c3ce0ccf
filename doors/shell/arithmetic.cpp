#include "doors/shell/arithmetic.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace orrery::doors::shell {

namespace {

constexpr int most_depth = 50;

struct Operator {
    std::string_view text;
    int level;  ///< a higher one binds tighter
};
/// Longer ones first, so that "<=" is not read as "<".
constexpr std::array<Operator, 14> operators{{{"||", 1},
                                              {"&&", 2},
                                              {"==", 3},
                                              {"!=", 3},
                                              {"<=", 4},
                                              {">=", 4},
                                              {"**", 7},
                                              {"<", 4},
                                              {">", 4},
                                              {"+", 5},
                                              {"-", 5},
                                              {"*", 6},
                                              {"/", 6},
                                              {"%", 6}}};

Number power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) return std::nullopt;
    std::int64_t result = 1;
    for (; exponent > 0; --exponent) {
        if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
        if (result == 0 || (result == 1 && base == 1)) return result;
        if (base == -1 && exponent > 2) exponent = 2 + exponent % 2;
    }
    return result;
}

Number apply(std::string_view op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (op == "+") return __builtin_add_overflow(a, b, &result) ? Number{} : result;
    if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Number{} : result;
    if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Number{} : result;
    if (op == "**") return power(a, b);
    if (op == "/" || op == "%") {
        if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
        return op == "/" ? a / b : a % b;
    }
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "&&") return a != 0 && b != 0;
    return a != 0 || b != 0;
}

class Calculator {
public:
    Calculator(std::string_view text, const NumberOf& number_of) : text_(text), number_of_(number_of) {}

    Number all() {
        const Number value = choice(0);
        blanks();
        return text_.empty() ? value : std::nullopt;
    }

private:
    void blanks() {
        while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
    }
    bool take(std::string_view token) {
        blanks();
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }

    Number choice(int depth) {
        if (depth > most_depth) return std::nullopt;
        const Number condition = binary(1, depth);
        if (!take("?")) return condition;
        const Number yes = choice(depth + 1);
        if (!take(":")) return std::nullopt;
        const Number no = choice(depth + 1);
        if (!condition) return std::nullopt;
        return *condition != 0 ? yes : no;
    }

    Number binary(int level, int depth) {
        Number left = unary(depth);
        while (const Operator* const op = next_operator(level)) {
            text_.remove_prefix(op->text.size());
            const Number right = binary(op->text == "**" ? op->level : op->level + 1, depth + 1);
            left = left && right ? apply(op->text, *left, *right) : std::nullopt;
        }
        return left;
    }

    const Operator* next_operator(int level) {
        blanks();
        for (const Operator& each : operators)
            if (text_.starts_with(each.text)) return each.level >= level ? &each : nullptr;
        return nullptr;
    }

    Number unary(int depth) {
        if (depth > most_depth) {
            text_ = {};
            return std::nullopt;
        }
        if (take("-")) {
            const Number value = unary(depth + 1);
            return value ? apply("-", 0, *value) : value;
        }
        if (take("+")) return unary(depth + 1);
        if (take("!")) {
            const Number value = unary(depth + 1);
            return value ? Number(*value == 0) : value;
        }
        if (take("(")) {
            const Number value = choice(depth + 1);
            return take(")") ? value : std::nullopt;
        }
        return atom();
    }

    Number atom() {
        blanks();
        std::size_t length = 0;
        while (length < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[length])) != 0 || text_[length] == '_'))
            ++length;
        const std::string_view word = text_.substr(0, length);
        text_.remove_prefix(length);
        if (word.empty()) return std::nullopt;
        if (std::isdigit(static_cast<unsigned char>(word.front())) == 0) return number_of_(word);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc{} && end == word.data() + word.size() ? Number(value) : std::nullopt;
    }

    std::string_view text_;
    const NumberOf& number_of_;
};

}  // namespace

Number evaluate(std::string_view expression, const NumberOf& number_of) {
    return Calculator(expression, number_of).all();
}

}  // namespace orrery::doors::shell

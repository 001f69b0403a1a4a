// The recurrence of a bidirectional LSTM with its gradient, and dropout.
//
// What the input contributes to the gates is one large product for all words, made before; what is left
// goes from word to word:
//
//     (i, f, g, o) = gates_t + W_hh h_{t-1}
//     c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
//     h_t = sigmoid(o) * tanh(c_t)
//
// A step is a product of a few rows with a matrix that fits into the cache, so what counts is that nothing
// leaves the registers in between. A tile of rows and of hidden units is multiplied, and the gates of its
// units are closed in the same place. Each number is summed in the same order whatever the batch, so a
// passage gets the same vectors alone and beside others, to the last bit.
//
// The file needs nothing but a compiler that knows vector_size (gcc, clang). It is compiled once for each kind
// of processor, see setup.py. The OpenMP runtime is torch's own, which is loaded already: threads of another
// one would share their cores with torch's, which spin while they wait.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kRows = 6;  // 6 rows x 4 vectors: 24 of 32 registers
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kRows = 3;  // 12 of 16
#elif defined(__aarch64__)
constexpr int kVectorBytes = 16, kRows = 6;
#else
constexpr int kVectorBytes = 16, kRows = 3;
#endif
constexpr int kVectors = 4;  // of a tile

template <typename T>
struct Types;
template <>
struct Types<float> {
  typedef float Vector __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded
  static constexpr float largest = 87.0f;
  static constexpr float log2_high = 0.693145751953125f, log2_low = 1.42860682030941723e-6f;
  static constexpr int mantissa = 23, degree = 7;
};
template <>
struct Types<double> {
  typedef double Vector __attribute__((vector_size(kVectorBytes)));
  typedef int64_t Bits __attribute__((vector_size(kVectorBytes)));
  static constexpr double magic = 6755399441055744.0;
  static constexpr double largest = 708.0;
  static constexpr double log2_high = 6.93147180369123816490e-01;
  static constexpr double log2_low = 1.90821492927058770002e-10;
  static constexpr int mantissa = 52, degree = 13;
};

template <typename T>
using Vector = typename Types<T>::Vector;
template <typename T>
constexpr int kLanes = kVectorBytes / sizeof(T);

#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))
#define APART __attribute__((noinline))  // so that the registers are for it alone

template <typename T>
INLINE Vector<T> broadcast(T value) {
  return value - Vector<T>{};  // a number less zero is the number, and no operation
}

// A vector, or the first `count` numbers of one where the hidden units do not fill it. Which of both is known
// when this is compiled.
template <typename T>
INLINE Vector<T> load(bool is_whole, const T* from, int64_t count) {
  Vector<T> vector;
  if (is_whole) {
    std::memcpy(&vector, from, sizeof vector);
  } else {
    T numbers[kLanes<T>] = {};
    for (int64_t lane = 0; lane < count; ++lane) numbers[lane] = from[lane];
    std::memcpy(&vector, numbers, sizeof vector);
  }
  return vector;
}

template <typename T>
INLINE void store(bool is_whole, T* to, Vector<T> vector, int64_t count) {
  if (is_whole) {
    std::memcpy(to, &vector, sizeof vector);
  } else {
    T numbers[kLanes<T>];
    std::memcpy(numbers, &vector, sizeof vector);
    for (int64_t lane = 0; lane < count; ++lane) to[lane] = numbers[lane];
  }
}

// exp(x) = 2^n exp(r) with x = n log 2 + r: a power series for the second factor, the exponent's bits for
// the first.
template <typename T>
INLINE Vector<T> exponential(Vector<T> x) {
  using Bits = typename Types<T>::Bits;
  constexpr T largest = Types<T>::largest, magic = Types<T>::magic;
  x = x > largest ? broadcast<T>(largest) : x;
  x = x < -largest ? broadcast<T>(-largest) : x;
  const Vector<T> shifted = x * T(1.44269504088896340736) + magic;
  const Vector<T> n = shifted - magic;
  const Vector<T> r = (x - n * Types<T>::log2_high) - n * Types<T>::log2_low;
  T factorial = 1;
  for (int k = 2; k <= Types<T>::degree; ++k) factorial *= k;
  Vector<T> series = broadcast<T>(T(1) / factorial);
#pragma GCC unroll 16
  for (int k = Types<T>::degree; k > 0; --k) {
    factorial /= k;
    series = series * r + T(1) / factorial;
  }
  return (Vector<T>)((Bits)series + ((Bits)shifted << Types<T>::mantissa));
}

template <typename T>
INLINE Vector<T> sigmoid(Vector<T> x) {
  return T(1) / (T(1) + exponential<T>(-x));
}

template <typename T>
INLINE Vector<T> tanh_(Vector<T> x) {
  return T(1) - T(2) / (T(1) + exponential<T>(x + x));
}

// totals[row][v] += sum_k rows[row][k] * panel[k][v], k rising.
template <typename T, int kNumRows, int kNumVectors>
INLINE void multiply(const T* rows, int64_t row_size, const T* panel,
                     Vector<T> (&totals)[kNumRows][kNumVectors]) {
  for (int64_t k = 0; k < row_size; ++k) {
    Vector<T> factors[kNumRows];
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) factors[row] = broadcast<T>(rows[row * row_size + k]);
#pragma GCC unroll 4
    for (int v = 0; v < kNumVectors; ++v) {
      Vector<T> weight;
      std::memcpy(&weight, panel + (k * kNumVectors + v) * kLanes<T>, sizeof weight);
#pragma GCC unroll 6
      for (int row = 0; row < kNumRows; ++row) totals[row][v] += factors[row] * weight;
    }
  }
}

int64_t number_of_blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

// One direction of some passages, the longest first, so that those which are not yet at their end are the
// first ones.
template <typename T>
struct Part {
  int64_t length, hidden;  // of the padded batch; d
  int64_t direction;
  const int64_t* lengths;  // of all passages
  const int64_t* passages;
  int64_t num_passages;

  int64_t num_steps() const { return lengths[passages[0]]; }

  int64_t num_active(int64_t step) const {
    return std::partition_point(passages, passages + num_passages,
                                [&](int64_t passage) { return lengths[passage] > step; }) -
           passages;
  }

  // The word that a passage has come to, as a row of the flattened batch.
  int64_t word(int64_t row, int64_t step) const {
    const int64_t passage = passages[row];
    return passage * length + (direction == 0 ? step : lengths[passage] - 1 - step);
  }

  // Tensors have both directions side by side.
  template <typename Tensor>
  Tensor* in_words(Tensor* tensor, int64_t word, int64_t size) const {
    return tensor + (2 * word + direction) * size;
  }
};

// Calls tile(number of rows, first row) for all rows, kRows at a time and then the rest at once.
template <int kNumRows = kRows - 1, typename Tile>
INLINE void for_each_tile(int64_t num_rows, const Tile& tile) {
  const int64_t num_whole = num_rows / kRows * kRows;
  if constexpr (kNumRows == kRows - 1) {
    for (int64_t row = 0; row < num_whole; row += kRows) {
      tile(std::integral_constant<int, kRows>(), row);
    }
  }
  if (num_rows - num_whole == kNumRows) {
    tile(std::integral_constant<int, kNumRows>(), num_whole);
  } else if constexpr (kNumRows > 1) {
    for_each_tile<kNumRows - 1>(num_rows, tile);
  }
}

template <typename T>
struct Forward {
  Part<T> part;
  const T* panels;  // see pack_forward
  T *gates, *cells, *outputs;  // without cells, neither they nor the gates are kept
  std::vector<T> states, new_states, cell_states;

  Forward(const Part<T>& part, const T* panels, T* gates, T* cells, T* outputs)
      : part(part), panels(panels), gates(gates), cells(cells), outputs(outputs) {
    for (auto* values : {&states, &new_states, &cell_states}) {
      values->resize(part.num_passages * part.hidden);
    }
  }

  template <bool kIsWhole, int kNumRows>
  INLINE void tile(int64_t first_row, int64_t step, int64_t unit) {
    const int64_t hidden = part.hidden, count = hidden - unit;
    Vector<T> totals[kNumRows][4];
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) {
      const T* inputs = part.in_words(gates, part.word(first_row + row, step), 4 * hidden) + unit;
#pragma GCC unroll 4
      for (int gate = 0; gate < 4; ++gate) {
        totals[row][gate] = load(kIsWhole, inputs + gate * hidden, count);
      }
    }
    if (step > 0) {
      multiply<T, kNumRows, 4>(&states[first_row * hidden], hidden, panels + unit * 4 * hidden, totals);
    }
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) {
      const int64_t in_part = (first_row + row) * hidden + unit;
      const int64_t word = part.word(first_row + row, step);
      const Vector<T> input = sigmoid<T>(totals[row][0]), forget = sigmoid<T>(totals[row][1]);
      const Vector<T> candidate = tanh_<T>(totals[row][2]), output = sigmoid<T>(totals[row][3]);
      const Vector<T> cell =
          forget * load(kIsWhole, &cell_states[in_part], count) + input * candidate;
      const Vector<T> state = output * tanh_<T>(cell);
      store(kIsWhole, &cell_states[in_part], cell, count);
      store(kIsWhole, &new_states[in_part], state, count);
      store(kIsWhole, part.in_words(outputs, word, hidden) + unit, state, count);
      if (cells != nullptr) {
        T* gates_of_word = part.in_words(gates, word, 4 * hidden) + unit;
        store(kIsWhole, gates_of_word, input, count);
        store(kIsWhole, gates_of_word + hidden, forget, count);
        store(kIsWhole, gates_of_word + 2 * hidden, candidate, count);
        store(kIsWhole, gates_of_word + 3 * hidden, output, count);
        store(kIsWhole, part.in_words(cells, word, hidden) + unit, cell, count);
      }
    }
  }

  template <bool kIsWhole>
  APART void units(int64_t step, int64_t unit) {
    for_each_tile(part.num_active(step), [&](auto num_rows, int64_t row) INLINE_LAMBDA {
      tile<kIsWhole, num_rows()>(row, step, unit);
    });
  }

  void run() {
    for (int64_t step = 0; step < part.num_steps(); ++step) {
      int64_t unit = 0;
      for (; unit + kLanes<T> <= part.hidden; unit += kLanes<T>) units<true>(step, unit);
      if (unit < part.hidden) units<false>(step, unit);
      std::swap(states, new_states);
    }
  }
};

template <typename T>
struct Backward {
  Part<T> part;
  const T* panels;  // see pack_backward
  const T *gates, *cells, *grad_outputs;
  T* grad_gates;
  std::vector<T> grads, next_grads, grad_cells;

  Backward(const Part<T>& part, const T* panels, const T* gates, const T* cells, const T* grad_outputs,
           T* grad_gates)
      : part(part), panels(panels), gates(gates), cells(cells), grad_outputs(grad_outputs),
        grad_gates(grad_gates) {
    grads.resize(part.num_passages * 4 * part.hidden);
    next_grads.resize(grads.size());
    grad_cells.resize(part.num_passages * part.hidden);
  }

  // With the gradient of the state, dh, and that of the cell as the next step left it, dc:
  //
  //     dc += dh o (1 - tanh(c)^2)
  //     di = dc g,  df = dc c_{t-1},  dg = dc i,  do = dh tanh(c)
  //
  // each times the derivative of its gate, s (1 - s) for a sigmoid and 1 - s^2 for the tanh. What goes on to
  // the step before is dc f, and W_hh^T (di, df, dg, do) as a part of its dh.
  template <bool kIsWhole, int kNumRows, int kNumVectors>
  INLINE void tile(int64_t first_row, int64_t step, int64_t unit) {
    const int64_t hidden = part.hidden;
    Vector<T> totals[kNumRows][kNumVectors];
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) {
      const T* grad = part.in_words(grad_outputs, part.word(first_row + row, step), hidden) + unit;
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) {
        const bool is_whole = kIsWhole || v < kNumVectors - 1;
        totals[row][v] = load(is_whole, grad + v * kLanes<T>, hidden - unit - v * kLanes<T>);
      }
    }
    // A passage whose last word this is has zeros there.
    multiply<T, kNumRows, kNumVectors>(&next_grads[first_row * 4 * hidden], 4 * hidden,
                                       panels + unit * 4 * hidden, totals);
    for (int row = 0; row < kNumRows; ++row) {
      const int64_t word = part.word(first_row + row, step);
      const T* gates_of_word = part.in_words(gates, word, 4 * hidden);
      const T* cell_of_word = part.in_words(cells, word, hidden);
      const T* cell_before =
          step == 0 ? nullptr : part.in_words(cells, part.word(first_row + row, step - 1), hidden);
      T* grad_of_word = part.in_words(grad_gates, word, 4 * hidden);
      T* grad_in_part = &grads[(first_row + row) * 4 * hidden];
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) {
        const bool is_whole = kIsWhole || v < kNumVectors - 1;
        const int64_t place = unit + v * kLanes<T>, count = hidden - place;
        T* grad_cell_in_part = &grad_cells[(first_row + row) * hidden + place];
        const Vector<T> input = load(is_whole, gates_of_word + place, count);
        const Vector<T> forget = load(is_whole, gates_of_word + hidden + place, count);
        const Vector<T> candidate = load(is_whole, gates_of_word + 2 * hidden + place, count);
        const Vector<T> output = load(is_whole, gates_of_word + 3 * hidden + place, count);
        const Vector<T> cell = tanh_<T>(load(is_whole, cell_of_word + place, count));
        const Vector<T> before = step == 0 ? Vector<T>{} : load(is_whole, cell_before + place, count);
        const Vector<T> grad = totals[row][v];
        const Vector<T> grad_cell =
            load(is_whole, grad_cell_in_part, count) + grad * output * (T(1) - cell * cell);
        const Vector<T> grads_of_gates[4] = {
            grad_cell * candidate * input * (T(1) - input),
            grad_cell * before * forget * (T(1) - forget),
            grad_cell * input * (T(1) - candidate * candidate),
            grad * cell * output * (T(1) - output),
        };
        store(is_whole, grad_cell_in_part, grad_cell * forget, count);
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; ++gate) {
          store(is_whole, grad_of_word + gate * hidden + place, grads_of_gates[gate], count);
          store(is_whole, grad_in_part + gate * hidden + place, grads_of_gates[gate], count);
        }
      }
    }
  }

  template <bool kIsWhole, int kNumVectors>
  APART void units(int64_t step, int64_t unit) {
    for_each_tile(part.num_active(step), [&](auto num_rows, int64_t row) INLINE_LAMBDA {
      tile<kIsWhole, num_rows(), kNumVectors>(row, step, unit);
    });
  }

  // The vectors that are left when there are no longer four.
  template <int kNumVectors>
  void last_units(int64_t step, int64_t unit) {
    const int64_t num_left = part.hidden - unit;
    if (num_left == kNumVectors * kLanes<T>) {
      units<true, kNumVectors>(step, unit);
    } else if (num_left > (kNumVectors - 1) * kLanes<T>) {
      units<false, kNumVectors>(step, unit);
    } else if constexpr (kNumVectors > 1) {
      last_units<kNumVectors - 1>(step, unit);
    }
  }

  void run() {
    constexpr int64_t size = kVectors * kLanes<T>;
    for (int64_t step = part.num_steps() - 1; step >= 0; --step) {
      int64_t unit = 0;
      for (; unit + size <= part.hidden; unit += size) units<true, kVectors>(step, unit);
      last_units<kVectors>(step, unit);
      std::swap(grads, next_grads);
    }
  }
};

template <typename T>
size_t panels_size(int64_t hidden) {
  return 4 * hidden * number_of_blocks(hidden, kLanes<T>) * kLanes<T>;
}

// W_hh, shape (4 hidden, hidden), for each block of hidden units: [k][gate][unit of the block].
template <typename T>
void pack_forward(const T* weight, int64_t hidden, T* panels) {
  for (int64_t unit = 0; unit < hidden; unit += kLanes<T>) {
    for (int64_t k = 0; k < hidden; ++k) {
      for (int64_t gate = 0; gate < 4; ++gate) {
        for (int64_t lane = 0; lane < kLanes<T>; ++lane) {
          *panels++ = unit + lane < hidden ? weight[(gate * hidden + unit + lane) * hidden + k] : T(0);
        }
      }
    }
  }
}

// For each group of up to four blocks of hidden units: [k of the gates][unit of the group].
template <typename T>
void pack_backward(const T* weight, int64_t hidden, T* panels) {
  for (int64_t unit = 0; unit < hidden; unit += kVectors * kLanes<T>) {
    const int64_t width =
        std::min<int64_t>(kVectors, number_of_blocks(hidden - unit, kLanes<T>)) * kLanes<T>;
    for (int64_t k = 0; k < 4 * hidden; ++k) {
      for (int64_t lane = 0; lane < width; ++lane) {
        *panels++ = unit + lane < hidden ? weight[k * hidden + unit + lane] : T(0);
      }
    }
  }
}

// Calls work(part) for each direction of each share of the passages, by as many threads.
template <typename T, typename Work>
void divide(const int64_t* lengths, int64_t batch_size, int64_t length, int64_t hidden,
            int64_t num_threads, const Work& work) {
  const int64_t num_shares = std::max<int64_t>(
      1, std::min(num_threads / 2, number_of_blocks(batch_size, kRows)));
  std::vector<int64_t> order(batch_size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t left, int64_t right) { return lengths[left] > lengths[right]; });
  // Dealt out like cards, so that each share has long and short ones.
  std::vector<std::vector<int64_t>> shares(num_shares);
  for (int64_t place = 0; place < batch_size; ++place) shares[place % num_shares].push_back(order[place]);
  const int64_t num_parts = 2 * num_shares;
  const int num_workers = static_cast<int>(std::min(num_threads, num_parts));
#pragma omp parallel for schedule(static, 1) num_threads(num_workers)
  for (int64_t number = 0; number < num_parts; ++number) {
    const std::vector<int64_t>& share = shares[number / 2];
    work(Part<T>{length, hidden, number % 2, lengths, share.data(), static_cast<int64_t>(share.size())});
  }
}

// Zeros where there is padding.
template <typename T>
void clear_padding(T* tensor, const int64_t* lengths, int64_t batch_size, int64_t length, int64_t size) {
  for (int64_t passage = 0; passage < batch_size; ++passage) {
    T* begin = tensor + (passage * length + lengths[passage]) * size;
    std::fill(begin, tensor + (passage + 1) * length * size, T(0));
  }
}

template <typename T>
void run_forward(T* gates, const T* weights, const int64_t* lengths, T* cells, T* outputs,
                 int64_t batch_size, int64_t length, int64_t hidden, int64_t num_threads) {
  std::vector<T> panels(2 * panels_size<T>(hidden));
  for (int64_t direction = 0; direction < 2; ++direction) {
    pack_forward(weights + direction * 4 * hidden * hidden, hidden,
                 panels.data() + direction * panels_size<T>(hidden));
  }
  divide<T>(lengths, batch_size, length, hidden, num_threads, [&](const Part<T>& part) {
    const T* panels_of_part = panels.data() + part.direction * panels_size<T>(hidden);
    Forward<T>(part, panels_of_part, gates, cells, outputs).run();
  });
  clear_padding(outputs, lengths, batch_size, length, 2 * hidden);
}

template <typename T>
void run_backward(const T* gates, const T* weights, const int64_t* lengths, const T* cells,
                  const T* grad_outputs, T* grad_gates, int64_t batch_size, int64_t length,
                  int64_t hidden, int64_t num_threads) {
  std::vector<T> panels(2 * panels_size<T>(hidden));
  for (int64_t direction = 0; direction < 2; ++direction) {
    pack_backward(weights + direction * 4 * hidden * hidden, hidden,
                  panels.data() + direction * panels_size<T>(hidden));
  }
  divide<T>(lengths, batch_size, length, hidden, num_threads, [&](const Part<T>& part) {
    const T* panels_of_part = panels.data() + part.direction * panels_size<T>(hidden);
    Backward<T>(part, panels_of_part, gates, cells, grad_outputs, grad_gates).run();
  });
  clear_padding(grad_gates, lengths, batch_size, length, 8 * hidden);
}

// A number that looks random, of another number and a seed.
INLINE uint32_t scramble(uint32_t number, uint32_t seed) {
  number += seed;
  number = (number ^ (number >> 16)) * 0x7feb352du;
  number = (number ^ (number >> 15)) * 0x846ca68bu;
  number = ((number ^ (number >> 16)) + seed) * 0x9e3779b1u;
  return number ^ (number >> 15);
}

// Each number is dropped or scaled by what its place and the seed say, so that the gradient need not be told
// what was dropped.
template <typename T>
void run_dropout(const T* inputs, T* outputs, int64_t size, int64_t seed, int64_t num_dropped, T scale,
                 int64_t num_threads) {
  constexpr int64_t kChunk = 1 << 15;
  const int64_t num_chunks = number_of_blocks(size, kChunk);
  const uint32_t limit = static_cast<uint32_t>(num_dropped);
#pragma omp parallel for num_threads(static_cast<int>(std::min(num_threads, num_chunks)))
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const uint32_t seed_of_chunk =
        scramble(static_cast<uint32_t>(chunk), static_cast<uint32_t>(seed)) ^
        static_cast<uint32_t>(seed >> 32);
    const T* from = inputs + chunk * kChunk;
    T* to = outputs + chunk * kChunk;
    const int32_t count = static_cast<int32_t>(std::min(kChunk, size - chunk * kChunk));
    for (int32_t place = 0; place < count; ++place) {
      const bool is_kept = scramble(place, seed_of_chunk) >= limit;
      to[place] = is_kept ? from[place] * scale : T(0);
    }
  }
}

}  // namespace

// Shapes: gates, grad_gates (batch_size, length, 2, 4, hidden); weights (2, 4, hidden, hidden);
// lengths (batch_size,); cells, outputs, grad_outputs (batch_size, length, 2, hidden).
//
// Forward, the gates' inputs become the gates, and cells may be null: then neither is of use afterwards.
// Of 2^32 numbers dropout drops num_dropped.
#define DEFINE(T)                                                                                         \
  extern "C" void bilstm_forward_##T(T* gates, const T* weights, const int64_t* lengths, T* cells,        \
                                     T* outputs, int64_t batch_size, int64_t length, int64_t hidden,      \
                                     int64_t num_threads) {                                               \
    run_forward<T>(gates, weights, lengths, cells, outputs, batch_size, length, hidden, num_threads);     \
  }                                                                                                       \
  extern "C" void bilstm_backward_##T(const T* gates, const T* weights, const int64_t* lengths,           \
                                      const T* cells, const T* grad_outputs, T* grad_gates,               \
                                      int64_t batch_size, int64_t length, int64_t hidden,                 \
                                      int64_t num_threads) {                                              \
    run_backward<T>(gates, weights, lengths, cells, grad_outputs, grad_gates, batch_size, length, hidden, \
                    num_threads);                                                                         \
  }                                                                                                       \
  extern "C" void dropout_##T(const T* inputs, T* outputs, int64_t size, int64_t seed,                    \
                              int64_t num_dropped, int64_t num_threads) {                                 \
    const T scale = static_cast<T>(4294967296.0 / (4294967296.0 - num_dropped));                          \
    run_dropout<T>(inputs, outputs, size, seed, num_dropped, scale, num_threads);                         \
  }
DEFINE(float)
DEFINE(double)

// The recurrence of a bidirectional LSTM with its gradient, and dropout where its result is used.
//
// What the input contributes to the gates is one large product for all words, made before; what is left
// goes from word to word:
//
//     (i, f, g, o) = gates_t + W_hh h_{t-1}
//     c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(g)
//     h_t = sigmoid(o) * tanh(c_t)
//
// How the gradient goes back is derived at Backward::tile.
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

// Brings what will be read soon into the cache. The processor cannot foresee it: the next word of a passage is
// far from that of another. (Beyond the ends of a tensor this does nothing.)
INLINE void fetch(const void* address) { __builtin_prefetch(address); }

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

// W_hh, shape (4 hidden, hidden), for each block of hidden units: [k][gate][unit of the block].
template <typename T>
std::vector<T> pack_forward(const T* weight, int64_t hidden) {
  std::vector<T> panels(4 * hidden * number_of_blocks(hidden, kLanes<T>) * kLanes<T>, T(0));
  for (int64_t unit = 0; unit < hidden; ++unit) {
    T* panel = &panels[unit / kLanes<T> * hidden * 4 * kLanes<T> + unit % kLanes<T>];
    for (int64_t gate = 0; gate < 4; ++gate) {
      const T* row = weight + (gate * hidden + unit) * hidden;
      for (int64_t k = 0; k < hidden; ++k) panel[(4 * k + gate) * kLanes<T>] = row[k];
    }
  }
  return panels;
}

// For each group of up to four blocks of hidden units: [k of the gates][unit of the group].
template <typename T>
std::vector<T> pack_backward(const T* weight, int64_t hidden) {
  std::vector<T> panels(4 * hidden * number_of_blocks(hidden, kLanes<T>) * kLanes<T>, T(0));
  T* panel = panels.data();
  for (int64_t unit = 0; unit < hidden; unit += kVectors * kLanes<T>) {
    const int64_t width =
        std::min<int64_t>(kVectors, number_of_blocks(hidden - unit, kLanes<T>)) * kLanes<T>;
    for (int64_t k = 0; k < 4 * hidden; ++k, panel += width) {
      const T* row = weight + k * hidden;
      std::copy(row + unit, row + std::min(unit + width, hidden), panel);
    }
  }
  return panels;
}

// Some passages of a padded batch, the longest first. Their words are also packed: those of a passage one after
// the other, mostly without padding.
struct Group {
  const int64_t* passages;  // their numbers in the batch
  const int64_t* lengths;
  const int64_t* starts;  // where their words begin among the packed ones
  int64_t size;
  int64_t padded_length;  // of the batch
};

// One direction of some passages of a group, the longest first, so that those which are not yet at their end
// are the first ones.
template <typename T>
struct Part {
  const Group& group;
  int64_t hidden;  // d
  int64_t direction;
  int64_t first, stride, num_passages;  // of the group

  int64_t length(int64_t row) const { return group.lengths[first + row * stride]; }

  int64_t num_steps() const { return length(0); }

  int64_t num_active(int64_t step) const {
    int64_t active = 0, inactive = num_passages;
    while (active < inactive) {
      const int64_t middle = (active + inactive) / 2;
      if (length(middle) > step) active = middle + 1;
      else inactive = middle;
    }
    return active;
  }

  // The word that a passage has come to.
  int64_t word(int64_t row, int64_t step) const {
    return direction == 0 ? step : length(row) - 1 - step;
  }

  // How many words ahead the next one is.
  int64_t next() const { return direction == 0 ? 1 : -1; }

  // Tensors have both directions side by side. Gates and cells are those of packed words.
  template <typename Tensor>
  Tensor* packed(Tensor* tensor, int64_t row, int64_t step, int64_t size) const {
    return tensor + (2 * (group.starts[first + row * stride] + word(row, step)) + direction) * size;
  }

  int64_t passage(int64_t row) const { return group.passages[first + row * stride]; }

  template <typename Tensor>
  Tensor* padded(Tensor* tensor, int64_t row, int64_t step, int64_t size) const {
    const int64_t first_word = group.passages[first + row * stride] * group.padded_length;
    return tensor + (2 * (first_word + word(row, step)) + direction) * size;
  }
};

// What is added to the gates, or null.
template <typename T>
struct Additions {
  const T* common;  // the same for all words of a passage
  const T* shared;  // the same for the words of all passages of a kind
  const int64_t* kinds;  // of all passages

  const T* common_to(const Part<T>& part, int64_t row) const {
    return common == nullptr ? nullptr
                             : common + (2 * part.passage(row) + part.direction) * 4 * part.hidden;
  }

  const T* shared_with(const Part<T>& part, int64_t row, int64_t step) const {
    if (shared == nullptr) return nullptr;
    const int64_t word = kinds[part.passage(row)] * part.group.padded_length + part.word(row, step);
    return shared + (2 * word + part.direction) * 4 * part.hidden;
  }
};

// Calls tile(number of rows, first row) for all rows: as many as a tile can have, then three, then one.
template <typename Tile>
INLINE void for_each_tile(int64_t num_rows, const Tile& tile) {
  int64_t row = 0;
  for (; row + kRows <= num_rows; row += kRows) tile(std::integral_constant<int, kRows>(), row);
  if constexpr (kRows > 3) {
    for (; row + 3 <= num_rows; row += 3) tile(std::integral_constant<int, 3>(), row);
  }
  for (; row < num_rows; ++row) tile(std::integral_constant<int, 1>(), row);
}

template <typename T>
struct Forward {
  Part<T> part;
  Additions<T> additions;
  T *gates, *cells, *outputs;  // without cells, neither they nor the gates are kept
  std::vector<T> panels, states, new_states, cell_states;

  Forward(const Part<T>& part, const T* weights, const Additions<T>& additions, T* gates, T* cells,
          T* outputs)
      : part(part), additions(additions), gates(gates), cells(cells), outputs(outputs),
        panels(pack_forward(weights + part.direction * 4 * part.hidden * part.hidden, part.hidden)) {
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
      const T* inputs = part.packed(gates, first_row + row, step, 4 * hidden) + unit;
#pragma GCC unroll 4
      for (int gate = 0; gate < 4; ++gate) {
        totals[row][gate] = load(kIsWhole, inputs + gate * hidden, count);
        fetch(inputs + part.next() * 8 * hidden + gate * hidden);
      }
      for (const T* addition : {additions.common_to(part, first_row + row),
                                additions.shared_with(part, first_row + row, step)}) {
        if (addition == nullptr) continue;
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; ++gate) {
          totals[row][gate] += load(kIsWhole, addition + unit + gate * hidden, count);
        }
      }
    }
    if (step > 0) {
      multiply<T, kNumRows, 4>(&states[first_row * hidden], hidden, &panels[unit * 4 * hidden], totals);
    }
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) {
      const int64_t in_part = (first_row + row) * hidden + unit;
      const Vector<T> input = sigmoid<T>(totals[row][0]), forget = sigmoid<T>(totals[row][1]);
      const Vector<T> candidate = tanh_<T>(totals[row][2]), output = sigmoid<T>(totals[row][3]);
      const Vector<T> cell =
          forget * load(kIsWhole, &cell_states[in_part], count) + input * candidate;
      const Vector<T> state = output * tanh_<T>(cell);
      store(kIsWhole, &cell_states[in_part], cell, count);
      store(kIsWhole, &new_states[in_part], state, count);
      store(kIsWhole, part.padded(outputs, first_row + row, step, hidden) + unit, state, count);
      if (cells != nullptr) {
        T* gates_of_word = part.packed(gates, first_row + row, step, 4 * hidden) + unit;
        store(kIsWhole, gates_of_word, input, count);
        store(kIsWhole, gates_of_word + hidden, forget, count);
        store(kIsWhole, gates_of_word + 2 * hidden, candidate, count);
        store(kIsWhole, gates_of_word + 3 * hidden, output, count);
        store(kIsWhole, part.packed(cells, first_row + row, step, hidden) + unit, cell, count);
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
  const T *gates, *cells, *grad_outputs;
  T* grad_gates;
  std::vector<T> panels, grads, next_grads, grad_cells;

  Backward(const Part<T>& part, const T* weights, const T* gates, const T* cells, const T* grad_outputs,
           T* grad_gates)
      : part(part), gates(gates), cells(cells), grad_outputs(grad_outputs), grad_gates(grad_gates),
        panels(pack_backward(weights + part.direction * 4 * part.hidden * part.hidden, part.hidden)) {
    grads.resize(part.num_passages * 4 * part.hidden);
    next_grads.resize(grads.size());
    grad_cells.resize(part.num_passages * part.hidden);
  }

  // One step back in time. The forward step, all products by element but that with W_hh:
  //
  //     (zi, zf, zg, zo) = inputs + W_hh h_{t-1}
  //     i = sigmoid(zi)   f = sigmoid(zf)   g = tanh(zg)   o = sigmoid(zo)
  //     c = f c_{t-1} + i g
  //     h = o tanh(c)
  //
  // Let dx be the derivative of the loss by x, for any x. From the last equation to the first:
  //
  // 1. h is read by the layers above, which give grad_outputs, and by the next step, where W_hh multiplies it:
  //        dh = grad_outputs + W_hh^T dz_{t+1}                        (totals)
  // 2. h = o tanh(c), and tanh' = 1 - tanh^2. c is also read by the next step, which has left its dc in
  //    grad_cells (4.):
  //        do = dh tanh(c)
  //        dc = dh o (1 - tanh(c)^2) + (dc f)_{t+1}
  // 3. c = f c_{t-1} + i g:
  //        df = dc c_{t-1}        di = dc g        dg = dc i
  // 4. The step before gets from the same equation, in grad_cells:
  //        dc f
  // 5. sigmoid' = s (1 - s), and the gates are known, so the derivatives need no z:
  //        dzi = di i (1 - i)   dzf = df f (1 - f)   dzg = dg (1 - g^2)   dzo = do o (1 - o)
  //    These four are dz: grad_gates for the gradients of all weights and inputs, grads for 1. of the step before.
  template <bool kIsWhole, int kNumRows, int kNumVectors>
  INLINE void tile(int64_t first_row, int64_t step, int64_t unit) {
    const int64_t hidden = part.hidden;
    Vector<T> totals[kNumRows][kNumVectors];
#pragma GCC unroll 6
    for (int row = 0; row < kNumRows; ++row) {
      const T* grad = part.padded(grad_outputs, first_row + row, step, hidden) + unit;
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) {
        const bool is_whole = kIsWhole || v < kNumVectors - 1;
        totals[row][v] = load(is_whole, grad + v * kLanes<T>, hidden - unit - v * kLanes<T>);
      }
    }
    // A passage whose last word this is has zeros there.
    multiply<T, kNumRows, kNumVectors>(&next_grads[first_row * 4 * hidden], 4 * hidden,
                                       &panels[unit * 4 * hidden], totals);
    for (int row = 0; row < kNumRows; ++row) {
      const T* gates_of_word = part.packed(gates, first_row + row, step, 4 * hidden);
      const T* cell_of_word = part.packed(cells, first_row + row, step, hidden);
      const T* grad_of_outputs = part.padded(grad_outputs, first_row + row, step, hidden);
      const T* cell_before =
          step == 0 ? nullptr : part.packed(cells, first_row + row, step - 1, hidden);
      T* grad_of_word = part.packed(grad_gates, first_row + row, step, 4 * hidden);
      T* grad_in_part = &grads[(first_row + row) * 4 * hidden];
#pragma GCC unroll 4
      for (int v = 0; v < kNumVectors; ++v) {
        const bool is_whole = kIsWhole || v < kNumVectors - 1;
        const int64_t place = unit + v * kLanes<T>, count = hidden - place;
        T* grad_cell_in_part = &grad_cells[(first_row + row) * hidden + place];
        for (int gate = 0; gate < 4; ++gate) {
          fetch(gates_of_word - part.next() * 8 * hidden + gate * hidden + place);
        }
        fetch(cell_of_word - 2 * part.next() * 2 * hidden + place);
        fetch(grad_of_outputs - part.next() * 2 * hidden + place);
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

// Calls work(part) for each direction of each share of the passages, by as many threads.
template <typename T, typename Work>
void divide(const Group& group, int64_t hidden, int64_t num_threads, const Work& work) {
  const int64_t num_shares =
      std::max<int64_t>(1, std::min(num_threads / 2, number_of_blocks(group.size, kRows)));
  const int64_t num_parts = 2 * num_shares;
  const int num_workers = static_cast<int>(std::min(num_threads, num_parts));
#pragma omp parallel for schedule(static, 1) num_threads(num_workers)
  for (int64_t number = 0; number < num_parts; ++number) {
    // Dealt out like cards, so that each share has long and short ones.
    const int64_t share = number / 2;
    const int64_t num_passages = (group.size - share + num_shares - 1) / num_shares;
    work(Part<T>{group, hidden, number % 2, share, num_shares, num_passages});
  }
}

// Zeros where there is padding.
template <typename T>
void clear_padding(T* tensor, const Group& group, int64_t size) {
  for (int64_t number = 0; number < group.size; ++number) {
    T* passage = tensor + group.passages[number] * group.padded_length * size;
    std::fill(passage + group.lengths[number] * size, passage + group.padded_length * size, T(0));
  }
}

template <typename T>
void run_forward(T* gates, const T* weights, const Additions<T>& additions, const Group& group, T* cells,
                 T* outputs, int64_t hidden, int64_t num_threads) {
  divide<T>(group, hidden, num_threads, [&](const Part<T>& part) {
    Forward<T>(part, weights, additions, gates, cells, outputs).run();
  });
  clear_padding(outputs, group, 2 * hidden);
}

template <typename T>
void run_backward(const T* gates, const T* weights, const Group& group, const T* cells,
                  const T* grad_outputs, T* grad_gates, int64_t hidden, int64_t num_threads) {
  divide<T>(group, hidden, num_threads, [&](const Part<T>& part) {
    Backward<T>(part, weights, gates, cells, grad_outputs, grad_gates).run();
  });
}

// A number that looks random, of another number and a seed.
INLINE uint32_t scramble(uint32_t number, uint32_t seed) {
  number += seed;
  number = (number ^ (number >> 16)) * 0x7feb352du;
  number = (number ^ (number >> 15)) * 0x846ca68bu;
  number = ((number ^ (number >> 16)) + seed) * 0x9e3779b1u;
  return number ^ (number >> 15);
}

// Dropout of the vectors of words. Each number is dropped or scaled by what its place and the seed say, so
// that the gradient need not be told what was dropped. All words of a text may have the same numbers dropped.
template <typename T>
struct Dropout {
  int64_t seed;
  uint32_t limit;  // of 2^32 numbers so many are dropped
  T scale;
  bool is_by_text;

  Dropout(int64_t seed, int64_t num_dropped, int64_t is_by_text)
      : seed(seed), limit(static_cast<uint32_t>(num_dropped)),
        scale(static_cast<T>(4294967296.0 / (4294967296.0 - num_dropped))), is_by_text(is_by_text != 0) {}

  // Words with the same number have the same factors.
  int64_t row(int64_t text, int64_t length, int64_t word) const {
    return is_by_text ? text : text * length + word;
  }

  // 0 or the scale for each of some numbers of a row.
  INLINE void factors(int64_t row, int64_t first_column, int32_t count, T* __restrict factors) const {
    const uint32_t seed_of_row =
        scramble(static_cast<uint32_t>(row), static_cast<uint32_t>(seed)) ^
        static_cast<uint32_t>(seed >> 32);
    const uint32_t first = static_cast<uint32_t>(first_column), limit = this->limit;
    const T scale = this->scale;
    for (int32_t place = 0; place < count; ++place) {
      factors[place] = scramble(first + place, seed_of_row) >= limit ? scale : T(0);
    }
  }
};

constexpr int64_t kChunk = 512;  // numbers of a row whose factors are made at a time

// Calls work(place, factor) for the numbers of a row. Without dropout all factors are 1.
template <typename T, typename Work>
INLINE void for_each_number(const Dropout<T>& dropout, int64_t row, int64_t first_column, int64_t size,
                            const Work& work) {
  if (dropout.limit == 0) {
    for (int64_t place = 0; place < size; ++place) work(place, T(1));
    return;
  }
  T factors[kChunk];
  for (int64_t begin = 0; begin < size; begin += kChunk) {
    const int64_t count = std::min(kChunk, size - begin);
    dropout.factors(row, first_column + begin, count, factors);
    for (int64_t place = 0; place < count; ++place) work(begin + place, factors[place]);
  }
}

// A matrix of vectors of words, which has some columns of a wider one. A passage has one vector for all of its
// words if their distance is zero.
template <typename T>
struct Columns {
  T* numbers;
  int64_t passage_distance, word_distance;  // of a vector and the next
  int64_t size, first_column;

  T* vector(int64_t passage, int64_t word) const {
    return numbers + passage * passage_distance + word * word_distance;
  }
};

// From padded to packed words, into rows with `width` columns.
template <typename T>
void run_gather(const Columns<const T>& part, T* packed, int64_t width, const Group& group,
                const Dropout<T>& dropout, int64_t num_threads) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(std::min(num_threads, group.size)))
  for (int64_t number = 0; number < group.size; ++number) {
    const int64_t passage = group.passages[number];
    for (int64_t word = 0; word < group.lengths[number]; ++word) {
      const T* from = part.vector(passage, word);
      T* to = packed + (group.starts[number] + word) * width + part.first_column;
      for_each_number(dropout, dropout.row(passage, group.padded_length, word), part.first_column, part.size,
                      [&](int64_t place, T factor) INLINE_LAMBDA { to[place] = from[place] * factor; });
    }
  }
}

// The gradient of that: from packed to padded words, with zeros at padding.
template <typename T>
void run_scatter(const Columns<T>& part, const T* packed, int64_t width, const Group& group,
                 const Dropout<T>& dropout, int64_t num_threads) {
  const bool is_summed = part.word_distance == 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(std::min(num_threads, group.size)))
  for (int64_t number = 0; number < group.size; ++number) {
    const int64_t passage = group.passages[number];
    const int64_t num_zeros = is_summed ? 1 : group.padded_length;
    for (int64_t word = is_summed ? 0 : group.lengths[number]; word < num_zeros; ++word) {
      std::fill_n(part.vector(passage, word), part.size, T(0));
    }
    for (int64_t word = 0; word < group.lengths[number]; ++word) {
      const T* from = packed + (group.starts[number] + word) * width + part.first_column;
      T* to = part.vector(passage, word);
      const int64_t row = dropout.row(passage, group.padded_length, word);
      if (is_summed) {
        for_each_number(dropout, row, part.first_column, part.size,
                        [&](int64_t place, T factor) INLINE_LAMBDA { to[place] += from[place] * factor; });
      } else {
        for_each_number(dropout, row, part.first_column, part.size,
                        [&](int64_t place, T factor) INLINE_LAMBDA { to[place] = from[place] * factor; });
      }
    }
  }
}

// Adds to the packed rows of the words of each passage `weights @ vectors`: sums of a few vectors that belong to
// the passage, with weights of which many may be zero.
template <typename T>
void run_add_mixtures(T* packed, int64_t width, const T* weights, const T* vectors, int64_t num_vectors,
                      const Group& group, int64_t num_threads) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(std::min(num_threads, group.size)))
  for (int64_t number = 0; number < group.size; ++number) {
    const int64_t passage = group.passages[number];
    for (int64_t word = 0; word < group.lengths[number]; ++word) {
      T* __restrict to = packed + (group.starts[number] + word) * width;
      const T* of_word = weights + (passage * group.padded_length + word) * num_vectors;
      for (int64_t index = 0; index < num_vectors; ++index) {
        const T weight = of_word[index];
        if (weight == T(0)) continue;
        const T* vector = vectors + (passage * num_vectors + index) * width;
        for (int64_t column = 0; column < width; ++column) to[column] += weight * vector[column];
      }
    }
  }
}

// The states that the words of a group come from, packed: those of the word before for the forward direction,
// and of the word after for the backward one. Zeros at the ends.
template <typename T>
void run_gather_states(const T* outputs, T* packed, int64_t first_column, int64_t width, const Group& group,
                       int64_t hidden) {
  for (int64_t number = 0; number < group.size; ++number) {
    const T* passage = outputs + group.passages[number] * group.padded_length * 2 * hidden;
    const int64_t length = group.lengths[number];
    for (int64_t word = 0; word < length; ++word) {
      T* to = packed + (group.starts[number] + word) * width + first_column;
      const T* of_word = passage + word * 2 * hidden;
      if (word > 0) std::copy_n(of_word - 2 * hidden, hidden, to);
      else std::fill_n(to, hidden, T(0));
      if (word + 1 < length) std::copy_n(of_word + 3 * hidden, hidden, to + hidden);
      else std::fill_n(to + hidden, hidden, T(0));
    }
  }
}

// The dot product of each word with a vector of weights, added to its score.
template <typename T>
void run_score(const Columns<const T>& part, const T* weights, T* scores, int64_t batch_size, int64_t length,
               const Dropout<T>& dropout, int64_t num_threads) {
#pragma omp parallel for num_threads(static_cast<int>(num_threads))
  for (int64_t row = 0; row < batch_size * length; ++row) {
    const T* vector = part.vector(row / length, row % length);
    // As many sums as a vector of the processor has numbers: they can be added up side by side.
    constexpr int64_t kSums = 4 * kLanes<T>;
    T sums[kSums] = {};
    T factors[kChunk];
    for (int64_t begin = 0; begin < part.size; begin += kChunk) {
      const int64_t count = std::min(kChunk, part.size - begin);
      if (dropout.limit == 0) std::fill_n(factors, count, T(1));
      else dropout.factors(dropout.row(row / length, length, row % length), part.first_column + begin, count, factors);
      int64_t place = 0;
      for (; place + kSums <= count; place += kSums) {
        for (int64_t lane = 0; lane < kSums; ++lane) {
          const int64_t column = begin + place + lane;
          sums[lane] += vector[column] * weights[column] * factors[place + lane];
        }
      }
      for (int64_t lane = 0; place + lane < count; ++lane) {
        const int64_t column = begin + place + lane;
        sums[lane] += vector[column] * weights[column] * factors[place + lane];
      }
    }
    scores[row] += std::accumulate(sums, sums + kSums, T(0));
  }
}

// Its gradient: d vector = d score * weights, d weights = the sum of d score * vector, where not dropped.
template <typename T>
void run_score_backward(const Columns<const T>& part, const T* weights, const T* grad_scores, T* grad_part,
                        T* grad_weights, int64_t batch_size, int64_t length, const Dropout<T>& dropout,
                        int64_t num_threads) {
  const int64_t num_rows = batch_size * length, num_shares = std::min(num_threads, num_rows);
  std::vector<std::vector<T>> sums(num_shares);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast<int>(num_shares))
  for (int64_t share = 0; share < num_shares; ++share) {
    sums[share].assign(part.size, T(0));
    T* sum = sums[share].data();
    for (int64_t row = num_rows * share / num_shares; row < num_rows * (share + 1) / num_shares; ++row) {
      const T* vector = part.vector(row / length, row % length);
      const T grad_score = grad_scores[row];
      T* grad = grad_part + row * part.size;
      for_each_number(dropout, dropout.row(row / length, length, row % length), part.first_column, part.size,
                      [&](int64_t place, T factor) INLINE_LAMBDA {
                        const T scaled = grad_score * factor;
                        grad[place] = scaled * weights[place];
                        sum[place] += scaled * vector[place];
                      });
    }
  }
  for (int64_t place = 0; place < part.size; ++place) {
    grad_weights[place] = T(0);
    for (const std::vector<T>& sum : sums) grad_weights[place] += sum[place];
  }
}

}  // namespace

// Shapes: gates, grad_gates (number of packed words, 2, 4, hidden); cells (number of packed words, 2, hidden);
// weights (2, 4, hidden, hidden); outputs, grad_outputs (batch_size, padded_length, 2, hidden);
// common (batch_size, 2, 4, hidden); shared (number of kinds, padded_length, 2, 4, hidden); kinds (batch_size,);
// packed (number of packed words, width); scores (batch_size, length). For mixtures: weights (batch_size,
// padded_length, number of vectors); vectors (batch_size, number of vectors, width).
//
// Forward, the gates' inputs become the gates, and cells may be null: then neither is of use afterwards.
#define GROUP                                                                              \
  const int64_t *passages, const int64_t *lengths, const int64_t *starts, int64_t num_passages, \
      int64_t padded_length
#define COLUMNS int64_t passage_distance, int64_t word_distance, int64_t size, int64_t first_column
#define DROPOUT int64_t seed, int64_t num_dropped, int64_t is_by_text, int64_t num_threads
#define DEFINE(T)                                                                                         \
  extern "C" void bilstm_forward_##T(T* gates, const T* weights, const T* common, const T* shared,        \
                                     const int64_t* kinds, T* cells, T* outputs, int64_t hidden, GROUP,   \
                                     int64_t num_threads) {                                               \
    run_forward<T>(gates, weights, {common, shared, kinds},                                               \
                   {passages, lengths, starts, num_passages, padded_length}, cells, outputs, hidden,      \
                   num_threads);                                                                          \
  }                                                                                                       \
  extern "C" void bilstm_backward_##T(const T* gates, const T* weights, const T* cells,                   \
                                      const T* grad_outputs, T* grad_gates, int64_t hidden, GROUP,        \
                                      int64_t num_threads) {                                              \
    run_backward<T>(gates, weights, {passages, lengths, starts, num_passages, padded_length}, cells,              \
                    grad_outputs, grad_gates, hidden, num_threads);                                       \
  }                                                                                                       \
  extern "C" void gather_##T(const T* part, T* packed, int64_t width, COLUMNS, GROUP, DROPOUT) {          \
    run_gather<T>({part, passage_distance, word_distance, size, first_column}, packed, width,             \
                  {passages, lengths, starts, num_passages, padded_length}, {seed, num_dropped, is_by_text}, num_threads);    \
  }                                                                                                       \
  extern "C" void scatter_##T(T* part, const T* packed, int64_t width, COLUMNS, GROUP, DROPOUT) {         \
    run_scatter<T>({part, passage_distance, word_distance, size, first_column}, packed, width,            \
                   {passages, lengths, starts, num_passages, padded_length}, {seed, num_dropped, is_by_text}, num_threads);   \
  }                                                                                                       \
  extern "C" void add_mixtures_##T(T* packed, int64_t width, const T* weights, const T* vectors,          \
                                   int64_t num_vectors, GROUP, int64_t num_threads) {                     \
    run_add_mixtures<T>(packed, width, weights, vectors, num_vectors,                                     \
                        {passages, lengths, starts, num_passages, padded_length}, num_threads);           \
  }                                                                                                       \
  extern "C" void gather_states_##T(const T* outputs, T* packed, int64_t first_column, int64_t width,     \
                                    int64_t hidden, GROUP, int64_t num_threads) {                         \
    run_gather_states<T>(outputs, packed, first_column, width,                                            \
                         {passages, lengths, starts, num_passages, padded_length}, hidden);                       \
  }                                                                                                       \
  extern "C" void score_##T(const T* part, const T* weights, T* scores, COLUMNS, int64_t batch_size,      \
                            int64_t length, DROPOUT) {                                                    \
    run_score<T>({part, passage_distance, word_distance, size, first_column}, weights, scores,            \
                 batch_size, length, {seed, num_dropped, is_by_text}, num_threads);                                   \
  }                                                                                                       \
  extern "C" void score_backward_##T(const T* part, const T* weights, const T* grad_scores,               \
                                     T* grad_part, T* grad_weights, COLUMNS, int64_t batch_size,          \
                                     int64_t length, DROPOUT) {                                           \
    run_score_backward<T>({part, passage_distance, word_distance, size, first_column}, weights,           \
                          grad_scores, grad_part, grad_weights, batch_size, length,                       \
                          {seed, num_dropped, is_by_text}, num_threads);                                              \
  }
DEFINE(float)
DEFINE(double)

// C++ that needs no library.
namespace {
template <int N>
struct Thing {
  constexpr int get() const { return N; }
};
}  // namespace
extern "C" int more(void) { return Thing<2>().get(); }

// The C++ half of harness.h: hands the C tests to GoogleTest.
#include "tests/harness.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

struct Case {
  std::string suite, name;
  const char *file;
  int line;
  std::function<void()> body;
};

// Constructors of C files run before main in no fixed order, so the list makes itself on first use.
std::vector<Case> &cases() {
  static std::vector<Case> list;
  return list;
}

class CTest : public ::testing::Test {
public:
  explicit CTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

private:
  std::function<void()> body_;
};

std::string &scratch() {
  static std::string path;
  return path;
}

} // namespace

extern "C" void tg_test_register(const char *suite, const char *name, const char *file, int line,
                                 void (*body)(void)) {
  cases().push_back({suite, name, file, line, body});
}

extern "C" void tg_test_register_row(const char *suite, const char *name, const char *file, int line,
                                     void (*body)(const void *), const void *row) {
  cases().push_back({suite, name, file, line, [=] { body(row); }});
}

extern "C" void tg_test_fail(const char *file, int line, const char *format, ...) {
  char text[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ADD_FAILURE_AT(file, line) << text;
}

extern "C" void tg_test_skip(const char *file, int line, const char *reason) {
  GTEST_MESSAGE_AT_(file, line, reason, ::testing::TestPartResult::kSkip);
}

extern "C" const char *tg_test_dir(void) {
  if (scratch().empty()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    scratch() = pattern;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(scratch(), ignored);
    });
  }
  return scratch().c_str();
}

extern "C" const char *tg_test_data(void) { return TEGULA_TEST_DATA; }

extern "C" const char *tg_test_shared(void) {
  static const std::string path = [] {
    const char *root = std::getenv("TEGULA_SHARED");
    std::error_code error;
    std::filesystem::path absolute = std::filesystem::canonical(root ? root : "../shared", error);
    return error ? std::string() : absolute.string();
  }();
  return path.empty() ? nullptr : path.c_str();
}

extern "C" bool tg_test_takes(size_t number, size_t share) {
  static const bool every = std::getenv("TEGULA_EVERY_VARIANT") != nullptr;
#ifdef TEGULA_SANITIZED
  share *= 3;
#endif
  return every || number % share == 0;
}

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const Case &c : cases())
    ::testing::RegisterTest(c.suite.c_str(), c.name.c_str(), nullptr, nullptr, c.file, c.line,
                            [body = c.body]() -> ::testing::Test * { return new CTest(body); });
  return RUN_ALL_TESTS();
}

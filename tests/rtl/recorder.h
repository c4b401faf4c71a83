/* What goes through a model's ports, written down for another simulator (icarus.py).
 *
 * Where TEGULA_RTL_RECORD names a folder, each model of which it is asked writes NAME.N.hex there, N from 0 on: a
 * line an evaluation, in hex: 1 if a clock edge follows, else 0, and the ports in the order of NAME.ports, highest
 * digit first. A line of NAME.ports is "in" or "out", the port and its digits. The first kRecorded lines are. */
#ifndef TEGULA_TESTS_RTL_RECORDER_H
#define TEGULA_TESTS_RTL_RECORDER_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <verilated.h>

class Recorder {
public:
  explicit Recorder(const char *model) : name_(model) {
    static std::map<std::string, int> models;
    const char *folder = std::getenv("TEGULA_RTL_RECORD");
    if (!folder) return;
    stem_ = std::string(folder) + "/" + name_;
    file_ = open(stem_ + "." + std::to_string(models[name_]++) + ".hex");
  }
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;
  ~Recorder() {
    flush();
    if (file_ && std::fclose(file_)) fail(stem_);
  }

  /* Begins a line; false: nothing is to be written down. */
  bool begin() {
    flush();
    pending_ = file_ && lines_ < kRecorded;
    clock_ = false;
    return pending_;
  }
  void clock() { clock_ = true; }
  template <typename Port, typename Value> void in(const char *name, Port &port, Value) {
    add("in", name, port);
  }
  template <typename Port, typename Pin> void out(const char *name, Port &port, Pin &&) {
    add("out", name, port);
  }

private:
  static constexpr int kRecorded = 2000;

  static void fail(const std::string &path) {
    std::perror(path.c_str());
    std::exit(2);
  }
  static FILE *open(const std::string &path) {
    FILE *file = std::fopen(path.c_str(), "w");
    if (!file) fail(path);
    return file;
  }
  void digits(uint64_t value, int count) {
    char text[17];
    std::snprintf(text, sizeof text, "%0*llx", count, (unsigned long long)value);
    line_ += text;
  }
  void note(const char *way, const char *name, std::size_t count) {
    if (!lines_) header_ += std::string(way) + " " + name + " " + std::to_string(count) + "\n";
  }
  template <typename Port> void add(const char *way, const char *name, const Port &port) {
    digits(port, 2 * sizeof port);
    note(way, name, 2 * sizeof port);
  }
  template <std::size_t N> void add(const char *way, const char *name, const VlWide<N> &port) {
    for (std::size_t i = N; i--;) digits(port[i], 8);
    note(way, name, 8 * N);
  }
  void flush() {
    if (!pending_) return;
    if (!lines_++) {
      FILE *header = open(stem_ + ".ports");
      if (std::fputs(header_.c_str(), header) < 0 || std::fclose(header)) fail(stem_);
    }
    if (std::fprintf(file_, "%d%s\n", clock_, line_.c_str()) < 0) fail(stem_);
    line_.clear();
    pending_ = false;
  }

  std::string name_, stem_, header_, line_;
  FILE *file_ = nullptr;
  int lines_ = 0;
  bool pending_ = false, clock_ = false;
};

#endif

// Plays lists of flows in SimGrid and tells when each of them ended.
//
//   flows FILE [SimGrid's own options] >ENDS
//   flows --version
//
// FILE holds cases, one after another; each is
//
//   case NAME
//   links N           then N numbers: bytes per second
//   paths N           then N lines: how many links, their numbers
//   changes N         then N lines: second, link, its bytes per second from then on
//   flows N ALIVE     then N lines: start, path, bytes, cap (0: none)
//
// With ALIVE 0 each flow starts at its own second. Otherwise the starts do not count: the first ALIVE start at 0, each end starts
// the next of the list, and all is over when the last has started, so that there are ALIVE flows all the time. For each case
// the output has a line "case NAME ENDED CPU SETUP" (flows that ended; seconds of processor time for the simulation and for
// what comes before it) and then the second at which each flow ended, in the order of the list, -1 where it did not.
//
// SimGrid knows hosts and routes, not paths: path number p becomes the route between the p-th pair of hosts. Hosts are only
// names here; they bound nothing. SimGrid has one engine in a process, so each case gets a process of its own.

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

struct Flow {
  double start;
  size_t path;
  uint64_t bytes;
  double cap;
};

struct Change {
  double at;
  size_t link;
  double capacity;
};

struct Case {
  std::string name;
  std::vector<double> links;
  std::vector<std::vector<size_t>> paths;
  std::vector<Change> changes;
  std::vector<Flow> flows;
  size_t alive = 0;
};

[[noreturn]] void fail(const std::string& why)
{
  fprintf(stderr, "flows: %s\n", why.c_str());
  exit(1);
}

void must(bool holds, const char* what)
{
  if (not holds)
    fail(std::string("the file is broken at ") + what);
}

// own_links gives each flow with a cap a link of its own with that capacity: SimGrid 3.32 knows rates only for messages between
// actors (it drops set_rate for a sendto), and for max-min the two are the same.
void own_links(Case& c)
{
  for (Flow& f : c.flows) {
    if (f.cap <= 0)
      continue;
    c.paths.push_back(c.paths[f.path]);
    c.paths.back().push_back(c.links.size());
    c.links.push_back(f.cap);
    f.path = c.paths.size() - 1;
  }
}

bool read_case(FILE* in, Case& c)
{
  char name[256];
  if (fscanf(in, " case %255s", name) != 1)
    return false;
  c.name = name;
  size_t n;
  must(fscanf(in, " links %zu", &n) == 1, "links");
  c.links.resize(n);
  for (double& l : c.links)
    must(fscanf(in, "%lf", &l) == 1, "a link");
  must(fscanf(in, " paths %zu", &n) == 1, "paths");
  c.paths.resize(n);
  for (auto& p : c.paths) {
    must(fscanf(in, "%zu", &n) == 1, "a path");
    p.resize(n);
    for (size_t& l : p)
      must(fscanf(in, "%zu", &l) == 1 && l < c.links.size(), "a path's link");
  }
  must(fscanf(in, " changes %zu", &n) == 1, "changes");
  c.changes.resize(n);
  for (Change& x : c.changes)
    must(fscanf(in, "%lf %zu %lf", &x.at, &x.link, &x.capacity) == 3 && x.link < c.links.size(), "a change");
  must(fscanf(in, " flows %zu %zu", &n, &c.alive) == 2, "flows");
  c.flows.resize(n);
  for (Flow& f : c.flows)
    must(fscanf(in, "%lf %zu %lu %lf", &f.start, &f.path, &f.bytes, &f.cap) == 4 && f.path < c.paths.size(), "a flow");
  own_links(c);
  return true;
}

double cpu()
{
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Play is one case in SimGrid's engine.
class Play {
  const Case& c_;
  std::vector<s4u::Link*> links_;
  std::vector<s4u::Host*> from_, to_; // by path
  std::vector<s4u::CommPtr> comms_;   // by flow
  size_t next_ = 0;
  double setup_ = 0, began_ = 0;

  void build()
  {
    size_t hosts = 2;
    while (hosts * (hosts - 1) < c_.paths.size())
      hosts++;
    s4u::NetZone* zone = s4u::create_full_zone("all");
    std::vector<s4u::Host*> host;
    for (size_t i = 0; i < hosts; i++)
      host.push_back(zone->create_host("h" + std::to_string(i), 1e9)->seal());
    for (size_t i = 0; i < c_.links.size(); i++)
      links_.push_back(zone->create_link("l" + std::to_string(i), c_.links[i])->set_latency(0)->seal());
    for (size_t p = 0; p < c_.paths.size(); p++) {
      size_t i = p / (hosts - 1), j = p % (hosts - 1);
      j += j >= i;
      std::vector<s4u::LinkInRoute> route;
      for (size_t l : c_.paths[p])
        route.emplace_back(links_[l]);
      zone->add_route(host[i]->get_netpoint(), host[j]->get_netpoint(), nullptr, nullptr, route, false);
      from_.push_back(host[i]);
      to_.push_back(host[j]);
    }
    zone->seal();
  }

  void start_next()
  {
    const Flow& f  = c_.flows[next_];
    comms_[next_++] = s4u::Comm::sendto_async(from_[f.path], to_[f.path], f.bytes);
  }

  static void sleep_until(double at)
  {
    if (at > s4u::Engine::get_clock())
      s4u::this_actor::sleep_until(at);
  }

  // by_the_clock lets actors start the flows and change the links.
  void by_the_clock()
  {
    s4u::Actor::create("starts", from_[0], [this]() {
      while (next_ < c_.flows.size()) {
        sleep_until(c_.flows[next_].start);
        start_next();
      }
    });
    if (c_.changes.empty())
      return;
    s4u::Actor::create("changes", from_[0], [this]() {
      for (const Change& x : c_.changes) {
        sleep_until(x.at);
        links_[x.link]->set_bandwidth(x.capacity);
      }
    });
  }

  // keep_alive starts the first flows; each end starts one more. There are no actors: nothing but the network takes time.
  void keep_alive()
  {
    s4u::Activity::on_completion_cb([this](s4u::Activity const&) {
      start_next();
      if (next_ == c_.flows.size())
        tell();
    });
    while (next_ < c_.alive)
      start_next();
  }

  // tell ends the process. The engine's own way out takes its time over thousands of routes.
  [[noreturn]] void tell()
  {
    const double took = cpu() - began_;
    size_t ended      = 0;
    for (const s4u::CommPtr& one : comms_)
      ended += one->get_finish_time() >= 0;
    printf("case %s %zu %.6f %.6f\n", c_.name.c_str(), ended, took, setup_);
    for (const s4u::CommPtr& one : comms_)
      printf("%.17g\n", one->get_finish_time());
    fflush(stdout);
    _exit(0);
  }

public:
  explicit Play(const Case& c) : c_(c), comms_(c.flows.size()) {}

  [[noreturn]] void run(int argc, char** argv)
  {
    const double zero = cpu();
    s4u::Engine engine(&argc, argv);
    build();
    began_ = cpu();
    setup_ = began_ - zero;
    if (c_.alive > 0)
      keep_alive();
    else
      by_the_clock();
    engine.run();
    tell();
  }
};

} // namespace

int main(int argc, char** argv)
{
  if (argc < 2)
    fail("usage: flows FILE [options]");
  if (std::string(argv[1]) == "--version") {
    int major, minor, patch;
    sg_version_get(&major, &minor, &patch);
    printf("%d.%d\n", major, minor);
    return 0;
  }
  FILE* in = fopen(argv[1], "r");
  if (in == nullptr)
    fail(std::string("cannot read ") + argv[1]);
  for (;;) {
    Case c;
    if (not read_case(in, c))
      break;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
      fail("no process for " + c.name);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL); // it must not outlive a run that is broken off
      Play(c).run(argc, argv);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      fail("SimGrid did not get through " + c.name);
  }
  return 0;
}

// Plays a shuffle in ns-3: packets, queues that drop, TCP.
//
//   shuffle FILE >ENDS
//
// FILE holds one shuffle:
//
//   nodes N racks R copiers C
//   node BITS uplink BITS       per second, each way; one rack has no uplink
//   queue PACKETS               of each port of a switch
//   limit SECONDS               simulated; what has not ended by then is told as -1
//   flows N                     then N lines: from, to, bytes
//
// With C 0 all flows start at 0. Otherwise each receiver has C flows at a time, in the order of the list. The output is a line
// "shuffle EVENTS DROPS" and then for each flow: start, end (its last byte was handed to the receiver), timeouts (its sender waited
// for a retransmission timer), recoveries (its sender repaired a loss from duplicate acknowledgements).
//
// A switch is a node that forwards. Links are point to point, with a frame of 1502 bytes for a segment of 1448; Ethernet takes
// 1538 for it on the wire, so the rates are lowered by that ratio.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

using namespace ns3;

namespace {

const uint32_t segment = 1448;
const double wire      = 1502.0 / 1538.0;

struct Flow {
  int from, to;
  uint64_t bytes;
  double start = -1, end = -1;
  uint64_t put = 0, got = 0;
  Ptr<Socket> socket;
  int timeouts = 0, recoveries = 0;
};

[[noreturn]] void fail(const char* why)
{
  fprintf(stderr, "shuffle: %s\n", why);
  exit(1);
}

struct Shuffle {
  int nodes, racks, copiers, queue;
  double node, uplink, limit;
  std::vector<Flow> flows;
  std::vector<std::deque<size_t>> waiting; // by receiver
  std::vector<Ipv4Address> address;        // by node
  NodeContainer hosts;
  size_t open    = 0;
  uint64_t drops = 0;

  void read(FILE* in)
  {
    size_t n;
    if (fscanf(in, " nodes %d racks %d copiers %d node %lf uplink %lf queue %d limit %lf flows %zu", &nodes, &racks, &copiers,
               &node, &uplink, &queue, &limit, &n) != 8)
      fail("the file's head is broken");
    flows.resize(n);
    for (Flow& f : flows)
      if (fscanf(in, "%d %d %lu", &f.from, &f.to, &f.bytes) != 3 || f.from >= nodes || f.to >= nodes)
        fail("a flow is broken");
    open = n;
  }

  void dropped(Ptr<const Packet>) { drops++; }

  // join links two nodes and answers the first one's address. The first one's queue is that of a host or of a switch.
  Ipv4Address join(Ptr<Node> a, Ptr<Node> b, double bits, int queue_a, Ipv4AddressHelper& space)
  {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(bits * wire))));
    link.SetChannelAttribute("Delay", StringValue("5us"));
    NetDeviceContainer both = link.Install(a, b);
    const int packets[]     = {queue_a, queue};
    for (int i = 0; i < 2; i++) {
      auto device = DynamicCast<PointToPointNetDevice>(both.Get(i));
      auto q      = CreateObject<DropTailQueue<Packet>>();
      q->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets[i]));
      q->TraceConnectWithoutContext("Drop", MakeCallback(&Shuffle::dropped, this));
      device->SetQueue(q);
    }
    Ipv4InterfaceContainer at = space.Assign(both);
    space.NewNetwork();
    TrafficControlHelper().Uninstall(both); // one queue a port, and it is the device's
    return at.GetAddress(0);
  }

  void build()
  {
    const int host_queue = 1000; // as Linux has it
    InternetStackHelper stack;
    NodeContainer switches;
    hosts.Create(nodes);
    switches.Create(racks);
    stack.Install(hosts);
    stack.Install(switches);
    Ipv4AddressHelper space("10.0.0.0", "255.255.255.252");
    for (int i = 0; i < nodes; i++)
      address.push_back(join(hosts.Get(i), switches.Get(i / (nodes / racks)), node, host_queue, space));
    if (racks > 1) {
      Ptr<Node> core = CreateObject<Node>();
      stack.Install(core);
      for (int r = 0; r < racks; r++)
        join(switches.Get(r), core, uplink, queue, space);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  }

  void state(size_t i, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
  {
    flows[i].timeouts += now == TcpSocketState::CA_LOSS;
    flows[i].recoveries += now == TcpSocketState::CA_RECOVERY;
  }

  void received(size_t i, Ptr<const Packet> p, const Address&)
  {
    Flow& f = flows[i];
    f.got += p->GetSize();
    if (f.got < f.bytes)
      return;
    f.end = Simulator::Now().GetSeconds();
    if (--open == 0)
      Simulator::Stop();
    start_next(f.to);
  }

  static void on_state(Shuffle* s, size_t i, TcpSocketState::TcpCongState_t a, TcpSocketState::TcpCongState_t b) { s->state(i, a, b); }
  static void on_received(Shuffle* s, size_t i, Ptr<const Packet> p, const Address& a) { s->received(i, p, a); }

  void start(size_t i)
  {
    Flow& f = flows[i];
    f.start = Simulator::Now().GetSeconds();
    const InetSocketAddress to(address[f.to], 10000 + i);
    auto sink = CreateObject<PacketSink>();
    sink->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
    sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), 10000 + i)));
    sink->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Shuffle::on_received, this, i));
    hosts.Get(f.to)->AddApplication(sink);
    // The socket stays open: it has nothing to do but send.
    f.socket = Socket::CreateSocket(hosts.Get(f.from), TcpSocketFactory::GetTypeId());
    f.socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&Shuffle::on_state, this, i));
    f.socket->SetConnectCallback(MakeBoundCallback(&Shuffle::on_connected, this, i), MakeNullCallback<void, Ptr<Socket>>());
    f.socket->SetSendCallback(MakeBoundCallback(&Shuffle::on_room, this, i));
    Simulator::Schedule(NanoSeconds(1), &Shuffle::connect, this, i, to); // when the receiver listens
  }

  void connect(size_t i, InetSocketAddress to)
  {
    if (flows[i].socket->Bind() != 0 || flows[i].socket->Connect(to) != 0)
      fail("a socket cannot be had");
  }
  static void on_connected(Shuffle* s, size_t i, Ptr<Socket>) { s->feed(i); }
  static void on_room(Shuffle* s, size_t i, Ptr<Socket>, uint32_t) { s->feed(i); }

  // feed puts into the socket what it takes.
  void feed(size_t i)
  {
    Flow& f = flows[i];
    while (f.put < f.bytes) {
      const uint64_t n = std::min<uint64_t>(f.bytes - f.put, std::min<uint32_t>(f.socket->GetTxAvailable(), 64 * segment));
      if (n == 0)
        return;
      const int took = f.socket->Send(Create<Packet>(n));
      if (took <= 0)
        return;
      f.put += took;
    }
  }

  void start_next(int receiver)
  {
    if (waiting[receiver].empty())
      return;
    const size_t i = waiting[receiver].front();
    waiting[receiver].pop_front();
    start(i);
  }

  void begin()
  {
    waiting.resize(nodes);
    for (size_t i = 0; i < flows.size(); i++)
      waiting[flows[i].to].push_back(i);
    for (int r = 0; r < nodes; r++)
      for (size_t k = copiers > 0 ? copiers : waiting[r].size(); k > 0; k--)
        start_next(r);
  }
};

} // namespace

int main(int argc, char** argv)
{
  FILE* in = argc == 2 ? fopen(argv[1], "r") : nullptr;
  if (in == nullptr)
    fail("usage: shuffle FILE");
  Shuffle s;
  s.read(in);
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(512 << 10));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(512 << 10));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
  // An acknowledgement that waits as long as the shortest timer would set it off at each segment.
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
  s.build();
  Simulator::Schedule(Seconds(0), &Shuffle::begin, &s);
  Simulator::Stop(Seconds(s.limit));
  Simulator::Run();
  printf("shuffle %lu %lu\n", Simulator::GetEventCount(), s.drops);
  for (const Flow& f : s.flows)
    printf("%.9f %.9f %d %d\n", f.start, f.end, f.timeouts, f.recoveries);
  return 0;
}

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.io.*;
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.*;
import org.apache.hadoop.yarn.server.resourcemanager.*;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.*;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.*;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.*;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.*;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.*;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.*;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.*;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/**
 * Plays the calls of a folder's script (see replay_test.go) to the CapacityScheduler of the Hadoop on the class path, without
 * its threads and with a clock that only the script moves, and writes the answers to hadoop.log:
 *
 *   go test -run TestRecord -record DIR -seed N
 *   mkdir OUT; echo '<configuration/>' > OUT/capacity-scheduler.xml; javac -cp 'LIB/*' -d OUT Recorder.java
 *   java -XX:+UnlockExperimentalVMOptions -XX:hashCode=2 -cp 'OUT:LIB/*' org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.Recorder DIR...
 *
 * It is in Hadoop's package because much of what it asks for is visible only there. The ports of the nodes are chosen so that
 * a hash map of them has the order of their numbers: which of several reservations goes first depends on it. The option of the
 * virtual machine makes sets of objects without a hash of their own keep the order of entry; else preemption among equally
 * needy queues would differ from run to run.
 */
public class Recorder {
  static class Hand implements org.apache.hadoop.yarn.util.Clock { long t; public long getTime() { return t; } }
  static class Direct implements Dispatcher, EventHandler<Event> {
    public EventHandler getEventHandler() { return this; }
    public void register(Class<? extends Enum> type, EventHandler handler) { }
    public void handle(Event e) {
      if (!(e instanceof ContainerPreemptEvent)) return;
      ContainerPreemptEvent p = (ContainerPreemptEvent) e;
      RMContainer c = p.getContainer();
      // Reservations are among the marked; they are given up at once.
      if (numbers.containsKey(c.getContainerId())) switch (p.getType()) {
      case MARK_CONTAINER_FOR_PREEMPTION: events.add("mark:" + numbers.get(c.getContainerId())); break;
      case MARK_CONTAINER_FOR_KILLABLE: events.add("kill:" + numbers.get(c.getContainerId())); break;
      default:
      }
      later.add(p); // the monitor holds locks while it looks
    }
  }
  static CapacityScheduler cs; static ResourceManager rm; static RMContextImpl ctx; static PrintStream out; static String line;
  static Map<String, ApplicationAttemptId> apps; static Map<ApplicationId, String> names; static Map<Integer, RMNodeImpl> nodes;
  static Map<String, Container> AMs; static Set<String> managed, served;
  static List<ContainerId> containers; static Map<ContainerId, Integer> numbers; static Map<ContainerId, Integer> at;
  static List<ContainerPreemptEvent> later = new ArrayList<>();
  static List<String> events = new ArrayList<>();

  public static void main(String[] a) throws Exception {
    try {
      DefaultMetricsSystem.setMiniClusterMode(true);
      YarnConfiguration conf = new YarnConfiguration();
      conf.set(YarnConfiguration.RM_SCHEDULER, CapacityScheduler.class.getName());
      conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
      conf.set("yarn.scheduler.capacity.root.queues", "default");
      conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
      org.apache.hadoop.security.SecurityUtil.setTokenServiceUseIp(false);
      rm = new ResourceManager();
      rm.init(conf);
      ctx = (RMContextImpl) rm.getRMContext();
      ctx.getContainerTokenSecretManager().rollMasterKey();
      ctx.getNMTokenSecretManager().rollMasterKey();
      Method set = RMContextImpl.class.getDeclaredMethod("setDispatcher", Dispatcher.class);
      set.setAccessible(true);
      set.invoke(ctx, new Direct());
      for (String dir : a) {
        try { run(dir); } catch (Throwable e) { System.out.println(dir + " " + line); e.printStackTrace(); }
        if (out != null) out.close();
      }
      System.out.flush();
      Runtime.getRuntime().halt(0);
    } catch (Throwable e) { e.printStackTrace(); Runtime.getRuntime().halt(1); }
  }

  static void run(String dir) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    for (String l : Files.readAllLines(Paths.get(dir, "conf"))) if (l.contains("=")) conf.set(l.substring(0, l.indexOf('=')), l.substring(l.indexOf('=') + 1));
    conf.set(YarnConfiguration.RM_SCHEDULER, CapacityScheduler.class.getName());
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
    org.apache.hadoop.yarn.util.resource.ResourceUtils.resetResourceTypes(conf);
    QueueMetrics.clearQueueMetrics();
    ctx.getRMApps().clear();
    RMNodeLabelsManager labels = new RMNodeLabelsManager();
    labels.init(conf);
    ctx.setNodeLabelManager(labels);
    ctx.setYarnConfiguration(conf);
    cs = new CapacityScheduler();
    cs.setConf(conf);
    cs.setRMContext(ctx);
    ctx.setScheduler(cs);
    cs.init(conf);
    Hand clock = new Hand();
    ProportionalCapacityPreemptionPolicy monitor = new ProportionalCapacityPreemptionPolicy(ctx, cs, clock);
    monitor.init(conf, ctx, cs);
    apps = new LinkedHashMap<>(); names = new HashMap<>(); nodes = new TreeMap<>(); AMs = new HashMap<>(); managed = new HashSet<>(); served = new HashSet<>();
    containers = new ArrayList<>(); numbers = new HashMap<>(); at = new HashMap<>(); events.clear();
    containers.add(null);
    out = new PrintStream(new BufferedOutputStream(new FileOutputStream(new File(dir, "hadoop.log"))));
    int seq = 0;
    for (String l : Files.readAllLines(Paths.get(dir, "script"))) {
      line = l;
      String[] f = line.split(" ");
      switch (f[0]) {
      case "time": clock.t = Long.parseLong(f[1]); break;
      case "node": {
        int i = Integer.parseInt(f[1]); String h = "n" + i;
        int port = 1234;
        for (;; port++) { int x = NodeId.newInstance(h, port).hashCode(); if (((x ^ x >>> 16) & 15) == i) break; }
        RMNodeImpl n = new RMNodeImpl(NodeId.newInstance(h, port), ctx, h, 1234, 80, new NodeBase(h, "/r" + f[2]),
            Resource.newInstance(Long.parseLong(f[3]), Integer.parseInt(f[4])), "3.4.2") {
          @Override public NodeState getState() { return NodeState.RUNNING; }
        };
        nodes.put(i, n);
        ctx.getRMNodes().put(n.getNodeID(), n);
        cs.handle(new NodeAddedSchedulerEvent(n));
        break; }
      case "drop": {
        RMNodeImpl n = nodes.remove(Integer.parseInt(f[1]));
        cs.handle(new NodeRemovedSchedulerEvent(n));
        ctx.getRMNodes().remove(n.getNodeID());
        break; }
      case "add": add(f, ++seq); break;
      case "ask": {
        List<ResourceRequest> rr = new ArrayList<>();
        for (int k = 2; k < f.length; k++) {
          String[] g = f[k].split(":");
          String place = g[1].startsWith("r") ? "/" + g[1] : g[1];
          rr.add(ResourceRequest.newInstance(Priority.newInstance(Integer.parseInt(g[0])), place,
              Resource.newInstance(Long.parseLong(g[3]), Integer.parseInt(g[4])), Integer.parseInt(g[2])));
        }
        out.println("ask " + f[1] + " " + call(f[1], rr, new ArrayList<>()));
        break; }
      case "release": {
        List<ContainerId> ids = new ArrayList<>();
        for (int k = 2; k < f.length; k++) ids.add(containers.get(Integer.parseInt(f[k])));
        out.println("release " + f[1] + " " + call(f[1], new ArrayList<>(), ids));
        break; }
      case "remove":
        cs.handle(new AppAttemptRemovedSchedulerEvent(apps.get(f[1]), RMAppAttemptState.FINISHED, false));
        cs.handle(new AppRemovedSchedulerEvent(apps.get(f[1]).getApplicationId(), RMAppState.FINISHED));
        ctx.getRMApps().remove(apps.get(f[1]).getApplicationId());
        apps.remove(f[1]);
        break;
      case "beat": beat(f); break;
      case "round":
        monitor.editSchedule();
        for (ContainerPreemptEvent e : later) cs.handle(e);
        later.clear();
        Collections.sort(events);
        out.println("round " + String.join(" ", events));
        events.clear();
        break;
      case "state": state(cs.getRootQueue()); break;
      case "limits": limits(cs.getRootQueue()); break;
      default: throw new IOException(line);
      }
    }
    for (RMNodeImpl n : nodes.values()) { cs.handle(new NodeRemovedSchedulerEvent(n)); ctx.getRMNodes().remove(n.getNodeID()); }
  }

  /** add ID QUEUE USER PRIORITY MEM VCORES: an application and the size of its AM; 0 0: it has none. */
  static void add(String[] f, int seq) throws Exception {
    Thread.sleep(2); // a fair leaf goes by the time of submission where use is equal: no two must have the same
    ApplicationId id = ApplicationId.newInstance(1, seq);
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
    boolean unmanaged = f[5].equals("0");
    Resource size = unmanaged ? Resource.newInstance(0, 0) : cs.getNormalizedResource(Resource.newInstance(Long.parseLong(f[5]), Integer.parseInt(f[6])), cs.getMaximumResourceCapability());
    ApplicationSubmissionContext asc = ApplicationSubmissionContext.newInstance(id, f[1], f[2], Priority.newInstance(Integer.parseInt(f[4])),
        null, unmanaged, false, 1, size);
    asc.setUnmanagedAM(unmanaged);
    List<ResourceRequest> AM = new ArrayList<>();
    if (!unmanaged) { managed.add(f[1]); AM.add(ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, size, 1)); }
    RMAppAttemptMetrics metrics = new RMAppAttemptMetrics(attempt, ctx);
    Object att = proxy(RMAppAttempt.class, (m, args) -> {
      switch (m) {
      case "getAppAttemptId": return attempt;
      case "getRMAppAttemptMetrics": return metrics;
      case "getMasterContainer": return AMs.get(f[1]);
      case "getSubmissionContext": return asc;
      }
      return Recorder.class;
    });
    RMApp app = (RMApp) proxy(RMApp.class, (m, args) -> {
      switch (m) {
      case "getApplicationSubmissionContext": return asc;
      case "getApplicationId": return id;
      case "getUser": return f[3];
      case "getQueue": return f[2];
      case "getAMResourceRequests": return AM;
      case "getCurrentAppAttempt": return att;
      case "getApplicationPriority": return Priority.newInstance(Integer.parseInt(f[4]));
      case "hashCode": return id.hashCode();
      case "toString": return "app " + id;
      }
      return Recorder.class;
    });
    ctx.getRMApps().put(id, app);
    apps.put(f[1], attempt); names.put(id, f[1]);
    Priority p = cs.checkAndGetApplicationPriority(Priority.newInstance(Integer.parseInt(f[4])), UserGroupInformation.createRemoteUser(f[3]), f[2], id);
    cs.handle(new AppAddedSchedulerEvent(id, f[2], f[3], false, null, p, new ApplicationPlacementContext(f[2])));
    cs.handle(new AppAttemptAddedSchedulerEvent(attempt, false));
    if (cs.getApplicationAttempt(attempt) == null) { apps.remove(f[1]); out.println("refused " + f[1]); }
  }

  interface Call { Object of(String method, Object[] args); }
  static Object proxy(Class<?> c, Call call) {
    return Proxy.newProxyInstance(Recorder.class.getClassLoader(), new Class[]{c}, (p, m, args) -> {
      if (m.getName().equals("equals")) return p == args[0];
      Object v = call.of(m.getName(), args);
      if (v != Recorder.class) return v;
      Class<?> r = m.getReturnType();
      if (r == Map.class) return new HashMap<>();
      if (r == Set.class) return new HashSet<>();
      if (r == boolean.class) return false;
      if (r == int.class) return 0;
      if (r == long.class) return 0L;
      if (r == float.class) return 0f;
      return null;
    });
  }

  /** beat I [L:K,K] [E:K,K]: a node reports that containers were launched and ended, and is served. */
  @SuppressWarnings("unchecked")
  static void beat(String[] f) throws Exception {
    int i = Integer.parseInt(f[1]);
    List<ContainerStatus> launched = new ArrayList<>(), ended = new ArrayList<>();
    for (int k = 2; k < f.length; k++)
      for (String n : f[k].substring(2).split(",")) {
        ContainerId c = containers.get(Integer.parseInt(n));
        if (f[k].startsWith("L")) launched.add(BuilderUtils.newContainerStatus(c, ContainerState.RUNNING, "", 0, Resource.newInstance(0, 0)));
        else ended.add(BuilderUtils.newContainerStatus(c, ContainerState.COMPLETE, "", 0, Resource.newInstance(0, 0)));
      }
    Field q = RMNodeImpl.class.getDeclaredField("nodeUpdateQueue");
    q.setAccessible(true);
    ((ConcurrentLinkedQueue<UpdatedContainerInfo>) q.get(nodes.get(i))).add(new UpdatedContainerInfo(launched, ended, new ArrayList<>()));
    cs.handle(new NodeUpdateSchedulerEvent(nodes.get(i)));
    StringBuilder b = new StringBuilder("beat " + i + ":");
    for (Map.Entry<String, ApplicationAttemptId> e : apps.entrySet()) {
      FiCaSchedulerApp app = cs.getApplicationAttempt(e.getValue());
      List<RMContainer> got = new ArrayList<>();
      for (RMContainer c : app.getLiveContainers()) if (!numbers.containsKey(c.getContainerId())) got.add(c);
      if (got.isEmpty()) continue;
      served.add(e.getKey());
      got.sort(Comparator.comparing(RMContainer::getContainerId));
      for (RMContainer c : got) {
        numbers.put(c.getContainerId(), containers.size());
        b.append(" " + containers.size() + "=" + e.getKey() + "/" + c.getNodeId().getHost() + "/" + v(c.getAllocatedResource()) + "/" + c.getContainer().getPriority().getPriority());
        containers.add(c.getContainerId());
        if (managed.contains(e.getKey()) && !AMs.containsKey(e.getKey())) {
          AMs.put(e.getKey(), c.getContainer());
          ((RMContainerImpl) c).setAMContainer(true);
        }
      }
      b.append(" " + call(e.getKey(), new ArrayList<>(), new ArrayList<>()));
    }
    FiCaSchedulerNode n = cs.getNode(nodes.get(i).getNodeID());
    b.append(" free=" + v(n.getUnallocatedResource()));
    if (n.getReservedContainer() != null)
      b.append(" kept=" + names.get(n.getReservedContainer().getApplicationAttemptId().getApplicationId()) + "/" + v(n.getReservedContainer().getReservedResource()));
    out.println(b);
  }

  static String call(String id, List<ResourceRequest> rr, List<ContainerId> rel) {
    Allocation al = cs.allocate(apps.get(id), rr, null, rel, new ArrayList<>(), new ArrayList<>(), new ContainerUpdates());
    return served.contains(id) ? "room=" + v(al.getResourceLimit()) : "room=?";
  }

  static void state(CSQueue q) {
    ResourceUsage u = q.getQueueResourceUsage();
    StringBuilder b = new StringBuilder(" " + q.getQueuePath() + " used=" + v(u.getUsed()) + " pending=" + v(u.getPending()) + " kept=" + v(u.getReserved())
        + " min=" + v(q.getEffectiveCapacity("")) + " max=" + v(q.getEffectiveMaxCapacity("")));
    if (q instanceof AbstractLeafQueue) {
      AbstractLeafQueue l = (AbstractLeafQueue) q;
      b.append(" active=" + l.getNumActiveApplications() + " waiting=" + l.getNumPendingApplications() + " am=" + v(u.getAMUsed())
          + " users=" + l.getUsersManager().getNumActiveUsers());
      List<String> us = users(l);
      for (String x : us) {
        UsersManager.User y = l.getUsersManager().getUser(x);
        b.append(" " + x + "=" + v(y.getUsed()) + "/" + v(y.getConsumedAMResources()) + "/" + y.getActiveApplications() + "/" + y.getPendingApplications());
      }
    }
    out.println(b);
    if (q.getChildQueues() != null) {
      List<CSQueue> kids = new ArrayList<>(q.getChildQueues());
      kids.sort(Comparator.comparing(CSQueue::getQueuePath));
      for (CSQueue k : kids) state(k);
    }
    if (q == cs.getRootQueue())
      for (Map.Entry<String, ApplicationAttemptId> e : apps.entrySet()) {
        FiCaSchedulerApp x = cs.getApplicationAttempt(e.getValue());
        out.println("  " + e.getKey() + " used=" + v(x.getAppAttemptResourceUsage().getUsed()) + " pending=" + v(x.getAppAttemptResourceUsage().getPending())
            + " kept=" + v(x.getAppAttemptResourceUsage().getReserved()));
      }
  }

  static void limits(CSQueue q) {
    if (q instanceof AbstractLeafQueue) {
      AbstractLeafQueue l = (AbstractLeafQueue) q;
      List<String> us = users(l);
      for (String x : us)
        out.println(" " + q.getQueuePath() + " " + x + " " + v(l.getResourceLimitForActiveUsers(x, cs.getClusterResource(), "", SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY)));
      return;
    }
    List<CSQueue> kids = new ArrayList<>(q.getChildQueues());
    kids.sort(Comparator.comparing(CSQueue::getQueuePath));
    for (CSQueue k : kids) limits(k);
  }

  @SuppressWarnings("unchecked")
  static List<String> users(AbstractLeafQueue l) {
    try {
      Field f = UsersManager.class.getDeclaredField("users");
      f.setAccessible(true);
      List<String> us = new ArrayList<>();
      // A user whose last application went while it asked for something stays behind, with nothing.
      for (Map.Entry<String, UsersManager.User> e : ((Map<String, UsersManager.User>) f.get(l.getUsersManager())).entrySet())
        if (e.getValue().getTotalApplications() > 0) us.add(e.getKey());
      Collections.sort(us);
      return us;
    } catch (ReflectiveOperationException e) { throw new IllegalStateException(e); }
  }

  static String v(Resource r) { return r.getMemorySize() + "," + r.getVirtualCores(); }
}

package org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair;

import java.io.*;
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.*;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.*;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.*;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.*;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.*;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.*;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/**
 * Plays the calls of a folder's script (see replay_test.go) to the FairScheduler of the Hadoop on the class path, with a clock
 * that only the script moves and without its threads, and writes the answers to hadoop.log:
 *
 *   go test -run TestRecord -record DIR -seed N
 *   javac -cp 'LIB/*' -d OUT Recorder.java
 *   java -cp 'OUT:LIB/*' org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.Recorder DIR
 *
 * It is in Hadoop's package because much of what it asks for is visible only there.
 */
public class Recorder {
  static class Hand implements org.apache.hadoop.yarn.util.Clock { long t; public long getTime() { return t; } void setTime(long v) { t = v; } }
  static FairScheduler fs; static ResourceManager rm;
  static Map<String, ApplicationAttemptId> apps = new LinkedHashMap<>();
  static Map<ApplicationId, String> names = new HashMap<>();
  static Map<Integer, RMNode> nodes = new TreeMap<>();
  static Map<String, Set<ContainerId>> seen = new HashMap<>();

  public static void main(String[] a) throws Exception { try { run(a); } catch (Throwable e) { e.printStackTrace(); Runtime.getRuntime().halt(1); } }
  static void run(String[] a) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    for (String l : Files.readAllLines(Paths.get(a[0], "site"))) if (l.contains("=")) conf.set(l.substring(0, l.indexOf('=')), l.substring(l.indexOf('=') + 1));
    conf.set(YarnConfiguration.RM_SCHEDULER, FairScheduler.class.getName());
    conf.set("yarn.scheduler.fair.allocation.file", new File(a[0], "fair.xml").getAbsolutePath());
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
    org.apache.hadoop.security.SecurityUtil.setTokenServiceUseIp(false);
    rm = new ResourceManager();
    rm.init(conf);
    fs = (FairScheduler) rm.getResourceScheduler();
    Hand clock = new Hand();
    fs.setClock(clock);
    rm.getRMContext().getContainerTokenSecretManager().rollMasterKey();
    rm.getRMContext().getNMTokenSecretManager().rollMasterKey();
    Field al = FairScheduler.class.getDeclaredField("allocsLoader"); al.setAccessible(true);
    ((AllocationFileLoaderService) al.get(fs)).reloadAllocations();
    PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(new File(a[0], "hadoop.log"))), true);
    int seq = 0;
    for (String line : Files.readAllLines(Paths.get(a[0], "script"))) {
      String[] f = line.split(" ");
      switch (f[0]) {
      case "time": clock.setTime(Long.parseLong(f[1])); break;
      case "node": {
        int i = Integer.parseInt(f[1]); String h = "n" + i;
        RMNode n = new RMNodeImpl(NodeId.newInstance(h, 1234), rm.getRMContext(), h, 1234, 80, new NodeBase(h, "/r" + f[2]),
            Resource.newInstance(Long.parseLong(f[3]), Integer.parseInt(f[4])), "3.4.2");
        nodes.put(i, n);
        fs.handle(new NodeAddedSchedulerEvent(n));
        fs.update();
        break; }
      case "add": {
        ApplicationId id = ApplicationId.newInstance(1, ++seq);
        ApplicationAttemptId at = ApplicationAttemptId.newInstance(id, 1);
        ApplicationSubmissionContext asc = ApplicationSubmissionContext.newInstance(id, f[1], f[2], Priority.newInstance(0),
            null, f[4].equals("0"), false, 1, Resource.newInstance(1024, 1));
        asc.setUnmanagedAM(f[4].equals("0"));
        RMApp app = (RMApp) Proxy.newProxyInstance(Recorder.class.getClassLoader(), new Class[]{RMApp.class}, (p, m, args) -> {
          switch (m.getName()) {
          case "getApplicationSubmissionContext": return asc;
          case "getApplicationId": return id;
          case "getUser": return f[3];
          case "getCurrentAppAttempt": return Proxy.newProxyInstance(Recorder.class.getClassLoader(),
              new Class[]{org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt.class}, (p2, m2, args2) -> {
                if (m2.getName().equals("getAppAttemptId")) return at;
                if (m2.getName().equals("getRMAppAttemptMetrics")) return new org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptMetrics(at, rm.getRMContext());
                Class<?> r = m2.getReturnType();
                if (r == boolean.class) return false; if (r == int.class) return 0; if (r == long.class) return 0L; if (r == float.class) return 0f;
                return null; });
          case "getQueue": return f[2];
          case "hashCode": return id.hashCode();
          case "equals": return p == args[0];
          case "toString": return "app " + id;
          }
          Class<?> r = m.getReturnType();
          if (r == Map.class) return new HashMap<>(); if (r == Set.class) return new HashSet<>(); if (r == boolean.class) return false; if (r == int.class) return 0; if (r == long.class) return 0L; if (r == float.class) return 0f;
          return null; });
        rm.getRMContext().getRMApps().put(id, app);
        apps.put(f[1], at); names.put(id, f[1]); seen.put(f[1], new HashSet<>());
        fs.handle(new AppAddedSchedulerEvent(id, f[2], f[3], new ApplicationPlacementContext(f[2])));
        fs.handle(new AppAttemptAddedSchedulerEvent(at, false));
        break; }
      case "ask": {
        List<ResourceRequest> rr = new ArrayList<>();
        for (int k = 2; k < f.length; k++) {
          String[] g = f[k].split(":");
          String place = g[1].startsWith("r") ? "/" + g[1] : g[1];
          rr.add(ResourceRequest.newInstance(Priority.newInstance(Integer.parseInt(g[0])), place,
              Resource.newInstance(Long.parseLong(g[3]), Integer.parseInt(g[4])), Integer.parseInt(g[2])));
        }
        call(apps.get(f[1]), rr, new ArrayList<>());
        break; }
      case "end": {
        FSAppAttempt app = fs.getSchedulerApp(apps.get(f[1]));
        RMContainer c = null;
        for (RMContainer x : app.getLiveContainers())
          if (x.getNodeId().getHost().equals(f[2]) && x.getAllocatedResource().getMemorySize() == Long.parseLong(f[3])
              && x.getAllocatedResource().getVirtualCores() == Integer.parseInt(f[4])
              && (c == null || x.getContainerId().compareTo(c.getContainerId()) < 0)) c = x;
        if (c == null) { out.println(line + " -> none"); break; }
        fs.completedContainer(c, BuilderUtils.newContainerStatus(c.getContainerId(), ContainerState.COMPLETE, "", 0, c.getAllocatedResource()), RMContainerEventType.KILL);
        break; }
      case "remove":
        fs.handle(new AppAttemptRemovedSchedulerEvent(apps.get(f[1]), RMAppAttemptState.FINISHED, false));
        fs.handle(new AppRemovedSchedulerEvent(apps.get(f[1]).getApplicationId(), RMAppState.FINISHED));
        apps.remove(f[1]);
        break;
      case "update": fs.update(); break;
      case "beat": {
        int i = Integer.parseInt(f[1]);
        fs.handle(new NodeUpdateSchedulerEvent(nodes.get(i)));
        StringBuilder b = new StringBuilder(line + ":");
        for (Map.Entry<String, ApplicationAttemptId> e : apps.entrySet()) {
          FSAppAttempt app = fs.getSchedulerApp(e.getValue());
          List<String> got = new ArrayList<>();
          for (RMContainer c : app.getLiveContainers())
            if (seen.get(e.getKey()).add(c.getContainerId()))
              got.add(" " + e.getKey() + "/" + c.getNodeId().getHost() + "/" + c.getAllocatedResource().getMemorySize() + "/"
                  + c.getAllocatedResource().getVirtualCores() + "/" + c.getContainer().getPriority().getPriority());
          Collections.sort(got);
          for (String g : got) b.append(g);
          if (!got.isEmpty()) call(e.getValue(), new ArrayList<>(), new ArrayList<>());
        }
        FSSchedulerNode n = fs.getNodeTracker().getNode(nodes.get(i).getNodeID());
        if (n.getReservedContainer() != null)
          b.append(" kept:" + names.get(n.getReservedContainer().getApplicationAttemptId().getApplicationId()));
        out.println(b);
        break; }
      case "state":
        dump(fs.getQueueManager().getRootQueue(), out);
        for (Map.Entry<String, ApplicationAttemptId> e : apps.entrySet()) {
          FSAppAttempt x = fs.getSchedulerApp(e.getValue());
          out.println("  " + e.getKey() + " " + v(x.getResourceUsage()) + " " + v(x.getDemand()) + " " + v(x.getFairShare()) + " " + v(x.getHeadroom())
              + " " + x.getQueue().isRunnableApp(x));
        }
        break;
      }
    }
    out.close();
    out.flush(); Runtime.getRuntime().halt(0);
  }
  static void call(ApplicationAttemptId at, List<ResourceRequest> rr, List<ContainerId> rel) {
    fs.allocate(at, rr, null, rel, null, null, new ContainerUpdates());
  }
  static String v(Resource r) { return r.getMemorySize() + "," + r.getVirtualCores(); }
  static void dump(FSQueue q, PrintStream out) {
    out.println(" " + q.getName() + " " + v(q.getResourceUsage()) + " " + v(q.getDemand()) + " " + v(q.getFairShare()));
    List<FSQueue> kids = new ArrayList<>(q.getChildQueues());
    kids.sort(Comparator.comparing(FSQueue::getName));
    for (FSQueue k : kids) dump(k, out);
  }
}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetApplicationReportRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException;
import org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException;
import org.apache.hadoop.yarn.util.ConverterUtils;
import org.apache.hadoop.yarn.util.RackResolver;
import org.apache.hadoop.yarn.util.Records;

/**
 * Many real applications in one JVM. Each is an unmanaged AM: it submits itself, registers, sends all its requests with
 * its first call, calls the ResourceManager at a fixed delay, holds every container for its time and releases it, and
 * unregisters in the call that releases the last one. It speaks the protocol itself: a client library would retry and
 * correct requests on its own, and we must know what was requested when.
 *
 * <pre>Masters WORKLOAD hold|start HEARTBEAT_MS POLL_MS THREADS</pre>
 *
 * WORKLOAD has one JSON object per line: id, user, queue, submit (ms), priority, type, tracking (URL), containers: [{count, mb, vcores, priority,
 * hold (ms, a number or a list), nodes: [host]}]. Standard output has one JSON object per line and application, when it ends.
 */
public final class Masters {
  static final ObjectMapper JSON = new ObjectMapper();
  static final YarnConfiguration CONF = new YarnConfiguration();
  static final Map<String, ApplicationClientProtocol> CLIENTS = new HashMap<>();
  static final PrintStream OUT = System.out;

  static ScheduledThreadPoolExecutor pool;
  static CountDownLatch left;
  static boolean start;
  static long heartbeat;
  static long poll;

  /** The requests at one priority. */
  static final class Group {
    static final int MOST = 1_000_000;

    int index;
    int priority;
    Resource size;
    List<String> nodes = new ArrayList<>();
    ArrayDeque<Long> holds = new ArrayDeque<>(); // of containers not allocated yet, at most MOST
    int beyond; // requested besides: no lab can allocate them
  }

  /** A container allocated to an application. */
  static final class Held {
    final ObjectNode told;
    final Group group;
    final long hold;
    long until;

    Held(ObjectNode told, Group group, long hold, long until) {
      this.told = told;
      this.group = group;
      this.hold = hold;
      this.until = until;
    }
  }

  /** One application. Its steps run in the pool, one at a time. */
  static final class App {
    final JsonNode job;
    final String user;
    ApplicationId id; // null: it gets one when it is submitted
    final ObjectNode told = JSON.createObjectNode();
    final ArrayNode containers = JSON.createArrayNode();
    final ArrayNode calls = JSON.createArrayNode();
    final ArrayNode took = JSON.createArrayNode();
    final Map<Integer, Group> groups = new TreeMap<>();
    final Map<ContainerId, Held> held = new LinkedHashMap<>();
    final List<ContainerId> release = new ArrayList<>();
    List<ResourceRequest> asks = new ArrayList<>();
    UserGroupInformation ugi;
    ApplicationMasterProtocol rm;
    NMClient nm;
    NMTokenCache tokens;
    int answer;
    boolean known = true; // to the ResourceManager that it registered with first
    long since;

    App(JsonNode job, ApplicationId id) {
      this.job = job;
      this.id = id;
      user = job.get("user").asText();
      told.put("id", job.get("id").asText()).put("user", user).put("queue", job.get("queue").asText());
      int n = 0;
      for (JsonNode c : job.get("containers")) {
        Group g = groups.computeIfAbsent(c.path("priority").asInt(1), k -> new Group());
        g.index = n++; // of the last group at a priority
        g.priority = c.path("priority").asInt(1);
        g.size = Resource.newInstance(c.get("mb").asLong(), c.path("vcores").asInt(1));
        c.path("nodes").forEach(h -> g.nodes.add(h.asText()));
        JsonNode hold = c.get("hold");
        int count = c.get("count").asInt();
        g.beyond = Math.max(0, count - Group.MOST);
        for (int i = 0; i < count - g.beyond; i++) {
          g.holds.add(hold.isArray() ? hold.get(i % hold.size()).asLong() : hold.asLong());
        }
      }
      groups.values().forEach(this::ask);
    }

    /** Sets the number of outstanding containers at a priority. */
    void ask(Group g) {
      int n = g.holds.size() + g.beyond;
      List<String> places = new ArrayList<>(g.nodes);
      g.nodes.stream().map(h -> RackResolver.resolve(CONF, h).getNetworkLocation()).distinct().forEach(places::add);
      places.add(ResourceRequest.ANY);
      for (String place : places) {
        asks.add(ResourceRequest.newInstance(Priority.newInstance(g.priority), place, g.size, n));
      }
    }

    void step(Step s, long delay) {
      pool.schedule(() -> {
        try {
          s.run();
        } catch (Throwable e) {
          end("FAILED", root(e));
        }
      }, delay, TimeUnit.MILLISECONDS);
    }

    void submit() throws Exception {
      if (id == null) {
        id = newId(user);
      }
      told.put("app", id.toString());
      ApplicationSubmissionContext ctx = Records.newRecord(ApplicationSubmissionContext.class);
      ctx.setApplicationId(id);
      ctx.setApplicationName(job.get("id").asText());
      ctx.setApplicationType(job.path("type").asText("UNMANAGED"));
      ctx.setQueue(job.get("queue").asText());
      ctx.setPriority(Priority.newInstance(job.path("priority").asInt(0)));
      TreeSet<String> tags = new TreeSet<>();
      job.path("tags").forEach(t -> tags.add(t.asText()));
      ctx.setApplicationTags(tags);
      ctx.setUnmanagedAM(true);
      ctx.setMaxAppAttempts(1);
      ctx.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
      ctx.setResource(Resource.newInstance(1, 1));
      told.put("submit", since = now());
      CLIENTS.get(user).submitApplication(SubmitApplicationRequest.newInstance(ctx));
      told.put("submitted", now());
      step(this::token, 0);
    }

    /** Waits for the token that lets the AM register. */
    void token() throws Exception {
      ApplicationReport r;
      try {
        r = CLIENTS.get(user).getApplicationReport(GetApplicationReportRequest.newInstance(id)).getApplicationReport();
      } catch (ApplicationNotFoundException e) { // accepted and lost: the ResourceManager went down before persisting it
        submit();
        return;
      }
      YarnApplicationState s = r.getYarnApplicationState();
      if (s == YarnApplicationState.FAILED || s == YarnApplicationState.KILLED) {
        end(s.toString(), r.getDiagnostics().trim());
        return;
      }
      if (r.getAMRMToken() == null) {
        step(this::token, now() - since < 2000 ? poll : Math.max(poll, 90));
        return;
      }
      told.put("accepted", now());
      ugi = UserGroupInformation.createRemoteUser(user);
      ugi.addToken(ConverterUtils.convertFromYarn(r.getAMRMToken(), (Text) null));
      rm = ugi.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>) () ->
          ClientRMProxy.createRMProxy(CONF, ApplicationMasterProtocol.class));
      register();
      told.put("registered", now());
      if (start) {
        tokens = new NMTokenCache();
        nm = ugi.doAs((PrivilegedExceptionAction<NMClient>) () -> {
          NMClient c = NMClient.createNMClient();
          c.setNMTokenCache(tokens);
          c.init(CONF);
          c.start();
          return c;
        });
      }
      call();
    }

    void register() throws Exception {
      rm.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("127.0.0.1", -1, job.path("tracking").asText("")));
    }

    /**
     * Another ResourceManager, or the same one after a restart, knows the application but not its AM: it registers again and
     * repeats its outstanding requests. Containers without a process are unknown to the nodes, and so lost: immediately if they are
     * only held; the others, whose start may have raced with it, when their end is long overdue.
     */
    void again() throws Exception {
      register();
      answer = 0;
      known = false;
      if (!start) {
        giveUp(0);
      }
      asks = new ArrayList<>();
      release.clear();
      groups.values().stream().filter(g -> !g.holds.isEmpty()).forEach(this::ask);
      step(this::call, 0);
    }

    /** Gives up the containers whose end is overdue by the given time, or all for 0, and requests replacements for the remaining time. */
    void giveUp(long overdue) {
      long now = now();
      held.entrySet().removeIf(e -> {
        Held h = e.getValue();
        if (overdue > 0 && now < h.until + overdue) {
          return false;
        }
        synchronized (h.told) {
          h.told.put("released", now).put("lost", true);
        }
        h.group.holds.add(overdue > 0 ? h.hold : Math.max(0, h.until - now));
        release.add(e.getKey());
        ask(h.group);
        return true;
      });
    }

    /** One call: releases what has been held long enough, accepts new containers. */
    void call() throws Exception {
      long sent = now();
      if (start && !known) {
        giveUp(15000);
      }
      if (!start) {
        held.entrySet().removeIf(e -> {
          if (e.getValue().until > sent) {
            return false;
          }
          e.getValue().told.put("released", sent);
          release.add(e.getKey());
          return true;
        });
      }
      AllocateResponse r;
      try {
        r = rm.allocate(AllocateRequest.newInstance(answer, 0f, asks, new ArrayList<>(release), null));
      } catch (ApplicationMasterNotRegisteredException e) {
        again();
        return;
      }
      long got = now();
      calls.add(sent);
      took.add(got - sent);
      answer = r.getResponseId();
      asks = new ArrayList<>();
      release.clear();
      for (ContainerStatus s : r.getCompletedContainersStatuses()) {
        completed(s, got);
      }
      if (start) {
        for (NMToken t : r.getNMTokens()) {
          tokens.setToken(t.getNodeId().toString(), t.getToken());
        }
      }
      for (Container c : r.getAllocatedContainers()) {
        allocated(c, got);
      }
      boolean wanted = groups.values().stream().anyMatch(g -> !g.holds.isEmpty());
      if (wanted || !held.isEmpty() || !release.isEmpty() || !asks.isEmpty()) {
        step(this::call, heartbeat);
        return;
      }
      finish();
    }

    void allocated(Container c, long got) {
      Group g = groups.get(c.getPriority().getPriority());
      if (g == null || g.holds.isEmpty()) { // over-allocated: it raced with a request
        release.add(c.getId());
        containers.addObject().put("id", c.getId().toString()).put("node", c.getNodeId().toString()).put("seen", got).put("surplus", true);
        return;
      }
      long hold = g.holds.poll();
      ObjectNode t = containers.addObject().put("id", c.getId().toString()).put("group", g.index)
          .put("node", c.getNodeId().toString()).put("mb", c.getResource().getMemorySize())
          .put("vcores", c.getResource().getVirtualCores()).put("hold", hold).put("seen", got);
      held.put(c.getId(), new Held(t, g, hold, got + hold));
      if (start) {
        pool.execute(() -> launch(c, t, hold));
      }
    }

    void launch(Container c, ObjectNode t, long hold) {
      try {
        String command = "exec sleep " + hold / 1000 + "." + String.format("%03d", hold % 1000);
        ugi.doAs((PrivilegedExceptionAction<Object>) () -> nm.startContainer(c,
            ContainerLaunchContext.newInstance(null, null, Collections.singletonList(command), null, null, null)));
        synchronized (t) {
          t.put("started", now());
        }
      } catch (Exception e) {
        synchronized (t) {
          t.put("error", root(e));
        }
      }
    }

    void completed(ContainerStatus s, long got) {
      Held h = held.remove(s.getContainerId());
      if (h == null) {
        return; // released by ourselves
      }
      synchronized (h.told) {
        h.told.put("released", got).put("exit", s.getExitStatus());
      }
      if (s.getExitStatus() != 0) { // preempted or failed: request another one
        h.told.put("lost", true);
        h.group.holds.add(h.hold);
        ask(h.group);
      }
    }

    void finish() throws Exception {
      told.put("unregister", now());
      FinishApplicationMasterRequest f = FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", "");
      while (true) {
        try {
          if (rm.finishApplicationMaster(f).getIsUnregistered()) {
            break;
          }
          Thread.sleep(20);
        } catch (ApplicationMasterNotRegisteredException e) {
          register();
        }
      }
      end("SUCCEEDED", "");
    }

    void end(String state, String why) {
      told.put("end", now()).put("state", state);
      if (!why.isEmpty()) {
        told.put("why", why);
      }
      told.set("containers", containers);
      told.set("calls", calls);
      told.set("took", took);
      synchronized (OUT) {
        OUT.println(told);
      }
      try {
        if (nm != null) {
          nm.cleanupRunningContainersOnStop(false);
          nm.stop();
        }
        if (rm != null) {
          org.apache.hadoop.ipc.RPC.stopProxy(rm);
        }
      } catch (Exception e) {
        System.err.println("closing " + id + ": " + e);
      }
      left.countDown();
    }
  }

  interface Step {
    void run() throws Exception;
  }

  static long now() {
    return System.currentTimeMillis();
  }

  static String root(Throwable e) {
    while (e.getCause() != null) {
      e = e.getCause();
    }
    return e.toString();
  }

  static ApplicationId newId(String user) throws Exception {
    return CLIENTS.get(user).getNewApplication(GetNewApplicationRequest.newInstance()).getApplicationId();
  }

  public static void main(String[] a) throws Exception {
    start = a[1].equals("start");
    heartbeat = Long.parseLong(a[2]);
    poll = Long.parseLong(a[3]);
    pool = new ScheduledThreadPoolExecutor(Integer.parseInt(a[4]));
    List<JsonNode> jobs = new ArrayList<>();
    try (BufferedReader in = Files.newBufferedReader(Path.of(a[0]))) {
      for (String line; (line = in.readLine()) != null; ) {
        if (!line.isBlank()) {
          jobs.add(JSON.readTree(line));
        }
      }
    }
    List<App> apps = new ArrayList<>();
    boolean late = a[5].equals("late");
    for (JsonNode job : jobs) { // ids in the order of the file, whatever happens later, unless others submit, too
      String user = job.get("user").asText();
      if (!CLIENTS.containsKey(user)) {
        CLIENTS.put(user, UserGroupInformation.createRemoteUser(user).doAs(
            (PrivilegedExceptionAction<ApplicationClientProtocol>) () -> ClientRMProxy.createRMProxy(CONF, ApplicationClientProtocol.class)));
      }
      apps.add(new App(job, late ? null : newId(user)));
    }
    left = new CountDownLatch(apps.size());
    pool.prestartAllCoreThreads();
    long zero = now() + 200;
    OUT.println(JSON.createObjectNode().put("zero", zero));
    for (App app : apps) {
      app.step(app::submit, Math.max(0, zero + app.job.path("submit").asLong(0) - now()));
    }
    left.await();
    OUT.flush();
    System.exit(0);
  }

  private Masters() {}
}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.SleepJob;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.yarn.api.protocolrecords.GetApplicationsRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Submits MapReduce jobs on schedule from one JVM, each as its user, and reports how they end.
 *
 * <pre>Jobs LIST wait|submit</pre>
 *
 * LIST has one JSON object per line: id, kind (sleep, wordcount, pi, teragen, terasort), user, queue, submit (ms), maps,
 * reduces, map_ms, reduce_ms, bytes (of input or output for each map), points (of pi, for each map), conf: {name: value}.
 * Standard output has one JSON object per line and application, when it ends or, without waiting, when it is submitted.
 */
public final class Jobs {
  static final ObjectMapper JSON = new ObjectMapper();

  /** A submitted application that is being watched. */
  static final class Watched {
    final ObjectNode told;
    final ApplicationId app;

    Watched(ObjectNode told, ApplicationId app) {
      this.told = told;
      this.app = app;
    }
  }

  static final PrintStream OUT = System.out;

  static YarnClient yarn;
  static boolean wait;
  static final ConcurrentLinkedQueue<Watched> WATCHED = new ConcurrentLinkedQueue<>();
  static CountDownLatch unsubmitted;

  static synchronized void tell(ObjectNode n) {
    OUT.println(n);
  }

  static Configuration conf(JsonNode job) {
    Configuration c = new Configuration();
    c.set("mapreduce.job.queuename", job.get("queue").asText());
    if (job.has("conf")) {
      job.get("conf").fields().forEachRemaining(e -> c.set(e.getKey(), e.getValue().asText()));
    }
    return c;
  }

  static String home(JsonNode job) {
    return "/tmp/jobs/" + job.get("user").asText() + "/" + job.get("id").asText();
  }

  static ObjectNode about(JsonNode job, String kind) {
    return JSON.createObjectNode().put("id", job.get("id").asText()).put("kind", kind).put("user", job.get("user").asText())
        .put("queue", job.get("queue").asText());
  }

  static void run(JsonNode job) throws Exception {
    String kind = job.get("kind").asText();
    int maps = job.path("maps").asInt(1);
    int reduces = job.path("reduces").asInt(0);
    Configuration c = conf(job);
    switch (kind) {
      case "sleep": {
        SleepJob s = new SleepJob();
        s.setConf(c);
        submit(job, kind, s.createJob(maps, reduces, job.path("map_ms").asLong(1000), 1, job.path("reduce_ms").asLong(1000), 1));
        break;
      }
      case "wordcount":
        words(job, c, maps);
        submit(job, kind, wordcount(job, c, reduces));
        break;
      case "pi":
        tool(job, kind, c, "org.apache.hadoop.examples.QuasiMonteCarlo", Integer.toString(maps), job.path("points").asText("1000"));
        break;
      case "teragen":
      case "terasort": {
        long rows = Math.max(1, job.path("bytes").asLong(1 << 20) * maps / 100); // a row has 100 bytes
        c.setInt("mapreduce.job.maps", maps);
        tool(job, "teragen", c, "org.apache.hadoop.examples.terasort.TeraGen", Long.toString(rows), home(job) + "/in");
        if (kind.equals("terasort")) {
          Configuration d = conf(job);
          d.setInt("mapreduce.job.reduces", Math.max(1, reduces));
          tool(job, kind, d, "org.apache.hadoop.examples.terasort.TeraSort", home(job) + "/in", home(job) + "/out");
        }
        break;
      }
      default:
        throw new IllegalArgumentException("there is no kind of job " + kind);
    }
  }

  /** Writes one file of words per map. */
  static void words(JsonNode job, Configuration c, int maps) throws Exception {
    FileSystem fs = FileSystem.get(c);
    long bytes = job.path("bytes").asLong(1 << 16);
    for (int i = 0; i < maps; i++) {
      Random random = new Random(i);
      try (OutputStream out = fs.create(new org.apache.hadoop.fs.Path(home(job) + "/in/part-" + i))) {
        StringBuilder b = new StringBuilder();
        for (long n = 0; n < bytes; n += b.length()) {
          b.setLength(0);
          for (int w = 0; w < 12; w++) {
            b.append("word").append(random.nextInt(5000)).append(w == 11 ? '\n' : ' ');
          }
          out.write(b.toString().getBytes(StandardCharsets.US_ASCII));
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  static Job wordcount(JsonNode job, Configuration c, int reduces) throws Exception {
    Job j = Job.getInstance(c, "wordcount");
    String p = "org.apache.hadoop.examples.WordCount$";
    j.setMapperClass((Class<? extends Mapper>) Class.forName(p + "TokenizerMapper"));
    j.setCombinerClass((Class<? extends Reducer>) Class.forName(p + "IntSumReducer"));
    j.setReducerClass((Class<? extends Reducer>) Class.forName(p + "IntSumReducer"));
    j.setNumReduceTasks(Math.max(1, reduces));
    j.setOutputKeyClass(Text.class);
    j.setOutputValueClass(IntWritable.class);
    FileInputFormat.addInputPath(j, new org.apache.hadoop.fs.Path(home(job) + "/in"));
    FileOutputFormat.setOutputPath(j, new org.apache.hadoop.fs.Path(home(job) + "/out"));
    return j;
  }

  static void submit(JsonNode job, String kind, Job j) throws Exception {
    j.setJobName(job.get("id").asText());
    ObjectNode t = about(job, kind).put("submit", System.currentTimeMillis());
    j.submit();
    submitted(t, j.getJobID().toString());
  }

  static void submitted(ObjectNode t, String jobId) {
    String[] p = jobId.split("_");
    ApplicationId app = ApplicationId.newInstance(Long.parseLong(p[1]), Integer.parseInt(p[2]));
    t.put("app", app.toString()).put("job", jobId).put("submitted", System.currentTimeMillis());
    if (wait) {
      WATCHED.add(new Watched(t, app));
    } else {
      tell(t);
    }
  }

  /** Runs one of the examples, which submit themselves and wait. Their applications are found by a tag. */
  static void tool(JsonNode job, String kind, Configuration c, String name, String... args) throws Exception {
    String tag = "lab-" + kind + "-" + job.get("id").asText().toLowerCase() + "-" + System.nanoTime();
    c.set("mapreduce.job.tags", tag);
    c.set("mapreduce.job.name", job.get("id").asText());
    Tool tool = (Tool) Class.forName(name).getDeclaredConstructor().newInstance();
    UserGroupInformation me = UserGroupInformation.getCurrentUser();
    ObjectNode t = about(job, kind).put("submit", System.currentTimeMillis());
    Exception[] failed = new Exception[1];
    Thread runner = new Thread(() -> {
      try {
        me.doAs((PrivilegedExceptionAction<Integer>) () -> ToolRunner.run(c, tool, args));
      } catch (Exception e) {
        failed[0] = e;
      }
    });
    runner.start();
    GetApplicationsRequest byTag = GetApplicationsRequest.newInstance();
    byTag.setApplicationTags(Collections.singleton(tag));
    boolean found = false;
    while (!found) {
      boolean ended = !runner.isAlive();
      List<ApplicationReport> l = yarn.getApplications(byTag);
      if (!l.isEmpty()) {
        found = true;
        submitted(t, l.get(0).getApplicationId().toString().replace("application_", "job_"));
      } else if (ended) {
        throw failed[0] != null ? failed[0] : new IllegalStateException(name + " ended without a job");
      } else {
        Thread.sleep(100);
      }
    }
    if (wait || kind.equals("teragen")) { // a sort needs its input
      runner.join();
    }
  }

  /** Polls all running applications until each has ended. */
  static void watch() throws Exception {
    while (unsubmitted.getCount() > 0 || !WATCHED.isEmpty()) {
      for (Watched w : new ArrayList<>(WATCHED)) {
        ApplicationReport r = yarn.getApplicationReport(w.app);
        YarnApplicationState s = r.getYarnApplicationState();
        if (s == YarnApplicationState.FINISHED || s == YarnApplicationState.FAILED || s == YarnApplicationState.KILLED) {
          WATCHED.remove(w);
          w.told.put("started", r.getStartTime()).put("end", r.getFinishTime()).put("state", r.getFinalApplicationStatus().toString());
          if (!r.getDiagnostics().isBlank()) {
            w.told.put("why", r.getDiagnostics().trim());
          }
          tell(w.told);
        }
      }
      Thread.sleep(250);
    }
  }

  public static void main(String[] a) throws Exception {
    System.setOut(System.err); // the examples write to standard output
    wait = a[1].equals("wait");
    List<JsonNode> jobs = new ArrayList<>();
    try (BufferedReader in = Files.newBufferedReader(Path.of(a[0]))) {
      for (String line; (line = in.readLine()) != null; ) {
        if (!line.isBlank()) {
          jobs.add(JSON.readTree(line));
        }
      }
    }
    yarn = YarnClient.createYarnClient();
    yarn.init(new YarnConfiguration());
    yarn.start();
    unsubmitted = new CountDownLatch(jobs.size());
    ScheduledExecutorService pool = Executors.newScheduledThreadPool(Math.max(1, jobs.size()));
    long zero = System.currentTimeMillis();
    for (JsonNode job : jobs) {
      pool.schedule(() -> {
        try {
          UserGroupInformation.createRemoteUser(job.get("user").asText()).doAs((PrivilegedExceptionAction<Object>) () -> {
            run(job);
            return null;
          });
        } catch (Throwable e) {
          while (e.getCause() != null) {
            e = e.getCause();
          }
          tell(about(job, job.path("kind").asText()).put("state", "REFUSED").put("why", e.toString()));
        } finally {
          unsubmitted.countDown();
        }
      }, Math.max(0, zero + job.path("submit").asLong(0) - System.currentTimeMillis()), TimeUnit.MILLISECONDS);
    }
    if (wait) {
      watch();
    }
    unsubmitted.await();
    OUT.flush();
    System.exit(0);
  }

  private Jobs() {}
}

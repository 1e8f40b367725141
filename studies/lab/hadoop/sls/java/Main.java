package yardmaster;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.net.DNSToSwitchMapping;
import org.apache.hadoop.net.TableMapping;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.sls.RMRunner;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.conf.SLSConfiguration;
import org.apache.hadoop.yarn.sls.scheduler.TaskRunner;
import org.apache.log4j.spi.LoggingEvent;

/**
 * Runs Hadoop's Scheduler Load Simulator and works around the bugs of the stock runner of 3.4: it builds the RM from a
 * configuration without yarn-site.xml, cannot read its own trace format, loses applications to two races, may never exit.
 *
 * <p>Arguments are those of SLSRunner. System properties: yard.jobs is how many applications to wait for; 0 runs until killed.
 */
public final class Main {
  private Main() {}

  /** Starts our RM with the unchanged configuration: nothing is enabled that the site file does not enable. */
  private static final class Rm extends RMRunner {
    private final Configuration conf;
    private final Manager rm;
    private final Map<String, Integer> queues = new HashMap<>();

    Rm(Configuration conf, SLSRunner sls) {
      super(conf, sls);
      this.conf = conf;
      rm = new Manager(sls);
    }

    @Override
    public void startRM() {
      Configuration c = new YarnConfiguration(conf);
      c.setClass(CommonConfigurationKeysPublic.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL_KEY, TableMapping.class,
          DNSToSwitchMapping.class);
      c.set(CommonConfigurationKeysPublic.NET_TOPOLOGY_TABLE_MAPPING_FILE_KEY, getTableMapping());
      rm.init(c);
      rm.start();
    }

    @Override
    public ResourceManager getRm() {
      return rm;
    }

    @Override
    public void stop() {
      rm.stop();
    }

    @Override
    public void increaseQueueAppNum(String queue) {
      queues.merge(queue, 1, Integer::sum);
    }

    @Override
    public Map<String, Integer> getQueueAppNumMap() {
      return queues;
    }
  }

  public static void main(String[] args) throws Exception {
    int jobs = Integer.getInteger("yard.jobs", 0);
    Watch.say("base " + LoggingEvent.getStartTime());
    YarnConfiguration conf = new YarnConfiguration();
    conf.addResource("sls-runner.xml");
    // The AM class map is filled from this configuration.
    conf.set(SLSConfiguration.AM_TYPE_PREFIX + "mapreduce", Master.class.getName());
    SLSRunner sls = new SLSRunner(conf);
    TaskRunner tasks = (TaskRunner) field("runner").get(null);
    Masters masters = new Masters(tasks, sls);
    masters.init(conf);
    field("amRunner").set(sls, masters);
    Rm rm = new Rm(conf, sls);
    field("rmRunner").set(sls, rm);
    int rc = ToolRunner.run(conf, sls, args);
    if (rc != 0) {
      System.exit(rc);
    }
    Watch.say("zero " + tasks.getStartTimeMS());
    Watch.say("web " + rm.rm.port());
    while (jobs == 0 || !ended(rm.rm, jobs)) {
      Thread.sleep(100);
    }
    // Ended applications may still hold containers until their nodes report.
    Thread.sleep(Integer.getInteger("yard.linger", 1500));
    int failed = 0;
    for (RMApp a : rm.rm.getRMContext().getRMApps().values()) {
      if (a.getState() != RMAppState.FINISHED) {
        failed++;
        Watch.say("lost " + a.getApplicationId().getId() + " " + a.getState());
      }
    }
    long cpu = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1_000_000;
    Watch.say("all " + jobs + " " + failed + " " + cpu);
    Runtime.getRuntime().halt(0);
  }

  private static boolean ended(Manager rm, int jobs) {
    Collection<RMApp> apps = rm.getRMContext().getRMApps().values();
    int n = 0;
    for (RMApp a : apps) {
      RMAppState s = a.getState(); // FINISHING is not final: its AM's container is still there
      if (s == RMAppState.FINISHED || s == RMAppState.FAILED || s == RMAppState.KILLED) {
        n++;
      }
    }
    return n >= jobs;
  }

  private static Field field(String name) throws ReflectiveOperationException {
    Field f = SLSRunner.class.getDeclaredField(name);
    f.setAccessible(true);
    return f;
  }
}

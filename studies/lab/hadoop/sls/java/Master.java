package yardmaster;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.sls.AMDefinition;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.appmaster.AMSimulator;
import org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator;

/** The unchanged simulated MapReduce AM, logging when it wakes up, with the job's own id and priority. */
public class Master extends MRAMSimulator {
  /** Priorities of jobs by their id in the trace. */
  static final Map<String, Integer> PRIORITIES = new ConcurrentHashMap<>();

  /** The user who submits on this thread. */
  static final ThreadLocal<Master> SUBMITTING = new ThreadLocal<>();

  String job;
  private volatile boolean launched;

  @Override
  public void init(AMDefinition def, ResourceManager rm, SLSRunner sls, boolean tracked, long baseline, long beat,
      Map<ApplicationId, AMSimulator> byId) {
    super.init(def, rm, sls, tracked, baseline, beat, byId);
    job = def.getOldAppId();
  }

  int priority() {
    return PRIORITIES.getOrDefault(job, 0);
  }

  @Override
  public void firstStep() throws Exception {
    SUBMITTING.set(this);
    try {
      super.firstStep();
    } finally {
      SUBMITTING.remove();
    }
  }

  @Override
  public synchronized void notifyAMContainerLaunched(Container c) throws Exception {
    super.notifyAMContainerLaunched(c);
    Watch.say("am " + appId.getId());
    launched = true;
  }

  @Override
  public void middleStep() throws Exception {
    if (!launched) {
      super.middleStep();
      return;
    }
    Watch.TICKING.set(appId);
    try {
      super.middleStep();
    } finally {
      Watch.TICKING.remove();
    }
  }

  // Logged here, right after it started its new containers, rather than on wake-up: writing the line may take a while.
  @Override
  protected void sendContainerRequest() throws YarnException, IOException, InterruptedException {
    if (launched) {
      Watch.say("tick " + appId.getId());
    }
    super.sendContainerRequest();
  }

  // The stock one first reports the AM's container as completed to the node and then unregisters: if the node's heartbeat
  // comes in between, the RM considers the application failed. The node waits (see Manager) until this is done.
  @Override
  public void lastStep() throws Exception {
    Watch.LEAVING.add(appId);
    try {
      super.lastStep();
    } finally {
      Watch.LEAVING.remove(appId);
    }
    if (launched) {
      launched = false;
      Watch.say("end " + appId.getId());
    }
  }
}

package yardmaster;

import java.util.List;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.sls.scheduler.SLSFairScheduler;

/** The unchanged FairScheduler, logging each event that reaches it and when it computes its shares. */
public class Fair extends SLSFairScheduler {
  @Override
  public void handle(SchedulerEvent e) {
    boolean in = Watch.enter();
    try {
      Watch.before(e);
      super.handle(e);
      Watch.after(e);
    } finally {
      Watch.leave(in);
    }
  }

  @Override
  public Allocation allocate(ApplicationAttemptId a, List<ResourceRequest> asks, List<SchedulingRequest> wishes,
      List<ContainerId> release, List<String> more, List<String> less, ContainerUpdates updates) {
    boolean in = Watch.enter();
    try {
      Watch.calling(a, asks == null ? 0 : asks.size());
      Allocation got = super.allocate(a, asks, wishes, release, more, less, updates);
      Watch.called(a, got);
      return got;
    } finally {
      Watch.leave(in);
    }
  }

  @Override
  public void update() {
    boolean in = Watch.enter();
    try {
      Watch.say("round");
      super.update();
      Watch.say("over");
    } finally {
      Watch.leave(in);
    }
  }
}

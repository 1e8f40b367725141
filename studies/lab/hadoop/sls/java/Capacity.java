package yardmaster;

import java.util.List;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.sls.scheduler.SLSCapacityScheduler;

/** The unchanged CapacityScheduler, logging each event that reaches it. */
public class Capacity extends SLSCapacityScheduler {
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
}
